/*!
An epoch: every interaction but the first of each user is a target once.

A history is cut, from its end, into sequences of at most `length` targets. A batch has `batch` of them, in a new random order each epoch;
shards of a fixed number of sequences are computed side by side, and their gradients are added up in order. Adam moves the vectors of the
items that the batch was compared with, and all of the network.
*/

use std::ops::Range;

use rayon::prelude::*;
use toprank_core::{Choices, ModelError, Stream};

use super::loss::{Compared, Terms, compare};
use super::network::Shard;
use super::{FitState, Sequence, liked};
use crate::rows::{RowAdam, RowConstants, RowStep, Rows};
use crate::table::Table;

/// Sequences of a shard.
const SEQUENCES: usize = 16;
/// Parameters that one task adds up.
const NUMBERS: usize = 4096;
const ADAM: RowConstants = RowConstants { beta: [0.9, 0.999], eps: 1e-8, decay: 0.0, decoupled: false };

/// Histories cut into sequences: of `items[range]`, all but the last are inputs, all but the first are targets.
struct Sequences {
    items: Vec<u32>,
    ranges: Vec<Range<usize>>,
}

impl Sequences {
    fn of(choices: &Choices, length: usize) -> Sequences {
        let (mut items, mut ranges) = (Vec::with_capacity(choices.pairs()), Vec::new());
        for user in 0..choices.len() {
            let start = items.len();
            items.extend(liked(choices, user));
            let mut end = items.len();
            while end > start + 1 {
                let first = (start + 1).max(end.saturating_sub(length));
                ranges.push(first - 1..end);
                end = first;
            }
        }
        Sequences { items, ranges }
    }
}

/// The items that a batch is compared with, ascending.
struct Candidates {
    numbers: Vec<u32>,
    /// Place of each item among them; of others it is arbitrary.
    place: Vec<u32>,
    /// Probability of each to be among them; empty: all items are.
    probabilities: Vec<f64>,
    vectors: Rows,
    /// How often each item is in the sequences, as a fraction of all their items.
    frequency: Vec<f64>,
}

impl Candidates {
    fn new(items: usize, sequences: &Sequences) -> Candidates {
        let mut frequency = vec![0.0; items];
        let mut total = 0.0;
        for range in &sequences.ranges {
            total += range.len() as f64;
            sequences.items[range.clone()].iter().for_each(|&item| frequency[item as usize] += 1.0);
        }
        for count in &mut frequency {
            *count /= f64::max(total, 1.0);
        }
        let numbers: Vec<u32> = (0..items as u32).collect();
        let (place, vectors) = (numbers.clone(), Rows::default());
        Candidates { numbers, place, probabilities: Vec::new(), vectors, frequency }
    }

    /// Those of the batch and `drawn` of all items.
    fn draw<'s>(&mut self, batch: impl Iterator<Item = &'s [u32]>, drawn: usize, stream: Stream) {
        let items = self.frequency.len();
        let mut random = stream.open();
        self.numbers.clear();
        batch.for_each(|of_sequence| self.numbers.extend_from_slice(of_sequence));
        let of_batch = self.numbers.len() as f64;
        self.numbers.extend((0..drawn).map(|_| random.below(items) as u32));
        self.numbers.sort_unstable();
        self.numbers.dedup();
        // By chance neither in the batch nor drawn.
        let undrawn = drawn as f64 * libm::log1p(-1.0 / items as f64);
        self.probabilities.clear();
        for (place, &item) in (0..).zip(&self.numbers) {
            self.place[item as usize] = place;
            let absent = of_batch * libm::log1p(-self.frequency[item as usize]) + undrawn;
            self.probabilities.push(-libm::expm1(absent));
        }
    }
}

/// Adam over the vectors of items and, as one row, over the network.
struct Moments {
    items: RowAdam,
    network: RowAdam,
}

impl Moments {
    /// Those of the state, or none yet.
    fn open(state: &mut FitState, items: usize, width: usize, network: usize) -> Result<Moments, ModelError> {
        let mut opened =
            Moments { items: RowAdam::new(items, width, ADAM), network: RowAdam::new(1, network, ADAM) };
        if state.last.is_empty() && state.epoch == 0 {
            return Ok(opened);
        }
        let expected = items * width + network;
        let found = state.moments.each_ref().map(Vec::len);
        if found != [expected; 2] || state.last.len() != items + 1 {
            let found = format!("moments of {found:?} numbers and {} rows", state.last.len());
            return Err(ModelError::new(found, format!("twice {expected} and {}", items + 1)));
        }
        opened.network.last = state.last.split_off(items);
        opened.items.last = std::mem::take(&mut state.last);
        let [mean, square] = &mut state.moments;
        opened.network.mean = mean.split_off(items * width).into();
        opened.network.square = square.split_off(items * width).into();
        opened.items.mean = std::mem::take(mean).into();
        opened.items.square = std::mem::take(square).into();
        Ok(opened)
    }

    fn close(self, state: &mut FitState) {
        let Moments { items, network } = self;
        let both = |items: &Table, network: &Table| [&**items, &**network].concat();
        state.moments = [both(&items.mean, &network.mean), both(&items.square, &network.square)];
        state.last = [items.last, network.last].concat();
    }
}

/// Memory of a batch.
#[derive(Default)]
struct Work {
    shards: Vec<Shard>,
    targets: Vec<u32>,
    rows: Vec<f32>,
    to_rows: Vec<f32>,
    scores: Vec<f32>,
    to_candidates: Vec<f32>,
    gradient: Vec<f32>,
}

/// One epoch; the mean loss of a target.
pub(super) fn fit(
    model: &Sequence,
    choices: &Choices,
    values: &mut [f32],
    state: &mut FitState,
) -> Result<f64, ModelError> {
    let (width, items) = (model.network.width(), choices.item_count);
    if choices.later.len() != choices.pairs() {
        return Err(ModelError::new(
            "interactions whose order in time is not known, by the model sequence",
            "a time in every line, or --split leave-last, and parts that are not random",
        ));
    }
    let mut moments = Moments::open(state, items, width, model.network.parameters())?;
    let sequences = Sequences::of(choices, model.network.length());
    let mut order: Vec<u32> = (0..sequences.ranges.len() as u32).collect();
    let seed = state.stream.seed;
    let stream = |purpose: &str| Stream::new(seed, purpose);
    stream("sequence order").at_step(state.epoch).open().shuffle(&mut order);
    let (dropout, negatives) = (stream("sequence dropout"), stream("sequence negatives"));
    let mut candidates = Candidates::new(items, &sequences);
    let drawn = model.drawn(items, choices.pairs());
    let mut terms = Terms::new(model.loss, &[], 0, items);
    let (mut work, mut loss, mut count) = (Work::default(), 0.0, 0);
    let per_epoch = order.len().div_ceil(model.batch) as u64;
    for (number, batch) in (state.epoch * per_epoch..).zip(order.chunks(model.batch)) {
        let of = |sequence: &u32| &sequences.items[sequences.ranges[*sequence as usize].clone()];
        if let Some(drawn) = drawn {
            candidates.draw(batch.iter().map(of), drawn, negatives.at_step(number));
            terms = Terms::new(model.loss, &candidates.probabilities, drawn, items);
        }
        let batch: Vec<&[u32]> = batch.iter().map(of).collect();
        loss += step(model, &batch, &mut candidates, &terms, values, dropout.at_step(number), &mut work);
        count += work.targets.len();
        let (vectors, network) = values.split_at_mut(items * width);
        let now = RowStep { number, rate: model.learning_rate };
        moments.items.step(now, vectors, &candidates.numbers, &work.to_candidates);
        moments.network.step(now, network, &[0], &work.gradient);
    }
    moments.close(state);
    Ok(loss / f64::max(count as f64, 1.0))
}

/// The gradient of a batch, in `work`; the sum of the losses of its targets.
fn step(
    model: &Sequence,
    batch: &[&[u32]],
    candidates: &mut Candidates,
    terms: &Terms,
    values: &[f32],
    dropout: Stream,
    work: &mut Work,
) -> f64 {
    let (network, width) = (&model.network, model.network.width());
    let (items, parameters) = values.split_at(candidates.frequency.len() * width);
    let Work { shards, targets, rows, to_rows, scores, to_candidates, gradient } = work;
    shards.resize_with(batch.len().div_ceil(SEQUENCES), Shard::default);
    targets.clear();
    for (shard, sequences) in shards.iter_mut().zip(batch.chunks(SEQUENCES)) {
        shard.clear();
        for sequence in sequences {
            shard.push(&sequence[..sequence.len() - 1]);
            targets.extend(sequence[1..].iter().map(|&item| candidates.place[item as usize]));
        }
    }
    shards.par_iter_mut().enumerate().for_each(|(number, shard)| {
        network.forward(items, parameters, Some(dropout.of_list(number as u32)), true, shard);
    });
    rows.clear();
    for shard in &*shards {
        rows.extend_from_slice(&shard.y);
    }
    to_rows.resize(rows.len(), 0.0);
    to_candidates.resize(candidates.numbers.len() * width, 0.0);
    let vectors = if candidates.probabilities.is_empty() {
        items
    } else {
        candidates.vectors.gather(items, width, &candidates.numbers, None);
        &candidates.vectors.values
    };
    let compared = Compared { rows, candidates: vectors, targets, width };
    let loss = compare(terms, &compared, scores, to_rows, to_candidates);
    let mut rest = to_rows.as_mut_slice();
    let slopes: Vec<&mut [f32]> = shards
        .iter()
        .map(|shard| rest.split_off_mut(..shard.y.len()).expect("a row of slopes for each output"))
        .collect();
    shards.par_iter_mut().zip(slopes).for_each(|(shard, slopes)| {
        network.backward(parameters, shard, slopes);
    });
    gradient.resize(parameters.len(), 0.0);
    gradient.par_chunks_mut(NUMBERS).enumerate().for_each(|(block, to)| {
        to.fill(0.0);
        let here = block * NUMBERS..block * NUMBERS + to.len();
        for shard in &*shards {
            to.iter_mut().zip(&shard.gradient[here.clone()]).for_each(|(to, value)| *to += value);
        }
    });
    for shard in &*shards {
        for (&item, dx) in shard.items.iter().zip(shard.dx.chunks_exact(width)) {
            let to = &mut to_candidates[candidates.place[item as usize] as usize * width..][..width];
            to.iter_mut().zip(dx).for_each(|(to, dx)| *to += dx);
        }
    }
    loss
}

/// The candidates of a batch of all sequences, with their probabilities.
#[cfg(test)]
pub(super) fn drawn(choices: &Choices, count: usize, round: u64) -> Vec<(u32, f64)> {
    let sequences = Sequences::of(choices, 5);
    let mut candidates = Candidates::new(choices.item_count, &sequences);
    let batch = sequences.ranges.iter().map(|range| &sequences.items[range.clone()]);
    candidates.draw(batch, count, Stream::new(1, "test").at_step(round));
    candidates.numbers.into_iter().zip(candidates.probabilities).collect()
}
