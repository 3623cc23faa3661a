//! What a person sees while a model trains.

use std::path::PathBuf;
use std::time::Instant;

use toprank::train::{Callbacks, Config, Leaderboard, Progress as Step, Record, Start, TrainerKind};

use crate::Common;
use crate::curves::Curves;
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;

/// Progress on standard error, learning curves on disk, Ctrl-C.
pub struct Screen {
    common: Common,
    what: String,
    /// What an epoch is called.
    epoch: &'static str,
    metric: String,
    validated: bool,
    /// Folder of learning curves, which begin with the model itself.
    folder: Option<PathBuf>,
    curves: Option<Curves>,
    progress: Option<Progress>,
    /// The part that is being trained, such as `fold 2 of 5`.
    part: String,
    pub started: Instant,
    failure: Option<Failure>,
}

impl Screen {
    /// `validated`: there is something to validate on.
    pub fn new(common: &Common, config: &Config, curves: Option<PathBuf>, validated: bool) -> Screen {
        let model = if config.model().is_empty() { config.method() } else { config.model() };
        Screen {
            common: common.clone(),
            what: format!("{model} with {}", config.algorithm()),
            epoch: match config.trainer() {
                TrainerKind::Walk => "step",
                _ if model.starts_with("trees") => "boosting round",
                _ => "epoch",
            },
            metric: config.valid_metric().to_string(),
            validated,
            folder: curves,
            curves: None,
            progress: None,
            part: String::new(),
            started: Instant::now(),
            failure: None,
        }
    }

    /// The part as a prefix of messages.
    pub fn part(&self) -> String {
        if self.part.is_empty() { String::new() } else { format!("{}: ", self.part) }
    }

    /// What went wrong with the curves.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.clone()
    }

    /// Ends the progress and draws the curves; `best` is the epoch that is kept, and its metric.
    pub fn finish(&mut self, best: Option<(u32, f64)>) -> Result<(), Failure> {
        self.progress = None;
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.curves.as_mut().map_or(Ok(()), |curves| curves.finish(&self.what, self.epoch, best))
    }
}

impl Callbacks for Screen {
    fn start(&mut self, start: &Start) {
        self.part = start.part.to_string();
        self.progress = Some(Progress::bar(self.common.quiet, &format!("{}{}", self.part(), self.what)));
        if start.step > 0 {
            let text = format!("{}resumed at step {} of {}", self.part(), start.step, start.steps);
            crate::note(&self.common, text);
        }
        if let (Some(folder), true) = (&self.folder, start.part.is_empty()) {
            let metrics = if self.validated { vec![self.metric.clone()] } else { Vec::new() };
            match Curves::open(folder, &metrics, start.records) {
                Ok(curves) => self.curves = Some(curves),
                Err(failure) => self.failure = Some(failure),
            }
        }
    }

    fn step(&mut self, step: &Step) {
        let Some(progress) = &self.progress else { return };
        progress.set(step.step, step.steps);
        let metric = step.metric.map(|value| format!(" {} {value:.4}", self.metric)).unwrap_or_default();
        progress.say(&format!(
            "{}epoch {} loss {:.4}{metric} learning rate {:.2e}",
            self.part(),
            step.epoch,
            step.loss,
            step.learning_rate
        ));
    }

    fn epoch(&mut self, record: &Record) {
        if let Some(curves) = &mut self.curves
            && let Err(failure) = curves.add(record)
        {
            self.failure.get_or_insert(failure);
        }
    }

    fn stop(&mut self) -> bool {
        interrupt::asked() || self.failure.is_some()
    }

    fn leaderboard(&mut self, board: &Leaderboard) {
        self.progress = None;
        let value = board.value.map_or("left out".into(), |value| format!("{} {value:.4}", board.metric));
        let best = board.best.map_or(String::new(), |(name, value)| format!(", best {name} {value:.4}"));
        let (done, planned) = board.members;
        let text =
            format!("{done} of {planned} members, {:.0} s: {} {value}{best}", board.seconds, board.name);
        crate::note(&self.common, text);
    }

    fn note(&mut self, text: &str) {
        crate::note(&self.common, text);
    }
}
