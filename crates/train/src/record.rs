//! What is written down after each pass.

use serde::{Deserialize, Serialize};

/// One pass over the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The pass, from 1; warm-up counts.
    pub epoch: u32,
    /// Steps done at its end.
    pub step: u64,
    /// True for a pass of warm-up, whose loss is another one.
    pub warm_up: bool,
    /// Mean loss of its steps.
    pub loss: f64,
    /// Mean norm of the gradient, before it is clipped.
    pub norm: f64,
    /// Rate of its last step.
    pub rate: f64,
    /// Lists drawn.
    pub lists: u64,
    /// Those that could not contribute.
    pub idle: u64,
    /// The metric on the validation data.
    pub valid: Option<f64>,
}
