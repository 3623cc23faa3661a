//! The flags of a trainer, made from the library's table of settings.

use std::marker::PhantomData;

use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use toprank::train::fit::settings::Range;
use toprank::train::{SETTINGS, Setting, Settings, TrainerKind};

/// A trainer as a type.
pub trait Trainer {
    const KIND: TrainerKind;
}

macro_rules! trainers {
    ($($name:ident),*) => {$(
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Trainer for $name {
            const KIND: TrainerKind = TrainerKind::$name;
        }
    )*};
}
trainers!(Rank, Recommend, Embed, Walk);

/// The settings of a trainer as flags, under the names they have in a config file.
#[derive(Clone, Debug)]
pub struct SettingFlags<T> {
    /// What was given.
    pub settings: Settings,
    trainer: PhantomData<T>,
}

impl<T: Trainer> Args for SettingFlags<T> {
    fn augment_args(command: Command) -> Command {
        let own = SETTINGS.iter().filter(|setting| setting.default_for(T::KIND).is_some());
        own.fold(command, |command, setting| command.arg(arg(setting, T::KIND)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn arg(setting: &'static Setting, kind: TrainerKind) -> Arg {
    let mut help = setting.help.trim().trim_end_matches('.').to_string();
    let default = setting.default_for(kind).unwrap_or_default();
    let shown = default.strip_prefix("by data: ").unwrap_or(default);
    if !shown.is_empty() && !setting.metavar.is_empty() {
        help += &format!(" [default: {shown}]");
    }
    let arg = Arg::new(setting.key)
        .long(setting.key)
        .visible_aliases(setting.aliases.iter().copied())
        .help(help.replace('`', ""))
        .help_heading(if setting.is_path { "Files" } else { "Settings" })
        .hide_short_help(!setting.is_main);
    let arg = if setting.key == "output" { arg.short('o') } else { arg };
    if setting.metavar.is_empty() {
        return arg.action(ArgAction::SetTrue);
    }
    let arg = arg.value_name(setting.metavar).allow_negative_numbers(true);
    let arg = if setting.is_list { arg.action(ArgAction::Append) } else { arg };
    match setting.range {
        Range::OneOf(names) => arg.value_parser(PossibleValuesParser::new(names)).hide_possible_values(true),
        _ => arg,
    }
}

impl<T: Trainer> FromArgMatches for SettingFlags<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut settings = Settings::default();
        for setting in SETTINGS.iter().filter(|setting| setting.default_for(T::KIND).is_some()) {
            let text = match setting.metavar.is_empty() {
                true => matches.get_flag(setting.key).then(|| "true".to_string()),
                false => matches
                    .get_many::<String>(setting.key)
                    .map(|values| values.cloned().collect::<Vec<String>>().join("\n")),
            };
            if let Some(text) = text {
                let wrong = |error| clap::Error::raw(ErrorKind::InvalidValue, format!("--{error}\n"));
                settings.set(setting.key, &text).map_err(wrong)?;
            }
        }
        Ok(SettingFlags { settings, trainer: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
