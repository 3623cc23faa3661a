//! The dense layer.

use toprank_core::Block;
use toprank_core::matrix::{View, product};
use toprank_onnx::{Graph, Value};

use super::{Layer, Slopes, block};
use crate::Pass;
use crate::kernels::{add_columns, add_to_rows};
use crate::onnx::Inputs;

/// `y = x W + b`; W is [inputs, outputs].
#[derive(Clone, Copy, Debug)]
pub struct Dense {
    inputs: usize,
    outputs: usize,
}

impl Dense {
    /// A layer from `inputs` to `outputs` numbers.
    pub fn new(inputs: usize, outputs: usize) -> Dense {
        Dense { inputs, outputs }
    }
}

/// `y = x W`, with `+ b` if there is one.
pub(super) fn affine(x: &[f32], inputs: usize, weight: &[f32], bias: Option<&[f32]>, y: &mut [f32]) {
    let outputs = weight.len() / inputs;
    product(View::new(x, inputs), View::new(weight, outputs), y, false);
    if let Some(bias) = bias {
        add_to_rows(y, bias);
    }
}

/// The gradient of [`affine`]: adds to those of `weight` and `bias`, and writes that of `x` if asked to.
pub(super) fn affine_back(
    x: &[f32],
    inputs: usize,
    weight: &[f32],
    dy: &[f32],
    dx: Option<Slopes>,
    dweight: &mut [f32],
    dbias: Option<&mut [f32]>,
) {
    let outputs = weight.len() / inputs;
    product(View::new(x, inputs).transposed(), View::new(dy, outputs), dweight, true);
    if let Some(dbias) = dbias {
        add_columns(dy, dbias);
    }
    if let Some(Slopes { to, add }) = dx {
        product(View::new(dy, outputs), View::new(weight, outputs).transposed(), to, add);
    }
}

impl Layer for Dense {
    fn inputs(&self) -> usize {
        self.inputs
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn blocks(&self) -> Vec<Block> {
        vec![block("weight", &[self.inputs, self.outputs]), block("bias", &[self.outputs])]
    }

    fn forward(&self, parameters: &[f32], x: &[f32], y: &mut [f32], _: &mut Pass) {
        let (weight, bias) = parameters.split_at(self.inputs * self.outputs);
        affine(x, self.inputs, weight, Some(bias), y);
    }

    fn backward(
        &self,
        parameters: &[f32],
        x: &[f32],
        dy: &mut [f32],
        dx: Option<Slopes>,
        gradient: &mut [f32],
        _: &mut Pass,
    ) {
        let cut = self.inputs * self.outputs;
        let (dweight, dbias) = gradient.split_at_mut(cut);
        affine_back(x, self.inputs, &parameters[..cut], dy, dx, dweight, Some(dbias));
    }

    fn export(&self, parameters: &[f32], graph: &mut Graph, _: &Inputs, x: &Value) -> Value {
        let (weight, bias) = parameters.split_at(self.inputs * self.outputs);
        graph.linear(x, weight, bias)
    }
}
