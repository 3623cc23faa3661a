//! Code is written once: no block of more than twelve equal lines stands in two places among trainers, configs, checkpoints,
//! commands, the Python package and the helpers of tests.

use std::collections::HashMap;

use toprank_testkit::tree::texts;

/// The longest block that may stand twice.
const LONGEST: usize = 12;

/// Trainers, configs and checkpoints; commands; the Python package; helpers of tests.
const PARTS: [&str; 6] = [
    "crates/train/src",
    "crates/cli/src",
    "crates/python",
    "crates/testkit",
    "crates/cli/tests/common",
    "fuzz/fuzz_targets",
];

/// One line of code and its number.
type Line<'a> = (usize, &'a str);

/// The lines of code without indentation: neither blank lines nor comments nor imports.
fn code(text: &str) -> Vec<Line<'_>> {
    let starts = ["use ", "pub use ", "pub(crate) use ", "import ", "from "];
    // What ends an import that goes over several lines.
    let mut open: Option<&str> = None;
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(end) = open {
            open = (!line.ends_with(end)).then_some(end);
        } else if starts.iter().any(|start| line.starts_with(start)) {
            open = match line {
                line if line.ends_with('(') => Some(")"),
                line if line.ends_with(['{', ',']) => Some(";"),
                _ => None,
            };
        } else if !(line.is_empty() || line.starts_with("//") || line.starts_with("# ") || line == "#") {
            lines.push((number + 1, line));
        }
    }
    lines
}

/// Every block of more than `longest` equal lines that stands twice, as the places where it begins.
fn repeated(files: &[(String, String)], longest: usize) -> Vec<String> {
    let size = longest + 1;
    let files: Vec<(&str, Vec<Line>)> =
        files.iter().map(|(name, text)| (name.as_str(), code(text))).collect();
    let mut places: HashMap<Vec<&str>, Vec<(usize, usize)>> = HashMap::new();
    for (file, (_, lines)) in files.iter().enumerate() {
        for (start, window) in lines.windows(size).enumerate() {
            let window = window.iter().map(|(_, line)| *line).collect();
            places.entry(window).or_default().push((file, start));
        }
    }
    let before = |(file, start): (usize, usize)| start.checked_sub(1).map(|start| files[file].1[start].1);
    let mut found = Vec::new();
    for places in places.into_values() {
        for (i, &a) in places.iter().enumerate() {
            for &b in &places[i + 1..] {
                let overlap = a.0 == b.0 && a.1.abs_diff(b.1) < size;
                // A longer block is told once, where it begins.
                let begins = before(a).is_none() || before(a) != before(b);
                if !overlap && begins {
                    let [a, b] = [a, b].map(|(f, start)| format!("{}:{}", files[f].0, files[f].1[start].0));
                    found.push(format!("{a} and {b}"));
                }
            }
        }
    }
    found.sort();
    found
}

#[test]
fn no_block_of_more_than_twelve_equal_lines_stands_twice() {
    let files: Vec<(String, String)> =
        PARTS.iter().flat_map(|part| texts(part, &["rs", "py"], &["__pycache__"])).collect();
    assert!(files.len() > 100, "only {} files were found", files.len());
    let found = repeated(&files, LONGEST);
    assert!(found.is_empty(), "blocks of more than {LONGEST} equal lines:\n{}", found.join("\n"));
}

#[test]
fn the_search_finds_a_block_whatever_stands_around_and_between_it() {
    let lines = |count: usize| (0..count).map(|n| format!("    let x{n} = {n};")).collect::<Vec<_>>();
    let file = |name: &str, lines: &[String], between: &str| {
        (
            name.to_string(),
            format!("// {name}\nuse a::{{\n    b,\n}};\nfn {name}() {{\n{}\n}}\n", lines.join(between)),
        )
    };
    let block = lines(LONGEST + 1);
    let twice = [file("one", &block, "\n"), file("two", &block, "\n\n    // a comment\n")];
    assert_eq!(repeated(&twice, LONGEST), ["one:6 and two:6"]);
    // The brace behind the block is the thirteenth line.
    let short = [file("one", &block[..LONGEST - 1], "\n"), file("two", &block[..LONGEST - 1], "\n")];
    assert_eq!(repeated(&short, LONGEST), [""; 0]);
}
