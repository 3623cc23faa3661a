//! `toprank split`: parts of a data set, written to files.

use std::path::PathBuf;

use serde_json::json;
use toprank::core::Spec;
use toprank::data::split::{SPLITS, plan};
use toprank::data::{Source, formats};

use crate::failure::Failure;
use crate::reading::Reading;
use crate::table::{Style, Table, catalog_help};
use crate::{Common, print, print_json};

/// Divide a data set into train, vali and test, or folds; a list is never split
#[derive(clap::Args, Debug)]
#[command(after_help = after_help())]
pub struct Split {
    /// Data file; - is standard input
    data: String,
    /// How: lists, k-fold, stratified, leave-last-out, within-lists, scaffold, with parameters as in lists:shares=80/20
    #[arg(long, short, default_value = "lists")]
    method: String,
    /// Seed of the draws
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Folder for the parts
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
    /// Format to write [default: that of the data file]
    #[arg(long = "to", value_name = "NAME")]
    to_format: Option<String>,
    #[command(flatten)]
    reading: Reading,
}

fn after_help() -> String {
    let listed = catalog_help(SPLITS.iter().map(|split| (split.name, split.about, split.params)));
    format!(
        "Methods:\n{listed}\nExample: toprank split data.csv -m k-fold:k=5 --seed 7 -o folds\n         toprank split hiv.csv -m scaffold --smiles smiles -o parts"
    )
}

impl Split {
    /// Reads, divides, writes.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let spec = Spec::parse(&self.method)?;
        let dataset = self.reading.read(&self.data, Vec::new(), common.quiet)?;
        let parts = plan(&dataset, &spec, self.seed)?;
        let source = Source::path(&self.data);
        let own = self.reading.input_format.as_deref().or(formats::by_extension(&source).map(|f| f.name));
        let format = self.to_format.as_deref().or(own).unwrap_or("letor");
        let extension = match source.extension() {
            own if self.to_format.is_none() && !own.is_empty() => own,
            _ => formats::by_name(format)
                .and_then(|f| f.extensions.first())
                .map_or("txt".into(), ToString::to_string),
        };
        std::fs::create_dir_all(&self.output)?;
        let mut table = Table::new(["file", "lists", "items"]);
        let mut files = Vec::new();
        for part in &parts {
            let data = part.take(&dataset);
            let path = self.output.join(format!("{}.{extension}", part.name));
            formats::write(&data, &path, Some(format))?;
            let (lists, items) = (data.lists.len(), data.lists.entries());
            table.row([path.display().to_string(), lists.to_string(), items.to_string()]);
            files.push(json!({"path": path.display().to_string(), "lists": lists, "items": items}));
        }
        if common.json {
            return print_json(&json!({"method": spec.to_string(), "seed": self.seed, "files": files}));
        }
        print(&table.render(Style::Table))
    }
}
