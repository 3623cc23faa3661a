/*!
Random streams: the same (seed, purpose, list, step) gives the same numbers on any thread and any machine.

ChaCha with 8 rounds, keyed by the four numbers; its output is converted to numbers by integer arithmetic and exact
divisions by powers of two only, so that generated files have the same bytes everywhere.
*/

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The address of a random stream.
///
/// ```
/// use toprank_core::Stream;
/// let stream = Stream { seed: 1, purpose: Stream::purpose("docs"), list: 7, step: 0 };
/// let mut a = stream.open();
/// let mut b = stream.open();
/// assert_eq!(a.unit(), b.unit());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stream {
    /// The user's seed.
    pub seed: u64,
    /// What the numbers are for; two purposes never share numbers. See [`Stream::purpose`].
    pub purpose: u32,
    /// Which list (or block, or replicate) they are for.
    pub list: u32,
    /// Which step of it.
    pub step: u64,
}

impl Stream {
    /// The number of a purpose (FNV-1a of the string).
    pub const fn purpose(words: &str) -> u32 {
        let bytes = words.as_bytes();
        let mut hash = 0x811c_9dc5_u32;
        let mut i = 0;
        while i < bytes.len() {
            hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
            i += 1;
        }
        hash
    }

    /// A stream for `purpose` under `seed`; set `list` and `step` as needed.
    pub const fn new(seed: u64, purpose: &str) -> Stream {
        Stream { seed, purpose: Stream::purpose(purpose), list: 0, step: 0 }
    }

    /// The same stream for another list.
    #[must_use]
    pub const fn of_list(self, list: u32) -> Stream {
        Stream { list, ..self }
    }

    /// The same stream for another step.
    #[must_use]
    pub const fn at_step(self, step: u64) -> Stream {
        Stream { step, ..self }
    }

    /// Opens the stream at its beginning.
    pub fn open(self) -> Random {
        let mut key = [0u8; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        key[8..12].copy_from_slice(&self.purpose.to_le_bytes());
        key[12..16].copy_from_slice(&self.list.to_le_bytes());
        key[16..24].copy_from_slice(&self.step.to_le_bytes());
        Random(ChaCha8Rng::from_seed(key))
    }
}

/// An open random stream.
#[derive(Clone, Debug)]
pub struct Random(ChaCha8Rng);

impl Random {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Uniform in 0..n (Lemire's multiplication; the bias is below n/2⁶⁴).
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "a draw from nothing");
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// Shuffles in place (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_pinned() {
        let mut random = Stream { seed: 1, purpose: 2, list: 3, step: 4 }.open();
        let first: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(first, PINNED, "a changed stream changes every generated file: a breaking change");
    }
    const PINNED: [u64; 3] =
        [14_509_879_631_746_752_072, 7_686_566_051_765_567_734, 11_945_118_942_299_018_809];

    #[test]
    fn every_part_of_the_address_matters() {
        let base = Stream { seed: 1, purpose: 2, list: 3, step: 4 };
        let others = [
            Stream { seed: 9, ..base },
            Stream { purpose: 9, ..base },
            Stream { list: 9, ..base },
            Stream { step: 9, ..base },
        ];
        for other in others {
            assert_ne!(base.open().bits(), other.open().bits());
        }
    }

    #[test]
    fn below_reaches_every_number_about_equally_often() {
        let mut random = Stream::new(1, "test").open();
        let mut counts = [0; 7];
        for _ in 0..70_000 {
            counts[random.below(7)] += 1;
        }
        assert!(counts.iter().all(|c| (9_500..10_500).contains(c)), "{counts:?}");
    }
}
