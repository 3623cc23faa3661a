//! The bytes of a file and what is known of them: which blocks were compared with their sums.

use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use memmap2::Mmap;
use rayon::prelude::*;

use super::layout::{Layout, Section, damaged};
use super::number::Number;
use crate::checksums::{BLOCK, Watched, matches};
use crate::error::ReadError;
use crate::names::Names;

/// A file, mapped or in memory.
#[derive(Debug)]
pub(super) struct Store {
    pub file: String,
    pub layout: Layout,
    bytes: Bytes,
    /// `None`: the bytes are in memory.
    watched: Option<Watched>,
    /// One state per block.
    states: Vec<AtomicU8>,
    fault: OnceLock<ReadError>,
}

#[derive(Debug)]
enum Bytes {
    Mapped(Mmap),
    Memory(Vec<u8>),
}

impl Bytes {
    fn all(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Memory(bytes) => bytes,
        }
    }
}

const UNKNOWN: u8 = 0;
const GOOD: u8 = 1;
const BAD: u8 = 2;

impl Store {
    /// Maps a file; only head, table and sums are read.
    pub(super) fn open(path: &Path) -> Result<Store, ReadError> {
        let file = path.display().to_string();
        let io = |e: &std::io::Error| ReadError::io(&file, e);
        let opened = std::fs::File::open(path).map_err(|e| io(&e))?;
        let about = opened.metadata().map_err(|e| io(&e))?;
        if !about.is_file() {
            let found = if about.is_dir() { "a folder" } else { "a pipe or device" };
            return Err(ReadError::options(&file, found, "a regular file, which can be mapped"));
        }
        // A map of no bytes is refused by some systems.
        if about.len() == 0 {
            return Store::new(file, Bytes::Memory(Vec::new()), None);
        }
        // SAFETY: the map is only read, and as bytes, for which every pattern is valid; everything derived from them
        // is checked against bounds. What remains is that another process changes or shortens the file while it is
        // mapped, which the caller is told not to do and which `Store::recheck` finds between two uses; our own writers
        // replace files by renaming, which leaves a mapped file whole.
        let map = unsafe { Mmap::map(&opened) }.map_err(|e| io(&e))?;
        let watched = Watched::new(&file, opened, &about);
        Store::new(file, Bytes::Mapped(map), Some(watched))
    }

    /// A file whose bytes are in memory.
    pub(super) fn memory(file: &str, bytes: Vec<u8>) -> Result<Store, ReadError> {
        Store::new(file.to_string(), Bytes::Memory(bytes), None)
    }

    fn new(file: String, bytes: Bytes, watched: Option<Watched>) -> Result<Store, ReadError> {
        let layout = Layout::parse(&file, bytes.all())?;
        let states = layout.sums.iter().map(|_| AtomicU8::new(UNKNOWN)).collect();
        Ok(Store { file, layout, bytes, watched, states, fault: OnceLock::new() })
    }

    /// Why some bytes fetched until now cannot be trusted.
    pub(super) fn fault(&self) -> Option<&ReadError> {
        self.fault.get()
    }

    /// Notes that what is stored makes no sense, though its sums are right.
    pub(super) fn note(&self, what: impl FnOnce() -> String) {
        self.fault.get_or_init(|| damaged(&self.file, what(), "an undamaged file"));
    }

    /// Compares the file with what it was when it was opened; what is different is a fault from then on. Blocks that
    /// nobody has used yet are compared when they are used.
    pub(super) fn recheck(&self) {
        let Some(watched) = &self.watched else { return };
        let in_use = |number: &usize| self.states[*number].load(Ordering::Relaxed) == GOOD;
        let blocks: Vec<(Range<usize>, u64)> = self
            .layout
            .table
            .sections
            .iter()
            .flat_map(|section| {
                (0..section.blocks()).map(move |block| (section.block(block), section.first_block + block))
            })
            .filter(|(_, number)| in_use(number))
            .map(|(range, number)| (range, self.layout.sums[number]))
            .collect();
        if let Err(changed) = watched.recheck(&blocks) {
            self.fault.get_or_init(|| changed);
        }
    }

    /// Bytes of a section, or nothing (and a fault) if they are not there or do not match their sums. A block is
    /// compared with its sum when it is first used.
    pub(super) fn fetch(&self, section: &Section, range: Range<usize>) -> Option<&[u8]> {
        if range.start > range.end || range.end > section.bytes as usize {
            self.note(|| format!("bytes {} to {} of section {}", range.start, range.end, section.name));
            return None;
        }
        if !range.is_empty() {
            let good = |block: usize| match self.states[section.first_block + block].load(Ordering::Relaxed) {
                GOOD => true,
                BAD => false,
                _ => self.compare(section, block),
            };
            if !(range.start / BLOCK..=(range.end - 1) / BLOCK).all(good) {
                self.fault.get_or_init(|| self.first_bad(section));
                return None;
            }
        }
        Some(&self.bytes.all()[section.at as usize + range.start..section.at as usize + range.end])
    }

    #[cold]
    fn compare(&self, section: &Section, block: usize) -> bool {
        let number = section.first_block + block;
        let good = matches(&self.bytes.all()[section.block(block)], self.layout.sums[number]);
        self.states[number].store(if good { GOOD } else { BAD }, Ordering::Relaxed);
        good
    }

    /// The first block of a section known to be bad, as an error.
    fn first_bad(&self, section: &Section) -> ReadError {
        let states = &self.states[section.first_block..][..section.blocks()];
        let block = states.iter().position(|state| state.load(Ordering::Relaxed) == BAD).unwrap_or(0);
        let Range { start, end } = section.block(block);
        let found = format!("section {}: bytes {start} to {end} do not match their checksum", section.name);
        damaged(&self.file, found, "an undamaged file")
    }

    /// Compares every block of a section that was not compared before with its sum.
    pub(super) fn check(&self, section: &Section) -> Result<(), ReadError> {
        let good = |&block: &usize| match self.states[section.first_block + block].load(Ordering::Relaxed) {
            UNKNOWN => self.compare(section, block),
            state => state == GOOD,
        };
        match (0..section.blocks()).into_par_iter().filter(|block| !good(block)).min() {
            None => Ok(()),
            Some(_) => Err(self.first_bad(section)),
        }
    }

    /// All bytes of the section called `name`, checked; `None`: there is none.
    fn whole(&self, name: &str, kind: &str) -> Result<Option<&[u8]>, ReadError> {
        let Some(section) = self.layout.section(&self.file, name, kind)? else { return Ok(None) };
        self.check(section)?;
        Ok(Some(&self.bytes.all()[section.at as usize..(section.at + section.bytes) as usize]))
    }

    /// A column of numbers.
    pub(super) fn column<T: Number>(&self, name: &str) -> Result<Option<Vec<T>>, ReadError> {
        let Some(bytes) = self.whole(name, T::KIND)? else { return Ok(None) };
        match T::read_all(bytes) {
            Some(values) => Ok(Some(values)),
            None => {
                let found = format!("section {name} of {} bytes", bytes.len());
                Err(damaged(&self.file, found, &format!("integers of type {}", T::KIND)))
            }
        }
    }

    /// A column of this many numbers.
    pub(super) fn column_of<T: Number>(&self, name: &str, count: usize) -> Result<Option<Vec<T>>, ReadError> {
        let column = self.column::<T>(name)?;
        self.counted(name, column.as_ref().map(Vec::len), count)?;
        Ok(column)
    }

    /// A column of names.
    pub(super) fn names(&self, name: &str) -> Result<Option<Names>, ReadError> {
        let (text, ends) = (format!("{name}.text"), format!("{name}.ends"));
        let (text, ends) = match (self.whole(&text, "utf8")?, self.column(&ends)?) {
            (None, None) => return Ok(None),
            (text, ends) => (text.unwrap_or_default(), ends.unwrap_or_default()),
        };
        let names = std::str::from_utf8(text).ok().and_then(|text| Names::from_parts(text.into(), ends));
        let Some(names) = names else {
            return Err(damaged(&self.file, format!("section {name} that holds no names"), "names in UTF-8"));
        };
        Ok(Some(names))
    }

    /// A column of this many names.
    pub(super) fn names_of(&self, name: &str, count: usize) -> Result<Option<Names>, ReadError> {
        let names = self.names(name)?;
        self.counted(name, names.as_ref().map(Names::len), count)?;
        Ok(names)
    }

    fn counted(&self, name: &str, found: Option<usize>, count: usize) -> Result<(), ReadError> {
        match found {
            Some(found) if found != count => {
                Err(damaged(&self.file, format!("section {name} of {found} values"), &count.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// A section that must be there.
    pub(super) fn required(&self, name: &str, kind: &str) -> Result<&Section, ReadError> {
        self.layout.section(&self.file, name, kind)?.ok_or_else(|| self.lacking(name))
    }

    /// The error that a section is not there.
    pub(super) fn lacking(&self, name: &str) -> ReadError {
        damaged(&self.file, format!("no section {name}"), "one")
    }
}
