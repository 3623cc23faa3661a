//! GFN: random directions, values only.

use toprank_core::Stream;

use super::{FINEST, Found, Look, Oracle, Progress, Region, Why, check_number, check_start, norm};
use crate::error::TrainError;

/// Settings of [`gfn`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gfn {
    /// ε: the accuracy of the value that the theory is asked for (1e-6).
    pub epsilon: f64,
    /// L: the Lipschitz constant of the gradient (1e-4); the step is 1/(8 m L).
    pub lipschitz: f64,
    /// Most steps; `None`: the theory's, see [`Theory`].
    pub steps: Option<usize>,
    /// Seed of the directions.
    pub seed: u64,
}

impl Default for Gfn {
    fn default() -> Gfn {
        Gfn { epsilon: 1e-6, lipschitz: 1e-4, steps: Some(2000), seed: 1 }
    }
}

/// What theorem 2 asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theory {
    /// M = ⌈128 m L R²/ε⌉ steps.
    pub steps: f64,
    /// μ = √(2ε/(L(m + 8))): how far directions are tried.
    pub smoothing: f64,
    /// δ = ε^{3/2} √2 / (16 m R √(L(m + 8))): the error of values.
    pub error: f64,
}

impl Theory {
    /// For m parameters in a region of radius R.
    pub fn new(m: usize, radius: f64, settings: &Gfn) -> Theory {
        let (m, epsilon, l) = (m as f64, settings.epsilon, settings.lipschitz);
        Theory {
            steps: (128.0 * m * l * radius * radius / epsilon).ceil(),
            smoothing: (2.0 * epsilon / (l * (m + 8.0))).sqrt(),
            error: epsilon.powf(1.5) * 2f64.sqrt() / (16.0 * m * radius * (l * (m + 8.0)).sqrt()),
        }
    }
}

/// A direction uniform on the unit sphere.
pub fn sphere(stream: Stream, out: &mut [f64]) {
    let mut random = stream.open();
    loop {
        // Normal numbers by Box and Muller, in pairs.
        for pair in out.chunks_mut(2) {
            let radius = libm::sqrt(-2.0 * libm::log(1.0 - random.unit()));
            let angle = std::f64::consts::TAU * random.unit();
            pair[0] = radius * libm::cos(angle);
            if let Some(second) = pair.get_mut(1) {
                *second = radius * libm::sin(angle);
            }
        }
        let length = norm(out.iter().copied());
        if length > 0.0 {
            for x in out.iter_mut() {
                *x /= length;
            }
            return;
        }
    }
}

/// Algorithm 2:
///
/// ```text
/// ξ uniform on the sphere;  g = m/μ (f(φ + μξ) − f(φ)) ξ;  φ ← Π_Φ(φ − g/(8 m L))
/// ```
///
/// g is unbiased for the gradient of f averaged over a ball of radius μ. The best point seen is returned. Where φ + μξ would
/// leave the positive numbers (the edge of the ball), μ = (1 − R)/2 for that step.
///
/// # Errors
/// If a setting is not above 0, the theory's number of steps is beyond 10⁹, or the oracle has no answer.
pub fn gfn(
    oracle: &mut dyn Oracle,
    region: &Region,
    start: &[f64],
    settings: &Gfn,
    look: &mut dyn Look,
) -> Result<Found, TrainError> {
    check_start(oracle, start)?;
    check_number("epsilon", settings.epsilon)?;
    check_number("lipschitz", settings.lipschitz)?;
    let m = start.len();
    let theory = Theory::new(m, region.radius(), settings);
    if settings.steps.is_none() && theory.steps > 1e9 {
        let found = format!("{:.0} by the theory", theory.steps);
        let expected = "at most 10⁹: set a number of steps, a larger epsilon or a smaller lipschitz";
        return Err(toprank_core::ParamError::new("steps", &found, expected).into());
    }
    let steps = settings.steps.unwrap_or(theory.steps as usize);
    let error = theory.error.max(FINEST);
    let stream = Stream::new(settings.seed, "gfn");
    let mut phi = start.to_vec();
    region.project(&mut phi);
    let mut value = oracle.value(&phi, error)?;
    let mut found = Found {
        phi: phi.clone(),
        loss: value,
        gradient_norm: f64::NAN,
        steps: 0,
        asked: (1, 0),
        why: Why::Steps,
    };
    let (mut direction, mut tried) = (vec![0.0; m], vec![0.0; m]);
    while found.steps < steps {
        sphere(stream.at_step(found.steps as u64), &mut direction);
        let mut mu = theory.smoothing;
        let go = |mu: f64, tried: &mut [f64]| {
            tried.iter_mut().zip(&phi).zip(&direction).for_each(|((t, phi), xi)| *t = phi + mu * xi);
            tried.iter().all(|t| *t > 0.0)
        };
        if !go(mu, &mut tried) {
            mu = ((1.0 - region.radius()) / 2.0).max(1e-6);
            go(mu, &mut tried);
        }
        let there = oracle.value(&tried, error)?;
        let along = m as f64 / mu * (there - value);
        let step = along / (8.0 * m as f64 * settings.lipschitz);
        phi.iter_mut().zip(&direction).for_each(|(phi, xi)| *phi -= step * xi);
        region.project(&mut phi);
        value = oracle.value(&phi, error)?;
        found.asked.0 += 2;
        found.steps += 1;
        if value < found.loss {
            found.loss = value;
            found.phi.copy_from_slice(&phi);
        }
        look.step(
            &Progress {
                step: found.steps,
                loss: value,
                gradient_norm: along.abs(),
                lipschitz: settings.lipschitz,
            },
            &phi,
        );
        if look.stop() {
            found.why = Why::Interrupted;
            break;
        }
    }
    Ok(found)
}
