#![doc = include_str!("../pages/nca.md")]

use toprank_core::{Param, ParamError, Spec};

use super::TEMPERATURE;
use super::means::{COLUMNS, Form, Outcome};
use crate::compositional::tracker::{GAMMA, LAGGED};
use crate::compositional::{Rule, Tracker};
use crate::kernels::scalar::sigmoid;
use crate::objective::{Input, Objective, Out};
use crate::params::RELEVANT;
use crate::state::{Column, ListState};
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[TEMPERATURE, GAMMA, LAGGED, RELEVANT];
pub(crate) const EXAMPLES: &[&str] =
    &["nca:temperature=0.5", "nca:gamma=0.5", "nca:lagged=true", "nca:relevant=2"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(Nca(Form {
        tracker: Tracker::from_spec(spec, Rule::MovingAverage)?,
        temperature: spec.args.positive("temperature", 0.1)?,
        pull: 0.0,
    })))
}

/// NCA; formula, source and cost are in the [module](self).
struct Nca(Form);

impl Objective for Nca {
    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn list(&self, input: &Input, state: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        self.0.list(input, state, work, out, |means| {
            let wrong = sigmoid(means.odds());
            let slope = wrong * sigmoid(-means.odds());
            Outcome { value: wrong, relevant: -slope, others: slope }
        })
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;

    #[test]
    fn three_items_by_hand() {
        // e^{s/τ} = 2, 3, 5: the share of the relevant ones is 5/10.
        let scores = [2f64, 3.0, 5.0].map(|e| 0.5 * e.ln());
        let goal = Goal::parse("nca:temperature=0.5", &Policy::default()).unwrap();
        let (loss, gradient) = goal.of_list(&List::new(&scores, &[1.0, 1.0, 0.0])).unwrap();
        assert!((loss - (1.0 - 5.0 / 10.0)).abs() < 1e-14, "{loss}");
        // p(1 − p)/τ, by their shares of their class.
        let expected = [-0.25 / 0.5 * 2.0 / 5.0, -0.25 / 0.5 * 3.0 / 5.0, 0.25 / 0.5];
        assert!(gradient.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-14), "{gradient:?}");
    }
}
