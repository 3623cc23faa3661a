//! Judgements and runs: dictionaries and files in, an evaluation out.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use toprank::data::{JoinOptions, MissingLists, Qrels, ReadError, Run, Source, join, read_qrels, read_run};
use toprank::metrics::{evaluate, intervals_over_lists};

use crate::errors::{refused, unreadable};
use crate::evaluate::{interval_options, measures, shown};

/// A file, or (query, document, number) row by row.
#[derive(FromPyObject)]
pub enum Rows {
    File(String),
    Rows(Vec<(String, String, f64)>),
}

impl Rows {
    pub fn qrels(&self) -> Result<Qrels, ReadError> {
        match self {
            Rows::File(path) => read_qrels(&Source::path(path)),
            Rows::Rows(rows) => {
                let rows =
                    rows.iter().map(|(query, doc, label)| (query.as_str(), doc.as_str(), *label as f32));
                Qrels::from_rows("qrels", rows)
            }
        }
    }

    pub fn run(&self) -> Result<Run, ReadError> {
        match self {
            Rows::File(path) => read_run(&Source::path(path)),
            Rows::Rows(rows) => {
                let rows = rows.iter().map(|(query, doc, score)| (query.as_str(), doc.as_str(), *score));
                Run::from_rows("run", rows)
            }
        }
    }
}

/// Evaluates a run by judgements; a dictionary that `toprank.Evaluation` wraps.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called by python/toprank/_judge.py alone")]
pub fn evaluate_run<'py>(
    py: Python<'py>,
    qrels: Rows,
    run: Rows,
    metrics: &str,
    like: Option<&str>,
    rules: Vec<(String, String)>,
    complete: bool,
    depth: Option<u32>,
    replicates: usize,
    level: f64,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let (measures, policy) = measures(metrics, like, &rules)?;
    let missing_lists = if complete { MissingLists::Empty } else { MissingLists::LeaveOut };
    let options = JoinOptions { missing_lists, depth, scores: policy.scores };
    let joined = py.detach(|| Ok(join(&qrels.qrels()?, &run.run()?, &options))).map_err(unreadable)?;
    if joined.lists.is_empty() {
        return Err(refused("no query of the run is in the qrels; expected at least one query name in both"));
    }
    let results = py.detach(|| evaluate(&joined.lists, &joined.scores, &measures)).map_err(refused)?.results;
    crate::own::check_raised()?;
    let bounds = match interval_options(replicates, level, seed)? {
        None => vec![None; results.len()],
        Some(options) => py.detach(|| intervals_over_lists(&results, None, &options)),
    };
    let report = PyDict::new(py);
    report.set_item("policy", policy.to_string())?;
    report.set_item("like", like)?;
    report.set_item("lists", joined.lists.len())?;
    report.set_item("items", joined.lists.entries())?;
    report.set_item("names", joined.list_names.iter().collect::<Vec<_>>())?;
    report.set_item("only_in_qrels", joined.only_in_qrels.len())?;
    report.set_item("only_in_run", joined.only_in_run.len())?;
    report.set_item("results", shown(py, results, bounds)?)?;
    Ok(report)
}
