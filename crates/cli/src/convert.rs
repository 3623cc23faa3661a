//! `toprank convert`: read one format, write another.

use std::path::PathBuf;

use toprank::data::formats;

use crate::failure::Failure;
use crate::progress::Progress;
use crate::reading::Reading;
use crate::{Common, note};

/// Read a data file and write it in another format (by extension; .gz and .zst pack)
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  toprank convert test.txt test.parquet\n  \
    toprank convert ratings.csv --list user --item movie --label stars - --to csv")]
pub struct Convert {
    /// File to read; - is standard input
    from: String,
    /// File to write; - is standard output (then --to names the format)
    to: PathBuf,
    /// Format to write (see `toprank formats`) [default: by extension]
    #[arg(long = "to", value_name = "NAME")]
    to_format: Option<String>,
    #[command(flatten)]
    reading: Reading,
}

impl Convert {
    /// Reads, writes, says what it did.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let dataset = self.reading.read(&self.from, Vec::new(), common.quiet)?;
        let to = self.to.display();
        let spinner = Progress::spinner(common.quiet, format!("writing {to}"));
        formats::write(&dataset, &self.to, self.to_format.as_deref())?;
        drop(spinner);
        let (lists, entries, width) =
            (dataset.lists.len(), dataset.lists.entries(), dataset.features.width());
        note(common, format!("wrote {lists} lists, {entries} items, {width} features to {to}"));
        Ok(())
    }
}
