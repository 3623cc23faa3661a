/*!
A text in two passes, for files larger than memory: everything but the features first, then the features block by block.

All errors of the text are found in the first pass. Memory: labels, names and line numbers, about 30 bytes a row with
names of items, and one block of rows; the features of a row take at least ten times as much as text.
*/

use super::matrix::{Extent, Growing};
use super::{Reading, each_piece, too_large, unstated};
use crate::dataset::{Dataset, Matrix};
use crate::error::ReadError;
use crate::formats::ReadOptions;
use crate::pieces::Pieces;
use crate::source::Source;

/// A LETOR or LIBSVM file without its features, which [`Outline::each_block`] fetches.
///
/// ```
/// use toprank_data::{ReadOptions, Source, formats::letor::Outline};
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("big.txt");
/// std::fs::write(&path, "2 qid:a 1:0.5 2:3\n0 qid:b 2:4\n").unwrap();
/// let outline = Outline::read(&Source::path(&path), &ReadOptions::default()).unwrap().unwrap();
/// assert_eq!(outline.data().lists.offsets, [0, 1, 2]);
/// let mut rows = 0;
/// outline.each_block(|block| { rows += block.rows(); Ok::<(), toprank_data::ReadError>(()) }).unwrap();
/// assert_eq!(rows, 2);
/// ```
#[derive(Debug)]
pub struct Outline {
    source: Source,
    options: ReadOptions,
    data: Dataset,
    extent: Extent,
    sparse: bool,
}

impl Outline {
    /// The first pass. `None` if the text cannot be read twice (standard input, pipes), or if its rows must be brought
    /// into another order (`regroup`): then it must be read into memory.
    pub fn read(source: &Source, options: &ReadOptions) -> Result<Option<Outline>, ReadError> {
        if !source.as_path().is_some_and(std::path::Path::is_file) {
            return Ok(None);
        }
        let mut reading = Reading::new(source, options, Extent::new(unstated(options)));
        each_piece(source, options, Pieces::open(source)?, |piece, shape| reading.append(piece, shape))?;
        let read = reading.finish()?;
        if read.order.is_some() {
            return Ok(None);
        }
        let sparse = read.cells.is_sparse(read.text_bytes).map_err(|size| too_large(source, &size))?;
        let (source, options) = (source.clone(), options.clone());
        Ok(Some(Outline { source, options, data: read.data, extent: read.cells, sparse }))
    }

    /// What a feature is that no row states: 0, or NaN (missing).
    pub fn unstated(&self) -> f32 {
        unstated(&self.options)
    }

    /// Everything but the features, which are empty.
    pub fn data(&self) -> &Dataset {
        &self.data
    }

    /// Features per row.
    pub fn width(&self) -> usize {
        self.extent.width
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.extent.rows
    }

    /// True if the features take less memory sparse than dense; the blocks have that form.
    pub fn is_sparse(&self) -> bool {
        self.sparse
    }

    /// The second pass: hands all rows to `of`, some megabytes of text at a time, in order. Ends with the first error
    /// of `of`, or with one of its own if the file has changed since the first pass.
    pub fn each_block<E: From<ReadError>>(
        &self,
        mut of: impl FnMut(&Matrix) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rows = 0;
        let mut stopped = None;
        let pieces = Pieces::open(&self.source)?;
        let walked = each_piece(&self.source, &self.options, pieces, |piece, _| {
            let mut block = Growing::part(&self.extent, self.sparse);
            let read = &piece.rows;
            let fits = read.error.is_none() && piece.failure.is_none() && self.extent.holds(read);
            rows += read.labels.len();
            if !fits || rows > self.extent.rows {
                return Err(self.changed());
            }
            block.append_as_is(read);
            of(&block.matrix()).map_err(|error| {
                stopped = Some(error);
                self.changed()
            })
        });
        match (stopped, walked) {
            (Some(error), _) => Err(error),
            (None, Err(error)) => Err(error.into()),
            (None, Ok(())) if rows != self.extent.rows => Err(self.changed().into()),
            (None, Ok(())) => Ok(()),
        }
    }

    fn changed(&self) -> ReadError {
        let expected = format!("the {} rows of the first pass", self.extent.rows);
        ReadError::data(self.source.name(), "other rows than a moment ago", expected)
            .advice("Something else is writing this file: try again when it is whole.")
    }
}
