//! `toprank fuse`: one ranking out of several.

use std::path::PathBuf;

use serde_json::{Value, json};
use toprank::data::{Run, Source, align, read_run, sink, write_run};
use toprank::metrics::fusion::{self, FUSIONS};

use crate::evaluate::is_standard_output;
use crate::failure::Failure;
use crate::table::{catalog_help, counted};
use crate::{Common, note, print_json};

/// Fuse runs into one: reciprocal rank, CombSUM, CombMNZ, Borda and more
#[derive(clap::Args, Debug)]
#[command(after_help = after_help())]
pub struct Fuse {
    /// Runs to fuse (TREC, JSON, CSV or Parquet)
    #[arg(required = true, num_args = 2..)]
    runs: Vec<String>,
    /// Fusion method, with parameters as in combsum:norm=zscore
    #[arg(long, value_name = "METHOD", default_value = "rrf")]
    method: String,
    /// File to write the fused run to; - is standard output (with --json as part of the report)
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Tag of the new run [default: the method]
    #[arg(long, value_name = "NAME")]
    tag: Option<String>,
    /// Keep only the top N documents of each query
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
}

fn after_help() -> String {
    let listed = catalog_help(FUSIONS.iter().map(|entry| (entry.name, entry.about, entry.params)));
    format!("Methods:\n{listed}\nExample: toprank fuse bm25.run dense.run --method rrf:k=60 -o fused.run")
}

impl Fuse {
    /// Reads, fuses, writes.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let method = fusion::parse(&self.method)?;
        let runs: Vec<Run> =
            self.runs.iter().map(|file| read_run(&Source::path(file))).collect::<Result<_, _>>()?;
        let aligned = align(&runs.iter().collect::<Vec<_>>());
        let columns: Vec<&[f64]> = aligned.scores.iter().map(Vec::as_slice).collect();
        let fused = fusion::fuse_queries(&*method, &columns, &aligned.offsets, self.depth).map_err(
            |(query, error)| Failure::data(format!("query {}: {error}", aligned.queries.get(query))),
        )?;
        let tag = self.tag.as_deref().unwrap_or(&self.method);
        let run = aligned.run(tag, &fused)?;
        let to_file = !is_standard_output(&self.output);
        if to_file || !common.json {
            sink::write_file(&self.output, |out| write_run(&run, out))?;
        }
        let (queries, documents) = (run.queries().len(), run.len());
        let (of_queries, of_documents) = (counted(queries, "query"), counted(documents, "document"));
        note(common, format!("fused {} runs: {of_queries}, {of_documents}", runs.len()));
        if !common.json {
            return Ok(());
        }
        let mut report = json!({
            "method": self.method,
            "tag": tag,
            "runs": self.runs,
            "queries": queries,
            "documents": documents,
        });
        match to_file {
            true => report["output"] = json!(self.output),
            false => report["run"] = scores(&run),
        }
        print_json(&report)
    }
}

/// A run as `toprank evaluate` reads it from JSON: {query: {document: score}}.
fn scores(run: &Run) -> Value {
    let documents = |query: usize| {
        Value::Object(run.documents(query).map(|(doc, score)| (doc.to_string(), json!(score))).collect())
    };
    let queries = run.queries().iter().enumerate();
    Value::Object(queries.map(|(query, name)| (name.to_string(), documents(query))).collect())
}
