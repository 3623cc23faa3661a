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
mod predict;
mod progress;
mod quickstart;
mod reading;
mod recommend;
#[cfg(feature = "plots")]
mod report;
#[cfg(not(feature = "plots"))]
#[path = "no_report.rs"]
mod report;
mod retrieve;
mod rules;
mod split;
mod table;
mod terminal;
mod threshold;
mod train;
mod tune;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{FromArgMatches, Parser, Subcommand};

use failure::Failure;
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
    "Train":
        Train(Box<train::Train>);
        Tune(tune::Tune);
        Predict(predict::Predict);
        Explain(explain::Explain);
        Export(export::Export);
        Import(export::Import);
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

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let matches = help::command(&args).get_matches_from(args);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match inputs::guard(&matches).and_then(|()| run(&cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.broken_pipe => ExitCode::SUCCESS,
        Err(failure) => {
            say(format_args!("error: {}", failure.message));
            ExitCode::from(failure.exit as u8)
        }
    }
}

fn run(cli: &Cli) -> Result<(), Failure> {
    interrupt::install()?;
    if let Some(threads) = cli.common.threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(usize::from(threads))
            .build_global()
            .map_err(Failure::failed)?;
    }
    cli.command.run(&cli.common)
}
