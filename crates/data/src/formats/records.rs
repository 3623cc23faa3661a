/*!
Records of a separated text (CSV, TSV), with the line each one starts on.

```text
record = field (separator field)* line-end
field  = anything without separator and line end | '"' (anything but '"' | '""')* '"'
```

Ours instead of the csv crate's reader because of three promises: the line of a record is exact (also after blank
lines and quoted line ends), a quoted field that never ends takes at most [`LONGEST`] bytes, and what follows a
closing quote is an error instead of being glued on. Blank lines are skipped.
*/

use std::ops::Range;

use crate::error::{ReadError, show};
use crate::lines::{LONGEST, Lines};
use crate::source::Source;

/// Separators that are recognised, most usual first.
pub(crate) const SEPARATORS: &[u8] = b",;\t|";

/// The fields of one record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    /// The fields are ranges of this text.
    text: Vec<u8>,
    fields: Vec<Range<usize>>,
    line: u64,
}

impl Record {
    /// Line on which the record starts.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Number of fields.
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    /// Field `i`.
    pub(crate) fn field(&self, i: usize) -> &[u8] {
        &self.text[self.fields[i].clone()]
    }

    /// Field `i` as text, or its bytes if they are not UTF-8.
    pub(crate) fn str(&self, i: usize) -> Result<&str, &[u8]> {
        let bytes = self.field(i);
        std::str::from_utf8(bytes).map_err(|_| bytes)
    }
}

/// A reader of records.
pub(crate) struct Records {
    lines: Lines,
    separator: u8,
    record: Record,
    spare: Vec<u8>,
}

impl Records {
    /// Opens a source. Without a separator, the most frequent of `,` `;` tab `|` outside quotes on the first line
    /// that is not blank is taken.
    pub(crate) fn open(source: &Source, separator: Option<u8>) -> Result<Records, ReadError> {
        let lines = Lines::open(source)?;
        let mut records = Records { lines, separator: b',', record: Record::default(), spare: Vec::new() };
        if records.next_text()? {
            records.separator = separator.unwrap_or_else(|| likely_separator(&records.record.text));
        }
        Ok(records)
    }

    /// The separator in use.
    pub(crate) fn separator(&self) -> u8 {
        self.separator
    }

    /// The next record; `None` after the last.
    pub(crate) fn next_record(&mut self) -> Result<Option<&Record>, ReadError> {
        // `open` has read the first line already.
        let there = if self.record.line == 0 { !self.record.text.is_empty() } else { self.next_text()? };
        if !there {
            return Ok(None);
        }
        self.record.line = self.lines.number();
        self.record.fields.clear();
        if memchr::memchr(b'"', &self.record.text).is_some() {
            self.split_quoted()?;
        } else {
            let Record { text, fields, .. } = &mut self.record;
            let mut start = 0;
            for (i, &byte) in text.iter().enumerate() {
                if byte == self.separator {
                    fields.push(start..i);
                    start = i + 1;
                }
            }
            fields.push(start..text.len());
        }
        Ok(Some(&self.record))
    }

    /// Takes the next line that is not blank.
    fn next_text(&mut self) -> Result<bool, ReadError> {
        self.record.text.clear();
        while let Some(line) = self.lines.next_line()? {
            if !line.is_empty() {
                self.record.text.extend_from_slice(line);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Splits a record with quotes: `spare` takes the fields without their quotes, further lines are read while a
    /// quote is open.
    fn split_quoted(&mut self) -> Result<(), ReadError> {
        self.spare.clear();
        let (mut at, mut start) = (0, 0);
        loop {
            if self.record.text.get(at) == Some(&b'"') {
                at = self.unquote(at + 1)?;
            }
            while at < self.record.text.len() && self.record.text[at] != self.separator {
                self.spare.push(self.record.text[at]);
                at += 1;
            }
            self.record.fields.push(start..self.spare.len());
            start = self.spare.len();
            if at == self.record.text.len() {
                break;
            }
            at += 1;
        }
        std::mem::swap(&mut self.record.text, &mut self.spare);
        Ok(())
    }

    /// Copies a quoted field that starts at `at` and returns the place after its closing quote.
    fn unquote(&mut self, mut at: usize) -> Result<usize, ReadError> {
        loop {
            let Some(length) = memchr::memchr(b'"', &self.record.text[at..]) else {
                self.spare.extend_from_slice(&self.record.text[at..]);
                self.continue_on_next_line()?;
                at = 0;
                continue;
            };
            self.spare.extend_from_slice(&self.record.text[at..at + length]);
            at += length + 1;
            match self.record.text.get(at) {
                None => return Ok(at),
                Some(&next) if next == self.separator => return Ok(at),
                Some(b'"') => self.spare.push(b'"'),
                Some(_) => {
                    let found = format!("{} after a closing quote", show(&self.record.text[at..]));
                    let error = self.lines.error(found, "a separator or the end of the line");
                    return Err(error.advice("Write a quote inside a quoted field twice."));
                }
            }
            at += 1;
        }
    }

    fn continue_on_next_line(&mut self) -> Result<(), ReadError> {
        let end = if self.lines.had_carriage_return() { &b"\r\n"[..] } else { b"\n" };
        self.spare.extend_from_slice(end);
        let next = if self.spare.len() > LONGEST { None } else { self.lines.next_line()? };
        if let Some(line) = next {
            self.record.text.clear();
            self.record.text.extend_from_slice(line);
            return Ok(());
        }
        let error = ReadError::data(self.lines.name(), "a quoted field that never ends", "a closing quote");
        let advice = "Write a quote at the start of a plain field twice, in quotes: \"\"\"x\".";
        Err(error.at_line(self.record.line).advice(advice))
    }
}

fn likely_separator(line: &[u8]) -> u8 {
    let mut counts = [0usize; SEPARATORS.len()];
    let mut quoted = false;
    for &byte in line {
        quoted ^= byte == b'"';
        if let (false, Some(i)) = (quoted, SEPARATORS.iter().position(|&s| s == byte)) {
            counts[i] += 1;
        }
    }
    let best = (0..counts.len()).rev().max_by_key(|&i| counts[i]).unwrap_or(0);
    SEPARATORS[best]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<(u64, Vec<String>)>, ReadError> {
        let mut records = Records::open(&Source::bytes("t", text.as_bytes().to_vec()), None)?;
        let mut found = Vec::new();
        while let Some(record) = records.next_record()? {
            let fields = (0..record.len()).map(|i| record.str(i).unwrap().to_string());
            found.push((record.line(), fields.collect()));
        }
        Ok(found)
    }

    fn one(line: u64, fields: &[&str]) -> (u64, Vec<String>) {
        (line, fields.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn quoted_fields_hold_separators_quotes_and_line_ends() {
        let text = "\u{feff}a;\"b;c\"\r\n\r\n\"x\r\ny\";\"say \"\"hi\"\"\"\r\n;\n";
        let expected = [one(1, &["a", "b;c"]), one(3, &["x\r\ny", "say \"hi\""]), one(5, &["", ""])];
        assert_eq!(all(text).unwrap(), expected);
    }

    #[test]
    fn the_most_frequent_separator_outside_quotes_is_taken() {
        assert_eq!(likely_separator(b"a\tb,c\td"), b'\t');
        assert_eq!(likely_separator(b"\"a,b,c\"|d"), b'|');
        assert_eq!(likely_separator(b"only"), b',');
        assert_eq!(likely_separator(b"a,b;c"), b',');
    }

    #[test]
    fn an_open_quote_is_an_error_at_the_line_it_starts_on() {
        assert_eq!(
            all("a,b\n1,\"2\n3,4\n").unwrap_err().to_string(),
            "t:2: a quoted field that never ends; expected a closing quote.\n\
             Write a quote at the start of a plain field twice, in quotes: \"\"\"x\"."
        );
        assert_eq!(
            all("a,b\n\"1\"x,2\n").unwrap_err().to_string(),
            "t:2: \"x,2\" after a closing quote; expected a separator or the end of the line.\n\
             Write a quote inside a quoted field twice."
        );
    }

    #[test]
    fn nothing_and_blank_lines_are_no_record() {
        assert_eq!(all("").unwrap(), []);
        assert_eq!(all("\n\r\n").unwrap(), []);
        assert_eq!(all("a").unwrap(), [one(1, &["a"])]);
        assert_eq!(all("\"\"\n\"\"").unwrap(), [one(1, &[""]), one(2, &[""])]);
    }
}
