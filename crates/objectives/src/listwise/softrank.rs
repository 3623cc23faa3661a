#![doc = include_str!("../pages/softrank.md")]

use toprank_core::{Param, ParamError, Spec};
use toprank_metrics::Discounts;

use super::measure::shares;
use crate::objective::{Input, Objective, Out};
use crate::params::GAIN;
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "sigma", default: "1", range: "in (0, ∞)", about: "σ: standard deviation of each score"
    },
    GAIN,
];
pub(crate) const EXAMPLES: &[&str] = &["softrank:sigma=0.3", "softrank:gain=linear"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(SoftRank { sigma: spec.args.positive("sigma", 1.0)? }))
}

/// SoftRank; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct SoftRank {
    sigma: f64,
}

/// Standard deviations beyond which a comparison counts as certain: Φ(−9) = 1e-19.
const CERTAIN: f64 = 9.0;

/// The longest list that is accepted: 8 million numbers of memory, and 16 million steps for each item with a gain.
const LONGEST: usize = 4000;

impl Objective for SoftRank {
    fn longest(&self) -> Option<usize> {
        Some(LONGEST)
    }

    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let s = input.list.scores;
        let n = s.len();
        let [parts, discounts, wins, stages, value] = work.floats.cut([n, n, n, n * (n + 1) / 2, n]);
        let [near] = work.places.cut([n]);
        shares(input, usize::MAX, parts, &mut work.kernel.gains)?;
        let table = Discounts::default();
        for (r, discount) in discounts.iter_mut().enumerate() {
            *discount = table.at(r);
        }
        let width = std::f64::consts::SQRT_2 * self.sigma;
        let mut measure = 0.0;
        for j in (0..n).filter(|&j| parts[j] > 0.0) {
            // Items that certainly beat j shift its rank, those that certainly do not are skipped.
            let (mut above, mut count) = (0, 0);
            for i in (0..n).filter(|&i| i != j) {
                let z = (s[i] - s[j]) / width;
                if z >= CERTAIN {
                    above += 1;
                } else if z > -CERTAIN {
                    (near[count], wins[count]) = (i as u32, normal_cdf(z));
                    count += 1;
                }
            }
            let ranks = distribution(&wins[..count], stages);
            let worth = &discounts[above..=above + count];
            measure += parts[j] * ranks.iter().zip(worth).map(|(p, d)| p * d).sum::<f64>();
            // Backwards: value[r] is the expected discount if r of the items so far beat j.
            value[..=count].copy_from_slice(worth);
            for k in (0..count).rev() {
                let win = wins[k];
                let stage = &stages[k * (k + 1) / 2..(k + 1) * (k + 2) / 2];
                let push = -parts[j] * take_back(stage, win, &mut value[..k + 2]);
                let i = near[k] as usize;
                let z = (s[i] - s[j]) / width;
                let density = normal_density(z) / width;
                out.gradient[i] += push * density;
                out.gradient[j] -= push * density;
                if let Some(h) = &mut out.hessian {
                    let curve = push * density * (1.0 + z.abs()) / width;
                    h[i] += curve;
                    h[j] += curve;
                }
            }
        }
        Some(1.0 - measure)
    }
}

/// Φ(z).
fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

fn normal_density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Probabilities of 0, 1, 2 … wins; stage k, the probabilities after k items, starts at k(k + 1)/2.
fn distribution<'a>(wins: &[f64], stages: &'a mut [f64]) -> &'a [f64] {
    stages[0] = 1.0;
    for (k, &win) in wins.iter().enumerate() {
        let (before, after) = stages.split_at_mut((k + 1) * (k + 2) / 2);
        add_one(&before[k * (k + 1) / 2..], win, &mut after[..k + 2]);
    }
    let k = wins.len();
    &stages[k * (k + 1) / 2..(k + 1) * (k + 2) / 2]
}

vectorised! {
    /// after[r] = before[r]·(1 − win) + before[r − 1]·win.
    fn add_one(before: &[f64], win: f64, after: &mut [f64]) {
        let n = before.len();
        after[0] = before[0] * (1.0 - win);
        after[n] = before[n - 1] * win;
        let (lower, upper, after) = (&before[..n - 1], &before[1..n], &mut after[1..n]);
        for (after, (lower, upper)) in after.iter_mut().zip(lower.iter().zip(upper)) {
            *after = upper * (1.0 - win) + lower * win;
        }
    }
}

vectorised! {
    /// Σ_r p_r (value[r + 1] − value[r]), the derivative by this item's probability; then value[r] is that before the item.
    fn take_back(p: &[f64], win: f64, value: &mut [f64]) -> f64 {
        let mut lanes = [0.0; 4];
        let (fours, rest) = p.as_chunks::<4>();
        for (c, p) in fours.iter().enumerate() {
            let five: [f64; 5] = std::array::from_fn(|l| value[4 * c + l]);
            for l in 0..4 {
                let step = five[l + 1] - five[l];
                lanes[l] += p[l] * step;
                value[4 * c + l] = five[l] + win * step;
            }
        }
        for (r, p) in (p.len() - rest.len()..).zip(rest) {
            let step = value[r + 1] - value[r];
            lanes[0] += p * step;
            value[r] += win * step;
        }
        (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Lists, Policy, Stream};

    use super::{normal_cdf, normal_density};
    use crate::{Batch, Goal, Gradients};

    fn goal(text: &str) -> Goal {
        Goal::parse(text, &Policy::default()).unwrap()
    }

    #[test]
    fn three_items_by_hand() {
        let (s, y) = ([0.0, 0.6, -0.2], [1.0, 0.0, 0.0]);
        let (loss, gradient) = goal("softrank:sigma=0.5").of_list(&List::new(&s, &y)).unwrap();
        let width = 2f64.sqrt() * 0.5;
        let (p, q) = (normal_cdf(0.6 / width), normal_cdf(-0.2 / width));
        let d = [1.0, 1.0 / 3f64.log2(), 0.5];
        let measure = (1.0 - p) * (1.0 - q) * d[0] + (p * (1.0 - q) + q * (1.0 - p)) * d[1] + p * q * d[2];
        assert!((loss - (1.0 - measure)).abs() < 1e-15);
        let in_p = -(1.0 - q) * d[0] + (1.0 - 2.0 * q) * d[1] + q * d[2];
        let in_q = -(1.0 - p) * d[0] + (1.0 - 2.0 * p) * d[1] + p * d[2];
        let (a, b) =
            (-in_p * normal_density(0.6 / width) / width, -in_q * normal_density(0.2 / width) / width);
        let expected = [-a - b, a, b];
        assert!(
            gradient.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-15),
            "{gradient:?} {expected:?}"
        );
    }

    /// Reference implementation: expected NDCG over all 2^{n−1} outcomes of the comparisons with each item.
    fn plain(s: &[f64], shares: &[f64], sigma: f64) -> f64 {
        let n = s.len();
        let of_item = |j: usize| {
            let others: Vec<usize> = (0..n).filter(|i| *i != j).collect();
            let outcome = |bits: usize| {
                let probability: f64 = (0..n - 1)
                    .map(|k| {
                        let win = normal_cdf((s[others[k]] - s[j]) / (2f64.sqrt() * sigma));
                        if bits >> k & 1 == 1 { win } else { 1.0 - win }
                    })
                    .product();
                probability / f64::from(2 + bits.count_ones()).log2()
            };
            (0..1 << (n - 1)).map(outcome).sum::<f64>()
        };
        (0..n).map(|j| shares[j] * of_item(j)).sum()
    }

    #[test]
    fn the_recursion_equals_the_sum_over_all_outcomes() {
        let mut random = Stream::new(4, "softrank").open();
        for scale in [0.0, 0.5, 3.0, 1e6] {
            for n in [2, 5, 9] {
                let s: Vec<f64> = (0..n).map(|_| scale * random.unit()).collect();
                let y: Vec<f32> = (0..n).map(|j| (j % 3) as f32).collect();
                let ideal = toprank_metrics::best_dcg(&y, &[], &Policy::default(), n, &mut Vec::new());
                let shares: Vec<f64> = y.iter().map(|y| (f64::from(*y).exp2() - 1.0) / ideal).collect();
                let (loss, _) = goal("softrank:sigma=0.7").of_list(&List::new(&s, &y)).unwrap();
                assert!((loss - (1.0 - plain(&s, &shares, 0.7))).abs() < 1e-14, "n = {n}, × {scale}");
            }
        }
    }

    #[test]
    fn the_hessian_bounds_the_second_derivative() {
        let scores = [0.3, -0.4, 1.0, 0.9, 0.2, -2.0];
        let lists = Lists::from_lengths(&[6], vec![2.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
        for text in ["softrank", "softrank:sigma=0.3"] {
            let goal = goal(text);
            let at = |scores: &[f64]| {
                let mut out = Gradients { want_hessian: true, ..Gradients::default() };
                goal.step(&Batch::all(&lists, scores), &mut goal.state(&lists).unwrap(), &mut out).unwrap();
                out
            };
            for j in 0..6 {
                let slope = |x: f64| {
                    let mut moved = scores;
                    moved[j] += x;
                    at(&moved).gradient[j]
                };
                let second = (slope(1e-6) - slope(-1e-6)) / 2e-6;
                assert!(second <= at(&scores).hessian[j] + 1e-9, "{text}, item {j}: {second}");
            }
        }
    }

    #[test]
    fn a_list_that_is_too_long_is_an_error_that_says_what_to_do() {
        let mut labels = vec![0.0; 4003];
        labels[3] = 1.0;
        let run = |unlabelled: usize| {
            let mut labels = labels.clone();
            labels[4003 - unlabelled..].fill(f32::NAN);
            let lists = Lists::from_lengths(&[2, 4001], labels);
            let goal = goal("softrank:sigma=1e-6");
            let scores: Vec<f64> = (0..4003).map(f64::from).collect();
            let mut out = Gradients::default();
            goal.step(&Batch::all(&lists, &scores), &mut goal.state(&lists).unwrap(), &mut out)
        };
        assert_eq!(
            run(0).unwrap_err().to_string(),
            "list 1 has 4001 items, expected at most 4000 for this objective: its cost grows too fast with them; draw \
             some of its items, or take another objective"
        );
        assert!(run(1).is_ok());
    }
}
