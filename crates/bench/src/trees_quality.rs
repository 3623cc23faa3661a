//! Five folds of MQ2008 and OHSUMED by trees under several settings: one line of JSON per fold and setting.
//!
//! ```sh
//! trees-quality DATA > quality.jsonl
//! trees-quality DATA 'objective = "song"' 'objective = "ndcg@10"; leaves = 7; learning-rate = 0.05'
//! ```
//!
//! DATA is a folder with `letor/mq2008/S1.txt.gz` … and `letor/ohsumed/fold1.test.txt.gz` …. Parts i, i + 1 and i + 2 are for
//! training, i + 3 for early stopping and for the choice among settings, i + 4 for the test. A setting is lines of a config
//! file, joined by `;`; what it does not say is the default. `bench/trees/quality_vs_peers.py` runs this and the peers.

use std::path::Path;

use rayon::prelude::*;
use serde_json::json;
use toprank::core::{Lists, Policy};
use toprank::data::{Dataset, ReadOptions, Source};
use toprank::metrics::{Measure, evaluate};
use toprank::train::{Job, Settings, TrainerKind};

use crate::common::{Failure, Outcome, WrongUse};

/// Every objective that ranks lists, as it is by default.
const OBJECTIVES: &[&str] = &[
    "ndcg@10",
    "lambdarank@10",
    "lambdarank@30:norm=lightgbm",
    "lambdarank",
    "lambda-map",
    "lambda-err",
    "xe-ndcg",
    "yetirank",
    "listnet",
    "listwise-ce",
    "ranknet",
    "ndcg-loss2",
    "ndcg-loss2pp",
    "song",
    "song:gamma=1",
    "approx-ndcg",
    "smoothi",
    "ap",
    "auroc",
    "squared",
];

pub fn run(args: &[String]) -> Outcome {
    let [folder, settings @ ..] = args else { return Err(WrongUse.into()) };
    let folder = Path::new(folder);
    let mut settings = settings.to_vec();
    if settings.is_empty() {
        settings = OBJECTIVES.iter().map(|objective| format!("objective = \"{objective}\"")).collect();
    }
    let sets = [
        ("mq2008", (1..=5).map(|i| format!("letor/mq2008/S{i}.txt.gz")).collect::<Vec<_>>()),
        ("ohsumed", (1..=5).map(|i| format!("letor/ohsumed/fold{i}.test.txt.gz")).collect()),
    ];
    for (name, files) in sets {
        let parts: Vec<Dataset> = files
            .iter()
            .map(|file| toprank::data::read(&Source::path(folder.join(file)), &ReadOptions::default()))
            .collect::<Result<_, _>>()?;
        let runs: Vec<(&str, usize)> =
            settings.iter().flat_map(|setting| (0..5).map(move |fold| (setting.as_str(), fold))).collect();
        runs.par_iter().try_for_each(|&(setting, fold)| {
            println!("{}", train(name, &parts, setting, fold)?);
            Ok::<(), Failure>(())
        })?;
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

fn train(set: &str, parts: &[Dataset], setting: &str, fold: usize) -> Outcome<serde_json::Value> {
    let part = |i: usize| &parts[(fold + i) % 5];
    let train = join(&[part(0), part(1), part(2)]);
    let (valid, test) = (part(3).clone(), part(4).clone());
    let mut settings = Settings::from_toml(&setting.replace(';', "\n"))?;
    settings.model.get_or_insert_with(|| "trees".into());
    settings.valid_metric.get_or_insert_with(|| "ndcg@10".into());
    let config = settings.resolve(TrainerKind::Rank)?.suited_to(&train.lists)?;
    let job = Job::new(&config, train.into(), Some(valid.into()))?;
    let views = job.views()?;
    let mut boost = job.trainer(&views)?;
    boost.run(&mut (), None)?;
    let (value, round) = boost.best().ok_or("a validated model")?;
    let measures = Measure::parse_all("ndcg@10", &Policy::default())?;
    let scores = job.model(&*boost)?.score(test.clone())?;
    let result = evaluate(&test.lists, &scores, &measures)?.results.swap_remove(0);
    let per_list: Vec<Option<f64>> = result.per_list.iter().map(|v| (!v.is_nan()).then_some(*v)).collect();
    Ok(json!({
        "set": set, "tool": "toprank", "setting": setting, "fold": fold + 1, "rounds": round, "valid": value,
        "test": result.mean, "per_list": per_list,
    }))
}
