//! What the README shows, run and checked as it stands there.

mod common;

use toprank::train::rank::choice::{ModelKind, choose};

const README: &str = include_str!("../../../README.md");

/// The code blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let start = format!("```{language}\n");
    README.split(&start).skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

/// The block of commands under "A tour".
fn tour() -> &'static str {
    let tour = README.split("## A tour").nth(1).expect("a tour");
    tour.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("its commands")
}

#[cfg(all(unix, feature = "neural", feature = "parquet", feature = "plots"))]
#[test]
fn the_tour_runs_from_top_to_bottom_in_an_empty_folder() {
    let shell = common::Toprank::new();
    let lines = tour().lines().filter(|line| line.starts_with("toprank ")).count();
    assert!(lines > 30, "only {lines} commands");
    // A folder of programs in which the command has its name.
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_toprank"));
    let bin = program.parent().expect("a folder").display();
    let out = shell.sh(&format!("PATH=\"{bin}:$PATH\"; export PATH; set -ex\n{}", tour()));
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    for file in [
        "trees.toprank",
        "differences.svg",
        "lightgbm.txt",
        "walk.tsv",
        "vectors.npy",
        "gradient.csv",
        "report.html",
    ] {
        assert!(shell.has(file), "{file}");
    }
}

#[test]
fn every_other_command_stands_in_the_tour() {
    for block in blocks("sh").into_iter().filter(|block| *block != tour()) {
        let commands = block.lines().filter(|line| line.starts_with("toprank "));
        let unknown: Vec<&str> =
            commands.filter(|line| !tour().lines().any(|known| known == *line)).collect();
        assert!(unknown.is_empty(), "not run by a test: {unknown:?}");
    }
}

#[test]
fn the_table_of_objectives_says_what_is_trained() {
    let table = README.split("| you report |").nth(1).and_then(|rest| rest.split("\n\n").next());
    let mut metrics = 0;
    for row in table.expect("the table").lines().skip(2) {
        let cells: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        let [metric, network, trees] = cells[..] else { panic!("three names: {row}") };
        for (kind, expected) in [(ModelKind::Network, network), (ModelKind::Trees, trees)] {
            let choice = choose(metric, None, kind).unwrap_or_else(|error| panic!("{metric}: {error}"));
            assert_eq!(choice.algorithm, expected, "{metric}");
        }
        metrics += 1;
    }
    assert!(metrics > 8, "{metrics} metrics");
    let served = |metric: &str, kind| choose(metric, None, kind).map(|choice| choice.algorithm).unwrap();
    let recommenders = format!("`{}` for NDCG", served("ndcg@10", ModelKind::Recommender));
    let embeddings = format!("`{}` for MAP", served("map", ModelKind::Embedding));
    assert!(README.contains(&recommenders) && README.contains(&embeddings));
}

#[test]
fn files_that_the_readme_links_to_exist() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut links = 0;
    for target in README.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        if !target.contains("://") && !target.starts_with('#') {
            assert!(root.join(target).exists(), "README.md links to {target}");
            links += 1;
        }
    }
    assert!(links > 8, "{links} links");
}
