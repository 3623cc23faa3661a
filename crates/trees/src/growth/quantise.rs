/*!
Gradients and Hessians as integers.

A row's gradient and Hessian become one word: the gradient, signed, in the upper 32 bits, the Hessian in the lower ones. Sums of such words do not depend on their order, and parent − child is exact. The units are powers of two, so small
that Σ|gradient| and Σ Hessian over all rows stay below 2³⁰, rounding aside: no sum over any set of rows can overflow.
What is not a multiple of the unit is rounded up or down at random, so that sums are unbiased; the random number depends on
the round and the row alone.

Leaf values are computed from finer sums, [`FixedSums`]: gradients and Hessians in units of 2⁻³² of those units, as 64-bit
integers.
*/

use toprank_core::{Collective, ModelError};

/// Gradient and Hessian of one unit of a packed word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Units {
    pub(crate) gradient: f64,
    pub(crate) hessian: f64,
}

/// Sums of the gradients and of the Hessians of some rows, in 2⁻³² of the [`Units`].
///
/// Sums of integers depend neither on the order of the rows nor on how they are divided among threads or machines: the sums
/// of any parts add up to those of the whole, to the bit.
///
/// They cannot overflow. Over all rows of a tree, n of them on all workers, Σ|gradient| is at most 2³⁰ units ([`size_sums`] never
/// comes out below the truth); that makes at most 2⁶² integers. Scaling by powers of two is exact unless the result is below 2⁻¹⁰²²,
/// which rounds to 0 in any case, and rounding to an integer adds at most ½ per row: n < 2³⁰, so |sum| < 2⁶² + 2²⁹ < 2⁶³, for these
/// rows and for any part of them. The same holds for the Hessians, which are not negative.
///
/// Precision: the error of a sum is at most n·2⁻³³ units. As Σ|gradient| over all rows is at least 2²⁹ units (unless it
/// is below 2⁻⁹⁷⁰), that is at most n·2⁻⁶² of it; the error of a running sum of `f64` can be n·2⁻⁵³ of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FixedSums {
    pub(crate) gradient: i64,
    pub(crate) hessian: i64,
}

impl FixedSums {
    /// The sums over these rows, which must be among those that the units were made for.
    pub(crate) fn of(rows: &[u32], gradient: &[f64], hessian: &[f64], units: Units) -> FixedSums {
        // Two factors: their product can be larger than any f64.
        let (per_gradient, per_hessian) = (1.0 / units.gradient, 1.0 / units.hessian);
        let fixed = |value: f64, per_unit: f64| nearest(value * per_unit * EXP_32);
        rows.iter().fold(FixedSums::default(), |sums, &row| FixedSums {
            gradient: sums.gradient + fixed(gradient[row as usize], per_gradient),
            hessian: sums.hessian + fixed(hessian[row as usize], per_hessian),
        })
    }

    /// Gradient and Hessian, each rounded once.
    pub(crate) fn values(self, units: Units) -> (f64, f64) {
        (self.gradient as f64 * EXP_M32 * units.gradient, self.hessian as f64 * EXP_M32 * units.hessian)
    }
}

/// The nearest integer, for |value| < 2⁶³; of two as near, either. `f64::round` is a call on processors whose baseline lacks
/// the instruction, and several times slower.
#[inline]
fn nearest(value: f64) -> i64 {
    // Next to 1.5·2⁵² neighbouring floats are 1 apart: the sum is rounded to an integer, and its bits count up with it.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    const HALF_STEPS: f64 = 2_251_799_813_685_248.0; // From 2⁵¹ on floats are multiples of ½.
    if value.abs() < HALF_STEPS {
        (value + SHIFT).to_bits() as i64 - SHIFT.to_bits() as i64
    } else {
        value as i64
    }
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

/// The rows of a tree on this worker.
#[derive(Clone, Copy)]
pub(crate) struct TreeRows<'a> {
    pub(crate) rows: &'a [u32],
    /// The number of the worker's row 0 among the rows of all workers.
    pub(crate) first: u64,
    pub(crate) workers: &'a dyn Collective,
}

/// Packs gradient and Hessian of the rows listed; other words stay as they are.
pub(crate) fn pack(
    gradient: &[f64],
    hessian: &[f64],
    of: TreeRows,
    seed: u64,
    packed: &mut [u64],
) -> Result<Units, ModelError> {
    let TreeRows { rows, first, workers } = of;
    let expected = "finite gradients, and finite Hessians of at least 0";
    let bad = |&&row: &&u32| {
        let (g, h) = (gradient[row as usize], hessian[row as usize]);
        !g.is_finite() || !h.is_finite() || h < 0.0
    };
    if let Some(&row) = rows.iter().find(bad) {
        let (g, h) = (gradient[row as usize], hessian[row as usize]);
        let what = format!("row {} has gradient {g} and Hessian {h}", first + u64::from(row));
        return Err(ModelError::new(what, expected));
    }
    let sums = size_sums(rows, [gradient, hessian], workers)?;
    if let Some(sum) = sums.iter().find(|sum| !sum.is_finite()) {
        return Err(ModelError::new(format!("a sum of {sum}"), expected));
    }
    let units = Units { gradient: unit(sums[0]), hessian: unit(sums[1]) };
    let (per_gradient, per_hessian) = (1.0 / units.gradient, 1.0 / units.hessian);
    for &row in rows {
        let random = mix(seed ^ (first + u64::from(row)));
        let (up_g, up_h) = ((random >> 32) as f64 * EXP_M32, (random & 0xFFFF_FFFF) as f64 * EXP_M32);
        // Positive before the cast, so that truncating is rounding down.
        let g = (gradient[row as usize] * per_gradient + up_g + OFFSET) as i64 - OFFSET as i64;
        let h = (hessian[row as usize] * per_hessian + up_h) as i32;
        packed[row as usize] = pack_one(g as i32, h);
    }
    Ok(units)
}

/// Σ|value| over the rows of all workers, of both columns: rounded up, by at most 2⁻⁶¹ of the greatest value per row. The numbers that
/// are added are whole, so the sums do not depend on how the rows are divided.
fn size_sums(rows: &[u32], columns: [&[f64]; 2], workers: &dyn Collective) -> Result<[f64; 2], ModelError> {
    let greatest =
        |column: &[f64]| rows.iter().fold(0.0, |most: f64, &row| most.max(column[row as usize].abs()));
    let mut most = columns.map(greatest);
    if workers.size() > 1 {
        let own: Vec<u8> = most.iter().flat_map(|most| most.to_le_bytes()).collect();
        for bytes in workers.gather(&own)? {
            for (most, bytes) in most.iter_mut().zip(bytes.as_chunks::<8>().0) {
                *most = most.max(f64::from_le_bytes(*bytes));
            }
        }
    }
    // Values below 2^62 of these units, so that a sum over 2³² rows is below 2⁹⁴.
    let steps = most.map(|most| 2f64.powi((exponent(most) + 1 - 62).max(-1000)));
    let mut words = [0; 4];
    for ((column, step), words) in columns.iter().zip(steps).zip(words.as_chunks_mut::<2>().0) {
        let per_step = 1.0 / step;
        let sum = rows.iter().fold(0_u128, |sum, &row| {
            let scaled = column[row as usize].abs() * per_step;
            sum + u128::from(scaled as u64 + u64::from(scaled > 0.0))
        });
        *words = [(sum >> HALF) as u64, (sum & ((1 << HALF) - 1)) as u64];
    }
    workers.sum(&mut words)?;
    let sum =
        |of: usize| ((u128::from(words[2 * of]) << HALF) + u128::from(words[2 * of + 1])) as f64 * steps[of];
    Ok([sum(0), sum(1)])
}

/// Bits of the lower half of a sum that is sent as two words; those of 2¹⁶ workers can be added up.
const HALF: u32 = 47;

/// The greatest e with 2^e ≤ value, for values that are not subnormal.
fn exponent(value: f64) -> i32 {
    ((value.to_bits() >> 52) & 0x7FF) as i32 - 1023
}

const EXP_M32: f64 = 1.0 / 4_294_967_296.0;
const EXP_32: f64 = 4_294_967_296.0;
const OFFSET: f64 = EXP_32;
/// Sums stay below 2 to this power before rounding.
const BITS: i32 = 30;

/// The smallest power of two that keeps `sum` below 2³⁰ units.
fn unit(sum: f64) -> f64 {
    if sum < f64::MIN_POSITIVE {
        return 1.0;
    }
    2f64.powi((exponent(sum) + 1 - BITS).max(-1000)) // sum < 2^(exponent + 1)
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
    use toprank_core::collective::Alone;

    fn alone(rows: &[u32]) -> TreeRows<'_> {
        TreeRows { rows, first: 0, workers: &Alone }
    }

    fn all(gradient: &[f64], hessian: &[f64], seed: u64) -> (Units, Vec<u64>) {
        let rows: Vec<u32> = (0..gradient.len() as u32).collect();
        let mut packed = vec![0; gradient.len()];
        (pack(gradient, hessian, alone(&rows), seed, &mut packed).unwrap(), packed)
    }

    proptest! {
        #[test]
        fn the_sum_of_sizes_is_the_true_one_and_never_below_it(
            values in prop::collection::vec((-1.0f64..1.0, -300i32..300), 1..200), shift in -700i32..700,
        ) {
            let values: Vec<f64> = values.iter().map(|v| v.0 * 2f64.powi(v.1) * 2f64.powi(shift)).collect();
            let rows: Vec<u32> = (0..values.len() as u32).collect();
            let [sum, _] = size_sums(&rows, [&values, &values], &Alone).unwrap();
            let most = values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
            // Scaled to the greatest value, the plain sum is right within rows·2⁻⁵².
            let scale = most.max(2f64.powi(-1000));
            let plain: f64 = values.iter().map(|v| v.abs() / scale).sum();
            prop_assert!((sum / scale - plain).abs() <= plain * 1e-13 + 1e-13, "{} {plain}", sum / scale);
            prop_assert!(sum >= most);
        }
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

    proptest! {
        #[test]
        fn fixed_sums_of_any_parts_in_any_order_add_up_to_the_whole_to_the_bit(
            (rows, order, part) in prop::collection::vec((-1.0f64..1.0, 0.0f64..1.0, -60i32..60, -60i32..60), 1..200)
                .prop_flat_map(|rows| {
                    let order: Vec<u32> = (0..rows.len() as u32).collect();
                    let part = prop::collection::vec(0usize..4, rows.len());
                    (Just(rows), Just(order).prop_shuffle(), part)
                }),
            shift in -900i32..900,
        ) {
            let scaled = |value: f64, exponent: i32| value * 2f64.powi(exponent) * 2f64.powi(shift);
            let gradient: Vec<f64> = rows.iter().map(|row| scaled(row.0, row.2)).collect();
            let hessian: Vec<f64> = rows.iter().map(|row| scaled(row.1, row.3)).collect();
            let (units, _) = all(&gradient, &hessian, 1);
            let in_order: Vec<u32> = (0..gradient.len() as u32).collect();
            let whole = FixedSums::of(&in_order, &gradient, &hessian, units);
            prop_assert_eq!(FixedSums::of(&order, &gradient, &hessian, units), whole);
            let mut parts = FixedSums::default();
            for p in 0..4 {
                let rows: Vec<u32> = order.iter().copied().filter(|&row| part[row as usize] == p).collect();
                let sums = FixedSums::of(&rows, &gradient, &hessian, units);
                parts.gradient += sums.gradient;
                parts.hessian += sums.hessian;
                // The reference: sums of f64, whose own error is at most rows·2⁻⁵³ of the sum of sizes.
                let (g, h) = sums.values(units);
                let near = |found: f64, of: &[f64], unit: f64| {
                    let (n, values) = (rows.len() as f64, || rows.iter().map(|&row| of[row as usize]));
                    let size: f64 = values().map(f64::abs).sum();
                    (found - values().sum::<f64>()).abs() <= n * (unit * 2f64.powi(-33) + size * 2f64.powi(-52))
                };
                prop_assert!(near(g, &gradient, units.gradient), "gradient {g} of {rows:?}");
                prop_assert!(near(h, &hessian, units.hessian), "Hessian {h} of {rows:?}");
            }
            prop_assert_eq!(parts, whole);
        }

        #[test]
        fn fixed_sums_are_exact_where_sums_of_floats_are(
            rows in prop::collection::vec((-1_000_000i32..1_000_000, 0i32..1_000_000), 1..300),
        ) {
            let gradient: Vec<f64> = rows.iter().map(|row| f64::from(row.0) / 1024.0).collect();
            let hessian: Vec<f64> = rows.iter().map(|row| f64::from(row.1) / 1024.0).collect();
            let (units, _) = all(&gradient, &hessian, 1);
            let every: Vec<u32> = (0..gradient.len() as u32).collect();
            let sums = FixedSums::of(&every, &gradient, &hessian, units).values(units);
            prop_assert_eq!(sums, (gradient.iter().sum::<f64>(), hessian.iter().sum::<f64>()));
        }
    }

    #[test]
    fn the_nearest_integer_is_at_most_a_half_away() {
        let mut values = vec![0.0, -0.0, 0.5, 1.5, 0.499_999_999_999_999_94, f64::MIN_POSITIVE, 5e-324];
        for power in 1..62 {
            let around = 2f64.powi(power);
            values.extend([
                around,
                around - 0.5,
                around + 0.5,
                around * 1.3,
                around.next_down(),
                around.next_up(),
            ]);
        }
        for value in values.iter().flat_map(|&value| [value, -value]) {
            let found = nearest(value);
            // The difference of two neighbours is exact.
            assert!((found as f64 - value).abs() <= 0.5, "{value}: {found}");
            if value.fract() == 0.0 {
                assert_eq!(found, value as i64);
            }
        }
    }

    #[test]
    fn fixed_sums_do_not_overflow_at_the_limit_of_their_units_whatever_the_size() {
        let below = |power: i32| 2f64.powi(power) * (1.0 - f64::EPSILON);
        for power in [1020, 500, 3, 0, -3, -500, -900] {
            for n in [1usize, 2, 1 << 10, 1 << 16] {
                // Together just below a power of two: the most units that there can be.
                let each = below(power) / n as f64;
                for sign in [1.0, -1.0] {
                    let (gradient, hessian) = (vec![sign * each; n], vec![each; n]);
                    let (units, _) = all(&gradient, &hessian, 5);
                    let every: Vec<u32> = (0..n as u32).collect();
                    let sums = FixedSums::of(&every, &gradient, &hessian, units);
                    assert_eq!(sums.hessian, sign as i64 * sums.gradient);
                    assert!(sums.hessian > (1 << 60) && sums.hessian <= (1 << 62), "{sums:?}");
                    let total = below(power);
                    let (g, h) = sums.values(units);
                    assert!((h / total - 1.0).abs() < 1e-13 && g == sign * h, "{n} rows of {each:e}: {h:e}");
                }
            }
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
            let error = pack(&[0.0, g], &[1.0, h], alone(&[0, 1]), 0, &mut [0, 0]).unwrap_err();
            assert!(error.to_string().starts_with("row 1 has gradient"), "{error}");
        }
    }
}
