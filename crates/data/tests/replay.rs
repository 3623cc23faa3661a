//! The seeds and findings of the fuzzers as ordinary tests: no reader panics on them.

use toprank_data::graph::{EdgeOptions, QueryGraphs, SessionOptions, read_edges, read_sessions};
use toprank_data::graph_items::{Coding, read_edge_list, read_smiles, scaffold_key};
use toprank_data::scores::read_scores;
use toprank_data::{ReadOptions, Source, formats};
use toprank_testkit::fuzz::{seeds, targets};

/// Reads `bytes` with the reader called `name`; false if there is none.
fn replay(name: &str, bytes: &[u8]) -> bool {
    let source = Source::bytes(format!("{name} seed"), bytes);
    if let Some(format) = formats::by_name(name) {
        for regroup in [false, true] {
            let options = ReadOptions { regroup, max_features: Some(100_000), ..ReadOptions::default() };
            if let Ok(dataset) = (format.read)(&source, &options) {
                assert_eq!(dataset.lists.check(), Ok(()), "{name}");
            }
        }
        return true;
    }
    match name {
        "scores" => {
            let _ = read_scores(&source, 3, 1);
        }
        "mulan_xml" => {
            let _ = formats::mulan_xml::label_names(&source);
        }
        "graph" => {
            let _ = read_edges(&source, &EdgeOptions::default());
            let _ = read_sessions(&source, &SessionOptions::default());
            let folder = tempfile::tempdir().unwrap();
            for (file, table) in ["edges.tsv", "nodes.tsv", "judgements.tsv", "seeds.tsv"]
                .into_iter()
                .zip(bytes.split(|byte| *byte == 0))
            {
                std::fs::write(folder.path().join(file), table).unwrap();
            }
            let _ = QueryGraphs::read_folder(folder.path());
        }
        "smiles" => {
            for line in String::from_utf8_lossy(bytes).lines() {
                let Ok(molecule) = read_smiles(line) else { continue };
                assert_eq!(
                    scaffold_key(&molecule).is_some(),
                    molecule.ring_bonds().contains(&true),
                    "{line}"
                );
            }
        }
        "edge_list" => {
            let mut tables = bytes.splitn(2, |byte| *byte == 0);
            let mut next = |name: &str| Source::bytes(name, tables.next().unwrap_or_default());
            let (nodes, edges) = (next("nodes.csv"), next("edges.csv"));
            if let Ok(list) = read_edge_list(&nodes, &edges) {
                let seen = Coding::fit(list.items(), 0..list.len()).apply(list.items()).unwrap();
                assert_eq!(seen.fault(), None);
            }
        }
        // Qrels and runs have their own test; files of the store, lists of requests and requests theirs in their crates.
        "qrels" | "store" | "json_list" | "serve_request" => {}
        other => return other.starts_with("run") || other.ends_with("_model"),
    }
    true
}

#[test]
fn no_seed_of_the_fuzzers_makes_a_reader_panic() {
    let mut files = 0;
    for name in targets() {
        for (_, bytes) in seeds(&name) {
            assert!(replay(&name, &bytes), "fuzz/seeds/{name} is called after no reader");
            files += 1;
        }
    }
    assert!(files >= 10, "only {files} seeds found");
}
