/*!
The greatest singular values of a sparse matrix of users × items, with their vectors of items, by randomised subspace iteration.

```text
V ← random, n × (d + 16);   repeat: V ← orthonormal basis of Xᵀ(X V);   XᵀX restricted to V = Q Λ Qᵀ;   vectors V Q, values √Λ
```

Rows of every product are cut by fixed blocks, each written by one task: the same bytes at any number of threads.

Source: Halko, Martinsson, Tropp, "Finding structure with randomness", SIAM Review 53(2), 2011.
*/

use rayon::prelude::*;
use toprank_core::Stream;
use toprank_core::matrix::{View, product};

use crate::params::uniform;

/// Columns beside those that are asked for: the last ones converge slowly.
const MORE: usize = 16;
/// Iterations.
const ROUNDS: usize = 8;
/// Rows that one task computes.
const ROWS: usize = 256;
/// Turns of every pair of columns, at most, in which a small matrix is diagonalised.
const TURNS: usize = 60;

/// Rows of a sparse matrix: the columns that are not 0, with their values.
pub(super) trait SparseRows: Sync {
    fn rows(&self) -> usize;
    fn of_row(&self, row: usize, each: &mut dyn FnMut(usize, f32));
}

/// The singular vectors of the columns, `columns` rows of `rank` numbers, and the squared singular values, greatest first. `x` has
/// the rows of the matrix, `turned` its columns.
pub(super) fn spectrum(
    x: &impl SparseRows,
    turned: &impl SparseRows,
    rank: usize,
    stream: Stream,
) -> (Vec<f32>, Vec<f64>) {
    let columns = turned.rows();
    let rank = rank.min(columns).min(x.rows()).max(1);
    let width = (rank + MORE).min(columns).min(x.rows()).max(1);
    let mut v = vec![0.0; columns * width];
    uniform(1.0, &mut stream.open(), &mut v);
    orthonormalise(&mut v, width);
    for _ in 0..ROUNDS {
        v = times(turned, &times(x, &v, width), width);
        orthonormalise(&mut v, width);
    }
    let (vectors, squares) = {
        let image = times(x, &v, width);
        let (values, turns) = diagonalise(gram(&image, width), width);
        let mut order: Vec<usize> = (0..width).collect();
        order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
        let squares: Vec<f64> = order[..rank].iter().map(|&k| values[k].max(0.0)).collect();
        let chosen: Vec<f32> = (0..width)
            .flat_map(|i| order[..rank].iter().map(move |&k| (i, k)))
            .map(|(i, k)| turns[i * width + k] as f32)
            .collect();
        let mut vectors = vec![0.0; columns * rank];
        vectors.par_chunks_mut(ROWS * rank).zip(v.par_chunks(ROWS * width)).for_each(|(to, v)| {
            product(View::new(v, width), View::new(&chosen, rank), to, false);
        });
        (vectors, squares)
    };
    (vectors, squares)
}

/// The product of a sparse matrix and a dense one of `width` columns.
fn times(x: &impl SparseRows, v: &[f32], width: usize) -> Vec<f32> {
    let mut to = vec![0.0f32; x.rows() * width];
    to.par_chunks_mut(ROWS * width).enumerate().for_each(|(task, rows)| {
        for (to, row) in rows.chunks_exact_mut(width).zip(task * ROWS..) {
            x.of_row(row, &mut |column, value| {
                let from = &v[column * width..][..width];
                to.iter_mut().zip(from).for_each(|(to, from)| *to += value * from);
            });
        }
    });
    to
}

/// VᵀV: products of blocks of rows, added up in 64 bits and in order.
fn gram(v: &[f32], width: usize) -> Vec<f64> {
    let blocks: Vec<Vec<f32>> = v
        .par_chunks(ROWS * width)
        .map(|rows| {
            let mut to = vec![0.0; width * width];
            product(View::new(rows, width).transposed(), View::new(rows, width), &mut to, false);
            to
        })
        .collect();
    let mut sum = vec![0.0f64; width * width];
    for block in blocks {
        sum.iter_mut().zip(&block).for_each(|(sum, value)| *sum += f64::from(*value));
    }
    sum
}

/// Makes the columns orthonormal: three times V ← V L⁻ᵀ with VᵀV = L Lᵀ, the first time of a matrix that is shifted, as columns may
/// nearly depend on each other.
fn orthonormalise(v: &mut [f32], width: usize) {
    for round in 0..3 {
        let mut l = gram(v, width);
        let trace: f64 = (0..width).map(|k| l[k * width + k]).sum();
        let shift = if round == 0 { 1e-6 * trace } else { 1e-9 * trace } / width as f64;
        (0..width).for_each(|k| l[k * width + k] += shift);
        cholesky(&mut l, width);
        v.par_chunks_mut(ROWS * width).for_each(|rows| {
            let mut exact = vec![0.0f64; width];
            for row in rows.chunks_exact_mut(width) {
                for k in 0..width {
                    let known = &l[k * width..][..k];
                    let inner: f64 = known.iter().zip(&exact).map(|(l, x)| l * x).sum();
                    exact[k] = (f64::from(row[k]) - inner) / l[k * width + k];
                }
                row.iter_mut().zip(&exact).for_each(|(to, x)| *to = *x as f32);
            }
        });
    }
}

/// The lower triangle becomes L with A = L Lᵀ.
fn cholesky(a: &mut [f64], n: usize) {
    for k in 0..n {
        for j in 0..=k {
            let inner: f64 = (0..j).map(|i| a[k * n + i] * a[j * n + i]).sum();
            let rest = a[k * n + j] - inner;
            // What rounding leaves below 0 belongs to a column of zeros.
            a[k * n + j] = if j == k { rest.max(f64::MIN_POSITIVE).sqrt() } else { rest / a[j * n + j] };
        }
    }
}

/// Eigenvalues of a symmetric matrix and, in columns, its eigenvectors, by Jacobi's rotations.
fn diagonalise(mut a: Vec<f64>, n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut turns = vec![0.0; n * n];
    (0..n).for_each(|k| turns[k * n + k] = 1.0);
    let total: f64 = a.iter().map(|x| x * x).sum();
    for _ in 0..TURNS {
        let off: f64 =
            (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i * n + j].powi(2)).sum();
        if off <= 1e-20 * total {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if a[p * n + q].abs() <= 1e-300 {
                    continue;
                }
                let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * a[p * n + q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let t = if theta == 0.0 { 1.0 } else { t };
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for k in 0..n {
                    let (x, y) = (a[k * n + p], a[k * n + q]);
                    (a[k * n + p], a[k * n + q]) = (c * x - s * y, s * x + c * y);
                }
                for k in 0..n {
                    let (x, y) = (a[p * n + k], a[q * n + k]);
                    (a[p * n + k], a[q * n + k]) = (c * x - s * y, s * x + c * y);
                }
                for k in 0..n {
                    let (x, y) = (turns[k * n + p], turns[k * n + q]);
                    (turns[k * n + p], turns[k * n + q]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
    }
    ((0..n).map(|k| a[k * n + k]).collect(), turns)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Dense {
        values: Vec<f32>,
        width: usize,
    }

    impl SparseRows for Dense {
        fn rows(&self) -> usize {
            self.values.len() / self.width
        }

        fn of_row(&self, row: usize, each: &mut dyn FnMut(usize, f32)) {
            let row = &self.values[row * self.width..][..self.width];
            row.iter().enumerate().filter(|(_, x)| **x != 0.0).for_each(|(column, x)| each(column, *x));
        }
    }

    #[test]
    fn the_spectrum_is_that_of_the_matrix() {
        let (rows, columns, rank) = (60, 40, 5);
        let mut random = Stream::new(4, "test").open();
        // Known: singular values 10, 8, 6, 4, 3 and noise, in directions that are found again.
        let mut values = vec![0.0f32; rows * columns];
        uniform(0.01, &mut random, &mut values);
        let (mut left, mut right) = (vec![0.0f32; rows * rank], vec![0.0f32; columns * rank]);
        uniform(1.0, &mut random, &mut left);
        uniform(1.0, &mut random, &mut right);
        orthonormalise(&mut left, rank);
        orthonormalise(&mut right, rank);
        let sizes = [10.0f32, 8.0, 6.0, 4.0, 3.0];
        for (row, values) in values.chunks_exact_mut(columns).enumerate() {
            for (column, value) in values.iter_mut().enumerate() {
                for k in 0..rank {
                    *value += sizes[k] * left[row * rank + k] * right[column * rank + k];
                }
            }
        }
        let turned = (0..columns).flat_map(|c| (0..rows).map(move |r| (r, c)));
        let turned = Dense { values: turned.map(|(r, c)| values[r * columns + c]).collect(), width: rows };
        let x = Dense { values, width: columns };
        let (vectors, squares) = spectrum(&x, &turned, rank, Stream::new(1, "test"));
        for (k, size) in sizes.iter().enumerate() {
            assert!((squares[k].sqrt() - f64::from(*size)).abs() < 0.05, "{squares:?}");
            let inner: f32 = (0..columns).map(|c| vectors[c * rank + k] * right[c * rank + k]).sum();
            assert!(inner.abs() > 0.999, "direction {k}: {inner}");
        }
        // XᵀX v = σ² v.
        let image = times(&turned, &times(&x, &vectors, rank), rank);
        for (at, (found, v)) in image.iter().zip(&vectors).enumerate() {
            let expected = squares[at % rank] * f64::from(*v);
            assert!((f64::from(*found) - expected).abs() < 0.05, "{found} {expected}");
        }
    }

    #[test]
    fn more_columns_than_rank_and_equal_columns_are_taken() {
        let x = Dense { values: vec![1.0, 1.0, 0.0, 1.0, 1.0, 0.0], width: 3 };
        let turned = Dense { values: vec![1.0, 1.0, 1.0, 1.0, 0.0, 0.0], width: 2 };
        let (vectors, squares) = spectrum(&x, &turned, 9, Stream::new(1, "test"));
        assert!((squares[0] - 4.0).abs() < 1e-4 && squares[1].abs() < 1e-4, "{squares:?}");
        assert_eq!(vectors.len(), 3 * squares.len());
        assert!(vectors.iter().all(|v| v.is_finite()), "{vectors:?}");
    }
}
