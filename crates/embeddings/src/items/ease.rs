#![doc = include_str!("../pages/ease.md")]

use rayon::prelude::*;
use toprank_core::{Choices, ModelError, Param, ParamError, Spec, Stream, vectorised};

use super::inverse::{BLOCK, negative_inverse};
use super::{ByItem, FitState, ItemModel, ItemParameters, squared_lengths, valued};

pub(crate) const PARAMS: &[Param] = &[
    Param { name: "lambda", default: "200", range: "above 0", about: "strength of the ridge penalty" },
    Param {
        name: "dropout",
        default: "0",
        range: "[0, 1)",
        about: "as if interactions were left out at random with this probability (EDLAE)",
    },
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn ItemModel>, ParamError> {
    let lambda = spec.args.positive("lambda", 200.0)?;
    Ok(Box::new(Ease { lambda, dropout: spec.args.dropout("dropout", 0.0)? }))
}

/// EASE; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct Ease {
    lambda: f64,
    dropout: f64,
}

/// Items whose rows of XᵀX one task sums.
const ROWS: usize = 16;
/// Side of the tiles in which the matrix is mirrored.
const TILE: usize = 32;

impl Ease {
    /// The lower triangle of XᵀX with what the penalty adds to its diagonal.
    fn gram(self, choices: &Choices) -> Vec<f32> {
        let n = choices.item_count;
        let (mut gram, by_item) = (vec![0.0f32; n * n], ByItem::of(choices));
        gram.par_chunks_mut(ROWS * n).enumerate().for_each(|(task, rows)| {
            for (row, i) in rows.chunks_exact_mut(n).zip(task * ROWS..) {
                for (user, x) in by_item.of_item(i) {
                    let until = choices.of(user).partition_point(|&item| item as usize <= i);
                    for (&item, y) in choices.of(user)[..until].iter().zip(valued(choices, user)) {
                        row[item as usize] += x * y;
                    }
                }
                let own = f64::from(row[i]);
                row[i] = (own + self.lambda + own * self.dropout / (1.0 - self.dropout)) as f32;
            }
        });
        gram
    }
}

impl ItemModel for Ease {
    fn bytes(&self, _: usize, items: usize) -> u64 {
        let (n, panels) = (items as u64, 2 * BLOCK as u64);
        4 * n * (n + panels)
    }

    fn seconds(&self, choices: &Choices) -> f64 {
        5e-11 * (choices.item_count as f64).powi(3) + 1e-9 * squared_lengths(choices)
    }

    fn start(&self, _: &Choices, _: Stream) -> ItemParameters {
        ItemParameters::default()
    }

    fn fit(
        &self,
        choices: &Choices,
        parameters: &mut ItemParameters,
        _: &mut FitState,
    ) -> Result<Option<f64>, ModelError> {
        let n = choices.item_count;
        // Only one matrix at a time.
        parameters.values = Vec::new().into();
        let mut a = self.gram(choices);
        if !negative_inverse(&mut a, n) {
            return Err(ModelError::new(
                "ease: XᵀX + λI is not positive definite in single precision",
                "a larger lambda, or values of interactions that are neither huge nor missing",
            ));
        }
        // The least loss of item j, with the penalty, is 1/P_jj less what the penalty added to the diagonal.
        let diagonal: Vec<f32> = (0..n).map(|j| a[j * n + j]).collect();
        let added: f64 = match self.dropout {
            0.0 => n as f64 * self.lambda,
            p => {
                let squares: f64 = (0..choices.len())
                    .flat_map(|u| valued(choices, u))
                    .map(|x| f64::from(x) * f64::from(x))
                    .sum();
                n as f64 * self.lambda + squares * p / (1.0 - p)
            }
        };
        let loss = diagonal.iter().map(|d| -1.0 / f64::from(*d)).sum::<f64>() - added;
        mirror(&mut a, n);
        let factors: Vec<f32> = diagonal.iter().map(|d| -1.0 / d).collect();
        a.par_chunks_mut(ROWS * n).enumerate().for_each(|(task, rows)| {
            for (row, i) in rows.chunks_exact_mut(n).zip(task * ROWS..) {
                row.iter_mut().zip(&factors).for_each(|(b, factor)| *b *= factor);
                row[i] = 0.0;
            }
        });
        parameters.values = a.into();
        Ok(Some(loss / choices.len().max(1) as f64))
    }

    fn check(&self, items: usize, parameters: &ItemParameters) -> Result<(), ModelError> {
        let (found, expected) = (parameters.values.len(), items.saturating_mul(items));
        match found == expected && parameters.numbers.is_empty() {
            true => Ok(()),
            false => {
                Err(ModelError::new(format!("{found} weights of ease"), format!("{expected}, items squared")))
            }
        }
    }

    fn scores(&self, parameters: &ItemParameters, histories: &Choices, users: &[u32], scores: &mut [f32]) {
        let n = histories.item_count;
        for (&user, scores) in users.iter().zip(scores.chunks_exact_mut(n)) {
            scores.fill(0.0);
            let history = histories.of(user as usize).iter().zip(valued(histories, user as usize));
            history.for_each(|(&item, x)| add(x, &parameters.values[item as usize * n..][..n], scores));
        }
    }
}

vectorised! {
    /// `to += factor · row`.
    fn add(factor: f32, row: &[f32], to: &mut [f32]) {
        to.iter_mut().zip(row).for_each(|(to, value)| *to += factor * value);
    }
}

/// Copies what is below the diagonal to what is above it, tile by tile.
fn mirror(a: &mut [f32], n: usize) {
    for first in (0..n).step_by(TILE) {
        for left in (0..=first).step_by(TILE) {
            for i in first..n.min(first + TILE) {
                for j in left..i.min(left + TILE) {
                    a[j * n + i] = a[i * n + j];
                }
            }
        }
    }
}
