/*!
The loss of each place against candidates, and its slopes.

```text
softmax   L = −s_t + log (exp s_t + Σ_{c≠t} exp(s_c − log π_c))
gbce      L = (β softplus(−s_t) + Σ_{c≠t} w_c softplus(s_c)) / (k + 1)      w_c = k / ((n − 1) π_c)
          β = 1 − ¾ (1 − k/(n − 1))
```

Candidates c are the items of a batch and k that were drawn, each with the probability π_c that it is among them; so the sum over them is,
in expectation, that over all n items, and for gbce that over k items drawn evenly.

Scores of some rows with all candidates are computed at once, then slopes of rows (by blocks of rows) and of candidates (by blocks of
candidates): every number is summed by one task in one order.
*/

use rayon::prelude::*;
use toprank_core::matrix::{View, product};
use toprank_core::vectorised;
use toprank_neural::{exp, sum};

/// Rows of a task.
const ROWS: usize = 128;
/// Candidates of a task.
const COLUMNS: usize = 1024;
/// Scores at once, at most: 32 MB.
const SCORES: usize = 1 << 23;
/// gSASRec's t: how much of the overconfidence of few negatives is taken back.
const CALIBRATION: f64 = 0.75;

/// The loss of a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Loss {
    Softmax,
    Gbce,
}

/// Rows whose scores are computed at once, for so many candidates.
pub(super) fn rows_at_once(columns: usize) -> usize {
    (SCORES / columns.max(1)).clamp(ROWS / 4, 4 * ROWS)
}

/// What a loss needs to know of the candidates.
pub(super) struct Terms {
    loss: Loss,
    /// Of each candidate: −log π for softmax, the weight for gbce. Empty: all are 0, or 1.
    of: Vec<f32>,
    /// β of gbce.
    positive: f32,
    /// 1/(k + 1) of gbce.
    factor: f64,
}

impl Terms {
    /// With the probabilities of candidates to be among them, none: all items are. `drawn` of `items` were drawn.
    pub fn new(loss: Loss, probabilities: &[f64], drawn: usize, items: usize) -> Terms {
        let others = items.saturating_sub(1).max(1) as f64;
        let k = if probabilities.is_empty() { others } else { drawn as f64 };
        let of = match loss {
            Loss::Softmax => probabilities.iter().map(|p| -p.ln() as f32).collect(),
            Loss::Gbce => probabilities.iter().map(|p| (k / (others * p)) as f32).collect(),
        };
        let positive = 1.0 - CALIBRATION * (1.0 - (k / others).min(1.0));
        Terms { loss, of, positive: positive as f32, factor: 1.0 / (k + 1.0) }
    }
}

vectorised! {
    /// Scores become slopes of the loss, times `factor`; returns the loss.
    fn softmax(s: &mut [f32], terms: &[f32], target: usize, factor: f32) -> f32 {
        let own = s[target];
        s.iter_mut().zip(terms).for_each(|(s, term)| *s += term);
        s[target] = own;
        let mut lanes = [f32::NEG_INFINITY; 16];
        let mut chunks = s.chunks_exact(16);
        for chunk in &mut chunks {
            // Comparisons that keep NaN out of the maximum; the sum below is NaN then.
            lanes.iter_mut().zip(chunk).for_each(|(lane, s)| *lane = if *s > *lane { *s } else { *lane });
        }
        let rest = chunks.remainder().iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let top = lanes.into_iter().fold(rest, f32::max);
        for s in s.iter_mut() {
            *s = exp(*s - top);
        }
        let total = sum(s.len(), |c| s[c]);
        let scale = factor / total;
        for s in s.iter_mut() {
            *s *= scale;
        }
        s[target] -= factor;
        top + total.ln() - own
    }
}

/// log(1 + eˣ).
fn softplus(x: f32) -> f32 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

vectorised! {
    /// The same of gbce, without the division by k + 1 in the loss.
    fn gbce(s: &mut [f32], weights: &[f32], target: usize, positive: f32, factor: f32) -> f32 {
        let own = s[target];
        let weight = |c: usize| weights.get(c).copied().unwrap_or(1.0);
        let mut loss = 0.0f64;
        for (c, s) in s.iter().enumerate() {
            if c != target {
                loss += f64::from(weight(c) * softplus(*s));
            }
        }
        for s in s.iter_mut() {
            *s = factor / (1.0 + exp(-*s));
        }
        s.iter_mut().zip(weights).for_each(|(s, weight)| *s *= weight);
        s[target] = -positive * factor / (1.0 + exp(own));
        loss as f32 + positive * softplus(-own)
    }
}

/// Rows with their targets, and candidates, all vectors of the same width.
pub(super) struct Compared<'a> {
    pub rows: &'a [f32],
    pub candidates: &'a [f32],
    /// The place of the target of each row among the candidates.
    pub targets: &'a [u32],
    pub width: usize,
}

/// The sum of the losses of all rows; writes the slopes of their mean by the rows and by the candidates. `scores` is memory.
pub(super) fn compare(
    terms: &Terms,
    compared: &Compared,
    scores: &mut Vec<f32>,
    to_rows: &mut [f32],
    to_candidates: &mut [f32],
) -> f64 {
    let &Compared { rows, candidates, targets, width } = compared;
    let columns = candidates.len() / width;
    let at_once = rows_at_once(columns);
    let (mut total, mut add) = (0.0, false);
    let scale = match terms.loss {
        Loss::Softmax => 1.0,
        Loss::Gbce => terms.factor,
    };
    let factor = (scale / targets.len() as f64) as f32;
    let groups = rows.chunks(at_once * width).zip(to_rows.chunks_mut(at_once * width));
    for ((rows, to_rows), targets) in groups.zip(targets.chunks(at_once)) {
        scores.resize(targets.len() * columns, 0.0);
        let blocks = scores.par_chunks_mut(ROWS * columns).zip(to_rows.par_chunks_mut(ROWS * width));
        let losses: Vec<f64> = blocks
            .enumerate()
            .map(|(block, (scores, to_rows))| {
                let of_block = block * ROWS..targets.len().min((block + 1) * ROWS);
                let rows = &rows[of_block.start * width..of_block.end * width];
                let candidates = View::new(candidates, width);
                product(View::new(rows, width), candidates.transposed(), scores, false);
                let each = scores.chunks_exact_mut(columns).zip(&targets[of_block]);
                let loss = each.map(|(scores, &target)| {
                    let target = target as usize;
                    f64::from(match terms.loss {
                        Loss::Softmax => softmax(scores, &terms.of, target, factor),
                        Loss::Gbce => gbce(scores, &terms.of, target, terms.positive, factor),
                    })
                });
                let loss = loss.sum();
                product(View::new(scores, columns), candidates, to_rows, false);
                loss
            })
            .collect();
        total += losses.into_iter().sum::<f64>();
        to_candidates.par_chunks_mut(COLUMNS * width).enumerate().for_each(|(block, to)| {
            let of_block = block * COLUMNS..columns.min((block + 1) * COLUMNS);
            let slopes = View::new(scores, columns).columns(of_block).transposed();
            product(slopes, View::new(rows, width), to, add);
        });
        add = true;
    }
    total * scale
}
