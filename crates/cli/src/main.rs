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
mod fuse;
mod generate;
mod gradient;
mod heap;
mod inspect;
mod interrupt;
mod judged;
mod manual;
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

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Failure;

const AFTER_HELP: &str = "\
Examples:
  toprank generate letor --lists 1000 --seed 1 -o demo
  toprank evaluate --data demo/test.txt --feature 5 --metrics ndcg@10,map
  toprank evaluate --qrels qrels.txt --run run.txt --like trec_eval --metrics map,p@5 --json
  toprank compare --data test.txt --metrics ndcg@10 a=scores_a.txt b=scores_b.txt
  toprank train --data train.csv --label label --objective auprc --folds 5 -o model.toprank
  toprank threshold --data train.csv --label label --scores model.toprank.oof.txt --recall 0.8
  toprank predict --model model.toprank --data test.txt -o scores.txt
  toprank export --model trees.toprank --format lightgbm -o model.txt
  toprank pagerank rank --edges edges.csv --restart 0.15 --top 20
  toprank recommend train --data u.data --split leave-last --objective ndcg@20 -o rec.toprank
  toprank embed train --data letters.csv --class letter --split 60/20/20 --objective map -o emb.toprank
  toprank retrieve --model emb.toprank --queries letters.csv --class letter --part test
  toprank gradient --data test.txt --scores scores.txt --objective song -o gradient.csv

Exit codes: 0 done, 1 failed (a file cannot be opened or written), 2 usage, 3 bad data, 130 interrupted.
Files may be plain, .gz or .zst; - is standard input. NO_COLOR turns colours off.";

/// Read any ranking data, judge any ranking.
#[derive(Parser, Debug)]
#[command(name = "toprank", version, after_help = AFTER_HELP, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(clap::Args, Clone, Debug)]
struct Common {
    /// Threads to use; results do not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// No progress and no notes on standard error
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
    let cli = Cli::parse();
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

/// Prints to standard output; a reader that has gone away is a [`Failure`] without a word.
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
