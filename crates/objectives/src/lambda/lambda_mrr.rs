#![doc = include_str!("../pages/lambda-mrr.md")]

use toprank_core::{Param, ParamError, Spec};

use super::lambda_map::{relevance, relevant_items};
use super::mechanism::{CUT, Delta, Lambda, NORM, SIGMA};
use crate::objective::{Input, Objective};
use crate::params::RELEVANT;

pub(crate) const PARAMS: &[Param] = &[CUT, SIGMA, NORM, RELEVANT];
pub(crate) const EXAMPLES: &[&str] =
    &["lambda-mrr@1", "lambda-mrr:sigma=2", "lambda-mrr:norm=lightgbm", "lambda-mrr:relevant=2"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(Lambda::new(spec, FirstHitSwap)?))
}

/// |ΔRR| of a swap.
struct FirstHitSwap;

impl Delta for FirstHitSwap {
    fn value(&self, input: &Input, item: usize) -> f64 {
        relevance(input, item)
    }

    /// With the first relevant item at rank f and the next at f₂ (∞ if there is none), ranks a < b from 1:
    ///
    /// ```text
    /// a = f, other at b: 1/f − 1/min(b, f₂),   a < f, relevant at b: 1/a − 1/f,   else 0
    /// ```
    fn rows<'a>(
        &self,
        input: &Input,
        values: &'a [f64],
        [inverse, _]: [&'a mut [f64]; 2],
        _: &mut Vec<f64>,
    ) -> Option<impl FnMut(usize, usize, &mut [f64]) -> bool + 'a> {
        relevant_items(input, values)?;
        let mut hits = values.iter().enumerate().filter(|(_, value)| **value > 0.0).map(|(place, _)| place);
        let first = hits.next()?;
        let second = hits.next().unwrap_or(usize::MAX);
        for (place, inverse) in inverse.iter_mut().enumerate() {
            *inverse = 1.0 / (place + 1) as f64;
        }
        Some(move |a: usize, start: usize, row: &mut [f64]| {
            if a > first {
                return false;
            }
            for (place, c) in (start..).zip(row.iter_mut()) {
                *c = if a == first {
                    (1.0 - values[place]) * (inverse[a] - inverse[place.min(second)])
                } else {
                    -values[place] * (inverse[a] - inverse[first])
                };
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
    fn the_weight_of_a_pair_is_what_its_swap_changes_in_reciprocal_rank() {
        each_delta_is_what_a_swap_changes(&FirstHitSwap, "mrr");
    }
}
