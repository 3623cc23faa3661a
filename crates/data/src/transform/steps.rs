//! Fitted steps and how they change a data set in place.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use toprank_core::ParamError;

use super::config::PerList;
use crate::dataset::{Column, Dataset, Matrix, Sparse};

/// Most values of sparse data made dense: 4 GiB.
pub const MOST_DENSE: usize = 1 << 30;

/// A fitted step: one number per feature where the training data decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// sign(x) ln(1 + |x|).
    Log1p,
    /// (x − shift) · factor: standardise, min–max and robust scaling.
    Affine {
        /// Subtracted.
        shift: Vec<f64>,
        /// Multiplied with.
        factor: Vec<f64>,
    },
    /// x / √(1 + (x / bound)²).
    SmoothClip {
        /// Limit of large values.
        bound: f64,
    },
    /// x within [low, high].
    Clip {
        /// Lower ends.
        low: Vec<f32>,
        /// Upper ends.
        high: Vec<f32>,
    },
    /// Within each list.
    PerList {
        /// How.
        kind: PerList,
    },
    /// What a missing value becomes.
    Missing {
        /// One value per feature; `None`: it stays missing.
        fill: Option<Vec<f32>>,
        /// Features that get a column of 0 and 1, in the order of these columns.
        indicators: Vec<u32>,
    },
}

impl Step {
    pub(super) fn apply(&self, data: &mut Dataset) -> Result<(), ParamError> {
        self.check(data.features.width())?;
        let categories = categories(&data.columns);
        if let Step::PerList { kind } = self {
            return per_list(data, *kind, &categories);
        }
        add_indicators(data, self.indicators());
        self.map(data, &categories)
    }

    /// That its fitted numbers are those of `width` features.
    pub(super) fn check(&self, width: usize) -> Result<(), ParamError> {
        let counts = match self {
            Step::Log1p | Step::SmoothClip { .. } | Step::PerList { .. } => [width; 2],
            Step::Affine { shift, factor } => [shift.len(), factor.len()],
            Step::Clip { low, high } => [low.len(), high.len()],
            Step::Missing { fill, indicators } => {
                let beyond = indicators.iter().find(|&&feature| feature as usize >= width);
                [fill.as_ref().map_or(width, Vec::len), beyond.map_or(width, |&feature| feature as usize + 1)]
            }
        };
        match counts.into_iter().find(|&found| found != width) {
            None => Ok(()),
            Some(found) => Err(ParamError::new(
                "the fitted numbers of a transform",
                &found.to_string(),
                &format!("{width}, one per feature"),
            )),
        }
    }

    /// Features that get a column of 0 and 1, behind those there are.
    pub(super) fn indicators(&self) -> &[u32] {
        match self {
            Step::Missing { indicators, .. } => indicators,
            _ => &[],
        }
    }

    /// Its name, for messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Step::Log1p => "log1p",
            Step::Affine { .. } => "standardise, minmax or robust",
            Step::SmoothClip { .. } => "smooth-clip",
            Step::Clip { .. } => "clip",
            Step::PerList { .. } => "per-list",
            Step::Missing { .. } => "missing",
        }
    }

    /// Replaces values, each given with its feature: what a step does to one value stands here and nowhere else.
    pub(super) fn each<'a>(&self, categories: &[bool], values: impl Iterator<Item = (usize, &'a mut f32)>) {
        let plain = values.filter(|(feature, _)| !categories.get(*feature).is_some_and(|is| *is));
        match self {
            Step::Log1p => {
                plain.for_each(|(_, x)| *x = f32::copysign(libm::log1p(f64::from(x.abs())) as f32, *x));
            }
            Step::Affine { shift, factor } => {
                plain.for_each(|(feature, x)| {
                    *x = ((f64::from(*x) - shift[feature]) * factor[feature]) as f32;
                });
            }
            // Divided by x², so that an infinite value becomes the bound and not infinity over infinity.
            Step::SmoothClip { bound } => plain.for_each(|(_, x)| {
                let size = f64::from(*x);
                *x = f32::copysign((1.0 / (1.0 / (size * size) + 1.0 / (bound * bound)).sqrt()) as f32, *x);
            }),
            // Not `clamp`: NaN stays NaN either way, but fitted bounds may be out of order, and clamp would panic.
            Step::Clip { low, high } => plain.for_each(|(feature, x)| {
                let y = if *x < low[feature] { low[feature] } else { *x };
                *x = if y > high[feature] { high[feature] } else { y };
            }),
            // Categories have a code for missing: none. Columns behind the fitted ones are indicators, never missing.
            Step::Missing { fill: Some(fill), .. } => {
                plain.filter(|(_, x)| x.is_nan()).for_each(|(feature, x)| {
                    *x = fill.get(feature).copied().unwrap_or(*x);
                });
            }
            Step::Missing { fill: None, .. } | Step::PerList { .. } => {}
        }
    }

    /// Replaces every value; sparse data become dense if some feature's zero does not stay 0.
    fn map(&self, data: &mut Dataset, categories: &[bool]) -> Result<(), ParamError> {
        if let Matrix::Sparse(sparse) = &mut data.features {
            let mut zeros = vec![0.0; sparse.width];
            self.each(categories, zeros.iter_mut().enumerate());
            if zeros.iter().all(|zero| *zero == 0.0) {
                const BLOCK: usize = 1 << 14;
                let blocks = sparse.values.par_chunks_mut(BLOCK).zip(sparse.indices.par_chunks(BLOCK));
                blocks.for_each(|(values, features)| {
                    self.each(categories, features.iter().map(|&feature| feature as usize).zip(values));
                });
                return Ok(());
            }
        }
        let (width, values) = dense(data, self.name())?;
        if width > 0 {
            values.par_chunks_mut(width).for_each(|row| self.each(categories, row.iter_mut().enumerate()));
        }
        Ok(())
    }
}

/// Which features hold categories.
pub(super) fn categories(columns: &[Column]) -> Vec<bool> {
    columns.iter().map(|column| column.levels.is_some()).collect()
}

/// 1 if the feature is missing in this row.
pub(super) fn indicator(row: &[f32], feature: u32) -> f32 {
    f32::from(u8::from(row[feature as usize].is_nan()))
}

/// The features as dense rows.
fn dense<'a>(data: &'a mut Dataset, step: &str) -> Result<(usize, &'a mut Vec<f32>), ParamError> {
    let rows = data.rows();
    if let Matrix::Sparse(sparse) = &data.features {
        let width = sparse.width;
        let Some(size) = rows.checked_mul(width).filter(|size| *size <= MOST_DENSE) else {
            let expected = format!(
                "sparse data of at most {MOST_DENSE} values in rows × features, as its result is dense \
                 (standardise:centre=no, log1p and missing keep data sparse)"
            );
            return Err(ParamError::new(
                &format!("the input of {step}"),
                &format!("{rows} × {width}"),
                &expected,
            ));
        };
        let mut values = vec![0.0; size];
        if width > 0 {
            values.par_chunks_mut(width).enumerate().for_each(|(row, out)| data.features.row_into(row, out));
        }
        data.features = Matrix::Dense { width, values };
    }
    match &mut data.features {
        Matrix::Dense { width, values } => Ok((*width, values)),
        Matrix::Sparse(_) => unreachable!("made dense above"),
    }
}

fn per_list(data: &mut Dataset, kind: PerList, categories: &[bool]) -> Result<(), ParamError> {
    let plain = |feature: usize| !categories.get(feature).is_some_and(|is| *is);
    if data.lists.rows.is_some() {
        let expected = "data whose lists have rows of their own, as a shared row has no list";
        return Err(ParamError::new("the input of per-list", "lists that share rows", expected));
    }
    let offsets = std::mem::take(&mut data.lists.offsets);
    let done = dense(data, "per-list").map(|(width, values)| {
        let mut lists = Vec::with_capacity(offsets.len());
        let mut rest = values.as_mut_slice();
        for ends in offsets.windows(2) {
            let (list, after) = std::mem::take(&mut rest).split_at_mut((ends[1] - ends[0]) as usize * width);
            lists.push(list);
            rest = after;
        }
        lists.into_par_iter().for_each(|list| {
            (0..width)
                .filter(|&feature| plain(feature))
                .for_each(|feature| within(list, width, feature, kind));
        });
    });
    data.lists.offsets = offsets;
    done
}

/// Normalises one feature of one list; where all finite values are equal they become 0.
fn within(list: &mut [f32], width: usize, feature: usize, kind: PerList) {
    let finite = || list.iter().skip(feature).step_by(width).filter(|x| x.is_finite()).map(|&x| f64::from(x));
    let (min, max) =
        finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), x| (min.min(x), max.max(x)));
    let (shift, spread) = match kind {
        _ if min >= max => (min, 1.0),
        PerList::Minmax => (min, max - min),
        PerList::Zscore => {
            let n = finite().count() as f64;
            let mean = finite().sum::<f64>() / n;
            (mean, (finite().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt())
        }
    };
    if min <= max {
        for x in list.iter_mut().skip(feature).step_by(width) {
            *x = ((f64::from(*x) - shift) / spread) as f32;
        }
    }
}

/// Adds a column of 0 and 1 for each of these features: 1 where it is missing.
fn add_indicators(data: &mut Dataset, of: &[u32]) {
    if of.is_empty() {
        return;
    }
    let old = data.features.width();
    for &feature in of {
        let name =
            data.columns.get(feature as usize).map_or_else(|| (feature + 1).to_string(), |c| c.name.clone());
        data.columns.push(Column { name: format!("{name} missing"), levels: None });
    }
    match &mut data.features {
        Matrix::Dense { width, values } => {
            let mut wider = Vec::with_capacity(values.len() / old * (old + of.len()));
            for row in values.chunks_exact(old) {
                wider.extend_from_slice(row);
                wider.extend(of.iter().map(|&feature| indicator(row, feature)));
            }
            (*width, *values) = (old + of.len(), wider);
        }
        Matrix::Sparse(sparse) => {
            let mut wider = Sparse { width: old + of.len(), offsets: vec![0], ..Sparse::default() };
            for ends in sparse.offsets.windows(2) {
                let row = ends[0] as usize..ends[1] as usize;
                wider.indices.extend_from_slice(&sparse.indices[row.clone()]);
                wider.values.extend_from_slice(&sparse.values[row.clone()]);
                let missing = row.filter(|&i| sparse.values[i].is_nan()).map(|i| sparse.indices[i]);
                // Both ascend: indices of a row by promise, `of` by the way it was fitted.
                for place in missing.filter_map(|feature| of.binary_search(&feature).ok()) {
                    wider.indices.push((old + place) as u32);
                    wider.values.push(1.0);
                }
                wider.offsets.push(wider.indices.len() as u64);
            }
            *sparse = wider;
        }
    }
}
