//! `toprank quickstart`: from data to a comparison of models, on generated data, each command as a user would type it.

use std::path::PathBuf;

use clap::Parser;

use crate::failure::Failure;
use crate::{Cli, Common, note, print};

/// Objectives to train and compare: a pairwise, a listwise and a compositional one.
const OBJECTIVES: [&str; 3] = ["ranknet", "listnet", "song-v2"];

/// Take a tour: generate data, train three objectives, compare them with tests, plot
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Every command is printed before it runs, so that it can be typed again with other files.\n\n\
    Example: toprank quickstart -o demo"
)]
pub struct Quickstart {
    /// Folder for data, models, scores and plots
    #[arg(long, short, value_name = "FOLDER", default_value = "quickstart")]
    output: PathBuf,
    /// Lists of the generated data
    #[arg(long, value_name = "N", default_value_t = 300)]
    lists: u32,
    /// Seed of data and models
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

impl Quickstart {
    /// Runs one command after the other.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        crate::heap::keep();
        if common.json {
            return Err(Failure::usage(
                "quickstart prints the output of several commands; expected no --json",
            ));
        }
        std::fs::create_dir_all(&self.output)
            .map_err(|error| Failure::file(self.output.display(), &error))?;
        let at = |name: &str| self.output.join(name).display().to_string();
        let (lists, seed) = (self.lists.to_string(), self.seed.to_string());
        let folder = at("data");
        let mut generate = vec!["generate", "letor", "--lists", &lists, "--seed", &seed, "-o", &folder];
        // The data of an earlier run are replaced; without one, data in this folder are not quickstart's own.
        if self.output.join("ranknet.toprank").exists() {
            generate.push("--force");
        }
        step(common, &generate)?;
        let data = |part: &str| at(&format!("data/{part}.txt"));
        let mut runs = Vec::new();
        for objective in OBJECTIVES {
            let (model, scores) = (at(&format!("{objective}.toprank")), at(&format!("{objective}.txt")));
            let curves = at(&format!("{objective}.curves"));
            step(
                common,
                &[
                    "train",
                    "--data",
                    &data("train"),
                    "--valid",
                    &data("vali"),
                    "--objective",
                    objective,
                    "--model",
                    "mlp:hidden=32",
                    "--epochs",
                    "30",
                    "--seed",
                    &seed,
                    "--curves",
                    &curves,
                    "-o",
                    &model,
                ],
            )?;
            step(common, &["predict", &model, "--data", &data("test"), "-o", &scores])?;
            runs.push(format!("{objective}={scores}"));
        }
        let (test, plot) = (data("test"), at("differences.svg"));
        let mut compare = vec!["compare", "--data", &test, "--metrics", "ndcg@10,map"];
        if cfg!(feature = "plots") {
            compare.extend(["--plot", &plot]);
        }
        compare.extend(runs.iter().map(String::as_str));
        step(common, &compare)?;
        note(common, format!("learning curves and plots are in {}", self.output.display()));
        Ok(())
    }
}

/// Prints a command and runs it.
fn step(common: &Common, words: &[&str]) -> Result<(), Failure> {
    print(&format!("\n$ toprank {}\n", words.join(" ")))?;
    let mut args = vec!["toprank"];
    args.extend(words);
    if common.quiet {
        args.push("--quiet");
    }
    let cli = Cli::try_parse_from(args).map_err(Failure::usage)?;
    cli.command.run(&cli.common)
}
