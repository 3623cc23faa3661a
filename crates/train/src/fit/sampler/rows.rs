#![doc = include_str!("pages/rows.md")]

use toprank_core::{Lists, Param, ParamError, Policy, Spec};
use toprank_objectives::{DrawRates, Draws};

use super::epoch::{Epochs, Weights, begin, end_of_list};
use super::{BATCH, Sampler, SamplerKind, at_least_one, count, nothing_to_draw};

const ROWS: Param = Param { default: "128", about: "rows per step", ..BATCH };

pub(super) const PARAMS: &[Param] = &[ROWS];

pub(super) fn make(spec: &Spec) -> Result<Box<dyn SamplerKind>, ParamError> {
    Ok(Box::new(Rows { batch: count(spec, &ROWS, 1)? }))
}

#[derive(Debug)]
struct Rows {
    batch: usize,
}

impl SamplerKind for Rows {
    fn open(&self, lists: &Lists, _: &Policy, seed: u64) -> Result<Box<dyn Sampler>, ParamError> {
        let readers = Readers::of(lists);
        let pool: Vec<u32> =
            (0..readers.rows() as u32).filter(|&row| !readers.of_row(row).is_empty()).collect();
        if pool.is_empty() {
            return Err(nothing_to_draw("rows", lists, "lists with a judged item"));
        }
        Ok(Box::new(Open {
            epochs: Epochs::new(seed, pool.len(), pool.len().div_ceil(self.batch)),
            pool,
            judged: readers.judged(lists.len()),
            readers,
            weights: Weights::of(lists),
            drawn: Vec::new(),
            lengths: Vec::new(),
        }))
    }
}

/// The judged items that read each row.
struct Readers {
    starts: Vec<u64>,
    /// (list, item), row after row.
    all: Vec<(u32, u32)>,
}

impl Readers {
    fn of(lists: &Lists) -> Readers {
        let entries = || {
            (0..lists.len()).flat_map(|q| {
                let start = lists.range(q).start;
                lists.range(q).map(move |entry| (q as u32, (entry - start) as u32, entry))
            })
        };
        let judged = |entry: usize| !lists.labels[entry].is_nan();
        let rows = (0..lists.entries()).map(|entry| lists.row(entry) + 1).max().unwrap_or(0);
        let mut starts = vec![0u64; rows + 1];
        entries().filter(|e| judged(e.2)).for_each(|(_, _, entry)| starts[lists.row(entry) + 1] += 1);
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut all = vec![(0, 0); starts[rows] as usize];
        for (q, item, entry) in entries().filter(|e| judged(e.2)) {
            let place = &mut next[lists.row(entry)];
            all[*place as usize] = (q, item);
            *place += 1;
        }
        Readers { starts, all }
    }

    fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    fn of_row(&self, row: u32) -> &[(u32, u32)] {
        let row = row as usize;
        &self.all[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    /// Judged items of each list.
    fn judged(&self, lists: usize) -> Vec<u32> {
        let mut judged = vec![0; lists];
        self.all.iter().for_each(|(q, _)| judged[*q as usize] += 1);
        judged
    }
}

struct Open {
    /// Rows with a judged item.
    pool: Vec<u32>,
    epochs: Epochs,
    readers: Readers,
    judged: Vec<u32>,
    weights: Weights,
    /// The items of this step.
    drawn: Vec<(u32, u32)>,
    /// How many of them each list has.
    lengths: Vec<u64>,
}

impl Sampler for Open {
    fn steps_per_epoch(&self) -> u64 {
        self.epochs.steps()
    }

    fn rates(&self) -> DrawRates {
        let (rows, steps) = (self.pool.len(), self.epochs.steps());
        let judged = self.judged.iter().filter(|judged| **judged > 0);
        let (lists, seen) = judged.fold((0.0, 0.0), |(lists, seen), judged| {
            (lists + 1.0, seen + at_least_one(*judged as usize, rows, steps))
        });
        DrawRates { pairs: 1.0 / steps as f64, lists: seen / lists }
    }

    fn draw(&mut self, step: u64, out: &mut Draws) {
        begin(out);
        self.drawn.clear();
        let rows = self.epochs.at(step);
        let stands_for = self.pool.len() as f64 / rows.len() as f64;
        for &place in rows {
            self.drawn.extend_from_slice(self.readers.of_row(self.pool[place as usize]));
        }
        self.drawn.sort_unstable();
        for same_list in self.drawn.chunk_by(|a, b| a.0 == b.0) {
            out.items.extend(same_list.iter().map(|(_, item)| *item));
            end_of_list(same_list[0].0, out);
        }
        self.lengths.clear();
        self.lengths.extend(out.offsets.windows(2).map(|pair| pair[1] - pair[0]));
        // The mean over the n drawn of the N judged items of a list is an n/N part of its mean.
        let (lengths, judged) = (&self.lengths, &self.judged);
        let part = |d: usize, q: u32| lengths[d] as f64 / f64::from(judged[q as usize]);
        self.weights.count(stands_for, part, out);
    }
}
