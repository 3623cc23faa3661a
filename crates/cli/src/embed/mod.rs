//! `toprank embed`: embeddings, in which rows of one class lie near each other.

mod apply;
mod train;

pub(crate) use train::parts;

use serde_json::json;
use toprank::data::Dataset;
use toprank::train::Embedder;

use crate::failure::Failure;
use crate::reading::{Reading, read_files};
use crate::table::{Style, counted, settings};
use crate::{Common, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank embed train --data letters.csv --class letter --split 60/20/20 --objective map -o emb.toprank
  toprank embed apply emb.toprank --data letters.csv -o vectors.npy
  toprank retrieve emb.toprank --queries letters.csv --class letter --part test

A network maps the features of a row (any table of numbers, also pixels) to a vector, of length 1 if similarity is the cosine. In training every row of a
batch is a query over the other rows, those of its class are relevant, and any objective of `toprank objectives` can be used.
The embedding is meant for classes that were not in the training data, which is why the split divides classes.";

/// Train and apply embeddings, in which rows of one class are near each other
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

/// What is read of a file besides the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A class for every row.
    Classes,
    /// Classes, where the file has them.
    ClassesIfAny,
    /// Nothing else.
    Nothing,
}

/// Reads the rows of a file, or of all that match a pattern: see [`read_all`].
pub fn read(
    path: &str,
    class: Option<&str>,
    reading: &Reading,
    wanted: Wanted,
    quiet: bool,
) -> Result<Dataset, Failure> {
    read_all(&[path.to_string()], class, reading, wanted, quiet)
}

/// Reads rows: the column `class` becomes the lists, whatever order the rows are in; without it labels are classes.
pub fn read_all(
    paths: &[String],
    class: Option<&str>,
    reading: &Reading,
    wanted: Wanted,
    quiet: bool,
) -> Result<Dataset, Failure> {
    let mut options = reading.options(Vec::new());
    if let Some(class) = class.filter(|_| wanted != Wanted::Nothing) {
        options.list = Some(class.to_string());
        options.unlabelled = true;
    }
    options.regroup = true;
    options.unlabelled |= wanted == Wanted::Nothing;
    options.label_optional = wanted == Wanted::ClassesIfAny;
    read_files(paths, &options, quiet)
}

/// The value of a feature that no line of a text states.
pub fn absent(reading: &Reading) -> f32 {
    if reading.absent_is_missing { f32::NAN } else { 0.0 }
}

/// Describes an embedding, for `toprank inspect`.
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
            &format!("best {} on validation: {value:.4}, in epoch {epoch}\n", header.config.valid_metric());
    }
    text += "\n";
    print(&(text + &settings(&json!(header.config)).render(Style::Table)))
}
