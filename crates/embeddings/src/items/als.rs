#![doc = include_str!("../pages/als.md")]

use rayon::prelude::*;
use toprank_core::matrix::{View, product};
use toprank_core::{Choices, ModelError, Param, ParamError, Spec, Stream, vectorised};

use super::{ByItem, FitState, ItemModel, ItemParameters, valued};
use crate::dots::dot;
use crate::params::{WIDTH, fresh_rows, uniform, width};

pub(crate) const PARAMS: &[Param] = &[
    WIDTH,
    Param {
        name: "unobserved",
        default: "0.1",
        range: "above 0",
        about: "weight of a pair without an interaction; one with has weight 1",
    },
    Param {
        name: "lambda",
        default: "0.01",
        range: "above 0",
        about: "penalty on the squares of a vector, times the weights of its pairs",
    },
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn ItemModel>, ParamError> {
    Ok(Box::new(Als {
        width: width(spec, &WIDTH)?,
        unobserved: spec.args.positive("unobserved", 0.1)?,
        lambda: spec.args.positive("lambda", 0.01)?,
    }))
}

/// Implicit ALS; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct Als {
    width: usize,
    unobserved: f64,
    lambda: f64,
}

/// Rows that one task solves.
const ROWS: usize = 32;

/// Memory of a task: the matrix of the normal equations.
type Work = Vec<f32>;

impl Als {
    /// The vector whose squared loss on these (row of the other side, value) is least; that loss, with the penalty on the vector.
    /// `gram`: the sum of v vᵀ over all rows of the other side, of which there are `all`.
    fn solve(
        self,
        pairs: impl Iterator<Item = (usize, f32)>,
        rows: &[f32],
        (gram, all): (&[f32], usize),
        a: &mut Work,
        to: &mut [f32],
    ) -> f64 {
        let d = self.width;
        a.clear();
        a.extend(gram.iter().map(|value| self.unobserved as f32 * value));
        to.fill(0.0);
        let (mut total, mut b) = (0.0f64, vec![0.0f32; d]);
        for (row, value) in pairs {
            // A disliked item counts as one without an interaction.
            if value > 0.0 {
                accumulate(&rows[row * d..][..d], value, a, &mut b);
                total += f64::from(value);
            }
        }
        let penalty = self.lambda * (total + self.unobserved * all as f64);
        (0..d).for_each(|k| a[k * d + k] += penalty as f32);
        to.copy_from_slice(&b);
        solve(a, to);
        total - to.iter().zip(&b).map(|(x, b)| f64::from(*x) * f64::from(*b)).sum::<f64>()
    }

    /// The vectors of all users for these items; the loss without the penalty on items.
    fn users(self, choices: &Choices, items: &[f32], gram: &[f32]) -> (Vec<f32>, f64) {
        let d = self.width;
        let mut users = vec![0.0f32; choices.len() * d];
        let losses: Vec<f64> = users
            .par_chunks_mut(ROWS * d)
            .enumerate()
            .map_init(Vec::new, |work, (task, rows)| {
                let each = rows.chunks_exact_mut(d).zip(task * ROWS..);
                each.map(|(to, user)| {
                    let pairs = choices.of(user).iter().map(|&item| item as usize).zip(valued(choices, user));
                    self.solve(pairs, items, (gram, choices.item_count), work, to)
                })
                .sum()
            })
            .collect();
        (users, losses.iter().sum())
    }
}

/// Σ v vᵀ over all rows.
fn gram(rows: &[f32], width: usize) -> Vec<f32> {
    let mut to = vec![0.0; width * width];
    product(View::new(rows, width).transposed(), View::new(rows, width), &mut to, false);
    to
}

vectorised! {
    /// The upper triangle of `a` += value · v vᵀ; `b` += value · v.
    fn accumulate(v: &[f32], value: f32, a: &mut [f32], b: &mut [f32]) {
        let d = v.len();
        for (k, row) in a.chunks_exact_mut(d).enumerate() {
            let factor = value * v[k];
            b[k] += factor;
            row[k..].iter_mut().zip(&v[k..]).for_each(|(to, v)| *to += factor * v);
        }
    }
}

vectorised! {
    /// Solves a x = b in place for a symmetric positive definite matrix, of which the upper triangle is given and lost: Cholesky.
    fn solve(a: &mut [f32], b: &mut [f32]) {
        let d = b.len();
        for k in 0..d {
            let (above, below) = a.split_at_mut((k + 1) * d);
            let row = &mut above[k * d..];
            // Rounding, or a file that was tampered with, must not make it invalid.
            let pivot = row[k].max(f32::MIN_POSITIVE).sqrt();
            row[k..].iter_mut().for_each(|value| *value /= pivot);
            row[k] = pivot;
            for (i, to) in (k + 1..).zip(below.chunks_exact_mut(d)) {
                let factor = row[i];
                to[i..].iter_mut().zip(&row[i..]).for_each(|(to, value)| *to -= factor * value);
            }
            b[k] /= pivot;
            let y = b[k];
            b[k + 1..].iter_mut().zip(&row[k + 1..]).for_each(|(to, value)| *to -= y * value);
        }
        for k in (0..d).rev() {
            let row = &a[k * d..][..d];
            b[k] = (b[k] - dot(&row[k + 1..], &b[k + 1..])) / row[k];
        }
    }
}

impl ItemModel for Als {
    fn is_iterative(&self) -> bool {
        true
    }

    fn bytes(&self, users: usize, items: usize) -> u64 {
        // The best vectors of the items are kept beside the present ones.
        4 * self.width as u64 * (users as u64 + 2 * items as u64)
    }

    fn seconds(&self, choices: &Choices) -> f64 {
        let (d, rows) = (self.width as f64, (choices.len() + choices.item_count) as f64);
        1.5e-10 * choices.pairs() as f64 * d * d + 1e-10 * rows * d * d * d
    }

    fn start(&self, choices: &Choices, stream: Stream) -> ItemParameters {
        let d = self.width;
        let mut values = vec![0.0; choices.item_count * d];
        let scale = 0.1 / (d as f32).sqrt();
        fresh_rows(1, 0, stream, d, &mut values, |random, row| uniform(scale, random, row));
        let gram = gram(&values, d);
        values.extend(gram);
        ItemParameters { numbers: Vec::new(), values: values.into() }
    }

    fn fit(
        &self,
        choices: &Choices,
        parameters: &mut ItemParameters,
        _: &mut FitState,
    ) -> Result<Option<f64>, ModelError> {
        let (d, n) = (self.width, choices.item_count);
        let by_item = ByItem::of(choices);
        let (items, of_items) = parameters.values.split_at_mut(n * d);
        let (users, _) = self.users(choices, items, of_items);
        let of_users = gram(&users, d);
        let losses: Vec<f64> = items
            .par_chunks_mut(ROWS * d)
            .enumerate()
            .map_init(Vec::new, |work, (task, rows)| {
                let each = rows.chunks_exact_mut(d).zip(task * ROWS..);
                each.map(|(to, item)| {
                    self.solve(by_item.of_item(item), &users, (&of_users, choices.len()), work, to)
                })
                .sum()
            })
            .collect();
        of_items.copy_from_slice(&gram(items, d));
        // What was summed over items lacks the penalty on users only.
        let penalties: f64 = (0..choices.len())
            .map(|u| {
                let total: f64 = valued(choices, u).map(|x| f64::from(x.max(0.0))).sum();
                let squares: f64 = users[u * d..][..d].iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
                self.lambda * (total + self.unobserved * n as f64) * squares
            })
            .sum();
        Ok(Some((losses.iter().sum::<f64>() + penalties) / choices.len().max(1) as f64))
    }

    fn check(&self, items: usize, parameters: &ItemParameters) -> Result<(), ModelError> {
        let expected = items.saturating_add(self.width).saturating_mul(self.width);
        let found = parameters.values.len();
        match found == expected && parameters.numbers.is_empty() {
            true => Ok(()),
            false => Err(ModelError::new(format!("{found} numbers of als"), expected.to_string())),
        }
    }

    fn scores(&self, parameters: &ItemParameters, histories: &Choices, users: &[u32], scores: &mut [f32]) {
        let (d, n) = (self.width, histories.item_count);
        let (items, gram) = parameters.values.split_at(n * d);
        let (mut vectors, mut work) = (vec![0.0; users.len() * d], Vec::new());
        for (&user, to) in users.iter().zip(vectors.chunks_exact_mut(d)) {
            let user = user as usize;
            let pairs = histories.of(user).iter().map(|&item| item as usize).zip(valued(histories, user));
            self.solve(pairs, items, (gram, n), &mut work, to);
        }
        product(View::new(&vectors, d), View::new(items, d).transposed(), scores, false);
    }
}
