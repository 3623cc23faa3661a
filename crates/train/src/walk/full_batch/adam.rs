//! Adam with projection.

use super::descent::{Descent, Rule};
use super::{Composite, Method, check_number, check_start};
use crate::error::TrainError;

/// Settings of Adam over an oracle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// Learning rate (0.02).
    pub learning_rate: f64,
    /// Maximum number of steps (300).
    pub steps: u64,
    /// Stops when the norm of the gradient is at most this (1e-8).
    pub epsilon: f64,
    /// Error of the oracle (1e-9).
    pub error: f64,
}

impl Default for Adam {
    fn default() -> Adam {
        Adam { learning_rate: 0.02, steps: 300, epsilon: 1e-8, error: 1e-9 }
    }
}

impl Adam {
    /// Adam (β = 0.9, 0.999) from `start`, each step along the gradient of f + h and projected on the region; the best point is found. Made for losses that
    /// are not small where the gradient is, as those of ranks.
    ///
    /// # Errors
    /// If a setting is not above 0.
    pub fn start(&self, problem: impl Into<Composite>, start: &[f64]) -> Result<Box<dyn Method>, TrainError> {
        check_number("learning-rate", self.learning_rate)?;
        check_number("error", self.error)?;
        check_start(start)?;
        let zeros = || vec![0.0; start.len()];
        let rule =
            Rule::Adam { rate: self.learning_rate, epsilon: self.epsilon, mean: zeros(), square: zeros() };
        Ok(Box::new(Descent::new(rule, problem.into(), start, self.error, self.steps)))
    }
}
