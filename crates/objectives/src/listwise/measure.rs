//! What the smooth metrics share: the gain of each item over the ideal DCG.

use toprank_metrics::best_dcg;

use crate::objective::Input;

/// Fills `shares` with w_j G(y_j)/Z, Z the ideal DCG at `k`, without weights; `None` if the list has no gradient: fewer
/// than two items, or no item with a gain and a weight.
pub(super) fn shares(input: &Input, k: usize, shares: &mut [f64], gains: &mut Vec<f64>) -> Option<()> {
    let ideal = best_dcg(input.list.labels, input.list.missed, input.policy, k, gains);
    if shares.len() < 2 {
        return None;
    }
    for (j, share) in shares.iter_mut().enumerate() {
        *share = input.weight(j) * input.gain(j) / ideal;
    }
    // Without any gain the ideal is 0 and every quotient 0/0, which is not above 0 either.
    shares.iter().any(|share| *share > 0.0).then_some(())
}
