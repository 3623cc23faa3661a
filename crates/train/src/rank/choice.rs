/*!
From what a user wants to be good at to the objective that is trained with.

NDCG is served by what was best on validation data (`bench/quality`, `bench/trees`); regions and points of a curve by the form and
the surrogate that were best on sets which `bench/top` does not judge by; `algorithm` overrides them.
*/

use toprank_core::{ParamError, Policy, Spec, catalog};
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

/// Metric → objective: the first line of the metric whose parameter (if it names one) is given. `@` takes the metric's
/// cut-off along, `=*` the value of its parameter of that name.
const SERVED_BY: &[(&str, &str, &str)] = &[
    ("ndcg", "", "yetirank"),
    ("dcg", "", "yetirank"),
    ("err", "", "lambda-err"),
    ("map", "", "ap"),
    ("mrr", "", "lambda-mrr"),
    ("p", "recall", "pauc-kl:surrogate=logistic"),
    ("p", "", "lambda-p@"),
    ("recall", "", "recall@"),
    ("success", "", "lambda-mrr"),
    ("f1", "", "lambda-p@"),
    ("bpref", "", "ap"),
    ("auroc", "", "auroc"),
    ("pauc", "tpr", "tpauc-kl:surrogate=logistic"),
    ("pauc", "from", "pauc-bilevel:fpr=*:from=*:surrogate=logistic"),
    ("pauc", "fpr", "pauc-cvar:fpr=*:surrogate=sigmoid"),
    ("pauc", "", "auroc"),
    ("auprc", "", "ap:surrogate=sigmoid:gamma=0.9"),
    ("pap", "", "pap@"),
    ("top-push", "", "top-push"),
    ("p-norm-push", "", "p-norm-push"),
];

/// Family of metrics → objective, for metrics without a line of their own.
const FAMILY_SERVED_BY: &[(&str, &str)] = &[("relevance", "ap"), ("pairs", "ranknet")];

/// The same for trees, looked at first. They see whole lists, so what others track is counted exactly. Areas under curves are served
/// by cross-entropy: at the best number of rounds it is ahead of their own objectives on average (`bench/defaults`).
const SERVED_BY_ON_TREES: &[(&str, &str, &str)] = &[
    ("p", "recall", "precision-at-recall:recall=*:surrogate=logistic"),
    ("pauc", "tpr", "tpauc-minmax:fpr=*:tpr=*:surrogate=logistic:variables=exact"),
    ("pauc", "", "logistic"),
    ("auroc", "", "logistic"),
    ("auprc", "", "logistic"),
];

/// Metrics that have the name of an objective, and that networks serve better by another one, which `algorithm` overrides. The hard
/// maximum leads them to equal scores where no model separates the top (`bench/collapse`).
const NOT_BY_ITS_NAME_ON_NETWORKS: &[(&str, &str)] = &[("top-push", "top-push-kl")];

/// The same for models of vectors: a normaliser over all items is tracked from samples of them.
const SERVED_BY_ON_RECOMMENDERS: &[(&str, &str, &str)] =
    &[("ndcg", "", "listwise-ce"), ("dcg", "", "listwise-ce")];

/// The same for embeddings of rows.
const SERVED_BY_ON_EMBEDDINGS: &[(&str, &str, &str)] = &[("map", "", "ap:surrogate=sigmoid:temperature=0.1")];

/// Metrics that validation looks at where an objective is given by name: the one it optimises. `@` takes the objective's
/// cut-off along. An objective that is not listed is validated by the default metric of the data.
const OPTIMISES: &[(&str, &str)] = &[
    ("lambda-map", "map"),
    ("lambda-mrr", "mrr"),
    ("lambda-err", "err"),
    ("lambda-p", "p@"),
    ("ap", "map"),
    ("smooth-ap", "map"),
    ("fast-ap", "map"),
    ("dir", "map"),
    ("blackbox", "map"),
    ("soprc", "map"),
    ("top-ap", "map"),
    ("precision", "p@"),
    ("precision-threshold", "p@"),
    ("smoothi-p", "p@"),
    ("recall", "recall@"),
    ("recall-threshold", "recall@"),
    ("lambdarank", "ndcg@"),
    ("song", "ndcg@"),
    ("k-song", "ndcg@"),
];

/// The metric that an objective given by name optimises, if it is one of those that say so.
fn optimised_by(goal: &Goal) -> Option<String> {
    let spec = Spec::parse(goal.name()).ok()?;
    let name = goal.listing().entry.name;
    let (_, metric) = OPTIMISES.iter().find(|(objective, _)| *objective == name)?;
    match (metric.strip_suffix('@'), spec.cut) {
        (None, _) => Some((*metric).to_string()),
        (Some(metric), Some(cut)) => Some(format!("{metric}@{cut}")),
        // Without a cut-off, the default metric of the data stands for the whole list as well.
        (Some(_), None) => None,
    }
}

/// What is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// A network, batch by batch.
    Network,
    /// Trees, over all lists at once.
    Trees,
    /// Vectors of users and items, by draws from all items.
    Recommender,
    /// Vectors of rows, by the cosines within a batch.
    Embedding,
}

/// Parameters of a metric that no objective serves together.
const NOT_TOGETHER: (&str, [&str; 2]) = ("pauc", ["from", "tpr"]);

/// The objective that serves a metric as it was asked for, and whether the kind of model has a line of its own for it.
fn served(measure: &Measure, spec: &Spec, kind: ModelKind) -> Option<(String, bool)> {
    let entry = measure.entry();
    let (metric, both) = NOT_TOGETHER;
    if entry.name == metric && both.iter().all(|key| spec.args.get(key).is_some()) {
        return None;
    }
    let fits = |with: &str| with.is_empty() || spec.args.get(with).is_some();
    let own = match kind {
        ModelKind::Network => &[],
        ModelKind::Trees => SERVED_BY_ON_TREES,
        ModelKind::Recommender => SERVED_BY_ON_RECOMMENDERS,
        ModelKind::Embedding => SERVED_BY_ON_EMBEDDINGS,
    };
    let of = |lines: &'static [(&str, &str, &'static str)]| {
        let mut lines = lines.iter();
        lines.find(|(metric, with, _)| *metric == entry.name && fits(with)).map(|(.., line)| *line)
    };
    let own = of(own);
    let line = own.or_else(|| of(SERVED_BY)).or_else(|| {
        let families = FAMILY_SERVED_BY.iter().find(|(family, _)| *family == entry.family);
        families.map(|(_, line)| *line)
    })?;
    let line = line.replace('@', &spec.cut.map(|k| format!("@{k}")).unwrap_or_default());
    let values = line.split(':').map(|part| match part.strip_suffix("=*") {
        None => part.to_string(),
        Some(key) => {
            let default =
                entry.params.iter().find(|param| param.name == key).map_or("", |param| param.default);
            format!("{key}={}", spec.args.get(key).unwrap_or(default))
        }
    });
    Some((values.collect::<Vec<String>>().join(":"), own.is_some()))
}

/// The objective for `wanted`: one of the catalog of objectives as it is, or the one that serves this metric. Where a metric and an
/// objective have the same name, it is that objective, unless the kind of model has a line of its own for the metric.
pub fn choose(wanted: &str, algorithm: Option<&str>, kind: ModelKind) -> Result<Choice, ParamError> {
    let spec = Spec::parse(wanted)?;
    let measure = Measure::parse_all(wanted, &Policy::default()).ok().and_then(|mut m| m.pop());
    let metric = measure.as_ref().map(|measure| measure.name().to_string());
    if let Some(algorithm) = algorithm {
        let goal = Goal::parse(algorithm, &Policy::default())?;
        return Ok(Choice { algorithm: goal.name().to_string(), metric });
    }
    let by_another =
        NOT_BY_ITS_NAME_ON_NETWORKS.iter().find(|(name, _)| kind == ModelKind::Network && *name == wanted);
    if let Some((_, algorithm)) = by_another {
        return Ok(Choice { algorithm: (*algorithm).into(), metric });
    }
    let goal = Goal::parse(wanted, &Policy::default());
    let served = measure.and_then(|measure| served(&measure, &spec, kind));
    match (goal, served) {
        (_, Some((algorithm, true))) | (Err(_), Some((algorithm, _))) => {
            let goal = Goal::parse(&algorithm, &Policy::default())?;
            Ok(Choice { algorithm: goal.name().to_string(), metric })
        }
        (Ok(goal), _) => {
            let metric = metric.or_else(|| optimised_by(&goal));
            Ok(Choice { algorithm: goal.name().to_string(), metric })
        }
        (Err(_), None) if metric.is_some() => Err(ParamError::new(
            "objective",
            wanted,
            "a metric that an objective serves, or an objective; choose one with --algorithm for this metric",
        )),
        (Err(error), None) if toprank_objectives::find(&spec.name).is_some() => Err(error),
        (Err(_), None) => Err(unknown(&spec.name)),
    }
}

/// The objective that a metric of the catalog is trained with on a kind of model; `None`: no objective serves it. A metric that
/// needs a cut-off is taken at 10.
///
/// ```
/// use toprank_train::rank::choice::{ModelKind, serving};
/// assert_eq!(serving("auroc", ModelKind::Trees).as_deref(), Some("logistic"));
/// assert_eq!(serving("judged", ModelKind::Network), None);
/// ```
pub fn serving(metric: &str, kind: ModelKind) -> Option<String> {
    let at_ten = format!("{metric}@10");
    let known = |text: &&str| Measure::parse_all(text, &Policy::default()).is_ok();
    let wanted = [metric, at_ten.as_str()].into_iter().find(known)?;
    choose(wanted, None, kind).ok().map(|choice| choice.algorithm)
}

fn unknown(name: &str) -> ParamError {
    let metrics = toprank_metrics::METRICS.iter().map(|entry| entry.name);
    catalog::unknown("objective", name, metrics.chain(toprank_objectives::names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_names_a_metric_and_an_objective() {
        let own =
            [SERVED_BY_ON_TREES, SERVED_BY_ON_RECOMMENDERS, SERVED_BY_ON_EMBEDDINGS].into_iter().flatten();
        for (metric, with, line) in SERVED_BY.iter().chain(own) {
            if let Some(entry) = toprank_metrics::find(metric) {
                assert_eq!(entry.name, *metric, "a metric is listed under its own name");
                let has = |key: &str| entry.params.iter().any(|param| param.name == key);
                assert!(with.is_empty() || has(with), "{metric} has no parameter {with}");
            } else {
                panic!("no metric {metric}");
            }
            for line in [line.replace('@', ""), line.replace('@', "@10")].map(|line| line.replace('*', "0.5"))
            {
                let line = line.replace("from=0.5", "from=0.2");
                Goal::parse(&line, &Policy::default()).unwrap_or_else(|error| panic!("{line}: {error}"));
            }
        }
    }

    #[test]
    fn a_metric_without_a_line_of_its_own_is_served_as_its_family_is() {
        for (family, line) in FAMILY_SERVED_BY {
            assert!(
                toprank_metrics::METRICS.iter().any(|entry| entry.family == *family),
                "no family {family}"
            );
            Goal::parse(line, &Policy::default()).unwrap();
        }
        for (metric, algorithm) in
            [("rprec", "ap"), ("rbp:p=0.9", "ap"), ("11pt", "ap"), ("gm-map", "ap"), ("spearman", "ranknet")]
        {
            assert_eq!(choose(metric, None, ModelKind::Network).unwrap().algorithm, algorithm, "{metric}");
        }
        assert!(choose("rbp-residual", None, ModelKind::Network).is_err());
    }

    #[test]
    fn a_metric_of_the_top_takes_its_region_along() {
        for (wanted, algorithm) in [
            ("auroc", "auroc"),
            ("pauc:fpr=0.1", "pauc-cvar:fpr=0.1:surrogate=sigmoid"),
            ("pauc:fpr=0.3:tpr=0.5", "tpauc-kl:surrogate=logistic"),
            ("pauc:tpr=0.5", "tpauc-kl:surrogate=logistic"),
            ("pauc:fpr=0.2:from=0.05", "pauc-bilevel:fpr=0.2:from=0.05:surrogate=logistic"),
            ("pauc", "auroc"),
            ("auprc", "ap:surrogate=sigmoid:gamma=0.9"),
            ("p@100", "lambda-p@100"),
            ("p:recall=0.8", "pauc-kl:surrogate=logistic"),
            ("p@recall=0.8", "pauc-kl:surrogate=logistic"),
            ("pap@20", "pap@20"),
            ("top-push", "top-push-kl"),
        ] {
            let choice = choose(wanted, None, ModelKind::Network).unwrap();
            assert_eq!(choice.algorithm, algorithm, "{wanted}");
            assert!(choice.metric.is_some(), "{wanted} is a metric, too");
            Goal::parse(&choice.algorithm, &Policy::default()).unwrap();
        }
        let trees = |wanted: &str| choose(wanted, None, ModelKind::Trees).unwrap().algorithm;
        for area in ["pauc:fpr=0.1", "pauc:fpr=0.2:from=0.05", "pauc", "auroc", "AUROC", "auprc"] {
            assert_eq!(trees(area), "logistic", "{area}");
        }
        // With a parameter of its own, or as the algorithm, it is the objective.
        assert_eq!(trees("auroc:surrogate=logistic"), "auroc:surrogate=logistic");
        assert_eq!(choose("auroc", Some("auroc"), ModelKind::Trees).unwrap().algorithm, "auroc");
        assert_eq!(choose("auroc", None, ModelKind::Trees).unwrap().metric.as_deref(), Some("auroc"));
        let two_way = "tpauc-minmax:fpr=1:tpr=0.5:surrogate=logistic:variables=exact";
        assert_eq!(trees("pauc:tpr=0.5"), two_way);
        assert_eq!(trees("top-push"), "top-push");
        let said = |wanted: &str, algorithm| choose(wanted, algorithm, ModelKind::Network).unwrap().algorithm;
        assert_eq!(said("top-push", Some("top-push")), "top-push");
        assert_eq!(said("top-push:variables=exact", None), "top-push:variables=exact");
        assert_eq!(trees("p:recall=0.8"), "precision-at-recall:recall=0.8:surrogate=logistic");
        assert_eq!(trees("ndcg@5"), "yetirank");
        assert!(choose("pauc:fpr=0.2:from=0.05:tpr=0.5", None, ModelKind::Network).is_err());
        assert_eq!(choose("pauc:fpr=0.1", Some("pauc-kl"), ModelKind::Network).unwrap().algorithm, "pauc-kl");
    }

    #[test]
    fn an_objective_is_taken_as_it_is_and_a_metric_gets_one() {
        let song = choose("song:gamma=0.3", None, ModelKind::Network).unwrap();
        assert_eq!(song, Choice { algorithm: "song:gamma=0.3".into(), metric: None });
        let ndcg = choose("ndcg@10", None, ModelKind::Network).unwrap();
        assert_eq!(ndcg.metric.as_deref(), Some("ndcg@10"));
        assert_eq!(choose("ndcg@10", Some("song"), ModelKind::Network).unwrap().algorithm, "song");
        let error = choose("ndgc@10", None, ModelKind::Network).unwrap_err().to_string();
        assert_eq!(error, "unknown objective \"ndgc\"; did you mean \"ndcg\"?");
    }
}
