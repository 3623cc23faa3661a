/*!
Significance: could the difference of two runs over the same lists be random?

Every test looks at [`Pairs`], the differences second − first of one measure list by list, and answers with an
[`Outcome`]. [`TESTS`] is the one table of them: the command, the listing and the contract tests read it.

| name            | null hypothesis                          | uses list weights |
|-----------------|------------------------------------------|-------------------|
| `t`             | the mean difference is 0                 | yes               |
| `wilcoxon`      | the differences are symmetric about 0    | no, ranks         |
| `sign`          | wins and losses are equally likely       | no, counts        |
| `randomisation` | the two runs are exchangeable per list   | yes               |
| `bootstrap`     | the mean difference is 0                 | yes               |

All are two-sided and symmetric: swapping the runs keeps p. p is never 0 and never NaN; where a test cannot say
anything (no list; one list for `t`), p is undefined (`None`). If all differences are 0, p is 1.
*/

mod correction;
mod effect;
mod monte_carlo;
mod power;
mod ranks;
mod student;
mod tukey;

pub use correction::{Correction, correct, interval_levels};
pub use effect::{Effects, WinTieLoss, biggest, effects, win_tie_loss};
pub use monte_carlo::{Bootstrap, Randomisation};
pub use power::lists_needed;
pub use ranks::{Sign, Wilcoxon};
pub use student::Student;
pub use tukey::{Tukey, TukeyKind, studentised_range_sf, tukey};

use crate::bootstrap::weighted_mean;
use serde::Serialize;
use toprank_core::catalog::unknown;
use toprank_core::{Entry, Param, ParamError, Spec, ordered_sum};

/// Differences up to this size are rounding of equal values: measures lie in [0, 1] or near it, and the rounding
/// of a mean over a list is far below.
pub const TIE: f64 = 1e-12;

/// Differences second − first of the lists on which both runs have a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Second − first, in the order of the lists.
    pub differences: Vec<f64>,
    /// Weights of those lists; `None`: all equal.
    pub weights: Option<Vec<f64>>,
    /// Index of each difference's list.
    pub lists: Vec<usize>,
    /// Lists left out: skipped by a run (not finite), or of a weight that is not a positive number.
    pub skipped: usize,
}

impl Pairs {
    /// Pairs the values of two runs; one value (NaN = skipped) per list, and perhaps one weight.
    ///
    /// # Panics
    /// If the slices differ in length.
    ///
    /// ```
    /// use toprank_metrics::significance::Pairs;
    /// let pairs = Pairs::new(&[0.5, f64::NAN, 0.25], &[0.75, 1.0, 0.25], None);
    /// assert_eq!((pairs.differences.as_slice(), pairs.skipped), (&[0.25, 0.0][..], 1));
    /// ```
    pub fn new(first: &[f64], second: &[f64], weights: Option<&[f32]>) -> Pairs {
        assert_eq!(first.len(), second.len(), "one value per list for both runs");
        assert!(weights.is_none_or(|weights| weights.len() == first.len()), "one weight per list");
        let mut pairs = Pairs { weights: weights.map(|_| Vec::new()), ..Pairs::default() };
        for (list, (&a, &b)) in first.iter().zip(second).enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[list]);
            // Infinite values have no difference either.
            if !(b - a).is_finite() || !weight.is_finite() || weight <= 0.0 {
                pairs.skipped += 1;
                continue;
            }
            pairs.differences.push(b - a);
            pairs.lists.push(list);
            if let Some(weights) = &mut pairs.weights {
                weights.push(f64::from(weight));
            }
        }
        pairs
    }

    /// The (weighted) mean difference; 0 without lists.
    pub fn mean(&self) -> f64 {
        if self.differences.is_empty() {
            return 0.0;
        }
        weighted_mean(&self.differences, self.weights.as_deref())
    }

    /// Number of lists compared.
    pub fn len(&self) -> usize {
        self.differences.len()
    }

    /// True if no list has a value under both runs.
    pub fn is_empty(&self) -> bool {
        self.differences.is_empty()
    }

    /// True if every difference is 0 up to rounding.
    fn all_zero(&self) -> bool {
        self.differences.iter().all(|d| d.abs() <= TIE)
    }

    /// Terms whose sum is the mean difference times the sum of weights.
    fn weighted_differences(&self) -> Vec<f64> {
        match &self.weights {
            None => self.differences.clone(),
            Some(weights) => self.differences.iter().zip(weights).map(|(d, w)| d * w).collect(),
        }
    }

    /// Σ w^p (d − centre)².
    fn scatter(&self, centre: f64, weight_power: i32) -> f64 {
        let terms: Vec<f64> = (0..self.len())
            .map(|i| {
                let weight = self.weights.as_ref().map_or(1.0, |w| w[i].powi(weight_power));
                weight * (self.differences[i] - centre).powi(2)
            })
            .collect();
        ordered_sum(&terms)
    }

    fn total_weight(&self) -> f64 {
        self.weights.as_deref().map_or(self.len() as f64, ordered_sum)
    }
}

/// What a test found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The test's value: t, the smaller rank sum, the number of wins, or the mean difference.
    pub statistic: Option<f64>,
    /// Two-sided p value, in (0, 1]; `None` where the test is undefined.
    pub p: Option<f64>,
    /// Lists that entered the test.
    pub lists: usize,
    /// How p was found.
    pub method: String,
}

impl Outcome {
    pub(crate) fn new(statistic: f64, p: f64, lists: usize, method: impl Into<String>) -> Outcome {
        // A tail smaller than the smallest number is not 0.
        let p = p.clamp(f64::MIN_POSITIVE, 1.0);
        Outcome { statistic: Some(statistic), p: Some(p), lists, method: method.into() }
    }

    pub(crate) fn undefined(lists: usize, why: &str) -> Outcome {
        Outcome { statistic: None, p: None, lists, method: format!("undefined: {why}") }
    }
}

/// A paired two-sided test.
pub trait Test: Send + Sync {
    /// Tests the differences. Tests that draw take their numbers from `seed` only, so the same pairs and seed give
    /// the same outcome at any number of threads.
    fn run(&self, pairs: &Pairs, seed: u64) -> Outcome;
}

/// All tests.
///
/// ```
/// use toprank_metrics::significance::{TESTS, Pairs, parse};
/// assert!(TESTS.iter().any(|entry| entry.name == "wilcoxon"));
/// let tests = parse("t,randomisation:n=10000").unwrap();
/// let pairs = Pairs::new(&[0.1, 0.5, 0.2, 0.4], &[0.3, 0.6, 0.1, 0.7], None);
/// let p = tests[1].1.run(&pairs, 1).p.unwrap();
/// assert_eq!(p, 6.0 / 16.0); // 6 of the 2⁴ sign patterns lie as far out
/// ```
pub static TESTS: &[Entry<dyn Test>] = &[
    Entry {
        name: "t",
        family: "significance",
        about: "paired t test of the mean difference",
        page: student::PAGE,
        params: &[],
        make: |_| Ok(Box::new(Student)),
    },
    Entry {
        name: "wilcoxon",
        family: "significance",
        about: "Wilcoxon signed-rank test",
        page: ranks::WILCOXON_PAGE,
        params: &[],
        make: |_| Ok(Box::new(Wilcoxon)),
    },
    Entry {
        name: "sign",
        family: "significance",
        about: "sign test of wins against losses",
        page: ranks::SIGN_PAGE,
        params: &[],
        make: |_| Ok(Box::new(Sign)),
    },
    Entry {
        name: "randomisation",
        family: "significance",
        about: "Fisher's randomisation test: random sign flips of the differences",
        page: monte_carlo::RANDOMISATION_PAGE,
        params: &[
            Param { name: "n", default: "100000", range: RANGE, about: "random sign patterns" },
            Param {
                name: "exact",
                default: "yes",
                range: "yes or no",
                about: "take all 2^lists patterns if those are not more than n (at most 20 lists)",
            },
        ],
        make: |spec| {
            let exact = match spec.args.get("exact") {
                None | Some("yes") => true,
                Some("no") => false,
                Some(other) => return Err(ParamError::new("exact", other, "yes or no")),
            };
            Ok(Box::new(Randomisation { replicates: replicates(spec, 100_000)?, exact }))
        },
    },
    Entry {
        name: "bootstrap",
        family: "significance",
        about: "paired bootstrap test of the mean difference (shift method)",
        page: monte_carlo::BOOTSTRAP_PAGE,
        params: &[Param { name: "n", default: "10000", range: RANGE, about: "resamples of the lists" }],
        make: |spec| Ok(Box::new(Bootstrap { replicates: replicates(spec, 10_000)? })),
    },
];

pub(crate) const RANGE: &str = "an integer in [1, 100000000]";

pub(crate) fn replicates(spec: &Spec, default: u32) -> Result<usize, ParamError> {
    let ok = |n: f64| n.fract() == 0.0 && (1.0..=1e8).contains(&n);
    Ok(spec.args.number("n", f64::from(default), RANGE, ok)? as usize)
}

/// A test and how it was written.
pub type NamedTest = (Spec, Box<dyn Test>);

/// A test over rows and how it was written; see [`crate::rows`].
pub type NamedRowTest = (Spec, crate::rows::RowTest);

/// Reads tests separated by commas, such as `t,wilcoxon,randomisation:n=10000`; `randomization` and `permutation` are
/// understood.
///
/// ```
/// let error = toprank_metrics::significance::parse("anova").err().unwrap();
/// assert_eq!(
///     error.to_string(),
///     "unknown test \"anova\"; expected one of t, wilcoxon, sign, randomisation, bootstrap"
/// );
/// ```
pub fn parse(text: &str) -> Result<Vec<NamedTest>, ParamError> {
    let mut tests = Vec::new();
    for mut spec in Spec::parse_all(text).map_err(|error| as_kind(error, "test"))? {
        if ["randomization", "permutation"].contains(&spec.name.as_str()) {
            spec.name = "randomisation".to_string();
        }
        let test = make(TESTS, "test", &spec)?;
        tests.push((spec, test));
    }
    Ok(tests)
}

/// An error of the grammar, which names metrics, about another kind of entry.
pub(crate) fn as_kind(error: ParamError, kind: &str) -> ParamError {
    if error.param == "metric" { ParamError::new(kind, &error.found, "name[:key=value]…") } else { error }
}

/// Makes the entry that `spec` names, refusing names, cut-offs and parameters the table does not know.
pub(crate) fn make<T: ?Sized>(table: &[Entry<T>], kind: &str, spec: &Spec) -> Result<Box<T>, ParamError> {
    let Some(entry) = table.iter().find(|entry| entry.name == spec.name) else {
        return Err(unknown(kind, &spec.name, table.iter().map(|entry| entry.name)));
    };
    if let Some(k) = spec.cut {
        return Err(ParamError::new(&format!("{kind} {}", spec.name), &format!("@{k}"), "without a cut-off"));
    }
    if let Some((key, _)) = spec.args.0.iter().find(|(key, _)| !entry.params.iter().any(|p| p.name == key)) {
        let known: Vec<&str> = entry.params.iter().map(|param| param.name).collect();
        let expected =
            if known.is_empty() { "none".to_string() } else { format!("one of {}", known.join(", ")) };
        return Err(ParamError::new(&format!("a parameter of {}", spec.name), key, &expected));
    }
    (entry.make)(spec)
}

#[cfg(test)]
mod tests;
