use std::ops::Range;

use toprank_core::{Block, Role, Stream};

use super::reference::Reference;
use super::{
    CASES, Shard, WIDTH, assert_near, derivatives, gradient, network, parameters, predicted, scores, wide,
};

const LENGTHS: &[usize] = &[3, 5, 1, 4];

/// Differences by a millionth are exact to about 10⁻⁹ in the f64 reference (rounding 10⁻¹⁶ / 10⁻⁶, third derivatives 10⁻¹²) and step
/// over no kink of these cases.
const STEP: f64 = 1e-6;

/// Blocks that are learned, with their places.
pub fn learned(blocks: &[Block]) -> Vec<(String, Range<usize>)> {
    let mut first = 0;
    let mut found = Vec::new();
    for block in blocks {
        let here = first..first + block.parameters();
        first = here.end;
        if block.role != Role::Statistic {
            found.push((block.name.clone(), here));
        }
    }
    found
}

/// Central differences of `loss` in these coordinates.
pub fn differences(at: &[f64], here: Range<usize>, loss: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let mut moved = at.to_vec();
    here.map(|i| {
        moved[i] = at[i] + STEP;
        let up = loss(&moved);
        moved[i] = at[i] - STEP;
        let down = loss(&moved);
        moved[i] = at[i];
        (up - down) / (2.0 * STEP)
    })
    .collect()
}

/// Near in the size of these numbers, up to the rounding that sums as large as the whole gradient leave behind.
#[track_caller]
pub fn assert_gradient(gradient: &[f32], here: Range<usize>, expected: &[f64], tolerance: f64, what: &str) {
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |most: f64, g| most.max(g.abs()));
    let whole = largest(&mut gradient.iter().map(|g| f64::from(*g)));
    let slack = tolerance * (largest(&mut expected.iter().copied()) + 0.02 * whole);
    for (found, expected) in gradient[here].iter().zip(expected) {
        let found = f64::from(*found);
        assert!((found - expected).abs() <= slack, "{what}: {found} instead of {expected} (± {slack})");
    }
}

fn rows(shard: &Shard) -> Vec<Vec<f32>> {
    shard.rows.iter().map(|&row| shard.table.0[row as usize * WIDTH..][..WIDTH].to_vec()).collect()
}

/// The layers compute in f32: rounding of the few sums of these small networks stays near 10⁻⁷, and the division by a small
/// spread in norms lifts it to 10⁻⁵.
#[test]
fn scores_and_gradients_equal_the_reference_and_its_differences_through_every_layer_and_option() {
    let shard = Shard::new(LENGTHS);
    let (input, features) = (shard.input(), rows(&shard));
    for text in CASES {
        for (outputs, train) in [(1, Some(Stream::new(9, "train"))), (2, None)] {
            let network = network(text, outputs);
            let at = parameters(&*network);
            let dscore = derivatives(input.rows.len() * outputs);
            let reference = |at: &[f64]| {
                Reference::new(text, network.blocks(), at, train).scores(&features, input.offsets)
            };
            let exact = wide(&at);
            assert_near(&scores(&*network, &at, &input, train), &reference(&exact), 2e-6, text);
            let found = gradient(&*network, &at, &input, train, &dscore);
            let loss = |at: &[f64]| reference(at).iter().zip(&dscore).map(|(s, d)| s * d).sum();
            for (name, here) in learned(network.blocks()) {
                let expected = differences(&exact, here.clone(), loss);
                let what = format!("{text}, {outputs} outputs, {name}");
                assert_gradient(&found, here, &expected, 2e-5, &what);
            }
        }
    }
}

/// Sizes beyond one tile of a product, none a multiple of a vector, and more rows than are scored at once.
#[test]
fn scores_and_gradients_equal_the_reference_at_sizes_beyond_one_tile() {
    for (text, outputs, lengths) in [
        ("linear", 1, &[1203][..]),
        ("linear", 5, &[77]),
        ("mlp:hidden=131-67", 1, &[1203]),
        ("mlp:hidden=33-66-9:activation=gelu", 3, &[613]),
        ("mlp:hidden=1", 1, &[1]),
        ("mlp:hidden=65-34:dropout=0.25:norm=batch", 2, &[515]),
        ("context:width=36:heads=2:blocks=1:hidden=50:dropout=0.1", 1, &[310, 37, 1, 129]),
    ] {
        let shard = Shard::new(lengths);
        let (input, features) = (shard.input(), rows(&shard));
        let network = network(text, outputs);
        let at = parameters(&*network);
        let dscore = derivatives(input.rows.len() * outputs);
        let exact = wide(&at);
        for train in [None, Some(Stream::new(9, "train"))] {
            let reference = |at: &[f64]| {
                Reference::new(text, network.blocks(), at, train).scores(&features, input.offsets)
            };
            assert_near(&scores(&*network, &at, &input, train), &reference(&exact), 1e-5, text);
            let found = gradient(&*network, &at, &input, train, &dscore);
            let loss = |at: &[f64]| reference(at).iter().zip(&dscore).map(|(s, d)| s * d).sum();
            for (name, here) in learned(network.blocks()) {
                // A few of many, since each costs two passes of the reference.
                let some = here.start..here.end.min(here.start + 3);
                let expected = differences(&exact, some.clone(), loss);
                assert_gradient(&found, some, &expected, 1e-4, &format!("{text}, {name}"));
            }
        }
        assert_near(&predicted(&*network, &at, &input), &scores(&*network, &at, &input, None), 1e-6, text);
    }
}

#[test]
fn a_linear_step_equals_the_hand_computed_one() {
    // Rows x with scores w·x + b: ∂/∂w = Σ d x, ∂/∂b = Σ d.
    let shard = Shard::new(&[2, 3]);
    let input = shard.input();
    let network = network("linear", 1);
    let at = [0.1, 0.2, 0.3, 0.4, 0.5];
    let dscore = [1.0, -2.0, 0.5, 0.0, 4.0];
    let found = gradient(&*network, &at, &input, None, &dscore);
    let x = &shard.table.0;
    let expected: Vec<f64> = (0..4)
        .map(|j| (0..5).map(|i| dscore[i] * f64::from(x[i * 4 + j])).sum())
        .chain([1.0 - 2.0 + 0.5 + 4.0])
        .collect();
    assert_near(&wide(&found), &expected, 1e-6, "linear");
    let by_hand = 0.1 * x[0] + 0.2 * x[1] + 0.3 * x[2] + 0.4 * x[3] + 0.5;
    assert!((predicted(&*network, &at, &input)[0] - f64::from(by_hand)).abs() < 1e-6);
}
