//! Activation functions.

use burn::tensor::{Tensor, activation};

/// The activation function between two layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// max(0, x).
    Relu,
    /// x above 0, x/100 below.
    LeakyRelu,
    /// x above 0, eˣ − 1 below.
    Elu,
    /// x Φ(x), Φ the normal distribution function.
    Gelu,
    /// x σ(x).
    Silu,
    /// tanh x.
    Tanh,
    /// 1 / (1 + e⁻ˣ).
    Sigmoid,
}

impl Activation {
    /// Every activation by its name in the catalog.
    pub const NAMES: &[(&str, Activation)] = &[
        ("relu", Activation::Relu),
        ("leaky-relu", Activation::LeakyRelu),
        ("elu", Activation::Elu),
        ("gelu", Activation::Gelu),
        ("silu", Activation::Silu),
        ("tanh", Activation::Tanh),
        ("sigmoid", Activation::Sigmoid),
    ];

    /// True if it is (about) 0 on the negative half.
    pub fn rectifies(self) -> bool {
        !matches!(self, Activation::Tanh | Activation::Sigmoid)
    }

    /// Applies it to every number of `x`.
    pub fn apply<const D: usize>(self, x: Tensor<D>) -> Tensor<D> {
        match self {
            Activation::Relu => activation::relu(x),
            Activation::LeakyRelu => activation::leaky_relu(x, 0.01),
            Activation::Elu => activation::elu(x, 1.0),
            Activation::Gelu => activation::gelu(x),
            Activation::Silu => activation::silu(x),
            Activation::Tanh => activation::tanh(x),
            Activation::Sigmoid => activation::sigmoid(x),
        }
    }
}
