//! `toprank predict`: scores of a model for data of any size, or for lists on standard input.

mod jsonl;
pub mod output;

use std::path::PathBuf;

use toprank::data::formats::Opened;
use toprank::data::{Absent, ReadOptions, Source, formats, sink};
use toprank::train::{Model, Predictor, TrainError};

use self::output::{Form, Output};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::reading::{Reading, note_left_out};
use crate::table::counted;
use crate::{Common, note};

const AFTER_HELP: &str = "\
Examples:
  toprank predict --model model.toprank --data test.txt -o scores.txt
  toprank predict --model model.toprank --data test.csv --label label --probability -o probabilities.txt
  toprank predict --model model.toprank --data test.txt --trec-run -o model.run
  toprank predict --model model.toprank --data big.toprank-data --top 10 -o top.csv
  echo '{\"id\": 7, \"features\": [[0.1, 2], [0.3, null]]}' | toprank predict --model model.toprank --jsonl

Scores stand one a line in the order of the data's rows, as `toprank evaluate --scores` reads them; of multi-label data one
number per label. Data without a label column are scored too. --probability gives the chance of being relevant instead,
in the same order of items: the model must have been trained with --folds or --valid (see `toprank train --calibrate`). Mapped files
(.toprank-data) and LETOR text are scored piece by piece, so they may be larger than memory.
Models of molecules read the column of SMILES that they were trained on, or that of --smiles.
With --jsonl each line of standard input is one list, {\"id\": …, \"features\": [[…], …]}, features in the order of the
model (`toprank inspect MODEL`) or by name, [{\"bm25\": 1.5, …}, …]; null or left out is missing. Each is answered at once:
{\"id\": …, \"scores\": […]}.";

/// Score data with a model: scores, a TREC run, or the best items of each list
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Predict {
    /// Model file
    #[arg(long, short, value_name = "MODEL")]
    model: PathBuf,
    /// Data to score; - is standard input
    #[arg(long, value_name = "FILE", required_unless_present = "jsonl")]
    data: Option<String>,
    /// File to write; - is standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Write a TREC run: query Q0 document rank score tag
    #[arg(long)]
    trec_run: bool,
    /// Only the K best items of each list; as CSV (list,rank,item,score) unless --trec-run
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// Probabilities of being relevant instead of scores
    #[arg(long)]
    probability: bool,
    /// Score one list per line of standard input, as JSON, and answer each at once
    #[arg(long, conflicts_with_all = ["data", "output", "trec_run", "top"])]
    jsonl: bool,
    #[command(flatten)]
    reading: Reading,
}

/// Why scoring ended early.
enum Stopped {
    Scoring(TrainError),
    Writing(std::io::Error),
}

impl From<TrainError> for Stopped {
    fn from(error: TrainError) -> Stopped {
        Stopped::Scoring(error)
    }
}

impl Predict {
    /// Loads, scores, writes.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let model = Model::load(&self.model)?;
        let Some(data) = &self.data else { return jsonl::answer(&model, self.probability) };
        let spinner = Progress::spinner(common.quiet, format!("scoring {data}"));
        let options =
            ReadOptions { label_optional: true, ..self.reading.as_trained(&model).options(Vec::new()) };
        let opened = formats::open(&Source::path(data), &options)?;
        let absent = if options.absent == Absent::Missing { f32::NAN } else { 0.0 };
        if let Opened::Memory(read) = &opened {
            note_left_out(read, data, common.quiet);
        }
        let mut predictor = Predictor::new(&model, data, opened, absent)?;
        if self.probability {
            predictor = predictor.probabilities()?;
        }
        let form = match (self.trec_run, self.top) {
            (false, None) => Form::Scores,
            (false, Some(_)) => Form::Top,
            (true, _) => Form::Run,
        };
        let mut failure = None;
        let written = sink::write_file(&self.output, |out| {
            let mut output = Output::new(form, self.top, predictor.data());
            output.start(out)?;
            match predictor.each(|scores| output.push(scores, out).map_err(Stopped::Writing)) {
                Ok(()) => output.finish(out),
                Err(Stopped::Writing(error)) => Err(error),
                Err(Stopped::Scoring(error)) => {
                    failure = Some(error);
                    Err(std::io::Error::other("scoring ended early"))
                }
            }
        });
        drop(spinner);
        // What stopped the scoring says more than that the file was not written.
        if let Some(error) = failure {
            return Err(error.into());
        }
        written?;
        for (names, what) in [
            (predictor.absent(), "features of the model are never stated and taken as"),
            (predictor.unused(), "columns are no features of the model and left out"),
        ] {
            if !names.is_empty() {
                let taken = match (names == predictor.absent(), absent.is_nan()) {
                    (true, true) => " missing",
                    (true, false) => " 0",
                    (false, _) => "",
                };
                let listed = toprank::data::error::show_names(names.iter().map(String::as_str));
                note(common, format!("{data}: {} {what}{taken}: {listed}", names.len()));
            }
        }
        if self.output != std::path::Path::new("-") {
            let lists = &predictor.data().lists;
            let (lists, items, to) = (lists.len(), lists.entries(), self.output.display());
            note(common, format!("scored {items} items of {}, wrote {to}", counted(lists, "list")));
        }
        Ok(())
    }
}
