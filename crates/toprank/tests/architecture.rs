//! The dependencies between crates are those of ARCHITECTURE.md, and the paths it names exist.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use toprank_testkit::tree::{root, texts};

/// Crate → crates it may use, from the table under "What are the crates?".
fn allowed() -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md"))
        .expect("ARCHITECTURE.md");
    let crates = text
        .split("## What are the crates?")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .expect("the table of crates");
    crates
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| crate") && !line.starts_with("| ---"))
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let uses =
                cells[3].split(',').map(|name| name.trim().to_string()).filter(|name| name != "–").collect();
            (cells[1].to_string(), uses)
        })
        .collect()
}

fn short(package: &str) -> &str {
    package.strip_prefix("toprank-").unwrap_or(package)
}

#[test]
fn crates_use_only_the_crates_that_architecture_md_allows() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("metadata as JSON");
    let allowed = allowed();
    let mut seen = Vec::new();
    for package in metadata["packages"].as_array().expect("packages") {
        let name = short(package["name"].as_str().expect("a name"));
        let may_use = allowed.get(name).unwrap_or_else(|| panic!("crate {name} is not in ARCHITECTURE.md"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let target = dependency["name"].as_str().expect("a name");
            if dependency["kind"].is_null() && target.starts_with("toprank") {
                let target = short(target).to_string();
                assert!(
                    may_use.contains(&target),
                    "{name} uses {target}, which ARCHITECTURE.md does not allow"
                );
            }
        }
        seen.push(name.to_string());
    }
    seen.sort();
    let listed: Vec<String> = allowed.into_keys().collect();
    assert_eq!(seen, listed, "the crates of the workspace and those of ARCHITECTURE.md");
}

#[test]
fn every_path_that_architecture_md_and_contributing_md_name_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = 0;
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root.join(page)).expect(page);
        let named = text.split('`').skip(1).step_by(2).filter(|word| {
            ["crates/", "bench/", "docs/", "fuzz/"].iter().any(|folder| word.starts_with(folder))
                && !word.contains(|c: char| {
                    c.is_whitespace()
                        || "*<>…".contains(c)
                        || c.is_uppercase() && !word.ends_with("README.md")
                })
        });
        for path in named {
            assert!(root.join(path).exists(), "{page} names {path}, which does not exist");
            seen += 1;
        }
    }
    assert!(seen > 40, "only {seen} paths were found");
}

#[test]
fn a_module_of_several_files_is_a_folder_with_a_mod_rs() {
    let sources = texts("crates", &["rs"], &["target", "tests"]);
    assert!(sources.len() > 400, "only {} files were found", sources.len());
    for (path, _) in &sources {
        let folder = path.strip_suffix(".rs").expect("a Rust file");
        assert!(!root().join(folder).is_dir(), "{path} is beside {folder}/: expected {folder}/mod.rs");
    }
}

#[test]
fn every_example_and_every_harness_that_a_text_names_exists() {
    let crates = texts("crates", &["rs", "md"], &["target"]);
    let pages = ["README.md", "CONTRIBUTING.md"].map(|name| {
        (name.to_string(), std::fs::read_to_string(root().join(name)).expect("a page of the workspace"))
    });
    let bench = texts("bench", &["md", "py"], &["__pycache__"]);
    let harnesses = &crates.iter().find(|(path, _)| path == "crates/bench/src/main.rs").expect("harnesses").1;
    // The name behind the words, as far as it is one.
    let named = |text: &str, before: &str| -> Vec<String> {
        let name = |rest: &str| {
            let end =
                rest.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c)));
            rest[..end.unwrap_or(rest.len())].trim_matches('-').to_string()
        };
        text.split(before).skip(1).map(name).filter(|name| !name.is_empty()).collect()
    };
    let mut seen = [0, 0];
    for (path, text) in crates.iter().chain(&pages).chain(&bench) {
        for name in named(text, concat!("--", "example ")) {
            let file = format!("examples/{name}.rs");
            assert!(
                crates.iter().any(|(path, _)| path.ends_with(&file)),
                "{path} names the example {name}, which does not exist"
            );
            seen[0] += 1;
        }
        for before in [concat!("`toprank", "-bench "), concat!("-p toprank", "-bench -- ")] {
            for name in named(text, before) {
                let listed = format!("name: \"{name}\"");
                assert!(harnesses.contains(&listed), "{path} names the harness {name}, which does not exist");
                seen[1] += 1;
            }
        }
    }
    assert!(seen[0] >= 5 && seen[1] >= 20, "only {seen:?} names were found");
}
