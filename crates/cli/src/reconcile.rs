//! `toprank reconcile`: which conventions give the number that another tool printed?

use serde_json::{Value, json};
use toprank::core::ScoreBits;
use toprank::metrics::reconcile::{Convention, Number, ReconcileError, Reconciled, reconcile};

use crate::failure::Failure;
use crate::judged::{Labels, Ranking, ScoreSource};
use crate::reading::Reading;
use crate::table::counted;
use crate::{Common, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank reconcile --data test.txt --scores scores.txt -m ndcg@10 --value 0.4532
  toprank reconcile --qrels qrels.txt --run bm25.run -m map --value 0.2411

The rules that the metric reads are tried in every combination: gain, order of ties, value of lists without a relevant item, smallest
relevant label, items of the ideal order, divisors, precision of scores. Half a unit of the last digit of the number is no
difference. What is found is named with the presets of other tools that give the number (`toprank evaluate --like TOOL`), also with a
rule that the tool lets its users choose (`xgboost:empty=zero` is XGBoost's `ndcg-`); a rule that changes nothing on these data is said
to be undecided. \"None found\" means that the labels, the scores, the lists or the metric were
others.";

/// Find the conventions under which a metric is the number that another tool printed
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
#[command(override_usage = "toprank reconcile [OPTIONS] --metric METRIC --value NUMBER")]
pub struct Reconcile {
    #[command(flatten)]
    labels: Labels,
    #[command(flatten)]
    scores: ScoreSource,
    /// With --qrels: the run (TREC, JSON, CSV or Parquet)
    #[arg(long, value_name = "FILE", requires = "qrels", conflicts_with = "ranking")]
    run: Option<String>,
    /// The metric, without the rules to find (see `toprank metrics`)
    #[arg(long, short, value_name = "METRIC")]
    metric: String,
    /// The number that the other tool printed, with all its digits
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    value: String,
    #[command(flatten)]
    reading: Reading,
}

impl From<ReconcileError> for Failure {
    fn from(error: ReconcileError) -> Failure {
        match error {
            ReconcileError::Param(error) => error.into(),
            ReconcileError::Evaluate(error) => Failure::data(error),
        }
    }
}

impl Reconcile {
    /// Reads, searches, prints.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let number = Number::parse(&self.value)?;
        let run = self.run.clone().map(Ranking::File);
        let ranking = self.scores.ranking().or(run).ok_or_else(|| {
            Failure::usage("nothing to evaluate: expected --scores, --feature or --score-column with --data, or --run with --qrels")
        })?;
        let keep = self.scores.kept_column().into_iter().collect();
        let basis = self.labels.read(&self.reading, keep, false, ScoreBits::F64, common)?;
        let judged = basis.judge(&ranking, false, common)?;
        let found = reconcile(&judged.lists, &judged.scores, &self.metric, &number)?;
        if common.json {
            return print_json(&report(&found, &number));
        }
        print(&text(&found, &self.value))
    }
}

fn report(found: &Reconciled, number: &Number) -> Value {
    let presets: serde_json::Map<String, Value> =
        found.presets.iter().map(|(name, mean)| (name.clone(), json!(mean))).collect();
    let conventions = found.conventions.iter().map(|Convention { rules, mean }| {
        let rules: serde_json::Map<String, Value> =
            rules.iter().map(|(key, value)| ((*key).to_string(), json!(value))).collect();
        json!({"rules": rules, "mean": mean})
    });
    json!({
        "metric": found.metric,
        "value": number.value,
        "tolerance": number.tolerance,
        "own": found.own,
        "presets": presets,
        "conventions": conventions.collect::<Vec<_>>(),
        "undecided": found.undecided,
        "tried": found.tried,
    })
}

/// Conventions that are printed; JSON has all.
const MOST: usize = 10;

fn text(found: &Reconciled, value: &str) -> String {
    let own = found.own.map_or("undefined".into(), |own| format!("{own:.6}"));
    let mut text = format!("{} under our defaults: {own}\n", found.metric);
    if found.conventions.is_empty() && found.presets.is_empty() {
        return text + &format!("{value}: none found among {}\n", counted(found.tried, "convention"));
    }
    let names: Vec<String> = found.presets.iter().map(|(name, mean)| format!("{name} ({mean:.6})")).collect();
    let named = if names.is_empty() { "no preset".into() } else { names.join(", ") };
    text += &format!("{value} is what these give: {named}\n");
    for Convention { rules, mean } in found.conventions.iter().take(MOST) {
        let changed: Vec<String> = rules.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let changed = if changed.is_empty() { "our defaults".into() } else { changed.join(" ") };
        text += &format!("  {mean:.6}  {changed}\n");
    }
    let more = found.conventions.len().saturating_sub(MOST);
    if more > 0 {
        text += &format!("  … and {} (--json has all)\n", counted(more, "further convention"));
    }
    if !found.undecided.is_empty() {
        text += &format!("undecided, as they change nothing on these data: {}\n", found.undecided.join(", "));
    }
    text
}
