//! The graphs of a shard as tensors: one row per kind of node, and the senders and receivers of messages.

use std::collections::HashMap;

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use toprank_core::{GraphFeature, Graphs, ModelError};

/// First column of each feature, and the total width: codes are one-hot encoded.
pub(crate) fn columns(features: &[GraphFeature]) -> (Vec<usize>, usize) {
    let mut width = 0;
    let starts = features
        .iter()
        .map(|feature| {
            let start = width;
            width += match feature {
                GraphFeature::Number => 1,
                GraphFeature::Code(codes) => *codes,
            };
            start
        })
        .collect();
    (starts, width)
}

/// Graphs as a module sees them: the nodes of all graphs one after the other, every edge as two messages.
///
/// Nodes (and edges) with the same features are one kind: what depends on the features alone is computed once per kind.
#[derive(Clone)]
pub struct GraphBatch {
    /// Number of graphs.
    pub graphs: usize,
    /// Number of nodes.
    pub nodes: usize,
    /// Features of each kind of node, codes one-hot encoded: [kinds, width].
    pub node_kinds: Tensor<2>,
    /// The kind of each node.
    pub kind_of_node: Tensor<1, Int>,
    /// The graph of each node.
    pub graph_of_node: Tensor<1, Int>,
    /// 1 / number of nodes of each graph: [graphs, 1].
    pub shares: Tensor<2>,
    /// The messages; `None`: there is no edge.
    pub messages: Option<Messages>,
}

/// Every edge in both directions; an edge of a node to itself is one message.
#[derive(Clone)]
pub struct Messages {
    /// Number of messages.
    pub count: usize,
    /// The node that sends each message.
    pub from: Tensor<1, Int>,
    /// The node that receives it.
    pub to: Tensor<1, Int>,
    /// Features of each kind of edge: [kinds, width].
    pub edge_kinds: Tensor<2>,
    /// The kind of each message's edge.
    pub kind_of_edge: Tensor<1, Int>,
}

/// Distinct rows of features, and which of them each node has.
struct Kinds<'f> {
    features: &'f [GraphFeature],
    starts: Vec<usize>,
    width: usize,
    found: HashMap<Vec<u32>, i64>,
    rows: Vec<f32>,
    bits: Vec<u32>,
}

impl<'f> Kinds<'f> {
    fn new(features: &'f [GraphFeature]) -> Kinds<'f> {
        let (starts, width) = columns(features);
        Kinds { features, starts, width, found: HashMap::new(), rows: Vec::new(), bits: Vec::new() }
    }

    fn number(&mut self, values: &[f32]) -> i64 {
        self.bits.clear();
        self.bits.extend(values.iter().map(|value| value.to_bits()));
        if let Some(kind) = self.found.get(&self.bits) {
            return *kind;
        }
        let kind = self.found.len() as i64;
        self.found.insert(self.bits.clone(), kind);
        let first = self.rows.len();
        self.rows.resize(first + self.width, 0.0);
        for ((value, feature), start) in values.iter().zip(self.features).zip(&self.starts) {
            match feature {
                GraphFeature::Number => self.rows[first + start] = *value,
                GraphFeature::Code(_) => self.rows[first + start + *value as usize] = 1.0,
            }
        }
        kind
    }

    fn tensor(self, device: &Device, dtype: DType) -> Tensor<2> {
        let shape = [self.found.len(), self.width];
        Tensor::from_data(TensorData::new(self.rows, shape), (device, dtype))
    }
}

impl GraphBatch {
    /// The graphs with these numbers.
    pub(crate) fn new(
        all: &Graphs,
        numbers: &[f32],
        device: &Device,
        dtype: DType,
    ) -> Result<GraphBatch, ModelError> {
        let mut kinds = Kinds::new(&all.shape.nodes);
        let mut edge_kinds = Kinds::new(&all.shape.edges);
        let (mut kind_of_node, mut graph_of_node, mut kind_of_edge) = (Vec::new(), Vec::new(), Vec::new());
        let (mut from, mut to) = (Vec::new(), Vec::new());
        let mut shares = Vec::with_capacity(numbers.len());
        for (place, &number) in (0i64..).zip(numbers) {
            let graph = number as usize;
            if !(number >= 0.0 && number.fract() == 0.0) || graph >= all.len() {
                return Err(ModelError::new(
                    format!("graph {number}"),
                    format!("a number below {}, the number of graphs", all.len()),
                ));
            }
            let first = kind_of_node.len() as i64;
            for node in all.nodes_of(graph) {
                kind_of_node.push(kinds.number(all.node(node)));
                graph_of_node.push(place);
            }
            for edge in all.edges_of(graph) {
                let [a, b] = all.ends[edge].map(|end| first + i64::from(end));
                let kind = edge_kinds.number(all.edge(edge));
                for (sender, hearer) in [(a, b), (b, a)].into_iter().take(if a == b { 1 } else { 2 }) {
                    from.push(sender);
                    to.push(hearer);
                    kind_of_edge.push(kind);
                }
            }
            shares.push(1.0 / all.nodes_of(graph).len().max(1) as f32);
        }
        let whole = |values: Vec<i64>| -> Tensor<1, Int> {
            let count = values.len();
            Tensor::from_data(TensorData::new(values, [count]), (device, DType::I64))
        };
        let count = from.len();
        let messages = (count > 0).then(|| Messages {
            count,
            from: whole(from),
            to: whole(to),
            edge_kinds: edge_kinds.tensor(device, dtype),
            kind_of_edge: whole(kind_of_edge),
        });
        Ok(GraphBatch {
            graphs: numbers.len(),
            nodes: kind_of_node.len(),
            node_kinds: kinds.tensor(device, dtype),
            kind_of_node: whole(kind_of_node),
            graph_of_node: whole(graph_of_node),
            shares: Tensor::from_data(TensorData::new(shares, [numbers.len(), 1]), (device, dtype)),
            messages,
        })
    }
}
