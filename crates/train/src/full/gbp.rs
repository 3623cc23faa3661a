//! GBP: gradient steps of a fixed length, the method before the paper's.

use super::descent::Descent;
use super::{Found, Look, Oracle, Region, check_number};
use crate::error::TrainError;

/// Settings of [`gbp`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gbp {
    /// The factor of the gradient (100; the paper tries 50, 100, 200, 500).
    pub step: f64,
    /// Stops when the value falls by less than this (1e-5).
    pub least_gain: f64,
    /// Error of the oracle (1e-7: what 100 powers give at a restart of 0.15).
    pub error: f64,
    /// Most steps (200).
    pub steps: usize,
}

impl Default for Gbp {
    fn default() -> Gbp {
        Gbp { step: 100.0, least_gain: 1e-5, error: 1e-7, steps: 200 }
    }
}

/// φ ← Π_Φ(φ − step · g) until the value falls by less than `least_gain`; the best point is returned.
///
/// # Errors
/// If a setting is not above 0, or the oracle has no answer.
pub fn gbp(
    oracle: &mut dyn Oracle,
    region: &Region,
    start: &[f64],
    settings: &Gbp,
    look: &mut dyn Look,
) -> Result<Found, TrainError> {
    check_number("step", settings.step)?;
    let Gbp { step, least_gain, error, steps } = *settings;
    Descent { oracle, region, error, steps, look }.run(
        start,
        |_, gradient, phi| phi.iter_mut().zip(gradient).for_each(|(phi, g)| *phi -= step * g),
        |now| now.before - now.value < least_gain,
    )
}
