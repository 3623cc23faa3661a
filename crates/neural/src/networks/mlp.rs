#![doc = include_str!("../pages/mlp.md")]

use burn::module::Module;
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::{Device, Tensor};
use toprank_core::{
    Architecture, Block, Differentiable, LabelDefaults, ModelError, Param, ParamError, Role, Spec,
    TrainingDefaults,
};

use toprank_core::stream::Random;
use toprank_onnx::{Graph, Value};

use crate::direct::Direct;
use crate::onnx::{self, ExportOnnx, Weights};
use crate::params::{ACTIVATION, NOISE, activation, noise};
use crate::squash::{OUTPUT, Output};
use crate::{Activation, BatchNorm, ForwardPass, Network, RankModule, he_uniform, layers, xavier_uniform};

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "hidden",
        default: "256-128",
        range: "widths from 1 to 65536 joined by -",
        about: "widths of the hidden layers",
    },
    ACTIVATION,
    Param { name: "dropout", default: "0", range: "[0, 1)", about: "dropout rate of hidden units" },
    Param {
        name: "norm",
        default: "none",
        range: "none, layer or batch",
        about: "normalisation before each activation",
    },
    NOISE,
    OUTPUT,
    Param {
        name: "start",
        default: "1",
        range: "(0, 10]",
        about: "factor on the initial weights; 0.408 gives PyTorch's initialisation",
    },
];

fn hidden(spec: &Spec) -> Result<Vec<usize>, ParamError> {
    let text = spec.args.get("hidden").unwrap_or("256-128");
    let width = |part: &str| part.parse().ok().filter(|width| (1..=65_536).contains(width));
    text.split('-').map(width).collect::<Option<Vec<usize>>>().ok_or_else(|| {
        ParamError::new("hidden", text, "widths from 1 to 65536 joined by -, for example 256-128")
    })
}

/// Normalisation before each activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Norm {
    None,
    Layer,
    Batch,
}

/// A multi-layer perceptron; formula, source and cost are in the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct Mlp {
    hidden: Vec<usize>,
    activation: Activation,
    dropout: f64,
    norm: Norm,
    noise: f64,
    output: Output,
    start: f64,
}

impl Mlp {
    pub(crate) fn read(spec: &Spec) -> Result<Mlp, ParamError> {
        let norms = [("none", Norm::None), ("layer", Norm::Layer), ("batch", Norm::Batch)];
        Ok(Mlp {
            hidden: hidden(spec)?,
            activation: activation(spec)?,
            dropout: spec.args.dropout("dropout", 0.0)?,
            norm: spec.args.one_of("norm", "none", &norms)?,
            noise: noise(spec)?,
            output: Output::read(spec)?,
            start: spec.args.number("start", 1.0, "in (0, 10]", |x| x > 0.0 && x <= 10.0)?,
        })
    }

    pub(crate) fn module(&self, width: usize, outputs: usize) -> MlpModule {
        let mut inputs = width;
        let mut layers = Vec::new();
        for &units in &self.hidden {
            layers.push(Hidden {
                linear: layers::linear(inputs, units),
                layer_norm: (self.norm == Norm::Layer)
                    .then(|| LayerNormConfig::new(units).init(&Device::flex())),
                batch_norm: (self.norm == Norm::Batch).then(|| BatchNorm::new(units)),
            });
            inputs = units;
        }
        MlpModule {
            layers,
            output: layers::linear(inputs, outputs),
            activation: self.activation,
            dropout: self.dropout,
            noise: self.noise,
            start: self.start,
        }
    }
}

impl Architecture for Mlp {
    fn build(&self, width: usize, outputs: usize) -> Result<Box<dyn Differentiable>, ModelError> {
        let network = Network::new(self.module(width, outputs), width, outputs)?;
        if self.norm == Norm::None && self.activation == Activation::Relu {
            let direct = Direct::new(network, &self.hidden, self.dropout, self.noise);
            return Ok(self.output.after(Box::new(direct)));
        }
        Ok(self.output.after(Box::new(network)))
    }

    fn parameters(&self, width: usize, outputs: usize) -> Option<u128> {
        let mut inputs = width;
        let mut all = 0;
        for &units in &self.hidden {
            all += layers::linear_size(inputs, units);
            all += match self.norm {
                Norm::None => 0,
                Norm::Layer => layers::layer_norm_size(units),
                Norm::Batch => layers::batch_norm_size(units),
            };
            inputs = units;
        }
        Some(all + layers::linear_size(inputs, outputs))
    }

    fn defaults(&self) -> TrainingDefaults {
        // Chosen on small binary data sets that `bench/top` does not report on, with every objective.
        let labels =
            LabelDefaults { rate: 0.01, optimiser: "adamw:decay=3", sparse_optimiser: "adamw:decay=1" };
        TrainingDefaults { labels: Some(labels), ..TrainingDefaults::BASE }
    }
}

impl ExportOnnx for Mlp {
    fn export(&self, weights: &Weights, graph: &mut Graph, rows: &Value) -> Option<Value> {
        let mut x = rows.clone();
        for layer in 0..self.hidden.len() {
            let part = |name: &str| format!("layers.{layer}.{name}");
            x = weights.linear(graph, &part("linear"), &x);
            x = match self.norm {
                Norm::None => x,
                Norm::Layer => weights.layer_norm(graph, &part("layer_norm"), &x),
                Norm::Batch => weights.batch_norm(graph, &part("batch_norm"), &x),
            };
            x = onnx::activation(graph, self.activation, &x);
        }
        Some(weights.linear(graph, "output", &x))
    }

    fn output(&self) -> Output {
        self.output
    }
}

#[derive(Module, Debug)]
pub(crate) struct MlpModule {
    layers: Vec<Hidden>,
    output: Linear,
    #[module(skip)]
    activation: Activation,
    dropout: f64,
    noise: f64,
    start: f64,
}

#[derive(Module, Debug)]
struct Hidden {
    linear: Linear,
    layer_norm: Option<LayerNorm>,
    batch_norm: Option<BatchNorm>,
}

impl RankModule for MlpModule {
    fn forward(&self, rows: Tensor<2>, pass: &mut ForwardPass) -> Tensor<2> {
        let mut x = pass.noise(rows, self.noise);
        for layer in &self.layers {
            x = layer.linear.forward(x);
            if let Some(norm) = &layer.layer_norm {
                x = norm.forward(x);
            }
            if let Some(norm) = &layer.batch_norm {
                x = norm.forward(x, pass);
            }
            x = pass.dropout(self.activation.apply(x), self.dropout);
        }
        self.output.forward(x)
    }

    fn init(&self, block: &Block, random: &mut Random, values: &mut [f32]) {
        match block.role {
            Role::Weight if self.activation.rectifies() && !block.last_layer => {
                he_uniform(block, random, values);
            }
            Role::Weight => xavier_uniform(block, random, values),
            Role::Offset | Role::Statistic => return,
        }
        // A factor of 1 changes no bit.
        for value in values {
            *value = (f64::from(*value) * self.start) as f32;
        }
    }
}
