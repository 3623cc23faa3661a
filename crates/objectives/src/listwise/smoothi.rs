#![doc = include_str!("../pages/smoothi.md")]

use toprank_core::{Param, ParamError, Spec};
use toprank_metrics::Discounts;

use super::measure::shares;
use crate::kernels::vector::{EXP_RANGE, exp_all};
use crate::objective::{Input, Objective, Out};
use crate::params::{CUT, GAIN, RELEVANT};
use crate::state::ListState;
use crate::work::Work;

const PLACES: Param = Param { default: "10", ..CUT };
const ALPHA: Param = Param {
    name: "alpha",
    default: "1",
    range: "in (0, ∞)",
    about: "α; values from 10 to 100 make the indicators sharp",
};
const DELTA: Param = Param {
    name: "delta",
    default: "0.1",
    range: "in (0, 1]",
    about: "δ: subtracted from the remaining weight of an item after each position",
};
const FROZEN: Param = Param {
    name: "frozen",
    default: "true",
    range: "true or false",
    about: "whether the products over the positions above are constants of the gradient",
};
pub(crate) const PARAMS: &[Param] = &[PLACES, ALPHA, DELTA, FROZEN, GAIN];
pub(crate) const EXAMPLES: &[&str] =
    &["smoothi@3", "smoothi:alpha=10", "smoothi:delta=0.3", "smoothi:frozen=false", "smoothi:gain=linear"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    SmoothI::boxed(spec, Metric::Ndcg)
}

/// Precision at K by the same indicators.
pub mod precision {
    #![doc = include_str!("../pages/smoothi-p.md")]
    use super::{
        ALPHA, DELTA, FROZEN, Metric, Objective, PLACES, Param, ParamError, RELEVANT, SmoothI, Spec,
    };

    pub(crate) const PARAMS: &[Param] = &[PLACES, ALPHA, DELTA, FROZEN, RELEVANT];
    pub(crate) const EXAMPLES: &[&str] = &[
        "smoothi-p@3",
        "smoothi-p:alpha=10",
        "smoothi-p:delta=0.3",
        "smoothi-p:frozen=false",
        "smoothi-p:relevant=2",
    ];

    pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
        SmoothI::boxed(spec, Metric::Precision)
    }
}

/// What the indicators are summed to.
#[derive(Clone, Copy, Debug)]
enum Metric {
    /// Σ_r D(r) Σ_j I^r_j w_j G(y_j)/Z.
    Ndcg,
    /// Σ_r Σ_j I^r_j w_j [j relevant]/K.
    Precision,
}

impl Metric {
    /// Fills `parts` with what an item adds at the first position; `None`: the list has no gradient.
    fn parts(self, input: &Input, k: usize, parts: &mut [f64], gains: &mut Vec<f64>) -> Option<()> {
        match self {
            Metric::Ndcg => shares(input, k, parts, gains),
            Metric::Precision if parts.len() < 2 => None,
            Metric::Precision => {
                for (j, part) in parts.iter_mut().enumerate().filter(|(j, _)| input.is_relevant(*j)) {
                    *part = input.weight(j) / k as f64;
                }
                parts.iter().any(|part| *part > 0.0).then_some(())
            }
        }
    }

    /// How much position `r` counts, from 0 on.
    fn discount(self, r: usize) -> f64 {
        match self {
            Metric::Ndcg => Discounts::default().at(r),
            Metric::Precision => 1.0,
        }
    }
}

/// SmoothI; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct SmoothI {
    metric: Metric,
    places: usize,
    alpha: f64,
    delta: f64,
    frozen: bool,
}

impl SmoothI {
    fn boxed(spec: &Spec, metric: Metric) -> Result<Box<dyn Objective>, ParamError> {
        Ok(Box::new(SmoothI {
            metric,
            places: spec.cut.map_or(10, |k| k as usize),
            alpha: spec.args.positive("alpha", 1.0)?,
            delta: spec.args.fraction("delta", 0.1)?,
            frozen: spec.args.flag("frozen", true)?,
        }))
    }
}

impl Objective for SmoothI {
    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let s = input.list.scores;
        let n = s.len();
        let places = self.places.min(n);
        let kept = if self.frozen { 0 } else { n * places };
        let [parts, x, x_frozen, left, indicator, slope, later, kept] =
            work.floats.cut([n, n, n, n, n, n, n, kept]);
        self.metric.parts(input, self.places, parts, &mut work.kernel.gains)?;
        raised(s, x);
        let frozen = input.frozen.filter(|_| self.frozen);
        if let Some(frozen) = frozen {
            raised(frozen, x_frozen);
        }
        left.fill(1.0);
        let mut lowest = Lowest::of(s);
        let (low, high) = parts.iter().fold((f64::INFINITY, 0.0f64), |(l, h), &p| (l.min(p), h.max(p)));
        let mut measure = 0.0;
        for r in 0..places {
            let discount = self.metric.discount(r);
            if !self.frozen {
                kept[r * n..(r + 1) * n].copy_from_slice(left);
            }
            self.indicator(x, left, indicator);
            let expected: f64 = dot(parts, indicator);
            measure += discount * expected;
            if self.frozen {
                for j in 0..n {
                    let push = discount * indicator[j] * (parts[j] - expected);
                    slope[j] += self.alpha * left[j] * push;
                }
            }
            if let Some(h) = &mut out.hessian {
                let scale = discount * (high - low) * self.alpha * self.alpha;
                let mean = dot(left, indicator);
                for j in 0..n {
                    h[j] += scale * left[j] * left[j] * indicator[j] * (1.0 - indicator[j]);
                    lowest.moved += scale * indicator[j] * (left[j] - mean) * (left[j] - mean);
                }
            }
            if frozen.is_some() {
                self.indicator(x_frozen, left, indicator);
            }
            for (left, indicator) in left.iter_mut().zip(indicator.iter()) {
                *left *= 1.0 - indicator - self.delta;
            }
        }
        if !self.frozen {
            // Backwards over positions; `later` is the derivative by what remains after the position.
            for r in (0..places).rev() {
                let left = &kept[r * n..(r + 1) * n];
                let discount = self.metric.discount(r);
                self.indicator(x, left, indicator);
                let in_indicator = |j: usize, later: &[f64]| discount * parts[j] - later[j] * left[j];
                let expected: f64 = (0..n).map(|j| indicator[j] * in_indicator(j, later)).sum();
                for j in 0..n {
                    let push = self.alpha * indicator[j] * (in_indicator(j, later) - expected);
                    slope[j] += left[j] * push;
                    later[j] = later[j] * (1.0 - indicator[j] - self.delta) + x[j] * push;
                }
            }
        }
        lowest.finish(s, slope, out);
        Some(1.0 - measure)
    }
}

impl SmoothI {
    /// Softmax of α·x·left.
    fn indicator(&self, x: &[f64], left: &[f64], indicator: &mut [f64]) {
        for (z, (x, left)) in indicator.iter_mut().zip(x.iter().zip(left)) {
            *z = self.alpha * x * left;
        }
        let top = indicator.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for z in indicator.iter_mut() {
            *z = (*z - top).max(-EXP_RANGE);
        }
        exp_all(indicator);
        let total: f64 = indicator.iter().sum();
        for z in indicator {
            *z /= total;
        }
    }
}

/// x = s − min s + 1 > 0.
fn raised(s: &[f64], x: &mut [f64]) {
    let low = s.iter().copied().fold(f64::INFINITY, f64::min);
    for (x, s) in x.iter_mut().zip(s) {
        *x = s - low + 1.0;
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The lowest score, which moves all x but its own; several share that.
struct Lowest {
    score: f64,
    count: f64,
    /// Second derivative from moving all others.
    moved: f64,
}

impl Lowest {
    fn of(s: &[f64]) -> Lowest {
        let score = s.iter().copied().fold(f64::INFINITY, f64::min);
        Lowest { score, count: s.iter().filter(|s| **s == score).count() as f64, moved: 0.0 }
    }

    /// From derivatives of the metric by x to those of the loss by s.
    fn finish(&self, s: &[f64], slope: &[f64], out: &mut Out) {
        let total: f64 = slope.iter().sum();
        for (j, slope) in slope.iter().enumerate() {
            let lowest = s[j] == self.score;
            out.gradient[j] = if lowest { total / self.count } else { 0.0 } - slope;
            if let Some(h) = out.hessian.as_mut().filter(|_| lowest) {
                h[j] = 2.0 * (h[j] + self.moved / (self.count * self.count));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Lists, Policy};

    use crate::kernels::scalar::sigmoid;
    use crate::{Batch, Goal, Gradients};

    fn goal(text: &str) -> Goal {
        Goal::parse(text, &Policy::default()).unwrap()
    }

    #[test]
    fn two_items_by_hand() {
        // x = 1 + a, 1; the second item is relevant.
        let a = 0.7;
        let scores = [5.0 + a, 5.0];
        let list = List::new(&scores, &[0.0, 1.0]);
        let (loss, _) = goal("smoothi:alpha=2:delta=0.2").of_list(&list).unwrap();
        let first = sigmoid(-2.0 * a);
        let left = [1.0 - (1.0 - first) - 0.2, 1.0 - first - 0.2];
        let second = sigmoid(2.0 * (left[1] - (1.0 + a) * left[0]));
        assert!((loss - (1.0 - first - second / 3f64.log2())).abs() < 1e-14, "{loss}");
        let (loss, gradient) = goal("smoothi@1:alpha=2").of_list(&list).unwrap();
        assert!((loss - (1.0 - first)).abs() < 1e-14);
        let slope = 2.0 * first * (1.0 - first);
        assert!((gradient[0] - slope).abs() < 1e-14 && (gradient[1] + slope).abs() < 1e-14, "{gradient:?}");
    }

    #[test]
    fn two_items_at_two_positions_by_hand_for_precision() {
        let a = 0.7;
        let scores = [5.0 + a, 5.0];
        let list = List::new(&scores, &[0.0, 3.0]);
        let first = sigmoid(-2.0 * a);
        let left = [1.0 - (1.0 - first) - 0.2, 1.0 - first - 0.2];
        let second = sigmoid(2.0 * (left[1] - (1.0 + a) * left[0]));
        let (loss, _) = goal("smoothi-p@2:alpha=2:delta=0.2").of_list(&list).unwrap();
        assert!((loss - (1.0 - 0.5 * (first + second))).abs() < 1e-14, "{loss}");
        // Of ten positions the list fills two.
        let (loss, _) = goal("smoothi-p:alpha=2:delta=0.2").of_list(&list).unwrap();
        assert!((loss - (1.0 - (first + second) / 10.0)).abs() < 1e-14, "{loss}");
    }

    #[test]
    fn sharp_indicators_give_the_precision_of_the_order() {
        let list = List::new(&[-5.0, -1.0, -2.0, -3.0], &[1.0, 1.0, 0.0, 1.0]);
        for (k, precision) in [(1, 1.0), (2, 1.0 / 2.0), (3, 2.0 / 3.0)] {
            let (loss, _) = goal(&format!("smoothi-p@{k}:alpha=100")).of_list(&list).unwrap();
            assert!((loss - (1.0 - precision)).abs() < 1e-6, "{k}: {loss}");
        }
    }

    #[test]
    fn negative_scores_do_not_repeat_the_first_item() {
        // Sharp indicators put the three relevant items into the first three places.
        let (loss, _) = goal("smoothi@3:alpha=100")
            .of_list(&List::new(&[-5.0, -1.0, -2.0, -3.0], &[0.0, 1.0, 1.0, 1.0]))
            .unwrap();
        assert!(loss.abs() < 1e-6, "{loss}");
    }

    #[test]
    fn equal_lowest_scores_share_the_slope_of_the_rest() {
        let list = List::new(&[0.0, 1.0, 0.0], &[1.0, 0.0, 1.0]);
        for text in ["smoothi", "smoothi:frozen=false"] {
            let (_, gradient) = goal(text).of_list(&list).unwrap();
            assert!((gradient[0] - gradient[2]).abs() < 1e-15 && gradient[1] > 0.0, "{gradient:?}");
            assert!(gradient.iter().sum::<f64>().abs() < 1e-15);
        }
    }

    #[test]
    fn the_frozen_products_change_the_gradient_and_not_the_loss() {
        let list = List::new(&[0.3, 0.9, 0.1, 0.4], &[1.0, 0.0, 2.0, 0.0]);
        let of = |text| goal(text).of_list(&list).unwrap();
        let ((a, g), (b, h)) = (of("smoothi:alpha=5"), of("smoothi:alpha=5:frozen=false"));
        assert_eq!(a, b);
        assert!(g.iter().zip(&h).any(|(g, h)| (g - h).abs() > 1e-3), "{g:?} {h:?}");
    }

    #[test]
    fn the_hessian_bounds_the_second_derivative() {
        let scores = [0.3, -0.4, 1.0, 0.9, 0.2, -2.0];
        let lists = Lists::from_lengths(&[6], vec![2.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
        for text in ["smoothi", "smoothi:alpha=5", "smoothi@2:alpha=20:delta=0.3", "smoothi-p@3:alpha=5"] {
            let goal = goal(text);
            let at = |scores: &[f64], frozen: &[f64]| {
                let mut out = Gradients { want_hessian: true, ..Gradients::default() };
                let batch = Batch { frozen: Some(frozen), ..Batch::all(&lists, scores) };
                goal.step(&batch, &mut goal.state(&lists).unwrap(), &mut out).unwrap();
                out
            };
            let out = at(&scores, &scores);
            for j in 0..6 {
                let slope = |x: f64| {
                    let mut moved = scores;
                    moved[j] += x;
                    at(&moved, &scores).gradient[j]
                };
                let second = (slope(1e-6) - slope(-1e-6)) / 2e-6;
                assert!(second.abs() <= out.hessian[j] + 1e-9, "{text}, {j}: {second} {:?}", out.hessian);
            }
        }
    }
}
