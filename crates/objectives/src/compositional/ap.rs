#![doc = include_str!("../pages/ap.md")]

use toprank_core::{Param, ParamError, Spec};

use super::surrogate::{MARGIN, PLAIN, TEMPERATURE};
use super::tracker::{GAMMA, LAGGED};
use super::{
    Anchor, Compositional, Inner, Outcome, Outer, Over, Reference, Rule, SELF, Strata, Surrogate, Tracker,
};
use crate::objective::Objective;
use crate::params::RELEVANT;

pub(crate) const PARAMS: &[Param] = &[GAMMA, PLAIN, MARGIN, TEMPERATURE, SELF, LAGGED, RELEVANT];
pub(crate) const EXAMPLES: &[&str] = &[
    "ap:gamma=0.5",
    "ap:surrogate=hinge",
    "ap:margin=2",
    "ap:surrogate=sigmoid:temperature=0.5",
    "ap:margin=0.5:self=one",
    "ap:lagged=true",
    "ap:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let inner = inner(spec)?;
    Compositional::boxed(AveragePrecision, inner, Tracker::from_spec(spec, Rule::MovingAverage)?, spec)
}

/// Any surrogate except the exponential.
pub(crate) fn inner(spec: &Spec) -> Result<Inner, ParamError> {
    let surrogate = Surrogate::from_spec(spec)?;
    if matches!(surrogate, Surrogate::Exponential { .. }) {
        let expected =
            "another surrogate: with exponential all relevant items have the same smooth precision";
        return Err(ParamError::new("surrogate", "exponential", expected));
    }
    Ok(Inner::Of(surrogate))
}

/// Minus the smooth precision at an anchor: f(g1, g2) = −g1/g2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AveragePrecision;

impl Outer for AveragePrecision {
    const REFERENCES: &'static [Reference] = &[Reference::Relevant, Reference::All];
    const OFFSET: f64 = 1.0;

    fn over(&self) -> Over {
        Over::Mean
    }

    fn takes_part(&self, strata: &Strata, _: f64) -> bool {
        strata.drawn_relevant > 0 && strata.drawn_others > 0
    }

    fn at(&self, _: &Anchor, u: [f64; 2], _: bool) -> Outcome {
        Outcome { value: -u[0] / u[1], slope: [-1.0 / u[1], u[0] / (u[1] * u[1])] }
    }
}
