//! Shell completions and the manual page, made from the same description as `--help`.

use std::path::PathBuf;

use clap::CommandFactory;

use crate::failure::{EXIT_CODES, Failure};
use crate::{Cli, Common, print};

/// Print shell completions
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example: toprank completions bash > ~/.local/share/bash-completion/completions/toprank"
)]
pub struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

impl Completions {
    /// Prints them.
    pub fn run(&self, _: &Common) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "toprank", &mut bytes);
        print(&String::from_utf8_lossy(&bytes))
    }
}

/// The command with its exit codes, which stand at the end of the manual page.
fn command() -> clap::Command {
    let line = |(code, name, about): &(u8, &str, &str)| format!("  {code:<3}  {name}: {about}\n");
    let codes: String = EXIT_CODES.iter().map(line).collect();
    Cli::command().after_long_help(format!("Exit codes:\n{codes}"))
}

/// Print the manual page, or write the pages of all commands into a folder
#[derive(clap::Args, Debug)]
#[command(after_help = "Example: toprank man | man -l -")]
pub struct Man {
    /// Folder for one page per command [default: the main page on standard output]
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

impl Man {
    /// Prints or writes them.
    pub fn run(&self, _: &Common) -> Result<(), Failure> {
        if let Some(folder) = &self.output {
            let failed = |error: std::io::Error| Failure::file(folder.display(), &error);
            std::fs::create_dir_all(folder).map_err(failed)?;
            return clap_mangen::generate_to(command(), folder).map_err(failed);
        }
        let mut bytes = Vec::new();
        clap_mangen::Man::new(command()).render(&mut bytes).map_err(Failure::failed)?;
        print(&String::from_utf8_lossy(&bytes))
    }
}
