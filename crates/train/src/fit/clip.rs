//! Gradient clipping: no step is longer than it may be, whatever a batch says.

/// Numbers added up by one task; also the leaves of the fixed tree of sums.
const BLOCK: usize = 16_384;
/// Sums that run side by side in a block, so that they vectorise.
const LANES: usize = 16;

/// Length of the gradient, √Σg². Squares are added in 64 bits in an order that depends on the length alone.
///
/// ```
/// assert_eq!(toprank_train::fit::clip::norm(&[3.0, 4.0]), 5.0);
/// ```
pub fn norm(gradient: &[f32]) -> f64 {
    squares(gradient).sqrt()
}

fn squares(gradient: &[f32]) -> f64 {
    if gradient.len() > BLOCK {
        let (left, right) = gradient.split_at((gradient.len() / 2).next_multiple_of(BLOCK));
        let (left, right) = rayon::join(|| squares(left), || squares(right));
        return left + right;
    }
    let mut sums = [0.0; LANES];
    let (whole, rest) = gradient.as_chunks::<LANES>();
    for numbers in whole {
        for (sum, g) in sums.iter_mut().zip(numbers) {
            *sum += f64::from(*g) * f64::from(*g);
        }
    }
    let rest: f64 = rest.iter().map(|g| f64::from(*g) * f64::from(*g)).sum();
    sums.iter().sum::<f64>() + rest
}

/// Shortens the gradient to the length `most` if it is longer, and returns the length it had. A length that is not a
/// finite number is returned as it is, the gradient left alone: no step should be taken.
///
/// Numbers that are no gradient (statistics of norms) must be out of the slice, or 0.
///
/// ```
/// let mut gradient = [3.0, 4.0];
/// assert_eq!(toprank_train::fit::clip::clip(&mut gradient, 1.0), 5.0);
/// assert_eq!(gradient, [0.6, 0.8]);
/// assert_eq!(toprank_train::fit::clip::clip(&mut gradient, f64::INFINITY), toprank_train::fit::clip::norm(&gradient));
/// ```
pub fn clip(gradient: &mut [f32], most: f64) -> f64 {
    let length = norm(gradient);
    if length.is_finite() && length > most {
        scale(gradient, (most / length) as f32);
    }
    length
}

fn scale(gradient: &mut [f32], factor: f32) {
    if gradient.len() > BLOCK {
        let (left, right) = gradient.split_at_mut((gradient.len() / 2).next_multiple_of(BLOCK));
        rayon::join(|| scale(left, factor), || scale(right, factor));
        return;
    }
    for g in gradient {
        *g *= factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toprank_core::Stream;

    fn numbers(n: usize) -> Vec<f32> {
        let mut random = Stream::new(1, "test numbers").open();
        (0..n).map(|_| (random.unit() - 0.5) as f32).collect()
    }

    #[test]
    fn the_norm_is_the_root_of_the_sum_of_squares() {
        for n in [0, 1, 15, 16, 17, BLOCK, BLOCK + 1, 5 * BLOCK + 3] {
            let gradient = numbers(n);
            let plain = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
            assert!((norm(&gradient) - plain).abs() <= 1e-13 * plain, "n = {n}");
        }
        // Squares of 32-bit numbers that would not fit into 32 bits.
        assert_eq!(norm(&[3e30, 4e30]), f64::from(3e30f32).hypot(f64::from(4e30f32)));
    }

    #[test]
    fn the_norm_has_the_same_bytes_at_any_number_of_threads() {
        let gradient = numbers(9 * BLOCK + 5);
        let of = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut gradient = gradient.clone();
                (clip(&mut gradient, 1.0).to_bits(), gradient)
            })
        };
        assert_eq!(of(1), of(4));
    }

    #[test]
    fn a_long_gradient_becomes_as_long_as_allowed_and_keeps_its_direction() {
        for n in [100, 3 * BLOCK] {
            let before = numbers(n);
            let mut gradient = before.clone();
            let length = clip(&mut gradient, 0.5);
            assert_eq!(length, norm(&before));
            assert!((norm(&gradient) - 0.5).abs() < 1e-6);
            assert!(gradient.iter().zip(&before).all(|(a, b)| (a - b * (0.5 / length) as f32).abs() < 1e-9));
        }
    }

    #[test]
    fn a_short_gradient_and_one_that_is_not_finite_are_left_alone() {
        let mut gradient = [0.3, 0.4];
        clip(&mut gradient, 0.6);
        assert_eq!(gradient, [0.3, 0.4]);
        let mut broken = [1.0, f32::NAN, 5.0];
        assert!(clip(&mut broken, 1.0).is_nan());
        assert_eq!((broken[0], broken[2]), (1.0, 5.0));
        let mut endless = [1.0, f32::INFINITY];
        assert_eq!(clip(&mut endless, 1.0), f64::INFINITY);
        assert_eq!(endless[0], 1.0);
    }
}
