//! Average precision (`map`).

use toprank_core::{Divisor, Policy};

use super::dcg::places;
use crate::metric::{Metric, relevant};
use crate::rank::Ranked;

#[doc = include_str!("../pages/map.md")]
#[derive(Clone, Copy, Debug)]
pub struct AveragePrecision {
    /// Places that count; `None`: all.
    pub cut: Option<u32>,
}

/// Σ over the first `k` places of P(relevant there) × E[precision there | relevant there].
///
/// A tie of m items, r of them relevant, from place a on, with R0 relevant items above it: place a + i holds a
/// relevant item with probability r/m, and then (i − 1)(r − 1)/(m − 1) of the others above it in the tie are relevant.
pub(crate) fn summed_precision(ranked: &Ranked, policy: &Policy, k: usize) -> f64 {
    let labels = ranked.labels();
    let is = |y: f32| policy.relevant.is(y);
    let k = k.min(labels.len());
    let (mut seen, mut sum) = (0.0, 0.0);
    if !ranked.has_ties() {
        for (place, &y) in labels[..k].iter().enumerate() {
            // Relevance is a coin toss in many lists: arithmetic instead of a branch.
            let hit = f64::from(u8::from(is(y)));
            seen += hit;
            sum += hit * seen / (place + 1) as f64;
        }
        return sum;
    }
    for group in ranked.groups().take_while(|group| group.start < k) {
        let m = group.len() as f64;
        let r = labels[group.clone()].iter().filter(|&&y| is(y)).count() as f64;
        if r > 0.0 {
            let step = if m > 1.0 { (r - 1.0) / (m - 1.0) } else { 0.0 };
            for place in group.start..group.end.min(k) {
                let above = (place - group.start) as f64;
                sum += (r / m) * (seen + 1.0 + above * step) / (place + 1) as f64;
            }
        }
        seen += r;
    }
    sum
}

impl Metric for AveragePrecision {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let k = places(self.cut);
        let total = relevant(ranked, policy);
        let divisor = match policy.divisor {
            Divisor::Relevant => total,
            Divisor::Cut => total.min(k),
        };
        (total > 0).then(|| (summed_precision(ranked, policy, k) / divisor as f64).min(1.0))
    }

    fn depth(&self) -> Option<usize> {
        self.cut.map(|k| k as usize)
    }

    fn rules(&self) -> &'static [&'static str] {
        if self.cut.is_some() { &["relevant", "divisor"] } else { &["relevant"] }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::value;

    #[test]
    fn worked_by_hand() {
        let (scores, labels) = (&[0.9, 0.8, 0.7, 0.6], &[1.0, 0.0, 2.0, 0.0]);
        assert_eq!(value("map", scores, labels), Some((1.0 / 1.0 + 2.0 / 3.0) / 2.0));
        assert_eq!(value("map:relevant=2", scores, labels), Some(1.0 / 3.0));
    }

    #[test]
    fn the_divisor_of_map_at_k_is_named() {
        let (scores, labels) = (&[0.9, 0.8, 0.7], &[1.0, 1.0, 1.0]);
        assert_eq!(value("map@1", scores, labels), Some(1.0 / 3.0));
        assert_eq!(value("map@1:divisor=cut", scores, labels), Some(1.0));
    }

    #[test]
    fn two_tied_items_one_relevant_average_the_two_orders() {
        assert_eq!(value("map", &[1.0, 1.0], &[1.0, 0.0]), Some((1.0 + 1.0 / 2.0) / 2.0));
    }
}
