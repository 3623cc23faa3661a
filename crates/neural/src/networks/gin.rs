#![doc = include_str!("../pages/gin.md")]

use burn::module::{Module, Param as BurnParam};
use burn::nn::Linear;
use burn::tensor::{Device, IndexingUpdateOp, Tensor, activation};
use toprank_core::stream::Random;
use toprank_core::{
    Architecture, Block, Differentiable, GraphFeature, GraphShape, ModelError, Param, ParamError, Role, Spec,
    TrainingDefaults,
};

use crate::graphs::{GraphBatch, columns};
use crate::onnx::ExportOnnx;
use crate::squash::{OUTPUT, Output};
use crate::{BatchNorm, ForwardPass, Network, RankModule, he_uniform, layers, xavier_uniform};

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

    pub(crate) fn module(&self, shape: &GraphShape, outputs: usize) -> GinModule {
        let table = |features: &[GraphFeature]| {
            let width = columns(features).1;
            (width > 0).then(|| Linear { bias: None, ..layers::linear(width, self.hidden) })
        };
        let norm = |width: usize| self.norm.then(|| BatchNorm::new(width));
        let layer = || GinLayer {
            edges: table(&shape.edges),
            epsilon: BurnParam::from_tensor(Tensor::zeros([1], &Device::flex())),
            first: layers::linear(self.hidden, 2 * self.hidden),
            first_norm: norm(2 * self.hidden),
            second: layers::linear(2 * self.hidden, self.hidden),
            second_norm: norm(self.hidden),
        };
        let others = |features: &[GraphFeature]| {
            let starts = columns(features).0;
            let codes = starts.into_iter().zip(features);
            codes.filter(|(_, f)| matches!(f, GraphFeature::Code(_))).map(|(start, _)| start).collect()
        };
        GinModule {
            nodes: table(&shape.nodes),
            layers: (0..self.layers).map(|_| layer()).collect(),
            output: layers::linear(self.hidden, outputs),
            others: [others(&shape.nodes), others(&shape.edges)],
            mean: self.mean,
            dropout: self.dropout,
        }
    }
}

impl Architecture for Gin {
    fn build(&self, _: usize, _: usize) -> Result<Box<dyn Differentiable>, ModelError> {
        Err(ModelError::new(
            "gin for rows of features",
            "items that are graphs: name the column of molecules with --smiles, or --graph, --nodes and --edges",
        ))
    }

    fn build_for_graphs(
        &self,
        shape: &GraphShape,
        outputs: usize,
    ) -> Result<Box<dyn Differentiable>, ModelError> {
        if shape.nodes.is_empty() {
            return Err(ModelError::new("nodes without features", "at least one"));
        }
        // A row holds one number, that of its graph.
        Ok(self.output.after(Box::new(Network::new(self.module(shape, outputs), 1, outputs)?)))
    }

    fn parameters_for_graphs(&self, shape: &GraphShape, outputs: usize) -> Option<u128> {
        let (hidden, wide) = (self.hidden, 2 * self.hidden);
        // A table has no bias.
        let table = |features: &[GraphFeature]| columns(features).1 as u128 * hidden as u128;
        let norms =
            if self.norm { layers::batch_norm_size(wide) + layers::batch_norm_size(hidden) } else { 0 };
        // With ε, which is one number.
        let layer = table(&shape.edges)
            + 1
            + layers::linear_size(hidden, wide)
            + layers::linear_size(wide, hidden)
            + norms;
        Some(table(&shape.nodes) + self.layers as u128 * layer + layers::linear_size(hidden, outputs))
    }

    fn defaults(&self) -> TrainingDefaults {
        // Codes of graphs are category numbers: a transform would destroy them.
        TrainingDefaults { rate: 0.001, transforms: "", ..TrainingDefaults::BASE }
    }

    fn reads_graphs(&self) -> bool {
        true
    }
}

/// A network over graphs reads no rows of features, which is what exported models are given.
impl ExportOnnx for Gin {}

#[derive(Module, Debug)]
pub(crate) struct GinModule {
    nodes: Option<Linear>,
    layers: Vec<GinLayer>,
    output: Linear,
    /// Rows of the embedding tables of nodes and edges for categories without a code of their own: they are initialised to 0.
    #[module(skip)]
    others: [Vec<usize>; 2],
    mean: bool,
    dropout: f64,
}

#[derive(Module, Debug)]
struct GinLayer {
    edges: Option<Linear>,
    epsilon: BurnParam<Tensor<1>>,
    first: Linear,
    first_norm: Option<BatchNorm>,
    second: Linear,
    second_norm: Option<BatchNorm>,
}

impl GinLayer {
    /// `MLP((1 + ε) h_v + Σ_u max(0, h_u + e_uv))`.
    fn forward(&self, h: Tensor<2>, batch: &GraphBatch, pass: &mut ForwardPass) -> Tensor<2> {
        let own = (self.epsilon.val() + 1.0).unsqueeze::<2>();
        let mut aggregated = h.clone() * own;
        if let Some(messages) = &batch.messages {
            let mut sent = h.select(0, messages.from.clone());
            if let Some(edges) = &self.edges {
                let kinds = edges.forward(messages.edge_kinds.clone());
                sent = sent + kinds.select(0, messages.kind_of_edge.clone());
            }
            let sent = activation::relu(sent);
            aggregated = aggregated.select_assign(0, messages.to.clone(), sent, IndexingUpdateOp::Add);
        }
        let mut normed = |x: Tensor<2>, norm: &Option<BatchNorm>| match norm {
            Some(norm) => norm.forward(x, pass),
            None => x,
        };
        let inner = activation::relu(normed(self.first.forward(aggregated), &self.first_norm));
        normed(self.second.forward(inner), &self.second_norm)
    }
}

impl RankModule for GinModule {
    fn forward(&self, rows: Tensor<2>, pass: &mut ForwardPass) -> Tensor<2> {
        let (hidden, graphs) = (self.output.weight.dims()[0], rows.dims()[0]);
        let mut pooled = Tensor::zeros([graphs, hidden], (&rows.device(), rows.dtype()));
        if let Some(batch) = pass.graphs().filter(|batch| batch.nodes > 0)
            && let Some(nodes) = &self.nodes
        {
            let mut h = nodes.forward(batch.node_kinds.clone()).select(0, batch.kind_of_node.clone());
            for (number, layer) in self.layers.iter().enumerate() {
                h = layer.forward(h, &batch, pass);
                if number + 1 < self.layers.len() {
                    h = activation::relu(h);
                }
                h = pass.dropout(h, self.dropout);
            }
            pooled = pooled.select_assign(0, batch.graph_of_node.clone(), h, IndexingUpdateOp::Add);
            if self.mean {
                pooled = pooled * batch.shares.clone();
            }
        }
        self.output.forward(pooled)
    }

    fn reads_graphs(&self) -> bool {
        true
    }

    fn init(&self, block: &Block, random: &mut Random, values: &mut [f32]) {
        if block.role != Role::Weight {
            return;
        }
        let others = match block.name.as_str() {
            "nodes.weight" => Some(&self.others[0]),
            name if name.ends_with(".edges.weight") => Some(&self.others[1]),
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
}
