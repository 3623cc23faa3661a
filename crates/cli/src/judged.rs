//! What is evaluated: labels from a data file or from qrels, scores from a file, a run or a column.

use std::borrow::Cow;

use clap::Args;
use toprank::core::{Lists, ScoreBits};
use toprank::data::formats::Opened;
use toprank::data::scores::scores_of_entries;
use toprank::data::{
    Absent, Dataset, JoinOptions, MissingLists, Names, Qrels, Run, Source, join, read_qrels, read_run,
};
use toprank::metrics::bootstrap::Unit;
use toprank::metrics::{EvaluateError, rows};
use toprank::objectives::GoalError;
use toprank::train::{Model, Predictor, TrainError};

use crate::failure::Failure;
use crate::progress::Progress;
use crate::reading::{Reading, read_files};
use crate::{Common, note};

/// Where the labels come from.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What is evaluated")]
pub struct Labels {
    /// Data file with labels (LETOR, CSV, Parquet, …; see `toprank formats`)
    #[arg(long, value_name = "FILE", required_unless_present = "qrels", conflicts_with = "qrels")]
    data: Option<String>,
    /// TREC judgements: query iteration document relevance (or JSON, CSV, Parquet)
    #[arg(long, value_name = "FILE")]
    qrels: Option<String>,
    /// With --qrels: count queries that a run does not answer as empty rankings (trec_eval -c)
    #[arg(long, requires = "qrels")]
    complete: bool,
    /// With --qrels: evaluate only the top N documents of each query (trec_eval -M)
    #[arg(long, value_name = "N", requires = "qrels")]
    depth: Option<u32>,
}

/// Where the scores come from, beside the labels of a data file.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What is evaluated")]
pub struct ScoreSource {
    /// Scores file: one number per line, in the order of the data's rows
    #[arg(long, value_name = "FILE", group = "ranking")]
    scores: Option<String>,
    /// Rank by a feature, given by number or name
    #[arg(long, value_name = "NAME", group = "ranking", requires = "data")]
    feature: Option<String>,
    /// Rank by a numeric column of a table
    #[arg(long, value_name = "COLUMN", group = "ranking", requires = "data")]
    score_column: Option<String>,
}

impl ScoreSource {
    /// What was asked for.
    pub fn ranking(&self) -> Option<Ranking> {
        let file = self.scores.clone().map(Ranking::File);
        let column = || self.score_column.clone().map(Ranking::Column);
        file.or_else(|| self.feature.clone().map(Ranking::Feature)).or_else(column)
    }

    /// The column that must be read as text.
    pub fn kept_column(&self) -> Option<String> {
        self.score_column.clone()
    }
}

/// Labels, waiting for scores.
pub enum Basis {
    /// A data file: scores come row by row.
    Data { file: String, dataset: Box<Dataset>, reading: Box<Reading> },
    /// Judgements: scores come from runs, whose documents are kept if they are to be named later.
    Qrels { file: String, qrels: Box<Qrels>, options: JoinOptions, keep_documents: bool },
}

/// Where scores come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Ranking {
    /// A file: one number a line, or a run if the labels are qrels.
    File(String),
    /// A feature of the data.
    Feature(String),
    /// A column of the data that was kept as text.
    Column(String),
    /// A model that scores the data.
    Model(String),
}

impl Ranking {
    /// The file that it is read from; a feature or a column has none of its own.
    #[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "for the server"))]
    pub fn file(&self) -> Option<&str> {
        match self {
            Ranking::File(file) | Ranking::Model(file) => Some(file),
            Ranking::Feature(_) | Ranking::Column(_) => None,
        }
    }
}

impl std::fmt::Display for Ranking {
    /// A name for a legend: the file without folders and ending, the feature, the column.
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Ranking::File(file) | Ranking::Model(file) => {
                let stem = std::path::Path::new(file).file_stem();
                f.write_str(&stem.map_or_else(|| file.into(), |stem| stem.to_string_lossy()))
            }
            Ranking::Feature(name) => write!(f, "feature {name}"),
            Ranking::Column(name) => f.write_str(name),
        }
    }
}

/// Lists with scores.
pub struct Judged<'a> {
    pub lists: Cow<'a, Lists>,
    pub scores: Vec<f64>,
    /// Name of each list.
    pub names: Vec<String>,
    /// Queries that only the qrels, only the run know.
    pub only_in: Option<(usize, usize)>,
    /// Where they are kept ([`Basis::keep_documents`]): the run, and the row of it that each entry is.
    pub documents: Option<Box<(Run, Vec<u32>)>>,
}

impl Labels {
    /// Reads the labels; `keep` are columns wanted as text, `every_query` counts unanswered queries as empty.
    pub fn read(
        &self,
        reading: &Reading,
        keep: Vec<String>,
        every_query: bool,
        bits: ScoreBits,
        common: &Common,
    ) -> Result<Basis, Failure> {
        if let Some(file) = &self.data {
            return Basis::data(file, reading, keep, common);
        }
        let file = self.qrels.as_deref().unwrap_or_default();
        let _spinner = Progress::spinner(common.quiet, &format!("reading {file}"));
        let missing_lists =
            if self.complete || every_query { MissingLists::Empty } else { MissingLists::LeaveOut };
        let options = JoinOptions { missing_lists, depth: self.depth, scores: bits };
        Ok(Basis::Qrels {
            file: file.to_string(),
            qrels: Box::new(read_qrels(&Source::path(file))?),
            options,
            keep_documents: false,
        })
    }
}

impl Judged<'_> {
    /// LightGBM weighs a query by the mean of its rows' weights; its preset does so too.
    pub fn weigh(&mut self, like: Option<&str>) {
        let lists = &self.lists;
        let (Some("lightgbm"), Some(weights), None) = (like, &lists.item_weights, &lists.list_weights) else {
            return;
        };
        let mean = |q: usize| {
            let range = lists.range(q);
            weights[range.clone()].iter().sum::<f32>() / range.len().max(1) as f32
        };
        let means = (0..lists.len()).map(mean).collect();
        self.lists.to_mut().list_weights = Some(means);
    }
}

impl Basis {
    /// Reads a data file; `keep` are columns wanted as text.
    pub fn data(file: &str, reading: &Reading, keep: Vec<String>, common: &Common) -> Result<Basis, Failure> {
        let dataset = Box::new(reading.read(file, keep, common.quiet)?);
        Ok(Basis::Data { file: file.to_string(), dataset, reading: Box::new(reading.clone()) })
    }

    /// Puts scores to the labels.
    pub fn judge(&self, ranking: &Ranking, reverse: bool, common: &Common) -> Result<Judged<'_>, Failure> {
        let mut judged = match (self, ranking) {
            (Basis::Qrels { file: of_qrels, qrels, options, keep_documents }, Ranking::File(file)) => {
                let _spinner = Progress::spinner(common.quiet, &format!("reading {file}"));
                let run = read_run(&Source::path(file))?;
                let joined = join(qrels, &run, options);
                if joined.lists.is_empty() {
                    return Err(Failure::data(format!(
                        "{file}: no query of the run is in {of_qrels}; expected at least one query name in both files"
                    )));
                }
                Judged {
                    lists: Cow::Owned(joined.lists),
                    scores: joined.scores,
                    names: joined.list_names.iter().map(str::to_string).collect(),
                    only_in: Some((joined.only_in_qrels.len(), joined.only_in_run.len())),
                    documents: keep_documents.then(|| Box::new((run, joined.rows))),
                }
            }
            (Basis::Qrels { .. }, _) => {
                return Err(Failure::usage(
                    "a column or a model can only be evaluated with --data; with --qrels give runs",
                ));
            }
            (Basis::Data { file, dataset, reading }, ranking) => {
                let outputs = dataset.outputs();
                if outputs > 1 && matches!(ranking, Ranking::Feature(_) | Ranking::Column(_)) {
                    return Err(Failure::usage(format!(
                        "{file} has {outputs} labels; one column cannot rank for all of them: give --scores with {outputs} numbers per line"
                    )));
                }
                let of_entries = |by_row: Vec<f64>| dataset.lists.scores_of_entries(&by_row, 1);
                let scores = match ranking {
                    Ranking::File(scores) => {
                        let _spinner = Progress::spinner(common.quiet, &format!("reading {scores}"));
                        scores_of_entries(&Source::path(scores), dataset)?
                    }
                    Ranking::Feature(name) => of_entries(feature(dataset, file, name, common)?),
                    Ranking::Column(name) => of_entries(column(dataset, file, name)?),
                    Ranking::Model(path) => of_model(path, file, dataset, reading, common)?,
                };
                Judged {
                    scores,
                    lists: Cow::Borrowed(&dataset.lists),
                    names: list_names(dataset),
                    only_in: None,
                    documents: None,
                }
            }
        };
        if reverse {
            judged.scores.iter_mut().for_each(|score| *score = -*score);
        }
        Ok(judged)
    }

    /// From now on the documents of runs are kept, so that they can be named.
    #[must_use]
    #[cfg_attr(not(feature = "plots"), expect(dead_code, reason = "for the report"))]
    pub fn keeping_documents(mut self) -> Basis {
        if let Basis::Qrels { keep_documents, .. } = &mut self {
            *keep_documents = true;
        }
        self
    }

    /// The name of an entry of a ranking; its number in the list where nothing names it.
    #[cfg_attr(not(feature = "plots"), expect(dead_code, reason = "for the report"))]
    pub fn item_name(&self, judged: &Judged, entry: usize) -> String {
        match (self, &judged.documents) {
            (Basis::Data { dataset, .. }, _) => dataset.item_name(judged.lists.row(entry)),
            (_, Some(documents)) => {
                let (run, rows) = documents.as_ref();
                run.document(rows[entry] as usize).to_string()
            }
            (_, None) => format!("item {}", entry + 1),
        }
    }

    /// What intervals and tests draw: rows where lists are labels of one data set, lists where they are queries.
    pub fn unit(&self, lists: &Lists) -> Unit {
        match self {
            Basis::Data { .. } if rows::are_units(lists) => Unit::Rows,
            _ => Unit::Lists,
        }
    }

    /// Where the labels come from, for a title.
    pub fn name(&self) -> String {
        match self {
            Basis::Data { file, .. } => Ranking::File(file.clone()).to_string(),
            Basis::Qrels { .. } => "judgements".into(),
        }
    }

    /// The text of a column for each entry, for slices.
    pub fn slices(&self, name: &str) -> Result<Vec<String>, Failure> {
        let Basis::Data { file, dataset, .. } = self else {
            return Err(Failure::usage("--by needs a column, so it goes with --data"));
        };
        let row_text: Box<dyn Fn(usize) -> String> = if let Some(names) = kept(dataset, name) {
            Box::new(move |row| names.get(row).to_string())
        } else if let Some(feature) = dataset.feature(name) {
            Box::new(move |row| dataset.features.get(row, feature).to_string())
        } else {
            return Err(Failure::usage(format!(
                "{file} has no column {name}; expected one of {}",
                known(dataset)
            )));
        };
        Ok((0..dataset.lists.entries()).map(|entry| row_text(dataset.lists.row(entry))).collect())
    }

    /// An error of the evaluation in the words of the files: which line holds the bad number.
    pub fn explain(&self, error: &EvaluateError) -> Failure {
        let entry = match error {
            EvaluateError::Score { entry, .. } => Some(*entry),
            EvaluateError::Label { entry, .. } => *entry,
            _ => None,
        };
        self.at(entry, error)
    }

    /// The same of an objective.
    pub fn explain_goal(&self, error: &GoalError) -> Failure {
        let entry = match (self, error) {
            (_, GoalError::Param(error)) => return Failure::usage(error),
            (
                Basis::Data { dataset, .. },
                GoalError::Score { list, item, .. }
                | GoalError::NotFinite { list, item, .. }
                | GoalError::Label { list, item, .. },
            ) => Some(dataset.lists.range(*list).start + item),
            (Basis::Data { dataset, .. }, GoalError::Long { list, .. }) => {
                Some(dataset.lists.range(*list).start)
            }
            _ => None,
        };
        self.at(entry, error)
    }

    fn at(&self, entry: Option<usize>, error: impl std::fmt::Display) -> Failure {
        match (self, entry) {
            (Basis::Data { file, dataset, .. }, Some(entry)) => {
                Failure::data(format!("{}: {error}", place(file, dataset, dataset.lists.row(entry))))
            }
            _ => Failure::data(error),
        }
    }
}

/// Where a row stands: file and line, or file and row where lines mean nothing.
fn place(file: &str, dataset: &Dataset, row: usize) -> String {
    dataset
        .lines
        .of(row)
        .map_or_else(|| format!("{file}: row {}", dataset.file_row(row) + 1), |line| format!("{file}:{line}"))
}

fn list_names(dataset: &Dataset) -> Vec<String> {
    (0..dataset.lists.len()).map(|q| dataset.list_name(q)).collect()
}

fn kept<'a>(dataset: &'a Dataset, name: &str) -> Option<&'a Names> {
    dataset.extra.iter().find(|(column, _)| column == name).map(|(_, names)| names)
}

fn known(dataset: &Dataset) -> String {
    let names: Vec<&str> = dataset.columns.iter().map(|column| column.name.as_str()).collect();
    if names.len() <= 12 {
        return names.join(", ");
    }
    format!("{}, … {} ({} in all)", names[..8].join(", "), names[names.len() - 1], names.len())
}

/// A feature as a score; items where it is missing rank last, and a note says how many.
fn feature(dataset: &Dataset, file: &str, name: &str, common: &Common) -> Result<Vec<f64>, Failure> {
    let Some(feature) = dataset.feature(name) else {
        return Err(Failure::usage(format!(
            "{file} has no feature {name}; expected one of {}",
            known(dataset)
        )));
    };
    let mut scores: Vec<f64> =
        (0..dataset.rows()).map(|row| f64::from(dataset.features.get(row, feature))).collect();
    let missing = scores.iter().filter(|score| score.is_nan()).count();
    if missing > 0 {
        let last = scores.iter().copied().fold(f64::INFINITY, f64::min) - 1.0;
        let last = if last.is_finite() { last } else { 0.0 };
        scores.iter_mut().filter(|score| score.is_nan()).for_each(|score| *score = last);
        note(
            common,
            format!("feature {name} is missing in {missing} of {} rows; they rank last", scores.len()),
        );
    }
    Ok(scores)
}

/// The scores of a model for every entry of the data, which are read again as the model needs them.
fn of_model(
    path: &str,
    file: &str,
    dataset: &Dataset,
    reading: &Reading,
    common: &Common,
) -> Result<Vec<f64>, Failure> {
    if file == "-" {
        return Err(Failure::usage(format!(
            "{path}: a model reads the data once more, which standard input cannot give; expected a file for --data"
        )));
    }
    let model = Model::load(path.as_ref())?;
    let options = reading.as_trained(&model).options(Vec::new());
    let read = read_files(&[file.to_string()], &options, true)?;
    let absent = if options.absent == Absent::Missing { f32::NAN } else { 0.0 };
    let predictor = Predictor::new(&model, file, Opened::Memory(Box::new(read)), absent)?;
    let _spinner = Progress::spinner(common.quiet, &format!("scoring with {path}"));
    let mut scores = Vec::with_capacity(dataset.lists.entries());
    predictor.each(|some| {
        scores.extend_from_slice(some);
        Ok::<(), TrainError>(())
    })?;
    match scores.len() == dataset.lists.entries() {
        true => Ok(scores),
        false => Err(Failure::data(format!(
            "{path}: {} scores for {} items of {file}; expected a model of as many labels as the data have",
            scores.len(),
            dataset.lists.entries()
        ))),
    }
}

/// A column kept as text, as scores.
fn column(dataset: &Dataset, file: &str, name: &str) -> Result<Vec<f64>, Failure> {
    let Some(texts) = kept(dataset, name) else {
        return Err(Failure::usage(format!("{file} has no column {name}")));
    };
    let number = |(row, text): (usize, &str)| match text.trim().parse::<f64>() {
        Ok(score) if score.is_finite() => Ok(score),
        _ => Err(Failure::data(format!(
            "{}: column {name} holds {text:?}; expected a finite number to rank by",
            place(file, dataset, row)
        ))),
    };
    texts.iter().enumerate().map(number).collect()
}
