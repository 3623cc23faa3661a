#![doc = include_str!("../pages/k-song.md")]

use toprank_core::{Param, ParamError, Spec};

use super::ranks::{self, GatedRanks, RankGated, WithinRank};
use super::{Bilevel, FORM, Lower, SHARPNESS, Step};
use crate::compositional::song::{Ndcg, SMOOTHED};
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
const RANKS: [Param; 8] = [SURROGATE, MARGIN, TEMPERATURE, SMOOTHED, SELF, LAGGED, GAIN, RELEVANT];

pub(crate) const PARAMS: &[Param] = &join::<19>(&[&[PLACES], &ranks::PARAMS, &[GAMMA_Z], &RANKS]);
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
    "k-song:surrogate=exponential:smoothing=0.3",
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
const FASTER: [Param; 5] = [GAMMA_Z_FASTER, BETA_S, BETA_Z, RATE, LIST_RATE];

/// Faster K-SONG v1: MSVR for ranks, second derivative and threshold.
pub mod v1 {
    #![doc = include_str!("../pages/k-song-v1.md")]
    use super::{
        BETA, FASTER, Objective, PLACES, PRESET, Param, ParamError, RANKS, Rule, Spec, join, ranks, with,
    };

    pub(crate) const PARAMS: &[Param] =
        &join::<25>(&[&[PLACES], &ranks::PARAMS, &[BETA, PRESET], &FASTER, &RANKS]);
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
        "k-song-v1:surrogate=exponential:smoothing=0.3",
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
        BETA, FASTER, GAMMA, Objective, PLACES, Param, ParamError, RANKS, Rule, Spec, TAU, join, ranks, with,
    };

    pub(crate) const PARAMS: &[Param] =
        &join::<25>(&[&[PLACES], &ranks::with_gamma(GAMMA_V2), &[BETA, TAU], &FASTER, &RANKS]);
    const GAMMA_V2: Param = Param { default: "0.9", ..GAMMA };
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
        "k-song-v2:beta=theory:rate=0.3",
        "k-song-v2:beta-s=theory:list-rate=0.3",
        "k-song-v2:gamma-s=0.5",
        "k-song-v2:gamma-z=0.5",
        "k-song-v2:beta-s=0.2",
        "k-song-v2:beta-z=0.2",
        "k-song-v2:surrogate=hinge",
        "k-song-v2:margin=2",
        "k-song-v2:surrogate=exponential:smoothing=0.3",
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
        Compositional, FORM, GAMMA, Inner, Ndcg, Objective, PLACES, Param, ParamError, RANKS, RankGated,
        Rule, SHARPNESS, Spec, Step, Surrogate, Tracker, WithinRank, join,
    };

    const BY_RANK: Param =
        Param { about: "a of the gate σ(a(K − rank)); larger values are sharper", ..SHARPNESS };
    const THROUGH: Param = Param {
        about: "whether the gradient flows through the gate (theoretical) or stops there (practical)",
        ..FORM
    };
    pub(crate) const PARAMS: &[Param] = &join::<12>(&[&[PLACES, THROUGH, BY_RANK, GAMMA], &RANKS]);
    pub(crate) const EXAMPLES: &[&str] = &[
        "k-song-rank@3",
        "k-song-rank@1000",
        "k-song-rank:form=practical",
        "k-song-rank:sharpness=0.5",
        "k-song-rank:gamma=0.5",
        "k-song-rank:surrogate=hinge",
        "k-song-rank:margin=2",
        "k-song-rank:surrogate=exponential:smoothing=0.3",
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
        let gate = Step::from_spec(spec, 2.0)?;
        if spec.args.one_of(FORM.name, FORM.default, &[("theoretical", true), ("practical", false)])? {
            return Compositional::boxed(WithinRank { outer: Ndcg { k }, k, gate }, inner, tracker, spec);
        }
        let ranks = Compositional::from_spec(Ndcg { k }, inner, tracker, spec)?;
        Ok(Box::new(RankGated { ranks, k, gate, by_draw: false }))
    }

    #[cfg(test)]
    mod tests {
        use toprank_core::{List, Policy};

        use crate::Goal;
        use crate::kernels::scalar::sigmoid;

        #[test]
        fn two_items_by_hand_with_and_without_the_derivative_of_the_gate() {
            // Squared hinges: the other item is 0.5 above the relevant one, whose smooth rank is 1 + 1.5².
            let rank = 1.0 + 1.5 * 1.5;
            let open = sigmoid(0.5 * (1.0 - rank));
            let (f, slope) = (-1.0 / f64::log2(rank + 1.0), 2.0 * 1.5);
            let by_discount = open * f * f / ((rank + 1.0) * 2f64.ln());
            let by_gate = -0.5 * open * (1.0 - open) * f;
            for (form, by_rank) in [("theoretical", by_discount + by_gate), ("practical", by_discount)] {
                let text = format!("k-song-rank@1:sharpness=0.5:form={form}");
                let goal = Goal::parse(&text, &Policy::default()).unwrap();
                let (loss, gradient) = goal.of_list(&List::new(&[0.0, 0.5], &[1.0, 0.0])).unwrap();
                assert!((loss - (1.0 + open * f)).abs() < 1e-15, "{form}: {loss}");
                assert!((gradient[1] - by_rank * slope).abs() < 1e-15, "{form}: {gradient:?}");
                assert!((gradient[0] + by_rank * slope).abs() < 1e-15, "{form}: {gradient:?}");
            }
        }
    }
}
