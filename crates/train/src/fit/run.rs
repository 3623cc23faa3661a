//! A run that keeps a checkpoint beside its model: begun, resumed, interrupted, finished.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use toprank_data::ReadError;

use super::training_loop::{Callbacks, Checkpoints, Outcome, Start, TrainingLoop};
use crate::error::TrainError;

/// The files of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunFiles<'a> {
    /// The model to write; the checkpoint stands beside it.
    pub output: &'a Path,
    /// Minimum time between two checkpoints.
    pub every: Duration,
    /// What the caller needs to find its files again; kept in the checkpoint.
    pub origin: &'a Value,
    /// True if the run resumes from its checkpoint.
    pub resume: bool,
}

/// A file that belongs to a model and stands beside it.
pub fn beside(model: &Path, ending: &str) -> PathBuf {
    let mut name = model.as_os_str().to_os_string();
    name.push(ending);
    PathBuf::from(name)
}

/// The checkpoint of the run that writes `model`.
pub fn checkpoint_of(model: &Path) -> PathBuf {
    beside(model, ".checkpoint")
}

impl RunFiles<'_> {
    /// Removes the checkpoint of a finished run.
    pub(crate) fn remove_checkpoint(&self) -> Result<(), TrainError> {
        let path = checkpoint_of(self.output);
        std::fs::remove_file(&path).map_err(|error| ReadError::io(&path.display().to_string(), &error).into())
    }
}

/// Resumes from a checkpoint, if one is given, tells the callbacks where the part begins, and trains.
pub(crate) fn resume_and_run(
    training: &mut (impl TrainingLoop + ?Sized),
    part: &str,
    resume: Option<&Path>,
    checkpoints: Option<Checkpoints>,
    callbacks: &mut dyn Callbacks,
) -> Result<Outcome, TrainError> {
    if let Some(path) = resume {
        training.load_checkpoint(path)?;
    }
    let (step, steps) = (training.steps_done(), training.steps());
    callbacks.start(&Start { part, step, steps, records: training.records() });
    training.run(callbacks, checkpoints)
}

/// Trains to the end with a checkpoint beside the model, without files where there are none. If the loss or the gradient stops
/// being finite, the best model on validation is saved, if there is one: `save` is told so.
///
/// # Errors
/// What stopped the run. A run that is interrupted is [`TrainError::Interrupted`] and leaves its checkpoint.
pub(crate) fn run_to_end<T: TrainingLoop + ?Sized>(
    training: &mut T,
    files: Option<&RunFiles>,
    callbacks: &mut dyn Callbacks,
    save_best: &mut dyn FnMut(&T) -> Result<(), TrainError>,
) -> Result<Outcome, TrainError> {
    let path = files.map(|files| checkpoint_of(files.output));
    let checkpoints = files.zip(path.as_deref()).map(|(files, path)| Checkpoints {
        path,
        every: files.every,
        origin: files.origin,
    });
    let resume = path.as_deref().filter(|_| files.is_some_and(|files| files.resume));
    match resume_and_run(training, "", resume, checkpoints, callbacks) {
        Ok(Outcome::Interrupted) => {
            Err(TrainError::Interrupted { step: training.steps_done(), steps: training.steps() })
        }
        Ok(outcome) => Ok(outcome),
        Err(error) => {
            let diverged = matches!(error, TrainError::NotFinite { .. } | TrainError::Goal(_));
            if let (true, Some(files), Some((value, epoch))) = (diverged, files, training.best()) {
                save_best(training)?;
                let (file, metric) = (files.output.display(), training.state().measure.name());
                callbacks.note(&format!(
                    "{file} holds the best model on validation, {metric} {value:.4} in epoch {epoch}"
                ));
            }
            Err(error)
        }
    }
}

/// Trains to the end and saves the model; the checkpoint is removed once the model is whole.
///
/// # Errors
/// What stopped the run, or a file that cannot be written.
pub fn run_to_file<T: TrainingLoop + ?Sized>(
    training: &mut T,
    files: &RunFiles,
    callbacks: &mut dyn Callbacks,
    save: &mut dyn FnMut(&T) -> Result<(), TrainError>,
) -> Result<Outcome, TrainError> {
    let outcome = run_to_end(training, Some(files), callbacks, save)?;
    save(training)?;
    files.remove_checkpoint()?;
    Ok(outcome)
}
