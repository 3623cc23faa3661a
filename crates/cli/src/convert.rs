//! `toprank convert`: read one format, write another.

use std::path::{Path, PathBuf};

use toprank::data::judged::write_run_json;
use toprank::data::mapped::{self, Converted};
use toprank::data::scores::scores_of_entries;
use toprank::data::{Dataset, Run, Source, formats, read_run, sink, write_run};

use crate::failure::Failure;
use crate::progress::Progress;
use crate::reading::{Reading, read_files};
use crate::table::counted;
use crate::{Common, note};

/// Read a data file and write it in another format (by extension; .gz and .zst compress)
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  toprank convert test.txt test.parquet
  toprank convert big.txt big.toprank-data                   # memory-mapped by train and predict
  toprank convert ratings.csv --list user --item movie --label stars - --to csv
  toprank convert test.txt model.run --scores scores.txt     # a TREC run out of data and scores
  toprank convert run.json run.trec --input-format run       # a run: .json is JSON, else TREC")]
pub struct Convert {
    /// File to read; - is standard input
    from: String,
    /// File to write; - is standard output (then --to names the format)
    to: PathBuf,
    /// Format to write (see `toprank formats`) [default: by extension]
    #[arg(long = "to", value_name = "FORMAT")]
    to_format: Option<String>,
    /// Write a run: the data's lists ranked by these scores, one number a line
    #[arg(long, value_name = "FILE")]
    scores: Option<String>,
    /// Leave out columns without a use, such as texts, which the format to write may have no place for
    #[arg(long)]
    drop: bool,
    #[command(flatten)]
    reading: Reading,
}

impl Convert {
    /// Reads, writes, notes what was written.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let to = self.to.display();
        if self.reading.input_format.as_deref() == Some("run") {
            return write_ranking(&read_run(&Source::path(&self.from))?, &self.to, common);
        }
        if self.scores.is_none() && self.is_mapped() {
            let spinner = Progress::spinner(common.quiet, &format!("writing {to}"));
            let options = self.reading.whole(self.drop);
            let Converted { lists, entries, features, .. } =
                mapped::convert(&Source::path(&self.from), &options, &self.to)?;
            drop(spinner);
            wrote(common, [lists, entries, features], to);
            return Ok(());
        }
        // A run holds names and scores only.
        let options = self.reading.whole(self.drop || self.scores.is_some());
        let dataset = read_files(std::slice::from_ref(&self.from), &options, common.quiet)?;
        if let Some(scores) = &self.scores {
            let scores = scores_of_entries(&Source::path(scores), &dataset)?;
            return write_ranking(&ranking(&dataset, &scores, &self.from)?, &self.to, common);
        }
        let spinner = Progress::spinner(common.quiet, &format!("writing {to}"));
        formats::write(&dataset, &self.to, self.to_format.as_deref())?;
        drop(spinner);
        wrote(common, [dataset.lists.len(), dataset.lists.entries(), dataset.features.width()], to);
        Ok(())
    }

    /// True if the file to write is a memory-mapped one, which is written without holding the data in memory.
    fn is_mapped(&self) -> bool {
        let by_extension = || formats::by_extension(&Source::path(&self.to)).map(|format| format.name);
        self.to_format.as_deref().or_else(by_extension) == Some(mapped::FORMAT.name)
    }
}

/// Notes how much was written.
fn wrote(common: &Common, [lists, items, features]: [usize; 3], to: impl std::fmt::Display) {
    let (lists, items, features) =
        (counted(lists, "list"), counted(items, "item"), counted(features, "feature"));
    note(common, format!("wrote {lists}, {items}, {features} to {to}"));
}

/// The data's lists under these scores as a run; items without names are called by their row, from 1.
fn ranking(dataset: &Dataset, scores: &[f64], file: &str) -> Result<Run, Failure> {
    let lists = &dataset.lists;
    let names: Vec<String> = (0..lists.entries()).map(|entry| dataset.item_name(lists.row(entry))).collect();
    let queries: Vec<String> = (0..lists.len()).map(|q| dataset.list_name(q)).collect();
    let entries = (0..lists.len()).flat_map(|q| lists.range(q).map(move |entry| (q, entry)));
    let rows = entries.map(|(q, entry)| (queries[q].as_str(), names[entry].as_str(), scores[entry]));
    Ok(Run::from_rows(file, rows)?.named("toprank"))
}

fn write_ranking(run: &Run, to: &Path, common: &Common) -> Result<(), Failure> {
    let json = Source::path(to).extension() == "json";
    sink::write_file(to, |out| if json { write_run_json(run, out) } else { write_run(run, out) })?;
    let (queries, documents) = (counted(run.queries().len(), "query"), counted(run.len(), "document"));
    note(common, format!("wrote {queries}, {documents} to {}", to.display()));
    Ok(())
}
