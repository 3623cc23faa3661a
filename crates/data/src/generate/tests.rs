//! Promises that every generator keeps, and the bytes of each, pinned.

use std::collections::BTreeMap;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::*;
use crate::dataset::Dataset;
use crate::formats::{ReadOptions, read};
use crate::source::Source;

/// Small parameters for each generator and the xxh3 of the files they give.
type Pairs<T> = &'static [(&'static str, T)];
const PINNED: &[(&str, Pairs<&str>, Pairs<u64>)] = &[
    (
        "letor",
        &[("lists", "40"), ("length", "8"), ("features", "18"), ("missing", "0.1")],
        &[
            ("test.txt", 15_714_020_446_204_377_001),
            ("train.txt", 13_773_330_648_119_254_514),
            ("vali.txt", 13_188_722_972_605_777_294),
        ],
    ),
    (
        "binary",
        &[("rows", "200"), ("features", "8")],
        &[
            ("test.csv", 1_489_956_776_689_239_265),
            ("train.csv", 10_303_413_045_495_250_048),
            ("vali.csv", 15_084_815_865_100_437_246),
        ],
    ),
    (
        "multilabel",
        &[("rows", "100"), ("features", "6"), ("to", "arff"), ("split", "80/0/20")],
        &[
            ("test.arff", 14_903_093_771_014_509_306),
            ("test.xml", 16_627_503_511_360_045_424),
            ("train.arff", 1_384_592_299_961_650_593),
            ("train.xml", 16_627_503_511_360_045_424),
        ],
    ),
    (
        "interactions",
        &[("users", "50"), ("items", "100"), ("length", "5")],
        &[("interactions.csv", 11_260_992_068_741_590_017)],
    ),
    (
        "graphs",
        &[("queries", "5"), ("nodes", "20")],
        &[
            ("edges.tsv", 1_230_571_750_457_792_750),
            ("judgements.tsv", 8_529_420_344_906_686_023),
            ("nodes.tsv", 7_017_656_675_026_877_066),
        ],
    ),
    (
        "sessions",
        &[("users", "20"), ("queries", "10")],
        &[("qrels.txt", 5_815_941_312_262_130_003), ("sessions.tsv", 11_548_009_591_519_936_858)],
    ),
];

fn args(pairs: &[(&str, &str)]) -> Args {
    Args(pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect())
}

fn run(name: &str, pairs: &[(&str, &str)], folder: &Path) -> Written {
    by_name(name).unwrap().run(&args(pairs), folder, &mut |_, _| {}).unwrap()
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (name(&path), std::fs::read(&path).unwrap()))
        .collect()
}

#[test]
fn the_bytes_are_pinned() {
    assert_eq!(PINNED.iter().map(|p| p.0).collect::<Vec<_>>(), names());
    for (name, pairs, expected) in PINNED {
        let folder = tempfile::tempdir().unwrap();
        run(name, pairs, folder.path());
        let found: Vec<(String, u64)> =
            files(folder.path()).into_iter().map(|(name, bytes)| (name, xxh3_64(&bytes))).collect();
        let expected: Vec<(String, u64)> = expected.iter().map(|(f, h)| ((*f).to_string(), *h)).collect();
        assert_eq!(found, expected, "{name}: changed bytes break everyone's saved results");
    }
}

#[test]
fn the_bytes_do_not_depend_on_threads_but_on_the_seed() {
    for (name, pairs, _) in PINNED {
        let with = |threads: usize, seed: &'static str| {
            let folder = tempfile::tempdir().unwrap();
            let mut pairs = pairs.to_vec();
            pairs.push(("seed", seed));
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let written = pool.install(|| run(name, &pairs, folder.path()));
            let counts: Vec<_> =
                written.files.iter().map(|file| (file.bytes, file.rows, file.lists)).collect();
            (files(folder.path()), counts)
        };
        let one = with(1, "7");
        assert_eq!(one, with(3, "7"), "{name}");
        assert_ne!(one, with(1, "8"), "{name}");
    }
}

#[test]
fn the_counts_returned_are_those_of_the_files() {
    for (name, pairs, _) in PINNED {
        let folder = tempfile::tempdir().unwrap();
        let written = run(name, pairs, folder.path());
        assert_eq!(written.files.len(), files(folder.path()).len());
        for file in &written.files {
            assert_eq!(std::fs::metadata(&file.path).unwrap().len(), file.bytes, "{name}");
            assert!(file.rows >= file.lists, "{name}");
        }
    }
}

#[test]
fn parameters_out_of_range_are_refused_and_write_nothing() {
    for (name, param, value, expected) in [
        ("letor", "lists", "0", "lists must be an integer in [1, 4000000000], but is 0"),
        ("letor", "lists", "many", "lists must be an integer in [1, 4000000000], but is many"),
        ("letor", "split", "60/40", "split must be three shares ≥ 0 separated by /, but is 60/40"),
        ("letor", "split", "60/x/20/20", "split must be three shares ≥ 0 separated by /, but is 60/x/20/20"),
        ("letor", "split", "0/0/0", "split must be three shares ≥ 0 separated by /, but is 0/0/0"),
        ("letor", "seed", "-1", "seed must be an integer from 0 on, but is -1"),
        ("letor", "missing", "NaN", "missing must be a number in [0, 1], but is NaN"),
        (
            "letor",
            "list",
            "3",
            "the parameter must be one of lists, length, features, missing, noise, split, seed, but is list",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let error =
            by_name(name).unwrap().run(&args(&[(param, value)]), folder.path(), &mut |_, _| {}).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(files(folder.path()).is_empty());
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = GENERATORS[0].run(&args(&[]), &file.join("sub"), &mut |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("file/sub:"), "{error}");
}

#[test]
fn a_share_of_0_writes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let written = run("letor", &[("lists", "10"), ("split", "80/0/20")], folder.path());
    assert_eq!(written.files.iter().map(|f| f.lists).collect::<Vec<_>>(), [8, 2]);
    assert!(written.files[1].path.ends_with("test.txt"));
}

fn names() -> Vec<&'static str> {
    GENERATORS.iter().map(|g| g.name).collect()
}

fn letor() -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let written = run("letor", &[("lists", "400"), ("split", "100/0/0")], folder.path());
    read(&Source::path(&written.files[0].path), &ReadOptions::default()).unwrap()
}

/// NDCG@10 with gain 2^y − 1, mean over the lists that have a relevant item; missing scores come last.
fn ndcg(data: &Dataset, score: impl Fn(usize) -> f64) -> f64 {
    let mut values = Vec::new();
    for q in 0..data.lists.len() {
        let gain = |e: usize| f64::from(data.lists.labels[e]).exp2() - 1.0;
        let dcg = |order: &[usize]| -> f64 {
            order.iter().take(10).enumerate().map(|(k, &e)| gain(e) / (k as f64 + 2.0).log2()).sum()
        };
        let mut order: Vec<usize> = data.lists.range(q).collect();
        let low = |e: usize| if score(e).is_nan() { f64::MIN } else { score(e) };
        order.sort_by(|&a, &b| low(b).total_cmp(&low(a)));
        let mut ideal: Vec<usize> = data.lists.range(q).collect();
        ideal.sort_by(|&a, &b| gain(b).total_cmp(&gain(a)));
        if dcg(&ideal) > 0.0 {
            values.push(dcg(&order) / dcg(&ideal));
        }
    }
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn letor_lists_look_like_web_search() {
    let data = letor();
    let found = crate::inspect::inspect(&data);
    // Labels: each grade is rarer than the one below it.
    let counts: Vec<u64> = found.labels.bins.iter().map(|bin| bin.count).collect();
    assert_eq!(counts.len(), 5);
    assert!(counts.windows(2).all(|pair| pair[0] > pair[1] && pair[1] > 0), "{counts:?}");
    assert!(counts[0] * 2 > found.entries as u64, "most documents are not relevant: {counts:?}");
    // Lengths: the mean asked for (three standard errors of a deviation of 0.65 means), and a long right tail.
    let lengths = found.lengths.unwrap();
    assert!((lengths.mean - 30.0).abs() < 3.0 * 0.65 * 30.0 / 20.0, "{lengths:?}");
    assert!(lengths.max as f64 > 3.0 * lengths.mean && lengths.quantiles[2].1 < 30, "{lengths:?}");
    assert!((1..40).contains(&found.without_relevant), "{}", found.without_relevant);
    // Features: one constant, some missing (in the share asked for), some with many zeros.
    assert_eq!(found.constant_features, ["46"]);
    let missing: Vec<f64> = found.feature_table.iter().map(|f| f.missing_rate).filter(|&r| r > 0.0).collect();
    assert_eq!(missing.len(), 11);
    assert!(missing.iter().all(|rate| (0.01..0.03).contains(rate)), "{missing:?}");
    assert!(found.feature_table.iter().any(|f| f.zero_rate > 0.2));
    assert_eq!(found.duplicate_items.unwrap().overall, 0);
}

#[test]
fn one_letor_feature_is_better_than_chance_and_far_from_perfect() {
    let data = letor();
    let mut random = toprank_core::Stream::new(1, "test").open();
    let noise: Vec<f64> = (0..data.rows()).map(|_| random.unit()).collect();
    let chance = ndcg(&data, |e| noise[e]);
    let of = |f: usize, sign: f64| ndcg(&data, |e| sign * f64::from(data.features.get(e, f)));
    let values: Vec<f64> = (0..46).map(|f| of(f, 1.0).max(of(f, -1.0))).collect();
    let best = values.iter().copied().fold(0.0, f64::max);
    assert!(best > chance + 0.15 && best < 0.85, "best {best}, chance {chance}");
    // Features 7, 15, 23, 31, 39 are useless by construction.
    for useless in [6, 14, 22, 30, 38] {
        assert!(
            values[useless] < chance + 0.05,
            "feature {}: {}, chance {chance}",
            useless + 1,
            values[useless]
        );
    }
    // What the best features know together is more than what one knows.
    let mut order: Vec<usize> = (0..46).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    let scaled = crate::transform::StepConfig::parse_all("missing:to=mean,log1p,standardise").unwrap();
    let mut copy = data.clone();
    crate::transform::Pipeline::fit_apply(&mut copy, &scaled).unwrap();
    let sign = |f: usize| if of(f, 1.0) >= of(f, -1.0) { 1.0 } else { -1.0 };
    let signs: Vec<(usize, f64)> = order[..8].iter().map(|&f| (f, sign(f))).collect();
    let together = ndcg(&data, |e| signs.iter().map(|&(f, s)| s * f64::from(copy.features.get(e, f))).sum());
    assert!(together > best + 0.03 && together < 0.95, "together {together}, best {best}");
}

#[test]
fn binary_rows_have_the_share_of_positives_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    run("binary", &[("rows", "20000"), ("positives", "0.03"), ("split", "100/0/0")], folder.path());
    let data = read(&Source::path(folder.path().join("train.csv")), &ReadOptions::default()).unwrap();
    assert_eq!((data.lists.len(), data.rows(), data.features.width()), (1, 20_000, 20));
    let share = data.lists.labels.iter().sum::<f32>() / 20_000.0;
    // The threshold is estimated from 4096 rows: three standard errors are 0.008.
    assert!((share - 0.03).abs() < 0.008, "{share}");
}

#[test]
fn labels_of_multilabel_rows_are_correlated_and_some_unknown() {
    let folder = tempfile::tempdir().unwrap();
    run("multilabel", &[("rows", "4000"), ("split", "100/0/0")], folder.path());
    let text = std::fs::read_to_string(folder.path().join("train.csv")).unwrap();
    let rows: Vec<Vec<Option<f64>>> =
        text.lines().skip(1).map(|l| l.split(',').skip(20).map(|cell| cell.parse().ok()).collect()).collect();
    assert!(rows.iter().all(|row| row.len() == 6));
    let share = |l: usize| {
        let known: Vec<f64> = rows.iter().filter_map(|row| row[l]).collect();
        known.iter().sum::<f64>() / known.len() as f64
    };
    assert!((share(0) - 0.3).abs() < 0.03 && share(5) < share(0) / 2.0, "{} {}", share(0), share(5));
    let unknown = rows.iter().flatten().filter(|label| label.is_none()).count() as f64 / 24_000.0;
    assert!((unknown - 0.05).abs() < 0.01, "{unknown}");
    let correlation = |a: usize, b: usize| {
        let pairs: Vec<(f64, f64)> = rows.iter().filter_map(|row| Some((row[a]?, row[b]?))).collect();
        let both = pairs.iter().map(|(x, y)| x * y).sum::<f64>() / pairs.len() as f64;
        let (p, q) = (share(a), share(b));
        (both - p * q) / (p * (1.0 - p) * q * (1.0 - q)).sqrt()
    };
    let strongest = (0..6)
        .flat_map(|a| (0..a).map(move |b| (a, b)))
        .map(|(a, b)| correlation(a, b).abs())
        .fold(0.0, f64::max);
    assert!(strongest > 0.2, "{strongest}");
}

#[test]
fn interactions_are_long_tailed_without_repeats_and_in_order_of_time() {
    let folder = tempfile::tempdir().unwrap();
    run("interactions", &[], folder.path());
    let text = std::fs::read_to_string(folder.path().join("interactions.csv")).unwrap();
    let mut uses: BTreeMap<&str, u32> = BTreeMap::new();
    let mut seen = std::collections::BTreeSet::new();
    let mut last = ("", 0u64);
    let mut stars = [0u32; 6];
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        assert!(seen.insert((cells[0], cells[1])), "{line} comes twice");
        let time: u64 = cells[3].parse().unwrap();
        assert!(last.0 != cells[0] || last.1 < time, "{line} goes back in time");
        last = (cells[0], time);
        *uses.entry(cells[1]).or_default() += 1;
        stars[cells[2].parse::<usize>().unwrap()] += 1;
    }
    let mut counts: Vec<u32> = uses.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let top: u32 = counts[..200].iter().sum();
    assert!(
        f64::from(top) > 0.4 * seen.len() as f64,
        "the top tenth of 2000 items holds {top} of {}",
        seen.len()
    );
    assert!(stars[1..].iter().all(|&n| n > 0) && stars[0] == 0, "{stars:?}");
}

#[test]
fn clicks_fall_with_position_at_equal_relevance() {
    let folder = tempfile::tempdir().unwrap();
    run("sessions", &[], folder.path());
    let grades = std::fs::read_to_string(folder.path().join("qrels.txt")).unwrap();
    let grade: BTreeMap<&str, &str> = grades
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(' ').collect();
            (cells[2], cells[3])
        })
        .collect();
    let text = std::fs::read_to_string(folder.path().join("sessions.tsv")).unwrap();
    // (shown, clicked) by grade and position.
    let mut counts = BTreeMap::<(&str, u32), (f64, f64)>::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let cell = counts.entry((grade[cells[4]], cells[5].parse().unwrap())).or_default();
        cell.0 += 1.0;
        cell.1 += cells[6].parse::<f64>().unwrap();
    }
    let rate =
        |grade: &'static str, position: u32| counts[&(grade, position)].1 / counts[&(grade, position)].0;
    assert!(rate("3", 1) > 1.5 * rate("3", 3), "{} {}", rate("3", 1), rate("3", 3));
    assert!(rate("3", 1) > 3.0 * rate("0", 1), "{} {}", rate("3", 1), rate("0", 1));
    // P(click) at position 1 of grade 3 is 0.05 + 0.9 · 7/15.
    assert!((rate("3", 1) - (0.05 + 0.9 * 7.0 / 15.0)).abs() < 0.05, "{}", rate("3", 1));
}
