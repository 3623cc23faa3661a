//! The flags that say how data files are read.

use clap::Args;
use serde::{Deserialize, Serialize};
use toprank::data::graph_items::GraphKind;
use toprank::data::mapped::MappedDataset;
use toprank::data::{Absent, Dataset, ReadOptions, Source, formats};
use toprank::train::{Data, Model};

use crate::failure::Failure;
use crate::progress::Progress;
use crate::table::counted;

/// What to do with rows whose graph cannot be read.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BadItems {
    /// The first of them ends the reading.
    #[default]
    Error,
    /// They are left out, counted and listed.
    Skip,
}

/// Rows left out that a note names.
const MOST_NAMED: usize = 20;

/// How to read data files.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[command(next_help_heading = "Reading data")]
pub struct Reading {
    /// Format of the data file (see `toprank formats`) [default: by extension, then by content]
    #[arg(id = "input_format", long = "input-format", value_name = "NAME")]
    pub format: Option<String>,
    /// Accept rows of a list that are not adjacent and bring them together
    #[arg(long)]
    pub regroup: bool,
    /// Take a feature that a sparse row does not state as missing instead of 0
    #[arg(long)]
    pub absent_is_missing: bool,
    /// Column that names the list: query, user, session (tables, interactions)
    #[arg(long, value_name = "COLUMN")]
    pub list: Option<String>,
    /// Column of the label
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,
    /// Several label columns, names or patterns with *: multi-label data
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub labels: Vec<String>,
    /// Column of the item weight
    #[arg(long, value_name = "COLUMN")]
    pub weight: Option<String>,
    /// Column of the list weight
    #[arg(long, value_name = "COLUMN")]
    pub list_weight: Option<String>,
    /// Column of the item name
    #[arg(long, value_name = "COLUMN")]
    pub item: Option<String>,
    /// Column of the time of an interaction
    #[arg(long, value_name = "COLUMN")]
    pub time: Option<String>,
    /// Feature columns, names or patterns with * [default: every numeric column without another use]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub features: Vec<String>,
    /// Feature columns that hold categories, names or patterns with *
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub categorical: Vec<String>,
    /// Column of molecules, written as SMILES: items are graphs then, for --model gin
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["graph", "nodes", "edges"])]
    #[serde(default)]
    pub smiles: Option<String>,
    /// Column that names the graph of an item; the graphs are in --nodes and --edges
    #[arg(long, value_name = "COLUMN")]
    #[serde(default)]
    pub graph: Option<String>,
    /// Table of the nodes of all graphs: columns graph, node and features (numbers or words)
    #[arg(long, value_name = "FILE", requires = "edges")]
    #[serde(default)]
    pub nodes: Option<String>,
    /// Table of the edges of all graphs: columns graph, from, to and features (numbers or words)
    #[arg(long, value_name = "FILE", requires = "nodes")]
    #[serde(default)]
    pub edges: Option<String>,
    /// Rows whose graph cannot be read: an error, or skip (left out, counted and listed)
    #[arg(long, value_name = "error|skip", default_value_t, value_enum)]
    #[serde(default)]
    pub bad_items: BadItems,
    /// Mulan XML file with the label names of an ARFF file [default: the XML file beside it]
    #[arg(long, value_name = "FILE")]
    pub label_xml: Option<String>,
    /// Most features a row may have; a larger index is an error [default: 1048576]
    #[arg(long, value_name = "N")]
    pub max_features: Option<u32>,
}

impl Reading {
    /// The library's options, with further columns to keep.
    pub fn options(&self, keep: Vec<String>) -> ReadOptions {
        let flags = self.clone();
        ReadOptions {
            format: flags.format,
            regroup: flags.regroup,
            absent: if flags.absent_is_missing { Absent::Missing } else { Absent::Zero },
            list: flags.list,
            label: flags.label,
            labels: flags.labels,
            weight: flags.weight,
            list_weight: flags.list_weight,
            item: flags.item,
            time: flags.time,
            features: flags.features,
            categorical: flags.categorical,
            keep,
            label_xml: flags.label_xml,
            max_features: flags.max_features,
            smiles: flags.smiles,
            graph: flags.graph,
            nodes: flags.nodes,
            edges: flags.edges,
            bad_items: match flags.bad_items {
                BadItems::Error => formats::BadItems::Error,
                BadItems::Skip => formats::BadItems::Skip,
            },
            ..ReadOptions::default()
        }
    }

    /// The same flags, reading graphs as the training data of the model had them, where nothing else is said.
    pub fn as_trained(&self, model: &Model) -> Reading {
        let header = model.header();
        let column = || header.features.first().cloned();
        let mut flags = self.clone();
        match header.graphs.as_ref().map(|graphs| graphs.kind) {
            Some(GraphKind::Smiles) if flags.graph.is_none() => flags.smiles = flags.smiles.or_else(column),
            Some(GraphKind::Edges) if flags.nodes.is_some() => flags.graph = flags.graph.or_else(column),
            _ => {}
        }
        flags
    }

    /// Flags that mean the same from every folder.
    pub fn absolute(&self) -> Result<Reading, Failure> {
        let path = |path: &Option<String>| path.as_deref().map(crate::train::absolute).transpose();
        Ok(Reading { nodes: path(&self.nodes)?, edges: path(&self.edges)?, ..self.clone() })
    }

    /// Data to train on: a mapped file stays where it is, any other is read.
    pub fn data(&self, path: &str, quiet: bool) -> Result<Data, Failure> {
        if MappedDataset::is_one(path) && self.smiles.is_none() && self.graph.is_none() {
            return Ok(MappedDataset::open(path)?.into());
        }
        Ok(self.read(path, Vec::new(), quiet)?.into())
    }

    /// Reads a data file (`-`: standard input).
    pub fn read(&self, path: &str, keep: Vec<String>, quiet: bool) -> Result<Dataset, Failure> {
        let spinner = Progress::spinner(quiet, format!("reading {path}"));
        let data = formats::read(&Source::path(path), &self.options(keep))?;
        drop(spinner);
        note_left_out(&data, path, quiet);
        Ok(data)
    }
}

/// Says which rows were left out, and why.
pub fn note_left_out(data: &Dataset, path: &str, quiet: bool) {
    let left_out = data.graphs.as_ref().map_or(&[][..], |items| &items.left_out);
    if quiet || left_out.is_empty() {
        return;
    }
    let rows = counted(left_out.len(), "row");
    eprintln!("note: {path}: {rows} left out, whose graph cannot be read:");
    left_out.iter().take(MOST_NAMED).for_each(|error| eprintln!("  {error}"));
    if left_out.len() > MOST_NAMED {
        eprintln!("  … and {} more", left_out.len() - MOST_NAMED);
    }
}
