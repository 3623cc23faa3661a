//! A reader who goes down the list and stops at some point: ERR and RBP.

use toprank_core::{Param, ParamError, Policy, Spec};

use super::at_cut::is_judged;
use super::dcg::places;
use crate::gain::{gain_of, labels_with_gain};
use crate::metric::{Better, Labels, Metric, relevant};
use crate::rank::Ranked;

#[doc = include_str!("../pages/err.md")]
#[derive(Clone, Copy, Debug)]
pub struct ExpectedReciprocalRank {
    /// Places that count; `None`: all.
    pub cut: Option<u32>,
    /// What the probability of stopping comes from.
    pub stop: Stop,
}

/// Probability that a reader is satisfied by an item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// (2^label − 1)/2^max.
    Grade {
        /// The greatest grade.
        max: f64,
    },
    /// The label itself.
    Label,
}

#[doc = include_str!("../pages/rbp.md")]
#[derive(Clone, Copy, Debug)]
pub struct Rbp {
    /// Probability of continuing to the next item (persistence).
    pub persistence: f64,
    /// Whether an item counts its fraction of the greatest gain of the list, instead of 1 or 0.
    pub grades: bool,
}

#[doc = include_str!("../pages/rbp-residual.md")]
#[derive(Clone, Copy, Debug)]
pub struct RbpResidual {
    /// Probability of continuing to the next item (persistence).
    pub persistence: f64,
}

pub(crate) const ERR_PARAMS: &[Param] = &[
    crate::catalog::CUT,
    Param { name: "max", default: "4", range: "in [1, 31]", about: "the greatest grade" },
    Param {
        name: "stop",
        default: "grade",
        range: "grade or label",
        about: "probability of stopping at an item: (2^label - 1)/2^max, or the label itself",
    },
];
const PERSISTENCE: Param = Param {
    name: "p",
    default: "0.8",
    range: "in (0, 1)",
    about: "probability of continuing to the next item (persistence)",
};
pub(crate) const RBP_PARAMS: &[Param] = &[
    PERSISTENCE,
    Param {
        name: "grades",
        default: "no",
        range: "no or yes",
        about: "yes: an item counts its gain divided by the greatest gain among the judged items",
    },
];
pub(crate) const RESIDUAL_PARAMS: &[Param] = &[PERSISTENCE];

pub(crate) fn err(spec: &Spec) -> Result<Box<dyn Metric>, ParamError> {
    let max = spec.args.number("max", 4.0, "in [1, 31]", |x| (1.0..=31.0).contains(&x))?;
    let stop = match spec.args.get("stop") {
        None | Some("grade") => Stop::Grade { max },
        Some("label") => Stop::Label,
        Some(other) => return Err(ParamError::new("stop", other, "grade or label")),
    };
    Ok(Box::new(ExpectedReciprocalRank { cut: spec.cut, stop }))
}

fn persistence(spec: &Spec) -> Result<f64, ParamError> {
    spec.args.number("p", 0.8, "in (0, 1)", |p| 0.0 < p && p < 1.0)
}

pub(crate) fn rbp(spec: &Spec) -> Result<Box<dyn Metric>, ParamError> {
    let grades = match spec.args.get("grades") {
        None | Some("no") => false,
        Some("yes") => true,
        Some(other) => return Err(ParamError::new("grades", other, "no or yes")),
    };
    Ok(Box::new(Rbp { persistence: persistence(spec)?, grades }))
}

pub(crate) fn rbp_residual(spec: &Spec) -> Result<Box<dyn Metric>, ParamError> {
    Ok(Box::new(RbpResidual { persistence: persistence(spec)? }))
}

/// Places of one tie that are worked out one by one; what a reader finds further down a longer tie is put between
/// its bounds. The probability of getting there at all is tiny unless hardly any item of the tie is relevant.
const TIE_PLACES: usize = 1024;

impl ExpectedReciprocalRank {
    fn probability(&self, label: f32) -> f64 {
        let label = f64::from(label.max(0.0)); // an unjudged item stops nobody
        match self.stop {
            Stop::Grade { max } => (label.exp2() - 1.0) / max.exp2(),
            Stop::Label => label,
        }
    }

    /// Σ over the tie's places of P(stop there)/rank for a reader who enters the tie, and P(passes the whole tie).
    ///
    /// With q the probabilities of continuing, p_i = mean over all i of them of their product: the probability of passing i items of
    /// a random order, so p_{i−1} − p_i is the probability of stopping at the i-th. Adding the t-th item to t − 1 others:
    /// p_i ← (1 − i/t)·p_i + (i/t)·q_t·p_{i−1}; nothing cancels.
    fn tie(&self, labels: &[f32], start: usize, free: usize, means: &mut Vec<f64>) -> (f64, f64) {
        let worked = free.min(TIE_PLACES);
        means.clear();
        means.resize(worked + 1, 0.0);
        means[0] = 1.0;
        let mut through = 1.0;
        for (t, &label) in labels.iter().enumerate() {
            let continues = 1.0 - self.probability(label);
            through *= continues;
            let t = (t + 1) as f64;
            for i in (1..=worked.min(t as usize)).rev() {
                let fraction = i as f64 / t;
                means[i] = (1.0 - fraction) * means[i] + fraction * continues * means[i - 1];
            }
        }
        let mut value = 0.0;
        for i in 1..=worked {
            value += (means[i - 1] - means[i]) / (start + i) as f64;
        }
        if free > worked {
            let (near, far) = ((start + worked + 1) as f64, (start + free) as f64);
            value += (means[worked] - through).max(0.0) * (1.0 / near + 1.0 / far) / 2.0;
        }
        (value, through)
    }
}

impl Metric for ExpectedReciprocalRank {
    fn value(&self, ranked: &Ranked, _policy: &Policy) -> Option<f64> {
        // Defined as soon as any judged item can satisfy; the probability decides that, not the yes or no of relevance.
        if !ranked.judged().any(|label| self.probability(label) > 0.0) {
            return None;
        }
        let labels = ranked.labels();
        let k = places(self.cut).min(labels.len());
        let (mut value, mut arrives) = (0.0, 1.0);
        for group in ranked.groups().take_while(|group| group.start < k) {
            if group.len() == 1 {
                let stops = self.probability(labels[group.start]);
                value += arrives * stops / (group.start + 1) as f64;
                arrives *= 1.0 - stops;
            } else {
                let free = group.end.min(k) - group.start;
                let (found, through) =
                    ranked.with_scratch(|means| self.tie(&labels[group.clone()], group.start, free, means));
                value += arrives * found;
                arrives *= through;
            }
            if arrives == 0.0 {
                break;
            }
        }
        Some(value)
    }

    fn depth(&self) -> Option<usize> {
        self.cut.map(|k| k as usize)
    }

    fn rules(&self) -> &'static [&'static str] {
        &[]
    }

    fn labels(&self, _policy: &Policy) -> Labels {
        match self.stop {
            Stop::Grade { max } => {
                Labels { max: max as f32, whole: false, expected: "a label up to err's parameter max" }
            }
            Stop::Label => {
                Labels { max: 1.0, whole: false, expected: "a probability, at most 1, for err:stop=label" }
            }
        }
    }
}

/// (1 − p) Σ p^{rank−1}·counts(label), expected over ties; and p^n.
fn persistent_sum(ranked: &Ranked, p: f64, counts: impl Fn(f32) -> f64) -> (f64, f64) {
    let labels = ranked.labels();
    let (mut sum, mut reach) = (0.0, 1.0);
    for group in ranked.groups() {
        let mean = labels[group.clone()].iter().map(|&y| counts(y)).sum::<f64>() / group.len() as f64;
        for _ in group {
            sum += mean * reach;
            reach *= p;
        }
    }
    ((1.0 - p) * sum, reach)
}

impl Metric for Rbp {
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64> {
        let sum = |counts: &dyn Fn(f32) -> f64| persistent_sum(ranked, self.persistence, counts).0;
        if self.grades {
            let gain = |y: f32| gain_of(&policy.gain, y);
            let greatest = ranked.judged().map(gain).fold(0.0, f64::max);
            (greatest > 0.0).then(|| sum(&|y| gain(y) / greatest))
        } else {
            (relevant(ranked, policy) > 0).then(|| sum(&|y| f64::from(u8::from(policy.relevant.is(y)))))
        }
    }

    fn labels(&self, policy: &Policy) -> Labels {
        if self.grades { labels_with_gain(&policy.gain) } else { Labels::FINITE }
    }

    fn rules(&self) -> &'static [&'static str] {
        if self.grades { &["gain"] } else { &["relevant"] }
    }
}

impl Metric for RbpResidual {
    fn value(&self, ranked: &Ranked, _policy: &Policy) -> Option<f64> {
        let (unjudged, reach) =
            persistent_sum(ranked, self.persistence, |y| f64::from(u8::from(!is_judged(y))));
        (!ranked.is_empty()).then_some(unjudged + reach)
    }

    fn better(&self) -> Better {
        Better::Lower
    }

    fn rules(&self) -> &'static [&'static str] {
        &[]
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::value;

    #[test]
    fn worked_by_hand() {
        let (scores, labels) = (&[0.9, 0.8, 0.7], &[1.0, 0.0, 4.0]);
        let (first, third) = (1.0 / 16.0, 15.0 / 16.0);
        assert_eq!(value("err", scores, labels), Some(first + (1.0 - first) * third / 3.0));
        assert_eq!(value("err@2", scores, labels), Some(first));
        assert_eq!(value("err:stop=label", &[0.9, 0.8], &[0.5, 1.0]), Some(0.5 + 0.5 / 2.0));
        assert_eq!(value("err:stop=label:relevant=>0.5", &[0.9], &[0.25]), Some(0.25));
        assert_eq!(value("err", &[0.9, 0.8], &[0.0, f32::NAN]), None);
        assert_eq!(value("rbp:p=0.5", scores, labels), Some(0.5 * (1.0 + 0.25)));
        assert_eq!(value("rbp:p=0.5:grades=yes:gain=linear", scores, labels), Some(0.5 * (1.0 / 4.0 + 0.25)));
        assert_eq!(value("rbp-residual:p=0.5", scores, &[1.0, f32::NAN, 0.0]), Some(0.5 * 0.5 + 0.125));
    }

    #[test]
    fn a_tie_too_long_to_be_worked_out_stays_between_its_bounds() {
        // One sure stop among n tied items: its place is uniform, so the value is H_n/n.
        for n in [1000usize, 1024, 1025, 5000] {
            let mut labels = vec![0.0; n];
            labels[0] = 1.0;
            let got = value("err:stop=label", &vec![1.0; n], &labels).unwrap();
            let want = (1..=n).map(|i| 1.0 / i as f64).sum::<f64>() / n as f64;
            let slack = if n <= 1024 { 1e-15 } else { 5e-4 };
            assert!((got - want).abs() <= slack, "n = {n}: {got}, exact {want}");
        }
    }
}
