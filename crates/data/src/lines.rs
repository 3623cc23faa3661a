/*!
Lines of a text, one at a time, for every format whose speed does not matter as much as LETOR's.

Line ends may be LF or CRLF; a byte-order mark at the start is dropped, UTF-16 is refused by name; the last line
needs no newline; a line longer than [`LONGEST`] is an error, so that no file allocates without bound.
*/

use std::io::{self, Read};

use crate::error::ReadError;
use crate::source::Source;

/// The longest line that is read, in bytes.
pub const LONGEST: usize = 64 << 20;

/// A reader of lines that counts them.
///
/// ```
/// use toprank_data::{Source, lines::Lines};
/// let mut lines = Lines::open(&Source::bytes("t", b"\xef\xbb\xbfa\r\nb".to_vec())).unwrap();
/// assert_eq!(lines.next_line().unwrap(), Some(&b"a"[..]));
/// assert_eq!(lines.next_line().unwrap(), Some(&b"b"[..]));
/// assert_eq!(lines.next_line().unwrap(), None);
/// assert_eq!(lines.number(), 2);
/// ```
pub struct Lines {
    name: String,
    input: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    number: u64,
    carriage_return: bool,
    finished: bool,
}

impl Lines {
    /// Opens a source, unpacking it if needed.
    pub fn open(source: &Source) -> Result<Lines, ReadError> {
        Ok(Lines {
            name: source.name().into(),
            input: source.open()?,
            buffer: vec![0; 1 << 18],
            start: 0,
            end: 0,
            number: 0,
            carriage_return: false,
            finished: false,
        })
    }

    /// Number of the line returned last, counted from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// True if the line returned last ended in CRLF: what continues it (a quoted field) needs to know.
    pub fn had_carriage_return(&self) -> bool {
        self.carriage_return
    }

    /// Name of the source.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A data error at the line returned last.
    pub fn error(&self, found: impl AsRef<str>, expected: impl AsRef<str>) -> ReadError {
        ReadError::data(&self.name, found, expected).at_line(self.number)
    }

    /// The next line without its end; `None` after the last.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, ReadError> {
        let mut searched = 0;
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[self.start + searched..self.end]) {
                let line = self.start..self.start + searched + length;
                self.start = line.end + 1;
                return self.take(line).map(Some);
            }
            searched = self.end - self.start;
            if self.finished {
                if searched == 0 {
                    return Ok(None);
                }
                let line = self.start..self.end;
                self.start = self.end;
                return self.take(line).map(Some);
            }
            self.fill()?;
        }
    }

    fn take(&mut self, mut line: std::ops::Range<usize>) -> Result<&[u8], ReadError> {
        self.number += 1;
        if self.number == 1 {
            let head = &self.buffer[line.clone()];
            if head.starts_with(b"\xef\xbb\xbf") {
                line.start += 3;
            } else if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
                return Err(self
                    .error("UTF-16 text", "UTF-8 or ASCII")
                    .advice("Convert it first: iconv -f UTF-16 -t UTF-8."));
            }
        }
        self.carriage_return = self.buffer[line.clone()].ends_with(b"\r");
        if self.carriage_return {
            line.end -= 1;
        }
        Ok(&self.buffer[line])
    }

    fn fill(&mut self) -> Result<(), ReadError> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            if self.end >= LONGEST {
                self.number += 1;
                return Err(self.error(format!("a line of more than {LONGEST} bytes"), "shorter lines"));
            }
            self.buffer.resize((self.end * 2).min(LONGEST), 0);
        }
        match self.input.read(&mut self.buffer[self.end..]) {
            Ok(0) => self.finished = true,
            Ok(n) => self.end += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(ReadError::io(&self.name, &e).at_line(self.number + 1)),
        }
        Ok(())
    }
}
