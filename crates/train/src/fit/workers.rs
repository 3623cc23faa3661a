/*!
Several workers that train one model together.

```text
every worker   has the lists (labels, weights) and a view of all features, and looks at the features of its own rows only
rows           divided in the order of the data, by whole lists where there are enough of them
each step      gradients of its own lists, histograms or shards of its own rows; integers and bytes go to the others
the model      is that of one worker, to the byte, and so is that of a run that is resumed with another number of them
```

The first worker (number 0) writes files and decides when to stop. A worker that ends early ends the run of all: the first one leaves
its checkpoint.
*/

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use toprank_core::collective::{Alone, Collective, CollectiveError};
use toprank_core::{Features, Lists};

use super::engine::Examples;
use super::settings::Config;
use crate::error::TrainError;

/// All workers of a run, as one of them sees them.
#[derive(Clone, Debug)]
pub struct Workers {
    collective: Arc<dyn Collective>,
    /// The first call that could not be made.
    failed: Arc<OnceLock<CollectiveError>>,
    /// Calls so far, and bytes that this worker has sent in them.
    sent: Arc<[AtomicU64; 2]>,
}

/// What workers have sent each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of workers.
    pub workers: usize,
    /// Calls that they have made together.
    pub calls: u64,
    /// Bytes that this worker gave to them.
    pub bytes: u64,
}

impl Default for Workers {
    /// One worker.
    fn default() -> Workers {
        Workers::new(Alone)
    }
}

impl Collective for Workers {
    fn rank(&self) -> usize {
        self.collective.rank()
    }

    fn size(&self) -> usize {
        self.collective.size()
    }

    fn sum(&self, words: &mut [u64]) -> Result<(), CollectiveError> {
        self.count(size_of_val(words));
        self.note(self.collective.sum(words))
    }

    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, CollectiveError> {
        self.count(own.len());
        let all = self.note(self.collective.gather(own))?;
        if all.len() == self.size() {
            return Ok(all);
        }
        let reason = format!("answers of {} workers instead of {}", all.len(), self.size());
        self.note(Err(CollectiveError { rank: self.rank(), reason }))
    }
}

impl Workers {
    /// The workers that this one reaches so.
    pub fn new(collective: impl Collective + 'static) -> Workers {
        Workers { collective: Arc::new(collective), failed: Arc::default(), sent: Arc::default() }
    }

    fn count(&self, bytes: usize) {
        self.sent[0].fetch_add(1, Ordering::Relaxed);
        self.sent[1].fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// What was sent so far.
    pub fn traffic(&self) -> Traffic {
        let [calls, bytes] = self.sent.each_ref().map(|count| count.load(Ordering::Relaxed));
        if self.is_alone() {
            Traffic { workers: 1, calls: 0, bytes: 0 }
        } else {
            Traffic { workers: self.size(), calls, bytes }
        }
    }

    fn note<T>(&self, result: Result<T, CollectiveError>) -> Result<T, CollectiveError> {
        if let Err(error) = &result {
            let _ = self.failed.set(error.clone());
        }
        result
    }

    /// True if there is one worker only.
    pub fn is_alone(&self) -> bool {
        self.size() == 1
    }

    /// An error of training; that of the workers, if a call between them has failed.
    pub(crate) fn explain(&self, error: TrainError) -> TrainError {
        self.failed.get().map_or(error, |failed| TrainError::Worker(failed.clone()))
    }

    /// True for all if it is true for one.
    pub(crate) fn any(&self, own: bool) -> Result<bool, CollectiveError> {
        let mut count = [u64::from(own)];
        self.sum(&mut count)?;
        Ok(count[0] > 0)
    }

    /// The bytes of the first worker; those of the others do not matter.
    pub(crate) fn of_first(&self, own: Vec<u8>) -> Result<Vec<u8>, CollectiveError> {
        if self.is_alone() {
            return Ok(own);
        }
        let own = if self.rank() == 0 { own } else { Vec::new() };
        Ok(self.gather(&own)?.swap_remove(0))
    }

    /// The numbers of all workers, one after the other.
    pub(crate) fn all<'a>(&self, own: &'a [f64]) -> Result<Cow<'a, [f64]>, CollectiveError> {
        if self.is_alone() { Ok(Cow::Borrowed(own)) } else { Ok(gather_floats(self, own)?.into()) }
    }

    /// The part of this worker: whole lists if there are as many of them as workers, or if it must be; else rows.
    pub(crate) fn share(&self, lists: &Lists, rows: usize, whole_lists: bool) -> Share {
        Share::cut(self.rank(), self.size(), lists, rows, whole_lists)
    }

    /// Refuses workers that were not given the same: `facts` are names and values that all must agree in.
    ///
    /// # Errors
    /// The first difference, the same for every worker.
    pub(crate) fn check_same(&self, facts: &[(String, String)]) -> Result<(), TrainError> {
        if self.is_alone() {
            return Ok(());
        }
        let all = self.gather(&serde_json::to_vec(facts).unwrap_or_default())?;
        let read =
            |bytes: &Vec<u8>| serde_json::from_slice::<Vec<(String, String)>>(bytes).unwrap_or_default();
        let first = read(&all[0]);
        for (worker, bytes) in all.iter().enumerate().skip(1) {
            let other = read(bytes);
            let differs = |i: &usize| first.get(*i) != other.get(*i);
            let Some(i) = (0..first.len().max(other.len())).find(differs) else { continue };
            let none = (String::new(), "nothing".to_string());
            let (ours, theirs) = (first.get(i).unwrap_or(&none), other.get(i).unwrap_or(&none));
            let (name, theirs) = match (ours.0 == theirs.0, ours.0.is_empty()) {
                (true, _) => (&ours.0, &theirs.1),
                (false, true) => (&theirs.0, &theirs.1),
                (false, false) => (&ours.0, &none.1),
            };
            let ours = if ours.0.is_empty() { &none.1 } else { &ours.1 };
            return Err(TrainError::WorkersDiffer {
                worker,
                what: name.clone(),
                found: theirs.clone(),
                expected: ours.clone(),
            });
        }
        Ok(())
    }
}

/// The numbers of all workers, one after the other.
pub(crate) fn gather_floats(workers: &dyn Collective, own: &[f64]) -> Result<Vec<f64>, CollectiveError> {
    let bytes: Vec<u8> = own.iter().flat_map(|value| value.to_bits().to_le_bytes()).collect();
    let all = workers.gather(&bytes)?;
    let words = all.iter().flat_map(|bytes| bytes.as_chunks::<8>().0);
    Ok(words.map(|word| f64::from_bits(u64::from_le_bytes(*word))).collect())
}

/// Settings as names and values, for [`Workers::check_same`].
pub(crate) fn facts_of(config: &Config) -> Vec<(String, String)> {
    match serde_json::to_value(config) {
        Ok(Value::Object(map)) => map.into_iter().map(|(key, value)| (key, value.to_string())).collect(),
        _ => Vec::new(),
    }
}

/// The part of a data set that a worker works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// Its rows.
    pub rows: Range<usize>,
    /// The lists that some of them are in.
    pub lists: Range<usize>,
    /// The lists that begin there: together those of all workers are all lists.
    pub owns: Range<usize>,
    /// True if lists of this data set are in the parts of several workers.
    pub divides_lists: bool,
}

impl Share {
    /// These rows of the data.
    pub fn of<'a>(&self, examples: Examples<'a>) -> RowsOf<'a> {
        RowsOf { features: examples.features, rows: self.rows.clone() }
    }

    fn cut(rank: usize, size: usize, lists: &Lists, rows: usize, whole_lists: bool) -> Share {
        let plain = lists.rows.is_none() && lists.output.is_none() && lists.entries() == rows;
        let (starts, ends) = match plain {
            true => (&lists.offsets[..lists.len()], &lists.offsets[lists.len().min(1)..]),
            false => (&[][..], &[][..]),
        };
        let first_from = |row: usize| starts.partition_point(|&start| start < row as u64);
        let cut = |k: usize| {
            let wanted = (rows as u128 * k as u128 / size as u128) as usize;
            match k {
                _ if k == 0 || k == size || !plain || starts.len() < size && !whole_lists => wanted,
                _ => starts.get(first_from(wanted)).map_or(rows, |&start| start as usize),
            }
        };
        let cuts: Vec<usize> = (0..=size).map(cut).collect();
        let first_list = |k: usize| if k == size { starts.len() } else { first_from(cuts[k]) };
        let (rows, owns) = (cuts[rank]..cuts[rank + 1], first_list(rank)..first_list(rank + 1));
        let lists = match rows.is_empty() {
            true => owns.clone(),
            false => {
                let first = ends.partition_point(|&end| end <= rows.start as u64);
                first.min(owns.start)..first_from(rows.end).max(owns.end)
            }
        };
        let inside = |&cut: &usize| starts.binary_search(&(cut as u64)).is_err();
        let divides_lists = !plain || cuts[1..size].iter().filter(|&&cut| cut < cuts[size]).any(inside);
        Share { rows, lists, owns, divides_lists: divides_lists && size > 1 }
    }
}

/// Some rows of features, one after the other.
pub(crate) struct RowsOf<'a> {
    pub features: &'a dyn Features,
    pub rows: Range<usize>,
}

impl RowsOf<'_> {
    fn numbers<'r>(&self, rows: &'r [u32]) -> Cow<'r, [u32]> {
        match self.rows.start as u32 {
            0 => rows.into(),
            first => rows.iter().map(|row| row + first).collect(),
        }
    }
}

impl Features for RowsOf<'_> {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn width(&self) -> usize {
        self.features.width()
    }

    fn gather(&self, rows: &[u32], out: &mut [f32]) {
        self.features.gather(&self.numbers(rows), out);
    }

    fn gather_part(&self, rows: &[u32], columns: Range<usize>, out: &mut [f32]) {
        self.features.gather_part(&self.numbers(rows), columns, out);
    }

    fn fault(&self) -> Option<String> {
        self.features.fault()
    }

    fn recheck(&self) -> Option<String> {
        self.features.recheck()
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::collective::Threads;

    use super::*;

    fn lists(lengths: &[usize]) -> Lists {
        Lists::from_lengths(lengths, vec![0.0; lengths.iter().sum()])
    }

    #[test]
    fn shares_are_whole_lists_where_there_are_enough_and_all_rows_in_any_case() {
        let cases: &[&[usize]] = &[
            &[3, 4, 1, 7, 2],
            &[100],
            &[0, 0, 5, 0],
            &[1, 90, 1, 1, 1],
            &[2; 40],
            &[0],
            &[0, 7, 0, 0, 0, 3, 0],
        ];
        for lengths in cases {
            let lists = lists(lengths);
            let rows = lists.entries();
            for size in 1..6 {
                for whole in [false, true] {
                    let shares: Vec<Share> =
                        (0..size).map(|rank| Share::cut(rank, size, &lists, rows, whole)).collect();
                    let mut next = (0, 0);
                    for share in &shares {
                        assert_eq!((share.rows.start, share.owns.start), next, "{lengths:?} {size}");
                        next = (share.rows.end, share.owns.end);
                        let has = |q: &usize| {
                            let range = lists.range(*q);
                            range.start.max(share.rows.start) < range.end.min(share.rows.end)
                        };
                        let touched: Vec<usize> = (0..lists.len()).filter(has).collect();
                        assert!(touched.iter().all(|q| share.lists.contains(q)), "{lengths:?} {share:?}");
                        assert!(
                            share.owns.is_empty() || share.owns.clone().all(|q| share.lists.contains(&q))
                        );
                        let divided = |q: usize| {
                            has(&q)
                                && !(share.rows.start <= lists.range(q).start
                                    && lists.range(q).end <= share.rows.end)
                        };
                        let some = (0..lists.len()).any(divided);
                        assert!(!some || share.divides_lists, "{lengths:?} {size} {share:?}");
                        if whole || lengths.len() >= size {
                            assert!(!share.divides_lists, "{lengths:?} {size} {share:?}");
                        }
                    }
                    assert_eq!(next, (rows, lists.len()), "{lengths:?} {size}");
                }
            }
        }
    }

    #[test]
    fn every_worker_is_told_the_same_first_difference() {
        let facts = |rank: usize| {
            let seed = if rank == 2 { "7" } else { "1" };
            [("version", "1"), ("features", "46"), ("seed", seed)]
                .map(|(name, value)| (name.into(), value.into()))
        };
        let found: Vec<String> = std::thread::scope(|scope| {
            let runs: Vec<_> = Threads::new(3)
                .into_iter()
                .map(|worker| {
                    scope.spawn(move || {
                        let facts = facts(worker.rank());
                        Workers::new(worker).check_same(&facts).unwrap_err().to_string()
                    })
                })
                .collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        let expected = "worker 2 has seed 7, expected 1, as worker 0 has: start all workers with the same version, settings and data";
        assert_eq!(found, [expected; 3]);
    }
}
