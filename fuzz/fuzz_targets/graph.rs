//! No bytes make the readers of edge lists, session logs and graph tables panic; what they accept keeps its promises.
//! Tables are cut apart by zero bytes: edges, nodes, judgements, seeds.
#![no_main]

use toprank_data::Source;
use toprank_data::graph::{EdgeOptions, QueryGraphs, SessionOptions, read_edges, read_sessions};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let source = |name: &str, bytes: &[u8]| Source::bytes(name, bytes.to_vec());
    for name in ["fuzz.txt", "fuzz.csv"] {
        for (weight, undirected) in [(None, true), (Some("3".to_string()), false)] {
            let options = EdgeOptions { weight, undirected, ..EdgeOptions::default() };
            let Ok(read) = read_edges(&source(name, bytes), &options) else { continue };
            let graph = read.graph;
            assert_eq!(graph.inward().offsets.len(), graph.nodes() + 1);
            let degrees: u64 = graph.out_degree().iter().map(|degree| u64::from(*degree)).sum();
            assert_eq!(degrees, graph.edges() as u64);
            for node in 0..graph.nodes() {
                assert_eq!(graph.names().find(&graph.names().get(node)), Some(node as u32));
            }
        }
    }
    if let Ok(sessions) = read_sessions(&source("fuzz.csv", bytes), &SessionOptions::default()) {
        let _ = sessions.graphs();
    }
    // Tables are read from a folder.
    let folder = std::env::temp_dir().join(format!("toprank-fuzz-graph-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut tables = bytes.split(|byte| *byte == 0);
    for name in ["edges.tsv", "nodes.tsv", "judgements.tsv", "seeds.tsv"] {
        let path = folder.join(name);
        match tables.next() {
            Some(bytes) => std::fs::write(path, bytes).expect("a file can be written"),
            None => drop(std::fs::remove_file(path)),
        }
    }
    if let Ok(graphs) = QueryGraphs::read_folder(&folder) {
        let all: Vec<u32> = (0..graphs.len() as u32).collect();
        graphs.lists(&all, true).check().expect("lists keep their promises");
    }
});
