//! The family of metrics that count items in the first k places: precision, R-precision, recall, success, F1, judged.

use toprank_core::{Param, ParamError, Policy, Short, Spec};

use super::dcg::places;
use crate::metric::{Metric, Top, relevant};
use crate::rank::Ranked;

#[doc = include_str!("../pages/p.md")]
#[derive(Clone, Copy, Debug)]
pub struct Precision {
    /// Places that count; `None`: all retrieved items.
    pub cut: Option<u32>,
}

#[doc = include_str!("../pages/recall.md")]
#[derive(Clone, Copy, Debug)]
pub struct Recall {
    /// Places that count; `None`: all retrieved items.
    pub cut: Option<u32>,
}

#[doc = include_str!("../pages/success.md")]
#[derive(Clone, Copy, Debug)]
pub struct Success {
    /// Places that count; `None`: all retrieved items.
    pub cut: Option<u32>,
}

#[doc = include_str!("../pages/f1.md")]
#[derive(Clone, Copy, Debug)]
pub struct F1 {
    /// Places that count; `None`: all retrieved items.
    pub cut: Option<u32>,
}

#[doc = include_str!("../pages/judged.md")]
#[derive(Clone, Copy, Debug)]
pub struct Judged {
    /// Places that count; `None`: all retrieved items.
    pub cut: Option<u32>,
}

#[doc = include_str!("../pages/rprec.md")]
#[derive(Clone, Copy, Debug)]
pub struct RPrecision {
    /// Multiple of R at which precision is taken.
    pub times: f64,
}

pub(crate) const RPREC_PARAMS: &[Param] =
    &[Param { name: "times", default: "1", range: "in (0, 1000]", about: "multiple of R" }];

pub(crate) fn rprec(spec: &Spec) -> Result<Box<dyn Metric>, ParamError> {
    let times = spec.args.number("times", 1.0, "in (0, 1000]", |x| 0.0 < x && x <= 1000.0)?;
    Ok(Box::new(RPrecision { times }))
}

/// Whether an item was judged at all: TREC writes −1 for an item that was pooled but not judged.
pub(crate) fn is_judged(label: f32) -> bool {
    label >= 0.0
}

/// What a fraction of the first k places is divided by.
fn divisor(cut: Option<u32>, short: Short, n: usize) -> f64 {
    match (cut, short) {
        (None, _) => n as f64,
        (Some(k), Short::K) => f64::from(k),
        (Some(k), Short::Length) => n.min(k as usize) as f64,
    }
}

/// Relevant items among the first k places, and in all; `None` if there are none in all.
fn hits(ranked: &Ranked, policy: &Policy, cut: Option<u32>) -> Option<(Top, f64)> {
    let total = relevant(ranked, policy);
    (total > 0).then(|| (Top::count(ranked, places(cut), |y| policy.relevant.is(y)), total as f64))
}

impl Metric for Precision {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let (top, _) = hits(ranked, policy, self.cut)?;
        // Nothing retrieved: no hit, whatever it is divided by.
        Some(top.expected() / divisor(self.cut, policy.short, ranked.len()).max(1.0))
    }

    fn depth(&self) -> Option<usize> {
        self.cut.map(|k| k as usize)
    }

    fn rules(&self) -> &'static [&'static str] {
        if self.cut.is_some() { &["relevant", "short"] } else { &["relevant"] }
    }
}

impl Metric for RPrecision {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let total = relevant(ranked, policy);
        let cut = ((self.times * total as f64 + 0.9) as usize).max(1);
        let top = Top::count(ranked, cut, |y| policy.relevant.is(y));
        (total > 0).then(|| top.expected() / cut as f64)
    }
}

impl Metric for Recall {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let (top, total) = hits(ranked, policy, self.cut)?;
        Some(top.expected() / total)
    }

    fn depth(&self) -> Option<usize> {
        self.cut.map(|k| k as usize)
    }
}

impl Metric for Success {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let (top, _) = hits(ranked, policy, self.cut)?;
        Some(1.0 - top.probability_of_none())
    }

    fn depth(&self) -> Option<usize> {
        self.cut.map(|k| k as usize)
    }
}

impl Metric for F1 {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let (top, total) = hits(ranked, policy, self.cut)?;
        // 2PR/(P + R) with P = h/d and R = h/total: linear in h, so the expected h gives the expected value.
        Some(2.0 * top.expected() / (divisor(self.cut, policy.short, ranked.len()) + total))
    }

    fn depth(&self) -> Option<usize> {
        self.cut.map(|k| k as usize)
    }

    fn rules(&self) -> &'static [&'static str] {
        if self.cut.is_some() { &["relevant", "short"] } else { &["relevant"] }
    }
}

impl Metric for Judged {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let top = Top::count(ranked, places(self.cut), |y| !is_judged(y));
        let places = divisor(self.cut, policy.short, ranked.len());
        (places > 0.0).then(|| 1.0 - top.expected() / places)
    }

    fn depth(&self) -> Option<usize> {
        self.cut.map(|k| k as usize)
    }

    fn rules(&self) -> &'static [&'static str] {
        if self.cut.is_some() { &["short"] } else { &[] }
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::List;

    use crate::testing::{value, value_of};

    #[test]
    fn worked_by_hand() {
        let (scores, labels) = (&[0.9, 0.8, 0.7, 0.6], &[1.0, 0.0, 0.0, 1.0]);
        for (spec, want) in [
            ("p@1", 1.0),
            ("p@2", 1.0 / 2.0),
            ("p", 2.0 / 4.0),
            ("p@8", 2.0 / 8.0),
            ("p@8:short=length", 2.0 / 4.0),
            ("recall@2", 1.0 / 2.0),
            ("recall", 1.0),
            ("success@1", 1.0),
            ("f1@1", 2.0 * (1.0 * 0.5) / (1.0 + 0.5)),
        ] {
            assert_eq!(value(spec, scores, labels), Some(want), "{spec}");
        }
    }

    #[test]
    fn relevant_items_that_were_not_retrieved_count_in_recall() {
        let list = List { missed: &[1.0, 0.0, 2.0], ..List::new(&[0.5, 0.4], &[1.0, 0.0]) };
        assert_eq!(value_of("recall", &list), Some(1.0 / 3.0));
        assert_eq!(value_of("p", &list), Some(1.0 / 2.0));
        let nothing = List { missed: &[1.0], ..List::new(&[], &[]) };
        for spec in ["p", "p@5", "recall@5", "success@5", "f1", "map", "mrr", "ndcg"] {
            assert_eq!(value_of(spec, &nothing), Some(0.0), "{spec}");
        }
    }

    #[test]
    fn the_chance_of_a_hit_among_tied_items_is_hypergeometric() {
        // Two of five tied items are relevant, three places: 1 − C(3,3)/C(5,3).
        let got = value("success@3", &[1.0; 5], &[1.0, 1.0, 0.0, 0.0, 0.0]).unwrap();
        assert!((got - (1.0 - 1.0 / 10.0)).abs() < 1e-15);
    }

    #[test]
    fn a_place_that_is_not_there_is_not_unjudged() {
        let labels = &[1.0, f32::NAN, -1.0];
        assert_eq!(value("judged@2", &[0.9, 0.8, 0.7], labels), Some(1.0 - 1.0 / 2.0));
        assert_eq!(value("judged@10", &[0.9, 0.8, 0.7], labels), Some(1.0 - 2.0 / 10.0));
        assert_eq!(value("judged@10", &[], &[]), Some(1.0));
        assert_eq!(value("judged", &[], &[]), None);
        assert_eq!(value("judged@10:short=length", &[0.9, 0.8, 0.7], labels), Some(1.0 - 2.0 / 3.0));
    }

    #[test]
    fn divided_by_the_length_judged_is_that_of_ir_measures() {
        // Documents a, x, b of which a and b are judged; the values are those that ir_measures 0.4.3 prints.
        let (scores, labels) = (&[3.0, 2.0, 1.0], &[1.0, f32::NAN, 0.0]);
        assert_eq!(value("judged@2:short=length", scores, labels), Some(0.5));
        let at_10 = value("judged@10:short=length", scores, labels).unwrap();
        assert!((at_10 - 0.666_666_666_666_666_6).abs() < 1e-15);
    }
}
