//! `toprank pagerank rank`: PageRank of an edge list.

use std::path::{Path, PathBuf};

use serde_json::json;
use toprank::data::graph::{EdgeOptions, Graph, ReadGraph, read_edges};
use toprank::data::lines::Lines;
use toprank::data::{ReadError, Source, sink};
use toprank::walks::{Solver, Stop, Surfer, rank};

use super::{RestartFlags, number};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::table::{Style, Table};
use crate::{Common, note, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank pagerank rank --edges edges.csv --restart 0.15 --top 20
  toprank pagerank rank --edges web.txt.gz --damping 0.85 -o scores.tsv
  toprank pagerank rank --edges clicks.csv --source from --target to --weight count
  toprank pagerank rank --edges edges.csv --seeds seeds.txt           # personalised
  toprank pagerank rank --edges huge.txt --save huge.toprank-graph    # memory-mapped from then on

Edges are read from CSV, TSV, SNAP lists (blanks or tabs, # comments) or Parquet: the first two columns are source and target. A
repeated edge counts twice, a self loop is an edge like any other. The first line is skipped as a header, with a note, only if its
two cells are usual column names (source,target; from,to; id1,id2 …) that occur in no other line, or if they are not numbers while all
other nodes are; --header yes or no decides it. A seeds file has one node per line, with a weight after a tab
if seeds differ. The error bound is guaranteed: it is an upper bound of the absolute errors of all scores, summed over nodes.";

/// Compute PageRank of a graph: plain, weighted or personalised, with an error bound
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Rank {
    /// Edge list; - is standard input
    #[arg(long, value_name = "FILE")]
    edges: PathBuf,
    /// Column of the source, by name or number [default: the first]
    #[arg(long, value_name = "COLUMN")]
    source: Option<String>,
    /// Column of the target [default: the second]
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// Column of the weight [default: every edge weighs the same]
    #[arg(long, value_name = "COLUMN")]
    weight: Option<String>,
    /// Treat every line as an edge in both directions
    #[arg(long)]
    undirected: bool,
    /// Whether the first line names the columns [default: only if it cannot be an edge, see --help]
    #[arg(long, value_enum, value_name = "yes|no")]
    header: Option<Header>,
    /// File of the nodes where walks start, one per line [default: all nodes]
    #[arg(long, value_name = "FILE")]
    seeds: Option<PathBuf>,
    #[command(flatten)]
    restart: RestartFlags,
    /// Solver
    #[arg(long, value_enum, default_value = "seidel")]
    solver: SolverName,
    /// Maximum error, summed over all nodes
    #[arg(long, value_name = "E", default_value_t = 1e-9, allow_negative_numbers = true)]
    error: f64,
    /// Number of nodes to print
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Write the scores of all nodes: node, tab, score
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the graph as a file that --edges memory-maps instead of reading
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Header {
    /// It is a header
    Yes,
    /// It is an edge
    No,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SolverName {
    /// Gauss–Seidel that keeps the mass: fewest iterations
    Seidel,
    /// Power method
    Power,
    /// Nesterov and Nemirovski's mean, number of iterations known beforehand
    Nn,
}

impl Rank {
    /// Reads, solves, prints.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let alpha = self.restart.alpha()?;
        if !(self.error > 0.0 && self.error.is_finite()) {
            return Err(Failure::usage(format!("--error must be above 0, but is {}", self.error)));
        }
        let options = EdgeOptions {
            source: self.source.clone(),
            target: self.target.clone(),
            weight: self.weight.clone(),
            undirected: self.undirected,
            header: self.header.map(|header| header == Header::Yes),
        };
        let ReadGraph { graph, comment_lines, header, possible_header } = {
            let _spinner = Progress::spinner(common.quiet, &format!("reading {}", self.edges.display()));
            read_edges(&Source::path(&self.edges), &options)?
        };
        if comment_lines > 0 {
            note(common, format!("skipped {comment_lines} comment lines of {}", self.edges.display()));
        }
        if let Some(line) = &header {
            let file = self.edges.display();
            note(common, format!("skipped the header of {file}: \"{line}\" (an edge with --header no)"));
        }
        if let Some(line) = possible_header {
            let file = self.edges.display();
            note(
                common,
                format!(
                    "the first line of {file} is read as an edge: \"{line}\" (a header with --header yes)"
                ),
            );
        }
        if let Some(path) = &self.save {
            graph.save(path)?;
        }
        let surfer = Surfer {
            restart: alpha,
            seeds: self.seeds.as_ref().map(|path| seeds(path, &graph, &self.edges)).transpose()?,
            dangling: self.restart.dangling.into(),
            solver: match self.solver {
                SolverName::Seidel => Solver::Seidel,
                SolverName::Power => Solver::Power,
                SolverName::Nn => Solver::NesterovNemirovski,
            },
            stop: Stop::at(self.error),
            ..Surfer::default()
        };
        let ranking = rank(&graph, &surfer).map_err(Failure::data)?;
        graph.recheck()?;
        if ranking.error_bound > self.error {
            let reached = number(ranking.error_bound);
            note(common, format!("the error bound is only {reached}: rounding errors prevent a smaller one"));
        }
        if let Some(path) = &self.output {
            sink::write_file(path, |out| {
                for (node, score) in ranking.scores.iter().enumerate() {
                    writeln!(out, "{}\t{score:e}", graph.names().get(node))?;
                }
                Ok(())
            })?;
        }
        let mut order: Vec<u32> = (0..graph.nodes() as u32).collect();
        let better = |a: &u32, b: &u32| {
            ranking.scores[*b as usize].total_cmp(&ranking.scores[*a as usize]).then(a.cmp(b))
        };
        let top = self.top.min(order.len());
        if top > 0 && top < order.len() {
            order.select_nth_unstable_by(top - 1, better);
        }
        order.truncate(top);
        order.sort_unstable_by(better);
        if common.json {
            let top: Vec<_> = order
                .iter()
                .map(|&node| json!({"name": graph.names().get(node as usize), "score": ranking.scores[node as usize]}))
                .collect();
            return print_json(&json!({
                "top": top,
                "error_bound": ranking.error_bound,
                "iterations": ranking.iterations,
                "nodes": graph.nodes(),
                "edges": graph.edges(),
                "comment_lines": comment_lines,
                "header": header,
                "dangling": ranking.dangling,
                "restart": alpha,
                "solver": format!("{:?}", self.solver).to_lowercase(),
            }));
        }
        let mut table = Table::new(["node", "score"]);
        for node in order {
            let name = graph.names().get(node as usize).into_owned();
            table.row([name, format!("{:.6e}", ranking.scores[node as usize])]);
        }
        let mut text = table.render(Style::Table);
        text += &format!(
            "{} nodes ({} dangling), {} edges; {} iterations, error at most {:.1e}\n",
            graph.nodes(),
            ranking.dangling,
            graph.edges(),
            ranking.iterations,
            ranking.error_bound
        );
        print(&text)
    }
}

fn seeds(path: &Path, graph: &Graph, edges: &Path) -> Result<Vec<(u32, f64)>, Failure> {
    let source = Source::path(path);
    let mut lines = Lines::open(&source)?;
    let mut seeds = Vec::new();
    while let Some(line) = lines.next_line()? {
        let text = String::from_utf8_lossy(line).trim().to_string();
        // A name may start with #: such a line is a comment only if no node is called so.
        if text.is_empty() || (text.starts_with('#') && graph.names().find(&text).is_none()) {
            continue;
        }
        let place = |error: ReadError| error.at_line(lines.number());
        // A name may hold blanks; only a tab cuts it from a weight.
        let (name, weight) = match text.split_once('\t') {
            None => (text.as_str(), 1.0),
            Some((name, weight)) => {
                let weight = weight.trim().parse().ok().filter(|w: &f64| *w >= 0.0 && w.is_finite());
                let bad = || {
                    place(ReadError::data(source.name(), format!("{text:?}"), "node, tab, weight from 0 on"))
                };
                (name.trim(), weight.ok_or_else(bad)?)
            }
        };
        let node = graph.names().find(name).ok_or_else(|| {
            let found = format!("the seed {name:?}");
            place(ReadError::data(source.name(), found, format!("nodes of {}", edges.display())))
        })?;
        seeds.push((node, weight));
    }
    if seeds.iter().all(|(_, weight)| *weight == 0.0) {
        let found = if seeds.is_empty() { "no seed" } else { "seeds whose weights add up to 0" };
        let expected = "a node a line, one of them of weight above 0";
        return Err(ReadError::data(source.name(), found, expected).into());
    }
    Ok(seeds)
}
