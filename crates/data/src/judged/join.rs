/*!
Qrels and a run become lists: one per query in both, in ascending byte order of the query's name.

```text
for each query (in parallel):
    keep the top `depth` documents by (score, name), both descending; they stay in file order
    look each of them up in the query's table of judgements: label, or NaN
    collect the labels of judged documents that were not met
    order the names inside each group of equal scores
```

Cost: one hash and one name comparison per retrieved document; sorting only where scores are equal or out of order.
*/

use std::cmp::Ordering;
use std::ops::Range;

use rayon::prelude::*;
use toprank_core::{Lists, Ragged, ScoreBits};

use super::sheet::{BLOCK, Sheet};
use super::{Qrels, Run};
use crate::names::Names;

/// What happens to a query that has judgements but no retrieved document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingLists {
    /// It is excluded from the mean (trec_eval).
    #[default]
    LeaveOut,
    /// It counts as a list without items whose judged documents were all missed (trec_eval `-c`).
    Empty,
}

/// How [`join`] works; the default is trec_eval's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JoinOptions {
    /// Queries without a retrieved document in the run.
    pub missing_lists: MissingLists,
    /// Keep only this many documents per query, the best by (score, name) descending (trec_eval `-M`).
    pub depth: Option<u32>,
    /// Precision in which `depth` compares scores; give it the policy's.
    pub scores: ScoreBits,
}

/// Lists with scores, ready for metrics, and what did not fit together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Joined {
    /// One list per query, labels NaN for documents that were not judged, `missed` the labels of judged
    /// documents that were not retrieved. `tie_keys` order the names of documents whose scores are equal in
    /// `f32`, hence also in `f64`; between other documents they say nothing.
    pub lists: Lists,
    /// One score per entry.
    pub scores: Vec<f64>,
    /// Query of each list, ascending by bytes.
    pub list_names: Names,
    /// Row of the run that each entry is: [`Run::document`] names it.
    pub rows: Vec<u32>,
    /// Queries in the qrels only, ascending; with [`MissingLists::Empty`] they are lists as well.
    pub only_in_qrels: Names,
    /// Queries in the run only, ascending; they are never lists.
    pub only_in_run: Names,
}

impl Joined {
    /// Name of each entry, copied from the run that was joined.
    pub fn item_names(&self, run: &Run) -> Names {
        self.rows.iter().map(|&row| run.document(row as usize)).collect()
    }
}

/// Joins judgements and a ranking.
///
/// ```
/// use toprank_data::{JoinOptions, Source, join, read_qrels, read_run};
/// let qrels = read_qrels(&Source::bytes("qrels", b"q1 0 a 1\nq1 0 b 0\nq1 0 c 2\nq2 0 a 1\n".to_vec())).unwrap();
/// let run = read_run(&Source::bytes("run", b"q1 Q0 b 1 0.9 x\nq1 Q0 a 2 0.8 x\nq1 Q0 z 3 0.7 x\n".to_vec())).unwrap();
/// let joined = join(&qrels, &run, &JoinOptions::default());
/// assert_eq!(joined.scores, [0.9, 0.8, 0.7]);
/// assert_eq!(joined.lists.labels[..2], [0.0, 1.0]);
/// assert!(joined.lists.labels[2].is_nan(), "z was not judged");
/// assert_eq!(joined.lists.missed.as_ref().unwrap().of(0), [2.0]);
/// assert_eq!(joined.only_in_qrels.get(0), "q2");
/// ```
pub fn join(qrels: &Qrels, run: &Run, options: &JoinOptions) -> Joined {
    let (judged, retrieved) = (&qrels.sheet, &run.sheet);
    let mut joined = Joined::default();
    let mut tasks = Vec::with_capacity(judged.queries.len());
    let mut offsets = vec![0u64];
    let mut end = 0;
    for query in judged.sorted_queries() {
        let name = judged.queries.get(query as usize);
        let found = retrieved.query(name);
        if found.is_none() {
            joined.only_in_qrels.push(name);
            if options.missing_lists == MissingLists::LeaveOut {
                continue;
            }
        }
        let rows = found.map_or(0..0, |found| retrieved.range(found));
        let length = options.depth.map_or(rows.len(), |depth| rows.len().min(depth as usize));
        end += length as u64;
        offsets.push(end);
        joined.list_names.push(name);
        tasks.push(Task { query: query as usize, rows, length });
    }
    for query in retrieved.sorted_queries() {
        let name = retrieved.queries.get(query as usize);
        if judged.query(name).is_none() {
            joined.only_in_run.push(name);
        }
    }

    let entries = end as usize;
    let (mut labels, mut scores) = (vec![0.0; entries], vec![0.0; entries]);
    let (mut rows, mut tie_keys) = (vec![0; entries], vec![0; entries]);
    let mut rest =
        Entries { labels: &mut labels, scores: &mut scores, rows: &mut rows, tie_keys: &mut tie_keys };
    let blocks: Vec<_> = tasks
        .chunks(BLOCK)
        .map(|tasks| (tasks, rest.take(tasks.iter().map(|task| task.length).sum())))
        .collect();
    let missed: Vec<(Vec<f32>, Vec<u64>)> = blocks
        .into_par_iter()
        .map(|(tasks, mut entries)| {
            let (mut scratch, mut missed) = (Scratch::default(), (Vec::new(), Vec::with_capacity(BLOCK)));
            for task in tasks {
                let list = entries.take(task.length);
                join_list(judged, retrieved, task, options.scores, list, &mut scratch, &mut missed.0);
                missed.1.push(missed.0.len() as u64);
            }
            missed
        })
        .collect();

    let mut all_missed = Ragged { offsets: Vec::with_capacity(offsets.len()), values: Vec::new() };
    all_missed.offsets.push(0);
    for (values, ends) in missed {
        let before = all_missed.values.len() as u64;
        all_missed.values.extend(values);
        all_missed.offsets.extend(ends.iter().map(|end| before + end));
    }
    joined.lists =
        Lists { offsets, labels, tie_keys: Some(tie_keys), missed: Some(all_missed), ..Lists::default() };
    (joined.scores, joined.rows) = (scores, rows);
    joined
}

/// One list to be made.
struct Task {
    /// Its query in the qrels.
    query: usize,
    /// Its rows in the run.
    rows: Range<usize>,
    /// How many of them to keep.
    length: usize,
}

/// Entries of one or more lists, to be filled.
struct Entries<'a> {
    labels: &'a mut [f32],
    scores: &'a mut [f64],
    rows: &'a mut [u32],
    tie_keys: &'a mut [u32],
}

impl<'a> Entries<'a> {
    /// Cuts off the first `length` entries.
    fn take(&mut self, length: usize) -> Entries<'a> {
        Entries {
            labels: self.labels.split_off_mut(..length).unwrap_or_default(),
            scores: self.scores.split_off_mut(..length).unwrap_or_default(),
            rows: self.rows.split_off_mut(..length).unwrap_or_default(),
            tie_keys: self.tie_keys.split_off_mut(..length).unwrap_or_default(),
        }
    }
}

/// Scratch memory, reused from list to list.
#[derive(Default)]
struct Scratch {
    order: Vec<u32>,
    keys: Vec<u64>,
    met: Vec<bool>,
}

fn join_list(
    judged: &Sheet,
    retrieved: &Sheet,
    task: &Task,
    bits: ScoreBits,
    list: Entries,
    scratch: &mut Scratch,
    missed: &mut Vec<f32>,
) {
    if task.length == task.rows.len() {
        list.rows.iter_mut().zip(task.rows.clone()).for_each(|(row, kept)| *row = kept as u32);
    } else {
        keep_best(retrieved, task, bits, &mut scratch.order);
        list.rows.copy_from_slice(&scratch.order);
    }
    let judgements = judged.range(task.query);
    scratch.met.clear();
    scratch.met.resize(judgements.len(), false);
    let mut unmet = judgements.len();
    for ((row, label), score) in list.rows.iter().zip(list.labels).zip(list.scores.iter_mut()) {
        *score = retrieved.values[*row as usize];
        *label = match judged.row(task.query, retrieved.docs.get(*row as usize)) {
            Some(judgement) => {
                scratch.met[judgement - judgements.start] = true;
                unmet -= 1;
                judged.values[judgement] as f32
            }
            None => f32::NAN,
        };
    }
    if unmet > 0 {
        let unmet = judgements.zip(&scratch.met).filter(|(_, met)| !**met);
        missed.extend(unmet.map(|(judgement, _)| judged.values[judgement] as f32));
    }
    order_ties(&retrieved.docs, list.rows, list.scores, list.tie_keys, scratch);
}

/// The `task.length` best rows by (score, name) descending, in file order.
fn keep_best(retrieved: &Sheet, task: &Task, bits: ScoreBits, order: &mut Vec<u32>) {
    order.clear();
    order.extend(task.rows.clone().map(|row| row as u32));
    if task.length == 0 {
        return order.clear();
    }
    let score = |row: u32| match bits {
        ScoreBits::F64 => retrieved.values[row as usize],
        ScoreBits::F32 => f64::from(retrieved.values[row as usize] as f32),
    };
    let name = |row: u32| retrieved.docs.get(row as usize);
    order.select_nth_unstable_by(task.length - 1, |&a, &b| {
        // Scores are finite, so partial_cmp always answers; unlike total_cmp it holds −0 and 0 equal.
        score(b).partial_cmp(&score(a)).unwrap_or(Ordering::Equal).then_with(|| name(b).cmp(name(a)))
    });
    order.truncate(task.length);
    order.sort_unstable();
}

/// Gives documents of equal score keys in descending order of their names, the others their place.
///
/// Scores are compared in `f32`: what ties in `f64` ties there too, so the keys serve both precisions.
fn order_ties(docs: &Names, rows: &[u32], scores: &[f64], tie_keys: &mut [u32], scratch: &mut Scratch) {
    tie_keys.iter_mut().zip(0..).for_each(|(key, place)| *key = place);
    let Scratch { order, keys, .. } = scratch;
    let mut settle = |places: &mut dyn Iterator<Item = u32>| {
        order.clear();
        order.extend(places);
        keys.clear();
        keys.extend(order.iter().map(|&place| u64::from(place)));
        let name = |place: u32| docs.get(rows[place as usize] as usize);
        order.sort_by(|&a, &b| name(b).cmp(name(a)));
        for (&place, &key) in order.iter().zip(keys.iter()) {
            tie_keys[place as usize] = key as u32;
        }
    };
    if scores.windows(2).all(|pair| pair[0] as f32 >= pair[1] as f32) {
        let mut start = 0;
        for group in scores.chunk_by(|a, b| *a as f32 == *b as f32) {
            let end = start + group.len() as u32;
            if group.len() > 1 {
                settle(&mut (start..end));
            }
            start = end;
        }
        return;
    }
    let mut sorted: Vec<u64> = scores
        .iter()
        .zip(0..)
        .map(|(&score, place)| u64::from(ascending_bits(score as f32)) << 32 | place)
        .collect();
    sorted.sort_unstable();
    for group in sorted.chunk_by(|a, b| a >> 32 == b >> 32).filter(|group| group.len() > 1) {
        settle(&mut group.iter().map(|key| *key as u32));
    }
}

/// Bits that order as the number does; −0 and 0 have the same.
fn ascending_bits(number: f32) -> u32 {
    let bits = (number + 0.0).to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}
