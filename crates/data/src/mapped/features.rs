//! Features that stay in the file: pages come in when rows are fetched.

use std::sync::Arc;

use rayon::prelude::*;
use toprank_core::Features;

use super::layout::{Form, Section, damaged};
use super::number::{read_f32s, read_u64};
use super::store::Store;
use crate::dataset::{Matrix, Sparse};
use crate::error::ReadError;

/// Rows of features in a mapped file.
///
/// A row in a part of the file that does not match its checksum reads as missing, and [`Features::fault`] then says
/// which part that is.
#[derive(Clone, Debug)]
pub struct Mapped {
    store: Arc<Store>,
    rows: usize,
    width: usize,
    cells: Cells,
}

#[derive(Clone, Debug)]
enum Cells {
    Dense(Section),
    Sparse { cells: Section, offsets: Section },
}

/// Bytes of one stored (feature, value).
const CELL: usize = 8;

impl Mapped {
    /// The features of a file, after a check that their sections have the right size.
    pub(super) fn new(store: Arc<Store>) -> Result<Mapped, ReadError> {
        let table = &store.layout.table;
        let (rows, width) = (table.rows, table.width);
        let sized = |name: &str, kind: &str, count: Option<u64>, each: u64| {
            let section = store.required(name, kind)?;
            match count.and_then(|count| count.checked_mul(each)) {
                Some(bytes) if section.bytes == bytes => Ok(section.clone()),
                _ => {
                    let found = format!("section {name} of {} bytes", section.bytes);
                    Err(damaged(&store.file, found, &format!("the size of {rows} rows of {width} features")))
                }
            }
        };
        let cells = match table.form {
            Form::Dense => Cells::Dense(sized("features", "f32", rows.checked_mul(width), 4)?),
            Form::Sparse => {
                let cells = store.required("cells", "u32,f32")?.clone();
                if cells.bytes % CELL as u64 != 0 || width > u64::from(u32::MAX) {
                    let found = format!("section cells of {} bytes", cells.bytes);
                    return Err(damaged(&store.file, found, "whole cells of 8 bytes"));
                }
                Cells::Sparse { cells, offsets: sized("row_offsets", "u64", rows.checked_add(1), 8)? }
            }
        };
        Ok(Mapped { rows: rows as usize, width: width as usize, cells, store })
    }

    /// True if only values other than 0 are stored.
    pub fn is_sparse(&self) -> bool {
        matches!(self.cells, Cells::Sparse { .. })
    }

    /// Writes one row; `None` (and a fault in the store) if it cannot be trusted.
    fn row_into(&self, row: usize, out: &mut [f32]) -> Option<()> {
        match &self.cells {
            Cells::Dense(section) => {
                let start = row * self.width * 4;
                read_f32s(self.store.fetch(section, start..start + self.width * 4)?, out);
            }
            Cells::Sparse { .. } => {
                out.fill(0.0);
                self.each_cell(row, |feature, value| out[feature] = value)?;
            }
        }
        Some(())
    }

    /// Calls `of` with every stored cell of a row, by feature; `None` if it cannot be trusted.
    fn each_cell(&self, row: usize, mut of: impl FnMut(usize, f32)) -> Option<()> {
        let (cells, offsets) = match &self.cells {
            Cells::Sparse { cells, offsets } => (cells, offsets),
            Cells::Dense(section) => {
                let start = row * self.width * 4;
                let cells = self.store.fetch(section, start..start + self.width * 4)?;
                let values = cells.as_chunks().0.iter().map(|cell| f32::from_le_bytes(*cell));
                values.enumerate().for_each(|(feature, value)| of(feature, value));
                return Some(());
            }
        };
        let ends = self.store.fetch(offsets, row * 8..row * 8 + 16)?;
        let end = |at: usize| (read_u64(&ends[at..]) as usize).saturating_mul(CELL);
        let mut least = 0;
        for cell in self.store.fetch(cells, end(0)..end(8))?.as_chunks::<CELL>().0 {
            let [a, b, c, d, e, f, g, h] = *cell;
            let feature = u32::from_le_bytes([a, b, c, d]) as usize;
            if feature < least || feature >= self.width {
                self.store.note(|| {
                    format!(
                        "feature {feature} in row {row} of sparse data of {} ascending features",
                        self.width
                    )
                });
                return None;
            }
            least = feature + 1;
            of(feature, f32::from_le_bytes([e, f, g, h]));
        }
        Some(())
    }

    /// An error if some row fetched until now cannot be trusted, which says what is damaged: [`Features::fault`] with a type.
    pub fn sound(&self) -> Result<(), ReadError> {
        self.store.fault().map_or(Ok(()), |fault| Err(fault.clone()))
    }

    /// Rows that stand one after the other, in memory, in the form they have in the file.
    ///
    /// # Panics
    /// If there are fewer rows.
    pub fn slice(&self, rows: std::ops::Range<usize>) -> Result<Matrix, ReadError> {
        assert!(rows.end <= self.rows, "rows {rows:?} of {}", self.rows);
        self.matrix(rows.start as u32..rows.end as u32)
    }

    /// These rows in memory, in the form they have in the file.
    pub(super) fn matrix(&self, rows: impl ExactSizeIterator<Item = u32>) -> Result<Matrix, ReadError> {
        let matrix = match &self.cells {
            Cells::Dense(_) => {
                let mut values = vec![0.0; rows.len() * self.width];
                if self.width > 0 {
                    for (row, out) in rows.zip(values.chunks_exact_mut(self.width)) {
                        if self.row_into(row as usize, out).is_none() {
                            break;
                        }
                    }
                }
                Matrix::Dense { width: self.width, values }
            }
            Cells::Sparse { .. } => {
                let mut sparse = Sparse { width: self.width, offsets: vec![0], ..Sparse::default() };
                for row in rows {
                    let taken = self.each_cell(row as usize, |feature, value| {
                        sparse.indices.push(feature as u32);
                        sparse.values.push(value);
                    });
                    if taken.is_none() {
                        break;
                    }
                    sparse.offsets.push(sparse.indices.len() as u64);
                }
                Matrix::Sparse(sparse)
            }
        };
        self.sound()?;
        Ok(matrix)
    }

    /// Reads every row and checks it: sums, places of sparse cells, and that no value is infinite.
    pub(super) fn verify(&self) -> Result<(), ReadError> {
        self.sections().into_iter().flatten().try_for_each(|section| self.store.check(section))?;
        let rows = if self.width == 0 { 0 } else { self.rows };
        let wrong = (0..rows).into_par_iter().find_map_first(|row| {
            let mut infinite = None;
            let read = self.each_cell(row, |feature, value| {
                infinite = infinite.or(value.is_infinite().then_some((row, feature)));
            });
            if read.is_none() { self.store.fault().cloned().map(Err) } else { infinite.map(Ok) }
        });
        match wrong {
            None => Ok(()),
            Some(Err(fault)) => Err(fault),
            Some(Ok((row, feature))) => {
                let found = format!("an infinite value of feature {} in row {}", feature + 1, row + 1);
                Err(damaged(&self.store.file, found, "finite values, or NaN where one is missing"))
            }
        }
    }

    fn sections(&self) -> [Option<&Section>; 2] {
        match &self.cells {
            Cells::Dense(features) => [Some(features), None],
            Cells::Sparse { cells, offsets } => [Some(cells), Some(offsets)],
        }
    }
}

impl Features for Mapped {
    fn rows(&self) -> usize {
        self.rows
    }

    fn width(&self) -> usize {
        self.width
    }

    fn gather(&self, rows: &[u32], out: &mut [f32]) {
        assert_eq!(out.len(), rows.len() * self.width, "{} numbers a row", self.width);
        if let Some(row) = rows.iter().find(|row| **row as usize >= self.rows) {
            panic!("row {row} of {}", self.rows);
        }
        if self.width > 0 {
            for (&row, out) in rows.iter().zip(out.chunks_exact_mut(self.width)) {
                if self.row_into(row as usize, out).is_none() {
                    out.fill(f32::NAN);
                }
            }
        }
    }

    fn fault(&self) -> Option<String> {
        self.store.fault().map(ToString::to_string)
    }

    /// The checksums of the blocks: the file may be larger than memory, and every block that is used is compared with them.
    fn content(&self, take: &mut dyn FnMut(&[u8])) {
        for section in self.sections().into_iter().flatten() {
            take(&section.bytes.to_le_bytes());
            let blocks = section.first_block..section.first_block + section.blocks();
            self.store.layout.sums[blocks].iter().for_each(|sum| take(&sum.to_le_bytes()));
        }
    }

    fn recheck(&self) -> Option<String> {
        self.store.recheck();
        self.fault()
    }
}
