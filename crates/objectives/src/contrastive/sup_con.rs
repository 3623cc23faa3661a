#![doc = include_str!("../pages/sup-con.md")]

use toprank_core::{Param, ParamError, Spec};

use super::TEMPERATURE;
use super::means::{COLUMNS, Form, Outcome};
use crate::compositional::tracker::{GAMMA, LAGGED};
use crate::compositional::{Rule, Tracker};
use crate::kernels::scalar::{log_add_exp, sigmoid};
use crate::objective::{Input, Objective, Out};
use crate::params::RELEVANT;
use crate::state::{Column, ListState};
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[TEMPERATURE, GAMMA, LAGGED, RELEVANT];
pub(crate) const EXAMPLES: &[&str] =
    &["sup-con:temperature=0.5", "sup-con:gamma=0.5", "sup-con:lagged=true", "sup-con:relevant=2"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let temperature = spec.args.positive("temperature", 0.1)?;
    let tracker = Tracker::from_spec(spec, Rule::MovingAverage)?;
    Ok(Box::new(SupCon(Form { tracker, temperature, pull: 1.0 / temperature })))
}

/// Supervised contrastive loss; formula, source and cost are in the [module](self).
struct SupCon(Form);

impl Objective for SupCon {
    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn list(&self, input: &Input, state: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        self.0.list(input, state, work, out, |means| Outcome {
            value: log_add_exp(means.ln[0], means.ln[1]),
            relevant: sigmoid(-means.odds()),
            others: sigmoid(means.odds()),
        })
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;

    #[test]
    fn on_a_whole_list_it_is_softmax_cross_entropy_with_equal_probabilities() {
        let (scores, labels) = ([0.3, -0.2, 0.1, 0.4], [1.0, 0.0, 1.0, 0.0]);
        let of = |text: &str| {
            Goal::parse(text, &Policy::default()).unwrap().of_list(&List::new(&scores, &labels)).unwrap()
        };
        let (a, b) = (of("sup-con:temperature=0.2"), of("listwise-ce:gamma=1:temperature=0.2"));
        assert!((a.0 - b.0).abs() < 1e-13, "{} {}", a.0, b.0);
        assert!(a.1.iter().zip(&b.1).all(|(a, b)| (a - b).abs() < 1e-13), "{:?} {:?}", a.1, b.1);
    }
}
