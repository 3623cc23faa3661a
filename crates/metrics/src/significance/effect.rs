//! How large is the difference, whatever its p value?

use super::ranks::rank_sums;
use super::{Pairs, TIE};
use serde::Serialize;

/// Effect sizes of second against first; all change sign when the runs are swapped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effects {
    /// Mean difference second − first, weighted.
    pub mean_difference: f64,
    /// Cohen's d of paired samples, d_z = mean difference / deviation of the differences (weighted,
    /// s² = n/(n−1) · Σ w (d − d̄)² / Σ w); undefined with fewer than 2 lists or equal differences that are not 0.
    pub cohen_dz: Option<f64>,
    /// Matched-pairs rank-biserial correlation (R⁺ − R⁻)/(R⁺ + R⁻) in [−1, 1]: Wilcoxon's rank sums for and
    /// against the second run. 0 if all differences are 0. Weights are not used.
    /// Source: Kerby, "The simple difference formula", Comprehensive Psychology 3, 2014.
    pub rank_biserial: f64,
}

/// The effect sizes of a pair.
///
/// ```
/// use toprank_metrics::significance::{effects, Pairs};
/// let pairs = Pairs::new(&[0.0, 0.0, 0.0], &[0.1, 0.2, -0.3], None);
/// assert_eq!(effects(&pairs).rank_biserial, (1.0 + 2.0 - 3.0) / 6.0);
/// ```
pub fn effects(pairs: &Pairs) -> Effects {
    let mean = pairs.mean();
    let n = pairs.len() as f64;
    let cohen_dz = if pairs.len() < 2 {
        None
    } else if pairs.all_zero() {
        Some(0.0)
    } else {
        let variance = n / (n - 1.0) * pairs.scatter(mean, 1) / pairs.total_weight();
        let one_number = pairs.differences.iter().all(|d| (d - mean).abs() <= TIE * mean.abs());
        Some(mean / variance.sqrt()).filter(|d| d.is_finite() && !one_number)
    };
    let sums = rank_sums(&pairs.differences);
    let total = sums.positive + sums.negative;
    let rank_biserial = if total > 0.0 { (sums.positive - sums.negative) / total } else { 0.0 };
    Effects { mean_difference: mean, cohen_dz, rank_biserial }
}

/// On how many lists is the second run better, equal, worse?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WinTieLoss {
    /// Lists where the second run is higher.
    pub win: usize,
    /// Lists where the two differ by no more than the tolerance.
    pub tie: usize,
    /// Lists where the second run is lower.
    pub loss: usize,
}

/// Wins, ties and losses of the second run; differences up to `tolerance` are ties ([`TIE`] is the usual one).
///
/// ```
/// use toprank_metrics::significance::{win_tie_loss, Pairs, TIE};
/// let pairs = Pairs::new(&[0.1, 0.3, 0.5], &[0.2, 0.1 + 0.2, 0.4], None);
/// let counts = win_tie_loss(&pairs, TIE);
/// assert_eq!((counts.win, counts.tie, counts.loss), (1, 1, 1));
/// ```
pub fn win_tie_loss(pairs: &Pairs, tolerance: f64) -> WinTieLoss {
    let mut counts = WinTieLoss::default();
    for &difference in &pairs.differences {
        if difference > tolerance {
            counts.win += 1;
        } else if difference < -tolerance {
            counts.loss += 1;
        } else {
            counts.tie += 1;
        }
    }
    counts
}

/// The `count` largest differences in size that are not 0: (index of the list, second − first), largest first,
/// equal sizes in the order of the lists. Cost: O(n log n).
pub fn biggest(pairs: &Pairs, count: usize) -> Vec<(usize, f64)> {
    let mut order: Vec<usize> = (0..pairs.len()).filter(|&i| pairs.differences[i].abs() > TIE).collect();
    order.sort_by(|&a, &b| pairs.differences[b].abs().total_cmp(&pairs.differences[a].abs()));
    order.truncate(count);
    order.into_iter().map(|i| (pairs.lists[i], pairs.differences[i])).collect()
}
