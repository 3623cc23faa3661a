//! `GET /example`: what the page `/try` begins with.

use hyper::StatusCode;
use serde_json::{Value, json};
use toprank::core::text::visible_json;

use crate::endpoints::Parameters;
use crate::models::Loaded;
use crate::refusal::Refusal;
use crate::server::Shared;

/// Rows of the example at most: they are columns of the page.
const ROWS: usize = 6;

pub(super) fn answer(shared: &Shared, parameters: &Parameters, _: &[u8]) -> Result<String, Refusal> {
    let name = parameters.get("model").map(String::as_str);
    let loaded = shared.models.find(name, |loaded| matches!(loaded, Loaded::Ranker(..)));
    let loaded = loaded.map_err(|(exists, message)| {
        let status = if exists { StatusCode::BAD_REQUEST } else { StatusCode::NOT_FOUND };
        Refusal { status, message: format!("request: {message}"), id: None, header: None }
    })?;
    let Loaded::Ranker(model, reader) = &*loaded else {
        return Err(Refusal::new(StatusCode::NOT_FOUND, "no ranker", "a model that scores rows of features"));
    };
    let (header, width) = (model.header(), reader.width());
    let feature = |f: usize| header.features.get(f).cloned().unwrap_or_else(|| format!("feature {}", f + 1));
    let features: Vec<String> = (0..width).map(feature).collect();
    // The shortest number that reads back as the same one: 0.11, not 0.10999999940395355.
    let number = |value: &f32| value.to_string().parse().map_or(Value::Null, |value: f64| json!(value));
    let rows = model.probes().chunks_exact(width.max(1)).take(ROWS);
    let mut rows: Vec<Vec<Value>> = rows.map(|row| row.iter().map(number).collect()).collect();
    if rows.is_empty() {
        rows = vec![vec![json!(0); width]; 2];
    }
    let answer = json!({
        "features": features, "rows": rows, "explains": loaded.explains(),
        "probability": model.gives_probabilities(), "outputs": header.outputs.max(1),
    });
    Ok(visible_json(&answer.to_string()) + "\n")
}
