//! What two data sets share: the leaks between train and test.

use rayon::prelude::*;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::EXAMPLES;
use super::hashes::{label_bits, list_of_entries, of_items, of_rows, pair, row_of};
use crate::dataset::Dataset;

/// What the second data set shares with the first. A field is `None` where the question has no answer: names in
/// data without names, features in data without features.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overlap {
    /// Lists of the second with the name of a list of the first.
    pub list_names: Option<Shared>,
    /// Lists of the second with the same items (by features; without features by names) and labels as a list of the
    /// first, in any order, under any name.
    pub list_contents: Option<Shared>,
    /// Different item names of the second that the first has too.
    pub items: Option<Shared>,
    /// Entries of the second with the list name and the item name of an entry of the first.
    pub entries: Option<Shared>,
    /// Rows of the second with the features and the label of a row of the first.
    pub rows: Option<Shared>,
    /// Rows of the second with the features of a row of the first that has another label.
    pub conflicting_rows: Option<Shared>,
}

/// How many are shared, and the first few.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Shared {
    /// How many of the second.
    pub count: u64,
    /// How many the second has in all.
    pub of: u64,
    /// The first few in the order of the second.
    pub examples: Vec<Pair>,
}

/// One thing that both data sets hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// Its name in the second.
    pub name: String,
    /// Line in the first, if known.
    pub first_line: Option<u64>,
    /// Line in the second, if known.
    pub second_line: Option<u64>,
}

/// Looks for what `second` (test) shares with `first` (train).
///
/// ```
/// use toprank_core::Lists;
/// use toprank_data::{Dataset, Matrix, inspect::shared};
/// let data = |features: [f32; 2]| Dataset {
///     lists: Lists::from_lengths(&[2], vec![1.0, 0.0]),
///     features: Matrix::Dense { width: 1, values: features.to_vec() },
///     ..Dataset::default()
/// };
/// let overlap = shared(&data([5.0, 6.0]), &data([6.0, 7.0]));
/// assert_eq!(overlap.conflicting_rows.unwrap().count, 1); // 6 has label 0 in the first, 1 in the second
/// ```
pub fn shared(first: &Dataset, second: &Dataset) -> Overlap {
    let both = |f: fn(&Dataset) -> Option<Vec<u64>>| Some((f(first)?, f(second)?));
    let row_names = |row: usize| match &second.item_names {
        Some(names) if !names.get(row).is_empty() => names.get(row).to_string(),
        _ => format!("row {row}"),
    };
    let list_name = |q: usize| second.list_name(q);
    let list_names = both(|data| {
        let names = data.list_names.as_ref()?;
        Some(names.iter().map(|name| xxh3_64(name.as_bytes())).collect())
    });
    let (rows, conflicting_rows) = match both(of_rows) {
        None => (None, None),
        Some((a, b)) => {
            let (equal, conflicting) = join_labelled(&a, &labels_of_rows(first), &b, &labels_of_rows(second));
            let tell = |found| tell(found, b.len(), row_names, |r| first.lines.of(r), |r| second.lines.of(r));
            (Some(tell(equal)), Some(tell(conflicting)))
        }
    };
    let first_list_line = |q: usize| list_line(first, q);
    let second_list_line = |q: usize| list_line(second, q);
    let by_list = |(a, b): (Vec<u64>, Vec<u64>)| {
        tell(join(&a, &b), b.len(), list_name, first_list_line, second_list_line)
    };
    let items = both(of_items).map(|(a, b)| {
        // Each name once: a document stands in many lists.
        let mut names: Vec<(u64, usize)> = b.iter().copied().zip(0..).collect();
        names.par_sort_unstable();
        names.dedup_by_key(|name| name.0);
        names.par_sort_unstable_by_key(|name| name.1);
        let keys: Vec<u64> = names.iter().map(|name| name.0).collect();
        let row = |i: usize| names[i].1;
        let found = join(&a, &keys);
        tell(found, keys.len(), |i| row_names(row(i)), |r| first.lines.of(r), |i| second.lines.of(row(i)))
    });
    Overlap {
        list_names: list_names.map(by_list),
        list_contents: contents(first, second).map(by_list),
        items,
        entries: both(entries).map(|(a, b)| {
            let name = |entry: usize| {
                let list = second.lists.offsets.partition_point(|&offset| offset <= entry as u64) - 1;
                format!("{} / {}", second.list_name(list), row_names(row_of(second, entry)))
            };
            let line = |data: &Dataset, entry: usize| data.lines.of(row_of(data, entry));
            tell(join(&a, &b), b.len(), name, |e| line(first, e), |e| line(second, e))
        }),
        rows,
        conflicting_rows,
    }
}

/// One number per entry for its list's name and its own.
fn entries(data: &Dataset) -> Option<Vec<u64>> {
    let lists: Vec<u64> = data.list_names.as_ref()?.iter().map(|name| xxh3_64(name.as_bytes())).collect();
    let items = of_items(data)?;
    let list_of = list_of_entries(data);
    let key = |entry: usize| pair(lists[list_of[entry] as usize], items[row_of(data, entry)]);
    Some((0..list_of.len()).into_par_iter().map(key).collect())
}

/// One number per list for its items and labels, in any order.
fn contents(first: &Dataset, second: &Dataset) -> Option<(Vec<u64>, Vec<u64>)> {
    let of = |data: &Dataset, rows: Vec<u64>| -> Vec<u64> {
        (0..data.lists.len())
            .into_par_iter()
            .map(|q| {
                let entry = |e: usize| pair(rows[row_of(data, e)], label_bits(data.lists.labels[e]));
                let sum = data.lists.range(q).map(entry).fold(0, u64::wrapping_add);
                pair(sum, data.lists.range(q).len() as u64)
            })
            .collect()
    };
    let rows = match (of_rows(first), of_rows(second)) {
        (Some(a), Some(b)) => (a, b),
        _ => (of_items(first)?, of_items(second)?),
    };
    Some((of(first, rows.0), of(second, rows.1)))
}

/// One number per row for the labels it has in all the lists that read it.
fn labels_of_rows(data: &Dataset) -> Vec<u64> {
    let mut labels = vec![0u64; data.rows()];
    for q in 0..data.lists.len() {
        let output = data.lists.output.as_ref().map_or(0, |output| u64::from(output[q]));
        for entry in data.lists.range(q) {
            let label = &mut labels[row_of(data, entry)];
            *label = label.wrapping_add(pair(output, label_bits(data.lists.labels[entry])));
        }
    }
    labels
}

/// The line on which list `q` begins.
fn list_line(data: &Dataset, q: usize) -> Option<u64> {
    let range = data.lists.range(q);
    if range.is_empty() { None } else { data.lines.of(row_of(data, range.start)) }
}

/// Number and first few of the places in the second, each with its place in the first.
struct Found {
    count: u64,
    few: Vec<(usize, usize)>,
}

/// Finds each of `b` among `a`; of equal ones in `a` the earliest counts.
fn join(a: &[u64], b: &[u64]) -> Found {
    let index = super::hashes::sorted(a);
    let place = |key: u64| {
        let at = index.partition_point(|known| known.0 < key);
        index.get(at).filter(|known| known.0 == key).map(|known| known.1 as usize)
    };
    let places: Vec<Option<usize>> = b.par_iter().map(|&key| place(key)).collect();
    collect(places.into_iter())
}

/// Finds each row of `b` among `a`: (with an equal label, only with other labels).
fn join_labelled(a: &[u64], a_labels: &[u64], b: &[u64], b_labels: &[u64]) -> (Found, Found) {
    let mut index: Vec<(u64, u64, u32)> =
        a.iter().zip(a_labels).zip(0..).map(|((&key, &label), row)| (key, label, row)).collect();
    index.par_sort_unstable();
    let places: Vec<Option<(bool, usize)>> = b
        .par_iter()
        .zip(b_labels)
        .map(|(&key, &label)| {
            let at = |label: u64| index.partition_point(|known| (known.0, known.1) < (key, label));
            let here = |at: usize| index.get(at).filter(|known| known.0 == key);
            match here(at(label)) {
                Some(known) if known.1 == label => Some((true, known.2 as usize)),
                _ => here(at(0)).map(|known| (false, known.2 as usize)),
            }
        })
        .collect();
    let only = |wanted: bool| {
        collect(places.iter().map(|place| place.filter(|(equal, _)| *equal == wanted).map(|(_, row)| row)))
    };
    (only(true), only(false))
}

fn collect(places: impl Iterator<Item = Option<usize>>) -> Found {
    let mut found = Found { count: 0, few: Vec::new() };
    for (second, first) in places.enumerate().filter_map(|(second, first)| Some((second, first?))) {
        found.count += 1;
        if found.few.len() < EXAMPLES {
            found.few.push((second, first));
        }
    }
    found
}

fn tell(
    found: Found,
    of: usize,
    name: impl Fn(usize) -> String,
    first_line: impl Fn(usize) -> Option<u64>,
    second_line: impl Fn(usize) -> Option<u64>,
) -> Shared {
    let example = |(second, first): (usize, usize)| Pair {
        name: name(second),
        first_line: first_line(first),
        second_line: second_line(second),
    };
    Shared { count: found.count, of: of as u64, examples: found.few.into_iter().map(example).collect() }
}
