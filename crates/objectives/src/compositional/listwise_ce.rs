#![doc = include_str!("../pages/listwise-ce.md")]

use toprank_core::{List, Param, ParamError, Policy, Spec};
use toprank_metrics::gain_of;

use super::surrogate::TEMPERATURE;
use super::tracker::{GAMMA, LAGGED};
use super::{
    Anchor, Compositional, Inner, Outcome, Outer, Over, Reference, Rule, Strata, Surrogate, Tracker,
};
use crate::objective::Objective;
use crate::params::{GAIN, RELEVANT, SMOOTHING};

pub(crate) const PARAMS: &[Param] = &[
    GAMMA,
    Param {
        name: "target",
        default: "uniform",
        range: "uniform or gain",
        about: "P over the relevant items: 1/N+ each, or in proportion to their gains",
    },
    Param { about: "τ: scores are divided by it", ..TEMPERATURE },
    SMOOTHING,
    LAGGED,
    GAIN,
    RELEVANT,
];
pub(crate) const EXAMPLES: &[&str] = &[
    "listwise-ce:gamma=0.5",
    "listwise-ce:target=gain",
    "listwise-ce:temperature=0.5",
    "listwise-ce:smoothing=0.2",
    "listwise-ce:lagged=true",
    "listwise-ce:target=gain:gain=linear",
    "listwise-ce:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let temperature = spec.args.positive("temperature", 1.0)?;
    let inner = Inner::Of(Surrogate::Exponential { temperature });
    let by_gain = spec.args.one_of("target", "uniform", &[("uniform", false), ("gain", true)])?;
    let tracker = Tracker::from_spec(spec, Rule::MovingAverage)?;
    Compositional::boxed(CrossEntropy { by_gain }, inner, tracker, spec)
}

/// f(g) = P ln(N g).
#[derive(Clone, Copy, Debug)]
struct CrossEntropy {
    by_gain: bool,
}

impl Outer for CrossEntropy {
    const REFERENCES: &'static [Reference] = &[Reference::All];
    const OFFSET: f64 = 0.0;

    fn over(&self) -> Over {
        Over::Sum
    }

    fn prepare(&self, whole: &List, policy: &Policy) -> f64 {
        let relevant = whole.labels.iter().filter(|y| policy.relevant.is(**y));
        relevant.map(|&y| if self.by_gain { gain_of(&policy.gain, y) } else { 1.0 }).sum()
    }

    fn takes_part(&self, strata: &Strata, total: f64) -> bool {
        strata.drawn_relevant > 0 && total > 0.0
    }

    fn at(&self, anchor: &Anchor, u: [f64; 2], _: bool) -> Outcome {
        let probability = if self.by_gain { anchor.gain / anchor.list } else { 1.0 / anchor.list };
        Outcome { value: probability * (anchor.items.ln() + u[0]), slope: [probability, 0.0] }
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{Lists, Policy, Spec};

    use super::*;
    use crate::objective::{Input, Out};
    use crate::state::State;
    use crate::work::Work;
    use crate::{Batch, Draws, Goal, Gradients};

    /// Every draw of 2 of 3 relevant and 2 of 4 other items, with trackers that hold the exact means.
    #[test]
    fn the_mean_of_the_sampled_gradient_is_the_gradient_of_the_whole_list() {
        let scores = [0.3, -0.2, 1.1, 0.9, -1.0, 0.4, 0.0];
        let lists = Lists {
            item_weights: Some(vec![1.0, 0.5, 2.0, 1.0, 1.0, 1.0, 1.0]),
            ..Lists::from_lengths(&[7], vec![2.0, 1.0, 3.0, 0.0, 0.0, 0.0, 0.0])
        };
        for text in ["listwise-ce:target=gain:lagged=true", "listwise-ce:temperature=0.5:lagged=true"] {
            let goal = Goal::parse(&format!("{text}:smoothing=0.3"), &Policy::default()).unwrap();
            let mut tracked = goal.state(&lists).unwrap();
            let mut whole = Gradients::default();
            goal.step(&Batch::all(&lists, &scores), &mut tracked, &mut whole).unwrap();
            let (mut mean, mut count) = ([0.0; 7], 0.0);
            for left_out in 0..3 {
                for (a, b) in [(3, 4), (3, 5), (3, 6), (4, 5), (4, 6), (5, 6)] {
                    let items: Vec<u32> = (0..3).filter(|i| *i != left_out).chain([a, b]).collect();
                    let drawn: Vec<f64> = items.iter().map(|&i| scores[i as usize]).collect();
                    let draws = Draws {
                        lists: vec![0],
                        offsets: vec![0, 4],
                        items: items.clone(),
                        ..Draws::default()
                    };
                    let batch = Batch { draws: Some(&draws), ..Batch::all(&lists, &drawn) };
                    let mut out = Gradients::default();
                    goal.step(&batch, &mut tracked.clone(), &mut out).unwrap();
                    for (&item, g) in items.iter().zip(&out.gradient) {
                        mean[item as usize] += g;
                    }
                    count += 1.0;
                }
            }
            for (j, (sum, expected)) in mean.iter().zip(&whole.gradient).enumerate() {
                assert!((sum / count - expected).abs() < 1e-14, "{text}, {j}: {} {expected}", sum / count);
            }
        }
    }

    #[test]
    fn a_smoothed_list_by_hand() {
        // softmax(s) = 3/6, 2/6, 1/6; the target is 0.1, 0.7 + 0.1, 0.1.
        let (scores, labels) = ([3f64.ln(), 2f64.ln(), 0.0], [0.0, 1.0, 0.0]);
        let goal = Goal::parse("listwise-ce:smoothing=0.3", &Policy::default()).unwrap();
        let (loss, gradient) = goal.of_list(&List::new(&scores, &labels)).unwrap();
        assert!((loss - (0.1 * 2f64.ln() + 0.8 * 3f64.ln() + 0.1 * 6f64.ln())).abs() < 1e-15);
        let expected = [3.0 / 6.0 - 0.1, 2.0 / 6.0 - 0.8, 1.0 / 6.0 - 0.1];
        assert!(gradient.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-15), "{gradient:?}");
        let (moved, _) = goal.of_list(&List::new(&scores.map(|s| s + 1e9), &labels)).unwrap();
        assert!((moved - loss).abs() < 1e-6);
    }

    /// A tracker that looks at two steps, which no line of the catalog gives this objective yet.
    #[test]
    fn the_gradient_at_the_previous_scores_divides_by_the_tracker_that_followed_them() {
        let (spec, policy) = (Spec::parse("listwise-ce").unwrap(), Policy::default());
        let inner = Inner::Of(Surrogate::Exponential { temperature: 1.0 });
        let rates = Spec::parse("listwise-ce:gamma=0.1").unwrap();
        let tracker = Tracker::from_spec(&rates, Rule::Msvr).unwrap();
        let objective = Compositional::boxed(CrossEntropy { by_gain: false }, inner, tracker, &spec).unwrap();
        let lists = Lists::from_lengths(&[3], vec![1.0, 0.0, 0.0]);
        let (first, second, previous) = ([0.0, 1.0, 2.0], [0.1, 0.4, 0.2], [0.5, -0.2, 0.3]);
        let mut state = State::new(objective.columns(), &lists, &policy);
        let mut work = Work::default();
        objective.prepare(&lists.list(0, &first), &policy, &mut state.of_list(0, 3), &mut work);
        let mut at_previous = [0.0; 3];
        for (scores, previous) in [(&first, &first), (&second, &previous)] {
            at_previous = [0.0; 3];
            let mut gradient = [0.0; 3];
            let mut out =
                Out { gradient: &mut gradient, hessian: None, gradient_previous: Some(&mut at_previous) };
            let list = lists.list(0, scores);
            let input = Input { previous: Some(previous), ..Input::whole(list, &policy) };
            objective.list(&input, &mut state.of_list(0, 3), &mut work, &mut out).unwrap();
        }
        // The one relevant item is the first: ∂/∂s_j of ln g at the previous scores, under it u of the first step after γ = 0.1
        // of the mean at these scores.
        let mean = |s: &[f64; 3]| s.iter().map(|x| (x - s[0]).exp()).sum::<f64>() / 3.0;
        let u = 0.9 * mean(&first) + 0.1 * mean(&previous);
        for j in 1..3 {
            let expected = (previous[j] - previous[0]).exp() / (3.0 * u);
            assert!((at_previous[j] - expected).abs() < 1e-14, "{j}: {} is not {expected}", at_previous[j]);
        }
    }
}
