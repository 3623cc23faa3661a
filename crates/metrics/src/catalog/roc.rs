//! Areas under the ROC curve: all of it, or the part that matters.

use toprank_core::{Args, Param, ParamError, Policy};

use crate::classes::{both_classes, steps};
use crate::metric::{Metric, TieRule};
use crate::rank::Ranked;

#[doc = include_str!("../pages/auroc.md")]
#[derive(Clone, Copy, Debug)]
pub struct Auroc;

#[doc = include_str!("../pages/pauc.md")]
#[derive(Clone, Copy, Debug)]
pub struct PartialAuroc {
    /// The region's range of false positive rates.
    pub fpr: (f64, f64),
    /// The region's lowest true positive rate.
    pub tpr: f64,
    /// How the area becomes the value.
    pub scale: Scale,
}

/// How a partial area becomes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// The area itself.
    Raw,
    /// The area divided by the region's: 1 is perfect.
    Mean,
    /// McClish: ½ for a random order, 1 is perfect.
    McClish,
}

pub(crate) const PAUC_PARAMS: &[Param] = &[
    Param {
        name: "fpr",
        default: "1",
        range: "in (0, 1]",
        about: "greatest false positive rate of the region",
    },
    Param {
        name: "from",
        default: "0",
        range: "in [0, fpr)",
        about: "smallest false positive rate of the region",
    },
    Param {
        name: "tpr",
        default: "0",
        range: "in [0, 1)",
        about: "smallest true positive rate of the region",
    },
    Param {
        name: "scale",
        default: "mean",
        range: "raw, mean or mcclish",
        about: "the area, the area by the region's size, or McClish's standardised area (random order: 1/2)",
    },
];

impl PartialAuroc {
    pub(crate) fn from_args(args: &Args) -> Result<PartialAuroc, ParamError> {
        let to = args.number("fpr", 1.0, "in (0, 1]", |x| 0.0 < x && x <= 1.0)?;
        let from = args.number("from", 0.0, "in [0, fpr)", |x| (0.0..to).contains(&x))?;
        let tpr = args.number("tpr", 0.0, "in [0, 1)", |x| (0.0..1.0).contains(&x))?;
        let scale = match args.get("scale") {
            None | Some("mean") => Scale::Mean,
            Some("raw") => Scale::Raw,
            Some("mcclish") => Scale::McClish,
            Some(other) => return Err(ParamError::new("scale", other, "raw, mean or mcclish")),
        };
        Ok(PartialAuroc { fpr: (from, to), tpr, scale })
    }

    /// Area inside the region under the straight line from `a` to `b`, points (FPR, TPR).
    fn under(&self, a: (f64, f64), b: (f64, f64)) -> f64 {
        let slope = (b.1 - a.1) / (b.0 - a.0);
        let (x0, x1) = (a.0.max(self.fpr.0), b.0.min(self.fpr.1));
        if x0.partial_cmp(&x1) != Some(std::cmp::Ordering::Less) {
            return 0.0;
        }
        let above = |x: f64| a.1 + slope * (x - a.0) - self.tpr;
        let (y0, y1) = (above(x0), above(x1));
        if y0 >= 0.0 {
            (x1 - x0) * (y0 + y1) / 2.0
        } else if y1 > 0.0 {
            // The line comes up through the region's floor: a triangle.
            y1 * y1 / (2.0 * slope)
        } else {
            0.0
        }
    }
}

impl Metric for Auroc {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let total = both_classes(ranked, policy, true)?;
        let (mut below, mut won) = (total.neg, 0.0);
        for step in steps(ranked, policy, true) {
            won += step.pos * (below - step.neg / 2.0);
            below -= step.neg;
        }
        Some((won / (total.pos * total.neg)).clamp(0.0, 1.0))
    }

    fn takes_item_weights(&self) -> bool {
        true
    }
}

impl Metric for PartialAuroc {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let total = both_classes(ranked, policy, true)?;
        let (mut area, mut seen, mut point) = (0.0, (0.0, 0.0), (0.0, 0.0));
        for step in steps(ranked, policy, true) {
            seen = (seen.0 + step.neg, seen.1 + step.pos);
            let next = (seen.0 / total.neg, seen.1 / total.pos);
            area += self.under(point, next);
            point = next;
        }
        let region = (self.fpr.1 - self.fpr.0) * (1.0 - self.tpr);
        Some(match self.scale {
            Scale::Raw => area,
            Scale::Mean => (area / region).min(1.0),
            Scale::McClish => {
                let random = self.under((0.0, 0.0), (1.0, 1.0));
                // A region where a random order is perfect (FPR near 1) leaves nothing to standardise.
                if region > random { 0.5 * (1.0 + (area - random) / (region - random)) } else { 0.5 }
            }
        })
    }

    fn takes_item_weights(&self) -> bool {
        true
    }

    fn tie_rule(&self, _weighted: bool) -> TieRule {
        TieRule::AtOnce
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::List;

    use crate::testing::{value, value_of};

    #[test]
    fn auroc_is_the_share_of_pairs_in_order() {
        assert_eq!(value("auroc", &[0.9, 0.8, 0.7, 0.6], &[1.0, 0.0, 1.0, 0.0]), Some(3.0 / 4.0));
        assert_eq!(value("auroc", &[0.9, 0.9], &[1.0, 0.0]), Some(1.0 / 2.0));
        assert_eq!(value("auroc", &[0.9, 0.8], &[1.0, 1.0]), None);
    }

    #[test]
    fn an_unjudged_item_is_in_no_pair() {
        assert_eq!(value("auroc", &[0.9, 0.8, 0.7], &[f32::NAN, 1.0, 0.0]), Some(1.0));
    }

    #[test]
    fn weights_count_pairs_by_their_product() {
        let list = List { weights: Some(&[2.0, 3.0, 5.0]), ..List::new(&[0.9, 0.8, 0.7], &[1.0, 0.0, 1.0]) };
        assert_eq!(value_of("auroc", &list), Some(2.0 * 3.0 / (7.0 * 3.0)));
    }

    #[test]
    fn the_partial_area_of_a_known_curve() {
        // One relevant item under one of four others: TPR is 0 up to FPR 1/4, then 1.
        let (scores, labels) = (&[0.9, 0.8, 0.7, 0.6, 0.5], &[0.0, 1.0, 0.0, 0.0, 0.0]);
        for (spec, want) in [
            ("pauc:fpr=0.5:scale=raw", 0.5 - 0.25),
            ("pauc:fpr=0.5", (0.5 - 0.25) / 0.5),
            ("pauc:fpr=0.5:from=0.125", (0.5 - 0.25) / (0.5 - 0.125)),
            ("pauc:fpr=0.5:tpr=0.5:scale=raw", (0.5 - 0.25) * (1.0 - 0.5)),
            ("pauc:fpr=0.5:scale=mcclish", 0.5 * (1.0 + (0.25 - 0.125) / (0.5 - 0.125))),
            ("pauc", 0.75),
        ] {
            assert_eq!(value(spec, scores, labels), Some(want), "{spec}");
        }
    }

    #[test]
    fn a_tie_is_a_straight_line_and_can_cross_the_floor_of_the_region() {
        // All tied: the diagonal. Above TPR 1/2 and up to FPR 1: a triangle of legs 1/2.
        assert_eq!(value("pauc:tpr=0.5:scale=raw", &[1.0; 2], &[1.0, 0.0]), Some(0.5 * 0.5 / 2.0));
        assert_eq!(value("pauc:fpr=0.2:scale=mcclish", &[1.0; 2], &[1.0, 0.0]), Some(0.5));
    }
}
