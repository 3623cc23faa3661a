/*!
Judgements (qrels) and rankings (runs), and how the two become lists.

```text
qrels ┐
      ├─ join ─▶ Lists + scores      run, run, … ─ align ─▶ one score per run and document ─▶ a fused run
run   ┘
```

| format | qrels | run |
|---|---|---|
| TREC text | `query iteration document relevance` | `query Q0 document rank score tag` |
| JSON | `{"q1": {"d1": 1}}` | `{"q1": {"d1": 0.5}}` |
| CSV or TSV with a header, Parquet | columns query, document, relevance | columns query, document, score |

The format follows from the extension (`.json`, `.csv`, `.parquet`), else from the first bytes; gzip and zstd are
unpacked on the way. As in trec_eval the rank of a run is not read: the score decides.
*/

mod align;
mod join;
mod json;
mod sheet;
mod table;
mod trec;
mod words;
mod write;

pub use align::{Aligned, align};
pub use join::{JoinOptions, Joined, MissingLists, join};
pub use write::{write_run, write_run_json};

use crate::error::ReadError;
use crate::names::Names;
use crate::source::Source;
use sheet::{Gather, Sheet};

/// Which of the two a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Qrels,
    Run,
}

impl Kind {
    /// What its numbers are called in messages.
    fn value(self) -> &'static str {
        match self {
            Kind::Qrels => "relevance",
            Kind::Run => "score",
        }
    }

    /// What its lines look like.
    fn layout(self) -> &'static str {
        match self {
            Kind::Qrels => "4 columns: query iteration document relevance",
            Kind::Run => "6 columns: query Q0 document rank score tag",
        }
    }
}

/// Relevance judgements: for each query the judged documents with their label.
///
/// ```
/// use toprank_data::{Source, read_qrels};
/// let qrels = read_qrels(&Source::bytes("qrels", b"q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 -1\n".to_vec())).unwrap();
/// assert_eq!(qrels.queries().len(), 2);
/// assert_eq!(qrels.label("q1", "d1"), Some(2.0));
/// assert_eq!(qrels.label("q1", "d3"), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Qrels {
    sheet: Sheet,
}

impl Qrels {
    /// Judgements from (query, document, label); errors as for a file called `name`.
    pub fn from_rows<'a>(
        name: &str,
        rows: impl IntoIterator<Item = (&'a str, &'a str, f32)>,
    ) -> Result<Qrels, ReadError> {
        let rows = rows.into_iter().map(|(query, doc, label)| (query, doc, f64::from(label)));
        Ok(Qrels { sheet: from_rows(name, rows, Kind::Qrels)? })
    }

    /// Names of the queries, in order of first appearance.
    pub fn queries(&self) -> &Names {
        &self.sheet.queries
    }

    /// Number of judgements.
    pub fn len(&self) -> usize {
        self.sheet.values.len()
    }

    /// True if nothing was judged.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Judged documents of query number `query` with their labels, in file order.
    ///
    /// # Panics
    /// If there are not that many queries.
    pub fn judgements(&self, query: usize) -> impl ExactSizeIterator<Item = (&str, f32)> {
        self.sheet.range(query).map(|row| (self.sheet.docs.get(row), self.sheet.values[row] as f32))
    }

    /// The label of a document, if it was judged for this query.
    pub fn label(&self, query: &str, doc: &str) -> Option<f32> {
        let row = self.sheet.row(self.sheet.query(query)?, doc)?;
        Some(self.sheet.values[row] as f32)
    }
}

/// A ranking: for each query the retrieved documents with their score.
///
/// ```
/// use toprank_data::{Source, read_run};
/// let run = read_run(&Source::bytes("run", b"q1 Q0 d1 1 0.5 bm25\nq1 Q0 d2 2 0.25 bm25\n".to_vec())).unwrap();
/// assert_eq!(run.name(), "bm25");
/// assert_eq!(run.documents(0).collect::<Vec<_>>(), [("d1", 0.5), ("d2", 0.25)]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Run {
    name: String,
    sheet: Sheet,
}

impl Run {
    /// A run called `name` from (query, document, score); errors as for a file of that name.
    ///
    /// ```
    /// let run = toprank_data::Run::from_rows("bm25", [("q1", "d1", 0.5), ("q1", "d2", 0.25)]).unwrap();
    /// assert_eq!(run.score("q1", "d2"), Some(0.25));
    /// ```
    pub fn from_rows<'a>(
        name: &str,
        rows: impl IntoIterator<Item = (&'a str, &'a str, f64)>,
    ) -> Result<Run, ReadError> {
        Ok(Run { name: name.to_string(), sheet: from_rows(name, rows, Kind::Run)? })
    }

    /// The tag of a TREC file (of its last line, as trec_eval has it), else the name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives it another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Run {
        self.name = name.into();
        self
    }

    /// Names of the queries, in order of first appearance.
    pub fn queries(&self) -> &Names {
        &self.sheet.queries
    }

    /// Number of retrieved documents in all queries together.
    pub fn len(&self) -> usize {
        self.sheet.values.len()
    }

    /// True if nothing was retrieved.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Retrieved documents of query number `query` with their scores, in file order.
    ///
    /// # Panics
    /// If there are not that many queries.
    pub fn documents(&self, query: usize) -> impl ExactSizeIterator<Item = (&str, f64)> {
        self.sheet.range(query).map(|row| (self.sheet.docs.get(row), self.sheet.values[row]))
    }

    /// The score of a document, if this query retrieved it; a linear search in the query.
    pub fn score(&self, query: &str, doc: &str) -> Option<f64> {
        let query = self.sheet.query(query)?;
        self.documents(query).find(|document| document.0 == doc).map(|document| document.1)
    }

    /// Name of the document in row `row` of the whole run ([`Joined::rows`]).
    ///
    /// # Panics
    /// If there are not that many rows.
    pub fn document(&self, row: usize) -> &str {
        self.sheet.docs.get(row)
    }
}

/// Reads judgements; formats and columns are in the [module](self). Labels may be fractions or negative.
pub fn read_qrels(source: &Source) -> Result<Qrels, ReadError> {
    let (gather, _) = read(source, Kind::Qrels)?;
    Ok(Qrels { sheet: gather.finish(source.name(), Kind::Qrels)? })
}

/// Reads a run; formats and columns are in the [module](self). Scores are finite `f64`.
pub fn read_run(source: &Source) -> Result<Run, ReadError> {
    let (gather, tag) = read(source, Kind::Run)?;
    let name = if tag.is_empty() {
        let stem = source.stem();
        stem.rsplit_once('.').map_or(stem, |(base, _)| base).to_string()
    } else {
        tag
    };
    Ok(Run { name, sheet: gather.finish(source.name(), Kind::Run)? })
}

/// The rows of a file of any format, and the tag of a TREC run.
fn read(source: &Source, kind: Kind) -> Result<(Gather, String), ReadError> {
    let (head, source) = source.peek()?;
    let rows = match Format::of(&source.extension(), &head, kind) {
        Format::Trec => return trec::read(source.name(), &mut *source.open()?, kind),
        Format::Json => json::read(source.name(), source.open()?, kind),
        Format::Csv => table::read_csv(&source, kind),
        Format::Parquet => table::read_parquet(&source, kind),
    };
    rows.map(|gather| (gather, String::new()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Trec,
    Json,
    Csv,
    Parquet,
}

impl Format {
    fn of(extension: &str, head: &[u8], kind: Kind) -> Format {
        match extension {
            "json" => return Format::Json,
            "csv" => return Format::Csv,
            "parquet" | "pq" => return Format::Parquet,
            _ => {}
        }
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        if head.starts_with(b"PAR1") {
            Format::Parquet
        } else if text.trim_ascii_start().starts_with(b"{") {
            Format::Json
        } else if table::has_header(text, kind) {
            Format::Csv
        } else {
            Format::Trec
        }
    }
}

/// A finite number that fills the whole word.
fn number(word: &[u8], kind: Kind) -> Option<f64> {
    // Labels are mostly one digit: no need for the general parser.
    if let [digit @ b'0'..=b'9'] = word {
        return Some(f64::from(digit - b'0'));
    }
    fast_float2::parse::<f64, _>(word).ok().filter(|&value| finite(value, kind))
}

/// True if `value` is a number that lists can hold: scores are `f64`, labels `f32`.
fn finite(value: f64, kind: Kind) -> bool {
    match kind {
        Kind::Qrels => (value as f32).is_finite(),
        Kind::Run => value.is_finite(),
    }
}

/// Rows given one by one, checked like those of a file.
fn from_rows<'a>(
    name: &str,
    rows: impl IntoIterator<Item = (&'a str, &'a str, f64)>,
    kind: Kind,
) -> Result<Sheet, ReadError> {
    let mut gather = Gather::default();
    for (query, doc, value) in rows {
        if !finite(value, kind) {
            let found = format!("{} {value} of document {doc:?} in query {query:?}", kind.value());
            return Err(ReadError::data(name, found, "a finite number"));
        }
        gather.query(query);
        gather.push(doc, value, None);
    }
    gather.finish(name, kind)
}
