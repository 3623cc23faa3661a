//! A [`Sheet`] as Arrow record batches, for the Parquet and Arrow writers.

use std::io;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, DictionaryArray, Float32Array, Float64Array, Int32Array, RecordBatch, StringArray, UInt32Array,
    types::Int32Type,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::sheet::{Sheet, What, unsupported};
use crate::dataset::{Column, Dataset, Matrix};
use crate::names::Names;

/// Numbers in a batch, roughly: bounds the memory of wide tables.
const CELLS: usize = 1 << 22;

/// Columns of a table: a writer of Parquet holds some 20 kB for each.
const MOST_COLUMNS: usize = 1 << 15;

/// The batches of a data set, one after the other.
pub(crate) struct Batches<'a> {
    data: &'a Dataset,
    sheet: Sheet<'a>,
    schema: SchemaRef,
    next: usize,
    /// Features of the lines of a batch, line after line.
    features: Vec<f32>,
    /// Strings of each categorical feature: one dictionary for all batches.
    words: Vec<Arc<StringArray>>,
}

impl<'a> Batches<'a> {
    pub(crate) fn new(data: &'a Dataset) -> io::Result<Batches<'a>> {
        let sheet = Sheet::new(data)?;
        if sheet.columns.len() > MOST_COLUMNS {
            return Err(unsupported(format!(
                "{} columns, more than the {MOST_COLUMNS} that are written as Parquet or Arrow, where each takes memory of its own. \
                 The formats libsvm, letor, toprank-data and csv take more",
                sheet.columns.len()
            )));
        }
        let missing = features_with_missing(data);
        let field = |(name, what): &(String, What)| {
            let (data_type, nullable) = match *what {
                What::List | What::Item | What::Extra(_) => (DataType::Utf8, false),
                What::Words(f) => {
                    let words = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                    (words, missing[f])
                }
                What::Feature(f) => (DataType::Float32, missing[f]),
                What::Time | What::InitScore => (DataType::Float64, false),
                What::Position => (DataType::UInt32, false),
                What::Weight | What::ListWeight => (DataType::Float32, false),
                What::Label | What::Output(_) => (DataType::Float32, true),
            };
            Field::new(name, data_type, nullable)
        };
        let schema = Arc::new(Schema::new(sheet.columns.iter().map(field).collect::<Vec<_>>()));
        let words = |column: &Column| {
            Arc::new(StringArray::from_iter_values(column.levels.iter().flat_map(Names::iter)))
        };
        let words = data.columns.iter().map(words).collect();
        Ok(Batches { data, sheet, schema, next: 0, features: Vec::new(), words })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn batch(&mut self, lines: std::ops::Range<usize>) -> io::Result<RecordBatch> {
        let width = self.data.features.width();
        self.features.resize(lines.len() * width, 0.0);
        if width > 0 {
            for (line, row) in lines.clone().zip(self.features.chunks_exact_mut(width)) {
                self.data.features.row_into(self.sheet.row(line), row);
            }
        }
        let column = |&(_, what): &(String, What)| self.column(what, lines.clone());
        let arrays = self.sheet.columns.iter().map(column).collect::<io::Result<Vec<ArrayRef>>>()?;
        RecordBatch::try_new(self.schema.clone(), arrays).map_err(io::Error::other)
    }

    fn column(&self, what: What, lines: std::ops::Range<usize>) -> io::Result<ArrayRef> {
        let sheet = &self.sheet;
        let feature =
            |f: usize| self.features.iter().skip(f).step_by(self.data.features.width().max(1)).copied();
        let stated = |value: f32| (!value.is_nan()).then_some(value);
        Ok(match what {
            What::Feature(f) => Arc::new(feature(f).map(stated).collect::<Float32Array>()),
            What::Words(f) => {
                let key = |code| Ok(sheet.word(f, code)?.map(|_| code as i32));
                let keys = feature(f).map(key).collect::<io::Result<Int32Array>>()?;
                let words = self.words[f].clone();
                Arc::new(DictionaryArray::<Int32Type>::try_new(keys, words).map_err(io::Error::other)?)
            }
            What::List | What::Item | What::Extra(_) => {
                Arc::new(StringArray::from_iter_values(lines.map(|line| sheet.text(what, line))))
            }
            What::Time | What::InitScore => {
                Arc::new(Float64Array::from_iter_values(lines.map(|line| sheet.number(what, line))))
            }
            What::Position => {
                Arc::new(UInt32Array::from_iter_values(lines.map(|line| sheet.number(what, line) as u32)))
            }
            What::Label | What::Output(_) | What::Weight | What::ListWeight => {
                Arc::new(lines.map(|line| stated(sheet.number(what, line) as f32)).collect::<Float32Array>())
            }
        })
    }
}

impl Iterator for Batches<'_> {
    type Item = io::Result<RecordBatch>;

    fn next(&mut self) -> Option<io::Result<RecordBatch>> {
        if self.next >= self.sheet.height() {
            return None;
        }
        let most = (CELLS / self.sheet.columns.len().max(1)).clamp(64, 1 << 16);
        let lines = self.next..(self.next + most).min(self.sheet.height());
        self.next = lines.end;
        Some(self.batch(lines))
    }
}

/// Columns without a missing value are declared so, which readers decode faster.
fn features_with_missing(data: &Dataset) -> Vec<bool> {
    let mut missing = vec![false; data.features.width()];
    match &data.features {
        Matrix::Dense { width, values } => {
            for row in values.chunks_exact((*width).max(1)) {
                for (seen, value) in missing.iter_mut().zip(row) {
                    *seen |= value.is_nan();
                }
            }
        }
        Matrix::Sparse(sparse) => {
            for (&feature, value) in sparse.indices.iter().zip(&sparse.values) {
                missing[feature as usize] |= value.is_nan();
            }
        }
    }
    missing
}
