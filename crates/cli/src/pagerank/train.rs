//! `toprank pagerank train`: learn the weights of a walk.

use std::path::PathBuf;
use std::time::Instant;

use serde_json::json;
use toprank::core::{Lists, Policy};
use toprank::data::QueryGraphs;
use toprank::metrics::{Better, Measure, evaluate};
use toprank::objectives::Goal;
use toprank::train::choice::{By, choose};
use toprank::train::full::{
    Adam, Found, Gbn, Gbp, Gfn, Look, Oracle, Progress as Stand, Region, Theory, WalkOracle, Why, adam, gbn,
    gbp, gfn,
};
use toprank::train::walk_file::{DANGLING, SCORES, word_of};
use toprank::train::{WalkFile, WalkHeader};
use toprank::walks::{Score, Solver, Walk};

use super::evaluate::scores;
use super::{GraphFlags, RestartFlags, number};
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::table::{Style, Table};
use crate::{Common, note, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank generate graphs --queries 300 --seed 1 -o graphs
  toprank pagerank train --graphs graphs --objective margin --method gbn -o walk.toprank
  toprank pagerank train --graphs graphs --objective song -o walk.toprank
  toprank pagerank train --graphs train --valid valid --objective ndcg@10 --plot weights.svg -o walk.toprank

Weights of seeds and edges are linear in their features, with one weight above 0 per feature; every feature is first
divided by its largest value, so that weights can be compared. --objective takes the paper's margin loss, any other
objective (see `toprank objectives`), or a metric (see `toprank metrics`).

Methods:
  gbn   gradient steps whose length adapts (default for margin); stops when the gradient is at most --epsilon
  gfn   random directions, values only; --steps of them, --theory for as many as its proof asks for
  gbp   gradient steps of a fixed length --step-size; stops when the loss falls by less than 1e-5
  adam  Adam (default for all other objectives); --rate, --steps

While it works, --curve FILE gets a line a step: loss, gradient norm, Lipschitz estimate. Ctrl-C stops after the step and
keeps what was reached. With --valid the weights that are best there are kept, otherwise those of the smallest loss.";

/// Learn the weights of a walk from judged nodes
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Train {
    #[command(flatten)]
    graphs: GraphFlags,
    /// Folder of graphs for validation
    #[arg(long, value_name = "FOLDER")]
    valid: Option<PathBuf>,
    /// File to write
    #[arg(long, short, value_name = "MODEL")]
    out: PathBuf,
    /// Objective or metric
    #[arg(long, value_name = "NAME", default_value = "margin")]
    objective: String,
    /// gbn, gfn, gbp or adam [default: gbn for margin losses, else adam]
    #[arg(long, value_enum)]
    method: Option<Method>,
    /// What a score is: the probability, n times it, or its logarithm [default: probability for margin, else scaled]
    #[arg(long, value_enum)]
    score: Option<ScoreName>,
    /// Metric to print and to validate by [default: that of --objective, else ndcg@10]
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    #[command(flatten)]
    restart: RestartFlags,
    #[command(flatten)]
    steps: StepFlags,
    /// Write a line a step: step, loss, gradient norm, Lipschitz estimate (CSV)
    #[arg(long, value_name = "FILE")]
    curve: Option<PathBuf>,
    /// Draw the weights (.svg or .png)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Features as they are, not divided by their largest value
    #[arg(long)]
    no_scale: bool,
}

#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Method")]
struct StepFlags {
    /// Most steps [default: gbn and gbp 200, adam 300, gfn 2000]
    #[arg(long, value_name = "N")]
    steps: Option<usize>,
    /// Accuracy that gbn stops at, and that gfn's theory is asked for
    #[arg(long, value_name = "E", default_value_t = 1e-6, allow_negative_numbers = true)]
    epsilon: f64,
    /// First estimate of the Lipschitz constant (gbn), the constant itself (gfn)
    #[arg(long, value_name = "L", default_value_t = 1e-4, allow_negative_numbers = true)]
    lipschitz: f64,
    /// Factor of the gradient (gbp)
    #[arg(long, value_name = "H", default_value_t = 100.0, allow_negative_numbers = true)]
    step_size: f64,
    /// Rate (adam)
    #[arg(long, value_name = "RATE", default_value_t = 0.02, allow_negative_numbers = true)]
    rate: f64,
    /// As many steps as the proof of gfn asks for
    #[arg(long, conflicts_with = "steps")]
    theory: bool,
    /// Radius of the ball round the all-ones weights, below 1 [default: 0.99; adam: none, weights just stay above 0]
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    radius: Option<f64>,
    /// Seed of random directions (gfn)
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Method {
    Gbn,
    Gfn,
    Gbp,
    Adam,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ScoreName {
    Probability,
    Scaled,
    Log,
}

/// Smallest weight outside a ball.
const LEAST: f64 = 1e-4;

impl Train {
    /// Reads, learns, writes.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let started = Instant::now();
        let choice = choose(&self.objective, None, By::Network)?;
        let goal = Goal::parse(&choice.algorithm, &Policy::default())?;
        let metric = self.metric.clone().or(choice.metric).unwrap_or_else(|| "ndcg@10".into());
        let measure = Measure::parse_all(&metric, &Policy::default())?.remove(0);
        let is_margin = ["margin", "squared-hinge"].contains(&goal.listing().entry.name);
        let method = self.method.unwrap_or(if is_margin { Method::Gbn } else { Method::Adam });
        let score = match self.score {
            Some(ScoreName::Log) => Score::Log,
            Some(ScoreName::Scaled) => Score::Scaled,
            None if !is_margin => Score::Scaled,
            Some(ScoreName::Probability) | None => Score::Probability,
        };
        let walk = Walk {
            restart: self.restart.alpha()?,
            dangling: self.restart.dangling.into(),
            score,
            solver: Solver::Seidel,
        };
        let spinner = Progress::spinner(common.quiet, "reading the graphs".into());
        let raw = self.graphs.read(&self.graphs.graphs)?;
        let valid = self.valid.as_ref().map(|folder| self.graphs.read(folder)).transpose()?;
        drop(spinner);
        let mut graphs = raw.clone();
        let (by_node, by_own) = if self.no_scale {
            (vec![0.0; raw.node_width()], vec![0.0; raw.edge_features.own.width()])
        } else {
            raw.largest()
        };
        graphs.divide(&by_node, &by_own);
        let unscaled = |phi: &[f64]| unscale(phi, &by_node, &by_own, raw.edge_features.ends);
        let which: Vec<u32> = (0..graphs.len() as u32).collect();
        let m = Walk::parameters(&graphs);
        if m == 0 {
            return Err(Failure::data(format!(
                "{}: no features; expected some of nodes or edges, whose weights can be learned",
                self.graphs.graphs.display()
            )));
        }
        let region = self.region(method, m)?;
        let mut oracle = WalkOracle::new(&graphs, &which, walk, &goal)?;
        if method == Method::Gbp {
            // As the method is defined: 100 powers.
            oracle = oracle.with_products(100);
        }
        let before = oracle.value(&vec![1.0; m], 1e-9)?;
        let judge = valid.as_ref().map(|valid| Judge::new(valid, walk, &measure, &raw));
        let judge = judge.transpose()?;
        let mut screen = Screen {
            progress: Progress::spinner(common.quiet, "learning".into()),
            curve: String::from("step,loss,gradient_norm,lipschitz\n"),
            judge,
            every: if method == Method::Gfn { 50 } else { 1 },
            best: None,
            unscale: &unscaled,
            failed: None,
        };
        interrupt::by_request();
        let found = self.minimise(method, &mut oracle, &region, m, &mut screen)?;
        if let Some(failure) = screen.failed.take() {
            return Err(failure);
        }
        if found.why == Why::Interrupted {
            note(common, format!("stopped after step {}; what was reached is kept", found.steps));
        }
        if let Some(path) = &self.curve {
            std::fs::write(path, &screen.curve)
                .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
        }
        let (phi, validated) = match screen.best.take() {
            Some((value, phi)) => (phi, Some((metric.clone(), value))),
            None => (unscaled(&found.phi), None),
        };
        let file = WalkFile {
            header: WalkHeader {
                restart: walk.restart,
                dangling: word_of(walk.dangling, DANGLING).into(),
                score: word_of(walk.score, SCORES).into(),
                nodes: raw.node_columns.clone(),
                own: raw.edge_columns.clone(),
                ends: raw.edge_features.ends,
                objective: goal.name().into(),
                method: format!("{method:?}").to_lowercase(),
                lists: raw.len(),
                steps: found.steps,
                loss: (before, found.loss),
                metric: validated,
                probe: Vec::new(),
            },
            phi,
            start: unscaled(&vec![1.0; m]),
        };
        file.save(&self.out, &raw)?;
        if let Some(path) = &self.plot {
            draw(&file, path)?;
        }
        let lists = raw.lists(&which, false);
        let value = |phi: &[f64]| -> Result<Option<f64>, Failure> {
            value(&raw, walk, phi, &which, &lists, &measure)
        };
        let (untuned, learned) = (value(&file.start)?, value(&file.phi)?);
        self.report(common, &file, &found, (untuned, learned, &metric), started.elapsed().as_secs_f64())
    }

    fn region(&self, method: Method, m: usize) -> Result<Region, Failure> {
        match self.steps.radius {
            Some(radius) if radius > 0.0 && radius < 1.0 => Ok(Region::ball(m, radius)),
            Some(radius) => Err(Failure::usage(format!(
                "--radius must be above 0 and below 1, but is {radius}: weights must stay above 0"
            ))),
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
        screen: &mut Screen,
    ) -> Result<Found, Failure> {
        let StepFlags { steps, epsilon, lipschitz, step_size, rate, theory, seed, .. } = self.steps;
        let start = vec![1.0; m];
        Ok(match method {
            Method::Gbn => {
                let settings = Gbn { epsilon, lipschitz, steps: steps.unwrap_or(Gbn::default().steps) };
                gbn(oracle, region, &start, &settings, screen)?
            }
            Method::Gfn => {
                let settings = Gfn {
                    epsilon,
                    lipschitz,
                    steps: if theory { None } else { steps.or(Gfn::default().steps) },
                    seed,
                };
                if theory {
                    let Theory { steps, smoothing, error } = Theory::new(m, 0.99, &settings);
                    screen
                        .progress
                        .say(format!("{steps} steps, directions of {smoothing:.3}, values to {error:.1e}"));
                }
                gfn(oracle, region, &start, &settings, screen)?
            }
            Method::Gbp => {
                let settings =
                    Gbp { step: step_size, steps: steps.unwrap_or(Gbp::default().steps), ..Gbp::default() };
                gbp(oracle, region, &start, &settings, screen)?
            }
            Method::Adam => {
                let settings =
                    Adam { rate, steps: steps.unwrap_or(Adam::default().steps), ..Adam::default() };
                adam(oracle, region, &start, &settings, screen)?
            }
        })
    }

    fn report(
        &self,
        common: &Common,
        file: &WalkFile,
        found: &Found,
        (untuned, learned, metric): (Option<f64>, Option<f64>, &str),
        seconds: f64,
    ) -> Result<(), Failure> {
        let header = &file.header;
        let mut named: Vec<(String, f64)> = file.names().into_iter().zip(file.phi.iter().copied()).collect();
        if common.json {
            let weights: serde_json::Map<String, serde_json::Value> =
                named.into_iter().map(|(name, weight)| (name, json!(weight))).collect();
            return print_json(&json!({
                "model": self.out,
                "objective": header.objective,
                "method": header.method,
                "lists": header.lists,
                "steps": found.steps,
                "reached": found.why == Why::Reached,
                "loss": {"untuned": header.loss.0, "learned": header.loss.1},
                "gradient_norm": found.gradient_norm.is_finite().then_some(found.gradient_norm),
                "metric": metric,
                "train": {"untuned": untuned, "learned": learned},
                "valid": header.metric.as_ref().map(|(_, value)| value),
                "weights": weights,
                "seconds": seconds,
            }));
        }
        let shown = |value: Option<f64>| value.map_or("–".to_string(), |value| format!("{value:.4}"));
        let mut text = format!(
            "{} by {} on {} lists: {} steps, {seconds:.1} s\nloss {} → {}, {metric} on these lists {} → {}\n",
            header.objective,
            header.method,
            header.lists,
            found.steps,
            number(header.loss.0),
            number(header.loss.1),
            shown(untuned),
            shown(learned)
        );
        if let Some((metric, value)) = &header.metric {
            text += &format!("{metric} on the validation lists: {value:.4}\n");
        }
        named.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut table = Table::new(["weight of", "value"]);
        for (name, weight) in named.iter().take(20) {
            table.row([name.clone(), number(*weight)]);
        }
        text += &table.render(Style::Table);
        if named.len() > 20 {
            text += &format!("… and {} more: --json, or --plot FILE\n", named.len() - 20);
        }
        text += &format!("model: {}\n", self.out.display());
        print(&text)
    }
}

/// φ for features as they were read.
fn unscale(phi: &[f64], by_node: &[f32], by_own: &[f32], ends: bool) -> Vec<f64> {
    let nodes = || by_node.iter();
    let of_ends = if ends { 2 } else { 0 };
    let all = nodes().chain(by_own).chain((0..of_ends).flat_map(|_| nodes()));
    phi.iter().zip(all).map(|(phi, by)| if *by > 0.0 { phi / f64::from(*by) } else { *phi }).collect()
}

fn value(
    graphs: &QueryGraphs,
    walk: Walk,
    phi: &[f64],
    which: &[u32],
    lists: &Lists,
    measure: &Measure,
) -> Result<Option<f64>, Failure> {
    let scores = scores(graphs, walk, phi, which)?;
    let evaluation = evaluate(lists, &scores, std::slice::from_ref(measure)).map_err(Failure::data)?;
    Ok(evaluation.results[0].mean)
}

/// The metric on validation graphs.
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
    ) -> Result<Judge<'a>, Failure> {
        let same = graphs.node_columns == train.node_columns
            && graphs.edge_columns == train.edge_columns
            && graphs.edge_features.ends == train.edge_features.ends;
        if !same {
            return Err(Failure::data("the validation graphs have other features than the training graphs"));
        }
        let which: Vec<u32> = (0..graphs.len() as u32).collect();
        let lists = graphs.lists(&which, false);
        if lists.entries() == 0 {
            return Err(Failure::data("nothing is judged in the validation graphs"));
        }
        Ok(Judge { graphs, which, lists, walk, measure })
    }

    fn value(&self, phi: &[f64]) -> Result<Option<f64>, Failure> {
        value(self.graphs, self.walk, phi, &self.which, &self.lists, self.measure)
    }
}

/// What a person sees while it learns.
struct Screen<'a> {
    progress: Progress,
    curve: String,
    judge: Option<Judge<'a>>,
    /// Steps between two validations.
    every: usize,
    /// The best validation and its weights, for features as they were read.
    best: Option<(f64, Vec<f64>)>,
    unscale: &'a dyn Fn(&[f64]) -> Vec<f64>,
    failed: Option<Failure>,
}

impl Look for Screen<'_> {
    fn step(&mut self, now: &Stand, phi: &[f64]) {
        let Stand { step, loss, gradient_norm, lipschitz } = *now;
        self.progress
            .say(format!("step {step} loss {loss:.6e} gradient {gradient_norm:.2e} L {lipschitz:.2e}"));
        self.curve += &format!("{step},{loss:e},{gradient_norm:e},{lipschitz:e}\n");
        if let Some(judge) = &self.judge
            && step.is_multiple_of(self.every)
        {
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
                Err(failure) => self.failed = Some(failure),
            }
        }
    }

    fn stop(&mut self) -> bool {
        interrupt::asked() || self.failed.is_some()
    }
}

#[cfg(feature = "plots")]
fn draw(file: &WalkFile, path: &std::path::Path) -> Result<(), Failure> {
    use toprank_plots::{IntervalRow, intervals};
    let mut rows: Vec<IntervalRow> = file
        .names()
        .into_iter()
        .zip(&file.phi)
        .map(|(name, &value)| IntervalRow { name, value, low: value, high: value })
        .collect();
    rows.sort_by(|a, b| b.value.total_cmp(&a.value));
    intervals("weights of the walk", "weight", &rows).save(path).map_err(Failure::failed)
}

#[cfg(not(feature = "plots"))]
fn draw(_: &WalkFile, _: &std::path::Path) -> Result<(), Failure> {
    Err(Failure::usage("this toprank was built without plots; expected a build with the feature plots"))
}
