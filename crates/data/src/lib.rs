//! **What are the lists, and where did each number come from?** Readers that turn any ranking file into one
//! [`Dataset`], judgements and runs, writers, splits, feature transforms, generators.
//!
//! Invariants:
//! - every reader returns the same [`Dataset`] or a [`ReadError`] that names file, line, what was found and what
//!   was expected; no input makes it panic or allocate without bound;
//! - missing values stay missing (NaN); nothing is imputed while reading;
//! - a list is never split, and the rows keep the order of the file;
//! - no metric and no model is known here.
//!
//! A new reader is one file with a `FORMAT` constant and one line in [`formats::FORMATS`].

mod checksums;
pub mod classes;
pub mod dataset;
pub mod error;
pub mod files;
pub mod formats;
pub mod generate;
pub mod graph;
pub mod graph_items;
pub mod group;
#[cfg(feature = "parquet")]
mod guard;
pub mod inputs;
pub mod inspect;
pub mod judged;
pub mod lines;
pub mod mapped;
pub mod names;
mod pieces;
pub mod preferences;
pub mod scores;
pub mod sink;
pub mod source;
pub mod split;
pub mod titles;
pub mod transform;

pub use dataset::{Column, Dataset, Matrix, Sparse};
pub use error::{Fault, ReadError};
pub use formats::{Absent, Format, ReadOptions, read, write};
pub use graph::{Graph, QueryGraphs};
pub use graph_items::GraphItems;
pub use judged::{
    Aligned, JoinOptions, Joined, MissingLists, Qrels, Run, align, join, read_qrels, read_run, write_run,
};
pub use mapped::MappedDataset;
pub use names::Names;
pub use source::Source;
