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

/// Number of parameters of [`linear`]. As u128: sizes that a file states cannot overflow it.
pub(crate) fn linear_size(inputs: usize, outputs: usize) -> u128 {
    (inputs as u128 + 1) * outputs as u128
}

/// Number of parameters of a layer norm: scale and offset.
pub(crate) fn layer_norm_size(units: usize) -> u128 {
    2 * units as u128
}

/// Number of parameters of a [`BatchNorm`]: scale, offset, running mean and running variance.
pub(crate) fn batch_norm_size(units: usize) -> u128 {
    4 * units as u128
}
