/*!
Layers: each one file with its forward pass, its gradient and its ONNX form. Networks are compositions of them.

```
use toprank_core::{Differentiable, Stream};
use toprank_neural::layers::{Activation, Chain, Dense, LayerNorm, Residual};
use toprank_neural::Network;

let block = Chain::new().then("norm", LayerNorm::new(8)).then("dense", Dense::new(8, 8)).activation(Activation::Relu)
    .then("back", Dense::new(8, 8));
let body = Chain::new().then("input", Dense::new(5, 8)).then("block", Residual(block)).then("output", Dense::new(8, 1));
let network = Network::new(body);
assert_eq!(network.blocks()[2].name, "block.norm.gamma");
assert_eq!(network.parameters(), (5 + 1) * 8 + 2 * 8 + 2 * (8 + 1) * 8 + (8 + 1));
```
*/

mod activation;
pub mod attention;
mod batch_norm;
mod chain;
mod dense;
mod dropout;
mod graph;
mod layer_norm;
mod periodic;

use toprank_core::{Block, Role};
use toprank_onnx::{Graph, Value};

pub use activation::Activation;
pub use attention::Attention;
pub use batch_norm::BatchNorm;
pub use chain::{Chain, Residual};
pub use dense::Dense;
pub use dropout::Dropout;
pub(crate) use dropout::add_noise;
pub use graph::{Aggregate, GraphEmbedding, Pool};
pub use layer_norm::LayerNorm;
pub use periodic::PeriodicEmbedding;
pub(crate) use periodic::{EMBEDDED, periodic_size};

use crate::Pass;
use crate::onnx::Inputs;

/// A function of rows with parameters: rows of [`Layer::inputs`] numbers in, rows of [`Layer::outputs`] numbers out.
pub trait Layer: Send + Sync {
    /// Numbers per row of the input.
    fn inputs(&self) -> usize;

    /// Numbers per row of the output.
    fn outputs(&self) -> usize;

    /// Rows of the output, given those of the input.
    fn output_rows(&self, rows: usize, _pass: &Pass) -> usize {
        rows
    }

    /// Its parameters, in order.
    fn blocks(&self) -> Vec<Block> {
        Vec::new()
    }

    /// True if rows of the same list depend on each other.
    fn couples_items(&self) -> bool {
        false
    }

    /// `y = f(x)`. What the backward pass needs besides `x` is kept by [`Pass::keep`].
    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut [f32], pass: &mut Pass);

    /// Adds ∂loss/∂parameter to `gradient` and writes ∂loss/∂x to `dx`, given `dy` = ∂loss/∂y, which may be overwritten. `dx`:
    /// `None` where nothing asks for it.
    fn backward(
        &self,
        parameters: &[f32],
        x: &[f32],
        dy: &mut [f32],
        dx: Option<Slopes>,
        gradient: &mut [f32],
        pass: &mut Pass,
    );

    /// Appends the layer to an ONNX graph, as it computes in prediction.
    fn export(&self, parameters: &[f32], graph: &mut Graph, inputs: &Inputs, x: &Value) -> Value;
}

/// A function of every number by itself, computed where the numbers are.
pub trait InPlace: Send + Sync {
    /// `x = f(x)`.
    fn forward(&self, x: &mut [f32], pass: &mut Pass);

    /// Turns ∂loss/∂y into ∂loss/∂x; `y` holds the numbers that the layers after this one left.
    fn backward(&self, y: &[f32], dy: &mut [f32], pass: &mut Pass);

    /// True if the backward pass reads `y`.
    fn reads_output(&self) -> bool;

    /// Appends the function to an ONNX graph, as it computes in prediction.
    fn export(&self, graph: &mut Graph, x: &Value) -> Value;
}

/// Where ∂loss/∂x goes.
pub struct Slopes<'a> {
    /// One number for each of `x`.
    pub to: &'a mut [f32],
    /// True if the numbers are added to what is there, false if they replace it.
    pub add: bool,
}

impl Slopes<'_> {
    /// For one of several functions of `x`: those after it add to what it writes.
    pub fn lend(&mut self) -> Slopes<'_> {
        Slopes { to: self.to, add: std::mem::replace(&mut self.add, true) }
    }
}

/// A block of learned numbers.
pub(crate) fn block(name: &str, shape: &[usize]) -> Block {
    let role = if shape.len() >= 2 { Role::Weight } else { Role::Offset };
    Block { name: name.into(), shape: shape.to_vec(), role, last_layer: false }
}

/// Number of parameters of a [`Dense`] layer. As u128: sizes that a file states cannot overflow it.
pub(crate) fn dense_size(inputs: usize, outputs: usize) -> u128 {
    (inputs as u128 + 1) * outputs as u128
}

/// Number of parameters of a [`LayerNorm`]: scale and offset.
pub(crate) fn layer_norm_size(units: usize) -> u128 {
    2 * units as u128
}

/// Number of parameters of a [`BatchNorm`]: scale, offset, running mean and running variance.
pub(crate) fn batch_norm_size(units: usize) -> u128 {
    4 * units as u128
}
