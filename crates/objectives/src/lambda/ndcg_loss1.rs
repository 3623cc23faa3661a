#![doc = include_str!("../pages/ndcg-loss1.md")]

use std::f64::consts::LN_2;

use toprank_core::{Param, ParamError, Spec};
use toprank_metrics::{Discounts, best_dcg};

use super::mechanism::SIGMA;
use crate::kernels::order::descending;
use crate::kernels::sigmoid::{Curve, SigmoidSums};
use crate::objective::{Hessian, Input, Objective, Out};
use crate::params::GAIN;
use crate::state::ListState;
use crate::work::Work;

pub(crate) const PARAMS: &[Param] = &[SIGMA, GAIN];
pub(crate) const EXAMPLES: &[&str] = &["ndcg-loss1:sigma=2", "ndcg-loss1:gain=linear"];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn Objective>, ParamError> {
    Ok(Box::new(NdcgLoss1 { sigma: spec.args.positive("sigma", 1.0)? }))
}

/// NDCG-Loss1; formula, source and cost are in the [module](self).
#[derive(Clone, Copy, Debug)]
struct NdcgLoss1 {
    sigma: f64,
}

impl Objective for NdcgLoss1 {
    fn hessian(&self) -> Hessian {
        Hessian::Exact
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
        // As an anchor an item is pushed above all others, as another item it is pushed down by the anchors.
        sums.sources_minus_targets(s, s, &mut kernel.sigmoid).write(
            [Curve::Softplus, Curve::Sigmoid],
            w,
            [&mut *losses, &mut *pushed],
        );
        sums.targets_minus_sources(s, s, &mut kernel.sigmoid).write([Curve::Sigmoid], a, [&mut *pulled]);
        let mut loss = 0.0;
        for i in 0..n {
            // An item forms no pair with itself: subtract ln 2 from the loss; in the gradient ½ and ½ cancel.
            loss += a[i] * (losses[i] - w[i] * LN_2);
            out.gradient[i] = self.sigma * (w[i] * pulled[i] - a[i] * pushed[i]);
        }
        if let Some(h) = &mut out.hessian {
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

#[cfg(test)]
mod tests {
    use toprank_core::{Lists, Policy, Stream};
    use toprank_metrics::best_dcg;

    use crate::kernels::scalar::{sigmoid, softplus};
    use crate::{Batch, Goal, Gradients};

    #[test]
    fn equals_the_definition_with_weights_in_short_and_long_lists() {
        let mut random = Stream::new(2, "ndcg loss 1").open();
        let sigma = 1.5;
        for n in [2, 30, 700] {
            let s: Vec<f64> = (0..n).map(|_| 4.0 * random.unit()).collect();
            let y: Vec<f32> = (0..n).map(|i| if i == 0 { 1.0 } else { random.below(4) as f32 }).collect();
            let w: Vec<f32> = (0..n).map(|_| 0.5 + random.unit() as f32).collect();
            let z = best_dcg(&y, &[], &Policy::default(), n, &mut Vec::new());
            let rank = |i: usize| 1 + s.iter().filter(|other| **other > s[i]).count();
            let (mut loss, mut gradient, mut hessian) = (0.0, vec![0.0; n], vec![0.0; n]);
            for i in 0..n {
                let a = (f64::from(y[i]).exp2() - 1.0) / ((1 + rank(i)) as f64).log2() / z / 2f64.ln();
                for j in (0..n).filter(|&j| j != i) {
                    let (weight, x) = (a * f64::from(w[i]) * f64::from(w[j]), sigma * (s[j] - s[i]));
                    loss += weight * softplus(x);
                    gradient[i] -= weight * sigma * sigmoid(x);
                    gradient[j] += weight * sigma * sigmoid(x);
                    hessian[i] += weight * sigma * sigma * sigmoid(x) * sigmoid(-x);
                    hessian[j] += weight * sigma * sigma * sigmoid(x) * sigmoid(-x);
                }
            }
            let lists = Lists { item_weights: Some(w), ..Lists::from_lengths(&[n], y) };
            let goal = Goal::parse("ndcg-loss1:sigma=1.5", &Policy::default()).unwrap();
            let mut out = Gradients { want_hessian: true, ..Gradients::default() };
            goal.step(&Batch::all(&lists, &s), &mut goal.state(&lists).unwrap(), &mut out).unwrap();
            let close = |got: &[f64], want: &[f64]| {
                let scale = want.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
                got.iter().zip(want).all(|(a, b)| (a - b).abs() <= 1e-9 * scale)
            };
            assert!(close(&[out.loss], &[loss]), "{n}: {} is not {loss}", out.loss);
            assert!(close(&out.gradient, &gradient), "{n}");
            assert!(close(&out.hessian, &hessian), "{n}");
        }
    }
}
