//! What an embedding is trained with, where the user is silent, and checks across settings.

use toprank_core::{ParamError, Spec};

use super::similarity::Similarity;
use super::views::Views;
use crate::fit::settings::{Config, Settings, TrainerKind};
use crate::fit::stages::check_warm_up;
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
    if models::is_trees(config.model()) {
        let expected = "a network: linear or mlp; trees give no vector that gradients pass through";
        return Err(ParamError::new("model", config.model(), expected));
    }
    models::parse(config.model())?;
    check_similarity(&config)?;
    check_warm_up(&config)?;
    Ok(config)
}

/// Objectives that know where cosines lie, and the parameters that say where other similarities lie instead.
const MADE_FOR_COSINES: &[(&str, &[&str])] = &[
    ("fast-ap", &[]),
    ("dir", &["low", "high"]),
    ("contrastive", &["near", "far"]),
    ("multi-similarity", &["base"]),
];

/// Refuses objectives that look at distances as if they were cosines.
fn check_similarity(config: &Config) -> Result<(), ParamError> {
    if Similarity::of(config) == Similarity::Cosine {
        return Ok(());
    }
    let spec = Spec::parse(config.algorithm())?;
    let made = MADE_FOR_COSINES
        .iter()
        .find(|(name, _)| *name == config.goal().map_or("", |g| g.listing().entry.name));
    let expected = match made {
        None => return Ok(()),
        Some((name, [])) => {
            format!("cosine for the objective {name}, which counts similarities between -1 and 1")
        }
        Some((_, needed)) if needed.iter().all(|key| spec.args.get(key).is_some()) => return Ok(()),
        Some((name, needed)) => format!(
            "cosine for the objective {name} at its defaults; for distances it needs its own {}",
            needed.join(" and ")
        ),
    };
    Err(ParamError::new("similarity", config.similarity(), &expected))
}

/// The sampler of batches: so many rows of every drawn class, every row before any comes again.
pub(crate) fn sampler(config: &Config) -> String {
    let (classes, rows) = (config.batch_classes(), config.class_rows());
    format!("strata:batch={classes}:relevant={rows}:others=1:epoch=relevant")
}
