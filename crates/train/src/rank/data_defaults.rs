/*!
Defaults that follow from the data, where the user sets nothing.

| data | setting | default | why |
|---|---|---|---|
| binary, multi-label | `transforms` | `missing:to=mean,standardise` | a list is the whole data set here: what is fitted to it must hold for a single new row |
| | | `missing:to=mean,robust,smooth-clip` for perceptrons from 2,000 rows on | the same, and best validation over many sets (`bench/defaults`): extreme values do not set the scale |
| binary, multi-label, 2,000 rows or more | `model` | `embed=auto` where `mlp` does not set it | best validation over many sets (`bench/defaults`) |
| | `weight-average` | `ema:decay=0.99` for perceptrons | the same; an average needs no planned end, so it suits early stopping |
| binary, multi-label | `sampler` | `rows:batch=128` for pointwise objectives | every row once per epoch, with classes as frequent as in the data |
| | | `lists:batch=128` for `multiclass` | a list is a row there, with all its outputs |
| | | `strata:relevant=32:others=96:epoch=all` for the others | rare positives in every batch, every row in every epoch |
| binary, multi-label | `objective` | `auroc` | there are no queries to optimise for |
| binary, multi-label | `learning-rate` | `0.01` for perceptrons | best on small sets that `bench/top` does not report, with every objective |
| binary, multi-label | `optimiser` | `adamw:decay=3` for perceptrons | the same; relevant rows come often and are soon overfitted |
| | | `adamw:decay=1` with pointwise and bilevel objectives | the same; fewer rows move these |
| binary, multi-label | `warm-up` and both rates | 10 epochs at `0.01`, then `0.001`, for perceptrons with `top-push`, `top-push-kl`, `tpauc-minmax` | equal scores are their best value on data that no model separates at the top: from the start they find no other (`bench/collapse`) |
| binary, multi-label | `model` | `output=sigmoid` with `tpauc-kl` and these three, where `linear` or `mlp` does not set it | the same; unbounded scores let single pairs take all the weight, and the model collapses |
| binary, multi-label | `valid-metric` | `auroc`, where the objective is not a metric | the same |
| no validation data, `epochs` and `trees` not set | `early-stopping` | `folds` up to 20,000 rows, `part` above | the number of epochs is chosen on rows that were not learned from |
| binary, multi-label | | `average` for trees where it would be `folds` | the mean of the folds' models and the one on all rows ranks new rows better than the latter alone (`bench/auto`) |
| binary, multi-label, too few rows of a class for that | `epochs` | `20` | an epoch has many steps here, and nothing stops a model that overfits |
| queries, fewer than 50,000 rows | `model` | `trees:leaves=7:features=0.5:lists=0.7:min-rows=50` where `trees` does not set them | best validation on MQ2008 and OHSUMED, mean over three seeds (`bench/trees`) |
| | `learning-rate` | `0.05` for trees | the same |
| binary, multi-label, fewer than 5,000 rows | `model` | `trees:leaves=7:min-rows=5:l2=1:node-features=0.6:rows=0.7:extra=yes` where `trees` does not set them | best on held-out rows of 19 small sets (`bench/auto`, `bench/defaults`) |
| | `learning-rate` | `0.05` for trees | the same |
| binary, multi-label, from there to 20,000 rows | `model` | `trees:leaves=15:min-rows=10:l2=1:node-features=0.6:rows=0.7` where `trees` does not set them | best on held-out rows of five such sets (`bench/auto`) |
| | `learning-rate` | `0.05` for trees | the same |
| with preference pairs | `objective` | `ranknet` | it learns from pairs |
| | `sampler` | `lists:batch=32` | both items of a pair are in the batch |
| memory-mapped | `transforms` | `missing:to=mean,standardise` | rows are transformed when they are fetched |

Networks that look at whole lists keep their sampler; those of graphs have no transforms.
*/

use toprank_core::{Architecture, Lists, ParamError, Policy, Spec};
use toprank_data::MappedDataset;
use toprank_objectives::Goal;

use super::choice::{Choice, ModelKind, choose};
use super::config::{ROW_WISE_TRANSFORMS, model_with_leaves};
use super::folds::enough_for_folds;
use super::models;
use super::run::{AVERAGE, FOLDS, ONE_PART};
use crate::fit::settings::{Config, Settings};

const POINTWISE_SAMPLER: &str = "rows:batch=128";
/// A list is a row there.
const SAMPLER_OVER_OUTPUTS: &str = "lists:batch=128";
const CLASS_AWARE_SAMPLER: &str = "strata:relevant=32:others=96:epoch=all";
/// The objective where preference pairs are given.
pub(super) const OBJECTIVE_OF_PAIRS: &str = "ranknet";
const SAMPLER_OF_PAIRS: &str = "lists:batch=32";
const METRIC_OF_LABELS: &str = "auroc";
/// Objectives that look at few pairs, the worst ones, and from a random start lead to equal scores.
const EXTREME: &[&str] = &["top-push", "top-push-kl", "tpauc-minmax"];
const WANT_BOUNDED_SCORES: &[&str] = &["tpauc-kl", "top-push", "top-push-kl", "tpauc-minmax"];
const WARM_UP_OF_EXTREME: u32 = 10;
/// Learning rate of an extreme objective after its warm-up, as a fraction of that of the others.
const RATE_OF_EXTREME: f64 = 0.1;
const EPOCHS_WITHOUT_VALIDATION: u32 = 20;
/// Rows up to which five models more cost little, and one fifth of the rows would choose the number of epochs by chance.
const MOST_ROWS_OF_FOLDS: usize = 20_000;
/// Rows below which trees without bounds overfit.
const FEW_ROWS: usize = 50_000;
/// The same for the rows of one list.
const FEW_ROWS_OF_LABELS: usize = 5_000;
/// The same for rows of one list that are more than few: `bench/auto` measured 5,800 to 9,800.
const SOME_ROWS_OF_LABELS: usize = 20_000;
/// Rows from which an epoch of a network has enough steps for an average over a hundred of them.
const MANY_ROWS_OF_NETWORKS: usize = 2_000;
const RATE_OF_FEW_ROWS: f64 = 0.05;
const TREES_OF_FEW_QUERIES: &[(&str, &str)] =
    &[("leaves", "7"), ("features", "0.5"), ("lists", "0.7"), ("min-rows", "50")];
const TREES_OF_FEW_LABELS: &[(&str, &str)] = &[
    ("leaves", "7"),
    ("min-rows", "5"),
    ("l2", "1"),
    ("node-features", "0.6"),
    ("rows", "0.7"),
    ("extra", "yes"),
];
const TREES_OF_SOME_LABELS: &[(&str, &str)] =
    &[("leaves", "15"), ("min-rows", "10"), ("l2", "1"), ("node-features", "0.6"), ("rows", "0.7")];
/// Parameters of trees that draw what a tree learns from: only one of them is set.
const DRAWS: [&str; 3] = ["lists", "rows", "goss"];

impl Config {
    /// The config with the defaults that suit training data of these lists, wherever the settings that it was resolved from are
    /// silent. One that has them already, or comes from a file, stays as it is.
    ///
    /// # Errors
    /// If the objective that the data ask for does not suit the rest.
    pub fn suited_to(mut self, lists: &Lists) -> Result<Config, ParamError> {
        let labels = lists.are_labels();
        let Some((given, settings)) = self.take_given() else { return Ok(self) };
        let files = [&given.data, &given.valid].into_iter().flatten().flat_map(|files| &files.0);
        let mapped = files.into_iter().any(MappedDataset::is_one);
        let model = given.model.as_deref().unwrap_or("mlp");
        let auto = models::is_auto(model);
        let trees = models::is_trees(model);
        let network = if auto { None } else { models::network(model)? };
        let network = network.as_deref();
        let graphs = network.is_some_and(Architecture::reads_graphs);
        // The labels of multi-label data share their rows: each has all of them in its list.
        let rows = if labels { lists.entries() / lists.len().max(1) } else { lists.entries() };
        let many = labels && rows >= MANY_ROWS_OF_NETWORKS;
        if (labels || mapped) && !trees && !auto && !graphs && given.transforms.is_none() {
            let of_labels = network.and_then(|network| network.defaults().labels).filter(|_| many);
            let transforms = of_labels.map_or(ROW_WISE_TRANSFORMS, |defaults| defaults.transforms);
            settings.transforms = Some(transforms.into());
        }
        if settings.early_stopping.is_none() && !mapped && !auto {
            let chosen = where_epochs_are_chosen(&given, lists);
            let averaged = trees && labels && chosen == Some(FOLDS);
            settings.early_stopping = if averaged { Some(AVERAGE) } else { chosen }.map(String::from);
        }
        let sizes: &[(usize, &[(&str, &str)])] = match labels {
            true => &[(FEW_ROWS_OF_LABELS, TREES_OF_FEW_LABELS), (SOME_ROWS_OF_LABELS, TREES_OF_SOME_LABELS)],
            false => &[(FEW_ROWS, TREES_OF_FEW_QUERIES)],
        };
        let suited = sizes.iter().find(|(fewer_than, _)| rows < *fewer_than);
        if let Some((_, parameters)) = suited.filter(|_| trees) {
            settings.learning_rate = given.learning_rate.or(Some(RATE_OF_FEW_ROWS));
            settings.model = Some(trees_of_few_rows(&given, parameters)?);
        }
        if lists.pairs.is_some() {
            let objective = given.objective.as_deref().unwrap_or(OBJECTIVE_OF_PAIRS);
            let by = if trees { ModelKind::Trees } else { ModelKind::Network };
            let Choice { algorithm, metric } = choose(objective, given.algorithm.as_deref(), by)?;
            if labels {
                let valid_metric = given.valid_metric.clone().or(metric);
                settings.valid_metric = valid_metric.or_else(|| Some(METRIC_OF_LABELS.into()));
            }
            if !trees {
                settings.sampler = given.sampler.clone().or_else(|| Some(SAMPLER_OF_PAIRS.into()));
            }
            settings.objective = Some(objective.into());
            settings.algorithm = Some(algorithm);
        } else if labels {
            let objective = given.objective.as_deref().unwrap_or(METRIC_OF_LABELS);
            let by = if trees { ModelKind::Trees } else { ModelKind::Network };
            let Choice { algorithm, metric } = choose(objective, given.algorithm.as_deref(), by)?;
            let valid_metric = given.valid_metric.clone().or(metric);
            if !trees && !auto {
                settings_of_labels(&given, settings, network, &algorithm, many)?;
                if given.valid.is_none() && settings.early_stopping.is_none() {
                    settings.epochs = given.epochs.or(Some(EPOCHS_WITHOUT_VALIDATION));
                }
            }
            settings.valid_metric = valid_metric.or_else(|| Some(METRIC_OF_LABELS.into()));
            settings.objective = Some(objective.into());
            settings.algorithm = Some(algorithm);
        }
        self.check()?;
        Ok(self)
    }
}

/// The model `trees` with bounds against overfitting, where it does not set them.
fn trees_of_few_rows(given: &Settings, parameters: &[(&str, &str)]) -> Result<String, ParamError> {
    let mut spec = Spec::parse(given.model.as_deref().unwrap_or_default())?;
    let drawn = DRAWS.iter().any(|draw| spec.args.get(draw).is_some());
    for (name, value) in parameters {
        let said = spec.args.get(name).is_some()
            || *name == "leaves" && given.leaves.is_some()
            || *name == "min-rows" && given.min_rows.is_some();
        if !(said || drawn && DRAWS.contains(name)) {
            spec.args.0.push((name.to_string(), value.to_string()));
        }
    }
    model_with_leaves(&Settings { model: Some(spec.to_string()), ..given.clone() })
}

/// What chooses the number of epochs without validation data, where the user asks for no number; `None`: nothing can.
fn where_epochs_are_chosen(given: &Settings, lists: &Lists) -> Option<&'static str> {
    let asked = given.epochs.or(given.trees).is_some();
    let watched = given.valid.is_some() || given.folds.is_some_and(|folds| folds > 0);
    if asked || watched || given.from.is_some() || lists.pairs.is_some() || !enough_for_folds(lists) {
        return None;
    }
    let rows = match lists.are_labels() {
        true => (0..lists.len()).map(|q| lists.range(q).len()).max().unwrap_or(0),
        false => lists.entries(),
    };
    Some(if rows <= MOST_ROWS_OF_FOLDS { FOLDS } else { ONE_PART })
}

/// How a network is trained with this algorithm on binary and multi-label data.
fn settings_of_labels(
    given: &Settings,
    settings: &mut Settings,
    network: Option<&dyn Architecture>,
    algorithm: &str,
    many_rows: bool,
) -> Result<(), ParamError> {
    let name = Spec::parse(algorithm)?.name;
    let couples_items = network.is_some_and(Architecture::couples_items);
    let graphs = network.is_some_and(Architecture::reads_graphs);
    let mut spec = Spec::parse(given.model.as_deref().unwrap_or("mlp"))?;
    let bounded: &[(&str, &str)] =
        match WANT_BOUNDED_SCORES.contains(&name.as_str()) && !couples_items && !graphs {
            true => &[("output", "sigmoid")],
            false => &[],
        };
    let of_many = network.and_then(|network| network.defaults().labels).filter(|_| many_rows);
    let parameters = of_many.map_or(&[][..], |labels| labels.parameters);
    for (key, value) in parameters.iter().chain(bounded) {
        if spec.args.get(key).is_none() {
            spec.args.0.push((key.to_string(), value.to_string()));
        }
    }
    // Unchanged, it stays as the user wrote it.
    if spec != Spec::parse(given.model.as_deref().unwrap_or("mlp"))? {
        settings.model = Some(spec.to_string());
    }
    let family = toprank_objectives::find(&name).map_or("", |found| found.entry.family);
    if let Some(defaults) = network.and_then(|network| network.defaults().labels) {
        let few = family == "pointwise" || family.starts_with("bilevel");
        let optimiser = if few { defaults.sparse_optimiser } else { defaults.optimiser };
        settings.learning_rate = given.learning_rate.or(Some(defaults.rate));
        if EXTREME.contains(&name.as_str()) && given.warm_up != Some(0) {
            settings.warm_up = given.warm_up.or(Some(WARM_UP_OF_EXTREME));
            if given.learning_rate.is_none() {
                settings.learning_rate = Some(RATE_OF_EXTREME * defaults.rate);
                settings.warm_up_learning_rate = given.warm_up_learning_rate.or(Some(defaults.rate));
            }
        }
        settings.optimiser = given.optimiser.clone().or_else(|| Some(optimiser.into()));
    }
    if let Some(defaults) = of_many {
        settings.schedule = given.schedule.clone().or_else(|| Some(defaults.schedule.into()));
        settings.weight_average = given.weight_average.clone().or_else(|| Some(defaults.average.into()));
    }
    if !couples_items {
        let over_outputs = Goal::parse(algorithm, &Policy::default())?.objective().over_outputs();
        let sampler = match family {
            _ if over_outputs => SAMPLER_OVER_OUTPUTS,
            "pointwise" => POINTWISE_SAMPLER,
            _ => CLASS_AWARE_SAMPLER,
        };
        settings.sampler = given.sampler.clone().or_else(|| Some(sampler.into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TrainerKind;

    fn lists(lengths: &[usize], output: Option<Vec<u16>>) -> Lists {
        let items = lengths.iter().sum();
        Lists { output, ..Lists::from_lengths(lengths, vec![0.0; items]) }
    }

    fn resolved(settings: &Settings) -> Config {
        settings.resolve(TrainerKind::Rank).unwrap()
    }

    fn suited(settings: &Settings, lists: &Lists) -> Config {
        resolved(settings).suited_to(lists).unwrap()
    }

    #[test]
    fn what_the_user_says_stays_and_queries_keep_the_defaults_of_the_model() {
        let (queries, one_list) = (lists(&[2, 3], None), lists(&[5], None));
        let silent = Settings::default();
        assert_eq!(suited(&silent, &queries), resolved(&silent));
        let said = Settings {
            transforms: Some("log1p".into()),
            sampler: Some("lists".into()),
            objective: Some("map".into()),
            learning_rate: Some(0.5),
            optimiser: Some("sgd".into()),
            epochs: Some(7),
            model: Some("mlp:embed=none".into()),
            weight_average: Some("none".into()),
            schedule: Some("cosine".into()),
            ..Settings::default()
        };
        assert_eq!(suited(&said, &one_list), resolved(&said));
    }

    #[test]
    fn the_data_decide_once_and_never_about_what_a_file_holds() {
        let (one_list, queries) = (lists(&[5], None), lists(&[2, 3], None));
        let trees = Settings { model: Some("trees".into()), ..Settings::default() };
        let config = suited(&trees, &one_list);
        assert_eq!(config.clone().suited_to(&queries).unwrap(), config);
        let stored = resolved(&trees);
        let read: Config = serde_json::from_str(&serde_json::to_string(&stored).unwrap()).unwrap();
        assert_eq!(read.suited_to(&one_list).unwrap(), stored);
    }

    #[test]
    fn trees_of_few_rows_are_small_and_sampled_unless_the_user_says_otherwise() {
        let queries = lists(&[2, 3], None);
        let settings = |model: &str, leaves: Option<u32>| Settings {
            model: Some(model.into()),
            leaves,
            ..Settings::default()
        };
        let small = suited(&settings("trees", None), &queries);
        assert_eq!(small.model(), "trees:leaves=7:features=0.5:lists=0.7:min-rows=50");
        assert_eq!(small.learning_rate(), 0.05);
        let said = suited(&settings("trees:min-rows=1:goss=0.2-0.1", Some(31)), &queries);
        assert_eq!(said.model(), "trees:min-rows=1:goss=0.2-0.1:features=0.5:leaves=31");
        let one_list = suited(&settings("trees", None), &lists(&[5], None));
        assert_eq!(one_list.model(), "trees:leaves=7:min-rows=5:l2=1:node-features=0.6:rows=0.7:extra=yes");
        let said = suited(&settings("trees:goss=0.2-0.1:l2=0", Some(31)), &lists(&[5], None));
        assert_eq!(said.model(), "trees:goss=0.2-0.1:l2=0:min-rows=5:node-features=0.6:extra=yes:leaves=31");
        let some = suited(&settings("trees", None), &lists(&[FEW_ROWS_OF_LABELS], None));
        assert_eq!(some.model(), "trees:leaves=15:min-rows=10:l2=1:node-features=0.6:rows=0.7");
        let large = lists(&[SOME_ROWS_OF_LABELS], None);
        assert_eq!(suited(&settings("trees", None), &large).model(), "trees");
        let labels = lists(&[FEW_ROWS_OF_LABELS - 1; 3], Some(vec![0, 1, 2]));
        assert_eq!(suited(&settings("trees", None), &labels).learning_rate(), 0.05, "rows of one label");
        let many = lists(&[FEW_ROWS], None);
        let many = Lists { offsets: vec![0, 1, FEW_ROWS as u64], ..many };
        assert_eq!(suited(&settings("trees", None), &many), resolved(&settings("trees", None)));
    }

    #[test]
    fn folds_choose_the_number_of_epochs_unless_the_user_says_it() {
        let labels = |rows: usize| (0..rows).map(|row| f32::from(u8::from(row % 3 == 0))).collect();
        let one_list = |rows: usize| Lists::from_lengths(&[rows], labels(rows));
        let queries = |count: usize| Lists::from_lengths(&vec![4; count], labels(4 * count));
        let said = |model: &str, lists: &Lists| {
            let settings = Settings { model: Some(model.into()), ..Settings::default() };
            suited(&settings, lists).early_stopping().to_string()
        };
        for model in ["trees", "mlp", "linear"] {
            let expected = if model == "trees" { "average" } else { "folds" };
            assert_eq!(said(model, &one_list(30)), expected);
            assert_eq!(said(model, &one_list(12)), "", "too few relevant rows for five folds");
            assert_eq!(said(model, &one_list(20_001)), "part");
            assert_eq!(said(model, &queries(10)), "folds");
            assert_eq!(said(model, &queries(9)), "");
            assert_eq!(said(model, &queries(5_001)), "part");
        }
        let epochs = Settings { epochs: Some(7), ..Settings::default() };
        assert_eq!(suited(&epochs, &one_list(30)).early_stopping(), "");
        let trees = Settings { trees: Some(7), model: Some("trees".into()), ..Settings::default() };
        assert_eq!(suited(&trees, &one_list(30)).early_stopping(), "");
        let none = Settings { early_stopping: Some("none".into()), ..Settings::default() };
        assert_eq!(suited(&none, &one_list(30)).early_stopping(), "none");
    }

    #[test]
    fn perceptrons_embed_features_and_average_parameters_where_an_epoch_has_many_steps() {
        let model = |name: &str| Settings { model: Some(name.into()), ..Settings::default() };
        let many = MANY_ROWS_OF_NETWORKS;
        for lists in [lists(&[many], None), lists(&[many, many], Some(vec![0, 1]))] {
            let mlp = suited(&model("mlp"), &lists);
            assert_eq!(mlp.transforms(), "missing:to=mean,robust,smooth-clip");
            assert_eq!((mlp.model(), mlp.weight_average()), ("mlp:embed=auto", "ema:decay=0.99"));
            assert_eq!(suited(&model("mlp:embed=none:hidden=8"), &lists).model(), "mlp:embed=none:hidden=8");
            assert_eq!(suited(&model("linear"), &lists).transforms(), ROW_WISE_TRANSFORMS);
            let none = Settings { weight_average: Some("none".into()), ..model("mlp") };
            assert_eq!(suited(&none, &lists).weight_average(), "none");
        }
        let few = suited(&model("mlp"), &lists(&[many / 2, many / 2], Some(vec![0, 1])));
        assert_eq!(
            (few.model(), few.weight_average(), few.transforms()),
            ("mlp", "none", ROW_WISE_TRANSFORMS)
        );
    }

    #[test]
    fn binary_and_multi_label_data_get_class_aware_batches_and_transforms_of_single_rows() {
        let objective = |name: &str| Settings { objective: Some(name.into()), ..Settings::default() };
        let model = |name: &str| Settings { model: Some(name.into()), ..Settings::default() };
        for lists in [lists(&[5], None), lists(&[5, 5], Some(vec![0, 1]))] {
            let auprc = suited(&objective("auprc"), &lists);
            assert_eq!(auprc.transforms(), ROW_WISE_TRANSFORMS);
            assert_eq!(auprc.sampler(), CLASS_AWARE_SAMPLER);
            assert_eq!(auprc.valid_metric(), "auprc", "the objective is the metric");
            assert_eq!((auprc.learning_rate(), auprc.optimiser()), (0.01, "adamw:decay=3"));
            assert_eq!(suited(&objective("precision-at-recall"), &lists).optimiser(), "adamw:decay=1");
            let region = |name: &str, kind: &str| {
                let said = Settings { objective: Some(name.into()), ..model(kind) };
                suited(&said, &lists).model().to_string()
            };
            assert_eq!(region("pauc:fpr=0.3:tpr=0.5", "mlp"), "mlp:output=sigmoid");
            assert_eq!(region("tpauc-kl", "linear"), "linear:output=sigmoid");
            assert_eq!(region("tpauc-kl", "mlp:output=linear"), "mlp:output=linear");
            assert_eq!(region("pauc:fpr=0.1", "mlp"), "mlp");
            for name in ["top-push", "top-push-kl", "tpauc-minmax"] {
                let extreme = suited(&objective(name), &lists);
                assert_eq!((extreme.warm_up(), extreme.warm_up_learning_rate()), (10, 0.01), "{name}");
                assert_eq!(
                    (extreme.learning_rate(), extreme.model()),
                    (0.001, "mlp:output=sigmoid"),
                    "{name}"
                );
                let said = Settings { learning_rate: Some(0.02), ..objective(name) };
                let said = suited(&said, &lists);
                assert_eq!(
                    (said.warm_up(), said.learning_rate()),
                    (10, 0.02),
                    "both stages have the given rate"
                );
                assert_eq!(said.settings().warm_up_learning_rate, None);
                let cold = suited(&Settings { warm_up: Some(0), ..objective(name) }, &lists);
                assert_eq!((cold.warm_up(), cold.learning_rate()), (0, 0.01));
                let linear = suited(&Settings { model: Some("linear".into()), ..objective(name) }, &lists);
                assert_eq!(linear.warm_up(), 0);
            }
            assert_eq!(suited(&objective("auroc"), &lists).warm_up(), 0);
            let linear = suited(&model("linear"), &lists).learning_rate();
            assert_eq!(linear, resolved(&model("linear")).learning_rate(), "its own default");
            let logistic = suited(&objective("logistic"), &lists);
            assert_eq!(logistic.sampler(), POINTWISE_SAMPLER);
            assert_eq!(logistic.optimiser(), "adamw:decay=1");
            assert_eq!(logistic.valid_metric(), "auroc");
            let config = suited(&Settings::default(), &lists);
            assert_eq!((config.objective(), config.valid_metric()), ("auroc", "auroc"));
            assert_eq!(config.epochs(), 20);
            assert_eq!(config.early_stopping(), "", "there are no classes to hold out");
            let validated = Settings { valid: Some("v.csv".into()), ..Settings::default() };
            let epochs = suited(&validated, &lists).epochs();
            assert_eq!(epochs, resolved(&validated).epochs(), "validation stops in time");
            let trees = suited(&model("trees"), &lists);
            assert_eq!((trees.objective(), trees.sampler(), trees.transforms()), ("auroc", "", ""));
            let context = suited(&model("context"), &lists);
            assert_eq!(context.sampler(), resolved(&model("context")).sampler());
        }
    }
}
