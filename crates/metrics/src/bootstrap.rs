/*!
Bootstrap: how far could the mean over lists have come out otherwise?

Lists are drawn with replacement, as many as there are, each with its weight; the (weighted) mean of every such
resample is one replicate.

```text
mean*   = Σ_j w_{i_j} v_{i_j} / Σ_j w_{i_j},      i_j uniform in 0..n, j = 1..n
percentile: the α/2 and 1 − α/2 quantiles of mean*                           (α = 1 − level)
BCa:        the Φ(z₀ + (z₀ + z)/(1 − a (z₀ + z))) quantiles, z = Φ⁻¹(α/2), Φ⁻¹(1 − α/2)
            z₀ = Φ⁻¹(fraction of replicates below the mean; those equal to it count half)
            a  = Σ (m − m_i)³ / (6 (Σ (m − m_i)²)^{3/2}),   m_i: mean without list i,   m: mean of the m_i
```

Source: Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapters 13 and 14. Quantiles are
interpolated linearly between order statistics (as numpy and scipy do); z₀ takes ties as scipy does. A fraction of 0
or 1 is moved to half a replicate inside, where scipy answers NaN.

Cost: O(replicates × lists) draws; 32 random bits a draw, without bias. Replicates are drawn in fixed blocks,
each from its own stream, so the interval depends on values, weights, seed and options only, not on threads.
*/

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};
use toprank_core::stream::Random;
use toprank_core::{ParamError, Stream, ordered_sum};

/// How an interval is read off the replicates; see the [module](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IntervalKind {
    /// Quantiles of the replicates.
    Percentile,
    /// Quantiles corrected for bias and skewness (bias-corrected and accelerated).
    #[default]
    Bca,
    /// The normal interval of [`crate::rows::delong`], for AUROC over rows. Asked for anywhere else, it is BCa.
    Delong,
}

/// What [`interval`] should make.
///
/// | field        | default | range       | meaning                              |
/// |--------------|---------|-------------|--------------------------------------|
/// | `kind`       | `Bca`   |             | how the ends are read off            |
/// | `level`      | `0.95`  | `(0, 1)`    | fraction of intervals that hold the true value |
/// | `replicates` | `2000`  | `[1, 10⁸]`  | resamples                            |
/// | `seed`       | `1`     |             | of the draws                         |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IntervalOptions {
    /// How the ends are read off the replicates.
    pub kind: IntervalKind,
    /// Confidence level.
    pub level: f64,
    /// Number of resamples.
    pub replicates: usize,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for IntervalOptions {
    fn default() -> IntervalOptions {
        IntervalOptions { kind: IntervalKind::Bca, level: 0.95, replicates: 2000, seed: 1 }
    }
}

impl IntervalOptions {
    /// Refuses what is out of range.
    ///
    /// ```
    /// use toprank_metrics::bootstrap::IntervalOptions;
    /// let error = IntervalOptions { level: 95.0, ..Default::default() }.check().unwrap_err();
    /// assert_eq!(error.to_string(), "level must be in (0, 1), but is 95");
    /// ```
    pub fn check(&self) -> Result<(), ParamError> {
        if !(self.level > 0.0 && self.level < 1.0) {
            return Err(ParamError::new("level", &self.level.to_string(), "in (0, 1)"));
        }
        if !(1..=MOST_REPLICATES).contains(&self.replicates) {
            let found = self.replicates.to_string();
            return Err(ParamError::new("replicates", &found, "in [1, 100000000]"));
        }
        Ok(())
    }

    /// The level, or the default in place of one that is out of range.
    pub(crate) fn usable_level(&self) -> f64 {
        if self.level > 0.0 && self.level < 1.0 { self.level } else { 0.95 }
    }
}

/// Replicates are kept to be sorted: 8 bytes each.
pub(crate) const MOST_REPLICATES: usize = 100_000_000;

/// What is drawn, and therefore what a result can be generalised to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Lists: queries, users. Their values are independent of each other.
    #[default]
    Lists,
    /// Rows: binary data are one list, multi-label data one list per label over the same rows.
    Rows,
}

/// A confidence interval of a value or a difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(into = "IntervalInWords")]
pub struct Interval {
    /// Lower end; NaN (JSON `null`) if there was no value.
    pub low: f64,
    /// Upper end; NaN (JSON `null`) if there was no value.
    pub high: f64,
    /// Confidence level.
    pub level: f64,
    /// How the ends were found.
    pub kind: IntervalKind,
    /// Resamples drawn; 0 for an interval that needs none.
    pub replicates: usize,
    /// What was drawn.
    pub unit: Unit,
    /// Whether relevant and other rows were drawn separately.
    pub stratified: bool,
}

impl Interval {
    /// How the interval was found, in words: the method, what was drawn, how often.
    ///
    /// ```
    /// use toprank_metrics::bootstrap::{interval, IntervalOptions};
    /// let interval = interval(&[0.2, 0.9, 0.4], None, &IntervalOptions::default());
    /// assert_eq!(interval.method(), "BCa bootstrap over lists, 2000 resamples");
    /// ```
    pub fn method(&self) -> String {
        let kind = match self.kind {
            IntervalKind::Delong => return "DeLong".to_string(),
            IntervalKind::Percentile => "percentile",
            IntervalKind::Bca => "BCa",
        };
        let (stratified, unit) = match (self.unit, self.stratified) {
            (Unit::Lists, _) => ("", "lists"),
            (Unit::Rows, false) => ("", "rows"),
            (Unit::Rows, true) => ("stratified ", "rows"),
        };
        format!("{stratified}{kind} bootstrap over {unit}, {} resamples", self.replicates)
    }
}

/// An interval as JSON: with its method in words.
#[derive(Serialize)]
struct IntervalInWords {
    low: f64,
    high: f64,
    level: f64,
    kind: IntervalKind,
    replicates: usize,
    unit: Unit,
    method: String,
}

impl From<Interval> for IntervalInWords {
    fn from(interval: Interval) -> IntervalInWords {
        let Interval { low, high, level, kind, replicates, unit, .. } = interval;
        IntervalInWords { low, high, level, kind, replicates, unit, method: interval.method() }
    }
}

/// What is known about the error of an estimate: an interval of any level can be read off.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Spread {
    /// No variation was seen: both ends are the value (NaN: there is none).
    Point { value: f64, like: Interval },
    /// The estimate of every resample, sorted, and what corrects their quantiles (0, 0: nothing).
    Resampled { sorted: Vec<f64>, bias: f64, acceleration: f64, like: Interval },
    /// A normal distribution, cut off where no value can be.
    Normal { value: f64, error: f64, range: (f64, f64), like: Interval },
}

impl Spread {
    /// The interval at a confidence level.
    pub(crate) fn interval(&self, level: f64) -> Interval {
        let normal = Normal::standard();
        let fractions = [(1.0 - level) / 2.0, f64::midpoint(1.0, level)];
        match self {
            Spread::Point { value, like } => Interval { low: *value, high: *value, level, ..*like },
            Spread::Resampled { sorted, bias, acceleration, like } => {
                let [low, high] = fractions.map(|fraction| {
                    let fraction = match like.kind {
                        IntervalKind::Percentile => fraction,
                        _ => {
                            let z = bias + normal.inverse_cdf(fraction);
                            // Beyond the pole of the formula the quantile is the last one on that side.
                            normal.cdf(bias + z / (1.0 - acceleration * z).max(1e-9))
                        }
                    };
                    quantile(sorted, fraction)
                });
                Interval { low, high, level, ..*like }
            }
            Spread::Normal { value, error, range, like } => {
                let [low, high] = fractions
                    .map(|fraction| (value + normal.inverse_cdf(fraction) * error).clamp(range.0, range.1));
                Interval { low, high, level, ..*like }
            }
        }
    }

    /// The spread of an estimate from its resamples; those that are not finite are left out. `slack` is the size of a
    /// difference that is rounding.
    pub(crate) fn resampled(
        estimate: f64,
        mut replicates: Vec<f64>,
        acceleration: f64,
        slack: f64,
        like: Interval,
    ) -> Spread {
        replicates.retain(|value| value.is_finite());
        if replicates.is_empty() {
            return Spread::Point { value: f64::NAN, like };
        }
        replicates.sort_unstable_by(f64::total_cmp);
        let bias = match like.kind {
            IntervalKind::Percentile => 0.0,
            _ => bias(estimate, &replicates, slack),
        };
        Spread::Resampled { sorted: replicates, bias, acceleration, like }
    }
}

/// Bootstrap interval of the (weighted) mean of `values`, one value per list.
///
/// A list is excluded from the sample if its value is not finite (skipped lists are NaN) or its weight is not a positive
/// number. One list, or lists of one value: both ends are that value. Options out of range (see
/// [`IntervalOptions::check`]) are moved to the nearest allowed value.
///
/// # Panics
/// If `weights` has another length than `values`, or there are 2³² lists or more.
///
/// ```
/// use toprank_metrics::bootstrap::{interval, IntervalOptions};
/// let values = [0.2, 0.9, f64::NAN, 0.4, 0.6, 0.5, 0.8];
/// let interval = interval(&values, None, &IntervalOptions::default());
/// assert!(0.3 < interval.low && interval.low < 0.5 && 0.6 < interval.high && interval.high < 0.8);
/// ```
pub fn interval(values: &[f64], weights: Option<&[f32]>, options: &IntervalOptions) -> Interval {
    spread(values, weights, options).interval(options.usable_level())
}

/// The intervals of several measures of the same lists: what [`interval`] gives for each, to the bit, in about the
/// time of one, because measures that are defined on the same lists share their draws.
///
/// ```
/// use toprank_metrics::bootstrap::{IntervalOptions, interval, intervals};
/// let (ndcg, map) = ([0.2, 0.9, 0.4, 0.6], [0.1, 0.8, 0.5, 0.5]);
/// let options = IntervalOptions::default();
/// let both = intervals(&[&ndcg, &map], None, &options);
/// assert_eq!(both, [interval(&ndcg, None, &options), interval(&map, None, &options)]);
/// ```
pub fn intervals(measures: &[&[f64]], weights: Option<&[f32]>, options: &IntervalOptions) -> Vec<Interval> {
    let stream = Stream::new(options.seed, STREAM);
    let replicates = options.replicates.clamp(1, MOST_REPLICATES);
    let same_lists = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| a.is_finite() == b.is_finite());
    let mut found: Vec<Option<Interval>> = vec![None; measures.len()];
    for first in 0..measures.len() {
        if found[first].is_some() {
            continue;
        }
        let alike = |m: &usize| found[*m].is_none() && same_lists(measures[first], measures[*m]);
        let together: Vec<usize> = (first..measures.len()).filter(alike).take(SHARED).collect();
        let used: Vec<_> = together.iter().map(|&m| usable(measures[m], weights)).collect();
        let list_weights = used[0].1.as_deref();
        let rows: Vec<[f64; SHARED + 1]> = (0..used[0].0.len())
            .map(|list| {
                let weight = list_weights.map_or(1.0, |weights| weights[list]);
                let value = |column: usize| used.get(column).map_or(0.0, |(values, _)| values[list] * weight);
                std::array::from_fn(|column| if column == SHARED { weight } else { value(column) })
            })
            .collect();
        let sums = resampled_sums(&rows, replicates, stream);
        for (column, &m) in together.iter().enumerate() {
            let means = || sums.iter().map(|sum| sum[column] / sum[SHARED]).collect();
            let spread = spread_of(&used[column].0, list_weights, options, means);
            found[m] = Some(spread.interval(options.usable_level()));
        }
    }
    found.into_iter().flatten().collect()
}

/// What the numbers of intervals are drawn for.
const STREAM: &str = "bootstrap interval";

/// Measures that share draws: with the weights their sums fill half a cache line.
const SHARED: usize = 3;

/// What an interval of these options says about itself, without its ends.
pub(crate) fn bare(options: &IntervalOptions, unit: Unit, stratified: bool) -> Interval {
    Interval {
        low: f64::NAN,
        high: f64::NAN,
        level: options.usable_level(),
        kind: options.kind,
        replicates: options.replicates.clamp(1, MOST_REPLICATES),
        unit,
        stratified,
    }
}

/// The spread of the mean over lists, resampled by `means` if there is anything to resample.
fn spread_of(
    values: &[f64],
    weights: Option<&[f64]>,
    options: &IntervalOptions,
    means: impl FnOnce() -> Vec<f64>,
) -> Spread {
    let like = bare(options, Unit::Lists, false);
    let value = values.first().copied().unwrap_or(f64::NAN);
    if values.iter().all(|&v| v == value) {
        return Spread::Point { value, like };
    }
    let acceleration = match options.kind {
        IntervalKind::Percentile => 0.0,
        _ => acceleration(values, weights),
    };
    // Replicates that equal the mean up to rounding are ties.
    let slack = 1e-12 * values.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    Spread::resampled(weighted_mean(values, weights), means(), acceleration, slack, like)
}

/// The spread of the (weighted) mean of `values`; see [`interval`].
pub(crate) fn spread(values: &[f64], weights: Option<&[f32]>, options: &IntervalOptions) -> Spread {
    let (values, weights) = usable(values, weights);
    let stream = Stream::new(options.seed, STREAM);
    let replicates = options.replicates.clamp(1, MOST_REPLICATES);
    spread_of(&values, weights.as_deref(), options, || {
        resampled_means(&values, weights.as_deref(), replicates, stream)
    })
}

/// Values and weights of the lists that count: a finite value, a positive finite weight.
pub(crate) fn usable(values: &[f64], weights: Option<&[f32]>) -> (Vec<f64>, Option<Vec<f64>>) {
    let Some(weights) = weights else {
        return (values.iter().copied().filter(|v| v.is_finite()).collect(), None);
    };
    assert_eq!(values.len(), weights.len(), "one weight per list");
    let both = values.iter().zip(weights).filter(|&(v, &w)| v.is_finite() && w > 0.0 && w.is_finite());
    let (values, weights) = both.map(|(&v, &w)| (v, f64::from(w))).unzip();
    (values, Some(weights))
}

/// Σ w v / Σ w by ordered sums; NaN without values.
pub(crate) fn weighted_mean(values: &[f64], weights: Option<&[f64]>) -> f64 {
    match weights {
        None => ordered_sum(values) / values.len() as f64,
        Some(weights) => {
            let products: Vec<f64> = values.iter().zip(weights).map(|(v, w)| v * w).collect();
            ordered_sum(&products) / ordered_sum(weights)
        }
    }
}

/// Replicates of one block, drawn from one stream: enough to hide the cost of opening it.
const BLOCK: usize = 32;

/// The means of `replicates` resamples of the lists.
pub(crate) fn resampled_means(
    values: &[f64],
    weights: Option<&[f64]>,
    replicates: usize,
    stream: Stream,
) -> Vec<f64> {
    match weights {
        None => {
            let rows: Vec<[f64; 1]> = values.iter().map(|&v| [v]).collect();
            let n = values.len().max(1) as f64;
            resampled_sums(&rows, replicates, stream).into_iter().map(|[sum]| sum / n).collect()
        }
        Some(weights) => {
            let rows: Vec<[f64; 2]> = values.iter().zip(weights).map(|(v, &w)| [v * w, w]).collect();
            let sums = resampled_sums(&rows, replicates, stream);
            sums.into_iter().map(|[sum, weight]| if rows.is_empty() { 0.0 } else { sum / weight }).collect()
        }
    }
}

/// Two uniform draws in 0..n from 64 random bits, without bias. `uneven` is 2³² mod n: draws whose low half is below would
/// favour some numbers and are drawn again (Lemire 2019).
#[inline]
pub(crate) fn two_below(random: &mut Random, n: u32, uneven: u32) -> [usize; 2] {
    let bits = random.bits();
    let mut draw = |half: u32| {
        let mut product = u64::from(half) * u64::from(n);
        while (product as u32) < uneven {
            product = (random.bits() >> 32) * u64::from(n);
        }
        (product >> 32) as usize
    };
    [draw(bits as u32), draw((bits >> 32) as u32)]
}

/// The sums of `replicates` resamples of the rows, column by column.
fn resampled_sums<const W: usize>(rows: &[[f64; W]], replicates: usize, stream: Stream) -> Vec<[f64; W]> {
    let n = u32::try_from(rows.len()).expect("fewer than 2^32 lists");
    let mut totals = vec![[0.0; W]; replicates];
    if n == 0 {
        return totals;
    }
    totals.par_chunks_mut(BLOCK).enumerate().for_each(|(block, totals)| {
        let mut random = stream.of_list(block as u32).open();
        let uneven = n.wrapping_neg() % n;
        let mut pair = || two_below(&mut random, n, uneven);
        for total in totals {
            // Two sums at once: the next addition need not wait for the last one.
            let mut sums = [[0.0; W]; 2];
            for _ in 0..n / 2 {
                for (sum, list) in sums.iter_mut().zip(pair()) {
                    for (sum, value) in sum.iter_mut().zip(&rows[list]) {
                        *sum += value;
                    }
                }
            }
            let last = if n % 2 == 1 { rows[pair()[0]] } else { [0.0; W] };
            *total = std::array::from_fn(|column| sums[0][column] + sums[1][column] + last[column]);
        }
    });
    totals
}

/// The quantile of sorted numbers at a fraction, interpolated linearly between order statistics.
fn quantile(sorted: &[f64], fraction: f64) -> f64 {
    let place = fraction.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

/// z₀ of BCa: the normal quantile of the fraction of replicates below the estimate.
fn bias(estimate: f64, sorted: &[f64], slack: f64) -> f64 {
    let below = sorted.partition_point(|&m| m < estimate - slack);
    let up_to = sorted.partition_point(|&m| m <= estimate + slack);
    let count = sorted.len() as f64;
    let fraction = ((below + up_to) as f64 / (2.0 * count)).clamp(0.5 / count, 1.0 - 0.5 / count);
    Normal::standard().inverse_cdf(fraction)
}

/// Acceleration from the means without one list; 0 if they are all equal.
fn acceleration(values: &[f64], weights: Option<&[f64]>) -> f64 {
    let mean = weighted_mean(values, weights);
    let total = weights.map_or(values.len() as f64, ordered_sum);
    // m_i − mean = w_i (mean − v_i) / (W − w_i); the last list of positive weight cannot be left out.
    let without: Vec<f64> = (0..values.len())
        .map(|i| {
            let weight = weights.map_or(1.0, |w| w[i]);
            let rest = total - weight;
            if rest > 0.0 { weight * (mean - values[i]) / rest } else { 0.0 }
        })
        .collect();
    let centre = ordered_sum(&without) / without.len() as f64;
    let power_sum = |p: i32| ordered_sum(&without.iter().map(|m| (centre - m).powi(p)).collect::<Vec<_>>());
    let squares = power_sum(2);
    if squares > 0.0 { power_sum(3) / (6.0 * squares.powf(1.5)) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Values that Python can make again: exp(3 · ((37 i) mod 101) / 100), a skewed sample.
    fn skewed(n: usize) -> Vec<f64> {
        (0..n).map(|i| (3.0 * ((i * 37) % 101) as f64 / 100.0).exp()).collect()
    }

    fn run(kind: IntervalKind, values: &[f64], weights: Option<&[f32]>, replicates: usize) -> Interval {
        interval(values, weights, &IntervalOptions { kind, replicates, ..Default::default() })
    }

    // scipy 1.17.1:
    //   i = np.arange(60); x = np.exp(3 * ((i * 37) % 101) / 100)
    //   scipy.stats.bootstrap((x,), np.mean, n_resamples=400000, method=m, rng=1).confidence_interval
    // Tolerance: the end of 100,000 replicates has a standard error near 0.008 (standard error 0.668 of the mean).
    #[test]
    fn the_intervals_are_those_of_scipy() {
        for (kind, low, high) in [
            (IntervalKind::Percentile, 5.046_035_588_594_211, 7.664_500_864_629_317),
            (IntervalKind::Bca, 5.118_219_118_360_348, 7.758_736_230_418_652),
        ] {
            let ours = run(kind, &skewed(60), None, 100_000);
            assert!((ours.low - low).abs() < 0.025, "{ours:?}");
            assert!((ours.high - high).abs() < 0.025, "{ours:?}");
        }
    }

    #[test]
    fn a_list_of_weight_two_counts_as_much_as_two_lists_in_the_mean() {
        assert_eq!(weighted_mean(&[1.0, 4.0], Some(&[2.0, 1.0])), (1.0 + 1.0 + 4.0) / 3.0);
    }

    #[test]
    fn the_acceleration_is_that_of_the_jackknife() {
        let values = skewed(9);
        for weights in [None, Some(vec![1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 1.0, 0.1, 1.0])] {
            let weights = weights.as_deref();
            let without = |out: usize| {
                let keep = |x: &[f64]| -> Vec<f64> {
                    x.iter().enumerate().filter(|(i, _)| *i != out).map(|(_, x)| *x).collect()
                };
                weighted_mean(&keep(&values), weights.map(keep).as_deref())
            };
            let means: Vec<f64> = (0..9).map(without).collect();
            let centre = means.iter().sum::<f64>() / 9.0;
            let cubes: f64 = means.iter().map(|m| (centre - m).powi(3)).sum();
            let squares: f64 = means.iter().map(|m| (centre - m).powi(2)).sum();
            let plain = cubes / (6.0 * squares.powf(1.5));
            assert!((acceleration(&values, weights) - plain).abs() < 1e-12);
        }
    }

    #[test]
    fn sharing_the_draws_changes_no_bit() {
        let holes = |step: usize| -> Vec<f64> {
            let hole = |(i, v): (usize, f64)| if i % step == 0 { f64::NAN } else { v };
            skewed(50).into_iter().enumerate().map(hole).collect()
        };
        let columns = [
            skewed(50),
            holes(7),
            skewed(50),
            holes(7),
            holes(3),
            skewed(50),
            skewed(50),
            vec![f64::NAN; 50],
        ];
        let measures: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let weights: Vec<f32> = (0..50).map(|i| 0.5 + i as f32 / 10.0).collect();
        let options = IntervalOptions { replicates: 300, ..Default::default() };
        for weights in [None, Some(weights.as_slice())] {
            for (shared, values) in intervals(&measures, weights, &options).iter().zip(&measures) {
                let alone = interval(values, weights, &options);
                let bits = |i: &Interval| (i.low.to_bits(), i.high.to_bits());
                assert_eq!(bits(shared), bits(&alone));
            }
        }
    }

    #[test]
    fn equal_weights_and_no_weights_are_the_same() {
        let values = skewed(33);
        let plain = run(IntervalKind::Bca, &values, None, 500);
        let weighted = run(IntervalKind::Bca, &values, Some(&[2.0; 33]), 500);
        assert!((plain.low - weighted.low).abs() < 1e-12 && (plain.high - weighted.high).abs() < 1e-12);
    }

    #[test]
    fn skipped_and_weightless_lists_leave_the_sample() {
        let values = [0.1, f64::NAN, 0.7, 9.0, 0.4, 8.0];
        let weights = [1.0, 1.0, 2.0, 0.0, 1.0, f32::NAN];
        let ours = run(IntervalKind::Bca, &values, Some(&weights), 500);
        assert_eq!(ours, run(IntervalKind::Bca, &[0.1, 0.7, 0.4], Some(&[1.0, 2.0, 1.0]), 500));
    }

    #[test]
    fn degenerate_samples_have_defined_intervals() {
        for kind in [IntervalKind::Percentile, IntervalKind::Bca] {
            let none = run(kind, &[f64::NAN], None, 10);
            assert!(none.low.is_nan() && none.high.is_nan());
            for one_value in [&[0.3][..], &[0.3, 0.3, 0.3]] {
                let ours = run(kind, one_value, None, 10);
                assert_eq!((ours.low, ours.high), (0.3, 0.3));
            }
            for few in [1, 2, 3] {
                let ours = run(kind, &[0.0, 0.0, 0.0, 1.0], Some(&[1.0, 1e-30, 1e30, 1.0]), few);
                assert!(ours.low <= ours.high && ours.low >= 0.0 && ours.high <= 1.0, "{ours:?}");
            }
        }
    }

    #[test]
    fn every_list_is_drawn_equally_often() {
        let n = 7;
        for chosen in 0..n {
            let values: Vec<f64> = (0..n).map(|i| f64::from(i == chosen)).collect();
            let means = resampled_means(&values, None, 20_000, Stream::new(5, "test"));
            let mean = means.iter().sum::<f64>() / means.len() as f64;
            // 140,000 draws of probability 1/7: standard error 0.00094.
            assert!((mean - 1.0 / 7.0).abs() < 0.004, "list {chosen}: {mean}");
        }
    }

    #[test]
    fn intervals_hold_the_true_mean_about_as_often_as_they_say() {
        // The mean of the squares of uniform numbers is 1/3; 400 samples of 40 lists.
        let mut random = Stream::new(3, "coverage").open();
        let mut held = [0; 2];
        for sample in 0..400 {
            let values: Vec<f64> = (0..40).map(|_| random.unit().powi(2)).collect();
            for (held, kind) in held.iter_mut().zip([IntervalKind::Percentile, IntervalKind::Bca]) {
                let options = IntervalOptions { kind, level: 0.9, replicates: 400, seed: sample };
                let ours = interval(&values, None, &options);
                *held += usize::from(ours.low <= 1.0 / 3.0 && 1.0 / 3.0 <= ours.high);
            }
        }
        // 360 expected, standard error 6; the bootstrap of 40 lists falls a little short.
        assert!(held.iter().all(|held| (330..=382).contains(held)), "{held:?}");
    }

    #[test]
    fn the_interval_does_not_depend_on_threads() {
        let values = skewed(301);
        let weights: Vec<f32> = (0..301).map(|i| 1.0 + (i % 5) as f32).collect();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| run(IntervalKind::Bca, &values, Some(&weights), 1000))
        };
        assert_eq!(on(1), on(4));
        let other = interval(&values, None, &IntervalOptions { seed: 2, ..Default::default() });
        assert_ne!(other, interval(&values, None, &IntervalOptions::default()));
    }

    proptest! {
        #[test]
        fn ends_are_ordered_and_inside_the_values(
            values in prop::collection::vec(-1.0..1.0f64, 1..40),
            seed: u64,
        ) {
            for kind in [IntervalKind::Percentile, IntervalKind::Bca] {
                let ours = interval(&values, None, &IntervalOptions { kind, seed, level: 0.9, replicates: 50 });
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                prop_assert!(least - 1e-12 <= ours.low && ours.low <= ours.high && ours.high <= most + 1e-12);
            }
        }
    }
}
