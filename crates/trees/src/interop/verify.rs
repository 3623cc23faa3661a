//! Does a written model give our scores? Its bytes are evaluated as their tools do, on rows made to show differences.

use rayon::prelude::*;
use toprank_core::{Features, ModelError};
use toprank_data::Matrix;

use super::shape::{categorical, folded, names};
use super::{Export, Format, Missing, write};
use crate::ensemble::Ensemble;

/// How well a written model agrees with ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Parity {
    /// Rows compared. All of them came to the same leaf of every tree.
    pub rows: usize,
    /// Largest difference of a score.
    pub difference: f64,
    /// Largest |score|.
    pub largest: f64,
}

/// Where scores that were served differ most from ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Replayed {
    /// Scores compared.
    pub rows: usize,
    /// Largest difference.
    pub difference: f64,
    /// Largest |score| of ours.
    pub largest: f64,
    /// The score that differs most, from 0.
    pub worst: usize,
    /// Scores that differ by more than the tolerance times the largest.
    pub beyond: usize,
}

impl Replayed {
    /// Compares served scores with ours, one by one; `tolerance` is relative to the largest of ours.
    ///
    /// ```
    /// use toprank_trees::interop::Replayed;
    /// let found = Replayed::compare(&[1.0, 4.0], &[1.0, 4.5], 1e-3);
    /// assert_eq!((found.difference, found.worst, found.beyond), (0.5, 1, 1));
    /// ```
    pub fn compare(ours: &[f64], served: &[f64], tolerance: f64) -> Replayed {
        let largest = ours.iter().fold(0.0f64, |most, score| most.max(score.abs()));
        let differs = |(ours, served): (&f64, &f64)| match (ours - served).abs() {
            difference if difference.is_nan() => f64::INFINITY,
            difference => difference,
        };
        let differences: Vec<f64> = ours.iter().zip(served).map(differs).collect();
        let mut worst = 0;
        for (row, difference) in differences.iter().enumerate() {
            if *difference > differences[worst] {
                worst = row;
            }
        }
        Replayed {
            rows: differences.len(),
            difference: differences.get(worst).copied().unwrap_or(0.0),
            largest,
            worst,
            beyond: differences
                .iter()
                .filter(|difference| **difference > tolerance * largest.max(1e-300))
                .count(),
        }
    }
}

impl Parity {
    /// `difference / largest`; 0 if they are the same.
    pub fn relative(&self) -> f64 {
        if self.difference == 0.0 { 0.0 } else { self.difference / self.largest }
    }
}

/// Largest relative difference of scores where leaves are rounded to `f32`.
pub const TOLERANCE: f64 = 1e-6;

/// Rows as the tools of a format see them: values that a tool treats as another value are set to that.
///
/// ```
/// use toprank_data::Matrix;
/// use toprank_trees::{Ensemble, interop};
/// let rows = Matrix::Dense { width: 1, values: vec![1e-40, 2.0] };
/// let (model, format) = (Ensemble::new(1, 1), interop::by_name("lightgbm").unwrap());
/// let seen = interop::verify::seen(&model, format, &interop::Export::default(), &rows);
/// assert_eq!(seen, Matrix::Dense { width: 1, values: vec![0.0, 2.0] });
/// ```
pub fn seen(ensemble: &Ensemble, format: &Format, export: &Export, rows: &dyn Features) -> Matrix {
    let categorical = categorical(ensemble);
    let width = rows.width();
    let mut values = vec![0.0; rows.rows() * width];
    rows.gather(&(0..rows.rows() as u32).collect::<Vec<_>>(), &mut values);
    for row in values.chunks_exact_mut(width.max(1)) {
        for (value, &categorical) in row.iter_mut().zip(&categorical) {
            *value = (format.sees)(*value, categorical);
            if value.is_nan() && export.missing == Missing::AsZero {
                *value = 0.0;
            }
        }
    }
    Matrix::Dense { width, values }
}

/// Writes the model and compares the scores of the bytes with those of the model on these rows (see [`seen`]): the same leaf
/// of every tree, and scores within [`TOLERANCE`] of the largest.
pub fn verify(
    ensemble: &Ensemble,
    format: &Format,
    export: &Export,
    rows: &dyn Features,
) -> Result<(Vec<u8>, Parity), ModelError> {
    let bytes = write(ensemble, format, export)?;
    let parity = compare(ensemble, format, export, rows, &bytes)?;
    Ok((bytes, parity))
}

/// Compares bytes written before with the model.
pub fn compare(
    ensemble: &Ensemble,
    format: &Format,
    export: &Export,
    rows: &dyn Features,
    bytes: &[u8],
) -> Result<Parity, ModelError> {
    if rows.width() != ensemble.width {
        let what = format!("rows of {} features", rows.width());
        return Err(ModelError::new(what, format!("{} features", ensemble.width)));
    }
    let named = names(ensemble, export.names);
    let play = (format.play)(bytes, &named)
        .map_err(|error| ModelError::new(error.to_string(), "bytes that can be read"))?;
    let Matrix::Dense { values, .. } = seen(ensemble, format, export, rows) else { unreachable!() };
    let trees = folded(ensemble);
    let compare_row = |(r, row): (usize, &[f32])| -> Result<(f64, f64), ModelError> {
        let played = play(row);
        if played.len() != trees.len() {
            let what = format!("{} trees in the file", played.len());
            return Err(ModelError::new(what, format!("{}", trees.len())));
        }
        for (t, (&found, tree)) in played.iter().zip(&trees).enumerate() {
            let value = tree.value(row);
            let expected = if format.single { f64::from(value as f32) } else { value };
            if found != expected {
                return Err(ModelError::new(
                    format!("probe row {}: tree {} of the written model gives {found}", r + 1, t + 1),
                    format!("{expected}"),
                ));
            }
        }
        let mut scores = vec![0.0; ensemble.outputs];
        ensemble.score_row(row, &mut scores);
        let (mut difference, mut largest) = (0.0f64, 0.0f64);
        for (output, score) in scores.iter().enumerate() {
            let written: f64 = played.iter().skip(output).step_by(ensemble.outputs).sum();
            difference = difference.max((written - score).abs());
            largest = largest.max(score.abs());
        }
        Ok((difference, largest))
    };
    let (difference, largest) = values
        .par_chunks_exact(ensemble.width.max(1))
        .enumerate()
        .map(compare_row)
        .try_reduce(|| (0.0, 0.0), |a, b| Ok((a.0.max(b.0), a.1.max(b.1))))?;
    let parity = Parity { rows: rows.rows(), difference, largest };
    if parity.relative() > TOLERANCE {
        return Err(ModelError::new(
            format!("scores differ by {difference:e}, the largest is {largest:e}"),
            format!("at most {TOLERANCE:e} of the largest; the leaves cancel too much for f32"),
        ));
    }
    Ok(parity)
}
