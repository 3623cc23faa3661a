//! Runs fused and decision thresholds chosen.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use toprank::core::{List, Policy};
use toprank::data::align;
use toprank::metrics::fusion;
use toprank::metrics::threshold::{Fraction, OperatingPoint, Thresholds, Wish};

use crate::arrays::{Array, numbers};
use crate::errors::{refused, unreadable};
use crate::judged::Rows;

/// A fused run: (query, its documents with their scores, best first).
type Fused = Vec<(String, Vec<(String, f64)>)>;

/// Fuses runs by a method in the grammar of the command.
#[pyfunction]
pub fn fuse(py: Python, runs: Vec<Rows>, method: &str, depth: Option<usize>) -> PyResult<Fused> {
    let fusion = fusion::parse(method).map_err(refused)?;
    py.detach(|| {
        let runs: Vec<_> = runs.iter().map(Rows::run).collect::<Result<_, _>>().map_err(unreadable)?;
        let aligned = align(&runs.iter().collect::<Vec<_>>());
        let columns: Vec<&[f64]> = aligned.scores.iter().map(Vec::as_slice).collect();
        let fused = fusion::fuse_queries(&*fusion, &columns, &aligned.offsets, depth)
            .map_err(|(query, error)| refused(format!("query {}: {error}", aligned.queries.get(query))))?;
        let run = aligned.run(method, &fused).map_err(unreadable)?;
        let documents = |query: usize| {
            let mut documents: Vec<(String, f64)> =
                run.documents(query).map(|(doc, score)| (doc.to_string(), score)).collect();
            documents.sort_by(|a, b| b.1.total_cmp(&a.1));
            documents
        };
        let queries = run.queries().iter().enumerate();
        Ok(queries.map(|(query, name)| (name.to_string(), documents(query))).collect())
    })
}

/// What is wanted of a threshold: one of them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Wanted {
    recall: Option<f64>,
    precision: Option<f64>,
    alerts: Option<f64>,
    alert_fraction: Option<f64>,
    cost: Option<(f64, f64)>,
    at: Option<f64>,
}

/// The operating point that meets a wish, as a dictionary; `None`: none does.
#[pyfunction]
pub fn threshold<'py>(
    py: Python<'py>,
    labels: Array<'py, f32>,
    scores: Array<'py, f64>,
    weights: Option<Array<'py, f32>>,
    relevant: Option<&str>,
    wanted: Wanted,
    level: f64,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let mut policy = Policy::default();
    if let Some(relevant) = relevant {
        policy.set("relevant", relevant).map_err(refused)?;
    }
    let list =
        List { weights: numbers(weights.as_ref())?, ..List::new(scores.as_slice()?, labels.as_slice()?) };
    let thresholds = py
        .detach(|| Thresholds::of(&list, &policy))
        .map_err(|error| refused(format!("scores: item {} is not a number", error.item)))?;
    let Wanted { recall, precision, alerts, alert_fraction, cost, at } = wanted;
    let wish = recall
        .map(Wish::Recall)
        .or(precision.map(Wish::Precision))
        .or(alerts.map(Wish::Alerts))
        .or(alert_fraction.map(Wish::AlertFraction))
        .or(cost.map(|(false_positive, false_negative)| Wish::Cost { false_positive, false_negative }));
    let point = match (wish, at) {
        (Some(wish), _) => thresholds.choose(wish),
        (None, Some(at)) => Some(thresholds.at(at)),
        (None, None) => None,
    };
    let Some(point) = point else { return Ok(None) };
    let report = shown(py, &point, level)?;
    report.set_item("cost", cost.map(|(a, b)| point.cost(a, b)))?;
    let next = thresholds.after(&point);
    report.set_item("next", next.map(|next| (next.threshold, next.alerts(), next.true_positives)))?;
    Ok(Some(report))
}

fn shown<'py>(py: Python<'py>, point: &OperatingPoint, level: f64) -> PyResult<Bound<'py, PyDict>> {
    let fraction = |found: Option<Fraction>| found.map(|found| (found.value, found.low, found.high));
    let report = PyDict::new(py);
    report.set_item("threshold", point.threshold)?;
    report.set_item("true_positives", point.true_positives)?;
    report.set_item("false_positives", point.false_positives)?;
    report.set_item("false_negatives", point.false_negatives)?;
    report.set_item("true_negatives", point.true_negatives)?;
    report.set_item("alerts", point.alerts())?;
    report.set_item("items", point.items())?;
    report.set_item("recall", fraction(point.recall_interval(level)))?;
    report.set_item("precision", fraction(point.precision_interval(level)))?;
    report.set_item("lift", fraction(point.lift_interval(level)))?;
    report.set_item("false_positive_rate", point.false_positive_rate())?;
    Ok(report)
}
