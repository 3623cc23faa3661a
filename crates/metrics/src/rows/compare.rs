//! Runs on the same rows compared: intervals and tests of every metric.

use toprank_core::{Entry, Lists, Param, ParamError, Spec};

use super::sample::{Resampled, Sample};
use super::{bca, delong, permutation};
use crate::bootstrap::{IntervalKind, IntervalOptions, Unit};
use crate::compare::{
    CompareOptions, Comparison, LabelResult, PairResult, RunMean, TestResult, correct_over_all, pair_of_lists,
};
use crate::evaluate::{EvaluateError, Evaluation};
use crate::measure::Measure;
use crate::significance::{NamedRowTest, Outcome, RANGE, as_kind, make, replicates};

/// A test of two runs on the same rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowTest {
    /// DeLong's test of two AUROCs.
    Delong,
    /// Paired stratified bootstrap over rows, shift method, with this number of resamples.
    Bootstrap(usize),
    /// Permutation over rows with this number of random permutations.
    Permutation(usize),
}

/// Every test over rows.
///
/// ```
/// use toprank_metrics::rows::{ROW_TESTS, RowTest, parse_tests};
/// assert_eq!(ROW_TESTS.len(), 3);
/// assert_eq!(parse_tests("permutation:n=500").unwrap()[0].1, RowTest::Permutation(500));
/// ```
pub static ROW_TESTS: &[Entry<RowTest>] = &[
    Entry {
        name: "delong",
        family: "significance over rows",
        about: "DeLong's test of two AUROCs; undefined for other metrics",
        page: DELONG_PAGE,
        params: &[],
        make: |_| Ok(Box::new(RowTest::Delong)),
    },
    Entry {
        name: "bootstrap",
        family: "significance over rows",
        about: "paired stratified bootstrap over rows (shift method)",
        page: BOOTSTRAP_PAGE,
        params: &[Param { name: "n", default: "2000", range: RANGE, about: "resamples of the rows" }],
        make: |spec| Ok(Box::new(RowTest::Bootstrap(replicates(spec, 2000)?))),
    },
    Entry {
        name: "permutation",
        family: "significance over rows",
        about: "permutation test: each row swaps its ranks under the two runs at random",
        page: PERMUTATION_PAGE,
        params: &[Param { name: "n", default: "2000", range: RANGE, about: "random permutations" }],
        make: |spec| Ok(Box::new(RowTest::Permutation(replicates(spec, 2000)?))),
    },
];

const DELONG_PAGE: &str = "\
DeLong's test of the difference of two AUROCs on the same rows, two-sided: z = difference / standard error, p = 2 Φ(−|z|).

Source: DeLong, DeLong, Clarke-Pearson, \"Comparing the areas under two or more correlated receiver operating characteristic
curves: a nonparametric approach\", Biometrics 44, 1988, computed in O(n log n) as Sun, Xu, IEEE Signal Processing Letters
21(11), 2014. Item weights are used. Undefined for metrics other than AUROC, with a rule for ties other than averaged, and
with fewer than two rows of a class.";

const BOOTSTRAP_PAGE: &str = "\
Paired bootstrap test over rows, two-sided, shift method.

  p = (hits + 1) / (N + 1),   hits: resamples of N with |d* − d| ≥ |d|,   d: difference of the metric

Both runs are evaluated on the same resampled rows; relevant and other rows are drawn separately in binary data. Source: Efron,
Tibshirani, \"An Introduction to the Bootstrap\", 1993, chapter 16. Cost: O(N rows) for each run and metric.";

const PERMUTATION_PAGE: &str = "\
Permutation test over rows, two-sided: had each row swapped its ranks under the two runs by the toss of a coin, how often
would the difference be at least as large?

  p = (hits + 1) / (N + 1),   hits: permutations of N with |d*| ≥ |d|

Scores have no common scale, so the mid-ranks of the rows are swapped. Source: Bandos, Rockette, Gur, \"A permutation test
sensitive to differences in areas for comparing ROC curves from a paired design\", Statistics in Medicine 24, 2005. Cost:
O(N rows) for each run and metric.";

/// Reads tests over rows separated by commas, such as `delong,permutation:n=10000`; `randomisation` is understood as
/// `permutation`.
///
/// # Errors
/// If a test or a parameter is unknown.
///
/// ```
/// let error = toprank_metrics::rows::parse_tests("t").err().unwrap();
/// assert_eq!(error.to_string(), "unknown test over rows \"t\"; expected one of delong, bootstrap, permutation");
/// ```
pub fn parse_tests(text: &str) -> Result<Vec<NamedRowTest>, ParamError> {
    let mut tests = Vec::new();
    for mut spec in Spec::parse_all(text).map_err(|error| as_kind(error, "test"))? {
        if ["randomisation", "randomization"].contains(&spec.name.as_str()) {
            spec.name = "permutation".to_string();
        }
        let test = *make(ROW_TESTS, "test over rows", &spec)?;
        tests.push((spec, test));
    }
    Ok(tests)
}

/// Compares runs on the same rows, measure by measure; `evaluations[run]` must be that of `runs[run]`, one score per entry.
/// Of `options`, the tests of lists and Tukey's test are not used; p values are corrected over all pairs and measures.
///
/// For multi-label data the comparison is that of the means over labels, and each pair holds the labels one by one.
///
/// # Errors
/// As [`crate::evaluate`].
///
/// # Panics
/// If names, runs and evaluations differ in number.
///
/// ```
/// use toprank_core::{Lists, Policy};
/// use toprank_metrics::compare::CompareOptions;
/// use toprank_metrics::{Measure, evaluate, rows};
/// let lists = Lists::from_lengths(&[6], vec![1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
/// let (a, b) = ([0.9, 0.1, 0.4, 0.5, 0.8, 0.2], [0.1, 0.2, 0.9, 0.8, 0.3, 0.7]);
/// let measures = Measure::parse_all("auroc", &Policy::default()).unwrap();
/// let found = [&a, &b].map(|scores| evaluate(&lists, scores, &measures).unwrap());
/// let tests = rows::parse_tests("delong").unwrap();
/// let names = ["a".to_string(), "b".to_string()];
/// let options = CompareOptions::default();
/// let compared = rows::compare_rows(&names, &lists, &[&a, &b], &measures, &found, &tests, &options).unwrap();
/// assert!(compared[0].pairs[0].tests[0].outcome.p.unwrap() < 0.5);
/// ```
pub fn compare_rows(
    names: &[String],
    lists: &Lists,
    runs: &[&[f64]],
    measures: &[Measure],
    evaluations: &[Evaluation],
    tests: &[NamedRowTest],
    options: &CompareOptions,
) -> Result<Vec<Comparison>, EvaluateError> {
    assert!(names.len() == runs.len() && runs.len() == evaluations.len(), "one evaluation per run");
    let sample = Sample::new(lists, runs, measures)?;
    let interval = IntervalOptions { seed: options.seed, ..options.interval };
    let drawn = tests.iter().map(|(_, test)| if let RowTest::Bootstrap(n) = test { *n } else { 0 });
    let resampled = sample.bootstrap(&bca(&interval), drawn.max().unwrap_or(0));
    let comparer = Comparer { names, sample: &sample, resampled, evaluations, tests, options, interval };
    let permuted: Vec<Permuted> = pairs_of(runs.len()).map(|pair| comparer.permuted(pair)).collect();
    let mut found: Vec<Comparison> = (0..measures.len()).map(|m| comparer.measure(m, &permuted)).collect();
    correct_over_all(&mut found);
    Ok(found)
}

/// The pairs (0, 1), (0, 2), …, (1, 2), ….
fn pairs_of(runs: usize) -> impl Iterator<Item = [usize; 2]> {
    (0..runs).flat_map(move |first| (first + 1..runs).map(move |second| [first, second]))
}

/// For each test by permutation the differences of all measures, permutation by permutation.
type Permuted = Vec<Option<Vec<Vec<f64>>>>;

struct Comparer<'a> {
    names: &'a [String],
    sample: &'a Sample<'a>,
    resampled: Resampled<'a>,
    evaluations: &'a [Evaluation],
    tests: &'a [NamedRowTest],
    options: &'a CompareOptions,
    interval: IntervalOptions,
}

impl Comparer<'_> {
    fn permuted(&self, pair: [usize; 2]) -> Permuted {
        let of = |(_, test): &NamedRowTest| match test {
            RowTest::Permutation(n) => {
                Some(permutation::differences(self.sample, pair, *n, self.options.seed, self.several()))
            }
            _ => None,
        };
        self.tests.iter().map(of).collect()
    }

    /// Whether there are labels to look at one by one.
    fn several(&self) -> bool {
        self.sample.lists.len() > 1
    }

    fn measure(&self, m: usize, permuted: &[Permuted]) -> Comparison {
        let measure = &self.sample.measures[m];
        // DeLong's variance, if it is that of the measure on every label that counts.
        let influences: Option<Vec<_>> = delong::applies(measure)
            .then(|| {
                let of_run = |(run, evaluation): (usize, &Evaluation)| {
                    let found = delong::influences(self.sample, run, measure);
                    delong::complete(&found, &evaluation.results[m].per_list).then_some(found)
                };
                self.evaluations.iter().enumerate().map(of_run).collect()
            })
            .flatten();
        let by_delong = influences.as_ref().filter(|_| self.interval.kind == IntervalKind::Delong);
        let run_mean = |(run, name): (usize, &String)| {
            let result = &self.evaluations[run].results[m];
            let spread = |mean: f64| match by_delong.and_then(|found| delong::mean(self.sample, &found[run]))
            {
                Some(found) => delong::spread(found, (0.0, 1.0), &self.interval),
                None => self.resampled.mean(run, m, mean),
            };
            RunMean {
                name: name.clone(),
                mean: result.mean,
                interval: result.mean.map(|mean| spread(mean).interval(self.interval.usable_level())),
                lists: result.counts.used,
                skipped: result.counts.lists - result.counts.used,
            }
        };
        let runs = self.names.iter().enumerate().map(run_mean).collect();
        let pairs = pairs_of(self.names.len())
            .zip(permuted)
            .map(|(pair, permuted)| self.pair(m, pair, influences.as_deref(), permuted))
            .collect();
        Comparison {
            runs,
            pairs,
            correction: self.options.correction,
            level: self.interval.usable_level(),
            unit: Unit::Rows,
            better: measure.metric().better(),
            tukey: None,
        }
    }

    fn pair(
        &self,
        m: usize,
        pair: [usize; 2],
        influences: Option<&[Vec<Option<delong::Influence>>]>,
        permuted: &Permuted,
    ) -> PairResult {
        let lists = self.sample.lists;
        let [first, second] = pair;
        let per_list = pair.map(|run| self.evaluations[run].results[m].per_list.as_slice());
        let better = self.sample.measures[m].metric().better();
        let mut found = pair_of_lists(per_list, lists.list_weights.as_deref(), self.options, better);
        (found.first_run, found.second_run) = (first, second);
        (found.first, found.second) = (self.names[first].clone(), self.names[second].clone());
        let delong_of_lists = influences.map(|all| delong::difference(&all[first], &all[second]));
        let side = |list: Option<usize>, value: f64| {
            let (spread, replicates) = match list {
                None => self.resampled.mean_difference(pair, m, value),
                Some(q) => self.resampled.list_difference(pair, m, q, value),
            };
            let delong = delong_of_lists.as_ref().and_then(|found| match list {
                None => delong::mean(self.sample, found),
                Some(q) => found[q].clone().map(delong::Influence::alone),
            });
            let place = list.map_or(m, |q| self.sample.measures.len() + m * lists.len() + q);
            let outcome = |(t, (spec, test)): (usize, &NamedRowTest)| TestResult {
                test: spec.to_string(),
                outcome: match test {
                    RowTest::Delong if influences.is_none() => {
                        Outcome::undefined(found.lists, "DeLong's test is for AUROC with averaged ties")
                    }
                    RowTest::Delong => delong::test(delong, found.lists),
                    RowTest::Bootstrap(n) => {
                        let shifted = replicates.iter().take(*n).map(|replicate| replicate - value);
                        monte_carlo(value, shifted, found.lists, "resamples of the rows")
                    }
                    RowTest::Permutation(_) => {
                        let all = permuted[t].as_deref().unwrap_or_default();
                        let drawn = all.iter().map(|differences| differences[place]);
                        monte_carlo(value, drawn, found.lists, "random permutations of the rows")
                    }
                },
                p_corrected: None,
            };
            let tests: Vec<TestResult> = self.tests.iter().enumerate().map(outcome).collect();
            let spread = match delong.filter(|_| self.interval.kind == IntervalKind::Delong) {
                Some(found) => delong::spread(found, (-1.0, 1.0), &self.interval),
                None => spread,
            };
            (spread, tests)
        };
        if found.lists > 0 {
            let (spread, tests) = side(None, found.effects.mean_difference);
            (found.spread, found.tests) = (Some(spread), tests);
        }
        let labels = (0..lists.len()).filter(|_| self.several()).filter_map(|list| {
            let mean_difference = per_list[1][list] - per_list[0][list];
            if mean_difference.is_nan() {
                return None;
            }
            let (spread, tests) = side(Some(list), mean_difference);
            Some(LabelResult { list, mean_difference, spread, interval: None, tests })
        });
        found.labels = labels.collect();
        found
    }
}

/// p = (hits + 1)/(N + 1), where a draw is a hit that is as far from 0 as the value; draws without a value do not count.
fn monte_carlo(value: f64, draws: impl Iterator<Item = f64>, lists: usize, what: &str) -> Outcome {
    if value.is_nan() {
        return Outcome::undefined(lists, "no value");
    }
    let (mut count, mut hits) = (0, 0);
    for draw in draws.filter(|draw| draw.is_finite()) {
        count += 1;
        hits += usize::from(draw.abs() >= value.abs() - crate::significance::TIE);
    }
    Outcome::new(value, (hits + 1) as f64 / (count + 1) as f64, lists, format!("{count} {what}"))
}
