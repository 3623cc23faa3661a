/*!
All rows as bins, in the two layouts that growing trees needs.

```text
tiles     row after row, 8 features to a word:  a histogram reads all features of a row
columns   feature after feature:                a partition reads one feature of many rows
```

Features with one bin and nothing missing tell rows apart nowhere; they have no column. Features that are rarely anything but
their common value share a column with others, as long as no row has two of them away from it (see `bundles.rs`).
*/

use std::ops::Range;

use rayon::prelude::*;
use toprank_core::{Features, ModelError};

use super::bundles::{Slot, bundle};
use super::{BLOCK, Bins, FeatureBins, fault};

/// Features in a word.
pub(crate) const TILE: usize = 8;

/// Rows of features as bins; see [`Bins::apply`].
#[derive(Clone, Debug, PartialEq)]
pub struct Binned {
    bins: Bins,
    rows: usize,
    /// Where features stand, by column.
    slots: Vec<Slot>,
    /// The first slot of each column, and the end.
    firsts: Vec<u32>,
    /// The slot of each feature that has one.
    slot_of: Vec<Option<u32>>,
    /// Words per row.
    tiles: usize,
    /// Row after row; byte j of word t is the bin of column 8t + j.
    words: Vec<u64>,
    /// Column after column.
    columns: Vec<u8>,
}

/// How the values of one column become bins.
enum Map<'a> {
    /// Cuts, filled up with +∞ to 255.
    Numeric {
        cuts: Box<[f32; 256]>,
        missing: u8,
    },
    Categorical(&'a FeatureBins),
}

impl Map<'_> {
    fn new(bins: &FeatureBins) -> Map<'_> {
        match bins {
            FeatureBins::Numeric { cuts } => {
                let mut filled = Box::new([f32::INFINITY; 256]);
                filled[..cuts.len()].copy_from_slice(cuts);
                Map::Numeric { cuts: filled, missing: bins.missing() }
            }
            FeatureBins::Categorical { .. } => Map::Categorical(bins),
        }
    }

    #[inline]
    fn bin(&self, value: f32) -> u8 {
        match self {
            Map::Numeric { missing, .. } if value.is_nan() => *missing,
            Map::Numeric { cuts, .. } => search(cuts, value),
            Map::Categorical(bins) => bins.bin(value),
        }
    }
}

/// Number of cuts below the value, in eight steps without a branch.
#[inline]
fn search(cuts: &[f32; 256], value: f32) -> u8 {
    let mut below = 0usize;
    for step in [128, 64, 32, 16, 8, 4, 2, 1] {
        below += step * usize::from(cuts[(below + step - 1) & 255] < value);
    }
    below as u8
}

impl Binned {
    pub(super) fn new(bins: &Bins, features: &dyn Features) -> Result<Binned, ModelError> {
        let (width, rows) = (features.width(), features.rows());
        if width != bins.width() {
            let expected = format!("{} features, as the bins were made from", bins.width());
            return Err(ModelError::new(format!("rows of {width} features"), expected));
        }
        if rows >= MOST_ROWS {
            return Err(ModelError::new(format!("{rows} rows"), format!("fewer than {MOST_ROWS}")));
        }
        let used: Vec<u32> = (0..width as u32).filter(|&f| bins.tells_rows_apart(f as usize)).collect();
        let maps: Vec<Map> = used.iter().map(|&f| Map::new(bins.of(f as usize))).collect();
        let bin_of = |u: usize, row: &[f32]| maps[u].bin(row[used[u] as usize]);
        let slots = bundle(bins, &used, features, bin_of)?;
        let columns = slots.last().map_or(0, |slot| slot.column as usize + 1);
        let firsts: Vec<u32> = (0..=columns)
            .map(|column| slots.partition_point(|slot| (slot.column as usize) < column) as u32)
            .collect();
        let mut slot_of = vec![None; width];
        for (s, slot) in slots.iter().enumerate() {
            slot_of[slot.feature as usize] = Some(s as u32);
        }
        let place = |slot: &Slot| used.binary_search(&slot.feature).unwrap_or_default();
        let places: Vec<usize> = slots.iter().map(place).collect();
        let tiles = columns.div_ceil(TILE);
        let mut words = vec![0u64; rows * tiles];
        if tiles > 0 {
            words.par_chunks_mut(BLOCK * tiles).enumerate().for_each(|(block, words)| {
                let first = (block * BLOCK) as u32;
                let rows: Vec<u32> = (first..first + (words.len() / tiles) as u32).collect();
                let mut values = vec![0.0; rows.len() * width];
                features.gather(&rows, &mut values);
                for (tile, starts) in firsts[..columns].chunks(TILE).enumerate() {
                    let end = firsts[tile * TILE + starts.len()];
                    let of_tile = starts[0] as usize..end as usize;
                    let (slots, places) = (&slots[of_tile.clone()], &places[of_tile]);
                    let maps: Vec<(&Map, u32)> =
                        places.iter().map(|&place| (&maps[place], used[place])).collect();
                    let alone = slots.len() == starts.len();
                    for (value_row, word_row) in values.chunks_exact(width).zip(words.chunks_exact_mut(tiles))
                    {
                        let mut bytes = [0; TILE];
                        if alone {
                            for (byte, (map, feature)) in bytes.iter_mut().zip(&maps) {
                                *byte = map.bin(value_row[*feature as usize]);
                            }
                        } else {
                            for (slot, (map, feature)) in slots.iter().zip(&maps) {
                                // In a bundle at most one feature has a code above 0.
                                let code = slot.code(map.bin(value_row[*feature as usize]));
                                bytes[slot.column as usize % TILE] |= code;
                            }
                        }
                        word_row[tile] = u64::from_le_bytes(bytes);
                    }
                }
            });
        }
        fault(features)?;
        let columns = transpose(&words, tiles, rows, columns);
        Ok(Binned { bins: bins.clone(), rows, slots, firsts, slot_of, tiles, words, columns })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The bins of every feature.
    pub fn bins(&self) -> &Bins {
        &self.bins
    }

    /// The bin of one value.
    ///
    /// # Panics
    /// If there is no such row or feature.
    pub fn bin(&self, row: usize, feature: usize) -> u8 {
        assert!(row < self.rows && feature < self.bins.width(), "a value of the data");
        // A feature without a column holds one value in all rows of the training data.
        self.slot_of(feature).map_or(0, |s| {
            let slot = &self.slots[s];
            slot.bin(self.column(slot.column as usize)[row])
        })
    }

    /// Bytes held in memory.
    pub fn bytes(&self) -> usize {
        8 * self.words.capacity() + self.columns.capacity()
    }

    /// Number of columns.
    pub(crate) fn width(&self) -> usize {
        self.firsts.len() - 1
    }

    /// Features that tell rows apart, and where they stand.
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The slots of some columns.
    pub(crate) fn slots_of(&self, columns: Range<usize>) -> Range<usize> {
        self.firsts[columns.start] as usize..self.firsts[columns.end] as usize
    }

    /// The slot of a feature.
    pub(crate) fn slot_of(&self, feature: usize) -> Option<usize> {
        self.slot_of[feature].map(|slot| slot as usize)
    }

    pub(crate) fn tiles(&self) -> usize {
        self.tiles
    }

    /// All words, row after row.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The bins of a column.
    pub(crate) fn column(&self, column: usize) -> &[u8] {
        &self.columns[column * self.rows..(column + 1) * self.rows]
    }
}

/// Sums over all rows must fit 31 bits (see `growth/quantise.rs`).
const MOST_ROWS: usize = 1 << 30;

fn transpose(words: &[u64], tiles: usize, rows: usize, width: usize) -> Vec<u8> {
    let mut columns = vec![0u8; rows * width];
    if rows == 0 {
        return columns;
    }
    columns.par_chunks_mut(rows * TILE).enumerate().for_each(|(tile, columns)| {
        for (row, word) in words.iter().skip(tile).step_by(tiles).enumerate() {
            for (column, bin) in columns.chunks_exact_mut(rows).zip(word.to_le_bytes()) {
                column[row] = bin;
            }
        }
    });
    columns
}
