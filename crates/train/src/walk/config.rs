//! What a walk is trained with, where the user is silent, and checks across settings.

use toprank_core::{ParamError, Policy};
use toprank_objectives::Goal;
use toprank_walks::{Dangling, Score, Solver, Walk};

use super::full_batch::{Adam, Composite, Gbn, Gbp, Gfn, Region};
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
    let radius =
        if method.as_deref() == Some("adam") || settings.bounds.is_some() { None } else { Some(0.99) };
    if let Some(bounds) = &settings.bounds {
        let refuse = |expected: &str| Err(ParamError::new("bounds", bounds, expected));
        if settings.radius.is_some() {
            return refuse("omitted with --radius: weights are within a ball or within bounds");
        }
        if theory {
            return refuse("omitted with --theory, which knows the ball of --radius");
        }
    }
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

/// Smallest weight where neither a ball nor bounds are given.
const LEAST: f64 = 1e-4;

/// Reads `LOW..HIGH`.
fn parse_bounds(text: &str) -> Result<(f64, f64), ParamError> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let ends = text.split_once("..").and_then(|(low, high)| Some((number(low)?, number(high)?)));
    match ends {
        Some((low, high)) if (LEAST..high).contains(&low) => Ok((low, high)),
        _ => {
            let expected =
                "two numbers LOW..HIGH, 0.0001 ≤ LOW < HIGH, such as 0.01..10: a walk needs weights above 0";
            Err(ParamError::new("bounds", text, expected))
        }
    }
}

pub(crate) fn check_bounds(text: &str) -> Result<(), ParamError> {
    parse_bounds(text).map(drop)
}

/// Where weights may be, and what is added to the loss, for m weights.
pub(crate) fn problem(config: &Config, m: usize) -> Result<Composite, ParamError> {
    let settings = config.settings();
    let region = match (&settings.bounds, settings.radius) {
        (Some(bounds), _) => {
            let (low, high) = parse_bounds(bounds)?;
            Region::Bounds { low, high }
        }
        (None, Some(radius)) => Region::ball(m, radius),
        (None, None) => Region::AtLeast(LEAST),
    };
    Ok(Composite { region, l1: config.l1(), l2: config.l2() })
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
