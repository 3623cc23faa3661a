//! Workers that Python brings: an object with `rank`, `size`, `sum` and `gather` moves the numbers between them.

use std::ffi::OsString;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use toprank::core::collective::{Collective, CollectiveError};
use toprank::train::Workers;

/// An object of Python that reaches the other workers.
#[derive(Debug)]
struct Brought {
    object: Py<PyAny>,
    rank: usize,
    size: usize,
}

impl Brought {
    fn failed(&self, error: PyErr) -> CollectiveError {
        CollectiveError { rank: self.rank, reason: format!("the call between the workers failed: {error}") }
    }
}

impl Collective for Brought {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn sum(&self, words: &mut [u64]) -> Result<(), CollectiveError> {
        let done = Python::attach(|py| {
            let array = PyArray1::from_slice(py, words);
            self.object.call_method1(py, "sum", (&array,))?;
            words.copy_from_slice(array.readonly().as_slice()?);
            Ok(())
        });
        done.map_err(|error| self.failed(error))
    }

    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, CollectiveError> {
        let done = Python::attach(|py| {
            let all = self.object.call_method1(py, "gather", (PyBytes::new(py, own),))?;
            all.extract::<Vec<Vec<u8>>>(py)
        });
        done.map_err(|error| self.failed(error))
    }
}

fn brought(py: Python, object: Py<PyAny>) -> PyResult<Workers> {
    let number = |name: &str| object.getattr(py, name)?.extract::<usize>(py);
    let (rank, size) = (number("rank")?, number("size")?);
    if rank >= size {
        let what = format!("workers with rank {rank} and size {size}, expected a rank below the size");
        return Err(crate::errors::refused(what));
    }
    Ok(Workers::new(Brought { object, rank, size }))
}

/// Does the work of the command with these words as one of several workers, and returns what it prints on standard output.
#[pyfunction]
pub fn call_command_among(py: Python, words: Vec<OsString>, workers: Py<PyAny>) -> PyResult<String> {
    let workers = brought(py, workers)?;
    crate::command::call(py, |stop| toprank_cli::call_among(words, stop, workers))
}

/// Runs the command with these arguments, the first of which is its own name, as one of several workers, and returns its exit code.
#[pyfunction]
pub fn run_command_among(py: Python, args: Vec<OsString>, workers: Py<PyAny>) -> PyResult<u8> {
    let workers = brought(py, workers)?;
    Ok(py.detach(|| toprank_cli::run_among(args, workers)))
}
