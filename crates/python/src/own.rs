//! Metrics and objectives that are functions of Python, known to the library by name.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use toprank::core::Policy;
use toprank::metrics::{Better, Metric, Ranked, TieRule};
use toprank::objectives::{Goal, Hessian, Input, ListState, Objective, Out, Work, check};

use crate::errors::refused;

/// The first exception that a function raised; the library cannot carry it.
static RAISED: Mutex<Option<PyErr>> = Mutex::new(None);

fn keep(error: PyErr) {
    RAISED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
}

/// The exception that a function of the user raised meanwhile.
pub fn raised() -> Option<PyErr> {
    RAISED.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// True if a function of the user raised an exception that was not told yet.
pub fn has_raised() -> bool {
    RAISED.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// An error if a function of the user raised an exception.
pub fn check_raised() -> PyResult<()> {
    raised().map_or(Ok(()), Err)
}

/// A metric: a function of the labels in rank order.
struct OwnMetric {
    function: Py<PyAny>,
    depth: Option<usize>,
    better: Better,
}

impl Metric for OwnMetric {
    fn value(&self, ranked: &Ranked, _: &Policy) -> Option<f64> {
        let called = Python::attach(|py| {
            let labels = PyArray1::from_slice(py, ranked.labels());
            self.function.call1(py, (labels,))?.extract::<Option<f64>>(py)
        });
        called.unwrap_or_else(|error| {
            keep(error);
            None
        })
    }

    fn depth(&self) -> Option<usize> {
        self.depth
    }

    fn better(&self) -> Better {
        self.better
    }

    fn tie_rule(&self, _: bool) -> TieRule {
        TieRule::Own
    }

    fn rules(&self) -> &'static [&'static str] {
        &[]
    }
}

/// An objective: a function of scores, labels and weights.
struct OwnObjective {
    function: Py<PyAny>,
    exact: bool,
    shift_invariant: bool,
}

/// Loss, gradient and Hessian diagonal.
type Answer<'py> = (f64, PyReadonlyArray1<'py, f64>, Option<PyReadonlyArray1<'py, f64>>);

impl OwnObjective {
    fn call(&self, py: Python, input: &Input, out: &mut Out) -> PyResult<Option<f64>> {
        let list = &input.list;
        let scores = PyArray1::from_slice(py, list.scores);
        let labels = PyArray1::from_slice(py, list.labels);
        let weights = PyArray1::from_vec(py, (0..list.len()).map(|i| input.weight(i)).collect());
        let answer = self.function.call1(py, (scores, labels, weights))?;
        let Some((loss, gradient, hessian)) = answer.extract::<Option<Answer>>(py)? else { return Ok(None) };
        copy("gradient", gradient.as_slice()?, out.gradient)?;
        if let Some(to) = &mut out.hessian {
            match hessian {
                Some(hessian) => copy("Hessian", hessian.as_slice()?, to)?,
                None => to.fill(1.0),
            }
        }
        Ok(Some(loss))
    }
}

fn copy(what: &str, from: &[f64], to: &mut [f64]) -> PyResult<()> {
    if from.len() != to.len() {
        return Err(refused(format!(
            "{what}: found {} numbers, expected one per item ({})",
            from.len(),
            to.len()
        )));
    }
    to.copy_from_slice(from);
    Ok(())
}

impl Objective for OwnObjective {
    fn hessian(&self) -> Hessian {
        if self.exact { Hessian::Exact } else { Hessian::Bound }
    }

    fn shift_invariant(&self) -> bool {
        self.shift_invariant
    }

    fn list(&self, input: &Input, _: &mut ListState, _: &mut Work, out: &mut Out) -> Option<f64> {
        Python::attach(|py| self.call(py, input, out)).unwrap_or_else(|error| {
            keep(error);
            // Ends the step.
            Some(f64::NAN)
        })
    }
}

/// Makes a metric known under a name.
#[pyfunction]
pub fn register_metric(name: &str, function: Py<PyAny>, depth: Option<usize>, higher: bool) -> PyResult<()> {
    let better = if higher { Better::Higher } else { Better::Lower };
    toprank::metrics::register(name, Arc::new(OwnMetric { function, depth, better })).map_err(refused)
}

/// Makes an objective known under a name.
#[pyfunction]
pub fn register_objective(
    name: &str,
    function: Py<PyAny>,
    exact: bool,
    shift_invariant: bool,
) -> PyResult<()> {
    let objective = OwnObjective { function, exact, shift_invariant };
    toprank::objectives::register(name, Arc::new(objective)).map_err(refused)
}

/// Tries an objective by name: each promise, and how it was broken.
#[pyfunction]
pub fn check_objective(py: Python, name: &str, seed: u64) -> PyResult<Vec<(&'static str, Option<String>)>> {
    let goal = Goal::parse(name, &Policy::default()).map_err(refused)?;
    let found = py.detach(|| check::check(&goal, seed));
    check_raised()?;
    Ok(found.into_iter().map(|promise| (promise.name, promise.fault)).collect())
}
