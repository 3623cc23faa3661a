//! The flags that say how data files are read.

use clap::Args;
use serde::{Deserialize, Serialize};
use toprank::data::error::show_names;
use toprank::data::formats::Words;
use toprank::data::graph_items::GraphKind;
use toprank::data::mapped::MappedDataset;
use toprank::data::{Absent, Column, Dataset, ReadOptions, Source, classes, files, formats};
use toprank::train::{Data, Files, Model, Settings};

use crate::failure::Failure;
use crate::progress::Progress;
use crate::say;
use crate::table::counted;

/// What to do with rows whose graph cannot be read.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BadItems {
    /// Stop at the first of them.
    #[default]
    Error,
    /// Skip, count and list them.
    Skip,
}

/// Rows left out that a note names.
const MOST_NAMED: usize = 20;

/// The heading of these flags in `--help`; `-h` leaves them out.
pub const HEADING: &str = "Reading data";

/// How to read data files.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[command(next_help_heading = HEADING)]
pub struct Reading {
    /// Format of the data file (see `toprank formats`) [default: by extension, then by content]
    #[arg(long, value_name = "NAME")]
    pub input_format: Option<String>,
    /// Bring together the rows of a list that are not adjacent, or are in several files
    #[arg(long)]
    pub regroup: bool,
    /// Treat a feature that a sparse row does not state as missing instead of 0
    #[arg(long)]
    pub absent_is_missing: bool,
    /// Column that names the list: query, user, session (tables, interactions)
    #[arg(long, value_name = "COLUMN")]
    pub list: Option<String>,
    /// Column of the label
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,
    /// Label columns of multi-label data, names or patterns with *
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
    /// Columns not to use, names or patterns with *; of numbered features also ranges: 26-46
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Column of molecules, written as SMILES: items are graphs then, for --model gin
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["graph", "nodes", "edges"])]
    #[serde(default)]
    pub smiles: Option<String>,
    /// Column that names the graph of an item; the graphs are in --nodes and --edges
    #[arg(long, value_name = "COLUMN")]
    #[serde(default)]
    pub graph: Option<String>,
    /// Table of the nodes of all graphs: columns graph, node and features (numbers or strings)
    #[arg(long, value_name = "FILE", requires = "edges")]
    #[serde(default)]
    pub nodes: Option<String>,
    /// Table of the edges of all graphs: columns graph, from, to and features (numbers or strings)
    #[arg(long, value_name = "FILE", requires = "nodes")]
    #[serde(default)]
    pub edges: Option<String>,
    /// What to do with rows whose graph cannot be read: stop with an error, or skip, count and list them
    #[arg(long, value_name = "error|skip", default_value_t, value_enum)]
    #[serde(default)]
    pub bad_items: BadItems,
    /// Mulan XML file with the label names of an ARFF file [default: the XML file beside it]
    #[arg(long, value_name = "FILE")]
    pub label_xml: Option<String>,
    /// Maximum number of features; a larger index is an error [default: 1048576]
    #[arg(long, value_name = "N")]
    pub max_features: Option<u32>,
}

impl Reading {
    /// The library's options for a command that writes the data again: columns without a use are kept, unless they are to be
    /// dropped.
    pub fn whole(&self, drop: bool) -> ReadOptions {
        ReadOptions { words: if drop { Words::Ignored } else { Words::Kept }, ..self.options(Vec::new()) }
    }

    /// The library's options, with further columns to keep.
    pub fn options(&self, keep: Vec<String>) -> ReadOptions {
        let flags = self.clone();
        ReadOptions {
            format: flags.input_format,
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
            ignore: flags.ignore,
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

    /// The same flags, with graphs and categorical columns read as in the training data of the model unless the flags say otherwise.
    pub fn as_trained(&self, model: &Model) -> Reading {
        let header = model.header();
        let column = || header.features.first().cloned();
        let mut flags = self.clone();
        match header.graphs.as_ref().map(|graphs| graphs.kind) {
            Some(GraphKind::Smiles) if flags.graph.is_none() => flags.smiles = flags.smiles.or_else(column),
            Some(GraphKind::Edges) if flags.nodes.is_some() => flags.graph = flags.graph.or_else(column),
            _ => {}
        }
        if flags.categorical.is_empty() {
            // A column of numbers that were categories would else be taken for their codes.
            let names = header.levels.keys().filter_map(|&place| header.features.get(place));
            flags.categorical = names.cloned().collect();
        }
        flags
    }

    /// Flags that mean the same from every folder.
    pub fn absolute(&self) -> Result<Reading, Failure> {
        let path = |path: &Option<String>| path.as_deref().map(crate::train::absolute).transpose();
        Ok(Reading {
            nodes: path(&self.nodes)?,
            edges: path(&self.edges)?,
            label_xml: path(&self.label_xml)?,
            ..self.clone()
        })
    }

    /// Files that the flags name.
    pub fn paths(&self) -> impl Iterator<Item = String> {
        [&self.nodes, &self.edges, &self.label_xml]
            .into_iter()
            .flatten()
            .cloned()
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// Data to train on: a memory-mapped file stays on disk, everything else is read, and a note says which columns of a table
    /// are used.
    fn data_of(
        &self,
        paths: &[String],
        class: Option<&str>,
        label_optional: bool,
        quiet: bool,
    ) -> Result<Data, Failure> {
        let rows = self.smiles.is_none() && self.graph.is_none() && self.ignore.is_empty();
        if let [path] = paths
            && MappedDataset::is_one(path)
            && rows
            && class.is_none()
        {
            return Ok(MappedDataset::open(path)?.into());
        }
        let keep = class.map(String::from).into_iter().collect();
        let options = ReadOptions { label_optional, unlabelled: class.is_some(), ..self.options(keep) };
        let data = read_files(paths, &options, quiet)?;
        note_columns(&data, &paths.join(", "), quiet);
        Ok(data.into())
    }

    /// Training data with their preference pairs and classes, and validation data, as settings name them. With pairs or classes the
    /// training data need no labels.
    pub fn training_data(
        &self,
        paths: &Settings,
        quiet: bool,
    ) -> Result<Option<(Data, Option<Data>)>, Failure> {
        let (class, pairs) = (paths.class.as_deref(), paths.pairs.as_deref());
        let read = |files: &Option<Files>, unlabelled: bool| {
            files.as_ref().map(|files| self.data_of(&files.0, class, unlabelled, quiet)).transpose()
        };
        let valid = read(&paths.valid, false)?;
        let Some(mut train) = read(&paths.data, pairs.is_some())? else { return Ok(None) };
        let mut valid = valid;
        if let Some(class) = class {
            let shown = |files: &Option<Files>| files.as_ref().map(Files::to_string).unwrap_or_default();
            let known = classes::one_list_each(train.into_memory()?, &shown(&paths.data), class, None)?;
            valid = match valid {
                None => None,
                Some(valid) => {
                    let (names, file) = (known.output_names.as_ref(), shown(&paths.valid));
                    Some(classes::one_list_each(valid.into_memory()?, &file, class, names)?.into())
                }
            };
            train = known.into();
        }
        if let Some(pairs) = pairs {
            train.read_pairs(&Source::path(pairs))?;
        }
        Ok(Some((train, valid)))
    }

    /// Reads a data file (`-`: standard input), or all that match a pattern.
    pub fn read(&self, path: &str, keep: Vec<String>, quiet: bool) -> Result<Dataset, Failure> {
        self.read_all(&[path.to_string()], keep, quiet)
    }

    /// Reads files, or patterns of files, one after the other as one data set; columns of `keep` are kept as text.
    pub fn read_all(&self, paths: &[String], keep: Vec<String>, quiet: bool) -> Result<Dataset, Failure> {
        read_files(paths, &self.options(keep), quiet)
    }
}

/// Data files and how to read them.
#[derive(clap::Parser, Debug)]
#[command(name = "read", no_binary_name = true)]
pub struct ReadWords {
    /// Data files or patterns
    #[arg(required = true)]
    data: Vec<String>,
    /// Columns to keep as text
    #[arg(long, value_delimiter = ',')]
    keep: Vec<String>,
    /// No column is taken for the label
    #[arg(long)]
    unlabelled: bool,
    #[command(flatten)]
    reading: Reading,
}

impl ReadWords {
    /// Reads the files.
    pub fn read(self) -> Result<Dataset, Failure> {
        let options = ReadOptions {
            unlabelled: self.unlabelled,
            label_optional: true,
            ..self.reading.options(self.keep)
        };
        Ok(files::read_all(&expanded(&self.data)?, &options)?)
    }
}

/// Reads files, or patterns of files, one after the other as one data set.
pub fn read_files(paths: &[String], options: &ReadOptions, quiet: bool) -> Result<Dataset, Failure> {
    let named = paths.join(", ");
    let spinner = Progress::spinner(quiet, &format!("reading {named}"));
    let data = files::read_all(&expanded(paths)?, options)?;
    drop(spinner);
    note_left_out(&data, &named, quiet);
    Ok(data)
}

/// The files that names and patterns stand for.
pub fn expanded(paths: &[String]) -> Result<Vec<String>, Failure> {
    let files: Vec<Vec<String>> = paths.iter().map(|path| files::expand(path)).collect::<Result<_, _>>()?;
    Ok(files.concat())
}

/// Says which columns of a table are features, which hold categories, and which are not used. Numbered features need no note.
pub fn note_columns(data: &Dataset, path: &str, quiet: bool) {
    let words = columns_in_words(data);
    if !quiet && !words.is_empty() {
        say(format_args!("note: {path}: {words}"));
    }
}

fn columns_in_words(data: &Dataset) -> String {
    let numbered = data.columns.iter().all(|column| column.name.parse::<u32>().is_ok());
    if data.graphs.is_some() || numbered && data.unread.is_empty() {
        return String::new();
    }
    let (categorical, numeric): (Vec<&Column>, Vec<&Column>) =
        data.columns.iter().partition(|column| column.levels.is_some());
    // Numbers that name something are rarely meant as features.
    let names_something = |name: &str| {
        let name = name.to_lowercase();
        name == "id" || ["_id", "-id", " id", ".id"].iter().any(|end| name.ends_with(end))
    };
    let ids: Vec<&str> =
        numeric.iter().map(|c| c.name.as_str()).filter(|name| names_something(name)).collect();
    let listed = |columns: &[&Column]| shortened(columns.iter().map(|column| column.name.as_str()));
    let mut parts = vec![match numeric.len() {
        0 => "no numeric feature".to_string(),
        count => format!("{}: {}", counted(count, "numeric feature"), listed(&numeric)),
    }];
    if !categorical.is_empty() {
        parts.push(format!("categorical: {}", listed(&categorical)));
    }
    if !data.unread.is_empty() {
        let names = shortened(data.unread.iter().map(String::as_str));
        parts.push(format!("not used: {names} (--categorical uses columns of strings)"));
    }
    if !ids.is_empty() {
        parts.push(format!("--ignore {} leaves out what looks like identifiers", ids.join(",")));
    }
    parts.join("; ")
}

/// The first names of a list, and how many more there are.
fn shortened<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const MOST: usize = 6;
    let more = names.len().saturating_sub(MOST);
    let shown = show_names(names.take(MOST));
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// Prints which rows were left out, and why.
pub fn note_left_out(data: &Dataset, path: &str, quiet: bool) {
    let left_out = data.graphs.as_ref().map_or(&[][..], |items| &items.left_out);
    if quiet || left_out.is_empty() {
        return;
    }
    let rows = counted(left_out.len(), "row");
    say(format_args!("note: {path}: {rows} left out, whose graph cannot be read:"));
    left_out.iter().take(MOST_NAMED).for_each(|error| say(format_args!("  {error}")));
    if left_out.len() > MOST_NAMED {
        say(format_args!("  … and {} more", left_out.len() - MOST_NAMED));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_used_dropped_and_categorical_columns() {
        let column = |name: &str, levels: bool| Column {
            name: name.into(),
            levels: levels.then(|| ["red"].into_iter().collect()),
        };
        let table = Dataset {
            columns: vec![column("price", false), column("shop_id", false), column("colour", true)],
            unread: vec!["title".into()],
            ..Dataset::default()
        };
        assert_eq!(
            columns_in_words(&table),
            "2 numeric features: price, shop_id; categorical: colour; not used: title (--categorical uses columns of \
             strings); --ignore shop_id leaves out what looks like identifiers"
        );
        let letor = Dataset { columns: vec![column("1", false), column("2", false)], ..Dataset::default() };
        assert_eq!(columns_in_words(&letor), "");
    }
}
