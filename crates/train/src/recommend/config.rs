//! What a user sets of a recommender, and what it comes to.

use serde::{Deserialize, Serialize};
use toprank_core::{Entry, Param, ParamError, Policy, Spec, catalog};
use toprank_embeddings::RowConstants;
use toprank_metrics::Measure;
use toprank_objectives::Goal;

use crate::choice::{By, Choice, choose};
use crate::{optimiser, sampler, schedule};

/// What a chosen pair is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feedback {
    /// 1, whatever the rating: it was chosen.
    #[default]
    Implicit,
    /// Its rating; gains and relevance follow the objective's parameters.
    Ratings,
}

impl Feedback {
    fn parse(text: &str) -> Result<Feedback, ParamError> {
        match text {
            "implicit" => Ok(Feedback::Implicit),
            "ratings" => Ok(Feedback::Ratings),
            _ => Err(ParamError::new("feedback", text, "implicit or ratings")),
        }
    }
}

/// What a user sets; `None`: the default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Settings {
    /// A metric to be best at (`ndcg@20`) or an objective of the catalog (`song:gamma=0.3`).
    pub objective: Option<String>,
    /// The objective that is to serve the metric, instead of the one toprank would choose.
    pub algorithm: Option<String>,
    /// The model (`mf`, `neumf:layers=64`, `two-tower`).
    pub model: Option<String>,
    /// The optimiser: `adam` with its parameters, row by row.
    pub optimiser: Option<String>,
    /// The rate of learning.
    pub rate: Option<f64>,
    /// How the rate changes.
    pub schedule: Option<String>,
    /// What a batch is (`pairs:batch=4096:items=300`, `strata`, `lists`).
    pub sampler: Option<String>,
    /// Most passes over the data.
    pub epochs: Option<u32>,
    /// The metric of validation.
    pub metric: Option<String>,
    /// Passes without a better validation before training stops; 0: never.
    pub patience: Option<u32>,
    /// Passes of warm-up with listwise cross-entropy, after which the last layer starts afresh.
    pub warm_up: Option<u32>,
    /// `implicit` or `ratings`.
    pub feedback: Option<String>,
    /// After how many later pairs of its user a pair counts half; 0: all alike. Where the order in time is known.
    pub recency: Option<f64>,
    /// The seed of everything random.
    pub seed: Option<u64>,
}

/// Everything that decides the bytes of a recommender, but the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// What the user asked to be good at.
    pub objective: String,
    /// The objective that is trained with.
    pub algorithm: String,
    /// The model.
    pub model: String,
    /// The optimiser.
    pub optimiser: String,
    /// The rate of learning.
    pub rate: f64,
    /// How the rate changes.
    pub schedule: String,
    /// What a batch is.
    pub sampler: String,
    /// Most passes over the data.
    pub epochs: u32,
    /// The metric of validation.
    pub metric: String,
    /// Passes without a better validation before training stops; 0: never.
    pub patience: u32,
    /// Passes of warm-up.
    pub warm_up: u32,
    /// What a chosen pair is worth.
    pub feedback: Feedback,
    /// After how many later pairs of its user a pair counts half; 0: all alike.
    #[serde(default)]
    pub recency: f64,
    /// The seed.
    pub seed: u64,
}

const BETA1: Param = Param {
    name: "beta1",
    default: "0.9",
    range: "in [0, 1)",
    about: "how much of the past mean gradient is kept",
};
const BETA2: Param = Param {
    name: "beta2",
    default: "0.999",
    range: "in [0, 1)",
    about: "how much of the past mean squared gradient is kept",
};
const EPS: Param = Param {
    name: "eps",
    default: "1e-8",
    range: "in (0, ∞)",
    about: "the size below which a gradient is small",
};
const DECAY: Param = Param {
    name: "decay",
    default: "0",
    range: "in [0, ∞)",
    about: "weight decay λ on the rows of a batch: λ·w is added to the gradient",
};
const OWN_DECAY: Param = Param {
    default: "0.01",
    about: "weight decay λ on the rows of a batch: w shrinks by ηλ·w, whatever the size of the gradient",
    ..DECAY
};

fn row_constants(spec: &Spec, decoupled: bool) -> Result<Box<RowConstants>, ParamError> {
    let kept = |key: &str, default| spec.args.number(key, default, "in [0, 1)", |x| (0.0..1.0).contains(&x));
    Ok(Box::new(RowConstants {
        beta: [kept("beta1", 0.9)?, kept("beta2", 0.999)?],
        eps: spec.args.number("eps", 1e-8, EPS.range, |x| x > 0.0 && x.is_finite())?,
        decay: spec.args.number("decay", if decoupled { 0.01 } else { 0.0 }, DECAY.range, |x| {
            x >= 0.0 && x.is_finite()
        })?,
        decoupled,
    }))
}

static OPTIMISERS: &[Entry<RowConstants>] = &[
    Entry {
        name: "adam",
        family: "row-sparse optimisers",
        about: "Adam over the rows of a batch",
        page: "",
        params: &[BETA1, BETA2, EPS, DECAY],
        make: |spec| row_constants(spec, false),
    },
    Entry {
        name: "adamw",
        family: "row-sparse optimisers",
        about: "Adam over the rows of a batch, whose weight decay does not depend on the size of the gradient",
        page: "",
        params: &[BETA1, BETA2, EPS, OWN_DECAY],
        make: |spec| row_constants(spec, true),
    },
];

/// What a model is trained with, unless the user says otherwise.
struct Defaults {
    rate: f64,
    optimiser: &'static str,
    sampler: &'static str,
    epochs: u32,
    patience: u32,
    recency: f64,
}

// Chosen on the validation parts of two MovieLens sets (bench/recommend).
const DEFAULTS: Defaults = Defaults {
    rate: 0.01,
    // Decay that does not follow the size of the gradient suits all objectives alike.
    optimiser: "adamw:decay=1.2",
    sampler: "pairs:batch=4096:group=20:items=300",
    epochs: 100,
    patience: 10,
    recency: 10.0,
};

impl Settings {
    /// These settings, where they say nothing those of `base`.
    #[must_use]
    pub fn over(self, base: Settings) -> Settings {
        macro_rules! first {
            ($($field:ident),*) => { Settings { $($field: self.$field.or(base.$field)),* } };
        }
        first!(
            objective, algorithm, model, optimiser, rate, schedule, sampler, epochs, metric, patience,
            warm_up, feedback, recency, seed
        )
    }

    /// Reads a TOML file's text.
    pub fn from_toml(text: &str) -> Result<Settings, ParamError> {
        toml::from_str(text).map_err(|error| {
            ParamError::new("the config", error.to_string().trim(), "TOML with flags as keys")
        })
    }

    /// Every choice made, every value checked.
    pub fn resolve(&self) -> Result<Config, ParamError> {
        let objective = self.objective.clone().unwrap_or_else(|| "ndcg@20".into());
        let Choice { algorithm, metric } = choose(&objective, self.algorithm.as_deref(), By::Embeddings)?;
        let goal = Goal::parse(&algorithm, &Policy::default())?;
        let or = |value: &Option<String>, default: &str| value.clone().unwrap_or_else(|| default.into());
        let config = Config {
            objective,
            algorithm: goal.name().to_string(),
            model: or(&self.model, "mf"),
            optimiser: or(&self.optimiser, DEFAULTS.optimiser),
            rate: self.rate.unwrap_or(DEFAULTS.rate),
            schedule: or(&self.schedule, "constant"),
            sampler: or(&self.sampler, DEFAULTS.sampler),
            epochs: self.epochs.unwrap_or(DEFAULTS.epochs),
            metric: self.metric.clone().or(metric).unwrap_or_else(|| "ndcg@20".into()),
            patience: self.patience.unwrap_or(DEFAULTS.patience),
            warm_up: self.warm_up.unwrap_or(0),
            feedback: Feedback::parse(self.feedback.as_deref().unwrap_or("implicit"))?,
            recency: self.recency.unwrap_or(DEFAULTS.recency),
            seed: self.seed.unwrap_or(1),
        };
        config.check()?;
        Ok(config)
    }
}

impl Config {
    /// Refuses values outside their ranges.
    pub fn check(&self) -> Result<(), ParamError> {
        if !(self.rate > 0.0 && self.rate.is_finite()) {
            return Err(ParamError::new("rate", &self.rate.to_string(), "a number above 0"));
        }
        if !(self.recency >= 0.0 && self.recency.is_finite()) {
            return Err(ParamError::new("recency", &self.recency.to_string(), "a number from 0 on"));
        }
        if self.epochs == 0 || self.epochs > 1_000_000 {
            return Err(ParamError::new("epochs", &self.epochs.to_string(), "in 1 … 1000000"));
        }
        if self.warm_up > 1_000_000 {
            return Err(ParamError::new("warm-up", &self.warm_up.to_string(), "in 0 … 1000000"));
        }
        toprank_embeddings::parse(&self.model)?;
        sampler::parse(&self.sampler)?;
        schedule::parse(&self.schedule)?;
        self.row_constants()?;
        self.measure()?;
        Ok(())
    }

    pub(crate) fn row_constants(&self) -> Result<RowConstants, ParamError> {
        Ok(*catalog::make("optimiser", OPTIMISERS, &self.optimiser)?.1)
    }

    /// The optimiser of the weights that are not in rows.
    pub(crate) fn dense_optimiser(
        &self,
        weights: usize,
    ) -> Result<Box<dyn optimiser::Optimiser>, ParamError> {
        Ok(optimiser::parse(&self.optimiser)?.1.open(weights))
    }

    /// The goal that is trained with.
    pub fn goal(&self) -> Result<Goal, ParamError> {
        Goal::parse(&self.algorithm, &Policy::default())
    }

    /// The measure of validation.
    pub fn measure(&self) -> Result<Measure, ParamError> {
        let mut measures = Measure::parse_all(&self.metric, &Policy::default())?;
        match measures.len() {
            1 => Ok(measures.remove(0)),
            _ => Err(ParamError::new(
                "metric",
                &self.metric,
                "one metric of those that `toprank metrics` lists",
            )),
        }
    }

    /// The kind of model, without its parameters.
    pub fn kind(&self) -> String {
        Spec::parse(&self.model).map(|spec| spec.name).unwrap_or_default()
    }
}
