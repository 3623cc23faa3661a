//! The command inside the package: the console script of the wheel, and work from file to file.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::prelude::*;
use toprank::train::{Embedder, Model, Recommender, WalkFile};
use toprank_cli::{Exit, Failure};

/// Runs the command with these arguments, the first of which is its own name, and returns its exit code. Ctrl-C belongs to it from
/// then on, so nothing else should run in this process.
#[pyfunction]
pub fn run_command(py: Python, args: Vec<OsString>) -> u8 {
    py.detach(|| toprank_cli::run(args))
}

/// The words that name each command.
#[pyfunction]
pub fn commands() -> Vec<String> {
    toprank_cli::commands()
}

thread_local! {
    /// The exception of a signal that came in while the command worked on this thread.
    static SIGNAL: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// True once a signal has asked to stop.
fn stopped() -> bool {
    SIGNAL.with_borrow_mut(|signal| {
        if signal.is_none() {
            *signal = Python::attach(|py| py.check_signals().err());
        }
        signal.is_some()
    })
}

/// Does the work of the command with these words and returns what it prints on standard output.
#[pyfunction]
pub fn call_command(py: Python, words: Vec<OsString>) -> PyResult<String> {
    call(py, |stop| toprank_cli::call(words, stop))
}

/// Does such work, which asks now and then whether it is to stop, without holding the interpreter.
pub fn call(
    py: Python,
    work: impl FnOnce(fn() -> bool) -> Result<String, Failure> + Send,
) -> PyResult<String> {
    SIGNAL.set(None);
    let done = py.detach(|| work(stopped));
    if let Some(error) = SIGNAL.take() {
        return Err(error);
    }
    done.map_err(failed)
}

/// A failure of the command as an exception.
pub fn failed(failure: Failure) -> PyErr {
    match failure.exit {
        Exit::Failed => PyOSError::new_err(failure.message),
        Exit::Interrupted => PyKeyboardInterrupt::new_err(failure.message),
        Exit::Usage | Exit::Data => PyValueError::new_err(failure.message),
    }
}

/// What kind of model a file holds by its first bytes: rank, recommend, embed or walk.
#[pyfunction]
pub fn kind_of_model(path: PathBuf) -> Option<&'static str> {
    type IsOne = fn(&std::path::Path) -> bool;
    let kinds = [
        (Model::is_one as IsOne, "rank"),
        (Recommender::is_one, "recommend"),
        (Embedder::is_one, "embed"),
        (WalkFile::is_one, "walk"),
    ];
    kinds.into_iter().find(|(is_one, _)| is_one(&path)).map(|(_, name)| name)
}
