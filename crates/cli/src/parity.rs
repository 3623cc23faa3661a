//! `toprank parity`: does the tool that serves a model give our scores?

use std::path::PathBuf;

use serde_json::json;
use toprank::data::Source;
use toprank::data::formats::Opened;
use toprank::data::scores::scores_of_entries;
use toprank::train::{Model, Predictor, TrainError};
use toprank::trees::interop::Replayed;

use crate::failure::Failure;
use crate::reading::{Reading, expanded, read_files};
use crate::{Common, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank parity model.toprank --data logged.csv --served served.txt
  toprank parity model.toprank --data logged.txt --served served.txt --tolerance 1e-5

The data are the features as the serving tool logged them, the served scores what it answered for them, one number per line in the same
order. The model scores the features again. A served score that differs by more than the tolerance times the largest of ours ends
the command with the exit code of bad data.";

/// Replay logged features through a model and compare with the scores that were served
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Parity {
    /// Model file
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Logged features; repeat it or give a pattern for several files
    #[arg(long, value_name = "FILE", required = true)]
    data: Vec<String>,
    /// Scores that were served, one number per line
    #[arg(long, value_name = "FILE")]
    served: String,
    /// Largest difference, relative to the largest score of ours
    #[arg(long, value_name = "N", default_value_t = 1e-6)]
    tolerance: f64,
    #[command(flatten)]
    reading: Reading,
}

impl Parity {
    /// Reads, scores, compares.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            let tolerance = self.tolerance;
            return Err(Failure::usage(format!(
                "--tolerance must be a number of 0 or above, but is {tolerance}"
            )));
        }
        let model = Model::load(&self.model)?;
        let options = toprank::data::ReadOptions {
            label_optional: true,
            ..self.reading.as_trained(&model).options(Vec::new())
        };
        let files = expanded(&self.data)?;
        let data = read_files(&files, &options, common.quiet)?;
        let served = scores_of_entries(&Source::path(&self.served), &data)?;
        let absent = if self.reading.absent_is_missing { f32::NAN } else { 0.0 };
        let opened = Opened::Memory(Box::new(data));
        let predictor = Predictor::new(&model, &files.join(", "), opened, absent)?;
        let mut ours = Vec::with_capacity(served.len());
        predictor.each(|some| {
            ours.extend_from_slice(some);
            Ok::<(), TrainError>(())
        })?;
        let found = Replayed::compare(&ours, &served, self.tolerance);
        if common.json {
            print_json(&json!({
                "rows": found.rows, "difference": found.difference, "largest": found.largest, "beyond": found.beyond,
                "worst": {"row": found.worst + 1, "ours": ours.get(found.worst), "served": served.get(found.worst)},
            }))?;
        } else {
            print(&format!(
                "{} scores compared: the largest difference is {:.3e}, the largest score {:.6}\n",
                found.rows, found.difference, found.largest
            ))?;
        }
        if found.beyond == 0 {
            return Ok(());
        }
        let (ours, theirs) = (ours[found.worst], served[found.worst]);
        Err(Failure::data(format!(
            "{}: {} of {} scores differ; the most in row {}: served {theirs}, expected {ours}. Missing values that are served as 0 are \
             the usual cause (--absent-is-missing; `toprank export --help`)",
            self.served,
            found.beyond,
            found.rows,
            found.worst + 1
        )))
    }
}
