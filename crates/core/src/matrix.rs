//! The matrix product of models that do not use an autodiff library.

/// A dense row-major matrix, or its transpose.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    values: &'a [f32],
    shape: (usize, usize),
    /// Strides between rows and between columns.
    strides: (isize, isize),
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
        View { values, shape: (values.len() / columns, columns), strides: (columns as isize, 1) }
    }

    /// The transpose.
    #[must_use]
    pub fn transposed(self) -> View<'a> {
        View { shape: (self.shape.1, self.shape.0), strides: (self.strides.1, self.strides.0), ..self }
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
    let ((m, k), (same, n)) = (a.shape, b.shape);
    assert!(k == same && to.len() == m * n, "shapes of a product: {:?} {:?} {}", a.shape, b.shape, to.len());
    assert!(a.values.len() == m * k && b.values.len() == k * n, "a matrix is dense");
    // SAFETY: the matrices are dense (asserted), so every index that shapes and strides can reach lies in its slice; `to` is
    // borrowed mutably, so it overlaps neither.
    #[allow(unsafe_code)]
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            to.as_mut_ptr(),
            1,
            n as isize,
            add,
            a.values.as_ptr(),
            a.strides.1,
            a.strides.0,
            b.values.as_ptr(),
            b.strides.1,
            b.strides.0,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}
