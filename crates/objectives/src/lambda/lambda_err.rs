#![doc = include_str!("../pages/lambda-err.md")]

use toprank_core::{Param, ParamError, Spec};

use super::mechanism::{CUT, Delta, Lambda, NORM, SIGMA};
use crate::objective::{Input, Objective};

const MAX: Param = Param {
    name: "max",
    default: "4",
    range: "in [1, 31]",
    about: "the highest grade; labels above it count as this grade",
};
pub(crate) const PARAMS: &[Param] = &[CUT, SIGMA, NORM, MAX];
pub(crate) const EXAMPLES: &[&str] =
    &["lambda-err@5", "lambda-err:sigma=2", "lambda-err:norm=lightgbm", "lambda-err:max=5"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let max = spec.args.number("max", 4.0, "in [1, 31]", |x| (1.0..=31.0).contains(&x))?;
    Ok(Box::new(Lambda::new(spec, StopSwap { max })?))
}

/// |ΔERR| of a swap.
struct StopSwap {
    max: f64,
}

impl Delta for StopSwap {
    /// Probability that a reader is satisfied.
    fn value(&self, input: &Input, item: usize) -> f64 {
        let grade = f64::from(input.list.labels[item]).clamp(0.0, self.max);
        (grade.exp2() - 1.0) / self.max.exp2()
    }

    /// With Q(a) the probability of reaching rank a and, for the items between ranks a < b (from 1), the probability Π of passing
    /// all of them and B = Σ (probability of stopping)/rank:
    ///
    /// ```text
    /// |ΔERR| = |R_a − R_b|·Q(a)·(1/a − B − Π/b)
    /// ```
    fn rows<'a>(
        &self,
        input: &Input,
        values: &'a [f64],
        [reached, _]: [&'a mut [f64]; 2],
        _: &mut Vec<f64>,
    ) -> Option<impl FnMut(usize, usize, &mut [f64]) -> bool + 'a> {
        let n = input.list.len();
        if values[..n].iter().all(|value| *value == values[0]) {
            return None;
        }
        let mut through = 1.0;
        for (reached, value) in reached.iter_mut().zip(values) {
            *reached = through;
            through *= 1.0 - value;
        }
        Some(move |a: usize, start: usize, row: &mut [f64]| {
            let (mut pass, mut stops) = (1.0, 0.0);
            let top = 1.0 / (a + 1) as f64;
            for b in a + 1..n {
                let inverse = 1.0 / (b + 1) as f64;
                row[b - start] = (values[a] - values[b]) * reached[a] * (top - stops - pass * inverse);
                stops += pass * values[b] * inverse;
                pass *= 1.0 - values[b];
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
    fn the_weight_of_a_pair_is_what_its_swap_changes_in_expected_reciprocal_rank() {
        each_delta_is_what_a_swap_changes(&StopSwap { max: 4.0 }, "err");
        each_delta_is_what_a_swap_changes(&StopSwap { max: 6.0 }, "err:max=6");
    }
}
