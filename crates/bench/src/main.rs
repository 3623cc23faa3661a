/*!
The harnesses of the benches under `bench/`: what is measured in Rust, or beside another tool by a script that calls it.

```text
cargo run --release -p toprank-bench -- NAME …      one harness; without a name all of them are listed
```

`--no-default-features` leaves out the harnesses that train networks, and Parquet, and builds in a fraction of the time.
*/

use std::process::ExitCode;

use common::{Outcome, WrongUse};

mod common;
mod cost_growth;
mod evaluate;
mod gradients;
mod interop;
mod interval_coverage;
mod join;
#[cfg(feature = "neural")]
mod libauc;
mod mapped;
mod memory;
mod molecules;
mod objective;
mod pagerank;
mod paper001;
mod paper002;
mod paper002_gfn;
#[cfg(feature = "neural")]
mod quality;
mod read;
mod recommend;
mod recommend_speed;
#[cfg(feature = "neural")]
mod retrieval;
mod significance;
mod study;
#[cfg(feature = "neural")]
mod top;
mod trackers;
#[cfg(feature = "neural")]
mod training;
mod trees_quality;
mod trees_speed;
mod walks;

/// A harness: its name on the command line, its arguments, what it does.
struct Harness {
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Outcome,
}

/// Every harness, grouped as the folders of `bench/` are.
#[rustfmt::skip]
const HARNESSES: &[Harness] = &[
    Harness { name: "evaluate", usage: "[LISTS ITEMS [FILE]] [--metrics LIST] [--threads N] [--repeats N]", about: "time of evaluating metrics in memory", run: evaluate::run },
    Harness { name: "significance", usage: "", about: "time of intervals and tests over 20,000 lists", run: significance::run },
    Harness { name: "interval-coverage", usage: "[SAMPLES] [REPLICATES]", about: "how often intervals over rows hold the true value of simulated scores", run: interval_coverage::run },
    Harness { name: "join", usage: "QRELS RUN [REPEATS]", about: "time of reading and joining qrels and a run", run: join::run },
    Harness { name: "read", usage: "FILE [COPY]", about: "time and memory of reading a file; COPY: write it in another format instead", run: read::run },
    Harness { name: "mapped", usage: "FOLDER [ROWS]", about: "cost of a memory-mapped data file: conversion, opening, random rows, verification", run: mapped::run },
    Harness { name: "molecules", usage: "< SMILES", about: "what the SMILES reader makes of each line, as JSON", run: molecules::run },
    Harness { name: "objective", usage: "OBJECTIVE LISTS RELEVANT OTHERS REPEATS [--grades N] [--data FILE]", about: "time of loss and gradient of one objective", run: objective::run },
    Harness { name: "gradients", usage: "OBJECTIVE", about: "gradients over a pipe for a program that boosts by itself", run: gradients::run },
    Harness { name: "cost-growth", usage: "[FOLDER]", about: "cost of objectives from 100 to 1,000,000 items a list", run: cost_growth::run },
    Harness { name: "trackers", usage: "[FOLDER]", about: "how well trackers follow the smooth ranks of OHSUMED", run: trackers::run },
    #[cfg(feature = "neural")]
    Harness { name: "training", usage: "< CASES", about: "time of training steps of networks", run: training::run },
    #[cfg(feature = "neural")]
    Harness { name: "libauc", usage: "< CASES", about: "perceptrons trained beside LibAUC", run: libauc::run },
    #[cfg(feature = "neural")]
    Harness { name: "quality", usage: "DATA RESULTS [--only TEXT] [--minutes N] [--with SETTINGS] | --table RESULTS TABLE", about: "objectives × models on learning-to-rank sets", run: quality::run },
    #[cfg(feature = "neural")]
    Harness { name: "top", usage: "DATA RESULTS [--minutes N] [--sets A,B] [--only A,B] [--with SETTINGS] | --table RESULTS FOLDER", about: "objectives on imbalanced binary and multi-label sets", run: top::run },
    Harness { name: "study", usage: "PLAN RESULTS [--only TEXT] [--minutes N] | --table PLAN RESULTS FOLDER", about: "methods × sets by a plan: equal tries, chosen on validation data, tested once, with learning curves", run: study::run },
    Harness { name: "recommend", usage: "DATA RESULTS [--only TEXT] [--minutes N] [--seeds N] [--with SETTINGS] | --table RESULTS FOLDER", about: "objectives × recommenders on MovieLens", run: recommend::run },
    Harness { name: "recommend-speed", usage: "make FOLDER USERS ITEMS LENGTH | step FOLDER STEPS | bpr FOLDER EPOCHS [SETTING]… | rank FOLDER", about: "time of training recommenders and of full ranking", run: recommend_speed::run },
    #[cfg(feature = "neural")]
    Harness { name: "retrieval", usage: "DATA RESULTS [--only TEXT] [--minutes N] [--seeds N] [--model NETWORK] | --table RESULTS TABLE", about: "objectives for embeddings on digits, letter and MNIST", run: retrieval::run },
    Harness { name: "trees-speed", usage: "make FOLDER LISTS | run FOLDER [KEY=VALUE]…", about: "time of binning, boosting and scoring", run: trees_speed::run },
    Harness { name: "trees-quality", usage: "DATA [SETTINGS]…", about: "boosted trees on five folds of MQ2008 and OHSUMED", run: trees_quality::run },
    Harness { name: "interop", usage: "write FOLDER [ROWS] | read FOLDER [ROWS]", about: "models of trees in the formats of other tools, with scores, leaves and SHAP values", run: interop::run },
    Harness { name: "pagerank", usage: "make FILE NODES EDGES tail|core SEED | time FILE ERROR ROUNDS | scores FILE ERROR OUT | gradient QUERIES | growth", about: "time of PageRank and of its gradient", run: pagerank::run },
    Harness { name: "walks", usage: "[FOLDER]", about: "learned walks on Wikispeedia and MUSAE", run: walks::run },
    Harness { name: "memory", usage: "[THREADS]", about: "bytes a second that memory moves in a = b + s·c", run: memory::run },
    Harness { name: "paper001", usage: "[FOLDER]", about: "simulation of SOPRC's estimates", run: paper001::run },
    Harness { name: "paper002", usage: "[FOLDER] [GFN STEPS]", about: "supervised PageRank on generated graphs", run: paper002::run },
    Harness { name: "paper002-gfn", usage: "[FOLDER] [--steps N] [--queries N] [--lipschitz L] [--minutes N]", about: "GFN to convergence on generated graphs, resumable", run: paper002_gfn::run },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(harness) =
        HARNESSES.iter().find(|harness| Some(harness.name) == args.first().map(String::as_str))
    else {
        if let Some(name) = args.first() {
            eprintln!("unknown harness {name:?}; expected one of:");
        }
        for Harness { name, usage, about, .. } in HARNESSES {
            eprintln!("{name} {usage}\n    {about}");
        }
        return ExitCode::from(2);
    };
    let Err(error) = (harness.run)(&args[1..]) else { return ExitCode::SUCCESS };
    if error.is::<WrongUse>() {
        eprintln!("usage: toprank-bench {} {}", harness.name, harness.usage);
        return ExitCode::from(2);
    }
    eprintln!("{}: {error}", harness.name);
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    fn bench() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench")
    }

    /// `bench/README.md` and those of its folders, by path.
    fn pages() -> Vec<(PathBuf, String)> {
        let folders = std::fs::read_dir(bench()).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> = folders.map(|folder| folder.join("README.md")).collect();
        files.push(bench().join("README.md"));
        files.retain(|file| file.exists());
        files.into_iter().map(|file| (file.clone(), std::fs::read_to_string(file).unwrap())).collect()
    }

    /// What follows `mark` in the code of a page, inline or fenced, up to the next blank.
    fn after<'a>(text: &'a str, mark: &'a str) -> impl Iterator<Item = &'a str> {
        // Between back quotes every second part is code; fences of three leave empty parts.
        let code = text.split('`').skip(1).step_by(2);
        code.flat_map(move |code| code.split(mark).skip(1).filter_map(|rest| rest.split_whitespace().next()))
    }

    #[test]
    fn every_command_of_the_pages_exists() {
        let mut harnesses = 0;
        for (page, text) in pages() {
            let page = page.display();
            let names = ["toprank-bench ", "toprank-bench -- ", "--no-default-features -- "];
            let names = names.iter().flat_map(|mark| after(&text, mark));
            for name in names.filter(|name| name.starts_with(|first: char| first.is_ascii_lowercase())) {
                harnesses += 1;
                let known = HARNESSES.iter().any(|harness| harness.name == name);
                // Harnesses of networks are not compiled without them.
                assert!(known || cfg!(not(feature = "neural")), "{page}: there is no harness {name}");
            }
            for script in after(&text, "python bench/") {
                assert!(bench().join(script).exists(), "{page}: there is no bench/{script}");
            }
        }
        assert!(harnesses > 20, "{harnesses} commands");
    }

    #[test]
    fn a_claim_is_one_line_with_a_command_and_a_figure() {
        let text = std::fs::read_to_string(bench().join("README.md")).unwrap();
        let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---"));
        let mut claims = 0;
        for row in rows {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let [claim, command, figure, folder] = cells[..] else { panic!("four cells: {row}") };
            assert!([claim, command, figure].iter().all(|cell| !cell.is_empty()), "{row}");
            assert!(
                cells.iter().all(|cell| cell.chars().count() <= 140),
                "cells of at most 140 characters: {row}"
            );
            let name = folder.strip_prefix('[').and_then(|rest| rest.split(']').next());
            if let Some(name) = name {
                assert!(bench().join(name).join("README.md").exists(), "{row}");
            }
            claims += 1;
        }
        assert!(claims > 20, "{claims} claims");
    }

    #[test]
    fn a_harness_says_how_it_is_used() {
        for harness in HARNESSES {
            assert!(
                !harness.about.is_empty() && HARNESSES.iter().filter(|h| h.name == harness.name).count() == 1
            );
        }
        let objective = HARNESSES.iter().find(|harness| harness.name == "objective").unwrap();
        assert!((objective.run)(&["song".to_string()]).unwrap_err().is::<WrongUse>());
    }
}
