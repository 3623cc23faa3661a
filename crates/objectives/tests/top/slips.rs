//! What other tools fell for.

use toprank_core::{Lists, Stream};
use toprank_objectives::{Batch, Gradients, OBJECTIVES, State};

use super::{close, close_all, goal, list, of, step};

#[test]
fn every_label_of_multi_label_data_has_its_own_duals_and_its_own_third_level() {
    let (one, labels) = list(48, 17);
    let other: Vec<f64> = one.iter().map(|s| 7.0 - 5.0 * s).collect();
    let alone = Lists::from_lengths(&[48], labels.clone());
    let both = Lists::from_lengths(&[48, 48], labels.repeat(2));
    for name in [
        "tpauc-kl",
        "auroc-minmax",
        "auroc-margin:margin=3",
        "tpauc-minmax",
        "k-song@5",
        "soprc",
        "pauc-bilevel:fpr=0.3",
    ] {
        let goal = goal(name);
        let (mut single, mut double) = (goal.state(&alone).unwrap(), goal.state(&both).unwrap());
        for t in 0..3 {
            let now: Vec<f64> = one.iter().map(|s| s + 0.1 * (4.0 * s + t as f64).sin()).collect();
            let with: Vec<f64> = now.iter().chain(&other).copied().collect();
            let (a, b) =
                (step(&goal, &alone, &now, &mut single, t), step(&goal, &both, &with, &mut double, t));
            assert_eq!(a.losses[0], b.losses[0], "{name}, step {t}: a companion disturbs");
        }
    }
}

#[test]
fn margins_and_priors_that_are_given_are_used() {
    let (scores, labels) = list(60, 18);
    let loss = |text: &str| of(text, &scores, &labels).0;
    assert!((loss("auroc-margin:margin=5") - loss("auroc-margin:margin=1")).abs() > 1.0);
    assert!((loss("soprc:prior=0.01") - loss("soprc:prior=0.5")).abs() > 0.05);
    // A list of another share of relevant items does not overwrite the prior that was given.
    let half: Vec<f64> = scores[..12].to_vec();
    let few = of("soprc:prior=0.01:penalty=0:penalty-others=0", &half, &labels[..12]).0;
    assert!((0.0..=1.0).contains(&few));
}

#[test]
fn scores_of_zero_count_like_any_other_and_one_class_alone_is_idle() {
    let scores = [0.0, 1.0, 0.0, 2.0, 0.0, -1.0];
    let labels = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    let shifted: Vec<f64> = scores.iter().map(|s| s + 0.5).collect();
    for name in
        ["auroc-minmax", "auroc-margin", "pauc-cvar:fpr=0.5", "top-push", "tpauc-kl", "soprc", "auroc"]
    {
        let (a, b) = (of(name, &scores, &labels), of(name, &shifted, &labels));
        assert!(close(a.0, b.0, 1e-9) && close_all(&a.1, &b.1, 1e-9), "{name}");
        for labels in [[0.0; 6], [1.0; 6]] {
            assert_eq!(of(name, &scores, &labels), (0.0, vec![0.0; 6]), "{name}");
        }
    }
}

#[test]
fn the_gate_of_top_k_average_precision_weighs_relevant_items_and_not_their_competitors() {
    // Two relevant items, one at the top and one far down, between many others.
    let mut scores: Vec<f64> = (0..40).map(|j| 20.0 - j as f64).collect();
    let mut labels = vec![0.0; 40];
    labels[1] = 1.0;
    labels[35] = 1.0;
    scores[0] = 19.3;
    let (_, gradient) = of("top-ap@5:sharpness=5", &scores, &labels);
    assert!(gradient[1] < 0.0, "the relevant item within the first five rises");
    assert!(gradient[0] > 0.0 && gradient[0] > gradient[33].abs(), "the other above it is pushed down");
    assert!(gradient[35].abs() < 1e-6, "the one far below counts for nothing at K = 5: {}", gradient[35]);
}

#[test]
fn what_thresholds_and_duals_have_reached_is_saved_and_loaded() {
    let (base, labels) = list(60, 19);
    let lists = Lists::from_lengths(&[60], labels);
    let stateful = OBJECTIVES
        .iter()
        .map(|line| line.entry.name)
        .filter(|name| !goal(name).objective().columns().is_empty());
    let mut checked = 0;
    for name in stateful {
        let goal = goal(name);
        let at = |t: u64| -> Vec<f64> { base.iter().map(|s| s + 0.2 * (5.0 * s + t as f64).sin()).collect() };
        let run = |state: &mut State, t: u64| {
            let mut out = Gradients::default();
            let (now, before) = (at(t), at(t.saturating_sub(1)));
            let stream = Stream::new(1, "objective").at_step(t);
            let batch = Batch { stream, previous: Some(&before), ..Batch::all(&lists, &now) };
            goal.step(&batch, state, &mut out).unwrap();
            (out.loss, out.gradient)
        };
        let mut straight = goal.state(&lists).unwrap();
        (0..3).for_each(|t| drop(run(&mut straight, t)));
        let saved = straight.save();
        let mut loaded = goal.state(&lists).unwrap();
        loaded.load(&saved).unwrap();
        for t in 3..6 {
            assert_eq!(run(&mut straight, t), run(&mut loaded, t), "{name}, step {t}");
        }
        checked += 1;
    }
    assert!(checked >= 20, "{checked} objectives with state");
}
