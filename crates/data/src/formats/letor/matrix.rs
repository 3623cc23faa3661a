/*!
Pieces of rows to one matrix, dense or sparse, whichever the whole file deserves.

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

/// A growing matrix. Columns are features `base, base + 1, …`.
pub(super) struct Growing {
    base: u32,
    width: usize,
    rows: usize,
    /// Cells that differ from `unstated`.
    filled: u64,
    /// What a cell is that no row states: 0 or NaN.
    unstated: f32,
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

impl Growing {
    pub(super) fn new(unstated: f32) -> Growing {
        let form = Form::Dense(Vec::new());
        Growing { base: 1, width: 0, rows: 0, filled: 0, unstated, form }
    }

    fn is_unstated(&self, value: f32) -> bool {
        if self.unstated.is_nan() { value.is_nan() } else { value.to_bits() == 0 }
    }

    fn dense_bytes(rows: usize, width: usize) -> u64 {
        4 * rows as u64 * width as u64
    }

    fn sparse_bytes(rows: usize, filled: u64) -> u64 {
        8 * rows as u64 + 8 * filled
    }

    /// Appends the rows of a piece.
    pub(super) fn append(&mut self, piece: &Rows) {
        let (low, high) = match &piece.indices {
            Indices::Regular { width: 0, .. } => (1, 0),
            Indices::Regular { first, width } => (*first, first + width - 1),
            Indices::Explicit(indices) => {
                indices.iter().fold((1, 0), |(low, high), &index| (low.min(index), high.max(index)))
            }
        };
        let base = self.base.min(low);
        let width = (self.base + self.width as u32).max(high + 1) - base;
        let rows = self.rows + piece.ends.len();
        let filled = self.filled + piece.values.iter().filter(|&&v| !self.is_unstated(v)).count() as u64;
        let dense = Growing::dense_bytes(rows, width as usize);
        let sparse = Growing::sparse_bytes(rows, filled);
        if dense > SMALL && dense / 4 > sparse {
            self.make_sparse();
        } else if sparse > SMALL && sparse > dense {
            self.make_dense();
        }
        self.widen(base, width as usize);
        (self.rows, self.filled) = (rows, filled);
        let unstated = self.unstated;
        match &mut self.form {
            Form::Dense(cells) => {
                append_dense(cells, piece, base, width as usize, unstated);
            }
            Form::Sparse { .. } => self.append_sparse(piece),
        }
    }

    fn append_sparse(&mut self, piece: &Rows) {
        let keep = |value: f32| !self.is_unstated(value);
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

    /// Makes room for features `base .. base + width`.
    fn widen(&mut self, base: u32, width: usize) {
        let (old_base, old_width) = (self.base, self.width);
        (self.base, self.width) = (base, width);
        if let Form::Dense(cells) = &mut self.form
            && (base, width) != (old_base, old_width)
            && !cells.is_empty()
        {
            let shift = (old_base - base) as usize;
            cells.resize(self.rows * width, self.unstated);
            // From the last row on: no row is written over before it moved.
            for row in (0..self.rows).rev() {
                let to = row * width;
                cells.copy_within(row * old_width..(row + 1) * old_width, to + shift);
                cells[to..to + shift].fill(self.unstated);
                cells[to + shift + old_width..to + width].fill(self.unstated);
            }
        } else if let Form::Dense(cells) = &mut self.form {
            cells.resize(self.rows * width, self.unstated);
        }
    }

    fn make_sparse(&mut self) {
        let Form::Dense(cells) = &mut self.form else { return };
        let mut values = std::mem::take(cells);
        let mut indices = Vec::with_capacity(self.filled as usize);
        let mut ends = Vec::with_capacity(self.rows);
        let mut kept = 0;
        for row in 0..self.rows {
            for column in 0..self.width {
                let value = values[row * self.width + column];
                if !self.is_unstated(value) {
                    indices.push(self.base + column as u32);
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
        let mut cells = vec![self.unstated; self.rows * self.width];
        let mut start = 0;
        for (row, &end) in ends.iter().enumerate() {
            for cell in start..end as usize {
                cells[row * self.width + (indices[cell] - self.base) as usize] = values[cell];
            }
            start = end as usize;
        }
        self.form = Form::Dense(cells);
    }

    /// The first feature and the finished matrix. `text_bytes` is the size of the text it came from.
    pub(super) fn finish(mut self, text_bytes: u64) -> Result<(u32, Matrix), TooLarge> {
        // A dense matrix of missing cells may be large, but not from a small hostile file.
        const MOST: u64 = 256 << 20;
        const MOST_PER_BYTE: u64 = 64;
        let dense = Growing::dense_bytes(self.rows, self.width);
        let missing = self.unstated.is_nan();
        if missing && dense > MOST && dense / MOST_PER_BYTE > text_bytes {
            return Err(TooLarge { rows: self.rows, width: self.width });
        }
        if !missing && Growing::sparse_bytes(self.rows, self.filled) < dense / 2 {
            self.make_sparse();
        } else {
            self.make_dense();
        }
        let (base, width) = (self.base, self.width);
        Ok((
            base,
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
            },
        ))
    }
}

fn append_dense(cells: &mut Vec<f32>, piece: &Rows, base: u32, width: usize, unstated: f32) {
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
