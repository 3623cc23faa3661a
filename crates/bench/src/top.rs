//! Does each objective win the measure it is made for? Imbalanced binary and multi-label data, stratified 5-fold, a
//! perceptron, one default configuration per objective.
//!
//! ```text
//! top FOLDER results.jsonl [--minutes 120] [--sets A,B] [--only A,B] [--with SETTINGS]
//! top --table results.jsonl bench/top
//! ```
//!
//! FOLDER holds `binary` and `multilabel`. A line is written as each run (five folds) ends, and the same command resumes
//! where the file ends. `--sets` takes other sets of the folder: `keel-ecoli3`, `libsvm/a9a`, `emotions`; `--with` other
//! settings than the defaults, as `learning-rate=0.001 epochs=50`.
//!
//! `values.csv` has each measure of each objective on each set: mean over folds and seeds and their deviation, and the value
//! of all out-of-fold scores together; what it says of sets and objectives that the results do not hold stays, so that parts may
//! be run again (with the baseline, which they are tested against). `summary.csv` has their means over the sets, the mean place
//! among the objectives and how many sets an objective wins, ties and loses against cross-entropy. The test on one set is Student's, with the variance
//! of Nadeau and Bengio (2003) for folds that share their training rows; over the sets it is Wilcoxon's.

use std::collections::BTreeMap;
use std::f64::consts::SQRT_2;
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toprank::core::Policy;
use toprank::data::{Dataset, ReadOptions, Source, formats};
use toprank::metrics::{Measure, significance::studentised_range_sf};
use toprank::objectives::Goal;
use toprank::train::rank::folds::{Scale, Watched, evaluate_folds, folds, out_of_fold};
use toprank::train::{Settings, TrainerKind};

use crate::common::resumable;
use crate::common::{Outcome, WrongUse, mean, mean_and_deviation, option, p_value, settings_toml};

const FOLDS: u32 = 5;

/// The sets, and how many seeds (each with folds of its own) they get.
const SETS: &[(&str, u64)] = &[
    ("keel-abalone19", 3),
    ("keel-yeast4", 3),
    ("keel-page-blocks0", 3),
    ("mammography", 3),
    ("oil-spill", 3),
    ("scene", 3),
    ("yeast", 1),
    ("libsvm/w8a", 1),
];

/// What is reported.
const MEASURES: &str = "auroc,auprc,pauc:fpr=0.1,pauc:fpr=0.3:tpr=0.5,p@20,p:recall=0.8,ndcg@20";

/// A small perceptron: these sets have 6 to 300 features and few relevant rows.
const MODEL: &str = "mlp:hidden=64-32";

/// What people have, and what all others are tested against.
const BASELINE: &str = "cross-entropy";

/// The objectives of this bench: the baselines, and all that serve the top of one long list. Where one has a rate, a recall
/// or a K of its own, it is that of the measure; surrogates were chosen on nine other sets.
const LISTED: &[&str] = &[
    BASELINE,
    "cross-entropy:relevant-weight=balanced",
    "focal",
    "auroc",
    "auroc:surrogate=logistic",
    "auroc:surrogate=sigmoid",
    "auroc-minmax",
    "auroc-margin",
    "pauc-cvar:fpr=0.1",
    "pauc-cvar:fpr=0.1:surrogate=sigmoid",
    "pauc-kl:surrogate=logistic",
    "pauc-bilevel:fpr=0.1:surrogate=logistic",
    "tpauc-minmax:fpr=0.3:tpr=0.5:surrogate=logistic",
    "tpauc-kl:surrogate=logistic",
    "tpauc-bilevel:fpr=0.3:tpr=0.5:surrogate=logistic",
    "top-push",
    "top-push-kl",
    "top-push-bilevel",
    "p-norm-push",
    "p-norm-push-minmax",
    "ap",
    "ap:surrogate=sigmoid:gamma=0.9",
    "soprc",
    "soprc:tau1=1:tau2=0.1:penalty=0:penalty-others=0",
    "top-ap@20",
    "pap@20:surrogate=logistic",
    "precision-threshold@20",
    "recall-threshold@20",
    "precision-at-recall:recall=0.8:surrogate=logistic",
    "lambda-p@20",
    "lambdarank",
    "song",
    "k-song@20",
];

struct Run {
    set: String,
    objective: String,
    more: String,
    seed: u64,
}

impl resumable::Run for Run {
    fn name(&self) -> String {
        format!("{} {} {} {}", self.set, self.objective, self.more, self.seed)
    }
}

pub fn run(args: &[String]) -> Outcome {
    if let Some(results) = option(args, "--table") {
        let out = Path::new(args.last().ok_or("a folder to write to")?);
        let lines = resumable::read(results)?;
        let values = values(&lines, kept(&out.join("values.csv"))?);
        std::fs::write(out.join("values.csv"), as_csv(&values)?)?;
        std::fs::write(out.join("summary.csv"), summary(&values)?)?;
        return Ok(());
    }
    let [folder, results, ..] = args else { return Err(WrongUse.into()) };
    let end = resumable::end(args, 120.0)?;
    let words =
        |name: &str| option(args, name).map(|text| text.split(',').map(String::from).collect::<Vec<_>>());
    let sets: Vec<(String, u64)> = match words("--sets") {
        Some(sets) => sets.into_iter().map(|set| (set, 3)).collect(),
        None => SETS.iter().map(|(set, seeds)| (set.to_string(), *seeds)).collect(),
    };
    let objectives = words("--only").unwrap_or_else(|| LISTED.iter().map(ToString::to_string).collect());
    let more = option(args, "--with").unwrap_or_default();
    let mut runs = Vec::new();
    for (set, seeds) in sets {
        for objective in &objectives {
            runs.extend((1..=seeds).map(|seed| Run {
                set: set.clone(),
                objective: objective.clone(),
                more: more.to_string(),
                seed,
            }));
        }
    }
    resumable::go(runs, results, end, |run| cross_validate(run, Path::new(folder)))
}

/// All rows of a set.
fn read(folder: &Path, set: &str) -> Outcome<Dataset> {
    let csv = folder.join("binary").join(format!("{set}.csv.gz"));
    let options = ReadOptions { label: Some("label".into()), ..ReadOptions::default() };
    if csv.exists() {
        return Ok(formats::read(&Source::path(&csv), &options)?);
    }
    let libsvm = folder.join("binary").join(format!("{set}.gz"));
    if libsvm.exists() {
        let options = ReadOptions { format: Some("libsvm".into()), ..ReadOptions::default() };
        return Ok(formats::read(&Source::path(&libsvm), &options)?);
    }
    // The rows of both parts, under the header of the first.
    let part = |name: &str| folder.join("multilabel").join(set).join(format!("{set}{name}.gz"));
    let mut text = String::new();
    Source::path(part("-train.arff")).open()?.read_to_string(&mut text)?;
    let mut test = String::new();
    Source::path(part("-test.arff")).open()?.read_to_string(&mut test)?;
    let rows = test.to_lowercase().find("@data").ok_or("an ARFF file with @data")?;
    text.push_str(&test[rows + "@data".len()..]);
    let labels = part(".xml").to_str().map(String::from);
    let options = ReadOptions { label_xml: labels, ..ReadOptions::default() };
    Ok(formats::read(&Source::bytes(format!("{set}.arff"), text.into_bytes()), &options)?)
}

/// Trains five models and evaluates their out-of-fold scores.
fn cross_validate(run: &Run, folder: &Path) -> Outcome<(Value, String)> {
    let started = Instant::now();
    let data = read(folder, &run.set)?;
    let base = Settings {
        objective: Some(run.objective.clone()),
        model: Some(MODEL.into()),
        folds: Some(FOLDS),
        seed: Some(run.seed),
        ..Settings::default()
    };
    let config = Settings::from_toml(&settings_toml(&run.more)?)?
        .over(base)
        .resolve(TrainerKind::Rank)?
        .suited_to(&data.lists)?;
    let folds = folds(&config, &data)?;
    let mut held = Vec::new();
    for fold in &folds {
        let job = fold.job(&config, &data, Watched::SetAside)?;
        let views = job.views()?;
        let mut trainer = job.trainer(&views)?;
        trainer.run(&mut (), None)?;
        held.push(fold.held(&job, &*trainer, &views, &data)?);
    }
    let outputs = data.lists.len();
    let scores = out_of_fold(&data.lists, &folds, &held, &vec![Scale { mean: 0.0, spread: 1.0 }; outputs]);
    let found =
        evaluate_folds(&data.lists, &folds, &scores, &Measure::parse_all(MEASURES, &Policy::default())?)?;
    let seconds = (started.elapsed().as_secs_f64() * 100.0).round() / 100.0;
    let says: Vec<String> =
        found.iter().map(|of| format!("{} {:.3}", of.metric, of.mean.unwrap_or(0.0))).collect();
    let line = json!({
        "set": run.set, "objective": run.objective, "more": run.more, "seed": run.seed, "seconds": seconds, "found": found,
    });
    Ok((line, format!("{} {seconds:.1} s", says.join(" "))))
}

/// What was found for one measure of one objective on one set.
#[derive(Default)]
struct Cell {
    /// Values of the folds, seed after seed.
    folds: Vec<f64>,
    /// Values of all out-of-fold scores together, one per seed.
    pooled: Vec<f64>,
}

/// Measure, objective (with its settings), set.
type Cells = BTreeMap<(String, String), BTreeMap<String, Cell>>;

fn cells(lines: &[Value]) -> Cells {
    let mut lines: Vec<&Value> = lines.iter().collect();
    lines.sort_by_key(|line| line["seed"].as_u64());
    let mut cells = Cells::new();
    for line in lines {
        let word = |key: &str| line[key].as_str().unwrap_or("");
        let objective = format!("{} {}", word("objective"), word("more")).trim().to_string();
        for found in line["found"].as_array().into_iter().flatten() {
            let metric = found["metric"].as_str().unwrap_or("").to_string();
            let of =
                cells.entry((metric, objective.clone())).or_default().entry(word("set").into()).or_default();
            of.folds.extend(found["folds"].as_array().into_iter().flatten().filter_map(Value::as_f64));
            of.pooled.extend(found["pooled"].as_f64());
        }
    }
    cells
}

/// Two-sided p value of Student's test on paired values of folds, with the variance of Nadeau and Bengio: models of
/// different folds share most of their training rows.
fn of_folds(first: &[f64], second: &[f64]) -> Option<f64> {
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    if first.len() != second.len() || first.len() < 2 {
        return None;
    }
    let (centre, spread) = mean_and_deviation(&differences);
    let count = differences.len() as f64;
    let shared = 1.0 / f64::from(FOLDS - 1);
    let t = centre.abs() / (spread * (1.0 / count + shared).sqrt());
    // The range of two studentised means is √2 t.
    t.is_finite().then(|| studentised_range_sf(t * SQRT_2, 2, count - 1.0))
}

/// One measure of one objective on one set, as in `values.csv`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    measure: String,
    set: String,
    objective: String,
    folds: usize,
    #[serde(rename = "mean of folds")]
    mean: f64,
    deviation: f64,
    pooled: f64,
    #[serde(rename = "p against cross-entropy")]
    p: Option<f64>,
}

/// Measure, objective (with its settings), set.
type Rows = BTreeMap<(String, String, String), Row>;

/// The rows of an earlier table; none if there is no file.
fn kept(path: &Path) -> Outcome<Rows> {
    let mut rows = Rows::new();
    if path.exists() {
        for row in csv::Reader::from_path(path)?.deserialize() {
            let row: Row = row?;
            rows.insert((row.measure.clone(), row.objective.clone(), row.set.clone()), row);
        }
    }
    Ok(rows)
}

fn values(lines: &[Value], mut rows: Rows) -> Rows {
    let digits = |x: f64| (x * 1e4).round() / 1e4;
    let cells = cells(lines);
    for ((measure, objective), sets) in &cells {
        let base = cells.get(&(measure.clone(), BASELINE.to_string()));
        for (set, cell) in sets {
            let p = base.and_then(|base| base.get(set)).and_then(|base| of_folds(&base.folds, &cell.folds));
            let (mean_of_folds, deviation) = mean_and_deviation(&cell.folds);
            let row = Row {
                measure: measure.clone(),
                set: set.clone(),
                objective: objective.clone(),
                folds: cell.folds.len(),
                mean: digits(mean_of_folds),
                deviation: digits(deviation),
                pooled: digits(mean(&cell.pooled)),
                p: p.filter(|_| objective != BASELINE).map(digits),
            };
            rows.insert((measure.clone(), objective.clone(), set.clone()), row);
        }
    }
    rows
}

fn as_csv(rows: &Rows) -> Outcome<String> {
    let mut text = csv::Writer::from_writer(Vec::new());
    for row in rows.values() {
        text.serialize(row)?;
    }
    Ok(String::from_utf8(text.into_inner()?)?)
}

fn summary(values: &Rows) -> Outcome<String> {
    let mut text = String::from(
        "measure,objective,serves,sets,mean of folds,pooled,place,win,tie,loss,p over sets against cross-entropy\n",
    );
    let mut measures: BTreeMap<&String, BTreeMap<&String, BTreeMap<&String, &Row>>> = BTreeMap::new();
    for ((measure, objective, set), row) in values {
        measures.entry(measure).or_default().entry(objective).or_default().insert(set, row);
    }
    for (measure, objectives) in &measures {
        let Some(base) = objectives.get(&BASELINE.to_string()) else { continue };
        let served = Settings { objective: Some((*measure).clone()), ..Settings::default() }
            .resolve(TrainerKind::Rank)?;
        let served = served.algorithm();
        let mut table = Vec::new();
        for (objective, sets) in objectives.iter().filter(|(_, sets)| sets.len() == base.len()) {
            let means: Vec<f64> = sets.values().map(|row| row.mean).collect();
            let places = sets.iter().map(|(set, row)| {
                let better =
                    objectives.values().filter(|o| o.get(set).is_some_and(|other| other.mean > row.mean));
                better.count() as f64 + 1.0
            });
            let place = mean(&places.collect::<Vec<f64>>());
            let mut outcome = [0; 3];
            for (set, row) in sets {
                let better = row.mean > base[set].mean;
                outcome[if row.p.unwrap_or(1.0) >= 0.05 { 1 } else { usize::from(!better) * 2 }] += 1;
            }
            let base_means: Vec<f64> = base.values().map(|row| row.mean).collect();
            let p = p_value("wilcoxon", &base_means, &means)?;
            let p = p.filter(|_| *objective != BASELINE).map_or(String::new(), |p| format!("{p:.4}"));
            let pooled = mean(&sets.values().map(|row| row.pooled).collect::<Vec<f64>>());
            let goal = Goal::parse(objective.split(' ').next().unwrap_or(""), &Policy::default());
            let serves = goal.is_ok_and(|goal| goal.name() == served);
            table.push((
                mean(&means),
                format!(
                    "{measure},{objective},{},{},{:.4},{pooled:.4},{place:.1},{},{},{},{p}",
                    if serves { "this measure's own" } else { "" },
                    sets.len(),
                    mean(&means),
                    outcome[0],
                    outcome[1],
                    outcome[2]
                ),
            ));
        }
        table.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, line) in table {
            writeln!(text, "{line}")?;
        }
    }
    Ok(text)
}
