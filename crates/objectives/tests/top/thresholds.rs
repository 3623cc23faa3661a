//! Online thresholds reach the exact ones.

use toprank_core::{Lists, Stream};
use toprank_objectives::bilevel::{move_threshold, thresholds};
use toprank_objectives::{Batch, Draws, Gradients};

use super::{close, close_all, goal, list, step};

/// How many of the items stand above.
fn count_above(scores: &[f64], lambda: f64) -> usize {
    scores.iter().filter(|s| **s > lambda).count()
}

#[test]
fn online_thresholds_reach_the_exact_ones_from_anywhere_at_any_scale() {
    let (base, labels) = list(600, 9);
    let lists = Lists::from_lengths(&[600], labels.clone());
    for (name, k) in
        [("k-song", 50), ("k-song-v1", 50), ("k-song-v2", 50), ("k-song", 3), ("recall-threshold", 300)]
    {
        for scale in [0.01, 0.1, 1.0, 10.0, 100.0] {
            let scores: Vec<f64> = base.iter().map(|s| s * scale).collect();
            // As narrow as the others'.
            let narrow = if name == "recall-threshold" { ":tau1=0.01:eta=0.01" } else { "" };
            let goal = goal(&format!("{name}@{k}{narrow}"));
            let exact = {
                let mut state = goal.state(&lists).unwrap();
                step(&goal, &lists, &scores, &mut state, 0);
                thresholds(&state.of_list(0, 600))[0].unwrap() // the first visit solves
            };
            assert!(count_above(&scores, exact).abs_diff(k) <= 1, "{name}@{k} × {scale}");
            for start in [-10.0, 0.0, 10.0] {
                let mut state = goal.state(&lists).unwrap();
                step(&goal, &lists, &scores, &mut state, 0);
                move_threshold(&mut state.of_list(0, 600), 0, start);
                let mut visits = 0;
                for t in 1..=600 {
                    step(&goal, &lists, &scores, &mut state, t);
                    let lambda = thresholds(&state.of_list(0, 600))[0].unwrap();
                    if count_above(&scores, lambda).abs_diff(k) > 1 {
                        visits = t;
                    }
                }
                assert!(visits < 500, "{name}@{k} × {scale} from {start}: {visits} visits");
                let lambda = thresholds(&state.of_list(0, 600))[0].unwrap();
                assert!((lambda - exact).abs() < 0.02 * scale, "{name}@{k} × {scale}: {lambda} for {exact}");
            }
        }
    }
}

/// Half of the relevant items and 60 others of 600 items: relevant ones are drawn five times too often.
fn uneven_draw(labels: &[f32], t: u64) -> Draws {
    let mut random = Stream::new(5, "uneven").at_step(t).open();
    let mut items = Vec::new();
    for (relevant, count) in [(true, 50), (false, 60)] {
        let mut class: Vec<u32> =
            (0..labels.len() as u32).filter(|j| (labels[*j as usize] > 0.0) == relevant).collect();
        random.shuffle(&mut class);
        items.extend_from_slice(&class[..count]);
    }
    items.sort_unstable();
    Draws { lists: vec![0], offsets: vec![0, items.len() as u64], items, ..Draws::default() }
}

#[test]
fn thresholds_from_samples_with_too_many_relevant_items_refer_to_the_whole_list() {
    let (scores, labels) = list(600, 10);
    let lists = Lists::from_lengths(&[600], labels.clone());
    for name in ["k-song", "k-song-v1", "recall-threshold", "top-ap"] {
        let goal = goal(&format!("{name}@60:tau1=0.1:eta=0.01"));
        let mut state = goal.state(&lists).unwrap();
        let mut mean = 0.0;
        for t in 0..1500 {
            let draws = uneven_draw(&labels, t);
            let drawn: Vec<f64> = draws.items.iter().map(|j| scores[*j as usize]).collect();
            let stream = Stream::new(1, "objective").at_step(t);
            let batch =
                Batch { draws: Some(&draws), stream, previous: Some(&drawn), ..Batch::all(&lists, &drawn) };
            goal.step(&batch, &mut state, &mut Gradients::default()).unwrap();
            if t >= 500 {
                mean += count_above(&scores, thresholds(&state.of_list(0, 600))[0].unwrap()) as f64 / 1000.0;
            }
        }
        // The sample as it is has 83 of the 100 relevant items' share above: 40 of 600 or fewer would be found.
        assert!((mean - 60.0).abs() < 6.0, "{name}: {mean} items above");
    }
}

#[test]
fn at_fixed_scores_every_form_of_the_implicit_term_reaches_the_exact_gradient() {
    let (scores, labels) = list(120, 11);
    let lists = Lists::from_lengths(&[120], labels);
    for name in ["k-song", "k-song-v1", "k-song-v2"] {
        let exact = goal(&format!("{name}@20:gamma=1:threshold=exact:tau1=0.1"));
        let expected = step(&exact, &lists, &scores, &mut exact.state(&lists).unwrap(), 0);
        let online = goal(&format!("{name}@20:tau1=0.1"));
        let mut state = online.state(&lists).unwrap();
        let far: Vec<f64> = scores.iter().map(|s| 0.5 * s * s + 0.3 * s).collect();
        step(&online, &lists, &far, &mut state, 0);
        let mut last = Gradients::default();
        for t in 1..3000 {
            let mut out = Gradients::default();
            let stream = Stream::new(1, "objective").at_step(t);
            let batch = Batch { stream, previous: Some(&scores), ..Batch::all(&lists, &scores) };
            online.step(&batch, &mut state, &mut out).unwrap();
            last = out;
        }
        assert!(close_all(&last.gradient, &expected.gradient, 1e-3), "{name}");
        assert!(close(last.loss, expected.loss, 1e-3), "{name}: {} for {}", last.loss, expected.loss);
    }
}

#[test]
fn one_step_later_the_gradient_at_the_previous_scores_is_the_gradient_of_that_step() {
    // The threshold and the tracked second derivative are those of the step before, not the present ones (algorithm 9). Ranks
    // are not tracked here (γ = 1), so that they are those of the scores.
    let (base, labels) = list(120, 12);
    let lists = Lists::from_lengths(&[120], labels);
    let at = |t: u64| -> Vec<f64> { base.iter().map(|s| s + 0.3 * (5.0 * s + t as f64).sin()).collect() };
    for (name, own) in [
        ("k-song-v1@20", "beta=0:gamma-s=0.1:gamma-z=0.1:beta-s=0.9:beta-z=0.9"),
        ("k-song-v2@20", "beta=0:tau=1:gamma-s=0.1:gamma-z=0.1:beta-s=0.9:beta-z=0.9"),
        ("k-song-v1@20", "beta=0:gamma-s=0.1:gamma-z=0.1:form=practical"),
        ("k-song-v2@20", "beta=0:tau=1:gamma-s=0.1:gamma-z=0.1:form=practical"),
    ] {
        let text = format!("{name}:gamma=1:{own}");
        let goal = goal(&text);
        let mut state = goal.state(&lists).unwrap();
        let mut before: Option<Vec<f64>> = None;
        for t in 0..6 {
            let mut out = Gradients::default();
            let (now, previous) = (at(t), at(t.saturating_sub(1)));
            let stream = Stream::new(1, "objective").at_step(t);
            goal.step(
                &Batch { stream, previous: Some(&previous), ..Batch::all(&lists, &now) },
                &mut state,
                &mut out,
            )
            .unwrap();
            if let Some(before) = &before {
                assert!(close_all(&out.gradient_previous, before, 1e-12), "{text}, step {t}");
            }
            before = Some(out.gradient);
        }
    }
}
