#![doc = include_str!("../pages/ranknet.md")]

use toprank_core::{Param, ParamError, Spec};

use crate::kernels::scalar::{sigmoid, softplus};
use crate::objective::{Curvature, Input, Objective, Out};
use crate::params::{flag, positive};
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[
    Param { name: "temperature", default: "1", range: "in (0, ∞)", about: "T: scores are divided by it" },
    Param {
        name: "sum",
        default: "false",
        range: "true or false",
        about: "sum over pairs instead of the mean",
    },
];
pub(crate) const EXAMPLES: &[&str] = &["ranknet:temperature=0.5", "ranknet:sum=true"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(RankNet { temperature: positive(spec, "temperature", 1.0)?, sum: flag(spec, "sum", false)? }))
}

/// RankNet; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct RankNet {
    temperature: f64,
    sum: bool,
}

impl Objective for RankNet {
    fn curvature(&self) -> Curvature {
        Curvature::Exact
    }

    fn list(&self, input: &Input, _: &mut ListState, _: &mut Work, out: &mut Out) -> Option<f64> {
        let (s, y, t) = (input.list.scores, input.list.labels, self.temperature);
        let pairs =
            || (0..s.len()).flat_map(|i| (0..s.len()).map(move |j| (i, j))).filter(|&(i, j)| y[i] > y[j]);
        let total: f64 = pairs().map(|(i, j)| input.weight(i) * input.weight(j)).sum();
        if total == 0.0 {
            return None;
        }
        let scale = if self.sum { 1.0 } else { 1.0 / total };
        let mut loss = 0.0;
        for (i, j) in pairs() {
            let w = input.weight(i) * input.weight(j) * scale;
            let x = (s[j] - s[i]) / t;
            let sigma = sigmoid(x);
            loss += w * softplus(x);
            out.gradient[i] -= w * sigma / t;
            out.gradient[j] += w * sigma / t;
            if let Some(h) = &mut out.curvature {
                let curve = w * sigma * (1.0 - sigma) / (t * t);
                h[i] += curve;
                h[j] += curve;
            }
        }
        Some(loss)
    }
}
