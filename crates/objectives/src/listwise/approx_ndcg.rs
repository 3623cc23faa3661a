#![doc = include_str!("../pages/approx-ndcg.md")]

use toprank_core::{Param, ParamError, Spec};

use super::measure::shares;
use crate::kernels::smooth_ranks::Worth;
use crate::objective::{Input, Objective, Out};
use crate::params::GAIN;
use crate::state::ListState;
use crate::work::Work;

pub(super) const TEMPERATURE: Param = Param {
    name: "temperature",
    default: "1",
    range: "in (0, ∞)",
    about: "T: score differences are divided by it",
};

pub(crate) const PARAMS: &[Param] = &[TEMPERATURE, GAIN];
pub(crate) const EXAMPLES: &[&str] = &["approx-ndcg:temperature=0.1", "approx-ndcg:gain=linear"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(ApproxNdcg { temperature: spec.args.positive("temperature", 1.0)? }))
}

/// ApproxNDCG; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct ApproxNdcg {
    temperature: f64,
}

impl Objective for ApproxNdcg {
    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let [parts] = work.floats.cut([input.list.scores.len()]);
        shares(input, usize::MAX, parts, &mut work.kernel.gains)?;
        let ranks = &mut work.kernel.smooth_ranks;
        ranks.anchor(parts.iter().copied());
        let (s, t) = (input.list.scores, self.temperature);
        Some(1.0 - ranks.measure(s, Worth::Logarithm, t, 1.0, out.gradient, out.hessian.as_deref_mut()))
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;

    #[test]
    fn three_items_by_hand() {
        // e^s = 3, 1, 1: σ of the differences is 3/4, 1/4, 1/2.
        let scores = [3f64.ln(), 0.0, 0.0];
        let goal = Goal::parse("approx-ndcg", &Policy::default()).unwrap();
        let (loss, gradient) = goal.of_list(&List::new(&scores, &[0.0, 2.0, 1.0])).unwrap();
        let (rank, ideal) = (1.0 + 0.75 + 0.5, 3.0 + 1.0 / 3f64.log2());
        assert!((loss - (1.0 - 4.0 / (1.0f64 + rank).log2() / ideal)).abs() < 1e-13);
        let fall = 2f64.ln() / ((1.0 + rank) * (1.0f64 + rank).ln().powi(2)) / ideal;
        let (near, far) = (0.25, 0.75 * 0.25);
        let expected = [
            4.0 * fall * far,
            fall * near - 3.0 * fall * (far + near),
            3.0 * fall * near - fall * (far + near),
        ];
        assert!(
            gradient.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-13),
            "{gradient:?} {expected:?}"
        );
    }

    #[test]
    fn a_low_temperature_is_the_metric() {
        let goal = Goal::parse("approx-ndcg:temperature=1e-3", &Policy::default()).unwrap();
        let (loss, _) = goal.of_list(&List::new(&[0.1, 0.5, 0.9], &[2.0, 0.0, 1.0])).unwrap();
        let ndcg = (1.0 + 3.0 / 4f64.log2()) / (3.0 + 1.0 / 3f64.log2());
        assert!((loss - (1.0 - ndcg)).abs() < 1e-12, "{loss}");
    }
}
