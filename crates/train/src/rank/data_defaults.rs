/*!
Defaults that follow from the data, where the user sets nothing.

| data | setting | default | why |
|---|---|---|---|
| binary, multi-label | `transforms` | `missing:to=mean,standardise` | a list is the whole data set here: what is fitted to it must hold for a single new row |
| binary, multi-label | `sampler` | `rows:batch=128` for pointwise objectives | every row once per epoch, with classes as frequent as in the data |
| | | `strata:relevant=32:others=96:epoch=all` for the others | rare positives in every batch, every row in every epoch |
| binary, multi-label | `objective` | `auroc` | there are no queries to optimise for |
| binary, multi-label | `learning-rate` | `0.01` for perceptrons | best on small sets that `bench/top` does not report, with every objective |
| binary, multi-label | `optimiser` | `adamw:decay=3` for perceptrons | the same; relevant rows come often and are soon overfitted |
| | | `adamw:decay=1` with pointwise and bilevel objectives | the same; fewer rows move these |
| binary, multi-label | `model` | `output=sigmoid` with `tpauc-kl`, where `linear` or `mlp` does not set it | the same; unbounded scores let single pairs take all the weight, and the model collapses |
| binary, multi-label | `valid-metric` | `auroc`, where the objective is not a metric | the same |
| binary, multi-label, no validation | `epochs` | `20` | an epoch has many steps here, and nothing stops a model that overfits |
| queries, fewer than 50,000 rows | `model` | `trees:leaves=7:features=0.5:lists=0.7:min-rows=50` where `trees` does not set them | best validation on MQ2008 and OHSUMED, mean over three seeds (`bench/trees`) |
| | `learning-rate` | `0.05` for trees | the same |
| with preference pairs | `objective` | `ranknet` | it learns from pairs |
| | `sampler` | `lists:batch=32` | both items of a pair are in the batch |
| memory-mapped | `transforms` | `missing:to=mean,standardise` | rows are transformed when they are fetched |

Networks that look at whole lists keep their sampler; those of graphs have no transforms.
*/

use toprank_core::{Architecture, Lists, ParamError, Spec};
use toprank_data::MappedDataset;

use super::choice::{ModelKind, choose};
use super::config::ROW_WISE_TRANSFORMS;
use super::models;
use crate::fit::settings::Settings;

const POINTWISE_SAMPLER: &str = "rows:batch=128";
const CLASS_AWARE_SAMPLER: &str = "strata:relevant=32:others=96:epoch=all";
/// The objective where preference pairs are given.
pub(super) const OBJECTIVE_OF_PAIRS: &str = "ranknet";
const SAMPLER_OF_PAIRS: &str = "lists:batch=32";
const METRIC_OF_LABELS: &str = "auroc";
const WANTS_BOUNDED_SCORES: &str = "tpauc-kl";
const EPOCHS_WITHOUT_VALIDATION: u32 = 20;
/// Rows below which trees without bounds overfit.
const FEW_ROWS: usize = 50_000;
const RATE_OF_FEW_ROWS: f64 = 0.05;
const TREES_OF_FEW_ROWS: &[(&str, &str)] =
    &[("leaves", "7"), ("features", "0.5"), ("lists", "0.7"), ("min-rows", "50")];

impl Settings {
    /// These settings, with defaults that suit training data of these lists filled in where they are silent.
    pub fn suited_to(mut self, lists: &Lists) -> Result<Settings, ParamError> {
        let labels = lists.are_labels();
        let files = [&self.data, &self.valid].into_iter().flatten().flat_map(|files| &files.0);
        let mapped = files.into_iter().any(MappedDataset::is_one);
        let trees = models::is_trees(self.model.as_deref().unwrap_or_default());
        let network = models::network(self.model.as_deref().unwrap_or("mlp"))?;
        let network = network.as_deref();
        let graphs = network.is_some_and(Architecture::reads_graphs);
        if (labels || mapped) && !trees && !graphs {
            self.transforms.get_or_insert_with(|| ROW_WISE_TRANSFORMS.into());
        }
        if trees && !labels && lists.entries() < FEW_ROWS {
            self.learning_rate.get_or_insert(RATE_OF_FEW_ROWS);
            let mut spec = Spec::parse(self.model.as_deref().unwrap_or_default())?;
            for (name, value) in TREES_OF_FEW_ROWS {
                let said = spec.args.get(name).is_some()
                    || *name == "leaves" && self.leaves.is_some()
                    || *name == "min-rows" && self.min_rows.is_some();
                let sampled = *name == "lists" && spec.args.get("goss").is_some();
                if !said && !sampled {
                    spec.args.0.push((name.to_string(), value.to_string()));
                }
            }
            self.model = Some(spec.to_string());
        }
        if lists.pairs.is_some() {
            self.objective.get_or_insert_with(|| OBJECTIVE_OF_PAIRS.into());
            if labels {
                self.valid_metric.get_or_insert_with(|| METRIC_OF_LABELS.into());
            }
            if !trees {
                self.sampler.get_or_insert_with(|| SAMPLER_OF_PAIRS.into());
            }
            return Ok(self);
        }
        if !labels {
            return Ok(self);
        }
        let objective = self.objective.get_or_insert_with(|| METRIC_OF_LABELS.into());
        let by = if trees { ModelKind::Trees } else { ModelKind::Network };
        let choice = choose(objective, self.algorithm.as_deref(), by)?;
        if choice.metric.is_none() {
            self.valid_metric.get_or_insert_with(|| METRIC_OF_LABELS.into());
        }
        if trees {
            return Ok(self);
        }
        let name = Spec::parse(&choice.algorithm)?.name;
        let couples_items = network.is_some_and(Architecture::couples_items);
        let mut spec = Spec::parse(self.model.as_deref().unwrap_or("mlp"))?;
        let unbounded = !couples_items && !graphs && spec.args.get("output").is_none();
        if name == WANTS_BOUNDED_SCORES && unbounded {
            spec.args.0.push(("output".into(), "sigmoid".into()));
            self.model = Some(spec.to_string());
        }
        let family = toprank_objectives::find(&name).map_or("", |found| found.entry.family);
        if let Some(defaults) = network.and_then(|network| network.defaults().labels) {
            self.learning_rate.get_or_insert(defaults.rate);
            let few = family == "pointwise" || family.starts_with("bilevel");
            let optimiser = if few { defaults.sparse_optimiser } else { defaults.optimiser };
            self.optimiser.get_or_insert_with(|| optimiser.into());
        }
        if !couples_items {
            let sampler = if family == "pointwise" { POINTWISE_SAMPLER } else { CLASS_AWARE_SAMPLER };
            self.sampler.get_or_insert_with(|| sampler.into());
            if self.valid.is_none() {
                self.epochs.get_or_insert(EPOCHS_WITHOUT_VALIDATION);
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TrainerKind;

    fn lists(lengths: &[usize], output: Option<Vec<u16>>) -> Lists {
        let items = lengths.iter().sum();
        Lists { output, ..Lists::from_lengths(lengths, vec![0.0; items]) }
    }

    fn suited(settings: Settings, lists: &Lists) -> Settings {
        settings.suited_to(lists).unwrap()
    }

    #[test]
    fn what_the_user_says_stays_and_queries_keep_the_defaults_of_the_model() {
        let queries = lists(&[2, 3], None);
        assert_eq!(suited(Settings::default(), &queries), Settings::default());
        let said = Settings {
            transforms: Some("log1p".into()),
            sampler: Some("lists".into()),
            objective: Some("map".into()),
            learning_rate: Some(0.5),
            optimiser: Some("sgd".into()),
            epochs: Some(7),
            ..Settings::default()
        };
        assert_eq!(suited(said.clone(), &lists(&[5], None)), said);
    }

    #[test]
    fn trees_of_few_rows_are_small_and_sampled_unless_the_user_says_otherwise() {
        let queries = lists(&[2, 3], None);
        let trees = |model: &str, leaves: Option<u32>| {
            suited(Settings { model: Some(model.into()), leaves, ..Settings::default() }, &queries)
        };
        let small = trees("trees", None);
        assert_eq!(small.model.as_deref(), Some("trees:leaves=7:features=0.5:lists=0.7:min-rows=50"));
        assert_eq!(small.learning_rate, Some(0.05));
        small.resolve(TrainerKind::Rank).unwrap();
        let said = trees("trees:min-rows=1:goss=0.2-0.1", Some(31));
        assert_eq!(said.model.as_deref(), Some("trees:min-rows=1:goss=0.2-0.1:features=0.5"));
        assert!(said.resolve(TrainerKind::Rank).unwrap().model().ends_with(":leaves=31"));
        let many = lists(&[FEW_ROWS], None);
        let many = Lists { offsets: vec![0, 1, FEW_ROWS as u64], ..many };
        assert_eq!(
            suited(Settings { model: Some("trees".into()), ..Settings::default() }, &many).learning_rate,
            None
        );
    }

    #[test]
    fn binary_and_multi_label_data_get_class_aware_batches_and_transforms_of_single_rows() {
        for lists in [lists(&[5], None), lists(&[5, 5], Some(vec![0, 1]))] {
            let auprc = suited(Settings { objective: Some("auprc".into()), ..Settings::default() }, &lists);
            assert_eq!(auprc.transforms.as_deref(), Some(ROW_WISE_TRANSFORMS));
            assert_eq!(auprc.sampler.as_deref(), Some(CLASS_AWARE_SAMPLER));
            assert_eq!(auprc.valid_metric, None, "the objective is the metric");
            assert_eq!(
                (auprc.learning_rate, auprc.optimiser.as_deref()),
                (Some(0.01), Some("adamw:decay=3"))
            );
            let bilevel = Settings { objective: Some("precision-at-recall".into()), ..Settings::default() };
            assert_eq!(suited(bilevel, &lists).optimiser.as_deref(), Some("adamw:decay=1"));
            let region = |objective: &str, model: &str| {
                let said = Settings {
                    objective: Some(objective.into()),
                    model: Some(model.into()),
                    ..Settings::default()
                };
                let suited = suited(said, &lists);
                suited.resolve(TrainerKind::Rank).unwrap();
                suited.model.unwrap_or_default()
            };
            assert_eq!(region("pauc:fpr=0.3:tpr=0.5", "mlp"), "mlp:output=sigmoid");
            assert_eq!(region("tpauc-kl", "linear"), "linear:output=sigmoid");
            assert_eq!(region("tpauc-kl", "mlp:output=linear"), "mlp:output=linear");
            assert_eq!(region("pauc:fpr=0.1", "mlp"), "mlp");
            let linear = Settings { model: Some("linear".into()), ..Settings::default() };
            assert_eq!(suited(linear, &lists).learning_rate, None, "its own default");
            let logistic =
                suited(Settings { objective: Some("logistic".into()), ..Settings::default() }, &lists);
            assert_eq!(logistic.sampler.as_deref(), Some(POINTWISE_SAMPLER));
            assert_eq!(logistic.optimiser.as_deref(), Some("adamw:decay=1"));
            assert_eq!(logistic.valid_metric.as_deref(), Some("auroc"));
            let config = suited(Settings::default(), &lists).resolve(TrainerKind::Rank).unwrap();
            assert_eq!((config.objective(), config.valid_metric()), ("auroc", "auroc"));
            assert_eq!(config.epochs(), 20);
            crate::fit::sampler::parse(config.sampler()).unwrap();
            crate::fit::optimiser::parse(config.optimiser()).unwrap();
            let validated = suited(Settings { valid: Some("v.csv".into()), ..Settings::default() }, &lists);
            assert_eq!(validated.epochs, None, "validation stops in time");
            let trees = suited(Settings { model: Some("trees".into()), ..Settings::default() }, &lists);
            assert_eq!(
                (trees.objective.as_deref(), trees.sampler, trees.transforms),
                (Some("auroc"), None, None)
            );
            let context = suited(Settings { model: Some("context".into()), ..Settings::default() }, &lists);
            assert_eq!(context.sampler, None);
        }
    }
}
