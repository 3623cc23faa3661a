//! `toprank pagerank predict`: scores of nodes by a learned random walk.

use std::path::{Path, PathBuf};

use serde_json::json;
use toprank::data::{Run, sink, write_run};
use toprank::train::{TrainError, WalkFile};
use toprank::walks::Stop;

use super::GraphFlags;
use crate::failure::Failure;
use crate::{Common, note, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank pagerank predict walk.toprank --graphs test -o scores.txt
  toprank pagerank predict walk.toprank --graphs test --trec-run -o walk.run
  toprank evaluate --qrels test/qrels.txt --run walk.run --metrics ndcg@10

The output is a table of query, node and score of every node, separated by tabs, best first, with a header; with --trec-run it is
a TREC run.";

/// Score the nodes of graphs by a learned random walk
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Predict {
    /// Model file of a learned random walk
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    graphs: GraphFlags,
    /// File to write; - is standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Write a TREC run
    #[arg(long)]
    trec_run: bool,
    /// Maximum error of a list's probabilities, summed over its nodes
    #[arg(long, value_name = "E", default_value = "1e-9")]
    error: f64,
}

impl Predict {
    /// Reads, solves, writes.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let file = WalkFile::load(&self.model)?;
        let graphs = self.graphs.read()?;
        let phi = file.phi_for(&graphs).map_err(TrainError::from)?;
        let lists: Vec<u32> = (0..graphs.len() as u32).collect();
        if self.error.is_nan() || self.error <= 0.0 {
            return Err(Failure::usage(format!("--error must be above 0, but is {}", self.error)));
        }
        let solved =
            file.walk().solve(&graphs, &lists, &phi, Stop::at(self.error)).map_err(TrainError::from)?;
        let mut rows: Vec<(&str, &str, f64)> = Vec::new();
        for q in 0..graphs.len() {
            let start = rows.len();
            let list = graphs.list_names.get(q);
            rows.extend(
                graphs.nodes_of(q).map(|i| (list, graphs.node_names.get(i), solved.score(q, i as u32))),
            );
            rows[start..].sort_by(|a, b| b.2.total_cmp(&a.2));
        }
        if self.trec_run {
            let run = Run::from_rows("walk", rows.iter().copied())?;
            sink::write_file(&self.output, |out| write_run(&run, out))?;
        } else {
            sink::write_file(&self.output, |out| {
                writeln!(out, "query\tnode\tscore")?;
                rows.iter().try_for_each(|(query, node, score)| writeln!(out, "{query}\t{node}\t{score:e}"))
            })?;
        }
        let certificate = solved.certificate();
        if common.json && self.output != Path::new("-") {
            return print_json(&json!({
                "lists": graphs.len(), "nodes": rows.len(), "error_bound": certificate.error, "iterations": certificate.iterations,
            }));
        }
        note(
            common,
            format!(
                "{} lists, {} nodes; error at most {:.1e} a list",
                graphs.len(),
                rows.len(),
                certificate.error
            ),
        );
        Ok(())
    }
}
