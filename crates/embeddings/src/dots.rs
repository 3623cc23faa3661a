//! Scores that are products of two vectors plus what the item brings along, and the way back.

use rayon::prelude::*;
use toprank_core::vectorised;

use crate::plan::Plan;

/// Rows of a task.
const GRAIN: usize = 16;

/// Σ a b, in sixteen sums side by side.
#[inline(always)]
#[allow(clippy::inline_always)] // It must be compiled into the vectorised functions that call it.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    let mut sums = [0.0f32; 16];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f32 = rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum();
    folded(sums) + rest
}

/// The sum of sixteen numbers, in halves.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(crate) fn folded(sums: [f32; 16]) -> f32 {
    // A compiler that sees the last halving keeps the sums in vectors of two from the start: a quarter of the speed.
    let mut sums = std::hint::black_box(sums);
    for half in [8, 4, 2, 1] {
        let (low, high) = sums.split_at_mut(half);
        low.iter_mut().zip(high).for_each(|(low, high)| *low += *high);
    }
    sums[0]
}

vectorised! {
    /// Scores of one user with the items it meets; an item's row holds its vector and then what it brings along.
    fn of_user(user: &[f32], items: &[f32], met: &[u32], scores: &mut [f64]) {
        let width = user.len();
        for (score, &k) in scores.iter_mut().zip(met) {
            let item = &items[k as usize * (width + 1)..][..=width];
            *score = f64::from(dot(user, &item[..width]) + item[width]);
        }
    }
}

vectorised! {
    /// Σ over entries of slope · row; `to` is overwritten. `row_of(entry)` is the start of the row of an entry.
    fn gather_slopes(to: &mut [f32], rows: &[f32], stride: usize, places: &[u32], slopes: &[f64]) {
        to.fill(0.0);
        let width = to.len();
        for (&k, &slope) in places.iter().zip(slopes) {
            let slope = slope as f32;
            let row = &rows[k as usize * stride..][..width];
            for (to, row) in to.iter_mut().zip(row) {
                *to += slope * row;
            }
        }
    }
}

vectorised! {
    /// The same where slopes are looked up one by one; the last number is the sum of slopes.
    fn gather_of_item(to: &mut [f32], users: &[f32], entries: &[u32], met_by: &[u32], slopes: &[f64]) {
        to.fill(0.0);
        let width = to.len() - 1;
        let (to, total) = to.split_at_mut(width);
        for (&entry, &d) in entries.iter().zip(met_by) {
            let slope = slopes[entry as usize] as f32;
            let user = &users[d as usize * width..][..width];
            for (to, user) in to.iter_mut().zip(user) {
                *to += slope * user;
            }
            total[0] += slope;
        }
    }
}

/// Scores of all entries: users of `width` numbers, items of `width + 1`.
pub(crate) fn forward(plan: &Plan, users: &[f32], items: &[f32], width: usize, scores: &mut [f64]) {
    by_user(plan, scores, &|d, scores| {
        of_user(&users[d * width..][..width], items, plan.met(d), scores);
    });
}

/// The way back; both results are overwritten.
pub(crate) fn backward(
    plan: &Plan,
    [users, items]: [&[f32]; 2],
    width: usize,
    dscore: &[f64],
    [to_users, to_items]: [&mut [f32]; 2],
) {
    to_users.par_chunks_exact_mut(width).enumerate().with_min_len(GRAIN).for_each(|(d, to)| {
        gather_slopes(to, items, width + 1, plan.met(d), &dscore[plan.offsets[d]..plan.offsets[d + 1]]);
    });
    to_items.par_chunks_exact_mut(width + 1).enumerate().with_min_len(GRAIN).for_each(|(k, to)| {
        gather_of_item(to, users, plan.of_item(k), plan.met_by(k), dscore);
    });
}

/// Calls `work(d, scores)` for each user with its part of the scores.
fn by_user(plan: &Plan, scores: &mut [f64], work: &(impl Fn(usize, &mut [f64]) + Sync)) {
    fn run(
        plan: &Plan,
        users: std::ops::Range<usize>,
        scores: &mut [f64],
        work: &(impl Fn(usize, &mut [f64]) + Sync),
    ) {
        match users.len() {
            0 => {}
            1 => work(users.start, scores),
            n => {
                let middle = users.start + n / 2;
                let (left, right) = scores.split_at_mut(plan.offsets[middle] - plan.offsets[users.start]);
                rayon::join(
                    || run(plan, users.start..middle, left, work),
                    || run(plan, middle..users.end, right, work),
                );
            }
        }
    }
    run(plan, 0..plan.users.len(), scores, work);
}
