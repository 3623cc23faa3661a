#![doc = include_str!("../pages/xe-ndcg.md")]

use toprank_core::{Param, ParamError, Spec};

use crate::kernels::scalar::softmax;
use crate::objective::{Hessian, Input, Needs, Objective, Out};
use crate::params::GAIN;
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    GAIN,
    Param {
        name: "trees",
        default: "false",
        range: "true or false",
        about: "whether to add the two terms of LightGBM's rank_xendcg to the gradient",
    },
];
pub(crate) const EXAMPLES: &[&str] = &["xe-ndcg:gain=linear", "xe-ndcg:trees=true"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(XeNdcg { trees: spec.args.flag("trees", false)? }))
}

/// XE-NDCG; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct XeNdcg {
    trees: bool,
}

/// Lower limit of 1 − ρ.
const GUARD: f64 = 1e-12;

impl Objective for XeNdcg {
    fn needs(&self) -> Needs {
        Needs { random: true, ..Needs::default() }
    }

    fn hessian(&self) -> Hessian {
        if self.trees { Hessian::Bound } else { Hessian::Exact }
    }

    fn differentiates_its_loss(&self) -> bool {
        !self.trees
    }

    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let s = input.list.scores;
        let n = s.len();
        let [target, rho, rest, term] = work.floats.cut([n, n, n, n]);
        let mut random = input.stream.open();
        for (j, target) in target.iter_mut().enumerate() {
            *target = input.weight(j) * (input.gain(j) + 1.0 - random.unit());
        }
        let total: f64 = target.iter().sum();
        if n < 2 || total == 0.0 {
            return None;
        }
        let (top, log) = softmax(s, rho);
        let mut loss = 0.0;
        for j in 0..n {
            target[j] /= total;
            loss -= target[j] * (s[j] - top - log);
            out.gradient[j] = rho[j] - target[j];
        }
        others(rho, rest);
        if let Some(h) = &mut out.hessian {
            (0..n).for_each(|j| h[j] = rho[j] * rest[j]);
        }
        if self.trees {
            term.copy_from_slice(out.gradient);
            for _ in 0..2 {
                (0..n).for_each(|j| term[j] /= rest[j].max(GUARD));
                others(term, target); // the targets are no longer needed
                for j in 0..n {
                    term[j] = rho[j] * target[j];
                    out.gradient[j] += term[j];
                }
            }
        }
        Some(loss)
    }
}

/// Sum of all other numbers, for each number. The greatest one is added last, so that its own result loses no digits.
fn others(x: &[f64], sums: &mut [f64]) {
    let top = (0..x.len()).max_by(|&a, &b| x[a].abs().total_cmp(&x[b].abs())).unwrap_or(0);
    let small: f64 = (0..x.len()).filter(|&j| j != top).map(|j| x[j]).sum();
    for j in 0..x.len() {
        sums[j] = if j == top { small } else { small - x[j] + x[top] };
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Lists, Policy, Stream};

    use crate::{Batch, Goal, Gradients};

    fn goal(text: &str) -> Goal {
        Goal::parse(text, &Policy::default()).unwrap()
    }

    /// The target probabilities with the noise of list 0 in step 0.
    fn targets(gains: &[f64]) -> Vec<f64> {
        let mut random = Stream::new(0, "objective").of_list(0).open();
        let raw: Vec<f64> = gains.iter().map(|gain| gain + 1.0 - random.unit()).collect();
        raw.iter().map(|x| x / raw.iter().sum::<f64>()).collect()
    }

    #[test]
    fn three_items_by_hand() {
        let scores = [3f64.ln(), 2f64.ln(), 0.0];
        let (loss, gradient) = goal("xe-ndcg").of_list(&List::new(&scores, &[0.0, 2.0, 1.0])).unwrap();
        let phi = targets(&[0.0, 3.0, 1.0]);
        let expected = phi[0] * 2f64.ln() + phi[1] * 3f64.ln() + phi[2] * 6f64.ln();
        assert!((loss - expected).abs() < 1e-14);
        let expected = [3.0 / 6.0 - phi[0], 2.0 / 6.0 - phi[1], 1.0 / 6.0 - phi[2]];
        assert!(gradient.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-14), "{gradient:?}");
    }

    /// Gradient with both corrections, as the definition reads.
    fn trees_plain(scores: &[f64], phi: &[f64]) -> Vec<f64> {
        let n = scores.len();
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let e: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
        let sum: f64 = e.iter().sum();
        let rho: Vec<f64> = e.iter().map(|e| e / sum).collect();
        let rest = |j: usize| (0..n).filter(|k| *k != j).map(|k| rho[k]).sum::<f64>().max(1e-12);
        let correct = |l: &[f64]| -> Vec<f64> {
            (0..n).map(|i| rho[i] * (0..n).filter(|j| *j != i).map(|j| l[j] / rest(j)).sum::<f64>()).collect()
        };
        let l1: Vec<f64> = (0..n).map(|j| rho[j] - phi[j]).collect();
        let l2 = correct(&l1);
        let l3 = correct(&l2);
        (0..n).map(|j| l1[j] + l2[j] + l3[j]).collect()
    }

    #[test]
    fn the_terms_for_trees_equal_their_reference_implementation() {
        let goal = goal("xe-ndcg:trees=true");
        let labels = [2.0, 0.0, 1.0, 4.0, 0.0];
        for scale in [0.0, 1.0, 10.0, 40.0, 1e6] {
            let scores = [0.3, -0.2, 1.1, 0.9, -1.0].map(|s| s * scale);
            let (_, gradient) = goal.of_list(&List::new(&scores, &labels)).unwrap();
            let expected = trees_plain(&scores, &targets(&[3.0, 0.0, 1.0, 15.0, 0.0]));
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * (1.0 + b.abs());
            assert!(gradient.iter().zip(&expected).all(close), "× {scale}: {gradient:?} {expected:?}");
        }
    }

    #[test]
    fn every_step_draws_other_targets_of_the_same_mean() {
        let goal = goal("xe-ndcg");
        let lists = Lists::from_lengths(&[2], vec![1.0, 0.0]);
        let mut state = goal.state(&lists).unwrap();
        let mut out = Gradients::default();
        let mut seen = Vec::new();
        for step in 0..2000 {
            let stream = Stream::new(3, "objective").at_step(step);
            let batch = Batch { stream, ..Batch::all(&lists, &[0.0, 0.0]) };
            goal.step(&batch, &mut state, &mut out).unwrap();
            seen.push(0.5 - out.gradient[0]);
        }
        assert_ne!(seen[0], seen[1]);
        // ∫∫ (2 − u)/(3 − u − v) du dv = 1/2 + ∫∫ ½/(3 − u − v) = 1/2 + ½(3 ln 3 − 4 ln 2).
        let mean = seen.iter().sum::<f64>() / seen.len() as f64;
        assert!((mean - (0.5 + 0.5 * (3.0 * 3f64.ln() - 4.0 * 2f64.ln()))).abs() < 0.01, "{mean}");
    }
}
