//! Logistic loss over pairs, by the kernel [`SigmoidSums`].

use toprank_core::{Param, ParamError, Spec};

use super::mechanism::{Cut, PairLoss};
use crate::kernels::KernelWork;
use crate::kernels::scalar::{sigmoid, softplus};
use crate::kernels::sigmoid::{Curve, SigmoidSums};
use crate::objective::Hessian;

pub(super) const TEMPERATURE: Param = Param {
    name: "temperature",
    default: "1",
    range: "in (0, ∞)",
    about: "T: score differences are divided by it",
};

/// ln(1 + e^{−(s_i − s_j)/T}).
#[derive(Clone, Copy, Debug)]
pub(super) struct Logistic {
    temperature: f64,
}

impl Logistic {
    pub fn new(spec: &Spec) -> Result<Logistic, ParamError> {
        Ok(Logistic { temperature: spec.args.positive("temperature", 1.0)? })
    }
}

impl PairLoss for Logistic {
    const HESSIAN: Hessian = Hessian::Exact;

    fn between(&self, cut: Cut, kernel: &mut KernelWork) -> f64 {
        let Cut {
            better: m,
            scores,
            weights,
            gradient,
            mut hessian,
            scratch: [losses, sigmoids, slopes, _],
            ..
        } = cut;
        let ((high, low), (w_high, w_low)) = (scores.split_at(m), weights.split_at(m));
        let sums = SigmoidSums::new(self.temperature);
        let mut of_better = sums.sources_minus_targets(low, high, &mut kernel.sigmoid);
        let (losses, pushes) = (&mut losses[..m], &mut sigmoids[..m]);
        of_better.write([Curve::Softplus, Curve::Sigmoid], w_low, [&mut *losses, &mut *pushes]);
        let mut loss = 0.0;
        for i in 0..m {
            loss += w_high[i] * losses[i];
            gradient[i] -= w_high[i] * pushes[i];
        }
        if let Some(h) = &mut hessian {
            of_better.write([Curve::Slope], w_low, [&mut slopes[..m]]);
            for i in 0..m {
                h[i] += w_high[i] * slopes[i];
            }
        }
        let mut of_worse = sums.targets_minus_sources(high, low, &mut kernel.sigmoid);
        let pulls = &mut sigmoids[..low.len()];
        of_worse.write([Curve::Sigmoid], w_high, [&mut *pulls]);
        for (j, pull) in pulls.iter().enumerate() {
            gradient[m + j] += w_low[j] * pull;
        }
        if let Some(h) = &mut hessian {
            let slopes = &mut slopes[..low.len()];
            of_worse.write([Curve::Slope], w_high, [&mut *slopes]);
            for (j, slope) in slopes.iter().enumerate() {
                h[m + j] += w_low[j] * slope;
            }
        }
        loss
    }

    fn of_pair(&self, d: f64) -> [f64; 3] {
        let d = d / self.temperature;
        [softplus(d), sigmoid(d), sigmoid(d) * sigmoid(-d)]
    }

    fn factors(&self) -> [f64; 2] {
        [1.0 / self.temperature, 1.0 / (self.temperature * self.temperature)]
    }
}
