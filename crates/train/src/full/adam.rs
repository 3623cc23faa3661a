//! Adam with projection over an oracle.

use super::descent::Descent;
use super::{Found, Look, Oracle, Region, check_number};
use crate::error::TrainError;

/// Settings of [`adam`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// The rate (0.02).
    pub rate: f64,
    /// Most steps (300).
    pub steps: usize,
    /// Stops when the norm of the gradient is at most this (1e-8).
    pub epsilon: f64,
    /// Error of the oracle (1e-9).
    pub error: f64,
}

impl Default for Adam {
    fn default() -> Adam {
        Adam { rate: 0.02, steps: 300, epsilon: 1e-8, error: 1e-9 }
    }
}

/// Adam (β = 0.9, 0.999), each step projected on the region; the best point is returned. Made for losses that are not
/// small where the gradient is, as those of ranks.
///
/// # Errors
/// If a setting is not above 0, or the oracle has no answer.
pub fn adam(
    oracle: &mut dyn Oracle,
    region: &Region,
    start: &[f64],
    settings: &Adam,
    look: &mut dyn Look,
) -> Result<Found, TrainError> {
    check_number("rate", settings.rate)?;
    let [mut mean, mut square] = [vec![0.0; start.len()], vec![0.0; start.len()]];
    let Adam { rate, steps, epsilon, error } = *settings;
    Descent { oracle, region, error, steps, look }.run(
        start,
        |step, gradient, phi| {
            let [fade, fade_square] = [0.9f64, 0.999].map(|beta| 1.0 - beta.powf(step as f64));
            for (f, phi) in phi.iter_mut().enumerate() {
                mean[f] += 0.1 * (gradient[f] - mean[f]);
                square[f] += 0.001 * (gradient[f] * gradient[f] - square[f]);
                *phi -= rate * (mean[f] / fade) / ((square[f] / fade_square).sqrt() + 1e-12);
            }
        },
        |now| now.gradient_norm <= epsilon,
    )
}
