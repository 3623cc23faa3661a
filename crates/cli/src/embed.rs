//! `toprank embed`: vectors in which what belongs together lies together.

mod apply;
mod train;

pub(crate) use train::parts;

use serde_json::json;
use toprank::data::Dataset;
use toprank::train::Embedder;

use crate::failure::Failure;
use crate::progress::Progress;
use crate::reading::{self, Reading};
use crate::table::{Style, counted, settings};
use crate::{Common, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank embed train --data letters.csv --class letter --split 60/20/20 --objective map -o emb.toprank
  toprank embed apply --model emb.toprank --data letters.csv -o vectors.npy
  toprank retrieve --model emb.toprank --queries letters.csv --class letter --part test

A network turns the features of a row (any table of numbers, also pixels) into a vector of length 1. In training every row of a
batch is a query over the other rows, those of its class are relevant, and any objective of `toprank objectives` says which
cosines should rise. What is learned holds for classes that were never seen: that is why the split divides classes.";

/// Train and apply embeddings: vectors of rows that lie near each other when they are of one class
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Embed {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    Train(Box<train::Train>),
    Apply(Box<apply::Apply>),
}

impl Embed {
    /// Runs the subcommand.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        match &self.command {
            Command::Train(command) => command.run(common),
            Command::Apply(command) => command.run(common),
        }
    }
}

/// What is read of a file beside the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A class for every row.
    Classes,
    /// Classes, where the file has them.
    ClassesIfAny,
    /// Nothing else.
    Nothing,
}

/// Reads rows: the column `class` becomes the lists, whatever order the rows are in; without it labels are classes.
pub fn read(
    paths: &[String],
    class: Option<&str>,
    reading: &Reading,
    wanted: Wanted,
    quiet: bool,
) -> Result<Dataset, Failure> {
    let _spinner = Progress::spinner(quiet, format!("reading {}", paths.join(", ")));
    let mut options = reading.options(Vec::new());
    if let Some(class) = class.filter(|_| wanted != Wanted::Nothing) {
        options.list = Some(class.to_string());
        options.unlabelled = true;
    }
    options.regroup = true;
    options.unlabelled |= wanted == Wanted::Nothing;
    options.label_optional = wanted == Wanted::ClassesIfAny;
    reading::read_files(paths, &options, quiet)
}

/// What a feature that no line of a text states is worth.
pub fn absent(reading: &Reading) -> f32 {
    if reading.absent_is_missing { f32::NAN } else { 0.0 }
}

/// What an embedding is, for `toprank inspect`.
pub fn show(file: &str, common: &Common) -> Result<(), Failure> {
    let embedder = Embedder::load(file.as_ref())?;
    let header = embedder.header();
    if common.json {
        return print_json(&json!({
            "file": file, "config": header.config, "reached": header.reached, "width": header.width,
            "classes": header.parts, "parameters": embedder.parameters(),
        }));
    }
    let mut text = format!(
        "{file}: an embedding, its self-test passes\n{} into {}, {}\n",
        counted(header.width, "feature"),
        counted(header.config.dimensions() as usize, "dimension"),
        counted(embedder.parameters(), "parameter"),
    );
    let parts = &header.parts;
    for (name, classes) in [("train", &parts.train), ("valid", &parts.valid), ("test", &parts.test)] {
        text += &format!("{name}: {}\n", counted(classes.len(), "class"));
    }
    if let Some((epoch, value)) = header.reached.best {
        text +=
            &format!("best {} on validation: {value:.4}, in pass {epoch}\n", header.config.valid_metric());
    }
    text += "\n";
    print(&(text + &settings(&json!(header.config)).render(Style::Table)))
}
