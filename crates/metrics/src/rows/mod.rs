/*!
Statistics where rows, not lists, are drawn: binary data are one list, multi-label data one list per label over the same
rows. A single list has no variation between lists, but its rows could have been others.

```text
bootstrap:   rows are drawn with replacement, as many as there are; in binary data relevant and other rows (and those
             that are not judged) separately, so that every resample has both classes (stratified). A row that is drawn
             three times stands three times in the list, with its weight, its score tied with itself.
multi-label: a row is drawn for all its labels at once; the mean over labels is taken in every resample.
DeLong:      AUROC has a variance in closed form; see [`delong()`].
permutation: each row swaps its ranks under the two runs by the toss of a coin.
```

The list is put in order once. A resample only counts how often each row was drawn, and the metric reads the sorted rows
that often: O(rows) per resample and metric instead of O(rows log rows).

BCa intervals (see [`crate::bootstrap`]) correct the bias that resampling has here: copies of a relevant row stand together,
which raises average precision. The acceleration is a sixth of the skewness of the replicates: that is its value for a mean, and
the usual jackknife fails for metrics that jump at a cut-off.

How often 95 % intervals hold the true value is measured by `toprank-bench interval-coverage` (`bench/evaluate`). Of 2,000
samples of 500 rows with 1,000 resamples each, the bootstrap's held AUROC, AUPRC, P@50 and NDCG@50 in 94.1 to 96.3 % with 50
relevant rows or more. With fewer relevant rows intervals are too short: with 20 they held AUROC in 92.5 % (the others in 93.9 %
and more), with 10 in 89.0 % (the others in 91.4 % and more). DeLong's interval is symmetric and therefore shorter near 1: it
held an AUROC of 0.92 in 92.9 % with 50 relevant rows, one of 0.86 in 90.5 % with 20 and in 85.6 % with 10.

Sources: Efron, Tibshirani, "An Introduction to the Bootstrap", 1993, chapters 8 and 14; DeLong, DeLong, Clarke-Pearson,
"Comparing the areas under two or more correlated receiver operating characteristic curves: a nonparametric approach",
Biometrics 44, 1988; Bandos, Rockette, Gur, "A permutation test sensitive to differences in areas for comparing ROC curves
from a paired design", Statistics in Medicine 24, 2005.

Results depend on the data, the seed and the options only: replicates are drawn in fixed blocks, each from its own stream.
*/

mod compare;
mod delong;
mod permutation;
mod sample;
#[cfg(test)]
mod tests;

pub use compare::{ROW_TESTS, RowTest, compare_rows, parse_tests};
pub use delong::{Delong, delong, delong_difference};
pub(crate) use sample::Sample;

use toprank_core::Lists;

use crate::bootstrap::{Interval, IntervalKind, IntervalOptions};
use crate::evaluate::{EvaluateError, Evaluation};
use crate::measure::Measure;

/// Whether rows are what can be drawn: the lists are labels of the same data, and no judged item is missing from them.
///
/// ```
/// use toprank_core::Lists;
/// use toprank_metrics::rows::are_units;
/// assert!(are_units(&Lists::from_lengths(&[3], vec![0.0, 1.0, 0.0])));
/// assert!(!are_units(&Lists::from_lengths(&[2, 1], vec![0.0, 1.0, 0.0])));
/// ```
pub fn are_units(lists: &Lists) -> bool {
    lists.are_labels() && lists.missed.as_ref().is_none_or(|missed| missed.values.is_empty())
}

/// Intervals of one measure.
#[derive(Clone, Debug, PartialEq)]
pub struct RowIntervals {
    /// Of the mean over lists; `None` if it has no value.
    pub mean: Option<Interval>,
    /// Of each list (label); `None` where it has no value.
    pub per_list: Vec<Option<Interval>>,
}

/// Intervals of every measure of `evaluation`, which must be that of these lists and scores.
///
/// The kind of the options decides: `Delong` takes DeLong's interval for AUROC (ties averaged) and BCa for all others.
///
/// Cost: O(replicates × entries × measures), after one sort.
///
/// # Errors
/// As [`crate::evaluate`].
///
/// ```
/// use toprank_core::{Lists, Policy};
/// use toprank_metrics::bootstrap::{IntervalKind, IntervalOptions};
/// use toprank_metrics::{Measure, evaluate, rows};
/// let lists = Lists::from_lengths(&[6], vec![1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
/// let scores = [0.9, 0.1, 0.4, 0.5, 0.8, 0.2];
/// let measures = Measure::parse_all("auroc", &Policy::default()).unwrap();
/// let found = evaluate(&lists, &scores, &measures).unwrap();
/// let options = IntervalOptions { kind: IntervalKind::Delong, ..Default::default() };
/// let interval = rows::intervals(&lists, &scores, &measures, &found, &options).unwrap()[0].mean.unwrap();
/// assert!(interval.low < 8.0 / 9.0 && interval.high == 1.0);
/// assert_eq!(interval.method(), "DeLong");
/// ```
pub fn intervals(
    lists: &Lists,
    scores: &[f64],
    measures: &[Measure],
    evaluation: &Evaluation,
    options: &IntervalOptions,
) -> Result<Vec<RowIntervals>, EvaluateError> {
    let level = options.usable_level();
    let mut found: Vec<Option<RowIntervals>> = vec![None; measures.len()];
    let mut rest = Vec::new();
    for (m, measure) in measures.iter().enumerate() {
        if options.kind == IntervalKind::Delong && delong::applies(measure) {
            found[m] = delong::intervals(lists, scores, measure, &evaluation.results[m].per_list, options)?;
        }
        if found[m].is_none() {
            rest.push(m);
        }
    }
    let others: Vec<Measure> = rest.iter().map(|&m| measures[m].clone()).collect();
    if !others.is_empty() {
        let sample = Sample::new(lists, &[scores], &others)?;
        let drawn = sample.bootstrap(&bca(options), 0);
        for (place, &m) in rest.iter().enumerate() {
            let result = &evaluation.results[m];
            let mean = result.mean.map(|mean| drawn.mean(0, place, mean).interval(level));
            let of_list = |(q, &value): (usize, &f64)| {
                let defined = !value.is_nan();
                // Of one list the mean is the list.
                let alone = lists.len() == 1;
                defined.then(|| match (alone, mean) {
                    (true, Some(mean)) => mean,
                    _ => drawn.list(0, place, q, value).interval(level),
                })
            };
            let per_list = result.per_list.iter().enumerate().map(of_list).collect();
            found[m] = Some(RowIntervals { mean, per_list });
        }
    }
    Ok(found.into_iter().flatten().collect())
}

/// The same options with a kind that resampling has.
pub(crate) fn bca(options: &IntervalOptions) -> IntervalOptions {
    let kind = if options.kind == IntervalKind::Delong { IntervalKind::Bca } else { options.kind };
    IntervalOptions { kind, ..*options }
}
