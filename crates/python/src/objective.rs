//! `toprank.Objective`: loss, gradient and curvature of scores that anybody's model gave.

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use toprank::core::{Lists, Policy, Stream};
use toprank::objectives::{Batch, Draws, Goal, Gradients, Reduction, State};

use crate::arrays::{Array, Columns, numbers};
use crate::errors::refused;

/// An objective with what it remembers about the lists it was prepared for.
#[pyclass(module = "toprank._toprank")]
pub struct Objective {
    goal: Goal,
    seed: u64,
    /// Steps done: objectives that draw random numbers have others in each.
    #[pyo3(get)]
    steps: u64,
    prepared: Option<Prepared>,
}

struct Prepared {
    lists: Lists,
    state: State,
    out: Gradients,
}

#[pymethods]
impl Objective {
    #[new]
    fn new(text: &str, seed: u64) -> PyResult<Objective> {
        let goal = Goal::parse(text, &Policy::default()).map_err(refused)?;
        Ok(Objective { goal, seed, steps: 0, prepared: None })
    }

    /// The objective as it would be asked for on the command line.
    #[getter]
    fn name(&self) -> &str {
        self.goal.name()
    }

    /// True if the loss depends on the scores of the step before.
    #[getter]
    fn needs_previous(&self) -> bool {
        self.goal.objective().needs().previous_scores
    }

    /// Number of lists and items it was prepared for.
    #[getter]
    fn shape(&self) -> Option<(usize, usize)> {
        self.prepared.as_ref().map(|prepared| (prepared.lists.len(), prepared.lists.entries()))
    }

    /// Where the lists it was prepared for begin and end.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<u64>>> {
        self.prepared.as_ref().map(|prepared| PyArray1::from_slice(py, &prepared.lists.offsets))
    }

    fn prepare(
        &mut self,
        py: Python,
        labels: Array<f32>,
        offsets: Array<u64>,
        item_weights: Option<Array<f32>>,
        list_weights: Option<Array<f32>>,
    ) -> PyResult<()> {
        let columns = Columns::new(&labels, &offsets, item_weights.as_ref(), list_weights.as_ref())?;
        let goal = &self.goal;
        let prepared = py.detach(|| {
            let lists = columns.lists();
            let state = goal.state(&lists)?;
            Ok(Prepared { lists, state, out: Gradients::default() })
        });
        self.prepared = Some(prepared.map_err(|error: toprank::objectives::GoalError| refused(error))?);
        self.steps = 0;
        Ok(())
    }

    /// One step; `draws` are (lists, offsets, items), all of them if left out.
    #[expect(clippy::too_many_arguments, reason = "called by python/toprank/_objective.py alone")]
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        scores: Array<'py, f64>,
        draws: Option<(Array<'py, u32>, Array<'py, u64>, Array<'py, u32>)>,
        importance: Vec<f64>,
        previous: Option<Array<'py, f64>>,
        curvature: bool,
        sum: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let Objective { goal, seed, steps, prepared } = self;
        let Some(Prepared { lists, state, out }) = prepared else {
            return Err(PyRuntimeError::new_err(
                "prepare(labels, …) first: the objective knows no lists yet",
            ));
        };
        let draws = match &draws {
            None => None,
            Some((lists, offsets, items)) => Some(Draws {
                lists: lists.as_slice()?.to_vec(),
                offsets: offsets.as_slice()?.to_vec(),
                items: items.as_slice()?.to_vec(),
                importance,
            }),
        };
        let batch = Batch {
            draws: draws.as_ref(),
            previous: numbers(previous.as_ref())?,
            stream: Stream::new(*seed, "objective").at_step(*steps),
            reduction: if sum { Reduction::Sum } else { Reduction::Mean },
            ..Batch::all(lists, scores.as_slice()?)
        };
        out.want_curvature = curvature;
        py.detach(|| goal.step(&batch, state, out)).map_err(refused)?;
        *steps += 1;
        // The arrays are given away: nothing is copied.
        let line = PyDict::new(py);
        line.set_item("loss", out.loss)?;
        line.set_item("gradient", std::mem::take(&mut out.gradient).into_pyarray(py))?;
        if curvature {
            line.set_item("curvature", std::mem::take(&mut out.curvature).into_pyarray(py))?;
        }
        if !out.gradient_previous.is_empty() {
            line.set_item("gradient_previous", std::mem::take(&mut out.gradient_previous).into_pyarray(py))?;
        }
        line.set_item("losses", std::mem::take(&mut out.losses).into_pyarray(py))?;
        line.set_item("used", out.counts.used)?;
        line.set_item("idle", out.counts.idle)?;
        Ok(line)
    }

    /// Trackers, thresholds, duals: the same bytes load bit for bit.
    fn state<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.prepared.as_ref().map(|prepared| PyBytes::new(py, &prepared.state.save()))
    }

    fn load_state(&mut self, state: &[u8], steps: u64) -> PyResult<()> {
        let Some(prepared) = &mut self.prepared else {
            return Err(PyRuntimeError::new_err("prepare(labels, …) first: a state belongs to lists"));
        };
        prepared.state.load(state).map_err(refused)?;
        self.steps = steps;
        Ok(())
    }
}
