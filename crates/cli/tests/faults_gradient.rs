//! `toprank gradient` on scores of any size: finite numbers, or an error that says where; never a panic.

mod common;

use common::{Toprank, json};
use toprank::core::{Lists, Policy, Stream};
use toprank::objectives::{Batch, Goal, GoalError, Gradients};

/// Labels of two lists of three rows.
const LABELS: [f32; 6] = [2.0, 0.0, 1.0, 0.0, 1.0, 0.0];

/// A folder with the two lists as `test.txt`.
fn shell() -> Toprank {
    let shell = Toprank::new();
    let row = |(i, label)| format!("{label} qid:{} 1:0.5\n", 10 + i / 3);
    shell.file("test.txt", &LABELS.iter().enumerate().map(row).collect::<String>());
    shell
}

/// The same step in the library, which must not return numbers that are not finite (`crates/objectives/tests/extremes.rs`).
fn library(objective: &str, scores: &[f64]) -> Result<f64, GoalError> {
    let lists = Lists::from_lengths(&[3, 3], LABELS.to_vec());
    let goal = Goal::parse(objective, &Policy::default()).unwrap();
    let batch = Batch { stream: Stream::new(1, "objective"), ..Batch::all(&lists, scores) };
    let mut out = Gradients { want_hessian: true, ..Gradients::default() };
    goal.step(&batch, &mut goal.state(&lists)?, &mut out).map(|()| out.loss)
}

#[test]
fn every_objective_gives_finite_numbers_or_an_error_with_file_line_list_and_score() {
    let shell = shell();
    let mut refused = 0;
    for size in [1e6, 1e150, 1e200, 1e300, f64::MAX] {
        let scores = [0.5, -size, 0.25, size, -size, 0.0];
        shell.file("scores.txt", &scores.map(|score| format!("{score:e}\n")).concat());
        for line in toprank::objectives::OBJECTIVES {
            let (name, file) = (line.entry.name, format!("{}-{size:e}.csv", line.entry.name));
            let args = format!(
                "gradient --data test.txt --scores scores.txt --objective {name} --hessian -o {file} --json"
            );
            match library(name, &scores) {
                Ok(loss) => {
                    assert_eq!(json(&shell.ok(&args))["loss"].as_f64(), Some(loss), "{name}, {size:e}");
                    let file = shell.read(&file);
                    let numbers = file.lines().skip(1).flat_map(|line| line.split(',').skip(2));
                    let finite = |number: &&str| number.parse::<f64>().is_ok_and(f64::is_finite);
                    assert_eq!(numbers.filter(finite).count(), 12, "{name}, {size:e}: {file}");
                }
                Err(error) => {
                    refused += 1;
                    assert!(size > 1e150 || name.starts_with("p-norm-push"), "{name}, {size:e}: {error}");
                    let message = shell.fails(3, &args);
                    let line = if error.to_string().starts_with("list 0") { "2" } else { "5" };
                    let place = format!("test.txt:{line}: {error}");
                    assert!(message.contains(&place), "{name}, {size:e}: {message}\n{place}");
                    assert!(!shell.has(&file), "{name}, {size:e}");
                }
            }
        }
    }
    assert!(refused > 0, "squares of 1e200 overflow");
}

#[test]
fn an_overflow_names_line_list_item_and_score() {
    let shell = shell();
    shell.file("scores.txt", "0.5\n-1\n0.25\n3e200\n-1e200\n0\n");
    let base = "gradient --data test.txt --scores scores.txt --objective";
    let message = shell.fails(3, &format!("{base} squared-hinge -o g.csv"));
    assert!(
        message.contains(
            "test.txt:4: list 1: the loss is not a finite number; the list's score farthest from 0 is 3e200 (item 0)"
        ),
        "{message}"
    );
    let bounded = json(&shell.ok(&format!("{base} approx-ndcg --json")));
    assert!(bounded["loss"].is_f64(), "{bounded}");
}

#[test]
fn a_score_that_is_not_finite_is_refused_with_its_line() {
    let shell = shell();
    for score in ["inf", "-inf", "nan", "1e999"] {
        shell.file("scores.txt", &format!("1\n2\n3\n{score}\n5\n6\n"));
        let message =
            shell.fails(3, "gradient --data test.txt --scores scores.txt --objective song -o g.csv");
        assert!(message.contains("scores.txt:4"), "{message}");
    }
}

#[test]
fn a_run_whose_scores_stop_being_finite_ends_like_one_whose_loss_does() {
    let shell = shell();
    let args = "train --data test.txt --model linear --objective squared --optimiser sgd --learning-rate 1e30 \
                --clip 0 --epochs 50 -o m.toprank";
    let message = shell.fails(1, args);
    assert!(message.contains("the score is not a finite number; the batch held the lists 0, 1"), "{message}");
    assert!(message.contains("Their names: 10, 11"), "{message}");
    assert!(!shell.has("m.toprank"), "a model of a diverged run was written");
}
