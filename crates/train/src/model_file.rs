/*!
Trained models: score new data, be kept in a file, be checked when they come back.

The file (see [`crate::container`]) holds the parameters under the names of their blocks, and in its header the
config, the names of the features, the fitted transforms, what the model reached, and a self-test: a few rows of the
training data with their scores, which are computed again at every load.
*/

use std::path::Path;

use serde::{Deserialize, Serialize};
use toprank_core::{Differentiable, Features, Lists};
use toprank_data::transform::Pipeline;
use toprank_data::{Dataset, Matrix};

use crate::config::Config;
use crate::container::{self, Loaded, Tensor, Values};
use crate::engine::{Examples, score};
use crate::error::TrainError;
use crate::models;

const KIND: &str = "model";
/// Items in the self-test.
const PROBED: usize = 16;
/// Relative difference that another processor may make.
const TOLERANCE: f64 = 1e-4;

/// What a model file says about its model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// What it was trained with.
    pub config: Config,
    /// Features per row, before the transforms.
    pub width: usize,
    /// Names of the features, as in the training data.
    pub features: Vec<String>,
    /// Scores per row.
    pub outputs: usize,
    /// Names of the outputs, if there are several.
    pub output_names: Vec<String>,
    /// Steps on the features, fitted.
    pub transforms: Pipeline,
    /// What it reached.
    pub reached: Reached,
    /// Lengths of the lists of the self-test.
    pub probes: Vec<usize>,
}

/// What a model reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reached {
    /// Lists it was trained on.
    pub lists: usize,
    /// Rows it was trained on.
    pub rows: usize,
    /// Steps done.
    pub steps: u64,
    /// Passes done.
    pub epochs: u32,
    /// The pass whose model this is, from 1, and its value of the metric on the validation data.
    pub best: Option<(u32, f64)>,
    /// Loss of the last pass.
    pub loss: Option<f64>,
}

/// A trained model.
pub struct Model {
    header: Header,
    network: Box<dyn Differentiable>,
    parameters: Vec<f32>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Model").field("header", &self.header).finish_non_exhaustive()
    }
}

impl Model {
    /// A model with these parameters.
    pub fn new(
        header: Header,
        network: Box<dyn Differentiable>,
        parameters: Vec<f32>,
    ) -> Result<Model, TrainError> {
        Ok(Model { header, network, parameters })
    }

    /// What is known about it.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The network.
    pub fn network(&self) -> &dyn Differentiable {
        &*self.network
    }

    /// Its parameters, block after block.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// Scores of every entry of `data`, whose features are as they were read; they are transformed here.
    pub fn score(&self, mut data: Dataset) -> Result<Vec<f64>, TrainError> {
        self.header.transforms.apply(&mut data)?;
        self.score_transformed(&data.lists, &data.features)
    }

    /// Scores of lists whose features are already transformed (a mapped file behind its transforms).
    pub fn score_transformed(&self, lists: &Lists, features: &dyn Features) -> Result<Vec<f64>, TrainError> {
        score(&*self.network, &self.parameters, Examples { lists, features })
    }

    /// Writes it, with a self-test on the first items of `data` (as it was read).
    pub fn save(&self, path: &Path, data: &Dataset) -> Result<(), TrainError> {
        let (lists, values) = probes(data);
        let header = Header { probes: lists.clone(), ..self.header.clone() };
        let scores = self.score(probe_data(&lists, self.header.width, values.clone()))?;
        let mut tensors = vec![
            Tensor {
                name: "probe.features".into(),
                shape: vec![values.len() / self.header.width.max(1), self.header.width],
                values: Values::F32(&values),
            },
            Tensor::flat("probe.scores", Values::F64(&scores)),
        ];
        let mut start = 0;
        for block in self.network.blocks() {
            let end = start + block.parameters();
            tensors.push(Tensor {
                name: format!("model.{}", block.name),
                shape: block.shape.clone(),
                values: Values::F32(&self.parameters[start..end]),
            });
            start = end;
        }
        container::save(path, KIND, &header, &tensors)
    }

    /// Reads a model; every byte is checked and its self-test is run.
    pub fn load(path: &Path) -> Result<Model, TrainError> {
        let loaded: Loaded<Header> = container::load(path, KIND)?;
        let header = loaded.header.clone();
        let width = header.transforms.width_after();
        let network = models::parse(&header.config.model)?.build(width, header.outputs)?;
        let mut parameters = Vec::with_capacity(network.parameters());
        for block in network.blocks() {
            let name = format!("model.{}", block.name);
            let (shape, values) = loaded.f32(&name)?;
            if shape != block.shape {
                return Err(loaded.wrong(format!("{name} of shape {shape:?}"), format!("{:?}", block.shape)));
            }
            parameters.extend(values);
        }
        let model = Model { header, network, parameters };
        let (_, rows) = loaded.f32("probe.features")?;
        let expected = loaded.f64("probe.scores")?;
        let found = model.score(probe_data(&model.header.probes, model.header.width, rows))?;
        if found.len() != expected.len() {
            return Err(loaded.wrong(format!("{} scores in the self-test", expected.len()), "one per row"));
        }
        for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
            if (found - expected).abs() > TOLERANCE * expected.abs().max(1.0) {
                return Err(loaded.wrong(
                    format!("a self-test that fails: row {row} has score {found}"),
                    format!("{expected}; this build computes something else than the one that trained it"),
                ));
            }
        }
        Ok(model)
    }
}

/// The first items of the first lists: lengths of the lists, and features.
fn probes(data: &Dataset) -> (Vec<usize>, Vec<f32>) {
    let width = data.features.width();
    let (mut lengths, mut values) = (Vec::new(), Vec::new());
    let mut row = vec![0.0; width];
    let mut left = PROBED;
    for q in 0..data.lists.len() {
        let entries = data.lists.range(q);
        let length = entries.len().min(left);
        if length == 0 {
            continue;
        }
        for entry in entries.take(length) {
            data.features.row_into(data.lists.row(entry), &mut row);
            values.extend_from_slice(&row);
        }
        lengths.push(length);
        left -= length;
        if left == 0 {
            break;
        }
    }
    (lengths, values)
}

fn probe_data(lengths: &[usize], width: usize, values: Vec<f32>) -> Dataset {
    let items = lengths.iter().sum();
    Dataset {
        lists: Lists::from_lengths(lengths, vec![0.0; items]),
        features: Matrix::Dense { width, values },
        ..Dataset::default()
    }
}
