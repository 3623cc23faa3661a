/*!
DeLong's variance of AUROC and of the difference of two AUROCs on the same rows.

```text
V_i = (weight of other rows below row i + ½ of those tied) / N⁻          for a relevant row i
V_j = (weight of relevant rows above row j + ½ of those tied) / N⁺       for another row j
u_i = w_i (V_i − AUROC) / N⁺ · √(m/(m − 1))      m relevant rows, N⁺ the sum of their weights; others alike
var(AUROC) = Σ u²,      var(AUROC_b − AUROC_a) = Σ (u_b − u_a)²
```

Without weights this is S₁₀/m + S₀₁/n of the paper, its covariance terms included. The mean over labels sums the u of a row
over its labels before the square, because labels share their rows.

One sweep over the sorted rows: O(n log n), as the mid-ranks of Sun and Xu, instead of O(m n) pairs.

Sources: DeLong, DeLong, Clarke-Pearson, Biometrics 44, 1988; Sun, Xu, "Fast implementation of DeLong's algorithm for
comparing the areas under correlated receiver operating characteristic curves", IEEE Signal Processing Letters 21(11), 2014.
*/

use statrs::distribution::{ContinuousCDF, Normal};
use toprank_core::{List, Lists, Policy, Relevant, Ties, ordered_sum};

use super::RowIntervals;
use super::sample::{Order, Rule, Sample};
use crate::bootstrap::{Interval, IntervalKind, IntervalOptions, Spread, Unit, bare};
use crate::evaluate::EvaluateError;
use crate::measure::Measure;
use crate::rank::NotANumber;
use crate::significance::Outcome;

/// An AUROC, or the difference of two, with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delong {
    /// AUROC, or second − first.
    pub value: f64,
    /// Standard error.
    pub standard_error: f64,
}

impl Delong {
    /// The normal interval, cut off at 0 and 1 (−1 and 1 for a difference) by the caller if wanted.
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let z = Normal::standard().inverse_cdf(f64::midpoint(1.0, level));
        (self.value - z * self.standard_error, self.value + z * self.standard_error)
    }

    /// Two-sided p of the value being 0; `None` without a variance.
    pub fn p(&self) -> Option<f64> {
        let z = self.value / self.standard_error;
        z.is_finite().then(|| (2.0 * Normal::standard().cdf(-z.abs())).min(1.0))
    }
}

/// AUROC of one list with DeLong's standard error; `None` unless each class has two rows. A tie counts ½.
///
/// # Errors
/// If a score is not a number.
///
/// ```
/// use toprank_core::{List, Policy};
/// let list = List::new(&[0.9, 0.8, 0.7, 0.6], &[1.0, 0.0, 1.0, 0.0]);
/// let found = toprank_metrics::rows::delong(&list, &Policy::default()).unwrap().unwrap();
/// // V of the relevant rows: 1, 1/2; of the others: 1/2, 1. Each class has the variance 1/8, divided by its 2 rows.
/// assert_eq!(found.value, 3.0 / 4.0);
/// assert!((found.standard_error - (0.125_f64 / 2.0 + 0.125 / 2.0).sqrt()).abs() < 1e-15);
/// ```
pub fn delong(list: &List, policy: &Policy) -> Result<Option<Delong>, NotANumber> {
    Ok(influence(&Order::of(list, Ties::Averaged, policy.scores)?, policy.relevant).map(Influence::alone))
}

/// Difference of the AUROCs of two runs on the same rows, second − first; `list` holds the first run's scores.
///
/// # Errors
/// If a score is not a number.
///
/// # Panics
/// If there is not one score per item.
///
/// ```
/// use toprank_core::{List, Policy};
/// let list = List::new(&[0.9, 0.8, 0.7, 0.6], &[1.0, 0.0, 1.0, 0.0]);
/// let policy = Policy::default();
/// let found = toprank_metrics::rows::delong_difference(&list, &[0.9, 0.1, 0.8, 0.2], &policy).unwrap().unwrap();
/// assert_eq!(found.value, 1.0 - 3.0 / 4.0);
/// ```
pub fn delong_difference(list: &List, second: &[f64], policy: &Policy) -> Result<Option<Delong>, NotANumber> {
    assert_eq!(second.len(), list.len(), "one score per item");
    let of = |list: &List| Ok(influence(&Order::of(list, Ties::Averaged, policy.scores)?, policy.relevant));
    let found = difference(&[of(list)?], &[of(&List { scores: second, ..*list })?]);
    Ok(found.into_iter().flatten().next().map(Influence::alone))
}

/// Whether DeLong's variance is that of the measure: AUROC in which a tie counts ½.
pub(super) fn applies(measure: &Measure) -> bool {
    measure.entry().name == "auroc" && measure.policy().ties == Ties::Averaged
}

/// AUROC of a list, and how much each of its items moves it.
#[derive(Clone, Debug)]
pub(super) struct Influence {
    pub value: f64,
    /// u of each item; 0 for one that is not judged.
    pub of_item: Vec<f64>,
}

impl Influence {
    pub fn alone(self) -> Delong {
        let squares: Vec<f64> = self.of_item.iter().map(|u| u * u).collect();
        Delong { value: self.value, standard_error: ordered_sum(&squares).sqrt() }
    }
}

/// Influences of the items of a list; `None` unless each class has two items of positive weight.
pub(super) fn influence(order: &Order, relevant: Relevant) -> Option<Influence> {
    let weight = |place: usize| order.weights.get(place).map_or(1.0, |&w| f64::from(w));
    let mut total = [0.0; 2];
    let mut count = [0usize; 2];
    for (place, &label) in order.labels.iter().enumerate() {
        if !label.is_nan() && weight(place) > 0.0 {
            let class = usize::from(relevant.is(label));
            total[class] += weight(place);
            count[class] += 1;
        }
    }
    if count[0] < 2 || count[1] < 2 {
        return None;
    }
    let mut v = vec![f64::NAN; order.labels.len()];
    let (mut above, mut start) = ([0.0; 2], 0);
    let mut won = 0.0;
    while start < v.len() {
        let end = (start + 1..v.len()).find(|&place| order.starts[place]).unwrap_or(v.len());
        let mut tied = [0.0; 2];
        for place in start..end {
            if !order.labels[place].is_nan() {
                tied[usize::from(relevant.is(order.labels[place]))] += weight(place);
            }
        }
        for (v, &label) in v[start..end].iter_mut().zip(&order.labels[start..end]) {
            if !label.is_nan() {
                *v = match relevant.is(label) {
                    true => (total[0] - above[0] - tied[0] / 2.0) / total[0],
                    false => (above[1] + tied[1] / 2.0) / total[1],
                };
            }
        }
        won += tied[1] * (total[0] - above[0] - tied[0] / 2.0);
        above = [above[0] + tied[0], above[1] + tied[1]];
        start = end;
    }
    let value = (won / (total[0] * total[1])).clamp(0.0, 1.0);
    let spread = count.map(|count| (count as f64 / (count as f64 - 1.0)).sqrt());
    let mut of_item = vec![0.0; v.len()];
    for (place, &v) in v.iter().enumerate().filter(|(_, v)| !v.is_nan()) {
        let class = usize::from(relevant.is(order.labels[place]));
        of_item[order.items[place] as usize] = weight(place) * (v - value) / total[class] * spread[class];
    }
    Some(Influence { value, of_item })
}

/// The influences of every list of a run; `None` for a list without two items of each class.
pub(super) fn influences(sample: &Sample, run: usize, measure: &Measure) -> Vec<Option<Influence>> {
    let rule = sample.rules().iter().position(|rule| *rule == Rule::of(measure)).unwrap_or(0);
    let of_list = |q: usize| influence(sample.order(run, rule, q), measure.policy().relevant);
    (0..sample.lists.len()).map(of_list).collect()
}

/// Whether every list that has a value has influences, too: otherwise the variance of the mean would lack a part.
pub(super) fn complete(influences: &[Option<Influence>], per_list: &[f64]) -> bool {
    influences.iter().zip(per_list).all(|(found, value)| found.is_some() || value.is_nan())
}

/// The mean over lists of influences (of one run, or of the difference of two) with its standard error: a row's influences
/// on several lists are summed before they are squared. `None` if no list has any.
pub(super) fn mean(sample: &Sample, influences: &[Option<Influence>]) -> Option<Delong> {
    let lists = sample.lists;
    let weight = |q: usize| lists.list_weights.as_ref().map_or(1.0, |weights| f64::from(weights[q]));
    let used = || influences.iter().enumerate().filter_map(|(q, found)| Some((q, found.as_ref()?)));
    let total: f64 = used().map(|(q, _)| weight(q)).sum();
    if total <= 0.0 {
        return None;
    }
    let mut of_row = vec![0.0; sample.rows];
    for (q, found) in used() {
        for (entry, u) in lists.range(q).zip(&found.of_item) {
            of_row[lists.row(entry)] += weight(q) / total * u;
        }
    }
    let value = used().map(|(q, found)| weight(q) / total * found.value).sum();
    Some(Influence { value, of_item: of_row }.alone())
}

/// The difference second − first list by list; `None` where one is missing.
pub(super) fn difference(
    first: &[Option<Influence>],
    second: &[Option<Influence>],
) -> Vec<Option<Influence>> {
    let one = |(a, b): (&Option<Influence>, &Option<Influence>)| {
        let (a, b) = (a.as_ref()?, b.as_ref()?);
        let of_item = b.of_item.iter().zip(&a.of_item).map(|(b, a)| b - a).collect();
        Some(Influence { value: b.value - a.value, of_item })
    };
    first.iter().zip(second).map(one).collect()
}

/// An estimate with DeLong's error as a spread, cut off at the ends of `range`.
pub(super) fn spread(found: Delong, range: (f64, f64), options: &IntervalOptions) -> Spread {
    let like = bare(&IntervalOptions { kind: IntervalKind::Delong, ..*options }, Unit::Rows, true);
    let like = Interval { replicates: 0, ..like };
    Spread::Normal { value: found.value, error: found.standard_error, range, like }
}

/// DeLong's test of a difference.
pub(super) fn test(found: Option<Delong>, rows: usize) -> Outcome {
    match found.map(|found| (found, found.p())) {
        None => Outcome::undefined(rows, "fewer than two rows of a class"),
        Some((found, None)) if found.value == 0.0 => Outcome::new(0.0, 1.0, rows, "no difference"),
        Some((_, None)) => Outcome::undefined(rows, "no variance"),
        Some((found, Some(p))) => Outcome::new(found.value / found.standard_error, p, rows, "DeLong"),
    }
}

/// DeLong's intervals of AUROC, of each list and of the mean; `None` if a list with a value has too few rows of a class.
pub(super) fn intervals(
    lists: &Lists,
    scores: &[f64],
    measure: &Measure,
    per_list: &[f64],
    options: &IntervalOptions,
) -> Result<Option<RowIntervals>, EvaluateError> {
    let sample = Sample::new(lists, &[scores], std::slice::from_ref(measure))?;
    let found = influences(&sample, 0, measure);
    if !complete(&found, per_list) {
        return Ok(None);
    }
    let shown = |found: Delong| spread(found, (0.0, 1.0), options).interval(options.usable_level());
    let per_list = found.iter().map(|found| found.clone().map(|found| shown(found.alone()))).collect();
    Ok(Some(RowIntervals { mean: mean(&sample, &found).map(shown), per_list }))
}
