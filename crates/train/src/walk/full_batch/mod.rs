/*!
Methods that look at all data in every step, over an oracle of limited accuracy: (φ, error) → (value, gradient).

| method | what it is | stops |
|---|---|---|
| [`Gbn`] | gradient steps with an adaptive Lipschitz estimate (algorithm 4) | ‖g_Φ‖ ≤ ε |
| [`Gfn`] | random directions, values only (algorithm 2) | after its steps |
| [`Gbp`] | gradient steps of a fixed length | the value falls by less than a threshold |
| [`Adam`] | Adam with projection | ‖g_Φ‖ ≤ ε, or after its steps |

All minimise f + h over a set, where h is a penalty that may be 0 ([`Composite`]): the value of a step is that of the sum.
Each is a [`Method`]: it computes a step and takes it, so that the training loop can validate, record, checkpoint and stop in
between. They know neither models nor objectives; [`WalkOracle`] joins the two.

Source: Bogolubsky, Dvurechensky, Gasnikov, Gusev, Nesterov, Raigorodskii, Tikhonov, Zhukovskii, "Learning Supervised PageRank
with Gradient-Based and Gradient-Free Optimization Methods", NIPS 2016 (algorithms 1 to 4).
*/

mod adam;
mod composite;
mod descent;
mod gbn;
mod gbp;
mod gfn;
mod oracle;
#[cfg(test)]
mod tests;

pub use adam::Adam;
pub use composite::Composite;
pub use gbn::Gbn;
pub use gbp::Gbp;
pub use gfn::{Gfn, Theory, sphere};
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
    /// Every number between these bounds.
    Bounds {
        /// The lower bound.
        low: f64,
        /// The upper bound.
        high: f64,
    },
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
            Region::Bounds { low, high } => phi.iter_mut().for_each(|phi| *phi = phi.max(*low).min(*high)),
        }
    }

    /// R of the formulas for m parameters: the radius, or half the diagonal; 1 where there is none.
    fn radius(&self, m: usize) -> f64 {
        match self {
            Region::Ball { radius, .. } => *radius,
            Region::AtLeast(_) => 1.0,
            Region::Bounds { low, high } => (m as f64).sqrt() * (high - low) / 2.0,
        }
    }
}

/// What a computed step would come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The value there, as the oracle gave it, with h.
    pub loss: f64,
    /// Norm of the gradient, or of the gradient map g_Φ = M(φ − ω) where there is one.
    pub gradient_norm: f64,
    /// The factor of the gradient.
    pub learning_rate: f64,
}

/// Reads a named array of what a method remembers.
pub type StateReader<'a> = &'a dyn Fn(&str) -> Result<Vec<f64>, TrainError>;

/// A method in progress.
pub trait Method {
    /// Maximum number of steps.
    fn steps(&self) -> u64;

    /// Computes the next step without taking it.
    ///
    /// # Errors
    /// If the oracle has no answer.
    fn compute(&mut self, oracle: &mut dyn Oracle) -> Result<Trial, TrainError>;

    /// Takes the computed step.
    fn commit(&mut self);

    /// True if it has reached what it wanted.
    fn converged(&self) -> bool;

    /// The present parameters.
    fn phi(&self) -> &[f64];

    /// The best that was found, by the method's own criterion.
    fn found(&self) -> &Found;

    /// All it remembers, by name: what a checkpoint keeps.
    fn state(&self) -> Vec<(&'static str, Vec<f64>)>;

    /// Takes over what [`Method::state`] gave.
    ///
    /// # Errors
    /// If something is missing.
    fn restore(&mut self, read: StateReader) -> Result<(), TrainError>;
}

/// Takes steps until the method has converged or all are done; what was found.
///
/// # Errors
/// If the oracle has no answer.
pub fn minimise(mut method: Box<dyn Method>, oracle: &mut dyn Oracle) -> Result<Found, TrainError> {
    while method.found().steps < method.steps() && !method.converged() {
        method.compute(oracle)?;
        method.commit();
    }
    Ok(method.found().clone())
}

/// What a method found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The parameters.
    pub phi: Vec<f64>,
    /// Their value, with h.
    pub loss: f64,
    /// Norm of the gradient (map) there, NaN if the method knows none.
    pub gradient_norm: f64,
    /// Steps done.
    pub steps: u64,
    /// Times the oracle was asked: values, gradients.
    pub asked: (u64, u64),
}

impl Found {
    /// Nothing yet, at these parameters.
    fn at(phi: &[f64]) -> Found {
        Found { phi: phi.to_vec(), loss: f64::NAN, gradient_norm: f64::NAN, steps: 0, asked: (0, 0) }
    }

    fn state(&self) -> Vec<(&'static str, Vec<f64>)> {
        let counts = [self.steps, self.asked.0, self.asked.1].map(|count| count as f64);
        let numbers = [self.loss, self.gradient_norm].into_iter().chain(counts).collect();
        vec![("found.phi", self.phi.clone()), ("found", numbers)]
    }

    fn restore(&mut self, read: StateReader) -> Result<(), TrainError> {
        let [loss, gradient_norm, steps, values, gradients] = scalars(read, "found")?;
        // Counts that a run can reach: exact in f64, and far below what overflows.
        let most = 2_f64.powi(53);
        if let Some(count) = [steps, values, gradients].iter().find(|count| !(0.0..=most).contains(*count)) {
            let expected = "counts of steps and calls of the oracle";
            return Err(toprank_core::ParamError::new("found", &count.to_string(), expected).into());
        }
        let asked = (values as u64, gradients as u64);
        *self = Found { phi: read("found.phi")?, loss, gradient_norm, steps: steps as u64, asked };
        Ok(())
    }
}

/// An array of a known length.
fn scalars<const N: usize>(read: StateReader, name: &str) -> Result<[f64; N], TrainError> {
    let values = read(name)?;
    <[f64; N]>::try_from(values).map_err(|values| {
        let found = format!("{} numbers", values.len());
        toprank_core::ParamError::new(name, &found, &N.to_string()).into()
    })
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

/// The smallest error worth asking for: rounding.
const FINEST: f64 = 1e-14;

fn check_start(phi: &[f64]) -> Result<(), TrainError> {
    if !phi.is_empty() && phi.iter().all(|phi| phi.is_finite()) {
        return Ok(());
    }
    let found = format!("{} numbers, not all finite", phi.len());
    Err(toprank_core::ParamError::new("the start", &found, "finite numbers, at least one").into())
}

fn check_number(name: &str, value: f64) -> Result<(), TrainError> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(toprank_core::ParamError::new(name, &value.to_string(), "a finite number above 0").into())
}
