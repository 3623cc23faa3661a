//! Layers by themselves: random numbers, and buffers that are used again.

use toprank_core::{Stream, Tape};

use super::{CASES, Shard, derivatives, gradient, gradient_with, network, parameters};
use crate::Pass;
use crate::layers::{Dropout, InPlace, add_noise};
use crate::network;

const TRAIN: Option<Stream> = Some(Stream::new(2, "train"));

fn dropped(train: Option<Stream>, rate: f64, number: u32) -> Vec<f32> {
    let mut pass = Pass::default();
    pass.begin(&[], train, false);
    let mut ones = vec![1.0; 99_900];
    Dropout::new(rate, number).forward(&mut ones, &mut pass);
    ones
}

#[test]
fn dropout_keeps_the_mean_and_drops_the_given_fraction() {
    for rate in [0.1, 0.5, 0.9] {
        let first = dropped(TRAIN, rate, 2);
        let fraction = first.iter().filter(|v| **v == 0.0).count() as f64 / first.len() as f64;
        // 100,000 draws: five standard deviations are below 0.008.
        assert!((fraction - rate).abs() < 0.008, "{fraction} instead of {rate}");
        let kept = first.iter().copied().fold(0.0, f32::max);
        assert!((f64::from(kept) * (1.0 - rate) - 1.0).abs() < 1e-3);
        assert_ne!(first, dropped(TRAIN, rate, 3), "two layers share a mask");
        assert_eq!(first, dropped(TRAIN, rate, 2), "the backward pass draws the same mask");
    }
    assert!(dropped(None, 0.5, 2).iter().all(|v| *v == 1.0));
    assert!(dropped(TRAIN, 0.0, 2).iter().all(|v| *v == 1.0));
}

#[test]
fn noise_is_normal() {
    let mut noise = vec![0.0; 100_651];
    add_noise(&mut noise, 2.0, Stream::new(2, "train").open());
    let moment = |k: i32| noise.iter().map(|v| f64::from(*v / 2.0).powi(k)).sum::<f64>() / noise.len() as f64;
    // Of 100,000 draws; five standard deviations of these means are below 0.016, 0.023, 0.062 and 0.16.
    assert!(moment(1).abs() < 0.016 && (moment(2) - 1.0).abs() < 0.023, "{} {}", moment(1), moment(2));
    assert!(moment(3).abs() < 0.062 && (moment(4) - 3.0).abs() < 0.16, "{} {}", moment(3), moment(4));
}

#[test]
fn what_an_earlier_shard_left_in_a_buffer_is_never_read() {
    let (large, small) = (Shard::new(&[300, 12]), Shard::new(&[4, 0, 3]));
    let dscore = derivatives(312);
    for text in CASES {
        let network = network(text, 1);
        let at = parameters(&*network);
        let mut tape = Tape::default();
        // Numbers that would show.
        let wild: Vec<f32> = at.iter().map(|p| 1e3 * p).collect();
        gradient_with(&mut tape, &*network, &wild, &large.input(), TRAIN, &dscore);
        let used = gradient_with(&mut tape, &*network, &at, &small.input(), TRAIN, &dscore[..7]);
        assert_eq!(used, gradient(&*network, &at, &small.input(), TRAIN, &dscore[..7]), "{text}");
    }
}

#[test]
fn buffers_stop_growing_after_the_first_shards() {
    let shards = [Shard::new(&[30, 12]), Shard::new(&[4, 0, 3]), Shard::new(&[20, 1, 9])];
    let dscore = derivatives(42);
    for text in CASES.iter().filter(|text| !text.contains("output=")) {
        let network = network(text, 1);
        let at = parameters(&*network);
        let mut tape = Tape::default();
        let mut run = || {
            for shard in &shards {
                let input = shard.input();
                let count = input.rows.len();
                gradient_with(&mut tape, &*network, &at, &input, TRAIN, &dscore[..count]);
                network.score(&at, &input, &mut tape, &mut vec![0.0; count]).unwrap();
            }
            tape.get::<network::Shard>().pass.grown
        };
        run();
        let grown = run();
        assert!(grown > 0);
        assert_eq!(run(), grown, "{text}");
    }
}
