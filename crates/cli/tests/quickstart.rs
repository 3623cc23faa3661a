//! `toprank quickstart`: the README's first command.

#![cfg(feature = "neural")]

mod common;

use common::Toprank;

/// What a verdict says of two rankings: the ends of the interval of the difference, and p.
fn verdict(text: &str, winner: &str, loser: &str) -> (f64, f64, f64) {
    let start = format!("{winner} beats {loser} on ");
    let line = text.lines().find(|line| line.starts_with(&start));
    let line = line.unwrap_or_else(|| panic!("{winner} does not beat {loser}:\n{text}"));
    let number = |from: &str| {
        let rest = line.split(from).nth(1).expect("a number");
        let end = rest.find([',', ']', ' ']).unwrap_or(rest.len());
        rest[..end].parse::<f64>().unwrap_or_else(|_| panic!("{line}"))
    };
    let low = number(" [");
    (low, number(&format!("{low:.4}, ")), number(", p "))
}

/// Each ranking beats the one before it, by an interval that excludes 0. All seeds from 1 to 20: `bench/quickstart`.
fn tells_its_story(task: &str, seed: u32, rankings: &[&str]) {
    let shell = Toprank::new();
    let text = shell.ok(&format!("quickstart --task {task} --seed {seed} --quiet"));
    for pair in rankings.windows(2) {
        let (low, high, p) = verdict(&text, pair[1], pair[0]);
        assert!(0.0 < low && low < high && p < 0.05, "{task}, seed {seed}:\n{text}");
    }
    let folder = if task == "search" { "quickstart".into() } else { format!("quickstart-{task}") };
    let files = text.split("What is in ").nth(1).and_then(|rest| rest.split("\n\n").next());
    let files = files.expect("what each file is").lines().skip(1);
    let mut seen = 0;
    for line in files {
        let names = line.trim_start().split("  ").next().expect("names of files");
        for name in names.split(' ') {
            assert!(shell.has(&format!("{folder}/{name}")), "{task}: {name} was not written");
            seen += 1;
        }
    }
    assert!(seen >= 4 && text.contains("the plot: "), "{text}");
    let next = text.split("Next, with your own data:\n").nth(1).expect("what to try next");
    assert_eq!(next.lines().filter(|line| line.starts_with("  toprank ")).count(), 3, "{next}");
}

#[test]
fn search_linear_beats_the_best_feature_and_trees_beat_linear() {
    for seed in [1, 2, 17] {
        tells_its_story("search", seed, &["best-feature", "linear", "trees"]);
    }
}

#[test]
fn fraud_linear_beats_the_best_feature_and_trees_beat_linear() {
    for seed in [1, 9] {
        tells_its_story("fraud", seed, &["best-feature", "linear", "trees"]);
    }
}

#[test]
fn recommendation_matrix_factorisation_beats_popularity() {
    tells_its_story("recommendation", 1, &["popularity", "mf"]);
}

#[test]
fn graph_a_learned_walk_beats_the_number_of_links() {
    tells_its_story("graph", 1, &["in-degree", "learned"]);
}

#[test]
fn every_command_is_printed_as_it_can_be_typed_again() {
    let shell = Toprank::new();
    let text = shell.ok("quickstart --lists 40 -o my-demo --quiet");
    let commands: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("$ toprank ")).collect();
    assert_eq!(commands.len(), 6, "{text}");
    for command in &commands[1..] {
        let again =
            if command.starts_with("train") { format!("{command} --force") } else { (*command).into() };
        shell.ok(&format!("{again} --quiet"));
    }
    let linear = text.lines().find(|line| line.starts_with("  toprank train") && line.contains("my-demo"));
    shell.ok(linear.expect("a linear model for the metric").trim_start().strip_prefix("toprank ").unwrap());
}

#[test]
fn only_its_own_folder_is_overwritten() {
    let shell = Toprank::new();
    shell.ok("quickstart --lists 40 -o demo --quiet");
    shell.file("demo/mine.txt", "1\n");
    // Another task may use the folder, too; what is not quickstart's stays.
    shell.ok("quickstart --task graph --lists 40 -o demo --quiet");
    shell.ok("quickstart --lists 30 -o demo --quiet");
    assert_eq!(shell.read("demo/mine.txt"), "1\n");
    assert!(!shell.has("demo/walk.toprank"), "files of the other task are gone");
    shell.folder("other/data");
    shell.file("other/data/train.txt", "1 qid:1 1:1\n");
    let error = shell.fails(2, "quickstart --lists 40 -o other");
    assert!(error.contains("other: has files that quickstart did not write"), "{error}");
    assert_eq!(shell.read("other/data/train.txt"), "1 qid:1 1:1\n");
    assert!(shell.fails(2, "quickstart --json").contains("--json"));
    assert!(shell.fails(2, "quickstart --lists 5").contains("--lists"));
    shell.file("file", "");
    assert!(shell.fails(2, "quickstart -o file").contains("file"));
}

#[cfg(unix)]
#[test]
fn an_interrupted_quickstart_can_be_run_again() {
    let shell = Toprank::new();
    let code = shell.signalled("quickstart -o demo --quiet", "-INT", "demo/trees.toprank.checkpoint", 1);
    assert_eq!(code, Some(130));
    shell.ok("quickstart --lists 40 -o demo --quiet");
    assert!(!shell.has("demo/trees.toprank.checkpoint"));
}
