#![doc = include_str!("../pages/top-push-bilevel.md")]

use toprank_core::{Param, ParamError, Spec};

use super::pairs::{PairGate, Pairs, Region};
use super::{ABSOLUTE, Block, ETA, FORM, SHARP, Set, TAU1, TAU2, THRESHOLD};
use crate::compositional::surrogate::{MARGIN, RISING, TEMPERATURE};
use crate::compositional::tracker::{GAMMA, GAMMA_Z};
use crate::compositional::{Strata, Surrogate};
use crate::objective::Objective;
use crate::params::RELEVANT;

pub(crate) const PARAMS: &[Param] = &[
    FORM,
    THRESHOLD,
    SHARP,
    TAU1,
    TAU2,
    ETA,
    ABSOLUTE,
    GAMMA,
    GAMMA_Z,
    RISING,
    MARGIN,
    TEMPERATURE,
    RELEVANT,
];
pub(crate) const EXAMPLES: &[&str] = &[
    "top-push-bilevel:form=practical",
    "top-push-bilevel:threshold=exact",
    "top-push-bilevel:threshold=quantile",
    "top-push-bilevel:sharpness=3",
    "top-push-bilevel:tau1=0.5",
    "top-push-bilevel:tau2=100",
    "top-push-bilevel:eta=0.5",
    "top-push-bilevel:absolute=true",
    "top-push-bilevel:gamma=0.5",
    "top-push-bilevel:gamma-z=0.9",
    "top-push-bilevel:surrogate=hinge",
    "top-push-bilevel:margin=2",
    "top-push-bilevel:surrogate=sigmoid:temperature=0.5",
    "top-push-bilevel:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Pairs::boxed(TopOne, Surrogate::rising(spec)?, spec)
}

/// All relevant items against the highest other.
#[derive(Clone, Copy, Debug)]
struct TopOne;

impl Region for TopOne {
    // One threshold: the first gate has none.
    const GATES: [PairGate; 2] =
        [PairGate { on_relevant: true, above: true }, PairGate { on_relevant: false, above: true }];

    fn blocks(&self, strata: &Strata) -> Option<[Option<Block>; 2]> {
        Some([None, Block::new(Set::Others, 1, strata)])
    }

    fn selected(&self, strata: &Strata) -> [f64; 2] {
        [strata.relevant as f64, 1.0]
    }
}
