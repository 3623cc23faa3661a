//! Checkpoints: everything that moves, so that a run taken up again ends in the same bytes.

use std::path::Path;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::config::Config;
use crate::container::{self, Loaded, Tensor, Values};
use crate::engine::Examples;
use crate::error::TrainError;
use crate::learner::{Learner, Position};
use crate::trainer::Trainer;

const KIND: &str = "checkpoint";
/// Rows of features that enter the fingerprint of the data.
const LOOKED_AT: usize = 1024;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    config: Config,
    data: String,
    origin: serde_json::Value,
    position: Position,
}

/// Writes what moves of a learner on `examples`: where it stands, and its numbers.
pub(crate) fn save(
    path: &Path,
    learner: &dyn Learner,
    examples: Examples,
    origin: &serde_json::Value,
    tensors: &[Tensor],
) -> Result<(), TrainError> {
    let header = Header {
        config: learner.config().clone(),
        data: fingerprint(examples),
        origin: origin.clone(),
        position: learner.position().clone(),
    };
    container::save(path, KIND, &header, tensors)
}

/// What [`save`] wrote for a learner of this config on these data.
pub(crate) fn load(
    path: &Path,
    learner: &dyn Learner,
    examples: Examples,
) -> Result<(Loaded<Header>, Position), TrainError> {
    let loaded: Loaded<Header> = container::load(path, KIND)?;
    if loaded.header.config != *learner.config() {
        let expected = "the config it was started with; leave the flags away, or start a new run";
        return Err(loaded.wrong("a checkpoint of another config", expected));
    }
    if loaded.header.data != fingerprint(examples) {
        let expected = "the data it was started with; they have changed since, so start a new run";
        return Err(loaded.wrong("a checkpoint of other training data", expected));
    }
    let position = loaded.header.position.clone();
    Ok((loaded, position))
}

impl Trainer<'_> {
    pub(crate) fn write_checkpoint(&self, path: &Path, origin: &serde_json::Value) -> Result<(), TrainError> {
        let state = self.state.save();
        let mut tensors = vec![
            Tensor::flat("parameters", Values::F32(&self.parameters)),
            Tensor::flat("objective", Values::Bytes(&state)),
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
        if !self.average.state().is_empty() {
            tensors.push(Tensor::flat("average", Values::F64(self.average.state())));
        }
        save(path, self, self.train_examples(), origin, &tensors)
    }

    pub(crate) fn read_checkpoint(&mut self, path: &Path) -> Result<(), TrainError> {
        let (loaded, position) = load(path, self, self.train_examples())?;
        if position.stage >= self.stages() {
            return Err(loaded.wrong(format!("stage {}", position.stage), "a stage of this config"));
        }
        self.enter_stage(position.stage)?;
        loaded.f32_into("parameters", &mut self.parameters)?;
        self.previous.clear();
        if position.has_previous {
            self.previous.resize(self.parameters.len(), 0.0);
            loaded.f32_into("previous", &mut self.previous)?;
        }
        self.best.clear();
        if loaded.has("best") {
            self.best.resize(self.parameters.len(), 0.0);
            loaded.f32_into("best", &mut self.best)?;
        }
        for (name, values) in self.optimiser.state_mut() {
            loaded.f32_into(&format!("optimiser.{name}"), values)?;
        }
        if !self.average.state().is_empty() {
            let values = loaded.f64("average")?;
            if values.len() != self.parameters.len() {
                return Err(loaded.wrong(format!("{} averages", values.len()), "one per parameter"));
            }
            self.average.state_mut().copy_from_slice(&values);
        }
        let state = loaded.bytes("objective")?.to_vec();
        self.state.load(&state).map_err(|error| loaded.wrong(error.found, error.expected))?;
        self.position = position;
        Ok(())
    }
}

/// The config a checkpoint was started with, and what its caller kept in it.
pub fn about(path: &Path) -> Result<(Config, serde_json::Value), TrainError> {
    let header = container::load::<Header>(path, KIND)?.header;
    Ok((header.config, header.origin))
}

/// Tells data sets apart: all labels and cuts, and evenly spaced rows of features.
pub(crate) fn fingerprint(examples: Examples) -> String {
    let mut hash = Xxh3::new();
    for offset in &examples.lists.offsets {
        hash.update(&offset.to_le_bytes());
    }
    let weights = [&examples.lists.item_weights, &examples.lists.list_weights];
    for value in examples.lists.labels.iter().chain(weights.into_iter().flatten().flatten()) {
        hash.update(&value.to_bits().to_le_bytes());
    }
    let rows = examples.features.rows();
    let some: Vec<u32> = (0..rows.min(LOOKED_AT)).map(|i| (i * rows / rows.min(LOOKED_AT)) as u32).collect();
    let mut values = vec![0.0; some.len() * examples.features.width()];
    examples.features.gather(&some, &mut values);
    for value in values {
        hash.update(&value.to_bits().to_le_bytes());
    }
    if let Some(graphs) = examples.features.graphs() {
        for number in graphs.nodes.iter().chain(&graphs.edges) {
            hash.update(&number.to_le_bytes());
        }
        for end in graphs.ends.iter().flatten() {
            hash.update(&end.to_le_bytes());
        }
        for value in graphs.node_values.iter().chain(&graphs.edge_values) {
            hash.update(&value.to_bits().to_le_bytes());
        }
    }
    format!("{:016x}", hash.digest())
}
