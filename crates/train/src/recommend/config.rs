//! What a recommender is trained with, where the user is silent, and checks across settings.

use serde::{Deserialize, Serialize};
use toprank_core::{ParamError, Policy};
use toprank_embeddings::ItemModel;
use toprank_metrics::Measure;

use super::auto::BUDGET;
use super::trainer::Kind;
use crate::fit::optimiser::{self, Optimiser, RowRule};
use crate::fit::settings::{Config, Settings, TrainerKind};
use crate::fit::stages::check_warm_up;
use crate::rank::choice::{Choice, ModelKind, choose};
use crate::rank::models;
use crate::recommend::interactions::Interactions;

/// What a chosen pair is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feedback {
    /// 1, whatever the rating: there was an interaction.
    #[default]
    Implicit,
    /// Its rating; gains and relevance follow the objective's parameters.
    Ratings,
}

impl Feedback {
    /// The feedback that a config asks for.
    pub fn of(config: &Config) -> Feedback {
        if config.feedback() == "ratings" { Feedback::Ratings } else { Feedback::Implicit }
    }
}

/// What settings ask of the interactions: features of users and items are for a model that reads them, and recency weighting needs
/// to know the order in time.
///
/// # Errors
/// The setting that does not suit the data.
pub fn check_settings(settings: &Settings, config: &Config, data: &Interactions) -> Result<(), ParamError> {
    let towers = config.model().split(':').next() == Some("two-tower");
    if !towers && (data.user_features.is_some() || data.item_features.is_some()) {
        let expected = "none: they are read by --model two-tower";
        return Err(ParamError::new("features of users or items", config.model(), expected));
    }
    let unknown = data.later.is_empty();
    match settings.recency.filter(|half_life| *half_life > 0.0 && unknown) {
        None => Ok(()),
        Some(half_life) => Err(ParamError::new(
            "recency",
            &half_life.to_string(),
            "0 here, as the order in time of the training interactions is not known: it needs a time in every line, or --split \
             leave-last, and parts that are not random",
        )),
    }
}

/// Every choice made, every value checked. The defaults were chosen on the validation parts of two MovieLens sets
/// (bench/recommend).
pub(crate) fn resolve(settings: &Settings) -> Result<Config, ParamError> {
    let objective = settings.objective.clone().unwrap_or_else(|| "ndcg@20".into());
    let is_auto = settings.model.as_deref().is_some_and(models::is_auto);
    if let (false, Some(key)) =
        (is_auto, ["budget", "members"].into_iter().find(|key| settings.get(key).is_some()))
    {
        let expected = "omitted, or given with --model auto";
        return Err(ParamError::new(key, &settings.get(key).unwrap_or_default(), expected));
    }
    if let Some(text) = &settings.model {
        match Kind::parse(text)? {
            Kind::Items(model) => return of_items(settings, text, &*model, objective),
            Kind::Auto => return of_auto(settings, objective),
            Kind::Vectors(_) => {}
        }
    }
    let Choice { algorithm, metric } =
        choose(&objective, settings.algorithm.as_deref(), ModelKind::Recommender)?;
    let config = Config::checked(
        TrainerKind::Recommend,
        Settings {
            valid_metric: settings.valid_metric.clone().or(metric).or_else(|| Some("ndcg@20".into())),
            objective: Some(objective),
            algorithm: Some(algorithm),
            ..settings.clone()
        },
    )?;
    if config.refit() {
        return Err(no_refit(config.model()));
    }
    check_warm_up(&config)?;
    Kind::parse(config.model())?;
    row_rule(&config)?;
    Ok(config)
}

/// What trains vectors, and no item model.
const OF_VECTORS: [&str; 10] = [
    "algorithm",
    "sampler",
    "optimiser",
    "learning-rate",
    "schedule",
    "warm-up",
    "warm-up-objective",
    "after-warm-up",
    "warm-up-learning-rate",
    "from",
];

fn no_refit(model: &str) -> ParamError {
    let expected = format!("omitted: {model} is not fitted in closed form, as ease, knn and pop are");
    ParamError::new("refit", "true", &expected)
}

/// The algorithm of a model that has a loss of its own.
pub(crate) const OWN: &str = "own";

/// The half-life of interactions for item models: the best of 0, 1, 2, 3, 5 and 10 on the validation part of Amazon Beauty for EASE.
const RECENCY_OF_ITEMS: f64 = 3.0;

/// The config of an item model: the objective is the metric that chooses, as the model has a loss of its own.
fn of_items(
    settings: &Settings,
    name: &str,
    model: &dyn ItemModel,
    objective: String,
) -> Result<Config, ParamError> {
    let closed: &[&str] = if model.is_iterative() { &[] } else { &["epochs", "patience"] };
    for key in OF_VECTORS.iter().chain(closed) {
        if let Some(found) = settings.get(key) {
            return Err(ParamError::new(
                key,
                &found,
                &format!("omitted: the model {name} has no such setting"),
            ));
        }
    }
    if let Some(found) = settings.recency.filter(|half_life| model.reads_order() && *half_life > 0.0) {
        let expected =
            format!("omitted: the model {name} learns from the order of interactions how much each counts");
        return Err(ParamError::new("recency", &found.to_string(), &expected));
    }
    if model.is_iterative() && settings.refit == Some(true) {
        return Err(no_refit(name));
    }
    let metric = metric_of(&objective, name)?;
    Config::checked(
        TrainerKind::Recommend,
        Settings {
            valid_metric: settings.valid_metric.clone().or(Some(metric)),
            objective: Some(objective),
            algorithm: Some(OWN.into()),
            recency: settings.recency.or(Some(if model.reads_order() { 0.0 } else { RECENCY_OF_ITEMS })),
            epochs: if model.is_iterative() { settings.epochs } else { Some(1) },
            patience: if model.is_iterative() { settings.patience } else { Some(0) },
            ..settings.clone()
        },
    )
}

/// The metric that an objective names.
fn metric_of(objective: &str, model: &str) -> Result<String, ParamError> {
    match Measure::parse_all(objective, &Policy::default()).ok().and_then(|mut all| all.pop()) {
        Some(measure) => Ok(measure.name().to_string()),
        None => {
            let expected =
                format!("a metric to choose by, such as ndcg@10: the model {model} has a loss of its own");
            Err(ParamError::new("objective", objective, &expected))
        }
    }
}

/// The config of a blend: its members have settings of their own.
fn of_auto(settings: &Settings, objective: String) -> Result<Config, ParamError> {
    for key in OF_VECTORS.iter().chain(&["epochs", "patience", "recency"]) {
        if let Some(found) = settings.get(key) {
            let expected = "omitted with --model auto, whose members have their own: set it for one model, such as --model ease";
            return Err(ParamError::new(key, &found, expected));
        }
    }
    let listed = settings.members.as_ref().is_some_and(|members| !members.is_empty());
    if let (true, Some(budget)) = (listed, &settings.budget) {
        let expected = "omitted where members are given: a budget is turned into them";
        return Err(ParamError::new("budget", budget, expected));
    }
    let budget = if listed { None } else { Some(settings.budget.clone().unwrap_or_else(|| BUDGET.into())) };
    Config::checked(
        TrainerKind::Recommend,
        Settings {
            valid_metric: settings.valid_metric.clone().or(Some(metric_of(&objective, "auto")?)),
            objective: Some(objective),
            algorithm: Some(OWN.into()),
            recency: Some(0.0),
            epochs: Some(1),
            patience: Some(0),
            budget,
            ..settings.clone()
        },
    )
}

/// The optimiser over rows of the tables.
pub(crate) fn row_rule(config: &Config) -> Result<RowRule, ParamError> {
    let text = config.optimiser();
    optimiser::parse(text)?
        .1
        .row_rule()
        .ok_or_else(|| ParamError::new("optimiser", text, "one with a row-sparse form: adam, adamw or storm"))
}

/// The optimiser of the weights that are not in rows.
pub(crate) fn dense_optimiser(config: &Config, weights: usize) -> Result<Box<dyn Optimiser>, ParamError> {
    Ok(optimiser::parse(config.optimiser())?.1.open(weights))
}
