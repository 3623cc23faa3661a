//! `toprank pagerank sessions`: browsing logs as graphs.

use std::path::PathBuf;

use serde_json::json;
use toprank::data::Source;
use toprank::data::graph::{SessionOptions, read_sessions};

use crate::failure::Failure;
use crate::progress::Progress;
use crate::{Common, print, print_json};

const AFTER_HELP: &str = "\
Example:
  toprank pagerank sessions --log sessions.tsv -o graphs

The log is a table: user, time (seconds), page and, if sessions start from queries, query (empty while a session continues). With
a column click only rows with 1 count. A session ends with the next query or after --gap seconds without a visit. The folder gets nodes.tsv (seed: first pages; visits, starts, ends, users, dwell) and edges.tsv (from, to, count);
add judgements.tsv (query, node, label) to train on them.";

/// Split a log of visits into sessions and build a graph for each query
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Sessions {
    /// The log (TSV, CSV or Parquet)
    #[arg(long, value_name = "FILE")]
    log: PathBuf,
    /// Folder to write
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,
    /// Seconds without a visit after which a session ends
    #[arg(long, value_name = "SECONDS", default_value_t = 1800.0, allow_negative_numbers = true)]
    gap: f64,
    /// Column of the user
    #[arg(long, value_name = "COLUMN")]
    user: Option<String>,
    /// Column of the time
    #[arg(long, value_name = "COLUMN")]
    time: Option<String>,
    /// Column of the page
    #[arg(long, value_name = "COLUMN")]
    page: Option<String>,
    /// Column of the query
    #[arg(long, value_name = "COLUMN")]
    query: Option<String>,
}

impl Sessions {
    /// Reads, cuts, writes.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let usual = SessionOptions::default();
        let options = SessionOptions {
            user: self.user.clone().unwrap_or(usual.user),
            time: self.time.clone().unwrap_or(usual.time),
            page: self.page.clone().unwrap_or(usual.page),
            query: self.query.clone().unwrap_or(usual.query),
            gap: self.gap,
        };
        let _spinner = Progress::spinner(common.quiet, &format!("reading {}", self.log.display()));
        let sessions = read_sessions(&Source::path(&self.log), &options)?;
        sessions.write(&self.output)?;
        let graphs = sessions.graphs()?;
        if common.json {
            return print_json(&json!({
                "graphs": sessions.len(),
                "sessions": sessions.sessions,
                "visits": sessions.visits,
                "without_query": sessions.without_query,
                "nodes": graphs.graph.nodes(),
                "edges": graphs.graph.edges(),
            }));
        }
        let mut text = format!(
            "{} sessions, {} visits: {} graphs, {} nodes, {} edges in {}\n",
            sessions.sessions,
            sessions.visits,
            sessions.len(),
            graphs.graph.nodes(),
            graphs.graph.edges(),
            self.output.display()
        );
        if sessions.without_query > 0 {
            text += &format!("{} sessions without a query are left out\n", sessions.without_query);
        }
        print(&text)
    }
}
