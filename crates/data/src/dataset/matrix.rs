//! The matrix of features, dense or sparse.

use toprank_core::{Features, take_f32s};

/// Features of all rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Matrix {
    /// Row after row; NaN = missing.
    Dense {
        /// Features per row.
        width: usize,
        /// `rows × width` numbers.
        values: Vec<f32>,
    },
    /// Only the stored values; all others are 0.
    Sparse(Sparse),
}

/// Compressed sparse rows. A value not stored is 0; a stored NaN is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sparse {
    /// Features per row.
    pub width: usize,
    /// `rows + 1` ascending positions.
    pub offsets: Vec<u64>,
    /// Feature numbers from 0, ascending within a row.
    pub indices: Vec<u32>,
    /// Their values.
    pub values: Vec<f32>,
}

impl Default for Matrix {
    fn default() -> Matrix {
        Matrix::Dense { width: 0, values: Vec::new() }
    }
}

impl Matrix {
    /// Features per row.
    pub fn width(&self) -> usize {
        match self {
            Matrix::Dense { width, .. } => *width,
            Matrix::Sparse(sparse) => sparse.width,
        }
    }

    /// One value; NaN = missing.
    ///
    /// ```
    /// use toprank_data::{Matrix, Sparse};
    /// let sparse = Sparse { width: 3, offsets: vec![0, 1], indices: vec![2], values: vec![0.5] };
    /// assert_eq!(Matrix::Sparse(sparse).get(0, 2), 0.5);
    /// ```
    pub fn get(&self, row: usize, feature: usize) -> f32 {
        match self {
            Matrix::Dense { width, values } => values[row * width + feature],
            Matrix::Sparse(sparse) => {
                let range = sparse.offsets[row] as usize..sparse.offsets[row + 1] as usize;
                match sparse.indices[range.clone()].binary_search(&(feature as u32)) {
                    Ok(i) => sparse.values[range.start + i],
                    Err(_) => 0.0,
                }
            }
        }
    }

    /// Writes row `row` into `out`, one number per feature.
    pub fn row_into(&self, row: usize, out: &mut [f32]) {
        match self {
            Matrix::Dense { width, values } => out.copy_from_slice(&values[row * width..(row + 1) * width]),
            Matrix::Sparse(sparse) => {
                out.fill(0.0);
                let range = sparse.offsets[row] as usize..sparse.offsets[row + 1] as usize;
                for i in range {
                    out[sparse.indices[i] as usize] = sparse.values[i];
                }
            }
        }
    }

    /// Number of rows; 0 for a dense matrix without columns, whose rows only the [`Dataset`](super::Dataset) around it
    /// can count.
    pub fn rows(&self) -> usize {
        match self {
            Matrix::Dense { width: 0, .. } => 0,
            Matrix::Dense { width, values } => values.len() / width,
            Matrix::Sparse(sparse) => sparse.offsets.len().saturating_sub(1),
        }
    }

    /// An empty matrix of the width and form of this one.
    #[must_use]
    pub fn without_rows(&self) -> Matrix {
        match self {
            Matrix::Dense { width, .. } => Matrix::Dense { width: *width, values: Vec::new() },
            Matrix::Sparse(Sparse { width, .. }) => {
                Matrix::Sparse(Sparse { width: *width, offsets: vec![0], ..Sparse::default() })
            }
        }
    }

    /// Appends the rows of `other`.
    ///
    /// # Panics
    /// If it has another width or form.
    pub fn append(&mut self, other: &Matrix) {
        assert_eq!(self.width(), other.width(), "rows of the same width");
        match (self, other) {
            (Matrix::Dense { values, .. }, Matrix::Dense { values: more, .. }) => {
                values.extend_from_slice(more);
            }
            (Matrix::Sparse(rows), Matrix::Sparse(more)) => {
                let end = rows.indices.len() as u64;
                rows.offsets.extend(more.offsets.iter().skip(1).map(|offset| end + offset));
                rows.indices.extend_from_slice(&more.indices);
                rows.values.extend_from_slice(&more.values);
            }
            _ => panic!("rows of the same form"),
        }
    }

    /// A copy of consecutive rows.
    ///
    /// # Panics
    /// If there are fewer rows.
    #[must_use]
    pub fn slice(&self, rows: std::ops::Range<usize>) -> Matrix {
        match self {
            Matrix::Dense { width, values } => {
                Matrix::Dense { width: *width, values: values[rows.start * width..rows.end * width].to_vec() }
            }
            Matrix::Sparse(sparse) => {
                let offsets = &sparse.offsets[rows.start..=rows.end];
                let cells = offsets[0] as usize..offsets[offsets.len() - 1] as usize;
                Matrix::Sparse(Sparse {
                    width: sparse.width,
                    offsets: offsets.iter().map(|offset| offset - offsets[0]).collect(),
                    indices: sparse.indices[cells.clone()].to_vec(),
                    values: sparse.values[cells].to_vec(),
                })
            }
        }
    }

    /// Removes the rows from `row` on and returns them.
    ///
    /// ```
    /// use toprank_data::Matrix;
    /// let mut rows = Matrix::Dense { width: 2, values: vec![1.0, 2.0, 3.0, 4.0] };
    /// assert_eq!(rows.split_off(1), Matrix::Dense { width: 2, values: vec![3.0, 4.0] });
    /// assert_eq!(rows.rows(), 1);
    /// ```
    ///
    /// # Panics
    /// If there are fewer rows.
    #[must_use]
    pub fn split_off(&mut self, row: usize) -> Matrix {
        let rest = self.slice(row..self.rows());
        match self {
            Matrix::Dense { width, values } => values.truncate(row * *width),
            Matrix::Sparse(rows) => {
                rows.offsets.truncate(row + 1);
                rows.indices.truncate(rows.offsets[row] as usize);
                rows.values.truncate(rows.offsets[row] as usize);
            }
        }
        rest
    }

    /// The columns `places` in this order; for `None` every value is `absent`.
    ///
    /// ```
    /// use toprank_data::Matrix;
    /// let rows = Matrix::Dense { width: 2, values: vec![1.0, 2.0, 3.0, 4.0] };
    /// let picked = rows.pick_columns(&[Some(1), None], 0.0);
    /// assert_eq!(picked, Matrix::Dense { width: 2, values: vec![2.0, 0.0, 4.0, 0.0] });
    /// ```
    #[must_use]
    pub fn pick_columns(&self, places: &[Option<usize>], absent: f32) -> Matrix {
        let width = places.len();
        match self {
            // Sparse rows stay sparse where what is not there is 0, as everything that is not stated.
            Matrix::Sparse(sparse) if absent == 0.0 || places.iter().all(Option::is_some) => {
                let mut to: Vec<Vec<u32>> = vec![Vec::new(); sparse.width];
                for (new, old) in (0..).zip(places) {
                    if let Some(old) = old {
                        to[*old].push(new);
                    }
                }
                let mut picked = Sparse { width, offsets: vec![0], ..Sparse::default() };
                let mut row = Vec::new();
                for ends in sparse.offsets.windows(2) {
                    row.clear();
                    for cell in ends[0] as usize..ends[1] as usize {
                        let value = sparse.values[cell];
                        row.extend(to[sparse.indices[cell] as usize].iter().map(|&new| (new, value)));
                    }
                    row.sort_unstable_by_key(|cell| cell.0);
                    picked.indices.extend(row.iter().map(|cell| cell.0));
                    picked.values.extend(row.iter().map(|cell| cell.1));
                    picked.offsets.push(picked.indices.len() as u64);
                }
                Matrix::Sparse(picked)
            }
            _ => {
                let mut old = vec![0.0; self.width()];
                let mut values = Vec::with_capacity(self.rows() * width);
                for row in 0..self.rows() {
                    self.row_into(row, &mut old);
                    values.extend(places.iter().map(|place| place.map_or(absent, |place| old[place])));
                }
                Matrix::Dense { width, values }
            }
        }
    }

    /// Bytes held in memory.
    pub fn bytes(&self) -> usize {
        match self {
            Matrix::Dense { values, .. } => values.capacity() * 4,
            Matrix::Sparse(s) => s.offsets.capacity() * 8 + (s.indices.capacity() + s.values.capacity()) * 4,
        }
    }
}

/// The rows of the matrix. Where there may be no columns at all, gather from the [`Dataset`](super::Dataset), which can
/// count its rows.
impl Features for Matrix {
    fn rows(&self) -> usize {
        Matrix::rows(self)
    }

    fn width(&self) -> usize {
        Matrix::width(self)
    }

    fn gather(&self, rows: &[u32], out: &mut [f32]) {
        let width = Matrix::width(self);
        assert_eq!(out.len(), rows.len() * width, "{width} numbers a row");
        if width > 0 {
            rows.iter()
                .zip(out.chunks_exact_mut(width))
                .for_each(|(&row, out)| self.row_into(row as usize, out));
        }
    }

    fn content(&self, take: &mut dyn FnMut(&[u8])) {
        take(&(Matrix::width(self) as u64).to_le_bytes());
        match self {
            Matrix::Dense { values, .. } => take_f32s(values, take),
            Matrix::Sparse(sparse) => {
                sparse.offsets.iter().for_each(|offset| take(&offset.to_le_bytes()));
                sparse.indices.iter().for_each(|feature| take(&feature.to_le_bytes()));
                take_f32s(&sparse.values, take);
            }
        }
    }

    fn gather_part(&self, rows: &[u32], columns: std::ops::Range<usize>, out: &mut [f32]) {
        assert_eq!(out.len(), rows.len() * columns.len(), "{} numbers a row", columns.len());
        let (first, end) = (columns.start, columns.end);
        assert!(first <= end && end <= Matrix::width(self), "columns {columns:?} of {}", Matrix::width(self));
        for (&row, out) in rows.iter().zip(out.chunks_exact_mut(columns.len().max(1))) {
            let row = row as usize;
            match self {
                Matrix::Dense { width, values } => {
                    out.copy_from_slice(&values[row * width + first..row * width + end]);
                }
                Matrix::Sparse(sparse) => {
                    out.fill(0.0);
                    let cells = sparse.offsets[row] as usize..sparse.offsets[row + 1] as usize;
                    let indices = &sparse.indices[cells.clone()];
                    let from = indices.partition_point(|&index| (index as usize) < first);
                    let to = indices.partition_point(|&index| (index as usize) < end);
                    for (index, value) in indices[from..to].iter().zip(&sparse.values[cells][from..to]) {
                        out[*index as usize - first] = *value;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn flat(matrix: &Matrix) -> Vec<f32> {
        let mut out = vec![0.0; matrix.rows() * Matrix::width(matrix)];
        matrix.gather(&(0..matrix.rows() as u32).collect::<Vec<_>>(), &mut out);
        out
    }

    proptest! {
        #[test]
        fn sparse_and_dense_rows_are_cut_joined_and_picked_alike(
            values in prop::collection::vec(prop_oneof![Just(0.0f32), -3.0f32..3.0], 12..=12),
            cut in 0usize..=4,
            places in prop::collection::vec(prop::option::of(0usize..3), 0..5),
            absent in prop_oneof![Just(0.0f32), Just(7.0f32)],
        ) {
            let mut sparse = Sparse { width: 3, offsets: vec![0], ..Sparse::default() };
            for row in values.chunks(3) {
                for (feature, &value) in (0..).zip(row).filter(|(_, value)| **value != 0.0) {
                    sparse.indices.push(feature);
                    sparse.values.push(value);
                }
                sparse.offsets.push(sparse.indices.len() as u64);
            }
            for whole in [Matrix::Sparse(sparse), Matrix::Dense { width: 3, values: values.clone() }] {
                let mut front = whole.clone();
                let back = front.split_off(cut);
                prop_assert_eq!(flat(&front), &values[..cut * 3]);
                prop_assert_eq!(flat(&back), &values[cut * 3..]);
                let mut joined = whole.without_rows();
                joined.append(&front);
                joined.append(&back);
                prop_assert_eq!(&joined, &whole);
                let picked = whole.pick_columns(&places, absent);
                let expected: Vec<f32> = values
                    .chunks(3)
                    .flat_map(|row| places.iter().map(|place| place.map_or(absent, |place| row[place])))
                    .collect();
                prop_assert_eq!(flat(&picked), expected);
                let mut part = vec![7.0; 4 * (3 - cut.min(3))];
                whole.gather_part(&[3, 0, 1, 2], cut.min(3)..3, &mut part);
                let expected: Vec<f32> =
                    [3, 0, 1, 2].iter().flat_map(|row| values[row * 3 + cut.min(3)..row * 3 + 3].to_vec()).collect();
                prop_assert_eq!(part, expected);
            }
        }
    }
}
