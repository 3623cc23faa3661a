//! The example of a user's own X-risk does what it says, in under 30 lines.

#[path = "../examples/own_x_risk.rs"]
mod example;

use toprank_core::List;

#[test]
fn a_users_own_x_risk_learns_and_takes_less_than_30_lines() {
    let (before, after) = example::train().unwrap();
    assert!(after < 0.7 * before, "{before} before, {after} after");
    let text = include_str!("../examples/own_x_risk.rs");
    let definition =
        text.split("// ── the whole definition ──").nth(1).unwrap().split("// ── end ──").next().unwrap();
    let lines = definition.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines < 30, "{lines} lines");
}

#[test]
fn its_gradient_is_the_derivative_of_its_loss() {
    let goal = example::log_rank();
    let labels = [1.0, 0.0, 0.0, 1.0, 0.0];
    let scores = [0.3, 0.5, -0.2, -0.1, 0.45];
    let at = |scores: &[f64]| goal.of_list(&List::new(scores, &labels)).unwrap();
    let (_, gradient) = at(&scores);
    for (i, g) in gradient.iter().enumerate() {
        let moved = |by: f64| {
            let mut scores = scores;
            scores[i] += by;
            at(&scores).0
        };
        let numeric = (moved(1e-6) - moved(-1e-6)) / 2e-6;
        assert!((g - numeric).abs() < 1e-8, "item {i}: {g} for {numeric}");
    }
    // By hand: two items, the rank of the relevant one is ℓ(0) + ℓ(0) = 2.
    assert!((goal.of_list(&List::new(&[0.0, 0.0], &[1.0, 0.0])).unwrap().0 - 2f64.ln()).abs() < 1e-15);
}
