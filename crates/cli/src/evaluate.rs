//! `toprank evaluate`: how good is one ranking?

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use toprank::core::Lists;
use toprank::metrics::bootstrap::{Interval, IntervalKind, IntervalOptions, Unit};
use toprank::metrics::probability::{Reliability, reliability};
use toprank::metrics::{Evaluation, ItemWeights, MeasureResult, evaluate, intervals_over_lists, pool, rows};

use crate::class_plots::{self, NamedRun, Origin};
use crate::failure::Failure;
use crate::judged::{Basis, Judged, Labels, Ranking, ScoreSource};
use crate::reading::Reading;
use crate::rules::{Measures, Rules};
use crate::table::{Style, Table, counted, csv_cell};
use crate::{Common, note, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank evaluate --data test.txt --scores scores.txt -m ndcg@10,map --per-list out.csv
  toprank evaluate --qrels qrels.test --run results.test --like trec_eval -m map,P_5,ndcg_cut_10 --json
  toprank evaluate --data test.csv --list query_id --label grade --score-column bm25 --by market
  toprank evaluate --data test.txt --feature 110 -m ndcg@10,ndcg@10:gain=linear --format markdown
  toprank evaluate --data test.csv --label label --scores s.txt -m auroc,auprc,pauc:fpr=0.1,p:recall=0.8 --plot curves.svg
  toprank evaluate --data test.csv --label label --scores new.txt --also old=old.txt -m auroc --plot both.svg
  toprank evaluate --data test.csv --label label --scores p.txt --probability --reliability-plot reliability.svg

A scores file has one number per line, in the order of the data's rows (multi-label data: one number per label).
A list on which a metric is undefined is excluded from its mean unless --empty says otherwise; the policy is always printed.
Metrics may be named as trec_eval (P_5, all_trec), ir_measures (nDCG@10, P(rel=2)@5) and scikit-learn (roc_auc) name them.

Intervals come from a bootstrap over lists. Binary data are one list and multi-label data one list per label: there rows are
resampled (in binary data relevant and other rows separately), and AUROC has DeLong's interval. With fewer than 50 relevant
rows intervals are too short.

--plot draws ROC and precision-recall curves; the region of the first pauc metric is shaded, the recall of p:recall=… marked.
Several lists are pooled into one, as the title then says; labels of multi-label data are drawn separately (up to 14, one run).
--probability takes the scores as probabilities (of `toprank predict --probability`) and adds Brier score, log loss and the
expected calibration error over 10 bins of equally many items; smaller is better. These evaluate numbers, not an order.
`toprank metrics` lists the metrics.";

/// Evaluate one ranking: means, intervals, values per list, slices
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Evaluate {
    #[command(flatten)]
    labels: Labels,
    #[command(flatten)]
    scores: ScoreSource,
    /// Run: query Q0 document rank score tag (or JSON, CSV, Parquet); goes with --qrels
    #[arg(
        long,
        value_name = "FILE",
        group = "ranking",
        requires = "qrels",
        help_heading = "What is evaluated"
    )]
    run: Option<String>,
    /// Smaller scores are better
    #[arg(long, help_heading = "What is evaluated")]
    reverse: bool,
    /// Metrics, separated by commas (see `toprank metrics`)
    #[arg(long, short, value_name = "METRICS", default_value = "ndcg@10,map,mrr")]
    metrics: String,
    /// Write the value of every list to a CSV file; - prints the CSV instead of the report
    #[arg(long, value_name = "FILE")]
    per_list: Option<PathBuf>,
    /// Add one result per value of a column, from the items of each list that have it
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// Take the mean over lists (macro), or evaluate all lists as one (micro)
    #[arg(long, value_enum, default_value = "macro")]
    average: Average,
    /// Draw ROC and precision–recall curves (.svg; .png if built with it)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Add a run to the plot, as NAME=FILE; may be repeated
    #[arg(long, value_name = "NAME=FILE", requires = "plot")]
    also: Vec<String>,
    /// Evaluate the scores as probabilities, too
    #[arg(long)]
    probability: bool,
    /// Draw a reliability diagram: predicted probability against observed fraction (.svg; .png if built with it)
    #[arg(long, value_name = "FILE", requires = "probability")]
    reliability_plot: Option<PathBuf>,
    /// Print style; --json is short for json
    #[arg(long, value_enum, value_name = "STYLE", default_value = "table")]
    format: Style,
    #[command(flatten)]
    bootstrap: Bootstrap,
    #[command(flatten)]
    rules: Rules,
    #[command(flatten)]
    reading: Reading,
}

/// How lists become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Average {
    /// Mean over lists.
    Macro,
    /// All lists pooled into one.
    Micro,
}

/// Confidence intervals.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Intervals")]
pub struct Bootstrap {
    /// Confidence level
    #[arg(long, value_name = "LEVEL", default_value_t = 0.95)]
    level: f64,
    /// Number of bootstrap resamples; 0 disables intervals
    #[arg(long, value_name = "N", default_value_t = 1000)]
    replicates: usize,
    /// Seed of resamples and random tests
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

impl Bootstrap {
    /// The library's options; `None`: no interval is wanted.
    pub fn options(&self) -> Result<Option<IntervalOptions>, Failure> {
        if self.replicates == 0 {
            return Ok(None);
        }
        let options = IntervalOptions {
            level: self.level,
            replicates: self.replicates,
            seed: self.seed,
            ..IntervalOptions::default()
        };
        options.check()?;
        Ok(Some(options))
    }
}

/// One evaluation with its intervals.
struct Part {
    evaluation: Evaluation,
    intervals: Vec<Option<Interval>>,
    /// Of multi-label data: the interval of every list, measure by measure.
    of_labels: Option<Vec<Vec<Option<Interval>>>>,
    lists: usize,
    items: usize,
}

impl Evaluate {
    /// Reads, evaluates, prints.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let measures = self.rules.measures(&self.metrics)?;
        let intervals = self.bootstrap.options()?;
        let ranking = self.ranking()?;
        check_per_list(self.per_list.as_deref(), self.format.or_json(common))?;
        let keep = self.scores.kept_column().into_iter().chain(self.by.clone()).collect();
        let basis = self.labels.read(&self.reading, keep, false, measures.policy.scores, common)?;
        let mut judged = basis.judge(&ranking, self.reverse, common)?;
        judged.weigh(measures.like);
        let unit = basis.unit(&judged.lists);
        let origin = Origin::of(&basis, &judged.lists);
        if self.average == Average::Micro {
            let (lists, scores) = pool(&judged.lists, &judged.scores);
            judged =
                Judged { lists: std::borrow::Cow::Owned(lists), scores, names: vec!["all".into()], ..judged };
        }
        // Queries evaluated as one list are neither independent rows nor several lists: no interval.
        let intervals = intervals.filter(|_| unit == Unit::Rows || self.average == Average::Macro);
        let whole = part(&basis, unit, &judged.lists, &judged.scores, &measures, intervals.as_ref())?;
        let slices = match &self.by {
            None => Vec::new(),
            Some(column) => slices(&basis.slices(column)?, &judged, |lists, scores| {
                part(&basis, unit, lists, scores, &measures, intervals.as_ref())
            })?,
        };
        if let Some(path) = &self.per_list {
            write_per_list(path, &judged.names, &whole.evaluation.results)?;
        }
        if let Some(path) = &self.plot {
            let runs = self.further(&basis, common)?;
            let first = NamedRun { name: ranking.to_string(), judged: &judged };
            let further = runs.iter().map(|(name, judged)| NamedRun { name: name.clone(), judged });
            let runs: Vec<NamedRun> = std::iter::once(first).chain(further).collect();
            class_plots::curves(path, &origin, &runs, &measures)?;
        }
        let probabilities = self.probabilities(&judged, &measures)?;
        if let Some(path) = &self.reliability_plot {
            let bins = |(name, found): &(String, Reliability)| {
                let bins = found.bins.iter();
                let bins = bins.map(|b| [b.probability, b.relevant.value, b.relevant.low, b.relevant.high]);
                (name.clone(), bins.collect())
            };
            let runs: Vec<_> = probabilities.iter().map(bins).collect();
            class_plots::reliability(path, &origin, &ranking.to_string(), &runs)?;
        }
        warn(&whole, &judged, common);
        if self.per_list.as_deref().is_some_and(is_standard_output) {
            return Ok(()); // standard output is the CSV's alone
        }
        match self.format.or_json(common) {
            Style::Json => {
                let mut report = report(&whole, &slices, &judged, &measures);
                if self.probability {
                    report["probability"] = probability_json(&probabilities);
                }
                print_json(&report)
            }
            style => {
                let mut text = self.table(&whole, &slices, &judged.names).render(style);
                if self.probability {
                    text += &("\n".to_string() + &probability_table(&probabilities).render(style));
                }
                if style == Style::Table {
                    text += &counts_line(&whole, &judged);
                    let names = whole.evaluation.results.iter().map(|result| result.name.as_str());
                    text += &methods(names.zip(whole.intervals.iter().copied()));
                    text += &measures.policy_text();
                }
                print(&text)
            }
        }
    }

    fn ranking(&self) -> Result<Ranking, Failure> {
        let run = || self.run.clone().map(Ranking::File);
        self.scores.ranking().or_else(run).ok_or_else(|| {
            Failure::usage(
                "nothing to evaluate: expected --scores, --feature or --score-column with --data, or --run with --qrels",
            )
        })
    }

    /// The further runs of the plot.
    fn further<'a>(&self, basis: &'a Basis, common: &Common) -> Result<Vec<(String, Judged<'a>)>, Failure> {
        let mut further = Vec::new();
        for run in &self.also {
            let (name, file) = run
                .split_once('=')
                .filter(|(name, file)| !name.is_empty() && !file.is_empty())
                .ok_or_else(|| Failure::usage(format!("--also: expected NAME=FILE, but it is {run}")))?;
            let other = basis.judge(&Ranking::File(file.into()), self.reverse, common)?;
            further.push((name.to_string(), other));
        }
        Ok(further)
    }

    /// Every list's scores as probabilities; nothing unless they are.
    fn probabilities(
        &self,
        judged: &Judged,
        measures: &Measures,
    ) -> Result<Vec<(String, Reliability)>, Failure> {
        const BINS: usize = 10;
        if !self.probability {
            return Ok(Vec::new());
        }
        let (lists, scores) = match judged.lists.are_labels() {
            true => (judged.lists.clone(), judged.scores.clone()),
            false => {
                let (lists, scores) = pool(&judged.lists, &judged.scores);
                (std::borrow::Cow::Owned(lists), scores)
            }
        };
        let mut found = Vec::new();
        for q in 0..lists.len() {
            let name = if lists.len() == 1 { "all".to_string() } else { judged.names[q].clone() };
            let list = lists.list(q, &scores);
            let wrong = |error: toprank::metrics::probability::NotAProbability| {
                Failure::data(format!(
                    "--probability: item {} of {name} has the score {}; expected numbers in [0, 1], as `toprank predict \
                     --probability` writes",
                    error.item + 1,
                    error.score
                ))
            };
            if let Some(reliability) = reliability(&list, &measures.policy, BINS).map_err(wrong)? {
                found.push((name, reliability));
            }
        }
        Ok(found)
    }

    fn table(&self, whole: &Part, slices: &[(String, Part)], names: &[String]) -> Table {
        /// Labels that are listed one by one.
        const MOST_LABELS: usize = 20;
        let level = format!("{:.4}", self.bootstrap.level * 100.0);
        let level = level.trim_end_matches('0').trim_end_matches('.');
        let labels = whole.of_labels.as_ref().filter(|_| self.by.is_none() && names.len() <= MOST_LABELS);
        let mut head =
            vec!["metric".to_string(), "value".into(), format!("{level} % interval"), "lists".into()];
        let part_of = self.by.clone().or_else(|| labels.map(|_| "label".to_string()));
        head.splice(0..0, part_of.clone());
        let mut table = Table::new(head).words(usize::from(part_of.is_some()));
        let mut row = |name: &str,
                       result: &MeasureResult,
                       value: Option<f64>,
                       interval: Option<Interval>,
                       used: usize| {
            let cells = [
                result.name.clone(),
                value.map_or("–".into(), |value| format!("{value:.4}")),
                interval.map_or("–".into(), |i| format!("[{:.4}, {:.4}]", i.low, i.high)),
                used.to_string(),
            ];
            table.row(part_of.as_ref().map(|_| name.to_string()).into_iter().chain(cells));
        };
        let all = if labels.is_some() { "mean" } else { "all" };
        let parts =
            std::iter::once((all, whole)).chain(slices.iter().map(|(name, part)| (name.as_str(), part)));
        for (name, part) in parts {
            for (result, interval) in part.evaluation.results.iter().zip(&part.intervals) {
                row(name, result, result.mean, *interval, result.counts.used);
            }
        }
        for (q, name) in names.iter().enumerate().filter(|_| labels.is_some()) {
            for (result, of_lists) in whole.evaluation.results.iter().zip(labels.into_iter().flatten()) {
                let value = Some(result.per_list[q]).filter(|value| !value.is_nan());
                row(name, result, value, of_lists[q], usize::from(value.is_some()));
            }
        }
        table
    }
}

fn probability_table(found: &[(String, Reliability)]) -> Table {
    let mut table =
        Table::new(["probabilities", "Brier", "log loss", "calibration error", "fraction relevant"]);
    for (name, found) in found {
        let numbers = [found.brier, found.log_loss, found.ece, found.base_rate];
        table.row(std::iter::once(name.clone()).chain(numbers.iter().map(|number| format!("{number:.4}"))));
    }
    table
}

fn probability_json(found: &[(String, Reliability)]) -> Value {
    let one = |found: &Reliability| {
        let bins = found.bins.iter().map(|bin| {
            json!({
                "weight": bin.weight,
                "probability": bin.probability,
                "relevant": bin.relevant.value,
                "low": bin.relevant.low,
                "high": bin.relevant.high,
            })
        });
        json!({
            "brier": found.brier,
            "log_loss": found.log_loss.is_finite().then_some(found.log_loss),
            "calibration_error": found.ece,
            "base_rate": found.base_rate,
            "bins": bins.collect::<Vec<_>>(),
        })
    };
    Value::Object(found.iter().map(|(name, found)| (name.clone(), one(found))).collect())
}

fn part(
    basis: &Basis,
    unit: Unit,
    lists: &Lists,
    scores: &[f64],
    measures: &Measures,
    options: Option<&IntervalOptions>,
) -> Result<Part, Failure> {
    let evaluation = evaluate(lists, scores, &measures.all).map_err(|error| basis.explain(&error))?;
    let (mut intervals, mut of_labels) = (vec![None; evaluation.results.len()], None);
    match (options, unit) {
        (None, _) => {}
        (Some(options), Unit::Lists) => {
            intervals = intervals_over_lists(&evaluation.results, lists.list_weights.as_deref(), options);
        }
        (Some(options), Unit::Rows) => {
            let options = IntervalOptions { kind: IntervalKind::Delong, ..*options };
            let found = rows::intervals(lists, scores, &measures.all, &evaluation, &options)
                .map_err(|error| basis.explain(&error))?;
            intervals = found.iter().map(|found| found.mean).collect();
            of_labels = (lists.len() > 1).then(|| found.into_iter().map(|found| found.per_list).collect());
        }
    }
    Ok(Part { evaluation, intervals, of_labels, lists: lists.len(), items: lists.entries() })
}

/// Whether a path stands for standard output.
pub(crate) fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// Refuses two reports on one standard output.
pub(crate) fn check_per_list(path: Option<&Path>, style: Style) -> Result<(), Failure> {
    match path.is_some_and(is_standard_output) && style != Style::Table {
        true => Err(Failure::usage(
            "--per-list - prints the CSV alone on standard output; leave out --json and --format, or give --per-list a file",
        )),
        false => Ok(()),
    }
}

/// How intervals were found: one line per method, with the metrics it was used for.
pub(crate) fn methods<'a>(intervals: impl Iterator<Item = (&'a str, Option<Interval>)>) -> String {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, interval) in intervals {
        let Some(method) = interval.map(|interval| interval.method()) else { continue };
        match found.iter_mut().find(|(known, _)| *known == method) {
            Some((_, names)) => names.push(name),
            None => found.push((method, vec![name])),
        }
    }
    let alone = found.len() == 1;
    let line = |(method, names): &(String, Vec<&str>)| match alone {
        true => format!("intervals: {method}\n"),
        false => format!("intervals of {}: {method}\n", names.join(", ")),
    };
    found.iter().map(line).collect()
}

/// The values of a column, sorted: numbers in order, then strings.
pub(crate) fn slice_values(texts: &[String]) -> Result<Vec<&String>, Failure> {
    const MOST: usize = 1000;
    let mut values: Vec<&String> = texts.iter().collect();
    values.sort_unstable_by(|a, b| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => x.total_cmp(&y).then(a.cmp(b)),
        (Ok(_), Err(_)) => std::cmp::Ordering::Less,
        (Err(_), Ok(_)) => std::cmp::Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    });
    values.dedup();
    if values.len() > MOST {
        let found = values.len();
        return Err(Failure::usage(format!(
            "--by: the column has {found} values; expected at most {MOST} slices"
        )));
    }
    Ok(values)
}

/// One part per value of the column.
fn slices(
    texts: &[String],
    judged: &Judged,
    part: impl Fn(&Lists, &[f64]) -> Result<Part, Failure>,
) -> Result<Vec<(String, Part)>, Failure> {
    let slice = |value: &String| {
        let (lists, entries) = judged.lists.keep(|entry| texts[entry] == *value);
        let scores: Vec<f64> = entries.iter().map(|&entry| judged.scores[entry]).collect();
        Ok((value.clone(), part(&lists, &scores)?))
    };
    slice_values(texts)?.into_iter().map(slice).collect()
}

fn warn(whole: &Part, judged: &Judged, common: &Common) {
    let ignored: Vec<&str> = whole
        .evaluation
        .results
        .iter()
        .filter(|result| result.item_weights == ItemWeights::Ignored)
        .map(|result| result.name.as_str())
        .collect();
    if !ignored.is_empty() && judged.lists.list_weights.is_none() {
        note(
            common,
            format!("{} has no definition with item weights; they were not used", ignored.join(", ")),
        );
    }
    if let Some((qrels, run)) = judged.only_in
        && qrels + run > 0
    {
        note(common, format!("{qrels} queries are only in the qrels, {run} only in the run"));
    }
}

fn counts_line(whole: &Part, judged: &Judged) -> String {
    let empty: Vec<String> = whole
        .evaluation
        .results
        .iter()
        .filter(|result| result.counts.empty > 0)
        .map(|result| format!("{} of {}", result.counts.empty, result.name))
        .collect();
    let mut line = format!("{}, {} items", counted(whole.lists, "list"), whole.items);
    if !empty.is_empty() {
        line += &format!("; undefined: {}", empty.join(", "));
    }
    if judged.lists.list_weights.is_some() {
        line += "; lists are weighted";
    }
    line + "\n"
}

fn report(whole: &Part, slices: &[(String, Part)], judged: &Judged, measures: &Measures) -> Value {
    let mut lists = json!({"total": whole.lists, "items": whole.items});
    if let Some((qrels, run)) = judged.only_in {
        lists["only_in_qrels"] = json!(qrels);
        lists["only_in_run"] = json!(run);
    }
    lists["weighted"] = json!(judged.lists.list_weights.is_some());
    for (key, count) in [("used", true), ("undefined", false)] {
        let counts = whole.evaluation.results.iter().map(|result| {
            let counts = result.counts;
            (result.name.clone(), json!(if count { counts.used } else { counts.empty }))
        });
        lists[key] = Value::Object(counts.collect());
    }
    let mut report = Map::new();
    values(&mut report, whole);
    if let Some(of_labels) = &whole.of_labels {
        let label = |(q, name): (usize, &String)| {
            let results = || whole.evaluation.results.iter();
            let number = |value: f64| if value.is_nan() { Value::Null } else { json!(value) };
            let metrics: Map<String, Value> =
                results().map(|result| (result.name.clone(), number(result.per_list[q]))).collect();
            let intervals: Map<String, Value> = results()
                .zip(of_labels)
                .filter_map(|(result, of_lists)| Some((result.name.clone(), json!(of_lists[q]?))))
                .collect();
            (name.clone(), json!({"metrics": metrics, "intervals": intervals}))
        };
        report.insert("labels".into(), Value::Object(judged.names.iter().enumerate().map(label).collect()));
    }
    report.insert("lists".into(), lists);
    report.insert("policy".into(), measures.policy_json());
    if !slices.is_empty() {
        let slice = |(name, part): &(String, Part)| {
            let mut object = Map::new();
            values(&mut object, part);
            object.insert("lists".into(), json!({"total": part.lists, "items": part.items}));
            (name.clone(), Value::Object(object))
        };
        report.insert("slices".into(), Value::Object(slices.iter().map(slice).collect()));
    }
    Value::Object(report)
}

fn values(object: &mut Map<String, Value>, part: &Part) {
    let results = || part.evaluation.results.iter();
    let means: Map<String, Value> =
        results().map(|result| (result.name.clone(), json!(result.mean))).collect();
    object.insert("metrics".into(), Value::Object(means));
    let bounds: Map<String, Value> = results()
        .zip(&part.intervals)
        .filter_map(|(result, interval)| Some((result.name.clone(), json!(interval.as_ref()?))))
        .collect();
    if !bounds.is_empty() {
        object.insert("intervals".into(), Value::Object(bounds));
    }
}

/// A table with a line for each list.
pub(crate) fn write_per_list(
    path: &Path,
    names: &[String],
    results: &[MeasureResult],
) -> Result<(), Failure> {
    let head: Vec<String> = results.iter().map(|result| csv_cell(&result.name)).collect();
    let mut text = format!("list,{}\n", head.join(","));
    for (q, name) in names.iter().enumerate() {
        text += &csv_cell(name);
        for result in results {
            let value = result.per_list[q];
            text += &if value.is_nan() { ",".to_string() } else { format!(",{value}") };
        }
        text.push('\n');
    }
    Ok(toprank::data::sink::write_file(path, |out| out.write_all(text.as_bytes()))?)
}
