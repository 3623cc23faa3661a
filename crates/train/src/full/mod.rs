/*!
Methods that look at all data in every step, over an oracle that is only so precise: (φ, error) → (value, gradient).

| method | what it is | stops |
|---|---|---|
| [`gbn`] | gradient steps with an adaptive Lipschitz estimate (algorithm 4) | ‖g_Φ‖ ≤ ε |
| [`gfn`] | random directions, values only (algorithm 2) | after its steps |
| [`gbp`] | gradient steps of a fixed length | the value falls by less than a threshold |
| [`adam`] | Adam with projection | ‖g_Φ‖ ≤ ε, or after its steps |

They live here, in the room that joins models and objectives, because an oracle is such a join; they know neither.

Source: "Learning Supervised PageRank with Gradient-Based and Gradient-Free Optimization Methods" (algorithms 1 to 4).
*/

mod adam;
mod descent;
mod gbn;
mod gbp;
mod gfn;
mod oracle;
#[cfg(test)]
mod tests;

pub use adam::{Adam, adam};
pub use gbn::{Gbn, gbn};
pub use gbp::{Gbp, gbp};
pub use gfn::{Gfn, Theory, gfn, sphere};
pub use oracle::WalkOracle;

use crate::error::TrainError;

/// How wrong an answer of an oracle may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Of the value.
    pub value: f64,
    /// Of each number of the gradient.
    pub gradient: f64,
}

/// A function that is known only so precisely.
pub trait Oracle {
    /// Number of its parameters.
    fn parameters(&self) -> usize;

    /// The value, wrong by `error` at most.
    ///
    /// # Errors
    /// If there is no value at `phi`.
    fn value(&mut self, phi: &[f64], error: f64) -> Result<f64, TrainError>;

    /// Value and gradient, wrong by `errors` at most.
    ///
    /// # Errors
    /// If there is no value at `phi`.
    fn gradient(&mut self, phi: &[f64], errors: Errors, gradient: &mut [f64]) -> Result<f64, TrainError>;
}

/// Where parameters may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Region {
    /// ‖φ − centre‖₂ ≤ radius: the paper's Φ has the all-ones vector and 0.99, so that all are positive.
    Ball {
        /// Its centre.
        centre: Vec<f64>,
        /// Its radius.
        radius: f64,
    },
    /// Every number at least this.
    AtLeast(f64),
}

impl Region {
    /// The paper's ball for m parameters.
    pub fn ball(m: usize, radius: f64) -> Region {
        Region::Ball { centre: vec![1.0; m], radius }
    }

    /// The nearest point of the region.
    pub fn project(&self, phi: &mut [f64]) {
        match self {
            Region::Ball { centre, radius } => {
                let far = norm(phi.iter().zip(centre).map(|(phi, centre)| phi - centre));
                if far > *radius {
                    let shrink = radius / far;
                    phi.iter_mut().zip(centre).for_each(|(phi, c)| *phi = c + shrink * (*phi - c));
                }
            }
            Region::AtLeast(least) => phi.iter_mut().for_each(|phi| *phi = phi.max(*least)),
        }
    }

    /// R of the formulas: the radius, or 1 where there is none.
    fn radius(&self) -> f64 {
        match self {
            Region::Ball { radius, .. } => *radius,
            Region::AtLeast(_) => 1.0,
        }
    }
}

/// Where a method stands after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Steps done.
    pub step: usize,
    /// The value, as the oracle gave it.
    pub loss: f64,
    /// Norm of the gradient, or of the gradient map g_Φ = M(φ − ω) where there is one.
    pub gradient_norm: f64,
    /// The estimate of the Lipschitz constant; NaN where there is none.
    pub lipschitz: f64,
}

/// Who looks on; every method may do nothing.
pub trait Look {
    /// After each step, with the parameters there.
    fn step(&mut self, _progress: &Progress, _phi: &[f64]) {}

    /// True: stop after this step.
    fn stop(&mut self) -> bool {
        false
    }
}

/// Nobody looks on.
impl Look for () {}

/// Why a method stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It reached what it wanted.
    Reached,
    /// All steps are done.
    Steps,
    /// [`Look::stop`] said so.
    Interrupted,
}

/// What a method found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The parameters.
    pub phi: Vec<f64>,
    /// Their value.
    pub loss: f64,
    /// Norm of the gradient (map) there, NaN if the method knows none.
    pub gradient_norm: f64,
    /// Steps done.
    pub steps: usize,
    /// Times the oracle was asked: values, gradients.
    pub asked: (usize, usize),
    /// Why it stopped.
    pub why: Why,
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

/// The smallest error worth asking for: rounding.
const FINEST: f64 = 1e-14;

fn check_start(oracle: &dyn Oracle, phi: &[f64]) -> Result<(), TrainError> {
    if phi.len() == oracle.parameters() && phi.iter().all(|phi| phi.is_finite()) {
        return Ok(());
    }
    let found = format!("{} numbers", phi.len());
    let expected = format!("{} finite ones", oracle.parameters());
    Err(toprank_core::ParamError::new("the start", &found, &expected).into())
}

fn check_number(name: &str, value: f64) -> Result<(), TrainError> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(toprank_core::ParamError::new(name, &value.to_string(), "a finite number above 0").into())
}
