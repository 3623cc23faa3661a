//! One pass of a network over a shard: its lists, its random numbers, its graphs, and the memory it works in.

use toprank_core::Stream;
use toprank_core::stream::Random;

use crate::graphs::GraphBatch;

/// What layers need besides their parameters and their input. A pass is used again for the next shard, with its memory.
#[derive(Default)]
pub struct Pass {
    offsets: Vec<usize>,
    train: Option<Stream>,
    records: bool,
    /// Buffers that the backward pass needs, in the order of the forward pass.
    kept: Vec<Vec<f32>>,
    spare: Vec<Vec<f32>>,
    spare_doubles: Vec<Vec<f64>>,
    pub(crate) graphs: GraphBatch,
    /// How often a buffer had to grow.
    #[cfg(test)]
    pub(crate) grown: usize,
}

impl Pass {
    /// Begins a forward pass over lists whose rows are at these offsets, the first of them 0. `train`: where random numbers come from in
    /// training. `records`: a backward pass follows.
    pub fn begin(&mut self, offsets: &[usize], train: Option<Stream>, records: bool) {
        self.offsets.clear();
        self.offsets.extend_from_slice(offsets);
        (self.train, self.records) = (train, records);
        self.spare.append(&mut self.kept);
    }

    /// True in training, where dropout, noise and the statistics of the shard apply.
    pub fn training(&self) -> bool {
        self.train.is_some()
    }

    /// Number of lists.
    pub fn lists(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Number of rows of data. A layer over the nodes of graphs has more rows than that.
    pub fn items(&self) -> usize {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// The rows of a list.
    pub fn list(&self, list: usize) -> std::ops::Range<usize> {
        self.offsets[list]..self.offsets[list + 1]
    }

    /// The random numbers of the layer with this number; none in prediction. The same in the forward and the backward pass.
    pub fn random(&self, layer: u32) -> Option<Random> {
        let stream = self.train?;
        let purpose = stream.purpose.wrapping_add(layer.wrapping_mul(0x9e37_79b9));
        Some(Stream { purpose, ..stream }.open())
    }

    /// A buffer of this length with arbitrary content. Give it back with [`Pass::give`] or [`Pass::keep`].
    pub fn take(&mut self, length: usize) -> Vec<f32> {
        // The smallest that is large enough, else the largest, so that buffers stop growing after the first shards.
        let fit = |buffer: &Vec<f32>| (buffer.capacity() < length, buffer.capacity().abs_diff(length));
        let best = (0..self.spare.len()).min_by_key(|&k| fit(&self.spare[k]));
        let mut buffer = best.map(|k| self.spare.swap_remove(k)).unwrap_or_default();
        #[cfg(test)]
        {
            self.grown += usize::from(buffer.capacity() < length);
        }
        buffer.resize(length, 0.0);
        buffer
    }

    /// A buffer of zeros.
    pub fn zeros(&mut self, length: usize) -> Vec<f32> {
        let mut buffer = self.take(length);
        buffer.fill(0.0);
        buffer
    }

    /// A buffer of zeros in double precision, for sums. Give it back with [`Pass::give_doubles`].
    pub fn doubles(&mut self, length: usize) -> Vec<f64> {
        let mut buffer = self.spare_doubles.pop().unwrap_or_default();
        buffer.clear();
        buffer.resize(length, 0.0);
        buffer
    }

    /// Takes back a buffer of [`Pass::doubles`].
    pub fn give_doubles(&mut self, buffer: Vec<f64>) {
        self.spare_doubles.push(buffer);
    }

    /// Takes back a buffer that is not needed any more.
    pub fn give(&mut self, buffer: Vec<f32>) {
        self.spare.push(buffer);
    }

    /// Keeps a buffer for the backward pass, if there will be one.
    pub fn keep(&mut self, buffer: Vec<f32>) {
        match self.records {
            true => self.kept.push(buffer),
            false => self.spare.push(buffer),
        }
    }

    /// The buffer that was kept last and not yet handed out.
    ///
    /// # Panics
    /// If there is none: the backward pass of a layer asks for more than its forward pass kept.
    pub fn kept(&mut self) -> Vec<f32> {
        self.kept.pop().expect("a backward pass takes what the forward pass kept, in reverse order")
    }
}
