//! Five folds of MQ2008 and OHSUMED under several objectives: one line of JSON per fold and setting.
//!
//! ```sh
//! cargo run --release -p toprank-trees --example trees_quality -- DATA > quality.jsonl
//! ```
//!
//! DATA is a folder with `letor/mq2008/S1.txt.gz` … and `letor/ohsumed/fold1.test.txt.gz` …. Part i, i + 1 and i + 2 are for
//! training, i + 3 for early stopping and for the choice among settings, i + 4 for the test. `bench/trees/quality_vs_peers.py`
//! runs this and the peers.

use std::path::Path;

use rayon::prelude::*;
use toprank_core::{Lists, Policy, Stream};
use toprank_data::{Dataset, ReadOptions, Source};
use toprank_metrics::{Measure, evaluate};
use toprank_objectives::{Batch, Goal, Gradients, Reduction};
use toprank_trees::{BinSettings, Bins, Booster, Boosting, Ensemble, Growth, Sampling};

type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const OBJECTIVES: &[&str] = &[
    "lambdarank@30:norm=lightgbm",
    "lambdarank@10:norm=lightgbm",
    "xe-ndcg",
    "yetirank",
    "listnet",
    "ndcg-loss2pp",
    "song:gamma=1",
    "approx-ndcg",
];
const LEAVES: &[usize] = &[7, 31];
const ROUNDS: usize = 500;
const PATIENCE: usize = 100;

fn main() -> Fallible<()> {
    let folder = std::env::args().nth(1).ok_or("expected the folder of the data")?;
    let folder = Path::new(&folder);
    let sets = [
        ("mq2008", (1..=5).map(|i| format!("letor/mq2008/S{i}.txt.gz")).collect::<Vec<_>>()),
        ("ohsumed", (1..=5).map(|i| format!("letor/ohsumed/fold{i}.test.txt.gz")).collect()),
    ];
    for (name, files) in sets {
        let parts: Vec<Dataset> = files
            .iter()
            .map(|file| toprank_data::read(&Source::path(folder.join(file)), &ReadOptions::default()))
            .collect::<Result<_, _>>()?;
        let mut runs = Vec::new();
        for objective in OBJECTIVES {
            for &leaves in LEAVES {
                runs.extend((0..5).map(|fold| (*objective, leaves, fold)));
            }
        }
        let lines: Vec<String> = runs
            .par_iter()
            .map(|&(objective, leaves, fold)| run(name, &parts, objective, leaves, fold))
            .collect::<Fallible<_>>()?;
        lines.iter().for_each(|line| println!("{line}"));
    }
    Ok(())
}

/// Three parts behind each other.
fn join(parts: &[&Dataset]) -> Dataset {
    let mut joined = Dataset { features: parts[0].features.without_rows(), ..Dataset::default() };
    let mut lengths = Vec::new();
    let mut labels = Vec::new();
    for part in parts {
        joined.features.append(&part.features);
        lengths.extend(part.lists.offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize));
        labels.extend_from_slice(&part.lists.labels);
    }
    joined.lists = Lists::from_lengths(&lengths, labels);
    joined
}

fn run(set: &str, parts: &[Dataset], objective: &str, leaves: usize, fold: usize) -> Fallible<String> {
    let part = |i: usize| &parts[(fold + i) % 5];
    let train = join(&[part(0), part(1), part(2)]);
    let (valid, test) = (part(3), part(4));
    let goal = Goal::parse(objective, &Policy::default())?;
    let (model, value) = boost(&goal, &train, valid, leaves)?;
    let measures = Measure::parse_all("ndcg@10", &Policy::default())?;
    let result = evaluate(&test.lists, &model.score(test)?, &measures)?.results.swap_remove(0);
    let per_list: Vec<String> =
        result.per_list.iter().map(|v| if v.is_nan() { "null".into() } else { format!("{v:.6}") }).collect();
    Ok(format!(
        "{{\"set\":\"{set}\",\"tool\":\"toprank\",\"setting\":\"{objective}, {leaves} leaves\",\"fold\":{},\"rounds\":{},\
         \"valid\":{value:.6},\"test\":{:.6},\"per_list\":[{}]}}",
        fold + 1,
        model.rounds(),
        result.mean.unwrap_or(f64::NAN),
        per_list.join(",")
    ))
}

/// The trees up to the best round on `valid`, and its value.
fn boost(goal: &Goal, train: &Dataset, valid: &Dataset, leaves: usize) -> Fallible<(Ensemble, f64)> {
    let bins = Bins::fit(train, &[], &BinSettings::default())?;
    let (data, judged) = (bins.apply(train)?, bins.apply(valid)?);
    let growth = Growth { leaves, features: 0.5, ..Growth::default() };
    let sampling = Sampling::Lists { share: 0.7 };
    let boosting = Boosting { rate: 0.05, growth, sampling, ..Boosting::default() };
    let mut booster = Booster::new(&data, &train.lists.offsets, 1, boosting)?;
    let mut state = goal.state(&train.lists)?;
    let mut out = Gradients { want_curvature: true, ..Gradients::default() };
    let measures = Measure::parse_all("ndcg@10", &Policy::default())?;
    let mut scores = vec![0.0; judged.rows()];
    let mut best = (0, f64::NEG_INFINITY);
    for round in 1..=ROUNDS {
        let batch = Batch {
            reduction: Reduction::Sum,
            stream: Stream::new(1, "objective").at_step(round as u64),
            ..Batch::all(&train.lists, booster.scores())
        };
        goal.step(&batch, &mut state, &mut out)?;
        booster.round(&out.gradient, &out.curvature)?;
        booster.add_last_round(&judged, &mut scores);
        let value = evaluate(&valid.lists, &scores, &measures)?.results[0].mean.unwrap_or(f64::NAN);
        if value > best.1 {
            best = (round, value);
        }
        if round - best.0 >= PATIENCE {
            break;
        }
    }
    let mut model = booster.into_ensemble();
    model.truncate(best.0);
    Ok((model, best.1))
}
