#![doc = include_str!("../pages/gf-cf.md")]

use rayon::prelude::*;
use toprank_core::matrix::{View, product};
use toprank_core::{Choices, ModelError, Param, ParamError, Spec, Stream};

use super::low_rank::{Items, Users, summed};
use super::spectrum::{SparseRows, spectrum};
use super::{ByItem, FitState, ItemModel, ItemParameters, sparse, squared_lengths};

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "rank",
        default: "256",
        range: "an integer from 1 to 4096",
        about: "singular vectors of the ideal low-pass filter",
    },
    Param {
        name: "alpha",
        default: "0.3",
        range: "0 or above",
        about: "weight of the ideal low-pass filter",
    },
    Param {
        name: "neighbours",
        default: "500",
        range: "an integer from 1 to 1000000",
        about: "how many weights of the linear filter are kept of each item, the greatest",
    },
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn ItemModel>, ParamError> {
    Ok(Box::new(Filter {
        rank: spec.args.count("rank", 256, 4096)?,
        alpha: spec.args.not_negative("alpha", 0.3)?,
        neighbours: spec.args.count("neighbours", 500, 1_000_000)?,
    }))
}

/// A graph filter; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct Filter {
    rank: usize,
    alpha: f64,
    neighbours: usize,
}

/// The interactions, each divided by the square roots of what its user and its item have in all.
struct Normalised<'a, S> {
    rows: S,
    own: &'a [f64],
    other: &'a [f64],
}

impl<S: SparseRows> SparseRows for Normalised<'_, S> {
    fn rows(&self) -> usize {
        self.rows.rows()
    }

    fn of_row(&self, row: usize, each: &mut dyn FnMut(usize, f32)) {
        let own = self.own[row];
        self.rows
            .of_row(row, &mut |column, x| each(column, (f64::from(x) * own * self.other[column]) as f32));
    }
}

/// 1/√(sum of the row), or 0.
fn roots(rows: &impl SparseRows) -> Vec<f64> {
    let root = |row: usize| {
        let mut sum = 0.0;
        rows.of_row(row, &mut |_, x| sum += f64::from(x));
        if sum > 0.0 { 1.0 / sum.sqrt() } else { 0.0 }
    };
    (0..rows.rows()).map(root).collect()
}

impl Filter {
    /// Singular vectors that are kept.
    fn rank_of(self, items: usize, users: usize) -> usize {
        if self.alpha == 0.0 { 0 } else { self.rank.min(items).min(users).max(1) }
    }
}

impl ItemModel for Filter {
    fn bytes(&self, users: usize, items: usize) -> u64 {
        let width = (self.rank + 16).min(items) as u64;
        let kept = items.saturating_mul(self.neighbours.min(items)) as u64;
        4 * width * (2 * users as u64 + 4 * items as u64 + 4 * width) + 16 * kept
    }

    fn seconds(&self, choices: &Choices) -> f64 {
        let (width, rows) = (self.rank as f64 + 16.0, choices.item_count as f64);
        5e-9 * squared_lengths(choices)
            + 8.0 * (4e-10 * choices.pairs() as f64 * width + 1.5e-9 * rows * width * width)
            + 3e-8 * width.powi(3)
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
        let (users, items) = (roots(&Users(choices)), roots(&Items(&by_item, n)));
        let x = Normalised { rows: Users(choices), own: &users, other: &items };
        let turned = Normalised { rows: Items(&by_item, n), own: &items, other: &users };
        let row = |sums: &mut (Vec<f32>, Vec<u32>), item: usize| {
            let (sums, touched) = sums;
            turned.of_row(item, &mut |user, a| {
                x.of_row(user, &mut |other, b| {
                    if sums[other] == 0.0 {
                        touched.push(other as u32);
                    }
                    sums[other] += a * b;
                });
            });
            touched.sort_unstable();
            touched.dedup();
            let mut row: Vec<(u32, f32)> =
                touched.drain(..).map(|other| (other, std::mem::take(&mut sums[other as usize]))).collect();
            row.retain(|(_, weight)| *weight > 0.0);
            sparse::keep_greatest(&mut row, self.neighbours);
            row
        };
        let rows: Vec<Vec<(u32, f32)>> =
            (0..n).into_par_iter().with_min_len(16).map_init(|| (vec![0.0f32; n], Vec::new()), row).collect();
        let linear = sparse::packed("gf-cf", rows)?;
        let rank = self.rank_of(n, choices.len());
        let (vectors, _) = match rank {
            0 => (Vec::new(), Vec::new()),
            rank => spectrum(&x, &turned, rank, Stream::new(1, "gf-cf")),
        };
        // Of an item in the history divided, of one that is scored multiplied by the root of how often it was chosen.
        let scaled = |power: f64| -> Vec<f32> {
            let of_item = |(item, v): (usize, &[f32])| -> Vec<f32> {
                let root = items[item];
                let factor = if root > 0.0 { self.alpha.sqrt() * root.powf(power) } else { 0.0 };
                v.iter().map(|v| (f64::from(*v) * factor) as f32).collect()
            };
            vectors.chunks_exact(rank.max(1)).enumerate().flat_map(of_item).collect()
        };
        let values = [linear.values.to_vec(), scaled(1.0), scaled(-1.0)].concat();
        *parameters = ItemParameters { numbers: linear.numbers, values: values.into() };
        Ok(None)
    }

    fn check(&self, items: usize, parameters: &ItemParameters) -> Result<(), ModelError> {
        let kept = parameters.numbers.get(items).map_or(0, |&end| end as usize);
        let Some((linear, vectors)) = parameters.values.split_at_checked(kept) else {
            return Err(ModelError::new("gf-cf: too few numbers", "the weights of its filters"));
        };
        sparse::check("gf-cf", items, &parameters.numbers, linear)?;
        let rank = vectors.len() / items.max(1) / 2;
        match vectors.len() == items.saturating_mul(2 * rank) && rank <= self.rank {
            true => Ok(()),
            false => {
                let expected = format!("twice {items} vectors of at most {} numbers", self.rank);
                Err(ModelError::new(format!("gf-cf: {} numbers of vectors", vectors.len()), expected))
            }
        }
    }

    fn scores(&self, parameters: &ItemParameters, histories: &Choices, users: &[u32], scores: &mut [f32]) {
        let n = histories.item_count;
        let kept = parameters.numbers[n] as usize;
        let (linear, vectors) = parameters.values.split_at(kept);
        for (&user, scores) in users.iter().zip(scores.chunks_exact_mut(n)) {
            sparse::scores(&parameters.numbers, linear, histories, user as usize, scores);
        }
        let rank = vectors.len() / n.max(1) / 2;
        if rank > 0 {
            let (chosen, scored) = vectors.split_at(n * rank);
            let sums = summed(histories, users, chosen, rank);
            product(View::new(&sums, rank), View::new(scored, rank).transposed(), scores, true);
        }
    }
}
