//! `toprank.Recommender`: the recommender of the command.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use toprank::data::formats::interactions;
use toprank::data::{Column, Dataset, Matrix, Names, ReadError};
use toprank::metrics::intervals_over_lists;
use toprank::train::embed::Vectors;
use toprank::train::fit::run::{Begin, RunLock, run_to_file};
use toprank::train::recommend::{self, HistoryParts, Known, Part, PartEvaluation, Recommended, Top, Trainer};
use toprank::train::store::fingerprint::Input;
use toprank::train::{Outcome, RunFiles, Settings, TrainError, TrainerKind, TrainingLoop};

use crate::arrays::{Array, numbers};
use crate::errors::{failed, refused, unreadable};
use crate::evaluate::{interval_options, measures, shown};
use crate::train::{CHECKPOINT_EVERY, Watcher, check_resumable};

/// Interactions row by row: users, items, ratings (1 where there are none) and times.
type Rows<'py> = (Vec<String>, Vec<String>, Option<Array<'py, f32>>, Option<Array<'py, f64>>);

/// What is known about users or items: their names, the names of the columns, a row of numbers each.
type Side<'py> = (Vec<String>, Vec<String>, PyReadonlyArray2<'py, f32>);

/// Interactions in three parts.
#[pyclass(frozen, module = "toprank._toprank")]
pub struct Interactions(recommend::Interactions);

fn dataset(name: &str, rows: &Rows) -> PyResult<Dataset> {
    let (users, items, ratings, times) = rows;
    let (ratings, times) = (numbers(ratings.as_ref())?, numbers(times.as_ref())?);
    let of = |row: usize| ratings.map_or(1.0, |ratings| ratings.get(row).copied().unwrap_or(f32::NAN));
    let pairs = users.iter().zip(items).enumerate();
    let rows = pairs.map(|(row, (user, item))| (user.as_str(), item.as_str(), of(row)));
    let built: Result<Dataset, ReadError> = interactions::from_rows(name, rows, times);
    built.map_err(unreadable)
}

fn known(side: Option<&Side>, names: &Names, what: Input) -> PyResult<Option<Known>> {
    let Some((rows, columns, values)) = side else { return Ok(None) };
    let column = |name: &String| Column { name: name.clone(), levels: None };
    let table = Dataset {
        features: Matrix::Dense { width: columns.len(), values: values.as_slice()?.to_vec() },
        columns: columns.iter().map(column).collect(),
        item_names: Some(rows.iter().collect()),
        ..Dataset::default()
    };
    Known::of_table(&table, names, what).map(Some).map_err(failed)
}

#[pymethods]
impl Interactions {
    /// The parts are given, or cut out of `train` by `split`.
    #[new]
    fn new(
        train: Rows,
        valid: Option<Rows>,
        test: Option<Rows>,
        split: Option<&str>,
        seed: u64,
        user_features: Option<Side>,
        item_features: Option<Side>,
    ) -> PyResult<Interactions> {
        let train = dataset("the interactions", &train)?;
        let mut data = match split {
            Some(split) => recommend::Interactions::split(&train, split, seed),
            None => {
                let valid = valid.map(|rows| dataset("valid", &rows)).transpose()?;
                let test = test.map(|rows| dataset("test", &rows)).transpose()?;
                recommend::Interactions::given(&train, valid.as_ref(), test.as_ref())
            }
        }
        .map_err(refused)?;
        data.user_features = known(user_features.as_ref(), &data.users, Input::UserFeatures)?;
        data.item_features = known(item_features.as_ref(), &data.items, Input::ItemFeatures)?;
        Ok(Interactions(data))
    }

    /// Numbers of pairs for training, validation and test.
    fn pairs(&self) -> [usize; 3] {
        [self.0.train.pairs(), self.0.valid.pairs(), self.0.test.pairs()]
    }
}

/// A trained recommender; its file is the command's.
#[pyclass(frozen, module = "toprank._toprank")]
pub struct Recommender(recommend::Recommender);

/// Trains on interactions: the recommender and its curve as JSON. The other arguments are those of `train`.
#[pyfunction]
pub fn train_recommender(
    py: Python,
    settings: &str,
    data: &Bound<Interactions>,
    from: Option<PathBuf>,
    files: Option<(PathBuf, bool)>,
    progress: Option<Py<PyAny>>,
    epochs: Option<Py<PyAny>>,
) -> PyResult<(Recommender, String)> {
    let settings: Settings = serde_json::from_str(settings).map_err(refused)?;
    let config = settings.resolve(TrainerKind::Recommend).map_err(refused)?;
    if let Some((output, true)) = &files {
        check_resumable(output)?;
    }
    let data = &data.get().0;
    recommend::check_settings(&settings, &config, data).map_err(refused)?;
    let lock = files
        .as_ref()
        .map(|(output, resume)| RunLock::take(output, if *resume { Begin::Resume } else { Begin::New }))
        .transpose()
        .map_err(failed)?;
    let mut watcher = Watcher::new(progress, epochs);
    let result = py.detach(|| {
        let mut trainer = Trainer::new(&config, data)?;
        if let Some(from) = &from {
            trainer.start_from(&recommend::Recommender::load_mapped(from)?)?;
        }
        let origin = json!("Python");
        let outcome = match &lock {
            None => trainer.run(&mut watcher, None)?,
            Some(lock) => {
                let files = RunFiles { lock, every: CHECKPOINT_EVERY, origin: &origin };
                let mut save = |trainer: &Trainer| trainer.recommender()?.save(lock.output());
                run_to_file(&mut trainer, &files, &mut watcher, &mut save)?
            }
        };
        if outcome == Outcome::Interrupted {
            return Err(TrainError::Interrupted { step: trainer.steps_done(), steps: trainer.steps() });
        }
        let records = serde_json::to_string(trainer.records()).unwrap_or_default();
        Ok((trainer.recommender()?, records))
    });
    watcher.raise()?;
    let (recommender, records) = result.map_err(failed)?;
    Ok((Recommender(recommender), records))
}

/// Vectors as rows of an array.
pub fn rows_of(py: Python, vectors: Vectors) -> PyResult<Bound<PyArray2<f32>>> {
    let shape = [vectors.rows(), vectors.width];
    vectors.values.into_pyarray(py).reshape(shape)
}

/// Names and scores.
type Named = (Vec<String>, Vec<f64>);

fn named(items: Vec<Recommended>) -> Named {
    items.into_iter().map(|found| (found.item, found.score)).unzip()
}

/// Items, their scores, and whether they are the most popular ones for want of anything better.
type Best = (Vec<String>, Vec<f64>, bool);

fn top(top: Top) -> Best {
    let (items, scores) = named(top.items);
    (items, scores, top.by_popularity)
}

#[pymethods]
impl Recommender {
    /// Loads a model file of the command or of `save`.
    #[staticmethod]
    fn load(py: Python, path: PathBuf) -> PyResult<Recommender> {
        py.detach(|| recommend::Recommender::load(&path)).map(Recommender).map_err(failed)
    }

    fn save(&self, py: Python, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.save(&path)).map_err(failed)
    }

    /// What the file says about itself, as JSON.
    fn header(&self) -> PyResult<String> {
        serde_json::to_string(self.0.header()).map_err(refused)
    }

    /// Names of all users and of all items.
    fn names(&self) -> (Vec<&str>, Vec<&str>) {
        (self.0.data().users.iter().collect(), self.0.data().items.iter().collect())
    }

    /// The best unseen items of users, without those of `excluded`.
    fn recommend(
        &self,
        py: Python,
        users: Vec<String>,
        k: usize,
        excluded: Vec<String>,
    ) -> PyResult<Vec<Best>> {
        let users: Vec<u32> =
            users.iter().map(|name| self.0.user(name)).collect::<Result<_, _>>().map_err(refused)?;
        let excluded: Vec<u32> =
            excluded.iter().map(|name| self.0.item(name)).collect::<Result<_, _>>().map_err(refused)?;
        Ok(py.detach(|| self.0.tops_without(&users, k, &excluded)).into_iter().map(top).collect())
    }

    /// The best items for somebody new with a history.
    fn recommend_new(&self, py: Python, histories: Vec<Vec<String>>, k: usize) -> PyResult<Vec<Best>> {
        py.detach(|| {
            let of = |history: &Vec<String>| {
                let names: Vec<&str> = history.iter().map(String::as_str).collect();
                self.0.top_of_history(&names, k).map(top)
            };
            histories.iter().map(of).collect::<Result<Vec<_>, _>>()
        })
        .map_err(failed)
    }

    /// The items most like some items.
    fn similar(&self, py: Python, items: Vec<String>, k: usize) -> PyResult<Vec<Named>> {
        let items: Vec<u32> =
            items.iter().map(|name| self.0.item(name)).collect::<Result<_, _>>().map_err(refused)?;
        let found = py.detach(|| self.0.similar(&items, k)).map_err(refused)?;
        Ok(found.into_iter().map(named).collect())
    }

    /// The vectors of users and of items, in the order of their names.
    fn vectors<'py>(&self, py: Python<'py>, of_items: bool) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let vectors = py.detach(|| if of_items { self.0.item_vectors() } else { self.0.user_vectors() });
        rows_of(py, vectors.map_err(refused)?)
    }

    /// Evaluates by full ranking, or `popularity` on the same users; a dictionary that `toprank.Evaluation` wraps.
    #[expect(clippy::too_many_arguments, reason = "called by python/toprank/_recommend.py alone")]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        metrics: &str,
        on_test: bool,
        valid_unseen: bool,
        sampled: Option<(usize, u64)>,
        k: usize,
        popularity: bool,
        history: &str,
        replicates: usize,
        level: f64,
        seed: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (measures, policy) = measures(metrics, None, &[])?;
        let part = if on_test { Part::Test } else { Part::Valid };
        let known = [HistoryParts::Train, HistoryParts::TrainValid];
        let Some(history) = known.into_iter().find(|parts| parts.name() == history) else {
            return Err(refused(format!(
                "history: found {history:?}, expected \"train\" or \"train+valid\""
            )));
        };
        let mut model = self.0.clone();
        model.use_history(history);
        let found = py.detach(|| match popularity {
            true => model.evaluate_popularity(part, &measures, valid_unseen, sampled, k),
            false => model.evaluate(part, &measures, valid_unseen, sampled, k),
        });
        let found = found.map_err(failed)?;
        let diversity = py.detach(|| model.diversity(&found, part, valid_unseen));
        let PartEvaluation { evaluation, users, beyond, .. } = found;
        let results = evaluation.results;
        let bounds = match interval_options(replicates, level, seed)? {
            None => vec![None; results.len()],
            Some(options) => py.detach(|| intervals_over_lists(&results, None, &options)),
        };
        let names = &self.0.data().users;
        let report = PyDict::new(py);
        report.set_item("policy", policy.to_string())?;
        report.set_item("like", py.None())?;
        report.set_item("lists", users.len())?;
        report.set_item("items", self.0.data().items.len())?;
        report.set_item("names", users.iter().map(|&user| names.get(user as usize)).collect::<Vec<_>>())?;
        let further = PyDict::new(py);
        further.set_item("k", beyond.k)?;
        for figure in diversity {
            further.set_item(figure.name, figure.value)?;
        }
        report.set_item("beyond", further)?;
        report.set_item("results", shown(py, results, bounds)?)?;
        Ok(report)
    }
}
