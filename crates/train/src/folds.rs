/*!
Cross-validation: k models, each trained without one fold and judged on it; then the kept model is trained on all rows.

Binary data are folded by rows with each label in its share, multi-label data so for every label, queries by list.
Every entry gets one **out-of-fold score**, from the model that did not learn from it.

**One scale.** An objective that learns an order leaves offset and scale of scores open, so models of different folds cannot be
pooled as they are. Each model's scores are therefore standardised by mean and spread of its own training scores and put on the
scale of the kept model:

```text
s' = (s − mean_k)/spread_k · spread + mean          k: the fold's model on its training rows; without k: the kept model
```

No order within a fold changes. Pooled metrics, a calibration and a threshold that is found on out-of-fold scores hold for the
kept model's scores.

**Crash-safe.** [`Held`] is what remains of a fold; it is saved when the fold is done and taken up if the same config and data
ask for it.
*/

use std::path::Path;

use serde::{Deserialize, Serialize};
use toprank_core::{Lists, ParamError, Spec};
use toprank_data::Dataset;
use toprank_data::split::{self, Part};
use toprank_metrics::{EvaluateError, Measure, evaluate};

use crate::checkpoint::fingerprint;
use crate::config::Config;
use crate::container::{self, Loaded, Tensor, Values};
use crate::engine::Examples;
use crate::error::TrainError;
use crate::job::{Data, Job, Views};
use crate::learner::Learner;

const KIND: &str = "fold";

/// One fold: what is learned from and what is held out.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// Its number, from 1.
    pub number: u32,
    train: Part,
    test: Part,
}

/// The `config.folds` folds of `data`, a function of data and seed.
pub fn folds(config: &Config, data: &Dataset) -> Result<Vec<Fold>, ParamError> {
    let spec = Spec::parse(&format!("k-fold:k={}", config.folds))?;
    let mut parts = split::plan(data, &spec, config.seed)?.into_iter();
    let mut folds = Vec::new();
    while let (Some(train), Some(test)) = (parts.next(), parts.next()) {
        folds.push(Fold { number: folds.len() as u32 + 1, train, test });
    }
    Ok(folds)
}

impl Fold {
    /// The job that learns from the other folds; `valid` may stop it early, the held-out fold never does.
    pub fn job(&self, config: &Config, data: &Dataset, valid: Option<&Dataset>) -> Result<Job, TrainError> {
        Job::new(config, self.train.take(data).into(), valid.cloned().map(Data::from))
    }

    /// Held-out items, and how many of them are relevant.
    pub fn size(&self, data: &Dataset) -> (usize, usize) {
        let entries = self.test.entries(data);
        let relevant = entries.iter().filter(|&&entry| data.lists.labels[entry as usize] > 0.0);
        (entries.len(), relevant.count())
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
        Ok(Held { scores, scales })
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
}

/// Which fold of what a file is of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    config: Config,
    data: String,
    fold: u32,
}

impl Header {
    fn of(fold: &Fold, config: &Config, data: &Dataset) -> Header {
        let data = fingerprint(Examples { lists: &data.lists, features: data });
        Header { config: config.clone(), data, fold: fold.number }
    }
}

impl Held {
    /// Writes it; the old file stays until the new one is whole.
    pub fn save(&self, path: &Path, fold: &Fold, config: &Config, data: &Dataset) -> Result<(), TrainError> {
        let scales: Vec<f64> = self.scales.iter().flat_map(|scale| [scale.mean, scale.spread]).collect();
        let tensors =
            [Tensor::flat("scores", Values::F64(&self.scores)), Tensor::flat("scales", Values::F64(&scales))];
        container::save(path, KIND, &Header::of(fold, config, data), &tensors)
    }

    /// Reads what [`Held::save`] wrote for the same fold, config and data.
    pub fn load(path: &Path, fold: &Fold, config: &Config, data: &Dataset) -> Result<Held, TrainError> {
        let loaded: Loaded<Header> = container::load(path, KIND)?;
        if loaded.header != Header::of(fold, config, data) {
            let expected = "the config and the data it was started with; start a new run";
            return Err(loaded.wrong("a fold of another run", expected));
        }
        let (scores, scales) = (loaded.f64("scores")?, loaded.f64("scales")?);
        let scales: Vec<Scale> =
            scales.chunks_exact(2).map(|pair| Scale { mean: pair[0], spread: pair[1] }).collect();
        let held = Held { scores, scales };
        if held.scores.len() != fold.test.entries(data).len() {
            return Err(loaded.wrong(format!("{} scores", held.scores.len()), "one per held-out item"));
        }
        Ok(held)
    }
}

/// The out-of-fold score of every entry, on the scale of the kept model.
pub fn out_of_fold(data: &Dataset, folds: &[Fold], held: &[Held], kept: &[Scale]) -> Vec<f64> {
    let lists = &data.lists;
    let mut scores = vec![f64::NAN; lists.entries()];
    let mut output_of = vec![0; lists.entries()];
    if let Some(output) = &lists.output {
        (0..lists.len()).for_each(|q| output_of[lists.range(q)].fill(usize::from(output[q])));
    }
    for (fold, held) in folds.iter().zip(held) {
        for (entry, &score) in fold.test.entries(data).into_iter().zip(&held.scores) {
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

/// What a cross-validation found for one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
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

/// Judges out-of-fold scores: fold by fold, and all together.
pub fn judge(
    data: &Dataset,
    folds: &[Fold],
    scores: &[f64],
    measures: &[Measure],
) -> Result<Vec<Found>, EvaluateError> {
    let pooled = evaluate(&data.lists, scores, measures)?;
    let mut by_fold = Vec::new();
    for fold in folds {
        let of_fold: Vec<f64> =
            fold.test.entries(data).into_iter().map(|entry| scores[entry as usize]).collect();
        by_fold.push(evaluate(&fold.test.take(data).lists, &of_fold, measures)?);
    }
    let found = |m: usize| {
        let folds: Vec<Option<f64>> = by_fold.iter().map(|fold| fold.results[m].mean).collect();
        let values: Vec<f64> = folds.iter().copied().flatten().collect();
        let count = values.len() as f64;
        let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / count);
        let deviation = mean.filter(|_| values.len() > 1).map(|mean| {
            (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt()
        });
        Found {
            metric: pooled.results[m].name.clone(),
            folds,
            mean,
            deviation,
            pooled: pooled.results[m].mean,
        }
    };
    Ok((0..measures.len()).map(found).collect())
}

#[cfg(test)]
mod tests {
    use toprank_core::Policy;
    use toprank_data::Matrix;

    use super::*;
    use crate::config::Settings;

    fn config(k: u32) -> Config {
        Settings { folds: Some(k), ..Settings::default() }.resolve().unwrap()
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
    fn offset_and_scale_of_a_folds_model_do_not_matter() {
        let data = binary();
        let folds = folds(&config(5), &data).unwrap();
        let kept = [Scale { mean: 3.0, spread: 0.5 }];
        let plain = out_of_fold(&data, &folds, &held(&data, &folds, |_| (1.0, 0.0)), &kept);
        let moved = held(&data, &folds, |k| (10f64.powi(k as i32 - 3), 100.0 * f64::from(k)));
        let moved = out_of_fold(&data, &folds, &moved, &kept);
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
        let scores = out_of_fold(&data, &folds, &held(&data, &folds, |_| (1.0, 0.0)), &[]);
        let measures = Measure::parse_all("auroc,p@3", &Policy::default()).unwrap();
        let found = judge(&data, &folds, &scores, &measures).unwrap();
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
        held[0].save(&path, &folds[0], &config, &data).unwrap();
        assert_eq!(Held::load(&path, &folds[0], &config, &data).unwrap(), held[0]);
        let other = Config { seed: 2, ..config.clone() };
        assert!(Held::load(&path, &folds[0], &other, &data).is_err());
        assert!(Held::load(&path, &folds[1], &config, &data).is_err());
        let mut changed = binary();
        changed.lists.labels[1] = 1.0;
        assert!(Held::load(&path, &folds[0], &config, &changed).is_err());
    }
}
