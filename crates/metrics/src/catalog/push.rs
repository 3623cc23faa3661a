//! The top of a list against the highest items that do not belong there: top push, p-norm push, pAp@K.

use toprank_core::{Param, ParamError, Policy, Spec};

use crate::classes::{Step, both_classes, steps};
use crate::metric::{Better, Metric};
use crate::rank::Ranked;

#[doc = include_str!("../pages/top-push.md")]
#[derive(Clone, Copy, Debug)]
pub struct TopPush;

#[doc = include_str!("../pages/p-norm-push.md")]
#[derive(Clone, Copy, Debug)]
pub struct PNormPush {
    /// The power.
    pub power: f64,
    /// Whose neighbours are counted.
    pub anchor: Anchor,
}

/// Whose neighbours the p-norm push counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// For each item that is not relevant: relevant items below it.
    Irrelevant,
    /// For each relevant item: others above it.
    Relevant,
}

#[doc = include_str!("../pages/pap.md")]
#[derive(Clone, Copy, Debug)]
pub struct PapAtK {
    /// How many of each class; `None`: all.
    pub cut: Option<u32>,
}

pub(crate) const PUSH_PARAMS: &[Param] = &[
    Param { name: "p", default: "4", range: "in [1, 1000]", about: "the power" },
    Param {
        name: "anchor",
        default: "irrelevant",
        range: "irrelevant or relevant",
        about: "count relevant items below each other item, or others above each relevant item",
    },
];

pub(crate) fn p_norm_push(spec: &Spec) -> Result<Box<dyn Metric>, ParamError> {
    let power = spec.args.number("p", 4.0, "in [1, 1000]", |p| (1.0..=1000.0).contains(&p))?;
    let anchor = match spec.args.get("anchor") {
        None | Some("irrelevant") => Anchor::Irrelevant,
        Some("relevant") => Anchor::Relevant,
        Some(other) => return Err(ParamError::new("anchor", other, "irrelevant or relevant")),
    };
    Ok(Box::new(PNormPush { power, anchor }))
}

impl Metric for TopPush {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let total = both_classes(ranked, policy, false)?;
        let mut above = 0.0;
        for Step { pos, neg } in steps(ranked, policy, false) {
            // Of q tied others, the highest leaves each tied relevant item above it with probability 1/(q + 1).
            above += pos / (neg + 1.0);
            if neg > 0.0 {
                break;
            }
        }
        Some(above / total.pos)
    }
}

impl Metric for PNormPush {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let total = both_classes(ranked, policy, false)?;
        let (mut sum, mut seen) = (0.0, Step::default());
        for Step { pos, neg } in steps(ranked, policy, false) {
            // `certain` opponents for each of `anchors`, and 0 … `tied` more, each number equally likely.
            let (anchors, opponents, certain, tied) = match self.anchor {
                Anchor::Irrelevant => (neg, total.pos, total.pos - seen.pos - pos, pos),
                Anchor::Relevant => (pos, total.neg, seen.neg, neg),
            };
            if anchors > 0.0 {
                let power = |x: usize| ((certain + x as f64) / opponents).powf(self.power);
                let mean = (0..=tied as usize).map(power).sum::<f64>() / (tied + 1.0);
                sum += anchors * mean;
            }
            seen = Step { pos: seen.pos + pos, neg: seen.neg + neg };
        }
        Some(sum / if self.anchor == Anchor::Irrelevant { total.neg } else { total.pos })
    }

    fn better(&self) -> Better {
        Better::Lower
    }
}

/// Expected number of pairs in order between the first `a` of `r` relevant and the first `b` of `q` other items,
/// all of them tied.
///
/// X relevant items are above the j-th other with probability C(x+j−1, x)·C(r−x+q−j, r−x)/C(r+q, r); of the first a
/// relevant ones min(X, a) are then in order with it.
fn tied_pairs(r: usize, q: usize, a: usize, b: usize) -> f64 {
    if b == q {
        // Every other item counts: X is uniform on 0 … r.
        let sum: f64 = (0..=r).map(|x| x.min(a) as f64).sum();
        return q as f64 * sum / (r + 1) as f64;
    }
    if a == r {
        // Mirror image: the others below a relevant item, counted from the bottom.
        return (r * b) as f64 - r as f64 * (0..=q).map(|x| x.min(b) as f64).sum::<f64>() / (q + 1) as f64;
    }
    let mut pairs = 0.0;
    // Probability of x = 0 for j = 1: the first of all is an other item, q/(r + q).
    let mut none = q as f64 / (r + q) as f64;
    for j in 1..=b {
        let (mut probability, mut below, mut mean) = (none, 0.0, 0.0);
        for x in 0..a {
            below += probability;
            mean += probability * x as f64;
            probability *= ((x + j) * (r - x)) as f64 / ((x + 1) * (r - x + q - j)) as f64;
        }
        pairs += mean + (1.0 - below) * a as f64;
        none *= (q - j) as f64 / (r + q - j) as f64;
    }
    pairs
}

impl Metric for PapAtK {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let total = both_classes(ranked, policy, false)?;
        let k = self.cut.map_or(usize::MAX, |k| k as usize);
        let (k_pos, k_neg) = (k.min(total.pos as usize), k.min(total.neg as usize));
        let (mut left_pos, mut left_neg, mut pairs) = (k_pos, k_neg, 0.0);
        for step in steps(ranked, policy, false) {
            let (r, q) = (step.pos as usize, step.neg as usize);
            let (a, b) = (r.min(left_pos), q.min(left_neg));
            left_pos -= a;
            left_neg -= b;
            if a > 0 && b > 0 {
                pairs += tied_pairs(r, q, a, b);
            }
            pairs += a as f64 * left_neg as f64;
            if left_pos == 0 || left_neg == 0 {
                break;
            }
        }
        Some(pairs / (k_pos as f64 * k_neg as f64))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::value;

    #[test]
    fn worked_by_hand() {
        let (scores, labels) = (&[0.9, 0.8, 0.7, 0.6, 0.5], &[1.0, 0.0, 1.0, 0.0, 1.0]);
        for (spec, want) in [
            ("top-push", 1.0 / 3.0),
            ("p-norm-push:p=2", ((2.0f64 / 3.0).powi(2) + (1.0f64 / 3.0).powi(2)) / 2.0),
            ("p-norm-push:p=2:anchor=relevant", (0.0 + 0.25 + 1.0) / 3.0),
            ("pap@1", 1.0),
            ("pap@2", 3.0 / 4.0),
            ("pap", 3.0 / 6.0),
        ] {
            let got = value(spec, scores, labels).unwrap();
            assert!((got - want).abs() < 1e-15, "{spec}: {got} instead of {want}");
        }
    }

    #[test]
    fn without_a_power_the_push_is_what_auroc_lacks() {
        let (scores, labels) = (&[3.0, 3.0, 2.0, 1.0, 1.0, 0.0], &[1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
        let auroc = value("auroc", scores, labels).unwrap();
        for spec in ["p-norm-push:p=1", "p-norm-push:p=1:anchor=relevant"] {
            assert!((value(spec, scores, labels).unwrap() - (1.0 - auroc)).abs() < 1e-15, "{spec}");
        }
        assert!((value("pap", scores, labels).unwrap() - auroc).abs() < 1e-15);
    }
}
