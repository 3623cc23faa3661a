//! `toprank train`: from files to a model.

mod folds;
pub(crate) mod kept_run;
pub mod screen;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use toprank::core::Policy;
use toprank::metrics::{Measure, evaluate};
use toprank::train::folds::Held;
use toprank::train::job::Views;
use toprank::train::{
    Calibrate, Config, Data, Job, Keep, Learner, Model, Outcome, Settings, TrainError, checkpoint,
};

use self::folds::{CrossValidation, Results};
use self::screen::Screen;
use crate::curves::Curves;
use crate::evaluate::write_per_list;
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::reading::Reading;
use crate::table::counted;
use crate::{Common, note, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank train --data train.txt --valid vali.txt --objective ndcg@10 --model mlp --seed 1 -o model.toprank
  toprank train --data train.txt --valid vali.txt --objective song:gamma=0.3 --model linear -o model.toprank
  toprank train --data train.txt --valid vali.txt --model trees --objective lambdamart:k=10 --trees 300 --leaves 31 -o model.toprank
  toprank train --data train.csv --label label --objective auprc --model mlp --folds 5 --seed 1 -o model.toprank
  toprank train --data train.csv --smiles smiles --valid vali.csv --objective auprc --model gin:hidden=64 -o model.toprank
  toprank train --config run.toml --rate 0.003 --curves curves
  toprank train --data new.txt --from model.toprank --model trees --trees 50 -o newer.toprank
  toprank train --resume model.toprank

--objective takes a metric (see `toprank metrics`) and trains with what serves it best, or an objective by name (see
`toprank objectives`). A config file has the flags as keys: objective = \"ndcg@10\", rate = 0.001, warm-up = 5 …; flags
override it. While it trains, MODEL.checkpoint beside the model holds everything to go on from: Ctrl-C stops after the
step, --resume takes it up, and the model is the same to the byte as if it had never stopped. With --valid the model of
the best pass is kept, otherwise that of the last. --model trees boosts trees under the objective: a round is a pass.

With --smiles (molecules) or --graph, --nodes and --edges items are graphs, which --model gin scores. A table without a list
column is one list: binary data. Several label columns (--labels) or a Mulan ARFF file are multi-label
data: one list and one output per label. With --folds k the data are cut into k folds (binary and multi-label data by rows, each
label in its share; queries by list), k models are judged on what they did not see, and the model that is kept is then trained
on all rows. Beside it stand MODEL.folds.json (values per fold, mean, pooled) and MODEL.oof.txt: the out-of-fold score of every
row on the kept model's scale, as `evaluate`, `threshold` and `compare` read it. From out-of-fold or validation scores the map to
probabilities is fitted that `predict --probability` applies.";

/// Train a model to rank
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Train {
    /// Settings in a TOML file; flags override it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Take up the run that was to write this model
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["config", "data", "valid", "out"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    flags: Flags,
    /// Folder for learning curves (CSV, JSON lines, TensorBoard events, SVG) and the metric of each validation list
    /// (lists.csv)
    #[arg(long, value_name = "FOLDER")]
    curves: Option<PathBuf>,
    /// Metrics that folds are judged by [default: that of validation and those usual for the data]; more columns of lists.csv
    #[arg(long, value_name = "METRICS")]
    metrics: Option<String>,
    /// Seconds between two checkpoints, at least
    #[arg(long, value_name = "SECONDS", default_value = "10", allow_negative_numbers = true, value_parser = kept_run::seconds)]
    checkpoint_every: Duration,
    #[command(flatten)]
    reading: Reading,
}

/// The settings as flags, under the names they have in a config file.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Settings (also keys of the config file)")]
pub struct Flags {
    /// Training data (LETOR, CSV, Parquet, …; see `toprank formats`)
    #[arg(long, value_name = "FILE")]
    pub data: Option<String>,
    /// Validation data: the best model on them is kept
    #[arg(long, value_name = "FILE")]
    pub valid: Option<String>,
    /// Model file to write
    #[arg(long, short, value_name = "MODEL")]
    pub out: Option<String>,
    /// Model to go on from: its parameters or trees are the beginning, its transforms are kept
    #[arg(long, value_name = "MODEL")]
    pub from: Option<String>,
    /// Metric to be best at, or objective by name [default: ndcg@10]
    #[arg(long, value_name = "NAME")]
    pub objective: Option<String>,
    /// Objective that is to serve the metric, instead of the chosen one
    #[arg(long, value_name = "NAME")]
    pub algorithm: Option<String>,
    /// linear, mlp, context, gin or trees, with parameters: mlp:hidden=256-128, trees:l2=1 (see `toprank models`) [default: mlp]
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// sgd, momentum, adam, adamw or storm, with parameters [default: adam]
    #[arg(long, value_name = "NAME")]
    pub optimiser: Option<String>,
    /// Rate of learning [default: by model]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    pub rate: Option<f64>,
    /// How the rate changes: constant, step, cosine, theory [default: by model]
    #[arg(long, value_name = "NAME")]
    pub schedule: Option<String>,
    /// What a batch is: lists, slates, strata, pairs or rows, with parameters: lists:batch=32 [default: by model and data]
    #[arg(long, value_name = "NAME")]
    pub sampler: Option<String>,
    /// Most passes over the data [default: by model]
    #[arg(long, value_name = "N")]
    pub epochs: Option<u32>,
    /// Most rounds of boosting of --model trees: its passes [default: 300]
    #[arg(long, value_name = "N", conflicts_with = "epochs")]
    pub trees: Option<u32>,
    /// Most leaves of each tree of --model trees [default: 31; 7 for fewer than 50,000 rows in lists]
    #[arg(long, value_name = "N")]
    pub leaves: Option<u32>,
    /// Steps on the features, fitted to the training data [default: missing:to=mean,per-list:kind=minmax;
    /// missing:to=mean,standardise for binary, multi-label and mapped data]
    #[arg(long, value_name = "STEPS")]
    pub transforms: Option<String>,
    /// Metric of validation [default: the metric of --objective, else ndcg@10]
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<String>,
    /// Passes without a better validation before training stops; 0: never [default: by model]
    #[arg(long, value_name = "N")]
    pub patience: Option<u32>,
    /// Passes of warm-up with listwise cross-entropy, then the last layer starts afresh [default: 0]
    #[arg(long, value_name = "N")]
    pub warm_up: Option<u32>,
    /// Largest norm of a gradient; 0: any [default: by model]
    #[arg(long, value_name = "NORM", allow_negative_numbers = true)]
    pub clip: Option<f64>,
    /// Averaging of the parameters: none, ema:decay=0.999, tail:from=0.75 [default: none]
    #[arg(long, value_name = "NAME")]
    pub average: Option<String>,
    /// Folds of a cross-validation before the model is trained on all rows [default: none]
    #[arg(long, value_name = "K")]
    pub folds: Option<u32>,
    /// Map from scores to probabilities, fitted to out-of-fold or validation scores: auto, platt, isotonic, none [default:
    /// auto, which is platt for binary and multi-label data]
    #[arg(long, value_name = "METHOD")]
    pub calibrate: Option<String>,
    /// Seed of everything random [default: 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

impl Flags {
    /// The same as the library's settings.
    pub fn settings(&self) -> Settings {
        settings!(self: data, valid, out, from, objective, algorithm, model, optimiser, rate, schedule, sampler, epochs, trees, leaves, transforms, metric, patience, warm_up, clip, average, folds, calibrate, seed)
    }
}

/// Where a run came from: what a checkpoint needs to read the same files again.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Origin {
    data: String,
    valid: Option<String>,
    out: PathBuf,
    #[serde(default)]
    from: Option<String>,
    curves: Option<PathBuf>,
    metrics: Option<String>,
    reading: Reading,
}

/// Where a run begins.
enum Start {
    /// With these settings.
    Asked(Box<Settings>),
    /// Where its checkpoint ends.
    TakenUp(Box<Config>, PathBuf),
}

impl Train {
    /// Reads, trains, writes the model.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        crate::heap::keep();
        let every = self.checkpoint_every;
        let (start, origin) = match &self.resume {
            Some(model) => match self.taken_up(model, common)? {
                Some(taken_up) => taken_up,
                None => return Ok(()),
            },
            None => self.asked()?,
        };
        let read = |path: &str| origin.reading.data(path, common.quiet);
        let train = read(&origin.data)?;
        let valid = origin.valid.as_deref().map(read).transpose()?;
        let (config, kept) = match start {
            Start::Asked(settings) => (settings.suited_to(train.lists())?.resolve()?, None),
            Start::TakenUp(config, kept) => (*config, Some(kept)),
        };
        if valid.is_none() && config.folds == 0 {
            if matches!(Calibrate::parse(&config.calibrate)?, Calibrate::By(_)) {
                return Err(Failure::usage(
                    "--calibrate is fitted to scores of rows that the model did not learn from: expected --valid or --folds",
                ));
            }
            note(common, "no --valid: the model of the last pass is kept");
        }
        learn(common, every, &config, kept.as_deref(), &origin, (train, valid))
    }

    /// The run that the flags and the config file ask for.
    fn asked(&self) -> Result<(Start, Origin), Failure> {
        let file = match &self.config {
            None => Settings::default(),
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
                Settings::from_toml(&text)
                    .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?
            }
        };
        let settings = self.flags.settings().over(file);
        // What is wrong is said before anything is read.
        let config = settings.resolve()?;
        if settings.from.is_some() && config.folds > 0 {
            return Err(Failure::usage(
                "--folds judge models that begin afresh: expected no --from beside it",
            ));
        }
        let missing =
            |flag: &str| Failure::usage(format!("no {flag}: expected --{flag} or {flag} in --config"));
        let data = settings.data.clone().ok_or_else(|| missing("data"))?;
        let out = settings.out.clone().ok_or_else(|| missing("out"))?;
        let origin = Origin {
            data: absolute(&data)?,
            valid: settings.valid.as_deref().map(absolute).transpose()?,
            out: PathBuf::from(out),
            from: settings.from.as_deref().map(absolute).transpose()?,
            curves: self.curves.clone(),
            metrics: self.metrics.clone(),
            reading: self.reading.absolute()?,
        };
        Ok((Start::Asked(Box::new(settings)), origin))
    }

    /// The run that a checkpoint holds; `None`: it is finished, and the user was told.
    fn taken_up(&self, model: &Path, common: &Common) -> Result<Option<(Start, Origin)>, Failure> {
        if self.flags.settings() != Settings::default() {
            return Err(Failure::usage(
                "--resume goes on as it was started: expected no other setting beside it",
            ));
        }
        let Some(kept) = checkpoint_of(model)? else {
            let reached = Model::load(model)?.header().reached.clone();
            note(common, format!("{} is finished after {} passes", model.display(), reached.epochs));
            return Ok(None);
        };
        let (config, origin) = checkpoint::about(&kept)?;
        let origin: Origin = serde_json::from_value(origin).map_err(|error| {
            Failure::data(format!("{}: was not written by toprank train ({error})", kept.display()))
        })?;
        let origin =
            Origin { out: model.to_path_buf(), curves: self.curves.clone().or(origin.curves), ..origin };
        Ok(Some((Start::TakenUp(Box::new(config), kept), origin)))
    }
}

/// The checkpoint of the run that was to write `model`; `None`: it is finished.
pub(crate) fn checkpoint_of(model: &Path) -> Result<Option<PathBuf>, Failure> {
    let kept = beside(model, ".checkpoint");
    if kept.exists() || model.exists() {
        return Ok(kept.exists().then_some(kept));
    }
    let (kept, model) = (kept.display(), model.display());
    let nothing = format!("{model}: there is no such model and no {kept} to go on from");
    Err(Failure::failed(format!(
        "{nothing}; expected the -o MODEL of a run that was stopped after its first checkpoint"
    )))
}

/// Trains on data (with validation data, perhaps), from the checkpoint `kept` on if there is one, and writes the model.
fn learn(
    common: &Common,
    every: Duration,
    config: &Config,
    kept: Option<&Path>,
    origin: &Origin,
    (mut train, mut valid): (Data, Option<Data>),
) -> Result<(), Failure> {
    let names = train.list_names().cloned();
    let asked: Vec<&str> = [config.metric.as_str()].into_iter().chain(origin.metrics.as_deref()).collect();
    let measures = Measure::parse_all(&asked.join(","), &Policy::default())?;
    let valid_names = valid.as_ref().and_then(Data::list_names).cloned();
    let explain = |error: TrainError| {
        explain(error, &|q| names.as_ref().map_or_else(|| q.to_string(), |names| names.get(q).to_string()))
    };
    let folds = match config.folds {
        0 => None,
        _ => {
            let data = folds::in_memory(train)?;
            let held_out = valid.map(folds::in_memory).transpose()?;
            train = data.clone().into();
            valid = held_out.clone().map(Into::into);
            Some(CrossValidation::new(config, data, held_out, origin)?)
        }
    };
    let job = {
        let _spinner = Progress::spinner(common.quiet, "fitting the transforms".into());
        match &origin.from {
            None => Job::new(config, train, valid).map_err(&explain)?,
            Some(from) => {
                let from = Model::load(from.as_ref())?;
                Job::going_on(config, &from, train, valid).map_err(&explain)?
            }
        }
    };
    let views = job.views().map_err(&explain)?;
    let mut trainer = job.trainer(&views).map_err(&explain)?;
    if let Some(kept) = kept {
        trainer.load_checkpoint(kept).map_err(&explain)?;
        note(common, format!("taken up after step {} of {}", trainer.steps_done(), trainer.steps()));
    }
    let checkpoint = beside(&origin.out, ".checkpoint");
    let note_of_origin = serde_json::to_value(origin).map_err(Failure::failed)?;
    interrupt::by_request();
    let held = match &folds {
        None => Vec::new(),
        Some(folds) => {
            if kept.is_none() {
                folds.begin_afresh()?;
                // From here on --resume finds the run.
                trainer.save_checkpoint(&checkpoint, &note_of_origin).map_err(&explain)?;
            }
            folds.run(common, every)?
        }
    };
    let metrics: Vec<String> = origin.valid.iter().map(|_| config.metric.clone()).collect();
    let curves = origin
        .curves
        .as_deref()
        .map(|folder| Curves::open(folder, &metrics, trainer.records()))
        .transpose()?;
    let mut screen = Screen::new(common, config, "", curves);
    let keep = Keep { path: &checkpoint, every, origin: &note_of_origin };
    let outcome = match trainer.run(&mut screen, Some(keep)) {
        Ok(outcome) => outcome,
        Err(error) => {
            let kept = trainer.steps_done() > 0
                && matches!(error, TrainError::NotFinite { .. } | TrainError::Goal(_));
            if kept {
                job.model(&*trainer).and_then(|model| model.save(&origin.out)).map_err(&explain)?;
                note(common, format!("{} holds the last good model", origin.out.display()));
            }
            return Err(explain(error));
        }
    };
    let seconds = screen.started.elapsed().as_secs_f64();
    screen.finish()?;
    if outcome == Outcome::Interrupted {
        let step = format!("step {} of {}", trainer.steps_done(), trainer.steps());
        return Err(stopped(&step, &origin.out));
    }
    let (model, results) = kept_model(config, &job, &*trainer, &views, folds.as_ref().zip(Some(&held[..])))?;
    model.save(&origin.out).map_err(&explain)?;
    if let (Some(folds), Some(results)) = (&folds, &results) {
        folds.save(results)?;
    }
    // The model is whole: nothing is left to take up.
    std::fs::remove_file(&checkpoint)
        .map_err(|error| Failure::failed(format!("{}: cannot be removed: {error}", checkpoint.display())))?;
    if let Some(folds) = &folds {
        folds.clean_up()?;
    }
    if let (Some(folder), Some((lists, scores))) = (&origin.curves, job.valid_scores(&*trainer, &views)?)
        && scores.len() == lists.entries()
    {
        let name = |q: usize| {
            valid_names.as_ref().map_or_else(|| (q + 1).to_string(), |names| names.get(q).to_string())
        };
        let names: Vec<String> = (0..lists.len()).map(name).collect();
        let judged = evaluate(lists, &scores, &measures).map_err(Failure::data)?;
        write_per_list(&folder.join("lists.csv"), &names, &judged.results)?;
    }
    report(common, &model, origin, outcome, seconds, results.as_ref())
}

/// The model with its map to probabilities, and what the folds found.
fn kept_model(
    config: &Config,
    job: &Job,
    learner: &dyn Learner,
    views: &Views,
    folds: Option<(&CrossValidation, &[Held])>,
) -> Result<(Model, Option<Results>), Failure> {
    let calibrate = Calibrate::parse(&config.calibrate)?;
    let model = job.model(learner)?;
    let outputs = model.header().outputs;
    if let Some((folds, held)) = folds {
        let results = folds.results(held, job.train().lists(), &job.train_scores(learner, views)?)?;
        let calibration = calibrate.fit(folds.lists(), &results.scores, outputs)?;
        return Ok((model.with_calibration(calibration), Some(results)));
    }
    let calibration = match job.valid_scores(learner, views)? {
        Some((lists, scores)) => calibrate.fit(lists, &scores, outputs)?,
        None => Vec::new(),
    };
    Ok((model.with_calibration(calibration), None))
}

/// A path that means the same from every folder; standard input cannot be read twice.
pub fn absolute(path: &str) -> Result<String, Failure> {
    if path == "-" {
        return Ok(path.to_string());
    }
    let path = std::path::absolute(path).map_err(|error| Failure::failed(format!("{path}: {error}")))?;
    Ok(path.display().to_string())
}

/// A file that belongs to a model and stands beside it.
pub fn beside(model: &Path, ending: &str) -> PathBuf {
    let mut name = model.as_os_str().to_os_string();
    name.push(ending);
    PathBuf::from(name)
}

/// The user stopped a run after `place`.
fn stopped(place: &str, out: &Path) -> Failure {
    Failure::interrupted(format!(
        "stopped after {place}; go on with `toprank train --resume {}`",
        out.display()
    ))
}

/// An error of training, with lists called by their names.
fn explain(error: TrainError, name: &dyn Fn(usize) -> String) -> Failure {
    match &error {
        TrainError::NotFinite { lists, .. } => {
            let some: Vec<String> = lists.iter().take(8).map(|&q| name(q as usize)).collect();
            Failure::failed(format!("{error}. Their names: {}", some.join(", ")))
        }
        _ => error.into(),
    }
}

fn report(
    common: &Common,
    model: &Model,
    origin: &Origin,
    outcome: Outcome,
    seconds: f64,
    folds: Option<&Results>,
) -> Result<(), Failure> {
    let header = model.header();
    let (config, reached) = (&header.config, &header.reached);
    if common.json {
        return print_json(&json!({
            "model": origin.out,
            "config": config,
            "lists": reached.lists,
            "rows": reached.rows,
            "parameters": model.scoring().parameters(),
            "steps": reached.steps,
            "epochs": reached.epochs,
            "best": reached.best.map(|(epoch, value)| json!({"epoch": epoch, "metric": config.metric, "value": value})),
            "loss": reached.loss,
            "stopped_early": outcome == Outcome::Stopped,
            "seconds": seconds,
            "calibrated": !header.calibration.is_empty(),
            "folds": folds.map(Results::json),
        }));
    }
    let work = match model.scoring().trees() {
        None => format!("{} passes, {} steps", reached.epochs, reached.steps),
        Some(trees) => {
            let kept = counted(trees.ensemble().trees.len(), "tree");
            format!("{}, {kept} kept", counted(reached.epochs as usize, "round"))
        }
    };
    let mut text = folds.map(Results::table).unwrap_or_default();
    text += &format!(
        "{} trained with {} on {}, {} rows: {work}, {seconds:.1} s\n",
        config.model,
        config.algorithm,
        counted(reached.lists, "list"),
        reached.rows,
    );
    if let Some((epoch, value)) = reached.best {
        let pass = if model.scoring().trees().is_some() { "round" } else { "pass" };
        text += &format!("best {} on validation: {value:.4}, in {pass} {epoch}\n", config.metric);
    } else if let Some(loss) = reached.loss {
        text += &format!("loss of the last pass: {loss:.6}\n");
    }
    if let Some(results) = folds {
        text += &format!(
            "out-of-fold scores: {}\nresults: {}\n",
            results.scores_file.display(),
            results.found_file.display()
        );
    }
    let probability = if header.calibration.is_empty() { "" } else { ", gives probabilities too" };
    text += &format!("model: {}{probability}\n", origin.out.display());
    print(&text)
}
