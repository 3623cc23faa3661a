//! `POST /judge`: unjudged items of runs, one after the other, for several judges. Every grade is in a file before it is answered.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hyper::StatusCode;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use toprank::core::text::{visible, visible_json, visible_lines};
use toprank::data::{Aligned, Qrels, ReadError, Source, align, read_qrels, read_run, sink};
use toprank::metrics::Measure;
use toprank::metrics::judging::{Contested, agreement};

use super::{absent, unreadable};
use crate::ServeError;
use crate::endpoints::Parameters;
use crate::refusal::Refusal;
use crate::server::Shared;

/// The highest grade: the keys are 0 to 4.
pub const TOP: u8 = 4;
/// Every so many items a judge gets one that another judge has judged, so that agreement can be measured.
const OVERLAP: usize = 5;
/// Characters of a name and of a text on the page.
const NAME: usize = 200;
const TEXT: usize = 20_000;
/// Judges at most: each has a file.
const JUDGES: usize = 100;

/// What is judged, and where the grades go.
#[derive(Clone, Debug)]
pub struct JudgingFiles {
    /// Runs; the first is the baseline.
    pub runs: Vec<PathBuf>,
    /// Judgements that there are already.
    pub qrels: Option<PathBuf>,
    /// Folder of the judges' files and of their consensus.
    pub folder: PathBuf,
    /// Texts of documents and of queries: lines `name<TAB>text`.
    pub documents: Option<PathBuf>,
    /// See `documents`.
    pub queries: Option<PathBuf>,
    /// Places of each run that are judged.
    pub depth: usize,
}

/// Items that wait for judges, and what judges have said.
pub struct Judging {
    files: JudgingFiles,
    measure: Measure,
    aligned: Aligned,
    base: Qrels,
    /// The label of each entry in `base`; NaN: none.
    labels: Vec<f32>,
    /// Labels in `base` of documents that no run has, query by query.
    missed: Vec<Vec<f32>>,
    /// The grade that an unjudged item may get at most, as far as influence is concerned.
    top: f32,
    texts: BTreeMap<String, String>,
    query_texts: BTreeMap<String, String>,
    /// `qrels`, or `json` where names have blanks.
    extension: &'static str,
    state: Mutex<State>,
    /// Held as long as the server lives: two servers must not write the same files.
    _lock: File,
}

/// A query and a document.
type Item = (String, String);

struct State {
    judges: BTreeMap<String, Judge>,
    /// For each query its pool: places among its documents, and how much each could change the verdict.
    pools: Vec<Vec<(usize, f64)>>,
}

#[derive(Default)]
struct Judge {
    grades: BTreeMap<Item, u8>,
    skipped: BTreeSet<Item>,
    /// What this judge looks at, so that no other judge gets it.
    open: Option<Item>,
}

impl Judging {
    /// Reads runs, judgements and what the judges have said before; the items that change `measure` most come first.
    ///
    /// # Errors
    /// If a file cannot be read, or another server has the folder.
    pub fn open(files: JudgingFiles, measure: Measure) -> Result<Judging, ServeError> {
        let failed = |error: &ReadError| ServeError::Settings(error.to_string());
        let runs = files.runs.iter().map(|run| read_run(&Source::path(run)));
        let runs = runs.collect::<Result<Vec<_>, _>>().map_err(|error| failed(&error))?;
        let base = match &files.qrels {
            Some(qrels) => read_qrels(&Source::path(qrels)).map_err(|error| failed(&error))?,
            None => Qrels::default(),
        };
        let aligned = align(&runs.iter().collect::<Vec<_>>());
        let mut labels = vec![f32::NAN; aligned.docs.len()];
        let mut missed = vec![Vec::new(); aligned.queries.len()];
        let mut highest = 0.0_f32;
        for (q, query) in base.queries().iter().enumerate() {
            let at = position(&aligned, query);
            for (document, label) in base.judgements(q) {
                highest = highest.max(label);
                match at.map(|at| (at, aligned.range(at).find(|&entry| aligned.docs.get(entry) == document)))
                {
                    Some((_, Some(entry))) => labels[entry] = label,
                    Some((at, None)) => missed[at].push(label),
                    None => {}
                }
            }
        }
        let io =
            |error: std::io::Error, path: &Path| ServeError::Settings(format!("{}: {error}", path.display()));
        std::fs::create_dir_all(&files.folder).map_err(|error| io(error, &files.folder))?;
        let path = files.folder.join(".lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(|error| io(error, &path))?;
        lock.try_lock().map_err(|_| {
            let folder = files.folder.display();
            ServeError::Settings(format!(
                "{folder}: another server writes judgements there; expected another folder"
            ))
        })?;
        // What a TREC file cannot hold, or would be taken for another format at its beginning.
        let blank = |byte: u8| byte == b' ' || (b'\t'..=b'\r').contains(&byte);
        let plain = |name: &str| {
            let starts = name.starts_with(['#', '{', '\u{feff}']) || name.starts_with("PAR1");
            !name.is_empty() && !starts && !name.bytes().any(blank)
        };
        let all = || aligned.queries.iter().chain(aligned.docs.iter()).chain(base.queries().iter());
        let of_base =
            || (0..base.queries().len()).flat_map(|q| base.judgements(q)).map(|(document, _)| document);
        let extension = if all().chain(of_base()).all(plain) { "qrels" } else { "json" };
        let mut judging = Judging {
            measure,
            base,
            labels,
            missed,
            top: if highest >= 1.0 { highest.min(f32::from(TOP)) } else { f32::from(TOP) },
            texts: BTreeMap::new(),
            query_texts: BTreeMap::new(),
            extension,
            state: Mutex::new(State { judges: BTreeMap::new(), pools: Vec::new() }),
            _lock: lock,
            aligned,
            files,
        };
        judging.start()?;
        Ok(judging)
    }

    /// The file of the consensus: the judgements that there were, and of every item judged the middle grade.
    pub fn consensus(&self) -> PathBuf {
        self.files.folder.join(format!("consensus.{}", self.extension))
    }

    /// How many items wait, and how many grades there are.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.pools.iter().map(Vec::len).sum(), state.judges.values().map(|judge| judge.grades.len()).sum())
    }

    /// Pools, judges of before, texts of what is in the pools.
    fn start(&mut self) -> Result<(), ServeError> {
        let judges = self.known_judges()?;
        let pools: Vec<Vec<usize>> = (0..self.aligned.queries.len())
            .map(|q| self.contested(q, &self.labels, |query| query.pool(self.files.depth)))
            .collect();
        let names = pools.iter().enumerate().flat_map(|(q, pool)| pool.iter().map(move |&place| (q, place)));
        let wanted: BTreeSet<&str> = names.map(|(q, place)| self.document(q, place)).collect();
        let texts = texts_of(self.files.documents.as_deref(), &wanted)?;
        let wanted: BTreeSet<&str> = self.aligned.queries.iter().collect();
        self.query_texts = texts_of(self.files.queries.as_deref(), &wanted)?;
        self.texts = texts;
        let mut state = State { judges, pools: Vec::new() };
        let labels = self.labels_now(&state);
        state.pools = pools
            .par_iter()
            .enumerate()
            .map(|(q, pool)| pool.iter().copied().zip(self.influence(q, pool, &labels)).collect())
            .collect();
        let written = self.write_consensus(&state);
        self.state = Mutex::new(state);
        written.map_err(|error| ServeError::Settings(error.to_string()))
    }

    /// A query as the runs rank it, under some labels.
    fn contested<T>(&self, q: usize, labels: &[f32], then: impl FnOnce(&Contested) -> T) -> T {
        let range = self.aligned.range(q);
        let runs: Vec<&[f64]> = self.aligned.scores.iter().map(|run| &run[range.clone()]).collect();
        then(&Contested {
            runs: &runs,
            labels: &labels[range.clone()],
            tie_keys: &self.aligned.tie_keys[range],
            missed: &self.missed[q],
        })
    }

    /// The document at a place of the pool of a query.
    fn document(&self, q: usize, place: usize) -> &str {
        self.aligned.docs.get(self.aligned.range(q).start + place)
    }

    /// How much each item of a pool could change the verdict, under the labels there are now.
    fn influence(&self, q: usize, pool: &[usize], labels: &[f32]) -> Vec<f64> {
        self.contested(q, labels, |query| {
            // A reader takes no score that is not a number.
            query.influence(&self.measure, self.top, pool).unwrap_or_else(|_| vec![0.0; pool.len()])
        })
    }

    /// The label of every entry: that of the qrels, or the middle grade of the judges.
    fn labels_now(&self, state: &State) -> Vec<f32> {
        let mut labels = self.labels.clone();
        for ((query, document), grade) in consensus(state) {
            if let Some((_, entry)) = self.entry(&query, &document)
                && self.labels[entry].is_nan()
            {
                labels[entry] = f32::from(grade);
            }
        }
        labels
    }

    /// Number of a query and of the entry of one of its documents.
    fn entry(&self, query: &str, document: &str) -> Option<(usize, usize)> {
        let q = position(&self.aligned, query)?;
        let entry = self.aligned.range(q).find(|&entry| self.aligned.docs.get(entry) == document)?;
        Some((q, entry))
    }
}

/// The number of a query; they are ascending by bytes.
fn position(aligned: &Aligned, query: &str) -> Option<usize> {
    let (mut low, mut high) = (0, aligned.queries.len());
    while low < high {
        let middle = low.midpoint(high);
        match aligned.queries.get(middle).cmp(query) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
            std::cmp::Ordering::Equal => return Some(middle),
        }
    }
    None
}

/// The middle grade of each item that was judged; of two in the middle the lower.
fn consensus(state: &State) -> BTreeMap<Item, u8> {
    let middle = |mut grades: Vec<u8>| {
        grades.sort_unstable();
        grades[(grades.len() - 1) / 2]
    };
    by_item(state).into_iter().map(|(item, grades)| (item, middle(grades))).collect()
}

/// The grades of each item, in the order of the judges' names.
fn by_item(state: &State) -> BTreeMap<Item, Vec<u8>> {
    let mut all: BTreeMap<Item, Vec<u8>> = BTreeMap::new();
    for (item, grade) in state.judges.values().flat_map(|judge| &judge.grades) {
        all.entry(item.clone()).or_default().push(*grade);
    }
    all
}

/// The texts of the wanted names, from lines `name<TAB>text`.
fn texts_of(path: Option<&Path>, wanted: &BTreeSet<&str>) -> Result<BTreeMap<String, String>, ServeError> {
    let mut texts = BTreeMap::new();
    let Some(path) = path else { return Ok(texts) };
    let wrong = |message: String| ServeError::Settings(format!("{}{message}", path.display()));
    let source = Source::path(path);
    let mut reader = BufReader::new(source.open().map_err(|error| ServeError::Settings(error.to_string()))?);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(|error| wrong(format!(": {error}")))? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(line.trim_ascii_end());
        if text.is_empty() {
            continue;
        }
        let Some((name, text)) = text.split_once('\t') else {
            return Err(wrong(format!(":{number}: no tab; expected a name, a tab and a text in every line")));
        };
        if wanted.contains(name) {
            texts.insert(name.into(), text.chars().take(TEXT).collect());
        }
    }
    Ok(texts)
}

/// Files of judges.
impl Judging {
    fn file_of(&self, judge: &str) -> PathBuf {
        self.files.folder.join(format!("judge-{judge}.{}", self.extension))
    }

    /// What judges have said before.
    fn known_judges(&self) -> Result<BTreeMap<String, Judge>, ServeError> {
        let wrong = |message: String| ServeError::Settings(message);
        let mut judges = BTreeMap::new();
        let folder = std::fs::read_dir(&self.files.folder).map_err(|error| wrong(error.to_string()))?;
        for entry in folder {
            let path = entry.map_err(|error| wrong(error.to_string()))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let Some((name, _)) = name.strip_prefix("judge-").and_then(|name| name.rsplit_once('.')) else {
                continue;
            };
            if !is_name(name) {
                continue;
            }
            let qrels = read_qrels(&Source::path(&path)).map_err(|error| wrong(error.to_string()))?;
            let mut judge = Judge::default();
            for (q, query) in qrels.queries().iter().enumerate() {
                for (document, label) in qrels.judgements(q) {
                    let grade = (0..=TOP).find(|grade| f32::from(*grade) == label).ok_or_else(|| {
                        wrong(format!(
                            "{}: the grade {label} of document {document:?}; expected 0 to {TOP}",
                            path.display()
                        ))
                    })?;
                    judge.grades.insert((query.into(), document.into()), grade);
                }
            }
            judges.insert(name.to_string(), judge);
        }
        Ok(judges)
    }

    /// Puts all grades of a judge into the judge's file: the file is whole at any moment.
    fn write_judge(&self, name: &str, judge: &Judge) -> Result<(), ReadError> {
        let rows = judge
            .grades
            .iter()
            .map(|((query, document), grade)| (query.as_str(), document.as_str(), f32::from(*grade)));
        self.write(&self.file_of(name), &rows.collect::<Vec<_>>())
    }

    fn write_consensus(&self, state: &State) -> Result<(), ReadError> {
        let judged = consensus(state);
        let base = (0..self.base.queries().len()).flat_map(|q| {
            let query = self.base.queries().get(q);
            self.base.judgements(q).map(move |(document, label)| (query, document, label))
        });
        let mut rows: Vec<(&str, &str, f32)> = base.collect();
        let more = judged.iter().filter(|((query, document), _)| self.base.label(query, document).is_none());
        rows.extend(
            more.map(|((query, document), grade)| (query.as_str(), document.as_str(), f32::from(*grade))),
        );
        // JSON holds each query once.
        rows.sort_by(|a, b| a.0.cmp(b.0));
        self.write(&self.consensus(), &rows)
    }

    /// Judgements as TREC lines, or as JSON where names have blanks; rows of a query are adjacent.
    fn write(&self, path: &Path, rows: &[(&str, &str, f32)]) -> Result<(), ReadError> {
        sink::write_file(path, |out| {
            if self.extension == "qrels" {
                return rows
                    .iter()
                    .try_for_each(|(query, document, label)| writeln!(out, "{query} 0 {document} {label}"));
            }
            let mut all = serde_json::Map::new();
            for (query, document, label) in rows {
                let of_query = all.entry(*query).or_insert_with(|| json!({}));
                of_query[*document] = json!(label);
            }
            writeln!(out, "{}", Value::Object(all))
        })
    }
}

/// What a page sends: who judges, and perhaps a grade.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    judge: String,
    /// The item that the grade is for; without one the next item is all that is wanted.
    query: Option<String>,
    document: Option<String>,
    /// `None`: the item is skipped until the server ends.
    grade: Option<u8>,
}

pub(super) fn schema() -> Value {
    json!({
        "type": "object", "required": ["judge"],
        "properties": {
            "judge": {"type": "string", "pattern": "^[a-z0-9_-]{1,40}$"},
            "query": {"type": "string"}, "document": {"type": "string"},
            "grade": {"type": ["integer", "null"], "minimum": 0, "maximum": TOP, "description": "null: skip the item"},
        },
    })
}

/// Letters that are safe in the name of a file on every system.
fn is_name(name: &str) -> bool {
    (1..=40).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b))
}

pub(super) fn answer(shared: &Shared, _: &Parameters, body: &[u8]) -> Result<String, Refusal> {
    let judging = shared.workbench.judging.as_ref().ok_or_else(|| {
        let how = "a server that was started with runs and a folder: toprank serve --qrels QRELS --run NAME=FILE --judgements FOLDER";
        absent("nothing to judge", how)
    })?;
    let asked: Asked = serde_json::from_slice(body).map_err(|error| unreadable(&error))?;
    let answer = judging.answer(asked)?;
    Ok(visible_json(&answer.to_string()) + "\n")
}

/// Reads a body and forgets it.
pub(super) fn check(body: &[u8]) -> Result<String, Refusal> {
    let asked: Asked = serde_json::from_slice(body).map_err(|error| unreadable(&error))?;
    Ok(json!({"judge": asked.judge}).to_string())
}

impl Judging {
    /// Writes the grade, if there is one, and says what comes next.
    fn answer(&self, asked: Asked) -> Result<Value, Refusal> {
        let wrong =
            |found: String, expected: &str| Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, found, expected);
        let Asked { judge: name, query, document, grade } = asked;
        if !is_name(&name) {
            let found: String = name.chars().take(NAME).collect();
            return Err(wrong(format!("the judge {found:?}"), "1 to 40 lower-case letters, digits, - or _"));
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.judges.contains_key(&name) && state.judges.len() >= JUDGES {
            return Err(wrong(format!("{} judges", JUDGES + 1), "100 or fewer"));
        }
        match (query, document, grade) {
            (Some(query), Some(document), grade) => {
                let at = self.entry(&query, &document).filter(|(q, entry)| {
                    let place = entry - self.aligned.range(*q).start;
                    state.pools[*q].iter().any(|(other, _)| *other == place)
                });
                let Some((q, _)) = at else {
                    return Err(wrong(
                        "an item that is not to be judged".into(),
                        "one that this server has given",
                    ));
                };
                match grade {
                    None => {
                        let judge = state.judges.entry(name.clone()).or_default();
                        judge.skipped.insert((query, document));
                    }
                    Some(grade) if grade <= TOP => {
                        self.grade(&mut state, &name, (query, document), q, grade)?;
                    }
                    Some(grade) => {
                        return Err(wrong(format!("the grade {grade}"), "0 to 4, or null to skip"));
                    }
                }
            }
            (None, None, None) => {}
            _ => {
                return Err(wrong(
                    "half of a judgement".into(),
                    "query, document and grade, or none of them",
                ));
            }
        }
        Ok(self.next(&mut state, &name))
    }

    fn grade(&self, state: &mut State, name: &str, item: Item, q: usize, grade: u8) -> Result<(), Refusal> {
        let is_new = !state.judges.contains_key(name);
        let judge = state.judges.entry(name.into()).or_default();
        let before = judge.grades.insert(item.clone(), grade);
        judge.skipped.remove(&item);
        let written = self.write_judge(name, &state.judges[name]).and_then(|()| self.write_consensus(state));
        if let Err(error) = written {
            // What could not be written was not said.
            if let Some(judge) = state.judges.get_mut(name) {
                match before {
                    Some(before) => judge.grades.insert(item, before),
                    None => judge.grades.remove(&item),
                };
            }
            if is_new {
                state.judges.remove(name);
            }
            return Err(Refusal {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                message: format!("the grade is not written: {error}"),
                id: None,
                header: None,
            });
        }
        let labels = self.labels_now(state);
        let start = self.aligned.range(q).start;
        let open: Vec<usize> = state.pools[q]
            .iter()
            .map(|(place, _)| *place)
            .filter(|place| labels[start + place].is_nan())
            .collect();
        let influence = self.influence(q, &open, &labels);
        for (place, influence) in open.into_iter().zip(influence) {
            if let Some(item) = state.pools[q].iter_mut().find(|(other, _)| *other == place) {
                item.1 = influence;
            }
        }
        Ok(())
    }

    /// The next item of a judge: the one that could change the verdict most and that nobody has judged; now and then, and at the
    /// end, one that only others have judged.
    fn next(&self, state: &mut State, name: &str) -> Value {
        let grades = by_item(state);
        let agreed = agreement(grades.values().cloned());
        let nobody = Judge::default();
        let own = state.judges.get(name).unwrap_or(&nobody);
        let wants_overlap = (own.grades.len() + 1).is_multiple_of(OVERLAP);
        let held: BTreeSet<&Item> = state
            .judges
            .iter()
            .filter(|(other, _)| *other != name)
            .filter_map(|(_, judge)| judge.open.as_ref())
            .collect();
        let mut best: Option<((u8, f64), Item)> = None;
        let mut left = 0;
        for (q, pool) in state.pools.iter().enumerate() {
            for &(place, influence) in pool {
                let item = (self.aligned.queries.get(q).to_string(), self.document(q, place).to_string());
                if own.grades.contains_key(&item) {
                    continue;
                }
                left += 1;
                if own.skipped.contains(&item) {
                    continue;
                }
                let class = match (held.contains(&item), grades.contains_key(&item)) {
                    (true, _) => 0,
                    (_, seen) => 1 + u8::from(seen == wants_overlap),
                };
                let key = (class, influence);
                if best
                    .as_ref()
                    .is_none_or(|(other, _)| key.0 > other.0 || key.0 == other.0 && key.1 > other.1)
                {
                    best = Some((key, item));
                }
            }
        }
        let judged = own.grades.len();
        let judges: Vec<Value> = state
            .judges
            .iter()
            .filter(|(_, judge)| !judge.grades.is_empty())
            .map(|(name, judge)| json!({"name": name, "judged": judge.grades.len()}))
            .collect();
        let item = best.map(|(_, item)| item);
        let shown = item.as_ref().map(|(query, document)| {
            json!({
                "query": query, "document": document,
                "query_name": clipped(query), "document_name": clipped(document),
                "query_text": self.query_texts.get(query).map(|text| visible_lines(text)),
                "document_text": self.texts.get(document).map(|text| visible_lines(text)),
            })
        });
        if let Some(judge) = state.judges.get_mut(name) {
            judge.open = item;
        }
        json!({
            "item": shown, "judged": judged, "left": left, "judges": judges,
            "agreement": {"items": agreed.items, "pairs": agreed.pairs, "equal": agreed.equal, "alpha": agreed.alpha},
            "consensus": self.consensus().display().to_string(),
        })
    }
}

/// A name as it is shown.
fn clipped(name: &str) -> String {
    let shown = visible(name);
    match shown.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown.into_owned(),
    }
}
