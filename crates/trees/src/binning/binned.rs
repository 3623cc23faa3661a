/*!
All rows as bins, in the two layouts that growing trees needs.

```text
tiles     row after row, 8 features to a word:  a histogram reads all features of a row
columns   feature after feature:                a partition reads one feature of many rows
```

Features with one bin and no missing value cannot split rows; they have no column. Features that are rarely anything but
their common value share a column with others, as long as no row has two of them away from it (see `bundles.rs`).
*/

use std::ops::Range;

use rayon::prelude::*;
use toprank_core::{Features, ModelError};

use super::bundles::{Slot, bundle};
use super::{BLOCK, Bins, FeatureBins, fault, rows_at_once};
use crate::ranks::{self, Ranks};

/// Features in a word.
pub(crate) const TILE: usize = 8;

/// Rows of features as bins; see [`Bins::apply`].
#[derive(Clone, Debug, PartialEq)]
pub struct Binned {
    bins: Bins,
    rows: usize,
    /// Features by column.
    slots: Vec<Slot>,
    /// The first slot of each column, and the end.
    firsts: Vec<u32>,
    /// The slot of each feature that has one.
    slot_of: Vec<Option<u32>>,
    /// For each slot, whether its feature is missing in some row.
    missing: Vec<bool>,
    /// Words per row.
    tiles: usize,
    /// Row after row; byte j of word t is the bin of column 8t + j.
    words: Vec<u64>,
    /// Column after column.
    columns: Vec<u8>,
}

/// How the values of one column become bins.
enum Map<'a> {
    /// By the number of cuts below.
    Numeric {
        cuts: Ranks,
        missing: u8,
    },
    Categorical(&'a FeatureBins),
}

impl Map<'_> {
    fn new(bins: &FeatureBins) -> Map<'_> {
        match bins {
            FeatureBins::Numeric { cuts } => Map::Numeric { cuts: Ranks::new(cuts), missing: bins.missing() },
            FeatureBins::Categorical { .. } => Map::Categorical(bins),
        }
    }

    /// The bin of a value, by a function that finds ranks.
    #[inline(always)]
    #[allow(clippy::inline_always)] // must be compiled for the CPU of its caller
    fn bin(&self, value: f32, find: impl Fn(&Ranks, f32) -> usize) -> u8 {
        match self {
            Map::Numeric { cuts, missing } => match find(cuts, value) {
                ranks::MISSING => *missing,
                bin => bin as u8,
            },
            Map::Categorical(bins) => bins.bin(value),
        }
    }
}

/// The columns of a tile: how their values become bins, and where they stand.
struct TileMaps<'a> {
    slots: &'a [Slot],
    maps: Vec<(&'a Map<'a>, u32)>,
    /// True if no column is shared.
    alone: bool,
}

impl TileMaps<'_> {
    /// The words of some rows, one of every `tiles`.
    fn fill(&self, values: &[f32], width: usize, words: &mut [u64], tiles: usize) {
        #[cfg(target_arch = "x86_64")]
        if ranks::has_avx2() {
            // SAFETY: what `fill_avx2` needs was found just above.
            #[allow(unsafe_code)]
            return unsafe { self.fill_avx2(values, width, words, tiles) };
        }
        self.fill_by(values, width, words, tiles, Ranks::find);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,popcnt")]
    fn fill_avx2(&self, values: &[f32], width: usize, words: &mut [u64], tiles: usize) {
        self.fill_by(values, width, words, tiles, |ranks, x| ranks.find_avx2(x));
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // must be compiled for the CPU of its caller
    fn fill_by(
        &self,
        values: &[f32],
        width: usize,
        words: &mut [u64],
        tiles: usize,
        find: impl Fn(&Ranks, f32) -> usize,
    ) {
        for (row, word) in values.chunks_exact(width).zip(words.iter_mut().step_by(tiles)) {
            let mut bytes = [0; TILE];
            if self.alone {
                for (byte, (map, feature)) in bytes.iter_mut().zip(&self.maps) {
                    *byte = map.bin(row[*feature as usize], &find);
                }
            } else {
                for (slot, (map, feature)) in self.slots.iter().zip(&self.maps) {
                    // In a bundle at most one feature has a code above 0.
                    bytes[slot.column as usize % TILE] |= slot.code(map.bin(row[*feature as usize], &find));
                }
            }
            *word = u64::from_le_bytes(bytes);
        }
    }
}

impl Binned {
    pub(super) fn new(bins: &Bins, features: &dyn Features) -> Result<Binned, ModelError> {
        let (width, rows) = (features.width(), features.rows());
        if width != bins.width() {
            let expected = format!("{} features, as in the data the bins were made from", bins.width());
            return Err(ModelError::new(format!("rows of {width} features"), expected));
        }
        if rows >= MOST_ROWS {
            return Err(ModelError::new(format!("{rows} rows"), format!("fewer than {MOST_ROWS}")));
        }
        let used: Vec<u32> = (0..width as u32).filter(|&f| bins.tells_rows_apart(f as usize)).collect();
        let maps: Vec<Map> = used.iter().map(|&f| Map::new(bins.of(f as usize))).collect();
        let bin_of = |u: usize, row: &[f32]| maps[u].bin(row[used[u] as usize], Ranks::find);
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
            let at_once = rows_at_once(width, BLOCK);
            words.par_chunks_mut(at_once * tiles).enumerate().for_each(|(block, words)| {
                let first = (block * at_once) as u32;
                let rows: Vec<u32> = (first..first + (words.len() / tiles) as u32).collect();
                let mut values = vec![0.0; rows.len() * width];
                features.gather(&rows, &mut values);
                for (tile, starts) in firsts[..columns].chunks(TILE).enumerate() {
                    let end = firsts[tile * TILE + starts.len()];
                    let of_tile = starts[0] as usize..end as usize;
                    let maps =
                        places[of_tile.clone()].iter().map(|&place| (&maps[place], used[place])).collect();
                    let alone = of_tile.len() == starts.len();
                    let tile_maps = TileMaps { slots: &slots[of_tile], maps, alone };
                    tile_maps.fill(&values, width, &mut words[tile..], tiles);
                }
            });
        }
        fault(features)?;
        let columns = transpose(&words, tiles, rows, columns);
        let mut binned = Binned {
            bins: bins.clone(),
            rows,
            slots,
            firsts,
            slot_of,
            missing: Vec::new(),
            tiles,
            words,
            columns,
        };
        let missing = |slot: &Slot| binned.column(slot.column as usize).contains(&binned.missing_code(slot));
        binned.missing = binned.slots.par_iter().map(missing).collect();
        Ok(binned)
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

    /// Features that can split rows, and their columns.
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The slots in the order of their features, whichever of them share a column.
    pub(crate) fn slots_by_feature(&self) -> impl Iterator<Item = u32> {
        self.slot_of.iter().flatten().copied()
    }

    /// The slots of some columns.
    pub(crate) fn slots_of(&self, columns: Range<usize>) -> Range<usize> {
        self.firsts[columns.start] as usize..self.firsts[columns.end] as usize
    }

    /// The slot of a feature.
    pub(crate) fn slot_of(&self, feature: usize) -> Option<usize> {
        self.slot_of[feature].map(|slot| slot as usize)
    }

    /// True if the numeric feature of slot `s` is missing in one of these rows.
    pub(crate) fn some_missing(&self, s: usize, rows: &[u32]) -> bool {
        let slot = &self.slots[s];
        let (column, code) = (self.column(slot.column as usize), self.missing_code(slot));
        self.missing[s] && rows.iter().any(|&row| column[row as usize] == code)
    }

    /// The code of missing values in the column of a slot. In a bundle a numeric feature has its own: the common bin, whose
    /// code all features share, is that of 0.
    fn missing_code(&self, slot: &Slot) -> u8 {
        slot.code(self.bins.of(slot.feature as usize).missing())
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
pub(crate) const MOST_ROWS: usize = 1 << 30;

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
