use toprank_core::{Differentiable, ModelError, ModelInput, Role, Stream, Tape};

use super::{
    CASES, Shard, WIDTH, assert_near, derivatives, gradient, network, parameters, predicted, scores,
};
use crate::{MODELS, parse};

const TRAIN: Option<Stream> = Some(Stream::new(9, "train"));

fn score(
    network: &dyn Differentiable,
    at: &[f32],
    input: &ModelInput,
    count: usize,
) -> Result<Vec<f64>, ModelError> {
    let mut scores = vec![0.0; count];
    network.score(at, input, &mut Tape::default(), &mut scores)?;
    Ok(scores)
}

#[test]
fn forward_without_a_stream_scores_as_in_prediction() {
    let shard = Shard::new(&[3, 5, 0, 1, 4]);
    let input = shard.input();
    for text in CASES {
        let network = network(text, 2);
        let at = parameters(&*network);
        let scored = predicted(&*network, &at, &input);
        // Prediction scores fewer rows at once: rounding.
        assert_near(&scores(&*network, &at, &input, None), &scored, 1e-6, text);
    }
}

#[test]
fn permuting_the_items_of_a_list_permutes_their_scores() {
    let shard = Shard::new(&[4, 6]);
    let input = shard.input();
    let turned: Vec<u32> = [2, 0, 3, 1, 9, 4, 8, 5, 7, 6].to_vec();
    for text in CASES {
        let network = network(text, 1);
        let at = parameters(&*network);
        let plain = scores(&*network, &at, &input, None);
        let expected: Vec<f64> = turned.iter().map(|row| plain[*row as usize]).collect();
        let found = scores(&*network, &at, &ModelInput { rows: &turned, ..input }, None);
        assert_near(&found, &expected, 1e-5, text);
    }
}

#[test]
fn a_list_scores_the_same_alone_and_beside_longer_ones() {
    let shard = Shard::new(&[2, 150, 1, 30]);
    let input = shard.input();
    for text in CASES {
        let network = network(text, 1);
        let at = parameters(&*network);
        let together = scores(&*network, &at, &input, None);
        for list in input.offsets.windows(2) {
            let rows = &input.rows[list[0]..list[1]];
            let offsets = [0, rows.len()];
            let alone = scores(&*network, &at, &ModelInput { rows, offsets: &offsets, ..input }, None);
            assert_near(&together[list[0]..list[1]], &alone, 1e-5, text);
        }
    }
}

#[test]
fn items_of_other_lists_do_not_matter_and_items_of_the_same_list_do_in_context() {
    let shard = Shard::new(&[2, 2]);
    let input = shard.input();
    let network = network("context:width=6:heads=2:blocks=1:hidden=5", 1);
    let at = parameters(&*network);
    let plain = scores(&*network, &at, &input, None);
    let other = scores(&*network, &at, &ModelInput { rows: &[0, 1, 2, 0], ..input }, None);
    assert_near(&other[..2], &plain[..2], 1e-6, "the other list changed");
    assert!((other[2] - plain[2]).abs() > 1e-4, "the same list changed: {other:?}, {plain:?}");
}

#[test]
fn every_parameter_of_the_catalog_changes_scores_or_gradients() {
    let shard = Shard::new(&[3, 5, 4]);
    let input = shard.input();
    let dscore = derivatives(12);
    let run = |text: &str| {
        let network = network(text, 1);
        let mut at = vec![0.0; network.parameters()];
        network.init(Stream::new(3, "init"), &mut at);
        let trained = scores(&*network, &at, &input, TRAIN);
        (trained, gradient(&*network, &at, &input, TRAIN, &dscore))
    };
    let others: &[(&str, &str, &[&str])] = &[
        ("linear", "linear", &["linear:noise=0.1", "linear:output=tanh"]),
        (
            "mlp",
            "mlp:hidden=6-4",
            &[
                "mlp:hidden=6-5",
                "mlp:hidden=6-4:activation=leaky-relu",
                "mlp:hidden=6-4:activation=elu",
                "mlp:hidden=6-4:activation=gelu",
                "mlp:hidden=6-4:activation=silu",
                "mlp:hidden=6-4:activation=tanh",
                "mlp:hidden=6-4:activation=sigmoid",
                "mlp:hidden=6-4:embed=periodic",
                "mlp:hidden=6-4:embed=periodic:frequency=2",
                "mlp:hidden=6-4:dropout=0.5",
                "mlp:hidden=6-4:norm=layer",
                "mlp:hidden=6-4:norm=batch",
                "mlp:hidden=6-4:noise=0.1",
                "mlp:hidden=6-4:output=sigmoid",
                "mlp:hidden=6-4:output=tanh",
                "mlp:hidden=6-4:start=0.5",
            ],
        ),
        (
            "context",
            "context:width=6:blocks=1:heads=2:hidden=5:dropout=0",
            &[
                "context:width=8:blocks=1:heads=2:hidden=5:dropout=0",
                "context:width=6:blocks=2:heads=2:hidden=5:dropout=0",
                "context:width=6:blocks=1:heads=3:hidden=5:dropout=0",
                "context:width=6:blocks=1:heads=2:hidden=7:dropout=0",
                "context:width=6:blocks=1:heads=2:hidden=5:dropout=0:activation=tanh",
                "context:width=6:blocks=1:heads=2:hidden=5:dropout=0.3",
                "context:width=6:blocks=1:heads=2:hidden=5:dropout=0:noise=0.1",
                "context:width=6:blocks=1:heads=2:hidden=5:dropout=0:output=sigmoid",
            ],
        ),
    ];
    // What networks of graphs promise is in `gin.rs`.
    for line in MODELS.iter().filter(|line| line.name != "gin") {
        let (_, base, changed) = others.iter().find(|(name, ..)| *name == line.name).expect(line.name);
        for param in line.params {
            let key = format!(":{}=", param.name);
            assert!(changed.iter().any(|text| text.contains(&key)), "{} lacks {key}", line.name);
        }
        let plain = run(base);
        for text in *changed {
            assert_ne!(run(text), plain, "{text} does what {base} does");
        }
    }
}

#[test]
fn the_defaults_of_the_catalog_are_the_defaults() {
    for line in MODELS.iter().filter(|line| line.name != "gin") {
        let all: String = line.params.iter().map(|p| format!(":{}={}", p.name, p.default)).collect();
        let blocks = |text: &str| parse(text).unwrap().build(WIDTH, 1).unwrap().blocks().to_vec();
        assert_eq!(blocks(line.name), blocks(&format!("{}{all}", line.name)));
        let shard = Shard::new(&[3]);
        let run = |text: &str| {
            let network = network(text, 1);
            scores(&*network, &parameters(&*network), &shard.input(), TRAIN)
        };
        assert_eq!(run(line.name), run(&format!("{}{all}", line.name)), "{}", line.name);
    }
}

#[test]
fn features_are_embedded_by_default_only_where_they_are_few() {
    let size = |text: &str, width| parse(text).unwrap().build(width, 1).unwrap().parameters();
    assert_eq!(size("mlp:embed=auto", 100), size("mlp:embed=periodic", 100));
    assert_eq!(size("mlp:embed=auto", 101), size("mlp", 101));
}

#[test]
fn the_start_of_an_embedding_is_spread_over_waves() {
    let network = parse("mlp:hidden=2:embed=periodic:frequency=0.5").unwrap().build(400, 1).unwrap();
    let mut at = vec![0.0; network.parameters()];
    network.init(Stream::new(3, "init"), &mut at);
    let moment = |values: &[f32], k: i32| {
        values.iter().map(|v| f64::from(*v).powi(k)).sum::<f64>() / values.len() as f64
    };
    let (frequencies, rest) = at.split_at(6400);
    let (phases, rest) = rest.split_at(6400);
    // Of 6,400 draws; five standard deviations of these means are below 0.032 and 0.023.
    assert!(moment(frequencies, 1).abs() < 0.032 && (moment(frequencies, 2) - 0.25).abs() < 0.023);
    assert!(moment(phases, 1).abs() < 0.02 && (moment(phases, 2) - 1.0 / 12.0).abs() < 0.01);
    assert!(phases.iter().all(|phase| phase.abs() <= 0.5));
    let (mixes, rest) = rest.split_at(3 * 6400);
    assert!(mixes.iter().all(|mix| mix.abs() <= 0.25) && moment(mixes, 2) > 0.02);
    assert!(rest[..1200].iter().all(|bias| *bias == 0.0));
}

#[test]
fn the_start_is_deterministic_within_its_bounds_and_the_last_layer_is_the_scorer() {
    // Wide enough that the largest of a matrix' numbers comes near its bound, and as many outputs as inputs, so that
    // the two bounds differ.
    let networks = [
        "linear",
        "mlp:hidden=200-100",
        "mlp:hidden=200-100:activation=tanh",
        "mlp:hidden=200-100:norm=layer",
        "mlp:hidden=200-100:norm=batch",
        "mlp:hidden=200-100:start=0.5",
        "context:width=100",
    ];
    for text in networks {
        let factor = if text.contains("start") { 0.5 } else { 1.0 };
        let network = network(text, 100);
        let start = |seed| {
            let mut at = vec![0.0; network.parameters()];
            network.init(Stream::new(seed, "init"), &mut at);
            at
        };
        assert_eq!(start(1), start(1));
        assert_ne!(start(1), start(2));
        let at = start(1);
        let mut first = 0;
        for block in network.blocks() {
            let values = &at[first..first + block.parameters()];
            first += block.parameters();
            let last = block.name.starts_with("output.");
            assert_eq!(block.last_layer, last, "{text}: {}", block.name);
            let largest = values.iter().fold(0f32, |m, v| m.max(v.abs()));
            match block.role {
                Role::Weight => {
                    let he = text.starts_with("mlp") && !last && !text.contains("tanh");
                    let fan = block.shape[0] + if he { 0 } else { block.shape[1] };
                    let bound = factor * (6.0 / fan as f32).sqrt();
                    assert!(
                        largest <= bound && largest > 0.95 * bound,
                        "{text}: {} {largest} {bound}",
                        block.name
                    );
                }
                Role::Offset | Role::Statistic => {
                    let one = block.name.ends_with("gamma") || block.name.ends_with("variance");
                    let expected = if one { 1.0 } else { 0.0 };
                    assert!(values.iter().all(|v| *v == expected), "{text}: {}", block.name);
                }
            }
        }
    }
}

#[test]
fn a_value_that_is_missing_is_named_by_row_and_feature() {
    for bad in [f32::NAN, f32::INFINITY] {
        let mut shard = Shard::new(&[2, 3]);
        shard.table.0[3 * WIDTH + 2] = bad;
        let network = network("mlp:hidden=3", 1);
        let at = parameters(&*network);
        let error = score(&*network, &at, &shard.input(), 5).unwrap_err().to_string();
        assert!(error.starts_with("row 3, feature 2 (both from 0): the value is "), "{error}");
        let rows = [4, 1];
        let input = ModelInput { rows: &rows, offsets: &[0, 2], ..shard.input() };
        score(&*network, &at, &input, 2).unwrap();
    }
    // Their sum overflows, but each is finite.
    let mut shard = Shard::new(&[2]);
    shard.table.0[..2].fill(f32::MAX);
    let network = network("linear", 1);
    score(&*network, &parameters(&*network), &shard.input(), 2).unwrap();
}

#[test]
fn parameters_that_are_not_finite_give_scores_that_are_not_and_no_panic() {
    let shard = Shard::new(&[3, 5, 1]);
    let input = shard.input();
    for text in CASES {
        let network = network(text, 1);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
            let at = vec![bad; network.parameters()];
            let dscore = derivatives(9);
            gradient(&*network, &at, &input, TRAIN, &dscore);
            let scored = predicted(&*network, &at, &input);
            assert!(bad == f32::MAX || scored.iter().all(|s| !s.is_finite()), "{text}, {bad}: {scored:?}");
        }
    }
}

#[test]
fn what_does_not_fit_is_an_error_and_an_empty_shard_is_not() {
    let shard = Shard::new(&[2, 3]);
    let input = shard.input();
    for text in ["mlp:hidden=3", "context:width=4:blocks=1"] {
        let network = network(text, 1);
        let at = parameters(&*network);
        let error = |at: &[f32], input: &ModelInput, scores: usize| {
            score(&*network, at, input, scores).unwrap_err().to_string()
        };
        assert!(error(&at[1..], &input, 5).contains("parameters, expected"));
        assert_eq!(error(&at, &input, 4), "4 scores to write, expected 5");
        let (mut gradient, mut tape) = (vec![0.0; at.len()], Tape::default());
        network.forward(&at, &input, None, &mut tape, &mut [0.0; 5]).unwrap();
        let wrong = network.backward(&at, &mut tape, &[0.0; 4], &mut gradient).unwrap_err();
        assert_eq!(wrong.to_string(), "4 derivatives of scores, expected 5");
        network.forward(&at, &input, None, &mut tape, &mut [0.0; 5]).unwrap();
        assert!(network.backward(&at, &mut tape, &[0.0; 5], &mut gradient[1..]).is_err());
        assert!(network.backward(&at[1..], &mut tape, &[0.0; 5], &mut gradient).is_err());
        network.backward(&at, &mut tape, &[0.0; 5], &mut gradient).unwrap();
        let twice = network.backward(&at, &mut tape, &[0.0; 5], &mut gradient).unwrap_err();
        assert_eq!(twice.to_string(), "5 derivatives of scores, expected 0");
        let nothing = ModelInput { rows: &[], offsets: &[0], ..input };
        score(&*network, &at, &nothing, 0).unwrap();
        network.forward(&at, &nothing, TRAIN, &mut tape, &mut []).unwrap();
        network.backward(&at, &mut tape, &[], &mut gradient).unwrap();
        assert!(gradient.iter().all(|g| *g == 0.0));
    }
    let context = network("context:width=4:blocks=1", 1);
    let at = parameters(&*context);
    for offsets in [&[][..], &[0, 4], &[1, 5], &[0, 4, 3, 5]] {
        let wrong = ModelInput { offsets, ..input };
        let error = score(&*context, &at, &wrong, 5).unwrap_err().to_string();
        assert!(error.ends_with("expected ascending offsets from 0 to 5"), "{error}");
    }
    assert!(parse("linear").unwrap().build(0, 1).is_err());
    assert!(parse("linear").unwrap().build(1, 0).is_err());
}
