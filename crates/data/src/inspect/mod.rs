/*!
What is in a data set, and what two data sets share: the questions to ask before any training.

```
use toprank_core::Lists;
use toprank_data::{Dataset, inspect::inspect};
let data = Dataset { lists: Lists::from_lengths(&[3, 1], vec![0.0, 2.0, 0.0, 0.0]), ..Dataset::default() };
let found = inspect(&data);
assert_eq!((found.lists, found.without_relevant, found.single_item), (2, 1, 1));
assert_eq!(found.labels.bins[0].count, 3); // label 0
```

Cost: the data are read a few times, in parallel by fixed blocks whose results are joined in order, so that no figure
depends on the number of threads; 16 bytes of memory a row for the search of duplicates. Rows, names and lists are
compared by 64-bit hashes (xxh3): among ten million rows a chance match has probability 3·10⁻⁶.
*/

mod features;
mod hashes;
mod overlap;
mod summary;

use serde::Serialize;
use toprank_core::Relevant;

use crate::dataset::Dataset;
pub use features::FeatureRow;
pub use hashes::{Duplicates, Repeat};
pub use overlap::{Overlap, Pair, Shared, shared};
pub use summary::{Bin, Histogram, Lengths, OutputRow, Popularity, Summary};

/// At most this many examples are named of anything that is counted.
pub const EXAMPLES: usize = 5;

/// What [`inspect`] found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inspection {
    /// Rows of features (items of interactions).
    pub rows: usize,
    /// Lists: queries, users, labels of multi-label data, or 1.
    pub lists: usize,
    /// Items of all lists together.
    pub entries: usize,
    /// Features of a row.
    pub features: usize,
    /// Bytes in memory.
    pub bytes: usize,
    /// Entries without a label.
    pub unjudged: usize,
    /// Labels of the entries that have one.
    pub labels: Histogram,
    /// Numbers of items of the lists; `None` without lists.
    pub lengths: Option<Lengths>,
    /// Lists in which no label is above 0.
    pub without_relevant: usize,
    /// Lists of two or more judged items that all have the same label: nothing to be ranked there.
    pub same_label: usize,
    /// Lists of one item.
    pub single_item: usize,
    /// Lists of no item.
    pub empty: usize,
    /// One line per feature.
    pub feature_table: Vec<FeatureRow>,
    /// Names of the features that have one value (or none) in all rows.
    pub constant_features: Vec<String>,
    /// Rows with the same features as an earlier row; `None` where rows have no features.
    pub duplicate_rows: Option<Duplicates>,
    /// Items whose name stands twice in one list; `None` where items have no names.
    pub duplicate_items: Option<Duplicates>,
    /// One line per label of multi-label data.
    pub outputs: Vec<OutputRow>,
    /// How entries spread over shared rows (interactions); `None` where lists do not share rows.
    pub popularity: Option<Popularity>,
    /// Weights of the entries, if there are any.
    pub item_weights: Option<Summary>,
    /// Weights of the lists, if there are any.
    pub list_weights: Option<Summary>,
    /// Times of the entries, if there are any.
    pub times: Option<Summary>,
    /// Judged items that were not retrieved (qrels with a run).
    pub missed: usize,
}

/// Looks at all of `data`.
pub fn inspect(data: &Dataset) -> Inspection {
    let lists = &data.lists;
    let relevant = Relevant::default();
    let (mut without_relevant, mut same_label, mut single_item, mut empty) = (0, 0, 0, 0);
    for q in 0..lists.len() {
        let labels = &lists.labels[lists.range(q)];
        without_relevant += usize::from(!labels.iter().any(|&label| relevant.is(label)));
        single_item += usize::from(labels.len() == 1);
        empty += usize::from(labels.is_empty());
        let mut judged = labels.iter().filter(|label| !label.is_nan());
        if let (Some(first), true) = (judged.next(), labels.len() > 1) {
            let mut rest = judged.peekable();
            same_label += usize::from(rest.peek().is_some() && rest.all(|label| label == first));
        }
    }
    let feature_table = features::table(data);
    let constant_features =
        feature_table.iter().filter(|row| row.constant).map(|row| row.name.clone()).collect();
    Inspection {
        rows: data.rows(),
        lists: lists.len(),
        entries: lists.entries(),
        features: data.features.width(),
        bytes: data.bytes(),
        unjudged: lists.labels.iter().filter(|label| label.is_nan()).count(),
        labels: Histogram::of(&lists.labels),
        lengths: Lengths::of(lists),
        without_relevant,
        same_label,
        single_item,
        empty,
        feature_table,
        constant_features,
        duplicate_rows: hashes::duplicate_rows(data),
        duplicate_items: hashes::duplicate_items(data),
        outputs: summary::outputs(data),
        popularity: Popularity::of(data),
        item_weights: lists.item_weights.as_ref().and_then(|w| Summary::of(w.iter().map(|&w| w.into()))),
        list_weights: lists.list_weights.as_ref().and_then(|w| Summary::of(w.iter().map(|&w| w.into()))),
        times: data.times.as_ref().and_then(|times| Summary::of(times.iter().copied())),
        missed: lists.missed.as_ref().map_or(0, |missed| missed.values.len()),
    }
}

#[cfg(test)]
mod tests;
