//! Progress on standard error, only if that is a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use toprank::core::text::visible;

/// A bar or spinner that is cleared when it is dropped.
pub struct Progress(ProgressBar);

impl Progress {
    /// A spinner with a message; nothing if `quiet` or if standard error is no terminal.
    pub fn spinner(quiet: bool, words: &str) -> Progress {
        if quiet || !std::io::stderr().is_terminal() {
            return Progress(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner().with_message(visible(words).into_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        Progress(bar)
    }

    /// A bar, advanced by [`Progress::set`].
    pub fn bar(quiet: bool, words: &str) -> Progress {
        if quiet || !std::io::stderr().is_terminal() {
            return Progress(ProgressBar::hidden());
        }
        let bar = ProgressBar::new(0).with_message(visible(words).into_owned());
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {percent}% {eta}") {
            bar.set_style(style);
        }
        Progress(bar)
    }

    /// Changes the message.
    pub fn say(&self, words: &str) {
        self.0.set_message(visible(words).into_owned());
    }

    /// `done` of `total` parts are finished.
    pub fn set(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
