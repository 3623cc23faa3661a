//! `toprank recommend evaluate`: metrics of a recommender by full ranking.

use std::path::{Path, PathBuf};

use serde_json::json;
use toprank::data::Names;
use toprank::metrics::compare::Comparison;
use toprank::metrics::{Evaluation, Measure, MeasureResult};
use toprank::train::Recommender;
use toprank::train::recommend::{BeyondAccuracy, HistoryParts, Part};

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

Beyond accuracy, the report has for the first --k recommended items: coverage (fraction of all items that are recommended to
anybody), novelty (mean -log2 of the fraction of users who interacted with an item), popularity (mean fraction of users), its
lift over the users' own histories (above 1: popular items are pushed) and the Gini coefficient of how often items are
recommended.

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
    /// Part of the data to evaluate on
    #[arg(long, value_enum, default_value = "test")]
    on: On,
    /// Rank the items of the validation part too, as some other tools do
    #[arg(long)]
    valid_unseen: bool,
    /// From which items of a user the test part is scored by a model that reads histories (ease, knn, als, sequence)
    #[arg(long, value_enum, value_name = "PARTS", default_value = "train+valid")]
    history: FromParts,
    /// Number of recommended items per user for coverage, novelty and popularity
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,
    /// Rank against N randomly drawn unseen items instead of all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sampled: Option<u32>,
    /// Seed of the draws of --sampled
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
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
        let mut recommender = Recommender::load_mapped(&self.model)?;
        recommender.use_history(self.history.parts());
        let part = match self.on {
            On::Test => Part::Test,
            On::Valid => Part::Valid,
        };
        let sampled = self.sampled.map(|count| (count as usize, self.seed));
        let found = recommender.evaluate(part, &measures.all, self.valid_unseen, sampled, self.k as usize)?;
        let results = &found.evaluation.results;
        let mut rivals = Vec::new();
        for rival in &self.against {
            let evaluated = self.rival(rival, &recommender, &measures.all, part)?;
            rivals.push((stem(rival), evaluated));
        }
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
        let protocol = protocol(self.sampled);
        let means = Means::new(results);
        if common.json || self.format == Style::Json {
            let BeyondAccuracy { k, coverage, novelty, popularity, popularity_lift, gini } = found.beyond;
            let mut result = json!({
                "metrics": means.values(),
                "intervals": means.intervals(),
                "users": found.users.len(),
                "items": recommender.data().items.len(),
                "part": format!("{:?}", self.on).to_lowercase(),
                "protocol": protocol,
                "history": recommender.history(part).name(),
                "sampled": self.sampled,
                "beyond": {
                    "k": k, "coverage": coverage, "novelty": novelty, "popularity": popularity,
                    "popularity_lift": popularity_lift, "gini": gini,
                },
                "policy": measures.policy_json(),
            });
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
        let BeyondAccuracy { k, coverage, novelty, popularity, popularity_lift, gini } = found.beyond;
        print(&format!(
            "{protocol}, {} of the part {}, scored from their items of {}\n{}{}\nof the first {k}: coverage {coverage:.4}, novelty {novelty:.2} bits, popularity \
             {popularity:.4} (lift {popularity_lift:.2}), Gini {gini:.3}\n{}",
            counted(found.users.len(), "user"),
            format!("{:?}", self.on).to_lowercase(),
            recommender.history(part).name(),
            compared(&names, &all, &paired),
            table.render(Style::Table),
            means.basis(&measures, "users"),
        ))
    }

    /// What `rival` reaches on the same users: popularity, or a recommender of the same data.
    fn rival(
        &self,
        rival: &Path,
        recommender: &Recommender,
        measures: &[Measure],
        part: Part,
    ) -> Result<Evaluation, Failure> {
        let sampled = self.sampled.map(|count| (count as usize, self.seed));
        let k = self.k as usize;
        if rival == Path::new(POPULARITY) {
            let found = recommender.evaluate_popularity(part, measures, self.valid_unseen, sampled, k)?;
            return Ok(found.evaluation);
        }
        let mut other = Recommender::load_mapped(rival)?;
        other.use_history(self.history.parts());
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
                self.model.display()
            )));
        }
        Ok(other.evaluate(part, measures, self.valid_unseen, sampled, k)?.evaluation)
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
fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Verdicts, and the means of all rankings side by side.
fn compared(names: &[String], all: &[&[MeasureResult]], paired: &[(&str, Comparison)]) -> String {
    if paired.is_empty() {
        return String::new();
    }
    let metrics = all[0].iter().map(|result| result.name.as_str());
    let mut table = Table::new(std::iter::once("ranking").chain(metrics));
    for (name, results) in names.iter().zip(all) {
        let mean = |result: &MeasureResult| result.mean.map_or("–".into(), |mean| format!("{mean:.4}"));
        table.row(std::iter::once(name.clone()).chain(results.iter().map(mean)));
    }
    format!("{}\n{}\n", compare::verdicts_text(paired), table.render(Style::Table))
}
