#![doc = include_str!("pages/sgd.md")]

use toprank_core::{Param, ParamError, Spec};

use super::{DECAY, Optimiser, OptimiserKind, OptimiserStep, Stretch, decay, settled, sweep};

pub(super) const PARAMS: &[Param] = &[DECAY];

pub(super) fn make(spec: &Spec) -> Result<Box<dyn OptimiserKind>, ParamError> {
    Ok(Box::new(Sgd { decay: decay(spec, &DECAY)? as f32 }))
}

#[derive(Clone, Copy, Debug)]
struct Sgd {
    decay: f32,
}

impl OptimiserKind for Sgd {
    fn open(&self, _: usize) -> Box<dyn Optimiser> {
        Box::new(*self)
    }
}

impl Optimiser for Sgd {
    fn step(&mut self, step: &OptimiserStep, parameters: &mut [f32], gradient: &[f32], _: Option<&[f32]>) {
        let rate = step.rate as f32;
        sweep(step, self.decay, parameters, gradient, None, [], |part: Stretch<0>| {
            for (w, g) in part.parameters.iter_mut().zip(part.gradient) {
                *w = settled(*w - rate * (g + part.decay * *w));
            }
        });
    }

    fn state(&self) -> Vec<(&'static str, &[f32])> {
        Vec::new()
    }

    fn state_mut(&mut self) -> Vec<(&'static str, &mut [f32])> {
        Vec::new()
    }
}
