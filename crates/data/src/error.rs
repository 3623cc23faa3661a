//! What went wrong in a file: where, what was found, what was expected, what to do.

use std::fmt;

use toprank_core::text::{visible, visible_lines};

/// Why something could not be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The file cannot be opened, read or written: the system's message is in `found`.
    Io,
    /// The content breaks the format.
    Data,
    /// The options do not fit the file or each other.
    Options,
}

/// An error of a reader or writer.
///
/// ```
/// use toprank_data::ReadError;
/// let error = ReadError::data("train.txt", "qid 17 appears again after it ended on line 4",
///         "all rows of a query to be adjacent")
///     .at_line(8213)
///     .advice("Use --regroup, or sort the file by qid.");
/// assert_eq!(error.to_string(), "train.txt:8213: qid 17 appears again after it ended on line 4; \
///     expected all rows of a query to be adjacent.\nUse --regroup, or sort the file by qid.");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ReadError(Box<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    fault: Fault,
    file: String,
    line: Option<u64>,
    column: Option<String>,
    found: String,
    expected: String,
    advice: String,
    broken_pipe: bool,
}

impl ReadError {
    fn new(fault: Fault, file: &str, found: &str, expected: &str) -> ReadError {
        ReadError(Box::new(Inner {
            fault,
            file: file.into(),
            line: None,
            column: None,
            found: found.into(),
            expected: expected.into(),
            advice: String::new(),
            broken_pipe: false,
        }))
    }

    /// The content breaks the format.
    pub fn data(file: &str, found: impl AsRef<str>, expected: impl AsRef<str>) -> ReadError {
        ReadError::new(Fault::Data, file, found.as_ref(), expected.as_ref())
    }

    /// The options do not fit the file or each other.
    pub fn options(file: &str, found: impl AsRef<str>, expected: impl AsRef<str>) -> ReadError {
        ReadError::new(Fault::Options, file, found.as_ref(), expected.as_ref())
    }

    /// An I/O error of the operating system. A damaged compressed file is a fault of the data instead.
    pub fn io(file: &str, error: &std::io::Error) -> ReadError {
        use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        match error.kind() {
            InvalidData | InvalidInput | UnexpectedEof => {
                ReadError::data(file, error.to_string(), "an undamaged file")
            }
            kind => {
                let mut error = ReadError::new(Fault::Io, file, &error.to_string(), "");
                error.0.broken_pipe = kind == std::io::ErrorKind::BrokenPipe;
                error
            }
        }
    }

    /// Names the line, counted from 1.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> ReadError {
        self.0.line = Some(line);
        self
    }

    /// Names the column.
    #[must_use]
    pub fn in_column(mut self, column: impl Into<String>) -> ReadError {
        self.0.column = Some(column.into());
        self
    }

    /// Adds what to do.
    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> ReadError {
        self.0.advice = advice.into();
        self
    }

    /// What kind of fault it is.
    pub fn fault(&self) -> Fault {
        self.0.fault
    }

    /// True if the reader of our output closed the pipe, as `head` does; commands end silently then.
    pub fn is_broken_pipe(&self) -> bool {
        self.0.broken_pipe
    }

    /// The line at fault, counted from 1, where one is known.
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// The file at fault.
    pub fn file(&self) -> &str {
        &self.0.file
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Inner { file, line, column, found, expected, advice, .. } = &*self.0;
        // Names and cells of a file must not reach a terminal as they are.
        let [file, found, expected] = [file, found, expected].map(|text| visible(text));
        write!(f, "{file}:")?;
        if let Some(line) = line {
            write!(f, "{line}:")?;
        }
        if let Some(column) = column {
            write!(f, " column {}:", visible(column))?;
        }
        write!(f, " {found}")?;
        if !expected.is_empty() {
            write!(f, "; expected {expected}.")?;
        }
        if !advice.is_empty() {
            write!(f, "\n{}", visible_lines(advice))?;
        }
        Ok(())
    }
}

impl std::error::Error for ReadError {}

/// Shows bytes of a file in a message: at most 40 of them, with escapes, in quotes.
///
/// ```
/// assert_eq!(toprank_data::error::show(b"1:\xff"), "\"1:\\xff\"");
/// ```
pub fn show(bytes: &[u8]) -> String {
    const MOST: usize = 40;
    let cut = &bytes[..bytes.len().min(MOST)];
    let text: String = match std::str::from_utf8(cut) {
        Ok(text) => text.escape_debug().collect(),
        Err(_) => cut.escape_ascii().to_string(),
    };
    format!("\"{text}{}\"", if bytes.len() > MOST { "…" } else { "" })
}

/// Lists names of a file in a message: at most 20 of them, each cut after 40 characters, without control characters.
///
/// ```
/// assert_eq!(toprank_data::error::show_names(["qid", "label"]), "qid, label");
/// ```
pub fn show_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    const LONGEST: usize = 40;
    let mut names = names.into_iter();
    let cut = |name: &str| {
        let mut shown: String =
            visible(&name.chars().take(LONGEST).collect::<String>()).chars().take(LONGEST).collect();
        if name.chars().nth(LONGEST).is_some() {
            shown.push('…');
        }
        shown
    };
    let mut shown: Vec<String> = names.by_ref().take(MOST).map(cut).collect();
    let more = names.count();
    if more > 0 {
        shown.push(format!("… and {more} more"));
    }
    shown.join(", ")
}
