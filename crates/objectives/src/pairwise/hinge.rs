//! Hinge and squared hinge losses over pairs, by the kernel [`Hinge`].

use super::mechanism::{Cut, PairLoss};
use crate::kernels::KernelWork;
use crate::kernels::hinge::{Hinge, Omega, Sums};
use crate::objective::Hessian;
use toprank_core::{Param, ParamError, Spec};

pub(super) const MARGIN: Param = Param {
    name: "margin",
    default: "1",
    range: "in (0, ∞)",
    about: "c: how far the better score should be above the worse one",
};

/// max(0, c − (s_i − s_j)), or its square.
#[derive(Clone, Copy, Debug)]
pub(super) struct HingeLoss<const SQUARED: bool> {
    pub(super) margin: f64,
}

impl<const SQUARED: bool> HingeLoss<SQUARED> {
    pub fn new(spec: &Spec) -> Result<HingeLoss<SQUARED>, ParamError> {
        Ok(HingeLoss { margin: spec.args.positive("margin", 1.0)? })
    }
}

impl<const SQUARED: bool> PairLoss for HingeLoss<SQUARED> {
    const HESSIAN: Hessian = if SQUARED { Hessian::Exact } else { Hessian::Bound };

    fn between(&self, cut: Cut, kernel: &mut KernelWork) -> f64 {
        let Cut {
            better: m,
            scores,
            weights,
            gradient,
            hessian,
            scratch: [omega, value, slope, curve],
            places,
        } = cut;
        let hinge = Hinge { squared: SQUARED, margin: self.margin };
        let anchors = &places[..m];
        // An anchor is compared with worse items only.
        omega[..m].fill(0.0);
        omega[m..].copy_from_slice(&weights[m..]);
        hinge.plan(scores, anchors, &mut kernel.hinge);
        let curve = &mut curve[..if hessian.is_some() { m } else { 0 }];
        let mut sums = Sums { value: &mut value[..m], slope: &mut slope[..m], curve: &mut *curve };
        let omega = Omega::Each(omega);
        hinge.forward(scores, omega, anchors, &mut kernel.hinge, &mut sums);
        let slopes = (&slope[..m], &*curve);
        let a = &weights[..m];
        hinge.backward(scores, omega, anchors, a, slopes, &mut kernel.hinge, gradient, hessian);
        a.iter().zip(&value[..m]).map(|(w, value)| w * value).sum()
    }

    fn of_pair(&self, d: f64) -> [f64; 3] {
        let over = (self.margin + d).max(0.0);
        let active = f64::from(u8::from(over > 0.0));
        if SQUARED { [over * over, 2.0 * over, 2.0 * active] } else { [over, active, active] }
    }

    fn factors(&self) -> [f64; 2] {
        // The second derivative of a hinge is 0; the substitute is that of (d₊)²/2c, which has the same slope at d = c.
        [1.0, if SQUARED { 1.0 } else { 1.0 / self.margin }]
    }
}

#[cfg(test)]
mod tests {
    use crate::{Batch, Goal, Gradients};
    use toprank_core::{Lists, Policy};

    #[test]
    fn the_hessian_that_stands_in_for_a_hinge_is_one_over_the_margin() {
        let lists = Lists::from_lengths(&[2], vec![1.0, 0.0]);
        let goal = Goal::parse("ranksvm:margin=4", &Policy::default()).unwrap();
        let mut out = Gradients { want_hessian: true, ..Gradients::default() };
        goal.step(&Batch::all(&lists, &[0.5, 0.0]), &mut goal.state(&lists).unwrap(), &mut out).unwrap();
        assert_eq!(out.hessian, [0.25, 0.25]);
    }
}
