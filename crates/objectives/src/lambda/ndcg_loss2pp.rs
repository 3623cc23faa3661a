#![doc = include_str!("../pages/ndcg-loss2pp.md")]

use toprank_core::{Param, ParamError, Spec};

use super::mechanism::{CUT, Lambda, SIGMA};
use super::ndcg_loss2::NdcgBound;
use crate::objective::Objective;
use crate::params::GAIN;

const MU: Param = Param {
    name: "mu",
    default: "10",
    range: "in (0, ∞)",
    about: "μ: factor on the weights of NDCG-Loss2, which are added to those of LambdaRank",
};
pub(crate) const PARAMS: &[Param] = &[CUT, MU, SIGMA, GAIN];
pub(crate) const EXAMPLES: &[&str] =
    &["ndcg-loss2pp@5", "ndcg-loss2pp:mu=1", "ndcg-loss2pp:sigma=2", "ndcg-loss2pp:gain=linear"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let mu = spec.args.positive("mu", 10.0)?;
    Ok(Box::new(Lambda::new(spec, NdcgBound { cut: spec.cut, near: mu, swap: 1.0 })?))
}
