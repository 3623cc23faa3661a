//! `toprank compare`: is the difference between rankings real?

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toprank::metrics::compare::{CompareOptions, Comparison, PairResult, compare, correct_over_all};
use toprank::metrics::significance::{Correction, TESTS, TukeyKind};
use toprank::metrics::{Evaluation, evaluate};

use crate::evaluate::Bootstrap;
use crate::failure::Failure;
use crate::judged::{Judged, Labels, Ranking};
use crate::reading::Reading;
use crate::rules::{Measures, Rules};
use crate::table::{Style, Table, catalog_help, csv_cell};
use crate::{Common, note, print, print_json};

/// Compare two or more rankings: tests, intervals, effect sizes, wins and losses
#[derive(clap::Args, Debug)]
#[command(after_help = after_help())]
pub struct Compare {
    #[command(flatten)]
    labels: Labels,
    /// Rankings, as NAME=FILE (scores with --data, runs with --qrels), NAME=feature:N or NAME=column:C
    #[arg(required = true, num_args = 2.., value_name = "NAME=FILE")]
    runs: Vec<String>,
    /// Metrics, separated by commas (see `toprank metrics`)
    #[arg(long, short, value_name = "METRICS", default_value = "ndcg@10")]
    metrics: String,
    /// Tests, separated by commas
    #[arg(long, value_name = "TESTS", default_value = "t,wilcoxon,randomisation")]
    tests: String,
    /// Correction of p values over all pairs and metrics: holm, bh (Benjamini–Hochberg), none
    #[arg(long, value_name = "METHOD", default_value = "holm")]
    correction: String,
    /// Tukey's HSD over all runs: randomised (shuffles within lists) or studentised
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = "randomised")]
    tukey: Option<String>,
    /// How many of the lists that differ most to show for each pair
    #[arg(long, value_name = "N", default_value_t = 5)]
    biggest: usize,
    /// Plot the per-list differences of the first pair and metric (.svg or .png)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Write the value of every list and run to a CSV file (- is standard output)
    #[arg(long, value_name = "FILE")]
    per_list: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value = "table")]
    output: Style,
    #[command(flatten)]
    bootstrap: Bootstrap,
    #[command(flatten)]
    rules: Rules,
    #[command(flatten)]
    reading: Reading,
}

fn after_help() -> String {
    let listed = catalog_help(TESTS.iter().map(|entry| (entry.name, entry.about, entry.params)));
    format!(
        "Tests:\n{listed}\nExamples:\n  \
         toprank compare --data test.txt --metrics ndcg@10 a=scores_a.txt b=scores_b.txt\n  \
         toprank compare --qrels qrels.txt bm25=bm25.run dense=dense.run --like trec_eval -m map,ndcg@10 --plot d.svg\n  \
         toprank compare --data test.txt a=feature:5 b=feature:12 c=scores.txt --tukey --output latex\n\n\
         Differences are second − first. With --qrels every judged query counts: one that a run does not answer is an\n\
         empty ranking."
    )
}

/// One run, judged.
struct Run<'a> {
    name: String,
    judged: Judged<'a>,
    evaluation: Evaluation,
}

impl Compare {
    /// Reads, judges, tests, prints.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let measures = self.rules.measures(&self.metrics)?;
        let mut options = self.options()?;
        let named = self.runs.iter().map(|text| named(text)).collect::<Result<Vec<_>, _>>()?;
        if let Some(i) = (1..named.len()).find(|&i| named[..i].iter().any(|(name, _)| *name == named[i].0)) {
            return Err(Failure::usage(format!(
                "two runs are called {}; give each its own NAME=FILE",
                named[i].0
            )));
        }
        let columns = named.iter().filter_map(|(_, ranking)| match ranking {
            Ranking::Column(column) => Some(column.clone()),
            _ => None,
        });
        let basis =
            self.labels.read(&self.reading, columns.collect(), true, measures.policy.scores, common)?;
        let mut runs = Vec::new();
        for (name, ranking) in named {
            let mut judged = basis.judge(&ranking, false, common)?;
            judged.weigh(measures.like);
            let evaluation = evaluate(&judged.lists, &judged.scores, &measures.all)
                .map_err(|error| basis.explain(&error))?;
            if let Some((missing, unknown)) = judged.only_in.filter(|counts| counts.0 + counts.1 > 0) {
                note(
                    common,
                    format!(
                        "{name}: {missing} judged queries unanswered (empty rankings), {unknown} queries not judged"
                    ),
                );
            }
            runs.push(Run { name, judged, evaluation });
        }
        let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
        let weights = runs[0].judged.lists.list_weights.clone();
        let mut comparisons: Vec<Comparison> = (0..measures.all.len())
            .map(|m| {
                let values: Vec<&[f64]> =
                    runs.iter().map(|run| run.evaluation.results[m].per_list.as_slice()).collect();
                options.better = measures.all[m].metric().better();
                compare(&names, &values, weights.as_deref(), &options)
            })
            .collect();
        correct_over_all(&mut comparisons);
        if let Some(path) = &self.per_list {
            write_per_list(path, &runs)?;
        }
        if let Some(path) = &self.plot {
            plot(path, &runs, &comparisons, measures.all[0].name())?;
        }
        match if common.json { Style::Json } else { self.output } {
            Style::Json => print_json(&report(&comparisons, &runs, &measures)),
            style => print(&self.tables(&comparisons, &runs, &measures, style)),
        }
    }

    fn options(&self) -> Result<CompareOptions, Failure> {
        let mut options = CompareOptions::with_tests(&self.tests)?;
        options.correction = self.correction.parse::<Correction>()?;
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
        options.seed = self.bootstrap.seed;
        if let Some(interval) = self.bootstrap.options()? {
            options.interval = interval;
        }
        options.check()?;
        Ok(options)
    }

    fn tables(&self, comparisons: &[Comparison], runs: &[Run], measures: &Measures, style: Style) -> String {
        let mut means = Table::new(["metric", "run", "mean", "interval", "lists"]).words(1);
        let mut head: Vec<String> =
            ["metric", "pair", "difference", "interval", "d", "win/tie/loss"].map(String::from).to_vec();
        let tests: Vec<&str> = comparisons
            .first()
            .and_then(|comparison| comparison.pairs.first())
            .map_or(Vec::new(), |pair| pair.tests.iter().map(|test| test.test.as_str()).collect());
        let corrected = match self.correction.as_str() {
            "none" => String::new(),
            method => format!(" ({method})"),
        };
        head.extend(tests.iter().map(|test| format!("p {test}{corrected}")));
        if self.tukey.is_some() {
            head.push("p tukey".into());
        }
        let mut pairs = Table::new(head).words(1);
        let mut biggest =
            Table::new(["metric", "pair", "list", "first", "second", "difference"]).words(1).words(2);
        for (comparison, measure) in comparisons.iter().zip(&measures.all) {
            for run in &comparison.runs {
                let mean = run.mean.map_or("–".into(), |mean| format!("{mean:.4}"));
                let interval =
                    run.interval.map_or("–".into(), |i| format!("[{:.4}, {:.4}]", i.low, i.high));
                means.row([measure.name(), &run.name, &mean, &interval, &run.lists.to_string()]);
            }
            for (i, pair) in comparison.pairs.iter().enumerate() {
                let mut row = pair_row(measure.name(), pair);
                row.extend(pair.tests.iter().map(|test| p_text(test.p_corrected)));
                if let Some(tukey) = &comparison.tukey {
                    row.push(p_text(tukey.p[i]));
                }
                pairs.row(row);
                for difference in &pair.biggest {
                    biggest.row([
                        measure.name().to_string(),
                        pair_name(pair),
                        runs[0].judged.names[difference.list].clone(),
                        format!("{:.4}", difference.first),
                        format!("{:.4}", difference.second),
                        format!("{:+.4}", difference.difference),
                    ]);
                }
            }
        }
        let mut text = format!("{}\n{}", means.render(style), pairs.render(style));
        if !biggest.is_empty() {
            text += &format!("\n{}", biggest.render(style));
        }
        if style == Style::Table {
            text += &format!("\n{}", measures.policy_text());
        }
        text
    }
}

/// `NAME=FILE`, `NAME=feature:N`, `NAME=column:C`; without a name the file's own.
fn named(text: &str) -> Result<(String, Ranking), Failure> {
    let (name, place) = match text.split_once('=') {
        Some((name, place)) => (name.to_string(), place),
        None => (toprank::data::Source::path(text).stem().to_string(), text),
    };
    if name.is_empty() || place.is_empty() {
        return Err(Failure::usage(format!("a run must be NAME=FILE, but is {text}")));
    }
    let ranking = match place.split_once(':') {
        Some(("feature", feature)) => Ranking::Feature(feature.to_string()),
        Some(("column", column)) => Ranking::Column(column.to_string()),
        _ => Ranking::File(place.to_string()),
    };
    Ok((name, ranking))
}

fn pair_name(pair: &PairResult) -> String {
    format!("{} − {}", pair.second, pair.first)
}

fn pair_row(measure: &str, pair: &PairResult) -> Vec<String> {
    let counts = &pair.win_tie_loss;
    vec![
        measure.to_string(),
        pair_name(pair),
        format!("{:+.4}", pair.effects.mean_difference),
        pair.interval.map_or("–".into(), |i| format!("[{:+.4}, {:+.4}]", i.low, i.high)),
        pair.effects.cohen_dz.map_or("–".into(), |d| format!("{d:+.2}")),
        format!("{}/{}/{}", counts.win, counts.tie, counts.loss),
    ]
}

fn p_text(p: Option<f64>) -> String {
    match p {
        None => "–".into(),
        Some(p) if p < 0.0001 => format!("{p:.1e}"),
        Some(p) => format!("{p:.4}"),
    }
}

fn report(comparisons: &[Comparison], runs: &[Run], measures: &Measures) -> Value {
    let names = &runs[0].judged.names;
    let comparison = |(comparison, measure): (&Comparison, &toprank::metrics::Measure)| {
        let mut value = json!(comparison);
        value["metric"] = json!(measure.name());
        for pair in value["pairs"].as_array_mut().into_iter().flatten() {
            for difference in pair["biggest"].as_array_mut().into_iter().flatten() {
                let list = difference["list"].as_u64().unwrap_or_default() as usize;
                difference["list"] = json!(names[list]);
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

#[cfg(feature = "plots")]
fn plot(path: &Path, runs: &[Run], comparisons: &[Comparison], measure: &str) -> Result<(), Failure> {
    let Some(pair) = comparisons.first().and_then(|comparison| comparison.pairs.first()) else {
        return Ok(());
    };
    let values = |run: usize| runs[run].evaluation.results[0].per_list.iter();
    let differences: Vec<f64> = values(pair.first_run)
        .zip(values(pair.second_run))
        .map(|(a, b)| b - a)
        .filter(|d| !d.is_nan())
        .collect();
    let title = format!("{measure}: {}", pair_name(pair));
    toprank_plots::differences(&title, measure, &differences).save(path).map_err(Failure::failed)
}

#[cfg(not(feature = "plots"))]
fn plot(_: &Path, _: &[Run], _: &[Comparison], _: &str) -> Result<(), Failure> {
    Err(Failure::usage("this toprank was built without plots; expected a build with the feature plots"))
}
