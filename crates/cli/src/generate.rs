//! `toprank generate`: synthetic data. The subcommands are the library's table of generators.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, FromArgMatches, Subcommand};
use serde_json::json;
use toprank::core::{Args, catalog};
use toprank::data::generate::{self, GENERATORS, GenerateError};

use crate::failure::Failure;
use crate::folder::Filled;
use crate::progress::Progress;
use crate::table::{Style, Table};
use crate::{Common, page, print, print_json};

/// Generate realistic data: the same seed gives the same bytes on every machine
#[derive(clap::Args, Debug)]
#[command(after_help = "Example: toprank generate letor --lists 1000 --seed 1 -o demo")]
pub struct Generate {
    #[command(subcommand)]
    chosen: Chosen,
}

/// One generator with its parameters, read from the library's table.
#[derive(Debug)]
struct Chosen {
    name: String,
    args: Args,
    folder: PathBuf,
    force: bool,
}

impl Subcommand for Chosen {
    fn augment_subcommands(mut command: Command) -> Command {
        for generator in GENERATORS {
            let folder = Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FOLDER")
                .required(true)
                .value_parser(clap::value_parser!(PathBuf))
                .help("Folder for the files; made if needed");
            let force = Arg::new("force")
                .long("force")
                .action(clap::ArgAction::SetTrue)
                .help("Replace the files of an earlier run in the folder");
            // clap wraps the text at the terminal's width.
            let about = page::render(generator.page, usize::MAX);
            let mut sub =
                Command::new(generator.name).about(generator.about).long_about(about).args([folder, force]);
            for param in generator.params {
                let help = format!("{}: {} [default: {}]", param.about, param.range, param.default);
                sub = sub.arg(Arg::new(param.name).long(param.name).value_name("VALUE").help(help));
            }
            command = command.subcommand(sub);
        }
        command
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Chosen::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        generate::by_name(name).is_some()
    }
}

impl FromArgMatches for Chosen {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Chosen, clap::Error> {
        let found = matches.subcommand().and_then(|(name, sub)| Some((generate::by_name(name)?, sub)));
        let Some((generator, sub)) = found else {
            return Err(clap::Error::new(clap::error::ErrorKind::MissingSubcommand));
        };
        let given = |name: &str| sub.get_one::<String>(name).map(|value| (name.to_string(), value.clone()));
        Ok(Chosen {
            name: generator.name.into(),
            args: Args(generator.params.iter().filter_map(|param| given(param.name)).collect()),
            folder: sub.get_one::<PathBuf>("output").cloned().unwrap_or_default(),
            force: sub.get_flag("force"),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Chosen::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Generate {
    /// Writes the files and says what they hold.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let Chosen { name, args, folder, force } = &self.chosen;
        let known = || GENERATORS.iter().map(|generator| generator.name);
        let generator =
            generate::by_name(name).ok_or_else(|| catalog::unknown("generator", name, known()))?;
        let ours = |name: &str| generator.files.contains(&name);
        let filled = Filled::open(folder, &ours, *force)?;
        let bar = Progress::bar(common.quiet, &format!("generating {name}"));
        let written =
            generator.run(args, folder, &mut |done, total| bar.set(done, total)).map_err(|e| match e {
                GenerateError::Param(error) => Failure::from(error),
                GenerateError::File(error) => Failure::from(error),
            })?;
        drop(bar);
        let paths: Vec<PathBuf> = written.files.iter().map(|file| file.path.clone()).collect();
        filled.close(&paths)?;
        if common.json {
            return print_json(&json!({"generator": name, "files": written.files}));
        }
        let mut table = Table::new(["file", "rows", "lists", "bytes"]);
        for file in &written.files {
            let numbers = [file.rows, file.lists, file.bytes].map(|n| n.to_string());
            table.row([vec![file.path.display().to_string()], numbers.to_vec()].concat());
        }
        print(&table.render(Style::Table))
    }
}
