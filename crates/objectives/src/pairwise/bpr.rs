#![doc = include_str!("../pages/bpr.md")]

use toprank_core::{Param, ParamError, Spec};

use super::logistic::{Logistic, TEMPERATURE};
use super::mechanism::{Grade, Pairwise, SUM};
use crate::objective::Objective;
use crate::params::RELEVANT;

pub(crate) const PARAMS: &[Param] = &[TEMPERATURE, SUM, RELEVANT];
pub(crate) const EXAMPLES: &[&str] = &["bpr:temperature=0.5", "bpr:sum=true", "bpr:relevant=2"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Pairwise::boxed(spec, Logistic::new(spec)?, Grade::Relevance)
}
