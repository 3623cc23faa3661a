#![doc = include_str!("../pages/top-ap.md")]

use toprank_core::{Param, ParamError, Spec};

use super::ranks::{self, GatedRanks, RankGated, WithinRank};
use super::{Bilevel, FORM, Lower, Step};
use crate::compositional::ap::{AveragePrecision, inner};
use crate::compositional::surrogate::{MARGIN, PLAIN, TEMPERATURE};
use crate::compositional::tracker::LAGGED;
use crate::compositional::{Compositional, Rule, SELF, Tracker};
use crate::objective::Objective;
use crate::params::{CUT, RELEVANT, join, with_defaults};

const GATE: Param = Param {
    name: "gate",
    default: "threshold",
    range: "threshold, rank or tracked-rank",
    about: "which items count: those above λ, or those whose rank (in the draw, or tracked) is within K",
};
/// The gradient stops at the gate, as in the paper (eq. 24): if more than K items are relevant, those at λ are relevant, too, and
/// the terms through gate and threshold raise and lower the same items; on a sample their sum is mostly noise.
const STOPPED: Param = Param { default: "practical", ..FORM };
/// A bounded surrogate: u1/u2 of squared hinges is near 1 as soon as some relevant items are far above all others.
const BOUNDED: Param = Param { default: "sigmoid", ..PLAIN };
pub(crate) const PARAMS: &[Param] = &join::<16>(&[
    &[Param { default: "10", ..CUT }, GATE, STOPPED],
    ranks::PARAMS.split_at(1).1,
    &[BOUNDED, MARGIN, TEMPERATURE, SELF, LAGGED, RELEVANT],
]);
pub(crate) const EXAMPLES: &[&str] = &[
    "top-ap@3",
    "top-ap@1000",
    "top-ap:gate=rank",
    "top-ap:gate=tracked-rank",
    "top-ap:gate=tracked-rank:form=theoretical",
    "top-ap:form=theoretical",
    "top-ap:threshold=exact",
    "top-ap:sharpness=5",
    "top-ap:tau1=0.5",
    "top-ap:tau2=100",
    "top-ap:eta=0.5",
    "top-ap:absolute=true",
    "top-ap:gamma=0.5",
    "top-ap:surrogate=hinge",
    "top-ap:surrogate=squared-hinge:margin=2",
    "top-ap:temperature=0.5",
    "top-ap:self=one",
    "top-ap:lagged=true",
    "top-ap:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let spec = &with_defaults(spec, &[STOPPED, BOUNDED]);
    let k = spec.cut.unwrap_or(10);
    let tracker = Tracker::from_spec(spec, Rule::MovingAverage)?;
    let ranks = Compositional::from_spec(AveragePrecision, inner(spec)?, tracker, spec)?;
    let gate = Step::from_spec(spec, 2.0)?;
    let lower = Lower::from_spec(spec)?;
    let gates = [
        ("threshold", By::Threshold),
        ("rank", By::Rank { tracked: false }),
        ("tracked-rank", By::Rank { tracked: true }),
    ];
    match spec.args.one_of(GATE.name, GATE.default, &gates)? {
        By::Threshold => Ok(Box::new(Bilevel { upper: GatedRanks { ranks, k, gate }, lower, tracker })),
        By::Rank { tracked } if !lower.through_gate => {
            Ok(Box::new(RankGated { ranks, k, gate, by_draw: !tracked }))
        }
        By::Rank { tracked: true } => {
            Compositional::boxed(WithinRank { outer: AveragePrecision, k, gate }, ranks.inner, tracker, spec)
        }
        By::Rank { tracked: false } => {
            let expected = "practical with gate=rank; gate=tracked-rank and gate=threshold have a derivative";
            Err(ParamError::new(FORM.name, "theoretical", expected))
        }
    }
}

/// What the gate looks at.
#[derive(Clone, Copy)]
enum By {
    Threshold,
    Rank { tracked: bool },
}

#[cfg(test)]
mod tests {
    use toprank_core::{Lists, Policy};

    use crate::kernels::scalar::sigmoid;
    use crate::{Batch, Draws, Goal, Gradients};

    fn goal(text: &str) -> Goal {
        Goal::parse(text, &Policy::default()).unwrap()
    }

    #[test]
    fn gates_by_rank_follow_the_draw_or_the_tracker_by_hand() {
        // Eight items, the first two relevant; drawn are both and two of the six others, so each of these stands for three.
        let lists = Lists::from_lengths(&[8], vec![1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let draws =
            Draws { lists: vec![0], offsets: vec![0, 4], items: vec![0, 1, 3, 6], ..Draws::default() };
        let steps = [[0.4, 0.1, 0.3, -0.2], [0.1, 0.6, -0.4, 0.5]];
        // Means over relevant and over all items, times 8, of the first (0) or the second relevant item.
        let means = |s: &[f64; 4], i: usize| {
            let relevant = 0.5 + sigmoid(s[1 - i] - s[i]);
            [relevant, relevant + 3.0 * (sigmoid(s[2] - s[i]) + sigmoid(s[3] - s[i]))]
        };
        for (text, tracked) in [
            ("top-ap@2:gate=rank:sharpness=0.5:gamma=0.3", false),
            ("top-ap@2:gate=tracked-rank:sharpness=0.5:gamma=0.3", true),
            ("top-ap@2:gate=tracked-rank:form=theoretical:sharpness=0.5:gamma=0.3", true),
        ] {
            let goal = goal(text);
            let mut state = goal.state(&lists).unwrap();
            let mut loss = 0.0;
            for scores in &steps {
                let mut out = Gradients::default();
                let batch = Batch { draws: Some(&draws), ..Batch::all(&lists, scores) };
                goal.step(&batch, &mut state, &mut out).unwrap();
                loss = out.loss;
            }
            let mut expected = 1.0;
            for i in 0..2 {
                let (first, second) = (means(&steps[0], i), means(&steps[1], i));
                let u = [0, 1].map(|c| 0.7 * first[c] + 0.3 * second[c]);
                let rank = if tracked { u[1] } else { second[1] };
                expected -= 0.5 * sigmoid(0.5 * (2.0 - rank)) * u[0] / u[1];
            }
            assert!((loss - expected).abs() < 1e-14, "{text}: {loss} for {expected}");
        }
    }

    #[test]
    fn the_rank_of_a_draw_has_no_derivative() {
        let error = Goal::parse("top-ap:gate=rank:form=theoretical", &Policy::default()).unwrap_err();
        assert!(error.to_string().starts_with("form must be practical with gate=rank"), "{error}");
    }
}
