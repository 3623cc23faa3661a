/*!
Similarities of rows, and the way back through them.

```text
cosine      e_i = z_i/|z_i|,   s_ij = e_i · e_j    (j of the batch, or a vector of the memory, which stays as it is)
            ∂loss/∂e_i = Σ_j (g_ij + g_ji) e_j + Σ_memory g_im v_m,   g_ij = ∂loss/∂s_ij
            ∂loss/∂z_i = (I − e_i e_iᵀ) ∂loss/∂e_i / |z_i|
euclidean   e_i = z_i,   s_ij = −|e_i − e_j|² = 2 e_i · e_j − |e_i|² − |e_j|²
            ∂loss/∂z_i = 2 Σ_j (g_ij + g_ji)(e_j − e_i) + 2 Σ_memory g_im (v_m − e_i)
```

A row that the network maps to 0 has no direction: its cosines are 0 and it is not moved through them. Squared distances come out of
the same blocked matrix product as cosines, in f32: they are exact to about 1e-7 of the squared lengths.

Source of the distances: Yang, "Algorithmic foundation of deep X-risk optimization", arXiv 2206.00439, 2022, eq. 33–35.
*/

use toprank_core::matrix::{View, ViewMut, product, product_into};

use crate::fit::settings::Config;

/// Below this length a vector has no direction.
pub(crate) const LEAST: f64 = 1e-12;

/// How near two vectors are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Similarity {
    /// The cosine of the angle between them; vectors have length 1.
    #[default]
    Cosine,
    /// Minus their squared distance; vectors have any length.
    Euclidean,
}

impl Similarity {
    /// What the settings of an embedding say.
    pub(crate) fn of(config: &Config) -> Similarity {
        if config.similarity() == "euclidean" { Similarity::Euclidean } else { Similarity::Cosine }
    }

    /// Vectors out of what the network gave: `to` row after row, and in `measures` what [`Similarities`] need of each row: the
    /// length that it had, or its squared length.
    pub(crate) fn vectors(self, z: &[f64], width: usize, to: &mut Vec<f32>, measures: &mut Vec<f64>) {
        to.clear();
        measures.clear();
        for row in z.chunks_exact(width) {
            let square = row.iter().map(|x| x * x).sum::<f64>();
            let (scale, measure) = match self {
                Similarity::Cosine if square.sqrt() > LEAST => (1.0 / square.sqrt(), square.sqrt()),
                Similarity::Cosine => (0.0, square.sqrt()),
                Similarity::Euclidean => (1.0, square),
            };
            to.extend(row.iter().map(|x| (x * scale) as f32));
            measures.push(measure);
        }
    }

    /// Similarities of all rows of `queries` with all of `gallery`, row after row. `squares` are the squared lengths of the rows of
    /// both, which distances need.
    pub(crate) fn block(self, queries: View, gallery: View, squares: [&[f32]; 2], to: &mut [f32]) {
        match self {
            Similarity::Cosine => product(queries, gallery.transposed(), to, false),
            Similarity::Euclidean => {
                let columns = squares[1].len();
                if columns == 0 {
                    return;
                }
                product_into(queries, gallery.transposed(), ViewMut::new(to, columns), 2.0, false);
                for (row, own) in to.chunks_exact_mut(columns).zip(squares[0]) {
                    for (score, other) in row.iter_mut().zip(squares[1]) {
                        // Rounding may leave a distance below 0.
                        *score = (*score - (own + other)).min(0.0);
                    }
                }
            }
        }
    }

    /// The squared length of every row, where [`Similarity::block`] needs it.
    pub(crate) fn squares(self, vectors: &[f32], width: usize, to: &mut Vec<f32>) {
        to.clear();
        if self == Similarity::Euclidean {
            let square = |row: &[f32]| row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>() as f32;
            to.extend(vectors.chunks_exact(width).map(square));
        }
    }
}

/// The similarities of a batch; its memory is used again.
#[derive(Debug, Default)]
pub(crate) struct Similarities {
    kind: Similarity,
    /// e, row after row.
    pub vectors: Vec<f32>,
    /// Lengths before the division by them, or squared lengths.
    measures: Vec<f64>,
    squares: [Vec<f32>; 2],
    /// s among the batch, row after row.
    pub own: Vec<f32>,
    /// s with the memory.
    pub memory: Vec<f32>,
    slopes: Vec<f32>,
    down: Vec<f32>,
}

impl Similarities {
    pub fn new(kind: Similarity) -> Similarities {
        Similarities { kind, ..Similarities::default() }
    }

    /// From what the network gave, `width` numbers a row.
    pub fn forward(&mut self, z: &[f64], width: usize, memory: &[f32]) {
        let (kind, rows) = (self.kind, z.len() / width);
        kind.vectors(z, width, &mut self.vectors, &mut self.measures);
        let [own, far] = &mut self.squares;
        kind.squares(&self.vectors, width, own);
        kind.squares(memory, width, far);
        self.own.resize(rows * rows, 0.0);
        let vectors = View::new(&self.vectors, width);
        kind.block(vectors, vectors, [own, own], &mut self.own);
        self.memory.resize(rows * (memory.len() / width), 0.0);
        if !memory.is_empty() {
            kind.block(vectors, View::new(memory, width), [own, far], &mut self.memory);
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
        let rows = self.measures.len();
        let kept = memory.len() / width;
        self.slopes.clear();
        self.slopes.extend((0..rows * rows).map(|at| own[at] + own[at % rows * rows + at / rows]));
        self.down.resize(rows * width, 0.0);
        product(View::new(&self.slopes, rows), View::new(&self.vectors, width), &mut self.down, false);
        if !memory.is_empty() {
            product(View::new(to_memory, kept), View::new(memory, width), &mut self.down, true);
        }
        dz.clear();
        let vectors = self.vectors.chunks_exact(width).zip(self.down.chunks_exact(width)).enumerate();
        for (i, (e, d)) in vectors {
            match self.kind {
                Similarity::Cosine => {
                    let length = self.measures[i];
                    let along: f64 = e.iter().zip(d).map(|(e, d)| f64::from(*e) * f64::from(*d)).sum();
                    let scale = if length > LEAST { 1.0 / length } else { 0.0 };
                    dz.extend(e.iter().zip(d).map(|(e, d)| (f64::from(*d) - f64::from(*e) * along) * scale));
                }
                Similarity::Euclidean => {
                    let sum = |slopes: &[f32]| slopes.iter().map(|g| f64::from(*g)).sum::<f64>();
                    let all = sum(&self.slopes[i * rows..][..rows]) + sum(&to_memory[i * kept..][..kept]);
                    dz.extend(e.iter().zip(d).map(|(e, d)| 2.0 * (f64::from(*d) - all * f64::from(*e))));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::Stream;

    use super::*;

    const WIDTH: usize = 5;

    /// The definition: Σ a_ij s_ij + Σ b_im s_im in f64.
    fn loss(kind: Similarity, z: &[f64], a: &[f32], memory: &[f32], b: &[f32]) -> f64 {
        let vector = |row: &[f64]| -> Vec<f64> {
            let length = match kind {
                Similarity::Cosine => row.iter().map(|x| x * x).sum::<f64>().sqrt(),
                Similarity::Euclidean => 1.0,
            };
            row.iter().map(|x| x / length).collect()
        };
        let e: Vec<Vec<f64>> = z.chunks(WIDTH).map(vector).collect();
        let v: Vec<Vec<f64>> =
            memory.chunks(WIDTH).map(|v| v.iter().map(|x| f64::from(*x)).collect()).collect();
        let similarity = |x: &[f64], y: &[f64]| -> f64 {
            let pairs = x.iter().zip(y);
            match kind {
                Similarity::Cosine => pairs.map(|(x, y)| x * y).sum(),
                Similarity::Euclidean => -pairs.map(|(x, y)| (x - y) * (x - y)).sum::<f64>(),
            }
        };
        let mut sum = 0.0;
        for i in 0..e.len() {
            for j in (0..e.len()).filter(|j| *j != i) {
                sum += f64::from(a[i * e.len() + j]) * similarity(&e[i], &e[j]);
            }
            for (m, v) in v.iter().enumerate() {
                sum += f64::from(b[i * memory.len() / WIDTH + m]) * similarity(&e[i], v);
            }
        }
        sum
    }

    #[test]
    fn the_way_back_is_the_derivative_of_the_way_forth() {
        for kind in [Similarity::Cosine, Similarity::Euclidean] {
            let mut random = Stream::new(1, "test").open();
            let (rows, kept) = (4, 3);
            let z: Vec<f64> = (0..rows * WIDTH).map(|_| 3.0 * random.unit() - 1.0).collect();
            let memory: Vec<f32> = (0..kept * WIDTH).map(|_| random.unit() as f32 - 0.5).collect();
            let mut a: Vec<f32> = (0..rows * rows).map(|_| random.unit() as f32 - 0.4).collect();
            (0..rows).for_each(|i| a[i * rows + i] = 0.0);
            let b: Vec<f32> = (0..rows * kept).map(|_| random.unit() as f32 - 0.4).collect();
            let mut found = Similarities::new(kind);
            found.forward(&z, WIDTH, &memory);
            let own: f32 = found.own.iter().zip(&a).map(|(s, a)| s * a).sum();
            let far: f32 = found.memory.iter().zip(&b).map(|(s, b)| s * b).sum();
            let expected = loss(kind, &z, &a, &memory, &b);
            assert!((f64::from(own + far) - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{kind:?}");
            let mut dz = Vec::new();
            found.backward(&a, &b, &memory, WIDTH, &mut dz);
            for place in 0..z.len() {
                let at = |h: f64| {
                    let mut moved = z.clone();
                    moved[place] += h;
                    loss(kind, &moved, &a, &memory, &b)
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                let error = (dz[place] - slope).abs();
                assert!(error < 1e-5 * (1.0 + slope.abs()), "{kind:?} {place}: {} {slope}", dz[place]);
            }
        }
    }

    #[test]
    fn distances_by_hand() {
        let mut found = Similarities::new(Similarity::Euclidean);
        // Rows (0, 0), (3, 4), (3, 0) and a vector (0, 4) of the memory.
        found.forward(&[0.0, 0.0, 3.0, 4.0, 3.0, 0.0], 2, &[0.0, 4.0]);
        assert_eq!(found.vectors, [0.0, 0.0, 3.0, 4.0, 3.0, 0.0], "vectors keep their lengths");
        assert_eq!(found.own, [0.0, -25.0, -9.0, -25.0, 0.0, -16.0, -9.0, -16.0, 0.0]);
        assert_eq!(found.memory, [-16.0, -9.0, -25.0]);
        // s of rows 0 and 1 grows by moving them towards each other: ∂s/∂e_0 = 2(e_1 − e_0).
        let (mut slopes, mut dz) = ([0.0; 9], Vec::new());
        slopes[1] = 1.0;
        found.backward(&slopes, &[0.0; 3], &[0.0, 4.0], 2, &mut dz);
        assert_eq!(dz, [2.0 * 3.0, 2.0 * 4.0, -2.0 * 3.0, -2.0 * 4.0, 0.0, 0.0]);
        found.backward(&[0.0; 9], &[0.0, 0.0, 1.0], &[0.0, 4.0], 2, &mut dz);
        assert_eq!(dz, [0.0, 0.0, 0.0, 0.0, 2.0 * (0.0 - 3.0), 2.0 * (4.0 - 0.0)]);
    }

    #[test]
    fn a_row_without_direction_has_cosine_0_and_no_slope() {
        let mut cosines = Similarities::new(Similarity::Cosine);
        cosines.forward(&[0.0, 0.0, 3.0, 4.0], 2, &[]);
        assert_eq!(cosines.own, [0.0, 0.0, 0.0, 1.0]);
        let mut dz = Vec::new();
        cosines.backward(&[0.0, 1.0, 1.0, 0.0], &[], &[], 2, &mut dz);
        assert_eq!(dz[..2], [0.0, 0.0]);
        assert!(dz.iter().all(|d| d.is_finite()));
    }
}
