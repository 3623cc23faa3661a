//! Each example does what it says: it is compiled here as a module and run.

#[cfg(feature = "burn")]
#[path = "../examples/own_burn_module.rs"]
mod own_burn_module;
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
    let (before, after) = own_network::train(&own_network::network()).unwrap();
    assert!(before < 0.6 && after > 0.9, "NDCG@5 {before} before, {after} after");
}

#[test]
#[cfg(feature = "neural")]
fn the_gradient_of_the_layer_of_ones_own_equals_finite_differences() {
    use toprank::core::{Differentiable, ModelInput, Stream, Tape};
    let network = own_network::network();
    let mut random = Stream::new(1, "test").open();
    let mut draw = |count: usize| (0..count).map(|_| random.unit() as f32 - 0.5).collect::<Vec<f32>>();
    let (features, at) = (draw(4 * own_network::WIDTH), draw(network.parameters()));
    let features = toprank::data::Matrix::Dense { width: own_network::WIDTH, values: features };
    let input = ModelInput { features: &features, rows: &[0, 1, 2, 3], offsets: &[0, 4] };
    let (mut tape, dscore) = (Tape::default(), [1.0, -0.5, 2.0, 0.25]);
    let train = Some(Stream::new(2, "train"));
    let mut loss = |at: &[f32]| {
        let mut scores = [0.0; 4];
        network.forward(at, &input, train, &mut tape, &mut scores).unwrap();
        scores.iter().zip(dscore).map(|(score, d)| score * d).sum::<f64>()
    };
    let differences: Vec<f64> = (0..at.len())
        .map(|i| {
            let mut moved = |by: f32| {
                let mut at = at.clone();
                at[i] += by;
                loss(&at)
            };
            // The score is a polynomial of degree 2 in each parameter: a large step costs nothing.
            (moved(0.125) - moved(-0.125)) / 0.25
        })
        .collect();
    loss(&at);
    let mut gradient = vec![0.0; at.len()];
    network.backward(&at, &mut tape, &dscore, &mut gradient).unwrap();
    for (i, (g, difference)) in gradient.iter().zip(differences).enumerate() {
        assert!((f64::from(*g) - difference).abs() < 1e-5, "parameter {i}: {g} for {difference}");
    }
}

#[test]
#[cfg(feature = "burn")]
fn a_users_own_burn_module_learns_by_an_objective_of_the_catalog() {
    let (before, after) = own_burn_module::train().unwrap();
    assert!(before < 0.6 && after > 0.9, "NDCG@5 {before} before, {after} after");
}
