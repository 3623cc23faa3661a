use rayon::prelude::*;
use toprank_core::{Differentiable, ModelInput, Role, Stream};

use super::{CASES, Shard, assert_near, derivatives, gradient, network, parameters, predicted, wide};

const LENGTHS: [usize; 8] = [3, 7, 1, 5, 2, 9, 4, 6];

/// Gradient of all lists in shards of `lists` lists, each a task of the pool, added in the order of shards.
fn in_shards(network: &dyn Differentiable, at: &[f32], input: &ModelInput, lists: usize) -> Vec<f32> {
    let dscore = derivatives(input.rows.len());
    let all = input.offsets.len() - 1;
    let starts: Vec<usize> = (0..all).step_by(lists).collect();
    let parts: Vec<Vec<f32>> = starts
        .par_iter()
        .map(|&first| {
            let end = (first + lists).min(all);
            let (from, to) = (input.offsets[first], input.offsets[end]);
            let offsets: Vec<usize> = input.offsets[first..=end].iter().map(|o| o - from).collect();
            let part = ModelInput { rows: &input.rows[from..to], offsets: &offsets, ..*input };
            let train = Stream::new(4, "train").of_list(first as u32);
            gradient(network, at, &part, Some(train), &dscore[from..to])
        })
        .collect();
    let mut sum = vec![0.0; at.len()];
    for part in parts {
        sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
    }
    sum
}

#[test]
fn gradients_of_shards_add_up_to_the_gradient_of_the_whole() {
    let shard = Shard::new(&LENGTHS);
    let input = shard.input();
    // Dropout, noise and batch norm draw or measure per shard.
    for text in CASES.iter().filter(|t| !["dropout=0.", "noise", "batch"].iter().any(|w| t.contains(w))) {
        let network = network(text, 1);
        let at = parameters(&*network);
        let whole = wide(&in_shards(&*network, &at, &input, LENGTHS.len()));
        for lists in [1, 3] {
            assert_near(&wide(&in_shards(&*network, &at, &input, lists)), &whole, 1e-5, text);
        }
    }
}

#[test]
fn pools_of_1_2_and_4_threads_give_the_same_bytes() {
    let shard = Shard::new(&LENGTHS);
    for text in CASES {
        let network = network(text, 1);
        let at = parameters(&*network);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let gradient = pool.install(|| in_shards(&*network, &at, &shard.input(), 1));
            gradient.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        let one = run(1);
        assert_eq!(run(2), one, "{text}");
        assert_eq!(run(4), one, "{text}");
    }
}

#[test]
fn statistics_are_reported_times_rows_and_used_in_prediction() {
    // One layer that is the identity before the norm: its statistics are those of the features.
    let shard = Shard::new(&[3, 4]);
    let input = shard.input();
    let network = network("mlp:hidden=4:norm=batch:activation=tanh", 1);
    let mut at = parameters(&*network);
    for (i, value) in at[..16].iter_mut().enumerate() {
        *value = if i % 5 == 0 { 1.0 } else { 0.0 };
    }
    at[16..20].fill(0.0);
    let report = gradient(&*network, &at, &input, Some(Stream::new(4, "train")), &derivatives(7));
    let mut first = 0;
    let mut statistics = Vec::new();
    for block in network.blocks() {
        if block.role == Role::Statistic {
            statistics.push((block.name.clone(), first));
        }
        first += block.parameters();
    }
    let names: Vec<&str> = statistics.iter().map(|s| s.0.as_str()).collect();
    assert_eq!(names, ["layers.0.batch_norm.running_mean", "layers.0.batch_norm.running_variance"]);
    let x = &shard.table.0;
    let column = |j: usize| (0..7).map(move |i| f64::from(x[i * 4 + j]));
    for j in 0..4 {
        let mean = column(j).sum::<f64>() / 7.0;
        let variance = column(j).map(|x| (x - mean).powi(2)).sum::<f64>() / 6.0;
        assert!((f64::from(report[statistics[0].1 + j]) - 7.0 * mean).abs() < 1e-5);
        assert!((f64::from(report[statistics[1].1 + j]) - 7.0 * variance).abs() < 1e-5);
    }
    let before = predicted(&*network, &at, &input);
    at[statistics[0].1] += 1.0;
    assert_ne!(before, predicted(&*network, &at, &input));
}
