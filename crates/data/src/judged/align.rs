/*!
Several runs side by side: for each query all documents that any of them retrieved, with one score per run.

Rank fusion uses it; [`Aligned::run`] makes a run of fused scores.
*/

use hashbrown::HashTable;
use toprank_core::Lists;
use xxhash_rust::xxh3::xxh3_64;

use super::Run;
use crate::error::ReadError;
use crate::names::Names;

/// Runs over the union of their queries and documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aligned {
    /// All queries of all runs, ascending by bytes.
    pub queries: Names,
    /// `queries + 1` positions into `docs` and into each column of `scores`.
    pub offsets: Vec<u64>,
    /// Documents of each query, in order of first appearance from the first run to the last.
    pub docs: Names,
    /// For each run one score per entry of `docs`; NaN = not retrieved by that run.
    pub scores: Vec<Vec<f64>>,
    /// Place of each entry's name in descending order within its query: how trec_eval breaks ties.
    pub tie_keys: Vec<u32>,
}

impl Aligned {
    /// Where the documents of query number `query` stand.
    ///
    /// # Panics
    /// If there are not that many queries.
    pub fn range(&self, query: usize) -> std::ops::Range<usize> {
        self.offsets[query] as usize..self.offsets[query + 1] as usize
    }

    /// True if run number `run` retrieved a document for query number `query`.
    ///
    /// # Panics
    /// If there are not that many runs or queries.
    pub fn answered(&self, run: usize, query: usize) -> bool {
        self.scores[run][self.range(query)].iter().any(|score| !score.is_nan())
    }

    /// The run that gives each entry this score; NaN leaves an entry out.
    ///
    /// ```
    /// use toprank_data::{Run, align};
    /// let a = Run::from_rows("a", [("q", "x", 1.0)]).unwrap();
    /// let b = Run::from_rows("b", [("q", "y", 2.0), ("q", "x", 4.0)]).unwrap();
    /// let both = align(&[&a, &b]);
    /// let sums: Vec<f64> = (0..both.docs.len())
    ///     .map(|i| both.scores.iter().map(|run| run[i]).filter(|s| !s.is_nan()).sum())
    ///     .collect();
    /// assert_eq!(both.run("sum", &sums).unwrap().documents(0).collect::<Vec<_>>(), [("x", 5.0), ("y", 2.0)]);
    /// ```
    ///
    /// # Panics
    /// If there is not one score per entry.
    pub fn run(&self, name: &str, scores: &[f64]) -> Result<Run, ReadError> {
        assert_eq!(scores.len(), self.docs.len(), "one score per entry");
        let rows = (0..self.queries.len()).flat_map(|query| {
            let kept = self.range(query).filter(|&entry| !scores[entry].is_nan());
            kept.map(move |entry| (self.queries.get(query), self.docs.get(entry), scores[entry]))
        });
        Run::from_rows(name, rows)
    }

    /// The entries as lists without labels, for code that works on lists.
    pub fn lists(&self) -> Lists {
        Lists {
            offsets: self.offsets.clone(),
            labels: vec![f32::NAN; self.docs.len()],
            tie_keys: Some(self.tie_keys.clone()),
            ..Lists::default()
        }
    }
}

/// Lays runs side by side. Cost: one hash per retrieved document, one sort of the names of each query.
pub fn align(runs: &[&Run]) -> Aligned {
    let mut names: Vec<&str> = runs.iter().flat_map(|run| run.queries().iter()).collect();
    names.sort_unstable();
    names.dedup();
    let mut all = Aligned { offsets: vec![0], scores: vec![Vec::new(); runs.len()], ..Aligned::default() };
    let (mut entries, mut order) = (HashTable::new(), Vec::new());
    for name in names {
        let start = all.docs.len();
        entries.clear();
        for (run, column) in runs.iter().enumerate() {
            let Some(query) = column.sheet.query(name) else { continue };
            for (doc, score) in column.documents(query) {
                let hash = xxh3_64(doc.as_bytes());
                let entry = *entries
                    .entry(hash, |&e| all.docs.get(e) == doc, |&e| xxh3_64(all.docs.get(e).as_bytes()))
                    .or_insert(all.docs.len())
                    .get();
                if entry == all.docs.len() {
                    all.docs.push(doc);
                    all.scores.iter_mut().for_each(|scores| scores.push(f64::NAN));
                }
                all.scores[run][entry] = score;
            }
        }
        all.queries.push(name);
        all.offsets.push(all.docs.len() as u64);
        order.clear();
        order.extend(start..all.docs.len());
        order.sort_unstable_by(|&a, &b| all.docs.get(b).cmp(all.docs.get(a)));
        all.tie_keys.resize(all.docs.len(), 0);
        order.iter().zip(0..).for_each(|(&entry, place)| all.tie_keys[entry] = place);
    }
    all
}
