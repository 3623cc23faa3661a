//! `toprank recommend evaluate`: metrics of a recommender by full ranking.

use std::path::{Path, PathBuf};

use serde_json::json;
use toprank::data::Names;
use toprank::metrics::compare::Comparison;
use toprank::metrics::{Evaluation, Measure, MeasureResult};
use toprank::train::Recommender;
use toprank::train::recommend::{HistoryParts, Part, PartEvaluation};

use crate::failure::Failure;
use crate::means::Means;
use crate::rules::Measures;
use crate::table::{Style, Table, counted, csv_cell};
use crate::{Common, compare, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank recommend evaluate rec.toprank --metrics ndcg@10,ndcg@20,recall@20
  toprank recommend evaluate rec.toprank --metrics ndcg@10,success@10,map,mrr --per-user users.csv
  toprank recommend evaluate rec.toprank --on valid --metrics ndcg@20
  toprank recommend evaluate rec.toprank --against popularity --against older.toprank --metrics ndcg@20

All items are ranked that a user has not interacted with in training (and, for the test part, in validation); users without a
held-out interaction are excluded from the mean. Models that read histories score the test part from the items of training and
validation; --history train leaves the latter out, as models with a vector per user have to. A user without training interactions gets a ranking by popularity. Metrics with
a cut-off are the fastest.

Beside the metrics the report shows what simple models reach that are fitted to the same interactions (--baselines; none leaves them
out): popularity, and item neighbours.

Beyond accuracy, it has for the first --k recommended items, with intervals over users: coverage (fraction of all items that are
recommended to anybody), novelty (mean -log2 of the fraction of users who interacted with an item), popularity (mean fraction of
users), its lift over the users' own histories (above 1: popular items are pushed), the Gini coefficient of how often items are
recommended, intra-list distance (1 - cosine of two items of a list by who interacted with them) and serendipity (fraction of items
that were held out and are not among the most popular ones).

--against popularity compares with the ranking that shows everybody the most popular unseen items, --against MODEL with another
recommender that was trained on the same interactions and the same split. Each pair gets a verdict: the difference, its interval,
p of a paired t test over users, corrected over all pairs and metrics (Holm), and wins/ties/losses.

--sampled N ranks the held-out items against N randomly drawn unseen ones only. Such values are much higher than those of full
rankings, and can order models differently; they are labelled as sampled.";

/// Evaluate a recommender by full ranking over all unseen items
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Evaluate {
    /// Model file of a recommender
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Metrics, separated by commas (see `toprank metrics`)
    #[arg(long, short, value_name = "METRICS", default_value = "ndcg@10,ndcg@20,recall@20")]
    metrics: String,
    #[command(flatten)]
    protocol: Protocol,
    /// Number of recommended items per user for coverage, novelty and the other figures beyond accuracy
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,
    /// Simple models that are fitted to the same interactions and shown beside the result: pop, knn, ease, with parameters; or none
    #[arg(long, value_name = "MODELS", default_value = "pop,knn")]
    baselines: String,
    /// Compare with popularity, or with another recommender of the same data; may be repeated
    #[arg(long, value_name = "MODEL")]
    against: Vec<PathBuf>,
    /// Write the metrics of every user to a CSV file; - is standard output
    #[arg(long, value_name = "FILE")]
    per_user: Option<PathBuf>,
    /// Print style; --json is short for json
    #[arg(long, value_enum, value_name = "STYLE", default_value = "table")]
    format: Style,
}

/// What is ranked, and from what.
#[derive(clap::Args, Debug)]
pub(super) struct Protocol {
    /// Part of the data to evaluate on
    #[arg(long, value_enum, default_value = "test")]
    on: On,
    /// Rank the items of the validation part too, as some other tools do
    #[arg(long)]
    valid_unseen: bool,
    /// From which items of a user the test part is scored by a model that reads histories (ease, knn, als, sequence, auto)
    #[arg(long, value_enum, value_name = "PARTS", default_value = "train+valid")]
    history: FromParts,
    /// Rank against N randomly drawn unseen items instead of all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sampled: Option<u32>,
    /// Seed of the draws of --sampled
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

impl Protocol {
    fn part(&self) -> Part {
        match self.on {
            On::Test => Part::Test,
            On::Valid => Part::Valid,
        }
    }

    /// The part, as it is written.
    fn on(&self) -> String {
        format!("{:?}", self.on).to_lowercase()
    }

    /// The recommender of a file.
    pub(super) fn load(&self, path: &Path) -> Result<Recommender, Failure> {
        let mut recommender = Recommender::load_mapped(path)?;
        recommender.use_history(self.history.parts());
        Ok(recommender)
    }

    pub(super) fn evaluate(
        &self,
        recommender: &Recommender,
        measures: &[Measure],
        k: u32,
    ) -> Result<PartEvaluation, Failure> {
        let sampled = self.sampled.map(|count| (count as usize, self.seed));
        Ok(recommender.evaluate(self.part(), measures, self.valid_unseen, sampled, k as usize)?)
    }

    /// The same of the ranking by popularity.
    fn popularity(&self, recommender: &Recommender, measures: &[Measure]) -> Result<Evaluation, Failure> {
        let sampled = self.sampled.map(|count| (count as usize, self.seed));
        Ok(recommender.evaluate_popularity(self.part(), measures, self.valid_unseen, sampled, 1)?.evaluation)
    }

    /// How it was evaluated, in words.
    pub(super) fn words(&self, recommender: &Recommender, users: usize) -> String {
        format!(
            "{}, {} of the part {}, scored from their items of {}",
            protocol(self.sampled),
            counted(users, "user"),
            self.on(),
            recommender.history(self.part()).name()
        )
    }

    /// The same as JSON.
    pub(super) fn json(&self, recommender: &Recommender) -> serde_json::Map<String, serde_json::Value> {
        let value = json!({
            "items": recommender.data().items.len(),
            "part": self.on(),
            "protocol": protocol(self.sampled),
            "history": recommender.history(self.part()).name(),
            "sampled": self.sampled,
        });
        value.as_object().cloned().unwrap_or_default()
    }

    /// What `rival` reaches on the same users: popularity, or a recommender of the same data.
    pub(super) fn rival(
        &self,
        rival: &Path,
        (file, recommender): (&Path, &Recommender),
        measures: &[Measure],
    ) -> Result<Evaluation, Failure> {
        if rival == Path::new(POPULARITY) {
            return self.popularity(recommender, measures);
        }
        let other = self.load(rival)?;
        let (ours, theirs) = (recommender.data(), other.data());
        let same = |a: &Names, b: &Names| a.len() == b.len() && a.iter().eq(b.iter());
        let parts = [(&ours.train, &theirs.train), (&ours.valid, &theirs.valid), (&ours.test, &theirs.test)];
        let same_data = same(&ours.users, &theirs.users)
            && same(&ours.items, &theirs.items)
            && parts.iter().all(|(a, b)| a.offsets == b.offsets && a.items == b.items);
        if !same_data {
            return Err(Failure::data(format!(
                "{}: was trained on other interactions or another split than {}; expected a model of the same data",
                rival.display(),
                file.display()
            )));
        }
        Ok(self.evaluate(&other, measures, 1)?.evaluation)
    }

    /// Simple models, each fitted to the interactions of the recommender, and what they reach.
    pub(super) fn baselines(
        &self,
        list: &str,
        recommender: &Recommender,
        measures: &[Measure],
    ) -> Result<Vec<(String, Evaluation)>, Failure> {
        let names = list.split(',').map(str::trim).filter(|name| !name.is_empty() && *name != "none");
        names
            .map(|name| {
                let found = match name {
                    "pop" => self.popularity(recommender, measures)?,
                    _ => self.evaluate(&recommender.baseline(name)?, measures, 1)?.evaluation,
                };
                Ok((name.to_string(), found))
            })
            .collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum On {
    /// Held out
    Test,
    /// Used for early stopping
    Valid,
}

/// The parts of the data that make a user's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FromParts {
    /// What was learned from
    Train,
    /// The validation item too, as published work on sequences has it
    #[value(name = "train+valid")]
    TrainValid,
}

impl FromParts {
    fn parts(self) -> HistoryParts {
        match self {
            FromParts::Train => HistoryParts::Train,
            FromParts::TrainValid => HistoryParts::TrainValid,
        }
    }
}

impl Evaluate {
    /// Loads, ranks, evaluates, prints.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let measures = Measures::named(&self.metrics)?;
        if measures.all.is_empty() {
            return Err(Failure::usage("no metric: expected some of those that `toprank metrics` lists"));
        }
        let recommender = self.protocol.load(&self.model)?;
        let found = self.protocol.evaluate(&recommender, &measures.all, self.k)?;
        let results = &found.evaluation.results;
        let mut rivals = Vec::new();
        for rival in &self.against {
            let evaluated = self.protocol.rival(rival, (&self.model, &recommender), &measures.all)?;
            rivals.push((stem(rival), evaluated));
        }
        let baselines = self.protocol.baselines(&self.baselines, &recommender, &measures.all)?;
        let mut names: Vec<String> = rivals.iter().map(|(name, _)| name.clone()).collect();
        names.push(stem(&self.model));
        let all: Vec<&[MeasureResult]> =
            rivals.iter().map(|(_, rival)| rival.results.as_slice()).chain([results.as_slice()]).collect();
        let paired =
            if rivals.is_empty() { Vec::new() } else { compare::paired(&names, &all, &measures.all)? };
        if let Some(path) = &self.per_user {
            let mut text = String::from("user");
            for result in results {
                text += &format!(",{}", csv_cell(&result.name));
            }
            for (d, &user) in found.users.iter().enumerate() {
                text += &format!("\n{}", csv_cell(recommender.data().users.get(user as usize)));
                for result in results {
                    text += &format!(",{}", result.per_list[d]);
                }
            }
            text += "\n";
            toprank::data::sink::write_file(path, |out| out.write_all(text.as_bytes()))?;
        }
        let diversity = recommender.diversity(&found, self.protocol.part(), self.protocol.valid_unseen);
        let means = Means::new(results);
        if common.json || self.format == Style::Json {
            let mut beyond = json!({"k": found.beyond.k});
            let mut intervals = json!({});
            for figure in &diversity {
                beyond[figure.name] = json!(figure.value);
                intervals[figure.name] = json!({"low": figure.low, "high": figure.high, "level": 0.95});
            }
            let mut result = json!({
                "metrics": means.values(),
                "intervals": means.intervals(),
                "users": found.users.len(),
            });
            if let Some(result) = result.as_object_mut() {
                result.extend(self.protocol.json(&recommender));
            }
            result["beyond"] = beyond;
            result["beyond_intervals"] = intervals;
            result["policy"] = measures.policy_json();
            let of_baseline = |(name, found): &(String, Evaluation)| {
                (name.clone(), json!(Means::new(&found.results).values()))
            };
            result["baselines"] = baselines.iter().map(of_baseline).collect::<serde_json::Map<_, _>>().into();
            if !rivals.is_empty() {
                let against = rivals.iter().map(
                    |(name, rival)| json!({"model": name, "metrics": Means::new(&rival.results).values()}),
                );
                result["against"] = against.collect();
                result["comparisons"] = compare::paired_json(&paired);
            }
            return print_json(&result);
        }
        let table = means.table("users");
        if self.format != Style::Table {
            return print(&table.render(self.format));
        }
        let mut figures =
            Table::new([format!("of the first {}", self.k), "value".into(), "95 % interval".into()]);
        for figure in &diversity {
            figures.row([
                figure.name.replace('_', " ").replace("gini", "Gini coefficient"),
                format!("{:.4}", figure.value),
                format!("[{:.4}, {:.4}]", figure.low, figure.high),
            ]);
        }
        let simple = match baselines.is_empty() {
            true => String::new(),
            false => {
                let names: Vec<String> =
                    baselines.iter().map(|(name, _)| format!("baseline {name}")).collect();
                let all: Vec<&[MeasureResult]> =
                    baselines.iter().map(|(_, found)| found.results.as_slice()).collect();
                side_by_side(&names, &all)
            }
        };
        print(&format!(
            "{}\n{}{}\n{simple}\n{}\n{}",
            self.protocol.words(&recommender, found.users.len()),
            compared(&names, &all, &paired),
            table.render(Style::Table),
            figures.render(Style::Table),
            means.basis(&measures, "users"),
        ))
    }
}

/// Among which items those that were held out are ranked.
pub(super) fn protocol(sampled: Option<u32>) -> String {
    match sampled {
        None => "full ranking over all unseen items".into(),
        Some(count) => {
            format!("SAMPLED: held-out items against {count} drawn unseen ones, not a full ranking")
        }
    }
}

/// The baseline of `--against` that needs no model.
const POPULARITY: &str = "popularity";

/// The name of a model in verdicts.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Verdicts, and the means of all rankings side by side.
pub(super) fn compared(names: &[String], all: &[&[MeasureResult]], paired: &[(&str, Comparison)]) -> String {
    match paired.is_empty() {
        true => String::new(),
        false => format!("{}\n{}\n", compare::verdicts_text(paired), side_by_side(names, all)),
    }
}

/// The means of several rankings, a row each.
fn side_by_side(names: &[String], all: &[&[MeasureResult]]) -> String {
    let metrics = all[0].iter().map(|result| result.name.as_str());
    let mut table = Table::new(std::iter::once("ranking").chain(metrics));
    for (name, results) in names.iter().zip(all) {
        let mean = |result: &MeasureResult| result.mean.map_or("–".into(), |mean| format!("{mean:.4}"));
        table.row(std::iter::once(name.clone()).chain(results.iter().map(mean)));
    }
    table.render(Style::Table)
}
