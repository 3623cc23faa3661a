#![doc = include_str!("../pages/mlp.md")]

use toprank_core::stream::Random;
use toprank_core::{
    Architecture, Block, Differentiable, LabelDefaults, ModelError, Param, ParamError, Role, Spec,
    TrainingDefaults,
};

use super::{Built, Compose};
use crate::layers::{
    Activation, BatchNorm, Chain, Dense, EMBEDDED, LayerNorm, PeriodicEmbedding, batch_norm_size, dense_size,
    layer_norm_size, periodic_size,
};
use crate::network::NOISE as NOISE_LAYER;
use crate::params::{ACTIVATION, NOISE, activation, noise};
use crate::squash::{OUTPUT, Output};
use crate::{Network, he_uniform, xavier_uniform};

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "hidden",
        default: "256-128",
        range: "widths from 1 to 65536 joined by -",
        about: "widths of the hidden layers",
    },
    ACTIVATION,
    Param {
        name: "embed",
        default: "none",
        range: "none, periodic or auto",
        about: "embedding of the features before the first layer; auto: periodic for up to 100 features",
    },
    Param {
        name: "frequency",
        default: "0.1",
        range: "(0, ∞)",
        about: "standard deviation of the initial frequencies of periodic embeddings",
    },
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

/// Embedding of the features before the first layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Embed {
    None,
    Periodic,
    /// Periodic where there are few features: wide data are mostly counts and indicators, which have no waves to learn.
    Auto,
}

impl Embed {
    fn is_periodic(self, features: usize) -> bool {
        const FEW: usize = 100;
        self == Embed::Periodic || self == Embed::Auto && features <= FEW
    }
}

/// A multi-layer perceptron; formula, source and cost are in the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct Mlp {
    hidden: Vec<usize>,
    activation: Activation,
    embed: Embed,
    frequency: f64,
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
            embed: spec.args.one_of(
                "embed",
                "none",
                &[("none", Embed::None), ("periodic", Embed::Periodic), ("auto", Embed::Auto)],
            )?,
            frequency: spec.args.positive("frequency", 0.1)?,
            dropout: spec.args.dropout("dropout", 0.0)?,
            norm: spec.args.one_of("norm", "none", &norms)?,
            noise: noise(spec)?,
            output: Output::read(spec)?,
            start: spec.args.number("start", 1.0, "in (0, 10]", |x| x > 0.0 && x <= 10.0)?,
        })
    }
}

impl Compose for Mlp {
    fn compose(&self, width: usize, outputs: usize) -> Result<Built, ModelError> {
        let mut body = Chain::new();
        let mut inputs = width;
        if self.embed.is_periodic(width) {
            body = body.then("embedding", PeriodicEmbedding::new(width));
            inputs = width * EMBEDDED;
        }
        for (layer, &units) in self.hidden.iter().enumerate() {
            body = body.then(format!("layers.{layer}.linear"), Dense::new(inputs, units));
            body = match self.norm {
                Norm::None => body,
                Norm::Layer => body.then(format!("layers.{layer}.layer_norm"), LayerNorm::new(units)),
                Norm::Batch => body.then(format!("layers.{layer}.batch_norm"), BatchNorm::new(units)),
            };
            body = body.activation(self.activation).dropout(self.dropout, NOISE_LAYER + 1 + layer as u32);
            inputs = units;
        }
        let (rectifies, start, frequency) = (self.activation.rectifies(), self.start, self.frequency);
        let network = Network::new(body.then("output", Dense::new(inputs, outputs)))
            .with_noise(self.noise)
            .initialised_by(move |block, random, values| {
                if !PeriodicEmbedding::init(block, frequency, random, values) {
                    init(block, rectifies, start, random, values);
                }
            });
        Ok(Built { network, output: self.output })
    }
}

fn init(block: &Block, rectifies: bool, start: f64, random: &mut Random, values: &mut [f32]) {
    match block.role {
        Role::Weight if rectifies && !block.last_layer => he_uniform(block, random, values),
        Role::Weight => xavier_uniform(block, random, values),
        Role::Offset | Role::Statistic => return,
    }
    // A factor of 1 changes no bit.
    for value in values {
        *value = (f64::from(*value) * start) as f32;
    }
}

impl Architecture for Mlp {
    fn build(&self, width: usize, outputs: usize) -> Result<Box<dyn Differentiable>, ModelError> {
        self.model(width, outputs)
    }

    fn parameters(&self, width: usize, outputs: usize) -> Option<u128> {
        let (mut inputs, mut all) = match self.embed.is_periodic(width) {
            false => (width, 0),
            true => (width.checked_mul(EMBEDDED)?, periodic_size(width)),
        };
        for &units in &self.hidden {
            all += dense_size(inputs, units);
            all += match self.norm {
                Norm::None => 0,
                Norm::Layer => layer_norm_size(units),
                Norm::Batch => batch_norm_size(units),
            };
            inputs = units;
        }
        Some(all + dense_size(inputs, outputs))
    }

    fn defaults(&self) -> TrainingDefaults {
        // Chosen on validation data of many sets with `bench/defaults`; rate and optimisers before, on small sets.
        let labels = LabelDefaults {
            rate: 0.01,
            optimiser: "adamw:decay=3",
            sparse_optimiser: "adamw:decay=1",
            schedule: "constant",
            average: "ema:decay=0.99",
            transforms: "missing:to=mean,robust,smooth-clip",
            parameters: &[("embed", "auto")],
        };
        TrainingDefaults { labels: Some(labels), ..TrainingDefaults::BASE }
    }
}
