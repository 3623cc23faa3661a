//! Scratch memory: one per thread; it grows and never shrinks.

use crate::gather::Gathered;
use crate::kernels::KernelWork;

/// Scratch memory that hands out slices and keeps its capacity between lists.
#[derive(Clone, Debug, Default)]
pub struct Buffer<T>(Vec<T>);

impl<T: Copy + Default> Buffer<T> {
    /// Slices of the given lengths, filled with zeros.
    ///
    /// ```
    /// let mut buffer = toprank_objectives::Buffer::<f64>::default();
    /// let [a, b] = buffer.cut([2, 3]);
    /// a[1] = 1.0;
    /// assert_eq!((a.len(), b.len()), (2, 3));
    /// ```
    pub fn cut<const K: usize>(&mut self, lengths: [usize; K]) -> [&mut [T]; K] {
        let total: usize = lengths.iter().sum();
        self.0.clear();
        self.0.resize(total, T::default());
        let mut rest = self.0.as_mut_slice();
        lengths.map(|length| {
            let (head, tail) = std::mem::take(&mut rest).split_at_mut(length);
            rest = tail;
            head
        })
    }
}

/// Scratch memory of one thread. Objectives take slices of `floats` and `places`; kernels have their own.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// Numbers.
    pub floats: Buffer<f64>,
    /// Positions of items.
    pub places: Buffer<u32>,
    /// Of draws and of lists with unlabelled items.
    pub(crate) gathered: Gathered,
    /// The state of a list before its step.
    pub(crate) state_before: Vec<f64>,
    /// State of objectives that keep none between lists.
    pub(crate) aside: Aside,
    /// Memory of the kernels.
    pub kernel: KernelWork,
}

/// Numbers and positions that replace the state of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aside {
    pub values: Vec<f64>,
    pub places: Vec<u32>,
}
