//! What a request is answered that is not served: a status and a sentence, as JSON.

use hyper::StatusCode;
use serde_json::Value;
use toprank::data::ReadError;
use toprank::train::rank::json_list::{Refused, answer_of};

/// Why a request is not served.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub status: StatusCode,
    pub message: String,
    /// The list that it is about.
    pub id: Option<Box<Value>>,
    /// A header that the status asks for.
    pub header: Option<(hyper::header::HeaderName, &'static str)>,
}

impl Refusal {
    /// In the words of every other error: what was found; what was expected.
    pub fn new(status: StatusCode, found: impl AsRef<str>, expected: impl AsRef<str>) -> Refusal {
        let message = ReadError::data("request", found, expected).to_string();
        Refusal { status, message, id: None, header: None }
    }

    #[must_use]
    pub fn with(self, name: hyper::header::HeaderName, value: &'static str) -> Refusal {
        Refusal { header: Some((name, value)), ..self }
    }

    /// The body of the answer.
    pub fn json(self) -> String {
        answer_of(self.id.map(|id| *id), "error", self.message.into())
    }
}

/// Why one list is not answered.
#[derive(Clone, Debug)]
pub enum Wrong {
    /// What was found in it, what was expected.
    List(Refused),
    /// A whole sentence of the library.
    Said(String),
}

impl From<Refused> for Wrong {
    fn from(refused: Refused) -> Wrong {
        Wrong::List(refused)
    }
}

impl Wrong {
    /// The sentence, with the line of the list where there are several.
    pub fn message(&self, line: Option<u64>) -> String {
        match self {
            Wrong::List(refused) => {
                let error = ReadError::data("request", &refused.found, &refused.expected);
                match line {
                    Some(line) => error.at_line(line).to_string(),
                    None => error.to_string(),
                }
            }
            Wrong::Said(message) => message.clone(),
        }
    }

    /// Text that is not JSON is a bad request; else it is JSON that cannot be answered.
    pub fn status(&self) -> StatusCode {
        match self {
            Wrong::List(refused) if refused.malformed => StatusCode::BAD_REQUEST,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        }
    }
}
