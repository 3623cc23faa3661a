#![doc = include_str!("../pages/lambda-map.md")]

use toprank_core::{Param, ParamError, Spec};

use super::mechanism::{CUT, Delta, Lambda, NORM, SIGMA};
use crate::objective::{Input, Objective};
use crate::params::RELEVANT;

pub(crate) const PARAMS: &[Param] = &[CUT, SIGMA, NORM, RELEVANT];
pub(crate) const EXAMPLES: &[&str] =
    &["lambda-map@5", "lambda-map:sigma=2", "lambda-map:norm=lightgbm", "lambda-map:relevant=2"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(Lambda::new(spec, PrecisionSwap)?))
}

/// |ΔAP| of a swap.
struct PrecisionSwap;

/// 1 for a relevant item, 0 for another.
pub(super) fn relevance(input: &Input, item: usize) -> f64 {
    f64::from(u8::from(input.is_relevant(item)))
}

/// Number of relevant items that were retrieved and of all; `None` unless there are both relevant and other items.
pub(super) fn relevant_items(input: &Input, values: &[f64]) -> Option<(usize, usize)> {
    let retrieved = values.iter().filter(|value| **value > 0.0).count();
    let missed = input.list.missed.iter().filter(|y| input.policy.relevant.is(**y)).count();
    (retrieved > 0 && retrieved < input.list.len()).then_some((retrieved, retrieved + missed))
}

impl Delta for PrecisionSwap {
    fn value(&self, input: &Input, item: usize) -> f64 {
        relevance(input, item)
    }

    /// With c(k) relevant items in the top k, P(k) = Σ_{m ≤ k} rel_m/m, ranks a < b from 1:
    ///
    /// ```text
    /// relevant at a: c(a)/a − c(b)/b + P(b−1) − P(a),   relevant at b: (c(a)+1)/a − c(b)/b + P(b−1) − P(a)
    /// ```
    ///
    /// so each is a function of a minus a function of b.
    fn rows<'a>(
        &self,
        input: &Input,
        values: &'a [f64],
        [upper, lower]: [&'a mut [f64]; 2],
        _: &mut Vec<f64>,
    ) -> Option<impl FnMut(usize, usize, &mut [f64]) -> bool + 'a> {
        let (_, relevant) = relevant_items(input, values)?;
        let scale = 1.0 / relevant as f64;
        let (mut count, mut precisions) = (0.0, 0.0);
        for (place, value) in values.iter().enumerate() {
            let rank = (place + 1) as f64;
            count += value;
            lower[place] = scale * (count / rank - precisions);
            precisions += value / rank;
            upper[place] = scale * ((count + 1.0 - value) / rank - precisions);
        }
        Some(move |a: usize, start: usize, row: &mut [f64]| {
            let (own, top) = (values[a], upper[a]);
            for ((c, value), low) in row.iter_mut().zip(&values[start..]).zip(&lower[start..]) {
                *c = (own - value) * (top - low);
            }
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::each_delta_is_what_a_swap_changes;
    use super::*;

    #[test]
    fn the_weight_of_a_pair_is_what_its_swap_changes_in_average_precision() {
        each_delta_is_what_a_swap_changes(&PrecisionSwap, "map");
    }
}
