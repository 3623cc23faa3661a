//! The library's tables as JSON: listings, docstrings and stubs are made from them.

use pyo3::prelude::*;
use serde_json::{Value, json};
use toprank::core::{Entry, Policy};
use toprank::metrics::PRESETS;
use toprank::{metrics, objectives, train};

/// Everything that has a name: metrics, objectives, models and their parts, presets, rules, settings.
#[pyfunction]
pub fn catalog() -> String {
    let objective = |line: &objectives::Listing| line_of(&line.entry, line.examples, objectives::ALIASES);
    let metric = |entry: &Entry<dyn metrics::Metric>| line_of(entry, &[], metrics::ALIASES);
    json!({
        "metrics": metrics::METRICS.iter().map(metric).collect::<Vec<_>>(),
        "objectives": objectives::OBJECTIVES.iter().map(objective).collect::<Vec<_>>(),
        "models": table(train::models::NETWORKS).chain(table(train::models::TREES)).collect::<Vec<_>>(),
        "samplers": table(train::SAMPLERS).collect::<Vec<_>>(),
        "optimisers": table(train::OPTIMISERS).collect::<Vec<_>>(),
        "schedules": table(train::SCHEDULES).collect::<Vec<_>>(),
        "averages": table(train::AVERAGES).collect::<Vec<_>>(),
        "presets": PRESETS.iter().map(|preset| json!({"name": preset.name, "about": preset.about})).collect::<Vec<_>>(),
        "rules": Policy::KEYS,
        "settings": train::Settings::keys(),
    })
    .to_string()
}

fn table<T: ?Sized>(entries: &'static [Entry<T>]) -> impl Iterator<Item = Value> {
    entries.iter().map(|entry| line_of(entry, &[], &[]))
}

fn line_of<T: ?Sized>(entry: &Entry<T>, examples: &[&str], aliases: &[(&str, &str)]) -> Value {
    let params: Vec<Value> = entry
        .params
        .iter()
        .map(|param| {
            json!({"name": param.name, "default": param.default, "range": param.range, "about": param.about})
        })
        .collect();
    let aliases: Vec<&str> =
        aliases.iter().filter(|alias| alias.1 == entry.name).map(|alias| alias.0).collect();
    json!({
        "name": entry.name,
        "family": entry.family,
        "about": entry.about,
        "page": entry.page,
        "params": params,
        "examples": examples,
        "aliases": aliases,
    })
}
