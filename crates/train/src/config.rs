/*!
What a user sets, and what it comes to: TOML file = flags = [`Settings`]; resolved, it is a [`Config`].

Every thing is one entry of its catalog in the house grammar (`mlp:hidden=256-128`, `adam:beta2=0.99`, `pairs:items=100`), so a
file, a flag and a keyword are the same text. Flags override the file; what neither says is the default of the model.
The resolved config is saved with the model and is itself a valid file.
*/

use serde::{Deserialize, Serialize};
use toprank_core::{ParamError, Policy, Spec};
use toprank_metrics::Measure;
use toprank_objectives::Goal;

use crate::calibration::Calibrate;
use crate::choice::{By, Choice, choose};
use crate::models;

/// What a user sets; `None`: the default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Settings {
    /// Training data.
    pub data: Option<String>,
    /// Validation data: early stopping keeps the best model on them.
    pub valid: Option<String>,
    /// The model file to write.
    pub out: Option<String>,
    /// A model to go on from: its parameters or trees are the beginning, its transforms are kept.
    pub from: Option<String>,
    /// A metric to be best at (`ndcg@10`) or an objective of the catalog (`song:gamma=0.3`).
    pub objective: Option<String>,
    /// The objective that is to serve the metric, instead of the one toprank would choose.
    pub algorithm: Option<String>,
    /// The model (`linear`, `mlp:hidden=256-128`, `context`).
    pub model: Option<String>,
    /// The optimiser (`adam`, `sgd`, `storm` …).
    pub optimiser: Option<String>,
    /// The rate of learning.
    pub rate: Option<f64>,
    /// How the rate changes (`constant`, `cosine:warmup=0.05` …).
    pub schedule: Option<String>,
    /// What a batch is (`lists:batch=32`, `pairs:batch=256:items=100` …).
    pub sampler: Option<String>,
    /// Most passes over the data.
    pub epochs: Option<u32>,
    /// Most rounds of boosting: the passes of a model of trees.
    pub trees: Option<u32>,
    /// Most leaves of each tree: the same as `leaves` of the model.
    pub leaves: Option<u32>,
    /// Steps on the features, fitted to the training data and stored in the model.
    pub transforms: Option<String>,
    /// The metric of validation.
    pub metric: Option<String>,
    /// Passes without a better validation before training stops; 0: never.
    pub patience: Option<u32>,
    /// Passes of warm-up with listwise cross-entropy, after which the last layer starts afresh.
    pub warm_up: Option<u32>,
    /// Largest norm of a gradient; 0: any.
    pub clip: Option<f64>,
    /// Averaging of the parameters (`none`, `ema:decay=0.999`, `tail:from=0.75`).
    pub average: Option<String>,
    /// Folds of a cross-validation before the model is trained on all rows; none: no folds.
    pub folds: Option<u32>,
    /// How scores become probabilities (`auto`, `platt`, `isotonic`, `none`).
    pub calibrate: Option<String>,
    /// The seed of everything random.
    pub seed: Option<u64>,
}

impl Settings {
    /// Reads a TOML file's text.
    pub fn from_toml(text: &str) -> Result<Settings, ParamError> {
        toml::from_str(text).map_err(|error| {
            let keys = Settings::keys().join(", ");
            ParamError::new("the config", error.to_string().trim(), &format!("TOML with some of {keys}"))
        })
    }

    /// These settings, where they say nothing those of `base`.
    #[must_use]
    pub fn over(self, base: Settings) -> Settings {
        macro_rules! first {
            ($($field:ident),*) => { Settings { $($field: self.$field.or(base.$field)),* } };
        }
        first!(
            data, valid, out, from, objective, algorithm, model, optimiser, rate, schedule, sampler, epochs,
            trees, leaves, transforms, metric, patience, warm_up, clip, average, folds, calibrate, seed
        )
    }

    /// The names of all settings, as in a file and as flags.
    pub fn keys() -> Vec<String> {
        match serde_json::to_value(Settings::default()) {
            Ok(serde_json::Value::Object(map)) => map.keys().cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// Every choice made, every value checked.
    pub fn resolve(&self) -> Result<Config, ParamError> {
        let (model, epochs) = self.model_and_epochs()?;
        let defaults = Defaults::of(&Spec::parse(&model)?.name);
        let objective = self.objective.clone().unwrap_or_else(|| "ndcg@10".into());
        let by = if models::is_trees(&model) { By::Trees } else { By::Network };
        let Choice { algorithm, metric } = choose(&objective, self.algorithm.as_deref(), by)?;
        let goal = Goal::parse(&algorithm, &Policy::default())?;
        let metric = self.metric.clone().or(metric).unwrap_or_else(|| "ndcg@10".into());
        if Measure::parse_all(&metric, &Policy::default())?.len() != 1 {
            return Err(ParamError::new(
                "metric",
                &metric,
                "one metric of those that `toprank metrics` lists",
            ));
        }
        let or = |value: &Option<String>, default: &str| value.clone().unwrap_or_else(|| default.into());
        let config = Config {
            objective,
            algorithm: goal.name().to_string(),
            model,
            optimiser: or(&self.optimiser, defaults.optimiser),
            rate: self.rate.unwrap_or(defaults.rate),
            schedule: or(&self.schedule, defaults.schedule),
            sampler: or(&self.sampler, defaults.sampler),
            epochs: epochs.unwrap_or(defaults.epochs),
            transforms: or(&self.transforms, defaults.transforms),
            metric,
            patience: self.patience.unwrap_or(defaults.patience),
            warm_up: self.warm_up.unwrap_or(0),
            clip: self.clip.unwrap_or(defaults.clip),
            average: or(&self.average, defaults.average),
            folds: self.folds.unwrap_or(0),
            calibrate: or(&self.calibrate, "auto"),
            seed: self.seed.unwrap_or(1),
        };
        if by == By::Trees && config.rate > 1.0 {
            return Err(ParamError::new("rate", &config.rate.to_string(), "a number in (0, 1] for trees"));
        }
        config.check()?;
        Ok(config)
    }

    /// The model with its leaves, and the passes under whichever name they were given.
    fn model_and_epochs(&self) -> Result<(String, Option<u32>), ParamError> {
        let mut model = self.model.clone().unwrap_or_else(|| "mlp".into());
        if !models::is_trees(&model) {
            // Without networks whoever trains brings a model of its own.
            if !models::NETWORKS.is_empty() {
                models::parse(&model)?;
            }
            for (name, given) in [("trees", self.trees), ("leaves", self.leaves)] {
                if let Some(number) = given {
                    let expected = "left out, or beside --model trees: no other model has any";
                    return Err(ParamError::new(name, &number.to_string(), expected));
                }
            }
            return Ok((model, self.epochs));
        }
        let words = [
            ("optimiser", &self.optimiser),
            ("schedule", &self.schedule),
            ("sampler", &self.sampler),
            ("average", &self.average),
        ];
        for (name, given) in words {
            if let Some(text) = given.as_ref().filter(|text| !text.is_empty()) {
                return Err(ParamError::new(
                    name,
                    text,
                    "left out: trees are boosted over all lists, round by round",
                ));
            }
        }
        if let Some(passes) = self.warm_up.filter(|&passes| passes > 0) {
            return Err(ParamError::new(
                "warm-up",
                &passes.to_string(),
                "left out: trees have no layers to warm up",
            ));
        }
        models::parse(&model)?;
        if let Some(leaves) = self.leaves {
            if Spec::parse(&model)?.args.get("leaves").is_some() {
                let expected = "given once: beside the model or within it";
                return Err(ParamError::new("leaves", &leaves.to_string(), expected));
            }
            model += &format!(":leaves={leaves}");
            models::parse(&model)?;
        }
        if let Some(trees) = self.trees.filter(|&trees| trees == 0 || trees > 1_000_000) {
            return Err(ParamError::new("trees", &trees.to_string(), "in 1 … 1000000"));
        }
        if let (Some(trees), Some(epochs)) = (self.trees, self.epochs) {
            let expected = format!("given once: it is the number of epochs, which is said to be {epochs}");
            return Err(ParamError::new("trees", &trees.to_string(), &expected));
        }
        Ok((model, self.trees.or(self.epochs)))
    }
}

/// The transforms where rows are fetched one by one (mapped files): none that looks at whole lists.
pub const ROW_WISE_TRANSFORMS: &str = "missing:to=mean,standardise";

/// What a model is trained with, unless the user says otherwise: chosen on validation data only (bench/quality).
struct Defaults {
    optimiser: &'static str,
    rate: f64,
    schedule: &'static str,
    sampler: &'static str,
    epochs: u32,
    transforms: &'static str,
    patience: u32,
    clip: f64,
    average: &'static str,
}

/// Trees see features as they are, and are boosted instead of stepped.
const TREES: Defaults = Defaults {
    optimiser: "",
    rate: 0.1,
    schedule: "",
    sampler: "",
    epochs: 300,
    transforms: "",
    patience: 50,
    clip: 0.0,
    average: "",
};

const BASE: Defaults = Defaults {
    optimiser: "adam",
    rate: 0.003,
    schedule: "constant",
    sampler: "lists:batch=32",
    epochs: 100,
    transforms: "missing:to=mean,per-list:kind=minmax",
    patience: 20,
    clip: 10.0,
    average: "none",
};

impl Defaults {
    fn of(model: &str) -> Defaults {
        match model {
            "trees" => TREES,
            "linear" => Defaults { rate: 0.03, ..BASE },
            // Codes of graphs are no numbers to transform.
            "gin" => Defaults { rate: 0.001, transforms: "", ..BASE },
            "context" => Defaults { rate: 0.001, sampler: "slates:batch=32:items=100", ..BASE },
            _ => BASE,
        }
    }
}

/// Everything that decides the bytes of a model, but the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// What the user asked to be good at.
    pub objective: String,
    /// The objective that is trained with.
    pub algorithm: String,
    /// The model.
    pub model: String,
    /// The optimiser; nothing for trees.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub optimiser: String,
    /// The rate of learning.
    pub rate: f64,
    /// How the rate changes; nothing for trees.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub schedule: String,
    /// What a batch is; nothing for trees.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sampler: String,
    /// Most passes over the data.
    pub epochs: u32,
    /// Steps on the features.
    pub transforms: String,
    /// The metric of validation.
    pub metric: String,
    /// Passes without a better validation before training stops; 0: never.
    pub patience: u32,
    /// Passes of warm-up.
    pub warm_up: u32,
    /// Largest norm of a gradient; 0: any.
    pub clip: f64,
    /// Averaging of the parameters; nothing for trees.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub average: String,
    /// Folds of a cross-validation; 0: none.
    #[serde(default)]
    pub folds: u32,
    /// How scores become probabilities.
    #[serde(default = "no_calibration")]
    pub calibrate: String,
    /// The seed.
    pub seed: u64,
}

/// What a model file says that was written before models were calibrated.
fn no_calibration() -> String {
    "none".into()
}

impl Config {
    /// Refuses values outside their ranges.
    pub fn check(&self) -> Result<(), ParamError> {
        let positive = |name: &str, value: f64, zero: bool| {
            let ok = value.is_finite() && (value > 0.0 || zero && value == 0.0);
            let range = if zero { "a number from 0 on" } else { "a number above 0" };
            if ok { Ok(()) } else { Err(ParamError::new(name, &value.to_string(), range)) }
        };
        positive("rate", self.rate, false)?;
        positive("clip", self.clip, true)?;
        if self.epochs == 0 || self.epochs > 1_000_000 {
            return Err(ParamError::new("epochs", &self.epochs.to_string(), "in 1 … 1000000"));
        }
        if self.warm_up > 1_000_000 {
            return Err(ParamError::new("warm-up", &self.warm_up.to_string(), "in 0 … 1000000"));
        }
        if self.folds == 1 || self.folds > 1000 {
            let expected = "in 2 … 1000, or 0 for none";
            return Err(ParamError::new("folds", &self.folds.to_string(), expected));
        }
        Calibrate::parse(&self.calibrate)?;
        Ok(())
    }

    /// The goal that is trained with.
    pub fn goal(&self) -> Result<Goal, ParamError> {
        Goal::parse(&self.algorithm, &Policy::default())
    }

    /// The measure of validation.
    pub fn measure(&self) -> Result<Measure, ParamError> {
        Measure::parse_all(&self.metric, &Policy::default())?
            .pop()
            .ok_or_else(|| ParamError::new("metric", &self.metric, "a metric"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_override_the_file_and_the_rest_is_default() {
        let file = Settings::from_toml("objective = \"listnet\"\nrate = 0.5\nwarm-up = 3").unwrap();
        let flags = Settings { rate: Some(0.25), ..Settings::default() };
        let config = flags.over(file).resolve().unwrap();
        assert_eq!((config.rate, config.warm_up, config.algorithm.as_str()), (0.25, 3, "listnet"));
        assert_eq!(config.epochs, 100);
    }

    #[test]
    fn a_resolved_config_is_a_valid_file_that_resolves_to_itself() {
        let config = Settings { model: Some("linear".into()), ..Settings::default() }.resolve().unwrap();
        let text = toml::to_string(&config).unwrap();
        assert_eq!(Settings::from_toml(&text).unwrap().resolve().unwrap(), config);
    }

    #[test]
    fn trees_are_asked_for_by_flags_of_their_own() {
        let text =
            "model = \"trees:l2=1\"\nobjective = \"lambdamart:k=10\"\ntrees = 300\nleaves = 63\nrate = 0.05";
        let config = Settings::from_toml(text).unwrap().resolve().unwrap();
        assert_eq!((config.model.as_str(), config.epochs, config.rate), ("trees:l2=1:leaves=63", 300, 0.05));
        assert_eq!((config.algorithm.as_str(), config.transforms.as_str()), ("lambdarank@10", ""));
        let text = toml::to_string(&config).unwrap();
        assert!(!text.contains("optimiser") && !text.contains("sampler"), "{text}");
        assert_eq!(Settings::from_toml(&text).unwrap().resolve().unwrap(), config);
    }

    #[test]
    fn wrong_settings_name_what_was_found_and_what_is_allowed() {
        for (text, words) in [
            ("rate = 0.0", "rate must be a number above 0, but is 0"),
            ("epochs = 0", "epochs must be in 1"),
            ("objektive = \"map\"", "unknown field `objektive`"),
            ("objective = \"ndgc@10\"", "ndcg"),
            ("metric = \"ndcg@10,map\"", "one metric"),
            ("folds = 1", "folds must be in 2 … 1000"),
            ("leaves = 7", "leaves must be left out, or beside --model trees"),
            ("model = \"trees\"\noptimiser = \"adam\"", "optimiser must be left out: trees are boosted"),
            ("model = \"trees:leaves=7\"\nleaves = 8", "leaves must be given once"),
            ("model = \"trees\"\nleaves = 1", "leaves must be 2 … 65536"),
            ("model = \"trees\"\ntrees = 0", "trees must be in 1 … 1000000, but is 0"),
            ("model = \"trees\"\ntrees = 5\nepochs = 6", "trees must be given once"),
            ("calibrate = \"plat\"", "calibrate must be auto, platt, isotonic or none, but is plat"),
        ] {
            let error = Settings::from_toml(text).and_then(|s| s.resolve()).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
