#![doc = include_str!("../pages/contrastive.md")]

use toprank_core::{Param, ParamError, Spec};

use super::OVER;
use crate::objective::{Input, Objective, Out};
use crate::params::RELEVANT;
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "near",
        default: "1",
        range: "a number",
        about: "relevant items should be at least as similar as this",
    },
    Param {
        name: "far",
        default: "0.5",
        range: "a number",
        about: "other items should be at most as similar as this",
    },
    OVER,
    RELEVANT,
];
pub(crate) const EXAMPLES: &[&str] =
    &["contrastive:near=0.8", "contrastive:far=0.2", "contrastive:over=all", "contrastive:relevant=2"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let margin = |key: &str, default| spec.args.number(key, default, "a number", f64::is_finite);
    Ok(Box::new(Contrastive {
        near: margin("near", 1.0)?,
        far: margin("far", 0.5)?,
        violating: spec.args.one_of("over", "violating", &[("violating", true), ("all", false)])?,
    }))
}

/// Contrastive loss; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct Contrastive {
    near: f64,
    far: f64,
    violating: bool,
}

impl Objective for Contrastive {
    fn shift_invariant(&self) -> bool {
        false
    }

    fn list(&self, input: &Input, _: &mut ListState, _: &mut Work, out: &mut Out) -> Option<f64> {
        let (scores, frozen) = (input.list.scores, input.frozen());
        let lacks = |relevant: bool, s: f64| if relevant { self.near - s } else { s - self.far };
        // Total weights of the means, by class.
        let (mut any, mut over) = ([false; 2], [0.0; 2]);
        for (j, &s) in frozen.iter().enumerate() {
            let relevant = input.is_relevant(j);
            any[usize::from(relevant)] |= input.weight(j) > 0.0;
            if !self.violating || lacks(relevant, s) > 0.0 {
                over[usize::from(relevant)] += input.weight(j);
            }
        }
        if any != [true; 2] {
            return None;
        }
        let mut loss = 0.0;
        for j in 0..scores.len() {
            let relevant = input.is_relevant(j);
            let total = over[usize::from(relevant)];
            let lack = lacks(relevant, scores[j]);
            if total > 0.0 && lack > 0.0 && lacks(relevant, frozen[j]) > 0.0 {
                let share = input.weight(j) / total;
                loss += share * lack;
                out.gradient[j] = if relevant { -share } else { share };
                if let Some(h) = &mut out.hessian {
                    h[j] = share;
                }
            }
        }
        Some(loss)
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;

    #[test]
    fn five_items_by_hand() {
        let (scores, labels) = ([0.9, 0.4, 0.8, 0.6, -0.3], [1.0, 1.0, 0.0, 0.0, 0.0]);
        let of = |text: &str| {
            Goal::parse(text, &Policy::default()).unwrap().of_list(&List::new(&scores, &labels)).unwrap()
        };
        let (loss, gradient) = of("contrastive");
        assert!((loss - (0.5 * (0.1 + 0.6) + 0.5 * (0.3 + 0.1))).abs() < 1e-14, "{loss}");
        assert_eq!(gradient, [-0.5, -0.5, 0.5, 0.5, 0.0]);
        assert!((of("contrastive:over=all").0 - (0.5 * (0.1 + 0.6) + (0.3 + 0.1) / 3.0)).abs() < 1e-14);
        assert!(
            (of("contrastive:near=0.5").0 - (0.1 + 0.5 * (0.3 + 0.1))).abs() < 1e-14,
            "the first is near enough"
        );
    }
}
