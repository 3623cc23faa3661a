#![doc = include_str!("../pages/auroc.md")]

use toprank_core::{Param, ParamError, Spec};

use super::surrogate::{MARGIN, SURROGATE, TEMPERATURE};
use super::{Anchor, Compositional, Inner, Outcome, Outer, Over, Reference, Strata, Surrogate, Tracker};
use crate::objective::Objective;
use crate::params::RELEVANT;

pub(crate) const PARAMS: &[Param] = &[SURROGATE, MARGIN, TEMPERATURE, RELEVANT];
pub(crate) const EXAMPLES: &[&str] = &[
    "auroc:surrogate=hinge",
    "auroc:surrogate=square",
    "auroc:surrogate=logistic",
    "auroc:surrogate=logistic2",
    "auroc:surrogate=sigmoid:temperature=0.5",
    "auroc:surrogate=exponential",
    "auroc:surrogate=barrier-hinge",
    "auroc:surrogate=huber",
    "auroc:surrogate=one-side-sigmoid",
    "auroc:margin=2",
    "auroc:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Compositional::boxed(AllPairs, Inner::Of(Surrogate::from_spec(spec)?), Tracker::MINI_BATCH, spec)
}

/// f(g) = g: nothing is tracked, since the mean over a sample is unbiased.
#[derive(Clone, Copy, Debug)]
struct AllPairs;

impl Outer for AllPairs {
    const REFERENCES: &'static [Reference] = &[Reference::OtherClass];
    const OFFSET: f64 = 0.0;

    fn over(&self) -> Over {
        Over::Mean
    }

    fn takes_part(&self, strata: &Strata, _: f64) -> bool {
        strata.drawn_relevant > 0 && strata.drawn_others > 0
    }

    fn at(&self, _: &Anchor, u: [f64; 2], log: bool) -> Outcome {
        // An exponential that overflows f64 is limited to a fraction of the largest number, so that sums stay finite.
        let value = if log { u[0].exp().min(f64::MAX * 1e-9) } else { u[0] };
        Outcome { value, slope: [if log { value } else { 1.0 }, 0.0] }
    }
}
