//! `toprank serve`: models that answer requests over HTTP.

use std::net::{SocketAddr, ToSocketAddrs};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use toprank_serve::{Models, ServeError, Server, Settings, Token};

use crate::failure::Failure;
use crate::table::counted;
use crate::terminal::say;
use crate::{Common, interrupt, note, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank serve model.toprank
  toprank serve search=trees.toprank shop=rec.toprank --listen 127.0.0.1:9000
  toprank serve model.toprank --listen 0.0.0.0:8080 --token-file token.txt
  curl -d '{\"id\": 7, \"features\": [[0.1, 2], [0.3, null]]}' 'http://127.0.0.1:8080/rank?model=search'

Endpoints; a body is one JSON object, or one per line, each of which is answered by a line:
  POST /rank       {\"id\": …, \"features\": [[…], …]}: scores of rows, as of `toprank predict --jsonl` to the bit; features in \
the order of the model or by name, null is missing; ?probability=true for a calibrated model
  POST /explain    The same body: what each feature adds to each score of a model of trees, compared with the other rows
  POST /recommend  {\"user\": \"196\", \"k\": 10} or {\"history\": [\"50\", \"181\"]}: the best unseen items of a recommender
  POST /embed      The body of /rank: the vectors of an embedding
  GET /health      The models that answer; GET /metrics: counters and times for Prometheus; GET /openapi.json: what every \
endpoint takes and gives

A model is named NAME=FILE, or by its file without the extension; ?model=NAME chooses one where several fit. A file that changes is
loaded again, and answers once its self-test has passed; until then, and if it fails, the old model does. Replace the file by a
rename, as toprank does.

Only this machine is served unless there is a token. With --token-file every request but GET /health must have the header
`Authorization: Bearer TOKEN`; the file holds 16 characters or more in one line. There is no TLS: on a network put a proxy in front.
Errors are JSON, {\"error\": …}, with status 400 (no JSON), 401 (token), 404, 405, 408 and 503 (time), 413 (size) or 422 (the model
cannot answer). Ctrl-C or SIGTERM ends the server after the requests that have begun; a second one ends it at once.";

/// Answer requests over HTTP with models: rankings, recommendations, vectors, explanations
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Serve {
    /// Model files, each as NAME=FILE or FILE
    #[arg(value_name = "MODEL", required = true)]
    models: Vec<String>,
    /// Address to listen on; port 0 is a free one, which is printed
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: String,
    /// File with the token that requests must show; needed for an address that other machines reach
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Maximum size of a body, in MB (2^20 bytes)
    #[arg(long, value_name = "MB", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    max_body: u16,
    /// Time for a request, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3600))]
    timeout: u16,
    /// Number of requests to score at once [default: the number of threads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: Option<u16>,
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Failure {
        match error {
            ServeError::Model(error) => error.into(),
            ServeError::Settings(message) => Failure::usage(message),
            other => Failure::failed(other),
        }
    }
}

impl Serve {
    /// Loads, listens, serves until it is interrupted.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let max_body = usize::from(self.max_body) << 20;
        let concurrency = self.concurrency.map_or_else(rayon::current_num_threads, usize::from);
        let settings = Settings {
            listen: self.address()?,
            token: self.token_file.as_deref().map(token).transpose()?,
            max_body,
            time: Duration::from_secs(self.timeout.into()),
            concurrency: NonZeroUsize::new(concurrency).unwrap_or(NonZeroUsize::MIN),
        };
        if settings.token.is_none() && !settings.listen.ip().is_loopback() {
            return Err(Failure::usage(format!(
                "--listen {}: other machines could use the models; expected --token-file FILE, or an address of this machine alone \
                 such as 127.0.0.1:{}",
                self.listen,
                settings.listen.port()
            )));
        }
        let files = self.models.iter().map(|word| named(word)).collect::<Result<Vec<_>, _>>()?;
        let models = Models::load(&files, max_body)?;
        let served: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
        let server = Server::bind(models, settings)?;
        // From here on an interrupt is a request, so that what has begun is answered.
        interrupt::by_request();
        let address = format!("http://{}", server.address());
        if common.json {
            print_json(&json!({"address": address, "models": served}))?;
        } else {
            print(&format!("{address}\n"))?;
        }
        note(common, format!("{} answer at {address}, Ctrl-C ends", counted(served.len(), "model")));
        let quiet = common.quiet;
        server.run(interrupt::asked, move |line| {
            if !quiet {
                say(format_args!("note: {line}"));
            }
        });
        note(common, "ended");
        Ok(())
    }

    fn address(&self) -> Result<SocketAddr, Failure> {
        let found = self.listen.to_socket_addrs().ok().and_then(|mut found| found.next());
        found.ok_or_else(|| {
            let listen = &self.listen;
            Failure::usage(format!(
                "--listen {listen}: expected an address and a port, such as 127.0.0.1:8080"
            ))
        })
    }
}

/// The token in a file.
fn token(path: &Path) -> Result<Token, Failure> {
    let file = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file(file.to_string(), &error))?;
    Token::parse(&text).map_err(|error| Failure::data(error).about(file))
}

/// `NAME=FILE`, or a file that is named by its stem.
fn named(word: &str) -> Result<(String, PathBuf), Failure> {
    let path = Path::new(word);
    match word.split_once('=') {
        // A file may have such a name.
        _ if path.exists() => {}
        Some((name, file)) if !name.is_empty() => return Ok((name.into(), file.into())),
        _ => {}
    }
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    match stem {
        Some(stem) => Ok((stem.into(), path.into())),
        None => Err(Failure::usage(format!("{word}: expected a model file, or NAME=FILE"))),
    }
}
