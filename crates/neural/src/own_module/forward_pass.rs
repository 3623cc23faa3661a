//! One forward pass through a network: the lists of the shard, its random numbers, the statistics that its layers report.

use burn::module::{Param, ParamId};
use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData};
use toprank_core::Stream;
use toprank_core::stream::Random;

use super::leaves::floats;
use crate::layers::{Dropout, add_noise};

/// What a module needs while it scores a shard: the lists, whether it is being trained, dropout masks and noise.
///
/// Masks and noise come from one stream per shard and layer; the layers count in the order of their calls.
pub struct ForwardPass<'a> {
    offsets: &'a [usize],
    random: Layers,
    device: Device,
    dtype: DType,
    padding: Option<Padding>,
    pub(super) statistics: Vec<(ParamId, Vec<f32>)>,
}

/// Where the rows of a shard are in [lists, longest], and back.
#[derive(Clone)]
struct Padding {
    lists: usize,
    longest: usize,
    /// For each position its row (padding: any row), and for each row its position; `None` if all lists have the same
    /// length and nothing moves.
    moves: Option<(Tensor<1, Int>, Tensor<1, Int>)>,
    /// True for padding.
    empty: Option<Tensor<2, Bool>>,
}

impl<'a> ForwardPass<'a> {
    pub(super) fn new(
        offsets: &'a [usize],
        train: Option<Stream>,
        device: Device,
        dtype: DType,
    ) -> ForwardPass<'a> {
        ForwardPass {
            offsets,
            random: Layers::new(train),
            device,
            dtype,
            padding: None,
            statistics: Vec::new(),
        }
    }

    /// True in training, where dropout, noise and the statistics of the shard apply.
    pub fn training(&self) -> bool {
        self.random.train.is_some()
    }

    /// List d of the shard is rows `offsets()[d]..offsets()[d + 1]`.
    pub fn offsets(&self) -> &[usize] {
        self.offsets
    }

    /// In training: each number is set to 0 with probability `rate` (a multiple of 2⁻¹⁶), otherwise divided by 1 − rate.
    ///
    /// # Panics
    /// If `rate` is not in [0, 1).
    pub fn dropout<const D: usize>(&mut self, x: Tensor<D>, rate: f64) -> Tensor<D> {
        let dropout = Dropout::new(rate, 0);
        let Some(random) = self.random.next().filter(|_| dropout.drops()) else { return x };
        let mut values = vec![1.0; x.shape().num_elements()];
        dropout.multiply_by(random, &mut values);
        let mask = self.constant(values, x.dims());
        x * mask
    }

    /// In training: adds independent normal numbers of standard deviation `sd`.
    ///
    /// Source: Box, Muller, "A note on the generation of random normal deviates", Annals of Mathematical Statistics 29, 1958.
    pub fn noise<const D: usize>(&mut self, x: Tensor<D>, sd: f64) -> Tensor<D> {
        let Some(random) = self.random.next().filter(|_| sd > 0.0) else { return x };
        let mut noise = vec![0.0; x.shape().num_elements()];
        add_noise(&mut noise, sd, random);
        let noise = self.constant(noise, x.dims());
        x + noise
    }

    /// Rows [rows, w] as lists [lists, longest, w]; lists without a row are omitted. The padding holds arbitrary
    /// values, which are finite if the rows are: mask it with [`ForwardPass::empty`].
    pub fn pad(&mut self, rows: Tensor<2>) -> Tensor<3> {
        let width = rows.dims()[1];
        let Padding { lists, longest, moves, .. } = self.padding().clone();
        let places = match moves {
            None => rows,
            Some((row_at, _)) => rows.select(0, row_at),
        };
        places.reshape([lists, longest, width])
    }

    /// Lists [lists, longest, w] back to rows [rows, w].
    pub fn unpad(&mut self, lists: Tensor<3>) -> Tensor<2> {
        let [count, longest, width] = lists.dims();
        let places = lists.reshape([count * longest, width]);
        match self.padding().moves.clone() {
            None => places,
            Some((_, position_of)) => places.select(0, position_of),
        }
    }

    /// The padding of [`ForwardPass::pad`] as a mask [lists, longest]; `None` if there is none.
    pub fn empty(&mut self) -> Option<Tensor<2, Bool>> {
        self.padding().empty.clone()
    }

    /// Reports to the trainer the value of a running statistic for this shard. The parameter's name must be `running_mean` or
    /// `running_variance`; such a parameter is not learned.
    pub fn report(&mut self, parameter: &Param<Tensor<1>>, value: Tensor<1>) {
        self.statistics.push((parameter.id, floats(value)));
    }

    fn padding(&mut self) -> &Padding {
        let (offsets, device) = (self.offsets, &self.device);
        self.padding.get_or_insert_with(|| Padding::new(offsets, device))
    }

    fn constant<const D: usize>(&self, values: Vec<f32>, shape: [usize; D]) -> Tensor<D> {
        Tensor::from_data(TensorData::new(values, shape), (&self.device, self.dtype))
    }
}

/// The random numbers of layers, in the order of their calls.
struct Layers {
    train: Option<Stream>,
    layer: u32,
}

impl Layers {
    fn new(train: Option<Stream>) -> Layers {
        Layers { train, layer: 0 }
    }

    /// The random numbers of the next layer; none in prediction.
    fn next(&mut self) -> Option<Random> {
        let stream = self.train?;
        self.layer += 1;
        let purpose = stream.purpose.wrapping_add(self.layer.wrapping_mul(0x9e37_79b9));
        Some(Stream { purpose, ..stream }.open())
    }
}

impl Padding {
    fn new(offsets: &[usize], device: &Device) -> Padding {
        let lengths: Vec<usize> = offsets.windows(2).map(|w| w[1] - w[0]).filter(|n| *n > 0).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        if lengths.iter().all(|n| *n == longest) {
            return Padding { lists: lengths.len(), longest, moves: None, empty: None };
        }
        let (mut row_at, mut position_of, mut empty) = (Vec::new(), Vec::new(), Vec::new());
        for length in &lengths {
            let (first_row, first_place) = (position_of.len(), row_at.len());
            row_at.extend((0..longest).map(|i| (first_row + i.min(length - 1)) as i64));
            position_of.extend((0..*length).map(|i| (first_place + i) as i64));
            empty.extend((0..longest).map(|i| i >= *length));
        }
        let numbers = |values: Vec<i64>| {
            let count = values.len();
            Tensor::from_data(TensorData::new(values, [count]), (device, DType::I64))
        };
        let lists = lengths.len();
        Padding {
            lists,
            longest,
            moves: Some((numbers(row_at), numbers(position_of))),
            empty: Some(Tensor::from_data(TensorData::new(empty, [lists, longest]), device)),
        }
    }
}
