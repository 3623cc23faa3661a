//! The toprank command: **what does a person type and see?**
//!
//! Invariants: no formula lives here; results go to standard output, everything else to standard error; the exit
//! code is 0 (done), 1 (failed), 2 (usage) or 3 (bad data).

mod catalogs;
mod class_plots;
mod compare;
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
mod inspect;
mod interrupt;
mod judged;
mod manual;
mod page;
mod pagerank;
mod predict;
mod progress;
mod quickstart;
mod reading;
mod recommend;
mod retrieve;
mod rules;
mod split;
mod table;
mod threshold;
mod train;
mod tune;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{FromArgMatches, Parser, Subcommand};

use failure::Failure;

/// Read ranking data, train models that rank, evaluate any ranking.
#[derive(Parser, Debug)]
#[command(name = "toprank", version, max_term_width = 100)]
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

#[derive(Subcommand, Debug)]
enum Command {
    Quickstart(quickstart::Quickstart),
    Evaluate(evaluate::Evaluate),
    Compare(compare::Compare),
    Fuse(fuse::Fuse),
    Inspect(inspect::Inspect),
    Convert(convert::Convert),
    Split(split::Split),
    Generate(generate::Generate),
    Gradient(gradient::Gradient),
    Train(Box<train::Train>),
    Predict(predict::Predict),
    Tune(tune::Tune),
    Explain(explain::Explain),
    Export(export::Export),
    Import(export::Import),
    #[command(name = "pagerank")]
    PageRank(pagerank::PageRank),
    Recommend(recommend::Recommend),
    Embed(embed::Embed),
    Retrieve(Box<retrieve::Retrieve>),
    Threshold(threshold::Threshold),
    Metrics(catalogs::Metrics),
    Objectives(catalogs::Objectives),
    Models(catalogs::Models),
    Formats(catalogs::Formats),
    Completions(manual::Completions),
    Man(manual::Man),
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let matches = help::command(&args).get_matches_from(args);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.broken_pipe => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {}", failure.message);
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
    dispatch(cli)
}

fn dispatch(cli: &Cli) -> Result<(), Failure> {
    let common = &cli.common;
    match &cli.command {
        Command::Quickstart(command) => command.run(common),
        Command::Evaluate(command) => command.run(common),
        Command::Compare(command) => command.run(common),
        Command::Fuse(command) => command.run(common),
        Command::Inspect(command) => command.run(common),
        Command::Convert(command) => command.run(common),
        Command::Split(command) => command.run(common),
        Command::Generate(command) => command.run(common),
        Command::Gradient(command) => command.run(common),
        Command::Train(command) => command.run(common),
        Command::Predict(command) => command.run(common),
        Command::Tune(command) => command.run(common),
        Command::Explain(command) => command.run(common),
        Command::Export(command) => command.run(common),
        Command::Import(command) => command.run(common),
        Command::PageRank(command) => command.run(common),
        Command::Recommend(command) => command.run(common),
        Command::Embed(command) => command.run(common),
        Command::Retrieve(command) => command.run(common),
        Command::Threshold(command) => command.run(common),
        Command::Metrics(command) => command.run(common),
        Command::Objectives(command) => command.run(common),
        Command::Models(command) => command.run(common),
        Command::Formats(command) => command.run(common),
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run(),
    }
}

/// Prints to standard output; a closed pipe is a [`Failure`] without a message.
fn print(text: &str) -> Result<(), Failure> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Prints a JSON value, indented, with a newline.
fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    print(&(serde_json::to_string_pretty(value).map_err(Failure::failed)? + "\n"))
}

/// Prints a note on standard error.
fn note(common: &Common, words: impl std::fmt::Display) {
    if !common.quiet {
        eprintln!("note: {words}");
    }
}
