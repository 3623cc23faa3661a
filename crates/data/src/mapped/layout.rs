//! The layout of the file: head, sections, checksums, table, foot. Nothing here trusts the file.

use serde::{Deserialize, Serialize};

use crate::checksums::{BLOCK, matches};
use crate::error::{ReadError, show};

/// How every file starts: no text, and changed by whoever takes it for text (line ends, end of file).
pub(crate) const MARK: &[u8; 16] = b"\x89toprank-data\r\n\x1a";
/// How every whole file ends.
pub(super) const END: &[u8; 8] = b"\x89trdata\n";
/// The version written and read.
pub const VERSION: u32 = 1;
/// Bytes before the first section.
pub(super) const HEAD: usize = 64;
/// Bytes behind the table: where it starts, its length, its sum, [`END`].
pub(super) const FOOT: usize = 32;
/// Every section starts at a multiple of this.
pub(super) const ALIGN: u64 = 64;

/// How features are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Form {
    /// Section `features`: row after row.
    Dense,
    /// Sections `cells` (feature, value) and `row_offsets`.
    Sparse,
}

/// The table at the end of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    pub rows: u64,
    pub width: u64,
    pub form: Form,
    /// Names of further columns, in the order of their sections.
    pub extra: Vec<String>,
    pub sections: Vec<Section>,
    /// One sum (xxh3, 64 bits) per block of every section, in the order of the sections.
    pub sums_at: u64,
    /// Sum of the sums.
    pub sums_xxh3: u64,
}

/// One column of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Section {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub at: u64,
    pub bytes: u64,
    /// Number of its first block among all blocks of the file.
    #[serde(skip)]
    pub first_block: usize,
}

impl Section {
    /// Number of its blocks.
    pub(super) fn blocks(&self) -> usize {
        (self.bytes as usize).div_ceil(BLOCK)
    }

    /// Where block `block` stands in the file.
    pub(super) fn block(&self, block: usize) -> std::ops::Range<usize> {
        let start = self.at as usize + block * BLOCK;
        start..(start + BLOCK).min((self.at + self.bytes) as usize)
    }
}

/// A table whose every place lies inside the file, and the sums of all blocks.
#[derive(Debug)]
pub(super) struct Layout {
    pub table: Table,
    pub sums: Vec<u64>,
}

/// A file that is not what it should be.
pub(super) fn damaged(file: &str, found: impl AsRef<str>, expected: &str) -> ReadError {
    ReadError::data(file, found, expected).advice("Copy it again, or write it again with `toprank convert`.")
}

const WHOLE: &str = "an undamaged toprank-data file";

impl Layout {
    /// Reads head, foot, table and sums of a file that consists of `bytes`, and checks them.
    pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Layout, ReadError> {
        check_head(file, bytes)?;
        let truncated = || {
            let found = format!("{} bytes without the mark that ends a whole file", bytes.len());
            damaged(file, found, "a file that was not cut off")
        };
        let Some(foot_at) = bytes.len().checked_sub(FOOT).filter(|at| *at >= HEAD) else {
            return Err(truncated());
        };
        let foot = &bytes[foot_at..];
        if !foot.ends_with(END) {
            return Err(truncated());
        }
        let number = |at: usize| u64_at(foot, at);
        let (table_at, table_bytes, sum) = (number(0), number(8), number(16));
        if table_at.checked_add(table_bytes) != Some(foot_at as u64) || table_at < HEAD as u64 {
            let found = format!("a table of {table_bytes} bytes at byte {table_at} of {}", bytes.len());
            return Err(damaged(file, found, WHOLE));
        }
        let table_text = &bytes[table_at as usize..foot_at];
        if !matches(table_text, sum) {
            return Err(damaged(file, "a table of sections that does not match its checksum", WHOLE));
        }
        let mut table: Table = serde_json::from_slice(table_text)
            .map_err(|e| damaged(file, format!("a table of sections that cannot be read ({e})"), WHOLE))?;
        let blocks = check_places(file, &mut table, table_at)?;
        let sums = sums(file, bytes, &table, table_at, blocks)?;
        Ok(Layout { table, sums })
    }

    /// The section called `name`, checked to be of this type.
    pub(super) fn section(&self, file: &str, name: &str, kind: &str) -> Result<Option<&Section>, ReadError> {
        let Some(section) = self.table.sections.iter().find(|section| section.name == name) else {
            return Ok(None);
        };
        if section.kind != kind {
            let found =
                format!("section {} of type {}", show(name.as_bytes()), show(section.kind.as_bytes()));
            return Err(damaged(file, found, &format!("type {kind}")));
        }
        Ok(Some(section))
    }
}

fn check_head(file: &str, bytes: &[u8]) -> Result<(), ReadError> {
    if !bytes.starts_with(MARK) {
        let found = match bytes {
            [] => "an empty file".to_string(),
            [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => "a packed file".to_string(),
            _ => format!("a start with {}", show(&bytes[..bytes.len().min(MARK.len())])),
        };
        return Err(ReadError::data(file, found, "a toprank-data file")
            .advice("Make one with: toprank convert FILE FILE.toprank-data."));
    }
    let version = bytes
        .get(MARK.len()..MARK.len() + 4)
        .map_or(0, |four| u32::from_le_bytes(four.try_into().unwrap_or_default()));
    if version != VERSION {
        let found = format!("version {version} of the format");
        return Err(ReadError::data(file, found, format!("version {VERSION}"))
            .advice("Write it again from its source with this toprank, or use the toprank that wrote it."));
    }
    Ok(())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).map_or(0, |eight| u64::from_le_bytes(eight.try_into().unwrap_or_default()))
}

/// Checks that the sections follow each other between head and table, and numbers the blocks; returns their number.
fn check_places(file: &str, table: &mut Table, table_at: u64) -> Result<usize, ReadError> {
    const MOST: usize = 64;
    if table.sections.len() > MOST {
        let found = format!("{} sections", table.sections.len());
        return Err(damaged(file, found, &format!("at most {MOST}")));
    }
    if table.rows > u64::from(u32::MAX) {
        return Err(damaged(file, format!("{} rows", table.rows), "at most 4294967295"));
    }
    let (mut blocks, mut least) = (0, HEAD as u64);
    for section in &mut table.sections {
        let end = section.at.checked_add(section.bytes).filter(|end| *end <= table_at);
        let (Some(end), true, true) = (end, section.at >= least, section.at.is_multiple_of(ALIGN)) else {
            let Section { name, at, bytes, .. } = section;
            let found = format!("section {} of {bytes} bytes at byte {at}", show(name.as_bytes()));
            return Err(damaged(file, found, &format!("sections one after the other up to byte {table_at}")));
        };
        (section.first_block, least) = (blocks, end);
        blocks += section.blocks();
    }
    for (i, section) in table.sections.iter().enumerate() {
        if table.sections[..i].iter().any(|other| other.name == section.name) {
            return Err(damaged(file, format!("section {} twice", show(section.name.as_bytes())), WHOLE));
        }
    }
    Ok(blocks)
}

fn sums(
    file: &str,
    bytes: &[u8],
    table: &Table,
    table_at: u64,
    blocks: usize,
) -> Result<Vec<u64>, ReadError> {
    let range = blocks.checked_mul(8).and_then(|length| {
        let end = (table.sums_at as usize).checked_add(length)?;
        (end as u64 <= table_at).then_some(table.sums_at as usize..end)
    });
    let Some(stored) = range.and_then(|range| bytes.get(range)) else {
        let found = format!("{blocks} checksums at byte {}", table.sums_at);
        return Err(damaged(file, found, WHOLE));
    };
    if !matches(stored, table.sums_xxh3) {
        return Err(damaged(file, "a list of checksums that does not match its own", WHOLE));
    }
    Ok(stored.chunks_exact(8).map(|eight| u64_at(eight, 0)).collect())
}
