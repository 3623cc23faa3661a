/*!
The sum of the gradients of all parts of a batch, whatever the order in which they are added.

```text
for every run of 2,048 parameters:
    unit = 2^(exponent of the largest |g| of any part − 44)
    g ← g rounded to a multiple of unit          at most 2⁴⁴ units each, at most 256 parts: every sum is exact
    sum = Σ over parts of g
```

A sum of integers does not depend on its order, so neither the number of threads nor, later, the number of machines that hold the parts
changes a byte. The units are held in `f64`, whose sums of integers below 2⁵³ are exact and run in vectors; as `i64` they are the same
numbers. Rounding touches only what is below 2⁻²⁰ of the largest gradient nearby: a gradient has 24 bits.
*/

use rayon::prelude::*;
use toprank_core::collective::{Collective, CollectiveError};
use toprank_core::vectorised;

use super::workers::Workers;

/// Most parts whose sum is exact.
pub const MOST_PARTS: usize = 256;
/// Parameters that share a unit, and that one task adds up.
const RUN: usize = 2048;
/// Binary digits of a gradient, in units.
const DIGITS: i32 = 44;

/// Writes the sums of `parts` of all workers to `to`; NaN where a part is not finite.
///
/// # Errors
/// If a worker has ended.
///
/// # Panics
/// If there are more than [`MOST_PARTS`] parts, or one is shorter than `to`.
pub(crate) fn sum_parts(parts: &[&[f32]], to: &mut [f32], workers: &Workers) -> Result<(), CollectiveError> {
    assert!(parts.len() <= MOST_PARTS, "{} parts", parts.len());
    let of_run = |run: usize, length: usize| run * RUN..run * RUN + length;
    let mut most: Vec<f32> = to
        .par_chunks(RUN)
        .enumerate()
        .map(|(run, to)| {
            let here = of_run(run, to.len());
            parts.iter().fold(0.0, |most, part| largest(&part[here.clone()], most))
        })
        .collect();
    if !workers.is_alone() {
        let own: Vec<u8> = most.iter().flat_map(|most| most.to_bits().to_le_bytes()).collect();
        for bytes in workers.gather(&own)? {
            // As in `largest`, bits are ordered as the values.
            for (most, bits) in most.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *most = f32::from_bits(most.to_bits().max(u32::from_le_bytes(*bits)));
            }
        }
    }
    if workers.is_alone() {
        to.par_chunks_mut(RUN).zip(&most).enumerate().for_each(|(run, (to, &most))| {
            let mut sums = [0.0; RUN];
            let sums = &mut sums[..to.len()];
            sum_run(parts, of_run(run, to.len()), most, sums);
            to.iter_mut().zip(sums).for_each(|(to, sum)| *to = *sum as f32);
        });
        return Ok(());
    }
    // In units, so that they are integers.
    let mut words = vec![0; to.len()];
    words.par_chunks_mut(RUN).zip(&most).enumerate().for_each(|(run, (words, &most))| {
        let mut sums = [0.0; RUN];
        let sums = &mut sums[..words.len()];
        sum_run(parts, of_run(run, words.len()), most, sums);
        let unit = unit(most);
        words.iter_mut().zip(sums).for_each(|(word, sum)| *word = (*sum / unit) as i64 as u64);
    });
    workers.sum(&mut words)?;
    to.par_chunks_mut(RUN).zip(words.par_chunks(RUN)).zip(&most).for_each(|((to, words), &most)| {
        let unit = if most.is_finite() { unit(most) } else { f64::NAN };
        to.iter_mut().zip(words).for_each(|(to, &word)| *to = (word as i64 as f64 * unit) as f32);
    });
    Ok(())
}

/// The sums of a run of parameters, of numbers that are at most `most` large.
fn sum_run(parts: &[&[f32]], here: std::ops::Range<usize>, most: f32, sums: &mut [f64]) {
    if !most.is_finite() {
        return sums.fill(f64::NAN);
    }
    // Adding and taking away 1.5·2⁵² units rounds to a unit.
    let rounder = 1.5 * 2f64.powi(52) * unit(most);
    for part in parts {
        add_rounded(sums, &part[here.clone()], rounder);
    }
}

/// The unit for numbers of at most this size: a power of two, at least 2⁻⁴⁴ of it.
fn unit(largest: f32) -> f64 {
    if largest == 0.0 {
        return 1.0;
    }
    // The exponent of a normal f64, which every f32 is, above 0.
    let exponent = (f64::from(largest).to_bits() >> 52) as i32 - 1023;
    2f64.powi(exponent + 1 - DIGITS)
}

vectorised! {
    /// The larger of `most` and the largest absolute value; NaN or infinity if a number is not finite.
    fn largest(values: &[f32], most: f32) -> f32 {
        let mut lanes = [0u32; 16];
        // Without their sign, the bits of floats are ordered as their values; those of NaN are above infinity.
        for (i, value) in values.iter().enumerate() {
            let bits = value.to_bits() & 0x7fff_ffff;
            let lane = &mut lanes[i % 16];
            *lane = if bits > *lane { bits } else { *lane };
        }
        f32::from_bits(lanes.into_iter().fold(most.to_bits(), u32::max))
    }
}

vectorised! {
    fn add_rounded(sums: &mut [f64], values: &[f32], rounder: f64) {
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += (f64::from(*value) + rounder) - rounder;
        }
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::Stream;
    use toprank_core::collective::Threads;

    use super::*;

    /// Gradients of very different sizes.
    fn parts(count: usize, length: usize) -> Vec<Vec<f32>> {
        let mut random = Stream::new(3, "parts").open();
        let mut number = || ((random.unit() - 0.5) * 10f64.powf(24.0 * random.unit() - 20.0)) as f32;
        (0..count).map(|_| (0..length).map(|_| number()).collect()).collect()
    }

    fn alone(parts: &[&[f32]], to: &mut [f32]) {
        sum_parts(parts, to, &Workers::default()).unwrap();
    }

    fn sum(parts: &[&[f32]], length: usize) -> Vec<u32> {
        let mut to = vec![0.0; length];
        sum_parts(parts, &mut to, &Workers::default()).unwrap();
        to.into_iter().map(f32::to_bits).collect()
    }

    #[test]
    fn the_sum_does_not_depend_on_the_order_of_the_parts() {
        let length = 2 * RUN + 17;
        let all = parts(MOST_PARTS, length);
        let mut order: Vec<&[f32]> = all.iter().map(Vec::as_slice).collect();
        let expected = sum(&order, length);
        for _ in 0..3 {
            order.rotate_left(77);
            order.swap(3, 200);
            assert!(sum(&order, length) == expected);
        }
    }

    #[test]
    fn the_sum_is_exact_to_single_precision_of_the_largest_part() {
        let length = RUN + 5;
        let all = parts(9, length);
        let order: Vec<&[f32]> = all.iter().map(Vec::as_slice).collect();
        let mut found = vec![0.0; length];
        alone(&order, &mut found);
        for (run, found) in found.chunks(RUN).enumerate() {
            let here = |part: &Vec<f32>| part[run * RUN..][..found.len()].to_vec();
            let near: Vec<Vec<f32>> = all.iter().map(here).collect();
            let most = near.iter().flatten().fold(0f32, |most, value| most.max(value.abs()));
            for (i, found) in found.iter().enumerate() {
                let exact: f64 = near.iter().map(|part| f64::from(part[i])).sum();
                let tolerance = exact.abs() * 1e-7 + f64::from(most) * 9.0 * 2f64.powi(-44);
                assert!((f64::from(*found) - exact).abs() <= tolerance, "{found} {exact}");
            }
        }
    }

    #[test]
    fn a_part_that_is_not_finite_makes_the_sum_nan_and_zeros_stay_zero() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut to = [1.0; 3];
            alone(&[&[0.0, bad, 1.0], &[0.0; 3]], &mut to);
            assert!(to.iter().all(|g| g.is_nan()));
        }
        let mut to = [1.0; 2];
        alone(&[&[0.0, -0.0], &[0.0, 0.0]], &mut to);
        assert_eq!(to, [0.0; 2]);
        alone(&[], &mut to);
        assert_eq!(to, [0.0; 2]);
        let mut tiny = [0.0; 2];
        alone(&[&[f32::MIN_POSITIVE, 1e-44], &[f32::MIN_POSITIVE, 1e-44]], &mut tiny);
        assert_eq!(tiny, [2.0 * f32::MIN_POSITIVE, 2.0 * 1e-44]);
        let mut large = [0.0];
        alone(&[&[f32::MAX / 2.0], &[f32::MAX / 2.0]], &mut large);
        assert_eq!(large, [f32::MAX]);
    }

    #[test]
    fn the_sum_of_several_workers_is_that_of_one_to_the_bit() {
        let length = 2 * RUN + 17;
        let mut all = parts(40, length);
        all[33][5] = f32::NAN;
        let order: Vec<&[f32]> = all.iter().map(Vec::as_slice).collect();
        let expected = sum(&order, length);
        let found: Vec<Vec<u32>> = std::thread::scope(|scope| {
            let parts = [&order[..11], &[], &order[11..]];
            let runs: Vec<_> = Threads::new(3)
                .into_iter()
                .zip(parts)
                .map(|(worker, parts)| {
                    scope.spawn(move || {
                        let mut to = vec![0.0; length];
                        sum_parts(parts, &mut to, &Workers::new(worker)).unwrap();
                        to.into_iter().map(f32::to_bits).collect()
                    })
                })
                .collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        let same = |a: u32, b: u32| a == b || f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan();
        assert!(found.iter().all(|sums| sums.iter().zip(&expected).all(|(a, b)| same(*a, *b))));
    }
}
