/*!
Settings that follow from the data, where the user says nothing.

| data | setting | default | why |
|---|---|---|---|
| binary, multi-label | `transforms` | `missing:to=mean,standardise` | a list is the whole data set here: what is fitted to it must hold for a single new row |
| binary, multi-label | `sampler` | `rows:batch=128` for pointwise objectives | every row once per pass, in the share of classes that the data have |
| | | `strata:relevant=32:others=96:pass=all` for the others | rare positives in every batch, every row in every pass |
| binary, multi-label | `objective` | `auroc` | there are no queries to be best at |
| binary, multi-label | `rate` | `0.01` for perceptrons | best on small sets that `bench/top` does not judge by, with every objective |
| binary, multi-label | `optimiser` | `adamw:decay=3` for perceptrons | the same; relevant rows come often, and are soon learned by heart |
| | | `adamw:decay=1` with pointwise and bilevel objectives | the same; fewer rows move these |
| binary, multi-label | `model` | `output=sigmoid` with `tpauc-kl`, where `linear` or `mlp` does not say it | the same; unbounded scores let single pairs take all the weight, and the model collapses |
| binary, multi-label | `metric` | `auroc`, where the objective is no metric | the same |
| binary, multi-label, no validation | `epochs` | `20` | a pass has many steps here, and nothing stops a model that learns its rows by heart |
| queries, fewer than 50,000 rows | `model` | `trees:leaves=7:features=0.5:lists=0.7:min-rows=50` where `trees` does not say them | best validation on MQ2008 and OHSUMED, mean over three seeds (`bench/trees`) |
| | `rate` | `0.05` for trees | the same |
| mapped | `transforms` | `missing:to=mean,standardise` | rows are transformed when they are fetched |

Networks that look at whole lists (`context`) keep their sampler; those of graphs (`gin`) have no transforms.
*/

use toprank_core::{Lists, ParamError, Spec};
use toprank_data::MappedDataset;

use crate::choice::{By, choose};
use crate::config::{ROW_WISE_TRANSFORMS, Settings};
use crate::models;

const POINTWISE_SAMPLER: &str = "rows:batch=128";
const CLASS_AWARE_SAMPLER: &str = "strata:relevant=32:others=96:pass=all";
const METRIC_OF_LABELS: &str = "auroc";
const RATE_OF_PERCEPTRONS: f64 = 0.01;
const OPTIMISER_OF_PERCEPTRONS: &str = "adamw:decay=3";
const OPTIMISER_IF_FEW_ROWS_MOVE: &str = "adamw:decay=1";
const WANTS_BOUNDED_SCORES: &str = "tpauc-kl";
const EPOCHS_WITHOUT_VALIDATION: u32 = 20;
/// Rows below which trees that know no bounds learn them by heart.
const FEW_ROWS: usize = 50_000;
const RATE_OF_FEW_ROWS: f64 = 0.05;
const TREES_OF_FEW_ROWS: &[(&str, &str)] =
    &[("leaves", "7"), ("features", "0.5"), ("lists", "0.7"), ("min-rows", "50")];

impl Settings {
    /// These settings with what suits training data of these lists filled in where they say nothing.
    pub fn suited_to(mut self, lists: &Lists) -> Result<Settings, ParamError> {
        let labels = lists.are_labels();
        let mapped = [&self.data, &self.valid].into_iter().flatten().any(MappedDataset::is_one);
        let trees = models::is_trees(self.model.as_deref().unwrap_or_default());
        let graphs =
            self.model.as_deref().is_some_and(|model| Spec::parse(model).is_ok_and(|s| s.name == "gin"));
        if (labels || mapped) && !trees && !graphs {
            self.transforms.get_or_insert_with(|| ROW_WISE_TRANSFORMS.into());
        }
        if trees && !labels && lists.entries() < FEW_ROWS {
            self.rate.get_or_insert(RATE_OF_FEW_ROWS);
            let mut spec = Spec::parse(self.model.as_deref().unwrap_or_default())?;
            for (name, value) in TREES_OF_FEW_ROWS {
                let said = spec.args.get(name).is_some() || *name == "leaves" && self.leaves.is_some();
                let sampled = *name == "lists" && spec.args.get("goss").is_some();
                if !said && !sampled {
                    spec.args.0.push((name.to_string(), value.to_string()));
                }
            }
            self.model = Some(spec.to_string());
        }
        if !labels {
            return Ok(self);
        }
        let objective = self.objective.get_or_insert_with(|| METRIC_OF_LABELS.into());
        let by = if trees { By::Trees } else { By::Network };
        let choice = choose(objective, self.algorithm.as_deref(), by)?;
        if choice.metric.is_none() {
            self.metric.get_or_insert_with(|| METRIC_OF_LABELS.into());
        }
        if trees {
            return Ok(self);
        }
        let mut network = Spec::parse(self.model.as_deref().unwrap_or("mlp"))?;
        let name = Spec::parse(&choice.algorithm)?.name;
        let row_wise = ["linear", "mlp"].contains(&network.name.as_str());
        if name == WANTS_BOUNDED_SCORES && row_wise && network.args.get("output").is_none() {
            network.args.0.push(("output".into(), "sigmoid".into()));
            self.model = Some(network.to_string());
        }
        let model = network.name;
        let family = toprank_objectives::find(&name).map_or("", |found| found.entry.family);
        if model == "mlp" {
            self.rate.get_or_insert(RATE_OF_PERCEPTRONS);
            let few = family == "pointwise" || family.starts_with("bilevel");
            let optimiser = if few { OPTIMISER_IF_FEW_ROWS_MOVE } else { OPTIMISER_OF_PERCEPTRONS };
            self.optimiser.get_or_insert_with(|| optimiser.into());
        }
        if model != "context" {
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
            rate: Some(0.5),
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
        assert_eq!(small.rate, Some(0.05));
        small.resolve().unwrap();
        let said = trees("trees:min-rows=1:goss=0.2-0.1", Some(31));
        assert_eq!(said.model.as_deref(), Some("trees:min-rows=1:goss=0.2-0.1:features=0.5"));
        assert!(said.resolve().unwrap().model.ends_with(":leaves=31"));
        let many = lists(&[FEW_ROWS], None);
        let many = Lists { offsets: vec![0, 1, FEW_ROWS as u64], ..many };
        assert_eq!(suited(Settings { model: Some("trees".into()), ..Settings::default() }, &many).rate, None);
    }

    #[test]
    fn binary_and_multi_label_data_get_class_aware_batches_and_transforms_of_single_rows() {
        for lists in [lists(&[5], None), lists(&[5, 5], Some(vec![0, 1]))] {
            let auprc = suited(Settings { objective: Some("auprc".into()), ..Settings::default() }, &lists);
            assert_eq!(auprc.transforms.as_deref(), Some(ROW_WISE_TRANSFORMS));
            assert_eq!(auprc.sampler.as_deref(), Some(CLASS_AWARE_SAMPLER));
            assert_eq!(auprc.metric, None, "the objective is the metric");
            assert_eq!(
                (auprc.rate, auprc.optimiser.as_deref()),
                (Some(0.01), Some(OPTIMISER_OF_PERCEPTRONS))
            );
            let bilevel = Settings { objective: Some("precision-at-recall".into()), ..Settings::default() };
            assert_eq!(suited(bilevel, &lists).optimiser.as_deref(), Some(OPTIMISER_IF_FEW_ROWS_MOVE));
            let region = |objective: &str, model: &str| {
                let said = Settings {
                    objective: Some(objective.into()),
                    model: Some(model.into()),
                    ..Settings::default()
                };
                let suited = suited(said, &lists);
                suited.resolve().unwrap();
                suited.model.unwrap_or_default()
            };
            assert_eq!(region("pauc:fpr=0.3:tpr=0.5", "mlp"), "mlp:output=sigmoid");
            assert_eq!(region("tpauc-kl", "linear"), "linear:output=sigmoid");
            assert_eq!(region("tpauc-kl", "mlp:output=linear"), "mlp:output=linear");
            assert_eq!(region("pauc:fpr=0.1", "mlp"), "mlp");
            let linear = Settings { model: Some("linear".into()), ..Settings::default() };
            assert_eq!(suited(linear, &lists).rate, None, "its own default");
            let logistic =
                suited(Settings { objective: Some("logistic".into()), ..Settings::default() }, &lists);
            assert_eq!(logistic.sampler.as_deref(), Some(POINTWISE_SAMPLER));
            assert_eq!(logistic.optimiser.as_deref(), Some(OPTIMISER_IF_FEW_ROWS_MOVE));
            assert_eq!(logistic.metric.as_deref(), Some("auroc"));
            let config = suited(Settings::default(), &lists).resolve().unwrap();
            assert_eq!((config.objective.as_str(), config.metric.as_str()), ("auroc", "auroc"));
            assert_eq!(config.epochs, 20);
            crate::sampler::parse(&config.sampler).unwrap();
            crate::optimiser::parse(&config.optimiser).unwrap();
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
