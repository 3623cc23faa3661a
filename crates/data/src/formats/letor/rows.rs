/*!
One piece of text to rows: labels, cells, qids, names.

```text
piece:  label  [qid:Q]  (index:value)*  [# comment]     pairs
        label  (separator value)*       [# comment]     table
```

Most files state the same features in every row, so indices are not kept while each row reads `first, first + 1, …`
with the same number of cells; the first row that differs makes them explicit for the whole piece.
*/

use super::number::{self, Number};
use crate::error::{ReadError, show};
use crate::names::Names;

/// How the rows of a file are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape {
    /// `label qid:Q index:value …`
    Pairs,
    /// `label value value …`, every row as long as the first.
    Table(Separator),
}

/// What stands between the fields of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Separator {
    /// One comma; nothing between two commas is a missing value.
    Comma,
    /// One tab; nothing between two tabs is a missing value.
    Tab,
    /// Any number of blanks.
    Blanks,
}

/// What the parser must know about the file.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub file: &'a str,
    pub shape: Shape,
    pub limit: u32,
}

/// The rows of one piece; its buffers are used again and again.
#[derive(Default)]
pub(super) struct Rows {
    /// One label per row.
    pub labels: Vec<f32>,
    /// Line of each row, counted from 0 within the piece.
    pub lines: Vec<u32>,
    /// Where each row ends in `values`.
    pub ends: Vec<u32>,
    /// All values, row after row.
    pub values: Vec<f32>,
    /// Their features, ascending within a row.
    pub indices: Indices,
    /// First row of each run of equal qids.
    pub qid_starts: Vec<u32>,
    /// The qid of each run.
    pub qids: Names,
    /// First row without a qid.
    pub without_qid: Option<u32>,
    /// Name of each row; empty if no row has one.
    pub names: Names,
    /// Lines in the piece.
    pub line_count: u64,
    /// What stopped the parser, and on which line.
    pub error: Option<(u32, ReadError)>,
    /// Indices of the row being read.
    row: Vec<u32>,
    sorted: Vec<(u32, f32)>,
}

/// The feature of each value.
#[derive(Debug, PartialEq)]
pub(super) enum Indices {
    /// Every row states `first, first + 1, …`, `width` of them.
    Regular { first: u32, width: u32 },
    /// One index per value.
    Explicit(Vec<u32>),
}

impl Default for Indices {
    fn default() -> Indices {
        Indices::Regular { first: 1, width: 0 }
    }
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// True at the end of a token: blank, line end or comment.
fn ends_token(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'#')
}

/// True at the end of a row: line end or comment. A carriage return counts only before a newline.
fn ends_row(text: &[u8], at: usize) -> bool {
    match text[at] {
        b'\n' | b'#' => true,
        b'\r' => text[at + 1] == b'\n',
        _ => false,
    }
}

/// The token at `at`.
fn token(text: &[u8], at: usize) -> &[u8] {
    let rest = &text[at..];
    &rest[..rest.iter().position(|&byte| ends_token(byte)).unwrap_or(rest.len())]
}

fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while is_blank(text[at]) {
        at += 1;
    }
    at
}

impl Rows {
    fn clear(&mut self) {
        self.labels.clear();
        self.lines.clear();
        self.ends.clear();
        self.values.clear();
        self.qid_starts.clear();
        self.qids.clear();
        self.without_qid = None;
        self.names.clear();
        self.line_count = 0;
        self.error = None;
        self.indices = Indices::default();
    }

    /// Parses `text`, whole lines that each end with a newline, up to the first error.
    pub(super) fn parse(&mut self, text: &[u8], context: Context) {
        self.clear();
        let mut at = 0;
        let mut line = 0;
        while at < text.len() {
            match self.line(text, at, line, context) {
                Ok(next) => at = next,
                Err(error) => {
                    self.error = Some((line, error));
                    break;
                }
            }
            line += 1;
        }
        self.line_count = u64::from(line);
    }

    /// One line from `at`; returns where the next one starts.
    fn line(&mut self, text: &[u8], at: usize, line: u32, context: Context) -> Result<usize, ReadError> {
        let line_end = |at: usize| at + memchr::memchr(b'\n', &text[at..]).unwrap_or(text.len() - 1 - at);
        let mut at = skip_blanks(text, at);
        if ends_row(text, at) {
            return Ok(line_end(at) + 1);
        }
        let first_cell = self.values.len();
        let (label, after) = label(text, at, context)?;
        at = match context.shape {
            Shape::Pairs => {
                let after = self.qid(text, after, context)?;
                let end = self.pairs(text, after, context)?;
                self.end_of_pairs(first_cell, context)?;
                end
            }
            Shape::Table(separator) => {
                self.without_qid.get_or_insert(self.labels.len() as u32);
                self.fields(text, after, first_cell, separator, context)?
            }
        };
        let end = line_end(at);
        let comment = if text[at] == b'#' { &text[at + 1..end] } else { b"" };
        self.name(comment, context)?;
        self.ends.push(self.values.len() as u32);
        self.labels.push(label);
        self.lines.push(line);
        Ok(end + 1)
    }

    fn qid(&mut self, text: &[u8], at: usize, context: Context) -> Result<usize, ReadError> {
        let at = skip_blanks(text, at);
        let row = self.labels.len() as u32;
        if !text[at..].starts_with(b"qid:") {
            self.without_qid.get_or_insert(row);
            return Ok(at);
        }
        let qid = token(text, at + 4);
        if self.qids.last().is_none_or(|last| last.as_bytes() != qid) {
            if qid.is_empty() {
                return Err(ReadError::data(context.file, "an empty qid", "qid:NAME"));
            }
            self.qids.push(utf8(qid, "a qid", context)?);
            self.qid_starts.push(row);
        }
        Ok(at + 4 + qid.len())
    }

    /// `index:value` up to the line end or comment; returns where that stands.
    fn pairs(&mut self, text: &[u8], mut at: usize, context: Context) -> Result<usize, ReadError> {
        self.row.clear();
        loop {
            at = skip_blanks(text, at);
            let start = at;
            let mut index = 0u32;
            while text[at].wrapping_sub(b'0') < 10 {
                index = index.saturating_mul(10).saturating_add(u32::from(text[at] - b'0'));
                at += 1;
            }
            if at == start || text[at] != b':' {
                return if ends_row(text, start) { Ok(start) } else { Err(bad_pair(text, start, context)) };
            }
            if index > context.limit {
                return Err(beyond_limit(&text[start..at], context));
            }
            let value = match number::fast(text, at + 1) {
                Some((value, end)) if ends_token(text[end]) => {
                    at = end;
                    value
                }
                _ => {
                    let value = token(text, at + 1);
                    at += 1 + value.len();
                    checked(value, index, context)?
                }
            };
            self.row.push(index);
            self.values.push(value);
        }
    }

    /// Puts the row just read in order and notes its indices.
    fn end_of_pairs(&mut self, first_cell: usize, context: Context) -> Result<(), ReadError> {
        let row = &mut self.row;
        if let Indices::Regular { first, width } = &mut self.indices {
            let start = row.first().copied().unwrap_or(*first);
            if self.ends.is_empty() {
                (*first, *width) = (start, row.len() as u32);
            }
            let consecutive = row.iter().zip(start..).all(|(&index, expected)| index == expected);
            if consecutive && start == *first && row.len() as u32 == *width {
                return Ok(());
            }
            let one = *first..*first + *width;
            let rows_before = self.ends.len();
            self.indices = Indices::Explicit((0..rows_before).flat_map(|_| one.clone()).collect());
        }
        if !row.is_sorted_by(|a, b| a < b) {
            let cells = &mut self.values[first_cell..];
            self.sorted.clear();
            self.sorted.extend(row.iter().copied().zip(cells.iter().copied()));
            self.sorted.sort_by_key(|&(index, _)| index);
            for (place, &(index, value)) in self.sorted.iter().enumerate() {
                (row[place], cells[place]) = (index, value);
            }
            if let Some([twice, _]) = row.array_windows().find(|[a, b]| a == b) {
                let found = format!("feature {twice} twice in one row");
                return Err(ReadError::data(context.file, found, "each feature at most once"));
            }
        }
        if let Indices::Explicit(indices) = &mut self.indices {
            indices.extend_from_slice(row);
        }
        Ok(())
    }

    /// The fields of a table after its label: features 1, 2, …; returns where the line end or comment stands.
    fn fields(
        &mut self,
        text: &[u8],
        mut at: usize,
        first_cell: usize,
        separator: Separator,
        context: Context,
    ) -> Result<usize, ReadError> {
        let divider = match separator {
            Separator::Comma => b',',
            Separator::Tab => b'\t',
            Separator::Blanks => b' ',
        };
        let skip = |mut at: usize| {
            while is_blank(text[at]) && (text[at] != b'\t' || divider != b'\t') {
                at += 1;
            }
            at
        };
        let ends_field = |at: usize| text[at] == divider || is_blank(text[at]) || ends_row(text, at);
        loop {
            at = skip(at);
            if ends_row(text, at) {
                break;
            }
            if separator != Separator::Blanks {
                if text[at] != divider {
                    let found = format!("{} after a field", show(token(text, at)));
                    return Err(ReadError::data(context.file, found, "a separator or the end of the line"));
                }
                at = skip(at + 1);
            }
            let index = (self.values.len() - first_cell + 1) as u32;
            if index > context.limit {
                return Err(beyond_limit(index.to_string().as_bytes(), context));
            }
            let value = match number::fast(text, at) {
                Some((value, end)) if ends_field(end) => {
                    at = end;
                    value
                }
                _ => {
                    let start = at;
                    while !ends_field(at) {
                        at += 1;
                    }
                    checked(&text[start..at], index, context)?
                }
            };
            self.values.push(value);
        }
        let cells = (self.values.len() - first_cell) as u32;
        let Indices::Regular { width, .. } = &mut self.indices else { unreachable!("a table is regular") };
        if self.ends.is_empty() {
            *width = cells;
        } else if *width != cells {
            return Err(ReadError::data(context.file, found_values(cells), expected_values(*width)));
        }
        Ok(at)
    }

    fn name(&mut self, comment: &[u8], context: Context) -> Result<(), ReadError> {
        let name = name_in(comment);
        if name.is_empty() && self.names.is_empty() {
            return Ok(());
        }
        let name = utf8(name, "a comment", context)?;
        while self.names.len() < self.labels.len() {
            self.names.push("");
        }
        self.names.push(name);
        Ok(())
    }
}

pub(super) fn found_values(width: u32) -> String {
    format!("{width} values after the label")
}

pub(super) fn expected_values(width: u32) -> String {
    format!("{width} as in the rows before")
}

/// The item's name in a comment: X of `docid = X …`, else the whole comment without blanks around it.
fn name_in(comment: &[u8]) -> &[u8] {
    let comment = comment.trim_ascii();
    let docid = || {
        let rest = comment.strip_prefix(b"docid")?.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
        rest.split(u8::is_ascii_whitespace).next().filter(|name| !name.is_empty())
    };
    docid().unwrap_or(comment)
}

fn label(text: &[u8], at: usize, context: Context) -> Result<(f32, usize), ReadError> {
    let table = matches!(context.shape, Shape::Table(Separator::Comma));
    let ends = |at: usize| ends_token(text[at]) || table && text[at] == b',';
    if let Some((label, end)) = number::fast(text, at)
        && ends(end)
    {
        return Ok((label, end));
    }
    let mut end = at;
    while !ends(end) {
        end += 1;
    }
    let word = &text[at..end];
    let error = |found: String, expected: &str| ReadError::data(context.file, found, expected);
    match number::slow(word) {
        Number::Is(label) => Ok((label, end)),
        Number::Missing => Ok((f32::NAN, end)),
        Number::Infinite => Err(error(format!("infinite label {}", show(word)), "a finite label")),
        Number::TooLarge => {
            Err(error(format!("label {}, too large for a 32-bit float", show(word)), "a label"))
        }
        Number::Junk => Err(error(format!("{} where the label should stand", show(word)), "a number")),
    }
}

/// A value that the fast path left: missing, hard to round, or wrong.
#[cold]
fn checked(value: &[u8], index: u32, context: Context) -> Result<f32, ReadError> {
    let (found, expected) = match number::slow(value) {
        Number::Is(value) => return Ok(value),
        Number::Missing => return Ok(f32::NAN),
        Number::Infinite => (format!("infinite value {} of feature {index}", show(value)), "a finite number"),
        Number::TooLarge => (
            format!("value {} of feature {index}, too large for a 32-bit float", show(value)),
            "a number below 3.4e38",
        ),
        Number::Junk => (
            format!("value {} of feature {index}", show(value)),
            "a number, or NULL, nan or nothing if it is missing",
        ),
    };
    Err(ReadError::data(context.file, found, expected))
}

#[cold]
fn beyond_limit(index: &[u8], context: Context) -> ReadError {
    let found = format!("feature {}", String::from_utf8_lossy(&index[..index.len().min(40)]));
    ReadError::data(context.file, found, format!("at most {}", context.limit))
        .advice("Allow more with --max-features.")
}

#[cold]
fn bad_pair(text: &[u8], at: usize, context: Context) -> ReadError {
    let word = token(text, at);
    let shown = show(if word.is_empty() { &text[at..=at] } else { word });
    if word.starts_with(b"qid:") {
        return ReadError::data(
            context.file,
            format!("{shown} after the features or twice"),
            "it once, after the label",
        );
    }
    match memchr::memchr(b':', word) {
        Some(_) => {
            ReadError::data(context.file, format!("{shown}, whose feature is not a number"), "index:value")
        }
        None => ReadError::data(context.file, format!("{shown} without a colon"), "index:value"),
    }
}

fn utf8<'a>(bytes: &'a [u8], what: &str, context: Context) -> Result<&'a str, ReadError> {
    std::str::from_utf8(bytes).map_err(|_| {
        ReadError::data(context.file, format!("{what} {} that is not UTF-8", show(bytes)), "UTF-8 text")
            .advice("Convert it first: iconv -f LATIN1 -t UTF-8.")
    })
}
