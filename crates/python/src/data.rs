//! Data files in, arrays out; parts of data sets.

use std::ffi::OsString;

use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use toprank::core::Lists;
use toprank::data::split::{parse, plan};
use toprank::data::{Dataset, Matrix, Names, Sparse};

use crate::arrays::Array;
use crate::command;
use crate::errors::refused;

/// Reads data files, given and described by words of the command (`FILE… --list COLUMN`). The arrays of the dictionary are those of
/// the reader: nothing is copied.
#[pyfunction]
pub fn read(py: Python, words: Vec<OsString>) -> PyResult<Bound<PyDict>> {
    let data = py.detach(|| toprank_cli::read(words)).map_err(command::failed)?;
    shown(py, data)
}

fn strings(names: Option<&Names>) -> Option<Vec<&str>> {
    names.map(|names| names.iter().collect())
}

fn shown(py: Python, data: Dataset) -> PyResult<Bound<PyDict>> {
    let rows = data.rows();
    let report = PyDict::new(py);
    report.set_item("list_names", strings(data.list_names.as_ref()))?;
    report.set_item("item_names", strings(data.item_names.as_ref()))?;
    report.set_item("output_names", strings(data.output_names.as_ref()))?;
    report.set_item("columns", data.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>())?;
    let levels = PyDict::new(py);
    for (place, column) in data.columns.iter().enumerate() {
        if let Some(names) = strings(column.levels.as_ref()) {
            levels.set_item(place, names)?;
        }
    }
    report.set_item("levels", levels)?;
    let extra = PyDict::new(py);
    for (name, values) in &data.extra {
        extra.set_item(name, strings(Some(values)))?;
    }
    report.set_item("extra", extra)?;
    let Dataset { lists, features, times, positions, file_rows, .. } = data;
    let Lists { offsets, rows: shared, labels, item_weights, list_weights, .. } = lists;
    report.set_item("offsets", offsets.into_pyarray(py))?;
    report.set_item("labels", labels.into_pyarray(py))?;
    report.set_item("rows", shared.map(|rows| rows.into_pyarray(py)))?;
    report.set_item("item_weights", item_weights.map(|weights| weights.into_pyarray(py)))?;
    report.set_item("list_weights", list_weights.map(|weights| weights.into_pyarray(py)))?;
    report.set_item("times", times.map(|times| times.into_pyarray(py)))?;
    report.set_item("positions", positions.map(|positions| positions.into_pyarray(py)))?;
    report.set_item("file_rows", file_rows.map(|rows| rows.into_pyarray(py)))?;
    match features {
        Matrix::Dense { width, values } => {
            report.set_item("features", values.into_pyarray(py).reshape([rows, width])?)?;
        }
        Matrix::Sparse(Sparse { width, offsets, indices, values }) => {
            let sparse = (width, offsets.into_pyarray(py), indices.into_pyarray(py), values.into_pyarray(py));
            report.set_item("features", sparse)?;
        }
    }
    Ok(report)
}

/// The parts of a data set: for each its name and the entries that belong to it, ascending within a list.
#[pyfunction]
pub fn split<'py>(
    py: Python<'py>,
    labels: Array<'py, f32>,
    offsets: Array<'py, u64>,
    times: Option<Array<'py, f64>>,
    method: &str,
    seed: u64,
) -> PyResult<Vec<(String, Bound<'py, numpy::PyArray1<u64>>)>> {
    let spec = parse(method).map_err(refused)?;
    let lists = Lists {
        offsets: offsets.as_slice()?.to_vec(),
        labels: labels.as_slice()?.to_vec(),
        ..Lists::default()
    };
    let times = crate::arrays::numbers(times.as_ref())?.map(<[f64]>::to_vec);
    let data = Dataset { lists, times, ..Dataset::default() };
    let parts = py.detach(|| plan(&data, &spec, seed)).map_err(refused)?;
    Ok(parts.into_iter().map(|part| (part.name.clone(), part.entries(&data).into_pyarray(py))).collect())
}
