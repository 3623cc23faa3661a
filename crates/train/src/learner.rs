/*!
What learns: the loop that every kind of model is trained in, always ready to be stopped and taken up again.

```text
each step: the learner's own ─▶ end of a pass: validate, record, better? keep ─▶ checkpoint ─▶ stop?
```

Networks ([`crate::Trainer`]) and models of vectors ([`crate::recommend`]) take many steps a pass; for boosted trees
([`crate::boost::Boost`]) a round is a step and a pass.
*/

use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use toprank_metrics::{Better, Measure};

use crate::config::Config;
use crate::curve::Record;
use crate::error::TrainError;
use crate::position_bias::PositionBias;
use crate::scoring::Scoring;

/// Who looks on while a model trains; every method may do nothing.
pub trait Watch {
    /// After each step.
    fn step(&mut self, _now: &Now) {}

    /// After each pass.
    fn record(&mut self, _record: &Record) {}

    /// True: stop after this step; what was done is kept in the checkpoint.
    fn stop(&mut self) -> bool {
        false
    }
}

/// Nobody looks on.
impl Watch for () {}

/// Where training stands.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Steps done.
    pub step: u64,
    /// Most steps there will be.
    pub steps: u64,
    /// Passes done.
    pub epoch: u32,
    /// Loss of the last batch.
    pub loss: f64,
    /// The last value of the metric of validation.
    pub metric: Option<f64>,
    /// The rate of the last step.
    pub rate: f64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All passes are done.
    Finished,
    /// Validation did not get better for as long as `patience` says.
    Stopped,
    /// [`Watch::stop`] said so; the checkpoint takes it up again.
    Interrupted,
}

/// Where a checkpoint goes, and how often.
#[derive(Clone, Copy, Debug)]
pub struct Keep<'a> {
    /// The file.
    pub path: &'a Path,
    /// Least time between two checkpoints.
    pub every: Duration,
    /// Whatever the caller needs to find its files again; kept as it is.
    pub origin: &'a serde_json::Value,
}

/// What moves and is not an array of numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// Stage at work.
    pub(crate) stage: usize,
    /// Steps done in this stage.
    pub(crate) step: u64,
    /// Steps done in all.
    pub(crate) total: u64,
    /// Sums over the steps of the present pass.
    pub(crate) loss: f64,
    pub(crate) norm: f64,
    pub(crate) idle: u64,
    /// The best validation and the pass that had it.
    pub(crate) best: Option<(f64, u32)>,
    /// Passes since then.
    pub(crate) since_best: u32,
    /// True once there is nothing more to do.
    pub(crate) finished: bool,
    /// True once previous parameters are kept.
    pub(crate) has_previous: bool,
    /// One record per pass.
    pub(crate) records: Vec<Record>,
}

impl Position {
    /// Counts a step.
    pub(crate) fn stepped(&mut self, loss: f64, norm: f64, idle: usize, has_previous: bool) {
        self.has_previous = has_previous;
        self.step += 1;
        self.total += 1;
        self.loss += loss;
        self.norm += norm;
        self.idle += idle as u64;
    }

    /// Closes a pass of so many steps: its record, and sums that begin afresh. `metrics`: of validation, none
    /// without such data.
    pub(crate) fn close_pass(
        &mut self,
        steps: u64,
        rate: f64,
        metrics: Vec<Option<f64>>,
        started: Instant,
    ) -> &Record {
        let record = Record {
            epoch: self.records.len() as f64 + 1.0,
            step: self.total,
            loss: self.loss / steps as f64,
            gradient_norm: self.norm / steps as f64,
            rate,
            idle_lists: self.idle,
            metrics,
            seconds: started.elapsed().as_secs_f64(),
        };
        (self.loss, self.norm, self.idle) = (0.0, 0.0, 0);
        self.records.push(record);
        &self.records[self.records.len() - 1]
    }

    /// Notes that all steps are done (`over`), or that validation has not become better for `patience` passes.
    pub(crate) fn finish_if(&mut self, over: bool, patience: u32) {
        self.finished = over || patience > 0 && self.since_best >= patience;
    }

    /// Notes how validation went after a pass; true if it was better than ever.
    pub(crate) fn judged(&mut self, measure: &Measure, value: Option<f64>, epoch: u32) -> bool {
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

/// What the loop needs to know of whatever is trained: steps, passes, checkpoints.
pub trait Course {
    /// Where it stands.
    fn position(&self) -> &Position;

    /// Most steps there will be.
    fn steps(&self) -> u64;

    /// One step, and the end of a pass where it was the last of one; its loss and rate.
    fn step(&mut self, watch: &mut dyn Watch, started: Instant) -> Result<(f64, f64), TrainError>;

    /// Writes everything that moves; the old checkpoint stays until the new one is whole.
    fn save_checkpoint(&self, path: &Path, origin: &serde_json::Value) -> Result<(), TrainError>;

    /// Takes up what a checkpoint holds; it must be of this config and these data.
    fn load_checkpoint(&mut self, path: &Path) -> Result<(), TrainError>;

    /// One record per pass.
    fn records(&self) -> &[Record] {
        &self.position().records
    }

    /// The best value of the metric of validation and the pass that had it, from 1.
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

    /// Trains until everything is done, validation stops it, or `watch` does. With `keep` a checkpoint is written at
    /// the start, after passes, and at the end.
    fn run(&mut self, watch: &mut dyn Watch, keep: Option<Keep>) -> Result<Outcome, TrainError> {
        let started = Instant::now();
        let mut kept: Option<Instant> = None;
        let mut due = |save: &dyn Fn(Keep) -> Result<(), TrainError>, now: bool| match keep {
            Some(keep) if now || kept.is_none_or(|at| at.elapsed() >= keep.every) => {
                kept = Some(Instant::now());
                save(keep)
            }
            _ => Ok(()),
        };
        due(&|keep| self.save_checkpoint(keep.path, keep.origin), true)?;
        while !self.finished() {
            let (loss, rate) = self.step(watch, started)?;
            let records = self.records();
            watch.step(&Now {
                step: self.steps_done(),
                steps: self.steps(),
                epoch: records.len() as u32,
                loss,
                metric: records.last().and_then(|record| *record.metrics.first()?),
                rate,
            });
            let stop = watch.stop() && !self.finished();
            due(&|keep| self.save_checkpoint(keep.path, keep.origin), stop)?;
            if stop {
                return Ok(Outcome::Interrupted);
            }
        }
        due(&|keep| self.save_checkpoint(keep.path, keep.origin), true)?;
        Ok(if self.steps_done() == self.steps() { Outcome::Finished } else { Outcome::Stopped })
    }
}

/// A model that scores rows of features, on its way.
pub trait Learner: Course {
    /// The settings.
    fn config(&self) -> &Config;

    /// What a user gets: the best on validation, else the average, else the last.
    fn kept(&self) -> Result<Scoring, TrainError>;

    /// What the places of clicks add, where that is learned.
    fn position_bias(&self) -> Option<PositionBias> {
        None
    }
}
