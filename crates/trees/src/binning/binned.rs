/*!
All rows as bins, in the two layouts that growing trees needs.

```text
tiles     row after row, 8 features to a word:  a histogram reads all features of a row
columns   feature after feature:                a partition reads one feature of many rows
```

Features with one bin and nothing missing tell rows apart nowhere; they have no column.
*/

use rayon::prelude::*;
use toprank_core::{Features, ModelError};

use super::{BLOCK, Bins, FeatureBins, fault};

/// Features in a word.
pub(crate) const TILE: usize = 8;

/// Rows of features as bins; see [`Bins::apply`].
#[derive(Clone, Debug, PartialEq)]
pub struct Binned {
    bins: Bins,
    rows: usize,
    /// The feature of each column.
    features: Vec<u32>,
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
        let tiles = used.len().div_ceil(TILE);
        let maps: Vec<Map> = used.iter().map(|&f| Map::new(bins.of(f as usize))).collect();
        let mut words = vec![0u64; rows * tiles];
        if tiles > 0 {
            words.par_chunks_mut(BLOCK * tiles).enumerate().for_each(|(block, words)| {
                let first = (block * BLOCK) as u32;
                let rows: Vec<u32> = (first..first + (words.len() / tiles) as u32).collect();
                let mut values = vec![0.0; rows.len() * width];
                features.gather(&rows, &mut values);
                for (tile, (maps, used)) in maps.chunks(TILE).zip(used.chunks(TILE)).enumerate() {
                    for (value_row, word_row) in values.chunks_exact(width).zip(words.chunks_exact_mut(tiles))
                    {
                        let mut bytes = [0; TILE];
                        for ((byte, map), &feature) in bytes.iter_mut().zip(maps).zip(used) {
                            *byte = map.bin(value_row[feature as usize]);
                        }
                        word_row[tile] = u64::from_le_bytes(bytes);
                    }
                }
            });
        }
        fault(features)?;
        let columns = transpose(&words, tiles, rows, used.len());
        Ok(Binned { bins: bins.clone(), rows, features: used, tiles, words, columns })
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
        self.column_of(feature).map_or(0, |column| self.column(column)[row])
    }

    /// Bytes held in memory.
    pub fn bytes(&self) -> usize {
        8 * self.words.capacity() + self.columns.capacity()
    }

    /// Columns: features that tell rows apart.
    pub(crate) fn width(&self) -> usize {
        self.features.len()
    }

    /// The column of a feature.
    pub(crate) fn column_of(&self, feature: usize) -> Option<usize> {
        self.features.binary_search(&(feature as u32)).ok()
    }

    /// The feature of a column.
    pub(crate) fn feature(&self, column: usize) -> usize {
        self.features[column] as usize
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
