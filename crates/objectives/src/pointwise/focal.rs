#![doc = include_str!("../pages/focal.md")]

use toprank_core::{Param, ParamError, Spec};

use super::{OfItem, SUM, over_items};
use crate::kernels::scalar::{sigmoid, softplus};
use crate::objective::{Input, Objective, Out};
use crate::params::RELEVANT;
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "focus",
        default: "2",
        range: "in [0, ∞)",
        about: "γ: larger values down-weight correctly classified items more",
    },
    Param {
        name: "alpha",
        default: "0.25",
        range: "in [0, 1]",
        about: "α: weight of a relevant item; others have 1 − α",
    },
    SUM,
    RELEVANT,
];
pub(crate) const EXAMPLES: &[&str] =
    &["focal:focus=0", "focal:focus=1", "focal:alpha=0.75", "focal:sum=true", "focal:relevant=2"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(Focal {
        focus: spec.args.not_negative("focus", 2.0)?,
        alpha: spec.args.number("alpha", 0.25, "in [0, 1]", |x| (0.0..=1.0).contains(&x))?,
        sum: spec.args.flag("sum", false)?,
    }))
}

/// Focal loss; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct Focal {
    focus: f64,
    alpha: f64,
    sum: bool,
}

impl Objective for Focal {
    fn shift_invariant(&self) -> bool {
        false
    }

    fn list(&self, input: &Input, _: &mut ListState, _: &mut Work, out: &mut Out) -> Option<f64> {
        over_items(input, out, self.sum, |j, s| {
            let (w, sign) = if input.is_relevant(j) { (self.alpha, -1.0) } else { (1.0 - self.alpha, 1.0) };
            // q: the probability of the wrong class; −ln(1 − q) = softplus.
            let (z, q) = (sign * s, sigmoid(sign * s));
            let (log, factor) = (softplus(z), q.powf(self.focus));
            let (right, focus) = (sigmoid(-z), self.focus);
            OfItem {
                loss: w * factor * log,
                slope: w * sign * factor * (self.focus * right * log + q),
                // The second derivative without its one negative term: where it is much smaller than the true one, Newton's
                // steps are as much too long.
                curve: w * factor * right * ((1.0 + 2.0 * focus) * q + focus * focus * right * log),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Lists, Policy};

    use crate::{Batch, Goal, Gradients};

    fn of(text: &str, scores: &[f64], labels: &[f32]) -> (f64, Vec<f64>) {
        Goal::parse(text, &Policy::default()).unwrap().of_list(&List::new(scores, labels)).unwrap()
    }

    #[test]
    fn two_items_by_hand() {
        // σ(ln 3) = 3/4: relevant, so 1/4 is wrong; the other, so 3/4 is.
        let (loss, _) = of("focal", &[3f64.ln(), 3f64.ln()], &[1.0, 0.0]);
        let relevant = 0.25 * 0.25f64.powi(2) * -(0.75f64.ln());
        let other = 0.75 * 0.75f64.powi(2) * -(0.25f64.ln());
        assert!((loss - f64::midpoint(relevant, other)).abs() < 1e-15, "{loss}");
    }

    #[test]
    fn the_hessian_is_at_least_the_second_derivative() {
        for focus in [0.0, 0.5, 2.0, 5.0] {
            let goal = Goal::parse(&format!("focal:focus={focus}"), &Policy::default()).unwrap();
            for (score, label) in (-60..=60).flat_map(|s| [0.0, 1.0].map(|label| (f64::from(s) / 5.0, label)))
            {
                let slope = |s: f64| goal.of_list(&List::new(&[s], &[label])).unwrap().1[0];
                let second = (slope(score + 1e-4) - slope(score - 1e-4)) / 2e-4;
                let lists = Lists::from_lengths(&[1], vec![label]);
                let mut out = Gradients { want_hessian: true, ..Gradients::default() };
                let mut state = goal.state(&lists).unwrap();
                goal.step(&Batch::all(&lists, &[score]), &mut state, &mut out).unwrap();
                let hessian = out.hessian[0];
                assert!(hessian >= second - 1e-7, "{focus} {score} {label}: {hessian} {second}");
                assert!(hessian > 0.0 && (focus > 0.0 || (hessian - second).abs() < 1e-7));
            }
        }
    }

    #[test]
    fn without_focus_and_with_equal_weights_it_is_half_the_cross_entropy() {
        let (scores, labels) = ([0.3, -2.0, 1.0], [1.0, 0.0, 0.0]);
        let (focal, entropy) =
            (of("focal:focus=0:alpha=0.5", &scores, &labels), of("cross-entropy", &scores, &labels));
        assert!((focal.0 - entropy.0 / 2.0).abs() < 1e-15);
        assert!(focal.1.iter().zip(&entropy.1).all(|(f, e)| (f - e / 2.0).abs() < 1e-15));
    }
}
