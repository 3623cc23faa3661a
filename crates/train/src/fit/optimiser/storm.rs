#![doc = include_str!("pages/storm.md")]

use toprank_core::{Param, ParamError, Spec};

use super::{DECAY, Optimiser, OptimiserKind, OptimiserStep, RowRule, Stretch, decay, settled, sweep};

pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "gamma",
        default: "0.1",
        range: "in (0, 1]",
        about: "γ, how much of the past is given up in a step; 1 is sgd",
    },
    DECAY,
];

pub(super) fn make(spec: &Spec) -> Result<Box<dyn OptimiserKind>, ParamError> {
    let gamma = spec.args.number("gamma", 0.1, "in (0, 1]", |x| x > 0.0 && x <= 1.0)?;
    Ok(Box::new(Storm { gamma, decay: decay(spec, &DECAY)? as f32 }))
}

#[derive(Clone, Copy, Debug)]
struct Storm {
    gamma: f64,
    decay: f32,
}

impl OptimiserKind for Storm {
    fn open(&self, parameters: usize) -> Box<dyn Optimiser> {
        Box::new(Open { rule: *self, mean: vec![0.0; parameters] })
    }

    fn row_rule(&self) -> Option<RowRule> {
        Some(RowRule::Storm { gamma: self.gamma, decay: f64::from(self.decay) })
    }
}

struct Open {
    rule: Storm,
    mean: Vec<f32>,
}

impl Optimiser for Open {
    fn step(
        &mut self,
        step: &OptimiserStep,
        parameters: &mut [f32],
        gradient: &[f32],
        previous: Option<&[f32]>,
    ) {
        let Storm { gamma, decay } = self.rule;
        let rate = step.rate as f32;
        let state = [self.mean.as_mut_slice()];
        let previous = previous.filter(|_| step.number > 0);
        let old = (1.0 - gamma) as f32;
        sweep(step, decay, parameters, gradient, previous, state, |part: Stretch<1>| {
            let [mean] = part.state;
            let kept = 1.0 - rate * part.decay;
            let numbers = part.parameters.iter_mut().zip(part.gradient).zip(mean);
            if part.previous.is_empty() {
                for ((w, g), m) in numbers {
                    *m = *g;
                    *w = settled(kept * *w - rate * *m);
                }
                return;
            }
            for (((w, g), m), before) in numbers.zip(part.previous) {
                *m = settled(old * (*m - before) + g);
                *w = settled(kept * *w - rate * *m);
            }
        });
    }

    fn needs_previous(&self) -> bool {
        true
    }

    fn state(&self) -> Vec<(&'static str, &[f32])> {
        vec![("mean", &self.mean)]
    }

    fn state_mut(&mut self) -> Vec<(&'static str, &mut [f32])> {
        vec![("mean", &mut self.mean)]
    }
}
