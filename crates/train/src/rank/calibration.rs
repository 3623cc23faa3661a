/*!
From scores to probabilities. Ranking objectives learn an order: a score of 2 means more than a score of 1 and nothing else.
A calibration turns scores into probabilities. It is fitted afterwards, on scores of rows that the model did not
learn from (validation data, or out-of-fold scores), and is kept in the model file.

```text
platt      p(s) = 1/(1 + e^−(a·s + b)),  a ≥ 0: maximises Σ w (t ln p + (1 − t) ln(1 − p))
           with t = (N+ + 1)/(N+ + 2) for relevant items and t = 1/(N- + 2) for the others
isotonic   the non-decreasing p(s) with the least Σ w (p(s) − y)², by pooling adjacent violators;
           between the scores it was fitted to, straight lines; beyond them, constant
```

Both never turn two items around. Platt has two numbers and fits where there are few relevant items; isotonic needs hundreds
of them, follows any shape, and says 0 or 1 at its ends. A slope below 0 (an order worse than chance) is not taken: then a = 0
and every item has the same probability.

Source: Platt, "Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods", 1999;
Newton's method with the safeguards of Lin, Lin, Weng, "A note on Platt's probabilistic outputs for support vector machines",
2007; Zadrozny, Elkan, "Transforming classifier scores into accurate multiclass probability estimates", KDD 2002.

```
use toprank_core::{List, Policy};
use toprank_train::rank::calibration::{Calibration, Method};
let scores: Vec<f64> = (0..200).map(f64::from).collect();
let labels: Vec<f32> = (0..200).map(|i| f32::from(u8::from(i % 200 > 100 || i % 10 == 0))).collect();
let fitted = Calibration::fit(Method::Platt, &List::new(&scores, &labels), &Policy::default()).unwrap();
assert!(fitted.probability(150.0) > 0.8 && fitted.probability(10.0) < 0.2);
```
*/

use serde::{Deserialize, Serialize};
use toprank_core::{List, Lists, ParamError, Policy, catalog};

/// How scores become probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// A logistic curve.
    Platt,
    /// Any non-decreasing curve.
    Isotonic,
}

/// What a user wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calibrate {
    /// Platt for binary and multi-label data, where there is something to fit it to; else nothing.
    Auto,
    /// This method, or an error.
    By(Method),
    /// Nothing: the model gives scores only.
    No,
}

impl Calibrate {
    /// Reads `auto`, `platt`, `isotonic` or `none`.
    pub fn parse(text: &str) -> Result<Calibrate, ParamError> {
        match text {
            "auto" => Ok(Calibrate::Auto),
            "none" => Ok(Calibrate::No),
            "platt" => Ok(Calibrate::By(Method::Platt)),
            "isotonic" => Ok(Calibrate::By(Method::Isotonic)),
            other => Err(catalog::unknown("calibration", other, ["auto", "platt", "isotonic", "none"])),
        }
    }

    /// One map per output, fitted to the scores of all lists that read it; empty: scores stay scores.
    pub fn fit(self, lists: &Lists, scores: &[f64], outputs: usize) -> Result<Vec<Calibration>, ParamError> {
        let (method, asked) = match self {
            Calibrate::Auto if lists.are_labels() => (Method::Platt, false),
            Calibrate::By(method) => (method, true),
            Calibrate::Auto | Calibrate::No => return Ok(Vec::new()),
        };
        let policy = Policy::default();
        let fit = |output: usize| {
            let of_list = |q: usize| lists.output.as_ref().map_or(0, |outputs| usize::from(outputs[q]));
            let entries = || (0..lists.len()).filter(|&q| of_list(q) == output).flat_map(|q| lists.range(q));
            let scores: Vec<f64> = entries().map(|entry| scores[entry]).collect();
            let labels: Vec<f32> = entries().map(|entry| lists.labels[entry]).collect();
            let weights: Option<Vec<f32>> =
                lists.item_weights.as_ref().map(|weights| entries().map(|entry| weights[entry]).collect());
            let list = List { weights: weights.as_deref(), ..List::new(&scores, &labels) };
            Calibration::fit(method, &list, &policy)
        };
        match (0..outputs).map(fit).collect() {
            Err(_) if !asked => Ok(Vec::new()),
            fitted => fitted,
        }
    }
}

/// A fitted calibration: a probability for every score, never decreasing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Calibration {
    /// 1/(1 + e^−(slope · score + offset)).
    Platt {
        /// a, at least 0.
        slope: f64,
        /// b.
        offset: f64,
    },
    /// Straight lines between knots (score, probability), both ascending.
    Isotonic {
        /// The knots.
        knots: Vec<(f64, f64)>,
    },
}

impl Calibration {
    /// Fits a map to the scores of a list; unjudged items are left out. An error unless both classes are there.
    pub fn fit(method: Method, list: &List, policy: &Policy) -> Result<Calibration, ParamError> {
        let weight = |item: usize| list.weights.map_or(1.0, |weights| f64::from(weights[item]));
        let judged = (0..list.len()).filter(|&item| !list.labels[item].is_nan() && weight(item) > 0.0);
        let mut seen: Vec<Seen> = judged
            .map(|item| Seen {
                score: list.scores[item],
                relevant: f64::from(u8::from(policy.relevant.is(list.labels[item]))) * weight(item),
                weight: weight(item),
            })
            .collect();
        seen.sort_by(|a, b| a.score.total_cmp(&b.score).then(a.relevant.total_cmp(&b.relevant)));
        let relevant: f64 = seen.iter().map(|seen| seen.relevant).sum();
        let others: f64 = seen.iter().map(|seen| seen.weight - seen.relevant).sum();
        let finite = seen.iter().all(|seen| seen.score.is_finite());
        if relevant <= 0.0 || others <= 0.0 || !finite {
            let found = format!("{relevant} relevant and {others} other items");
            let found = if finite { found } else { "scores that are not finite".into() };
            let expected = "scores of relevant and of other items; without them use --calibrate none";
            return Err(ParamError::new("what probabilities are fitted to", &found, expected));
        }
        Ok(match method {
            Method::Platt => platt(&seen, relevant, others),
            Method::Isotonic => isotonic(&seen),
        })
    }

    /// The probability of a score; never decreasing, within [0, 1].
    pub fn probability(&self, score: f64) -> f64 {
        match self {
            Calibration::Platt { slope, offset } => logistic(slope * score + offset),
            Calibration::Isotonic { knots } => {
                let after = knots.partition_point(|knot| knot.0 < score);
                match (after.checked_sub(1).map(|before| knots[before]), knots.get(after)) {
                    (None, Some(first)) => first.1,
                    (Some(last), None) => last.1,
                    (Some(a), Some(b)) => {
                        let part = (score - a.0) / (b.0 - a.0);
                        // Rounding must not lead beyond the ends.
                        (a.1 + part * (b.1 - a.1)).clamp(a.1, b.1)
                    }
                    (None, None) => f64::NAN,
                }
            }
        }
    }

    /// What is wrong with a map that was read from a file; `None`: nothing.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let fine = match self {
            Calibration::Platt { slope, offset } => *slope >= 0.0 && slope.is_finite() && offset.is_finite(),
            Calibration::Isotonic { knots } => {
                let within = |knot: &(f64, f64)| knot.0.is_finite() && (0.0..=1.0).contains(&knot.1);
                let ascend = |pair: &[(f64, f64)]| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1;
                !knots.is_empty() && knots.iter().all(within) && knots.windows(2).all(ascend)
            }
        };
        (!fine).then_some("a calibration that decreases, or leaves [0, 1]")
    }
}

/// An item: score, weight, weight if relevant.
struct Seen {
    score: f64,
    relevant: f64,
    weight: f64,
}

fn logistic(x: f64) -> f64 {
    // Each branch takes e to a power that cannot overflow.
    if x >= 0.0 { 1.0 / (1.0 + (-x).exp()) } else { x.exp() / (1.0 + x.exp()) }
}

/// ln(1 + e^x) without overflow.
fn soft_plus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn platt(seen: &[Seen], relevant: f64, others: f64) -> Calibration {
    let total = relevant + others;
    // In standardised scores the two numbers are of one size, whatever scale a network has.
    let mean = seen.iter().map(|s| s.weight * s.score).sum::<f64>() / total;
    let spread = (seen.iter().map(|s| s.weight * (s.score - mean).powi(2)).sum::<f64>() / total).sqrt();
    let (high, low) = ((relevant + 1.0) / (relevant + 2.0), 1.0 / (others + 2.0));
    // Constant scores say nothing: the probability that fits all targets best.
    let target = (relevant * high + others * low) / total;
    let nothing = (0.0, (target / (1.0 - target)).ln());
    let (a, b) = if spread > 0.0 && spread.is_finite() {
        let items: Vec<(f64, f64, f64)> = seen
            .iter()
            .map(|s| {
                let target = s.relevant * high + (s.weight - s.relevant) * low;
                ((s.score - mean) / spread, target, s.weight)
            })
            .collect();
        match newton(&items, nothing) {
            (a, b) if a > 0.0 => (a / spread, b - a / spread * mean),
            _ => nothing,
        }
    } else {
        nothing
    };
    Calibration::Platt { slope: a, offset: b }
}

/// Minimises −Σ (t ln p + (w − t) ln(1 − p)) over (a, b) from `start`; items are (x, t, w), t the weighted target.
fn newton(items: &[(f64, f64, f64)], start: (f64, f64)) -> (f64, f64) {
    const STEPS: usize = 100;
    /// Keeps the Hessian's determinant above 0 where all p are near 0 or 1.
    const RIDGE: f64 = 1e-12;
    let loss = |(a, b): (f64, f64)| -> f64 {
        items.iter().map(|&(x, t, w)| w * soft_plus(a * x + b) - t * (a * x + b)).sum()
    };
    let total: f64 = items.iter().map(|item| item.2).sum();
    let mut at = start;
    let mut value = loss(at);
    for _ in 0..STEPS {
        let (mut ga, mut gb, mut haa, mut hab, mut hbb) = (0.0, 0.0, RIDGE * total, 0.0, RIDGE * total);
        for &(x, t, w) in items {
            let p = logistic(at.0 * x + at.1);
            let (g, h) = (w * p - t, w * p * (1.0 - p));
            ga += g * x;
            gb += g;
            haa += h * x * x;
            hab += h * x;
            hbb += h;
        }
        if ga.abs().max(gb.abs()) < 1e-10 * total {
            break;
        }
        let determinant = haa * hbb - hab * hab;
        let (da, db) = (-(hbb * ga - hab * gb) / determinant, -(haa * gb - hab * ga) / determinant);
        let slope = ga * da + gb * db;
        let mut size = 1.0;
        loop {
            let next = (at.0 + size * da, at.1 + size * db);
            let there = loss(next);
            if there <= value + 1e-4 * size * slope {
                (at, value) = (next, there);
                break;
            }
            size /= 2.0;
            if size < 1e-10 {
                return at;
            }
        }
    }
    at
}

/// Pool adjacent violators over groups of equal scores.
fn isotonic(seen: &[Seen]) -> Calibration {
    /// (first score, last score, relevant weight, weight).
    type Block = (f64, f64, f64, f64);
    let mut blocks: Vec<Block> = Vec::new();
    for tied in seen.chunk_by(|a, b| a.score == b.score) {
        let sum = |of: fn(&Seen) -> f64| tied.iter().map(of).sum::<f64>();
        let mut block = (tied[0].score, tied[0].score, sum(|s| s.relevant), sum(|s| s.weight));
        // A block before that is not lower joins in.
        while let Some(last) = blocks.last()
            && last.2 * block.3 >= block.2 * last.3
        {
            block = (last.0, block.1, last.2 + block.2, last.3 + block.3);
            blocks.pop();
        }
        blocks.push(block);
    }
    let mut knots = Vec::new();
    for (first, last, relevant, weight) in blocks {
        let p = (relevant / weight).clamp(0.0, 1.0);
        knots.push((first, p));
        if last > first {
            knots.push((last, p));
        }
    }
    Calibration::Isotonic { knots }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toprank_core::Stream;

    use super::*;

    fn fit(method: Method, scores: &[f64], labels: &[f32]) -> Calibration {
        Calibration::fit(method, &List::new(scores, labels), &Policy::default()).unwrap()
    }

    /// The reference implementation: the loss over a grid that closes in.
    fn platt_plain(scores: &[f64], labels: &[f32]) -> (f64, f64) {
        let relevant = labels.iter().filter(|y| **y > 0.0).count() as f64;
        let others = labels.len() as f64 - relevant;
        let target =
            |y: f32| if y > 0.0 { (relevant + 1.0) / (relevant + 2.0) } else { 1.0 / (others + 2.0) };
        let loss = |a: f64, b: f64| -> f64 {
            scores
                .iter()
                .zip(labels)
                .map(|(s, y)| {
                    let p = 1.0 / (1.0 + (-(a * s + b)).exp());
                    -(target(*y) * p.ln() + (1.0 - target(*y)) * (1.0 - p).ln())
                })
                .sum()
        };
        let (mut a, mut b, mut width) = (2.0, 0.0, 4.0);
        while width > 1e-7 {
            let around = |x: f64| (-4..=4).map(move |i| x + width * f64::from(i) / 4.0);
            let grid = around(a).flat_map(|a| around(b).map(move |b| (a, b)));
            (a, b) = grid.min_by(|x, y| loss(x.0, x.1).total_cmp(&loss(y.0, y.1))).unwrap();
            width *= 0.7;
        }
        (a, b)
    }

    #[test]
    fn platt_finds_the_maximum_of_its_likelihood() {
        let mut random = Stream::new(4, "test").open();
        let scores: Vec<f64> = (0..80).map(|_| 4.0 * random.unit() - 2.0).collect();
        let labels: Vec<f32> =
            scores.iter().map(|s| f32::from(u8::from(random.unit() < logistic(1.5 * s - 1.0)))).collect();
        let (a, b) = platt_plain(&scores, &labels);
        let Calibration::Platt { slope, offset } = fit(Method::Platt, &scores, &labels) else {
            panic!("platt")
        };
        assert!((slope - a).abs() < 1e-4 && (offset - b).abs() < 1e-4, "{slope} {offset}, {a} {b}");
    }

    #[test]
    fn smoothed_targets_keep_a_separable_set_from_certainty() {
        // Two groups of equal scores: each gets its target, (N+ + 1)/(N+ + 2) and 1/(N- + 2).
        let fitted = fit(Method::Platt, &[1.0, 1.0, 1.0, 0.0, 0.0], &[1.0, 1.0, 1.0, 0.0, 0.0]);
        assert!((fitted.probability(1.0) - 4.0 / 5.0).abs() < 1e-8);
        assert!((fitted.probability(0.0) - 1.0 / 4.0).abs() < 1e-8);
    }

    #[test]
    fn the_scale_of_scores_does_not_matter() {
        let mut random = Stream::new(4, "test").open();
        let scores: Vec<f64> = (0..200).map(|_| random.unit()).collect();
        let labels: Vec<f32> = scores.iter().map(|s| f32::from(u8::from(random.unit() < *s))).collect();
        for method in [Method::Platt, Method::Isotonic] {
            let plain = fit(method, &scores, &labels);
            for (scale, shift) in [(1e-6, 0.0), (1e6, 0.0), (1.0, 1e5), (1000.0, -3.0)] {
                let moved: Vec<f64> = scores.iter().map(|s| scale * s + shift).collect();
                let fitted = fit(method, &moved, &labels);
                for (s, m) in scores.iter().zip(&moved) {
                    let (a, b) = (plain.probability(*s), fitted.probability(*m));
                    assert!((a - b).abs() < 1e-6, "{method:?} {scale} {shift}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn an_order_worse_than_chance_is_not_turned_around() {
        let scores = [0.1, 0.2, 0.3, 0.8, 0.9, 1.0];
        let labels = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0];
        for method in [Method::Platt, Method::Isotonic] {
            let fitted = fit(method, &scores, &labels);
            assert!((fitted.probability(0.1) - 0.5).abs() < 1e-9, "{method:?}");
            assert_eq!(fitted.probability(0.1), fitted.probability(1.0), "{method:?}");
        }
        let constant = fit(Method::Platt, &[3.0; 4], &[1.0, 0.0, 0.0, 0.0]);
        // (1 · 2/3 + 3 · 1/5)/4
        assert!((constant.probability(3.0) - (2.0 / 3.0 + 3.0 / 5.0) / 4.0).abs() < 1e-12);
    }

    #[test]
    fn isotonic_pools_what_is_out_of_order() {
        let fitted = fit(Method::Isotonic, &[1.0, 2.0, 3.0, 4.0, 5.0], &[0.0, 1.0, 0.0, 1.0, 1.0]);
        let expected =
            Calibration::Isotonic { knots: vec![(1.0, 0.0), (2.0, 0.5), (3.0, 0.5), (4.0, 1.0), (5.0, 1.0)] };
        assert_eq!(fitted, expected);
        for (score, p) in [(0.0, 0.0), (1.5, 0.25), (2.5, 0.5), (3.5, 0.75), (9.0, 1.0)] {
            assert_eq!(fitted.probability(score), p);
        }
    }

    #[test]
    fn every_output_has_a_map_of_its_own() {
        let mut lists = Lists::from_lengths(&[4, 4], vec![0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0]);
        lists.rows = Some(vec![0, 1, 2, 3, 0, 1, 2, 3]);
        lists.output = Some(vec![1, 0]);
        let scores = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        let fitted = Calibrate::By(Method::Isotonic).fit(&lists, &scores, 2).unwrap();
        let alone = |scores: &[f64], labels: &[f32]| fit(Method::Isotonic, scores, labels);
        assert_eq!(fitted[1], alone(&scores[..4], &lists.labels[..4]));
        assert_eq!(fitted[0], alone(&scores[4..], &lists.labels[4..]));
        let auto = Calibrate::Auto.fit(&lists, &scores, 2).unwrap();
        assert!(matches!(auto[..], [Calibration::Platt { .. }, Calibration::Platt { .. }]));
        let queries = Lists { output: None, ..lists.clone() };
        assert!(Calibrate::Auto.fit(&queries, &scores, 1).unwrap().is_empty(), "queries keep their scores");
        let one_class = Lists { labels: vec![0.0; 8], ..lists };
        assert!(Calibrate::Auto.fit(&one_class, &scores, 2).unwrap().is_empty(), "nothing to fit");
        assert!(Calibrate::By(Method::Platt).fit(&one_class, &scores, 2).is_err());
    }

    #[test]
    fn one_class_alone_is_refused() {
        let error =
            Calibration::fit(Method::Platt, &List::new(&[0.5], &[1.0]), &Policy::default()).unwrap_err();
        assert!(error.to_string().contains("1 relevant and 0 other items"), "{error}");
    }

    proptest! {
        /// The reference implementation of isotonic regression: p_i = max over starts of the min over ends of the mean between.
        #[test]
        fn isotonic_is_the_min_max_of_means(
            labels in prop::collection::vec((any::<bool>(), 1u8..4), 2..25),
        ) {
            prop_assume!(labels.iter().any(|l| l.0) && labels.iter().any(|l| !l.0));
            let scores: Vec<f64> = (0..labels.len()).map(|i| i as f64).collect();
            let y: Vec<f32> = labels.iter().map(|l| f32::from(u8::from(l.0))).collect();
            let w: Vec<f32> = labels.iter().map(|l| f32::from(l.1)).collect();
            let list = List { weights: Some(&w), ..List::new(&scores, &y) };
            let fitted = Calibration::fit(Method::Isotonic, &list, &Policy::default()).unwrap();
            let mean = |from: usize, to: usize| {
                let sum = |of: &dyn Fn(usize) -> f64| (from..=to).map(of).sum::<f64>();
                sum(&|i| f64::from(y[i] * w[i])) / sum(&|i| f64::from(w[i]))
            };
            for (i, &score) in scores.iter().enumerate() {
                let expected = (0..=i)
                    .map(|from| (i..y.len()).map(|to| mean(from, to)).fold(f64::INFINITY, f64::min))
                    .fold(0.0, f64::max);
                prop_assert!((fitted.probability(score) - expected).abs() < 1e-12);
            }
        }

        #[test]
        fn probabilities_never_turn_two_scores_around(
            items in prop::collection::vec((-5i32..5, any::<bool>()), 2..40),
            a in -8.0f64..8.0, b in -8.0f64..8.0,
        ) {
            prop_assume!(items.iter().any(|l| l.1) && items.iter().any(|l| !l.1));
            let scores: Vec<f64> = items.iter().map(|i| f64::from(i.0)).collect();
            let labels: Vec<f32> = items.iter().map(|i| f32::from(u8::from(i.1))).collect();
            for method in [Method::Platt, Method::Isotonic] {
                let fitted = fit(method, &scores, &labels);
                prop_assert_eq!(fitted.fault(), None);
                let (low, high) = (fitted.probability(a.min(b)), fitted.probability(a.max(b)));
                prop_assert!(low <= high && (0.0..=1.0).contains(&low) && (0.0..=1.0).contains(&high));
            }
        }
    }
}
