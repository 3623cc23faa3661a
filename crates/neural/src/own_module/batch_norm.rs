//! Batch norm whose statistics are part of the parameter slice.

use burn::module::{Module, Param};
use burn::tensor::module::{batch_norm, batch_norm_train};
use burn::tensor::{Device, Tensor};

use super::ForwardPass;

/// Added to the variance, so that the division is defined.
const EPSILON: f64 = 1e-5;

/// Batch norm: `γ (x − mean) / √(variance + 10⁻⁵) + β` per column.
///
/// Source: Ioffe, Szegedy, "Batch normalization: accelerating deep network training by reducing internal covariate shift", ICML 2015;
/// Hoffer, Hubara, Soudry, "Train longer, generalize better: closing the generalization gap in large batch training of neural networks",
/// NIPS 2017 (statistics of parts of a batch).
///
/// In training, mean and variance are those of the shard, so that a step gives the same bytes at any number of threads. In prediction they
/// are the running ones, which are [`toprank_core::Role::Statistic`] blocks of the parameter slice: the trainer moves them towards what the
/// shards report. burn's own `BatchNorm` keeps them in a cell that all threads share, and is refused.
#[derive(Module, Debug)]
pub struct BatchNorm {
    gamma: Param<Tensor<1>>,
    beta: Param<Tensor<1>>,
    running_mean: Param<Tensor<1>>,
    running_variance: Param<Tensor<1>>,
}

impl BatchNorm {
    /// For `width` columns.
    pub fn new(width: usize) -> BatchNorm {
        let device = Device::flex();
        let (zeros, ones) = (|| Tensor::zeros([width], &device), || Tensor::ones([width], &device));
        BatchNorm {
            gamma: Param::from_tensor(ones()),
            beta: Param::from_tensor(zeros()),
            running_mean: Param::from_tensor(zeros()),
            running_variance: Param::from_tensor(ones()),
        }
    }

    /// Normalises the columns of `x`.
    pub fn forward(&self, x: Tensor<2>, pass: &mut ForwardPass) -> Tensor<2> {
        let (gamma, beta) = (self.gamma.val(), self.beta.val());
        let (mean, variance) = (self.running_mean.val(), self.running_variance.val());
        if !pass.training() {
            return batch_norm(x, gamma, beta, mean, variance, EPSILON);
        }
        let rows = x.dims()[0];
        let out = batch_norm_train(x, gamma, beta, EPSILON);
        pass.report(&self.running_mean, out.mean);
        // One row does not determine a variance.
        let others = if rows > 1 { out.variance * (rows as f64 / (rows - 1) as f64) } else { variance };
        pass.report(&self.running_variance, others);
        out.output
    }
}
