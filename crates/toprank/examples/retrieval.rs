//! How good are embeddings? Objectives on digits, letter and MNIST, classes divided between train, validation and test.
//!
//! ```text
//! cargo run --release -p toprank --example retrieval -- FOLDER results.jsonl [--only TEXT] [--minutes 60] [--seeds 3]
//! cargo run --release -p toprank --example retrieval -- --table results.jsonl table.csv
//! ```
//!
//! FOLDER holds `retrieval/digits`, `retrieval/letter` and `retrieval/mnist-t10k`. A line is written as each run ends, and the same
//! command goes on where the file ends. A seed divides the classes, too: the same for all objectives, so that they are compared
//! on the same classes. `none` are the standardised features themselves, without a network.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toprank::core::{Features as _, Policy};
use toprank::data::transform::{Pipeline, StepConfig};
use toprank::data::{ReadOptions, Source, formats};
use toprank::metrics::Measure;
use toprank::train::retrieval::{Classes, Prepared, Search, Settings, Trainer, Vectors};
use toprank::train::Course;

mod resumable;
use resumable::{Anyhow, Run as _};

/// Name, shares of the classes, rows of each class in a batch.
const SETS: [(&str, &str, u32); 3] =
    [("digits", "40/20/40", 16), ("letter", "50/16/34", 8), ("mnist", "40/20/40", 16)];
/// Objective, memory, views.
const OBJECTIVES: [(&str, u32, &str); 18] = [
    ("none", 0, "none"),
    ("contrastive", 0, "none"),
    ("contrastive", 512, "none"),
    ("triplet", 0, "none"),
    ("multi-similarity", 0, "none"),
    ("multi-similarity", 512, "none"),
    ("auroc:surrogate=logistic:temperature=0.1", 0, "none"),
    ("smooth-ap", 0, "none"),
    ("smooth-ap:temperature=0.1", 0, "none"),
    ("fast-ap", 0, "none"),
    ("ap:surrogate=sigmoid:temperature=0.1", 0, "none"),
    ("soprc", 0, "none"),
    ("song:margin=0.5", 0, "none"),
    ("nca", 0, "none"),
    ("log-nca", 0, "none"),
    ("sup-con", 0, "none"),
    ("sup-con:gamma=1", 0, "none"),
    ("global-contrastive", 0, "two"),
];
const METRICS: &str = "map,success@1,success@10";

#[derive(Clone, Debug)]
struct Run {
    set: (&'static str, &'static str, u32),
    objective: (&'static str, u32, &'static str),
    seed: u64,
}

impl resumable::Run for Run {
    fn name(&self) -> String {
        let (objective, memory, views) = self.objective;
        format!("{} {objective} {memory} {views} {}", self.set.0, self.seed)
    }
}

fn main() -> Anyhow<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|at| args.get(at + 1));
    if let Some(results) = option("--table") {
        let table = table(&resumable::read(results)?)?;
        std::fs::write(args.last().ok_or("a table to write")?, table)?;
        return Ok(());
    }
    let [folder, results, ..] = args.as_slice() else {
        return Err("usage: retrieval FOLDER results.jsonl [--only TEXT] [--minutes N] [--seeds N] | --table results.jsonl table.csv".into());
    };
    let minutes: f64 = option("--minutes").map_or(Ok(60.0), |text| text.parse())?;
    let seeds: u64 = option("--seeds").map_or(Ok(3), |text| text.parse())?;
    let end = Instant::now() + Duration::from_secs_f64(60.0 * minutes);
    let mut runs = Vec::new();
    for seed in 1..=seeds {
        for set in SETS {
            runs.extend(OBJECTIVES.map(|objective| Run { set, objective, seed }));
        }
    }
    runs.retain(|run| option("--only").is_none_or(|only| run.name().contains(only.as_str())));
    resumable::go(runs, results, end, |run| train(run, Path::new(folder)))
}

/// Rows and classes as they stand in the files.
fn data(set: &str, folder: &Path) -> Anyhow<Classes> {
    let folder = folder.join("retrieval");
    let mut options = ReadOptions { regroup: true, ..ReadOptions::default() };
    let source = match set {
        "digits" => {
            // The file has no line of names.
            let names: Vec<String> = (1..=64).map(|k| format!("pixel{k}")).collect();
            let mut text = format!("{},label\n", names.join(","));
            Source::path(folder.join("digits/digits.csv.gz")).open()?.read_to_string(&mut text)?;
            options.format = Some("csv".into());
            Source::bytes("digits.csv", text.into_bytes())
        }
        "letter" => {
            (options.list, options.unlabelled) = (Some("class".into()), true);
            Source::path(folder.join("letter/letter.csv.gz"))
        }
        _ => Source::path(folder.join("mnist-t10k/t10k-images-idx3-ubyte.gz")),
    };
    Ok(Classes::of(formats::read(&source, &options)?)?)
}

fn train(run: &Run, folder: &Path) -> Anyhow<(Value, String)> {
    let (set, shares, class_rows) = run.set;
    let (objective, memory, views) = run.objective;
    let [train, valid, test] = data(set, folder)?.split(shares, run.seed)?;
    let started = Instant::now();
    let measures = Measure::parse_all(METRICS, &Policy::default())?;
    let of_test = test.of_rows();
    let transforms = "missing:to=mean,standardise";
    let (vectors, valid, epoch, algorithm) = if objective == "none" {
        let steps = StepConfig::parse_all(transforms)?;
        let fitted = Pipeline::fit(&train.data, &steps)?;
        let mut data = test.data;
        fitted.apply(&mut data)?;
        let width = data.features.width();
        let mut values = vec![0.0; width * data.rows()];
        data.features.gather(&(0..data.rows() as u32).collect::<Vec<_>>(), &mut values);
        for row in values.chunks_exact_mut(width) {
            let length = row.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-12);
            row.iter_mut().for_each(|x| *x /= length);
        }
        (Vectors { width, values }, f64::NAN, 0, "none".to_string())
    } else {
        let settings = Settings {
            objective: Some(objective.into()),
            model: Some("mlp:hidden=128".into()),
            dimensions: Some(32),
            transforms: Some(transforms.into()),
            memory: Some(memory),
            class_rows: (views == "none").then_some(class_rows),
            views: Some(views.into()),
            epochs: Some(30),
            patience: Some(6),
            metric: Some("map".into()),
            seed: Some(run.seed),
            ..Settings::default()
        };
        let config = settings.resolve()?;
        let prepared = Prepared::new(&config, train, Some(valid), &[])?;
        let mut trainer = Trainer::new(&config, &prepared)?;
        trainer.run(&mut (), None)?;
        let (value, epoch) = trainer.best().ok_or("a validated model")?;
        (trainer.embedder().embed("test", test.data, 0.0)?, value, epoch, config.algorithm)
    };
    let judged = Search { queries: &vectors, gallery: None }.judge(&of_test, &[], &measures)?;
    let means: Vec<f64> = judged.results.iter().map(|result| result.mean.unwrap_or(0.0)).collect();
    let seconds = (started.elapsed().as_secs_f64() * 10.0).round() / 10.0;
    let line = json!({
        "set": set, "objective": objective, "memory": memory, "views": views, "algorithm": algorithm, "seed": run.seed,
        "valid": valid, "epoch": epoch, "map": means[0], "success@1": means[1], "success@10": means[2],
        "queries": of_test.len(), "seconds": seconds,
    });
    let says = format!("valid {valid:.4} in pass {epoch}, test {:.4} {:.4} {:.4}, {seconds} s", means[0], means[1], means[2]);
    Ok((line, says))
}

const COLUMNS: [&str; 6] = ["valid", "map", "success@1", "success@10", "epoch", "seconds"];

/// Means over seeds, best test map first; how far a row's map lies from that of the best on validation, seed by seed.
fn table(lines: &[Value]) -> Anyhow<String> {
    let mut groups: BTreeMap<(String, String), Vec<&Value>> = BTreeMap::new();
    for line in lines {
        let text = |key: &str| line[key].as_str().unwrap_or("").to_string();
        let mut name = text("objective");
        if line["memory"].as_u64() > Some(0) {
            name += &format!(" memory={}", line["memory"]);
        }
        if text("views") != "none" {
            name += " (two views no labels)";
        }
        groups.entry((text("set"), name)).or_default().push(line);
    }
    let values = |group: &[&Value], key: &str| -> Vec<f64> {
        group.iter().map(|line| line[key].as_f64().unwrap_or(f64::NAN)).collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let mut text = format!("set,objective,seeds,{},sd of map,map by seed,mark\n", COLUMNS.join(","));
    let mut sets: Vec<&String> = groups.keys().map(|key| &key.0).collect();
    sets.dedup();
    for set in sets {
        let mut rows: Vec<(&String, &Vec<&Value>)> =
            groups.iter().filter(|(key, _)| key.0 == *set).map(|(key, group)| (&key.1, group)).collect();
        rows.sort_by(|a, b| mean(&values(b.1, "map")).total_cmp(&mean(&values(a.1, "map"))));
        let by_valid = |group: &Vec<&Value>| mean(&values(group, "valid"));
        let most = rows.iter().map(|(_, group)| group.len()).max().unwrap_or(0);
        let full = rows.iter().filter(|(_, group)| group.len() == most && !by_valid(group).is_nan());
        let chosen = full.max_by(|a, b| by_valid(a.1).total_cmp(&by_valid(b.1))).map(|row| row.0);
        for (name, group) in &rows {
            let maps = values(group, "map");
            let spread = mean(&maps.iter().map(|x| (x - mean(&maps)).powi(2)).collect::<Vec<_>>()).sqrt();
            let cells: Vec<String> =
                COLUMNS.iter().map(|column| format!("{:.4}", mean(&values(group, column)))).collect();
            let each: Vec<String> = maps.iter().map(|x| format!("{x:.4}")).collect();
            let mark = if chosen == Some(name) { "best on validation" } else { "" };
            let (count, cells, each) = (group.len(), cells.join(","), each.join(" "));
            writeln!(text, "{set},{name},{count},{cells},{spread:.4},{each},{mark}")?;
        }
    }
    Ok(text)
}
