/*!
How good are these probabilities? Brier score, log loss and reliability: outside the catalog of metrics, which evaluate an order
and do not change when a constant is added to all scores.

```text
Brier = Σ w (p − y)² / Σ w        log loss = −Σ w (y ln p + (1 − y) ln(1 − p)) / Σ w        y = 1 for relevant, else 0
ECE = Σ_bins (W_b / W) |mean p of the bin − fraction of relevant items in it|
```

Bins hold almost equally many items, equal probabilities together: with bins of equal width nearly all items of a rare class
would fall into the first. Unjudged items are excluded. The log loss is infinite where p is 0 or 1 and wrong.

Source: Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78, 1950; Naeini, Cooper,
Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015.

```
use toprank_core::{List, Policy};
use toprank_metrics::probability::reliability;
let list = List::new(&[0.8, 0.8, 0.2, 0.2], &[1.0, 1.0, 0.0, 1.0]);
let found = reliability(&list, &Policy::default(), 2).unwrap().unwrap();
assert!((found.brier - (0.04 + 0.04 + 0.04 + 0.64) / 4.0).abs() < 1e-12);
assert_eq!(found.bins.len(), 2);
assert!((found.ece - (0.2 + 0.3) / 2.0).abs() < 1e-12); // |0.8 − 1| and |0.2 − 1/2|
```
*/

use toprank_core::{List, Policy};

use crate::threshold::{Fraction, wilson};

/// Items of similar probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Sum of the weights of its items; their number where items have none.
    pub weight: f64,
    /// Mean probability.
    pub probability: f64,
    /// Fraction of relevant items, with Wilson's 95 % interval.
    pub relevant: Fraction,
}

/// How good the probabilities of a list are.
#[derive(Clone, Debug, PartialEq)]
pub struct Reliability {
    /// Mean squared difference to the outcome; 0 is perfect.
    pub brier: f64,
    /// Mean surprise in nats; 0 is perfect.
    pub log_loss: f64,
    /// Expected calibration error over the bins; 0 is perfect.
    pub ece: f64,
    /// Fraction of relevant items.
    pub base_rate: f64,
    /// From the lowest probability up.
    pub bins: Vec<Bin>,
}

/// An item whose score is no probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotAProbability {
    /// Place of the item in its list, from 0.
    pub item: usize,
    /// Its score.
    pub score: f64,
}

/// Evaluates the scores of a list as probabilities, in `bins` bins at most; `None` without a judged item. Cost: O(n log n).
pub fn reliability(
    list: &List,
    policy: &Policy,
    bins: usize,
) -> Result<Option<Reliability>, NotAProbability> {
    if let Some(item) = list.scores.iter().position(|score| !(0.0..=1.0).contains(score)) {
        return Err(NotAProbability { item, score: list.scores[item] });
    }
    let weight = |item: usize| list.weights.map_or(1.0, |weights| f64::from(weights[item]));
    let judged = (0..list.len()).filter(|&item| !list.labels[item].is_nan() && weight(item) > 0.0);
    let mut items: Vec<(f64, f64, f64)> = judged
        .map(|item| {
            let relevant = f64::from(u8::from(policy.relevant.is(list.labels[item])));
            (list.scores[item], relevant, weight(item))
        })
        .collect();
    if items.is_empty() {
        return Ok(None);
    }
    items.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2)));
    let total: f64 = items.iter().map(|item| item.2).sum();
    let mean =
        |of: &dyn Fn(f64, f64) -> f64| items.iter().map(|&(p, y, w)| w * of(p, y)).sum::<f64>() / total;
    let surprise = |p: f64, y: f64| if y > 0.0 { -p.ln() } else { -(-p).ln_1p() };
    let mut found = Vec::new();
    let mut start = 0;
    for bin in 1..=bins.max(1) {
        let mut end = (items.len() * bin / bins.max(1)).max(start);
        // Equal probabilities stay together.
        while end > start && end < items.len() && items[end].0 == items[end - 1].0 {
            end += 1;
        }
        if end > start {
            found.push(Bin::of(&items[start..end]));
        }
        start = end;
    }
    Ok(Some(Reliability {
        brier: mean(&|p, y| (p - y) * (p - y)),
        log_loss: mean(&surprise).max(0.0),
        ece: found.iter().map(|bin| bin.weight * (bin.probability - bin.relevant.value).abs()).sum::<f64>()
            / total,
        base_rate: mean(&|_, y| y),
        bins: found,
    }))
}

impl Bin {
    /// Of (probability, relevant, weight).
    fn of(items: &[(f64, f64, f64)]) -> Bin {
        let sum = |of: &dyn Fn(&(f64, f64, f64)) -> f64| items.iter().map(of).sum::<f64>();
        let weight = sum(&|item| item.2);
        let value = (sum(&|item| item.1 * item.2) / weight).min(1.0);
        let (low, high) = wilson(value, weight * weight / sum(&|item| item.2 * item.2), 0.95);
        Bin {
            weight,
            probability: sum(&|item| item.0 * item.2) / weight,
            relevant: Fraction { value, low, high },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(scores: &[f64], labels: &[f32], bins: usize) -> Reliability {
        reliability(&List::new(scores, labels), &Policy::default(), bins).unwrap().unwrap()
    }

    #[test]
    fn worked_by_hand() {
        let found = of(&[0.25, 0.75], &[0.0, 1.0], 10);
        assert_eq!(found.brier, (0.25 * 0.25 + 0.25 * 0.25) / 2.0);
        assert!((found.log_loss - -(0.75f64.ln())).abs() < 1e-15);
        assert_eq!(found.ece, 0.25);
        assert_eq!(found.base_rate, 0.5);
        // The fraction of relevant items as everybody's probability is calibrated and says nothing.
        let constant = of(&[0.5; 4], &[0.0, 1.0, 1.0, 0.0], 10);
        assert_eq!((constant.ece, constant.brier, constant.bins.len()), (0.0, 0.25, 1));
        assert_eq!(of(&[1.0, 0.0], &[1.0, 0.0], 2).log_loss, 0.0);
        assert_eq!(of(&[0.0], &[1.0], 2).log_loss, f64::INFINITY);
    }

    #[test]
    fn bins_are_even_and_never_part_equal_probabilities() {
        let scores: Vec<f64> = (0..100).map(|i| f64::from(i / 3) / 100.0).collect();
        let found = of(&scores, &vec![0.0; 100], 10);
        assert_eq!(found.bins.len(), 10);
        assert!(found.bins.iter().all(|bin| (8.0..=12.0).contains(&bin.weight)));
        assert_eq!(found.bins.iter().map(|bin| bin.weight).sum::<f64>(), 100.0);
        assert!(found.bins.windows(2).all(|pair| pair[0].probability < pair[1].probability));
    }

    #[test]
    fn an_item_of_weight_two_is_two_items() {
        let list = List { weights: Some(&[2.0, 1.0]), ..List::new(&[0.3, 0.6], &[0.0, 1.0]) };
        let heavy = reliability(&list, &Policy::default(), 1).unwrap().unwrap();
        let twice = of(&[0.3, 0.3, 0.6], &[0.0, 0.0, 1.0], 1);
        assert!((heavy.brier - twice.brier).abs() < 1e-15 && (heavy.log_loss - twice.log_loss).abs() < 1e-15);
        assert!((heavy.ece - twice.ece).abs() < 1e-15);
    }

    #[test]
    fn what_is_no_probability_is_named_and_unjudged_items_are_left_out() {
        let policy = Policy::default();
        let error = reliability(&List::new(&[0.5, 1.5], &[1.0, 0.0]), &policy, 5).unwrap_err();
        assert_eq!(error, NotAProbability { item: 1, score: 1.5 });
        assert_eq!(reliability(&List::new(&[0.5], &[f32::NAN]), &policy, 5), Ok(None));
        assert_eq!(of(&[0.5, 0.9], &[1.0, f32::NAN], 5), of(&[0.5], &[1.0], 5));
    }
}
