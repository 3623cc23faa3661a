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
    /// (x − shift) · factor: standardise and min–max.
    Affine {
        /// Subtracted.
        shift: Vec<f64>,
        /// Multiplied with.
        factor: Vec<f64>,
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
        let category: Vec<bool> = data.columns.iter().map(|column| column.levels.is_some()).collect();
        let plain = |feature: usize| !category.get(feature).is_some_and(|is| *is);
        let unless_category = |feature, x, y| if plain(feature) { y } else { x };
        let width = data.features.width();
        let fitted = |found: usize| {
            let expected = format!("{width}, one per feature");
            let wrong = ParamError::new("the fitted numbers of a transform", &found.to_string(), &expected);
            if found == width { Ok(()) } else { Err(wrong) }
        };
        match self {
            Step::Log1p => {
                let signed = |x: f32| f32::copysign(libm::log1p(f64::from(x.abs())) as f32, x);
                map(data, "log1p", |feature, x| unless_category(feature, x, signed(x)))
            }
            Step::Affine { shift, factor } => {
                fitted(shift.len()).and(fitted(factor.len()))?;
                map(data, "standardise or minmax", |feature, x| {
                    let y = (f64::from(x) - shift[feature]) * factor[feature];
                    unless_category(feature, x, y as f32)
                })
            }
            Step::Clip { low, high } => {
                fitted(low.len()).and(fitted(high.len()))?;
                map(data, "clip", |feature, x| {
                    let y = if x < low[feature] { low[feature] } else { x };
                    unless_category(feature, x, if y > high[feature] { high[feature] } else { y })
                })
            }
            Step::PerList { kind } => per_list(data, *kind, plain),
            Step::Missing { fill, indicators } => {
                if indicators.iter().any(|&feature| feature as usize >= width) {
                    return fitted(0);
                }
                add_indicators(data, indicators);
                let Some(fill) = fill else { return Ok(()) };
                fitted(fill.len())?;
                // Zero is never missing, so this keeps sparse data sparse; categories have a code for missing: none.
                let filled = |feature: usize, x: f32| match fill.get(feature) {
                    Some(&value) if x.is_nan() && plain(feature) => value,
                    _ => x,
                };
                map(data, "missing", filled)
            }
        }
    }
}

/// Replaces every value; sparse data become dense if some feature's zero does not stay 0.
fn map(data: &mut Dataset, step: &str, of: impl Fn(usize, f32) -> f32 + Sync) -> Result<(), ParamError> {
    if let Matrix::Sparse(sparse) = &mut data.features
        && (0..sparse.width).all(|feature| of(feature, 0.0) == 0.0)
    {
        let pairs = sparse.values.par_iter_mut().zip(&sparse.indices);
        pairs.for_each(|(value, &feature)| *value = of(feature as usize, *value));
        return Ok(());
    }
    let (width, values) = dense(data, step)?;
    if width > 0 {
        values.par_chunks_mut(width).for_each(|row| {
            row.iter_mut().enumerate().for_each(|(feature, value)| *value = of(feature, *value));
        });
    }
    Ok(())
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

fn per_list(
    data: &mut Dataset,
    kind: PerList,
    plain: impl Fn(usize) -> bool + Sync,
) -> Result<(), ParamError> {
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
    let flag = |row: &[f32], feature: u32| f32::from(u8::from(row[feature as usize].is_nan()));
    match &mut data.features {
        Matrix::Dense { width, values } => {
            let mut wider = Vec::with_capacity(values.len() / old * (old + of.len()));
            for row in values.chunks_exact(old) {
                wider.extend_from_slice(row);
                wider.extend(of.iter().map(|&feature| flag(row, feature)));
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
