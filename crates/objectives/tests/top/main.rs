//! Performance at the top: what objectives of areas, thresholds and duals promise beyond the contract. Identities between
//! them, limits, derivatives at exact thresholds, states that reach their closed forms, numbers that do not overflow.

mod contrastive;
mod derivatives;
mod duals;
mod exponentials;
mod identities;
mod known_errors;
mod storm;
mod thresholds;

use toprank_core::{List, Lists, Policy, Stream};
use toprank_objectives::compositional::Surrogate;
use toprank_objectives::{Batch, Goal, Gradients, State};

fn goal(text: &str) -> Goal {
    Goal::parse(text, &Policy::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Loss and gradient of a list seen for the first time.
fn of(text: &str, scores: &[f64], labels: &[f32]) -> (f64, Vec<f64>) {
    goal(text).of_list(&List::new(scores, labels)).unwrap()
}

/// One list of `n` items, one in six relevant, most of them high.
fn list(n: usize, seed: u64) -> (Vec<f64>, Vec<f32>) {
    let mut random = Stream::new(seed, "top").open();
    let labels: Vec<f32> = (0..n).map(|j| if j % 6 == 1 { 1.0 } else { 0.0 }).collect();
    let scores = labels.iter().map(|y| 0.7 * f64::from(*y) + 2.0 * random.unit() - 1.0).collect();
    (scores, labels)
}

fn step(goal: &Goal, lists: &Lists, scores: &[f64], state: &mut State, at: u64) -> Gradients {
    let mut out = Gradients::default();
    let stream = Stream::new(1, "objective").at_step(at);
    goal.step(&Batch { stream, ..Batch::all(lists, scores) }, state, &mut out).unwrap();
    out
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs().max(1e-12)
}

fn close_all(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    let scale = b.iter().fold(1e-12, |m: f64, x| m.max(x.abs()));
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= tolerance * scale)
}

/// Scores of relevant items rising, of others falling.
fn classes(scores: &[f64], labels: &[f32]) -> (Vec<f64>, Vec<f64>) {
    let of = |relevant: bool| {
        let members = scores.iter().zip(labels).filter(|(_, y)| (**y > 0.0) == relevant);
        members.map(|(s, _)| *s).collect::<Vec<f64>>()
    };
    let (mut relevant, mut others) = (of(true), of(false));
    relevant.sort_by(f64::total_cmp);
    others.sort_by(|a, b| b.total_cmp(a));
    (relevant, others)
}

const HINGE: Surrogate = Surrogate::SquaredHinge { margin: 1.0 };

/// The mean of ℓ over pairs, the relevant items weighed by `a`, the others by `b`.
fn mean_of_pairs(relevant: &[f64], a: &[f64], others: &[f64], b: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (s, a) in relevant.iter().zip(a) {
        for (t, b) in others.iter().zip(b) {
            sum += a * b * HINGE.at(t - s).0;
        }
    }
    sum
}
