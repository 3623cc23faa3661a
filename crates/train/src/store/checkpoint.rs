//! Checkpoints: everything that moves in a run, so that a resumed run ends in the same bytes. One format for every trainer.

use std::path::Path;

use serde::{Deserialize, Serialize};
use toprank_core::GraphShape;
use toprank_embeddings::Shape;

use super::container::{self, Stored, Tensor};
use super::fingerprint::Fingerprint;
use crate::error::TrainError;
use crate::fit::settings::{Config, TrainerKind};
use crate::fit::training_loop::Position;
use crate::rank::models;
use crate::recommend;

const KIND: &str = "checkpoint";

/// What a checkpoint says about its run.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    pub config: Config,
    /// What it was started on.
    pub inputs: Fingerprint,
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
    pub fn check_inputs(&self, stored: &Stored, inputs: &Fingerprint) -> Result<(), TrainError> {
        match self.inputs.difference(inputs) {
            None => Ok(()),
            Some(input) => Err(TrainError::InputChanged { file: stored.file().into(), input }),
        }
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

/// The same of bytes that another worker has read, under the name of its file.
pub(crate) fn load_bytes(name: &str, bytes: Vec<u8>) -> Result<(Stored, About), TrainError> {
    container::load_bytes(name, bytes, KIND)
}

/// Writes the checkpoint of a run whose first step is still to come: from here on it can be resumed.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn announce(
    path: &Path,
    config: &Config,
    origin: &serde_json::Value,
    inputs: Fingerprint,
) -> Result<(), TrainError> {
    let position = Position::default();
    save(path, &About { config: config.clone(), inputs, origin: origin.clone(), position }, &[])
}

/// Refuses to resume a run that was announced on other data; one that has begun is checked when its state is taken over.
///
/// # Errors
/// If an input is another, or the file is damaged.
pub(crate) fn check_announced(path: &Path, inputs: &Fingerprint) -> Result<(), TrainError> {
    let (stored, about) = load(path)?;
    if stored.is_empty() { about.check_inputs(&stored, inputs) } else { Ok(()) }
}

/// The config a checkpoint was started with, and what its caller kept in it.
///
/// # Errors
/// If the file is no checkpoint, damaged, or of another trainer.
pub fn about(path: &Path, kind: TrainerKind) -> Result<(Config, serde_json::Value), TrainError> {
    let (_, about) = of_trainer(path, kind)?;
    Ok((about.config, about.origin))
}

/// The same of a run that is to be resumed with the model that its config names: the config is checked, and that it does not ask
/// for more parameters than the file holds.
///
/// # Errors
/// As in [`about`], or if the config is invalid.
pub fn resumable(path: &Path, kind: TrainerKind) -> Result<(Config, serde_json::Value), TrainError> {
    let (stored, about) = of_trainer(path, kind)?;
    about.config.check().map_err(|error| stored.wrong(error.to_string(), "the settings of a run"))?;
    check_size(&stored, &about.config)?;
    Ok((about.config, about.origin))
}

fn of_trainer(path: &Path, kind: TrainerKind) -> Result<(Stored, About), TrainError> {
    let (stored, about) = load(path)?;
    let found = about.config.trainer();
    if found != kind {
        let expected = format!("one of `toprank {}`", kind.command());
        return Err(stored.wrong(format!("a checkpoint of `toprank {}`", found.command()), expected));
    }
    Ok((stored, about))
}

/// Refuses settings that ask for more parameters than the file holds, before a trainer takes memory for them. What depends on the
/// data is not known here: the fewest that any data ask for are compared.
fn check_size(stored: &Stored, config: &Config) -> Result<(), TrainError> {
    if stored.is_empty() {
        return Ok(());
    }
    let pairs: Vec<(&str, u128)> = match config.trainer() {
        TrainerKind::Walk => Vec::new(),
        // Its fits are files of their own.
        TrainerKind::Rank if models::is_auto(config.model()) => Vec::new(),
        TrainerKind::Rank | TrainerKind::Embed => match models::parse(config.model())? {
            models::Model::Trees(_) => Vec::new(),
            models::Model::Network(architecture) => {
                let outputs =
                    if config.trainer() == TrainerKind::Embed { config.dimensions() as usize } else { 1 };
                let rows = architecture.parameters(1, outputs);
                let graphs = architecture.parameters_for_graphs(&GraphShape::default(), outputs);
                rows.or(graphs).map(|count| ("parameters", count)).into_iter().collect()
            }
        },
        TrainerKind::Recommend => match recommend::Kind::parse(config.model())? {
            recommend::Kind::Items(_) | recommend::Kind::Auto => Vec::new(),
            recommend::Kind::Vectors(kind) => {
                let model = kind.build(&Shape::default())?;
                let weights = model.blocks().iter().map(|block| block.parameters() as u128).sum();
                let [user, item] = model.widths();
                vec![("users", user as u128), ("items", item as u128), ("weights", weights)]
            }
        },
    };
    for (name, least) in pairs {
        let found = stored.count(name);
        if least > found as u128 {
            let expected = format!("at least {least}, as {} has", config.model());
            return Err(stored.wrong(format!("{found} numbers in {name}"), expected));
        }
    }
    Ok(())
}
