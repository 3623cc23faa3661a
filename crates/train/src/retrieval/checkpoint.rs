//! Checkpoints of an embedding: everything that moves, so that a run taken up again ends in the same bytes.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::classes::Classes;
use super::config::Config;
use super::trainer::Trainer;
use crate::checkpoint::fingerprint;
use crate::container::{self, Loaded, Tensor, Values, numbers, numbers_of};
use crate::engine::Examples;
use crate::error::TrainError;
use crate::learner::Position;

const KIND: &str = "embedder-checkpoint";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    config: Config,
    data: String,
    origin: serde_json::Value,
    position: Position,
    /// The place of the memory that is given away next.
    next: usize,
}

impl Trainer<'_> {
    fn fingerprints(&self) -> String {
        let of = |classes: &Classes| {
            fingerprint(Examples { lists: &classes.data.lists, features: &classes.data.features })
        };
        let valid = self.data.valid.as_ref().map(of).unwrap_or_default();
        format!("{} {valid}", of(&self.data.train))
    }

    pub(super) fn write_checkpoint(&self, path: &Path, origin: &serde_json::Value) -> Result<(), TrainError> {
        let header = Header {
            config: self.config.clone(),
            data: self.fingerprints(),
            origin: origin.clone(),
            position: self.position.clone(),
            next: self.memory.next,
        };
        let (state, rows) = (self.state.save(), numbers(&self.memory.rows));
        let mut tensors = vec![
            Tensor::flat("parameters", Values::F32(&self.parameters)),
            Tensor::flat("objective", Values::Bytes(&state)),
            Tensor::flat("memory.rows", Values::Bytes(&rows)),
            Tensor::flat("memory.vectors", Values::F32(&self.memory.vectors)),
        ];
        if self.position.has_previous {
            tensors.push(Tensor::flat("previous", Values::F32(&self.previous)));
        }
        if !self.best.is_empty() {
            tensors.push(Tensor::flat("best", Values::F32(&self.best)));
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
        if loaded.header.data != self.fingerprints() {
            let expected = "the data it was started with; they have changed since, so start a new run";
            return Err(loaded.wrong("a checkpoint of other training data", expected));
        }
        let position = loaded.header.position.clone();
        loaded.f32_into("parameters", &mut self.parameters)?;
        for (there, name, values) in [
            (position.has_previous, "previous", &mut self.previous),
            (loaded.has("best"), "best", &mut self.best),
        ] {
            values.clear();
            if there {
                values.resize(self.parameters.len(), 0.0);
                loaded.f32_into(name, values)?;
            }
        }
        for (name, values) in self.optimiser.state_mut() {
            loaded.f32_into(&format!("optimiser.{name}"), values)?;
        }
        let rows = numbers_of(loaded.bytes("memory.rows")?);
        let vectors = loaded.f32("memory.vectors")?.1;
        self.memory = self
            .memory
            .restored(rows, vectors, loaded.header.next)
            .ok_or_else(|| loaded.wrong("a memory of other rows", "that of this run"))?;
        let state = loaded.bytes("objective")?.to_vec();
        self.state.load(&state).map_err(|error| loaded.wrong(error.found, error.expected))?;
        self.position = position;
        Ok(())
    }
}

/// The config a checkpoint was started with, and what its caller kept in it.
///
/// # Errors
/// If the file is no checkpoint of an embedding.
pub fn about(path: &Path) -> Result<(Config, serde_json::Value), TrainError> {
    let header = container::load::<Header>(path, KIND)?.header;
    Ok((header.config, header.origin))
}
