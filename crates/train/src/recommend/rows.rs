//! The optimiser of the rows of one table, and what a checkpoint keeps of it.

use toprank_embeddings::{
    RowAdam, RowConstants, RowSlopes, RowStep, RowStorm, Rows, Table, TableError, TableStorage, Undo,
};

use crate::error::TrainError;
use crate::fit::optimiser::RowRule;
use crate::store::container::{Stored, Tensor, numbers};

/// Moves the rows of one table.
#[derive(Debug)]
pub(crate) enum RowOptimiser {
    Adam(RowAdam),
    Storm(RowStorm),
}

/// What a new user's row is learned with where the optimiser needs the step before.
pub(crate) const PLAIN_ADAM: RowConstants =
    RowConstants { beta: [0.9, 0.999], eps: 1e-8, decay: 0.0, decoupled: false };

impl RowOptimiser {
    pub fn new_in(
        rule: RowRule,
        rows: usize,
        width: usize,
        place: &TableStorage,
    ) -> Result<RowOptimiser, TableError> {
        Ok(match rule {
            RowRule::Adam(constants) => RowOptimiser::Adam(RowAdam::new_in(rows, width, constants, place)?),
            RowRule::Storm { gamma, decay } => {
                RowOptimiser::Storm(RowStorm::new_in(rows, width, gamma, decay, place)?)
            }
        })
    }

    /// Tables of numbers that it keeps beside the rows.
    pub fn tables(rule: RowRule) -> u64 {
        match rule {
            RowRule::Adam(_) => 2,
            RowRule::Storm { .. } => 1,
        }
    }

    /// True if it asks for the gradient at the rows of the step before.
    pub fn needs_previous(&self) -> bool {
        matches!(self, RowOptimiser::Storm(_))
    }

    pub fn restart(&mut self) {
        match self {
            RowOptimiser::Adam(adam) => adam.restart(),
            RowOptimiser::Storm(storm) => storm.restart(),
        }
    }

    /// Rows `ids` as they are now, or, with the rows of the last step before it, as they were one step ago.
    pub fn gather(&self, table: &[f32], width: usize, ids: &[u32], undo: Option<&Undo>, to: &mut Rows) {
        match self {
            RowOptimiser::Adam(_) => to.gather(table, width, ids, undo),
            RowOptimiser::Storm(storm) => storm.gather(table, ids, undo, to),
        }
    }

    /// Moves rows that were gathered for this step.
    pub fn step(&mut self, step: RowStep, table: &mut Table, rows: &Rows, slopes: RowSlopes) {
        match self {
            RowOptimiser::Adam(adam) => adam.step(step, table, &rows.numbers, slopes.now),
            RowOptimiser::Storm(storm) => storm.step(step, table, rows, slopes),
        }
    }

    /// Brings all rows of the table to the present.
    pub fn settle(&mut self, table: &mut Table) {
        if let RowOptimiser::Storm(storm) = self {
            storm.settle(table);
        }
    }

    /// The present rows of a copy of the table.
    pub fn write_present(&self, table: &mut Table) {
        if let RowOptimiser::Storm(storm) = self {
            storm.write_present(table);
        }
    }

    fn last(&self) -> &[u64] {
        match self {
            RowOptimiser::Adam(adam) => &adam.last,
            RowOptimiser::Storm(storm) => &storm.last,
        }
    }

    /// All it remembers, behind the name of its table.
    pub fn tensors(&self, name: &str) -> Vec<Tensor<'_>> {
        let mut tensors = vec![Tensor::flat(format!("{name}.last"), numbers(self.last()))];
        match self {
            RowOptimiser::Adam(adam) => {
                tensors.push(Tensor::flat(format!("{name}.mean"), &*adam.mean));
                tensors.push(Tensor::flat(format!("{name}.square"), &*adam.square));
            }
            RowOptimiser::Storm(storm) => {
                tensors.push(Tensor::flat(format!("{name}.mean"), &*storm.mean));
                tensors.push(Tensor::flat(format!("{name}.moved"), &storm.moved[..]));
                tensors.push(Tensor::flat(format!("{name}.rate"), std::slice::from_ref(&storm.rate)));
                tensors.push(Tensor::flat(format!("{name}.base"), numbers(&[storm.base])));
            }
        }
        tensors
    }

    /// Takes it over from a checkpoint after `done` steps.
    pub fn restore(&mut self, stored: &Stored, name: &str, done: u64) -> Result<(), TrainError> {
        let last: Vec<u64> = stored.numbers(&format!("{name}.last"))?;
        stored.counted(&format!("{name}.last"), last.len(), self.last().len())?;
        if let Some(late) = last.iter().find(|last| **last > done) {
            let expected = format!("at most {done}, as many as are done");
            return Err(stored.wrong(format!("a row of {name} that was updated in step {late}"), expected));
        }
        match self {
            RowOptimiser::Adam(adam) => {
                stored.f32_into(&format!("{name}.mean"), &mut adam.mean)?;
                stored.f32_into(&format!("{name}.square"), &mut adam.square)?;
                adam.last = last;
            }
            RowOptimiser::Storm(storm) => {
                stored.f32_into(&format!("{name}.mean"), &mut storm.mean)?;
                let (moved, rate) =
                    (stored.f64(&format!("{name}.moved"))?, stored.f64(&format!("{name}.rate"))?);
                let base: Vec<u64> = stored.numbers(&format!("{name}.base"))?;
                match (&base[..], &rate[..]) {
                    (&[base], &[rate]) if base + moved.len() as u64 == done + 1 => {
                        storm.last = last;
                        (storm.base, storm.moved, storm.rate) = (base, moved, rate);
                    }
                    _ => {
                        let found = format!("{} sums of steps of {name}", moved.len());
                        return Err(stored.wrong(found, format!("those up to step {done}")));
                    }
                }
            }
        }
        Ok(())
    }
}
