//! `toprank metrics`, `objectives`, `models` and `formats`: the library's tables, and a page about each line.

use serde_json::{Value, json};
use toprank::core::{Entry, Param, Policy, catalog};
use toprank::data::formats::FORMATS;
use toprank::metrics::PRESETS;
use toprank::train::rank::choice::{ModelKind, serving};
use toprank::{embeddings, metrics, objectives, train};

use crate::failure::Failure;
use crate::{Common, page, print, print_json};

/// List the metrics, or explain one: formula, parameters, ties, empty lists, cost
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  toprank metrics\n  toprank metrics ndcg")]
pub struct Metrics {
    /// Metric to explain
    name: Option<String>,
}

impl Metrics {
    /// Prints the table or one page of it.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let tools: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        let catalog = Catalog {
            one: "metric",
            command: "metrics",
            lines: metrics::METRICS.iter().map(|entry| Line::new(entry, &[]).trained_by()).collect(),
            aliases: metrics::ALIASES,
            also: Vec::new(),
            closing: format!(
                "Write a metric as name[@cut-off][:key=value]…, several separated by commas: \
                 ndcg@10:gain=linear,map,pauc:fpr=0.1\n\n\
                 Every metric also takes the rules {}. --like {} sets the rules to the conventions of that tool.\n",
                Policy::KEYS.join(", "),
                tools.join("|")
            ),
        };
        catalog.run(self.name.as_deref(), common)
    }
}

/// List the objectives, or explain one: loss, gradient, parameters, lists without gradient, cost
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  toprank objectives\n  toprank objectives song")]
pub struct Objectives {
    /// Objective to explain
    name: Option<String>,
}

impl Objectives {
    /// Prints the table or one page of it.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        // --objective takes a metric, too: its page says what is trained with then.
        let metric = |name: &&String| objectives::find(name).is_none() && metrics::find(name).is_some();
        if self.name.as_ref().is_some_and(|name| metric(&name)) {
            return Metrics { name: self.name.clone() }.run(common);
        }
        let catalog = Catalog {
            one: "objective",
            command: "objectives",
            lines: objectives::OBJECTIVES.iter().map(|line| Line::new(&line.entry, line.examples)).collect(),
            aliases: objectives::ALIASES,
            also: metrics::METRICS.iter().map(|entry| entry.name).collect(),
            closing: "Write an objective as name[@cut-off][:key=value]…: song:gamma=0.3, lambdarank@30:gain=linear\n\n\
                      `toprank gradient` gives the loss and the gradient of an objective on your scores.\n"
                .into(),
        };
        catalog.run(self.name.as_deref(), common)
    }
}

/// List models, samplers, optimisers, schedules and weight averages, or explain one of them
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  toprank models\n  toprank models mlp\n  toprank models pairs")]
pub struct Models {
    /// Model, sampler, optimiser, schedule or weight average to explain
    name: Option<String>,
}

impl Models {
    /// Prints the table or one page of it.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let mut lines: Vec<Line> =
            train::rank::models::NETWORKS.iter().map(|entry| Line::new(entry, &[])).collect();
        lines.extend(train::rank::models::TREES.iter().map(|entry| Line::new(entry, &[])));
        lines.extend(train::rank::models::AUTO.iter().map(|entry| Line::new(entry, &[])));
        lines.extend(embeddings::MODELS.iter().map(|entry| Line::new(entry, &[])));
        lines.extend(embeddings::ITEM_MODELS.iter().map(|entry| Line::new(entry, &[])));
        lines.extend(train::SAMPLERS.iter().map(|entry| Line::new(entry, &[])));
        lines.extend(train::OPTIMISERS.iter().map(|entry| Line::new(entry, &[])));
        lines.extend(train::SCHEDULES.iter().map(|entry| Line::new(entry, &[])));
        lines.extend(train::AVERAGES.iter().map(|entry| Line::new(entry, &[])));
        let catalog = Catalog {
            one: "model, sampler, optimiser, schedule or weight average",
            command: "models",
            lines,
            aliases: &[],
            also: Vec::new(),
            closing: "Write one as name[:key=value]…: --model mlp:hidden=256-128, --model trees:l2=1, --sampler \
                      pairs:batch=256:items=100, --optimiser adamw:decay=0.01, --schedule cosine:warmup=0.05\n"
                .into(),
        };
        catalog.run(self.name.as_deref(), common)
    }
}

/// A table of the library, ready to be shown.
struct Catalog {
    /// What one of its lines is, for messages.
    one: &'static str,
    /// The command that lists them, which is also the key of the list in JSON.
    command: &'static str,
    lines: Vec<Line>,
    aliases: &'static [(&'static str, &'static str)],
    /// Further names that may have been meant.
    also: Vec<&'static str>,
    /// What is said below the table.
    closing: String,
}

/// One line of it.
#[derive(Clone)]
struct Line {
    name: &'static str,
    /// As it was asked for: the name, or the name with parameters.
    asked: String,
    family: &'static str,
    about: &'static str,
    page: &'static str,
    params: &'static [Param],
    examples: &'static [&'static str],
    /// Kind of model, and the objective that trains it for this metric; empty for what is no metric.
    trained_by: Vec<(&'static str, Option<String>)>,
}

/// The kinds of models, as a person calls them.
const KINDS: [(&str, ModelKind); 4] = [
    ("networks", ModelKind::Network),
    ("trees", ModelKind::Trees),
    ("recommenders", ModelKind::Recommender),
    ("embeddings", ModelKind::Embedding),
];

impl Line {
    fn new<T: ?Sized>(entry: &Entry<T>, examples: &'static [&'static str]) -> Line {
        let Entry { name, family, about, page, params, .. } = *entry;
        Line { name, asked: name.into(), family, about, page, params, examples, trained_by: Vec::new() }
    }

    /// The same metric with the objectives that serve it.
    fn trained_by(self) -> Line {
        let trained_by = KINDS.iter().map(|(kind, by)| (*kind, serving(&self.asked, *by))).collect();
        Line { trained_by, ..self }
    }

    /// The same line as it was asked for: with parameters another objective may serve a metric (`pauc:fpr=0.1`).
    fn asked_as(&self, text: &str) -> Line {
        let line = Line { asked: text.into(), ..self.clone() };
        if self.trained_by.is_empty() { line } else { line.trained_by() }
    }

    /// Which objective `--objective NAME` trains each kind of model with.
    fn training(&self) -> String {
        let Some((_, Some(first))) = self.trained_by.first() else {
            return match self.trained_by.is_empty() {
                true => String::new(),
                false => "No objective serves this metric by itself: name one with --algorithm.".into(),
            };
        };
        let usage = format!("`--objective {}` trains", self.asked);
        if self.trained_by.iter().all(|(_, objective)| objective.as_ref() == Some(first)) {
            return format!("{usage} every kind of model with `{first}`.");
        }
        let each = self.trained_by.iter().map(|(kind, objective)| match objective {
            Some(objective) => format!("{kind} with `{objective}`"),
            None => format!("{kind} with no objective of its own"),
        });
        format!("{usage} {}.", each.collect::<Vec<_>>().join(", "))
    }
}

impl Catalog {
    fn run(&self, name: Option<&str>, common: &Common) -> Result<(), Failure> {
        let Some(name) = name else {
            if common.json {
                let lines: Vec<Value> = self.lines.iter().map(|line| self.as_json(line)).collect();
                return print_json(&json!({ self.command: lines }));
            }
            return print(&self.table(page::width()));
        };
        let Some(line) = self.find(name) else {
            let known =
                self.lines.iter().map(|line| line.name).chain(self.aliases.iter().map(|alias| alias.0));
            let unknown = catalog::unknown(self.one, name, known.chain(self.also.iter().copied()));
            return Err(unknown.into());
        };
        let line = &if name.starts_with(line.name) { line.asked_as(name) } else { line.clone() };
        if common.json {
            let mut value = self.as_json(line);
            value["page"] = json!(line.page);
            return print_json(&value);
        }
        print(&self.page(line, page::width()))
    }

    fn find(&self, name: &str) -> Option<&Line> {
        let name = self.aliases.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
        self.lines.iter().find(|line| is_of(line, name))
    }

    /// The aliases of a line with what they stand for: the line itself, or the line with parameters.
    fn aliases_of(&self, line: &Line) -> Vec<(&'static str, &'static str)> {
        self.aliases.iter().filter(|(_, meant)| is_of(line, meant)).copied().collect()
    }

    fn table(&self, width: usize) -> String {
        let mut text = String::new();
        let mut families: Vec<&str> = Vec::new();
        for line in &self.lines {
            if !families.contains(&line.family) {
                families.push(line.family);
            }
        }
        for family in families {
            let lines = self.lines.iter().filter(|line| line.family == family);
            let rows: Vec<Vec<String>> =
                lines.map(|line| vec![format!("  {}", usage(line)), line.about.to_string()]).collect();
            text += &format!("{family}\n{}\n", page::table(&rows, width));
        }
        let closing = format!("{}\n`toprank {} NAME` explains one.", self.closing, self.command);
        text + &page::render(&closing, width)
    }

    fn page(&self, line: &Line, width: usize) -> String {
        let mut text = format!("{}: {}\n", usage(line), line.about);
        for (alias, meant) in self.aliases_of(line) {
            text += &match meant == line.name {
                true => format!("Also called {alias}.\n"),
                false => format!("{meant} is also called {alias}.\n"),
            };
        }
        text += &format!("\n{}", page::render(line.page, width));
        if !line.params.is_empty() && !page::lists_parameters(line.page) {
            let mut rows = vec![["parameter", "default", "range", "meaning"].map(String::from).to_vec()];
            let row = |param: &Param| {
                [param.name, param.default, param.range, param.about].map(String::from).to_vec()
            };
            rows.extend(line.params.iter().map(row));
            text += &format!("\n{}", page::table(&rows, width));
        }
        let training = line.training();
        if !training.is_empty() {
            text += &format!("\n{}", page::render(&training, width));
        }
        if !line.examples.is_empty() {
            text += &format!("\n{}", page::render(&format!("Examples: {}", line.examples.join(", ")), width));
        }
        text
    }

    fn as_json(&self, line: &Line) -> Value {
        let param =
            |p: &Param| json!({"name": p.name, "default": p.default, "range": p.range, "about": p.about});
        let mut value = json!({
            "name": line.name,
            "aliases": self.aliases_of(line).iter().map(|(alias, _)| alias).collect::<Vec<_>>(),
            "family": line.family,
            "about": line.about,
            "params": line.params.iter().map(param).collect::<Vec<_>>(),
            "examples": line.examples,
        });
        if !line.trained_by.is_empty() {
            value["trained_by"] =
                line.trained_by.iter().map(|(kind, by)| ((*kind).to_string(), json!(by))).collect();
        }
        value
    }
}

/// True if `text` is the line, with parameters or without.
fn is_of(line: &Line, text: &str) -> bool {
    text.split([':', '@']).next() == Some(line.name)
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

/// List the data formats, or explain one
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  toprank formats\n  toprank formats letor")]
pub struct Formats {
    /// Format to explain
    name: Option<String>,
}

impl Formats {
    /// Prints the table or one page of it.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let chosen: Vec<&toprank::data::Format> = match &self.name {
            None => FORMATS.iter().collect(),
            Some(name) => {
                let known = || FORMATS.iter().map(|format| format.name);
                let unknown = || Failure::from(catalog::unknown("format", name, known()));
                vec![toprank::data::formats::by_name(name).ok_or_else(unknown)?]
            }
        };
        if common.json {
            let entry = |f: &&toprank::data::Format| json!({"name": f.name, "about": f.about, "extensions": f.extensions, "writes": f.write.is_some()});
            let all: Vec<Value> = chosen.iter().map(entry).collect();
            return print_json(&json!({"formats": all}));
        }
        let width = page::width();
        if let (Some(_), [format]) = (&self.name, chosen.as_slice()) {
            let access = if format.write.is_some() { "read and written" } else { "read" };
            let by = match format.extensions {
                [] => "It has no extension of its own: it is recognised by its content".to_string(),
                some => format!(
                    "Files whose names end in {} are taken for it",
                    some.iter().map(|e| format!(".{e}")).collect::<Vec<_>>().join(", ")
                ),
            };
            let about = format!(
                "{}: {}\n\nIt can be {access}. {by}, or named with `--input-format {}`.",
                format.name, format.about, format.name
            );
            let mut text = page::render(&about, width);
            if let Ok(example) = std::str::from_utf8(format.example)
                && example.chars().all(|c| !c.is_control() || c.is_whitespace())
            {
                let lines: String = example.lines().take(8).map(|line| format!("  {line}\n")).collect();
                text += &format!("\nExample:\n{lines}");
            }
            return print(&(text + "\n" + &page::render(DAMAGE, width)));
        }
        let mut rows = vec![["format", "extensions", "access", "content"].map(String::from).to_vec()];
        for format in chosen {
            let access = if format.write.is_some() { "read, write" } else { "read" };
            rows.push(
                [format.name, &format.extensions.join(" "), access, format.about].map(String::from).to_vec(),
            );
        }
        print(&(page::table(&rows, width) + "\n" + &page::render(DAMAGE, width)))
    }
}

/// Which formats find damage, below the table of formats and each of its pages.
const DAMAGE: &str = "Damaged files: toprank-data (and the .toprank-graph of `pagerank rank --save`) hold a checksum of every \
    256 KiB, compared before they are used. A .gz or .zst file holds a checksum of its content; toprank writes both with one. Parquet pages \
    are compared with their checksums where the writer stored them; toprank stores none. Arrow, idx and plain text hold \
    none: there a changed digit is another number. Pack text (.zst), or convert it to toprank-data, to have damage found.";
