//! How long the parts of growing take.

use std::ops::AddAssign;
use std::time::Instant;

/// Seconds of one part of the work, added up over threads, and the bytes it moves at least.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// Seconds by the clock of each thread.
    pub seconds: f64,
    /// Bytes read and written if every number is touched as rarely as the method allows.
    pub bytes: u64,
}

impl AddAssign for Part {
    fn add_assign(&mut self, other: Part) {
        self.seconds += other.seconds;
        self.bytes += other.bytes;
    }
}

impl Part {
    /// What was done since `start`.
    pub(crate) fn since(start: Instant, bytes: usize) -> Part {
        Part { seconds: start.elapsed().as_secs_f64(), bytes: bytes as u64 }
    }
}

/// Time that the rounds of a [`Booster`](crate::Booster) took, by part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Rounding of gradients and Hessians to integers.
    pub quantise: Part,
    /// Sums of gradients by bin.
    pub histograms: Part,
    /// The best split of every column; parent − child.
    pub search: Part,
    /// Rows to the left and to the right.
    pub partition: Part,
    /// Leaf values, and scores of the training rows.
    pub scores: Part,
}

impl Spent {
    /// The parts by name.
    pub fn parts(&self) -> [(&'static str, Part); 5] {
        [
            ("quantise", self.quantise),
            ("histograms", self.histograms),
            ("search", self.search),
            ("partition", self.partition),
            ("scores", self.scores),
        ]
    }
}
