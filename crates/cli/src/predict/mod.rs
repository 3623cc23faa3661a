//! `toprank predict`: scores of a model for data of any size, or for lists on standard input.

mod jsonl;
pub mod output;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toprank::data::error::show_names;
use toprank::data::formats::Opened;
use toprank::data::{Absent, ReadOptions, Source, formats, sink};
use toprank::train::{Model, Predictor, TrainError};

use self::output::{Form, Output};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::reading::{Reading, expanded, note_left_out, read_files};
use crate::table::counted;
use crate::{Common, note, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank predict model.toprank --data test.txt -o scores.txt
  toprank predict model.toprank --data test.csv --label label --probability -o probabilities.txt
  toprank predict model.toprank --data test.txt --trec-run -o model.run
  toprank predict model.toprank --data big.toprank-data --top 10 -o top.csv
  toprank predict model.toprank --data 'part-*.txt' -o scores.txt
  echo '{\"id\": 7, \"features\": [[0.1, 2], [0.3, null]]}' | toprank predict model.toprank --jsonl

The output has one score per line in the order of the data's rows, as `toprank evaluate --scores` reads it; for multi-label data
one number per label. Data need no label column. --probability writes the probability of being relevant instead, which ranks the
items in the same order: the model must have been trained with --folds or --valid (see `toprank train --calibrate`).
Memory-mapped files (.toprank-data) and LETOR text are scored piece by piece, so they may be larger than memory. Features are
found by name; numbered features beyond those of the model are an error.

Models of molecules read the SMILES column that they were trained on, or that of --smiles.

With --json the result is one JSON object: scores (or, with --top, the best items) on standard output, a summary if they go to a
file.

With --jsonl each line of standard input is one list, {\"id\": …, \"features\": [[…], …]}, with features in the order of the
model (`toprank inspect MODEL`) or by name, [{\"bm25\": 1.5, …}, …]; null or an omitted name is missing. Each line is answered at
once: {\"id\": …, \"scores\": […]}, or {\"id\": …, \"error\": \"…\"} if it cannot be scored; --strict ends there with exit code 3.";

/// Score data with a model: scores, a TREC run, or the best items of each list
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Predict {
    /// Model file
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Data to score, - for standard input; repeat it or give a pattern ('part-*.txt') for several files
    #[arg(long, value_name = "FILE", required_unless_present = "jsonl")]
    data: Vec<String>,
    /// File to write; - is standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Write a TREC run: query Q0 document rank score tag
    #[arg(long)]
    trec_run: bool,
    /// Write only the K best items of each list, as CSV (list,rank,item,score) unless --trec-run
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// Write probabilities of being relevant instead of scores
    #[arg(long)]
    probability: bool,
    /// Score one list per line of standard input, as JSON, and answer each at once
    #[arg(long, conflicts_with_all = ["data", "output", "trec_run", "top"])]
    jsonl: bool,
    /// With --jsonl: end at the first line that cannot be scored instead of answering it with an error
    #[arg(long, requires = "jsonl", conflicts_with = "data")]
    strict: bool,
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
        if self.jsonl {
            return jsonl::answer(&model, self.probability, self.strict);
        }
        let to_stdout = self.output == Path::new("-");
        if common.json && to_stdout && self.trec_run {
            return Err(Failure::usage(
                "--json and --trec-run both want standard output; expected a file after -o, or one of the two",
            ));
        }
        let files = expanded(&self.data)?;
        let data = files.join(", ");
        let options =
            ReadOptions { label_optional: true, ..self.reading.as_trained(&model).options(Vec::new()) };
        let opened = match files.as_slice() {
            [file] => {
                let _spinner = Progress::spinner(common.quiet, &format!("reading {file}"));
                formats::open(&Source::path(file), &options)?
            }
            several => Opened::Memory(Box::new(read_files(several, &options, common.quiet)?)),
        };
        let absent = if options.absent == Absent::Missing { f32::NAN } else { 0.0 };
        if let (Opened::Memory(read), [_]) = (&opened, files.as_slice()) {
            note_left_out(read, &data, common.quiet);
        }
        let mut predictor = Predictor::new(&model, &data, opened, absent)?;
        if self.probability {
            predictor = predictor
                .probabilities()
                .map_err(|error| Failure::from(error).about(self.model.display()))?;
        }
        let form = match (self.trec_run, self.top) {
            (false, None) => Form::Scores,
            (false, Some(_)) => Form::Top,
            (true, _) => Form::Run,
        };
        let mut output = Output::new(form, self.top, predictor.data());
        if common.json && to_stdout {
            let results = self.collected(&predictor, &mut output, common)?;
            return self.report(&predictor, &files, Some(results));
        }
        self.write(&predictor, &mut output, common)?;
        Self::explain_columns(&predictor, &data, absent, common);
        if to_stdout {
            return Ok(());
        }
        if common.json {
            return self.report(&predictor, &files, None);
        }
        let lists = &predictor.data().lists;
        let (lists, items, to) = (lists.len(), lists.entries(), self.output.display());
        note(common, format!("scored {items} items of {}, wrote {to}", counted(lists, "list")));
        Ok(())
    }

    /// Scores everything into the file.
    fn write(&self, predictor: &Predictor, output: &mut Output, common: &Common) -> Result<(), Failure> {
        let spinner = Progress::spinner(common.quiet, "scoring");
        let mut failure = None;
        let written = sink::write_file(&self.output, |out| {
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
        match failure {
            Some(error) => Err(error.into()),
            None => Ok(written?),
        }
    }

    /// Scores everything into JSON: a name and the values under it.
    fn collected(
        &self,
        predictor: &Predictor,
        output: &mut Output,
        common: &Common,
    ) -> Result<(&'static str, Value), Failure> {
        let spinner = Progress::spinner(common.quiet, "scoring");
        let mut all = Vec::new();
        predictor.each(|scores| {
            all.extend_from_slice(scores);
            Ok::<(), TrainError>(())
        })?;
        drop(spinner);
        match self.top {
            Some(_) => Ok(("top", output.top_as_json(&all))),
            None => Ok(("scores", output.rows_as_json(&all).map_err(Failure::usage)?)),
        }
    }

    /// Prints what was done, with the results unless they are in a file.
    fn report(
        &self,
        predictor: &Predictor,
        files: &[String],
        results: Option<(&'static str, Value)>,
    ) -> Result<(), Failure> {
        let lists = &predictor.data().lists;
        let mut value = json!({
            "model": self.model, "data": files, "lists": lists.len(), "items": lists.entries(),
            "probability": self.probability, "absent": predictor.absent(), "unused": predictor.unused(),
        });
        match results {
            Some((name, results)) => value[name] = results,
            None => value["output"] = json!(self.output),
        }
        print_json(&value)
    }

    /// Notes which features were not in the data, and which columns the model does not use.
    fn explain_columns(predictor: &Predictor, data: &str, absent: f32, common: &Common) {
        let listed = |names: &[String]| show_names(names.iter().map(String::as_str));
        let (lacking, unused) = (predictor.absent(), predictor.unused());
        if !lacking.is_empty() {
            let taken = if absent.is_nan() { "missing" } else { "0" };
            let count = counted(lacking.len(), "feature");
            note(
                common,
                format!("{data}: {count} of the model not stated, taken as {taken}: {}", listed(lacking)),
            );
        }
        if !unused.is_empty() {
            let count = counted(unused.len(), "column");
            note(common, format!("{data}: {count} not used by the model: {}", listed(unused)));
        }
    }
}
