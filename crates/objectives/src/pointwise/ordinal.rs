#![doc = include_str!("../pages/ordinal.md")]

use toprank_core::{Param, ParamError, Spec};

use super::{OfItem, SUM, over_items};
use crate::kernels::scalar::{sigmoid, softplus};
use crate::objective::{Hessian, Input, Objective, Out};
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "levels",
        default: "4",
        range: "an integer from 1 to 100",
        about: "L: the highest grade; there is a threshold below each grade 1 … L",
    },
    Param {
        name: "spacing",
        default: "1",
        range: "in (0, ∞)",
        about: "distance between neighbouring thresholds",
    },
    SUM,
];
pub(crate) const EXAMPLES: &[&str] = &["ordinal:levels=2", "ordinal:spacing=2", "ordinal:sum=true"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(Ordinal {
        levels: spec.args.count("levels", 4, 100)?,
        spacing: spec.args.positive("spacing", 1.0)?,
        sum: spec.args.flag("sum", false)?,
    }))
}

/// Ordinal regression; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct Ordinal {
    levels: usize,
    spacing: f64,
    sum: bool,
}

impl Objective for Ordinal {
    fn hessian(&self) -> Hessian {
        Hessian::Exact
    }

    fn shift_invariant(&self) -> bool {
        false
    }

    fn list(&self, input: &Input, _: &mut ListState, _: &mut Work, out: &mut Out) -> Option<f64> {
        let centre = (self.levels + 1) as f64 / 2.0;
        over_items(input, out, self.sum, |j, s| {
            let y = f64::from(input.list.labels[j]);
            let mut item = OfItem { loss: 0.0, slope: 0.0, curve: 0.0 };
            for k in 1..=self.levels {
                let x = s - self.spacing * (k as f64 - centre);
                let sign = if y >= k as f64 { -1.0 } else { 1.0 };
                item.loss += softplus(sign * x);
                item.slope += sign * sigmoid(sign * x);
                item.curve += sigmoid(x) * sigmoid(-x);
            }
            item
        })
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;
    use crate::kernels::scalar::{sigmoid, softplus};

    #[test]
    fn three_grades_by_hand() {
        // Two levels one apart: thresholds −1/2 and 1/2.
        let goal = Goal::parse("ordinal:levels=2", &Policy::default()).unwrap();
        let (loss, gradient) = goal.of_list(&List::new(&[0.2, 0.2, 0.2], &[0.0, 1.0, 2.0])).unwrap();
        let below = softplus(0.7) + softplus(-0.3); // both thresholds are above
        let between = softplus(-0.7) + softplus(-0.3);
        let above = softplus(-0.7) + softplus(0.3);
        assert!((loss - (below + between + above) / 3.0).abs() < 1e-15);
        let expected = [
            (sigmoid(0.7) + sigmoid(-0.3)) / 3.0,
            (-sigmoid(-0.7) + sigmoid(-0.3)) / 3.0,
            (-sigmoid(-0.7) - sigmoid(0.3)) / 3.0,
        ];
        assert!(gradient.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-15), "{gradient:?}");
    }

    #[test]
    fn one_level_is_the_logistic_loss_of_labels_from_1_on() {
        let list = List::new(&[0.3, -2.0, 1.0], &[1.0, 0.0, 3.0]);
        let of = |text| Goal::parse(text, &Policy::default()).unwrap().of_list(&list).unwrap();
        let ((a, b), (c, d)) = (of("ordinal:levels=1"), of("logistic:relevant=1"));
        assert!((a - c).abs() < 1e-15 && b.iter().zip(&d).all(|(x, y)| (x - y).abs() < 1e-15));
    }

    #[test]
    fn a_label_above_the_highest_level_counts_as_that_level() {
        let of = |y| {
            let goal = Goal::parse("ordinal:levels=2", &Policy::default()).unwrap();
            goal.of_list(&List::new(&[0.3], &[y])).unwrap()
        };
        assert_eq!(of(2.0), of(7.0));
    }
}
