//! The flags that say how data files are read.

use clap::Args;
use serde::{Deserialize, Serialize};
use toprank::data::mapped::MappedDataset;
use toprank::data::{Absent, Dataset, ReadOptions, Source, formats};
use toprank::train::Data;

use crate::failure::Failure;
use crate::progress::Progress;

/// How to read data files.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[command(next_help_heading = "Reading data")]
pub struct Reading {
    /// Format of the data file (see `toprank formats`) [default: by extension, then by content]
    #[arg(long, value_name = "NAME")]
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
            unlabelled: false,
            label_optional: false,
        }
    }

    /// Data to train on: a mapped file stays where it is, any other is read.
    pub fn data(&self, path: &str, quiet: bool) -> Result<Data, Failure> {
        if MappedDataset::is_one(path) {
            return Ok(MappedDataset::open(path)?.into());
        }
        Ok(self.read(path, Vec::new(), quiet)?.into())
    }

    /// Reads a data file (`-`: standard input).
    pub fn read(&self, path: &str, keep: Vec<String>, quiet: bool) -> Result<Dataset, Failure> {
        let _spinner = Progress::spinner(quiet, format!("reading {path}"));
        Ok(formats::read(&Source::path(path), &self.options(keep))?)
    }
}
