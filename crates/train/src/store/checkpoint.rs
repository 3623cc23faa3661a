//! Checkpoints: everything that moves in a run, so that a resumed run ends in the same bytes. One format for every trainer.

use std::path::Path;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::container::{self, Stored, Tensor};
use crate::error::TrainError;
use crate::fit::engine::Examples;
use crate::fit::settings::{Config, TrainerKind};
use crate::fit::training_loop::Position;

const KIND: &str = "checkpoint";
/// Rows of features that enter the fingerprint of the data.
const FINGERPRINTED_ROWS: usize = 1024;

/// What a checkpoint says about its run.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    pub config: Config,
    /// Fingerprint of the data.
    pub data: String,
    /// What the caller keeps to find its files again.
    pub origin: serde_json::Value,
    pub position: Position,
}

impl About {
    /// Refuses to resume with another config.
    pub fn check_config(&self, stored: &Stored, config: &Config) -> Result<(), TrainError> {
        if self.config == *config {
            return Ok(());
        }
        let expected = "the config it was started with; omit the flags, or start a new run";
        Err(stored.wrong("a checkpoint of another config", expected))
    }

    /// Refuses to resume on other data.
    pub fn check_data(&self, stored: &Stored, data: &str) -> Result<(), TrainError> {
        if self.data == data {
            return Ok(());
        }
        let expected = "the data it was started with; they have changed since, so start a new run";
        Err(stored.wrong("a checkpoint of other data", expected))
    }
}

/// Writes a checkpoint; the old one stays until the new one is whole.
pub(crate) fn save(path: &Path, about: &About, tensors: &[Tensor]) -> Result<(), TrainError> {
    container::save(path, KIND, about, tensors)
}

/// Reads a checkpoint, every byte of it checked.
pub(crate) fn load(path: &Path) -> Result<(Stored, About), TrainError> {
    container::load(path, KIND)
}

/// Writes the checkpoint of a run whose first step is still to come: from here on it can be resumed.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn announce(path: &Path, config: &Config, origin: &serde_json::Value) -> Result<(), TrainError> {
    let (data, position) = (String::new(), Position::default());
    save(path, &About { config: config.clone(), data, origin: origin.clone(), position }, &[])
}

/// The config a checkpoint was started with, and what its caller kept in it.
///
/// # Errors
/// If the file is no checkpoint, damaged, or of another trainer.
pub fn about(path: &Path, kind: TrainerKind) -> Result<(Config, serde_json::Value), TrainError> {
    let (stored, about) = load(path)?;
    let found = about.config.trainer();
    if found != kind {
        let expected = format!("one of `toprank {}`", kind.command());
        return Err(stored.wrong(format!("a checkpoint of `toprank {}`", found.command()), expected));
    }
    Ok((about.config, about.origin))
}

/// Tells data sets apart: all labels and list boundaries, and evenly spaced rows of features, of training and validation
/// data.
pub(crate) fn fingerprint(train: Examples, valid: Option<Examples>) -> String {
    let mut hash = Xxh3::new();
    for examples in [Some(train), valid].into_iter().flatten() {
        add(&mut hash, examples);
    }
    format!("{:016x}", hash.digest())
}

fn add(hash: &mut Xxh3, examples: Examples) {
    for offset in &examples.lists.offsets {
        hash.update(&offset.to_le_bytes());
    }
    let weights = [&examples.lists.item_weights, &examples.lists.list_weights];
    for value in examples.lists.labels.iter().chain(weights.into_iter().flatten().flatten()) {
        hash.update(&value.to_bits().to_le_bytes());
    }
    let rows = examples.features.rows();
    // Sparse data have up to a million features: a dense copy of so many rows would take gigabytes.
    let count = rows.min(FINGERPRINTED_ROWS).min(((1 << 24) / examples.features.width().max(1)).max(1));
    let some: Vec<u32> = (0..count).map(|i| (i * rows / count) as u32).collect();
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
}
