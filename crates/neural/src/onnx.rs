/*!
How is a network exported to ONNX? By the computation of prediction: without noise and dropout.

```text
rows: float[rows, width]  →  the network, in single precision as here  →  double[rows, outputs], its output activation in double precision
```

A network that couples the items of a list is exported for one list per run: the rows are the items of that list. A network of graphs
reads any number of graphs as tensors ([`GraphInputs`]).
*/

use toprank_core::{GraphShape, Graphs, ModelError};
use toprank_onnx::{Array, Graph, Kind, Value};

use crate::networks::{Built, build, build_for_graphs};
use crate::squash::Output;

/// What layers read besides the output of the layer before them.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// The graphs; `None`: items are rows of numbers.
    pub graphs: Option<GraphInputs>,
}

/// The graphs of one run, their nodes one after the other.
#[derive(Clone, Debug)]
pub struct GraphInputs {
    /// Values of each node: `float[nodes, features]`; a category is its code.
    pub nodes: Value,
    /// The two nodes that each edge joins, counted over all graphs: `int64[edges, 2]`.
    pub ends: Value,
    /// Values of each edge: `float[edges, features]`; `None`: edges have no features.
    pub edges: Option<Value>,
    /// The graph of each node: `int64[nodes]`.
    pub graph_of_node: Value,
    /// Number of nodes of each graph: `float[graphs, 1]`.
    pub sizes: Value,
}

impl GraphInputs {
    /// Declares the inputs `nodes`, `ends`, `edges` (where edges have features), `graph_of_node` and `sizes`.
    pub fn declare(graph: &mut Graph, shape: &GraphShape) -> GraphInputs {
        let width = shape.edges.len();
        GraphInputs {
            nodes: graph.input_along("nodes", Kind::Float, "nodes", Some(shape.nodes.len())),
            ends: graph.input_along("ends", Kind::Int64, "edges", Some(2)),
            edges: (width > 0).then(|| graph.input_along("edges", Kind::Float, "edges", Some(width))),
            graph_of_node: graph.input_along("graph_of_node", Kind::Int64, "nodes", None),
            sizes: graph.input_along("sizes", Kind::Float, "graphs", Some(1)),
        }
    }
}

/// The tensors of a run over some graphs, by the names of [`GraphInputs::declare`].
///
/// ```
/// use toprank_core::{GraphFeature, GraphShape, Graphs};
/// // A path of three nodes and a lone node.
/// let graphs = Graphs {
///     shape: GraphShape { nodes: vec![GraphFeature::Code(2)], edges: vec![] },
///     nodes: vec![0, 3, 4],
///     edges: vec![0, 2, 2],
///     ends: vec![[0, 1], [1, 2]],
///     node_values: vec![0.0, 1.0, 0.0, 1.0],
///     edge_values: vec![],
/// };
/// let [.., (name, sizes)] = &toprank_neural::onnx::tensors(&graphs)[..] else { panic!() };
/// assert_eq!((*name, &sizes.values[..]), ("sizes", &[3.0, 1.0][..]));
/// ```
pub fn tensors(graphs: &Graphs) -> Vec<(&'static str, Array)> {
    let tensor = |width: usize, values: Vec<f64>| Array::new(&[values.len() / width, width], values);
    let floats = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<_>>();
    let all = 0..graphs.len();
    let ends = all.clone().flat_map(|graph| {
        let first = graphs.nodes[graph] as f64;
        graphs.ends[graphs.edges_of(graph)].iter().flatten().map(move |&end| first + f64::from(end))
    });
    let graph_of_node: Vec<f64> =
        all.clone().flat_map(|graph| graphs.nodes_of(graph).map(move |_| graph as f64)).collect();
    let mut tensors = vec![
        ("nodes", tensor(graphs.shape.nodes.len(), floats(&graphs.node_values))),
        ("ends", tensor(2, ends.collect())),
    ];
    if !graphs.shape.edges.is_empty() {
        tensors.push(("edges", tensor(graphs.shape.edges.len(), floats(&graphs.edge_values))));
    }
    tensors.push(("graph_of_node", Array::new(&[graph_of_node.len()], graph_of_node)));
    tensors.push(("sizes", tensor(1, all.map(|graph| graphs.nodes_of(graph).len() as f64).collect())));
    tensors
}

/// Appends the network that `text` names, with these parameters, to a graph and returns the scores of `rows`, each of `width`
/// features, in double precision.
///
/// ```
/// use toprank_core::Stream;
/// use toprank_onnx::{Array, Graph, Kind, Program};
/// let network = toprank_neural::parse("mlp:hidden=3").unwrap().build(2, 1).unwrap();
/// let mut parameters = vec![0.0; network.parameters()];
/// network.init(Stream::new(1, "init"), &mut parameters);
///
/// let mut graph = Graph::default();
/// let rows = graph.input("features", Kind::Float, &[None, Some(2)]);
/// let scores = toprank_neural::onnx::export("mlp:hidden=3", (2, 1), &parameters, &mut graph, &rows).unwrap();
/// graph.output("scores", &scores, Kind::Double, &[None, Some(1)]);
/// let program = Program::read(&graph.write("a perceptron", &[])).unwrap();
/// assert_eq!(program.run(&[("features", Array::new(&[1, 2], vec![0.0, 0.0]))]).unwrap()["scores"].values, [0.0]);
/// ```
///
/// # Errors
/// If `text` names no network for rows of features.
pub fn export(
    text: &str,
    (width, outputs): (usize, usize),
    parameters: &[f32],
    graph: &mut Graph,
    rows: &Value,
) -> Result<Value, ModelError> {
    Ok(append(&build(text, width, outputs)?, parameters, graph, &Inputs::default(), rows))
}

/// The same for a network of graphs with these features.
///
/// # Errors
/// If `text` names no network of graphs.
pub fn export_for_graphs(
    text: &str,
    shape: &GraphShape,
    outputs: usize,
    parameters: &[f32],
    graph: &mut Graph,
    graphs: GraphInputs,
) -> Result<Value, ModelError> {
    let built = build_for_graphs(text, shape, outputs)?;
    let nodes = graphs.nodes.clone();
    Ok(append(&built, parameters, graph, &Inputs { graphs: Some(graphs) }, &nodes))
}

fn append(built: &Built, parameters: &[f32], graph: &mut Graph, inputs: &Inputs, x: &Value) -> Value {
    let raw = built.network.export(parameters, graph, inputs, x);
    let scores = graph.cast(&raw, Kind::Double);
    match built.output {
        Output::Linear => scores,
        Output::Sigmoid => graph.node("Sigmoid", &[&scores], &[]),
        Output::Tanh => graph.node("Tanh", &[&scores], &[]),
    }
}
