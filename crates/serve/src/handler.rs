//! One request: who asks, what for, how much; then the answer of a model.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::timeout_at;
use toprank::core::catalog;
use toprank::core::text::visible_json;
use toprank::train::rank::json_list::{Refused, answer_of, id_of};

use crate::body::{Lists, MOST_LISTS, lists};
use crate::endpoints::{ENDPOINTS, Endpoint, Parameters, Wrong};
use crate::guard::{self, Token};
use crate::models::Loaded;
use crate::openapi::{self, FACTS};
use crate::refusal::Refusal;
use crate::server::Shared;
use crate::workbench::{self, ACTIONS, PAGES, Page};

/// A body that is too large is read on for so many bytes, so that its sender sees the answer instead of a broken connection.
const READ_ON: usize = 64 << 20;
/// An answer has at most so many times the bytes that a body may have.
const ANSWER: usize = 16;

/// Where a page shows the token once, and gets a cookie for it.
const LOGIN_PATH: &str = "/login";

const JSON: &str = "application/json";
const JSON_LINES: &str = "application/x-ndjson";

/// What is sent back.
struct Answer {
    status: StatusCode,
    kind: &'static str,
    text: Bytes,
    /// A cookie to keep.
    cookie: Option<String>,
    /// What a browser may do with it, for pages.
    policy: Option<&'static str>,
}

impl Answer {
    fn new(kind: &'static str, text: impl Into<Bytes>) -> Answer {
        Answer { status: StatusCode::OK, kind, text: text.into(), cookie: None, policy: None }
    }

    fn page(text: &'static str) -> Answer {
        let text = Bytes::from_static(text.as_bytes());
        Answer { policy: Some(workbench::POLICY), ..Answer::new(workbench::HTML, text) }
    }
}

/// Every path that is answered.
fn known_paths() -> impl Iterator<Item = &'static str> {
    let endpoints = ENDPOINTS.iter().map(|endpoint| endpoint.path);
    let pages = PAGES.iter().map(|page| page.path).chain([LOGIN_PATH]);
    endpoints.chain(FACTS.map(|(path, ..)| path)).chain(ACTIONS.iter().map(|action| action.path)).chain(pages)
}

/// Answers a request, whatever it is.
pub async fn handle(
    request: Request<Incoming>,
    shared: Arc<Shared>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let started = Instant::now();
    shared.metrics.in_flight.fetch_add(1, Ordering::Relaxed);
    let path = request.uri().path();
    // Paths of requests are not counted by name: anybody may invent them.
    let name = known_paths().find(|known| *known == path).unwrap_or("other");
    let (answer, extra) = match answer(request, &shared, started).await {
        Ok(answer) => (answer, None),
        Err(refusal) => {
            let (status, header) = (refusal.status, refusal.header.clone());
            (Answer { status, ..Answer::new(JSON, refusal.json() + "\n") }, header)
        }
    };
    let status = answer.status;
    let mut response = Response::new(Full::new(answer.text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(answer.kind));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(policy) = answer.policy {
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    }
    if let Some(Ok(cookie)) = answer.cookie.map(HeaderValue::try_from) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    if let Some((name, value)) = extra {
        headers.insert(name, HeaderValue::from_static(value));
    }
    shared.metrics.in_flight.fetch_sub(1, Ordering::Relaxed);
    shared.metrics.count(name, status.as_u16(), started.elapsed());
    Ok(response)
}

async fn answer(
    request: Request<Incoming>,
    shared: &Arc<Shared>,
    started: Instant,
) -> Result<Answer, Refusal> {
    let settings = &shared.settings;
    let (path, method) = (request.uri().path(), request.method());
    let page = PAGES.iter().find(|page| page.path == path && method == Method::GET);
    // Whoever watches the server need not hold its token, and styles and scripts are no secret.
    let open = settings.token.is_some() && (path == "/health" || page.is_some_and(Page::is_public));
    if !open && let Err(refusal) = guard::check(request.headers(), settings.token.as_ref(), shared.address) {
        return match (refusal.status, page) {
            (StatusCode::UNAUTHORIZED, Some(_)) => {
                Ok(Answer { status: refusal.status, ..Answer::page(workbench::LOGIN) })
            }
            _ => Err(refusal),
        };
    }
    if let Some(page) = page {
        return Ok(match page.kind {
            workbench::HTML => Answer::page(page.text),
            kind => Answer::new(kind, Bytes::from_static(page.text.as_bytes())),
        });
    }
    if path == LOGIN_PATH && method == Method::POST {
        let cookie = settings.token.as_ref().map(Token::cookie);
        return Ok(Answer { cookie, ..Answer::new(JSON, "{}\n") });
    }
    if let Some((path, kind, _)) = FACTS.into_iter().find(|(known, ..)| *known == path) {
        if method != Method::GET {
            return Err(wrong_method(method, "GET"));
        }
        let text = match path {
            "/metrics" => shared.metrics.text(&shared.models),
            "/health" => health(shared),
            _ => openapi::describe(&shared.models, settings.token.is_some()).to_string(),
        };
        return Ok(Answer::new(kind, if kind == JSON { visible_json(&text) + "\n" } else { text }));
    }
    if let Some(action) = ACTIONS.iter().find(|action| action.path == path && action.method == method) {
        guard::check_origin(request.headers())?;
        let parameters = parameters(request.uri().query().unwrap_or_default(), action.parameters)?;
        let policy = (action.kind == workbench::HTML).then_some(workbench::REPORT_POLICY);
        return work(request, shared, started, move |body, shared| {
            let text = (action.answer)(shared, &parameters, body)?;
            Ok(Answer { policy, ..Answer::new(action.kind, text) })
        })
        .await;
    }
    let Some(endpoint) = ENDPOINTS.iter().find(|endpoint| endpoint.path == path) else {
        if known_paths().any(|known| known == path) {
            return Err(wrong_method(method, expected_methods(path)));
        }
        // Styles and scripts are nobody's wish.
        let public = |path: &&str| PAGES.iter().any(|page| page.path == *path && page.is_public());
        let mut known: Vec<&str> = known_paths().filter(|path| !public(path)).collect();
        let mut seen = std::collections::BTreeSet::new();
        known.retain(|path| seen.insert(*path));
        let path: String = path.chars().take(100).collect();
        return Err(Refusal::new(StatusCode::NOT_FOUND, format!("the path {path:?}"), known.join(", ")));
    };
    if method != Method::POST {
        return Err(wrong_method(method, "POST"));
    }
    let known: Vec<(&str, &str)> =
        std::iter::once(("model", "")).chain(endpoint.parameters.iter().copied()).collect();
    let mut parameters = parameters(request.uri().query().unwrap_or_default(), &known)?;
    let model = shared.models.find(parameters.remove("model").as_deref(), endpoint.fits);
    let model = model.map_err(|(exists, message)| {
        let status = if exists { StatusCode::BAD_REQUEST } else { StatusCode::NOT_FOUND };
        Refusal { status, message: format!("request: {message}"), id: None, header: None }
    })?;
    if let Some(coding) = request.headers().get(header::CONTENT_ENCODING)
        && coding != "identity"
    {
        let found = format!("a body in the coding {:?}", coding.to_str().unwrap_or("?"));
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, found, "plain JSON"));
    }
    work(request, shared, started, move |body, shared| {
        answer_body(endpoint, &model, &parameters, body, shared)
    })
    .await
}

/// Reads the body, waits for a turn, and answers on a thread that may compute; all within the time of a request.
async fn work(
    request: Request<Incoming>,
    shared: &Arc<Shared>,
    started: Instant,
    answer: impl FnOnce(&[u8], &Shared) -> Result<Answer, Refusal> + Send + 'static,
) -> Result<Answer, Refusal> {
    let settings = &shared.settings;
    let deadline = tokio::time::Instant::from_std(started + settings.time);
    let body = timeout_at(deadline, whole(request.into_body(), settings.max_body)).await;
    let seconds = settings.time.as_secs();
    let body = body.map_err(|_| {
        let found = format!("a body that did not end within {seconds} s");
        Refusal::new(StatusCode::REQUEST_TIMEOUT, found, "a whole body")
    })??;
    let busy = |found: String| {
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, found, "fewer requests at once, or smaller ones")
            .with(header::RETRY_AFTER, "1")
    };
    let turn = timeout_at(deadline, Arc::clone(&shared.turns).acquire_owned()).await;
    let Ok(Ok(turn)) = turn else {
        return Err(busy(format!("no turn within {seconds} s")));
    };
    let (send, receive) = oneshot::channel();
    let of_work = Arc::clone(shared);
    rayon::spawn(move || {
        let answer = catch_unwind(AssertUnwindSafe(|| answer(&body, &of_work)));
        let answer = answer.unwrap_or_else(|_| {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            let message = "request: a bug of toprank; please report it".to_string();
            Err(Refusal { status, message, id: None, header: None })
        });
        // The turn ends with the work, also if nobody waits for it any more.
        drop(turn);
        let _ = send.send(answer);
    });
    match timeout_at(deadline, receive).await {
        Ok(Ok(answer)) => answer,
        _ => Err(busy(format!("no answer within {seconds} s"))),
    }
}

/// The methods of a path that is known and not an endpoint.
fn expected_methods(path: &str) -> &'static str {
    let post = path == LOGIN_PATH
        || ACTIONS.iter().any(|action| action.path == path && action.method == Method::POST);
    match (PAGES.iter().any(|page| page.path == path), post) {
        (true, true) => "GET, POST",
        (_, true) => "POST",
        _ => "GET",
    }
}

fn wrong_method(found: &Method, expected: &'static str) -> Refusal {
    let found: String = found.as_str().chars().take(100).collect();
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, format!("the method {found}"), expected)
        .with(header::ALLOW, expected)
}

/// The models, as JSON.
fn health(shared: &Shared) -> String {
    let models = shared.models.slots.iter().map(|slot| {
        let loaded = slot.current();
        let endpoints = ENDPOINTS.iter().filter(|endpoint| (endpoint.fits)(&loaded));
        let paths: Vec<&str> = endpoints
            .map(|endpoint| endpoint.path)
            .filter(|path| *path != "/explain" || loaded.explains())
            .collect();
        json!({
            "name": slot.name, "kind": loaded.kind().name(), "features": loaded.width(), "endpoints": paths,
            "reloads": slot.reloads.load(Ordering::Relaxed),
        })
    });
    let models: Vec<_> = models.collect();
    json!({"status": "ok", "version": env!("CARGO_PKG_VERSION"), "models": models}).to_string()
}

/// The parameters of a query; an unknown one is an error, as it would change nothing.
pub(crate) fn parameters(query: &str, known: &[(&str, &str)]) -> Result<Parameters, Refusal> {
    let mut found = Parameters::new();
    let bad = |message: String| Refusal {
        status: StatusCode::BAD_REQUEST,
        message: format!("request: {message}"),
        id: None,
        header: None,
    };
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Some(name), Some(value)) = (decoded(name), decoded(value)) else {
            let pair: String = pair.chars().take(100).collect();
            return Err(bad(format!("the parameter {pair:?} is not UTF-8 in the coding of URLs")));
        };
        let known = || known.iter().map(|(name, _)| *name);
        if !known().any(|known| known == name) {
            return Err(bad(catalog::unknown("parameter", &name, known()).to_string()));
        }
        if found.insert(name.clone(), value).is_some() {
            return Err(bad(format!("the parameter {name} twice")));
        }
    }
    Ok(found)
}

/// Text in the coding of URLs: `+` is a blank, `%41` is A.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let byte;
        (byte, rest) = match (first, behind) {
            (b'%', [high, low, behind @ ..]) => {
                let digit = |byte: &u8| (*byte as char).to_digit(16);
                ((digit(high)? * 16 + digit(low)?) as u8, behind)
            }
            (b'%', _) => return None,
            (b'+', _) => (b' ', behind),
            (byte, _) => (*byte, behind),
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok()
}

/// A body of at most `most` bytes.
async fn whole(mut body: Incoming, most: usize) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::with_capacity(body.size_hint().lower().min(most as u64) as usize);
    let mut length = 0usize;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Refusal::new(StatusCode::BAD_REQUEST, format!("a body that broke off: {error}"), "a whole body")
        })?;
        let Some(data) = frame.data_ref() else { continue };
        length = length.saturating_add(data.len());
        if length <= most {
            bytes.extend_from_slice(data);
        } else {
            bytes = Vec::new();
            if length > most.saturating_add(READ_ON) {
                break;
            }
        }
    }
    if length > most {
        let found = format!("a body of more than {most} bytes");
        return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, found, "a smaller one, or --max-body"));
    }
    Ok(bytes)
}

/// Answers the lists of a body. One list is the whole request; of several each has a line, as of `toprank predict --jsonl`.
fn answer_body(
    endpoint: &Endpoint,
    model: &Loaded,
    parameters: &Parameters,
    body: &[u8],
    shared: &Shared,
) -> Result<Answer, Refusal> {
    let metrics = &shared.metrics;
    match lists(body) {
        Lists::One(list) => match (endpoint.answer)(model, parameters, list) {
            Ok(text) => {
                metrics.answered.fetch_add(1, Ordering::Relaxed);
                Ok(Answer::new(JSON, text + "\n"))
            }
            Err(wrong) => {
                metrics.refused.fetch_add(1, Ordering::Relaxed);
                let (status, message) = (wrong.status(), wrong.message(None));
                Err(Refusal { status, message, id: id_of(list).map(Box::new), header: None })
            }
        },
        Lists::Lines(lines) => {
            let most = shared.settings.max_body.saturating_mul(ANSWER);
            let mut text = String::new();
            for (number, line) in lines {
                let answer = (endpoint.answer)(model, parameters, line);
                let counter = if answer.is_ok() { &metrics.answered } else { &metrics.refused };
                counter.fetch_add(1, Ordering::Relaxed);
                let answer = answer.unwrap_or_else(|wrong| {
                    answer_of(id_of(line), "error", wrong.message(Some(number)).into())
                });
                if text.len() + answer.len() > most {
                    let found = format!("an answer of more than {most} bytes");
                    let refused = Wrong::List(Refused::new(found, "fewer lists in a request"));
                    let (status, message) = (refused.status(), refused.message(Some(number)));
                    return Err(Refusal { status, message, id: None, header: None });
                }
                text.push_str(&answer);
                text.push('\n');
            }
            Ok(Answer::new(JSON_LINES, text))
        }
        Lists::TooMany => {
            let found = format!("more than {MOST_LISTS} lists");
            Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, found, "fewer lists in a request"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_unknown_ones_are_refused() {
        let parsed = |query: &str| {
            parameters(query, &[("model", ""), ("probability", "")]).map_err(|refusal| refusal.message)
        };
        let found = parsed("model=a%20b%C3%A9+c&probability=true").unwrap();
        assert_eq!((found["model"].as_str(), found["probability"].as_str()), ("a bé c", "true"));
        assert_eq!(parsed("&&").unwrap().len(), 0);
        assert!(parsed("modle=a").unwrap_err().contains("did you mean \"model\"?"));
        assert!(parsed("model=a&model=b").unwrap_err().contains("twice"));
        for bad in ["model=%", "model=%4", "model=%zz", "model=%ff"] {
            assert!(parsed(bad).unwrap_err().contains("UTF-8"), "{bad}");
        }
    }
}
