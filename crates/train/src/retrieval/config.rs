//! What a user sets of an embedding, and what it comes to.

use serde::{Deserialize, Serialize};
use toprank_core::{ParamError, Policy};
use toprank_data::transform::StepConfig;
use toprank_metrics::Measure;
use toprank_objectives::Goal;

use super::views::Views;
use crate::choice::{By, Choice, choose};
use crate::{models, optimiser, schedule};

/// What a user sets; `None`: the default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Settings {
    /// A metric to be best at (`map`) or an objective of the catalog (`smooth-ap`).
    pub objective: Option<String>,
    /// The objective that is to serve the metric, instead of the one toprank would choose.
    pub algorithm: Option<String>,
    /// The network (`mlp:hidden=128`, `linear`).
    pub model: Option<String>,
    /// Numbers of a vector.
    pub dimensions: Option<u32>,
    /// The optimiser.
    pub optimiser: Option<String>,
    /// The rate of learning.
    pub rate: Option<f64>,
    /// How the rate changes.
    pub schedule: Option<String>,
    /// Classes of a batch; with views, rows.
    pub batch_classes: Option<u32>,
    /// Rows of each class in a batch.
    pub class_rows: Option<u32>,
    /// Vectors of past batches that are candidates, too; 0: none.
    pub memory: Option<u32>,
    /// `none`, or `two` to learn from two views of each row instead of from classes.
    pub views: Option<String>,
    /// Most passes over the data.
    pub epochs: Option<u32>,
    /// Steps on the features, fitted to the training part and stored in the model.
    pub transforms: Option<String>,
    /// The metric of validation.
    pub metric: Option<String>,
    /// Passes without a better validation before training stops; 0: never.
    pub patience: Option<u32>,
    /// Largest norm of a gradient; 0: any.
    pub clip: Option<f64>,
    /// The seed of everything random.
    pub seed: Option<u64>,
}

/// Everything that decides the bytes of an embedding, but the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// What the user asked to be good at.
    pub objective: String,
    /// The objective that is trained with.
    pub algorithm: String,
    /// The network.
    pub model: String,
    /// Numbers of a vector.
    pub dimensions: u32,
    /// The optimiser.
    pub optimiser: String,
    /// The rate of learning.
    pub rate: f64,
    /// How the rate changes.
    pub schedule: String,
    /// Classes of a batch; with views, rows.
    pub batch_classes: u32,
    /// Rows of each class in a batch.
    pub class_rows: u32,
    /// Vectors of past batches that are candidates, too.
    pub memory: u32,
    /// Views of rows.
    pub views: String,
    /// Most passes over the data.
    pub epochs: u32,
    /// Steps on the features.
    pub transforms: String,
    /// The metric of validation.
    pub metric: String,
    /// Passes without a better validation before training stops; 0: never.
    pub patience: u32,
    /// Largest norm of a gradient; 0: any.
    pub clip: f64,
    /// The seed.
    pub seed: u64,
}

impl Settings {
    /// Every choice made, every value checked.
    ///
    /// # Errors
    /// If a value is outside its range or a name is unknown.
    pub fn resolve(&self) -> Result<Config, ParamError> {
        let objective = self.objective.clone().unwrap_or_else(|| "map".into());
        let Choice { algorithm, metric } = choose(&objective, self.algorithm.as_deref(), By::Retrieval)?;
        let goal = Goal::parse(&algorithm, &Policy::default())?;
        let or = |value: &Option<String>, default: &str| value.clone().unwrap_or_else(|| default.into());
        let views = or(&self.views, "none");
        let two = Views::parse(&views)?.is_some();
        let config = Config {
            objective,
            algorithm: goal.name().to_string(),
            model: or(&self.model, "mlp:hidden=128"),
            dimensions: self.dimensions.unwrap_or(32),
            optimiser: or(&self.optimiser, "adam"),
            rate: self.rate.unwrap_or(0.001),
            schedule: or(&self.schedule, "constant"),
            batch_classes: self.batch_classes.unwrap_or(if two { 128 } else { 16 }),
            class_rows: self.class_rows.unwrap_or(if two { 2 } else { 8 }),
            memory: self.memory.unwrap_or(0),
            views,
            epochs: self.epochs.unwrap_or(50),
            transforms: or(&self.transforms, "missing:to=mean,standardise"),
            metric: self.metric.clone().or(metric).unwrap_or_else(|| "map".into()),
            patience: self.patience.unwrap_or(10),
            clip: self.clip.unwrap_or(10.0),
            seed: self.seed.unwrap_or(1),
        };
        config.check()?;
        Ok(config)
    }
}

impl Config {
    /// Refuses values outside their ranges.
    ///
    /// # Errors
    /// The value that is at fault.
    pub fn check(&self) -> Result<(), ParamError> {
        let number = |name: &str, value: f64, ok: bool, range: &str| match ok {
            true => Ok(()),
            false => Err(ParamError::new(name, &value.to_string(), range)),
        };
        let whole = |name: &str, value: u32, least: u32, most: u32| {
            let ok = (least..=most).contains(&value);
            number(name, f64::from(value), ok, &format!("a whole number from {least} to {most}"))
        };
        number("rate", self.rate, self.rate > 0.0 && self.rate.is_finite(), "a number above 0")?;
        number("clip", self.clip, self.clip >= 0.0 && self.clip.is_finite(), "a number from 0 on")?;
        whole("epochs", self.epochs, 1, 1_000_000)?;
        whole("dimensions", self.dimensions, 1, 65_536)?;
        whole("batch-classes", self.batch_classes, 2, 65_536)?;
        whole("class-rows", self.class_rows, 2, 65_536)?;
        whole("memory", self.memory, 0, 1 << 24)?;
        if self.views()?.is_some() && self.class_rows != 2 {
            let expected = "left out, or 2: a row has two views";
            return Err(ParamError::new("class-rows", &self.class_rows.to_string(), expected));
        }
        StepConfig::parse_all(&self.transforms)?;
        schedule::parse(&self.schedule)?;
        if optimiser::parse(&self.optimiser)?.1.open(1).needs_previous() {
            let expected = "one that looks at one step: sgd, momentum, adam or adamw";
            return Err(ParamError::new("optimiser", &self.optimiser, expected));
        }
        if models::is_trees(&self.model) {
            let expected = "a network: linear or mlp; trees give no vector that could be learned through";
            return Err(ParamError::new("model", &self.model, expected));
        }
        models::parse(&self.model)?;
        self.goal()?;
        self.measure()?;
        Ok(())
    }

    /// What is done to a row to make views of it.
    ///
    /// # Errors
    /// If the setting is unknown.
    pub fn views(&self) -> Result<Option<Views>, ParamError> {
        Views::parse(&self.views)
    }

    /// The goal that is trained with.
    ///
    /// # Errors
    /// If it is unknown.
    pub fn goal(&self) -> Result<Goal, ParamError> {
        Goal::parse(&self.algorithm, &Policy::default())
    }

    /// The measure of validation.
    ///
    /// # Errors
    /// If it is not one metric.
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

    /// The sampler of batches: of every class so many rows, every row before any comes again.
    pub(crate) fn sampler(&self) -> String {
        format!("strata:batch={}:relevant={}:others=1:pass=relevant", self.batch_classes, self.class_rows)
    }
}
