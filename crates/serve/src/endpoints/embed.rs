//! `POST /embed`: vectors of rows, as `toprank embed apply` gives them.

use serde::Serialize;
use serde_json::{Value, json};
use toprank::core::text::visible_json;
use toprank::train::rank::json_list;

use super::{Endpoint, Parameters, Wrong, misplaced, rows};
use crate::models::Loaded;

pub const ENDPOINT: Endpoint = Endpoint {
    path: "/embed",
    about: "The vectors of rows",
    parameters: &[],
    fits: |loaded| matches!(loaded, Loaded::Embedding(..)),
    answer,
    request: rows,
    response: || {
        json!({
            "type": "object",
            "required": ["vectors"],
            "properties": {
                "id": {"description": "that of the list"},
                "vectors": {
                    "type": "array",
                    "description": "a vector per row, in their order",
                    "items": {"type": "array", "items": {"type": "number"}},
                },
            },
        })
    },
};

/// Numbers are written as the floats they are, not as trees of values.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Value>,
    vectors: Vec<&'a [f32]>,
}

fn answer(loaded: &Loaded, _: &Parameters, text: &[u8]) -> Result<String, Wrong> {
    let Loaded::Embedding(embedder, reader) = loaded else { return Err(misplaced(loaded)) };
    let list = reader.read(text)?;
    let header = embedder.header();
    let rows = list.values.len() / reader.width().max(1);
    reader.allow(rows.saturating_mul(header.config.dimensions() as usize))?;
    let data = reader.dataset(&header.features, list.values, 1);
    let vectors = match rows {
        0 => None,
        _ => Some(embedder.embed("request", data, f32::NAN).map_err(json_list::refused)?),
    };
    let vectors = vectors.iter().flat_map(|vectors| vectors.values.chunks_exact(vectors.width.max(1)));
    written(&Answer { id: list.id, vectors: vectors.collect() })
}

/// An answer as text.
pub fn written(answer: &impl Serialize) -> Result<String, Wrong> {
    let text = serde_json::to_string(answer).map_err(|error| Wrong::Said(format!("request: {error}")))?;
    Ok(visible_json(&text))
}
