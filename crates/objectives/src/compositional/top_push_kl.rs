#![doc = include_str!("../pages/top-push-kl.md")]

use toprank_core::{Param, ParamError, Spec};

use super::pauc_kl::{self, LAMBDA};
use super::surrogate::{MARGIN, RISING, TEMPERATURE};
use super::tracker::{GAMMA, LAGGED};
use crate::objective::Objective;
use crate::params::RELEVANT;

pub(crate) const PARAMS: &[Param] =
    &[Param { default: "0.1", ..LAMBDA }, GAMMA, RISING, MARGIN, TEMPERATURE, LAGGED, RELEVANT];
pub(crate) const EXAMPLES: &[&str] = &[
    "top-push-kl:lambda=0.3",
    "top-push-kl:gamma=0.5",
    "top-push-kl:surrogate=hinge",
    "top-push-kl:margin=2",
    "top-push-kl:surrogate=logistic:temperature=0.5",
    "top-push-kl:lagged=true",
    "top-push-kl:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    pauc_kl::with(spec, 0.1)
}
