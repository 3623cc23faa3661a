#![doc = include_str!("../pages/cross-entropy.md")]

use toprank_core::{Param, ParamError, Spec};

use super::{OfItem, SMOOTHING, SUM, of_target, over_items, smoothing};
use crate::objective::{Hessian, Input, Objective, Out};
use crate::params::RELEVANT;
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "relevant-weight",
        default: "1",
        range: "balanced or in (0, ∞)",
        about: "weight of a relevant item relative to another; balanced: N-/N+ of the list, so that both classes have the same weight",
    },
    SUM,
    RELEVANT,
    SMOOTHING,
];
pub(crate) const EXAMPLES: &[&str] = &[
    "cross-entropy:relevant-weight=5",
    "cross-entropy:relevant-weight=balanced",
    "cross-entropy:sum=true",
    "cross-entropy:relevant=2",
    "cross-entropy:smoothing=0.1",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let relevant_weight = match spec.args.get("relevant-weight") {
        Some("balanced") => None,
        _ => Some(spec.args.positive("relevant-weight", 1.0)?),
    };
    Ok(Box::new(CrossEntropy {
        relevant_weight,
        sum: spec.args.flag("sum", false)?,
        smoothing: smoothing(spec)?,
    }))
}

/// Weighted cross-entropy; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct CrossEntropy {
    /// `None`: balanced.
    relevant_weight: Option<f64>,
    sum: bool,
    smoothing: f64,
}

impl Objective for CrossEntropy {
    fn hessian(&self) -> Hessian {
        Hessian::Exact
    }

    fn shift_invariant(&self) -> bool {
        false
    }

    fn list(&self, input: &Input, state: &mut ListState, _: &mut Work, out: &mut Out) -> Option<f64> {
        // The counts of the whole list: those of the sample would undo its stratification.
        let (relevant, others) = (state.relevant.len() as f64, (state.items - state.relevant.len()) as f64);
        let balanced = if relevant > 0.0 && others > 0.0 { others / relevant } else { 1.0 };
        let heavy = self.relevant_weight.unwrap_or(balanced);
        over_items(input, out, self.sum, |j, s| {
            let (w, t) = if input.is_relevant(j) { (heavy, 1.0) } else { (1.0, 0.0) };
            let OfItem { loss, slope, curve } =
                of_target((1.0 - self.smoothing) * t + self.smoothing / 2.0, s);
            OfItem { loss: w * loss, slope: w * slope, curve: w * curve }
        })
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;

    fn of(text: &str, scores: &[f64], labels: &[f32]) -> (f64, Vec<f64>) {
        Goal::parse(text, &Policy::default()).unwrap().of_list(&List::new(scores, labels)).unwrap()
    }

    #[test]
    fn without_weights_it_is_the_logistic_loss() {
        let (scores, labels) = ([0.3, -2.0, 1.0], [1.0, 0.0, 0.0]);
        assert_eq!(of("cross-entropy", &scores, &labels), of("logistic", &scores, &labels));
    }

    #[test]
    fn balanced_gives_both_classes_the_same_pull_at_equal_scores() {
        let (loss, gradient) = of("cross-entropy:relevant-weight=balanced", &[0.0; 4], &[1.0, 0.0, 0.0, 0.0]);
        assert!((loss - (3.0 + 3.0) * 2f64.ln() / 4.0).abs() < 1e-15);
        assert_eq!(gradient, [-3.0 * 0.5 / 4.0, 0.125, 0.125, 0.125]);
    }
}
