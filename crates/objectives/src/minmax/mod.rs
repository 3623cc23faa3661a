/*!
Min-max X-risks: a loss that is itself the value of a small saddle problem in auxiliary variables v, a few per list and a
few per relevant item. One mechanism for AUROC (a, b, α), CVaR forms of partial AUC (thresholds, dual weights) and
conjugate forms of compositional losses.

```text
loss = min_p max_d F(s; p, d),   v = (p, d);   ∂loss/∂s = ∂F/∂s at fixed v: exact where v is the solution
```

Source: Yang, "Algorithmic foundation of deep X-risk optimization", arXiv 2206.00439, 2022, algorithm 1. An objective implements
[`Saddle`]: the solution of the variables at given scores, F with its gradient, and one step of the variables. The mechanism does
the rest: classes and sampling weights of the draw, storage of the variables in the state, first visits (v = the solution for the
sample), and the choice between
**online** (one step of v per visit, taken after the gradient) and **exact** (the solution at every visit).

State: [`Saddle::LIST`] numbers per list and [`Saddle::EACH`] per relevant item.
*/

pub mod auroc;
pub mod conjugate;
pub mod p_norm_push;
pub mod pauc_cvar;
mod tail;
pub mod top_push;
pub mod tpauc;

use toprank_core::{Param, ParamError, Spec};

use crate::catalog::family;
use crate::compositional::Strata;
use crate::kernels::KernelWork;
use crate::objective::{Input, Objective, Out};
use crate::state::{Column, ListState};
use crate::work::Work;

family! { "min-max (duals)":
    auroc = "auroc-minmax": "AUROC by the means of the classes, with the conjugate of a convex surrogate";
    auroc::margin = "auroc-margin": "AUROC, margin form: no gradient beyond the margin";
    pauc_cvar = "pauc-cvar": "one-way partial AUC, CVaR form: the mean over the highest others";
    tpauc = "tpauc-minmax": "two-way partial AUC: the lowest relevant items against the highest others";
    top_push = "top-push": "relevant items against the highest other";
    p_norm_push = "p-norm-push-minmax": "p-norm push by its conjugate, without trackers";
}

/// A list, or a draw from it, by classes.
pub struct Classes<'a> {
    /// Scores of all items.
    pub scores: &'a [f64],
    /// Positions of the relevant items, ascending.
    pub relevant: &'a [u32],
    /// Positions of the others, ascending.
    pub others: &'a [u32],
    /// Weights of the relevant items; they sum to 1.
    pub weights: &'a [f64],
    /// Counts.
    pub strata: Strata,
}

impl Classes<'_> {
    /// Number of pairs of relevant items with a fraction of the others.
    fn pairs(&self, fraction: f64) -> f64 {
        fraction * self.relevant.len() as f64 * self.others.len() as f64
    }
}

/// The auxiliary variables of a draw.
pub struct Variables<'a> {
    /// Of the list.
    pub list: &'a mut [f64],
    /// Of its relevant items, [`Saddle::EACH`] one after the other.
    pub each: &'a mut [f64],
    /// Size of their step; `None`: they are the exact solution and are not updated.
    pub rate: Option<f64>,
}

/// Scratch memory.
pub struct Space<'a> {
    /// As long as [`Saddle::scratch`] says.
    pub scratch: &'a mut [f64],
    /// Of the list kernels.
    pub work: &'a mut KernelWork,
}

/// What an objective of this family defines.
pub trait Saddle: Send + Sync {
    /// Variables per list.
    const LIST: usize;
    /// Variables per relevant item.
    const EACH: usize;

    /// Its columns: one of LIST numbers per list and one of EACH numbers per relevant item; columns of width 0 are omitted.
    fn columns(&self) -> &'static [Column];

    /// True if a list with such counts has a gradient.
    fn takes_part(&self, _: &Strata) -> bool {
        true
    }

    /// Number of pairs that an online step visits one by one.
    fn pairs(&self, _: &Classes) -> f64 {
        0.0
    }

    /// Numbers of scratch memory for this number of items.
    fn scratch(&self, _items: usize) -> usize {
        0
    }

    /// Fills the variables with the solution at these scores.
    fn solve(&self, classes: &Classes, variables: &mut Variables, space: &mut Space);

    /// F at the variables; adds ∂F/∂s to `out`. Then takes one step of the variables, if there is a rate.
    fn value(&self, classes: &Classes, variables: &mut Variables, out: &mut Out, space: &mut Space) -> f64;
}

/// With more pairs than this, the exact solution of the draw replaces the online step: so many pairs need no memory of other
/// draws, and the solution only needs sums over whole classes.
const MOST_PAIRS: f64 = 1e7;

/// The mechanism with one saddle problem.
#[derive(Clone, Copy, Debug)]
pub struct MinMax<S> {
    /// F.
    pub saddle: S,
    /// Size of an online step in (0, 1]; `None`: the exact solution at every visit.
    pub rate: Option<f64>,
    /// The exact solution wherever the draw is the whole list.
    pub solve_whole: bool,
}

pub(crate) const VARIABLES: Param = Param {
    name: "variables",
    default: "online",
    range: "online or exact",
    about: "how the auxiliary variables are found: one step per visit, or the exact solution for the sample",
};
/// The same for CVaR forms.
pub(crate) const THRESHOLDS: Param = Param {
    default: "online on samples, exact on whole lists",
    about: "how the thresholds are found: one step per visit of their relevant item, or the exact solution for the sample",
    ..VARIABLES
};
pub(crate) const STEP: Param = Param {
    name: "rate",
    default: "0.1",
    range: "in (0, 1]",
    about: "size of an online step of the variables",
};

impl<S: Saddle + 'static> MinMax<S> {
    /// Reads `variables` and `rate`.
    pub(crate) fn boxed(saddle: S, spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
        let online =
            spec.args.one_of("variables", VARIABLES.default, &[("online", true), ("exact", false)])?;
        let rate = spec.args.fraction("rate", 0.1)?;
        Ok(Box::new(MinMax { saddle, rate: online.then_some(rate), solve_whole: false }))
    }

    /// The same, with the default of [`THRESHOLDS`].
    pub(crate) fn by_thresholds(saddle: S, spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
        if spec.args.get("variables").is_some() {
            return MinMax::boxed(saddle, spec);
        }
        let rate = Some(spec.args.fraction("rate", 0.1)?);
        Ok(Box::new(MinMax { saddle, rate, solve_whole: true }))
    }
}

impl<S: Saddle> Objective for MinMax<S> {
    fn columns(&self) -> &'static [Column] {
        self.saddle.columns()
    }

    fn list(&self, input: &Input, state: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let n = input.list.len();
        let strata = Strata::of(input, state);
        let (m, o) = (strata.drawn_relevant, strata.drawn_others);
        if m == 0 || o == 0 || !self.saddle.takes_part(&strata) {
            return None;
        }
        let [places] = work.places.cut([n]);
        let (relevant, others) = places.split_at_mut(m);
        input.part(relevant, others);
        let total: f64 = relevant.iter().map(|&i| input.weight(i as usize)).sum();
        if total == 0.0 {
            return None;
        }
        let [weights, each, solution_each, scratch] =
            work.floats.cut([m, m * S::EACH, m * S::EACH, self.saddle.scratch(n)]);
        for (weight, &item) in weights.iter_mut().zip(relevant.iter()) {
            *weight = input.weight(item as usize) / total;
        }
        let classes = Classes { scores: input.list.scores, relevant, others, weights, strata };

        // The variables of the previous visit; on the first visit the solution for the sample.
        let slot = |item: u32| {
            let place = input.sample.map_or(item, |items| items[item as usize]);
            state.relevant.partition_point(|&known| known < place) * S::EACH
        };
        let (remembered, remembered_each) = state.values.split_at_mut(S::LIST);
        let mut list = [0.0; 4];
        let list = &mut list[..S::LIST];
        list.copy_from_slice(remembered);
        for (each, &item) in each.chunks_exact_mut(S::EACH.max(1)).zip(relevant.iter()) {
            each.copy_from_slice(&remembered_each[slot(item)..][..S::EACH]);
        }
        let fresh = |values: &[f64]| values.iter().any(|value| value.is_nan());
        let solved = self.solve_whole && strata.is_whole();
        let rate = self.rate.filter(|_| !solved && self.saddle.pairs(&classes) <= MOST_PAIRS);
        let mut space = Space { scratch, work: &mut work.kernel };
        if rate.is_none() || fresh(list) || fresh(each) {
            let mut solved_list = [0.0; 4];
            let solved_list = &mut solved_list[..S::LIST];
            let mut solution = Variables { list: solved_list, each: solution_each, rate: None };
            self.saddle.solve(&classes, &mut solution, &mut space);
            let all = rate.is_none();
            for (value, solved) in
                list.iter_mut().chain(each.iter_mut()).zip(solved_list.iter().chain(solution_each.iter()))
            {
                if all || value.is_nan() {
                    *value = *solved;
                }
            }
        }
        let mut variables = Variables { list, each, rate };
        let loss = self.saddle.value(&classes, &mut variables, out, &mut space);
        remembered.copy_from_slice(variables.list);
        for (each, &item) in variables.each.chunks_exact(S::EACH.max(1)).zip(relevant.iter()) {
            remembered_each[slot(item)..][..S::EACH].copy_from_slice(each);
        }
        Some(loss)
    }
}
