//! GBN: gradient steps with an inexact oracle and an adaptive estimate of the Lipschitz constant.

use super::{
    Composite, Errors, FINEST, Found, Method, Oracle, StateReader, Trial, check_number, check_start, norm,
    scalars,
};
use crate::error::TrainError;

/// Settings of GBN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gbn {
    /// ε: stops when the norm of the gradient map is at most this (1e-6).
    pub epsilon: f64,
    /// L0: the first estimate of the Lipschitz constant (1e-4). A wrong one costs a few doublings.
    pub lipschitz: f64,
    /// Maximum number of steps (200).
    pub steps: u64,
}

impl Default for Gbn {
    fn default() -> Gbn {
        Gbn { epsilon: 1e-6, lipschitz: 1e-4, steps: 200 }
    }
}

/// Maximum number of doublings of the estimate in one step: 2^100 is beyond any function that doubles can hold.
const DOUBLINGS: usize = 100;

impl Gbn {
    /// Algorithm 4, from `start`:
    ///
    /// ```text
    /// ω = x_Φ(φ, g, 1/M), which is Π_Φ(φ − g/M) where h = 0;  accept if f(ω) ≤ f(φ) + ⟨g, ω − φ⟩ + M/2 ‖ω − φ‖² + ε²/(8M), else M ← 2M
    /// then φ ← ω, M ← M/2;  g_Φ = M(φ − ω);  stop when ‖g_Φ‖ ≤ ε; the ω of the smallest ‖g_Φ‖ is found
    /// errors asked for: value ε²/(32M), gradient ε²/(64 M R √m)
    /// ```
    ///
    /// ε² stands where the paper prints ε: theorem 3 bounds ‖g_Φ‖² by ε/2 and more, so that the printed slack would let any
    /// step pass at the paper's own settings (ε = 1e-6, M = 1e-4: slack 1.25e-3, a third of its loss) and ‖g_Φ‖ ≤ ε might
    /// never come. It costs logarithms of ε. The learning rate of a step is 1/M.
    ///
    /// # Errors
    /// If a setting is not above 0.
    pub fn start(&self, problem: impl Into<Composite>, start: &[f64]) -> Result<Box<dyn Method>, TrainError> {
        check_start(start)?;
        check_number("epsilon", self.epsilon)?;
        check_number("lipschitz", self.lipschitz)?;
        let problem = problem.into();
        let mut phi = start.to_vec();
        problem.region.project(&mut phi);
        let mut found = Found::at(&phi);
        found.gradient_norm = f64::INFINITY;
        let zeros = || vec![0.0; start.len()];
        Ok(Box::new(Running {
            settings: *self,
            problem,
            phi,
            lipschitz: self.lipschitz,
            found,
            gradient: zeros(),
            omega: zeros(),
            estimate: 0.0,
            next: 0.0,
            size: f64::INFINITY,
        }))
    }
}

struct Running {
    settings: Gbn,
    problem: Composite,
    phi: Vec<f64>,
    /// M at the start of the next step.
    lipschitz: f64,
    found: Found,
    gradient: Vec<f64>,
    /// The computed step: ω, its M, ψ(ω) and ‖g_Φ‖.
    omega: Vec<f64>,
    estimate: f64,
    next: f64,
    size: f64,
}

impl Method for Running {
    fn steps(&self) -> u64 {
        self.settings.steps
    }

    fn compute(&mut self, oracle: &mut dyn Oracle) -> Result<Trial, TrainError> {
        let epsilon = self.settings.epsilon * self.settings.epsilon;
        let Running { problem, phi, omega, gradient, found, .. } = self;
        let root = (phi.len() as f64).sqrt();
        let radius = problem.region.radius(phi.len());
        let mut estimate = self.lipschitz;
        let (mut value, mut next, mut precise) = (0.0, 0.0, f64::INFINITY);
        for _ in 0..DOUBLINGS {
            let errors = Errors {
                value: (epsilon / (32.0 * estimate)).max(FINEST),
                gradient: (epsilon / (64.0 * estimate * radius * root)).max(FINEST),
            };
            // Only a larger estimate wants a finer answer; at the same accuracy the last one stands.
            if errors.value < precise {
                value = oracle.gradient(phi, errors, gradient)?;
                precise = errors.value;
                found.asked.1 += 1;
            }
            omega.copy_from_slice(phi);
            omega.iter_mut().zip(&*gradient).for_each(|(omega, g)| *omega -= g / estimate);
            problem.prox(1.0 / estimate, omega);
            next = oracle.value(omega, errors.value)?;
            found.asked.0 += 1;
            let moved = || omega.iter().zip(&*phi).map(|(omega, phi)| omega - phi);
            let slope: f64 = moved().zip(&*gradient).map(|(moved, g)| moved * g).sum();
            let square = norm(moved()).powi(2);
            if next <= value + slope + estimate / 2.0 * square + epsilon / (8.0 * estimate) {
                break;
            }
            estimate *= 2.0;
        }
        self.size = estimate * norm(phi.iter().zip(&*omega).map(|(phi, omega)| phi - omega));
        (self.estimate, self.next) = (estimate, next + problem.term(omega));
        Ok(Trial { loss: self.next, gradient_norm: self.size, learning_rate: 1.0 / estimate })
    }

    fn commit(&mut self) {
        let Running { found, omega, phi, size, .. } = self;
        found.steps += 1;
        if *size < found.gradient_norm || found.loss.is_nan() {
            found.gradient_norm = *size;
            found.phi.copy_from_slice(omega);
            found.loss = self.next;
        }
        std::mem::swap(phi, omega);
        self.lipschitz = self.estimate / 2.0;
    }

    fn converged(&self) -> bool {
        self.size <= self.settings.epsilon
    }

    fn phi(&self) -> &[f64] {
        &self.phi
    }

    fn found(&self) -> &Found {
        &self.found
    }

    fn state(&self) -> Vec<(&'static str, Vec<f64>)> {
        let mut state = self.found.state();
        state.extend([("phi", self.phi.clone()), ("scalars", vec![self.lipschitz, self.size])]);
        state
    }

    fn restore(&mut self, read: StateReader) -> Result<(), TrainError> {
        self.found.restore(read)?;
        self.phi = read("phi")?;
        [self.lipschitz, self.size] = scalars(read, "scalars")?;
        Ok(())
    }
}
