/*!
Conjugate forms: f(g) of the compositional mechanism as max over y of y·g − f*(y), one dual variable y per relevant item.

```text
loss = Σ_i w_i max_{y_i} (y_i g_i − f*(y_i)),   g_i = mean over the others of ℓ(s_j − s_i)
∂loss/∂s_j = Σ_i w_i y_i ω_j ℓ'(s_j − s_i) and minus that on i
y_i ← the proximal ascent step: argmax y ĝ_i − f*(y) − (y − y_i)²/(2η)
```

The loss is linear in g, so the gradient of a sample is unbiased for the present y, and no tracker is needed. The proximal step
solves y + η f*'(y) = y_i + η ĝ_i: it neither overshoots nor leaves the domain, for any f*.
*/

use super::{Classes, Saddle, Space, Variables};
use crate::compositional::{Adjoint, Inner, Means, Strata, Terms};
use crate::kernels::KernelWork;
use crate::kernels::hinge::Omega;
use crate::objective::Out;
use crate::state::{Column, Per};

/// A convex, increasing function f of means ≥ 0, given by its conjugate.
pub trait Dual: Send + Sync {
    /// f*(y) for y ≥ 0.
    fn conjugate(&self, y: f64) -> f64;
    /// f*'(y): the mean for which y is optimal.
    fn mean(&self, y: f64) -> f64;
    /// f'(g): the optimal y for a mean.
    fn best(&self, g: f64) -> f64;
}

/// The saddle problem of a [`Dual`].
#[derive(Clone, Copy, Debug)]
pub struct Conjugate<D> {
    /// f*.
    pub dual: D,
    /// ℓ, not exponential.
    pub inner: Inner,
}

impl<D: Dual> Conjugate<D> {
    /// Means of all relevant items, into the first numbers of the scratch.
    fn means<'a>(
        &self,
        terms: &Terms,
        scratch: &'a mut [f64],
        with_curve: bool,
        work: &mut KernelWork,
    ) -> Means<'a> {
        let m = terms.anchors.len();
        let (value, rest) = scratch.split_at_mut(m);
        let (slope, rest) = rest.split_at_mut(m);
        let mut means = Means { value, slope, curve: if with_curve { &mut rest[..m] } else { &mut [] } };
        self.inner.plan(terms.scores, terms.anchors, work);
        self.inner.forward(terms, 0.0, &mut means, work);
        means
    }

    /// The proximal step of y: y + η f*'(y) = target, by bisection.
    fn proximal(&self, target: f64, eta: f64) -> f64 {
        let (mut low, mut high) = (0.0, target.max(0.0));
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if middle == low || middle == high {
                break;
            }
            if middle + eta * self.dual.mean(middle) < target {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }
}

/// ω: the unweighted mean over the others; relevant items have weight 0.
fn omega<'a>(classes: &Classes, scratch: &'a mut [f64]) -> (&'a [f64], &'a mut [f64]) {
    let (omega, rest) = scratch.split_at_mut(classes.scores.len());
    omega.fill(0.0);
    for &j in classes.others {
        omega[j as usize] = 1.0 / classes.others.len() as f64;
    }
    (omega, rest)
}

impl<D: Dual> Saddle for Conjugate<D> {
    const LIST: usize = 0;
    const EACH: usize = 1;

    fn columns(&self) -> &'static [Column] {
        &[Column { name: "y", per: Per::Relevant, width: 1 }]
    }

    fn takes_part(&self, strata: &Strata) -> bool {
        strata.is_enough()
    }

    fn scratch(&self, items: usize) -> usize {
        5 * items
    }

    fn solve(&self, classes: &Classes, variables: &mut Variables, Space { scratch, work }: &mut Space) {
        let (omega, rest) = omega(classes, scratch);
        let terms =
            Terms { scores: classes.scores, omega: Omega::Each(omega), own: 0.0, anchors: classes.relevant };
        let means = self.means(&terms, rest, false, work);
        for (y, g) in variables.each.iter_mut().zip(means.value.iter()) {
            *y = self.dual.best(*g);
        }
    }

    fn value(&self, classes: &Classes, variables: &mut Variables, out: &mut Out, space: &mut Space) -> f64 {
        let Space { scratch, work } = space;
        let (omega, rest) = omega(classes, scratch);
        let (a, rest) = rest.split_at_mut(classes.relevant.len());
        let terms =
            Terms { scores: classes.scores, omega: Omega::Each(omega), own: 0.0, anchors: classes.relevant };
        let means = self.means(&terms, rest, out.hessian.is_some(), work);
        let mut value = 0.0;
        for (i, a) in a.iter_mut().enumerate() {
            let (y, g) = (variables.each[i], means.value[i]);
            *a = classes.weights[i] * y;
            value += classes.weights[i] * (y * g - self.dual.conjugate(y));
            if let Some(rate) = variables.rate {
                // η in units of y/g, so that the rate has no unit.
                let (size, reach) = (y + self.dual.best(g), g + self.dual.mean(y));
                if reach > 0.0 && size > 0.0 {
                    let eta = rate * size / reach;
                    variables.each[i] = self.proximal(y + eta * g, eta);
                }
            }
        }
        let mut adjoint = Adjoint { gradient: out.gradient, hessian: out.hessian.as_deref_mut() };
        self.inner.backward(&terms, a, &means, &mut adjoint, work);
        value
    }
}
