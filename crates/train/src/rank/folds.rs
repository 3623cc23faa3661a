/*!
Cross-validation: k models, each trained without one fold and evaluated on it; then the kept model is trained on all rows.

Binary data are folded by rows stratified by label, multi-label data so for every label, queries by list.
Every entry gets one **out-of-fold score**, from the model that did not learn from it.

**Number of epochs.** Without validation data a part of each fold's training data is set aside for early stopping, and the model on
all rows is trained for as many epochs as were best in the mean of the folds' validation curves. Where only this number is wanted
(`CrossValidation::of_epochs`), nothing is reported of the held-out folds, so early stopping watches them instead.

**One scale.** An objective that learns an order leaves offset and scale of scores open, so models of different folds cannot be
pooled as they are. Each model's scores are therefore standardised by mean and spread of its own training scores and put on the
scale of the kept model:

```text
s' = (s − mean_k)/spread_k · spread + mean          k: the fold's model on its training rows; without k: the kept model
```

No order within a fold changes. Pooled metrics, a calibration and a threshold that is found on out-of-fold scores hold for the
kept model's scores.

**Crash-safe.** [`Held`] is what remains of a fold; it is saved when the fold is done and used again if the same config and
data ask for it.
*/

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toprank_core::{Lists, ParamError, Policy};
use toprank_data::split::{self, Part};
use toprank_data::{Dataset, ReadError};
use toprank_metrics::{Better, EvaluateError, Measure, evaluate};
use toprank_trees::Ensemble;

use super::job::{Data, Job, Learner, Views};
use super::run::{AVERAGE, ONE_PART};
use super::scoring::{self, Scoring};
use crate::error::TrainError;
use crate::fit::curve::Record;
use crate::fit::engine::Examples;
use crate::fit::run::{beside, resume_and_run};
use crate::fit::settings::Config;
use crate::fit::stages::continues_after_warm_up;
use crate::fit::training_loop::{Callbacks, Checkpoints, Outcome};
use crate::fit::workers::Workers;
use crate::store::container::{self, Stored, Tensor};
use crate::store::fingerprint::{self, Fingerprint};

const KIND: &str = "fold";

/// One fold: what is trained on and what is held out.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// Its number, from 1.
    pub number: u32,
    train: Part,
    test: Part,
    /// Entries that are held out, and their lists.
    entries: Vec<u64>,
    lists: Lists,
}

/// The `config.folds` folds of `data`, a function of data and seed. Rows are named by number, not copied.
pub fn folds(config: &Config, data: &Dataset) -> Result<Vec<Fold>, ParamError> {
    k_folds(config.folds() as usize, config.seed(), data)
}

fn k_folds(k: usize, seed: u64, data: &Dataset) -> Result<Vec<Fold>, ParamError> {
    let parts = split::k_fold(&data.lists, data.rows(), k, seed)?;
    let fold = |([train, test], number): ([Part; 2], u32)| {
        let (entries, lists) = (test.entries(data), test.lists(data));
        Fold { number, train, test, entries, lists }
    };
    Ok(parts.into_iter().zip(1..).map(fold).collect())
}

/// A part without one of its own folds, and that fold; `None`: there are too few lists, or too few rows of a class for both.
fn set_aside(config: &Config, data: &Dataset, part: &Part) -> Option<[Part; 2]> {
    let (lists, rows) = (part.lists(data), part.rows(data));
    let folds = split::k_fold(&lists, rows, config.folds() as usize, config.seed()).ok()?;
    let parts = folds.first()?.each_ref().map(|inner| part.within(data, inner));
    let complete = |inner: &Part| {
        let inner = inner.lists(data);
        !lists.are_labels()
            || inner.len() == lists.len()
                && (0..lists.len()).all(|q| !has_both_classes(&lists, q) || has_both_classes(&inner, q))
    };
    parts.iter().all(complete).then_some(parts)
}

/// True if a list has relevant and other items: without both a model learns no order.
fn has_both_classes(lists: &Lists, list: usize) -> bool {
    let labels = || lists.labels[lists.range(list)].iter();
    labels().any(|label| *label > 0.0) && labels().any(|label| *label <= 0.0)
}

/// What early stopping of a fold's model watches.
#[derive(Clone, Copy, Debug)]
pub enum Watched<'a> {
    /// Validation data.
    Valid(&'a Arc<Dataset>),
    /// A part of the other folds that is set aside for it, as large as a fold of them.
    SetAside,
    /// The held-out fold itself.
    HeldOut,
}

impl Fold {
    /// The job that learns from the other folds. Only the rows that are trained on and validated on are copied, and validation data are
    /// if their features are transformed.
    pub fn job(&self, config: &Config, data: &Dataset, watched: Watched) -> Result<Job, TrainError> {
        let stops_early = config.patience() > 0;
        match watched {
            Watched::Valid(valid) => {
                let valid = Data::Memory(Arc::clone(valid));
                Job::new(config, self.train.take(data).into(), Some(valid))
            }
            Watched::HeldOut => {
                Job::new(config, self.train.take(data).into(), Some(self.test.take(data).into()))
            }
            Watched::SetAside => match stops_early.then(|| set_aside(config, data, &self.train)).flatten() {
                Some([train, valid]) => {
                    Job::new(config, train.take(data).into(), Some(valid.take(data).into()))
                }
                None => Job::new(config, self.train.take(data).into(), None),
            },
        }
    }

    /// What is held out, as a data set of its own.
    pub(crate) fn held_out(&self, data: &Dataset) -> Dataset {
        self.test.take(data)
    }

    /// The entries that are held out.
    pub(crate) fn entries(&self) -> &[u64] {
        &self.entries
    }

    /// Held-out items, and how many of them are relevant.
    pub fn size(&self) -> (usize, usize) {
        (self.entries.len(), self.lists.labels.iter().filter(|label| **label > 0.0).count())
    }

    /// Scores what was held out.
    pub fn held(
        &self,
        job: &Job,
        learner: &dyn Learner,
        views: &Views,
        data: &Dataset,
    ) -> Result<Held, TrainError> {
        let scores = job.model(learner)?.score(self.test.take(data))?;
        if let Some(entry) = scores.iter().position(|score| !score.is_finite()) {
            return Err(TrainError::Format {
                file: format!("fold {}", self.number),
                found: format!("held-out item {} with the score {}", entry + 1, scores[entry]),
                expected: "finite scores; if the item has missing features, train with missing:to=mean"
                    .into(),
            });
        }
        let scales = Scale::of(job.train().lists(), &job.train_scores(learner, views)?);
        // The kept model is never one of a warm-up after which the last layer is reinitialised.
        let config = learner.config();
        let warm_up = if continues_after_warm_up(config) { 0 } else { config.warm_up() as usize };
        let value = |(at, record): (usize, &Record)| {
            let value = if at < warm_up { None } else { record.metrics.first().copied().flatten() };
            value.unwrap_or(f64::NAN)
        };
        let curve = match job.is_validated() {
            true => learner.records().iter().enumerate().map(value).collect(),
            false => Vec::new(),
        };
        let kept = config.early_stopping() == AVERAGE && config.folds() == 0;
        let trees = match kept.then(|| learner.present()).transpose()? {
            Some(Scoring::Trees(trees)) => Some(trees.ensemble().clone()),
            _ => None,
        };
        Ok(Held { scores, scales, curve, trees })
    }
}

/// Offset and spread of a model's scores on the rows it was trained on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub spread: f64,
}

impl Scale {
    /// One for each output that the lists read.
    pub fn of(lists: &Lists, scores: &[f64]) -> Vec<Scale> {
        let output = |q: usize| lists.output.as_ref().map_or(0, |output| usize::from(output[q]));
        let outputs = (0..lists.len()).map(output).max().map_or(0, |last| last + 1);
        (0..outputs)
            .map(|wanted| {
                let lists_of = || (0..lists.len()).filter(|&q| output(q) == wanted);
                let all = || lists_of().flat_map(|q| &scores[lists.range(q)]);
                let count = all().count().max(1) as f64;
                let mean = all().sum::<f64>() / count;
                let spread = (all().map(|score| (score - mean).powi(2)).sum::<f64>() / count).sqrt();
                Scale { mean, spread }
            })
            .collect()
    }

    /// A score of a model of this scale on the scale of another.
    fn to(self, other: Scale, score: f64) -> f64 {
        // A model that says the same of everything has no scale.
        let spread = if self.spread > 0.0 { other.spread / self.spread } else { 1.0 };
        (score - self.mean) * spread + other.mean
    }
}

/// What remains of a fold.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// Score of each held-out entry.
    scores: Vec<f64>,
    /// Of the fold's model.
    scales: Vec<Scale>,
    /// The metric of validation after each epoch, NaN where it is undefined; empty: nothing was validated on.
    curve: Vec<f64>,
    /// The trees of all rounds, where the model is an average with them.
    trees: Option<Ensemble>,
}

/// Which fold of what a file is of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    config: Config,
    inputs: Fingerprint,
    fold: u32,
    /// Features that its trees were learned from; 0: it keeps none.
    width: usize,
}

impl Held {
    /// Writes it; the old file stays until the new one is whole.
    pub fn save(
        &self,
        path: &Path,
        fold: &Fold,
        config: &Config,
        inputs: &Fingerprint,
    ) -> Result<(), TrainError> {
        let scales: Vec<f64> = self.scales.iter().flat_map(|scale| [scale.mean, scale.spread]).collect();
        let mut tensors = vec![
            Tensor::flat("scores", &self.scores),
            Tensor::flat("scales", scales),
            Tensor::flat("curve", &self.curve),
        ];
        tensors.extend(self.trees.iter().flat_map(scoring::tree_tensors));
        let width = self.trees.as_ref().map_or(0, |trees| trees.width);
        let header = Header { config: config.clone(), inputs: inputs.clone(), fold: fold.number, width };
        container::save(path, KIND, &header, &tensors)
    }

    /// Reads what [`Held::save`] wrote for the same fold, config and data.
    pub fn load(path: &Path, fold: &Fold, config: &Config, inputs: &Fingerprint) -> Result<Held, TrainError> {
        let (stored, header): (Stored, Header) = container::load(path, KIND)?;
        if header.config != *config || header.fold != fold.number {
            let expected = "the config it was started with; start a new run";
            return Err(stored.wrong("a fold of another run", expected));
        }
        if let Some(input) = header.inputs.difference(inputs) {
            return Err(TrainError::InputChanged { file: stored.file().into(), input });
        }
        let (scores, scales) = (stored.f64("scores")?, stored.f64("scales")?);
        stored.counted("scores", scores.len(), fold.entries.len())?;
        stored.counted("scales", scales.len(), scales.len().next_multiple_of(2))?;
        if let Some(value) = scores.iter().chain(&scales).find(|value| !value.is_finite()) {
            return Err(stored.wrong(format!("the number {value} in a fold"), "finite numbers"));
        }
        let scales = scales.as_chunks::<2>().0.iter().map(|&[mean, spread]| Scale { mean, spread }).collect();
        let trees = match header.width {
            0 => None,
            width => Some(scoring::load_trees(&stored, width)?),
        };
        Ok(Held { scores, scales, curve: stored.f64("curve")?, trees })
    }
}

/// Lists and features of a data set.
pub(super) fn examples(data: &Dataset) -> Examples<'_> {
    Examples { lists: &data.lists, features: data }
}

/// The out-of-fold score of every entry, on the scale of the kept model.
pub fn out_of_fold(lists: &Lists, folds: &[Fold], held: &[Held], kept: &[Scale]) -> Vec<f64> {
    let mut scores = vec![f64::NAN; lists.entries()];
    let mut output_of = vec![0; lists.entries()];
    if let Some(output) = &lists.output {
        (0..lists.len()).for_each(|q| output_of[lists.range(q)].fill(usize::from(output[q])));
    }
    for (fold, held) in folds.iter().zip(held) {
        for (&entry, &score) in fold.entries.iter().zip(&held.scores) {
            let output = output_of[entry as usize];
            let (from, to) = (held.scales.get(output), kept.get(output));
            scores[entry as usize] = match (from, to) {
                (Some(from), Some(to)) => from.to(*to, score),
                _ => score,
            };
        }
    }
    scores
}

/// What a cross-validation measured of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoldMetric {
    /// Name of the metric.
    pub metric: String,
    /// Its value on each fold; none where it is undefined.
    pub folds: Vec<Option<f64>>,
    /// Mean over the folds.
    pub mean: Option<f64>,
    /// Standard deviation over the folds (n − 1).
    pub deviation: Option<f64>,
    /// Its value on all data under their out-of-fold scores.
    pub pooled: Option<f64>,
}

/// Evaluates out-of-fold scores: fold by fold, and all together.
pub fn evaluate_folds(
    lists: &Lists,
    folds: &[Fold],
    scores: &[f64],
    measures: &[Measure],
) -> Result<Vec<FoldMetric>, EvaluateError> {
    let pooled = evaluate(lists, scores, measures)?;
    let mut by_fold = Vec::new();
    for fold in folds {
        let of_fold: Vec<f64> = fold.entries.iter().map(|&entry| scores[entry as usize]).collect();
        by_fold.push(evaluate(&fold.lists, &of_fold, measures)?);
    }
    let found = |m: usize| {
        let folds: Vec<Option<f64>> = by_fold.iter().map(|fold| fold.results[m].mean).collect();
        let values: Vec<f64> = folds.iter().copied().flatten().collect();
        let count = values.len() as f64;
        let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / count);
        let deviation = mean.filter(|_| values.len() > 1).map(|mean| {
            (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt()
        });
        FoldMetric {
            metric: pooled.results[m].name.clone(),
            folds,
            mean,
            deviation,
            pooled: pooled.results[m].mean,
        }
    };
    Ok((0..measures.len()).map(found).collect())
}

/// The results of a cross-validation.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldResults {
    /// Out-of-fold score of every entry, on the scale of the kept model.
    pub scores: Vec<f64>,
    /// What was measured, metric by metric.
    pub metrics: Vec<FoldMetric>,
    /// Held-out items of each fold, and how many of them are relevant.
    pub sizes: Vec<(usize, usize)>,
}

/// Metrics that folds are evaluated by where the user names none: that of validation and those usual for the data.
pub(super) fn usual_metrics(config: &Config, lists: &Lists) -> String {
    let usual = if lists.are_labels() { "auroc,auprc,pauc:fpr=0.1,p:recall=0.8" } else { "ndcg@10,map,mrr" };
    format!("{},{usual}", config.valid_metric())
}

/// Folds that choose the number of epochs where the user asks for none.
const FOLDS_OF_EPOCHS: usize = 5;

/// A cross-validation in progress: the folds and what is done of them.
pub(crate) struct CrossValidation {
    folds: Vec<Fold>,
    measures: Vec<Measure>,
    held: Vec<Held>,
    /// Only the number of epochs is wanted.
    of_epochs: bool,
}

/// True if the folds that choose the number of epochs have something to learn from and to validate on.
pub(crate) fn enough_for_folds(lists: &Lists) -> bool {
    if !lists.are_labels() {
        return lists.len() >= 2 * FOLDS_OF_EPOCHS;
    }
    (0..lists.len()).any(|q| {
        let relevant = lists.labels[lists.range(q)].iter().filter(|label| **label > 0.0).count();
        relevant.min(lists.range(q).len() - relevant) >= FOLDS_OF_EPOCHS
    })
}

/// The epoch, from 1, that is best in the mean of the curves, and that mean; a curve that ends early counts with its last value.
/// Of equal epochs the first. `None`: no curve has a value.
fn best_of_mean(curves: &[&[f64]], better: Better) -> Option<(u32, f64)> {
    let longest = curves.iter().map(|curve| curve.len()).max()?;
    let mean = |epoch: usize| {
        let at = curves.iter().filter_map(|curve| curve.get(epoch).or(curve.last()));
        let values: Vec<f64> = at.copied().filter(|value| !value.is_nan()).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let is_better = |new: f64, old: f64| match better {
        Better::Higher => new > old,
        Better::Lower => new < old,
    };
    let mut best = None;
    for epoch in 0..longest {
        if let Some(value) = mean(epoch)
            && best.is_none_or(|(_, old)| is_better(value, old))
        {
            best = Some((epoch as u32 + 1, value));
        }
    }
    best
}

/// Where finished folds are kept while a cross-validation is under way.
pub(crate) struct FoldFiles {
    /// The folder.
    pub folder: PathBuf,
    /// Minimum time between two checkpoints.
    pub every: Duration,
}

impl FoldFiles {
    fn failed(&self, error: &std::io::Error) -> TrainError {
        ReadError::io(&self.folder.display().to_string(), error).into()
    }

    /// Makes the folder; what an earlier run left there is removed, unless this run resumes it.
    pub fn open(&self, resume: bool) -> Result<(), TrainError> {
        if !resume {
            self.remove()?;
        }
        std::fs::create_dir_all(&self.folder).map_err(|error| self.failed(&error))
    }

    /// Removes the folder.
    pub fn remove(&self) -> Result<(), TrainError> {
        match std::fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(self.failed(&error)),
            _ => Ok(()),
        }
    }
}

impl CrossValidation {
    /// Divides the data; nothing is trained yet. `metrics`: what folds are evaluated by, `None` for the usual ones.
    pub fn plan(
        config: &Config,
        data: &Dataset,
        metrics: Option<&str>,
    ) -> Result<CrossValidation, ParamError> {
        let usual = usual_metrics(config, &data.lists);
        let measures = Measure::parse_all(metrics.unwrap_or(&usual), &Policy::default())?;
        Ok(CrossValidation { folds: folds(config, data)?, measures, held: Vec::new(), of_epochs: false })
    }

    /// Divides the data to choose the number of epochs; with `part` only the first fold is held out.
    pub fn of_epochs(config: &Config, data: &Dataset) -> Result<CrossValidation, ParamError> {
        let mut folds = k_folds(FOLDS_OF_EPOCHS, config.seed(), data)?;
        if config.early_stopping() == ONE_PART {
            folds.truncate(1);
        }
        Ok(CrossValidation { folds, measures: Vec::new(), held: Vec::new(), of_epochs: true })
    }

    /// Trains a model without each fold in turn and scores what was held out. Folds that `files` hold already are not
    /// trained again.
    pub fn run(
        &mut self,
        config: &Config,
        (data, valid): (&Dataset, Option<&Arc<Dataset>>),
        files: Option<&FoldFiles>,
        workers: &Workers,
        callbacks: &mut dyn Callbacks,
    ) -> Result<(), TrainError> {
        let inputs = fingerprint::of_examples(examples(data), valid.map(|valid| examples(valid)));
        let watched = match (self.of_epochs, valid) {
            (true, _) => Watched::HeldOut,
            (false, Some(valid)) => Watched::Valid(valid),
            (false, None) => Watched::SetAside,
        };
        for fold in &self.folds {
            let mut part = format!("fold {} of {}", fold.number, self.folds.len());
            if self.of_epochs {
                part = format!("number of epochs, {part}");
            }
            self.held.push(fold.run(config, (data, watched, &inputs), files, (&part, workers), callbacks)?);
        }
        Ok(())
    }

    /// How many epochs the model on all rows is trained for, which has nothing to stop it early, and the mean value of the metric of
    /// validation after so many. `None`: no fold was validated.
    pub fn best_epoch(&self, better: Better) -> Option<(u32, f64)> {
        let curves: Vec<&[f64]> =
            self.held.iter().map(|held| &*held.curve).filter(|curve| !curve.is_empty()).collect();
        best_of_mean(&curves, better)
    }

    /// The trees of every fold, at most so many rounds of them, where the model is an average with them.
    pub fn take_trees(&mut self, rounds: u32) -> Vec<Ensemble> {
        let mut kept: Vec<Ensemble> = self.held.iter_mut().filter_map(|held| held.trees.take()).collect();
        for trees in &mut kept {
            trees.truncate(rounds as usize);
        }
        kept
    }

    /// True if only the number of epochs is wanted.
    pub fn is_of_epochs(&self) -> bool {
        self.of_epochs
    }

    /// The results on the scale of the kept model, whose scores of the training data `lists` are given.
    pub fn results(&self, lists: &Lists, kept: &[f64]) -> Result<FoldResults, TrainError> {
        let scores = out_of_fold(lists, &self.folds, &self.held, &Scale::of(lists, kept));
        Ok(FoldResults {
            metrics: evaluate_folds(lists, &self.folds, &scores, &self.measures)?,
            sizes: self.folds.iter().map(Fold::size).collect(),
            scores,
        })
    }
}

impl Fold {
    /// Trains without the fold and scores it, or reads what was done before.
    fn run(
        &self,
        config: &Config,
        (data, watched, inputs): (&Dataset, Watched, &Fingerprint),
        files: Option<&FoldFiles>,
        (part, workers): (&str, &Workers),
        callbacks: &mut dyn Callbacks,
    ) -> Result<Held, TrainError> {
        let done = files.map(|files| files.folder.join(format!("fold{}", self.number)));
        if let Some(done) = done.as_deref().filter(|done| done.exists()) {
            return Held::load(done, self, config, inputs);
        }
        let mut job = self.job(config, data, watched)?;
        job.train_among(workers);
        let views = job.views()?;
        let mut learner = job.trainer(&views)?;
        let checkpoint = done.as_deref().map(|done| beside(done, ".checkpoint"));
        let checkpoints = checkpoint.as_deref().zip(files);
        let checkpoints =
            checkpoints.map(|(path, files)| Checkpoints { path, every: files.every, origin: &Value::Null });
        let resume = checkpoint.as_deref().filter(|path| path.exists());
        if resume_and_run(&mut *learner, part, resume, checkpoints, callbacks)? == Outcome::Interrupted {
            return Err(TrainError::Interrupted { step: learner.steps_done(), steps: learner.steps() });
        }
        let held = self.held(&job, &*learner, &views, data)?;
        if let (Some(done), Some(checkpoint)) = (&done, &checkpoint) {
            held.save(done, self, config, inputs)?;
            std::fs::remove_file(checkpoint)
                .map_err(|error| ReadError::io(&checkpoint.display().to_string(), &error))?;
        }
        Ok(held)
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::Policy;
    use toprank_data::Matrix;

    use super::*;
    use crate::{Settings, TrainerKind};

    fn config(k: u32) -> Config {
        Settings { folds: Some(k), ..Settings::default() }.resolve(TrainerKind::Rank).unwrap()
    }

    /// 40 rows, 8 of them relevant.
    fn binary() -> Dataset {
        let labels: Vec<f32> = (0..40).map(|row| f32::from(u8::from(row % 5 == 0))).collect();
        Dataset {
            lists: Lists::from_lengths(&[40], labels),
            features: Matrix::Dense { width: 1, values: (0..40).map(|row| row as f32).collect() },
            ..Dataset::default()
        }
    }

    /// Models of different offset and scale that agree on the order.
    fn held(data: &Dataset, folds: &[Fold], scale: impl Fn(u32) -> (f64, f64)) -> Vec<Held> {
        let truth: Vec<f64> =
            (0..40).map(|row| f64::from(row * 7 % 11) + 3.0 * f64::from(u8::from(row % 5 == 0))).collect();
        let of = |fold: &Fold| {
            let (factor, offset) = scale(fold.number);
            let score = |entry: u64| factor * truth[entry as usize] + offset;
            let train: Vec<f64> = fold.train.entries(data).into_iter().map(score).collect();
            Held {
                scores: fold.test.entries(data).into_iter().map(score).collect(),
                scales: Scale::of(&fold.train.take(data).lists, &train),
                curve: (0..6).map(|epoch| -f64::from(fold.number.abs_diff(epoch))).collect(),
                trees: None,
            }
        };
        folds.iter().map(of).collect()
    }

    #[test]
    fn folds_are_stratified_and_hold_out_everything_once() {
        let data = binary();
        let folds = folds(&config(4), &data).unwrap();
        assert_eq!(folds.iter().map(|fold| fold.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
        let mut all = Vec::new();
        for fold in &folds {
            let test = fold.test.take(&data);
            assert_eq!(test.lists.labels.iter().filter(|y| **y > 0.0).count(), 2);
            all.extend(fold.test.entries(&data));
        }
        all.sort_unstable();
        assert_eq!(all, (0..40).collect::<Vec<u64>>());
    }

    #[test]
    fn nothing_is_set_aside_where_a_class_would_be_missing() {
        let mut data = binary();
        let all = |data: &Dataset| Part {
            name: "all".into(),
            pick: split::Pick::Lists((0..data.lists.len() as u32).collect()),
        };
        let aside = |data: &Dataset| set_aside(&config(2), data, &all(data)).is_some();
        assert!(aside(&data));
        // One relevant row is in one part only, so that the other has nothing to learn or to evaluate.
        data.lists.labels = (0..40).map(|row| f32::from(u8::from(row == 7))).collect();
        assert!(!aside(&data));
        // Data of one class are refused elsewhere, and queries have many lists.
        data.lists.labels.fill(0.0);
        assert!(aside(&data));
        data.lists =
            Lists::from_lengths(&[10; 4], (0..40).map(|row| f32::from(u8::from(row == 7))).collect());
        assert!(aside(&data));
    }

    #[test]
    fn folds_stop_early_on_a_part_that_is_neither_trained_on_nor_held_out() {
        let data = binary();
        let config = Settings { folds: Some(4), model: Some("trees".into()), ..Settings::default() };
        let config = config.resolve(TrainerKind::Rank).unwrap();
        let folds = folds(&config, &data).unwrap();
        for fold in &folds {
            let job = fold.job(&config, &data, Watched::SetAside).unwrap();
            let (train, valid) = job.into_data();
            let rows = |data: &Data| -> Vec<u32> {
                let Data::Memory(data) = data else { panic!("in memory") };
                (0..data.rows()).map(|row| data.features.get(row, 0) as u32).collect()
            };
            let valid = valid.expect("a part for early stopping");
            let mut all = [rows(&train), rows(&valid)].concat();
            all.extend(fold.entries.iter().map(|&entry| entry as u32));
            all.sort_unstable();
            assert_eq!(all, (0..40).collect::<Vec<u32>>(), "every row is in one of the three");
            assert!(valid.lists().labels.iter().any(|label| *label > 0.0));
        }
        let never = config.with(Settings { patience: Some(0), ..Settings::default() });
        assert!(folds[0].job(&never, &data, Watched::SetAside).unwrap().into_data().1.is_none());
        let held = held(&data, &folds, |_| (1.0, 0.0));
        let validation = CrossValidation { folds, measures: Vec::new(), held, of_epochs: false };
        // The curves are −|fold − epoch| for epochs 0 … 5: folds 1 to 4 agree best on the epochs 2 and 3, the third and fourth.
        assert_eq!(validation.best_epoch(Better::Higher), Some((3, -1.0)));
    }

    #[test]
    fn the_number_of_epochs_is_best_in_the_mean_of_the_curves() {
        let best = |curves: &[&[f64]]| best_of_mean(curves, Better::Higher);
        // A fold that stopped early counts with its last value; an undefined one does not count.
        assert_eq!(best(&[&[0.1, 0.5, 0.4], &[0.2, 0.3, 0.5, 0.7], &[f64::NAN; 4]]), Some((4, 0.55)));
        assert_eq!(best(&[&[0.5, 0.5]]), Some((1, 0.5)), "of equal epochs the first");
        assert_eq!(best_of_mean(&[&[0.5, 0.25]], Better::Lower), Some((2, 0.25)));
        assert_eq!(best(&[&[f64::NAN]]), None);
        assert_eq!(best(&[]), None);
    }

    #[test]
    fn offset_and_scale_of_a_folds_model_do_not_matter() {
        let data = binary();
        let folds = folds(&config(5), &data).unwrap();
        let kept = [Scale { mean: 3.0, spread: 0.5 }];
        let plain = out_of_fold(&data.lists, &folds, &held(&data, &folds, |_| (1.0, 0.0)), &kept);
        let moved = held(&data, &folds, |k| (10f64.powi(k as i32 - 3), 100.0 * f64::from(k)));
        let moved = out_of_fold(&data.lists, &folds, &moved, &kept);
        assert!(plain.iter().zip(&moved).all(|(a, b)| (a - b).abs() < 1e-9));
        let mean = plain.iter().sum::<f64>() / 40.0;
        assert!((mean - 3.0).abs() < 0.2, "on the scale of the kept model: {mean}");
        let constant = Scale { mean: 2.0, spread: 0.0 };
        assert_eq!(constant.to(kept[0], 2.0), 3.0);
    }

    #[test]
    fn results_are_those_of_the_folds_and_of_all_together() {
        let data = binary();
        let folds = folds(&config(4), &data).unwrap();
        let scores = out_of_fold(&data.lists, &folds, &held(&data, &folds, |_| (1.0, 0.0)), &[]);
        let measures = Measure::parse_all("auroc,p@3", &Policy::default()).unwrap();
        let found = evaluate_folds(&data.lists, &folds, &scores, &measures).unwrap();
        let whole = evaluate(&data.lists, &scores, &measures).unwrap();
        assert_eq!(found[0].metric, "auroc");
        assert_eq!(found[0].pooled, whole.results[0].mean);
        let values: Vec<f64> = found[0].folds.iter().map(|value| value.unwrap()).collect();
        assert_eq!(found[0].mean, Some(values.iter().sum::<f64>() / 4.0));
        let first: Vec<usize> =
            folds[0].test.entries(&data).into_iter().map(|entry| entry as usize).collect();
        let pairs = first.iter().flat_map(|i| first.iter().map(move |j| (*i, *j)));
        let (mut won, mut all) = (0.0, 0.0);
        for (i, j) in pairs.filter(|(i, j)| i % 5 == 0 && j % 5 != 0) {
            all += 1.0;
            won += if scores[i] > scores[j] {
                1.0
            } else if scores[i] == scores[j] {
                0.5
            } else {
                0.0
            };
        }
        assert!((values[0] - won / all).abs() < 1e-12);
    }

    #[test]
    fn a_fold_comes_back_as_it_was_and_another_run_does_not_take_it() {
        let data = binary();
        let config = config(4);
        let folds = folds(&config, &data).unwrap();
        let held = held(&data, &folds, |_| (1.0, 0.5));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fold1");
        let inputs = |data: &Dataset, valid: Option<&Dataset>| {
            fingerprint::of_examples(examples(data), valid.map(examples))
        };
        let here = inputs(&data, None);
        held[0].save(&path, &folds[0], &config, &here).unwrap();
        assert_eq!(Held::load(&path, &folds[0], &config, &here).unwrap(), held[0]);
        let other = config.with(Settings { seed: Some(2), ..Settings::default() });
        assert!(Held::load(&path, &folds[0], &other, &here).is_err());
        assert!(Held::load(&path, &folds[1], &config, &here).is_err());
        let mut changed = binary();
        changed.lists.labels[1] = 1.0;
        let error = |inputs| Held::load(&path, &folds[0], &config, &inputs).unwrap_err().to_string();
        assert!(error(inputs(&changed, None)).contains("the training data changed"));
        assert!(error(inputs(&data, Some(&changed))).contains("the validation data changed"));
    }
}
