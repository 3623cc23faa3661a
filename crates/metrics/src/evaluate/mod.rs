//! Many lists, many measures: each list is put in order once per rule of order, lists are spread over the threads.

use rayon::prelude::*;
use toprank_core::{Lists, ListsError, Ragged, ScoreBits, Ties, ordered_sum};

use crate::bootstrap::{Interval, IntervalOptions, intervals};
use crate::measure::Measure;
use crate::metric::{Average, Better, Labels};
use crate::rank::Work;

/// Values of several measures on the same lists.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// One per measure, in the order asked.
    pub results: Vec<MeasureResult>,
}

/// Values of one measure.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureResult {
    /// Name of the measure.
    pub name: String,
    /// Mean over the lists used, weighted by list weights; `None` if no list is used or all weigh nothing.
    pub mean: Option<f64>,
    /// One value per list; NaN where the list is excluded from the mean.
    pub per_list: Vec<f64>,
    /// How many lists went which way.
    pub counts: Counts,
    /// What became of item weights.
    pub item_weights: ItemWeights,
    /// Which way is better.
    pub better: Better,
    /// How the values of lists become the mean.
    pub average: Average,
}

impl MeasureResult {
    /// The result of a measure from its values per list (NaN: excluded) and, perhaps, weights of the lists.
    pub fn new(
        measure: &Measure,
        per_list: Vec<f64>,
        counts: Counts,
        item_weights: ItemWeights,
        list_weights: Option<&[f32]>,
    ) -> MeasureResult {
        let metric = measure.metric();
        let (name, better, average) = (measure.name().to_string(), metric.better(), metric.average());
        let mut result = MeasureResult { name, mean: None, per_list, counts, item_weights, better, average };
        result.mean = result.mean_of(list_weights);
        result
    }

    /// The mean of `per_list` under these list weights, as `mean` is; for callers that put results together.
    pub fn mean_of(&self, weights: Option<&[f32]>) -> Option<f64> {
        weighted_mean(&self.entered(), weights).map(|mean| self.average.leave(mean))
    }

    /// The values of lists as they enter an arithmetic mean.
    fn entered(&self) -> Vec<f64> {
        self.per_list.iter().map(|&value| self.average.enter(value)).collect()
    }
}

/// Bootstrap intervals over lists of every measure; `None` where fewer than two lists have a value: one list cannot say how
/// much lists vary.
///
/// ```
/// use toprank_core::{Lists, Policy};
/// use toprank_metrics::{Measure, evaluate, intervals_over_lists};
/// let lists = Lists::from_lengths(&[2, 2, 2], vec![1.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
/// let measures = Measure::parse_all("mrr,gm-map", &Policy::default()).unwrap();
/// let found = evaluate(&lists, &[0.2, 0.1, 0.2, 0.1, 0.2, 0.1], &measures).unwrap();
/// let ends = intervals_over_lists(&found.results, None, &Default::default());
/// assert!(ends[1].unwrap().low >= 0.5 && ends[1].unwrap().high <= 1.0);
/// ```
pub fn intervals_over_lists(
    results: &[MeasureResult],
    weights: Option<&[f32]>,
    options: &IntervalOptions,
) -> Vec<Option<Interval>> {
    let values: Vec<Vec<f64>> = results.iter().map(MeasureResult::entered).collect();
    let views: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
    let shown = |(result, interval): (&MeasureResult, Interval)| {
        let [low, high] = [interval.low, interval.high].map(|end| result.average.leave(end));
        (result.counts.used > 1).then_some(Interval { low, high, ..interval })
    };
    results.iter().zip(intervals(&views, weights, options)).map(shown).collect()
}

/// How many lists went which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lists in all.
    pub lists: usize,
    /// Lists in the mean.
    pub used: usize,
    /// Lists on which the measure is undefined (excluded from the mean, or counted 0 or 1 as the policy says).
    pub empty: usize,
}

/// What became of item weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemWeights {
    /// The data has none.
    Absent,
    /// They entered the value.
    Used,
    /// The measure has no definition with item weights.
    Ignored,
}

/// Data that cannot be evaluated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EvaluateError {
    /// A score that is not a number.
    #[error("the score of item {item} of list {list} (entry {entry}) is NaN; expected a number")]
    Score {
        /// Number of the list, from 0.
        list: usize,
        /// Place of the item in its list, from 0.
        item: usize,
        /// Place of the item in all lists together, from 0.
        entry: usize,
    },
    /// A label on which a measure is not defined.
    #[error("the label {found} of list {list} is invalid for {measure}; expected {expected}")]
    Label {
        /// The measure.
        measure: String,
        /// The label.
        found: f32,
        /// Number of the list, from 0.
        list: usize,
        /// Place of the item in all lists together; `None`: it is a judged item that was not retrieved.
        entry: Option<usize>,
        /// What the measure accepts.
        expected: &'static str,
    },
    /// Another number of scores than of entries.
    #[error("{found} scores were given for {expected} items; expected one score per item")]
    Scores {
        /// Number of scores.
        found: usize,
        /// Number of entries.
        expected: usize,
    },
    /// Lists that break their promises.
    #[error(transparent)]
    Lists(#[from] ListsError),
}

/// A block of lists is one task: large enough to hide the cost of a task, the same for any number of threads.
const BLOCK_ENTRIES: usize = 1 << 14;
const BLOCK_LISTS: usize = 1 << 12;

/// Evaluates `scores` (one per entry) by every measure.
///
/// The result does not depend on the number of threads, to the bit: each value comes from one list, and the means
/// are ordered sums. Cost: O(n log n) per list and distinct (ties, scores) rule, plus what each metric's page says.
///
/// ```
/// use toprank_core::{Lists, Policy};
/// use toprank_metrics::{Measure, evaluate};
/// let lists = Lists::from_lengths(&[2, 2], vec![1.0, 0.0, 0.0, 0.0]);
/// let measures = Measure::parse_all("mrr, mrr:empty=zero", &Policy::default()).unwrap();
/// let evaluation = evaluate(&lists, &[0.1, 0.2, 0.3, 0.4], &measures).unwrap();
/// assert_eq!(evaluation.results[0].mean, Some(1.0 / 2.0)); // the second list has no relevant item
/// assert_eq!(evaluation.results[1].mean, Some((1.0 / 2.0 + 0.0) / 2.0));
/// ```
pub fn evaluate(lists: &Lists, scores: &[f64], measures: &[Measure]) -> Result<Evaluation, EvaluateError> {
    lists.check()?;
    if scores.len() != lists.entries() {
        return Err(EvaluateError::Scores { found: scores.len(), expected: lists.entries() });
    }
    check_labels(lists, measures)?;
    let orders = orders(measures);
    let width = measures.len();
    let mut values = vec![None; lists.len() * width];
    let mut blocks = Vec::new();
    let mut rest = values.as_mut_slice();
    for block in cut_blocks(lists) {
        let (head, tail) = rest.split_at_mut(block.len() * width);
        blocks.push((block, head));
        rest = tail;
    }
    let done: Vec<Result<(), EvaluateError>> = blocks
        .into_par_iter()
        .map_init(Work::default, |work, (block, values)| {
            for (q, row) in block.zip(values.chunks_mut(width.max(1))) {
                evaluate_list(lists, scores, q, measures, &orders, work, row)?;
            }
            Ok(())
        })
        .collect();
    done.into_iter().collect::<Result<(), _>>()?;
    let results = measures.iter().enumerate().map(|(m, measure)| {
        let column: Vec<Option<f64>> = values.iter().skip(m).step_by(width).copied().collect();
        summarise(lists, measure, &column)
    });
    Ok(Evaluation { results: results.collect() })
}

/// One way to put a list in order, and the measures that read it.
struct Order {
    ties: Ties,
    bits: ScoreBits,
    /// Places that matter to any of them.
    depth: Option<usize>,
    measures: Vec<usize>,
}

fn orders(measures: &[Measure]) -> Vec<Order> {
    let mut orders: Vec<Order> = Vec::new();
    for (m, measure) in measures.iter().enumerate() {
        let (ties, bits) = (measure.policy().ties, measure.policy().scores);
        let depth = measure.metric().depth();
        match orders.iter_mut().find(|order| order.ties == ties && order.bits == bits) {
            Some(order) => {
                order.depth = order.depth.zip(depth).map(|(a, b)| a.max(b));
                order.measures.push(m);
            }
            None => orders.push(Order { ties, bits, depth, measures: vec![m] }),
        }
    }
    orders
}

fn evaluate_list(
    lists: &Lists,
    scores: &[f64],
    q: usize,
    measures: &[Measure],
    orders: &[Order],
    work: &mut Work,
    row: &mut [Option<f64>],
) -> Result<(), EvaluateError> {
    let list = lists.list(q, scores);
    for order in orders {
        let ranked = work.rank(&list, order.ties, order.bits, order.depth).map_err(|bad| {
            EvaluateError::Score { list: q, item: bad.item, entry: lists.range(q).start + bad.item }
        })?;
        for &m in &order.measures {
            row[m] = measures[m].metric().value(&ranked, measures[m].policy());
        }
    }
    Ok(())
}

/// Ranges of lists of about equal work, cut by the data alone.
fn cut_blocks(lists: &Lists) -> Vec<std::ops::Range<usize>> {
    let mut blocks = Vec::new();
    let mut start = 0;
    for q in 0..lists.len() {
        let entries = lists.range(q).end - lists.range(start).start;
        if entries >= BLOCK_ENTRIES || q + 1 - start >= BLOCK_LISTS {
            blocks.push(start..q + 1);
            start = q + 1;
        }
    }
    if start < lists.len() {
        blocks.push(start..lists.len());
    }
    blocks
}

fn check_labels(lists: &Lists, measures: &[Measure]) -> Result<(), EvaluateError> {
    let missed = lists.missed.as_ref().map_or(&[][..], |missed| &missed.values);
    let mut done: Vec<Labels> = Vec::new();
    for measure in measures {
        let accepted = measure.metric().labels(measure.policy());
        if done.contains(&accepted) {
            continue;
        }
        done.push(accepted);
        let place = |labels: &[f32]| {
            let refused = || labels.iter().position(|&label| !accepted.accept(label));
            if accepted.accept_all(labels) { None } else { refused() }
        };
        let list_of = |offsets: &[u64], i: usize| offsets.partition_point(|&end| end as usize <= i) - 1;
        let refuse = |found: f32, list: usize, entry: Option<usize>| {
            let measure = measure.name().to_string();
            Err(EvaluateError::Label { measure, found, list, entry, expected: accepted.expected })
        };
        if let Some(entry) = place(&lists.labels) {
            return refuse(lists.labels[entry], list_of(&lists.offsets, entry), Some(entry));
        }
        if let (Some(i), Some(Ragged { offsets, .. })) = (place(missed), &lists.missed) {
            return refuse(missed[i], list_of(offsets, i), None);
        }
    }
    Ok(())
}

fn summarise(lists: &Lists, measure: &Measure, values: &[Option<f64>]) -> MeasureResult {
    let empty = values.iter().filter(|value| value.is_none()).count();
    let per_list: Vec<f64> = values.iter().map(|&value| measure.settle(value).unwrap_or(f64::NAN)).collect();
    let used = per_list.iter().filter(|value| !value.is_nan()).count();
    let item_weights = match (&lists.item_weights, measure.metric().takes_item_weights()) {
        (None, _) => ItemWeights::Absent,
        (Some(_), true) => ItemWeights::Used,
        (Some(_), false) => ItemWeights::Ignored,
    };
    let counts = Counts { lists: lists.len(), used, empty };
    MeasureResult::new(measure, per_list, counts, item_weights, lists.list_weights.as_deref())
}

/// Mean of the values that are numbers, each with its weight: a list that is excluded takes its weight with it.
///
/// ```
/// use toprank_metrics::weighted_mean;
/// assert_eq!(weighted_mean(&[1.0, f64::NAN, 0.0], Some(&[3.0, 5.0, 1.0])), Some(3.0 / 4.0));
/// assert_eq!(weighted_mean(&[f64::NAN], None), None);
/// ```
pub fn weighted_mean(values: &[f64], weights: Option<&[f32]>) -> Option<f64> {
    let weight = |q: usize| weights.map_or(1.0, |weights| f64::from(weights[q]));
    let used = || values.iter().enumerate().filter(|(_, value)| !value.is_nan());
    let total = ordered_sum(&used().map(|(q, _)| weight(q)).collect::<Vec<_>>());
    let sum = ordered_sum(&used().map(|(q, value)| weight(q) * value).collect::<Vec<_>>());
    (total > 0.0).then(|| sum / total)
}

/// All lists as one list, for micro means (multi-label data: the items of every label evaluated together).
///
/// A list's weight becomes a factor of its items' weights. Names are known within a list only, so ties by name fall
/// back to the order given.
///
/// ```
/// use toprank_core::{Lists, Policy};
/// use toprank_metrics::{Measure, evaluate, pool};
/// let lists = Lists::from_lengths(&[2, 2], vec![1.0, 0.0, 1.0, 0.0]);
/// let (one, scores) = pool(&lists, &[0.9, 0.8, 0.2, 0.1]);
/// let measures = Measure::parse_all("p@2", &Policy::default()).unwrap();
/// assert_eq!(evaluate(&one, &scores, &measures).unwrap().results[0].mean, Some(1.0 / 2.0));
/// ```
pub fn pool(lists: &Lists, scores: &[f64]) -> (Lists, Vec<f64>) {
    let entries = lists.entries();
    let item_weights = match (&lists.item_weights, &lists.list_weights) {
        (items, None) => items.clone(),
        (items, Some(by_list)) => {
            let weight = |entry: usize| items.as_ref().map_or(1.0, |items| items[entry]);
            let per_entry = |q: usize| lists.range(q).map(move |entry| by_list[q] * weight(entry));
            Some((0..lists.len()).flat_map(per_entry).collect())
        }
    };
    let missed = lists
        .missed
        .as_ref()
        .map(|missed| Ragged { offsets: vec![0, missed.values.len() as u64], values: missed.values.clone() });
    let pooled = Lists {
        offsets: vec![0, entries as u64],
        // Labels share their rows: intervals draw a row for all of them.
        rows: lists.rows.clone(),
        labels: lists.labels.clone(),
        item_weights,
        missed,
        ..Lists::default()
    };
    (pooled, scores.to_vec())
}

#[cfg(test)]
mod tests;
