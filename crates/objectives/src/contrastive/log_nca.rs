#![doc = include_str!("../pages/log-nca.md")]

use toprank_core::{Param, ParamError, Spec};

use super::TEMPERATURE;
use super::means::{COLUMNS, Form, Outcome};
use crate::compositional::tracker::{GAMMA, LAGGED};
use crate::compositional::{Rule, Tracker};
use crate::kernels::scalar::{sigmoid, softplus};
use crate::objective::{Input, Objective, Out};
use crate::params::RELEVANT;
use crate::state::{Column, ListState};
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[TEMPERATURE, GAMMA, LAGGED, RELEVANT];
pub(crate) const EXAMPLES: &[&str] =
    &["log-nca:temperature=0.5", "log-nca:gamma=0.5", "log-nca:lagged=true", "log-nca:relevant=2"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(LogNca(Form {
        tracker: Tracker::from_spec(spec, Rule::MovingAverage)?,
        temperature: spec.args.positive("temperature", 0.1)?,
        pull: 0.0,
    })))
}

/// log-NCA; formula, source and cost are in the [module](self).
struct LogNca(Form);

impl Objective for LogNca {
    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn list(&self, input: &Input, state: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        self.0.list(input, state, work, out, |means| {
            let slope = sigmoid(means.odds());
            Outcome { value: softplus(means.odds()), relevant: -slope, others: slope }
        })
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;

    #[test]
    fn three_items_by_hand() {
        let scores = [2f64, 3.0, 5.0].map(|e| 0.5 * e.ln());
        let goal = Goal::parse("log-nca:temperature=0.5", &Policy::default()).unwrap();
        let (loss, gradient) = goal.of_list(&List::new(&scores, &[1.0, 1.0, 0.0])).unwrap();
        assert!((loss - 2f64.ln()).abs() < 1e-14, "{loss}");
        let expected = [-0.5 / 0.5 * 2.0 / 5.0, -0.5 / 0.5 * 3.0 / 5.0, 0.5 / 0.5];
        assert!(gradient.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-14), "{gradient:?}");
    }
}
