#![doc = include_str!("../pages/slim.md")]

use rayon::prelude::*;
use toprank_core::{Choices, ModelError, Param, ParamError, Spec, Stream};

use super::knn::Neighbours;
use super::{ByItem, FitState, ItemModel, ItemParameters, sparse, squared_lengths};

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "l1",
        default: "0.1",
        range: "0 or above",
        about: "penalty on the weights: more of them are 0",
    },
    Param { name: "l2", default: "10", range: "0 or above", about: "penalty on the squares of the weights" },
    Param {
        name: "neighbours",
        default: "200",
        range: "an integer from 1 to 1000000",
        about: "most similar items, by cosine, that an item may be predicted from",
    },
    Param {
        name: "sweeps",
        default: "20",
        range: "an integer from 1 to 10000",
        about: "maximum number of sweeps of coordinate descent over the weights of an item",
    },
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn ItemModel>, ParamError> {
    Ok(Box::new(Slim {
        l1: spec.args.not_negative("l1", 0.1)?,
        l2: spec.args.not_negative("l2", 10.0)?,
        neighbours: spec.args.count("neighbours", 200, 1_000_000)?,
        sweeps: spec.args.count("sweeps", 20, 10_000)?,
    }))
}

/// SLIM; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct Slim {
    l1: f64,
    l2: f64,
    neighbours: usize,
    sweeps: usize,
}

/// The largest change of a weight at which descent stops.
const CONVERGED: f64 = 1e-4;

impl Slim {
    /// The weights with which `item` is predicted from `candidates`. `residual`: all 0, and again afterwards.
    fn of_item(
        self,
        item: usize,
        candidates: &[(u32, f32)],
        by_item: &ByItem,
        squares: &[f64],
        residual: &mut [f64],
    ) -> Vec<(u32, f64)> {
        by_item.of_item(item).for_each(|(user, x)| residual[user] = f64::from(x));
        let mut weights: Vec<(u32, f64)> = candidates.iter().map(|(other, _)| (*other, 0.0)).collect();
        for _ in 0..self.sweeps {
            let mut change = 0.0f64;
            for (other, weight) in &mut weights {
                let other = *other as usize;
                let inner: f64 = by_item.of_item(other).map(|(user, x)| f64::from(x) * residual[user]).sum();
                let wanted = (inner + *weight * squares[other] - self.l1).max(0.0);
                let next = if wanted > 0.0 { wanted / (squares[other] + self.l2) } else { 0.0 };
                let step = next - *weight;
                if step != 0.0 {
                    by_item.of_item(other).for_each(|(user, x)| residual[user] -= step * f64::from(x));
                    *weight = next;
                    change = change.max(step.abs());
                }
            }
            if change < CONVERGED {
                break;
            }
        }
        by_item.of_item(item).for_each(|(user, _)| residual[user] = 0.0);
        for (other, _) in &weights {
            by_item.of_item(*other as usize).for_each(|(user, _)| residual[user] = 0.0);
        }
        weights.retain(|(_, weight)| *weight > 0.0);
        weights
    }
}

impl ItemModel for Slim {
    fn bytes(&self, users: usize, items: usize) -> u64 {
        let kept = items.saturating_mul(self.neighbours.min(items)) as u64;
        kept.saturating_mul(24).saturating_add(8 * users as u64)
    }

    fn seconds(&self, choices: &Choices) -> f64 {
        // Popular items are neighbours more often than others.
        let swept = 3.0 * self.neighbours as f64 * choices.pairs() as f64;
        5e-9 * squared_lengths(choices) + 1e-9 * swept * self.sweeps as f64
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
        let (n, by_item) = (choices.item_count, ByItem::of(choices));
        let candidates = Neighbours { neighbours: self.neighbours, shrink: 0.0 }.of_all(choices, &by_item);
        let square = |(_, x): (usize, f32)| f64::from(x) * f64::from(x);
        let squares: Vec<f64> = (0..n).map(|i| by_item.of_item(i).map(square).sum()).collect();
        // Column by column: the weights with which an item is predicted.
        let columns: Vec<Vec<(u32, f64)>> = candidates
            .par_iter()
            .enumerate()
            .with_min_len(4)
            .map_init(
                || vec![0.0; choices.len()],
                |residual, (item, candidates)| self.of_item(item, candidates, &by_item, &squares, residual),
            )
            .collect();
        let mut rows: Vec<Vec<(u32, f32)>> = vec![Vec::new(); n];
        for (item, column) in columns.into_iter().enumerate() {
            for (other, weight) in column {
                rows[other as usize].push((item as u32, weight as f32));
            }
        }
        *parameters = sparse::packed("slim", rows)?;
        Ok(None)
    }

    fn check(&self, items: usize, parameters: &ItemParameters) -> Result<(), ModelError> {
        sparse::check("slim", items, &parameters.numbers, &parameters.values)
    }

    fn scores(&self, parameters: &ItemParameters, histories: &Choices, users: &[u32], scores: &mut [f32]) {
        for (&user, scores) in users.iter().zip(scores.chunks_exact_mut(histories.item_count)) {
            sparse::scores(&parameters.numbers, &parameters.values, histories, user as usize, scores);
        }
    }
}
