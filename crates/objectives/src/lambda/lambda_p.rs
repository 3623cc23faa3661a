#![doc = include_str!("../pages/lambda-p.md")]

use toprank_core::{Param, ParamError, Spec};

use super::lambda_map::{relevance, relevant_items};
use super::mechanism::{Delta, Lambda, NORM, SIGMA};
use crate::objective::{Input, Objective};
use crate::params::RELEVANT;

const CUT: Param = Param {
    name: "@",
    default: "10",
    range: "an integer from 1 on",
    about: "K: only the top K positions count",
};
pub(crate) const PARAMS: &[Param] = &[CUT, SIGMA, NORM, RELEVANT];
pub(crate) const EXAMPLES: &[&str] =
    &["lambda-p@3", "lambda-p:sigma=2", "lambda-p:norm=lightgbm", "lambda-p@2:relevant=2"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let k = spec.cut.unwrap_or(10);
    let mut lambda = Lambda::new(spec, TopSwap { k })?;
    lambda.cut = Some(k);
    Ok(Box::new(lambda))
}

/// |ΔP@K| of a swap: 1/K if one item is inside, the other outside, and one of them is relevant.
struct TopSwap {
    k: u32,
}

impl Delta for TopSwap {
    fn value(&self, input: &Input, item: usize) -> f64 {
        relevance(input, item)
    }

    fn rows<'a>(
        &self,
        input: &Input,
        values: &'a [f64],
        _: [&'a mut [f64]; 2],
        _: &mut Vec<f64>,
    ) -> Option<impl FnMut(usize, usize, &mut [f64]) -> bool + 'a> {
        relevant_items(input, values)?;
        let (k, n) = (self.k as usize, input.list.len());
        if n <= k {
            return None; // no swap changes the top K
        }
        let change = 1.0 / k as f64;
        Some(move |a: usize, start: usize, row: &mut [f64]| {
            for (place, c) in (start..).zip(row.iter_mut()) {
                *c = if place < k { 0.0 } else { (values[a] - values[place]) * change };
            }
            a < k
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::each_delta_is_what_a_swap_changes;
    use super::*;

    #[test]
    fn the_weight_of_a_pair_is_what_its_swap_changes_in_precision() {
        for k in [1, 2, 3] {
            each_delta_is_what_a_swap_changes(&TopSwap { k }, &format!("p@{k}"));
        }
    }
}
