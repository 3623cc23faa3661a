//! Fast kernels against the formulas read aloud, and numbers of other tools.

use proptest::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal};
use toprank_core::{List, Lists, Policy, Relevant, Stream, Ties};

use super::sample::draw;
use super::*;
use crate::compare::{CompareOptions, Comparison};
use crate::rank::Work;
use crate::significance::{Correction, correct, interval_levels};
use crate::{METRICS, evaluate};

fn measures(text: &str) -> Vec<Measure> {
    Measure::parse_all(text, &Policy::default()).unwrap()
}

/// Scores that Python can make again, with ties and with more weight on relevant rows: ((37 i) mod 101)/100 + shift.
fn golden(n: usize) -> (Vec<f32>, [Vec<f64>; 2]) {
    let labels: Vec<f32> = (0..n).map(|i| f32::from(u8::from(i % 7 < 2))).collect();
    let score = |i: usize, step: usize, shift: usize| {
        (((i * step) % 101) + shift * usize::from(labels[i] > 0.0)) as f64
    };
    let runs = [(37, 40), (53, 15)].map(|(step, shift)| (0..n).map(|i| score(i, step, shift)).collect());
    (labels, runs)
}

/// DeLong, DeLong and Clarke-Pearson 1988 as printed: structural components by all pairs, O(m n).
fn delong_plain(labels: &[f32], runs: [&[f64]; 2]) -> [[f64; 2]; 3] {
    let index = |relevant: bool| {
        (0..labels.len()).filter(move |&i| (labels[i] > 0.0) == relevant).collect::<Vec<_>>()
    };
    let (x, y) = (index(true), index(false));
    let (m, n) = (x.len() as f64, y.len() as f64);
    let psi = |s: &[f64], i: usize, j: usize| match s[i].total_cmp(&s[j]) {
        std::cmp::Ordering::Greater => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Less => 0.0,
    };
    let v10 =
        runs.map(|s| x.iter().map(|&i| y.iter().map(|&j| psi(s, i, j)).sum::<f64>() / n).collect::<Vec<_>>());
    let v01 =
        runs.map(|s| y.iter().map(|&j| x.iter().map(|&i| psi(s, i, j)).sum::<f64>() / m).collect::<Vec<_>>());
    let theta = [0, 1].map(|r| v10[r].iter().sum::<f64>() / m);
    let covariance = |v: &[Vec<f64>; 2], r: usize, s: usize| {
        let terms = v[r].iter().zip(&v[s]).map(|(a, b)| (a - theta[r]) * (b - theta[s]));
        terms.sum::<f64>() / (v[r].len() as f64 - 1.0)
    };
    let s = |r: usize, q: usize| covariance(&v10, r, q) / m + covariance(&v01, r, q) / n;
    [theta, [s(0, 0), s(1, 1)], [s(0, 1), s(0, 0) + s(1, 1) - 2.0 * s(0, 1)]]
}

#[test]
fn delong_in_n_log_n_equals_all_pairs() {
    for n in [8, 50, 333] {
        let (labels, [a, b]) = golden(n);
        let [theta, variances, [_, of_difference]] = delong_plain(&labels, [&a, &b]);
        let list = List::new(&a, &labels);
        let policy = Policy::default();
        let found = delong(&list, &policy).unwrap().unwrap();
        assert!(
            (found.value - theta[0]).abs() < 1e-12
                && (found.standard_error - variances[0].sqrt()).abs() < 1e-12
        );
        let pair = delong_difference(&list, &b, &policy).unwrap().unwrap();
        assert!((pair.value - (theta[1] - theta[0])).abs() < 1e-12);
        assert!((pair.standard_error - of_difference.sqrt()).abs() < 1e-12);
        let (low, high) = found.interval(0.95);
        let reach = 1.959_963_984_540_054 * variances[0].sqrt();
        assert!((low - (theta[0] - reach)).abs() < 1e-10 && (high - (theta[0] + reach)).abs() < 1e-10);
        let z = (theta[1] - theta[0]) / of_difference.sqrt();
        assert!((pair.p().unwrap() - 2.0 * Normal::standard().cdf(-z.abs())).abs() < 1e-10);
    }
}

// Mid-ranks of scipy 1.17.1, covariances of numpy 2.4.6:
//   i = np.arange(333); y = i % 7 < 2; m, n = y.sum(), (~y).sum()
//   runs = [(i * 37) % 101 + 40 * y, (i * 53) % 101 + 15 * y]
//   v10 = np.array([(rankdata(s)[y] - rankdata(s[y])) / n for s in runs])
//   v01 = np.array([1 - (rankdata(s)[~y] - rankdata(s[~y])) / m for s in runs])
//   auc = v10.mean(axis=1); cov = np.cov(v10) / m + np.cov(v01) / n
//   d = auc[1] - auc[0]; se = np.sqrt(cov[0, 0] + cov[1, 1] - 2 * cov[0, 1]); p = 2 * norm.sf(abs(d) / se)
// confidenceinterval 1.0.5, which computes in single precision, agrees to 1e-8.
#[test]
fn delong_is_that_of_mid_ranks_in_numpy() {
    let (labels, [a, b]) = golden(333);
    let list = List::new(&a, &labels);
    let near = |ours: f64, theirs: f64| assert!((ours - theirs).abs() < 1e-12, "{ours} instead of {theirs}");
    let found = delong(&list, &Policy::default()).unwrap().unwrap();
    near(found.value, 0.820_499_296_765_119_6);
    near(found.standard_error, 0.024_182_484_769_960_05);
    near(found.interval(0.95).0, 0.773_102_497_559_309_5);
    near(found.interval(0.95).1, 0.867_896_095_970_929_6);
    let pair = delong_difference(&list, &b, &Policy::default()).unwrap().unwrap();
    near(pair.value, -0.183_060_829_817_159);
    near(pair.standard_error, 0.038_899_422_997_850_645);
    near(pair.p().unwrap(), 2.526_198_942_677_765_5e-6);
}

#[test]
fn delong_needs_two_rows_of_each_class() {
    let policy = Policy::default();
    assert_eq!(delong(&List::new(&[1.0, 2.0, 3.0], &[1.0, 0.0, 0.0]), &policy), Ok(None));
    let found = delong(&List::new(&[4.0, 3.0, 1.0, 0.0], &[1.0, 1.0, 0.0, 0.0]), &policy).unwrap().unwrap();
    assert_eq!((found.value, found.standard_error, found.p()), (1.0, 0.0, None));
}

#[test]
fn an_item_of_weight_two_moves_delong_as_its_formula_says() {
    let (labels, [a, _]) = golden(40);
    let same: Vec<f32> = vec![3.0; 40];
    let plain = delong(&List::new(&a, &labels), &Policy::default()).unwrap().unwrap();
    let list = List { weights: Some(&same), ..List::new(&a, &labels) };
    let weighted = delong(&list, &Policy::default()).unwrap().unwrap();
    assert!((plain.standard_error - weighted.standard_error).abs() < 1e-14, "equal weights change nothing");
    // AUROC is the one of the metric, weights included.
    let some: Vec<f32> = (0..40).map(|i| 0.5 + (i % 5) as f32).collect();
    let list = List { weights: Some(&some), ..List::new(&a, &labels) };
    let value = measures("auroc")[0].of_list(&list, &mut Work::default()).unwrap();
    assert!((delong(&list, &Policy::default()).unwrap().unwrap().value - value.unwrap()).abs() < 1e-14);
}

/// Two labels over the same rows, or over rows of their own.
fn two_labels(shared: bool) -> (Lists, Vec<f64>) {
    let (labels, [a, _]) = golden(60);
    let mut lists = Lists::from_lengths(&[60, 60], [labels.clone(), labels].concat());
    lists.rows = Some((0..120).map(|entry| if shared { entry % 60 } else { entry }).collect());
    lists.output = Some(vec![0, 1]);
    (lists, [a.clone(), a].concat())
}

#[test]
fn labels_on_the_same_rows_vary_together() {
    let width = |shared: bool, kind: IntervalKind, mean: bool| {
        let options = IntervalOptions { kind, replicates: 1000, ..Default::default() };
        let (lists, scores) = two_labels(shared);
        let all = measures("auroc");
        let found = evaluate(&lists, &scores, &all).unwrap();
        let found = &intervals(&lists, &scores, &all, &found, &options).unwrap()[0];
        let interval = if mean { found.mean } else { found.per_list[1] };
        let interval = interval.unwrap();
        interval.high - interval.low
    };
    // The same label twice is as uncertain as once; two labels of other rows average out: 1/√2.
    let one = width(true, IntervalKind::Delong, false);
    assert!((width(true, IntervalKind::Delong, true) - one).abs() < 1e-12);
    assert!((width(false, IntervalKind::Delong, true) - one / 2f64.sqrt()).abs() < 1e-12);
    // The width of an interval from 1000 resamples is known to about 4 %.
    let [together, apart] = [true, false].map(|shared| width(shared, IntervalKind::Bca, true));
    assert!((0.6..0.82).contains(&(apart / together)), "{apart} {together}");
}

#[test]
fn every_resample_keeps_the_size_of_each_class() {
    let labels = vec![1.0, 0.0, 0.0, f32::NAN, 1.0, 0.0, 2.0];
    let lists = Lists::from_lengths(&[7], labels);
    let all = measures("map");
    let sample = Sample::new(&lists, &[&[0.0; 7]], &all).unwrap();
    let strata = sample.strata(Some(Relevant::default()));
    assert_eq!(strata, [vec![0, 4, 6], vec![1, 2, 5], vec![3]]);
    let mut times = vec![9; 7];
    let mut seen = vec![0; 7];
    for replicate in 0..3000 {
        draw(&strata, &mut Stream::new(1, "test").of_list(replicate).open(), &mut times);
        for rows in &strata {
            assert_eq!(rows.iter().map(|&row| times[row as usize]).sum::<u32>(), rows.len() as u32);
        }
        seen.iter_mut().zip(&times).for_each(|(seen, times)| *seen += times);
    }
    // 3000 expected of each; the standard error of a row among three is 45.
    assert!(seen.iter().all(|seen| (2800..=3200).contains(seen)), "{seen:?}");
}

/// Rows, two labels over them, two runs, weights: small, with many ties.
#[derive(Clone, Debug)]
struct Case {
    lists: Lists,
    runs: [Vec<f64>; 2],
    times: Vec<u32>,
}

fn case() -> impl Strategy<Value = Case> {
    let label = prop::sample::select(vec![f32::NAN, 0.0, 0.0, 1.0, 2.0]);
    let row = (label.clone(), label, [0..4u8, 0..4, 0..4, 0..4], [1..4u8, 1..4], 0..4u32, any::<u32>());
    (prop::collection::vec(row, 1..12), any::<bool>(), any::<bool>()).prop_map(|(rows, two, weighted)| {
        let n = rows.len();
        let count = if two { 2 } else { 1 };
        let mut labels: Vec<f32> = rows.iter().map(|row| row.0).collect();
        labels.extend(rows.iter().filter(|_| two).map(|row| row.1));
        let mut lists = Lists::from_lengths(&vec![n; count], labels);
        lists.rows = Some((0..n * count).map(|entry| (entry % n) as u32).collect());
        lists.output = Some((0..count as u16).collect());
        lists.tie_keys = Some((0..n * count).map(|entry| rows[entry % n].5).collect());
        let weight = |entry: usize| f32::from(rows[entry % n].3[entry / n]);
        lists.item_weights = weighted.then(|| (0..n * count).map(weight).collect());
        let scores = |run: usize| {
            (0..n * count).map(|entry| f64::from(rows[entry % n].2[2 * run + entry / n])).collect()
        };
        Case { lists, runs: [scores(0), scores(1)], times: rows.iter().map(|row| row.4).collect() }
    })
}

/// The lists in which each row stands as often as `times` says, written out, with scores.
fn written_out(lists: &Lists, scores: &[f64], times: &[u32]) -> (Lists, Vec<f64>) {
    let mut entries = Vec::new();
    let mut lengths = Vec::new();
    for q in 0..lists.len() {
        let before = entries.len();
        for entry in lists.range(q) {
            entries.extend(std::iter::repeat_n(entry, times[lists.row(entry)] as usize));
        }
        lengths.push(entries.len() - before);
    }
    let mut out = Lists::from_lengths(&lengths, entries.iter().map(|&e| lists.labels[e]).collect());
    out.item_weights = lists.item_weights.as_ref().map(|w| entries.iter().map(|&e| w[e]).collect());
    out.tie_keys = lists.tie_keys.as_ref().map(|k| entries.iter().map(|&e| k[e]).collect());
    (out, entries.iter().map(|&e| scores[e]).collect())
}

fn all_measures(ties: Ties) -> Vec<Measure> {
    let mut names: Vec<String> = METRICS.iter().map(|entry| entry.name.to_string()).collect();
    names.extend(["ndcg@3", "p@3", "recall@2", "map@2", "pauc:fpr=0.4", "p:recall=0.5"].map(String::from));
    Measure::parse_all(&names.join(","), &Policy { ties, ..Policy::default() }).unwrap()
}

fn same(a: f64, b: f64) -> bool {
    (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-12
}

const TIES: [Ties; 4] = [Ties::Averaged, Ties::Trec, Ties::Input, Ties::Worst];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_resample_has_the_values_of_the_rows_written_out(case in case()) {
        for ties in TIES {
            let all = all_measures(ties);
            let sample = Sample::new(&case.lists, &[&case.runs[0]], &all).unwrap();
            let wanted: Vec<usize> = (0..all.len()).collect();
            let mut got = vec![0.0; sample.width()];
            sample.values(0, &case.times, &wanted, &mut Work::default(), &mut got);
            let (lists, scores) = written_out(&case.lists, &case.runs[0], &case.times);
            let want = evaluate(&lists, &scores, &all).unwrap();
            for (m, result) in want.results.iter().enumerate() {
                for (q, want) in result.per_list.iter().enumerate() {
                    let got = got[m * lists.len() + q];
                    prop_assert!(same(got, *want), "{} {ties:?}: {got} instead of {want}", result.name);
                }
            }
        }
    }

    #[test]
    fn a_permuted_list_has_the_values_of_the_swapped_ranks_written_out(case in case(), seed: u64) {
        for ties in TIES {
            let all = all_measures(ties);
            let sample = Sample::new(&case.lists, &[&case.runs[0], &case.runs[1]], &all).unwrap();
            let found = &permutation::differences(&sample, [0, 1], 1, seed, true)[0];
            let bits = Stream::new(seed, "permutation over rows").open().bits(); // fewer than 64 rows
            // Twice the mid-rank of an entry in its list: those above count 2, equal ones 1.
            let rank = |run: usize, entry: usize| {
                let q = entry / case.times.len();
                let scores = &case.runs[run];
                case.lists.range(q).map(|other| match scores[other].total_cmp(&scores[entry]) {
                    std::cmp::Ordering::Greater => 2.0,
                    std::cmp::Ordering::Equal => 1.0,
                    std::cmp::Ordering::Less => 0.0,
                }).sum::<f64>()
            };
            let values = [0, 1].map(|side| {
                let scores: Vec<f64> = (0..case.lists.entries()).map(|entry| {
                    let swap = usize::from(bits >> case.lists.row(entry) & 1 == 1);
                    -rank(side ^ swap, entry)
                }).collect();
                evaluate(&case.lists, &scores, &all).unwrap()
            });
            for m in 0..all.len() {
                for q in 0..case.lists.len() {
                    let want = values[1].results[m].per_list[q] - values[0].results[m].per_list[q];
                    let got = found[all.len() + m * case.lists.len() + q];
                    prop_assert!(same(got, want), "{} {ties:?}: {got} instead of {want}", all[m].name());
                }
            }
        }
    }
}

fn compared(lists: &Lists, runs: [&[f64]; 2], text: &str, tests: &str) -> Vec<Comparison> {
    let all = measures(text);
    let found = runs.map(|scores| evaluate(lists, scores, &all).unwrap());
    let interval = IntervalOptions { kind: IntervalKind::Delong, replicates: 500, ..Default::default() };
    let options = CompareOptions { interval, ..CompareOptions::default() };
    let names = ["a".to_string(), "b".to_string()];
    compare_rows(&names, lists, &runs, &all, &found, &parse_tests(tests).unwrap(), &options).unwrap()
}

const TESTS: &str = "delong,bootstrap:n=500,permutation:n=500";

#[test]
fn a_clear_difference_on_one_list_is_found_by_every_test() {
    let (labels, [good, _]) = golden(300);
    let noise: Vec<f64> = (0..300).map(|i| ((i * 53) % 101) as f64).collect();
    let lists = Lists::from_lengths(&[300], labels);
    for found in compared(&lists, [&noise, &good], "auroc,auprc,p@20,ndcg@20", TESTS) {
        let pair = &found.pairs[0];
        let interval = pair.interval.unwrap();
        assert!(interval.low > 0.0 && interval.low < interval.high, "{interval:?}");
        assert_eq!(pair.interval_agrees, Some(true));
        for test in pair.tests.iter().filter(|test| test.outcome.p.is_some()) {
            assert!(test.p_corrected.unwrap() < 0.02, "{test:?}");
        }
        let undefined = pair.tests.iter().filter(|test| test.outcome.p.is_none()).count();
        assert_eq!(
            undefined,
            usize::from(interval.kind != IntervalKind::Delong),
            "DeLong is for AUROC alone"
        );
        let methods = found.runs.iter().map(|run| run.interval.unwrap().method());
        let methods: Vec<String> = methods.collect();
        assert!(
            methods.iter().all(|m| m == "DeLong" || m == "stratified BCa bootstrap over rows, 500 resamples"),
            "{methods:?}"
        );
    }
}

#[test]
fn a_metric_without_delongs_test_counts_in_the_correction_of_it() {
    let (labels, [a, b]) = golden(120);
    let lists = Lists::from_lengths(&[120], labels);
    let found = compared(&lists, [&a, &b], "auroc,auprc", TESTS);
    let tests = |measure: usize| &found[measure].pairs[0].tests;
    // AUROC's p of DeLong's test and AUPRC's of its first defined one, the bootstrap, are one family of two.
    let family = [tests(0)[0].outcome.p, tests(1)[1].outcome.p];
    assert_eq!(tests(0)[0].p_corrected, correct(&family, Correction::Holm)[0]);
    assert!(tests(0)[0].p_corrected > tests(0)[0].outcome.p);
    assert_eq!(tests(1)[0].p_corrected, None, "what is undefined stays so");
    let level = found[0].pairs[0].interval.unwrap().level;
    assert_eq!(level, interval_levels(&family, Correction::Holm, 0.95)[0]);
}

#[test]
fn runs_of_one_quality_are_told_apart_about_as_often_as_the_level_says() {
    let mut random = Stream::new(3, "null").open();
    let mut found = [0; 3];
    for _ in 0..200 {
        let labels: Vec<f32> = (0..60).map(|i| f32::from(u8::from(i % 3 == 0))).collect();
        let mut run = || (0..60).map(|i| random.unit() + 0.3 * f64::from(labels[i])).collect::<Vec<f64>>();
        let (a, b) = (run(), run());
        let lists = Lists::from_lengths(&[60], labels.clone());
        let tests = "delong,bootstrap:n=200,permutation:n=200";
        let comparison = &compared(&lists, [&a, &b], "auroc", tests)[0];
        for (found, test) in found.iter_mut().zip(&comparison.pairs[0].tests) {
            *found += usize::from(test.outcome.p.unwrap() <= 0.05);
        }
    }
    // 10 of 200 expected, standard error 3.1; the bootstrap of 20 relevant rows finds a little too much.
    assert!(found.iter().all(|found| (3..=22).contains(found)), "{found:?}");
}

#[test]
fn the_bootstrap_and_delong_agree_about_the_error_of_auroc() {
    let (labels, [a, _]) = golden(500);
    let lists = Lists::from_lengths(&[500], labels);
    let all = measures("auroc");
    let found = evaluate(&lists, &a, &all).unwrap();
    let [one, two] = [IntervalKind::Delong, IntervalKind::Bca].map(|kind| {
        let options = IntervalOptions { kind, replicates: 4000, ..Default::default() };
        intervals(&lists, &a, &all, &found, &options).unwrap()[0].mean.unwrap()
    });
    // The end of a 95 % interval from 4000 resamples has a standard error of about 4 % of the width's quarter.
    assert!((one.low - two.low).abs() < 0.006 && (one.high - two.high).abs() < 0.006, "{one:?} {two:?}");
}

#[test]
fn multi_label_data_are_compared_on_the_mean_and_label_by_label() {
    let (mut lists, scores) = two_labels(true);
    lists.list_weights = Some(vec![3.0, 1.0]);
    let other: Vec<f64> = (0..120).map(|entry| ((entry % 60 * 53) % 101) as f64).collect();
    let found = compared(&lists, [&other, &scores], "auroc,p@5", TESTS);
    for comparison in &found {
        let pair = &comparison.pairs[0];
        assert_eq!(pair.labels.len(), 2);
        let [a, b] = [0, 1].map(|q| pair.labels[q].mean_difference);
        assert!((pair.effects.mean_difference - (3.0 * a + b) / 4.0).abs() < 1e-12);
        assert!(pair.labels.iter().all(|label| label.interval.unwrap().low <= label.mean_difference));
        // Two measures of two labels are a family of four: its p values are at least twice those of the pairs.
        assert!(pair.labels[0].tests[2].p_corrected >= pair.tests[2].p_corrected);
    }
}

#[test]
fn a_label_without_two_rows_of_a_class_leaves_delong() {
    let mut lists = Lists::from_lengths(&[4, 4], vec![1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    lists.rows = Some(vec![0, 1, 2, 3, 0, 1, 2, 3]);
    lists.output = Some(vec![0, 1]);
    let scores = [4.0, 3.0, 1.0, 2.0, 4.0, 3.0, 1.0, 2.0];
    let all = measures("auroc");
    let found = evaluate(&lists, &scores, &all).unwrap();
    let options = IntervalOptions { kind: IntervalKind::Delong, ..Default::default() };
    let ours = &intervals(&lists, &scores, &all, &found, &options).unwrap()[0];
    assert_eq!(ours.mean.unwrap().kind, IntervalKind::Bca);
    assert_eq!(ours.mean.unwrap().method(), "BCa bootstrap over rows, 2000 resamples");
}

#[test]
fn nothing_depends_on_threads() {
    let (lists, scores) = two_labels(true);
    let other: Vec<f64> = scores.iter().map(|score| (score * 7.0) % 11.0).collect();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found = pool.install(|| compared(&lists, [&scores, &other], "auroc,auprc,p@5", TESTS));
        serde_json::to_string(&found).unwrap()
    };
    assert_eq!(on(1), on(4));
}

#[test]
fn more_resamples_for_a_test_do_not_change_the_intervals() {
    let (labels, [a, b]) = golden(60);
    let lists = Lists::from_lengths(&[60], labels);
    let few = compared(&lists, [&a, &b], "auprc", "bootstrap:n=10");
    let many = compared(&lists, [&a, &b], "auprc", "bootstrap:n=900");
    assert_eq!(few[0].pairs[0].interval, many[0].pairs[0].interval);
}
