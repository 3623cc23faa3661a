/*!
From data to a finished model: folds, the model itself, calibration. The command and Python call the same function.

```text
folds (k models, each without one fold) ─▶ the model on all rows ─▶ calibration on out-of-fold or validation scores
```

Without validation data and without folds the number of epochs is chosen by folds of its own, as the setting `early-stopping` says. With
`average` the models of these folds are kept: the model is the mean of theirs and the one on all rows (bagging, Breiman 1996).
*/

use std::sync::Arc;

use toprank_core::collective::Threads;
use toprank_core::{Lists, ParamError};
use toprank_data::Dataset;
use toprank_data::split::{self, Part};

use super::auto;
use super::calibration::Calibrate;
use super::folds::{CrossValidation, FoldFiles, FoldResults, examples};
use super::job::{Data, Job};
use super::models;
use crate::error::TrainError;
use crate::fit::curve::Record;
use crate::fit::run::{RunFiles, RunLock, beside, checkpoint_of, is_final, run_to_end, save_finished};
use crate::fit::settings::{Config, Settings, TrainerKind};
use crate::fit::training_loop::{Callbacks, Outcome, TrainingLoop};
use crate::fit::tune::Tunable;
use crate::fit::workers::{Traffic, Workers, facts_of};
use crate::store::checkpoint;
use crate::store::fingerprint::{self, Fingerprint, Input};
use crate::store::model_file::Model;

/// A run: what is trained, on what.
pub struct Run<'a> {
    /// The settings.
    pub config: &'a Config,
    /// Training data.
    pub train: Data,
    /// Validation data.
    pub valid: Option<Data>,
    /// A model to warm-start from.
    pub from: Option<&'a Model>,
    /// Metrics that folds are evaluated by; `None`: that of validation and those usual for the data.
    pub fold_metrics: Option<&'a str>,
    /// Where model and checkpoint go; `None`: nothing is written.
    pub files: Option<RunFiles<'a>>,
    /// All workers of the run; the first of them has the files. Each of the others calls [`Run::train`] with the same config and data.
    pub workers: Workers,
}

/// A finished run.
pub struct Trained {
    /// The model, calibrated if it is to be.
    pub model: Model,
    /// How the run ended.
    pub outcome: Outcome,
    /// One record per epoch.
    pub records: Vec<Record>,
    /// What folds measured.
    pub folds: Option<FoldResults>,
    /// The training data, with features as the model sees them.
    pub train: Data,
    /// The validation data, and the scores that the model gives them.
    pub valid: Option<(Data, Vec<f64>)>,
    /// What workers have sent each other.
    pub traffic: Traffic,
    /// The folder of folds, which [`Trained::finish`] removes.
    pub(super) fold_files: Option<FoldFiles>,
}

impl Trained {
    /// Removes checkpoint and folds of a run with files: call it once the model and what stands beside it are written.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn finish(&self, lock: &RunLock) -> Result<(), TrainError> {
        lock.remove_checkpoint()?;
        self.fold_files.as_ref().map_or(Ok(()), FoldFiles::remove)
    }
}

/// The setting `early-stopping` for folds of the training data, and for one part of them.
pub(crate) const FOLDS: &str = "folds";
/// See [`FOLDS`].
pub(crate) const ONE_PART: &str = "part";
/// Folds, whose models are averaged with the one on all rows.
pub(crate) const AVERAGE: &str = "average";

/// True if folds are to choose the number of epochs: nothing else would stop training in time.
fn chooses_epochs(config: &Config, train: &Data, valid: Option<&Data>) -> bool {
    let asked = [FOLDS, ONE_PART, AVERAGE].contains(&config.early_stopping());
    let in_memory = matches!(train, Data::Memory(_));
    asked && config.patience() > 0 && config.folds() == 0 && valid.is_none() && in_memory
}

impl Run<'_> {
    /// Trains. With files, the model is saved; the checkpoint stays until [`Trained::finish`], or for `--resume`.
    ///
    /// # Errors
    /// What stopped the run: settings that do not suit the data, a loss that is not finite, an interruption, a file.
    pub fn train(self, callbacks: &mut dyn Callbacks) -> Result<Trained, TrainError> {
        let workers = self.workers.clone();
        self.check_workers().and_then(|()| self.train_one(callbacks)).map_err(|error| workers.explain(error))
    }

    /// The same by this many workers, which are threads of this process: the model is the same to the byte. For tests of what holds for
    /// workers on several machines; one worker with as many threads is faster.
    ///
    /// # Errors
    /// As for [`Run::train`].
    pub fn train_by(self, size: usize, callbacks: &mut dyn Callbacks) -> Result<Trained, TrainError> {
        let Run { config, from, fold_metrics, .. } = self;
        let mut workers = Threads::new(size).into_iter().map(Workers::new);
        let Some(first) = workers.next() else {
            return Err(ParamError::new("workers", "0", "at least one").into());
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = workers
                .map(|workers| {
                    let (train, valid) = (self.train.clone(), self.valid.clone());
                    let run = Run { config, train, valid, from, fold_metrics, files: None, workers };
                    scope.spawn(move || run.train(&mut ()).map(drop))
                })
                .collect();
            let trained = Run { workers: first, ..self }.train(callbacks);
            let others: Vec<_> = others.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
            // Of one that fails the others only know that it has ended.
            let Err(TrainError::Worker(_)) = trained else { return trained };
            for other in others {
                match other {
                    Err(panic) => std::panic::resume_unwind(panic),
                    Ok(Err(error)) if !matches!(error, TrainError::Worker(_)) => return Err(error),
                    Ok(_) => {}
                }
            }
            trained
        })
    }

    /// Refuses workers that were not given the same, and kinds of models that one worker trains.
    fn check_workers(&self) -> Result<(), TrainError> {
        let Run { config, train, valid, from, workers, .. } = self;
        if workers.is_alone() {
            return Ok(());
        }
        let mut facts = vec![("version".to_string(), env!("CARGO_PKG_VERSION").to_string())];
        facts.extend(facts_of(config));
        for (which, data) in [("", Some(train)), ("validation ", valid.as_ref())] {
            let Some(data) = data else { continue };
            let (lists, features) = (data.lists(), data.features());
            let mut add = |what: &str, value: String| facts.push((format!("{which}{what}"), value));
            add("features", features.width().to_string());
            add("rows", features.rows().to_string());
            add("lists", lists.len().to_string());
            add("labels and weights with the checksum", fingerprint::of_lists(lists));
        }
        if let Some(from) = from {
            let inputs = Fingerprint::default().with(Input::From, |content| from.add_to(content));
            facts.push(("model to warm-start from with the checksum".into(), inputs.to_string()));
        }
        workers.check_same(&facts)?;
        if models::is_auto(config.model()) {
            let expected =
                "trees or a network, which several workers train together; one worker trains a portfolio";
            return Err(ParamError::new("model", config.model(), expected).into());
        }
        Ok(())
    }

    fn train_one(self, callbacks: &mut dyn Callbacks) -> Result<Trained, TrainError> {
        if models::is_auto(self.config.model()) {
            return auto::train(self, callbacks);
        }
        let Run { config, mut train, mut valid, from, fold_metrics, files, workers } = self;
        let calibrate = Calibrate::parse(config.calibrate())?;
        let chooses_epochs = from.is_none() && chooses_epochs(config, &train, valid.as_ref());
        let fold_files = files
            .as_ref()
            // Several workers train all folds anew when they resume: they do not see the files of the first.
            .filter(|_| (config.folds() > 0 || chooses_epochs) && workers.is_alone())
            .map(|files| FoldFiles { folder: beside(files.lock.output(), ".folds"), every: files.every });
        let folds = match config.folds() {
            0 if !chooses_epochs => None,
            k => {
                let data = train.into_memory()?;
                let held_out = valid.map(Data::into_memory).transpose()?.map(Arc::new);
                let mut folds = match k {
                    0 => CrossValidation::of_epochs(config, &data)?,
                    _ => CrossValidation::plan(config, &data, fold_metrics)?,
                };
                if let Some(files) = &files {
                    let (path, resumes) = (checkpoint_of(files.lock.output()), files.lock.resumes());
                    let inputs = fingerprint::of_examples(examples(&data), held_out.as_deref().map(examples));
                    if resumes {
                        checkpoint::check_announced(&path, &inputs)?;
                    }
                    fold_files.as_ref().map_or(Ok(()), |folds| folds.open(resumes))?;
                    if !resumes {
                        checkpoint::announce(&path, config, files.origin, inputs)?;
                    }
                }
                let done =
                    folds.run(config, (&data, held_out.as_ref()), fold_files.as_ref(), &workers, callbacks);
                let done = done.map_err(|error| workers.explain(error));
                if let (true, Some(files)) = (done.as_ref().is_err_and(is_final), &files) {
                    files.lock.remove_checkpoint()?;
                    fold_files.as_ref().map_or(Ok(()), FoldFiles::remove)?;
                }
                done?;
                (train, valid) = (data.into(), held_out.map(Data::Memory));
                Some(folds)
            }
        };
        let mut job = match from {
            None => Job::new(config, train, valid)?,
            Some(from) => Job::warm_started(config, from, train, valid)?,
        };
        job.train_among(&workers);
        let mut folds = folds;
        let better = config.measure()?.metric().better();
        if let (Some((epochs, value)), true) =
            (folds.as_ref().and_then(|folds| folds.best_epoch(better)), !job.is_validated())
        {
            job.limit_epochs(epochs);
            job.average_with(folds.as_mut().map(|folds| folds.take_trees(epochs)).unwrap_or_default());
            let metric = config.valid_metric();
            let words = if job.is_of_trees() { "boosting rounds" } else { "epochs" };
            callbacks.note(&format!(
                "{words} of the model on all rows: {epochs}, best on held-out parts ({metric} {value:.4})"
            ));
        }
        let folds = folds.filter(|folds| !folds.is_of_epochs());
        let views = job.views()?;
        let mut learner = job.trainer(&views)?;
        let outcome = run_to_end(&mut *learner, files.as_ref(), callbacks, &mut |learner| match files {
            Some(files) => job.model(learner)?.save(files.lock.output()),
            None => Ok(()),
        })?;
        let model = job.model(&*learner)?;
        let (outputs, lists) = (model.header().outputs, job.train().lists());
        let valid_scores = job.valid_scores(&mut *learner, &views)?;
        let results = match &folds {
            None => None,
            Some(folds) => Some(folds.results(lists, &job.train_scores(&*learner, &views)?)?),
        };
        let calibration = match (&results, &valid_scores) {
            _ if model.is_multiclass() => Vec::new(),
            (Some(results), _) => calibrate.fit(lists, &results.scores, outputs)?,
            (None, Some((lists, scores))) => calibrate.fit(lists, scores, outputs)?,
            (None, None) => Vec::new(),
        };
        let model = model.with_calibration(calibration);
        if let Some(files) = &files {
            save_finished(files, || model.save(files.lock.output()))?;
        }
        let (valid_scores, records) = (valid_scores.map(|(_, scores)| scores), learner.records().to_vec());
        drop(learner);
        drop(views);
        let (train, valid) = job.into_data();
        Ok(Trained {
            traffic: workers.traffic(),
            fold_files,
            valid: valid.zip(valid_scores),
            folds: results,
            train,
            model,
            outcome,
            records,
        })
    }
}

/// What models that rank are tuned on: training data with validation data, or with folds where there are none.
pub struct TuningData {
    train: Arc<Dataset>,
    valid: Option<Arc<Dataset>>,
    /// Train and test, taken out of the training data one after the other.
    folds: Vec<[Part; 2]>,
    /// What is trained on first, which decides the defaults that depend on the data.
    lists: Lists,
    inputs: Fingerprint,
}

impl TuningData {
    /// The validation data, or folds of the training data where there are none.
    ///
    /// # Errors
    /// If there are fewer lists than folds.
    pub fn new(
        train: Dataset,
        valid: Option<Dataset>,
        folds: u32,
        seed: u64,
    ) -> Result<TuningData, ParamError> {
        let inputs = fingerprint::of_examples(examples(&train), valid.as_ref().map(examples));
        let folds = match valid {
            Some(_) => Vec::new(),
            None => split::k_fold(&train.lists, train.rows(), folds as usize, seed)?,
        };
        let lists = folds.first().map_or_else(|| train.lists.clone(), |[part, _]| part.lists(&train));
        Ok(TuningData { train: train.into(), valid: valid.map(Arc::new), folds, lists, inputs })
    }
}

impl Tunable for TuningData {
    fn config(&self, settings: &Settings) -> Result<Config, ParamError> {
        settings.resolve(TrainerKind::Rank)?.suited_to(&self.lists)
    }

    fn fingerprint(&self) -> Fingerprint {
        self.inputs.clone()
    }

    fn train(
        &self,
        config: &Config,
        each: &mut dyn FnMut(&mut dyn TrainingLoop) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        let mut run = |train: Data, valid: Data| {
            let job = Job::new(config, train, Some(valid))?;
            let views = job.views()?;
            each(&mut *job.trainer(&views)?)
        };
        if let Some(valid) = &self.valid {
            return run(Data::Memory(Arc::clone(&self.train)), Data::Memory(Arc::clone(valid)));
        }
        for [train, test] in &self.folds {
            run(train.take(&self.train).into(), test.take(&self.train).into())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::Stream;
    use toprank_data::Matrix;
    use toprank_trees::Ensemble;

    use super::*;

    /// One list whose relevant rows have a greater first feature, with noise.
    fn data(rows: usize) -> Dataset {
        let mut random = Stream::new(1, "averages").open();
        let values: Vec<f32> = (0..rows * 2).map(|_| random.unit() as f32).collect();
        let labels = (0..rows)
            .map(|row| f32::from(u8::from(f64::from(values[2 * row]) + random.unit() > 1.3)))
            .collect();
        Dataset {
            lists: Lists::from_lengths(&[rows], labels),
            features: Matrix::Dense { width: 2, values },
            ..Dataset::default()
        }
    }

    fn trees(early_stopping: &str) -> Ensemble {
        let settings = Settings {
            model: Some("trees".into()),
            objective: Some("auprc".into()),
            early_stopping: Some(early_stopping.into()),
            ..Settings::default()
        };
        let data = data(120);
        let config = settings.resolve(TrainerKind::Rank).unwrap().suited_to(&data.lists).unwrap();
        let run = Run {
            config: &config,
            train: data.into(),
            valid: None,
            from: None,
            fold_metrics: None,
            files: None,
            workers: Workers::default(),
        };
        run.train(&mut ()).unwrap().model.scoring().trees().unwrap().ensemble().clone()
    }

    #[test]
    fn an_average_is_the_mean_of_the_model_on_all_rows_and_those_of_the_folds() {
        let (alone, mean) = (trees("folds"), trees("average"));
        let rounds = alone.rounds();
        assert!(mean.rounds() > rounds && mean.rounds() <= 6 * rounds, "{} of {rounds}", mean.rounds());
        for (own, shared) in alone.trees.iter().zip(&mean.trees) {
            assert_eq!(own.nodes.len(), shared.nodes.len());
            for (leaf, part) in own.leaves.iter().zip(&shared.leaves) {
                assert!((leaf / 6.0 - part).abs() < 1e-12, "a sixth of the mean is the model on all rows");
            }
        }
        assert_eq!(trees("average").trees, mean.trees);
    }
}
