#![doc = include_str!("../pages/precision-at-recall.md")]

use toprank_core::{Param, ParamError, Spec};

use super::items::{self, Items, Side};
use super::{Block, Set};
use crate::compositional::Strata;
use crate::objective::Objective;
use crate::params::join;

const RECALL: Param = Param {
    name: "recall",
    default: "0.5",
    range: "in (0, 1]",
    about: "ρ: the recall, the fraction of relevant items above the threshold",
};
pub(crate) const PARAMS: &[Param] = &join::<12>(&[&[RECALL, items::SURROGATE], &items::PARAMS]);
pub(crate) const EXAMPLES: &[&str] = &[
    "precision-at-recall:recall=0.9",
    "precision-at-recall:threshold=exact",
    "precision-at-recall:tau1=0.5",
    "precision-at-recall:tau2=100",
    "precision-at-recall:eta=0.5",
    "precision-at-recall:absolute=true",
    "precision-at-recall:gamma=0.5",
    "precision-at-recall:gamma-z=0.9",
    "precision-at-recall:surrogate=hinge",
    "precision-at-recall:surrogate=step",
    "precision-at-recall:margin=2",
    "precision-at-recall:surrogate=sigmoid:temperature=0.5",
    "precision-at-recall:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Items::boxed(AtRecall { recall: spec.args.fraction("recall", 0.5)? }, spec)
}

/// Others should be below the threshold that reaches the recall.
#[derive(Clone, Copy, Debug)]
struct AtRecall {
    recall: f64,
}

impl Side for AtRecall {
    const OVER: Set = Set::Others;
    const SURROGATE: Param = items::SURROGATE;

    fn block(&self, strata: &Strata) -> Option<Block> {
        // The ⌈ρN+⌉-th largest score has ⌈ρN+⌉ − 1 relevant items above it.
        let reached = (self.recall * strata.relevant as f64).ceil().max(1.0);
        Block::new(Set::Relevant, reached as isize - 1, strata)
    }

    fn scale(&self, _: &Strata) -> (f64, f64) {
        (0.0, 1.0)
    }
}
