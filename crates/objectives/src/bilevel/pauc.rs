#![doc = include_str!("../pages/pauc-bilevel.md")]

use toprank_core::{Param, ParamError, Spec};

use super::pairs::{self, PairGate, Pairs, Region};
use super::{Block, Set};
use crate::compositional::{Strata, Surrogate};
use crate::objective::Objective;
use crate::params::join;

pub(crate) const FPR: Param = Param {
    name: "fpr",
    default: "0.1",
    range: "in (0, 1]",
    about: "β: the region ends at this false positive rate",
};
pub(crate) const FROM: Param = Param {
    name: "from",
    default: "0",
    range: "in [0, 1), below fpr",
    about: "α: the region starts at this false positive rate",
};

pub(crate) const PARAMS: &[Param] = &join::<15>(&[&[FPR, FROM], &pairs::PARAMS]);
pub(crate) const EXAMPLES: &[&str] = &[
    "pauc-bilevel:fpr=0.5",
    "pauc-bilevel:fpr=0.9:from=0.1",
    "pauc-bilevel:form=practical",
    "pauc-bilevel:threshold=exact",
    "pauc-bilevel:threshold=quantile",
    "pauc-bilevel:sharpness=3",
    "pauc-bilevel:tau1=0.5",
    "pauc-bilevel:tau2=100",
    "pauc-bilevel:eta=0.5",
    "pauc-bilevel:absolute=true",
    "pauc-bilevel:gamma=0.5",
    "pauc-bilevel:gamma-z=0.9",
    "pauc-bilevel:surrogate=hinge",
    "pauc-bilevel:margin=2",
    "pauc-bilevel:surrogate=sigmoid:temperature=0.5",
    "pauc-bilevel:fpr=0.9:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Pairs::boxed(OneWay::from_spec(spec)?, Surrogate::plain(spec)?, spec)
}

/// All relevant items against the others at ranks ⌈αN-⌉ + 1 to ⌊βN-⌋ among the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OneWay {
    from: f64,
    fpr: f64,
}

impl OneWay {
    pub fn from_spec(spec: &Spec) -> Result<OneWay, ParamError> {
        let (from, fpr) = (spec.args.not_negative("from", 0.0)?, spec.args.fraction("fpr", 0.1)?);
        if from >= fpr {
            let found = spec.args.get("from").unwrap_or_default();
            return Err(ParamError::new("from", found, "below fpr"));
        }
        Ok(OneWay { from, fpr })
    }

    /// From 0 to `fpr`.
    pub fn up_to(fpr: f64) -> OneWay {
        OneWay { from: 0.0, fpr }
    }

    /// k1 and k2: the others before the region, and those to its end.
    pub fn places(&self, others: usize) -> (usize, usize) {
        let n = others as f64;
        // A product that is an integer up to rounding is that integer.
        let rounded = |x: f64| if (x - x.round()).abs() < 1e-9 * n { x.round() } else { x };
        (rounded(n * self.from).ceil() as usize, rounded(n * self.fpr).floor() as usize)
    }
}

impl Region for OneWay {
    const GATES: [PairGate; 2] =
        [PairGate { on_relevant: false, above: false }, PairGate { on_relevant: false, above: true }];

    fn blocks(&self, strata: &Strata) -> Option<[Option<Block>; 2]> {
        let (k1, k2) = self.places(strata.others());
        (k2 > k1).then(|| {
            [Block::new(Set::Others, k1 as isize - 1, strata), Block::new(Set::Others, k2 as isize, strata)]
        })
    }

    fn selected(&self, strata: &Strata) -> [f64; 2] {
        let (k1, k2) = self.places(strata.others());
        [strata.relevant as f64, (k2 - k1) as f64]
    }
}
