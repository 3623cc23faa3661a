//! `toprank.Ranker` and `toprank.Classifier`: the trainer and the model file of the command.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use toprank::data::Dataset;
use toprank::data::formats::Opened;
use toprank::train::rank::folds::{Scale, folds, out_of_fold};
use toprank::train::rank::job::Views;
use toprank::train::{
    Calibrate, Config, Data, Job, Learner, Model as Trained, Now, Outcome, Predictor, Record, Settings,
    TrainError, Watch,
};

use crate::errors::{failed, refused};
use crate::table::Table;

type Scores<'py> = Bound<'py, PyArray1<f64>>;

/// A trained model; its file is the command's.
#[pyclass(frozen, module = "toprank._toprank")]
pub struct Model(Trained);

/// Trains on a table: the model, its curve as JSON, and the out-of-fold scores if there are folds.
///
/// `progress` is called with (step, steps, pass, loss, metric) now and then.
#[pyfunction]
pub fn train<'py>(
    py: Python<'py>,
    settings: &str,
    data: &Bound<'py, Table>,
    valid: Option<&Bound<'py, Table>>,
    from: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Model, String, Option<Scores<'py>>)> {
    let settings: Settings = serde_json::from_str(settings).map_err(refused)?;
    settings.resolve().map_err(refused)?;
    let data = data.borrow_mut().take()?;
    let valid = valid.map(|valid| valid.borrow_mut().take()).transpose()?;
    let mut eye = Eye::new(progress);
    let result = py.detach(|| learn(settings, data, valid, from, &mut eye));
    eye.raise()?;
    let (model, records, held) = result.map_err(failed)?;
    let records = serde_json::to_string(&records).map_err(refused)?;
    Ok((Model(model), records, held.map(|held| held.into_pyarray(py))))
}

type Learned = (Trained, Vec<Record>, Option<Vec<f64>>);

fn learn(
    settings: Settings,
    data: Dataset,
    valid: Option<Dataset>,
    from: Option<PathBuf>,
    eye: &mut Eye,
) -> Result<Learned, TrainError> {
    let config = settings.suited_to(&data.lists)?.resolve()?;
    let held = match config.folds {
        0 => None,
        _ => Some(cross_validate(&config, &data, valid.as_ref(), eye)?),
    };
    let kept = held.is_some().then(|| data.clone());
    let from = from.map(|path| Trained::load(&path)).transpose()?;
    let (data, valid) = (Data::from(data), valid.map(Data::from));
    let job = match &from {
        None => Job::new(&config, data, valid)?,
        Some(from) => Job::going_on(&config, from, data, valid)?,
    };
    let views = job.views()?;
    let mut learner = job.trainer(&views)?;
    run(&mut *learner, eye)?;
    let model = job.model(&*learner)?;
    let (outputs, calibrate) = (model.header().outputs, Calibrate::parse(&config.calibrate)?);
    let (calibration, scores) = match (held, kept) {
        (Some((folds, held)), Some(data)) => {
            let scale = Scale::of(job.train().lists(), &job.train_scores(&*learner, &views)?);
            let scores = out_of_fold(&data, &folds, &held, &scale);
            (calibrate.fit(&data.lists, &scores, outputs)?, Some(scores))
        }
        _ => (of_validation(&job, &*learner, &views, calibrate, outputs)?, None),
    };
    Ok((model.with_calibration(calibration), learner.records().to_vec(), scores))
}

fn of_validation(
    job: &Job,
    learner: &dyn Learner,
    views: &Views,
    calibrate: Calibrate,
    outputs: usize,
) -> Result<Vec<toprank::train::Calibration>, TrainError> {
    Ok(match job.valid_scores(learner, views)? {
        Some((lists, scores)) => calibrate.fit(lists, &scores, outputs)?,
        None => Vec::new(),
    })
}

type Folds = (Vec<toprank::train::rank::folds::Fold>, Vec<toprank::train::rank::folds::Held>);

fn cross_validate(
    config: &Config,
    data: &Dataset,
    valid: Option<&Dataset>,
    eye: &mut Eye,
) -> Result<Folds, TrainError> {
    let folds = folds(config, data)?;
    let mut held = Vec::new();
    for fold in &folds {
        let job = fold.job(config, data, valid)?;
        let views = job.views()?;
        let mut learner = job.trainer(&views)?;
        run(&mut *learner, eye)?;
        held.push(fold.held(&job, &*learner, &views, data)?);
    }
    Ok((folds, held))
}

fn run(learner: &mut dyn Learner, eye: &mut Eye) -> Result<(), TrainError> {
    match learner.run(eye, None)? {
        // Whoever stopped it has left an exception behind, which is raised instead.
        Outcome::Interrupted => Err(TrainError::Damaged("stopped".into())),
        Outcome::Finished | Outcome::Stopped => Ok(()),
    }
}

/// Looks up from the work: signals are heard, progress is told.
pub struct Eye {
    progress: Option<Py<PyAny>>,
    failed: Option<PyErr>,
    looked: Instant,
}

/// Time between two looks: a person notices nothing shorter, and the lock is seldom taken.
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl Eye {
    /// `progress` is called now and then.
    pub fn new(progress: Option<Py<PyAny>>) -> Eye {
        Eye { progress, failed: None, looked: Instant::now() }
    }

    /// Looks up, unless it did so a moment ago.
    pub fn look(&mut self, tell: impl FnOnce(&Py<PyAny>, Python) -> PyResult<Py<PyAny>>) {
        if self.looked.elapsed() >= LOOK_EVERY {
            self.look_now(tell);
        }
    }

    fn look_now(&mut self, tell: impl FnOnce(&Py<PyAny>, Python) -> PyResult<Py<PyAny>>) {
        self.looked = Instant::now();
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

impl Watch for Eye {
    fn step(&mut self, now: &Now) {
        let tell = |progress: &Py<PyAny>, py: Python| {
            progress.call1(py, (now.step, now.steps, now.epoch, now.loss, now.metric))
        };
        if now.step < now.steps {
            self.look(tell);
        } else {
            self.look_now(tell);
        }
    }

    fn stop(&mut self) -> bool {
        self.stopped()
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
                    Some(_) => Err(TrainError::Damaged("stopped".into())),
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
