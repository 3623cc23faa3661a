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

/// DCG of the best possible order, its first `k` places.
pub(crate) fn ideal_dcg(ranked: &Ranked, policy: &Policy, k: usize) -> f64 {
    let missed = if policy.ideal == Ideal::Judged { ranked.missed() } else { &[] };
    grades_dcg(ranked.labels(), missed, &policy.gain, k).unwrap_or_else(|| {
        ranked.with_scratch(|gains| {
            let labels = ranked.labels().iter().chain(missed);
            gains.extend(labels.map(|&y| gain_of(&policy.gain, y)).filter(|&g| g > 0.0));
            gains.sort_unstable_by(|a, b| b.total_cmp(a));
            let discounts = Discounts::default();
            gains.iter().take(k).enumerate().map(|(place, g)| g * discounts.at(place)).sum()
        })
    })
}

/// The same by counting whole labels 0 … 31, without a sort; `None` if there are others, or if a greater label
/// may gain less.
fn grades_dcg(labels: &[f32], missed: &[f32], gain: &Gain, k: usize) -> Option<f64> {
    const GRADES: usize = 32;
    if matches!(gain, Gain::Table(gains) if !gains.is_sorted() || gains[0] > 0.0) {
        return None; // the counts below put unjudged items into grade 0
    }
    let mut counts = [0usize; GRADES];
    let mut whole = true;
    for &label in labels.iter().chain(missed) {
        let grade = label as usize;
        whole &= grade as f32 == label || label.is_nan() || label < 0.0;
        counts[grade.min(GRADES - 1)] += 1;
        whole &= grade < GRADES;
    }
    if !whole {
        return None;
    }
    let discounts = Discounts::default();
    let (mut place, mut dcg) = (0, 0.0);
    for grade in (0..GRADES).rev() {
        let g = if counts[grade] > 0 { gain_of(gain, grade as f32) } else { 0.0 };
        if g > 0.0 {
            let end = (place + counts[grade]).min(k);
            while place < end {
                dcg += g * discounts.at(place);
                place += 1;
            }
        }
    }
    Some(dcg)
}
