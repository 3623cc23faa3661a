/*!
Bundles: features that share a column because no row has two of them away from their common value (one-hot columns, counts
of rare terms). A histogram then costs as much for a bundle as for one feature.

```text
code 0            every feature of the bundle at its common bin
codes first …     the bins of one feature but its common one, in their order, missing values last
sum of the common bin = sum over the node − sums of the feature's other codes
```

Only what is exclusive in all rows is bundled, so trees are the same as without bundles.

Source: Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", section 4; there a few conflicts are allowed.
*/

use rayon::prelude::*;
use toprank_core::{Features, ModelError};

use super::{BLOCK, Bins, fault, rows_at_once};

/// Where a feature stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slot {
    pub(crate) feature: u32,
    pub(crate) column: u32,
    shared: Option<Shared>,
}

/// A part of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shared {
    /// The bin that has code 0.
    common: u8,
    /// The code of the first other bin.
    first: u8,
    /// How many other bins there are, missing values among them.
    others: u8,
}

impl Shared {
    /// Bins and codes of the feature.
    fn codes(self) -> impl Iterator<Item = (usize, usize)> {
        let bin = move |other: usize| other + usize::from(other >= usize::from(self.common));
        (0..usize::from(self.others)).map(move |other| (bin(other), usize::from(self.first) + other))
    }
}

impl Slot {
    fn alone(feature: u32) -> Slot {
        Slot { feature, column: 0, shared: None }
    }

    /// The code of a bin.
    #[inline]
    pub(crate) fn code(&self, bin: u8) -> u8 {
        match self.shared {
            None => bin,
            Some(shared) if bin == shared.common => 0,
            Some(shared) => shared.first + bin - u8::from(bin > shared.common),
        }
    }

    /// The bin of a code.
    pub(super) fn bin(&self, code: u8) -> u8 {
        let Some(shared) = self.shared else { return code };
        let found = shared.codes().find(|&(_, own)| own == usize::from(code));
        found.map_or(shared.common, |(bin, _)| bin as u8)
    }

    /// The sums by bin of this feature, out of those of its column and the sum over all; `None`: the column's own.
    pub(crate) fn unbundled(&self, sums: &[u64; 256], total: u64) -> Option<[u64; 256]> {
        let shared = self.shared?;
        let mut own = [0; 256];
        let mut rest = total;
        for (bin, code) in shared.codes() {
            own[bin] = sums[code];
            rest = rest.wrapping_sub(sums[code]);
        }
        own[usize::from(shared.common)] = rest;
        Some(own)
    }

    /// For every code of the column what `by_bin` says of the feature's bin.
    pub(crate) fn by_code(&self, by_bin: &[bool; 256]) -> [bool; 256] {
        let Some(shared) = self.shared else { return *by_bin };
        let mut by_code = [by_bin[usize::from(shared.common)]; 256];
        for (bin, code) in shared.codes() {
            by_code[code] = by_bin[bin];
        }
        by_code
    }
}

/// Largest fraction of rows away from its common bin for which bundling a feature is tried.
const RARE: f64 = 0.2;
/// Bundles that are tried for a feature: the newest.
const TRIED: usize = 64;
/// Blocks of rows between two checks of what was found.
const AT_ONCE: usize = 64;
/// Codes of a column.
const CODES: usize = 256;

/// A column while features are added to it.
struct Bundle {
    slots: Vec<Slot>,
    codes: usize,
    /// Rows that have a code above 0.
    taken: Vec<u64>,
}

/// Puts features into columns. `bin_of` gives the bin of a used feature in a row of values.
pub(super) fn bundle(
    bins: &Bins,
    used: &[u32],
    features: &dyn Features,
    bin_of: impl Fn(usize, &[f32]) -> u8 + Sync,
) -> Result<Vec<Slot>, ModelError> {
    let rare: Vec<usize> = (0..used.len())
        .filter(|&u| {
            let feature = used[u] as usize;
            bins.common[feature].1 <= RARE && bins.of(feature).count() < CODES - 1
        })
        .collect();
    let mut columns: Vec<Bundle> = Vec::new();
    if rare.len() > 1 {
        columns = exclusive(bins, used, &rare, &away(bins, used, &rare, features, bin_of)?, features.rows());
    }
    let mut bundled = vec![false; bins.width()];
    let mut slots: Vec<Vec<Slot>> = Vec::new();
    for column in columns.into_iter().filter(|column| column.slots.len() > 1) {
        for slot in &column.slots {
            bundled[slot.feature as usize] = true;
        }
        slots.push(column.slots);
    }
    slots.extend(used.iter().filter(|&&f| !bundled[f as usize]).map(|&f| vec![Slot::alone(f)]));
    // Columns in the order of their first features: without bundles that of the features.
    for column in &mut slots {
        column.sort_by_key(|slot| slot.feature);
    }
    slots.sort_by_key(|column| column[0].feature);
    let numbered = slots.into_iter().enumerate();
    Ok(numbered
        .flat_map(|(c, column)| column.into_iter().map(move |slot| Slot { column: c as u32, ..slot }))
        .collect())
}

/// For each rare feature the rows that are away from its common bin; `None` if they are too many after all.
fn away(
    bins: &Bins,
    used: &[u32],
    rare: &[usize],
    features: &dyn Features,
    bin_of: impl Fn(usize, &[f32]) -> u8 + Sync,
) -> Result<Vec<Option<Vec<u32>>>, ModelError> {
    let (rows, width) = (features.rows(), features.width());
    let most = (2.0 * RARE * rows as f64) as usize;
    let mut away: Vec<Option<Vec<u32>>> = vec![Some(Vec::new()); rare.len()];
    let of_block = rows_at_once(width, BLOCK);
    // Some blocks at once, so that features that are away too often are given up early.
    for start in (0..rows).step_by(AT_ONCE * of_block) {
        let end = rows.min(start + AT_ONCE * of_block);
        let starts: Vec<usize> = (start..end).step_by(of_block).collect();
        let wanted: Vec<bool> = away.iter().map(Option::is_some).collect();
        let blocks: Vec<Vec<Vec<u32>>> = starts
            .into_par_iter()
            .map(|first| {
                let some: Vec<u32> = (first as u32..rows.min(first + of_block) as u32).collect();
                let mut values = vec![0.0; some.len() * width];
                features.gather(&some, &mut values);
                let of = |(&u, &wanted): (&usize, &bool)| {
                    let common = bins.common[used[u] as usize].0;
                    let rows = some.iter().zip(values.chunks_exact(width));
                    rows.filter(|(_, row)| wanted && bin_of(u, row) != common).map(|(row, _)| *row).collect()
                };
                rare.iter().zip(&wanted).map(of).collect()
            })
            .collect();
        for block in blocks {
            for (found, rows) in away.iter_mut().zip(block) {
                if let Some(list) = found {
                    list.extend(rows);
                }
            }
        }
        for found in &mut away {
            if found.as_ref().is_some_and(|list| list.len() > most) {
                *found = None;
            }
        }
    }
    fault(features)?;
    Ok(away)
}

/// First fit, features with many rows first.
fn exclusive(
    bins: &Bins,
    used: &[u32],
    rare: &[usize],
    away: &[Option<Vec<u32>>],
    rows: usize,
) -> Vec<Bundle> {
    let mut order: Vec<(usize, &Vec<u32>)> =
        rare.iter().zip(away).filter_map(|(&u, list)| Some((u, list.as_ref()?))).collect();
    order.sort_by_key(|(u, list)| (std::cmp::Reverse(list.len()), *u));
    let mut columns: Vec<Bundle> = Vec::new();
    for (u, list) in order {
        let feature = used[u];
        // All bins but the common one, and missing values.
        let others = bins.of(feature as usize).count();
        let fits = |column: &Bundle| {
            column.codes + others <= CODES
                && list.iter().all(|&row| column.taken[row as usize / 64] >> (row % 64) & 1 == 0)
        };
        let tried = columns.len().saturating_sub(TRIED);
        let place = columns[tried..].iter().position(fits).map_or(columns.len(), |place| tried + place);
        if place == columns.len() {
            columns.push(Bundle { slots: Vec::new(), codes: 1, taken: vec![0; rows.div_ceil(64)] });
        }
        let column = &mut columns[place];
        let common = bins.common[feature as usize].0;
        let shared = Shared { common, first: column.codes as u8, others: others as u8 };
        column.slots.push(Slot { shared: Some(shared), ..Slot::alone(feature) });
        column.codes += others;
        for &row in list {
            column.taken[row as usize / 64] |= 1 << (row % 64);
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use crate::binning::{BinSettings, Bins};
    use crate::growth::quantise::mix;
    use crate::{Booster, Boosting, Growth};
    use proptest::prelude::*;
    use toprank_data::Matrix;

    /// One-hot words, rare counts, some missing, and two dense columns.
    fn rows(count: usize, words: usize, seed: u64) -> Matrix {
        let random = |i: usize| mix(seed ^ mix(i as u64));
        let mut values = Vec::new();
        for row in 0..count {
            let word = random(row) as usize % (words + 2);
            values.extend((0..words).map(|w| f32::from(u8::from(w == word))));
            // Away from 0 only where no word is.
            let count = if word >= words { (random(row + 7777) % 5) as f32 } else { 0.0 };
            values.push(if count == 4.0 { f32::NAN } else { count });
            values.extend([(random(row + 1000) % 90) as f32, (random(row + 2000) % 7) as f32]);
        }
        Matrix::Dense { width: words + 3, values }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn bundles_change_no_bin_and_no_tree(count in 60usize..600, words in 2usize..30, seed: u64) {
            let rows = rows(count, words, seed);
            let binned = |bundles: bool| {
                let settings = BinSettings { bundles, min_rows: 1, ..BinSettings::default() };
                Bins::fit(&rows, &[], &settings).unwrap().apply(&rows).unwrap()
            };
            let (with, without) = (binned(true), binned(false));
            prop_assert!(with.width() <= without.width());
            if words > 10 && count > 200 {
                prop_assert!(with.width() < 8, "{} columns", with.width());
            }
            for row in 0..count {
                for feature in 0..words + 3 {
                    prop_assert_eq!(with.bin(row, feature), without.bin(row, feature));
                }
            }
            let trees = |data: &crate::Binned| {
                let growth = Growth { leaves: 12, min_rows: 3, ..Growth::default() };
                let boosting = Boosting { growth, ..Boosting::default() };
                let mut booster = Booster::new(data, &[], 1, boosting).unwrap();
                for _ in 0..3 {
                    let gradient: Vec<f64> = booster.scores().iter().enumerate()
                        .map(|(row, s)| s - (mix(seed ^ row as u64) % 5) as f64).collect();
                    booster.round(&gradient, &vec![1.0; gradient.len()]).unwrap();
                }
                let mut again = vec![0.0; data.rows()];
                booster.add_last_round(data, &mut again);
                (booster.into_ensemble(), again)
            };
            prop_assert_eq!(trees(&with), trees(&without));
        }
    }
}
