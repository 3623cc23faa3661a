#![doc = include_str!("../pages/top-push.md")]

use toprank_core::{Param, ParamError, Spec};

use super::pauc_cvar::{Cvar, Others};
use super::{MinMax, STEP, THRESHOLDS};
use crate::compositional::Surrogate;
use crate::compositional::surrogate::{MARGIN, RISING, TEMPERATURE};
use crate::objective::Objective;
use crate::params::RELEVANT;

pub(crate) const PARAMS: &[Param] = &[THRESHOLDS, STEP, RISING, MARGIN, TEMPERATURE, RELEVANT];
pub(crate) const EXAMPLES: &[&str] = &[
    "top-push:variables=exact",
    "top-push:rate=0.5",
    "top-push:surrogate=hinge",
    "top-push:margin=2",
    "top-push:surrogate=logistic:temperature=0.5",
    "top-push:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    MinMax::by_thresholds(Cvar { others: Others::Highest, surrogate: Surrogate::rising(spec)? }, spec)
}
