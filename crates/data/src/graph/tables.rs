/*!
Tables of query graphs: nodes, edges, judgements, seeds.

A folder of tables (TSV, CSV, Parquet, Arrow; `.gz` and `.zst` too), as `toprank generate graphs` and
`toprank pagerank sessions` write it:

| file | columns | without it |
|---|---|---|
| `nodes` | [`query`,] `node`, [`seed`: 1 or 0,] [`label`,] features ≥ 0 | nodes are those that edges name, without features |
| `edges` | [`query`,] `from`, `to`, features ≥ 0 | an error |
| `judgements` | `query`, `node`, `label`; or qrels | the column `label` of `nodes`; else nothing is judged |
| `seeds` | [`query`,] `node` | the column `seed` of `nodes`; else every node is one |

Without a column `query` in `nodes` and `edges` there is one graph, and each query of `judgements` (and `seeds`) is a list
over it.

A column whose first value is a string is not a feature. A feature that is missing, negative or not finite is an error;
so is an edge or a seed with a node that `nodes` does not have. A judged node that is not in its graph counts as not
retrieved (`missed`); judgements of a query without a graph are counted and left out.
*/

use std::path::{Path, PathBuf};

use super::build::GraphTables;
use super::query_graphs::{JudgedNodes, QueryGraphs};
use crate::dataset::{Dataset, Matrix};
use crate::error::{ReadError, show};
use crate::formats::{self, ReadOptions};
use crate::group::Interner;
use crate::judged::read_qrels;
use crate::source::Source;

const QUERY: &str = "query|qid|query_id|list";
const NODE: &str = "node|page|item|name|id";

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
}

/// Finds nodes by query and name.
#[derive(Default)]
struct Finder {
    shared: bool,
    queries: Interner,
    /// `query number, tab, name`, or the name alone in a shared graph; numbers are nodes.
    nodes: Interner,
    key: String,
}

impl Finder {
    fn key(&self, query: u32, name: &str) -> String {
        if self.shared { name.into() } else { format!("{query}\t{name}") }
    }

    fn find(&self, query: &str, name: &str) -> Option<u32> {
        let query = if self.shared { 0 } else { self.queries.find(query)? };
        self.nodes.find(&self.key(query, name))
    }
}

/// Where a row of a table stands, for messages.
fn at(error: ReadError, data: &Dataset, row: usize) -> ReadError {
    match data.lines.of(row) {
        Some(line) => error.at_line(line),
        None => error,
    }
}

/// Reads a table of nodes or edges, named by the columns `item`; true if it has no column of queries.
fn table(source: &Source, item: &str, keep: &[&str]) -> Result<(Dataset, bool), ReadError> {
    let options = ReadOptions {
        unlabelled: true,
        list: Some(QUERY.into()),
        item: Some(item.into()),
        keep: keep.iter().map(|name| (*name).to_string()).collect(),
        regroup: true,
        ..ReadOptions::default()
    };
    match formats::read_table(source, &options) {
        Err(error) if error.to_string().contains("no column is called query") => {
            let options = ReadOptions { list: None, ..options };
            formats::read_table(source, &options).map(|data| (data, true))
        }
        read => read.map(|data| (data, false)),
    }
}

/// Takes a column out of the features.
fn take(data: &mut Dataset, name: &str) -> Option<Vec<f32>> {
    let at = data.columns.iter().position(|column| column.name == name)?;
    let values = (0..data.rows()).map(|row| data.features.get(row, at)).collect();
    data.columns.remove(at);
    let width = data.features.width();
    let others: Vec<Option<usize>> = (0..width).filter(|&column| column != at).map(Some).collect();
    data.features = data.features.pick_columns(&others, 0.0);
    Some(values)
}

fn features(file: &str, data: &Dataset) -> Result<(Vec<String>, Vec<f32>), ReadError> {
    let width = data.columns.len();
    for (place, column) in data.columns.iter().enumerate() {
        let Some(words) = &column.levels else { continue };
        let word = |row: usize| words.get(data.features.get(row, place) as usize);
        // A column of numbers with one other value is read as strings: name that value.
        let row = (0..data.rows()).find(|&row| word(row).parse::<f32>().is_err()).unwrap_or(0);
        let error =
            ReadError::data(file, show(word(row).as_bytes()), "a number: features of a walk are numbers")
                .in_column(column.name.as_str());
        return Err(at(error, data, row));
    }
    let values = match &data.features {
        Matrix::Dense { values, .. } => values.clone(),
        Matrix::Sparse(_) => (0..data.rows())
            .flat_map(|row| (0..width).map(move |column| data.features.get(row, column)))
            .collect(),
    };
    if let Some(bad) = values.iter().position(|value| !value.is_finite() || *value < 0.0) {
        let (row, column) = (bad / width, &data.columns[bad % width].name);
        let found = match values[bad] {
            value if value.is_nan() => "a missing feature".into(),
            value => format!("the feature {value}"),
        };
        let error =
            ReadError::data(file, found, "finite numbers from 0 on: weights of a walk are sums of them")
                .in_column(column.as_str())
                .advice("Shift or split the column (positive part, negative part).");
        return Err(at(error, data, row));
    }
    Ok((data.columns.iter().map(|column| column.name.clone()).collect(), values))
}

fn read_nodes(source: &Source, tables: &mut GraphTables, finder: &mut Finder) -> Result<(), ReadError> {
    let file = source.name();
    let (mut data, shared) = table(source, NODE, &[])?;
    finder.shared = shared;
    tables.shared = shared;
    let seeds = take(&mut data, "seed");
    tables.labels = take(&mut data, "label");
    if let Some(row) = seeds.as_ref().and_then(|seeds| seeds.iter().position(|s| *s != 0.0 && *s != 1.0)) {
        let found = format!("seed {}", seeds.as_ref().map_or(0.0, |seeds| seeds[row]));
        return Err(at(ReadError::data(file, found, "1 or 0"), &data, row));
    }
    tables.seeds = seeds.map(|seeds| seeds.iter().map(|&seed| seed == 1.0).collect());
    (tables.node_columns, tables.node_values) = features(file, &data)?;
    tables.parts.push(0);
    let names = data.item_names.clone().unwrap_or_default();
    for q in 0..data.lists.len() {
        let query = match &data.list_names {
            Some(names) if !shared => tables.queries.number(names.get(q)),
            _ => 0,
        };
        for row in data.lists.range(q) {
            let before = finder.nodes.len();
            finder.nodes.number(&finder.key(query, names.get(row)));
            if finder.nodes.len() == before {
                let found = format!("node {} again in the same graph", show(names.get(row).as_bytes()));
                return Err(at(ReadError::data(file, found, "each node once"), &data, row));
            }
        }
        tables.parts.push(finder.nodes.len() as u32);
    }
    finder.queries = tables.queries.clone();
    tables.node_names = names;
    Ok(())
}

fn read_edge_table(
    source: &Source,
    make_nodes: bool,
    tables: &mut GraphTables,
    finder: &mut Finder,
) -> Result<(), ReadError> {
    let file = source.name();
    let (data, shared) = table(source, super::edges::SOURCE, &[super::edges::TARGET])?;
    if make_nodes {
        finder.shared = shared;
        tables.shared = shared;
        tables.parts.push(0);
    } else if shared != finder.shared {
        let found = if shared { "no column query" } else { "a column query" };
        let expected =
            "the same in nodes and edges: in both (a graph for each query) or in neither (one graph)";
        return Err(ReadError::options(file, found, expected));
    }
    (tables.edge_columns, tables.edge_values) = features(file, &data)?;
    let Some((sources, (_, targets))) = data.item_names.as_ref().zip(data.extra.first()) else {
        return Err(ReadError::data(file, "no columns of ends", "the columns from and to"));
    };
    for q in 0..data.lists.len() {
        let name = match &data.list_names {
            Some(names) if !shared => names.get(q),
            _ => "",
        };
        if make_nodes {
            let query = if shared { 0 } else { finder.queries.number(name) };
            for row in data.lists.range(q) {
                for end in [sources.get(row), targets.get(row)] {
                    let before = finder.nodes.len();
                    finder.key = finder.key(query, end);
                    let key = std::mem::take(&mut finder.key);
                    finder.nodes.number(&key);
                    if finder.nodes.len() > before {
                        tables.node_names.push(end);
                    }
                }
            }
            tables.parts.push(finder.nodes.len() as u32);
        }
        for row in data.lists.range(q) {
            let mut ends = [0; 2];
            for (end, node) in [sources.get(row), targets.get(row)].into_iter().zip(&mut ends) {
                *node = finder.find(name, end).ok_or_else(|| {
                    let what =
                        if shared { String::new() } else { format!(" of query {}", show(name.as_bytes())) };
                    let found = format!("an edge with node {}{what}", show(end.as_bytes()));
                    at(ReadError::data(file, found, "nodes that the table of nodes has"), &data, row)
                })?;
            }
            tables.sources.push(ends[0]);
            tables.targets.push(ends[1]);
        }
    }
    if make_nodes {
        tables.queries = finder.queries.clone();
    }
    Ok(())
}

/// (query, node, label) of every judgement.
fn judgements(source: &Source) -> Result<Vec<(String, String, f32)>, ReadError> {
    let (head, source) = source.peek()?;
    let first = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let fields: Vec<&[u8]> = first.split(u8::is_ascii_whitespace).filter(|f| !f.is_empty()).collect();
    if fields.len() == 4 && fast_float2::parse::<f64, _>(fields[3]).is_ok() {
        let qrels = read_qrels(&source)?;
        let of = |q: usize| {
            let query = qrels.queries().get(q).to_string();
            qrels.judgements(q).map(move |(node, label)| (query.clone(), node.to_string(), label))
        };
        return Ok((0..qrels.queries().len()).flat_map(of).collect());
    }
    let options = ReadOptions {
        list: Some(QUERY.into()),
        item: Some(NODE.into()),
        features: vec!["label".into()],
        regroup: true,
        unlabelled: true,
        ..ReadOptions::default()
    };
    let data = formats::read_table(&source, &options)?;
    let mut all = Vec::with_capacity(data.rows());
    for q in 0..data.lists.len() {
        for row in data.lists.range(q) {
            let label = data.features.get(row, 0);
            if label.is_nan() {
                continue;
            }
            let name = data.item_names.as_ref().map_or("", |names| names.get(row));
            all.push((data.list_name(q), name.to_string(), label));
        }
    }
    Ok(all)
}

/// Sorts values of (query, node) into lists: those of the graphs, or one for each query of a shared graph.
struct ByList {
    lists: Interner,
    entries: Vec<Vec<(u32, f32)>>,
    missed: Vec<Vec<f32>>,
    elsewhere: usize,
}

impl ByList {
    fn sort(values: Vec<(String, String, f32)>, graphs: &QueryGraphs, finder: &Finder) -> ByList {
        let mut by = ByList { lists: Interner::default(), entries: vec![], missed: vec![], elsewhere: 0 };
        if !finder.shared {
            for name in graphs.list_names.iter() {
                by.lists.number(name);
            }
            by.entries.resize(by.lists.len(), Vec::new());
            by.missed.resize(by.lists.len(), Vec::new());
        }
        for (query, node, value) in values {
            if !finder.shared && by.lists.find(&query).is_none() {
                by.elsewhere += 1;
                continue;
            }
            let list = by.lists.number(&query) as usize;
            if list == by.entries.len() {
                by.entries.push(Vec::new());
                by.missed.push(Vec::new());
            }
            match finder.find(&query, &node) {
                Some(node) => by.entries[list].push((node, value)),
                None => by.missed[list].push(value),
            }
        }
        by
    }

    fn check_once(&mut self, file: &str, graphs: &QueryGraphs) -> Result<(), ReadError> {
        for (list, entries) in self.entries.iter_mut().enumerate() {
            entries.sort_by_key(|entry| entry.0);
            if let Some(twice) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let node = show(graphs.node_names.get(twice[0].0 as usize).as_bytes());
                let list = show(self.lists.names().get(list).as_bytes());
                let found = format!("node {node} of query {list} twice");
                return Err(ReadError::data(file, found, "each node once for each query"));
            }
        }
        Ok(())
    }
}

fn read_judgements(source: &Source, graphs: &mut QueryGraphs, finder: &Finder) -> Result<(), ReadError> {
    let mut by = ByList::sort(judgements(source)?, graphs, finder);
    by.check_once(source.name(), graphs)?;
    if finder.shared {
        // Every query is a list over the one graph, with the seeds of the graph.
        let seeds = graphs.seeds.clone();
        graphs.share(by.lists.names(), &|_| seeds.clone());
    }
    let mut judged = JudgedNodes { offsets: vec![0], elsewhere: by.elsewhere, ..JudgedNodes::default() };
    judged.missed.offsets.push(0);
    for (entries, missed) in by.entries.iter().zip(&by.missed) {
        judged.nodes.extend(entries.iter().map(|entry| entry.0));
        judged.labels.extend(entries.iter().map(|entry| entry.1));
        judged.offsets.push(judged.nodes.len() as u64);
        judged.missed.values.extend_from_slice(missed);
        judged.missed.offsets.push(judged.missed.values.len() as u64);
    }
    graphs.judged = judged;
    Ok(())
}

fn read_seeds(source: &Source, graphs: &mut QueryGraphs, finder: &Finder) -> Result<(), ReadError> {
    let file = source.name();
    let (data, without_query) = table(source, NODE, &[])?;
    let names = data.item_names.clone().unwrap_or_default();
    let mut by_list: Vec<Vec<u32>> = vec![Vec::new(); graphs.len()];
    let mut lists = Interner::default();
    for name in graphs.list_names.iter() {
        lists.number(name);
    }
    for q in 0..data.lists.len() {
        let query = data.list_name(q);
        for row in data.lists.range(q) {
            let name = names.get(row);
            let node = finder.find(&query, name).ok_or_else(|| {
                let found = format!("the seed {}, which is not a node", show(name.as_bytes()));
                at(ReadError::data(file, found, "nodes of the graph"), &data, row)
            })?;
            if without_query && finder.shared {
                for seeds in &mut by_list {
                    seeds.push(node);
                }
            } else if let Some(list) = lists.find(&query) {
                by_list[list as usize].push(node);
            }
        }
    }
    graphs.seeds.clear();
    graphs.seed_offsets = vec![0];
    for mut seeds in by_list {
        seeds.sort_unstable();
        seeds.dedup();
        graphs.seeds.extend(seeds);
        graphs.seed_offsets.push(graphs.seeds.len() as u64);
    }
    graphs.check_seeds(file)
}
