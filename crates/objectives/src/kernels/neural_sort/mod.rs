/*!
NeuralSort: a relaxed sort, its doubly stochastic (Sinkhorn) form, and the backward pass through both.

```text
P_r = softmax_j(((n + 1 − 2r) s_j − Σ_k |s_j − s_k|)/τ),  r = 1 … n          row r: weights of the items at rank r
balanced: u = 1;  repeat  v = 1/(Pᵀu),  u = 1/(P v)  at most `most` times, until every column sum of
          M = diag(u) P diag(v) is within `tolerance` of 1 (its row sums are 1)
measure = Σ_r D(r) Σ_j M_rj share_j                                          (plain: M = P, rows 1 … k only)
```

- **Rows are bands.** In sorted order the exponent of row r is highest at r, and decreases by 1, 3, 5 … times the gaps of the
  scores on either side: no large numbers cancel, and entries below e^{−50} of the row's maximum are skipped. A row of
  normally distributed scores has about 9·√(τn) entries instead of n; with equal scores it is full.
- **No n² memory.** Rows are kept only while all of them together have at most 2²² numbers (32 MB: 2,000 items with any
  scores, 6,000 with normally distributed ones at τ = 1), otherwise they are recomputed in each sweep.
- **The backward pass** needs the two scaling vectors of each iteration (2·50·n numbers) and one sweep per iteration: with
  y = −v²·(derivative by v), row r gives q = Σ_j P_rj y_j, x = −q u'_r², and adds P_rj (u'_r y_j + x v'_j) to the slopes in
  the exponents (u', v': the iteration before; its u' = 1/(P v') makes these sum to 0 over the row). Before the first
  iteration u' = 1 is a constant, and the row's softmax takes q off: P_rj (y_j − q). Of all these derivatives only the sums
  per column, unweighted and times n + 1 − 2r, are kept.

Cost: a sort, then 2t + 2 sweeps over the bands for t iterations (without scaling: 1 sweep over k rows).
*/

use toprank_metrics::Discounts;

use super::order::{OrderWork, descending};
use super::vector::exp_all;

/// Entries whose exponent is this far below the maximum of the row are skipped.
const CUT: f64 = 50.0;
/// All rows are kept if they have at most this many entries.
const KEPT: usize = 1 << 22;

/// What is to be sorted.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Scores in input order.
    pub scores: &'a [f64],
    /// Gain of each item over the ideal DCG.
    pub shares: &'a [f64],
    /// τ.
    pub temperature: f64,
    /// K: only the top K positions count.
    pub places: usize,
}

/// When Sinkhorn scaling stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// After this many iterations, or when every column sum is this close to 1.
    Near(usize, f64),
    /// After exactly this many iterations.
    After(usize),
}

/// Scratch memory of the relaxed sort.
#[derive(Clone, Debug, Default)]
pub struct NeuralSort {
    sorting: OrderWork,
    order: Vec<u32>,
    /// Scores, then shares, in sorted order.
    scores: Vec<f64>,
    shares: Vec<f64>,
    /// First position of the items with the same score, and the position after the last.
    ties: Vec<(u32, u32)>,
    rows: Rows,
    /// v and u of each iteration, one after the other.
    scales: Vec<f64>,
    columns: Vec<f64>,
    slope_v: Vec<f64>,
    y: Vec<f64>,
    sums: Sums,
    hessian: Vec<f64>,
    prefix: Vec<f64>,
    /// Numbers up to which rows are kept, if not [`KEPT`].
    keep: Option<usize>,
}

/// Derivatives by the exponents, summed over rows: unweighted, and times n + 1 − 2r.
#[derive(Clone, Debug, Default)]
struct Sums {
    columns: Vec<f64>,
    weighted: Vec<f64>,
}

/// The rows of P in sorted order.
#[derive(Clone, Debug, Default)]
struct Rows {
    /// (s_k − s_{k+1})/τ.
    gaps: Vec<f64>,
    count: usize,
    /// First column, first number in `kept`, length; empty if rows are not kept.
    bands: Vec<(u32, u32, u32)>,
    kept: Vec<f64>,
    row: Vec<f64>,
}

impl Rows {
    fn lay(&mut self, sorted: &[f64], temperature: f64, count: usize, keep: usize) {
        self.gaps.clear();
        self.gaps.extend(sorted.windows(2).map(|pair| (pair[0] - pair[1]) / temperature));
        self.count = count;
        self.row.resize(sorted.len().max(self.row.len()), 0.0);
        self.bands.clear();
        self.kept.clear();
        for r in 0..count {
            let (first, end) = self.build(r);
            if self.kept.len() + (end - first) > keep {
                self.bands.clear();
                return;
            }
            self.bands.push((first as u32, self.kept.len() as u32, (end - first) as u32));
            self.kept.extend_from_slice(&self.row[first..end]);
        }
    }

    /// Fills `row[first..end]`.
    fn build(&mut self, r: usize) -> (usize, usize) {
        let (row, gaps) = (&mut self.row, &self.gaps);
        row[r] = 0.0;
        let (mut end, mut fall, mut step) = (r + 1, 0.0, 1.0);
        while end <= gaps.len() {
            fall += step * gaps[end - 1];
            if fall > CUT {
                break;
            }
            row[end] = -fall;
            (end, step) = (end + 1, step + 2.0);
        }
        let mut first = r;
        (fall, step) = (0.0, 1.0);
        while first > 0 {
            fall += step * gaps[first - 1];
            if fall > CUT {
                break;
            }
            first -= 1;
            row[first] = -fall;
            step += 2.0;
        }
        let row = &mut row[first..end];
        exp_all(row);
        let scale = 1.0 / sum(row);
        for x in row {
            *x *= scale;
        }
        (first, end)
    }

    /// Calls `f(r, first column, the row from there on)` for each row.
    #[inline(always)]
    #[allow(clippy::inline_always)] // must be inlined for its caller to be vectorised
    fn each(&mut self, mut f: impl FnMut(usize, usize, &[f64])) {
        for r in 0..self.count {
            if let Some(&(first, start, length)) = self.bands.get(r) {
                f(r, first as usize, &self.kept[start as usize..(start + length) as usize]);
            } else {
                let (first, end) = self.build(r);
                f(r, first, &self.row[first..end]);
            }
        }
    }
}

impl NeuralSort {
    /// The metric by the first rows of P. Writes its derivative by each score and, if asked, a Hessian diagonal ≥ 0.
    pub fn plain(&mut self, task: &Task, slope: &mut [f64], hessian: Option<&mut [f64]>) -> f64 {
        let n = task.scores.len();
        self.lay(task, task.places.min(n));
        let NeuralSort { rows, sums, shares, ties, hessian: curve, prefix, .. } = self;
        let discounts = Discounts::default();
        let mut measure = 0.0;
        rows.each(|r, first, p| {
            let discount = discounts.at(r);
            let expected = dot(p, &shares[first..first + p.len()]);
            measure += discount * expected;
            sums.add_softmax(r, first, p, shares, [discount, expected]);
            if hessian.is_some() {
                add_variances(p, first, r, discount, ties, prefix, curve);
            }
        });
        self.to_items(task.temperature, slope, hessian);
        measure
    }

    /// The metric by the doubly stochastic matrix, and how many iterations it took.
    pub fn balanced(
        &mut self,
        task: &Task,
        stop: Stop,
        slope: &mut [f64],
        hessian: Option<&mut [f64]>,
    ) -> (f64, usize) {
        let n = task.scores.len();
        self.lay(task, n);
        let steps = self.balance(stop);
        let NeuralSort {
            rows, sums, shares, ties, scales, columns, slope_v, y, hessian: curve, prefix, ..
        } = self;
        let discounts = Discounts::default();
        let discount = |r: usize| if r < task.places { discounts.at(r) } else { 0.0 };
        let at = |step: usize| &scales[(step - 1) * 2 * n..step * 2 * n];

        // The metric, its derivative by M, and the step u = 1/(P v) of the last iteration.
        let (v, u) = at(steps).split_at(n);
        y.clear();
        y.extend(v.iter().zip(shares.iter()).map(|(v, share)| v * share));
        slope_v.clear();
        slope_v.resize(n, 0.0);
        let mut measure = 0.0;
        rows.each(|r, first, p| {
            let here = first..first + p.len();
            let q = dot(p, &y[here.clone()]);
            let top = discount(r) * u[r];
            measure += top * q;
            let x = -top * q * u[r]; // −(derivative by u) u², derivative by u = D q
            for (k, &p) in here.clone().zip(p) {
                slope_v[k] += p * (top * shares[k] + x);
                let part = p * (top * y[k] + x * v[k]);
                sums.columns[k] += part;
                sums.weighted[k] += weight(n, r) * part;
            }
            if hessian.is_some() && r < task.places {
                let row = &mut columns[..p.len()]; // a row of M; the columns are no longer needed
                for (m, (p, v)) in row.iter_mut().zip(p.iter().zip(&v[here])) {
                    *m = u[r] * p * v;
                }
                add_variances(row, first, r, discount(r), ties, prefix, curve);
            }
        });
        // Iteration by iteration: v = 1/(Pᵀu'), then u' = 1/(P v') of the one before. Before the first, u' = 1.
        for step in (1..=steps).rev() {
            for (y, (slope, v)) in y.iter_mut().zip(slope_v.iter().zip(at(step))) {
                *y = -slope * v * v;
            }
            if step == 1 {
                backward_to_start(rows, y, sums);
            } else {
                backward(rows, y, at(step - 1).split_at(n), slope_v, sums);
            }
        }
        self.to_items(task.temperature, slope, hessian);
        (measure, steps)
    }

    /// Iterations that [`NeuralSort::balanced`] would take at these scores.
    pub fn iterations(&mut self, task: &Task, stop: Stop) -> usize {
        self.lay(task, task.scores.len());
        self.balance(stop)
    }

    /// The metric of the sorted order of the scores that were laid out last; equal scores share their positions.
    pub fn hard(&self, places: usize) -> f64 {
        let discounts = Discounts::default();
        let mut measure = 0.0;
        let mut place = 0;
        while place < self.ties.len().min(places) {
            let (first, end) = (place, self.ties[place].1 as usize);
            let mean = self.shares[first..end].iter().sum::<f64>() / (end - first) as f64;
            measure += mean * discounts.sum(first, end.min(places));
            place = end;
        }
        measure
    }

    /// Fills `scales`; gives the number of iterations.
    fn balance(&mut self, stop: Stop) -> usize {
        let NeuralSort { rows, scales, columns, .. } = self;
        let n = rows.count;
        let (most, tolerance) = match stop {
            Stop::Near(most, tolerance) => (most, tolerance),
            Stop::After(steps) => (steps, 0.0),
        };
        scales.clear();
        column_sums(rows, columns);
        for step in 0..most {
            let v_before = step.checked_sub(1).map(|before| &scales[before * 2 * n..before * 2 * n + n]);
            let near = |v: &[f64]| v.iter().zip(columns.iter()).all(|(v, c)| (v * c - 1.0).abs() < tolerance);
            if v_before.is_some_and(near) {
                return step;
            }
            scales.extend(columns.iter().map(|c| 1.0 / c.max(f64::MIN_POSITIVE)));
            scales.resize(2 * n * (step + 1), 0.0);
            let (v, u) = scales[2 * n * step..].split_at_mut(n);
            forward(rows, v, u, columns);
        }
        most
    }

    fn lay(&mut self, task: &Task, rows: usize) {
        let n = task.scores.len();
        self.order.resize(n, 0);
        descending(task.scores, &mut self.order, &mut self.sorting);
        self.scores.clear();
        self.scores.extend(self.order.iter().map(|&j| task.scores[j as usize]));
        self.shares.clear();
        self.shares.extend(self.order.iter().map(|&j| task.shares[j as usize]));
        self.ties.clear();
        for run in self.scores.chunk_by(|a, b| a == b) {
            let first = self.ties.len() as u32;
            self.ties.extend(run.iter().map(|_| (first, first + run.len() as u32)));
        }
        self.rows.lay(&self.scores, task.temperature, rows, self.keep.unwrap_or(KEPT));
        let Sums { columns, weighted } = &mut self.sums;
        for numbers in [columns, weighted, &mut self.columns, &mut self.hessian] {
            numbers.clear();
            numbers.resize(n, 0.0);
        }
    }

    /// From derivatives by the exponents to derivatives by the scores, in input order.
    fn to_items(&self, temperature: f64, slope: &mut [f64], hessian: Option<&mut [f64]>) {
        let n = self.order.len();
        // The derivative by −Σ_k |s_j − s_k| is `columns`; that sum depends on s_j and on every s_k.
        let columns = &self.sums.columns;
        let total: f64 = columns.iter().sum();
        let mut above = 0.0;
        let mut end = 0;
        let mut tied = 0.0;
        for (k, &(first, last)) in self.ties.iter().enumerate() {
            if k == end {
                above += tied;
                end = last as usize;
                tied = columns[k..end].iter().sum();
            }
            let (higher, lower) = (f64::from(first), (n - end) as f64);
            let below = total - above - tied;
            slope[self.order[k] as usize] =
                (self.sums.weighted[k] - columns[k] * (lower - higher) - below + above) / temperature;
        }
        let Some(hessian) = hessian else { return };
        let (low, high) =
            self.shares.iter().fold((f64::INFINITY, 0.0f64), |(low, high), &x| (low.min(x), high.max(x)));
        for (&j, &curve) in self.order.iter().zip(&self.hessian) {
            hessian[j as usize] = (high - low) * curve / temperature / temperature;
        }
    }
}

/// What s_j is multiplied with in row r, counted from 0.
fn weight(n: usize, r: usize) -> f64 {
    n as f64 - 1.0 - 2.0 * r as f64
}

/// Adds D·Var of ∂exponent/∂s_j under the row m, for each item j of the row: 2(rank_j − r) for j itself, 1 for those
/// above it, −1 for those below.
fn add_variances(
    m: &[f64],
    first: usize,
    r: usize,
    discount: f64,
    ties: &[(u32, u32)],
    prefix: &mut Vec<f64>,
    hessian: &mut [f64],
) {
    let n = ties.len();
    prefix.clear();
    prefix.push(0.0);
    let mut sum = 0.0;
    prefix.extend(m.iter().map(|m| {
        sum += m;
        sum
    }));
    for (i, &own) in m.iter().enumerate() {
        let (from, to) = ties[first + i];
        let above = prefix[from as usize - first];
        let below = sum - prefix[to as usize - first];
        let own_slope = weight(n, r) - (n as f64 - f64::from(to) - f64::from(from));
        let mean = above - below + own * own_slope;
        let square = above + below + own * own_slope * own_slope;
        hessian[first + i] += discount * (square - mean * mean).max(0.0);
    }
}

vectorised! {
    /// Column sums of P.
    fn column_sums(rows: &mut Rows, columns: &mut [f64]) {
        columns.fill(0.0);
        rows.each(|_, first, p| add(&mut columns[first..first + p.len()], p, 1.0));
    }
}

vectorised! {
    /// u = 1/(P v), and the column sums under it.
    fn forward(rows: &mut Rows, v: &[f64], u: &mut [f64], columns: &mut [f64]) {
        columns.fill(0.0);
        rows.each(|r, first, p| {
            let here = first..first + p.len();
            u[r] = 1.0 / dot(p, &v[here.clone()]).max(f64::MIN_POSITIVE);
            add(&mut columns[here], p, u[r]);
        });
    }
}

vectorised! {
    /// One iteration backwards, to the scales of the previous one.
    fn backward(rows: &mut Rows, y: &[f64], before: (&[f64], &[f64]), slope_v: &mut [f64], sums: &mut Sums) {
        let (v, u) = before;
        let n = y.len();
        slope_v.fill(0.0);
        rows.each(|r, first, p| {
            let here = first..first + p.len();
            let (y, v, slope_v) = (&y[here.clone()], &v[here.clone()], &mut slope_v[here.clone()]);
            let (columns, weighted) = (&mut sums.columns[here.clone()], &mut sums.weighted[here]);
            let (u, weight) = (u[r], weight(n, r));
            let x = -dot(p, y) * u * u;
            for k in 0..p.len() {
                let part = p[k] * (u * y[k] + x * v[k]);
                slope_v[k] += p[k] * x;
                columns[k] += part;
                weighted[k] += weight * part;
            }
        });
    }
}

vectorised! {
    /// The first iteration backwards, before which u' = 1.
    fn backward_to_start(rows: &mut Rows, y: &[f64], sums: &mut Sums) {
        rows.each(|r, first, p| {
            let expected = dot(p, &y[first..first + p.len()]);
            sums.add_softmax(r, first, p, y, [1.0, expected]);
        });
    }
}

impl Sums {
    /// Adds the derivatives by the exponents of one row of a softmax: factor·p·(value − expected).
    #[inline(always)]
    #[allow(clippy::inline_always)] // must be inlined for its caller to be vectorised
    fn add_softmax(&mut self, r: usize, first: usize, p: &[f64], values: &[f64], scales: [f64; 2]) {
        let here = first..first + p.len();
        let weight = weight(values.len(), r);
        let (columns, weighted) = (&mut self.columns[here.clone()], &mut self.weighted[here.clone()]);
        for (((p, value), column), weighted) in p.iter().zip(&values[here]).zip(columns).zip(weighted) {
            let part = scales[0] * p * (value - scales[1]);
            *column += part;
            *weighted += weight * part;
        }
    }
}

/// Σ x.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn sum(x: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let chunks = x.chunks_exact(8);
    let rest: f64 = chunks.remainder().iter().sum();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane += x;
        }
    }
    lanes.iter().sum::<f64>() + rest
}

/// Σ a·b.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a.zip(b) {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += a * b;
        }
    }
    lanes.iter().sum::<f64>() + rest
}

/// to += scale·x.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
fn add(to: &mut [f64], x: &[f64], scale: f64) {
    for (to, x) in to.iter_mut().zip(x) {
        *to += scale * x;
    }
}

#[cfg(test)]
mod tests;
