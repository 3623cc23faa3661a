/*!
Why does a model score as it does? Answers on data, for every model that scores rows of features.

| question | answer | trees | linear | others |
|---|---|---|---|---|
| which features does a metric need? | [`Explainer::permutation`] | scored again | scored again | scored again |
| how does the score change with a feature? | [`Explainer::dependence`] | scored again | scored again | scored again |
| how much does each feature add to this score? | [`Explainer::shap`] | exact, over paths | exact, in closed form | sampled, with an error |

Features are those of the data: what transforms make of a feature (a scaled column, a column that marks missing values) belongs to it.
*/

mod shap;
#[cfg(all(test, feature = "neural"))]
mod tests;

use toprank_core::{Features, Lists, ModelError, ParamError};
use toprank_data::{Dataset, Matrix};
use toprank_metrics::{Better, Measure, evaluate};
use toprank_trees::explain::{Importance, Replaced, With, gain_importance, grid, shuffled, split_importance};

pub use shap::{Method, Sampling, Shap};

use crate::error::TrainError;
use crate::rank::predict;
use crate::store::fingerprint::Input;
use crate::store::model_file::Model;

/// A model and the data that it is explained on.
#[derive(Debug)]
pub struct Explainer<'a> {
    model: &'a Model,
    /// As the model sees them.
    data: Dataset,
    /// The features before transforms that look at rows one by one; `None`: there are none, or they look at lists.
    raw: Option<Matrix>,
    /// The columns of each feature after the transforms.
    columns: Vec<Vec<usize>>,
}

/// Partial dependence of the score on one feature.
#[derive(Clone, Debug, PartialEq)]
pub struct Dependence {
    /// Values of the feature, ascending; behind them NaN if a row lacks it.
    pub values: Vec<f32>,
    /// For each value the mean score of all rows with the feature set to it, one number per output.
    pub means: Vec<f64>,
    /// True if the values are those after a transform that looks at whole lists (`per-list`).
    pub within_lists: bool,
}

/// Gain and number of splits of each feature, of a model of trees; `None`: it is none.
pub fn tree_importance(model: &Model) -> Option<(Vec<f64>, Vec<u64>)> {
    let ensemble = model.scoring().trees()?.ensemble();
    let (mut gains, mut splits) = (vec![0.0; model.header().width], vec![0; model.header().width]);
    let found = gain_importance(ensemble).into_iter().zip(split_importance(ensemble));
    for (feature, (gain, count)) in model.header().transforms.origins().into_iter().zip(found) {
        gains[feature] += gain;
        splits[feature] += count;
    }
    Some((gains, splits))
}

impl<'a> Explainer<'a> {
    /// Brings model and data together. `file` is the name of the data for messages, `absent` what a feature is that a text never
    /// states: 0 or NaN.
    ///
    /// # Errors
    /// If the data lack features of the model, have no rows, or the items of the model are graphs.
    pub fn new(
        model: &'a Model,
        file: &str,
        data: Dataset,
        absent: f32,
    ) -> Result<Explainer<'a>, TrainError> {
        let header = model.header();
        if header.graphs.is_some() {
            let expected = "a model of rows of features: items that are graphs have none to explain";
            return Err(ModelError::new("a model whose items are graphs", expected).into());
        }
        let mut data = predict::with_columns_of(model, file, data, absent)?;
        if data.rows() == 0 {
            let found = "no rows";
            return Err(TrainError::unsuitable(Input::Data, found, "rows to explain the model on"));
        }
        let transforms = &header.transforms;
        let kept = !transforms.steps.is_empty() && !transforms.looks_at_lists();
        let raw = kept.then(|| data.features.clone());
        transforms.apply(&mut data)?;
        let mut columns = vec![Vec::new(); header.width];
        for (column, feature) in transforms.origins().into_iter().enumerate() {
            columns[feature].push(column);
        }
        Ok(Explainer { model, data, raw, columns })
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.data.rows()
    }

    /// How much `measure` loses when the values of one feature are shuffled within their lists, for each feature: mean and deviation
    /// over `rounds` shuffles. A feature that no tree tests has 0.
    ///
    /// # Errors
    /// If the metric is undefined on every list, there are no rounds, or the model cannot score the data.
    pub fn permutation(
        &self,
        measure: &Measure,
        rounds: usize,
        seed: u64,
    ) -> Result<Vec<Importance>, TrainError> {
        if rounds == 0 {
            return Err(ParamError::new("rounds", "0", "at least one shuffle of each feature").into());
        }
        let lists = &self.data.lists;
        let sign = if measure.metric().better() == Better::Higher { 1.0 } else { -1.0 };
        let value = |features: &dyn Features| {
            let scores = self.model.score_transformed(lists, features)?;
            let mean = evaluate(lists, &scores, std::slice::from_ref(measure))?.results[0].mean;
            let undefined = || {
                let found = format!("{} is not defined on them, as every list is excluded", measure.name());
                TrainError::unsuitable(Input::Data, &found, "lists with a value")
            };
            Ok::<f64, TrainError>(sign * mean.ok_or_else(undefined)?)
        };
        let mut columns = self.columns.clone();
        if let Some(trees) = self.model.scoring().trees() {
            let splits = split_importance(trees.ensemble());
            for columns in &mut columns {
                columns.retain(|&column| splits[column] > 0);
            }
        }
        let whole = [0, self.rows() as u64];
        let offsets = if lists.rows.is_some() { &whole[..] } else { &lists.offsets };
        shuffled(&self.data.features, &columns, offsets, value, rounds, seed)
    }

    /// The mean score of all rows with one feature set to each of at most `most` of its values, at even ranks. Where an item's score
    /// depends on its list, the feature is set in all items of the list.
    ///
    /// Source: Friedman, "Greedy function approximation: a gradient boosting machine", section 8.2.
    ///
    /// # Errors
    /// If there is no such feature, `most` is below 2, or the model cannot score the data.
    pub fn dependence(&self, feature: usize, most: usize) -> Result<Dependence, TrainError> {
        let raw = self.raw.as_ref().unwrap_or(&self.data.features);
        let values = grid(raw, feature, most)?;
        let columns = match self.raw {
            Some(_) => &self.columns[feature][..],
            // Seen as it is, or after a transform that looks at lists: one column.
            None => &self.columns[feature][..1],
        };
        let seen = self.transformed(feature, &values)?;
        let outputs = self.model.header().outputs;
        let mut means = Vec::with_capacity(values.len() * outputs);
        for row in 0..values.len() {
            let with: Vec<f32> = columns.iter().map(|&column| seen.get(row, column)).collect();
            let replaced = Replaced { features: &self.data.features, columns, with: With::Values(&with) };
            let scores = self.score_all(&replaced)?;
            for output in 0..outputs {
                let sum: f64 = scores.iter().skip(output).step_by(outputs).sum();
                means.push(sum / self.rows() as f64);
            }
        }
        Ok(Dependence { values, means, within_lists: self.model.header().transforms.looks_at_lists() })
    }

    /// One row for each value of a feature, as the model sees it; the other features are 0 before the transforms.
    fn transformed(&self, feature: usize, values: &[f32]) -> Result<Matrix, TrainError> {
        let header = self.model.header();
        let width = if self.raw.is_some() { header.width } else { self.data.features.width() };
        let mut rows = vec![0.0; values.len() * width];
        rows.iter_mut().skip(feature).step_by(width).zip(values).for_each(|(cell, value)| *cell = *value);
        let features = Matrix::Dense { width, values: rows };
        if self.raw.is_none() {
            return Ok(features);
        }
        let lists = Lists::from_lengths(&[values.len()], vec![0.0; values.len()]);
        let mut data = Dataset { lists, features, columns: header.columns(), ..Dataset::default() };
        header.transforms.apply(&mut data)?;
        Ok(data.features)
    }

    /// All scores of all rows, row after row, of rows as the model sees them.
    fn score_all(&self, features: &dyn Features) -> Result<Vec<f64>, TrainError> {
        match self.model.scoring().couples_items() {
            true => {
                self.check_lists()?;
                self.model.score_transformed(&self.data.lists, features)
            }
            false => score_rows(self.model, features),
        }
    }

    /// Refuses lists of which a model that looks at whole lists gives no score per row.
    fn check_lists(&self) -> Result<(), TrainError> {
        let outputs = self.model.header().outputs;
        if self.data.lists.rows.is_none() && outputs == 1 {
            return Ok(());
        }
        let found = format!(
            "lists that share rows, or several outputs ({outputs}), of a model that looks at whole lists"
        );
        let expected = "lists with rows of their own and one output: a row has one score there";
        Err(TrainError::unsuitable(Input::Data, &found, expected))
    }
}

/// All outputs of all rows, row after row, of a model that scores each row by itself.
fn score_rows(model: &Model, features: &dyn Features) -> Result<Vec<f64>, TrainError> {
    let (rows, outputs) = (features.rows(), model.header().outputs);
    if outputs == 1 {
        return model.score_transformed(&Lists::from_lengths(&[rows], vec![0.0; rows]), features);
    }
    let lists = Lists {
        rows: Some((0..outputs).flat_map(|_| 0..rows as u32).collect()),
        output: Some((0..outputs as u16).collect()),
        ..Lists::from_lengths(&vec![rows; outputs], vec![0.0; rows * outputs])
    };
    let by_output = model.score_transformed(&lists, features)?;
    Ok((0..rows).flat_map(|row| by_output.iter().skip(row).step_by(rows.max(1)).copied()).collect())
}
