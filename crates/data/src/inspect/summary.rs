//! Histograms, quantiles and ranges.

use serde::Serialize;
use toprank_core::{Lists, Relevant};

use crate::dataset::Dataset;

/// Labels with at most this many different values are counted one by one; others in as many bins.
const BINS: usize = 20;

/// Counts of values.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Histogram {
    /// True: each bin is one value.
    pub exact: bool,
    /// Ascending.
    pub bins: Vec<Bin>,
}

/// Counts of the values in [from, to]; of bins that touch, a value on the border is in the upper one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// Least value.
    pub from: f32,
    /// Largest value.
    pub to: f32,
    /// How many.
    pub count: u64,
}

impl Histogram {
    /// Counts `values`; NaN is left out.
    ///
    /// ```
    /// let found = toprank_data::inspect::Histogram::of(&[0.0, 2.0, 0.0, f32::NAN]);
    /// assert_eq!(found.bins.iter().map(|bin| (bin.from, bin.count)).collect::<Vec<_>>(), [(0.0, 2), (2.0, 1)]);
    /// ```
    pub fn of(values: &[f32]) -> Histogram {
        let mut bins: Vec<Bin> = Vec::with_capacity(BINS + 1);
        for &value in values.iter().filter(|value| !value.is_nan()) {
            match bins
                .binary_search_by(|bin| bin.from.partial_cmp(&value).unwrap_or(std::cmp::Ordering::Less))
            {
                Ok(at) => bins[at].count += 1,
                Err(_) if bins.len() == BINS => return Histogram::binned(values),
                Err(at) => bins.insert(at, Bin { from: value, to: value, count: 1 }),
            }
        }
        Histogram { exact: true, bins }
    }

    fn binned(values: &[f32]) -> Histogram {
        let finite = || values.iter().map(|&value| f64::from(value)).filter(|value| value.is_finite());
        let low = finite().fold(f64::INFINITY, f64::min);
        let step = (finite().fold(f64::NEG_INFINITY, f64::max) - low) / BINS as f64;
        let edge = |i: usize| (low + step * i as f64) as f32;
        let mut bins: Vec<Bin> =
            (0..BINS).map(|i| Bin { from: edge(i), to: edge(i + 1), count: 0 }).collect();
        for value in values.iter().filter(|value| !value.is_nan()) {
            let bin = ((f64::from(*value) - low) / step).floor();
            bins[bin.clamp(0.0, (BINS - 1) as f64) as usize].count += 1;
        }
        Histogram { exact: false, bins }
    }
}

/// Numbers of items of the lists.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lengths {
    /// Shortest list.
    pub min: u64,
    /// (fraction, length): that fraction of the lists is this long or shorter (nearest rank).
    pub quantiles: Vec<(f64, u64)>,
    /// Mean length.
    pub mean: f64,
    /// Longest list.
    pub max: u64,
    /// (from, to, lists): lengths 0, 1, 2, 3–4, 5–8, 9–16, …
    pub histogram: Vec<(u64, u64, u64)>,
}

impl Lengths {
    /// Lengths of all lists; `None` without lists.
    pub fn of(lists: &Lists) -> Option<Lengths> {
        let mut lengths: Vec<u64> = lists.offsets.windows(2).map(|w| w[1] - w[0]).collect();
        lengths.sort_unstable();
        let (&min, &max) = (lengths.first()?, lengths.last()?);
        let rank = |share: f64| ((share * lengths.len() as f64).ceil() as usize).clamp(1, lengths.len());
        let quantiles = [0.05, 0.25, 0.5, 0.75, 0.95, 0.99].map(|share| (share, lengths[rank(share) - 1]));
        let mut histogram: Vec<(u64, u64, u64)> = Vec::new();
        for &length in &lengths {
            match histogram.last_mut() {
                Some((_, to, count)) if length <= *to => *count += 1,
                _ => {
                    let to = if length == 0 { 0 } else { length.next_power_of_two() };
                    histogram.push((if to > 2 { to / 2 + 1 } else { to }, to, 1));
                }
            }
        }
        let mean = lists.entries() as f64 / lengths.len() as f64;
        Some(Lengths { min, quantiles: quantiles.to_vec(), mean, max, histogram })
    }
}

/// Range and mean of some numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Least.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Largest.
    pub max: f64,
    /// How many are 0.
    pub zeros: u64,
    /// How many there are.
    pub count: u64,
}

impl Summary {
    /// Sums up `numbers`, NaN left out; `None` if nothing is left.
    pub fn of(numbers: impl Iterator<Item = f64>) -> Option<Summary> {
        let start = Summary { min: f64::INFINITY, mean: 0.0, max: f64::NEG_INFINITY, zeros: 0, count: 0 };
        let mut all = numbers.filter(|x| !x.is_nan()).fold(start, |s, x| Summary {
            min: s.min.min(x),
            mean: s.mean + x,
            max: s.max.max(x),
            zeros: s.zeros + u64::from(x == 0.0),
            count: s.count + 1,
        });
        all.mean /= all.count as f64;
        (all.count > 0).then_some(all)
    }
}

/// One label of multi-label data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutputRow {
    /// Its name.
    pub name: String,
    /// Rows that have it.
    pub positive: u64,
    /// Rows that do not.
    pub negative: u64,
    /// Rows of which it is not known.
    pub unjudged: u64,
}

pub(super) fn outputs(data: &Dataset) -> Vec<OutputRow> {
    let Some(output) = &data.lists.output else { return Vec::new() };
    let line = |(q, &output): (usize, &u16)| {
        let labels = &data.lists.labels[data.lists.range(q)];
        let count = |is: fn(f32) -> bool| labels.iter().filter(|&&label| is(label)).count() as u64;
        let name = match &data.output_names {
            Some(names) if (output as usize) < names.len() => names.get(output as usize).into(),
            _ => data.list_name(q),
        };
        let unjudged = count(f32::is_nan) + (data.rows() - labels.len().min(data.rows())) as u64;
        let positive = count(|label| Relevant::default().is(label));
        let negative = count(|label| !label.is_nan() && !Relevant::default().is(label));
        OutputRow { name, positive, negative, unjudged }
    };
    output.iter().enumerate().map(line).collect()
}

/// How entries spread over the rows they share (items of interactions).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Popularity {
    /// Rows that no entry reads.
    pub unused: usize,
    /// Entries that read the most popular row.
    pub most: u64,
    /// Fraction of the entries that read the most popular tenth of the rows.
    pub top_tenth: f64,
    /// Fraction of all list–row pairs that are there.
    pub density: f64,
}

impl Popularity {
    /// Popularity of shared rows; `None` where lists do not share rows, or are labels over all of them.
    pub fn of(data: &Dataset) -> Option<Popularity> {
        let rows = data.lists.rows.as_ref().filter(|_| data.lists.output.is_none())?;
        let mut uses = vec![0u64; data.rows()];
        for &row in rows {
            uses[row as usize] += 1;
        }
        uses.sort_unstable_by(|a, b| b.cmp(a));
        let top: u64 = uses[..uses.len().div_ceil(10)].iter().sum();
        Some(Popularity {
            unused: uses.iter().filter(|&&n| n == 0).count(),
            most: uses.first().copied().unwrap_or(0),
            top_tenth: top as f64 / rows.len().max(1) as f64,
            density: rows.len() as f64 / (uses.len() as f64 * data.lists.len() as f64).max(1.0),
        })
    }
}
