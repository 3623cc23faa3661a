/*!
Scores of a few items for each of many users: the rows of these items are gathered, the others are not looked at.

Cost: a dot product per pair (if scores are dot products), whatever the number of items.
*/

use rayon::prelude::*;
use toprank_core::{Choices, vectorised};

use crate::items::{ItemModel, ItemParameters};
use crate::model::{EmbeddingModel, Shape};
use crate::rank::{Ranker, ready_items, ready_users};

/// Users of one task.
const USERS_AT_ONCE: usize = 64;
/// Items whose scores are summed side by side.
const ACROSS: usize = 16;

/// A model, ready to score some items of each user.
pub struct PairScorer<'a>(By<'a>);

/// What scores.
enum By<'a> {
    /// Vectors, those of all items precomputed, row after row.
    Vectors(Vectors<'a>),
    /// The items of a history: all are scored, and some are taken.
    Histories(Ranker<'a>),
}

struct Vectors<'a> {
    model: &'a dyn EmbeddingModel,
    shape: Shape<'a>,
    weights: &'a [f32],
    users: &'a [f32],
    items: Vec<f32>,
}

/// Memory of a task.
#[derive(Default)]
struct Work {
    items: Vec<u32>,
    rows: Vec<f32>,
    scores: Vec<f32>,
}

impl<'a> PairScorer<'a> {
    /// Precomputes all items. `users` and `items` are the tables.
    pub fn new(
        model: &'a dyn EmbeddingModel,
        shape: Shape<'a>,
        weights: &'a [f32],
        users: &'a [f32],
        items: &[f32],
    ) -> PairScorer<'a> {
        let items = ready_items(model, &shape, weights, items);
        PairScorer(By::Vectors(Vectors { model, shape, weights, users, items }))
    }

    /// A scorer by an item model: user `u` is the one of `histories`.
    pub fn of_histories(
        model: &'a dyn ItemModel,
        parameters: &'a ItemParameters,
        histories: &'a Choices,
    ) -> PairScorer<'a> {
        PairScorer(By::Histories(Ranker::of_histories(model, parameters, histories)))
    }

    /// Calls `each` with every user of `users`, the items that `choose` writes for it and its scores of these, in their order. Users
    /// in parallel; what `each` returns comes back in the order of `users`. Dot products are those of a [`Ranker`](crate::Ranker),
    /// to the bit.
    pub fn each<R: Send>(
        &self,
        users: &[u32],
        choose: impl Fn(usize, &mut Vec<u32>) + Sync,
        each: impl Fn(usize, &[u32], &mut [f32]) -> R + Sync,
    ) -> Vec<R> {
        let blocks: Vec<Vec<R>> = users
            .par_chunks(USERS_AT_ONCE)
            .enumerate()
            .map_init(Work::default, |work, (block, ids)| {
                let mut scored = Vec::with_capacity(ids.len());
                let prepared = match &self.0 {
                    By::Vectors(by) => ready_users(by.model, &by.shape, by.weights, by.users, ids),
                    By::Histories(_) => Vec::new(),
                };
                for (at, id) in ids.iter().enumerate() {
                    let d = block * USERS_AT_ONCE + at;
                    work.items.clear();
                    choose(d, &mut work.items);
                    match &self.0 {
                        By::Vectors(by) => by.scores(&prepared, at, work),
                        By::Histories(by) => {
                            by.scores(std::slice::from_ref(id), &mut work.rows);
                            work.scores.clear();
                            work.scores.extend(work.items.iter().map(|&item| work.rows[item as usize]));
                        }
                    }
                    scored.push(each(d, &work.items, &mut work.scores));
                }
                scored
            })
            .collect();
        blocks.into_iter().flatten().collect()
    }
}

impl Vectors<'_> {
    /// Scores of the chosen items for one of the users of a block.
    fn scores(&self, prepared: &[f32], at: usize, Work { items, rows, scores }: &mut Work) {
        let [of_user, of_item] = self.model.ready_widths();
        let user = &prepared[at * of_user..][..of_user];
        scores.clear();
        scores.resize(items.len(), 0.0);
        if self.model.is_product() {
            dots(user, &self.items, items, scores);
        } else {
            rows.clear();
            for &item in &*items {
                rows.extend_from_slice(&self.items[item as usize * of_item..][..of_item]);
            }
            self.model.all_scores(self.weights, user, rows, scores);
        }
    }
}

vectorised! {
    /// `scores[i] = Σ_k user[k] · all[items[i]][k]`, k ascending. Sixteen sums side by side hide the latency of each.
    // Index loops: iterator adapters that are not inlined, as without link-time optimisation, would cost more than the sums.
    #[allow(clippy::needless_range_loop)]
    fn dots<FUSED>(user: &[f32], all: &[f32], items: &[u32], scores: &mut [f32]) {
        let width = user.len();
        for (items, scores) in items.chunks(ACROSS).zip(scores.chunks_mut(ACROSS)) {
            // The last chunk repeats its first item.
            let rows: [&[f32]; ACROSS] = std::array::from_fn(|a| {
                let item = items.get(a).copied().unwrap_or(items[0]);
                &all[item as usize * width..][..width]
            });
            let mut sums = [0.0f32; ACROSS];
            for k in 0..width {
                for a in 0..ACROSS {
                    let x = rows[a][k];
                    sums[a] = if FUSED { user[k].mul_add(x, sums[a]) } else { user[k] * x + sums[a] };
                }
            }
            scores.copy_from_slice(&sums[..scores.len()]);
        }
    }
}
