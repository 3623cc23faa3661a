#![doc = include_str!("../pages/tpauc-bilevel.md")]

use toprank_core::{Param, ParamError, Spec};

use super::pairs::{self, PairGate, Pairs, Region};
use super::pauc::{FPR, OneWay};
use super::{Block, Set};
use crate::compositional::{Strata, Surrogate};
use crate::objective::Objective;
use crate::params::join;

pub(crate) const TPR: Param = Param {
    name: "tpr",
    default: "0.5",
    range: "in [0, 1)",
    about: "the region starts at this true positive rate: the lowest 1 − tpr of the relevant items count",
};

pub(crate) const PARAMS: &[Param] = &join::<15>(&[&[Param { default: "0.3", ..FPR }, TPR], &pairs::PARAMS]);
pub(crate) const EXAMPLES: &[&str] = &[
    "tpauc-bilevel:fpr=0.5",
    "tpauc-bilevel:tpr=0.2",
    "tpauc-bilevel:tpr=0",
    "tpauc-bilevel:form=practical",
    "tpauc-bilevel:threshold=exact",
    "tpauc-bilevel:threshold=quantile",
    "tpauc-bilevel:sharpness=3",
    "tpauc-bilevel:tau1=0.5",
    "tpauc-bilevel:tau2=100",
    "tpauc-bilevel:eta=0.5",
    "tpauc-bilevel:absolute=true",
    "tpauc-bilevel:gamma=0.5",
    "tpauc-bilevel:gamma-z=0.9",
    "tpauc-bilevel:surrogate=hinge",
    "tpauc-bilevel:margin=2",
    "tpauc-bilevel:surrogate=sigmoid:temperature=0.5",
    "tpauc-bilevel:tpr=0.1:fpr=0.9:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Pairs::boxed(TwoWay::from_spec(spec)?, Surrogate::plain(spec)?, spec)
}

/// The lowest ⌊(1 − tpr)N+⌋ relevant items against the highest ⌊fpr·N-⌋ others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TwoWay {
    one_way: OneWay,
    lowest: OneWay,
}

impl TwoWay {
    pub fn from_spec(spec: &Spec) -> Result<TwoWay, ParamError> {
        let fpr = spec.args.fraction("fpr", 0.3)?;
        let tpr = spec.args.number("tpr", 0.5, "in [0, 1)", |x| (0.0..1.0).contains(&x))?;
        Ok(TwoWay { one_way: OneWay::up_to(fpr), lowest: OneWay::up_to(1.0 - tpr) })
    }

    /// How many relevant items and how many others are in the region.
    pub fn places(&self, relevant: usize, others: usize) -> (usize, usize) {
        (self.lowest.places(relevant).1, self.one_way.places(others).1)
    }
}

impl Region for TwoWay {
    const GATES: [PairGate; 2] =
        [PairGate { on_relevant: true, above: false }, PairGate { on_relevant: false, above: true }];

    fn blocks(&self, strata: &Strata) -> Option<[Option<Block>; 2]> {
        let (k1, k2) = self.places(strata.relevant, strata.others());
        (k1 > 0 && k2 > 0).then(|| {
            [
                Block::new(Set::Relevant, strata.relevant as isize - k1 as isize - 1, strata),
                Block::new(Set::Others, k2 as isize, strata),
            ]
        })
    }

    fn selected(&self, strata: &Strata) -> [f64; 2] {
        let (k1, k2) = self.places(strata.relevant, strata.others());
        [k1 as f64, k2 as f64]
    }
}
