//! The trainer of walks, in the [`TrainingLoop`]: every step of a full-batch method is an epoch.

use toprank_core::{ModelError, ParamError};
use toprank_data::QueryGraphs;
use toprank_metrics::evaluate;
use toprank_walks::Walk;

use super::config;
use super::file::{About, Judged, WalkFile, all_lists};
use super::full_batch::{Adam, Found, Gbn, Gbp, Method, Oracle, Theory, WalkOracle};
use crate::error::TrainError;
use crate::fit::settings::{Config, Settings, TrainerKind};
use crate::fit::training_loop::{Computed, LoopState, Position, Rounds, TrainingLoop, accessors};
use crate::fit::tune::Tunable;
use crate::store::container::{Stored, Tensor};
use crate::store::fingerprint::{Content, Fingerprint, Input};
use crate::store::header::{Header, Reached};

/// Steps of GFN between two validations: one step of it costs little.
const GFN_VALIDATES_EVERY: u64 = 50;
/// Error of the loss of the untuned walk.
const UNTUNED_ERROR: f64 = 1e-9;

/// Graphs made ready to be learned from: each feature is divided by its largest value, so that weights can be compared; those of
/// validation by the same numbers, so that training and validation walk with the same weights.
pub struct PreparedGraphs<'a> {
    graphs: &'a QueryGraphs,
    scaled: QueryGraphs,
    by_node: Vec<f32>,
    by_own: Vec<f32>,
    valid: Option<Validation<'a>>,
}

/// Graphs of validation.
struct Validation<'a> {
    graphs: &'a QueryGraphs,
    scaled: QueryGraphs,
    judged: Judged,
}

impl<'a> PreparedGraphs<'a> {
    /// Training graphs, and perhaps graphs for validation, with features as they were read.
    ///
    /// # Errors
    /// If the graphs have no features, or `valid` has others or no judgements.
    pub fn new(
        config: &Config,
        graphs: &'a QueryGraphs,
        valid: Option<&'a QueryGraphs>,
    ) -> Result<PreparedGraphs<'a>, TrainError> {
        if Walk::parameters(graphs) == 0 {
            let expected = "some of nodes or edges, whose weights can be learned";
            return Err(ModelError::new("graphs without features", expected).into());
        }
        if let Some(valid) = valid {
            let same = valid.node_columns == graphs.node_columns
                && valid.edge_columns == graphs.edge_columns
                && valid.edge_features.ends == graphs.edge_features.ends;
            if !same {
                let found = "validation graphs with other features than the training graphs";
                return Err(ModelError::new(found, "the same, in the same order").into());
            }
        }
        let judged = valid.map(Judged::all);
        if judged.as_ref().is_some_and(|judged| judged.lists.entries() == 0) {
            let found = "validation graphs without judgements";
            return Err(ModelError::new(found, "some judged nodes").into());
        }
        let (by_node, by_own) = if config.no_scale() {
            (vec![0.0; graphs.node_width()], vec![0.0; graphs.edge_features.own.width()])
        } else {
            graphs.largest()
        };
        let scaled = graphs.divided(&by_node, &by_own);
        let valid = valid.zip(judged).map(|(graphs, judged)| {
            let scaled = graphs.divided(&by_node, &by_own);
            Validation { graphs, scaled, judged }
        });
        Ok(PreparedGraphs { graphs, scaled, by_node, by_own, valid })
    }

    /// What the feature of each weight is divided by.
    fn divisors(&self) -> impl Iterator<Item = f64> {
        let nodes = || self.by_node.iter();
        let of_ends = if self.graphs.edge_features.ends { 2 } else { 0 };
        let all = nodes().chain(&self.by_own).chain((0..of_ends).flat_map(move |_| nodes()));
        all.map(|by| if *by > 0.0 { f64::from(*by) } else { 1.0 })
    }

    /// φ for features as they were read.
    fn unscaled(&self, phi: &[f64]) -> Vec<f64> {
        phi.iter().zip(self.divisors()).map(|(phi, by)| phi / by).collect()
    }
}

/// A learned walk and how it came about.
#[derive(Clone, Debug)]
pub struct LearnedWalk {
    /// The walk, ready to be saved.
    pub file: WalkFile,
    /// What the method found.
    pub found: Found,
    /// The value of the metric on the training lists, by the untuned and by the learned walk; `None`: undefined on all.
    pub values: (Option<f64>, Option<f64>),
}

/// What the convergence proof of GFN asks for, under this config.
pub fn theory(config: &Config, graphs: &QueryGraphs) -> Theory {
    Theory::new(Walk::parameters(graphs), region_radius(config), &config::gfn(config))
}

fn region_radius(config: &Config) -> f64 {
    // R of the formulas is 1 where there is no ball.
    config.settings().radius.unwrap_or(1.0)
}

/// A walk in training.
pub struct Trainer<'a> {
    common: LoopState,
    rounds: Rounds,
    data: &'a PreparedGraphs<'a>,
    walk: Walk,
    oracle: WalkOracle<'a>,
    method: Box<dyn Method>,
    /// Loss of the untuned walk.
    before: f64,
    /// The best weights on validation, for features as they were read.
    best: Vec<f64>,
}

impl<'a> Trainer<'a> {
    /// A walk before its first step, all weights equal.
    ///
    /// # Errors
    /// If nothing is judged, or the objective cannot use the labels.
    pub fn new(config: &Config, data: &'a PreparedGraphs<'a>) -> Result<Trainer<'a>, TrainError> {
        let common = LoopState::new(config)?;
        let walk = config::walk(config);
        let mut oracle = WalkOracle::new(&data.scaled, &all_lists(data.graphs), walk, &config.goal()?)?;
        if config.method() == "gbp" {
            // As the method is defined: 100 powers.
            oracle = oracle.with_products(100);
        }
        let start = vec![1.0; Walk::parameters(data.graphs)];
        let before =
            oracle.value(&start, UNTUNED_ERROR)? + config::problem(config, start.len())?.term(&start);
        let method = method(config, &start)?;
        Ok(Trainer {
            rounds: Rounds { steps: method.steps(), learning_rate: 0.0 },
            best: Vec::new(),
            common,
            method,
            data,
            walk,
            oracle,
            before,
        })
    }

    /// Starts from the weights of another walk; how many features it does not know: their weights start as without it.
    ///
    /// # Errors
    /// If it knows a feature that the graphs lack.
    pub fn start_from(&mut self, from: &WalkFile) -> Result<usize, TrainError> {
        let known = from.known_phi(self.data.graphs).map_err(|error| {
            let expected = "all features of the model to warm-start from, under the same names";
            TrainError::unsuitable(Input::Graphs, &error.what, expected)
        })?;
        let scaled = known.iter().zip(self.data.divisors());
        let start: Vec<f64> = scaled.map(|(phi, by)| phi.map_or(1.0, |phi| phi * by)).collect();
        self.method = method(&self.common.config, &start)?;
        self.common.more_inputs = from.fingerprint();
        Ok(known.iter().filter(|phi| phi.is_none()).count())
    }

    /// What a user gets: the weights that are best on validation, else those that the method found.
    ///
    /// # Errors
    /// If there is no walk with these weights.
    pub fn learned(&self) -> Result<LearnedWalk, TrainError> {
        let found = self.method.found().clone();
        let phi = if self.best.is_empty() { self.data.unscaled(&found.phi) } else { self.best.clone() };
        let start = self.data.unscaled(&vec![1.0; found.phi.len()]);
        let graphs = self.data.graphs;
        let header = Header {
            config: self.common.config.clone(),
            reached: Reached::by(self, graphs.len(), self.oracle.lists().entries()),
            about: About {
                nodes: graphs.node_columns.clone(),
                own: graphs.edge_columns.clone(),
                ends: graphs.edge_features.ends,
                loss: (self.before, found.loss),
                probe: Vec::new(),
            },
        };
        let file = WalkFile::new(header, phi, start, graphs)?;
        let judged = self.oracle.judged();
        let values = (self.value(graphs, judged, &file.start)?, self.value(graphs, judged, &file.phi)?);
        Ok(LearnedWalk { file, found, values })
    }

    /// The metric of validation on some graphs.
    fn value(&self, graphs: &QueryGraphs, judged: &Judged, phi: &[f64]) -> Result<Option<f64>, TrainError> {
        let scores = judged.scores(graphs, self.walk, phi)?;
        Ok(evaluate(&judged.lists, &scores, std::slice::from_ref(&self.common.measure))?.results[0].mean)
    }
}

fn method(config: &Config, start: &[f64]) -> Result<Box<dyn Method>, TrainError> {
    let problem = config::problem(config, start.len())?;
    let (epsilon, lipschitz, steps) = (config.epsilon(), config.lipschitz(), config.steps());
    match config.method() {
        "gbn" => Gbn { epsilon, lipschitz, steps }.start(problem, start),
        "gfn" => config::gfn(config).start(problem, start),
        "gbp" => Gbp { step: config.step_size(), steps, ..Gbp::default() }.start(problem, start),
        _ => {
            let learning_rate = config.learning_rate();
            Adam { learning_rate, steps, ..Adam::default() }.start(problem, start)
        }
    }
}

impl TrainingLoop for Trainer<'_> {
    accessors!(common, rounds);

    fn compute(&mut self) -> Result<Computed, TrainError> {
        let trial = self.method.compute(&mut self.oracle)?;
        self.rounds.learning_rate = trial.learning_rate;
        Ok(Computed {
            loss: trial.loss,
            norm: trial.gradient_norm,
            without_gradient: self.oracle.without_gradient(),
            keeps_previous: false,
        })
    }

    fn commit(&mut self, _: f64) -> Result<(), TrainError> {
        self.method.commit();
        Ok(())
    }

    fn validate(&mut self) -> Result<Option<Option<f64>>, TrainError> {
        let Some(valid) = &self.data.valid else { return Ok(None) };
        let every = if self.common.config.method() == "gfn" { GFN_VALIDATES_EVERY } else { 1 };
        if !self.common.position.step.is_multiple_of(every) {
            return Ok(Some(None));
        }
        self.value(&valid.scaled, &valid.judged, self.method.phi()).map(Some)
    }

    fn keep_best(&mut self) -> Result<(), TrainError> {
        self.best = self.data.unscaled(self.method.phi());
        Ok(())
    }

    fn converged(&self) -> bool {
        self.method.converged()
    }

    /// Edges, features, seeds and judgements of training and validation graphs.
    fn fingerprint(&self) -> Fingerprint {
        fingerprint(self.data.graphs, self.data.valid.as_ref().map(|valid| valid.graphs))
    }

    fn tensors(&self) -> Vec<Tensor<'_>> {
        let state = self.method.state().into_iter();
        let mut tensors: Vec<Tensor> =
            state.map(|(name, values)| Tensor::flat(format!("method.{name}"), values)).collect();
        if !self.best.is_empty() {
            tensors.push(Tensor::flat("best", &self.best));
        }
        tensors
    }

    fn restore(&mut self, stored: &Stored, position: &Position) -> Result<(), TrainError> {
        let wanted = Walk::parameters(self.data.graphs);
        let weights = |name: &str| {
            let values = stored.f64(name)?;
            stored.counted(name, values.len(), wanted)?;
            Ok(values)
        };
        self.method.restore(&|name| {
            let tensor = format!("method.{name}");
            // Before the first step there is no gradient.
            match name {
                "found" | "value" | "scalars" => stored.f64(&tensor),
                "gradient" if position.total == 0 => stored.f64(&tensor).map(|_| Vec::new()),
                _ => weights(&tensor),
            }
        })?;
        if stored.has("best") {
            self.best = weights("best")?;
        }
        Ok(())
    }
}

/// Graphs to tune a walk on.
pub struct TuningGraphs {
    /// Training graphs.
    pub train: QueryGraphs,
    /// Validation graphs.
    pub valid: QueryGraphs,
}

impl Tunable for TuningGraphs {
    fn config(&self, settings: &Settings) -> Result<Config, ParamError> {
        settings.resolve(TrainerKind::Walk)
    }

    fn fingerprint(&self) -> Fingerprint {
        fingerprint(&self.train, Some(&self.valid))
    }

    fn train(
        &self,
        config: &Config,
        each: &mut dyn FnMut(&mut dyn TrainingLoop) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        let prepared = PreparedGraphs::new(config, &self.train, Some(&self.valid))?;
        each(&mut Trainer::new(config, &prepared)?)
    }
}

fn fingerprint(train: &QueryGraphs, valid: Option<&QueryGraphs>) -> Fingerprint {
    Fingerprint::default().with(Input::Graphs, |content| add(content, train)).with_some(
        Input::Valid,
        valid,
        add,
    )
}

fn add(content: &mut Content, graphs: &QueryGraphs) {
    let inward = graphs.graph.inward();
    for node in 0..graphs.graph.nodes() {
        let sources: Vec<u32> = inward.range(node).map(|edge| inward.end(edge)).collect();
        content.numbers(&sources);
    }
    let judged = &graphs.judged;
    for numbers in [&graphs.parts, &graphs.graph_of, &graphs.seeds, &judged.nodes] {
        content.numbers(numbers);
    }
    content.numbers(&graphs.seed_offsets);
    content.numbers(&judged.offsets);
    content.floats(&judged.labels);
    content.features(&graphs.node_features);
    content.features(&graphs.edge_features.own);
    content.names(Some(&*graphs.node_names));
    for columns in [&graphs.node_columns, &graphs.edge_columns] {
        content.texts(columns.iter().map(String::as_str));
    }
}
