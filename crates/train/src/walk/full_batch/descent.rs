//! What methods share that take projected steps along gradients: move, project, ask the oracle, keep the best.

use super::{Composite, Errors, Found, Method, Oracle, StateReader, Trial, norm, scalars};
use crate::error::TrainError;

/// How a gradient becomes a step.
pub(super) enum Rule {
    Fixed { step: f64, least_gain: f64 },
    Adam { rate: f64, epsilon: f64, mean: Vec<f64>, square: Vec<f64> },
}

impl Rule {
    /// Moves `phi` by step `number` (from 1) along the gradient, into the region.
    fn move_along(&mut self, problem: &Composite, number: u64, gradient: &[f64], phi: &mut [f64]) {
        match self {
            Rule::Fixed { step, .. } => {
                phi.iter_mut().zip(gradient).for_each(|(phi, g)| *phi -= *step * g);
                problem.prox(*step, phi);
            }
            Rule::Adam { rate, mean, square, .. } => {
                let [fade, fade_square] = [0.9f64, 0.999].map(|beta| 1.0 - beta.powf(number as f64));
                for (f, phi) in phi.iter_mut().enumerate() {
                    mean[f] += 0.1 * (gradient[f] - mean[f]);
                    square[f] += 0.001 * (gradient[f] * gradient[f] - square[f]);
                    *phi -= *rate * (mean[f] / fade) / ((square[f] / fade_square).sqrt() + 1e-12);
                }
                problem.region.project(phi);
            }
        }
    }

    fn learning_rate(&self) -> f64 {
        match self {
            Rule::Fixed { step, .. } => *step,
            Rule::Adam { rate, .. } => *rate,
        }
    }
}

/// A point with its value and gradient.
#[derive(Clone, Default)]
struct Point {
    phi: Vec<f64>,
    gradient: Vec<f64>,
    value: f64,
}

impl Point {
    /// Value and gradient, of f + h where the rule has no prox of its own.
    fn ask(
        &mut self,
        rule: &Rule,
        problem: &Composite,
        errors: Errors,
        oracle: &mut dyn Oracle,
    ) -> Result<(), TrainError> {
        self.value = oracle.gradient(&self.phi, errors, &mut self.gradient)? + problem.term(&self.phi);
        if let Rule::Adam { .. } = rule {
            problem.add_slope(&self.phi, &mut self.gradient);
        }
        Ok(())
    }
}

pub(super) struct Descent {
    rule: Rule,
    problem: Composite,
    error: f64,
    steps: u64,
    here: Point,
    /// The computed next point.
    next: Point,
    found: Found,
    converged: bool,
}

impl Descent {
    pub fn new(rule: Rule, problem: Composite, start: &[f64], error: f64, steps: u64) -> Descent {
        let mut here = Point { phi: start.to_vec(), gradient: Vec::new(), value: f64::NAN };
        problem.region.project(&mut here.phi);
        let found = Found::at(&here.phi);
        Descent { rule, problem, error, steps, here, next: Point::default(), found, converged: false }
    }
}

impl Method for Descent {
    fn steps(&self) -> u64 {
        self.steps
    }

    fn compute(&mut self, oracle: &mut dyn Oracle) -> Result<Trial, TrainError> {
        let errors = Errors { value: self.error, gradient: self.error };
        if self.here.gradient.is_empty() {
            self.here.gradient = vec![0.0; self.here.phi.len()];
            self.here.ask(&self.rule, &self.problem, errors, oracle)?;
            self.found.asked.1 += 1;
            self.found.loss = self.here.value;
            self.found.gradient_norm = norm(self.here.gradient.iter().copied());
        }
        self.next.phi.clone_from(&self.here.phi);
        self.next.gradient.resize(self.here.phi.len(), 0.0);
        let number = self.found.steps + 1;
        self.rule.move_along(&self.problem, number, &self.here.gradient, &mut self.next.phi);
        self.next.ask(&self.rule, &self.problem, errors, oracle)?;
        self.found.asked.1 += 1;
        Ok(Trial {
            loss: self.next.value,
            gradient_norm: norm(self.next.gradient.iter().copied()),
            learning_rate: self.rule.learning_rate(),
        })
    }

    fn commit(&mut self) {
        self.found.steps += 1;
        std::mem::swap(&mut self.here, &mut self.next);
        let (before, value) = (self.next.value, self.here.value);
        let gradient_norm = norm(self.here.gradient.iter().copied());
        if value < self.found.loss {
            self.found.loss = value;
            self.found.gradient_norm = gradient_norm;
            self.found.phi.copy_from_slice(&self.here.phi);
        }
        self.converged = match self.rule {
            Rule::Fixed { least_gain, .. } => before - value < least_gain,
            Rule::Adam { epsilon, .. } => gradient_norm <= epsilon,
        };
    }

    fn converged(&self) -> bool {
        self.converged
    }

    fn phi(&self) -> &[f64] {
        &self.here.phi
    }

    fn found(&self) -> &Found {
        &self.found
    }

    fn state(&self) -> Vec<(&'static str, Vec<f64>)> {
        let mut state = self.found.state();
        state.extend([
            ("phi", self.here.phi.clone()),
            ("gradient", self.here.gradient.clone()),
            ("value", vec![self.here.value, f64::from(u8::from(self.converged))]),
        ]);
        if let Rule::Adam { mean, square, .. } = &self.rule {
            state.extend([("mean", mean.clone()), ("square", square.clone())]);
        }
        state
    }

    fn restore(&mut self, read: StateReader) -> Result<(), TrainError> {
        self.found.restore(read)?;
        self.here.phi = read("phi")?;
        self.here.gradient = read("gradient")?;
        let [value, converged] = scalars(read, "value")?;
        (self.here.value, self.converged) = (value, converged == 1.0);
        if let Rule::Adam { mean, square, .. } = &mut self.rule {
            (*mean, *square) = (read("mean")?, read("square")?);
        }
        Ok(())
    }
}
