//! Parameters that several networks share.

use toprank_core::{Param, ParamError, Spec};

use crate::layers::Activation;

pub(crate) const ACTIVATION: Param = Param {
    name: "activation",
    default: "relu",
    range: "relu, leaky-relu, elu, gelu, silu, tanh or sigmoid",
    about: "the activation function between two layers",
};
pub(crate) const NOISE: Param = Param {
    name: "noise",
    default: "0",
    range: "[0, ∞)",
    about: "standard deviation of the Gaussian noise added to the features in training",
};

pub(crate) fn activation(spec: &Spec) -> Result<Activation, ParamError> {
    spec.args.one_of("activation", "relu", Activation::NAMES)
}

pub(crate) fn noise(spec: &Spec) -> Result<f64, ParamError> {
    spec.args.not_negative("noise", 0.0)
}
