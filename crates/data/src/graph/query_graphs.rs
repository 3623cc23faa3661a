/*!
Query graphs: many small graphs, one per list, or one graph that all lists share, with features, seeds and judgements.

All graphs lie in one [`Graph`], one after the other. An edge's features are its own columns, or the features of its
source and then those of its target (never copied), or both: see [`EdgeFeatures`]. They are read from tables
([`GraphFiles`](super::GraphFiles)) or built from columns ([`GraphTables`](super::GraphTables)).
*/

use std::sync::Arc;

use toprank_core::{Features, Lists, Ragged};

use super::Graph;
use crate::dataset::Matrix;
use crate::error::{ReadError, show};
use crate::names::Names;

/// What an edge's features are made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeFeatures {
    /// Its own columns; row e is the edge at position e of [`Graph::inward`].
    pub own: Matrix,
    /// Then the features of its source and those of its target: m1 + m1 numbers that are looked up, not stored.
    pub ends: bool,
}

/// Judged nodes of every list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JudgedNodes {
    /// `lists + 1` positions.
    pub offsets: Vec<u64>,
    /// Nodes of the graph, ascending within a list.
    pub nodes: Vec<u32>,
    /// Their labels.
    pub labels: Vec<f32>,
    /// Labels of judged nodes that are not in the graph.
    pub missed: Ragged,
    /// Judgements of queries without a graph.
    pub elsewhere: usize,
}

/// Lists over graphs; read from the tables of a folder.
#[derive(Clone, Debug, Default)]
pub struct QueryGraphs {
    /// All graphs, one after the other; its nodes are called 0, 1, …. Copies of these lists share it.
    pub graph: Arc<Graph>,
    /// Nodes of graph g: `parts[g]..parts[g + 1]`.
    pub parts: Vec<u32>,
    /// Name of each node in its own graph. Copies of these lists share them.
    pub node_names: Arc<Names>,
    /// Name of each list.
    pub list_names: Names,
    /// Graph over which each list walks.
    pub graph_of: Vec<u32>,
    /// Seeds of list q: `seeds[seed_offsets[q]..seed_offsets[q + 1]]`, ascending nodes of its graph.
    pub seed_offsets: Vec<u64>,
    /// See `seed_offsets`.
    pub seeds: Vec<u32>,
    /// Judgements.
    pub judged: JudgedNodes,
    /// Features of nodes, dense, ≥ 0.
    pub node_features: Matrix,
    /// Their names.
    pub node_columns: Vec<String>,
    /// Features of edges, ≥ 0.
    pub edge_features: EdgeFeatures,
    /// Names of the edges' own features.
    pub edge_columns: Vec<String>,
    /// Row of the first node of each list, and the number of rows.
    pub(super) row_starts: Vec<u64>,
}

impl QueryGraphs {
    /// Rows are (list, node of its graph): numbered one list after the other.
    pub(super) fn number_rows(&mut self, file: &str) -> Result<(), ReadError> {
        let rows = self.number_lists();
        if rows > u64::from(u32::MAX) {
            let found = format!("{} lists over graphs with {rows} nodes in all", self.len());
            return Err(ReadError::data(file, found, "at most 4294967295: use fewer lists at a time"));
        }
        Ok(())
    }

    fn number_lists(&mut self) -> u64 {
        let mut rows = 0;
        self.row_starts.clear();
        self.row_starts.push(0);
        for q in 0..self.len() {
            rows += self.nodes_of(q).len() as u64;
            self.row_starts.push(rows);
        }
        rows
    }

    /// Number of lists.
    pub fn len(&self) -> usize {
        self.graph_of.len()
    }

    /// True if there is no list.
    pub fn is_empty(&self) -> bool {
        self.graph_of.is_empty()
    }

    /// Nodes of the graph of list `q`.
    pub fn nodes_of(&self, q: usize) -> std::ops::Range<usize> {
        let graph = self.graph_of[q] as usize;
        self.parts[graph] as usize..self.parts[graph + 1] as usize
    }

    /// Seeds of list `q`: nodes, ascending.
    pub fn seeds_of(&self, q: usize) -> &[u32] {
        &self.seeds[self.seed_offsets[q] as usize..self.seed_offsets[q + 1] as usize]
    }

    /// Features of a node.
    pub fn node_width(&self) -> usize {
        self.node_features.width()
    }

    /// Features of an edge.
    pub fn edge_width(&self) -> usize {
        self.edge_features.own.width() + if self.edge_features.ends { 2 * self.node_width() } else { 0 }
    }

    /// Names of all features of an edge: `own`, then `from f1`, …, `to f1`, ….
    pub fn edge_names(&self) -> Vec<String> {
        let ends = if self.edge_features.ends { &["from", "to"][..] } else { &[] };
        let of_ends =
            ends.iter().flat_map(|end| self.node_columns.iter().map(move |name| format!("{end} {name}")));
        self.edge_columns.iter().cloned().chain(of_ends).collect()
    }

    /// The row of a node under list `q`, which a model scores.
    pub fn row(&self, q: usize, node: u32) -> u32 {
        (self.row_starts[q] + u64::from(node) - self.nodes_of(q).start as u64) as u32
    }

    /// The list and the node of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn of_row(&self, row: u32) -> (usize, u32) {
        let q = self.row_starts.partition_point(|&start| start <= u64::from(row)) - 1;
        (q, (u64::from(row) - self.row_starts[q]) as u32 + self.nodes_of(q).start as u32)
    }

    /// These lists as [`Lists`]: entries are the judged nodes (`all`: every node, NaN where not judged).
    pub fn lists(&self, which: &[u32], all: bool) -> Lists {
        let mut lists = Lists { offsets: vec![0], ..Lists::default() };
        let (mut rows, mut missed) = (Vec::new(), Ragged { offsets: vec![0], values: Vec::new() });
        for &q in which {
            let q = q as usize;
            let judged = self.judged.offsets[q] as usize..self.judged.offsets[q + 1] as usize;
            if all {
                let start = lists.labels.len();
                rows.extend((self.row_starts[q]..self.row_starts[q + 1]).map(|row| row as u32));
                lists.labels.resize(rows.len(), f32::NAN);
                for at in judged {
                    let place = self.judged.nodes[at] as usize - self.nodes_of(q).start;
                    lists.labels[start + place] = self.judged.labels[at];
                }
            } else {
                rows.extend(self.judged.nodes[judged.clone()].iter().map(|&node| self.row(q, node)));
                lists.labels.extend_from_slice(&self.judged.labels[judged]);
            }
            missed.values.extend_from_slice(self.judged.missed.of(q));
            missed.offsets.push(missed.values.len() as u64);
            lists.offsets.push(rows.len() as u64);
        }
        lists.rows = Some(rows);
        lists.missed = (!missed.values.is_empty()).then_some(missed);
        lists
    }

    /// Largest value of every feature of nodes and of every own feature of edges.
    pub fn largest(&self) -> (Vec<f32>, Vec<f32>) {
        (largest(&self.node_features), largest(&self.edge_features.own))
    }

    /// Divides every feature of nodes and every own feature of edges by a number of its own; 0 stands for 1.
    ///
    /// # Panics
    /// If there are not as many numbers as features.
    pub fn divide(&mut self, nodes: &[f32], own: &[f32]) {
        divide(&mut self.node_features, nodes);
        divide(&mut self.edge_features.own, own);
    }

    /// The same lists with divided features, as [`QueryGraphs::divide`] leaves them; edges and names of nodes are shared.
    ///
    /// # Panics
    /// If there are not as many numbers as features.
    #[must_use]
    pub fn divided(&self, nodes: &[f32], own: &[f32]) -> QueryGraphs {
        let mut divided = self.clone();
        divided.divide(nodes, own);
        divided
    }

    /// Makes lists over a shared graph: their names, and their judged nodes with labels, ascending. Every list has the
    /// seeds that the first one had.
    ///
    /// # Panics
    /// If there is no list, if there are several graphs, or not as many names as lists.
    pub fn set_lists(&mut self, names: &[String], judged: &[Vec<(u32, f32)>]) {
        assert!(self.parts.len() == 2 && names.len() == judged.len(), "names of lists over one graph");
        let seeds = self.seeds_of(0).to_vec();
        self.share(&names.iter().collect(), &|_| seeds.clone());
        self.judged = JudgedNodes { offsets: vec![0], ..JudgedNodes::default() };
        for nodes in judged {
            self.judged.nodes.extend(nodes.iter().map(|entry| entry.0));
            self.judged.labels.extend(nodes.iter().map(|entry| entry.1));
            self.judged.offsets.push(self.judged.nodes.len() as u64);
        }
        self.judged.missed = Ragged { offsets: vec![0; judged.len() + 1], values: Vec::new() };
        self.number_lists();
    }

    /// Makes each of `lists` a list over the one graph.
    pub(super) fn share(&mut self, lists: &Names, seeds: &dyn Fn(usize) -> Vec<u32>) {
        self.graph_of = vec![0; lists.len()];
        self.seed_offsets = vec![0];
        self.seeds.clear();
        for q in 0..lists.len() {
            self.seeds.extend(seeds(q));
            self.seed_offsets.push(self.seeds.len() as u64);
        }
        self.list_names = lists.clone();
    }

    fn check_name(&self, q: usize) -> String {
        show(self.list_names.get(q).as_bytes())
    }

    /// An error if some list has no seed.
    pub fn check_seeds(&self, file: &str) -> Result<(), ReadError> {
        match (0..self.len()).find(|&q| self.seeds_of(q).is_empty()) {
            None => Ok(()),
            Some(q) => {
                let found = format!("list {} without a seed", self.check_name(q));
                Err(ReadError::data(file, found, "at least one node where its walk can start")
                    .advice("Omit the column seed to start anywhere."))
            }
        }
    }
}

fn largest(matrix: &Matrix) -> Vec<f32> {
    let mut most = vec![0f32; matrix.width()];
    if let Matrix::Dense { width: 1.., values } = matrix {
        for row in values.chunks_exact(most.len()) {
            most.iter_mut().zip(row).for_each(|(most, value)| *most = most.max(*value));
        }
    }
    most
}

fn divide(matrix: &mut Matrix, by: &[f32]) {
    assert_eq!(by.len(), matrix.width(), "one number per feature");
    if let Matrix::Dense { width: 1.., values } = matrix {
        for row in values.chunks_exact_mut(by.len()) {
            row.iter_mut().zip(by).filter(|(_, by)| **by > 0.0).for_each(|(value, by)| *value /= by);
        }
    }
}

/// Rows are (list, node); their features are those of the node.
impl Features for QueryGraphs {
    fn rows(&self) -> usize {
        self.row_starts.last().copied().unwrap_or(0) as usize
    }

    fn width(&self) -> usize {
        self.node_width()
    }

    fn gather(&self, rows: &[u32], out: &mut [f32]) {
        let nodes: Vec<u32> = rows.iter().map(|&row| self.of_row(row).1).collect();
        self.node_features.gather(&nodes, out);
    }
}
