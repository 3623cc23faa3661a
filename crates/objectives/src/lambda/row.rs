//! All pairs of one rank with the ranks below it, vectorised.

use crate::kernels::scalar::{sigmoid, softplus};
use crate::kernels::vector::twice_artanh;

/// Rows start at a multiple of this and are as long as one, so that the vectorised loops have no rest.
pub(super) const LANES: usize = 8;

/// Range of the scores up to which [`pairs_by_exp`] runs: products of two sums of exponentials stay numbers, with
/// room for weights.
pub(super) const EXP_RANGE: f64 = 600.0;

/// The list from one rank on, by falling frozen score: scores, their exponentials, and what adds up.
pub(super) struct Below<'a> {
    pub scores: &'a [f64],
    pub exps: &'a [f64],
    pub gradient: &'a mut [f64],
    pub curvature: &'a mut [f64],
    pub loss: &'a mut [f64],
}

vectorised! {
    /// Takes signed weights c_b of the pairs of an item a with items b (c > 0: a should stand above b) and leaves the
    /// pairs' λ = c·σ(wrong way) in `row` and |c|σ(1 − σ) in `bend`; adds both and the loss to the items b.
    ///
    /// ```text
    /// t = e_a + e_b,  σ = e_b/t for c > 0, e_a/t for c < 0
    /// ln(1 + e^{−σ|s_a − s_b|}) = 2 artanh(less/(t + more)), less and more of e_a, e_b: one division for all
    /// ```
    pub(super) fn pairs_by_exp(at: [f64; 3], below: &mut Below, row: &mut [f64], bend: &mut [f64]) {
        let ([s_a, e_a, sigma], n) = (at, row.len());
        let (scores, exps, bend) = (&below.scores[..n], &below.exps[..n], &mut bend[..n]);
        let (gradient, curvature) = (&mut below.gradient[..n], &mut below.curvature[..n]);
        let loss = &mut below.loss[..n];
        for b in 0..n {
            let (c, e_b) = (row[b], exps[b]);
            let less = if e_b < e_a { e_b } else { e_a };
            let more = if e_b < e_a { e_a } else { e_b };
            let t = less + more;
            let wide = t + more;
            let inverse = 1.0 / (t * wide);
            let over_t = inverse * wide;
            let wrong = (if c > 0.0 { e_b } else { e_a }) * over_t;
            let lambda = c * wrong;
            let curve = c.abs() * ((e_a * over_t) * (e_b * over_t));
            let gap = c * (sigma * (scores[b] - s_a));
            row[b] = lambda;
            bend[b] = curve;
            gradient[b] += lambda;
            curvature[b] += curve;
            loss[b] += c.abs() * twice_artanh(less * t * inverse) + if gap > 0.0 { gap } else { 0.0 };
        }
    }
}

/// The same for scores of any range.
pub(super) fn pairs_by_formula([s_a, sigma]: [f64; 2], below: &mut Below, row: &mut [f64], bend: &mut [f64]) {
    for b in 0..row.len() {
        let c = row[b];
        let x = sigma * if c > 0.0 { below.scores[b] - s_a } else { s_a - below.scores[b] };
        let wrong = sigmoid(x);
        row[b] = c * wrong;
        bend[b] = c.abs() * (wrong * sigmoid(-x));
        below.gradient[b] += row[b];
        below.curvature[b] += bend[b];
        below.loss[b] += c.abs() * softplus(x);
    }
}

vectorised! {
    /// Σ x in eight partial sums; the length is a multiple of [`LANES`].
    pub(super) fn sum(x: &[f64]) -> f64 {
        let mut sums = [0.0; LANES];
        for x in x.as_chunks::<LANES>().0 {
            for lane in 0..LANES {
                sums[lane] += x[lane];
            }
        }
        sums.iter().sum()
    }
}

vectorised! {
    /// Σ |x| likewise.
    pub(super) fn sum_of_sizes(x: &[f64]) -> f64 {
        let mut sums = [0.0; LANES];
        for x in x.as_chunks::<LANES>().0 {
            for lane in 0..LANES {
                sums[lane] += x[lane].abs();
            }
        }
        sums.iter().sum()
    }
}

vectorised! {
    /// row_b = (g_a − g_b)(d_a − d_b)·scale.
    pub(super) fn gain_times_discount(
        at: [f64; 3],
        gains: &[f64],
        discounts: &[f64],
        row: &mut [f64],
    ) {
        let [gain, discount, scale] = at;
        for ((row, g), d) in row.iter_mut().zip(gains).zip(discounts) {
            *row = (gain - g) * ((discount - d) * scale);
        }
    }
}
