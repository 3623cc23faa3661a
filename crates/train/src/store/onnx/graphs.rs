/*!
Models of graphs in ONNX. A run takes any number of graphs, their nodes and edges one after the other:

```text
nodes: float[nodes, features], ends: int64[edges, 2], edges: float[edges, features] (if edges have features),
graph_of_node: int64[nodes], sizes: float[graphs, 1]  →  scores: double[graphs, outputs]
```

The features are as the model sees them: codes of strings and standardised numbers. How they come about from what was read is in the
metadata of the file, as JSON under `coding`.
*/

use std::sync::Arc;

use toprank_core::stream::Random;
use toprank_core::{GraphFeature, GraphShape, Graphs, Lists, ModelError, Stream};
use toprank_data::{Dataset, GraphItems, Matrix};
use toprank_onnx::{Array, Graph, Kind, Program, Value};

use super::{Parity, all_scores};
use crate::error::TrainError;
use crate::rank::graph_model::GraphReading;
use crate::rank::scoring::Scoring;
use crate::store::model_file::Model;

/// Graphs of one run among those that a model is proved on.
const AT_ONCE: usize = 32;

/// An exported model of graphs, with the graphs it was proved on.
#[derive(Debug)]
pub struct WrittenGraphs {
    /// The file.
    pub bytes: Vec<u8>,
    /// The runs, each over some graphs.
    pub runs: Vec<GraphRun>,
    /// Number of graphs in all runs.
    pub graphs: usize,
    /// How far the exported model is from ours.
    pub parity: Parity,
}

/// A run of an exported model over some graphs.
#[derive(Debug)]
pub struct GraphRun {
    /// The input tensors by their names.
    pub inputs: Vec<(&'static str, Array)>,
    /// Our scores, output after output for every graph.
    pub scores: Vec<f64>,
}

/// Writes a model of graphs and proves it on `graphs` graphs, which are made from those of its self-test; the same graphs for the same
/// model.
///
/// # Errors
/// If the model reads no graphs, or what was written gives other scores.
pub fn write_graphs(model: &Model, graphs: usize) -> Result<WrittenGraphs, TrainError> {
    let header = model.header();
    let (Some(reading), Some(known), Scoring::Network(_, parameters)) =
        (&header.graphs, model.probe_graphs(), model.scoring())
    else {
        return Err(ModelError::new("a model of feature rows", "a model of graphs").into());
    };
    let mut graph = Graph::default();
    let shape = reading.coding.shape();
    let scores = network(header.config.model(), &shape, header.outputs, parameters, &mut graph)?;
    graph.output_along("scores", &scores, Kind::Double, "graphs", header.outputs);
    let coding = serde_json::to_string(&reading.coding).unwrap_or_default();
    let bytes = graph.write("toprank", &[("coding", &coding), ("model", header.config.model())]);

    let program = Program::read(&bytes)?;
    let (mut found, mut expected, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    let mut random = Stream::new(0, "graphs to prove a model on").open();
    let mut left = graphs.max(1);
    while left > 0 {
        // The first run is a graph by itself.
        let count = if runs.is_empty() { 1 } else { left.min(AT_ONCE) };
        let some = probes(known, count, &mut random);
        let inputs = tensors(&some);
        found.extend_from_slice(&program.run(&inputs)?["scores"].values);
        let scores = scores_of(model, reading, some)?;
        expected.extend_from_slice(&scores);
        runs.push(GraphRun { inputs, scores });
        left -= count;
    }
    Ok(WrittenGraphs { bytes, runs, graphs: graphs.max(1), parity: Parity::of(&found, &expected)? })
}

#[cfg(feature = "neural")]
fn network(
    text: &str,
    shape: &GraphShape,
    outputs: usize,
    parameters: &[f32],
    graph: &mut Graph,
) -> Result<Value, TrainError> {
    let inputs = toprank_neural::onnx::GraphInputs::declare(graph, shape);
    Ok(toprank_neural::onnx::export_for_graphs(text, shape, outputs, parameters, graph, inputs)?)
}

#[cfg(feature = "neural")]
fn tensors(graphs: &Graphs) -> Vec<(&'static str, Array)> {
    toprank_neural::onnx::tensors(graphs)
}

#[cfg(not(feature = "neural"))]
fn network(_: &str, _: &GraphShape, _: usize, _: &[f32], _: &mut Graph) -> Result<Value, TrainError> {
    Err(super::without_networks())
}

#[cfg(not(feature = "neural"))]
fn tensors(_: &Graphs) -> Vec<(&'static str, Array)> {
    Vec::new()
}

/// Every output of every graph.
fn scores_of(model: &Model, reading: &GraphReading, graphs: Graphs) -> Result<Vec<f64>, TrainError> {
    let count = graphs.len();
    let items = GraphItems {
        kind: reading.kind,
        store: graphs,
        node_columns: Vec::new(),
        edge_columns: Vec::new(),
        left_out: Vec::new(),
    };
    let data = Dataset {
        lists: Lists::from_lengths(&[count], vec![0.0; count]),
        features: Matrix::Dense { width: 1, values: (0..count).map(|graph| graph as f32).collect() },
        graphs: Some(Arc::new(items)),
        ..Dataset::default()
    };
    all_scores(model.header().outputs, &data, |data| model.score_coded(data))
}

/// Graphs made from known ones: the features of their nodes and edges mixed and moved, some edges left out or added, some graphs without
/// edges or without nodes.
fn probes(known: &Graphs, count: usize, random: &mut Random) -> Graphs {
    let mut made = Graphs::empty(known.shape.clone());
    for _ in 0..count {
        let from = random.below(known.len().max(1));
        let (nodes, edges) = match known.len() {
            0 => (0..0, 0..0),
            _ => (known.nodes_of(from), known.edges_of(from)),
        };
        let nodes = if random.below(20) == 0 { 0..0 } else { nodes };
        let edges = if nodes.is_empty() || random.below(10) == 0 { 0..0 } else { edges };
        for node in nodes.clone() {
            push(&mut made.node_values, &known.shape.nodes, known.node(node), random);
        }
        for edge in edges {
            let ends = match random.below(20) {
                0 => continue,
                1 => [0, 1].map(|_| random.below(nodes.len()) as u32),
                2 => [known.ends[edge][0]; 2],
                _ => known.ends[edge],
            };
            made.ends.push(ends);
            push(&mut made.edge_values, &known.shape.edges, known.edge(edge), random);
        }
        made.close();
    }
    made
}

/// The values of a node or an edge, sometimes others.
fn push(to: &mut Vec<f32>, features: &[GraphFeature], values: &[f32], random: &mut Random) {
    for (feature, &value) in features.iter().zip(values) {
        to.push(match feature {
            GraphFeature::Number => super::moved(value, false, random),
            GraphFeature::Code(codes) if random.below(10) == 0 => random.below(*codes) as f32,
            GraphFeature::Code(_) => value,
        });
    }
}
