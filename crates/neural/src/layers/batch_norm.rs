//! Batch norm whose statistics are part of the parameter slice.

use toprank_core::{Block, Role, vectorised};
use toprank_onnx::{Graph, Value};

use super::{Layer, Slopes, block};
use crate::Pass;
use crate::onnx::Inputs;

/// Added to the variance, so that the division is defined.
const EPSILON: f64 = 1e-5;

/// Batch norm: `y = γ (x − mean) / √(variance + 10⁻⁵) + β` per column.
///
/// Source: Ioffe, Szegedy, "Batch normalization: accelerating deep network training by reducing internal covariate shift", ICML 2015;
/// Hoffer, Hubara, Soudry, "Train longer, generalize better: closing the generalization gap in large batch training of neural
/// networks", NIPS 2017 (statistics of parts of a batch).
///
/// In training, mean and variance are those of the shard, so that a step gives the same bytes at any number of threads. In prediction
/// they are the running ones, which are [`Role::Statistic`] blocks of the parameter slice: the trainer moves them towards what the
/// shards report.
#[derive(Clone, Copy, Debug)]
pub struct BatchNorm {
    width: usize,
}

impl BatchNorm {
    /// For rows of `width` numbers.
    pub fn new(width: usize) -> BatchNorm {
        BatchNorm { width }
    }

    /// γ, β, running mean, running variance.
    fn parts(self, parameters: &[f32]) -> [&[f32]; 4] {
        std::array::from_fn(|k| &parameters[k * self.width..(k + 1) * self.width])
    }
}

vectorised! {
    /// `y = (x − mean) · factor + offset`: exact also where the mean is large.
    fn centre_and_scale(x: &[f32], y: &mut [f32], means: &[f32], factors: &[f32], offsets: &[f32]) {
        let width = factors.len();
        for (x, y) in x.chunks_exact(width).zip(y.chunks_exact_mut(width)) {
            for ((((y, x), mean), factor), offset) in y.iter_mut().zip(x).zip(means).zip(factors).zip(offsets) {
                *y = (x - mean) * factor + offset;
            }
        }
    }
}

vectorised! {
    fn add_rows(x: &[f32], sums: &mut [f64]) {
        for row in x.chunks_exact(sums.len()) {
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
        }
    }
}

vectorised! {
    fn add_squares(x: &[f32], means: &[f32], sums: &mut [f64]) {
        for row in x.chunks_exact(sums.len()) {
            for ((sum, x), mean) in sums.iter_mut().zip(row).zip(means) {
                *sum += f64::from(x - mean) * f64::from(x - mean);
            }
        }
    }
}

vectorised! {
    /// Σ dy and Σ dy x̂ of each column, x̂ the normed numbers.
    fn add_slopes(x: &[f32], dy: &[f32], means: &[f32], scales: &[f32], sums: &mut [f64], products: &mut [f64]) {
        let width = means.len();
        for (x, dy) in x.chunks_exact(width).zip(dy.chunks_exact(width)) {
            for i in 0..width {
                sums[i] += f64::from(dy[i]);
                products[i] += f64::from(dy[i] * (x[i] - means[i]) * scales[i]);
            }
        }
    }
}

vectorised! {
    /// `dx = γ scale (dy − mean of dy − x̂ · mean of dy x̂)`.
    fn slopes(x: &[f32], dy: &[f32], columns: [&[f32]; 5], dx: &mut [f32], add: bool) {
        let [means, scales, gamma, level, tilt] = columns;
        let width = means.len();
        for ((x, dy), dx) in x.chunks_exact(width).zip(dy.chunks_exact(width)).zip(dx.chunks_exact_mut(width)) {
            for i in 0..width {
                let normed = (x[i] - means[i]) * scales[i];
                let slope = gamma[i] * scales[i] * (dy[i] - level[i] - normed * tilt[i]);
                dx[i] = if add { dx[i] + slope } else { slope };
            }
        }
    }
}

impl Layer for BatchNorm {
    fn inputs(&self) -> usize {
        self.width
    }

    fn outputs(&self) -> usize {
        self.width
    }

    fn blocks(&self) -> Vec<Block> {
        let statistic = |name: &str| Block { role: Role::Statistic, ..block(name, &[self.width]) };
        vec![
            block("gamma", &[self.width]),
            block("beta", &[self.width]),
            statistic("running_mean"),
            statistic("running_variance"),
        ]
    }

    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut [f32], pass: &mut Pass) {
        let [gamma, beta, running_mean, running_variance] = self.parts(parameters);
        let width = self.width;
        let rows = x.len() / width;
        // Mean, 1/√(variance + ε) and the unbiased variance of each column.
        let mut columns = pass.take(4 * width);
        let (moments, factors) = columns.split_at_mut(3 * width);
        let (means, rest) = moments.split_at_mut(width);
        let (scales, variances) = rest.split_at_mut(width);
        if pass.training() && rows > 0 {
            let mut sums = pass.doubles(width);
            add_rows(x, &mut sums);
            means.iter_mut().zip(&sums).for_each(|(mean, sum)| *mean = (sum / rows as f64) as f32);
            sums.fill(0.0);
            add_squares(x, means, &mut sums);
            for i in 0..width {
                scales[i] = (1.0 / (sums[i] / rows as f64 + EPSILON).sqrt()) as f32;
                // One row does not determine a variance.
                variances[i] =
                    if rows > 1 { (sums[i] / (rows - 1) as f64) as f32 } else { running_variance[i] };
            }
            pass.give_doubles(sums);
        } else {
            means.copy_from_slice(running_mean);
            variances.copy_from_slice(running_variance);
            for (scale, variance) in scales.iter_mut().zip(running_variance) {
                *scale = (1.0 / (f64::from(*variance) + EPSILON).sqrt()) as f32;
            }
        }
        factors.iter_mut().zip(gamma.iter().zip(&*scales)).for_each(|(f, (gamma, scale))| *f = gamma * scale);
        centre_and_scale(x, y, means, factors, beta);
        pass.keep(columns);
    }

    fn backward(
        &self,
        parameters: &[f32],
        x: &[f32],
        dy: &mut [f32],
        dx: Option<Slopes>,
        gradient: &mut [f32],
        pass: &mut Pass,
    ) {
        let width = self.width;
        let rows = x.len() / width;
        let gamma = &parameters[..width];
        let mut columns = pass.kept();
        let (moments, factors) = columns.split_at_mut(3 * width);
        let (means, scales) = (&moments[..width], &moments[width..2 * width]);
        let variances = &moments[2 * width..];
        let (mut sums, mut products) = (pass.doubles(width), pass.doubles(width));
        add_slopes(x, dy, means, scales, &mut sums, &mut products);
        for i in 0..width {
            gradient[i] += products[i] as f32;
            gradient[width + i] += sums[i] as f32;
        }
        if pass.training() {
            // The trainer divides by the rows of the data. Nodes of graphs are more.
            let items = pass.items() as f32;
            for i in 0..width {
                gradient[2 * width + i] += means[i] * items;
                gradient[3 * width + i] += variances[i] * items;
            }
        }
        if let Some(Slopes { to, add }) = dx {
            // In prediction the moments do not depend on the rows.
            let count = if pass.training() { rows.max(1) as f64 } else { f64::INFINITY };
            let mut tilt = pass.take(width);
            for i in 0..width {
                factors[i] = (sums[i] / count) as f32;
                tilt[i] = (products[i] / count) as f32;
            }
            slopes(x, dy, [means, scales, gamma, factors, &tilt], to, add);
            pass.give(tilt);
        }
        pass.give(columns);
        pass.give_doubles(sums);
        pass.give_doubles(products);
    }

    /// With its running statistics: one factor and one offset per column.
    fn export(&self, parameters: &[f32], graph: &mut Graph, _: &Inputs, x: &Value) -> Value {
        let [gamma, beta, mean, variance] = self.parts(parameters);
        let factor = |i: usize| f64::from(gamma[i]) / (f64::from(variance[i]) + EPSILON).sqrt();
        let factors: Vec<f32> = (0..self.width).map(|i| factor(i) as f32).collect();
        let offset = |i: usize| f64::from(beta[i]) - f64::from(mean[i]) * factor(i);
        let offsets: Vec<f32> = (0..self.width).map(|i| offset(i) as f32).collect();
        let (factors, offsets) =
            (graph.floats(&[self.width], &factors), graph.floats(&[self.width], &offsets));
        let scaled = graph.node("Mul", &[x, &factors], &[]);
        graph.node("Add", &[&scaled, &offsets], &[])
    }
}
