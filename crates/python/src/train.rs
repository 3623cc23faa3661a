//! `toprank.Ranker` and `toprank.Classifier`: the trainer and the model file of the command.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::{PyFileNotFoundError, PyUserWarning};
use pyo3::prelude::*;
use serde_json::json;
use toprank::data::formats::Opened;
use toprank::train::fit::run::{Begin, RunLock, checkpoint_of};
use toprank::train::{
    Callbacks, Files, Model as Trained, Predictor, Progress, Run, RunFiles, Settings, TrainError, TrainerKind,
};

use crate::errors::{failed, refused};
use crate::table::Table;

type Scores<'py> = Bound<'py, PyArray1<f64>>;

/// A trained model; its file is the command's.
#[pyclass(frozen, module = "toprank._toprank")]
pub struct Model(Trained);

/// Minimum time between two checkpoints: the command's default.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(10);

/// Trains on a table: the model, its curve as JSON, and the out-of-fold scores if there are folds.
///
/// `progress` is called with (step, steps, epoch, loss, metric) now and then. `files` is the model to write, with its
/// checkpoint beside it while it trains, and whether the run resumes from that.
#[pyfunction]
pub fn train<'py>(
    py: Python<'py>,
    settings: &str,
    data: &Bound<'py, Table>,
    valid: Option<&Bound<'py, Table>>,
    from: Option<PathBuf>,
    files: Option<(PathBuf, bool)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Model, String, Option<Scores<'py>>)> {
    let mut settings: Settings = serde_json::from_str(settings).map_err(refused)?;
    // No file, but validation data nevertheless: some defaults depend on whether there are any.
    settings.valid = valid.map(|_| Files::default());
    let config = settings.resolve(TrainerKind::Rank).map_err(refused)?;
    if let Some((output, true)) = &files {
        check_resumable(output)?;
    }
    let data = data.borrow_mut().take()?;
    let valid = valid.map(|valid| valid.borrow_mut().take()).transpose()?;
    // The command finds no files of its own in it, and says so if it is asked to resume.
    let origin = json!("Python");
    let lock = files
        .as_ref()
        .map(|(output, resume)| RunLock::take(output, if *resume { Begin::Resume } else { Begin::New }))
        .transpose()
        .map_err(failed)?;
    let mut watcher = Watcher::new(progress);
    let result = py.detach(|| {
        let config = config.suited_to(&data.lists)?;
        let from = from.map(|path| Trained::load(&path)).transpose()?;
        let run = Run {
            config: &config,
            train: data.into(),
            valid: valid.map(Into::into),
            from: from.as_ref(),
            fold_metrics: None,
            files: lock.as_ref().map(|lock| RunFiles { lock, every: CHECKPOINT_EVERY, origin: &origin }),
        };
        run.train(&mut watcher)
    });
    // Whoever stopped the run has left an exception behind, which is raised instead of the error.
    watcher.raise()?;
    let trained = result.map_err(failed)?;
    lock.map_or(Ok(()), |lock| trained.finish(&lock)).map_err(failed)?;
    let records = serde_json::to_string(&trained.records).map_err(refused)?;
    let held = trained.folds.map(|folds| folds.scores.into_pyarray(py));
    Ok((Model(trained.model), records, held))
}

/// Refuses to resume where nothing was interrupted.
fn check_resumable(output: &Path) -> PyResult<()> {
    let checkpoint = checkpoint_of(output);
    if checkpoint.exists() {
        return Ok(());
    }
    let advice = if output.exists() {
        format!("{} is finished: load it, or omit resume to train anew", output.display())
    } else {
        "omit resume to start a run".to_string()
    };
    Err(PyFileNotFoundError::new_err(format!(
        "{}: there is no such file, expected the checkpoint of an interrupted run; {advice}",
        checkpoint.display()
    )))
}

/// Callbacks of a run: signals are checked, progress is reported.
pub struct Watcher {
    progress: Option<Py<PyAny>>,
    failed: Option<PyErr>,
    checked: Instant,
}

/// Time between two checks: a person notices nothing shorter, and the lock is seldom taken.
const CHECK_EVERY: Duration = Duration::from_millis(50);

impl Watcher {
    /// `progress` is called now and then.
    pub fn new(progress: Option<Py<PyAny>>) -> Watcher {
        Watcher { progress, failed: None, checked: Instant::now() }
    }

    /// Checks, unless it did so a moment ago.
    pub fn check(&mut self, tell: impl FnOnce(&Py<PyAny>, Python) -> PyResult<Py<PyAny>>) {
        if self.checked.elapsed() >= CHECK_EVERY {
            self.check_now(tell);
        }
    }

    fn check_now(&mut self, tell: impl FnOnce(&Py<PyAny>, Python) -> PyResult<Py<PyAny>>) {
        self.checked = Instant::now();
        // The first exception counts: the last step of a fold cannot be stopped, the step after it is.
        if self.failed.is_some() {
            return;
        }
        let progress = self.progress.as_ref();
        let seen = Python::attach(|py| {
            py.check_signals()?;
            progress.map_or(Ok(()), |progress| tell(progress, py).map(|_| ()))
        });
        self.failed = seen.err();
    }

    /// True if a signal or `progress` asks to stop.
    pub fn stopped(&self) -> bool {
        self.failed.is_some()
    }

    /// The exception that stopped the work, if one did.
    pub fn raise(self) -> PyResult<()> {
        self.failed.map_or(Ok(()), Err)
    }
}

impl Callbacks for Watcher {
    fn step(&mut self, now: &Progress) {
        let tell = |progress: &Py<PyAny>, py: Python| {
            progress.call1(py, (now.step, now.steps, now.epoch, now.loss, now.metric))
        };
        if now.step < now.steps {
            self.check(tell);
        } else {
            self.check_now(tell);
        }
    }

    fn stop(&mut self) -> bool {
        self.stopped()
    }

    fn note(&mut self, text: &str) {
        let warned =
            Python::attach(|py| PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(text)?, 1));
        if let Err(error) = warned {
            self.failed.get_or_insert(error);
        }
    }
}

/// The exception of a signal that came in meanwhile.
fn signals() -> Option<PyErr> {
    Python::attach(|py| Python::check_signals(py).err())
}

#[pymethods]
impl Model {
    /// Loads a model file of the command or of `save`.
    #[staticmethod]
    fn load(py: Python, path: PathBuf) -> PyResult<Model> {
        py.detach(|| Trained::load(&path)).map(Model).map_err(failed)
    }

    fn save(&self, py: Python, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.save(&path)).map_err(failed)
    }

    /// True if an item's score depends on the other items of its list.
    fn looks_at_lists(&self) -> bool {
        self.0.looks_at_lists()
    }

    /// What the file says about itself, as JSON.
    fn header(&self) -> PyResult<String> {
        serde_json::to_string(self.0.header()).map_err(refused)
    }

    /// Scores of all entries, in order; several outputs: one after the other.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, Table>,
        probability: bool,
    ) -> PyResult<Scores<'py>> {
        let data = data.borrow_mut().take()?;
        let mut scores = Vec::with_capacity(data.lists.entries());
        let mut stopped = None;
        let done = py.detach(|| {
            let opened = Opened::Memory(Box::new(data));
            let mut predictor = Predictor::new(&self.0, "X", opened, f32::NAN)?;
            if probability {
                predictor = predictor.probabilities()?;
            }
            predictor.each(|some| {
                scores.extend_from_slice(some);
                stopped = signals();
                match stopped {
                    None => Ok(()),
                    Some(_) => Err(TrainError::Interrupted { step: 0, steps: 0 }),
                }
            })
        });
        if let Some(error) = stopped {
            return Err(error);
        }
        done.map_err(failed)?;
        Ok(scores.into_pyarray(py))
    }
}
