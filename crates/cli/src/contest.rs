//! Rankings of the same lists, evaluated and tested against each other: what `compare` prints and `report` shows.

use toprank::metrics::bootstrap::{IntervalKind, Unit};
use toprank::metrics::compare::{CompareOptions, Comparison, compare, correct_over_all};
use toprank::metrics::rows;
use toprank::metrics::significance::Correction;
use toprank::metrics::{Average, Evaluation, evaluate};

use crate::evaluate::Bootstrap;
use crate::failure::Failure;
use crate::judged::{Basis, Judged, Labels, Ranking};
use crate::reading::Reading;
use crate::rules::{Measures, Rules};
use crate::{Common, note};

/// Labels, metrics and tests; the rankings are named by each command in its own way.
#[derive(clap::Args, Clone, Debug)]
pub struct Contest {
    #[command(flatten)]
    pub labels: Labels,
    /// Metrics, separated by commas (see `toprank metrics`)
    #[arg(long, short, value_name = "METRICS", default_value = "ndcg@10")]
    pub metrics: String,
    /// Tests, separated by commas [default: t,wilcoxon,randomisation; on rows delong,bootstrap,permutation]
    #[arg(long, value_name = "TESTS")]
    tests: Option<String>,
    /// Correction of p values over all pairs and metrics: holm, bh (Benjamini–Hochberg), none
    #[arg(long, value_name = "METHOD", default_value = "holm")]
    correction: String,
    #[command(flatten)]
    bootstrap: Bootstrap,
    #[command(flatten)]
    rules: Rules,
    #[command(flatten)]
    pub reading: Reading,
}

/// One run, evaluated.
pub struct Run<'a> {
    pub name: String,
    #[cfg_attr(not(feature = "plots"), expect(dead_code, reason = "for the report"))]
    pub ranking: Ranking,
    pub judged: Judged<'a>,
    pub evaluation: Evaluation,
}

impl Contest {
    /// The metrics, which must be means over lists.
    pub fn measures(&self) -> Result<Measures, Failure> {
        let measures = self.rules.measures(&self.metrics)?;
        if let Some(measure) = measures.all.iter().find(|m| m.metric().average() != Average::Arithmetic) {
            return Err(Failure::usage(format!(
                "{} is a geometric mean over lists and has no difference per list; compare map instead",
                measure.name()
            )));
        }
        Ok(measures)
    }

    /// Correction, intervals and seed.
    pub fn options(&self) -> Result<CompareOptions, Failure> {
        let mut options = CompareOptions::with_tests("t,wilcoxon,randomisation")?;
        options.correction = self.correction.parse::<Correction>()?;
        options.seed = self.bootstrap.seed;
        if let Some(interval) = self.bootstrap.options()? {
            options.interval = interval;
        }
        options.check()?;
        Ok(options)
    }

    /// Reads the labels; `keep` are columns wanted as text beside those that rank.
    pub fn read(
        &self,
        named: &[(String, Ranking)],
        measures: &Measures,
        mut keep: Vec<String>,
        common: &Common,
    ) -> Result<Basis, Failure> {
        keep.extend(named.iter().filter_map(|(_, ranking)| match ranking {
            Ranking::Column(column) => Some(column.clone()),
            _ => None,
        }));
        self.labels.read(&self.reading, keep, true, measures.policy.scores, common)
    }

    /// One comparison per metric, its p values corrected over all of them.
    pub fn compared(
        &self,
        basis: &Basis,
        runs: &[Run],
        measures: &Measures,
        mut options: CompareOptions,
    ) -> Result<Vec<Comparison>, Failure> {
        let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
        let lists = &runs[0].judged.lists;
        if basis.unit(lists) == Unit::Rows {
            if options.tukey.is_some() {
                return Err(Failure::usage(
                    "--tukey compares the values of lists; binary and multi-label data have tests over rows, see --tests",
                ));
            }
            let any_auroc = measures.all.iter().any(|measure| measure.entry().name == "auroc");
            let default = if any_auroc { "delong,bootstrap,permutation" } else { "bootstrap,permutation" };
            let tests = rows::parse_tests(self.tests.as_deref().unwrap_or(default))?;
            options.interval.kind = IntervalKind::Delong;
            let scores: Vec<&[f64]> = runs.iter().map(|run| run.judged.scores.as_slice()).collect();
            let found: Vec<Evaluation> = runs.iter().map(|run| run.evaluation.clone()).collect();
            return rows::compare_rows(&names, lists, &scores, &measures.all, &found, &tests, &options)
                .map_err(|error| basis.explain(&error));
        }
        if let Some(tests) = &self.tests {
            options.tests = toprank::metrics::significance::parse(tests)?;
        }
        let weights = lists.list_weights.clone();
        let mut comparisons: Vec<Comparison> = (0..measures.all.len())
            .map(|m| {
                let values: Vec<&[f64]> =
                    runs.iter().map(|run| run.evaluation.results[m].per_list.as_slice()).collect();
                options.better = measures.all[m].metric().better();
                compare(&names, &values, weights.as_deref(), &options)
            })
            .collect();
        correct_over_all(&mut comparisons);
        Ok(comparisons)
    }
}

/// The rankings under their names, which must differ.
pub fn named_runs(texts: &[String]) -> Result<Vec<(String, Ranking)>, Failure> {
    let named = texts.iter().map(|text| named(text)).collect::<Result<Vec<_>, _>>()?;
    match (1..named.len()).find(|&i| named[..i].iter().any(|(name, _)| *name == named[i].0)) {
        None => Ok(named),
        Some(i) => {
            Err(Failure::usage(format!("two runs are called {}; give each its own NAME=FILE", named[i].0)))
        }
    }
}

/// Puts scores to the labels, run by run, and evaluates them.
pub fn evaluated<'a>(
    basis: &'a Basis,
    named: Vec<(String, Ranking)>,
    measures: &Measures,
    common: &Common,
) -> Result<Vec<Run<'a>>, Failure> {
    let mut runs = Vec::new();
    for (name, ranking) in named {
        let mut judged = basis.judge(&ranking, false, common)?;
        judged.weigh(measures.like);
        let evaluation =
            evaluate(&judged.lists, &judged.scores, &measures.all).map_err(|error| basis.explain(&error))?;
        if let Some((missing, unknown)) = judged.only_in.filter(|counts| counts.0 + counts.1 > 0) {
            note(
                common,
                format!(
                    "{name}: {missing} judged queries unanswered (empty rankings), {unknown} queries not judged"
                ),
            );
        }
        runs.push(Run { name, ranking, judged, evaluation });
    }
    Ok(runs)
}

/// `NAME=FILE`, `NAME=MODEL.toprank`, `NAME=feature:N`, `NAME=column:C`; without a name the file's own.
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
        _ if place.ends_with(".toprank") => Ranking::Model(place.to_string()),
        _ => Ranking::File(place.to_string()),
    };
    Ok((name, ranking))
}
