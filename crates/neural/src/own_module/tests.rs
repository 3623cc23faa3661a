//! What burn modules of users promise.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use burn::module::{Module, Param};
use burn::nn::{Dropout, DropoutConfig, Linear, LinearConfig};
use burn::tensor::{DType, Device, Tensor};
use rayon::prelude::*;
use toprank_core::{Differentiable, ModelInput, Role, Stream, Tape};

use super::leaves::floats;
use super::{BatchNorm, ForwardPass, ModuleNetwork, RankModule};
use crate::tests::{Shard, WIDTH, assert_near, derivatives, gradient, parameters, predicted, scores, wide};

const TRAIN: Option<Stream> = Some(Stream::new(2, "train"));

fn linear(inputs: usize, outputs: usize) -> Linear {
    LinearConfig::new(inputs, outputs).init(&Device::flex())
}

fn pass(train: Option<Stream>) -> ForwardPass<'static> {
    ForwardPass::new(&[], train, Device::flex(), DType::F32)
}

/// Every part that a module can be made of: noise, dense layers, batch norm, dropout, and a sum over the other items of a list.
#[derive(Module, Debug)]
struct Parts {
    hidden: Linear,
    norm: BatchNorm,
    context: Linear,
    output: Linear,
}

impl Parts {
    fn new(outputs: usize) -> Parts {
        Parts {
            hidden: linear(WIDTH, 6),
            norm: BatchNorm::new(6),
            context: linear(6, 6),
            output: linear(6, outputs),
        }
    }
}

impl RankModule for Parts {
    fn forward(&self, rows: Tensor<2>, pass: &mut ForwardPass) -> Tensor<2> {
        let rows = pass.noise(rows, 0.1);
        let hidden = self.norm.forward(self.hidden.forward(rows), pass).tanh();
        let hidden = pass.dropout(hidden, 0.2);
        let mut lists = pass.pad(self.context.forward(hidden.clone()));
        if let Some(empty) = pass.empty() {
            lists = lists.mask_fill(empty.unsqueeze_dim::<3>(2).expand([-1, -1, 6]), 0.0);
        }
        let sums = lists.clone().sum_dim(1);
        let others = pass.unpad(sums - lists);
        self.output.forward(hidden + others.tanh())
    }

    fn couples_items(&self) -> bool {
        true
    }
}

const LENGTHS: [usize; 9] = [3, 7, 1, 5, 0, 2, 9, 4, 6];

#[test]
fn gradients_equal_central_differences() {
    const STEP: f32 = 1.0 / 1_048_576.0;
    let shard = Shard::new(&[3, 1, 0, 5]);
    let input = shard.input();
    for (outputs, train) in [(1, TRAIN), (2, None)] {
        let network = ModuleNetwork::new(Parts::new(outputs), WIDTH, outputs).unwrap().in_f64();
        let at = parameters(&network);
        let dscore = derivatives(9 * outputs);
        let found = gradient(&network, &at, &input, train, &dscore);
        let loss = |at: &[f32]| -> f64 {
            scores(&network, at, &input, train).iter().zip(&dscore).map(|(s, d)| s * d).sum()
        };
        let mut first = 0;
        for block in network.blocks() {
            let here = first..first + block.parameters();
            first = here.end;
            if block.role == Role::Statistic {
                continue;
            }
            let difference = |i: usize| {
                let (mut up, mut down) = (at.clone(), at.clone());
                up[i] += STEP;
                down[i] -= STEP;
                (loss(&up) - loss(&down)) / f64::from(up[i] - down[i])
            };
            let expected: Vec<f64> = here.clone().map(difference).collect();
            // A batch norm over few rows loses two digits of the differences.
            assert_near(&wide(&found[here]), &expected, 2e-5, &block.name);
        }
    }
}

/// Gradient of all lists, each a task of the pool, added in their order.
fn in_shards(network: &dyn Differentiable, at: &[f32], input: &ModelInput) -> Vec<f32> {
    let dscore = derivatives(input.rows.len());
    let parts: Vec<Vec<f32>> = (0..input.offsets.len() - 1)
        .into_par_iter()
        .map(|list| {
            let (from, to) = (input.offsets[list], input.offsets[list + 1]);
            let part = ModelInput { rows: &input.rows[from..to], offsets: &[0, to - from], ..*input };
            gradient(
                network,
                at,
                &part,
                Some(Stream::new(4, "train").of_list(list as u32)),
                &dscore[from..to],
            )
        })
        .collect();
    let mut sum = vec![0.0; at.len()];
    for part in parts {
        sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
    }
    sum
}

#[test]
fn pools_of_1_2_and_4_threads_give_the_same_bytes() {
    let shard = Shard::new(&LENGTHS);
    let network = ModuleNetwork::new(Parts::new(1), WIDTH, 1).unwrap();
    let at = parameters(&network);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let gradient = pool.install(|| in_shards(&network, &at, &shard.input()));
        gradient.into_iter().map(f32::to_bits).collect::<Vec<_>>()
    };
    let one = run(1);
    assert_eq!(run(2), one);
    assert_eq!(run(4), one);
}

/// burn 0.22.1 stops forever where threads share the leaves of one graph: each shard must have its own. The limit is
/// many times what it takes; it only ends a test that would never end.
#[test]
fn many_shards_at_once_come_to_an_end() {
    let (done, wait) = mpsc::channel();
    thread::spawn(move || {
        let shard = Shard::new(&[40; 64]);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        let network = ModuleNetwork::new(Parts::new(1), WIDTH, 1).unwrap();
        let at = parameters(&network);
        for _ in 0..8 {
            pool.install(|| in_shards(&network, &at, &shard.input()));
        }
        done.send(()).unwrap();
    });
    assert!(wait.recv_timeout(Duration::from_mins(3)).is_ok(), "shards wait for each other");
}

#[test]
fn lists_do_not_see_each_other_and_items_may_be_reordered() {
    let shard = Shard::new(&LENGTHS);
    let input = shard.input();
    let network = ModuleNetwork::new(Parts::new(1), WIDTH, 1).unwrap();
    let at = parameters(&network);
    let all = predicted(&network, &at, &input);
    for ends in input.offsets.windows(2) {
        let mut rows = input.rows[ends[0]..ends[1]].to_vec();
        rows.reverse();
        let one = ModelInput { rows: &rows, offsets: &[0, rows.len()], ..input };
        let mut alone = predicted(&network, &at, &one);
        alone.reverse();
        assert_near(&alone, &all[ends[0]..ends[1]], 1e-5, "a list by itself");
    }
}

#[test]
fn statistics_are_reported_times_rows_and_used_in_prediction() {
    #[derive(Module, Debug)]
    struct Norm {
        norm: BatchNorm,
        output: Linear,
    }
    impl RankModule for Norm {
        fn forward(&self, rows: Tensor<2>, pass: &mut ForwardPass) -> Tensor<2> {
            self.output.forward(self.norm.forward(rows, pass))
        }
    }
    let shard = Shard::new(&[3, 4]);
    let input = shard.input();
    let network =
        ModuleNetwork::new(Norm { norm: BatchNorm::new(WIDTH), output: linear(WIDTH, 1) }, WIDTH, 1).unwrap();
    let mut at = parameters(&network);
    let report = gradient(&network, &at, &input, TRAIN, &derivatives(7));
    let names: Vec<&str> = network.blocks().iter().map(|block| block.name.as_str()).collect();
    assert_eq!(names[2..4], ["norm.running_mean", "norm.running_variance"]);
    assert!(network.blocks()[2..4].iter().all(|block| block.role == Role::Statistic));
    let mut x = vec![0.0; 7 * WIDTH];
    input.features.gather(input.rows, &mut x);
    for j in 0..WIDTH {
        let column: Vec<f64> = (0..7).map(|i| f64::from(x[i * WIDTH + j])).collect();
        let mean = column.iter().sum::<f64>() / 7.0;
        let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 6.0;
        assert!((f64::from(report[2 * WIDTH + j]) - 7.0 * mean).abs() < 1e-5);
        assert!((f64::from(report[3 * WIDTH + j]) - 7.0 * variance).abs() < 1e-5);
    }
    let before = predicted(&network, &at, &input);
    at[2 * WIDTH] += 1.0;
    assert_ne!(predicted(&network, &at, &input), before);
}

#[test]
fn dropout_keeps_the_mean_and_drops_the_given_fraction() {
    let ones = || Tensor::<2>::ones([300, 333], &Device::flex());
    for rate in [0.1, 0.5, 0.9] {
        let mut of_step = pass(TRAIN);
        let (first, second) = (floats(of_step.dropout(ones(), rate)), floats(of_step.dropout(ones(), rate)));
        let dropped = first.iter().filter(|v| **v == 0.0).count() as f64 / first.len() as f64;
        // 100,000 draws: five standard deviations are below 0.008.
        assert!((dropped - rate).abs() < 0.008, "{dropped} instead of {rate}");
        let kept = first.iter().copied().fold(0.0, f32::max);
        assert!((f64::from(kept) * (1.0 - rate) - 1.0).abs() < 1e-3);
        assert_ne!(first, second, "two layers share a mask");
        assert_eq!(first, floats(pass(TRAIN).dropout(ones(), rate)), "the same step, other numbers");
    }
    assert!(floats(pass(None).dropout(ones(), 0.5)).iter().all(|v| *v == 1.0));
    assert!(floats(pass(TRAIN).dropout(ones(), 0.0)).iter().all(|v| *v == 1.0));
}

#[test]
fn noise_has_the_deviation_that_is_asked_for_and_is_absent_in_prediction() {
    let zeros = || Tensor::<2>::zeros([401, 251], &Device::flex());
    let noise = floats(pass(TRAIN).noise(zeros(), 2.0));
    let moment = |k: i32| noise.iter().map(|v| f64::from(*v / 2.0).powi(k)).sum::<f64>() / noise.len() as f64;
    // Of 100,000 draws; five standard deviations of these means are below 0.016 and 0.023.
    assert!(moment(1).abs() < 0.016 && (moment(2) - 1.0).abs() < 0.023, "{} {}", moment(1), moment(2));
    assert!(floats(pass(None).noise(zeros(), 2.0)).iter().all(|v| *v == 0.0));
}

#[test]
fn padding_moves_rows_to_lists_and_back() {
    let rows = Tensor::<2>::from_data([[1.0], [2.0], [3.0], [4.0]], &Device::flex());
    let offsets = [0, 1, 1, 4];
    let mut ragged = ForwardPass::new(&offsets, None, Device::flex(), DType::F32);
    let lists = ragged.pad(rows.clone());
    assert_eq!(lists.dims(), [2, 3, 1]);
    let empty = ragged.empty().unwrap().into_data();
    assert_eq!(empty.iter::<bool>().collect::<Vec<_>>(), [false, true, true, false, false, false]);
    let values = floats(lists.clone());
    assert_eq!((values[0], &values[3..]), (1.0, &[2.0, 3.0, 4.0][..]));
    assert_eq!(floats(ragged.unpad(lists)), [1.0, 2.0, 3.0, 4.0]);
    let offsets = [0, 2, 4];
    let mut even = ForwardPass::new(&offsets, None, Device::flex(), DType::F32);
    assert!(even.empty().is_none());
    let lists = even.pad(rows);
    assert_eq!(floats(even.unpad(lists)), [1.0, 2.0, 3.0, 4.0]);
}

#[derive(Module, Debug)]
struct Shared {
    output: Linear,
    dropout: Dropout,
}

impl RankModule for Shared {
    fn forward(&self, rows: Tensor<2>, _: &mut ForwardPass) -> Tensor<2> {
        self.dropout.forward(self.output.forward(rows))
    }
}

#[test]
fn a_layer_of_burn_that_draws_from_the_shared_generator_is_refused() {
    let module = Shared { output: linear(2, 1), dropout: DropoutConfig::new(0.1).init() };
    let error = ModuleNetwork::new(module, 2, 1).err().unwrap().to_string();
    assert!(error.contains("dropout.training") && error.contains("ForwardPass::dropout"), "{error}");
}

#[derive(Module, Debug)]
struct Own {
    slope: Param<Tensor<1>>,
    unused: Param<Tensor<2>>,
    columns: usize,
}

impl RankModule for Own {
    fn forward(&self, rows: Tensor<2>, _: &mut ForwardPass) -> Tensor<2> {
        rows.narrow(1, 0, self.columns) * self.slope.val().unsqueeze::<2>()
    }
}

#[test]
fn a_module_keeps_its_own_vectors_and_an_unused_parameter_has_no_gradient() {
    let device = Device::flex();
    let own = |columns| Own {
        slope: Param::from_tensor(Tensor::from_data([0.25], &device)),
        unused: Param::from_tensor(Tensor::ones([2, 2], &device)),
        columns,
    };
    let network = ModuleNetwork::new(own(1), WIDTH, 1).unwrap();
    let mut at = vec![0.0; 5];
    network.init(Stream::new(1, "init"), &mut at);
    assert_eq!(at[0], 0.25);
    let shard = Shard::new(&[3]);
    let mut x = vec![0.0; 3 * WIDTH];
    shard.input().features.gather(&[0, 1, 2], &mut x);
    let found = gradient(&network, &at, &shard.input(), None, &[1.0, 0.0, 0.0]);
    assert_eq!(found, [x[0], 0.0, 0.0, 0.0, 0.0]);
    let wrong = ModuleNetwork::new(own(2), WIDTH, 1).unwrap();
    let error =
        wrong.score(&at, &shard.input(), &mut Tape::default(), &mut [0.0; 3]).unwrap_err().to_string();
    assert_eq!(error, "scores of shape [3, 2] from the module, expected [rows, outputs] = [3, 1]");
}

#[test]
fn a_backward_pass_follows_one_forward_pass() {
    let network = ModuleNetwork::new(Parts::new(1), WIDTH, 1).unwrap();
    let at = parameters(&network);
    let mut tape = Tape::default();
    let mut gradient = vec![0.0; at.len()];
    let shard = Shard::new(&[2, 1]);
    network.forward(&at, &shard.input(), TRAIN, &mut tape, &mut [0.0; 3]).unwrap();
    let error = network.backward(&at, &mut tape, &[1.0], &mut gradient).unwrap_err().to_string();
    assert_eq!(error, "1 derivatives of scores, expected 3");
    network.forward(&at, &shard.input(), TRAIN, &mut tape, &mut [0.0; 3]).unwrap();
    network.backward(&at, &mut tape, &[1.0; 3], &mut gradient).unwrap();
    let error = network.backward(&at, &mut tape, &[1.0; 3], &mut gradient).unwrap_err().to_string();
    assert_eq!(error, "3 derivatives of scores, expected 0");
    // A shard without rows.
    network.forward(&at, &Shard::new(&[]).input(), TRAIN, &mut tape, &mut []).unwrap();
    let before = gradient.clone();
    network.backward(&at, &mut tape, &[], &mut gradient).unwrap();
    assert_eq!(gradient, before);
}
