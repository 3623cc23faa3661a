/*!
Learned walks in files: φ by the names of its features, how the walk goes, and a self-test.

The self-test is a small graph of the training data with the scores of its nodes; they are computed again at every load.
φ is stored for features as they were read: a walk is linear in them, so what they were divided by in training is in φ.
*/

use std::path::Path;

use serde::{Deserialize, Serialize};
use toprank_core::{ModelError, ParamError, Policy};
use toprank_data::graph::{GraphTables, QueryGraphs};
use toprank_data::group::Interner;
use toprank_metrics::{Measure, evaluate};
use toprank_walks::{Stop, Walk};

use super::config;
use crate::error::TrainError;
use crate::fit::settings::TrainerKind;
use crate::store::container::{self, Stored, Tensor};
use crate::store::fingerprint::{Fingerprint, Input};
use crate::store::header::{self, Header};

const KIND: &str = "walk";
/// Nodes of a self-test at most.
const PROBED: usize = 256;
const TOLERANCE: f64 = 1e-6;
/// Error of the distributions of the self-test.
const ERROR: f64 = 1e-12;
/// Error of the distributions that are evaluated.
const EVALUATED_ERROR: f64 = 1e-10;

/// What the header of a walk says beside config and result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Features of nodes.
    pub nodes: Vec<String>,
    /// Own features of edges.
    pub own: Vec<String>,
    /// Whether edges have the features of their ends.
    pub ends: bool,
    /// Loss on the training lists, before and after.
    pub loss: (f64, f64),
    /// Names of the nodes of the self-test.
    pub probe: Vec<String>,
}

/// A learned walk.
#[derive(Clone, Debug)]
pub struct WalkFile {
    /// What is known about it.
    pub header: Header<About>,
    /// Weights of the features of nodes, then of the edges' own features, of their sources, of their targets.
    pub phi: Vec<f64>,
    /// The weights of the untuned walk, in the same order: those that training starts from unless it is warm-started.
    pub start: Vec<f64>,
    /// The self-test.
    probe: Probe,
}

/// The numbers of all lists.
pub(super) fn all_lists(graphs: &QueryGraphs) -> Vec<u32> {
    (0..graphs.len() as u32).collect()
}

/// Scores of the judged nodes of some lists.
///
/// # Errors
/// If there is no walk with these weights.
pub fn judged_scores(
    graphs: &QueryGraphs,
    walk: Walk,
    phi: &[f64],
    which: &[u32],
) -> Result<Vec<f64>, TrainError> {
    let solved = walk.solve(graphs, which, phi, Stop::at(EVALUATED_ERROR))?;
    let judged = graphs.lists(which, false);
    let mut scores = Vec::with_capacity(judged.entries());
    for k in 0..which.len() {
        let rows = judged.range(k).map(|entry| graphs.of_row(judged.row(entry) as u32).1);
        scores.extend(rows.map(|node| solved.score(k, node)));
    }
    Ok(scores)
}

impl WalkFile {
    /// A walk with its self-test: the smallest graph of `graphs`, whose features are as they were read, or its first nodes.
    ///
    /// # Errors
    /// If the walk does not exist.
    pub fn new(
        mut header: Header<About>,
        phi: Vec<f64>,
        start: Vec<f64>,
        graphs: &QueryGraphs,
    ) -> Result<WalkFile, TrainError> {
        let Some(smallest) = (0..graphs.len()).min_by_key(|&q| graphs.nodes_of(q).len()) else {
            return Err(ModelError::new("no graph", "at least one, for the self-test").into());
        };
        let nodes = graphs.nodes_of(smallest).take(PROBED);
        header.about.probe = nodes.map(|i| graphs.node_names.get(i).to_string()).collect();
        let mut file = WalkFile { header, phi, start, probe: Probe::of(graphs, smallest) };
        file.probe.scores = file.probe_scores()?;
        Ok(file)
    }

    /// What the self-test computes now.
    fn probe_scores(&self) -> Result<Vec<f64>, TrainError> {
        let graphs = self.probe.graphs(&self.header.about)?;
        let solved = self.walk().solve(&graphs, &[0], &self.phi_for(&graphs)?, Stop::at(ERROR))?;
        Ok((0..self.header.probe.len() as u32).map(|i| solved.score(0, i)).collect())
    }

    /// How the walk goes.
    pub fn walk(&self) -> Walk {
        config::walk(&self.header.config)
    }

    /// The mean of a metric over the lists of other graphs; `None`: undefined on all of them.
    ///
    /// # Errors
    /// If `metric` is not one metric, a feature of the walk is missing, or nothing is judged.
    pub fn value(&self, graphs: &QueryGraphs, metric: &str) -> Result<Option<f64>, TrainError> {
        let measures = Measure::parse_all(metric, &Policy::default())?;
        if measures.len() != 1 {
            return Err(ParamError::new("metric", metric, "one metric").into());
        }
        let which = all_lists(graphs);
        let scores = judged_scores(graphs, self.walk(), &self.phi_for(graphs)?, &which)?;
        Ok(evaluate(&graphs.lists(&which, false), &scores, &measures)?.results[0].mean)
    }

    /// Names of all weights, in their order.
    pub fn names(&self) -> Vec<String> {
        let About { nodes, own, ends, .. } = &self.header.about;
        let of_ends = if *ends { &["from", "to"][..] } else { &[] };
        let ends = of_ends.iter().flat_map(|end| nodes.iter().map(move |name| format!("{end} {name}")));
        let restart = nodes.iter().map(|name| format!("restart {name}"));
        restart.chain(own.iter().map(|name| format!("edge {name}"))).chain(ends).collect()
    }

    /// φ for other graphs, by the names of their features. Features that the walk does not know have weight 0.
    ///
    /// # Errors
    /// If a feature that the walk knows is missing.
    pub fn phi_for(&self, graphs: &QueryGraphs) -> Result<Vec<f64>, ModelError> {
        self.fit(&self.phi, 0.0, graphs)
    }

    /// φ for other graphs; features that the walk does not know have none.
    pub(super) fn known_phi(&self, graphs: &QueryGraphs) -> Result<Vec<Option<f64>>, ModelError> {
        let phi = self.fit(&self.phi, f64::NAN, graphs)?;
        Ok(phi.into_iter().map(|phi| Some(phi).filter(|phi| !phi.is_nan())).collect())
    }

    /// It as an input of a run that starts from it.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::default().with(Input::From, |content| {
            content.bytes(serde_json::to_string(&self.header).unwrap_or_default().as_bytes());
            let bits: Vec<u64> = self.phi.iter().map(|phi| phi.to_bits()).collect();
            content.numbers(&bits);
        })
    }

    /// The weights of the untuned walk, for other graphs.
    ///
    /// # Errors
    /// If a feature that the walk knows is missing.
    pub fn start_for(&self, graphs: &QueryGraphs) -> Result<Vec<f64>, ModelError> {
        self.fit(&self.start, 0.0, graphs)
    }

    /// Weights for other graphs, `unknown` for features that the walk does not know.
    fn fit(&self, weights: &[f64], unknown: f64, graphs: &QueryGraphs) -> Result<Vec<f64>, ModelError> {
        let About { nodes, own, ends, .. } = &self.header.about;
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
            let of = |name: &String| known.iter().position(|n| n == name).map_or(unknown, |at| weights[at]);
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
        let mut tensors = vec![Tensor::flat("walk.phi", &self.phi), Tensor::flat("walk.start", &self.start)];
        tensors.extend(self.probe.tensors());
        header::save(path, KIND, &self.header, &tensors)
    }

    /// Reads a walk; every byte is checked and its self-test is run.
    ///
    /// # Errors
    /// If the file is not a walk, damaged, or computes other scores here.
    pub fn load(path: &Path) -> Result<WalkFile, TrainError> {
        let (stored, header): (Stored, Header<About>) = container::load(path, KIND)?;
        let (phi, start) = (stored.f64("walk.phi")?, stored.f64("walk.start")?);
        let file = WalkFile { header, phi, start, probe: Probe::load(&stored)? };
        let wanted = file.names().len();
        if let Some(other) = [&file.phi, &file.start].into_iter().find(|weights| weights.len() != wanted) {
            let expected = format!("{wanted}, one per feature");
            return Err(stored.wrong(format!("{} weights", other.len()), expected));
        }
        file.header.config.check().map_err(|error| stored.wrong(error.to_string(), "settings of a walk"))?;
        if file.header.config.trainer() != TrainerKind::Walk {
            return Err(stored.wrong("settings of another trainer", "settings of a walk"));
        }
        if let Some(weight) = file.phi.iter().chain(&file.start).find(|weight| !weight.is_finite()) {
            return Err(stored.wrong(format!("the weight {weight}"), "finite weights"));
        }
        file.probe.check(&stored, &file.header)?;
        header::self_test(&stored, &file.probe_scores()?, &file.probe.scores, TOLERANCE)?;
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
        let nodes = nodes.start..nodes.end.min(nodes.start + PROBED);
        let mut probe = Probe::default();
        let inward = graphs.graph.inward();
        let mut row = vec![0.0; graphs.node_width()];
        let mut own = vec![0.0; graphs.edge_features.own.width()];
        for j in nodes.clone() {
            probe.seeds.push(f32::from(u8::from(graphs.seeds_of(q).contains(&(j as u32)))));
            graphs.node_features.row_into(j, &mut row);
            probe.features.extend_from_slice(&row);
            for edge in inward.range(j).filter(|&edge| nodes.contains(&(inward.end(edge) as usize))) {
                probe.sources.push((inward.end(edge) as usize - nodes.start) as f32);
                probe.targets.push((j - nodes.start) as f32);
                graphs.edge_features.own.row_into(edge, &mut own);
                probe.own.extend_from_slice(&own);
            }
        }
        // A walk needs a seed; where the nodes of the self-test have none, the first stands in.
        if probe.seeds.iter().all(|seed| *seed == 0.0) {
            probe.seeds[0] = 1.0;
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
            columns.into_iter().map(|(name, values)| Tensor::flat(name, values)).collect();
        tensors.push(Tensor::flat("probe.scores", &self.scores));
        tensors
    }

    fn load(stored: &Stored) -> Result<Probe, TrainError> {
        let column = |name: &str| stored.f32(name).map(|(_, values)| values);
        Ok(Probe {
            seeds: column("probe.seeds")?,
            features: column("probe.features")?,
            sources: column("probe.sources")?,
            targets: column("probe.targets")?,
            own: column("probe.own")?,
            scores: stored.f64("probe.scores")?,
        })
    }

    /// Sizes of columns and numbers of nodes, before a graph is made of them.
    fn check(&self, stored: &Stored, header: &About) -> Result<(), TrainError> {
        let (nodes, edges) = (header.probe.len(), self.sources.len());
        if !(1..=PROBED).contains(&nodes) {
            return Err(stored.wrong(format!("{nodes} nodes in the self-test"), format!("1 to {PROBED}")));
        }
        for (name, found, expected) in [
            ("probe.seeds", self.seeds.len(), nodes),
            ("probe.features", self.features.len(), nodes.saturating_mul(header.nodes.len())),
            ("probe.targets", self.targets.len(), edges),
            ("probe.own", self.own.len(), edges.saturating_mul(header.own.len())),
            ("probe.scores", self.scores.len(), nodes),
        ] {
            stored.counted(name, found, expected)?;
        }
        let is_node = |end: &f32| *end >= 0.0 && end.fract() == 0.0 && (*end as usize) < nodes;
        if let Some(end) = self.sources.iter().chain(&self.targets).find(|end| !is_node(end)) {
            return Err(stored
                .wrong(format!("an edge at node {end} in the self-test"), format!("nodes below {nodes}")));
        }
        let sound = |value: &&f32| value.is_finite() && **value >= 0.0;
        match self.features.iter().chain(&self.own).find(|value| !sound(value)) {
            Some(value) => {
                Err(stored.wrong(format!("the feature {value} in the self-test"), "finite numbers from 0 on"))
            }
            None => Ok(()),
        }
    }

    fn graphs(&self, header: &About) -> Result<QueryGraphs, TrainError> {
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
