#![doc = include_str!("../pages/multiclass.md")]

use toprank_core::{Param, ParamError, Spec};

use crate::kernels::scalar::softmax;
use crate::objective::{Hessian, Input, Objective, Out};
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[];
pub(crate) const EXAMPLES: &[&str] = &[];

#[expect(clippy::unnecessary_wraps, reason = "every objective is made so")]
pub(crate) fn make(_: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(Multiclass))
}

/// Softmax cross-entropy over classes; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct Multiclass;

impl Objective for Multiclass {
    fn hessian(&self) -> Hessian {
        Hessian::Exact
    }

    fn over_outputs(&self) -> bool {
        true
    }

    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let s = input.list.scores;
        let [p, q] = work.floats.cut([s.len(), s.len()]);
        p.iter_mut().enumerate().for_each(|(k, p)| {
            *p = input.weight(k) * f64::from(input.list.labels[k].max(0.0));
        });
        let total: f64 = p.iter().sum();
        if s.len() < 2 || total == 0.0 {
            return None;
        }
        let (top, log) = softmax(s, q);
        let mut loss = 0.0;
        for (k, (p, q)) in p.iter().zip(&*q).enumerate() {
            loss -= p / total * (s[k] - top - log);
            out.gradient[k] = q - p / total;
            if let Some(hessian) = &mut out.hessian {
                hessian[k] = q * (1.0 - q);
            }
        }
        Some(loss)
    }
}
