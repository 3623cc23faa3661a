#![doc = include_str!("pages/neumf.md")]

use rayon::prelude::*;
use toprank_core::matrix::{View, product};
use toprank_core::{Block, ModelError, Param, ParamError, Role, Spec, Stream, vectorised};
use toprank_onnx::{Attribute, Graph, Value};

use crate::dots::{self, dot, folded};
use crate::layers::{Layers, activation_slopes, fill_mask};
use crate::model::{BatchView, EmbeddingKind, EmbeddingModel, Shape, Slopes, Tape};
use crate::params::{SCALE, WIDTH, fresh_rows, layers, scale, uniform, width};

const LAYERS: Param = Param {
    name: "layers",
    default: "64",
    range: "widths from 1 to 4096 joined by -, for example 64-32",
    about: "units of each layer of the perceptron",
};
const DROPOUT: Param = Param {
    name: "dropout",
    default: "0",
    range: "[0, 1)",
    about: "dropout rate of units, with the same mask for all items of a user in a step",
};

pub(crate) const PARAMS: &[Param] = &[WIDTH, LAYERS, DROPOUT, SCALE];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn EmbeddingKind>, ParamError> {
    let layers = layers(spec, &LAYERS)?;
    if layers.is_empty() {
        return Err(ParamError::new(LAYERS.name, "none", LAYERS.range));
    }
    Ok(Box::new(NeuMf::new(
        width(spec, &WIDTH)?,
        layers,
        spec.args.dropout(DROPOUT.name, 0.0)?,
        scale(spec)?,
    )))
}

/// NeuMF; formula, source and cost are in the [module](self).
#[derive(Clone, Debug)]
struct NeuMf {
    /// Dimension of each of the two embeddings of a user or an item.
    width: usize,
    /// Units of the first layer, which is a sum of a part of the user and a part of the item.
    first: usize,
    /// The layers after it.
    rest: Layers,
    dropout: f64,
    scale: f32,
    blocks: Vec<Block>,
}

/// The weights, cut into their blocks.
struct Weights<'a> {
    product: &'a [f32],
    first_users: &'a [f32],
    first_items: &'a [f32],
    first_offset: &'a [f32],
    rest: &'a [f32],
    last: &'a [f32],
}

/// Users whose weight gradients are summed by one task.
const USERS_AT_ONCE: usize = 16;
/// Items that deeper layers process at once when all are scored.
const ITEMS_AT_ONCE: usize = 512;

impl NeuMf {
    fn new(width: usize, units: Vec<usize>, dropout: f64, scale: f32) -> NeuMf {
        let (first, last) = (units[0], units[units.len() - 1]);
        let rest = Layers { widths: units, last_bends: true };
        let block = |name: &str, shape: Vec<usize>, role, last_layer| Block {
            name: name.into(),
            shape,
            role,
            last_layer,
        };
        let mut blocks = vec![
            block("product.weight", vec![width], Role::Weight, true),
            block("first.users", vec![width, first], Role::Weight, false),
            block("first.items", vec![width, first], Role::Weight, false),
            block("first.offset", vec![first], Role::Offset, false),
        ];
        blocks.extend(rest.blocks("layers").into_iter().map(|block| Block { last_layer: false, ..block }));
        blocks.push(block("last.weight", vec![last], Role::Weight, true));
        NeuMf { width, first, rest, dropout, scale, blocks }
    }

    /// Units of all layers.
    fn units(&self) -> usize {
        self.first + self.rest.given()
    }

    fn last_units(&self) -> usize {
        self.rest.widths[self.rest.widths.len() - 1]
    }

    fn lengths(&self) -> [usize; 6] {
        let NeuMf { width, first, .. } = *self;
        [width, width * first, width * first, first, self.rest.weights(), self.last_units()]
    }

    fn cut<'a>(&self, mut weights: &'a [f32]) -> Weights<'a> {
        let mut next = |length: usize| {
            let (here, rest) = weights.split_at(length);
            weights = rest;
            here
        };
        let [product, first_users, first_items, first_offset, rest, last] = self.lengths().map(&mut next);
        Weights { product, first_users, first_items, first_offset, rest, last }
    }

    /// The parts of the rows of a side in the product and in the first layer.
    fn halves(&self, side: usize, weights: &Weights, rows: &[f32], [vector, deep, first]: [&mut [f32]; 3]) {
        let width = self.width;
        let row_width = self.widths()[side];
        // An item's bias comes after its first vector, as the dot product expects it.
        let of_vector = width + side;
        for (k, row) in rows.chunks_exact(row_width).enumerate() {
            let vector = &mut vector[k * of_vector..][..of_vector];
            vector.copy_from_slice(&row[..of_vector]);
            if side == 0 {
                vector.iter_mut().zip(weights.product).for_each(|(v, w)| *v *= w);
            }
            deep[k * width..][..width].copy_from_slice(&row[of_vector..]);
        }
        if rows.is_empty() {
            return;
        }
        let matrix = if side == 0 { weights.first_users } else { weights.first_items };
        product(View::new(deep, width), View::new(matrix, self.first), first, false);
        if side == 1 {
            for row in first.chunks_exact_mut(self.first) {
                row.iter_mut().zip(weights.first_offset).for_each(|(y, offset)| *y += offset);
            }
        }
    }

    /// Lengths of the buffers of a tape: product vectors and deep vectors and first sums of users and items, masks, units.
    fn buffers(&self, batch: &BatchView) -> [usize; 8] {
        let (d, u) = (batch.plan.users.len(), batch.plan.items.len());
        let NeuMf { width, first, .. } = *self;
        let masks = if self.dropout > 0.0 { d * self.units() } else { 0 };
        [
            d * width,
            u * (width + 1),
            d * width,
            u * width,
            d * first,
            u * first,
            masks,
            batch.plan.len() * self.units(),
        ]
    }
}

impl EmbeddingKind for NeuMf {
    fn build(&self, _: &Shape) -> Result<Box<dyn EmbeddingModel>, ModelError> {
        Ok(Box::new(self.clone()))
    }
}

vectorised! {
    /// max(0, a + b), times a mask if there is one.
    fn first_layer(user: &[f32], items: &[f32], met: &[u32], mask: &[f32], out: &mut [f32]) {
        let width = user.len();
        for (&k, out) in met.iter().zip(out.chunks_exact_mut(width)) {
            let item = &items[k as usize * width..][..width];
            for ((out, a), b) in out.iter_mut().zip(user).zip(item) {
                *out = (a + b).max(0.0);
            }
            out.iter_mut().zip(mask).for_each(|(out, mask)| *out *= mask);
        }
    }
}

vectorised! {
    fn add_last(last: &[f32], units: &[f32], scores: &mut [f64]) {
        for (score, units) in scores.iter_mut().zip(units.chunks_exact(last.len())) {
            *score += f64::from(dot(last, units));
        }
    }
}

vectorised! {
    /// Scores of a user with all items if the first layer is the last.
    fn one_layer(user: &[f32], items: &[f32], vector: usize, last: &[f32], scores: &mut [f32]) {
        let (vector_user, first_user) = user.split_at(vector);
        for (score, item) in scores.iter_mut().zip(items.chunks_exact(user.len())) {
            let (vector_item, first_item) = item.split_at(vector);
            let mut sums = [0.0f32; 16];
            let ((a, rest_a), (b, rest_b), (w, rest_w)) =
                (first_user.as_chunks::<16>(), first_item.as_chunks::<16>(), last.as_chunks::<16>());
            for ((a, b), w) in a.iter().zip(b).zip(w) {
                for (((sum, a), b), w) in sums.iter_mut().zip(a).zip(b).zip(w) {
                    *sum += w * (a + b).max(0.0);
                }
            }
            let rest: f32 =
                rest_a.iter().zip(rest_b).zip(rest_w).map(|((a, b), w)| w * (a + b).max(0.0)).sum();
            *score = dot(vector_user, vector_item) + folded(sums) + rest;
        }
    }
}

vectorised! {
    /// Replaces the units of the last layer by their gradients; adds gradient · unit to `to_last`.
    fn last_slopes(last: &[f32], slopes: &[f64], mask: &[f32], units: &mut [f32], to_last: &mut [f32]) {
        for (&slope, units) in slopes.iter().zip(units.chunks_exact_mut(last.len())) {
            let slope = slope as f32;
            for ((unit, to), w) in units.iter_mut().zip(to_last.iter_mut()).zip(last) {
                *to += slope * *unit;
                *unit = if *unit > 0.0 { slope * w } else { 0.0 };
            }
            units.iter_mut().zip(mask).for_each(|(unit, mask)| *unit *= mask);
        }
    }
}

vectorised! {
    /// Adds each row to its item, if that is among those from `first` on, whose rows are `to`.
    fn add_to_items(to: &mut [f32], first: usize, width: usize, met: &[u32], rows: &[f32]) {
        for (&k, row) in met.iter().zip(rows.chunks_exact(width)) {
            let place = (k as usize).checked_sub(first).map(|place| place * width);
            if let Some(to) = place.and_then(|start| to.get_mut(start..start + width)) {
                to.iter_mut().zip(row).for_each(|(to, row)| *to += row);
            }
        }
    }
}

vectorised! {
    fn add_rows(to: &mut [f32], rows: &[f32]) {
        for row in rows.chunks_exact(to.len()) {
            to.iter_mut().zip(row).for_each(|(to, row)| *to += row);
        }
    }
}

impl EmbeddingModel for NeuMf {
    fn widths(&self) -> [usize; 2] {
        [2 * self.width, 2 * self.width + 1]
    }

    fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    fn init_rows(&self, side: usize, first: u32, stream: Stream, rows: &mut [f32]) {
        fresh_rows(side, first, stream, self.widths()[side], rows, |random, row| {
            uniform(self.scale, random, row);
            if side == 1 {
                row[self.width] = 0.0;
            }
        });
    }

    fn init_weights(&self, stream: Stream, weights: &mut [f32]) {
        let mut random = stream.open();
        let [product, first_users, first_items, offset, rest, _] = self.lengths();
        weights[..product].fill(1.0);
        let bound = (6.0 / (2 * self.width) as f32).sqrt();
        let (first, after) = weights[product..].split_at_mut(first_users + first_items);
        uniform(bound, &mut random, first);
        after[..offset].fill(0.0);
        self.rest.init(&mut random, &mut after[offset..offset + rest]);
        let last = &mut after[offset + rest..];
        uniform((6.0 / (last.len() + 1) as f32).sqrt(), &mut random, last);
    }

    fn forward(&self, batch: &BatchView, train: Option<Stream>, tape: &mut Tape, scores: &mut [f64]) {
        let weights = self.cut(batch.weights);
        let plan = batch.plan;
        let (first, units) = (self.first, self.units());
        let [vector_u, vector_i, deep_u, deep_i, first_u, first_i, masks, all] =
            tape.cut(self.buffers(batch));
        self.halves(0, &weights, batch.users, [vector_u, deep_u, first_u]);
        self.halves(1, &weights, batch.items, [vector_i, deep_i, first_i]);
        dots::forward(plan, vector_u, vector_i, self.width, scores);
        if !masks.is_empty() {
            for (&user, mask) in plan.users.iter().zip(masks.chunks_exact_mut(units)) {
                match train {
                    Some(stream) => fill_mask(self.dropout, &mut stream.of_list(user).open(), mask),
                    None => mask.fill(1.0),
                }
            }
        }
        let mask_of = |d: usize| if masks.is_empty() { &[] } else { &masks[d * units..][..units] };
        let shards = Shard::all(plan, all, units).into_par_iter().zip(Shard::all(plan, scores, 1));
        shards.for_each(|(mut all, mut scores)| {
            for d in all.users.clone() {
                let rows = plan.met(d).len();
                let (mask, other_masks) = mask_of(d).split_at(if masks.is_empty() { 0 } else { first });
                let all = all.next(rows * units);
                let (x, given) = all.split_at_mut(rows * first);
                first_layer(&first_u[d * first..][..first], first_i, plan.met(d), mask, x);
                self.rest.forward(weights.rest, x, other_masks, given);
                add_last(weights.last, &all[all.len() - rows * weights.last.len()..], scores.next(rows));
            }
        });
    }

    fn backward(&self, batch: &BatchView, tape: &mut Tape, dscore: &[f64], to: Slopes) {
        let weights = self.cut(batch.weights);
        let plan = batch.plan;
        let (width, first, units) = (self.width, self.first, self.units());
        let (d, u) = (plan.users.len(), plan.items.len());
        let mut lengths = [0; 12];
        lengths[..8].copy_from_slice(&self.buffers(batch));
        lengths[8..].copy_from_slice(&[d * width, u * (width + 1), d * first, u * first]);
        let [
            vector_u,
            vector_i,
            deep_u,
            deep_i,
            _,
            _,
            masks,
            all,
            slope_u,
            slope_i,
            slope_first_u,
            slope_first_i,
        ] = tape.cut(lengths);
        dots::backward(plan, [vector_u, vector_i], width, dscore, [slope_u, slope_i]);

        // Backwards through the layers, user by user; gradients of the first sums replace its units.
        let deeper = weights.rest.len() + weights.last.len();
        let shards: Vec<Vec<f32>> = Shard::all(plan, all, units)
            .into_par_iter()
            .zip(slope_first_u.par_chunks_mut(USERS_AT_ONCE * first))
            .map(|(mut shard, slope_first_u)| {
                let mut to_weights = vec![0.0; deeper];
                let (to_rest, to_last) = to_weights.split_at_mut(weights.rest.len());
                let mut scratch = Vec::new();
                for (d, slope_first_u) in shard.users.clone().zip(slope_first_u.chunks_exact_mut(first)) {
                    let slopes = &dscore[plan.offsets[d]..plan.offsets[d + 1]];
                    let rows = slopes.len();
                    let here = shard.next(rows * units);
                    let mask = if masks.is_empty() { &[] } else { &masks[d * units..][..units] };
                    let last_at = here.len() - rows * weights.last.len();
                    let last_mask = if mask.is_empty() { mask } else { &mask[units - weights.last.len()..] };
                    last_slopes(weights.last, slopes, last_mask, &mut here[last_at..], to_last);
                    if self.rest.widths.len() > 1 {
                        let (x, given) = here.split_at_mut(rows * first);
                        scratch.resize(rows * first, 0.0);
                        let (first_mask, other_masks) =
                            mask.split_at(if mask.is_empty() { 0 } else { first });
                        self.rest.backward(weights.rest, x, other_masks, given, to_rest, &mut scratch);
                        activation_slopes(&mut scratch, x, first_mask, first);
                        x.copy_from_slice(&scratch);
                    }
                    slope_first_u.fill(0.0);
                    add_rows(slope_first_u, &here[..rows * first]);
                }
                to_weights
            })
            .collect();
        // Each thread takes some of the items and loops over all users: units are read in storage order, and the gradients of an
        // item are added in the order of users, for any number of threads.
        let all = &*all;
        let part = u.div_ceil(rayon::current_num_threads()).max(1);
        slope_first_i.par_chunks_mut(part * first).enumerate().for_each(|(k, to)| {
            to.fill(0.0);
            for d in 0..plan.users.len() {
                add_to_items(to, k * part, first, plan.met(d), &all[plan.offsets[d] * units..]);
            }
        });

        // Weights: those above the first layer shard by shard, then the first layer and the product.
        let [product_at, users_at, items_at, offset_at, ..] = self.lengths();
        let (to_product, rest) = to.weights.split_at_mut(product_at);
        let (to_first_users, rest) = rest.split_at_mut(users_at);
        let (to_first_items, rest) = rest.split_at_mut(items_at);
        let (to_offset, to_deeper) = rest.split_at_mut(offset_at);
        to_deeper.fill(0.0);
        for shard in &shards {
            to_deeper.iter_mut().zip(shard).for_each(|(to, slope)| *to += slope);
        }
        let matrix = |x: &[f32], slopes: &[f32], to: &mut [f32]| {
            product(View::new(x, width).transposed(), View::new(slopes, first), to, false);
        };
        matrix(deep_u, slope_first_u, to_first_users);
        matrix(deep_i, slope_first_i, to_first_items);
        to_offset.fill(0.0);
        add_rows(to_offset, slope_first_i);
        to_product.fill(0.0);

        // Rows: the vector of the product, the offset, the vector of the perceptron.
        product(
            View::new(slope_first_u, first),
            View::new(weights.first_users, first).transposed(),
            deep_u,
            false,
        );
        product(
            View::new(slope_first_i, first),
            View::new(weights.first_items, first).transposed(),
            deep_i,
            false,
        );
        let of_user = batch.users.chunks_exact(2 * width).zip(to.users.chunks_exact_mut(2 * width));
        for (k, (row, to)) in of_user.enumerate() {
            let slope = &slope_u[k * width..][..width];
            for ((to_weight, slope), own) in to_product.iter_mut().zip(slope).zip(row) {
                *to_weight += slope * own;
            }
            for ((to, slope), weight) in to.iter_mut().zip(slope).zip(weights.product) {
                *to = slope * weight;
            }
            to[width..].copy_from_slice(&deep_u[k * width..][..width]);
        }
        for (k, to) in to.items.chunks_exact_mut(2 * width + 1).enumerate() {
            to[..=width].copy_from_slice(&slope_i[k * (width + 1)..][..=width]);
            to[width + 1..].copy_from_slice(&deep_i[k * width..][..width]);
        }
    }

    fn ready_widths(&self) -> [usize; 2] {
        [self.width + 1 + self.first; 2]
    }

    fn ready(&self, side: usize, _: &Shape, weights: &[f32], ids: &[u32], rows: &[f32], ready: &mut [f32]) {
        let weights = self.cut(weights);
        let (n, of_vector) = (ids.len(), self.width + side);
        let (mut vector, mut deep, mut first) =
            (vec![0.0; n * of_vector], vec![0.0; n * self.width], vec![0.0; n * self.first]);
        self.halves(side, &weights, rows, [&mut vector, &mut deep, &mut first]);
        for (k, ready) in ready.chunks_exact_mut(self.ready_widths()[side]).enumerate() {
            ready[..of_vector].copy_from_slice(&vector[k * of_vector..][..of_vector]);
            // The item's bias is multiplied by 1.
            ready[of_vector..=self.width].fill(1.0);
            ready[self.width + 1..].copy_from_slice(&first[k * self.first..][..self.first]);
        }
    }

    fn is_product(&self) -> bool {
        false
    }

    /// The parts of users and items in the product and in the first layer are tables.
    fn export_pairs(
        &self,
        tables: [&[f32]; 2],
        weights: &[f32],
        graph: &mut Graph,
        ids: [&Value; 2],
    ) -> Option<Value> {
        let (vector, ready_width) = (self.width + 1, self.ready_widths()[0]);
        let sides = [0, 1].map(|side| {
            let count = tables[side].len() / self.widths()[side];
            let mut ready = vec![0.0; count * ready_width];
            let numbers: Vec<u32> = (0..count as u32).collect();
            self.ready(side, &Shape::default(), weights, &numbers, tables[side], &mut ready);
            let (mut vectors, mut firsts) = (Vec::new(), Vec::new());
            for row in ready.chunks_exact(ready_width) {
                vectors.extend_from_slice(&row[..vector]);
                firsts.extend_from_slice(&row[vector..]);
            }
            [(vectors, vector), (firsts, self.first)]
                .map(|(table, width)| graph.rows_of(&table, width, ids[side]))
        });
        let [[user, first_user], [item, first_item]] = &sides;
        let products = graph.node("Mul", &[user, item], &[]);
        let numbers = graph.ints(&[1]);
        let product = graph.node("ReduceSum", &[&products, &numbers], &[Attribute::Int("keepdims", 1)]);
        let first = graph.node("Add", &[first_user, first_item], &[]);
        let first = graph.node("Relu", &[&first], &[]);
        let weights = self.cut(weights);
        let units = self.rest.export(weights.rest, graph, first);
        let deep = graph.matrix(&units, weights.last, 1);
        Some(graph.node("Add", &[&product, &deep], &[]))
    }

    fn all_scores(&self, weights: &[f32], users: &[f32], items: &[f32], scores: &mut [f32]) {
        let weights = self.cut(weights);
        let ready = self.ready_widths()[0];
        let vector = self.width + 1;
        let count = items.len() / ready;
        if count == 0 {
            return;
        }
        let mut units = Vec::new();
        for (user, scores) in users.chunks_exact(ready).zip(scores.chunks_exact_mut(count)) {
            if self.rest.widths.len() == 1 {
                one_layer(user, items, vector, weights.last, scores);
                continue;
            }
            let parts = items.chunks(ITEMS_AT_ONCE * ready).zip(scores.chunks_mut(ITEMS_AT_ONCE));
            for (items, scores) in parts {
                let rows = scores.len();
                units.resize(rows * self.units(), 0.0);
                let (x, given) = units.split_at_mut(rows * self.first);
                for (x, item) in x.chunks_exact_mut(self.first).zip(items.chunks_exact(ready)) {
                    let sums = user[vector..].iter().zip(&item[vector..]);
                    x.iter_mut().zip(sums).for_each(|(x, (a, b))| *x = (a + b).max(0.0));
                }
                self.rest.forward(weights.rest, x, &[], given);
                let last = &given[given.len() - rows * weights.last.len()..];
                let of_item = items.chunks_exact(ready).zip(last.chunks_exact(weights.last.len()));
                for (score, (item, last)) in scores.iter_mut().zip(of_item) {
                    *score = dot(&user[..vector], &item[..vector]) + dot(weights.last, last);
                }
            }
        }
    }
}

/// The units, or scores, of a fixed number of users.
struct Shard<'a, T> {
    users: std::ops::Range<usize>,
    units: &'a mut [T],
}

impl<'a, T> Shard<'a, T> {
    fn all(plan: &crate::Plan, mut units: &'a mut [T], each: usize) -> Vec<Shard<'a, T>> {
        let count = plan.users.len();
        let cut = |start: usize| {
            let users = start..(start + USERS_AT_ONCE).min(count);
            let length = (plan.offsets[users.end] - plan.offsets[users.start]) * each;
            let (here, rest) = std::mem::take(&mut units).split_at_mut(length);
            units = rest;
            Shard { users, units: here }
        };
        (0..count).step_by(USERS_AT_ONCE).map(cut).collect()
    }

    fn next(&mut self, length: usize) -> &'a mut [T] {
        let (here, rest) = std::mem::take(&mut self.units).split_at_mut(length);
        self.units = rest;
        here
    }
}
