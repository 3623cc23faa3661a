//! Gains, discounts and the ideal DCG, written once for metrics and objectives.

use std::sync::LazyLock;

use toprank_core::{Gain, Ideal, Policy};

use crate::metric::Labels;
use crate::rank::Ranked;

/// Greatest label with a gain 2^y − 1: beyond, sums of gains lose their whole digits and one item drowns the rest.
pub const MAX_EXP2_LABEL: f32 = 31.0;

const TABLE: usize = 4096;
static DISCOUNTS: LazyLock<Vec<f64>> = LazyLock::new(|| (0..TABLE).map(discount_of).collect());

fn discount_of(place: usize) -> f64 {
    1.0 / ((place + 2) as f64).log2()
}

/// 1/log2(1 + rank) of the first places, from a table where there is one.
#[derive(Clone, Copy)]
pub struct Discounts(&'static [f64]);

impl Default for Discounts {
    fn default() -> Discounts {
        Discounts(&DISCOUNTS)
    }
}

impl Discounts {
    /// Discount of a place counted from 0: 1/log2(place + 2).
    #[inline]
    pub fn at(self, place: usize) -> f64 {
        if place < TABLE { self.0[place] } else { discount_of(place) }
    }

    /// Sum of the discounts of places `from..to`.
    pub fn sum(self, from: usize, to: usize) -> f64 {
        (from..to).map(|place| self.at(place)).sum()
    }
}

/// Gain of a label; 0 below 0 and for an unjudged item.
///
/// ```
/// use toprank_core::Gain;
/// use toprank_metrics::gain_of;
/// assert_eq!(gain_of(&Gain::Exp2, 3.0), 7.0);
/// assert_eq!(gain_of(&Gain::Linear, 3.0), 3.0);
/// assert_eq!(gain_of(&Gain::Table(vec![0.0, 1.0, 10.0]), 2.0), 10.0);
/// assert_eq!(gain_of(&Gain::Exp2, -1.0), 0.0);
/// ```
#[inline]
pub fn gain_of(gain: &Gain, label: f32) -> f64 {
    match gain {
        Gain::Exp2 => {
            let grade = label as u32; // saturates; NaN and negative labels give 0
            if grade as f32 == label && grade < 64 {
                ((1u64 << grade) - 1) as f64
            } else if label > 0.0 {
                f64::from(label).exp2() - 1.0
            } else {
                0.0
            }
        }
        Gain::Linear => f64::from(label.max(0.0)), // f32::max ignores NaN
        Gain::Table(gains) => {
            if label >= 0.0 {
                gains.get(label as usize).copied().unwrap_or(0.0)
            } else {
                0.0
            }
        }
    }
}

/// Labels for which [`gain_of`] is what it says.
pub(crate) fn labels_with_gain(gain: &Gain) -> Labels {
    match gain {
        Gain::Exp2 => Labels {
            max: MAX_EXP2_LABEL,
            whole: false,
            expected: "a label up to 31 where the gain is 2^label - 1; gain=linear takes greater ones",
        },
        Gain::Linear => Labels::FINITE,
        Gain::Table(gains) => Labels {
            max: gains.len() as f32 - 1.0,
            whole: true,
            expected: "a whole label that the table of gains covers",
        },
    }
}

/// DCG of the best possible order of the items and, where the policy counts them, the missed ones; its first `k`
/// places. `gains` is scratch.
///
/// ```
/// use toprank_core::Policy;
/// let z = toprank_metrics::best_dcg(&[0.0, 1.0, 2.0], &[], &Policy::default(), 2, &mut Vec::new());
/// assert_eq!(z, 3.0 / 2f64.log2() + 1.0 / 3f64.log2());
/// ```
pub fn best_dcg(labels: &[f32], missed: &[f32], policy: &Policy, k: usize, gains: &mut Vec<f64>) -> f64 {
    let missed = if policy.ideal == Ideal::Judged { missed } else { &[] };
    grades_dcg(labels, missed, &policy.gain, k).unwrap_or_else(|| {
        gains.clear();
        gains.extend(labels.iter().chain(missed).map(|&y| gain_of(&policy.gain, y)).filter(|&g| g > 0.0));
        gains.sort_unstable_by(|a, b| b.total_cmp(a));
        let discounts = Discounts::default();
        gains.iter().take(k).enumerate().map(|(place, g)| g * discounts.at(place)).sum()
    })
}

/// [`best_dcg`] of a ranked list.
pub(crate) fn ideal_dcg(ranked: &Ranked, policy: &Policy, k: usize) -> f64 {
    ranked.with_scratch(|gains| best_dcg(ranked.labels(), ranked.missed(), policy, k, gains))
}

/// The same by counting whole labels 0 … 31, without a sort; `None` if there are others, or if a greater label
/// may gain less.
fn grades_dcg(labels: &[f32], missed: &[f32], gain: &Gain, k: usize) -> Option<f64> {
    if matches!(gain, Gain::Table(gains) if !gains.is_sorted() || gains[0] > 0.0) {
        return None; // the counts below put unjudged items into grade 0
    }
    let counts = count_grades(labels, missed)?;
    let discounts = Discounts::default();
    let (mut place, mut dcg) = (0, 0.0);
    for grade in (1..GRADES).rev().filter(|&grade| counts[grade] > 0) {
        let g = gain_of(gain, grade as f32);
        if g > 0.0 {
            let end = (place + counts[grade] as usize).min(k);
            while place < end {
                dcg += g * discounts.at(place);
                place += 1;
            }
        }
    }
    Some(dcg)
}

const GRADES: usize = 32;

/// How many labels are 0, 1 … 31; unjudged items and labels below 0 count as 0. `None` if one is not whole or
/// greater.
fn count_grades(labels: &[f32], missed: &[f32]) -> Option<[u32; GRADES]> {
    // Adding 2²³ leaves the whole part of a small number in the low bits of its sum: no conversion, no branch.
    const SHIFT: f32 = 8_388_608.0;
    let mut counts = [[0u32; GRADES]; 2]; // two in turn: neighbours often share a grade and would wait for it
    let mut whole = true;
    for part in [labels, missed] {
        for (i, &label) in part.iter().enumerate() {
            let label = if label > 0.0 { label } else { 0.0 };
            let shifted = label + SHIFT;
            whole &= shifted - SHIFT == label;
            whole &= label < GRADES as f32;
            counts[i & 1][shifted.to_bits() as usize & (GRADES - 1)] += 1;
        }
    }
    whole.then(|| std::array::from_fn(|grade| counts[0][grade] + counts[1][grade]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grades_are_counted_and_other_labels_refused() {
        let labels = [0.0, 1.0, 31.0, f32::NAN, -1.0, -0.0, 1.0];
        let counts = count_grades(&labels, &[2.0]).unwrap();
        assert_eq!((counts[0], counts[1], counts[2], counts[31]), (4, 2, 1, 1));
        for odd in [0.5, 31.5, 32.0, 64.0, 1e30, f32::INFINITY, 1e-40] {
            assert_eq!(count_grades(&[1.0, odd], &[]), None, "{odd}");
        }
    }

    #[test]
    fn discounts_beyond_the_table_go_on() {
        let discounts = Discounts::default();
        for place in [0, 1, TABLE - 1, TABLE, TABLE + 7] {
            assert_eq!(discounts.at(place), 1.0 / ((place + 2) as f64).log2());
        }
        assert_eq!(discounts.sum(0, 2), 1.0 + 1.0 / 3.0f64.log2());
    }
}
