#![doc = include_str!("../pages/listmle.md")]

use toprank_core::{Param, ParamError, Spec};

use super::plackett_luce::{TIED, Tied, likelihood};
use crate::objective::{Hessian, Input, Needs, Objective, Out};
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[TIED];
pub(crate) const EXAMPLES: &[&str] = &["listmle:tied=shared"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(ListMle { tied: Tied::read(spec)? }))
}

/// ListMLE; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct ListMle {
    tied: Tied,
}

impl Objective for ListMle {
    fn needs(&self) -> Needs {
        Needs { random: self.tied == Tied::Random, ..Needs::default() }
    }

    fn hessian(&self) -> Hessian {
        Hessian::Exact
    }

    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        likelihood(input, self.tied, |_, _| 1.0, work, out)
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Lists, Policy, Stream};

    use super::super::plackett_luce::tests::{adversarial, plain};
    use crate::{Batch, Goal, Gradients};

    fn goal(text: &str) -> Goal {
        Goal::parse(text, &Policy::default()).unwrap()
    }

    #[test]
    fn three_items_by_hand() {
        // Order by label: items 1, 2, 0 with e^s = 2, 1, 3.
        let (scores, labels) = ([3f64.ln(), 2f64.ln(), 0.0], [0.0, 2.0, 1.0]);
        let (loss, gradient) = goal("listmle").of_list(&List::new(&scores, &labels)).unwrap();
        assert!((loss - -(2f64 / 6.0).ln() - -(1f64 / 4.0).ln()).abs() < 1e-15);
        let expected =
            [3.0 / 6.0 + 3.0 / 4.0 + 3.0 / 3.0 - 1.0, 2.0 / 6.0 - 1.0, 1.0 / 6.0 + 1.0 / 4.0 - 1.0];
        assert!(gradient.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-15), "{gradient:?}");
    }

    #[test]
    fn shared_items_are_compared_with_all_that_are_not_better() {
        let (scores, labels) = ([3f64.ln(), 2f64.ln(), 0.0], [1.0, 1.0, 0.0]);
        let (loss, gradient) = goal("listmle:tied=shared").of_list(&List::new(&scores, &labels)).unwrap();
        assert!((loss - -(3f64 / 6.0).ln() - -(2f64 / 6.0).ln()).abs() < 1e-15);
        let expected = [2.0 * 3.0 / 6.0 - 1.0, 2.0 * 2.0 / 6.0 - 1.0, 2.0 / 6.0 + 1.0 - 1.0];
        assert!(gradient.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-15), "{gradient:?}");
    }

    #[test]
    fn the_sweep_equals_the_reference_implementation() {
        let mut random = Stream::new(1, "listmle").open();
        for n in [2, 3, 50, 700] {
            let mut labels: Vec<f32> = (0..n).map(|y| y as f32).collect();
            random.shuffle(&mut labels);
            for scores in adversarial(n) {
                let (loss, g, h) = plain(&scores, &labels, |_| 1.0);
                let lists = Lists::from_lengths(&[n], labels.clone());
                for text in ["listmle", "listmle:tied=shared"] {
                    let goal = goal(text);
                    let mut out = Gradients { want_hessian: true, ..Gradients::default() };
                    goal.step(&Batch::all(&lists, &scores), &mut goal.state(&lists).unwrap(), &mut out)
                        .unwrap();
                    let close = |a: &[f64], b: &[f64]| {
                        let scale = b.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
                        a.iter().zip(b).all(|(x, y)| (x - y).abs() <= 1e-10 * scale)
                    };
                    assert!(close(&[out.loss], &[loss]), "{text}, n = {n}: {} {loss}", out.loss);
                    assert!(close(&out.gradient, &g), "{text}, n = {n}");
                    assert!(close(&out.hessian, &h), "{text}, n = {n}: hessian");
                }
            }
        }
    }

    #[test]
    fn a_random_order_is_another_in_each_step_and_respects_the_labels() {
        let lists = Lists::from_lengths(&[6], vec![1.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
        let scores = [2.0, 1.0, 0.5, 0.0, -1.0, 30.0];
        let goal = goal("listmle");
        let at = |step| {
            let mut out = Gradients::default();
            let stream = Stream::new(0, "objective").at_step(step);
            let batch = Batch { stream, ..Batch::all(&lists, &scores) };
            goal.step(&batch, &mut goal.state(&lists).unwrap(), &mut out).unwrap();
            out
        };
        assert_ne!(at(0).loss, at(1).loss);
        for step in 0..20 {
            // The one irrelevant item is last in every order, and its score is far above those of the five before it.
            assert!((at(step).gradient[5] - 5.0).abs() < 1e-9, "{:?}", at(step).gradient);
        }
    }
}
