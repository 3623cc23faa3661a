#![doc = include_str!("../pages/p-norm-push.md")]

use toprank_core::{Param, ParamError, Spec};

use super::surrogate::{MARGIN, SURROGATE, TEMPERATURE};
use super::tracker::{GAMMA, LAGGED};
use super::{
    Anchor, Compositional, Inner, Outcome, Outer, Over, Reference, Rule, Strata, Surrogate, Tracker,
};
use crate::objective::Objective;
use crate::params::RELEVANT;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "p",
        default: "4",
        range: "in [1, 64]",
        about: "the power; larger values concentrate on the worst items",
    },
    Param {
        name: "swapped",
        default: "false",
        range: "true or false",
        about: "anchors are the other items, which are pushed down, instead of the relevant ones",
    },
    GAMMA,
    SURROGATE,
    MARGIN,
    TEMPERATURE,
    LAGGED,
    RELEVANT,
];
pub(crate) const EXAMPLES: &[&str] = &[
    "p-norm-push:p=2",
    "p-norm-push:swapped=true",
    "p-norm-push:gamma=0.5",
    "p-norm-push:surrogate=exponential",
    "p-norm-push:margin=2",
    "p-norm-push:surrogate=logistic:temperature=0.5",
    "p-norm-push:lagged=true",
    "p-norm-push:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let p = spec.args.number("p", 4.0, "in [1, 64]", |p| (1.0..=64.0).contains(&p))?;
    let outer = Push { p, swapped: spec.args.flag("swapped", false)? };
    let inner = Inner::Of(Surrogate::from_spec(spec)?);
    Compositional::boxed(outer, inner, Tracker::from_spec(spec, Rule::MovingAverage)?, spec)
}

/// f(g) = g^p.
#[derive(Clone, Copy, Debug)]
struct Push {
    p: f64,
    swapped: bool,
}

impl Outer for Push {
    const REFERENCES: &'static [Reference] = &[Reference::OtherClass];
    const OFFSET: f64 = 0.0;

    fn over(&self) -> Over {
        Over::Mean
    }

    fn anchors_are_relevant(&self) -> bool {
        !self.swapped
    }

    fn takes_part(&self, strata: &Strata, _: f64) -> bool {
        strata.drawn_relevant > 0 && strata.drawn_others > 0
    }

    fn at(&self, _: &Anchor, u: [f64; 2], log: bool) -> Outcome {
        if log {
            // A power that overflows f64 is limited to a thousandth of the largest number, so that sums stay finite.
            let value = (self.p * u[0]).exp().min(f64::MAX * 1e-9);
            return Outcome { value, slope: [self.p * value, 0.0] };
        }
        Outcome { value: u[0].powf(self.p), slope: [self.p * u[0].powf(self.p - 1.0), 0.0] }
    }
}
