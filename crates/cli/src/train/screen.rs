//! What a person sees while a model trains.

use std::time::Instant;

use toprank::train::{Config, Now, Record, Watch};

use crate::Common;
use crate::curves::Curves;
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;

/// What a person sees while it trains.
pub struct Screen {
    progress: Progress,
    metric: String,
    what: String,
    curves: Option<Curves>,
    pub started: Instant,
    failed: Option<Failure>,
}

impl Screen {
    /// `what` names the part of the work, such as `fold 2 of 5`; it may be empty.
    pub fn new(common: &Common, config: &Config, what: &str, curves: Option<Curves>) -> Screen {
        let words = format!("{what}{} with {}", config.model, config.algorithm);
        Screen::named(common, words, &config.metric, what, curves)
    }

    /// The same for whatever `words` say is trained.
    pub fn named(common: &Common, words: String, metric: &str, what: &str, curves: Option<Curves>) -> Screen {
        Screen {
            progress: Progress::bar(common.quiet, words),
            metric: metric.to_string(),
            what: what.to_string(),
            curves,
            started: Instant::now(),
            failed: None,
        }
    }

    pub fn finish(&mut self) -> Result<(), Failure> {
        if let Some(failure) = self.failed.take() {
            return Err(failure);
        }
        self.curves.as_mut().map_or(Ok(()), Curves::finish)
    }
}

impl Watch for Screen {
    fn step(&mut self, now: &Now) {
        self.progress.set(now.step, now.steps);
        let metric = now.metric.map(|value| format!(" {} {value:.4}", self.metric)).unwrap_or_default();
        self.progress.say(format!(
            "{}pass {} loss {:.4}{metric} rate {:.2e}",
            self.what, now.epoch, now.loss, now.rate
        ));
    }

    fn record(&mut self, record: &Record) {
        if let Some(curves) = &mut self.curves
            && let Err(failure) = curves.add(record)
        {
            self.failed.get_or_insert(failure);
        }
    }

    fn stop(&mut self) -> bool {
        interrupt::asked() || self.failed.is_some()
    }
}
