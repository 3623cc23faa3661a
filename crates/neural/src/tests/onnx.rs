//! An exported network computes what the network computes.

use toprank_onnx::{Array, Graph, Kind, Program};

use super::{CASES, Shard, WIDTH, parameters};
use crate::{onnx, parse};

/// Scores of the exported network, list by list.
fn exported_scores(text: &str, parameters: &[f32], shard: &Shard, outputs: usize) -> Vec<f64> {
    let network = parse(text).unwrap().build(WIDTH, outputs).unwrap();
    let mut graph = Graph::default();
    let rows = graph.input("features", Kind::Float, &[None, Some(WIDTH)]);
    let scores = onnx::export(text, &*network, parameters, &mut graph, &rows).unwrap();
    graph.output("scores", &scores, Kind::Double, &[None, Some(outputs)]);
    let program = Program::read(&graph.write("test", &[])).unwrap();
    let table = &shard.table.0;
    let lists = shard.offsets.windows(2).map(|ends| {
        let rows = &shard.rows[ends[0]..ends[1]];
        let values: Vec<f64> = rows
            .iter()
            .flat_map(|&row| &table[row as usize * WIDTH..][..WIDTH])
            .map(|&x| f64::from(x))
            .collect();
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
            let network = parse(text).unwrap().build(WIDTH, outputs).unwrap();
            let parameters = parameters(&*network);
            let shard = Shard::new(&[3, 1, 5, 2]);
            let mut scores = vec![0.0; shard.rows.len() * outputs];
            network.score(&parameters, &shard.input(), &mut scores).unwrap();
            for (found, expected) in exported_scores(text, &parameters, &shard, outputs).iter().zip(&scores) {
                assert!(
                    (found - expected).abs() < 3e-6 * expected.abs().max(1.0),
                    "{text}: {found}, {expected}"
                );
            }
        }
    }
}

#[test]
fn every_network_of_the_catalog_is_exported_or_refused_by_name() {
    for line in crate::MODELS {
        // Networks over graphs are not built for rows of features, which is what an exported model reads.
        let Ok(network) = parse(line.name).unwrap().build(WIDTH, 1) else { continue };
        let mut graph = Graph::default();
        let rows = graph.input("features", Kind::Float, &[None, Some(WIDTH)]);
        let parameters = vec![0.5; network.parameters()];
        if let Err(error) = onnx::export(line.name, &*network, &parameters, &mut graph, &rows) {
            assert!(error.what.contains(line.name), "{error}");
        }
    }
}
