//! Help that fits a screen: the commands in groups, `-h` short, `--help` whole.

use std::ffi::OsString;

use clap::{Arg, Command, CommandFactory};

use crate::failure::EXIT_CODES;
use crate::{Cli, GROUPS, page, reading};

/// Lines and columns of the screen that `toprank --help` and every `-h` fit.
const LINES: usize = 40;
const COLUMNS: usize = 100;

/// Examples in `-h`.
const EXAMPLES: usize = 3;

/// Lines of the help: variants of commands, and the text that they share, if they share one.
type GroupLine = (&'static [&'static str], &'static str);

/// A heading and the lines under it.
pub type Group = (&'static str, &'static [GroupLine]);

const EXAMPLES_AND_MORE: &str = "\
Example: toprank evaluate --data test.txt --scores scores.txt -m ndcg@10,map
Every command takes --json, --quiet and --threads N; COMMAND -h is short, COMMAND --help complete.
Files may be plain, .gz or .zst; - is standard input. NO_COLOR turns colours off.";

/// The command line, with the help of what `args` ask for made to fit; without a wish for help as it was declared.
pub fn command(args: &[OsString]) -> Command {
    let words: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.to_str()).collect();
    let asked = words.iter().any(|word| matches!(*word, "-h" | "--help" | "help"));
    let named: Vec<&str> =
        words.iter().copied().filter(|word| !word.starts_with('-') && *word != "help").collect();
    // A command without anything else behind it may print its help, too.
    if !asked && (named.len() < words.len() || named.len() > 2) {
        return Cli::command();
    }
    let command = Cli::command();
    let (groups, codes) = (groups(&command), exit_codes());
    let template = format!("{{about}}\n\nUsage: {{usage}}\n\n{groups}{EXAMPLES_AND_MORE}\n{codes}\n");
    let mut path: Vec<&str> = Vec::new();
    let mut at = &command;
    while let Some(sub) = named.get(path.len()).and_then(|name| at.find_subcommand(name)) {
        path.push(sub.get_name());
        at = sub;
    }
    let path: Vec<String> = path.into_iter().map(String::from).collect();
    fitted(command.help_template(template), &path)
}

/// The exit codes in one line.
fn exit_codes() -> String {
    let codes: Vec<String> = EXIT_CODES.iter().map(|(code, name, _)| format!("{code} {name}")).collect();
    format!("Exit codes: {}.", codes.join(", "))
}

/// Changes the command that the words name.
fn change(command: Command, path: &[String], with: &mut dyn FnMut(Command) -> Command) -> Command {
    match path.split_first() {
        Some((name, rest)) => command.mut_subcommand(name, |sub| change(sub, rest, with)),
        None => with(command),
    }
}

/// The command that the words name.
fn named<'a>(command: &'a Command, path: &[String]) -> &'a Command {
    path.iter().fold(command, |at, name| at.find_subcommand(name).unwrap_or(at))
}

/// Lines of its short help, on a screen of 100 columns.
fn lines(command: &Command, path: &[String]) -> usize {
    // Arguments can only be changed before a command is built, and global ones are only there afterwards.
    let mut built = command.clone();
    built.build();
    named(&built, path).clone().term_width(COLUMNS).render_help().to_string().lines().count()
}

/// Every command with its one line, under its group.
fn groups(command: &Command) -> String {
    let about = |name: &str| {
        let about = command.find_subcommand(name).and_then(Command::get_about);
        about.map(ToString::to_string).unwrap_or_default()
    };
    let mut text = String::new();
    for (group, lines) in GROUPS {
        text += &format!("{group}:\n");
        for (variants, shared) in *lines {
            let names: Vec<String> = variants.iter().map(|variant| variant.to_lowercase()).collect();
            let about = if shared.is_empty() { about(&names[0]) } else { (*shared).to_string() };
            let names = format!("  {:<10}", names.join(", "));
            text += &format!("{names}  {}\n", clause(&about, COLUMNS - names.chars().count() - 2));
        }
        text.push('\n');
    }
    text
}

/// As many clauses of a text as have room.
fn clause(text: &str, width: usize) -> &str {
    let mut text = text;
    while text.chars().count() > width {
        let Some(end) = text.rfind([',', ';', ':']) else { break };
        text = &text[..end];
    }
    text
}

/// The flags that `-h` may leave to `--help`: what is declared last goes first.
fn optional(command: &Command) -> Vec<String> {
    let shown = |arg: &&Arg| !arg.is_hide_short_help_set() && !arg.is_hide_set();
    let needed = |arg: &&Arg| arg.is_required_set() || arg.is_positional() || arg.is_global_set();
    let flags = command.get_arguments().filter(shown).filter(|arg| !needed(arg));
    flags.map(|arg| arg.get_id().to_string()).filter(|id| id != "help" && id != "version").collect()
}

/// The command line in which `-h` of the command at `path` leaves to `--help` how data are read, and further flags as far as
/// they do not fit the screen.
fn fitted(mut command: Command, path: &[String]) -> Command {
    let at = named(&command, path);
    let whole = at.get_after_long_help().or(at.get_after_help()).map(ToString::to_string);
    let examples: Vec<&str> = whole.as_deref().unwrap_or_default().lines().collect();
    let examples = match examples.first() {
        Some(first) if first.starts_with("Example") => {
            let some = examples.iter().take_while(|line| !line.is_empty()).take(EXAMPLES + 1);
            page::continued(&some.copied().collect::<Vec<_>>().join("\n"), page::width())
        }
        _ => String::new(),
    };
    let reading = |arg: &&Arg| arg.get_help_heading() == Some(reading::HEADING);
    let of_reading: Vec<String> =
        at.get_arguments().filter(reading).map(|arg| arg.get_id().to_string()).collect();
    let reads = !of_reading.is_empty();
    command = change(command, path, &mut |mut command| {
        if let Some(whole) = &whole {
            command = command.after_long_help(page::continued(&page::unfolded(whole), page::width()));
        }
        of_reading.iter().fold(command, |command, id| command.mut_arg(id, |arg| arg.hide_short_help(true)))
    });
    loop {
        let short = ending(&examples, left_out(named(&command, path)), reads, whole.is_some());
        if !short.is_empty() {
            command = change(command, path, &mut |command| command.after_help(short.clone()));
        }
        let last = optional(named(&command, path)).pop();
        let Some(last) = last.filter(|_| lines(&command, path) > LINES) else { return command };
        command = change(command, path, &mut |command| {
            command.mut_arg(last.as_str(), |arg| arg.hide_short_help(true))
        });
    }
}

/// How many flags `-h` leaves to `--help`, those of reading data not counted.
fn left_out(command: &Command) -> usize {
    let flags = command.get_arguments().filter(|arg| arg.get_help_heading() != Some(reading::HEADING));
    flags.filter(|arg| arg.is_hide_short_help_set() && !arg.is_hide_set()).count()
}

/// The end of the short help: examples, and what the whole help has beyond it.
fn ending(examples: &str, hidden: usize, reads: bool, explains: bool) -> String {
    let mut more = Vec::new();
    if hidden > 0 {
        more.push(crate::table::counted(hidden, "further flag"));
    }
    if reads {
        more.push("how data are read (columns, formats)".to_string());
    }
    let more = match (more.is_empty(), explains) {
        (false, _) => format!("--help also has: {}.", more.join(", ")),
        (true, true) => "--help explains more.".into(),
        (true, false) => String::new(),
    };
    let parts = [examples, more.as_str()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words that name each command.
    fn paths(command: &Command, before: &[String]) -> Vec<Vec<String>> {
        let subs = command.get_subcommands().filter(|sub| sub.get_name() != "help");
        let all = subs.flat_map(|sub| {
            let path = [before, &[sub.get_name().to_string()]].concat();
            let below = paths(sub, &path);
            std::iter::once(path).chain(below)
        });
        all.collect()
    }

    fn help(path: &[String], flag: &str) -> String {
        let mut words: Vec<OsString> = vec!["toprank".into()];
        words.extend(path.iter().map(OsString::from));
        words.push(flag.into());
        let error = command(&words).term_width(COLUMNS).try_get_matches_from(words).unwrap_err();
        error.to_string()
    }

    #[test]
    fn the_short_help_of_every_command_fits_a_screen() {
        let mut command = Cli::command();
        command.build();
        let paths = paths(&command, &[]);
        assert!(paths.len() > 30, "{paths:?}");
        for path in paths.iter().chain([&Vec::new()]) {
            let text = help(path, "-h");
            let lines = text.lines().count();
            assert!(lines <= LINES, "toprank {} -h has {lines} lines:\n{text}", path.join(" "));
            // clap does not wrap usage lines, and examples are to be copied.
            let wraps = |line: &&str| !line.starts_with("Usage:") && !line.contains("  toprank ");
            let long = text.lines().filter(wraps).find(|line| line.chars().count() > COLUMNS);
            assert!(long.is_none(), "toprank {} -h: {long:?}", path.join(" "));
        }
    }

    #[test]
    fn the_whole_help_has_what_the_short_one_leaves_out() {
        let predict = ["predict".to_string()];
        let (short, whole) = (help(&predict, "-h"), help(&predict, "--help"));
        assert!(!short.contains("--input-format") && short.contains("how data are read"), "{short}");
        assert!(whole.contains("--input-format") && whole.contains("--jsonl"), "{whole}");
        let train = ["train".to_string()];
        let flags = |text: &str| {
            let end = text.find("Reading data:").or(text.find("Examples:")).unwrap_or(text.len());
            let own = &text[..end];
            own.lines().filter(|line| line.trim_start().starts_with('-')).count()
        };
        let (short, whole) = (help(&train, "-h"), help(&train, "--help"));
        let missing = flags(&whole) - flags(&short);
        assert!(short.contains(&format!("--help also has: {missing} further flags")), "{missing}: {short}");
    }

    #[test]
    fn examples_can_be_copied_into_a_shell() {
        let mut command = Cli::command();
        command.build();
        let mut seen = 0;
        for path in paths(&command, &[]) {
            let text = help(&path, "--help");
            let mut lines = text.lines().peekable();
            while let Some(line) = lines.next() {
                if !line.starts_with("  toprank ") {
                    continue;
                }
                seen += 1;
                // A remark behind a command is a comment of the shell, which ends with the line.
                let (typed, remark) = line.split_once(" # ").unwrap_or((line, ""));
                let quoted = typed.contains('\'');
                assert!(
                    quoted || !typed.contains(['(', ')', '…', '[']),
                    "toprank {}: {line}",
                    path.join(" ")
                );
                let next = lines.peek().copied().unwrap_or_default();
                let complete = remark.is_empty() || next.is_empty() || next.starts_with("  toprank ");
                assert!(complete, "toprank {}: {line}\n{next}", path.join(" "));
            }
        }
        assert!(seen > 60, "only {seen} examples were found");
    }

    #[test]
    fn every_command_stands_in_one_group_of_a_help_of_one_screen() {
        let text = help(&[], "--help");
        assert!(text.lines().count() <= LINES, "{} lines:\n{text}", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            let named = GROUPS.iter().flat_map(|(_, lines)| *lines).flat_map(|(names, _)| *names);
            assert_eq!(named.filter(|known| known.to_lowercase() == name).count(), 1, "{name}");
        }
    }
}
