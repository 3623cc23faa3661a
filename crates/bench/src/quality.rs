//! How good are the models? Every objective × model × fold of real data sets, chosen on validation data only.
//!
//! ```text
//! quality FOLDER results.jsonl [--only TEXT] [--minutes 120] [--with SETTINGS]
//! quality --table results.jsonl table.csv
//! ```
//!
//! FOLDER holds `letor/mq2008`, `letor/ohsumed` … A line is written as each run ends, and the same command resumes where
//! the file ends. The table has for each data set, model and objective the mean over folds and seeds of NDCG@10 on
//! validation and test data (gain 2^y − 1, lists without relevant items excluded, ties averaged), and the p value of a
//! paired randomisation test against the one chosen: the best on validation data among those with most seeds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use toprank::core::Policy;
use toprank::data::{Dataset, ReadOptions, Source, formats, split};
use toprank::metrics::{Measure, evaluate};
use toprank::objectives::OBJECTIVES;
use toprank::train::{Job, Settings, TrainerKind};

use crate::common::resumable::{self, Run as _};
use crate::common::{Outcome, WrongUse, option, p_value, settings_toml};

/// One training run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Run {
    set: &'static str,
    model: String,
    objective: String,
    more: String,
    seed: u64,
    fold: usize,
}

impl resumable::Run for Run {
    fn name(&self) -> String {
        format!("{} {} {} {} {} {}", self.set, self.model, self.objective, self.more, self.seed, self.fold)
    }
}

/// Parts of a data set; fold k trains on three, validates on one and tests on one, counted round.
struct Set {
    name: &'static str,
    parts: [&'static str; 5],
    /// Offsets from k of the parts that train, validate and test.
    train: [usize; 3],
    valid: usize,
    test: usize,
}

const SETS: &[Set] = &[
    Set { name: "mq2008", parts: ["S1", "S2", "S3", "S4", "S5"], train: [0, 1, 2], valid: 3, test: 4 },
    // Fold k tests on part k and validates on the part before it.
    Set {
        name: "ohsumed",
        parts: ["fold1.test", "fold2.test", "fold3.test", "fold4.test", "fold5.test"],
        train: [1, 2, 3],
        valid: 4,
        test: 0,
    },
    Set { name: "mq2007-agg", parts: ["A1", "A2", "A3", "A4", "A5"], train: [0, 1, 2], valid: 3, test: 4 },
];

/// First rows of one fold of MSLR-WEB10K: a training and a test part. Each seed keeps other lists for validation.
const SAMPLE: &str = "mslr-sample";

/// The objectives that the paper and its readers ask about, whatever validation says.
const ALWAYS: [&str; 5] = ["song", "song-v1", "listnet", "ndcg-loss2pp", "song-minibatch"];

/// Its 32 samples take minutes a run: here it has two.
const STOCHASTIC: &str = "neural-ndcg-stochastic";
const FEW_SAMPLES: &str = "neural-ndcg-stochastic:samples=2";

pub fn run(args: &[String]) -> Outcome {
    if let Some(results) = option(args, "--table") {
        let table = table(&resumable::read(results)?)?;
        std::fs::write(args.last().ok_or("a table to write")?, table)?;
        return Ok(());
    }
    let [folder, results, ..] = args else { return Err(WrongUse.into()) };
    let end = resumable::end(args, 120.0)?;
    for stage in [all_linear, more_seeds, networks_and_other_data] {
        let mut runs = stage(&resumable::read(results)?);
        runs.retain(|run| option(args, "--only").is_none_or(|only| run.name().contains(only)));
        if let Some(more) = option(args, "--with") {
            for run in &mut runs {
                run.more = more.to_string();
            }
        }
        resumable::go(runs, results, end, |run| train(run, Path::new(folder)))?;
    }
    Ok(())
}

/// The same model and objective on every fold of a set, once for each seed.
fn runs(set: &'static str, model: &str, objective: &str, seeds: std::ops::RangeInclusive<u64>) -> Vec<Run> {
    let folds = if set == SAMPLE { 1 } else { 5 };
    let each = seeds.flat_map(|seed| (0..folds).map(move |fold| (seed, fold)));
    each.map(|(seed, fold)| Run {
        set,
        model: model.into(),
        objective: objective.into(),
        more: String::new(),
        seed,
        fold,
    })
    .collect()
}

/// Every objective with a linear model on the two small sets.
fn all_linear(_: &[Value]) -> Vec<Run> {
    let named = |name: &'static str| if name == STOCHASTIC { FEW_SAMPLES } else { name };
    let of = |set| OBJECTIVES.iter().flat_map(move |line| runs(set, "linear", named(line.entry.name), 1..=1));
    of("mq2008").chain(of("ohsumed")).collect()
}

/// The objectives of a set by what the first seed of their linear models reached on validation data, best first.
fn by_validation(lines: &[Value], set: &str) -> Vec<String> {
    let first: Vec<Value> = lines.iter().filter(|line| line["seed"] == 1).cloned().collect();
    let means = means(&first);
    let mut order: Vec<(&String, f64)> = means
        .iter()
        .filter(|(key, mean)| key.0 == set && key.1 == "linear" && key.3.is_empty() && mean.runs == 5)
        .map(|(key, mean)| (&key.2, mean.valid))
        .collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    order.into_iter().map(|(name, _)| name.clone()).collect()
}

/// The best linear models again with four other seeds: the choice among them is closer than one seed tells.
fn more_seeds(lines: &[Value]) -> Vec<Run> {
    let of = |set| {
        let best = by_validation(lines, set).into_iter().take(14);
        best.flat_map(move |objective| runs(set, "linear", &objective, 2..=5))
    };
    of("mq2008").chain(of("ohsumed")).collect()
}

/// The eight best by validation and those of [`ALWAYS`] with a perceptron and three seeds, four of them in context, a few
/// on the set of rank aggregation and on the sample of MSLR.
fn networks_and_other_data(lines: &[Value]) -> Vec<Run> {
    let mut all = Vec::new();
    for set in ["mq2008", "ohsumed"] {
        let best = by_validation(lines, set);
        let chosen: BTreeSet<&str> = best.iter().take(8).map(String::as_str).chain(ALWAYS).collect();
        all.extend(chosen.iter().flat_map(|objective| runs(set, "mlp", objective, 1..=3)));
        let in_context: BTreeSet<&str> =
            best.iter().take(2).map(String::as_str).chain(["song", "listnet"]).collect();
        all.extend(in_context.iter().flat_map(|objective| runs(set, "context", objective, 1..=1)));
    }
    for objective in ["ndcg-loss2", "song", "song-v2", "listnet", "lambdarank"] {
        all.extend(runs("mq2007-agg", "linear", objective, 1..=1));
        all.extend(runs(SAMPLE, "linear", objective, 1..=5));
        all.extend(runs(SAMPLE, "mlp", objective, 1..=3));
    }
    all
}

/// Training, validation and test data of a run.
fn data(run: &Run, folder: &Path) -> Outcome<[Dataset; 3]> {
    if run.set == SAMPLE {
        let part = |name: &str| read(folder, SAMPLE, &[&format!("web10k.fold1.{name}.5k")]);
        let parts = split::plan(&part("train")?, &split::parse("lists:fractions=70/30")?, run.seed)?;
        let train = part("train")?;
        return Ok([parts[0].take(&train), parts[1].take(&train), part("test")?]);
    }
    let set = SETS.iter().find(|set| set.name == run.set).ok_or("a data set")?;
    let part = |offset: usize| set.parts[(run.fold + offset) % 5];
    let read = |parts: &[&str]| read(folder, set.name, parts);
    Ok([read(&set.train.map(part))?, read(&[part(set.valid)])?, read(&[part(set.test)])?])
}

fn train(run: &Run, folder: &Path) -> Outcome<(Value, String)> {
    let [training, valid, test] = data(run, folder)?;
    let base = Settings {
        objective: Some(run.objective.clone()),
        model: Some(run.model.clone()),
        valid_metric: Some("ndcg@10".into()),
        seed: Some(run.seed),
        ..Settings::default()
    };
    let started = Instant::now();
    let config = Settings::from_toml(&settings_toml(&run.more)?)?.over(base).resolve(TrainerKind::Rank)?;
    let job = Job::new(&config, training.into(), Some(valid.into()))?;
    let views = job.views()?;
    let mut trainer = job.trainer(&views)?;
    trainer.run(&mut (), None)?;
    let (best, epoch) = trainer.best().ok_or("a validated model")?;
    let model = job.model(&*trainer)?;
    let lists = test.lists.clone();
    let scores = model.score(test)?;
    let measures = Measure::parse_all("ndcg@10", &Policy::default())?;
    let result = evaluate(&lists, &scores, &measures)?.results.remove(0);
    let per_list: Vec<Option<f64>> = result.per_list.iter().map(|v| (!v.is_nan()).then_some(*v)).collect();
    let seconds = (started.elapsed().as_secs_f64() * 100.0).round() / 100.0;
    let line = json!({
        "set": run.set, "model": run.model, "objective": run.objective, "more": run.more, "seed": run.seed, "fold": run.fold,
        "valid": best, "epoch": epoch, "epochs": trainer.records().len(), "test": result.mean, "seconds": seconds,
        "per_list": per_list,
    });
    let test = result.mean.unwrap_or(0.0);
    Ok((line, format!("valid {best:.4} test {test:.4} {seconds:.1} s")))
}

fn read(folder: &Path, set: &str, parts: &[&str]) -> Outcome<Dataset> {
    let mut text = String::new();
    for part in parts {
        let path = folder.join("letor").join(set).join(format!("{part}.txt.gz"));
        Source::path(&path).open()?.read_to_string(&mut text)?;
    }
    Ok(formats::read(&Source::bytes("parts.txt", text.into_bytes()), &ReadOptions::default())?)
}

/// Means over folds and seeds.
struct Mean {
    valid: f64,
    test: f64,
    runs: usize,
    seconds: f64,
    /// Mean over seeds of every test list, fold after fold.
    per_list: Vec<f64>,
}

type Key = (String, String, String, String);

fn means(lines: &[Value]) -> BTreeMap<Key, Mean> {
    let mut groups: BTreeMap<Key, Vec<&Value>> = BTreeMap::new();
    for line in lines {
        let word = |key: &str| line[key].as_str().unwrap_or("").to_string();
        groups.entry((word("set"), word("model"), word("objective"), word("more"))).or_default().push(line);
    }
    let of = |group: Vec<&Value>| {
        let mean = |key: &str| {
            let by_fold: Vec<f64> = (0..5)
                .filter_map(|fold| {
                    let values: Vec<f64> =
                        group.iter().filter(|l| l["fold"] == fold).filter_map(|l| l[key].as_f64()).collect();
                    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
                })
                .collect();
            by_fold.iter().sum::<f64>() / by_fold.len() as f64
        };
        let mut per_list = Vec::new();
        for fold in 0..5 {
            let seeds: Vec<&Vec<Value>> =
                group.iter().filter(|l| l["fold"] == fold).filter_map(|l| l["per_list"].as_array()).collect();
            for q in 0..seeds.first().map_or(0, |values| values.len()) {
                let sum: f64 = seeds.iter().map(|values| values[q].as_f64().unwrap_or(f64::NAN)).sum();
                per_list.push(sum / seeds.len() as f64);
            }
        }
        Mean {
            valid: mean("valid"),
            test: mean("test"),
            seconds: mean("seconds"),
            runs: group.len(),
            per_list,
        }
    };
    groups.into_iter().map(|(key, group)| (key, of(group))).collect()
}

fn table(lines: &[Value]) -> Outcome<String> {
    let means = means(lines);
    let mut text = String::from(
        "set,model,objective,settings,runs,valid ndcg@10,test ndcg@10,p against chosen,mark,seconds\n",
    );
    let mut sets: Vec<(&String, &String)> = means.keys().map(|key| (&key.0, &key.1)).collect();
    sets.dedup();
    for (set, model) in sets {
        let mut rows: Vec<(&Key, &Mean)> =
            means.iter().filter(|(key, _)| key.0 == *set && key.1 == *model).collect();
        rows.sort_by(|a, b| b.1.valid.total_cmp(&a.1.valid));
        // Rows of as many seeds as any: one seed may be lucky.
        let most = rows.iter().map(|(_, mean)| mean.runs).max().unwrap_or(0);
        let Some((_, chosen)) = rows.iter().find(|(_, mean)| mean.runs == most).copied() else { continue };
        let best_test = rows.iter().map(|(_, mean)| mean.test).fold(f64::MIN, f64::max);
        for (key, mean) in &rows {
            let same = mean.per_list.len() == chosen.per_list.len() && !std::ptr::eq(*mean, chosen);
            let p = if same { p_value("randomisation", &chosen.per_list, &mean.per_list)? } else { None };
            let mark = match (std::ptr::eq(*mean, chosen), mean.test == best_test) {
                (true, true) => "chosen on validation; best on test",
                (true, false) => "chosen on validation",
                (false, true) => "best on test (not a choice)",
                (false, false) => "",
            };
            let p = p.map_or(String::new(), |p| format!("{p:.4}"));
            writeln!(
                text,
                "{set},{model},{},{},{},{:.4},{:.4},{p},{mark},{:.1}",
                key.2, key.3, mean.runs, mean.valid, mean.test, mean.seconds
            )?;
        }
    }
    Ok(text)
}
