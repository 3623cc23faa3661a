use burn::module::{Module, Param};
use burn::nn::{Dropout, DropoutConfig, Linear};
use burn::tensor::{DType, Device, Tensor};
use toprank_core::{Differentiable, Stream};

use super::{Shard, WIDTH};
use crate::leaves::floats;
use crate::{ForwardPass, Network, RankModule, layers};

fn pass(train: Option<Stream>) -> ForwardPass<'static> {
    ForwardPass::new(&[], train, Device::flex(), DType::F32)
}

const TRAIN: Option<Stream> = Some(Stream::new(2, "train"));

#[test]
fn dropout_keeps_the_mean_and_drops_the_given_fraction() {
    let ones = || Tensor::<2>::ones([300, 333], &Device::flex());
    for rate in [0.1, 0.5, 0.9] {
        let mut way = pass(TRAIN);
        let (first, second) = (floats(way.dropout(ones(), rate)), floats(way.dropout(ones(), rate)));
        let dropped = first.iter().filter(|v| **v == 0.0).count() as f64 / first.len() as f64;
        // 100,000 draws: five standard deviations are below 0.008.
        assert!((dropped - rate).abs() < 0.008, "{dropped} instead of {rate}");
        let kept = first.iter().copied().fold(0.0, f32::max);
        assert!((f64::from(kept) * (1.0 - rate) - 1.0).abs() < 1e-3);
        assert_ne!(first, second, "two layers share a mask");
        assert_eq!(first, floats(pass(TRAIN).dropout(ones(), rate)), "the same address, other numbers");
    }
    assert!(floats(pass(None).dropout(ones(), 0.5)).iter().all(|v| *v == 1.0));
    assert!(floats(pass(TRAIN).dropout(ones(), 0.0)).iter().all(|v| *v == 1.0));
}

#[test]
fn noise_is_normal() {
    let zeros = || Tensor::<2>::zeros([401, 251], &Device::flex());
    let noise = floats(pass(TRAIN).noise(zeros(), 2.0));
    let moment = |k: i32| noise.iter().map(|v| f64::from(*v / 2.0).powi(k)).sum::<f64>() / noise.len() as f64;
    // Of 100,000 draws; five standard deviations of these means are below 0.016, 0.023, 0.062 and 0.16.
    assert!(moment(1).abs() < 0.016 && (moment(2) - 1.0).abs() < 0.023, "{} {}", moment(1), moment(2));
    assert!(moment(3).abs() < 0.062 && (moment(4) - 3.0).abs() < 0.16, "{} {}", moment(3), moment(4));
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
    let module = Shared { output: layers::linear(2, 1), dropout: DropoutConfig::new(0.1).init() };
    let error = Network::new(module, 2, 1).err().unwrap().to_string();
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
    let network = Network::new(own(1), WIDTH, 1).unwrap();
    let mut at = vec![0.0; 5];
    network.init(Stream::new(1, "init"), &mut at);
    assert_eq!(at[0], 0.25);
    let shard = Shard::new(&[3]);
    let found = super::gradient(&network, &at, &shard.input(), None, &[1.0, 0.0, 0.0]);
    assert_eq!(found, [shard.table.0[0], 0.0, 0.0, 0.0, 0.0]);
    let wrong = Network::new(own(2), WIDTH, 1).unwrap();
    let error = wrong.score(&at, &shard.input(), &mut [0.0; 3]).unwrap_err().to_string();
    assert_eq!(error, "scores of shape [3, 2] from the module, expected [rows, outputs] = [3, 1]");
}
