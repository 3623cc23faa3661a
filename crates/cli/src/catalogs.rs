//! `toprank metrics` and `toprank formats`: the library's tables, as they are.

use serde_json::json;
use toprank::core::Policy;
use toprank::data::formats::FORMATS;
use toprank::metrics::{METRICS, PRESETS, find, nearest};

use crate::failure::Failure;
use crate::table::{Style, Table};
use crate::{Common, print, print_json};

/// List the metrics, or explain one: formula, parameters, ties, empty lists, cost
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  toprank metrics\n  toprank metrics ndcg")]
pub struct Metrics {
    /// The metric to explain
    name: Option<String>,
}

impl Metrics {
    /// Prints the table or one page of it.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        match &self.name {
            None if common.json => Metrics::all_as_json(),
            None => Metrics::all(),
            Some(name) => Metrics::one(name, common),
        }
    }

    fn all() -> Result<(), Failure> {
        let mut text = String::new();
        let mut families: Vec<&str> = Vec::new();
        for entry in METRICS {
            if !families.contains(&entry.family) {
                families.push(entry.family);
            }
        }
        for family in families {
            let mut table = Table::new(["", ""]).words(1).words(2);
            for entry in METRICS.iter().filter(|entry| entry.family == family) {
                table.row(["  ".to_string() + &usage(entry.name, entry.params), entry.about.to_string()]);
            }
            text += &format!("{family}\n{}\n", table.body());
        }
        text +=
            "Written name[@cut][:key=value]…, separated by commas: ndcg@10:gain=linear,map,pauc:fpr=0.1\n";
        text += &format!("Every metric also takes the rules {}.\n", Policy::KEYS.join(", "));
        let tools: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        text += &format!("--like {} sets the rules as that tool does.\n", tools.join("|"));
        text += "`toprank metrics NAME` explains one.\n";
        print(&text)
    }

    fn all_as_json() -> Result<(), Failure> {
        let entry = |entry: &toprank::core::Entry<dyn toprank::metrics::Metric>| {
            let params: Vec<_> = entry
                .params
                .iter()
                .map(|p| json!({"name": p.name, "default": p.default, "range": p.range, "about": p.about}))
                .collect();
            json!({"name": entry.name, "family": entry.family, "about": entry.about, "params": params})
        };
        print_json(&json!({"metrics": METRICS.iter().map(entry).collect::<Vec<_>>()}))
    }

    fn one(name: &str, common: &Common) -> Result<(), Failure> {
        let Some(measure) = find(name) else {
            let near = nearest(name).join(", ");
            let hint = if near.is_empty() { String::new() } else { format!("; did you mean {near}?") };
            return Err(Failure::usage(format!(
                "no metric is called {name}{hint}\n`toprank metrics` lists them"
            )));
        };
        if common.json {
            return print_json(&json!({"name": measure.name, "about": measure.about, "page": measure.page}));
        }
        let mut text = format!(
            "{}: {}\n\n{}\n",
            usage(measure.name, measure.params),
            measure.about,
            measure.page.trim()
        );
        if !measure.params.is_empty() {
            let mut table =
                Table::new(["parameter", "default", "range", "meaning"]).words(1).words(2).words(3);
            for p in measure.params {
                table.row([p.name, p.default, p.range, p.about]);
            }
            text += &format!("\n{}", table.render(Style::Table));
        }
        print(&text)
    }
}

/// `pauc:fpr=…`, `ndcg[@k]`: the name with its parameters.
fn usage(name: &str, params: &[toprank::core::Param]) -> String {
    let mut text = name.to_string();
    for param in params {
        match param.name {
            "@" if param.default.is_empty() => text += "@k",
            "@" => text += "[@k]",
            key => text += &format!("[:{key}=…]"),
        }
    }
    text
}

/// List the data formats
#[derive(clap::Args, Debug)]
pub struct Formats {}

impl Formats {
    /// Prints the table.
    #[allow(clippy::unused_self, reason = "every command runs alike")]
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        if common.json {
            let entry = |f: &toprank::data::Format| json!({"name": f.name, "about": f.about, "extensions": f.extensions, "writes": f.write.is_some()});
            return print_json(&json!({"formats": FORMATS.iter().map(entry).collect::<Vec<_>>()}));
        }
        let mut table =
            Table::new(["format", "extensions", "access", "what it holds"]).words(1).words(2).words(3);
        for format in FORMATS {
            let access = if format.write.is_some() { "read, write" } else { "read" };
            table.row([format.name, &format.extensions.join(" "), access, format.about]);
        }
        print(&table.render(Style::Table))
    }
}
