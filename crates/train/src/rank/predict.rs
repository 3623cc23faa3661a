/*!
Scores of data of any size: mapped files and text are scored chunk by chunk, their features are never in memory as a whole.

```text
text in two passes ─┐
mapped file ────────┼─▶ rows in file order ─▶ chunks ─▶ columns of the model ─▶ transforms ─▶ network ─▶ scores in order
data in memory ─────┘
```

A chunk ends after a fixed number of rows, or at the next end of a list where transforms or network look at whole lists.
Networks that look at single rows see the same blocks of rows as [`Model::score`] gives them, since the last bits of a
matrix product depend on the number of its rows: the scores are the same to the bit wherever the data lie.
*/

use std::collections::HashMap;

use toprank_core::{Features, Lists, ParamError};
use toprank_data::formats::Opened;
use toprank_data::formats::letor::Outline;
use toprank_data::transform::OnTheFly;
use toprank_data::{Column, Dataset, MappedDataset, Matrix, Names};

use crate::error::TrainError;
use crate::fit::engine::SCORED_AT_ONCE;
use crate::store::model_file::{About, Model};

/// Rows transformed at once, at least.
const TRANSFORMED: usize = 4096;
/// Rows scored at once, at least: whole blocks of the engine, so that every block has the rows it has in memory.
const SCORED: usize = 16 * SCORED_AT_ONCE;

/// A model in front of data that it can score.
pub struct Predictor<'a> {
    model: &'a Model,
    file: String,
    rows: Rows,
    columns: Columns,
    transformed: usize,
    scored: usize,
    probabilities: bool,
}

/// Where the rows come from.
enum Rows {
    Memory(Box<Dataset>),
    /// With everything but its features.
    Mapped(Box<MappedDataset>, Box<Dataset>),
    Text(Box<Outline>),
}

impl Rows {
    /// Lists and names.
    fn data(&self) -> &Dataset {
        match self {
            Rows::Memory(data) | Rows::Mapped(_, data) => data,
            Rows::Text(outline) => outline.data(),
        }
    }
}

impl<'a> Predictor<'a> {
    /// Brings model and data together; an error if the data lack features of the model. `file` is the name of the data for
    /// messages, `absent` what a feature is that a text never states: 0 or NaN.
    pub fn new(
        model: &'a Model,
        file: &str,
        opened: Opened,
        absent: f32,
    ) -> Result<Predictor<'a>, TrainError> {
        let rows = match opened {
            Opened::Memory(mut data) => {
                let rows = data.rows();
                every_output(&mut data, rows, model);
                Rows::Memory(data)
            }
            Opened::Text(outline) => Rows::Text(outline),
            Opened::Mapped(mapped) => {
                let mut data = mapped.without_features()?;
                every_output(&mut data, mapped.features.rows(), model);
                Rows::Mapped(mapped, Box::new(data))
            }
        };
        let (header, data) = (model.header(), rows.data());
        let columns = match header.graphs {
            // Whatever the column of graphs is called.
            Some(_) => Columns::as_they_are(&data.columns, absent),
            None => Columns::new(file, header, &data.columns, absent)?,
        };
        if data.outputs() > header.outputs {
            return Err(TrainError::Format {
                file: file.into(),
                found: format!("lists of {} outputs", data.outputs()),
                expected: format!("at most {}, as the model has", header.outputs),
            });
        }
        Ok(Predictor {
            model,
            file: file.into(),
            rows,
            columns,
            transformed: TRANSFORMED,
            scored: SCORED,
            probabilities: false,
        })
    }

    /// From now on gives probabilities instead of scores; an error if the model was not calibrated.
    pub fn probabilities(mut self) -> Result<Predictor<'a>, TrainError> {
        if !self.model.gives_probabilities() {
            let expected =
                "a calibrated one: train with --folds or --valid and --calibrate platt or isotonic";
            return Err(
                ParamError::new("the model of probabilities", "one that gives scores", expected).into()
            );
        }
        self.probabilities = true;
        Ok(self)
    }

    /// Lists and names of the data; features only where they are in memory.
    pub fn data(&self) -> &Dataset {
        self.rows.data()
    }

    /// Features of the model that a text never states; they are taken as 0 or missing.
    pub fn absent(&self) -> &[String] {
        &self.columns.absent
    }

    /// Columns of the data that are no features of the model.
    pub fn unused(&self) -> &[String] {
        &self.columns.unused
    }

    /// Hands the scores of all entries, in order, to `of`, chunk by chunk.
    pub fn each<E: From<TrainError>>(&self, mut of: impl FnMut(&[f64]) -> Result<(), E>) -> Result<(), E> {
        let lists = &self.data().lists;
        if lists.rows.is_some() || self.model.header().graphs.is_some() {
            let mut scores = self.score_shared_rows()?;
            self.check(0, &scores)?;
            if self.probabilities {
                self.model.to_probabilities(lists, &mut scores);
            }
            return of(&scores);
        }
        let per_list = self.model.header().transforms.looks_at_lists();
        let couples = self.model.scoring().couples_items();
        let mut raw = Chunks::new(Ends { lists, whole: per_list, chunk: self.transformed });
        let mut ready = Chunks::new(Ends { lists, whole: couples, chunk: self.scored });
        let mut take = |block: Matrix| {
            raw.push(block, |rows, lists| {
                let rows = self.transform(rows, lists)?;
                ready.push(rows, |rows, lists| of(&self.score(&rows, &lists)?))
            })
        };
        let all = lists.entries();
        let blocks =
            (0..all).step_by(self.transformed).map(|start| start..(start + self.transformed).min(all));
        match &self.rows {
            Rows::Memory(data) => {
                for block in blocks {
                    take(data.features.slice(block))?;
                }
            }
            Rows::Mapped(mapped, _) => {
                for block in blocks {
                    take(mapped.features.slice(block).map_err(TrainError::from)?)?;
                }
            }
            Rows::Text(outline) => {
                let walked = outline.each_block(|block| take(block.clone()).map_err(Stopped::There));
                walked.map_err(|stopped| match stopped {
                    Stopped::There(error) => error,
                    Stopped::Reading(error) => error.into(),
                })?;
            }
        }
        Ok(())
    }

    /// The rows of a chunk as the network sees them.
    fn transform(&self, rows: Matrix, chunk: ChunkLists) -> Result<Matrix, TrainError> {
        let mut data = Dataset {
            lists: chunk.lists,
            features: self.columns.pick(rows),
            columns: self.columns.features.clone(),
            ..Dataset::default()
        };
        self.model.header().transforms.apply(&mut data)?;
        Ok(data.features)
    }

    /// Scores of the rows of a chunk.
    fn score(&self, rows: &Matrix, chunk: &ChunkLists) -> Result<Vec<f64>, TrainError> {
        let mut scores = self.model.score_transformed(&chunk.lists, rows).map_err(|error| match error {
            // The network counts rows within the chunk.
            TrainError::Model(error) => TrainError::Format {
                file: self.file.clone(),
                found: format!("from item {} on, {}", chunk.start + 1, error.what),
                expected: error.expected,
            },
            other => other,
        })?;
        self.check(chunk.start, &scores)?;
        if self.probabilities {
            self.model.to_probabilities(&chunk.lists, &mut scores);
        }
        Ok(scores)
    }

    /// Scores of lists that share rows, each row once, and of graphs: only lists and scores are in memory, if the file is mapped and has
    /// the columns of the model.
    fn score_shared_rows(&self) -> Result<Vec<f64>, TrainError> {
        let data = match &self.rows {
            Rows::Mapped(mapped, _)
                if self.columns.places.is_none() && self.model.header().graphs.is_none() =>
            {
                let transforms = &self.model.header().transforms;
                let features = OnTheFly::new(&mapped.features, &mapped.columns, transforms)?;
                return self.model.score_transformed(&self.data().lists, &features);
            }
            Rows::Mapped(mapped, data) => Dataset { lists: data.lists.clone(), ..mapped.read()? },
            Rows::Memory(data) => (**data).clone(),
            Rows::Text(outline) => Dataset { lists: outline.data().lists.clone(), ..Dataset::default() },
        };
        let features = self.columns.pick(data.features);
        self.model.score(Dataset { features, columns: self.columns.features.clone(), ..data })
    }

    fn check(&self, start: usize, scores: &[f64]) -> Result<(), TrainError> {
        match scores.iter().position(|score| !score.is_finite()) {
            None => Ok(()),
            Some(place) => Err(TrainError::Format {
                file: self.file.clone(),
                found: format!("item {} with the score {}", start + place + 1, scores[place]),
                expected: "finite scores; if the item has missing features, train with missing:to=mean"
                    .into(),
            }),
        }
    }
}

/// Data with the features that the model sees: its own columns, transformed. `file` and `absent` as in [`Predictor::new`].
pub fn as_seen(model: &Model, file: &str, data: Dataset, absent: f32) -> Result<Dataset, TrainError> {
    let mut data = with_columns_of(model, file, data, absent)?;
    model.header().transforms.apply(&mut data)?;
    Ok(data)
}

/// The same before the transforms.
pub(crate) fn with_columns_of(
    model: &Model,
    file: &str,
    mut data: Dataset,
    absent: f32,
) -> Result<Dataset, TrainError> {
    let columns = Columns::new(file, model.header(), &data.columns, absent)?;
    data.features = columns.pick(data.features);
    data.columns = columns.features;
    Ok(data)
}

/// Data with the columns that a model learned from, found by their names. `file` and `absent` as in [`Predictor::new`].
pub(crate) fn by_name(
    file: &str,
    names: &[String],
    width: usize,
    mut data: Dataset,
    absent: f32,
) -> Result<Dataset, TrainError> {
    let columns = Columns::by_name(file, names, width, &data.columns, absent)?;
    data.features = columns.pick(data.features);
    data.columns = columns.features;
    Ok(data)
}

/// A model of several outputs scores every row for each of them, whatever is judged: one list per output.
fn every_output(data: &mut Dataset, rows: usize, model: &Model) {
    let header = model.header();
    let outputs = header.outputs;
    // Queries keep their lists; more labels than outputs are refused elsewhere.
    if outputs < 2 || data.outputs() > outputs || !data.lists.are_labels() {
        return;
    }
    let mut labels = vec![f32::NAN; rows * outputs];
    for q in 0..data.lists.len() {
        let output = data.lists.output.as_ref().map_or(0, |output| usize::from(output[q]));
        for entry in data.lists.range(q).filter(|_| data.lists.output.is_some()) {
            labels[output * rows + data.lists.row(entry)] = data.lists.labels[entry];
        }
    }
    data.lists = Lists {
        rows: Some((0..outputs).flat_map(|_| 0..rows as u32).collect()),
        output: Some((0..outputs as u16).collect()),
        ..Lists::from_lengths(&vec![rows; outputs], labels)
    };
    if header.output_names.len() == outputs {
        let names: toprank_data::Names = header.output_names.iter().map(String::as_str).collect();
        data.list_names = Some(names.clone());
        data.output_names = Some(names);
    }
}

/// Why a pass over a text ended early.
enum Stopped<E> {
    Reading(TrainError),
    There(E),
}

impl<E> From<toprank_data::ReadError> for Stopped<E> {
    fn from(error: toprank_data::ReadError) -> Stopped<E> {
        Stopped::Reading(error.into())
    }
}

/// Where chunks end.
#[derive(Clone, Copy)]
struct Ends<'a> {
    lists: &'a Lists,
    /// True if a chunk holds whole lists.
    whole: bool,
    chunk: usize,
}

impl Ends<'_> {
    /// The row after the chunk that starts at row `start`.
    fn after(&self, start: usize) -> usize {
        let offsets = &self.lists.offsets;
        let wanted = (start + self.chunk) as u64;
        match self.whole {
            false => wanted as usize,
            true => offsets[offsets.partition_point(|&end| end < wanted).min(offsets.len() - 1)] as usize,
        }
    }

    /// The lists of a chunk; one list where lists do not matter.
    fn lists_of(&self, start: usize, rows: usize) -> ChunkLists {
        let labels = vec![f32::NAN; rows];
        if !self.whole {
            return ChunkLists { start, lists: Lists::from_lengths(&[rows], labels) };
        }
        let offsets = &self.lists.offsets;
        let first = offsets.partition_point(|&offset| offset < start as u64);
        let after = offsets.partition_point(|&offset| offset <= (start + rows) as u64);
        let offsets = offsets[first..after].iter().map(|offset| offset - start as u64).collect();
        ChunkLists { start, lists: Lists { offsets, labels, ..Lists::default() } }
    }
}

/// The lists of a chunk and the row at which it starts.
struct ChunkLists {
    start: usize,
    lists: Lists,
}

/// Rows that are collected into chunks.
struct Chunks<'a> {
    ends: Ends<'a>,
    pending: Option<Matrix>,
    /// Rows handed out.
    done: usize,
}

impl<'a> Chunks<'a> {
    fn new(ends: Ends<'a>) -> Chunks<'a> {
        Chunks { ends, pending: None, done: 0 }
    }

    /// Takes rows in, hands out every chunk that is whole, and the last one with the last row.
    fn push<E>(
        &mut self,
        rows: Matrix,
        mut of: impl FnMut(Matrix, ChunkLists) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut pending = match self.pending.take() {
            None => rows,
            Some(mut pending) => {
                pending.append(&rows);
                pending
            }
        };
        let all = self.ends.lists.entries();
        while pending.rows() > 0 {
            let end = self.ends.after(self.done).min(all);
            if self.done + pending.rows() < end {
                break;
            }
            let rest = pending.split_off(end - self.done);
            let lists = self.ends.lists_of(self.done, pending.rows());
            of(pending, lists)?;
            (self.done, pending) = (end, rest);
        }
        self.pending = Some(pending);
        Ok(())
    }
}

/// How the columns of data become the features of a model.
#[derive(Debug)]
struct Columns {
    /// Where each feature stands; `None`: the columns are the features.
    places: Option<Vec<Option<usize>>>,
    /// The features by name and kind.
    features: Vec<Column>,
    absent_is: f32,
    absent: Vec<String>,
    unused: Vec<String>,
    /// What the codes of categorical features are in the model, by place, where it counts its words in another order;
    /// missing: a word it never saw.
    codes: Vec<(usize, Vec<f32>)>,
}

impl Columns {
    fn as_they_are(columns: &[Column], absent_is: f32) -> Columns {
        Columns {
            places: None,
            features: columns.to_vec(),
            absent_is,
            absent: Vec::new(),
            unused: Vec::new(),
            codes: Vec::new(),
        }
    }

    fn new(file: &str, header: &About, found: &[Column], absent_is: f32) -> Result<Columns, TrainError> {
        let mut columns = Columns::by_name(file, &header.features, header.width, found, absent_is)?;
        for (&place, words) in &header.levels {
            let Some(Column { levels: Some(levels), .. }) = columns.features.get(place) else { continue };
            columns.codes.extend(codes(levels, words).map(|codes| (place, codes)));
        }
        Ok(columns)
    }

    fn by_name(
        file: &str,
        wanted: &[String],
        width: usize,
        found: &[Column],
        absent_is: f32,
    ) -> Result<Columns, TrainError> {
        if wanted.iter().eq(found.iter().map(|column| &column.name)) {
            return Ok(Columns::as_they_are(found, absent_is));
        }
        // A model of nameless features knows only how many there are.
        if wanted.len() != width && found.len() == width {
            return Ok(Columns::as_they_are(found, absent_is));
        }
        let by_name: HashMap<&str, usize> =
            found.iter().enumerate().map(|(place, column)| (column.name.as_str(), place)).collect();
        let places: Vec<Option<usize>> =
            wanted.iter().map(|name| by_name.get(name.as_str()).copied()).collect();
        let lacking: Vec<&str> = wanted
            .iter()
            .zip(&places)
            .filter(|(_, place)| place.is_none())
            .map(|(name, _)| name.as_str())
            .collect();
        // Text that calls features by number leaves out those that are 0 everywhere.
        let numbered = |name: &str| name.parse::<u32>().is_ok();
        let text = wanted.iter().all(|name| numbered(name)) && found.iter().all(|c| numbered(&c.name));
        let few = text && lacking.len() < wanted.len();
        if wanted.len() != width || !(lacking.is_empty() || few) {
            return Err(TrainError::Format {
                file: file.into(),
                found: match lacking.len() {
                    0 => format!("{} features", found.len()),
                    n => format!(
                        "{} features without {n} of those the model learned from: {}",
                        found.len(),
                        toprank_data::error::show_names(lacking)
                    ),
                },
                expected: format!("all {width} features of the model, under the names they had"),
            });
        }
        check_numbers(file, wanted, found)?;
        let chosen = |place: &Option<usize>, name: &String| match place {
            Some(place) => found[*place].clone(),
            None => Column { name: name.clone(), levels: None },
        };
        let features = places.iter().zip(wanted).map(|(place, name)| chosen(place, name)).collect();
        let known: std::collections::HashSet<&str> = wanted.iter().map(String::as_str).collect();
        let unused = found.iter().filter(|column| !known.contains(column.name.as_str()));
        Ok(Columns {
            features,
            absent_is,
            absent: lacking.into_iter().map(String::from).collect(),
            unused: unused.map(|column| column.name.clone()).collect(),
            codes: Vec::new(),
            places: Some(places),
        })
    }

    fn pick(&self, rows: Matrix) -> Matrix {
        let mut rows = match &self.places {
            None => rows,
            Some(places) => rows.pick_columns(places, self.absent_is),
        };
        recode(&mut rows, &self.codes);
        rows
    }
}

/// An error if data call features by numbers beyond those of a model that learned from all of 1, 2, 3 …: they are other features.
fn check_numbers(file: &str, wanted: &[String], found: &[Column]) -> Result<(), TrainError> {
    let numbers: Option<Vec<u32>> = wanted.iter().map(|name| name.parse().ok()).collect();
    let Some((numbers, &last)) = numbers.as_ref().and_then(|numbers| Some((numbers, numbers.last()?))) else {
        return Ok(());
    };
    let gapless = numbers.windows(2).all(|pair| pair[1] == pair[0] + 1) && numbers[0] <= 1;
    let beyond: Vec<&str> = found
        .iter()
        .map(|column| column.name.as_str())
        .filter(|name| name.parse::<u32>().is_ok_and(|number| number > last))
        .collect();
    if !gapless || beyond.is_empty() {
        return Ok(());
    }
    let range = format!("{}-{}", beyond[0], beyond[beyond.len() - 1]);
    Err(TrainError::Format {
        file: file.into(),
        found: format!(
            "{} features, of which the model does not know {}: {}",
            found.len(),
            beyond.len(),
            toprank_data::error::show_names(beyond)
        ),
        expected: format!(
            "the {} features that the model learned from; --ignore {range} leaves the others out",
            wanted.len()
        ),
    })
}

/// The codes that the words of a column have among `words`, where they are not the same; NaN: a word that is not there.
pub(crate) fn codes(levels: &Names, words: &[String]) -> Option<Vec<f32>> {
    let known: HashMap<&str, usize> =
        words.iter().enumerate().map(|(code, word)| (word.as_str(), code)).collect();
    let code = |word: &str| known.get(word).map_or(f32::NAN, |&code| code as f32);
    let codes: Vec<f32> = (0..levels.len()).map(|i| code(levels.get(i))).collect();
    codes.iter().enumerate().any(|(i, &code)| code != i as f32).then_some(codes)
}

/// Replaces the codes of some columns.
pub(crate) fn recode(rows: &mut Matrix, columns: &[(usize, Vec<f32>)]) {
    // Words come from tables, which are dense.
    let Matrix::Dense { width, values } = rows else { return };
    for row in values.chunks_exact_mut((*width).max(1)) {
        for (place, codes) in columns {
            let code = row[*place];
            row[*place] =
                if code >= 0.0 { codes.get(code as usize).copied().unwrap_or(f32::NAN) } else { f32::NAN };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(names: &[&str]) -> Vec<Column> {
        names.iter().map(|name| Column { name: (*name).into(), levels: None }).collect()
    }

    fn fit(wanted: &[&str], found: &[&str]) -> Result<Columns, String> {
        let names: Vec<String> = wanted.iter().map(|name| (*name).into()).collect();
        Columns::by_name("t.csv", &names, wanted.len(), &columns(found), 0.0).map_err(|e| e.to_string())
    }

    #[test]
    fn words_get_the_codes_that_they_had_in_training() {
        let words = ["red", "green", "blue"].map(String::from);
        let names = |words: &[&str]| words.iter().copied().collect::<Names>();
        assert_eq!(codes(&names(&["red", "green"]), &words), None);
        let found = codes(&names(&["blue", "black", "red"]), &words).unwrap();
        let mut rows = Matrix::Dense { width: 2, values: vec![9.0, 0.0, 9.0, 1.0, 9.0, 2.0, 9.0, f32::NAN] };
        recode(&mut rows, &[(1, found)]);
        let Matrix::Dense { values, .. } = rows else { unreachable!() };
        assert_eq!((values[1], values[5]), (2.0, 0.0));
        assert!(values[3].is_nan() && values[7].is_nan() && values[0] == 9.0);
    }

    #[test]
    fn columns_are_found_by_name() {
        assert!(fit(&["a", "b"], &["a", "b"]).unwrap().places.is_none());
        let moved = fit(&["a", "b"], &["b", "x", "a"]).unwrap();
        assert_eq!(moved.places, Some(vec![Some(2), Some(0)]));
        assert_eq!((moved.unused, moved.absent), (vec!["x".to_string()], vec![]));
        let rows = Matrix::Dense { width: 3, values: vec![1.0, 2.0, 3.0] };
        let picked = fit(&["a", "b"], &["b", "x", "a"]).unwrap().pick(rows);
        assert_eq!(picked, Matrix::Dense { width: 2, values: vec![3.0, 1.0] });
    }

    #[test]
    fn a_number_that_a_text_never_states_is_absent_but_a_name_is_lacking() {
        assert_eq!(fit(&["1", "2", "3"], &["1", "2"]).unwrap().absent, ["3"]);
        assert_eq!(
            fit(&["a", "b", "c"], &["a", "b"]).unwrap_err(),
            "t.csv: 2 features without 1 of those the model learned from: c, expected all 3 features of the model, \
             under the names they had"
        );
        assert!(fit(&["1", "2"], &["a", "b"]).is_err());
        assert!(fit(&["1", "2"], &["3"]).is_err(), "nothing in common");
    }

    #[test]
    fn numbers_beyond_those_of_the_model_are_refused_unless_it_learned_from_chosen_ones() {
        assert_eq!(
            fit(&["1", "2"], &["1", "2", "3", "4"]).unwrap_err(),
            "t.csv: 4 features, of which the model does not know 2: 3, 4, expected the 2 features that the model learned from; \
             --ignore 3-4 leaves the others out"
        );
        assert_eq!(fit(&["1", "3"], &["1", "2", "3", "4"]).unwrap().unused, ["2", "4"]);
        assert_eq!(fit(&["a", "b"], &["a", "b", "3"]).unwrap().unused, ["3"]);
    }

    #[test]
    fn chunks_end_with_lists_where_lists_matter_and_hold_every_row_once() {
        let lists = Lists::from_lengths(&[3, 0, 4, 2, 1], vec![0.0; 10]);
        for whole in [false, true] {
            for chunk in 1..12 {
                for block in 1..12 {
                    let mut chunks = Chunks::new(Ends { lists: &lists, whole, chunk });
                    let mut seen: Vec<f32> = Vec::new();
                    for start in (0..10).step_by(block) {
                        let values = (start..(start + block).min(10)).map(|row| row as f32).collect();
                        chunks
                            .push(Matrix::Dense { width: 1, values }, |rows, chunk_lists| {
                                let start = chunk_lists.start;
                                assert_eq!(start, seen.len());
                                assert_eq!(chunk_lists.lists.check(), Ok(()));
                                assert_eq!(chunk_lists.lists.entries(), rows.rows());
                                if whole {
                                    assert!(lists.offsets.contains(&((start + rows.rows()) as u64)));
                                } else {
                                    assert!(rows.rows() == chunk || start + rows.rows() == 10);
                                }
                                let Matrix::Dense { values, .. } = rows else { unreachable!("dense") };
                                seen.extend(values);
                                Ok::<(), TrainError>(())
                            })
                            .unwrap();
                    }
                    assert_eq!(seen, (0u8..10).map(f32::from).collect::<Vec<_>>());
                }
            }
        }
    }

    /// Wherever chunks end and wherever the data lie, the scores are those of the whole data in memory, to the bit.
    #[cfg(feature = "neural")]
    #[test]
    fn scores_do_not_depend_on_where_chunks_end_or_data_lie() {
        use crate::{Job, Settings, TrainerKind};
        use toprank_data::{MappedDataset, ReadOptions, Source, formats, mapped};
        let text: String = (0..9000u32)
            .map(|i| {
                let value = |k: u32| f64::from(i.wrapping_mul(2_654_435_761 + k) >> 16) / 65536.0;
                let cells: String = (1..=9).map(|k| format!(" {k}:{:.4}", value(k))).collect();
                format!("{} qid:{}{cells}\n", i % 3, i / 13 + i / 700 * 50)
            })
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let (path, big) = (folder.path().join("d.txt"), folder.path().join("d.toprank-data"));
        std::fs::write(&path, text).unwrap();
        let (source, options) = (Source::path(&path), ReadOptions::default());
        mapped::convert(&source, &options, &big).unwrap();
        let data = formats::read(&source, &options).unwrap();
        for (model, transforms) in [
            ("linear", "standardise"),
            ("mlp:hidden=32-16", "missing:to=mean:indicator=yes,standardise"),
            ("mlp:hidden=32-16:norm=batch", "log1p,per-list"),
            ("context:blocks=1:width=8:heads=2", "minmax"),
        ] {
            let settings = Settings {
                model: Some(model.into()),
                transforms: Some(transforms.into()),
                objective: Some("listnet".into()),
                epochs: Some(1),
                ..Settings::default()
            };
            let job =
                Job::new(&settings.resolve(TrainerKind::Rank).unwrap(), data.clone().into(), None).unwrap();
            let views = job.views().unwrap();
            let mut trainer = job.trainer(&views).unwrap();
            trainer.run(&mut (), None).unwrap();
            let model = job.model(&*trainer).unwrap();
            let whole = model.score(data.clone()).unwrap();
            for (transformed, scored) in [(13, 4096), (1000, 8192), (TRANSFORMED, SCORED)] {
                let opened = [
                    formats::open(&source, &options).unwrap(),
                    formats::open(&Source::path(&big), &options).unwrap(),
                    Opened::Memory(Box::new(data.clone())),
                ];
                for opened in opened {
                    let what = format!("{opened:?}").chars().take(6).collect::<String>();
                    let mut predictor = Predictor::new(&model, "d.txt", opened, 0.0).unwrap();
                    (predictor.transformed, predictor.scored) = (transformed, scored);
                    let mut scores = Vec::new();
                    predictor
                        .each(|part| {
                            scores.extend_from_slice(part);
                            Ok::<(), TrainError>(())
                        })
                        .unwrap();
                    let same = scores.iter().zip(&whole).filter(|(a, b)| a.to_bits() == b.to_bits()).count();
                    assert_eq!(
                        (same, scores.len()),
                        (whole.len(), whole.len()),
                        "{what} {transforms} {scored}"
                    );
                }
            }
        }
        assert!(MappedDataset::is_one(&big) && !MappedDataset::is_one(&path));
    }
}
