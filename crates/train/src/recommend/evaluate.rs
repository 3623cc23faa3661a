/*!
Full ranking: every item that a user has not seen is ranked, for all users of a part, block by block.

Metrics with a cut-off need the best items only (and all that tie with the last of them, so that ties count by their expected
value); held-out items that are not among them reach the metric as judged but not retrieved. Metrics of whole lists get
whole lists, a block of users at a time.

Sampled ranking: the held-out items among some unseen ones, which are drawn for each user from the seed alone, so that every model is
compared on the same ones. Only their rows are read.
*/

use toprank_core::stream::Random;
use toprank_core::{Choices, Lists, Ragged, Stream};
use toprank_embeddings::{PairScorer, Ranker};
use toprank_metrics::{Counts, Evaluation, Measure, MeasureResult, evaluate};

use crate::error::TrainError;

/// Entries of the lists that are held at once.
const ENTRIES_AT_ONCE: usize = 1 << 22;

/// Items that users have interacted with: never recommended again.
#[derive(Clone, Copy)]
pub struct History<'a> {
    /// Their interactions.
    pub choices: &'a Choices,
    /// A score for each item that stands in where a user has chosen nothing: how often it was chosen.
    pub popular: &'a [f32],
    /// Whether popularity ranks for every user: the baseline that a model is compared with.
    pub by_popularity: bool,
}

impl<'a> History<'a> {
    /// The scores for a user about whom nothing is known, or for all: how often items were chosen.
    fn instead(&self, user: u32) -> Option<&'a [f32]> {
        (self.by_popularity || self.choices.of(user as usize).is_empty()).then_some(self.popular)
    }
}

/// How often each item was chosen, as scores.
pub(crate) fn popular(choices: &Choices) -> Vec<f32> {
    choices.popularity().into_iter().map(|count| count as f32).collect()
}

/// How good a recommender is on held-out pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct PartEvaluation {
    /// Values of the metrics; list d is user `users[d]`.
    pub evaluation: Evaluation,
    /// The users that have a held-out pair.
    pub users: Vec<u32>,
    /// What is recommended, beyond how accurate it is.
    pub beyond: BeyondAccuracy,
    /// The first items of each user.
    pub first: FirstItems,
}

/// The first recommended items of users, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstItems {
    /// User d of those that were evaluated owns `items[offsets[d]..offsets[d + 1]]`.
    pub offsets: Vec<u64>,
    /// See `offsets`.
    pub items: Vec<u32>,
}

impl FirstItems {
    /// The items of the d-th evaluated user.
    pub fn of(&self, d: usize) -> &[u32] {
        &self.items[self.offsets[d] as usize..self.offsets[d + 1] as usize]
    }
}

/// What the first `k` recommended items of all evaluated users are like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BeyondAccuracy {
    /// How many items of each user count here.
    pub k: usize,
    /// Fraction of all items that are recommended to anybody.
    pub coverage: f64,
    /// Mean over recommended items of −log2(fraction of users who chose it): bits of surprise. An item that nobody chose
    /// counts as if half a user had.
    pub novelty: f64,
    /// Mean fraction of users who chose a recommended item.
    pub popularity: f64,
    /// That mean divided by the same mean over what the evaluated users themselves chose before: above 1, what is popular is
    /// pushed.
    pub popularity_lift: f64,
    /// Gini coefficient of how often items are recommended: 0 all alike, 1 one item only.
    pub gini: f64,
}

/// Values of metrics, block of users by block.
struct Values<'m> {
    measures: &'m [Measure],
    per_list: Vec<Vec<f64>>,
    counts: Vec<Counts>,
    weights: Vec<toprank_metrics::ItemWeights>,
}

impl<'m> Values<'m> {
    fn new(measures: &'m [Measure]) -> Values<'m> {
        let (per_list, counts) = (vec![Vec::new(); measures.len()], vec![Counts::default(); measures.len()]);
        Values { measures, per_list, counts, weights: Vec::new() }
    }

    fn add(&mut self, lists: &Lists, scores: &[f64]) -> Result<(), TrainError> {
        for (m, result) in evaluate(lists, scores, self.measures)?.results.into_iter().enumerate() {
            self.per_list[m].extend(&result.per_list);
            self.counts[m].lists += result.counts.lists;
            self.counts[m].used += result.counts.used;
            self.counts[m].empty += result.counts.empty;
            if m >= self.weights.len() {
                self.weights.push(result.item_weights);
            }
        }
        Ok(())
    }

    fn evaluation(self) -> Evaluation {
        let of = self.measures.iter().zip(self.per_list).zip(self.counts).enumerate();
        let results = of.map(|(m, ((measure, per_list), counts))| {
            let weights =
                self.weights.get(m).map_or(toprank_metrics::ItemWeights::Absent, |weights| *weights);
            MeasureResult::new(measure, per_list, counts, weights, None)
        });
        Evaluation { results: results.collect() }
    }
}

/// Users with a held-out pair.
fn users_of(held: &Choices) -> Vec<u32> {
    (0..held.len() as u32).filter(|&u| !held.of(u as usize).is_empty()).collect()
}

/// Ranks the held-out items of every user among so many unseen others, drawn by this seed. Such values are not those of a full
/// ranking; with as many others as there are, they are.
///
/// # Errors
/// If a metric cannot use the labels.
pub(super) fn evaluate_sampled(
    scorer: &PairScorer,
    seen: &History,
    held: &Choices,
    measures: &[Measure],
    (count, seed): (usize, u64),
) -> Result<Evaluation, TrainError> {
    let users = users_of(held);
    let items = seen.popular.len();
    let block = (ENTRIES_AT_ONCE / count.clamp(1, items.max(1))).clamp(1, users.len().max(1));
    let mut values = Values::new(measures);
    for users in users.chunks(block) {
        let choose = |d: usize, to: &mut Vec<u32>| {
            let (user, random) = (users[d] as usize, Stream::new(seed, "sampled evaluation"));
            draw(
                seen.choices.of(user),
                held.of(user),
                items,
                count,
                &mut random.of_list(users[d]).open(),
                to,
            );
        };
        let lists_of_users = scorer.each(users, choose, |d, chosen, scores| {
            if let Some(instead) = seen.instead(users[d]) {
                chosen.iter().zip(&mut *scores).for_each(|(item, score)| *score = instead[*item as usize]);
            }
            let mut list: Vec<(u32, f32)> = chosen.iter().copied().zip(scores.iter().copied()).collect();
            list.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            list
        });
        let mut lists = Lists { offsets: vec![0], ..Lists::default() };
        let mut scores = Vec::new();
        for (list, &user) in lists_of_users.iter().zip(users) {
            for &(item, score) in list {
                lists.labels.push(held.label(user as usize, item));
                scores.push(f64::from(score));
            }
            lists.offsets.push(lists.labels.len() as u64);
        }
        values.add(&lists, &scores)?;
    }
    Ok(values.evaluation())
}

/// The held-out items that are unseen and `count` of the others, ascending; all, if there are no more.
fn draw(seen: &[u32], held: &[u32], items: usize, count: usize, random: &mut Random, to: &mut Vec<u32>) {
    let unseen = |item: &&u32| seen.binary_search(item).is_err();
    to.extend(held.iter().filter(unseen));
    // Seen and held-out items, ascending: the p-th of the others lies behind all that are not greater.
    let mut taken: Vec<u32> = seen.iter().chain(&*to).copied().collect();
    taken.sort_unstable();
    taken.dedup();
    let others = items - taken.len();
    let mut drawn = vec![0u64; others.div_ceil(64)];
    let mut mark = |place: usize| {
        let (word, bit) = (&mut drawn[place / 64], 1 << (place % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    };
    // Floyd's draw without replacement: every set of so many places is as probable.
    let count = count.min(others);
    for last in others - count..others {
        if !mark(random.below(last + 1)) {
            mark(last);
        }
    }
    let mut next = 0;
    for (word, &bits) in drawn.iter().enumerate() {
        let mut bits = bits;
        while bits != 0 {
            let place = (word * 64) as u32 + bits.trailing_zeros();
            bits &= bits - 1;
            while next < taken.len() && taken[next] <= place + next as u32 {
                next += 1;
            }
            to.push(place + next as u32);
        }
    }
    to.sort_unstable();
}

/// Ranks all unseen items for every user with a held-out pair. `k`: for [`BeyondAccuracy`].
///
/// # Errors
/// If a metric cannot use the labels.
pub fn evaluate_part(
    ranker: &Ranker,
    seen: &History,
    held: &Choices,
    measures: &[Measure],
    k: usize,
) -> Result<PartEvaluation, TrainError> {
    let users = users_of(held);
    let depth = measures.iter().map(|measure| measure.metric().depth()).try_fold(0, |a, b| Some(a.max(b?)));
    let items = ranker.items();
    let deep = depth.unwrap_or(items).max(k).min(items);
    let block = (ENTRIES_AT_ONCE / deep.max(1)).clamp(1, users.len().max(1));
    let mut values = Values::new(measures);
    let mut first = FirstItems { offsets: vec![0], items: Vec::new() };
    for users in users.chunks(block) {
        let best =
            ranker.best(users, deep, |d| seen.choices.of(users[d] as usize), |d| seen.instead(users[d]));
        let mut lists = Lists { offsets: vec![0], ..Lists::default() };
        let mut missed = Ragged { offsets: vec![0], values: Vec::new() };
        let mut scores = Vec::new();
        for (d, &user) in users.iter().enumerate() {
            let best = best.of(d);
            first.items.extend(best.iter().take(k).map(|best| best.item));
            first.offsets.push(first.items.len() as u64);
            let here = held.of(user as usize);
            for best in best {
                lists.labels.push(held.label(user as usize, best.item));
                scores.push(f64::from(best.score));
            }
            if deep < items {
                let among = |item: &u32| best.iter().any(|best| best.item == *item);
                let rest = here.iter().zip(held.labels_of(user as usize)).filter(|(item, _)| !among(item));
                missed.values.extend(rest.map(|(_, label)| *label));
            }
            lists.offsets.push(lists.labels.len() as u64);
            missed.offsets.push(missed.values.len() as u64);
        }
        lists.missed = Some(missed);
        values.add(&lists, &scores)?;
    }
    Ok(PartEvaluation {
        beyond: beyond(&first, seen, &users, k),
        evaluation: values.evaluation(),
        users,
        first,
    })
}

fn beyond(first: &FirstItems, seen: &History, users: &[u32], k: usize) -> BeyondAccuracy {
    let popular: Vec<u32> = seen.popular.iter().map(|count| *count as u32).collect();
    let all = (0..).zip(users.iter().copied());
    let [coverage, novelty, popularity, popularity_lift, gini] = figures(first, all, seen.choices, &popular);
    BeyondAccuracy { k, coverage, novelty, popularity, popularity_lift, gini }
}

/// Coverage, novelty, popularity, its lift and the Gini coefficient of some evaluated users: the place of each among all, and its number.
/// `popular`: how often each item was chosen.
pub(super) fn figures(
    first: &FirstItems,
    users: impl Iterator<Item = (u32, u32)>,
    seen: &Choices,
    popular: &[u32],
) -> [f64; 5] {
    let all_users = seen.len().max(1) as f64;
    let share = |item: usize| f64::from(popular[item]) / all_users;
    let mut recommended = vec![0u32; popular.len()];
    let (mut before, mut pairs) = (0.0, 0usize);
    for (place, user) in users {
        first.of(place as usize).iter().for_each(|&item| recommended[item as usize] += 1);
        let chosen = seen.of(user as usize);
        before += chosen.iter().map(|&item| share(item as usize)).sum::<f64>();
        pairs += chosen.len();
    }
    let total: f64 = recommended.iter().map(|&n| f64::from(n)).sum();
    let mean = |value: &dyn Fn(usize) -> f64| {
        let sum: f64 = recommended.iter().enumerate().map(|(item, &n)| f64::from(n) * value(item)).sum();
        if total > 0.0 { sum / total } else { 0.0 }
    };
    let popularity = mean(&share);
    let novelty = mean(&|item| -share(item).max(0.5 / all_users).log2());
    let before = if pairs > 0 { before / pairs as f64 } else { 0.0 };
    recommended.sort_unstable();
    let n = recommended.len() as f64;
    let ranked: f64 =
        recommended.iter().zip(1..).map(|(&count, place)| f64::from(place) * f64::from(count)).sum();
    [
        recommended.iter().filter(|n| **n > 0).count() as f64 / n.max(1.0),
        novelty,
        popularity,
        if before > 0.0 { popularity / before } else { 0.0 },
        if total > 0.0 { 2.0 * ranked / (n * total) - (n + 1.0) / n } else { 0.0 },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_items_are_unseen_distinct_and_each_as_probable() {
        let (seen, held, items) = ([1u32, 2, 7], [0u32, 4], 12);
        let mut counts = vec![0; items];
        for seed in 0..7000 {
            let mut to = Vec::new();
            draw(&seen, &held, items, 3, &mut Stream::new(seed, "test").open(), &mut to);
            assert!(to.windows(2).all(|pair| pair[0] < pair[1]), "{to:?}");
            assert_eq!(to.len(), 2 + 3);
            for item in to {
                counts[item as usize] += 1;
            }
        }
        for (item, &count) in counts.iter().enumerate() {
            let item = item as u32;
            // 3 of the 7 others.
            let expected = if seen.contains(&item) {
                0
            } else if held.contains(&item) {
                7000
            } else {
                3000
            };
            assert!((count - expected as i64).abs() < 200, "item {item}: {count} of {expected}");
        }
    }

    #[test]
    fn as_many_items_as_there_are_may_be_asked_for() {
        let mut to = Vec::new();
        draw(&[0, 5], &[5, 3], 6, 1000, &mut Stream::new(1, "test").open(), &mut to);
        assert_eq!(to, [1, 2, 3, 4], "a held-out item that was seen is not ranked");
        to.clear();
        draw(&[0, 1, 2], &[], 3, 4, &mut Stream::new(1, "test").open(), &mut to);
        assert!(to.is_empty());
    }
}
