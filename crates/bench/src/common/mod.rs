//! What several harnesses need: arguments, files, measurements of time and memory, means and tests.

mod files;
mod full_batch;
mod machine;
mod numbers;
pub mod resumable;

use std::error::Error;
use std::fmt;

pub use files::{numbers_in, real_data, real_text, scored_items, settings_toml};
pub use full_batch::minimise_watched;
pub use machine::{anonymous_bytes, bandwidth, cpu_seconds, peak_bytes};
pub use numbers::{mean, mean_and_deviation, normal, p_value};

/// What went wrong in a harness.
pub type Failure = Box<dyn Error + Send + Sync>;

/// What a harness returns.
pub type Outcome<T = ()> = Result<T, Failure>;

/// The arguments do not fit the harness: its usage is printed.
#[derive(Debug)]
pub struct WrongUse;

impl fmt::Display for WrongUse {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the arguments do not fit the usage")
    }
}

impl Error for WrongUse {}

/// The value that follows `--name` among the arguments.
pub fn option<'a>(args: &'a [String], name: &str) -> Option<&'a str> {
    args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1)).map(String::as_str)
}

/// The number that follows `--name` among the arguments, or `default`.
pub fn number<T: std::str::FromStr>(args: &[String], name: &str, default: T) -> Outcome<T> {
    let Some(text) = option(args, name) else { return Ok(default) };
    text.parse().map_err(|_| format!("{name} must be a number, but is {text}").into())
}

/// All arguments as string slices, to be matched.
pub fn words(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}
