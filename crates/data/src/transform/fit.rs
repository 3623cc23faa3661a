//! Fits transforms to training data.

use super::config::{Clip, Fill, StepConfig};
use super::steps::Step;
use crate::dataset::{Dataset, Matrix};

/// The step that `config` asks for, fitted to `train`.
pub(super) fn fit(train: &Dataset, config: &StepConfig) -> Step {
    match *config {
        StepConfig::Log1p => Step::Log1p,
        StepConfig::PerList(kind) => Step::PerList { kind },
        StepConfig::Standardise { centre } => affine(train, |column| {
            let mean = column.mean();
            (if centre { mean } else { 0.0 }, column.deviation(mean))
        }),
        StepConfig::MinMax => affine(train, |column| {
            let (min, max) = column.range();
            (min, max - min)
        }),
        StepConfig::Robust => affine(train, |column| {
            column.sort();
            let [low, median, high] = [0.25, 0.5, 0.75].map(|q| column.quantile(q));
            let (min, max) = column.range();
            // Where at least half of the values are equal, the others say how wide the feature is.
            (median, if high > low { high - low } else { (max - min) / 2.0 })
        }),
        StepConfig::SmoothClip { bound } => Step::SmoothClip { bound },
        StepConfig::Clip(clip) => {
            let ends = columns(train, |column| match clip {
                Clip::Bounds { min, max } => (min, max),
                Clip::Quantiles { low, high } => {
                    column.sort();
                    (column.quantile(low) as f32, column.quantile(high) as f32)
                }
            });
            // A feature without values, and a category, may be anything.
            let ends = ends.into_iter().map(|end| end.unwrap_or((f32::MIN, f32::MAX)));
            let (low, high) = ends.unzip();
            Step::Clip { low, high }
        }
        StepConfig::Missing { to, indicator } => {
            let fill = columns(train, |column| match to {
                Fill::Keep | Fill::Zero => 0.0,
                Fill::Mean => column.mean() as f32,
                Fill::Median => {
                    column.sort();
                    column.quantile(0.5) as f32
                }
            });
            let fill = fill.into_iter().map(Option::unwrap_or_default).collect();
            let indicators = if indicator { missing_somewhere(train) } else { Vec::new() };
            Step::Missing { fill: (to != Fill::Keep).then_some(fill), indicators }
        }
    }
}

fn affine(train: &Dataset, of: impl Fn(&mut Values) -> (f64, f64)) -> Step {
    let usable = |width: f64| width > 0.0 && width.is_finite() && (1.0 / width).is_finite();
    let fitted = columns(train, |column| match of(column) {
        (shift, width) if usable(width) => (shift, 1.0 / width),
        (shift, _) => (shift, 1.0),
    });
    let (shift, factor) = fitted.into_iter().map(|fitted| fitted.unwrap_or((0.0, 1.0))).unzip();
    Step::Affine { shift, factor }
}

/// The finite values of one feature.
struct Values {
    stated: Vec<f32>,
    /// Zeros that sparse rows do not state.
    zeros: usize,
}

/// `of` each feature; `None` for categories and for features without a finite value.
fn columns<T>(train: &Dataset, of: impl Fn(&mut Values) -> T) -> Vec<Option<T>> {
    let width = train.features.width();
    let rows = train.rows();
    let mut column = Values { stated: Vec::new(), zeros: 0 };
    let finish = |feature: usize, column: &mut Values| {
        let category = train.columns.get(feature).is_some_and(|column| column.levels.is_some());
        (!category && column.len() > 0).then(|| of(column))
    };
    match &train.features {
        Matrix::Dense { values, .. } => (0..width)
            .map(|feature| {
                column.stated.clear();
                let of_feature = values.iter().skip(feature).step_by(width).copied();
                column.stated.extend(of_feature.filter(|value| value.is_finite()));
                finish(feature, &mut column)
            })
            .collect(),
        Matrix::Sparse(sparse) => {
            // Stored values by feature: count, place, fill.
            let mut starts = vec![0usize; width + 1];
            sparse.indices.iter().for_each(|&feature| starts[feature as usize + 1] += 1);
            (0..width).for_each(|feature| starts[feature + 1] += starts[feature]);
            let mut next = starts.clone();
            let mut by_feature = vec![0.0; sparse.values.len()];
            for (&feature, &value) in sparse.indices.iter().zip(&sparse.values) {
                by_feature[next[feature as usize]] = value;
                next[feature as usize] += 1;
            }
            (0..width)
                .map(|feature| {
                    let stored = &by_feature[starts[feature]..starts[feature + 1]];
                    column.stated.clear();
                    column.stated.extend(stored.iter().copied().filter(|value| value.is_finite()));
                    column.zeros = rows - stored.len();
                    finish(feature, &mut column)
                })
                .collect()
        }
    }
}

impl Values {
    fn len(&self) -> usize {
        self.stated.len() + self.zeros
    }

    fn mean(&self) -> f64 {
        self.stated.iter().map(|&x| f64::from(x)).sum::<f64>() / self.len() as f64
    }

    /// Root mean square distance from `mean`; 0 for a constant feature, whatever the rounding of the mean.
    fn deviation(&self, mean: f64) -> f64 {
        let (min, max) = self.range();
        if min == max {
            return 0.0;
        }
        let stated: f64 = self.stated.iter().map(|&x| (f64::from(x) - mean) * (f64::from(x) - mean)).sum();
        ((stated + self.zeros as f64 * mean * mean) / self.len() as f64).sqrt()
    }

    fn range(&self) -> (f64, f64) {
        let unstated = (self.zeros > 0).then_some(0.0);
        let all = || self.stated.iter().copied().chain(unstated);
        (f64::from(all().fold(f32::INFINITY, f32::min)), f64::from(all().fold(f32::NEG_INFINITY, f32::max)))
    }

    fn sort(&mut self) {
        self.stated.sort_unstable_by(f32::total_cmp);
    }

    /// Quantile `q` of the sorted values: between the two nearest ranks of (n − 1)·q, linearly.
    fn quantile(&self, q: f64) -> f64 {
        let negative = self.stated.partition_point(|&x| x < 0.0);
        let at = |rank: usize| match rank {
            _ if rank < negative => f64::from(self.stated[rank]),
            _ if rank < negative + self.zeros => 0.0,
            _ => f64::from(self.stated[rank - self.zeros]),
        };
        let place = (self.len() - 1) as f64 * q;
        let below = place.floor() as usize;
        let above = (below + 1).min(self.len() - 1);
        at(below) + (place - below as f64) * (at(above) - at(below))
    }
}

/// Numbers of the features that miss in some row.
fn missing_somewhere(train: &Dataset) -> Vec<u32> {
    let mut missing = vec![false; train.features.width()];
    match &train.features {
        Matrix::Dense { width, values } if *width > 0 => {
            for row in values.chunks_exact(*width) {
                missing.iter_mut().zip(row).for_each(|(missing, value)| *missing |= value.is_nan());
            }
        }
        Matrix::Dense { .. } => {}
        Matrix::Sparse(sparse) => {
            let nan = sparse.indices.iter().zip(&sparse.values).filter(|(_, value)| value.is_nan());
            nan.for_each(|(&feature, _)| missing[feature as usize] = true);
        }
    }
    (0..).zip(missing).filter(|(_, missing)| *missing).map(|(feature, _)| feature).collect()
}
