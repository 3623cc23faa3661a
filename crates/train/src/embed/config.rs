//! What an embedding is trained with, where the user is silent, and checks across settings.

use toprank_core::ParamError;

use super::views::Views;
use crate::fit::optimiser;
use crate::fit::settings::{Config, Settings, TrainerKind};
use crate::rank::choice::{Choice, ModelKind, choose};
use crate::rank::models;

/// Every choice made, every value checked.
pub(crate) fn resolve(settings: &Settings) -> Result<Config, ParamError> {
    let objective = settings.objective.clone().unwrap_or_else(|| "map".into());
    let Choice { algorithm, metric } =
        choose(&objective, settings.algorithm.as_deref(), ModelKind::Embedding)?;
    let views = Views::parse(settings.views.as_deref().unwrap_or("none"))?.is_some();
    let config = Config::checked(
        TrainerKind::Embed,
        Settings {
            valid_metric: settings.valid_metric.clone().or(metric).or_else(|| Some("map".into())),
            batch_classes: settings.batch_classes.or(Some(if views { 128 } else { 16 })),
            class_rows: settings.class_rows.or(Some(if views { 2 } else { 8 })),
            objective: Some(objective),
            algorithm: Some(algorithm),
            ..settings.clone()
        },
    )?;
    if views && config.class_rows() != 2 {
        let expected = "omitted, or 2: a row has two views";
        return Err(ParamError::new("class-rows", &config.class_rows().to_string(), expected));
    }
    if optimiser::parse(config.optimiser())?.1.open(1).needs_previous() {
        let expected = "one that looks at one step: sgd, momentum, adam or adamw";
        return Err(ParamError::new("optimiser", config.optimiser(), expected));
    }
    if models::is_trees(config.model()) {
        let expected = "a network: linear or mlp; trees give no vector that gradients pass through";
        return Err(ParamError::new("model", config.model(), expected));
    }
    models::parse(config.model())?;
    Ok(config)
}

/// The sampler of batches: so many rows of every drawn class, every row before any comes again.
pub(crate) fn sampler(config: &Config) -> String {
    let (classes, rows) = (config.batch_classes(), config.class_rows());
    format!("strata:batch={classes}:relevant={rows}:others=1:epoch=relevant")
}
