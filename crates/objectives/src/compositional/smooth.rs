//! Inner means of logistic and sigmoid surrogates, by the sums of [`crate::kernels::sigmoid`]: O(n) for long lists.

use crate::kernels::KernelWork;
use crate::kernels::sigmoid::{Curve, SigmoidSums};

use super::inner::{Adjoint, Means, Terms};
use super::surrogate::Surrogate;

/// ℓ, ℓ' and the second derivative of a surrogate as curves of z = x/τ with a factor each.
pub(crate) struct Smooth {
    temperature: f64,
    curves: [(Curve, f64); 3],
}

impl Smooth {
    pub fn of(surrogate: Surrogate) -> Option<Smooth> {
        match surrogate {
            Surrogate::Logistic { temperature: t, factor: f } => {
                let curves = [(Curve::Softplus, f), (Curve::Sigmoid, f / t), (Curve::Slope, f / (t * t))];
                Some(Smooth { temperature: t, curves })
            }
            Surrogate::Sigmoid { temperature: t } => {
                let curves = [(Curve::Sigmoid, 1.0), (Curve::Slope, 1.0 / t), (Curve::Slope, 1.0 / (t * t))];
                Some(Smooth { temperature: t, curves })
            }
            _ => None,
        }
    }

    /// Σ_{j≠i} ω_j (ℓ, ℓ', second derivative) of every anchor.
    pub fn forward(&self, terms: &Terms, means: &mut Means, work: &mut KernelWork) {
        let (n, m) = (terms.scores.len(), terms.anchors.len());
        let [weights, places, sums] = work.smooth.cut([n, m, m]);
        terms.write(weights, places);
        let mut pairs =
            SigmoidSums::new(self.temperature).sources_minus_targets(terms.scores, places, &mut work.sigmoid);
        for (part, (curve, factor)) in self.curves.into_iter().enumerate() {
            let out = match part {
                0 => &mut *means.value,
                1 => &mut *means.slope,
                _ => &mut *means.curve,
            };
            if out.is_empty() {
                continue;
            }
            pairs.write([curve], weights, [sums]);
            let own = curve.at(0.0);
            for ((out, sum), &item) in out.iter_mut().zip(sums.iter()).zip(terms.anchors) {
                *out = factor * (sum - own * weights[item as usize]).max(0.0);
            }
        }
    }

    /// The adjoint of [`Smooth::forward`].
    pub fn backward(
        &self,
        terms: &Terms,
        a: &[f64],
        means: &Means,
        out: &mut Adjoint,
        work: &mut KernelWork,
    ) {
        let (n, m) = (terms.scores.len(), terms.anchors.len());
        let [weights, places, sums] = work.smooth.cut([n, m, n]);
        terms.write(weights, places);
        let mut pairs =
            SigmoidSums::new(self.temperature).targets_minus_sources(places, terms.scores, &mut work.sigmoid);
        let [_, slope, second] = self.curves;
        // Remove the self pairs, which the kernel has added.
        pairs.write([slope.0], a, [sums]);
        for (j, sum) in sums.iter().enumerate() {
            out.gradient[j] += slope.1 * weights[j] * sum;
        }
        for (i, &item) in terms.anchors.iter().enumerate() {
            let own = slope.1 * weights[item as usize] * slope.0.at(0.0) * a[i];
            out.gradient[item as usize] -= a[i] * means.slope[i] + own;
        }
        if out.hessian.is_none() {
            return;
        }
        pairs.write([second.0], a, [sums]);
        for (i, &item) in terms.anchors.iter().enumerate() {
            sums[item as usize] -= second.0.at(0.0) * a[i];
            out.add_second_derivative(item as usize, a[i] * means.curve[i]);
        }
        for (j, sum) in sums.iter().enumerate() {
            out.add_second_derivative(j, second.1 * weights[j] * sum);
        }
    }
}
