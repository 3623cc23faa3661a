//! `toprank threshold`: choose a decision threshold.

use serde_json::{Value, json};
use toprank::core::{List, Policy};
use toprank::metrics::pool;
use toprank::metrics::threshold::{Fraction, OperatingPoint, Thresholds, Wish};

use crate::failure::Failure;
use crate::judged::{Labels, ScoreSource};
use crate::reading::Reading;
use crate::table::{Style, Table};
use crate::{Common, note, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank threshold --data train.csv --label label --scores model.toprank.oof.txt --recall 0.8
  toprank threshold --data valid.csv --label fraud --scores scores.txt --alerts 100
  toprank threshold --data valid.csv --label fraud --scores scores.txt --alerts 0.5%
  toprank threshold --data valid.csv --label fraud --scores scores.txt --cost fp=1,fn=25
  toprank threshold --data test.csv --label fraud --scores test_scores.txt --at 1.734

An alert is a row whose score is at least the threshold. Rows of equal score cannot be separated by a threshold: they are alerted
together or not at all, so a budget may not be used up; the next lower threshold is printed with its number of alerts.
Intervals are Wilson's, for the threshold as it stands. A threshold that was chosen on the same rows looks a little too good on
them: choose it on out-of-fold or validation scores, then evaluate it on test data with --at.
Of multi-label data every label gets its own threshold; the lists of queries are evaluated as one.";

/// Choose a decision threshold for a recall, precision, number of alerts or cost
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
#[command(
    override_usage = "toprank threshold [OPTIONS] --scores FILE (--recall R | --precision P | --alerts N | …)"
)]
#[command(group = clap::ArgGroup::new("wish").required(true))]
pub struct Threshold {
    #[command(flatten)]
    labels: Labels,
    #[command(flatten)]
    scores: ScoreSource,
    /// Find at least this fraction of the relevant rows with as few alerts as possible
    #[arg(long, value_name = "FRACTION", group = "wish")]
    recall: Option<f64>,
    /// Keep at least this precision with as many alerts as possible
    #[arg(long, value_name = "FRACTION", group = "wish")]
    precision: Option<f64>,
    /// Raise at most this many alerts: a number (100) or a fraction of the rows (0.5%)
    #[arg(long, value_name = "N", group = "wish")]
    alerts: Option<String>,
    /// Minimise the cost, given the costs of a false alert and a missed row: fp=1,fn=25
    #[arg(long, value_name = "fp=A,fn=B", group = "wish")]
    cost: Option<String>,
    /// Evaluate this threshold
    #[arg(long, value_name = "SCORE", group = "wish", allow_negative_numbers = true)]
    at: Option<f64>,
    /// Confidence level of the intervals
    #[arg(long, value_name = "LEVEL", default_value_t = 0.95)]
    level: f64,
    /// Smallest relevant label: 2, or '>0.5' for labels above [default: '>0']
    #[arg(long, value_name = "LABEL")]
    relevant: Option<String>,
    #[command(flatten)]
    reading: Reading,
}

/// What is wanted.
enum Wanted {
    Wish(Wish),
    At(f64),
}

/// One list with its operating point.
struct Answer {
    name: Option<String>,
    point: OperatingPoint,
    next: Option<OperatingPoint>,
}

impl Threshold {
    /// Reads, chooses, prints.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let wanted = self.wanted()?;
        if !(0.0 < self.level && self.level < 1.0) {
            return Err(Failure::usage(format!("--level must be in (0, 1), but is {}", self.level)));
        }
        let mut policy = Policy::default();
        if let Some(relevant) = &self.relevant {
            policy.set("relevant", relevant)?;
        }
        let ranking = self.scores.ranking().ok_or_else(|| {
            Failure::usage("no scores: expected --scores, --feature or --score-column beside --data")
        })?;
        let keep = self.scores.kept_column().into_iter().collect();
        let basis = self.labels.read(&self.reading, keep, false, policy.scores, common)?;
        let judged = basis.judge(&ranking, false, common)?;
        let answers = if judged.lists.are_labels() {
            let several = judged.lists.len() > 1;
            let answer = |q: usize| {
                let name = several.then(|| judged.names[q].clone());
                self.answer(name, &judged.lists.list(q, &judged.scores), &policy, &wanted)
            };
            (0..judged.lists.len()).map(answer).collect::<Result<Vec<_>, _>>()?
        } else {
            note(common, format!("the {} lists are evaluated as one", judged.lists.len()));
            let (lists, scores) = pool(&judged.lists, &judged.scores);
            vec![self.answer(None, &lists.list(0, &scores), &policy, &wanted)?]
        };
        if common.json {
            let several: Vec<Value> = answers.iter().map(|answer| self.json(answer)).collect();
            return match &several[..] {
                [one] => print_json(one),
                _ => print_json(&json!({"labels": several})),
            };
        }
        let texts: Vec<String> = answers.iter().map(|answer| self.text(answer)).collect();
        print(&texts.join("\n"))
    }

    fn wanted(&self) -> Result<Wanted, Failure> {
        let share = |flag: &str, value: f64| match 0.0 < value && value <= 1.0 {
            true => Ok(value),
            false => Err(Failure::usage(format!("--{flag} must be a fraction in (0, 1], but is {value}"))),
        };
        if let Some(recall) = self.recall {
            return Ok(Wanted::Wish(Wish::Recall(share("recall", recall)?)));
        }
        if let Some(precision) = self.precision {
            return Ok(Wanted::Wish(Wish::Precision(share("precision", precision)?)));
        }
        if let Some(text) = &self.alerts {
            let number = |text: &str, most: f64| {
                text.trim().parse().ok().filter(|value: &f64| (0.0..=most).contains(value)).ok_or_else(|| {
                    Failure::usage(format!(
                        "--alerts must be a number such as 100 or a fraction such as 0.5%, but is {text}"
                    ))
                })
            };
            return Ok(match text.strip_suffix('%') {
                Some(share) => Wanted::Wish(Wish::AlertFraction(number(share, 100.0)? / 100.0)),
                None => Wanted::Wish(Wish::Alerts(number(text, f64::MAX)?)),
            });
        }
        if let Some(text) = &self.cost {
            return Ok(Wanted::Wish(cost(text)?));
        }
        match self.at {
            Some(at) if !at.is_nan() => Ok(Wanted::At(at)),
            _ => Err(Failure::usage("--at must be a number")),
        }
    }

    fn answer(
        &self,
        name: Option<String>,
        list: &List,
        policy: &Policy,
        wanted: &Wanted,
    ) -> Result<Answer, Failure> {
        let of = name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        let thresholds = Thresholds::of(list, policy).map_err(|error| {
            Failure::data(format!("{of}the score of item {} is not a number", error.item + 1))
        })?;
        let all = thresholds.points()[thresholds.points().len() - 1];
        let chosen = match *wanted {
            Wanted::At(at) => Some(thresholds.at(at)),
            Wanted::Wish(wish) => thresholds.choose(wish),
        };
        let Some(point) = chosen else {
            let best = thresholds.points().iter().filter_map(OperatingPoint::precision).fold(0.0, f64::max);
            return Err(Failure::data(match self.precision {
                Some(wanted) if all.positives() > 0.0 => format!(
                    "{of}no threshold has a precision of {wanted}; the greatest is {best:.4}: ask for less, or for a recall"
                ),
                _ => format!(
                    "{of}{} relevant items of {}: no threshold reaches it; see --relevant for which labels count",
                    all.positives(),
                    all.items()
                ),
            }));
        };
        Ok(Answer { name, next: thresholds.after(&point).copied(), point })
    }

    fn text(&self, answer: &Answer) -> String {
        let Answer { name, point, next } = answer;
        let mut text = name.as_ref().map(|name| format!("{name}\n")).unwrap_or_default();
        text += &match point.threshold == f64::INFINITY {
            true => "threshold: none, no alert is raised\n\n".to_string(),
            false => format!("threshold: score ≥ {:?}\n\n", point.threshold),
        };
        let mut table = Table::new(["", "relevant", "other", "all"]);
        let mut row = |name: &str, relevant: f64, other: f64| {
            table.row([name.to_string(), count(relevant), count(other), count(relevant + other)]);
        };
        row("alert", point.true_positives, point.false_positives);
        row("no alert", point.false_negatives, point.true_negatives);
        row("all", point.positives(), point.items() - point.positives());
        text += &(table.render(Style::Table) + "\n");
        let level = format!("{} % interval", trim(self.level * 100.0));
        let mut table = Table::new(["", "value", &level]);
        for (name, share, digits) in self.rates(point) {
            let Some(share) = share else { continue };
            let interval = format!("[{:.digits$}, {:.digits$}]", share.low, share.high);
            let interval = if share.low.is_nan() { "–".into() } else { interval };
            table.row([name.to_string(), format!("{:.digits$}", share.value), interval]);
        }
        text += &table.render(Style::Table);
        if let Some(Wish::Cost { false_positive, false_negative }) = self.costs() {
            text += &format!("cost: {}\n", trim(point.cost(false_positive, false_negative)));
        }
        if let Some(next) = next {
            text += &format!(
                "the next lower threshold {:?} has {} alerts, {} of them relevant\n",
                next.threshold,
                count(next.alerts()),
                count(next.true_positives)
            );
        }
        text
    }

    /// Name, value with interval, digits.
    fn rates(&self, point: &OperatingPoint) -> [(&'static str, Option<Fraction>, usize); 5] {
        let alone = |value: Option<f64>| value.map(|value| Fraction { value, low: f64::NAN, high: f64::NAN });
        [
            ("recall", point.recall_interval(self.level), 4),
            ("precision", point.precision_interval(self.level), 4),
            ("lift", point.lift_interval(self.level), 2),
            ("false positive rate", alone(point.false_positive_rate()), 4),
            ("fraction alerted", alone(Some(point.alerts() / point.items())), 4),
        ]
    }

    fn costs(&self) -> Option<Wish> {
        self.cost.as_deref().and_then(|text| cost(text).ok())
    }

    fn json(&self, answer: &Answer) -> Value {
        let Answer { name, point, next } = answer;
        let finite = |value: f64| if value.is_finite() { json!(value) } else { Value::Null };
        let share = |share: Option<Fraction>| {
            share.map(
                |share| json!({"value": share.value, "low": finite(share.low), "high": finite(share.high)}),
            )
        };
        let rates: serde_json::Map<String, Value> = self
            .rates(point)
            .into_iter()
            .map(|(name, value, _)| (name.replace(' ', "_"), json!(share(value))))
            .collect();
        let mut value = json!({
            "threshold": finite(point.threshold),
            "confusion": {
                "true_positives": point.true_positives,
                "false_positives": point.false_positives,
                "false_negatives": point.false_negatives,
                "true_negatives": point.true_negatives,
            },
            "alerts": point.alerts(),
            "rates": rates,
            "level": self.level,
            "next": next.map(|next| json!({
                "threshold": next.threshold, "alerts": next.alerts(), "true_positives": next.true_positives,
            })),
        });
        if let Some(name) = name {
            value["label"] = json!(name);
        }
        if let Some(Wish::Cost { false_positive, false_negative }) = self.costs() {
            value["cost"] = json!(point.cost(false_positive, false_negative));
        }
        value
    }
}

/// Reads `fp=1,fn=25`.
fn cost(text: &str) -> Result<Wish, Failure> {
    let wrong =
        || Failure::usage(format!("--cost must be two numbers from 0 on, as in fp=1,fn=25, but is {text}"));
    let (mut false_positive, mut false_negative) = (None, None);
    for part in text.split(',') {
        let (key, value) = part.split_once('=').ok_or_else(wrong)?;
        let value =
            value.trim().parse::<f64>().ok().filter(|v| *v >= 0.0 && v.is_finite()).ok_or_else(wrong)?;
        match key.trim() {
            "fp" => false_positive = Some(value),
            "fn" => false_negative = Some(value),
            _ => return Err(wrong()),
        }
    }
    match (false_positive, false_negative) {
        (Some(false_positive), Some(false_negative)) => Ok(Wish::Cost { false_positive, false_negative }),
        _ => Err(wrong()),
    }
}

/// A count, or a sum of weights.
fn count(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

fn trim(value: f64) -> String {
    format!("{value:.4}").trim_end_matches('0').trim_end_matches('.').to_string()
}
