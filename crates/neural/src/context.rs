#![doc = include_str!("pages/context.md")]

use burn::module::Module;
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::module::attention;
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Device, Tensor};
use toprank_core::{Architecture, Differentiable, ModelError, Param, ParamError, Spec, TrainingDefaults};
use toprank_onnx::{Attribute, Graph, Value};

use crate::onnx::{self, ExportOnnx, Weights};
use crate::params::{ACTIVATION, NOISE, activation, count, dropout, noise};
use crate::squash::{OUTPUT, Output};
use crate::{Activation, Network, Pass, RankModule, layers};

/// In training a shard's queries go in pieces of about so many chances (a megabyte): what is done to them number by number
/// then stays in the cache of a core. In prediction burn cuts long lists itself.
const CHANCES_AT_ONCE: usize = 1 << 18;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "width",
        default: "128",
        range: "a whole number from 1 to 4096",
        about: "numbers per item between the blocks",
    },
    Param {
        name: "blocks",
        default: "2",
        range: "a whole number from 1 to 64",
        about: "how many times the items of a list look at each other",
    },
    Param {
        name: "heads",
        default: "2",
        range: "a divisor of width",
        about: "how many looks at once, each with its share of the width",
    },
    Param {
        name: "hidden",
        default: "256",
        range: "a whole number from 1 to 65536",
        about: "hidden units of the layers that follow each look",
    },
    ACTIVATION,
    Param {
        name: "dropout",
        default: "0.1",
        range: "[0, 1)",
        about: "share of units switched off in training: hidden ones, and what a block adds",
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
        let width = count(spec, "width", 128, 4096)?;
        let heads = count(spec, "heads", 2, 4096)?;
        if !width.is_multiple_of(heads) {
            let expected = format!("a divisor of width ({width})");
            return Err(ParamError::new("heads", &heads.to_string(), &expected));
        }
        Ok(Context {
            width,
            heads,
            blocks: count(spec, "blocks", 2, 64)?,
            hidden: count(spec, "hidden", 256, 65_536)?,
            activation: activation(spec)?,
            dropout: dropout(spec, 0.1)?,
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
            // A bias would add the same to q·k of all items: the softmax does not see it.
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
            let seen = self.export_attention(weights, graph, &part, &normed);
            let seen = weights.linear(graph, &part("mix"), &seen);
            x = graph.node("Add", &[&x, &seen], &[]);
            let normed = weights.layer_norm(graph, &part("hidden_norm"), &x);
            let hidden = weights.linear(graph, &part("hidden"), &normed);
            let hidden = onnx::activation(graph, self.activation, &hidden);
            let thought = weights.linear(graph, &part("back"), &hidden);
            x = graph.node("Add", &[&x, &thought], &[]);
        }
        let normed = weights.layer_norm(graph, "norm", &x);
        Some(weights.linear(graph, "output", &normed))
    }

    fn output(&self) -> Output {
        self.output
    }
}

impl Context {
    /// [`ContextModule::look`] for one list.
    fn export_attention(
        &self,
        weights: &Weights,
        graph: &mut Graph,
        part: &dyn Fn(&str) -> String,
        x: &Value,
    ) -> Value {
        let share = self.width / self.heads;
        let split = |graph: &mut Graph, layer: &str, order: &[i64]| {
            let rows = weights.linear(graph, &part(layer), x);
            let shape = graph.wholes(&[-1, self.heads as i64, share as i64]);
            let heads = graph.node("Reshape", &[&rows, &shape], &[]);
            graph.node("Transpose", &[&heads], &[Attribute::Wholes("perm", order)])
        };
        let query = split(graph, "query", &[1, 0, 2]);
        let key = split(graph, "key", &[1, 2, 0]);
        let value = split(graph, "value", &[1, 0, 2]);
        let likeness = graph.node("MatMul", &[&query, &key], &[]);
        let factor = graph.floats(&[1], &[1.0 / (share as f32).sqrt()]);
        let scaled = graph.node("Mul", &[&likeness, &factor], &[]);
        let chances = graph.node("Softmax", &[&scaled], &[Attribute::Whole("axis", -1)]);
        let seen = graph.node("MatMul", &[&chances, &value], &[]);
        let seen = graph.node("Transpose", &[&seen], &[Attribute::Wholes("perm", &[1, 0, 2])]);
        let shape = graph.wholes(&[-1, self.width as i64]);
        graph.node("Reshape", &[&seen, &shape], &[])
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
    fn forward(&self, rows: Tensor<2>, pass: &mut Pass) -> Tensor<2> {
        let mut x = self.input.forward(pass.noise(rows, self.noise));
        for block in &self.blocks {
            let seen = block.mix.forward(self.look(block, &block.attention_norm.forward(x.clone()), pass));
            x = x + pass.dropout(seen, self.dropout);
            let hidden = self.activation.apply(block.hidden.forward(block.hidden_norm.forward(x.clone())));
            let thought = block.back.forward(pass.dropout(hidden, self.dropout));
            x = x + pass.dropout(thought, self.dropout);
        }
        self.output.forward(self.norm.forward(x))
    }

    fn couples_items(&self) -> bool {
        true
    }
}

impl ContextModule {
    /// softmax(q·k / √(width of a head)) v over the items of each list. Only here lists are padded: everything else
    /// works on rows.
    fn look(&self, block: &AttentionBlock, x: &Tensor<2>, pass: &mut Pass) -> Tensor<2> {
        let mut split = |layer: &Linear| {
            let lists = pass.pad(layer.forward(x.clone()));
            let [count, longest, width] = lists.dims();
            lists.reshape([count, longest, self.heads, width / self.heads]).swap_dims(1, 2)
        };
        let (query, key, value) = (split(&block.query), split(&block.key), split(&block.value));
        let [lists, heads, longest, share] = query.dims();
        let empty = pass.empty().map(|empty| empty.reshape([lists, 1, 1, longest]));
        let look = |query: Tensor<4>| {
            let shape = [lists, heads, query.dims()[2], longest];
            let empty = empty.clone().map(|empty| empty.expand(shape));
            attention(query, key.clone(), value.clone(), empty, None, AttentionModuleOptions::default())
        };
        let piece = (CHANCES_AT_ONCE / (lists * heads * longest)).max(16);
        let seen = match piece < longest && pass.training() {
            true => Tensor::cat(query.split(piece, 2).into_iter().map(look).collect(), 2),
            false => look(query),
        };
        pass.unpad(seen.swap_dims(1, 2).reshape([lists, longest, heads * share]))
    }
}
