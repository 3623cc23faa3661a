/*!
Inner means g_i = Σ_j ω_j ℓ(s_j − s_i) of all anchors of a list, and their adjoint.

Two scales. **Linear**: g itself; hinges by [`crate::kernels::hinge`], logistic and sigmoid by [`crate::kernels::sigmoid`], square in
closed form, others pair by pair.
**Log**: ln g of exponential inner functions e^{ψ(s_j − s_i)}, so that nothing overflows; ψ(x) = x/τ is one sum for all
anchors ([`super::exponential`]), ψ of a hinge goes by vectors ([`super::exp_hinge`]), others pair by pair. Only ratios e^{ψ − ln g} leave
the logarithms.
*/

use crate::kernels::KernelWork;
use crate::kernels::hinge::{Hinge, Omega, Sums};

use super::exp_hinge::ExpHinge;
use super::exponential::Exponential;
use super::huber::{backward_huber, subtract_second_hinge};
use super::smooth::Smooth;
use super::surrogate::Surrogate;

/// The inner function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Inner {
    /// ℓ.
    Of(Surrogate),
    /// e^{ℓ/λ}: KL forms.
    ExpOf(Surrogate, f64),
}

/// One inner mean over one list: scores, weights of the items, which items are anchors.
pub(crate) struct Terms<'a> {
    /// Scores of the items.
    pub scores: &'a [f64],
    /// ω of each item, as another item than the anchor.
    pub omega: Omega<'a>,
    /// ω of the anchor itself.
    pub own: f64,
    /// The anchors, ascending.
    pub anchors: &'a [u32],
}

/// Results of the forward computation, one per anchor.
pub(crate) struct Means<'a> {
    /// g, or ln g.
    pub value: &'a mut [f64],
    /// Σ ω ℓ' on the linear scale; on the log scale the rounding error of ln g, which may be large.
    pub slope: &'a mut [f64],
    /// Σ ω ℓ'' (or its substitute), linear scale only; empty: not wanted.
    pub curve: &'a mut [f64],
}

/// Where the adjoint adds.
pub(crate) struct Adjoint<'a, 'b> {
    /// ∂loss/∂score.
    pub gradient: &'a mut [f64],
    /// Pairwise Gauss–Newton bound.
    pub hessian: Option<&'b mut [f64]>,
}

/// Range of the scores in units of τ up to which a Huber is the difference of two squared hinges: so much of their sixteen
/// digits is lost.
const HUBER_RANGE: f64 = 1e8;

impl Inner {
    /// True if means are kept as logarithms.
    pub fn is_log(self) -> bool {
        matches!(self, Inner::ExpOf(..) | Inner::Of(Surrogate::Exponential { .. }))
    }

    /// The inner function at x = 0, of the self pair: as it is, or its logarithm.
    pub fn at_zero(self) -> f64 {
        match self {
            Inner::Of(Surrogate::Exponential { .. }) => 0.0,
            Inner::Of(surrogate) => surrogate.at(0.0).0,
            Inner::ExpOf(surrogate, lambda) => surrogate.at(0.0).0 / lambda,
        }
    }

    fn hinge(self) -> Option<Hinge> {
        match self {
            Inner::Of(Surrogate::SquaredHinge { margin }) => Some(Hinge { squared: true, margin }),
            Inner::Of(Surrogate::Hinge { margin }) => Some(Hinge { squared: false, margin }),
            // The first of its two squared hinges; the second has no margin.
            Inner::Of(Surrogate::Huber { temperature }) => Some(Hinge { squared: true, margin: temperature }),
            _ => None,
        }
    }

    /// True if the difference of the two squared hinges of a Huber loses its digits: it is then summed pair by pair.
    fn cancels(self, scores: &[f64]) -> bool {
        let Inner::Of(Surrogate::Huber { temperature }) = self else { return false };
        let (low, high) = scores
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), s| (low.min(*s), high.max(*s)));
        high - low > HUBER_RANGE * temperature
    }

    /// Value, slope and positive second derivative of ℓ, or of the exponent ψ.
    #[inline]
    fn exponent(self, x: f64) -> (f64, f64, f64) {
        match self {
            Inner::Of(Surrogate::Exponential { temperature }) => (x / temperature, 1.0 / temperature, 0.0),
            Inner::Of(surrogate) => surrogate.with_second_derivative(x),
            Inner::ExpOf(surrogate, lambda) => {
                let (value, slope, curve) = surrogate.with_second_derivative(x);
                (value / lambda, slope / lambda, curve / lambda)
            }
        }
    }

    fn smooth(self) -> Option<Smooth> {
        match self {
            Inner::Of(surrogate) => Smooth::of(surrogate),
            Inner::ExpOf(..) => None,
        }
    }

    /// Prepares the kernels for these scores and anchors.
    pub(crate) fn plan(self, scores: &[f64], anchors: &[u32], work: &mut KernelWork) {
        if let Some(hinge) = self.hinge() {
            hinge.plan(scores, anchors, &mut work.hinge);
        }
    }

    /// The mean of every anchor, its self pair counted with `at_zero` (1 where the self pair counts as one item).
    pub(crate) fn forward(self, terms: &Terms, at_zero: f64, means: &mut Means, work: &mut KernelWork) {
        if self.is_log() {
            return self.forward_log(terms, at_zero, means, work);
        }
        let pair_by_pair = self.cancels(terms.scores);
        if let Some(hinge) = self.hinge().filter(|_| !pair_by_pair) {
            let mut sums = Sums { value: means.value, slope: means.slope, curve: means.curve };
            hinge.forward(terms.scores, terms.omega, terms.anchors, &mut work.hinge, &mut sums);
            if let Inner::Of(Surrogate::Huber { temperature }) = self {
                subtract_second_hinge(temperature, terms, means, work);
            }
        } else if let Inner::Of(Surrogate::Square { margin }) = self {
            forward_square(margin, terms, means);
        } else if let Some(smooth) = self.smooth() {
            smooth.forward(terms, means, work);
        } else {
            for (i, &item) in terms.anchors.iter().enumerate() {
                let at = terms.scores[item as usize];
                let (mut value, mut slope, mut curve) = (0.0, 0.0, 0.0);
                for (_, x, w) in terms.others(item) {
                    let (l, l1, l2) = self.exponent(x - at);
                    value += w * l;
                    slope += w * l1;
                    curve += w * l2;
                }
                (means.value[i], means.slope[i]) = (value, slope);
                means.set_curve(i, curve);
            }
        }
        means.value.iter_mut().for_each(|value| *value += terms.own * at_zero);
    }

    /// Adds the gradient of Σ_i F_i, a_i = ∂F_i/∂g_i (log scale: g_i ∂F_i/∂g_i). All a_i have one sign.
    pub(crate) fn backward(
        self,
        terms: &Terms,
        a: &[f64],
        means: &Means,
        out: &mut Adjoint,
        work: &mut KernelWork,
    ) {
        let (scores, anchors) = (terms.scores, terms.anchors);
        if self.is_log() {
            return self.backward_log(terms, a, means, out, work);
        }
        let pair_by_pair = self.cancels(scores);
        if let (Inner::Of(Surrogate::Huber { temperature }), false) = (self, pair_by_pair) {
            return backward_huber(temperature, terms, a, out, work);
        }
        if let Some(hinge) = self.hinge().filter(|_| !pair_by_pair) {
            let seconds = (&*means.slope, &*means.curve);
            let hessian = out.hessian.as_deref_mut();
            return hinge.backward(
                scores,
                terms.omega,
                anchors,
                a,
                seconds,
                &mut work.hinge,
                out.gradient,
                hessian,
            );
        }
        if let Inner::Of(Surrogate::Square { margin }) = self {
            return backward_square(margin, terms, a, means, out);
        }
        if let Some(smooth) = self.smooth() {
            return smooth.backward(terms, a, means, out, work);
        }
        for (i, &item) in anchors.iter().enumerate() {
            let own = item as usize;
            for (j, x, w) in terms.others(item) {
                let (_, slope, curve) = self.exponent(x - scores[own]);
                out.gradient[j] += a[i] * w * slope;
                out.add_second_derivative(j, a[i] * w * curve);
            }
            out.gradient[own] -= a[i] * means.slope[i];
            if out.hessian.is_some() {
                out.add_second_derivative(own, a[i] * means.curve[i]);
            }
        }
    }

    fn forward_log(self, terms: &Terms, at_zero: f64, means: &mut Means, work: &mut KernelWork) {
        if let Some(hinge) = ExpHinge::of(self, terms) {
            return hinge.forward(terms, means, work);
        }
        let exponential = Exponential::of(self, terms, at_zero);
        for (i, &item) in terms.anchors.iter().enumerate() {
            if exponential.is_some_and(|sum| sum.forward(terms, i, means)) {
                continue;
            }
            let at = terms.scores[item as usize];
            let others = || terms.others(item).map(|(_, x, w)| (self.exponent(x - at).0, w));
            let self_top = if terms.own > 0.0 { at_zero } else { f64::NEG_INFINITY };
            let top = others().map(|(psi, _)| psi).fold(self_top, f64::max);
            let own_part = if terms.own > 0.0 { terms.own * (at_zero - top).exp() } else { 0.0 };
            let sum = own_part + others().map(|(psi, w)| w * (psi - top).exp()).sum::<f64>();
            means.set_log(i, top, sum.ln());
        }
    }

    fn backward_log(self, terms: &Terms, a: &[f64], means: &Means, out: &mut Adjoint, work: &mut KernelWork) {
        if let Some(hinge) = ExpHinge::of(self, terms) {
            return hinge.backward(terms, a, means, out, work);
        }
        let pair_by_pair = |i: usize, out: &mut Adjoint| {
            let (item, mut slope_sum, mut curve_sum) = (terms.anchors[i], 0.0, 0.0);
            let own = item as usize;
            for (j, x, w) in terms.others(item) {
                let (psi, slope, curve) = self.exponent(x - terms.scores[own]);
                let ratio = w * ((psi - means.value[i]) - means.slope[i]).exp();
                let second = ratio * (curve + slope * slope);
                out.gradient[j] += a[i] * ratio * slope;
                out.add_second_derivative(j, a[i] * second);
                slope_sum += ratio * slope;
                curve_sum += second;
            }
            out.gradient[own] -= a[i] * slope_sum;
            out.add_second_derivative(own, a[i] * curve_sum);
        };
        match Exponential::of(self, terms, self.at_zero()) {
            Some(sum) => sum.backward(terms, a, out, pair_by_pair),
            None => (0..terms.anchors.len()).for_each(|i| pair_by_pair(i, out)),
        }
    }
}

impl Terms<'_> {
    /// Every item with its score and weight.
    pub fn all(&self) -> impl Iterator<Item = (usize, f64, f64)> + Clone {
        self.scores.iter().enumerate().map(|(j, x)| (j, *x, self.omega.at(j)))
    }

    /// Writes ω of every item and the scores of the anchors.
    pub fn write(&self, weights: &mut [f64], anchor_scores: &mut [f64]) {
        for (j, w) in weights.iter_mut().enumerate() {
            *w = self.omega.at(j);
        }
        for (score, &item) in anchor_scores.iter_mut().zip(self.anchors) {
            *score = self.scores[item as usize];
        }
    }

    /// The items an anchor is compared with.
    fn others(&self, anchor: u32) -> impl Iterator<Item = (usize, f64, f64)> {
        self.all().filter(move |(j, _, w)| *j != anchor as usize && *w > 0.0)
    }
}

impl Means<'_> {
    /// ln g = `top` + `rest`, with its rounding error.
    pub fn set_log(&mut self, i: usize, top: f64, rest: f64) {
        let sum = top + rest;
        let rest_in_sum = sum - top;
        self.value[i] = sum;
        self.slope[i] = (top - (sum - rest_in_sum)) + (rest - rest_in_sum);
    }

    fn set_curve(&mut self, i: usize, curve: f64) {
        if let Some(slot) = self.curve.get_mut(i) {
            *slot = curve;
        }
    }
}

impl Adjoint<'_, '_> {
    #[inline]
    pub fn add_second_derivative(&mut self, j: usize, by: f64) {
        if let Some(h) = &mut self.hessian {
            h[j] += by.abs();
        }
    }
}

/// Σ_{j≠i} ω_j (s_j − s_i + c)² = variance part + W(mean − s_i + c)², without the self pair.
fn forward_square(c: f64, terms: &Terms, means: &mut Means) {
    let (mean, weight) = weighted_mean(terms.all().map(|(_, x, w)| (x, w)));
    let spread: f64 = terms.all().map(|(_, x, w)| w * (x - mean) * (x - mean)).sum();
    for (i, &item) in terms.anchors.iter().enumerate() {
        let own = terms.omega.at(item as usize);
        let d = mean - terms.scores[item as usize] + c;
        means.value[i] = (spread + weight * d * d - own * c * c).max(0.0);
        means.slope[i] = 2.0 * (weight * d - own * c);
        means.set_curve(i, 2.0 * (weight - own));
    }
}

fn backward_square(c: f64, terms: &Terms, a: &[f64], means: &Means, out: &mut Adjoint) {
    let scores = terms.scores;
    let (mean, total) =
        weighted_mean(terms.anchors.iter().zip(a).map(|(&item, a)| (scores[item as usize], *a)));
    for (j, x, w) in terms.all() {
        out.gradient[j] += 2.0 * w * total * (x - mean + c);
        out.add_second_derivative(j, 2.0 * w * total);
    }
    for (i, &item) in terms.anchors.iter().enumerate() {
        let j = item as usize;
        let own = 2.0 * terms.omega.at(j) * a[i];
        out.gradient[j] -= own * c + a[i] * means.slope[i];
        if let Some(h) = &mut out.hessian {
            h[j] = (h[j] - own.abs()).max(0.0) + a[i].abs() * means.curve[i];
        }
    }
}

/// Mean and total weight; the mean of nothing is 0.
fn weighted_mean(terms: impl Iterator<Item = (f64, f64)> + Clone) -> (f64, f64) {
    let total: f64 = terms.clone().map(|(_, w)| w).sum();
    if total == 0.0 {
        return (0.0, 0.0);
    }
    // In two steps: the first estimate removes the offset before the second sum.
    let guess = terms.clone().map(|(x, w)| x * w).sum::<f64>() / total;
    (guess + terms.map(|(x, w)| (x - guess) * w).sum::<f64>() / total, total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toprank_core::Stream;

    const INNERS: [Inner; 12] = [
        Inner::Of(Surrogate::SquaredHinge { margin: 1.0 }),
        Inner::Of(Surrogate::Hinge { margin: 0.5 }),
        Inner::Of(Surrogate::Square { margin: 1.0 }),
        Inner::Of(Surrogate::Logistic { temperature: 0.7, factor: 1.5 }),
        Inner::Of(Surrogate::Sigmoid { temperature: 0.3 }),
        Inner::Of(Surrogate::BarrierHinge),
        Inner::Of(Surrogate::Huber { temperature: 0.4 }),
        Inner::Of(Surrogate::OneSideSigmoid { temperature: 0.4 }),
        Inner::Of(Surrogate::Exponential { temperature: 2.0 }),
        Inner::ExpOf(Surrogate::SquaredHinge { margin: 1.0 }, 0.5),
        Inner::ExpOf(Surrogate::Hinge { margin: 1.0 }, 2.0),
        Inner::ExpOf(Surrogate::Sigmoid { temperature: 1.0 }, 1.0),
    ];

    /// The definition: every pair by itself, exponentials divided by the mean they belong to.
    fn plain(inner: Inner, terms: &Terms, a: &[f64]) -> [Vec<f64>; 3] {
        let (n, x) = (terms.scores.len(), terms.scores);
        let (mut means, mut gradient, mut hessian) = (Vec::new(), vec![0.0; n], vec![0.0; n]);
        for (i, &item) in terms.anchors.iter().enumerate() {
            let own = item as usize;
            let parts: Vec<(usize, f64, f64, f64, f64)> = (0..n)
                .filter(|&j| j != own && terms.omega.at(j) > 0.0)
                .map(|j| {
                    let (value, slope, second) = inner.exponent(x[j] - x[own]);
                    (j, terms.omega.at(j), value, slope, second)
                })
                .collect();
            let self_top = if terms.own > 0.0 { inner.at_zero() } else { f64::NEG_INFINITY };
            let top = parts.iter().map(|p| p.2).fold(self_top, f64::max);
            let mut sum = 1.0;
            let mean: f64 = if inner.is_log() {
                let others: f64 = parts.iter().map(|p| p.1 * (p.2 - top).exp()).sum();
                sum = others + if terms.own > 0.0 { terms.own * (self_top - top).exp() } else { 0.0 };
                top + sum.ln()
            } else {
                parts.iter().map(|p| p.1 * p.2).sum::<f64>() + terms.own * inner.at_zero()
            };
            means.push(mean);
            for (j, w, value, slope, second) in parts {
                let (slope, second) = if inner.is_log() {
                    let ratio = (value - top).exp() / sum;
                    (ratio * slope, ratio * (second + slope * slope))
                } else {
                    (slope, second)
                };
                gradient[j] += a[i] * w * slope;
                gradient[own] -= a[i] * w * slope;
                hessian[j] += (a[i] * w * second).abs();
                hessian[own] += (a[i] * w * second).abs();
            }
        }
        [means, gradient, hessian]
    }

    #[test]
    fn means_and_adjoint_equal_the_reference_implementation_on_adversarial_scores() {
        let mut random = Stream::new(8, "inner").open();
        for (n, m) in [(2, 1), (2, 2), (90, 30), (700, 60)] {
            let base: Vec<f64> = (0..n).map(|_| 3.0 * random.unit()).collect();
            let mut outlier = base.clone();
            outlier[n - 1] = 1e3;
            let cases = [
                ("plain", base.clone()),
                ("equal", vec![0.5; n]),
                ("offset", base.iter().map(|s| s + 1e6).collect()),
                ("spread", base.iter().map(|s| s * 1e6).collect()),
                ("far apart", base.iter().map(|s| s * 1e30).collect()),
                ("outlier", outlier),
            ];
            let anchors: Vec<u32> = (0..m).map(|i| (i * (n / m)) as u32).collect();
            let each: Vec<f64> =
                (0..n).map(|_| if random.unit() < 0.2 { 0.0 } else { 1.0 / n as f64 }).collect();
            let mut apart = each.clone();
            for &i in &anchors {
                apart[i as usize] = 0.0;
            }
            let a: Vec<f64> = (0..m).map(|_| random.unit()).collect();
            for (case, x) in &cases {
                for inner in INNERS {
                    for (omega, own) in [
                        (Omega::Alike(1.0 / n as f64), 1.0 / n as f64),
                        (Omega::Each(&each), 0.5 / n as f64),
                        (Omega::Each(&each), 0.0),
                        (Omega::Each(&apart), 0.0),
                    ] {
                        if own == 0.0
                            && anchors.iter().any(|&i| (0..n).all(|j| j == i as usize || omega.at(j) == 0.0))
                        {
                            continue; // a mean over nothing
                        }
                        let terms = Terms { scores: x, omega, own, anchors: &anchors };
                        let [means, gradient, hessian] = plain(inner, &terms, &a);
                        let mut work = KernelWork::default();
                        let (mut value, mut slope, mut curve) = (vec![0.0; m], vec![0.0; m], vec![0.0; m]);
                        let mut found = Means { value: &mut value, slope: &mut slope, curve: &mut curve };
                        inner.plan(x, &anchors, &mut work);
                        inner.forward(&terms, inner.at_zero(), &mut found, &mut work);
                        let (mut g, mut h) = (vec![0.0; n], vec![0.0; n]);
                        let mut out = Adjoint { gradient: &mut g, hessian: Some(&mut h) };
                        inner.backward(&terms, &a, &found, &mut out, &mut work);
                        // The expansion promises 1e-10, its slopes 3e-10; everything else is exact to rounding.
                        // A difference of squares loses x/τ of its digits, 1e7 here.
                        let bound = match inner {
                            Inner::Of(Surrogate::Huber { .. }) => 1e-8,
                            _ if inner.smooth().is_some() => 1e-9,
                            _ => 1e-10,
                        };
                        let close = |what: &str, found: &[f64], wanted: &[f64], least: f64| {
                            let scale = wanted.iter().fold(least, |m: f64, w| m.max(w.abs()));
                            for (f, w) in found.iter().zip(wanted) {
                                assert!(
                                    (f - w).abs() <= bound * scale,
                                    "{inner:?}, {case}, n = {n}, own {own}: {what} {f} for {w}"
                                );
                            }
                        };
                        close("mean", &value, &means, 1e-12);
                        close("gradient", &g, &gradient, 1.0 / n as f64);
                        close("hessian", &h, &hessian, 1.0 / n as f64);
                    }
                }
            }
        }
    }
}
