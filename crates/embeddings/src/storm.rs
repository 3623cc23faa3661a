/*!
STORM over the rows of one table: every row moves in every step, and only the rows of a batch are read and written.

```text
m_t = (1 − γ) (m_{t−1} − G(w_{t−1})) + G(w_t),   w ← w − η_t m_t                dense STORM
G = 0 in a row that no batch read in steps l, …, t − 1:
m_{t−1} = (1 − γ)^{t−l} m_{l−1},   w_t = w_l − m_{l−1} Σ_{k=l}^{t−1} η_k (1 − γ)^{k−l+1}
```

So a row is stored as it was after its last batch and moved on when it is read again: the sums are kept per step, not per row.
The result is dense STORM up to rounding. Weight decay λ (decoupled, w ← (1 − η λ) w) acts when a row is in a batch.

Source: Cutkosky, Orabona, "Momentum-based variance reduction in non-convex SGD", NeurIPS 2019; Qiu, Hu, Zhong, Tu, Zhang, Yang,
"Optimal large-scale stochastic optimization of NDCG surrogates for deep learning", Machine Learning, 2024, eq. 11.
*/

use rayon::prelude::*;

use crate::rows::{RowStep, Rows, Undo};
use crate::table::{Table, TableError, TableStorage};

/// Below this share of its first size a step of a row is nothing.
const NEGLIGIBLE: f64 = 1e-12;
/// Rows of a task.
const GRAIN: usize = 256;

/// STORM over the rows of one table.
#[derive(Debug)]
pub struct RowStorm {
    width: usize,
    gamma: f64,
    decay: f64,
    /// m of each number after the last batch that read its row.
    pub mean: Table,
    /// Step after which each row was last written; 0: never.
    pub last: Vec<u64>,
    /// Step of the first of `moved`.
    pub base: u64,
    /// For rows that were last written after step `base`, `base + 1` …: how far they have moved since, in units of their m.
    pub moved: Vec<f64>,
    /// η of the last step.
    pub rate: f64,
}

/// The gradients of some rows at the present and at the previous parameters of the same batch.
#[derive(Clone, Copy)]
pub struct RowSlopes<'a> {
    /// At the present ones.
    pub now: &'a [f32],
    /// At the previous ones; `None` in the first step: then m = G.
    pub previous: Option<&'a [f32]>,
}

impl RowStorm {
    /// For a table of `rows` rows of `width` numbers, with its m in `storage`.
    ///
    /// # Errors
    /// If there is not enough space.
    pub fn new_in(
        rows: usize,
        width: usize,
        gamma: f64,
        decay: f64,
        storage: &TableStorage,
    ) -> Result<RowStorm, TableError> {
        Ok(RowStorm {
            width,
            gamma,
            decay,
            mean: Table::zeroed(rows * width, storage)?,
            last: vec![0; rows],
            base: 0,
            moved: vec![0.0],
            rate: 0.0,
        })
    }

    /// Resets all state.
    pub fn restart(&mut self) {
        self.mean.fill(0.0);
        self.last.fill(0);
        self.base = 0;
        self.moved = vec![0.0];
        self.rate = 0.0;
    }

    /// The next step.
    fn step_number(&self) -> u64 {
        self.base + self.moved.len() as u64 - 1
    }

    /// How far a row has moved since it was written, and how far in the last step, in units of its m; and what is left of m.
    fn since(&self, row: usize) -> [f64; 3] {
        let last = self.last[row].max(self.base);
        let skipped = (self.step_number() - last) as f64;
        let left = libm::pow(1.0 - self.gamma, skipped);
        [self.moved[(last - self.base) as usize], self.rate * left, left]
    }

    /// Copies rows `numbers` of `table` to `to`, as they are now; with `undo`, the rows of the last step before it, as they were
    /// one step ago.
    pub fn gather(&self, table: &[f32], numbers: &[u32], undo: Option<&Undo>, to: &mut Rows) {
        let width = self.width;
        to.numbers.clear();
        to.numbers.extend_from_slice(numbers);
        to.values.resize(numbers.len() * width, 0.0);
        let fill = |(row, &number): (&mut [f32], &u32)| {
            let known = undo.and_then(|undo| undo.numbers.binary_search(&number).ok().map(|at| (undo, at)));
            if let Some((undo, at)) = known {
                row.copy_from_slice(&undo.values[at * width..][..width]);
                return;
            }
            let [moved, lately, _] = self.since(number as usize);
            let by = (if undo.is_some() { moved - lately } else { moved }) as f32;
            let here = number as usize * width..(number as usize + 1) * width;
            for ((x, w), m) in row.iter_mut().zip(&table[here.clone()]).zip(&self.mean[here]) {
                *x = w - by * m;
            }
        };
        to.values.par_chunks_exact_mut(width).zip(numbers).with_min_len(GRAIN).for_each(fill);
    }

    /// Moves rows `rows`, as [`RowStorm::gather`] gave them for this step, along their gradients, and all others along their m.
    ///
    /// # Panics
    /// If lengths do not fit, or it is not the step after the last one.
    pub fn step(&mut self, step: RowStep, table: &mut [f32], rows: &Rows, slopes: RowSlopes) {
        let width = self.width;
        assert_eq!(step.number, self.step_number(), "one step after the other");
        assert!(
            slopes.now.len() == rows.values.len() && table.len() == self.mean.len(),
            "a row of gradient each"
        );
        let (kept, rate, old) =
            ((1.0 - step.rate * self.decay) as f32, step.rate as f32, (1.0 - self.gamma) as f32);
        for (k, &number) in rows.numbers.iter().enumerate() {
            let left = self.since(number as usize)[2] as f32;
            let (own, here) =
                (k * width..(k + 1) * width, number as usize * width..(number as usize + 1) * width);
            let before = slopes.previous.map(|previous| &previous[own.clone()]);
            let numbers = table[here.clone()].iter_mut().zip(&mut self.mean[here]);
            for (j, ((w, m), (x, g))) in
                numbers.zip(rows.values[own.clone()].iter().zip(&slopes.now[own])).enumerate()
            {
                let mean = before.map_or(*g, |before| old * (left * *m - before[j]) + g);
                *m = if mean.abs() < 1e-30 { 0.0 } else { mean };
                *w = kept * x - rate * *m;
            }
            self.last[number as usize] = step.number + 1;
        }
        let mut part = 1.0;
        for moved in self.moved.iter_mut().rev() {
            part *= 1.0 - self.gamma;
            if part < NEGLIGIBLE {
                break;
            }
            *moved += step.rate * part;
        }
        self.moved.push(0.0);
        self.rate = step.rate;
    }

    /// The present values of all rows of `table`.
    pub fn write_present(&self, table: &mut [f32]) {
        let rows = table.par_chunks_exact_mut(self.width).zip(self.mean.par_chunks_exact(self.width));
        rows.enumerate().with_min_len(GRAIN).for_each(|(row, (values, mean))| {
            let by = self.since(row)[0] as f32;
            values.iter_mut().zip(mean).for_each(|(w, m)| *w -= by * m);
        });
    }

    /// Moves all rows on to the present, so that no sum of earlier steps is needed any more.
    pub fn settle(&mut self, table: &mut [f32]) {
        self.write_present(table);
        let left: Vec<f32> = (0..self.last.len()).map(|row| self.since(row)[2] as f32).collect();
        let rows = self.mean.par_chunks_exact_mut(self.width).zip(&left);
        rows.with_min_len(GRAIN).for_each(|(mean, left)| mean.iter_mut().for_each(|m| *m *= left));
        let now = self.step_number();
        self.last.fill(now);
        (self.base, self.moved) = (now, vec![0.0]);
    }
}
