/*!
Joins pieces of rows to one matrix, dense or sparse, whichever suits the whole file.

The rule, for the finished file: **sparse if that takes less than half the bytes of dense** (4 a cell; sparse 8 a
cell that is not 0 and 8 a row), else dense. Where an unstated feature means missing the matrix is dense: it could
not tell missing from 0 otherwise.

While reading, the form in use changes when the other would be far smaller, so that one row with a huge index never
costs `rows × index` cells.
*/

use super::rows::{Indices, Rows};
use crate::dataset::{Matrix, Sparse};

/// Below this the form in use does not matter.
const SMALL: u64 = 16 << 20;

/// How much there is: features `base, base + 1, …` of some rows.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    pub base: u32,
    pub width: usize,
    pub rows: usize,
    /// Cells that differ from `unstated`.
    filled: u64,
    /// What a cell is that no row states: 0 or NaN.
    unstated: f32,
}

impl Extent {
    pub(super) fn new(unstated: f32) -> Extent {
        Extent { base: 1, width: 0, rows: 0, filled: 0, unstated }
    }

    fn is_unstated(&self, value: f32) -> bool {
        if self.unstated.is_nan() { value.is_nan() } else { value.to_bits() == 0 }
    }

    /// Bytes of all cells.
    fn dense_bytes(&self) -> u64 {
        4 * self.rows as u64 * self.width as u64
    }

    /// Bytes of the cells that are filled.
    fn sparse_bytes(&self) -> u64 {
        8 * self.rows as u64 + 8 * self.filled
    }

    /// With the rows of a piece.
    fn and(&self, piece: &Rows) -> Extent {
        let (low, high) = match &piece.indices {
            Indices::Regular { width: 0, .. } => (1, 0),
            Indices::Regular { first, width } => (*first, first + width - 1),
            Indices::Explicit(indices) => {
                indices.iter().fold((1, 0), |(low, high), &index| (low.min(index), high.max(index)))
            }
        };
        let base = self.base.min(low);
        Extent {
            base,
            width: ((self.base + self.width as u32).max(high + 1) - base) as usize,
            rows: self.rows + piece.ends.len(),
            filled: self.filled + piece.values.iter().filter(|&&v| !self.is_unstated(v)).count() as u64,
            unstated: self.unstated,
        }
    }

    /// True if the rows of a piece state no feature beyond this extent.
    pub(super) fn holds(&self, piece: &Rows) -> bool {
        let both = self.and(piece);
        (both.base, both.width) == (self.base, self.width)
    }

    /// True if the finished matrix is sparse. `text_bytes` is the size of the text it came from.
    pub(super) fn is_sparse(&self, text_bytes: u64) -> Result<bool, TooLarge> {
        // A dense matrix of missing cells may be large, but not from a small hostile file.
        const MOST: u64 = 256 << 20;
        const MOST_PER_BYTE: u64 = 64;
        let dense = self.dense_bytes();
        let missing = self.unstated.is_nan();
        if missing && dense > MOST && dense / MOST_PER_BYTE > text_bytes {
            return Err(TooLarge { rows: self.rows, width: self.width });
        }
        Ok(!missing && self.sparse_bytes() < dense / 2)
    }
}

/// What pieces of rows are gathered into.
pub(super) trait Gathering {
    /// Appends the rows of a piece.
    fn append(&mut self, piece: &Rows);

    /// How much there is until now.
    fn extent(&self) -> &Extent;
}

/// Only the extent, not the cells.
impl Gathering for Extent {
    fn append(&mut self, piece: &Rows) {
        *self = self.and(piece);
    }

    fn extent(&self) -> &Extent {
        self
    }
}

/// A growing matrix.
pub(super) struct Growing {
    extent: Extent,
    form: Form,
}

enum Form {
    Dense(Vec<f32>),
    /// Indices are those of the file.
    Sparse {
        ends: Vec<u64>,
        indices: Vec<u32>,
        values: Vec<f32>,
    },
}

/// The matrix would be out of all proportion to the text.
#[derive(Debug)]
pub(super) struct TooLarge {
    pub rows: usize,
    pub width: usize,
}

impl Gathering for Growing {
    fn append(&mut self, piece: &Rows) {
        let grown = self.extent.and(piece);
        let (dense, sparse) = (grown.dense_bytes(), grown.sparse_bytes());
        if dense > SMALL && dense / 4 > sparse {
            self.make_sparse();
        } else if sparse > SMALL && sparse > dense {
            self.make_dense();
        }
        self.widen(grown.base, grown.width);
        self.append_as_is(piece);
    }

    fn extent(&self) -> &Extent {
        &self.extent
    }
}

impl Growing {
    pub(super) fn new(unstated: f32) -> Growing {
        Growing { extent: Extent::new(unstated), form: Form::Dense(Vec::new()) }
    }

    /// An empty matrix for pieces of a text whose extent is known, in the form that the whole deserves.
    pub(super) fn part(whole: &Extent, sparse: bool) -> Growing {
        let form = match sparse {
            true => Form::Sparse { ends: Vec::new(), indices: Vec::new(), values: Vec::new() },
            false => Form::Dense(Vec::new()),
        };
        Growing { extent: Extent { rows: 0, filled: 0, ..whole.clone() }, form }
    }

    /// Appends the rows of a piece without a change of form.
    pub(super) fn append_as_is(&mut self, piece: &Rows) {
        self.extent = self.extent.and(piece);
        match &mut self.form {
            Form::Dense(cells) => append_dense(cells, piece, &self.extent),
            Form::Sparse { .. } => self.append_sparse(piece),
        }
    }

    fn append_sparse(&mut self, piece: &Rows) {
        let keep = |value: f32| !self.extent.is_unstated(value);
        let mut kept: Vec<(u32, f32)> = Vec::with_capacity(piece.values.len());
        let mut row_ends = Vec::with_capacity(piece.ends.len());
        let mut start = 0;
        for &end in &piece.ends {
            let range = start..end as usize;
            let values = piece.values[range.clone()].iter().copied();
            match &piece.indices {
                Indices::Regular { first, .. } => {
                    kept.extend((*first..).zip(values).filter(|&(_, v)| keep(v)));
                }
                Indices::Explicit(indices) => {
                    kept.extend(indices[range].iter().copied().zip(values).filter(|&(_, v)| keep(v)));
                }
            }
            row_ends.push(kept.len() as u64);
            start = end as usize;
        }
        if let Form::Sparse { ends, indices, values } = &mut self.form {
            let before = values.len() as u64;
            indices.extend(kept.iter().map(|&(index, _)| index));
            values.extend(kept.iter().map(|&(_, value)| value));
            ends.extend(row_ends.iter().map(|end| before + end));
        }
    }

    /// Extends the matrix to features `base .. base + width`.
    fn widen(&mut self, base: u32, width: usize) {
        let Extent { base: old_base, width: old_width, rows, unstated, .. } = self.extent;
        (self.extent.base, self.extent.width) = (base, width);
        if let Form::Dense(cells) = &mut self.form
            && (base, width) != (old_base, old_width)
            && !cells.is_empty()
        {
            let shift = (old_base - base) as usize;
            cells.resize(rows * width, unstated);
            // From the last row on: no row is written over before it moved.
            for row in (0..rows).rev() {
                let to = row * width;
                cells.copy_within(row * old_width..(row + 1) * old_width, to + shift);
                cells[to..to + shift].fill(unstated);
                cells[to + shift + old_width..to + width].fill(unstated);
            }
        } else if let Form::Dense(cells) = &mut self.form {
            cells.resize(rows * width, unstated);
        }
    }

    fn make_sparse(&mut self) {
        let Form::Dense(cells) = &mut self.form else { return };
        let mut values = std::mem::take(cells);
        let Extent { base, width, rows, filled, .. } = self.extent;
        let mut indices = Vec::with_capacity(filled as usize);
        let mut ends = Vec::with_capacity(rows);
        let mut kept = 0;
        for row in 0..rows {
            for column in 0..width {
                let value = values[row * width + column];
                if !self.extent.is_unstated(value) {
                    indices.push(base + column as u32);
                    values[kept] = value;
                    kept += 1;
                }
            }
            ends.push(kept as u64);
        }
        values.truncate(kept);
        values.shrink_to_fit();
        self.form = Form::Sparse { ends, indices, values };
    }

    fn make_dense(&mut self) {
        let Form::Sparse { ends, indices, values } = &self.form else { return };
        let Extent { base, width, rows, unstated, .. } = self.extent;
        let mut cells = vec![unstated; rows * width];
        let mut start = 0;
        for (row, &end) in ends.iter().enumerate() {
            for cell in start..end as usize {
                cells[row * width + (indices[cell] - base) as usize] = values[cell];
            }
            start = end as usize;
        }
        self.form = Form::Dense(cells);
    }

    /// The finished matrix. `text_bytes` is the size of the text it came from.
    pub(super) fn finish(mut self, text_bytes: u64) -> Result<Matrix, TooLarge> {
        if self.extent.is_sparse(text_bytes)? {
            self.make_sparse();
        } else {
            self.make_dense();
        }
        Ok(self.matrix())
    }

    /// The matrix in the form in use.
    pub(super) fn matrix(self) -> Matrix {
        let Extent { base, width, .. } = self.extent;
        match self.form {
            Form::Dense(mut values) => {
                values.shrink_to_fit();
                Matrix::Dense { width, values }
            }
            Form::Sparse { mut ends, mut indices, mut values } => {
                ends.insert(0, 0);
                for index in &mut indices {
                    *index -= base;
                }
                ends.shrink_to_fit();
                indices.shrink_to_fit();
                values.shrink_to_fit();
                Matrix::Sparse(Sparse { width, offsets: ends, indices, values })
            }
        }
    }
}

fn append_dense(cells: &mut Vec<f32>, piece: &Rows, extent: &Extent) {
    let Extent { base, width, unstated, .. } = *extent;
    match &piece.indices {
        Indices::Regular { first, width: stated } if *first == base && *stated as usize == width => {
            cells.extend_from_slice(&piece.values);
        }
        indices => {
            let before = cells.len();
            cells.resize(before + piece.ends.len() * width, unstated);
            let mut start = 0;
            for (row, &end) in piece.ends.iter().enumerate() {
                let row = &mut cells[before + row * width..before + (row + 1) * width];
                let values = &piece.values[start..end as usize];
                match indices {
                    Indices::Regular { first, .. } => {
                        let shift = (first - base) as usize;
                        row[shift..shift + values.len()].copy_from_slice(values);
                    }
                    Indices::Explicit(indices) => {
                        for (&index, &value) in indices[start..end as usize].iter().zip(values) {
                            row[(index - base) as usize] = value;
                        }
                    }
                }
                start = end as usize;
            }
        }
    }
}
