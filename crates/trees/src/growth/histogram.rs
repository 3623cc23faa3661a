/*!
Histograms: for every column and bin, the sum of the packed gradients of a node's rows.

```text
for each block of about 1000 rows:
    copy each row's words into a buffer, word t of all rows together
    for each word t (8 columns): add the rows' packed gradients to 8 × 256 sums, which fit the first cache
```

The copy makes the random reads of a node's rows few and whole (one run of bytes per row); the sums that are being written
stay in the first cache. Measured against other layouts: about half a nanosecond per row and column from 178 000 rows down
to a few hundred. The length of a block is no power of two: with one, buffers of neighbouring words fall into the same
cache sets, and the kernel takes 1.7 times as long.
*/

use std::cell::RefCell;

use crate::binning::{Binned, TILE};

/// Sums of 8 columns.
pub(crate) type Tile = [[u64; 256]; TILE];

/// Rows copied at once.
const BLOCK: usize = 1032;

/// Bytes of bins from which rows are prefetched: more than caches hold.
const CACHED: usize = 32 << 20;
/// Rows that are prefetched ahead.
const AHEAD: usize = 16;
const WORDS_OF_A_LINE: usize = 8;

thread_local! {
    /// The buffer of copied words, then the rows' packed gradients.
    static BUFFER: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Builds the tiles `first .. first + out.len()` over these rows and hands each, as soon as it is ready, to `done`.
pub(crate) fn build(
    data: &Binned,
    rows: &[u32],
    packed: &[u64],
    first: usize,
    out: &mut [Tile],
    mut done: impl FnMut(usize, &mut Tile),
) {
    let (tiles, wanted, words) = (data.tiles(), out.len(), data.words());
    let far = size_of_val(words) > CACHED && rows.len() < data.rows();
    BUFFER.with_borrow_mut(|buffer| {
        buffer.resize((wanted + 1) * BLOCK, 0);
        let (buffer, values) = buffer.split_at_mut(wanted * BLOCK);
        let (buffer, _) = buffer.as_chunks_mut::<BLOCK>();
        let blocks = rows.len().div_ceil(BLOCK).max(1);
        for b in 0..blocks {
            let block = &rows[b * BLOCK..rows.len().min((b + 1) * BLOCK)];
            for (r, &row) in block.iter().enumerate() {
                if far && let Some(&later) = block.get(r + AHEAD) {
                    let from = later as usize * tiles + first;
                    for line in (from..from + wanted).step_by(WORDS_OF_A_LINE) {
                        prefetch(words, line);
                    }
                    prefetch(words, from + wanted - 1);
                    prefetch(packed, later as usize);
                }
                let from = row as usize * tiles + first;
                for (word, column) in words[from..from + wanted].iter().zip(&mut *buffer) {
                    column[r] = *word;
                }
                values[r] = packed[row as usize];
            }
            for (t, (tile, words)) in out.iter_mut().zip(&*buffer).enumerate() {
                if b == 0 {
                    tile.as_flattened_mut().fill(0);
                }
                let columns = data.width() - (first + t) * TILE;
                add(columns, tile, &words[..block.len()], &values[..block.len()]);
                if b + 1 == blocks {
                    done(first + t, tile);
                }
            }
        }
    });
}

/// Tells the processor that a number will be read soon.
#[inline]
fn prefetch(numbers: &[u64], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(number) = numbers.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing, and the address is that of a number in the slice.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(number).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (numbers, at);
}

/// Adds the packed gradients of a block to the bins that its words name, in the first `columns` of a tile.
fn add(columns: usize, tile: &mut Tile, words: &[u64], values: &[u64]) {
    match columns {
        1 => add_to::<1>(tile, words, values),
        2 => add_to::<2>(tile, words, values),
        3 => add_to::<3>(tile, words, values),
        4 => add_to::<4>(tile, words, values),
        5 => add_to::<5>(tile, words, values),
        6 => add_to::<6>(tile, words, values),
        7 => add_to::<7>(tile, words, values),
        _ => add_to::<TILE>(tile, words, values),
    }
}

#[inline]
fn add_to<const COLUMNS: usize>(tile: &mut Tile, words: &[u64], values: &[u64]) {
    for (word, &value) in words.iter().zip(values) {
        let bins = word.to_le_bytes();
        for column in 0..COLUMNS {
            let sum = &mut tile[column][usize::from(bins[column])];
            *sum = sum.wrapping_add(value);
        }
    }
}

/// Parent − child, bin by bin.
pub(crate) fn subtract(parent: &mut [u64; 256], child: &[u64; 256]) {
    for (parent, child) in parent.iter_mut().zip(child) {
        *parent = parent.wrapping_sub(*child);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binning::{BinSettings, Bins};
    use proptest::prelude::*;
    use toprank_data::Matrix;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn every_sum_is_that_of_the_rows_in_the_bin(
            width in 1usize..20, rows in 1usize..2300, seed: u64, keep in 1u64..5, first in 0usize..3,
        ) {
            let random = |i: usize| crate::growth::quantise::mix(seed ^ i as u64);
            let values = (0..rows * width).map(|i| (random(i) % 40) as f32).collect();
            let rows = Matrix::Dense { width, values };
            let settings = BinSettings { min_rows: 1, ..BinSettings::default() };
            let data = Bins::fit(&rows, &[], &settings).unwrap().apply(&rows).unwrap();
            let packed: Vec<u64> = (0..data.rows()).map(random).collect();
            let some: Vec<u32> = (0..data.rows() as u32).filter(|&row| random(row as usize + 9) % keep == 0).collect();
            let first = first.min(data.tiles());
            let mut out = vec![[[1; 256]; TILE]; data.tiles() - first]; // what was there before does not matter
            let mut seen = Vec::new();
            build(&data, &some, &packed, first, &mut out, |tile, _| seen.push(tile));
            prop_assert_eq!(seen, (first..data.tiles()).collect::<Vec<_>>());
            for column in first * TILE..data.width() {
                let mut sums = [0u64; 256];
                for &row in &some {
                    let bin = data.column(column)[row as usize] as usize;
                    sums[bin] = sums[bin].wrapping_add(packed[row as usize]);
                }
                prop_assert_eq!(&out[column / TILE - first][column % TILE], &sums);
            }
        }
    }
}
