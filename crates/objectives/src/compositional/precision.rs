#![doc = include_str!("../pages/precision.md")]

use toprank_core::{Param, ParamError, Spec};

use super::surrogate::{MARGIN, SURROGATE, TEMPERATURE};
use super::tracker::{GAMMA, LAGGED};
use super::{
    Anchor, Compositional, Inner, Outcome, Outer, Over, Reference, Rule, SELF, Strata, Surrogate, Tracker,
};
use crate::kernels::scalar::sigmoid;
use crate::objective::Objective;
use crate::params::{CUT, RELEVANT};

pub(crate) const PARAMS: &[Param] = &[
    Param { default: "10", about: "K: only the top K positions count", ..CUT },
    GAMMA,
    Param {
        name: "scale",
        default: "log",
        range: "log or rank",
        about: "whether the smooth cut-off compares ln(rank) with ln K, or rank with K (as printed)",
    },
    Param {
        name: "softness",
        default: "2 with scale=log, 1 with scale=rank",
        range: "in (0, ∞)",
        about: "width of the smooth cut-off in ln(rank) or in ranks; smaller values are sharper",
    },
    SURROGATE,
    MARGIN,
    TEMPERATURE,
    SELF,
    LAGGED,
    RELEVANT,
];
pub(crate) const EXAMPLES: &[&str] = &[
    "precision@3",
    "precision:gamma=0.5",
    "precision:scale=rank",
    "precision:scale=rank:softness=5",
    "precision:softness=3",
    "precision:surrogate=sigmoid",
    "precision:margin=2",
    "precision:surrogate=sigmoid:temperature=0.5",
    "precision:margin=0.5:self=one",
    "precision:lagged=true",
    "precision:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let (cut, inner, tracker) = parts(spec)?;
    Compositional::boxed(Precision(cut), inner, tracker, spec)
}

fn parts(spec: &Spec) -> Result<(Cut, Inner, Tracker), ParamError> {
    let scale = spec.args.one_of("scale", "log", &[("log", Scale::Log), ("rank", Scale::Rank)])?;
    let softness = spec.args.positive("softness", if scale == Scale::Log { 2.0 } else { 1.0 })?;
    let cut = Cut { k: f64::from(spec.cut.unwrap_or(10)), scale, softness };
    let tracker = Tracker::from_spec(spec, Rule::MovingAverage)?;
    Ok((cut, Inner::Of(Surrogate::from_spec(spec)?), tracker))
}

/// What the cut-off compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Log,
    Rank,
}

/// The smooth 1[rank > K].
#[derive(Clone, Copy, Debug)]
struct Cut {
    k: f64,
    scale: Scale,
    softness: f64,
}

impl Cut {
    /// σ(ln(N g/K)/softness) or σ((N g − K)/softness), and its slope in g, or g·slope in logs.
    fn at(self, anchor: &Anchor, u: f64, log: bool) -> (f64, f64) {
        if self.scale == Scale::Rank {
            let rank = anchor.items * if log { u.exp() } else { u };
            let past = (rank - self.k) / self.softness;
            let missed = sigmoid(past);
            let by_rank = missed * sigmoid(-past) / self.softness;
            // A rank that overflows is far beyond K, where the slope is 0.
            let slope = if by_rank == 0.0 { 0.0 } else { by_rank * if log { rank } else { anchor.items } };
            return (missed, slope);
        }
        let ln_mean = if log { u } else { u.ln() };
        // In the logarithm: smooth ranks are of the order of N long before any item comes near rank K, and a step with a
        // width of some ranks would have no gradient there.
        let past = (ln_mean + (anchor.items / self.k).ln()) / self.softness;
        let by_log = sigmoid(past) * sigmoid(-past) / self.softness;
        (sigmoid(past), if log { by_log } else { by_log / u })
    }
}

/// Minus the smooth precision at K.
#[derive(Clone, Copy, Debug)]
struct Precision(Cut);

impl Outer for Precision {
    const REFERENCES: &'static [Reference] = &[Reference::All];
    const OFFSET: f64 = 1.0;

    fn over(&self) -> Over {
        Over::Sum
    }

    fn takes_part(&self, strata: &Strata, _: f64) -> bool {
        strata.drawn_relevant > 0 && strata.drawn_others > 0
    }

    fn at(&self, anchor: &Anchor, u: [f64; 2], log: bool) -> Outcome {
        let (missed, slope) = self.0.at(anchor, u[0], log);
        Outcome { value: (missed - 1.0) / self.0.k, slope: [slope / self.0.k, 0.0] }
    }
}

/// Recall at K by rank.
pub mod recall {
    #![doc = include_str!("../pages/recall.md")]
    use super::{
        Anchor, Compositional, Cut, Objective, Outcome, Outer, Over, Param, ParamError, Reference, Spec,
        Strata, parts,
    };

    pub(crate) const PARAMS: &[Param] = super::PARAMS;
    pub(crate) const EXAMPLES: &[&str] = &[
        "recall@3",
        "recall:gamma=0.5",
        "recall:scale=rank",
        "recall:scale=rank:softness=5",
        "recall:softness=3",
        "recall:surrogate=sigmoid",
        "recall:margin=2",
        "recall:surrogate=sigmoid:temperature=0.5",
        "recall:margin=0.5:self=one",
        "recall:lagged=true",
        "recall:relevant=2",
    ];

    pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
        let (cut, inner, tracker) = parts(spec)?;
        Compositional::boxed(Recall(cut), inner, tracker, spec)
    }

    /// One minus the smooth recall at K.
    #[derive(Clone, Copy, Debug)]
    struct Recall(Cut);

    impl Outer for Recall {
        const REFERENCES: &'static [Reference] = &[Reference::All];
        const OFFSET: f64 = 0.0;

        fn over(&self) -> Over {
            Over::Mean
        }

        fn takes_part(&self, strata: &Strata, _: f64) -> bool {
            strata.drawn_relevant > 0 && strata.drawn_others > 0
        }

        fn at(&self, anchor: &Anchor, u: [f64; 2], log: bool) -> Outcome {
            let (missed, slope) = self.0.at(anchor, u[0], log);
            Outcome { value: missed, slope: [slope, 0.0] }
        }
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;
    use crate::kernels::scalar::sigmoid;

    #[test]
    fn two_equal_items_by_hand() {
        // Both count 1 towards the rank of the relevant one, which is 2; the loss is √rank/(√rank + √K).
        for (text, loss) in [
            ("precision@1", f64::sqrt(2.0) / (f64::sqrt(2.0) + 1.0)),
            ("precision@1:softness=1", 2.0 / 3.0),
            ("precision@2", 1.0 - 0.5 / 2.0),
            ("recall@1:softness=1", 2.0 / 3.0),
            ("recall@2:softness=3", 0.5),
            ("recall@1", sigmoid(0.5 * f64::ln(2.0))),
            ("recall@1:softness=0.5", 4.0 / 5.0),
            ("recall@1:scale=rank", sigmoid(2.0 - 1.0)),
            ("recall@3:scale=rank:softness=4", sigmoid((2.0 - 3.0) / 4.0)),
            ("precision@2:scale=rank", 1.0 - (1.0 - 0.5) / 2.0),
        ] {
            let goal = Goal::parse(text, &Policy::default()).unwrap();
            let (found, _) = goal.of_list(&List::new(&[0.0, 0.0], &[1.0, 0.0])).unwrap();
            assert!((found - loss).abs() < 1e-15, "{text}: {found} is not {loss}");
        }
    }

    #[test]
    fn ranks_of_exponentials_by_hand() {
        // Their means are tracked as logarithms: 1 for the item itself, e for the one that is 1 above it.
        let rank = 1.0 + 1f64.exp();
        for text in ["precision@1", "recall@1"] {
            let goal =
                Goal::parse(&format!("{text}:surrogate=exponential:softness=1"), &Policy::default()).unwrap();
            let (found, slopes) = goal.of_list(&List::new(&[0.0, 1.0], &[1.0, 0.0])).unwrap();
            assert!((found - rank / (rank + 1.0)).abs() < 1e-15, "{text}: {found}");
            let slope = 1f64.exp() / ((rank + 1.0) * (rank + 1.0));
            assert!(
                (slopes[1] - slope).abs() < 1e-15 && (slopes[0] + slope).abs() < 1e-15,
                "{text}: {slopes:?}"
            );
            let printed =
                Goal::parse(&format!("{text}:surrogate=exponential:scale=rank"), &Policy::default()).unwrap();
            let (found, slopes) = printed.of_list(&List::new(&[0.0, 1.0], &[1.0, 0.0])).unwrap();
            assert!((found - sigmoid(rank - 1.0)).abs() < 1e-15, "{text}: {found}");
            let slope = 1f64.exp() * sigmoid(rank - 1.0) * sigmoid(1.0 - rank);
            assert!((slopes[1] - slope).abs() < 1e-15, "{text}: {slopes:?}");
        }
    }

    #[test]
    fn a_list_far_longer_than_k_has_a_gradient_before_anything_is_learned() {
        // 4,000 equal scores: the smooth rank of every item is 4,000, and K is 10.
        let scores = vec![0.0; 4000];
        let labels: Vec<f32> = (0..4000).map(|j| f32::from(u8::from(j % 40 == 0))).collect();
        for text in ["precision@10", "recall@10", "precision@10:surrogate=sigmoid"] {
            let goal = Goal::parse(text, &Policy::default()).unwrap();
            let (_, gradient) = goal.of_list(&List::new(&scores, &labels)).unwrap();
            let lifted: f64 = gradient.iter().zip(&labels).map(|(g, y)| -g * f64::from(*y)).sum();
            let scale: f64 = gradient.iter().map(|g| g.abs()).sum();
            assert!(lifted > 1e-3 && lifted > 0.4 * scale, "{text}: {lifted} of {scale}");
        }
        // The printed form has none, which is why it is not the default.
        let goal = Goal::parse("precision@10:scale=rank", &Policy::default()).unwrap();
        let (_, gradient) = goal.of_list(&List::new(&scores, &labels)).unwrap();
        assert!(gradient.iter().all(|g| g.abs() < 1e-300), "{gradient:?}");
    }
}
