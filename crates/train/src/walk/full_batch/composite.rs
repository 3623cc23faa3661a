/*!
The problem of equation 6.1: min ψ(φ) = f(φ) + h(φ) over φ ∈ X, for a simple convex h and a simple set X.

```text
h(φ) = λ1 ‖φ‖₁ + λ2/2 ‖φ‖²
x_X(φ, g, γ) = argmin_{x ∈ X} ⟨g, x⟩ + ‖x − φ‖²/(2γ) + h(x)        (6.5 with the Euclidean distance)
```

Without the set the minimiser is the soft threshold of φ − γg at γλ1, divided by 1 + γλ2. Bounds apply to it number by number. Over a
ball with the multiplier ν of ‖x − c‖ ≤ R it is x_i(ν) = soft(z_i + νc_i, γλ1)/(1 + γλ2 + ν) with z = φ − γg, and ‖x(ν) − c‖ falls
with ν: bisection finds it. With h = 0 both are the projection.

Source: Bogolubsky, Dvurechensky, Gasnikov, Gusev, Nesterov, Raigorodskii, Tikhonov, Zhukovskii, "Learning Supervised PageRank
with Gradient-Based and Gradient-Free Optimization Methods", NIPS 2016, equations 6.1 to 6.6.
*/

use super::{Region, norm};

/// X and h. A [`Region`] alone has h = 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Composite {
    /// X: where parameters may be.
    pub region: Region,
    /// λ1 ≥ 0, the factor of ‖φ‖₁.
    pub l1: f64,
    /// λ2 ≥ 0, the factor of ‖φ‖²/2.
    pub l2: f64,
}

impl From<Region> for Composite {
    fn from(region: Region) -> Composite {
        Composite { region, l1: 0.0, l2: 0.0 }
    }
}

/// Halvings of the interval in which the multiplier lies: down to neighbouring doubles.
const HALVINGS: usize = 200;

impl Composite {
    /// h(φ).
    pub fn term(&self, phi: &[f64]) -> f64 {
        if self.is_plain() {
            return 0.0;
        }
        let [sum, squares] = phi.iter().fold([0.0, 0.0], |[a, b], x| [a + x.abs(), b + x * x]);
        self.l1 * sum + self.l2 / 2.0 * squares
    }

    /// Adds a subgradient of h at φ: for methods whose steps have no single length γ.
    pub(super) fn add_slope(&self, phi: &[f64], gradient: &mut [f64]) {
        if !self.is_plain() {
            // 1 at 0, where weights cannot go lower.
            let sign = |x: f64| if x < 0.0 { -1.0 } else { 1.0 };
            gradient.iter_mut().zip(phi).for_each(|(g, &x)| *g += self.l1 * sign(x) + self.l2 * x);
        }
    }

    /// From φ − γg to x_X(φ, g, γ).
    pub fn prox(&self, gamma: f64, phi: &mut [f64]) {
        if self.is_plain() {
            return self.region.project(phi);
        }
        let (threshold, weight) = (gamma * self.l1, 1.0 + gamma * self.l2);
        match &self.region {
            Region::Ball { centre, radius } => {
                let at = |nu: f64, z: f64, c: f64| soft(z + nu * c, threshold) / (weight + nu);
                let far = |nu: f64| norm(phi.iter().zip(centre).map(|(&z, &c)| at(nu, z, c) - c));
                let nu = if far(0.0) <= *radius { 0.0 } else { first_within(far, *radius) };
                phi.iter_mut().zip(centre).for_each(|(z, &c)| *z = at(nu, *z, c));
                // The rounding of ν leaves it outside by no more than that; weights must not be.
                self.region.project(phi);
            }
            Region::AtLeast(_) | Region::Bounds { .. } => {
                for z in phi.iter_mut() {
                    *z = soft(*z, threshold) / weight;
                }
                self.region.project(phi);
            }
        }
    }

    fn is_plain(&self) -> bool {
        self.l1 == 0.0 && self.l2 == 0.0
    }
}

/// sign(z) max(0, |z| − threshold).
fn soft(z: f64, threshold: f64) -> f64 {
    z.signum() * (z.abs() - threshold).max(0.0)
}

/// The smallest ν at which a falling distance is at most `radius`.
fn first_within(far: impl Fn(f64) -> f64, radius: f64) -> f64 {
    let mut high = 1.0;
    while far(high) > radius && high < f64::MAX / 2.0 {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if far(middle) > radius {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use toprank_core::Stream;

    use super::super::{Errors, Gbn, Gbp, Gfn, Oracle, minimise};
    use super::*;
    use crate::error::TrainError;

    fn regions() -> [Region; 4] {
        [
            Region::ball(3, 0.99),
            // Reaches beyond 0, where the soft threshold has its kink.
            Region::Ball { centre: vec![0.3, -0.2, 0.5], radius: 0.8 },
            Region::AtLeast(0.1),
            Region::Bounds { low: -0.5, high: 0.7 },
        ]
    }

    /// ⟨g, x⟩ + ‖x − φ‖²/(2γ) + h(x) but for a constant, z = φ − γg.
    fn value(of: &Composite, gamma: f64, z: &[f64], x: &[f64]) -> f64 {
        let square: f64 = x.iter().zip(z).map(|(x, z)| (x - z).powi(2)).sum();
        square / (2.0 * gamma) + of.term(x)
    }

    #[test]
    fn the_prox_is_the_smallest_of_all_points_of_the_set() {
        let mut random = Stream::new(3, "prox").open();
        let mut point = |spread: f64| [(); 3].map(|()| spread * (2.0 * random.unit() - 1.0));
        for region in regions() {
            for (l1, l2) in [(0.4, 0.0), (0.0, 0.7), (0.3, 0.5), (5.0, 0.0)] {
                let of = Composite { region: region.clone(), l1, l2 };
                for gamma in [0.1, 1.0, 20.0] {
                    let z = point(3.0);
                    let mut found = z;
                    of.prox(gamma, &mut found);
                    let mut inside = found;
                    region.project(&mut inside);
                    let moved = norm(found.iter().zip(&inside).map(|(a, b)| a - b));
                    assert!(moved < 1e-12, "{of:?}: {found:?} is not in the set");
                    let best = value(&of, gamma, &z, &found);
                    for k in 0..400 {
                        let step = point(2.0 * 0.98_f64.powi(k));
                        let mut other: Vec<f64> = found.iter().zip(step).map(|(x, d)| x + d).collect();
                        region.project(&mut other);
                        assert!(best <= value(&of, gamma, &z, &other) + 1e-9 * (1.0 + best.abs()), "{of:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn identities_of_the_prox() {
        let free = |l1, l2| Composite { region: Region::AtLeast(f64::NEG_INFINITY), l1, l2 };
        let prox = |of: &Composite, gamma: f64, z: [f64; 3]| {
            let mut x = z;
            of.prox(gamma, &mut x);
            x
        };
        // The soft threshold, the shrinkage, and Moreau's decomposition: z = prox of λ‖·‖₁ + projection on the box of its dual.
        assert_eq!(prox(&free(0.5, 0.0), 2.0, [3.0, -0.5, -1.5]), [2.0, 0.0, -0.5]);
        assert_eq!(prox(&free(0.0, 1.0), 3.0, [4.0, -8.0, 0.0]), [1.0, -2.0, 0.0]);
        let z = [3.0, -0.5, -1.5];
        let mut dual = z;
        Region::Bounds { low: -1.0, high: 1.0 }.project(&mut dual);
        let soft = prox(&free(0.5, 0.0), 2.0, z);
        assert_eq!([0, 1, 2].map(|i| soft[i] + dual[i]), z);
        for region in regions() {
            // h = 0 is the projection to the bit; no prox stretches distances.
            let (plain, of) = (Composite::from(region.clone()), Composite { region, l1: 0.3, l2: 0.2 });
            let (mut projected, other) = (z, [0.2, 0.9, -2.0]);
            plain.region.project(&mut projected);
            assert_eq!(prox(&plain, 2.0, z), projected);
            let apart = |a: [f64; 3], b: [f64; 3]| norm(a.into_iter().zip(b).map(|(a, b)| a - b));
            assert!(apart(prox(&of, 2.0, z), prox(&of, 2.0, other)) <= apart(z, other));
        }
        // A ball within the positive numbers: ‖·‖₁ is linear there, so the prox is the projection of the shifted point.
        let of = Composite { region: Region::ball(3, 0.99), l1: 0.4, l2: 0.25 };
        let mut shifted = z.map(|z| (z - 2.0 * 0.4) / 1.5);
        of.region.project(&mut shifted);
        let found = prox(&of, 2.0, z);
        assert!(found.iter().zip(shifted).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {shifted:?}");
    }

    /// f(x) = ½ Σ a_i (x_i − b_i)², separable: the minimiser of f + h over bounds is known.
    struct Bowl;

    const A: [f64; 3] = [1.0, 4.0, 0.5];
    const B: [f64; 3] = [2.0, 0.05, 0.9];

    impl Oracle for Bowl {
        fn parameters(&self) -> usize {
            3
        }

        fn value(&mut self, x: &[f64], _: f64) -> Result<f64, TrainError> {
            Ok((0..3).map(|i| 0.5 * A[i] * (x[i] - B[i]).powi(2)).sum())
        }

        fn gradient(&mut self, x: &[f64], errors: Errors, gradient: &mut [f64]) -> Result<f64, TrainError> {
            (0..3).for_each(|i| gradient[i] = A[i] * (x[i] - B[i]));
            self.value(x, errors.value)
        }
    }

    #[test]
    fn methods_end_where_the_optimality_condition_holds() {
        let of = Composite { region: Region::Bounds { low: 0.0, high: 1.0 }, l1: 0.3, l2: 0.5 };
        // a (x − b) + λ1 + λ2 x = 0 between the bounds: the first ends at the upper bound, the second at 0.
        let best: Vec<f64> = (0..3).map(|i| ((A[i] * B[i] - 0.3) / (A[i] + 0.5)).clamp(0.0, 1.0)).collect();
        assert!(best[0] == 1.0 && best[1] == 0.0 && best[2] > 0.1 && best[2] < 0.9);
        let smallest = Bowl.value(&best, 0.0).unwrap() + of.term(&best);
        let start = [1.0; 3];
        let gbn = Gbn { epsilon: 1e-7, ..Gbn::default() }.start(of.clone(), &start).unwrap();
        let gbp = Gbp { step: 0.2, least_gain: 1e-16, ..Gbp::default() }.start(of.clone(), &start).unwrap();
        let adam = super::super::Adam { steps: 3000, ..super::super::Adam::default() };
        let adam = adam.start(of.clone(), &start).unwrap();
        for (method, tolerance) in [(gbn, 1e-6), (gbp, 1e-6), (adam, 1e-3)] {
            let found = minimise(method, &mut Bowl).unwrap();
            assert!((found.loss - smallest).abs() < tolerance, "{found:?}, best {best:?}");
            let apart = norm(found.phi.iter().zip(&best).map(|(a, b)| a - b));
            assert!(apart < tolerance.sqrt(), "{found:?}, best {best:?}");
            // A fixed point: x = x_X(x, ∇f(x), γ) for every γ.
            let mut gradient = [0.0; 3];
            Bowl.gradient(&found.phi, Errors { value: 0.0, gradient: 0.0 }, &mut gradient).unwrap();
            for gamma in [0.01, 1.0] {
                let mut next: Vec<f64> = found.phi.iter().zip(gradient).map(|(x, g)| x - gamma * g).collect();
                of.prox(gamma, &mut next);
                let moved = norm(next.iter().zip(&found.phi).map(|(a, b)| a - b));
                assert!(moved < 2.0 * tolerance.sqrt(), "γ = {gamma}: {found:?} moves by {moved}");
            }
        }
        let away = Composite { region: Region::Bounds { low: 0.1, high: 1.0 }, ..of };
        let gfn = Gfn { steps: Some(3000), lipschitz: 4.0, epsilon: 1e-6, seed: 1 };
        let found = minimise(gfn.start(away.clone(), &start).unwrap(), &mut Bowl).unwrap();
        let best = [1.0, 0.1, best[2]];
        let smallest = Bowl.value(&best, 0.0).unwrap() + away.term(&best);
        assert!(found.loss < smallest + 0.01, "{found:?}: {smallest}");
    }
}
