/*!
The best unseen items of many users: blocks of users against all items, seen items masked, the best selected without a sort.

Cost: one matrix product per block of users (if scores are dot products), then one sweep over the scores; memory for one block.
*/

use rayon::prelude::*;
use toprank_core::{Choices, vectorised};

use crate::items::{ItemModel, ItemParameters};
use crate::model::{EmbeddingModel, Shape};
use crate::panels::Panels;

/// Scores of a block of users: they stay in the cache of a core.
const SCORES_AT_ONCE: usize = 1 << 17;
/// Users of a block: a multiple of the tile of a matrix product.
const USERS_AT_ONCE: [usize; 2] = [12, 60];
/// Items precomputed by one task.
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

/// The precomputed vectors of all items, row after row.
pub fn ready_items(model: &dyn EmbeddingModel, shape: &Shape, weights: &[f32], items: &[f32]) -> Vec<f32> {
    let [width, ready] = [model.widths()[1], model.ready_widths()[1]];
    let mut all = vec![0.0; items.len() / width * ready];
    let blocks = all.par_chunks_mut(ITEMS_AT_ONCE * ready).zip(items.par_chunks(ITEMS_AT_ONCE * width));
    blocks.enumerate().for_each(|(block, (all, rows))| {
        let first = (block * ITEMS_AT_ONCE) as u32;
        let ids: Vec<u32> = (first..).take(rows.len() / width).collect();
        model.ready(1, shape, weights, &ids, rows, all);
    });
    all
}

/// The precomputed vectors of the users `ids`, whose table is `users`.
pub fn ready_users(
    model: &dyn EmbeddingModel,
    shape: &Shape,
    weights: &[f32],
    users: &[f32],
    ids: &[u32],
) -> Vec<f32> {
    let width = model.widths()[0];
    let mut rows = Vec::with_capacity(ids.len() * width);
    for &user in ids {
        rows.extend_from_slice(&users[user as usize * width..][..width]);
    }
    let mut ready = vec![0.0; ids.len() * model.ready_widths()[0]];
    model.ready(0, shape, weights, ids, &rows, &mut ready);
    ready
}

/// A model, ready to score all items.
pub struct Ranker<'a> {
    by: By<'a>,
    count: usize,
}

/// What scores.
enum By<'a> {
    /// Vectors of users and items.
    Vectors {
        model: &'a dyn EmbeddingModel,
        shape: Shape<'a>,
        weights: &'a [f32],
        users: &'a [f32],
        items: Items,
    },
    /// The items of a history.
    Histories { model: &'a dyn ItemModel, parameters: &'a ItemParameters, histories: &'a Choices },
}

/// Precomputed items.
enum Items {
    /// Of a model whose scores are dot products.
    Panels(Panels),
    /// Row after row.
    Rows(Vec<f32>),
}

impl<'a> Ranker<'a> {
    /// Precomputes all items. `users` and `items` are the tables.
    pub fn new(
        model: &'a dyn EmbeddingModel,
        shape: Shape<'a>,
        weights: &'a [f32],
        users: &'a [f32],
        items: &[f32],
    ) -> Ranker<'a> {
        let (count, ready) = (items.len() / model.widths()[1], model.ready_widths()[1]);
        let all = ready_items(model, &shape, weights, items);
        let items =
            if model.is_product() { Items::Panels(Panels::new(&all, ready)) } else { Items::Rows(all) };
        Ranker { by: By::Vectors { model, shape, weights, users, items }, count }
    }

    /// A ranker by an item model: user `u` is the one of `histories`.
    pub fn of_histories(
        model: &'a dyn ItemModel,
        parameters: &'a ItemParameters,
        histories: &'a Choices,
    ) -> Ranker<'a> {
        Ranker { by: By::Histories { model, parameters, histories }, count: histories.item_count }
    }

    /// Number of items.
    pub fn items(&self) -> usize {
        self.count
    }

    /// Calls `each` with every user of `users` and its scores of all items, blocks of users in parallel; what it returns
    /// comes back in the order of `users`.
    pub fn each<R: Send>(&self, users: &[u32], each: impl Fn(usize, &mut [f32]) -> R + Sync) -> Vec<R> {
        let [least, most] = USERS_AT_ONCE;
        let at_once = (SCORES_AT_ONCE / self.count.max(1)).clamp(least, most) / least * least;
        let blocks: Vec<Vec<R>> = users
            .par_chunks(at_once)
            .enumerate()
            .map_init(Vec::new, |scores: &mut Vec<f32>, (block, ids)| {
                let stride = self.scores(ids, scores);
                let parts = scores.chunks_exact_mut(stride.max(1)).take(ids.len()).enumerate();
                parts.map(|(d, scores)| each(block * at_once + d, &mut scores[..self.count])).collect()
            })
            .collect();
        blocks.into_iter().flatten().collect()
    }

    /// Scores of some users with all items, and the distance from one user's to the next.
    pub(crate) fn scores(&self, ids: &[u32], scores: &mut Vec<f32>) -> usize {
        let all = ids.len() * self.count;
        match &self.by {
            By::Vectors { model, shape, weights, users, items } => {
                let ready = ready_users(*model, shape, weights, users, ids);
                match items {
                    Items::Panels(items) => {
                        items.scores(&ready, scores);
                        return items.stride();
                    }
                    Items::Rows(items) => {
                        scores.resize(all, 0.0);
                        model.all_scores(weights, &ready, items, scores);
                    }
                }
            }
            By::Histories { model, parameters, histories } => {
                scores.resize(all, 0.0);
                model.scores(parameters, histories, ids, &mut scores[..all]);
            }
        }
        self.count
    }

    /// The `k` best items of each user that it has not seen, and all others that are as good as the k-th. `seen(d)` are the
    /// seen items of the d-th user asked for; `instead(d)`: scores of all items that replace the model's (for a user
    /// without history).
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
    candidates(scores, k, &mut found);
    let best_first = |a: &Best, b: &Best| b.score.total_cmp(&a.score).then(a.item.cmp(&b.item));
    if found.len() > k {
        let last = found.select_nth_unstable_by(k - 1, best_first).1.score;
        found.retain(|best| best.score >= last);
    }
    found.sort_unstable_by(best_first);
    found
}

/// Most scores of a chunk.
const CHUNK: usize = 64;

#[inline(always)]
#[allow(clippy::inline_always)] // It must be compiled into the vectorised function that calls it.
fn greatest(chunk: &[f32]) -> f32 {
    let (lanes, rest) = chunk.as_chunks::<8>();
    let mut most = [f32::NEG_INFINITY; 8];
    for lane in lanes {
        for (most, score) in most.iter_mut().zip(lane) {
            *most = if *score > *most { *score } else { *most };
        }
    }
    for half in [4, 2, 1] {
        let (low, high) = most.split_at_mut(half);
        low.iter_mut().zip(high).for_each(|(low, high)| *low = if *high > *low { *high } else { *low });
    }
    rest.iter().fold(most[0], |most, score| if *score > most { *score } else { most })
}

vectorised! {
    /// Finds all scores that can be among the `k` greatest and some more.
    ///
    /// The greatest scores of `k` chunks are `k` scores: no score below the least of them is needed, and few chunks have a
    /// greater one.
    fn candidates(scores: &[f32], k: usize, found: &mut Vec<Best>) {
        let length = (scores.len() / k / 2).clamp(8, CHUNK) / 8 * 8;
        let tops: Vec<f32> = scores.chunks(length).map(greatest).collect();
        let mut least = f32::NEG_INFINITY;
        if tops.len() > k {
            least = *tops.clone().select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1;
        }
        for ((chunk, top), at) in scores.chunks(length).zip(tops).zip((0u32..).step_by(length)) {
            if top < least {
                continue;
            }
            for (lane, at) in chunk.chunks(8).zip((at..).step_by(8)) {
                // Most chunks have none: eight comparisons at once.
                if lane.iter().map(|score| u8::from(*score >= least)).sum::<u8>() == 0 {
                    continue;
                }
                let wanted = |score: f32| score >= least && score > f32::NEG_INFINITY;
                let here = (at..).zip(lane).filter(|(_, score)| wanted(**score));
                found.extend(here.map(|(item, &score)| Best { item, score }));
            }
        }
    }
}
