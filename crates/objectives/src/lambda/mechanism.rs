/*!
The walk over pairs that all lambda methods share.

```text
order the list by falling frozen score, ties in input order; rank a, b from 0
for each rank a < K (all without a cut), for each rank b > a:      at least one side stands inside K
    c_ab = ±w_a w_b |Δ(a, b)|,  + if the item at a is the better one
    loss += |c| ln(1 + e^{−σ(s_better − s_worse)}),  λ = c σ · (chance of the wrong order): −λ on a, +λ on b
```

Each row of pairs is a few vectorised passes over contiguous arrays in rank order. Items of equal value have no pair: where
there are but two values and few items of one of them, the items of each stand together, and a row is met by the others alone.
Cost: O(n log n + n·K), with m of n items relevant and all others alike O(n log n + m·n) logarithms.
*/

use std::f64::consts::LN_2;

use toprank_core::{Param, ParamError, Spec};

use super::row::{EXP_RANGE, LANES, Lower, Totals, Upper, pairs_by_exp, pairs_by_formula, sums, weigh};
use crate::kernels::order::descending;
use crate::kernels::vector::exp_all;
use crate::objective::{Curvature, Input, Objective, Out};
use crate::params::{positive, word};
use crate::state::ListState;
use crate::work::Work;

pub(super) const SIGMA: Param = Param {
    name: "sigma",
    default: "1",
    range: "in (0, ∞)",
    about: "σ: steepness of the logistic function of a difference of scores",
};

pub(super) const NORM: Param = Param {
    name: "norm",
    default: "none",
    range: "none or lightgbm",
    about: "lightgbm: pair weights over 0.01 + difference of scores, then the list times log2(1 + S)/S",
};

/// Which items take part: the truncation level.
pub(super) const CUT: Param = Param {
    name: "@",
    default: "all",
    range: "a whole number from 1 on",
    about: "K: only pairs with at least one side in the first K places",
};

/// How pair weights are normalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Norm {
    None,
    LightGbm,
}

/// How a measure changes when two ranks swap.
pub(super) trait Delta: Send + Sync {
    /// What the measure sees of an item: its gain, whether it is relevant, the chance to stop there.
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
        let norm = word(spec, "norm", "none", &[("none", Norm::None), ("lightgbm", Norm::LightGbm)])?;
        Ok(Lambda { delta, cut: spec.cut, sigma: positive(spec, "sigma", 1.0)?, norm })
    }
}

/// Items that may meet those of the other camp: one camp of all items, or one for each of two values. A camp's items stand
/// together in rank order, from a multiple of [`LANES`] on.
#[derive(Clone, Copy)]
struct Camps {
    /// The value of the first camp.
    first: f64,
    /// Items of each camp; no second one: 0.
    sizes: [usize; 2],
}

/// With more than one item in so many in the smaller camp, picking the other camp's items out of a row costs more than their
/// pairs do.
const FEW: usize = 4;

impl Camps {
    fn of(values: &[f64]) -> Camps {
        let all = Camps { first: values[0], sizes: [values.len(), 0] };
        let Some(second) = values.iter().copied().find(|value| *value != all.first) else { return all };
        if values.iter().any(|value| *value != all.first && *value != second) {
            return all;
        }
        let others = values.iter().filter(|value| **value == second).count();
        let sizes = [values.len() - others, others];
        if sizes[0].min(sizes[1]) * FEW > values.len() { all } else { Camps { sizes, ..all } }
    }

    fn are_two(self) -> bool {
        self.sizes[1] > 0
    }

    /// Where the second camp begins.
    fn border(self) -> usize {
        self.sizes[0].next_multiple_of(LANES)
    }

    /// Places of both camps.
    fn places(self) -> usize {
        self.border() + self.sizes[1].next_multiple_of(LANES)
    }

    /// The camp of a value.
    fn of_value(self, value: f64) -> usize {
        usize::from(self.are_two() && value != self.first)
    }

    /// Where the items that one of `camp` meets begin and end.
    fn met_by(self, camp: usize) -> [usize; 2] {
        match (self.are_two(), camp) {
            (false, _) | (true, 1) => [0, self.sizes[0]],
            (true, _) => [self.border(), self.border() + self.sizes[1]],
        }
    }

    /// The rank of every place; the places between the camps and after them repeat the last one's.
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

/// Arrays by place, all of one length, a multiple of [`LANES`].
struct Ranked<'a> {
    camps: Camps,
    /// The value of each rank, by which its camp is known.
    values: &'a [f64],
    /// The rank of each place.
    ranks: &'a [u32],
    /// Ranks whose rows are walked.
    rows: usize,
    sigma: f64,
    spread: [f64; 2],
    scores: &'a mut [f64],
    exps: &'a mut [f64],
    weights: Option<&'a [f64]>,
    frozen: &'a [f64],
    /// Δ by rank, where there are two camps.
    by_rank: &'a mut [f64],
    row: &'a mut [f64],
    totals: Totals<'a>,
}

impl Ranked<'_> {
    /// Walks over all pairs; gradient and curvature still lack σ and σ². Returns Σ |λ|.
    fn walk(&mut self, mut fill: impl FnMut(usize, usize, &mut [f64]) -> bool) -> f64 {
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
        let mut next = [0, self.camps.border()];
        for a in 0..self.rows {
            let camp = self.camps.of_value(self.values[a]);
            let place = next[camp];
            next[camp] += 1;
            // The items below rank a that it meets.
            let [begin, end] = self.camps.met_by(camp);
            let first = if self.camps.are_two() { next[1 - camp] } else { place + 1 };
            let start = first - (first - begin) % LANES;
            let until = begin + (end - begin).next_multiple_of(LANES);
            if first >= end {
                continue;
            }
            let row = &mut self.row[start..until];
            if self.camps.are_two() {
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
                curvature: totals.curvature.as_mut().map(|both| both.each_mut().map(|all| &mut all[start..])),
            };
            if by_exp {
                pairs_by_exp(upper, lower, row, &mut below);
            } else {
                pairs_by_formula(upper, lower, row, &mut below);
            }
            let [sum, size] = sums(row);
            totals.gradient[place] -= sum;
            sizes += size;
            if let Some([curvature, bend]) = &mut totals.curvature {
                curvature[place] += sums(&bend[start..until])[0];
            }
        }
        sizes
    }
}

fn range(x: &[f64]) -> [f64; 2] {
    x.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], &x| [low.min(x), high.max(x)])
}

impl<D: Delta> Objective for Lambda<D> {
    fn curvature(&self) -> Curvature {
        Curvature::Exact
    }

    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let n = input.list.len();
        if n < 2 {
            return None;
        }
        let m = n.next_multiple_of(LANES);
        // Two camps may take so many places more.
        let most = m + LANES;
        let [order, ranks] = work.places.cut([n, most]);
        descending(input.frozen(), order, &mut work.kernel.order);
        let [values, x, y, by_rank, by_place] = work.floats.cut([m, m, m, m, 9 * most]);
        for (value, &item) in values.iter_mut().zip(&*order) {
            *value = self.delta.value(input, item as usize);
        }
        let values = &*values;
        let mut fill = self.delta.rows(input, values, [x, y], &mut work.kernel.gains)?;

        let camps = Camps::of(&values[..n]);
        let mut by_place = by_place.chunks_exact_mut(camps.places());
        let [scores, exps, weights, frozen, gradient, loss, row, curvature, bend] =
            std::array::from_fn(|_| by_place.next().unwrap_or_default());
        let ranks = &mut ranks[..camps.places()];
        camps.lay(&values[..n], ranks);
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
            camps,
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
            totals: Totals {
                gradient,
                loss,
                curvature: out.curvature.is_some().then_some([curvature, bend]),
            },
        };
        // S is frozen too: where the frozen scores are not the present ones it takes a walk of its own.
        let mut sizes = None;
        if normed && input.frozen.is_some() {
            ranked.scores.copy_from_slice(frozen);
            sizes = Some(ranked.walk(&mut fill));
            ranked.totals.gradient.fill(0.0);
            ranked.totals.loss.fill(0.0);
            if let Some([curvature, _]) = &mut ranked.totals.curvature {
                curvature.fill(0.0);
            }
        }
        pick(ranked.scores, input.list.scores);
        let walked = ranked.walk(&mut fill);
        let s = 2.0 * self.sigma * sizes.unwrap_or(walked);
        let scale = if normed && s > 0.0 { s.ln_1p() / (s * LN_2) } else { 1.0 };

        let Totals { gradient, curvature, loss } = ranked.totals;
        let give = |all: &[f64], by: f64, to: &mut [f64]| {
            for (camp, size) in camps.sizes.into_iter().enumerate() {
                let begin = camp * camps.border();
                for (value, &rank) in all[begin..].iter().zip(&ranks[begin..begin + size]) {
                    to[order[rank as usize] as usize] = by * value;
                }
            }
        };
        give(gradient, scale * self.sigma, &mut out.gradient[..n]);
        if let (Some(out), Some([curvature, _])) = (&mut out.curvature, curvature) {
            give(curvature, scale * self.sigma * self.sigma, &mut out[..n]);
        }
        Some(scale * sums(loss)[0])
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{Lists, Policy, Stream};
    use toprank_metrics::{Discounts, best_dcg};

    use super::Camps;
    use crate::kernels::scalar::{sigmoid, softplus};
    use crate::{Batch, Goal, Gradients};

    struct Case {
        scores: Vec<f64>,
        frozen: Vec<f64>,
        labels: Vec<f32>,
        weights: Vec<f32>,
    }

    /// LambdaRank read aloud: loss, gradient, curvature.
    fn plain(case: &Case, cut: usize, sigma: f64, normed: bool) -> (f64, Vec<f64>, Vec<f64>) {
        let (n, policy, discounts) = (case.scores.len(), Policy::default(), Discounts::default());
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|a, b| case.frozen[*b].partial_cmp(&case.frozen[*a]).unwrap());
        let mut rank = vec![0; n];
        order.iter().enumerate().for_each(|(place, &i)| rank[i] = place);
        let z = best_dcg(&case.labels, &[], &policy, cut, &mut Vec::new());
        let gain = |i: usize| f64::from(case.labels[i]).exp2() - 1.0;
        let all_tie = case.frozen.iter().all(|s| *s == case.frozen[0]);
        let weight = |i: usize, j: usize| {
            let delta = (gain(i) - gain(j)) * (discounts.at(rank[i]) - discounts.at(rank[j])).abs() / z;
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
        let (mut loss, mut gradient, mut curvature) = (0.0, vec![0.0; n], vec![0.0; n]);
        for (i, j) in pairs {
            let x = sigma * (case.scores[j] - case.scores[i]);
            loss += scale * weight(i, j) * softplus(x);
            gradient[i] -= scale * lambda(&case.scores, i, j);
            gradient[j] += scale * lambda(&case.scores, i, j);
            let bend = scale * sigma * sigma * weight(i, j) * sigmoid(x) * sigmoid(-x);
            curvature[i] += bend;
            curvature[j] += bend;
        }
        (loss, gradient, curvature)
    }

    #[test]
    fn items_of_two_values_stand_in_two_camps_if_one_is_small() {
        let values = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        let camps = Camps::of(&values);
        assert_eq!(camps.sizes, [2, 7]);
        let mut ranks = vec![0; camps.places()];
        camps.lay(&values, &mut ranks);
        assert_eq!(ranks, [0, 4, 4, 4, 1, 2, 3, 5, 6, 7, 8, 8]);
        assert_eq!([camps.met_by(0), camps.met_by(1)], [[4, 11], [0, 2]]);
        for (values, why) in [
            (vec![1.0, 0.0, 0.0], "one in three is not few"),
            (vec![1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0], "three values"),
            (vec![1.0; 5], "one value"),
        ] {
            let camps = Camps::of(&values);
            assert_eq!(camps.sizes, [values.len(), 0], "{why}");
            assert_eq!(camps.met_by(0), [0, values.len()], "{why}");
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
                // Two values, few items of one of them: two camps.
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
                    for (text, cut, sigma, normed) in [
                        ("lambdarank", n, 1.0, false),
                        ("lambdarank@1", 1, 1.0, false),
                        ("lambdarank@10:sigma=0.7", 10, 0.7, false),
                        ("lambdarank@5:norm=lightgbm:sigma=1.5", 5, 1.5, true),
                    ] {
                        if n > 1000 && (cut == n || levels > 0) {
                            continue; // the definition takes its time
                        }
                        let (loss, gradient, curvature) = plain(&case, cut, sigma, normed);
                        let lists = Lists {
                            item_weights: Some(case.weights.clone()),
                            ..Lists::from_lengths(&[n], case.labels.clone())
                        };
                        let goal = Goal::parse(text, &Policy::default()).unwrap();
                        let mut out = Gradients { want_curvature: true, ..Gradients::default() };
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
                        assert!(
                            close(&out.curvature, &curvature),
                            "{what}: {:?} {curvature:?}",
                            out.curvature
                        );
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
