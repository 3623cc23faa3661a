//! No bytes make the reader of tables of nodes and edges panic; what it accepts keeps its promises. A zero byte stands
//! between the two tables.
#![no_main]

use toprank_data::Source;
use toprank_data::graph_items::{Coding, read_edge_list};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut tables = bytes.splitn(2, |byte| *byte == 0);
    let mut next = |name: &str| Source::bytes(name, tables.next().unwrap_or_default().to_vec());
    let (nodes, edges) = (next("nodes.csv"), next("edges.csv"));
    let Ok(list) = read_edge_list(&nodes, &edges) else { return };
    let seen = Coding::fit(list.items(), 0..list.len()).apply(list.items()).expect("its own columns");
    assert_eq!(seen.fault(), None);
});
