//! `toprank tune`: which settings are best on validation data?

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::json;
use toprank::core::Spec;
use toprank::data::split::plan;
use toprank::data::{Dataset, sink};
use toprank::metrics::Better;
use toprank::train::tune::{Space, best};
use toprank::train::{Config, Job, Outcome, Settings, Watch};

use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::reading::Reading;
use crate::table::{Style, Table};
use crate::{Common, note, print, print_json};

const AFTER_HELP: &str = "\
Example of a space (TOML):
  data = \"train.txt\"            # settings that all trials share, as in `toprank train --config`
  valid = \"vali.txt\"            # left out: k-fold by list
  [tune]
  trials = 30
  method = \"halving\"            # or random
  folds = 5
  seed = 1
  [space]
  model = [\"linear\", \"mlp:hidden=64\", \"mlp:hidden=256-128\"]
  objective = [\"listnet\", \"song:gamma=0.1\", \"lambdarank\"]
  rate = { from = 1e-4, to = 1e-1, scale = \"log\" }

The folder gets results.jsonl (one line per trial and round, as they end), results.svg and best.toml, which
`toprank train --config best.toml` takes. The same command goes on where results.jsonl ends.";

/// Find good settings: seeded random search or successive halving, judged on validation data or by folds
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
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

/// One line of the results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    trial: u32,
    round: u32,
    value: Option<f64>,
    folds: Vec<f64>,
    seconds: f64,
    config: Config,
}

/// What a trial is judged on: pairs of training and validation data.
type Judges = Vec<(Dataset, Dataset)>;

impl Tune {
    /// Draws, trains, judges, keeps.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        crate::heap::keep();
        let file = self.config.display();
        let text =
            std::fs::read_to_string(&self.config).map_err(|e| Failure::failed(format!("{file}: {e}")))?;
        let space = Space::from_toml(&text).map_err(|e| Failure::usage(format!("{file}: {e}")))?;
        let folder = self.output.clone().unwrap_or_else(|| self.config.with_extension(""));
        std::fs::create_dir_all(&folder)
            .map_err(|error| Failure::failed(format!("{}: {error}", folder.display())))?;
        let path = folder.join("results.jsonl");
        let mut lines = read_lines(&path)?;
        if !lines.is_empty() {
            note(common, format!("{}: {} results are there already", path.display(), lines.len()));
        }
        let judges = self.judges(&space, common)?;
        interrupt::by_request();
        let lists = &judges[0].0.lists;
        let fixed = space.fixed.clone().suited_to(lists)?.resolve()?;
        let higher = fixed.measure()?.metric().better() == Better::Higher;
        let rounds = space.rounds();
        let all: u64 = rounds.iter().map(|(trials, _)| u64::from(*trials)).sum();
        let bar = Progress::bar(common.quiet, "tuning".into());
        let mut staying: Vec<u32> = (0..space.plan.trials).collect();
        let mut done = 0;
        for (round, (trials, share)) in (0..).zip(rounds) {
            let before: Vec<(u32, f64)> = results_of(&lines, round);
            if round > 0 {
                staying = best(&results_of(&lines, round - 1), trials, higher);
                staying.sort_unstable();
            }
            for &trial in &staying {
                done += 1;
                let config = space.shortened(trial, share)?.suited_to(lists)?.resolve()?;
                if before.iter().any(|(t, _)| *t == trial) {
                    check_same(&path, &lines, trial, round, &config)?;
                    continue;
                }
                bar.set(done - 1, all);
                let Some(line) = judge(trial, round, &config, &judges)? else {
                    return Err(Failure::interrupted(format!(
                        "stopped in trial {trial} of round {round}; the same command goes on from there"
                    )));
                };
                append(&path, &line)?;
                lines.push(line);
            }
        }
        drop(bar);
        report(&space, &folder, &lines, higher, common)
    }

    /// The validation data, or folds.
    fn judges(&self, space: &Space, common: &Common) -> Result<Judges, Failure> {
        let data = space.fixed.data.as_deref().ok_or_else(|| {
            Failure::usage(format!("{}: no data; expected data = \"train.txt\"", self.config.display()))
        })?;
        let train = self.reading.read(data, Vec::new(), common.quiet)?;
        if let Some(valid) = &space.fixed.valid {
            return Ok(vec![(train, self.reading.read(valid, Vec::new(), common.quiet)?)]);
        }
        let spec = Spec::parse(&format!("k-fold:k={}", space.plan.folds))?;
        let parts = plan(&train, &spec, space.plan.seed)?;
        let take =
            |name: &str| parts.iter().filter(|p| p.name.ends_with(name)).map(|p| p.take(&train)).collect();
        let (trains, tests): (Vec<Dataset>, Vec<Dataset>) = (take(".train"), take(".test"));
        Ok(trains.into_iter().zip(tests).collect())
    }
}

fn report(
    space: &Space,
    folder: &Path,
    lines: &[Line],
    higher: bool,
    common: &Common,
) -> Result<(), Failure> {
    let last = lines.iter().map(|line| line.round).max().unwrap_or(0);
    let winner = best(&results_of(lines, last), 1, higher);
    let Some(line) = winner.first().and_then(|&t| lines.iter().find(|l| l.trial == t && l.round == last))
    else {
        return Err(Failure::failed("no trial gave a result"));
    };
    let settings = Settings { seed: Some(line.config.seed), ..space.trial(line.trial)? };
    let chosen = Settings { out: None, ..settings };
    let text = toml::to_string(&chosen).map_err(Failure::failed)?;
    sink::write_file(&folder.join("best.toml"), |out| out.write_all(text.as_bytes()))?;
    plot(folder, lines)?;
    let metric = &line.config.metric;
    if common.json {
        return print_json(&json!({
            "best": {"trial": line.trial, "metric": metric, "value": line.value, "config": line.config},
            "trials": lines,
            "folder": folder,
        }));
    }
    let mut table = Table::new(["trial", "round", metric, "passes", "s", "what was drawn"]).words(5);
    let mut order: Vec<&Line> = lines.iter().collect();
    let value = |line: &Line| line.value.unwrap_or(f64::NAN) * if higher { -1.0 } else { 1.0 };
    order.sort_by(|a, b| b.round.cmp(&a.round).then(value(a).total_cmp(&value(b))));
    for line in order {
        let drawn: Vec<String> = space
            .ranges
            .iter()
            .map(|(name, _)| format!("{name}={}", json!(line.config)[name].to_string().trim_matches('"')))
            .collect();
        table.row([
            line.trial.to_string(),
            line.round.to_string(),
            line.value.map_or("–".into(), |value| format!("{value:.4}")),
            line.config.epochs.to_string(),
            format!("{:.1}", line.seconds),
            drawn.join(" "),
        ]);
    }
    print(&format!(
        "{}\nbest: trial {}; train with `toprank train --config {} -o model.toprank`\n",
        table.render(Style::Table),
        line.trial,
        folder.join("best.toml").display()
    ))
}

/// Asks the user between steps.
struct Asked;

impl Watch for Asked {
    fn stop(&mut self) -> bool {
        interrupt::asked()
    }
}

/// Trains on each part and takes the mean of the best validations; `None`: the user stopped it.
fn judge(trial: u32, round: u32, config: &Config, judges: &Judges) -> Result<Option<Line>, Failure> {
    let started = Instant::now();
    let mut folds = Vec::new();
    for (train, valid) in judges {
        let job = Job::new(config, train.clone().into(), Some(valid.clone().into()))?;
        let views = job.views()?;
        let mut trainer = job.trainer(&views)?;
        match trainer.run(&mut Asked, None) {
            Ok(Outcome::Interrupted) => return Ok(None),
            Ok(_) => folds.extend(trainer.best().map(|(value, _)| value)),
            // Settings under which nothing can be learned are a result, not the end of the search.
            Err(toprank::train::TrainError::NotFinite { .. } | toprank::train::TrainError::Goal(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let whole = folds.len() == judges.len();
    let value = whole.then(|| folds.iter().sum::<f64>() / folds.len() as f64);
    let seconds = started.elapsed().as_secs_f64();
    Ok(Some(Line { trial, round, value, folds, seconds, config: config.clone() }))
}

fn results_of(lines: &[Line], round: u32) -> Vec<(u32, f64)> {
    let of_round = lines.iter().filter(|line| line.round == round);
    let latest: HashMap<u32, f64> = of_round.map(|l| (l.trial, l.value.unwrap_or(f64::NAN))).collect();
    let mut results: Vec<(u32, f64)> = latest.into_iter().collect();
    results.sort_by_key(|result| result.0);
    results
}

/// A result that is there already must be of the trial that would be run now.
fn check_same(path: &Path, lines: &[Line], trial: u32, round: u32, config: &Config) -> Result<(), Failure> {
    match lines.iter().find(|line| line.trial == trial && line.round == round) {
        Some(line) if line.config != *config => Err(Failure::usage(format!(
            "{}: trial {trial} was drawn from another space; expected the space it was begun with, or another folder",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// The results so far; a last line that is not whole was being written when the run ended.
fn read_lines(path: &Path) -> Result<Vec<Line>, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Failure::failed(format!("{}: {error}", path.display()))),
    };
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    if whole < text.len() {
        let kept = std::fs::OpenOptions::new().write(true).open(path)?;
        kept.set_len(whole as u64)?;
    }
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            Failure::data(format!(
                "{}:{}: {error}; expected a line that toprank tune wrote",
                path.display(),
                number + 1
            ))
        })
    };
    text[..whole].lines().enumerate().map(parse).collect()
}

fn append(path: &Path, line: &Line) -> Result<(), Failure> {
    let text = serde_json::to_string(line).map_err(Failure::failed)? + "\n";
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    Ok(file.write_all(text.as_bytes())?)
}

#[cfg(feature = "plots")]
fn plot(folder: &Path, lines: &[Line]) -> Result<(), Failure> {
    let rounds = lines.iter().map(|line| line.round).max().map_or(0, |last| last + 1);
    let series: Vec<toprank_plots::Series> = (0..rounds)
        .map(|round| toprank_plots::Series {
            name: format!("round {round}"),
            points: results_of(lines, round).iter().map(|(t, value)| (f64::from(*t), *value)).collect(),
        })
        .collect();
    let metric = lines.first().map_or("", |line| &line.config.metric);
    let plot = toprank_plots::curves("trials", "trial", metric, &series);
    plot.save(&folder.join("results.svg")).map_err(Failure::failed)
}

#[cfg(not(feature = "plots"))]
fn plot(_: &Path, _: &[Line]) -> Result<(), Failure> {
    Ok(())
}
