//! `POST /explain`: what each feature adds to a score, as `toprank explain --shap` gives it.

use serde::Serialize;
use serde_json::{Value, json};
use toprank::train::TrainError;
use toprank::train::rank::json_list::{self, Refused};
use toprank::train::rank::predict::as_seen;
use toprank::trees::explain::{Cover, Shap};

use super::embed::written;
use super::{Endpoint, Parameters, Wrong, misplaced, rows};
use crate::models::Loaded;

pub const ENDPOINT: Endpoint = Endpoint {
    path: "/explain",
    about: "What each feature adds to each score of a model of trees, compared with the other rows of the list (exact tree SHAP)",
    parameters: &[],
    fits: |loaded| matches!(loaded, Loaded::Ranker(..)),
    answer,
    request: rows,
    response: || {
        json!({
            "type": "object",
            "required": ["features", "expected", "scores", "contributions"],
            "properties": {
                "id": {"description": "that of the list"},
                "features": {"type": "array", "items": {"type": "string"}, "description": "names, in the order of the contributions"},
                "expected": {
                    "type": "array", "items": {"type": "number"},
                    "description": "for each output the mean score of the rows of this list",
                },
                "scores": {
                    "type": "array", "items": {"type": "array", "items": {"type": "number"}},
                    "description": "of each row a score per output: expected plus the sum of its contributions",
                },
                "contributions": {
                    "type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
                    "description": "of each row, for each output, a number per feature",
                },
            },
        })
    },
};

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Value>,
    features: Vec<String>,
    expected: &'a [f64],
    scores: Vec<&'a [f64]>,
    contributions: Vec<Vec<&'a [f64]>>,
}

fn answer(loaded: &Loaded, _: &Parameters, text: &[u8]) -> Result<String, Wrong> {
    let Loaded::Ranker(model, reader) = loaded else { return Err(misplaced(loaded)) };
    let header = model.header();
    let trees = model.scoring().trees().ok_or_else(|| {
        let found = format!("a model of the kind {}", header.config.model());
        Refused::new(found, "one that was trained with --model trees")
    })?;
    let ensemble = trees.ensemble();
    let list = reader.read(text)?;
    let (rows, outputs) = (list.values.len() / reader.width().max(1), ensemble.outputs);
    reader.allow(rows.saturating_mul(ensemble.width).saturating_mul(outputs))?;
    let names = (0..ensemble.width).map(|feature| {
        header.features.get(feature).cloned().unwrap_or_else(|| format!("feature {}", feature + 1))
    });
    let names: Vec<String> = names.collect();
    if rows == 0 {
        let nothing =
            Answer { id: list.id, features: names, expected: &[], scores: vec![], contributions: vec![] };
        return written(&nothing);
    }
    let data = reader.dataset(&header.features, list.values, 1);
    let wrong = |error: TrainError| Wrong::from(json_list::refused(error));
    let data = as_seen(model, "request", data, f32::NAN).map_err(wrong)?;
    let failed = |error| wrong(TrainError::Model(error));
    let cover = Cover::count(ensemble, &data.features).map_err(failed)?;
    let explained =
        Shap::new(ensemble, &cover).and_then(|shap| shap.explain(&data.features)).map_err(failed)?;
    let scores = ensemble.score(&data.features).map_err(failed)?;
    let contributions =
        (0..rows).map(|row| (0..outputs).map(|output| explained.of(row, output)).collect()).collect();
    written(&Answer {
        id: list.id,
        features: names,
        expected: &explained.expected,
        scores: scores.chunks_exact(outputs.max(1)).collect(),
        contributions,
    })
}
