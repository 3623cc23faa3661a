//! Shuffled epochs over a pool, cut into steps of almost equal size, and what a draw counts for.

use std::ops::Range;

use toprank_core::{Lists, Stream};
use toprank_objectives::Draws;

/// A pool that is dealt out in full, in a new order, epoch after epoch.
#[derive(Debug)]
pub(super) struct Epochs {
    stream: Stream,
    steps: u64,
    order: Vec<u32>,
    /// The epoch that `order` is of.
    present: Option<u64>,
}

impl Epochs {
    /// Epochs of `steps` steps over the numbers 0..pool.
    pub fn new(seed: u64, pool: usize, steps: usize) -> Epochs {
        let steps = steps.clamp(1, pool.max(1)) as u64;
        Epochs {
            // The purpose names the random stream: another text would draw other batches.
            stream: Stream::new(seed, "sampler: order of a pass"),
            steps,
            order: vec![0; pool],
            present: None,
        }
    }

    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The epoch that a step belongs to.
    pub fn epoch(&self, step: u64) -> u64 {
        step / self.steps
    }

    /// What comes in this step. Steps of an epoch differ by at most one in size, so that none is a small remainder
    /// whose few lists would count more than the others.
    pub fn at(&mut self, step: u64) -> &[u32] {
        let epoch = self.epoch(step);
        if self.present != Some(epoch) {
            (0..).zip(&mut self.order).for_each(|(number, place)| *place = number);
            self.stream.at_step(epoch).open().shuffle(&mut self.order);
            self.present = Some(epoch);
        }
        let range = self.cut(step % self.steps);
        &self.order[range]
    }

    fn cut(&self, step: u64) -> Range<usize> {
        let at = |t: u64| (u128::from(t) * self.order.len() as u128 / u128::from(self.steps)) as usize;
        at(step)..at(step + 1)
    }
}

/// The weights of all lists, for [`Weights::count`].
#[derive(Debug)]
pub(super) struct Weights {
    each: Option<Vec<f32>>,
    total: f64,
}

impl Weights {
    pub fn of(lists: &Lists) -> Weights {
        let total = match &lists.list_weights {
            None => lists.len() as f64,
            Some(weights) => weights.iter().map(|w| f64::from(*w)).sum(),
        };
        Weights { each: lists.list_weights.clone(), total }
    }

    /// As many lists, all of weight 1.
    pub fn even(lists: usize) -> Weights {
        Weights { each: None, total: lists as f64 }
    }

    /// Fills in what each draw of a step counts for, given how many draws of the pool's size one of this step stands
    /// for (the inverse of its probability) and which part of its list it carries.
    ///
    /// Objectives return Σ_d w_d c_d L_d / Σ_d w_d over the draws; wanted is an estimate of Σ_q w_q L_q / W over all
    /// lists. A draw stands for `stands_for` of its kind, so c_d = stands_for · part_d · (Σ_d w_d) / W.
    pub fn count(&self, stands_for: f64, part: impl Fn(usize, u32) -> f64, out: &mut Draws) {
        let weight = |q: u32| self.each.as_ref().map_or(1.0, |each| f64::from(each[q as usize]));
        let drawn: f64 = out.lists.iter().map(|&q| weight(q)).sum();
        let all = if self.total > 0.0 { stands_for * drawn / self.total } else { 0.0 };
        out.importance.clear();
        out.importance.extend(out.lists.iter().enumerate().map(|(d, &q)| all * part(d, q)));
        // Mostly they are all 1, up to the rounding of the quotient: then there is nothing to carry.
        if out.importance.iter().all(|c| (c - 1.0).abs() < 1e-12) {
            out.importance.clear();
        }
    }
}

/// Empties `out`.
pub(super) fn begin(out: &mut Draws) {
    out.lists.clear();
    out.offsets.clear();
    out.offsets.push(0);
    out.items.clear();
    out.importance.clear();
    out.stands_for.clear();
}

/// Ends the draw of one list whose items have been pushed.
pub(super) fn end_of_list(q: u32, out: &mut Draws) {
    out.lists.push(q);
    out.offsets.push(out.items.len() as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_a_pass_are_a_partition_and_differ_by_at_most_one() {
        for (pool, steps) in [(10, 3), (3, 3), (7, 1), (5, 4), (1, 1), (100, 7)] {
            let mut epochs = Epochs::new(1, pool, steps);
            for epoch in 0..3 {
                let mut seen = Vec::new();
                let mut sizes = Vec::new();
                for t in 0..epochs.steps() {
                    let drawn = epochs.at(epoch * epochs.steps() + t);
                    sizes.push(drawn.len());
                    seen.extend_from_slice(drawn);
                }
                assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
                seen.sort_unstable();
                assert_eq!(seen, (0..pool as u32).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_pass_has_its_own_order() {
        let mut epochs = Epochs::new(1, 50, 1);
        let first = epochs.at(0).to_vec();
        let second = epochs.at(1).to_vec();
        assert_ne!(first, second);
        assert_eq!(epochs.at(0), first);
        assert_ne!(Epochs::new(2, 50, 1).at(0), first);
    }

    #[test]
    fn there_are_never_more_steps_than_things_to_draw() {
        assert_eq!(Epochs::new(1, 3, 100).steps(), 3);
        assert_eq!(Epochs::new(1, 0, 100).steps(), 1);
        assert!(Epochs::new(1, 0, 100).at(5).is_empty());
    }
}
