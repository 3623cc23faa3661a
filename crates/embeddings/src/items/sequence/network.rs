/*!
Sequences of items in, a vector for each of their places out.

```text
x_t = √width · e(item t) + p_t                             dropout
x ← x + attention(norm(x)),   x ← x + W₂ relu(W₁ norm(x))  block by block; attention to t and the places before it
h_t = norm(x_t)
```

Sequences have their own lengths: nothing is padded.
*/

use toprank_core::{Block, Role, Stream};
use toprank_neural::layers::{
    Activation, Attention, Chain, Dense, Dropout, InPlace, Layer, LayerNorm, Residual, Slopes,
};
use toprank_neural::onnx::Inputs;
use toprank_neural::{Pass, xavier_uniform};
use toprank_onnx::{Attribute, Graph, Kind, Value};

use crate::params::uniform;

/// Vectors begin uniform on ± this, a standard deviation of 0.02.
pub(super) const SPREAD: f32 = 0.034_641;

/// The sizes of a network.
pub(super) struct Sizes {
    pub width: usize,
    pub length: usize,
    pub blocks: usize,
    pub heads: usize,
    pub hidden: usize,
    pub dropout: f64,
}

/// The network over vectors of items. Its parameters are the vectors of positions, then those of the layers.
pub(super) struct SequenceNetwork {
    body: Chain,
    blocks: Vec<Block>,
    dropout: Dropout,
    width: usize,
    length: usize,
}

/// Some sequences, computed by one thread.
#[derive(Default)]
pub(super) struct Shard {
    pass: Pass,
    /// The items of all sequences, one after the other, and where each begins.
    pub items: Vec<u32>,
    offsets: Vec<usize>,
    x: Vec<f32>,
    /// The output, a row for each item.
    pub y: Vec<f32>,
    /// ∂loss/∂(vector of the item) of each row, after the backward pass.
    pub dx: Vec<f32>,
    /// ∂loss/∂parameter of these sequences, after the backward pass.
    pub gradient: Vec<f32>,
}

impl Shard {
    /// Removes all sequences.
    pub fn clear(&mut self) {
        self.items.clear();
        self.offsets.clear();
    }

    /// Adds a sequence, first to last.
    pub fn push(&mut self, items: &[u32]) {
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.items.extend_from_slice(items);
        self.offsets.push(self.items.len());
    }

    /// The output of the last item of each sequence; `None` for one without items.
    pub fn last_rows(&self, width: usize) -> impl Iterator<Item = Option<&[f32]>> {
        let row = move |at: usize| &self.y[at * width..][..width];
        self.offsets.windows(2).map(move |ends| (ends[0] < ends[1]).then(|| row(ends[1] - 1)))
    }

    /// (row, position in its sequence) of all rows.
    fn positions(offsets: &[usize]) -> impl Iterator<Item = usize> {
        offsets.windows(2).flat_map(|ends| 0..ends[1] - ends[0])
    }
}

impl SequenceNetwork {
    pub fn new(sizes: &Sizes) -> SequenceNetwork {
        let &Sizes { width, length, blocks, heads, hidden, dropout } = sizes;
        // The first layer with random numbers is the dropout of the input.
        let mut number = 1;
        let mut dropped = |chain: Chain| {
            number += 1;
            chain.dropout(dropout, number)
        };
        let mut body = Chain::new();
        for block in 0..blocks {
            let attention = Chain::new()
                .then("attention_norm", LayerNorm::new(width))
                .then("", Attention::new(width, heads).causal());
            body = body.then(format!("blocks.{block}"), Residual(dropped(attention)));
            let hidden_units = Chain::new()
                .then("hidden_norm", LayerNorm::new(width))
                .then("hidden", Dense::new(width, hidden))
                .activation(Activation::Relu);
            let back = dropped(hidden_units).then("back", Dense::new(hidden, width));
            body = body.then(format!("blocks.{block}"), Residual(dropped(back)));
        }
        let body = body.then("norm", LayerNorm::new(width));
        SequenceNetwork { blocks: body.blocks(), body, dropout: Dropout::new(dropout, 1), width, length }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn length(&self) -> usize {
        self.length
    }

    /// Number of parameters, without the vectors of items.
    pub fn parameters(&self) -> usize {
        self.length * self.width + self.blocks.iter().map(Block::parameters).sum::<usize>()
    }

    pub fn init(&self, stream: Stream, parameters: &mut [f32]) {
        let (positions, mut rest) = parameters.split_at_mut(self.length * self.width);
        let stream = Stream { purpose: Stream::purpose("sequence network"), ..stream };
        uniform(SPREAD, &mut stream.open(), positions);
        for (number, block) in (1..).zip(&self.blocks) {
            let (values, after) = rest.split_at_mut(block.parameters());
            values.fill(if block.name.ends_with("gamma") { 1.0 } else { 0.0 });
            if block.role == Role::Weight {
                xavier_uniform(block, &mut stream.of_list(number).open(), values);
            }
            rest = after;
        }
    }

    /// Writes the output of the sequences of the shard. `train`: random numbers of training. `records`: a backward pass follows.
    ///
    /// # Panics
    /// If a sequence is longer than the network reads.
    pub fn forward(
        &self,
        items: &[f32],
        parameters: &[f32],
        train: Option<Stream>,
        records: bool,
        shard: &mut Shard,
    ) {
        let width = self.width;
        let (positions, weights) = parameters.split_at(self.length * width);
        let Shard { pass, items: ids, offsets, x, y, .. } = shard;
        x.resize(ids.len() * width, 0.0);
        y.resize(ids.len() * width, 0.0);
        if ids.is_empty() {
            return;
        }
        let factor = self.factor();
        for ((x, &id), at) in x.chunks_exact_mut(width).zip(&*ids).zip(Shard::positions(offsets)) {
            let (item, position) =
                (&items[id as usize * width..][..width], &positions[at * width..][..width]);
            x.iter_mut().zip(item).zip(position).for_each(|((x, item), p)| *x = factor * item + p);
        }
        pass.begin(offsets, train, records);
        self.dropout.forward(x, pass);
        self.body.forward(weights, x, y, pass);
    }

    /// Writes `gradient` and `dx` of the shard, given ∂loss/∂output, which is overwritten.
    pub fn backward(&self, parameters: &[f32], shard: &mut Shard, dy: &mut [f32]) {
        let width = self.width;
        let weights = &parameters[self.length * width..];
        let Shard { pass, offsets, x, dx, gradient, .. } = shard;
        gradient.clear();
        gradient.resize(parameters.len(), 0.0);
        dx.resize(x.len(), 0.0);
        if x.is_empty() {
            return;
        }
        let (to_positions, to_weights) = gradient.split_at_mut(self.length * width);
        let to = Some(Slopes { to: &mut *dx, add: false });
        self.body.backward(weights, x, dy, to, to_weights, pass);
        self.dropout.backward(&[], dx, pass);
        for (dx, at) in dx.chunks_exact(width).zip(Shard::positions(offsets)) {
            to_positions[at * width..][..width].iter_mut().zip(dx).for_each(|(to, dx)| *to += dx);
        }
        let factor = self.factor();
        for dx in dx.iter_mut() {
            *dx *= factor;
        }
    }

    /// Appends to an ONNX graph the output float[1, width] of the last item of the sequence int64[length].
    pub fn export(&self, items: &[f32], parameters: &[f32], graph: &mut Graph, ids: &Value) -> Value {
        let width = self.width;
        let (positions, weights) = parameters.split_at(self.length * width);
        let [factor, zero, one] = [self.factor(), 0.0, 1.0].map(|value| graph.floats(&[1], &[value]));
        // As many ones as there are items; summed up to each of them they count from 1.
        let numbers = graph.cast(ids, Kind::Float);
        let zeros = graph.node("Mul", &[&numbers, &zero], &[]);
        let ones = graph.node("Add", &[&zeros, &one], &[]);
        let [upright, flat, line] = [&[-1, 1][..], &[1, -1], &[-1]].map(|shape| graph.ints(shape));
        let column = graph.node("Reshape", &[&ones, &upright], &[]);
        let row = graph.node("Reshape", &[&ones, &flat], &[]);
        let square = graph.node("MatMul", &[&column, &row], &[]);
        let lower = graph.node("Trilu", &[&square], &[Attribute::Int("upper", 0)]);
        let counted = graph.node("MatMul", &[&lower, &column], &[]);
        let count = graph.node("MatMul", &[&row, &column], &[]);
        let places = graph.node("Sub", &[&counted, &one], &[]);
        let places = graph.node("Reshape", &[&places, &line], &[]);
        let places = graph.cast(&places, Kind::Int64);
        let vectors = graph.rows_of(items, width, ids);
        let scaled = graph.node("Mul", &[&vectors, &factor], &[]);
        let positions = graph.rows_of(positions, width, &places);
        let x = graph.node("Add", &[&scaled, &positions], &[]);
        let y = self.body.export(weights, graph, &Inputs::default(), &x);
        let last = graph.node("Equal", &[&counted, &count], &[]);
        let last = graph.cast(&last, Kind::Float);
        let last = graph.node("Reshape", &[&last, &flat], &[]);
        graph.node("MatMul", &[&last, &y], &[])
    }

    /// What the vector of an item is multiplied by as an input.
    fn factor(&self) -> f32 {
        (self.width as f32).sqrt()
    }
}
