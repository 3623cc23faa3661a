//! What the smooth measures share: each item's part of the ideal DCG.

use toprank_metrics::best_dcg;

use crate::objective::Input;

/// Fills `shares` with w_j G(y_j)/Z, Z = the ideal DCG of the first `k` places, without weights; `None` if the list
/// cannot contribute: fewer than two items, no gain, no weight on any.
pub(super) fn shares(input: &Input, k: usize, shares: &mut [f64], gains: &mut Vec<f64>) -> Option<()> {
    let ideal = best_dcg(input.list.labels, input.list.missed, input.policy, k, gains);
    if shares.len() < 2 {
        return None;
    }
    for (j, share) in shares.iter_mut().enumerate() {
        *share = input.weight(j) * input.gain(j) / ideal;
    }
    // Without any gain the ideal is 0 and every share 0/0, which is not above 0 either.
    shares.iter().any(|share| *share > 0.0).then_some(())
}
