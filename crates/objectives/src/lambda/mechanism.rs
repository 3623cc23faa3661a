/*!
The loop over pairs that all lambda methods share.

```text
order the list by decreasing frozen score, ties in input order; rank a, b from 0
for each rank a < K (all without a cut), for each rank b > a:      at least one item is in the top K
    c_ab = ±w_a w_b |Δ(a, b)|,  + if the item at a is the better one
    loss += |c| ln(1 + e^{−σ(s_better − s_worse)}),  λ = c σ · (probability of the wrong order): −λ on a, +λ on b
```

Each row of pairs is a few vectorised loops over contiguous arrays in rank order. Items of equal value form no pair: if
there are only two values and few items of one of them, the items of each value are stored together, and a row is paired with
the other group only. Cost: O(n log n + n·K); with m of n items relevant and only two values, O(n log n + m·n) logarithms.
*/

use std::f64::consts::LN_2;

use toprank_core::{Param, ParamError, Spec};

use super::row::{EXP_RANGE, LANES, Lower, Totals, Upper, pairs_by_exp, pairs_by_formula, sums, weigh};
use crate::kernels::order::descending;
use crate::kernels::vector::exp_all;
use crate::objective::{Hessian, Input, Objective, Out};
use crate::state::ListState;
use crate::work::Work;

pub(super) const SIGMA: Param = Param {
    name: "sigma",
    default: "1",
    range: "in (0, ∞)",
    about: "σ: steepness of the logistic function of a score difference",
};

pub(super) const NORM: Param = Param {
    name: "norm",
    default: "none",
    range: "none or lightgbm",
    about: "lightgbm: pair weights are divided by 0.01 + score difference, then the list is multiplied by log2(1 + S)/S",
};

/// The truncation level.
pub(super) const CUT: Param = Param {
    name: "@",
    default: "all",
    range: "an integer from 1 on",
    about: "K: only pairs with at least one item in the top K positions count",
};

/// How pair weights are normalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Norm {
    None,
    LightGbm,
}

/// How a metric changes when two ranks are swapped.
pub(super) trait Delta: Send + Sync {
    /// What the metric sees of an item: its gain, whether it is relevant, the probability of stopping there.
    fn value(&self, input: &Input, item: usize) -> f64;

    /// From the values in rank order (filled up with zeros to a multiple of [`LANES`]): a function that fills the row
    /// of rank `a` from rank `start ≤ a` on with Δ, positive where the item at `a` is the better one and 0 where both
    /// have the same value; what it writes up to rank `a` and beyond the list does not matter. It returns false if the
    /// whole row is 0. `None`: no pair has a weight.
    fn rows<'a>(
        &self,
        input: &Input,
        values: &'a [f64],
        scratch: [&'a mut [f64]; 2],
        gains: &mut Vec<f64>,
    ) -> Option<impl FnMut(usize, usize, &mut [f64]) -> bool + 'a>;
}

/// A lambda method.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lambda<D> {
    pub delta: D,
    pub cut: Option<u32>,
    pub sigma: f64,
    pub norm: Norm,
}

impl<D> Lambda<D> {
    pub fn new(spec: &Spec, delta: D) -> Result<Lambda<D>, ParamError> {
        let norm = spec.args.one_of("norm", "none", &[("none", Norm::None), ("lightgbm", Norm::LightGbm)])?;
        Ok(Lambda { delta, cut: spec.cut, sigma: spec.args.positive("sigma", 1.0)?, norm })
    }
}

/// Groups of items: pairs are formed between different groups. One group of all items, or one for each of two values. The items
/// of a group are contiguous in rank order, from a multiple of [`LANES`] on.
#[derive(Clone, Copy)]
struct Groups {
    /// The value of the first group.
    first: f64,
    /// Items of each group; 0: there is no second one.
    sizes: [usize; 2],
}

/// If the smaller group has more than one item in this many, selecting the other group's items from a row costs more than
/// computing all pairs.
const FEW: usize = 4;

impl Groups {
    fn of(values: &[f64]) -> Groups {
        let all = Groups { first: values[0], sizes: [values.len(), 0] };
        let Some(second) = values.iter().copied().find(|value| *value != all.first) else { return all };
        if values.iter().any(|value| *value != all.first && *value != second) {
            return all;
        }
        let others = values.iter().filter(|value| **value == second).count();
        let sizes = [values.len() - others, others];
        if sizes[0].min(sizes[1]) * FEW > values.len() { all } else { Groups { sizes, ..all } }
    }

    fn are_two(self) -> bool {
        self.sizes[1] > 0
    }

    /// Where the second group begins.
    fn border(self) -> usize {
        self.sizes[0].next_multiple_of(LANES)
    }

    /// Slots of both groups.
    fn places(self) -> usize {
        self.border() + self.sizes[1].next_multiple_of(LANES)
    }

    /// The group of a value.
    fn of_value(self, value: f64) -> usize {
        usize::from(self.are_two() && value != self.first)
    }

    /// Where the items that an item of `group` is paired with begin and end.
    fn met_by(self, group: usize) -> [usize; 2] {
        match (self.are_two(), group) {
            (false, _) | (true, 1) => [0, self.sizes[0]],
            (true, _) => [self.border(), self.border() + self.sizes[1]],
        }
    }

    /// The rank of every slot; the slots between the groups and after them repeat the last one.
    fn lay(self, values: &[f64], ranks: &mut [u32]) {
        let mut next = [0, self.border()];
        for (rank, value) in values.iter().enumerate() {
            let place = &mut next[self.of_value(*value)];
            ranks[*place] = rank as u32;
            *place += 1;
        }
        for (end, until) in next.into_iter().zip([self.border(), self.places()]) {
            let last = ranks[end - 1];
            ranks[end..until].fill(last);
        }
    }
}

/// Arrays by slot, all of one length, a multiple of [`LANES`].
struct Ranked<'a> {
    groups: Groups,
    /// The value of each rank, which determines its group.
    values: &'a [f64],
    /// The rank of each slot.
    ranks: &'a [u32],
    /// Ranks whose rows are computed.
    rows: usize,
    sigma: f64,
    spread: [f64; 2],
    scores: &'a mut [f64],
    exps: &'a mut [f64],
    weights: Option<&'a [f64]>,
    frozen: &'a [f64],
    /// Δ by rank, if there are two groups.
    by_rank: &'a mut [f64],
    row: &'a mut [f64],
    totals: Totals<'a>,
}

impl Ranked<'_> {
    /// Sums over all pairs; gradient and Hessian still lack the factors σ and σ². Returns Σ |λ|.
    fn sum_pairs(&mut self, mut fill: impl FnMut(usize, usize, &mut [f64]) -> bool) -> f64 {
        let [low, high] = range(self.scores);
        let by_exp = self.sigma * (high - low) <= EXP_RANGE;
        if by_exp {
            let middle = f64::midpoint(low, high);
            for (e, s) in self.exps.iter_mut().zip(&*self.scores) {
                *e = self.sigma * (s - middle);
            }
            exp_all(self.exps);
        }
        let mut sizes = 0.0;
        let mut next = [0, self.groups.border()];
        for a in 0..self.rows {
            let group = self.groups.of_value(self.values[a]);
            let place = next[group];
            next[group] += 1;
            // The items below rank a that it is paired with.
            let [begin, end] = self.groups.met_by(group);
            let first = if self.groups.are_two() { next[1 - group] } else { place + 1 };
            let start = first - (first - begin) % LANES;
            let until = begin + (end - begin).next_multiple_of(LANES);
            if first >= end {
                continue;
            }
            let row = &mut self.row[start..until];
            if self.groups.are_two() {
                let from = a - a % LANES;
                if !fill(a, from, &mut self.by_rank[from..]) {
                    continue;
                }
                for (delta, &rank) in row.iter_mut().zip(&self.ranks[start..until]) {
                    *delta = self.by_rank[rank as usize];
                }
            } else if !fill(a, start, row) {
                continue;
            }
            row[..first - start].fill(0.0);
            row[end - start..].fill(0.0);
            if let Some(weights) = self.weights {
                weigh(weights[place], &weights[start..until], row);
            }
            let upper = Upper {
                score: self.scores[place],
                exp: self.exps[place],
                frozen: self.frozen[place],
                sigma: self.sigma,
                spread: self.spread,
            };
            let lower = Lower {
                scores: &self.scores[start..],
                exps: &self.exps[start..],
                frozen: &self.frozen[start..],
            };
            let totals = &mut self.totals;
            let mut below = Totals {
                gradient: &mut totals.gradient[start..],
                loss: &mut totals.loss[start..],
                hessian: totals.hessian.as_mut().map(|both| both.each_mut().map(|all| &mut all[start..])),
            };
            if by_exp {
                pairs_by_exp(upper, lower, row, &mut below);
            } else {
                pairs_by_formula(upper, lower, row, &mut below);
            }
            let [sum, size] = sums(row);
            totals.gradient[place] -= sum;
            sizes += size;
            if let Some([hessian, second]) = &mut totals.hessian {
                hessian[place] += sums(&second[start..until])[0];
            }
        }
        sizes
    }
}

fn range(x: &[f64]) -> [f64; 2] {
    x.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], &x| [low.min(x), high.max(x)])
}

impl<D: Delta> Objective for Lambda<D> {
    fn hessian(&self) -> Hessian {
        Hessian::Exact
    }

    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let n = input.list.len();
        if n < 2 {
            return None;
        }
        let m = n.next_multiple_of(LANES);
        // Two groups may take this many more slots.
        let most = m + LANES;
        let [order, ranks] = work.places.cut([n, most]);
        descending(input.frozen(), order, &mut work.kernel.order);
        let [values, x, y, by_rank, by_place] = work.floats.cut([m, m, m, m, 9 * most]);
        for (value, &item) in values.iter_mut().zip(&*order) {
            *value = self.delta.value(input, item as usize);
        }
        let values = &*values;
        let mut fill = self.delta.rows(input, values, [x, y], &mut work.kernel.gains)?;

        let groups = Groups::of(&values[..n]);
        let mut by_place = by_place.chunks_exact_mut(groups.places());
        let [scores, exps, weights, frozen, gradient, loss, row, hessian, second] =
            std::array::from_fn(|_| by_place.next().unwrap_or_default());
        let ranks = &mut ranks[..groups.places()];
        groups.lay(&values[..n], ranks);
        let ranks = &*ranks;
        let pick = |target: &mut [f64], source: &[f64]| {
            for (value, &rank) in target.iter_mut().zip(ranks) {
                *value = source[order[rank as usize] as usize];
            }
        };
        pick(frozen, input.frozen());
        if let Some(source) = input.list.weights {
            for (w, &rank) in weights.iter_mut().zip(ranks) {
                *w = f64::from(source[order[rank as usize] as usize]);
            }
        }
        let differ = input.frozen()[order[0] as usize] > input.frozen()[order[n - 1] as usize];
        let normed = self.norm == Norm::LightGbm;
        let mut ranked = Ranked {
            groups,
            values,
            ranks,
            rows: self.cut.map_or(n, |k| k as usize).min(n - 1),
            sigma: self.sigma,
            spread: if normed && differ { [0.01, 1.0] } else { [1.0, 0.0] },
            scores,
            exps,
            weights: input.list.weights.map(|_| &*weights),
            frozen,
            by_rank,
            row,
            totals: Totals { gradient, loss, hessian: out.hessian.is_some().then_some([hessian, second]) },
        };
        // S is frozen, too: if the frozen scores are not the present ones it needs its own sum over pairs.
        let mut sizes = None;
        if normed && input.frozen.is_some() {
            ranked.scores.copy_from_slice(frozen);
            sizes = Some(ranked.sum_pairs(&mut fill));
            ranked.totals.gradient.fill(0.0);
            ranked.totals.loss.fill(0.0);
            if let Some([hessian, _]) = &mut ranked.totals.hessian {
                hessian.fill(0.0);
            }
        }
        pick(ranked.scores, input.list.scores);
        let walked = ranked.sum_pairs(&mut fill);
        let s = 2.0 * self.sigma * sizes.unwrap_or(walked);
        let scale = if normed && s > 0.0 { s.ln_1p() / (s * LN_2) } else { 1.0 };

        let Totals { gradient, hessian, loss } = ranked.totals;
        let give = |all: &[f64], by: f64, to: &mut [f64]| {
            for (group, size) in groups.sizes.into_iter().enumerate() {
                let begin = group * groups.border();
                for (value, &rank) in all[begin..].iter().zip(&ranks[begin..begin + size]) {
                    to[order[rank as usize] as usize] = by * value;
                }
            }
        };
        give(gradient, scale * self.sigma, &mut out.gradient[..n]);
        if let (Some(out), Some([hessian, _])) = (&mut out.hessian, hessian) {
            give(hessian, scale * self.sigma * self.sigma, &mut out[..n]);
        }
        Some(scale * sums(loss)[0])
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{Lists, Policy, Stream};
    use toprank_metrics::{Discounts, best_dcg};

    use super::Groups;
    use crate::kernels::scalar::{sigmoid, softplus};
    use crate::{Batch, Goal, Gradients};

    struct Case {
        scores: Vec<f64>,
        frozen: Vec<f64>,
        labels: Vec<f32>,
        weights: Vec<f32>,
    }

    /// Reference implementation of LambdaRank: loss, gradient, Hessian diagonal.
    fn plain(case: &Case, text: &str, cut: usize, sigma: f64) -> (f64, Vec<f64>, Vec<f64>) {
        let (normed, cut_discounts) = (text.contains("norm=lightgbm"), text.contains("discount=cut"));
        let (n, policy, discounts) = (case.scores.len(), Policy::default(), Discounts::default());
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|a, b| case.frozen[*b].partial_cmp(&case.frozen[*a]).unwrap());
        let mut rank = vec![0; n];
        order.iter().enumerate().for_each(|(place, &i)| rank[i] = place);
        let z = best_dcg(&case.labels, &[], &policy, cut, &mut Vec::new());
        let gain = |i: usize| f64::from(case.labels[i]).exp2() - 1.0;
        let discount = |i: usize| if cut_discounts && rank[i] >= cut { 0.0 } else { discounts.at(rank[i]) };
        let all_tie = case.frozen.iter().all(|s| *s == case.frozen[0]);
        let weight = |i: usize, j: usize| {
            let delta = (gain(i) - gain(j)) * (discount(i) - discount(j)).abs() / z;
            let distance =
                if normed && !all_tie { 0.01 + (case.frozen[i] - case.frozen[j]).abs() } else { 1.0 };
            f64::from(case.weights[i]) * f64::from(case.weights[j]) * delta / distance
        };
        let pairs: Vec<(usize, usize)> = (0..n)
            .flat_map(|i| (0..n).map(move |j| (i, j)))
            .filter(|&(i, j)| case.labels[i] > case.labels[j] && (rank[i] < cut || rank[j] < cut))
            .collect();
        let lambda = |s: &[f64], i: usize, j: usize| sigma * weight(i, j) * sigmoid(sigma * (s[j] - s[i]));
        let sum: f64 = pairs.iter().map(|&(i, j)| 2.0 * lambda(&case.frozen, i, j)).sum();
        let scale = if normed && sum > 0.0 { sum.ln_1p() / 2f64.ln() / sum } else { 1.0 };
        let (mut loss, mut gradient, mut hessian) = (0.0, vec![0.0; n], vec![0.0; n]);
        for (i, j) in pairs {
            let x = sigma * (case.scores[j] - case.scores[i]);
            loss += scale * weight(i, j) * softplus(x);
            gradient[i] -= scale * lambda(&case.scores, i, j);
            gradient[j] += scale * lambda(&case.scores, i, j);
            let second = scale * sigma * sigma * weight(i, j) * sigmoid(x) * sigmoid(-x);
            hessian[i] += second;
            hessian[j] += second;
        }
        (loss, gradient, hessian)
    }

    #[test]
    fn items_of_two_values_form_two_groups_if_one_is_small() {
        let values = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        let groups = Groups::of(&values);
        assert_eq!(groups.sizes, [2, 7]);
        let mut ranks = vec![0; groups.places()];
        groups.lay(&values, &mut ranks);
        assert_eq!(ranks, [0, 4, 4, 4, 1, 2, 3, 5, 6, 7, 8, 8]);
        assert_eq!([groups.met_by(0), groups.met_by(1)], [[4, 11], [0, 2]]);
        for (values, why) in [
            (vec![1.0, 0.0, 0.0], "one in three is not few"),
            (vec![1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0], "three values"),
            (vec![1.0; 5], "one value"),
        ] {
            let groups = Groups::of(&values);
            assert_eq!(groups.sizes, [values.len(), 0], "{why}");
            assert_eq!(groups.met_by(0), [0, values.len()], "{why}");
        }
    }

    #[test]
    fn rows_of_pairs_equal_the_definition() {
        let mut random = Stream::new(8, "lambda twin").open();
        for n in [2, 3, 8, 9, 130, 3000] {
            // Narrow, wide enough for exponentials, too wide for them, far from 0, with ties, all tied.
            for (spread, offset, levels) in
                [(3.0, 0.0, 0), (590.0, 0.0, 0), (1e6, 0.0, 0), (3.0, 1e6, 0), (3.0, 0.0, 4), (3.0, 0.0, 1)]
            {
                let mut draw = || {
                    let x = random.unit();
                    let x = if levels > 0 { (x * f64::from(levels)).floor() / f64::from(levels) } else { x };
                    spread * x + offset
                };
                let (scores, moved): (Vec<f64>, Vec<f64>) = (0..n).map(|_| (draw(), draw())).unzip();
                let mut graded: Vec<f32> = (0..n).map(|_| random.below(5) as f32).collect();
                (graded[0], graded[1]) = (0.0, 1.0);
                // Two values, few items of one of them: two groups.
                let few: Vec<f32> = graded.iter().map(|y| f32::from(*y == 1.0)).collect();
                let all_but_few = few.iter().map(|y| 1.0 - y).collect();
                let weights: Vec<f32> = (0..n).map(|_| 0.5 + random.unit() as f32).collect();
                let labelled = [graded, few, all_but_few];
                for (labels, frozen) in
                    labelled.iter().flat_map(|labels| [(labels, &scores), (labels, &moved)])
                {
                    let case = Case {
                        scores: scores.clone(),
                        frozen: frozen.clone(),
                        labels: labels.clone(),
                        weights: weights.clone(),
                    };
                    for (text, cut, sigma) in [
                        ("lambdarank", n, 1.0),
                        ("lambdarank@1", 1, 1.0),
                        ("lambdarank@10:sigma=0.7", 10, 0.7),
                        ("lambdarank@10:discount=cut", 10, 1.0),
                        ("lambdarank@5:norm=lightgbm:sigma=1.5", 5, 1.5),
                    ] {
                        if n > 1000 && (cut == n || levels > 0) {
                            continue; // the definition is slow
                        }
                        let (loss, gradient, hessian) = plain(&case, text, cut, sigma);
                        let lists = Lists {
                            item_weights: Some(case.weights.clone()),
                            ..Lists::from_lengths(&[n], case.labels.clone())
                        };
                        let goal = Goal::parse(text, &Policy::default()).unwrap();
                        let mut out = Gradients { want_hessian: true, ..Gradients::default() };
                        let batch = Batch { frozen: Some(&case.frozen), ..Batch::all(&lists, &case.scores) };
                        goal.step(&batch, &mut goal.state(&lists).unwrap(), &mut out).unwrap();
                        let what = format!("{text}, {n} items, spread {spread}, offset {offset}");
                        // Differences of scores of 1e6 have 10 digits.
                        let tolerance = if offset > 0.0 { 1e-9 } else { 1e-12 };
                        let close = |got: &[f64], want: &[f64]| {
                            let scale = want.iter().fold(0.0, |m: f64, x| m.max(x.abs())).max(1e-300);
                            got.iter().zip(want).all(|(a, b)| (a - b).abs() <= tolerance * scale)
                        };
                        assert!(close(&[out.loss], &[loss]), "{what}: {} {loss}", out.loss);
                        assert!(close(&out.gradient, &gradient), "{what}: {:?} {gradient:?}", out.gradient);
                        assert!(close(&out.hessian, &hessian), "{what}: {:?} {hessian:?}", out.hessian);
                        if case.frozen == case.scores {
                            let batch = Batch::all(&lists, &case.scores);
                            goal.step(&batch, &mut goal.state(&lists).unwrap(), &mut out).unwrap();
                            assert!(close(&out.gradient, &gradient), "{what}, not frozen");
                        }
                    }
                }
            }
        }
    }
}
