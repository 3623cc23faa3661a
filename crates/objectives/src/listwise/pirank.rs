#![doc = include_str!("../pages/pirank.md")]

use toprank_core::{Param, ParamError, Spec};

use super::measure::shares;
use super::neural_ndcg::TEMPERATURE;
use crate::kernels::neural_sort::Task;
use crate::objective::{Input, Objective, Out};
use crate::params::{CUT, GAIN};
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    CUT,
    TEMPERATURE,
    Param {
        name: "straight",
        default: "false",
        range: "true or false",
        about: "straight-through: report the NDCG of the sorted order, differentiate the relaxed one",
    },
    GAIN,
];
pub(crate) const EXAMPLES: &[&str] =
    &["pirank@3", "pirank:temperature=0.1", "pirank:straight=true", "pirank:gain=linear"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(PiRank {
        places: spec.cut.map_or(usize::MAX, |k| k as usize),
        temperature: spec.args.positive("temperature", 1.0)?,
        straight: spec.args.flag("straight", false)?,
    }))
}

/// PiRank; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct PiRank {
    places: usize,
    temperature: f64,
    straight: bool,
}

impl Objective for PiRank {
    fn differentiates_its_loss(&self) -> bool {
        !self.straight
    }

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
        let relaxed = sort.plain(&task, out.gradient, out.hessian.as_deref_mut());
        out.gradient.iter_mut().for_each(|g| *g = -*g);
        Some(1.0 - if self.straight { sort.hard(self.places) } else { relaxed })
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;

    fn of(text: &str, list: &List) -> (f64, Vec<f64>) {
        Goal::parse(text, &Policy::default()).unwrap().of_list(list).unwrap()
    }

    #[test]
    fn three_items_by_hand() {
        // Gaps ln 2 and ln 3; the first row weighs its items 1 : ½ : ½·1/27.
        let scores = [3f64.ln(), 6f64.ln(), 0.0];
        let (loss, _) = of("pirank@1", &List::new(&scores, &[1.0, 0.0, 0.0]));
        assert!((loss - (1.0 - 0.5 / (1.0 + 0.5 + 1.0 / 54.0))).abs() < 1e-15);
    }

    #[test]
    fn straight_through_reports_the_hard_measure_and_keeps_the_gradient() {
        let list = List::new(&[0.3, 0.6, 0.1, 0.6], &[2.0, 0.0, 1.0, 1.0]);
        let ((soft, gradient), (hard, straight)) =
            (of("pirank@2", &list), of("pirank@2:straight=true", &list));
        assert_eq!(gradient, straight);
        // At the top stand labels 0 and 1 with equal scores; the best order is 2, 1.
        let measure = 0.5 * (1.0 + 1.0 / 3f64.log2()) / (3.0 + 1.0 / 3f64.log2());
        assert!((hard - (1.0 - measure)).abs() < 1e-15 && hard != soft);
    }
}
