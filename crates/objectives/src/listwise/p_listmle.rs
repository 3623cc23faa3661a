#![doc = include_str!("../pages/p-listmle.md")]

use toprank_core::{Param, ParamError, Spec};

use super::plackett_luce::{TIED, Tied, likelihood};
use crate::objective::{Hessian, Input, Needs, Objective, Out};
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[TIED];
pub(crate) const EXAMPLES: &[&str] = &["p-listmle:tied=shared"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(PListMle { tied: Tied::read(spec)? }))
}

/// p-ListMLE; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct PListMle {
    tied: Tied,
}

/// (2^{n−k} − 1) over its sum over k = 1 … n; both parts divided by 2^n, which may be any number.
fn alpha(k: usize, n: usize) -> f64 {
    let last = (-(n as f64)).exp2();
    ((-(k as f64)).exp2() - last) / (1.0 - (n + 1) as f64 * last)
}

impl Objective for PListMle {
    fn needs(&self) -> Needs {
        Needs { random: self.tied == Tied::Random, ..Needs::default() }
    }

    fn hessian(&self) -> Hessian {
        Hessian::Exact
    }

    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        likelihood(input, self.tied, alpha, work, out)
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use super::super::plackett_luce::tests::{adversarial, plain};
    use super::alpha;
    use crate::Goal;

    #[test]
    fn the_weights_of_positions_are_those_of_the_paper_and_sum_to_one() {
        for n in [2, 3, 7, 30] {
            let paper: Vec<f64> = (1..=n).map(|k| 2f64.powi((n - k) as i32) - 1.0).collect();
            let sum: f64 = paper.iter().sum();
            for k in 1..=n {
                assert!((alpha(k, n) - paper[k - 1] / sum).abs() < 1e-15, "n = {n}, k = {k}");
            }
        }
        for n in [1000, 20_000] {
            assert!(((1..=n).map(|k| alpha(k, n)).sum::<f64>() - 1.0).abs() < 1e-15, "n = {n}");
        }
    }

    #[test]
    fn three_items_by_hand() {
        // α = 3/4, 1/4, 0 and the order by label is 1, 2, 0 with e^s = 2, 1, 3.
        let (scores, labels) = ([3f64.ln(), 2f64.ln(), 0.0], [0.0, 2.0, 1.0]);
        let goal = Goal::parse("p-listmle", &Policy::default()).unwrap();
        let (loss, gradient) = goal.of_list(&List::new(&scores, &labels)).unwrap();
        assert!((loss - 0.75 * 3f64.ln() - 0.25 * 4f64.ln()).abs() < 1e-15);
        let expected = [
            0.75 * 3.0 / 6.0 + 0.25 * 3.0 / 4.0,
            0.75 * (2.0 / 6.0 - 1.0),
            0.75 / 6.0 + 0.25 * (1.0 / 4.0 - 1.0),
        ];
        assert!(gradient.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-15), "{gradient:?}");
    }

    #[test]
    fn equal_labels_share_the_mean_weight_of_their_positions() {
        // α = 3/4, 1/4, 0: the two at the top have 1/2 each, the last one nothing to decide.
        let (scores, labels) = ([3f64.ln(), 2f64.ln(), 0.0], [1.0, 1.0, 0.0]);
        let goal = Goal::parse("p-listmle:tied=shared", &Policy::default()).unwrap();
        let (loss, gradient) = goal.of_list(&List::new(&scores, &labels)).unwrap();
        assert!((loss - 0.5 * 2f64.ln() - 0.5 * 3f64.ln()).abs() < 1e-15);
        let expected = [3.0 / 6.0 - 0.5, 2.0 / 6.0 - 0.5, 1.0 / 6.0];
        assert!(gradient.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-15), "{gradient:?}");
    }

    #[test]
    fn the_sweep_equals_the_reference_implementation_at_any_length() {
        let goal = Goal::parse("p-listmle", &Policy::default()).unwrap();
        for n in [2, 3, 100, 1500] {
            let labels: Vec<f32> = (0..n).map(|j| ((j * 7919) % n) as f32 * 0.25).collect();
            for scores in adversarial(n) {
                let (loss, g, _) = plain(&scores, &labels, |k| alpha(k, n));
                let (found, gradient) = goal.of_list(&List::new(&scores, &labels)).unwrap();
                assert!((found - loss).abs() <= 1e-10 * loss.abs().max(1.0), "n = {n}: {found} {loss}");
                assert!(gradient.iter().zip(&g).all(|(a, b)| (a - b).abs() < 1e-10), "n = {n}");
            }
        }
    }

    #[test]
    fn a_list_of_20_000_items_does_not_overflow() {
        let labels: Vec<f32> = (0..20_000).map(|y| y as f32).collect();
        let scores: Vec<f64> = (0..20_000).map(|j| f64::from(j).sin()).collect();
        let goal = Goal::parse("p-listmle", &Policy::default()).unwrap();
        let (loss, gradient) = goal.of_list(&List::new(&scores, &labels)).unwrap();
        // At each position that counts one of 20,000 items is drawn.
        assert!((loss - 20_000f64.ln()).abs() < 3.0, "{loss}");
        assert!(gradient.iter().all(|g| g.is_finite()) && gradient[19_999] < -0.49);
    }
}
