//! How many lists does it take to see a difference?

use statrs::distribution::{ContinuousCDF, Normal};

use super::Pairs;

/// The number of lists after which a paired two-sided test at the level of significance `alpha` finds a mean difference of
/// `difference` with probability `power`, if single differences keep the deviation s that they have among `pairs`:
///
/// ```text
/// n = ⌈((z_{1 − alpha/2} + z_power) · s / difference)²⌉,    s² = Σ (d − d̄)² / (n − 1)
/// ```
///
/// The normal approximation; a t test needs one or two lists more. `None` where it has no answer: fewer than 2 lists, a difference
/// of 0, or probabilities outside of (0, 1). Weights are not used. Cost: O(lists).
///
/// Source: Sakai, "Laboratory Experiments in Information Retrieval", 2018, chapter 6.
///
/// ```
/// use toprank_metrics::significance::{Pairs, lists_needed};
/// let pairs = Pairs::new(&[0.0, 0.0, 0.0, 0.0], &[0.1, -0.1, 0.1, -0.1], None);
/// assert_eq!(lists_needed(&pairs, 0.01, 0.05, 0.8), Some(1047)); // (1.960 + 0.842)² · (0.1155 / 0.01)²
/// ```
pub fn lists_needed(pairs: &Pairs, difference: f64, alpha: f64, power: f64) -> Option<usize> {
    let inside = |p: f64| p > 0.0 && p < 1.0;
    if pairs.len() < 2 || difference == 0.0 || difference.is_nan() || !inside(alpha) || !inside(power) {
        return None;
    }
    let n = pairs.len() as f64;
    let mean = toprank_core::ordered_sum(&pairs.differences) / n;
    let squares: Vec<f64> = pairs.differences.iter().map(|d| (d - mean).powi(2)).collect();
    let deviation = (toprank_core::ordered_sum(&squares) / (n - 1.0)).sqrt();
    let normal = Normal::standard();
    let quantiles = normal.inverse_cdf(1.0 - alpha / 2.0) + normal.inverse_cdf(power);
    let lists = (quantiles * deviation / difference).powi(2).ceil();
    // Beyond this the number says no more than "too many".
    (lists.is_finite() && lists < 1e15).then(|| (lists as usize).max(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_difference_takes_four_times_the_lists_and_nonsense_has_no_answer() {
        let second: Vec<f64> = (0..50).map(|i| f64::from(i % 7) * 0.03 - 0.05).collect();
        let pairs = Pairs::new(&[0.0; 50], &second, None);
        let needed = |difference| lists_needed(&pairs, difference, 0.05, 0.8).unwrap() as f64;
        assert!((needed(0.005) / needed(0.01) - 4.0).abs() < 0.02);
        assert!(lists_needed(&pairs, 0.01, 0.01, 0.8) > lists_needed(&pairs, 0.01, 0.05, 0.8));
        assert!(lists_needed(&pairs, 0.01, 0.05, 0.95) > lists_needed(&pairs, 0.01, 0.05, 0.8));
        for (difference, alpha, power) in
            [(0.0, 0.05, 0.8), (0.1, 0.0, 0.8), (0.1, 0.05, 1.0), (f64::NAN, 0.05, 0.8)]
        {
            assert_eq!(lists_needed(&pairs, difference, alpha, power), None);
        }
        assert_eq!(lists_needed(&Pairs::new(&[0.1], &[0.3], None), 0.1, 0.05, 0.8), None);
    }

    #[test]
    fn the_promised_power_is_reached_on_samples_of_that_size() {
        // 2,000 samples of as many normal differences as are needed: about 80 % of the tests find the true difference.
        let stream = toprank_core::Stream::new(1, "power of a test");
        let mut random = stream.open();
        let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let pilot: Vec<f64> = (0..4000).map(|_| normal()).collect();
        let zero = vec![0.0; pilot.len()];
        let n = lists_needed(&Pairs::new(&zero, &pilot, None), 0.25, 0.05, 0.8).unwrap();
        let found = (0..2000)
            .filter(|_| {
                let sample: Vec<f64> = (0..n).map(|_| 0.25 + normal()).collect();
                let pairs = Pairs::new(&zero[..n], &sample, None);
                super::super::Test::run(&super::super::Student, &pairs, 1).p.is_some_and(|p| p <= 0.05)
            })
            .count();
        assert!((1520..1680).contains(&found), "{found} of 2000 with {n} lists");
    }
}
