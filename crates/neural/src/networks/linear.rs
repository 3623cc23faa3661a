#![doc = include_str!("../pages/linear.md")]

use burn::module::Module;
use burn::tensor::Tensor;
use toprank_core::{Architecture, Differentiable, ModelError, Param, ParamError, Spec, TrainingDefaults};

use toprank_onnx::{Graph, Value};

use crate::direct::Direct;
use crate::onnx::{ExportOnnx, Weights};
use crate::params::{NOISE, noise};
use crate::squash::{OUTPUT, Output};
use crate::{ForwardPass, Network, RankModule, layers};

pub(crate) const PARAMS: &[Param] = &[NOISE, OUTPUT];

/// A linear model; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinearModel {
    noise: f64,
    output: Output,
}

impl LinearModel {
    pub(crate) fn read(spec: &Spec) -> Result<LinearModel, ParamError> {
        Ok(LinearModel { noise: noise(spec)?, output: Output::read(spec)? })
    }
}

impl Architecture for LinearModel {
    fn build(&self, width: usize, outputs: usize) -> Result<Box<dyn Differentiable>, ModelError> {
        let network = Network::new(LinearModule::new(width, outputs, self.noise), width, outputs)?;
        Ok(self.output.after(Box::new(Direct::new(network, &[], 0.0, self.noise))))
    }

    fn parameters(&self, width: usize, outputs: usize) -> Option<u128> {
        Some(layers::linear_size(width, outputs))
    }

    fn defaults(&self) -> TrainingDefaults {
        TrainingDefaults { rate: 0.03, ..TrainingDefaults::BASE }
    }
}

impl ExportOnnx for LinearModel {
    fn export(&self, weights: &Weights, graph: &mut Graph, rows: &Value) -> Option<Value> {
        Some(weights.linear(graph, "output", rows))
    }

    fn output(&self) -> Output {
        self.output
    }
}

#[derive(Module, Debug)]
pub(crate) struct LinearModule {
    output: burn::nn::Linear,
    noise: f64,
}

impl LinearModule {
    pub(crate) fn new(width: usize, outputs: usize, noise: f64) -> LinearModule {
        LinearModule { output: layers::linear(width, outputs), noise }
    }
}

impl RankModule for LinearModule {
    fn forward(&self, rows: Tensor<2>, pass: &mut ForwardPass) -> Tensor<2> {
        self.output.forward(pass.noise(rows, self.noise))
    }
}
