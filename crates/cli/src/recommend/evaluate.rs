//! `toprank recommend evaluate`: how good are the recommendations?

use std::path::PathBuf;

use serde_json::{Value, json};
use toprank::core::Policy;
use toprank::metrics::{Measure, bootstrap};
use toprank::train::Recommender;
use toprank::train::recommend::{BeyondAccuracy, Part};

use crate::failure::Failure;
use crate::table::{Style, Table, counted, csv_cell};
use crate::{Common, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank recommend evaluate --model rec.toprank --metrics ndcg@10,ndcg@20,recall@20
  toprank recommend evaluate --model rec.toprank --metrics ndcg@10,success@10,map,mrr --per-user users.csv
  toprank recommend evaluate --model rec.toprank --on valid --metrics ndcg@20

Every item that a user has not in train (and, for the test part, validation) is ranked; users without a held-out pair leave the
mean. A user from whom nothing was learned is ranked by popularity. Metrics with a cut-off take the fewest seconds.

Beside accuracy stand, of the first --k recommended items: coverage (share of all items that anybody is shown), novelty (mean
-log2 of the share of users who took an item), popularity (mean share of users), its lift over what the same users took before
(above 1: popular items are pushed) and the Gini coefficient of how often items are shown.

--sampled N ranks the held-out items against N drawn unseen ones only. Such values are much higher, say little about full
rankings and can put models in another order; they are labelled as sampled.";

/// Judge a recommender by full ranking over all unseen items
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Evaluate {
    /// The recommender
    #[arg(long, value_name = "MODEL")]
    model: PathBuf,
    /// Metrics, separated by commas (see `toprank metrics`)
    #[arg(long, short, value_name = "METRICS", default_value = "ndcg@10,ndcg@20,recall@20")]
    metrics: String,
    /// The part that is judged
    #[arg(long, value_enum, default_value = "test")]
    on: On,
    /// Items of the validation part are candidates, too, as some other tools have it
    #[arg(long)]
    valid_unseen: bool,
    /// Recommended items of each user that coverage, novelty and popularity look at
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,
    /// Rank against this many drawn unseen items instead of all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sampled: Option<u32>,
    /// Seed of the draws of --sampled
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Write the value of every user to a CSV file (- is standard output)
    #[arg(long, value_name = "FILE")]
    per_user: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value = "table")]
    output: Style,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum On {
    /// What was held out to the end
    Test,
    /// What early stopping looked at
    Valid,
}

impl Evaluate {
    /// Loads, ranks, judges, prints.
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
        let judged = recommender.evaluate(part, &measures, self.valid_unseen, sampled, self.k as usize)?;
        let results = &judged.evaluation.results;
        if let Some(path) = &self.per_user {
            let mut text = String::from("user");
            for result in results {
                text += &format!(",{}", csv_cell(&result.name));
            }
            for (d, &user) in judged.users.iter().enumerate() {
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
        let intervals: Vec<_> = results
            .iter()
            .map(|result| bootstrap::interval(&result.per_list, None, &bootstrap::IntervalOptions::default()))
            .collect();
        if common.json || self.output == Style::Json {
            let metrics: serde_json::Map<String, Value> =
                results.iter().map(|result| (result.name.clone(), json!(result.mean))).collect();
            let bounds: serde_json::Map<String, Value> = results
                .iter()
                .zip(&intervals)
                .map(|(result, interval)| (result.name.clone(), json!([interval.low, interval.high])))
                .collect();
            let BeyondAccuracy { k, coverage, novelty, popularity, popularity_lift, gini } = judged.beyond;
            return print_json(&json!({
                "metrics": metrics,
                "intervals": bounds,
                "users": judged.users.len(),
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
        let mut table = Table::new(["metric", "value", "95 % interval", "users"]);
        for (result, interval) in results.iter().zip(&intervals) {
            table.row([
                result.name.clone(),
                result.mean.map_or("–".into(), |mean| format!("{mean:.4}")),
                format!("[{:.4}, {:.4}]", interval.low, interval.high),
                result.counts.used.to_string(),
            ]);
        }
        if self.output != Style::Table {
            return print(&table.render(self.output));
        }
        let BeyondAccuracy { k, coverage, novelty, popularity, popularity_lift, gini } = judged.beyond;
        print(&format!(
            "{protocol}, {} of the part {}\n{}\nof the first {k}: coverage {coverage:.4}, novelty {novelty:.2} bits, popularity \
             {popularity:.4} (lift {popularity_lift:.2}), Gini {gini:.3}\n",
            counted(judged.users.len(), "user"),
            format!("{:?}", self.on).to_lowercase(),
            table.render(Style::Table),
        ))
    }
}
