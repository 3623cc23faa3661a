//! Tests on signs and ranks of the differences.

use super::{Outcome, Pairs, TIE, Test};
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};

/// The page of `wilcoxon`.
pub(super) const WILCOXON_PAGE: &str = "\
Wilcoxon signed-rank test, two-sided.

  T = min(Σ ranks of d > 0, Σ ranks of d < 0),   ranks of |d|, ties averaged

Differences of 0 (up to 1e-12) are dropped first; |d| that differ by no more than 1e-12 are tied.
p is exact with up to 50 differences left and no ties, else from the normal approximation with tie and continuity
correction. These are scipy.stats.wilcoxon(zero_method='wilcox') with method='exact', and with
method='asymptotic', correction=True. Weights are not used. Undefined without lists; all differences 0: p = 1.
Cost: O(n log n).";

/// The page of `sign`.
pub(super) const SIGN_PAGE: &str = "\
Sign test, two-sided: is the number of wins that of a fair coin?

  p = min(1, 2 P(X ≤ min(wins, losses))),   X binomial with wins + losses trials of probability 1/2

Differences of 0 (up to 1e-12) are dropped. p is that of scipy.stats.binomtest. Weights are not used.
Undefined without lists; all differences 0: p = 1. Cost: O(n).";

/// Most differences for which the distribution of the rank sum is counted out (2⁵⁰ sign patterns fit a u64).
const MOST_EXACT: usize = 50;

/// Wilcoxon signed-rank test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wilcoxon;

/// Rank sums of the positive and negative differences; zeros dropped, ties averaged.
pub(super) struct RankSums {
    pub positive: f64,
    pub negative: f64,
    /// Differences that are not 0.
    pub ranked: usize,
    /// Σ (t³ − t) over groups of t tied ranks.
    pub ties: f64,
}

pub(super) fn rank_sums(differences: &[f64]) -> RankSums {
    let mut ranked: Vec<f64> = differences.iter().copied().filter(|d| d.abs() > TIE).collect();
    ranked.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    let mut sums = RankSums { positive: 0.0, negative: 0.0, ranked: ranked.len(), ties: 0.0 };
    let mut start = 0;
    while start < ranked.len() {
        let first = ranked[start].abs();
        let group = ranked[start..].partition_point(|d| d.abs() <= first + TIE);
        let rank = start as f64 + f64::midpoint(group as f64, 1.0);
        let positive = ranked[start..start + group].iter().filter(|d| **d > 0.0).count();
        sums.positive += rank * positive as f64;
        sums.negative += rank * (group - positive) as f64;
        sums.ties += (group as f64).powi(3) - group as f64;
        start += group;
    }
    sums
}

impl Test for Wilcoxon {
    fn run(&self, pairs: &Pairs, _seed: u64) -> Outcome {
        if pairs.is_empty() {
            return Outcome::undefined(0, "no list");
        }
        let sums = rank_sums(&pairs.differences);
        let n = sums.ranked;
        if n == 0 {
            return Outcome::new(0.0, 1.0, 0, "all differences are 0");
        }
        let least = sums.positive.min(sums.negative);
        let zeros = match pairs.len() - n {
            0 => String::new(),
            zeros => format!(", {zeros} zeros dropped"),
        };
        if n <= MOST_EXACT && sums.ties == 0.0 {
            let p = 2.0 * rank_sum_share(n, least as usize);
            return Outcome::new(least, p, n, format!("exact{zeros}"));
        }
        let count = n as f64;
        let centre = count * (count + 1.0) / 4.0;
        let variance = count * (count + 1.0) * (2.0 * count + 1.0) / 24.0 - sums.ties / 48.0;
        let z = ((least - centre).abs() - 0.5).max(0.0) / variance.sqrt();
        let p = 2.0 * Normal::standard().sf(z);
        Outcome::new(least, p, n, format!("normal approximation{zeros}"))
    }
}

/// P(T⁺ ≤ sum) for n untied ranks, by counting the sign patterns of each rank sum.
fn rank_sum_share(n: usize, sum: usize) -> f64 {
    let mut patterns = vec![0_u64; n * (n + 1) / 2 + 1];
    patterns[0] = 1;
    for rank in 1..=n {
        for total in (rank..patterns.len()).rev() {
            patterns[total] += patterns[total - rank];
        }
    }
    let count: u64 = patterns.iter().take(sum + 1).sum();
    count as f64 / (1_u64 << n) as f64
}

/// Sign test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sign;

impl Test for Sign {
    fn run(&self, pairs: &Pairs, _seed: u64) -> Outcome {
        if pairs.is_empty() {
            return Outcome::undefined(0, "no list");
        }
        let wins = pairs.differences.iter().filter(|d| **d > TIE).count() as u64;
        let losses = pairs.differences.iter().filter(|d| **d < -TIE).count() as u64;
        let n = (wins + losses) as usize;
        if n == 0 {
            return Outcome::new(0.0, 1.0, 0, "all differences are 0");
        }
        if wins.abs_diff(losses) <= 1 {
            return Outcome::new(wins as f64, 1.0, n, "exact");
        }
        match Binomial::new(0.5, wins + losses) {
            Ok(coin) => Outcome::new(wins as f64, 2.0 * coin.cdf(wins.min(losses)), n, "exact"),
            Err(_) => Outcome::undefined(n, "no binomial distribution"),
        }
    }
}
