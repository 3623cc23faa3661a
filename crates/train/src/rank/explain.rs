//! What a metric loses without a feature: permutation importance of a model, by one of its outputs' metrics.

use toprank_core::Features;
use toprank_data::Dataset;
use toprank_metrics::{Better, Measure, evaluate};
use toprank_trees::explain::{Importance, permutation_importance, shuffled};

use crate::error::TrainError;
use crate::store::fingerprint::Input;
use crate::store::model_file::Model;

/// How much `measure` loses on `data` when the values of one feature are shuffled within their lists, for each feature: mean and
/// deviation over `rounds` shuffles. `data` have the features that the model sees ([`super::predict::as_seen`]).
///
/// A model of trees is scored again only where the feature is used; another model as a whole.
///
/// # Errors
/// If the metric is undefined on every list, or the model cannot score the data.
pub fn permutation(
    model: &Model,
    data: &Dataset,
    measure: &Measure,
    rounds: usize,
    seed: u64,
) -> Result<Vec<Importance>, TrainError> {
    let lists = &data.lists;
    let sign = if measure.metric().better() == Better::Higher { 1.0 } else { -1.0 };
    let undefined = || {
        let found = format!("{} is not defined on them, as every list is excluded", measure.name());
        TrainError::unsuitable(Input::Data, &found, "lists with a value")
    };
    let measures = std::slice::from_ref(measure);
    if let Some(trees) = model.scoring().trees() {
        let ensemble = trees.ensemble();
        let evaluated = |scores: &[f64]| {
            let entries = lists.scores_of_entries(scores, ensemble.outputs);
            evaluate(lists, &entries, measures).map(|found| found.results[0].mean)
        };
        // Whether the metric is defined depends on the labels alone, so one check serves all shuffles.
        evaluated(&ensemble.score(&data.features)?)?.ok_or_else(undefined)?;
        let metric = |scores: &[f64]| evaluated(scores).ok().flatten().map_or(f64::NAN, |value| sign * value);
        let offsets = if lists.rows.is_some() { &[][..] } else { &lists.offsets };
        return Ok(permutation_importance(ensemble, &data.features, offsets, metric, rounds, seed)?);
    }
    let value = |features: &dyn Features| {
        let scores = model.score_transformed(lists, features)?;
        let mean = evaluate(lists, &scores, measures)?.results[0].mean;
        Ok::<f64, TrainError>(sign * mean.ok_or_else(undefined)?)
    };
    let all: Vec<usize> = (0..data.features.width()).collect();
    let whole = [0, data.rows() as u64];
    let offsets = if lists.rows.is_some() { &whole[..] } else { &lists.offsets };
    shuffled(data, &all, offsets, value, rounds, seed)
}
