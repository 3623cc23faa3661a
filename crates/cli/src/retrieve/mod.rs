//! `toprank retrieve`: nearest-neighbour search by an embedding, and its evaluation.

mod report;

use std::collections::HashMap;
use std::path::PathBuf;

use toprank::data::Dataset;
use toprank::train::embed::{Classes, Vectors};
use toprank::train::{Embedder, Search};

use crate::Common;
use crate::embed::{Wanted, absent, read};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::reading::Reading;
use crate::rules::Measures;
use crate::table::Style;

const AFTER_HELP: &str = "\
Examples:
  toprank retrieve emb.toprank --queries test.csv --class letter
  toprank retrieve emb.toprank --queries letters.csv --class letter --part test --metrics map,success@1,success@10
  toprank retrieve emb.toprank --queries q.csv --gallery g.csv --k 10 -o nearest.csv

The search is exact: every query with every row of the gallery, by the similarity that the embedding was trained with (cosine, or
minus the squared distance, which is the score then). Without --gallery each query is
searched among all other rows of its own file.

Where the rows have classes (--class, or a label), rows of a query's class are relevant and the ranking is evaluated: map is the
mean AUPRC (mAUPRC) of retrieval papers, success@k their Recall@k (at least one hit among the first k). A query without another
row of its class is excluded from the mean. --part keeps only the classes of that part of the split that the embedding was
trained with.";

/// Search for the nearest rows by an embedding, and evaluate the ranking
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Retrieve {
    /// Model file of an embedding
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Rows to search for
    #[arg(long, value_name = "FILE")]
    queries: String,
    /// Rows to search in [default: the queries, each among all others]
    #[arg(long, value_name = "FILE")]
    gallery: Option<String>,
    /// Column of the class [default: the label, if there is one]
    #[arg(long, value_name = "COLUMN")]
    class: Option<String>,
    /// Keep only the classes of this part of the training split
    #[arg(long, value_enum, value_name = "PART")]
    part: Option<Part>,
    /// Metrics, separated by commas (see `toprank metrics`)
    #[arg(long, short, value_name = "METRICS", default_value = "map,success@1,success@10")]
    metrics: String,
    /// Number of rows to list for each query
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,
    /// Write query,rank,item,score as CSV to this file; - is standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the metrics of every query to a CSV file
    #[arg(long, value_name = "FILE")]
    per_query: Option<PathBuf>,
    /// Print style; --json is short for json
    #[arg(long, value_enum, value_name = "STYLE", default_value = "table")]
    format: Style,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Trained on
    Train,
    /// Used for early stopping
    Valid,
    /// Held out
    Test,
}

/// Rows of one file.
struct Rows {
    names: Vec<String>,
    /// Names of the classes, and the class of each row, if they have any.
    classes: Option<(Vec<String>, Vec<u32>)>,
    vectors: Vectors,
}

impl Retrieve {
    /// Loads, embeds, searches, evaluates, prints.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let measures = Measures::named(&self.metrics)?;
        let embedder = Embedder::load(&self.model)?;
        let queries = self.rows(&embedder, &self.queries, common)?;
        let gallery = self.gallery.as_ref().map(|path| self.rows(&embedder, path, common)).transpose()?;
        if queries.names.is_empty() || gallery.as_ref().is_some_and(|gallery| gallery.names.is_empty()) {
            return Err(Failure::data("no rows; expected at least one query and one row to search in"));
        }
        let search =
            Search { queries: &queries.vectors, gallery: gallery.as_ref().map(|gallery| &gallery.vectors) };
        let evaluated = match classes_of(&queries, gallery.as_ref()) {
            None => None,
            Some(_) if measures.all.is_empty() => None,
            Some((of_queries, of_gallery)) => {
                let _spinner = Progress::spinner(common.quiet, "ranking");
                Some(search.evaluate(&of_queries, &of_gallery, &measures.all)?)
            }
        };
        if let (Some(path), Some(evaluated)) = (&self.per_query, &evaluated) {
            report::write_per_query(path, &queries.names, evaluated)?;
        }
        // Without classes what is found is the result.
        let listed = self.output.is_some() || evaluated.is_none();
        let found = if listed { search.nearest(self.k as usize) } else { Vec::new() };
        let items = gallery.as_ref().map_or(&queries.names, |gallery| &gallery.names);
        if let Some(path) = &self.output {
            report::write_nearest(path, &queries.names, items, &found)?;
            if evaluated.is_none() || path.as_os_str() == "-" {
                return Ok(());
            }
        }
        let rows = [queries.names.len(), items.len()];
        match evaluated {
            Some(evaluated) => self.report(&evaluated, &measures, rows, common),
            None => self.list(&queries.names, items, &found, common),
        }
    }

    fn rows(&self, embedder: &Embedder, path: &str, common: &Common) -> Result<Rows, Failure> {
        let class = self.class.as_deref();
        let wanted =
            if class.is_some() || self.part.is_some() { Wanted::Classes } else { Wanted::ClassesIfAny };
        let data = read(path, class, &self.reading, wanted, common.quiet)?;
        let unlabelled = class.is_none() && data.lists.labels.iter().all(|label| label.is_nan());
        if unlabelled {
            let (names, vectors) = self.embed(embedder, path, data)?;
            return Ok(Rows { names, classes: None, vectors });
        }
        let wrong = |error: toprank::core::ParamError| Failure::data(error).about(path);
        let mut classes = Classes::of(data).map_err(wrong)?;
        if let Some(part) = self.part {
            let parts = &embedder.header().parts;
            let names = match part {
                Part::Train => &parts.train,
                Part::Valid => &parts.valid,
                Part::Test => &parts.test,
            };
            if names.is_empty() {
                let part = format!("{part:?}").to_lowercase();
                let words = format!("{}: no classes are of the part {part}", self.model.display());
                return Err(Failure::usage(format!("{words}; train with a --split that has it")));
            }
            classes = classes.only(names).map_err(wrong)?;
        }
        let known = Some((classes.names(), classes.of_rows()));
        let (names, vectors) = self.embed(embedder, path, classes.data)?;
        Ok(Rows { names, classes: known, vectors })
    }

    fn embed(
        &self,
        embedder: &Embedder,
        path: &str,
        data: Dataset,
    ) -> Result<(Vec<String>, Vectors), Failure> {
        let names = (0..data.rows()).map(|row| data.item_name(row)).collect();
        Ok((names, embedder.embed(path, data, absent(&self.reading))?))
    }
}

/// The classes of the rows of both files in one numbering; `None`: a file has none.
fn classes_of(queries: &Rows, gallery: Option<&Rows>) -> Option<(Vec<u32>, Vec<u32>)> {
    let (names, of_queries) = queries.classes.as_ref()?;
    let Some(gallery) = gallery else { return Some((of_queries.clone(), Vec::new())) };
    let (others, of_gallery) = gallery.classes.as_ref()?;
    let known: HashMap<&String, u32> = names.iter().zip(0..).collect();
    let unknown = names.len() as u32;
    let numbers: Vec<u32> = others.iter().map(|name| known.get(name).copied().unwrap_or(unknown)).collect();
    Some((of_queries.clone(), of_gallery.iter().map(|class| numbers[*class as usize]).collect()))
}
