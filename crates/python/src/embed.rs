//! `toprank.Embedder`: the embedding of the command.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use toprank::metrics::intervals_over_lists;
use toprank::train::embed::{self, Classes, Prepared, Search, Trainer, Vectors, Views};
use toprank::train::fit::run::{Begin, RunLock, run_to_file};
use toprank::train::{Outcome, RunFiles, Settings, TrainError, TrainerKind, TrainingLoop};

use crate::arrays::Array;
use crate::errors::{failed, refused};
use crate::evaluate::{interval_options, measures, shown};
use crate::recommend::rows_of;
use crate::table::Table;
use crate::train::{CHECKPOINT_EVERY, Watcher, check_resumable};

/// A trained embedding; its file is the command's.
#[pyclass(frozen, module = "toprank._toprank")]
pub struct Embedder(embed::Embedder);

/// Trains on rows of classes: the embedding and its curve as JSON. Without validation data the classes are split. The other arguments
/// are those of `train`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called by python/toprank/_embed.py alone")]
pub fn train_embedder(
    py: Python,
    settings: &str,
    data: &Bound<Table>,
    valid: Option<&Bound<Table>>,
    split: Option<(&str, u64)>,
    from: Option<PathBuf>,
    files: Option<(PathBuf, bool)>,
    progress: Option<Py<PyAny>>,
    epochs: Option<Py<PyAny>>,
) -> PyResult<(Embedder, String)> {
    let settings: Settings = serde_json::from_str(settings).map_err(refused)?;
    let config = settings.resolve(TrainerKind::Embed).map_err(refused)?;
    if let Some((output, true)) = &files {
        check_resumable(output)?;
    }
    let views = Views::parse(config.views()).map_err(refused)?.is_some();
    let data = data.borrow_mut().take()?;
    let valid = valid.map(|valid| valid.borrow_mut().take()).transpose()?;
    let nameless = data.list_names.is_none() && data.lists.labels.iter().all(|y| y.is_nan());
    let lock = files
        .as_ref()
        .map(|(output, resume)| RunLock::take(output, if *resume { Begin::Resume } else { Begin::New }))
        .transpose()
        .map_err(failed)?;
    let mut watcher = Watcher::new(progress, epochs);
    let result = py.detach(|| {
        let all = if views && nameless { Classes::unlabelled(data)? } else { Classes::of(data)? };
        let [train, valid, test] = match (valid, split) {
            (Some(valid), _) => [all, Classes::of(valid)?, Classes::default()],
            (None, Some((split, seed))) => all.split(split, seed)?,
            (None, None) => [all, Classes::default(), Classes::default()],
        };
        let (valid, test) = (Some(valid), test.names());
        let prepared = match &from {
            None => Prepared::new(&config, train, valid, &test)?,
            Some(path) => Prepared::warm_started(&config, embed::Embedder::load(path)?, train, valid, &test)?,
        };
        let mut trainer = Trainer::new(&config, &prepared)?;
        let origin = json!("Python");
        let outcome = match &lock {
            None => trainer.run(&mut watcher, None)?,
            Some(lock) => {
                let files = RunFiles { lock, every: CHECKPOINT_EVERY, origin: &origin };
                let mut save = |trainer: &Trainer| trainer.embedder().save(lock.output());
                run_to_file(&mut trainer, &files, &mut watcher, &mut save)?
            }
        };
        if outcome == Outcome::Interrupted {
            return Err(TrainError::Interrupted { step: trainer.steps_done(), steps: trainer.steps() });
        }
        let records = serde_json::to_string(trainer.records()).unwrap_or_default();
        Ok((trainer.embedder(), records))
    });
    watcher.raise()?;
    let (embedder, records) = result.map_err(failed)?;
    Ok((Embedder(embedder), records))
}

impl Embedder {
    fn vectors(&self, values: &PyReadonlyArray2<f32>) -> PyResult<Vectors> {
        let width = values.shape()[1];
        Ok(Vectors { width, values: values.as_slice()?.to_vec(), similarity: self.0.similarity() })
    }
}

#[pymethods]
impl Embedder {
    /// Loads a model file of the command or of `save`.
    #[staticmethod]
    fn load(py: Python, path: PathBuf) -> PyResult<Embedder> {
        py.detach(|| embed::Embedder::load(&path)).map(Embedder).map_err(failed)
    }

    fn save(&self, py: Python, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.save(&path)).map_err(failed)
    }

    /// What the file says about itself, as JSON.
    fn header(&self) -> PyResult<String> {
        serde_json::to_string(self.0.header()).map_err(refused)
    }

    /// The vectors of rows.
    fn embed<'py>(&self, py: Python<'py>, data: &Bound<'py, Table>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let data = data.borrow_mut().take()?;
        let vectors = py.detach(|| self.0.embed("X", data, f32::NAN)).map_err(failed)?;
        rows_of(py, vectors)
    }

    #[expect(clippy::type_complexity, reason = "called by python/toprank/_embed.py alone")]
    /// The `k` nearest vectors of each query in the gallery, or among the other queries: their numbers and their similarities.
    fn search<'py>(
        &self,
        py: Python<'py>,
        queries: PyReadonlyArray2<'py, f32>,
        gallery: Option<PyReadonlyArray2<'py, f32>>,
        k: usize,
    ) -> PyResult<(Bound<'py, PyArray2<u32>>, Bound<'py, PyArray2<f32>>)> {
        let queries = self.vectors(&queries)?;
        let gallery = gallery.map(|gallery| self.vectors(&gallery)).transpose()?;
        let found = py.detach(|| Search { queries: &queries, gallery: gallery.as_ref() }.nearest(k));
        let shape = [found.len(), found.first().map_or(0, Vec::len)];
        let items: Vec<u32> = found.iter().flatten().map(|best| best.item).collect();
        let scores: Vec<f32> = found.iter().flatten().map(|best| best.score).collect();
        Ok((items.into_pyarray(py).reshape(shape)?, scores.into_pyarray(py).reshape(shape)?))
    }

    /// Evaluates a search by classes; a dictionary that `toprank.Evaluation` wraps.
    #[expect(clippy::too_many_arguments, reason = "called by python/toprank/_embed.py alone")]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        queries: PyReadonlyArray2<'py, f32>,
        gallery: Option<PyReadonlyArray2<'py, f32>>,
        of_queries: Array<'py, u32>,
        of_gallery: Array<'py, u32>,
        metrics: &str,
        replicates: usize,
        level: f64,
        seed: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (measures, policy) = measures(metrics, None, &[])?;
        let queries = self.vectors(&queries)?;
        let gallery = gallery.map(|gallery| self.vectors(&gallery)).transpose()?;
        let (of_queries, of_gallery) = (of_queries.as_slice()?, of_gallery.as_slice()?);
        let search = Search { queries: &queries, gallery: gallery.as_ref() };
        let found = py.detach(|| search.evaluate(of_queries, of_gallery, &measures)).map_err(failed)?;
        let bounds = match interval_options(replicates, level, seed)? {
            None => vec![None; found.results.len()],
            Some(options) => py.detach(|| intervals_over_lists(&found.results, None, &options)),
        };
        let report = PyDict::new(py);
        report.set_item("policy", policy.to_string())?;
        report.set_item("like", py.None())?;
        report.set_item("lists", queries.rows())?;
        report.set_item("items", gallery.as_ref().map_or(queries.rows(), Vectors::rows))?;
        report.set_item("results", shown(py, found.results, bounds)?)?;
        Ok(report)
    }
}
