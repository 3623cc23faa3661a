//! `toprank pagerank evaluate`: a learned random walk against baselines.

use std::path::PathBuf;

use serde_json::{Value, json};
use toprank::metrics::significance::{self, Pairs};
use toprank::metrics::{bootstrap, evaluate};
use toprank::train::walk::judged_scores;
use toprank::train::{TrainError, WalkFile};

use super::GraphFlags;
use crate::failure::Failure;
use crate::rules::Measures;
use crate::table::{Style, Table};
use crate::{Common, compare, print, print_json};

const AFTER_HELP: &str = "\
Example:
  toprank pagerank evaluate walk.toprank --graphs test --metrics ndcg@10,map

Compared are the learned random walk, the untuned one (all features weigh the same, each
divided by its largest value) and the number of edges into a node (in-degree). Only judged nodes are ranked; judged nodes that
are not in the graph count as not retrieved. p is from a paired t test against the untuned walk. Above the table is a verdict for
each pair, with the interval of the difference and p corrected over all pairs and metrics (Holm).";

/// Evaluate a learned random walk against the untuned one and in-degree
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Evaluate {
    /// Model file of a learned random walk
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    graphs: GraphFlags,
    /// Metrics, separated by commas (see `toprank metrics`)
    #[arg(long, short, value_name = "METRICS", default_value = "ndcg@10,map")]
    metrics: String,
    /// Print style; --json is short for json
    #[arg(long, value_enum, value_name = "STYLE", default_value = "table")]
    format: Style,
}

impl Evaluate {
    /// Reads, solves, evaluates, prints.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let file = WalkFile::load(&self.model)?;
        let graphs = self.graphs.read()?;
        let which: Vec<u32> = (0..graphs.len() as u32).collect();
        let lists = graphs.lists(&which, false);
        if lists.entries() == 0 {
            return Err(Failure::data(format!("{}: nothing is judged", self.graphs.graphs.display())));
        }
        let measures = Measures::named(&self.metrics)?;
        let walk = file.walk();
        let phi = file.phi_for(&graphs).map_err(TrainError::from)?;
        let untuned = file.start_for(&graphs).map_err(TrainError::from)?;
        let node = |entry: usize| graphs.of_row(lists.row(entry) as u32).1 as usize;
        let runs = [
            ("learned", judged_scores(&graphs, walk, &phi, &which)?),
            ("untuned", judged_scores(&graphs, walk, &untuned, &which)?),
            (
                "in-degree",
                (0..lists.entries()).map(|e| graphs.graph.inward().range(node(e)).len() as f64).collect(),
            ),
        ];
        let mut table = Table::new(["ranking", "metric", "value", "95 % interval", "lists", "p"]).words(1);
        let mut rows: Vec<Value> = Vec::new();
        let mut method = String::new();
        let results: Vec<_> = runs
            .iter()
            .map(|(_, scores)| evaluate(&lists, scores, &measures.all).map_err(Failure::data))
            .collect::<Result<_, _>>()?;
        let test = significance::parse("t")?.remove(0);
        for (m, measure) in measures.all.iter().enumerate() {
            for (r, (name, _)) in runs.iter().enumerate() {
                let result = &results[r].results[m];
                let interval =
                    bootstrap::interval(&result.per_list, None, &bootstrap::IntervalOptions::default());
                let p = (r != 1)
                    .then(|| Pairs::new(&results[1].results[m].per_list, &result.per_list, None))
                    .filter(|pairs| pairs.len() > 1)
                    .and_then(|pairs| test.1.run(&pairs, 1).p);
                method = interval.method();
                table.row([
                    (*name).to_string(),
                    measure.name().to_string(),
                    result.mean.map_or("–".into(), |mean| format!("{mean:.4}")),
                    format!("[{:.4}, {:.4}]", interval.low, interval.high),
                    result.counts.used.to_string(),
                    p.map_or(String::new(), |p| format!("{p:.2e}")),
                ]);
                rows.push(json!({
                    "ranking": name, "metric": measure.name(), "value": result.mean,
                    "low": interval.low, "high": interval.high, "lists": result.counts.used, "p": p,
                }));
            }
        }
        let names = runs.each_ref().map(|(name, _)| (*name).to_string());
        let found: Vec<_> = results.iter().map(|evaluation| evaluation.results.as_slice()).collect();
        let paired = compare::paired(&names, &found, &measures.all)?;
        if common.json || self.format == Style::Json {
            return print_json(&json!({
                "results": rows, "comparisons": compare::paired_json(&paired), "policy": measures.policy_json(),
            }));
        }
        let table = table.render(self.format);
        if self.format != Style::Table {
            return print(&table);
        }
        let verdicts = compare::verdicts_text(&paired);
        print(&format!("{verdicts}\n{table}intervals: {method}\n{}", measures.policy_text()))
    }
}
