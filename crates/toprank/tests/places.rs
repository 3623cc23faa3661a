//! CONTRIBUTING.md counts the places that a new objective, metric, reader, network, command or setting touches; here one of each is
//! looked up in the tree.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use toprank_testkit::tree::{root, texts};

/// A kind of thing, how many places it may touch, and how its example is recognised in a text.
struct Kind {
    name: &'static str,
    most: usize,
    marks: &'static [&'static str],
}

const KINDS: [Kind; 6] = [
    Kind { name: "objective", most: 5, marks: &["rankcosine", "RankCosine"] },
    Kind { name: "metric", most: 4, marks: &["spearman", "Spearman"] },
    Kind { name: "reader", most: 4, marks: &["\"idx\"", "`idx`", "idx::", "mod idx", "IDX"] },
    // A variable of this name is something else.
    Kind {
        name: "network",
        most: 4,
        marks: &["\"context", "`context", "context::", "mod context", "context-aware"],
    },
    Kind {
        name: "command",
        most: 4,
        // A bare `fuse` in prose is one example of a command among others.
        marks: &["struct Fuse", "fuse::Fuse", "mod fuse", "toprank fuse", "\"fuse\""],
    },
    // The code that uses a setting calls an accessor, which is not a definition.
    Kind { name: "setting", most: 1, marks: &["no-scale", "no_scale:", "no_scale ="] },
];

const CHANGELOG: &str = "CHANGELOG.md";

/// Folders of tests, benchmarks, fuzz targets, examples and what is built; the portfolio of `--model auto`, which a new model joins only if
/// that measures well.
const FOLDERS_NOT_COUNTED: [&str; 12] = [
    ".git",
    "target",
    "tests",
    "golden",
    "bench",
    "fuzz",
    "testkit",
    "examples",
    "__pycache__",
    "auto",
    "tutorials",
    "how-to",
];

/// Files of tests; the guide, whose table is checked here; the bibliography, which belongs to the papers; stubs that a developer has
/// written for an editor, which git ignores.
const FILES_NOT_COUNTED: [&str; 5] =
    ["tests.rs", "testing.rs", "CONTRIBUTING.md", "references.bib", "__init__.pyi"];

/// The texts of the tree that count, by their paths; without the tests inside of source files.
fn counted() -> Vec<(String, String)> {
    let found = texts("", &["rs", "md", "py", "pyi", "toml", "bib"], &FOLDERS_NOT_COUNTED);
    let counts = |path: &str| FILES_NOT_COUNTED.iter().all(|name| path.rsplit('/').next() != Some(name));
    let code = |text: &str| text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_string();
    let found: Vec<_> = found
        .iter()
        .filter(|(path, _)| counts(path))
        .map(|(path, text)| (path.clone(), code(text)))
        .collect();
    assert!(found.len() > 500, "only {} texts were found", found.len());
    found
}

/// The cells of the lines of CONTRIBUTING's table: new, places, example, which.
fn table() -> Vec<[String; 4]> {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
    let rows = text.split("| new | places |").nth(1).expect("the table of places").split("\n\n").next();
    let cells = |line: &str| {
        let mut cells = line.split('|').skip(1).map(|cell| cell.trim().to_string());
        std::array::from_fn(|_| cells.next().unwrap_or_default())
    };
    rows.unwrap_or_default().lines().skip(2).map(cells).collect()
}

#[test]
fn a_new_thing_touches_as_many_places_as_contributing_md_says() {
    let (texts, table) = (counted(), table());
    assert_eq!(table.len(), KINDS.len());
    for (kind, [new, places, example, which]) in KINDS.iter().zip(&table) {
        assert_eq!(kind.name, new);
        let example = example.trim_matches('`');
        assert!(kind.marks.iter().any(|mark| mark.contains(example)), "{example} is not looked for");
        let names = |text: &str| kind.marks.iter().any(|mark| text.contains(mark));
        let mut found: BTreeSet<&str> =
            texts.iter().filter(|(_, text)| names(text)).map(|(path, _)| path.as_str()).collect();
        if kind.name == "setting" {
            found.remove(CHANGELOG);
        } else {
            // A line of the CHANGELOG may speak of a group of them.
            found.insert(CHANGELOG);
        }
        let stated: usize = places.parse().expect("a number of places");
        assert_eq!(found.len(), stated, "{} {example} is named in {found:#?}", kind.name);
        assert!(
            stated <= kind.most,
            "a {} touches {stated} places, expected {} at most",
            kind.name,
            kind.most
        );
        for path in which.split('`').skip(1).step_by(2).filter(|path| path.contains('/')) {
            assert!(
                found.contains(path),
                "{} {example}: {path} does not name it, only {found:#?}",
                kind.name
            );
        }
    }
}

#[test]
fn type_stubs_are_not_committed() {
    let stubs = "crates/python/python/toprank/__init__.pyi";
    let ignored = fs::read_to_string(root().join(".gitignore")).expect(".gitignore");
    assert!(ignored.lines().any(|line| line.strip_prefix('/') == Some(stubs)), ".gitignore lacks /{stubs}");
    // A file that git ignores may still be tracked; where there is no git there is nothing to look at.
    if let Ok(tracked) = Command::new("git").args(["ls-files", stubs]).current_dir(root()).output() {
        assert!(tracked.stdout.is_empty(), "{stubs} is tracked");
    }
}
