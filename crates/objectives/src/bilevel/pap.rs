#![doc = include_str!("../pages/pap.md")]

use toprank_core::{Param, ParamError, Spec};

use super::pairs::{self, PairGate, Pairs, Region};
use super::{Block, Set};
use crate::compositional::{Strata, Surrogate};
use crate::objective::Objective;
use crate::params::{CUT, join};

const PLACES: Param = Param { default: "10", about: "K: how many items of each class count", ..CUT };
pub(crate) const PARAMS: &[Param] = &join::<14>(&[&[PLACES], &pairs::PARAMS]);
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
    "pap:gamma-z=0.9",
    "pap:surrogate=hinge",
    "pap:margin=2",
    "pap:surrogate=sigmoid:temperature=0.5",
    "pap:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Pairs::boxed(TopPairs { k: spec.cut.unwrap_or(10) }, Surrogate::plain(spec)?, spec)
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
