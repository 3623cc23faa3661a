//! `toprank.reconcile` and `toprank.parity`: other tools' numbers and scores beside ours.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use toprank::core::Lists;
use toprank::data::{JoinOptions, join};
use toprank::metrics::reconcile::{Convention, Number, Reconciled, reconcile as search};
use toprank::trees::interop::Replayed;

use crate::arrays::{Array, Columns};
use crate::errors::{refused, unreadable};
use crate::judged::Rows;

/// The conventions under which a metric of arrays is a number, as a dictionary.
#[pyfunction]
pub fn reconcile<'py>(
    py: Python<'py>,
    labels: Array<'py, f32>,
    scores: Array<'py, f64>,
    offsets: Array<'py, u64>,
    metric: &str,
    value: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let lists = Columns::new(&labels, &offsets, None, None)?.lists();
    found(py, &lists, scores.as_slice()?, metric, value)
}

/// The same for judgements and a run.
#[pyfunction]
pub fn reconcile_run<'py>(
    py: Python<'py>,
    qrels: Rows,
    run: Rows,
    metric: &str,
    value: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let options = JoinOptions::default();
    let joined = py.detach(|| Ok(join(&qrels.qrels()?, &run.run()?, &options))).map_err(unreadable)?;
    found(py, &joined.lists, &joined.scores, metric, value)
}

fn found<'py>(
    py: Python<'py>,
    lists: &Lists,
    scores: &[f64],
    metric: &str,
    value: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let number = Number::parse(value).map_err(refused)?;
    let found = py.detach(|| search(lists, scores, metric, &number)).map_err(refused)?;
    let Reconciled { metric, own, presets, conventions, undecided, tried } = found;
    let report = PyDict::new(py);
    report.set_item("metric", metric)?;
    report.set_item("own", own)?;
    report.set_item("presets", presets)?;
    let lines = conventions.into_iter().map(|Convention { rules, mean }| (rules, mean));
    report.set_item("conventions", lines.collect::<Vec<_>>())?;
    report.set_item("undecided", undecided)?;
    report.set_item("tried", tried)?;
    Ok(report)
}

/// Where served scores differ from ours: rows, the largest difference, the largest score, the row that differs most, rows beyond the
/// tolerance.
#[pyfunction]
pub fn replayed(
    ours: Array<f64>,
    served: Array<f64>,
    tolerance: f64,
) -> PyResult<(usize, f64, f64, usize, usize)> {
    let found = Replayed::compare(ours.as_slice()?, served.as_slice()?, tolerance);
    Ok((found.rows, found.difference, found.largest, found.worst, found.beyond))
}
