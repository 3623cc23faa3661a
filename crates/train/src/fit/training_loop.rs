/*!
The loop that every kind of model is trained in, always ready to be stopped and resumed.

```text
each step:   compute ─▶ finite? ─▶ commit                         TrainingLoop::compute, commit
each epoch:  validate ─▶ record ─▶ better? keep ─▶ next stage?    TrainingLoop::validate, keep_best, next_stage
             checkpoint ─▶ stop?                                  Checkpoints, Callbacks::stop
```

Networks, recommenders and embeddings take many steps an epoch; for boosted trees a round, and for the full-batch methods of
walks a step, is an epoch.
*/

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use toprank_core::ParamError;
use toprank_metrics::{Better, EvaluateError, Measure};
use toprank_objectives::GoalError;

use super::curve::Record;
use super::settings::Config;
use super::stages::continues_after_warm_up;
use super::workers::Workers;
use crate::error::TrainError;
use crate::store::checkpoint;
use crate::store::container::{Stored, Tensor};
use crate::store::fingerprint::Fingerprint;

/// Callbacks of a training run; every method may do nothing.
pub trait Callbacks {
    /// A part of the work begins or is resumed: a fold, the final model.
    fn start(&mut self, _start: &Start) {}

    /// After each step.
    fn step(&mut self, _progress: &Progress) {}

    /// After each epoch.
    fn epoch(&mut self, _record: &Record) {}

    /// True after an epoch: that was enough. Training ends as if validation had stopped it, with the best model so far.
    fn enough(&mut self) -> bool {
        false
    }

    /// True: stop after this step; what was done is kept in the checkpoint.
    fn stop(&mut self) -> bool {
        false
    }

    /// A member of `--model auto` is done.
    fn leaderboard(&mut self, _board: &Leaderboard) {}

    /// Something a person should know.
    fn note(&mut self, _text: &str) {}
}

/// No callbacks.
impl Callbacks for () {}

/// How far a run of `--model auto` is.
#[derive(Clone, Debug)]
pub struct Leaderboard<'a> {
    /// The member that is done now.
    pub name: &'a str,
    /// The metric, and its value on the member's scores of held-out data.
    pub metric: &'a str,
    /// `None`: the member is left out.
    pub value: Option<f64>,
    /// The best member so far, and its value.
    pub best: Option<(&'a str, f64)>,
    /// Members done and planned.
    pub members: (usize, usize),
    /// Seconds since the run began.
    pub seconds: f64,
}

/// Where a part of the work begins.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// Its name, such as `fold 2 of 5`; empty for the model itself.
    pub part: &'a str,
    /// Steps done: more than 0 for a resumed run.
    pub step: u64,
    /// The largest number of steps there can be.
    pub steps: u64,
    /// Records of the epochs done.
    pub records: &'a [Record],
}

/// How far training is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Steps done.
    pub step: u64,
    /// The largest number of steps there can be.
    pub steps: u64,
    /// Epochs done.
    pub epoch: u32,
    /// Loss of the last batch.
    pub loss: f64,
    /// The last value of the metric of validation.
    pub metric: Option<f64>,
    /// Learning rate of the last step.
    pub learning_rate: f64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All epochs are done, or the method has converged.
    Finished,
    /// Validation did not improve for as long as `patience` says.
    StoppedEarly,
    /// [`Callbacks::stop`] asked for it; the checkpoint resumes it.
    Interrupted,
}

/// Where checkpoints go, and how often.
#[derive(Clone, Copy, Debug)]
pub struct Checkpoints<'a> {
    /// The file.
    pub path: &'a Path,
    /// Minimum time between two checkpoints.
    pub every: Duration,
    /// Whatever the caller needs to find its files again; kept as it is.
    pub origin: &'a serde_json::Value,
}

/// Everything that moves and is not an array of numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// Present stage.
    pub(crate) stage: usize,
    /// Steps done in this stage.
    pub(crate) step: u64,
    /// Steps done in all.
    pub(crate) total: u64,
    /// Sums over the steps of the present epoch.
    pub(crate) loss: f64,
    pub(crate) norm: f64,
    pub(crate) without_gradient: u64,
    /// The best validation and the epoch that had it.
    pub(crate) best: Option<(f64, u32)>,
    /// Epochs since then.
    pub(crate) since_best: u32,
    /// True once there is nothing more to do.
    pub(crate) finished: bool,
    /// True once the parameters of the previous step are kept.
    pub(crate) has_previous: bool,
    /// One record per epoch.
    pub(crate) records: Vec<Record>,
}

impl Position {
    /// Notes how validation went after an epoch; true if it was better than ever.
    fn improved(&mut self, measure: &Measure, value: Option<f64>, epoch: u32) -> bool {
        let Some(value) = value else { return false };
        let better = self.best.is_none_or(|(best, _)| match measure.metric().better() {
            Better::Higher => value > best,
            Better::Lower => value < best,
        });
        if better {
            self.best = Some((value, epoch));
            self.since_best = 0;
        } else {
            self.since_best += 1;
        }
        better
    }
}

/// What a step measured before any parameter was changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Computed {
    /// Loss of the batch.
    pub loss: f64,
    /// Norm of the gradient, before clipping.
    pub norm: f64,
    /// Lists of the batch that had no gradient.
    pub without_gradient: usize,
    /// True if the next step will look at the parameters as they are now.
    pub keeps_previous: bool,
}

/// The present stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageLength {
    /// Its steps.
    pub steps: u64,
    /// Steps of one of its epochs.
    pub per_epoch: u64,
    /// True if no stage follows.
    pub is_last: bool,
}

/// What the loop keeps of every run.
pub struct LoopState {
    /// The settings.
    pub(crate) config: Config,
    /// The metric of validation.
    pub(crate) measure: Measure,
    /// How far it is.
    pub(crate) position: Position,
    /// Fewer epochs than the config allows, where it was found how many are best.
    pub(crate) epoch_limit: Option<u32>,
    /// What it was made of beside the data that the trainer sees: names, the model to warm-start from.
    pub(crate) more_inputs: Fingerprint,
    /// All workers of the run.
    pub(crate) workers: Workers,
    /// The fingerprint of everything; a large data set is read once for it.
    inputs: OnceLock<Fingerprint>,
}

impl LoopState {
    /// The state before the first step.
    pub(crate) fn new(config: &Config) -> Result<LoopState, ParamError> {
        config.check()?;
        Ok(LoopState {
            measure: config.measure()?,
            position: Position::default(),
            epoch_limit: None,
            config: config.clone(),
            more_inputs: Fingerprint::default(),
            workers: Workers::default(),
            inputs: OnceLock::new(),
        })
    }
}

/// How many steps there are, and how long each of them is.
pub trait StepPlan {
    /// The largest number of steps there can be.
    fn steps(&self) -> u64;

    /// Number of stages.
    fn stages(&self) -> usize {
        1
    }

    /// The present stage, below [`StepPlan::stages`].
    fn stage(&self, position: &Position) -> StageLength;

    /// Learning rate of the next step.
    fn learning_rate(&self, position: &Position, config: &Config) -> f64;
}

/// A plan in which every step is an epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    pub steps: u64,
    pub learning_rate: f64,
}

impl StepPlan for Rounds {
    fn steps(&self) -> u64 {
        self.steps
    }

    fn stage(&self, _: &Position) -> StageLength {
        StageLength { steps: self.steps, per_epoch: 1, is_last: true }
    }

    fn learning_rate(&self, _: &Position, _: &Config) -> f64 {
        self.learning_rate
    }
}

/// The accessors of a [`TrainingLoop`]: the field of what all loops keep, and the field of its steps.
macro_rules! accessors {
    ($state:ident, $plan:ident) => {
        fn state(&self) -> &$crate::fit::training_loop::LoopState {
            &self.$state
        }

        fn state_mut(&mut self) -> &mut $crate::fit::training_loop::LoopState {
            &mut self.$state
        }

        fn step_plan(&self) -> &dyn $crate::fit::training_loop::StepPlan {
            &self.$plan
        }
    };
}
pub(crate) use accessors;

/// What the loop needs to know of whatever is trained; what it does with it is in the provided methods.
pub trait TrainingLoop {
    /// Settings, metric and position.
    fn state(&self) -> &LoopState;

    /// The same, to be changed by the loop.
    fn state_mut(&mut self) -> &mut LoopState;

    /// Its steps.
    fn step_plan(&self) -> &dyn StepPlan;

    /// Computes the next step without changing a parameter.
    fn compute(&mut self) -> Result<Computed, TrainError>;

    /// Numbers of the lists of the computed batch, for the message that something is not finite.
    fn batch_lists(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Takes the step that was computed.
    fn commit(&mut self, learning_rate: f64) -> Result<(), TrainError>;

    /// The value of the metric of validation now (`None`: undefined on these data, or not measured after this epoch); `None`:
    /// there is nothing to validate on.
    fn validate(&mut self) -> Result<Option<Option<f64>>, TrainError>;

    /// An error if a file that the data are read from while training is not what it was. Called after each epoch, before
    /// anything is kept of it.
    fn check_data(&self) -> Result<(), TrainError> {
        Ok(())
    }

    /// Keeps the present parameters as the best ones.
    fn keep_best(&mut self) -> Result<(), TrainError>;

    /// Goes from one stage to the next.
    fn next_stage(&mut self) -> Result<(), TrainError> {
        Ok(())
    }

    /// True if the method has reached what it wanted.
    fn converged(&self) -> bool {
        false
    }

    /// What a person should know of the finished model, if there is something: that all its scores are the same.
    ///
    /// # Errors
    /// If it cannot be computed.
    fn advice(&self) -> Result<Option<String>, TrainError> {
        Ok(None)
    }

    /// Epochs of the model that it was warm-started from.
    fn epochs_before(&self) -> u32 {
        0
    }

    /// The fingerprint of the data that it reads.
    fn fingerprint(&self) -> Fingerprint;

    /// All arrays that move.
    fn tensors(&self) -> Vec<Tensor<'_>>;

    /// Takes them over from a checkpoint, which is of this config and these data.
    fn restore(&mut self, stored: &Stored, position: &Position) -> Result<(), TrainError>;

    /// The fingerprint of everything that it was made of: a checkpoint resumes only with the same.
    fn inputs(&self) -> &Fingerprint {
        let state = self.state();
        state.inputs.get_or_init(|| self.fingerprint().and(&state.more_inputs))
    }

    /// The settings.
    fn config(&self) -> &Config {
        &self.state().config
    }

    /// How far it is.
    fn position(&self) -> &Position {
        &self.state().position
    }

    /// The largest number of steps there can be.
    fn steps(&self) -> u64 {
        self.step_plan().steps()
    }

    /// One record per epoch.
    fn records(&self) -> &[Record] {
        &self.position().records
    }

    /// The best value of the metric of validation and the epoch that had it, from 1.
    fn best(&self) -> Option<(f64, u32)> {
        self.position().best
    }

    /// Steps done.
    fn steps_done(&self) -> u64 {
        self.position().total
    }

    /// True once there is nothing more to do.
    fn finished(&self) -> bool {
        self.position().finished
    }

    /// The error of a step in which `what` is not finite: it names the lists of the batch, or the one list that is known.
    fn not_finite(&self, what: &'static str, list: Option<usize>) -> TrainError {
        let mut lists = self.batch_lists();
        if lists.is_empty() {
            lists.extend(list.map(|list| list as u32));
        }
        TrainError::NotFinite { step: self.steps_done(), what, lists }
    }

    /// One step, and the end of an epoch where it was the last of one; its loss and learning rate.
    fn step(&mut self, callbacks: &mut dyn Callbacks, started: Instant) -> Result<(f64, f64), TrainError> {
        let Computed { loss, norm, without_gradient, keeps_previous } =
            self.compute().map_err(|error| match error {
                TrainError::Goal(GoalError::NotFinite { what, list, .. }) => {
                    self.not_finite(what, Some(list))
                }
                TrainError::Goal(GoalError::Score { list, .. }) => self.not_finite("score", Some(list)),
                other => other,
            })?;
        if !loss.is_finite() || !norm.is_finite() {
            return Err(self.not_finite(if loss.is_finite() { "gradient" } else { "loss" }, None));
        }
        let learning_rate = self.step_plan().learning_rate(self.position(), self.config());
        self.commit(learning_rate)?;
        let per_epoch = self.step_plan().stage(self.position()).per_epoch;
        let position = &mut self.state_mut().position;
        position.has_previous = keeps_previous;
        position.step += 1;
        position.total += 1;
        position.loss += loss;
        position.norm += norm;
        position.without_gradient += without_gradient as u64;
        if position.step.is_multiple_of(per_epoch) || self.converged() {
            self.end_epoch(callbacks, learning_rate, started)?;
        }
        Ok((loss, learning_rate))
    }

    /// Closes an epoch: validation, its record, the best parameters, the next stage, the end.
    fn end_epoch(
        &mut self,
        callbacks: &mut dyn Callbacks,
        learning_rate: f64,
        started: Instant,
    ) -> Result<(), TrainError> {
        self.check_data()?;
        let valid = self.validate().map_err(|error| match error {
            // The last step of the epoch diverged: the data are as good as they were.
            TrainError::Evaluate(EvaluateError::Score { .. }) => self.not_finite("model", None),
            other => other,
        })?;
        let (stage, before) = (self.step_plan().stage(self.position()), self.epochs_before());
        let (patience, converged) = (self.config().patience(), self.converged());
        let position = &mut self.state_mut().position;
        let steps = stage.per_epoch as f64;
        let record = Record {
            epoch: f64::from(before) + position.records.len() as f64 + 1.0,
            step: position.total,
            loss: position.loss / steps,
            gradient_norm: position.norm / steps,
            learning_rate,
            lists_without_gradient: position.without_gradient,
            metrics: valid.into_iter().collect(),
            seconds: started.elapsed().as_secs_f64(),
        };
        (position.loss, position.norm, position.without_gradient) = (0.0, 0.0, 0);
        callbacks.epoch(&record);
        let asked = self.state().workers.any(callbacks.enough())?;
        let position = &mut self.state_mut().position;
        position.records.push(record);
        let over = position.step >= stage.steps;
        let epoch = before + position.records.len() as u32;
        let LoopState { measure, position, config, .. } = self.state_mut();
        if (stage.is_last || continues_after_warm_up(config))
            && position.improved(measure, valid.flatten(), epoch)
        {
            self.keep_best()?;
        }
        if !stage.is_last && !asked {
            self.state_mut().position.since_best = 0;
            return if over { self.next_stage() } else { Ok(()) };
        }
        let LoopState { position, epoch_limit, .. } = self.state_mut();
        let enough = epoch_limit.is_some_and(|limit| position.records.len() >= limit as usize);
        position.finished =
            over || converged || enough || asked || patience > 0 && position.since_best >= patience;
        Ok(())
    }

    /// Trains until everything is done, validation stops it, or a callback does. With `checkpoints` one is written at the
    /// start, at the end, and as often in between as they say.
    fn run(
        &mut self,
        callbacks: &mut dyn Callbacks,
        checkpoints: Option<Checkpoints>,
    ) -> Result<Outcome, TrainError> {
        let started = Instant::now();
        let mut written: Option<Instant> = None;
        let mut due = |save: &dyn Fn(Checkpoints) -> Result<(), TrainError>, now: bool| match checkpoints {
            Some(to) if now || written.is_none_or(|at| at.elapsed() >= to.every) => {
                written = Some(Instant::now());
                save(to)
            }
            _ => Ok(()),
        };
        due(&|to| self.save_checkpoint(to.path, to.origin), true)?;
        while !self.finished() {
            let (loss, learning_rate) = self.step(callbacks, started)?;
            let records = self.records();
            callbacks.step(&Progress {
                step: self.steps_done(),
                steps: self.steps(),
                epoch: records.len() as u32,
                loss,
                metric: records.iter().rev().find_map(|record| *record.metrics.first()?),
                learning_rate,
            });
            let stop = self.state().workers.any(callbacks.stop())? && !self.finished();
            due(&|to| self.save_checkpoint(to.path, to.origin), stop)?;
            if stop {
                return Ok(Outcome::Interrupted);
            }
        }
        due(&|to| self.save_checkpoint(to.path, to.origin), true)?;
        if let Some(text) = self.advice()? {
            callbacks.note(&text);
        }
        let limited = self.state().epoch_limit.is_some_and(|limit| self.records().len() >= limit as usize);
        let all = self.steps_done() == self.steps() || self.converged() || limited;
        Ok(if all { Outcome::Finished } else { Outcome::StoppedEarly })
    }

    /// Writes everything that moves; the old checkpoint stays until the new one is whole.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn save_checkpoint(&self, path: &Path, origin: &serde_json::Value) -> Result<(), TrainError> {
        let about = checkpoint::About {
            config: self.config().clone(),
            inputs: self.inputs().clone(),
            origin: origin.clone(),
            position: self.position().clone(),
        };
        checkpoint::save(path, &about, &self.tensors())
    }

    /// Refuses a position that this run never reaches: more steps than there are, or a count that does not follow from the
    /// others.
    ///
    /// # Errors
    /// If it is one.
    fn check_position(&self, stored: &Stored, at: &Position) -> Result<(), TrainError> {
        let (steps, epochs) = (self.steps(), at.records.len() as u64);
        if at.total > steps || at.step > at.total || epochs > at.total {
            let found = format!(
                "{epochs} epochs and {} steps done, {} of them in the present stage",
                at.total, at.step
            );
            return Err(stored.wrong(found, format!("at most the {steps} steps that its settings allow")));
        }
        let stages = self.step_plan().stages();
        if at.stage >= stages {
            return Err(stored.wrong(format!("stage {} of {stages}", at.stage), "a stage of this config"));
        }
        let stage = self.step_plan().stage(at);
        if !at.finished && at.step >= stage.steps {
            let found = format!(
                "{} steps done of the {} of its stage, and the run not finished",
                at.step, stage.steps
            );
            return Err(stored.wrong(found, "steps that are left, or a finished run"));
        }
        let last = u64::from(self.epochs_before()) + epochs;
        let best = at.best.map_or(0, |(_, epoch)| u64::from(epoch));
        if best > last || u64::from(at.since_best) > epochs {
            let found = format!("the best epoch {best}, {} epochs ago, after {epochs} epochs", at.since_best);
            return Err(stored.wrong(found, "one of the epochs done"));
        }
        Ok(())
    }

    /// Resumes from a checkpoint; it must be of this config and these data.
    ///
    /// # Errors
    /// If it is of another run, or damaged.
    fn load_checkpoint(&mut self, path: &Path) -> Result<(), TrainError> {
        take_over(self, checkpoint::load(path)?)
    }

    /// The same from a checkpoint that the first worker of several has read, under the name of its file.
    ///
    /// # Errors
    /// As for [`TrainingLoop::load_checkpoint`].
    fn load_checkpoint_bytes(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), TrainError> {
        take_over(self, checkpoint::load_bytes(name, bytes)?)
    }
}

/// Takes over what a checkpoint holds.
fn take_over<T: TrainingLoop + ?Sized>(
    training: &mut T,
    (stored, about): (Stored, checkpoint::About),
) -> Result<(), TrainError> {
    about.check_config(&stored, training.config())?;
    // A run that was announced and has not begun.
    if stored.is_empty() {
        return Ok(());
    }
    about.check_inputs(&stored, training.inputs())?;
    training.check_position(&stored, &about.position)?;
    training.restore(&stored, &about.position)?;
    training.state_mut().position = about.position;
    Ok(())
}
