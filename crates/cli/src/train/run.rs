//! What every training command does: settings from flags and file, a run begun or resumed, its result printed.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use toprank::train::fit::run::{Begin, RunFiles, RunLock, checkpoint_of, run_to_file};
use toprank::train::store::checkpoint;
use toprank::train::store::fingerprint::Input;
use toprank::train::{
    Config, Embedder, Model, Outcome, Reached, Recommender, SETTINGS, Settings, TrainError, TrainerKind,
    TrainingLoop, WalkFile,
};

use super::screen::Screen;
use crate::failure::Failure;
use crate::inputs::guard_settings;
use crate::reading::Reading;
use crate::{Common, note};

/// The flags that every training command has beside its settings.
#[derive(clap::Args, Clone, Debug)]
pub struct RunFlags {
    /// Read settings from a TOML file; flags override it
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    pub config: Option<PathBuf>,
    /// Resume an interrupted run; takes no other settings
    #[arg(long, value_name = "MODEL", help_heading = "Run", conflicts_with = "config")]
    pub resume: Option<PathBuf>,
    /// Start a new run where the checkpoint of an unfinished one is, which is discarded
    #[arg(long, help_heading = "Run", conflicts_with = "resume")]
    pub force: bool,
    /// With --resume: accept that the checkpoint names files outside the folder of the model
    #[arg(long, help_heading = "Run", hide_short_help = true, requires = "resume")]
    pub trust_paths: bool,
    /// Write learning curves to this folder: CSV, JSON lines, TensorBoard events, SVG
    #[arg(long, value_name = "FOLDER", help_heading = "Run")]
    pub curves: Option<PathBuf>,
    /// Minimum number of seconds between two checkpoints
    #[arg(long, value_name = "SECONDS", help_heading = "Run", hide_short_help = true, default_value = "10", allow_negative_numbers = true, value_parser = seconds)]
    pub checkpoint_every: Duration,
    /// This process is a worker that writes no file, as another one does.
    #[arg(skip)]
    pub follows: bool,
}

/// Reads the time between two checkpoints.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "expected a number of seconds of 0 or above".into())
}

/// Where a run came from: what a checkpoint needs to read the same files again.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Files to read and to write.
    pub paths: Settings,
    /// Folder of learning curves.
    pub curves: Option<PathBuf>,
    /// How data files are read.
    pub reading: Reading,
    /// What only one command needs.
    pub own: Value,
}

/// The strings of what one command keeps that are paths with a folder.
fn add_paths(own: &Value, to: &mut Vec<String>) {
    match own {
        Value::String(text) if Path::new(text).components().count() > 1 => to.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| add_paths(value, to)),
        Value::Object(map) => map.values().for_each(|value| add_paths(value, to)),
        _ => {}
    }
}

impl Origin {
    /// Files and folders that the run reads or writes and that are not below the folder of the model; with those of its curves
    /// if the checkpoint says where they are.
    fn outside(&self, curves: bool) -> Result<Vec<String>, Failure> {
        let real = |path: &Path| {
            // Links are followed; of a path that does not exist yet, as far as it does.
            let path = std::path::absolute(path)
                .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
            let there = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
            Ok::<_, Failure>(match there {
                Some((part, real)) => path.strip_prefix(part).map_or(real.clone(), |rest| real.join(rest)),
                None => path,
            })
        };
        let model = real(self.output())?;
        let home = model.parent().unwrap_or(Path::new("/")).to_path_buf();
        let paths = &self.paths;
        let mut named: Vec<String> = [&paths.data, &paths.valid, &paths.test]
            .into_iter()
            .flatten()
            .flat_map(|files| files.0.iter().cloned())
            .collect();
        named.extend(
            [&paths.pairs, &paths.graphs, &paths.from, &paths.user_features, &paths.item_features]
                .into_iter()
                .flatten()
                .cloned(),
        );
        named.extend(self.reading.paths());
        named.extend(self.curves.iter().filter(|_| curves).map(|folder| folder.display().to_string()));
        add_paths(&self.own, &mut named);
        let mut outside = Vec::new();
        for path in named.into_iter().filter(|path| path != "-") {
            // `..` behind a part that does not exist is not resolved above.
            let inside = real(Path::new(&path))?.strip_prefix(&home).is_ok_and(|rest| {
                rest.components().all(|part| matches!(part, std::path::Component::Normal(_)))
            });
            if !inside {
                outside.push(path);
            }
        }
        Ok(outside)
    }

    /// The model file to write.
    pub fn output(&self) -> &Path {
        Path::new(self.paths.output.as_deref().unwrap_or_default())
    }
}

/// A run that begins or is resumed.
pub struct Begun {
    /// What the user set; the default for a resumed run.
    pub settings: Settings,
    /// The settings, resolved before any data are read; those of a resumed run are final.
    pub config: Config,
    pub origin: Origin,
    every: Duration,
    /// Nobody else writes the model and its checkpoint.
    pub lock: RunLock,
}

/// Bytes of a config file, so that a device or a data file is not read to its end.
const LONGEST_TOML: u64 = 1 << 24;

/// The text of a TOML file.
pub fn read_toml(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LONGEST_TOML + 1).read_to_end(&mut bytes))
        .map_err(|error| Failure::file(path.display(), &error))?;
    if bytes.len() as u64 > LONGEST_TOML {
        let path = path.display();
        return Err(Failure::data(format!("{path}: more than {LONGEST_TOML} bytes; expected a TOML file")));
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::data(format!("{}: bytes that are not UTF-8; expected a TOML file", path.display()))
    })
}

/// Settings of the flags over those of the config file.
pub fn settings(flags: &Settings, config: Option<&Path>) -> Result<Settings, Failure> {
    let Some(path) = config else { return Ok(flags.clone()) };
    let text = read_toml(path)?;
    let file =
        Settings::from_toml(&text).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    Ok(flags.clone().over(file))
}

impl RunFlags {
    /// The run that flags and config file ask for, or the one that `--resume` names; `None`: that one is finished, and the
    /// user was told. Everything that is wrong with the settings is said before any data are read.
    pub fn begin(
        &self,
        common: &Common,
        kind: TrainerKind,
        flags: &Settings,
        reading: &Reading,
        own: Value,
    ) -> Result<Option<Begun>, Failure> {
        let every = self.checkpoint_every;
        if let Some(model) = &self.resume {
            return Ok(self.resumed(common, kind, flags, model)?.map(|(config, origin, lock)| Begun {
                settings: Settings::default(),
                config,
                origin,
                every,
                lock,
            }));
        }
        let settings = settings(flags, self.config.as_deref())?;
        let config = settings.resolve(kind)?;
        let missing = |flag: &str| {
            Failure::usage(format!("no {flag}: expected --{flag}, or {flag} in the file of --config"))
        };
        if kind == TrainerKind::Walk && settings.graphs.is_none() {
            return Err(missing("graphs"));
        }
        if kind != TrainerKind::Walk && settings.data.is_none() {
            return Err(missing("data"));
        }
        let Some(output) = &settings.output else { return Err(missing("output")) };
        let origin = Origin {
            paths: absolute_paths(&settings)?,
            curves: self.curves.clone(),
            reading: reading.absolute()?,
            own,
        };
        guard_settings(&origin.paths)?;
        let begin = if self.force { Begin::Force } else { Begin::New };
        let lock = self.lock(output.as_ref(), begin)?;
        Ok(Some(Begun { settings, config, origin, every, lock }))
    }

    fn lock(&self, output: &Path, begin: Begin) -> Result<RunLock, TrainError> {
        if self.follows { Ok(RunLock::of_follower(output, begin)) } else { RunLock::take(output, begin) }
    }

    fn resumed(
        &self,
        common: &Common,
        kind: TrainerKind,
        flags: &Settings,
        model: &Path,
    ) -> Result<Option<(Config, Origin, RunLock)>, Failure> {
        if *flags != Settings::default() {
            return Err(Failure::usage(
                "--resume takes no other settings: the run continues as it was started",
            ));
        }
        let path = checkpoint_of(model);
        let (shown, checkpoint) = (model.display(), path.display());
        if !path.exists() {
            let kinds = [Model::is_one, Recommender::is_one, Embedder::is_one, WalkFile::is_one];
            if kinds.iter().any(|is_one| is_one(model)) {
                note(common, format!("{shown} is finished: there is nothing to resume"));
                return Ok(None);
            }
            return Err(Failure::failed(format!(
                "{shown}: there is neither such a model nor {checkpoint}; expected the --output of a run that was interrupted"
            )));
        }
        let lock = self.lock(model, Begin::Resume)?;
        let (config, origin) = checkpoint::resumable(&path, kind)?;
        let origin: Origin = serde_json::from_value(origin).map_err(|error| {
            let command = kind.command();
            Failure::data(format!("{checkpoint}: was not written by `toprank {command}` ({error})"))
        })?;
        let output = Some(model.display().to_string());
        let paths = Settings { output, ..origin.paths };
        guard_settings(&paths)?;
        let origin = Origin { paths, curves: self.curves.clone().or(origin.curves), ..origin };
        let outside = origin.outside(self.curves.is_none())?;
        if !outside.is_empty() && !self.trust_paths {
            let names = toprank::data::error::show_names(outside.iter().map(String::as_str));
            return Err(Failure::usage(format!(
                "{checkpoint}: names files outside the folder of the model: {names}. A checkpoint of a stranger can name any file; if \
                 they are those of your run, add --trust-paths"
            )));
        }
        Ok(Some((config, origin, lock)))
    }
}

/// The settings that a config leaves out, files under names that mean the same from every folder. The output stays as it was
/// given: `--resume` names it again.
fn absolute_paths(settings: &Settings) -> Result<Settings, Failure> {
    let mut kept = Settings::default();
    for setting in SETTINGS.iter().filter(|setting| setting.is_path) {
        let Some(mut text) = settings.get(setting.key) else { continue };
        if ["FILE", "FOLDER", "MODEL"].contains(&setting.metavar) && setting.key != "output" {
            text = text.lines().map(absolute).collect::<Result<Vec<String>, Failure>>()?.join("\n");
        }
        kept.set(setting.key, &text)?;
    }
    Ok(kept)
}

/// A path that means the same from every folder; `-` is standard input.
pub fn absolute(path: &str) -> Result<String, Failure> {
    if path == "-" {
        return Ok(path.to_string());
    }
    let path = std::path::absolute(path).map_err(|error| Failure::failed(format!("{path}: {error}")))?;
    Ok(path.display().to_string())
}

impl Begun {
    /// What the checkpoint keeps of the command line.
    pub fn origin_value(&self) -> Result<Value, Failure> {
        serde_json::to_value(&self.origin).map_err(Failure::failed)
    }

    /// The files of the run.
    pub fn files<'a>(&'a self, origin: &'a Value) -> RunFiles<'a> {
        RunFiles { lock: &self.lock, every: self.every, origin }
    }

    /// What a person sees while it trains.
    pub fn screen(&self, common: &Common, config: &Config, validated: bool) -> Screen {
        Screen::new(common, config, self.origin.curves.clone(), validated)
    }

    /// Trains to the end and saves the model; how it ended, and the seconds it took.
    pub fn train<T: TrainingLoop>(
        &self,
        common: &Common,
        trainer: &mut T,
        validated: bool,
        save: &mut dyn FnMut(&T) -> Result<(), TrainError>,
        list_name: &dyn Fn(usize) -> String,
    ) -> Result<(Outcome, f64), Failure> {
        let origin = self.origin_value()?;
        let mut screen = self.screen(common, &self.config, validated);
        crate::interrupt::by_request();
        let outcome = run_to_file(trainer, &self.files(&origin), &mut screen, save);
        let outcome = outcome.map_err(|error| self.explain(error, &screen, list_name))?;
        screen.finish(trainer.best().map(|(value, epoch)| (epoch, value)))?;
        Ok((outcome, screen.started.elapsed().as_secs_f64()))
    }

    /// An error of training with lists called by their names, and what to do about an interruption.
    pub fn explain(&self, error: TrainError, screen: &Screen, name: &dyn Fn(usize) -> String) -> Failure {
        if let Some(failure) = screen.failure() {
            return failure;
        }
        let part = screen.part();
        match &error {
            TrainError::Interrupted { .. } => {
                let outside = self.origin.outside(true).is_ok_and(|outside| !outside.is_empty());
                Failure::interrupted(format!(
                    "{part}{error}; resume with `toprank {} --resume {}{}`",
                    self.config.trainer().command(),
                    self.origin.output().display(),
                    if outside { " --trust-paths" } else { "" }
                ))
            }
            TrainError::InputChanged { input, .. } => changed(&part, &error, *input, &self.origin.paths),
            TrainError::NotFinite { lists, .. } => {
                let some: Vec<String> = lists.iter().take(8).map(|&q| name(q as usize)).collect();
                Failure::failed(format!("{part}{error}. Their names: {}", some.join(", ")))
            }
            _ => {
                let failure = about_inputs(error, &self.origin.paths);
                Failure { message: format!("{part}{}", failure.message), ..failure }
            }
        }
    }
}

/// An error of training; data that are not suitable are called by their files.
pub fn about_inputs(error: TrainError, paths: &Settings) -> Failure {
    match &error {
        TrainError::Unsuitable { input, found, expected } => {
            let files = input.files(paths);
            Failure::data(format!("{}: {found}; expected {expected}", files.join(", ")))
        }
        _ => error.into(),
    }
}

/// An input that changed, with the files that it is read from.
pub fn changed(before: &str, error: &TrainError, input: Input, paths: &Settings) -> Failure {
    let files = input.files(paths);
    Failure::data(format!("{before}{error}. It is read from {}", files.join(", ")))
}

/// What every training command prints as JSON.
pub fn result_json(
    output: &Path,
    config: &Config,
    reached: &Reached,
    outcome: Outcome,
    seconds: f64,
) -> Map<String, Value> {
    let best = reached
        .best
        .map(|(epoch, value)| json!({"epoch": epoch, "metric": config.valid_metric(), "value": value}));
    let result = json!({
        "model": output,
        "config": config,
        "steps": reached.steps,
        "epochs": reached.epochs,
        "best": best,
        "loss": reached.loss,
        "stopped_early": outcome == Outcome::StoppedEarly,
        "seconds": seconds,
    });
    match result {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// The lines that every training command prints about validation.
pub fn result_text(config: &Config, reached: &Reached, epoch: &str, on: &str) -> String {
    match (reached.best, reached.loss) {
        (Some((number, value)), _) => {
            format!("best {} on {on}: {value:.4}, in {epoch} {number}\n", config.valid_metric())
        }
        (None, Some(loss)) => format!("loss of the last {epoch}: {loss:.6}\n"),
        (None, None) => String::new(),
    }
}
