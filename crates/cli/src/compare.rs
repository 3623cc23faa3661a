//! `toprank compare`: is the difference between rankings real?

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toprank::metrics::bootstrap::{Interval, Unit};
use toprank::metrics::compare::{
    CompareOptions, Comparison, PairResult, compare, correct_over_all, decides, p_text,
};
use toprank::metrics::rows::ROW_TESTS;
use toprank::metrics::significance::{Correction, TESTS, TukeyKind};
use toprank::metrics::{Average, Better, Measure, MeasureResult};

use crate::contest::{self, Contest, Run};
use crate::evaluate::{check_per_list, is_standard_output, methods};
use crate::failure::Failure;
use crate::rules::Measures;
use crate::table::{Cell, Style, Table, catalog_help, csv_cell};
use crate::{Common, print, print_json};

/// Compare two or more rankings: verdicts, tests, intervals, effect sizes
#[derive(clap::Args, Debug)]
#[command(after_help = after_help())]
pub struct Compare {
    /// Rankings, as NAME=FILE (scores or a model with --data, runs with --qrels), NAME=feature:N or NAME=column:C
    #[arg(required = true, num_args = 2.., value_name = "NAME=FILE")]
    runs: Vec<String>,
    #[command(flatten)]
    contest: Contest,
    /// Tukey's HSD over all runs: randomised (shuffles within lists) or studentised
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = "randomised")]
    tukey: Option<String>,
    /// Number of lists with the largest differences to show for each pair
    #[arg(long, value_name = "N", default_value_t = 5)]
    biggest: usize,
    /// Plot the per-list differences between the last two runs by the first metric (.svg; .png if built with it)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Write the value of every list and run to a CSV file; - prints the CSV instead of the report
    #[arg(long, value_name = "FILE")]
    per_list: Option<PathBuf>,
    /// Print style; --json is short for json
    #[arg(long, value_enum, value_name = "STYLE", default_value = "table")]
    format: Style,
}

fn after_help() -> String {
    let over_lists = catalog_help(TESTS.iter().map(|entry| (entry.name, entry.about, entry.params)));
    let over_rows = catalog_help(ROW_TESTS.iter().map(|entry| (entry.name, entry.about, entry.params)));
    format!(
        "Tests over lists (queries, users):\n{over_lists}\nTests over rows (binary and multi-label data):\n{over_rows}\nExamples:\n  \
         toprank compare --data test.txt -m ndcg@10 a=scores_a.txt b=scores_b.txt\n  \
         toprank compare --qrels qrels.txt bm25=bm25.run dense=dense.run --like trec_eval -m map,ndcg_cut_10 --plot d.svg\n  \
         toprank compare --data test.csv --label fraud -m auroc,auprc old=old.txt new=new.txt\n  \
         toprank compare --data test.txt a=feature:5 b=feature:12 c=scores.txt --tukey --format latex\n\n\
         Every verdict names the difference, its interval, the corrected p value of the first test that is defined, and\n\
         wins/ties/losses over lists. Intervals of differences have the level of the correction, so that they agree with the\n\
         corrected test; a verdict says where they do not. The first run is the baseline of the daggers in the table.\n\
         d is the effect size: the mean difference over the standard deviation of the differences (Cohen's d of pairs).\n\
         With --qrels every judged query counts: one that a run does not answer is an empty ranking."
    )
}

impl Compare {
    /// Reads, evaluates, tests, prints.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let mut options = self.contest.options()?;
        options.tukey = match self.tukey.as_deref() {
            None => None,
            Some("randomised" | "randomized") => Some(TukeyKind::default()),
            Some("studentised" | "studentized") => Some(TukeyKind::Studentised),
            Some(other) => {
                return Err(Failure::usage(format!(
                    "--tukey must be randomised or studentised, but is {other}"
                )));
            }
        };
        options.biggest = self.biggest;
        check_per_list(self.per_list.as_deref(), self.format.or_json(common))?;
        let measures = self.contest.measures()?;
        let named = contest::named_runs(&self.runs)?;
        let basis = self.contest.read(&named, &measures, Vec::new(), common)?;
        let runs = contest::evaluated(&basis, named, &measures, common)?;
        let comparisons = self.contest.compared(&basis, &runs, &measures, options)?;
        if let Some(path) = &self.per_list {
            write_per_list(path, &runs)?;
        }
        if let Some(path) = &self.plot {
            plot(path, &runs, &comparisons, measures.all[0].name())?;
        }
        if self.per_list.as_deref().is_some_and(is_standard_output) {
            return Ok(()); // standard output is the CSV's alone
        }
        let shown = Shown { comparisons: &comparisons, runs: &runs, measures: &measures };
        match self.format.or_json(common) {
            Style::Json => print_json(&report(&comparisons, &runs, &measures)),
            Style::Csv => print(&shown.pairs().render(Style::Csv)),
            style => print(&shown.text(style)),
        }
    }
}

/// What is printed for a reader.
pub struct Shown<'a> {
    pub comparisons: &'a [Comparison],
    pub runs: &'a [Run<'a>],
    pub measures: &'a Measures,
}

impl Shown<'_> {
    /// Each metric with its comparison.
    pub fn each(&self) -> impl Iterator<Item = (&Comparison, &str)> {
        self.comparisons.iter().zip(self.measures.all.iter().map(Measure::name))
    }

    /// Everything, in a style.
    pub fn text(&self, style: Style) -> String {
        let mut parts =
            vec![self.verdicts(style), self.matrix(style) + &self.legend(style), self.pairs().render(style)];
        parts.extend(self.labels().map(|table| table.render(style)));
        parts.extend(self.biggest().iter().map(|table| table.render(style)));
        if style == Style::Table {
            parts.push(self.methods() + &self.measures.policy_text());
        }
        parts.join("\n")
    }

    /// One line per metric and pair.
    fn verdicts(&self, style: Style) -> String {
        // Behind % everything is a comment in LaTeX; only a new line would end it.
        let line = |text: String| match style {
            Style::Markdown => format!("- {}\n", style.text(&text)),
            Style::Latex => format!("% {}\n", Style::Table.text(&text)),
            _ => format!("{}\n", style.text(&text)),
        };
        self.each()
            .flat_map(|(found, metric)| found.pairs.iter().map(move |pair| found.verdict(pair, metric)))
            .map(line)
            .collect()
    }

    /// Runs × metrics: the best mean stands out, a dagger marks a significant difference from the first run.
    /// Runs × metrics as text.
    fn matrix(&self, style: Style) -> String {
        let mut table = Table::new(std::iter::once("run").chain(self.each().map(|(_, metric)| metric)));
        for (r, run) in self.runs.iter().enumerate() {
            let cell = |(found, _): (&Comparison, &str)| {
                let Some(mean) = found.runs[r].mean else { return Cell::from("–") };
                let means = found.runs.iter().filter_map(|run| run.mean);
                let best = match found.better {
                    Better::Higher => means.fold(f64::NEG_INFINITY, f64::max),
                    Better::Lower => means.fold(f64::INFINITY, f64::min),
                };
                let pair = found.pairs.iter().find(|pair| pair.first_run == 0 && pair.second_run == r);
                let p = pair.and_then(|pair| decides(&pair.tests)?.p_corrected);
                let dagger = if p.is_some_and(|p| p <= 1.0 - found.level) { "†" } else { "" };
                Cell::marked(format!("{mean:.4}"), mean == best, dagger)
            };
            table.row(std::iter::once(Cell::from(run.name.clone())).chain(self.each().map(cell)));
        }
        table.render(style)
    }

    fn legend(&self, style: Style) -> String {
        match style {
            Style::Table => {
                format!("* best; † differs from {} (corrected p ≤ {})\n", self.runs[0].name, self.alpha())
            }
            _ => String::new(),
        }
    }

    /// The level of significance.
    fn alpha(&self) -> String {
        let level = self.comparisons.first().map_or(0.95, |found| found.level);
        let text = format!("{:.6}", 1.0 - level);
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    }

    /// One row per metric and pair of runs.
    pub fn pairs(&self) -> Table {
        let first = self.comparisons.first();
        let (unit, correction) = first.map_or((Unit::Lists, Correction::None), |f| (f.unit, f.correction));
        let corrected = match correction {
            Correction::None => String::new(),
            method => format!(" ({method})"),
        };
        let tests = first.and_then(|found| found.pairs.first()).map_or(&[][..], |pair| &pair.tests);
        let mut head = ["metric", "pair", "difference"].map(String::from).to_vec();
        head.push(format!("interval{corrected}"));
        if unit == Unit::Lists {
            head.extend(["d".to_string(), "win/tie/loss".to_string()]);
        }
        head.extend(tests.iter().map(|test| format!("p {}{corrected}", test.test)));
        let tukey = first.is_some_and(|found| found.tukey.is_some());
        head.extend(tukey.then(|| "p tukey".to_string()));
        let mut table = Table::new(head).words(1);
        for (found, metric) in self.each() {
            for (i, pair) in found.pairs.iter().enumerate() {
                let mut row = vec![metric.to_string(), pair_name(pair)];
                row.extend(difference_cells(pair.effects.mean_difference, pair.interval));
                if unit == Unit::Lists {
                    let counts = &pair.win_tie_loss;
                    row.push(pair.effects.cohen_dz.map_or("–".into(), |d| format!("{d:+.2}")));
                    row.push(format!("{}/{}/{}", counts.win, counts.tie, counts.loss));
                }
                row.extend(pair.tests.iter().map(|test| p_cell(test.p_corrected)));
                row.extend(found.tukey.as_ref().map(|tukey| p_cell(tukey.p[i])));
                table.row(row);
            }
        }
        table
    }

    /// The labels of multi-label data one by one.
    pub fn labels(&self) -> Option<Table> {
        let pairs =
            || self.each().flat_map(|(found, metric)| found.pairs.iter().map(move |pair| (metric, pair)));
        let first = pairs().find_map(|(_, pair)| pair.labels.first())?;
        let tests = first.tests.iter().map(|test| format!("p {}", test.test));
        let head = ["metric", "pair", "label", "difference", "interval"].map(String::from);
        let mut table = Table::new(head.into_iter().chain(tests)).words(1).words(2);
        for (metric, pair) in pairs() {
            for label in &pair.labels {
                let name = self.runs[0].judged.names[label.list].clone();
                let mut row = vec![metric.to_string(), pair_name(pair), name];
                row.extend(difference_cells(label.mean_difference, label.interval));
                row.extend(label.tests.iter().map(|test| p_cell(test.p_corrected)));
                table.row(row);
            }
        }
        Some(table)
    }

    /// For each pair the lists that differ most, under the names of the runs; nothing where one list is all there is.
    fn biggest(&self) -> Vec<Table> {
        let mut tables = Vec::new();
        let pairs = self.comparisons.first().map_or(0, |found| found.pairs.len());
        for p in 0..pairs {
            let pair = &self.comparisons[0].pairs[p];
            let head = ["metric", "list", &pair.first, &pair.second, "difference"];
            let mut table = Table::new(head).words(1);
            for (found, metric) in self.each().filter(|(found, _)| found.unit == Unit::Lists) {
                for difference in &found.pairs[p].biggest {
                    table.row([
                        metric.to_string(),
                        self.runs[0].judged.names[difference.list].clone(),
                        format!("{:.4}", difference.first),
                        format!("{:.4}", difference.second),
                        format!("{:+.4}", difference.difference),
                    ]);
                }
            }
            if !table.is_empty() {
                tables.push(table);
            }
        }
        tables
    }

    /// How intervals and p values were found.
    pub fn methods(&self) -> String {
        let pairs = self.each().filter_map(|(found, metric)| Some((metric, found.pairs.first()?.interval)));
        let mut text = methods(pairs);
        for (found, metric) in self.each() {
            let Some(pair) = found.pairs.first() else { continue };
            let tests = pair.tests.iter().filter(|test| test.outcome.p.is_some());
            let tests: Vec<String> =
                tests.map(|test| format!("{} ({})", test.test, test.outcome.method)).collect();
            text += &format!("tests of {metric}: {}\n", tests.join(", "));
        }
        text
    }
}

/// A difference and its interval.
fn difference_cells(difference: f64, interval: Option<Interval>) -> [String; 2] {
    let interval = interval.map_or("–".into(), |i| format!("[{:+.4}, {:+.4}]", i.low, i.high));
    [format!("{difference:+.4}"), interval]
}

fn p_cell(p: Option<f64>) -> String {
    p.map_or("–".into(), p_text)
}

/// The pair as a difference.
pub fn pair_name(pair: &PairResult) -> String {
    format!("{} − {}", pair.second, pair.first)
}

/// Rankings of the same lists on each metric: for each pair of them the difference with its interval and a paired t test, as far as
/// the metric is a mean over lists.
pub fn paired<'a>(
    names: &[String],
    results: &[&[MeasureResult]],
    measures: &'a [Measure],
) -> Result<Vec<(&'a str, Comparison)>, Failure> {
    let mut options = CompareOptions { biggest: 0, ..CompareOptions::with_tests("t")? };
    let mut found = Vec::new();
    for (m, measure) in measures.iter().enumerate() {
        if measure.metric().average() == Average::Arithmetic {
            let values: Vec<&[f64]> = results.iter().map(|results| results[m].per_list.as_slice()).collect();
            options.better = measure.metric().better();
            found.push((measure.name(), compare(names, &values, None, &options)));
        }
    }
    let (metrics, mut comparisons): (Vec<&str>, Vec<Comparison>) = found.into_iter().unzip();
    correct_over_all(&mut comparisons);
    Ok(metrics.into_iter().zip(comparisons).collect())
}

/// The verdicts of [`paired`], a line for each metric and pair.
pub fn verdicts_text(paired: &[(&str, Comparison)]) -> String {
    let lines = |(metric, found): &(&str, Comparison)| {
        let line = |pair| format!("{}\n", Style::Table.text(&found.verdict(pair, metric)));
        found.pairs.iter().map(line).collect::<String>()
    };
    paired.iter().map(lines).collect()
}

/// What [`paired`] found, in the form of `toprank compare --json`.
pub fn paired_json(paired: &[(&str, Comparison)]) -> Value {
    let one = |(metric, found): &(&str, Comparison)| {
        let mut value = json!(found);
        value["metric"] = json!(metric);
        for (i, pair) in value["pairs"].as_array_mut().into_iter().flatten().enumerate() {
            pair["verdict"] = json!(found.verdict(&found.pairs[i], metric));
        }
        value
    };
    paired.iter().map(one).collect()
}

fn report(comparisons: &[Comparison], runs: &[Run], measures: &Measures) -> Value {
    let names = &runs[0].judged.names;
    let comparison = |(comparison, measure): (&Comparison, &Measure)| {
        let mut value = json!(comparison);
        value["metric"] = json!(measure.name());
        for (i, pair) in value["pairs"].as_array_mut().into_iter().flatten().enumerate() {
            pair["verdict"] = json!(comparison.verdict(&comparison.pairs[i], measure.name()));
            for key in ["biggest", "labels"] {
                for difference in pair.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
                    let list = difference["list"].as_u64().unwrap_or_default() as usize;
                    difference["list"] = json!(names[list]);
                }
            }
        }
        value
    };
    let means = |run: &Run| {
        let results = run.evaluation.results.iter();
        (run.name.clone(), Value::Object(results.map(|r| (r.name.clone(), json!(r.mean))).collect()))
    };
    json!({
        "metrics": Value::Object(runs.iter().map(means).collect()),
        "comparisons": comparisons.iter().zip(&measures.all).map(comparison).collect::<Vec<_>>(),
        "lists": {"total": names.len(), "items": runs[0].judged.lists.entries()},
        "policy": measures.policy_json(),
    })
}

fn write_per_list(path: &Path, runs: &[Run]) -> Result<(), Failure> {
    let mut text = String::from("list");
    for run in runs {
        for result in &run.evaluation.results {
            text += &format!(",{}", csv_cell(&format!("{}:{}", run.name, result.name)));
        }
    }
    text.push('\n');
    for (q, name) in runs[0].judged.names.iter().enumerate() {
        text += &csv_cell(name);
        for value in runs.iter().flat_map(|run| &run.evaluation.results).map(|result| result.per_list[q]) {
            text += &if value.is_nan() { ",".to_string() } else { format!(",{value}") };
        }
        text.push('\n');
    }
    Ok(toprank::data::sink::write_file(path, |out| out.write_all(text.as_bytes()))?)
}

/// Draws the difference of every list, of the last two runs by the first metric; of tests over rows, where lists are no sample, the difference
/// of every pair with its interval.
#[cfg(feature = "plots")]
fn plot(path: &Path, runs: &[Run], comparisons: &[Comparison], measure: &str) -> Result<(), Failure> {
    use toprank_plots::{IntervalRow, differences, intervals};
    let Some(comparison) = comparisons.first() else { return Ok(()) };
    let Some(pair) = comparison.pairs.last() else { return Ok(()) };
    let plot = match comparison.unit {
        Unit::Rows => {
            let row = |pair: &PairResult| {
                let value = pair.effects.mean_difference;
                let ends = pair.interval.map_or([value; 2], |interval| [interval.low, interval.high]);
                IntervalRow { name: pair_name(pair), value, low: ends[0], high: ends[1] }
            };
            let rows: Vec<IntervalRow> = comparison.pairs.iter().map(row).collect();
            let title = format!("Differences of {measure} with their intervals");
            intervals(&title, &format!("difference of {measure}"), &rows)
        }
        Unit::Lists => {
            let values = |run: usize| runs[run].evaluation.results[0].per_list.iter();
            let values = values(pair.first_run).zip(values(pair.second_run)).map(|(a, b)| b - a);
            let values: Vec<f64> = values.filter(|d| !d.is_nan()).collect();
            let better = match comparison.better {
                Better::Higher => toprank_plots::Better::Higher,
                Better::Lower => toprank_plots::Better::Lower,
            };
            let title = format!("Difference of {measure} per list: {}", pair_name(pair));
            differences(&title, &format!("difference of {measure}"), &values, better)
        }
    };
    plot.save(path).map_err(Failure::failed)
}

#[cfg(not(feature = "plots"))]
fn plot(_: &Path, _: &[Run], _: &[Comparison], _: &str) -> Result<(), Failure> {
    Err(Failure::usage("this toprank was built without plots; expected a build with the feature plots"))
}
