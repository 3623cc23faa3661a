//! `toprank.evaluate`: how good is one ranking?
//!
//! Lists are evaluated in parts of a few million items, so that labels are never copied whole and Ctrl-C is heard between
//! two parts. A value comes from one list alone and means are made at the end, so the parts change no bit.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use toprank::core::Policy;
use toprank::core::catalog::unknown;
use toprank::metrics::bootstrap::{Interval, IntervalKind, IntervalOptions};
use toprank::metrics::{
    Better, EvaluateError, Evaluation, ItemWeights, Measure, MeasureResult, PRESETS, Preset,
    evaluate as evaluate_lists, intervals_over_lists, rows,
};

use crate::arrays::{Array, Columns};
use crate::errors::refused;
use crate::own;

/// Items after which a part ends with its list.
const PART: u64 = 1 << 22;

/// The measures named in `text` under a preset and rules.
pub fn measures(
    text: &str,
    like: Option<&str>,
    rules: &[(String, String)],
) -> PyResult<(Vec<Measure>, Policy)> {
    let preset = like
        .map(|name| {
            let known = PRESETS.iter().map(|preset| preset.name);
            Preset::find(name).ok_or_else(|| refused(unknown("tool for like", name, known)))
        })
        .transpose()?;
    let mut policy = preset.map(Preset::policy).unwrap_or_default();
    for (key, value) in rules {
        policy.set(key, value).map_err(refused)?;
    }
    let all = match preset {
        None => Measure::parse_all(text, &policy),
        Some(preset) => Measure::parse_like(text, preset, rules),
    }
    .map_err(refused)?;
    if all.is_empty() {
        return Err(refused("metrics names no metric; expected for example [\"ndcg@10\", \"map\"]"));
    }
    Ok((all, policy))
}

/// Evaluates scores by every measure; a dictionary that `toprank.Evaluation` wraps.
#[pyfunction]
#[pyo3(signature = (labels, scores, offsets, metrics, like, rules, item_weights, list_weights, replicates, level, seed))]
#[expect(clippy::too_many_arguments, reason = "called by python/toprank/_judge.py alone, by keyword")]
pub fn evaluate<'py>(
    py: Python<'py>,
    labels: Array<'py, f32>,
    scores: Array<'py, f64>,
    offsets: Array<'py, u64>,
    metrics: &str,
    like: Option<&str>,
    rules: Vec<(String, String)>,
    item_weights: Option<Array<'py, f32>>,
    list_weights: Option<Array<'py, f32>>,
    replicates: usize,
    level: f64,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let (measures, policy) = measures(metrics, like, &rules)?;
    let columns = Columns::new(&labels, &offsets, item_weights.as_ref(), list_weights.as_ref())?;
    let scores = scores.as_slice()?;
    let results = in_parts(py, columns, scores, &measures)?;
    let bounds = match (interval_options(replicates, level, seed)?, columns.len()) {
        (None, _) => vec![None; results.len()],
        // One list: its rows are what can be drawn.
        (Some(options), 1) => {
            let options = IntervalOptions { kind: IntervalKind::Delong, ..options };
            let found = Evaluation { results: results.clone() };
            let of_rows =
                py.detach(|| rows::intervals(&columns.lists(), scores, &measures, &found, &options));
            of_rows.map_err(refused)?.into_iter().map(|found| found.mean).collect()
        }
        (Some(options), _) => py.detach(|| intervals_over_lists(&results, columns.list_weights, &options)),
    };
    let report = PyDict::new(py);
    report.set_item("policy", policy.to_string())?;
    report.set_item("like", like)?;
    report.set_item("lists", columns.len())?;
    report.set_item("items", columns.labels.len())?;
    report.set_item("results", shown(py, results, bounds)?)?;
    Ok(report)
}

/// How intervals are made; `None`: none are wanted.
pub fn interval_options(replicates: usize, level: f64, seed: u64) -> PyResult<Option<IntervalOptions>> {
    if replicates == 0 {
        return Ok(None);
    }
    let options = IntervalOptions { level, replicates, seed, ..IntervalOptions::default() };
    options.check().map_err(refused)?;
    Ok(Some(options))
}

/// Results as a list of dictionaries.
pub fn shown(
    py: Python,
    results: Vec<MeasureResult>,
    bounds: Vec<Option<Interval>>,
) -> PyResult<Bound<PyList>> {
    let list = PyList::empty(py);
    for (result, bounds) in results.into_iter().zip(bounds) {
        let line = PyDict::new(py);
        line.set_item("metric", result.name)?;
        line.set_item("mean", result.mean)?;
        line.set_item("interval", bounds.map(|bounds| (bounds.low, bounds.high)))?;
        line.set_item("method", bounds.map(|bounds| bounds.method()))?;
        line.set_item("used", result.counts.used)?;
        line.set_item("undefined", result.counts.empty)?;
        line.set_item("higher_is_better", result.better == Better::Higher)?;
        line.set_item("item_weights_ignored", result.item_weights == ItemWeights::Ignored)?;
        line.set_item("per_list", result.per_list.into_pyarray(py))?;
        list.append(line)?;
    }
    Ok(list)
}

fn in_parts(
    py: Python,
    columns: Columns,
    scores: &[f64],
    measures: &[Measure],
) -> PyResult<Vec<MeasureResult>> {
    let (offsets, lists) = (columns.offsets, columns.len());
    if scores.len() != columns.labels.len() {
        let (found, expected) = (scores.len(), columns.labels.len());
        return Err(refused(EvaluateError::Scores { found, expected }));
    }
    let mut all: Option<Vec<MeasureResult>> = None;
    let mut first = 0;
    while first < lists || all.is_none() {
        let end = first + offsets[first + 1..].iter().take_while(|&&end| end - offsets[first] < PART).count();
        let end = (end + 1).min(lists);
        let start = offsets[first] as usize;
        let part = py.detach(|| {
            let scores = &scores[start..offsets[end] as usize];
            evaluate_lists(&columns.part(first, end), scores, measures).map(|evaluation| evaluation.results)
        });
        own::check_raised()?;
        let part = part.map_err(|error| refused(moved(error, first, start)))?;
        match &mut all {
            None => all = Some(part),
            Some(all) => all.iter_mut().zip(part).for_each(|(all, part)| append(all, part)),
        }
        py.check_signals()?;
        first = end;
    }
    let mut all = all.unwrap_or_default();
    for result in &mut all {
        result.mean = result.mean_of(columns.list_weights);
    }
    Ok(all)
}

fn append(all: &mut MeasureResult, part: MeasureResult) {
    all.per_list.extend(part.per_list);
    all.counts.lists += part.counts.lists;
    all.counts.used += part.counts.used;
    all.counts.empty += part.counts.empty;
}

/// An error of a part, with its places counted from the beginning.
fn moved(error: EvaluateError, lists: usize, entries: usize) -> EvaluateError {
    match error {
        EvaluateError::Score { list, item, entry } => {
            EvaluateError::Score { list: list + lists, item, entry: entry + entries }
        }
        EvaluateError::Label { measure, found, list, entry, expected } => EvaluateError::Label {
            measure,
            found,
            list: list + lists,
            entry: entry.map(|entry| entry + entries),
            expected,
        },
        other => other,
    }
}
