//! Layer norm.

use toprank_core::{Block, vectorised};
use toprank_onnx::{Attribute, Graph, Value};

use super::{Layer, Slopes, block};
use crate::Pass;
use crate::kernels::sum;
use crate::onnx::Inputs;

/// Added to the variance, so that the division is defined.
const EPSILON: f32 = 1e-5;

/// Layer norm: `y = γ (x − mean) / √(variance + 10⁻⁵) + β`, mean and variance of each row.
///
/// Source: Ba, Kiros, Hinton, "Layer normalization", arXiv 1607.06450, 2016.
#[derive(Clone, Copy, Debug)]
pub struct LayerNorm {
    width: usize,
}

impl LayerNorm {
    /// For rows of `width` numbers.
    pub fn new(width: usize) -> LayerNorm {
        LayerNorm { width }
    }
}

vectorised! {
    /// Also writes mean and 1/√(variance + ε) of each row to `moments`.
    fn normalise(x: &[f32], gamma: &[f32], beta: &[f32], y: &mut [f32], moments: &mut [f32]) {
        let width = gamma.len();
        let count = width as f32;
        for ((x, y), moments) in x.chunks_exact(width).zip(y.chunks_exact_mut(width)).zip(moments.chunks_exact_mut(2)) {
            let mean = sum(width, |i| x[i]) / count;
            let variance = sum(width, |i| (x[i] - mean) * (x[i] - mean)) / count;
            let scale = 1.0 / (variance + EPSILON).sqrt();
            for (((y, x), gamma), beta) in y.iter_mut().zip(x).zip(gamma).zip(beta) {
                *y = (x - mean) * scale * gamma + beta;
            }
            moments.copy_from_slice(&[mean, scale]);
        }
    }
}

vectorised! {
    fn normalise_back(
        x: &[f32], gamma: &[f32], moments: &[f32], dy: &[f32], dgamma: &mut [f32], dbeta: &mut [f32]
    ) {
        let width = gamma.len();
        for ((x, dy), moments) in x.chunks_exact(width).zip(dy.chunks_exact(width)).zip(moments.chunks_exact(2)) {
            let (mean, scale) = (moments[0], moments[1]);
            for i in 0..width {
                dgamma[i] += dy[i] * (x[i] - mean) * scale;
                dbeta[i] += dy[i];
            }
        }
    }
}

vectorised! {
    /// With d = γ dy and x̂ the normed row: `dx = scale (d − mean of d − x̂ · mean of d x̂)`.
    fn slopes(x: &[f32], gamma: &[f32], moments: &[f32], dy: &[f32], dx: &mut [f32], add: bool) {
        let width = gamma.len();
        let count = width as f32;
        let rows = x.chunks_exact(width).zip(dy.chunks_exact(width)).zip(dx.chunks_exact_mut(width));
        for (((x, dy), dx), moments) in rows.zip(moments.chunks_exact(2)) {
            let (mean, scale) = (moments[0], moments[1]);
            let level = sum(width, |i| dy[i] * gamma[i]) / count;
            let tilt = sum(width, |i| dy[i] * gamma[i] * (x[i] - mean)) * scale / count;
            for (((dx, dy), gamma), x) in dx.iter_mut().zip(dy).zip(gamma).zip(x) {
                let slope = scale * (dy * gamma - level - (x - mean) * scale * tilt);
                *dx = if add { *dx + slope } else { slope };
            }
        }
    }
}

impl Layer for LayerNorm {
    fn inputs(&self) -> usize {
        self.width
    }

    fn outputs(&self) -> usize {
        self.width
    }

    fn blocks(&self) -> Vec<Block> {
        vec![block("gamma", &[self.width]), block("beta", &[self.width])]
    }

    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut [f32], pass: &mut Pass) {
        let (gamma, beta) = parameters.split_at(self.width);
        let mut moments = pass.take(2 * x.len() / self.width);
        normalise(x, gamma, beta, y, &mut moments);
        pass.keep(moments);
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
        let gamma = &parameters[..self.width];
        let (dgamma, dbeta) = gradient.split_at_mut(self.width);
        let moments = pass.kept();
        normalise_back(x, gamma, &moments, dy, dgamma, dbeta);
        if let Some(Slopes { to, add }) = dx {
            slopes(x, gamma, &moments, dy, to, add);
        }
        pass.give(moments);
    }

    fn export(&self, parameters: &[f32], graph: &mut Graph, _: &Inputs, x: &Value) -> Value {
        let (gamma, beta) = parameters.split_at(self.width);
        let (scale, offset) = (graph.floats(&[gamma.len()], gamma), graph.floats(&[beta.len()], beta));
        let attributes = [Attribute::Int("axis", -1), Attribute::Float("epsilon", EPSILON)];
        graph.node("LayerNormalization", &[x, &scale, &offset], &attributes)
    }
}
