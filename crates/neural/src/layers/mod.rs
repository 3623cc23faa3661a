//! Layers that several networks share.

mod activation;
mod batch_norm;

use burn::nn::{Initializer, Linear, LinearConfig};
use burn::tensor::Device;

pub use activation::Activation;
pub use batch_norm::BatchNorm;
pub(crate) use batch_norm::EPSILON;

/// A linear layer whose initial values are not used: they come from the parameter slice.
pub(crate) fn linear(inputs: usize, outputs: usize) -> Linear {
    LinearConfig::new(inputs, outputs).with_initializer(Initializer::Zeros).init(&Device::flex())
}
