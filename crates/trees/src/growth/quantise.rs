/*!
Gradients and Hessians as integers.

A row's gradient and Hessian become one word: the gradient, signed, in the upper 32 bits, the Hessian in the lower ones. Sums of such words do not depend on their order, and parent − child is exact. The units are powers of two, so small
that Σ|gradient| and Σ Hessian over all rows stay below 2³⁰, rounding aside: no sum over any set of rows can overflow.
What is not a multiple of the unit is rounded up or down at random, so that sums are unbiased; the random number depends on
the round and the row alone.
*/

use toprank_core::{ModelError, ordered_sum};

/// Gradient and Hessian of one unit of a packed word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Units {
    pub(crate) gradient: f64,
    pub(crate) hessian: f64,
}

/// The sum of gradients in a packed sum.
#[inline]
pub(crate) fn gradient_of(packed: u64) -> i32 {
    (packed >> 32) as i32
}

/// The sum of Hessians in a packed sum: below 2³¹.
#[inline]
pub(crate) fn hessian_of(packed: u64) -> i32 {
    packed as i32
}

#[inline]
fn pack_one(gradient: i32, hessian: i32) -> u64 {
    (i64::from(gradient) << 32).wrapping_add(i64::from(hessian)) as u64
}

/// Packs gradient and Hessian of the rows listed; other words stay as they are.
pub(crate) fn pack(
    gradient: &[f64],
    hessian: &[f64],
    rows: &[u32],
    seed: u64,
    packed: &mut [u64],
) -> Result<Units, ModelError> {
    let mut column: Vec<f64> = rows.iter().map(|&row| gradient[row as usize].abs()).collect();
    let sum_gradient = ordered_sum(&column);
    column.clear();
    column.extend(rows.iter().map(|&row| hessian[row as usize]));
    let sum_hessian = ordered_sum(&column);
    if !sum_gradient.is_finite() || !sum_hessian.is_finite() || column.iter().any(|h| *h < 0.0) {
        let bad = |&&row: &&u32| {
            let (g, h) = (gradient[row as usize], hessian[row as usize]);
            !g.is_finite() || !h.is_finite() || h < 0.0
        };
        let what = rows.iter().find(bad).map_or("a sum that is not finite".into(), |&row| {
            format!("row {row} has gradient {} and Hessian {}", gradient[row as usize], hessian[row as usize])
        });
        return Err(ModelError::new(what, "finite gradients, and finite Hessians of at least 0"));
    }
    let units = Units { gradient: unit(sum_gradient), hessian: unit(sum_hessian) };
    let (per_gradient, per_hessian) = (1.0 / units.gradient, 1.0 / units.hessian);
    for &row in rows {
        let random = mix(seed ^ u64::from(row));
        let (up_g, up_h) = ((random >> 32) as f64 * EXP_M32, (random & 0xFFFF_FFFF) as f64 * EXP_M32);
        // Positive before the cast, so that truncating is rounding down.
        let g = (gradient[row as usize] * per_gradient + up_g + OFFSET) as i64 - OFFSET as i64;
        let h = (hessian[row as usize] * per_hessian + up_h) as i32;
        packed[row as usize] = pack_one(g as i32, h);
    }
    Ok(units)
}

const EXP_M32: f64 = 1.0 / 4_294_967_296.0;
const OFFSET: f64 = 4_294_967_296.0;
/// Sums stay below 2 to this power before rounding.
const BITS: i32 = 30;

/// The smallest power of two that keeps `sum` below 2³⁰ units.
fn unit(sum: f64) -> f64 {
    if sum < f64::MIN_POSITIVE {
        return 1.0;
    }
    let exponent = ((sum.to_bits() >> 52) & 0x7FF) as i32 - 1023; // sum < 2^(exponent + 1)
    2f64.powi((exponent + 1 - BITS).max(-1000))
}

/// A random word for a number (the finaliser of SplitMix64).
#[inline]
pub(crate) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(gradient: &[f64], hessian: &[f64], seed: u64) -> (Units, Vec<u64>) {
        let rows: Vec<u32> = (0..gradient.len() as u32).collect();
        let mut packed = vec![0; gradient.len()];
        (pack(gradient, hessian, &rows, seed, &mut packed).unwrap(), packed)
    }

    proptest! {
        #[test]
        fn any_sum_is_the_sum_of_its_parts_and_near_the_true_one(
            rows in prop::collection::vec((-1e6f64..1e6, 0.0f64..1e-3), 1..300), seed: u64, some: u64,
        ) {
            let (gradient, hessian): (Vec<f64>, Vec<f64>) = rows.iter().copied().unzip();
            let (units, packed) = all(&gradient, &hessian, seed);
            let chosen = |row: &usize| some >> (row % 64) & 1 == 1;
            let rows: Vec<usize> = (0..gradient.len()).filter(chosen).collect();
            let sum = rows.iter().fold(0u64, |sum, &row| sum.wrapping_add(packed[row]));
            let g: i64 = rows.iter().map(|&row| i64::from(gradient_of(packed[row]))).sum();
            let h: i64 = rows.iter().map(|&row| i64::from(hessian_of(packed[row]))).sum();
            prop_assert_eq!((i64::from(gradient_of(sum)), i64::from(hessian_of(sum))), (g, h));
            let n = rows.len() as f64;
            let near = |units: f64, found: i64, wanted: f64| (units * found as f64 - wanted).abs() <= n * units;
            prop_assert!(near(units.gradient, g, rows.iter().map(|&row| gradient[row]).sum()));
            prop_assert!(near(units.hessian, h, rows.iter().map(|&row| hessian[row]).sum()));
        }
    }

    #[test]
    fn the_worst_case_does_not_overflow() {
        let n = 100_000;
        for sign in [1.0, -1.0] {
            let (units, packed) = all(&vec![sign * 0.999_999; n], &vec![0.999_999; n], 7);
            let sum = packed.iter().fold(0u64, |sum, word| sum.wrapping_add(*word));
            assert!((f64::from(gradient_of(sum)) * units.gradient - sign * 0.999_999 * n as f64).abs() < 1.0);
            assert!(hessian_of(sum) > 1 << 28 && gradient_of(sum).unsigned_abs() > 1 << 28);
        }
    }

    #[test]
    fn rounding_is_right_on_average_and_exact_where_it_can_be() {
        let n = 1 << 20;
        let mut gradient = vec![1e-7; n];
        gradient[0] = 1.0; // one row takes most of the units
        let (units, packed) = all(&gradient, &vec![1.0; n], 3);
        assert!(units.gradient > 1e-9);
        let rest: i64 = packed[1..].iter().map(|&word| i64::from(gradient_of(word))).sum();
        let expected = 1e-7 * (n - 1) as f64;
        assert!((rest as f64 * units.gradient / expected - 1.0).abs() < 1e-3);
        // A power of two as the unit: equal Hessians stay equal.
        assert!(packed.iter().all(|&word| f64::from(hessian_of(word)) * units.hessian == 1.0));
    }

    #[test]
    fn zeros_and_nonsense() {
        let (_, packed) = all(&[0.0, 0.0], &[0.0, 0.0], 1);
        assert_eq!(packed, [0, 0]);
        for (g, h) in [(f64::NAN, 1.0), (1.0, -1.0), (1.0, f64::INFINITY)] {
            let error = pack(&[0.0, g], &[1.0, h], &[0, 1], 0, &mut [0, 0]).unwrap_err();
            assert!(error.to_string().starts_with("row 1 has gradient"), "{error}");
        }
    }
}
