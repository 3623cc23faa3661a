//! `POST /recommend`: the best unseen items of a user, as `toprank recommend top` gives them.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toprank::core::text::visible_json;
use toprank::train::rank::json_list::Refused;

use super::{Endpoint, Parameters, Wrong, misplaced};
use crate::models::Loaded;

/// Items of one answer at most.
const MOST_ITEMS: usize = 1000;

pub const ENDPOINT: Endpoint = Endpoint {
    path: "/recommend",
    about: "The best items for a user of the training data, or for somebody new by their history",
    parameters: &[],
    fits: |loaded| matches!(loaded, Loaded::Recommender(_)),
    answer,
    request: || {
        json!({
            "type": "object",
            "properties": {
                "user": {"type": ["string", "integer"], "description": "name of a user of the training data"},
                "history": {
                    "type": "array",
                    "description": "instead of user: items of somebody new, oldest first",
                    "items": {"type": ["string", "integer"]},
                },
                "k": {"type": "integer", "minimum": 1, "maximum": MOST_ITEMS, "default": 10},
                "id": {"description": "given back in the answer"},
            },
            "example": {"user": "196", "k": 10},
        })
    },
    response: || {
        json!({
            "type": "object",
            "required": ["items", "by_popularity"],
            "properties": {
                "id": {"description": "that of the list"},
                "user": {"type": "string"},
                "items": {
                    "type": "array",
                    "description": "the best first",
                    "items": {
                        "type": "object",
                        "required": ["item", "score"],
                        "properties": {"item": {"type": "string"}, "score": {"type": "number"}},
                    },
                },
                "by_popularity": {
                    "type": "boolean",
                    "description": "true without history: the most popular items, their scores are numbers of interactions",
                },
            },
        })
    },
};

/// A name, which may look like a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Signed(i64),
    Unsigned(u64),
}

impl Name {
    fn text(self) -> String {
        match self {
            Name::Text(text) => text,
            Name::Signed(number) => number.to_string(),
            Name::Unsigned(number) => number.to_string(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    id: Option<Value>,
    user: Option<Name>,
    history: Option<Vec<Name>>,
    k: Option<usize>,
}

fn answer(loaded: &Loaded, _: &Parameters, text: &[u8]) -> Result<String, Wrong> {
    let Loaded::Recommender(recommender) = loaded else { return Err(misplaced(loaded)) };
    let expected = "{\"user\": …} or {\"history\": […]}, and \"k\" if it is not 10";
    let asked: Asked = serde_json::from_slice(text).map_err(|error| Refused::by_parser(&error, expected))?;
    let k = asked.k.unwrap_or(10);
    if !(1..=MOST_ITEMS).contains(&k) {
        return Err(Refused::new(format!("k of {k}"), format!("1 to {MOST_ITEMS}")).into());
    }
    let (user, top) = match (asked.user, asked.history) {
        (Some(user), None) => {
            let user = user.text();
            let top = recommender.top(&user, k).map_err(|error| Wrong::Said(error.to_string()))?;
            (Some(user), top)
        }
        (None, Some(history)) => {
            let history: Vec<String> = history.into_iter().map(Name::text).collect();
            let history: Vec<&str> = history.iter().map(String::as_str).collect();
            let top = recommender.top_of_history(&history, k);
            (None, top.map_err(|error| Wrong::Said(error.to_string()))?)
        }
        (Some(_), Some(_)) => return Err(Refused::new("both user and history", expected).into()),
        (None, None) => return Err(Refused::new("neither user nor history", expected).into()),
    };
    let items: Vec<Value> =
        top.items.iter().map(|best| json!({"item": best.item, "score": best.score})).collect();
    let mut answer = Map::new();
    answer.extend(asked.id.map(|id| ("id".to_string(), id)));
    answer.extend(user.map(|user| ("user".to_string(), user.into())));
    answer.insert("items".into(), items.into());
    answer.insert("by_popularity".into(), top.by_popularity.into());
    Ok(visible_json(&Value::Object(answer).to_string()))
}
