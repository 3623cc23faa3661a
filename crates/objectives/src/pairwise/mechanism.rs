/*!
Sums over all pairs of different grades without visiting pairs of equal grades.

```text
sort the items by decreasing grade; split the grades in halves recursively:
    every pair of different grades is separated by exactly one split, where all items before it are better than all after it
```

A kernel that sums over all pairs (better, worse) in linear time thus costs O(n log G) for G grades, one call for two.
*/

use toprank_core::{Param, ParamError, Spec};

use super::given::over_pairs;
use crate::kernels::KernelWork;
use crate::kernels::order::by_grade;
use crate::objective::{Hessian, Input, Objective, Out};
use crate::state::ListState;
use crate::work::Work;

pub(super) const SUM: Param = Param {
    name: "sum",
    default: "false",
    range: "true or false",
    about: "sum over pairs instead of the mean",
};

/// Better items before worse ones, and where results are added.
pub(super) struct Cut<'a> {
    /// This many items at the start are better than the others.
    pub better: usize,
    pub scores: &'a [f64],
    pub weights: &'a [f64],
    pub gradient: &'a mut [f64],
    pub hessian: Option<&'a mut [f64]>,
    /// One number per item each.
    pub scratch: [&'a mut [f64]; 4],
    /// 0, 1, 2 …
    pub places: &'a [u32],
}

/// A loss of the difference between a better and a worse score.
pub(super) trait PairLoss: Send + Sync {
    const HESSIAN: Hessian;

    /// Σ w_i w_j ℓ over all pairs of a better i and a worse j; adds ∂/∂s and ∂²/∂s² without the factors below.
    fn between(&self, cut: Cut, kernel: &mut KernelWork) -> f64;

    /// ℓ, ℓ' and ℓ'' at d = s_j − s_i of one pair, the derivatives without the factors below.
    fn of_pair(&self, d: f64) -> [f64; 3];

    /// Factors of gradient and Hessian.
    fn factors(&self) -> [f64; 2];
}

/// What makes one item better than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grade {
    /// The higher label.
    Label,
    /// Being relevant; grades of relevant items do not matter.
    Relevance,
}

/// A pairwise objective.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pairwise<L> {
    loss: L,
    grade: Grade,
    sum: bool,
}

impl<L: PairLoss + 'static> Pairwise<L> {
    pub fn boxed(spec: &Spec, loss: L, grade: Grade) -> Result<Box<dyn Objective>, ParamError> {
        Ok(Box::new(Pairwise { loss, grade, sum: spec.args.flag("sum", false)? }))
    }

    /// The sum over pairs, always.
    pub fn summed(loss: L, grade: Grade) -> Pairwise<L> {
        Pairwise { loss, grade, sum: true }
    }
}

impl<L: PairLoss> Objective for Pairwise<L> {
    fn hessian(&self) -> Hessian {
        L::HESSIAN
    }

    fn takes_uneven_draws(&self) -> bool {
        !self.sum
    }

    fn takes_pairs(&self) -> bool {
        true
    }

    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        if let Some(pairs) = input.list.pairs {
            return over_pairs(&self.loss, self.sum, pairs, input, out);
        }
        let n = input.list.len();
        let [grades, scores, weights, gradient, hessian, a, b, c, d] = work.floats.cut([n; 9]);
        for (i, grade) in grades.iter_mut().enumerate() {
            *grade = match self.grade {
                Grade::Label => f64::from(input.list.labels[i]),
                Grade::Relevance => f64::from(u8::from(input.is_relevant(i))),
            };
        }
        let [order, starts, places] = work.places.cut([n, n + 1, n]);
        match self.grade {
            Grade::Label => by_grade(grades, order, &mut work.kernel.order),
            Grade::Relevance => relevant_first(grades, order, places),
        }
        let (mut levels, mut total, mut above, mut own) = (0, 0.0, 0.0, 0.0);
        for (place, &item) in order.iter().enumerate() {
            let item = item as usize;
            if place == 0 || grades[item] != grades[order[place - 1] as usize] {
                starts[levels] = place as u32;
                levels += 1;
                above += std::mem::take(&mut own);
            }
            (scores[place], weights[place]) = (input.list.scores[item], input.weight(item));
            places[place] = place as u32;
            own += weights[place];
            total += above * weights[place];
        }
        if total == 0.0 {
            return None;
        }
        starts[levels] = n as u32;
        let mut graded = Graded {
            scores,
            weights,
            gradient,
            hessian: out.hessian.is_some().then_some(hessian),
            scratch: [a, b, c, d],
            places,
        };
        let loss = graded.halve(&self.loss, &starts[..=levels], &mut work.kernel);
        let scale = if self.sum { 1.0 } else { 1.0 / total };
        let [slope, second] = self.loss.factors();
        for (place, &item) in order.iter().enumerate() {
            out.gradient[item as usize] = scale * slope * graded.gradient[place];
        }
        if let (Some(out), Some(hessian)) = (&mut out.hessian, graded.hessian) {
            for (place, &item) in order.iter().enumerate() {
                out[item as usize] = scale * second * hessian[place];
            }
        }
        Some(scale * loss)
    }
}

/// Items of grade 1, then those of grade 0, each in their order; `others` is memory for as many.
fn relevant_first(grades: &[f64], order: &mut [u32], others: &mut [u32]) {
    let (mut relevant, mut rest) = (0, 0);
    for (item, &grade) in (0u32..).zip(grades) {
        // Written to both, kept in one: avoids an unpredictable branch.
        (order[relevant], others[rest]) = (item, item);
        relevant += usize::from(grade > 0.0);
        rest += usize::from(grade <= 0.0);
    }
    order[relevant..].copy_from_slice(&others[..rest]);
}

/// Arrays by decreasing grade.
struct Graded<'a> {
    scores: &'a [f64],
    weights: &'a [f64],
    gradient: &'a mut [f64],
    hessian: Option<&'a mut [f64]>,
    scratch: [&'a mut [f64]; 4],
    places: &'a [u32],
}

impl Graded<'_> {
    /// All pairs among the grades that start at `starts`, the last of which is the end.
    fn halve(&mut self, loss: &impl PairLoss, starts: &[u32], kernel: &mut KernelWork) -> f64 {
        let levels = starts.len() - 1;
        if levels < 2 {
            return 0.0;
        }
        let (start, end) = (starts[0] as usize, starts[levels] as usize);
        // The boundary next to the middle item.
        let middle = u32::midpoint(starts[0], starts[levels]);
        let after = starts[1..levels].partition_point(|s| *s < middle) + 1;
        let distance = |level: usize| starts[level].abs_diff(middle);
        let half = if after == levels || after > 1 && distance(after - 1) < distance(after) {
            after - 1
        } else {
            after
        };
        let range = start..end;
        let cut = Cut {
            better: starts[half] as usize - start,
            scores: &self.scores[range.clone()],
            weights: &self.weights[range.clone()],
            gradient: &mut self.gradient[range.clone()],
            hessian: self.hessian.as_deref_mut().map(|h| &mut h[range.clone()]),
            scratch: self.scratch.each_mut().map(|scratch| &mut scratch[range.clone()]),
            places: &self.places[..end - start],
        };
        let sum = loss.between(cut, kernel);
        sum + self.halve(loss, &starts[..=half], kernel) + self.halve(loss, &starts[half..], kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toprank_core::Stream;

    #[test]
    fn relevant_items_come_first_as_by_grade() {
        let mut random = Stream::new(7, "test").open();
        for n in 0..40 {
            for relevant in [0, 1, 5, 10] {
                let grades: Vec<f64> =
                    (0..n).map(|_| f64::from(u8::from(random.below(10) < relevant))).collect();
                let (mut order, mut others, mut plain) = (vec![9; n], vec![9; n], vec![9; n]);
                relevant_first(&grades, &mut order, &mut others);
                by_grade(&grades, &mut plain, &mut KernelWork::default().order);
                assert_eq!(order, plain);
            }
        }
    }
}
