//! How good are embeddings? Objectives on digits, letter and MNIST, evaluated on classes that are not in the training data, and
//! on new rows of known classes.
//!
//! ```text
//! retrieval FOLDER results.jsonl [--only TEXT] [--minutes 60] [--seeds 3] [--model NETWORK]
//! retrieval --table results.jsonl table.csv
//! ```
//!
//! FOLDER holds `retrieval/digits`, `retrieval/letter` and `retrieval/mnist-t10k`. A line is written as each run ends, and the same
//! command resumes where the file ends. A seed divides the classes, too: the same for all objectives, so that they are compared
//! on the same classes. Every objective has the settings of the command's defaults and the same number of epochs; nothing is
//! chosen, neither on test classes nor on others. `none` are the standardised features themselves, without a network.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use toprank::core::{Features as _, Policy};
use toprank::data::transform::{Pipeline, StepConfig};
use toprank::data::{ReadOptions, Source, formats, split};
use toprank::metrics::Measure;
use toprank::train::embed::{Classes, Prepared, Search, Trainer, Vectors};
use toprank::train::{Settings, TrainerKind, TrainingLoop};

use crate::common::resumable::{self, Run as _};
use crate::common::{Outcome, WrongUse, mean, number, option};

/// Name; what is divided: classes (test classes are new) or the rows of each class (they are known); fractions, the second of which
/// is left alone, for fewer rows to search; rows of each class in a batch; epochs.
const SETS: [(&str, &str, &str, u32, u32); 6] = [
    ("digits", "new classes", "50/0/50", 16, 30),
    ("digits", "known classes", "50/0/50", 8, 30),
    ("letter", "new classes", "50/25/25", 8, 5),
    ("letter", "known classes", "50/25/25", 4, 5),
    ("mnist", "new classes", "50/0/50", 16, 10),
    ("mnist", "known classes", "50/0/50", 8, 10),
];
/// Objective, memory, views.
const OBJECTIVES: [(&str, u32, &str); 18] = [
    ("none", 0, "none"),
    ("contrastive", 0, "none"),
    ("contrastive", 256, "none"),
    ("triplet", 0, "none"),
    ("multi-similarity", 0, "none"),
    ("multi-similarity", 256, "none"),
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
    set: (&'static str, &'static str, &'static str, u32, u32),
    objective: (&'static str, u32, &'static str),
    model: String,
    seed: u64,
}

impl resumable::Run for Run {
    fn name(&self) -> String {
        let (objective, memory, views) = self.objective;
        format!("{} {} {objective} {memory} {views} {} {}", self.set.0, self.set.1, self.model, self.seed)
    }
}

pub fn run(args: &[String]) -> Outcome {
    if let Some(results) = option(args, "--table") {
        let table = table(&resumable::read(results)?)?;
        std::fs::write(args.last().ok_or("a table to write")?, table)?;
        return Ok(());
    }
    let [folder, results, ..] = args else { return Err(WrongUse.into()) };
    let seeds: u64 = number(args, "--seeds", 3)?;
    let model = option(args, "--model").unwrap_or("mlp:hidden=128");
    let end = resumable::end(args, 60.0)?;
    let mut runs = Vec::new();
    for seed in 1..=seeds {
        for set in SETS {
            runs.extend(OBJECTIVES.map(|objective| Run { set, objective, model: model.to_string(), seed }));
        }
    }
    runs.retain(|run| option(args, "--only").is_none_or(|only| run.name().contains(only)));
    resumable::go(runs, results, end, |run| train(run, Path::new(folder)))
}

/// Rows and classes as they stand in the files.
fn data(set: &str, folder: &Path) -> Outcome<Classes> {
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

fn train(run: &Run, folder: &Path) -> Outcome<(Value, String)> {
    let (set, protocol, fractions, class_rows, epochs) = run.set;
    let (objective, memory, views) = run.objective;
    let all = data(set, folder)?;
    let [train, _, test] = match protocol {
        "new classes" => all.split(fractions, run.seed)?,
        _ => {
            let spec = split::parse(&format!("random:fractions={fractions}"))?;
            let parts = split::plan(&all.data, &spec, run.seed)?;
            let part = |name: &str| {
                let of = parts.iter().find(|part| part.name == name);
                Classes { data: of.map(|part| part.take(&all.data)).unwrap_or_default() }
            };
            ["train", "vali", "test"].map(part)
        }
    };
    let started = Instant::now();
    let measures = Measure::parse_all(METRICS, &Policy::default())?;
    let of_test = test.of_rows();
    let transforms = "missing:to=mean,standardise";
    let (vectors, algorithm) = if objective == "none" {
        let steps = StepConfig::parse_all(transforms)?;
        let fitted = Pipeline::fit(&train.data, &steps)?;
        let mut data = test.data;
        fitted.apply(&mut data)?;
        let width = data.features.width();
        let mut values = vec![0.0; width * data.rows()];
        data.features.gather(&(0..data.rows() as u32).collect::<Vec<_>>(), &mut values);
        for row in values.chunks_exact_mut(width) {
            let length = row.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-12);
            for x in row {
                *x /= length;
            }
        }
        (Vectors { width, values, ..Vectors::default() }, "none".to_string())
    } else {
        let settings = Settings {
            objective: Some(objective.into()),
            model: Some(run.model.clone()),
            dimensions: Some(32),
            transforms: Some(transforms.into()),
            memory: Some(memory),
            class_rows: (views == "none").then_some(class_rows),
            views: Some(views.into()),
            epochs: Some(epochs),
            seed: Some(run.seed),
            ..Settings::default()
        };
        let config = settings.resolve(TrainerKind::Embed)?;
        let prepared = Prepared::new(&config, train, None, &[])?;
        let mut trainer = Trainer::new(&config, &prepared)?;
        trainer.run(&mut (), None)?;
        (trainer.embedder().embed("test", test.data, 0.0)?, config.algorithm().to_string())
    };
    let evaluated = Search { queries: &vectors, gallery: None }.evaluate(&of_test, &[], &measures)?;
    let means: Vec<f64> = evaluated.results.iter().map(|result| result.mean.unwrap_or(0.0)).collect();
    let seconds = (started.elapsed().as_secs_f64() * 10.0).round() / 10.0;
    let line = json!({
        "set": format!("{set},{protocol}"), "model": run.model, "objective": objective, "memory": memory, "views": views, "algorithm": algorithm, "seed": run.seed,
        "map": means[0], "success@1": means[1], "success@10": means[2],
        "queries": of_test.len(), "seconds": seconds,
    });
    let says = format!("{:.4} {:.4} {:.4}, {seconds} s", means[0], means[1], means[2]);
    Ok((line, says))
}

const COLUMNS: [&str; 4] = ["map", "success@1", "success@10", "seconds"];

/// Means over seeds, best first.
fn table(lines: &[Value]) -> Outcome<String> {
    let mut groups: BTreeMap<(String, String), Vec<&Value>> = BTreeMap::new();
    for line in lines {
        let text = |key: &str| line[key].as_str().unwrap_or("").to_string();
        let mut name = format!("{},{}", text("model"), text("objective"));
        if line["memory"].as_u64() > Some(0) {
            name += &format!(" memory={}", line["memory"]);
        }
        if text("views") != "none" {
            name += " (two views; no labels)";
        }
        groups.entry((text("set"), name)).or_default().push(line);
    }
    let values = |group: &[&Value], key: &str| -> Vec<f64> {
        group.iter().map(|line| line[key].as_f64().unwrap_or(f64::NAN)).collect()
    };
    let mut text = format!("set,test on,model,objective,seeds,{},map by seed\n", COLUMNS.join(","));
    let mut sets: Vec<&String> = groups.keys().map(|key| &key.0).collect();
    sets.dedup();
    for set in sets {
        let of_set = groups.iter().filter(|(key, _)| key.0 == *set);
        let mut rows: Vec<(&String, Vec<&Value>)> =
            of_set.map(|(key, group)| (&key.1, group.clone())).collect();
        for (_, group) in &mut rows {
            group.sort_by_key(|line| line["seed"].as_u64());
        }
        rows.sort_by(|a, b| mean(&values(&b.1, "map")).total_cmp(&mean(&values(&a.1, "map"))));
        for (name, group) in &rows {
            let cells: Vec<String> =
                COLUMNS.iter().map(|column| format!("{:.4}", mean(&values(group, column)))).collect();
            let each: Vec<String> = values(group, "map").iter().map(|x| format!("{x:.4}")).collect();
            writeln!(text, "{set},{name},{},{},{}", group.len(), cells.join(","), each.join(" "))?;
        }
    }
    Ok(text)
}
