//! The precision-recall curve: its area, and single points of it.

use toprank_core::{Args, Param, ParamError, Policy, Spec};

use super::at_cut::{Precision, Recall};
use crate::classes::{Step, steps};
use crate::metric::{Metric, TieRule, relevant};
use crate::rank::Ranked;

/// A rate reached up to rounding counts as reached: 0.55 · 20 is not quite 11.
const ROUNDING: f64 = 1.0 - 1e-9;

#[doc = include_str!("../pages/auprc.md")]
#[derive(Clone, Copy, Debug)]
pub struct Auprc {
    /// Which area.
    pub form: Form,
}

/// Which area under the precision-recall curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Average precision, expected over ties; with item weights as [`Form::Grouped`].
    Ap,
    /// Average precision, tied items entering at once.
    Grouped,
    /// Area under the curve interpolated after Davis and Goadrich.
    Area,
}

/// Precision at the first threshold that reaches a recall; see the page of [`Precision`].
#[derive(Clone, Copy, Debug)]
pub struct PrecisionAtRecall {
    /// The recall.
    pub recall: f64,
}

/// Greatest recall of a threshold that keeps a precision; see the page of [`Recall`].
#[derive(Clone, Copy, Debug)]
pub struct RecallAtPrecision {
    /// The precision.
    pub precision: f64,
}

#[doc = include_str!("../pages/iprec.md")]
#[derive(Clone, Copy, Debug)]
pub struct InterpolatedPrecision {
    /// The recall.
    pub recall: f64,
    /// How many relevant items it asks for.
    pub count: Count,
}

/// How a fraction of the relevant items becomes a number of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// The nearest integer (trec_eval 10).
    Nearest,
    /// ⌊fraction · R + 0.9⌋ (trec_eval up to 9, pytrec_eval).
    Up,
}

impl Count {
    fn from_args(args: &Args) -> Result<Count, ParamError> {
        match args.get("count") {
            None | Some("nearest") => Ok(Count::Nearest),
            Some("up") => Ok(Count::Up),
            Some(other) => Err(ParamError::new("count", other, COUNT.range)),
        }
    }

    fn of(self, fraction: f64, total: usize) -> usize {
        match self {
            Count::Nearest => (fraction * total as f64).round() as usize,
            Count::Up => (fraction * total as f64 + 0.9) as usize,
        }
    }
}

#[doc = include_str!("../pages/11pt.md")]
#[derive(Clone, Debug)]
pub struct ElevenPoint {
    /// The recalls.
    pub points: Vec<f64>,
    /// How many relevant items each asks for.
    pub count: Count,
}

pub(crate) const AUPRC_PARAMS: &[Param] = &[Param {
    name: "form",
    default: "ap",
    range: "ap, grouped or area",
    about: "average precision, the same with tied items entering at once (scikit-learn), or the interpolated area",
}];
pub(crate) const P_PARAMS: &[Param] = &[
    crate::catalog::CUT,
    Param {
        name: "recall",
        default: "none",
        range: "in (0, 1]",
        about: "evaluate at the first threshold with this recall instead of at a cut-off",
    },
];
pub(crate) const RECALL_PARAMS: &[Param] = &[
    crate::catalog::CUT,
    Param {
        name: "precision",
        default: "none",
        range: "in (0, 1]",
        about: "evaluate at the lowest threshold with this precision instead of at a cut-off",
    },
];
const COUNT: Param = Param {
    name: "count",
    default: "nearest",
    range: "nearest or up",
    about: "how recall · R becomes a number of items: the nearest, or + 0.9 cut off (trec_eval 9)",
};
pub(crate) const IPREC_PARAMS: &[Param] =
    &[Param { name: "recall", default: "0.1", range: "in [0, 1]", about: "from which recall on" }, COUNT];
pub(crate) const ELEVEN_PARAMS: &[Param] = &[
    Param {
        name: "points",
        default: "0/0.1/0.2/0.3/0.4/0.5/0.6/0.7/0.8/0.9/1",
        range: "numbers in [0, 1], separated by /",
        about: "the recalls",
    },
    COUNT,
];

pub(crate) fn p(spec: &Spec) -> Result<Box<dyn Metric>, ParamError> {
    let Some(text) = spec.args.get("recall") else { return Ok(Box::new(Precision { cut: spec.cut })) };
    no_cut(spec, "recall", text)?;
    let recall = spec.args.number("recall", 1.0, "in (0, 1]", |x| 0.0 < x && x <= 1.0)?;
    Ok(Box::new(PrecisionAtRecall { recall }))
}

pub(crate) fn recall(spec: &Spec) -> Result<Box<dyn Metric>, ParamError> {
    let Some(text) = spec.args.get("precision") else { return Ok(Box::new(Recall { cut: spec.cut })) };
    no_cut(spec, "precision", text)?;
    let precision = spec.args.number("precision", 1.0, "in (0, 1]", |x| 0.0 < x && x <= 1.0)?;
    Ok(Box::new(RecallAtPrecision { precision }))
}

fn no_cut(spec: &Spec, key: &str, found: &str) -> Result<(), ParamError> {
    match spec.cut {
        None => Ok(()),
        Some(k) => Err(ParamError::new(key, found, &format!("omitted beside the cut-off @{k}"))),
    }
}

pub(crate) fn auprc(spec: &Spec) -> Result<Box<dyn Metric>, ParamError> {
    let form = match spec.args.get("form") {
        None | Some("ap") => Form::Ap,
        Some("grouped") => Form::Grouped,
        Some("area") => Form::Area,
        Some(other) => return Err(ParamError::new("form", other, "ap, grouped or area")),
    };
    Ok(Box::new(Auprc { form }))
}

pub(crate) fn iprec(spec: &Spec) -> Result<Box<dyn Metric>, ParamError> {
    let recall = spec.args.number("recall", 0.1, "in [0, 1]", |x| (0.0..=1.0).contains(&x))?;
    Ok(Box::new(InterpolatedPrecision { recall, count: Count::from_args(&spec.args)? }))
}

pub(crate) fn eleven_point(spec: &Spec) -> Result<Box<dyn Metric>, ParamError> {
    let text = spec.args.get("points").unwrap_or(ELEVEN_PARAMS[0].default);
    let points: Result<Vec<f64>, _> = text.split('/').map(str::parse).collect();
    let count = Count::from_args(&spec.args)?;
    match points {
        Ok(points) if points.iter().all(|x| (0.0..=1.0).contains(x)) => {
            Ok(Box::new(ElevenPoint { points, count }))
        }
        _ => Err(ParamError::new("points", text, ELEVEN_PARAMS[0].range)),
    }
}

/// Relevant items (by weight) that recall is measured against: those of the list and those not retrieved, which
/// weigh 1. `None` if there are none.
fn recall_base(ranked: &Ranked, policy: &Policy) -> Option<f64> {
    let missed = ranked.missed().iter().filter(|&&y| policy.relevant.is(y)).count() as f64;
    let total = steps(ranked, policy, true).map(|step| step.pos).sum::<f64>() + missed;
    (total > 0.0).then_some(total)
}

/// Points of the curve as (true positives, false positives) before and after each step.
fn curve<'a>(ranked: &Ranked<'a>, policy: &'a Policy) -> impl Iterator<Item = (Step, Step)> + use<'a> {
    steps(ranked, policy, true).scan(Step::default(), |seen, step| {
        let before = *seen;
        *seen = Step { pos: seen.pos + step.pos, neg: seen.neg + step.neg };
        Some((before, *seen))
    })
}

fn precision(at: Step) -> f64 {
    if at.pos > 0.0 { at.pos / (at.pos + at.neg) } else { 0.0 }
}

/// Expected sum of precisions at the relevant items of a tie (the rule of `map`), unjudged items excluded.
fn expected_precisions(before: Step, after: Step) -> f64 {
    let r = after.pos - before.pos;
    let m = r + after.neg - before.neg;
    if r == 0.0 {
        return 0.0;
    }
    let step = if m > 1.0 { (r - 1.0) / (m - 1.0) } else { 0.0 };
    let above = before.pos + before.neg;
    let sum: f64 =
        (0..m as usize).map(|i| (before.pos + 1.0 + i as f64 * step) / (above + 1.0 + i as f64)).sum();
    (r / m) * sum
}

/// ∫ precision d(true positives) along a step on which true and false positives grow together.
///
/// With h = ΔFP/ΔTP and c = FP₀ − h·TP₀ the precision at t true positives is t/((1 + h)t + c).
fn interpolated_area(before: Step, after: Step) -> f64 {
    let dt = after.pos - before.pos;
    if dt == 0.0 {
        return 0.0;
    }
    let h = (after.neg - before.neg) / dt;
    let c = before.neg - h * before.pos;
    let start = before.pos + before.neg;
    let curved = if c == 0.0 { 0.0 } else { c / (1.0 + h) * ((1.0 + h) * dt / start).ln_1p() };
    (dt - curved) / (1.0 + h)
}

impl Metric for Auprc {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let total = recall_base(ranked, policy)?;
        let weighted = ranked.weights().is_some();
        let sum: f64 = curve(ranked, policy)
            .map(|(before, after)| match self.form {
                Form::Ap if !weighted => expected_precisions(before, after),
                // With weights the expected value has no closed form that is known.
                Form::Ap | Form::Grouped => (after.pos - before.pos) * precision(after),
                Form::Area => interpolated_area(before, after),
            })
            .sum();
        Some((sum / total).min(1.0))
    }

    fn takes_item_weights(&self) -> bool {
        true
    }

    fn tie_rule(&self, weighted: bool) -> TieRule {
        if self.form == Form::Ap && !weighted { TieRule::Expected } else { TieRule::AtOnce }
    }
}

impl Metric for PrecisionAtRecall {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let wanted = recall_base(ranked, policy)? * self.recall * ROUNDING;
        let reached = curve(ranked, policy).find(|(_, after)| after.pos >= wanted);
        Some(reached.map_or(0.0, |(_, after)| precision(after)))
    }

    fn takes_item_weights(&self) -> bool {
        true
    }

    fn tie_rule(&self, _weighted: bool) -> TieRule {
        TieRule::AtOnce
    }
}

impl Metric for RecallAtPrecision {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let total = recall_base(ranked, policy)?;
        let good = curve(ranked, policy).filter(|(_, after)| precision(*after) >= self.precision * ROUNDING);
        Some(good.map(|(_, after)| after.pos / total).fold(0.0, f64::max))
    }

    fn takes_item_weights(&self) -> bool {
        true
    }

    fn tie_rule(&self, _weighted: bool) -> TieRule {
        TieRule::AtOnce
    }
}

/// Greatest precision at any place up to which `needed` relevant items (at least one) have been seen. Unjudged items
/// count as not relevant here, as they do in trec_eval.
fn interpolated(ranked: &Ranked, policy: &Policy, needed: usize) -> f64 {
    let labels = ranked.labels();
    let (mut seen, mut best) = (0, 0.0f64);
    for group in ranked.groups() {
        seen += labels[group.clone()].iter().filter(|&&y| policy.relevant.is(y)).count();
        if seen >= needed.max(1) {
            best = best.max(seen as f64 / group.end as f64);
        }
    }
    best
}

impl Metric for InterpolatedPrecision {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let total = relevant(ranked, policy);
        let needed = self.count.of(self.recall, total);
        (total > 0).then(|| interpolated(ranked, policy, needed))
    }

    fn tie_rule(&self, _weighted: bool) -> TieRule {
        TieRule::AtOnce
    }
}

impl Metric for ElevenPoint {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let total = relevant(ranked, policy);
        let at = |recall: &f64| interpolated(ranked, policy, self.count.of(*recall, total));
        let sum: f64 = self.points.iter().map(at).sum();
        (total > 0).then(|| sum / self.points.len() as f64)
    }

    fn tie_rule(&self, _weighted: bool) -> TieRule {
        TieRule::AtOnce
    }
}

#[cfg(test)]
mod tests {
    use toprank_core::List;

    use crate::testing::{value, value_of};

    const SCORES: &[f64] = &[0.9, 0.8, 0.7, 0.6];
    const LABELS: &[f32] = &[1.0, 0.0, 1.0, 0.0];

    #[test]
    fn worked_by_hand() {
        let area = (1.0 + (1.0 - (3.0f64 / 2.0).ln())) / 2.0; // ∫ t/(t + 1) dt from 1 to 2 is 1 − ln(3/2)
        for (spec, want) in [
            ("auprc", (1.0 + 2.0 / 3.0) / 2.0),
            ("auprc:form=grouped", (1.0 + 2.0 / 3.0) / 2.0),
            ("auprc:form=area", area),
            ("p:recall=0.5", 1.0),
            ("p:recall=0.6", 2.0 / 3.0),
            ("recall:precision=0.9", 1.0 / 2.0),
            ("recall:precision=0.6", 1.0),
            ("iprec:recall=1", 2.0 / 3.0),
            ("iprec:recall=0", 1.0),
            ("iprec:recall=0.6", 1.0),                // round(1.2) = 1 relevant item
            ("iprec:recall=0.6:count=up", 2.0 / 3.0), // 1.2 + 0.9 = 2.1, so 2
            ("11pt:points=0/1", (1.0 + 2.0 / 3.0) / 2.0),
        ] {
            let got = value(spec, SCORES, LABELS).unwrap();
            assert!((got - want).abs() < 1e-15, "{spec}: {got} instead of {want}");
        }
    }

    #[test]
    fn tied_items_enter_the_grouped_form_at_once() {
        assert_eq!(value("auprc:form=grouped", &[1.0; 4], LABELS), Some(2.0 / 4.0));
        assert_eq!(value("auprc:form=area", &[1.0; 4], LABELS), Some(2.0 / 4.0));
        assert_eq!(value("auprc", &[1.0; 4], LABELS), value("map", &[1.0; 4], LABELS));
    }

    #[test]
    fn a_label_below_0_is_of_the_other_class_to_a_threshold_and_unjudged_to_trec() {
        let scores = &[0.9, 0.8, 0.7];
        for spec in ["auroc", "auprc", "auprc:form=grouped", "auprc:form=area", "pauc:fpr=0.5", "p:recall=1"]
        {
            let (minus, zero) =
                (value(spec, scores, &[-1.0, 1.0, 0.0]), value(spec, scores, &[0.0, 1.0, 0.0]));
            assert_eq!(minus, zero, "{spec}");
        }
        for spec in ["bpref", "judged@2"] {
            let minus = value(spec, scores, &[-1.0, 1.0, 0.0]);
            assert_eq!(minus, value(spec, scores, &[f32::NAN, 1.0, 0.0]), "{spec}");
            assert_ne!(minus, value(spec, scores, &[0.0, 1.0, 0.0]), "{spec}");
        }
    }

    #[test]
    fn with_item_weights_average_precision_takes_tied_items_at_once() {
        let list = List { weights: Some(&[2.0, 1.0, 1.0, 1.0]), ..List::new(&[1.0; 4], LABELS) };
        assert_eq!(value_of("auprc", &list), Some(3.0 / 5.0));
        assert_eq!(value_of("auprc", &list), value_of("auprc:form=grouped", &list));
    }

    #[test]
    fn a_recall_that_rounding_just_misses_is_reached() {
        let labels: Vec<f32> = (0..40).map(|i| f32::from(u8::from(!(11..=30).contains(&i)))).collect();
        let scores: Vec<f64> = (0..40).map(|i| -f64::from(i)).collect();
        assert_eq!(value("p:recall=0.55", &scores, &labels), Some(1.0)); // 11 of 20
    }

    #[test]
    fn an_item_of_weight_two_is_two_items() {
        let list = List { weights: Some(&[2.0, 1.0, 2.0, 1.0]), ..List::new(SCORES, LABELS) };
        let twice_scores = [0.9, 0.9, 0.8, 0.7, 0.7, 0.6];
        let twice_labels = [1.0, 1.0, 0.0, 1.0, 1.0, 0.0];
        for spec in ["auprc:form=grouped", "auprc:form=area", "p:recall=0.6", "recall:precision=0.9", "auroc"]
        {
            assert_eq!(value_of(spec, &list), value(spec, &twice_scores, &twice_labels), "{spec}");
        }
    }
}
