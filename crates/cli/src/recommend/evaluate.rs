//! `toprank recommend evaluate`: metrics of a recommender by full ranking.

use std::path::PathBuf;

use serde_json::json;
use toprank::core::Policy;
use toprank::metrics::Measure;
use toprank::train::Recommender;
use toprank::train::recommend::{BeyondAccuracy, Part};

use crate::failure::Failure;
use crate::means::Means;
use crate::table::{Style, counted, csv_cell};
use crate::{Common, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank recommend evaluate rec.toprank --metrics ndcg@10,ndcg@20,recall@20
  toprank recommend evaluate rec.toprank --metrics ndcg@10,success@10,map,mrr --per-user users.csv
  toprank recommend evaluate rec.toprank --on valid --metrics ndcg@20

All items are ranked that a user has not interacted with in training (and, for the test part, in validation); users without a
held-out interaction are excluded from the mean. A user without training interactions gets a ranking by popularity. Metrics with
a cut-off are the fastest.

Beyond accuracy, the report has for the first --k recommended items: coverage (fraction of all items that are recommended to
anybody), novelty (mean -log2 of the fraction of users who interacted with an item), popularity (mean fraction of users), its
lift over the users' own histories (above 1: popular items are pushed) and the Gini coefficient of how often items are
recommended.

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
    /// Number of recommended items per user for coverage, novelty and popularity
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,
    /// Rank against N randomly drawn unseen items instead of all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sampled: Option<u32>,
    /// Seed of the draws of --sampled
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Write the metrics of every user to a CSV file; - is standard output
    #[arg(long, value_name = "FILE")]
    per_user: Option<PathBuf>,
    /// Print style
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "table")]
    format: Style,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum On {
    /// Held out
    Test,
    /// Used for early stopping
    Valid,
}

impl Evaluate {
    /// Loads, ranks, evaluates, prints.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let measures = Measure::parse_all(&self.metrics, &Policy::default())?;
        if measures.is_empty() {
            return Err(Failure::usage("no metric: expected some of those that `toprank metrics` lists"));
        }
        let recommender = Recommender::load_mapped(&self.model)?;
        let part = match self.on {
            On::Test => Part::Test,
            On::Valid => Part::Valid,
        };
        let sampled = self.sampled.map(|count| (count as usize, self.seed));
        let found = recommender.evaluate(part, &measures, self.valid_unseen, sampled, self.k as usize)?;
        let results = &found.evaluation.results;
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
        let protocol = match self.sampled {
            None => "full ranking over all unseen items".to_string(),
            Some(count) => {
                format!("SAMPLED: held-out items against {count} drawn unseen ones, not a full ranking")
            }
        };
        let means = Means::new(results);
        if common.json || self.format == Style::Json {
            let BeyondAccuracy { k, coverage, novelty, popularity, popularity_lift, gini } = found.beyond;
            return print_json(&json!({
                "metrics": means.values(),
                "intervals": means.intervals(),
                "users": found.users.len(),
                "items": recommender.data().items.len(),
                "part": format!("{:?}", self.on).to_lowercase(),
                "protocol": protocol,
                "sampled": self.sampled,
                "beyond": {
                    "k": k, "coverage": coverage, "novelty": novelty, "popularity": popularity,
                    "popularity_lift": popularity_lift, "gini": gini,
                },
                "policy": Policy::default(),
            }));
        }
        let table = means.table("users");
        if self.format != Style::Table {
            return print(&table.render(self.format));
        }
        let BeyondAccuracy { k, coverage, novelty, popularity, popularity_lift, gini } = found.beyond;
        print(&format!(
            "{protocol}, {} of the part {}\n{}\nof the first {k}: coverage {coverage:.4}, novelty {novelty:.2} bits, popularity \
             {popularity:.4} (lift {popularity_lift:.2}), Gini {gini:.3}\n",
            counted(found.users.len(), "user"),
            format!("{:?}", self.on).to_lowercase(),
            table.render(Style::Table),
        ))
    }
}
