//! The Python tests as part of `cargo test`, on the library that this very build made.
//!
//! Needs a Python 3.10 or newer with numpy and pytest: `TOPRANK_PYTHON`, else `python3`, else `python`. Where there is none the
//! tests are skipped and the line that says so is shown, because this target has no harness that would hide it.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const NAME: &str = "python_tests_pass";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        println!("{NAME}: test");
        return ExitCode::SUCCESS;
    }
    // `cargo test SOMETHING` is not meant for us unless it names us; options of the harness are not ours.
    let mut filters = words.iter().filter(|word| !word.starts_with('-')).peekable();
    if filters.peek().is_some() && !filters.any(|filter| NAME.contains(filter.as_str())) {
        return ExitCode::SUCCESS;
    }
    let Some(python) = python() else {
        println!(
            "the Python tests are skipped: found no Python, expected one in TOPRANK_PYTHON or on the path"
        );
        return ExitCode::SUCCESS;
    };
    let Some(library) = library() else {
        eprintln!("found no library of the Python package beside {:?}", std::env::current_exe());
        return ExitCode::FAILURE;
    };
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let run = Command::new(&python).arg(package.join("run_tests.py")).arg("--library").arg(&library).status();
    match run {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{python}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn python() -> Option<String> {
    let answers =
        |name: &String| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
    let named = std::env::var("TOPRANK_PYTHON").ok();
    named.into_iter().chain(["python3".to_string(), "python".to_string()]).find(answers)
}

/// The library lies beside its tests.
fn library() -> Option<PathBuf> {
    let name = format!("{}_toprank{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    Some(std::env::current_exe().ok()?.parent()?.join(name)).filter(|path| path.exists())
}
