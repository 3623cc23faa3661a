//! Checksums of a file, block by block: written while the file is, compared when it is read, and compared again while it
//! stays memory-mapped.

use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::error::ReadError;

/// Bytes under one checksum: small enough that fetching one row costs little more than its pages, large enough that the
/// checksums take 1/32768 of the file.
pub(crate) const BLOCK: usize = 1 << 18;

/// True if `bytes` have this checksum. The fuzzer cannot guess checksums: for it every one is right, so that it meets the
/// checks behind them.
pub(crate) fn matches(bytes: &[u8], sum: u64) -> bool {
    xxh3_64(bytes) == sum || cfg!(fuzzing)
}

/// The checksums (xxh3, 64 bits) of what is written, one for each [`BLOCK`].
#[derive(Default)]
pub(crate) struct BlockSums {
    sums: Vec<u64>,
    open: Xxh3,
    /// Bytes of the block that is not closed yet.
    filled: usize,
}

impl BlockSums {
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK - self.filled));
            self.open.update(now);
            self.filled += now.len();
            if self.filled == BLOCK {
                self.close();
            }
            bytes = later;
        }
    }

    /// Ends the block that is not full; what follows is a block of its own.
    pub(crate) fn close(&mut self) {
        if self.filled > 0 {
            self.sums.push(self.open.digest());
            self.open.reset();
            self.filled = 0;
        }
    }

    /// The checksums of all blocks that are closed.
    pub(crate) fn closed(&self) -> &[u64] {
        &self.sums
    }
}

/// A memory-mapped file that is looked at again while it is in use, since another process can write over it or shorten it.
///
/// Nothing here reads through the map: in a file that was shortened that would end the process.
#[derive(Debug)]
pub(crate) struct Watched {
    name: String,
    file: File,
    length: u64,
    modified: Mutex<Option<SystemTime>>,
    /// Blocks looked at so far, which says where the next sample begins.
    turn: AtomicUsize,
}

/// Blocks compared at a time while size and time of the file stay the same: 2 MiB, well below a millisecond.
const SAMPLED: usize = 8;

impl Watched {
    /// `name` is that of the file in messages, `about` what is known of it since it was opened.
    pub(crate) fn new(name: &str, file: File, about: &Metadata) -> Watched {
        let modified = Mutex::new(about.modified().ok());
        Watched { name: name.into(), file, length: about.len(), modified, turn: AtomicUsize::new(0) }
    }

    /// Compares the file with what it was: its size, the time of its last change, and some of `blocks` with their
    /// checksums; all of them if the time is another one.
    ///
    /// # Errors
    /// If it is not what it was: what was read from it since cannot be relied on.
    pub(crate) fn recheck(&self, blocks: &[(Range<usize>, u64)]) -> Result<(), ReadError> {
        let changed = |found: String| {
            ReadError::data(&self.name, found, "a file that nobody writes to while it is in use")
                .advice("Replace such a file by renaming a new one to its name; then those who use the old one keep it.")
        };
        let io = |e: std::io::Error| ReadError::io(&self.name, &e);
        let about = self.file.metadata().map_err(io)?;
        if about.len() != self.length {
            return Err(changed(format!("{} bytes, but {} when it was opened", about.len(), self.length)));
        }
        let now = about.modified().ok();
        let touched = now != *self.modified.lock().unwrap_or_else(PoisonError::into_inner);
        let count = if touched { blocks.len() } else { SAMPLED.min(blocks.len()) };
        let first = self.turn.fetch_add(count, Ordering::Relaxed);
        let mut buffer = Vec::new();
        for at in first..first + count {
            let (range, sum) = &blocks[at % blocks.len()];
            buffer.resize(range.len(), 0);
            read_at(&self.file, &mut buffer, range.start as u64).map_err(|e| match e.kind() {
                // Its size was right a moment ago.
                ErrorKind::UnexpectedEof => {
                    changed(format!("shortened to less than {} bytes since it was opened", range.end))
                }
                _ => io(e),
            })?;
            if !matches(&buffer, *sum) {
                let Range { start, end } = range;
                return Err(changed(format!("bytes {start} to {end} that have changed since it was opened")));
            }
        }
        *self.modified.lock().unwrap_or_else(PoisonError::into_inner) = now;
        Ok(())
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, at)
}

#[cfg(not(unix))]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    // The handle is used by nobody else, and its position by nothing else.
    let mut file = file;
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between the look at its size and the reading of a block a file can be shortened: here the block says so from the start.
    #[test]
    fn a_file_that_ends_before_a_block_is_called_shortened() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, b"twelve bytes").unwrap();
        let opened = File::open(file.path()).unwrap();
        let about = opened.metadata().unwrap();
        let watched = Watched::new("big.toprank-data", opened, &about);
        watched.recheck(&[(0..12, xxh3_64(b"twelve bytes"))]).unwrap();
        let error = watched.recheck(&[(0..20, 0)]).unwrap_err();
        assert_eq!(error.fault(), crate::Fault::Data);
        assert!(
            error
                .to_string()
                .starts_with("big.toprank-data: shortened to less than 20 bytes since it was opened"),
            "{error}"
        );
    }
}
