//! `toprank.PageRank`: the stationary distribution of a random walk on a graph, and walks with learned weights.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use toprank::core::Ragged;
use toprank::data::QueryGraphs;
use toprank::data::graph::{Graph, GraphFiles, GraphTables, JudgedNodes, NodeNames};
use toprank::data::group::Interner;
use toprank::train::walk::{PreparedGraphs, Trainer};
use toprank::train::{
    Callbacks, Outcome, Progress, Record, Settings, TrainError, TrainerKind, TrainingLoop, WalkFile,
};
use toprank::walks::{Dangling, Stop, Surfer, rank};

use crate::arrays::{Array, numbers};
use crate::errors::{failed, refused, unreadable};
use crate::train::Watcher;

/// Scores of nodes 0 … nodes − 1, a bound on their error in the 1-norm, and the number of iterations.
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
    Ok((ranking.scores.into_pyarray(py), ranking.error_bound, ranking.iterations))
}

/// Lists over graphs with features, seeds and judgements.
#[pyclass(frozen, module = "toprank._toprank")]
pub struct Graphs(QueryGraphs);

/// Numbers of several lists, one after the other, and where each begins and ends.
type Cut<'py, T> = (Array<'py, u64>, Array<'py, T>);

#[pymethods]
impl Graphs {
    /// One graph per list, or one graph (`shared`) that all lists walk over; nodes are numbered through.
    ///
    /// `seeds`, `judged` and `missed` (labels of judged nodes that are not in the graph) are cut by list.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "called by python/toprank/_graphs.py alone")]
    fn new(
        py: Python,
        lists: Vec<String>,
        shared: bool,
        parts: Vec<u32>,
        node_names: Vec<String>,
        node_columns: Vec<String>,
        node_values: PyReadonlyArray2<f32>,
        sources: Array<u32>,
        targets: Array<u32>,
        edge_columns: Vec<String>,
        edge_values: PyReadonlyArray2<f32>,
        ends: Option<bool>,
        seeds: Cut<u32>,
        judged: (Array<u64>, Array<u32>, Array<f32>),
        missed: Cut<f32>,
    ) -> PyResult<Graphs> {
        let mut queries = Interner::default();
        if !shared {
            for name in &lists {
                queries.number(name);
            }
        }
        let tables = GraphTables {
            queries,
            shared,
            parts,
            node_names: node_names.iter().collect(),
            node_columns,
            node_values: node_values.as_slice()?.to_vec(),
            sources: sources.as_slice()?.to_vec(),
            targets: targets.as_slice()?.to_vec(),
            edge_columns,
            edge_values: edge_values.as_slice()?.to_vec(),
            ends,
            ..GraphTables::default()
        };
        let mut graphs = py.detach(|| QueryGraphs::build(tables)).map_err(unreadable)?;
        if shared {
            graphs.set_lists(&lists, &vec![Vec::new(); lists.len()]);
        }
        graphs.seed_offsets = seeds.0.as_slice()?.to_vec();
        graphs.seeds = seeds.1.as_slice()?.to_vec();
        graphs.judged = JudgedNodes {
            offsets: judged.0.as_slice()?.to_vec(),
            nodes: judged.1.as_slice()?.to_vec(),
            labels: judged.2.as_slice()?.to_vec(),
            missed: Ragged { offsets: missed.0.as_slice()?.to_vec(), values: missed.1.as_slice()?.to_vec() },
            elsewhere: 0,
        };
        graphs.check_seeds("the graphs").map_err(unreadable)?;
        Ok(Graphs(graphs))
    }

    /// Reads a folder of tables as the command does.
    #[staticmethod]
    fn read(py: Python, folder: PathBuf, ends: Option<bool>) -> PyResult<Graphs> {
        let read = py.detach(|| {
            let mut files = GraphFiles::folder(&folder)?;
            files.ends = ends;
            let graphs = QueryGraphs::read(&files)?;
            graphs.check_seeds(&folder.display().to_string())?;
            Ok(graphs)
        });
        read.map(Graphs).map_err(unreadable)
    }

    /// Name of each list, with the names of the nodes of its graph.
    fn names(&self) -> Vec<(&str, Vec<&str>)> {
        let nodes = |q: usize| self.0.nodes_of(q).map(|node| self.0.node_names.get(node)).collect();
        (0..self.0.len()).map(|q| (self.0.list_names.get(q), nodes(q))).collect()
    }

    /// Whether something is judged.
    fn is_judged(&self) -> bool {
        !self.0.judged.nodes.is_empty()
    }
}

/// A learned walk; its file is the command's.
#[pyclass(frozen, module = "toprank._toprank")]
pub struct Walk(WalkFile);

#[pymethods]
impl Walk {
    /// Loads a walk file of the command or of `save`.
    #[staticmethod]
    fn load(py: Python, path: PathBuf) -> PyResult<Walk> {
        py.detach(|| WalkFile::load(&path)).map(Walk).map_err(failed)
    }

    fn save(&self, py: Python, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.save(&path)).map_err(failed)
    }

    /// What the file says about itself, as JSON.
    fn header(&self) -> PyResult<String> {
        serde_json::to_string(&self.0.header).map_err(refused)
    }

    /// Each feature with its weight and the weight that it has in the untuned walk.
    fn weights(&self) -> Vec<(String, f64, f64)> {
        let both = self.0.phi.iter().zip(&self.0.start);
        self.0.names().into_iter().zip(both).map(|(name, (phi, start))| (name, *phi, *start)).collect()
    }

    /// Scores of all nodes of every list, and a bound on the error of a list's probabilities.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        graphs: &Graphs,
        error: f64,
    ) -> PyResult<(Vec<Bound<'py, PyArray1<f64>>>, f64)> {
        let graphs = &graphs.0;
        if error.is_nan() || error <= 0.0 {
            return Err(refused(format!("error must be above 0, but is {error}")));
        }
        let solved = py.detach(|| -> Result<_, TrainError> {
            let which: Vec<u32> = (0..graphs.len() as u32).collect();
            let solved = self.0.walk().solve(graphs, &which, &self.0.phi_for(graphs)?, Stop::at(error))?;
            let of = |q: usize| graphs.nodes_of(q).map(|i| solved.score(q, i as u32)).collect::<Vec<f64>>();
            Ok(((0..graphs.len()).map(of).collect::<Vec<_>>(), solved.certificate().error))
        });
        let (scores, bound) = solved.map_err(failed)?;
        Ok((scores.into_iter().map(|scores| scores.into_pyarray(py)).collect(), bound))
    }

    /// The mean of a metric over the lists; None: no list has one.
    fn value(&self, py: Python, graphs: &Graphs, metric: &str) -> PyResult<Option<f64>> {
        py.detach(|| self.0.value(&graphs.0, metric)).map_err(failed)
    }
}

/// A step: its number, loss, gradient norm and learning rate.
type Line = (u64, f64, f64, f64);

/// Learns the weights of a walk: the walk, its metric, the metric's values by the untuned and the learned walk, and the steps.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "called by python/toprank/_pagerank.py alone")]
pub fn learn_walk(
    py: Python,
    settings: &str,
    graphs: &Graphs,
    valid: Option<&Graphs>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Walk, String, (Option<f64>, Option<f64>), Vec<Line>)> {
    let settings: Settings = serde_json::from_str(settings).map_err(refused)?;
    let config = settings.resolve(TrainerKind::Walk).map_err(refused)?;
    let mut recorder = Recorder { watcher: Watcher::new(progress, None), lines: Vec::new() };
    let learned = py.detach(|| -> Result<_, TrainError> {
        let prepared = PreparedGraphs::new(&config, &graphs.0, valid.map(|valid| &valid.0))?;
        let mut trainer = Trainer::new(&config, &prepared)?;
        if trainer.run(&mut recorder, None)? == Outcome::Interrupted {
            return Err(TrainError::Interrupted { step: trainer.steps_done(), steps: trainer.steps() });
        }
        trainer.learned()
    });
    recorder.watcher.raise()?;
    let learned = learned.map_err(failed)?;
    let metric = config.valid_metric().to_string();
    Ok((Walk(learned.file), metric, learned.values, recorder.lines))
}

/// Keeps a line of every step.
struct Recorder {
    watcher: Watcher,
    lines: Vec<Line>,
}

impl Callbacks for Recorder {
    fn step(&mut self, now: &Progress) {
        self.watcher
            .check(|progress, py| progress.call1(py, (now.step, py.None(), py.None(), now.loss, py.None())));
    }

    fn epoch(&mut self, record: &Record) {
        let Record { step, loss, gradient_norm, learning_rate, .. } = *record;
        self.lines.push((step, loss, gradient_norm, learning_rate));
    }

    fn stop(&mut self) -> bool {
        self.watcher.stopped()
    }
}
