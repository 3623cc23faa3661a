//! Each example does what it says: it is compiled here as a module and run.

#[path = "../examples/own_metric.rs"]
mod own_metric;
#[cfg(feature = "neural")]
#[path = "../examples/own_network.rs"]
mod own_network;
#[path = "../examples/own_objective.rs"]
mod own_objective;
#[path = "../examples/own_x_risk.rs"]
mod own_x_risk;
#[path = "../examples/read_train_evaluate.rs"]
mod read_train_evaluate;

use toprank::core::{Args, List};
use toprank::objectives::Goal;

#[test]
fn files_become_an_evaluated_model() {
    let folder = tempfile::tempdir().unwrap();
    let args = Args(vec![("lists".into(), "200".into()), ("seed".into(), "1".into())]);
    toprank::data::generate::by_name("letor").unwrap().run(&args, folder.path(), &mut |_, _| {}).unwrap();
    let [mean, low, high] = read_train_evaluate::read_train_evaluate(folder.path()).unwrap();
    assert!(low < mean && mean < high, "{mean} in [{low}, {high}]");
    assert!(mean > 0.6, "NDCG@10 {mean}");
}

#[test]
fn a_users_own_metric_is_evaluated_like_any_other() {
    let (per_list, mean) = own_metric::read_in_vain().unwrap();
    // The relevant item of a tie of three stands first, second or third: 0, 1 or 2 items before it.
    let expected = [1.0, 0.0, (0.0 + 1.0 + 2.0) / 3.0];
    assert_eq!(per_list, expected);
    assert_eq!(mean, Some((1.0 + 0.0 + 1.0) / 3.0));
}

#[test]
fn a_users_own_objective_trains_trees() {
    let (before, after) = own_objective::train().unwrap();
    assert!(before < 0.7 && after > 0.95, "NDCG@3 {before} before, {after} after");
}

#[test]
fn a_users_own_x_risk_learns_and_takes_less_than_30_lines() {
    let (before, after) = own_x_risk::train().unwrap();
    assert!(after < 0.7 * before, "{before} before, {after} after");
    let text = include_str!("../examples/own_x_risk.rs");
    let definition =
        text.split("// ── the whole definition ──").nth(1).unwrap().split("// ── end ──").next().unwrap();
    let lines = definition.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines < 30, "{lines} lines");
    // By hand: two items, the rank of the relevant one is ℓ(0) + ℓ(0) = 2.
    let two = own_x_risk::log_rank().of_list(&List::new(&[0.0, 0.0], &[1.0, 0.0])).unwrap().0;
    assert!((two - 2f64.ln()).abs() < 1e-15);
}

/// Central differences of the loss at every score.
fn gradient_is_the_derivative(goal: &Goal, labels: &[f32]) {
    let scores = [0.3, 0.5, -0.2, -0.1, 0.45];
    let at = |scores: &[f64]| goal.of_list(&List::new(scores, labels)).unwrap();
    for (i, g) in at(&scores).1.iter().enumerate() {
        let moved = |by: f64| {
            let mut scores = scores;
            scores[i] += by;
            at(&scores).0
        };
        let numeric = (moved(1e-6) - moved(-1e-6)) / 2e-6;
        assert!((g - numeric).abs() < 1e-8, "{}, item {i}: {g} for {numeric}", goal.name());
    }
}

#[test]
fn gradients_of_the_objectives_equal_finite_differences() {
    gradient_is_the_derivative(&own_x_risk::log_rank(), &[1.0, 0.0, 0.0, 1.0, 0.0]);
    gradient_is_the_derivative(&own_objective::revenue_pairs(), &[3.0, 0.0, 1.5, 10.0, 0.0]);
}

#[test]
#[cfg(feature = "neural")]
fn a_users_own_network_learns_by_an_objective_of_the_catalog() {
    let (before, after) = own_network::train().unwrap();
    assert!(before < 0.6 && after > 0.9, "NDCG@5 {before} before, {after} after");
}
