//! The ablations of SONG's paper (bib key `qiu2024optimal`) in small on public learning-to-rank data, each one command of a few minutes.
//!
//! ```text
//! paper000 moving-average [FOLDER]    figure 6, left
//! paper000 warm-up        [FOLDER]    figure 6, right
//! paper000 full-lists     [FOLDER]    figure 7
//! paper000 gamma-beta     [FOLDER]    table 4, figure 16
//! paper000 faster         [FOLDER]    figure 3
//! ```
//!
//! A small network learns from MQ2008 (fold 1: 471 lists of 19 items on average, 4 of them relevant) and from a sample of
//! MSLR-WEB10K (43 lists of 116 items, 51 relevant). Unless it says "whole lists", every step sees of every list two
//! relevant and three other items (MQ2008), 16 and 16 (MSLR).
//!
//! Two numbers are followed: the objective itself, 1 − smooth NDCG of whole training lists, which says how well a method
//! optimises what it is meant to; and NDCG@5 on lists not trained on, which is what the paper shows. Every method has its rate
//! chosen among the same few, with seeds of its own: by the objective where all methods have the same one, by validation
//! where they have not (`faster`). Five other seeds are reported. Writes EXPERIMENT.csv (every point, means over seeds),
//! EXPERIMENT-summary.csv (the end of each run) and two plots per data set.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

use rayon::prelude::*;
use toprank::core::Policy;
use toprank::data::Dataset;
use toprank::data::formats::{self, ReadOptions};
use toprank::data::source::Source;
use toprank::data::transform::{Pipeline, StepConfig};
use toprank::metrics::{Measure, evaluate};
use toprank::objectives::{Batch, Goal, GoalError, Gradients};
use toprank::train::fit::engine::{Examples, score};
use toprank::train::{Callbacks, Progress, Settings, TrainError, Trainer, TrainerKind, TrainingLoop};
use toprank_plots::{Series, curves};

use crate::common::{Failure, Outcome, WrongUse, mean, mean_and_deviation, real_data};

const STEPS: u64 = 400;
/// Steps between two looks.
const LOOK: u64 = 10;
/// Looks at the end of a run whose mean is its result.
const END: usize = 5;
/// The first chooses the rate, the others are reported.
const SEEDS: [u64; 6] = [1, 2, 3, 4, 5, 6];
/// Chooses the rate too, so that none is taken that diverges now and then.
const SECOND_CHOICE: u64 = 7;

const WHOLE: &str = "lists:batch=all";

/// One line of a plot.
#[derive(Clone)]
struct Method {
    name: String,
    objective: String,
    optimiser: &'static str,
    whole_lists: bool,
    warm_up: u32,
    rates: &'static [f64],
}

const ADAM: &[f64] = &[0.0003, 0.001, 0.003, 0.01];
const DESCENT: &[f64] = &[0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0];

/// A sampled run with Adam.
fn sampled(name: &str, objective: &str) -> Method {
    Method {
        name: name.into(),
        objective: objective.into(),
        optimiser: "adam",
        whole_lists: false,
        warm_up: 0,
        rates: ADAM,
    }
}

fn methods(experiment: &str) -> Outcome<Vec<Method>> {
    let song = sampled("SONG, moving average 0.1", "song:gamma=0.1");
    Ok(match experiment {
        "moving-average" => vec![
            song,
            sampled("SONG, moving average 0.3", "song:gamma=0.3"),
            sampled("mini-batch (no tracker)", "song-minibatch"),
        ],
        "warm-up" => vec![
            Method { name: "SONG after a warm-up".into(), warm_up: STEPS as u32 / 4, ..song.clone() },
            Method { name: "SONG from the start".into(), ..song },
        ],
        "full-lists" => vec![
            Method { whole_lists: true, ..sampled("whole lists", "song:gamma=1") },
            song,
            sampled("mini-batch (no tracker)", "song-minibatch"),
        ],
        "gamma-beta" => {
            let mut all: Vec<Method> = [0.05, 0.1, 0.3, 0.5, 0.7, 1.0]
                .iter()
                .map(|gamma| sampled(&format!("SONG γ {gamma}"), &format!("song:gamma={gamma}")))
                .collect();
            for beta in [0.001, 0.01, 0.1, 0.5, 0.9] {
                let objective = format!("song-v1:gamma=0.1:beta={beta}");
                all.push(sampled(&format!("Faster v1 γ 0.1 β {beta}"), &objective));
            }
            for beta in [0.001, 0.01, 0.1, 0.5, 0.9] {
                let objective = format!("song-v2:gamma=0.1:beta={beta}");
                all.push(sampled(&format!("Faster v2 γ 0.1 β {beta}"), &objective));
            }
            all
        }
        "faster" => {
            let descent = |name: &str, objective: &str, optimiser| Method {
                optimiser,
                rates: DESCENT,
                ..sampled(name, objective)
            };
            // The paper's β, and γ of STORM over its whole range: both are tried alike for v1 and v2.
            vec![
                descent("SONG", "song:gamma=0.1", "momentum"),
                descent("Faster SONG v1, STORM 0.1", "song-v1:gamma=0.1:beta=0.005", "storm:gamma=0.1"),
                descent("Faster SONG v1, STORM 0.5", "song-v1:gamma=0.1:beta=0.005", "storm:gamma=0.5"),
                descent("Faster SONG v1, STORM 0.9", "song-v1:gamma=0.1:beta=0.005", "storm:gamma=0.9"),
                descent("Faster SONG v2, STORM 0.1", "song-v2:gamma=0.1:beta=0.005", "storm:gamma=0.1"),
                descent("Faster SONG v2, STORM 0.5", "song-v2:gamma=0.1:beta=0.005", "storm:gamma=0.5"),
                descent("Faster SONG v2, STORM 0.9", "song-v2:gamma=0.1:beta=0.005", "storm:gamma=0.9"),
                descent("mini-batch", "song-minibatch", "momentum"),
                descent("ListNet", "listnet", "momentum"),
                descent("ApproxNDCG", "approx-ndcg", "momentum"),
                descent("LambdaRank", "lambdarank", "momentum"),
            ]
        }
        other => {
            let known = "moving-average, warm-up, full-lists, gamma-beta or faster";
            return Err(format!("{other} is not an experiment; expected {known}").into());
        }
    })
}

pub fn run(args: &[String]) -> Outcome {
    let [experiment, folder @ ..] = args else { return Err(WrongUse.into()) };
    let folder = Path::new(folder.first().map_or("bench/paper000", String::as_str));
    let methods = methods(experiment)?;
    let mut points = String::from("data,method,step,train_loss,train_loss_sd,valid_ndcg5,valid_ndcg5_sd\n");
    let mut summary = String::from(
        "data,method,objective,optimiser,sampler,warm_up,rate,train_loss,train_loss_sd,valid_ndcg5,valid_ndcg5_sd\n",
    );
    std::fs::create_dir_all(folder)?;
    let by_validation = experiment == "faster";
    for place in &DATA {
        let data = Data::read(place)?;
        let data_name = place.name;
        let (mut losses, mut scores) = (Vec::new(), Vec::new());
        for method in &methods {
            let rate = best_rate(method, &data, by_validation)?;
            let runs: Vec<Vec<Look>> = SEEDS[1..]
                .par_iter()
                .map(|seed| follow(method, &data, rate, *seed))
                .collect::<Result<_, _>>()?;
            let Method { name, objective, optimiser, warm_up, .. } = method;
            let sampler = data.sampler(method);
            for i in 0..runs[0].len() {
                let at = |of: fn(&Look) -> f64| {
                    mean_and_deviation(&runs.iter().map(|looks| of(&looks[i])).collect::<Vec<_>>())
                };
                let ((loss, loss_sd), (ndcg, ndcg_sd)) = (at(|look| look.loss), at(|look| look.ndcg));
                let step = runs[0][i].step;
                writeln!(
                    points,
                    "{data_name},\"{name}\",{step},{loss:.4},{loss_sd:.4},{ndcg:.4},{ndcg_sd:.4}"
                )?;
            }
            let (loss, loss_sd) = mean_and_deviation(&ends(&runs, |look| look.loss));
            let (ndcg, ndcg_sd) = mean_and_deviation(&ends(&runs, |look| look.ndcg));
            let line = format!(
                "{data_name},\"{name}\",{objective},{optimiser},{sampler},{warm_up},{rate},{loss:.4},{loss_sd:.4},{ndcg:.4},{ndcg_sd:.4}"
            );
            println!("{line}");
            writeln!(summary, "{line}")?;
            losses.push(mean_curve(name, &runs, |look| look.loss));
            scores.push(mean_curve(name, &runs, |look| look.ndcg));
        }
        let title = |what: &str| format!("{data_name}: {what} (mean of {} seeds)", SEEDS.len() - 1);
        let file = |what: &str| folder.join(format!("{experiment}-{data_name}-{what}.svg"));
        curves(&title("1 − smooth NDCG of whole training lists"), "step", "loss", &losses)
            .save(&file("loss"))?;
        curves(&title("NDCG@5 on validation"), "step", "NDCG@5", &scores).save(&file("ndcg5"))?;
    }
    std::fs::write(folder.join(format!("{experiment}.csv")), points)?;
    std::fs::write(folder.join(format!("{experiment}-summary.csv")), summary)?;
    Ok(())
}

/// The rate with the best end, by seeds that are not reported.
fn best_rate(method: &Method, data: &Data, by_validation: bool) -> Outcome<f64> {
    let worth = |look: &Look| if by_validation { look.ndcg } else { -look.loss };
    let ends: Vec<(f64, f64)> = method
        .rates
        .par_iter()
        .map(|&rate| {
            let runs = [follow(method, data, rate, SEEDS[0])?, follow(method, data, rate, SECOND_CHOICE)?];
            Ok((mean(&ends(&runs, worth)), rate))
        })
        .collect::<Result<_, Failure>>()?;
    let best = ends.into_iter().filter(|end| end.0.is_finite()).max_by(|a, b| a.0.total_cmp(&b.0));
    Ok(best.ok_or_else(|| format!("{} diverges at every rate", method.name))?.1)
}

/// What a run looks like at one moment.
#[derive(Clone, Copy)]
struct Look {
    step: u64,
    /// 1 − smooth NDCG of whole training lists.
    loss: f64,
    /// NDCG@5 on validation.
    ndcg: f64,
}

/// Stops after every [`LOOK`] steps.
struct Pause(u64);

impl Callbacks for Pause {
    fn step(&mut self, progress: &Progress) {
        self.0 = progress.step;
    }

    fn stop(&mut self) -> bool {
        self.0.is_multiple_of(LOOK)
    }
}

/// Trains and looks at the model after every [`LOOK`] steps.
fn follow(method: &Method, data: &Data, rate: f64, seed: u64) -> Outcome<Vec<Look>> {
    let text = |text: &str| Some(text.to_string());
    let config = Settings {
        objective: text(&method.objective),
        model: text("mlp:hidden=64"),
        optimiser: text(method.optimiser),
        sampler: text(data.sampler(method)),
        learning_rate: Some(rate),
        // Every list is in every step: an epoch is a step.
        epochs: Some(STEPS as u32 - method.warm_up),
        warm_up: Some(method.warm_up),
        clip: Some(0.0),
        patience: Some(0),
        valid_metric: text("ndcg@5"),
        seed: Some(seed),
        ..Settings::default()
    }
    .resolve(TrainerKind::Rank)?;
    let network = toprank::neural::parse(config.model())?.build(data.train.features.width(), 1)?;
    let train = Examples { lists: &data.train.lists, features: &data.train };
    let valid = Examples { lists: &data.valid.lists, features: &data.valid };
    let mut trainer = Trainer::new(&config, network, train, None)?;
    let exact = Goal::parse("song:gamma=1", &Policy::default())?;
    let measures = Measure::parse_all("ndcg@5", &Policy::default())?;
    let mut out = Gradients::default();
    let mut looks = Vec::new();
    loop {
        let parameters = trainer.parameters();
        let scores = score(trainer.model(), &parameters, train)?;
        if scores.iter().any(|score| !score.is_finite()) {
            return Ok(diverged(looks));
        }
        let batch = Batch::all(train.lists, &scores);
        match exact.step(&batch, &mut exact.state(train.lists)?, &mut out) {
            Err(GoalError::NotFinite { .. }) => return Ok(diverged(looks)),
            done => done?,
        }
        let scores = score(trainer.model(), &parameters, valid)?;
        let ndcg = evaluate(valid.lists, &scores, &measures)?.results[0].mean.unwrap_or(f64::NAN);
        looks.push(Look { step: trainer.steps_done(), loss: out.loss, ndcg });
        if trainer.finished() {
            return Ok(looks);
        }
        match trainer.run(&mut Pause(0), None) {
            Ok(_) => {}
            Err(TrainError::NotFinite { .. }) => return Ok(diverged(looks)),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The learning rate is too high: the rest of the run is NaN, and such a rate is never chosen.
fn diverged(mut looks: Vec<Look>) -> Vec<Look> {
    let rest = (looks.len() as u64..=STEPS / LOOK).map(|i| i * LOOK);
    looks.extend(rest.map(|step| Look { step, loss: f64::NAN, ndcg: f64::NAN }));
    looks
}

/// Where a data set lies, and how its lists are sampled.
struct Place {
    name: &'static str,
    train: &'static [&'static str],
    valid: &'static str,
    sampler: &'static str,
}

const DATA: [Place; 2] = [
    Place {
        name: "mq2008",
        train: &["letor/mq2008/S1.txt.gz", "letor/mq2008/S2.txt.gz", "letor/mq2008/S3.txt.gz"],
        valid: "letor/mq2008/S4.txt.gz",
        sampler: "strata:batch=all:relevant=2:others=3",
    },
    Place {
        name: "mslr",
        train: &["letor/mslr-sample/web10k.fold1.train.5k.txt.gz"],
        valid: "letor/mslr-sample/web10k.fold1.test.5k.txt.gz",
        sampler: "strata:batch=all:relevant=16:others=16",
    },
];

struct Data {
    train: Dataset,
    valid: Dataset,
    sampler: &'static str,
}

impl Data {
    fn read(place: &Place) -> Outcome<Data> {
        let read = |files: &[&str]| -> Outcome<Dataset> {
            let mut text = Vec::new();
            for file in files {
                Source::path(real_data(file)?).open()?.read_to_end(&mut text)?;
            }
            Ok(formats::read(&Source::bytes("lists.txt", text), &ReadOptions::default())?)
        };
        let (mut train, mut valid) = (read(place.train)?, read(&[place.valid])?);
        let steps = StepConfig::parse_all("log1p,standardise")?;
        Pipeline::fit_apply(&mut train, &steps)?.apply(&mut valid)?;
        Ok(Data { train, valid, sampler: place.sampler })
    }

    fn sampler(&self, method: &Method) -> &'static str {
        if method.whole_lists { WHOLE } else { self.sampler }
    }
}

/// Mean over the last looks of each run.
fn ends(runs: &[Vec<Look>], of: impl Fn(&Look) -> f64) -> Vec<f64> {
    runs.iter().map(|looks| mean(&looks[looks.len() - END..].iter().map(&of).collect::<Vec<_>>())).collect()
}

fn mean_curve(name: &str, runs: &[Vec<Look>], of: impl Fn(&Look) -> f64) -> Series {
    let at = |i: usize| mean(&runs.iter().map(|looks| of(&looks[i])).collect::<Vec<_>>());
    Series {
        name: name.into(),
        points: (0..runs[0].len()).map(|i| (runs[0][i].step as f64, at(i))).collect(),
    }
}
