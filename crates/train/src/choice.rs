/*!
From what a user wants to be good at to the objective that is trained with.

The choices are those that were best on validation data (`bench/quality`); `algorithm` overrides them.
*/

use toprank_core::{ParamError, Policy, Spec};
use toprank_metrics::Measure;
use toprank_objectives::Goal;

/// What was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The objective to train with.
    pub algorithm: String,
    /// The metric that was asked for, if one was.
    pub metric: Option<String>,
}

/// Metric → objective; `@` takes the metric's cut-off along.
const SERVED_BY: &[(&str, &str)] = &[
    ("ndcg", "ndcg-loss2"),
    ("dcg", "ndcg-loss2"),
    ("err", "lambda-err"),
    ("map", "ap"),
    ("mrr", "lambda-mrr"),
    ("p", "lambda-p@"),
    ("recall", "recall@"),
    ("success", "lambda-mrr"),
    ("f1", "lambda-p@"),
    ("rprec", "ap"),
    ("rbp", "ap"),
    ("iprec", "ap"),
    ("11pt", "ap"),
    ("bpref", "ap"),
    ("auroc", "ranknet"),
    ("pauc", "pauc-kl"),
    ("auprc", "ap"),
    ("pap", "pauc-kl"),
    ("top-push", "p-norm-push"),
    ("p-norm-push", "p-norm-push"),
    ("pairs", "ranknet"),
    ("kendall", "ranknet"),
    ("spearman", "ranknet"),
];

/// The objective for `wanted`: one of the catalog of objectives as it is, or the one that serves this metric.
pub fn choose(wanted: &str, algorithm: Option<&str>) -> Result<Choice, ParamError> {
    let spec = Spec::parse(wanted)?;
    let measure = Measure::parse_all(wanted, &Policy::default()).ok().and_then(|mut m| m.pop());
    let metric = measure.as_ref().map(|measure| measure.name().to_string());
    if let Some(algorithm) = algorithm {
        return Ok(Choice { algorithm: algorithm.to_string(), metric });
    }
    let goal = Goal::parse(wanted, &Policy::default());
    let served = measure.and_then(|measure| {
        let name = measure.entry().name;
        let (_, line) = SERVED_BY.iter().find(|(metric, _)| *metric == name)?;
        Some(line.replace('@', &spec.cut.map(|k| format!("@{k}")).unwrap_or_default()))
    });
    match (goal, served) {
        (Ok(goal), _) => Ok(Choice { algorithm: goal.name().to_string(), metric }),
        (Err(_), Some(algorithm)) => Ok(Choice { algorithm, metric }),
        (Err(_), None) if metric.is_some() => Err(ParamError::new(
            "objective",
            wanted,
            "a metric that an objective serves, or an objective; choose one with --algorithm for this metric",
        )),
        (Err(error), None) if toprank_objectives::find(&spec.name).is_some() => Err(error),
        (Err(_), None) => Err(unknown(&spec.name)),
    }
}

fn unknown(name: &str) -> ParamError {
    let mut near = toprank_metrics::nearest(name);
    near.extend(toprank_objectives::nearest(name));
    near.dedup();
    let hint = if near.is_empty() { String::new() } else { format!(" (did you mean {}?)", near.join(", ")) };
    let expected =
        format!("a metric (see `toprank metrics`) or an objective (see `toprank objectives`){hint}");
    ParamError::new("objective", name, &expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_names_a_metric_and_an_objective() {
        for (metric, line) in SERVED_BY {
            if let Some(entry) = toprank_metrics::find(metric) {
                assert_eq!(entry.name, *metric, "a metric is listed under its own name");
            } else {
                panic!("no metric {metric}");
            }
            for line in [line.replace('@', ""), line.replace('@', "@10")] {
                Goal::parse(&line, &Policy::default()).unwrap_or_else(|error| panic!("{line}: {error}"));
            }
        }
    }

    #[test]
    fn an_objective_is_taken_as_it_is_and_a_metric_gets_one() {
        let song = choose("song:gamma=0.3", None).unwrap();
        assert_eq!(song, Choice { algorithm: "song:gamma=0.3".into(), metric: None });
        let ndcg = choose("ndcg@10", None).unwrap();
        assert_eq!(ndcg.metric.as_deref(), Some("ndcg@10"));
        assert_eq!(choose("ndcg@10", Some("song")).unwrap().algorithm, "song");
        let error = choose("ndgc@10", None).unwrap_err().to_string();
        assert!(error.contains("toprank objectives"), "{error}");
    }
}
