/*!
Optimisers: how a gradient moves the one flat slice of parameters.

They know numbers, not models. One pass over memory a step, in parallel over fixed blocks, no allocation; every
parameter is moved by its own numbers alone, so the bytes do not depend on the number of threads.

```
use toprank_train::fit::optimiser::{self, OptimiserStep};
let (_, kind) = optimiser::parse("sgd").unwrap();
let mut sgd = kind.open(2);
let mut parameters = [1.0, 2.0];
let step = OptimiserStep { number: 0, rate: 0.5, decayed: &[] };
sgd.step(&step, &mut parameters, &[1.0, -1.0], None);
assert_eq!(parameters, [0.5, 2.5]);
```

A parameter whose gradient was 0 in every step is not moved, unless it is decayed: that is how statistics
([`toprank_core::Role::Statistic`]) stay where the trainer puts them.

**Weight decay** `decay = λ` works on the ranges of [`OptimiserStep::decayed`] only (matrices; not biases, scales of norms).
Where the page says *coupled*, λw is added to the gradient; *decoupled*, λw is taken off beside the step: w ← w − ηλw.
*/

mod adam;
mod momentum;
mod sgd;
mod storm;
#[cfg(test)]
mod tests;

use std::ops::Range;

use toprank_core::{Entry, Param, ParamError, Spec, catalog};
use toprank_embeddings::RowConstants;

/// Moves parameters by gradients.
pub trait Optimiser: Send {
    /// One step. `previous`: the gradient of the same batch at the parameters of the step before, for those that need it.
    ///
    /// # Panics
    /// If a slice is not as long as the optimiser was opened for.
    fn step(
        &mut self,
        step: &OptimiserStep,
        parameters: &mut [f32],
        gradient: &[f32],
        previous: Option<&[f32]>,
    );

    /// True if it asks for the gradient at the parameters of the step before: two evaluations a step.
    fn needs_previous(&self) -> bool {
        false
    }

    /// All it remembers, by name, one number per parameter each: what a checkpoint keeps.
    fn state(&self) -> Vec<(&'static str, &[f32])>;

    /// The same, to be filled from a checkpoint.
    fn state_mut(&mut self) -> Vec<(&'static str, &mut [f32])>;
}

/// What is the same for all parameters of a step.
#[derive(Clone, Copy, Debug)]
pub struct OptimiserStep<'a> {
    /// Number of the step since the optimiser was opened, from 0.
    pub number: u64,
    /// The rate η of this step.
    pub rate: f64,
    /// The parameters that weight decay applies to: ascending ranges that do not overlap.
    pub decayed: &'a [Range<usize>],
}

/// A line of the catalog with its parameters set, before it knows how many numbers it will move.
pub trait OptimiserKind: Send + Sync {
    /// An optimiser for so many parameters.
    fn open(&self, parameters: usize) -> Box<dyn Optimiser>;

    /// Its form for tables of which a batch reads some rows; `None`: it has none.
    fn row_rule(&self) -> Option<RowRule> {
        None
    }
}

/// An optimiser over the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowRule {
    /// [`RowAdam`](toprank_embeddings::RowAdam).
    Adam(RowConstants),
    /// [`RowStorm`](toprank_embeddings::RowStorm).
    Storm {
        /// γ.
        gamma: f64,
        /// Weight decay λ.
        decay: f64,
    },
}

/// Every optimiser.
pub static OPTIMISERS: &[Entry<dyn OptimiserKind>] = entries! { "optimisers":
    sgd = "sgd": "a step down the gradient";
    momentum = "momentum": "a step down the moving average of gradients";
    adam = "adam": "steps in units of each gradient's own size";
    adam::decoupled = "adamw": "Adam with weight decay beside the step";
    storm = "storm": "variance-reduced momentum from two evaluations a step (Faster SONG)";
};

/// Reads an optimiser as a user writes it, `adam:beta1=0.9:beta2=0.99`.
///
/// ```
/// let error = toprank_train::fit::optimiser::parse("adam:beta1=1").err().unwrap();
/// assert_eq!(error.to_string(), "beta1 must be in [0, 1), but is 1");
/// ```
pub fn parse(text: &str) -> Result<(Spec, Box<dyn OptimiserKind>), ParamError> {
    catalog::make("optimiser", OPTIMISERS, text)
}

const DECAY: Param =
    Param {
        name: "decay", default: "0", range: "in [0, ∞)", about: "weight decay λ, in units of the rate"
    };

fn decay(spec: &Spec, param: &Param) -> Result<f64, ParamError> {
    let default = param.default.parse().expect("the default of weight decay is a number");
    spec.args.number(param.name, default, param.range, |x| x >= 0.0 && x.is_finite())
}

/// A share in [0, 1): how much of the past is kept.
fn kept(spec: &Spec, key: &str, default: f64) -> Result<f64, ParamError> {
    spec.args.number(key, default, "in [0, 1)", |x| (0.0..1.0).contains(&x))
}

/// Below this a number of training is 0. A weight that only decays, or the mean of gradients that have become 0, would
/// otherwise shrink until it is subnormal and stay there, where products take ten times as long.
pub(crate) const NEGLIGIBLE: f32 = 1e-30;

/// `x`, or 0 where it is [`NEGLIGIBLE`].
fn settled(x: f32) -> f32 {
    if x.abs() < NEGLIGIBLE { 0.0 } else { x }
}

/// Parameters moved by one task. Much smaller parts would cost more to hand out than to compute.
const BLOCK: usize = 16_384;

/// A stretch of parameters with what belongs to each, all decayed or none.
struct Stretch<'a, const STATES: usize> {
    /// λ, or 0 where nothing decays.
    decay: f32,
    parameters: &'a mut [f32],
    gradient: &'a [f32],
    /// As long as the others, or empty.
    previous: &'a [f32],
    state: [&'a mut [f32]; STATES],
}

impl<'a, const STATES: usize> Stretch<'a, STATES> {
    fn split_at(self, middle: usize) -> (Stretch<'a, STATES>, Stretch<'a, STATES>) {
        let (parameters, parameters_right) = self.parameters.split_at_mut(middle);
        let (gradient, gradient_right) = self.gradient.split_at(middle);
        let (previous, previous_right) = self.previous.split_at(middle.min(self.previous.len()));
        let mut right = [const { None }; STATES];
        let mut k = 0;
        let state = self.state.map(|state| {
            let (a, b) = state.split_at_mut(middle);
            right[k] = Some(b);
            k += 1;
            a
        });
        let state_right = right.map(Option::unwrap_or_default);
        (
            Stretch { decay: self.decay, parameters, gradient, previous, state },
            Stretch {
                decay: self.decay,
                parameters: parameters_right,
                gradient: gradient_right,
                previous: previous_right,
                state: state_right,
            },
        )
    }

    /// Runs `kernel` over every stretch; `self` starts at parameter `first`.
    fn run(self, first: usize, decayed: &[Range<usize>], kernel: &(impl Fn(Stretch<STATES>) + Sync)) {
        let length = self.parameters.len();
        if length > BLOCK {
            let middle = (length / 2).next_multiple_of(BLOCK);
            let (left, right) = self.split_at(middle);
            rayon::join(|| left.run(first, decayed, kernel), || right.run(first + middle, decayed, kernel));
            return;
        }
        let lambda = self.decay;
        let mut rest = Stretch { decay: 0.0, ..self };
        let mut at = first;
        let end = first + length;
        let overlapping = decayed.partition_point(|range| range.end <= first);
        for range in &decayed[overlapping..] {
            if range.start >= end {
                break;
            }
            let (start, stop) = (range.start.max(at), range.end.min(end).max(at));
            let (before, after) = rest.split_at(start - at);
            let (mut inside, after) = after.split_at(stop - start);
            inside.decay = lambda;
            kernel(before);
            kernel(inside);
            (rest, at) = (after, stop);
        }
        kernel(rest);
    }
}

/// One pass over all parameters.
fn sweep<const STATES: usize>(
    step: &OptimiserStep,
    decay: f32,
    parameters: &mut [f32],
    gradient: &[f32],
    previous: Option<&[f32]>,
    state: [&mut [f32]; STATES],
    kernel: impl Fn(Stretch<STATES>) + Sync,
) {
    let n = parameters.len();
    assert_eq!(gradient.len(), n, "one gradient per parameter");
    assert!(previous.is_none_or(|p| p.len() == n), "one previous gradient per parameter");
    assert!(state.iter().all(|s| s.len() == n), "as many parameters as the optimiser was opened for");
    let all = Stretch { decay, parameters, gradient, previous: previous.unwrap_or_default(), state };
    all.run(0, if decay == 0.0 { &[] } else { step.decayed }, &kernel);
}
