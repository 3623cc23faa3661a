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

use toprank_core::{Param, ParamError, Spec};

use super::{Classes, Saddle, Space, Variables};
use crate::compositional::{Adjoint, Inner, Means, Strata, Terms};
use crate::kernels::KernelWork;
use crate::kernels::hinge::Omega;
use crate::kernels::scalar::sigmoid;
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

/// A convex surrogate of one number by its conjugate: ℓ(x) = max_a a x − ℓ*(a), attained at a = ℓ'(x).
///
/// | name | ℓ(x) | ℓ*(a) | domain of a |
/// | --- | --- | --- | --- |
/// | square | x² | a²/4 | all numbers |
/// | squared-hinge | max(0, x)² | a²/4 | [0, ∞) |
/// | hinge | max(0, x) | 0 | [0, 1] |
/// | logistic | ln(1 + e^{x/τ}) | aτ ln(aτ) + (1 − aτ) ln(1 − aτ) | [0, 1/τ] |
/// | huber | 0 up to −τ, (1 + x/τ)² up to 0, then 1 + 2x/τ | a²τ²/4 − aτ | [0, 2/τ] |
///
/// The exponential has a conjugate, too, but its values overflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Convex {
    Square,
    SquaredHinge,
    Hinge,
    Logistic { temperature: f64 },
    Huber { temperature: f64 },
}

pub(crate) const CONVEX: Param = Param {
    name: "surrogate",
    default: "square",
    range: "square, squared-hinge, hinge, logistic or huber",
    about: "ℓ, of the gap between the means of the classes",
};

impl Convex {
    /// Reads `surrogate` and `temperature`.
    pub fn from_spec(spec: &Spec) -> Result<Convex, ParamError> {
        let temperature = spec.args.positive("temperature", 1.0)?;
        let names = [
            ("square", Convex::Square),
            ("squared-hinge", Convex::SquaredHinge),
            ("hinge", Convex::Hinge),
            ("logistic", Convex::Logistic { temperature }),
            ("huber", Convex::Huber { temperature }),
        ];
        spec.args.one_of("surrogate", CONVEX.default, &names)
    }

    /// The domain of a.
    fn domain(self) -> (f64, f64) {
        match self {
            Convex::Square => (f64::NEG_INFINITY, f64::INFINITY),
            Convex::SquaredHinge => (0.0, f64::INFINITY),
            Convex::Hinge => (0.0, 1.0),
            Convex::Logistic { temperature } => (0.0, 1.0 / temperature),
            Convex::Huber { temperature } => (0.0, 2.0 / temperature),
        }
    }

    /// ℓ*(a) for an a of the domain.
    pub fn conjugate(self, a: f64) -> f64 {
        let entropy = |p: f64| if p > 0.0 { p * p.ln() } else { 0.0 };
        match self {
            Convex::Square | Convex::SquaredHinge => 0.25 * a * a,
            Convex::Hinge => 0.0,
            Convex::Logistic { temperature: t } => entropy(a * t) + entropy(1.0 - a * t),
            Convex::Huber { temperature: t } => 0.25 * a * a * t * t - a * t,
        }
    }

    /// ℓ'(x): the best a.
    pub fn best(self, x: f64) -> f64 {
        let (low, high) = self.domain();
        match self {
            Convex::Square | Convex::SquaredHinge => (2.0 * x).max(low),
            Convex::Hinge => f64::from(u8::from(x > 0.0)),
            Convex::Logistic { temperature: t } => sigmoid(x / t) / t,
            Convex::Huber { temperature: t } => (2.0 * (x + t) / (t * t)).clamp(low, high),
        }
    }

    /// A step of a with an estimate of x: argmax a x − ℓ*(a) − (a − a_old)²/(2η) inside the domain. η = κ·rate/(1 − rate), κ the
    /// largest second derivative of ℓ (1/`unit` for the hinge, which has none): then a quadratic ℓ goes the fraction `rate` of its way.
    pub fn step(self, old: f64, x: f64, rate: f64, unit: f64) -> f64 {
        if rate >= 1.0 {
            return self.best(x);
        }
        let (low, high) = self.domain();
        let odds = rate / (1.0 - rate);
        match self {
            Convex::Square | Convex::SquaredHinge => (old + rate * (2.0 * x - old)).max(low),
            Convex::Hinge => (old + odds * x / unit).clamp(low, high),
            Convex::Huber { temperature: t } => {
                (old + rate * (2.0 * (x + t) / (t * t) - old)).clamp(low, high)
            }
            Convex::Logistic { temperature: t } => {
                // With p = aτ and κ = 1/(4τ²): p + odds/4 · (ln(p/(1 − p)) − x/τ) = p_old, by bisection.
                let (old, gap) = (old * t, x / t);
                let (mut low, mut high) = (0.0, 1.0);
                for _ in 0..100 {
                    let p = 0.5 * (low + high);
                    if p == low || p == high {
                        break;
                    }
                    if p - old + 0.25 * odds * ((p / (1.0 - p)).ln() - gap) < 0.0 {
                        low = p;
                    } else {
                        high = p;
                    }
                }
                0.5 * (low + high) / t
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ℓ as the table writes it.
    fn plain(loss: Convex, x: f64) -> f64 {
        match loss {
            Convex::Square => x * x,
            Convex::SquaredHinge => x.max(0.0) * x.max(0.0),
            Convex::Hinge => x.max(0.0),
            Convex::Logistic { temperature: t } => (1.0 + (x / t).exp()).ln(),
            Convex::Huber { temperature: t } if x > 0.0 => 1.0 + 2.0 * x / t,
            Convex::Huber { temperature: t } => (1.0 + x / t).max(0.0).powi(2),
        }
    }

    fn all() -> Vec<Convex> {
        let read = |name: &str| {
            Convex::from_spec(&Spec::parse(&format!("x:surrogate={name}:temperature=0.7")).unwrap()).unwrap()
        };
        CONVEX.range.replace(" or ", ", ").split(", ").map(read).collect()
    }

    #[test]
    fn fenchel_and_young_hold_with_equality_at_the_derivative_only() {
        assert_eq!(all().len(), 5);
        for loss in all() {
            let (low, high) = loss.domain();
            for x in [-3.1, -0.8, -0.2, 0.1, 0.6, 2.5] {
                let value = plain(loss, x);
                let best = loss.best(x);
                assert!((best * x - loss.conjugate(best) - value).abs() < 1e-12, "{loss:?} at {x}");
                let slope = (plain(loss, x + 1e-6) - plain(loss, x - 1e-6)) / 2e-6;
                assert!(
                    (best - slope).abs() < 1e-6 * (1.0 + slope.abs()),
                    "{loss:?} at {x}: {best} for {slope}"
                );
                for step in 0..=40 {
                    let a = low.max(-8.0) + (high.min(8.0) - low.max(-8.0)) * f64::from(step) / 40.0;
                    assert!(a * x - loss.conjugate(a) <= value + 1e-12, "{loss:?} at {x}, a = {a}");
                }
            }
        }
    }

    #[test]
    fn a_step_is_the_proximal_point_and_steps_reach_the_derivative() {
        for loss in all() {
            let (low, high) = loss.domain();
            let curvature = match loss {
                Convex::Square | Convex::SquaredHinge | Convex::Hinge => 2.0,
                Convex::Logistic { temperature: t } => 0.25 / (t * t),
                Convex::Huber { temperature: t } => 2.0 / (t * t),
            };
            for (old, x) in [(0.3, 1.2), (1.0, -0.9), (0.1, 0.2)] {
                for rate in [0.1, 0.6] {
                    let eta = curvature * rate / (1.0 - rate);
                    let found = loss.step(old, x, rate, 0.5);
                    let value = |a: f64| a * x - loss.conjugate(a) - (a - old).powi(2) / (2.0 * eta);
                    for near in [found - 1e-4, found + 1e-4] {
                        let near = near.clamp(low, high);
                        assert!(value(near) <= value(found) + 1e-12, "{loss:?}: {found} from {old} at {x}");
                    }
                }
                let mut a = old;
                for _ in 0..3000 {
                    a = loss.step(a, x, 0.1, 0.5);
                }
                assert!((a - loss.best(x)).abs() < 1e-9, "{loss:?}: {a} for {}", loss.best(x));
                assert_eq!(loss.step(old, x, 1.0, 0.5), loss.best(x));
            }
        }
    }
}
