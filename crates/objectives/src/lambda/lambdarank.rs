#![doc = include_str!("../pages/lambdarank.md")]

use toprank_core::{Param, ParamError, Spec};
use toprank_metrics::{Discounts, best_dcg};

use super::mechanism::{CUT, Delta, Lambda, NORM, SIGMA};
use super::row::gain_times_discount;
use crate::objective::{Input, Objective};
use crate::params::GAIN;

pub(crate) const PARAMS: &[Param] = &[CUT, SIGMA, NORM, GAIN];
pub(crate) const EXAMPLES: &[&str] =
    &["lambdarank@5", "lambdarank:sigma=2", "lambdarank:norm=lightgbm", "lambdarank:gain=linear"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(Lambda::new(spec, NdcgSwap { cut: spec.cut })?))
}

/// |ΔNDCG| of a swap: |gain_a − gain_b|·|discount_a − discount_b|/Z.
struct NdcgSwap {
    cut: Option<u32>,
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
        for (place, discount) in discounts.iter_mut().enumerate() {
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
        each_delta_is_what_a_swap_changes(&NdcgSwap { cut: None }, "ndcg");
    }

    #[test]
    fn with_a_cut_the_ideal_is_cut_and_the_discounts_are_not() {
        let policy = Policy::default();
        let dcg = &Measure::parse_all("dcg", &policy).unwrap()[0];
        for (scores, labels, missed) in lists() {
            let list = List { missed: &missed, ..List::new(&scores, &labels) };
            let deltas = deltas(&NdcgSwap { cut: Some(2) }, list, &policy).unwrap();
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
