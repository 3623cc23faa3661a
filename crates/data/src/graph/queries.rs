/*!
Query graphs: many small graphs, one per list, or one graph that all lists share, with features, seeds and judgements.

A folder of tables (TSV, CSV, Parquet, Arrow; `.gz` and `.zst` too), as `toprank generate graphs` and
`toprank pagerank sessions` write it:

| file | columns | without it |
|---|---|---|
| `nodes` | [`query`,] `node`, [`seed`: 1 or 0,] [`label`,] features ≥ 0 | nodes are those that edges name, without features |
| `edges` | [`query`,] `from`, `to`, features ≥ 0 | an error |
| `judgements` | `query`, `node`, `label`; or qrels | the column `label` of `nodes`; else nothing is judged |
| `seeds` | [`query`,] `node` | the column `seed` of `nodes`; else every node is one |

Without a column `query` in `nodes` and `edges` there is one graph, and each query of `judgements` (and `seeds`) is a list
over it. All graphs lie in one [`Graph`], one after the other. An edge's features are its own columns, or the features of
its source and then those of its target (never copied), or both: see [`EdgeFeatures`].

Rules: columns that begin with a word are not features; a feature that is missing, negative or not finite is an error; so is an edge or a seed with a node that `nodes`
does not have. A judged node that is not in its graph counts as not retrieved (`missed`); judgements of a query without a
graph are counted and left out.
*/

use std::path::{Path, PathBuf};

use toprank_core::{Features, Lists, Ragged};

use super::tables::{Finder, read_edge_table, read_judgements, read_nodes, read_seeds};
use super::{Graph, NodeNames};
use crate::dataset::Matrix;
use crate::error::{ReadError, show};
use crate::group::Interner;
use crate::names::Names;
use crate::source::Source;

/// What an edge's features are made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeFeatures {
    /// Its own columns; row e is the edge at place e of [`Graph::inward`].
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
    /// All graphs, one after the other; its nodes are called 0, 1, ….
    pub graph: Graph,
    /// Nodes of graph g: `parts[g]..parts[g + 1]`.
    pub parts: Vec<u32>,
    /// Name of each node in its own graph.
    pub node_names: Names,
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
    row_starts: Vec<u64>,
}

/// Where the tables of query graphs are.
#[derive(Clone, Debug, Default)]
pub struct GraphFiles {
    /// Table of nodes.
    pub nodes: Option<PathBuf>,
    /// Table of edges.
    pub edges: Option<PathBuf>,
    /// Table of judgements.
    pub judgements: Option<PathBuf>,
    /// Table of seeds.
    pub seeds: Option<PathBuf>,
    /// Whether edges have the features of their ends; `None`: if they have none of their own.
    pub ends: Option<bool>,
}

impl GraphFiles {
    /// The tables in a folder.
    pub fn folder(folder: &Path) -> Result<GraphFiles, ReadError> {
        let name = folder.display().to_string();
        let entries = std::fs::read_dir(folder).map_err(|e| ReadError::io(&name, &e))?;
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        let find = |stems: &[&str]| {
            let is = |path: &&PathBuf| {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                stems.contains(&file.split('.').next().unwrap_or_default())
            };
            paths.iter().find(is).cloned()
        };
        let files = GraphFiles {
            nodes: find(&["nodes"]),
            edges: find(&["edges"]),
            judgements: find(&["judgements", "qrels"]),
            seeds: find(&["seeds"]),
            ends: None,
        };
        if files.edges.is_none() {
            let expected = "edges.tsv (or .csv, .parquet), and nodes.tsv, judgements.tsv beside it";
            return Err(ReadError::options(&name, "no table of edges in this folder", expected));
        }
        Ok(files)
    }
}

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
    /// Reads the tables of a folder.
    ///
    /// # Errors
    /// Negative or missing features, unknown nodes, graphs without a seed or an edge, with file and line.
    pub fn read_folder(folder: &Path) -> Result<QueryGraphs, ReadError> {
        QueryGraphs::read(&GraphFiles::folder(folder)?)
    }

    /// Reads tables.
    ///
    /// # Errors
    /// As [`QueryGraphs::read_folder`].
    pub fn read(files: &GraphFiles) -> Result<QueryGraphs, ReadError> {
        let Some(edges) = &files.edges else {
            return Err(ReadError::options("graphs", "no table of edges", "one"));
        };
        let mut tables = GraphTables { ends: files.ends, ..GraphTables::default() };
        let mut finder = Finder::default();
        if let Some(nodes) = &files.nodes {
            read_nodes(&Source::path(nodes), &mut tables, &mut finder)?;
        }
        read_edge_table(&Source::path(edges), files.nodes.is_none(), &mut tables, &mut finder)?;
        let mut graphs = QueryGraphs::build(tables)?;
        if let Some(judgements) = &files.judgements {
            read_judgements(&Source::path(judgements), &mut graphs, &finder)?;
        }
        if let Some(seeds) = &files.seeds {
            read_seeds(&Source::path(seeds), &mut graphs, &finder)?;
        }
        graphs.number_rows(&edges.display().to_string())?;
        Ok(graphs)
    }

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
            graph: plain,
            list_names: if shared { ["all"].into_iter().collect() } else { queries.into_names() },
            graph_of: (0..lists as u32).collect(),
            node_names,
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

    /// Rows are (list, node of its graph): numbered one list after the other.
    fn number_rows(&mut self, file: &str) -> Result<(), ReadError> {
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

    /// The row of a node under list `q`: what a model is asked to score.
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

    /// These lists as the house knows them: entries are the judged nodes (`all`: every node, NaN where not judged).
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
                Err(ReadError::data(file, found, "one node at least where its walk can start")
                    .advice("Leave the column seed out to start anywhere."))
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
