//! `toprank embed train`: from rows and classes to an embedding.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use toprank::train::retrieval::{self, Classes, Config, Prepared, Settings, Trainer};
use toprank::train::{Embedder, Outcome};

use super::{Wanted, read};
use crate::failure::Failure;
use crate::reading::Reading;
use crate::table::counted;
use crate::train::absolute;
use crate::train::kept_run::{KeptRun, taken_up};
use crate::{Common, note, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank embed train --data letters.csv --class letter --objective map -o emb.toprank
  toprank embed train --data digits.csv --split 50/0/50 --objective smooth-ap --model mlp:hidden=64 --dimensions 16 -o emb.toprank
  toprank embed train --data train.csv --valid valid.csv --class id --objective multi-similarity --memory 1024 -o emb.toprank
  toprank embed train --data images.csv --views two:noise=0.3:mask=0.2 --objective global-contrastive -o emb.toprank
  toprank embed train --resume emb.toprank

Classes: the column that --class names (words or numbers), else each value of the label. --split divides the classes, so that no
class is in two parts; the model file remembers which went where, and `toprank retrieve --part test` judges by them. After every
pass each row of the validation classes is searched among the others, and the model that is best by --metric is kept.

A batch holds --batch-classes classes and --class-rows rows of each; every row comes before any comes again. Each row of it is a
query over the other rows. --memory N adds the last N vectors of earlier batches as candidates (cross-batch memory).
--views two learns without classes: each row is shown twice, with noise and masked features, and is to find its other view;
candidates=across compares first views with second views only (the two-way form). Classes serve validation alone then.

While it trains, MODEL.checkpoint beside the model holds everything to go on from: Ctrl-C stops after the step, --resume takes
it up, and the model is the same to the byte as if it had never stopped.";

/// Train a network that turns rows into vectors
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Train {
    /// Rows to learn from
    #[arg(long, value_name = "FILE", required_unless_present = "resume")]
    data: Option<String>,
    /// Column of the class [default: the label]
    #[arg(long, value_name = "COLUMN", conflicts_with = "resume")]
    class: Option<String>,
    /// Shares of the classes for train, validation and test [default: 80/20/0, or all to train with --valid]
    #[arg(long, value_name = "SHARES", conflicts_with = "resume")]
    split: Option<String>,
    /// Seed of the split
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "resume")]
    split_seed: u64,
    /// Rows of other classes for validation
    #[arg(long, value_name = "FILE", conflicts_with = "split")]
    valid: Option<String>,
    /// Model file to write
    #[arg(long, short, value_name = "MODEL", required_unless_present = "resume")]
    out: Option<String>,
    /// Take up the run that was to write this model
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["data", "valid", "out"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    flags: Flags,
    /// Folder for learning curves: CSV, JSON lines, TensorBoard events, SVG
    #[arg(long, value_name = "FOLDER")]
    curves: Option<PathBuf>,
    /// Seconds between two checkpoints, at least
    #[arg(long, value_name = "SECONDS", default_value = "10", allow_negative_numbers = true, value_parser = crate::train::kept_run::seconds)]
    checkpoint_every: Duration,
    #[command(flatten)]
    reading: Reading,
}

#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Settings")]
struct Flags {
    /// Metric to be best at, or objective by name [default: map, the mean AUPRC]
    #[arg(long, value_name = "NAME")]
    objective: Option<String>,
    /// Objective that is to serve the metric, instead of the chosen one
    #[arg(long, value_name = "NAME")]
    algorithm: Option<String>,
    /// Network, with parameters (see `toprank models`) [default: mlp:hidden=128]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Numbers of a vector [default: 32]
    #[arg(long, value_name = "N")]
    dimensions: Option<u32>,
    /// sgd, momentum, adam or adamw, with parameters [default: adam]
    #[arg(long, value_name = "NAME")]
    optimiser: Option<String>,
    /// Rate of learning [default: 0.001]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    rate: Option<f64>,
    /// How the rate changes: constant, step, cosine, theory [default: constant]
    #[arg(long, value_name = "NAME")]
    schedule: Option<String>,
    /// Classes of a batch; with --views, rows [default: 16; 128]
    #[arg(long, value_name = "N")]
    batch_classes: Option<u32>,
    /// Rows of each class in a batch [default: 8]
    #[arg(long, value_name = "N")]
    class_rows: Option<u32>,
    /// Vectors of earlier batches that are candidates, too [default: 0]
    #[arg(long, value_name = "N")]
    memory: Option<u32>,
    /// none, or two[:noise=…][:mask=…][:candidates=across] to learn without classes [default: none]
    #[arg(long, value_name = "VIEWS")]
    views: Option<String>,
    /// Most passes over the data [default: 50]
    #[arg(long, value_name = "N")]
    epochs: Option<u32>,
    /// Steps on the features, fitted to the training part [default: missing:to=mean,standardise]
    #[arg(long, value_name = "STEPS")]
    transforms: Option<String>,
    /// Metric of validation [default: the metric of --objective, else map]
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// Passes without a better validation before training stops; 0: never [default: 10]
    #[arg(long, value_name = "N")]
    patience: Option<u32>,
    /// Largest norm of a gradient; 0: any [default: 10]
    #[arg(long, value_name = "NORM", allow_negative_numbers = true)]
    clip: Option<f64>,
    /// Seed of everything random but the split [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl Flags {
    fn settings(&self) -> Settings {
        settings!(self: objective, algorithm, model, dimensions, optimiser, rate, schedule, batch_classes, class_rows, memory, views, epochs, transforms, metric, patience, clip, seed)
    }
}

/// Where a run came from: what a checkpoint needs to read the same files again.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Origin {
    data: String,
    class: Option<String>,
    split: Option<String>,
    split_seed: u64,
    valid: Option<String>,
    out: PathBuf,
    curves: Option<PathBuf>,
    reading: Reading,
}

impl Origin {
    fn prepare(&self, config: &Config, quiet: bool) -> Result<Prepared, Failure> {
        let views = config.views()?.is_some();
        let (class, reading) = (self.class.as_deref(), &self.reading);
        let classes = |path: &str, wanted| -> Result<Classes, Failure> {
            let data = read(path, class, reading, wanted, quiet)?;
            // Views need no classes: rows without any are one class.
            let nameless = data.list_names.is_none() && data.lists.labels.iter().all(|y| y.is_nan());
            Ok(if views && nameless { Classes::unlabelled(data)? } else { Classes::of(data)? })
        };
        let all = classes(&self.data, if views { Wanted::ClassesIfAny } else { Wanted::Classes })?;
        if let Some(valid) = &self.valid {
            let valid = classes(valid, Wanted::Classes)?;
            return Ok(Prepared::new(config, all, Some(valid), &[])?);
        }
        let shares = self.split.as_deref().unwrap_or(if all.len() > 1 { "80/20/0" } else { "100/0/0" });
        let [train, valid, test] = all.split(shares, self.split_seed)?;
        Ok(Prepared::new(config, train, Some(valid), &test.names())?)
    }
}

impl Train {
    /// Reads, trains, writes the model.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        crate::heap::keep();
        let every = self.checkpoint_every;
        let (config, origin, kept) = match &self.resume {
            None => {
                let (config, origin) = self.asked()?;
                (config, origin, None)
            }
            Some(model) => match self.taken_up(model, common)? {
                Some((config, origin, kept)) => (config, origin, Some(kept)),
                None => return Ok(()),
            },
        };
        let data = origin.prepare(&config, common.quiet)?;
        learn(common, every, &config, &origin, kept.as_deref(), &data)
    }

    /// The run that the flags ask for; what is wrong is said before anything is read.
    fn asked(&self) -> Result<(Config, Origin), Failure> {
        let config = self.flags.settings().resolve()?;
        let path = |path: &Option<String>| path.as_deref().map(absolute).transpose();
        let origin = Origin {
            data: path(&self.data)?.unwrap_or_default(),
            class: self.class.clone(),
            split: self.split.clone(),
            split_seed: self.split_seed,
            valid: path(&self.valid)?,
            out: PathBuf::from(self.out.clone().unwrap_or_default()),
            curves: self.curves.clone(),
            reading: self.reading.clone(),
        };
        Ok((config, origin))
    }

    /// The run that a checkpoint holds; `None`: it is finished, and the user was told.
    fn taken_up(&self, model: &Path, common: &Common) -> Result<Option<(Config, Origin, PathBuf)>, Failure> {
        let plain = self.flags.settings() == Settings::default();
        let epochs = || Ok(Embedder::load(model)?.header().reached.epochs);
        let run = taken_up(common, COMMAND, model, plain, epochs, retrieval::about)?;
        Ok(run.map(|(config, origin, kept): (_, Origin, _)| {
            let curves = self.curves.clone().or(origin.curves);
            (config, Origin { out: model.to_path_buf(), curves, ..origin }, kept)
        }))
    }
}

/// The words that start a run.
const COMMAND: &str = "embed train";

fn learn(
    common: &Common,
    every: Duration,
    config: &Config,
    origin: &Origin,
    kept: Option<&Path>,
    data: &Prepared,
) -> Result<(), Failure> {
    let judged = data.classes().1 > 0;
    if !judged {
        note(common, "no classes for validation: the model of the last pass is kept");
    }
    let mut trainer = Trainer::new(config, data)?;
    let run = KeptRun {
        common,
        command: COMMAND,
        every,
        out: &origin.out,
        curves: origin.curves.as_deref(),
        metric: &config.metric,
        judged,
        words: format!("{} with {}", config.model, config.algorithm),
        origin: serde_json::to_value(origin).map_err(Failure::failed)?,
        kept,
    };
    let mut saved = None;
    let mut save = |trainer: &Trainer| saved.insert(trainer.embedder()).save(&origin.out);
    let (outcome, seconds) = run.go(&mut trainer, &mut save, &Failure::from)?;
    let embedder = saved.unwrap_or_else(|| trainer.embedder());
    report(common, &embedder, origin, outcome, seconds)
}

fn report(
    common: &Common,
    embedder: &Embedder,
    origin: &Origin,
    outcome: Outcome,
    seconds: f64,
) -> Result<(), Failure> {
    let header = embedder.header();
    let (config, reached, parts) = (&header.config, &header.reached, &header.parts);
    if common.json {
        return print_json(&json!({
            "model": origin.out,
            "config": config,
            "classes": parts,
            "rows": reached.rows,
            "parameters": embedder.parameters(),
            "steps": reached.steps,
            "epochs": reached.epochs,
            "best": reached.best.map(|(epoch, value)| json!({"epoch": epoch, "metric": config.metric, "value": value})),
            "loss": reached.loss,
            "stopped_early": outcome == Outcome::Stopped,
            "seconds": seconds,
        }));
    }
    let mut text = format!(
        "{} trained with {} on {} of {} classes: {} passes, {} steps, {seconds:.1} s\n",
        config.model,
        config.algorithm,
        counted(reached.rows, "row"),
        parts.train.len(),
        reached.epochs,
        reached.steps,
    );
    if let Some((epoch, value)) = reached.best {
        text += &format!(
            "best {} on {} validation classes, each row among all others: {value:.4}, in pass {epoch}\n",
            config.metric,
            parts.valid.len()
        );
    } else if let Some(loss) = reached.loss {
        text += &format!("loss of the last pass: {loss:.6}\n");
    }
    text += &format!("model: {}\n", origin.out.display());
    print(&text)
}
