#![doc = include_str!("../pages/approx-mrr.md")]

use toprank_core::{Param, ParamError, Spec};

use super::approx_ndcg::TEMPERATURE;
use crate::kernels::smooth_ranks::Worth;
use crate::objective::{Input, Objective, Out};
use crate::params::RELEVANT;
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[TEMPERATURE, RELEVANT];
pub(crate) const EXAMPLES: &[&str] = &["approx-mrr:temperature=0.1", "approx-mrr:relevant=2"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(ApproxMrr { temperature: spec.args.positive("temperature", 1.0)? }))
}

/// ApproxMRR; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct ApproxMrr {
    temperature: f64,
}

impl Objective for ApproxMrr {
    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let n = input.list.scores.len();
        let weight = |j: usize| if input.is_relevant(j) { input.weight(j) } else { 0.0 };
        let total: f64 = (0..n).map(weight).sum();
        if n < 2 || total == 0.0 {
            return None;
        }
        let ranks = &mut work.kernel.smooth_ranks;
        ranks.anchor((0..n).map(|j| weight(j) / total));
        let (s, t) = (input.list.scores, self.temperature);
        Some(1.0 - ranks.measure(s, Worth::Reciprocal, t, 1.0, out.gradient, out.hessian.as_deref_mut()))
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;

    #[test]
    fn three_items_by_hand() {
        // e^s = 3, 1, 1: ranks 1 + ¼ + ¼, 1 + ¾ + ½, 1 + ¾ + ½; items 1 and 2 are relevant.
        let scores = [3f64.ln(), 0.0, 0.0];
        let list = List { weights: Some(&[1.0, 1.0, 3.0]), ..List::new(&scores, &[0.0, 2.0, 1.0]) };
        let of = |text| Goal::parse(text, &Policy::default()).unwrap().of_list(&list).unwrap();
        let (loss, gradient) = of("approx-mrr");
        assert!((loss - (1.0 - 1.0 / 2.25)).abs() < 1e-13, "{loss}");
        let push = 1.0 / (2.25 * 2.25);
        let expected =
            [push * 0.1875, push * (0.75 * 0.25 - 0.25 * 0.4375), push * (0.25 * 0.25 - 0.75 * 0.4375)];
        assert!(
            gradient.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-13),
            "{gradient:?} {expected:?}"
        );
        assert!((of("approx-mrr:relevant=2").0 - (1.0 - 1.0 / 2.25)).abs() < 1e-13);
        assert_ne!(of("approx-mrr:relevant=2").1, gradient);
    }
}
