//! Inner means of the one-side Huber, by the sums of its two squared hinges.

use super::inner::{Adjoint, Means, Terms};
use crate::kernels::KernelWork;
use crate::kernels::hinge::{Hinge, Sums};

/// From the sums of max(0, x + τ)² to those of the one-side Huber, ((x + τ)₊² − x₊²)/τ². Its second derivative is taken from the first term alone, so that it is not negative.
pub(super) fn subtract_second_hinge(tau: f64, terms: &Terms, means: &mut Means, work: &mut KernelWork) {
    let m = terms.anchors.len();
    let second = Hinge { squared: true, margin: 0.0 };
    second.plan(terms.scores, terms.anchors, &mut work.hinge);
    let [value, slope] = work.smooth.cut([m, m]);
    let mut sums = Sums { value, slope, curve: &mut [] };
    second.forward(terms.scores, terms.omega, terms.anchors, &mut work.hinge, &mut sums);
    let scale = 1.0 / (tau * tau);
    for i in 0..m {
        means.value[i] = scale * (means.value[i] - value[i]);
        means.slope[i] = scale * (means.slope[i] - slope[i]);
    }
    means.curve.iter_mut().for_each(|curve| *curve *= scale);
}

/// The adjoint: that of the two hinges, each with its own sums.
pub(super) fn backward_huber(tau: f64, terms: &Terms, a: &[f64], out: &mut Adjoint, work: &mut KernelWork) {
    let m = terms.anchors.len();
    let with_curve = if out.hessian.is_some() { m } else { 0 };
    let [scaled, value, slope, curve] = work.smooth.cut([m, m, m, with_curve]);
    for (sign, margin) in [(1.0, tau), (-1.0, 0.0)] {
        let hinge = Hinge { squared: true, margin };
        hinge.plan(terms.scores, terms.anchors, &mut work.hinge);
        let curve = if margin > 0.0 { &mut *curve } else { &mut [] };
        let mut sums = Sums { value, slope, curve };
        hinge.forward(terms.scores, terms.omega, terms.anchors, &mut work.hinge, &mut sums);
        scaled.iter_mut().zip(a).for_each(|(scaled, a)| *scaled = sign * a / (tau * tau));
        let hessian = if margin > 0.0 { out.hessian.as_deref_mut() } else { None };
        let seconds = (&*sums.slope, &*sums.curve);
        hinge.backward(
            terms.scores,
            terms.omega,
            terms.anchors,
            scaled,
            seconds,
            &mut work.hinge,
            out.gradient,
            hessian,
        );
    }
}
