//! What went wrong, as an exit code and a message.

use std::fmt;

use toprank::core::{ListsError, ParamError};
use toprank::data::{Fault, ReadError};
use toprank::train::TrainError;

/// Every exit code: its number, its name, and when a command ends with it. `toprank --help`, the manual page and the README
/// show this table.
pub const EXIT_CODES: &[(u8, &str, &str)] = &[
    (0, "done", "The work is done; also if the reader of standard output stopped early, as head does."),
    (
        Exit::Failed as u8,
        "failed",
        "The work could not be done: a file cannot be opened or written, a disk is full, training diverged.",
    ),
    (
        Exit::Usage as u8,
        "wrong usage",
        "The command line or a config file is wrong, or would write over an input.",
    ),
    (
        Exit::Data as u8,
        "bad data",
        "The content of a file is wrong or damaged, or two files do not fit together.",
    ),
    (101, "bug", "A bug of toprank: please report it."),
    (
        Exit::Interrupted as u8,
        "interrupted",
        "Interrupted by Ctrl-C; a training run left a checkpoint to resume from.",
    ),
];

/// The exit codes of errors.
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

    /// A file, a folder or standard output cannot be written or read. There is no conversion from the system's error alone: it
    /// does not say which file it is about.
    pub fn file(name: impl fmt::Display, error: &std::io::Error) -> Failure {
        let broken_pipe = error.kind() == std::io::ErrorKind::BrokenPipe;
        Failure { broken_pipe, ..Failure::failed(format!("{name}: {error}")) }
    }

    /// The same with the file that it is about.
    #[must_use]
    pub fn about(self, file: impl fmt::Display) -> Failure {
        Failure { message: format!("{file}: {}", self.message), ..self }
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
            TrainError::Unfinished { .. } | TrainError::WorkersDiffer { .. } => Failure::usage(error),
            TrainError::NotFinite { .. }
            | TrainError::Worker(_)
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
