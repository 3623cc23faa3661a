//! `toprank tune`: the same trials whatever was done before, the best one kept.

#![cfg(feature = "neural")]

mod common;

use common::{Toprank, json};

fn shell(method: &str, valid: &str) -> Toprank {
    let shell = Toprank::new();
    shell.ok("generate letor --lists 40 --seed 1 -o demo --quiet");
    shell.file(
        "space.toml",
        &format!(
            "data = \"demo/train.txt\"\n{valid}model = \"linear\"\nepochs = 4\n[tune]\ntrials = 4\nmethod = \"{method}\"\n\
             folds = 2\n[space]\nrate = {{ from = 1e-5, to = 1e-1, scale = \"log\" }}\nobjective = [\"listnet\", \"ranknet\"]\n"
        ),
    );
    shell
}

const VALID: &str = "valid = \"demo/vali.txt\"\n";

#[test]
fn trials_are_judged_and_the_best_can_be_trained() {
    let shell = shell("random", VALID);
    let value = json(&shell.ok("tune --config space.toml -o found --quiet --json"));
    let values: Vec<f64> =
        value["trials"].as_array().unwrap().iter().map(|trial| trial["value"].as_f64().unwrap()).collect();
    assert_eq!(values.len(), 4);
    assert_eq!(value["best"]["value"].as_f64().unwrap(), values.iter().copied().fold(f64::MIN, f64::max));
    let plot = shell.read("found/results.svg");
    let best = format!("best: trial {}", value["best"]["trial"]);
    assert!(plot.starts_with("<svg") && plot.contains("best so far") && plot.contains(&best), "{plot}");
    let trained = json(&shell.ok("train --config found/best.toml -o best.toprank --quiet --json"));
    assert_eq!(trained["best"]["value"], value["best"]["value"], "the same settings, the same model");
}

#[test]
fn a_stopped_search_goes_on_with_the_same_trials() {
    let shell = shell("halving", "");
    shell.ok("tune --config space.toml -o whole --quiet");
    let lines: Vec<String> = shell.read("whole/results.jsonl").lines().map(String::from).collect();
    assert_eq!(lines.len(), 4 + 2 + 1, "four trials, two of them again, one of these again");
    // Two results and half a third: as after a kill.
    shell.ok("tune --config space.toml -o part --quiet");
    shell.file("part/results.jsonl", &format!("{}\n{}\n{}", lines[0], lines[1], &lines[2][..20]));
    shell.ok("tune --config space.toml -o part --quiet");
    let timeless = |text: &str| -> Vec<serde_json::Value> {
        text.lines()
            .map(|line| {
                let mut value = json(line);
                value["seconds"] = 0.into();
                value
            })
            .collect()
    };
    assert_eq!(timeless(&shell.read("part/results.jsonl")), timeless(&shell.read("whole/results.jsonl")));
}

#[test]
fn results_of_another_space_are_not_mixed_in() {
    let shell = shell("random", VALID);
    shell.ok("tune --config space.toml -o found --quiet");
    shell.file("space.toml", &shell.read("space.toml").replace("epochs = 4", "epochs = 5"));
    let error = shell.fails(2, "tune --config space.toml -o found --quiet");
    assert!(error.contains("another space"), "{error}");
    shell.file("space.toml", "[space]\nrate = [0.1]\n");
    let error = shell.fails(2, "tune --config space.toml -o found --quiet");
    assert!(error.contains("no data"), "{error}");
}
