//! The pages that toprank writes, in a real browser, as part of `cargo test`.
//!
//! Needs Chromium, its driver, and a Python (`TOPRANK_PYTHON`, else `python3`) with the package selenium. Where one of them is not
//! there the test is skipped and the line that says so is shown, because this target has no harness that would hide it.

use std::path::Path;
use std::process::{Command, ExitCode};

const NAME: &str = "pages_work_in_a_browser";
const SKIPPED: i32 = 77;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        println!("{NAME}: test");
        return ExitCode::SUCCESS;
    }
    let mut filters = words.iter().filter(|word| !word.starts_with('-')).peekable();
    if filters.peek().is_some() && !filters.any(|filter| NAME.contains(filter.as_str())) {
        return ExitCode::SUCCESS;
    }
    if cfg!(not(feature = "plots")) {
        println!("the browser tests are skipped: this build has no report");
        return ExitCode::SUCCESS;
    }
    let python = std::env::var("TOPRANK_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser.py");
    match Command::new(&python).arg(script).arg(env!("CARGO_BIN_EXE_toprank")).status() {
        Ok(status) if status.success() => {
            println!("{NAME}: 1 passed");
            ExitCode::SUCCESS
        }
        Ok(status) if status.code() == Some(SKIPPED) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(_) => {
            println!(
                "the browser tests are skipped: found no Python, expected one in TOPRANK_PYTHON or on the path"
            );
            ExitCode::SUCCESS
        }
    }
}
