#![doc = include_str!("../pages/context.md")]

use burn::module::Module;
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::module::attention;
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Device, Tensor};
use toprank_core::{Architecture, Differentiable, ModelError, Param, ParamError, Spec, TrainingDefaults};
use toprank_onnx::{Attribute, Graph, Value};

use crate::onnx::{self, ExportOnnx, Weights};
use crate::params::{ACTIVATION, NOISE, activation, noise};
use crate::squash::{OUTPUT, Output};
use crate::{Activation, ForwardPass, Network, RankModule, layers};

/// In training the attention of a shard is computed in chunks of about this many probabilities (a megabyte), which stay in the
/// cache of a core. In prediction burn splits long lists itself.
const ATTENTION_CHUNK: usize = 1 << 18;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "width",
        default: "128",
        range: "an integer from 1 to 4096",
        about: "hidden dimension of an item between the blocks",
    },
    Param {
        name: "blocks",
        default: "2",
        range: "an integer from 1 to 64",
        about: "number of self-attention blocks",
    },
    Param {
        name: "heads",
        default: "2",
        range: "a divisor of width",
        about: "number of attention heads, which divide the width among them",
    },
    Param {
        name: "hidden",
        default: "256",
        range: "an integer from 1 to 65536",
        about: "hidden units of the feed-forward layer of each block",
    },
    ACTIVATION,
    Param {
        name: "dropout",
        default: "0.1",
        range: "[0, 1)",
        about: "dropout rate of hidden units and of what a block adds",
    },
    NOISE,
    OUTPUT,
];

/// The context-aware ranker; formula, source and cost are in the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct Context {
    width: usize,
    blocks: usize,
    heads: usize,
    hidden: usize,
    activation: Activation,
    dropout: f64,
    noise: f64,
    output: Output,
}

impl Context {
    pub(crate) fn read(spec: &Spec) -> Result<Context, ParamError> {
        let width = spec.args.count("width", 128, 4096)?;
        let heads = spec.args.count("heads", 2, 4096)?;
        if !width.is_multiple_of(heads) {
            let expected = format!("a divisor of width ({width})");
            return Err(ParamError::new("heads", &heads.to_string(), &expected));
        }
        Ok(Context {
            width,
            heads,
            blocks: spec.args.count("blocks", 2, 64)?,
            hidden: spec.args.count("hidden", 256, 65_536)?,
            activation: activation(spec)?,
            dropout: spec.args.dropout("dropout", 0.1)?,
            noise: noise(spec)?,
            output: Output::read(spec)?,
        })
    }

    pub(crate) fn module(&self, width: usize, outputs: usize) -> ContextModule {
        let norm = || LayerNormConfig::new(self.width).init(&Device::flex());
        let square = || layers::linear(self.width, self.width);
        let block = || AttentionBlock {
            attention_norm: norm(),
            query: square(),
            // A bias would add the same to q·k of all items, which the softmax cancels.
            key: Linear { bias: None, ..square() },
            value: square(),
            mix: square(),
            hidden_norm: norm(),
            hidden: layers::linear(self.width, self.hidden),
            back: layers::linear(self.hidden, self.width),
        };
        ContextModule {
            input: layers::linear(width, self.width),
            blocks: (0..self.blocks).map(|_| block()).collect(),
            norm: norm(),
            output: layers::linear(self.width, outputs),
            heads: self.heads,
            activation: self.activation,
            dropout: self.dropout,
            noise: self.noise,
        }
    }
}

impl Architecture for Context {
    fn build(&self, width: usize, outputs: usize) -> Result<Box<dyn Differentiable>, ModelError> {
        Ok(self.output.after(Box::new(Network::new(self.module(width, outputs), width, outputs)?)))
    }

    fn parameters(&self, width: usize, outputs: usize) -> Option<u128> {
        let norm = layers::layer_norm_size(self.width);
        // The key has no bias.
        let attention = 4 * layers::linear_size(self.width, self.width) - self.width as u128;
        let hidden =
            layers::linear_size(self.width, self.hidden) + layers::linear_size(self.hidden, self.width);
        let blocks = self.blocks as u128 * (2 * norm + attention + hidden);
        let ends = layers::linear_size(width, self.width) + layers::linear_size(self.width, outputs);
        Some(ends + blocks + norm)
    }

    fn defaults(&self) -> TrainingDefaults {
        TrainingDefaults { rate: 0.001, sampler: "slates:batch=32:items=100", ..TrainingDefaults::BASE }
    }

    fn couples_items(&self) -> bool {
        true
    }
}

impl ExportOnnx for Context {
    fn export(&self, weights: &Weights, graph: &mut Graph, rows: &Value) -> Option<Value> {
        let mut x = weights.linear(graph, "input", rows);
        for block in 0..self.blocks {
            let part = |name: &str| format!("blocks.{block}.{name}");
            let normed = weights.layer_norm(graph, &part("attention_norm"), &x);
            let attended = self.export_attention(weights, graph, &part, &normed);
            let attended = weights.linear(graph, &part("mix"), &attended);
            x = graph.node("Add", &[&x, &attended], &[]);
            let normed = weights.layer_norm(graph, &part("hidden_norm"), &x);
            let hidden = weights.linear(graph, &part("hidden"), &normed);
            let hidden = onnx::activation(graph, self.activation, &hidden);
            let transformed = weights.linear(graph, &part("back"), &hidden);
            x = graph.node("Add", &[&x, &transformed], &[]);
        }
        let normed = weights.layer_norm(graph, "norm", &x);
        Some(weights.linear(graph, "output", &normed))
    }

    fn output(&self) -> Output {
        self.output
    }
}

impl Context {
    /// [`ContextModule::attend`] for one list.
    fn export_attention(
        &self,
        weights: &Weights,
        graph: &mut Graph,
        part: &dyn Fn(&str) -> String,
        x: &Value,
    ) -> Value {
        let head_width = self.width / self.heads;
        let split = |graph: &mut Graph, layer: &str, order: &[i64]| {
            let rows = weights.linear(graph, &part(layer), x);
            let shape = graph.ints(&[-1, self.heads as i64, head_width as i64]);
            let heads = graph.node("Reshape", &[&rows, &shape], &[]);
            graph.node("Transpose", &[&heads], &[Attribute::Ints("perm", order)])
        };
        let query = split(graph, "query", &[1, 0, 2]);
        let key = split(graph, "key", &[1, 2, 0]);
        let value = split(graph, "value", &[1, 0, 2]);
        let similarity = graph.node("MatMul", &[&query, &key], &[]);
        let factor = graph.floats(&[1], &[1.0 / (head_width as f32).sqrt()]);
        let scaled = graph.node("Mul", &[&similarity, &factor], &[]);
        let probabilities = graph.node("Softmax", &[&scaled], &[Attribute::Int("axis", -1)]);
        let attended = graph.node("MatMul", &[&probabilities, &value], &[]);
        let attended = graph.node("Transpose", &[&attended], &[Attribute::Ints("perm", &[1, 0, 2])]);
        let shape = graph.ints(&[-1, self.width as i64]);
        graph.node("Reshape", &[&attended, &shape], &[])
    }
}

#[derive(Module, Debug)]
pub(crate) struct ContextModule {
    input: Linear,
    blocks: Vec<AttentionBlock>,
    norm: LayerNorm,
    output: Linear,
    heads: usize,
    #[module(skip)]
    activation: Activation,
    dropout: f64,
    noise: f64,
}

#[derive(Module, Debug)]
struct AttentionBlock {
    attention_norm: LayerNorm,
    query: Linear,
    key: Linear,
    value: Linear,
    mix: Linear,
    hidden_norm: LayerNorm,
    hidden: Linear,
    back: Linear,
}

impl RankModule for ContextModule {
    fn forward(&self, rows: Tensor<2>, pass: &mut ForwardPass) -> Tensor<2> {
        let mut x = self.input.forward(pass.noise(rows, self.noise));
        for block in &self.blocks {
            let attended =
                block.mix.forward(self.attend(block, &block.attention_norm.forward(x.clone()), pass));
            x = x + pass.dropout(attended, self.dropout);
            let hidden = self.activation.apply(block.hidden.forward(block.hidden_norm.forward(x.clone())));
            let transformed = block.back.forward(pass.dropout(hidden, self.dropout));
            x = x + pass.dropout(transformed, self.dropout);
        }
        self.output.forward(self.norm.forward(x))
    }

    fn couples_items(&self) -> bool {
        true
    }
}

impl ContextModule {
    /// softmax(q·k / √(width of a head)) v over the items of each list. Lists are padded only here: everything else
    /// works on rows.
    fn attend(&self, block: &AttentionBlock, x: &Tensor<2>, pass: &mut ForwardPass) -> Tensor<2> {
        let mut split = |layer: &Linear| {
            let lists = pass.pad(layer.forward(x.clone()));
            let [count, longest, width] = lists.dims();
            lists.reshape([count, longest, self.heads, width / self.heads]).swap_dims(1, 2)
        };
        let (query, key, value) = (split(&block.query), split(&block.key), split(&block.value));
        let [lists, heads, longest, head_width] = query.dims();
        let empty = pass.empty().map(|empty| empty.reshape([lists, 1, 1, longest]));
        let attend = |query: Tensor<4>| {
            let shape = [lists, heads, query.dims()[2], longest];
            let empty = empty.clone().map(|empty| empty.expand(shape));
            attention(query, key.clone(), value.clone(), empty, None, AttentionModuleOptions::default())
        };
        let chunk = (ATTENTION_CHUNK / (lists * heads * longest)).max(16);
        let attended = match chunk < longest && pass.training() {
            true => Tensor::cat(query.split(chunk, 2).into_iter().map(attend).collect(), 2),
            false => attend(query),
        };
        pass.unpad(attended.swap_dims(1, 2).reshape([lists, longest, heads * head_width]))
    }
}
