/*!
Export of trees to other tools, and import from them.

[`FORMATS`] is the list. An exported model gives the same scores as ours, missing values included, or export is an error that
names what the format cannot express. [`verify`](verify::verify) checks it before a file is handed out: it evaluates the written bytes as
their tools do, on rows that hit every threshold and its float neighbours ([`probe_rows`]).

| format | leaf values | missing values | categories | outputs | differences |
|---|---|---|---|---|---|
| `lightgbm` | `f64` | by node | yes | any | within ±1e-35 counts as 0 there |
| `lightgbm-json` | `f64` | by node | yes | any | the same, and infinite values |
| `xgboost` | `f32` | by node | integers below 2²⁴ | any | infinite values are refused there |
| `ranklib` | `f32` | counts as 0 | no | one | |
| `solr` | `f32` | by node | no | one | |
| `es-ltr`, `opensearch-ltr` | `f32` | must follow 0 | no | one | see `engines.rs` for versions |
| `vespa` | `f32` | by node | no | one | |
| `onnx` | `f64` | by node | integers | any | |

Leaves in `f32` are rounded, nothing else is: a row comes to the same leaf of every tree everywhere.

```
use toprank_trees::interop::{self, Export};
use toprank_trees::{Ensemble, Next, Node, Test, Tree};
let node = Node::new(1, Test::AtMost(0.5), true, Next::Leaf(0), Next::Leaf(1));
let trees = vec![Tree { nodes: vec![node], leaves: vec![-1.0, 2.0] }];
let model = Ensemble { trees, ..Ensemble::new(2, 1) };
let format = interop::by_name("lightgbm").unwrap();
let bytes = interop::write(&model, format, &Export::default()).unwrap();
let back = interop::read(&toprank_data::Source::bytes("model.txt", bytes)).unwrap();
assert_eq!(back.ensemble.trees[0].value(&[0.0, 0.5]), -1.0);
```
*/

mod engines;
mod lightgbm;
mod onnx;
pub mod probe;
mod ranklib;
mod shape;
mod solr;
#[cfg(test)]
pub(crate) mod test_models;
#[cfg(test)]
mod tests;
mod unfold;
pub mod verify;
mod xgboost;

use std::io::Read;

use toprank_core::ModelError;
use toprank_data::{ReadError, Source};

use crate::ensemble::Ensemble;
use crate::explain::Cover;

pub use probe::probe_rows;
pub use verify::{Parity, Replayed, verify};

/// A file format of tree models.
#[derive(Debug)]
pub struct Format {
    /// Its name in commands.
    pub name: &'static str,
    /// How file names end, without the dot.
    pub extension: &'static str,
    /// What reads it.
    pub about: &'static str,
    /// Whether leaves are rounded to `f32`.
    pub single: bool,
    /// A value of a feature (second: whether it holds categories) as the tools of the format take it.
    pub(crate) sees: fn(f32, bool) -> f32,
    pub(crate) write: fn(&Ensemble, &Export) -> Result<Vec<u8>, ModelError>,
    pub(crate) read: Option<Reader>,
    /// The bytes and the names of the features.
    pub(crate) play: fn(&[u8], &[String]) -> Result<Player, ReadError>,
}

impl Format {
    /// True if models can be read from it.
    pub fn reads(&self) -> bool {
        self.read.is_some()
    }
}

/// Reads a model; the first argument is what errors call the file.
pub(crate) type Reader = fn(&str, &[u8]) -> Result<Imported, ReadError>;

/// The value of a row in every tree of a written model, evaluated as its tools do.
pub(crate) type Player = Box<dyn Fn(&[f32]) -> Vec<f64> + Send + Sync>;

/// All formats.
pub static FORMATS: &[Format] = &[
    lightgbm::TEXT,
    lightgbm::DUMP,
    xgboost::JSON,
    ranklib::FORMAT,
    solr::FORMAT,
    engines::ELASTICSEARCH,
    engines::OPENSEARCH,
    engines::VESPA,
    onnx::FORMAT,
];

/// The format of this name.
///
/// ```
/// assert!(toprank_trees::interop::by_name("lightgbm").unwrap().reads());
/// assert!(toprank_trees::interop::by_name("lightgbn").is_none());
/// ```
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Export settings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Export<'a> {
    /// Names of the features; empty: `f0`, `f1`, …
    pub names: &'a [String],
    /// Rows that came to each node and leaf, where the format keeps them. Other tools need them to explain scores; without
    /// them scores are the same.
    pub cover: Option<&'a Cover>,
    /// What to do where the format has no branch for missing values.
    pub missing: Missing,
}

/// What to do where a format has no branch for missing values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// Refuse models whose missing values do not follow the branch of 0.
    #[default]
    Exact,
    /// Write them anyway: scores agree for rows whose missing values were set to 0.
    AsZero,
}

/// A model read from a file of another tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The trees. Scores are raw: no link function is applied.
    pub ensemble: Ensemble,
    /// Names of the features; empty if the file has none.
    pub names: Vec<String>,
    /// The objective it was trained with, as spelled in the file, if stated.
    pub objective: Option<String>,
}

/// The bytes of a model in another format.
///
/// Leaves of the first tree hold the base, since most formats have no other place for it.
pub fn write(ensemble: &Ensemble, format: &Format, export: &Export) -> Result<Vec<u8>, ModelError> {
    ensemble.check()?;
    shape::check_names(ensemble, export.names)?;
    if let Some(cover) = export.cover {
        cover.check(ensemble)?;
    }
    (format.write)(ensemble, export)
}

/// The longest model file that is read.
const LONGEST: u64 = 1 << 30;

/// Reads a model of another tool; its format is recognised by its first bytes. A damaged file is an error, never a panic.
pub fn read(source: &Source) -> Result<Imported, ReadError> {
    let file = source.name();
    let (head, source) = source.peek()?;
    // What is no model is not read to its end, as it may be endless.
    let (length, mut bytes) = if format_of(&head).is_some() { (LONGEST + 1, Vec::new()) } else { (0, head) };
    source.open()?.take(length).read_to_end(&mut bytes).map_err(|error| ReadError::io(file, &error))?;
    if bytes.len() as u64 > LONGEST {
        return Err(ReadError::data(file, format!("more than {LONGEST} bytes"), "a smaller model"));
    }
    let Some(name) = format_of(&bytes) else {
        let found =
            format!("a file that starts with {}", toprank_data::error::show(&bytes[..bytes.len().min(20)]));
        return Err(ReadError::data(file, found, "a text model of LightGBM or a JSON model of XGBoost"));
    };
    let bytes = text_of(&bytes);
    let read = by_name(name).and_then(|format| format.read);
    let imported = read.map(|read| read(file, bytes)).transpose()?;
    imported.ok_or_else(|| ReadError::options(file, format!("a model of {name}"), "a format that is read"))
}

/// The bytes behind a byte-order mark.
fn text_of(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Name of the format of a model that starts with these bytes.
fn format_of(head: &[u8]) -> Option<&'static str> {
    match text_of(head).trim_ascii_start() {
        [b'{', ..] => Some("xgboost"),
        start if start.starts_with(b"tree") => Some("lightgbm"),
        _ => None,
    }
}
