//! Training one run and evaluating it, for each kind of task.

use std::time::Instant;

use toprank::core::{Lists, Policy};
use toprank::metrics::{Evaluation, Measure, evaluate};
use toprank::objectives::{Batch, Goal, GoalError, Gradients};
use toprank::train::recommend::{self, Interactions, Part};
use toprank::train::{
    Callbacks, Config, Job, Outcome as End, Record, Settings, TrainError, TrainerKind, TrainingLoop,
};

use super::Run;
use super::curves::Point;
use super::data::Data;
use super::plan::Plan;
use crate::common::{Outcome, mean};

/// What a run reached.
pub struct Reached {
    /// The best value on validation data; `None` if training diverged.
    pub valid: Option<f64>,
    /// The epoch, or round, of the kept model.
    pub epoch: u64,
    pub seconds: f64,
    /// The learning curve, where the plan asks for one.
    pub curve: Vec<Point>,
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
    let Trained { best, curve, evaluation } = trained;
    let (valid, epoch) = best.map_or((None, 0), |(valid, epoch)| (Some(valid), epoch));
    let test = evaluation.map_or(Vec::new(), |evaluation| {
        let results = evaluation.results.into_iter();
        // Seven digits are enough for a paired test, and keep the file small.
        let lists = |values: Vec<f64>| {
            values.into_iter().map(|v| (!v.is_nan()).then(|| (v * 1e7).round() / 1e7)).collect()
        };
        results.map(|result| (result.name, result.mean, lists(result.per_list))).collect()
    });
    let seconds = (started.elapsed().as_secs_f64() * 10.0).round() / 10.0;
    Ok(Reached { valid, epoch, seconds, curve, test })
}

/// A model after training.
struct Trained {
    /// The best value on validation data with its epoch; `None`: training diverged.
    best: Option<(f64, u64)>,
    curve: Vec<Point>,
    /// Of the test data, where it was asked for and training did not diverge.
    evaluation: Option<Evaluation>,
}

impl Trained {
    /// What `learned` says, and the test data's evaluation if the run has one.
    fn new(learned: Learned, run: &Run, of_test: impl FnOnce() -> Outcome<Evaluation>) -> Outcome<Trained> {
        let Learned { best, curve } = learned;
        let evaluation = (run.test && best.is_some()).then(of_test).transpose()?;
        Ok(Trained { best, curve, evaluation })
    }
}

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
    let followed = plan.curves.as_ref().and_then(|curves| curves.objective.as_deref());
    let followed = followed.map(|text| Goal::parse(text, &Policy::default())).transpose()?;
    let learned = learned(plan, &mut *trainer, |trainer| {
        let Some(goal) = &followed else { return Ok(None) };
        let lists = job.train().lists();
        whole_loss(goal, lists, &job.present_train_scores(trainer, &views)?)
    })?;
    Trained::new(learned, run, || {
        let scores = job.model(&*trainer)?.score(test.clone())?;
        Ok(evaluate(&test.lists, &scores, measures)?)
    })
}

fn interactions(plan: &Plan, run: &Run, data: &Interactions, measures: &[Measure]) -> Outcome<Trained> {
    let config = settings(plan, run)?.resolve(TrainerKind::Recommend)?;
    let mut trainer = recommend::Trainer::new(&config, data)?;
    let learned = learned(plan, &mut trainer, |_| Ok(None))?;
    Trained::new(learned, run, || {
        Ok(trainer.recommender()?.evaluate(Part::Test, measures, false, None, 10)?.evaluation)
    })
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
    let learned = learned(plan, &mut trainer, |_| Ok(None))?;
    Trained::new(learned, run, || {
        let vectors = trainer.embedder().embed("test", test.data.clone(), 0.0)?;
        Ok(Search { queries: &vectors, gallery: None }.evaluate(&test.of_rows(), &[], measures)?)
    })
}

/// How training went.
struct Learned {
    /// The best value on validation data and its epoch; `None` if training diverged.
    best: Option<(f64, u64)>,
    curve: Vec<Point>,
}

/// Stops training after every so many epochs.
struct Pause {
    every: u32,
    epochs: u32,
}

impl Callbacks for Pause {
    fn epoch(&mut self, _: &Record) {
        self.epochs += 1;
    }

    fn stop(&mut self) -> bool {
        self.epochs == self.every
    }
}

/// Trains to the end; `follow` gives the loss of the objective that is followed, at every point of a curve.
fn learned<T: TrainingLoop + ?Sized>(
    plan: &Plan,
    trainer: &mut T,
    follow: impl Fn(&T) -> Outcome<Option<f64>>,
) -> Outcome<Learned> {
    let Some(curves) = &plan.curves else {
        return Ok(Learned {
            best: finish(trainer, &mut ())?.map(|_| best(trainer)).transpose()?,
            curve: Vec::new(),
        });
    };
    let start = Point { epoch: 0.0, step: 0, loss: None, followed: follow(trainer)?, valid: None };
    let mut curve = vec![start];
    loop {
        let before = trainer.records().len();
        let Some(outcome) = finish(trainer, &mut Pause { every: curves.every, epochs: 0 })? else {
            return Ok(Learned { best: None, curve });
        };
        let records = &trainer.records()[before..];
        let losses: Vec<f64> = records.iter().map(|record| record.loss).collect();
        if let Some(last) = records.last() {
            let valid = last.metrics.first().copied().flatten();
            let (epoch, step) = (last.epoch, last.step);
            curve.push(Point { epoch, step, loss: Some(mean(&losses)), followed: follow(trainer)?, valid });
        }
        if outcome != End::Interrupted {
            return Ok(Learned { best: Some(best(trainer)?), curve });
        }
    }
}

/// Trains until all is done or the callbacks stop it; `None` if training diverged.
fn finish<T: TrainingLoop + ?Sized>(trainer: &mut T, callbacks: &mut dyn Callbacks) -> Outcome<Option<End>> {
    match trainer.run(callbacks, None) {
        Err(TrainError::NotFinite { .. }) => Ok(None),
        Err(error) => Err(error.into()),
        Ok(outcome) => Ok(Some(outcome)),
    }
}

/// The best value on validation data and its epoch.
fn best<T: TrainingLoop + ?Sized>(trainer: &T) -> Outcome<(f64, u64)> {
    let (value, epoch) = trainer.best().ok_or("training ended without a validated model")?;
    Ok((value, u64::from(epoch)))
}

/// The loss of an objective over whole lists, with no memory of earlier scores; `None` if it is not finite.
fn whole_loss(goal: &Goal, lists: &Lists, scores: &[f64]) -> Outcome<Option<f64>> {
    let mut out = Gradients::default();
    match goal.step(&Batch::all(lists, scores), &mut goal.state(lists)?, &mut out) {
        Ok(()) => Ok(Some(out.loss)),
        Err(GoalError::NotFinite { .. } | GoalError::Score { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The settings of a run; the metric of validation and the seed are those of the plan.
pub fn settings(plan: &Plan, run: &Run) -> Outcome<Settings> {
    let tried = Settings::from_toml(&toml::to_string(&run.settings)?)?;
    let base =
        Settings { valid_metric: Some(plan.metric.clone()), seed: Some(run.seed), ..Settings::default() };
    Ok(tried.over(base))
}
