//! `toprank recommend compare`: is one recommender better than another, on the same users?

use std::path::PathBuf;

use serde_json::json;
use toprank::metrics::{Evaluation, MeasureResult};

use super::evaluate::{Protocol, compared, stem};
use crate::failure::Failure;
use crate::means::Means;
use crate::rules::Measures;
use crate::table::Style;
use crate::{Common, compare, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank recommend compare a.toprank b.toprank --metrics ndcg@10,recall@20
  toprank recommend compare popularity a.toprank b.toprank --metrics ndcg@10 --json

Every model ranks all unseen items for the same users; `popularity` stands for the ranking that shows everybody the most popular
ones. All must be trained on the same interactions and the same split. Each pair gets a verdict: the difference, its interval, p of a
paired t test over users, corrected over all pairs and metrics (Holm), and wins/ties/losses.";

/// Compare recommenders of the same data by paired tests over users
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Compare {
    /// Model files of recommenders, or popularity
    #[arg(value_name = "MODEL", required = true, num_args = 2..)]
    models: Vec<PathBuf>,
    /// Metrics, separated by commas (see `toprank metrics`)
    #[arg(long, short, value_name = "METRICS", default_value = "ndcg@10,ndcg@20,recall@20")]
    metrics: String,
    #[command(flatten)]
    protocol: Protocol,
}

impl Compare {
    /// Loads, ranks, compares, prints.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let measures = Measures::named(&self.metrics)?;
        if measures.all.is_empty() {
            return Err(Failure::usage("no metric: expected some of those that `toprank metrics` lists"));
        }
        let file = self.models.iter().find(|path| path.as_os_str() != "popularity");
        let Some(file) = file else {
            return Err(Failure::usage("no model file: expected at least one beside popularity"));
        };
        let first = self.protocol.load(file)?;
        let found = self
            .models
            .iter()
            .map(|path| Ok((stem(path), self.protocol.rival(path, (file, &first), &measures.all)?)))
            .collect::<Result<Vec<(String, Evaluation)>, Failure>>()?;
        let names: Vec<String> = found.iter().map(|(name, _)| name.clone()).collect();
        let all: Vec<&[MeasureResult]> = found.iter().map(|(_, found)| found.results.as_slice()).collect();
        let paired = compare::paired(&names, &all, &measures.all)?;
        let users = all[0].first().map_or(0, |result| result.per_list.len());
        if common.json {
            let each = found.iter().map(|(name, found)| {
                let means = Means::new(&found.results);
                json!({"model": name, "metrics": means.values(), "intervals": means.intervals()})
            });
            let mut result = json!({"models": each.collect::<Vec<_>>(), "users": users});
            if let Some(result) = result.as_object_mut() {
                result.extend(self.protocol.json(&first));
            }
            result["comparisons"] = compare::paired_json(&paired);
            result["policy"] = measures.policy_json();
            return print_json(&result);
        }
        print(&format!(
            "{}\n{}{}",
            self.protocol.words(&first, users),
            compared(&names, &all, &paired),
            Style::Table.text(&measures.policy_text()),
        ))
    }
}
