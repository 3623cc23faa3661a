//! Noise that perturbs scores into random orders.

use toprank_core::stream::Random;

/// A Gumbel-distributed number: −ln(−ln U).
pub(super) fn gumbel(random: &mut Random) -> f64 {
    of_unit(random.unit())
}

fn of_unit(u: f64) -> f64 {
    const SMALLEST: f64 = 1.0 / (1u64 << 54) as f64; // so that U = 0 has a finite result
    -(-u.max(SMALLEST).ln()).ln()
}

#[cfg(test)]
mod tests {
    use toprank_core::Stream;

    #[test]
    fn a_draw_of_zero_is_the_least_number_and_finite() {
        assert!(super::of_unit(0.0).is_finite());
        assert!(super::of_unit(0.0) < super::of_unit(1.0 / (1u64 << 53) as f64));
    }

    #[test]
    fn the_mean_is_eulers_constant_and_the_variance_pi_squared_over_six() {
        let mut random = Stream::new(1, "gumbel").open();
        let x: Vec<f64> = (0..100_000).map(|_| super::gumbel(&mut random)).collect();
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / x.len() as f64;
        assert!((mean - 0.577_215_664_9).abs() < 0.02, "{mean}");
        assert!((variance - std::f64::consts::PI.powi(2) / 6.0).abs() < 0.05, "{variance}");
    }
}
