//! `toprank.compare`: is the difference between runs more than chance?

use pyo3::prelude::*;
use toprank::metrics::Better;
use toprank::metrics::bootstrap::IntervalOptions;
use toprank::metrics::compare::{CompareOptions, compare as compare_runs, correct_over_all};
use toprank::metrics::significance::{Correction, TukeyKind};

use crate::arrays::{Array, numbers};
use crate::errors::refused;

/// Compares runs metric by metric; `values` holds for each metric the values per list of every run. The comparisons as JSON;
/// p values are corrected over all pairs and metrics, as the command does.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called by python/toprank/_compare.py alone")]
pub fn compare(
    py: Python,
    names: Vec<String>,
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
    let mut options = CompareOptions::with_tests(tests).map_err(refused)?;
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
    serde_json::to_string(&comparisons).map_err(refused)
}
