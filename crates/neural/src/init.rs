//! Initial values of the parameters.

use toprank_core::Block;
use toprank_core::stream::Random;

/// Fills a matrix [inputs, outputs] from the uniform distribution on ±√(6 / (inputs + outputs)), which keeps the
/// variance about the same in both directions for activations that are about the identity near 0.
///
/// Source: Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural networks", AISTATS 2010.
///
/// ```
/// use toprank_core::{Block, Role, Stream};
/// let block = Block { name: "w".into(), shape: vec![3, 3], role: Role::Weight, last_layer: false };
/// let mut values = [9.0; 9];
/// toprank_neural::xavier_uniform(&block, &mut Stream::new(1, "init").open(), &mut values);
/// assert!(values.iter().all(|v| (-1.0..=1.0).contains(v)));
/// ```
pub fn xavier_uniform(block: &Block, random: &mut Random, values: &mut [f32]) {
    let (inputs, outputs) = fans(block);
    uniform((6.0 / (inputs + outputs)).sqrt(), random, values);
}

/// Fills a matrix [inputs, outputs] from the uniform distribution on ±√(6 / inputs), which keeps the variance of the
/// outputs for activations that are about 0 on the negative half.
///
/// Source: He, Zhang, Ren, Sun, "Delving deep into rectifiers: surpassing human-level performance on
/// ImageNet classification", ICCV 2015.
///
/// ```
/// use toprank_core::{Block, Role, Stream};
/// let block = Block { name: "w".into(), shape: vec![6, 2], role: Role::Weight, last_layer: false };
/// let mut values = [9.0; 12];
/// toprank_neural::he_uniform(&block, &mut Stream::new(1, "init").open(), &mut values);
/// assert!(values.iter().all(|v| (-1.0..=1.0).contains(v)));
/// ```
pub fn he_uniform(block: &Block, random: &mut Random, values: &mut [f32]) {
    uniform((6.0 / fans(block).0).sqrt(), random, values);
}

/// Inputs and outputs of a matrix; axes before the last two count as copies.
fn fans(block: &Block) -> (f64, f64) {
    let outputs = block.shape.last().copied().unwrap_or(1).max(1) as f64;
    let inputs = block.shape.iter().rev().nth(1).copied().unwrap_or(1).max(1) as f64;
    (inputs, outputs)
}

fn uniform(bound: f64, random: &mut Random, values: &mut [f32]) {
    for value in values {
        *value = (bound * (2.0 * random.unit() - 1.0)) as f32;
    }
}
