//! `POST /rank`: scores of the items of a list, as `toprank predict --jsonl` gives them.

use serde_json::json;
use toprank::train::rank::json_list::{Refused, Scorer};

use super::{Endpoint, Parameters, Wrong, flag, misplaced, rows};
use crate::models::Loaded;

pub const ENDPOINT: Endpoint = Endpoint {
    path: "/rank",
    about: "Score the items of a list; the best one has the highest score",
    parameters: &[(
        "probability",
        "true: probabilities of being relevant instead of scores, of a calibrated model",
    )],
    fits: |loaded| matches!(loaded, Loaded::Ranker(..)),
    answer,
    request: rows,
    response: || {
        json!({
            "type": "object",
            "required": ["scores"],
            "properties": {
                "id": {"description": "that of the list"},
                "scores": {
                    "type": "array",
                    "description": "a score per row, in their order; of a model with several outputs a list of scores per row",
                    "items": {"oneOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}}]},
                },
            },
        })
    },
};

fn answer(loaded: &Loaded, parameters: &Parameters, text: &[u8]) -> Result<String, Wrong> {
    let Loaded::Ranker(model, reader) = loaded else { return Err(misplaced(loaded)) };
    let probability = flag(parameters, "probability")?;
    if probability && !model.gives_probabilities() {
        let expected = "a model that was trained with --folds or --valid";
        return Err(Refused::new("probability=true: the model is not calibrated", expected).into());
    }
    Ok(Scorer { model, reader, probability }.answer(text)?)
}
