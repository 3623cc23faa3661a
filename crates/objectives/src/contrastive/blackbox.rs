#![doc = include_str!("../pages/blackbox.md")]

use toprank_core::{Param, ParamError, Spec};

use crate::kernels::order::{OrderWork, descending};
use crate::objective::{Input, Objective, Out};
use crate::params::RELEVANT;
use crate::state::ListState;
use crate::work::Work;

const METRIC: Param = Param {
    name: "metric",
    default: "ap",
    range: "ap, recall or recall-log",
    about: "average precision; or recall with weights 1/(K ln K) (recall) or 1/K (recall-log) over all cut-offs K",
};
const LAMBDA: Param = Param {
    name: "lambda",
    default: "4",
    range: "in (0, ∞)",
    about: "λ: how far scores are perturbed; larger values spread the gradient over more items",
};
const MARGIN: Param = Param {
    name: "margin",
    default: "0.02",
    range: "in [0, ∞)",
    about: "α: by which relevant items have to be above others to be ranked above them",
};
pub(crate) const PARAMS: &[Param] = &[METRIC, LAMBDA, MARGIN, RELEVANT];
pub(crate) const EXAMPLES: &[&str] = &[
    "blackbox:metric=recall",
    "blackbox:metric=recall-log",
    "blackbox:lambda=0.5",
    "blackbox:margin=0.5",
    "blackbox:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let metrics = [("ap", Metric::Ap), ("recall", Metric::Recall), ("recall-log", Metric::RecallLog)];
    Ok(Box::new(BlackBox {
        metric: spec.args.one_of(METRIC.name, METRIC.default, &metrics)?,
        lambda: spec.args.positive(LAMBDA.name, 4.0)?,
        margin: spec.args.not_negative(MARGIN.name, 0.02)?,
    }))
}

/// The metric of a ranking.
#[derive(Clone, Copy, Debug)]
enum Metric {
    Ap,
    Recall,
    RecallLog,
}

impl Metric {
    /// Loss of a relevant item at `rank`, of which `hits` items down to itself are relevant; its derivative by the rank.
    fn at(self, rank: f64, hits: f64) -> [f64; 2] {
        let above = 1.0 + (rank - hits);
        match self {
            Metric::Ap => [1.0 - hits / rank, hits / (rank * rank)],
            Metric::RecallLog => [above.ln(), 1.0 / above],
            Metric::Recall => [above.ln().ln_1p(), 1.0 / (above * (1.0 + above.ln()))],
        }
    }
}

/// Blackbox differentiation of a ranking; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct BlackBox {
    metric: Metric,
    lambda: f64,
    margin: f64,
}

/// Ranks from 1 on, by decreasing score, ties in input order.
fn rank(scores: &[f64], order: &mut [u32], ranks: &mut [f64], work: &mut OrderWork) {
    descending(scores, order, work);
    for (place, &item) in order.iter().enumerate() {
        ranks[item as usize] = (place + 1) as f64;
    }
}

impl BlackBox {
    /// Scores as they are ranked: relevant items half a margin lower, others half a margin higher.
    fn shift(&self, input: &Input, from: &[f64], to: &mut [f64]) {
        for (j, (to, from)) in to.iter_mut().zip(from).enumerate() {
            *to = from + if input.is_relevant(j) { -self.margin / 2.0 } else { self.margin / 2.0 };
        }
    }
}

impl Objective for BlackBox {
    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let n = input.list.len();
        let relevant = (0..n).filter(|j| input.is_relevant(*j)).count();
        let total: f64 = (0..n).filter(|j| input.is_relevant(*j)).map(|j| input.weight(j)).sum();
        if total == 0.0 || relevant == n {
            return None;
        }
        let [order] = work.places.cut([n]);
        let [scores, frozen_ranks, slopes, ranks, pushed, pushed_ranks] = work.floats.cut([n; 6]);
        let order_work = &mut work.kernel.order;

        // The metric of the ranking and its derivative by each rank: constants of the gradient.
        self.shift(input, input.frozen(), scores);
        rank(scores, order, frozen_ranks, order_work);
        let (mut loss, mut hits) = (0.0, 0.0);
        for j in order.iter().map(|item| *item as usize).filter(|j| input.is_relevant(*j)) {
            hits += 1.0;
            let share = input.weight(j) / total;
            let [value, slope] = self.metric.at(frozen_ranks[j], hits);
            loss += share * value;
            slopes[j] = share * slope;
        }

        // The ranking of the present scores, and that of the scores after a step of λ along the derivative.
        self.shift(input, input.list.scores, scores);
        rank(scores, order, ranks, order_work);
        let step = self.lambda * n as f64;
        for (pushed, (score, slope)) in pushed.iter_mut().zip(scores.iter().zip(slopes.iter())) {
            *pushed = score + step * slope;
        }
        rank(pushed, order, pushed_ranks, order_work);
        for j in 0..n {
            let moved = pushed_ranks[j] - ranks[j];
            // The moves sum to 0, so a constant may be subtracted from the scores.
            loss +=
                slopes[j] * (pushed_ranks[j] - frozen_ranks[j]) + (scores[j] - scores[0]) * (moved / step);
            out.gradient[j] = moved / step;
            if let Some(h) = &mut out.hessian {
                h[j] = out.gradient[j].abs();
            }
        }
        Some(loss)
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy, Stream};

    use crate::Goal;

    fn of(text: &str, scores: &[f64], labels: &[f32]) -> (f64, Vec<f64>) {
        Goal::parse(text, &Policy::default()).unwrap().of_list(&List::new(scores, labels)).unwrap()
    }

    #[test]
    fn three_items_by_hand() {
        // Ranks 2, 3, 1. AP: the relevant items at ranks 2 and 3 have the slopes ½·1/4 and ½·2/9.
        let (scores, labels) = ([0.5, 0.3, 0.9], [1.0, 1.0, 0.0]);
        let loss = 1.0 - 0.5 * (1.0 / 2.0 + 2.0 / 3.0);
        // λ n = 1.2: the first becomes 0.5 + 0.15, the second 0.3 + 0.1333, and no rank changes.
        let (found, gradient) = of("blackbox:lambda=0.4:margin=0", &scores, &labels);
        assert!((found - loss).abs() < 1e-15, "{found}");
        assert_eq!(gradient, [0.0; 3]);
        // λ n = 6: 0.5 + 0.75 and 0.3 + 0.6667 are above 0.9, ranks 1, 2, 3.
        let (found, gradient) = of("blackbox:lambda=2:margin=0", &scores, &labels);
        assert_eq!(gradient, [-1.0 / 6.0, -1.0 / 6.0, 2.0 / 6.0]);
        let linear = loss - 0.125 - 1.0 / 9.0;
        assert!((found - (linear + (-0.5 - 0.3 + 2.0 * 0.9) / 6.0)).abs() < 1e-14, "{found}");
    }

    #[test]
    fn a_margin_counts_items_that_are_only_just_below_as_above() {
        let (scores, labels) = ([0.5, 0.45], [1.0, 0.0]);
        assert_eq!(of("blackbox:margin=0.04", &scores, &labels), (0.0, vec![0.0, 0.0]));
        let (_, gradient) = of("blackbox:margin=0.06", &scores, &labels);
        assert_eq!(gradient, [-1.0 / 8.0, 1.0 / 8.0]);
    }

    /// Reference implementation, with ranks by counting; the derivative is by r/n and ranks are divided by n, as in the published code.
    fn plain(scores: &[f64], labels: &[f32], metric: &str, lambda: f64, margin: f64) -> Vec<f64> {
        let n = scores.len();
        let rank = |y: &[f64]| -> Vec<f64> {
            let above = |j: usize| (0..n).filter(|&i| y[i] > y[j] || (y[i] == y[j] && i < j)).count();
            (0..n).map(|j| (1 + above(j)) as f64).collect()
        };
        let y: Vec<f64> =
            scores.iter().zip(labels).map(|(s, l)| s - margin * (f64::from(*l) - 0.5)).collect();
        let r = rank(&y);
        let relevant = labels.iter().filter(|l| **l > 0.0).count() as f64;
        let slope = |j: usize| {
            let hits = (0..n).filter(|&i| labels[i] > 0.0 && r[i] <= r[j]).count() as f64;
            let above = 1.0 + (r[j] - hits);
            let by_rank = match metric {
                "ap" => hits / (r[j] * r[j]),
                "recall-log" => 1.0 / above,
                _ => 1.0 / (above * (1.0 + above.ln())),
            };
            if labels[j] > 0.0 { n as f64 * by_rank / relevant } else { 0.0 }
        };
        let pushed: Vec<f64> = (0..n).map(|j| y[j] + lambda * slope(j)).collect();
        rank(&pushed).iter().zip(&r).map(|(after, before)| -(before - after) / n as f64 / lambda).collect()
    }

    #[test]
    fn gradients_equal_the_reference_implementation() {
        let mut random = Stream::new(3, "blackbox").open();
        // Scores of few levels tie, before and after the step.
        for (n, levels) in [(2, 0.0), (5, 0.0), (40, 0.0), (600, 0.0), (5, 6.0), (40, 6.0), (600, 6.0)] {
            let mut score = || {
                let x = 2.0 * random.unit() - 1.0;
                if levels > 0.0 { (x * levels).round() / levels } else { x }
            };
            let scores: Vec<f64> = (0..n).map(|_| score()).collect();
            let mut labels: Vec<f32> = (0..n).map(|_| f32::from(u8::from(random.unit() < 0.3))).collect();
            (labels[0], labels[1]) = (0.0, 1.0);
            for metric in ["ap", "recall", "recall-log"] {
                for (lambda, margin) in [(4.0, 0.02), (0.1, 0.0), (0.01, 0.5)] {
                    let text = format!("blackbox:metric={metric}:lambda={lambda}:margin={margin}");
                    let (_, gradient) = of(&text, &scores, &labels);
                    for (a, b) in gradient.iter().zip(plain(&scores, &labels, metric, lambda, margin)) {
                        assert!((a - b).abs() < 1e-12, "{text}, {n} items: {a} for {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_loss_is_at_most_the_metric_and_equals_it_where_nothing_moves() {
        let mut random = Stream::new(4, "blackbox").open();
        let scores: Vec<f64> = (0..30).map(|_| random.unit()).collect();
        let labels: Vec<f32> = (0..30).map(|j| f32::from(u8::from(j % 4 == 0))).collect();
        for metric in ["ap", "recall", "recall-log"] {
            let at = |lambda: f64| of(&format!("blackbox:metric={metric}:lambda={lambda}"), &scores, &labels);
            let (hard, gradient) = at(1e-6);
            assert!(gradient.iter().all(|g| *g == 0.0));
            let mut last = hard;
            for lambda in [0.01, 0.1, 1.0, 10.0] {
                let (loss, _) = at(lambda);
                assert!(loss <= last + 1e-12, "{metric}, λ = {lambda}: {loss} after {last}");
                last = loss;
            }
            assert!(last < hard - 0.1, "{metric}: {last} {hard}");
        }
    }
}
