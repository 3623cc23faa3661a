//! `toprank train --class`: rows of several classes.

mod common;

use common::{Toprank, json};

/// Rows whose kind follows from x, more or less; the names are not in the order of x.
fn table(shift: usize) -> String {
    let mut text = "x,noise,kind\n".to_string();
    for i in 0..300 {
        let x = (i * 37 + shift) % 100;
        let kind = ["dog", "ant", "cat"][(x + i % 7) / 36];
        text += &format!("{x},{},{kind}\n", (i * 13 + shift) % 50);
    }
    text
}

fn shell() -> Toprank {
    let shell = Toprank::new();
    shell.file("train.csv", &table(0));
    shell.file("valid.csv", &table(5));
    shell
}

#[test]
fn classes_are_learned_together_and_predicted_as_probabilities() {
    let shell = shell();
    let run = "train --data train.csv --valid valid.csv --class kind --model trees --trees 60 --objective multiclass --quiet";
    let value = json(&shell.ok(&format!("{run} -o m.toprank --json")));
    assert_eq!(value["best"]["metric"], "auroc");
    assert!(value["best"]["value"].as_f64().unwrap() > 0.95, "{value}");
    for threads in [1, 2] {
        shell.ok(&format!("{run} --threads {threads} -o {threads}.toprank"));
        assert_eq!(shell.bytes("m.toprank"), shell.bytes(&format!("{threads}.toprank")));
    }
    let predicted = shell.ok("predict m.toprank --data valid.csv --probability --quiet");
    let values: Vec<f64> = predicted.split_whitespace().map(|value| value.parse().unwrap()).collect();
    assert_eq!(values.len(), 900);
    let kinds: Vec<String> =
        shell.read("valid.csv").lines().skip(1).map(|line| line.rsplit(',').next().unwrap().into()).collect();
    // Classes in the order of their names; a line per row, or class after class.
    let by_line = predicted.lines().count() == 300;
    let at = |row: usize, k: usize| if by_line { values[3 * row + k] } else { values[300 * k + row] };
    let mut right = 0;
    for (row, kind) in kinds.iter().enumerate() {
        let of_row: Vec<f64> = (0..3).map(|k| at(row, k)).collect();
        assert!((of_row.iter().sum::<f64>() - 1.0).abs() < 1e-4, "{of_row:?}");
        let best = (0..3).max_by(|&a, &b| of_row[a].total_cmp(&of_row[b])).unwrap();
        right += usize::from(["ant", "cat", "dog"][best] == kind);
    }
    assert!(right > 240, "{right} of 300");
    shell.ok("train --data train.csv --class kind --model trees --trees 5 --objective multiclass --folds 3 -o f.toprank --quiet");
}

#[cfg(feature = "neural")]
#[test]
fn networks_learn_classes_together_too_and_are_exported_with_their_probabilities() {
    let shell = shell();
    let run = "train --data train.csv --valid valid.csv --class kind --model mlp:hidden=16 --epochs 40 --objective multiclass";
    let value = json(&shell.ok(&format!("{run} --quiet -o m.toprank --json")));
    assert!(value["best"]["value"].as_f64().unwrap() > 0.9, "{value}");
    for threads in [1, 2] {
        shell.ok(&format!("{run} --quiet --threads {threads} -o {threads}.toprank"));
        assert_eq!(shell.bytes("m.toprank"), shell.bytes(&format!("{threads}.toprank")));
    }
    let predicted = shell.ok("predict m.toprank --data valid.csv --probability --quiet");
    let sum: f64 = predicted.split_whitespace().map(|value| value.parse::<f64>().unwrap()).sum();
    assert!((sum - 300.0).abs() < 1e-2, "{sum}");
    shell.ok("export m.toprank --to onnx -o m.onnx --quiet");
    assert!(String::from_utf8_lossy(&shell.bytes("m.onnx")).contains("probabilities"));
    shell.ok("train --data train.csv --class kind --model linear --epochs 3 --objective multiclass --folds 3 -o f.toprank --quiet");
}

#[test]
fn what_cannot_be_learned_from_classes_is_said() {
    let shell = shell();
    shell.file("other.csv", "x,noise,kind\n1,2,ant\n3,4,emu\n");
    let run = "train --data train.csv -o m.toprank --quiet --model trees";
    for (code, args, words) in [
        (2, "--class sort --objective multiclass", "sort"),
        (
            3,
            "--class kind --objective multiclass --valid other.csv",
            "other.csv:3: column kind: class \"emu\"",
        ),
        (
            3,
            "--label x --objective multiclass",
            "train.csv: one label; expected a column of classes (--class)",
        ),
        (2, "--class kind --objective multiclass --calibrate platt", "calibrate must be auto or none"),
    ] {
        let error = shell.fails(code, &format!("{run} {args}"));
        assert!(error.contains(words), "{args}: {error}");
    }
}
