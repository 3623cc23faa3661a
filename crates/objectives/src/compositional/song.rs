#![doc = include_str!("../pages/song.md")]

use toprank_core::{List, Param, ParamError, Policy, Spec};
use toprank_metrics::best_dcg;

use super::surrogate::{MARGIN, SURROGATE, TEMPERATURE};
use super::tracker::{BETA, GAMMA, GAMMA_OF_RANKS, LAGGED, PRESET, RATE, TAU};
use super::{
    Anchor, Compositional, Inner, Outcome, Outer, Over, Reference, Rule, SELF, Schedule, Strata, Surrogate,
    Tracker,
};
use crate::objective::Objective;
use crate::params::{GAIN, RELEVANT, SMOOTHING, with_defaults};

/// ε of the exponential surrogate.
pub(crate) const SMOOTHED: Param = Param {
    about: "ε: label smoothing with surrogate=exponential; an item's rank N g becomes N g e^{ε(s − mean of all s)/τ}",
    ..SMOOTHING
};

pub(crate) const PARAMS: &[Param] =
    &[GAMMA_OF_RANKS, SURROGATE, MARGIN, TEMPERATURE, SMOOTHED, SELF, LAGGED, GAIN, RELEVANT];
pub(crate) const EXAMPLES: &[&str] = &[
    "song:gamma=0.5",
    "song:gamma=0.9t-0.67",
    "song:gamma=theory",
    "song:surrogate=hinge",
    "song:surrogate=square",
    "song:surrogate=exponential",
    "song:surrogate=exponential:smoothing=0.3",
    "song:surrogate=logistic2",
    "song:surrogate=barrier-hinge",
    "song:surrogate=logistic:temperature=0.5",
    "song:surrogate=sigmoid:temperature=0.5",
    "song:margin=2",
    "song:margin=0.5:self=one",
    "song:lagged=true",
    "song:gain=linear",
    "song:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let spec = &with_gamma(spec);
    with(spec, Tracker::from_spec(spec, Rule::MovingAverage)?)
}

/// The spec with γ of ranks written out, unless a preset has its own.
fn with_gamma(spec: &Spec) -> Spec {
    match spec.args.get(PRESET.name) {
        Some("paper" | "code") => spec.clone(),
        _ => with_defaults(spec, &[GAMMA_OF_RANKS]),
    }
}

fn with(spec: &Spec, tracker: Tracker) -> Result<Box<dyn Objective>, ParamError> {
    Compositional::boxed(Ndcg { k: u32::MAX }, Inner::Of(Surrogate::from_spec(spec)?), tracker, spec)
}

/// Minus the smooth NDCG: f(g) = −G/(Z log2(N g + 1)), Z the ideal DCG at `k`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ndcg {
    pub k: u32,
}

impl Outer for Ndcg {
    const REFERENCES: &'static [Reference] = &[Reference::All];
    const OFFSET: f64 = 1.0;

    fn over(&self) -> Over {
        Over::Sum
    }

    fn prepare(&self, whole: &List, policy: &Policy) -> f64 {
        best_dcg(whole.labels, whole.missed, policy, self.k as usize, &mut Vec::new())
    }

    fn takes_part(&self, strata: &Strata, ideal: f64) -> bool {
        strata.drawn_relevant > 0 && ideal > 0.0
    }

    fn at(&self, anchor: &Anchor, u: [f64; 2], log: bool) -> Outcome {
        let share = anchor.gain / anchor.list;
        // rank = N g; on the log scale its logarithm is known.
        let (log2_rank1, rank_share) = if log {
            let ln_rank = anchor.items.ln() + u[0];
            let ln_rank1 = crate::kernels::scalar::softplus(ln_rank);
            (ln_rank1 * std::f64::consts::LOG2_E, (ln_rank - ln_rank1).exp())
        } else {
            let rank1 = anchor.items * u[0] + 1.0;
            (rank1.log2(), anchor.items / rank1)
        };
        let discount = 1.0 / log2_rank1;
        let value = -share * discount;
        Outcome { value, slope: [-value * discount * rank_share * std::f64::consts::LOG2_E, 0.0] }
    }
}

/// Faster SONG v1: the MSVR tracker.
pub mod v1 {
    #![doc = include_str!("../pages/song-v1.md")]
    use super::{
        BETA, GAIN, GAMMA_OF_RANKS, LAGGED, MARGIN, Objective, PRESET, Param, ParamError, RATE, RELEVANT,
        Rule, SELF, SMOOTHED, SURROGATE, Spec, TEMPERATURE, Tracker, with, with_gamma,
    };

    pub(crate) const PARAMS: &[Param] = &[
        GAMMA_OF_RANKS,
        BETA,
        RATE,
        PRESET,
        SURROGATE,
        MARGIN,
        TEMPERATURE,
        SMOOTHED,
        SELF,
        LAGGED,
        GAIN,
        RELEVANT,
    ];
    pub(crate) const EXAMPLES: &[&str] = &[
        "song-v1:gamma=0.5",
        "song-v1:beta=0.2",
        "song-v1:beta=1-gamma",
        "song-v1:beta=theory:rate=0.8",
        "song-v1:preset=code",
        "song-v1:surrogate=exponential",
        "song-v1:surrogate=exponential:smoothing=0.3",
        "song-v1:margin=2",
        "song-v1:surrogate=logistic:temperature=0.5",
        "song-v1:margin=0.5:self=one",
        "song-v1:lagged=true",
        "song-v1:gain=linear",
        "song-v1:relevant=2",
    ];

    pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
        let spec = &with_gamma(spec);
        with(spec, Tracker::from_spec(spec, Rule::Msvr)?)
    }
}

/// Faster SONG v2: the quadratic tracker.
pub mod v2 {
    #![doc = include_str!("../pages/song-v2.md")]
    use super::{
        BETA, GAIN, GAMMA, LAGGED, MARGIN, Objective, Param, ParamError, RATE, RELEVANT, Rule, SELF,
        SMOOTHED, SURROGATE, Spec, TAU, TEMPERATURE, Tracker, with,
    };

    pub(crate) const PARAMS: &[Param] =
        &[GAMMA_V2, BETA, TAU, RATE, SURROGATE, MARGIN, TEMPERATURE, SMOOTHED, SELF, LAGGED, GAIN, RELEVANT];
    const GAMMA_V2: Param = Param { default: "0.9", ..GAMMA };
    pub(crate) const EXAMPLES: &[&str] = &[
        "song-v2:gamma=0.5",
        "song-v2:beta=0.2",
        "song-v2:tau=0.2",
        "song-v2:beta=theory:rate=0.3",
        "song-v2:surrogate=exponential",
        "song-v2:surrogate=exponential:smoothing=0.3",
        "song-v2:margin=2",
        "song-v2:surrogate=logistic:temperature=0.5",
        "song-v2:margin=0.5:self=one",
        "song-v2:lagged=true",
        "song-v2:gain=linear",
        "song-v2:relevant=2",
    ];

    pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
        with(spec, Tracker::from_spec(spec, Rule::Quadratic)?)
    }
}

const SHAPE: &[Param] = &[SURROGATE, MARGIN, TEMPERATURE, SMOOTHED, SELF, GAIN, RELEVANT];

/// The ablation without a tracker.
pub mod mini_batch {
    #![doc = include_str!("../pages/song-minibatch.md")]
    use super::{Objective, Param, ParamError, SHAPE, Spec, Tracker, with};

    pub(crate) const PARAMS: &[Param] = SHAPE;
    pub(crate) const EXAMPLES: &[&str] = &[
        "song-minibatch:surrogate=hinge",
        "song-minibatch:surrogate=exponential:smoothing=0.3",
        "song-minibatch:margin=2",
        "song-minibatch:surrogate=logistic:temperature=0.5",
        "song-minibatch:margin=0.5:self=one",
        "song-minibatch:gain=linear",
        "song-minibatch:relevant=2",
    ];

    pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
        with(spec, Tracker::MINI_BATCH)
    }
}

/// The ablation with STORM as the tracker.
pub mod storm {
    #![doc = include_str!("../pages/song-storm.md")]
    use super::{
        GAIN, GAMMA_OF_RANKS, LAGGED, MARGIN, Objective, Param, ParamError, RELEVANT, Rule, SELF, SMOOTHED,
        SURROGATE, Schedule, Spec, TEMPERATURE, Tracker, with, with_gamma,
    };

    pub(crate) const PARAMS: &[Param] =
        &[GAMMA_OF_RANKS, SURROGATE, MARGIN, TEMPERATURE, SMOOTHED, SELF, LAGGED, GAIN, RELEVANT];
    pub(crate) const EXAMPLES: &[&str] = &[
        "song-storm:gamma=0.5",
        "song-storm:surrogate=exponential:smoothing=0.3",
        "song-storm:surrogate=hinge",
        "song-storm:margin=2",
        "song-storm:surrogate=logistic:temperature=0.5",
        "song-storm:margin=0.5:self=one",
        "song-storm:lagged=true",
        "song-storm:gain=linear",
        "song-storm:relevant=2",
    ];

    pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
        let spec = &with_gamma(spec);
        let tracker = Tracker::from_spec(spec, Rule::Msvr)?;
        with(spec, Tracker { beta: Schedule::Complement, ..tracker })
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;

    #[test]
    fn a_smoothed_list_by_hand() {
        // The relevant item is second: N g = (3 + 2 + 1)/2, and the mean score is ln 6 / 3.
        let (scores, labels) = ([3f64.ln(), 2f64.ln(), 0.0], [0.0, 1.0, 0.0]);
        let goal = Goal::parse("song:surrogate=exponential:smoothing=0.3", &Policy::default()).unwrap();
        let (loss, gradient) = goal.of_list(&List::new(&scores, &labels)).unwrap();
        let rank = 3.0 * (0.3 * (2f64.ln() - 6f64.ln() / 3.0)).exp();
        assert!((loss - (1.0 - 1.0 / (rank + 1.0).log2())).abs() < 1e-15, "{loss}");
        // By ln of the rank, then as softmax cross-entropy with the target 0.1, 0.7 + 0.1, 0.1.
        let slope = rank / ((rank + 1.0) * 2f64.ln() * (rank + 1.0).log2().powi(2));
        let expected = [3.0 / 6.0 - 0.1, 2.0 / 6.0 - 0.8, 1.0 / 6.0 - 0.1].map(|g| slope * g);
        assert!(gradient.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-15), "{gradient:?}");
    }

    #[test]
    fn smoothing_is_for_the_exponential_surrogate() {
        let error = Goal::parse("song:smoothing=0.3", &Policy::default()).unwrap_err().to_string();
        assert!(error.contains("surrogate=exponential"), "{error}");
        assert!(Goal::parse("k-song@5:surrogate=exponential:smoothing=0.3", &Policy::default()).is_ok());
    }
}
