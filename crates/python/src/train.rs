//! `toprank.Ranker` and `toprank.Classifier`: the trainer and the model file of the command.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use numpy::{IntoPyArray, PyArray1, PyArray3, PyArrayMethods};
use pyo3::exceptions::{PyFileNotFoundError, PyUserWarning};
use pyo3::prelude::*;
use serde_json::json;
use toprank::data::formats::Opened;
use toprank::train::fit::run::{Begin, RunLock, checkpoint_of};
use toprank::train::{
    Callbacks, Files, Model as Trained, Predictor, Progress, Record, Run, RunFiles, Settings, Start,
    TrainError, TrainerKind, Workers,
};

use toprank::train::rank::explain::{Explainer, Sampling, tree_importance};

use crate::errors::{failed, refused};
use crate::evaluate::measures;
use crate::own;
use crate::table::Table;

type Scores<'py> = Bound<'py, PyArray1<f64>>;
type PerFeature<'py> = Bound<'py, PyArray3<f64>>;

/// A trained model; its file is the command's.
#[pyclass(frozen, module = "toprank._toprank")]
pub struct Model(Trained);

/// Minimum time between two checkpoints: the command's default.
pub const CHECKPOINT_EVERY: Duration = Duration::from_secs(10);

/// Trains on a table: the model, its curve as JSON, and the out-of-fold scores if there are folds.
///
/// `progress` is called with (step, steps, epoch, loss, metric) now and then, `epochs` after every epoch with the part of the work and
/// the epoch's record as JSON; if it returns True, that part of the work ends there. `files` is the model to write, with its
/// checkpoint beside it while it trains, and whether the run resumes from that.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called by python/toprank/_estimators.py alone")]
pub fn train<'py>(
    py: Python<'py>,
    settings: &str,
    data: &Bound<'py, Table>,
    valid: Option<&Bound<'py, Table>>,
    from: Option<PathBuf>,
    files: Option<(PathBuf, bool)>,
    progress: Option<Py<PyAny>>,
    epochs: Option<Py<PyAny>>,
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
    let mut watcher = Watcher::new(progress, epochs);
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
            workers: Workers::default(),
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
pub fn check_resumable(output: &Path) -> PyResult<()> {
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
    epochs: Option<Py<PyAny>>,
    /// The part of the work: a fold, the final model.
    part: String,
    /// What `epochs` answered after the last epoch.
    enough: bool,
    failed: Option<PyErr>,
    checked: Instant,
}

/// Time between two checks: a person notices nothing shorter, and the lock is seldom taken.
const CHECK_EVERY: Duration = Duration::from_millis(50);

impl Watcher {
    /// `progress` is called now and then, `epochs` after every epoch.
    pub fn new(progress: Option<Py<PyAny>>, epochs: Option<Py<PyAny>>) -> Watcher {
        let (part, checked) = (String::new(), Instant::now());
        Watcher { progress, epochs, part, enough: false, failed: None, checked }
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
        self.failed.is_some() || own::has_raised()
    }

    /// The exception that stopped the work, if one did.
    pub fn raise(self) -> PyResult<()> {
        self.failed.or_else(own::raised).map_or(Ok(()), Err)
    }
}

impl Callbacks for Watcher {
    fn start(&mut self, start: &Start) {
        self.part = start.part.to_string();
    }

    fn epoch(&mut self, record: &Record) {
        self.enough = false;
        let Some(epochs) = self.epochs.as_ref().filter(|_| self.failed.is_none()) else { return };
        let text = serde_json::to_string(record).unwrap_or_default();
        match Python::attach(|py| epochs.call1(py, (&self.part, text))?.is_truthy(py)) {
            Ok(enough) => self.enough = enough,
            Err(error) => self.failed = Some(error),
        }
    }

    fn enough(&mut self) -> bool {
        self.enough
    }

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

impl Model {
    /// The model and the data as it sees them.
    fn explainer(&self, data: &Bound<Table>) -> PyResult<Explainer<'_>> {
        let data = data.borrow_mut().take()?;
        Explainer::new(&self.0, "X", data, f32::NAN).map_err(failed)
    }
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

    /// Gain and number of splits of each feature of a model of trees; `None`: it is none.
    fn tree_importance(&self) -> Option<(Vec<f64>, Vec<u64>)> {
        tree_importance(&self.0)
    }

    /// What a metric loses when a feature is shuffled: its name, and for each feature the mean and the deviation.
    fn permutation(
        &self,
        py: Python,
        data: &Bound<Table>,
        metric: Option<&str>,
        rounds: usize,
        seed: u64,
    ) -> PyResult<(String, Vec<f64>, Vec<f64>)> {
        let metric = metric.unwrap_or(self.0.header().config.valid_metric());
        let (mut measures, _) = measures(metric, None, &[])?;
        let Some(measure) = measures.pop().filter(|_| measures.is_empty()) else {
            return Err(refused(format!("metric must be one metric, but is {metric}")));
        };
        let explainer = self.explainer(data)?;
        let lost = py.detach(|| explainer.permutation(&measure, rounds, seed)).map_err(failed)?;
        let name = measure.name().to_string();
        Ok((name, lost.iter().map(|one| one.mean).collect(), lost.iter().map(|one| one.deviation).collect()))
    }

    /// What each feature adds to each score: rows × outputs × features, the same of the standard errors if values are sampled, the
    /// expected scores, row after row, and how it was computed.
    fn shap<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, Table>,
        samples: usize,
        seed: u64,
    ) -> PyResult<(PerFeature<'py>, Option<PerFeature<'py>>, Scores<'py>, &'static str)> {
        let explainer = self.explainer(data)?;
        let found = py.detach(|| explainer.shap(Sampling { samples, seed })).map_err(failed)?;
        let shape = [explainer.rows(), found.outputs, found.width];
        let shaped = |values: Vec<f64>| values.into_pyarray(py).reshape(shape);
        let errors = found.errors.map(shaped).transpose()?;
        Ok((shaped(found.values)?, errors, found.expected.into_pyarray(py), found.method.name()))
    }

    /// Mean scores with a feature set to each of its values, output after output for each value.
    fn dependence(
        &self,
        py: Python,
        data: &Bound<Table>,
        feature: usize,
        values: usize,
    ) -> PyResult<(Vec<f32>, Vec<f64>)> {
        let explainer = self.explainer(data)?;
        let found = py.detach(|| explainer.dependence(feature, values)).map_err(failed)?;
        Ok((found.values, found.means))
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
