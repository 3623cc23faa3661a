#![doc = include_str!("../pages/neural-ndcg.md")]

use toprank_core::{Param, ParamError, Spec};

use super::measure::shares;
use crate::kernels::neural_sort::{Stop, Task};
use crate::objective::{Input, Objective, Out};
use crate::params::{CUT, GAIN};
use crate::state::ListState;
use crate::work::Work;

pub(super) const TEMPERATURE: Param =
    Param {
        name: "temperature", default: "1", range: "in (0, ∞)", about: "τ; smaller values are sharper"
    };
pub(super) const ITERATIONS: Param = Param {
    name: "iterations",
    default: "50",
    range: "an integer from 1 to 1000",
    about: "maximum number of Sinkhorn iterations",
};
pub(super) const TOLERANCE: Param = Param {
    name: "tolerance",
    default: "1e-6",
    range: "in (0, ∞)",
    about: "Sinkhorn scaling stops when every column sum is this close to 1",
};

pub(crate) const PARAMS: &[Param] = &[CUT, TEMPERATURE, ITERATIONS, TOLERANCE, GAIN];
pub(crate) const EXAMPLES: &[&str] = &[
    "neural-ndcg@3",
    "neural-ndcg:temperature=0.1",
    "neural-ndcg:iterations=2",
    "neural-ndcg:tolerance=0.01",
    "neural-ndcg:gain=linear",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(Relaxed::read(spec)?))
}

/// NeuralNDCG; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct Relaxed {
    pub places: usize,
    pub temperature: f64,
    iterations: usize,
    tolerance: f64,
}

impl Relaxed {
    pub fn read(spec: &Spec) -> Result<Relaxed, ParamError> {
        Ok(Relaxed {
            places: spec.cut.map_or(usize::MAX, |k| k as usize),
            temperature: spec.args.positive("temperature", 1.0)?,
            iterations: spec.args.count("iterations", 50, 1000)?,
            tolerance: spec.args.positive("tolerance", 1e-6)?,
        })
    }

    pub fn stop(&self) -> Stop {
        Stop::Near(self.iterations, self.tolerance)
    }
}

impl Objective for Relaxed {
    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let n = input.list.scores.len();
        let [parts] = work.floats.cut([n]);
        shares(input, self.places, parts, &mut work.kernel.gains)?;
        let task = Task {
            scores: input.list.scores,
            shares: parts,
            temperature: self.temperature,
            places: self.places,
        };
        let sort = &mut work.kernel.neural_sort;
        // The number of iterations is frozen: otherwise the loss would jump where it changes.
        let stop = match input.frozen {
            None => self.stop(),
            Some(scores) => Stop::After(sort.iterations(&Task { scores, ..task }, self.stop())),
        };
        let (measure, _) = sort.balanced(&task, stop, out.gradient, out.hessian.as_deref_mut());
        out.gradient.iter_mut().for_each(|g| *g = -*g);
        Some(1.0 - measure)
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Lists, Policy};

    use crate::{Batch, Goal, Gradients};

    #[test]
    fn two_items_by_hand() {
        // P = [¾, ¼; ¼, ¾] is doubly stochastic already.
        let goal = Goal::parse("neural-ndcg", &Policy::default()).unwrap();
        let (loss, gradient) = goal.of_list(&List::new(&[3f64.ln(), 0.0], &[1.0, 0.0])).unwrap();
        assert!((loss - (1.0 - (0.75 + 0.25 / 3f64.log2()))).abs() < 1e-15);
        let slope = 0.75 * 0.25 * (1.0 - 1.0 / 3f64.log2());
        assert!((gradient[0] + slope).abs() < 1e-15 && (gradient[1] - slope).abs() < 1e-15, "{gradient:?}");
    }

    #[test]
    fn the_number_of_iterations_is_that_of_the_frozen_scores() {
        let goal = Goal::parse("neural-ndcg", &Policy::default()).unwrap();
        let lists = Lists::from_lengths(&[4], vec![0.0, 2.0, 1.0, 0.0]);
        let scores = [3.0, 1.0, 2.0, 0.5];
        let loss = |frozen: Option<&[f64]>| {
            let batch = Batch { frozen, ..Batch::all(&lists, &scores) };
            let mut out = Gradients::default();
            goal.step(&batch, &mut goal.state(&lists).unwrap(), &mut out).unwrap();
            out.loss
        };
        assert_eq!(loss(None).to_bits(), loss(Some(&scores)).to_bits());
        // Equal scores need no iteration, so the matrix of these scores is not scaled either.
        assert!((loss(None) - loss(Some(&[0.0; 4]))).abs() > 1e-9);
    }

    #[test]
    fn a_low_temperature_is_the_metric_and_perfect_order_costs_nothing() {
        let goal = Goal::parse("neural-ndcg@2:temperature=1e-3", &Policy::default()).unwrap();
        let (loss, _) = goal.of_list(&List::new(&[0.1, 0.5, 0.9], &[2.0, 0.0, 1.0])).unwrap();
        // The order is labels 1, 0, 2; the best one 2, 1.
        assert!((loss - (1.0 - 1.0 / (3.0 + 1.0 / 3f64.log2()))).abs() < 1e-12);
        let (loss, _) = goal.of_list(&List::new(&[0.9, 0.1, 0.5], &[2.0, 0.0, 1.0])).unwrap();
        assert!(loss.abs() < 1e-12);
    }
}
