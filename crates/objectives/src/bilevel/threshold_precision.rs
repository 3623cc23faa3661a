#![doc = include_str!("../pages/precision-threshold.md")]

use toprank_core::{Param, ParamError, Spec};

use super::items::{self, Items, Side};
use super::{Block, Set};
use crate::compositional::Strata;
use crate::objective::Objective;
use crate::params::{CUT, join};

const PLACES: Param = Param { default: "10", about: "K: only the top K positions count", ..CUT };
pub(crate) const PARAMS: &[Param] = &join::<12>(&[&[PLACES, items::SURROGATE_OF_FEW], &items::PARAMS]);
pub(crate) const EXAMPLES: &[&str] = &[
    "precision-threshold@3",
    "precision-threshold:threshold=exact",
    "precision-threshold:tau1=0.2",
    "precision-threshold:tau2=100",
    "precision-threshold:eta=0.5",
    "precision-threshold:absolute=true",
    "precision-threshold:gamma=0.5",
    "precision-threshold:gamma-z=0.9",
    "precision-threshold:surrogate=squared-hinge",
    "precision-threshold:surrogate=squared-hinge:margin=2",
    "precision-threshold:surrogate=sigmoid:temperature=0.5",
    "precision-threshold@2:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Items::boxed(AtK { k: spec.cut.unwrap_or(10), recall: false }, spec)
}

/// Relevant items should be above the threshold of the top K.
#[derive(Clone, Copy, Debug)]
struct AtK {
    k: u32,
    recall: bool,
}

impl Side for AtK {
    const OVER: Set = Set::Relevant;
    const SURROGATE: Param = items::SURROGATE_OF_FEW;

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
        "recall-threshold:tau1=0.2",
        "recall-threshold:tau2=100",
        "recall-threshold:eta=0.5",
        "recall-threshold:absolute=true",
        "recall-threshold:gamma=0.5",
        "recall-threshold:gamma-z=0.9",
        "recall-threshold:surrogate=squared-hinge",
        "recall-threshold:surrogate=squared-hinge:margin=2",
        "recall-threshold:surrogate=sigmoid:temperature=0.5",
        "recall-threshold@2:relevant=2",
    ];

    pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
        Items::boxed(AtK { k: spec.cut.unwrap_or(10), recall: true }, spec)
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;

    /// 200 items, 40 of them relevant, K = 10: most relevant items rank high, some are among the others.
    fn good_order() -> (Vec<f64>, Vec<f32>) {
        let labels: Vec<f32> = (0..200).map(|j| f32::from(u8::from(j < 40))).collect();
        let scores =
            (0..200).map(|j| if j < 25 { 3.0 - 0.02 * f64::from(j) } else { f64::from(j % 40) / 20.0 });
        (scores.collect(), labels)
    }

    fn loss(text: &str, scores: &[f64], labels: &[f32]) -> f64 {
        Goal::parse(text, &Policy::default()).unwrap().of_list(&List::new(scores, labels)).unwrap().0
    }

    #[test]
    fn equal_scores_are_not_optimal_if_more_than_k_items_are_relevant() {
        let (good, labels) = good_order();
        let equal = vec![0.0; 200];
        let step = |scores: &[f64]| loss("precision-threshold@10", scores, &labels);
        // A fifth of the items is relevant, and at equal scores a fifth of the items above the threshold.
        assert!((step(&equal) - 0.8).abs() < 0.02, "{}", step(&equal));
        assert!(step(&good) < 0.4, "{}", step(&good));
        // Why there is the step: a squared hinge prefers equal scores to a good order.
        let hinge = |scores: &[f64]| loss("precision-threshold@10:surrogate=squared-hinge", scores, &labels);
        assert!(hinge(&equal) < hinge(&good), "{} and {}", hinge(&equal), hinge(&good));
    }

    #[test]
    fn no_scores_have_more_than_k_items_above_and_no_scale_changes_the_loss() {
        let (good, labels) = good_order();
        let of = |f: fn(f64) -> f64| {
            let scores: Vec<f64> = good.iter().map(|s| f(*s)).collect();
            loss("precision-threshold@10:threshold=exact", &scores, &labels)
        };
        for (f, what) in [
            (f64::exp as fn(f64) -> f64, "exp"),
            (f64::floor, "floor"),
            (|s| 1e-3 * s, "small"),
            (|s| s, "plain"),
        ] {
            assert!(of(f) > -0.07, "{what}: {}", of(f)); // K + ½ items are above the threshold
        }
        assert!((of(|s| 1e3 * s - 70.0) - of(|s| s)).abs() < 1e-9);
    }
}
