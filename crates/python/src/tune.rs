//! Settings tuned on data in memory.

use pyo3::prelude::*;
use toprank::train::TrainError;
use toprank::train::fit::tune::{Space, Trial, tune as run_trials};
use toprank::train::rank::run::TuningData;

use crate::errors::{failed, refused};
use crate::table::Table;
use crate::train::Watcher;

/// Tunes on a table, with validation data or by folds: all trials and the best one, as JSON. `space` is the text of a file for
/// `toprank tune`; `record` gets every trial as JSON as soon as it is done.
#[pyfunction]
pub fn tune(
    py: Python,
    space: &str,
    data: &Bound<Table>,
    valid: Option<&Bound<Table>>,
    record: Py<PyAny>,
) -> PyResult<(String, String)> {
    let space = Space::from_toml(space).map_err(refused)?;
    let data = data.borrow_mut().take()?;
    let valid = valid.map(|valid| valid.borrow_mut().take()).transpose()?;
    let mut watcher = Watcher::new(None, None);
    let mut raised = None;
    let result = py.detach(|| {
        let task = TuningData::new(data, valid, space.plan.folds, space.plan.seed)?;
        let mut record = |trial: &Trial| {
            let text = serde_json::to_string(trial).unwrap_or_default();
            raised = Python::attach(|py| record.call1(py, (text,)).err());
            match raised {
                None => Ok(()),
                Some(_) => Err(TrainError::Interrupted { step: 0, steps: 0 }),
            }
        };
        run_trials(&space, &task, Vec::new(), &mut watcher, &mut record)
    });
    if let Some(error) = raised {
        return Err(error);
    }
    watcher.raise()?;
    let (trials, best) = result.map_err(failed)?;
    let trials = serde_json::to_string(&trials).map_err(refused)?;
    let best = serde_json::to_string(&best).map_err(refused)?;
    Ok((trials, best))
}
