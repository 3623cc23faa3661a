//! Some lists, rows or entries of a data set as a data set, with every column that belongs to them.

use toprank_core::{Lists, Ragged};

use crate::dataset::{Dataset, LineNumbers, Matrix, Sparse};
use crate::names::Names;

/// The given lists, in the given order, whole.
///
/// Where lists share rows (users over the same items), the table of rows stays whole: a row number means the same
/// item in every part.
///
/// ```
/// use toprank_core::Lists;
/// use toprank_data::{Dataset, split::subset_lists};
/// let data = Dataset { lists: Lists::from_lengths(&[1, 2], vec![3.0, 1.0, 0.0]), ..Dataset::default() };
/// assert_eq!(subset_lists(&data, &[1]).lists.labels, [1.0, 0.0]);
/// ```
///
/// # Panics
/// If there is no list of that number.
pub fn subset_lists(data: &Dataset, lists: &[u32]) -> Dataset {
    Kept::lists(&data.lists, lists).of(data)
}

/// The given entries (ascending numbers); lists left without any are dropped. Shared rows stay whole, as in
/// [`subset_lists`].
///
/// # Panics
/// If there is no entry of that number, or the numbers do not ascend.
pub fn subset_entries(data: &Dataset, entries: &[u64]) -> Dataset {
    Kept::entries(&data.lists, entries).of(data)
}

/// The given rows (ascending numbers) and the entries that read them. Every list keeps its place, even if nothing
/// is left of it: a list of multi-label data stands for a label.
///
/// # Panics
/// If there is no row of that number, or the numbers do not ascend.
pub fn subset_rows(data: &Dataset, rows: &[u32]) -> Dataset {
    let kept = Kept::rows(&data.lists, rows, data.rows());
    let Some(_) = &data.lists.rows else { return kept.of(data) };
    let mut part = kept.without_rows(data);
    let rows: Vec<usize> = rows.iter().map(|&row| row as usize).collect();
    copy_rows(data, &rows, &mut part);
    part
}

/// Lists and entries to keep.
#[derive(Default)]
pub(super) struct Kept {
    lists: Vec<usize>,
    entries: Vec<usize>,
    /// Ends of the lists.
    ends: Vec<u64>,
    /// The new number of each row, where rows are left out of those that lists share.
    new_row: Option<Vec<u32>>,
}

impl Kept {
    fn add(&mut self, q: usize, entries: impl Iterator<Item = usize>) {
        self.lists.push(q);
        self.entries.extend(entries);
        self.ends.push(self.entries.len() as u64);
    }

    pub(super) fn lists(from: &Lists, lists: &[u32]) -> Kept {
        let mut kept = Kept::default();
        for &q in lists {
            kept.add(q as usize, from.range(q as usize));
        }
        kept
    }

    pub(super) fn entries(from: &Lists, entries: &[u64]) -> Kept {
        assert!(entries.windows(2).all(|pair| pair[0] < pair[1]), "entries ascend");
        assert!(entries.last().is_none_or(|&last| last < from.entries() as u64), "entries exist");
        let mut kept = Kept::default();
        let mut rest = entries;
        for q in 0..from.len() {
            let here = rest.partition_point(|&entry| entry < from.offsets[q + 1]);
            if here > 0 {
                kept.add(q, rest[..here].iter().map(|&entry| entry as usize));
            }
            rest = &rest[here..];
        }
        kept
    }

    /// `all`: number of rows there are.
    pub(super) fn rows(from: &Lists, rows: &[u32], all: usize) -> Kept {
        const GONE: u32 = u32::MAX;
        assert!(rows.windows(2).all(|pair| pair[0] < pair[1]), "rows ascend");
        let mut new_row = vec![GONE; all];
        for (new, &old) in rows.iter().enumerate() {
            new_row[old as usize] = new as u32;
        }
        let mut kept = Kept::default();
        for q in 0..from.len() {
            kept.add(q, from.range(q).filter(|&entry| new_row[from.row(entry)] != GONE));
        }
        kept.new_row = from.rows.is_some().then_some(new_row);
        kept
    }

    /// The lists that are kept.
    pub(super) fn of_lists(&self, old: &Lists) -> Lists {
        let (kept, entries) = (&self.lists, &self.entries);
        let offsets: Vec<u64> = std::iter::once(0).chain(self.ends.iter().copied()).collect();
        let number = |row: u32| self.new_row.as_ref().map_or(row, |new_row| new_row[row as usize]);
        Lists {
            rows: old.rows.as_ref().map(|rows| entries.iter().map(|&entry| number(rows[entry])).collect()),
            output: old.output.as_ref().map(|output| gather(output, kept)),
            labels: gather(&old.labels, entries),
            item_weights: old.item_weights.as_ref().map(|weights| gather(weights, entries)),
            list_weights: old.list_weights.as_ref().map(|weights| gather(weights, kept)),
            tie_keys: old.tie_keys.as_ref().map(|keys| places(&gather(keys, entries), &offsets)),
            missed: old.missed.as_ref().map(|missed| gather_lists(missed, kept)),
            pairs: old.pairs.as_ref().map(|pairs| pairs.subset(old, kept, entries, &offsets)),
            offsets,
        }
    }

    /// A data set of what is kept, but for what belongs to rows.
    fn without_rows(&self, data: &Dataset) -> Dataset {
        Dataset {
            columns: data.columns.clone(),
            graphs: data.graphs.clone(),
            list_names: data.list_names.as_ref().map(|names| gather_names(names, &self.lists)),
            output_names: data.output_names.clone(),
            times: data.times.as_ref().map(|times| gather(times, &self.entries)),
            lists: self.of_lists(&data.lists),
            ..Dataset::default()
        }
    }

    fn of(&self, data: &Dataset) -> Dataset {
        let mut part = self.without_rows(data);
        if part.lists.rows.is_none() {
            copy_rows(data, &self.entries, &mut part);
        } else {
            part.features = data.features.clone();
            part.item_names.clone_from(&data.item_names);
            part.positions.clone_from(&data.positions);
            part.init_scores.clone_from(&data.init_scores);
            part.extra.clone_from(&data.extra);
            part.lines = data.lines.clone();
        }
        part
    }
}

/// Fills in everything that is kept per row: rows `rows[0]`, `rows[1]`, … of `data`.
pub(crate) fn copy_rows(data: &Dataset, rows: &[usize], part: &mut Dataset) {
    part.features = match &data.features {
        Matrix::Dense { width, values } => {
            let mut copy = Vec::with_capacity(rows.len() * width);
            for row in rows {
                copy.extend_from_slice(&values[row * width..(row + 1) * width]);
            }
            Matrix::Dense { width: *width, values: copy }
        }
        Matrix::Sparse(sparse) => {
            let mut copy = Sparse { width: sparse.width, offsets: vec![0], ..Sparse::default() };
            for &row in rows {
                let range = sparse.offsets[row] as usize..sparse.offsets[row + 1] as usize;
                copy.indices.extend_from_slice(&sparse.indices[range.clone()]);
                copy.values.extend_from_slice(&sparse.values[range]);
                copy.offsets.push(copy.indices.len() as u64);
            }
            Matrix::Sparse(copy)
        }
    };
    part.item_names = data.item_names.as_ref().map(|names| gather_names(names, rows));
    part.positions = data.positions.as_ref().map(|positions| gather(positions, rows));
    // LightGBM allows several starting scores a row; they stand row after row.
    let starts = data.init_scores.as_ref().map_or(1, |scores| scores.len() / data.rows().max(1));
    part.init_scores = data.init_scores.as_ref().map(|scores| {
        rows.iter().flat_map(|row| &scores[row * starts..(row + 1) * starts]).copied().collect()
    });
    part.extra = data.extra.iter().map(|(name, texts)| (name.clone(), gather_names(texts, rows))).collect();
    part.lines = LineNumbers::default();
    for (new, &row) in rows.iter().enumerate() {
        if let Some(line) = data.lines.of(row) {
            part.lines.push(new, line);
        }
    }
}

fn gather<T: Copy>(values: &[T], at: &[usize]) -> Vec<T> {
    at.iter().map(|&i| values[i]).collect()
}

fn gather_names(names: &Names, at: &[usize]) -> Names {
    let mut copy: Names = at.iter().map(|&i| names.get(i)).collect();
    copy.shrink();
    copy
}

fn gather_lists(ragged: &Ragged, at: &[usize]) -> Ragged {
    let mut copy = Ragged { offsets: vec![0], values: Vec::new() };
    for &q in at {
        copy.values.extend_from_slice(ragged.of(q));
        copy.offsets.push(copy.values.len() as u64);
    }
    copy
}

/// The place of each key within its list: the gaps that left entries made are closed, equal keys stay equal.
fn places(keys: &[u32], offsets: &[u64]) -> Vec<u32> {
    let mut places = vec![0; keys.len()];
    let mut order: Vec<usize> = Vec::new();
    for bounds in offsets.windows(2) {
        order.clear();
        order.extend(bounds[0] as usize..bounds[1] as usize);
        order.sort_by_key(|&entry| keys[entry]);
        for (place, &entry) in order.iter().enumerate() {
            let before = place.checked_sub(1).map(|p| order[p]).filter(|&b| keys[b] == keys[entry]);
            places[entry] = before.map_or(place as u32, |b| places[b]);
        }
    }
    places
}
