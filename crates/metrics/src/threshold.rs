/*!
Thresholds on a score: every operating point of a list, the one that meets a wish, and how sure its rates are.

An alert is an item whose score is **at least** the threshold. Only scores that occur are thresholds, and items of equal
score are alerted together or not at all: a threshold cannot part them, so a budget of 100 alerts may be met by 97.
Unjudged items have no class and are excluded; judged items that were not retrieved are below every threshold.

```
use toprank_core::{List, Policy};
use toprank_metrics::threshold::{Thresholds, Wish};
let list = List::new(&[0.9, 0.8, 0.8, 0.1], &[1.0, 1.0, 0.0, 0.0]);
let points = Thresholds::of(&list, &Policy::default()).unwrap();
let point = points.choose(Wish::Recall(1.0)).unwrap();
assert_eq!((point.threshold, point.true_positives, point.false_positives), (0.8, 2.0, 1.0));
assert_eq!(point.precision(), Some(2.0 / 3.0));
assert_eq!(point.lift(), Some(2.0 / 3.0 / 0.5));
```

**Intervals** are Wilson's score intervals at the threshold as it stands: what its rates may be on new data of the same kind.
They cover their level on average, where Clopper and Pearson's always cover more, and stay within [0, 1] at counts of 0, where
a normal approximation has no width. With item weights the count is Kish's effective one, (Σw)²/Σw². A threshold that was
chosen on the same data is a little too good on them, whatever the interval: choose it on validation or out-of-fold scores and
evaluate it on others with [`Thresholds::at`].

Source: Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927.
*/

use statrs::function::erf::erfc_inv;
use toprank_core::{List, Policy};

use crate::rank::NotANumber;

/// A rate reached up to rounding counts as reached: 0.55 · 20 is not quite 11.
const ROUNDING: f64 = 1.0 - 1e-9;

/// What a threshold does to a list: its confusion table, in items or in sums of their weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperatingPoint {
    /// The least score of an alert; +∞: there is none.
    pub threshold: f64,
    /// Relevant and alerted.
    pub true_positives: f64,
    /// Not relevant and alerted.
    pub false_positives: f64,
    /// Relevant and not alerted.
    pub false_negatives: f64,
    /// Not relevant and not alerted.
    pub true_negatives: f64,
    /// Σw² of the alerts and of the relevant items, for effective counts.
    squares: (f64, f64),
}

/// A fraction with its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fraction {
    /// The fraction as counted.
    pub value: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl OperatingPoint {
    /// Alerts.
    pub fn alerts(&self) -> f64 {
        self.true_positives + self.false_positives
    }

    /// Relevant items.
    pub fn positives(&self) -> f64 {
        self.true_positives + self.false_negatives
    }

    /// All judged items.
    pub fn items(&self) -> f64 {
        self.alerts() + self.false_negatives + self.true_negatives
    }

    /// Fraction of relevant items that are alerted.
    pub fn recall(&self) -> Option<f64> {
        fraction(self.true_positives, self.positives())
    }

    /// Fraction of alerts that are relevant.
    pub fn precision(&self) -> Option<f64> {
        fraction(self.true_positives, self.alerts())
    }

    /// Fraction of the other items that are alerted.
    pub fn false_positive_rate(&self) -> Option<f64> {
        fraction(self.false_positives, self.false_positives + self.true_negatives)
    }

    /// Precision by the fraction of relevant items in the data: how much better than alerting at random.
    pub fn lift(&self) -> Option<f64> {
        Some(self.precision()? / fraction(self.positives(), self.items())?)
    }

    /// What the errors cost.
    pub fn cost(&self, false_positive: f64, false_negative: f64) -> f64 {
        false_positive * self.false_positives + false_negative * self.false_negatives
    }

    /// Recall with Wilson's interval at `level`.
    pub fn recall_interval(&self, level: f64) -> Option<Fraction> {
        interval(self.true_positives, self.positives(), self.squares.1, level)
    }

    /// Precision with Wilson's interval at `level`.
    pub fn precision_interval(&self, level: f64) -> Option<Fraction> {
        interval(self.true_positives, self.alerts(), self.squares.0, level)
    }

    /// Lift with the interval of the precision; the fraction of relevant items counts as known.
    pub fn lift_interval(&self, level: f64) -> Option<Fraction> {
        let base = fraction(self.positives(), self.items())?;
        let Fraction { value, low, high } = self.precision_interval(level)?;
        (base > 0.0).then_some(Fraction { value: value / base, low: low / base, high: high / base })
    }
}

fn fraction(part: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| part / of)
}

fn interval(part: f64, of: f64, squares: f64, level: f64) -> Option<Fraction> {
    let value = fraction(part, of)?;
    let (low, high) = wilson(value, of * of / squares, level);
    Some(Fraction { value, low, high })
}

/// Wilson's score interval of a fraction `p` that was seen in `n` trials, at `level` in (0, 1).
///
/// ```
/// let (low, high) = toprank_metrics::threshold::wilson(0.0, 10.0, 0.95);
/// assert_eq!(low, 0.0);
/// assert!((high - 0.2775).abs() < 1e-4); // z²/(n + z²)
/// ```
pub fn wilson(p: f64, n: f64, level: f64) -> (f64, f64) {
    let z = std::f64::consts::SQRT_2 * erfc_inv(1.0 - level);
    let z2 = z * z;
    let centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    // At the ends the bound is the end itself, up to rounding.
    let low = if p == 0.0 { 0.0 } else { (centre - half).max(0.0) };
    let high = if p == 1.0 { 1.0 } else { (centre + half).min(1.0) };
    (low, high)
}

/// What an operating point is wanted to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wish {
    /// At least this recall, with as few alerts as possible: the highest threshold that reaches it.
    Recall(f64),
    /// At least this precision, with as many alerts as possible: the lowest threshold that keeps it.
    Precision(f64),
    /// At most so many alerts, and as many as possible: the lowest threshold that keeps to it.
    Alerts(f64),
    /// The same for a fraction of the items.
    AlertFraction(f64),
    /// The least total cost; of equal ones the fewest alerts.
    Cost {
        /// Cost of a false alert.
        false_positive: f64,
        /// Cost of a relevant item that is missed.
        false_negative: f64,
    },
}

/// Every operating point of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Thresholds {
    /// From no alert to all, so by descending threshold.
    points: Vec<OperatingPoint>,
}

impl Thresholds {
    /// The operating points of a list. Cost: O(n log n).
    pub fn of(list: &List, policy: &Policy) -> Result<Thresholds, NotANumber> {
        if let Some(item) = list.scores.iter().position(|score| score.is_nan()) {
            return Err(NotANumber { item });
        }
        let weight = |item: usize| list.weights.map_or(1.0, |weights| f64::from(weights[item]));
        let judged = list.labels.iter().enumerate().filter(|(_, label)| !label.is_nan());
        let mut order: Vec<(f64, bool, f64)> = judged
            .map(|(item, &label)| (list.scores[item] + 0.0, policy.relevant.is(label), weight(item)))
            .collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let missed = |relevant: bool| {
            let labels = list.missed.iter().filter(|label| policy.relevant.is(**label) == relevant);
            labels.count() as f64
        };
        let class = |relevant: bool| order.iter().filter(move |item| item.1 == relevant).map(|item| item.2);
        let mut point = OperatingPoint {
            threshold: f64::INFINITY,
            true_positives: 0.0,
            false_positives: 0.0,
            false_negatives: class(true).sum::<f64>() + missed(true),
            true_negatives: class(false).sum::<f64>() + missed(false),
            squares: (0.0, class(true).map(|w| w * w).sum::<f64>() + missed(true)),
        };
        let (positives, negatives) = (point.false_negatives, point.true_negatives);
        let mut points = vec![point];
        for tied in order.chunk_by(|a, b| a.0 == b.0) {
            point.threshold = tied[0].0;
            for &(_, relevant, weight) in tied {
                let side = if relevant { &mut point.true_positives } else { &mut point.false_positives };
                *side += weight;
                point.squares.0 += weight * weight;
            }
            point.false_negatives = (positives - point.true_positives).max(0.0);
            point.true_negatives = (negatives - point.false_positives).max(0.0);
            points.push(point);
        }
        Ok(Thresholds { points })
    }

    /// All points, from no alert to all.
    pub fn points(&self) -> &[OperatingPoint] {
        &self.points
    }

    /// What a given threshold does: the point of the least score at or above it.
    pub fn at(&self, threshold: f64) -> OperatingPoint {
        let above = self.points.partition_point(|point| point.threshold >= threshold);
        OperatingPoint { threshold, ..self.points[above.max(1) - 1] }
    }

    /// The next lower threshold: what one more step would do.
    pub fn after(&self, point: &OperatingPoint) -> Option<&OperatingPoint> {
        self.points.iter().find(|other| other.threshold < point.threshold)
    }

    /// The point that meets a wish; `None` if none does (a precision that no threshold keeps, a recall without a
    /// relevant item).
    pub fn choose(&self, wish: Wish) -> Option<OperatingPoint> {
        let mut points = self.points.iter();
        match wish {
            Wish::Recall(wanted) => {
                points.find(|point| point.recall().is_some_and(|recall| recall >= wanted * ROUNDING))
            }
            Wish::Precision(wanted) => {
                points.rfind(|point| point.precision().is_some_and(|p| p >= wanted * ROUNDING))
            }
            Wish::Alerts(most) => points.rfind(|point| point.alerts() * ROUNDING <= most),
            Wish::AlertFraction(fraction) => {
                let most = fraction * points.as_slice().last().map_or(0.0, OperatingPoint::items);
                points.rfind(|point| point.alerts() * ROUNDING <= most)
            }
            Wish::Cost { false_positive, false_negative } => points.reduce(|best, point| {
                let cost = |point: &OperatingPoint| point.cost(false_positive, false_negative);
                if cost(point) < cost(best) { point } else { best }
            }),
        }
        .copied()
    }

    /// The ROC curve as points (false positive rate, true positive rate), joined by straight lines, from (0, 0) to
    /// (1, 1); `None` unless both classes are there.
    ///
    /// ```
    /// use toprank_core::{List, Policy};
    /// use toprank_metrics::threshold::Thresholds;
    /// let points = Thresholds::of(&List::new(&[0.9, 0.5, 0.5], &[1.0, 1.0, 0.0]), &Policy::default()).unwrap();
    /// assert_eq!(points.roc().unwrap(), [(0.0, 0.0), (0.0, 0.5), (1.0, 1.0)]);
    /// ```
    pub fn roc(&self) -> Option<Vec<(f64, f64)>> {
        self.points.iter().map(|point| Some((point.false_positive_rate()?, point.recall()?))).collect()
    }

    /// The precision-recall curve as points (recall, precision), from recall 0 on; `None` without a relevant item.
    /// Where several items enter at once, points between follow true and false positives that grow together
    /// (Davis and Goadrich), which is no straight line.
    pub fn precision_recall(&self) -> Option<Vec<(f64, f64)>> {
        /// Points between two thresholds, at most.
        const BETWEEN: usize = 32;
        let positives = self.points[0].positives();
        if positives == 0.0 {
            return None;
        }
        let mut curve = Vec::new();
        for pair in self.points.windows(2) {
            let (from, to) = (&pair[0], &pair[1]);
            let (tp, fp) =
                (to.true_positives - from.true_positives, to.false_positives - from.false_positives);
            let steps = if tp > 0.0 && fp > 0.0 { (tp.ceil() as usize).clamp(1, BETWEEN) } else { 1 };
            // At no alert precision is undefined; the curve starts with that of the first threshold.
            let first = usize::from(!curve.is_empty());
            for step in first..=steps {
                let part = step as f64 / steps as f64;
                let (t, f) = (from.true_positives + part * tp, from.false_positives + part * fp);
                let precision = if t + f > 0.0 { t / (t + f) } else { to.precision().unwrap_or(0.0) };
                curve.push((t / positives, precision));
            }
        }
        Some(curve)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::value;

    fn points(scores: &[f64], labels: &[f32]) -> Thresholds {
        Thresholds::of(&List::new(scores, labels), &Policy::default()).unwrap()
    }

    const SCORES: &[f64] = &[0.9, 0.8, 0.7, 0.7, 0.3, 0.2];
    const LABELS: &[f32] = &[1.0, 0.0, 1.0, 0.0, 1.0, 0.0];

    #[test]
    fn wishes_are_met_by_the_point_worked_by_hand() {
        let all = points(SCORES, LABELS);
        for (wish, threshold, tp, fp) in [
            (Wish::Recall(0.3), 0.9, 1.0, 0.0),
            (Wish::Recall(0.5), 0.7, 2.0, 2.0),
            (Wish::Recall(1.0), 0.3, 3.0, 2.0),
            (Wish::Precision(1.0), 0.9, 1.0, 0.0),
            (Wish::Precision(0.6), 0.3, 3.0, 2.0),
            (Wish::Alerts(2.0), 0.8, 1.0, 1.0),
            (Wish::Alerts(3.0), 0.8, 1.0, 1.0), // two items of score 0.7 cannot be parted
            (Wish::Alerts(4.0), 0.7, 2.0, 2.0),
            (Wish::Alerts(0.0), f64::INFINITY, 0.0, 0.0),
            (Wish::Cost { false_positive: 1.0, false_negative: 10.0 }, 0.3, 3.0, 2.0),
            (Wish::Cost { false_positive: 10.0, false_negative: 1.0 }, 0.9, 1.0, 0.0),
            (Wish::Cost { false_positive: 1.0, false_negative: 1.0 }, 0.9, 1.0, 0.0), // costs 2, as 0.3 does
        ] {
            let point = all.choose(wish).unwrap();
            assert_eq!(
                (point.threshold, point.true_positives, point.false_positives),
                (threshold, tp, fp),
                "{wish:?}"
            );
            assert_eq!(point.false_negatives, 3.0 - tp);
            assert_eq!(point.true_negatives, 3.0 - fp);
            assert_eq!(all.at(threshold), point);
        }
        assert_eq!(all.after(&all.choose(Wish::Alerts(3.0)).unwrap()).unwrap().alerts(), 4.0);
        assert_eq!(points(&[0.5, 0.4], &[0.0, 1.0]).choose(Wish::Precision(0.9)), None);
        assert_eq!(points(&[0.5], &[0.0]).choose(Wish::Recall(0.1)), None);
    }

    #[test]
    fn a_threshold_between_scores_is_the_one_above() {
        let all = points(SCORES, LABELS);
        assert_eq!(all.at(0.75).alerts(), 2.0);
        assert_eq!(all.at(2.0).alerts(), 0.0);
        assert_eq!(all.at(-2.0).alerts(), 6.0);
    }

    #[test]
    fn unjudged_items_are_left_out_and_those_not_retrieved_are_misses() {
        let list = List { missed: &[1.0, 0.0], ..List::new(&[0.9, 0.8, 0.7], &[f32::NAN, 1.0, 0.0]) };
        let all = Thresholds::of(&list, &Policy::default()).unwrap();
        let point = all.at(0.0);
        assert_eq!((point.alerts(), point.false_negatives, point.true_negatives), (2.0, 1.0, 1.0));
        assert_eq!(all.choose(Wish::Recall(0.9)), None, "one is below every threshold");
    }

    #[test]
    fn an_item_of_weight_two_is_two_items_but_tells_less() {
        let weights = [2.0; 6];
        let list = List { weights: Some(&weights), ..List::new(SCORES, LABELS) };
        let heavy = Thresholds::of(&list, &Policy::default()).unwrap().at(0.7);
        let plain = points(SCORES, LABELS).at(0.7);
        assert_eq!(heavy.alerts(), 2.0 * plain.alerts());
        assert_eq!(heavy.precision_interval(0.95), plain.precision_interval(0.95));
    }

    #[test]
    fn wilson_covers_its_level_on_average_and_never_far_less() {
        // Exact coverage: the probabilities of all counts whose interval holds p.
        let (n, level) = (40usize, 0.95);
        let bounds: Vec<(f64, f64)> = (0..=n).map(|k| wilson(k as f64 / n as f64, n as f64, level)).collect();
        let choose = |k: usize| (0..k).map(|i| (n - i) as f64 / (k - i) as f64).product::<f64>();
        let coverage = |p: f64| -> f64 {
            let probability = |k: usize| choose(k) * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32);
            (0..=n).filter(|&k| bounds[k].0 <= p && p <= bounds[k].1).map(probability).sum()
        };
        let all: Vec<f64> = (1..200).map(|i| coverage(f64::from(i) / 200.0)).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!((mean - level).abs() < 0.006, "{mean}");
        assert!(all.iter().copied().fold(1.0, f64::min) > 0.83);
    }

    #[test]
    fn a_tie_of_both_classes_is_a_curve_of_precision_not_a_line() {
        // One relevant above, then a tie of 2 relevant and 2 others: at the middle of the tie 2 of 3 are relevant.
        let curve =
            points(&[0.9, 0.5, 0.5, 0.5, 0.5], &[1.0, 1.0, 1.0, 0.0, 0.0]).precision_recall().unwrap();
        assert_eq!(curve, [(0.0, 1.0), (1.0 / 3.0, 1.0), (2.0 / 3.0, 2.0 / 3.0), (1.0, 3.0 / 5.0)]);
    }

    proptest! {
        #[test]
        fn curves_and_points_agree_with_the_metrics(
            items in prop::collection::vec((0i32..6, any::<bool>()), 2..40),
            recall in 0.05f64..1.0,
        ) {
            let scores: Vec<f64> = items.iter().map(|item| f64::from(item.0)).collect();
            let labels: Vec<f32> = items.iter().map(|item| f32::from(u8::from(item.1))).collect();
            let all = points(&scores, &labels);
            let area: Option<f64> = all.roc().map(|curve| {
                curve.windows(2).map(|w| (w[1].0 - w[0].0) * f64::midpoint(w[0].1, w[1].1)).sum()
            });
            match (area, value("auroc", &scores, &labels)) {
                (Some(area), Some(auroc)) => prop_assert!((area - auroc).abs() < 1e-12),
                (area, auroc) => prop_assert_eq!(area, auroc),
            }
            let chosen = all.choose(Wish::Recall(recall)).and_then(|point| point.precision());
            prop_assert_eq!(chosen, value(&format!("p:recall={recall}"), &scores, &labels));
            if let Some(curve) = all.precision_recall() {
                prop_assert!(curve.windows(2).all(|w| w[0].0 <= w[1].0));
                prop_assert_eq!(curve.last().unwrap().0, 1.0);
            }
        }

        #[test]
        fn no_point_meets_the_wish_better(
            items in prop::collection::vec((0i32..8, any::<bool>()), 1..40),
            amount in 0.0f64..1.0,
        ) {
            let scores: Vec<f64> = items.iter().map(|item| f64::from(item.0)).collect();
            let labels: Vec<f32> = items.iter().map(|item| f32::from(u8::from(item.1))).collect();
            let all = points(&scores, &labels);
            let budget = amount * items.len() as f64;
            let chosen = all.choose(Wish::Alerts(budget)).unwrap();
            prop_assert!(chosen.alerts() <= budget);
            prop_assert!(all.points().iter().all(|p| p.alerts() > budget || p.alerts() <= chosen.alerts()));
            let cost = |p: &OperatingPoint| p.cost(amount, 1.0 - amount);
            let cheapest = all.choose(Wish::Cost { false_positive: amount, false_negative: 1.0 - amount }).unwrap();
            prop_assert!(all.points().iter().all(|p| cost(p) >= cost(&cheapest)));
        }
    }
}
