#![doc = include_str!("../pages/context.md")]

use toprank_core::{Architecture, Differentiable, ModelError, Param, ParamError, Spec, TrainingDefaults};

use super::{Built, Compose};
use crate::Network;
use crate::layers::{Activation, Attention, Chain, Dense, LayerNorm, Residual, dense_size, layer_norm_size};
use crate::network::NOISE as NOISE_LAYER;
use crate::params::{ACTIVATION, NOISE, activation, noise};
use crate::squash::{OUTPUT, Output};

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
}

impl Compose for Context {
    fn compose(&self, width: usize, outputs: usize) -> Result<Built, ModelError> {
        let mut body = Chain::new().then("input", Dense::new(width, self.width));
        let mut dropouts = NOISE_LAYER;
        let mut dropout = |chain: Chain| {
            dropouts += 1;
            chain.dropout(self.dropout, dropouts)
        };
        for block in 0..self.blocks {
            let attention = Chain::new()
                .then("attention_norm", LayerNorm::new(self.width))
                .then("", Attention::new(self.width, self.heads));
            body = body.then(format!("blocks.{block}"), Residual(dropout(attention)));
            let hidden = Chain::new()
                .then("hidden_norm", LayerNorm::new(self.width))
                .then("hidden", Dense::new(self.width, self.hidden))
                .activation(self.activation);
            let back = dropout(hidden).then("back", Dense::new(self.hidden, self.width));
            body = body.then(format!("blocks.{block}"), Residual(dropout(back)));
        }
        let body =
            body.then("norm", LayerNorm::new(self.width)).then("output", Dense::new(self.width, outputs));
        Ok(Built { network: Network::new(body).with_noise(self.noise), output: self.output })
    }
}

impl Architecture for Context {
    fn build(&self, width: usize, outputs: usize) -> Result<Box<dyn Differentiable>, ModelError> {
        self.model(width, outputs)
    }

    fn parameters(&self, width: usize, outputs: usize) -> Option<u128> {
        let norm = layer_norm_size(self.width);
        // The key has no bias.
        let attention = 4 * dense_size(self.width, self.width) - self.width as u128;
        let hidden = dense_size(self.width, self.hidden) + dense_size(self.hidden, self.width);
        let blocks = self.blocks as u128 * (2 * norm + attention + hidden);
        let ends = dense_size(width, self.width) + dense_size(self.width, outputs);
        Some(ends + blocks + norm)
    }

    fn defaults(&self) -> TrainingDefaults {
        TrainingDefaults { rate: 0.001, sampler: "slates:batch=32:items=100", ..TrainingDefaults::BASE }
    }

    fn couples_items(&self) -> bool {
        true
    }
}
