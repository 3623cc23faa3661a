//! GBP: gradient steps of a fixed length, the method before the paper's.

use super::{Errors, Found, Look, Oracle, Progress, Region, Why, check_number, check_start, norm};
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
    check_start(oracle, start)?;
    check_number("step", settings.step)?;
    check_number("error", settings.error)?;
    let errors = Errors { value: settings.error, gradient: settings.error };
    let mut phi = start.to_vec();
    region.project(&mut phi);
    let mut gradient = vec![0.0; phi.len()];
    let mut value = oracle.gradient(&phi, errors, &mut gradient)?;
    let mut found = Found {
        phi: phi.clone(),
        loss: value,
        gradient_norm: norm(gradient.iter().copied()),
        steps: 0,
        asked: (0, 1),
        why: Why::Steps,
    };
    while found.steps < settings.steps {
        phi.iter_mut().zip(&gradient).for_each(|(phi, g)| *phi -= settings.step * g);
        region.project(&mut phi);
        let next = oracle.gradient(&phi, errors, &mut gradient)?;
        found.asked.1 += 1;
        found.steps += 1;
        let size = norm(gradient.iter().copied());
        if next < found.loss {
            found.loss = next;
            found.gradient_norm = size;
            found.phi.copy_from_slice(&phi);
        }
        look.step(
            &Progress { step: found.steps, loss: next, gradient_norm: size, lipschitz: f64::NAN },
            &phi,
        );
        let gained = value - next;
        value = next;
        if gained < settings.least_gain {
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
