//! The toprank command: **what does a person type and see?**
//!
//! Invariants: no formula lives here; results go to standard output, everything else to standard error; the exit
//! code is one of `failure::EXIT_CODES`; nothing that a file holds reaches a terminal as a control character; a command
//! goes on if nobody can read its notes; no command writes over what it reads.

mod catalogs;
mod class_plots;
mod compare;
mod contest;
mod convert;
mod curves;
mod embed;
mod evaluate;
mod explain;
mod export;
mod failure;
mod folder;
mod fuse;
mod generate;
mod gradient;
mod heap;
mod help;
mod inputs;
mod inspect;
mod interrupt;
mod judged;
mod manual;
mod means;
mod page;
mod pagerank;
mod parity;
mod predict;
mod progress;
mod quickstart;
mod reading;
mod recommend;
mod reconcile;
#[cfg(feature = "plots")]
mod report;
#[cfg(not(feature = "plots"))]
#[path = "no_report.rs"]
mod report;
mod retrieve;
mod rules;
#[cfg(feature = "serve")]
mod serve;
#[cfg(not(feature = "serve"))]
#[path = "no_serve.rs"]
mod serve;
mod split;
mod table;
mod terminal;
mod threshold;
mod train;
mod tune;

use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use toprank::data::Dataset;
use toprank::train::Workers;

pub use failure::{Exit, Failure};
use terminal::{note, print, print_json, say};

/// What `--version` prints; `-V` prints the number alone. The build script says commit and features.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit: ",
    env!("TOPRANK_COMMIT"),
    "\nfeatures: ",
    env!("TOPRANK_FEATURES")
);

/// Read ranking data, train models that rank, evaluate any ranking.
#[derive(Parser, Debug)]
#[command(name = "toprank", version, long_version = LONG_VERSION, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(clap::Args, Clone, Debug)]
struct Common {
    /// Number of threads, at most 1024; results do not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Print no progress and no notes on standard error
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Print one JSON object on standard output
    #[arg(long, global = true)]
    json: bool,
}

/// The commands by what a person wants to do, in the order of the help. Several on one line share a text there; else the first
/// line of a command's own help is shown. A command takes its name from its variant.
macro_rules! commands {
    ($($group:literal: $($($name:ident($arguments:ty)),+ $(= $text:literal)?;)+)+) => {
        #[derive(Subcommand, Debug)]
        enum Command {
            $($($($name($arguments),)+)+)+
        }

        impl Command {
            fn run(&self, common: &Common) -> Result<(), Failure> {
                match self {
                    $($($(Command::$name(command) => command.run(common),)+)+)+
                }
            }
        }

        const GROUPS: &[help::Group] =
            &[$(($group, &[$((&[$(stringify!($name)),+], concat!("", $($text)?))),+])),+];
    };
}

commands! {
    "Evaluate":
        Evaluate(evaluate::Evaluate);
        Compare(compare::Compare);
        Report(Box<report::Report>);
        Threshold(threshold::Threshold);
        Fuse(fuse::Fuse);
        Reconcile(Box<reconcile::Reconcile>);
    "Train":
        Train(Box<train::Train>);
        Tune(tune::Tune);
        Predict(predict::Predict), Serve(serve::Serve) = "Score data with a model; answer requests over HTTP with models";
        Explain(explain::Explain);
        Export(export::Export), Import(export::Import)
            = "Export a model to LightGBM, RankLib, Solr, ONNX and more, or import one";
        Parity(parity::Parity);
        Recommend(recommend::Recommend);
        Embed(embed::Embed);
        Retrieve(Box<retrieve::Retrieve>);
        Pagerank(pagerank::PageRank);
    "Data":
        Inspect(inspect::Inspect);
        Convert(convert::Convert);
        Split(split::Split);
        Generate(generate::Generate);
    "Explore":
        Quickstart(quickstart::Quickstart);
        Gradient(gradient::Gradient);
        Metrics(catalogs::Metrics), Objectives(catalogs::Objectives), Models(catalogs::Models), Formats(catalogs::Formats)
            = "List what there is, or explain one: toprank metrics ndcg";
        Completions(manual::Completions), Man(manual::Man) = "Print shell completions or manual pages";
}

/// Runs the command with these arguments, the first of which is its own name, and returns its exit code.
///
/// It is meant to be the only work of its process: it handles signals (Ctrl-C may end the process), sets the number of threads and
/// remembers the files that it must not write over. The binary `toprank` calls it, and so does the console script of the Python
/// package.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let parsed = help::command(&args).try_get_matches_from(args);
    let parsed = parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        // A wish for help or the version is one of these errors, too; a closed pipe is no reason to complain.
        Err(error) => {
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(failure::Exit::Usage as u8);
        }
    };
    match inputs::guard(&matches).and_then(|()| execute(&cli)) {
        Ok(()) => 0,
        Err(failure) if failure.broken_pipe => 0,
        Err(failure) => {
            say(format_args!("error: {}", failure.message));
            failure.exit as u8
        }
    }
}

/// One [`call`] at a time: the files that a command must not write over are known to the whole process.
static ONE_CALL: Mutex<()> = Mutex::new(());

/// Runs the command with these arguments (without its own name) inside a process that has other work, too, and returns what it
/// prints on standard output.
///
/// Signals stay with the process: `stop` is asked now and then, on this thread, whether the user has interrupted; a training run then
/// leaves its checkpoint. `--threads` is refused, as the number of threads is that of the process.
///
/// ```
/// let printed = toprank_cli::call(["metrics", "--json"], || false).unwrap();
/// assert!(printed.contains("ndcg"));
/// ```
///
/// # Errors
/// What the command would have said on standard error, with its exit code.
pub fn call<S: Into<OsString>>(
    words: impl IntoIterator<Item = S>,
    stop: fn() -> bool,
) -> Result<String, Failure> {
    let name = OsString::from("toprank");
    let args: Vec<OsString> = std::iter::once(name).chain(words.into_iter().map(Into::into)).collect();
    let parsed = help::command(&args).try_get_matches_from(args);
    let (cli, matches) = match parsed.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches))) {
        Ok(parsed) => parsed,
        Err(error) if error.exit_code() == 0 => return Ok(error.to_string()),
        Err(error) => return Err(wrong_words(&error)),
    };
    if cli.common.threads.is_some() {
        return Err(Failure::usage(
            "--threads is for the command alone: here the number of threads is that of the process; expected none \
             (RAYON_NUM_THREADS sets it)",
        ));
    }
    let _one = ONE_CALL.lock().unwrap_or_else(PoisonError::into_inner);
    toprank::data::inputs::forget();
    let printed = interrupt::within(stop, || {
        terminal::kept(|| inputs::guard(&matches).and_then(|()| cli.command.run(&cli.common)))
    });
    toprank::data::inputs::forget();
    printed
}

/// [`run`] as one of several workers, who all are given the same arguments: `train` is done together, and the first worker writes.
pub fn run_among(args: impl IntoIterator<Item = OsString>, workers: Workers) -> u8 {
    train::workers::within(workers, || run(args))
}

/// [`call`] as one of several workers, who all are given the same words: `train` is done together, and the first worker writes.
///
/// # Errors
/// As for [`call`], or if a worker has ended.
pub fn call_among<S: Into<OsString>>(
    words: impl IntoIterator<Item = S>,
    stop: fn() -> bool,
    workers: Workers,
) -> Result<String, Failure> {
    train::workers::within(workers, || call(words, stop))
}

/// Reads data files for a caller of the library: files and patterns, and the flags of the section "Reading data" of the help;
/// `--keep COLUMNS` keeps columns as text, `--unlabelled` takes no column for the label.
///
/// # Errors
/// If a flag is wrong or a file cannot be read.
pub fn read<S: Into<OsString> + Clone>(words: impl IntoIterator<Item = S>) -> Result<Dataset, Failure> {
    let words: reading::ReadWords = Parser::try_parse_from(words).map_err(|error| wrong_words(&error))?;
    words.read()
}

/// What clap says about wrong words.
fn wrong_words(error: &clap::Error) -> Failure {
    let text = error.to_string();
    Failure::usage(text.strip_prefix("error: ").unwrap_or(&text).trim_end())
}

/// The words behind `toprank` that name each command, in the order of the help: `evaluate`, `recommend train` …
///
/// A command that has commands below it is named by those.
pub fn commands() -> Vec<String> {
    fn below(command: &clap::Command, words: &str, names: &mut Vec<String>) {
        for sub in command.get_subcommands() {
            let name = format!("{words}{}", sub.get_name());
            if sub.has_subcommands() {
                below(sub, &format!("{name} "), names);
            } else {
                names.push(name);
            }
        }
    }
    let mut names = Vec::new();
    below(&Cli::command(), "", &mut names);
    names
}

fn execute(cli: &Cli) -> Result<(), Failure> {
    interrupt::install()?;
    if let Some(threads) = cli.common.threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(usize::from(threads))
            .build_global()
            .map_err(Failure::failed)?;
    }
    cli.command.run(&cli.common)
}
