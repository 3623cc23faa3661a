//! Checkpoints of a recommender: everything that moves, so that a run taken up again ends in the same bytes.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toprank_core::Choices;
use toprank_embeddings::Rows;
use xxhash_rust::xxh3::Xxh3;

use super::config::Config;
use super::interactions::Interactions;
use super::trainer::{Parameters, Trainer};
use crate::container::{self, Loaded, Tensor, Values, numbers, numbers_of};
use crate::error::TrainError;
use crate::learner::Position;

const KIND: &str = "recommender-checkpoint";
const SIDES: [&str; 2] = ["users", "items"];

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    config: Config,
    data: String,
    origin: serde_json::Value,
    position: Position,
}

impl Trainer<'_> {
    pub(super) fn write_checkpoint(&self, path: &Path, origin: &serde_json::Value) -> Result<(), TrainError> {
        let header = Header {
            config: self.config.clone(),
            data: fingerprint(self.data),
            origin: origin.clone(),
            position: self.position.clone(),
        };
        let state = self.state.save();
        let mut tensors = vec![Tensor::flat("objective", Values::Bytes(&state))];
        push(&mut tensors, "", &self.parameters);
        if let Some(best) = &self.best {
            push(&mut tensors, "best.", best);
        }
        let last = self.adam.each_ref().map(|adam| numbers(&adam.last));
        let undo = self.undo.each_ref().map(|undo| numbers(&undo.numbers));
        for (side, name) in SIDES.iter().enumerate() {
            let adam = &self.adam[side];
            tensors.push(Tensor::flat(format!("{name}.mean"), Values::F32(&adam.mean)));
            tensors.push(Tensor::flat(format!("{name}.square"), Values::F32(&adam.square)));
            tensors.push(Tensor::flat(format!("{name}.last"), Values::Bytes(&last[side])));
            if self.position.has_previous {
                tensors.push(Tensor::flat(format!("{name}.undo"), Values::Bytes(&undo[side])));
                let values = Values::F32(&self.undo[side].values);
                tensors.push(Tensor::flat(format!("{name}.undo.values"), values));
            }
        }
        if self.position.has_previous {
            tensors.push(Tensor::flat("weights.before", Values::F32(&self.weights_before)));
        }
        let optimiser = self.optimiser.state().into_iter();
        tensors.extend(
            optimiser.map(|(name, values)| Tensor::flat(format!("optimiser.{name}"), Values::F32(values))),
        );
        container::save(path, KIND, &header, &tensors)
    }

    pub(super) fn read_checkpoint(&mut self, path: &Path) -> Result<(), TrainError> {
        let loaded: Loaded<Header> = container::load(path, KIND)?;
        if loaded.header.config != self.config {
            let expected = "the config it was started with; leave the flags away, or start a new run";
            return Err(loaded.wrong("a checkpoint of another config", expected));
        }
        if loaded.header.data != fingerprint(self.data) {
            let expected = "the data it was started with; they have changed since, so start a new run";
            return Err(loaded.wrong("a checkpoint of other training data", expected));
        }
        let position = loaded.header.position.clone();
        if position.stage >= self.stages() {
            return Err(loaded.wrong(format!("stage {}", position.stage), "a stage of this config"));
        }
        self.enter_stage(position.stage)?;
        pull(&loaded, "", &mut self.parameters)?;
        if loaded.has("best.users") {
            let mut best = self.room_for_best()?;
            pull(&loaded, "best.", &mut best)?;
            self.best = Some(Arc::new(best));
        } else {
            self.best = None;
        }
        for (side, name) in SIDES.iter().enumerate() {
            let adam = &mut self.adam[side];
            loaded.f32_into(&format!("{name}.mean"), &mut adam.mean)?;
            loaded.f32_into(&format!("{name}.square"), &mut adam.square)?;
            let last: Vec<u64> = numbers_of(loaded.bytes(&format!("{name}.last"))?);
            if last.len() != adam.last.len() {
                return Err(
                    loaded.wrong(format!("{} rows of {name}", last.len()), adam.last.len().to_string())
                );
            }
            adam.last = last;
            self.undo[side] = Rows::default();
            if position.has_previous {
                self.undo[side] = Rows {
                    numbers: numbers_of(loaded.bytes(&format!("{name}.undo"))?),
                    values: loaded.f32(&format!("{name}.undo.values"))?.1,
                };
            }
        }
        self.weights_before.clear();
        if position.has_previous {
            self.weights_before = loaded.f32("weights.before")?.1;
        }
        for (name, values) in self.optimiser.state_mut() {
            loaded.f32_into(&format!("optimiser.{name}"), values)?;
        }
        let state = loaded.bytes("objective")?.to_vec();
        self.state.load(&state).map_err(|error| loaded.wrong(error.found, error.expected))?;
        self.position = position;
        Ok(())
    }
}

fn push<'a>(tensors: &mut Vec<Tensor<'a>>, prefix: &str, parameters: &'a Parameters) {
    for (name, values) in
        [("users", &*parameters.users), ("items", &parameters.items), ("weights", &parameters.weights)]
    {
        tensors.push(Tensor::flat(format!("{prefix}{name}"), Values::F32(values)));
    }
}

fn pull(loaded: &Loaded<Header>, prefix: &str, parameters: &mut Parameters) -> Result<(), TrainError> {
    loaded.f32_into(&format!("{prefix}users"), &mut parameters.users)?;
    loaded.f32_into(&format!("{prefix}items"), &mut parameters.items)?;
    loaded.f32_into(&format!("{prefix}weights"), &mut parameters.weights)
}

/// The config a checkpoint was started with, and what its caller kept in it.
///
/// # Errors
/// If the file is no checkpoint of a recommender.
pub fn about(path: &Path) -> Result<(Config, serde_json::Value), TrainError> {
    let header = container::load::<Header>(path, KIND)?.header;
    Ok((header.config, header.origin))
}

/// Tells data apart: every pair and label of what is learned from and validated on, and their order in time.
fn fingerprint(data: &Interactions) -> String {
    let mut hash = Xxh3::new();
    for Choices { item_count, offsets, items, labels, .. } in [&data.train, &data.valid] {
        hash.update(&(*item_count as u64).to_le_bytes());
        hash.update(&numbers(offsets));
        hash.update(&numbers(items));
        for label in labels {
            hash.update(&label.to_bits().to_le_bytes());
        }
    }
    hash.update(&numbers(&data.later));
    format!("{:016x}", hash.digest())
}
