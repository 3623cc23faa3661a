//! STORM takes two gradients of one batch, at the present and at the previous weights (eq. 11): both must have the same mean.

use toprank_core::{Lists, Stream};
use toprank_objectives::{Batch, Draws, Gradients};

use super::{close_all, goal, list, step};

/// Trackers that look at two steps.
const FORMS: [&str; 6] = [
    "song-v1",
    "song-v1:beta=0.9",
    "song-v2",
    "song-v2:gamma=0.1:beta=0.9",
    "song-storm",
    "song-storm:lagged=true",
];

/// A sample of a list of `n` items, each item with probability one half, at least two relevant ones (1, 7) and two others.
fn sample(n: u32, t: u64) -> Draws {
    let mut random = Stream::new(3, "storm").at_step(t).open();
    let items: Vec<u32> = (0..n).filter(|j| [1, 2, 7, 8].contains(j) || random.unit() < 0.5).collect();
    Draws { lists: vec![0], offsets: vec![0, items.len() as u64], items, ..Draws::default() }
}

#[test]
fn equal_weights_give_equal_gradients() {
    let (base, labels) = list(40, 21);
    let lists = Lists::from_lengths(&[40], labels);
    for text in FORMS {
        let goal = goal(text);
        let mut state = goal.state(&lists).unwrap();
        for t in 0..12 {
            let draws = sample(40, t);
            // The scores move, but the step before did not.
            let at = |j: &u32| base[*j as usize] + 0.2 * (f64::from(*j) + t as f64).sin();
            let drawn: Vec<f64> = draws.items.iter().map(at).collect();
            let stream = Stream::new(1, "objective").at_step(t);
            let batch =
                Batch { draws: Some(&draws), previous: Some(&drawn), stream, ..Batch::all(&lists, &drawn) };
            let mut out = Gradients::default();
            goal.step(&batch, &mut state, &mut out).unwrap();
            assert!(out.gradient.iter().any(|g| *g != 0.0), "{text}, step {t}");
            assert!(close_all(&out.gradient_previous, &out.gradient, 1e-12), "{text}, step {t}");
        }
    }
}

/// A sample of five of nineteen items: two of the three relevant ones, three of the others.
fn five_of_nineteen(labels: &[f32], t: u64) -> Draws {
    let mut random = Stream::new(9, "five").at_step(t).open();
    let mut items = Vec::new();
    for (relevant, count) in [(true, 2), (false, 3)] {
        let mut class: Vec<u32> = (0..19).filter(|j| (labels[*j as usize] > 0.0) == relevant).collect();
        random.shuffle(&mut class);
        items.extend_from_slice(&class[..count]);
    }
    items.sort_unstable();
    Draws { lists: vec![0], offsets: vec![0, 5], items, ..Draws::default() }
}

/// The mean of STORM's direction over samples of fixed scores, along `slope` and in units of it, at each γ_m.
fn mean_directions<const M: usize>(text: &str, slope: &[f64], gammas: [f64; M]) -> [f64; M] {
    let (scores, labels) = list(19, 22);
    let lists = Lists::from_lengths(&[19], labels.clone());
    let square: f64 = slope.iter().map(|g| g * g).sum();
    let goal = goal(text);
    let mut state = goal.state(&lists).unwrap();
    let mut directions = [[0.0; 19]; M];
    let (steps, mut along) = (20_000, [0.0; M]);
    for t in 0..steps {
        let draws = five_of_nineteen(&labels, t);
        let drawn: Vec<f64> = draws.items.iter().map(|j| scores[*j as usize]).collect();
        let stream = Stream::new(1, "objective").at_step(t);
        let batch =
            Batch { draws: Some(&draws), previous: Some(&drawn), stream, ..Batch::all(&lists, &drawn) };
        let mut out = Gradients::default();
        goal.step(&batch, &mut state, &mut out).unwrap();
        for ((gamma, direction), along) in gammas.iter().zip(&mut directions).zip(&mut along) {
            for m in direction.iter_mut() {
                *m *= 1.0 - gamma;
            }
            for (k, j) in draws.items.iter().enumerate() {
                direction[*j as usize] += out.gradient[k] - (1.0 - gamma) * out.gradient_previous[k];
            }
            *along += direction.iter().zip(slope).map(|(m, g)| m * g).sum::<f64>() / square / steps as f64;
        }
    }
    along
}

/// The gradient of the whole list.
fn whole_slope(text: &str) -> Vec<f64> {
    let (scores, labels) = list(19, 22);
    let (goal, lists) = (goal(text), Lists::from_lengths(&[19], labels));
    step(&goal, &lists, &scores, &mut goal.state(&lists).unwrap(), 0).gradient
}

#[test]
fn the_mean_direction_of_storm_is_the_true_slope() {
    let (slope, gammas) = (whole_slope("song-minibatch"), [0.05, 0.1, 0.5, 0.9]);
    for text in ["song-v1", "song-v1:beta=0.9", "song-v1:lagged=true", "song-v2", "song-storm"] {
        for (gamma, along) in gammas.iter().zip(mean_directions(text, &slope, gammas)) {
            assert!((along - 1.0).abs() < 0.15, "{text}, γ_m {gamma}: {along} of the true slope");
        }
    }
    // A threshold from five items is another one, but STORM must not move the mean of the gradients (γ_m = 1).
    let slope = whole_slope("k-song@5:gamma=1:threshold=exact");
    for text in ["k-song-v1@5", "k-song-v2@5", "k-song-v1@5:form=practical"] {
        let gammas = [1.0, 0.5, 0.1, 0.05];
        let [mean, others @ ..] = mean_directions(text, &slope, gammas);
        for (gamma, along) in gammas[1..].iter().zip(others) {
            assert!(
                (along / mean - 1.0).abs() < 0.1,
                "{text}, γ_m {gamma}: {along}, the mean gradient {mean}"
            );
        }
    }
}

#[test]
fn faster_song_is_not_its_ablation_with_storm() {
    let (base, labels) = list(60, 23);
    let lists = Lists::from_lengths(&[60], labels);
    let run = |text: &str| {
        let goal = goal(text);
        let mut state = goal.state(&lists).unwrap();
        let at = |t: u64| -> Vec<f64> { base.iter().map(|s| s + 0.3 * (5.0 * s + t as f64).sin()).collect() };
        let mut out = Gradients::default();
        for t in 0..8 {
            let (now, before) = (at(t + 1), at(t));
            let stream = Stream::new(1, "objective").at_step(t);
            let batch = Batch { stream, previous: Some(&before), ..Batch::all(&lists, &now) };
            goal.step(&batch, &mut state, &mut out).unwrap();
        }
        out.gradient
    };
    let (faster, ablation) = (run("song-v1"), run("song-storm"));
    assert!(!close_all(&faster, &ablation, 1e-2), "song-v1 is song-storm");
    assert!(close_all(&run("song-v1:beta=1-gamma"), &ablation, 1e-12), "STORM is β = 1 − γ");
}
