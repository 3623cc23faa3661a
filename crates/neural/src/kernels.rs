//! Loops that layers share, written so that the compiler turns them into vector instructions.

// A function that is not inlined into a vectorised one is compiled without its instructions.
#![allow(clippy::inline_always)]

use toprank_core::vectorised;

/// Sums in so many lanes run in vectors; the order of adding up is fixed.
const LANES: usize = 16;

/// eˣ with a relative error below 2⁻²², without a branch: a polynomial on [−ln 2 / 2, ln 2 / 2], times a power of two. Below −87 it is
/// e⁻⁸⁷, above 88 e⁸⁸; NaN stays NaN.
///
/// ```
/// assert!((toprank_neural::exp(1.0) - std::f32::consts::E).abs() < 1e-6);
/// ```
///
/// Source of the coefficients: Moshier, "Methods and programs for mathematical functions", 1989 (the Cephes library, `expf`).
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Adding 1.5·2²³ rounds to an integer and leaves it in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * 0.693_359_4) + n * 2.121_944_4e-4;
    let mut p = 1.987_569_1e-4;
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = p * r + c;
    }
    let scale = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    (p * r * r + r + 1.0) * scale
}

/// The error function with an absolute error below 6·10⁻⁷.
///
/// Source: Abramowitz, Stegun, "Handbook of mathematical functions", 1964, formula 7.1.26.
#[inline(always)]
pub(crate) fn erf(x: f32) -> f32 {
    let size = x.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * size);
    let mut p = 1.061_405_4;
    for c in [-1.453_152_1, 1.421_413_8, -0.284_496_72, 0.254_829_6] {
        p = p * t + c;
    }
    (1.0 - p * t * exp(-size * size)).copysign(x)
}

/// Σ f(i) for i below `count`, in a fixed order of sixteen sums side by side.
///
/// ```
/// assert_eq!(toprank_neural::sum(20, |i| i as f32), 190.0);
/// ```
#[inline(always)]
pub fn sum(count: usize, f: impl Fn(usize) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let whole = count - count % LANES;
    let mut i = 0;
    while i < whole {
        for (k, lane) in lanes.iter_mut().enumerate() {
            *lane += f(i + k);
        }
        i += LANES;
    }
    for (k, lane) in lanes.iter_mut().enumerate().take(count - whole) {
        *lane += f(whole + k);
    }
    let mut half = LANES / 2;
    while half > 0 {
        for k in 0..half {
            lanes[k] += lanes[k + half];
        }
        half /= 2;
    }
    lanes[0]
}

vectorised! {
    /// Adds the sums of the columns of `rows` to `to`.
    pub(crate) fn add_columns(rows: &[f32], to: &mut [f32]) {
        for row in rows.chunks_exact(to.len()) {
            to.iter_mut().zip(row).for_each(|(to, value)| *to += value);
        }
    }
}

vectorised! {
    /// `to += values`.
    pub(crate) fn add(to: &mut [f32], values: &[f32]) {
        to.iter_mut().zip(values).for_each(|(to, value)| *to += value);
    }
}

vectorised! {
    /// `to += factor · values`.
    pub(crate) fn add_scaled(to: &mut [f32], factor: f32, values: &[f32]) {
        to.iter_mut().zip(values).for_each(|(to, value)| *to += factor * value);
    }
}

vectorised! {
    /// Adds `offset` to every row.
    pub(crate) fn add_to_rows(rows: &mut [f32], offset: &[f32]) {
        for row in rows.chunks_exact_mut(offset.len()) {
            row.iter_mut().zip(offset).for_each(|(value, offset)| *value += offset);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_exact_to_six_digits_and_stays_finite() {
        for k in -870_000..=880_000 {
            let x = k as f32 / 10_000.0;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) / exact - 1.0).abs() < 2.4e-7, "{x}: {} {exact}", exp(x));
        }
        assert_eq!(exp(-1e9), exp(-87.0));
        assert_eq!(exp(f32::INFINITY), exp(88.0));
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn erf_is_exact_to_six_digits() {
        for k in -50_000..=50_000 {
            let x = k as f32 / 10_000.0;
            assert!((f64::from(erf(x)) - libm::erf(f64::from(x))).abs() < 6e-7, "{x}");
        }
    }

    #[test]
    fn sums_in_lanes_equal_plain_sums() {
        for count in 0..70 {
            let values: Vec<f32> = (0..count).map(|i| (i * i % 31) as f32).collect();
            assert_eq!(sum(count, |i| values[i]), values.iter().sum::<f32>(), "{count}");
        }
    }
}
