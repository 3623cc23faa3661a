/*!
Trained models exported to ONNX, and verified before a file is written.

```text
features as they were read: float[rows, width]  →  transforms  →  network  →  scores: double[rows, outputs]
```

Models of graphs and recommenders have inputs of their own (`graphs.rs`, `recommender.rs`).

Transforms are part of what is written, in double precision and rounded to single after every step, as they are here. Where a
model or a transform looks at whole lists, a run takes the items of one list. Scores are raw, before any calibration.

The bytes are read back by [`toprank_onnx::Program`], which knows nothing of the model, and must give its scores on rows that
are made for it from the rows of its self-test: values mixed among rows, moved, left out where the transforms fill them.
*/

mod graphs;
mod recommender;
#[cfg(all(test, feature = "neural"))]
mod tests;
mod transforms;

use toprank_core::stream::Random;
use toprank_core::{Differentiable, Features, Lists, ModelError, Stream};
use toprank_data::transform::Pipeline;
use toprank_data::{Column, Dataset, Matrix};
use toprank_onnx::{Array, Attribute, Graph, Kind, Program, Value};

use crate::embed::{Embedder, Similarity};
use crate::error::TrainError;
use crate::rank::auto::parts::{Affine, Blend};
use crate::rank::scoring::Scoring;
use crate::store::model_file::Model;

pub use graphs::{GraphRun, WrittenGraphs, write_graphs};
pub use recommender::{RecommenderFile, WrittenRecommender, recommender};

/// What scores may differ by, relative to the largest: both sides round to single precision, each in its own order.
pub const TOLERANCE: f64 = 1e-5;
/// Items of a list among the rows that a model is proved on, at most.
const LONGEST: usize = 24;

/// An exported model with the rows it was proved on.
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

/// Writes a network with its transforms and proves it on `rows` rows; the same rows for the same model. One that was trained over
/// classes gives their probabilities beside the scores.
///
/// # Errors
/// If the model is no network of feature rows, or what was written gives other scores.
pub fn write(model: &Model, rows: usize) -> Result<Written, TrainError> {
    let header = model.header();
    if header.graphs.is_some() {
        return Err(ModelError::new("a model of graphs", "a model of feature rows").into());
    }
    let list_by_list = model.looks_at_lists();
    let columns = header.columns();
    let mut graph = Graph::default();
    let features = graph.input("features", Kind::Float, &[None, Some(header.width)]);
    let ready = transforms::export(&header.transforms, &categories(&columns), &mut graph, &features);
    let scores = match model.scoring() {
        Scoring::Network(model, parameters) => {
            network(header.config.model(), &**model, parameters, &mut graph, &ready)?
        }
        Scoring::Blend(parts) => blend(parts, &categories(&columns), &mut graph, &features)?,
        Scoring::Trees(_) => {
            return Err(
                ModelError::new("a model of trees", "a network; trees have a form of their own").into()
            );
        }
    };
    graph.output("scores", &scores, Kind::Double, &[None, Some(header.outputs)]);
    if model.is_multiclass() {
        let probabilities = graph.node("Softmax", &[&scores], &[Attribute::Int("axis", -1)]);
        graph.output("probabilities", &probabilities, Kind::Double, &[None, Some(header.outputs)]);
    }
    let about = if list_by_list { "one list at a time" } else { "any rows" };
    let names = header.features.join(" ");
    let bytes =
        graph.write("toprank", &[("features", &names), ("model", header.config.model()), ("rows", about)]);

    let rows = probes(columns, &header.transforms, model.probes(), rows.max(1), list_by_list);
    let scores = all_scores(header.outputs, &rows, |rows| model.score(rows))?;
    prove(bytes, "scores", rows, scores, list_by_list)
}

/// The sum of the parts of a blend, each behind its transforms and on its scale.
fn blend(
    blend: &Blend,
    categories: &[bool],
    graph: &mut Graph,
    features: &Value,
) -> Result<Value, TrainError> {
    let mut sum: Option<Value> = None;
    for part in blend.parts() {
        let ready = transforms::export(&part.transforms, categories, graph, features);
        let scores = match &part.scoring {
            Scoring::Network(model, parameters) => network(&part.model, &**model, parameters, graph, &ready)?,
            Scoring::Trees(_) | Scoring::Blend(_) => {
                let expected = "trees alone, which have a form of their own, or networks alone: name such members with --members";
                return Err(ModelError::new("a blend of trees and networks", expected).into());
            }
        };
        let scores = graph.cast(&scores, Kind::Double);
        let column = |of: fn(&Affine) -> f64| part.scale.iter().map(of).collect::<Vec<f64>>();
        let (shift, factor) = (column(|affine| affine.shift), column(|affine| affine.factor));
        let (shift, factor) =
            (graph.doubles(&[shift.len()], &shift), graph.doubles(&[factor.len()], &factor));
        let centred = graph.node("Sub", &[&scores, &shift], &[]);
        let scaled = graph.node("Mul", &[&centred, &factor], &[]);
        sum = Some(match sum {
            None => scaled,
            Some(sum) => graph.node("Add", &[&sum, &scaled], &[]),
        });
    }
    sum.ok_or_else(|| ModelError::new("a blend of nothing", "at least one part").into())
}

/// Writes an embedding with its transforms and proves it on `rows` rows: `scores` of the result are the vectors, one after the
/// other.
///
/// # Errors
/// If what was written gives other vectors.
pub fn write_embedding(embedder: &Embedder, rows: usize) -> Result<Written, TrainError> {
    let header = embedder.header();
    let column = |name: &String| Column { name: name.clone(), levels: None };
    let columns: Vec<Column> = match header.features.len() == header.width {
        true => header.features.iter().map(column).collect(),
        false => (0..header.width).map(|f| column(&format!("f{f}"))).collect(),
    };
    let mut graph = Graph::default();
    let features = graph.input("features", Kind::Float, &[None, Some(header.width)]);
    let ready = transforms::export(&header.transforms, &categories(&columns), &mut graph, &features);
    let (model, parameters) = embedder.network();
    let z = network(header.config.model(), model, parameters, &mut graph, &ready)?;
    let vector = match embedder.similarity() {
        Similarity::Cosine => unit(&mut graph, &z),
        Similarity::Euclidean => graph.cast(&z, Kind::Float),
    };
    let dimensions = header.config.dimensions() as usize;
    graph.output("vector", &vector, Kind::Float, &[None, Some(dimensions)]);
    let names = header.features.join(" ");
    let bytes = graph.write("toprank", &[("features", &names), ("model", header.config.model())]);

    let rows = probes(columns, &header.transforms, embedder.probes(), rows.max(1), false);
    let vectors = embedder.embed("the probe rows", rows.clone(), 0.0)?;
    prove(bytes, "vector", rows, vectors.values.into_iter().map(f64::from).collect(), false)
}

/// Rows of length 1; a row of zeros has no direction and stays.
fn unit(graph: &mut Graph, z: &Value) -> Value {
    let squares = graph.node("Mul", &[z, z], &[]);
    let numbers = graph.ints(&[1]);
    let sum = graph.node("ReduceSum", &[&squares, &numbers], &[Attribute::Int("keepdims", 1)]);
    let length = graph.node("Sqrt", &[&sum], &[]);
    let (least, zero) = (graph.doubles(&[1], &[crate::embed::LEAST]), graph.doubles(&[1], &[0.0]));
    let points = graph.node("Less", &[&least, &length], &[]);
    let scaled = graph.node("Div", &[z, &length], &[]);
    let vector = graph.node("Where", &[&points, &scaled, &zero], &[]);
    graph.cast(&vector, Kind::Float)
}

/// Reads the bytes back and compares what they say of the rows with what the model says.
fn prove(
    bytes: Vec<u8>,
    output: &str,
    rows: Dataset,
    scores: Vec<f64>,
    list_by_list: bool,
) -> Result<Written, TrainError> {
    let width = rows.features.width();
    let program = Program::read(&bytes)?;
    let mut found = Vec::with_capacity(scores.len());
    for list in 0..rows.lists.len() {
        let range = rows.lists.range(list);
        let mut values = vec![0.0; range.len() * width];
        rows.features.gather(&range.clone().map(|row| row as u32).collect::<Vec<_>>(), &mut values);
        let values = values.into_iter().map(f64::from).collect();
        let outputs = program.run(&[("features", Array::new(&[range.len(), width], values))])?;
        found.extend_from_slice(&outputs[output].values);
    }
    let parity = Parity::of(&found, &scores)?;
    Ok(Written { bytes, rows, scores, parity, list_by_list })
}

#[cfg(feature = "neural")]
fn network(
    text: &str,
    model: &dyn Differentiable,
    parameters: &[f32],
    graph: &mut Graph,
    rows: &Value,
) -> Result<Value, TrainError> {
    let shape = (model.width(), model.outputs());
    Ok(toprank_neural::onnx::export(text, shape, parameters, graph, rows)?)
}

#[cfg(not(feature = "neural"))]
fn network(
    _: &str,
    _: &dyn Differentiable,
    _: &[f32],
    _: &mut Graph,
    _: &Value,
) -> Result<Value, TrainError> {
    Err(without_networks())
}

#[cfg(not(feature = "neural"))]
fn without_networks() -> TrainError {
    ModelError::new("a build without networks", "one with the feature `neural`").into()
}

/// Every output of every row.
fn all_scores(
    outputs: usize,
    rows: &Dataset,
    score: impl Fn(Dataset) -> Result<Vec<f64>, TrainError>,
) -> Result<Vec<f64>, TrainError> {
    if outputs == 1 {
        return score(rows.clone());
    }
    // One list per output over the same rows.
    let count = rows.rows();
    let mut scores = vec![0.0; count * outputs];
    for output in 0..outputs {
        let lists = Lists { output: Some(vec![output as u16; rows.lists.len()]), ..rows.lists.clone() };
        let of_output = score(Dataset { lists, ..rows.clone() })?;
        of_output.iter().enumerate().for_each(|(row, score)| scores[row * outputs + output] = *score);
    }
    Ok(scores)
}

/// Which features hold categories.
fn categories(columns: &[Column]) -> Vec<bool> {
    columns.iter().map(|column| column.levels.is_some()).collect()
}

/// Rows made from those of the self-test.
fn probes(
    columns: Vec<Column>,
    transforms: &Pipeline,
    known: &[f32],
    rows: usize,
    list_by_list: bool,
) -> Dataset {
    let width = columns.len();
    let mut random = Stream::new(0, "rows to prove a model on").open();
    let fills = filled(transforms, &columns);
    let categories = categories(&columns);
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
        columns,
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
