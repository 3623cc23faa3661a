//! DCG and NDCG.

use toprank_core::Policy;

use crate::gain::{Discounts, gain_of, ideal_dcg, labels_with_gain};
use crate::metric::{Labels, Metric};
use crate::rank::Ranked;

#[doc = include_str!("../pages/dcg.md")]
#[derive(Clone, Copy, Debug)]
pub struct Dcg {
    /// Places that count; `None`: all.
    pub cut: Option<u32>,
}

#[doc = include_str!("../pages/ndcg.md")]
#[derive(Clone, Copy, Debug)]
pub struct Ndcg {
    /// Places that count; `None`: all.
    pub cut: Option<u32>,
}

/// Expected DCG of the first `k` places: tied items share the mean of their gains.
fn dcg_at(ranked: &Ranked, policy: &Policy, k: usize) -> f64 {
    let labels = ranked.labels();
    let discounts = Discounts::default();
    let k = k.min(labels.len());
    let mut dcg = 0.0;
    if !ranked.has_ties() {
        for (place, &y) in labels[..k].iter().enumerate() {
            dcg += gain_of(&policy.gain, y) * discounts.at(place);
        }
        return dcg;
    }
    for group in ranked.groups().take_while(|group| group.start < k) {
        let gains: f64 = labels[group.clone()].iter().map(|&y| gain_of(&policy.gain, y)).sum();
        let mean = gains / group.len() as f64;
        for place in group.start..group.end.min(k) {
            dcg += mean * discounts.at(place);
        }
    }
    dcg
}

impl Metric for Dcg {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        Some(dcg_at(ranked, policy, places(self.cut)))
    }

    fn depth(&self) -> Option<usize> {
        self.cut.map(|k| k as usize)
    }

    fn labels(&self, policy: &Policy) -> Labels {
        labels_with_gain(&policy.gain)
    }

    fn rules(&self) -> &'static [&'static str] {
        &["gain"]
    }
}

impl Metric for Ndcg {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let k = places(self.cut);
        let ideal = ideal_dcg(ranked, policy, k);
        // ≤ 1 by definition; the last bit of a quotient of sums may say otherwise.
        (ideal > 0.0).then(|| (dcg_at(ranked, policy, k) / ideal).min(1.0))
    }

    fn depth(&self) -> Option<usize> {
        self.cut.map(|k| k as usize)
    }

    fn labels(&self, policy: &Policy) -> Labels {
        labels_with_gain(&policy.gain)
    }

    fn rules(&self) -> &'static [&'static str] {
        &["gain", "ideal"]
    }
}

/// The cut as a number of places.
pub(crate) fn places(cut: Option<u32>) -> usize {
    cut.map_or(usize::MAX, |k| k as usize)
}

#[cfg(test)]
mod tests {
    use crate::testing::value;

    fn log2(x: f64) -> f64 {
        x.log2()
    }

    #[test]
    fn worked_by_hand() {
        let (scores, labels) = (&[0.1, 0.9, 0.5], &[2.0, 0.0, 1.0]);
        assert_eq!(value("dcg", scores, labels), Some(1.0 / log2(3.0) + 3.0 / log2(4.0)));
        assert_eq!(value("dcg@2:gain=linear", scores, labels), Some(1.0 / log2(3.0)));
        let ideal = 3.0 / log2(2.0) + 1.0 / log2(3.0);
        assert_eq!(value("ndcg", scores, labels), Some((1.0 / log2(3.0) + 3.0 / log2(4.0)) / ideal));
        assert_eq!(value("ndcg@1", scores, labels), Some(0.0));
    }

    #[test]
    fn a_perfect_order_scores_exactly_one() {
        for spec in ["ndcg", "ndcg@2", "ndcg:gain=linear", "ndcg:gain=0/1/10/100"] {
            assert_eq!(
                value(spec, &[4.0, 3.0, 2.0, 2.0, 1.0], &[3.0, 2.0, 1.0, 1.0, 0.0]),
                Some(1.0),
                "{spec}"
            );
        }
    }

    #[test]
    fn no_gain_is_undefined_for_ndcg_and_zero_for_dcg() {
        assert_eq!(value("ndcg", &[1.0, 2.0], &[0.0, f32::NAN]), None);
        assert_eq!(value("dcg", &[1.0, 2.0], &[0.0, f32::NAN]), Some(0.0));
        assert_eq!(value("ndcg", &[], &[]), None);
    }

    #[test]
    fn an_unjudged_item_gains_nothing_in_the_ideal_order_either() {
        // Label 0 gains 1 in this table; the unjudged item and the one below 0 gain nothing.
        for labels in [[1.0, 0.0, f32::NAN], [1.0, 0.0, -1.0]] {
            assert_eq!(value("ndcg:gain=1/2", &[3.0, 2.0, 1.0], &labels), Some(1.0));
        }
    }

    #[test]
    fn a_table_whose_gains_fall_still_has_the_greatest_gains_first_in_the_ideal() {
        // labels 0, 1, 2 gain 0, 5, 1: the ideal order puts the label 1 first.
        let got = value("ndcg:gain=0/5/1", &[2.0, 1.0], &[2.0, 1.0]).unwrap();
        let want = (1.0 + 5.0 / log2(3.0)) / (5.0 + 1.0 / log2(3.0));
        assert!((got - want).abs() < 1e-15);
    }
}
