//! What went wrong, as an exit code and a message.

use std::fmt;

use toprank::core::{ListsError, ParamError};
use toprank::data::{Fault, ReadError};
use toprank::train::TrainError;

/// The exit codes, as `toprank --help` documents them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The work could not be done: a file cannot be opened, a disk is full.
    Failed = 1,
    /// The command line names something that does not exist, or settings that exclude each other.
    Usage = 2,
    /// A file breaks its format, or two files do not fit together.
    Data = 3,
    /// The user interrupted it.
    Interrupted = 130,
}

/// An error, as it is shown to the user.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// The whole message.
    pub message: String,
    /// Standard output was closed (`toprank … | head`): end without a message.
    pub broken_pipe: bool,
}

impl Failure {
    fn new(exit: Exit, message: impl fmt::Display) -> Failure {
        Failure { exit, message: message.to_string(), broken_pipe: false }
    }

    /// The command line is wrong.
    pub fn usage(message: impl fmt::Display) -> Failure {
        Failure::new(Exit::Usage, message)
    }

    /// The data are wrong.
    pub fn data(message: impl fmt::Display) -> Failure {
        Failure::new(Exit::Data, message)
    }

    /// The user interrupted it; what was done is kept.
    pub fn interrupted(message: impl fmt::Display) -> Failure {
        Failure::new(Exit::Interrupted, message)
    }

    /// The work could not be done.
    pub fn failed(message: impl fmt::Display) -> Failure {
        Failure::new(Exit::Failed, message)
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        let exit = match error.fault() {
            Fault::Io => Exit::Failed,
            Fault::Data => Exit::Data,
            Fault::Options => Exit::Usage,
        };
        Failure { broken_pipe: error.is_broken_pipe(), ..Failure::new(exit, error) }
    }
}

impl From<ParamError> for Failure {
    fn from(error: ParamError) -> Failure {
        Failure::usage(error)
    }
}

impl From<TrainError> for Failure {
    fn from(error: TrainError) -> Failure {
        match error {
            TrainError::Param(error) => error.into(),
            TrainError::File(error) => error.into(),
            TrainError::Model(error) => Failure::data(error),
            TrainError::Goal(error) => Failure::data(error),
            TrainError::Interrupted { .. } => Failure::interrupted(error),
            TrainError::Unfinished { .. } => Failure::usage(error),
            TrainError::NotFinite { .. }
            | TrainError::Diverged { .. }
            | TrainError::InUse { .. }
            | TrainError::Tables(_) => Failure::failed(error),
            other => Failure::data(other),
        }
    }
}

impl From<ListsError> for Failure {
    fn from(error: ListsError) -> Failure {
        Failure::data(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        let broken_pipe = error.kind() == std::io::ErrorKind::BrokenPipe;
        Failure { broken_pipe, ..Failure::failed(error) }
    }
}
