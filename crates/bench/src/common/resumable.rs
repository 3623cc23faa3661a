//! Many runs by one command: a line of JSON is written as each run ends, and the same command resumes where the file ends.

use std::collections::HashSet;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde_json::Value;

use super::{Outcome, number};

/// A run has a name that no other has.
pub trait Run: Sync + Send {
    fn name(&self) -> String;
}

/// The lines of a file of results, each with the name of its run under `run`; none if there is no file yet.
pub fn read(path: &str) -> Outcome<Vec<Value>> {
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(Vec::new()) };
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// The moment at which no further run is started: `--minutes` from now.
pub fn end(args: &[String], minutes: f64) -> Outcome<Instant> {
    Ok(Instant::now() + Duration::from_secs_f64(60.0 * number(args, "--minutes", minutes)?))
}

/// Makes those of `runs` that the file has no line of, until `end`; `each` returns the line and what to print.
pub fn go<R: Run>(
    mut runs: Vec<R>,
    results: &str,
    end: Instant,
    each: impl Fn(&R) -> Outcome<(Value, String)> + Sync,
) -> Outcome {
    let done: HashSet<String> =
        read(results)?.iter().map(|line| line["run"].as_str().unwrap_or("").into()).collect();
    runs.retain(|run| !done.contains(&run.name()));
    eprintln!("{} runs", runs.len());
    let left = AtomicUsize::new(runs.len());
    let file = Mutex::new(std::fs::OpenOptions::new().create(true).append(true).open(results)?);
    // Whole runs side by side: small models do not fill two cores.
    runs.par_iter().with_max_len(1).try_for_each(|run| -> Outcome {
        if Instant::now() > end {
            return Ok(());
        }
        let (mut line, says) = each(run)?;
        line["run"] = run.name().into();
        writeln!(file.lock().map_err(|_| "a run failed")?, "{line}")?;
        let left = left.fetch_sub(1, Ordering::Relaxed) - 1;
        eprintln!("{left} left: {} {says}", run.name());
        Ok(())
    })
}
