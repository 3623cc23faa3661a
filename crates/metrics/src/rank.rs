/*!
One list put in order once, for all metrics asked of it.

```text
key(i)  = the bits of the score, so mapped that a greater score is a smaller integer,
          with the low ⌈log2 n⌉ bits replaced by i
sort the keys                    (integers, branch-free, and the index rides along)
repair: in each run of keys that agree in the kept bits, order by the exact scores
ties:   equal scores can only stand in such a run
```

Tricks: the index inside the key saves the pair (score, index); most lists have no run at all, so the repair is one
pass over neighbours; a run of *equal* scores is already in input order; when every metric looks at the top k
only, the rest is not sorted. Long lists are sorted by all threads; keys differ, so the result does not depend on
how many there are.

−0.0 equals 0.0. Infinite scores are ordered like any other; a NaN has no place in an order and is an error.
*/

use std::cell::RefCell;
use std::ops::Range;

use rayon::slice::ParallelSliceMut;
use toprank_core::{List, ScoreBits, Ties};

/// Above this many items one list is worth the threads of the pool.
const PARALLEL_FROM: usize = 1 << 16;

/// Buffers that grow and are used again, list after list. One per thread.
///
/// ```
/// use toprank_core::{List, ScoreBits, Ties};
/// use toprank_metrics::Work;
/// let mut work = Work::default();
/// let list = List::new(&[0.1, 0.7, 0.3], &[0.0, 1.0, 2.0]);
/// let ranked = work.rank(&list, Ties::Averaged, ScoreBits::F64, None).unwrap();
/// assert_eq!(ranked.labels(), &[1.0, 2.0, 0.0]);
/// ```
#[derive(Debug, Default)]
pub struct Work {
    keys: Vec<u64>,
    labels: Vec<f32>,
    weights: Vec<f32>,
    ends: Vec<u32>,
    scratch: RefCell<Vec<f64>>,
    items: RefCell<Vec<Item>>,
}

/// A judged item as the pairwise metrics sort it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub label: f32,
    pub weight: f64,
}

/// A list in rank order: what a metric sees.
#[derive(Clone, Copy, Debug)]
pub struct Ranked<'a> {
    labels: &'a [f32],
    weights: Option<&'a [f32]>,
    missed: &'a [f32],
    ends: &'a [u32],
    averaged: bool,
    scratch: &'a RefCell<Vec<f64>>,
    items: &'a RefCell<Vec<Item>>,
}

/// An item whose score is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotANumber {
    /// Place of the item in its list, from 0.
    pub item: usize,
}

/// The score as it is compared: rounded if the policy says so, and −0.0 as 0.0.
#[inline]
fn compared(score: f64, bits: ScoreBits) -> f64 {
    match bits {
        ScoreBits::F64 => score + 0.0,
        ScoreBits::F32 => f64::from(score as f32) + 0.0,
    }
}

/// Bits of a score, greater score first: `a > b` exactly if `descending(a) < descending(b)`.
#[inline]
fn descending(score: f64) -> u64 {
    let bits = score.to_bits();
    let ascending = bits ^ ((((bits as i64) >> 63) as u64) | (1 << 63));
    !ascending
}

impl Work {
    /// Puts `list` in order. `depth` tells that only the first so many places matter; the others then follow in
    /// an unspecified but fixed order (a tie that reaches over the border is kept whole).
    ///
    /// Cost: O(n log n), or O(n + depth log depth) where `depth` is small.
    pub fn rank<'a>(
        &'a mut self,
        list: &List<'a>,
        ties: Ties,
        bits: ScoreBits,
        depth: Option<usize>,
    ) -> Result<Ranked<'a>, NotANumber> {
        let n = list.len();
        let low = usize::BITS - n.saturating_sub(1).leading_zeros();
        let mask = (1u64 << low) - 1;
        let score = |i: usize| compared(list.scores[i], bits);
        self.fill_keys(list.scores, bits, mask)?;
        let sorted = self.sort(depth, mask);
        let tied = self.repair(low, mask, sorted, score, list, ties);
        let keys = &self.keys;
        self.labels.clear();
        self.labels.extend(keys.iter().map(|key| list.labels[(key & mask) as usize]));
        let weights = list.weights.map(|weights| {
            self.weights.clear();
            self.weights.extend(keys.iter().map(|key| weights[(key & mask) as usize]));
            self.weights.as_slice()
        });
        Ok(Ranked {
            labels: &self.labels,
            weights,
            missed: list.missed,
            ends: if tied { &self.ends } else { &[] },
            averaged: ties == Ties::Averaged,
            scratch: &self.scratch,
            items: &self.items,
        })
    }

    /// The item at each place of the list that was ranked last.
    pub(crate) fn items_in_order(&self) -> impl Iterator<Item = u32> {
        let low = usize::BITS - self.keys.len().saturating_sub(1).leading_zeros();
        let mask = (1u64 << low) - 1;
        self.keys.iter().map(move |key| (key & mask) as u32)
    }

    /// A list that is in order already, place by place: `(label, weight, times, starts a new score)`, where `times` says
    /// how often the item is in the list. Weights are kept if `weighted`.
    pub(crate) fn repeated<'a>(
        &'a mut self,
        places: impl Iterator<Item = (f32, f32, u32, bool)>,
        weighted: bool,
        ties: Ties,
        missed: &'a [f32],
    ) -> Ranked<'a> {
        self.labels.clear();
        self.weights.clear();
        self.ends.clear();
        for (label, weight, times, new) in places {
            let end = self.labels.len() as u32;
            if new && end > self.ends.last().copied().unwrap_or(0) {
                self.ends.push(end);
            }
            for _ in 0..times {
                self.labels.push(label);
                if weighted {
                    self.weights.push(weight);
                }
            }
        }
        let n = self.labels.len() as u32;
        if n > self.ends.last().copied().unwrap_or(0) {
            self.ends.push(n);
        }
        // No two items of one score: as `rank` says it.
        let ends: &[u32] = if self.ends.len() == n as usize { &[] } else { &self.ends };
        Ranked {
            labels: &self.labels,
            weights: weighted.then_some(self.weights.as_slice()),
            missed,
            ends,
            averaged: ties == Ties::Averaged,
            scratch: &self.scratch,
            items: &self.items,
        }
    }

    fn fill_keys(&mut self, scores: &[f64], bits: ScoreBits, mask: u64) -> Result<(), NotANumber> {
        let mut not_a_number = false;
        self.keys.clear();
        self.keys.extend(scores.iter().enumerate().map(|(i, &s)| {
            not_a_number |= s.is_nan();
            (descending(compared(s, bits)) & !mask) | i as u64
        }));
        if not_a_number {
            return Err(NotANumber { item: scores.iter().position(|s| s.is_nan()).unwrap_or(0) });
        }
        Ok(())
    }

    /// Sorts the keys, or only the first `depth` of them and all that agree with the last of these in the kept
    /// bits. Returns how many stand in order.
    fn sort(&mut self, depth: Option<usize>, mask: u64) -> usize {
        let n = self.keys.len();
        // A quarter of the list: beyond, selecting and sorting costs as much as sorting all.
        if let Some(k) = depth.filter(|&k| k > 0 && k <= n / 4) {
            let (_, &mut last, rest) = self.keys.select_nth_unstable(k - 1);
            let mut taken = 0;
            for i in 0..rest.len() {
                if rest[i] & !mask == last & !mask {
                    rest.swap(taken, i);
                    taken += 1;
                }
            }
            self.keys[..k + taken].sort_unstable();
            return k + taken;
        }
        if n >= PARALLEL_FROM {
            self.keys.par_sort_unstable();
        } else {
            self.keys.sort_unstable();
        }
        n
    }

    /// Orders the runs of keys that agree in the kept bits, and notes where groups of equal scores end.
    /// Returns whether two scores were equal; only then are the ends filled.
    fn repair(
        &mut self,
        low: u32,
        mask: u64,
        sorted: usize,
        score: impl Fn(usize) -> f64,
        list: &List,
        ties: Ties,
    ) -> bool {
        let keys = &mut self.keys;
        let n = keys.len();
        let same = |a: u64, b: u64| (a ^ b) >> low == 0;
        if !keys[..sorted].windows(2).any(|pair| same(pair[0], pair[1])) {
            return false;
        }
        self.ends.clear();
        let mut tied = false;
        let mut start = 0;
        while start < sorted {
            let mut end = start + 1;
            while end < sorted && same(keys[start], keys[end]) {
                end += 1;
            }
            let run = &mut keys[start..end];
            let index = |key: &u64| (key & mask) as usize;
            let first = score(index(&run[0]));
            if run.iter().any(|key| score(index(key)) != first) {
                run.sort_unstable_by(|a, b| score(index(b)).total_cmp(&score(index(a))).then(a.cmp(b)));
            }
            let mut from = start;
            while from < end {
                let value = score(index(&keys[from]));
                let mut to = from + 1;
                while to < end && score(index(&keys[to])) == value {
                    to += 1;
                }
                self.ends.push(to as u32);
                if to > from + 1 {
                    tied = true;
                    order_ties(&mut keys[from..to], mask, list, ties);
                }
                from = to;
            }
            start = end;
        }
        // What was not sorted is never looked at by rank: each such item stands alone.
        self.ends.extend(sorted as u32 + 1..=n as u32);
        tied
    }
}

/// Puts items of equal score, which stand in input order, in the order that the policy wants.
fn order_ties(keys: &mut [u64], mask: u64, list: &List, ties: Ties) {
    match (ties, list.tie_keys) {
        (Ties::Trec, Some(places)) => {
            keys.sort_unstable_by_key(|key| (places[(key & mask) as usize], *key));
        }
        (Ties::Worst, _) => {
            // An unjudged item first: no metric rewards it.
            let label = |key: &u64| {
                let label = list.labels[(key & mask) as usize];
                if label.is_nan() { f32::NEG_INFINITY } else { label }
            };
            keys.sort_unstable_by(|a, b| label(a).total_cmp(&label(b)).then(a.cmp(b)));
        }
        (Ties::Averaged | Ties::Input | Ties::Trec, _) => {}
    }
}

impl<'a> Ranked<'a> {
    /// Number of items.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// True if the list has no item.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Labels in rank order; NaN = not judged.
    pub fn labels(&self) -> &'a [f32] {
        self.labels
    }

    /// Weights in rank order.
    pub fn weights(&self) -> Option<&'a [f32]> {
        self.weights
    }

    /// Labels of judged items that were not retrieved.
    pub fn missed(&self) -> &'a [f32] {
        self.missed
    }

    /// Labels of all judged items, retrieved or not.
    pub fn judged(&self) -> impl Iterator<Item = f32> + Clone + 'a {
        self.labels.iter().chain(self.missed).copied()
    }

    /// Whether the value is an average over orders: equal scores under [`Ties::Averaged`].
    #[inline]
    pub fn has_ties(&self) -> bool {
        self.averaged && !self.ends.is_empty()
    }

    /// Groups of places whose items may stand in any order: items of equal score under [`Ties::Averaged`], single
    /// items under every other rule, from the top down.
    #[inline]
    pub fn groups(&self) -> Groups<'a> {
        Groups { ends: if self.averaged { self.ends } else { &[] }, start: 0, next: 0, len: self.len() }
    }

    /// Groups of places whose items have equal scores, whatever the rule for ties.
    pub fn score_groups(&self) -> Groups<'a> {
        Groups { ends: self.ends, start: 0, next: 0, len: self.len() }
    }

    /// Runs `use_it` on an empty buffer that keeps its memory from list to list.
    pub(crate) fn with_scratch<T>(&self, use_it: impl FnOnce(&mut Vec<f64>) -> T) -> T {
        let mut scratch = self.scratch.borrow_mut();
        scratch.clear();
        use_it(&mut scratch)
    }

    /// The same for items.
    pub(crate) fn with_items<T>(&self, use_it: impl FnOnce(&mut Vec<Item>) -> T) -> T {
        let mut items = self.items.borrow_mut();
        items.clear();
        use_it(&mut items)
    }
}

/// Iterator over groups of places, see [`Ranked::groups`].
#[derive(Clone, Debug)]
pub struct Groups<'a> {
    ends: &'a [u32],
    start: usize,
    next: usize,
    len: usize,
}

impl Iterator for Groups<'_> {
    type Item = Range<usize>;

    #[inline]
    fn next(&mut self) -> Option<Range<usize>> {
        if self.start >= self.len {
            return None;
        }
        let end = if self.ends.is_empty() { self.start + 1 } else { self.ends[self.next] as usize };
        self.next += 1;
        let start = std::mem::replace(&mut self.start, end);
        Some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The plain order: by score as compared, then as the rule for ties says, then as given.
    fn plain_order(list: &List, ties: Ties, bits: ScoreBits) -> Vec<usize> {
        let mut order: Vec<usize> = (0..list.len()).collect();
        let rank = |y: f32| if y.is_nan() { f32::NEG_INFINITY } else { y };
        order.sort_by(|&a, &b| {
            let by_score = compared(list.scores[b], bits).total_cmp(&compared(list.scores[a], bits));
            by_score.then(match (ties, list.tie_keys) {
                (Ties::Trec, Some(keys)) => keys[a].cmp(&keys[b]),
                (Ties::Worst, _) => rank(list.labels[a]).total_cmp(&rank(list.labels[b])),
                _ => std::cmp::Ordering::Equal,
            })
        });
        order
    }

    /// Scores that make trouble: equal, equal in all kept bits, zeros of both signs, infinite, far apart.
    fn score() -> impl Strategy<Value = f64> {
        let near = (0..40u64).prop_map(|steps| f64::from_bits(1.0f64.to_bits() + steps));
        let odd =
            prop::sample::select(vec![0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, 1e-310, -1e300, 5e300]);
        prop_oneof![near, odd, -3.0..3.0f64, (0..3i32).prop_map(f64::from)]
    }

    proptest! {
        #[test]
        fn the_keys_give_the_plain_order(items in prop::collection::vec((score(), any::<u32>()), 0..90)) {
            let scores: Vec<f64> = items.iter().map(|item| item.0).collect();
            let keys: Vec<u32> = items.iter().map(|item| item.1).collect();
            // Labels that name the items, some of them unjudged.
            let labels: Vec<f32> = (0..items.len()).map(|i| if i % 7 == 3 { f32::NAN } else { i as f32 }).collect();
            let list = List { tie_keys: Some(&keys), weights: Some(&labels), ..List::new(&scores, &labels) };
            let mut work = Work::default();
            for ties in [Ties::Averaged, Ties::Trec, Ties::Input, Ties::Worst] {
                for bits in [ScoreBits::F64, ScoreBits::F32] {
                    let order = plain_order(&list, ties, bits);
                    let want: Vec<u32> = order.iter().map(|&i| labels[i].to_bits()).collect();
                    let ranked = work.rank(&list, ties, bits, None).unwrap();
                    let got: Vec<u32> = ranked.labels().iter().map(|y| y.to_bits()).collect();
                    prop_assert_eq!(&got, &want);
                    let weights: Vec<u32> = ranked.weights().unwrap().iter().map(|y| y.to_bits()).collect();
                    prop_assert_eq!(&weights, &want);
                    let groups: Vec<usize> = ranked.score_groups().map(|group| group.end).collect();
                    let value = |place: usize| compared(scores[order[place]], bits);
                    let ends: Vec<usize> =
                        (1..=order.len()).filter(|&e| e == order.len() || value(e) != value(e - 1)).collect();
                    prop_assert_eq!(&groups, &ends);
                    prop_assert_eq!(ranked.groups().count(), if ties == Ties::Averaged { ends.len() } else { order.len() });
                    for depth in [1, 5, 20] {
                        let top = work.rank(&list, ties, bits, Some(depth)).unwrap();
                        // In place up to the border, and the tie at the border whole.
                        let border = ends.iter().copied().find(|&end| end >= depth).unwrap_or(order.len());
                        let got: Vec<u32> = top.labels()[..border].iter().map(|y| y.to_bits()).collect();
                        prop_assert_eq!(&got, &want[..border]);
                        let groups = top.score_groups().take_while(|group| group.start < depth);
                        let seen: Vec<usize> = groups.map(|group| group.end).collect();
                        let expected: Vec<usize> = ends.iter().copied().filter(|&end| end <= border).collect();
                        prop_assert_eq!(seen, expected);
                    }
                }
            }
        }
    }

    #[test]
    fn a_score_that_is_no_number_is_named() {
        let list = List::new(&[1.0, f64::NAN, f64::NAN], &[0.0; 3]);
        let got = Work::default().rank(&list, Ties::Averaged, ScoreBits::F64, None).unwrap_err();
        assert_eq!(got, NotANumber { item: 1 });
    }

    #[test]
    fn a_long_list_is_in_order_too() {
        let n = PARALLEL_FROM + 3;
        let scores: Vec<f64> = (0..n).map(|i| ((i * 7919) % n) as f64).collect();
        let labels: Vec<f32> = scores.iter().map(|&s| s as f32).collect();
        let mut work = Work::default();
        let ranked = work.rank(&List::new(&scores, &labels), Ties::Averaged, ScoreBits::F64, None).unwrap();
        assert!(ranked.labels().windows(2).all(|pair| pair[0] > pair[1]));
    }
}
