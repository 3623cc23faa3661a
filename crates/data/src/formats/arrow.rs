/*!
Arrow IPC: tables as files (`.arrow`, `.feather`) and streams (`.arrows`), plain or with Zstandard or LZ4 buffers.

A file is a stream between two marks, with an index behind it; it is read as the stream it holds, so files and
streams, plain and packed, take one path, batch after batch, without seeking. Which column plays which role is stated in
the module `roles`, which types are understood in the module `columnar`.

Every message is checked before it reaches the decoder: a claimed size never becomes memory before the bytes are
there, and the buffers of one message may unpack to at most 1 GiB.
*/

use std::io::{self, Read, Write};

use arrow_ipc::CompressionType;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};

use super::columnar::Columns;
use super::sheet_arrow::Batches;
use super::{Format, ReadOptions};
use crate::dataset::Dataset;
use crate::error::ReadError;
use crate::guard::guarded;
use crate::source::Source;

/// Arrow IPC.
pub const FORMAT: Format = Format {
    name: "arrow",
    about: "Arrow IPC file or stream with named columns",
    extensions: &["arrow", "feather", "ipc", "arrows"],
    sniff: |head| head.starts_with(MARK) || head.starts_with(&[0xff; 4]),
    read,
    write: Some(write),
    example: include_bytes!("examples/table.arrow"),
};

const MARK: &[u8] = b"ARROW1";

/// The longest message head: a schema of a million columns stays below.
const MOST_HEAD: usize = 256 << 20;

/// The most that the packed buffers of one message may hold.
const MOST_UNPACKED: u64 = 1 << 30;

fn read(source: &Source, options: &ReadOptions) -> Result<Dataset, ReadError> {
    // As for Parquet: the decoder may panic on damaged files.
    let decoded = guarded(|| decode(source, options));
    decoded.unwrap_or_else(|| Err(damaged(source.name(), "content the decoder cannot make sense of")))
}

fn damaged(file: &str, found: &str) -> ReadError {
    ReadError::data(file, found, "an undamaged Arrow file or stream")
}

fn decode(source: &Source, options: &ReadOptions) -> Result<Dataset, ReadError> {
    let file = source.name();
    let mut messages = Messages { file, input: source.open()?, is_file: false, started: false, ended: false };
    let mut decoder = StreamDecoder::new();
    let mut columns: Option<Columns> = None;
    while let Some(message) = messages.next_message()? {
        let mut buffer = message.into();
        loop {
            let decoded = decoder.decode(&mut buffer).map_err(|e| damaged(file, &e.to_string()))?;
            // The decoder knows a schema only when it has seen what follows it.
            if let (None, Some(schema)) = (&columns, decoder.schema()) {
                columns = Some(Columns::new(file, &schema, options)?);
            }
            let (Some(batch), Some(columns)) = (decoded, &mut columns) else { break };
            let wanted = batch.project(&columns.projection).map_err(|e| damaged(file, &e.to_string()))?;
            columns.push(&wanted)?;
        }
    }
    // What follows the last message says nothing, but a packed file is whole only if its end is.
    std::io::copy(&mut messages.input, &mut std::io::sink()).map_err(|e| ReadError::io(file, &e))?;
    match columns {
        Some(columns) => columns.table.finish(),
        None => Err(damaged(file, "no table")),
    }
}

/// The messages of a stream, each checked and whole.
struct Messages<'a> {
    file: &'a str,
    input: Box<dyn Read + Send>,
    is_file: bool,
    started: bool,
    ended: bool,
}

impl Messages<'_> {
    /// The next message with its frame; after the last one an empty message that flushes the decoder, then `None`.
    fn next_message(&mut self) -> Result<Option<Vec<u8>>, ReadError> {
        let mut message = vec![];
        if self.ended {
            return Ok(None);
        }
        if !self.started {
            self.started = true;
            self.fill(&mut message, 8)?;
            if message.starts_with(MARK) {
                self.is_file = true;
                message.clear();
                // Zeros fill up to where the writer wants the stream to start, 64 at most.
                for _ in 0..8 {
                    self.fill(&mut message, 8)?;
                    if message != [0; 8] {
                        break;
                    }
                    message.clear();
                }
            } else if message.starts_with(b"FEA1") {
                return Err(damaged(self.file, "Feather version 1").advice("Write it again as Feather 2."));
            } else if !message.starts_with(&[0xff; 4]) {
                let found = format!("a start with {}", crate::error::show(&message));
                return Err(damaged(self.file, &found));
            }
        }
        if message.is_empty() {
            self.fill(&mut message, 8)?;
        }
        // A stream may end without saying so; a file may not.
        if message.len() < 8 && (self.is_file || !message.is_empty()) {
            return Err(damaged(self.file, "an end in the middle of the table"));
        }
        if message.get(..4).is_some_and(|mark| mark != [0xff; 4]) {
            return Err(damaged(self.file, "a message without its mark"));
        }
        let length =
            message.get(4..8).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes) as usize;
        if length == 0 {
            self.ended = true;
            return Ok(Some([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0].to_vec()));
        }
        if length > MOST_HEAD {
            return Err(damaged(self.file, &format!("a message head of {length} bytes")));
        }
        self.fill_exactly(&mut message, length as u64)?;
        let missing = body_length(&message[8..]).map_err(|found| damaged(self.file, &found))?;
        self.fill_exactly(&mut message, missing)?;
        let (head, body) = message[8..].split_at(length);
        if !buffers_are_inside(head, body.len() as u64) {
            return Err(damaged(self.file, "a buffer beyond the end of its message"));
        }
        if unpacked_length(head, body).is_none_or(|unpacked| unpacked > MOST_UNPACKED) {
            return Err(damaged(
                self.file,
                &format!("a message that unpacks to more than {MOST_UNPACKED} bytes"),
            ));
        }
        Ok(Some(message))
    }

    /// Appends up to `length` bytes; memory grows with what arrives, not with what is claimed.
    fn fill(&mut self, message: &mut Vec<u8>, length: u64) -> Result<usize, ReadError> {
        let got = self.input.by_ref().take(length).read_to_end(message);
        got.map_err(|e| ReadError::io(self.file, &e))
    }

    fn fill_exactly(&mut self, message: &mut Vec<u8>, length: u64) -> Result<(), ReadError> {
        let got = self.fill(message, length)?;
        if got as u64 == length {
            return Ok(());
        }
        Err(damaged(self.file, &format!("an end after {got} of {length} bytes of a message")))
    }
}

fn body_length(head: &[u8]) -> Result<u64, String> {
    let message = arrow_ipc::root_as_message(head).map_err(|e| format!("a broken message head ({e})"))?;
    u64::try_from(message.bodyLength()).map_err(|_| format!("a message of {} bytes", message.bodyLength()))
}

/// The columns of a message, if it holds any.
fn columns_of<'a>(message: &arrow_ipc::Message<'a>) -> Option<arrow_ipc::RecordBatch<'a>> {
    let dictionary = || message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
    message.header_as_record_batch().or_else(dictionary)
}

fn buffers_are_inside(head: &[u8], length: u64) -> bool {
    let Ok(message) = arrow_ipc::root_as_message(head) else { return false };
    let buffers = columns_of(&message).and_then(|batch| batch.buffers());
    buffers.into_iter().flatten().all(|buffer| {
        let (start, size) = (u64::try_from(buffer.offset()), u64::try_from(buffer.length()));
        matches!((start, size), (Ok(start), Ok(size)) if start.checked_add(size).is_some_and(|end| end <= length))
    })
}

/// What the packed buffers of a message claim to hold; `None`: more than can be counted.
fn unpacked_length(head: &[u8], body: &[u8]) -> Option<u64> {
    let message = arrow_ipc::root_as_message(head).ok()?;
    let Some(batch) = columns_of(&message) else { return Some(0) };
    if batch.compression().is_none() {
        return Some(0);
    }
    let mut sum = 0u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok()?;
        // A packed buffer starts with its length as 8 bytes, −1 if it is not packed after all; an empty one is empty.
        let claim = body.get(start..).and_then(|rest| rest.get(..8)).and_then(|eight| eight.try_into().ok());
        let claim = claim.map_or(0, i64::from_le_bytes);
        if buffer.length() > 0 && claim > 0 {
            sum = sum.checked_add(claim as u64)?;
        }
    }
    Some(sum)
}

fn write(data: &Dataset, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let batches = Batches::new(data)?;
    let options = IpcWriteOptions::default()
        .try_with_compression(Some(CompressionType::ZSTD))
        .map_err(io::Error::other)?;
    let mut writer =
        FileWriter::try_new_with_options(out, &batches.schema(), options).map_err(io::Error::other)?;
    for batch in batches {
        writer.write(&batch?).map_err(io::Error::other)?;
    }
    writer.finish().map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_of(bytes: &[u8]) -> String {
        let read = read(&Source::bytes("t.arrow", bytes), &ReadOptions::default());
        read.unwrap_err().to_string()
    }

    #[test]
    fn streams_and_files_are_read_alike() {
        let file = read(&Source::bytes("t", FORMAT.example), &ReadOptions::default()).unwrap();
        let stream = &FORMAT.example[64..];
        assert!(stream.starts_with(&[0xff; 4]), "the stream starts at the alignment of the writer");
        let stream = read(&Source::bytes("t", stream), &ReadOptions::default()).unwrap();
        assert_eq!(file.lists, stream.lists);
    }

    #[test]
    fn damaged_files_are_told_apart() {
        let good = FORMAT.example;
        let ending = "; expected an undamaged Arrow file or stream.";
        assert_eq!(message_of(b"2 qid:1 1:0.5\n"), format!("t.arrow: a start with \"2 qid:1 \"{ending}"));
        assert_eq!(
            message_of(b"FEA1\0\0\0\0"),
            format!("t.arrow: Feather version 1{ending}\nWrite it again as Feather 2.")
        );
        assert_eq!(message_of(&good[..64]), format!("t.arrow: an end in the middle of the table{ending}"));
        assert_eq!(
            message_of(&good[..100]),
            format!("t.arrow: an end after 28 of 376 bytes of a message{ending}")
        );
        for end in 0..good.len() - 600 {
            assert!(
                read(&Source::bytes("t", &good[..end]), &ReadOptions::default()).is_err(),
                "cut at {end}"
            );
        }
    }

    #[test]
    fn a_claim_of_a_huge_buffer_is_refused_before_it_is_believed() {
        let mut bad = FORMAT.example.to_vec();
        // Small buffers are not worth packing and say −1.
        let last = (64..bad.len() - 8).rev().find(|&i| bad[i..i + 8] == [0xff; 8]).expect("a buffer");
        bad[last..last + 8].copy_from_slice(&(1i64 << 62).to_le_bytes());
        assert_eq!(
            message_of(&bad),
            "t.arrow: a message that unpacks to more than 1073741824 bytes; expected an undamaged Arrow file or \
             stream."
        );
    }
}
