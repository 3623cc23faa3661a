/*!
The best split of one column, from its histogram.

```text
leaf(G, H)  = −soft(G, l1)/(H + l2), held between the node's bounds          soft(G, l1) = sign(G)·max(|G| − l1, 0)
drop(G, H)  = −(G·w + ½(H + l2)·w² + l1·|w|), w = leaf(G, H)                 = ½ soft(G, l1)²/(H + l2) without bounds
gain(split) = drop(left) + drop(right) − drop(node)
```

Numeric features are split between bins, with missing values tried on both sides. Categories are sorted by G/(H + smooth),
which is the best order for one cut (Fisher, "On grouping for maximum homogeneity", JASA 1958), then split likewise; missing
and rare ones go right.
*/

use std::cell::RefCell;

use toprank_core::vectorised;

use super::quantise::{Units, gradient_of, hessian_of, mix};
use super::{Category, Growth};
use crate::binning::FeatureBins;

/// Settings that every split of a tree obeys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) l1: f64,
    pub(crate) l2: f64,
    pub(crate) min_hessian: f64,
    pub(crate) units: Units,
    pub(crate) category: Category,
}

impl Rules {
    pub(crate) fn new(growth: &Growth, units: Units) -> Rules {
        let Growth { l1, l2, min_hessian, category, .. } = *growth;
        Rules { l1, l2, min_hessian, units, category }
    }

    /// Gradient and Hessian of a packed sum.
    pub(crate) fn sums(&self, packed: u64) -> (f64, f64) {
        (
            f64::from(gradient_of(packed)) * self.units.gradient,
            f64::from(hessian_of(packed)) * self.units.hessian,
        )
    }

    /// The value of a leaf with these sums: 0 if the denominator is 0.
    pub(crate) fn leaf(&self, gradient: f64, hessian: f64, bounds: Bounds) -> f64 {
        let denominator = hessian + self.l2;
        let shrunk = (gradient.abs() - self.l1).max(0.0);
        let value = if denominator > 0.0 { -gradient.signum() * shrunk / denominator } else { 0.0 };
        value.clamp(bounds.low, bounds.high)
    }

    /// How much a leaf with these sums lowers the loss, and its value.
    fn drop(&self, packed: u64, l2_more: f64, bounds: Bounds) -> (f64, f64) {
        let (g, h) = self.sums(packed);
        let rules = Rules { l2: self.l2 + l2_more, ..*self };
        let w = rules.leaf(g, h, bounds);
        (-(g * w + 0.5 * (h + rules.l2) * w * w + self.l1 * w.abs()), w)
    }

    /// True if the Hessian sum of a side is large enough for a leaf.
    fn enough(&self, packed: u64) -> bool {
        let h = f64::from(hessian_of(packed)) * self.units.hessian;
        h >= self.min_hessian && h + self.l2 > 0.0
    }
}

/// Bounds of the values of a node's leaves (monotone constraints).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Bounds {
    pub(crate) const NONE: Bounds = Bounds { low: f64::NEG_INFINITY, high: f64::INFINITY };
}

/// What the search for a split needs to know of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here {
    /// Sum over its rows.
    pub(crate) total: u64,
    pub(crate) bounds: Bounds,
    /// Seed of the node's random thresholds; `None`: every threshold is tried.
    pub(crate) random: Option<u64>,
}

impl Here {
    /// Which of `count` cuts of a column to try; `None`: all.
    fn only(&self, column: &Column, count: usize) -> Option<usize> {
        let seed = self.random?;
        Some((mix(seed ^ mix(u64::from(column.feature))) % count.max(1) as u64) as usize)
    }
}

/// What the search for a split needs to know of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    pub(crate) feature: u32,
    pub(crate) bins: &'a FeatureBins,
    /// 1: the score increases with the feature, −1: it decreases, 0: no constraint.
    pub(crate) monotone: i8,
}

/// A split of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Split {
    pub(crate) gain: f64,
    pub(crate) cut: Cut,
    /// Where missing values go.
    pub(crate) missing_left: bool,
    /// Sum over the left side.
    pub(crate) left: u64,
}

/// Which bins go left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cut {
    /// Those up to this one.
    UpTo(u8),
    /// Those whose bit is set.
    Set([u64; 4]),
}

impl Split {
    /// For every code of the column whether it goes left.
    pub(crate) fn table(&self, missing: u8) -> [bool; 256] {
        let mut table = match self.cut {
            Cut::UpTo(last) => std::array::from_fn(|bin| bin <= last as usize),
            Cut::Set(set) => std::array::from_fn(|bin| set[bin / 64] >> (bin % 64) & 1 == 1),
        };
        table[missing as usize] = self.missing_left;
        table
    }
}

/// The best split of a column whose gain is above 0; of equal ones the first cut, missing values right before left.
///
/// `counts`: rows in each bin, to keep at least `min_rows` on either side; `None`: rows are not counted.
pub(crate) fn search(
    sums: &[u64; 256],
    column: &Column,
    here: &Here,
    rules: &Rules,
    counts: Option<(&[u32; 256], u32)>,
) -> Option<Split> {
    let plain = rules.l1 == 0.0
        && column.monotone == 0
        && here.bounds == Bounds::NONE
        && here.random.is_none()
        && counts.is_none();
    match column.bins {
        FeatureBins::Numeric { .. } if plain => fast(sums, column.bins.count(), here, rules),
        FeatureBins::Numeric { .. } => any_numbers(sums, column, here, rules, counts),
        FeatureBins::Categorical { .. } => categories(sums, column, here, rules, counts),
    }
}

/// Tries one cut after the other and keeps the best.
struct Trial<'a> {
    here: &'a Here,
    rules: &'a Rules,
    monotone: i8,
    l2_more: f64,
    all_rows: u32,
    min_rows: u32,
    before: f64,
    best: Option<Split>,
}

impl<'a> Trial<'a> {
    fn new(
        here: &'a Here,
        rules: &'a Rules,
        monotone: i8,
        l2_more: f64,
        counts: Option<(&[u32; 256], u32)>,
    ) -> Trial<'a> {
        let (all_rows, min_rows) = counts.map_or((0, 0), |(counts, least)| (counts.iter().sum(), least));
        let before = rules.drop(here.total, 0.0, here.bounds).0;
        Trial { here, rules, monotone, l2_more, all_rows, min_rows, before, best: None }
    }

    fn consider(&mut self, left: u64, left_rows: u32, missing_left: bool, cut: impl FnOnce() -> Cut) {
        let right = self.here.total.wrapping_sub(left);
        let enough_rows = left_rows >= self.min_rows && self.all_rows - left_rows >= self.min_rows;
        if !enough_rows || !self.rules.enough(left) || !self.rules.enough(right) {
            return;
        }
        let (drop_left, value_left) = self.rules.drop(left, self.l2_more, self.here.bounds);
        let (drop_right, value_right) = self.rules.drop(right, self.l2_more, self.here.bounds);
        let gain = drop_left + drop_right - self.before;
        let in_order = f64::from(self.monotone) * (value_right - value_left) >= 0.0;
        if in_order && gain > self.best.map_or(0.0, |best| best.gain) {
            self.best = Some(Split { gain, cut: cut(), missing_left, left });
        }
    }
}

/// Numeric features with l1, bounds, monotone constraints, random thresholds or counts.
fn any_numbers(
    sums: &[u64; 256],
    column: &Column,
    here: &Here,
    rules: &Rules,
    counts: Option<(&[u32; 256], u32)>,
) -> Option<Split> {
    let bins = column.bins.count();
    let count = |bin: usize| counts.map_or(0, |(counts, _)| counts[bin]);
    let mut trial = Trial::new(here, rules, column.monotone, 0.0, counts);
    // A random threshold is one between the least and the greatest value of the node.
    let some = |bin: &usize| sums[*bin] != 0;
    let only = here.random.and_then(|_| {
        let (first, last) = ((0..bins).find(some)?, (0..bins).rev().find(some)?);
        here.only(column, last - first).map(|place| first + place)
    });
    let sides = if sums[bins] == 0 && count(bins) == 0 { &[false][..] } else { &[false, true] };
    for &missing_left in sides {
        let (mut left, mut rows) = if missing_left { (sums[bins], count(bins)) } else { (0, 0) };
        for (bin, sum) in sums[..bins].iter().enumerate() {
            left = left.wrapping_add(*sum);
            rows += count(bin);
            if only.is_none_or(|only| only == bin) {
                trial.consider(left, rows, missing_left, || Cut::UpTo(bin as u8));
            }
        }
    }
    trial.best
}

fn categories(
    sums: &[u64; 256],
    column: &Column,
    here: &Here,
    rules: &Rules,
    counts: Option<(&[u32; 256], u32)>,
) -> Option<Split> {
    let mut order: Vec<(f64, u8)> = (0..column.bins.count())
        .filter(|&bin| sums[bin] != 0 || counts.is_some_and(|(counts, _)| counts[bin] > 0))
        .map(|bin| {
            let (g, h) = rules.sums(sums[bin]);
            (g / (h + rules.category.smooth), bin as u8)
        })
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut trial = Trial::new(here, rules, 0, rules.category.l2, counts);
    // The side that is written down as a set may be either end of the order: unknown categories always go right.
    let cuts = order.len().min(rules.category.max);
    let only = here.only(column, cuts);
    for from_high in [false, true] {
        let (mut left, mut rows, mut set) = (0u64, 0, [0u64; 4]);
        for place in 0..cuts {
            let bin = order[if from_high { order.len() - 1 - place } else { place }].1 as usize;
            left = left.wrapping_add(sums[bin]);
            rows += counts.map_or(0, |(counts, _)| counts[bin]);
            set[bin / 64] |= 1 << (bin % 64);
            if only.is_none_or(|only| only == place) {
                trial.consider(left, rows, false, || Cut::Set(set));
            }
        }
    }
    trial.best
}

/// Sums up to every bin, and the approximate gain of every cut, with missing values right and left.
struct Scan {
    gradient: [i32; 256],
    hessian: [i32; 256],
    about: [[f32; 256]; 2],
}

thread_local! {
    static SCAN: RefCell<Scan> =
        const { RefCell::new(Scan { gradient: [0; 256], hessian: [0; 256], about: [[0.0; 256]; 2] }) };
}

/// The gain of a cut is first computed in `f32`, 8 cuts at once, to a relative error of 1e-6: it consists of sums and
/// products of positive numbers, and the sums of gradients are integers. Cuts this near to the best are compared in `f64`.
const NEAR: f32 = 1.0 - 1e-5;
/// Range of l2, in units of the Hessian, for which `f32` neither overflows nor underflows.
const SAFE_L2: std::ops::Range<f64> = 1e-20..1e15;

/// Numeric features without l1, bounds and counts: the case that takes the time.
fn fast(sums: &[u64; 256], bins: usize, here: &Here, rules: &Rules) -> Option<Split> {
    // All in units: G²/(H + l2) = (unit_g²/unit_h)·g²/(h + l2/unit_h).
    let Units { gradient, hessian } = rules.units;
    let l2 = rules.l2 / hessian;
    let mut least = rules.min_hessian / hessian;
    if l2 == 0.0 {
        least = least.max(1.0);
    }
    let total = (gradient_of(here.total), hessian_of(here.total));
    if 2.0 * least > f64::from(total.1) {
        return None;
    }
    let least = least.ceil() as i32;
    let gain_of = |(gl, hl): (i32, i32)| {
        let (gr, hr) = (f64::from(total.0 - gl), f64::from(total.1 - hl));
        let (gl, below_l, below_r) = (f64::from(gl), f64::from(hl) + l2, hr + l2);
        (gl * gl * below_r + gr * gr * below_l) / (below_l * below_r)
    };
    let missing = (gradient_of(sums[bins]), hessian_of(sums[bins]));
    // Missing values to the right, and to the left if there are some.
    let sides = &[(0, 0), missing][..if sums[bins] == 0 { 1 } else { 2 }];
    let mut best: Option<(f64, usize, usize)> = None;
    let left_of = SCAN.with_borrow_mut(|scan| {
        let filled = prefix(sums, bins, scan);
        let mut most = f32::NEG_INFINITY;
        for (side, &shift) in sides.iter().enumerate() {
            most = most.max(about(scan, side, filled, total, shift, l2 as f32, least));
        }
        let safe = (l2 == 0.0 || SAFE_L2.contains(&l2)) && most >= 0.0;
        let near = if safe { most * NEAR } else { f32::MIN };
        for (side, &shift) in sides.iter().enumerate() {
            let (groups, _) = scan.about[side][..filled].as_chunks::<LANES>();
            for (group, values) in groups.iter().enumerate() {
                if values.iter().map(|value| u32::from(*value >= near)).sum::<u32>() == 0 {
                    continue;
                }
                for (lane, _) in values.iter().enumerate().filter(|(_, value)| **value >= near) {
                    let bin = group * LANES + lane;
                    let value = gain_of((scan.gradient[bin] + shift.0, scan.hessian[bin] + shift.1));
                    if best.is_none_or(|(best, ..)| value > best) {
                        best = Some((value, bin, side));
                    }
                }
            }
        }
        best.map(|(_, bin, _)| {
            (i64::from(scan.gradient[bin]) << 32).wrapping_add(i64::from(scan.hessian[bin])) as u64
        })
    })?;
    let (value, bin, side) = best?;
    let (g, h) = (f64::from(total.0), f64::from(total.1) + l2);
    let before = if h > 0.0 { g * g / h } else { 0.0 };
    let gain = 0.5 * (value - before) * (gradient * gradient / hessian);
    if gain.is_nan() || gain <= 0.0 {
        return None;
    }
    let missing_left = side == 1;
    let left = if missing_left { left_of.wrapping_add(sums[bins]) } else { left_of };
    Some(Split { gain, cut: Cut::UpTo(bin as u8), missing_left, left })
}

/// Sums of the bins up to each; returns how many of them, rounded up to whole vectors, are filled.
fn prefix(sums: &[u64; 256], bins: usize, scan: &mut Scan) -> usize {
    let mut sum = 0u64;
    let filled = bins.next_multiple_of(LANES);
    for (bin, (g, h)) in scan.gradient.iter_mut().zip(&mut scan.hessian).enumerate().take(filled) {
        sum = sum.wrapping_add(if bin < bins { sums[bin] } else { 0 });
        *g = gradient_of(sum);
        *h = hessian_of(sum);
    }
    filled
}

const LANES: usize = 8;

vectorised! {
    /// Approximates g_l²/(h_l + l2) + g_r²/(h_r + l2) of every cut, −∞ where a side has too small a Hessian sum; returns
    /// the greatest. `f32::MIN` where `f32` overflows.
    fn about(
        scan: &mut Scan,
        side: usize,
        filled: usize,
        total: (i32, i32),
        shift: (i32, i32),
        l2: f32,
        least: i32,
    ) -> f32 {
        let mut most = [f32::NEG_INFINITY; LANES];
        let (g, _) = scan.gradient[..filled].as_chunks::<LANES>();
        let (h, _) = scan.hessian[..filled].as_chunks::<LANES>();
        let (values, _) = scan.about[side][..filled].as_chunks_mut::<LANES>();
        for ((g, h), values) in g.iter().zip(h).zip(values) {
            for lane in 0..LANES {
                let (gl, hl) = (g[lane].wrapping_add(shift.0), h[lane].wrapping_add(shift.1));
                let (gr, hr) = (total.0.wrapping_sub(gl), total.1.wrapping_sub(hl));
                let enough = hl.min(hr) >= least;
                let (gl, gr) = (gl as f32, gr as f32);
                let (below_l, below_r) = (hl as f32 + l2, hr as f32 + l2);
                let value = (gl * gl * below_r + gr * gr * below_l) / (below_l * below_r);
                let value = if value >= 0.0 { value } else { f32::MIN };
                let value = if enough { value } else { f32::NEG_INFINITY };
                values[lane] = value;
                most[lane] = if value > most[lane] { value } else { most[lane] };
            }
        }
        most.iter().fold(f32::NEG_INFINITY, |a, &b| if b > a { b } else { a })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numeric(bins: usize) -> FeatureBins {
        FeatureBins::Numeric { cuts: (0..bins - 1).map(|i| i as f32).collect() }
    }

    fn word(g: i32, h: i32) -> u64 {
        (i64::from(g) << 32).wrapping_add(i64::from(h)) as u64
    }

    fn case() -> impl Strategy<Value = (Vec<u64>, Rules)> {
        let bin = prop_oneof![1 => Just((0, 0)), 3 => (-1000i32..1000, 0i32..500)];
        let rules = (0.0f64..3.0, prop_oneof![Just(0.0), 0.1f64..40.0], any::<bool>());
        (prop::collection::vec(bin, 2..256), rules).prop_map(|(bins, (l2, min_hessian, zero))| {
            let units = Units { gradient: 0.25, hessian: 0.125 };
            let l2 = if zero { 0.0 } else { l2 };
            let rules = Rules { l1: 0.0, l2, min_hessian, units, category: Category::default() };
            (bins.into_iter().map(|(g, h)| word(g, h)).collect(), rules)
        })
    }

    fn padded(bins: &[u64]) -> ([u64; 256], Here) {
        let mut sums = [0; 256];
        sums[..bins.len()].copy_from_slice(bins);
        let total = bins.iter().fold(0u64, |sum, word| sum.wrapping_add(*word));
        (sums, Here { total, bounds: Bounds::NONE, random: None })
    }

    proptest! {
        #[test]
        fn the_fast_scan_finds_what_trying_every_cut_finds((bins, rules) in case()) {
            let (sums, here) = padded(&bins);
            let feature = numeric(bins.len() - 1); // the last one holds what is missing
            let column = Column { feature: 0, bins: &feature, monotone: 0 };
            let fast = search(&sums, &column, &here, &rules, None);
            let plain = any_numbers(&sums, &column, &here, &rules, None);
            let before = rules.drop(here.total, 0.0, here.bounds).0.abs();
            match (fast, plain) {
                (Some(fast), Some(plain)) => {
                    prop_assert!((fast.gain - plain.gain).abs() <= 1e-9 * (before + plain.gain));
                    // The sum on the left is what the table of bins says, and gives the gain.
                    let table = fast.table(feature.missing());
                    let left = (0..256).filter(|&b| table[b]).fold(0u64, |sum, b| sum.wrapping_add(sums[b]));
                    prop_assert_eq!(left, fast.left);
                    let right = here.total.wrapping_sub(left);
                    let gain = rules.drop(left, 0.0, here.bounds).0 + rules.drop(right, 0.0, here.bounds).0
                        - rules.drop(here.total, 0.0, here.bounds).0;
                    prop_assert!((fast.gain - gain).abs() <= 1e-9 * (before + gain));
                    prop_assert!(rules.enough(left) && rules.enough(right));
                }
                (fast, plain) => {
                    let tiny = |split: Option<Split>| split.is_none_or(|split| split.gain <= 1e-9 * before);
                    prop_assert!(tiny(fast) && tiny(plain), "{:?} {:?}", fast, plain);
                }
            }
        }

        #[test]
        fn no_set_of_few_categories_is_better_than_the_one_found(
            bins in prop::collection::vec((-50i32..50, 20i32..60), 2..8), missing in (-5i32..5, 0i32..9),
        ) {
            // With equal regularisation of node and leaves, and Hessian enough, one cut of the order is optimal.
            let category = Category { smooth: 0.0, l2: 0.0, max: 255 };
            let units = Units { gradient: 1.0, hessian: 1.0 };
            let rules = Rules { l1: 0.0, l2: 0.0, min_hessian: 1.0, units, category };
            let mut words: Vec<u64> = bins.iter().map(|&(g, h)| word(g, h)).collect();
            words.push(word(missing.0, missing.1));
            let (sums, here) = padded(&words);
            let feature = FeatureBins::Categorical { categories: (0..bins.len() as u32).collect() };
            let found = search(&sums, &Column { feature: 0, bins: &feature, monotone: 0 }, &here, &rules, None);
            let mut best = 0.0f64;
            for set in 1u32..1 << bins.len() {
                let members = (0..bins.len()).filter(|bin| set >> bin & 1 == 1);
                let left = members.fold(0u64, |sum, bin| sum.wrapping_add(sums[bin]));
                let right = here.total.wrapping_sub(left);
                if rules.enough(left) && rules.enough(right) {
                    let drop = |sum| rules.drop(sum, 0.0, here.bounds).0;
                    best = best.max(drop(left) + drop(right) - drop(here.total));
                }
            }
            // Missing values are bound to the right side, so the order is optimal only without them.
            let gain = found.map_or(0.0, |split| split.gain);
            prop_assert!(gain <= best + 1e-9 * best);
            if missing == (0, 0) {
                prop_assert!(gain >= best - 1e-9 * (1.0 + best), "{} {}", gain, best);
            }
        }
    }

    #[test]
    fn a_leaf_is_minus_gradient_by_hessian_and_l2_and_shrinks_by_l1() {
        let units = Units { gradient: 1.0, hessian: 1.0 };
        let rules = Rules { l1: 1.5, l2: 2.0, min_hessian: 0.0, units, category: Category::default() };
        assert_eq!(rules.leaf(-5.0, 3.0, Bounds::NONE), (5.0 - 1.5) / (3.0 + 2.0));
        assert_eq!(rules.leaf(1.0, 3.0, Bounds::NONE), 0.0);
        assert_eq!(rules.leaf(-5.0, 3.0, Bounds { low: 0.1, high: 0.2 }), 0.2);
        assert_eq!(Rules { l2: 0.0, l1: 0.0, ..rules }.leaf(1.0, 0.0, Bounds::NONE), 0.0);
    }

    #[test]
    fn an_increasing_feature_takes_no_split_that_decreases() {
        let units = Units { gradient: 1.0, hessian: 1.0 };
        let rules = Rules { l1: 0.0, l2: 0.0, min_hessian: 0.0, units, category: Category::default() };
        let (sums, here) = padded(&[word(-5, 2), word(5, 2), word(0, 0)]); // the score decreases from +2.5 to −2.5
        let feature = numeric(2);
        let try_it =
            |monotone| search(&sums, &Column { feature: 0, bins: &feature, monotone }, &here, &rules, None);
        assert_eq!(try_it(1), None);
        assert_eq!(try_it(-1), try_it(0));
        assert_eq!(try_it(0).unwrap().gain, 0.5 * (25.0 / 2.0 + 25.0 / 2.0));
    }

    #[test]
    fn counts_keep_small_sides_out() {
        let units = Units { gradient: 1.0, hessian: 1.0 };
        let rules = Rules { l1: 0.0, l2: 0.0, min_hessian: 0.0, units, category: Category::default() };
        let (sums, here) = padded(&[word(-9, 1), word(1, 1), word(2, 1), word(6, 1), word(0, 0)]);
        let mut counts = [0u32; 256];
        counts[..4].copy_from_slice(&[1, 2, 2, 1]);
        let feature = numeric(4);
        let column = Column { feature: 0, bins: &feature, monotone: 0 };
        assert_eq!(search(&sums, &column, &here, &rules, None).unwrap().cut, Cut::UpTo(0));
        assert_eq!(search(&sums, &column, &here, &rules, Some((&counts, 3))).unwrap().cut, Cut::UpTo(1));
        assert_eq!(search(&sums, &column, &here, &rules, Some((&counts, 4))), None);
    }
}
