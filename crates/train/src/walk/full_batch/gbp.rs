//! GBP: gradient steps of a fixed length, the method that preceded the paper's.

use super::descent::{Descent, Rule};
use super::{Composite, Method, check_number, check_start};
use crate::error::TrainError;

/// Settings of GBP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gbp {
    /// The factor of the gradient (100; the paper tries 50, 100, 200, 500).
    pub step: f64,
    /// Stops when the value falls by less than this (1e-5).
    pub least_gain: f64,
    /// Error of the oracle (1e-7: what 100 powers give at a restart of 0.15).
    pub error: f64,
    /// Maximum number of steps (200).
    pub steps: u64,
}

impl Default for Gbp {
    fn default() -> Gbp {
        Gbp { step: 100.0, least_gain: 1e-5, error: 1e-7, steps: 200 }
    }
}

impl Gbp {
    /// φ ← x_Φ(φ, g, step), which is Π_Φ(φ − step · g) where h = 0, from `start`, until the value falls by less than `least_gain`; the best point is found.
    ///
    /// # Errors
    /// If a setting is not above 0.
    pub fn start(&self, problem: impl Into<Composite>, start: &[f64]) -> Result<Box<dyn Method>, TrainError> {
        check_number("step-size", self.step)?;
        check_number("error", self.error)?;
        check_start(start)?;
        let rule = Rule::Fixed { step: self.step, least_gain: self.least_gain };
        Ok(Box::new(Descent::new(rule, problem.into(), start, self.error, self.steps)))
    }
}
