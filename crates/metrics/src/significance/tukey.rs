/*!
Tukey's honestly significant difference: all pairs of k runs at once.

```text
randomised:   p_ij = (#{range* ≥ |m_i − m_j|} + 1) / (N + 1),
              range* = largest − smallest mean after shuffling the runs' values within every list
studentised:  p_ij = P(Q_{k, (n−1)(k−1)} ≥ |m_i − m_j| / √(MSE / n)),   Q: the studentised range,
              MSE = Σ (x_lj − x_l· − x_·j + x_··)² / ((n − 1)(k − 1)),   lists as blocks
```

Sources: Carterette, "Multiple testing in statistical analysis of systems-based information retrieval
experiments", TOIS 2012 (randomised); Tukey, "The problem of multiple comparisons", 1953 (studentised).

Both control the probability of any false finding among the pairs. With two runs the randomised one is Fisher's
randomisation test and the studentised one the paired t test.

Lists count on which every run has a value. The randomised test takes list weights (means are weighted); the
studentised range has no weighted form and is undefined unless all weights are equal.
*/

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use statrs::function::erf::erfc;
use toprank_core::stream::Random;
use toprank_core::{Stream, ordered_sum};

/// Which null distribution of the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TukeyKind {
    /// Shuffles of the runs within each list.
    Randomised {
        /// Number of shuffles N; 10,000 is usual, at least 1.
        replicates: usize,
    },
    /// The studentised range, by numerical integration to about 10 digits.
    Studentised,
}

impl Default for TukeyKind {
    fn default() -> TukeyKind {
        TukeyKind::Randomised { replicates: 10_000 }
    }
}

/// Result of [`tukey`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tukey {
    /// The test done.
    pub kind: TukeyKind,
    /// p of the pairs (0, 1), (0, 2), …, (1, 2), …; `None` where undefined.
    pub p: Vec<Option<f64>>,
    /// Lists on which every run has a value.
    pub lists: usize,
    /// Lists left out.
    pub skipped: usize,
}

/// Tests all pairs of runs; `per_list[run][list]`, NaN = skipped.
///
/// Undefined: fewer than 2 runs or no common list (randomised), fewer than 2 lists or no residual variance
/// (studentised). Pairs of equal means have p = 1.
///
/// # Panics
/// If the runs or the weights differ in length.
pub fn tukey(per_list: &[&[f64]], weights: Option<&[f32]>, kind: TukeyKind, seed: u64) -> Tukey {
    let runs = per_list.len();
    let all_lists = per_list.first().map_or(0, |values| values.len());
    assert!(per_list.iter().all(|values| values.len() == all_lists), "one value per list for every run");
    assert!(weights.is_none_or(|weights| weights.len() == all_lists), "one weight per list");
    // Rows of lists, centred and weighted; centring changes no difference of means and saves digits.
    let mut rows: Vec<f64> = Vec::new();
    let mut used: Vec<f32> = Vec::new();
    for list in 0..all_lists {
        let weight = weights.map_or(1.0, |weights| weights[list]);
        let start = rows.len();
        rows.extend(per_list.iter().map(|values| values[list]));
        let centre = rows[start..].iter().sum::<f64>() / runs as f64;
        if !centre.is_finite() || !weight.is_finite() || weight <= 0.0 {
            rows.truncate(start);
            continue;
        }
        rows[start..].iter_mut().for_each(|x| *x = (*x - centre) * f64::from(weight));
        used.push(weight);
    }
    let lists = used.len();
    let mut sums = vec![0.0; runs];
    for (run, sum) in sums.iter_mut().enumerate() {
        *sum = ordered_sum(&rows.iter().skip(run).step_by(runs.max(1)).copied().collect::<Vec<_>>());
    }
    let mut gaps = Vec::with_capacity(runs * runs.saturating_sub(1) / 2);
    for i in 0..runs {
        gaps.extend((i + 1..runs).map(|j| (sums[i] - sums[j]).abs()));
    }
    let p = match kind {
        _ if lists == 0 => vec![None; gaps.len()],
        TukeyKind::Randomised { replicates } => randomised(&rows, runs, &gaps, replicates.max(1), seed),
        TukeyKind::Studentised => {
            let one_weight = used.windows(2).all(|pair| pair[0] == pair[1]);
            studentised(&rows, runs, lists, &sums, &gaps, one_weight)
        }
    };
    Tukey { kind, p, lists, skipped: all_lists - lists }
}

/// Shuffles per stream.
const BLOCK: usize = 256;

fn randomised(rows: &[f64], runs: usize, gaps: &[f64], replicates: usize, seed: u64) -> Vec<Option<f64>> {
    let stream = Stream::new(seed, "randomised Tukey HSD");
    let mut ranges = vec![0.0; replicates];
    ranges.par_chunks_mut(BLOCK).enumerate().for_each(|(block, ranges)| {
        let mut random = stream.of_list(block as u32).open();
        let mut sums = vec![0.0; ranges.len() * runs];
        let mut row = vec![0.0; runs];
        for values in rows.chunks_exact(runs) {
            // A shuffle of a shuffled row is as random as one of the row.
            row.copy_from_slice(values);
            for sums in sums.chunks_exact_mut(runs) {
                shuffle(&mut random, &mut row);
                sums.iter_mut().zip(&row).for_each(|(sum, x)| *sum += x);
            }
        }
        for (range, sums) in ranges.iter_mut().zip(sums.chunks_exact(runs)) {
            let most = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let least = sums.iter().copied().fold(f64::INFINITY, f64::min);
            *range = most - least;
        }
    });
    ranges.sort_unstable_by(f64::total_cmp);
    let rounding = 1e-12 * ordered_sum(&rows.iter().map(|x| x.abs()).collect::<Vec<_>>());
    let p = |gap: &f64| {
        let below = ranges.partition_point(|range| *range < gap - rounding);
        Some((replicates - below + 1) as f64 / (replicates + 1) as f64)
    };
    gaps.iter().map(p).collect()
}

/// Fisher–Yates from one random word while that has bits enough: 12! / 2⁶⁴ of bias is below 10⁻¹⁰.
fn shuffle(random: &mut Random, row: &mut [f64]) {
    if row.len() > 12 {
        return random.shuffle(row);
    }
    let mut word = random.bits();
    for i in (1..row.len()).rev() {
        let product = u128::from(word) * (i as u128 + 1);
        row.swap(i, (product >> 64) as usize);
        word = product as u64;
    }
}

fn studentised(
    rows: &[f64],
    runs: usize,
    lists: usize,
    sums: &[f64],
    gaps: &[f64],
    one_weight: bool,
) -> Vec<Option<f64>> {
    if lists < 2 || runs < 2 || !one_weight {
        return vec![None; gaps.len()];
    }
    let n = lists as f64;
    let residuals: Vec<f64> = rows
        .chunks_exact(runs)
        .flat_map(|row| row.iter().zip(sums).map(|(x, s)| (x - s / n).powi(2)))
        .collect();
    let freedom = (n - 1.0) * (runs as f64 - 1.0);
    let error = (ordered_sum(&residuals) / freedom / n).sqrt();
    let largest = rows.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let p = |gap: &f64| {
        let gap = gap / n;
        if gap <= 1e-12 * largest {
            Some(1.0)
        } else if error <= 1e-12 * largest {
            None
        } else {
            Some(studentised_range_sf(gap / error, runs, freedom).clamp(f64::MIN_POSITIVE, 1.0))
        }
    };
    gaps.iter().map(p).collect()
}

/// P(Q ≥ q) of the studentised range of `groups` ≥ 2 means with `freedom` ≥ 1 degrees of freedom.
///
/// ```text
/// ∫ f(s) · k ∫ φ(z) [Φ(z)^{k−1} − (Φ(z) − Φ(z − q s))^{k−1}] dz ds,   f: density of √(χ²_ν / ν)
/// ```
/// The upper tail is integrated itself, so small values keep their digits (agreement with
/// scipy.stats.studentized_range.sf, which is good to about 10 digits of 1). 16-point Gauss–Legendre panels; about
/// 50,000 evaluations.
///
/// ```
/// use toprank_metrics::significance::studentised_range_sf;
/// // 5 % point of tables for 3 groups and 10 degrees of freedom: 3.88.
/// assert!((studentised_range_sf(3.876_777, 3, 10.0) - 0.05).abs() < 1e-6);
/// ```
pub fn studentised_range_sf(q: f64, groups: usize, freedom: f64) -> f64 {
    if q <= 0.0 || groups < 2 {
        return 1.0;
    }
    let nodes = gauss_legendre_16();
    // s lies within 12 deviations of 1; smaller tails are below 1e-30.
    let deviation = (0.5 / freedom).sqrt();
    let (low, high) = ((1.0 - 12.0 * deviation).max(0.0), 1.0 + 12.0 * deviation);
    let (mut tail, mut mass) = (0.0, 0.0);
    panels(&nodes, low, high, 12, |s, weight| {
        let density = weight * ((freedom - 1.0) * s.ln() - freedom * (s * s - 1.0) / 2.0).exp();
        mass += density;
        if density > 0.0 {
            tail += density * range_sf(&nodes, q * s, groups);
        }
    });
    tail / mass
}

/// P(range of `groups` standard normals ≥ w).
fn range_sf(nodes: &[(f64, f64); 16], w: f64, groups: usize) -> f64 {
    let power = groups as f64 - 1.0;
    let normal_cdf = |z: f64| 0.5 * erfc(-z * std::f64::consts::FRAC_1_SQRT_2);
    let (low, high) = (-8.5, 8.5 + w.min(60.0) / 2.0);
    let mut sum = 0.0;
    panels(nodes, low, high, (high - low).ceil() as usize, |z, weight| {
        let below = normal_cdf(z);
        let outside = (normal_cdf(z - w) / below).min(1.0);
        // 1 − (1 − outside)^{k−1} without cancellation.
        let lost = -(power * (-outside).ln_1p()).exp_m1();
        sum += weight * (-z * z / 2.0).exp() * below.powf(power) * lost;
    });
    (sum * groups as f64 / (2.0 * std::f64::consts::PI).sqrt()).min(1.0)
}

/// Calls `add(x, weight)` at the nodes of `count` equal panels of [low, high].
fn panels(nodes: &[(f64, f64); 16], low: f64, high: f64, count: usize, mut add: impl FnMut(f64, f64)) {
    let half = (high - low) / (2 * count) as f64;
    for panel in 0..count {
        let middle = low + (2 * panel + 1) as f64 * half;
        for (x, weight) in nodes {
            add(middle + half * x, half * weight);
        }
    }
}

/// Nodes and weights on [−1, 1]: roots of the Legendre polynomial by Newton's method.
fn gauss_legendre_16() -> [(f64, f64); 16] {
    std::array::from_fn(|i| {
        let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / 16.5).cos();
        let mut slope = 1.0;
        for _ in 0..8 {
            let (mut before, mut now) = (1.0, x);
            for n in 2..=16 {
                let n = f64::from(n);
                (before, now) = (now, ((2.0 * n - 1.0) * x * now - (n - 1.0) * before) / n);
            }
            slope = 16.0 * (x * now - before) / (x * x - 1.0);
            x -= now / slope;
        }
        (x, 2.0 / ((1.0 - x * x) * slope * slope))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::significance::{Pairs, Randomisation, Student, Test};

    fn values(run: usize, n: usize) -> Vec<f64> {
        (0..n).map(|i| ((i * (37 + 16 * run) + 7 * run) % 101) as f64 / 100.0 + 0.02 * run as f64).collect()
    }

    // scipy 1.17.1: scipy.stats.studentized_range.sf(q, k, df)
    #[test]
    fn the_studentised_range_is_that_of_scipy() {
        for (q, k, freedom, p) in [
            (3.5, 3, 10.0, 0.077_103_310_838_410_38),
            (3.5, 3, 1000.0, 0.035_947_039_779_289_48),
            (2.0, 5, 57.0, 0.621_208_551_044_144_5),
            (4.2, 10, 171.0, 0.095_187_888_375_091_62),
            (6.0, 4, 3.0, 0.069_911_089_789_372_88),
            (1.0, 2, 1.0, 0.608_173_447_969_392_8),
            (9.0, 6, 200.0, 1.967_898_122_234_856_8e-8),
            (3.3, 5, 80_000.0, 0.134_332_493_641_718_18),
        ] {
            let ours = studentised_range_sf(q, k, freedom);
            assert!((ours - p).abs() < 2e-9 * p.max(1e-3), "q {q} k {k} df {freedom}: {ours:e} {p:e}");
        }
    }

    #[test]
    fn two_runs_give_the_paired_t_test() {
        for n in [2, 5, 40, 2000] {
            let (a, b) = (values(0, n), values(1, n));
            let ours = tukey(&[&a, &b], None, TukeyKind::Studentised, 1).p[0].unwrap();
            let t = Student.run(&Pairs::new(&a, &b, None), 1).p.unwrap();
            assert!((ours - t).abs() < 1e-9, "n {n}: {ours} {t}");
        }
    }

    #[test]
    fn two_runs_give_the_randomisation_test() {
        let (a, b) = (values(0, 60), values(1, 60));
        let weights: Vec<f32> = (0..60).map(|i| 1.0 + (i % 3) as f32).collect();
        let kind = TukeyKind::Randomised { replicates: 40_000 };
        let ours = tukey(&[&a, &b], Some(&weights), kind, 1).p[0].unwrap();
        let test = Randomisation { replicates: 40_000, exact: false };
        let fisher = test.run(&Pairs::new(&a, &b, Some(&weights)), 1).p.unwrap();
        // Two estimates of one p: standard error of the difference below 0.0036.
        assert!((ours - fisher).abs() < 0.015, "{ours} {fisher}");
    }

    #[test]
    fn shuffles_reach_every_order_equally_often() {
        let mut random = Stream::new(1, "test").open();
        let mut counts = std::collections::BTreeMap::new();
        let mut row = [1.0, 2.0, 3.0, 4.0];
        for _ in 0..24_000 {
            shuffle(&mut random, &mut row);
            *counts.entry(row.map(|x| x as u8)).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 24);
        assert!(counts.values().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_pair_stands_back_when_other_pairs_are_tested_too() {
        let runs: Vec<Vec<f64>> = (0..5).map(|run| values(run, 50)).collect();
        let all: Vec<&[f64]> = runs.iter().map(Vec::as_slice).collect();
        for kind in [TukeyKind::default(), TukeyKind::Studentised] {
            let joint = tukey(&all, None, kind, 1);
            assert_eq!((joint.p.len(), joint.lists, joint.skipped), (10, 50, 0));
            let largest = joint.p.iter().map(|p| p.unwrap()).fold(0.0, f64::max);
            assert!(joint.p.iter().all(|p| (1e-9..=1.0).contains(&p.unwrap())) && largest > 0.5, "{joint:?}");
        }
    }

    #[test]
    fn degenerate_inputs_are_defined() {
        let nan = [f64::NAN; 3];
        let zero = [0.0; 3];
        let up = [0.5; 3];
        for kind in [TukeyKind::Randomised { replicates: 99 }, TukeyKind::Studentised] {
            assert_eq!(tukey(&[], None, kind, 1).p, []);
            assert_eq!(tukey(&[&zero], None, kind, 1).p, []);
            assert_eq!(tukey(&[&zero, &nan], None, kind, 1).p, [None]);
            assert_eq!(tukey(&[&zero, &zero], None, kind, 1).p, [Some(1.0)]);
        }
        assert_eq!(tukey(&[&zero, &up], None, TukeyKind::Studentised, 1).p, [None]);
        assert_eq!(tukey(&[&zero[..1], &up[..1]], None, TukeyKind::Studentised, 1).p, [None]);
        let weights = Some(&[1.0, 2.0, 1.0][..]);
        assert_eq!(tukey(&[&zero, &up], weights, TukeyKind::Studentised, 1).p, [None]);
    }

    #[test]
    fn p_does_not_depend_on_threads_and_is_never_0() {
        let runs: Vec<Vec<f64>> =
            (0..3).map(|run| (0..40).map(|i| (run * 40 + i) as f64).collect()).collect();
        let all: Vec<&[f64]> = runs.iter().map(Vec::as_slice).collect();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| tukey(&all, None, TukeyKind::Randomised { replicates: 1000 }, 9))
        };
        assert_eq!(on(1), on(4));
        assert_eq!(on(1).p[1], Some(1.0 / 1001.0));
    }
}
