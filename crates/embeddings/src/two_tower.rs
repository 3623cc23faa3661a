#![doc = include_str!("pages/two-tower.md")]

use rayon::prelude::*;
use toprank_core::{Block, Features, ModelError, Param, ParamError, Spec, Stream};

use toprank_onnx::{Attribute, Graph, Value};

use crate::dots;
use crate::layers::Layers;
use crate::model::{BatchView, EmbeddingKind, EmbeddingModel, Shape, Slopes, Tape};
use crate::params::{SCALE, WIDTH, fresh_rows, layers, scale, uniform, width};
use crate::rows::features;

const LAYERS: Param = Param {
    name: "layers",
    default: "64",
    range: "widths from 1 to 4096 joined by -, for example 128-64, or none",
    about: "hidden units of the layers of each tower, or none",
};
const OUT: Param = Param {
    name: "out",
    default: "64",
    range: "an integer from 1 to 4096",
    about: "dimension of the output vectors of the towers",
};

pub(crate) const PARAMS: &[Param] = &[WIDTH, LAYERS, OUT, SCALE];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn EmbeddingKind>, ParamError> {
    Ok(Box::new(Kind {
        width: width(spec, &WIDTH)?,
        hidden: layers(spec, &LAYERS)?,
        out: width(spec, &OUT)?,
        scale: scale(spec)?,
    }))
}

#[derive(Clone, Debug)]
struct Kind {
    width: usize,
    hidden: Vec<usize>,
    out: usize,
    scale: f32,
}

impl EmbeddingKind for Kind {
    fn build(&self, shape: &Shape) -> Result<Box<dyn EmbeddingModel>, ModelError> {
        let features = [shape.user_features, shape.item_features].map(|f| f.map_or(0, Features::width));
        let towers = features.map(|features| {
            let mut widths = vec![self.width + features];
            widths.extend_from_slice(&self.hidden);
            widths.push(self.out);
            Layers { widths, last_bends: false }
        });
        let mut blocks = towers[0].blocks("user-tower");
        blocks.extend(towers[1].blocks("item-tower"));
        Ok(Box::new(TwoTower {
            width: self.width,
            out: self.out,
            scale: self.scale,
            features,
            towers,
            blocks,
        }))
    }
}

/// Two towers; formula, source and cost are in the [module](self).
#[derive(Clone, Debug)]
struct TwoTower {
    width: usize,
    out: usize,
    scale: f32,
    /// Features of a user and of an item.
    features: [usize; 2],
    towers: [Layers; 2],
    blocks: Vec<Block>,
}

/// Rows of a tower that are one task; the split does not depend on the number of threads.
const ROWS_AT_ONCE: usize = 256;

/// One side of a batch.
struct Side<'a> {
    which: usize,
    ids: &'a [u32],
    rows: &'a [f32],
    weights: &'a [f32],
}

impl TwoTower {
    fn weights<'a>(&self, which: usize, weights: &'a [f32]) -> &'a [f32] {
        let (users, items) = weights.split_at(self.towers[0].weights());
        [users, items][which]
    }

    fn inputs(&self, which: usize) -> usize {
        self.width + self.features[which]
    }

    /// The input of a tower: embedding and features.
    fn join(&self, side: &Side, shape: &Shape, x: &mut [f32]) {
        let known = features([shape.user_features, shape.item_features][side.which], side.ids);
        let (inputs, known_width) = (self.inputs(side.which), self.features[side.which]);
        let row_width = self.widths()[side.which];
        for (k, x) in x.chunks_exact_mut(inputs).enumerate() {
            x[..self.width].copy_from_slice(&side.rows[k * row_width..][..self.width]);
            x[self.width..].copy_from_slice(&known[k * known_width..][..known_width]);
        }
    }

    /// Runs a tower; `given` holds the outputs of its layers, block of rows after block of rows.
    fn climb(&self, side: &Side, x: &[f32], given: &mut [f32]) {
        let tower = &self.towers[side.which];
        let (inputs, each) = (self.inputs(side.which), tower.given());
        let blocks = x.par_chunks(ROWS_AT_ONCE * inputs).zip(given.par_chunks_mut(ROWS_AT_ONCE * each));
        blocks.for_each(|(x, given)| tower.forward(side.weights, x, &[], given));
    }

    /// The last layer's vectors, one after the other, each followed by `extra` unused numbers.
    fn tops(&self, which: usize, given: &[f32], extra: usize, tops: &mut [f32]) {
        let each = self.towers[which].given();
        let (out, stride) = (self.out, self.out + extra);
        let blocks = given.chunks(ROWS_AT_ONCE * each).zip(tops.chunks_mut(ROWS_AT_ONCE * stride));
        for (given, tops) in blocks {
            let last = &given[given.len() - given.len() / each * out..];
            for (last, top) in last.chunks_exact(out).zip(tops.chunks_exact_mut(stride)) {
                top[..out].copy_from_slice(last);
            }
        }
    }

    /// Buffers: inputs, layers and tops of users and of items.
    fn buffers(&self, counts: [usize; 2]) -> [usize; 6] {
        let each = |which: usize| counts[which] * self.towers[which].given();
        [
            counts[0] * self.inputs(0),
            counts[1] * self.inputs(1),
            each(0),
            each(1),
            counts[0] * self.out,
            counts[1] * (self.out + 1),
        ]
    }

    /// Backward pass through a tower: gradients of its outputs → gradients of weights and of rows.
    fn descend(
        &self,
        side: &Side,
        x: &[f32],
        given: &mut [f32],
        (slopes, stride): (&[f32], usize),
        to_weights: &mut [f32],
        to_rows: &mut [f32],
    ) {
        let tower = &self.towers[side.which];
        let (inputs, each, out) = (self.inputs(side.which), tower.given(), self.out);
        let row_width = self.widths()[side.which];
        let shards: Vec<Vec<f32>> = x
            .par_chunks(ROWS_AT_ONCE * inputs)
            .zip(given.par_chunks_mut(ROWS_AT_ONCE * each))
            .zip(slopes.par_chunks(ROWS_AT_ONCE * stride))
            .zip(to_rows.par_chunks_mut(ROWS_AT_ONCE * row_width))
            .map(|(((x, given), slopes), to_rows)| {
                let rows = x.len() / inputs;
                let at = given.len() - rows * out;
                for (given, slope) in given[at..].chunks_exact_mut(out).zip(slopes.chunks_exact(stride)) {
                    given.copy_from_slice(&slope[..out]);
                }
                let (mut to_weights, mut to_x) = (vec![0.0; side.weights.len()], vec![0.0; x.len()]);
                tower.backward(side.weights, x, &[], given, &mut to_weights, &mut to_x);
                for (to, x) in to_rows.chunks_exact_mut(row_width).zip(to_x.chunks_exact(inputs)) {
                    to[..self.width].copy_from_slice(&x[..self.width]);
                }
                to_weights
            })
            .collect();
        to_weights.fill(0.0);
        for shard in &shards {
            to_weights.iter_mut().zip(shard).for_each(|(to, slope)| *to += slope);
        }
    }

    fn sides<'a>(&self, batch: &BatchView<'a>) -> [Side<'a>; 2] {
        let plan = batch.plan;
        let weights = |which| self.weights(which, batch.weights);
        [
            Side { which: 0, ids: &plan.users, rows: batch.users, weights: weights(0) },
            Side { which: 1, ids: &plan.items, rows: batch.items, weights: weights(1) },
        ]
    }
}

impl EmbeddingModel for TwoTower {
    fn widths(&self) -> [usize; 2] {
        [self.width, self.width + 1]
    }

    fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    fn init_rows(&self, side: usize, first: u32, stream: Stream, rows: &mut [f32]) {
        fresh_rows(side, first, stream, self.widths()[side], rows, |random, row| {
            uniform(self.scale, random, &mut row[..self.width]);
            row[self.width..].fill(0.0);
        });
    }

    fn init_weights(&self, stream: Stream, weights: &mut [f32]) {
        let mut random = stream.open();
        let (users, items) = weights.split_at_mut(self.towers[0].weights());
        self.towers[0].init(&mut random, users);
        self.towers[1].init(&mut random, items);
    }

    fn forward(&self, batch: &BatchView, _: Option<Stream>, tape: &mut Tape, scores: &mut [f64]) {
        let sides = self.sides(batch);
        let counts = [sides[0].ids.len(), sides[1].ids.len()];
        let [x_u, x_i, given_u, given_i, top_u, top_i] = tape.cut(self.buffers(counts));
        for (side, x, given, top) in
            [(&sides[0], x_u, given_u, &mut *top_u), (&sides[1], x_i, given_i, &mut *top_i)]
        {
            self.join(side, &batch.shape, x);
            self.climb(side, x, given);
            self.tops(side.which, given, side.which, top);
        }
        for (row, top) in batch.items.chunks_exact(self.width + 1).zip(top_i.chunks_exact_mut(self.out + 1)) {
            top[self.out] = row[self.width];
        }
        dots::forward(batch.plan, top_u, top_i, self.out, scores);
    }

    fn backward(&self, batch: &BatchView, tape: &mut Tape, dscore: &[f64], to: Slopes) {
        let sides = self.sides(batch);
        let counts = [sides[0].ids.len(), sides[1].ids.len()];
        let mut lengths = [0; 8];
        lengths[..6].copy_from_slice(&self.buffers(counts));
        lengths[6..].copy_from_slice(&[counts[0] * self.out, counts[1] * (self.out + 1)]);
        let [x_u, x_i, given_u, given_i, top_u, top_i, slope_u, slope_i] = tape.cut(lengths);
        dots::backward(batch.plan, [top_u, top_i], self.out, dscore, [slope_u, slope_i]);
        let (to_users, to_items) = to.weights.split_at_mut(self.towers[0].weights());
        self.descend(&sides[0], x_u, given_u, (slope_u, self.out), to_users, to.users);
        self.descend(&sides[1], x_i, given_i, (slope_i, self.out + 1), to_items, to.items);
        for (to, slope) in to.items.chunks_exact_mut(self.width + 1).zip(slope_i.chunks_exact(self.out + 1)) {
            to[self.width] = slope[self.out];
        }
    }

    fn ready_widths(&self) -> [usize; 2] {
        [self.out + 1; 2]
    }

    fn ready(
        &self,
        side: usize,
        shape: &Shape,
        weights: &[f32],
        ids: &[u32],
        rows: &[f32],
        ready: &mut [f32],
    ) {
        let of = Side { which: side, ids, rows, weights: self.weights(side, weights) };
        let mut x = vec![0.0; ids.len() * self.inputs(side)];
        let mut given = vec![0.0; ids.len() * self.towers[side].given()];
        self.join(&of, shape, &mut x);
        self.climb(&of, &x, &mut given);
        self.tops(side, &given, 1, ready);
        let row_width = self.widths()[side];
        for (row, ready) in rows.chunks_exact(row_width).zip(ready.chunks_exact_mut(self.out + 1)) {
            // The item's bias is multiplied by 1.
            ready[self.out] = if side == 0 { 1.0 } else { row[self.width] };
        }
    }

    fn export(
        &self,
        side: usize,
        table: &[f32],
        weights: &[f32],
        graph: &mut Graph,
        ids: &Value,
        features: Option<&Value>,
    ) -> Option<Value> {
        let rows = table.chunks_exact(self.widths()[side]);
        let vectors: Vec<f32> = rows.clone().flat_map(|row| &row[..self.width]).copied().collect();
        // The item's bias is multiplied by 1.
        let last: Vec<f32> = rows.map(|row| if side == 0 { 1.0 } else { row[self.width] }).collect();
        let mut x = graph.rows_of(&vectors, self.width, ids);
        if let Some(features) = features {
            let (unknown, zero) = (graph.node("IsNaN", &[features], &[]), graph.floats(&[1], &[0.0]));
            let known = graph.node("Where", &[&unknown, &zero, features], &[]);
            x = graph.node("Concat", &[&x, &known], &[Attribute::Int("axis", 1)]);
        }
        let top = self.towers[side].export(self.weights(side, weights), graph, x);
        let last = graph.rows_of(&last, 1, ids);
        Some(graph.node("Concat", &[&top, &last], &[Attribute::Int("axis", 1)]))
    }
}
