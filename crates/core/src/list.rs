/*!
Lists: the documents of a query, the items of a user, the samples of a label, or a whole binary data set.

One ragged layout from the reader to the kernels: `offsets` divide flat columns into lists, without padding.
An **entry** is one item of one list; a **row** is one row of features. They are the same thing unless lists
share rows (several labels over the same samples, users over the same items): then `rows` is the row that each
entry reads and `output` the output of the model that each list reads.
*/

/// Ragged numbers: list `q` owns `values[offsets[q]..offsets[q + 1]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ragged {
    /// `len + 1` ascending positions, the first 0.
    pub offsets: Vec<u64>,
    /// All values, list after list.
    pub values: Vec<f32>,
}

impl Ragged {
    /// The values of list `q`.
    pub fn of(&self, q: usize) -> &[f32] {
        &self.values[self.offsets[q] as usize..self.offsets[q + 1] as usize]
    }
}

/// One preference: of the items of a list, `better` should be ranked above `worse`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preference {
    /// Position of the better item within its list.
    pub better: u32,
    /// Position of the worse item within its list.
    pub worse: u32,
    /// Weight of the pair, finite and ≥ 0.
    pub weight: f32,
}

/// Preferences of every list: list `q` owns `pairs[offsets[q]..offsets[q + 1]]`. A pair that is there twice counts twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preferences {
    /// `len + 1` ascending positions, the first 0.
    pub offsets: Vec<u64>,
    /// All pairs, list after list.
    pub pairs: Vec<Preference>,
}

impl Preferences {
    /// The pairs of list `q`.
    pub fn of(&self, q: usize) -> &[Preference] {
        &self.pairs[self.offsets[q] as usize..self.offsets[q + 1] as usize]
    }

    /// Preferences of `lists` lists from (list, pair) in any order. Within a list they are sorted by better item, worse item and
    /// weight, so that the order in which they came changes nothing.
    ///
    /// ```
    /// use toprank_core::{Preference, Preferences};
    /// let pair = |better, worse| Preference { better, worse, weight: 1.0 };
    /// let all = Preferences::from_pairs(2, vec![(1, pair(2, 0)), (1, pair(0, 1))]);
    /// assert_eq!(all.of(1), [pair(0, 1), pair(2, 0)]);
    /// assert!(all.of(0).is_empty());
    /// ```
    ///
    /// # Panics
    /// If there is no list of that number.
    pub fn from_pairs(lists: usize, mut pairs: Vec<(u32, Preference)>) -> Preferences {
        assert!(pairs.iter().all(|(q, _)| (*q as usize) < lists), "pairs of lists that exist");
        let key = |(q, pair): &(u32, Preference)| (*q, pair.better, pair.worse);
        pairs.sort_by(|a, b| key(a).cmp(&key(b)).then(a.1.weight.total_cmp(&b.1.weight)));
        let mut offsets = vec![0; lists + 1];
        for (q, _) in &pairs {
            offsets[*q as usize + 1] += 1;
        }
        for q in 0..lists {
            offsets[q + 1] += offsets[q];
        }
        Preferences { offsets, pairs: pairs.into_iter().map(|(_, pair)| pair).collect() }
    }

    /// The preferences of some entries of some lists: list `lists[k]` keeps `entries[offsets[k]..offsets[k + 1]]` (ascending),
    /// and the pairs of which both items are among them. `of` are the lists that the pairs belong to.
    #[must_use]
    pub fn subset(&self, of: &Lists, lists: &[usize], entries: &[usize], offsets: &[u64]) -> Preferences {
        let mut kept = Preferences { offsets: vec![0], pairs: Vec::new() };
        for (k, &q) in lists.iter().enumerate() {
            let first = of.range(q).start;
            let here = &entries[offsets[k] as usize..offsets[k + 1] as usize];
            let place = |item: u32| here.binary_search(&(first + item as usize)).ok().map(|at| at as u32);
            kept.pairs.extend(self.of(q).iter().filter_map(|pair| {
                Some(Preference { better: place(pair.better)?, worse: place(pair.worse)?, ..*pair })
            }));
            kept.offsets.push(kept.pairs.len() as u64);
        }
        kept
    }

    /// Checks the invariants documented at the fields, for these lists.
    fn check(&self, lists: &Lists) -> Result<(), ListsError> {
        let wrong = |found: String, expected: &str| {
            Err(ListsError { what: "pairs", found, expected: expected.to_string() })
        };
        let ends = (self.offsets.first(), self.offsets.last());
        let last = self.pairs.len() as u64;
        if self.offsets.len() != lists.len() + 1
            || ends != (Some(&0), Some(&last))
            || !self.offsets.is_sorted()
        {
            return wrong(
                format!("{} offsets", self.offsets.len()),
                "ascending offsets, one per list and one more",
            );
        }
        for q in 0..lists.len() {
            let length = lists.range(q).len();
            for pair in self.of(q) {
                let Preference { better, worse, weight } = *pair;
                if better.max(worse) as usize >= length || better == worse {
                    let found = format!("items {better} and {worse} of list {q}, which has {length}");
                    return wrong(found, "two different items of the list");
                }
                if !weight.is_finite() || weight < 0.0 {
                    return wrong(format!("the weight {weight} in list {q}"), "finite weights ≥ 0");
                }
            }
        }
        Ok(())
    }
}

/// A collection of lists: labels and weights; scores are kept separately.
///
/// ```
/// use toprank_core::Lists;
/// let lists = Lists::from_lengths(&[2, 3], vec![1.0, 0.0, 0.0, 2.0, 1.0]);
/// assert_eq!(lists.len(), 2);
/// assert_eq!(lists.list(1, &[0.1, 0.2, 0.3, 0.4, 0.5]).labels, &[0.0, 2.0, 1.0]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lists {
    /// `len + 1` ascending positions into the columns below, the first 0.
    pub offsets: Vec<u64>,
    /// Feature row of each entry; `None`: entry `i` reads row `i`.
    pub rows: Option<Vec<u32>>,
    /// Model output that list `q` reads; `None`: output 0.
    pub output: Option<Vec<u16>>,
    /// Label of each entry; NaN: unlabelled.
    pub labels: Vec<f32>,
    /// Weight of each entry, finite and ≥ 0.
    pub item_weights: Option<Vec<f32>>,
    /// Weight of each list, finite and ≥ 0.
    pub list_weights: Option<Vec<f32>>,
    /// Position of each entry's name in **descending** name order within its list: trec_eval's tie-breaking without strings.
    pub tie_keys: Option<Vec<u32>>,
    /// Labels of labelled items that were not retrieved (they count in the ideal DCG, in R and in bpref).
    pub missed: Option<Ragged>,
    /// Which items should be ranked above which others; pairwise objectives then learn from these pairs instead of the labels.
    pub pairs: Option<Preferences>,
}

/// One list as metrics and objectives see it: slices only.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    /// Number of the list in its collection, for messages.
    pub id: u32,
    /// One finite score per item; higher is better.
    pub scores: &'a [f64],
    /// One label per item; NaN: unlabelled.
    pub labels: &'a [f32],
    /// One weight per item.
    pub weights: Option<&'a [f32]>,
    /// Weight of the whole list.
    pub list_weight: f64,
    /// Position in descending name order.
    pub tie_keys: Option<&'a [u32]>,
    /// Labels of labelled items that were not retrieved.
    pub missed: &'a [f32],
    /// Preferences of the list, where the collection has any: the labels then do not matter to pairwise objectives.
    pub pairs: Option<&'a [Preference]>,
}

impl<'a> List<'a> {
    /// A list of scores and labels, with nothing else known about it.
    ///
    /// ```
    /// let list = toprank_core::List::new(&[0.9, 0.1], &[1.0, 0.0]);
    /// assert_eq!(list.len(), 2);
    /// ```
    ///
    /// # Panics
    /// If the two lengths differ.
    pub fn new(scores: &'a [f64], labels: &'a [f32]) -> List<'a> {
        assert_eq!(scores.len(), labels.len(), "one score per label");
        List {
            id: 0,
            scores,
            labels,
            weights: None,
            list_weight: 1.0,
            tie_keys: None,
            missed: &[],
            pairs: None,
        }
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// True if the list has no item.
    pub fn is_empty(&self) -> bool {
        self.scores.is_empty()
    }
}

impl Lists {
    /// Lists of the given lengths over `labels`, without weights or names.
    ///
    /// # Panics
    /// If the lengths do not add up to the number of labels.
    pub fn from_lengths(lengths: &[usize], labels: Vec<f32>) -> Lists {
        let mut offsets = Vec::with_capacity(lengths.len() + 1);
        let mut end = 0u64;
        offsets.push(0);
        for &length in lengths {
            end += length as u64;
            offsets.push(end);
        }
        assert_eq!(end, labels.len() as u64, "list lengths add up to the number of labels");
        Lists { offsets, labels, ..Lists::default() }
    }

    /// Number of lists.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// True if there is no list.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of entries in all lists together.
    pub fn entries(&self) -> usize {
        self.labels.len()
    }

    /// True if a list is a label and its items are the samples of a data set (binary data: one list; multi-label data: lists
    /// over shared rows), not a query.
    ///
    /// ```
    /// use toprank_core::Lists;
    /// assert!(Lists::from_lengths(&[3], vec![0.0, 1.0, 0.0]).are_labels());
    /// assert!(!Lists::from_lengths(&[2, 1], vec![0.0, 1.0, 0.0]).are_labels());
    /// ```
    pub fn are_labels(&self) -> bool {
        self.len() == 1 || self.output.is_some()
    }

    /// The range of list `q` in the flat columns.
    pub fn range(&self, q: usize) -> std::ops::Range<usize> {
        self.offsets[q] as usize..self.offsets[q + 1] as usize
    }

    /// The feature row that entry `entry` reads.
    pub fn row(&self, entry: usize) -> usize {
        self.rows.as_ref().map_or(entry, |rows| rows[entry] as usize)
    }

    /// List `q` with its part of `scores` (one per entry of all lists).
    pub fn list<'a>(&'a self, q: usize, scores: &'a [f64]) -> List<'a> {
        let range = self.range(q);
        List {
            id: q as u32,
            scores: &scores[range.clone()],
            labels: &self.labels[range.clone()],
            weights: self.item_weights.as_ref().map(|w| &w[range.clone()]),
            list_weight: self.list_weights.as_ref().map_or(1.0, |w| f64::from(w[q])),
            tie_keys: self.tie_keys.as_ref().map(|t| &t[range.clone()]),
            missed: self.missed.as_ref().map_or(&[], |m| m.of(q)),
            pairs: self.pairs.as_ref().map(|pairs| pairs.of(q)),
        }
    }

    /// Scores per row (`outputs` numbers a row, row after row) as scores per entry.
    ///
    /// ```
    /// use toprank_core::Lists;
    /// // Two labels over the same two rows: list 0 reads output 0, list 1 output 1.
    /// let mut lists = Lists::from_lengths(&[2, 2], vec![1.0, 0.0, 0.0, 1.0]);
    /// lists.rows = Some(vec![0, 1, 0, 1]);
    /// lists.output = Some(vec![0, 1]);
    /// assert_eq!(lists.scores_of_entries(&[0.1, 0.2, 0.3, 0.4], 2), vec![0.1, 0.3, 0.2, 0.4]);
    /// ```
    pub fn scores_of_entries(&self, by_row: &[f64], outputs: usize) -> Vec<f64> {
        let mut scores = Vec::with_capacity(self.entries());
        for q in 0..self.len() {
            let output = self.output.as_ref().map_or(0, |o| o[q] as usize);
            for entry in self.range(q) {
                scores.push(by_row[self.row(entry) * outputs + output]);
            }
        }
        scores
    }

    /// The lists with only those entries for which `wanted` is true, and which entries these are. A list without such an
    /// entry is omitted.
    ///
    /// ```
    /// let lists = toprank_core::Lists::from_lengths(&[2, 1, 1], vec![1.0, 0.0, 2.0, 3.0]);
    /// let (some, entries) = lists.keep(|entry| entry != 1 && entry != 2);
    /// assert_eq!(some.labels, [1.0, 3.0]);
    /// assert_eq!(some.offsets, [0, 1, 2]);
    /// assert_eq!(entries, [0, 3]);
    /// ```
    pub fn keep(&self, wanted: impl Fn(usize) -> bool) -> (Lists, Vec<usize>) {
        let mut entries = Vec::new();
        let mut lists = Vec::new();
        let mut offsets = vec![0];
        for q in 0..self.len() {
            let before = entries.len();
            entries.extend(self.range(q).filter(|&entry| wanted(entry)));
            if entries.len() > before {
                lists.push(q);
                offsets.push(entries.len() as u64);
            }
        }
        let missed = self.missed.as_ref().map(|missed| {
            let mut kept = Ragged { offsets: vec![0], values: Vec::new() };
            for &q in &lists {
                kept.values.extend_from_slice(missed.of(q));
                kept.offsets.push(kept.values.len() as u64);
            }
            kept
        });
        let pairs = self.pairs.as_ref().map(|pairs| pairs.subset(self, &lists, &entries, &offsets));
        let kept = Lists {
            pairs,
            offsets,
            rows: Some(
                entries.iter().map(|&e| self.rows.as_ref().map_or(e as u32, |rows| rows[e])).collect(),
            ),
            output: pick(self.output.as_ref(), &lists),
            labels: entries.iter().map(|&entry| self.labels[entry]).collect(),
            item_weights: pick(self.item_weights.as_ref(), &entries),
            list_weights: pick(self.list_weights.as_ref(), &lists),
            tie_keys: pick(self.tie_keys.as_ref(), &entries),
            missed,
        };
        (kept, entries)
    }

    /// Checks the invariants documented at the fields.
    pub fn check(&self) -> Result<(), ListsError> {
        let entries = self.entries();
        let wrong = |what, found: String, expected: String| Err(ListsError { what, found, expected });
        if self.offsets.first() != Some(&0) || self.offsets.last() != Some(&(entries as u64)) {
            return wrong("offsets", format!("{:?}", self.offsets.last()), format!("0 … {entries}"));
        }
        if let Some(q) = self.offsets.windows(2).position(|w| w[0] > w[1]) {
            return wrong("offsets", format!("list {q} ends before it starts"), "ascending numbers".into());
        }
        let lengths = [
            ("rows", self.rows.as_ref().map(Vec::len), entries),
            ("item_weights", self.item_weights.as_ref().map(Vec::len), entries),
            ("tie_keys", self.tie_keys.as_ref().map(Vec::len), entries),
            ("list_weights", self.list_weights.as_ref().map(Vec::len), self.len()),
            ("output", self.output.as_ref().map(Vec::len), self.len()),
            ("missed", self.missed.as_ref().map(|m| m.offsets.len().saturating_sub(1)), self.len()),
        ];
        for (what, found, expected) in lengths {
            if let Some(found) = found.filter(|&found| found != expected) {
                return wrong(what, format!("{found} values"), format!("{expected} values"));
            }
        }
        for (what, weights) in [("item_weights", &self.item_weights), ("list_weights", &self.list_weights)] {
            if let Some(bad) = weights.iter().flatten().find(|w| !w.is_finite() || **w < 0.0) {
                return wrong(what, bad.to_string(), "finite weights ≥ 0".into());
            }
        }
        self.pairs.as_ref().map_or(Ok(()), |pairs| pairs.check(self))
    }
}

/// The values of a column at some positions.
fn pick<T: Copy>(column: Option<&Vec<T>>, places: &[usize]) -> Option<Vec<T>> {
    column.map(|column| places.iter().map(|&place| column[place]).collect())
}

/// An inconsistent collection of lists.
#[derive(Clone, Debug, PartialEq)]
pub struct ListsError {
    /// The invalid column.
    pub what: &'static str,
    /// What was found there.
    pub found: String,
    /// What was expected.
    pub expected: String,
}

impl std::fmt::Display for ListsError {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}: found {}, expected {}", self.what, self.found, self.expected)
    }
}

impl std::error::Error for ListsError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_names_the_column_at_fault() {
        let good = Lists::from_lengths(&[1, 2], vec![0.0, 1.0, 2.0]);
        assert_eq!(good.check(), Ok(()));
        let short = Lists { item_weights: Some(vec![1.0]), ..good.clone() };
        assert_eq!(short.check().unwrap_err().to_string(), "item_weights: found 1 values, expected 3 values");
        let negative = Lists { list_weights: Some(vec![1.0, -1.0]), ..good.clone() };
        assert_eq!(negative.check().unwrap_err().what, "list_weights");
        for (better, worse, weight) in [(0, 2, 1.0), (1, 1, 1.0), (0, 1, f32::NAN)] {
            let pairs = Some(Preferences::from_pairs(2, vec![(1, Preference { better, worse, weight })]));
            assert_eq!(Lists { pairs, ..good.clone() }.check().unwrap_err().what, "pairs");
        }
        let unsorted = Lists { offsets: vec![0, 4, 3], ..good };
        assert_eq!(unsorted.check().unwrap_err().what, "offsets");
    }

    #[test]
    fn kept_entries_take_all_their_columns_along() {
        let lists = Lists {
            item_weights: Some(vec![1.0, 2.0, 3.0]),
            list_weights: Some(vec![5.0, 6.0]),
            tie_keys: Some(vec![1, 0, 0]),
            missed: Some(Ragged { offsets: vec![0, 1, 2], values: vec![7.0, 8.0] }),
            ..Lists::from_lengths(&[2, 1], vec![0.0, 1.0, 2.0])
        };
        let (kept, entries) = lists.keep(|entry| entry == 2);
        assert_eq!(kept.check(), Ok(()));
        assert_eq!(entries, [2]);
        assert_eq!((kept.item_weights, kept.list_weights), (Some(vec![3.0]), Some(vec![6.0])));
        assert_eq!((kept.rows, kept.tie_keys), (Some(vec![2]), Some(vec![0])));
        assert_eq!(kept.missed.unwrap().values, [8.0]);
    }

    #[test]
    fn a_pair_stays_with_both_of_its_items() {
        let pair = |better, worse| Preference { better, worse, weight: 0.5 };
        let pairs = Preferences::from_pairs(2, vec![(0, pair(2, 0)), (0, pair(0, 1)), (1, pair(1, 0))]);
        let lists = Lists { pairs: Some(pairs), ..Lists::from_lengths(&[3, 2], vec![f32::NAN; 5]) };
        assert_eq!(lists.check(), Ok(()));
        let (kept, _) = lists.keep(|entry| entry != 1);
        assert_eq!(kept.check(), Ok(()));
        let pairs = kept.pairs.as_ref().unwrap();
        assert_eq!((pairs.of(0), pairs.of(1)), ([pair(1, 0)].as_slice(), [pair(1, 0)].as_slice()));
    }

    #[test]
    fn an_empty_list_keeps_its_place() {
        let lists = Lists::from_lengths(&[0, 2], vec![1.0, 0.0]);
        assert!(lists.list(0, &[0.5, 0.4]).is_empty());
        assert_eq!(lists.list(1, &[0.5, 0.4]).scores, &[0.5, 0.4]);
    }
}
