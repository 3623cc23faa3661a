//! `toprank report`: results as one page to forward.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toprank::core::Lists;
use toprank::data::sink;
use toprank::metrics::bootstrap::Unit;
use toprank::metrics::compare::{Comparison, decides};
use toprank::metrics::significance::{Pairs, lists_needed};
use toprank::metrics::{Better, Evaluation, Measure, evaluate};
use toprank::train::Model;
use toprank::trees::explain::gain_importance;
use toprank_plots::{Best, IntervalRow, Plot, Series, differences, learning_curves, ranked_bars};
use toprank_report::{
    Copied, Grid, GridCell, ListTable, RankedItem, Report as Page, Section, SideBySide, Verdict,
};

use crate::class_plots::{self, NamedRun, Origin};
use crate::compare::{Shown, pair_name};
use crate::contest::{self, Contest, Run};
use crate::failure::Failure;
use crate::inspect::feature_name;
use crate::judged::{Basis, Judged, Ranking};
use crate::rules::Measures;
use crate::table::{Style, counted};
use crate::{Common, note, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank report --qrels qrels.txt bm25=bm25.run dense=dense.run -m ndcg@10,map -o report.html
  toprank report --data test.txt old=old.txt new=model.toprank -m ndcg@10 -o report.html
  toprank report --data test.csv --label fraud new=scores.txt -m auroc,auprc --curves run -o report.html
  toprank report --data test.csv --list query --label grade a=a.txt b=b.txt --by market -o report.html

The page is one file that needs no network: verdicts, warnings, runs × metrics, intervals, differences list by list, a table of
all lists to sort and search, and the rankings of the lists that differ most, side by side. The same input gives the same bytes.
The first run is the baseline; differences are the last run minus the first. Verdicts and tests are those of `toprank compare`.

--curves adds the learning curves that `toprank train --curves FOLDER` wrote, one --curves for each run. A run that is a model of
trees (NAME=model.toprank) adds the importance of its features.";

/// Write results as one HTML page: verdict, plots, every list, rankings side by side
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Report {
    /// Rankings, as NAME=FILE (scores or a model with --data, runs with --qrels), NAME=feature:N or NAME=column:C
    #[arg(value_name = "NAME=FILE", required_unless_present = "run")]
    runs: Vec<String>,
    /// The same as a flag; may be repeated
    #[arg(long, value_name = "NAME=FILE")]
    run: Vec<String>,
    #[command(flatten)]
    contest: Contest,
    /// HTML file to write
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Heading of the page [default: the names of the runs and of the data]
    #[arg(long, value_name = "WORDS")]
    title: Option<String>,
    /// Number of lists whose rankings are shown side by side
    #[arg(long, value_name = "N", default_value_t = 50)]
    rankings: usize,
    /// Number of items shown of each ranking
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    depth_shown: u16,
    /// Add one result per value of a column, from the items of each list that have it
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// Folder with the learning curves of a training run; may be repeated
    #[arg(long, value_name = "FOLDER")]
    curves: Vec<PathBuf>,
    /// Keep every metric in the table of all lists, however large the page becomes
    #[arg(long)]
    full: bool,
}

/// Bytes that the table of all lists may take before metrics are left out of it.
const MOST_BYTES: usize = 600_000;

/// A difference that matters to most people, and the probability with which a test should find it.
const WANTED: f64 = 0.01;
const POWER: f64 = 0.8;

impl Report {
    /// Reads, evaluates, tests, writes.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let page = self.page(common)?;
        let html = page.html();
        sink::write_file(&self.output, |out| out.write_all(html.as_bytes()))?;
        if common.json {
            let verdicts: Vec<&String> = page.verdicts.iter().map(|verdict| &verdict.text).collect();
            let (verdicts, warnings) = (json!(verdicts), json!(page.warnings));
            return print_json(
                &json!({"output": self.output, "bytes": html.len(), "verdicts": verdicts, "warnings": warnings}),
            );
        }
        note(common, format!("wrote {}, {:.1} kB", self.output.display(), html.len() as f64 / 1000.0));
        Ok(())
    }

    /// Reads, evaluates, tests.
    fn page(&self, common: &Common) -> Result<Page, Failure> {
        let mut options = self.contest.options()?;
        options.biggest = self.rankings;
        let measures = self.contest.measures()?;
        let named = contest::named_runs(&[self.runs.as_slice(), self.run.as_slice()].concat())?;
        let keep = self.by.iter().cloned().collect();
        let basis = self.contest.read(&named, &measures, keep, common)?.keeping_documents();
        let runs = contest::evaluated(&basis, named, &measures, common)?;
        let comparisons = self.contest.compared(&basis, &runs, &measures, options)?;
        let results = Results { basis: &basis, runs: &runs, measures: &measures, comparisons: &comparisons };
        let mut page = results.page(self)?;
        for folder in &self.curves {
            page.sections.push(learning(folder)?);
        }
        Ok(page)
    }
}

/// The page of `toprank report` with these words behind it, for `toprank serve`.
#[cfg(feature = "serve")]
pub fn html(words: &[String]) -> Result<String, Failure> {
    #[derive(clap::Parser)]
    struct Words {
        #[command(flatten)]
        report: Report,
    }
    let words = std::iter::once("report").chain(words.iter().map(String::as_str));
    let words: Words = clap::Parser::try_parse_from(words).map_err(|error| crate::wrong_words(&error))?;
    let common = Common { threads: None, quiet: true, json: false };
    Ok(words.report.page(&common)?.html())
}

/// What was evaluated and compared.
struct Results<'a> {
    basis: &'a Basis,
    runs: &'a [Run<'a>],
    measures: &'a Measures,
    comparisons: &'a [Comparison],
}

impl Results<'_> {
    fn page(&self, wishes: &Report) -> Result<Page, Failure> {
        let lists = &self.runs[0].judged.lists;
        let names: Vec<&str> = self.runs.iter().map(|run| run.name.as_str()).collect();
        let title = format!("{} on {}", names.join(", "), self.basis.name());
        let shown = self.shown();
        let mut copies = vec![
            Copied { name: "Markdown".into(), text: shown.text(Style::Markdown) },
            Copied { name: "LaTeX".into(), text: shown.text(Style::Latex) },
        ];
        copies.extend(command_line().map(|text| Copied { name: "command".into(), text }));
        let rankings = self.rankings(wishes.rankings, usize::from(wishes.depth_shown));
        Ok(Page {
            title: wishes.title.clone().unwrap_or(title),
            about: format!(
                "{}, {}; metrics: {}.",
                counted(lists.len(), self.word()),
                counted(lists.entries(), "item"),
                self.measures.all.iter().map(Measure::name).collect::<Vec<_>>().join(", ")
            ),
            verdicts: self.verdicts(),
            warnings: self.warnings()?,
            summary: Some(self.summary()),
            copies,
            policy: self.policy(),
            sections: self.sections(wishes)?,
            lists: self.lists(wishes.full),
            rankings,
            methods: shown.methods().lines().map(String::from).collect(),
            program: format!("toprank {}", env!("CARGO_PKG_VERSION")),
        })
    }

    fn shown(&self) -> Shown<'_> {
        Shown { comparisons: self.comparisons, runs: self.runs, measures: self.measures }
    }

    /// What a list is called.
    fn word(&self) -> &'static str {
        match self.basis {
            Basis::Qrels { .. } => "query",
            Basis::Data { .. } if self.unit() == Unit::Rows && self.runs[0].judged.lists.len() > 1 => "label",
            Basis::Data { .. } => "list",
        }
    }

    fn unit(&self) -> Unit {
        self.basis.unit(&self.runs[0].judged.lists)
    }

    /// One sentence per metric and pair; of a single run its means.
    fn verdicts(&self) -> Vec<Verdict> {
        let mut all = Vec::new();
        for (found, metric) in self.shown().each() {
            for pair in &found.pairs {
                let p = decides(&pair.tests).and_then(|test| test.p_corrected);
                let significant =
                    p.is_some_and(|p| p <= 1.0 - found.level) && pair.effects.mean_difference != 0.0;
                all.push(Verdict { text: found.verdict(pair, metric), found: significant });
            }
            if found.pairs.is_empty() {
                let run = &found.runs[0];
                let value = run.mean.map_or("no value".into(), |mean| format!("{mean:.4}"));
                let interval =
                    run.interval.map_or(String::new(), |i| format!(" [{:.4}, {:.4}]", i.low, i.high));
                let text = format!("{}: {metric} {value}{interval}", run.name);
                all.push(Verdict { text, found: false });
            }
        }
        // The last run against the first is the question that people ask.
        let asked = self.runs.len().saturating_sub(2).min(all.len().saturating_sub(1));
        all[..=asked].rotate_right(1);
        all
    }

    fn warnings(&self) -> Result<Vec<String>, Failure> {
        let mut all = Vec::new();
        let (first, last) = (&self.runs[0], &self.runs[self.runs.len() - 1]);
        if let Basis::Qrels { .. } = self.basis {
            let judged = Measure::parse_all("judged@10", &self.measures.policy)?;
            for run in self.runs {
                let found = evaluate(&run.judged.lists, &run.judged.scores, &judged)
                    .map_err(|error| self.basis.explain(&error))?;
                if let Some(mean) = found.results[0].mean.filter(|mean| *mean < 0.9) {
                    all.push(format!(
                        "{}: {:.0} % of the first 10 places hold judged documents (judged@10 {mean:.4}); the others count as \
                         not relevant, so the run may be better than its numbers.",
                        run.name,
                        mean * 100.0
                    ));
                }
                if let Some((missing, _)) = run.judged.only_in.filter(|only| only.0 > 0) {
                    all.push(format!(
                        "{}: {missing} judged queries have no ranking and count as empty.",
                        run.name
                    ));
                }
            }
        }
        for run in self.runs {
            let (lists, scores) = (&run.judged.lists, &run.judged.scores);
            let constant = |q: &usize| {
                let scores = &scores[lists.range(*q)];
                scores.len() > 1 && scores.iter().all(|score| *score == scores[0])
            };
            let count = (0..lists.len()).filter(constant).count();
            if count > 0 {
                all.push(format!(
                    "{}: all scores are equal in {} of {}; their order means nothing there.",
                    run.name,
                    count,
                    counted(lists.len(), self.word())
                ));
            }
        }
        for (m, measure) in self.measures.all.iter().enumerate() {
            let result = &first.evaluation.results[m];
            if result.counts.empty > 0 {
                all.push(format!(
                    "{} is undefined on {} of {} (nothing relevant); the policy says what becomes of them.",
                    result.name,
                    result.counts.empty,
                    counted(self.runs[0].judged.lists.len(), self.word())
                ));
            }
            if self.runs.len() > 1 && self.unit() == Unit::Lists {
                let values = |run: &Run| run.evaluation.results[m].per_list.clone();
                let pairs = Pairs::new(&values(first), &values(last), None);
                let alpha = 1.0 - self.comparisons[m].level;
                let needed =
                    lists_needed(&pairs, WANTED, alpha, POWER).filter(|needed| *needed > pairs.len());
                if let Some(needed) = needed {
                    all.push(format!(
                        "To detect a difference of {WANTED} in {} between {} and {} in {:.0} % of experiments (before correction) \
                         you need about {}; there are {}.",
                        measure.name(),
                        first.name,
                        last.name,
                        POWER * 100.0,
                        counted(rounded(needed), self.word()),
                        pairs.len()
                    ));
                }
            }
        }
        Ok(all)
    }

    /// Runs × metrics, each with its interval.
    fn summary(&self) -> Grid {
        let mut head = vec!["run".to_string()];
        head.extend(self.shown().each().map(|(_, metric)| metric.to_string()));
        let best = |found: &Comparison| {
            let means = found.runs.iter().filter_map(|run| run.mean);
            match found.better {
                Better::Higher => means.fold(f64::NEG_INFINITY, f64::max),
                Better::Lower => means.fold(f64::INFINITY, f64::min),
            }
        };
        let row = |r: usize| {
            let cell = |(found, _): (&Comparison, &str)| {
                let run = &found.runs[r];
                let Some(mean) = run.mean else { return GridCell::from("–") };
                let pair = found.pairs.iter().find(|pair| pair.first_run == 0 && pair.second_run == r);
                let p = pair.and_then(|pair| decides(&pair.tests)?.p_corrected);
                let dagger = if p.is_some_and(|p| p <= 1.0 - found.level) { " †" } else { "" };
                let interval =
                    run.interval.map_or(String::new(), |i| format!(" [{:.4}, {:.4}]", i.low, i.high));
                GridCell { text: format!("{mean:.4}{dagger}{interval}"), best: mean == best(found) }
            };
            let name = GridCell::from(self.runs[r].name.as_str());
            std::iter::once(name).chain(self.shown().each().map(cell)).collect()
        };
        let caption = match self.runs.len() {
            1 => "Mean and its interval.".to_string(),
            _ => format!(
                "Mean and its interval; the best is bold, † differs significantly from {} after correction.",
                self.runs[0].name
            ),
        };
        Grid { caption, head, rows: (0..self.runs.len()).map(row).collect(), words: Vec::new() }
    }

    fn policy(&self) -> Vec<(String, String)> {
        let Value::Object(fields) = self.measures.policy_json() else { return Vec::new() };
        let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), String::from);
        fields.into_iter().map(|(rule, value)| (rule, text(value))).collect()
    }

    fn sections(&self, wishes: &Report) -> Result<Vec<Section>, Failure> {
        let mut all = vec![self.forest()];
        if self.runs.len() > 1 {
            all.push(self.pairs());
        }
        all.extend(self.per_list());
        all.extend(self.class_curves()?);
        if let Some(column) = &wishes.by {
            all.push(self.slices(column)?);
        }
        for run in self.runs {
            if let Ranking::Model(path) = &run.ranking {
                all.extend(importance(path, &run.name)?);
            }
        }
        Ok(all)
    }

    /// Every run with its interval, a plot per metric.
    fn forest(&self) -> Section {
        let plot = |(found, metric): (&Comparison, &str)| {
            let row = |run: &toprank::metrics::compare::RunMean| {
                let value = run.mean.unwrap_or(f64::NAN);
                let (low, high) =
                    run.interval.map_or((value, value), |interval| (interval.low, interval.high));
                IntervalRow { name: run.name.clone(), value, low, high }
            };
            let rows: Vec<IntervalRow> = found.runs.iter().map(row).collect();
            toprank_plots::intervals(&format!("{metric} of every run"), metric, &rows)
        };
        Section {
            title: "Runs with their intervals".into(),
            about: "Intervals of single runs may overlap although a paired test finds a difference: the verdict is the test's.".into(),
            plots: self.shown().each().map(plot).collect(),
            ..Section::default()
        }
    }

    fn pairs(&self) -> Section {
        let shown = self.shown();
        let mut grids = vec![shown.pairs().grid("Differences: second run minus first.")];
        grids.extend(shown.labels().map(|table| table.grid("Label by label.")));
        let plot = |(found, metric): (&Comparison, &str)| {
            let row = |pair: &toprank::metrics::compare::PairResult| {
                let value = pair.effects.mean_difference;
                let (low, high) =
                    pair.interval.map_or((value, value), |interval| (interval.low, interval.high));
                IntervalRow { name: pair_name(pair), value, low, high }
            };
            let rows: Vec<IntervalRow> = found.pairs.iter().map(row).collect();
            toprank_plots::intervals(
                &format!("Differences of {metric}"),
                &format!("difference of {metric}"),
                &rows,
            )
        };
        Section {
            title: "Differences and tests".into(),
            plots: shown.each().map(plot).collect(),
            grids,
            ..Section::default()
        }
    }

    /// Differences of the last run from the first by the first metric, list by list.
    fn per_list(&self) -> Option<Section> {
        let (first, last) = (&self.runs[0], &self.runs[self.runs.len() - 1]);
        if self.runs.len() < 2 || self.unit() == Unit::Rows {
            return None;
        }
        let metric = self.measures.all[0].name();
        let values = |run: &'_ Run| run.evaluation.results[0].per_list.clone();
        let values: Vec<f64> =
            values(first).iter().zip(values(last)).map(|(a, b)| b - a).filter(|d| !d.is_nan()).collect();
        let better = match self.comparisons[0].better {
            Better::Higher => toprank_plots::Better::Higher,
            Better::Lower => toprank_plots::Better::Lower,
        };
        let title = format!("{metric}: {} − {}, {} by {}", last.name, first.name, self.word(), self.word());
        Some(Section {
            title: "Where do they differ?".into(),
            about: format!("Click on a bar to see which {} it is in the table below.", self.word()),
            plots: vec![differences(&title, &format!("difference of {metric}"), &values, better)],
            picks_lists: true,
            ..Section::default()
        })
    }

    /// ROC and precision-recall curves of binary and multi-label data.
    fn class_curves(&self) -> Result<Option<Section>, Failure> {
        if self.unit() != Unit::Rows {
            return Ok(None);
        }
        let origin = Origin::of(self.basis, &self.runs[0].judged.lists);
        let runs: Vec<NamedRun> =
            self.runs.iter().map(|run| NamedRun { name: run.name.clone(), judged: &run.judged }).collect();
        let plots = class_plots::curves_plot(&origin, &runs, self.measures)?.into_iter().collect();
        Ok(Some(Section { title: "Curves".into(), plots, ..Section::default() }))
    }

    /// Runs × slices, a table per metric.
    fn slices(&self, column: &str) -> Result<Section, Failure> {
        let texts = self.basis.slices(column)?;
        let values = crate::evaluate::slice_values(&texts)?;
        let mut found: Vec<(String, usize, Vec<Evaluation>)> = Vec::new();
        for value in values {
            let of_run = |run: &Run| {
                let (lists, entries) = run.judged.lists.keep(|entry| texts[entry] == *value);
                let scores: Vec<f64> = entries.iter().map(|&entry| run.judged.scores[entry]).collect();
                evaluate(&lists, &scores, &self.measures.all).map_err(|error| self.basis.explain(&error))
            };
            let evaluations = self.runs.iter().map(of_run).collect::<Result<Vec<_>, _>>()?;
            let (lists, _) = self.runs[0].judged.lists.keep(|entry| texts[entry] == *value);
            found.push((value.clone(), lists.len(), evaluations));
        }
        let grid = |(m, measure): (usize, &Measure)| {
            let mut head = vec![column.to_string(), "lists".into()];
            head.extend(self.runs.iter().map(|run| run.name.clone()));
            let row = |(value, lists, evaluations): &(String, usize, Vec<Evaluation>)| {
                let mut cells = vec![GridCell::from(value.as_str()), lists.to_string().into()];
                cells.extend(evaluations.iter().map(|found| {
                    let mean = found.results[m].mean;
                    GridCell::from(mean.map_or("–".to_string(), |mean| format!("{mean:.4}")))
                }));
                cells
            };
            let caption = format!("{} by {column}", measure.name());
            Grid { caption, head, rows: found.iter().map(row).collect(), words: Vec::new() }
        };
        let grids = self.measures.all.iter().enumerate().map(grid).collect();
        Ok(Section { title: format!("By {column}"), grids, ..Section::default() })
    }

    /// The values of every list; metrics that would make the page too large are left out, but for the first.
    fn lists(&self, full: bool) -> Option<ListTable> {
        const BYTES_OF_A_VALUE: usize = 6;
        let names = &self.runs[0].judged.names;
        if names.len() < 2 {
            return None;
        }
        let of_metric = names.len() * self.runs.len() * BYTES_OF_A_VALUE;
        let room = MOST_BYTES.saturating_sub(names.iter().map(|name| name.len().min(120) + 3).sum());
        let most = if full { usize::MAX } else { (room / of_metric).max(1) };
        let of = |m: usize| self.runs.iter().map(|run| run.evaluation.results[m].per_list.clone()).collect();
        let metrics = || self.measures.all.iter().enumerate();
        Some(ListTable {
            word: self.word().into(),
            names: names.clone(),
            runs: self.runs.iter().map(|run| run.name.clone()).collect(),
            metrics: metrics().take(most).map(|(m, measure)| (measure.name().to_string(), of(m))).collect(),
            left_out: metrics().skip(most).map(|(_, measure)| measure.name().to_string()).collect(),
        })
    }

    /// The lists that differ most between the first run and the last; of a single run the worst.
    fn rankings(&self, most: usize, depth: usize) -> Vec<SideBySide> {
        let (first, last) = (&self.runs[0], &self.runs[self.runs.len() - 1]);
        let value = |run: &Run, q: usize| run.evaluation.results[0].per_list[q];
        let higher = self.comparisons[0].better == Better::Higher;
        let distance = |q: usize| match self.runs.len() {
            1 if higher => -value(first, q),
            1 => value(first, q),
            _ => (value(last, q) - value(first, q)).abs(),
        };
        let mut wanted: Vec<usize> =
            (0..first.judged.names.len()).filter(|q| !distance(*q).is_nan()).collect();
        wanted.sort_by(|a, b| distance(*b).total_cmp(&distance(*a)).then(a.cmp(b)));
        wanted.truncate(most);
        wanted.into_iter().map(|q| self.side_by_side(q, depth)).collect()
    }

    fn side_by_side(&self, q: usize, depth: usize) -> SideBySide {
        let metric = &self.measures.all[0];
        let values: Vec<String> = self
            .runs
            .iter()
            .map(|run| {
                let value = run.evaluation.results[0].per_list[q];
                let value = if value.is_nan() { "–".to_string() } else { format!("{value:.4}") };
                format!("{} {value}", run.name)
            })
            .collect();
        let lists = &self.runs[0].judged.lists;
        let mut ideal: Vec<f32> = lists.labels[lists.range(q)].to_vec();
        ideal.extend(lists.missed.as_ref().map_or(&[][..], |missed| missed.of(q)));
        ideal.retain(|label| !label.is_nan());
        ideal.sort_by(|a, b| b.total_cmp(a));
        ideal.truncate(depth);
        let relevant = metric.policy().relevant;
        let ranked = |judged: &Judged| {
            let lists = &judged.lists;
            first_entries(lists, &judged.scores, q, depth)
                .into_iter()
                .map(|entry| {
                    let label = Some(lists.labels[entry]).filter(|label| !label.is_nan());
                    RankedItem {
                        name: self.basis.item_name(judged, entry),
                        label,
                        relevant: label.is_some_and(|label| relevant.is(label)),
                    }
                })
                .collect()
        };
        let name: String = self.runs[0].judged.names[q].chars().take(80).collect();
        SideBySide {
            list: q,
            summary: format!("{} {name}: {} {}", self.word(), metric.name(), values.join(", ")),
            runs: self.runs.iter().map(|run| (run.name.clone(), ranked(&run.judged))).collect(),
            ideal,
        }
    }
}

/// The first entries of a list by score; equal scores by name descending, as trec_eval has it, or in their order in the data.
fn first_entries(lists: &Lists, scores: &[f64], q: usize, most: usize) -> Vec<usize> {
    let mut entries: Vec<usize> = lists.range(q).collect();
    let tie = |entry: usize| lists.tie_keys.as_ref().map_or(entry as u64, |keys| u64::from(keys[entry]));
    entries.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(tie(a).cmp(&tie(b))));
    entries.truncate(most);
    entries
}

/// A number of lists as people say it: two digits.
fn rounded(number: usize) -> usize {
    let digits = number.max(1).ilog10();
    let unit = 10_usize.pow(digits.saturating_sub(1));
    number.div_ceil(unit) * unit
}

/// The command as it was typed, from its own name on; nothing where no command was typed.
fn command_line() -> Option<String> {
    let quoted =
        |word: &str| match word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,@+%".contains(c)) {
            true if !word.is_empty() => word.to_string(),
            _ => format!("'{}'", word.replace('\'', "'\\''")),
        };
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let at = words.iter().skip(1).position(|word| word == "report")? + 1;
    let words: Vec<String> = words[at..].iter().map(|word| quoted(word)).collect();
    Some(format!("toprank {}", words.join(" ")))
}

/// The learning curves that a training run left in a folder.
fn learning(folder: &Path) -> Result<Section, Failure> {
    let file = folder.join("curve.jsonl");
    let text = std::fs::read_to_string(&file).map_err(|error| Failure::file(file.display(), &error))?;
    let mut loss = Series { name: "training loss".into(), points: Vec::new() };
    let mut metrics: Vec<Series> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let wrong = || {
            Failure::data(format!(
                "{}:{}: expected a line of the learning curves that `toprank train --curves` writes",
                file.display(),
                number + 1
            ))
        };
        let record: Value = serde_json::from_str(line).map_err(|_| wrong())?;
        let epoch = record["epoch"].as_f64().ok_or_else(wrong)?;
        loss.points.extend(record["loss"].as_f64().map(|value| (epoch, value)));
        for (name, value) in record["metrics"].as_object().ok_or_else(wrong)? {
            let name = format!("validation {name}");
            let place = metrics.iter().position(|series| series.name == name).unwrap_or_else(|| {
                metrics.push(Series { name: name.clone(), points: Vec::new() });
                metrics.len() - 1
            });
            metrics[place].points.extend(value.as_f64().map(|value| (epoch, value)));
        }
    }
    let title = format!("Learning curves of {}", folder.display());
    let plot = learning_curves(&title, "epoch or boosting round", &loss, &metrics, None::<Best>);
    Ok(Section { title: "Training".into(), plots: vec![plot], ..Section::default() })
}

/// What each feature adds to the splits of a model of trees; nothing for other models.
fn importance(path: &str, run: &str) -> Result<Option<Section>, Failure> {
    let model = Model::load(path.as_ref())?;
    let Some(trees) = model.scoring().trees() else { return Ok(None) };
    let ensemble = trees.ensemble();
    let row = |(feature, value): (usize, f64)| IntervalRow {
        name: feature_name(&model, feature),
        value,
        low: value,
        high: value,
    };
    let gains = gain_importance(ensemble);
    let rows: Vec<IntervalRow> =
        gains.into_iter().enumerate().filter(|(_, gain)| *gain > 0.0).map(row).collect();
    let plot: Plot = ranked_bars(&format!("Features of {run} by gain"), "gain", &rows);
    let about = "How much the splits on a feature lowered the training loss.";
    Ok(Some(Section {
        title: "Features".into(),
        about: about.into(),
        plots: vec![plot],
        ..Section::default()
    }))
}
