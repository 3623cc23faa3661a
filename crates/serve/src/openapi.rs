//! The description of the server, made from the table of endpoints.

use hyper::Method;
use serde_json::{Map, Value, json};

use crate::endpoints::ENDPOINTS;
use crate::models::Models;
use crate::workbench::ACTIONS;

/// What is read with `GET`: path, content, what it is.
pub const FACTS: [(&str, &str, &str); 3] = [
    ("/health", "application/json", "The models that answer"),
    ("/metrics", "text/plain", "Counters and times in the text format of Prometheus"),
    ("/openapi.json", "application/json", "This description"),
];

/// Statuses of refusals, and what they mean.
const REFUSALS: [(&str, &str); 10] = [
    ("400", "The body is not JSON, or a parameter is unknown"),
    ("401", "No token, or another one"),
    ("403", "A page of another site asks"),
    ("404", "No such model"),
    ("408", "The body did not come in time"),
    ("413", "The body is larger than allowed"),
    ("421", "A host of another name, without a token"),
    ("422", "JSON that the model cannot answer"),
    ("500", "A bug of toprank: please report it"),
    ("503", "No answer in time: the server is busy, or the list is large"),
];

/// The description in the format OpenAPI 3.1.
pub fn describe(models: &Models, has_token: bool) -> Value {
    let error = json!({
        "type": "object", "required": ["error"],
        "properties": {"error": {"type": "string"}, "id": {"description": "that of the list"}},
    });
    let mut paths = Map::new();
    for endpoint in ENDPOINTS {
        let fitting = models.slots.iter().filter(|slot| (endpoint.fits)(&slot.current()));
        let names: Vec<&str> = fitting.map(|slot| slot.name.as_str()).collect();
        if names.is_empty() {
            continue;
        }
        let mut parameters = vec![json!({
            "name": "model", "in": "query", "required": names.len() > 1,
            "schema": {"type": "string", "enum": names}, "description": "the model that answers",
        })];
        parameters.extend(endpoint.parameters.iter().map(|(name, about)| {
            json!({"name": name, "in": "query", "schema": {"type": "boolean"}, "description": about})
        }));
        let (request, response) = ((endpoint.request)(), (endpoint.response)());
        let mut responses = Map::new();
        responses.insert(
            "200".into(),
            json!({
                "description": "The answer; to several lines an answer per line, of which some may be errors",
                "content": {"application/json": {"schema": response}, "application/x-ndjson": {"schema": {"type": "string"}}},
            }),
        );
        for (status, about) in REFUSALS.iter().filter(|(status, _)| has_token || *status != "401") {
            let content = json!({"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}});
            responses.insert((*status).into(), json!({"description": about, "content": content}));
        }
        let operation = json!({
            "summary": endpoint.about,
            "operationId": endpoint.path.trim_start_matches('/'),
            "parameters": parameters,
            "requestBody": {"required": true, "content": {
                "application/json": {"schema": request},
                "application/x-ndjson": {"schema": {"type": "string", "description": "one such object per line"}},
            }},
            "responses": responses,
        });
        paths.insert(endpoint.path.into(), json!({"post": operation}));
    }
    for (path, kind, about) in FACTS {
        let mut operation = json!({
            "summary": about, "operationId": path.trim_start_matches('/').trim_end_matches(".json"),
            "responses": {"200": {"description": about, "content": {kind: {}}}},
        });
        if path == "/health" {
            operation["security"] = json!([]);
        }
        paths.insert(path.into(), json!({"get": operation}));
    }
    for action in ACTIONS {
        let mut operation = json!({
            "summary": action.about,
            "operationId": format!("workbench{}", action.path.replace('/', "_")),
            "parameters": action.parameters.iter().map(|(name, about)| {
                json!({"name": name, "in": "query", "schema": {"type": "string"}, "description": about})
            }).collect::<Vec<_>>(),
            "responses": {"200": {"description": action.about, "content": {action.kind: {}}}},
        });
        if action.method == Method::POST {
            let schema = (action.request)();
            operation["requestBody"] =
                json!({"required": true, "content": {"application/json": {"schema": schema}}});
        }
        let method = action.method.as_str().to_ascii_lowercase();
        paths.insert(action.path.into(), json!({method: operation}));
    }
    let mut described = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "toprank serve",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Models of toprank. A body is one JSON object, or one per line; each line is answered by a line.",
        },
        "paths": paths,
        "components": {"schemas": {"Error": error}},
    });
    if has_token {
        described["components"]["securitySchemes"] = json!({"token": {"type": "http", "scheme": "bearer"}});
        described["security"] = json!([{"token": []}]);
    }
    described
}
