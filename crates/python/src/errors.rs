//! Errors of the library as Python exceptions: the messages are the library's own.

use std::fmt::Display;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use toprank::data::ReadError;
use toprank::data::error::Fault;
use toprank::train::TrainError;

use crate::own;

/// Data or parameters that the library refuses; an exception of the user's own metric or objective, if that is why.
pub fn refused(error: impl Display) -> PyErr {
    own::raised().unwrap_or_else(|| PyValueError::new_err(error.to_string()))
}

/// What went wrong in training, saving and loading: files are the system's, the rest is the caller's.
pub fn failed(error: TrainError) -> PyErr {
    match error {
        TrainError::File(file) if file.fault() == Fault::Io => PyOSError::new_err(file.to_string()),
        other => refused(other),
    }
}

/// A file that cannot be read, or rows that are not what they should be.
pub fn unreadable(error: ReadError) -> PyErr {
    failed(error.into())
}
