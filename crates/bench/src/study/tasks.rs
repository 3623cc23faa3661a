//! Training one run and evaluating it, for each kind of task.

use std::time::Instant;

use toprank::core::Policy;
use toprank::metrics::{Evaluation, Measure, evaluate};
use toprank::train::recommend::{self, Interactions, Part};
use toprank::train::{Config, Job, Settings, TrainError, TrainerKind, TrainingLoop};

use super::Run;
use super::data::Data;
use super::plan::Plan;
use crate::common::Outcome;

/// What a run reached.
pub struct Reached {
    /// The best value on validation data; `None` if training diverged.
    pub valid: Option<f64>,
    /// The epoch, or round, of the kept model.
    pub epoch: u64,
    pub seconds: f64,
    /// Each reported metric on test data: its name, mean and values by list. Empty in a try.
    pub test: Vec<(String, Option<f64>, Vec<Option<f64>>)>,
}

/// Trains a run, and evaluates the test data if it is to.
pub fn train(plan: &Plan, run: &Run, data: &Data) -> Outcome<Reached> {
    let started = Instant::now();
    let measures = Measure::parse_all(&plan.report, &Policy::default())?;
    let trained = match data {
        Data::Rank(parts) => rank(plan, run, parts, &measures),
        Data::Recommend(data) => interactions(plan, run, data, &measures),
        #[cfg(feature = "neural")]
        Data::Embed(parts) => embed(plan, run, parts, &measures),
    }?;
    let ((valid, epoch), evaluation) = match trained {
        Some(((valid, epoch), evaluation)) => ((Some(valid), epoch), evaluation),
        None => ((None, 0), None),
    };
    let test = evaluation.map_or(Vec::new(), |evaluation| {
        let results = evaluation.results.into_iter();
        // Seven digits are enough for a paired test, and keep the file small.
        let lists = |values: Vec<f64>| {
            values.into_iter().map(|v| (!v.is_nan()).then(|| (v * 1e7).round() / 1e7)).collect()
        };
        results.map(|result| (result.name, result.mean, lists(result.per_list))).collect()
    });
    Ok(Reached { valid, epoch, seconds: (started.elapsed().as_secs_f64() * 10.0).round() / 10.0, test })
}

/// The best value on validation data with its epoch, and the test data's evaluation where it was asked for; `None`: diverged.
type Trained = Option<((f64, u64), Option<Evaluation>)>;

fn rank(
    plan: &Plan,
    run: &Run,
    parts: &[toprank::data::Dataset; 3],
    measures: &[Measure],
) -> Outcome<Trained> {
    let [train, valid, test] = parts;
    let config: Config = settings(plan, run)?.resolve(TrainerKind::Rank)?.suited_to(&train.lists)?;
    let job = Job::new(&config, train.clone().into(), Some(valid.clone().into()))?;
    let views = job.views()?;
    let mut trainer = job.trainer(&views)?;
    let Some(best) = learned(&mut *trainer)? else { return Ok(None) };
    let of_test = || -> Outcome<Evaluation> {
        let scores = job.model(&*trainer)?.score(test.clone())?;
        Ok(evaluate(&test.lists, &scores, measures)?)
    };
    Ok(Some((best, run.test.then(of_test).transpose()?)))
}

fn interactions(plan: &Plan, run: &Run, data: &Interactions, measures: &[Measure]) -> Outcome<Trained> {
    let config = settings(plan, run)?.resolve(TrainerKind::Recommend)?;
    let mut trainer = recommend::Trainer::new(&config, data)?;
    let Some(best) = learned(&mut trainer)? else { return Ok(None) };
    let of_test = || -> Outcome<Evaluation> {
        Ok(trainer.recommender()?.evaluate(Part::Test, measures, false, None, 10)?.evaluation)
    };
    Ok(Some((best, run.test.then(of_test).transpose()?)))
}

#[cfg(feature = "neural")]
fn embed(
    plan: &Plan,
    run: &Run,
    parts: &[toprank::train::embed::Classes; 3],
    measures: &[Measure],
) -> Outcome<Trained> {
    use toprank::train::embed::{Prepared, Search, Trainer};
    let [train, valid, test] = parts;
    let config = settings(plan, run)?.resolve(TrainerKind::Embed)?;
    let prepared = Prepared::new(&config, train.clone(), Some(valid.clone()), &[])?;
    let mut trainer = Trainer::new(&config, &prepared)?;
    let Some(best) = learned(&mut trainer)? else { return Ok(None) };
    let of_test = || -> Outcome<Evaluation> {
        let vectors = trainer.embedder().embed("test", test.data.clone(), 0.0)?;
        Ok(Search { queries: &vectors, gallery: None }.evaluate(&test.of_rows(), &[], measures)?)
    };
    Ok(Some((best, run.test.then(of_test).transpose()?)))
}

/// Trains to the end; the best value on validation data and its epoch, or `None` if training diverged.
fn learned(trainer: &mut (impl TrainingLoop + ?Sized)) -> Outcome<Option<(f64, u64)>> {
    match trainer.run(&mut (), None) {
        Err(TrainError::NotFinite { .. }) => Ok(None),
        Err(error) => Err(error.into()),
        Ok(_) => {
            let (value, epoch) = trainer.best().ok_or("training ended without a validated model")?;
            Ok(Some((value, u64::from(epoch))))
        }
    }
}

/// The settings of a run; the metric of validation and the seed are those of the plan.
fn settings(plan: &Plan, run: &Run) -> Outcome<Settings> {
    let tried = Settings::from_toml(&toml::to_string(&run.settings)?)?;
    let base =
        Settings { valid_metric: Some(plan.metric.clone()), seed: Some(run.seed), ..Settings::default() };
    Ok(tried.over(base))
}
