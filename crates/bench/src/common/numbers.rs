//! Means, spreads, tests and random numbers.

use toprank::core::stream::Random;
use toprank::metrics::compare::{CompareOptions, compare};

use super::Outcome;

/// The mean; NaN of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The mean and the standard deviation (divisor n − 1).
pub fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    (centre, (squares / (values.len() as f64 - 1.0)).sqrt())
}

/// A standard normal number by Box and Muller's method.
pub fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

/// The p value of a paired test of the catalog; `None` where the test is undefined.
pub fn p_value(test: &str, first: &[f64], second: &[f64]) -> Outcome<Option<f64>> {
    let names = ["first".to_string(), "second".to_string()];
    let options = CompareOptions::with_tests(test)?;
    Ok(compare(&names, &[first, second], None, &options).pairs[0].tests[0].outcome.p)
}
