#![doc = include_str!("../pages/ranksvm.md")]

use toprank_core::{Param, ParamError, Spec};

use super::hinge::{HingeLoss, MARGIN};
use super::mechanism::{Grade, Pairwise, SUM};
use crate::objective::Objective;

pub(crate) const PARAMS: &[Param] = &[MARGIN, SUM];
pub(crate) const EXAMPLES: &[&str] = &["ranksvm:margin=0.5", "ranksvm:sum=true"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Pairwise::boxed(spec, HingeLoss::<false>::new(spec)?, Grade::Label)
}
