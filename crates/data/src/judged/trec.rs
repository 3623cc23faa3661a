/*!
TREC text: `query iteration document relevance` and `query Q0 document rank score tag`.

```text
while block k + 1 of whole lines is read
    block k is cut into pieces at line ends and parsed in parallel
    the pieces of block k − 1 are gathered in order
```

Columns are separated by blanks or tabs; lines that are empty or start with `#` are skipped, as trec_eval 10 does.
The size of a piece is fixed, so rows, messages and bytes do not depend on the number of threads.
*/

use std::io::Read;

use rayon::prelude::*;

use super::Kind;
use super::sheet::{Gather, Piece, same_bytes};
use super::words::{self, Line, is_blank};
use crate::error::{ReadError, show};
use crate::lines::LONGEST;

/// Bytes read at a time and parsed by one task: a piece and its rows fit the second-level cache, and memory that
/// is used again need not be asked for.
const BLOCK: usize = 2 << 20;
const PIECE: usize = 1 << 18;

/// Reads the whole text; also returns the tag of its last line (runs).
pub(super) fn read(
    file: &str,
    input: &mut (dyn Read + Send),
    kind: Kind,
) -> Result<(Gather, String), ReadError> {
    let mut blocks = Blocks { file, input, carry: Vec::new(), finished: false };
    let mut whole = Whole::default();
    let (mut block, mut next) = (Vec::new(), Vec::new());
    let (mut now, mut before) = (Vec::new(), Vec::new());
    blocks.fill(&mut block).map_err(|(error, line)| error.at_line(line))?;
    strip_byte_order_mark(file, &mut block)?;
    while !block.is_empty() {
        let (read, gathered) = rayon::join(
            || rayon::join(|| blocks.fill(&mut next), || parse_block(file, &block, kind, &mut now)).0,
            || whole.add(&mut before),
        );
        gathered?;
        std::mem::swap(&mut now, &mut before);
        if let Err((error, line)) = read {
            whole.add(&mut before)?;
            return Err(error.at_line(whole.lines + line));
        }
        std::mem::swap(&mut block, &mut next);
    }
    whole.add(&mut before)?;
    Ok((whole.gather, whole.tag))
}

/// A piece of text once it is parsed, up to its first fault.
#[derive(Default)]
struct Parsed {
    piece: Piece,
    fault: Option<Located>,
}

/// What was gathered so far.
#[derive(Default)]
struct Whole {
    gather: Gather,
    tag: String,
    lines: u64,
}

impl Whole {
    /// Adds the pieces of a block; stops at the first fault.
    fn add(&mut self, block: &mut [Parsed]) -> Result<(), ReadError> {
        for Parsed { piece, fault } in block {
            if let Some((error, line)) = fault.take() {
                return Err(error.at_line(self.lines + line));
            }
            self.gather.piece(piece, self.lines);
            self.lines += piece.lines;
            if !piece.tag.is_empty() {
                self.tag.clone_from(&piece.tag);
            }
            piece.clear();
        }
        Ok(())
    }
}

/// Parses the pieces of a block in parallel; pieces that are left over stay empty.
fn parse_block(file: &str, block: &[u8], kind: Kind, parsed: &mut Vec<Parsed>) {
    let texts = cut(block);
    parsed.resize_with(texts.len().max(parsed.len()), Parsed::default);
    texts
        .into_par_iter()
        .zip(parsed)
        .for_each(|(text, parsed)| parsed.fault = parse(file, text, kind, &mut parsed.piece).err());
}

/// An error with its line, counted from 1 at the start of the piece or block.
type Located = (ReadError, u64);

struct Blocks<'a> {
    file: &'a str,
    input: &'a mut (dyn Read + Send),
    carry: Vec<u8>,
    finished: bool,
}

impl Blocks<'_> {
    /// Replaces `block` by the next whole lines, the last with its newline; empty at the end of the file.
    fn fill(&mut self, block: &mut Vec<u8>) -> Result<(), Located> {
        block.clear();
        block.append(&mut self.carry);
        while !self.finished {
            let searched = block.len();
            let wanted = BLOCK.max(2 * searched).min(LONGEST + 1) - searched;
            block.reserve(wanted);
            let got = self.input.take(wanted as u64).read_to_end(block).map_err(|error| {
                let line = memchr::memchr_iter(b'\n', block).count() as u64 + 1;
                (ReadError::io(self.file, &error), line)
            })?;
            self.finished = got < wanted;
            if let Some(newline) = memchr::memrchr(b'\n', &block[searched..]) {
                self.carry.extend_from_slice(&block[searched + newline + 1..]);
                block.truncate(searched + newline + 1);
                if !self.finished || self.carry.is_empty() {
                    return Ok(());
                }
                block.append(&mut self.carry);
            } else if block.len() > LONGEST {
                let found = format!("a line of more than {LONGEST} bytes");
                return Err((ReadError::data(self.file, found, "shorter lines"), 1));
            }
        }
        if block.last().is_some_and(|&last| last != b'\n') {
            block.push(b'\n');
        }
        Ok(())
    }
}

fn strip_byte_order_mark(file: &str, block: &mut Vec<u8>) -> Result<(), ReadError> {
    if block.starts_with(b"\xef\xbb\xbf") {
        block.drain(..3);
    } else if block.starts_with(b"\xff\xfe") || block.starts_with(b"\xfe\xff") {
        return Err(ReadError::data(file, "UTF-16 text", "UTF-8 or ASCII")
            .at_line(1)
            .advice("Convert it first: iconv -f UTF-16 -t UTF-8."));
    }
    Ok(())
}

/// Cuts a block of whole lines into pieces of whole lines.
fn cut(block: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::with_capacity(block.len() / PIECE + 1);
    let mut rest = block;
    while rest.len() > PIECE {
        let end = memchr::memchr(b'\n', &rest[PIECE..]).map_or(rest.len(), |newline| PIECE + newline + 1);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

/// Parses a piece up to its first fault; bytes that are not UTF-8 count as one.
fn parse(file: &str, bytes: &[u8], kind: Kind, piece: &mut Piece) -> Result<(), Located> {
    let mut parse_text = |text| match kind {
        Kind::Qrels => parse_text::<4>(file, text, kind, 3, piece),
        Kind::Run => parse_text::<6>(file, text, kind, 4, piece),
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => parse_text(text),
        Err(error) => {
            let valid = error.valid_up_to();
            let line = memchr::memrchr(b'\n', &bytes[..valid]).map_or(0, |newline| newline + 1);
            parse_text(std::str::from_utf8(&bytes[..line]).unwrap_or_default())?;
            let found = format!("bytes that are not UTF-8: {}", show(first_line(&bytes[line..])));
            Err((ReadError::data(file, found, "UTF-8 text"), piece.lines + 1))
        }
    }
}

fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == b'\n').next().unwrap_or_default()
}

/// Parses lines of `N` columns, the value in column number `value_column`.
fn parse_text<const N: usize>(
    file: &str,
    text: &str,
    kind: Kind,
    value_column: usize,
    piece: &mut Piece,
) -> Result<(), Located> {
    let bytes = text.as_bytes();
    let (mut query, mut tag) = (0..0, 0..0);
    let (mut at, mut line, mut line_before) = (0, 0u32, 0u32);
    while at < bytes.len() {
        line += 1;
        let start = at;
        let Line { words, found, after, end } = words::line::<N>(bytes, at);
        at = end + 1;
        if found == 0 {
            continue;
        }
        let fault = |error: ReadError| (error, u64::from(line));
        if found < N || after < end {
            check_columns(file, &bytes[start..end], &bytes[after..end], found, kind).map_err(fault)?;
        }
        let value = &bytes[words[value_column].0..words[value_column].1];
        let value = super::number(value, kind).ok_or_else(|| {
            let found = format!("{} {}", kind.value(), show(value));
            fault(ReadError::data(file, found, "a finite number"))
        })?;
        let name = words[0].0..words[0].1;
        match piece.counts.last_mut() {
            Some(count) if same_bytes(&bytes[name.clone()], &bytes[query.clone()]) => *count += 1,
            _ => {
                query = name;
                piece.queries.push(&text[query.clone()]);
                piece.counts.push(1);
            }
        }
        if line_before + 1 != line || piece.values.is_empty() {
            piece.jumps.push((piece.values.len() as u32, line));
        }
        line_before = line;
        piece.docs.push(&text[words[2].0..words[2].1]);
        piece.values.push(value);
        tag = words[N - 1].0..words[N - 1].1;
    }
    piece.lines = u64::from(line);
    if kind == Kind::Run {
        piece.tag.push_str(&text[tag]);
    }
    Ok(())
}

/// What a line may have after its columns: blanks, in a run also further words.
fn check_columns(file: &str, line: &[u8], rest: &[u8], found: usize, kind: Kind) -> Result<(), ReadError> {
    if rest.strip_suffix(b"\r").unwrap_or(rest).contains(&b'\r') {
        return Err(ReadError::data(file, "a carriage return inside a line", "lines that end in LF or CRLF"));
    }
    let total = line.split(|&byte| is_blank(byte)).filter(|word| !word.is_empty()).count();
    let (wanted, other) = match kind {
        Kind::Qrels => (4, "This looks like a run: are qrels and run swapped?"),
        Kind::Run => (6, "This looks like a qrels file: are qrels and run swapped?"),
    };
    if found == wanted && (kind == Kind::Run || rest.iter().all(|&byte| is_blank(byte))) {
        return Ok(());
    }
    let columns = if total == 1 { "1 column".to_string() } else { format!("{total} columns") };
    let error = ReadError::data(file, format!("{columns}: {}", show(line)), kind.layout());
    Err(if total == 10 - wanted { error.advice(other) } else { error })
}
