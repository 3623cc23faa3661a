#![doc = include_str!("../pages/listnet.md")]

use toprank_core::{Param, ParamError, Spec};

use crate::compositional::Strata;
use crate::kernels::scalar::softmax;
use crate::objective::{Hessian, Input, Objective, Out};
use crate::params::{SMOOTHING, smoothing};
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "target",
        default: "exp",
        range: "exp or linear",
        about: "target probabilities: p ∝ e^y (exp) or p ∝ y (linear)",
    },
    SMOOTHING,
];
pub(crate) const EXAMPLES: &[&str] = &["listnet:target=linear", "listnet:target=linear:smoothing=0.2"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let target = spec.args.one_of("target", "exp", &[("exp", Target::Exp), ("linear", Target::Linear)])?;
    Ok(Box::new(ListNet { target, smoothing: smoothing(spec)? }))
}

/// How labels become probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Exp,
    Linear,
}

/// ListNet; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct ListNet {
    target: Target,
    smoothing: f64,
}

impl Objective for ListNet {
    fn hessian(&self) -> Hessian {
        Hessian::Exact
    }

    fn list(&self, input: &Input, state: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let s = input.list.scores;
        let n = s.len();
        let [p, probabilities] = work.floats.cut([n, n]);
        let top = input.list.labels.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        for (j, p) in p.iter_mut().enumerate() {
            let y = input.list.labels[j];
            *p = input.weight(j)
                * match self.target {
                    Target::Exp => f64::from(y - top).exp(),
                    Target::Linear => f64::from(y.max(0.0)),
                };
        }
        let total: f64 = p.iter().sum();
        if n < 2 || total == 0.0 {
            return None;
        }
        let (top, log) = softmax(s, probabilities);
        let uniform = if self.smoothing > 0.0 { Strata::of(input, state).uniform() } else { [0.0; 2] };
        let mut loss = 0.0;
        for j in 0..n {
            let even = uniform[usize::from(input.is_relevant(j))];
            let target = (1.0 - self.smoothing) * p[j] / total + self.smoothing * even;
            let q = probabilities[j];
            loss -= target * (s[j] - top - log);
            out.gradient[j] = q - target;
            if let Some(h) = &mut out.hessian {
                h[j] = q * (1.0 - q);
            }
        }
        Some(loss)
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Lists, Policy};

    use crate::{Batch, Draws, Goal, Gradients};

    fn of(text: &str, scores: &[f64], labels: &[f32]) -> (f64, Vec<f64>) {
        Goal::parse(text, &Policy::default()).unwrap().of_list(&List::new(scores, labels)).unwrap()
    }

    #[test]
    fn three_items_by_hand() {
        // q = 3/6, 2/6, 1/6 and p = 0, 2/3, 1/3.
        let scores = [3f64.ln(), 2f64.ln(), 0.0];
        let (loss, gradient) = of("listnet:target=linear", &scores, &[0.0, 2.0, 1.0]);
        assert!((loss - (2.0 / 3.0 * 3f64.ln() + 1.0 / 3.0 * 6f64.ln())).abs() < 1e-15);
        let expected = [3.0 / 6.0, 2.0 / 6.0 - 2.0 / 3.0, 1.0 / 6.0 - 1.0 / 3.0];
        assert!(gradient.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-15), "{gradient:?}");
        let (_, gradient) = of("listnet", &[0.0, 0.0], &[1.0, 0.0]);
        let p = 1f64.exp() / (1f64.exp() + 1.0);
        assert!((gradient[0] - (0.5 - p)).abs() < 1e-15 && (gradient[1] - (p - 0.5)).abs() < 1e-15);
    }

    #[test]
    fn a_smoothed_target_by_hand() {
        // q = 3/6, 2/6, 1/6; p = 0, 2/3, 1/3, of which 0.3 is divided equally: t = 0.1, 0.7·2/3 + 0.1, 0.7/3 + 0.1.
        let scores = [3f64.ln(), 2f64.ln(), 0.0];
        let (loss, gradient) = of("softmax:smoothing=0.3", &scores, &[0.0, 2.0, 1.0]);
        let target = [0.1, 0.7 * 2.0 / 3.0 + 0.1, 0.7 / 3.0 + 0.1];
        let expected = target[0] * 2f64.ln() + target[1] * 3f64.ln() + target[2] * 6f64.ln();
        assert!((loss - expected).abs() < 1e-15, "{loss}");
        let expected = [3.0 / 6.0 - target[0], 2.0 / 6.0 - target[1], 1.0 / 6.0 - target[2]];
        assert!(gradient.iter().zip(expected).all(|(g, e)| (g - e).abs() < 1e-15), "{gradient:?}");
    }

    /// e^y gives each other item 1/(re + n − r), which is ε/n at ε = n/(re + n − r); what is left is divided equally among the
    /// r relevant ones.
    #[test]
    fn the_exponential_target_is_a_smoothed_one() {
        let scores = [0.3, -0.2, 1.1, 0.9, -1.0, 0.4, 0.0];
        let n = scores.len();
        for r in 1..n {
            let labels: Vec<f32> = (0..n).map(|j| f32::from(u8::from(j < r))).collect();
            let epsilon = n as f64 / (r as f64 * 1f64.exp() + (n - r) as f64);
            let (loss, gradient) = of("listnet", &scores, &labels);
            for smoothed in ["softmax", "listwise-ce:gamma=1"] {
                let (same, too) = of(&format!("{smoothed}:smoothing={epsilon}"), &scores, &labels);
                assert!((same - loss).abs() < 1e-14, "{smoothed}: {same} is not {loss}");
                assert!(too.iter().zip(&gradient).all(|(a, b)| (a - b).abs() < 1e-14), "{smoothed}");
            }
        }
    }

    #[test]
    fn how_much_is_smoothed_does_not_depend_on_how_many_items_are_drawn() {
        let goal = Goal::parse("softmax:smoothing=0.25", &Policy::default()).unwrap();
        let labels: Vec<f32> = (0..40).map(|j| f32::from(u8::from(j < 8))).collect();
        let lists = Lists::from_lengths(&[40], labels);
        for (relevant, others) in [(8, 32), (2, 5), (4, 20), (1, 1)] {
            let items: Vec<u32> = (0..relevant).chain(8..8 + others).collect();
            let n = items.len();
            let draws = Draws { lists: vec![0], offsets: vec![0, n as u64], items, ..Draws::default() };
            let mut out = Gradients::default();
            let scores = vec![0.0; n];
            let batch = Batch { draws: Some(&draws), ..Batch::all(&lists, &scores) };
            goal.step(&batch, &mut goal.state(&lists).unwrap(), &mut out).unwrap();
            // q is 1/n, so the target is 1/n − gradient.
            let on_others: f64 = out.gradient[relevant as usize..].iter().map(|g| 1.0 / n as f64 - g).sum();
            assert!((on_others - 0.25 * 32.0 / 40.0).abs() < 1e-15, "{relevant} + {others}: {on_others}");
        }
    }

    #[test]
    fn an_offset_of_all_scores_costs_no_digits() {
        let (loss, gradient) = of("listnet", &[1e9, 1e9], &[1.0, 1.0]);
        assert_eq!((loss, gradient), (2f64.ln(), vec![0.0, 0.0]));
    }
}
