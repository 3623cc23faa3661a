//! What a walk is trained with, where the user is silent, and checks across settings.

use toprank_core::{ParamError, Policy};
use toprank_objectives::Goal;
use toprank_walks::{Dangling, Score, Solver, Walk};

use super::full_batch::{Adam, Gbn, Gbp, Gfn};
use crate::fit::settings::{Config, Settings, TrainerKind};
use crate::rank::choice::{Choice, ModelKind, choose};

/// Every choice made, every value checked.
pub(crate) fn resolve(settings: &Settings) -> Result<Config, ParamError> {
    let objective = settings.objective.clone().unwrap_or_else(|| "margin".into());
    let Choice { algorithm, metric } = choose(&objective, settings.algorithm.as_deref(), ModelKind::Network)?;
    let goal = Goal::parse(&algorithm, &Policy::default())?;
    let is_margin = ["margin", "squared-hinge"].contains(&goal.listing().entry.name);
    let text = |text: &str| Some(text.to_string());
    let method = settings.method.clone().or_else(|| text(if is_margin { "gbn" } else { "adam" }));
    let theory = settings.theory == Some(true);
    if let (true, Some(steps)) = (theory, settings.steps) {
        let expected = "omitted with --theory, which knows their number";
        return Err(ParamError::new("steps", &steps.to_string(), expected));
    }
    if theory && method.as_deref() != Some("gfn") {
        let found = method.unwrap_or_default();
        return Err(ParamError::new("method", &found, "gfn, whose convergence proof --theory follows"));
    }
    let steps = match method.as_deref() {
        Some("gbn") => Some(Gbn::default().steps),
        Some("gbp") => Some(Gbp::default().steps),
        Some("gfn") => Gfn::default().steps,
        _ => Some(Adam::default().steps),
    };
    let radius = if method.as_deref() == Some("adam") { None } else { Some(0.99) };
    Config::checked(
        TrainerKind::Walk,
        Settings {
            valid_metric: settings.valid_metric.clone().or(metric).or_else(|| text("ndcg@10")),
            score: settings.score.clone().or_else(|| text(if is_margin { "probability" } else { "scaled" })),
            steps: if theory { None } else { settings.steps.or(steps) },
            radius: settings.radius.or(radius),
            objective: Some(objective),
            algorithm: Some(algorithm),
            method,
            ..settings.clone()
        },
    )
}

/// How the walk of a config goes.
pub(crate) fn walk(config: &Config) -> Walk {
    Walk {
        restart: config.restart(),
        dangling: if config.dangling() == "uniform" { Dangling::Uniform } else { Dangling::Restart },
        score: match config.score() {
            "scaled" => Score::Scaled,
            "log" => Score::Log,
            _ => Score::Probability,
        },
        solver: Solver::Seidel,
    }
}

/// The settings of GFN.
pub(crate) fn gfn(config: &Config) -> Gfn {
    let steps = if config.theory() { None } else { Some(config.steps()) };
    Gfn { epsilon: config.epsilon(), lipschitz: config.lipschitz(), steps, seed: config.seed() }
}
