//! Random quantities that are the same bits on every machine: integer arithmetic, + − × ÷ √, and crate `libm`.

use toprank_core::stream::Random;

/// Noise of mean 0 and variance 1, nearly normal: the sum of four 16-bit uniforms of one draw (Irwin–Hall), so it
/// ends at ±3.46 and costs no logarithm.
pub(super) fn noise(random: &mut Random) -> f64 {
    let bits = random.bits();
    let sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    // Mean 2 × 65535, variance 4 × (65536² − 1) / 12.
    (sum as f64 - 131_070.0) * (1.0 / 37_837.227)
}

/// A positive number with mean `mean` and a heavy tail: log-normal with deviation `spread` of the logarithm.
pub(super) fn log_normal(random: &mut Random, mean: f64, spread: f64) -> f64 {
    mean * libm::exp(spread * noise(random) - 0.5 * spread * spread)
}

/// An integer ≥ `least` around `mean` with a heavy tail: lengths of lists and sessions.
pub(super) fn length(random: &mut Random, least: u64, mean: f64, spread: f64) -> u64 {
    (log_normal(random, mean, spread).round() as u64).max(least)
}

/// 1 / (1 + e^−x).
pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

/// True with probability `p`.
pub(super) fn chance(random: &mut Random, p: f64) -> bool {
    random.unit() < p
}

/// A rank from 0 on below `n`, long-tailed: rank r has probability ln((r+2)/(r+1)) / ln(n+1), about 1/(r+1).
pub(super) fn long_tail(random: &mut Random, n: u64) -> u64 {
    let rank = libm::exp(random.unit() * libm::log(n as f64 + 1.0)) as u64;
    (rank.max(1) - 1).min(n - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toprank_core::Stream;

    #[test]
    fn noise_has_mean_0_and_variance_1() {
        let mut random = Stream::new(1, "test").open();
        let draws: Vec<f64> = (0..100_000).map(|_| noise(&mut random)).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / 1e5;
        // Three standard errors: 3/√n for the mean, about 3·√(1.7/n) for the variance.
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.013, "{mean} {variance}");
    }

    #[test]
    fn the_long_tail_follows_its_formula() {
        let mut random = Stream::new(1, "test").open();
        let mut counts = [0u32; 100];
        for _ in 0..100_000 {
            counts[long_tail(&mut random, 100) as usize] += 1;
        }
        for (rank, &count) in counts.iter().enumerate() {
            let r = rank as f64;
            let expected = 1e5 * ((r + 2.0) / (r + 1.0)).ln() / 101.0_f64.ln();
            // Five standard deviations of a Poisson count.
            assert!(
                (f64::from(count) - expected).abs() < 5.0 * expected.sqrt(),
                "{rank}: {count} {expected}"
            );
        }
        assert_eq!(long_tail(&mut random, 1), 0);
    }
}
