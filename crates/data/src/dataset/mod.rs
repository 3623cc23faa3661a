/*!
The data set: what every reader returns.

```text
lists ──offsets──▶ entries ──rows──▶ rows of features
  │                   │                  │
list names      labels, weights,     item names, feature values,
                times, positions     extra columns
```
*/

mod line_numbers;
mod matrix;

use std::sync::Arc;

use toprank_core::{Features, Graphs, Lists};

use crate::graph_items::GraphItems;
use crate::names::Names;

pub use line_numbers::LineNumbers;
pub use matrix::{Matrix, Sparse};

/// Lists of items with features, labels, weights and names, and the line each row came from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataset {
    /// Labels and weights of every entry, cut into lists.
    pub lists: Lists,
    /// One row of features per item; NaN = missing.
    pub features: Matrix,
    /// Names and kinds of the features, one per column of `features`.
    pub columns: Vec<Column>,
    /// Where items are graphs: the graphs that the values of the only feature name.
    pub graphs: Option<Arc<GraphItems>>,
    /// Name of each row.
    pub item_names: Option<Names>,
    /// Name of each list.
    pub list_names: Option<Names>,
    /// Name of each model output (label of multi-label data), if there are several.
    pub output_names: Option<Names>,
    /// Time of each entry (interactions).
    pub times: Option<Vec<f64>>,
    /// Position at which each row was shown (LightGBM `.position`).
    pub positions: Option<Vec<u32>>,
    /// Initial score, one per row (LightGBM `.init`).
    pub init_scores: Option<Vec<f64>>,
    /// Further columns requested by name, one text per row (slices, baselines).
    pub extra: Vec<(String, Names)>,
    /// Columns of a table that are not read: text without a use, and what was to be ignored.
    pub unread: Vec<String>,
    /// Line of each row in its file.
    pub lines: LineNumbers,
    /// Row of the file, from 0, that each row was; `None`: as in the file. Set where `regroup` moved rows.
    pub file_rows: Option<Vec<u32>>,
}

/// A feature.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name; LETOR features are called by their number.
    pub name: String,
    /// `Some`: categorical, the values are 0, 1, 2, … and stand for these strings. In what is read from tables they are
    /// the strings that occur, in bytewise order; in ARFF those that the header declares, in its order.
    pub levels: Option<Names>,
}

impl Dataset {
    /// Number of rows of features.
    pub fn rows(&self) -> usize {
        match &self.features {
            matrix @ (Matrix::Sparse(_) | Matrix::Dense { width: 1.., .. }) => matrix.rows(),
            Matrix::Dense { .. } => match (&self.item_names, &self.lists.rows) {
                (Some(names), _) => names.len(),
                (None, Some(rows)) => rows.iter().max().map_or(0, |&r| r as usize + 1),
                (None, None) => self.lists.entries(),
            },
        }
    }

    /// Number of model outputs the lists read: 1, or the number of labels of multi-label data.
    pub fn outputs(&self) -> usize {
        self.lists.output.as_ref().and_then(|o| o.iter().max()).map_or(1, |&o| o as usize + 1)
    }

    /// The name of list `q`, or its number from 0 where lists have no names.
    pub fn list_name(&self, q: usize) -> String {
        self.list_names.as_ref().map_or_else(|| q.to_string(), |names| names.get(q).to_string())
    }

    /// The name of the item of row `row`, or `row` and its number in the file, from 1, where it has none.
    pub fn item_name(&self, row: usize) -> String {
        match self.item_names.as_ref().map_or("", |names| names.get(row)) {
            "" => format!("row{}", self.file_row(row) + 1),
            name => name.to_string(),
        }
    }

    /// Row of the file, from 0, that row `row` was; score files count by it.
    pub fn file_row(&self, row: usize) -> usize {
        self.file_rows.as_ref().map_or(row, |file_rows| file_rows[row] as usize)
    }

    /// Number of the feature with this name; LETOR features may be called by number (`7`) or as `f7`.
    pub fn feature(&self, name: &str) -> Option<usize> {
        let find = |wanted: &str| self.columns.iter().position(|column| column.name == wanted);
        find(name).or_else(|| name.strip_prefix('f').and_then(find))
    }

    /// Bytes held in memory by everything that grows with the data.
    pub fn bytes(&self) -> usize {
        let lists = &self.lists;
        let four = [
            lists.rows.as_ref().map_or(0, Vec::capacity),
            lists.labels.capacity(),
            lists.item_weights.as_ref().map_or(0, Vec::capacity),
            lists.list_weights.as_ref().map_or(0, Vec::capacity),
            lists.tie_keys.as_ref().map_or(0, Vec::capacity),
            lists.missed.as_ref().map_or(0, |m| m.values.capacity() + 2 * m.offsets.capacity()),
            lists.pairs.as_ref().map_or(0, |p| 3 * p.pairs.capacity() + 2 * p.offsets.capacity()),
            self.positions.as_ref().map_or(0, Vec::capacity),
            self.file_rows.as_ref().map_or(0, Vec::capacity),
        ];
        let eight = [
            lists.offsets.capacity(),
            self.times.as_ref().map_or(0, Vec::capacity),
            self.init_scores.as_ref().map_or(0, Vec::capacity),
            2 * self.lines.capacity(),
        ];
        let names = [&self.item_names, &self.list_names, &self.output_names];
        four.iter().sum::<usize>() * 4
            + eight.iter().sum::<usize>() * 8
            + names.into_iter().flatten().map(Names::bytes).sum::<usize>()
            + self.extra.iter().map(|(_, names)| names.bytes()).sum::<usize>()
            + self.features.bytes()
    }
}

/// The rows of the data set's matrix, also where it has no columns.
impl Features for Dataset {
    fn rows(&self) -> usize {
        Dataset::rows(self)
    }

    fn width(&self) -> usize {
        self.features.width()
    }

    fn gather(&self, rows: &[u32], out: &mut [f32]) {
        self.features.gather(rows, out);
    }

    fn gather_part(&self, rows: &[u32], columns: std::ops::Range<usize>, out: &mut [f32]) {
        self.features.gather_part(rows, columns, out);
    }

    fn graphs(&self) -> Option<&Graphs> {
        self.graphs.as_ref().map(|items| &items.store)
    }

    fn content(&self, take: &mut dyn FnMut(&[u8])) {
        self.features.content(take);
    }
}
