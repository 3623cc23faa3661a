//! What methods share that go by projected steps along gradients: ask, move, project, keep the best.

use super::{Errors, Found, Look, Oracle, Progress, Region, Why, check_number, check_start, norm};
use crate::error::TrainError;

/// A value, the one before, and the norm of the gradient.
pub(super) struct Now {
    pub before: f64,
    pub value: f64,
    pub gradient_norm: f64,
}

/// The loop of such a method.
pub(super) struct Descent<'a> {
    pub oracle: &'a mut dyn Oracle,
    pub region: &'a Region,
    /// Error of the oracle.
    pub error: f64,
    /// Most steps.
    pub steps: usize,
    pub look: &'a mut dyn Look,
}

impl Descent<'_> {
    /// From `start`, until `reached`; `move_on` has the number of the step from 1 on, the gradient and φ to be changed.
    pub fn run(
        self,
        start: &[f64],
        mut move_on: impl FnMut(usize, &[f64], &mut [f64]),
        reached: impl Fn(&Now) -> bool,
    ) -> Result<Found, TrainError> {
        let Descent { oracle, region, error, steps, look } = self;
        check_start(oracle, start)?;
        check_number("error", error)?;
        let errors = Errors { value: error, gradient: error };
        let mut phi = start.to_vec();
        region.project(&mut phi);
        let mut gradient = vec![0.0; phi.len()];
        let value = oracle.gradient(&phi, errors, &mut gradient)?;
        let gradient_norm = norm(gradient.iter().copied());
        let mut now = Now { before: value, value, gradient_norm };
        let mut found =
            Found { phi: phi.clone(), loss: value, gradient_norm, steps: 0, asked: (0, 1), why: Why::Steps };
        while found.steps < steps {
            found.steps += 1;
            move_on(found.steps, &gradient, &mut phi);
            region.project(&mut phi);
            let value = oracle.gradient(&phi, errors, &mut gradient)?;
            found.asked.1 += 1;
            let gradient_norm = norm(gradient.iter().copied());
            now = Now { before: now.value, value, gradient_norm };
            if value < found.loss {
                found.loss = value;
                found.gradient_norm = gradient_norm;
                found.phi.copy_from_slice(&phi);
            }
            look.step(&Progress { step: found.steps, loss: value, gradient_norm, lipschitz: f64::NAN }, &phi);
            if reached(&now) {
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
}
