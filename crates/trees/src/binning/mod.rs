//! Features as bins: which values belong together, and all rows as small integers.

mod binned;
mod bundles;
mod cuts;

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use toprank_core::collective::{Alone, Collective};
use toprank_core::{Features, ModelError, Stream};

use crate::tree::category_of;

pub use binned::Binned;
pub(crate) use binned::{MOST_ROWS, TILE};
pub(crate) use bundles::Slot;

/// How bins are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BinSettings {
    /// Maximum number of bins of a feature, 2 to 255; missing values have one more.
    pub max_bins: usize,
    /// Minimum rows per bin.
    pub min_rows: u32,
    /// Rows from which the cuts are made; of more rows this number is drawn.
    pub sample: usize,
    /// Seed of the draw.
    pub seed: u64,
    /// Whether mutually exclusive features share a column. Trees are the same; sparse data take less time and memory.
    pub bundles: bool,
}

impl Default for BinSettings {
    /// 255 bins of at least 3 rows, made from 200 000 rows, bundled.
    fn default() -> BinSettings {
        BinSettings { max_bins: MOST_BINS, min_rows: 3, sample: 200_000, seed: 0, bundles: true }
    }
}

/// Bins of values; one more code is for missing values.
const MOST_BINS: usize = 255;
/// Values of the sample held at once (by groups of features), so that memory is bounded for wide data.
const VALUES_AT_ONCE: usize = 1 << 26;
/// Rows fetched at once.
const BLOCK: usize = 1024;

/// The bins of one feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FeatureBins {
    /// Bin b holds the values above cut b − 1 up to cut b.
    Numeric {
        /// Ascending.
        cuts: Vec<f32>,
    },
    /// Bin b holds category b of these; all others count as missing.
    Categorical {
        /// The most frequent ones, ascending.
        categories: Vec<u32>,
    },
}

impl FeatureBins {
    /// Number of bins without the one of missing values.
    pub fn count(&self) -> usize {
        match self {
            FeatureBins::Numeric { cuts } => cuts.len() + 1,
            FeatureBins::Categorical { categories } => categories.len(),
        }
    }

    /// The code of missing values: the one behind all bins.
    pub fn missing(&self) -> u8 {
        self.count() as u8
    }

    /// The bin of a value. Reference implementation; [`Bins::apply`] computes the same numbers faster.
    pub fn bin(&self, value: f32) -> u8 {
        match self {
            FeatureBins::Numeric { .. } if value.is_nan() => self.missing(),
            FeatureBins::Numeric { cuts } => cuts.partition_point(|&cut| cut < value) as u8,
            FeatureBins::Categorical { categories } => category_of(value)
                .and_then(|category| categories.binary_search(&category).ok())
                .map_or(self.missing(), |bin| bin as u8),
        }
    }
}

/// The bins of all features, fitted to training data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bins {
    features: Vec<FeatureBins>,
    /// Whether a value of the feature was missing where the bins were made.
    missing: Vec<bool>,
    /// The bin of 0 (or of the most frequent category), and the fraction of rows in other bins, where the bins were made.
    common: Vec<(u8, f64)>,
}

impl Bins {
    /// Bins for rows like these. `categorical` says which features hold categories (integers from 0 on); empty: none.
    ///
    /// Source of the rule: LightGBM's `GreedyFindBin`. Cost: O(r log r) per feature for r rows of the sample.
    pub fn fit(
        features: &dyn Features,
        categorical: &[bool],
        settings: &BinSettings,
    ) -> Result<Bins, ModelError> {
        Bins::fit_among(&Alone, features, categorical, settings)
    }

    /// The same as one of several workers, who have the rows worker after worker: the bins are those of one worker with all rows. No
    /// features share a column then (`settings.bundles`), which changes no tree.
    ///
    /// Cost: every worker holds the sample, [`BinSettings::sample`] rows at most.
    ///
    /// # Errors
    /// As for [`Bins::fit`], or if a worker has ended.
    pub fn fit_among(
        workers: &dyn Collective,
        features: &dyn Features,
        categorical: &[bool],
        settings: &BinSettings,
    ) -> Result<Bins, ModelError> {
        let width = features.width();
        if !(2..=MOST_BINS).contains(&settings.max_bins) {
            return Err(ModelError::new(format!("{} bins", settings.max_bins), "2 to 255 bins of a feature"));
        }
        if settings.sample == 0 {
            return Err(ModelError::new("a sample of no rows", "at least one row to make bins from"));
        }
        if !categorical.is_empty() && categorical.len() != width {
            let what = format!("{} categorical flags", categorical.len());
            return Err(ModelError::new(what, format!("none, or one for each of {width} features")));
        }
        let counts = workers.gather(&(features.rows() as u64).to_le_bytes())?;
        let counts = counts.iter().filter_map(|bytes| Some(u64::from_le_bytes(*bytes.first_chunk::<8>()?)));
        let counts: Vec<usize> = counts.map(|count| count as usize).collect();
        let first: usize = counts[..workers.rank()].iter().sum();
        let own = first..first + features.rows();
        let sampled = sample(counts.iter().sum(), settings);
        let rows: Vec<u32> =
            sampled.iter().filter(|row| own.contains(row)).map(|row| (row - first) as u32).collect();
        let bundles = settings.bundles && workers.size() == 1;
        let at_once = (VALUES_AT_ONCE / sampled.len().max(1)).clamp(1, width.max(1));
        let mut bins = Bins { features: Vec::new(), missing: Vec::new(), common: Vec::new() };
        for first in (0..width).step_by(at_once) {
            let mut columns = gather_columns(features, &rows, first..width.min(first + at_once));
            if workers.size() > 1 {
                columns = of_all(workers, &columns)?;
            }
            let found: Vec<(FeatureBins, bool, (u8, f64))> = columns
                .into_par_iter()
                .enumerate()
                .map_init(SortScratch::default, |scratch, (f, column)| {
                    let (bins, missing, common) = match categorical.get(first + f) {
                        Some(true) => categories(&column, settings.max_bins),
                        _ => numbers(&column, settings, scratch),
                    };
                    (bins, missing, if bundles { common } else { (0, 1.0) })
                })
                .collect();
            for (feature, missing, common) in found {
                bins.features.push(feature);
                bins.missing.push(missing);
                bins.common.push(common);
            }
        }
        fault(features)?;
        Ok(bins)
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        self.features.len()
    }

    /// The bins of a feature.
    ///
    /// # Panics
    /// If there is no such feature.
    pub fn of(&self, feature: usize) -> &FeatureBins {
        &self.features[feature]
    }

    /// True if the feature can split rows: it has at least two bins, or one bin and missing values, where the bins were made.
    fn tells_rows_apart(&self, feature: usize) -> bool {
        self.features[feature].count() + usize::from(self.missing[feature]) > 1
    }

    /// All rows as bins.
    pub fn apply(&self, features: &dyn Features) -> Result<Binned, ModelError> {
        Binned::new(self, features)
    }
}

/// Rows of a block that is copied out of the features: at most `most`, fewer where rows are so wide (sparse data have up to a
/// million features) that their dense copy would take more than 16 MiB.
pub(crate) fn rows_at_once(width: usize, most: usize) -> usize {
    ((1 << 22) / width.max(1)).clamp(1, most)
}

/// An unreadable part of a file is an error, not a set of missing values.
fn fault(features: &dyn Features) -> Result<(), ModelError> {
    features.fault().map_or(Ok(()), |fault| Err(ModelError::new(fault, "rows that can be read")))
}

/// Rows to make bins from, ascending: all, or `settings.sample` of them, one from each of as many even stretches.
fn sample(rows: usize, settings: &BinSettings) -> Vec<usize> {
    let wanted = settings.sample;
    if rows <= wanted {
        return (0..rows).collect();
    }
    let mut random = Stream::new(settings.seed, "rows to make bins from").open();
    let start = |i: usize| (i as u128 * rows as u128 / wanted as u128) as usize;
    (0..wanted).map(|i| start(i) + random.below(start(i + 1) - start(i))).collect()
}

/// The columns of all workers, each below those of the worker before it.
fn of_all(workers: &dyn Collective, own: &[Vec<f32>]) -> Result<Vec<Vec<f32>>, ModelError> {
    let own_bytes: Vec<u8> = own.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    let mut columns = vec![Vec::new(); own.len()];
    for bytes in workers.gather(&own_bytes)? {
        let values = bytes.as_chunks::<4>().0;
        let rows = values.len() / own.len().max(1);
        for (column, values) in columns.iter_mut().zip(values.chunks_exact(rows.max(1))) {
            column.extend(values.iter().map(|bytes| f32::from_le_bytes(*bytes)));
        }
    }
    Ok(columns)
}

/// Some columns of some rows.
fn gather_columns(features: &dyn Features, rows: &[u32], wanted: Range<usize>) -> Vec<Vec<f32>> {
    let width = wanted.len();
    let mut columns: Vec<Vec<f32>> = wanted.clone().map(|_| vec![0.0; rows.len()]).collect();
    let at_once = rows_at_once(width, BLOCK);
    let mut block = vec![0.0; at_once * width];
    for (b, rows) in rows.chunks(at_once).enumerate() {
        let block = &mut block[..rows.len() * width];
        features.gather_part(rows, wanted.clone(), block);
        // Some columns at once: a line of the cache holds values of neighbouring features.
        columns.par_chunks_mut(TOGETHER).enumerate().for_each(|(group, columns)| {
            let first = group * TOGETHER;
            for (r, row) in block.chunks_exact(width).enumerate() {
                for (column, value) in columns.iter_mut().zip(&row[first..]) {
                    column[b * at_once + r] = *value;
                }
            }
        });
    }
    columns
}

/// Columns that are taken out of a block together.
const TOGETHER: usize = 16;

/// Scratch memory in which the values of a column are sorted and counted.
#[derive(Default)]
struct SortScratch {
    keys: Vec<u32>,
    other: Vec<u32>,
    counted: Vec<(f32, u32)>,
}

/// Bins of a column, whether a value of it is missing, and its bin of 0 with the fraction of rows in other bins.
type Fitted = (FeatureBins, bool, (u8, f64));

fn numbers(column: &[f32], settings: &BinSettings, scratch: &mut SortScratch) -> Fitted {
    let SortScratch { keys, other, counted } = scratch;
    keys.clear();
    keys.extend(column.iter().filter(|value| !value.is_nan()).map(|&value| cuts::key(value)));
    cuts::sort(keys, other);
    cuts::count(keys, counted);
    let bins = FeatureBins::Numeric { cuts: cuts::cuts(counted, settings.max_bins, settings.min_rows) };
    let FeatureBins::Numeric { cuts } = &bins else { unreachable!("made just above") };
    let common = bins.bin(0.0);
    // Keys are sorted, so those of a bin stand together.
    let up_to = |cut: f32| keys.partition_point(|&key| key <= cuts::key(cut));
    let end = cuts.get(usize::from(common)).map_or(keys.len(), |&cut| up_to(cut));
    let here = end - common.checked_sub(1).map_or(0, |below| up_to(cuts[usize::from(below)]));
    let away = fraction(column.len() - here, column.len());
    // A feature without any value cannot split rows.
    let missing = !keys.is_empty() && keys.len() < column.len();
    (bins, missing, (common, away))
}

fn fraction(some: usize, all: usize) -> f64 {
    some as f64 / all.max(1) as f64
}

fn categories(column: &[f32], most: usize) -> Fitted {
    let mut seen: Vec<u32> = column.iter().copied().filter_map(category_of).collect();
    seen.sort_unstable();
    let mut counts: Vec<(usize, u32)> = seen.chunk_by(|a, b| a == b).map(|run| (run.len(), run[0])).collect();
    counts.sort_by_key(|&(rows, category)| (std::cmp::Reverse(rows), category));
    let left_out = counts.len() > most || seen.len() < column.len();
    counts.truncate(most);
    let mut categories: Vec<u32> = counts.into_iter().map(|(_, category)| category).collect();
    categories.sort_unstable();
    let bins = FeatureBins::Categorical { categories };
    let common = bins.bin(0.0);
    let away = column.iter().filter(|&&value| bins.bin(value) != common).count();
    (bins, left_out, (common, fraction(away, column.len())))
}

#[cfg(test)]
mod tests;
