//! Rows, names and lists as 64-bit numbers, and what repeats within one data set.

use rayon::prelude::*;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::EXAMPLES;
use crate::dataset::{Dataset, Matrix};

/// What stands more than once.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Duplicates {
    /// How many repeat an earlier one anywhere (names: in the same list).
    pub overall: u64,
    /// How many repeat an earlier one of the same list.
    pub within_list: u64,
    /// How many of those have another label than the one they repeat.
    pub conflicting: u64,
    /// The first few that repeat one of their own list; if there is none, the first few of all.
    pub examples: Vec<Repeat>,
}

/// Something that stands twice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Repeat {
    /// Its list.
    pub list: String,
    /// Its name, if it has one.
    pub item: Option<String>,
    /// Its line.
    pub line: Option<u64>,
    /// The list of the one that it repeats.
    pub first_list: String,
    /// The line of the one that it repeats.
    pub first_line: Option<u64>,
}

/// One number per row that is equal for equal features, be they held dense or sparse, with or without zeros at the
/// end. `None` without features.
pub(super) fn of_rows(data: &Dataset) -> Option<Vec<u64>> {
    const BLOCK: usize = 1024;
    if data.features.width() == 0 {
        return None;
    }
    let mut hashes = vec![0; data.rows()];
    let hash = |buffer: &mut Vec<u8>, row: usize| {
        buffer.clear();
        let mut see = |feature: u32, value: f32| {
            if value != 0.0 {
                let bits = if value.is_nan() { f32::NAN } else { value }.to_bits();
                buffer.extend_from_slice(&(u64::from(feature) << 32 | u64::from(bits)).to_le_bytes());
            }
        };
        match &data.features {
            Matrix::Dense { width, values } => {
                let row = &values[row * width..(row + 1) * width];
                row.iter().zip(0..).for_each(|(&value, feature)| see(feature, value));
            }
            Matrix::Sparse(sparse) => {
                for i in sparse.offsets[row] as usize..sparse.offsets[row + 1] as usize {
                    see(sparse.indices[i], sparse.values[i]);
                }
            }
        }
        xxh3_64(buffer)
    };
    hashes.par_chunks_mut(BLOCK).enumerate().for_each_init(Vec::new, |buffer, (block, hashes)| {
        for (i, slot) in hashes.iter_mut().enumerate() {
            *slot = hash(buffer, block * BLOCK + i);
        }
    });
    Some(hashes)
}

/// One number per row that is equal for equal names. `None` without names.
pub(super) fn of_items(data: &Dataset) -> Option<Vec<u64>> {
    let names = data.item_names.as_ref()?;
    Some((0..names.len()).into_par_iter().map(|row| xxh3_64(names.get(row).as_bytes())).collect())
}

/// Two numbers as one, in which their order matters.
pub(super) fn pair(a: u64, b: u64) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&a.to_le_bytes());
    bytes[8..].copy_from_slice(&b.to_le_bytes());
    xxh3_64(&bytes)
}

/// A label as a number; all NaN are one, −0 is 0.
pub(super) fn label_bits(label: f32) -> u64 {
    u64::from(if label.is_nan() { f32::NAN } else { label + 0.0 }.to_bits())
}

pub(super) fn row_of(data: &Dataset, entry: usize) -> usize {
    data.lists.rows.as_ref().map_or(entry, |rows| rows[entry] as usize)
}

/// (number, place), ascending: equal numbers stand together, the earliest first.
pub(super) fn sorted(hashes: &[u64]) -> Vec<(u64, u32)> {
    let mut pairs: Vec<(u64, u32)> = hashes.iter().copied().zip(0..).collect();
    pairs.par_sort_unstable();
    pairs
}

/// The list of each entry.
pub(super) fn list_of_entries(data: &Dataset) -> Vec<u32> {
    let mut lists = Vec::with_capacity(data.lists.entries());
    for q in 0..data.lists.len() {
        lists.resize(data.lists.offsets[q + 1] as usize, q as u32);
    }
    lists
}

/// Rows with the features of an earlier row.
pub(super) fn duplicate_rows(data: &Dataset) -> Option<Duplicates> {
    let hashes = of_rows(data)?;
    if data.lists.rows.is_some() {
        // A row in several lists is no repetition; which list a row belongs to has no answer.
        let pairs = sorted(&hashes);
        let repeats = pairs.windows(2).filter(|pair| pair[0].0 == pair[1].0).count();
        return Some(Duplicates { overall: repeats as u64, ..Duplicates::default() });
    }
    Some(duplicates(data, &hashes, false))
}

/// Names that stand twice in a list.
pub(super) fn duplicate_items(data: &Dataset) -> Option<Duplicates> {
    let names = of_items(data)?;
    let list_of = list_of_entries(data);
    let hashes: Vec<u64> = (0..data.lists.entries())
        .into_par_iter()
        .map(|entry| pair(u64::from(list_of[entry]), names[row_of(data, entry)]))
        .collect();
    Some(duplicates(data, &hashes, true))
}

/// What repeats among `hashes`, one per entry.
fn duplicates(data: &Dataset, hashes: &[u64], skip_unnamed: bool) -> Duplicates {
    let labels = &data.lists.labels;
    let list_of = list_of_entries(data);
    let pairs = sorted(hashes);
    let mut found = Duplicates::default();
    // (repeats within a list, repeats overall), each (later entry, earlier entry), to take the first few from.
    let mut within: Vec<(u32, u32)> = Vec::new();
    let mut overall: Vec<(u32, u32)> = Vec::new();
    let unnamed = |entry: u32| {
        skip_unnamed
            && data
                .item_names
                .as_ref()
                .is_some_and(|names| names.get(row_of(data, entry as usize)).is_empty())
    };
    for same in pairs.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1 && !unnamed(same[0].1)) {
        found.overall += same.len() as u64 - 1;
        keep_first(&mut overall, (same[1].1, same[0].1));
        // Entries ascend here, so those of one list stand together.
        for of_list in same.chunk_by(|a, b| list_of[a.1 as usize] == list_of[b.1 as usize]) {
            let first = of_list[0].1;
            for &(_, entry) in &of_list[1..] {
                found.within_list += 1;
                let (a, b) = (labels[entry as usize], labels[first as usize]);
                found.conflicting += u64::from(label_bits(a) != label_bits(b));
                keep_first(&mut within, (entry, first));
            }
        }
    }
    let chosen = if within.is_empty() { overall } else { within };
    let list = |entry: u32| data.list_name(list_of[entry as usize] as usize);
    let line = |entry: u32| data.lines.of(row_of(data, entry as usize));
    found.examples = chosen
        .into_iter()
        .map(|(entry, first)| Repeat {
            list: list(entry),
            item: data.item_names.as_ref().map(|names| names.get(row_of(data, entry as usize)).to_string()),
            line: line(entry),
            first_list: list(first),
            first_line: line(first),
        })
        .collect();
    found
}

/// Keeps the few smallest.
pub(super) fn keep_first<T: Ord>(few: &mut Vec<T>, next: T) {
    if few.len() == EXAMPLES && few.last().is_some_and(|last| *last <= next) {
        return;
    }
    let at = few.partition_point(|known| *known <= next);
    few.insert(at, next);
    few.truncate(EXAMPLES);
}
