#![doc = include_str!("../pages/pap.md")]

use toprank_core::{Param, ParamError, Spec};

use super::pairs::{PairGate, Pairs, Region};
use super::{ABSOLUTE, Bilevel, Block, ETA, FORM, Lower, SHARP, Set, Step, TAU1, TAU2, THRESHOLD};
use crate::compositional::surrogate::{MARGIN, PLAIN, TEMPERATURE};
use crate::compositional::tracker::GAMMA;
use crate::compositional::{Inner, Rule, Strata, Surrogate};
use crate::objective::Objective;
use crate::params::{CUT, RELEVANT};

pub(crate) const PARAMS: &[Param] = &[
    Param { default: "10", about: "K: how many of either class count", ..CUT },
    FORM,
    THRESHOLD,
    SHARP,
    TAU1,
    TAU2,
    ETA,
    ABSOLUTE,
    GAMMA,
    PLAIN,
    MARGIN,
    TEMPERATURE,
    RELEVANT,
];
pub(crate) const EXAMPLES: &[&str] = &[
    "pap@2",
    "pap:form=practical",
    "pap:threshold=exact",
    "pap:threshold=quantile",
    "pap:sharpness=3",
    "pap:tau1=0.5",
    "pap:tau2=100",
    "pap:eta=0.5",
    "pap:absolute=true",
    "pap:gamma=0.5",
    "pap:surrogate=hinge",
    "pap:margin=2",
    "pap:surrogate=sigmoid:temperature=0.5",
    "pap:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let region = TopPairs { k: spec.cut.unwrap_or(10) };
    let upper =
        Pairs { region, inner: Inner::Of(Surrogate::plain(spec)?), gate: Step::from_spec(spec, 10.0)? };
    Bilevel::boxed(upper, Lower::from_spec(spec)?, Rule::MovingAverage, spec)
}

/// The highest K relevant items against the highest K others.
#[derive(Clone, Copy, Debug)]
struct TopPairs {
    k: u32,
}

impl Region for TopPairs {
    const GATES: [PairGate; 2] =
        [PairGate { on_relevant: true, above: true }, PairGate { on_relevant: false, above: true }];

    fn blocks(&self, strata: &Strata) -> Option<[Option<Block>; 2]> {
        let k = self.k as isize;
        Some([Block::new(Set::Relevant, k, strata), Block::new(Set::Others, k, strata)])
    }

    fn selected(&self, strata: &Strata) -> [f64; 2] {
        let k = self.k as usize;
        [k.min(strata.relevant) as f64, k.min(strata.others()) as f64]
    }
}
