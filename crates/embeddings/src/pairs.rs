/*!
Scores of a few items for each of many users: the rows of these items are gathered, the others are not looked at.

Cost: a dot product per pair (if scores are dot products), whatever the number of items.
*/

use rayon::prelude::*;
use toprank_core::vectorised;

use crate::model::{EmbeddingModel, Shape};
use crate::rank::{ready_items, ready_users};

/// Users of one task.
const USERS_AT_ONCE: usize = 64;
/// Items whose scores are summed side by side.
const ACROSS: usize = 16;

/// A model with the precomputed vectors of all items, row after row.
pub struct PairScorer<'a> {
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
        PairScorer { model, shape, weights, users, items: ready_items(model, &shape, weights, items) }
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
        let [of_user, of_item] = self.model.ready_widths();
        let blocks: Vec<Vec<R>> = users
            .par_chunks(USERS_AT_ONCE)
            .enumerate()
            .map_init(Work::default, |Work { items, rows, scores }, (block, ids)| {
                let ready = ready_users(self.model, &self.shape, self.weights, self.users, ids);
                let users = ready.chunks_exact(of_user).zip(block * USERS_AT_ONCE..);
                let done = users.map(|(user, d)| {
                    items.clear();
                    choose(d, items);
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
                    each(d, items, scores)
                });
                done.collect()
            })
            .collect();
        blocks.into_iter().flatten().collect()
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
