//! `toprank pagerank`: rank the nodes of graphs by random walks, and learn the walks.

mod evaluate;
mod predict;
mod rank;
mod sessions;
mod train;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toprank::data::QueryGraphs;
use toprank::data::graph::GraphFiles;
use toprank::walks::Dangling;

use crate::Common;
use crate::failure::Failure;

const AFTER_HELP: &str = "\
Examples:
  toprank pagerank rank --edges edges.csv --restart 0.15 --top 20
  toprank pagerank sessions --log sessions.tsv -o graphs
  toprank pagerank train --graphs graphs --objective margin --method gbn -o walk.toprank
  toprank pagerank predict walk.toprank --graphs test -o scores.txt
  toprank pagerank evaluate walk.toprank --graphs test --metrics ndcg@10,map

A random walk starts at a seed, follows edges, and restarts with probability --restart (1 minus the damping factor). A node's
score is the probability of finding the walk there. Plain PageRank follows every edge with the same probability; a learned walk
weights seeds and edges by their features, with weights trained so that judged nodes are ranked in the right order.

A folder of graphs holds the tables nodes (query, node, seed, features), edges (query, from, to, features) and judgements
(query, node, label), as TSV, CSV or Parquet; without the column query there is one graph for all. Try it:
  toprank generate graphs --queries 200 -o graphs";

/// Rank the nodes of graphs by PageRank or by random walks with learned weights
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct PageRank {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    Rank(rank::Rank),
    Sessions(sessions::Sessions),
    Train(Box<train::Train>),
    Predict(predict::Predict),
    Evaluate(evaluate::Evaluate),
}

impl PageRank {
    /// Runs the subcommand.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        match &self.command {
            Command::Rank(command) => command.run(common),
            Command::Sessions(command) => command.run(common),
            Command::Train(command) => command.run(common),
            Command::Predict(command) => command.run(common),
            Command::Evaluate(command) => command.run(common),
        }
    }
}

/// How often walks restart, under both names.
#[derive(clap::Args, Clone, Debug)]
struct RestartFlags {
    /// Probability of a restart at each step, more than 0 [default: 0.15]
    #[arg(long, value_name = "ALPHA", allow_negative_numbers = true)]
    restart: Option<f64>,
    /// Damping factor, 1 minus --restart: --damping 0.85 is --restart 0.15
    #[arg(long, value_name = "D", conflicts_with = "restart", allow_negative_numbers = true)]
    damping: Option<f64>,
    /// Where a walk goes from a dangling node (one without out-edges)
    #[arg(long, value_enum, default_value = "restart")]
    dangling: DanglingRule,
}

impl RestartFlags {
    fn alpha(&self) -> Result<f64, Failure> {
        let alpha = self.restart.or(self.damping.map(|damping| 1.0 - damping)).unwrap_or(0.15);
        if alpha > 0.0 && alpha <= 1.0 {
            return Ok(alpha);
        }
        let (flag, found) = match (self.restart, self.damping) {
            (None, Some(damping)) => ("--damping", damping),
            _ => ("--restart", alpha),
        };
        let expected = if flag == "--damping" { "at least 0 and below 1" } else { "above 0 and at most 1" };
        Err(Failure::usage(format!(
            "{flag} must be {expected}, but is {found}: without restarts there may be no unique ranking"
        )))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum DanglingRule {
    /// To the seeds
    Restart,
    /// To any node with the same probability
    Uniform,
}

impl From<DanglingRule> for Dangling {
    fn from(rule: DanglingRule) -> Dangling {
        match rule {
            DanglingRule::Restart => Dangling::Restart,
            DanglingRule::Uniform => Dangling::Uniform,
        }
    }
}

/// Where query graphs are.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Graphs")]
struct GraphFlags {
    /// Folder with the tables nodes, edges, judgements, seeds
    #[arg(long, value_name = "FOLDER")]
    graphs: PathBuf,
    #[command(flatten)]
    reading: GraphReading,
}

/// How graphs are read.
#[derive(clap::Args, Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct GraphReading {
    /// Another table of judgements: query, node, label; or qrels
    #[arg(long, value_name = "FILE")]
    judgements: Option<PathBuf>,
    /// Features of an edge: its own columns, those of its two nodes, or both [default: own if there are any]
    #[arg(long, value_enum, value_name = "WHICH")]
    edge_features: Option<EdgeWhich>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
enum EdgeWhich {
    Own,
    Nodes,
    Both,
}

impl GraphFlags {
    fn read(&self) -> Result<QueryGraphs, Failure> {
        self.reading.read(&self.graphs, true)
    }
}

impl GraphReading {
    /// Reads a folder; the table of --judgements is that of the main one.
    pub(crate) fn read(&self, folder: &std::path::Path, is_main: bool) -> Result<QueryGraphs, Failure> {
        let mut files = GraphFiles::folder(folder)?;
        if self.judgements.is_some() && is_main {
            files.judgements.clone_from(&self.judgements);
        }
        files.ends = self.edge_features.map(|which| which != EdgeWhich::Own);
        let mut graphs = QueryGraphs::read(&files)?;
        if let (Some(judgements), true) = (&self.judgements, is_main && graphs.judged.nodes.is_empty()) {
            return Err(Failure::data(format!(
                "{}: judges no node of {}; expected judgements of its queries and nodes",
                judgements.display(),
                folder.display()
            )));
        }
        graphs.check_seeds(&folder.display().to_string())?;
        if self.edge_features == Some(EdgeWhich::Nodes) {
            graphs.edge_features.own = toprank::data::Matrix::default();
            graphs.edge_columns.clear();
        }
        Ok(graphs)
    }
}

/// A number for a table.
fn number(value: f64) -> String {
    if value == 0.0 || (1e-3..1e6).contains(&value.abs()) {
        format!("{value:.6}")
    } else {
        format!("{value:.3e}")
    }
}
