//! Rows of features with their lists: what models learn from and score.

use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use toprank::core::{Lists, Preference, Preferences};
use toprank::data::{Column, Dataset, Matrix, Names};

use crate::arrays::{Array, Columns};
use crate::errors::refused;

/// A data set made from arrays. It is given away to whoever uses it, so that features are in memory once.
#[pyclass(module = "toprank._toprank")]
pub struct Table(Option<Dataset>);

#[pymethods]
impl Table {
    /// `levels` are the strings of categorical columns, `rows` the row of each entry where lists share rows, `outputs` the
    /// labels of multi-label data.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "called by python/toprank/_estimators.py alone")]
    fn new(
        features: PyReadonlyArray2<f32>,
        names: Vec<String>,
        mut levels: std::collections::BTreeMap<usize, Vec<String>>,
        labels: Array<f32>,
        offsets: Array<u64>,
        rows: Option<Array<u32>>,
        outputs: Vec<String>,
        item_weights: Option<Array<f32>>,
        list_weights: Option<Array<f32>>,
    ) -> PyResult<Table> {
        let width = names.len();
        let values = features.as_slice()?.to_vec();
        let count = values.len().checked_div(width).unwrap_or(0);
        let columns = Columns::new(&labels, &offsets, item_weights.as_ref(), list_weights.as_ref())?;
        let rows = rows.as_ref().map(Array::as_slice).transpose()?.map(<[u32]>::to_vec);
        let fits = match &rows {
            None => columns.labels.len() == count,
            Some(rows) => {
                rows.len() == columns.labels.len() && rows.iter().all(|&row| (row as usize) < count)
            }
        };
        if values.len() != count * width || !fits {
            return Err(refused("features, labels and rows do not fit each other"));
        }
        let several = !outputs.is_empty();
        let lists = Lists {
            rows,
            output: several.then(|| (0..columns.len()).map(|output| output as u16).collect()),
            ..columns.lists()
        };
        let output_names: Option<Names> = several.then(|| outputs.iter().collect());
        let column = |(place, name): (usize, String)| Column {
            name,
            levels: levels.remove(&place).map(|strings| strings.iter().collect()),
        };
        Ok(Table(Some(Dataset {
            lists,
            features: Matrix::Dense { width, values },
            columns: names.into_iter().enumerate().map(column).collect(),
            list_names: output_names.clone(),
            output_names,
            ..Dataset::default()
        })))
    }

    /// The names of the lists, and the row that each row was before they were brought together.
    fn name_lists(&mut self, names: Vec<String>, rows: Option<Array<u32>>) -> PyResult<()> {
        let Some(data) = &mut self.0 else {
            return Err(PyRuntimeError::new_err("the table was used before"));
        };
        if names.len() != data.lists.len() {
            return Err(refused(format!("found {} names, expected {}", names.len(), data.lists.len())));
        }
        data.list_names = Some(names.iter().collect());
        data.file_rows = crate::arrays::numbers(rows.as_ref())?.map(<[u32]>::to_vec);
        Ok(())
    }

    /// The position at which each row was shown.
    fn set_positions(&mut self, positions: Array<u32>) -> PyResult<()> {
        let Some(data) = &mut self.0 else {
            return Err(PyRuntimeError::new_err("the table was used before"));
        };
        if positions.as_slice()?.len() != data.rows() {
            return Err(refused(format!(
                "found {} positions, expected {}",
                positions.as_slice()?.len(),
                data.rows()
            )));
        }
        data.positions = Some(positions.as_slice()?.to_vec());
        Ok(())
    }

    /// Which rows should be ranked above which others of their lists, and how much each pair counts.
    fn set_pairs(&mut self, better: Array<u32>, worse: Array<u32>, weights: Array<f32>) -> PyResult<()> {
        let lists = match &mut self.0 {
            Some(Dataset { lists, .. }) if lists.rows.is_none() => lists,
            _ => return Err(refused("pairs: found a table of shared rows, expected one row per item")),
        };
        let list_of = |row: u32| lists.offsets.partition_point(|&offset| offset <= u64::from(row)) - 1;
        let mut pairs = Vec::new();
        for ((&better, &worse), &weight) in
            better.as_slice()?.iter().zip(worse.as_slice()?).zip(weights.as_slice()?)
        {
            let q = list_of(better);
            if better.max(worse) as usize >= lists.entries() || q != list_of(worse) {
                let found = format!("pairs: found rows {better} and {worse}");
                return Err(refused(format!("{found}, expected two rows of the same list")));
            }
            let first = lists.offsets[q] as u32;
            let pair = Preference { better: better - first, worse: worse - first, weight };
            pairs.push((q as u32, pair));
        }
        lists.pairs = Some(Preferences::from_pairs(lists.len(), pairs));
        lists.check().map_err(refused)
    }
}

impl Table {
    /// The data; they are gone afterwards.
    pub fn take(&mut self) -> PyResult<Dataset> {
        self.0.take().ok_or_else(|| PyRuntimeError::new_err("the table was used before"))
    }
}
