#![doc = include_str!("../pages/margin.md")]

use toprank_core::{Param, ParamError, Spec};

use super::hinge::HingeLoss;
use super::mechanism::{Grade, Pairwise};
use crate::objective::Objective;

pub(crate) const PARAMS: &[Param] = &[Param {
    name: "b",
    default: "0.05",
    range: "in [0, ∞)",
    about: "how far the better score should be above the worse one",
}];
pub(crate) const EXAMPLES: &[&str] = &["margin:b=0.4"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let b = match spec.args.get("b") {
        None => 0.05,
        Some(text) => match text.parse::<f64>() {
            Ok(b) if b >= 0.0 && b.is_finite() => b,
            _ => return Err(ParamError::new("b", text, "in [0, ∞)")),
        },
    };
    Ok(Box::new(Pairwise::summed(HingeLoss::<true> { margin: b }, Grade::Label)))
}
