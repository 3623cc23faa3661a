#![doc = include_str!("../pages/p-norm-push-minmax.md")]

use toprank_core::{Param, ParamError, Spec};

use super::conjugate::{Conjugate, Dual};
use super::{MinMax, STEP, VARIABLES};
use crate::compositional::surrogate::{MARGIN, PLAIN, TEMPERATURE};
use crate::compositional::{Inner, Surrogate};
use crate::objective::Objective;
use crate::params::RELEVANT;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "p",
        default: "4",
        range: "in (1, 64]",
        about: "the power; larger values concentrate on the worst items",
    },
    VARIABLES,
    STEP,
    PLAIN,
    MARGIN,
    TEMPERATURE,
    RELEVANT,
];
pub(crate) const EXAMPLES: &[&str] = &[
    "p-norm-push-minmax:p=2",
    "p-norm-push-minmax:p=1.5",
    "p-norm-push-minmax:variables=exact",
    "p-norm-push-minmax:rate=0.5",
    "p-norm-push-minmax:surrogate=hinge",
    "p-norm-push-minmax:margin=2",
    "p-norm-push-minmax:surrogate=logistic:temperature=0.5",
    "p-norm-push-minmax:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let p = spec.args.number("p", 4.0, "in (1, 64]", |p| p > 1.0 && p <= 64.0)?;
    MinMax::boxed(Conjugate { dual: Power { p }, inner: Inner::Of(Surrogate::plain(spec)?) }, spec)
}

/// f(g) = g^p, f*(y) = (p − 1)(y/p)^{p/(p−1)}.
#[derive(Clone, Copy, Debug)]
struct Power {
    p: f64,
}

impl Dual for Power {
    fn conjugate(&self, y: f64) -> f64 {
        (self.p - 1.0) * (y / self.p).powf(self.p / (self.p - 1.0))
    }

    fn mean(&self, y: f64) -> f64 {
        (y / self.p).powf(1.0 / (self.p - 1.0))
    }

    fn best(&self, g: f64) -> f64 {
        self.p * g.powf(self.p - 1.0)
    }
}
