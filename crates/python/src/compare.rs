//! `toprank.compare`: is the difference between runs more than chance?

use pyo3::prelude::*;
use toprank::core::Lists;
use toprank::metrics::bootstrap::{IntervalKind, IntervalOptions};
use toprank::metrics::compare::{CompareOptions, Comparison, compare as compare_runs, correct_over_all};
use toprank::metrics::significance::{self, Correction, TukeyKind};
use toprank::metrics::{Better, evaluate, rows};

use crate::arrays::{Array, numbers};
use crate::errors::refused;
use crate::evaluate::measures;

/// The options that lists and rows share.
fn options_of(
    correction: &str,
    tukey: Option<&str>,
    biggest: usize,
    level: f64,
    replicates: usize,
    seed: u64,
) -> PyResult<CompareOptions> {
    let mut options = CompareOptions::default();
    options.correction = correction.parse::<Correction>().map_err(refused)?;
    options.tukey = match tukey {
        None => None,
        Some("randomised") => Some(TukeyKind::default()),
        Some("studentised") => Some(TukeyKind::Studentised),
        Some(other) => {
            return Err(refused(format!("tukey must be randomised or studentised, but is {other}")));
        }
    };
    options.biggest = biggest;
    options.seed = seed;
    options.interval = IntervalOptions { level, replicates, seed, ..options.interval };
    options.check().map_err(refused)?;
    Ok(options)
}

/// The comparisons as JSON, with their verdicts.
fn as_json(comparisons: &[Comparison], metrics: &[String]) -> PyResult<String> {
    let mut values = serde_json::to_value(comparisons).map_err(refused)?;
    for ((comparison, metric), value) in
        comparisons.iter().zip(metrics).zip(values.as_array_mut().into_iter().flatten())
    {
        let pairs = value["pairs"].as_array_mut().into_iter().flatten();
        for (pair, value) in comparison.pairs.iter().zip(pairs) {
            value["verdict"] = comparison.verdict(pair, metric).into();
        }
    }
    Ok(values.to_string())
}

/// Compares runs on one list row by row: tests and intervals draw its rows. The comparisons as JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called by python/toprank/_compare.py alone")]
pub fn compare_rows(
    py: Python,
    names: Vec<String>,
    labels: Array<f32>,
    runs: Vec<Array<f64>>,
    metrics: &str,
    like: Option<&str>,
    rules: Vec<(String, String)>,
    item_weights: Option<Array<f32>>,
    tests: Option<&str>,
    correction: &str,
    tukey: Option<&str>,
    level: f64,
    replicates: usize,
    seed: u64,
) -> PyResult<String> {
    let mut options = options_of(correction, tukey, 0, level, replicates, seed)?;
    if options.tukey.is_some() {
        return Err(refused(
            "tukey compares the values of lists; one list has tests over rows: delong, bootstrap, permutation",
        ));
    }
    options.interval.kind = IntervalKind::Delong;
    let (measures, _) = measures(metrics, like, &rules)?;
    let any_auroc = measures.iter().any(|measure| measure.entry().name == "auroc");
    let default = if any_auroc { "delong,bootstrap,permutation" } else { "bootstrap,permutation" };
    let tests = rows::parse_tests(tests.unwrap_or(default)).map_err(refused)?;
    let runs = runs.iter().map(Array::as_slice).collect::<Result<Vec<_>, _>>()?;
    let labels = labels.as_slice()?.to_vec();
    let item_weights = numbers(item_weights.as_ref())?.map(<[f32]>::to_vec);
    let lists = Lists { item_weights, ..Lists::from_lengths(&[labels.len()], labels) };
    let compared = py.detach(|| {
        let found =
            runs.iter().map(|scores| evaluate(&lists, scores, &measures)).collect::<Result<Vec<_>, _>>()?;
        rows::compare_rows(&names, &lists, &runs, &measures, &found, &tests, &options)
    });
    let metrics: Vec<String> = measures.iter().map(|measure| measure.name().to_string()).collect();
    as_json(&compared.map_err(refused)?, &metrics)
}

/// Compares runs metric by metric; `values` holds for each metric the values per list of every run. The comparisons as JSON;
/// p values are corrected over all pairs and metrics, as the command does.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called by python/toprank/_compare.py alone")]
pub fn compare(
    py: Python,
    names: Vec<String>,
    metrics: Vec<String>,
    values: Vec<Vec<Array<f64>>>,
    higher_is_better: Vec<bool>,
    weights: Option<Array<f32>>,
    tests: &str,
    correction: &str,
    tukey: Option<&str>,
    biggest: usize,
    level: f64,
    replicates: usize,
    seed: u64,
) -> PyResult<String> {
    let mut options = options_of(correction, tukey, biggest, level, replicates, seed)?;
    options.tests = significance::parse(tests).map_err(refused)?;
    let weights = numbers(weights.as_ref())?;
    let mut comparisons = Vec::new();
    for (runs, higher) in values.iter().zip(higher_is_better) {
        let runs = runs.iter().map(Array::as_slice).collect::<Result<Vec<_>, _>>()?;
        if runs.len() != names.len() || runs.iter().any(|run| run.len() != runs[0].len()) {
            return Err(refused("runs must have a value for each of the same lists"));
        }
        options.better = if higher { Better::Higher } else { Better::Lower };
        comparisons.push(py.detach(|| compare_runs(&names, &runs, weights, &options)));
        py.check_signals()?;
    }
    correct_over_all(&mut comparisons);
    as_json(&comparisons, &metrics)
}
