//! `toprank.Objective`: loss, gradient and Hessian diagonal of the scores of any model.

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use toprank::core::{Lists, Policy, Stream};
use toprank::objectives::{Batch, Draws, Goal, Gradients, Reduction, State};

use crate::arrays::{Array, Columns, numbers};
use crate::errors::refused;

/// An objective with its state for the lists it was prepared for.
#[pyclass(module = "toprank._toprank")]
pub struct Objective {
    goal: Goal,
    seed: u64,
    /// Steps done: objectives that draw random numbers have others in each.
    #[pyo3(get, set)]
    steps: u64,
    prepared: Option<Prepared>,
    /// Scores of 32 bits made wide; used again in every step.
    wide: Vec<f64>,
}

/// Drawn lists, offsets and places of their items (`None`: whole lists), and the weight of each draw.
type DrawnArrays<'py> = (Array<'py, i64>, Option<(Array<'py, u64>, Array<'py, i64>)>, Vec<f64>);
type Numbers<'py> = Bound<'py, PyArray1<f64>>;
type Stepped<'py> =
    (f64, Numbers<'py>, Option<Numbers<'py>>, Option<Numbers<'py>>, Numbers<'py>, usize, usize);

fn not_prepared() -> PyErr {
    PyRuntimeError::new_err("prepare(labels, …) first: the objective knows no lists yet")
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
        Ok(Objective { goal, seed, steps: 0, prepared: None, wide: Vec::new() })
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

    /// One step over all lists or drawn ones: `lists`, their `items` (offsets and positions; all if omitted), `importance`.
    ///
    /// Returns loss, gradient, Hessian diagonal, gradient at the previous scores, losses of lists, and the numbers of lists with
    /// and without gradient; arrays are in the order of the scores.
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        scores: Array<'py, f64>,
        draws: Option<DrawnArrays<'py>>,
        previous: Option<Array<'py, f64>>,
        hessian: bool,
        sum: bool,
    ) -> PyResult<Stepped<'py>> {
        self.work(py, scores.as_slice()?, draws, numbers(previous.as_ref())?, hessian, sum)?;
        let Some(Prepared { out, .. }) = &mut self.prepared else { return Err(not_prepared()) };
        // The arrays are given away: nothing is copied.
        let give = |values: &mut Vec<f64>| std::mem::take(values).into_pyarray(py);
        Ok((
            out.loss,
            give(&mut out.gradient),
            hessian.then(|| give(&mut out.hessian)),
            (!out.gradient_previous.is_empty()).then(|| give(&mut out.gradient_previous)),
            give(&mut out.losses),
            out.counts.used,
            out.counts.idle,
        ))
    }

    /// Loss and gradient alone, for scores of 32 bits: the type of most networks. A gradient beyond the range of 32 bits is an
    /// error, after which the state has taken the step.
    fn step32<'py>(
        &mut self,
        py: Python<'py>,
        scores: Array<'py, f32>,
        draws: Option<DrawnArrays<'py>>,
        sum: bool,
    ) -> PyResult<(f64, Bound<'py, PyArray1<f32>>)> {
        let mut wide = std::mem::take(&mut self.wide);
        wide.clear();
        wide.extend(scores.as_slice()?.iter().map(|&score| f64::from(score)));
        let done = self.work(py, &wide, draws, None, false, sum);
        self.wide = wide;
        done?;
        let Some(Prepared { out, .. }) = &self.prepared else { return Err(not_prepared()) };
        let gradient: Vec<f32> = out.gradient.iter().map(|&gradient| gradient as f32).collect();
        if let Some(bad) = gradient.iter().position(|gradient| !gradient.is_finite()) {
            return Err(refused(format!(
                "entry {bad}: the gradient is {:e}, expected one within the range of 32-bit floats; give scores of 64 bits",
                out.gradient[bad]
            )));
        }
        Ok((out.loss, gradient.into_pyarray(py)))
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

impl Objective {
    /// A step whose results stand in `out`, in the order of `scores`.
    fn work(
        &mut self,
        py: Python,
        scores: &[f64],
        draws: Option<DrawnArrays>,
        previous: Option<&[f64]>,
        hessian: bool,
        sum: bool,
    ) -> PyResult<()> {
        let Objective { goal, seed, steps, prepared, .. } = self;
        let Some(Prepared { lists, state, out }) = prepared else { return Err(not_prepared()) };
        let drawn = match &draws {
            None => None,
            Some((which, items, importance)) => {
                let items = match items {
                    None => None,
                    Some((offsets, items)) => Some((offsets.as_slice()?, items.as_slice()?)),
                };
                Some(Drawn::new(lists, which.as_slice()?, items, importance)?)
            }
        };
        let entries = drawn.as_ref().map_or(lists.entries(), |drawn| drawn.draws.items.len());
        for (what, given) in [("scores", Some(scores)), ("previous scores", previous)] {
            let found = given.map_or(entries, <[f64]>::len);
            if found != entries {
                let expected =
                    format!("{found} {what} were given for {entries} items; expected one score per item");
                return Err(refused(expected));
            }
        }
        let sorted = drawn.as_ref().map(|drawn| drawn.sort(scores));
        let sorted_previous = drawn.as_ref().and_then(|drawn| previous.map(|previous| drawn.sort(previous)));
        let batch = Batch {
            draws: drawn.as_ref().map(|drawn| &drawn.draws),
            previous: sorted_previous.as_deref().or(previous),
            stream: Stream::new(*seed, "objective").at_step(*steps),
            reduction: if sum { Reduction::Sum } else { Reduction::Mean },
            ..Batch::all(lists, sorted.as_deref().unwrap_or(scores))
        };
        out.want_hessian = hessian;
        py.detach(|| goal.step(&batch, state, out)).map_err(refused)?;
        *steps += 1;
        if let Some(drawn) = drawn.filter(|drawn| !drawn.in_order) {
            for values in [&mut out.gradient, &mut out.hessian, &mut out.gradient_previous] {
                drawn.unsort(values);
            }
            let losses = drawn.order.iter().zip(&out.losses).map(|(&draw, &loss)| (draw, loss));
            let mut back = vec![0.0; drawn.order.len()];
            losses.for_each(|(draw, loss)| back[draw as usize] = loss);
            out.losses = back;
        }
        Ok(())
    }
}

/// Drawn lists and items in the order that the library wants, and the way back to the caller's.
struct Drawn {
    draws: Draws,
    /// Where each entry stands in the caller's order.
    places: Vec<u32>,
    /// The same of each list.
    order: Vec<u32>,
    /// Both orders are the same.
    in_order: bool,
}

impl Drawn {
    fn new(
        lists: &Lists,
        which: &[i64],
        items: Option<(&[u64], &[i64])>,
        importance: &[f64],
    ) -> PyResult<Drawn> {
        let size = |list: i64| lists.range(list as usize).len();
        if let Some(bad) = which.iter().find(|&&list| list < 0 || list as usize >= lists.len()) {
            let most = lists.len().saturating_sub(1);
            let expected =
                format!("lists: found the number {bad}, expected numbers of lists from 0 to {most}");
            return Err(refused(expected));
        }
        if let Some((offsets, places)) = items {
            let draws = offsets.len().saturating_sub(1);
            if draws != which.len() || offsets.last() != Some(&(places.len() as u64)) {
                let expected =
                    format!("items: found {draws} draws, expected one for each of {} lists", which.len());
                return Err(refused(expected));
            }
        }
        if !importance.is_empty() && importance.len() != which.len() {
            let found = importance.len();
            return Err(refused(format!("importance: found {found} numbers, expected {}", which.len())));
        }
        let mut order: Vec<u32> = (0..which.len() as u32).collect();
        order.sort_by_key(|&draw| which[draw as usize]);
        if order.windows(2).any(|pair| which[pair[0] as usize] == which[pair[1] as usize]) {
            return Err(refused("lists: a list was drawn twice, expected each at most once"));
        }
        let mut starts = vec![0u64];
        if let Some((offsets, _)) = items {
            starts = offsets.to_vec();
        } else {
            starts.extend(which.iter().scan(0, |end, &list| {
                *end += size(list) as u64;
                Some(*end)
            }));
        }
        let mut drawn = Drawn {
            draws: Draws { offsets: vec![0], ..Draws::default() },
            places: Vec::new(),
            order,
            in_order: true,
        };
        for &draw in &drawn.order {
            let draw = draw as usize;
            let (list, mine) = (which[draw], starts[draw] as u32..starts[draw + 1] as u32);
            drawn.draws.lists.push(list as u32);
            let first = drawn.places.len();
            drawn.places.extend(mine);
            match items {
                None => drawn.draws.items.extend(0..size(list) as u32),
                Some((_, items)) => {
                    let place = |at: &u32| items[*at as usize];
                    drawn.places[first..].sort_by_key(place);
                    if drawn.places[first..].iter().any(|at| place(at) < 0 || place(at) >= size(list) as i64)
                    {
                        let most = size(list).saturating_sub(1);
                        let found = format!("items: list {list} has places from 0 to {most}, found others");
                        return Err(refused(found));
                    }
                    drawn.draws.items.extend(drawn.places[first..].iter().map(|at| place(at) as u32));
                }
            }
            drawn.draws.offsets.push(drawn.draws.items.len() as u64);
        }
        drawn.draws.importance =
            drawn.order.iter().filter_map(|&draw| importance.get(draw as usize).copied()).collect();
        drawn.in_order = drawn.places.is_sorted();
        Ok(drawn)
    }

    fn sort(&self, values: &[f64]) -> Vec<f64> {
        self.places.iter().map(|&place| values[place as usize]).collect()
    }

    fn unsort(&self, values: &mut Vec<f64>) {
        if values.is_empty() {
            return;
        }
        let mut back = vec![0.0; values.len()];
        self.places.iter().zip(&*values).for_each(|(&place, &value)| back[place as usize] = value);
        *values = back;
    }
}
