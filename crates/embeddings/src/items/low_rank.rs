#![doc = include_str!("../pages/ease-low-rank.md")]

use rayon::prelude::*;
use toprank_core::matrix::{View, product};
use toprank_core::{Choices, ModelError, Param, ParamError, Spec, Stream};

use super::spectrum::{SparseRows, spectrum};
use super::{ByItem, FitState, ItemModel, ItemParameters, valued};
use crate::dots::dot;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "rank",
        default: "256",
        range: "an integer from 1 to 4096",
        about: "singular vectors that are kept",
    },
    Param { name: "lambda", default: "200", range: "above 0", about: "strength of the ridge penalty" },
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn ItemModel>, ParamError> {
    let rank = spec.args.count("rank", 256, 4096)?;
    Ok(Box::new(LowRank { rank, lambda: spec.args.positive("lambda", 200.0)? }))
}

/// EASE of the greatest singular values; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct LowRank {
    rank: usize,
    lambda: f64,
}

/// The interactions, user by user.
pub(super) struct Users<'a>(pub &'a Choices);

impl SparseRows for Users<'_> {
    fn rows(&self) -> usize {
        self.0.len()
    }

    fn of_row(&self, row: usize, each: &mut dyn FnMut(usize, f32)) {
        for (&item, x) in self.0.of(row).iter().zip(valued(self.0, row)) {
            each(item as usize, x);
        }
    }
}

/// The same item by item.
pub(super) struct Items<'a>(pub &'a ByItem, pub usize);

impl SparseRows for Items<'_> {
    fn rows(&self) -> usize {
        self.1
    }

    fn of_row(&self, row: usize, each: &mut dyn FnMut(usize, f32)) {
        self.0.of_item(row).for_each(|(user, x)| each(user, x));
    }
}

/// The vector of each of some users: the sum of the vectors of their items, each times its value.
pub(super) fn summed(histories: &Choices, users: &[u32], vectors: &[f32], rank: usize) -> Vec<f32> {
    let mut sums = vec![0.0; users.len() * rank];
    for (&user, to) in users.iter().zip(sums.chunks_exact_mut(rank)) {
        for (&item, x) in histories.of(user as usize).iter().zip(valued(histories, user as usize)) {
            let from = &vectors[item as usize * rank..][..rank];
            to.iter_mut().zip(from).for_each(|(to, v)| *to += x * v);
        }
    }
    sums
}

/// Numbers in a vector of an item, which has two: as one of the history, and as one that is scored.
fn rank_of(items: usize, parameters: &ItemParameters) -> usize {
    parameters.values.len() / items.max(1) / 2
}

impl ItemModel for LowRank {
    fn bytes(&self, users: usize, items: usize) -> u64 {
        let width = (self.rank + 16).min(items) as u64;
        4 * width * (2 * users as u64 + 4 * items as u64 + 4 * width)
    }

    fn seconds(&self, choices: &Choices) -> f64 {
        let (width, rows) = (self.rank as f64 + 16.0, choices.item_count as f64);
        8.0 * (4e-10 * choices.pairs() as f64 * width + 1.5e-9 * rows * width * width) + 3e-8 * width.powi(3)
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
        let stream = Stream::new(1, "ease-low-rank");
        let (vectors, squares) = spectrum(&Users(choices), &Items(&by_item, n), self.rank, stream);
        let rank = squares.len();
        let gains: Vec<f32> = squares.iter().map(|s| (s / (s + self.lambda)) as f32).collect();
        let mut scored = vec![0.0; n * rank];
        scored.par_chunks_mut(rank).zip(vectors.par_chunks(rank)).for_each(|(to, v)| {
            to.iter_mut().zip(v.iter().zip(&gains)).for_each(|(to, (v, gain))| *to = v * gain);
            // Of an item that nobody chose, nothing.
            let rest = 1.0 - dot(to, v).min(1.0 - 1e-6);
            for to in to.iter_mut() {
                *to /= rest;
            }
        });
        parameters.values = [vectors, scored].concat().into();
        Ok(None)
    }

    fn check(&self, items: usize, parameters: &ItemParameters) -> Result<(), ModelError> {
        let found = parameters.values.len();
        let rank = rank_of(items, parameters);
        match found == items.saturating_mul(2 * rank)
            && rank >= 1
            && rank <= self.rank
            && parameters.numbers.is_empty()
        {
            true => Ok(()),
            false => {
                let expected = format!("twice {items} vectors of at most {} numbers", self.rank);
                Err(ModelError::new(format!("{found} numbers of ease-low-rank"), expected))
            }
        }
    }

    fn scores(&self, parameters: &ItemParameters, histories: &Choices, users: &[u32], scores: &mut [f32]) {
        let n = histories.item_count;
        let rank = rank_of(n, parameters);
        let (chosen, scored) = parameters.values.split_at(n * rank);
        let sums = summed(histories, users, chosen, rank);
        product(View::new(&sums, rank), View::new(scored, rank).transposed(), scores, false);
        // An item says nothing about itself.
        for (&user, scores) in users.iter().zip(scores.chunks_exact_mut(n)) {
            for (&item, x) in histories.of(user as usize).iter().zip(valued(histories, user as usize)) {
                let at = item as usize * rank;
                scores[item as usize] -= x * dot(&chosen[at..at + rank], &scored[at..at + rank]);
            }
        }
    }
}
