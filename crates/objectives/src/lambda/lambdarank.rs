#![doc = include_str!("../pages/lambdarank.md")]

use toprank_core::{Param, ParamError, Spec};
use toprank_metrics::{Discounts, best_dcg};

use super::mechanism::{CUT, Delta, Lambda, NORM, SIGMA};
use super::row::gain_times_discount;
use crate::objective::{Input, Objective};
use crate::params::GAIN;

const DISCOUNT: Param = Param {
    name: "discount",
    default: "full",
    range: "full or cut",
    about: "discount of positions below K: that of their rank (full, as LightGBM and XGBoost), or 0 (cut: ΔNDCG@K)",
};
pub(crate) const PARAMS: &[Param] = &[CUT, DISCOUNT, SIGMA, NORM, GAIN];
pub(crate) const EXAMPLES: &[&str] = &[
    "lambdarank@5",
    "lambdarank@5:discount=cut",
    "lambdarank:sigma=2",
    "lambdarank:norm=lightgbm",
    "lambdarank:gain=linear",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let cut_discounts =
        spec.args.one_of(DISCOUNT.name, DISCOUNT.default, &[("full", false), ("cut", true)])?;
    Ok(Box::new(Lambda::new(spec, NdcgSwap { cut: spec.cut, cut_discounts })?))
}

/// |ΔNDCG| of a swap: |gain_a − gain_b|·|discount_a − discount_b|/Z.
struct NdcgSwap {
    cut: Option<u32>,
    /// The discount of positions from the cut on is 0.
    cut_discounts: bool,
}

/// Ideal DCG at `cut`; `None` if it is 0 or all gains are equal.
pub(super) fn ideal(input: &Input, gains: &[f64], cut: Option<u32>, scratch: &mut Vec<f64>) -> Option<f64> {
    if gains.iter().all(|g| *g == gains[0]) {
        return None;
    }
    let k = cut.map_or(usize::MAX, |k| k as usize);
    let z = best_dcg(input.list.labels, input.list.missed, input.policy, k, scratch);
    (z > 0.0).then_some(z)
}

impl Delta for NdcgSwap {
    fn value(&self, input: &Input, item: usize) -> f64 {
        input.gain(item)
    }

    fn rows<'a>(
        &self,
        input: &Input,
        values: &'a [f64],
        [discounts, _]: [&'a mut [f64]; 2],
        gains: &mut Vec<f64>,
    ) -> Option<impl FnMut(usize, usize, &mut [f64]) -> bool + 'a> {
        let z = ideal(input, &values[..input.list.len()], self.cut, gains)?;
        let table = Discounts::default();
        // `discounts` comes filled with zeros.
        let counted = self.cut.filter(|_| self.cut_discounts).map_or(usize::MAX, |k| k as usize);
        for (place, discount) in discounts.iter_mut().enumerate().take(counted) {
            *discount = table.at(place) / z;
        }
        Some(move |a: usize, start: usize, row: &mut [f64]| {
            gain_times_discount([values[a], discounts[a]], &values[start..], &discounts[start..], row);
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{deltas, each_delta_is_what_a_swap_changes, lists};
    use super::*;
    use toprank_core::{List, Policy};
    use toprank_metrics::{Measure, Work};

    #[test]
    fn the_weight_of_a_pair_is_what_its_swap_changes_in_ndcg() {
        each_delta_is_what_a_swap_changes(&NdcgSwap { cut: None, cut_discounts: false }, "ndcg");
        each_delta_is_what_a_swap_changes(&NdcgSwap { cut: None, cut_discounts: true }, "ndcg");
    }

    #[test]
    fn with_cut_discounts_it_is_what_its_swap_changes_in_ndcg_at_k() {
        for k in [1, 2, 3, 10] {
            let swap = NdcgSwap { cut: Some(k), cut_discounts: true };
            each_delta_is_what_a_swap_changes(&swap, &format!("ndcg@{k}"));
        }
    }

    #[test]
    fn three_items_with_a_cut_by_hand() {
        // The relevant item is third, K = 1: only its swap with the first one changes NDCG@1, by all of it.
        let list = |text: &str| {
            let goal = crate::Goal::parse(text, &Policy::default()).unwrap();
            goal.of_list(&List::new(&[0.0, 0.0, 0.0], &[0.0, 0.0, 1.0])).unwrap()
        };
        let (loss, gradient) = list("lambdarank@1:discount=cut");
        assert!((loss - 2f64.ln()).abs() < 1e-15);
        assert_eq!(gradient, [0.5, 0.0, -0.5]);
        let (loss, _) = list("lambdarank@1");
        assert!((loss - (1.0 - 1.0 / 4f64.log2()) * 2f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn with_a_cut_the_ideal_is_cut_and_the_discounts_are_not() {
        let policy = Policy::default();
        let dcg = &Measure::parse_all("dcg", &policy).unwrap()[0];
        for (scores, labels, missed) in lists() {
            let list = List { missed: &missed, ..List::new(&scores, &labels) };
            let deltas = deltas(&NdcgSwap { cut: Some(2), cut_discounts: false }, list, &policy).unwrap();
            let ideal = best_dcg(&labels, &missed, &policy, 2, &mut Vec::new());
            let value = |labels: &[f32]| {
                dcg.of_list(&List { labels, ..list }, &mut Work::default()).unwrap().unwrap() / ideal
            };
            for (a, b) in [(0, 1), (0, labels.len() - 1), (1, 3)] {
                let mut swapped = labels.clone();
                swapped.swap(a, b);
                assert!((deltas[a][b] - (value(&labels) - value(&swapped))).abs() < 1e-13);
            }
        }
    }
}
