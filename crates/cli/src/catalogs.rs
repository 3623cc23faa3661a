//! `toprank metrics`, `toprank objectives` and `toprank formats`: the library's tables, as they are.

use serde_json::{Value, json};
use toprank::core::{Entry, Param, Policy};
use toprank::data::formats::FORMATS;
use toprank::metrics::PRESETS;
use toprank::{embeddings, metrics, objectives, train};

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
        let tools: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        let catalog = Catalog {
            one: "metric",
            many: "metrics",
            lines: metrics::METRICS.iter().map(|entry| Line::new(entry, &[])).collect(),
            aliases: metrics::ALIASES,
            nearest: metrics::nearest,
            closing: format!(
                "Written name[@cut][:key=value]…, separated by commas: ndcg@10:gain=linear,map,pauc:fpr=0.1\n\
                 Every metric also takes the rules {}.\n\
                 --like {} sets the rules as that tool does.\n",
                Policy::KEYS.join(", "),
                tools.join("|")
            ),
        };
        catalog.run(self.name.as_deref(), common)
    }
}

/// List the objectives, or explain one: loss, gradient, parameters, idle lists, cost
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  toprank objectives\n  toprank objectives song")]
pub struct Objectives {
    /// The objective to explain
    name: Option<String>,
}

impl Objectives {
    /// Prints the table or one page of it.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let catalog = Catalog {
            one: "objective",
            many: "objectives",
            lines: objectives::OBJECTIVES.iter().map(|line| Line::new(&line.entry, line.examples)).collect(),
            aliases: objectives::ALIASES,
            nearest: objectives::nearest,
            closing: "Written name[@cut][:key=value]…: song:gamma=0.3, lambdarank@30:gain=linear\n\
                      `toprank gradient` gives the loss and the gradient of one on your scores.\n"
                .into(),
        };
        catalog.run(self.name.as_deref(), common)
    }
}

/// List what models are made and trained with, or explain one: models, samplers, optimisers, schedules, averages
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  toprank models\n  toprank models mlp\n  toprank models pairs")]
pub struct Models {
    /// The model, sampler, optimiser, schedule or average to explain
    name: Option<String>,
}

impl Models {
    /// Prints the table or one page of it.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let mut lines: Vec<Line> =
            train::rank::models::NETWORKS.iter().map(|entry| Line::new(entry, &[])).collect();
        lines.extend(train::rank::models::TREES.iter().map(|entry| Line::new(entry, &[])));
        lines.extend(embeddings::MODELS.iter().map(|entry| Line::new(entry, &[])));
        lines.extend(train::SAMPLERS.iter().map(|entry| Line::new(entry, &[])));
        lines.extend(train::OPTIMISERS.iter().map(|entry| Line::new(entry, &[])));
        lines.extend(train::SCHEDULES.iter().map(|entry| Line::new(entry, &[])));
        lines.extend(train::AVERAGES.iter().map(|entry| Line::new(entry, &[])));
        let catalog = Catalog {
            one: "part",
            many: "parts",
            lines,
            aliases: &[],
            nearest: |_| Vec::new(),
            closing:
                "Written name[:key=value]…: --model mlp:hidden=256-128 or trees:l2=1 --sampler pairs:batch=256:items=100 \
                      --optimiser adamw:decay=0.01 --schedule cosine:warmup=0.05\n"
                    .into(),
        };
        catalog.run(self.name.as_deref(), common)
    }
}

/// A table of the library, ready to be shown.
struct Catalog {
    one: &'static str,
    many: &'static str,
    lines: Vec<Line>,
    aliases: &'static [(&'static str, &'static str)],
    nearest: fn(&str) -> Vec<&'static str>,
    /// What is said below the table.
    closing: String,
}

/// One line of it.
struct Line {
    name: &'static str,
    family: &'static str,
    about: &'static str,
    page: &'static str,
    params: &'static [Param],
    examples: &'static [&'static str],
}

impl Line {
    fn new<T: ?Sized>(entry: &Entry<T>, examples: &'static [&'static str]) -> Line {
        let Entry { name, family, about, page, params, .. } = *entry;
        Line { name, family, about, page, params, examples }
    }
}

impl Catalog {
    fn run(&self, name: Option<&str>, common: &Common) -> Result<(), Failure> {
        let Some(name) = name else {
            if common.json {
                let lines: Vec<Value> = self.lines.iter().map(|line| self.as_json(line)).collect();
                return print_json(&json!({ self.many: lines }));
            }
            return print(&self.table());
        };
        let Some(line) = self.find(name) else {
            let near = (self.nearest)(name).join(", ");
            let hint = if near.is_empty() { String::new() } else { format!("; did you mean {near}?") };
            let Catalog { one, many, .. } = self;
            return Err(Failure::usage(format!(
                "no {one} is called {name}{hint}\n`toprank {many}` lists them"
            )));
        };
        if common.json {
            let mut value = self.as_json(line);
            value["page"] = json!(line.page);
            return print_json(&value);
        }
        print(&self.page(line))
    }

    fn find(&self, name: &str) -> Option<&Line> {
        let name = self.aliases.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
        self.lines.iter().find(|line| line.name == name)
    }

    fn aliases_of(&self, line: &Line) -> Vec<&'static str> {
        self.aliases.iter().filter(|(_, name)| *name == line.name).map(|(alias, _)| *alias).collect()
    }

    fn table(&self) -> String {
        let mut text = String::new();
        let mut families: Vec<&str> = Vec::new();
        for line in &self.lines {
            if !families.contains(&line.family) {
                families.push(line.family);
            }
        }
        for family in families {
            let mut table = Table::new(["", ""]).words(1);
            for line in self.lines.iter().filter(|line| line.family == family) {
                table.row([format!("  {}", usage(line)), line.about.to_string()]);
            }
            text += &format!("{family}\n{}\n", table.body());
        }
        text + &self.closing + &format!("`toprank {} NAME` explains one.\n", self.many)
    }

    fn page(&self, line: &Line) -> String {
        let mut text = format!("{}: {}\n", usage(line), line.about);
        let aliases = self.aliases_of(line);
        if !aliases.is_empty() {
            text += &format!("Also called {}.\n", aliases.join(", "));
        }
        text += &format!("\n{}\n", line.page.trim());
        if !line.params.is_empty() {
            let mut table =
                Table::new(["parameter", "default", "range", "meaning"]).words(1).words(2).words(3);
            for param in line.params {
                table.row([param.name, param.default, param.range, param.about]);
            }
            text += &format!("\n{}", table.render(Style::Table));
        }
        if !line.examples.is_empty() {
            text += &format!("\nExamples: {}\n", line.examples.join(", "));
        }
        text
    }

    fn as_json(&self, line: &Line) -> Value {
        let param =
            |p: &Param| json!({"name": p.name, "default": p.default, "range": p.range, "about": p.about});
        json!({
            "name": line.name,
            "aliases": self.aliases_of(line),
            "family": line.family,
            "about": line.about,
            "params": line.params.iter().map(param).collect::<Vec<_>>(),
            "examples": line.examples,
        })
    }
}

/// `pauc[:fpr=…]`, `ndcg[@k]`: the name with its parameters; many are left to the page.
fn usage(line: &Line) -> String {
    const MOST: usize = 3;
    let mut text = line.name.to_string();
    if let Some(cut) = line.params.iter().find(|param| param.name == "@") {
        text += if cut.default.is_empty() { "@k" } else { "[@k]" };
    }
    let keys: Vec<&str> = line.params.iter().map(|param| param.name).filter(|name| *name != "@").collect();
    if keys.len() > MOST {
        return text + "[:key=…]…";
    }
    for key in keys {
        text += &format!("[:{key}=…]");
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
