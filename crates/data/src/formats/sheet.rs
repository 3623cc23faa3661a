/*!
A [`Dataset`] as a table: the columns to write, and the cells of each.

```text
qid, label, item_weight, list_weight, timestamp, item, shown_position, init_score, features …, kept text …
```

Only what is there is written; the names are those that the readers recognise (module `roles`), so reading a written
table gives the data set back. Multi-label data has one column per label in place of `qid` and `label`, a row of
features a line; all other data has one entry a line. Categories are written as their strings, missing values stay missing.

What a table cannot hold is an error: two columns of one name, a column without a name, weights of a row that differ
between its labels, judged items that were not retrieved.
*/

use std::borrow::Cow;
use std::io;

use super::roles;
use crate::dataset::{Dataset, Matrix};
use crate::error::show_names;
use crate::group::Interner;

/// What a column of the sheet holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum What {
    List,
    Label,
    /// Label column of a model output.
    Output(usize),
    Weight,
    ListWeight,
    Time,
    Item,
    Position,
    InitScore,
    Feature(usize),
    /// Categorical feature.
    Words(usize),
    Extra(usize),
}

/// Rows and columns of a data set as a table.
pub(crate) struct Sheet<'a> {
    data: &'a Dataset,
    pub columns: Vec<(String, What)>,
    height: usize,
    /// List of each entry; empty for multi-label data.
    list_of_entry: Vec<u32>,
    /// Of multi-label data: labels of each output by row, and the weight of each row.
    outputs: Vec<Vec<f32>>,
    row_weights: Vec<f32>,
}

/// Values that sparse data may become in a table, which is dense: a small file could fill a disk otherwise.
const MOST_CELLS: usize = 1 << 28;

/// This content does not fit this format.
pub(crate) fn unsupported(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, what.into())
}

/// For formats without a place for columns of text: an error that names them.
pub(crate) fn no_further_columns(data: &Dataset, format: &str) -> io::Result<()> {
    if data.extra.is_empty() {
        return Ok(());
    }
    let names = show_names(data.extra.iter().map(|(name, _)| name.as_str()));
    Err(unsupported(format!(
        "columns for which {format} have no place: {names}; write CSV or Parquet, or leave them out with --drop"
    )))
}

impl<'a> Sheet<'a> {
    pub(crate) fn new(data: &'a Dataset) -> io::Result<Sheet<'a>> {
        let lists = &data.lists;
        if lists.missed.as_ref().is_some_and(|missed| !missed.values.is_empty()) {
            return Err(unsupported("judged items that were not retrieved have no row in a table"));
        }
        let multi_label = lists.output.is_some();
        let height = if multi_label { data.rows() } else { lists.entries() };
        if let Matrix::Sparse(sparse) = &data.features
            && height.saturating_mul(sparse.width) > MOST_CELLS
        {
            let (stored, width) = (sparse.values.len(), sparse.width);
            return Err(unsupported(format!(
                "{height} rows of {width} features, of which {stored} values are not 0: a table would hold all {} values, more \
                 than {MOST_CELLS}. The formats libsvm, letor and toprank-data keep sparse data sparse",
                height.saturating_mul(width)
            )));
        }
        let mut sheet = Sheet {
            data,
            columns: Vec::new(),
            height,
            list_of_entry: Vec::new(),
            outputs: Vec::new(),
            row_weights: Vec::new(),
        };
        let mut add = |there: bool, name: &str, what: What| {
            if there {
                sheet.columns.push((name.into(), what));
            }
        };
        if multi_label {
            for output in 0..data.outputs() {
                let name = match &data.output_names {
                    Some(names) => names.get(output).to_string(),
                    None => format!("label{}", output + 1),
                };
                add(true, &name, What::Output(output));
            }
        } else {
            add(data.list_names.is_some() || lists.len() > 1, roles::LIST[0], What::List);
            add(true, roles::LABEL[0], What::Label);
            add(lists.list_weights.is_some(), roles::LIST_WEIGHT[0], What::ListWeight);
            add(data.times.is_some(), roles::TIME[0], What::Time);
        }
        add(lists.item_weights.is_some(), roles::WEIGHT[0], What::Weight);
        add(data.item_names.is_some(), roles::ITEM[0], What::Item);
        add(data.positions.is_some(), roles::POSITION[0], What::Position);
        add(data.init_scores.is_some(), roles::INIT_SCORE[0], What::InitScore);
        for (f, column) in data.columns.iter().enumerate() {
            add(true, &column.name, if column.levels.is_some() { What::Words(f) } else { What::Feature(f) });
        }
        for (e, (name, _)) in data.extra.iter().enumerate() {
            // A feature that was kept as text too is there already.
            add(data.columns.iter().all(|column| column.name != *name), name, What::Extra(e));
        }
        sheet.check_names()?;
        if multi_label {
            sheet.spread_outputs()?;
        } else {
            sheet.number_entries();
        }
        Ok(sheet)
    }

    /// A name that stands twice, or that a reader would take for a role that is not written, cannot be read back.
    fn check_names(&self) -> io::Result<()> {
        let mut seen = Interner::default();
        for (name, _) in &self.columns {
            let before = seen.len();
            seen.number(name);
            if seen.len() == before {
                return Err(unsupported(format!("two columns would be called {name:?}; rename the feature")));
            }
        }
        let mut misleading = vec![""];
        for usual in roles::ALL {
            let is_label = *usual == roles::LABEL;
            if seen.find(usual[0]).is_none() && !(is_label && self.data.lists.output.is_some()) {
                misleading.extend(*usual);
            }
        }
        for (name, what) in &self.columns {
            let free = matches!(what, What::Feature(_) | What::Words(_) | What::Extra(_) | What::Output(_));
            if free && misleading.contains(&name.as_str()) {
                return Err(unsupported(format!(
                    "a column called {name:?} would be read back as something else; rename it"
                )));
            }
        }
        Ok(())
    }

    fn number_entries(&mut self) {
        let lists = &self.data.lists;
        self.list_of_entry = Vec::with_capacity(lists.entries());
        for q in 0..lists.len() {
            self.list_of_entry.resize(lists.range(q).end, q as u32);
        }
    }

    /// Entries by label become one label column per output over all rows.
    fn spread_outputs(&mut self) -> io::Result<()> {
        let lists = &self.data.lists;
        self.outputs = vec![vec![f32::NAN; self.height]; self.data.outputs()];
        self.row_weights = vec![f32::NAN; if lists.item_weights.is_some() { self.height } else { 0 }];
        for q in 0..lists.len() {
            let output = lists.output.as_ref().map_or(0, |output| output[q] as usize);
            for entry in lists.range(q) {
                let row = lists.rows.as_ref().map_or(entry, |rows| rows[entry] as usize);
                let label = &mut self.outputs[output][row];
                if !label.is_nan() {
                    return Err(unsupported("a row stands twice in the list of one label"));
                }
                *label = lists.labels[entry];
                if let Some(weights) = &lists.item_weights {
                    let before = &mut self.row_weights[row];
                    if !before.is_nan() && *before != weights[entry] {
                        return Err(unsupported("the labels of one row have different weights"));
                    }
                    *before = weights[entry];
                }
            }
        }
        Ok(())
    }

    /// Number of lines.
    pub(crate) fn height(&self) -> usize {
        self.height
    }

    /// The row of features of a line.
    pub(crate) fn row(&self, line: usize) -> usize {
        match &self.data.lists.rows {
            Some(rows) if self.outputs.is_empty() => rows[line] as usize,
            _ => line,
        }
    }

    /// The number in a column that holds numbers other than features; NaN = missing.
    pub(crate) fn number(&self, what: What, line: usize) -> f64 {
        let (data, lists) = (self.data, &self.data.lists);
        let single =
            |values: &Option<Vec<f32>>, i: usize| values.as_ref().map_or(f64::NAN, |v| f64::from(v[i]));
        match what {
            What::Label => f64::from(lists.labels[line]),
            What::Output(output) => f64::from(self.outputs[output][line]),
            What::Weight if self.outputs.is_empty() => single(&lists.item_weights, line),
            // A row that no label judges has no weight: any will do.
            What::Weight if self.row_weights[line].is_nan() => 1.0,
            What::Weight => f64::from(self.row_weights[line]),
            What::ListWeight => single(&lists.list_weights, self.list_of_entry[line] as usize),
            What::Time => data.times.as_ref().map_or(f64::NAN, |times| times[line]),
            What::Position => data.positions.as_ref().map_or(f64::NAN, |p| f64::from(p[self.row(line)])),
            What::InitScore => data.init_scores.as_ref().map_or(f64::NAN, |scores| scores[self.row(line)]),
            What::Feature(_) | What::Words(_) | What::List | What::Item | What::Extra(_) => f64::NAN,
        }
    }

    /// The string of a category; `None` = missing.
    pub(crate) fn word(&self, feature: usize, code: f32) -> io::Result<Option<&'a str>> {
        if code.is_nan() {
            return Ok(None);
        }
        match &self.data.columns[feature].levels {
            Some(levels) if code >= 0.0 && (code as usize) < levels.len() => {
                Ok(Some(levels.get(code as usize)))
            }
            _ => Err(unsupported(format!(
                "category {code} of feature {:?} has no name",
                self.data.columns[feature].name
            ))),
        }
    }

    /// The text in a column that holds text other than categories.
    pub(crate) fn text(&self, what: What, line: usize) -> Cow<'a, str> {
        let data = self.data;
        match what {
            What::List => match &data.list_names {
                Some(names) => names.get(self.list_of_entry[line] as usize).into(),
                None => self.list_of_entry[line].to_string().into(),
            },
            What::Item => data.item_names.as_ref().map_or("", |names| names.get(self.row(line))).into(),
            What::Extra(e) => data.extra[e].1.get(self.row(line)).into(),
            _ => "".into(),
        }
    }
}
