//! `toprank split`: parts of a data set, written to files.

use std::path::PathBuf;

use serde_json::json;
use toprank::data::split::{SPLITS, parse, plan};
use toprank::data::{Source, formats};

use crate::failure::Failure;
use crate::folder::Filled;
use crate::reading::{Reading, expanded, read_files};
use crate::table::{Style, Table, catalog_help};
use crate::{Common, print, print_json};

/// Divide a data set into train, vali and test, or into folds; lists stay whole
#[derive(clap::Args, Debug)]
#[command(after_help = after_help())]
pub struct Split {
    /// Data files or patterns ('part-*.txt'); - is standard input
    #[arg(value_name = "DATA", required = true)]
    data: Vec<String>,
    /// How to divide: fractions such as 80/20, or a split with parameters such as k-fold:k=5 (listed in --help)
    #[arg(long, value_name = "SPLIT", default_value = "lists")]
    method: String,
    /// Seed of the random draws
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Folder for the parts
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,
    /// Replace the parts of an earlier split in the folder
    #[arg(long)]
    force: bool,
    /// Leave out columns without a use, such as texts, which the format to write may have no place for
    #[arg(long)]
    drop: bool,
    /// Format to write (see `toprank formats`) [default: that of the data file]
    #[arg(long = "to", value_name = "FORMAT")]
    to_format: Option<String>,
    #[command(flatten)]
    reading: Reading,
}

fn after_help() -> String {
    let listed = catalog_help(SPLITS.iter().map(|split| (split.name, split.about, split.params)));
    format!(
        "Examples:\n  toprank split data.txt --method 80/10/10 -o parts\n  \
         toprank split data.csv --method k-fold:k=5 --seed 7 -o folds\n  \
         toprank split ratings.csv --list user --method leave-last -o parts\n  \
         toprank split hiv.csv --method scaffold --smiles smiles -o parts\n\n\
         Splits (the same names as in `recommend train --split` and `embed train --split`; fractions alone mean \
         lists:fractions=…):\n{listed}"
    )
}

/// True of the names of parts: train.csv, fold3.test.txt …
fn is_part(name: &str) -> bool {
    let mut words = name.split('.');
    let first = words.next().unwrap_or_default();
    let fold = first.strip_prefix("fold").is_some_and(|number| number.parse::<u32>().is_ok());
    let part = if fold { words.next().unwrap_or_default() } else { first };
    ["train", "vali", "test"].contains(&part) && words.next().is_some()
}

impl Split {
    /// Reads, divides, writes.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let spec = parse(&self.method)?;
        let folder = Filled::open(&self.output, &is_part, self.force)?;
        let files = expanded(&self.data)?;
        let dataset = read_files(&files, &self.reading.whole(self.drop), common.quiet)?;
        let parts = plan(&dataset, &spec, self.seed)?;
        let source = Source::path(files.first().map_or("-", String::as_str));
        let own = self.reading.input_format.as_deref().or(formats::by_extension(&source).map(|f| f.name));
        let format = self.to_format.as_deref().or(own).unwrap_or("letor");
        let extension = match source.extension() {
            own if self.to_format.is_none() && !own.is_empty() => own,
            _ => formats::by_name(format)
                .and_then(|f| f.extensions.first())
                .map_or("txt".into(), ToString::to_string),
        };
        let mut table = Table::new(["file", "lists", "items"]);
        let (mut written, mut paths) = (Vec::new(), Vec::new());
        for part in &parts {
            let data = part.take(&dataset);
            let path = self.output.join(format!("{}.{extension}", part.name));
            formats::write(&data, &path, Some(format))?;
            let (lists, items) = (data.lists.len(), data.lists.entries());
            table.row([path.display().to_string(), lists.to_string(), items.to_string()]);
            written.push(json!({"path": path.display().to_string(), "lists": lists, "items": items}));
            paths.push(path);
        }
        folder.close(&paths)?;
        if common.json {
            return print_json(&json!({"method": spec.to_string(), "seed": self.seed, "files": written}));
        }
        print(&table.render(Style::Table))
    }
}
