#![doc = include_str!("../pages/multi-similarity.md")]

use toprank_core::{Param, ParamError, Spec};

use crate::objective::{Hessian, Input, Objective, Out};
use crate::params::RELEVANT;
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    Param {
        name: "alpha",
        default: "2",
        range: "in (0, ∞)",
        about: "α: larger values concentrate on the least similar relevant items",
    },
    Param {
        name: "beta",
        default: "50",
        range: "in (0, ∞)",
        about: "β: larger values concentrate on the most similar others",
    },
    Param {
        name: "base",
        default: "0.5",
        range: "a number",
        about: "λ: the similarity at which a pair has weight 1",
    },
    Param {
        name: "epsilon",
        default: "0.1",
        range: "in [0, ∞), or inf",
        about: "ε: pairs that are correct by more than this margin are ignored; inf: no pair is ignored",
    },
    RELEVANT,
];
pub(crate) const EXAMPLES: &[&str] = &[
    "multi-similarity:alpha=4",
    "multi-similarity:beta=10",
    "multi-similarity:base=0",
    "multi-similarity:epsilon=1",
    "multi-similarity:relevant=2",
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let epsilon = match spec.args.get("epsilon") {
        Some("inf") => f64::INFINITY,
        _ => spec.args.not_negative("epsilon", 0.1)?,
    };
    Ok(Box::new(MultiSimilarity {
        steepness: [spec.args.positive("beta", 50.0)?, spec.args.positive("alpha", 2.0)?],
        base: spec.args.number("base", 0.5, "a number", f64::is_finite)?,
        epsilon,
    }))
}

/// Multi-similarity loss; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct MultiSimilarity {
    /// β of the others, α of the relevant ones.
    steepness: [f64; 2],
    base: f64,
    epsilon: f64,
}

impl Objective for MultiSimilarity {
    fn hessian(&self) -> Hessian {
        Hessian::Exact
    }

    fn shift_invariant(&self) -> bool {
        false
    }

    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let (scores, frozen) = (input.list.scores, input.frozen());
        let n = scores.len();
        let class = |j: usize| usize::from(input.is_relevant(j));
        // The most similar other and the least similar relevant item determine which pairs are hard.
        let (mut highest, mut lowest) = (f64::NEG_INFINITY, f64::INFINITY);
        for (j, &s) in frozen.iter().enumerate().filter(|(j, _)| input.weight(*j) > 0.0) {
            match class(j) {
                0 => highest = highest.max(s),
                _ => lowest = lowest.min(s),
            }
        }
        if highest == f64::NEG_INFINITY || lowest == f64::INFINITY {
            return None;
        }
        let hard = |j: usize| {
            input.weight(j) > 0.0
                && match class(j) {
                    0 => frozen[j] + self.epsilon > lowest,
                    _ => frozen[j] - self.epsilon < highest,
                }
        };
        let exponent = |j: usize| match class(j) {
            0 => self.steepness[0] * (scores[j] - self.base),
            _ => -self.steepness[1] * (scores[j] - self.base),
        };
        // The 1 in the logarithm has exponent 0.
        let [terms] = work.floats.cut([n]);
        let mut top = [0.0f64; 2];
        for j in (0..n).filter(|j| hard(*j)) {
            top[class(j)] = top[class(j)].max(exponent(j));
        }
        let mut sum = top.map(|top| (-top).exp());
        for (j, term) in terms.iter_mut().enumerate().filter(|(j, _)| hard(*j)) {
            *term = input.weight(j) * (exponent(j) - top[class(j)]).exp();
            sum[class(j)] += *term;
        }
        let mut loss = 0.0;
        for c in 0..2 {
            loss += (top[c] + sum[c].ln()) / self.steepness[c];
        }
        for (j, term) in terms.iter().enumerate() {
            let p = term / sum[class(j)];
            out.gradient[j] = if class(j) == 0 { p } else { -p };
            if let Some(h) = &mut out.hessian {
                h[j] = self.steepness[class(j)] * p * (1.0 - p);
            }
        }
        Some(loss)
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::{List, Policy};

    use crate::Goal;

    #[test]
    fn four_items_by_hand() {
        let (scores, labels) = ([0.9, 0.4, 0.6, -0.3], [1.0, 1.0, 0.0, 0.0]);
        let of = |text: &str| {
            Goal::parse(text, &Policy::default()).unwrap().of_list(&List::new(&scores, &labels)).unwrap()
        };
        // 0.9 stands more than 0.1 above every other, −0.3 more than 0.1 below every relevant one: both are left out.
        let (loss, gradient) = of("multi-similarity");
        let expected = (1.0 + (0.2f64).exp()).ln() / 2.0 + (1.0 + (5f64).exp()).ln() / 50.0;
        assert!((loss - expected).abs() < 1e-13, "{loss}");
        let p = (0.2f64).exp() / (1.0 + (0.2f64).exp());
        assert!((gradient[1] + p).abs() < 1e-13 && gradient[0] == 0.0 && gradient[3] == 0.0, "{gradient:?}");
        let whole = of("multi-similarity:epsilon=inf").0;
        let expected = (1.0 + (0.2f64).exp() + (-0.8f64).exp()).ln() / 2.0
            + (1.0 + (5f64).exp() + (-40f64).exp()).ln() / 50.0;
        assert!((whole - expected).abs() < 1e-13, "{whole}");
    }
}
