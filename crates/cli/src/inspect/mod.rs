//! `toprank inspect`: statistics of a data set, overlap of two, or the content of a model file.

mod model;

pub use model::{blend_json, feature_name, members};

use serde_json::json;
use toprank::core::Features;
use toprank::data::inspect::{
    Duplicates, FeatureRow, Histogram, Inspection, Lengths, Overlap, inspect, shared,
};
use toprank::data::{MappedDataset, mapped};
use toprank::train::{Embedder, Model, Recommender, WalkFile};

use crate::failure::Failure;
use crate::progress::Progress;
use crate::reading::Reading;
use crate::table::{Style, Table, counted};
use crate::{Common, print, print_json};

/// Features in the table unless the user says how many: a table of a million lines takes gigabytes.
const MOST_FEATURES: usize = 1000;

/// Describe a model or a data set: lists, labels, features, duplicates, overlap
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  toprank inspect test.txt\n  toprank inspect test.txt --against train.txt\n  \
    toprank inspect big.toprank-data --verify\n  toprank inspect model.toprank\n  toprank inspect trees.toprank --tree 5\n\n\
    Rows, names and lists are compared by 64-bit hashes."
)]
pub struct Inspect {
    /// Data file (or pattern of files), or model file; - is standard input
    #[arg(value_name = "FILE")]
    data: String,
    /// Find lists, items and rows that this file (test) shares with another one (train)
    #[arg(long, value_name = "FILE")]
    against: Option<String>,
    /// Number of features in the table [default: 1000; 20 of a model]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Tree to print of a model of trees, counted from 1
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    tree: u32,
    /// Only verify the checksums of a .toprank-data file, without reading it into memory
    #[arg(long, conflicts_with_all = ["against", "top"])]
    verify: bool,
    #[command(flatten)]
    reading: Reading,
}

/// What is printed as JSON, not held as a tree of values: there may be a million features.
#[derive(serde::Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    inspection: &'a Inspection,
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<&'a Overlap>,
}

impl Inspect {
    /// Reads, looks, prints.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        if self.verify {
            return verify(&self.data, common);
        }
        if Model::is_one(self.data.as_ref()) {
            return model::show(&self.data, self.tree, self.top, common);
        }
        if WalkFile::is_one(self.data.as_ref()) {
            return walk(&self.data, common);
        }
        if Recommender::is_one(self.data.as_ref()) {
            return crate::recommend::show(&self.data, common);
        }
        if Embedder::is_one(self.data.as_ref()) {
            return crate::embed::show(&self.data, common);
        }
        let dataset = self.reading.read(&self.data, Vec::new(), common.quiet)?;
        let inspection = inspect(&dataset);
        let overlap = match &self.against {
            None => None,
            Some(other) => Some(shared(&self.reading.read(other, Vec::new(), common.quiet)?, &dataset)),
        };
        if common.json {
            let report = Report { inspection: &inspection, file: &self.data, overlap: overlap.as_ref() };
            return print_json(&report);
        }
        let mut text = overview(&self.data, &inspection);
        if let Some(lengths) = &inspection.lengths {
            text += &lengths_text(lengths);
        }
        text += &labels_text(&inspection.labels);
        text += &outputs_text(&inspection);
        text += &features_text(&inspection.feature_table, self.top.unwrap_or(MOST_FEATURES));
        if let (Some(overlap), Some(other)) = (&overlap, &self.against) {
            text += &overlap_text(overlap, &self.data, other);
        }
        print(&text)
    }
}

/// Describes a learned random walk: its settings, its training, the weights of its features.
fn walk(file: &str, common: &Common) -> Result<(), Failure> {
    let walk = WalkFile::load(file.as_ref())?;
    let header = &walk.header;
    let mut weights: Vec<(String, f64)> = walk.names().into_iter().zip(walk.phi.iter().copied()).collect();
    weights.sort_by(|a, b| b.1.total_cmp(&a.1));
    if common.json {
        let weights: serde_json::Map<_, _> = weights.into_iter().map(|(name, w)| (name, json!(w))).collect();
        return print_json(&json!({
            "file": file, "config": header.config, "reached": header.reached, "loss": header.loss, "weights": weights,
        }));
    }
    let mut text = format!(
        "{file}: a learned random walk, its self-test passes\n{} by {} on {} lists, {} steps, restart {}, dangling nodes go to \
         {}, scores are {}\nloss {:.6} → {:.6}\n\n",
        header.config.algorithm(),
        header.config.method(),
        header.reached.lists,
        header.reached.steps,
        header.config.restart(),
        header.config.dangling(),
        header.config.score(),
        header.loss.0,
        header.loss.1
    );
    let mut table = Table::new(["weight of", "value"]);
    for (name, value) in weights {
        table.row([name, format!("{value:.6}")]);
    }
    text += &table.render(Style::Table);
    print(&text)
}

/// Verifies the checksums of a memory-mapped data file.
fn verify(file: &str, common: &Common) -> Result<(), Failure> {
    let spinner = Progress::spinner(common.quiet, &format!("reading {file}"));
    let data = MappedDataset::open(file)?;
    data.verify()?;
    drop(spinner);
    let (blocks, bytes) = data.extent();
    let (lists, rows, features) = (data.lists.len(), data.features.rows(), data.features.width());
    if common.json {
        return print_json(&json!({
            "file": file, "verified": true, "version": mapped::VERSION, "bytes": bytes, "checksums": blocks,
            "lists": lists, "rows": rows, "features": features, "sparse": data.features.is_sparse(),
        }));
    }
    let form = if data.features.is_sparse() { "sparse" } else { "dense" };
    print(&format!(
        "{file}: version {}, {lists} lists, {rows} rows of {features} {form} features, {bytes} bytes; \
         all {blocks} checksums match\n",
        mapped::VERSION
    ))
}

fn overview(file: &str, found: &Inspection) -> String {
    let mut table = Table::new(["", ""]).words(1);
    let mut line = |what: &str, value: String| table.row([what.to_string(), value]);
    line("lists", found.lists.to_string());
    line("rows", found.rows.to_string());
    if found.entries != found.rows {
        line("items in lists", found.entries.to_string());
    }
    line("features", found.features.to_string());
    line("in memory", format!("{:.1} MB", found.bytes as f64 / 1e6));
    let share = |count: usize| format!("{count} ({:.1} %)", 100.0 * count as f64 / found.lists.max(1) as f64);
    line("lists without a relevant item", share(found.without_relevant));
    line("lists of one label only", share(found.same_label));
    line("lists of one item", share(found.single_item));
    let counts = [("lists without items", found.empty), ("items without a label", found.unjudged)];
    for (what, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        line(what, count.to_string());
    }
    for (what, duplicates) in [
        ("rows with equal features", &found.duplicate_rows),
        ("item names twice in a list", &found.duplicate_items),
    ] {
        if let Some(duplicates) = duplicates {
            line(what, duplicates_text(duplicates));
        }
    }
    let constant = &found.constant_features;
    if !constant.is_empty() {
        let more = if constant.len() > 10 { ", …" } else { "" };
        line(
            "constant features",
            format!("{}: {}{more}", constant.len(), constant[..constant.len().min(10)].join(", ")),
        );
    }
    for (what, summary) in [
        ("item weights", &found.item_weights),
        ("list weights", &found.list_weights),
        ("times", &found.times),
    ] {
        if let Some(summary) = summary {
            line(
                what,
                format!(
                    "{} to {}, mean {:.4}, {} zeros",
                    summary.min, summary.max, summary.mean, summary.zeros
                ),
            );
        }
    }
    if let Some(popularity) = &found.popularity {
        line(
            "items of the most popular tenth",
            format!("{:.1} % of all entries", 100.0 * popularity.top_tenth),
        );
        line("density", format!("{:.4} %", 100.0 * popularity.density));
    }
    format!("{file}\n{}\n", table.body())
}

fn duplicates_text(duplicates: &Duplicates) -> String {
    let mut text = format!("{} ({} within a list)", duplicates.overall, duplicates.within_list);
    if duplicates.conflicting > 0 {
        text += &format!(", {} with another label", duplicates.conflicting);
    }
    if let Some(first) = duplicates.examples.first() {
        let place = |line: Option<u64>, list: &str| {
            line.map_or(format!("list {list}"), |line| format!("line {line}"))
        };
        let (here, there) = (place(first.line, &first.list), place(first.first_line, &first.first_list));
        text += &format!(", first: {here} repeats {there}");
    }
    text
}

fn bar(count: u64, most: u64) -> String {
    "█".repeat((count as f64 / most.max(1) as f64 * 30.0).ceil() as usize)
}

fn lengths_text(lengths: &Lengths) -> String {
    let mut table = Table::new(["items", "lists", ""]).words(2);
    let most = lengths.histogram.iter().map(|bin| bin.2).max().unwrap_or(1);
    for &(from, to, lists) in &lengths.histogram {
        let range = if from == to { from.to_string() } else { format!("{from}–{to}") };
        table.row([range, lists.to_string(), bar(lists, most)]);
    }
    let quantiles: Vec<String> =
        lengths.quantiles.iter().map(|(share, length)| format!("{:.0} %: {length}", 100.0 * share)).collect();
    format!(
        "list lengths: {} to {}, mean {:.1}; {}\n{}\n",
        lengths.min,
        lengths.max,
        lengths.mean,
        quantiles.join(", "),
        table.render(Style::Table)
    )
}

fn labels_text(labels: &Histogram) -> String {
    let mut table = Table::new(["label", "items", "fraction", ""]).words(3);
    let most = labels.bins.iter().map(|bin| bin.count).max().unwrap_or(1);
    let all: u64 = labels.bins.iter().map(|bin| bin.count).sum();
    for bin in &labels.bins {
        let range =
            if bin.from == bin.to { bin.from.to_string() } else { format!("{}–{}", bin.from, bin.to) };
        let share = format!("{:.1} %", 100.0 * bin.count as f64 / all.max(1) as f64);
        table.row([range, bin.count.to_string(), share, bar(bin.count, most)]);
    }
    format!("labels\n{}\n", table.render(Style::Table))
}

fn outputs_text(found: &Inspection) -> String {
    if found.outputs.is_empty() {
        return String::new();
    }
    let mut table = Table::new(["output", "positive", "negative", "unjudged"]);
    for output in &found.outputs {
        let counts = [output.positive, output.negative, output.unjudged].map(|n| n.to_string());
        table.row([vec![output.name.clone()], counts.to_vec()].concat());
    }
    format!("{}\n", table.render(Style::Table))
}

fn features_text(features: &[FeatureRow], top: usize) -> String {
    if features.is_empty() {
        return String::new();
    }
    let mut table = Table::new(["feature", "missing", "min", "mean", "max", "distinct", ""]).words(6);
    for feature in features.iter().take(top) {
        let number = |value: Option<f64>| value.map_or("–".to_string(), |value| format!("{value:.4}"));
        let remark = match (feature.constant, feature.categorical) {
            (true, _) => "constant",
            (false, true) => "categories",
            (false, false) => "",
        };
        table.row([
            feature.name.clone(),
            format!("{:.1} %", 100.0 * feature.missing_rate),
            number(feature.min.map(f64::from)),
            number(feature.mean),
            number(feature.max.map(f64::from)),
            if feature.distinct > 100 { "> 100".into() } else { feature.distinct.to_string() },
            remark.to_string(),
        ]);
    }
    let more = features.len().saturating_sub(top);
    let more = if more > 0 {
        format!("… and {}: --top N, or --json\n", counted(more, "more feature"))
    } else {
        String::new()
    };
    format!("{}{more}", table.render(Style::Table))
}

fn overlap_text(overlap: &Overlap, file: &str, other: &str) -> String {
    let mut table = Table::new(["shared", "count", "of", "first example"]).words(3);
    let kinds = [
        ("list names", &overlap.list_names),
        ("lists of the same content", &overlap.list_contents),
        ("item names", &overlap.items),
        ("items under the same list name", &overlap.entries),
        ("rows: same features and label", &overlap.rows),
        ("rows: same features, other label", &overlap.conflicting_rows),
    ];
    for (what, shared) in kinds {
        let Some(shared) = shared else { continue };
        let example = shared.examples.first().map_or(String::new(), |pair| {
            let line = |line: Option<u64>| line.map_or(String::new(), |line| format!(":{line}"));
            format!("{} ({file}{}, {other}{})", pair.name, line(pair.second_line), line(pair.first_line))
        });
        table.row([what.to_string(), shared.count.to_string(), shared.of.to_string(), example]);
    }
    format!("\nwhat {file} shares with {other}\n{}", table.render(Style::Table))
}
