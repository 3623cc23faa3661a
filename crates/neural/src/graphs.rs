//! The graphs of a shard: kinds of nodes and edges, and the senders and receivers of messages.

use hashbrown::HashTable;
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

/// The nodes of all graphs one after the other, every edge as two messages; an edge of a node to itself is one message.
///
/// Nodes (and edges) with the same features are one kind: what depends on the features alone is computed once per kind.
#[derive(Default)]
pub(crate) struct GraphBatch {
    /// Graph g has nodes `offsets[g]..offsets[g + 1]`.
    pub offsets: Vec<usize>,
    pub nodes: Kinds,
    pub edges: Kinds,
    /// The node that sends each message, the one that receives it.
    pub messages: Vec<[u32; 2]>,
}

/// Distinct feature values, and which of them each node (or message) has.
#[derive(Default)]
pub(crate) struct Kinds {
    /// The kind of each node (or message).
    pub of: Vec<u32>,
    /// The values of each kind, one per feature.
    pub values: Vec<f32>,
    /// Number of kinds.
    pub count: usize,
    /// Kinds by their values.
    found: HashTable<u32>,
}

impl Kinds {
    fn clear(&mut self) {
        self.of.clear();
        self.values.clear();
        self.found.clear();
        self.count = 0;
    }

    fn number(&mut self, values: &[f32]) -> u32 {
        let width = values.len();
        let of = |all: &[f32], kind: u32| hash(&all[kind as usize * width..(kind as usize + 1) * width]);
        let known = &self.values;
        let same = |&kind: &u32| {
            let kind = &known[kind as usize * width..(kind as usize + 1) * width];
            kind.iter().zip(values).all(|(a, b)| a.to_bits() == b.to_bits())
        };
        let hash = hash(values);
        if let Some(kind) = self.found.find(hash, same) {
            return *kind;
        }
        let kind = self.count as u32;
        self.count += 1;
        self.values.extend_from_slice(values);
        let all = &self.values;
        self.found.insert_unique(hash, kind, |&kind| of(all, kind));
        kind
    }
}

/// Fowler, Noll and Vo's hash of the bits, 32 at a time, with the high bits mixed into the low ones.
fn hash(values: &[f32]) -> u64 {
    let mixed = values.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, value| {
        (hash ^ u64::from(value.to_bits())).wrapping_mul(0x0100_0000_01b3)
    });
    mixed ^ (mixed >> 29)
}

impl GraphBatch {
    /// Number of nodes.
    pub(crate) fn node_count(&self) -> usize {
        self.nodes.of.len()
    }

    /// Number of graphs.
    pub(crate) fn graph_count(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Reads the graphs with these numbers.
    pub(crate) fn read(&mut self, all: &Graphs, numbers: &[f32]) -> Result<(), ModelError> {
        self.offsets.clear();
        self.messages.clear();
        self.nodes.clear();
        self.edges.clear();
        self.offsets.push(0);
        for &number in numbers {
            let graph = number as usize;
            if !(number >= 0.0 && number.fract() == 0.0) || graph >= all.len() {
                return Err(ModelError::new(
                    format!("graph {number}"),
                    format!("a number below {}, the number of graphs", all.len()),
                ));
            }
            let first = self.nodes.of.len() as u32;
            for node in all.nodes_of(graph) {
                let kind = self.nodes.number(all.node(node));
                self.nodes.of.push(kind);
            }
            for edge in all.edges_of(graph) {
                let [a, b] = all.ends[edge].map(|end| first + end);
                let kind = self.edges.number(all.edge(edge));
                for message in [[a, b], [b, a]].into_iter().take(if a == b { 1 } else { 2 }) {
                    self.messages.push(message);
                    self.edges.of.push(kind);
                }
            }
            self.offsets.push(self.nodes.of.len());
        }
        Ok(())
    }
}
