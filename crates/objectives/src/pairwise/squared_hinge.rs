#![doc = include_str!("../pages/squared-hinge.md")]

use toprank_core::{Param, ParamError, Spec};

use super::hinge::{HingeLoss, MARGIN};
use super::mechanism::{Grade, Pairwise, SUM};
use crate::objective::Objective;

pub(crate) const PARAMS: &[Param] = &[MARGIN, SUM];
pub(crate) const EXAMPLES: &[&str] = &["squared-hinge:margin=0.5", "squared-hinge:sum=true"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Pairwise::boxed(spec, HingeLoss::<true>::new(spec)?, Grade::Label)
}
