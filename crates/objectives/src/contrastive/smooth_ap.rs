#![doc = include_str!("../pages/smooth-ap.md")]

use toprank_core::{Param, ParamError, Spec};

use crate::compositional::ap::AveragePrecision;
use crate::compositional::{Compositional, Inner, Rule, Schedule, Surrogate, Tracker};
use crate::objective::{Input, Objective, Out};
use crate::params::RELEVANT;
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "temperature",
        default: "0.01",
        range: "in (0, ∞)",
        about: "τ of the sigmoid; smaller values make ranks sharper",
    },
    RELEVANT,
];
pub(crate) const EXAMPLES: &[&str] = &["smooth-ap:temperature=0.5", "smooth-ap:relevant=2"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(SmoothAp(Compositional {
        outer: AveragePrecision,
        inner: Inner::Of(Surrogate::Sigmoid { temperature: spec.args.positive("temperature", 0.01)? }),
        tracker: Tracker {
            gamma: Schedule::Constant(1.0),
            ..Tracker::from_spec(&Spec::parse("smooth-ap")?, Rule::MovingAverage)?
        },
        self_is_one: true,
        smoothing: 0.0,
    })))
}

/// SmoothAP; formula, source and cost are in the [module](self).
struct SmoothAp(Compositional<AveragePrecision>);

impl Objective for SmoothAp {
    /// Average precision of the drawn items, as if they were the whole list and seen for the first time.
    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let n = input.list.len();
        let mut aside = std::mem::take(&mut work.aside);
        aside.places.clear();
        aside.places.extend((0..n as u32).filter(|j| input.is_relevant(*j as usize)));
        aside.values.clear();
        // The list's own number, and two trackers per relevant item.
        aside.values.resize(1 + 2 * aside.places.len(), f64::NAN);
        let mut state = ListState {
            values: &mut aside.values,
            columns: self.0.columns(),
            all: n,
            items: n,
            relevant: &aside.places,
        };
        let loss = self.0.list(&Input { sample: None, ..*input }, &mut state, work, out);
        work.aside = aside;
        loss
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;
    use crate::kernels::scalar::sigmoid;

    #[test]
    fn three_items_by_hand() {
        let (scores, labels) = ([0.2, 0.1, 0.4], [1.0, 1.0, 0.0]);
        let goal = Goal::parse("smooth-ap:temperature=0.5", &Policy::default()).unwrap();
        let (loss, _) = goal.of_list(&List::new(&scores, &labels)).unwrap();
        let above = |j: usize, i: usize| sigmoid((scores[j] - scores[i]) / 0.5);
        let first = (1.0 + above(1, 0)) / (1.0 + above(1, 0) + above(2, 0));
        let second = (1.0 + above(0, 1)) / (1.0 + above(0, 1) + above(2, 1));
        assert!((loss - (1.0 - 0.5 * (first + second))).abs() < 1e-12, "{loss}");
    }
}
