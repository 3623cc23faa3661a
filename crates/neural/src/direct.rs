//! Linear models and perceptrons with ReLU without an autodiff graph: one matrix product and one sweep per layer, and no
//! allocation after the first few steps. The burn module of the same formula is the definition; tests compare the two.

use std::sync::{Mutex, PoisonError};

use toprank_core::matrix::{View, product};
use toprank_core::{Backward, Block, Differentiable, ModelError, ModelInput, Stream};

use crate::forward_pass::{Layers, add_noise, dropped, mask};
use crate::network::{Network, Nothing, RankModule, check_back};

/// Rows scored at once in prediction, so that hidden layers stay in the cache.
const SCORED_AT_ONCE: usize = 512;

/// `x → max(0, x W + b)` layer after layer, without the activation in the last layer, with dropout after each activation.
pub(crate) struct Direct<M> {
    /// For blocks, initial values and checks; its graph is never built.
    network: Network<M>,
    /// Width of the rows, of every hidden layer, of the scores.
    widths: Vec<usize>,
    dropout: f64,
    noise: f64,
    /// Buffers of finished shards, to be reused.
    spare: Mutex<Vec<Vec<f32>>>,
}

impl<M: RankModule> Direct<M> {
    pub(crate) fn new(network: Network<M>, hidden: &[usize], dropout: f64, noise: f64) -> Direct<M> {
        let mut widths = vec![network.width()];
        widths.extend_from_slice(hidden);
        widths.push(network.outputs());
        Direct { network, widths, dropout, noise, spare: Mutex::default() }
    }

    fn buffer(&self, length: usize) -> Vec<f32> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut buffer = spare.unwrap_or_default();
        // What a previous shard left is overwritten before it is read.
        buffer.resize(length, 0.0);
        buffer
    }

    fn give_back(&self, buffer: Vec<f32>) {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }

    /// Weights and offsets of each layer.
    fn layers<'p>(&self, mut rest: &'p [f32]) -> Vec<(&'p [f32], &'p [f32])> {
        let mut next = |count| {
            let (here, after) = rest.split_at(count);
            rest = after;
            here
        };
        self.widths.windows(2).map(|w| (next(w[0] * w[1]), next(w[1]))).collect()
    }

    /// The rows and the outputs of all layers, one after the other.
    fn run(
        &self,
        parameters: &[f32],
        features: &dyn toprank_core::Features,
        rows: &[u32],
        train: Option<Stream>,
    ) -> Result<Vec<f32>, ModelError> {
        let count = rows.len();
        let mut all = self.buffer(count * self.widths.iter().sum::<usize>());
        let (x, mut rest) = all.split_at_mut(count * self.widths[0]);
        features.gather(rows, x);
        self.network.check_features(rows, x)?;
        let mut random = Layers::new(train);
        if let Some(random) = random.next().filter(|_| self.noise > 0.0) {
            add_noise(x, self.noise, random);
        }
        let mut x: &[f32] = x;
        let layers = self.layers(parameters);
        for (number, (weights, offsets)) in layers.iter().enumerate() {
            let width = offsets.len();
            let (y, after) = rest.split_at_mut(count * width);
            product(View::new(x, x.len() / count), View::new(weights, width), y, false);
            if number + 1 == layers.len() {
                y.chunks_exact_mut(width).for_each(|row| {
                    row.iter_mut().zip(*offsets).for_each(|(y, offset)| *y += offset);
                });
            } else {
                y.chunks_exact_mut(width).for_each(|row| {
                    row.iter_mut().zip(*offsets).for_each(|(y, offset)| *y = (*y + offset).max(0.0));
                });
                if let Some(random) = random.next().filter(|_| dropped(self.dropout) > 0) {
                    let mut kept = self.buffer(y.len());
                    mask(&mut kept, self.dropout, random);
                    y.iter_mut().zip(&kept).for_each(|(y, kept)| *y *= kept);
                    self.give_back(kept);
                }
            }
            (x, rest) = (y, after);
        }
        Ok(all)
    }
}

/// The scores, at the end of the buffer of [`Direct::run`].
fn read_scores(all: &[f32], scores: &mut [f64]) {
    let last = &all[all.len() - scores.len()..];
    scores.iter_mut().zip(last).for_each(|(to, score)| *to = f64::from(*score));
}

impl<M: RankModule> Differentiable for Direct<M> {
    fn blocks(&self) -> &[Block] {
        self.network.blocks()
    }

    fn width(&self) -> usize {
        self.network.width()
    }

    fn outputs(&self) -> usize {
        self.network.outputs()
    }

    fn init(&self, stream: Stream, parameters: &mut [f32]) {
        self.network.init(stream, parameters);
    }

    fn forward<'a>(
        &'a self,
        parameters: &'a [f32],
        input: &ModelInput,
        train: Option<Stream>,
        scores: &mut [f64],
    ) -> Result<Box<dyn Backward + 'a>, ModelError> {
        self.network.check(parameters, input, scores)?;
        if input.rows.is_empty() {
            return Ok(Box::new(Nothing));
        }
        let all = self.run(parameters, input.features, input.rows, train)?;
        read_scores(&all, scores);
        let kept = match train {
            Some(_) => 65_536.0 / (65_536 - dropped(self.dropout)) as f32,
            None => 1.0,
        };
        Ok(Box::new(Tape { model: self, parameters, all, rows: input.rows.len(), kept }))
    }

    fn score(&self, parameters: &[f32], input: &ModelInput, scores: &mut [f64]) -> Result<(), ModelError> {
        self.network.check(parameters, input, scores)?;
        let parts = scores.chunks_mut(SCORED_AT_ONCE * self.outputs());
        for (rows, scores) in input.rows.chunks(SCORED_AT_ONCE).zip(parts) {
            let all = self.run(parameters, input.features, rows, None)?;
            read_scores(&all, scores);
            self.give_back(all);
        }
        Ok(())
    }
}

/// The outputs of all layers for one shard.
struct Tape<'a, M: RankModule> {
    model: &'a Direct<M>,
    parameters: &'a [f32],
    all: Vec<f32>,
    rows: usize,
    /// The factor of dropout on the hidden units that it kept.
    kept: f32,
}

impl<M: RankModule> Backward for Tape<'_, M> {
    fn backward(mut self: Box<Self>, dscore: &[f64], gradient: &mut [f32]) -> Result<(), ModelError> {
        let (model, rows, kept) = (self.model, self.rows, self.kept);
        check_back(dscore, rows * model.outputs(), gradient, self.parameters.len())?;
        let widest = model.widths[1..].iter().copied().max().unwrap_or(1);
        let (mut slopes, mut below) = (model.buffer(rows * widest), model.buffer(rows * widest));
        slopes.iter_mut().zip(dscore).for_each(|(slope, d)| *slope = *d as f32);
        let layers = model.layers(self.parameters);
        let (mut end, mut gradient_end) = (self.all.len() - dscore.len(), gradient.len());
        for (number, (weights, offsets)) in layers.iter().enumerate().rev() {
            let (inputs, width) = (model.widths[number], offsets.len());
            let x = &self.all[end - rows * inputs..end];
            end -= rows * inputs;
            let slope = &slopes[..rows * width];
            let here = &mut gradient[gradient_end - (inputs + 1) * width..gradient_end];
            gradient_end -= here.len();
            let (to_weights, to_offsets) = here.split_at_mut(inputs * width);
            product(View::new(x, inputs).transposed(), View::new(slope, width), to_weights, true);
            for row in slope.chunks_exact(width) {
                to_offsets.iter_mut().zip(row).for_each(|(to, slope)| *to += slope);
            }
            if number > 0 {
                let down = &mut below[..rows * inputs];
                product(View::new(slope, width), View::new(weights, width).transposed(), down, false);
                // A product with one of two factors, not a choice of results, so that the loop is vectorised.
                down.iter_mut().zip(x).for_each(|(d, x)| *d *= if *x > 0.0 { kept } else { 0.0 });
                std::mem::swap(&mut slopes, &mut below);
            }
        }
        for buffer in [slopes, below, std::mem::take(&mut self.all)] {
            model.give_back(buffer);
        }
        Ok(())
    }
}
