//! The matrix product of networks and embeddings.

/// A row-major matrix, or its transpose. Rows may be further apart than they are long: some columns of a wider matrix.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    values: &'a [f32],
    shape: (usize, usize),
    /// Strides between rows and between columns.
    strides: (usize, usize),
}

impl<'a> View<'a> {
    /// A matrix with rows of `columns` numbers.
    ///
    /// # Panics
    /// If `columns` is 0 or does not divide the number of values.
    pub fn new(values: &'a [f32], columns: usize) -> View<'a> {
        assert!(
            values.len().is_multiple_of(columns),
            "rows of {columns} numbers, but {} numbers",
            values.len()
        );
        View { values, shape: (values.len() / columns, columns), strides: (columns, 1) }
    }

    /// These columns of the matrix.
    ///
    /// # Panics
    /// If there are no such columns, or the matrix is a transpose.
    #[must_use]
    pub fn columns(self, columns: std::ops::Range<usize>) -> View<'a> {
        assert!(columns.start < columns.end && columns.end <= self.shape.1, "columns of {:?}", self.shape);
        assert_eq!(self.strides.1, 1, "columns of a transpose");
        let values = self.values.get(columns.start..).unwrap_or_default();
        View { values, shape: (self.shape.0, columns.len()), ..self }
    }

    /// The transpose.
    #[must_use]
    pub fn transposed(self) -> View<'a> {
        View { shape: (self.shape.1, self.shape.0), strides: (self.strides.1, self.strides.0), ..self }
    }
}

/// A row-major matrix to write to, or some of its columns.
#[derive(Debug)]
pub struct ViewMut<'a> {
    values: &'a mut [f32],
    shape: (usize, usize),
    /// Stride between rows.
    stride: usize,
}

impl<'a> ViewMut<'a> {
    /// A matrix with rows of `columns` numbers.
    ///
    /// # Panics
    /// If `columns` is 0 or does not divide the number of values.
    pub fn new(values: &'a mut [f32], columns: usize) -> ViewMut<'a> {
        let shape = View::new(values, columns).shape;
        ViewMut { values, shape, stride: columns }
    }

    /// These columns of the matrix.
    ///
    /// # Panics
    /// If there are no such columns.
    #[must_use]
    pub fn columns(self, columns: std::ops::Range<usize>) -> ViewMut<'a> {
        assert!(columns.start < columns.end && columns.end <= self.shape.1, "columns of {:?}", self.shape);
        let values = self.values.get_mut(columns.start..).unwrap_or_default();
        ViewMut { values, shape: (self.shape.0, columns.len()), stride: self.stride }
    }
}

/// `to = a b`, or `to += a b`, in row-major order, on this thread.
///
/// ```
/// use toprank_core::matrix::{View, product};
/// let mut to = [1.0; 2];
/// product(View::new(&[1.0, 2.0], 2), View::new(&[3.0, 4.0, 5.0, 6.0], 2), &mut to, true);
/// assert_eq!(to, [1.0 + 13.0, 1.0 + 16.0]);
/// ```
///
/// # Panics
/// If the shapes do not fit.
pub fn product(a: View, b: View, to: &mut [f32], add: bool) {
    let columns = b.shape.1;
    product_into(a, b, ViewMut::new(to, columns), 1.0, add);
}

/// `to = factor · a b`, or `to += factor · a b`, on this thread.
///
/// ```
/// use toprank_core::matrix::{View, ViewMut, product_into};
/// let (a, b) = ([1.0, 2.0], [3.0, 9.0, 4.0, 9.0]);
/// let mut to = [0.0, 7.0];
/// product_into(View::new(&a, 2), View::new(&b, 2).columns(0..1), ViewMut::new(&mut to, 2).columns(0..1), 0.5, false);
/// assert_eq!(to, [0.5 * (1.0 * 3.0 + 2.0 * 4.0), 7.0]);
/// ```
///
/// # Panics
/// If the shapes do not fit.
// A view is a reference with a shape; to lend it twice makes calls longer, not safer.
#[allow(clippy::needless_pass_by_value)]
pub fn product_into(a: View, b: View, to: ViewMut, factor: f32, add: bool) {
    let ((m, k), (same, n)) = (a.shape, b.shape);
    assert!(
        k == same && to.shape == (m, n),
        "shapes of a product: {:?} {:?} {:?}",
        a.shape,
        b.shape,
        to.shape
    );
    if m == 0 || n == 0 {
        return;
    }
    // Rows from the first number of the first to the last number of the last.
    let needs = |shape: (usize, usize), strides: (usize, usize)| match shape {
        (0, _) | (_, 0) => 0,
        (rows, columns) => (rows - 1) * strides.0 + (columns - 1) * strides.1 + 1,
    };
    assert!(needs(a.shape, a.strides) <= a.values.len() && needs(b.shape, b.strides) <= b.values.len());
    assert!(needs(to.shape, (to.stride, 1)) <= to.values.len());
    // The kernel wants columns of the result to be contiguous, ours are rows: the transposed product is the same numbers.
    let gemm = gemm_f32::gemm::f32::get_gemm_fn();
    // SAFETY: every index that shapes and strides can reach lies in its slice (asserted just above); `to` is borrowed mutably, so
    // it overlaps neither.
    #[allow(unsafe_code)]
    unsafe {
        gemm(
            n,
            m,
            k,
            to.values.as_mut_ptr(),
            to.stride as isize,
            1,
            add,
            b.values.as_ptr(),
            b.strides.0 as isize,
            b.strides.1 as isize,
            a.values.as_ptr(),
            a.strides.0 as isize,
            a.strides.1 as isize,
            1.0,
            factor,
            false,
            false,
            false,
            gemm_common::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Σ_k a b, with the values that the strides say.
    fn plain(a: View, b: View) -> Vec<f32> {
        let at = |m: View, i: usize, j: usize| f64::from(m.values[i * m.strides.0 + j * m.strides.1]);
        let mut to = Vec::new();
        for i in 0..a.shape.0 {
            for j in 0..b.shape.1 {
                to.push((0..a.shape.1).map(|k| at(a, i, k) * at(b, k, j)).sum::<f64>() as f32);
            }
        }
        to
    }

    #[test]
    fn a_product_of_columns_and_transposes_equals_the_plain_sum_and_leaves_other_columns_alone() {
        let values = |count: usize, step: usize| -> Vec<f32> {
            (0..count).map(|i| ((i * step) % 17) as f32 - 8.0).collect()
        };
        let (left, right) = (values(5 * 7, 3), values(5 * 6, 5));
        let a = View::new(&left, 7).columns(2..6).transposed();
        let b = View::new(&right, 6).columns(1..4);
        let expected = plain(a, b);
        let mut to = vec![9.0; 4 * 8];
        product_into(a, b, ViewMut::new(&mut to, 8).columns(5..8), 2.0, false);
        for (row, expected) in to.chunks(8).zip(expected.chunks(3)) {
            assert_eq!(row[..5], [9.0; 5]);
            assert!(row[5..].iter().zip(expected).all(|(found, expected)| *found == 2.0 * expected));
        }
    }

    #[test]
    fn products_of_nothing_are_nothing() {
        let mut to = [3.0; 2];
        product(View::new(&[], 1).transposed(), View::new(&[], 2), &mut to, true);
        assert_eq!(to, [3.0; 2]);
        product(View::new(&[], 1).transposed(), View::new(&[], 2), &mut to, false);
        assert_eq!(to, [0.0; 2], "a sum of no terms");
        product(View::new(&[], 4), View::new(&[1.0; 8], 2), &mut [], false);
    }
}
