//! `toprank recommend train`: from interactions to a recommender.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use toprank::data::ReadOptions;
use toprank::train::recommend::{self, Config, Interactions, Known, Place, Settings, Trainer};
use toprank::train::{Outcome, Recommender, TrainError};

use crate::failure::Failure;
use crate::reading::Reading;
use crate::table::counted;
use crate::train::absolute;
use crate::train::kept_run::{KeptRun, taken_up};
use crate::{Common, note, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank recommend train --data u.data --split leave-last --objective ndcg@20 --model neumf --seed 1 -o rec.toprank
  toprank recommend train --data ratings.csv --split random:shares=80/10/10 --objective song --model mf:width=32 -o rec.toprank
  toprank recommend train --data train.txt --valid valid.txt --test test.txt --input-format adjacency -o rec.toprank
  toprank recommend train --data u.data --objective bpr --sampler pairs:batch=4096:group=10:items=10 -o rec.toprank
  toprank recommend train --data u.data --model two-tower --item-features items.csv -o rec.toprank
  toprank recommend train --resume rec.toprank

Splits: leave-last (each user's last item by time is test, the one before it validation), random (each user's items by
shares), none; or parts given by --valid and --test. Early stopping ranks, after every pass, all items that a user has not
in train, and keeps the model that is best by --metric. The test part is not looked at.

A batch (--sampler) holds relevant pairs and, for each drawn user, some other items:
  pairs:batch=B:group=G:items=N   every pair once a pass, G of a user together, N other items beside them
  strata:batch=U:relevant=R:others=N   U users, R pairs and N other items of each
  lists:batch=U   U users with all items
What the objective counts of them is weighted so that it refers to all items. pairs and strata take popular=P: other items are
drawn in proportion to how often they were taken to the power P, and count for what they stand for (unless correct=false).

What users took lately says more about what they take next: with --recency H a pair counts half of one that H pairs of its user
later was taken, where the order in time is known (times in the data, or the file's order with --split leave-last) and the
parts are not random.

--feedback ratings learns from ratings (gain and relevance by the objective: song:gain=linear, ap:relevant=4) instead of from
the bare fact that an item was taken. Features of users or items (two-tower) are tables with a column user or item that holds the
name and columns of numbers; they are standardised, missing ones are the mean.

The tables of vectors, their means in the optimiser and the best ones so far take 16 bytes a number (mf:width=64, a million users
and items: 1 GB). --tables says where they are while it trains: memory, a FOLDER on a disk (in temporary files there that are
mapped, so that they may be larger than memory), or auto: in memory unless they would take more than half of it (of the machine
or its container), else in the folder of the model. The model is the same to the byte.

While it trains, MODEL.checkpoint beside the model holds everything to go on from: Ctrl-C stops after the step, --resume takes
it up, and the model is the same to the byte as if it had never stopped.";

/// Train vectors of users and items
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Train {
    /// Interactions to learn from
    #[arg(long, value_name = "FILE", required_unless_present = "resume")]
    data: Option<String>,
    /// How they are divided: leave-last, random:shares=80/10/10, none [default: leave-last without --valid and --test]
    #[arg(long, value_name = "SPLIT")]
    split: Option<String>,
    /// Given pairs for validation
    #[arg(long, value_name = "FILE", conflicts_with = "split")]
    valid: Option<String>,
    /// Given pairs for the test
    #[arg(long, value_name = "FILE", conflicts_with = "split")]
    test: Option<String>,
    /// Model file to write
    #[arg(long, short, value_name = "MODEL", required_unless_present = "resume")]
    out: Option<String>,
    /// Take up the run that was to write this model
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["data", "split", "valid", "test", "out"])]
    resume: Option<PathBuf>,
    /// Table of features of users, whose names are in its column `user` or that of --list (two-tower)
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    user_features: Option<String>,
    /// Table of features of items, whose names are in its column `item` or that of --item (two-tower)
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    item_features: Option<String>,
    #[command(flatten)]
    flags: Flags,
    /// Folder for learning curves: CSV, JSON lines, TensorBoard events, SVG
    #[arg(long, value_name = "FOLDER")]
    curves: Option<PathBuf>,
    /// Where the tables of vectors are while it trains: auto, memory or a folder; does not change the model
    /// [default: auto, or as before with --resume]
    #[arg(long, value_name = "WHERE")]
    tables: Option<String>,
    /// Seconds between two checkpoints, at least
    #[arg(long, value_name = "SECONDS", default_value = "10", allow_negative_numbers = true, value_parser = crate::train::kept_run::seconds)]
    checkpoint_every: Duration,
    #[command(flatten)]
    reading: Reading,
}

#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Settings")]
struct Flags {
    /// Metric to be best at, or objective by name [default: ndcg@20]
    #[arg(long, value_name = "NAME")]
    objective: Option<String>,
    /// Objective that is to serve the metric, instead of the chosen one
    #[arg(long, value_name = "NAME")]
    algorithm: Option<String>,
    /// mf, neumf or two-tower, with parameters: mf:width=32 (see `toprank models`) [default: mf]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Row-sparse adam or adamw with parameters: adam:decay=1e-5:beta2=0.99 [default: adamw:decay=1.2]
    #[arg(long, value_name = "NAME")]
    optimiser: Option<String>,
    /// Rate of learning [default: 0.01]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    rate: Option<f64>,
    /// How the rate changes: constant, step, cosine, theory [default: constant]
    #[arg(long, value_name = "NAME")]
    schedule: Option<String>,
    /// What a batch is: pairs, strata or lists, with parameters [default: pairs:batch=4096:group=20:items=300]
    #[arg(long, value_name = "NAME")]
    sampler: Option<String>,
    /// Most passes over the data [default: 100]
    #[arg(long, value_name = "N")]
    epochs: Option<u32>,
    /// Metric of validation [default: the metric of --objective, else ndcg@20]
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// Passes without a better validation before training stops; 0: never [default: 10]
    #[arg(long, value_name = "N")]
    patience: Option<u32>,
    /// Passes of warm-up with listwise cross-entropy, then the last layer starts afresh [default: 0]
    #[arg(long, value_name = "N")]
    warm_up: Option<u32>,
    /// What a pair is worth: implicit (1) or ratings [default: implicit]
    #[arg(long, value_name = "KIND")]
    feedback: Option<String>,
    /// Half-life in pairs: after so many later pairs of its user a pair counts half; 0: all alike [default: 10 where the order in time
    /// is known]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    recency: Option<f64>,
    /// Seed of everything random [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl Flags {
    fn settings(&self) -> Settings {
        settings!(self: objective, algorithm, model, optimiser, rate, schedule, sampler, epochs, metric, patience, warm_up, feedback, recency, seed)
    }
}

/// Where a run came from: what a checkpoint needs to read the same files again.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Origin {
    data: String,
    split: Option<String>,
    valid: Option<String>,
    test: Option<String>,
    user_features: Option<String>,
    item_features: Option<String>,
    out: PathBuf,
    curves: Option<PathBuf>,
    #[serde(default)]
    tables: Tables,
    reading: Reading,
}

/// Where tables are while it trains.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Tables {
    #[default]
    Auto,
    Memory,
    Folder(PathBuf),
}

impl Tables {
    fn parse(text: &str) -> Result<Tables, Failure> {
        Ok(match text {
            "auto" => Tables::Auto,
            "memory" => Tables::Memory,
            folder => Tables::Folder(absolute(folder)?.into()),
        })
    }

    fn place(
        &self,
        common: &Common,
        config: &Config,
        origin: &Origin,
        data: &Interactions,
    ) -> Result<Place, Failure> {
        Ok(match self {
            Tables::Memory => Place::Memory,
            Tables::Folder(folder) => Place::Folder(folder.clone()),
            Tables::Auto => {
                let bytes = recommend::table_bytes(config, data)?;
                let beside = origin.out.parent().filter(|folder| *folder != Path::new(""));
                let place = Place::fitting(bytes, beside.unwrap_or(Path::new(".")));
                if let Place::Folder(folder) = &place {
                    note(
                        common,
                        format!(
                            "the tables take {bytes} bytes, more than half of the memory: they are mapped in {}",
                            folder.display()
                        ),
                    );
                }
                place
            }
        })
    }
}

impl Origin {
    fn read(&self, seed: u64, quiet: bool) -> Result<Interactions, Failure> {
        let read = |path: &String| {
            let mut reading = self.reading.clone();
            // A name without an extension that says more is a file of interactions.
            if reading.format.is_none() && plain_table(path) {
                reading.format = Some("interactions".into());
            }
            reading.read(path, Vec::new(), quiet)
        };
        let train = read(&self.data)?;
        let mut data = if self.valid.is_none() && self.test.is_none() {
            Interactions::split(&train, self.split.as_deref().unwrap_or("leave-last"), seed)?
        } else {
            let [valid, test] = [&self.valid, &self.test].map(|path| path.as_ref().map(read).transpose());
            Interactions::given(&train, valid?.as_ref(), test?.as_ref())?
        };
        data.user_features = self.features("user", self.user_features.as_ref(), &data.users)?;
        data.item_features = self.features("item", self.item_features.as_ref(), &data.items)?;
        Ok(data)
    }

    fn features(
        &self,
        side: &str,
        path: Option<&String>,
        names: &toprank::data::Names,
    ) -> Result<Option<Known>, Failure> {
        let Some(path) = path else { return Ok(None) };
        let named = if side == "user" { &self.reading.list } else { &self.reading.item };
        let options = ReadOptions {
            item: Some(named.clone().unwrap_or_else(|| side.into())),
            features: self.reading.features.clone(),
            unlabelled: true,
            ..ReadOptions::default()
        };
        let table = toprank::data::formats::read(&toprank::data::Source::path(path), &options)?;
        Ok(Some(Known::of_table(&table, names, &format!("{side} features"))?))
    }
}

/// True if a file is a CSV or TSV table by name: then it holds interactions here, whatever it may hold elsewhere.
fn plain_table(path: &str) -> bool {
    let name = path.trim_end_matches(".gz").trim_end_matches(".zst");
    [".csv", ".tsv", ".data", ".dat", ".inter"].iter().any(|ending| name.ends_with(ending))
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
        let data = origin.read(config.seed, common.quiet)?;
        if self.flags.recency.is_some_and(|half_life| half_life > 0.0) && data.later.is_empty() {
            return Err(Failure::usage(
                "--recency must be 0 here, as the order in time of what is learned from is not known: it needs a time in every \
                 line, or --split leave-last, and parts that are not random",
            ));
        }
        learn(common, every, &config, &origin, kept.as_deref(), &data)
    }

    /// The run that the flags ask for; what is wrong is said before anything is read.
    fn asked(&self) -> Result<(Config, Origin), Failure> {
        let config = self.flags.settings().resolve()?;
        let path = |path: &Option<String>| path.as_deref().map(absolute).transpose();
        let towers = config.kind() == "two-tower";
        if !towers && (self.user_features.is_some() || self.item_features.is_some()) {
            return Err(Failure::usage(format!(
                "--user-features and --item-features are read by --model two-tower, but the model is {}",
                config.model
            )));
        }
        let origin = Origin {
            data: path(&self.data)?.unwrap_or_default(),
            split: self.split.clone(),
            valid: path(&self.valid)?,
            test: path(&self.test)?,
            user_features: path(&self.user_features)?,
            item_features: path(&self.item_features)?,
            out: PathBuf::from(self.out.clone().unwrap_or_default()),
            curves: self.curves.clone(),
            tables: self.tables.as_deref().map_or(Ok(Tables::Auto), Tables::parse)?,
            reading: self.reading.clone(),
        };
        Ok((config, origin))
    }

    /// The run that a checkpoint holds; `None`: it is finished, and the user was told.
    fn taken_up(&self, model: &Path, common: &Common) -> Result<Option<(Config, Origin, PathBuf)>, Failure> {
        let plain = self.flags.settings() == Settings::default();
        let epochs = || Ok(Recommender::load_mapped(model)?.header().reached.epochs);
        let run = taken_up(common, COMMAND, model, plain, epochs, recommend::about)?;
        let tables = self.tables.as_deref().map(Tables::parse).transpose()?;
        Ok(run.map(|(config, origin, kept): (_, Origin, _)| {
            let curves = self.curves.clone().or(origin.curves);
            let tables = tables.unwrap_or(origin.tables);
            (config, Origin { out: model.to_path_buf(), curves, tables, ..origin }, kept)
        }))
    }
}

/// The words that start a run.
const COMMAND: &str = "recommend train";

fn learn(
    common: &Common,
    every: Duration,
    config: &Config,
    origin: &Origin,
    kept: Option<&Path>,
    data: &Interactions,
) -> Result<(), Failure> {
    let judged = data.valid.pairs() > 0;
    if !judged {
        note(common, "no pairs for validation: the model of the last pass is kept");
    }
    let explain = |error: TrainError| match &error {
        TrainError::NotFinite { lists, .. } => {
            let some: Vec<&str> = lists.iter().take(8).map(|&u| data.users.get(u as usize)).collect();
            Failure::failed(format!("{error}. Their names: {}", some.join(", ")))
        }
        TrainError::Tables(_) => Failure::failed(format!(
            "{error}; name another one with --tables FOLDER, or keep the tables in memory with --tables memory"
        )),
        _ => error.into(),
    };
    let place = origin.tables.place(common, config, origin, data)?;
    let mut trainer = Trainer::new_in(config, data, &place).map_err(explain)?;
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
    let mut save = |trainer: &Trainer| saved.insert(trainer.recommender()?).save(&origin.out);
    let (outcome, seconds) = run.go(&mut trainer, &mut save, &explain)?;
    let recommender = saved.map_or_else(|| trainer.recommender(), Ok)?;
    report(common, &recommender, origin, outcome, seconds)
}

fn report(
    common: &Common,
    recommender: &Recommender,
    origin: &Origin,
    outcome: Outcome,
    seconds: f64,
) -> Result<(), Failure> {
    let (header, data) = (recommender.header(), recommender.data());
    let (config, reached) = (&header.config, &header.reached);
    if common.json {
        return print_json(&json!({
            "model": origin.out,
            "config": config,
            "users": header.users,
            "items": header.items,
            "pairs": {"train": data.train.pairs(), "valid": data.valid.pairs(), "test": data.test.pairs()},
            "parameters": recommender.parameters(),
            "steps": reached.steps,
            "epochs": reached.epochs,
            "best": reached.best.map(|(epoch, value)| json!({"epoch": epoch, "metric": config.metric, "value": value})),
            "loss": reached.loss,
            "stopped_early": outcome == Outcome::Stopped,
            "seconds": seconds,
        }));
    }
    let mut text = format!(
        "{} trained with {} on {}, {}, {}: {} passes, {} steps, {seconds:.1} s\n",
        config.model,
        config.algorithm,
        counted(header.users, "user"),
        counted(header.items, "item"),
        counted(data.train.pairs(), "pair"),
        reached.epochs,
        reached.steps,
    );
    if let Some((epoch, value)) = reached.best {
        text += &format!(
            "best {} on validation, all unseen items ranked: {value:.4}, in pass {epoch}\n",
            config.metric
        );
    } else if let Some(loss) = reached.loss {
        text += &format!("loss of the last pass: {loss:.6}\n");
    }
    text += &format!("model: {}\n", origin.out.display());
    print(&text)
}
