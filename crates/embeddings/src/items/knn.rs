#![doc = include_str!("../pages/knn.md")]

use rayon::prelude::*;
use toprank_core::{Choices, ModelError, Param, ParamError, Spec, Stream};

use super::{ByItem, FitState, ItemModel, ItemParameters, sparse, squared_lengths, valued};

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "neighbours",
        default: "200",
        range: "an integer from 1 to 1000000",
        about: "how many most similar items are kept of each item",
    },
    Param {
        name: "shrink",
        default: "10",
        range: "0 or above",
        about: "shrinks cosines that rest on few interactions",
    },
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn ItemModel>, ParamError> {
    let neighbours = spec.args.count("neighbours", 200, 1_000_000)?;
    Ok(Box::new(Neighbours { neighbours, shrink: spec.args.not_negative("shrink", 10.0)? }))
}

/// Item-based nearest neighbours; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbours {
    pub neighbours: usize,
    pub shrink: f64,
}

/// Memory of a task: the sum of each item, all 0 between two items, and which of them are not.
struct Sums {
    sums: Vec<f32>,
    touched: Vec<u32>,
}

impl Neighbours {
    /// The most similar items of every item, ascending, with their similarities.
    pub(super) fn of_all(self, choices: &Choices, by_item: &ByItem) -> Vec<Vec<(u32, f32)>> {
        let n = choices.item_count;
        let square = |(_, x): (usize, f32)| f64::from(x) * f64::from(x);
        let norms: Vec<f64> = (0..n).map(|i| by_item.of_item(i).map(square).sum::<f64>().sqrt()).collect();
        let work = || Sums { sums: vec![0.0; n], touched: Vec::new() };
        (0..n)
            .into_par_iter()
            .with_min_len(16)
            .map_init(work, |work, item| self.of_item(item, choices, by_item, &norms, work))
            .collect()
    }

    /// The most similar items of one item, ascending, with their similarities.
    fn of_item(
        self,
        item: usize,
        choices: &Choices,
        by_item: &ByItem,
        norms: &[f64],
        work: &mut Sums,
    ) -> Vec<(u32, f32)> {
        let Sums { sums, touched } = work;
        for (user, x) in by_item.of_item(item) {
            for (&other, y) in choices.of(user).iter().zip(valued(choices, user)) {
                let sum = &mut sums[other as usize];
                if *sum == 0.0 {
                    touched.push(other);
                }
                *sum += x * y;
            }
        }
        touched.sort_unstable();
        // A sum that was 0 in between stands there twice.
        touched.dedup();
        let mut found: Vec<(u32, f32)> = Vec::with_capacity(touched.len());
        for other in touched.drain(..) {
            let sum = std::mem::take(&mut sums[other as usize]);
            let below = norms[item] * norms[other as usize] + self.shrink;
            let similarity = (f64::from(sum) / below) as f32;
            if other as usize != item && similarity > 0.0 {
                found.push((other, similarity));
            }
        }
        sparse::keep_greatest(&mut found, self.neighbours);
        found
    }
}

impl ItemModel for Neighbours {
    fn bytes(&self, _: usize, items: usize) -> u64 {
        // While they are gathered, every number is there twice.
        let kept = items.saturating_mul(self.neighbours.min(items)) as u64;
        kept.saturating_mul(16)
    }

    fn seconds(&self, choices: &Choices) -> f64 {
        5e-9 * squared_lengths(choices)
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
        let all = self.of_all(choices, &ByItem::of(choices));
        *parameters = sparse::packed("knn", all)?;
        Ok(None)
    }

    fn check(&self, items: usize, parameters: &ItemParameters) -> Result<(), ModelError> {
        sparse::check("knn", items, &parameters.numbers, &parameters.values)
    }

    fn scores(&self, parameters: &ItemParameters, histories: &Choices, users: &[u32], scores: &mut [f32]) {
        for (&user, scores) in users.iter().zip(scores.chunks_exact_mut(histories.item_count)) {
            sparse::scores(&parameters.numbers, &parameters.values, histories, user as usize, scores);
        }
    }
}
