#![doc = include_str!("pages/adam.md")]

use toprank_core::{Param, ParamError, Spec};
use toprank_embeddings::RowConstants;

use super::{DECAY, Optimiser, OptimiserKind, OptimiserStep, RowRule, Stretch, decay, kept, settled, sweep};

const BETA1: Param = Param {
    name: "beta1",
    default: "0.9",
    range: "in [0, 1)",
    about: "β1, how much of the past mean gradient is kept",
};
const BETA2: Param = Param {
    name: "beta2",
    default: "0.999",
    range: "in [0, 1)",
    about: "β2, how much of the past mean squared gradient is kept",
};
const EPS: Param = Param {
    name: "eps",
    default: "1e-8",
    range: "in (0, ∞)",
    about: "ε, the size below which a gradient is small",
};

pub(super) const PARAMS: &[Param] = &[BETA1, BETA2, EPS, DECAY];

pub(super) fn make(spec: &Spec) -> Result<Box<dyn OptimiserKind>, ParamError> {
    Adam::kind(spec, &DECAY, false)
}

/// AdamW.
pub(super) mod decoupled {
    use super::{Adam, BETA1, BETA2, DECAY, EPS, OptimiserKind, Param, ParamError, Spec};

    const DECAY_BESIDE: Param = Param { default: "0.01", ..DECAY };

    pub(in super::super) const PARAMS: &[Param] = &[BETA1, BETA2, EPS, DECAY_BESIDE];

    pub(in super::super) fn make(spec: &Spec) -> Result<Box<dyn OptimiserKind>, ParamError> {
        Adam::kind(spec, &DECAY_BESIDE, true)
    }
}

#[derive(Clone, Copy, Debug)]
struct Adam {
    beta1: f64,
    beta2: f64,
    eps: f64,
    decay: f64,
    decoupled: bool,
}

impl Adam {
    fn kind(spec: &Spec, decay_param: &Param, decoupled: bool) -> Result<Box<dyn OptimiserKind>, ParamError> {
        Ok(Box::new(Adam {
            beta1: kept(spec, "beta1", 0.9)?,
            beta2: kept(spec, "beta2", 0.999)?,
            eps: spec.args.number("eps", 1e-8, "in (0, ∞)", |x| x > 0.0 && x.is_finite())?,
            decay: decay(spec, decay_param)?,
            decoupled,
        }))
    }
}

impl OptimiserKind for Adam {
    fn open(&self, parameters: usize) -> Box<dyn Optimiser> {
        Box::new(Open { rule: *self, mean: vec![0.0; parameters], square: vec![0.0; parameters] })
    }

    fn row_rule(&self) -> Option<RowRule> {
        let Adam { beta1, beta2, eps, decay, decoupled } = *self;
        Some(RowRule::Adam(RowConstants { beta: [beta1, beta2], eps, decay, decoupled }))
    }
}

struct Open {
    rule: Adam,
    mean: Vec<f32>,
    square: Vec<f32>,
}

impl Optimiser for Open {
    fn step(&mut self, step: &OptimiserStep, parameters: &mut [f32], gradient: &[f32], _: Option<&[f32]>) {
        let Adam { beta1, beta2, eps, decay, decoupled } = self.rule;
        // Both means start at 0: 1 − β^t is how much of them is gradient.
        let t = step.number as f64 + 1.0;
        let rate = (step.rate / (1.0 - libm::pow(beta1, t))) as f32;
        let size = (1.0 / (1.0 - libm::pow(beta2, t)).sqrt()) as f32;
        let (new1, old2, new2, eps) = ((1.0 - beta1) as f32, beta2 as f32, (1.0 - beta2) as f32, eps as f32);
        let beside = step.rate as f32;
        let state = [self.mean.as_mut_slice(), &mut self.square];
        sweep(step, decay as f32, parameters, gradient, None, state, |part: Stretch<2>| {
            let [mean, square] = part.state;
            let (coupled, kept) = match decoupled {
                true => (0.0, 1.0 - beside * part.decay),
                false => (part.decay, 1.0),
            };
            let numbers = part.parameters.iter_mut().zip(part.gradient).zip(mean).zip(square);
            for (((w, g), m), v) in numbers {
                let g = g + coupled * *w;
                *m = settled(*m + new1 * (g - *m));
                *v = settled(old2 * *v + new2 * g * g);
                *w = settled(kept * *w - rate * *m / (v.sqrt() * size + eps));
            }
        });
    }

    fn state(&self) -> Vec<(&'static str, &[f32])> {
        vec![("mean", &self.mean), ("square", &self.square)]
    }

    fn state_mut(&mut self) -> Vec<(&'static str, &mut [f32])> {
        vec![("mean", &mut self.mean), ("square", &mut self.square)]
    }
}
