#![doc = include_str!("../pages/precision-threshold.md")]

use toprank_core::{Param, ParamError, Spec};

use super::items::{self, Items, Side};
use super::{Block, Set};
use crate::compositional::Strata;
use crate::objective::Objective;
use crate::params::{CUT, join};

const PLACES: Param = Param { default: "10", about: "K, the places that count", ..CUT };
pub(crate) const PARAMS: &[Param] = &join::<11>(&[&[PLACES], &items::PARAMS]);
pub(crate) const EXAMPLES: &[&str] = &[
    "precision-threshold@3",
    "precision-threshold:threshold=exact",
    "precision-threshold:tau1=0.5",
    "precision-threshold:tau2=100",
    "precision-threshold:eta=0.5",
    "precision-threshold:absolute=true",
    "precision-threshold:gamma=0.5",
    "precision-threshold:surrogate=sigmoid",
    "precision-threshold:margin=2",
    "precision-threshold:surrogate=sigmoid:temperature=0.5",
    "precision-threshold@2:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Items::boxed(AtK { k: spec.cut.unwrap_or(10), recall: false }, spec)
}

/// Relevant items are to stand above the first K.
#[derive(Clone, Copy, Debug)]
struct AtK {
    k: u32,
    recall: bool,
}

impl Side for AtK {
    const OVER: Set = Set::Relevant;

    fn block(&self, strata: &Strata) -> Option<Block> {
        Block::new(Set::All, self.k as isize, strata)
    }

    fn scale(&self, strata: &Strata) -> (f64, f64) {
        // 1 − (N+/K)(1 − mean) for precision, the mean for recall.
        let share = strata.relevant as f64 / f64::from(self.k);
        if self.recall { (0.0, 1.0) } else { (1.0 - share, share) }
    }
}

/// Recall at K by threshold.
pub mod recall {
    #![doc = include_str!("../pages/recall-threshold.md")]
    use super::{AtK, Items, Objective, Param, ParamError, Spec};

    pub(crate) const PARAMS: &[Param] = super::PARAMS;
    pub(crate) const EXAMPLES: &[&str] = &[
        "recall-threshold@3",
        "recall-threshold:threshold=exact",
        "recall-threshold:tau1=0.5",
        "recall-threshold:tau2=100",
        "recall-threshold:eta=0.5",
        "recall-threshold:absolute=true",
        "recall-threshold:gamma=0.5",
        "recall-threshold:surrogate=sigmoid",
        "recall-threshold:margin=2",
        "recall-threshold:surrogate=sigmoid:temperature=0.5",
        "recall-threshold@2:relevant=2",
    ];

    pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
        Items::boxed(AtK { k: spec.cut.unwrap_or(10), recall: true }, spec)
    }
}
