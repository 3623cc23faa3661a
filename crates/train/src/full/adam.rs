//! Adam with projection over an oracle.

use super::{Errors, Found, Look, Oracle, Progress, Region, Why, check_number, check_start, norm};
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
    check_start(oracle, start)?;
    check_number("rate", settings.rate)?;
    check_number("error", settings.error)?;
    let errors = Errors { value: settings.error, gradient: settings.error };
    let m = start.len();
    let mut phi = start.to_vec();
    region.project(&mut phi);
    let [mut gradient, mut mean, mut square] = [vec![0.0; m], vec![0.0; m], vec![0.0; m]];
    let value = oracle.gradient(&phi, errors, &mut gradient)?;
    let mut found = Found {
        phi: phi.clone(),
        loss: value,
        gradient_norm: norm(gradient.iter().copied()),
        steps: 0,
        asked: (0, 1),
        why: Why::Steps,
    };
    while found.steps < settings.steps {
        found.steps += 1;
        let [fade, fade_square] = [0.9f64, 0.999].map(|beta| 1.0 - beta.powf(found.steps as f64));
        for (f, phi) in phi.iter_mut().enumerate() {
            mean[f] += 0.1 * (gradient[f] - mean[f]);
            square[f] += 0.001 * (gradient[f] * gradient[f] - square[f]);
            *phi -= settings.rate * (mean[f] / fade) / ((square[f] / fade_square).sqrt() + 1e-12);
        }
        region.project(&mut phi);
        let value = oracle.gradient(&phi, errors, &mut gradient)?;
        found.asked.1 += 1;
        let size = norm(gradient.iter().copied());
        if value < found.loss {
            found.loss = value;
            found.gradient_norm = size;
            found.phi.copy_from_slice(&phi);
        }
        look.step(
            &Progress { step: found.steps, loss: value, gradient_norm: size, lipschitz: f64::NAN },
            &phi,
        );
        if size <= settings.epsilon {
            found.why = Why::Reached;
            break;
        }
        if look.stop() {
            found.why = Why::Interrupted;
            break;
        }
    }
    Ok(found)
}
