//! Linear layers with ReLU between them, without an autodiff graph: one matrix product and one sweep per layer.

use toprank_core::matrix::{View, product};
use toprank_core::stream::Random;
use toprank_core::{Block, Role};
use toprank_onnx::{Graph, Value};

use crate::params::uniform;

/// `x → max(0, x W + b)` layer after layer; the last one has an activation only if asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layers {
    /// Widths of the input and of every layer.
    pub widths: Vec<usize>,
    pub last_bends: bool,
}

impl Layers {
    /// Number of weights.
    pub fn weights(&self) -> usize {
        self.widths.windows(2).map(|w| (w[0] + 1) * w[1]).sum()
    }

    /// Numbers that all layers together output for one row.
    pub fn given(&self) -> usize {
        self.widths[1..].iter().sum()
    }

    fn is_last(&self, layer: usize) -> bool {
        layer + 2 == self.widths.len()
    }

    pub fn blocks(&self, name: &str) -> Vec<Block> {
        let block = |layer: usize, kind: &str, shape: Vec<usize>, role| Block {
            name: format!("{name}.{layer}.{kind}"),
            shape,
            role,
            last_layer: self.is_last(layer),
        };
        let pairs = self.widths.windows(2).enumerate();
        pairs
            .flat_map(|(layer, w)| {
                [
                    block(layer, "weight", vec![w[0], w[1]], Role::Weight),
                    block(layer, "offset", vec![w[1]], Role::Offset),
                ]
            })
            .collect()
    }

    /// He's initialisation before a ReLU, Glorot's at the end; biases at 0.
    pub fn init(&self, random: &mut Random, mut weights: &mut [f32]) {
        for (layer, w) in self.widths.windows(2).enumerate() {
            let (here, rest) = weights.split_at_mut((w[0] + 1) * w[1]);
            let activations = self.last_bends || !self.is_last(layer);
            let bound = if activations { 6.0 / w[0] as f32 } else { 6.0 / (w[0] + w[1]) as f32 }.sqrt();
            uniform(bound, random, &mut here[..w[0] * w[1]]);
            here[w[0] * w[1]..].fill(0.0);
            weights = rest;
        }
    }

    /// The outputs of all layers for the rows `x`, layer after layer. `masks`, one number per unit of every layer, multiply
    /// the outputs; empty: none.
    pub fn forward(&self, weights: &[f32], x: &[f32], masks: &[f32], given: &mut [f32]) {
        let rows = x.len() / self.widths[0];
        let (mut x, mut rest, mut weights, mut masks) = (x, given, weights, masks);
        for (layer, w) in self.widths.windows(2).enumerate() {
            let (here, after) = weights.split_at((w[0] + 1) * w[1]);
            let (matrix, offsets) = here.split_at(w[0] * w[1]);
            let (y, below) = rest.split_at_mut(rows * w[1]);
            let (mask, other_masks) = masks.split_at(if masks.is_empty() { 0 } else { w[1] });
            if rows > 0 {
                product(View::new(x, w[0]), View::new(matrix, w[1]), y, false);
            }
            let activations = self.last_bends || !self.is_last(layer);
            for row in y.chunks_exact_mut(w[1]) {
                row.iter_mut().zip(offsets).for_each(|(y, offset)| *y += offset);
                if activations {
                    for y in row.iter_mut() {
                        *y = y.max(0.0);
                    }
                }
                row.iter_mut().zip(mask).for_each(|(y, mask)| *y *= mask);
            }
            (x, rest, weights, masks) = (y, below, after, other_masks);
        }
    }

    /// Appends the layers to an ONNX graph and returns the output for the rows `x`.
    pub fn export(&self, mut weights: &[f32], graph: &mut Graph, mut x: Value) -> Value {
        for (layer, w) in self.widths.windows(2).enumerate() {
            let (here, after) = weights.split_at((w[0] + 1) * w[1]);
            let (matrix, offsets) = here.split_at(w[0] * w[1]);
            x = graph.linear(&x, matrix, offsets);
            if self.last_bends || !self.is_last(layer) {
                x = graph.node("Relu", &[&x], &[]);
            }
            weights = after;
        }
        x
    }

    /// Adds ∂loss/∂weight to `to_weights` and writes ∂loss/∂x. `given` holds the outputs of [`Layers::forward`]; its last part
    /// holds ∂loss/∂(output of the last layer) **already multiplied by the derivative of activation and mask**, the parts
    /// before it are overwritten by such gradients.
    pub fn backward(
        &self,
        weights: &[f32],
        x: &[f32],
        masks: &[f32],
        given: &mut [f32],
        to_weights: &mut [f32],
        to_x: &mut [f32],
    ) {
        let rows = x.len() / self.widths[0];
        if rows == 0 {
            return;
        }
        let (mut end, mut weights_end, mut masks_end) = (given.len(), weights.len(), masks.len());
        for (layer, w) in self.widths.windows(2).enumerate().rev() {
            let (before, slopes) = given[..end].split_at_mut(end - rows * w[1]);
            let size = (w[0] + 1) * w[1];
            let matrix = &weights[weights_end - size..][..w[0] * w[1]];
            let (to_matrix, to_offsets) =
                to_weights[weights_end - size..weights_end].split_at_mut(w[0] * w[1]);
            let below: &[f32] = if layer == 0 { x } else { &before[before.len() - rows * w[0]..] };
            product(View::new(below, w[0]).transposed(), View::new(slopes, w[1]), to_matrix, true);
            for row in slopes.chunks_exact(w[1]) {
                to_offsets.iter_mut().zip(row).for_each(|(to, slope)| *to += slope);
            }
            masks_end -= if masks.is_empty() { 0 } else { w[1] };
            if layer == 0 {
                product(View::new(slopes, w[1]), View::new(matrix, w[1]).transposed(), to_x, false);
            } else {
                let down = before.len() - rows * w[0];
                let kept = before[down..].to_vec();
                product(
                    View::new(slopes, w[1]),
                    View::new(matrix, w[1]).transposed(),
                    &mut before[down..],
                    false,
                );
                let mask = if masks.is_empty() { &[] } else { &masks[masks_end - w[0]..masks_end] };
                activation_slopes(&mut before[down..], &kept, mask, w[0]);
            }
            end -= rows * w[1];
            weights_end -= size;
        }
    }
}

/// Backward pass through ReLU and mask: 0 where a unit was 0, otherwise times its mask.
pub(crate) fn activation_slopes(slopes: &mut [f32], given: &[f32], mask: &[f32], width: usize) {
    for (slopes, given) in slopes.chunks_exact_mut(width).zip(given.chunks_exact(width)) {
        slopes
            .iter_mut()
            .zip(given)
            .for_each(|(slope, given)| *slope *= if *given > 0.0 { 1.0 } else { 0.0 });
        slopes.iter_mut().zip(mask).for_each(|(slope, mask)| *slope *= mask);
    }
}

/// Dropout masks: 0 with probability `rate`, otherwise 1/(1 − rate).
pub(crate) fn fill_mask(rate: f64, random: &mut Random, mask: &mut [f32]) {
    let kept = (1.0 / (1.0 - rate)) as f32;
    for value in mask {
        *value = if random.unit() < rate { 0.0 } else { kept };
    }
}
