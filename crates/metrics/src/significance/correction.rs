//! Corrections for many tests.

use serde::{Deserialize, Serialize};
use toprank_core::{ParamError, catalog};

/// How p values of a family of tests are corrected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Correction {
    /// As they are.
    None,
    /// The probability of any false finding stays below the level, under any dependence.
    /// Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6,
    /// 1979.
    #[default]
    Holm,
    /// The expected fraction of false findings among all findings stays below the level (independent or positively
    /// dependent tests). Source: Benjamini, Hochberg, "Controlling the false discovery rate", JRSS B 57(1), 1995.
    Bh,
}

impl std::fmt::Display for Correction {
    /// The name as a reader knows it: Holm, Benjamini–Hochberg; nothing for none.
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Correction::None => "",
            Correction::Holm => "Holm",
            Correction::Bh => "Benjamini–Hochberg",
        })
    }
}

impl std::str::FromStr for Correction {
    type Err = ParamError;

    fn from_str(text: &str) -> Result<Correction, ParamError> {
        match text {
            "none" => Ok(Correction::None),
            "holm" => Ok(Correction::Holm),
            "bh" | "benjamini-hochberg" => Ok(Correction::Bh),
            _ => Err(catalog::unknown("correction", text, ["none", "holm", "bh"])),
        }
    }
}

/// Corrected p values, in the order given. Undefined tests stay undefined and do not count as tests.
///
/// ```text
/// m tests, sorted p₁ ≤ … ≤ p_m
/// Holm: max over j ≤ i of (m − j + 1) p_j      BH: min over j ≥ i of (m / j) p_j      both at most 1
/// ```
/// Cost: O(m log m).
///
/// ```
/// use toprank_metrics::significance::{correct, Correction};
/// let p = [Some(0.01), None, Some(0.04), Some(0.03)];
/// assert_eq!(correct(&p, Correction::Holm), [Some(0.03), None, Some(0.06), Some(0.06)]);
/// assert_eq!(correct(&p, Correction::Bh), [Some(0.03), None, Some(0.04), Some(0.04)]);
/// ```
pub fn correct(p_values: &[Option<f64>], method: Correction) -> Vec<Option<f64>> {
    let mut corrected = p_values.to_vec();
    let mut order: Vec<usize> = (0..p_values.len()).filter(|&i| p_values[i].is_some()).collect();
    let p = |i: usize| p_values[i].unwrap_or(1.0);
    order.sort_by(|&a, &b| p(a).total_cmp(&p(b)));
    let m = order.len();
    match method {
        Correction::None => {}
        Correction::Holm => {
            let mut most = 0.0_f64;
            for (place, &i) in order.iter().enumerate() {
                most = most.max((m - place) as f64 * p(i)).min(1.0);
                corrected[i] = Some(most);
            }
        }
        Correction::Bh => {
            let mut least = 1.0_f64;
            for (place, &i) in order.iter().enumerate().rev() {
                // m/rank rounded first can fall below 1 · p for no reason; multiply first.
                least = least.min(m as f64 * p(i) / (place + 1) as f64);
                corrected[i] = Some(least);
            }
        }
    }
    corrected
}

/// The confidence level of each difference's interval that goes with its corrected p value, so that interval and test
/// agree where they measure the same thing.
///
/// ```text
/// α = 1 − level;  m tests, sorted p₁ ≤ … ≤ p_m
/// none: level      Holm: 1 − α/(m − i + 1) for the i-th      BH: 1 − R α/m, R = max(1, number of findings at α)
/// ```
/// An undefined test keeps `level`. Sources: Holm 1979; Benjamini, Yekutieli, "False discovery rate-adjusted multiple
/// confidence intervals for selected parameters", JASA 100, 2005.
///
/// ```
/// use toprank_metrics::significance::{interval_levels, Correction};
/// let levels = interval_levels(&[Some(0.01), None, Some(0.04)], Correction::Holm, 0.95);
/// assert_eq!(levels, [1.0 - (1.0 - 0.95) / 2.0, 0.95, 1.0 - (1.0 - 0.95) / 1.0]);
/// ```
pub fn interval_levels(p_values: &[Option<f64>], method: Correction, level: f64) -> Vec<f64> {
    let mut levels = vec![level; p_values.len()];
    let mut order: Vec<usize> = (0..p_values.len()).filter(|&i| p_values[i].is_some()).collect();
    order.sort_by(|&a, &b| p_values[a].unwrap_or(1.0).total_cmp(&p_values[b].unwrap_or(1.0)));
    let (m, alpha) = (order.len(), 1.0 - level);
    let findings = correct(p_values, method).iter().flatten().filter(|p| **p <= alpha).count().max(1);
    for (place, &i) in order.iter().enumerate() {
        levels[i] = match method {
            Correction::None => level,
            Correction::Holm => 1.0 - alpha / (m - place) as f64,
            Correction::Bh => 1.0 - alpha * findings as f64 / m as f64,
        };
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_worked_example_of_benjamini_and_hochberg() {
        // Table of the 1995 paper: 15 p values; at level 0.05 Holm (as Hochberg there) finds 3, BH finds 4.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        let p: Vec<Option<f64>> = p.iter().copied().map(Some).collect();
        let found = |method| correct(&p, method).iter().filter(|p| p.unwrap() <= 0.05).count();
        assert_eq!((found(Correction::None), found(Correction::Holm), found(Correction::Bh)), (9, 3, 4));
    }

    #[test]
    fn corrections_are_read_by_name() {
        assert_eq!("bh".parse(), Ok(Correction::Bh));
        let error = "bonferroni".parse::<Correction>().unwrap_err();
        assert_eq!(error.to_string(), "unknown correction \"bonferroni\"; expected one of none, holm, bh");
    }

    proptest! {
        #[test]
        fn corrected_values_are_larger_keep_the_order_and_holm_is_stricter(
            p in prop::collection::vec(prop::option::of(1e-9..=1.0f64), 0..12),
        ) {
            let holm = correct(&p, Correction::Holm);
            let bh = correct(&p, Correction::Bh);
            for i in 0..p.len() {
                prop_assert_eq!(p[i].is_some(), holm[i].is_some() && bh[i].is_some());
                let Some(raw) = p[i] else { continue };
                prop_assert!(raw * (1.0 - 1e-12) <= bh[i].unwrap() && bh[i].unwrap() <= holm[i].unwrap() * (1.0 + 1e-12));
                prop_assert!(holm[i].unwrap() <= 1.0);
                for j in 0..p.len() {
                    if p[j].is_some_and(|other| raw <= other) {
                        prop_assert!(holm[i] <= holm[j] && bh[i] <= bh[j]);
                    }
                }
            }
        }
    }
}
