//! GFN: random directions, values only.

use toprank_core::Stream;

use super::{
    Composite, FINEST, Found, Method, Oracle, StateReader, Trial, check_number, check_start, norm, scalars,
};
use crate::error::TrainError;

/// Settings of GFN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gfn {
    /// ε: the accuracy of the value that the theory is asked for (1e-6).
    pub epsilon: f64,
    /// L: the Lipschitz constant of the gradient (1e-4); the step is 1/(8 m L).
    pub lipschitz: f64,
    /// Maximum number of steps; `None`: the theory's, see [`Theory`].
    pub steps: Option<u64>,
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

impl Gfn {
    /// Algorithm 2, from `start`:
    ///
    /// ```text
    /// ξ uniform on the sphere;  g = m/μ (f(φ + μξ) − f(φ)) ξ;  φ ← x_Φ(φ, g, 1/(8 m L)), which is Π_Φ(φ − g/(8 m L)) where h = 0
    /// ```
    ///
    /// g is unbiased for the gradient of f averaged over a ball of radius μ. The best point seen is found. Where φ + μξ would
    /// leave the positive numbers (the edge of the ball), μ = (1 − R)/2 for that step. The learning rate is 1/(8 m L).
    ///
    /// # Errors
    /// If a setting is not above 0, or the theory's number of steps is beyond 10⁹.
    pub fn start(&self, problem: impl Into<Composite>, start: &[f64]) -> Result<Box<dyn Method>, TrainError> {
        check_start(start)?;
        check_number("epsilon", self.epsilon)?;
        check_number("lipschitz", self.lipschitz)?;
        let problem = problem.into();
        let theory = Theory::new(start.len(), problem.region.radius(start.len()), self);
        if self.steps.is_none() && theory.steps > 1e9 {
            let found = format!("{:.0} by the theory", theory.steps);
            let expected = "at most 10⁹: set a number of steps, a larger epsilon or a smaller lipschitz";
            return Err(toprank_core::ParamError::new("steps", &found, expected).into());
        }
        let mut phi = start.to_vec();
        problem.region.project(&mut phi);
        let zeros = || vec![0.0; start.len()];
        Ok(Box::new(Running {
            steps: self.steps.unwrap_or(theory.steps as u64),
            error: theory.error.max(FINEST),
            rate: 1.0 / (8.0 * start.len() as f64 * self.lipschitz),
            stream: Stream::new(self.seed, "gfn"),
            found: Found::at(&phi),
            value: f64::NAN,
            next: zeros(),
            next_value: 0.0,
            next_term: 0.0,
            direction: zeros(),
            tried: zeros(),
            lipschitz: self.lipschitz,
            theory,
            problem,
            phi,
        }))
    }
}

struct Running {
    steps: u64,
    theory: Theory,
    error: f64,
    rate: f64,
    lipschitz: f64,
    problem: Composite,
    stream: Stream,
    phi: Vec<f64>,
    /// f(φ), without h; NaN before the oracle was asked for the first time.
    value: f64,
    /// The computed step.
    next: Vec<f64>,
    next_value: f64,
    /// h there.
    next_term: f64,
    found: Found,
    direction: Vec<f64>,
    tried: Vec<f64>,
}

impl Method for Running {
    fn steps(&self) -> u64 {
        self.steps
    }

    fn compute(&mut self, oracle: &mut dyn Oracle) -> Result<Trial, TrainError> {
        if self.value.is_nan() {
            self.value = oracle.value(&self.phi, self.error)?;
            self.found.asked.0 += 1;
            self.found.loss = self.value + self.problem.term(&self.phi);
        }
        let Running { phi, direction, tried, next, problem, .. } = self;
        let m = phi.len() as f64;
        sphere(self.stream.at_step(self.found.steps), direction);
        let mut mu = self.theory.smoothing;
        let try_at = |mu: f64, tried: &mut [f64]| {
            tried.iter_mut().zip(&*phi).zip(&*direction).for_each(|((t, phi), xi)| *t = phi + mu * xi);
            tried.iter().all(|t| *t > 0.0)
        };
        if !try_at(mu, tried) {
            mu = ((1.0 - problem.region.radius(phi.len())) / 2.0).max(1e-6);
            try_at(mu, tried);
        }
        let there = oracle.value(tried, self.error)?;
        let along = m / mu * (there - self.value);
        let step = along / (8.0 * m * self.lipschitz);
        next.copy_from_slice(phi);
        next.iter_mut().zip(&*direction).for_each(|(phi, xi)| *phi -= step * xi);
        problem.prox(self.rate, next);
        self.next_value = oracle.value(next, self.error)?;
        self.next_term = problem.term(next);
        self.found.asked.0 += 2;
        Ok(Trial {
            loss: self.next_value + self.next_term,
            gradient_norm: along.abs(),
            learning_rate: self.rate,
        })
    }

    fn commit(&mut self) {
        self.found.steps += 1;
        std::mem::swap(&mut self.phi, &mut self.next);
        self.value = self.next_value;
        if self.value + self.next_term < self.found.loss {
            self.found.loss = self.value + self.next_term;
            self.found.phi.copy_from_slice(&self.phi);
        }
    }

    fn converged(&self) -> bool {
        false
    }

    fn phi(&self) -> &[f64] {
        &self.phi
    }

    fn found(&self) -> &Found {
        &self.found
    }

    fn state(&self) -> Vec<(&'static str, Vec<f64>)> {
        let mut state = self.found.state();
        state.extend([("phi", self.phi.clone()), ("value", vec![self.value])]);
        state
    }

    fn restore(&mut self, read: StateReader) -> Result<(), TrainError> {
        self.found.restore(read)?;
        self.phi = read("phi")?;
        [self.value] = scalars(read, "value")?;
        Ok(())
    }
}
