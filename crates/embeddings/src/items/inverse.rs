/*!
The inverse of a symmetric positive definite matrix, in place: the sweep operator, block by block.

```text
D = A[k, k],  C = A[·, k],  W = C D⁻¹          k: a block of rows and columns
A ← A − W Cᵀ,  A[·, k] ← W,  A[k, k] ← −D⁻¹    after the last block A holds −A⁻¹
```

Only the lower triangle is computed: n³ floating-point operations, nearly all of them in matrix products; beside the matrix two
panels of n × [`BLOCK`] numbers. Rows are cut by fixed blocks, each written by one task: the same bytes at any number of threads.
*/

use rayon::prelude::*;
use toprank_core::matrix::{View, ViewMut, product, product_into};

/// Rows and columns that are swept at once.
pub(crate) const BLOCK: usize = 192;
/// Rows that one task updates.
const ROWS: usize = 192;

/// Replaces the lower triangle of the `n` × `n` matrix by that of **minus** its inverse; what is above the diagonal is not read, and
/// is undefined afterwards. False: the matrix is not positive definite (or not finite), and its contents are lost.
pub(crate) fn negative_inverse(a: &mut [f32], n: usize) -> bool {
    let (mut panel, mut scaled) = (vec![0.0f32; n * BLOCK], vec![0.0f32; n * BLOCK]);
    let mut pivot = vec![0.0f64; BLOCK * BLOCK];
    let mut narrow = vec![0.0f32; BLOCK * BLOCK];
    for start in (0..n).step_by(BLOCK) {
        let width = BLOCK.min(n - start);
        let end = start + width;
        let (panel, scaled) = (&mut panel[..n * width], &mut scaled[..n * width]);
        let pivot = &mut pivot[..width * width];
        for (i, row) in pivot.chunks_exact_mut(width).enumerate() {
            for (j, value) in row.iter_mut().enumerate() {
                let (i, j) = if j <= i { (i, j) } else { (j, i) };
                *value = f64::from(a[(start + i) * n + start + j]);
            }
        }
        if !invert(pivot, width) {
            return false;
        }
        let narrow = &mut narrow[..width * width];
        narrow.iter_mut().zip(&*pivot).for_each(|(to, value)| *to = *value as f32);
        // The columns of the block, those above it by symmetry; nothing of the block itself.
        for (i, row) in panel.chunks_exact_mut(width).enumerate() {
            if i < start {
                row.iter_mut().enumerate().for_each(|(j, to)| *to = a[(start + j) * n + i]);
            } else if i < end {
                row.fill(0.0);
            } else {
                row.copy_from_slice(&a[i * n + start..][..width]);
            }
        }
        let inverse = View::new(narrow, width);
        let tasks = scaled.par_chunks_mut(ROWS * width).zip(panel.par_chunks(ROWS * width));
        tasks.for_each(|(to, rows)| product(View::new(rows, width), inverse, to, false));
        let (panel, scaled, narrow) = (&*panel, &*scaled, &*narrow);
        a.par_chunks_mut(ROWS * n).enumerate().for_each(|(task, rows)| {
            let (first, count) = (task * ROWS, rows.len() / n);
            let last = first + count;
            let factors = View::new(&scaled[first * width..last * width], width);
            let columns = View::new(&panel[..last * width], width).transposed();
            product_into(factors, columns, ViewMut::new(rows, n).columns(0..last), -1.0, true);
            for (row, i) in rows.chunks_exact_mut(n).zip(first..) {
                if i >= end {
                    row[start..end].copy_from_slice(&scaled[i * width..][..width]);
                } else if i >= start {
                    for (j, to) in row[..start].iter_mut().enumerate() {
                        *to = scaled[j * width + i - start];
                    }
                    let block = row[start..end].iter_mut().zip(&narrow[(i - start) * width..]);
                    block.for_each(|(to, value)| *to = -value);
                }
            }
        });
    }
    true
}

/// Inverts a small symmetric positive definite matrix, of which all of `a` is given; false: it is none.
pub(crate) fn invert(a: &mut [f64], n: usize) -> bool {
    // The sweep of one row and column after the other leaves minus the inverse.
    let mut column = vec![0.0; n];
    for k in 0..n {
        let d = a[k * n + k];
        if !(d > 0.0 && d.is_finite()) {
            return false;
        }
        for (i, to) in column.iter_mut().enumerate() {
            *to = a[i * n + k];
        }
        for (i, row) in a.chunks_exact_mut(n).enumerate() {
            if i == k {
                row.iter_mut().zip(&column).for_each(|(to, value)| *to = value / d);
                row[k] = -1.0 / d;
            } else {
                let factor = column[i] / d;
                row.iter_mut().zip(&column).for_each(|(to, value)| *to -= factor * value);
                row[k] = factor;
            }
        }
    }
    for value in a.iter_mut() {
        *value = -*value;
    }
    true
}

#[cfg(test)]
mod tests {
    use toprank_core::Stream;

    use super::*;

    /// XᵀX + I of random numbers.
    fn definite(n: usize) -> Vec<f32> {
        let mut random = Stream::new(n as u64, "test").open();
        let rows = n + 3;
        let x: Vec<f64> = (0..rows * n).map(|_| random.unit() - 0.5).collect();
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                let dot: f64 = (0..rows).map(|r| x[r * n + i] * x[r * n + j]).sum();
                a[i * n + j] = (dot + if i == j { 1.0 } else { 0.0 }) as f32;
            }
        }
        a
    }

    #[test]
    fn the_product_with_the_inverse_is_the_identity_at_every_size() {
        for n in [1, 2, 17, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 37] {
            let a = definite(n);
            let mut inverse = a.clone();
            assert!(negative_inverse(&mut inverse, n));
            let at = |i: usize, j: usize| -f64::from(inverse[if j <= i { i * n + j } else { j * n + i }]);
            let step = (n / 23).max(1);
            for i in (0..n).step_by(step) {
                for j in (0..n).step_by(step) {
                    let sum: f64 = (0..n).map(|k| f64::from(a[i * n + k]) * at(k, j)).sum();
                    let expected = if i == j { 1.0 } else { 0.0 };
                    assert!((sum - expected).abs() < 2e-4, "{n}: {sum} at {i}, {j}");
                }
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_refused() {
        assert!(!negative_inverse(&mut [1.0, 9.0, 2.0, 1.0], 2));
        assert!(!negative_inverse(&mut [f32::NAN], 1));
        assert!(!negative_inverse(&mut [f32::INFINITY], 1));
        assert!(negative_inverse(&mut [], 0));
    }

    #[test]
    fn threads_do_not_change_the_inverse() {
        let n = BLOCK + 5;
        let run = |threads: usize| {
            let mut a = definite(n);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert!(pool.install(|| negative_inverse(&mut a, n)));
            (0..n).flat_map(|i| a[i * n..=i * n + i].to_vec()).collect::<Vec<f32>>()
        };
        assert_eq!(run(1), run(3));
    }
}
