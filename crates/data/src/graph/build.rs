//! Columns of nodes and edges become query graphs.

use toprank_core::Ragged;

use super::query_graphs::{EdgeFeatures, QueryGraphs};
use super::{Graph, NodeNames};
use crate::dataset::Matrix;
use crate::error::ReadError;
use crate::group::Interner;
use crate::names::Names;

/// Nodes and edges before they become graphs: columns, nodes of a graph together.
///
/// ```
/// use toprank_data::graph::{GraphTables, QueryGraphs};
/// let tables = GraphTables {
///     shared: true,
///     parts: vec![0, 2],
///     node_names: ["a", "b"].into_iter().collect(),
///     node_columns: vec!["f".into()],
///     node_values: vec![1.0, 3.0],
///     sources: vec![0],
///     targets: vec![1],
///     ..GraphTables::default()
/// };
/// let graphs = QueryGraphs::build(tables).unwrap();
/// assert_eq!((graphs.len(), graphs.edge_width()), (1, 2));
/// ```
#[derive(Clone, Debug, Default)]
pub struct GraphTables {
    /// Names of the queries, one per graph, in the order of `parts`.
    pub queries: Interner,
    /// One graph that has no name.
    pub shared: bool,
    /// First node of each graph, and the end of the last.
    pub parts: Vec<u32>,
    /// Name of each node.
    pub node_names: Names,
    /// Whether a walk may start there; `None`: everywhere.
    pub seeds: Option<Vec<bool>>,
    /// Labels of nodes; NaN = not judged; `None`: nothing is judged.
    pub labels: Option<Vec<f32>>,
    /// Names of the features of nodes.
    pub node_columns: Vec<String>,
    /// Their values, `nodes × columns`, ≥ 0.
    pub node_values: Vec<f32>,
    /// Source of each edge.
    pub sources: Vec<u32>,
    /// Target of each edge, a node of the same graph.
    pub targets: Vec<u32>,
    /// Names of the edges' own features.
    pub edge_columns: Vec<String>,
    /// Their values, `edges × columns`, ≥ 0, in the order of `sources`.
    pub edge_values: Vec<f32>,
    /// Whether edges have the features of their ends; `None`: if they have none of their own.
    pub ends: Option<bool>,
}

impl GraphTables {
    fn check(&self) -> Result<(), ReadError> {
        let (nodes, edges) = (self.node_names.len(), self.sources.len());
        let wrong = |found: String, expected: String| Err(ReadError::data("the graphs", found, expected));
        let graphs = self.parts.len().saturating_sub(1);
        let bounds = self.parts.first() == Some(&0) && self.parts.last() == Some(&(nodes as u32));
        if !bounds || !self.parts.is_sorted() || (self.shared && graphs != 1) {
            let found = format!("{} bounds of graphs", self.parts.len());
            return wrong(found, format!("ascending ones from 0 to {nodes}; two if the graph is shared"));
        }
        if !self.shared && self.queries.len() != graphs {
            return wrong(format!("{} queries", self.queries.len()), format!("{graphs}, one per graph"));
        }
        let columns = [
            ("seeds", self.seeds.as_ref().map_or(nodes, Vec::len), nodes),
            ("labels", self.labels.as_ref().map_or(nodes, Vec::len), nodes),
            ("features of nodes", self.node_values.len(), nodes * self.node_columns.len()),
            ("targets", self.targets.len(), edges),
            ("features of edges", self.edge_values.len(), edges * self.edge_columns.len()),
        ];
        if let Some((what, found, expected)) = columns.iter().find(|(_, found, expected)| found != expected) {
            return wrong(format!("{found} {what}"), expected.to_string());
        }
        let bad = |value: &&f32| !value.is_finite() || **value < 0.0;
        if let Some(value) = self.node_values.iter().chain(&self.edge_values).find(bad) {
            return wrong(format!("the feature {value}"), "finite numbers from 0 on".into());
        }
        let graph = |node: u32| self.parts.partition_point(|&first| first <= node);
        let apart =
            |(s, t): (&u32, &u32)| *s as usize >= nodes || *t as usize >= nodes || graph(*s) != graph(*t);
        if let Some(edge) = self.sources.iter().zip(&self.targets).position(apart) {
            let found = format!("an edge from node {} to node {}", self.sources[edge], self.targets[edge]);
            return wrong(found, "nodes of one graph".into());
        }
        Ok(())
    }
}

impl QueryGraphs {
    /// Graphs out of their columns.
    ///
    /// # Errors
    /// If the columns do not fit each other, a feature is negative or not finite, or an edge joins two graphs.
    pub fn build(tables: GraphTables) -> Result<QueryGraphs, ReadError> {
        tables.check()?;
        let GraphTables { queries, shared, parts, node_names, seeds, labels, .. } = tables;
        let nodes = node_names.len();
        let plain = Graph::new(NodeNames::count(nodes), &tables.sources, &tables.targets, None)?;
        // The place of each edge of the table among the edges into its target.
        let width = tables.edge_columns.len();
        let mut own = vec![0.0; tables.edge_values.len()];
        if width > 0 {
            let mut next: Vec<u32> = plain.inward().offsets[..nodes].to_vec();
            for (edge, &target) in tables.targets.iter().enumerate() {
                let place = next[target as usize] as usize;
                next[target as usize] += 1;
                own[place * width..(place + 1) * width]
                    .copy_from_slice(&tables.edge_values[edge * width..(edge + 1) * width]);
            }
        }
        let lists = parts.len() - 1;
        let mut graphs = QueryGraphs {
            graph: plain.into(),
            list_names: if shared { ["all"].into_iter().collect() } else { queries.into_names() },
            graph_of: (0..lists as u32).collect(),
            node_names: node_names.into(),
            node_features: Matrix::Dense { width: tables.node_columns.len(), values: tables.node_values },
            edge_features: EdgeFeatures {
                own: Matrix::Dense { width, values: own },
                ends: tables.ends.unwrap_or(width == 0),
            },
            node_columns: tables.node_columns,
            edge_columns: tables.edge_columns,
            parts,
            ..QueryGraphs::default()
        };
        graphs.seed_offsets.push(0);
        graphs.judged.offsets.push(0);
        graphs.judged.missed = Ragged { offsets: vec![0; lists + 1], values: Vec::new() };
        for q in 0..lists {
            for node in graphs.parts[q]..graphs.parts[q + 1] {
                if seeds.as_ref().is_none_or(|seeds| seeds[node as usize]) {
                    graphs.seeds.push(node);
                }
                if let Some(label) = labels.as_ref().map(|l| l[node as usize]).filter(|l| !l.is_nan()) {
                    graphs.judged.nodes.push(node);
                    graphs.judged.labels.push(label);
                }
            }
            graphs.seed_offsets.push(graphs.seeds.len() as u64);
            graphs.judged.offsets.push(graphs.judged.nodes.len() as u64);
        }
        graphs.number_rows("graphs")?;
        Ok(graphs)
    }
}
