/*!
Trained models: they score new data and are kept in a file that is checked at every load.

The file (see [`crate::store::container`]) holds the parameters under the names of their blocks, and in its header the
config, the names of the features, the fitted transforms, what the model reached, and a self-test: a few rows of the
training data with their scores, which are computed again at every load.
*/

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toprank_core::{Features, Graphs, Lists};
use toprank_data::transform::Pipeline;
use toprank_data::{Column, Dataset, GraphItems, Matrix};
use toprank_trees::interop::{Imported, probe_rows};

use super::container::{self, Stored, Tensor};
use super::fingerprint::Content;
use super::header::{self, Header, Reached};
use crate::error::TrainError;
use crate::fit::engine::Examples;
use crate::fit::settings::{Settings, TrainerKind};
use crate::rank::auto::BlendAbout;
use crate::rank::calibration::Calibration;
use crate::rank::classes::softmax_of_rows;
use crate::rank::graph_model::{self, GraphReading};
use crate::rank::position_bias::PositionBias;
use crate::rank::scoring::{Scoring, Trees};

const KIND: &str = "model";
/// Items in the self-test.
const PROBED: usize = 16;
/// Relative difference that another processor may make.
const TOLERANCE: f64 = 1e-4;

/// What the header of a model says beside config and result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Features per row, before the transforms.
    pub width: usize,
    /// Names of the features, as in the training data.
    pub features: Vec<String>,
    /// The strings that the values 0, 1, 2 … of a categorical feature stand for, by its place.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<usize, Vec<String>>,
    /// Scores per row.
    pub outputs: usize,
    /// Names of the outputs, if there are several.
    pub output_names: Vec<String>,
    /// Feature transforms, fitted.
    pub transforms: Pipeline,
    /// Lengths of the lists of the self-test.
    pub probes: Vec<usize>,
    /// What positions added to clicks in the training data; scores are free of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position_bias: Option<PositionBias>,
    /// How graphs are read, where items are graphs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graphs: Option<GraphReading>,
    /// What was blended, of a model that `--model auto` trained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blend: Option<BlendAbout>,
    /// Calibration, one per output; empty: the model gives scores only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calibration: Vec<Calibration>,
}

impl About {
    /// The features by name and kind, before the transforms.
    pub(crate) fn columns(&self) -> Vec<Column> {
        let name =
            |feature: usize| self.features.get(feature).cloned().unwrap_or_else(|| format!("f{feature}"));
        let levels = |feature: usize| self.levels.get(&feature).map(|words| words.iter().collect());
        (0..self.width).map(|feature| Column { name: name(feature), levels: levels(feature) }).collect()
    }

    /// Sizes and names that contradict each other; a file whose checksum is right may still hold any numbers.
    fn check(&self) -> Result<(), (String, String)> {
        let width = self.width;
        let count = |what: &str, found: usize, expected: usize| match found == expected {
            true => Ok(()),
            false => Err((format!("{found} {what}"), expected.to_string())),
        };
        count("features before the transforms", self.transforms.width, width)?;
        if !self.features.is_empty() {
            count("names of features", self.features.len(), width)?;
        }
        if let Some((place, _)) = self.levels.iter().find(|(place, _)| **place >= width) {
            return Err((format!("categories of feature {place}"), format!("features below {width}")));
        }
        if !self.output_names.is_empty() {
            count("names of outputs", self.output_names.len(), self.outputs)?;
        }
        if self.outputs == 0 || self.outputs > usize::from(u16::MAX) + 1 {
            return Err((format!("{} outputs", self.outputs), "1 to 65536".into()));
        }
        let rows = self.probes.iter().try_fold(0_usize, |sum, length| sum.checked_add(*length));
        if !rows.is_some_and(|rows| (1..=PROBED).contains(&rows)) {
            return Err((
                format!("a self-test of lists of {:?} items", self.probes),
                format!("1 to {PROBED} items"),
            ));
        }
        if self.blend.is_some() && !self.transforms.steps.is_empty() {
            return Err(("transforms of a blend".into(), "none but those of its parts".into()));
        }
        if self.graphs.is_some() {
            count("features of items that are graphs", width, 1)?;
        }
        if !self.calibration.is_empty() {
            count("calibrations", self.calibration.len(), self.outputs)?;
        }
        match self.calibration.iter().find_map(Calibration::fault) {
            Some(fault) => Err((fault.to_string(), "a calibration that never decreases".into())),
            None => Ok(()),
        }
    }
}

/// A trained model.
pub struct Model {
    header: Header<About>,
    scoring: Scoring,
    /// Features of the self-test, as they were read.
    probes: Vec<f32>,
    /// Graphs of the self-test, as the model sees them.
    probe_graphs: Option<Graphs>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Model").field("header", &self.header).finish_non_exhaustive()
    }
}

impl Model {
    /// A model that scores so; its self-test looks at the first items of `probes`, data as they were read.
    pub fn new(mut header: Header<About>, scoring: Scoring, probes: &Probes) -> Model {
        header.about.probes.clone_from(&probes.lengths);
        Model { header, scoring, probes: probes.values.clone(), probe_graphs: probes.graphs.clone() }
    }

    /// Trees of another tool, as [`interop::read`](toprank_trees::interop::read) found them.
    pub fn imported(imported: Imported) -> Result<Model, TrainError> {
        let Imported { ensemble, names, objective } = imported;
        let objective = objective.unwrap_or_else(|| "unknown".into());
        let settings = Settings { model: Some("trees".into()), ..Settings::default() };
        let imported = Settings {
            algorithm: Some(format!("imported ({objective})")),
            objective: Some(objective),
            epochs: Some(ensemble.rounds().max(1) as u32),
            ..Settings::default()
        };
        let probes = probe_rows(&ensemble, PROBED, 0);
        let header = Header {
            config: settings.resolve(TrainerKind::Rank)?.with(imported),
            reached: Reached { epochs: ensemble.rounds() as u32, ..Reached::default() },
            about: About {
                width: ensemble.width,
                outputs: ensemble.outputs,
                output_names: Vec::new(),
                transforms: Pipeline { width: ensemble.width, steps: Vec::new() },
                levels: BTreeMap::new(),
                features: names,
                probes: Vec::new(),
                graphs: None,
                position_bias: None,
                blend: None,
                calibration: Vec::new(),
            },
        };
        let lists = Lists::from_lengths(&[PROBED], vec![0.0; PROBED]);
        let scoring = Scoring::Trees(Arc::new(Trees::new(ensemble)?));
        Ok(Model::new(header, scoring, &Probes::take(&lists, &probes)))
    }

    /// What is known about it.
    pub fn header(&self) -> &Header<About> {
        &self.header
    }

    /// What makes it another model: what is known about it, its parameters or trees.
    pub(crate) fn add_to(&self, content: &mut Content) {
        content.bytes(serde_json::to_string(&self.header).unwrap_or_default().as_bytes());
        for tensor in self.scoring.tensors() {
            content.texts([tensor.name.as_str()]);
            let Ok(()) = tensor.each_part::<Infallible>(|part| {
                content.bytes(part);
                Ok(())
            });
        }
    }

    /// What gives its scores.
    pub fn scoring(&self) -> &Scoring {
        &self.scoring
    }

    /// True if an item's score depends on the other items of its list, so that rows must come with their lists.
    pub fn looks_at_lists(&self) -> bool {
        self.scoring.couples_items() || self.header.transforms.looks_at_lists()
    }

    /// The features of its self-test, row after row, as they were read: rows of the training data, or for an imported model rows
    /// around its thresholds.
    pub fn probes(&self) -> &[f32] {
        &self.probes
    }

    /// The graphs of its self-test, as the model sees them; `None`: items are rows of numbers.
    pub(crate) fn probe_graphs(&self) -> Option<&Graphs> {
        self.probe_graphs.as_ref()
    }

    /// Scores of every entry of `data`, whose features are as they were read; they are transformed here.
    pub fn score(&self, mut data: Dataset) -> Result<Vec<f64>, TrainError> {
        graph_model::code_items(self.header.graphs.as_ref(), &mut data)?;
        self.score_coded(data)
    }

    /// The same of data whose graphs are as the model sees them.
    pub(crate) fn score_coded(&self, mut data: Dataset) -> Result<Vec<f64>, TrainError> {
        self.header.transforms.apply(&mut data)?;
        self.score_transformed(&data.lists, &data)
    }

    /// Scores of lists whose features are already transformed (a mapped file behind its transforms).
    pub fn score_transformed(&self, lists: &Lists, features: &dyn Features) -> Result<Vec<f64>, TrainError> {
        self.scoring.score(Examples { lists, features })
    }

    /// The same model with its calibrations, one per output, or none at all.
    ///
    /// # Panics
    /// If their number is another.
    #[must_use]
    pub fn with_calibration(mut self, calibration: Vec<Calibration>) -> Model {
        assert!(
            calibration.is_empty() || calibration.len() == self.header.outputs,
            "one calibration per output"
        );
        self.header.about.calibration = calibration;
        self
    }

    /// True if its outputs are classes whose probabilities are the softmax of the scores of a row.
    pub fn is_multiclass(&self) -> bool {
        self.header.config.goal().is_ok_and(|goal| goal.objective().over_outputs())
    }

    /// True if [`Model::to_probabilities`] gives probabilities: the model is calibrated, or its outputs are classes.
    pub fn gives_probabilities(&self) -> bool {
        !self.header.calibration.is_empty() || self.is_multiclass()
    }

    /// Turns scores of the entries of `lists` into probabilities; false if the model gives none. Of classes, `lists` must have all
    /// outputs of each row.
    pub fn to_probabilities(&self, lists: &Lists, scores: &mut [f64]) -> bool {
        if self.is_multiclass() {
            softmax_of_rows(lists, scores);
            return true;
        }
        let maps = &self.header.calibration;
        if maps.is_empty() {
            return false;
        }
        for q in 0..lists.len() {
            let output = lists.output.as_ref().map_or(0, |output| usize::from(output[q]));
            let map = &maps[output.min(maps.len() - 1)];
            scores[lists.range(q)].iter_mut().for_each(|score| *score = map.probability(*score));
        }
        true
    }

    /// Writes it, with its self-test; the old file stays until the new one is whole.
    pub fn save(&self, path: &Path) -> Result<(), TrainError> {
        let width = self.header.width;
        let mut tensors = vec![
            Tensor::shaped("probe.features", vec![self.probes.len() / width.max(1), width], &self.probes),
            Tensor::flat("probe.scores", self.score_probes()?),
        ];
        tensors.extend(self.probe_graphs.iter().flat_map(graph_model::tensors));
        tensors.extend(self.scoring.tensors());
        header::save(path, KIND, &self.header, &tensors)
    }

    fn score_probes(&self) -> Result<Vec<f64>, TrainError> {
        let mut data = probe_data(&self.header.probes, self.header.width, self.probes.clone());
        if let (Some(reading), Some(graphs)) = (&self.header.graphs, &self.probe_graphs) {
            data.graphs = Some(Arc::new(GraphItems {
                kind: reading.kind,
                store: graphs.clone(),
                node_columns: Vec::new(),
                edge_columns: Vec::new(),
                left_out: Vec::new(),
            }));
        }
        self.score_coded(data)
    }

    /// True if the file at `path` looks like a model, whole or not.
    pub fn is_one(path: &Path) -> bool {
        container::looks_like(path, KIND)
    }

    /// Reads a model; every byte is checked and its self-test is run.
    pub fn load(path: &Path) -> Result<Model, TrainError> {
        let (stored, header): (Stored, Header<About>) = container::load(path, KIND)?;
        header.about.check().map_err(|(found, expected)| stored.wrong(found, expected))?;
        let width = header.transforms.width_after();
        let shape = header.graphs.as_ref().map(|graphs| graphs.coding.shape());
        // First, as rows of the self-test show how wide rows are.
        let (_, probes) = stored.f32("probe.features")?;
        let rows: usize = header.probes.iter().sum();
        if Some(probes.len()) != rows.checked_mul(header.width) {
            return Err(stored.wrong(format!("{} numbers in the self-test", probes.len()), "whole rows"));
        }
        let scoring = match &header.blend {
            None => Scoring::load(&stored, header.config.model(), width, shape.as_ref(), header.outputs)?,
            Some(blend) => Scoring::load_blend(&stored, &blend.parts, header.columns(), header.outputs)?,
        };
        let probe_graphs = shape.map(|shape| graph_model::load(&stored, shape)).transpose()?;
        if let Some(graphs) = &probe_graphs
            && !(graphs.len() == rows && (0..).zip(&probes).all(|(row, graph)| *graph == row as f32))
        {
            let found = format!("{} graphs in the self-test", graphs.len());
            return Err(stored.wrong(found, format!("{rows}, one per row, in their order")));
        }
        let model = Model { header, scoring, probes, probe_graphs };
        let (found, expected) = (model.score_probes()?, stored.f64("probe.scores")?);
        header::self_test(&stored, &found, &expected, TOLERANCE)?;
        Ok(model)
    }
}

/// The first items of the first lists of a data set, as they were read: what a self-test looks at.
#[derive(Clone, Debug, Default)]
pub struct Probes {
    lengths: Vec<usize>,
    values: Vec<f32>,
    graphs: Option<Graphs>,
}

impl Probes {
    /// The numbers, row after row.
    pub(crate) fn values(&self) -> &[f32] {
        &self.values
    }

    /// The first items of `lists`.
    pub fn take(lists: &Lists, features: &dyn Features) -> Probes {
        let mut probes = Probes::default();
        let mut rows = Vec::new();
        for q in 0..lists.len() {
            let entries = lists.range(q).take(PROBED - rows.len());
            let before = rows.len();
            rows.extend(entries.map(|entry| lists.row(entry) as u32));
            if rows.len() > before {
                probes.lengths.push(rows.len() - before);
            }
            if rows.len() == PROBED {
                break;
            }
        }
        probes.values.resize(rows.len() * features.width(), 0.0);
        features.gather(&rows, &mut probes.values);
        probes.graphs = graph_model::of_rows(features, &probes.values);
        if probes.graphs.is_some() {
            // The graphs of the self-test are its own: row i has graph i.
            probes.values.iter_mut().enumerate().for_each(|(row, value)| *value = row as f32);
        }
        probes
    }
}

fn probe_data(lengths: &[usize], width: usize, values: Vec<f32>) -> Dataset {
    let items = lengths.iter().sum();
    Dataset {
        lists: Lists::from_lengths(lengths, vec![0.0; items]),
        features: Matrix::Dense { width, values },
        ..Dataset::default()
    }
}
