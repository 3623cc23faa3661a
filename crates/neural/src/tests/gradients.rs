use toprank_core::{Role, Stream};

use super::{
    CASES, Shard, assert_near, derivatives, gradient, network, network_f64, parameters, scores, wide,
};

const LENGTHS: &[usize] = &[3, 5, 1, 4];

/// Differences by half a millionth are exact to about 10⁻⁹ in the f64 graph (rounding 10⁻¹⁶ / 10⁻⁶, third derivatives 10⁻¹²)
/// and step over no kink of these cases; the gradient itself is handed over in f32: 6·10⁻⁸.
const STEP: f32 = 1.0 / 1_048_576.0;
const TOLERANCE: f64 = 1e-6;

#[test]
fn gradients_equal_central_differences_through_every_layer_and_option() {
    let shard = Shard::new(LENGTHS);
    let input = shard.input();
    for text in CASES {
        for (outputs, train) in [(1, Some(Stream::new(9, "train"))), (2, None)] {
            let network = network_f64(text, outputs);
            let at = parameters(&*network);
            let dscore = derivatives(input.rows.len() * outputs);
            let found = gradient(&*network, &at, &input, train, &dscore);
            let loss = |at: &[f32]| -> f64 {
                scores(&*network, at, &input, train).iter().zip(&dscore).map(|(s, d)| s * d).sum()
            };
            let mut first = 0;
            for block in network.blocks() {
                let here = first..first + block.parameters();
                first = here.end;
                if block.role == Role::Statistic {
                    // Not learned; what is reported there in training is another test's.
                    let reported = train.is_some();
                    assert!(reported || found[here].iter().all(|g| *g == 0.0), "{text}: {}", block.name);
                    continue;
                }
                let expected: Vec<f64> = here
                    .clone()
                    .map(|i| {
                        let (mut up, mut down) = (at.clone(), at.clone());
                        up[i] += STEP;
                        down[i] -= STEP;
                        (loss(&up) - loss(&down)) / f64::from(up[i] - down[i])
                    })
                    .collect();
                let what = format!("{text}, {outputs} outputs, {}", block.name);
                assert_near(&wide(&found[here]), &expected, TOLERANCE, &what);
            }
        }
    }
}

/// The graph that trains is the f32 one: the same gradient but for rounding, which the few sums of these small
/// networks keep near 10⁻⁷ and the division by a small spread in norms lifts to 10⁻⁵.
#[test]
fn the_f32_graph_gives_the_gradient_of_the_f64_graph() {
    let shard = Shard::new(LENGTHS);
    let input = shard.input();
    let train = Some(Stream::new(9, "train"));
    let dscore = derivatives(input.rows.len());
    for text in CASES {
        let (single, double) = (network(text, 1), network_f64(text, 1));
        let at = parameters(&*single);
        let found = wide(&gradient(&*single, &at, &input, train, &dscore));
        let expected = wide(&gradient(&*double, &at, &input, train, &dscore));
        assert_near(&found, &expected, 2e-5, text);
    }
}

#[test]
fn a_linear_step_equals_the_hand_computed_one() {
    // Rows x with scores w·x + b: ∂/∂w = Σ d x, ∂/∂b = Σ d.
    let shard = Shard::new(&[2, 3]);
    let input = shard.input();
    let network = network("linear", 1);
    let dscore = [1.0, -2.0, 0.5, 0.0, 4.0];
    let found = gradient(&*network, &[0.1, 0.2, 0.3, 0.4, 0.5], &input, None, &dscore);
    let x = &shard.table.0;
    let expected: Vec<f64> = (0..4)
        .map(|j| (0..5).map(|i| dscore[i] * f64::from(x[i * 4 + j])).sum())
        .chain([1.0 - 2.0 + 0.5 + 4.0])
        .collect();
    assert_near(&wide(&found), &expected, 1e-6, "linear");
    let mut scored = [0.0; 5];
    network.score(&[0.1, 0.2, 0.3, 0.4, 0.5], &input, &mut scored).unwrap();
    let by_hand = 0.1 * x[0] + 0.2 * x[1] + 0.3 * x[2] + 0.4 * x[3] + 0.5;
    assert!((scored[0] - f64::from(by_hand)).abs() < 1e-6);
}
