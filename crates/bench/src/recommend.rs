//! How good are the recommenders? Objectives × models on MovieLens, chosen on validation data only, full rankings.
//!
//! ```text
//! recommend FOLDER results.jsonl [--only TEXT] [--minutes 120] [--seeds 3] [--with SETTINGS]
//! recommend --table results.jsonl bench/recommend
//! ```
//!
//! FOLDER holds `recsys/ml-100k` and `recsys/ml-1m-implicit`. A line is written as each run ends, and the same command resumes
//! where the file ends: first all objectives × models with the default settings (`table.csv`), then what γ, β, K and samples do
//! (`study.csv`). `--with SETTINGS`, key=value separated by blanks, makes the runs of the first part with these settings instead
//! and leaves the study out, for a choice of settings on validation.
//!
//! Sets: `ml-100k` leaves each user's last item out by time, equal times in file order; `ml-100k-ties` is the same with equal
//! times in the order of item numbers (many items of a user share a second, and the last of them by number are little known:
//! the harder set); `ml-1m` has its own three parts, and its validation items are candidates of the test.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use toprank::core::Policy;
use toprank::data::{Dataset, ReadOptions, Source, formats};
use toprank::metrics::Measure;
use toprank::train::recommend::{Interactions, Part, Trainer};
use toprank::train::{Settings, TrainerKind, TrainingLoop};

use crate::common::resumable::{self, Run as _};
use crate::common::{Outcome, WrongUse, mean, number, option, p_value, settings_toml};

const SETS: [&str; 3] = ["ml-100k", "ml-100k-ties", "ml-1m"];
const MODELS: [&str; 2] = ["mf", "neumf"];
/// Listwise cross-entropy is what `--objective ndcg@20` trains with; K-SONG's K is the best of the study on validation.
const OBJECTIVES: [&str; 7] =
    ["listwise-ce", "song", "song-v1", "k-song@300", "listnet", "bpr", "lambdarank"];
/// What the study is about: its set and model, objective and settings; the rest are the defaults.
const STUDIED: (&str, &str) = ("ml-100k-ties", "mf");
const STUDY: [(&str, &str); 24] = [
    ("song:gamma=0.3", ""),
    ("song:gamma=0.5", ""),
    ("song:gamma=0.9", ""),
    ("song:gamma=1", ""),
    ("song", ITEMS_50),
    ("song", ITEMS_100),
    ("song", ITEMS_ALL),
    ("song:gamma=1", ITEMS_ALL),
    ("listwise-ce:gamma=0.3", ""),
    ("listwise-ce:gamma=1", ""),
    ("listwise-ce", ITEMS_ALL),
    ("listwise-ce:gamma=1", ITEMS_ALL),
    ("song-v1:beta=0.1", ""),
    ("song-v1:beta=0.5", ""),
    ("song-v1:beta=0.9", ""),
    ("k-song-v2@300", ""),
    ("k-song-v2@300:gamma=0.1", ""),
    ("k-song-v2@300:gamma=0.5", ""),
    ("k-song-v2@300:beta=0.1", ""),
    ("k-song-v2@300:beta=0.5", ""),
    ("k-song-v2@300:beta=0.9", ""),
    ("k-song@10", ""),
    ("k-song@50", ""),
    ("k-song@100", ""),
];
const ITEMS_50: &str = "sampler=pairs:batch=4096:group=20:items=50";
const ITEMS_100: &str = "sampler=pairs:batch=4096:group=20:items=100";
const ITEMS_ALL: &str = "sampler=pairs:batch=4096:group=20:items=all";
const METRICS: &str = "ndcg@10,ndcg@20,recall@20";

#[derive(Clone, Debug)]
struct Run {
    set: &'static str,
    model: &'static str,
    objective: String,
    more: String,
    seed: u64,
}

impl resumable::Run for Run {
    fn name(&self) -> String {
        format!("{} {} {} {} {}", self.set, self.model, self.objective, self.more, self.seed)
    }
}

pub fn run(args: &[String]) -> Outcome {
    if let Some(results) = option(args, "--table") {
        let folder = Path::new(args.last().ok_or("a folder to write to")?);
        let lines = resumable::read(results)?;
        let is_default = |line: &&Value| {
            line["more"] == "" && OBJECTIVES.iter().any(|objective| line["objective"] == *objective)
        };
        // The study has the defaults beside what differs from them.
        let studied = |line: &&Value| {
            line["set"] == STUDIED.0
                && line["model"] == STUDIED.1
                && ["song", "song-v1", "k-song", "listwise-ce"]
                    .iter()
                    .any(|family| line["objective"].as_str().is_some_and(|name| name.starts_with(family)))
        };
        std::fs::write(folder.join("table.csv"), table(lines.iter().filter(is_default))?)?;
        std::fs::write(folder.join("study.csv"), table(lines.iter().filter(studied))?)?;
        return Ok(());
    }
    let [folder, results, ..] = args else { return Err(WrongUse.into()) };
    let seeds: u64 = number(args, "--seeds", 3)?;
    let end = resumable::end(args, 120.0)?;
    let more = option(args, "--with").unwrap_or_default();
    let mut runs = Vec::new();
    for seed in 1..=seeds {
        for model in MODELS {
            for set in SETS {
                for objective in OBJECTIVES {
                    let (objective, more) = (objective.to_string(), more.to_string());
                    runs.push(Run { set, model, objective, more, seed });
                }
            }
        }
    }
    if more.is_empty() {
        for seed in 1..=seeds {
            runs.extend(STUDY.map(|(objective, settings)| {
                let ((set, model), objective, more) = (STUDIED, objective.to_string(), settings.to_string());
                Run { set, model, objective, more, seed }
            }));
        }
    }
    runs.retain(|run| option(args, "--only").is_none_or(|only| run.name().contains(only)));
    resumable::go(runs, results, end, |run| train(run, Path::new(folder)))
}

/// Pairs as they stand in the files.
fn data(set: &str, folder: &Path) -> Outcome<Interactions> {
    let folder = folder.join("recsys");
    let read = |file: &str, format: &str| -> Outcome<Dataset> {
        let options = ReadOptions { format: Some(format.into()), ..ReadOptions::default() };
        Ok(formats::read(&Source::path(folder.join(file)), &options)?)
    };
    if set == "ml-1m" {
        let part = |name: &str| read(&format!("ml-1m-implicit/{name}.txt.gz"), "adjacency");
        return Ok(Interactions::given(&part("train")?, Some(&part("valid")?), Some(&part("test")?))?);
    }
    let mut data = read("ml-100k/u.data.gz", "interactions")?;
    if set == "ml-100k-ties" {
        let mut lines = Vec::new();
        for q in 0..data.lists.len() {
            for entry in data.lists.range(q) {
                let item: u32 = data.item_name(data.lists.row(entry)).parse()?;
                let time = data.times.as_ref().map_or(0.0, |times| times[entry]);
                lines.push((data.list_name(q), time as u64, item, data.lists.labels[entry]));
            }
        }
        lines.sort_by_key(|line| (line.1, line.2));
        let text: String = lines.iter().map(|(u, t, i, y)| format!("{u}\t{i}\t{y}\t{t}\n")).collect();
        let options = ReadOptions { format: Some("interactions".into()), ..ReadOptions::default() };
        data = formats::read(&Source::bytes("u.data", text.into_bytes()), &options)?;
    }
    Ok(Interactions::split(&data, "leave-last", 1)?)
}

fn train(run: &Run, folder: &Path) -> Outcome<(Value, String)> {
    let data = data(run.set, folder)?;
    let base = Settings {
        objective: Some(run.objective.clone()),
        model: Some(run.model.into()),
        valid_metric: Some(if run.set == "ml-1m" { "ndcg@20" } else { "ndcg@10" }.into()),
        seed: Some(run.seed),
        ..Settings::default()
    };
    let config =
        Settings::from_toml(&settings_toml(&run.more)?)?.over(base).resolve(TrainerKind::Recommend)?;
    let started = Instant::now();
    let mut trainer = Trainer::new(&config, &data)?;
    trainer.run(&mut (), None)?;
    let seconds = (started.elapsed().as_secs_f64() * 10.0).round() / 10.0;
    let (valid, epoch) = trainer.best().ok_or("a validated model")?;
    let recommender = trainer.recommender()?;
    let measures = Measure::parse_all(METRICS, &Policy::default())?;
    let evaluated = recommender.evaluate(Part::Test, &measures, run.set == "ml-1m", None, 10)?;
    let results = &evaluated.evaluation.results;
    let means: Vec<f64> = results.iter().map(|result| result.mean.unwrap_or(0.0)).collect();
    let main = usize::from(run.set == "ml-1m");
    let line = json!({
        "set": run.set, "model": run.model, "objective": run.objective, "algorithm": config.algorithm(), "more": run.more,
        "seed": run.seed, "valid": valid, "epoch": epoch, "epochs": trainer.records().len(), "seconds": seconds,
        "ndcg@10": means[0], "ndcg@20": means[1], "recall@20": means[2], "coverage": evaluated.beyond.coverage,
        "lift": evaluated.beyond.popularity_lift, "per_user": results[main].per_list,
    });
    let says = format!(
        "valid {valid:.4} in epoch {epoch}, test {:.4} {:.4} {:.4}, {seconds} s",
        means[0], means[1], means[2]
    );
    Ok((line, says))
}

const COLUMNS: [&str; 8] =
    ["valid", "ndcg@10", "ndcg@20", "recall@20", "coverage", "lift", "epoch", "seconds"];

fn table<'a>(lines: impl Iterator<Item = &'a Value>) -> Outcome<String> {
    let mut groups: BTreeMap<[String; 4], Vec<&Value>> = BTreeMap::new();
    for line in lines {
        let key =
            ["set", "model", "objective", "more"].map(|key| line[key].as_str().unwrap_or("").to_string());
        groups.entry(key).or_default().push(line);
    }
    let mean_of = |group: &[&Value], key: &str| {
        mean(&group.iter().map(|line| line[key].as_f64().unwrap_or(f64::NAN)).collect::<Vec<_>>())
    };
    let per_user = |group: &[&Value]| -> Vec<f64> {
        let seeds: Vec<&Vec<Value>> = group.iter().filter_map(|line| line["per_user"].as_array()).collect();
        let users = seeds.first().map_or(0, |values| values.len());
        let value = |u: usize| seeds.iter().map(|values| values[u].as_f64().unwrap_or(f64::NAN)).sum::<f64>();
        (0..users).map(|u| value(u) / seeds.len() as f64).collect()
    };
    let mut text =
        format!("set,model,objective,settings,seeds,{},p against chosen,mark\n", COLUMNS.join(","));
    let mut sets: Vec<[&String; 2]> = groups.keys().map(|key| [&key[0], &key[1]]).collect();
    sets.dedup();
    for [set, model] in sets {
        let mut rows: Vec<(&[String; 4], &Vec<&Value>)> =
            groups.iter().filter(|(key, _)| key[0] == *set && key[1] == *model).collect();
        rows.sort_by(|a, b| mean_of(b.1, "valid").total_cmp(&mean_of(a.1, "valid")));
        // Rows of as many seeds as any: one seed may be lucky.
        let most = rows.iter().map(|(_, group)| group.len()).max().unwrap_or(0);
        let Some(chosen) = rows.iter().position(|(_, group)| group.len() == most) else { continue };
        let of_chosen = per_user(rows[chosen].1);
        for (place, (key, group)) in rows.iter().enumerate() {
            let here = per_user(group);
            let other = place != chosen && here.len() == of_chosen.len();
            let p = if other { p_value("randomisation", &of_chosen, &here)? } else { None };
            let p = p.map_or(String::new(), |p| format!("{p:.4}"));
            let mark = if place == chosen { "chosen on validation" } else { "" };
            let values: Vec<String> =
                COLUMNS.iter().map(|column| format!("{:.4}", mean_of(group, column))).collect();
            writeln!(
                text,
                "{set},{model},{},{},{},{},{p},{mark}",
                key[2],
                key[3],
                group.len(),
                values.join(",")
            )?;
        }
    }
    Ok(text)
}
