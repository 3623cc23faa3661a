//! k of n, every set equally likely.

use toprank_core::stream::Random;

use super::bits::{WORD, put};

/// Draws sets of numbers; its memory grows, never shrinks.
#[derive(Debug, Default)]
pub(super) struct Chooser {
    /// One bit per number that has been taken; all 0 between draws.
    taken: Vec<u64>,
    chosen: Vec<u32>,
}

impl Chooser {
    /// `k` of the numbers 0..n, ascending; all of them if `k ≥ n`. O(k log k) time, however large n is.
    pub fn choose(&mut self, n: usize, k: usize, random: &mut Random) -> &[u32] {
        self.draw(n, k, random);
        self.chosen.sort_unstable();
        &self.chosen
    }

    /// The same in no order, for those who sort them with others.
    ///
    /// Floyd's method: for j from n − k to n − 1 draw t in 0..=j, take t, or j where t is taken already: k random numbers.
    pub fn draw(&mut self, n: usize, k: usize, random: &mut Random) -> &[u32] {
        self.chosen.clear();
        if k >= n {
            self.chosen.extend(0..n as u32);
            return &self.chosen;
        }
        let Chooser { taken, chosen } = self;
        floyd(n, k, taken, random, |pick| chosen.push(pick));
        for &pick in &*chosen {
            taken[pick as usize / WORD] = 0;
        }
        chosen
    }

    /// The same as a set of bits, which is handed to `see`.
    pub fn with_bits<T>(
        &mut self,
        n: usize,
        k: usize,
        random: &mut Random,
        see: impl FnOnce(&[u64]) -> T,
    ) -> T {
        let words = n.div_ceil(WORD);
        if k >= n {
            self.taken.clear();
            self.taken.resize(words, u64::MAX);
            if !n.is_multiple_of(WORD) {
                self.taken[words - 1] = (1 << (n % WORD)) - 1;
            }
        } else {
            floyd(n, k, &mut self.taken, random, |_| ());
        }
        let seen = see(&self.taken[..words]);
        self.taken[..words].fill(0);
        seen
    }
}

/// `k` of the numbers 0..n, fewer than n, each said as it is picked and then among the `taken`.
fn floyd(n: usize, k: usize, taken: &mut Vec<u64>, random: &mut Random, mut say: impl FnMut(u32)) {
    if taken.len() < n.div_ceil(WORD) {
        taken.resize(n.div_ceil(WORD), 0);
    }
    for j in n - k..n {
        let t = random.below(j + 1);
        let pick = if taken[t / WORD] >> (t % WORD) & 1 == 0 { t } else { j };
        put(taken, pick as u32);
        say(pick as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::super::bits::empty_into;
    use super::*;
    use toprank_core::Stream;

    #[test]
    fn every_set_is_equally_likely() {
        let mut chooser = Chooser::default();
        let mut random = Stream::new(3, "test").open();
        let mut counts = std::collections::BTreeMap::new();
        let draws = 60_000;
        for _ in 0..draws {
            *counts.entry(chooser.choose(5, 3, &mut random).to_vec()).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 10);
        // 6,000 each, standard deviation 73: five of them.
        for (set, count) in counts {
            assert!(set.windows(2).all(|w| w[0] < w[1]));
            assert!(count.abs_diff(draws / 10) < 370, "{set:?} came {count} times");
        }
    }

    #[test]
    fn a_draw_is_the_same_set() {
        let mut chooser = Chooser::default();
        for (n, k) in [(9, 4), (200, 50), (3, 3), (2, 0), (70, 70), (64, 64), (65, 64)] {
            let open = || Stream::new(4, "test").open();
            let mut drawn = chooser.draw(n, k, &mut open()).to_vec();
            drawn.sort_unstable();
            assert_eq!(drawn, chooser.choose(n, k, &mut open()));
            let mut numbers = Vec::new();
            chooser.with_bits(n, k, &mut open(), |bits| empty_into(&mut bits.to_vec(), &mut numbers));
            assert_eq!(drawn, numbers);
        }
    }

    #[test]
    fn all_are_chosen_where_there_are_not_more() {
        let mut random = Stream::new(3, "test").open();
        let mut chooser = Chooser::default();
        assert_eq!(chooser.choose(3, 3, &mut random), [0, 1, 2]);
        assert_eq!(chooser.choose(2, usize::MAX, &mut random), [0, 1]);
        assert!(chooser.choose(0, 4, &mut random).is_empty());
        assert!(chooser.choose(4, 0, &mut random).is_empty());
    }

    #[test]
    fn large_sets_have_no_number_twice() {
        let mut random = Stream::new(3, "test").open();
        let mut chooser = Chooser::default();
        for (n, k) in [(1000, 999), (1000, 500), (64, 63), (65, 1), (100_000, 300)] {
            let chosen = chooser.choose(n, k, &mut random).to_vec();
            assert_eq!(chosen.len(), k);
            assert!(chosen.windows(2).all(|w| w[0] < w[1]) && (chosen[k - 1] as usize) < n);
        }
    }
}
