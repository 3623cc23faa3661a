//! Tensors of the reference interpreter.

/// A tensor; the last axis runs fastest. Numbers of all types are stored as f64.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Sizes of the axes.
    pub sizes: Vec<usize>,
    /// The numbers.
    pub values: Vec<f64>,
}

impl Array {
    /// A tensor of this shape.
    ///
    /// # Panics
    /// If the number of values is not the product of the sizes.
    pub fn new(sizes: &[usize], values: Vec<f64>) -> Array {
        assert_eq!(sizes.iter().product::<usize>(), values.len(), "one value per position of the shape");
        Array { sizes: sizes.to_vec(), values }
    }

    /// Applies `f` to every number.
    pub(crate) fn map(&self, f: impl Fn(f64) -> f64) -> Array {
        Array { sizes: self.sizes.clone(), values: self.values.iter().map(|&x| f(x)).collect() }
    }

    /// Strides along every axis of `sizes`; 0 where this array has size 1 and is broadcast.
    fn steps(&self, sizes: &[usize]) -> Option<Vec<usize>> {
        let missing = sizes.len().checked_sub(self.sizes.len())?;
        let mut steps = vec![0; sizes.len()];
        let mut step = 1;
        for (axis, &size) in self.sizes.iter().enumerate().rev() {
            if size != 1 {
                if size != sizes[missing + axis] {
                    return None;
                }
                steps[missing + axis] = step;
            }
            step *= size;
        }
        Some(steps)
    }

    /// Applies `f` element by element, with axes of size 1 broadcast; `None` if the shapes do not fit.
    pub(crate) fn meet<const N: usize>(arrays: [&Array; N], f: impl Fn([f64; N]) -> f64) -> Option<Array> {
        let axes = arrays.iter().map(|array| array.sizes.len()).max()?;
        let size = |axis: usize| {
            let of =
                |array: &Array| (axis + array.sizes.len()).checked_sub(axes).map_or(1, |a| array.sizes[a]);
            arrays.iter().map(|array| of(array)).find(|&size| size != 1).unwrap_or(1)
        };
        let sizes: Vec<usize> = (0..axes).map(size).collect();
        let steps = arrays.map(|array| array.steps(&sizes));
        if steps.iter().any(Option::is_none) {
            return None;
        }
        let steps = steps.map(Option::unwrap_or_default);
        let count = sizes.iter().product();
        let mut at = vec![0; axes];
        let values = (0..count).map(|_| {
            let place = |k: usize| at.iter().zip(&steps[k]).map(|(at, step)| at * step).sum::<usize>();
            let value = f(std::array::from_fn(|k| arrays[k].values[place(k)]));
            for (at, &size) in at.iter_mut().zip(&sizes).rev() {
                *at += 1;
                if *at < size {
                    break;
                }
                *at = 0;
            }
            value
        });
        Some(Array { values: values.collect(), sizes: sizes.clone() })
    }

    /// Matrix product over the last two axes, for every index of the axes before them. These must be equal, or the second
    /// operand is a single matrix.
    pub(crate) fn product(&self, other: &Array) -> Option<Array> {
        let [before @ .., n, k] = &self.sizes[..] else { return None };
        let [other_before @ .., other_k, m] = &other.sizes[..] else { return None };
        let one = other_before.is_empty();
        if k != other_k || !(one || before == other_before) {
            return None;
        }
        let mut values = Vec::with_capacity(before.iter().product::<usize>() * n * m);
        for (i, row) in self.values.chunks_exact((*k).max(1)).enumerate() {
            let matrix = if one { 0 } else { i / n * k * m };
            let start = values.len();
            values.resize(start + m, 0.0);
            for (j, x) in row.iter().enumerate() {
                let other = &other.values[matrix + j * m..][..*m];
                values[start..].iter_mut().zip(other).for_each(|(sum, y)| *sum += x * y);
            }
        }
        // Without columns there is no row above, and every sum is 0.
        values.resize(before.iter().product::<usize>() * n * m, 0.0);
        Some(Array { sizes: [before, &[*n, *m]].concat(), values })
    }

    /// The axes in another order.
    pub(crate) fn transposed(&self, order: &[usize]) -> Option<Array> {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if sorted != (0..self.sizes.len()).collect::<Vec<_>>() {
            return None;
        }
        let own: Vec<usize> =
            (0..self.sizes.len()).map(|axis| self.sizes[axis + 1..].iter().product()).collect();
        let sizes: Vec<usize> = order.iter().map(|&axis| self.sizes[axis]).collect();
        let values = (0..self.values.len()).map(|mut at| {
            let mut place = 0;
            for (&size, &axis) in sizes.iter().zip(order).rev() {
                place += at % size * own[axis];
                at /= size;
            }
            self.values[place]
        });
        Some(Array { values: values.collect(), sizes })
    }

    /// Reduces one axis to one number; the axis stays with size 1.
    pub(crate) fn folded(
        &self,
        axis: usize,
        f: impl Fn(&mut dyn Iterator<Item = f64>) -> f64,
    ) -> Option<Array> {
        let size = *self.sizes.get(axis)?;
        let step: usize = self.sizes[axis + 1..].iter().product();
        let mut sizes = self.sizes.clone();
        sizes[axis] = 1;
        let count: usize = sizes.iter().product();
        let values = (0..count).map(|at| {
            let start = at / step * step * size + at % step;
            f(&mut (0..size).map(|i| self.values[start + i * step]))
        });
        Some(Array { values: values.collect(), sizes: sizes.clone() })
    }

    /// The elements at these indices along an axis.
    pub(crate) fn gathered(&self, places: &Array, axis: usize) -> Option<Array> {
        let size = *self.sizes.get(axis)?;
        let after: usize = self.sizes[axis + 1..].iter().product();
        let before: usize = self.sizes[..axis].iter().product();
        let mut values = Vec::with_capacity(before * places.values.len() * after);
        for b in 0..before {
            for &place in &places.values {
                if !(0.0..size as f64).contains(&place) {
                    return None;
                }
                let start = (b * size + place as usize) * after;
                values.extend_from_slice(&self.values[start..start + after]);
            }
        }
        let sizes = [&self.sizes[..axis], &places.sizes, &self.sizes[axis + 1..]].concat();
        Some(Array { sizes, values })
    }

    /// Adds the number of `updates` at [i, j, k …] to the one at the same place, but with the index `places[i, j, k …]` along `axis`.
    pub(crate) fn scatter_added(&self, places: &Array, updates: &Array, axis: usize) -> Option<Array> {
        let inside = self.sizes.len() == places.sizes.len()
            && (0..self.sizes.len()).all(|a| a == axis || places.sizes[a] <= self.sizes[a]);
        if !inside || places.sizes != updates.sizes {
            return None;
        }
        let mut sums = self.clone();
        for (number, (&place, &update)) in places.values.iter().zip(&updates.values).enumerate() {
            if !(0.0..self.sizes[axis] as f64).contains(&place) {
                return None;
            }
            let (mut number, mut to, mut step) = (number, 0, 1);
            for a in (0..self.sizes.len()).rev() {
                let index = if a == axis { place as usize } else { number % places.sizes[a] };
                number /= places.sizes[a];
                to += index * step;
                step *= self.sizes[a];
            }
            sums.values[to] += update;
        }
        Some(sums)
    }

    /// Concatenation along the last axis.
    pub(crate) fn joined(arrays: &[&Array]) -> Option<Array> {
        let (rest, _) = arrays.first()?.sizes.split_at(arrays[0].sizes.len().checked_sub(1)?);
        if arrays
            .iter()
            .any(|array| array.sizes.len() != rest.len() + 1 || array.sizes[..rest.len()] != *rest)
        {
            return None;
        }
        let widths: Vec<usize> = arrays.iter().map(|array| array.sizes[rest.len()]).collect();
        let rows: usize = rest.iter().product();
        let mut values = Vec::with_capacity(rows * widths.iter().sum::<usize>());
        for row in 0..rows {
            for (array, &width) in arrays.iter().zip(&widths) {
                values.extend_from_slice(&array.values[row * width..(row + 1) * width]);
            }
        }
        Some(Array { sizes: [rest, &[widths.iter().sum()]].concat(), values })
    }
}
