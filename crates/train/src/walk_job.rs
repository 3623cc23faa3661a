/*!
From judged graphs to a learned walk: settings in, a [`WalkFile`] out.

The weights are learned for features that are each divided by their largest value, and kept for features as they were read.
With validation graphs the weights that are best there are kept, otherwise those that the method ends with.
*/

use serde::{Deserialize, Serialize};
use toprank_core::{Lists, ModelError, ParamError, Policy};
use toprank_data::QueryGraphs;
use toprank_metrics::{Better, Measure, evaluate};
use toprank_objectives::Goal;
use toprank_walks::{Score, Solver, Stop, Walk};

use crate::choice::{By, choose};
use crate::error::TrainError;
use crate::full::{
    Adam, Found, Gbn, Gbp, Gfn, Look, Oracle, Progress, Region, WalkOracle, adam, gbn, gbp, gfn,
};
use crate::walk_file::{DANGLING, SCORES, WalkFile, WalkHeader, word, word_of};

/// How weights are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Gradient steps whose length adapts.
    Gbn,
    /// Random directions, values only.
    Gfn,
    /// Gradient steps of a fixed length.
    Gbp,
    /// Adam with projection.
    Adam,
}

/// The words for methods.
pub const METHODS: &[(&str, Method)] =
    &[("gbn", Method::Gbn), ("gfn", Method::Gfn), ("gbp", Method::Gbp), ("adam", Method::Adam)];

/// Smallest weight outside a ball.
const LEAST: f64 = 1e-4;
/// Steps of `gfn` between two validations: one step of it costs little.
const GFN_EVERY: usize = 50;
/// Error of the distributions that are judged.
const JUDGED: f64 = 1e-10;

/// What a user sets; `None`: what suits the objective or the method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct WalkSettings {
    /// Probability of a restart, above 0 and below 1 (0.15).
    pub restart: f64,
    /// Where walks go from nodes without out-edges, of [`DANGLING`] (`restart`).
    pub dangling: String,
    /// An objective, or a metric to be best at (`margin`).
    pub objective: String,
    /// Of [`METHODS`] (`gbn` for margin losses, else `adam`).
    pub method: Option<String>,
    /// What a score is, of [`SCORES`] (`probability` for margin losses, else `scaled`).
    pub score: Option<String>,
    /// The metric to validate by (that of the objective, else `ndcg@10`).
    pub metric: Option<String>,
    /// Most steps (`gbn` and `gbp` 200, `adam` 300, `gfn` 2000).
    pub steps: Option<usize>,
    /// Accuracy that `gbn` stops at, and that the theory of `gfn` is asked for, above 0 (1e-6).
    pub epsilon: f64,
    /// First estimate of the Lipschitz constant (`gbn`), the constant itself (`gfn`), above 0 (1e-4).
    pub lipschitz: f64,
    /// Factor of the gradient (`gbp`), above 0 (100).
    pub step_size: f64,
    /// Rate (`adam`), above 0 (0.02).
    pub rate: f64,
    /// As many steps as the proof of `gfn` asks for.
    pub theory: bool,
    /// Radius of the ball round the all-ones weights, above 0 and below 1 (0.99; `adam`: none).
    pub radius: Option<f64>,
    /// Seed of random directions (`gfn`).
    pub seed: u64,
    /// Whether features are divided by their largest value (yes).
    pub scale: bool,
}

impl Default for WalkSettings {
    fn default() -> WalkSettings {
        WalkSettings {
            restart: 0.15,
            dangling: "restart".into(),
            objective: "margin".into(),
            method: None,
            score: None,
            metric: None,
            steps: None,
            epsilon: 1e-6,
            lipschitz: 1e-4,
            step_size: 100.0,
            rate: 0.02,
            theory: false,
            radius: None,
            seed: 1,
            scale: true,
        }
    }
}

/// A learned walk and how it came about.
#[derive(Clone, Debug)]
pub struct LearnedWalk {
    /// The walk, ready to be saved.
    pub file: WalkFile,
    /// What the method found.
    pub found: Found,
    /// The metric.
    pub metric: String,
    /// Its value on the lists of training, by the untuned and by the learned walk; `None`: no list has one.
    pub values: (Option<f64>, Option<f64>),
}

impl WalkSettings {
    /// The settings of `gfn`, whose theory knows its steps before the first.
    pub fn gfn(&self) -> Gfn {
        let steps = if self.theory { None } else { self.steps.or(Gfn::default().steps) };
        Gfn { epsilon: self.epsilon, lipschitz: self.lipschitz, steps, seed: self.seed }
    }

    /// Learns the weights of a walk over these graphs, whose features are as they were read.
    ///
    /// # Errors
    /// If a setting is none, the graphs have no features or judgements, or `valid` has other features.
    pub fn learn(
        &self,
        graphs: &QueryGraphs,
        valid: Option<&QueryGraphs>,
        look: &mut dyn Look,
    ) -> Result<LearnedWalk, TrainError> {
        let choice = choose(&self.objective, None, By::Network)?;
        let goal = Goal::parse(&choice.algorithm, &Policy::default())?;
        let metric = self.metric.clone().or(choice.metric).unwrap_or_else(|| "ndcg@10".into());
        let measure = one_measure(&metric)?;
        let is_margin = ["margin", "squared-hinge"].contains(&goal.listing().entry.name);
        let method = match &self.method {
            Some(method) => word("method", method, METHODS)?,
            None if is_margin => Method::Gbn,
            None => Method::Adam,
        };
        let score = match &self.score {
            Some(score) => word("score", score, SCORES)?,
            None if is_margin => Score::Probability,
            None => Score::Scaled,
        };
        let dangling = word("dangling", &self.dangling, DANGLING)?;
        let walk = Walk { restart: self.restart, dangling, score, solver: Solver::Seidel };
        let m = Walk::parameters(graphs);
        if m == 0 {
            let expected = "some of nodes or edges, whose weights can be learned";
            return Err(ModelError::new("graphs without features", expected).into());
        }
        let region = self.region(method, m)?;
        let (by_node, by_own) = if self.scale {
            graphs.largest()
        } else {
            (vec![0.0; graphs.node_width()], vec![0.0; graphs.edge_features.own.width()])
        };
        let unscaled = |phi: &[f64]| unscale(phi, &by_node, &by_own, graphs.edge_features.ends);
        let mut scaled = graphs.clone();
        scaled.divide(&by_node, &by_own);
        let mut oracle = WalkOracle::new(&scaled, &all(graphs), walk, &goal)?;
        if method == Method::Gbp {
            // As the method is defined: 100 powers.
            oracle = oracle.with_products(100);
        }
        let before = oracle.value(&vec![1.0; m], 1e-9)?;
        let mut keeper = Keeper {
            look,
            judge: valid.map(|valid| Judge::new(valid, walk, &measure, graphs)).transpose()?,
            every: if method == Method::Gfn { GFN_EVERY } else { 1 },
            best: None,
            unscale: &unscaled,
            failed: None,
        };
        let found = self.minimise(method, &mut oracle, &region, m, &mut keeper)?;
        if let Some(error) = keeper.failed.take() {
            return Err(error);
        }
        let (phi, validated) = match keeper.best.take() {
            Some((value, phi)) => (phi, Some((metric.clone(), value))),
            None => (unscaled(&found.phi), None),
        };
        let header = WalkHeader {
            restart: walk.restart,
            dangling: self.dangling.clone(),
            score: word_of(walk.score, SCORES).into(),
            nodes: graphs.node_columns.clone(),
            own: graphs.edge_columns.clone(),
            ends: graphs.edge_features.ends,
            objective: goal.name().into(),
            method: word_of(method, METHODS).into(),
            lists: graphs.len(),
            steps: found.steps,
            loss: (before, found.loss),
            metric: validated,
            probe: Vec::new(),
        };
        let file = WalkFile::new(header, phi, unscaled(&vec![1.0; m]), graphs)?;
        let trained =
            Judge { graphs, which: all(graphs), lists: oracle.lists().clone(), walk, measure: &measure };
        let values = (trained.value(&file.start)?, trained.value(&file.phi)?);
        Ok(LearnedWalk { file, found, metric, values })
    }

    fn region(&self, method: Method, m: usize) -> Result<Region, ParamError> {
        match self.radius {
            Some(radius) if radius > 0.0 && radius < 1.0 => Ok(Region::ball(m, radius)),
            Some(radius) => {
                let expected = "above 0 and below 1, so that weights stay above 0";
                Err(ParamError::new("radius", &radius.to_string(), expected))
            }
            None if method == Method::Adam => Ok(Region::AtLeast(LEAST)),
            None => Ok(Region::ball(m, 0.99)),
        }
    }

    fn minimise(
        &self,
        method: Method,
        oracle: &mut WalkOracle,
        region: &Region,
        m: usize,
        look: &mut dyn Look,
    ) -> Result<Found, TrainError> {
        let (epsilon, lipschitz) = (self.epsilon, self.lipschitz);
        let steps = |default: usize| self.steps.unwrap_or(default);
        let start = vec![1.0; m];
        match method {
            Method::Gbn => {
                let settings = Gbn { epsilon, lipschitz, steps: steps(Gbn::default().steps) };
                gbn(oracle, region, &start, &settings, look)
            }
            Method::Gfn => gfn(oracle, region, &start, &self.gfn(), look),
            Method::Gbp => {
                let default = Gbp::default();
                let settings = Gbp { step: self.step_size, steps: steps(default.steps), ..default };
                gbp(oracle, region, &start, &settings, look)
            }
            Method::Adam => {
                let default = Adam::default();
                let settings = Adam { rate: self.rate, steps: steps(default.steps), ..default };
                adam(oracle, region, &start, &settings, look)
            }
        }
    }
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
    let solved = walk.solve(graphs, which, phi, Stop::at(JUDGED))?;
    let judged = graphs.lists(which, false);
    let mut scores = Vec::with_capacity(judged.entries());
    for k in 0..which.len() {
        let rows = judged.range(k).map(|entry| graphs.of_row(judged.row(entry) as u32).1);
        scores.extend(rows.map(|node| solved.score(k, node)));
    }
    Ok(scores)
}

impl WalkFile {
    /// The mean of a metric over the lists of other graphs; `None`: no list has one.
    ///
    /// # Errors
    /// If `metric` is none, a feature of the walk is missing, or nothing is judged.
    pub fn value(&self, graphs: &QueryGraphs, metric: &str) -> Result<Option<f64>, TrainError> {
        let measure = one_measure(metric)?;
        let phi = self.phi_for(graphs)?;
        let lists = graphs.lists(&all(graphs), false);
        Judge { graphs, which: all(graphs), lists, walk: self.walk()?, measure: &measure }.value(&phi)
    }
}

fn one_measure(text: &str) -> Result<Measure, ParamError> {
    let mut measures = Measure::parse_all(text, &Policy::default())?;
    match measures.len() {
        1 => Ok(measures.remove(0)),
        _ => Err(ParamError::new("metric", text, "one metric")),
    }
}

fn all(graphs: &QueryGraphs) -> Vec<u32> {
    (0..graphs.len() as u32).collect()
}

/// φ for features as they were read.
fn unscale(phi: &[f64], by_node: &[f32], by_own: &[f32], ends: bool) -> Vec<f64> {
    let nodes = || by_node.iter();
    let of_ends = if ends { 2 } else { 0 };
    let all = nodes().chain(by_own).chain((0..of_ends).flat_map(|_| nodes()));
    phi.iter().zip(all).map(|(phi, by)| if *by > 0.0 { phi / f64::from(*by) } else { *phi }).collect()
}

/// A metric on graphs.
struct Judge<'a> {
    graphs: &'a QueryGraphs,
    which: Vec<u32>,
    lists: Lists,
    walk: Walk,
    measure: &'a Measure,
}

impl<'a> Judge<'a> {
    fn new(
        graphs: &'a QueryGraphs,
        walk: Walk,
        measure: &'a Measure,
        train: &QueryGraphs,
    ) -> Result<Judge<'a>, ModelError> {
        let same = graphs.node_columns == train.node_columns
            && graphs.edge_columns == train.edge_columns
            && graphs.edge_features.ends == train.edge_features.ends;
        if !same {
            let found = "validation graphs with other features than the training graphs";
            return Err(ModelError::new(found, "the same, in the same order"));
        }
        let which = all(graphs);
        let lists = graphs.lists(&which, false);
        if lists.entries() == 0 {
            return Err(ModelError::new("validation graphs without judgements", "some judged nodes"));
        }
        Ok(Judge { graphs, which, lists, walk, measure })
    }

    fn value(&self, phi: &[f64]) -> Result<Option<f64>, TrainError> {
        let scores = judged_scores(self.graphs, self.walk, phi, &self.which)?;
        let evaluation = evaluate(&self.lists, &scores, std::slice::from_ref(self.measure))?;
        Ok(evaluation.results[0].mean)
    }
}

/// Looks on, and keeps the weights that are best on validation graphs.
struct Keeper<'a> {
    look: &'a mut dyn Look,
    judge: Option<Judge<'a>>,
    /// Steps between two validations.
    every: usize,
    /// The best validation and its weights, for features as they were read.
    best: Option<(f64, Vec<f64>)>,
    unscale: &'a dyn Fn(&[f64]) -> Vec<f64>,
    failed: Option<TrainError>,
}

impl Look for Keeper<'_> {
    fn step(&mut self, now: &Progress, phi: &[f64]) {
        self.look.step(now, phi);
        let Some(judge) = &self.judge else { return };
        if !now.step.is_multiple_of(self.every) {
            return;
        }
        let phi = (self.unscale)(phi);
        match judge.value(&phi) {
            Ok(Some(value)) => {
                let better = |best: f64| match judge.measure.metric().better() {
                    Better::Higher => value > best,
                    Better::Lower => value < best,
                };
                if self.best.as_ref().is_none_or(|(best, _)| better(*best)) {
                    self.best = Some((value, phi));
                }
            }
            Ok(None) => {}
            Err(error) => self.failed = Some(error),
        }
    }

    fn stop(&mut self) -> bool {
        self.look.stop() || self.failed.is_some()
    }
}
