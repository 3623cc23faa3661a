//! **How do people look at models and judge rankings?** Pages of the server: plain HTML, CSS and JavaScript as files of this folder,
//! and the few requests that only these pages make.
//!
//! | page | what for | what it asks |
//! |---|---|---|
//! | `/judge` | judge items without knowing which run found them, by the keys 0 to 4 | `POST /judge` |
//! | `/compare` | the report of the runs, built again when a file changes | `/report`, `/report/version` |
//! | `/try` | edit features of a list, see scores, ranks and what each feature adds | `/example`, `/rank`, `/explain` |
//! | `/playground` | drag documents, see every metric under every preset and every gradient | `POST /playground` |
//!
//! Pages hold no text of anybody: names and documents come as JSON and are shown as text. The policy of the pages allows scripts and
//! styles of this server only, none inside of a page.

mod judge;
mod live;
mod playground;
mod try_out;

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use crate::endpoints::Parameters;
use crate::refusal::Refusal;
use crate::server::Shared;

pub use judge::{Judging, JudgingFiles};
pub use live::LiveReport;

/// What the pages of a server show beside its models.
#[derive(Default)]
pub struct Workbench {
    /// Runs to judge; `None`: the page says how to start it.
    pub judging: Option<Judging>,
    /// The report of `/compare`; `None`: the page says how to start it.
    pub report: Option<LiveReport>,
}

/// A file of this folder, the same for everybody.
pub(crate) struct Page {
    pub path: &'static str,
    pub kind: &'static str,
    pub text: &'static str,
}

pub(crate) const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const JSON: &str = "application/json";

/// Everything that is read with `GET` and needs no work.
pub(crate) const PAGES: &[Page] = &[
    Page { path: "/", kind: HTML, text: include_str!("pages/home.html") },
    Page { path: "/judge", kind: HTML, text: include_str!("pages/judge.html") },
    Page { path: "/compare", kind: HTML, text: include_str!("pages/compare.html") },
    Page { path: "/try", kind: HTML, text: include_str!("pages/try.html") },
    Page { path: "/playground", kind: HTML, text: include_str!("pages/playground.html") },
    Page { path: "/workbench.css", kind: CSS, text: include_str!("pages/workbench.css") },
    Page { path: "/workbench.js", kind: SCRIPT, text: include_str!("pages/workbench.js") },
    Page { path: "/home.js", kind: SCRIPT, text: include_str!("pages/home.js") },
    Page { path: "/judge.js", kind: SCRIPT, text: include_str!("pages/judge.js") },
    Page { path: "/compare.js", kind: SCRIPT, text: include_str!("pages/compare.js") },
    Page { path: "/try.js", kind: SCRIPT, text: include_str!("pages/try.js") },
    Page { path: "/playground.js", kind: SCRIPT, text: include_str!("pages/playground.js") },
    Page { path: "/login.js", kind: SCRIPT, text: include_str!("pages/login.js") },
];

/// What is shown instead of a page to somebody without the token.
pub(crate) const LOGIN: &str = include_str!("pages/login.html");

/// What a browser may do with a page.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; \
                                 base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The report brings its own policy along; no page but ours shows it.
pub(crate) const REPORT_POLICY: &str = "frame-ancestors 'self'";

impl Page {
    /// True of styles and scripts, which the login page needs, too: they are the same on every server.
    pub(crate) fn is_public(&self) -> bool {
        self.kind != HTML
    }
}

/// A request that a page makes.
pub(crate) struct Action {
    pub path: &'static str,
    pub method: Method,
    pub about: &'static str,
    /// The type of the answer.
    pub kind: &'static str,
    pub parameters: &'static [(&'static str, &'static str)],
    pub answer: fn(&Shared, &Parameters, &[u8]) -> Result<String, Refusal>,
    /// The JSON schema of the body of a `POST`.
    pub request: fn() -> Value,
}

/// All of them.
pub(crate) const ACTIONS: &[Action] = &[
    Action {
        path: "/judge",
        method: Method::POST,
        about: "Write a grade of a judge, and get the next item to judge",
        kind: JSON,
        parameters: &[],
        answer: judge::answer,
        request: judge::schema,
    },
    Action {
        path: "/report",
        method: Method::GET,
        about: "The report of the runs as one HTML page",
        kind: HTML,
        parameters: &[],
        answer: |shared, _, _| live::report(shared.workbench.report.as_ref()),
        request: || json!({}),
    },
    Action {
        path: "/report/version",
        method: Method::GET,
        about: "A text that changes when a file of the report changes",
        kind: JSON,
        parameters: &[],
        answer: |shared, _, _| live::version(shared.workbench.report.as_ref()),
        request: || json!({}),
    },
    Action {
        path: "/playground",
        method: Method::POST,
        about: "Metrics of a list under every preset, and the gradient of every objective",
        kind: JSON,
        parameters: &[],
        answer: |_, _, body| playground::answer(body),
        request: playground::schema,
    },
    Action {
        path: "/example",
        method: Method::GET,
        about: "The features of a ranker and a few rows of its self-test",
        kind: JSON,
        parameters: &[("model", "the ranker")],
        answer: try_out::answer,
        request: || json!({}),
    },
];

/// Takes a body and answers as far as it can.
pub(crate) type Reader = fn(&[u8]) -> Result<String, Refusal>;

/// What reads a body of a page, as far as it goes without a server.
pub(crate) fn readers() -> [Reader; 2] {
    [playground::answer, judge::check]
}

/// The answer where a page has nothing to show.
fn absent(what: &str, how: &str) -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, what, how)
}

/// What the pages get of a body that is no JSON of the expected form.
fn unreadable(error: &serde_json::Error) -> Refusal {
    let status = if error.is_data() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::BAD_REQUEST };
    // The parser repeats the name of an unknown field, however long it is.
    let found: String = error.to_string().chars().take(300).collect();
    Refusal::new(status, found, "the object that /openapi.json describes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_hold_no_script_of_their_own_and_ask_only_this_server() {
        for page in PAGES {
            for forbidden in
                ["http:", "https:", "innerHTML", "eval(", "document.write", "onclick=", "style=\""]
            {
                let text = page.text.replace("http://www.w3.org/2000/svg", "");
                assert!(!text.contains(forbidden), "{}: {forbidden}", page.path);
            }
            if page.kind == HTML {
                assert!(
                    page.text.contains("<html lang=\"en\">") && page.text.contains("<title>"),
                    "{}",
                    page.path
                );
                assert_eq!(
                    page.text.matches("<script").count(),
                    page.text.matches("<script src=\"/").count()
                );
                assert_eq!(page.text.matches("<style").count(), 0, "{}", page.path);
            }
        }
    }

    #[test]
    fn a_path_and_a_method_lead_to_one_thing() {
        let mut known: Vec<(&str, String)> =
            PAGES.iter().map(|page| (page.path, Method::GET.to_string())).collect();
        known.extend(ACTIONS.iter().map(|action| (action.path, action.method.to_string())));
        let all = known.len();
        known.sort();
        known.dedup();
        assert_eq!(known.len(), all);
    }
}
