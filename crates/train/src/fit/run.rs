//! A run that keeps a checkpoint beside its model: begun, resumed, interrupted, finished.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use toprank_data::{ReadError, sink};

use super::training_loop::{Callbacks, Checkpoints, Outcome, Start, TrainingLoop};
use crate::error::TrainError;

/// The files of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunFiles<'a> {
    /// The model to write, with the checkpoint beside it, and that nobody else writes them now.
    pub lock: &'a RunLock,
    /// Minimum time between two checkpoints.
    pub every: Duration,
    /// What the caller needs to find its files again; kept in the checkpoint.
    pub origin: &'a Value,
}

/// What a run does about the checkpoint that it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// It is a new run, so there must be none.
    New,
    /// It is a new run, and what another one left is discarded.
    Force,
    /// It resumes from it.
    Resume,
}

/// The right to write a model and its checkpoint, for one process at a time. It is a lock of the operating system on `MODEL.lock`,
/// so it ends with its process, however that ends.
#[derive(Debug)]
pub struct RunLock {
    output: PathBuf,
    begin: Begin,
    _held: Option<Held>,
}

impl RunLock {
    /// Locks the files of a run that writes `output`.
    ///
    /// # Errors
    /// [`TrainError::InUse`] if another process has them, [`TrainError::Unfinished`] if a new run would overwrite a checkpoint, or
    /// a file that cannot be written or is a symbolic link.
    pub fn take(output: &Path, begin: Begin) -> Result<RunLock, TrainError> {
        let (checkpoint, folds) = (checkpoint_of(output), beside(output, ".folds"));
        sink::refuse_link(output)?;
        let held = Held::take(output)?;
        if begin != Begin::Force {
            sink::refuse_link(&checkpoint)?;
            sink::refuse_link(&folds)?;
        }
        let there = std::fs::symlink_metadata(&checkpoint).is_ok();
        match begin {
            Begin::New if there => {
                let [file, model] = [&*checkpoint, output].map(|path| path.display().to_string());
                return Err(TrainError::Unfinished { file, model });
            }
            // Of a link it removes the link.
            Begin::Force if there => remove(&checkpoint)?,
            _ => {}
        }
        Ok(RunLock { output: output.to_path_buf(), begin, _held: Some(held) })
    }

    /// The same for a worker that writes no file, as another one does.
    pub fn of_follower(output: &Path, begin: Begin) -> RunLock {
        RunLock { output: output.to_path_buf(), begin, _held: None }
    }

    /// The model to write.
    pub fn output(&self) -> &Path {
        &self.output
    }

    /// True if the run resumes from its checkpoint.
    pub fn resumes(&self) -> bool {
        self.begin == Begin::Resume
    }

    /// Removes the checkpoint of a run that is over.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove_checkpoint(&self) -> Result<(), TrainError> {
        remove(&checkpoint_of(&self.output))
    }
}

fn remove(path: &Path) -> Result<(), TrainError> {
    std::fs::remove_file(path).map_err(|error| ReadError::io(&path.display().to_string(), &error).into())
}

/// A lock of the operating system on a file beside another one; the file is removed in the end.
#[derive(Debug)]
pub struct Held {
    file: File,
    path: PathBuf,
}

impl Held {
    /// Locks `FILE.lock`, which is made.
    ///
    /// # Errors
    /// [`TrainError::InUse`] if another process has it, or a file that cannot be made.
    pub fn take(file: &Path) -> Result<Held, TrainError> {
        let path = beside(file, ".lock");
        let failed = |error: &io::Error| TrainError::from(ReadError::io(&path.display().to_string(), error));
        loop {
            sink::refuse_link(&path)?;
            let options = File::options().create(true).truncate(false).write(true).open(&path);
            let lock = options.map_err(|error| failed(&error))?;
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(TrainError::InUse { file: file.display().to_string() });
                }
                // A file system without locks: all that can be done is to go on without.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
                Err(TryLockError::Error(error)) => return Err(failed(&error)),
            }
            // Its last holder may have removed it between the two lines above: then it is nobody's, and another one is made.
            if is_at(&lock, &path) {
                return Ok(Held { file: lock, path });
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Removed before it is unlocked, so nobody else's is removed. One that stays does no harm: it is not locked.
        let _ = std::fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

/// True if the open file is the one of this name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (here, there) = (file.metadata(), std::fs::symlink_metadata(path));
    here.is_ok_and(|here| there.is_ok_and(|there| (here.dev(), here.ino()) == (there.dev(), there.ino())))
}

/// True if the open file is the one of this name: other systems do not remove an open file.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
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

/// Resumes from a checkpoint, if one is given, tells the callbacks where the part begins, and trains.
pub(crate) fn resume_and_run(
    training: &mut (impl TrainingLoop + ?Sized),
    part: &str,
    resume: Option<&Path>,
    checkpoints: Option<Checkpoints>,
    callbacks: &mut dyn Callbacks,
) -> Result<Outcome, TrainError> {
    let workers = training.state().workers.clone();
    if workers.is_alone() {
        if let Some(path) = resume {
            training.load_checkpoint(path)?;
        }
    } else {
        // The first worker has the file.
        let name = resume.map_or("the checkpoint".into(), |path| path.display().to_string());
        let own =
            resume.map_or(Ok(Vec::new()), std::fs::read).map_err(|error| ReadError::io(&name, &error))?;
        let bytes = workers.of_first(own)?;
        if !bytes.is_empty() {
            training.load_checkpoint_bytes(&name, bytes)?;
        }
    }
    let (step, steps) = (training.steps_done(), training.steps());
    callbacks.start(&Start { part, step, steps, records: training.records() });
    training.run(callbacks, checkpoints)
}

/// Trains to the end with a checkpoint beside the model, without files where there are none. If the loss, the gradient or a score
/// stops being finite, or anything else happens that would happen again, the best model on validation is saved, if there is one, and
/// the checkpoint is removed: resumed, the run would end in the same way.
///
/// # Errors
/// What stopped the run. A run that is interrupted is [`TrainError::Interrupted`] and leaves its checkpoint.
pub(crate) fn run_to_end<T: TrainingLoop + ?Sized>(
    training: &mut T,
    files: Option<&RunFiles>,
    callbacks: &mut dyn Callbacks,
    save_best: &mut dyn FnMut(&T) -> Result<(), TrainError>,
) -> Result<Outcome, TrainError> {
    let path = files.map(|files| checkpoint_of(files.lock.output()));
    let checkpoints = files.zip(path.as_deref()).map(|(files, path)| Checkpoints {
        path,
        every: files.every,
        origin: files.origin,
    });
    let resume = path.as_deref().filter(|_| files.is_some_and(|files| files.lock.resumes()));
    match resume_and_run(training, "", resume, checkpoints, callbacks) {
        Ok(Outcome::Interrupted) => {
            Err(TrainError::Interrupted { step: training.steps_done(), steps: training.steps() })
        }
        Ok(outcome) => Ok(outcome),
        Err(error) => {
            let error = training.state().workers.explain(error);
            let (true, Some(files)) = (is_final(&error), files) else { return Err(error) };
            if let Some((value, epoch)) = training.best() {
                save_best(training)?;
                let (file, metric) = (files.lock.output().display(), training.state().measure.name());
                callbacks.note(&format!(
                    "{file} holds the best model on validation, {metric} {value:.4} in epoch {epoch}"
                ));
            }
            files.lock.remove_checkpoint()?;
            Err(error)
        }
    }
}

/// True of errors that the same config and data end in whenever they are trained: a checkpoint is of no use then.
pub(crate) fn is_final(error: &TrainError) -> bool {
    matches!(
        error,
        TrainError::NotFinite { .. }
            | TrainError::Diverged { .. }
            | TrainError::Goal(_)
            | TrainError::Evaluate(_)
            | TrainError::Model(_)
            | TrainError::Param(_)
    )
}

/// Saves the model of a run that has ended. The checkpoint of one that cannot be saved as it diverged is removed.
///
/// # Errors
/// Those of `save`.
pub(crate) fn save_finished<T>(
    files: &RunFiles,
    save: impl FnOnce() -> Result<T, TrainError>,
) -> Result<T, TrainError> {
    let saved = save();
    if saved.as_ref().is_err_and(is_final) {
        files.lock.remove_checkpoint()?;
    }
    saved
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
    save_finished(files, || save(training))?;
    files.lock.remove_checkpoint()?;
    Ok(outcome)
}
