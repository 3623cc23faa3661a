//! No command writes over what it reads: checked once for all commands, by their arguments.

use std::path::Path;

use clap::{Arg, ArgMatches, Command, CommandFactory};
use toprank::data::graph::GraphFiles;
use toprank::data::{files, inputs};
use toprank::train::{Files, Settings};

use crate::Cli;
use crate::failure::Failure;

/// What values that are files or folders are called in the help.
const FILES: &[&str] = &["DATA", "FILE", "FOLDER", "FROM", "MODEL", "NAME=FILE", "RUNS", "TO"];

/// The arguments whose files are written; all other files are read. A resumed run reads its checkpoint and writes the model.
const WRITTEN: &[&str] = &[
    "curves",
    "judged",
    "output",
    "per_list",
    "per_query",
    "per_user",
    "plot",
    "reliability_plot",
    "resume",
    "save",
    "to",
];

/// Those of them that are plots.
const PLOTS: &[&str] = &["plot", "reliability_plot"];

/// Protects the files that the arguments name as inputs, and refuses outputs that are one of them or cannot be written. Files in folders, and
/// files named after an output, are refused when they are written.
pub fn guard(matches: &ArgMatches) -> Result<(), Failure> {
    let root = Cli::command();
    let (mut command, mut matches) = (&root, matches);
    while let Some((name, below)) = matches.subcommand() {
        let Some(sub) = command.find_subcommand(name) else { break };
        (command, matches) = (sub, below);
    }
    let (written, read): (Vec<&Arg>, Vec<&Arg>) =
        arguments(command).partition(|arg| WRITTEN.contains(&arg.get_id().as_str()));
    for arg in read {
        for value in values(matches, arg) {
            protect(&value, &shown(arg));
        }
    }
    for arg in written {
        for value in values(matches, arg) {
            inputs::refuse(Path::new(&value))?;
            if PLOTS.contains(&arg.get_id().as_str()) {
                plot_name(Path::new(&value))?;
            }
            // A run to be resumed must have begun, which is checked with its checkpoint.
            if arg.get_id() != "resume" {
                writable(Path::new(&value), value_name(arg) == "FOLDER")?;
            }
        }
    }
    Ok(())
}

/// Said before the work begins: this build can write such a plot.
#[cfg(feature = "plots")]
fn plot_name(path: &Path) -> Result<(), Failure> {
    toprank_plots::check_name(path).map_err(Failure::usage)
}

#[cfg(not(feature = "plots"))]
fn plot_name(path: &Path) -> Result<(), Failure> {
    Err(Failure::usage(format!(
        "{}: this build has no plots; install toprank with --features plots, or omit the flag",
        path.display()
    )))
}

/// Said before the work begins: a file needs a folder that exists, and one is not the other. A folder is made if needed.
fn writable(path: &Path, as_folder: bool) -> Result<(), Failure> {
    let shown = path.display();
    if as_folder {
        return match path.exists() && !path.is_dir() {
            true => Err(Failure::usage(format!("{shown}: a file; expected a folder"))),
            false => Ok(()),
        };
    }
    if path.is_dir() {
        return Err(Failure::usage(format!("{shown}: a folder; expected a file name")));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| !folder.exists()) {
        Some(folder) => Err(Failure::failed(format!(
            "{shown}: the folder {} does not exist; make it first, or name another one",
            folder.display()
        ))),
        None => Ok(()),
    }
}

/// The same for a training run, whose files may be named by a config file or a checkpoint.
pub fn guard_settings(paths: &Settings) -> Result<(), Failure> {
    let many = [("data", &paths.data), ("valid", &paths.valid), ("test", &paths.test)];
    for (key, Files(files)) in many.iter().filter_map(|(key, files)| Some((key, files.as_ref()?))) {
        for file in files {
            protect(file, key);
        }
    }
    let single = [
        ("pairs", &paths.pairs),
        ("graphs", &paths.graphs),
        ("from", &paths.from),
        ("user-features", &paths.user_features),
        ("item-features", &paths.item_features),
    ];
    for (key, file) in single.iter().filter_map(|(key, file)| Some((key, file.as_ref()?))) {
        protect(file, key);
    }
    let Some(output) = paths.output.as_deref().map(Path::new) else { return Ok(()) };
    inputs::refuse(output)?;
    writable(output, false)
}

/// The arguments of a command that name files.
fn arguments(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| FILES.contains(&value_name(arg).as_str()))
}

fn value_name(arg: &Arg) -> String {
    let stated = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    stated.unwrap_or_else(|| arg.get_id().as_str().to_uppercase())
}

fn values(matches: &ArgMatches, arg: &Arg) -> Vec<String> {
    let raw = matches.try_get_raw(arg.get_id().as_str()).ok().flatten();
    raw.into_iter().flatten().map(|value| value.to_string_lossy().into_owned()).collect()
}

/// The argument as a person types it.
fn shown(arg: &Arg) -> String {
    arg.get_long().map_or_else(|| value_name(arg), |long| format!("--{long}"))
}

/// Protects a file, the files of a pattern, the file of `NAME=FILE`, the tables in a folder of graphs.
fn protect(value: &str, named_by: &str) {
    let named = value.split_once('=').map(|(_, file)| file).filter(|_| !Path::new(value).exists());
    // A pattern without files is reported by whoever reads it.
    for file in files::expand(named.unwrap_or(value)).unwrap_or_default() {
        inputs::protect(Path::new(&file), named_by);
        if let Ok(GraphFiles { nodes, edges, judgements, seeds, .. }) = GraphFiles::folder(file.as_ref()) {
            let tables = [nodes, edges, judgements, seeds];
            tables.iter().flatten().for_each(|table| inputs::protect(table, named_by));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that are no files.
    const OTHERS: &str = "ADDRESS ALPHA AVERAGE BITS COLUMN COLUMNS D DANGLING E FEATURES FORMAT FRACTION H HOST:PORT HOW ITEMS K KIND \
        L LABEL LAMBDA LEVEL LIST LOW..HIGH MB METHOD METRIC METRICS MODELS N NAME NORM OBJECTIVE ON PART PARTS \
        PYTHON R RATE RULE SCORE SECONDS SHELL SOLVER SPLIT STYLE TASK TESTS TIME TOOL VALUE VIEWS WHAT WHERE WHICH WORDS error|skip fp=A,fn=B yes|no";

    fn all(command: &Command, names: &mut std::collections::BTreeSet<String>) {
        names.extend(command.get_arguments().filter(|arg| arg.get_action().takes_values()).map(value_name));
        command.get_subcommands().for_each(|sub| all(sub, names));
    }

    #[test]
    fn every_kind_of_value_is_known_as_a_file_or_as_something_else() {
        let mut names = std::collections::BTreeSet::new();
        all(&Cli::command(), &mut names);
        let unknown: Vec<&String> = names
            .iter()
            .filter(|name| {
                !FILES.contains(&name.as_str()) && !OTHERS.split(' ').any(|other| other == name.as_str())
            })
            .collect();
        assert!(unknown.is_empty(), "is it a file? {unknown:?}");
    }
}
