/*!
Comparison of two or more runs on one measure: means with intervals, and for every pair of runs the difference with
its interval, effect sizes, wins and losses, the lists that differ most, and tests with corrected p values.

A difference is always second − first, where the order is that of the runs as given: positive means that the later
run is higher. Each run's own mean is over the lists it has a value for; a pair's over those that both have.
*/

use crate::Better;
use crate::bootstrap::{Interval, IntervalOptions, Spread, Unit, interval, spread, usable, weighted_mean};
use crate::significance::{
    self, Correction, Effects, NamedTest, Outcome, Pairs, Tukey, TukeyKind, WinTieLoss, biggest, correct,
    effects, interval_levels, tukey, win_tie_loss,
};
use serde::Serialize;
use toprank_core::ParamError;

/// What [`compare`] should do.
///
/// | field           | default                    | meaning                                               |
/// |-----------------|----------------------------|-------------------------------------------------------|
/// | `tests`         | `t`, `randomisation`       | tests of every pair                                   |
/// | `correction`    | `Holm`                     | over all pairs, test by test                          |
/// | `tukey`         | none                       | Tukey's HSD over all runs at once                     |
/// | `tie_tolerance` | [`significance::TIE`]      | differences up to this size are ties in win/tie/loss  |
/// | `better`        | `Higher`                   | which direction of the measure is a win               |
/// | `biggest`       | 10                         | how many of the largest differences to keep           |
/// | `interval`      | BCa, 0.95, 2000 replicates | intervals of means and differences                    |
/// | `seed`          | 1                          | of tests and intervals                                |
pub struct CompareOptions {
    /// Tests by name, made by [`significance::parse`].
    pub tests: Vec<NamedTest>,
    /// Correction of each test's p values over the pairs.
    pub correction: Correction,
    /// Tukey's HSD besides.
    pub tukey: Option<TukeyKind>,
    /// Differences up to this size are ties.
    pub tie_tolerance: f64,
    /// Which direction of the measure is a win; differences and effects keep their sign.
    pub better: Better,
    /// Number of biggest differences kept per pair.
    pub biggest: usize,
    /// Intervals of means and differences; their seed is `seed`.
    pub interval: IntervalOptions,
    /// Seed of everything that draws.
    pub seed: u64,
}

impl Default for CompareOptions {
    fn default() -> CompareOptions {
        CompareOptions {
            tests: significance::parse("t,randomisation").expect("names of the table"),
            correction: Correction::default(),
            tukey: None,
            tie_tolerance: significance::TIE,
            better: Better::Higher,
            biggest: 10,
            interval: IntervalOptions::default(),
            seed: 1,
        }
    }
}

impl CompareOptions {
    /// The defaults with the tests of a text such as `t,wilcoxon,randomisation:n=10000`.
    pub fn with_tests(text: &str) -> Result<CompareOptions, ParamError> {
        Ok(CompareOptions { tests: significance::parse(text)?, ..CompareOptions::default() })
    }

    /// Refuses what is out of range.
    pub fn check(&self) -> Result<(), ParamError> {
        if !(self.tie_tolerance >= 0.0 && self.tie_tolerance.is_finite()) {
            return Err(ParamError::new("tie tolerance", &self.tie_tolerance.to_string(), "≥ 0 and finite"));
        }
        self.interval.check()
    }
}

/// Runs on one measure, compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The runs, in the order given.
    pub runs: Vec<RunMean>,
    /// The pairs (0, 1), (0, 2), …, (1, 2), ….
    pub pairs: Vec<PairResult>,
    /// How p values were corrected over the pairs.
    pub correction: Correction,
    /// Confidence level before the correction; 1 − level is the level of significance.
    pub level: f64,
    /// What was drawn: lists, or rows.
    pub unit: Unit,
    /// Which direction of the measure is better.
    #[serde(skip)]
    pub better: Better,
    /// Tukey's HSD, if asked for; its p values are in the order of `pairs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tukey: Option<Tukey>,
}

impl Comparison {
    /// What a pair's numbers say, in one line: who wins on the metric by how much, the interval, the corrected p of the first
    /// defined test, and wins/ties/losses over lists where there are several.
    ///
    /// ```
    /// use toprank_metrics::compare::{compare, CompareOptions};
    /// let names = ["mlp".to_string(), "trees".to_string()];
    /// let (mlp, trees) = ([0.1, 0.5, 0.2, 0.4, 0.3, 0.2], [0.3, 0.6, 0.4, 0.5, 0.5, 0.4]);
    /// let found = compare(&names, &[&mlp, &trees], None, &CompareOptions::with_tests("t").unwrap());
    /// let line = found.verdict(&found.pairs[0], "ndcg@10");
    /// assert!(line.starts_with("trees beats mlp on ndcg@10 by 0.1667 ["), "{line}");
    /// assert!(line.ends_with("], p 0.0005 (Holm), 6/0/0"), "{line}");
    /// ```
    pub fn verdict(&self, pair: &PairResult, metric: &str) -> String {
        let difference = pair.effects.mean_difference;
        let Some(p) = decides(&pair.tests).and_then(|test| test.p_corrected) else {
            return format!(
                "{} − {} on {metric}: {difference:+.4}; no test is defined",
                pair.second, pair.first
            );
        };
        let second_wins = (difference > 0.0) == (self.better == Better::Higher);
        let found = p <= 1.0 - self.level && difference != 0.0;
        let (winner, loser) = match second_wins {
            true => (&pair.second, &pair.first),
            false => (&pair.first, &pair.second),
        };
        let mut line = match found {
            true => format!("{winner} beats {loser} on {metric} by {:.4}", difference.abs()),
            false => format!(
                "no significant difference on {metric}: {} − {} {difference:+.4}",
                pair.second, pair.first
            ),
        };
        if let Some(Interval { low, high, .. }) = pair.interval {
            let (low, high) = if found && difference < 0.0 { (-high, -low) } else { (low, high) };
            line += &format!(" [{low:.4}, {high:.4}]");
        }
        line += &format!(", p {}", p_text(p));
        if self.correction != Correction::None {
            line += &format!(" ({})", self.correction);
        }
        if pair.lists > 1 {
            let WinTieLoss { win, tie, loss } = pair.win_tie_loss;
            let (win, loss) = if found && !second_wins { (loss, win) } else { (win, loss) };
            line += &format!(", {win}/{tie}/{loss}");
        }
        if found && self.better == Better::Lower {
            line += " (lower is better)";
        }
        if pair.interval_agrees == Some(false) {
            let holds = if found { "includes" } else { "leaves out" };
            line += &format!("; the interval {holds} 0 and disagrees with the test");
        }
        line
    }
}

/// A p value as it is printed: four digits, or its size if it is smaller.
///
/// ```
/// use toprank_metrics::compare::p_text;
/// assert_eq!([p_text(0.04321), p_text(0.0000123)], ["0.0432", "1.2e-5"]);
/// ```
pub fn p_text(p: f64) -> String {
    if p < 0.0001 { format!("{p:.1e}") } else { format!("{p:.4}") }
}

/// One run's mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunMean {
    /// Name of the run.
    pub name: String,
    /// Weighted mean over its lists; `None` without lists.
    pub mean: Option<f64>,
    /// Bootstrap interval of the mean.
    pub interval: Option<Interval>,
    /// Lists with a value.
    pub lists: usize,
    /// Lists without (skipped, or of a weight that is not a positive number).
    pub skipped: usize,
}

/// Two runs compared; every difference is second − first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairResult {
    /// Index of the first run.
    #[serde(skip)]
    pub first_run: usize,
    /// Index of the second run.
    #[serde(skip)]
    pub second_run: usize,
    /// Name of the first run.
    pub first: String,
    /// Name of the second run.
    pub second: String,
    /// Lists on which both have a value.
    pub lists: usize,
    /// Lists excluded.
    pub skipped: usize,
    /// Mean difference and standardised differences.
    #[serde(flatten)]
    pub effects: Effects,
    /// Interval of the mean difference; `None` without lists. Its level is that of the correction (see
    /// [`significance::interval_levels`]), so that it agrees with the corrected test.
    pub interval: Option<Interval>,
    /// Whether the interval leaves out 0 exactly where the first defined test finds a difference; `None` without a test.
    pub interval_agrees: Option<bool>,
    #[serde(skip)]
    pub(crate) spread: Option<Spread>,
    /// On how many lists the second run is better, equal, worse (see [`CompareOptions::better`]).
    #[serde(flatten)]
    pub win_tie_loss: WinTieLoss,
    /// The lists that differ most, largest first.
    pub biggest: Vec<ListDifference>,
    /// Outcome of each test.
    pub tests: Vec<TestResult>,
    /// Of multi-label data: the labels one by one; their p values are corrected over all labels, pairs and measures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<LabelResult>,
}

/// Two runs compared on one label.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelResult {
    /// Index of the label's list.
    pub list: usize,
    /// Second − first.
    pub mean_difference: f64,
    /// Interval of the difference, at the level of the correction over labels.
    pub interval: Option<Interval>,
    #[serde(skip)]
    pub(crate) spread: Spread,
    /// Outcome of each test.
    pub tests: Vec<TestResult>,
}

/// A list on which two runs differ much.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ListDifference {
    /// Index of the list.
    pub list: usize,
    /// Value of the first run.
    pub first: f64,
    /// Value of the second run.
    pub second: f64,
    /// Second − first.
    pub difference: f64,
}

/// Outcome of one test on one pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestResult {
    /// The test as written, such as `randomisation:n=10000`.
    pub test: String,
    /// What it found.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// p corrected over all pairs of this comparison. To correct over several measures too, gather the raw p
    /// values of all comparisons and call [`correct`].
    pub p_corrected: Option<f64>,
}

/// Compares runs on one measure: `per_list[run][list]`, NaN = list skipped for that run, and perhaps list weights.
///
/// Results do not depend on the number of threads. Cost: for each pair that of its tests and
/// `interval.replicates` × lists draws.
///
/// # Panics
/// If names, runs and weights do not fit each other in length.
///
/// ```
/// use toprank_metrics::compare::{compare, CompareOptions};
/// let names = ["a".to_string(), "b".to_string()];
/// let (a, b) = ([0.1, 0.5, 0.2, 0.4], [0.3, 0.6, 0.1, f64::NAN]);
/// let found = compare(&names, &[&a, &b], None, &CompareOptions::with_tests("t,wilcoxon").unwrap());
/// let pair = &found.pairs[0];
/// assert_eq!((pair.win_tie_loss.win, pair.win_tie_loss.loss, pair.skipped), (2, 1, 1));
/// assert_eq!(pair.biggest[0].list, 0);
/// ```
pub fn compare(
    names: &[String],
    per_list: &[&[f64]],
    weights: Option<&[f32]>,
    options: &CompareOptions,
) -> Comparison {
    assert_eq!(names.len(), per_list.len(), "one name per run");
    let drawn = IntervalOptions { seed: options.seed, ..options.interval };
    let runs =
        names.iter().zip(per_list).map(|(name, values)| run_mean(name, values, weights, &drawn)).collect();
    let mut pairs = Vec::new();
    for first in 0..names.len() {
        for second in first + 1..names.len() {
            let mut pair = pair_result(per_list, (first, second), weights, options, &drawn);
            pair.first.clone_from(&names[first]);
            pair.second.clone_from(&names[second]);
            pairs.push(pair);
        }
    }
    let tukey = options.tukey.map(|kind| tukey(per_list, weights, kind, options.seed));
    let mut found = Comparison {
        runs,
        pairs,
        correction: options.correction,
        level: options.interval.usable_level(),
        unit: Unit::Lists,
        better: options.better,
        tukey,
    };
    correct_over_all(std::slice::from_mut(&mut found));
    found
}

/// Corrects the p values of each test over the pairs of all these comparisons together: several metrics are several chances to
/// find something. Each must be of the same tests; the correction is that of the first.
///
/// ```
/// use toprank_metrics::compare::{compare, correct_over_all, CompareOptions};
/// let names = ["a".to_string(), "b".to_string()];
/// let (a, b) = ([0.1, 0.5, 0.2, 0.4, 0.3], [0.3, 0.6, 0.4, 0.5, 0.6]);
/// let one = compare(&names, &[&a, &b], None, &CompareOptions::with_tests("t").unwrap());
/// let mut two = [one.clone(), one.clone()];
/// correct_over_all(&mut two);
/// let p = |found: &toprank_metrics::compare::Comparison| found.pairs[0].tests[0].p_corrected.unwrap();
/// assert!((p(&two[0]) - 2.0 * p(&one)).abs() < 1e-12); // Holm, the default
/// ```
pub fn correct_over_all(comparisons: &mut [Comparison]) {
    let Some(first) = comparisons.first() else { return };
    let (method, level) = (first.correction, first.level);
    let mut pairs: Vec<&mut PairResult> = comparisons.iter_mut().flat_map(|found| &mut found.pairs).collect();
    let levels = correct_tests(pairs.iter_mut().map(|pair| pair.tests.as_mut_slice()), method, level);
    for (pair, corrected) in pairs.iter_mut().zip(levels) {
        pair.interval = pair.spread.as_ref().map(|spread| spread.interval(corrected));
        let decided = decides(&pair.tests).and_then(|test| test.p_corrected);
        pair.interval_agrees = pair.interval.zip(decided).map(|(interval, p)| {
            let apart = interval.low > 0.0 || interval.high < 0.0;
            apart == (p <= 1.0 - level)
        });
    }
    let mut labels: Vec<&mut LabelResult> = pairs.into_iter().flat_map(|pair| &mut pair.labels).collect();
    let levels = correct_tests(labels.iter_mut().map(|label| label.tests.as_mut_slice()), method, level);
    for (label, corrected) in labels.into_iter().zip(levels) {
        label.interval = Some(label.spread.interval(corrected));
    }
}

/// The test that decides: the first one that is defined.
pub fn decides(tests: &[TestResult]) -> Option<&TestResult> {
    tests.iter().find(|test| test.outcome.p.is_some())
}

/// Corrects each test's p values over all comparisons; returns the level of each one's interval. A comparison for which the
/// test is undefined (DeLong's, of another metric than AUROC) counts with its first defined test: it is looked at all the same.
fn correct_tests<'a>(
    comparisons: impl Iterator<Item = &'a mut [TestResult]>,
    method: Correction,
    level: f64,
) -> Vec<f64> {
    let mut comparisons: Vec<&mut [TestResult]> = comparisons.collect();
    let mut levels = vec![level; comparisons.len()];
    for test in 0..comparisons.iter().map(|tests| tests.len()).max().unwrap_or(0) {
        let p = |tests: &[TestResult]| {
            let own = tests.get(test).and_then(|test| test.outcome.p);
            own.or_else(|| decides(tests)?.outcome.p)
        };
        let raw: Vec<Option<f64>> = comparisons.iter().map(|tests| p(tests)).collect();
        let own = interval_levels(&raw, method, level);
        for (i, p) in correct(&raw, method).into_iter().enumerate() {
            let Some(result) = comparisons[i].get_mut(test) else { continue };
            if result.outcome.p.is_none() {
                continue;
            }
            result.p_corrected = p;
            if comparisons[i][..test].iter().all(|earlier| earlier.outcome.p.is_none()) {
                levels[i] = own[i];
            }
        }
    }
    levels
}

fn run_mean(name: &str, values: &[f64], weights: Option<&[f32]>, drawn: &IntervalOptions) -> RunMean {
    let (used, used_weights) = usable(values, weights);
    let some = !used.is_empty();
    RunMean {
        name: name.to_string(),
        mean: some.then(|| weighted_mean(&used, used_weights.as_deref())),
        interval: some.then(|| interval(values, weights, drawn)),
        lists: used.len(),
        skipped: values.len() - used.len(),
    }
}

fn pair_result(
    per_list: &[&[f64]],
    (first_run, second_run): (usize, usize),
    weights: Option<&[f32]>,
    options: &CompareOptions,
    drawn: &IntervalOptions,
) -> PairResult {
    let values = [per_list[first_run], per_list[second_run]];
    let pairs = Pairs::new(values[0], values[1], weights);
    let differences: Vec<f64> = values[0].iter().zip(values[1]).map(|(a, b)| b - a).collect();
    let result = |(spec, test): &NamedTest| TestResult {
        test: spec.to_string(),
        outcome: test.run(&pairs, options.seed),
        p_corrected: None,
    };
    PairResult {
        first_run,
        second_run,
        spread: (!pairs.is_empty()).then(|| spread(&differences, weights, drawn)),
        tests: options.tests.iter().map(result).collect(),
        ..pair_of_lists(values, weights, options, options.better)
    }
}

/// What the values per list say about a pair; names, interval and tests are the caller's.
pub(crate) fn pair_of_lists(
    [a, b]: [&[f64]; 2],
    weights: Option<&[f32]>,
    options: &CompareOptions,
    better: Better,
) -> PairResult {
    let pairs = Pairs::new(a, b, weights);
    let listed = |(list, difference)| ListDifference { list, first: a[list], second: b[list], difference };
    PairResult {
        first_run: 0,
        second_run: 0,
        first: String::new(),
        second: String::new(),
        lists: pairs.len(),
        skipped: pairs.skipped,
        effects: effects(&pairs),
        interval: None,
        interval_agrees: None,
        spread: None,
        win_tie_loss: match (win_tie_loss(&pairs, options.tie_tolerance), better) {
            (counts, Better::Higher) => counts,
            (WinTieLoss { win, tie, loss }, Better::Lower) => WinTieLoss { win: loss, tie, loss: win },
        },
        biggest: biggest(&pairs, options.biggest).into_iter().map(listed).collect(),
        tests: Vec::new(),
        labels: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three_runs() -> (Vec<String>, Vec<Vec<f64>>, Vec<f32>) {
        let names = ["a", "b", "c"].map(String::from).to_vec();
        let value = |run: usize, i: usize| match (run, i) {
            (1, 3) | (2, 7) => f64::NAN,
            _ => ((i * (37 + 16 * run) + 7 * run) % 101) as f64 / 100.0 + 0.1 * run as f64,
        };
        let runs = (0..3).map(|run| (0..60).map(|i| value(run, i)).collect()).collect();
        (names, runs, (0..60).map(|i| 1.0 + (i % 2) as f32).collect())
    }

    fn options() -> CompareOptions {
        let tests = significance::parse("t,wilcoxon,sign,randomisation:n=2000,bootstrap:n=500").unwrap();
        CompareOptions { tests, tukey: Some(TukeyKind::Randomised { replicates: 500 }), ..Default::default() }
    }

    #[test]
    fn every_part_is_what_its_own_function_gives() {
        let (names, runs, weights) = three_runs();
        let views: Vec<&[f64]> = runs.iter().map(Vec::as_slice).collect();
        let found = compare(&names, &views, Some(&weights), &options());
        assert_eq!(found.runs.iter().map(|run| run.lists).collect::<Vec<_>>(), [60, 59, 59]);
        let indices: Vec<_> = found.pairs.iter().map(|pair| (pair.first_run, pair.second_run)).collect();
        assert_eq!(indices, [(0, 1), (0, 2), (1, 2)]);
        let pair = &found.pairs[2];
        assert_eq!((pair.first.as_str(), pair.second.as_str(), pair.lists, pair.skipped), ("b", "c", 58, 2));
        let pairs = Pairs::new(views[1], views[2], Some(&weights));
        assert_eq!(pair.effects, effects(&pairs));
        let ends = pair.interval.unwrap();
        assert!(ends.low < pair.effects.mean_difference && pair.effects.mean_difference < ends.high);
        let counts = pair.win_tie_loss;
        assert_eq!(counts.win + counts.tie + counts.loss, 58);
        assert_eq!(pair.biggest.len(), 10);
        assert_eq!(pair.biggest[0].second - pair.biggest[0].first, pair.biggest[0].difference);
        for (test, (_, run)) in options().tests.iter().enumerate() {
            assert_eq!(pair.tests[test].outcome, run.run(&pairs, 1));
            let raw: Vec<_> = found.pairs.iter().map(|pair| pair.tests[test].outcome.p).collect();
            let corrected: Vec<_> = found.pairs.iter().map(|pair| pair.tests[test].p_corrected).collect();
            assert_eq!(corrected, correct(&raw, Correction::Holm));
        }
        assert_eq!(found.tukey.unwrap().lists, 58);
    }

    #[test]
    fn weighted_means_are_those_of_the_formula() {
        let names = ["a".to_string(), "b".to_string()];
        let found =
            compare(&names, &[&[1.0, 0.0], &[0.5, 0.5]], Some(&[3.0, 1.0]), &CompareOptions::default());
        assert_eq!(found.runs[0].mean, Some((3.0 * 1.0 + 0.0) / 4.0));
        assert_eq!(found.pairs[0].effects.mean_difference, (3.0 * -0.5 + 0.5) / 4.0);
    }

    #[test]
    fn a_lower_value_wins_where_lower_is_better() {
        let names = ["a".to_string(), "b".to_string()];
        let (a, b) = ([0.5, 0.5, 0.5, 0.5], [0.4, 0.3, 0.6, 0.5]);
        let options = CompareOptions { better: Better::Lower, ..options() };
        let pair = &compare(&names, &[&a, &b], None, &options).pairs[0];
        assert_eq!(pair.win_tie_loss, WinTieLoss { win: 2, tie: 1, loss: 1 });
        assert!(pair.effects.mean_difference < 0.0);
    }

    #[test]
    fn the_comparison_does_not_depend_on_threads() {
        let (names, runs, weights) = three_runs();
        let views: Vec<&[f64]> = runs.iter().map(Vec::as_slice).collect();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| compare(&names, &views, Some(&weights), &options()))
        };
        assert_eq!(serde_json::to_string(&on(1)).unwrap(), serde_json::to_string(&on(4)).unwrap());
    }

    #[test]
    fn no_lists_and_one_run_are_compared_without_complaint() {
        let names = ["a".to_string(), "b".to_string()];
        for values in [&[][..], &[f64::NAN]] {
            let found = compare(&names, &[values, values], None, &options());
            assert_eq!((found.runs[0].mean, found.pairs[0].interval), (None, None));
            assert!(found.pairs[0].tests.iter().all(|test| test.outcome.p.is_none()));
            let json = serde_json::to_value(&found).unwrap();
            assert_eq!(json["pairs"][0]["tests"][0]["p"], serde_json::Value::Null);
        }
        assert!(compare(&names[..1], &[&[0.5]], None, &options()).pairs.is_empty());
    }

    #[test]
    fn json_holds_the_names_a_reader_looks_for() {
        let (names, runs, _) = three_runs();
        let views: Vec<&[f64]> = runs.iter().map(Vec::as_slice).collect();
        let json = serde_json::to_value(compare(&names, &views, None, &options())).unwrap();
        let pair = &json["pairs"][0];
        assert!(
            pair["mean_difference"].is_number() && pair["cohen_dz"].is_number() && pair["win"].is_number()
        );
        assert!(pair["interval"]["low"].is_number() && json["runs"][2]["mean"].is_number());
        assert!(pair["tests"][3]["p_corrected"].is_number());
        assert_eq!(pair["tests"][3]["test"], "randomisation:n=2000");
        assert_eq!((&json["correction"], &pair["interval"]["kind"]), (&"holm".into(), &"bca".into()));
    }
}
