/*!
What each feature adds to a score: SHAP values, exact where there is a closed form, else sampled.

```text
trees:   exact path-dependent values over the rows of the data (toprank_trees::explain::Shap)
linear:  φⱼ(x) = Σ over the columns k of feature j of  wₖ (xₖ − mean xₖ)
others:  φⱼ(x) = mean over (background row b, order π of the features) of  v(before j and j) − v(before j)
         v(S) = score of the row that has the features of S from x and the others from b
expected + Σⱼ φⱼ = score
```

Sampled values: `samples` background rows are drawn from the data without replacement (again from the start if there are fewer rows),
the same for every explained row. Each comes with one order and its reverse; their mean is one draw, and the error of a value is the
standard deviation over the draws divided by √samples. `expected` is the mean score of the background rows. Features that are the
same in both rows add nothing and are not computed. Where an item's score depends on its list, only the features of the explained
item change, so `expected` is that of the item's place in its list.

Cost of sampled values: at most 2 · rows · samples · features scores (times the length of the list, where the model looks at it).

Sources: Lundberg, Lee, "A unified approach to interpreting model predictions", NeurIPS 2017; Štrumbelj, Kononenko, "Explaining
prediction models and individual predictions with feature contributions", Knowledge and Information Systems 2014 (samples of orders
and of background rows); Mitchell, Cooper, Frank, Holmes, "Sampling permutations for Shapley value estimation", JMLR 2022 (an order and its reverse).
*/

use rayon::prelude::*;
use toprank_core::{Features, Lists, ParamError, Spec, Stream};
use toprank_data::Matrix;
use toprank_trees::explain::{Cover, Shap as TreeShap};

use super::{Explainer, score_rows};
use crate::error::TrainError;
use crate::rank::scoring::Scoring;
use crate::store::fingerprint::Input;

/// Values of one call: 2 GB of memory, and as much again for the errors.
const MOST_VALUES: usize = 1 << 28;
/// Rows scored by one call.
const MOST_SCORED: usize = 1 << 31;
/// Features of the rows that are scored at once.
const AT_ONCE: usize = 1 << 18;

/// How values are sampled, where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Draws for each row, at least 2. Default: 100.
    pub samples: usize,
    /// Seed of the draws. Default: 1.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling { samples: 100, seed: 1 }
    }
}

/// How values were computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Exactly, over the paths of trees.
    Trees,
    /// Exactly, from the weights of a linear model.
    Linear,
    /// By so many draws for each row.
    Sampled(usize),
}

impl Method {
    /// What a user is told.
    pub fn name(self) -> &'static str {
        match self {
            Method::Trees => "exact, over the paths of the trees",
            Method::Linear => "exact, from the weights",
            Method::Sampled(_) => "sampled",
        }
    }
}

/// What each feature adds to each score.
#[derive(Clone, Debug, PartialEq)]
pub struct Shap {
    /// How the values were computed.
    pub method: Method,
    /// Number of features.
    pub width: usize,
    /// Scores per row.
    pub outputs: usize,
    /// Row after row, output after output: the score.
    pub scores: Vec<f64>,
    /// The same of the score that the values start from.
    pub expected: Vec<f64>,
    /// Row after row, output after output, one number per feature.
    pub values: Vec<f64>,
    /// The standard error of each value, where they are sampled.
    pub errors: Option<Vec<f64>>,
}

impl Shap {
    /// What each feature adds to an output of a row.
    ///
    /// # Panics
    /// If there is no such row or output.
    pub fn of(&self, row: usize, output: usize) -> &[f64] {
        &self.values[(row * self.outputs + output) * self.width..][..self.width]
    }

    /// The mean of |value| of each feature, over rows and outputs.
    pub fn mean_sizes(&self) -> Vec<f64> {
        let count = self.scores.len().max(1) as f64;
        let mut mean = vec![0.0; self.width];
        for values in self.values.chunks_exact(self.width.max(1)) {
            mean.iter_mut().zip(values).for_each(|(mean, value)| *mean += value.abs() / count);
        }
        mean
    }

    /// The root of the mean squared error of a value, where they are sampled.
    pub fn typical_error(&self) -> Option<f64> {
        let errors = self.errors.as_ref()?;
        let squares: f64 = errors.iter().map(|error| error * error).sum();
        Some((squares / errors.len().max(1) as f64).sqrt())
    }
}

impl Explainer<'_> {
    /// What each feature adds to the score of each row.
    ///
    /// # Errors
    /// If there would be too many values, too few samples, or the model cannot score the data.
    pub fn shap(&self, sampling: Sampling) -> Result<Shap, TrainError> {
        let (rows, outputs) = (self.rows(), self.model.header().outputs);
        let values = rows.saturating_mul(self.width()).saturating_mul(outputs);
        if values > MOST_VALUES {
            let found = format!(
                "SHAP values would be {values}, one for each of {rows} rows, {} features and {outputs} outputs",
                self.width()
            );
            let expected = format!("at most {MOST_VALUES}: explain fewer rows");
            return Err(TrainError::unsuitable(Input::Data, &found, &expected));
        }
        match self.model.scoring() {
            Scoring::Trees(trees) => self.of_trees(trees.ensemble()),
            Scoring::Network(_, parameters) if self.is_linear() => self.of_linear(parameters),
            _ => self.sampled(sampling),
        }
    }

    fn of_trees(&self, ensemble: &toprank_trees::Ensemble) -> Result<Shap, TrainError> {
        let features = &self.data.features;
        let cover = Cover::count(ensemble, features)?;
        let found = TreeShap::new(ensemble, &cover)?.explain(features)?;
        let scores = ensemble.score(features)?;
        let plain = self.columns.len() == ensemble.width;
        let values = if plain { found.values } else { self.gathered(&found.values, ensemble.width) };
        Ok(Shap {
            method: Method::Trees,
            width: self.width(),
            outputs: ensemble.outputs,
            expected: found.expected.iter().copied().cycle().take(scores.len()).collect(),
            scores,
            values,
            errors: None,
        })
    }

    /// Values of columns added up by feature.
    fn gathered(&self, values: &[f64], width: usize) -> Vec<f64> {
        let of_row = |row: &[f64]| -> Vec<f64> {
            self.columns.iter().map(|columns| columns.iter().map(|&column| row[column]).sum()).collect()
        };
        values.chunks_exact(width).flat_map(of_row).collect()
    }

    /// True of `linear` without an output activation.
    fn is_linear(&self) -> bool {
        let spec = Spec::parse(self.model.header().config.model());
        spec.is_ok_and(|spec| {
            spec.name == "linear" && spec.args.get("output").is_none_or(|output| output == "linear")
        })
    }

    /// `parameters`: the weights, [columns, outputs], then the biases.
    fn of_linear(&self, parameters: &[f32]) -> Result<Shap, TrainError> {
        let (features, outputs) = (&self.data.features, self.model.header().outputs);
        let (rows, width) = (features.rows(), features.width());
        let (weights, biases) = parameters.split_at(width * outputs);
        let mut row = vec![0.0; width];
        let mut means = vec![0.0; width];
        for place in 0..rows {
            features.row_into(place, &mut row);
            means.iter_mut().zip(&row).for_each(|(mean, value)| *mean += f64::from(*value) / rows as f64);
        }
        let weight = |column: usize, output: usize| f64::from(weights[column * outputs + output]);
        let base = |output: usize| -> f64 {
            f64::from(biases[output])
                + (0..width).map(|column| weight(column, output) * means[column]).sum::<f64>()
        };
        let expected: Vec<f64> = (0..outputs).map(base).collect();
        let mut values = Vec::with_capacity(rows * outputs * self.width());
        for place in 0..rows {
            features.row_into(place, &mut row);
            for output in 0..outputs {
                let of = |column: usize| weight(column, output) * (f64::from(row[column]) - means[column]);
                let added = self.columns.iter().map(|columns| columns.iter().map(|&c| of(c)).sum::<f64>());
                values.extend(added);
            }
        }
        Ok(Shap {
            method: Method::Linear,
            width: self.width(),
            outputs,
            scores: score_rows(self.model, features)?,
            expected: expected.iter().copied().cycle().take(rows * outputs).collect(),
            values,
            errors: None,
        })
    }

    /// Of any model, by draws.
    pub(super) fn sampled(&self, sampling: Sampling) -> Result<Shap, TrainError> {
        let Sampling { samples, seed } = sampling;
        if samples < 2 {
            let expected = "an integer from 2, so that the draws have a standard error";
            return Err(ParamError::new("samples", &samples.to_string(), expected).into());
        }
        let (rows, outputs, width) = (self.rows(), self.model.header().outputs, self.width());
        let whole = self.model.scoring().couples_items();
        if whole {
            self.check_lists()?;
        }
        let longest =
            if whole { self.data.lists.offsets.windows(2).map(|w| w[1] - w[0]).max() } else { Some(1) };
        let each = samples.saturating_mul(2 * width).saturating_mul(longest.unwrap_or(1) as usize);
        if rows.saturating_mul(each) > MOST_SCORED {
            let found = format!(
                "sampled SHAP values would take up to {} scores, {each} for each of {rows} rows",
                rows.saturating_mul(each)
            );
            let expected = format!("at most {MOST_SCORED}: explain fewer rows, or with fewer samples");
            return Err(TrainError::unsuitable(Input::Data, &found, &expected));
        }
        let mut order: Vec<usize> = (0..rows).collect();
        Stream::new(seed, "SHAP background").open().shuffle(&mut order);
        let background: Vec<usize> = order.into_iter().cycle().take(samples).collect();
        let scores = self.score_all(&self.data.features)?;
        let draws = Draws { of: self, background: &background, scores: &scores, seed, whole };
        let found = (0..rows).into_par_iter().map(|row| draws.row(row)).collect::<Result<Vec<OfRow>, _>>()?;
        let mut shap = Shap {
            method: Method::Sampled(samples),
            width,
            outputs,
            expected: Vec::with_capacity(scores.len()),
            scores,
            values: Vec::with_capacity(rows * outputs * width),
            errors: None,
        };
        let mut errors = Vec::with_capacity(rows * outputs * width);
        for OfRow { expected, mean, squares } in found {
            shap.expected.extend(expected);
            shap.values.extend(mean);
            errors.extend(squares.into_iter().map(|s| (s / ((samples - 1) * samples) as f64).sqrt()));
        }
        shap.errors = Some(errors);
        Ok(shap)
    }
}

/// What the draws of all rows share.
struct Draws<'a> {
    of: &'a Explainer<'a>,
    background: &'a [usize],
    /// Of all rows.
    scores: &'a [f64],
    seed: u64,
    /// True if the model looks at whole lists.
    whole: bool,
}

/// Of one row: output after output a number per feature, but for `expected`.
struct OfRow {
    expected: Vec<f64>,
    mean: Vec<f64>,
    /// Sum of the squared differences from the mean.
    squares: Vec<f64>,
}

impl Draws<'_> {
    fn row(&self, row: usize) -> Result<OfRow, TrainError> {
        let Explainer { model, data, columns, .. } = self.of;
        let (outputs, width) = (model.header().outputs, columns.len());
        let wide = data.features.width();
        let (mut own, mut other) = (vec![0.0; wide], vec![0.0; wide]);
        data.features.row_into(row, &mut own);
        let mut scored = Scored::new(self, row);
        let mut orders = Vec::with_capacity(self.background.len());
        for (step, &from) in self.background.iter().enumerate() {
            data.features.row_into(from, &mut other);
            let differs =
                |f: &u32| columns[*f as usize].iter().any(|&c| own[c].to_bits() != other[c].to_bits());
            let mut order: Vec<u32> = (0..width as u32).filter(differs).collect();
            let stream = Stream::new(self.seed, "SHAP orders").of_list(row as u32).at_step(step as u64);
            stream.open().shuffle(&mut order);
            if self.whole {
                scored.push(&other)?;
            }
            let inner = order.len().saturating_sub(1);
            let mut mixed = other.clone();
            let mut switch_on = |mixed: &mut [f32], feature: u32| {
                for &column in &columns[feature as usize] {
                    mixed[column] = own[column];
                }
                scored.push(mixed)
            };
            order[..inner].iter().try_for_each(|&feature| switch_on(&mut mixed, feature))?;
            mixed.copy_from_slice(&other);
            order.iter().rev().take(inner).try_for_each(|&feature| switch_on(&mut mixed, feature))?;
            orders.push(order);
        }
        let between = scored.finish()?;
        let mut between = between.chunks_exact(outputs);
        let full = &self.scores[row * outputs..][..outputs];
        let mut found = OfRow {
            expected: vec![0.0; outputs],
            mean: vec![0.0; outputs * width],
            squares: vec![0.0; outputs * width],
        };
        let samples = self.background.len() as f64;
        let mut draw = vec![0.0; outputs * width];
        for (step, order) in orders.iter().enumerate() {
            draw.fill(0.0);
            let empty = match self.whole {
                true => between.next().unwrap_or(full),
                false => &self.scores[self.background[step] * outputs..][..outputs],
            };
            found.expected.iter_mut().zip(empty).for_each(|(sum, score)| *sum += score / samples);
            for reversed in [false, true] {
                let mut before = empty;
                for place in 0..order.len() {
                    let feature = order[if reversed { order.len() - 1 - place } else { place }] as usize;
                    let last = place + 1 == order.len();
                    let after = if last { full } else { between.next().unwrap_or(full) };
                    for (output, (after, before)) in after.iter().zip(before).enumerate() {
                        draw[output * width + feature] += 0.5 * (after - before);
                    }
                    before = after;
                }
            }
            let count = (step + 1) as f64;
            for ((draw, mean), squares) in draw.iter().zip(&mut found.mean).zip(&mut found.squares) {
                let apart = draw - *mean;
                *mean += apart / count;
                *squares += apart * (draw - *mean);
            }
        }
        Ok(found)
    }
}

/// Scores of rows that are made up one after the other, some at a time.
struct Scored<'a> {
    of: &'a Explainer<'a>,
    /// The rows of the list that the explained row stands in, and its place there; `None`: rows are scored by themselves.
    list: Option<(Vec<f32>, usize)>,
    rows: Vec<f32>,
    scores: Vec<f64>,
}

impl<'a> Scored<'a> {
    fn new(draws: &Draws<'a>, row: usize) -> Scored<'a> {
        let Explainer { data, .. } = draws.of;
        let list = draws.whole.then(|| {
            let list = data.lists.offsets.partition_point(|&start| start <= row as u64) - 1;
            let range = data.lists.range(list);
            let mut values = vec![0.0; range.len() * data.features.width()];
            data.features.gather(&range.clone().map(|row| row as u32).collect::<Vec<_>>(), &mut values);
            (values, row - range.start)
        });
        Scored { of: draws.of, list, rows: Vec::new(), scores: Vec::new() }
    }

    fn push(&mut self, row: &[f32]) -> Result<(), TrainError> {
        match &self.list {
            None => self.rows.extend_from_slice(row),
            Some((list, place)) => {
                let start = self.rows.len() + place * row.len();
                self.rows.extend_from_slice(list);
                self.rows[start..start + row.len()].copy_from_slice(row);
            }
        }
        if self.rows.len() >= AT_ONCE { self.score() } else { Ok(()) }
    }

    fn score(&mut self) -> Result<(), TrainError> {
        let width = self.of.data.features.width().max(1);
        let features = Matrix::Dense { width, values: std::mem::take(&mut self.rows) };
        let rows = features.rows();
        match &self.list {
            _ if rows == 0 => {}
            None => self.scores.extend(score_rows(self.of.model, &features)?),
            Some((list, place)) => {
                let length = list.len() / width;
                let lists = Lists::from_lengths(&vec![length; rows / length], vec![0.0; rows]);
                let scores = self.of.model.score_transformed(&lists, &features)?;
                self.scores.extend(scores.iter().skip(*place).step_by(length));
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<f64>, TrainError> {
        self.score()?;
        Ok(self.scores)
    }
}
