//! An exported network computes what the network computes.

use toprank_core::{Differentiable, GraphFeature, GraphShape, Graphs, ModelInput, Stream};
use toprank_onnx::{Array, Graph, Kind, Program};

use super::{CASES, Items, Shard, WIDTH, assert_near, network, parameters, predicted, wide};
use crate::{onnx, parse};

/// Scores of the exported network, list by list.
fn exported_scores(text: &str, parameters: &[f32], shard: &Shard, outputs: usize) -> Vec<f64> {
    let mut graph = Graph::default();
    let rows = graph.input("features", Kind::Float, &[None, Some(WIDTH)]);
    let scores = onnx::export(text, (WIDTH, outputs), parameters, &mut graph, &rows).unwrap();
    graph.output("scores", &scores, Kind::Double, &[None, Some(outputs)]);
    let program = Program::read(&graph.write("test", &[])).unwrap();
    let table = &shard.table.0;
    let lists = shard.offsets.windows(2).map(|ends| {
        let rows = &shard.rows[ends[0]..ends[1]];
        let values = rows.iter().flat_map(|&row| wide(&table[row as usize * WIDTH..][..WIDTH])).collect();
        program.run(&[("features", Array::new(&[rows.len(), WIDTH], values))]).unwrap()["scores"]
            .values
            .clone()
    });
    lists.flatten().collect()
}

#[test]
fn an_exported_network_gives_the_scores_of_the_network() {
    for text in CASES {
        for outputs in [1, 3] {
            let network = network(text, outputs);
            let at = parameters(&*network);
            let shard = Shard::new(&[3, 1, 5, 2]);
            let expected = predicted(&*network, &at, &shard.input());
            assert_near(&exported_scores(text, &at, &shard, outputs), &expected, 3e-6, text);
        }
    }
}

const BOTH: [GraphFeature; 4] =
    [GraphFeature::Code(3), GraphFeature::Number, GraphFeature::Code(2), GraphFeature::Number];

/// Features of nodes and edges: codes and numbers, codes only, numbers only, edges without features.
const SHAPES: [(&[GraphFeature], &[GraphFeature]); 4] = [
    (&BOTH, &BOTH),
    (&[GraphFeature::Code(3)], &[GraphFeature::Code(2), GraphFeature::Code(2)]),
    (&[GraphFeature::Number], &[GraphFeature::Number]),
    (&BOTH, &[]),
];

/// Graphs of these numbers of nodes: paths with a chord, an edge of a node to itself and an edge that is there twice.
fn items(sizes: &[usize], (nodes, edges): (&[GraphFeature], &[GraphFeature])) -> Items {
    let mut draws = Stream::new(4, "graphs").open();
    let mut value = |feature: &GraphFeature| match feature {
        GraphFeature::Code(codes) => draws.below(*codes) as f32,
        GraphFeature::Number => (draws.unit() - 0.5) as f32,
    };
    let mut graphs = Graphs::empty(GraphShape { nodes: nodes.to_vec(), edges: edges.to_vec() });
    for &size in sizes {
        graphs.node_values.extend((0..size).flat_map(|_| nodes).map(&mut value));
        let mut ends: Vec<[u32; 2]> = (1..size as u32).map(|v| [v - 1, v]).collect();
        if size > 3 {
            ends.extend([[0, 2], [1, 1], [3, 0], [0, 3]]);
        }
        graphs.edge_values.extend((0..ends.len()).flat_map(|_| edges).map(&mut value));
        graphs.ends.extend(ends);
        graphs.close();
    }
    assert_eq!(graphs.fault(), None);
    Items(graphs)
}

fn gin(text: &str, shape: &GraphShape, outputs: usize) -> Box<dyn Differentiable> {
    parse(text).unwrap().build_for_graphs(shape, outputs).unwrap()
}

fn exported(text: &str, shape: &GraphShape, parameters: &[f32], outputs: usize) -> Program {
    let mut graph = Graph::default();
    let graphs = onnx::GraphInputs::declare(&mut graph, shape);
    let scores = onnx::export_for_graphs(text, shape, outputs, parameters, &mut graph, graphs).unwrap();
    graph.output_along("scores", &scores, Kind::Double, "graphs", outputs);
    Program::read(&graph.write("test", &[])).unwrap()
}

#[test]
fn an_exported_network_of_graphs_gives_the_scores_of_the_network() {
    // The last two are runs without any edge, and without any node.
    for sizes in [&[5, 1, 0, 4, 2, 7, 0][..], &[1, 0, 1], &[0]] {
        let rows: Vec<u32> = (0..sizes.len() as u32).collect();
        for features in SHAPES {
            let items = items(sizes, features);
            let input = ModelInput { features: &items, rows: &rows, offsets: &[0, rows.len()] };
            for text in [
                "gin:layers=3:hidden=5",
                "gin:layers=2:hidden=4:norm=none:pool=mean:output=sigmoid",
                "gin:layers=1:hidden=3:norm=none:output=tanh",
                "gin:layers=2:hidden=4:pool=mean",
            ] {
                for outputs in [1, 3] {
                    let network = gin(text, &items.0.shape, outputs);
                    let at = parameters(&*network);
                    let program = exported(text, &items.0.shape, &at, outputs);
                    let found = program.run(&onnx::tensors(&items.0)).unwrap().remove("scores").unwrap();
                    assert_eq!(found.sizes, [sizes.len(), outputs]);
                    let expected = predicted(&*network, &at, &input);
                    assert_near(&found.values, &expected, 3e-6, &format!("{text}, graphs of {sizes:?}"));
                }
            }
        }
    }
}

#[test]
fn every_network_of_the_catalog_is_exported() {
    for line in crate::MODELS {
        let network = match parse(line.name).unwrap().reads_graphs() {
            true => {
                let shape = items(&[2], SHAPES[0]).0.shape;
                let network = gin(line.name, &shape, 1);
                exported(line.name, &shape, &parameters(&*network), 1);
                network
            }
            false => network(line.name, 1),
        };
        let mut graph = Graph::default();
        let rows = graph.input("features", Kind::Float, &[None, Some(WIDTH)]);
        let written = onnx::export(line.name, (WIDTH, 1), &parameters(&*network), &mut graph, &rows);
        assert_eq!(written.is_err(), network.width() == 1, "{}", line.name);
    }
}
