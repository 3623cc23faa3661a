//! Reciprocal rank (`mrr`).

use toprank_core::Policy;

use super::dcg::places;
use crate::metric::{Metric, relevant};
use crate::rank::Ranked;

#[doc = include_str!("../pages/mrr.md")]
#[derive(Clone, Copy, Debug)]
pub struct ReciprocalRank {
    /// Places that count; `None`: all.
    pub cut: Option<u32>,
}

impl Metric for ReciprocalRank {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let labels = ranked.labels();
        let is = |y: &f32| policy.relevant.is(*y);
        let k = places(self.cut).min(labels.len());
        if !ranked.has_ties() {
            return match labels[..k].iter().position(is) {
                Some(place) => Some(1.0 / (place + 1) as f64),
                None => (relevant(ranked, policy) > 0).then_some(0.0),
            };
        }
        for group in ranked.groups().take_while(|group| group.start < k) {
            let m = group.len();
            let r = labels[group.clone()].iter().filter(|y| is(y)).count();
            if r > 0 {
                // Probability that the first relevant item of the tie is its i-th: r/m, then × (misses left)/(items left).
                let mut probability = r as f64 / m as f64;
                let mut value = 0.0;
                for i in 0..(m - r + 1).min(k - group.start) {
                    value += probability / (group.start + i + 1) as f64;
                    if i + 1 < m {
                        probability *= (m - r - i) as f64 / (m - i - 1) as f64;
                    }
                }
                return Some(value);
            }
        }
        (relevant(ranked, policy) > 0).then_some(0.0)
    }

    fn depth(&self) -> Option<usize> {
        self.cut.map(|k| k as usize)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::value;

    #[test]
    fn worked_by_hand() {
        let (scores, labels) = (&[0.9, 0.8, 0.7], &[0.0, 0.0, 1.0]);
        assert_eq!(value("mrr", scores, labels), Some(1.0 / 3.0));
        assert_eq!(value("mrr@2", scores, labels), Some(0.0));
        assert_eq!(value("mrr", scores, &[0.0, 0.0, 0.0]), None);
    }

    #[test]
    fn three_tied_items_average_over_the_place_of_the_first_relevant_one() {
        let got = value("mrr", &[1.0; 3], &[0.0, 1.0, 0.0]).unwrap();
        assert!((got - (1.0 + 1.0 / 2.0 + 1.0 / 3.0) / 3.0).abs() < 1e-15);
    }
}
