//! Paired t test.

use super::{Outcome, Pairs, TIE, Test};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The page of `t`.
pub(super) const PAGE: &str = "\
Paired t test, two-sided.

  t  = d̄ / se,   d̄ = Σ w d / Σ w,   p = 2 P(T ≥ |t|) with n − 1 degrees of freedom
  se = √(n/(n−1) · Σ w² (d − d̄)²) / Σ w        without weights: the sample deviation / √n

The standard error with weights does not assume that heavy lists vary less (heteroscedasticity-consistent, HC1).
Undefined with fewer than 2 lists, and if all differences are one number other than 0. All 0: p = 1.
Without weights p is that of scipy.stats.ttest_rel. Cost: O(n).";

/// Paired t test, two-sided, weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Student;

impl Test for Student {
    fn run(&self, pairs: &Pairs, _seed: u64) -> Outcome {
        let n = pairs.len();
        if n < 2 {
            return Outcome::undefined(n, "fewer than 2 lists");
        }
        if pairs.all_zero() {
            return Outcome::new(0.0, 1.0, n, "all differences are 0");
        }
        let mean = pairs.mean();
        let count = n as f64;
        if pairs.differences.iter().all(|d| (d - mean).abs() <= TIE * mean.abs()) {
            return Outcome::undefined(n, "all differences are equal");
        }
        let error = (count / (count - 1.0) * pairs.scatter(mean, 2)).sqrt() / pairs.total_weight();
        let t = mean / error;
        let freedom = count - 1.0;
        // Extreme weights can make the quotient overflow; freedom ≥ 1 always makes a distribution.
        match StudentsT::new(0.0, 1.0, freedom) {
            Ok(distribution) if t.is_finite() => {
                let p = 2.0 * distribution.sf(t.abs());
                Outcome::new(t, p, n, format!("t distribution, {freedom} degrees of freedom"))
            }
            _ => Outcome::undefined(n, "no variance left after weighting"),
        }
    }
}
