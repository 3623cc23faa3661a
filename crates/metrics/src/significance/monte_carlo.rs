//! Tests that draw: random sign flips and resamples.

use super::{Outcome, Pairs, Test};
use crate::bootstrap::resampled_means;
use rayon::prelude::*;
use toprank_core::{Stream, ordered_sum};

/// The page of `randomisation`.
pub(super) const RANDOMISATION_PAGE: &str = "\
Fisher's randomisation test, two-sided: had the two runs been swapped on each list by the toss of a coin, how
often would the mean difference be at least as large?

  p = (hits + 1) / (N + 1),   hits: sign patterns s of N with |Σ s w d| ≥ |Σ w d|

Source: Smucker, Allan, Carterette, \"A comparison of statistical significance tests for information retrieval
evaluation\", CIKM 2007. The + 1 counts the pattern that was observed, so p is never 0. If all 2^n patterns are
not more than N (and n ≤ 20), they are counted out instead and p is exact: hits / 2^n.
Undefined without lists; all differences 0: p = 1.
Sums within 1e-12 of the observed one (relative to Σ w |d|) are hits: equal up to rounding.
Cost: O(N n / 8) table look-ups on all threads; p does not depend on their number.";

/// The page of `bootstrap`.
pub(super) const BOOTSTRAP_PAGE: &str = "\
Paired bootstrap test, two-sided, shift method.

  p = (hits + 1) / (N + 1),   hits: resamples of N with |d̄* − d̄| ≥ |d̄|,   d̄ = Σ w d / Σ w

Lists are drawn with replacement, each with its weight. Source: Smucker, Allan, Carterette, CIKM 2007; Efron,
Tibshirani, \"An Introduction to the Bootstrap\", 1993, chapter 16. Undefined with fewer than 2 lists; all differences 0: p = 1. Differences all equal
and not 0: no resample is off, p = 1 / (N + 1). Cost: O(N n) on all threads; p does not depend on their number.";

/// Fisher's randomisation test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Randomisation {
    /// Random sign patterns, N.
    pub replicates: usize,
    /// Count out all patterns if those are not more than N and there are at most 20 lists.
    pub exact: bool,
}

impl Default for Randomisation {
    fn default() -> Randomisation {
        Randomisation { replicates: 100_000, exact: true }
    }
}

/// Most lists whose sign patterns are counted out: a million sums, 8 MB.
const MOST_EXACT: usize = 20;

/// How near two sums must be to be called equal, relative to the sum of absolute terms.
const ROUNDING: f64 = 1e-12;

impl Test for Randomisation {
    fn run(&self, pairs: &Pairs, seed: u64) -> Outcome {
        let n = pairs.len();
        if n == 0 {
            return Outcome::undefined(0, "no list");
        }
        let mean = pairs.mean();
        if pairs.all_zero() {
            return Outcome::new(mean, 1.0, n, "all differences are 0");
        }
        let terms = pairs.weighted_differences();
        let spread = ordered_sum(&terms.iter().map(|t| t.abs()).collect::<Vec<_>>());
        let threshold = ordered_sum(&terms).abs() - ROUNDING * spread;
        if self.exact && n <= MOST_EXACT && 1_usize << n <= self.replicates {
            let sums = signed_sums(&terms);
            let hits = sums.iter().filter(|sum| sum.abs() >= threshold).count();
            let p = hits as f64 / sums.len() as f64;
            return Outcome::new(mean, p, n, format!("exact, all {} sign patterns", sums.len()));
        }
        let hits = random_hits(&terms, threshold, self.replicates, Stream::new(seed, "randomisation test"));
        let p = (hits + 1) as f64 / (self.replicates + 1) as f64;
        Outcome::new(mean, p, n, format!("{} random sign patterns", self.replicates))
    }
}

/// Σ ± term for every pattern of signs.
fn signed_sums(terms: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; 1 << terms.len()];
    fill_signed_sums(terms, &mut sums);
    sums
}

/// `sums[pattern]` = Σ term where the pattern has a 1, − term where it has a 0; `sums.len()` = 2^terms.
fn fill_signed_sums(terms: &[f64], sums: &mut [f64]) {
    sums[0] = 0.0;
    for (bit, term) in terms.iter().enumerate() {
        let (low, high) = sums[..2 << bit].split_at_mut(1 << bit);
        for (low, high) in low.iter_mut().zip(high) {
            *high = *low + term;
            *low -= term;
        }
    }
}

/// Replicates per stream. Tables of signed sums are built once per block, so blocks are long.
const BLOCK: usize = 2048;

/// Patterns of `replicates` whose signed sum is at least `threshold` away from 0.
///
/// ```text
/// for each block of replicates, for each 64 terms:
///     tables: the 256 signed sums of each 8 terms
///     for each replicate: one random word; each of its bytes picks a sum from its table
/// ```
/// One addition serves 8 signs; the tables (16 KB) stay in the first cache.
fn random_hits(terms: &[f64], threshold: f64, replicates: usize, stream: Stream) -> usize {
    const WORD: usize = 64;
    (0..replicates.div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let mut random = stream.of_list(block as u32).open();
            let mut sums = [0.0; BLOCK];
            let sums = &mut sums[..BLOCK.min(replicates - block * BLOCK)];
            let mut tables = vec![[0.0; 256]; 8];
            for chunk in terms.chunks(WORD) {
                let mut word = [0.0; WORD];
                word[..chunk.len()].copy_from_slice(chunk);
                for (table, terms) in tables.iter_mut().zip(word.chunks_exact(8)) {
                    fill_signed_sums(terms, table);
                }
                for sum in sums.iter_mut() {
                    let bytes = random.bits().to_le_bytes();
                    let part = |i: usize| tables[i][usize::from(bytes[i])];
                    *sum += ((part(0) + part(1)) + (part(2) + part(3)))
                        + ((part(4) + part(5)) + (part(6) + part(7)));
                }
            }
            sums.iter().filter(|sum| sum.abs() >= threshold).count()
        })
        .sum()
}

/// Paired bootstrap test, shift method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// Resamples, N.
    pub replicates: usize,
}

impl Default for Bootstrap {
    fn default() -> Bootstrap {
        Bootstrap { replicates: 10_000 }
    }
}

impl Test for Bootstrap {
    fn run(&self, pairs: &Pairs, seed: u64) -> Outcome {
        let n = pairs.len();
        if n < 2 {
            return Outcome::undefined(n, "fewer than 2 lists");
        }
        let mean = pairs.mean();
        if pairs.all_zero() {
            return Outcome::new(mean, 1.0, n, "all differences are 0");
        }
        let stream = Stream::new(seed, "bootstrap test");
        let means = resampled_means(&pairs.differences, pairs.weights.as_deref(), self.replicates, stream);
        let most = pairs.differences.iter().fold(0.0_f64, |most, d| most.max(d.abs()));
        let threshold = mean.abs() - ROUNDING * most;
        let hits = means.iter().filter(|resampled| (*resampled - mean).abs() >= threshold).count();
        let p = (hits + 1) as f64 / (self.replicates + 1) as f64;
        Outcome::new(mean, p, n, format!("{} resamples", self.replicates))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_sums_are_the_sums_of_all_patterns() {
        let terms = [1.0, 10.0, 100.0];
        assert_eq!(signed_sums(&terms), [-111.0, -109.0, -91.0, -89.0, 89.0, 91.0, 109.0, 111.0]);
    }

    #[test]
    fn the_packed_kernel_equals_plain_sign_flips() {
        let terms: Vec<f64> = (0..131).map(|i| 1.0 / f64::from(i + 1)).collect();
        let stream = Stream::new(7, "test");
        for (replicates, threshold) in [(1_usize, 0.0), (3000, 1.0), (5000, 2.0)] {
            let mut plain = 0;
            for block in 0..replicates.div_ceil(BLOCK) {
                let mut random = stream.of_list(block as u32).open();
                let count = BLOCK.min(replicates - block * BLOCK);
                let mut sums = vec![0.0; count];
                for terms in terms.chunks(64) {
                    for sum in &mut sums {
                        let word = random.bits();
                        for (bit, term) in terms.iter().enumerate() {
                            *sum += if word >> bit & 1 == 1 { *term } else { -term };
                        }
                    }
                }
                plain += sums.iter().filter(|sum: &&f64| sum.abs() >= threshold).count();
            }
            assert_eq!(random_hits(&terms, threshold, replicates, stream), plain);
        }
    }
}
