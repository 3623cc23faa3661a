//! `toprank.PageRank`: where a walk on a graph is in the long run.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use toprank::data::graph::{Graph, NodeNames};
use toprank::walks::{Dangling, Stop, Surfer, rank};

use crate::arrays::{Array, numbers};
use crate::errors::{refused, unreadable};

/// Scores of nodes 0 … nodes − 1, a bound on their error in the 1-norm, and the products it took.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called by python/toprank/_pagerank.py alone")]
pub fn pagerank<'py>(
    py: Python<'py>,
    nodes: usize,
    sources: Array<'py, u32>,
    targets: Array<'py, u32>,
    weights: Option<Array<'py, f32>>,
    seeds: Option<Vec<(u32, f64)>>,
    restart: f64,
    uniform_dangling: bool,
    error: f64,
) -> PyResult<(Bound<'py, PyArray1<f64>>, f64, usize)> {
    let (sources, targets) = (sources.as_slice()?, targets.as_slice()?);
    let weights = numbers(weights.as_ref())?;
    let dangling = if uniform_dangling { Dangling::Uniform } else { Dangling::Restart };
    let surfer = Surfer { restart, seeds, dangling, stop: Stop::at(error), ..Surfer::default() };
    let graph = py.detach(|| Graph::new(NodeNames::count(nodes), sources, targets, weights));
    let graph = graph.map_err(unreadable)?;
    py.check_signals()?;
    let ranking = py.detach(|| rank(&graph, &surfer)).map_err(refused)?;
    Ok((ranking.scores.into_pyarray(py), ranking.error_bound, ranking.products))
}
