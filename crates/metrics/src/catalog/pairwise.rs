//! All pairs of a list at once: ordered-pair accuracy, Kendall's tau, Spearman's rho.

use toprank_core::Policy;

use crate::metric::{Metric, TieRule};
use crate::rank::{Groups, Item, Ranked};

#[doc = include_str!("../pages/pairs.md")]
#[derive(Clone, Copy, Debug)]
pub struct Pairs;

#[doc = include_str!("../pages/kendall.md")]
#[derive(Clone, Copy, Debug)]
pub struct Kendall;

#[doc = include_str!("../pages/spearman.md")]
#[derive(Clone, Copy, Debug)]
pub struct Spearman;

/// Pairs by kind; with weights a pair counts the product of its two.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct PairCounts {
    all: f64,
    same_score: f64,
    same_label: f64,
    same_both: f64,
    discordant: f64,
}

impl PairCounts {
    /// Pairs of different label.
    fn graded(&self) -> f64 {
        self.all - self.same_label
    }

    /// Pairs of different label and equal score.
    fn tied(&self) -> f64 {
        self.same_score - self.same_both
    }
}

/// Counts pairs in O(n log n): a merge sort by label of the items in rank order meets each discordant pair once.
fn count_pairs(ranked: &Ranked, groups: Groups, weighted: bool) -> PairCounts {
    let labels = ranked.labels();
    let weights = ranked.weights().filter(|_| weighted);
    let item = |place: usize| Item {
        label: labels[place],
        weight: weights.map_or(1.0, |weights| f64::from(weights[place])),
    };
    let mut counts = PairCounts::default();
    ranked.with_items(|items| {
        for group in groups {
            let start = items.len();
            items.extend(group.map(item).filter(|item| !item.label.is_nan()));
            let tied = &mut items[start..];
            if tied.len() > 1 {
                // Best first: no pair of a tie is then met as discordant.
                tied.sort_unstable_by(|a, b| b.label.total_cmp(&a.label));
                counts.same_score += pairs_of(tied.iter().map(|item| item.weight));
                counts.same_both += pairs_of_equal_labels(tied);
            }
        }
        counts.all = pairs_of(items.iter().map(|item| item.weight));
        let n = items.len();
        items.extend_from_within(..);
        let (items, buffer) = items.split_at_mut(n);
        counts.discordant = sort_and_count(items, buffer);
        counts.same_label = pairs_of_equal_labels(items);
        counts
    })
}

/// Σ_{i<j} w_i w_j.
fn pairs_of(weights: impl Iterator<Item = f64>) -> f64 {
    weights.fold((0.0, 0.0), |(pairs, sum), w| (pairs + w * sum, sum + w)).0
}

/// The same within runs of equal labels.
fn pairs_of_equal_labels(items: &[Item]) -> f64 {
    items.chunk_by(|a, b| a.label == b.label).map(|run| pairs_of(run.iter().map(|item| item.weight))).sum()
}

/// Sorts by label, greatest first, and adds up w_i w_j of the pairs that stood the wrong way round.
fn sort_and_count(items: &mut [Item], buffer: &mut [Item]) -> f64 {
    let n = items.len();
    if n < 2 {
        return 0.0;
    }
    let middle = n / 2;
    let (left, right) = items.split_at_mut(middle);
    let (left_buffer, right_buffer) = buffer.split_at_mut(middle);
    let mut wrong = sort_and_count(left, left_buffer) + sort_and_count(right, right_buffer);
    let mut left_weight: f64 = left.iter().map(|item| item.weight).sum();
    let (mut i, mut j) = (0, middle);
    for slot in buffer.iter_mut() {
        let take_left = j == n || (i < middle && items[i].label >= items[j].label);
        if take_left {
            left_weight -= items[i].weight;
            *slot = items[i];
            i += 1;
        } else {
            wrong += items[j].weight * left_weight;
            *slot = items[j];
            j += 1;
        }
    }
    items.copy_from_slice(buffer);
    wrong
}

impl Metric for Pairs {
    fn value(&self, ranked: &Ranked, _policy: &Policy) -> Option<f64> {
        let counts = count_pairs(ranked, ranked.groups(), true);
        let graded = counts.graded();
        (graded > 0.0).then(|| (1.0 - (counts.discordant + counts.tied() / 2.0) / graded).clamp(0.0, 1.0))
    }

    fn takes_item_weights(&self) -> bool {
        true
    }

    fn rules(&self) -> &'static [&'static str] {
        &[]
    }
}

impl Metric for Kendall {
    fn value(&self, ranked: &Ranked, _policy: &Policy) -> Option<f64> {
        let counts = count_pairs(ranked, ranked.score_groups(), false);
        let (graded, scored) = (counts.graded(), counts.all - counts.same_score);
        if graded == 0.0 {
            return None;
        }
        let concordant = graded - counts.tied() - counts.discordant;
        let spread = (graded * scored).sqrt();
        Some(if spread > 0.0 { (concordant - counts.discordant) / spread } else { 0.0 })
    }

    fn tie_rule(&self, _weighted: bool) -> TieRule {
        TieRule::Own
    }

    fn rules(&self) -> &'static [&'static str] {
        &[]
    }
}

impl Metric for Spearman {
    fn value(&self, ranked: &Ranked, _policy: &Policy) -> Option<f64> {
        ranked.with_scratch(|sorted| {
            sorted.extend(ranked.labels().iter().filter(|y| !y.is_nan()).map(|&y| f64::from(y)));
            sorted.sort_unstable_by(f64::total_cmp);
            correlation_of_ranks(ranked, sorted)
        })
    }

    fn tie_rule(&self, _weighted: bool) -> TieRule {
        TieRule::Own
    }

    fn rules(&self) -> &'static [&'static str] {
        &[]
    }
}

/// Spearman's rho of scores and labels; `sorted` holds the labels of the judged items, ascending.
fn correlation_of_ranks(ranked: &Ranked, sorted: &[f64]) -> Option<f64> {
    let n = sorted.len();
    if n < 2 || sorted[0] == sorted[n - 1] {
        return None;
    }
    // Twice the middle rank less its mean, (first + last) − (n − 1) counted from 0: integers, no rounding.
    let centred = |first: usize, count: usize| (2 * first + count - 1) as f64 - (n - 1) as f64;
    let label_rank = |y: f64| {
        let first = sorted.partition_point(|&other| other < y);
        centred(first, sorted[first..].partition_point(|&other| other <= y))
    };
    let labels = ranked.labels();
    let (mut both, mut by_score, mut by_label, mut above) = (0.0, 0.0, 0.0, 0);
    for group in ranked.score_groups() {
        let tied = || labels[group.clone()].iter().filter(|y| !y.is_nan());
        let count = tied().count();
        if count > 0 {
            let score_rank = centred(n - above - count, count);
            above += count;
            for &y in tied() {
                let label_rank = label_rank(f64::from(y));
                both += score_rank * label_rank;
                by_score += score_rank * score_rank;
                by_label += label_rank * label_rank;
            }
        }
    }
    Some(if by_score > 0.0 { (both / (by_score * by_label).sqrt()).clamp(-1.0, 1.0) } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toprank_core::{List, Policy};

    use crate::testing::{value, value_of};
    use crate::{Measure, Work};

    #[test]
    fn buffers_of_the_list_before_do_not_show() {
        let mut work = Work::default();
        for measure in Measure::parse_all("pairs,kendall,spearman", &Policy::default()).unwrap() {
            for n in [40u16, 3, 0, 17] {
                let scores: Vec<f64> = (0..n).map(|i| f64::from(i * 7 % 5)).collect();
                let labels: Vec<f32> = (0..n).map(|i| f32::from(i * 3 % 4)).collect();
                let list = List::new(&scores, &labels);
                let fresh = measure.of_list(&list, &mut Work::default());
                assert_eq!(measure.of_list(&list, &mut work), fresh, "{} of {n}", measure.name());
            }
        }
    }

    #[test]
    fn worked_by_hand() {
        // The scores put the label 1 above the label 2: one of three pairs stands wrong.
        let (scores, labels) = (&[3.0, 2.0, 1.0], &[1.0, 2.0, 0.0]);
        assert_eq!(value("pairs", scores, labels), Some(1.0 - 1.0 / 3.0));
        assert_eq!(value("kendall", scores, labels), Some((2.0 - 1.0) / 3.0));
        assert_eq!(value("spearman", scores, labels), Some(1.0 - 6.0 * 2.0 / (3.0 * (9.0 - 1.0))));
    }

    #[test]
    fn constant_scores_say_nothing_and_constant_labels_ask_nothing() {
        for spec in ["kendall", "spearman"] {
            assert_eq!(value(spec, &[1.0; 3], &[0.0, 1.0, 2.0]), Some(0.0));
            assert_eq!(value(spec, &[1.0, 2.0, 3.0], &[1.0; 3]), None);
        }
    }

    proptest! {
        #[test]
        fn pair_counts_equal_the_plain_double_loop(
            items in prop::collection::vec((0..4u8, 0..3u8, 1..4u8), 2..12)
        ) {
            let scores: Vec<f64> = items.iter().map(|item| f64::from(item.0)).collect();
            let labels: Vec<f32> = items.iter().map(|item| f32::from(item.1)).collect();
            let weights: Vec<f32> = items.iter().map(|item| f32::from(item.2)).collect();
            let (mut right, mut pairs, mut c, mut d, mut n1, mut n2, mut n0) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
            for i in 0..items.len() {
                for j in 0..i {
                    let w = f64::from(weights[i]) * f64::from(weights[j]);
                    let order = (scores[i] - scores[j]) * f64::from(labels[i] - labels[j]);
                    n0 += 1.0;
                    n1 += f64::from(u8::from(scores[i] == scores[j]));
                    n2 += f64::from(u8::from(labels[i] == labels[j]));
                    c += f64::from(u8::from(order > 0.0));
                    d += f64::from(u8::from(order < 0.0));
                    if labels[i] != labels[j] {
                        pairs += w;
                        right += if order > 0.0 { w } else if order == 0.0 { w / 2.0 } else { 0.0 };
                    }
                }
            }
            let list = List { weights: Some(&weights), ..List::new(&scores, &labels) };
            let want = (pairs > 0.0).then(|| right / pairs);
            let got = value_of("pairs", &list);
            prop_assert_eq!(got.is_some(), want.is_some());
            prop_assert!((got.unwrap_or(0.0) - want.unwrap_or(0.0)).abs() < 1e-12);
            if pairs > 0.0 {
                let spread = f64::sqrt((n0 - n1) * (n0 - n2));
                let want = if spread > 0.0 { (c - d) / spread } else { 0.0 };
                prop_assert!((value("kendall", &scores, &labels).unwrap() - want).abs() < 1e-12);
            }
        }
    }
}
