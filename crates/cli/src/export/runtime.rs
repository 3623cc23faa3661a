//! The real onnxruntime, where a Python has it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::failure::Failure;

const CHECK: &str = include_str!("check.py");

#[derive(Deserialize)]
struct Found {
    version: String,
    difference: f64,
    largest: f64,
}

/// Runs written models in the onnxruntime of a Python, on the probe rows; says how far its scores are away.
pub(super) fn checked(
    python: &Path,
    models: &[&PathBuf],
    probes: &Path,
    tolerance: f64,
) -> Result<String, Failure> {
    let name = python.display();
    let run = Command::new(python).arg("-c").arg(CHECK).args(models).arg(probes).output();
    let run = run.map_err(|error| {
        Failure::usage(format!("--onnxruntime {name}: {error}; expected a Python with onnxruntime and numpy"))
    })?;
    let text = String::from_utf8_lossy(&run.stdout);
    let found: Option<Found> = text.lines().last().and_then(|line| serde_json::from_str(line).ok());
    let (true, Some(found)) = (run.status.success(), found) else {
        let error = String::from_utf8_lossy(&run.stderr);
        let last = error.lines().last().unwrap_or("it said nothing");
        return Err(Failure::data(format!(
            "--onnxruntime {name}: {last}; expected a Python with onnxruntime and numpy that can run the model"
        )));
    };
    let Found { version, difference, largest } = found;
    if difference > tolerance * largest {
        return Err(Failure::data(format!(
            "onnxruntime {version} gives scores that differ by {difference:e}, the largest is {largest:e}; expected at most \
             {tolerance:e} of the largest: do not serve this file"
        )));
    }
    let relative = if difference == 0.0 { 0.0 } else { difference / largest };
    Ok(format!("run in onnxruntime {version}: scores differ by at most {relative:.1e} of the largest"))
}
