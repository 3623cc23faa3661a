/*!
Trained models said in ONNX, and proved before they are given away.

```text
features as they were read: float[rows, width]  →  transforms  →  network  →  scores: double[rows, outputs]
```

Transforms are part of what is written, in double precision and rounded to single after every step, as they are here. Where a
model or a transform looks at whole lists, a run takes the items of one list. Scores are raw, before any calibration.

The bytes are read back by [`toprank_onnx::Program`], which knows nothing of the model, and must give its scores on rows that
are made for it from the rows of its self-test: values mixed among rows, moved, left out where the transforms fill them.
*/

#[cfg(all(test, feature = "neural"))]
mod tests;
mod towers;
mod transforms;

use toprank_core::stream::Random;
use toprank_core::{Features, Lists, ModelError, Stream};
use toprank_data::transform::{Pipeline, Step};
use toprank_data::{Column, Dataset, Matrix};
use toprank_onnx::{Array, Graph, Kind, Program};

use crate::error::TrainError;
use crate::model_file::{Header, Model};
#[cfg(feature = "neural")]
use crate::scoring::Scoring;

pub use towers::{Towers, towers};

/// What scores may differ by, relative to the largest: both sides round to single precision, each in its own order.
pub const TOLERANCE: f64 = 1e-5;
/// Items of a list among the rows that a model is proved on, at most.
const LONGEST: usize = 24;

/// A written model with the rows it was proved on.
#[derive(Debug)]
pub struct Written {
    /// The file.
    pub bytes: Vec<u8>,
    /// The rows, as they would be read.
    pub rows: Dataset,
    /// What the model says of them, output after output for every row.
    pub scores: Vec<f64>,
    /// How far the written model is from that.
    pub parity: Parity,
    /// True if a run must be given the items of one list.
    pub list_by_list: bool,
}

/// How well a written model agrees with ours.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parity {
    /// Largest difference of a score.
    pub difference: f64,
    /// Largest |score|.
    pub largest: f64,
}

impl Parity {
    fn of(found: &[f64], expected: &[f64]) -> Result<Parity, ModelError> {
        if found.len() != expected.len() {
            return Err(ModelError::new(
                format!("{} scores of the written model", found.len()),
                expected.len().to_string(),
            ));
        }
        let mut parity = Parity::default();
        for (found, expected) in found.iter().zip(expected) {
            // A NaN is no agreement.
            let difference = (found - expected).abs();
            parity.difference = if difference <= parity.difference { parity.difference } else { difference };
            parity.largest = parity.largest.max(expected.abs());
        }
        match parity.relative() <= TOLERANCE {
            true => Ok(parity),
            false => Err(ModelError::new(
                format!("scores that differ by {:e}, the largest is {:e}", parity.difference, parity.largest),
                format!("at most {TOLERANCE:e} of the largest"),
            )),
        }
    }

    /// `difference / largest`; 0 if they are the same.
    pub fn relative(&self) -> f64 {
        if self.difference == 0.0 { 0.0 } else { self.difference / self.largest }
    }
}

/// Writes a network with its transforms and proves it on `rows` rows; the same rows for the same model.
///
/// # Errors
/// If the model is no network, has no form in ONNX, or what was written says something else.
pub fn write(model: &Model, rows: usize) -> Result<Written, TrainError> {
    let header = model.header();
    let list_by_list = model.scoring().couples_items()
        || header.transforms.steps.iter().any(|step| matches!(step, Step::PerList { .. }));
    let mut graph = Graph::default();
    let features = graph.input("features", Kind::Float, &[None, Some(header.width)]);
    let ready = transforms::say(&header.transforms, &categories(header), &mut graph, &features);
    let scores = network(model, &mut graph, &ready)?;
    graph.output("scores", &scores, Kind::Double, &[None, Some(header.outputs)]);
    let about = if list_by_list { "one list at a time" } else { "any rows" };
    let names = header.features.join(" ");
    let bytes =
        graph.write("toprank", &[("features", &names), ("model", &header.config.model), ("rows", about)]);

    let rows = probes(model, rows.max(1), list_by_list);
    let scores = all_scores(model, &rows)?;
    let program = Program::read(&bytes)?;
    let width = header.width;
    let mut found = Vec::with_capacity(scores.len());
    for list in 0..rows.lists.len() {
        let range = rows.lists.range(list);
        let mut values = vec![0.0; range.len() * width];
        rows.features.gather(&range.clone().map(|row| row as u32).collect::<Vec<_>>(), &mut values);
        let values = values.into_iter().map(f64::from).collect();
        let outputs = program.run(&[("features", Array::new(&[range.len(), width], values))])?;
        found.extend_from_slice(&outputs["scores"].values);
    }
    let parity = Parity::of(&found, &scores)?;
    Ok(Written { bytes, rows, scores, parity, list_by_list })
}

#[cfg(feature = "neural")]
fn network(
    model: &Model,
    graph: &mut Graph,
    rows: &toprank_onnx::Value,
) -> Result<toprank_onnx::Value, TrainError> {
    match model.scoring() {
        Scoring::Network(network, parameters) => {
            Ok(toprank_neural::onnx::say(&model.header().config.model, &**network, parameters, graph, rows)?)
        }
        Scoring::Trees(_) => {
            Err(ModelError::new("a model of trees", "a network; trees have a form of their own").into())
        }
    }
}

#[cfg(not(feature = "neural"))]
fn network(_: &Model, _: &mut Graph, _: &toprank_onnx::Value) -> Result<toprank_onnx::Value, TrainError> {
    Err(ModelError::new("a build without networks", "one with the feature `neural`").into())
}

/// Every output of every row.
fn all_scores(model: &Model, rows: &Dataset) -> Result<Vec<f64>, TrainError> {
    let outputs = model.header().outputs;
    if outputs == 1 {
        return model.score(rows.clone());
    }
    // One list per output over the same rows.
    let count = rows.rows();
    let mut scores = vec![0.0; count * outputs];
    for output in 0..outputs {
        let lists = Lists { output: Some(vec![output as u16; rows.lists.len()]), ..rows.lists.clone() };
        let of_output = model.score(Dataset { lists, ..rows.clone() })?;
        of_output.iter().enumerate().for_each(|(row, score)| scores[row * outputs + output] = *score);
    }
    Ok(scores)
}

/// Which features hold categories.
fn categories(header: &Header) -> Vec<bool> {
    (0..header.width).map(|feature| header.levels.contains_key(&feature)).collect()
}

fn columns(header: &Header) -> Vec<Column> {
    let name =
        |feature: usize| header.features.get(feature).cloned().unwrap_or_else(|| format!("f{feature}"));
    (0..header.width)
        .map(|f| Column { name: name(f), levels: header.levels.get(&f).map(|words| words.iter().collect()) })
        .collect()
}

/// Rows made from those of the self-test.
fn probes(model: &Model, rows: usize, list_by_list: bool) -> Dataset {
    let header = model.header();
    let width = header.width;
    let known = model.probes();
    let mut random = Stream::new(0, "rows to prove a model on").open();
    let fills = filled(&header.transforms, &columns(header));
    let categories = categories(header);
    let mut values = Vec::with_capacity(rows * width);
    for _ in 0..rows {
        for feature in 0..width {
            let value = match known.len() / width.max(1) {
                0 => 0.0,
                count => known[random.below(count) * width + feature],
            };
            values.push(if categories[feature] { value } else { moved(value, fills[feature], &mut random) });
        }
    }
    let mut lengths = Vec::new();
    let mut left = rows;
    while left > 0 {
        let length = if list_by_list { (1 + random.below(LONGEST)).min(left) } else { left };
        lengths.push(length);
        left -= length;
    }
    Dataset {
        lists: Lists::from_lengths(&lengths, vec![0.0; rows]),
        features: Matrix::Dense { width, values },
        columns: columns(header),
        ..Dataset::default()
    }
}

/// A value near the one given, sometimes far from it or missing.
fn moved(value: f32, may_miss: bool, random: &mut Random) -> f32 {
    let value = if value.is_finite() || may_miss { value } else { 0.0 };
    match random.below(20) {
        0 if may_miss => f32::NAN,
        1 => 0.0,
        2 => -value,
        3 => value * 10.0,
        4 => value + 1.0,
        5..10 => value * (0.5 + random.unit() as f32),
        _ => value,
    }
}

/// Which features may miss: those for which the transforms make a number of nothing.
fn filled(transforms: &Pipeline, columns: &[Column]) -> Vec<bool> {
    let width = columns.len();
    let mut nothing = Dataset {
        lists: Lists::from_lengths(&[1], vec![0.0]),
        features: Matrix::Dense { width, values: vec![f32::NAN; width] },
        columns: columns.to_vec(),
        ..Dataset::default()
    };
    match transforms.apply(&mut nothing) {
        Ok(()) => {
            let mut row = vec![0.0; nothing.features.width()];
            nothing.features.row_into(0, &mut row);
            row[..width].iter().map(|value| value.is_finite()).collect()
        }
        Err(_) => vec![false; width],
    }
}
