#![doc = include_str!("../pages/fast-ap.md")]

use toprank_core::{Param, ParamError, Spec};

use crate::objective::{Input, Objective, Out};
use crate::params::RELEVANT;
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "bins",
        default: "10",
        range: "an integer from 1 to 4096",
        about: "L: number of histogram bins for similarities from 1 down to −1",
    },
    RELEVANT,
];
pub(crate) const EXAMPLES: &[&str] = &["fast-ap:bins=20", "fast-ap:relevant=2"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(FastAp { bins: spec.args.count("bins", 10, 4096)?, low: -1.0, high: 1.0 }))
}

/// FastAP; formula, source and cost are in the [module](self). `dir` is the same over another range.
#[derive(Clone, Copy, Debug)]
pub(super) struct FastAp {
    /// L: the range is cut into so many parts.
    pub bins: usize,
    /// The similarity of the last bin.
    pub low: f64,
    /// The similarity of the first bin.
    pub high: f64,
}

impl FastAp {
    /// The bin before a similarity, its fractional position to the next one, and whether it has a gradient.
    fn place(self, score: f64) -> (usize, f64, bool) {
        let x = (self.high - score) * self.bins as f64 / (self.high - self.low);
        let inside = x > 0.0 && x < self.bins as f64;
        let x = x.clamp(0.0, self.bins as f64);
        let bin = (x as usize).min(self.bins - 1);
        (bin, x - bin as f64, inside)
    }
}

impl Objective for FastAp {
    fn shift_invariant(&self) -> bool {
        false
    }

    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let scores = input.list.scores;
        let weight = |j: usize| if input.is_relevant(j) { input.weight(j) } else { 0.0 };
        let total: f64 = (0..scores.len()).map(weight).sum();
        let relevant = (0..scores.len()).filter(|j| input.is_relevant(*j)).count();
        if total == 0.0 || relevant == scores.len() {
            return None;
        }
        // Per bin: weights of relevant items, then how many relevant and how many items are in it or in a bin before it.
        let bins = self.bins + 1;
        let [a, above_relevant, above] = work.floats.cut([bins, bins, bins]);
        for (j, &score) in scores.iter().enumerate() {
            let (bin, share, _) = self.place(score);
            for (bin, part) in [(bin, 1.0 - share), (bin + 1, share)] {
                above[bin] += part;
                if input.is_relevant(j) {
                    above_relevant[bin] += part;
                    a[bin] += part * weight(j) / total;
                }
            }
        }
        let mut precision = 0.0;
        for bin in 0..bins {
            if bin > 0 {
                above[bin] += above[bin - 1];
                above_relevant[bin] += above_relevant[bin - 1];
            }
            if above[bin] > 0.0 {
                precision += a[bin] * above_relevant[bin] / above[bin];
            }
        }
        let per_bin = self.bins as f64 / (self.high - self.low);
        for (j, &score) in scores.iter().enumerate() {
            let (bin, _, inside) = self.place(score);
            if !inside || above[bin] == 0.0 {
                continue;
            }
            // The effect of moving to the next bin: the item is subtracted from the counts of this one.
            let share = above_relevant[bin] / above[bin];
            let slope = if input.is_relevant(j) {
                let next = above_relevant[bin + 1] / above[bin + 1];
                weight(j) / total * (next - share) - a[bin] * (1.0 - share) / above[bin]
            } else {
                a[bin] * share / above[bin]
            };
            out.gradient[j] = per_bin * slope;
            if let Some(h) = &mut out.hessian {
                h[j] = per_bin * per_bin * slope.abs();
            }
        }
        Some(1.0 - precision)
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;

    #[test]
    fn three_items_by_hand() {
        // Four bins' edges at 1, ½, 0, −½, −1. Scores ¾: half in each of the first two; ½: the second; −¼: half and half.
        let goal = Goal::parse("fast-ap:bins=4", &Policy::default()).unwrap();
        let (loss, _) = goal.of_list(&List::new(&[0.75, 0.5, -0.25], &[1.0, 0.0, 1.0])).unwrap();
        let h = [0.5, 0.5 + 1.0, 0.5, 0.5];
        let relevant = [0.5, 0.5, 0.5, 0.5];
        let (mut seen, mut hits, mut precision) = (0.0, 0.0, 0.0);
        for (h, r) in h.into_iter().zip(relevant) {
            (seen, hits) = (seen + h, hits + r);
            precision += r / 2.0 * hits / seen;
        }
        assert!((loss - (1.0 - precision)).abs() < 1e-14, "{loss}");
    }

    #[test]
    fn a_perfect_order_with_empty_bins_between_has_loss_0() {
        let goal = Goal::parse("fast-ap", &Policy::default()).unwrap();
        let (loss, gradient) = goal.of_list(&List::new(&[0.9, 0.8, -0.5], &[1.0, 1.0, 0.0])).unwrap();
        assert!(loss.abs() < 1e-14 && gradient.iter().all(|g| g.abs() < 1e-14), "{loss} {gradient:?}");
    }
}
