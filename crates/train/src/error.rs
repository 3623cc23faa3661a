//! What can go wrong in training.

use toprank_core::collective::CollectiveError;
use toprank_core::{ModelError, ParamError};
use toprank_data::ReadError;
use toprank_embeddings::TableError;
use toprank_metrics::EvaluateError;
use toprank_objectives::GoalError;

use crate::store::fingerprint::Input;

/// What can go wrong in training, saving and loading.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// A setting outside its range.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A model that cannot do what it is asked.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// An objective that cannot use these lists or scores.
    #[error(transparent)]
    Goal(#[from] GoalError),
    /// A metric that cannot evaluate the validation data.
    #[error("validation: {0}")]
    Evaluate(#[from] EvaluateError),
    /// A file that cannot be read or written.
    #[error(transparent)]
    File(#[from] ReadError),
    /// A folder without space for the tables of a recommender.
    #[error(transparent)]
    Tables(#[from] TableError),
    /// Features in a damaged part of a file.
    #[error("{0}")]
    Damaged(String),
    /// A model file or checkpoint that is not what it should be.
    #[error("{file}: {found}, expected {expected}")]
    Format {
        /// The file.
        file: String,
        /// What was found.
        found: String,
        /// What was expected, and what to do.
        expected: String,
    },
    /// Data that do not suit the settings, the model or the other data.
    #[error("the {input}: {found}; expected {expected}")]
    Unsuitable {
        /// Which data.
        input: Input,
        /// What was found.
        found: String,
        /// What was expected, and what to do.
        expected: String,
    },
    /// Something a run reads is not what it was when the run began.
    #[error(
        "{file}: the {input} changed since this was written, expected the same as then: restore it, or start anew"
    )]
    InputChanged {
        /// The checkpoint, or what else is to be continued.
        file: String,
        /// What changed.
        input: Input,
    },
    /// A model that is not to replace anything.
    #[error(
        "{file}: not written, as the model is unusable: {found}, expected finite numbers. Training diverged: a lower learning \
         rate, a smaller clip or feature transforms may help"
    )]
    Diverged {
        /// The file that stays as it was.
        file: String,
        /// What is not finite.
        found: String,
    },
    /// A worker ended before the run was over, or cannot be reached.
    #[error("{0}; resume the run with any number of workers")]
    Worker(#[from] CollectiveError),
    /// Workers that were not given the same.
    #[error(
        "worker {worker} has {what} {found}, expected {expected}, as worker 0 has: start all workers with the same version, \
         settings and data"
    )]
    WorkersDiffer {
        /// The first worker that differs from worker 0.
        worker: usize,
        /// What differs.
        what: String,
        /// What that worker has.
        found: String,
        /// What worker 0 has.
        expected: String,
    },
    /// Another process writes the same file.
    #[error(
        "{file}: another run is writing it now; expected to be the only one: wait for it, or name another file with -o"
    )]
    InUse {
        /// The file.
        file: String,
    },
    /// A checkpoint that a new run would overwrite.
    #[error(
        "{file}: the checkpoint of a run that is not finished, which a new run would overwrite; resume it with --resume {model}, \
         discard it with --force (or remove it), or name another file with -o"
    )]
    Unfinished {
        /// The checkpoint.
        file: String,
        /// Its model.
        model: String,
    },
    /// A callback stopped the run.
    #[error("interrupted after step {step} of {steps}")]
    Interrupted {
        /// Steps done.
        step: u64,
        /// The largest number of steps there could have been.
        steps: u64,
    },
    /// The loss, the gradient or the model is no longer a number.
    #[error(
        "step {step}: the {what} is not a finite number{}. A lower learning rate, a smaller clip or feature transforms may help",
        some(lists)
    )]
    NotFinite {
        /// The step, from 0.
        step: u64,
        /// Loss, gradient or model.
        what: &'static str,
        /// The lists of the batch, from 0.
        lists: Vec<u32>,
    },
}

impl TrainError {
    pub(crate) fn unsuitable(input: Input, found: &str, expected: &str) -> TrainError {
        TrainError::Unsuitable { input, found: found.into(), expected: expected.into() }
    }
}

fn some(lists: &[u32]) -> String {
    if lists.is_empty() {
        return String::new();
    }
    let first: Vec<String> = lists.iter().take(8).map(u32::to_string).collect();
    let more = if lists.len() > 8 { format!(" … ({} lists)", lists.len()) } else { String::new() };
    format!("; the batch held the lists {}{more} (counted from 0)", first.join(", "))
}
