#![doc = include_str!("../pages/gin.md")]

use toprank_core::stream::Random;
use toprank_core::{
    Architecture, Block, Differentiable, GraphFeature, GraphShape, ModelError, Param, ParamError, Role, Spec,
    TrainingDefaults,
};

use super::{Built, Compose};
use crate::graphs::columns;
use crate::layers::{
    Activation, Aggregate, BatchNorm, Chain, Dense, GraphEmbedding, Pool, batch_norm_size, dense_size,
};
use crate::network::NOISE as NOISE_LAYER;
use crate::squash::{OUTPUT, Output};
use crate::{Network, he_uniform, xavier_uniform};

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "layers",
        default: "5",
        range: "an integer from 1 to 64",
        about: "number of message-passing layers",
    },
    Param {
        name: "hidden",
        default: "300",
        range: "an integer from 1 to 4096",
        about: "hidden dimension of a node",
    },
    Param {
        name: "pool",
        default: "sum",
        range: "sum or mean",
        about: "how node vectors are pooled into a graph vector",
    },
    Param {
        name: "norm",
        default: "batch",
        range: "batch or none",
        about: "normalisation before each activation",
    },
    Param { name: "dropout", default: "0.5", range: "[0, 1)", about: "dropout rate after each layer" },
    OUTPUT,
];

/// A graph isomorphism network; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gin {
    layers: usize,
    hidden: usize,
    mean: bool,
    norm: bool,
    dropout: f64,
    output: Output,
}

impl Gin {
    pub(crate) fn read(spec: &Spec) -> Result<Gin, ParamError> {
        Ok(Gin {
            layers: spec.args.count("layers", 5, 64)?,
            hidden: spec.args.count("hidden", 300, 4096)?,
            mean: spec.args.one_of("pool", "sum", &[("sum", false), ("mean", true)])?,
            norm: spec.args.one_of("norm", "batch", &[("batch", true), ("none", false)])?,
            dropout: spec.args.dropout("dropout", 0.5)?,
            output: Output::read(spec)?,
        })
    }
}

/// Rows of a table for categories without a code of their own.
fn others(features: &[GraphFeature]) -> Vec<usize> {
    let starts = columns(features).0;
    let codes = starts.into_iter().zip(features);
    codes.filter(|(_, f)| matches!(f, GraphFeature::Code(_))).map(|(start, _)| start).collect()
}

impl Compose for Gin {
    fn compose(&self, _: usize, _: usize) -> Result<Built, ModelError> {
        Err(ModelError::new(
            "gin for rows of features",
            "items that are graphs: name the column of molecules with --smiles, or --graph, --nodes and --edges",
        ))
    }

    fn compose_for_graphs(&self, shape: &GraphShape, outputs: usize) -> Result<Built, ModelError> {
        if shape.nodes.is_empty() {
            return Err(ModelError::new("nodes without features", "at least one"));
        }
        let (hidden, wide) = (self.hidden, 2 * self.hidden);
        let norm = |chain: Chain, name: String, width: usize| match self.norm {
            true => chain.then(name, BatchNorm::new(width)),
            false => chain,
        };
        let mut body = Chain::new().then("nodes", GraphEmbedding::new(&shape.nodes, hidden));
        for layer in 0..self.layers {
            body = body
                .then(format!("layers.{layer}"), Aggregate::new(&shape.edges, hidden))
                .then(format!("layers.{layer}.first"), Dense::new(hidden, wide));
            body = norm(body, format!("layers.{layer}.first_norm"), wide).activation(Activation::Relu);
            body = body.then(format!("layers.{layer}.second"), Dense::new(wide, hidden));
            body = norm(body, format!("layers.{layer}.second_norm"), hidden);
            if layer + 1 < self.layers {
                body = body.activation(Activation::Relu);
            }
            body = body.dropout(self.dropout, NOISE_LAYER + layer as u32);
        }
        let body = body.then("", Pool::new(hidden, self.mean)).then("output", Dense::new(hidden, outputs));
        let others = [others(&shape.nodes), others(&shape.edges)];
        let network = Network::new(body)
            .over_graphs()
            .initialised_by(move |block, random, values| init(block, &others, random, values));
        Ok(Built { network, output: self.output })
    }
}

/// Rows of the embedding tables of nodes and edges for categories without a code of their own are initialised to 0.
fn init(block: &Block, others: &[Vec<usize>; 2], random: &mut Random, values: &mut [f32]) {
    if block.role != Role::Weight {
        return;
    }
    let others = match block.name.as_str() {
        "nodes.weight" => Some(&others[0]),
        name if name.ends_with(".edges.weight") => Some(&others[1]),
        _ => None,
    };
    match others {
        None if !block.last_layer => he_uniform(block, random, values),
        _ => xavier_uniform(block, random, values),
    }
    let width = block.shape[1];
    for row in others.into_iter().flatten() {
        values[row * width..(row + 1) * width].fill(0.0);
    }
}

impl Architecture for Gin {
    fn build(&self, width: usize, outputs: usize) -> Result<Box<dyn Differentiable>, ModelError> {
        self.model(width, outputs)
    }

    fn build_for_graphs(
        &self,
        shape: &GraphShape,
        outputs: usize,
    ) -> Result<Box<dyn Differentiable>, ModelError> {
        let Built { network, output } = self.compose_for_graphs(shape, outputs)?;
        Ok(output.after(Box::new(network)))
    }

    fn parameters_for_graphs(&self, shape: &GraphShape, outputs: usize) -> Option<u128> {
        let (hidden, wide) = (self.hidden, 2 * self.hidden);
        // A table has no bias.
        let table = |features: &[GraphFeature]| columns(features).1 as u128 * hidden as u128;
        let norms = if self.norm { batch_norm_size(wide) + batch_norm_size(hidden) } else { 0 };
        // With ε, which is one number.
        let layer = table(&shape.edges) + 1 + dense_size(hidden, wide) + dense_size(wide, hidden) + norms;
        Some(table(&shape.nodes) + self.layers as u128 * layer + dense_size(hidden, outputs))
    }

    fn defaults(&self) -> TrainingDefaults {
        // Codes of graphs are category numbers: a transform would destroy them.
        TrainingDefaults { rate: 0.001, transforms: "", ..TrainingDefaults::BASE }
    }

    fn reads_graphs(&self) -> bool {
        true
    }
}
