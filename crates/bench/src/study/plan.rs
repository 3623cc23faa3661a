//! A plan: which methods are compared on which sets, with which tries and seeds.
//!
//! ```toml
//! about = "what the study is to show"
//! task = "recommend"                       # rank, recommend or embed
//! metric = "ndcg@10"                       # the choice on validation data
//! report = "ndcg@10,recall@20"             # on test data; the first decides
//! tries = 2                                # of every method: the plan is refused if one has more or fewer
//! seeds = [1, 2, 3]                        # the first makes the tries, all of them the tests
//!
//! [curves]                                 # optional: the learning curve of every run
//! every = 10                               # epochs between two points
//! objective = "song:gamma=1"               # followed on whole training lists, beside the metric on validation data; task rank only
//! chooses = true                           # its last points choose the try instead of the metric
//!
//! [settings]                               # of every run, as in a config file
//! model = "mf"
//!
//! [[sets]]
//! name = "beauty"
//! files = ["recsys/amazon-beauty/seq.txt.gz"]
//! format = "adjacency"
//! split = "leave-last"
//!
//! [[sets]]                                 # fold k trains on files k, k + 1, k + 2, counted round
//! name = "mq2008"
//! files = ["letor/mq2008/S1.txt.gz", "…"]
//! train = [0, 1, 2]
//! valid = [3]
//! test = [4]
//! folds = 5
//!
//! [[methods]]
//! name = "SONG"
//! settings = { objective = "song" }
//! grid = { learning-rate = [0.01, 0.003] } # every combination is a try
//! ```

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::common::Outcome;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What the study is to show; for the reader of the file.
    pub about: String,
    pub task: Task,
    pub metric: String,
    pub report: String,
    pub tries: usize,
    pub seeds: Vec<u64>,
    /// Which learning curves the runs record, if any.
    pub curves: Option<Curves>,
    #[serde(default)]
    pub settings: toml::Table,
    pub sets: Vec<Set>,
    pub methods: Vec<Method>,
}

/// Learning curves.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curves {
    /// Epochs between two points.
    #[serde(default = "one_epoch")]
    pub every: u32,
    /// An objective whose loss over the whole training lists is followed, too.
    pub objective: Option<String>,
    /// Whether that loss chooses the try instead of the metric on validation data.
    #[serde(default)]
    pub chooses: bool,
}

fn one_epoch() -> u32 {
    1
}

/// What is trained.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// A model of rows with features.
    Rank,
    /// A recommender.
    Recommend,
    /// An embedding.
    Embed,
}

/// A data set: files, and which of them train, validate and test.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Set {
    pub name: String,
    /// Below the folder of the real data sets.
    pub files: Vec<String>,
    /// Which of the files train, counted from 0; in fold k, all numbers are k higher, counted round.
    #[serde(default = "first")]
    pub train: Vec<usize>,
    #[serde(default)]
    pub valid: Vec<usize>,
    #[serde(default)]
    pub test: Vec<usize>,
    #[serde(default = "one")]
    pub folds: usize,
    /// How the training files are divided where no files validate, or none test.
    pub split: Option<String>,
    /// The seed of the split, the same in all runs.
    #[serde(default = "one_seed")]
    pub split_seed: u64,
    pub format: Option<String>,
    pub label: Option<String>,
    /// Label columns, one list each.
    #[serde(default)]
    pub labels: Vec<String>,
    /// The column of molecules.
    pub smiles: Option<String>,
    /// The column of lists; of classes where an embedding is trained.
    pub list: Option<String>,
    /// A table whose first column has the classes of the rows, for images whose labels are not beside them.
    pub classes: Option<String>,
    /// Whether the file has no line of column names: they become f1, f2, …, and the last is `label`.
    #[serde(default)]
    pub headerless: bool,
    #[serde(default)]
    pub settings: toml::Table,
}

fn first() -> Vec<usize> {
    vec![0]
}

fn one() -> usize {
    1
}

fn one_seed() -> u64 {
    1
}

/// A method: what all its tries share, and what they differ in.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    pub name: String,
    #[serde(default)]
    pub settings: toml::Table,
    /// Values of settings; every combination is a try.
    #[serde(default)]
    pub grid: toml::Table,
    /// Tries beside those of the grid.
    #[serde(default)]
    pub also: Vec<toml::Table>,
}

impl Method {
    /// What each try sets, those of the grid first; the last key of the grid changes fastest.
    pub fn tries(&self) -> Vec<toml::Table> {
        let mut all = vec![toml::Table::new()];
        if self.grid.is_empty() && !self.also.is_empty() {
            all.clear();
        }
        for (key, values) in &self.grid {
            let values = values.as_array().map_or(&[][..], Vec::as_slice);
            let with = |table: &toml::Table, value: &toml::Value| {
                let mut table = table.clone();
                table.insert(key.clone(), value.clone());
                table
            };
            all = all.iter().flat_map(|table| values.iter().map(move |value| with(table, value))).collect();
        }
        all.extend(self.also.iter().cloned());
        all
    }
}

impl Plan {
    /// Reads and checks a plan.
    pub fn read(path: &str) -> Outcome<Plan> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        let plan: Plan = toml::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
        plan.check().map_err(|error| format!("{path}: {error}"))?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), String> {
        if self.seeds.is_empty() || self.sets.is_empty() || self.methods.is_empty() || self.about.is_empty() {
            return Err("expected `about`, and at least one seed, one set and one method".into());
        }
        if let Some(curves) = &self.curves {
            if curves.every == 0 {
                return Err("curves need at least one epoch between two points, found every = 0".into());
            }
            if curves.objective.is_some() && self.task != Task::Rank {
                return Err("an objective is followed only where a model ranks rows (task = \"rank\")".into());
            }
            if curves.chooses && curves.objective.is_none() {
                return Err("curves choose by an objective; expected `objective` beside `chooses`".into());
            }
        }
        for method in &self.methods {
            if let Some((key, value)) = method.grid.iter().find(|(_, value)| !value.is_array()) {
                return Err(format!(
                    "the grid of {} needs a list of values for {key}, found {value}",
                    method.name
                ));
            }
            let tries = method.tries();
            if tries.len() != self.tries {
                let found = tries.len();
                return Err(format!(
                    "{} has {found} tries, but the plan gives every method {}",
                    method.name, self.tries
                ));
            }
            let different: BTreeSet<String> = tries.iter().map(one_line).collect();
            if different.len() != tries.len() {
                return Err(format!("{} tries the same settings twice", method.name));
            }
        }
        for set in &self.sets {
            let parts = set.train.iter().chain(&set.valid).chain(&set.test);
            if let Some(part) = parts.max().filter(|&&part| part >= set.files.len()) {
                return Err(format!(
                    "{} has {} files, but names number {part}, counted from 0",
                    set.name,
                    set.files.len()
                ));
            }
            if set.split.is_none() && (set.valid.is_empty() || set.test.is_empty()) {
                return Err(format!("{} needs files that validate and test, or a split", set.name));
            }
        }
        let names = |names: Vec<&String>| names.iter().collect::<BTreeSet<_>>().len() == names.len();
        if !names(self.sets.iter().map(|set| &set.name).collect())
            || !names(self.methods.iter().map(|method| &method.name).collect())
        {
            return Err("two sets or two methods have the same name".into());
        }
        Ok(())
    }

    /// The settings of one try: those of the plan, of the set, of the method and of the try, the later ones first.
    pub fn settings_of(&self, set: &Set, method: &Method, tried: &toml::Table) -> toml::Table {
        let mut all = self.settings.clone();
        for table in [&set.settings, &method.settings, tried] {
            all.extend(table.clone());
        }
        all
    }
}

/// A table on one line, such as `epochs = 20, objective = "song"`; keys are in order.
pub fn one_line(table: &toml::Table) -> String {
    let each: Vec<String> = table.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    each.join(", ")
}
