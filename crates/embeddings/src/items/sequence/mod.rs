#![doc = include_str!("../../pages/sequence.md")]

mod epoch;
mod loss;
mod network;
#[cfg(test)]
mod tests;

use toprank_core::matrix::{View, product};
use toprank_core::{Choices, ModelError, Param, ParamError, Spec, Stream};
use toprank_onnx::{Graph, Value};

use self::loss::Loss;
use self::network::{SequenceNetwork, Shard};
use super::{FitState, ItemModel, ItemParameters};
use crate::params::{WIDTH, fresh_rows, uniform, width};

pub(crate) const PARAMS: &[Param] = &[
    WIDTH,
    Param {
        name: "length",
        default: "50",
        range: "an integer from 1 to 4096",
        about: "number of most recent items of a history that are read",
    },
    Param {
        name: "blocks",
        default: "2",
        range: "an integer from 1 to 64",
        about: "number of self-attention blocks",
    },
    Param {
        name: "heads",
        default: "1",
        range: "a divisor of width",
        about: "number of attention heads, which divide the width among them",
    },
    Param {
        name: "hidden",
        default: "256",
        range: "an integer from 1 to 65536",
        about: "hidden units of the feed-forward layer of each block",
    },
    Param {
        name: "dropout",
        default: "0.5",
        range: "[0, 1)",
        about: "dropout rate of the input, of hidden units and of what a block adds",
    },
    Param {
        name: "loss",
        default: "softmax",
        range: "softmax or gbce",
        about: "softmax: cross-entropy over the items; gbce: binary cross-entropy with a calibrated positive part",
    },
    Param {
        name: "negatives",
        default: "auto",
        range: "auto, all or an integer from 1 to 1000000",
        about: "items drawn for each batch beside those in it, or all; auto: all where items times \
                interactions are at most 10 billion, else 1024; for gbce 256",
    },
    Param {
        name: "batch",
        default: "128",
        range: "an integer from 1 to 65536",
        about: "sequences of a training step",
    },
    Param { name: "learning-rate", default: "0.001", range: "above 0", about: "learning rate of Adam" },
];

pub(crate) fn make(spec: &Spec) -> Result<Box<dyn ItemModel>, ParamError> {
    Ok(Box::new(Sequence::read(spec)?))
}

/// How many items a batch is compared with beside its own.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Negatives {
    Auto,
    All,
    Some(usize),
}

/// The model; formula, source and cost are in the [module](self).
struct Sequence {
    network: SequenceNetwork,
    loss: Loss,
    negatives: Negatives,
    batch: usize,
    learning_rate: f64,
}

/// Pairs of an interaction and an item that an epoch compares, at most, unless `negatives` says otherwise: about half a minute on a
/// core for vectors of 64 numbers.
const PAIRS: u128 = 10_000_000_000;

impl Sequence {
    fn read(spec: &Spec) -> Result<Sequence, ParamError> {
        let args = &spec.args;
        let (width, heads) = (width(spec, &WIDTH)?, args.count("heads", 1, 4096)?);
        if !width.is_multiple_of(heads) {
            let expected = format!("a divisor of width ({width})");
            return Err(ParamError::new("heads", &heads.to_string(), &expected));
        }
        let negatives = match args.get("negatives") {
            None | Some("auto") => Negatives::Auto,
            Some("all") => Negatives::All,
            Some(_) => {
                let ok = |x: f64| (1.0..=1e6).contains(&x) && x.fract() == 0.0;
                let range = "auto, all or an integer from 1 to 1000000";
                Negatives::Some(args.number("negatives", 1.0, range, ok)? as usize)
            }
        };
        Ok(Sequence {
            network: SequenceNetwork::new(&network::Sizes {
                width,
                heads,
                length: args.count("length", 50, 4096)?,
                blocks: args.count("blocks", 2, 64)?,
                hidden: args.count("hidden", 256, 65_536)?,
                dropout: args.dropout("dropout", 0.5)?,
            }),
            loss: args.one_of("loss", "softmax", &[("softmax", Loss::Softmax), ("gbce", Loss::Gbce)])?,
            negatives,
            batch: args.count("batch", 128, 65_536)?,
            learning_rate: args.positive("learning-rate", 0.001)?,
        })
    }

    /// Items drawn for each batch, with so many interactions; `None`: all are compared with.
    fn drawn(&self, items: usize, interactions: usize) -> Option<usize> {
        let wanted = match (self.negatives, self.loss) {
            (Negatives::Some(count), _) => count,
            (Negatives::Auto, Loss::Gbce) => 256,
            (Negatives::Auto, Loss::Softmax) if items as u128 * interactions as u128 > PAIRS => 1024,
            (Negatives::All | Negatives::Auto, _) => return None,
        };
        (wanted < items).then_some(wanted)
    }

    /// Numbers of the model for so many items.
    fn size(&self, items: usize) -> usize {
        items.saturating_mul(self.network.width()).saturating_add(self.network.parameters())
    }
}

impl ItemModel for Sequence {
    fn is_iterative(&self) -> bool {
        true
    }

    fn reads_order(&self) -> bool {
        true
    }

    fn scores_are_logits(&self) -> bool {
        true
    }

    fn bytes(&self, _: usize, items: usize) -> u64 {
        // The present, the next and the best parameters, their gradient and two moments, and the scores of some rows.
        let columns = self.drawn(items, 0).map_or(items, |drawn| drawn + self.batch * self.network.length());
        4 * (6 * self.size(items) as u64 + loss::rows_at_once(columns) as u64 * columns as u64)
    }

    fn seconds(&self, choices: &Choices) -> f64 {
        let (items, pairs) = (choices.item_count, choices.pairs());
        let compared = self.drawn(items, pairs).map_or(items, |drawn| (drawn + self.batch * 8).min(items));
        let (width, network) = (self.network.width() as f64, self.network.parameters() as f64);
        1e-10 * pairs as f64 * (compared as f64 * width + network)
    }

    fn start(&self, choices: &Choices, stream: Stream) -> ItemParameters {
        let width = self.network.width();
        let mut values = vec![0.0; self.size(choices.item_count)];
        let (items, rest) = values.split_at_mut(choices.item_count * width);
        fresh_rows(1, 0, stream, width, items, |random, row| uniform(network::SPREAD, random, row));
        self.network.init(stream, rest);
        ItemParameters { numbers: Vec::new(), values: values.into() }
    }

    fn fit(
        &self,
        choices: &Choices,
        parameters: &mut ItemParameters,
        state: &mut FitState,
    ) -> Result<Option<f64>, ModelError> {
        epoch::fit(self, choices, &mut parameters.values, state).map(Some)
    }

    fn check(&self, items: usize, parameters: &ItemParameters) -> Result<(), ModelError> {
        let (found, expected) = (parameters.values.len(), self.size(items));
        match found == expected && parameters.numbers.is_empty() {
            true => Ok(()),
            false => Err(ModelError::new(format!("{found} numbers of sequence"), expected.to_string())),
        }
    }

    fn history_limit(&self) -> usize {
        self.network.length()
    }

    fn export(
        &self,
        parameters: &ItemParameters,
        items: usize,
        graph: &mut Graph,
        history: &Value,
    ) -> Option<Value> {
        let width = self.network.width();
        let (vectors, rest) = parameters.values.split_at(items * width);
        let last = self.network.export(vectors, rest, graph, history);
        let mut turned = vec![0.0; vectors.len()];
        for (item, vector) in vectors.chunks_exact(width).enumerate() {
            vector.iter().enumerate().for_each(|(k, value)| turned[k * items + item] = *value);
        }
        Some(graph.matrix(&last, &turned, items))
    }

    fn scores(&self, parameters: &ItemParameters, histories: &Choices, users: &[u32], scores: &mut [f32]) {
        let (width, length) = (self.network.width(), self.network.length());
        let (items, rest) = parameters.values.split_at(histories.item_count * width);
        let mut shard = Shard::default();
        for &user in users {
            let history = liked(histories, user as usize);
            shard.push(&history[history.len().saturating_sub(length)..]);
        }
        self.network.forward(items, rest, None, false, &mut shard);
        let mut vectors = vec![0.0; users.len() * width];
        for (to, last) in vectors.chunks_exact_mut(width).zip(shard.last_rows(width)) {
            // Nothing is known about a user without history.
            if let Some(last) = last {
                to.copy_from_slice(last);
            }
        }
        product(View::new(&vectors, width), View::new(items, width).transposed(), scores, false);
    }
}

/// The items of a user in the order of time, but for those with a value of 0 or less.
fn liked(choices: &Choices, user: usize) -> Vec<u32> {
    let mut items = choices.in_order(user);
    items.retain(|&item| choices.label(user, item) > 0.0);
    items
}
