/*!
From a table to a [`Dataset`]: the columns of every role, row after row, then grouped into lists.

CSV hands over one record at a time, Parquet and Arrow whole columns; the checks and the result are the same.
What a missing cell means depends on the role:

- a feature: missing, NaN;
- the label: not judged, NaN; with several `labels`: the row is left out of that label's list;
- list, item, kept text: the text as it stands, also the empty one;
- weight, list weight, time, position, first score: an error.

The levels of a categorical feature are the strings that occur in its column, and their codes follow the bytewise order of
the strings, once all rows are read. So the codes depend neither on the order of the rows nor, where several files are read
as one data set, on how the rows are distributed over them.
*/

use toprank_core::Lists;

use super::cell;
use super::records::Record;
use super::roles::{Feature, Roles};
use crate::dataset::{Column, Dataset, LineNumbers, Matrix};
use crate::error::{ReadError, show};
use crate::group::{Cut, Groups, Interner, gather, gather_names};
use crate::names::Names;

/// Codes of categories are `f32`: beyond this they would not be exact.
const MOST_LEVELS: usize = 1 << 24;

pub(crate) struct Table {
    file: String,
    names: Vec<String>,
    pub roles: Roles,
    rows: usize,
    lines: LineNumbers,
    groups: Groups,
    /// One column per label.
    pub labels: Vec<Vec<f32>>,
    pub weights: Vec<f32>,
    pub list_weights: Vec<f32>,
    pub times: Vec<f64>,
    pub positions: Vec<u32>,
    pub init_scores: Vec<f64>,
    pub items: Names,
    /// Row after row.
    pub values: Vec<f32>,
    /// One per feature, used by categorical ones: until `finish`, codes are numbers in order of first appearance.
    levels: Vec<Interner>,
    pub kept: Vec<Names>,
}

impl Table {
    pub(crate) fn new(file: &str, names: Vec<String>, roles: Roles, regroup: bool) -> Table {
        Table {
            file: file.into(),
            rows: 0,
            lines: LineNumbers::default(),
            groups: Groups::new(regroup),
            labels: vec![Vec::new(); roles.labels.len()],
            levels: vec![Interner::default(); roles.features.len()],
            kept: vec![Names::new(); roles.keep.len()],
            weights: Vec::new(),
            list_weights: Vec::new(),
            times: Vec::new(),
            positions: Vec::new(),
            init_scores: Vec::new(),
            items: Names::new(),
            values: Vec::new(),
            names,
            roles,
        }
    }

    /// Number of rows that are complete.
    #[cfg(feature = "parquet")]
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Reserves memory for this many rows.
    #[cfg(feature = "parquet")]
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.values.reserve_exact(rows.saturating_mul(self.roles.features.len()));
    }

    /// An error in `column` of a row; without line numbers the row itself is named.
    pub(crate) fn error(&self, row: usize, column: usize, error: Fault) -> ReadError {
        let Fault { found, expected, advice } = error;
        let line = self.lines.of(row);
        let found = if line.is_some() { found } else { format!("row {}: {found}", row + 1) };
        let mut error = ReadError::data(&self.file, found, expected).advice(advice);
        if let Some(column) = self.names.get(column) {
            error = error.in_column(column.as_str());
        }
        line.map_or(error.clone(), |line| error.at_line(line))
    }

    /// Adds the current record as a row.
    pub(crate) fn push_record(&mut self, record: &Record) -> Result<(), ReadError> {
        self.lines.push(self.rows, record.line());
        for l in 0..self.roles.labels.len() {
            let label = self.number(record, self.roles.labels[l])?;
            self.labels[l].push(label);
        }
        for f in 0..self.roles.features.len() {
            let feature = self.roles.features[f];
            let value = if !feature.categorical {
                self.number(record, feature.column)?
            } else if cell::is_missing(record.field(feature.column)) {
                f32::NAN
            } else {
                self.level(f, self.rows, self.text(record, feature.column)?)?
            };
            self.values.push(value);
        }
        if let Some(column) = self.roles.weight {
            let weight = self.number(record, column)?;
            self.weights.push(weight);
        }
        if let Some(column) = self.roles.list_weight {
            let weight = self.number(record, column)?;
            self.list_weights.push(weight);
        }
        if let Some(column) = self.roles.time {
            self.times.push(self.number_f64(record, column)?);
        }
        if let Some(column) = self.roles.init_score {
            self.init_scores.push(self.number_f64(record, column)?);
        }
        if let Some(column) = self.roles.position {
            let position = self.number_f64(record, column)?;
            self.push_position(self.rows, position)?;
        }
        if let Some(column) = self.roles.item {
            let name = self.text(record, column)?;
            self.items.push(name);
        }
        for k in 0..self.roles.keep.len() {
            let text = self.text(record, self.roles.keep[k])?;
            self.kept[k].push(text);
        }
        match self.roles.list {
            Some(column) => self.end_row(self.text(record, column)?),
            None => self.end_row(""),
        }
    }

    /// Sets the list of the row that was filled last.
    pub(crate) fn end_row(&mut self, list: &str) -> Result<(), ReadError> {
        if self.rows == u32::MAX as usize {
            return Err(ReadError::data(&self.file, "more than 4294967295 rows", "fewer rows"));
        }
        if let Err(ended) = self.groups.push(self.rows, list) {
            let before = match self.lines.of(ended) {
                Some(line) => format!("line {line}"),
                None => format!("row {}", ended + 1),
            };
            let found = format!("list {} appears again after it ended on {before}", show(list.as_bytes()));
            let fault = Fault::new(found, "all rows of a list to be adjacent")
                .advice("Use --regroup, or sort the rows by this column.");
            return Err(self.error(self.rows, self.roles.list.unwrap_or(usize::MAX), fault));
        }
        self.rows += 1;
        Ok(())
    }

    /// The code of a category of feature `f` among those read so far; `finish` replaces it by the final one.
    pub(crate) fn level(&mut self, f: usize, row: usize, text: &str) -> Result<f32, ReadError> {
        let levels = &mut self.levels[f];
        let code = levels.number(text);
        if levels.len() > MOST_LEVELS {
            let fault = Fault::new(format!("more than {MOST_LEVELS} categories"), "fewer");
            return Err(self.error(row, self.roles.features[f].column, fault));
        }
        Ok(code as f32)
    }

    pub(crate) fn push_position(&mut self, row: usize, position: f64) -> Result<(), ReadError> {
        if position.fract() != 0.0 || !(0.0..=f64::from(u32::MAX)).contains(&position) {
            let fault = Fault::new(format!("{position}"), "an integer position from 0");
            return Err(self.error(row, self.roles.position.unwrap_or(usize::MAX), fault));
        }
        self.positions.push(position as u32);
        Ok(())
    }

    fn number(&self, record: &Record, column: usize) -> Result<f32, ReadError> {
        let text = record.field(column);
        cell::number(text)
            .map_err(|why| self.place(record, column, cell::not_a_number(&self.file, text, why)))
    }

    fn number_f64(&self, record: &Record, column: usize) -> Result<f64, ReadError> {
        let text = record.field(column);
        cell::number_f64(text)
            .map_err(|why| self.place(record, column, cell::not_a_number(&self.file, text, why)))
    }

    fn text<'r>(&self, record: &'r Record, column: usize) -> Result<&'r str, ReadError> {
        record.str(column).map_err(|bytes| {
            let error = ReadError::data(&self.file, format!("{} is not UTF-8", show(bytes)), "UTF-8 text");
            self.place(record, column, error)
                .advice("Convert it first, for example: iconv -f LATIN1 -t UTF-8.")
        })
    }

    fn place(&self, record: &Record, column: usize, error: ReadError) -> ReadError {
        error.at_line(record.line()).in_column(self.names[column].as_str())
    }

    /// Cuts the rows into lists.
    pub(crate) fn finish(mut self) -> Result<Dataset, ReadError> {
        if self.rows == 0 {
            return Err(ReadError::data(&self.file, "no row below the column names", "at least one row"));
        }
        self.check_stated()?;
        let levels = self.sort_levels();
        let groups = std::mem::replace(&mut self.groups, Groups::new(false));
        let cut = groups.finish(self.rows);
        if let Some(order) = &cut.order {
            self.reorder(order);
        }
        let list_weights = self.weights_of_lists(&cut)?;
        let rows = self.rows;
        let Table { roles, names, mut labels, mut values, .. } = self;
        let name = |column: usize| names[column].clone();
        let used = roles.columns();
        let unread = |column: &usize| used.binary_search(column).is_err() && !names[*column].is_empty();
        let unread: Vec<String> = (0..names.len()).filter(unread).map(name).collect();
        let column =
            |(feature, levels): (&Feature, Option<Names>)| Column { name: name(feature.column), levels };
        values.shrink_to_fit();
        let mut data = Dataset {
            columns: roles.features.iter().zip(levels).map(column).collect(),
            features: Matrix::Dense { width: roles.features.len(), values },
            item_names: roles.item.map(|_| self.items),
            times: roles.time.map(|_| self.times),
            positions: roles.position.map(|_| self.positions),
            init_scores: roles.init_score.map(|_| self.init_scores),
            extra: roles.keep.iter().map(|&column| name(column)).zip(self.kept).collect(),
            unread,
            lines: self.lines,
            file_rows: cut.order,
            ..Dataset::default()
        };
        let item_weights = roles.weight.map(|_| self.weights);
        if roles.multi_label {
            let names: Names = roles.labels.iter().map(|&column| name(column)).collect();
            data.lists = lists_of_labels(&labels, item_weights.as_deref());
            data.list_names = Some(names.clone());
            data.output_names = Some(names);
        } else {
            let labels = labels.pop().unwrap_or_else(|| vec![f32::NAN; rows]);
            data.lists =
                Lists { offsets: cut.offsets, labels, item_weights, list_weights, ..Lists::default() };
            data.list_names = roles.list.map(|_| cut.names);
        }
        Ok(data)
    }

    /// The levels of every categorical feature in bytewise order, and their places as the codes of the rows.
    fn sort_levels(&mut self) -> Vec<Option<Names>> {
        let width = self.roles.features.len();
        let mut sorted = vec![None; width];
        for (f, levels) in std::mem::take(&mut self.levels).into_iter().enumerate() {
            if !self.roles.features[f].categorical {
                continue;
            }
            let (names, codes) = levels.into_sorted();
            for value in self.values.iter_mut().skip(f).step_by(width).filter(|value| !value.is_nan()) {
                *value = codes[*value as usize] as f32;
            }
            sorted[f] = Some(names);
        }
        sorted
    }

    /// Weights, times and first scores must be stated, weights also be ≥ 0.
    fn check_stated(&self) -> Result<(), ReadError> {
        let weights = [(self.roles.weight, &self.weights), (self.roles.list_weight, &self.list_weights)];
        for (column, values) in weights {
            if let Some(row) = values.iter().position(|w| w.is_nan() || *w < 0.0) {
                let found =
                    if values[row].is_nan() { "a missing weight".into() } else { values[row].to_string() };
                let fault = Fault::new(found, "a finite weight ≥ 0");
                return Err(self.error(row, column.unwrap_or(usize::MAX), fault));
            }
        }
        let numbers = [(self.roles.time, &self.times), (self.roles.init_score, &self.init_scores)];
        for (column, values) in numbers {
            if let Some(row) = values.iter().position(|v| v.is_nan()) {
                let fault = Fault::new("a missing number", "a number in every row of this column");
                return Err(self.error(row, column.unwrap_or(usize::MAX), fault));
            }
        }
        Ok(())
    }

    fn reorder(&mut self, order: &[u32]) {
        let width = self.roles.features.len();
        self.values = gather(&self.values, width, order);
        for labels in &mut self.labels {
            *labels = gather(labels, 1, order);
        }
        for numbers in [&mut self.weights, &mut self.list_weights].into_iter().filter(|v| !v.is_empty()) {
            *numbers = gather(numbers, 1, order);
        }
        for numbers in [&mut self.times, &mut self.init_scores].into_iter().filter(|v| !v.is_empty()) {
            *numbers = gather(numbers, 1, order);
        }
        if !self.positions.is_empty() {
            self.positions = gather(&self.positions, 1, order);
        }
        for names in self.kept.iter_mut().chain([&mut self.items]).filter(|names| !names.is_empty()) {
            *names = gather_names(names, order);
        }
        let mut lines = LineNumbers::default();
        for (row, &from) in order.iter().enumerate() {
            if let Some(line) = self.lines.of(from as usize) {
                lines.push(row, line);
            }
        }
        self.lines = lines;
    }

    fn weights_of_lists(&self, cut: &Cut) -> Result<Option<Vec<f32>>, ReadError> {
        let Some(column) = self.roles.list_weight else { return Ok(None) };
        let mut weights = Vec::with_capacity(cut.names.len());
        for range in cut.offsets.windows(2) {
            let (start, end) = (range[0] as usize, range[1] as usize);
            let first = self.list_weights[start];
            if let Some(other) = (start..end).find(|&row| self.list_weights[row] != first) {
                let found = format!("{} after {first} in the same list", self.list_weights[other]);
                return Err(self.error(
                    other,
                    column,
                    Fault::new(found, "one weight for all rows of a list"),
                ));
            }
            weights.push(first);
        }
        Ok(Some(weights))
    }
}

/// What is wrong with a cell.
pub(crate) struct Fault {
    found: String,
    expected: String,
    advice: String,
}

impl Fault {
    pub(crate) fn new(found: impl Into<String>, expected: impl Into<String>) -> Fault {
        Fault { found: found.into(), expected: expected.into(), advice: String::new() }
    }

    pub(crate) fn advice(self, advice: impl Into<String>) -> Fault {
        Fault { advice: advice.into(), ..self }
    }
}

/// One list per label over the same rows; a row whose label is NaN is left out of that label's list.
pub(crate) fn lists_of_labels(labels: &[Vec<f32>], weights: Option<&[f32]>) -> Lists {
    let judged = labels.iter().flatten().filter(|label| !label.is_nan()).count();
    let mut lists = Lists {
        offsets: vec![0],
        rows: Some(Vec::with_capacity(judged)),
        labels: Vec::with_capacity(judged),
        output: Some((0..labels.len()).map(|output| output as u16).collect()),
        item_weights: weights.map(|_| Vec::with_capacity(judged)),
        ..Lists::default()
    };
    for column in labels {
        for (row, &label) in column.iter().enumerate().filter(|(_, label)| !label.is_nan()) {
            lists.labels.push(label);
            if let Some(rows) = &mut lists.rows {
                rows.push(row as u32);
            }
            if let (Some(all), Some(weights)) = (&mut lists.item_weights, weights) {
                all.push(weights[row]);
            }
        }
        lists.offsets.push(lists.labels.len() as u64);
    }
    lists
}
