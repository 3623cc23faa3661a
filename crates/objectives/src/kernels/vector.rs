//! Functions of one number in arithmetic only, without calls or branches, so that loops over them are vectorised.

use std::f64::consts::{LN_2, LOG2_E};

use crate::simd::fma;

/// Largest |z| that [`exp_all`] accepts.
pub const EXP_RANGE: f64 = 700.0;

/// e^z for |z| ≤ [`EXP_RANGE`], NaN for NaN; relative error below 4e-16 (and 2e-16·|z|, the error of z itself).
///
/// ```text
/// z = k ln 2 + r, |r| ≤ ln(2)/2:   e^z = 2^k Σ_{m ≤ 13} r^m/m!
/// ```
#[inline(always)]
#[allow(clippy::inline_always)] // a call would keep the caller's loop from being vectorised
pub(crate) fn exp<const FUSED: bool>(z: f64) -> f64 {
    // Adding 1.5·2⁵² rounds to an integer and leaves it in the low bits of the sum.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    // ln 2 in two parts; the first has 32 bits, so k times it is exact.
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    debug_assert!((z.abs() <= EXP_RANGE || z.is_nan()) && LN_2_HIGH + LN_2_LOW == LN_2);
    let shifted = z * LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (z - k * LN_2_HIGH) - k * LN_2_LOW;
    let add = |p: f64, coefficient: f64| fma::<FUSED>(p, r, coefficient);
    let p = add(1.0 / 6_227_020_800.0, 1.0 / 479_001_600.0);
    let p = add(add(p, 1.0 / 39_916_800.0), 1.0 / 3_628_800.0);
    let p = add(add(p, 1.0 / 362_880.0), 1.0 / 40_320.0);
    let p = add(add(p, 1.0 / 5_040.0), 1.0 / 720.0);
    let p = add(add(p, 1.0 / 120.0), 1.0 / 24.0);
    let p = add(add(add(add(p, 1.0 / 6.0), 0.5), 1.0), 1.0);
    // 2^k: the low bits of `shifted` are k in two's complement.
    p * f64::from_bits((shifted.to_bits() << 52).wrapping_add(1f64.to_bits()))
}

/// ln(1 + z/(½ − z/2)) = 2 artanh(z) for 0 ≤ z ≤ 1/3; with z = q/(2 + q) it is ln(1 + q) for 0 ≤ q ≤ 1. Relative
/// error below 8e-16.
#[inline(always)]
#[allow(clippy::inline_always)] // as above
pub(crate) fn twice_artanh<const FUSED: bool>(z: f64) -> f64 {
    // artanh(√y)/√y at the Chebyshev nodes of [0, 1/9]; the Taylor series would need 16 terms.
    let y = z * z;
    // In pairs of pairs, since ten dependent steps in a row would be slow.
    let line = |c: [f64; 2]| fma::<FUSED>(c[1], y, c[0]);
    let (y2, a) = (y * y, line([1.0, 0.333_333_333_333_412_86]));
    let a = fma::<FUSED>(line([0.199_999_999_976_438, 0.142_857_145_558_285_8]), y2, a);
    let b = line([0.111_110_954_306_731_42, 0.090_914_299_002_369_55]);
    let b = fma::<FUSED>(line([0.076_818_381_244_458_17, 0.067_956_527_427_899_47]), y2, b);
    let c = line([0.049_403_945_243_823_93, 0.088_903_819_130_566_51]);
    let y4 = y2 * y2;
    let p = fma::<FUSED>(fma::<FUSED>(c, y4, b), y4, a);
    2.0 * z * p
}

vectorised! {
    /// Replaces every z by e^z; each |z| ≤ [`EXP_RANGE`], or NaN.
    ///
    /// ```
    /// let mut z = [0.0, 1.0];
    /// toprank_objectives::kernels::vector::exp_all(&mut z);
    /// assert_eq!(z[0], 1.0);
    /// assert!((z[1] - std::f64::consts::E).abs() < 1e-15);
    /// ```
    pub fn exp_all<FUSED>(z: &mut [f64]) {
        for z in z {
            *z = exp::<FUSED>(*z);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toprank_core::Stream;

    #[test]
    fn exp_equals_the_one_of_the_standard_library() {
        let mut random = Stream::new(1, "exp").open();
        let mut z: Vec<f64> = (0..20_000).map(|_| (2.0 * random.unit() - 1.0) * EXP_RANGE).collect();
        z.extend((0..2000).map(|_| 2.0 * random.unit() - 1.0));
        z.extend([0.0, -0.0, EXP_RANGE, -EXP_RANGE, LN_2 / 2.0, -LN_2 / 2.0, 1e-300]);
        let mut e = z.clone();
        exp_all(&mut e);
        for (z, e) in z.iter().zip(e) {
            assert!((e / z.exp() - 1.0).abs() <= 6e-16, "{z}: {e} instead of {}", z.exp());
        }
    }

    #[test]
    fn twice_artanh_is_the_logarithm_of_one_plus_q() {
        for i in 0..=10_000 {
            let q = f64::from(i) / 10_000.0;
            for q in [q, q * 1e-9] {
                let (got, want) = (twice_artanh::<false>(q / (2.0 + q)), q.ln_1p());
                assert!((got - want).abs() <= 8e-16 * want, "{q}: {got} instead of {want}");
            }
        }
    }
}
