#![doc = include_str!("../pages/listwise-ce.md")]

use toprank_core::{List, Param, ParamError, Policy, Spec};
use toprank_metrics::gain_of;

use super::surrogate::TEMPERATURE;
use super::tracker::{GAMMA, LAGGED};
use super::{
    Anchor, Compositional, Inner, Outcome, Outer, Over, Reference, Rule, Strata, Surrogate, Tracker,
};
use crate::objective::Objective;
use crate::params::{GAIN, RELEVANT};

pub(crate) const PARAMS: &[Param] = &[
    GAMMA,
    Param {
        name: "target",
        default: "uniform",
        range: "uniform or gain",
        about: "P over the relevant items: 1/N+ each, or in proportion to their gains",
    },
    Param { about: "τ: scores are divided by it", ..TEMPERATURE },
    LAGGED,
    GAIN,
    RELEVANT,
];
pub(crate) const EXAMPLES: &[&str] = &[
    "listwise-ce:gamma=0.5",
    "listwise-ce:target=gain",
    "listwise-ce:temperature=0.5",
    "listwise-ce:lagged=true",
    "listwise-ce:target=gain:gain=linear",
    "listwise-ce:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let inner = Inner::Of(Surrogate::Exponential { temperature: spec.args.positive("temperature", 1.0)? });
    let by_gain = spec.args.one_of("target", "uniform", &[("uniform", false), ("gain", true)])?;
    Compositional::boxed(
        CrossEntropy { by_gain },
        inner,
        Tracker::from_spec(spec, Rule::MovingAverage)?,
        spec,
    )
}

/// f(g) = P ln(N g).
#[derive(Clone, Copy, Debug)]
struct CrossEntropy {
    by_gain: bool,
}

impl Outer for CrossEntropy {
    const REFERENCES: &'static [Reference] = &[Reference::All];
    const OFFSET: f64 = 0.0;

    fn over(&self) -> Over {
        Over::Sum
    }

    fn prepare(&self, whole: &List, policy: &Policy) -> f64 {
        let relevant = whole.labels.iter().filter(|y| policy.relevant.is(**y));
        relevant.map(|&y| if self.by_gain { gain_of(&policy.gain, y) } else { 1.0 }).sum()
    }

    fn takes_part(&self, strata: &Strata, total: f64) -> bool {
        strata.drawn_relevant > 0 && total > 0.0
    }

    fn at(&self, anchor: &Anchor, u: [f64; 2], _: bool) -> Outcome {
        let probability = if self.by_gain { anchor.gain } else { 1.0 } / anchor.list;
        Outcome { value: probability * (anchor.items.ln() + u[0]), slope: [probability, 0.0] }
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{Lists, Policy, Spec};

    use super::*;
    use crate::objective::{Input, Out};
    use crate::state::State;
    use crate::work::Work;

    /// A tracker that looks at two steps, which no line of the catalog gives this objective yet.
    #[test]
    fn the_gradient_at_the_previous_scores_divides_by_the_tracker_that_followed_them() {
        let (spec, policy) = (Spec::parse("listwise-ce").unwrap(), Policy::default());
        let inner = Inner::Of(Surrogate::Exponential { temperature: 1.0 });
        let tracker = Tracker::from_spec(&spec, Rule::Msvr).unwrap();
        let objective = Compositional::boxed(CrossEntropy { by_gain: false }, inner, tracker, &spec).unwrap();
        let lists = Lists::from_lengths(&[3], vec![1.0, 0.0, 0.0]);
        let (first, second, previous) = ([0.0, 1.0, 2.0], [0.1, 0.4, 0.2], [0.5, -0.2, 0.3]);
        let mut state = State::new(objective.columns(), &lists, &policy);
        let mut work = Work::default();
        objective.prepare(&lists.list(0, &first), &policy, &mut state.of_list(0, 3), &mut work);
        let mut at_previous = [0.0; 3];
        for (scores, previous) in [(&first, &first), (&second, &previous)] {
            at_previous = [0.0; 3];
            let mut gradient = [0.0; 3];
            let mut out =
                Out { gradient: &mut gradient, hessian: None, gradient_previous: Some(&mut at_previous) };
            let list = lists.list(0, scores);
            let input = Input { previous: Some(previous), ..Input::whole(list, &policy) };
            objective.list(&input, &mut state.of_list(0, 3), &mut work, &mut out).unwrap();
        }
        // The one relevant item is the first: ∂/∂s_j of ln g at the previous scores, under it u of the first step after γ = 0.1
        // of the mean at these scores.
        let mean = |s: &[f64; 3]| s.iter().map(|x| (x - s[0]).exp()).sum::<f64>() / 3.0;
        let u = 0.9 * mean(&first) + 0.1 * mean(&previous);
        for j in 1..3 {
            let expected = (previous[j] - previous[0]).exp() / (3.0 * u);
            assert!((at_previous[j] - expected).abs() < 1e-14, "{j}: {} is not {expected}", at_previous[j]);
        }
    }
}
