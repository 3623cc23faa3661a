#![doc = include_str!("../pages/global-contrastive.md")]

use toprank_core::{Param, ParamError, Spec};

use super::TEMPERATURE;
use super::means::{COLUMNS, Form, Outcome};
use crate::compositional::tracker::{GAMMA, LAGGED};
use crate::compositional::{Rule, Tracker};
use crate::kernels::scalar::log_add_exp;
use crate::objective::{Input, Objective, Out};
use crate::params::RELEVANT;
use crate::state::{Column, ListState};
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    TEMPERATURE,
    Param {
        name: "epsilon",
        default: "1e-8",
        range: "in [0, ∞)",
        about: "ε: added to the mean, so that dissimilar others get almost no gradient",
    },
    GAMMA,
    LAGGED,
    RELEVANT,
];
pub(crate) const EXAMPLES: &[&str] = &[
    "global-contrastive:temperature=0.5",
    "global-contrastive:epsilon=0.1",
    "global-contrastive:gamma=0.5",
    "global-contrastive:lagged=true",
    "global-contrastive:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(Global {
        epsilon: spec.args.not_negative("epsilon", 1e-8)?.ln(),
        form: Form {
            tracker: Tracker::from_spec(spec, Rule::MovingAverage)?,
            temperature: spec.args.positive("temperature", 0.1)?,
            pull: 1.0,
        },
    }))
}

/// Global contrastive loss; formula, source and cost are in the [module](self).
struct Global {
    /// ln ε.
    epsilon: f64,
    form: Form,
}

impl Objective for Global {
    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn shift_invariant(&self) -> bool {
        self.epsilon == f64::NEG_INFINITY
    }

    fn list(&self, input: &Input, state: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let tau = self.form.temperature;
        self.form.list(input, state, work, out, |means| {
            // All relative to base/τ, so that large offsets lose no digits.
            let mean = means.ln[1] - means.others.ln();
            let sum = log_add_exp(self.epsilon - means.base, mean);
            Outcome { value: tau * sum, relevant: 0.0, others: tau * (mean - sum).exp() }
        })
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;

    #[test]
    fn three_items_by_hand() {
        // e^{s/τ} = 2 for the relevant one, 3 and 5 for the others: their mean is 4.
        let scores = [2f64, 3.0, 5.0].map(|e| 0.5 * e.ln());
        let goal = Goal::parse("global-contrastive:temperature=0.5:epsilon=1", &Policy::default()).unwrap();
        let (loss, gradient) = goal.of_list(&List::new(&scores, &[1.0, 0.0, 0.0])).unwrap();
        assert!((loss - 0.5 * (5.0f64 / 2.0).ln()).abs() < 1e-14, "{loss}");
        let expected = [-1.0, 4.0 / 5.0 * 3.0 / 8.0, 4.0 / 5.0 * 5.0 / 8.0];
        assert!(gradient.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-14), "{gradient:?}");
    }
}
