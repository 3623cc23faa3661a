/*!
The table of formats and the one function that reads them all: [`read`].

Each format is one file with a `FORMAT` constant; [`FORMATS`] is the registry that the command, the docs, the
attack tests and the fuzzers read.
*/

pub mod adjacency;
pub mod arff;
#[cfg(feature = "parquet")]
pub mod arrow;
mod cell;
#[cfg(feature = "parquet")]
mod columnar;
pub mod csv;
mod entries;
pub mod idx;
pub mod interactions;
pub mod letor;
pub mod mulan_xml;
#[cfg(feature = "parquet")]
pub mod parquet;
mod records;
mod roles;
mod sheet;
#[cfg(feature = "parquet")]
mod sheet_arrow;
mod table;

use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::dataset::Dataset;
use crate::error::ReadError;
use crate::graph_items;
use crate::mapped::MappedDataset;
use crate::source::Source;
use letor::Outline;

/// Every format, in the order in which a file's content is tried.
pub static FORMATS: &[Format] = &[
    letor::FORMAT,
    letor::LIBSVM,
    #[cfg(feature = "parquet")]
    parquet::FORMAT,
    #[cfg(feature = "parquet")]
    arrow::FORMAT,
    crate::mapped::FORMAT,
    arff::FORMAT,
    idx::FORMAT,
    interactions::FORMAT,
    adjacency::FORMAT,
    csv::FORMAT,
    csv::TSV,
];

/// A format of ranking data.
pub struct Format {
    /// Name for `--input-format`.
    pub name: &'static str,
    /// One line for the listing.
    pub about: &'static str,
    /// File extensions (below `.gz` and `.zst`) that mean this format.
    pub extensions: &'static [&'static str],
    /// True if the first bytes of a text (decompressed, 64 KiB at most, the last line may be cut) look like this format.
    pub sniff: fn(&[u8]) -> bool,
    /// Reads a whole source.
    pub read: fn(&Source, &ReadOptions) -> Result<Dataset, ReadError>,
    /// Writes a whole data set, if the format can be written. What the format cannot hold is an error of kind
    /// [`io::ErrorKind::Unsupported`] that says so.
    pub write: Option<WriteFn>,
    /// A small valid file, the seed of the attack tests and of the fuzz target.
    pub example: &'static [u8],
}

/// Writes a whole data set.
pub type WriteFn = fn(&Dataset, &mut (dyn Write + Send)) -> io::Result<()>;

/// The value of a feature that a sparse row does not state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Absent {
    /// 0, as in SVMrank and LIBSVM.
    #[default]
    Zero,
    /// Missing.
    Missing,
}

/// What to do with rows whose graph cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BadItems {
    /// The first of them is an error.
    #[default]
    Error,
    /// They are left out and listed in [`crate::GraphItems::left_out`].
    Skip,
}

/// What becomes of text columns without another role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Words {
    /// Not read.
    #[default]
    Ignored,
    /// Categorical features.
    Categories,
    /// Kept as text ([`Dataset::extra`]), as is every other column without a role: nothing of a table is lost, or it is an
    /// error that names the columns.
    Kept,
}

/// Options of all readers; each reader uses those that mean something to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReadOptions {
    /// Name of the format; `None`: by extension, then by content.
    pub format: Option<String>,
    /// Accept rows of a list that are not adjacent (they are brought together, in order of first appearance).
    pub regroup: bool,
    /// The value of an unstated feature.
    pub absent: Absent,
    /// Column that names the list (tables); user column of interactions.
    pub list: Option<String>,
    /// Column of the label (tables; default `label`); rating column of interactions.
    pub label: Option<String>,
    /// Tables of something else than lists (nodes and edges of graphs): no column is taken for the label, and every
    /// entry comes back as not judged.
    pub unlabelled: bool,
    /// Several label columns: multi-label data, one list per label.
    pub labels: Vec<String>,
    /// Column of the item weight.
    pub weight: Option<String>,
    /// Column of the list weight (constant within a list).
    pub list_weight: Option<String>,
    /// Column of the item name; item column of interactions. Here and for all single columns of tables, `a|b` means:
    /// `a` if there is one, else `b`.
    pub item: Option<String>,
    /// Column of the time of an interaction.
    pub time: Option<String>,
    /// Feature columns, names or patterns with `*`; empty: every numeric column that has no other use.
    pub features: Vec<String>,
    /// Feature columns to be read as categories, names or patterns with `*`. Codes follow the bytewise order of the strings.
    pub categorical: Vec<String>,
    /// Columns or features that are not to be read: names, patterns with `*`, or ranges of numbers such as `26-46`.
    pub ignore: Vec<String>,
    /// Columns to keep as text (slices, score columns).
    pub keep: Vec<String>,
    /// Mulan XML file with the label names of an ARFF file; `None`: the file of the same stem, if there is one.
    pub label_xml: Option<String>,
    /// Maximum number of features of a row; a larger index is an error, not an allocation. `None`: 1,048,576.
    pub max_features: Option<u32>,
    /// Column of molecules written as SMILES: items are graphs then (module `graph_items`).
    pub smiles: Option<String>,
    /// Column that names the graph of an item; its `nodes` and `edges` are in tables of their own.
    pub graph: Option<String>,
    /// Table of the nodes of all graphs.
    pub nodes: Option<String>,
    /// Table of the edges of all graphs.
    pub edges: Option<String>,
    /// What to do with rows whose graph cannot be read.
    pub bad_items: BadItems,
    /// What becomes of text columns without another role.
    pub words: Words,
    /// Accept a table without the label column (rows to be scored): every label is then NaN, not judged.
    pub label_optional: bool,
}

impl ReadOptions {
    /// The limit on feature indices.
    pub fn feature_limit(&self) -> u32 {
        self.max_features.unwrap_or(1 << 20)
    }
}

/// Finds a format by name.
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Finds a format by the source's extension.
pub fn by_extension(source: &Source) -> Option<&'static Format> {
    let extension = source.extension();
    FORMATS.iter().find(|format| format.extensions.contains(&extension.as_str()))
}

/// Reads a data set: the format is the one named in the options, else that of the extension, else that of the
/// content.
pub fn read(source: &Source, options: &ReadOptions) -> Result<Dataset, ReadError> {
    let (format, source) = choose(source, options)?;
    let rows = graph_items::row_options(source.name(), options)?;
    let data = ignoring((format.read)(&source, &rows)?, source.name(), &options.ignore)?;
    graph_items::attach(data, source.name(), options)
}

/// Reads a table whose columns `options` ask for by name: as [`read`], but a file of a format that is no table, whose reader does
/// not know these columns, is an error.
pub(crate) fn read_table(source: &Source, options: &ReadOptions) -> Result<Dataset, ReadError> {
    let data = read(source, options)?;
    let is_there = |name: &String| data.columns.iter().any(|column| column.name == *name);
    let missing = [
        options.list.as_ref().filter(|_| data.list_names.is_none()),
        options.item.as_ref().filter(|_| data.item_names.is_none()),
        options.time.as_ref().filter(|_| data.times.is_none()),
        options.weight.as_ref().filter(|_| data.lists.item_weights.is_none()),
        options.keep.last().filter(|_| data.extra.len() < options.keep.len()),
        options.features.iter().find(|name| !is_there(name)),
    ];
    // Where entries share rows, as those of interactions do, a row is no line of a table.
    let found = match missing.into_iter().flatten().next() {
        Some(name) => {
            format!("a file without columns that have names, where {} is wanted", name.replace('|', " or "))
        }
        None if data.lists.rows.is_some() => "a file of lists that share rows".into(),
        None => return Ok(data),
    };
    Err(ReadError::data(source.name(), found, "a table with named columns: TSV, CSV, Parquet or Arrow"))
}

/// Leaves out features that are to be ignored. Tables have left them out already, by their roles.
fn ignoring(mut data: Dataset, file: &str, ignore: &[String]) -> Result<Dataset, ReadError> {
    if ignore.is_empty() {
        return Ok(data);
    }
    let names = |data: &Dataset| data.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
    let known = [names(&data), data.unread.clone()].concat();
    if let Some(some) = ignore.iter().find(|some| !known.iter().any(|name| roles::fits(some, name))) {
        let known = crate::error::show_names(known.iter().map(String::as_str));
        return Err(ReadError::options(
            file,
            format!("no column is called {some}"),
            format!("one of {known}"),
        ));
    }
    let ignored = |column: &crate::Column| ignore.iter().any(|some| roles::fits(some, &column.name));
    if data.columns.iter().any(ignored) {
        let kept: Vec<Option<usize>> =
            (0..data.columns.len()).filter(|&place| !ignored(&data.columns[place])).map(Some).collect();
        data.features = data.features.pick_columns(&kept, 0.0);
        let (left_out, columns) = data.columns.into_iter().partition(ignored);
        let left_out: Vec<crate::Column> = left_out;
        data.columns = columns;
        data.unread.extend(left_out.into_iter().map(|column| column.name));
    }
    Ok(data)
}

/// Data opened as cheaply as their format allows.
#[derive(Debug)]
pub enum Opened {
    /// A memory-mapped file: features are fetched by row.
    Mapped(Box<MappedDataset>),
    /// A text that can be read twice: features come block by block.
    Text(Box<Outline>),
    /// Everything in memory.
    Memory(Box<Dataset>),
}

/// Opens data without holding their features in memory, where the format allows that: memory-mapped files, and LETOR and
/// LIBSVM text in files whose lists need no regrouping. Everything else is read as [`read`] does.
///
/// ```
/// use toprank_data::{ReadOptions, Source, formats::{Opened, open}};
/// let text = Source::bytes("t", *b"1 qid:1 1:0.5\n");
/// assert!(matches!(open(&text, &ReadOptions::default()).unwrap(), Opened::Memory(_)));
/// ```
pub fn open(source: &Source, options: &ReadOptions) -> Result<Opened, ReadError> {
    if options.smiles.is_some() || options.graph.is_some() || !options.ignore.is_empty() {
        return Ok(Opened::Memory(Box::new(read(source, options)?)));
    }
    if let Some(path) = source.as_path()
        && MappedDataset::is_one(path)
    {
        return Ok(Opened::Mapped(Box::new(MappedDataset::open(path)?)));
    }
    let (format, source) = choose(source, options)?;
    let outline = match format.name {
        "letor" | "libsvm" => Outline::read(&source, options)?,
        _ => None,
    };
    match outline {
        Some(outline) => Ok(Opened::Text(Box::new(outline))),
        None => Ok(Opened::Memory(Box::new((format.read)(&source, options)?))),
    }
}

/// The format in which [`read`] reads, and the source to continue with, which may have been peeked into.
fn choose(source: &Source, options: &ReadOptions) -> Result<(&'static Format, Source), ReadError> {
    if let Some(name) = &options.format {
        let format = by_name(name).ok_or_else(|| unknown(source.name(), name, |_| true))?;
        return Ok((format, source.clone()));
    }
    if let Some(format) = by_extension(source) {
        return Ok((format, source.clone()));
    }
    let (head, source) = source.peek()?;
    match FORMATS.iter().find(|format| (format.sniff)(&head)) {
        Some(format) => Ok((format, source)),
        None if head.is_empty() => Err(ReadError::data(source.name(), "an empty file", "at least one row")),
        None => {
            let first = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
            let found = format!("content of no known format, starting with {}", crate::error::show(first));
            Err(ReadError::data(source.name(), found, listing(|_| true))
                .advice("Name the format with --input-format."))
        }
    }
}

/// Writes a data set to `path` (`-`: standard output; `.gz`, `.zst`: packed) in the format named, else that of the
/// extension. The file appears whole or not at all.
pub fn write(dataset: &Dataset, path: &Path, format: Option<&str>) -> Result<(), ReadError> {
    let file = path.display().to_string();
    let chosen = match format {
        Some(name) => {
            by_name(name).ok_or_else(|| unknown(&file, name, |format: &Format| format.write.is_some()))?
        }
        None => {
            let target = Source::path(path);
            // A text file says nothing about its content; written by us it is LETOR, as the generators have it.
            let text = || by_name("letor").filter(|_| target.extension() == "txt");
            by_extension(&target).or_else(text).ok_or_else(|| {
                ReadError::options(&file, "an extension of no known format", listing(|f| f.write.is_some()))
                    .advice("Name the format with --to.")
            })?
        }
    };
    let Some(fill) = chosen.write else {
        let found = format!("format {}, which can only be read", chosen.name);
        return Err(ReadError::options(&file, found, listing(|f| f.write.is_some())));
    };
    crate::sink::write_file(path, |out| fill(dataset, out))
}

fn unknown(file: &str, name: &str, wanted: impl Fn(&Format) -> bool) -> ReadError {
    let names = FORMATS.iter().filter(|format| wanted(format)).map(|format| format.name);
    ReadError::options(file, toprank_core::catalog::unknown("format", name, names).to_string(), "")
}

fn listing(wanted: impl Fn(&Format) -> bool) -> String {
    let names: Vec<&str> = FORMATS.iter().filter(|f| wanted(f)).map(|f| f.name).collect();
    format!("one of {}", names.join(", "))
}
