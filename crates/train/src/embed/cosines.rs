/*!
Cosines of rows, and the way back through them.

```text
e_i = z_i/|z_i|,   s_ij = e_i · e_j    (j of the batch, or a vector of the memory, which stays as it is)
∂loss/∂e_i = Σ_j (g_ij + g_ji) e_j + Σ_memory g_im v_m,   g_ij = ∂loss/∂s_ij
∂loss/∂z_i = (I − e_i e_iᵀ) ∂loss/∂e_i / |z_i|
```

A row that the network maps to 0 has no direction: its cosines are 0 and it is not moved through them.
*/

use toprank_core::matrix::{View, product};

/// Below this length a vector has no direction.
pub(crate) const LEAST: f64 = 1e-12;

/// Vectors of length 1 out of any: `to` row after row, and the lengths that they had.
pub(crate) fn normalise(z: &[f64], width: usize, to: &mut Vec<f32>, lengths: &mut Vec<f64>) {
    to.clear();
    lengths.clear();
    for row in z.chunks_exact(width) {
        let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        let scale = if length > LEAST { 1.0 / length } else { 0.0 };
        to.extend(row.iter().map(|x| (x * scale) as f32));
        lengths.push(length);
    }
}

/// The cosines of a batch; its memory is used again.
#[derive(Debug, Default)]
pub(crate) struct Cosines {
    /// e, row after row.
    pub units: Vec<f32>,
    lengths: Vec<f64>,
    /// s among the batch, row after row.
    pub own: Vec<f32>,
    /// s with the memory.
    pub memory: Vec<f32>,
    slopes: Vec<f32>,
    down: Vec<f32>,
}

impl Cosines {
    /// From what the network gave, `width` numbers a row.
    pub fn forward(&mut self, z: &[f64], width: usize, memory: &[f32]) {
        let rows = z.len() / width;
        normalise(z, width, &mut self.units, &mut self.lengths);
        self.own.resize(rows * rows, 0.0);
        let units = View::new(&self.units, width);
        product(units, units.transposed(), &mut self.own, false);
        self.memory.resize(rows * (memory.len() / width), 0.0);
        if !memory.is_empty() {
            product(units, View::new(memory, width).transposed(), &mut self.memory, false);
        }
    }

    /// ∂loss/∂z out of ∂loss/∂s.
    pub fn backward(
        &mut self,
        own: &[f32],
        to_memory: &[f32],
        memory: &[f32],
        width: usize,
        dz: &mut Vec<f64>,
    ) {
        let rows = self.lengths.len();
        self.slopes.clear();
        self.slopes.extend((0..rows * rows).map(|at| own[at] + own[at % rows * rows + at / rows]));
        self.down.resize(rows * width, 0.0);
        product(View::new(&self.slopes, rows), View::new(&self.units, width), &mut self.down, false);
        if !memory.is_empty() {
            let kept = memory.len() / width;
            product(View::new(to_memory, kept), View::new(memory, width), &mut self.down, true);
        }
        dz.clear();
        let units = self.units.chunks_exact(width);
        for ((e, d), &length) in units.zip(self.down.chunks_exact(width)).zip(&self.lengths) {
            let along: f64 = e.iter().zip(d).map(|(e, d)| f64::from(*e) * f64::from(*d)).sum();
            let scale = if length > LEAST { 1.0 / length } else { 0.0 };
            dz.extend(e.iter().zip(d).map(|(e, d)| (f64::from(*d) - f64::from(*e) * along) * scale));
        }
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::Stream;

    use super::*;

    const WIDTH: usize = 5;

    /// The definition: Σ a_ij s_ij + Σ b_im s_im in f64.
    fn loss(z: &[f64], a: &[f32], memory: &[f32], b: &[f32]) -> f64 {
        let unit = |row: &[f64]| -> Vec<f64> {
            let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            row.iter().map(|x| x / length).collect()
        };
        let e: Vec<Vec<f64>> = z.chunks(WIDTH).map(unit).collect();
        let v: Vec<Vec<f64>> =
            memory.chunks(WIDTH).map(|v| v.iter().map(|x| f64::from(*x)).collect()).collect();
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let mut sum = 0.0;
        for i in 0..e.len() {
            for j in (0..e.len()).filter(|j| *j != i) {
                sum += f64::from(a[i * e.len() + j]) * dot(&e[i], &e[j]);
            }
            for (m, v) in v.iter().enumerate() {
                sum += f64::from(b[i * memory.len() / WIDTH + m]) * dot(&e[i], v);
            }
        }
        sum
    }

    #[test]
    fn the_way_back_is_the_derivative_of_the_way_forth() {
        let mut random = Stream::new(1, "test").open();
        let (rows, kept) = (4, 3);
        let z: Vec<f64> = (0..rows * WIDTH).map(|_| 3.0 * random.unit() - 1.0).collect();
        let memory: Vec<f32> = (0..kept * WIDTH).map(|_| random.unit() as f32 - 0.5).collect();
        let mut a: Vec<f32> = (0..rows * rows).map(|_| random.unit() as f32 - 0.4).collect();
        (0..rows).for_each(|i| a[i * rows + i] = 0.0);
        let b: Vec<f32> = (0..rows * kept).map(|_| random.unit() as f32 - 0.4).collect();
        let mut cosines = Cosines::default();
        cosines.forward(&z, WIDTH, &memory);
        let own: f32 = cosines.own.iter().zip(&a).map(|(s, a)| s * a).sum();
        let far: f32 = cosines.memory.iter().zip(&b).map(|(s, b)| s * b).sum();
        assert!((f64::from(own + far) - loss(&z, &a, &memory, &b)).abs() < 1e-5);
        let mut dz = Vec::new();
        cosines.backward(&a, &b, &memory, WIDTH, &mut dz);
        for place in 0..z.len() {
            let at = |h: f64| {
                let mut moved = z.clone();
                moved[place] += h;
                loss(&moved, &a, &memory, &b)
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((dz[place] - slope).abs() < 1e-5, "{place}: {} {slope}", dz[place]);
        }
    }

    #[test]
    fn a_row_without_direction_has_cosine_0_and_no_slope() {
        let mut cosines = Cosines::default();
        cosines.forward(&[0.0, 0.0, 3.0, 4.0], 2, &[]);
        assert_eq!(cosines.own, [0.0, 0.0, 0.0, 1.0]);
        let mut dz = Vec::new();
        cosines.backward(&[0.0, 1.0, 1.0, 0.0], &[], &[], 2, &mut dz);
        assert_eq!(dz[..2], [0.0, 0.0]);
        assert!(dz.iter().all(|d| d.is_finite()));
    }
}
