//! A run in the loop of [`Course`] that keeps a checkpoint beside its model: begun, taken up, stopped, finished.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use toprank::train::{Course, Keep, Outcome, TrainError};

use super::screen::Screen;
use super::{beside, checkpoint_of};
use crate::curves::Curves;
use crate::failure::Failure;
use crate::{Common, interrupt, note};

/// Reads the time between two checkpoints.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "expected a number of seconds from 0 on".into())
}

/// What is said about a run and where it is kept.
pub(crate) struct KeptRun<'a> {
    pub common: &'a Common,
    /// The words that started it, after `toprank`.
    pub command: &'a str,
    /// Time between checkpoints.
    pub every: Duration,
    /// The model to write.
    pub out: &'a Path,
    /// Where curves go.
    pub curves: Option<&'a Path>,
    /// Metric of validation; `judged`: there is something to validate on.
    pub metric: &'a str,
    pub judged: bool,
    /// What is trained, for the screen.
    pub words: String,
    /// What the checkpoint keeps of the command line.
    pub origin: Value,
    /// The checkpoint to go on from.
    pub kept: Option<&'a Path>,
}

impl KeptRun<'_> {
    /// Trains until it is done and saves the model. A run that fails after its first step leaves the last good model, one
    /// that is interrupted its checkpoint.
    pub fn go<C: Course>(
        &self,
        trainer: &mut C,
        save: &mut dyn FnMut(&C) -> Result<(), TrainError>,
        explain: &dyn Fn(TrainError) -> Failure,
    ) -> Result<(Outcome, f64), Failure> {
        let KeptRun { common, out, .. } = self;
        if let Some(kept) = self.kept {
            trainer.load_checkpoint(kept).map_err(explain)?;
            note(common, format!("taken up after step {} of {}", trainer.steps_done(), trainer.steps()));
        }
        let checkpoint = beside(out, ".checkpoint");
        interrupt::by_request();
        let metrics = if self.judged { vec![self.metric.to_string()] } else { Vec::new() };
        let curves =
            self.curves.map(|folder| Curves::open(folder, &metrics, trainer.records())).transpose()?;
        let mut screen = Screen::named(common, self.words.clone(), self.metric, "", curves);
        let keep = Keep { path: &checkpoint, every: self.every, origin: &self.origin };
        let outcome = match trainer.run(&mut screen, Some(keep)) {
            Ok(outcome) => outcome,
            Err(error) => {
                if trainer.steps_done() > 0 && matches!(error, TrainError::NotFinite { .. }) {
                    save(trainer)?;
                    note(common, format!("{} holds the last good model", out.display()));
                }
                return Err(explain(error));
            }
        };
        let seconds = screen.started.elapsed().as_secs_f64();
        screen.finish()?;
        if outcome == Outcome::Interrupted {
            return Err(Failure::interrupted(format!(
                "stopped after step {} of {}; go on with `toprank {} --resume {}`",
                trainer.steps_done(),
                trainer.steps(),
                self.command,
                out.display()
            )));
        }
        save(trainer)?;
        // The model is whole: nothing is left to take up.
        std::fs::remove_file(&checkpoint).map_err(|error| {
            Failure::failed(format!("{}: cannot be removed: {error}", checkpoint.display()))
        })?;
        Ok((outcome, seconds))
    }
}

/// The run that was to write `model`: its config, what it keeps of the command line, its checkpoint. `None`: it is finished
/// after `epochs`, and the user was told. `plain`: no setting stands beside `--resume`.
pub(crate) fn taken_up<C, O: DeserializeOwned>(
    common: &Common,
    command: &str,
    model: &Path,
    plain: bool,
    epochs: impl FnOnce() -> Result<u32, TrainError>,
    about: impl FnOnce(&Path) -> Result<(C, Value), TrainError>,
) -> Result<Option<(C, O, PathBuf)>, Failure> {
    if !plain {
        return Err(Failure::usage(
            "--resume goes on as it was started: expected no other setting beside it",
        ));
    }
    let Some(kept) = checkpoint_of(model)? else {
        note(common, format!("{} is finished after {} passes", model.display(), epochs()?));
        return Ok(None);
    };
    let (config, origin) = about(&kept)?;
    let origin: O = serde_json::from_value(origin).map_err(|error| {
        Failure::data(format!("{}: was not written by toprank {command} ({error})", kept.display()))
    })?;
    Ok(Some((config, origin, kept)))
}
