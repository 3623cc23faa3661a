//! What a recommender is trained with, where the user is silent, and checks across settings.

use serde::{Deserialize, Serialize};
use toprank_core::ParamError;

use crate::fit::optimiser::{self, Optimiser, RowRule};
use crate::fit::settings::{Config, Settings, TrainerKind};
use crate::fit::stages::check_warm_up;
use crate::rank::choice::{Choice, ModelKind, choose};
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
    check_warm_up(&config)?;
    toprank_embeddings::parse(config.model())?;
    row_rule(&config)?;
    Ok(config)
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
