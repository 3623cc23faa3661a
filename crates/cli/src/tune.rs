//! `toprank tune`: which settings are best on validation data?

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;
use toprank::data::{inputs, sink};
use toprank::train::embed::TuningClasses;
use toprank::train::fit::run::Held;
use toprank::train::fit::tune::{Space, Trial, Tunable, tune};
use toprank::train::rank::run::TuningData;
use toprank::train::walk::TuningGraphs;
use toprank::train::{Callbacks, Data, Settings, Start, TrainError, TrainerKind};

use crate::failure::Failure;
use crate::inputs::guard_settings;
use crate::interrupt;
use crate::pagerank::GraphReading;
use crate::progress::Progress;
use crate::reading::Reading;
use crate::table::{Style, Table};
use crate::train::run::{Origin, about_inputs, changed, read_toml};
use crate::{Common, embed, note, print, print_json, recommend};

const AFTER_HELP: &str = "\
Example of a space (TOML):
  data = \"train.txt\"            # settings that all trials share, as in `toprank train --config`
  valid = \"vali.txt\"            # omitted: k-fold by list
  [tune]
  trainer = \"rank\"              # or recommend, embed, walk
  trials = 30
  method = \"halving\"            # or random
  folds = 5
  seed = 1
  [space]
  model = [\"linear\", \"mlp:hidden=64\", \"mlp:hidden=256-128\"]
  objective = [\"listnet\", \"song:gamma=0.1\", \"lambdarank\"]
  learning-rate = { from = 1e-4, to = 1e-1, scale = \"log\" }

The folder gets results.jsonl (one line per trial and round, as they end), results.svg and best.toml, which the training command
takes: `toprank train --config best.toml`. The same command resumes where results.jsonl ends.";

/// Find good settings: seeded random search or successive halving, evaluated on validation data or by folds
#[derive(clap::Args, Debug)]
#[command(after_long_help = AFTER_HELP)]
pub struct Tune {
    /// The space, a TOML file
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Folder for the results [default: the name of the space without its extension]
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

impl Tune {
    /// Draws, trains, evaluates, keeps.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        crate::heap::keep();
        let file = self.config.display();
        let text = read_toml(&self.config)?;
        let space = Space::from_toml(&text).map_err(|e| Failure::usage(format!("{file}: {e}")))?;
        let folder = self.output.clone().unwrap_or_else(|| self.config.with_extension(""));
        std::fs::create_dir_all(&folder).map_err(|error| Failure::file(folder.display(), &error))?;
        guard_settings(&space.fixed)?;
        // Said now, not after the search.
        ["best.toml", "results.jsonl", "results.svg"]
            .iter()
            .try_for_each(|name| inputs::refuse(&folder.join(name)))?;
        let path = folder.join("results.jsonl");
        sink::refuse_link(&path)?;
        let _lock = Held::take(&path)?;
        let done = read_trials(&path)?;
        if !done.is_empty() {
            note(common, format!("{}: resumed after {} results", path.display(), done.len()));
        }
        let task = self.task(&space, common)?;
        interrupt::by_request();
        let mut screen = Screen { progress: Progress::bar(common.quiet, "tuning") };
        let mut record = |trial: &Trial| append(&path, trial);
        let outcome = tune(&space, &*task, done, &mut screen, &mut record);
        drop(screen);
        let (trials, best) = outcome.map_err(|error| match error {
            TrainError::Interrupted { .. } => {
                Failure::interrupted("interrupted; the same command resumes the search")
            }
            TrainError::InputChanged { input, .. } => {
                changed(&format!("{}: ", path.display()), &error, input, &space.fixed)
            }
            TrainError::Param(error) => Failure::usage(format!("{}: {error}", path.display())),
            error => about_inputs(error, &space.fixed),
        })?;
        report(&space, &folder, &trials, &best, common)
    }

    /// The data that trials are evaluated on.
    fn task(&self, space: &Space, common: &Common) -> Result<Box<dyn Tunable>, Failure> {
        let fixed = &space.fixed;
        let missing = |what: &str| {
            Failure::usage(format!("{}: no {what}; expected {what} = \"…\"", self.config.display()))
        };
        let origin = Origin {
            paths: fixed.clone(),
            curves: None,
            reading: self.reading.clone(),
            own: serde_json::Value::Null,
        };
        if fixed.from.is_some() {
            let file = self.config.display();
            return Err(Failure::usage(format!("{file}: trials start from scratch; expected no key from")));
        }
        let quiet = common.quiet;
        match space.plan.trainer {
            TrainerKind::Rank => {
                let data = self.reading.training_data(fixed, quiet)?;
                let (train, valid) = data.ok_or_else(|| missing("data"))?;
                let (train, valid) = (train.into_memory()?, valid.map(Data::into_memory).transpose()?);
                let (folds, seed) = (space.plan.folds, space.plan.seed);
                Ok(Box::new(TuningData::new(train, valid, folds, seed)?))
            }
            TrainerKind::Recommend => {
                let data = recommend::read(&origin, space.plan.seed, quiet)?;
                if data.valid.pairs() == 0 {
                    let expected = "expected a split that gives it some, or valid = \"…\"";
                    return Err(Failure::usage(format!("no interactions for validation: {expected}")));
                }
                Ok(Box::new(data))
            }
            TrainerKind::Embed => {
                let config = fixed.resolve(TrainerKind::Embed)?;
                let [train, valid, _] = embed::parts(&origin, &config, quiet)?;
                if valid.is_empty() {
                    return Err(Failure::usage(
                        "no classes for validation: expected a split that gives it some",
                    ));
                }
                Ok(Box::new(TuningClasses { train, valid }))
            }
            TrainerKind::Walk => {
                let graphs = fixed.graphs.as_ref().ok_or_else(|| missing("graphs"))?;
                let valid = fixed.valid.as_ref().and_then(|files| files.0.first());
                let valid = valid.ok_or_else(|| missing("valid"))?;
                let reading = GraphReading::default();
                let train = reading.read(graphs.as_ref(), true)?;
                Ok(Box::new(TuningGraphs { train, valid: reading.read(valid.as_ref(), false)? }))
            }
        }
    }
}

/// Progress by trial, and Ctrl-C.
struct Screen {
    progress: Progress,
}

impl Callbacks for Screen {
    fn start(&mut self, start: &Start) {
        self.progress.set(start.step, start.steps);
        self.progress.say(&format!("tuning: {}", start.part));
    }

    fn stop(&mut self) -> bool {
        interrupt::asked()
    }
}

fn report(
    space: &Space,
    folder: &Path,
    trials: &[Trial],
    best: &Trial,
    common: &Common,
) -> Result<(), Failure> {
    let settings = Settings { seed: Some(best.config.seed()), ..space.trial(best.trial)? };
    let chosen = Settings { output: None, ..settings };
    let text = toml::to_string(&chosen).map_err(Failure::failed)?;
    sink::write_file(&folder.join("best.toml"), |out| out.write_all(text.as_bytes()))?;
    let metric = best.config.valid_metric();
    let higher = best.config.measure()?.metric().better() == toprank::metrics::Better::Higher;
    plot(folder, trials, best, higher)?;
    if common.json {
        return print_json(&json!({
            "best": {"trial": best.trial, "metric": metric, "value": best.value, "config": best.config},
            "trials": trials,
            "folder": folder,
        }));
    }
    let walk = space.plan.trainer == TrainerKind::Walk;
    let epochs = if walk { "steps" } else { "epochs" };
    let mut table = Table::new(["trial", "round", metric, epochs, "s", "settings"]).words(5);
    let mut order: Vec<&Trial> = trials.iter().collect();
    let value = |trial: &Trial| trial.value.unwrap_or(f64::NAN) * if higher { -1.0 } else { 1.0 };
    order.sort_by(|a, b| b.round.cmp(&a.round).then(value(a).total_cmp(&value(b))));
    for trial in order {
        let drawn = space.ranges.iter();
        let drawn = drawn.map(|(key, _)| {
            let value = trial.config.settings().get(key).unwrap_or_default();
            format!("{key}={value}")
        });
        table.row([
            trial.trial.to_string(),
            trial.round.to_string(),
            trial.value.map_or("–".into(), |value| format!("{value:.4}")),
            if walk { trial.config.steps().to_string() } else { trial.config.epochs().to_string() },
            format!("{:.1}", trial.seconds),
            drawn.collect::<Vec<String>>().join(" "),
        ]);
    }
    print(&format!(
        "{}\nbest: trial {}; train with `toprank {} --config {} -o model.toprank`\n",
        table.render(Style::Table),
        best.trial,
        space.plan.trainer.command(),
        folder.join("best.toml").display()
    ))
}

/// The results so far; a last line that is not whole was being written when the run ended.
fn read_trials(path: &Path) -> Result<Vec<Trial>, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Failure::failed(format!("{}: {error}", path.display()))),
    };
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    if whole < text.len() {
        let kept = std::fs::OpenOptions::new().write(true).open(path);
        kept.and_then(|file| file.set_len(whole as u64))
            .map_err(|error| Failure::file(path.display(), &error))?;
    }
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            let place = format!("{}:{}", path.display(), number + 1);
            Failure::data(format!("{place}: {error}; expected a line that toprank tune wrote"))
        })
    };
    text[..whole].lines().enumerate().map(parse).collect()
}

fn append(path: &Path, trial: &Trial) -> Result<(), TrainError> {
    let failed = |error: std::io::Error| {
        TrainError::from(toprank::data::ReadError::io(&path.display().to_string(), &error))
    };
    let text = serde_json::to_string(trial).map_err(|error| failed(error.into()))? + "\n";
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

#[cfg(feature = "plots")]
fn plot(folder: &Path, trials: &[Trial], best: &Trial, higher: bool) -> Result<(), Failure> {
    use toprank_plots::Better;
    let point = |trial: &Trial| toprank_plots::Trial {
        trial: trial.trial,
        round: trial.round,
        value: trial.value.unwrap_or(f64::NAN),
    };
    let points: Vec<toprank_plots::Trial> = trials.iter().map(point).collect();
    let better = if higher { Better::Higher } else { Better::Lower };
    let numbers: std::collections::BTreeSet<u32> = trials.iter().map(|trial| trial.trial).collect();
    let metric = best.config.valid_metric();
    let title = format!("Tuning: validation {metric} of {}", crate::table::counted(numbers.len(), "trial"));
    let plot =
        toprank_plots::trials(&title, &format!("validation {metric}"), &points, better, Some(best.trial));
    plot.save(&folder.join("results.svg")).map_err(Failure::failed)
}

#[cfg(not(feature = "plots"))]
fn plot(_: &Path, _: &[Trial], _: &Trial, _: bool) -> Result<(), Failure> {
    Ok(())
}
