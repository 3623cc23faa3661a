/*!
Learned walks in files of the house: φ by the names of its features, how the walk goes, and a self-test.

The self-test is a small graph of the training data with the scores of its nodes; they are computed again at every load.
φ is stored for features as they were read: a walk is linear in them, so what they were divided by in training is in φ.
*/

use std::path::Path;

use serde::{Deserialize, Serialize};
use toprank_core::{ModelError, ParamError};
use toprank_data::graph::{GraphTables, QueryGraphs};
use toprank_data::group::Interner;
use toprank_walks::{Dangling, Score, Solver, Stop, Walk};

use crate::container::{self, Loaded, Tensor, Values};
use crate::error::TrainError;

const KIND: &str = "walk";
/// Nodes of the largest graph that may be a self-test.
const PROBED: usize = 256;
const TOLERANCE: f64 = 1e-6;
/// Error of the distributions of the self-test.
const ERROR: f64 = 1e-12;

/// What a walk's file says about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkHeader {
    /// Probability of a restart.
    pub restart: f64,
    /// `restart` or `uniform`.
    pub dangling: String,
    /// `probability`, `scaled` or `log`.
    pub score: String,
    /// Features of nodes.
    pub nodes: Vec<String>,
    /// Own features of edges.
    pub own: Vec<String>,
    /// Whether edges have the features of their ends.
    pub ends: bool,
    /// The objective it was trained with.
    pub objective: String,
    /// The method.
    pub method: String,
    /// Lists it was trained on.
    pub lists: usize,
    /// Steps done.
    pub steps: usize,
    /// Loss before and after.
    pub loss: (f64, f64),
    /// Metric of validation and its value, if there was one.
    pub metric: Option<(String, f64)>,
    /// Names of the nodes of the self-test.
    pub probe: Vec<String>,
}

/// A learned walk.
#[derive(Clone, Debug)]
pub struct WalkFile {
    /// What is known about it.
    pub header: WalkHeader,
    /// Weights of the features of nodes, then of the edges' own features, of their sources, of their targets.
    pub phi: Vec<f64>,
    /// The weights that training started from, in the same order: the untuned walk.
    pub start: Vec<f64>,
    /// The self-test.
    probe: Probe,
}

/// The words for the rules of dangling nodes.
pub const DANGLING: &[(&str, Dangling)] = &[("restart", Dangling::Restart), ("uniform", Dangling::Uniform)];
/// The words for scores.
pub const SCORES: &[(&str, Score)] =
    &[("probability", Score::Probability), ("scaled", Score::Scaled), ("log", Score::Log)];

/// The value of a word.
///
/// # Errors
/// If it is none of the table.
pub fn word<T: Copy>(what: &str, said: &str, table: &[(&str, T)]) -> Result<T, ParamError> {
    let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
    let found = table.iter().find(|(name, _)| *name == said).map(|(_, value)| *value);
    found.ok_or_else(|| ParamError::new(what, said, &format!("one of {}", names.join(", "))))
}

/// The word of a value.
pub fn word_of<T: Copy + PartialEq>(value: T, table: &[(&'static str, T)]) -> &'static str {
    table.iter().find(|(_, there)| *there == value).map_or("", |(name, _)| name)
}

impl WalkFile {
    /// A walk with its self-test: the smallest graph of `graphs`, whose features are as they were read.
    ///
    /// # Errors
    /// If the walk does not exist.
    pub fn new(
        mut header: WalkHeader,
        phi: Vec<f64>,
        start: Vec<f64>,
        graphs: &QueryGraphs,
    ) -> Result<WalkFile, TrainError> {
        header.probe.clear();
        let mut file = WalkFile { header, phi, start, probe: Probe::default() };
        let smallest = (0..graphs.len()).min_by_key(|&q| graphs.nodes_of(q).len()).unwrap_or(0);
        if !graphs.is_empty() && graphs.nodes_of(smallest).len() <= PROBED {
            let nodes = graphs.nodes_of(smallest);
            let first = nodes.start as u32;
            let solved =
                file.walk()?.solve(graphs, &[smallest as u32], &file.phi_for(graphs)?, Stop::at(ERROR))?;
            file.probe = Probe::of(graphs, smallest);
            file.probe.scores = (0..nodes.len() as u32).map(|i| solved.score(0, first + i)).collect();
            file.header.probe = nodes.map(|i| graphs.node_names.get(i).to_string()).collect();
        }
        Ok(file)
    }

    /// How the walk goes.
    ///
    /// # Errors
    /// If the header has a word of another version.
    pub fn walk(&self) -> Result<Walk, ParamError> {
        Ok(Walk {
            restart: self.header.restart,
            dangling: word("dangling", &self.header.dangling, DANGLING)?,
            score: word("score", &self.header.score, SCORES)?,
            solver: Solver::Seidel,
        })
    }

    /// Names of all weights, in their order.
    pub fn names(&self) -> Vec<String> {
        let WalkHeader { nodes, own, ends, .. } = &self.header;
        let of_ends = if *ends { &["from", "to"][..] } else { &[] };
        let ends = of_ends.iter().flat_map(|end| nodes.iter().map(move |name| format!("{end} {name}")));
        let restart = nodes.iter().map(|name| format!("restart {name}"));
        restart.chain(own.iter().map(|name| format!("edge {name}"))).chain(ends).collect()
    }

    /// φ for other graphs, by the names of their features. Features that the walk does not know count nothing.
    ///
    /// # Errors
    /// If a feature that the walk knows is missing.
    pub fn phi_for(&self, graphs: &QueryGraphs) -> Result<Vec<f64>, ModelError> {
        self.fit(&self.phi, graphs)
    }

    /// The weights that training started from, for other graphs.
    ///
    /// # Errors
    /// If a feature that the walk knows is missing.
    pub fn start_for(&self, graphs: &QueryGraphs) -> Result<Vec<f64>, ModelError> {
        self.fit(&self.start, graphs)
    }

    fn fit(&self, weights: &[f64], graphs: &QueryGraphs) -> Result<Vec<f64>, ModelError> {
        let WalkHeader { nodes, own, ends, .. } = &self.header;
        let missing = |what: &str, name: &String, there: &[String]| {
            let expected = format!("the features of the training data; there are {}", there.join(", "));
            ModelError::new(format!("no feature {name:?} of {what}"), expected)
        };
        if let Some(name) = nodes.iter().find(|name| !graphs.node_columns.contains(name)) {
            return Err(missing("nodes", name, &graphs.node_columns));
        }
        if let Some(name) = own.iter().find(|name| !graphs.edge_columns.contains(name)) {
            return Err(missing("edges", name, &graphs.edge_columns));
        }
        if *ends != graphs.edge_features.ends {
            let found = if *ends {
                "edges without the features of their ends"
            } else {
                "edges with features of ends"
            };
            return Err(ModelError::new(found, "the same as in training: see --edge-features"));
        }
        let (m, k) = (nodes.len(), own.len());
        let pick = |weights: &[f64], known: &[String], wanted: &[String]| -> Vec<f64> {
            let of = |name: &String| known.iter().position(|n| n == name).map_or(0.0, |at| weights[at]);
            wanted.iter().map(of).collect()
        };
        let mut phi = pick(&weights[..m], nodes, &graphs.node_columns);
        phi.extend(pick(&weights[m..m + k], own, &graphs.edge_columns));
        if *ends {
            for end in 0..2 {
                let start = m + k + end * m;
                phi.extend(pick(&weights[start..start + m], nodes, &graphs.node_columns));
            }
        }
        Ok(phi)
    }

    /// Writes it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), TrainError> {
        let mut tensors = vec![
            Tensor::flat("walk.phi", Values::F64(&self.phi)),
            Tensor::flat("walk.start", Values::F64(&self.start)),
        ];
        tensors.extend(self.probe.tensors());
        container::save(path, KIND, &self.header, &tensors)
    }

    /// Reads a walk; every byte is checked and its self-test is run.
    ///
    /// # Errors
    /// If the file is not a walk, damaged, or computes other scores here.
    pub fn load(path: &Path) -> Result<WalkFile, TrainError> {
        let loaded: Loaded<WalkHeader> = container::load(path, KIND)?;
        let (phi, start) = (loaded.f64("walk.phi")?, loaded.f64("walk.start")?);
        let probe = Probe::load(&loaded)?;
        let file = WalkFile { header: loaded.header.clone(), phi, start, probe };
        let wanted = file.names().len();
        if let Some(other) = [&file.phi, &file.start].into_iter().find(|weights| weights.len() != wanted) {
            return Err(
                loaded.wrong(format!("{} weights", other.len()), format!("{wanted}, one per feature"))
            );
        }
        if file.header.probe.is_empty() {
            return Ok(file);
        }
        let graphs = file.probe.graphs(&file.header)?;
        let solved = file.walk()?.solve(&graphs, &[0], &file.phi_for(&graphs)?, Stop::at(ERROR))?;
        for (i, expected) in file.probe.scores.iter().enumerate() {
            let found = solved.score(0, i as u32);
            if (found - expected).abs() > TOLERANCE * expected.abs().max(1.0) {
                let found = format!("a self-test that fails: node {i} has score {found}");
                return Err(loaded.wrong(found, format!("{expected}")));
            }
        }
        Ok(file)
    }

    /// True if the file at `path` looks like a walk, whole or not.
    pub fn is_one(path: &Path) -> bool {
        container::looks_like(path, KIND)
    }
}

/// A small graph as columns.
#[derive(Clone, Debug, Default)]
struct Probe {
    seeds: Vec<f32>,
    features: Vec<f32>,
    sources: Vec<f32>,
    targets: Vec<f32>,
    own: Vec<f32>,
    scores: Vec<f64>,
}

impl Probe {
    fn of(graphs: &QueryGraphs, q: usize) -> Probe {
        let nodes = graphs.nodes_of(q);
        let mut probe = Probe::default();
        let inward = graphs.graph.inward();
        let mut row = vec![0.0; graphs.node_width()];
        let mut own = vec![0.0; graphs.edge_features.own.width()];
        for j in nodes.clone() {
            probe.seeds.push(f32::from(u8::from(graphs.seeds_of(q).contains(&(j as u32)))));
            graphs.node_features.row_into(j, &mut row);
            probe.features.extend_from_slice(&row);
            for edge in inward.range(j) {
                probe.sources.push((inward.end(edge) as usize - nodes.start) as f32);
                probe.targets.push((j - nodes.start) as f32);
                graphs.edge_features.own.row_into(edge, &mut own);
                probe.own.extend_from_slice(&own);
            }
        }
        probe
    }

    fn tensors(&self) -> Vec<Tensor<'_>> {
        let columns = [
            ("probe.seeds", &self.seeds),
            ("probe.features", &self.features),
            ("probe.sources", &self.sources),
            ("probe.targets", &self.targets),
            ("probe.own", &self.own),
        ];
        let mut tensors: Vec<Tensor> =
            columns.into_iter().map(|(name, values)| Tensor::flat(name, Values::F32(values))).collect();
        tensors.push(Tensor::flat("probe.scores", Values::F64(&self.scores)));
        tensors
    }

    fn load(loaded: &Loaded<WalkHeader>) -> Result<Probe, TrainError> {
        let column = |name: &str| loaded.f32(name).map(|(_, values)| values);
        Ok(Probe {
            seeds: column("probe.seeds")?,
            features: column("probe.features")?,
            sources: column("probe.sources")?,
            targets: column("probe.targets")?,
            own: column("probe.own")?,
            scores: loaded.f64("probe.scores")?,
        })
    }

    fn graphs(&self, header: &WalkHeader) -> Result<QueryGraphs, TrainError> {
        Ok(QueryGraphs::build(GraphTables {
            queries: Interner::default(),
            shared: true,
            parts: vec![0, header.probe.len() as u32],
            node_names: header.probe.iter().collect(),
            seeds: Some(self.seeds.iter().map(|seed| *seed == 1.0).collect()),
            node_columns: header.nodes.clone(),
            node_values: self.features.clone(),
            sources: self.sources.iter().map(|i| *i as u32).collect(),
            targets: self.targets.iter().map(|j| *j as u32).collect(),
            edge_columns: header.own.clone(),
            edge_values: self.own.clone(),
            ends: Some(header.ends),
            ..GraphTables::default()
        })?)
    }
}
