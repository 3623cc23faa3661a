#![doc = include_str!("pages/momentum.md")]

use toprank_core::{Param, ParamError, Spec};

use super::{DECAY, Optimiser, OptimiserKind, OptimiserStep, Stretch, decay, kept, settled, sweep};

pub(super) const PARAMS: &[Param] = &[
    Param { name: "beta", default: "0.9", range: "in [0, 1)", about: "β, how much of the past is kept" },
    Param {
        name: "nesterov",
        default: "false",
        range: "true or false",
        about: "step by the average as it will be, one gradient ahead",
    },
    DECAY,
];

pub(super) fn make(spec: &Spec) -> Result<Box<dyn OptimiserKind>, ParamError> {
    let nesterov = match spec.args.get("nesterov").unwrap_or("false") {
        "true" => true,
        "false" => false,
        other => return Err(ParamError::new("nesterov", other, "true or false")),
    };
    Ok(Box::new(Momentum { beta: kept(spec, "beta", 0.9)?, nesterov, decay: decay(spec, &DECAY)? as f32 }))
}

#[derive(Clone, Copy, Debug)]
struct Momentum {
    beta: f64,
    nesterov: bool,
    decay: f32,
}

impl OptimiserKind for Momentum {
    fn open(&self, parameters: usize) -> Box<dyn Optimiser> {
        Box::new(Open { rule: *self, mean: vec![0.0; parameters] })
    }
}

struct Open {
    rule: Momentum,
    mean: Vec<f32>,
}

impl Optimiser for Open {
    fn step(&mut self, step: &OptimiserStep, parameters: &mut [f32], gradient: &[f32], _: Option<&[f32]>) {
        let Momentum { beta, nesterov, decay } = self.rule;
        let rate = step.rate as f32;
        let new = (1.0 - beta) as f32;
        // The step is m, or where it looks ahead m + (1 − β)(g − m) = βm + (1 − β)g.
        let ahead = if nesterov { new } else { 0.0 };
        sweep(step, decay, parameters, gradient, None, [&mut self.mean], |part: Stretch<1>| {
            let [mean] = part.state;
            for ((w, g), m) in part.parameters.iter_mut().zip(part.gradient).zip(mean) {
                let g = g + part.decay * *w;
                *m = settled(*m + new * (g - *m));
                *w = settled(*w - rate * (*m + ahead * (g - *m)));
            }
        });
    }

    fn state(&self) -> Vec<(&'static str, &[f32])> {
        vec![("mean", &self.mean)]
    }

    fn state_mut(&mut self) -> Vec<(&'static str, &mut [f32])> {
        vec![("mean", &mut self.mean)]
    }
}
