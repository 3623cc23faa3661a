/*!
A text cut into pieces of whole lines, so that pieces can be read in parallel while the next ones are fetched.

Where a piece ends depends on the text only, never on how the bytes arrive or on the number of threads.
*/

use std::io::Read;

use crate::error::ReadError;
use crate::lines::LONGEST;
use crate::source::Source;

/// Bytes per piece: text and parsed rows stay in a core's cache.
const PIECE: usize = 1 << 18;

/// Cuts a source.
pub(crate) struct Pieces {
    name: String,
    input: Box<dyn Read + Send>,
    rest: Vec<u8>,
    piece: usize,
    state: State,
}

#[derive(PartialEq)]
enum State {
    Start,
    Middle,
    End,
}

impl Pieces {
    pub(crate) fn open(source: &Source) -> Result<Pieces, ReadError> {
        Ok(Pieces {
            name: source.name().into(),
            input: source.open()?,
            rest: Vec::new(),
            piece: PIECE,
            state: State::Start,
        })
    }

    /// Other borders, to show that they do not matter.
    #[cfg(test)]
    pub(crate) fn with_piece(mut self, bytes: usize) -> Pieces {
        self.piece = bytes;
        self
    }

    /// Fills `text` with the next whole lines, the last one ended by a newline too; empty after the end.
    ///
    /// On an error `text` still holds the whole lines before it.
    pub(crate) fn next(&mut self, text: &mut Vec<u8>) -> Result<(), ReadError> {
        text.clear();
        std::mem::swap(text, &mut self.rest);
        let mut wanted = self.piece;
        while self.state != State::End {
            if text.len() < wanted {
                let more = (wanted - text.len()) as u64;
                text.reserve_exact(more as usize);
                let got = match (&mut self.input).take(more).read_to_end(text) {
                    Ok(got) => got as u64,
                    Err(e) => {
                        self.state = State::End;
                        text.truncate(memchr::memrchr(b'\n', text).map_or(0, |end| end + 1));
                        return Err(ReadError::io(&self.name, &e));
                    }
                };
                if self.state == State::Start {
                    self.state = State::Middle;
                    self.start(text)?;
                }
                if got < more {
                    self.state = State::End;
                    break;
                }
            }
            if let Some(end) = memchr::memrchr(b'\n', text) {
                self.rest.extend_from_slice(&text[end + 1..]);
                text.truncate(end + 1);
                return Ok(());
            }
            if wanted >= LONGEST {
                self.state = State::End;
                text.clear();
                let found = format!("a line of more than {LONGEST} bytes");
                return Err(ReadError::data(&self.name, found, "shorter lines"));
            }
            wanted = (wanted * 2).min(LONGEST);
        }
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        Ok(())
    }

    fn start(&mut self, text: &mut Vec<u8>) -> Result<(), ReadError> {
        if text.starts_with(b"\xef\xbb\xbf") {
            text.drain(..3);
        } else if text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") {
            self.state = State::End;
            text.clear();
            return Err(ReadError::data(&self.name, "UTF-16 text", "UTF-8 or ASCII")
                .advice("Convert it first: iconv -f UTF-16 -t UTF-8."));
        }
        Ok(())
    }
}
