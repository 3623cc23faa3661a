#![doc = include_str!("../pages/logistic.md")]

use toprank_core::{Param, ParamError, Spec};

use super::{SMOOTHING, SUM, of_target, over_items, smoothing};
use crate::objective::{Hessian, Input, Objective, Out};
use crate::params::RELEVANT;
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    RELEVANT,
    Param {
        name: "certain",
        default: "none",
        range: "in (0, ∞)",
        about: "soft targets: the label divided by this number, clipped to [0, 1], instead of relevant or not",
    },
    SUM,
    SMOOTHING,
];
pub(crate) const EXAMPLES: &[&str] =
    &["logistic:relevant=2", "logistic:certain=4", "logistic:sum=true", "logistic:smoothing=0.1"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let certain = spec.args.get("certain").map(|_| spec.args.positive("certain", 1.0)).transpose()?;
    Ok(Box::new(Logistic { certain, sum: spec.args.flag("sum", false)?, smoothing: smoothing(spec)? }))
}

/// Logistic loss of single items; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct Logistic {
    certain: Option<f64>,
    sum: bool,
    smoothing: f64,
}

impl Objective for Logistic {
    fn hessian(&self) -> Hessian {
        Hessian::Exact
    }

    fn shift_invariant(&self) -> bool {
        false
    }

    fn list(&self, input: &Input, _: &mut ListState, _: &mut Work, out: &mut Out) -> Option<f64> {
        over_items(input, out, self.sum, |j, s| {
            let t = match self.certain {
                None => f64::from(u8::from(input.is_relevant(j))),
                Some(certain) => (f64::from(input.list.labels[j]) / certain).clamp(0.0, 1.0),
            };
            of_target((1.0 - self.smoothing) * t + self.smoothing / 2.0, s)
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
    fn two_items_by_hand() {
        let (loss, gradient) = of("logistic", &[0.0, 3f64.ln()], &[2.0, 0.0]);
        // σ(0) = 1/2 and relevant; σ(ln 3) = 3/4 and not.
        assert!((2.0 * loss - 2f64.ln() - 4f64.ln()).abs() < 1e-15);
        assert!((gradient[0] - (0.5 - 1.0) / 2.0).abs() < 1e-15 && (gradient[1] - 0.75 / 2.0).abs() < 1e-15);
    }

    #[test]
    fn soft_targets_are_labels_over_the_certain_one() {
        let (loss, gradient) = of("logistic:certain=4:sum=true", &[0.0, 0.0, 0.0], &[3.0, 9.0, -1.0]);
        assert!((loss - 3.0 * 2f64.ln()).abs() < 1e-15);
        assert_eq!(gradient, [0.5 - 0.75, 0.5 - 1.0, 0.5 - 0.0]);
    }

    #[test]
    fn smoothed_targets_are_between_the_labels_and_one_half() {
        let (_, gradient) = of("logistic:smoothing=0.2:sum=true", &[0.0, 0.0], &[1.0, 0.0]);
        assert!((gradient[0] - (0.5 - 0.9)).abs() < 1e-15 && (gradient[1] - (0.5 - 0.1)).abs() < 1e-15);
    }

    #[test]
    fn a_score_far_on_the_right_side_costs_its_tail_and_not_a_rounded_zero() {
        let (loss, gradient) = of("logistic", &[40.0], &[1.0]);
        let tail = (-40f64).exp();
        assert!((loss / tail - 1.0).abs() < 1e-12 && (gradient[0] / -tail - 1.0).abs() < 1e-12);
    }
}
