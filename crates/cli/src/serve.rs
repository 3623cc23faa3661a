//! `toprank serve`: models that answer requests over HTTP, and pages to judge, compare and try.

use std::net::{SocketAddr, ToSocketAddrs};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use toprank_serve::{
    Judging, JudgingFiles, LiveReport, Models, ServeError, Server, Settings, Token, Workbench,
};

use crate::contest::named_runs;
use crate::failure::Failure;
use crate::rules::Measures;
use crate::table::counted;
use crate::terminal::say;
use crate::{Common, interrupt, note, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank serve model.toprank
  toprank serve search=trees.toprank shop=rec.toprank --listen 127.0.0.1:9000
  toprank serve model.toprank --listen 0.0.0.0:8080 --token-file token.txt
  toprank serve --qrels qrels.txt --run old=old.run --run new=new.run -m ndcg@10 --judgements judged
  curl -d '{\"id\": 7, \"features\": [[0.1, 2], [0.3, null]]}' 'http://127.0.0.1:8080/rank?model=search'

Endpoints; a body is one JSON object, or one per line, each of which is answered by a line:
  POST /rank       {\"id\": …, \"features\": [[…], …]}: scores of rows, as of `toprank predict --jsonl` to the bit; features in \
the order of the model or by name, null is missing; ?probability=true for a calibrated model
  POST /explain    The same body: what each feature adds to each score of a model of trees, compared with the other rows
  POST /recommend  {\"user\": \"196\", \"k\": 10} or {\"history\": [\"50\", \"181\"]}: the best unseen items of a recommender
  POST /embed      The body of /rank: the vectors of an embedding
  GET /health      The models that answer; GET /metrics: counters and times for Prometheus; GET /openapi.json: what every \
endpoint takes and gives

Pages, for a browser at the printed address:
  /judge       Judge documents by the keys 0 to 4 (s skips, b goes back) without knowing which run found them; needs --run and \
--judgements. Unjudged documents of the first --depth places that could change the difference between the runs most come first, every \
fifth is one that another judge has judged. Each judge has a file, FOLDER/judge-NAME.qrels, written after every key press, so \
that a crash loses at most the last one; FOLDER/consensus.qrels holds --qrels and of every judged document the middle grade. \
The page shows how far the judges agree (Krippendorff's alpha)
  /compare     The page of `toprank report` for --run with the consensus, --qrels or --data, built again when a file changes
  /try         Edit the features of a list: scores, ranks, and for trees what each feature adds
  /playground  Drag documents, set grades and ties: every metric under every preset, and the gradient of every objective; needs \
no model

--documents and --queries name files of texts to show while judging: a name, a tab and the text in every line.

A model is named NAME=FILE, or by its file without the extension; ?model=NAME chooses one where several fit. A file that changes is
loaded again, and answers once its self-test has passed; until then, and if it fails, the old model does. Replace the file by a
rename, as toprank does.

Only this machine is served unless there is a token. With --token-file every request but GET /health must have the header
`Authorization: Bearer TOKEN`, and a browser asks for the token once; the file holds 16 characters or more in one line. There is no TLS: on a network put a proxy in front.
Errors are JSON, {\"error\": …}, with status 400 (no JSON), 401 (token), 404, 405, 408 and 503 (time), 413 (size) or 422 (the model
cannot answer). Ctrl-C or SIGTERM ends the server after the requests that have begun; a second one ends it at once.";

/// Answer requests over HTTP with models; pages to judge, compare and try
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Serve {
    /// Model files, each as NAME=FILE or FILE
    #[arg(value_name = "MODEL")]
    models: Vec<String>,
    /// Rankings to compare and to judge, as NAME=FILE (runs with --qrels, scores or a model with --data); the first is the baseline
    #[arg(long, value_name = "NAME=FILE", help_heading = "Pages")]
    run: Vec<String>,
    /// TREC judgements of the runs
    #[arg(long, value_name = "FILE", requires = "run", conflicts_with = "data", help_heading = "Pages")]
    qrels: Option<PathBuf>,
    /// Data file with labels, for /compare
    #[arg(long, value_name = "FILE", requires = "run", help_heading = "Pages")]
    data: Option<PathBuf>,
    /// Metrics of /compare, separated by commas; the first decides what is judged first
    #[arg(long, short, value_name = "METRICS", default_value = "ndcg@10", help_heading = "Pages")]
    metrics: String,
    /// Folder for the judgements of /judge; one server at a time may have it
    #[arg(
        long = "judgements",
        value_name = "FOLDER",
        requires = "run",
        conflicts_with = "data",
        help_heading = "Pages"
    )]
    judged: Option<PathBuf>,
    /// Texts of documents, to judge them by
    #[arg(long, value_name = "FILE", requires = "judged", help_heading = "Pages")]
    documents: Option<PathBuf>,
    /// Texts of queries
    #[arg(long, value_name = "FILE", requires = "judged", help_heading = "Pages")]
    queries: Option<PathBuf>,
    /// Number of places of each run to judge
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000), help_heading = "Pages")]
    depth: u16,
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
        let (workbench, notes) = self.workbench()?;
        let server = Server::bind(models, workbench, settings)?;
        // From here on an interrupt is a request, so that what has begun is answered.
        interrupt::by_request();
        let address = format!("http://{}", server.address());
        if common.json {
            print_json(&json!({"address": address, "models": served}))?;
        } else {
            print(&format!("{address}\n"))?;
        }
        if served.is_empty() {
            note(common, format!("pages at {address}, no model, Ctrl-C ends"));
        } else {
            note(common, format!("{} answer at {address}, Ctrl-C ends", counted(served.len(), "model")));
        }
        for line in &notes {
            note(common, line);
        }
        let quiet = common.quiet;
        server.run(interrupt::asked, move |line| {
            if !quiet {
                say(format_args!("note: {line}"));
            }
        });
        note(common, "ended");
        Ok(())
    }

    /// What the pages show, and notes about it.
    fn workbench(&self) -> Result<(Workbench, Vec<String>), Failure> {
        let mut notes = Vec::new();
        if self.run.is_empty() {
            return Ok((Workbench::default(), notes));
        }
        let mut words: Vec<String> = self.run.iter().map(|run| format!("--run={run}")).collect();
        words.push(format!("--metrics={}", self.metrics));
        let runs = named_runs(&self.run)?;
        let mut files: Vec<PathBuf> =
            runs.iter().filter_map(|(_, ranking)| ranking.file().map(PathBuf::from)).collect();
        let mut workbench = Workbench::default();
        let mut labels = ("--qrels", self.qrels.clone());
        if self.data.is_some() {
            labels = ("--data", self.data.clone());
        }
        if let Some(folder) = &self.judged {
            let judged = JudgingFiles {
                runs: files.clone(),
                qrels: self.qrels.clone(),
                folder: folder.clone(),
                documents: self.documents.clone(),
                queries: self.queries.clone(),
                depth: usize::from(self.depth),
            };
            if files.len() != self.run.len() {
                return Err(Failure::usage(
                    "--judgements judges the documents of runs; expected every --run as NAME=FILE",
                ));
            }
            let first = Measures::named(&self.metrics)?.all.into_iter().next();
            let first = first.ok_or_else(|| {
                Failure::usage("--metrics names no metric; expected for example ndcg@10,map")
            })?;
            let judging = Judging::open(judged, first)?;
            let (pool, grades) = judging.counts();
            notes.push(format!(
                "{pool} documents to judge, {grades} grades so far; consensus in {}",
                judging.consensus().display()
            ));
            labels = ("--qrels", Some(judging.consensus()));
            workbench.judging = Some(judging);
        }
        let (flag, Some(file)) = labels else {
            return Err(Failure::usage(
                "--run needs labels; expected --qrels FILE, --data FILE or --judgements FOLDER",
            ));
        };
        words.push(format!("{flag}={}", file.display()));
        files.push(file);
        workbench.report = Some(LiveReport::new(files, move || {
            crate::report::html(&words).map_err(|failure| failure.message)
        }));
        Ok((workbench, notes))
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
