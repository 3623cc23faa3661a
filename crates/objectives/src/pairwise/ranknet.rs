#![doc = include_str!("../pages/ranknet.md")]

use toprank_core::{Param, ParamError, Spec};

use super::logistic::{Logistic, TEMPERATURE};
use super::mechanism::{Grade, Pairwise, SUM};
use crate::objective::Objective;

pub(crate) const PARAMS: &[Param] = &[TEMPERATURE, SUM];
pub(crate) const EXAMPLES: &[&str] = &["ranknet:temperature=0.5", "ranknet:sum=true"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Pairwise::boxed(spec, Logistic::new(spec)?, Grade::Label)
}
