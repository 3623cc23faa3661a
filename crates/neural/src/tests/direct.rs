//! The perceptron by hand against the burn module of the same formula.

use toprank_core::Stream;

use super::{Shard, assert_near, derivatives, gradient, network, network_f64, parameters, scores, wide};

/// Sizes beyond one tile of a product, none a multiple of a vector, and more rows than are scored at once.
const SHAPES: &[(&str, usize, usize)] = &[
    ("linear", 1, 1203),
    ("linear", 5, 77),
    ("mlp:hidden=131-67", 1, 1203),
    ("mlp:hidden=33-66-9", 3, 613),
    ("mlp:hidden=1", 1, 1),
    ("mlp:hidden=65-34:dropout=0.25", 2, 515),
];

#[test]
fn scores_and_gradients_by_hand_equal_those_of_the_graph_at_sizes_beyond_one_tile() {
    for (text, outputs, rows) in SHAPES {
        let shard = Shard::new(&[*rows]);
        let input = shard.input();
        let (by_hand, graph) = (network(text, *outputs), network_f64(text, *outputs));
        let at = parameters(&*by_hand);
        let dscore = derivatives(rows * outputs);
        for train in [None, Some(Stream::new(9, "train"))] {
            let (found, expected) =
                (scores(&*by_hand, &at, &input, train), scores(&*graph, &at, &input, train));
            assert_near(&found, &expected, 1e-5, text);
            let found = gradient(&*by_hand, &at, &input, train, &dscore);
            let expected = gradient(&*graph, &at, &input, train, &dscore);
            assert_near(&wide(&found), &wide(&expected), 2e-5, text);
        }
        let mut scored = vec![0.0; dscore.len()];
        by_hand.score(&at, &input, &mut scored).unwrap();
        assert_near(&scored, &scores(&*by_hand, &at, &input, None), 1e-6, text);
    }
}

#[test]
fn what_an_earlier_shard_left_in_a_buffer_is_never_read() {
    let (large, small) = (Shard::new(&[300]), Shard::new(&[7]));
    let (train, dscore) = (Some(Stream::new(9, "train")), derivatives(300));
    let text = "mlp:hidden=9-5:dropout=0.5:noise=0.1";
    let (used, fresh) = (network(text, 1), network(text, 1));
    let at = parameters(&*used);
    gradient(&*used, &at, &large.input(), train, &dscore);
    let of_small = |network| gradient(network, &at, &small.input(), train, &dscore[..7]);
    assert_eq!(of_small(&*used), of_small(&*fresh));
}
