/*!
What the tracked contrastive forms share: the means of e^{s/τ} over the relevant items and over the others of a list.

```text
m₊ = mean over S₊ of e^{s_j/τ},   m₋ = mean over S₋ of e^{s_j/τ}         tracked per list, as logarithms
ln r = ln(N₋ m₋) − ln(N₊ m₊),   N m = N₊ m₊ + N₋ m₋
∂F/∂s_j = (∂F/∂ln m)·(m̂/u)·p_j/τ,   p_j the fraction of item j in its class's m̂
```

Means over classes are unbiased in a sample without weights; the counts N₊, N₋ are those of the whole list. Logarithms are
relative to a score of the list, the highest of its first visit, so that an offset of all scores loses no digits.
*/

use crate::compositional::tracker::{Cell, Estimate};
use crate::compositional::{Strata, Tracker};
use crate::objective::{Input, Out};
use crate::state::{Column, ListState, Per};
use crate::work::Work;

/// The columns of a list: a base, ln m₊ and ln m₋ above base/τ.
pub(super) const COLUMNS: &[Column] = &[Column { name: "means", per: Per::List, width: 3 }];

/// Outer function at tracked means.
pub(super) struct Outcome {
    /// F without its part that is linear in the scores.
    pub value: f64,
    /// ∂F/∂ln m₊.
    pub relevant: f64,
    /// ∂F/∂ln m₋.
    pub others: f64,
}

/// What an outer function sees.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tracked {
    /// ln(N₊ m₊) and ln(N₋ m₋), above base/τ.
    pub ln: [f64; 2],
    /// N₋.
    pub others: f64,
    /// base/τ.
    pub base: f64,
}

impl Tracked {
    /// ln r.
    pub fn odds(&self) -> f64 {
        self.ln[1] - self.ln[0]
    }
}

/// An outer function of the two means.
pub(super) struct Form {
    pub tracker: Tracker,
    pub temperature: f64,
    /// This times the mean score of relevant items is subtracted from the loss.
    pub pull: f64,
}

impl Form {
    /// The loss of a list: `outer` at the tracked means, minus the linear term of relevant items.
    pub fn list(
        &self,
        input: &Input,
        state: &mut ListState,
        work: &mut Work,
        out: &mut Out,
        outer: impl Fn(Tracked) -> Outcome,
    ) -> Option<f64> {
        let strata = Strata::of(input, state);
        let (m, o) = (strata.drawn_relevant, strata.drawn_others);
        if m == 0 || o == 0 {
            return None;
        }
        let scores = input.list.scores;
        let total: f64 = (0..scores.len()).filter(|j| input.is_relevant(*j)).map(|j| input.weight(j)).sum();
        if total == 0.0 {
            return None;
        }
        let [memory] = state.cut();
        if memory[0].is_nan() {
            memory[0] = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        }
        let (base, tau) = (memory[0], self.temperature);
        let class = |j: usize| usize::from(!input.is_relevant(j));

        // Both means of the batch; their terms are kept for the gradient. If relevant items have no linear term, their weights
        // are those of their mean.
        let weighed = self.pull == 0.0;
        let [heights] = work.floats.cut([scores.len()]);
        let mut top = [f64::NEG_INFINITY; 2];
        for (j, height) in heights.iter_mut().enumerate() {
            *height = (scores[j] - base) / tau;
            if !(weighed && class(j) == 0 && input.weight(j) == 0.0) {
                top[class(j)] = top[class(j)].max(*height);
            }
        }
        let mut sum = [0.0; 2];
        for (j, height) in heights.iter_mut().enumerate() {
            // Items without weight may be far above the rest.
            *height = (*height - top[class(j)]).min(700.0).exp();
            if class(j) == 0 && weighed {
                *height *= input.weight(j);
            }
            sum[class(j)] += *height;
        }
        let counts = [if weighed { total } else { m as f64 }, o as f64];
        let newest: [f64; 2] = std::array::from_fn(|c| top[c] + (sum[c] / counts[c]).ln());

        let rates = self.tracker.rates(input.stream.step);
        let (mut now, mut used) = ([0.0; 2], [0.0; 2]);
        for c in 0..2 {
            let estimate = Estimate { now: newest[c], previous: None, floor: f64::NEG_INFINITY };
            let cell = Cell { u: &mut memory[1 + c], v: None, before: None };
            let tracked = self.tracker.follow_log(rates, cell, estimate);
            now[c] = tracked.now;
            used[c] = if self.tracker.lagged { tracked.before } else { tracked.now };
        }
        let whole = [(strata.relevant as f64).ln(), (strata.others() as f64).ln()];
        let at = |u: [f64; 2]| {
            let ln = std::array::from_fn(|c| u[c] + whole[c]);
            outer(Tracked { ln, others: strata.others() as f64, base: base / tau })
        };
        let outcome = at(used);
        // (∂F/∂ln m)·(m̂/u), then times the fraction of the item.
        let push = [outcome.relevant, outcome.others];
        let push: [f64; 2] =
            std::array::from_fn(|c| if push[c] == 0.0 { 0.0 } else { push[c] * (newest[c] - used[c]).exp() });
        let mut pulled = 0.0;
        for (j, height) in heights.iter().enumerate() {
            let c = class(j);
            let term = push[c] * height / (sum[c] * tau);
            out.gradient[j] = term;
            if let Some(h) = &mut out.hessian {
                h[j] = term.abs() / tau;
            }
            if c == 0 && self.pull > 0.0 {
                let weight = input.weight(j) / total;
                pulled += weight * (scores[j] - base);
                out.gradient[j] -= self.pull * weight;
            }
        }
        Some(at(now).value - self.pull * pulled)
    }
}
