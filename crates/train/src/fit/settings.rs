/*!
Settings of every trainer, each defined once: config key and flag, aliases, type, range, default, help.

The table [`SETTINGS`] is all there is: the command makes its flags and help from it, a TOML file and Python keywords are read
by it, [`Config`] is checked by it. A new setting is one entry here, and the place that uses it.

```
use toprank_train::{Settings, TrainerKind};
let settings = Settings::from_toml("model = \"linear\"\nlearning-rate = 0.5").unwrap();
let config = settings.resolve(TrainerKind::Rank).unwrap();
assert_eq!((config.learning_rate(), config.patience()), (0.5, 20));
let error = Settings::from_toml("epochs = 0").unwrap().resolve(TrainerKind::Rank).unwrap_err();
assert_eq!(error.to_string(), "epochs must be an integer from 1 to 1000000, but is 0");
let error = Settings::from_toml("recency = 3.0").unwrap().resolve(TrainerKind::Rank).unwrap_err();
assert!(error.to_string().contains("a setting of `toprank recommend train`"), "{error}");
```
*/

use serde::{Deserialize, Serialize};
use toprank_core::{ParamError, Policy, catalog};
use toprank_metrics::Measure;
use toprank_objectives::Goal;

use crate::fit::{average, optimiser, sampler, schedule};
use crate::rank::calibration::Calibrate;
use crate::{embed, rank, recommend, walk};

/// What is trained: decides which settings there are and what their defaults are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrainerKind {
    /// A model that scores rows of features (`toprank train`).
    Rank,
    /// A recommender (`toprank recommend train`).
    Recommend,
    /// An embedding (`toprank embed train`).
    Embed,
    /// A learned walk over graphs (`toprank pagerank train`).
    Walk,
}

impl TrainerKind {
    /// The command that trains it, behind `toprank`.
    pub fn command(self) -> &'static str {
        match self {
            TrainerKind::Rank => "train",
            TrainerKind::Recommend => "recommend train",
            TrainerKind::Embed => "embed train",
            TrainerKind::Walk => "pagerank train",
        }
    }
}

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// Key of a config file, and flag behind `--`.
    pub key: &'static str,
    /// Other spellings of key and flag.
    pub aliases: &'static [&'static str],
    /// What stands for its value in help texts; empty: a switch.
    pub metavar: &'static str,
    /// What it does.
    pub help: &'static str,
    /// What its value is, in words: text, a number …
    pub value_words: &'static str,
    /// What is allowed.
    pub range: Range,
    /// The trainers that have it, with the default of each: a value, `by model` and the like where it depends on other
    /// settings or on the data, or nothing.
    pub defaults: &'static [(TrainerKind, &'static str)],
    /// True if it does not decide the bytes of the model: files to read and to write.
    pub is_path: bool,
    /// True if it belongs into a short help.
    pub is_main: bool,
    /// True if it may be given several times.
    pub is_list: bool,
}

impl Setting {
    /// The default for a trainer, as help texts show it; `None`: the trainer does not have the setting.
    pub fn default_for(&self, kind: TrainerKind) -> Option<&'static str> {
        self.defaults.iter().find(|(known, _)| *known == kind).map(|(_, default)| *default)
    }

    /// The default as a value; `None` where it depends on something else, or there is none.
    fn fixed_default(&self, kind: TrainerKind) -> Option<&'static str> {
        self.default_for(kind).filter(|default| !default.is_empty() && !default.starts_with("by "))
    }
}

/// What is allowed for the value of a setting.
#[derive(Clone, Copy, Debug)]
pub enum Range {
    /// Anything.
    Any,
    /// A finite number above 0.
    Positive,
    /// A finite number, 0 or above.
    NonNegative,
    /// A number above 0 and below 1.
    OpenUnit,
    /// Integers, both ends included.
    Integers(u64, u64),
    /// One of these.
    OneOf(&'static [&'static str]),
    /// What this function accepts.
    Checked(fn(&str) -> Result<(), ParamError>),
}

impl Range {
    /// What is allowed, in words; nothing where a catalog says it.
    pub fn words(&self) -> String {
        match self {
            Range::Any | Range::Checked(_) => String::new(),
            Range::Positive => "a number above 0".into(),
            Range::NonNegative => "a number of 0 or above".into(),
            Range::OpenUnit => "a number above 0 and below 1".into(),
            Range::Integers(from, to) if *to == u64::MAX => format!("an integer from {from} on"),
            Range::Integers(from, to) => format!("an integer from {from} to {to}"),
            Range::OneOf(names) => format!("one of {}", names.join(", ")),
        }
    }

    fn check(&self, key: &str, text: &str) -> Result<(), ParamError> {
        let number = || text.parse::<f64>().unwrap_or(f64::NAN);
        let fine = match self {
            Range::Any => true,
            Range::Positive => number() > 0.0 && number().is_finite(),
            Range::NonNegative => number() >= 0.0 && number().is_finite(),
            Range::OpenUnit => number() > 0.0 && number() < 1.0,
            Range::Integers(from, to) => text.parse::<u64>().is_ok_and(|n| (*from..=*to).contains(&n)),
            Range::OneOf(names) => names.contains(&text),
            Range::Checked(check) => return check(text),
        };
        if fine { Ok(()) } else { Err(ParamError::new(key, text, &self.words())) }
    }
}

/// The type of a setting.
pub trait SettingValue: Sized {
    /// How a checked value is handed out.
    type Ref<'a>
    where
        Self: 'a;

    /// Reads a value as it is written on the command line.
    fn from_text(text: &str) -> Option<Self>;

    /// The value as it would be written there.
    fn to_text(&self) -> String;

    /// The value, or nothing (0, an empty text, false) where a trainer has no such setting.
    fn get(value: Option<&Self>) -> Self::Ref<'_>;

    /// What it is, for messages.
    const WORDS: &'static str;

    /// True if it may be given several times.
    const IS_LIST: bool = false;
}

impl SettingValue for String {
    type Ref<'a> = &'a str;
    const WORDS: &'static str = "text";

    fn from_text(text: &str) -> Option<String> {
        Some(text.to_string())
    }

    fn to_text(&self) -> String {
        self.clone()
    }

    fn get(value: Option<&String>) -> &str {
        value.map_or("", String::as_str)
    }
}

/// One file, or several that are read one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "OneOrMany", into = "OneOrMany")]
pub struct Files(pub Vec<String>);

/// A config file has a string or a list of them.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Files {
    fn from(files: OneOrMany) -> Files {
        match files {
            OneOrMany::One(file) => Files(vec![file]),
            OneOrMany::Many(files) => Files(files),
        }
    }
}

impl From<Files> for OneOrMany {
    fn from(Files(mut files): Files) -> OneOrMany {
        match files.len() {
            1 => OneOrMany::One(files.remove(0)),
            _ => OneOrMany::Many(files),
        }
    }
}

impl From<&str> for Files {
    fn from(file: &str) -> Files {
        Files(vec![file.to_string()])
    }
}

impl std::fmt::Display for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}", self.0.join(", "))
    }
}

impl SettingValue for Files {
    type Ref<'a> = &'a [String];
    const WORDS: &'static str = "files";
    const IS_LIST: bool = true;

    /// Several files stand on lines of their own.
    fn from_text(text: &str) -> Option<Files> {
        Some(Files(text.lines().map(String::from).collect()))
    }

    fn to_text(&self) -> String {
        self.0.join("\n")
    }

    fn get(value: Option<&Files>) -> &[String] {
        value.map_or(&[], |files| &files.0)
    }
}

macro_rules! plain_value {
    ($($type:ty: $words:literal),*) => {$(
        impl SettingValue for $type {
            type Ref<'a> = $type;
            const WORDS: &'static str = $words;

            fn from_text(text: &str) -> Option<$type> {
                text.trim().parse().ok()
            }

            fn to_text(&self) -> String {
                self.to_string()
            }

            fn get(value: Option<&$type>) -> $type {
                value.copied().unwrap_or_default()
            }
        }
    )*};
}
plain_value!(f64: "a number", u32: "an integer of 0 or above", u64: "an integer of 0 or above", bool: "true or false");

macro_rules! settings {
    ($(
        $(#[doc = $doc:literal])+
        $key:literal $(or $($alias:literal),+)? => $field:ident: $type:ty {
            $metavar:literal, $range:expr, [$($kind:ident $default:literal),+]
            $(, $flag:ident)*
        }
    )+) => {
        /// What a user sets; `None`: the default. The same for every trainer, which refuses what it does not have.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
        pub struct Settings {$(
            $(#[doc = $doc])+
            #[serde(rename = $key, $($(alias = $alias,)+)? skip_serializing_if = "Option::is_none")]
            pub $field: Option<$type>,
        )+}

        /// Every setting there is.
        pub static SETTINGS: &[Setting] = &[$(
            Setting {
                key: $key,
                aliases: &[$($($alias),+)?],
                metavar: $metavar,
                help: concat!($($doc),+),
                value_words: <$type as SettingValue>::WORDS,
                range: $range,
                defaults: &[$((TrainerKind::$kind, $default)),+],
                is_path: settings!(@flag is_path $($flag)*),
                is_main: settings!(@flag is_main $($flag)*),
                is_list: <$type as SettingValue>::IS_LIST,
            },
        )+];

        impl Settings {
            /// These settings; where they are silent, those of `base`.
            #[must_use]
            pub fn over(self, base: Settings) -> Settings {
                Settings { $($field: self.$field.or(base.$field)),+ }
            }

            /// Sets the setting of this key from text, as it stands on the command line.
            ///
            /// # Errors
            /// If there is no such setting, or the text is not of its type.
            pub fn set(&mut self, key: &str, text: &str) -> Result<(), ParamError> {
                match key {
                    $($key => {
                        let value = <$type>::from_text(text);
                        let expected = <$type as SettingValue>::WORDS;
                        self.$field = Some(value.ok_or_else(|| ParamError::new(key, text, expected))?);
                        Ok(())
                    })+
                    _ => Err(ParamError::new("a setting", key, &format!("one of {}", Settings::keys().join(", ")))),
                }
            }

            /// The value of the setting of this key as text; `None`: not set, or no such setting.
            pub fn get(&self, key: &str) -> Option<String> {
                match key {
                    $($key => self.$field.as_ref().map(SettingValue::to_text),)+
                    _ => None,
                }
            }

            /// Forgets the setting of this key.
            fn unset(&mut self, key: &str) {
                match key {
                    $($key => self.$field = None,)+
                    _ => {}
                }
            }
        }

        impl Config {$(
            $(#[doc = $doc])+
            pub fn $field(&self) -> <$type as SettingValue>::Ref<'_> {
                <$type as SettingValue>::get(self.settings.$field.as_ref())
            }
        )+}
    };
    (@flag is_path path $($rest:ident)*) => { true };
    (@flag is_main main $($rest:ident)*) => { true };
    (@flag $which:ident $other:ident $($rest:ident)*) => { settings!(@flag $which $($rest)*) };
    (@flag $which:ident) => { false };
}

/// Checked settings of one trainer, with every default filled in: all that decides the bytes of a model, but the data.
///
/// [`Settings::resolve`] makes one before any data are read, [`Config::suited_to`] then fills in the defaults that follow from
/// them. It serialises as the settings do, so that what a model file holds is itself a valid config file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Map<String, serde_json::Value>")]
pub struct Config {
    /// What it is for.
    trainer: TrainerKind,
    #[serde(flatten)]
    settings: Settings,
    /// What the user set, as long as the data can decide the rest; `None` once they have, and in what is read from a file.
    #[serde(skip)]
    given: Option<Box<Settings>>,
}

/// Two configs are the same if they train in the same way, whoever chose the values.
impl PartialEq for Config {
    fn eq(&self, other: &Config) -> bool {
        (self.trainer, &self.settings) == (other.trainer, &other.settings)
    }
}

impl TryFrom<serde_json::Map<String, serde_json::Value>> for Config {
    type Error = serde_json::Error;

    /// By hand: a flattened struct would ignore unknown keys.
    fn try_from(mut map: serde_json::Map<String, serde_json::Value>) -> Result<Config, serde_json::Error> {
        let trainer = serde_json::from_value(map.remove("trainer").unwrap_or_default())?;
        Ok(Config { trainer, settings: serde_json::from_value(map.into())?, given: None })
    }
}

const EPOCHS: Range = Range::Integers(1, 1_000_000);

settings! {
    /// Training data; repeat the flag or give a pattern (`part-*.txt`) for several files.
    "data" => data: Files { "FILE", Range::Any, [Rank "", Recommend "", Embed ""], path, main }
    /// Folder of graphs: the tables nodes, edges, judgements.
    "graphs" => graphs: String { "FOLDER", Range::Any, [Walk ""], path, main }
    /// Validation data (of walks: a folder of graphs): the model that is best on them is kept, and early stopping watches them.
    "valid" => valid: Files { "FILE", Range::Any, [Rank "", Recommend "", Embed "", Walk ""], path, main }
    /// Table of preference pairs of the training lists (columns list, better, worse, weight), for pairwise objectives: items by name, else by position from 1.
    "pairs" => pairs: String { "FILE", Range::Any, [Rank ""], path }
    /// Held-out test pairs, for `toprank recommend evaluate`.
    "test" => test: Files { "FILE", Range::Any, [Recommend ""], path }
    /// How the data are divided: interactions by `leave-last`, `temporal:fractions=80/10/10`, `random:fractions=80/10/10` or `none`, classes by fractions: `60/20/20`.
    "split" => split: String { "SPLIT", Range::Any, [Recommend "by data: leave-last without --valid and --test", Embed "by data: 80/20/0 without --valid"], path, main }
    /// Seed of the split.
    "split-seed" => split_seed: u64 { "N", Range::Any, [Embed "1"], path }
    /// Column of the class. `toprank train`: one list and one output of the model per class, each against the rest.
    "class" => class: String { "COLUMN", Range::Any, [Rank "", Embed "by data: the label"], path, main }
    /// Table of user features, with the names in its column `user` (two-tower).
    "user-features" => user_features: String { "FILE", Range::Any, [Recommend ""], path }
    /// Table of item features, with the names in its column `item` (two-tower).
    "item-features" => item_features: String { "FILE", Range::Any, [Recommend ""], path }
    /// Model file to write.
    "output" or "out" => output: String { "MODEL", Range::Any, [Rank "", Recommend "", Embed "", Walk ""], path, main }
    /// Warm-start from this model file: its parameters, vectors, weights or trees are the start, its transforms are kept.
    "from" => from: String { "MODEL", Range::Any, [Rank "", Recommend "", Embed "", Walk ""], path }
    /// Metric to optimise (see `toprank metrics`), or a loss by name (see `toprank objectives`).
    "objective" => objective: String { "NAME", Range::Any, [Rank "ndcg@10", Recommend "ndcg@20", Embed "map", Walk "margin"], main }
    /// Override the training objective chosen for the metric.
    "algorithm" => algorithm: String { "NAME", Range::Any, [Rank "by objective", Recommend "by objective", Embed "by objective", Walk "by objective"] }
    /// Kind of model, with parameters: `mlp:hidden=256-128`, `trees:l2=1`, `neumf` (see `toprank models`).
    "model" => model: String { "KIND", Range::Any, [Rank "mlp", Recommend "mf", Embed "mlp:hidden=128"], main }
    /// Embedding dimension.
    "dimensions" => dimensions: u32 { "N", Range::Integers(1, 65_536), [Embed "32"], main }
    /// How near two vectors are: cosine, for vectors of length 1, or euclidean (minus the squared distance), for vectors of any length.
    "similarity" => similarity: String { "NAME", Range::OneOf(&["cosine", "euclidean"]), [Embed "cosine"] }
    /// Time that --model auto may take: `90s`, `10m`, `1h`. It is turned into a list of members before the first is trained.
    "budget" => budget: String { "TIME", Range::Checked(check_budget), [Rank "by model: 5m for auto", Recommend "by model: 5m for auto"], main }
    /// Members of --model auto, in their order, instead of a budget: `trees,mlp,linear` (see `toprank models`).
    "members" => members: String { "LIST", Range::Checked(check_members), [Rank "by model: by budget for auto", Recommend "by model: by budget for auto"] }
    /// Optimiser, with parameters: sgd, momentum, adam, adamw, storm.
    "optimiser" or "optimizer" => optimiser: String { "NAME", Range::Checked(check_optimiser), [Rank "by model", Recommend "adamw:decay=1.2", Embed "adam"] }
    /// Learning rate.
    "learning-rate" or "lr", "rate" => learning_rate: f64 { "RATE", Range::Positive, [Rank "by model", Recommend "0.01", Embed "0.001", Walk "0.02"], main }
    /// Learning-rate schedule: constant, step, cosine, theory, inverse.
    "schedule" => schedule: String { "NAME", Range::Checked(check_schedule), [Rank "by model", Recommend "constant", Embed "constant"] }
    /// What a batch holds: lists, slates, strata, pairs or rows, with parameters: `lists:batch=32`.
    "sampler" => sampler: String { "NAME", Range::Checked(check_sampler), [Rank "by model and data", Recommend "pairs:batch=4096:group=20:items=300"] }
    /// Classes in a batch; with --views, rows.
    "batch-classes" => batch_classes: u32 { "N", Range::Integers(2, 65_536), [Embed "by views: 16; 128 with views"] }
    /// Rows of each class in a batch.
    "class-rows" => class_rows: u32 { "N", Range::Integers(2, 65_536), [Embed "by views: 8; 2 with views"] }
    /// Vectors of earlier batches that are candidates too (cross-batch memory).
    "memory" => memory: u32 { "N", Range::Integers(0, 1 << 24), [Embed "0"] }
    /// Learn without classes from two views of each row: `two[:noise=…][:mask=…][:candidates=across]`, or none.
    "views" => views: String { "VIEWS", Range::Checked(check_views), [Embed "none"] }
    /// Maximum number of epochs.
    "epochs" => epochs: u32 { "N", EPOCHS, [Rank "by model", Recommend "100", Embed "50"], main }
    /// Maximum number of boosting rounds of --model trees.
    "trees" or "n-estimators", "num-iterations" => trees: u32 { "N", EPOCHS, [Rank "by model: 300"], main }
    /// Maximum number of leaves of each tree.
    "leaves" or "num-leaves" => leaves: u32 { "N", Range::Integers(2, 65_536), [Rank "by data: 31; 7 for fewer than 50,000 rows in lists, or 5,000 in one; 15 for 5,000 to 20,000 in one"] }
    /// Minimum number of rows per leaf.
    "min-rows" or "min-data-in-leaf", "min-child-samples" => min_rows: u32 { "N", Range::Integers(1, u32::MAX as u64), [Rank "by data: 20; 50 for fewer than 50,000 rows in lists; 5 for fewer than 5,000 in one, 10 for fewer than 20,000"] }
    /// Feature transforms, fitted to the training data and stored in the model.
    "transforms" => transforms: String { "LIST", Range::Checked(check_transforms), [Rank "by model and data", Embed "missing:to=mean,standardise"] }
    /// Metric of validation.
    "valid-metric" or "metric" => valid_metric: String { "METRIC", Range::Checked(check_metric), [Rank "by objective", Recommend "by objective", Embed "by objective", Walk "by objective"] }
    /// Validate by a ranking of the held-out items among so many drawn unseen ones instead of among all; 0 for all.
    "valid-items" => valid_items: u32 { "N", Range::Any, [Recommend "by data: all unseen items"] }
    /// Early stopping: epochs without improvement on validation before training stops; 0 disables it.
    "patience" => patience: u32 { "N", Range::Any, [Rank "by model", Recommend "10", Embed "10"] }
    /// What chooses the number of epochs (boosting rounds) where there are no validation data: five folds of the training data, one part of them (a fifth), or none, which trains all epochs. The model is then trained on all rows; with average (trees only) it is the mean of that one and those of the five folds.
    "early-stopping" => early_stopping: String { "WHERE", Range::OneOf(&["folds", "part", "none", "average"]), [Rank "by data: up to 20,000 rows folds, average for trees on binary data; else part; none with --epochs or --trees"] }
    /// Warm-up epochs with another objective, before those of the objective itself.
    "warm-up" => warm_up: u32 { "N", Range::Integers(0, 1_000_000), [Rank "0", Recommend "0", Embed "0"] }
    /// Objective of the warm-up (see `toprank objectives`).
    "warm-up-objective" => warm_up_objective: String { "NAME", Range::Any, [Rank "by data: listwise-ce", Recommend "by data: listwise-ce", Embed "by data: listwise-ce"] }
    /// After the warm-up: reinitialise the last layer, or continue, with the best model on validation perhaps one of the warm-up.
    "after-warm-up" => after_warm_up: String { "WHAT", Range::OneOf(&["reinitialise", "continue"]), [Rank "by data: reinitialise", Recommend "by data: reinitialise", Embed "by data: reinitialise"] }
    /// Learning rate of the warm-up.
    "warm-up-learning-rate" or "warm-up-lr" => warm_up_learning_rate: f64 { "RATE", Range::Positive, [Rank "by data: the learning rate", Recommend "by data: the learning rate", Embed "by data: the learning rate"] }
    /// Gradient-clipping norm; 0 disables it.
    "clip" => clip: f64 { "NORM", Range::NonNegative, [Rank "by model", Embed "10"] }
    /// Parts that the training data are divided into: the gradient of a batch is summed part by part, so that neither threads nor machines change it; at most so many compute a step.
    "parts" => parts: u32 { "N", Range::Integers(1, 256), [Rank "by model: 8 for networks", Embed "8"] }
    /// Weight averaging: none, `ema:decay=0.999`, `tail:from=0.75`.
    "weight-average" or "average" => weight_average: String { "NAME", Range::Checked(check_average), [Rank "by model"] }
    /// Folds of a cross-validation before the model is trained on all rows; 0 for none.
    "folds" => folds: u32 { "K", Range::Checked(check_folds), [Rank "0"], main }
    /// Calibration from scores to probabilities: auto, platt, isotonic, none.
    "calibrate" => calibrate: String { "METHOD", Range::Checked(check_calibrate), [Rank "auto"] }
    /// What a pair is worth: implicit (1 for every interaction) or its rating.
    "feedback" => feedback: String { "KIND", Range::OneOf(&["implicit", "ratings"]), [Recommend "implicit"] }
    /// Recent interactions weigh more: half-life in later interactions of the same user; 0 weighs all alike.
    "recency" => recency: f64 { "N", Range::NonNegative, [Recommend "10"] }
    /// Item models in closed form: after validation, fit once more to the interactions of training and validation together.
    "refit" => refit: bool { "", Range::Any, [Recommend "false"] }
    /// Restart probability of a walk (its complement is the damping factor).
    "restart" => restart: f64 { "ALPHA", Range::OpenUnit, [Walk "0.15"], main }
    /// Where a walk continues from dangling nodes: restart (at the seeds) or uniform (at any node).
    "dangling" => dangling: String { "RULE", Range::OneOf(&["restart", "uniform"]), [Walk "restart"] }
    /// Optimisation method: gbn, gfn, gbp or adam.
    "method" => method: String { "NAME", Range::OneOf(&["gbn", "gfn", "gbp", "adam"]), [Walk "by objective: gbn for margin losses, else adam"], main }
    /// What a score is: the probability of a node, the same times the number of nodes (scaled), or its logarithm.
    "score" => score: String { "NAME", Range::OneOf(&["probability", "scaled", "log"]), [Walk "by objective: probability for margin losses, else scaled"] }
    /// Maximum number of steps.
    "steps" => steps: u64 { "N", Range::Integers(1, 1_000_000_000), [Walk "by method: gbn and gbp 200, adam 300, gfn 2000"], main }
    /// Accuracy at which gbn stops, and that the theory of gfn is asked for.
    "epsilon" => epsilon: f64 { "E", Range::Positive, [Walk "1e-6"] }
    /// First estimate of the Lipschitz constant (gbn), the constant itself (gfn).
    "lipschitz" => lipschitz: f64 { "L", Range::Positive, [Walk "1e-4"] }
    /// Step length of gbp.
    "step-size" => step_size: f64 { "H", Range::Positive, [Walk "100"] }
    /// Take as many steps as the convergence proof of gfn asks for.
    "theory" => theory: bool { "", Range::Any, [Walk "false"] }
    /// Radius of the ball around the all-ones weights.
    "radius" => radius: f64 { "R", Range::OpenUnit, [Walk "by method: 0.99; adam: none, weights stay above 0"] }
    /// Penalty λ·‖φ‖₁ on the weights of features: weights that help little shrink, to the lower one of --bounds.
    "l1" => l1: f64 { "LAMBDA", Range::NonNegative, [Walk ""] }
    /// Penalty λ/2·‖φ‖² on the weights of features.
    "l2" => l2: f64 { "LAMBDA", Range::NonNegative, [Walk ""] }
    /// Bounds of every weight, `0.01..10`, in place of the ball of --radius.
    "bounds" => bounds: String { "LOW..HIGH", Range::Checked(walk::config::check_bounds), [Walk ""] }
    /// Use features as they are, not divided by their largest value.
    "no-scale" => no_scale: bool { "", Range::Any, [Walk "false"] }
    /// Seed of everything random.
    "seed" => seed: u64 { "N", Range::Any, [Rank "1", Recommend "1", Embed "1", Walk "1"], main }
}

fn check_budget(text: &str) -> Result<(), ParamError> {
    if text.is_empty() { Ok(()) } else { rank::auto::seconds(text).map(drop) }
}

fn check_members(text: &str) -> Result<(), ParamError> {
    if text.is_empty() { Ok(()) } else { rank::auto::check_members(text) }
}

fn check_optimiser(text: &str) -> Result<(), ParamError> {
    if text.is_empty() { Ok(()) } else { optimiser::parse(text).map(drop) }
}

fn check_schedule(text: &str) -> Result<(), ParamError> {
    if text.is_empty() { Ok(()) } else { schedule::parse(text).map(drop) }
}

fn check_sampler(text: &str) -> Result<(), ParamError> {
    if text.is_empty() { Ok(()) } else { sampler::parse(text).map(drop) }
}

fn check_average(text: &str) -> Result<(), ParamError> {
    if text.is_empty() { Ok(()) } else { average::parse(text).map(drop) }
}

fn check_transforms(text: &str) -> Result<(), ParamError> {
    toprank_data::transform::StepConfig::parse_all(text).map(drop)
}

fn check_views(text: &str) -> Result<(), ParamError> {
    embed::Views::parse(text).map(drop)
}

fn check_calibrate(text: &str) -> Result<(), ParamError> {
    Calibrate::parse(text).map(drop)
}

fn check_metric(text: &str) -> Result<(), ParamError> {
    one_measure(text).map(drop)
}

fn check_folds(text: &str) -> Result<(), ParamError> {
    match text.parse::<u32>() {
        Ok(folds) if folds != 1 && folds <= 1000 => Ok(()),
        _ => Err(ParamError::new("folds", text, "an integer from 2 to 1000, or 0 for none")),
    }
}

fn one_measure(text: &str) -> Result<Measure, ParamError> {
    let mut measures = Measure::parse_all(text, &Policy::default())?;
    match measures.len() {
        1 => Ok(measures.remove(0)),
        _ => Err(ParamError::new("valid-metric", text, "one metric of those that `toprank metrics` lists")),
    }
}

impl Settings {
    /// Reads a TOML file's text.
    ///
    /// # Errors
    /// If it is not TOML, or has a key that is no setting.
    pub fn from_toml(text: &str) -> Result<Settings, ParamError> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            // Where only a name is wrong, the nearest ones help more than all of them.
            let known = |key: &str| SETTINGS.iter().any(|s| s.key == key || s.aliases.contains(&key));
            let table: toml::Table = toml::from_str(text).unwrap_or_default();
            match table.keys().find(|key| !known(key)) {
                Some(key) => catalog::unknown("setting", key, Settings::keys()),
                None => ParamError::new("the config", error.to_string().trim(), "TOML, such as epochs = 20"),
            }
        })
    }

    /// The keys of all settings.
    pub fn keys() -> Vec<&'static str> {
        SETTINGS.iter().map(|setting| setting.key).collect()
    }

    /// Every choice made, every value checked, before any data are read. Once they are, [`Config::suited_to`] fills in the defaults
    /// that depend on them.
    ///
    /// # Errors
    /// If a setting is unknown to the trainer or outside its range.
    pub fn resolve(&self, kind: TrainerKind) -> Result<Config, ParamError> {
        self.check_belonging(kind)?;
        let config = match kind {
            TrainerKind::Rank => rank::config::resolve(self),
            TrainerKind::Recommend => recommend::config::resolve(self),
            TrainerKind::Embed => embed::config::resolve(self),
            TrainerKind::Walk => walk::config::resolve(self),
        }?;
        Ok(Config { given: Some(Box::new(self.clone())), ..config })
    }

    /// Refuses what the trainer does not have.
    fn check_belonging(&self, kind: TrainerKind) -> Result<(), ParamError> {
        for setting in SETTINGS {
            if let (Some(text), None) = (self.get(setting.key), setting.default_for(kind)) {
                let owners: Vec<String> = setting
                    .defaults
                    .iter()
                    .map(|(kind, _)| format!("`toprank {}`", kind.command()))
                    .collect();
                let expected = format!(
                    "omitted: it is a setting of {}, not of `toprank {}`",
                    owners.join(" and "),
                    kind.command()
                );
                return Err(ParamError::new(setting.key, &text, &expected));
            }
        }
        Ok(())
    }
}

impl Config {
    /// Fills in the defaults that do not depend on anything else and checks every value. What is a path is left out.
    pub(crate) fn checked(kind: TrainerKind, mut settings: Settings) -> Result<Config, ParamError> {
        for setting in SETTINGS {
            if setting.is_path {
                settings.unset(setting.key);
            } else if let (None, Some(default)) = (settings.get(setting.key), setting.fixed_default(kind)) {
                settings.set(setting.key, default)?;
            }
        }
        let config = Config { trainer: kind, settings, given: None };
        config.check()?;
        Ok(config)
    }

    /// Refuses values outside their ranges.
    ///
    /// # Errors
    /// The value that is at fault.
    pub fn check(&self) -> Result<(), ParamError> {
        for setting in SETTINGS {
            if let Some(text) = self.settings.get(setting.key) {
                setting.range.check(setting.key, &text)?;
            }
        }
        let own = self.trainer == TrainerKind::Recommend && self.algorithm() == recommend::config::OWN;
        if self.trainer != TrainerKind::Walk && !own && !self.algorithm().starts_with("imported") {
            self.goal()?;
        }
        Ok(())
    }

    /// What it is for.
    pub fn trainer(&self) -> TrainerKind {
        self.trainer
    }

    /// What the user set, to be taken out once the defaults that depend on the data are filled in, and the settings to fill in.
    pub(crate) fn take_given(&mut self) -> Option<(Box<Settings>, &mut Settings)> {
        Some((self.given.take()?, &mut self.settings))
    }

    /// The same as settings, to be changed and resolved again.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The same with some settings replaced by others, unchecked.
    #[must_use]
    pub(crate) fn with(&self, other: Settings) -> Config {
        Config { trainer: self.trainer, settings: other.over(self.settings.clone()), given: None }
    }

    /// The same without what is set for this key.
    #[must_use]
    pub(crate) fn without(mut self, key: &str) -> Config {
        self.settings.unset(key);
        self
    }

    /// The objective that is trained with.
    ///
    /// # Errors
    /// If it is unknown.
    pub fn goal(&self) -> Result<Goal, ParamError> {
        Goal::parse(self.algorithm(), &Policy::default())
    }

    /// The metric of validation.
    ///
    /// # Errors
    /// If it is unknown, or not one metric.
    pub fn measure(&self) -> Result<Measure, ParamError> {
        one_measure(self.valid_metric())
    }
}
