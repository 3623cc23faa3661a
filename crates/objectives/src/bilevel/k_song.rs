#![doc = include_str!("../pages/k-song.md")]

use toprank_core::{Param, ParamError, Spec};

use super::ranks::{self, GatedRanks, RankGated};
use super::{Bilevel, Lower, SHARPNESS, Step};
use crate::compositional::song::Ndcg;
use crate::compositional::surrogate::{MARGIN, SURROGATE, TEMPERATURE};
use crate::compositional::tracker::{
    BETA, BETA_S, BETA_Z, GAMMA, GAMMA_Z, GAMMA_Z_FASTER, LAGGED, LIST_RATE, PRESET, RATE, TAU,
};
use crate::compositional::{Compositional, Inner, Rule, SELF, Surrogate, Tracker};
use crate::objective::Objective;
use crate::params::{CUT, GAIN, RELEVANT, join};

/// K.
const PLACES: Param = Param { default: "10", ..CUT };

/// Parameters of the ranks.
const RANKS: [Param; 7] = [SURROGATE, MARGIN, TEMPERATURE, SELF, LAGGED, GAIN, RELEVANT];

pub(crate) const PARAMS: &[Param] = &join::<18>(&[&[PLACES], &ranks::PARAMS, &[GAMMA_Z], &RANKS]);
pub(crate) const EXAMPLES: &[&str] = &[
    "k-song@3",
    "k-song@1",
    "k-song:form=practical",
    "k-song:threshold=exact",
    "k-song:threshold=quantile",
    "k-song:sharpness=5",
    "k-song:tau1=0.5",
    "k-song:tau2=100",
    "k-song:eta=0.5",
    "k-song:absolute=true",
    "k-song:gamma=0.5",
    "k-song:gamma-s=0.5",
    "k-song:gamma-z=0.9",
    "k-song:surrogate=sigmoid",
    "k-song:margin=2",
    "k-song:surrogate=logistic:temperature=0.5",
    "k-song:margin=0.5:self=one",
    "k-song:lagged=true",
    "k-song:gain=linear",
    "k-song:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    with(spec, Rule::MovingAverage)
}

fn with(spec: &Spec, rule: Rule) -> Result<Box<dyn Objective>, ParamError> {
    let k = spec.cut.unwrap_or(10);
    let tracker = Tracker::from_spec(spec, rule)?;
    let ranks = Compositional::from_spec(Ndcg { k }, Inner::Of(Surrogate::from_spec(spec)?), tracker, spec)?;
    let upper = GatedRanks { ranks, k, gate: Step::from_spec(spec, 2.0)? };
    Bilevel::with_rule(upper, Lower::from_spec(spec)?, rule, spec)
}

/// What the Faster forms have beyond γ, except β and τ of u.
const FASTER: [Param; 6] = [GAMMA_Z_FASTER, BETA_S, BETA_Z, RATE, LIST_RATE, PRESET];

/// Faster K-SONG v1: MSVR for ranks, second derivative and threshold.
pub mod v1 {
    #![doc = include_str!("../pages/k-song-v1.md")]
    use super::{BETA, FASTER, Objective, PLACES, Param, ParamError, RANKS, Rule, Spec, join, ranks, with};

    pub(crate) const PARAMS: &[Param] = &join::<24>(&[&[PLACES], &ranks::PARAMS, &[BETA], &FASTER, &RANKS]);
    pub(crate) const EXAMPLES: &[&str] = &[
        "k-song-v1@3",
        "k-song-v1:form=practical",
        "k-song-v1:threshold=exact",
        "k-song-v1:sharpness=5",
        "k-song-v1:tau1=0.5",
        "k-song-v1:tau2=100",
        "k-song-v1:eta=0.5",
        "k-song-v1:absolute=true",
        "k-song-v1:gamma=0.5",
        "k-song-v1:beta=0.2",
        "k-song-v1:beta=theory:rate=0.8",
        "k-song-v1:gamma-s=0.5",
        "k-song-v1:gamma-z=0.5",
        "k-song-v1:beta-s=0.7",
        "k-song-v1:beta-z=0.7",
        "k-song-v1:beta-s=theory:list-rate=0.8",
        "k-song-v1:preset=code",
        "k-song-v1:surrogate=hinge",
        "k-song-v1:margin=2",
        "k-song-v1:surrogate=logistic:temperature=0.5",
        "k-song-v1:margin=0.5:self=one",
        "k-song-v1:lagged=true",
        "k-song-v1:gain=linear",
        "k-song-v1:relevant=2",
    ];

    pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
        with(spec, Rule::Msvr)
    }
}

/// Faster K-SONG v2: the quadratic tracker for ranks and for the inverse second derivative.
pub mod v2 {
    #![doc = include_str!("../pages/k-song-v2.md")]
    use super::{
        BETA, FASTER, Objective, PLACES, Param, ParamError, RANKS, Rule, Spec, TAU, join, ranks, with,
    };

    pub(crate) const PARAMS: &[Param] =
        &join::<25>(&[&[PLACES], &ranks::PARAMS, &[BETA_V2, TAU], &FASTER, &RANKS]);
    const BETA_V2: Param = Param { default: "0.9", ..BETA };
    pub(crate) const EXAMPLES: &[&str] = &[
        "k-song-v2@3",
        "k-song-v2:form=practical",
        "k-song-v2:threshold=exact",
        "k-song-v2:sharpness=5",
        "k-song-v2:tau1=0.5",
        "k-song-v2:tau2=100",
        "k-song-v2:eta=0.5",
        "k-song-v2:absolute=true",
        "k-song-v2:gamma=0.5",
        "k-song-v2:beta=0.2",
        "k-song-v2:tau=0.2",
        "k-song-v2:rate=0.3",
        "k-song-v2:list-rate=0.3",
        "k-song-v2:gamma-s=0.5",
        "k-song-v2:gamma-z=0.5",
        "k-song-v2:beta-s=0.2",
        "k-song-v2:beta-z=0.2",
        "k-song-v2:preset=paper",
        "k-song-v2:surrogate=hinge",
        "k-song-v2:margin=2",
        "k-song-v2:surrogate=logistic:temperature=0.5",
        "k-song-v2:margin=0.5:self=one",
        "k-song-v2:lagged=true",
        "k-song-v2:gain=linear",
        "k-song-v2:relevant=2",
    ];

    pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
        with(spec, Rule::Quadratic)
    }
}

/// The formulation that K-SONG is compared with: a gate by rank.
pub mod by_rank {
    #![doc = include_str!("../pages/k-song-rank.md")]
    use super::{
        Compositional, GAMMA, Inner, Ndcg, Objective, PLACES, Param, ParamError, RANKS, RankGated, Rule,
        SHARPNESS, Spec, Step, Surrogate, Tracker, join,
    };

    const BY_RANK: Param =
        Param { about: "a of the gate σ(a(K − rank)); larger values are sharper", ..SHARPNESS };
    pub(crate) const PARAMS: &[Param] = &join::<10>(&[&[PLACES, BY_RANK, GAMMA], &RANKS]);
    pub(crate) const EXAMPLES: &[&str] = &[
        "k-song-rank@3",
        "k-song-rank@1000",
        "k-song-rank:sharpness=0.5",
        "k-song-rank:gamma=0.5",
        "k-song-rank:surrogate=hinge",
        "k-song-rank:margin=2",
        "k-song-rank:surrogate=logistic:temperature=0.5",
        "k-song-rank:margin=0.5:self=one",
        "k-song-rank:lagged=true",
        "k-song-rank:gain=linear",
        "k-song-rank:relevant=2",
    ];

    pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
        let k = spec.cut.unwrap_or(10);
        let tracker = Tracker::from_spec(spec, Rule::MovingAverage)?;
        let inner = Inner::Of(Surrogate::from_spec(spec)?);
        let ranks = Compositional::from_spec(Ndcg { k }, inner, tracker, spec)?;
        Ok(Box::new(RankGated { ranks, k, gate: Step::from_spec(spec, 2.0)? }))
    }
}
