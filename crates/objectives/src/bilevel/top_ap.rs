#![doc = include_str!("../pages/top-ap.md")]

use toprank_core::{Param, ParamError, Spec};

use super::ranks::{self, GatedRanks, RankGated};
use super::{Bilevel, FORM, Lower, Step};
use crate::compositional::ap::{AveragePrecision, inner};
use crate::compositional::surrogate::{MARGIN, PLAIN, TEMPERATURE};
use crate::compositional::tracker::{GAMMA_Z, LAGGED};
use crate::compositional::{Compositional, Rule, SELF, Tracker};
use crate::objective::Objective;
use crate::params::{CUT, RELEVANT, join, with_defaults};

const GATE: Param = Param {
    name: "gate",
    default: "threshold",
    range: "threshold or rank",
    about: "whether items above λ count, or items whose tracked rank is within K",
};
/// The gradient stops at the gate, as in the paper (eq. 24): if more than K items are relevant, those at λ are relevant, too, and
/// the terms through gate and threshold raise and lower the same items; on a sample their sum is mostly noise.
const STOPPED: Param = Param { default: "practical", ..FORM };
/// A bounded surrogate: u1/u2 of squared hinges is near 1 as soon as some relevant items are far above all others.
const BOUNDED: Param = Param { default: "sigmoid", ..PLAIN };
pub(crate) const PARAMS: &[Param] = &join::<18>(&[
    &[Param { default: "10", ..CUT }, GATE, STOPPED],
    ranks::PARAMS.split_at(1).1,
    &[GAMMA_Z, BOUNDED, MARGIN, TEMPERATURE, SELF, LAGGED, RELEVANT],
]);
pub(crate) const EXAMPLES: &[&str] = &[
    "top-ap@3",
    "top-ap@1000",
    "top-ap:gate=rank",
    "top-ap:form=theoretical",
    "top-ap:threshold=exact",
    "top-ap:sharpness=5",
    "top-ap:tau1=0.5",
    "top-ap:tau2=100",
    "top-ap:eta=0.5",
    "top-ap:absolute=true",
    "top-ap:gamma=0.5",
    "top-ap:form=theoretical:gamma-s=0.5",
    "top-ap:gamma-z=0.9",
    "top-ap:surrogate=hinge",
    "top-ap:surrogate=squared-hinge:margin=2",
    "top-ap:temperature=0.5",
    "top-ap:self=one",
    "top-ap:lagged=true",
    "top-ap:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let spec = &with_defaults(spec, &[STOPPED, BOUNDED]);
    let k = spec.cut.unwrap_or(10);
    let tracker = Tracker::from_spec(spec, Rule::MovingAverage)?;
    let ranks = Compositional::from_spec(AveragePrecision, inner(spec)?, tracker, spec)?;
    let gate = Step::from_spec(spec, 2.0)?;
    let lower = Lower::from_spec(spec)?;
    if spec.args.one_of("gate", "threshold", &[("threshold", false), ("rank", true)])? {
        return Ok(Box::new(RankGated { ranks, k, gate }));
    }
    Bilevel::boxed(GatedRanks { ranks, k, gate }, lower, spec)
}
