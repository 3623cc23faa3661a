//! `toprank pagerank train`: learn the weights of a walk.

use std::path::PathBuf;
use std::time::Instant;

use serde_json::json;
use toprank::train::full::{Look, Progress as Stand, Theory, Why};
use toprank::train::walk_file::{DANGLING, word_of};
use toprank::train::{LearnedWalk, WalkFile, WalkSettings};
use toprank::walks::Walk;

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
    #[arg(long, value_parser = ["gbn", "gfn", "gbp", "adam"])]
    method: Option<String>,
    /// What a score is: the probability, n times it, or its logarithm [default: probability for margin, else scaled]
    #[arg(long, value_parser = ["probability", "scaled", "log"])]
    score: Option<String>,
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

impl Train {
    /// Reads, learns, writes.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let started = Instant::now();
        let settings = self.settings()?;
        let spinner = Progress::spinner(common.quiet, "reading the graphs".into());
        let graphs = self.graphs.read(&self.graphs.graphs)?;
        let valid = self.valid.as_ref().map(|folder| self.graphs.read(folder)).transpose()?;
        drop(spinner);
        let mut screen = Screen {
            progress: Progress::spinner(common.quiet, "learning".into()),
            curve: String::from("step,loss,gradient_norm,lipschitz\n"),
        };
        if settings.theory {
            let Theory { steps, smoothing, error } =
                Theory::new(Walk::parameters(&graphs), 0.99, &settings.gfn());
            screen
                .progress
                .say(format!("{steps} steps, directions of {smoothing:.3}, values to {error:.1e}"));
        }
        interrupt::by_request();
        let learned = settings.learn(&graphs, valid.as_ref(), &mut screen)?;
        if learned.found.why == Why::Interrupted {
            note(common, format!("stopped after step {}; what was reached is kept", learned.found.steps));
        }
        if let Some(path) = &self.curve {
            std::fs::write(path, &screen.curve)
                .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
        }
        learned.file.save(&self.out)?;
        if let Some(path) = &self.plot {
            draw(&learned.file, path)?;
        }
        self.report(common, &learned, started.elapsed().as_secs_f64())
    }

    fn settings(&self) -> Result<WalkSettings, Failure> {
        let StepFlags { steps, epsilon, lipschitz, step_size, rate, theory, radius, seed } = self.steps;
        Ok(WalkSettings {
            restart: self.restart.alpha()?,
            dangling: word_of(self.restart.dangling.into(), DANGLING).into(),
            objective: self.objective.clone(),
            method: self.method.clone(),
            score: self.score.clone(),
            metric: self.metric.clone(),
            steps,
            epsilon,
            lipschitz,
            step_size,
            rate,
            theory,
            radius,
            seed,
            scale: !self.no_scale,
        })
    }

    fn report(&self, common: &Common, learned: &LearnedWalk, seconds: f64) -> Result<(), Failure> {
        let LearnedWalk { file, found, metric, values: (untuned, learned) } = learned;
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
            shown(*untuned),
            shown(*learned)
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

/// What a person sees while it learns.
struct Screen {
    progress: Progress,
    curve: String,
}

impl Look for Screen {
    fn step(&mut self, now: &Stand, _: &[f64]) {
        let Stand { step, loss, gradient_norm, lipschitz } = *now;
        self.progress
            .say(format!("step {step} loss {loss:.6e} gradient {gradient_norm:.2e} L {lipschitz:.2e}"));
        self.curve += &format!("{step},{loss:e},{gradient_norm:e},{lipschitz:e}\n");
    }

    fn stop(&mut self) -> bool {
        interrupt::asked()
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
