//! Causal attention: what comes later changes nothing, and the gradient is that of the plain definition.

use toprank_core::{Block, Differentiable, Stream, Tape};
use toprank_onnx::{Array, Graph, Kind, Program};

use super::gradients::{assert_gradient, differences, learned};
use super::{Shard, WIDTH, assert_near, derivatives, gradient, parameters, predicted, scores, wide};
use crate::Network;
use crate::layers::{Attention, Chain, Layer};
use crate::onnx::Inputs;

const HEADS: usize = 2;

fn causal() -> Network {
    Network::new(chain())
}

fn chain() -> Chain {
    Chain::new().then("", Attention::new(WIDTH, HEADS).causal())
}

/// The definition, in f64.
fn plain(blocks: &[Block], at: &[f64], rows: &[f32], offsets: &[usize]) -> Vec<f64> {
    let block = |name: &str| {
        let found = learned(blocks).into_iter().find(|(other, _)| other == name);
        found.map(|(_, here)| at[here].to_vec())
    };
    let dense = |name: &str, x: &[f64]| -> Vec<f64> {
        let weight = block(&format!("{name}.weight")).unwrap();
        let bias = block(&format!("{name}.bias")).unwrap_or(vec![0.0; WIDTH]);
        (0..WIDTH).map(|j| bias[j] + (0..WIDTH).map(|i| x[i] * weight[i * WIDTH + j]).sum::<f64>()).collect()
    };
    let rows: Vec<Vec<f64>> = rows.chunks(WIDTH).map(wide).collect();
    let of = |name: &str| -> Vec<Vec<f64>> { rows.iter().map(|row| dense(name, row)).collect() };
    let (q, k, v) = (of("query"), of("key"), of("value"));
    let size = WIDTH / HEADS;
    let mut out = Vec::new();
    for list in offsets.windows(2) {
        for (i, q) in q.iter().enumerate().take(list[1]).skip(list[0]) {
            let mut o = vec![0.0; WIDTH];
            for head in 0..HEADS {
                let columns = head * size..(head + 1) * size;
                let dot = |j: usize| columns.clone().map(|c| q[c] * k[j][c]).sum::<f64>();
                let p: Vec<f64> = (list[0]..=i).map(|j| (dot(j) / (size as f64).sqrt()).exp()).collect();
                let total: f64 = p.iter().sum();
                for c in columns.clone() {
                    o[c] = (list[0]..=i).zip(&p).map(|(j, p)| p / total * v[j][c]).sum();
                }
            }
            out.extend(dense("mix", &o));
        }
    }
    out
}

#[test]
fn causal_attention_and_its_gradient_equal_the_plain_definition_and_its_differences() {
    // The second has lists of several blocks.
    for (lengths, some) in [(&[3, 5, 0, 1, 4][..], usize::MAX), (&[300, 7, 129], 2)] {
        let (network, shard) = (causal(), Shard::new(lengths));
        let (at, dscore) = (parameters(&network), derivatives(shard.rows.len() * WIDTH));
        let reference = |at: &[f64]| plain(network.blocks(), at, &shard.table.0, &shard.offsets);
        let exact = wide(&at);
        assert_near(&scores(&network, &at, &shard.input(), None), &reference(&exact), 2e-6, "scores");
        let found = gradient(&network, &at, &shard.input(), None, &dscore);
        let loss = |at: &[f64]| reference(at).iter().zip(&dscore).map(|(s, d)| s * d).sum();
        for (name, here) in learned(network.blocks()) {
            let here = here.start..here.end.min(here.start.saturating_add(some));
            let expected = differences(&exact, here.clone(), loss);
            assert_gradient(&found, here, &expected, 1e-4, &name);
        }
    }
}

#[test]
fn the_gradient_of_causal_attention_by_its_rows_equals_differences() {
    let (chain, shard) = (chain(), Shard::new(&[4, 1, 6]));
    let network = causal();
    let at = parameters(&network);
    let x = shard.table.0.clone();
    let dy: Vec<f32> = derivatives(x.len()).iter().map(|d| *d as f32).collect();
    let mut pass = crate::Pass::default();
    pass.begin(&shard.offsets, None, true);
    let (mut y, mut dx) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    chain.forward(&at, &x, &mut y, &mut pass);
    let to = Some(crate::layers::Slopes { to: &mut dx, add: false });
    chain.backward(&at, &x, &mut dy.clone(), to, &mut vec![0.0; at.len()], &mut pass);
    let exact = wide(&at);
    let (step, mut moved) = (1e-3, x.clone());
    for i in 0..x.len() {
        let mut loss = |by: f32| -> f64 {
            moved[i] = x[i] + by;
            let y = plain(network.blocks(), &exact, &moved, &shard.offsets);
            moved[i] = x[i];
            y.iter().zip(&dy).map(|(y, d)| y * f64::from(*d)).sum()
        };
        let slope = (loss(step) - loss(-step)) / (2.0 * f64::from(step));
        assert!((slope - f64::from(dx[i])).abs() < 1e-4, "{slope} {} at {i}", dx[i]);
    }
}

#[test]
fn later_items_do_not_change_the_outputs_of_earlier_ones_by_a_bit() {
    let network = causal();
    let at = parameters(&network);
    let whole = Shard::new(&[40]);
    let of = |offsets: &[usize], rows: usize| {
        let input = toprank_core::ModelInput { rows: &whole.rows[..rows], offsets, ..whole.input() };
        predicted(&network, &at, &input)
    };
    let mut moved = Shard::new(&[40]);
    moved.table.0[25 * WIDTH..].iter_mut().for_each(|x| *x = 9.0 - *x);
    let (before, after) = (of(&[0, 40], 40), predicted(&network, &at, &moved.input()));
    assert_eq!(before[..25 * WIDTH], after[..25 * WIDTH]);
    assert_ne!(before[25 * WIDTH..], after[25 * WIDTH..]);
    // A shorter list has products of other shapes, which may round in another way.
    assert_near(&of(&[0, 25], 25), &before[..25 * WIDTH], 1e-6, "a shorter list");
    // Nor do other lists.
    let mut scores = vec![0.0; 30 * WIDTH];
    let input = toprank_core::ModelInput { rows: &whole.rows[..30], offsets: &[0, 25, 30], ..whole.input() };
    network.forward(&at, &input, Some(Stream::new(1, "train")), &mut Tape::default(), &mut scores).unwrap();
    assert_near(&scores[..25 * WIDTH], &before[..25 * WIDTH], 1e-6, "another list");
}

#[test]
fn exported_causal_attention_gives_the_outputs_of_the_layer() {
    let (network, shard) = (causal(), Shard::new(&[7]));
    let at = parameters(&network);
    let mut graph = Graph::default();
    let rows = graph.input("rows", Kind::Float, &[None, Some(WIDTH)]);
    let y = chain().export(&at, &mut graph, &Inputs::default(), &rows);
    graph.output("y", &y, Kind::Float, &[None, Some(WIDTH)]);
    let program = Program::read(&graph.write("test", &[])).unwrap();
    let rows = Array::new(&[7, WIDTH], wide(&shard.table.0));
    let found = program.run(&[("rows", rows)]).unwrap()["y"].values.clone();
    assert_near(&found, &predicted(&network, &at, &shard.input()), 3e-6, "exported");
}
