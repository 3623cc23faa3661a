//! What models are asked: a table with one file per endpoint.

mod embed;
mod explain;
mod rank;
mod recommend;

use std::collections::BTreeMap;

use serde_json::Value;
use toprank::train::rank::json_list::Refused;

use crate::models::Loaded;
pub use crate::refusal::Wrong;

/// A thing that models can be asked with `POST`.
pub struct Endpoint {
    /// Its path.
    pub path: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Parameters of the query beside `model`: name and what it does.
    pub parameters: &'static [(&'static str, &'static str)],
    /// The models that answer it.
    pub fits: fn(&Loaded) -> bool,
    /// Answers one list.
    pub answer: fn(&Loaded, &Parameters, &[u8]) -> Result<String, Wrong>,
    /// The JSON schema of a list.
    pub request: fn() -> Value,
    /// The JSON schema of an answer.
    pub response: fn() -> Value,
}

/// All of them.
pub const ENDPOINTS: &[Endpoint] = &[rank::ENDPOINT, recommend::ENDPOINT, embed::ENDPOINT, explain::ENDPOINT];

/// The parameters of a query.
pub type Parameters = BTreeMap<String, String>;

/// A parameter that is true or false; false if it is not there.
fn flag(parameters: &Parameters, name: &str) -> Result<bool, Wrong> {
    match parameters.get(name).map(String::as_str) {
        None | Some("false") => Ok(false),
        Some("true" | "") => Ok(true),
        Some(other) => {
            let found: String = other.chars().take(100).collect();
            Err(Refused::new(format!("{name}={found}"), "true or false").into())
        }
    }
}

/// A model of another kind than the endpoint's, which the server does not hand to it.
fn misplaced(loaded: &Loaded) -> Wrong {
    Wrong::Said(format!("request: a {} does not answer this", loaded.kind().name()))
}

/// The schema of the rows of a list.
fn rows() -> Value {
    serde_json::json!({
        "type": "object",
        "required": ["features"],
        "properties": {
            "id": {"description": "given back in the answer"},
            "features": {
                "type": "array",
                "description": "a row per item: features in the order of the model, or by name; null or an omitted name is missing",
                "items": {"oneOf": [
                    {"type": "array", "items": {"type": ["number", "null"]}},
                    {"type": "object", "additionalProperties": {"type": ["number", "null"]}},
                ]},
            },
        },
        "example": {"id": 7, "features": [[0.1, 2], [0.3, null]]},
    })
}
