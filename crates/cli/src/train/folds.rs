//! What a cross-validation found, as files beside the model, as JSON and as a table.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toprank::data::sink;
use toprank::train::Data;
use toprank::train::fit::run::beside;
use toprank::train::rank::folds::{FoldMetric, FoldResults};

use crate::failure::Failure;
use crate::predict::output::{Form, Output};
use crate::table::{Style, Table};

/// The files beside a model: out-of-fold scores, and results.
pub fn files(model: &Path) -> [PathBuf; 2] {
    [beside(model, ".oof.txt"), beside(model, ".folds.json")]
}

/// Writes scores and results beside the model.
pub fn save(results: &FoldResults, model: &Path, train: &Data) -> Result<(), Failure> {
    let [scores_file, results_file] = files(model);
    if let Data::Memory(data) = train {
        sink::write_file(&scores_file, |out| {
            let mut output = Output::new(Form::Scores, None, data);
            output.push(&results.scores, out)?;
            output.finish(out)
        })?;
    }
    let text = serde_json::to_string_pretty(&json(results)).map_err(Failure::failed)? + "\n";
    Ok(sink::write_file(&results_file, |out| out.write_all(text.as_bytes()))?)
}

/// The results as `--json` prints them.
pub fn json(results: &FoldResults) -> Value {
    let sizes = results.sizes.iter();
    let sizes: Vec<Value> =
        sizes.map(|(items, relevant)| json!({"items": items, "relevant": relevant})).collect();
    json!({"folds": results.sizes.len(), "held_out": sizes, "metrics": results.metrics})
}

/// The results fold by fold.
pub fn table(results: &FoldResults) -> String {
    let show = |value: Option<f64>| value.map_or("–".into(), |value| format!("{value:.4}"));
    let mut head = vec!["fold".to_string(), "items".into(), "relevant".into()];
    head.extend(results.metrics.iter().map(|metric| metric.metric.clone()));
    let mut table = Table::new(head);
    let mut row = |name: String, sizes: [String; 2], value: &dyn Fn(&FoldMetric) -> Option<f64>| {
        let [items, relevant] = sizes;
        let mut cells = vec![name, items, relevant];
        cells.extend(results.metrics.iter().map(|metric| show(value(metric))));
        table.row(cells);
    };
    for (k, (items, relevant)) in results.sizes.iter().enumerate() {
        row((k + 1).to_string(), [items.to_string(), relevant.to_string()], &|metric| metric.folds[k]);
    }
    let total = |of: fn(&(usize, usize)) -> usize| results.sizes.iter().map(of).sum::<usize>().to_string();
    row("mean".into(), [String::new(), String::new()], &|metric| metric.mean);
    row("± deviation".into(), [String::new(), String::new()], &|metric| metric.deviation);
    row("pooled".into(), [total(|s| s.0), total(|s| s.1)], &|metric| metric.pooled);
    table.render(Style::Table)
}
