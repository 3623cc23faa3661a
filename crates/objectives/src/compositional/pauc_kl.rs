#![doc = include_str!("../pages/pauc-kl.md")]

use toprank_core::{Param, ParamError, Spec};

use super::surrogate::{MARGIN, RISING, TEMPERATURE};
use super::tracker::{GAMMA, LAGGED};
use super::{
    Anchor, Compositional, Inner, Outcome, Outer, Over, Reference, Rule, Strata, Surrogate, Tracker,
};
use crate::objective::Objective;
use crate::params::RELEVANT;

pub(crate) const LAMBDA: Param = Param {
    name: "lambda",
    default: "1",
    range: "in (0, ∞)",
    about: "λ: for small values only the highest others count (top push), for large ones all (AUROC)",
};
pub(crate) const PARAMS: &[Param] = &[LAMBDA, GAMMA, RISING, MARGIN, TEMPERATURE, LAGGED, RELEVANT];
pub(crate) const EXAMPLES: &[&str] = &[
    "pauc-kl:lambda=0.3",
    "pauc-kl:gamma=0.5",
    "pauc-kl:surrogate=hinge",
    "pauc-kl:margin=2",
    "pauc-kl:surrogate=logistic:temperature=0.5",
    "pauc-kl:lagged=true",
    "pauc-kl:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    with(spec, 1.0)
}

/// With another default of λ.
pub(super) fn with(spec: &Spec, default: f64) -> Result<Box<dyn Objective>, ParamError> {
    let lambda = spec.args.positive("lambda", default)?;
    let inner = Inner::ExpOf(Surrogate::rising(spec)?, lambda);
    Compositional::boxed(
        Kl { lambda, over: Over::Mean },
        inner,
        Tracker::from_spec(spec, Rule::MovingAverage)?,
        spec,
    )
}

/// f(g) = λ ln g.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kl {
    pub lambda: f64,
    pub over: Over,
}

impl Outer for Kl {
    const REFERENCES: &'static [Reference] = &[Reference::OtherClass];
    const OFFSET: f64 = 0.0;

    fn over(&self) -> Over {
        self.over
    }

    fn takes_part(&self, strata: &Strata, _: f64) -> bool {
        strata.drawn_relevant > 0 && strata.drawn_others > 0
    }

    fn at(&self, _: &Anchor, u: [f64; 2], _: bool) -> Outcome {
        Outcome { value: self.lambda * u[0], slope: [self.lambda, 0.0] }
    }
}
