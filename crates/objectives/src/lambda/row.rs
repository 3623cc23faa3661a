//! All pairs of one rank with the ranks below it, vectorised.

use crate::kernels::scalar::{sigmoid, softplus};
use crate::kernels::vector::twice_artanh;
use crate::simd::fma;

/// Rows start at a multiple of this and their length is one, so that the vectorised loops have no remainder.
pub(super) const LANES: usize = 4;

/// Range of the scores up to which [`pairs_by_exp`] runs: products of two sums of exponentials stay finite, with
/// headroom for weights.
pub(super) const EXP_RANGE: f64 = 600.0;

/// The item whose pairs are summed.
#[derive(Clone, Copy)]
pub(super) struct Upper {
    pub score: f64,
    /// e^{σs}, s from the middle of the scores.
    pub exp: f64,
    pub frozen: f64,
    pub sigma: f64,
    /// Pair weights are divided by x + y·|difference of frozen scores|.
    pub spread: [f64; 2],
}

/// The items from one rank on, by decreasing frozen score.
#[derive(Clone, Copy)]
pub(super) struct Lower<'a> {
    pub scores: &'a [f64],
    pub exps: &'a [f64],
    pub frozen: &'a [f64],
}

/// The sums of the items of [`Lower`].
pub(super) struct Totals<'a> {
    pub gradient: &'a mut [f64],
    pub loss: &'a mut [f64],
    /// Hessian diagonal of the items, and that of the present row's pairs; if wanted.
    pub hessian: Option<[&'a mut [f64]; 2]>,
}

impl Upper {
    /// What a pair's weight is divided by.
    #[inline(always)]
    #[allow(clippy::inline_always)] // must take part in its caller's vectorisation
    fn distance(&self, frozen: f64) -> f64 {
        self.spread[0] + self.spread[1] * (self.frozen - frozen)
    }

    /// λ = c σ(wrong order), loss and second derivative of a pair with Δ, where c = Δ/distance.
    ///
    /// ```text
    /// t = e_a + e_b,  σ = e_b/t for c > 0, e_a/t for c < 0
    /// ln(1 + e^{−σ|s_a − s_b|}) = 2 artanh(less/(t + more)), less and more the smaller and larger of e_a, e_b
    /// ```
    ///
    /// One division for all three: 1/(t·(t + more)·distance).
    #[inline(always)]
    #[allow(clippy::inline_always)] // as above
    fn pair<const FUSED: bool>(&self, delta: f64, [score, exp, frozen]: [f64; 3]) -> [f64; 3] {
        let less = if exp < self.exp { exp } else { self.exp };
        let more = if exp < self.exp { self.exp } else { exp };
        let distance = self.distance(frozen);
        let t = less + more;
        let wide = t + more;
        let both = t * wide;
        let over_all = 1.0 / (both * distance);
        let over_both = over_all * distance;
        let over_t = over_both * wide;
        let c = delta * (over_all * both);
        let wrong = (if c > 0.0 { exp } else { self.exp }) * over_t;
        let gap = c * (self.sigma * (score - self.score));
        let violation = if gap > 0.0 { gap } else { 0.0 };
        let loss = fma::<FUSED>(c.abs(), twice_artanh::<FUSED>(less * t * over_both), violation);
        [c * wrong, loss, c.abs() * ((self.exp * over_t) * (exp * over_t))]
    }
}

/// Takes Δ of the pairs of an upper item with lower ones, times their weights (Δ > 0: the upper one is better), and leaves their λ in `row`,
/// their second derivatives in its row; adds both and the loss to the lower items.
pub(super) fn pairs_by_exp(upper: Upper, lower: Lower, row: &mut [f64], totals: &mut Totals) {
    match &mut totals.hessian {
        None => with_loss(upper, lower, row, totals.gradient, totals.loss),
        Some([hessian, second]) => {
            with_hessian(upper, lower, row, totals.gradient, totals.loss, hessian, second);
        }
    }
}

vectorised! {
    fn with_loss<FUSED>(upper: Upper, lower: Lower, row: &mut [f64], gradient: &mut [f64], loss: &mut [f64]) {
        let n = row.len();
        let (scores, exps, frozen) = (&lower.scores[..n], &lower.exps[..n], &lower.frozen[..n]);
        let (gradient, loss) = (&mut gradient[..n], &mut loss[..n]);
        for b in 0..n {
            let [lambda, cost, _] = upper.pair::<FUSED>(row[b], [scores[b], exps[b], frozen[b]]);
            row[b] = lambda;
            gradient[b] += lambda;
            loss[b] += cost;
        }
    }
}

vectorised! {
    #[allow(clippy::too_many_arguments)] // slices of their own are known not to overlap
    fn with_hessian<FUSED>(
        upper: Upper,
        lower: Lower,
        row: &mut [f64],
        gradient: &mut [f64],
        loss: &mut [f64],
        hessian: &mut [f64],
        second: &mut [f64],
    ) {
        let n = row.len();
        let (scores, exps, frozen) = (&lower.scores[..n], &lower.exps[..n], &lower.frozen[..n]);
        let (gradient, loss) = (&mut gradient[..n], &mut loss[..n]);
        let (hessian, second) = (&mut hessian[..n], &mut second[..n]);
        for b in 0..n {
            let [lambda, cost, curve] = upper.pair::<FUSED>(row[b], [scores[b], exps[b], frozen[b]]);
            row[b] = lambda;
            gradient[b] += lambda;
            loss[b] += cost;
            second[b] = curve;
            hessian[b] += curve;
        }
    }
}

/// [`pairs_by_exp`] for scores of any range.
pub(super) fn pairs_by_formula(upper: Upper, lower: Lower, row: &mut [f64], totals: &mut Totals) {
    for b in 0..row.len() {
        let c = row[b] / upper.distance(lower.frozen[b]);
        let difference = if c > 0.0 { lower.scores[b] - upper.score } else { upper.score - lower.scores[b] };
        let x = upper.sigma * difference;
        let wrong = sigmoid(x);
        row[b] = c * wrong;
        totals.gradient[b] += row[b];
        totals.loss[b] += c.abs() * softplus(x);
        if let Some([hessian, second]) = &mut totals.hessian {
            second[b] = c.abs() * (wrong * sigmoid(-x));
            hessian[b] += second[b];
        }
    }
}

vectorised! {
    /// Σ x and Σ |x| in eight partial sums each; the length is a multiple of [`LANES`].
    pub(super) fn sums(x: &[f64]) -> [f64; 2] {
        const WIDTH: usize = 2 * LANES;
        let (mut sums, mut sizes) = ([0.0; WIDTH], [0.0; WIDTH]);
        let (blocks, rest) = x.as_chunks::<WIDTH>();
        for x in blocks {
            for lane in 0..WIDTH {
                sums[lane] += x[lane];
                sizes[lane] += x[lane].abs();
            }
        }
        for (lane, x) in rest.iter().enumerate() {
            sums[lane] += x;
            sizes[lane] += x.abs();
        }
        [sums.iter().sum(), sizes.iter().sum()]
    }
}

vectorised! {
    /// row_b *= w_a w_b.
    pub(super) fn weigh(weight: f64, weights: &[f64], row: &mut [f64]) {
        for (c, w) in row.iter_mut().zip(weights) {
            *c *= weight * w;
        }
    }
}

vectorised! {
    /// row_b = (g_a − g_b)(d_a − d_b).
    pub(super) fn gain_times_discount(at: [f64; 2], gains: &[f64], discounts: &[f64], row: &mut [f64]) {
        let [gain, discount] = at;
        let n = row.len();
        let (gains, discounts) = (&gains[..n], &discounts[..n]);
        for b in 0..n {
            row[b] = (gain - gains[b]) * (discount - discounts[b]);
        }
    }
}
