//! The gradient of a bilevel objective is the derivative of its loss, the implicit term included.

use toprank_core::{List, Lists, Stream};
use toprank_objectives::{Batch, Gradients};

use super::{close_all, goal, list, step};

/// The largest error of the gradient against five-point differences, by the largest slope; λ solved exactly, u exact.
fn derivative_error(text: &str, scores: &[f64], lists: &Lists) -> f64 {
    let goal = goal(text);
    let state = {
        // Not on the first visit: trackers and thresholds remember other scores.
        let mut state = goal.state(lists).unwrap();
        let other: Vec<f64> = scores.iter().map(|s| 0.8 * s + 0.1 * (3.0 * s).cos()).collect();
        step(&goal, lists, &other, &mut state, 0);
        state
    };
    // D, the unit of the lower level, is a constant of the derivative.
    let at = |moved: &[f64]| {
        let mut out = Gradients::default();
        let stream = Stream::new(1, "objective").at_step(1);
        let batch = Batch { stream, frozen: Some(scores), ..Batch::all(lists, moved) };
        goal.step(&batch, &mut state.clone(), &mut out).unwrap();
        out
    };
    let gradient = at(scores).gradient;
    let scale = gradient.iter().fold(0.0, |top: f64, g| top.max(g.abs()));
    let mut moved = scores.to_vec();
    let mut worst = 0.0_f64;
    for (i, g) in gradient.iter().enumerate() {
        let h = 2e-5;
        let mut value = |by: f64| {
            moved[i] = scores[i] + by;
            at(&moved).loss
        };
        let numeric = (8.0 * (value(h) - value(-h)) - (value(2.0 * h) - value(-2.0 * h))) / (12.0 * h);
        moved[i] = scores[i];
        worst = worst.max((g - numeric).abs() / scale);
    }
    worst
}

#[test]
fn the_hypergradient_is_the_derivative_at_exact_thresholds() {
    let (scores, labels) = list(48, 8);
    let lists = Lists::from_lengths(&[48], labels);
    let exact_ranks =
        [("k-song", ""), ("k-song-v1", ""), ("k-song-v2", ":beta=0:tau=1"), ("top-ap", ":form=theoretical")];
    for (name, rates) in exact_ranks {
        for k in [1, 5, 20] {
            for sharpness in [0.5, 1.0, 2.0, 5.0] {
                let text =
                    format!("{name}@{k}:gamma=1{rates}:threshold=exact:tau1=0.05:sharpness={sharpness}");
                let error = derivative_error(&text, &scores, &lists);
                assert!(error < 1e-6, "{text}: {error}");
            }
        }
    }
    for text in [
        "precision-threshold@10:surrogate=squared-hinge",
        "recall-threshold@10:surrogate=sigmoid:temperature=0.3",
        "precision-at-recall:recall=0.8",
        "precision-at-recall:recall=0.5:surrogate=logistic",
        "pauc-bilevel:fpr=0.3",
        "pauc-bilevel:from=0.1:fpr=0.3:surrogate=sigmoid:temperature=0.5",
        "tpauc-bilevel:fpr=0.3:tpr=0.5",
        "pap@4",
        "top-push-bilevel",
    ] {
        for tau1 in [0.02, 0.2] {
            let text = format!("{text}:gamma=1:threshold=exact:tau1={tau1}");
            let error = derivative_error(&text, &scores, &lists);
            assert!(error < 1e-6, "{text}: {error}");
        }
    }
    // Steps of the lower level itself; where they are narrow one item has λ for itself, and hardly any slope is left.
    for text in
        ["precision-threshold@10", "recall-threshold@10", "precision-at-recall:recall=0.8:surrogate=step"]
    {
        for tau1 in [0.1, 0.5, 2.0] {
            let text = format!("{text}:gamma=1:threshold=exact:tau1={tau1}");
            let error = derivative_error(&text, &scores, &lists);
            assert!(error < 1e-6, "{text}: {error}");
        }
    }
    // Without the implicit term, or without the slope of the gate, it would not be: what this test would miss.
    let error = |form: &str| {
        derivative_error(&format!("k-song@5:gamma=1:threshold=exact:tau1=0.05:form={form}"), &scores, &lists)
    };
    assert!(error("theoretical") < 1e-6);
    let whole = goal("k-song@5:gamma=1:threshold=exact:tau1=0.05")
        .of_list(&List::new(&scores, &lists.labels))
        .unwrap();
    let stopped = goal("k-song@5:gamma=1:threshold=exact:tau1=0.05:form=practical")
        .of_list(&List::new(&scores, &lists.labels));
    assert!(!close_all(&whole.1, &stopped.unwrap().1, 0.05), "the gate's own part is not small");
}
