/*!
Full ranking: every item that a user has not seen is ranked, for all users of a part, block by block.

Metrics with a cut-off need the best items only (and all that tie with the last of them, so that ties count by their expected
value); held-out items that are not among them reach the metric as judged but not retrieved. Metrics of whole lists get
whole lists, a block of users at a time.
*/

use toprank_core::stream::Random;
use toprank_core::{Choices, Lists, Ragged, Stream};
use toprank_embeddings::{Best, Ranker};
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

/// Ranks all unseen items for every user with a held-out pair. `sampled`: only this many unseen items, drawn by this seed,
/// beside the held-out ones; such values are not those of a full ranking. `k`: for [`BeyondAccuracy`].
///
/// # Errors
/// If a metric cannot use the labels.
pub fn evaluate_part(
    ranker: &Ranker,
    seen: &History,
    held: &Choices,
    measures: &[Measure],
    sampled: Option<(usize, u64)>,
    k: usize,
) -> Result<PartEvaluation, TrainError> {
    let users: Vec<u32> = (0..held.len() as u32).filter(|&u| !held.of(u as usize).is_empty()).collect();
    let depth = measures.iter().map(|measure| measure.metric().depth()).try_fold(0, |a, b| Some(a.max(b?)));
    let items = ranker.items();
    let deep = if sampled.is_some() { items } else { depth.unwrap_or(items).max(k).min(items) };
    let block = (ENTRIES_AT_ONCE / deep.max(1)).clamp(1, users.len().max(1));
    let mut values: Vec<Vec<f64>> = vec![Vec::with_capacity(users.len()); measures.len()];
    let mut counts = vec![Counts::default(); measures.len()];
    let mut weights = Vec::new();
    let mut recommended = vec![0u32; items];
    for users in users.chunks(block) {
        let best =
            ranker.best(users, deep, |d| seen.choices.of(users[d] as usize), |d| seen.instead(users[d]));
        let mut lists = Lists { offsets: vec![0], ..Lists::default() };
        let mut missed = Ragged { offsets: vec![0], values: Vec::new() };
        let mut scores = Vec::new();
        for (d, &user) in users.iter().enumerate() {
            let best = best.of(d);
            best.iter().take(k).for_each(|best| recommended[best.item as usize] += 1);
            let here = held.of(user as usize);
            let mut random = sampled
                .map(|(count, seed)| (count, Stream::new(seed, "sampled evaluation").of_list(user).open()));
            for best in sample(best, here, &mut random) {
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
        for (m, result) in evaluate(&lists, &scores, measures)?.results.into_iter().enumerate() {
            values[m].extend(&result.per_list);
            counts[m].lists += result.counts.lists;
            counts[m].used += result.counts.used;
            counts[m].empty += result.counts.empty;
            if m >= weights.len() {
                weights.push(result.item_weights);
            }
        }
    }
    let results =
        measures.iter().zip(values).zip(counts).enumerate().map(|(m, ((measure, per_list), counts))| {
            let weights = weights.get(m).map_or(toprank_metrics::ItemWeights::Absent, |weights| *weights);
            MeasureResult::new(measure, per_list, counts, weights, None)
        });
    let evaluation = Evaluation { results: results.collect() };
    Ok(PartEvaluation { beyond: beyond(&recommended, seen, &users, k), evaluation, users })
}

/// All of `best`, or the held-out ones and so many others of it, in their order.
fn sample(best: &[Best], held: &[u32], random: &mut Option<(usize, Random)>) -> Vec<Best> {
    let Some((count, random)) = random else { return best.to_vec() };
    let is_held = |best: &Best| held.binary_search(&best.item).is_ok();
    let others = best.iter().filter(|best| !is_held(best)).count();
    // Each other item is kept with the probability of what is still wanted among what is still to come.
    let (mut wanted, mut left) = ((*count).min(others), others);
    let mut keep = |best: &&Best| {
        if is_held(best) {
            return true;
        }
        let kept = random.below(left) < wanted;
        left -= 1;
        wanted -= usize::from(kept);
        kept
    };
    best.iter().filter(|best| keep(best)).copied().collect()
}

fn beyond(recommended: &[u32], seen: &History, users: &[u32], k: usize) -> BeyondAccuracy {
    let all_users = seen.choices.len().max(1) as f64;
    let share = |item: usize| f64::from(seen.popular[item]) / all_users;
    let total: f64 = recommended.iter().map(|&n| f64::from(n)).sum();
    let mean = |value: &dyn Fn(usize) -> f64| {
        let sum: f64 = recommended.iter().enumerate().map(|(item, &n)| f64::from(n) * value(item)).sum();
        if total > 0.0 { sum / total } else { 0.0 }
    };
    let popularity = mean(&share);
    let (mut before, mut pairs) = (0.0, 0usize);
    for &user in users {
        let chosen = seen.choices.of(user as usize);
        before += chosen.iter().map(|&item| share(item as usize)).sum::<f64>();
        pairs += chosen.len();
    }
    let before = if pairs > 0 { before / pairs as f64 } else { 0.0 };
    let mut sorted: Vec<f64> = recommended.iter().map(|&n| f64::from(n)).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let ranked: f64 = sorted.iter().zip(1..).map(|(count, place)| f64::from(place) * count).sum();
    BeyondAccuracy {
        k,
        coverage: recommended.iter().filter(|n| **n > 0).count() as f64 / n.max(1.0),
        novelty: mean(&|item| -share(item).max(0.5 / all_users).log2()),
        popularity,
        popularity_lift: if before > 0.0 { popularity / before } else { 0.0 },
        gini: if total > 0.0 { 2.0 * ranked / (n * total) - (n + 1.0) / n } else { 0.0 },
    }
}
