#![doc = include_str!("../pages/ndcg-loss1.md")]

use std::f64::consts::LN_2;

use toprank_core::{Param, ParamError, Spec};
use toprank_metrics::{Discounts, best_dcg};

use super::mechanism::SIGMA;
use crate::kernels::order::descending;
use crate::kernels::sigmoid::{Curve, SigmoidSums};
use crate::objective::{Curvature, Input, Objective, Out};
use crate::params::{GAIN, positive};
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[SIGMA, GAIN];
pub(crate) const EXAMPLES: &[&str] = &["ndcg-loss1:sigma=2", "ndcg-loss1:gain=linear"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(NdcgLoss1 { sigma: positive(spec, "sigma", 1.0)? }))
}

/// NDCG-Loss1; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct NdcgLoss1 {
    sigma: f64,
}

impl Objective for NdcgLoss1 {
    fn curvature(&self) -> Curvature {
        Curvature::Exact
    }

    fn list(&self, input: &Input, _: &mut ListState, work: &mut Work, out: &mut Out) -> Option<f64> {
        let s = input.list.scores;
        let n = s.len();
        let kernel = &mut work.kernel;
        let z = best_dcg(input.list.labels, input.list.missed, input.policy, usize::MAX, &mut kernel.gains);
        if n < 2 || z == 0.0 {
            return None;
        }
        let [order] = work.places.cut([n]);
        descending(input.frozen(), order, &mut kernel.order);
        let [a, w, losses, pushed, pulled] = work.floats.cut([n; 5]);
        let discounts = Discounts::default();
        for (place, &i) in order.iter().enumerate() {
            let i = i as usize;
            w[i] = input.weight(i);
            a[i] = w[i] * input.gain(i) * discounts.at(place) / (z * LN_2);
        }
        let sums = SigmoidSums::new(1.0 / self.sigma);
        // As an anchor an item is pushed up past all others, as one of the others it is pulled down by the anchors.
        sums.sources_minus_targets(s, s, &mut kernel.sigmoid).write(
            [Curve::Softplus, Curve::Sigmoid],
            w,
            [&mut *losses, &mut *pushed],
        );
        sums.targets_minus_sources(s, s, &mut kernel.sigmoid).write([Curve::Sigmoid], a, [&mut *pulled]);
        let mut loss = 0.0;
        for i in 0..n {
            // An item makes no pair with itself: ln 2 leaves the loss, and in the gradient ½ and ½ cancel.
            loss += a[i] * (losses[i] - w[i] * LN_2);
            out.gradient[i] = self.sigma * (w[i] * pulled[i] - a[i] * pushed[i]);
        }
        if let Some(h) = &mut out.curvature {
            let mut between = sums.sources_minus_targets(s, s, &mut kernel.sigmoid);
            between.write([Curve::Slope], w, [&mut *pushed]);
            between.write([Curve::Slope], a, [&mut *pulled]);
            for i in 0..n {
                let own = 0.25 * a[i] * w[i];
                let both = (a[i] * pushed[i] - own).max(0.0) + (w[i] * pulled[i] - own).max(0.0);
                h[i] = self.sigma * self.sigma * both;
            }
        }
        Some(loss)
    }
}
