#![doc = include_str!("../pages/listwise-ce.md")]

use toprank_core::{List, Param, ParamError, Policy, Spec};
use toprank_metrics::gain_of;

use super::surrogate::TEMPERATURE;
use super::tracker::{GAMMA, LAGGED};
use super::{
    Anchor, Compositional, Inner, Outcome, Outer, Over, Reference, Rule, Strata, Surrogate, Tracker,
};
use crate::objective::Objective;
use crate::params::{GAIN, RELEVANT, positive, word};

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
    let inner = Inner::Of(Surrogate::Exponential { temperature: positive(spec, "temperature", 1.0)? });
    let by_gain = word(spec, "target", "uniform", &[("uniform", false), ("gain", true)])?;
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
    const OVER: Over = Over::Sum;
    const OFFSET: f64 = 0.0;

    fn prepare(&self, whole: &List, policy: &Policy) -> f64 {
        let relevant = whole.labels.iter().filter(|y| policy.relevant.is(**y));
        relevant.map(|&y| if self.by_gain { gain_of(&policy.gain, y) } else { 1.0 }).sum()
    }

    fn takes_part(&self, strata: &Strata, total: f64) -> bool {
        strata.drawn_relevant > 0 && total > 0.0
    }

    fn at(&self, anchor: &Anchor, u: [f64; 2], _: bool) -> Outcome {
        let chance = if self.by_gain { anchor.gain } else { 1.0 } / anchor.list;
        Outcome { value: chance * (anchor.items.ln() + u[0]), slope: [chance, 0.0] }
    }
}
