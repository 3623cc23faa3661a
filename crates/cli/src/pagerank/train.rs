//! `toprank pagerank train`: learn the weights of a walk.

use std::path::PathBuf;

use serde_json::json;
use toprank::train::walk::{LearnedWalk, PreparedGraphs, Trainer, theory};
use toprank::train::{Outcome, Settings, TrainerKind, WalkFile};

use super::{GraphReading, number};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::reading::Reading;
use crate::table::{Style, Table, counted};
use crate::train::flags::{SettingFlags, Walk};
use crate::train::run::{Begun, RunFlags, about_inputs, result_json};
use crate::{Common, note, print, print_json};

const EXAMPLES: &str = "\
Examples:
  toprank generate graphs --queries 300 --seed 1 -o graphs
  toprank pagerank train --graphs graphs --objective margin --method gbn -o walk.toprank
  toprank pagerank train --graphs train --valid valid --objective ndcg@10 -o walk.toprank";

const AFTER_HELP: &str = "\
Examples:
  toprank generate graphs --queries 300 --seed 1 -o graphs
  toprank pagerank train --graphs graphs --objective margin --method gbn -o walk.toprank
  toprank pagerank train --graphs graphs --objective song -o walk.toprank
  toprank pagerank train --graphs train --valid valid --objective ndcg@10 --plot weights.svg -o walk.toprank
  toprank pagerank train --graphs newer --from walk.toprank -o newer.toprank
  toprank pagerank train --resume walk.toprank

Weights of seeds and edges are linear in their features, with one weight above 0 per feature; every feature is first divided by
its largest value, so that weights can be compared. --objective takes the margin loss of the supervised-PageRank paper, any other
objective (see `toprank objectives`), or a metric (see `toprank metrics`).

Methods:
  gbn   gradient steps whose length adapts (default for margin); stops when the norm of the gradient map is at most --epsilon
  gfn   random directions, values only; --steps of them, or --theory for as many as its convergence proof asks for
  gbp   gradient steps of a fixed length --step-size; stops when the loss falls by less than 1e-5
  adam  Adam (default for all other objectives); --learning-rate, --steps

Weights stay in the ball of --radius around the all-ones weights, or within --bounds. --l1 and --l2 add λ‖φ‖₁ and λ/2‖φ‖² to the loss that
is minimised and printed; gbn, gfn and gbp take proximal steps for them, adam follows their gradient.

A step is an epoch: --curves gets a record of each (loss, norm of the gradient, learning rate: 1/L for gbn). With --valid the
weights that are best there are kept; otherwise gbn keeps those of the smallest gradient norm, the others those of the smallest
loss. --from WALK starts from the weights of another walk, by the names of its features, all of which the graphs must have; a feature
that it does not know starts with the weight that it has in an untuned walk. Ctrl-C stops after the present step, --resume continues, and the walk is the same to the byte as if the run had never been
interrupted.";

/// Learn the weights of a walk from judged nodes
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = AFTER_HELP)]
pub struct Train {
    #[command(flatten)]
    settings: SettingFlags<Walk>,
    #[command(flatten)]
    run: RunFlags,
    #[command(flatten)]
    graphs: GraphReading,
    /// Damping factor, as other tools have it: --damping 0.85 is --restart 0.15
    #[arg(long, value_name = "D", conflicts_with = "restart", allow_negative_numbers = true)]
    damping: Option<f64>,
    /// Plot the weights (.svg; .png if built with it)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl Train {
    /// Reads, learns, writes.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        crate::heap::keep();
        let flags = self.flags()?;
        let own = json!(self.graphs);
        let begun = self.run.begin(common, TrainerKind::Walk, &flags, &Reading::default(), own)?;
        let Some(begun) = begun else { return Ok(()) };
        let (config, origin) = (&begun.config, &begun.origin);
        let reading: GraphReading = serde_json::from_value(origin.own.clone()).map_err(Failure::data)?;
        let spinner = Progress::spinner(common.quiet, "reading the graphs");
        let folder = origin.paths.graphs.clone().unwrap_or_default();
        let graphs = reading.read(folder.as_ref(), true)?;
        let valid = match origin.paths.valid.as_ref().map(|folders| folders.0.as_slice()) {
            None => None,
            Some([folder]) => Some(reading.read(folder.as_ref(), false)?),
            Some(_) => return Err(Failure::usage("--valid takes one folder of graphs")),
        };
        drop(spinner);
        if config.theory() {
            let theory = theory(config, &graphs);
            let words = format!(
                "the proof asks for {} steps, directions of length {:.3}, values accurate to {:.1e}",
                theory.steps, theory.smoothing, theory.error
            );
            note(common, words);
        }
        let wrong = |error| about_inputs(error, &origin.paths);
        let prepared = PreparedGraphs::new(config, &graphs, valid.as_ref()).map_err(wrong)?;
        let mut trainer = Trainer::new(config, &prepared).map_err(wrong)?;
        let mut new_features = None;
        if let Some(path) = &origin.paths.from {
            let new = trainer.start_from(&WalkFile::load(path.as_ref())?).map_err(wrong)?;
            new_features = Some(new);
            if new > 0 {
                let features = counted(new, "feature");
                note(
                    common,
                    format!("warm start: {features} new to the walk, with the weights of an untuned one"),
                );
            }
        }
        let mut saved = None;
        let mut save = |trainer: &Trainer| saved.insert(trainer.learned()?).file.save(origin.output());
        let name = |q: usize| graphs.list_names.get(q).to_string();
        let validated = valid.is_some();
        let (outcome, seconds) = begun.train(common, &mut trainer, validated, &mut save, &name)?;
        let learned = saved.map_or_else(|| trainer.learned(), Ok)?;
        if let Some(path) = &self.plot {
            draw(&learned.file, path)?;
        }
        report(common, &begun, &learned, new_features, outcome, seconds)
    }

    /// The settings, with the damping factor as its complement.
    fn flags(&self) -> Result<Settings, Failure> {
        let settings = self.settings.settings.clone();
        match self.damping {
            None => Ok(settings),
            Some(damping) if damping > 0.0 && damping < 1.0 => {
                Ok(Settings { restart: Some(1.0 - damping), ..settings })
            }
            Some(damping) => {
                Err(Failure::usage(format!("--damping must be above 0 and below 1, but is {damping}")))
            }
        }
    }
}

fn report(
    common: &Common,
    begun: &Begun,
    learned: &LearnedWalk,
    new_features: Option<usize>,
    outcome: Outcome,
    seconds: f64,
) -> Result<(), Failure> {
    let LearnedWalk { file, found, values: (untuned, tuned) } = learned;
    let (header, output) = (&file.header, begun.origin.output());
    let (config, reached) = (&header.config, &header.reached);
    let mut named: Vec<(String, f64)> = file.names().into_iter().zip(file.phi.iter().copied()).collect();
    let metric = config.valid_metric();
    if common.json {
        let weights: serde_json::Map<String, serde_json::Value> =
            named.into_iter().map(|(name, weight)| (name, json!(weight))).collect();
        let mut result = result_json(output, config, reached, outcome, seconds);
        result.extend([
            ("lists".to_string(), json!(reached.lists)),
            ("loss".into(), json!({"untuned": header.loss.0, "learned": header.loss.1})),
            ("gradient_norm".into(), json!(found.gradient_norm.is_finite().then_some(found.gradient_norm))),
            ("metric".into(), json!(metric)),
            ("train".into(), json!({"untuned": untuned, "learned": tuned})),
            ("valid".into(), json!(reached.best.map(|(_, value)| value))),
            ("weights".into(), json!(weights)),
            ("from".into(), json!(new_features.map(|count| json!({"new_features": count})))),
        ]);
        return print_json(&result);
    }
    let shown = |value: &Option<f64>| value.map_or("–".to_string(), |value| format!("{value:.4}"));
    let mut text = format!(
        "{} by {} on {} lists: {} steps, {seconds:.1} s\nloss {} → {}, {metric} on these lists {} → {}\n",
        config.algorithm(),
        config.method(),
        reached.lists,
        found.steps,
        number(header.loss.0),
        number(header.loss.1),
        shown(untuned),
        shown(tuned)
    );
    if let Some((step, value)) = reached.best {
        text += &format!("best {metric} on the validation lists: {value:.4}, in step {step}\n");
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
    text += &format!("model: {}\n", output.display());
    print(&text)
}

#[cfg(feature = "plots")]
fn draw(file: &WalkFile, path: &std::path::Path) -> Result<(), Failure> {
    use toprank_plots::{IntervalRow, ranked_bars};
    let rows: Vec<IntervalRow> = file
        .names()
        .into_iter()
        .zip(&file.phi)
        .map(|(name, &value)| IntervalRow { name, value, low: value, high: value })
        .collect();
    let axis = "weight (every feature is scaled to a largest value of 1)";
    ranked_bars("Learned weights of the random walk", axis, &rows).save(path).map_err(Failure::failed)
}

#[cfg(not(feature = "plots"))]
fn draw(_: &WalkFile, _: &std::path::Path) -> Result<(), Failure> {
    Err(Failure::usage("this toprank was built without plots; expected a build with the feature plots"))
}
