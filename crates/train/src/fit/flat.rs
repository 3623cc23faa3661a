//! One flat slice of parameters and everything that moves it: what networks that score and networks that embed share.

use std::ops::Range;

use toprank_core::{Block, Differentiable, ParamError, Role, Stream};

use super::clip::clip;
use super::optimiser::{self, Optimiser, OptimiserStep};
use super::settings::Config;
use super::stages::continues_after_warm_up;
use crate::error::TrainError;
use crate::store::container::{Stored, Tensor};

/// Weight of a batch's statistics in the running ones (batch norm).
const STATISTIC_RATE: f32 = 0.1;

/// Parameters of a network during training.
pub(crate) struct FlatParameters {
    /// The parameters.
    pub values: Vec<f32>,
    /// The gradient of the computed step.
    pub gradient: Vec<f32>,
    /// The parameters of the step before; empty unless somebody asks for them.
    pub previous: Vec<f32>,
    /// The best parameters on validation; empty: none yet.
    pub best: Vec<f32>,
    pub optimiser: Box<dyn Optimiser>,
    decayed: Vec<Range<usize>>,
    /// Blocks that are measured instead of learned, and what the last batch measured of them.
    statistics: Vec<Range<usize>>,
    measured: Vec<f32>,
}

impl FlatParameters {
    /// The initial parameters of a model, to be moved by the optimiser of this name.
    pub fn new(model: &dyn Differentiable, optimiser: &str, seed: u64) -> Result<FlatParameters, ParamError> {
        let count = model.parameters();
        let mut values = vec![0.0; count];
        model.init(Stream::new(seed, "init"), &mut values);
        Ok(FlatParameters {
            values,
            gradient: vec![0.0; count],
            previous: Vec::new(),
            best: Vec::new(),
            optimiser: optimiser::parse(optimiser)?.1.open(count),
            decayed: ranges(model.blocks(), |block| block.role == Role::Weight),
            statistics: ranges(model.blocks(), |block| block.role == Role::Statistic),
            measured: Vec::new(),
        })
    }

    /// After a warm-up: the last layer is reinitialised, unless the config says otherwise, and the optimiser forgets.
    pub fn restart(&mut self, model: &dyn Differentiable, config: &Config) -> Result<(), ParamError> {
        if !continues_after_warm_up(config) {
            reinitialise_last_layer(model.blocks(), &mut self.values, |fresh| {
                model.init(Stream::new(config.seed(), "init after warm-up"), fresh);
            });
        }
        self.optimiser = optimiser::parse(config.optimiser())?.1.open(self.values.len());
        Ok(())
    }

    /// Takes the statistics of the batch out of the gradient and clips what is left to the norm `most` (0: any); the norm
    /// that it had.
    pub fn prepare(&mut self, most: f64) -> f64 {
        self.measured.clear();
        for range in &self.statistics {
            self.measured.extend_from_slice(&self.gradient[range.clone()]);
            self.gradient[range.clone()].fill(0.0);
        }
        clip(&mut self.gradient, if most > 0.0 { most } else { f64::INFINITY })
    }

    /// Moves the parameters along the prepared gradient. `remember`: keeps them as they are now for the next step.
    pub fn commit(
        &mut self,
        model: &dyn Differentiable,
        (number, rate): (u64, f64),
        remember: bool,
        gradient_previous: Option<&[f32]>,
    ) {
        if remember {
            self.previous.clear();
            self.previous.extend_from_slice(&self.values);
        }
        let step = OptimiserStep { number, rate, decayed: &self.decayed };
        self.optimiser.step(&step, &mut self.values, &self.gradient, gradient_previous);
        model.project(&mut self.values);
        let places = self.statistics.iter().cloned().flatten();
        for (place, measured) in places.zip(&self.measured) {
            self.values[place] += STATISTIC_RATE * (measured - self.values[place]);
        }
    }

    /// All arrays that move; the previous parameters only where a run has them.
    pub fn tensors(&self, has_previous: bool) -> Vec<Tensor<'_>> {
        let mut tensors = vec![Tensor::flat("parameters", &self.values)];
        if has_previous {
            tensors.push(Tensor::flat("previous", &self.previous));
        }
        if !self.best.is_empty() {
            tensors.push(Tensor::flat("best", &self.best));
        }
        tensors.extend(optimiser_tensors(&*self.optimiser));
        tensors
    }

    /// Takes over what [`FlatParameters::tensors`] gave.
    pub fn restore(&mut self, stored: &Stored, has_previous: bool) -> Result<(), TrainError> {
        stored.f32_into("parameters", &mut self.values)?;
        for (there, name, values) in
            [(has_previous, "previous", &mut self.previous), (stored.has("best"), "best", &mut self.best)]
        {
            values.clear();
            if there {
                values.resize(self.values.len(), 0.0);
                stored.f32_into(name, values)?;
            }
        }
        restore_optimiser(&mut *self.optimiser, stored)
    }
}

/// What an optimiser remembers, as tensors.
pub(crate) fn optimiser_tensors(optimiser: &dyn Optimiser) -> impl Iterator<Item = Tensor<'_>> {
    let state = optimiser.state().into_iter();
    state.map(|(name, values)| Tensor::flat(format!("optimiser.{name}"), values))
}

/// Takes over what [`optimiser_tensors`] gave.
pub(crate) fn restore_optimiser(optimiser: &mut dyn Optimiser, stored: &Stored) -> Result<(), TrainError> {
    let mut state = optimiser.state_mut().into_iter();
    state.try_for_each(|(name, values)| stored.f32_into(&format!("optimiser.{name}"), values))
}

/// Refuses to keep parameters that are not finite as the best ones: infinite scores may by chance be in a good order.
pub(crate) fn check_finite(step: u64, parameters: &[f32]) -> Result<(), TrainError> {
    match parameters.iter().all(|value| value.is_finite()) {
        true => Ok(()),
        false => Err(TrainError::NotFinite { step, what: "model", lists: Vec::new() }),
    }
}

/// Gives the last layer among `values` the numbers that `init` writes into a fresh slice.
pub(crate) fn reinitialise_last_layer(blocks: &[Block], values: &mut [f32], init: impl FnOnce(&mut [f32])) {
    let mut fresh = vec![0.0; values.len()];
    init(&mut fresh);
    for range in ranges(blocks, |block| block.last_layer) {
        values[range.clone()].copy_from_slice(&fresh[range]);
    }
}

/// Where the blocks that `wanted` picks lie in the parameters.
pub(crate) fn ranges(blocks: &[Block], wanted: impl Fn(&Block) -> bool) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut found = Vec::new();
    for block in blocks {
        let end = start + block.parameters();
        if wanted(block) {
            found.push(start..end);
        }
        start = end;
    }
    found
}

/// The blocks of a model with their part of the parameters, as tensors of a model file.
pub(crate) fn block_tensors<'a>(blocks: &'a [Block], values: &'a [f32]) -> impl Iterator<Item = Tensor<'a>> {
    let places = ranges(blocks, |_| true);
    blocks.iter().zip(places).map(|(block, place)| {
        Tensor::shaped(format!("model.{}", block.name), block.shape.clone(), &values[place])
    })
}

/// Reads what [`block_tensors`] gave.
pub(crate) fn load_blocks(blocks: &[Block], stored: &Stored) -> Result<Vec<f32>, TrainError> {
    let mut values = Vec::with_capacity(stored.count("model."));
    for block in blocks {
        let name = format!("model.{}", block.name);
        let (shape, numbers) = stored.f32(&name)?;
        if shape != block.shape {
            return Err(stored.wrong(format!("{name} of shape {shape:?}"), format!("{:?}", block.shape)));
        }
        values.extend(numbers);
    }
    Ok(values)
}
