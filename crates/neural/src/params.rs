//! Parameters that several networks share.

use toprank_core::{Param, ParamError, Spec};

use crate::Activation;

pub(crate) const ACTIVATION: Param = Param {
    name: "activation",
    default: "relu",
    range: "relu, leaky-relu, elu, gelu, silu, tanh or sigmoid",
    about: "the bend between two layers",
};
pub(crate) const NOISE: Param = Param {
    name: "noise",
    default: "0",
    range: "[0, ∞)",
    about: "standard deviation of the Gaussian noise added to the features in training",
};

pub(crate) fn activation(spec: &Spec) -> Result<Activation, ParamError> {
    word(spec, "activation", "relu", Activation::NAMES)
}

pub(crate) fn noise(spec: &Spec) -> Result<f64, ParamError> {
    spec.args.number("noise", 0.0, "in [0, ∞)", |x| x >= 0.0 && x.is_finite())
}

/// A share of units to switch off.
pub(crate) fn dropout(spec: &Spec, default: f64) -> Result<f64, ParamError> {
    spec.args.number("dropout", default, "in [0, 1)", |x| (0.0..1.0).contains(&x))
}

/// A whole number from 1 to `most`.
pub(crate) fn count(spec: &Spec, key: &str, default: usize, most: usize) -> Result<usize, ParamError> {
    let range = format!("a whole number from 1 to {most}");
    let ok = |x: f64| x >= 1.0 && x <= most as f64 && x.fract() == 0.0;
    Ok(spec.args.number(key, default as f64, &range, ok)? as usize)
}

/// One of several words.
pub(crate) fn word<T: Copy>(
    spec: &Spec,
    key: &str,
    default: &str,
    words: &[(&str, T)],
) -> Result<T, ParamError> {
    let text = spec.args.get(key).unwrap_or(default);
    words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        ParamError::new(key, text, &format!("one of {}", names.join(", ")))
    })
}
