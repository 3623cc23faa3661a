//! GBN: gradient steps with an inexact oracle and an adaptive estimate of the Lipschitz constant.

use super::{Errors, FINEST, Found, Look, Oracle, Progress, Region, Why, check_number, check_start, norm};
use crate::error::TrainError;

/// Settings of [`gbn`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gbn {
    /// ε: stops when the norm of the gradient map is at most this (1e-6).
    pub epsilon: f64,
    /// L0: the first estimate of the Lipschitz constant (1e-4). A wrong one costs a few doublings.
    pub lipschitz: f64,
    /// Most steps (200).
    pub steps: usize,
}

impl Default for Gbn {
    fn default() -> Gbn {
        Gbn { epsilon: 1e-6, lipschitz: 1e-4, steps: 200 }
    }
}

/// Most doublings of the estimate in one step: 2^100 is beyond any function that doubles can hold.
const DOUBLINGS: usize = 100;

/// Algorithm 4:
///
/// ```text
/// ω = Π_Φ(φ − g/M);  accept if f(ω) ≤ f(φ) + ⟨g, ω − φ⟩ + M/2 ‖ω − φ‖² + ε²/(8M), else M ← 2M
/// then φ ← ω, M ← M/2;  g_Φ = M(φ − ω);  stop when ‖g_Φ‖ ≤ ε; the ω of the smallest ‖g_Φ‖ is returned
/// errors asked for: value ε²/(32M), gradient ε²/(64 M R √m)
/// ```
///
/// ε² stands where the paper prints ε: theorem 3 bounds ‖g_Φ‖² by ε/2 and more, so that the printed slack would let any
/// step pass at the paper's own settings (ε = 1e-6, M = 1e-4: slack 1.25e-3, a third of its loss) and ‖g_Φ‖ ≤ ε might
/// never come. It costs logarithms of ε.
///
/// # Errors
/// If a setting is not above 0, or the oracle has no answer.
pub fn gbn(
    oracle: &mut dyn Oracle,
    region: &Region,
    start: &[f64],
    settings: &Gbn,
    look: &mut dyn Look,
) -> Result<Found, TrainError> {
    check_start(oracle, start)?;
    check_number("epsilon", settings.epsilon)?;
    check_number("lipschitz", settings.lipschitz)?;
    let epsilon = settings.epsilon * settings.epsilon;
    let m = start.len();
    let mut phi = start.to_vec();
    region.project(&mut phi);
    let mut found = Found {
        phi: phi.clone(),
        loss: f64::NAN,
        gradient_norm: f64::INFINITY,
        steps: 0,
        asked: (0, 0),
        why: Why::Steps,
    };
    let mut lipschitz = settings.lipschitz;
    let (mut gradient, mut omega) = (vec![0.0; m], vec![0.0; m]);
    while found.steps < settings.steps {
        let mut estimate = lipschitz;
        let mut value = 0.0;
        let mut precise = f64::INFINITY;
        let mut next = 0.0;
        for _ in 0..DOUBLINGS {
            let errors = Errors {
                value: (epsilon / (32.0 * estimate)).max(FINEST),
                gradient: (epsilon / (64.0 * estimate * region.radius() * (m as f64).sqrt())).max(FINEST),
            };
            // Only a larger estimate wants a finer answer; at the same fineness the last one stands.
            if errors.value < precise {
                value = oracle.gradient(&phi, errors, &mut gradient)?;
                precise = errors.value;
                found.asked.1 += 1;
            }
            omega.copy_from_slice(&phi);
            omega.iter_mut().zip(&gradient).for_each(|(omega, g)| *omega -= g / estimate);
            region.project(&mut omega);
            next = oracle.value(&omega, errors.value)?;
            found.asked.0 += 1;
            let moved = || omega.iter().zip(&phi).map(|(omega, phi)| omega - phi);
            let slope: f64 = moved().zip(&gradient).map(|(moved, g)| moved * g).sum();
            let square = norm(moved()).powi(2);
            if next <= value + slope + estimate / 2.0 * square + epsilon / (8.0 * estimate) {
                break;
            }
            estimate *= 2.0;
        }
        let size = estimate * norm(phi.iter().zip(&omega).map(|(phi, omega)| phi - omega));
        found.steps += 1;
        if size < found.gradient_norm || found.loss.is_nan() {
            found.gradient_norm = size;
            found.phi.copy_from_slice(&omega);
            found.loss = next;
        }
        std::mem::swap(&mut phi, &mut omega);
        lipschitz = estimate / 2.0;
        look.step(
            &Progress { step: found.steps, loss: next, gradient_norm: size, lipschitz: estimate },
            &phi,
        );
        if size <= settings.epsilon {
            found.why = Why::Reached;
            return Ok(found);
        }
        if look.stop() {
            found.why = Why::Interrupted;
            return Ok(found);
        }
    }
    Ok(found)
}
