/*!
Rows of a table that a batch reads: gather them, update them, keep their previous values.

**Row-sparse Adam.** Only the rows of a batch are read and written. For a row that was last updated s + 1 steps ago,
the two moving averages first decay for the s steps it skipped, as in dense Adam with gradient 0:

```text
m ← β1^s m,   v ← β2^s v                        the skipped steps
m ← β1 m + (1 − β1) g,   v ← β2 v + (1 − β2) g²  this step
w ← w − η m/(1 − β1^t) / (√(v/(1 − β2^t)) + ε)   t: steps of the whole run
```

Both moving averages are therefore those of dense Adam at every update. Unlike in dense Adam, a row does not change in steps
that do not read it. Weight decay λ (coupled, g + λw) acts when a row is updated.

Source: Kingma, Ba, "Adam: A method for stochastic optimization", ICLR 2015, over the rows of a batch.
*/

use rayon::prelude::*;
use toprank_core::{Features, vectorised};

use crate::table::{Table, TableError, TableStorage};

/// Some rows of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Numbers of the rows, strictly ascending.
    pub numbers: Vec<u32>,
    /// Their values, row after row.
    pub values: Vec<f32>,
}

/// The rows of the last step as they were before it.
pub type Undo = Rows;

impl Rows {
    /// Copies rows `numbers` of `table` here; for rows that are in `before`, the values of `before`.
    pub fn gather(&mut self, table: &[f32], width: usize, numbers: &[u32], before: Option<&Undo>) {
        self.numbers.clear();
        self.numbers.extend_from_slice(numbers);
        self.values.resize(numbers.len() * width, 0.0);
        let fill = |(row, &number): (&mut [f32], &u32)| {
            let old = before.and_then(|undo| undo.numbers.binary_search(&number).ok().map(|at| (undo, at)));
            row.copy_from_slice(match old {
                Some((undo, at)) => &undo.values[at * width..][..width],
                None => &table[number as usize * width..][..width],
            });
        };
        let rows = self.values.par_chunks_exact_mut(width).zip(numbers);
        rows.with_min_len(GRAIN).for_each(fill);
    }
}

/// Rows of a task.
const GRAIN: usize = 256;
/// Powers of β that are kept.
const KEPT: usize = 1024;

/// The constants of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowStep {
    /// Steps of the whole run before this one.
    pub number: u64,
    /// The learning rate η.
    pub rate: f64,
}

/// The settings of row-sparse Adam.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowConstants {
    /// β1 and β2: how much of the past is kept.
    pub beta: [f64; 2],
    /// ε.
    pub eps: f64,
    /// Weight decay λ, on the rows of a batch.
    pub decay: f64,
    /// False: λ·w is added to the gradient (Adam). True: w is multiplied by 1 − ηλ instead, whatever the gradient (AdamW).
    pub decoupled: bool,
}

/// Adam over the rows of one table.
#[derive(Debug)]
pub struct RowAdam {
    width: usize,
    constants: RowConstants,
    /// β^s for small s.
    powers: [Vec<f32>; 2],
    /// m of each number.
    pub mean: Table,
    /// v of each number.
    pub square: Table,
    /// Step after which each row was last updated; 0: never.
    pub last: Vec<u64>,
}

impl RowAdam {
    /// For a table of `rows` rows of `width` numbers; both means are on the heap.
    pub fn new(rows: usize, width: usize, constants: RowConstants) -> RowAdam {
        let [mean, square] = [(); 2].map(|()| Table::from(vec![0.0; rows * width]));
        RowAdam::of(rows, width, constants, [mean, square])
    }

    /// The same with its means in `storage`.
    ///
    /// # Errors
    /// If there is not enough space.
    pub fn new_in(
        rows: usize,
        width: usize,
        constants: RowConstants,
        storage: &TableStorage,
    ) -> Result<RowAdam, TableError> {
        let zeros = || Table::zeroed(rows * width, storage);
        Ok(RowAdam::of(rows, width, constants, [zeros()?, zeros()?]))
    }

    fn of(rows: usize, width: usize, constants: RowConstants, [mean, square]: [Table; 2]) -> RowAdam {
        let powers = constants.beta.map(|beta| (0..KEPT).map(|s| libm::pow(beta, s as f64) as f32).collect());
        RowAdam { width, constants, powers, mean, square, last: vec![0; rows] }
    }

    /// Resets all state.
    pub fn restart(&mut self) {
        self.mean.fill(0.0);
        self.square.fill(0.0);
        self.last.fill(0);
    }

    fn power(&self, which: usize, s: u64) -> f32 {
        match self.powers[which].get(s as usize) {
            Some(power) => *power,
            None => libm::pow(self.constants.beta[which], s as f64) as f32,
        }
    }

    /// Updates rows `numbers` (strictly ascending) of `table` by `gradient` (a row each).
    ///
    /// # Panics
    /// If lengths do not fit.
    pub fn step(&mut self, step: RowStep, table: &mut [f32], numbers: &[u32], gradient: &[f32]) {
        let width = self.width;
        assert!(
            gradient.len() == numbers.len() * width && table.len() == self.mean.len(),
            "a row of gradient each"
        );
        let (mut mean, mut square, mut last) = (
            std::mem::take(&mut self.mean),
            std::mem::take(&mut self.square),
            std::mem::take(&mut self.last),
        );
        let t = step.number as f64 + 1.0;
        let RowConstants { beta: [beta1, beta2], eps, decay, decoupled } = self.constants;
        let constants = Constants {
            rate: (step.rate / (1.0 - libm::pow(beta1, t))) as f32,
            size: (1.0 / (1.0 - libm::pow(beta2, t)).sqrt()) as f32,
            new: [(1.0 - beta1) as f32, (1.0 - beta2) as f32],
            old: [beta1 as f32, beta2 as f32],
            eps: eps as f32,
            decay: if decoupled { 0.0 } else { decay as f32 },
            kept: if decoupled { (1.0 - step.rate * decay) as f32 } else { 1.0 },
        };
        let part = Part {
            first: 0,
            numbers,
            gradient,
            table,
            mean: &mut mean,
            square: &mut square,
            last: &mut last,
        };
        part.run(self, step.number, &constants);
        (self.mean, self.square, self.last) = (mean, square, last);
    }
}

#[derive(Clone, Copy)]
struct Constants {
    rate: f32,
    size: f32,
    new: [f32; 2],
    old: [f32; 2],
    eps: f32,
    decay: f32,
    /// The factor of decoupled weight decay.
    kept: f32,
}

/// Consecutive rows; the slices begin with row `first`.
struct Part<'a> {
    first: u32,
    numbers: &'a [u32],
    gradient: &'a [f32],
    table: &'a mut [f32],
    mean: &'a mut [f32],
    square: &'a mut [f32],
    last: &'a mut [u64],
}

impl Part<'_> {
    fn run(self, adam: &RowAdam, now: u64, constants: &Constants) {
        let width = adam.width;
        let Part { first, numbers, gradient, table, mean, square, last } = self;
        if numbers.len() > GRAIN {
            let middle = numbers.len() / 2;
            let cut = (numbers[middle] - first) as usize;
            let (numbers, numbers_right) = numbers.split_at(middle);
            let (gradient, gradient_right) = gradient.split_at(middle * width);
            let (table, table_right) = table.split_at_mut(cut * width);
            let (mean, mean_right) = mean.split_at_mut(cut * width);
            let (square, square_right) = square.split_at_mut(cut * width);
            let (last, last_right) = last.split_at_mut(cut);
            let left = Part { first, numbers, gradient, table, mean, square, last };
            let right = Part {
                first: first + cut as u32,
                numbers: numbers_right,
                gradient: gradient_right,
                table: table_right,
                mean: mean_right,
                square: square_right,
                last: last_right,
            };
            rayon::join(|| left.run(adam, now, constants), || right.run(adam, now, constants));
            return;
        }
        for (&number, gradient) in numbers.iter().zip(gradient.chunks_exact(width)) {
            let row = (number - first) as usize;
            let skipped = now - last[row];
            last[row] = now + 1;
            let here = row * width..(row + 1) * width;
            let decayed =
                if skipped == 0 { [1.0; 2] } else { [adam.power(0, skipped), adam.power(1, skipped)] };
            move_row(
                &mut table[here.clone()],
                &mut mean[here.clone()],
                &mut square[here],
                gradient,
                decayed,
                *constants,
            );
        }
    }
}

vectorised! {
    /// One row.
    fn move_row(
        row: &mut [f32],
        mean: &mut [f32],
        square: &mut [f32],
        gradient: &[f32],
        decayed: [f32; 2],
        c: Constants,
    ) {
        let old = [decayed[0] * c.old[0], decayed[1] * c.old[1]];
        for (((w, m), v), g) in row.iter_mut().zip(mean).zip(square).zip(gradient) {
            let g = g + c.decay * *w;
            *m = settled(old[0] * *m + c.new[0] * g);
            *v = settled(old[1] * *v + c.new[1] * g * g);
            *w = c.kept * *w - c.rate * *m / (v.sqrt() * c.size + c.eps);
        }
    }
}

/// `x`, or 0 if it is tiny: averages that only decay would become subnormal, which makes arithmetic slow.
#[inline(always)]
#[allow(clippy::inline_always)] // It must be compiled into the vectorised function that calls it.
fn settled(x: f32) -> f32 {
    if x.abs() < 1e-30 { 0.0 } else { x }
}

/// Features of the users or items `ids`, row after row.
pub(crate) fn features(of: Option<&dyn Features>, ids: &[u32]) -> Vec<f32> {
    let Some(of) = of else { return Vec::new() };
    let mut out = vec![0.0; ids.len() * of.width()];
    of.gather(ids, &mut out);
    // A missing feature is 0, the mean: features are centred before.
    out.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = 0.0);
    out
}
