//! Promises that every generator keeps, and the bytes of each, pinned.

use std::collections::BTreeMap;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::*;

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
        &[("rows", "100"), ("features", "6"), ("format", "arff"), ("split", "80/0/20")],
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
        ("letor", "lists", "0", "lists must be a whole number in [1, 4000000000], but is 0"),
        ("letor", "lists", "many", "lists must be a whole number in [1, 4000000000], but is many"),
        ("letor", "split", "60/40", "split must be three shares ≥ 0 separated by /, but is 60/40"),
        ("letor", "split", "60/x/20/20", "split must be three shares ≥ 0 separated by /, but is 60/x/20/20"),
        ("letor", "split", "0/0/0", "split must be three shares ≥ 0 separated by /, but is 0/0/0"),
        ("letor", "seed", "-1", "seed must be a whole number from 0 on, but is -1"),
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
