/*!
What a model that ranks is trained with, where the user is silent: defaults by kind of model, and checks across settings.

Every value is one entry of its catalog in the same grammar (`mlp:hidden=256-128`, `adam:beta2=0.99`, `pairs:items=100`), so a
config file, a flag and a keyword are the same text.
*/

use toprank_core::{ParamError, Spec, TrainingDefaults, catalog};

use super::choice::{Choice, ModelKind, choose};
use super::data_defaults::OBJECTIVE_OF_PAIRS;
use super::models;
use super::run::AVERAGE;
use crate::fit::settings::{Config, Settings, TrainerKind};
use crate::fit::stages::check_warm_up;

/// The transforms where rows are fetched one by one (memory-mapped files): none that looks at whole lists.
pub const ROW_WISE_TRANSFORMS: &str = "missing:to=mean,standardise";

/// Every choice made, every value checked.
pub(crate) fn resolve(settings: &Settings) -> Result<Config, ParamError> {
    super::auto::check_settings(settings)?;
    let model = model_with_leaves(settings)?;
    let is_trees = models::is_trees(&model);
    let default = if settings.pairs.is_some() { OBJECTIVE_OF_PAIRS } else { "ndcg@10" };
    let objective = settings.objective.clone().unwrap_or_else(|| default.into());
    let kind = if is_trees { ModelKind::Trees } else { ModelKind::Network };
    let Choice { algorithm, metric } = choose(&objective, settings.algorithm.as_deref(), kind)?;
    let resolved = Settings {
        epochs: settings.trees.or(settings.epochs),
        valid_metric: settings.valid_metric.clone().or(metric).or_else(|| Some("ndcg@10".into())),
        objective: Some(objective),
        algorithm: Some(algorithm),
        trees: None,
        leaves: None,
        min_rows: None,
        ..settings.clone()
    };
    let resolved = Settings { model: Some(model.clone()), ..resolved };
    let config = Config::checked(TrainerKind::Rank, resolved.over(defaults(&model)?))?;
    check_warm_up(&config)?;
    let goal = config.goal();
    if settings.pairs.is_some() && !goal.as_ref().is_ok_and(|goal| goal.objective().takes_pairs()) {
        let expected = "a pairwise objective (see `toprank objectives`), such as ranknet, where preference pairs are given";
        return Err(ParamError::new("objective", config.algorithm(), expected));
    }
    if goal.is_ok_and(|goal| goal.objective().over_outputs()) {
        if config.warm_up() > 0 {
            let expected = format!("omitted: the objective {} is a cross-entropy itself", config.algorithm());
            return Err(ParamError::new("warm-up", &config.warm_up().to_string(), &expected));
        }
        if !["auto", "none"].contains(&config.calibrate()) {
            let expected = "auto or none: the softmax of the scores gives probabilities";
            return Err(ParamError::new("calibrate", config.calibrate(), expected));
        }
    }
    if settings.pairs.is_some() && config.warm_up() > 0 {
        let expected = "omitted where preference pairs are given: it learns from labels";
        return Err(ParamError::new("warm-up", &config.warm_up().to_string(), expected));
    }
    if is_trees && config.learning_rate() > 1.0 {
        let found = config.learning_rate().to_string();
        return Err(ParamError::new("learning-rate", &found, "above 0 and at most 1 for trees"));
    }
    Ok(config)
}

/// Parameters of `trees` that are settings of their own, too.
fn of_trees(settings: &Settings) -> [(&'static str, Option<u32>); 2] {
    [("leaves", settings.leaves), ("min-rows", settings.min_rows)]
}

/// The model with what is set beside it, where that fits.
pub(super) fn model_with_leaves(settings: &Settings) -> Result<String, ParamError> {
    let mut model = settings.model.clone().unwrap_or_else(|| "mlp".into());
    if !models::is_trees(&model) {
        // In a build without networks, a caller brings a model of its own.
        if models::is_auto(&model) {
            catalog::make("model", models::AUTO, &model)?;
        } else if !models::NETWORKS.is_empty() {
            models::parse(&model)?;
        }
        let own = [("trees", settings.trees), ("leaves", settings.leaves), ("min-rows", settings.min_rows)];
        if let Some((key, Some(number))) = own.into_iter().find(|(_, given)| given.is_some()) {
            let expected = "omitted, or given with --model trees: no other model has it";
            return Err(ParamError::new(key, &number.to_string(), expected));
        }
        if settings.early_stopping.as_deref() == Some(AVERAGE) {
            let expected = "folds, part or none: only models of trees are averaged with those of the folds";
            return Err(ParamError::new("early-stopping", AVERAGE, expected));
        }
        return Ok(model);
    }
    for key in ["optimiser", "schedule", "sampler", "parts", "weight-average"] {
        if let Some(text) = settings.get(key).filter(|text| !text.is_empty()) {
            let expected = "omitted: trees are boosted over all lists, round by round";
            return Err(ParamError::new(key, &text, expected));
        }
    }
    if let Some(epochs) = settings.warm_up.filter(|&epochs| epochs > 0) {
        let expected = "omitted: trees have no layers to warm up";
        return Err(ParamError::new("warm-up", &epochs.to_string(), expected));
    }
    models::parse(&model)?;
    for (parameter, given) in of_trees(settings) {
        let Some(number) = given else { continue };
        if Spec::parse(&model)?.args.get(parameter).is_some() {
            let expected = "given once: as a setting or as a parameter of the model";
            return Err(ParamError::new(parameter, &number.to_string(), expected));
        }
        model += &format!(":{parameter}={number}");
        models::parse(&model)?;
    }
    if let Some(trees) = settings.trees.filter(|&trees| trees == 0 || trees > 1_000_000) {
        return Err(ParamError::new("trees", &trees.to_string(), "an integer from 1 to 1000000"));
    }
    if let (Some(trees), Some(epochs)) = (settings.trees, settings.epochs) {
        let expected = format!("given once: it is the number of epochs, which is set to {epochs}");
        return Err(ParamError::new("trees", &trees.to_string(), &expected));
    }
    Ok(model)
}

/// What a kind of model is trained with, unless the user says otherwise: chosen on validation data only (bench/quality).
fn defaults(model: &str) -> Result<Settings, ParamError> {
    let text = |text: &str| Some(text.to_string());
    // Trees see features as they are, and are boosted instead of stepped.
    if models::is_trees(model) {
        return Ok(Settings {
            learning_rate: Some(0.1),
            epochs: Some(300),
            transforms: text(""),
            patience: Some(50),
            clip: Some(0.0),
            ..Settings::default()
        });
    }
    // Its members have defaults of their own.
    if models::is_auto(model) {
        return Ok(Settings::default());
    }
    let defaults = models::network(model)?.map_or(TrainingDefaults::BASE, |network| network.defaults());
    Ok(Settings {
        optimiser: text(defaults.optimiser),
        learning_rate: Some(defaults.rate),
        schedule: text(defaults.schedule),
        sampler: text(defaults.sampler),
        epochs: Some(defaults.epochs),
        transforms: text(defaults.transforms),
        patience: Some(defaults.patience),
        clip: Some(defaults.clip),
        parts: Some(8),
        weight_average: text(defaults.average),
        ..Settings::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(settings: &Settings) -> Config {
        settings.resolve(TrainerKind::Rank).unwrap()
    }

    #[test]
    fn flags_override_the_file_and_the_rest_is_default() {
        let file = Settings::from_toml("objective = \"listnet\"\nlr = 0.5\nwarm-up = 3").unwrap();
        let flags = Settings { learning_rate: Some(0.25), ..Settings::default() };
        let config = resolved(&flags.over(file));
        assert_eq!((config.learning_rate(), config.warm_up(), config.algorithm()), (0.25, 3, "listnet"));
        assert_eq!(config.epochs(), 100);
    }

    #[test]
    fn a_resolved_config_is_a_valid_file_that_resolves_to_itself() {
        let config = resolved(&Settings { model: Some("linear".into()), ..Settings::default() });
        let text = toml::to_string(config.settings()).unwrap();
        assert_eq!(resolved(&Settings::from_toml(&text).unwrap()), config);
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<Config>(&json).unwrap(), config);
        let unknown = json.replacen('{', "{\"colour\":\"red\",", 1);
        assert!(serde_json::from_str::<Config>(&unknown).unwrap_err().to_string().contains("colour"));
    }

    #[test]
    fn trees_are_asked_for_by_flags_of_their_own() {
        let text = "model = \"trees:l2=1\"\nobjective = \"lambdamart:k=10\"\ntrees = 300\nnum-leaves = 63\nrate = 0.05";
        let config = resolved(&Settings::from_toml(text).unwrap());
        let found = (config.model(), config.epochs(), config.learning_rate());
        assert_eq!(found, ("trees:l2=1:leaves=63", 300, 0.05));
        assert_eq!((config.algorithm(), config.transforms()), ("lambdarank@10", ""));
        let text = toml::to_string(config.settings()).unwrap();
        assert!(!text.contains("optimiser") && !text.contains("sampler"), "{text}");
        assert_eq!(resolved(&Settings::from_toml(&text).unwrap()), config);
    }

    #[test]
    fn wrong_settings_name_what_was_found_and_what_is_allowed() {
        for (text, words) in [
            ("rate = 0.0", "learning-rate must be a number above 0, but is 0"),
            ("epochs = 0", "epochs must be an integer from 1"),
            ("objektive = \"map\"", "unknown setting \"objektive\"; did you mean \"objective\"?"),
            ("objective = \"ndgc@10\"", "ndcg"),
            ("metric = \"ndcg@10,map\"", "one metric"),
            ("optimiser = \"adm\"", "adam"),
            ("sampler = \"list\"", "lists"),
            ("schedule = \"cosin\"", "cosine"),
            ("weight-average = \"em\"", "ema"),
            ("transforms = \"standardize\"", "standardise"),
            ("dimensions = 3", "a setting of `toprank embed train`"),
            ("folds = 1", "folds must be an integer from 2 to 1000"),
            ("leaves = 7", "leaves must be omitted, or given with --model trees"),
            ("model = \"trees\"\noptimiser = \"adam\"", "optimiser must be omitted: trees are boosted"),
            ("model = \"trees:leaves=7\"\nleaves = 8", "leaves must be given once"),
            ("model = \"trees\"\nleaves = 1", "leaves must be 2 … 65536"),
            ("model = \"mlp\"\nearly-stopping = \"average\"", "only models of trees are averaged"),
            ("model = \"trees\"\ntrees = 0", "trees must be an integer from 1 to 1000000, but is 0"),
            ("model = \"trees\"\ntrees = 5\nepochs = 6", "trees must be given once"),
            ("calibrate = \"plat\"", "unknown calibration \"plat\"; did you mean \"platt\"?"),
        ] {
            let error =
                Settings::from_toml(text).and_then(|s| s.resolve(TrainerKind::Rank)).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
