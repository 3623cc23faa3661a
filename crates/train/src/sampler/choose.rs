//! k of n, every set equally likely.

use toprank_core::stream::Random;

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
        if self.taken.len() < n.div_ceil(64) {
            self.taken.resize(n.div_ceil(64), 0);
        }
        for j in n - k..n {
            let t = random.below(j + 1);
            let pick = if self.taken[t / 64] >> (t % 64) & 1 == 0 { t } else { j };
            self.taken[pick / 64] |= 1 << (pick % 64);
            self.chosen.push(pick as u32);
        }
        for &pick in &self.chosen {
            self.taken[pick as usize / 64] = 0;
        }
        &self.chosen
    }
}

#[cfg(test)]
mod tests {
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
        for (n, k) in [(9, 4), (200, 50), (3, 3), (2, 0)] {
            let open = || Stream::new(4, "test").open();
            let mut drawn = chooser.draw(n, k, &mut open()).to_vec();
            drawn.sort_unstable();
            assert_eq!(drawn, chooser.choose(n, k, &mut open()));
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
