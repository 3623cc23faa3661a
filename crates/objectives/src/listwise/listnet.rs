#![doc = include_str!("../pages/listnet.md")]

use toprank_core::{Param, ParamError, Spec};

use crate::kernels::scalar::softmax;
use crate::objective::{Hessian, Input, Objective, Out};
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[Param {
    name: "target",
    default: "exp",
    range: "exp or linear",
    about: "target probabilities: p ∝ e^y (exp) or p ∝ y (linear)",
}];
pub(crate) const EXAMPLES: &[&str] = &["listnet:target=linear"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let target = spec.args.one_of("target", "exp", &[("exp", Target::Exp), ("linear", Target::Linear)])?;
    Ok(Box::new(ListNet { target }))
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
}

impl Objective for ListNet {
    fn hessian(&self) -> Hessian {
        Hessian::Exact
    }

    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
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
        let mut loss = 0.0;
        for j in 0..n {
            let (target, q) = (p[j] / total, probabilities[j]);
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
    use toprank_core::{List, Policy};

    use crate::Goal;

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
    fn an_offset_of_all_scores_costs_no_digits() {
        let (loss, gradient) = of("listnet", &[1e9, 1e9], &[1.0, 1.0]);
        assert_eq!((loss, gradient), (2f64.ln(), vec![0.0, 0.0]));
    }
}
