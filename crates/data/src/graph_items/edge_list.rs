/*!
Graphs from two tables in any format that has column names.

```text
nodes: graph,node,…features      edges: graph,from,to,…features
```

Numbers are numeric features, strings categories; missing values stay missing. An edge joins both its ends, whichever comes first;
an edge that stands twice counts twice. Every graph also gets the feature `degree`, the number of edges at a node, unless
the table has a column of that name. A graph without a line in the table of nodes does not exist.
*/

use toprank_core::{GraphShape, Graphs};

use super::{GraphItems, GraphKind, WordFault};
use crate::dataset::{Column, Dataset};
use crate::error::{ReadError, show};
use crate::formats::{self, ReadOptions, Words};
use crate::graph::{EDGE_SOURCE, EDGE_TARGET};
use crate::group::Interner;
use crate::names::Names;
use crate::source::Source;

const GRAPH: &str = "graph|graph_id";
const NODE: &str = "node|node_id|name|id";
const DEGREE: &str = "degree";

/// Named graphs out of a table of nodes and a table of edges.
#[derive(Clone, Debug)]
pub struct EdgeList {
    names: Interner,
    items: GraphItems,
}

fn table(source: &Source, item: &str, keep: &[&str]) -> Result<Dataset, ReadError> {
    let options = ReadOptions {
        unlabelled: true,
        words: Words::Categories,
        list: Some(GRAPH.into()),
        item: Some(item.into()),
        keep: keep.iter().map(|name| (*name).to_string()).collect(),
        regroup: true,
        ..ReadOptions::default()
    };
    let mut data = formats::read_table(source, &options)?;
    // What names an end is no feature.
    let kept: Vec<&str> = data.extra.iter().map(|(name, _)| name.as_str()).collect();
    let places: Vec<usize> =
        (0..data.columns.len()).filter(|&place| !kept.contains(&data.columns[place].name.as_str())).collect();
    if places.len() < data.columns.len() {
        let picked: Vec<Option<usize>> = places.iter().map(|&place| Some(place)).collect();
        data.features = data.features.pick_columns(&picked, f32::NAN);
        data.columns = places.iter().map(|&place| data.columns[place].clone()).collect();
    }
    Ok(data)
}

fn at(error: ReadError, data: &Dataset, row: usize) -> ReadError {
    match data.lines.of(row) {
        Some(line) => error.at_line(line),
        None => error,
    }
}

/// Reads the two tables.
///
/// ```
/// use toprank_data::{Source, graph_items::read_edge_list};
/// let nodes = Source::bytes("nodes.csv", *b"graph,node,kind,size\nx,a,red,1\nx,b,blue,2\ny,a,red,3\n");
/// let edges = Source::bytes("edges.csv", *b"graph,from,to,length\nx,b,a,0.5\n");
/// let graphs = read_edge_list(&nodes, &edges).unwrap();
/// assert_eq!(graphs.len(), 2);
/// assert_eq!(graphs.items().store.ends, [[1, 0]]);
/// ```
pub fn read_edge_list(nodes: &Source, edges: &Source) -> Result<EdgeList, ReadError> {
    let node_table = table(nodes, NODE, &[])?;
    let edge_table = table(edges, EDGE_SOURCE, &[EDGE_TARGET])?;
    let mut names = Interner::default();
    // `graph number, tab, node`: numbers are rows of the table of nodes.
    let mut found = Interner::default();
    let key = |graph: u32, node: &str| format!("{graph}\t{node}");
    let graph_names = node_table.list_names.clone().unwrap_or_default();
    let node_names = node_table.item_names.clone().unwrap_or_default();
    for q in 0..node_table.lists.len() {
        let graph = names.number(graph_names.get(q));
        for row in node_table.lists.range(q) {
            let before = found.len();
            found.number(&key(graph, node_names.get(row)));
            if found.len() == before {
                let what = format!("node {} again in the same graph", show(node_names.get(row).as_bytes()));
                return Err(at(ReadError::data(nodes.name(), what, "each node once"), &node_table, row));
            }
        }
    }
    let mut degrees = vec![0u32; node_table.rows()];
    // Edges by graph: the tables may name the graphs in different orders.
    let mut by_graph: Vec<Vec<(usize, [u32; 2])>> = vec![Vec::new(); names.len()];
    let edge_graphs = edge_table.list_names.clone().unwrap_or_default();
    let sources = edge_table.item_names.clone().unwrap_or_default();
    let targets = edge_table.extra.first().map(|(_, names)| names.clone()).unwrap_or_default();
    for q in 0..edge_table.lists.len() {
        let name = edge_graphs.get(q);
        for row in edge_table.lists.range(q) {
            let refuse = |what: String, expected: &str| {
                at(ReadError::data(edges.name(), what, expected), &edge_table, row)
            };
            let Some(graph) = names.find(name) else {
                let what = format!("an edge of graph {}", show(name.as_bytes()));
                return Err(refuse(what, "a graph that the table of nodes has"));
            };
            let first = node_table.lists.range(graph as usize).start as u32;
            let mut ends = [0; 2];
            for (end, node) in ends.iter_mut().zip([sources.get(row), targets.get(row)]) {
                let Some(number) = found.find(&key(graph, node)) else {
                    let what = format!(
                        "an edge with node {} of graph {}",
                        show(node.as_bytes()),
                        show(name.as_bytes())
                    );
                    return Err(refuse(what, "nodes that the table of nodes has"));
                };
                degrees[number as usize] += 1;
                *end = number - first;
            }
            by_graph[graph as usize].push((row, ends));
        }
    }
    let mut node_columns = node_table.columns.clone();
    let mut levels = Interner::default();
    let own_degree = node_columns.iter().all(|column| column.name != DEGREE);
    let mut store = Graphs::empty(GraphShape::default());
    let mut values = vec![0.0; node_table.features.width()];
    for (graph, edges_here) in by_graph.iter().enumerate() {
        for row in node_table.lists.range(graph) {
            node_table.features.row_into(row, &mut values);
            store.node_values.extend_from_slice(&values);
            if own_degree {
                store.node_values.push(levels.number(&degrees[row].to_string()) as f32);
            }
        }
        let mut values = vec![0.0; edge_table.features.width()];
        for (row, ends) in edges_here {
            edge_table.features.row_into(*row, &mut values);
            store.edge_values.extend_from_slice(&values);
            store.ends.push(*ends);
        }
        store.nodes.push(node_table.lists.range(graph).end);
        store.edges.push(store.ends.len());
    }
    if own_degree {
        node_columns.push(Column { name: DEGREE.into(), levels: Some(levels.into_names()) });
    }
    let items = GraphItems::new(GraphKind::Edges, store, node_columns, edge_table.columns.clone());
    Ok(EdgeList { names, items })
}

impl EdgeList {
    /// Number of graphs.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The graphs in the order of the table of nodes.
    pub fn items(&self) -> &GraphItems {
        &self.items
    }

    /// The graphs that `words` name, in their order; a word without a graph has no nodes and a fault.
    pub(super) fn named(self, words: &Names) -> (GraphItems, Vec<WordFault>) {
        let EdgeList { names, items } = self;
        let GraphItems { store: all, .. } = &items;
        let mut store = Graphs::empty(all.shape.clone());
        let mut faults = Vec::with_capacity(words.len());
        for word in words.iter() {
            match names.find(word) {
                Some(graph) => {
                    let graph = graph as usize;
                    for node in all.nodes_of(graph) {
                        store.node_values.extend_from_slice(all.node(node));
                    }
                    for edge in all.edges_of(graph) {
                        store.ends.push(all.ends[edge]);
                        store.edge_values.extend_from_slice(all.edge(edge));
                    }
                    faults.push(None);
                }
                None => {
                    let found = format!("graph {}", show(word.as_bytes()));
                    faults.push(Some((found, "a graph that the table of nodes has".into())));
                }
            }
            store.close();
        }
        (GraphItems { store, ..items }, faults)
    }
}
