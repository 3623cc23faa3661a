//! The line of a file that each row came from.

/// The line of each row, in little memory: files rarely skip lines, so only the jumps are kept.
///
/// ```
/// use toprank_data::dataset::LineNumbers;
/// let mut lines = LineNumbers::default();
/// for (row, line) in [1, 2, 5, 6].into_iter().enumerate() {
///     lines.push(row, line);
/// }
/// assert_eq!((lines.of(1), lines.of(3)), (Some(2), Some(6)));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineNumbers {
    /// (first row, its line): within a run, line = first line + (row − first row).
    jumps: Vec<(u64, u64)>,
}

impl LineNumbers {
    /// Notes that `row`, the next one, stands on `line`.
    pub fn push(&mut self, row: usize, line: u64) {
        if self.of(row) != Some(line) {
            self.jumps.push((row as u64, line));
        }
    }

    /// Runs that memory is held for.
    pub(super) fn capacity(&self) -> usize {
        self.jumps.capacity()
    }

    /// The jumps as a flat column: first row, its line, first row, its line …
    pub(crate) fn flat(&self) -> Vec<u64> {
        self.jumps.iter().flat_map(|&(row, line)| [row, line]).collect()
    }

    /// Lines out of a flat column; `None` unless its rows ascend.
    pub(crate) fn from_flat(flat: &[u64]) -> Option<LineNumbers> {
        let (pairs, rest) = flat.as_chunks::<2>();
        let jumps: Vec<(u64, u64)> = pairs.iter().map(|&[row, line]| (row, line)).collect();
        // A line number takes less than 2^63, so that adding rows to it cannot overflow.
        let sound = jumps.is_sorted_by(|a, b| a.0 < b.0) && jumps.iter().all(|jump| jump.1 < 1 << 63);
        (rest.is_empty() && sound).then_some(LineNumbers { jumps })
    }

    /// The line of `row`, counted from 1; `None` where lines mean nothing (Parquet, generated data).
    pub fn of(&self, row: usize) -> Option<u64> {
        let after = self.jumps.partition_point(|jump| jump.0 <= row as u64);
        let (first_row, first_line) = *self.jumps.get(after.checked_sub(1)?)?;
        Some(first_line + (row as u64 - first_row))
    }
}
