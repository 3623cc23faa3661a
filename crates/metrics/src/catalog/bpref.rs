//! bpref.

use toprank_core::Policy;

use super::at_cut::is_judged;
use crate::metric::Metric;
use crate::rank::Ranked;

#[doc = include_str!("../pages/bpref.md")]
#[derive(Clone, Copy, Debug)]
pub struct Bpref;

impl Metric for Bpref {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let is = |y: f32| policy.relevant.is(y);
        let is_bad = |y: f32| is_judged(y) && !is(y);
        let relevant = ranked.judged().filter(|&y| is(y)).count();
        let bad = ranked.judged().filter(|&y| is_bad(y)).count();
        if relevant == 0 {
            return None;
        }
        let labels = ranked.labels();
        let bound = relevant.min(bad).max(1) as f64;
        let (mut above, mut sum) = (0, 0.0);
        for group in ranked.groups() {
            let tied = &labels[group];
            let hits = tied.iter().filter(|&&y| is(y)).count();
            let others = tied.iter().filter(|&&y| is_bad(y)).count();
            sum += hits as f64 * (1.0 - mean_capped(above, others, relevant) / bound);
            above += others;
        }
        Some(sum / relevant as f64)
    }
}

/// Mean of min(above + x, cap) for x = 0, 1 … others: of the tied bad items, any number is equally likely to stand
/// above a given relevant one.
fn mean_capped(above: usize, others: usize, cap: usize) -> f64 {
    let uncapped = cap.saturating_sub(above).min(others + 1); // x = 0 … uncapped − 1 stay below the cap
    let below = uncapped as f64 * (above as f64 + (uncapped as f64 - 1.0) / 2.0);
    (below + ((others + 1 - uncapped) * cap) as f64) / (others + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::value;

    #[test]
    fn worked_by_hand() {
        // One of the two bad items stands above the second relevant one; the unjudged item does not count.
        let labels = &[1.0, f32::NAN, 0.0, 1.0, 0.0];
        assert_eq!(value("bpref", &[5.0, 4.0, 3.0, 2.0, 1.0], labels), Some((1.0 + (1.0 - 1.0 / 2.0)) / 2.0));
        assert_eq!(value("bpref", &[1.0], &[1.0]), Some(1.0));
        assert_eq!(value("bpref", &[1.0], &[0.0]), None);
    }

    #[test]
    fn the_capped_mean_equals_its_sum() {
        for (above, others, cap) in [(0, 0, 3), (0, 4, 3), (2, 5, 3), (5, 2, 3), (0, 2, 1), (1, 7, 100)] {
            let sum: usize = (0..=others).map(|x| (above + x).min(cap)).sum();
            assert_eq!(mean_capped(above, others, cap), sum as f64 / (others + 1) as f64);
        }
    }
}
