//! The library's tables as JSON: listings, docstrings and stubs are made from them.

use pyo3::prelude::*;
use serde_json::{Map, Value, json};
use toprank::core::{Entry, Policy};
use toprank::data::formats::FORMATS;
use toprank::metrics::PRESETS;
use toprank::train::TrainerKind;
use toprank::{metrics, objectives, train};

const TRAINERS: [(&str, TrainerKind); 4] = [
    ("rank", TrainerKind::Rank),
    ("recommend", TrainerKind::Recommend),
    ("embed", TrainerKind::Embed),
    ("walk", TrainerKind::Walk),
];

/// Everything that has a name: metrics, objectives, models and their parts, presets, rules, the settings of each trainer.
#[pyfunction]
pub fn catalog() -> String {
    let objective = |line: &objectives::Listing| line_of(&line.entry, line.examples, objectives::ALIASES);
    let metric = |entry: &Entry<dyn metrics::Metric>| line_of(entry, &[], metrics::ALIASES);
    json!({
        "metrics": metrics::METRICS.iter().map(metric).collect::<Vec<_>>(),
        "objectives": objectives::OBJECTIVES.iter().map(objective).collect::<Vec<_>>(),
        "models": table(train::rank::models::NETWORKS)
            .chain(table(train::rank::models::TREES))
            .chain(table(train::rank::models::AUTO))
            .collect::<Vec<_>>(),
        "samplers": table(train::SAMPLERS).collect::<Vec<_>>(),
        "optimisers": table(train::OPTIMISERS).collect::<Vec<_>>(),
        "schedules": table(train::SCHEDULES).collect::<Vec<_>>(),
        "averages": table(train::AVERAGES).collect::<Vec<_>>(),
        "presets": PRESETS.iter().map(|preset| json!({"name": preset.name, "about": preset.about})).collect::<Vec<_>>(),
        "formats": FORMATS.iter().map(|format| json!({"name": format.name, "about": format.about})).collect::<Vec<_>>(),
        "rules": Policy::KEYS,
        "settings": TRAINERS.map(settings_of).into_iter().collect::<Map<_, _>>(),
    })
    .to_string()
}

/// The settings that a trainer has, in the order of the library's table.
fn settings_of((name, kind): (&str, TrainerKind)) -> (String, Value) {
    let lines = train::SETTINGS.iter().filter_map(|setting| {
        Some(json!({
            "key": setting.key,
            "aliases": setting.aliases,
            "value": setting.value_words,
            "range": setting.range.words(),
            "default": setting.default_for(kind)?,
            "help": setting.help.trim(),
            "is_path": setting.is_path,
        }))
    });
    (name.to_string(), lines.collect())
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
    let aliases: Vec<&str> = aliases
        .iter()
        .filter(|alias| alias.1.split(':').next() == Some(entry.name))
        .map(|alias| alias.0)
        .collect();
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
