#![doc = include_str!("../pages/tpauc-kl.md")]

use toprank_core::{Param, ParamError, Spec};

use super::pauc_kl::{Kl, LAMBDA};
use super::surrogate::{MARGIN, RISING, TEMPERATURE};
use super::tracker::{GAMMA, LAGGED};
use super::{Compositional, Inner, Over, Rule, Surrogate, Tracker};
use crate::objective::Objective;
use crate::params::RELEVANT;

pub(crate) const PARAMS: &[Param] = &[
    LAMBDA,
    Param {
        name: "worst",
        default: "1",
        range: "in (0, ∞)",
        about: "λ': for small values only the lowest relevant items count, for large ones all",
    },
    GAMMA,
    RISING,
    MARGIN,
    TEMPERATURE,
    LAGGED,
    RELEVANT,
];
pub(crate) const EXAMPLES: &[&str] = &[
    "tpauc-kl:lambda=0.3",
    "tpauc-kl:worst=0.3",
    "tpauc-kl:gamma=0.5",
    "tpauc-kl:surrogate=hinge",
    "tpauc-kl:margin=2",
    "tpauc-kl:surrogate=logistic:temperature=0.5",
    "tpauc-kl:lagged=true",
    "tpauc-kl:worst=10:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let lambda = spec.args.positive("lambda", 1.0)?;
    let over = Over::SoftWorst(spec.args.positive("worst", 1.0)?);
    let inner = Inner::ExpOf(Surrogate::rising(spec)?, lambda);
    Compositional::boxed(Kl { lambda, over }, inner, Tracker::from_spec(spec, Rule::MovingAverage)?, spec)
}
