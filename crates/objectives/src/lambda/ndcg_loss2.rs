#![doc = include_str!("../pages/ndcg-loss2.md")]

use std::f64::consts::LN_2;

use toprank_core::{Param, ParamError, Spec};
use toprank_metrics::Discounts;

use super::lambdarank::ideal;
use super::mechanism::{CUT, Delta, Lambda, SIGMA};
use crate::objective::{Input, Objective};
use crate::params::GAIN;

pub(crate) const PARAMS: &[Param] = &[CUT, SIGMA, GAIN];
pub(crate) const EXAMPLES: &[&str] = &["ndcg-loss2@5", "ndcg-loss2:sigma=2", "ndcg-loss2:gain=linear"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(Lambda::new(spec, NdcgBound { cut: spec.cut, near: 1.0, swap: 0.0 })?))
}

/// |gain_a − gain_b|·(near·(1/log2(1 + d) − 1/log2(2 + d)) + swap·|discount_a − discount_b|)/(Z ln 2), d = b − a.
pub(super) struct NdcgBound {
    pub cut: Option<u32>,
    pub near: f64,
    pub swap: f64,
}

impl Delta for NdcgBound {
    fn value(&self, input: &Input, item: usize) -> f64 {
        input.gain(item)
    }

    fn rows<'a>(
        &self,
        input: &Input,
        values: &'a [f64],
        [discounts, near]: [&'a mut [f64]; 2],
        gains: &mut Vec<f64>,
    ) -> Option<impl FnMut(usize, usize, &mut [f64]) -> bool + 'a> {
        let n = input.list.len();
        let z = ideal(input, &values[..n], self.cut, gains)?;
        let table = Discounts::default();
        for place in 0..n {
            discounts[place] = self.swap * table.at(place);
            near[place] = self.near * (table.at(place) - table.at(place + 1)); // of ranks place + 1 apart
        }
        let scale = 1.0 / (z * LN_2);
        Some(move |a: usize, start: usize, row: &mut [f64]| {
            let below = values[a + 1..n].iter().zip(&discounts[a + 1..]).zip(&*near);
            for (c, ((value, discount), near)) in row[a + 1 - start..].iter_mut().zip(below) {
                *c = (values[a] - value) * ((near + (discounts[a] - discount)) * scale);
            }
            true
        })
    }
}
