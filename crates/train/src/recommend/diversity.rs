/*!
What the first recommended items of all users are like, beyond how accurate they are, with intervals over users.

```text
intra-list distance = mean over users of the mean over pairs of its items of 1 − |U_i ∩ U_j| / √(|U_i| |U_j|)     U_i: users who chose i
serendipity         = mean over users of the fraction of its items that were held out and are not among the k most popular unseen ones
```

Coverage, novelty, popularity, its lift and the Gini coefficient are those of [`BeyondAccuracy`]. The interval of a figure is its value ± 1.96
standard deviations over resamples of users (a resample has fewer different users, so its coverage is smaller: percentiles would be
wrong).
*/

use rayon::prelude::*;
use toprank_core::{Choices, Stream};

use super::evaluate::{FirstItems, figures};

/// Resamples of users.
const RESAMPLES: u64 = 200;
/// Users whose lists are looked at pair by pair, at most; they are evenly spaced.
const USERS_OF_PAIRS: usize = 2000;
/// 97.5 % quantile of the normal distribution.
const QUANTILE: f64 = 1.959_963_984_540_054;

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiversityFigure {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// The names of the figures, in their order.
const NAMES: [&str; 7] =
    ["coverage", "novelty", "popularity", "popularity_lift", "gini", "intra_list_distance", "serendipity"];

/// All figures of the first items of `users`. `train`: who chose what; `seen`: what a user is not recommended; `held`: what it chose in
/// the part.
pub(super) fn diversity(
    first: &FirstItems,
    users: &[u32],
    [train, seen, held]: [&Choices; 3],
    k: usize,
    seed: u64,
) -> Vec<DiversityFigure> {
    let distances = distances(first, train, users.len());
    let serendipities = serendipities(first, users, [train, seen, held], k);
    let popular = train.popularity();
    let of = |users_of: &dyn Fn() -> Vec<u32>| -> [f64; 7] {
        let chosen = users_of();
        let found = figures(first, chosen.iter().map(|&d| (d, users[d as usize])), seen, &popular);
        let mean = |values: &[f64]| {
            let defined = chosen.iter().map(|&d| values[d as usize]).filter(|value| !value.is_nan());
            let (sum, count) = defined.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
            if count > 0.0 { sum / count } else { 0.0 }
        };
        let [coverage, novelty, popularity, lift, gini] = found;
        [coverage, novelty, popularity, lift, gini, mean(&distances), mean(&serendipities)]
    };
    let values = of(&|| (0..users.len() as u32).collect());
    let resampled: Vec<[f64; 7]> = (0..RESAMPLES)
        .into_par_iter()
        .map(|round| {
            of(&|| {
                let mut random = Stream::new(seed, "diversity").at_step(round).open();
                (0..users.len()).map(|_| random.below(users.len()) as u32).collect()
            })
        })
        .collect();
    let figure = |(place, name): (usize, &&'static str)| {
        let value = values[place];
        let n = resampled.len() as f64;
        let mean = resampled.iter().map(|found| found[place]).sum::<f64>() / n;
        let square = resampled.iter().map(|found| (found[place] - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let half = QUANTILE * square.sqrt();
        DiversityFigure { name, value, low: value - half, high: value + half }
    };
    NAMES.iter().enumerate().map(figure).collect()
}

/// The mean distance of the pairs of each list; NaN where it is not looked at or has no pair.
fn distances(first: &FirstItems, train: &Choices, users: usize) -> Vec<f64> {
    let mut by_item: Vec<Vec<u32>> = vec![Vec::new(); train.item_count];
    for user in 0..train.len() {
        for &item in train.of(user) {
            by_item[item as usize].push(user as u32);
        }
    }
    let every = users.div_ceil(USERS_OF_PAIRS).max(1);
    let looked_at = |d: usize| d.is_multiple_of(every).then(|| first.of(d));
    let pairs_of = |items: &[u32]| -> Vec<(u32, u32)> {
        let pair = |(at, &a): (usize, &u32)| {
            items[at + 1..].iter().map(move |&b| (a.min(b), a.max(b))).collect::<Vec<_>>()
        };
        items.iter().enumerate().flat_map(pair).collect()
    };
    // Many users are recommended the same pairs: each is looked at once.
    let mut pairs: Vec<(u32, u32)> = (0..users).filter_map(looked_at).flat_map(pairs_of).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let found: Vec<f64> =
        pairs.par_iter().map(|&(a, b)| distance(&by_item[a as usize], &by_item[b as usize])).collect();
    let of_pair = |pair: &(u32, u32)| pairs.binary_search(pair).map_or(f64::NAN, |at| found[at]);
    let of_user = |d: usize| {
        let own = looked_at(d).map_or(Vec::new(), pairs_of);
        if own.is_empty() { f64::NAN } else { own.iter().map(of_pair).sum::<f64>() / own.len() as f64 }
    };
    (0..users).map(of_user).collect()
}

/// 1 − cosine of two items by who chose them, ascending; nobody chose one: 1.
fn distance(a: &[u32], b: &[u32]) -> f64 {
    let (mut common, mut at) = (0usize, 0);
    for user in a {
        while at < b.len() && b[at] < *user {
            at += 1;
        }
        common += usize::from(b.get(at) == Some(user));
    }
    let norm = (a.len() as f64 * b.len() as f64).sqrt();
    if norm > 0.0 { 1.0 - common as f64 / norm } else { 1.0 }
}

/// The fraction of the items of each list that were held out and are not among the most popular unseen ones.
fn serendipities(
    first: &FirstItems,
    users: &[u32],
    [train, seen, held]: [&Choices; 3],
    k: usize,
) -> Vec<f64> {
    let counts = train.popularity();
    let mut order: Vec<u32> = (0..train.item_count as u32).collect();
    order.sort_by_key(|&item| (std::cmp::Reverse(counts[item as usize]), item));
    let of_user = |(d, &user): (usize, &u32)| {
        let user = user as usize;
        let unseen = order.iter().filter(|item| seen.of(user).binary_search(item).is_err());
        let expected: Vec<u32> = unseen.take(k).copied().collect();
        let items = first.of(d);
        let hit = |item: &&u32| held.of(user).binary_search(item).is_ok() && !expected.contains(item);
        if items.is_empty() { f64::NAN } else { items.iter().filter(hit).count() as f64 / items.len() as f64 }
    };
    users.par_iter().enumerate().map(of_user).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Item 0 was chosen by users 0, 1, 2; item 1 by 0, 1; item 2 by 2; item 3 by nobody.
    fn train() -> Choices {
        let pairs = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 2)];
        Choices::from_pairs(3, 4, pairs.into_iter().map(|(user, item)| (user, item, 1.0)).collect())
    }

    #[test]
    fn distances_and_serendipity_are_those_worked_out_by_hand() {
        let train = train();
        let first = FirstItems { offsets: vec![0, 2, 4, 6], items: vec![2, 3, 3, 2, 1, 3] };
        // Nobody chose item 3.
        assert_eq!(distances(&first, &train, 3), [1.0, 1.0, 1.0]);
        let near = FirstItems { offsets: vec![0, 3], items: vec![0, 1, 2] };
        let expected = [1.0 - 2.0 / 6f64.sqrt(), 1.0 - 1.0 / 3f64.sqrt(), 1.0];
        assert!((distances(&near, &train, 1)[0] - expected.iter().sum::<f64>() / 3.0).abs() < 1e-12);
        // The most popular unseen item is 2 for users 0 and 1 and 1 for user 2; held out are 3, 3 and 1.
        let held = Choices::from_pairs(3, 4, vec![(0, 3, 1.0), (1, 3, 1.0), (2, 1, 1.0)]);
        assert_eq!(serendipities(&first, &[0, 1, 2], [&train, &train, &held], 1), [0.5, 0.5, 0.0]);
    }

    #[test]
    fn intervals_hold_the_value_and_narrow_with_the_number_of_users() {
        let many = |users: usize| {
            let (mut offsets, mut items) = (vec![0], Vec::new());
            let mut random = Stream::new(3, "test").open();
            let pairs = (0..users as u32).map(|u| (u, random.below(50) as u32, 1.0)).collect();
            let train = Choices::from_pairs(users, 50, pairs);
            for _ in 0..users {
                let item = random.below(49) as u32;
                items.extend([item, item + 1]);
                offsets.push(items.len() as u64);
            }
            let all: Vec<u32> = (0..users as u32).collect();
            diversity(&FirstItems { offsets, items }, &all, [&train, &train, &train], 2, 1)
        };
        let [few, more] = [many(60), many(960)];
        for figure in few.iter().chain(&more) {
            assert!(figure.low <= figure.value && figure.value <= figure.high, "{figure:?}");
        }
        let novelty = |figures: &[DiversityFigure]| figures[1].high - figures[1].low;
        let narrower = novelty(&few) / novelty(&more);
        assert!(
            narrower > 2.5,
            "a quarter with 16 times the users, less as popularity is known better: {narrower}"
        );
        assert_eq!(many(60), few, "the same draws");
    }
}
