//! One list per line, as JSON, in a pipe.

use std::collections::HashMap;
use std::io::Write;

use serde::Deserialize;
use serde_json::{Map, Value};
use toprank::core::Lists;
use toprank::data::lines::Lines;
use toprank::data::{Column, Dataset, Matrix, Source};
use toprank::train::{Model, TrainError};

use crate::failure::Failure;
use crate::terminal::json_text;

/// A usual line: plain rows of numbers.
#[derive(Deserialize)]
struct Plain {
    id: Option<Value>,
    features: Vec<Vec<Option<f64>>>,
}

/// A line with names, or an invalid one that needs an error message.
#[derive(Deserialize)]
struct Any {
    id: Option<Value>,
    features: Vec<Value>,
}

const NOT_CALIBRATED: &str =
    "--probability: the model is not calibrated; expected one that was trained with --folds or --valid";

/// What is wrong with a line: what was found, what was expected.
type Wrong = (String, String);

/// Answers every line of standard input, with probabilities if they are wanted. A line that cannot be scored is answered with
/// what is wrong with it, and the next one is served; `strict`: it ends the command.
pub fn answer(model: &Model, probability: bool, strict: bool) -> Result<(), Failure> {
    if probability && !model.gives_probabilities() {
        return Err(Failure::usage(NOT_CALIBRATED));
    }
    let mut lines = Lines::open(&Source::path("-"))?;
    let mut out = std::io::stdout().lock();
    let places: HashMap<&str, usize> =
        model.header().features.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
    while let Some(line) = lines.next_line()? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = rows(line, model.header().width, &places).and_then(|(id, values)| {
            let scores = scores(model, values, probability)?;
            respond(id, scores, model.header().outputs)
        });
        let id = answer.is_err().then(|| id_of(line)).flatten();
        let answer = match answer {
            Ok(answer) => answer,
            Err((found, expected)) => {
                let error = lines.error(found, expected);
                if strict {
                    return Err(error.into());
                }
                line_of(id, "error", error.to_string().into())
            }
        };
        // The other side may wait for this answer before it sends the next line.
        out.write_all(answer.as_bytes())
            .and_then(|()| out.flush())
            .map_err(|error| Failure::file("standard output", &error))?;
    }
    Ok(())
}

/// The id and the numbers of a line, row after row.
fn rows(
    line: &[u8],
    width: usize,
    places: &HashMap<&str, usize>,
) -> Result<(Option<Value>, Vec<f32>), Wrong> {
    let mut values = Vec::new();
    if let Ok(Plain { id, features }) = serde_json::from_slice(line) {
        for (item, row) in features.iter().enumerate() {
            check_width(item, row.len(), width)?;
            for value in row {
                values.push(value.map_or(Ok(f32::NAN), |value| number(item, value))?);
            }
        }
        return Ok((id, values));
    }
    let expected = || "{\"id\": …, \"features\": [[…], …]}".to_string();
    // A line of the input is the first line for the parser.
    let found = |error: serde_json::Error| error.to_string().replace(" at line 1 column ", " at column ");
    let Any { id, features } = serde_json::from_slice(line).map_err(|error| (found(error), expected()))?;
    for (item, row) in features.iter().enumerate() {
        match row {
            Value::Array(row) => {
                check_width(item, row.len(), width)?;
                for value in row {
                    values.push(cell(item, value)?);
                }
            }
            Value::Object(row) => named(item, row, width, places, &mut values)?,
            other => {
                return Err((format!("item {} as {other}", item + 1), "its features in [] or {}".into()));
            }
        }
    }
    Ok((id, values))
}

fn named(
    item: usize,
    row: &Map<String, Value>,
    width: usize,
    places: &HashMap<&str, usize>,
    values: &mut Vec<f32>,
) -> Result<(), Wrong> {
    let start = values.len();
    values.resize(start + width, f32::NAN);
    for (name, value) in row {
        let Some(place) = places.get(name.as_str()) else {
            let names = places.keys().copied().collect::<std::collections::BTreeSet<_>>();
            let found = format!("feature {name:?} of item {}", item + 1);
            let known = toprank::data::error::show_names(names);
            return Err((found, format!("features of the model: {known}")));
        };
        values[start + place] = cell(item, value)?;
    }
    Ok(())
}

fn check_width(item: usize, found: usize, width: usize) -> Result<(), Wrong> {
    match found == width {
        true => Ok(()),
        false => {
            Err((format!("{found} features of item {}", item + 1), format!("{width}, as the model has")))
        }
    }
}

fn cell(item: usize, value: &Value) -> Result<f32, Wrong> {
    match value {
        Value::Null => Ok(f32::NAN),
        Value::Number(value) => number(item, value.as_f64().unwrap_or(f64::NAN)),
        other => Err((format!("{other} in item {}", item + 1), "a number, or null if it is missing".into())),
    }
}

fn number(item: usize, value: f64) -> Result<f32, Wrong> {
    match value as f32 {
        small if small.is_finite() => Ok(small),
        _ => Err((format!("{value:?} in item {}", item + 1), "a number below 3.4e38".into())),
    }
}

/// Scores (or probabilities) of one list, output after output.
fn scores(model: &Model, values: Vec<f32>, probability: bool) -> Result<Vec<f64>, Wrong> {
    let header = model.header();
    let (width, outputs) = (header.width, header.outputs);
    let items = values.len().checked_div(width).unwrap_or(0);
    if items == 0 {
        return Ok(Vec::new());
    }
    let lists = match outputs {
        1 => Lists::from_lengths(&[items], vec![f32::NAN; items]),
        _ => Lists {
            rows: Some((0..outputs).flat_map(|_| 0..items as u32).collect()),
            output: Some((0..outputs as u16).collect()),
            ..Lists::from_lengths(&vec![items; outputs], vec![f32::NAN; items * outputs])
        },
    };
    let columns = header.features.iter().map(|name| Column { name: name.clone(), levels: None }).collect();
    let of = lists.clone();
    let data = Dataset { lists, features: Matrix::Dense { width, values }, columns, ..Dataset::default() };
    let mut scores = model.score(data).map_err(|error| match error {
        TrainError::Model(error) => (error.what, error.expected),
        other => (other.to_string(), "a list that the model can score".into()),
    })?;
    if probability {
        model.to_probabilities(&of, &mut scores);
    }
    Ok(scores)
}

/// The answer as a line.
fn respond(id: Option<Value>, scores: Vec<f64>, outputs: usize) -> Result<String, Wrong> {
    let items = scores.len() / outputs.max(1);
    if let Some(place) = scores.iter().position(|score| !score.is_finite()) {
        let found = format!("item {} with the score {}", place % items.max(1) + 1, scores[place]);
        return Err((found, "features that give a finite score".into()));
    }
    let scores: Value = match outputs {
        1 => scores.into(),
        _ => (0..items)
            .map(|item| (0..outputs).map(|output| scores[output * items + item]).collect::<Vec<f64>>())
            .collect(),
    };
    Ok(line_of(id, "scores", scores))
}

/// An answer: the id of its line, if it has one, and what there is to say.
fn line_of(id: Option<Value>, name: &str, value: Value) -> String {
    let id = id.map(|id| ("id".to_string(), id));
    let answer: Map<String, Value> = id.into_iter().chain([(name.to_string(), value)]).collect();
    json_text(&Value::Object(answer).to_string()) + "\n"
}

/// The id of a line that cannot be scored, so that its sender knows which one it was.
fn id_of(line: &[u8]) -> Option<Value> {
    match serde_json::from_slice(line) {
        Ok(Value::Object(mut line)) => line.remove("id"),
        _ => None,
    }
}
