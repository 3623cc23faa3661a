#![doc = include_str!("../pages/precision-threshold.md")]

use toprank_core::{Param, ParamError, Spec};

use super::items::{Items, Side};
use super::{ABSOLUTE, Bilevel, Block, DIFFERENTIABLE, ETA, Lower, Set, TAU1, TAU2};
use crate::compositional::surrogate::{MARGIN, TEMPERATURE};
use crate::compositional::tracker::GAMMA;
use crate::compositional::{Rule, Strata, Surrogate};
use crate::objective::Objective;
use crate::params::{CUT, RELEVANT};

pub(crate) const PARAMS: &[Param] = &[
    Param { default: "10", about: "K, the places that count", ..CUT },
    DIFFERENTIABLE,
    TAU1,
    TAU2,
    ETA,
    ABSOLUTE,
    GAMMA,
    crate::compositional::surrogate::PLAIN,
    MARGIN,
    TEMPERATURE,
    RELEVANT,
];
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
    let side = AtK { k: spec.cut.unwrap_or(10), recall: false };
    let upper = Items { side, surrogate: Surrogate::plain(spec)? };
    Bilevel::boxed(upper, Lower::differentiable(spec)?, Rule::MovingAverage, spec)
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
    use super::{AtK, Bilevel, Items, Lower, Objective, Param, ParamError, Rule, Spec, Surrogate};

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
        let side = AtK { k: spec.cut.unwrap_or(10), recall: true };
        let upper = Items { side, surrogate: Surrogate::plain(spec)? };
        Bilevel::boxed(upper, Lower::differentiable(spec)?, Rule::MovingAverage, spec)
    }
}
