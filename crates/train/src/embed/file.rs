/*!
Trained embeddings: vectors of new rows, kept in a file, checked when they come back.

The file (see [`crate::store::container`]) holds the network, the names of its features, the fitted transforms, the names of the classes
of every part, and a self-test: some rows with their vectors, which are computed again at every load.
*/

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toprank_core::{Differentiable, Lists};
use toprank_data::transform::Pipeline;
use toprank_data::{Dataset, Matrix};

use super::search::Vectors;
use super::similarity::Similarity;
use crate::error::TrainError;
use crate::fit::engine::score_rows;
use crate::fit::flat::block_tensors;
use crate::rank::predict::by_name;
use crate::rank::scoring::Scoring;
use crate::store::container::{self, Stored, Tensor};
use crate::store::fingerprint::{Fingerprint, Input};
use crate::store::header::{self, Header};
use crate::store::model_file::Probes;

const KIND: &str = "embedder";
/// Difference of a number of a vector that another processor may make.
const TOLERANCE: f64 = 1e-4;

/// What the header of an embedding says beside config and result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Features per row, before the transforms.
    pub width: usize,
    /// Names of the features.
    pub features: Vec<String>,
    /// Feature transforms, fitted.
    pub transforms: Pipeline,
    /// The classes of each part.
    pub parts: Parts,
}

/// Names of classes, part by part; no class is in two.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parts {
    /// What was learned from.
    pub train: Vec<String>,
    /// What early stopping looked at.
    pub valid: Vec<String>,
    /// What was not looked at.
    pub test: Vec<String>,
}

/// A trained embedding.
#[derive(Clone)]
pub struct Embedder {
    header: Header<About>,
    model: Arc<dyn Differentiable>,
    parameters: Vec<f32>,
    probes: Vec<f32>,
}

impl std::fmt::Debug for Embedder {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Embedder").field("header", &self.header).finish_non_exhaustive()
    }
}

impl Embedder {
    pub(super) fn new(
        header: Header<About>,
        model: Arc<dyn Differentiable>,
        parameters: Vec<f32>,
        probes: &Probes,
    ) -> Embedder {
        Embedder { header, model, parameters, probes: probes.values().to_vec() }
    }

    /// What its file says about it.
    pub fn header(&self) -> &Header<About> {
        &self.header
    }

    /// The network and its parameters.
    pub(crate) fn network(&self) -> (&dyn Differentiable, &[f32]) {
        (&*self.model, &self.parameters)
    }

    /// It as an input of a run that starts from it.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::default().with(Input::From, |content| {
            content.bytes(serde_json::to_string(&self.header).unwrap_or_default().as_bytes());
            content.floats(&self.parameters);
        })
    }

    /// The features of its self-test, row after row.
    pub(crate) fn probes(&self) -> &[f32] {
        &self.probes
    }

    /// Numbers that were learned.
    pub fn parameters(&self) -> usize {
        self.parameters.len()
    }

    /// The vector of every row, of length 1 unless similarities are distances, in the order of the rows of `data`. Columns are found by name; `file` is the name
    /// of the data in errors, `absent` what a numbered feature is worth that a text never states.
    ///
    /// # Errors
    /// If the data lack features of the model, or a row has missing ones that no transform fills.
    pub fn embed(&self, file: &str, data: Dataset, absent: f32) -> Result<Vectors, TrainError> {
        let rows = data.rows();
        let mut data = by_name(file, &self.header.features, self.header.width, data, absent)?;
        self.header.transforms.apply(&mut data)?;
        vectors(&*self.model, &self.parameters, &data, rows, self.similarity())
    }

    /// How near two of its vectors are.
    pub fn similarity(&self) -> Similarity {
        Similarity::of(&self.header.config)
    }

    fn self_test(&self) -> Result<Vectors, TrainError> {
        let width = self.header.width.max(1);
        let rows = self.probes.len() / width;
        let mut data = Dataset {
            lists: Lists::from_lengths(&[rows], vec![0.0; rows]),
            features: Matrix::Dense { width, values: self.probes.clone() },
            ..Dataset::default()
        };
        self.header.transforms.apply(&mut data)?;
        vectors(&*self.model, &self.parameters, &data, rows, self.similarity())
    }

    /// Writes it; the old file stays until the new one is whole.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), TrainError> {
        let vectors = self.self_test()?;
        let (rows, width) = (vectors.rows(), self.header.width);
        let mut tensors = vec![
            Tensor::shaped("probe.features", vec![rows, width], &self.probes),
            Tensor::shaped("probe.vectors", vec![rows, vectors.width], &vectors.values),
        ];
        tensors.extend(block_tensors(self.model.blocks(), &self.parameters));
        header::save(path, KIND, &self.header, &tensors)
    }

    /// Reads an embedding; every byte is checked and its self-test is run.
    ///
    /// # Errors
    /// If the file is no embedding, damaged, or computes other vectors here.
    pub fn load(path: &Path) -> Result<Embedder, TrainError> {
        let (stored, header): (Stored, Header<About>) = container::load(path, KIND)?;
        let (found, width) = ((header.transforms.width, header.features.len()), header.width);
        // Data in memory may have no names.
        if width == 0 || found.0 != width || ![0, width].contains(&found.1) {
            let found = format!("{} features before the transforms and {} names", found.0, found.1);
            return Err(stored.wrong(found, format!("{width} of each, at least 1")));
        }
        let dimensions = header.config.dimensions() as usize;
        let width = header.transforms.width_after();
        let Scoring::Network(model, parameters) =
            Scoring::load(&stored, header.config.model(), width, None, dimensions)?
        else {
            return Err(stored.wrong("trees", "a network that gives vectors"));
        };
        let (shape, probes) = stored.f32("probe.features")?;
        if shape.len() != 2 || shape[1] != header.width {
            return Err(stored.wrong(format!("a self-test of shape {shape:?}"), "whole rows"));
        }
        let embedder = Embedder { header, model, parameters, probes };
        let wide = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect::<Vec<f64>>();
        let expected = wide(&stored.f32("probe.vectors")?.1);
        header::self_test(&stored, &wide(&embedder.self_test()?.values), &expected, TOLERANCE)?;
        Ok(embedder)
    }

    /// True if the file at `path` looks like an embedding, whole or not.
    pub fn is_one(path: &Path) -> bool {
        container::looks_like(path, KIND)
    }
}

/// The vectors of all rows of data that are transformed already.
pub(super) fn vectors(
    model: &dyn Differentiable,
    parameters: &[f32],
    data: &Dataset,
    rows: usize,
    similarity: Similarity,
) -> Result<Vectors, TrainError> {
    let width = model.outputs();
    let raw = score_rows(model, parameters, &data.features, rows)?;
    let mut found = Vectors { width, values: Vec::with_capacity(raw.len()), similarity };
    similarity.vectors(&raw, width, &mut found.values, &mut Vec::new());
    Ok(found)
}
