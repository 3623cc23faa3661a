#![doc = include_str!("../pages/listnet.md")]

use toprank_core::{Param, ParamError, Spec};

use crate::kernels::scalar::log_sum_exp;
use crate::objective::{Curvature, Input, Objective, Out};
use crate::params::word;
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[Param {
    name: "target",
    default: "exp",
    range: "exp or linear",
    about: "chances of the labels: p ∝ e^y or p ∝ y",
}];
pub(crate) const EXAMPLES: &[&str] = &["listnet:target=linear"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    let target = word(spec, "target", "exp", &[("exp", Target::Exp), ("linear", Target::Linear)])?;
    Ok(Box::new(ListNet { target }))
}

/// How labels become chances.
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
    fn curvature(&self) -> Curvature {
        Curvature::Exact
    }

    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let s = input.list.scores;
        let n = s.len();
        let [p] = work.floats.cut([n]);
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
        let normaliser = log_sum_exp(s);
        let mut loss = 0.0;
        for j in 0..n {
            let target = p[j] / total;
            let log_q = s[j] - normaliser;
            let q = log_q.exp();
            loss -= target * log_q;
            out.gradient[j] = q - target;
            if let Some(h) = &mut out.curvature {
                h[j] = q * (1.0 - q);
            }
        }
        Some(loss)
    }
}
