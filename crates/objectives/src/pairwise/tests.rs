//! The pairwise objectives against their formulas, pair by pair.

use toprank_core::{Lists, Policy, Stream};

use crate::kernels::scalar::{sigmoid, softplus};
use crate::{Batch, Goal, Gradients};

/// ℓ, ℓ' and ℓ'' of d = s_j − s_i.
type Loss = fn(f64) -> [f64; 3];

fn logistic(d: f64) -> [f64; 3] {
    [softplus(d), sigmoid(d), sigmoid(d) * sigmoid(-d)]
}

fn sharp_logistic(d: f64) -> [f64; 3] {
    let [loss, slope, curve] = logistic(d / 0.1);
    [loss, slope / 0.1, curve / 0.01]
}

fn hinge(d: f64) -> [f64; 3] {
    let active = f64::from(u8::from(d + 1.0 > 0.0));
    [(d + 1.0).max(0.0), active, active]
}

fn squared_hinge(d: f64) -> [f64; 3] {
    let over = (d + 1.0).max(0.0);
    [over * over, 2.0 * over, if over > 0.0 { 2.0 } else { 0.0 }]
}

/// The definition; better(y_i, y_j) says whether i should rank above j.
fn plain(
    loss: Loss,
    better: fn(f32, f32) -> bool,
    s: &[f64],
    y: &[f32],
    w: &[f32],
) -> (f64, Vec<f64>, Vec<f64>) {
    let (mut sum, mut total) = (0.0, 0.0);
    let (mut gradient, mut hessian) = (vec![0.0; s.len()], vec![0.0; s.len()]);
    let lowest = y.iter().copied().fold(f32::INFINITY, f32::min);
    for i in (0..s.len()).filter(|&i| y[i] > lowest) {
        for j in (0..s.len()).filter(|&j| better(y[i], y[j])) {
            let weight = f64::from(w[i]) * f64::from(w[j]);
            let [value, slope, curve] = loss(s[j] - s[i]);
            total += weight;
            sum += weight * value;
            gradient[i] -= weight * slope;
            gradient[j] += weight * slope;
            hessian[i] += weight * curve;
            hessian[j] += weight * curve;
        }
    }
    for value in gradient.iter_mut().chain(&mut hessian) {
        *value /= total;
    }
    (sum / total, gradient, hessian)
}

/// Compares with the definition; every number within `tolerance` of itself.
fn check(text: &str, loss: Loss, s: &[f64], y: &[f32], tolerance: f64, what: &str) {
    let mut random = Stream::new(6, "pair weights").open();
    let w: Vec<f32> = s.iter().map(|_| 0.5 + random.unit() as f32).collect();
    let better: fn(f32, f32) -> bool =
        if text.starts_with("bpr") { |a, b| a > 0.0 && b <= 0.0 } else { |a, b| a > b };
    let lists = Lists { item_weights: Some(w.clone()), ..Lists::from_lengths(&[s.len()], y.to_vec()) };
    let goal = Goal::parse(text, &Policy::default()).unwrap();
    let mut out = Gradients { want_hessian: true, ..Gradients::default() };
    goal.step(&Batch::all(&lists, s), &mut goal.state(&lists).unwrap(), &mut out).unwrap();
    let what = format!("{text}, {} items, {what}", s.len());
    let (loss, gradient, hessian) = plain(loss, better, s, y, &w);
    if loss.is_nan() {
        assert_eq!(out.counts.idle, 1, "{what}");
        return;
    }
    // 1e-15: pairs further than 40 temperatures apart count as 0.
    let close = |got: f64, want: f64| (got - want).abs() <= tolerance * want.abs() + 1e-15;
    assert!(close(out.loss, loss), "{what}: {} is not {loss}", out.loss);
    // If an item has better and worse ones its gradient is a difference: tolerance relative to the largest.
    let largest = gradient.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
    for i in 0..s.len() {
        let (g, want) = (out.gradient[i], gradient[i]);
        assert!((g - want).abs() <= tolerance * largest + 1e-15, "{what}: item {i}: {g} is not {want}");
        let (h, want) = (out.hessian[i], hessian[i]);
        assert!(close(h, want), "{what}: hessian of {i}: {h} is not {want}");
    }
}

const LOSSES: [(&str, Loss, f64); 5] = [
    ("ranknet", logistic, 3e-10),
    ("ranknet:temperature=0.1", sharp_logistic, 3e-10),
    ("bpr", logistic, 3e-10),
    ("ranksvm", hinge, 1e-10),
    ("squared-hinge", squared_hinge, 1e-10),
];

/// Scores that break sums.
fn adversarial(n: usize, seed: u64) -> Vec<(&'static str, Vec<f64>)> {
    let mut random = Stream::new(seed, "pairs").open();
    let base: Vec<f64> = (0..n).map(|_| 4.0 * random.unit() - 2.0).collect();
    let mut outlier: Vec<f64> = base.iter().map(|x| x * 1e-3).collect();
    outlier[n / 2] = 1e6;
    vec![
        ("near", base.clone()),
        ("all equal", vec![0.25; n]),
        ("offset 1e6", base.iter().map(|x| x + 1e6).collect()),
        ("spread 1e6", base.iter().map(|x| x * 1e6).collect()),
        ("cluster and outlier", outlier),
    ]
}

#[test]
fn equals_the_definition_for_labels_of_every_kind() {
    let mut random = Stream::new(3, "pair labels").open();
    for n in [1, 2, 3, 40, 350] {
        let labels: [(&str, Vec<f32>); 4] = [
            ("binary", (0..n).map(|_| random.below(2) as f32).collect()),
            ("five grades", (0..n).map(|_| random.below(5) as f32).collect()),
            ("every label its own", (0..n).map(|_| random.unit() as f32 - 0.3).collect()),
            ("one relevant", (0..n).map(|i| f32::from(u8::from(i == n / 3))).collect()),
        ];
        for (kind, y) in &labels {
            for (case, s) in adversarial(n, n as u64) {
                for (text, loss, tolerance) in LOSSES {
                    check(text, loss, &s, y, tolerance, &format!("{kind}, {case}"));
                }
            }
        }
    }
}

#[test]
fn equals_the_definition_at_20_000_items() {
    let n = 20_000;
    let y: Vec<f32> = (0..n).map(|i| if i % 150 == 7 { 1.0 + (i % 3) as f32 } else { 0.0 }).collect();
    for (case, s) in adversarial(n, 11) {
        for (text, loss, tolerance) in LOSSES {
            check(text, loss, &s, &y, tolerance, case);
        }
    }
}
