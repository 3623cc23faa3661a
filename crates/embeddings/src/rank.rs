/*!
The best unseen items of many users: blocks of users against all items, seen ones masked, the best picked without a sort.

Cost: one matrix product per block of users (models of products), then two sweeps over the scores; memory for a block only.
*/

use rayon::prelude::*;
use toprank_core::vectorised;

use crate::model::{EmbeddingModel, Shape};

/// Users of a block: their scores stay in the cache of a core, and preparing the items for a product is shared by enough of them.
const USERS_AT_ONCE: usize = 64;
/// Items made ready by one task.
const ITEMS_AT_ONCE: usize = 1024;

/// An item and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// The item.
    pub item: u32,
    /// Its score.
    pub score: f32,
}

/// The best items of several users.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BestItems {
    /// User d owns `best[offsets[d]..offsets[d + 1]]`.
    pub offsets: Vec<u64>,
    /// Best first; equal scores in the order of their numbers.
    pub best: Vec<Best>,
}

impl BestItems {
    /// The best items of the d-th user asked for.
    pub fn of(&self, d: usize) -> &[Best] {
        &self.best[self.offsets[d] as usize..self.offsets[d + 1] as usize]
    }
}

/// A model with all its items made ready.
pub struct Ranker<'a> {
    model: &'a dyn EmbeddingModel,
    shape: Shape<'a>,
    weights: &'a [f32],
    users: &'a [f32],
    items: Vec<f32>,
    count: usize,
}

impl<'a> Ranker<'a> {
    /// Makes all items ready. `users` and `items` are the tables.
    pub fn new(
        model: &'a dyn EmbeddingModel,
        shape: Shape<'a>,
        weights: &'a [f32],
        users: &'a [f32],
        items: &[f32],
    ) -> Ranker<'a> {
        let [width, ready] = [model.widths()[1], model.ready_widths()[1]];
        let count = items.len() / width;
        let mut all = vec![0.0; count * ready];
        let blocks = all.par_chunks_mut(ITEMS_AT_ONCE * ready).zip(items.par_chunks(ITEMS_AT_ONCE * width));
        blocks.enumerate().for_each(|(block, (all, rows))| {
            let first = (block * ITEMS_AT_ONCE) as u32;
            let ids: Vec<u32> = (first..).take(rows.len() / width).collect();
            model.ready(1, &shape, weights, &ids, rows, all);
        });
        Ranker { model, shape, weights, users, items: all, count }
    }

    /// Number of items.
    pub fn items(&self) -> usize {
        self.count
    }

    /// Calls `each` with every user of `users` and its scores of all items, blocks of users in parallel; what it returns
    /// comes back in the order of `users`.
    pub fn each<R: Send>(&self, users: &[u32], each: impl Fn(usize, &mut [f32]) -> R + Sync) -> Vec<R> {
        let [width, ready_width] = [self.model.widths()[0], self.model.ready_widths()[0]];
        let blocks: Vec<Vec<R>> = users
            .par_chunks(USERS_AT_ONCE)
            .enumerate()
            .map_init(Vec::new, |scores: &mut Vec<f32>, (block, ids)| {
                let mut rows = Vec::with_capacity(ids.len() * width);
                for &user in ids {
                    rows.extend_from_slice(&self.users[user as usize * width..][..width]);
                }
                let mut ready = vec![0.0; ids.len() * ready_width];
                self.model.ready(0, &self.shape, self.weights, ids, &rows, &mut ready);
                scores.resize(ids.len() * self.count, 0.0);
                self.model.all_scores(self.weights, &ready, &self.items, scores);
                let parts = scores.chunks_exact_mut(self.count.max(1)).enumerate();
                parts.map(|(d, scores)| each(block * USERS_AT_ONCE + d, scores)).collect()
            })
            .collect();
        blocks.into_iter().flatten().collect()
    }

    /// The `k` best items of each user that it has not seen, and all others that are as good as the k-th. `seen(d)` are the
    /// seen items of the d-th user asked for; `instead(d)`: these scores of all items are taken for it (nothing is known
    /// about it).
    pub fn best<'s>(
        &self,
        users: &[u32],
        k: usize,
        seen: impl Fn(usize) -> &'s [u32] + Sync,
        instead: impl Fn(usize) -> Option<&'s [f32]> + Sync,
    ) -> BestItems {
        let all = self.each(users, |d, scores| {
            if let Some(instead) = instead(d) {
                scores.copy_from_slice(instead);
            }
            for &item in seen(d) {
                scores[item as usize] = f32::NEG_INFINITY;
            }
            pick(scores, k)
        });
        let mut out = BestItems { offsets: vec![0], best: Vec::new() };
        for best in all {
            out.best.extend(best);
            out.offsets.push(out.best.len() as u64);
        }
        out
    }
}

/// The `k` greatest scores above −∞, and all that equal the k-th, in order.
///
/// ```
/// let best = toprank_embeddings::pick(&[0.5, f32::NEG_INFINITY, 0.7, 0.5], 2);
/// assert_eq!(best.iter().map(|best| best.item).collect::<Vec<_>>(), [2, 0, 3]);
/// ```
pub fn pick(scores: &[f32], k: usize) -> Vec<Best> {
    let mut found = Vec::new();
    if k == 0 {
        return found;
    }
    at_least(scores, threshold(scores, k), &mut found);
    found.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.item.cmp(&b.item)));
    found
}

/// Scores looked at together: most stretches hold none of the best.
const STRETCH: usize = 64;

#[inline(always)]
#[allow(clippy::inline_always)] // It must be compiled into the vectorised functions that call it.
fn greatest(stretch: &[f32]) -> f32 {
    let (lanes, rest) = stretch.as_chunks::<8>();
    let mut most = [f32::NEG_INFINITY; 8];
    for lane in lanes {
        for (most, score) in most.iter_mut().zip(lane) {
            *most = if *score > *most { *score } else { *most };
        }
    }
    most.into_iter().chain(rest.iter().copied()).fold(f32::NEG_INFINITY, f32::max)
}

vectorised! {
    /// The k-th greatest score, −∞ if there are fewer.
    fn threshold(scores: &[f32], k: usize) -> f32 {
        if scores.len() <= k {
            return f32::NEG_INFINITY;
        }
        let room = 4 * k + STRETCH;
        let mut kept: Vec<f32> = Vec::with_capacity(room + STRETCH);
        let mut least = f32::NEG_INFINITY;
        for stretch in scores.chunks(STRETCH) {
            if greatest(stretch) <= least {
                continue;
            }
            kept.extend(stretch.iter().filter(|score| **score > least));
            if kept.len() >= room {
                kept.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
                kept.truncate(k);
                least = kept[k - 1];
            }
        }
        if kept.len() < k {
            return f32::NEG_INFINITY;
        }
        *kept.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1
    }
}

vectorised! {
    fn at_least(scores: &[f32], least: f32, found: &mut Vec<Best>) {
        for (stretch, at) in scores.chunks(STRETCH).zip((0u32..).step_by(STRETCH)) {
            if greatest(stretch) < least {
                continue;
            }
            for (item, &score) in (at..).zip(stretch) {
                if score >= least && score > f32::NEG_INFINITY {
                    found.push(Best { item, score });
                }
            }
        }
    }
}
