/*!
Policy: how a metric is defined where its textbook formula leaves it open.

The gain of a label, the order of equal scores, the value of a list without a relevant item, the items of the ideal order, the
divisor of MAP@k. The policy is printed with every result and is the same in training and evaluation. Other tools have other
conventions; they are presets in the crate `toprank-metrics`.
*/

use serde::{Deserialize, Serialize};

/// The rules of a metric in edge cases.
///
/// ```
/// use toprank_core::{Policy, Ties};
/// let policy = Policy { ties: Ties::Worst, ..Policy::default() };
/// assert_eq!(policy.to_string(), "gain=exp2 ties=worst empty=skip relevant=>0 ideal=judged divisor=relevant short=k scores=f64");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Gain of a label in DCG.
    pub gain: Gain,
    /// Order among equal scores.
    pub ties: Ties,
    /// Value of a list on which the metric is undefined.
    pub empty: Empty,
    /// Which labels are relevant for metrics of binary relevance.
    pub relevant: Relevant,
    /// Items that the ideal order may use.
    pub ideal: Ideal,
    /// What AP@k divides by.
    pub divisor: Divisor,
    /// What P@k divides by on a list shorter than k.
    pub short: Short,
    /// Precision in which scores are compared.
    pub scores: ScoreBits,
}

/// Gain of a label in DCG. Labels below 0 and unlabelled items have gain 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gain {
    /// 2^label − 1.
    #[default]
    Exp2,
    /// The label itself.
    Linear,
    /// A table of gains for labels 0, 1, 2, …; a label beyond the table or that is not an integer is an error.
    Table(Vec<f64>),
}

/// Order among items of equal score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ties {
    /// The expected value over all orders of the tied items, exact.
    #[default]
    Averaged,
    /// By item name, descending (trec_eval). Needs `tie_keys`; items without names fall back to input order.
    Trec,
    /// The order in which the items were given (LightGBM, XGBoost).
    Input,
    /// Least relevant first (CatBoost): the lowest value of all tie-breaking rules.
    Worst,
}

/// Value of a list on which a metric is undefined (for most: no relevant item).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Empty {
    /// The list is excluded from the mean, with its weight.
    #[default]
    Skip,
    /// The list counts as 0.
    Zero,
    /// The list counts as 1.
    One,
}

/// Which labels are relevant for metrics of binary relevance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Relevant {
    /// label > t.
    Above(f32),
    /// label ≥ t.
    From(f32),
}

impl Default for Relevant {
    fn default() -> Relevant {
        Relevant::Above(0.0)
    }
}

impl Relevant {
    /// True if `label` is relevant; an unlabelled item (NaN) is not.
    pub fn is(self, label: f32) -> bool {
        match self {
            Relevant::Above(t) => label > t,
            Relevant::From(t) => label >= t,
        }
    }

    /// The number above which labels are relevant: one comparison for loops over many labels.
    ///
    /// ```
    /// use toprank_core::Relevant;
    /// let above = Relevant::From(2.0).above();
    /// assert!(2.0 > above && !(1.999_999_9 > above));
    /// ```
    pub fn above(self) -> f32 {
        match self {
            Relevant::Above(t) => t,
            Relevant::From(t) => t.next_down(),
        }
    }
}

/// Items that the ideal order of NDCG may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ideal {
    /// All judged items, retrieved or not (trec_eval, ranx).
    #[default]
    Judged,
    /// The items of the list (LightGBM, XGBoost, CatBoost).
    Present,
}

/// What AP@k divides by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Divisor {
    /// R, the number of relevant items (trec_eval, ranx).
    #[default]
    Relevant,
    /// min(R, k) (LightGBM, XGBoost, CatBoost).
    Cut,
}

/// What P@k divides by on a list shorter than k.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Short {
    /// k (trec_eval, ranx).
    #[default]
    K,
    /// min(k, n) (XGBoost, CatBoost).
    Length,
}

/// Precision in which scores are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScoreBits {
    /// As given.
    #[default]
    F64,
    /// Rounded to f32 first, so that 1 and 1 + 1e-10 tie (trec_eval 9, pytrec_eval).
    F32,
}

impl std::fmt::Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        for (i, (key, value)) in self.fields().into_iter().enumerate() {
            write!(f, "{}{key}={value}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl Policy {
    /// Every rule by its name on the command line, with its present value.
    pub fn fields(&self) -> [(&'static str, String); 8] {
        let gain = match &self.gain {
            Gain::Exp2 => "exp2".to_string(),
            Gain::Linear => "linear".to_string(),
            Gain::Table(gains) => gains.iter().map(f64::to_string).collect::<Vec<_>>().join("/"),
        };
        let relevant = match self.relevant {
            Relevant::Above(t) => format!(">{t}"),
            Relevant::From(t) => format!("{t}"),
        };
        let word = |s: String| s.to_lowercase();
        [
            ("gain", gain),
            ("ties", word(format!("{:?}", self.ties))),
            ("empty", word(format!("{:?}", self.empty))),
            ("relevant", relevant),
            ("ideal", word(format!("{:?}", self.ideal))),
            ("divisor", word(format!("{:?}", self.divisor))),
            ("short", word(format!("{:?}", self.short))),
            ("scores", word(format!("{:?}", self.scores))),
        ]
    }

    /// Sets one rule by its name, as `metric:key=value` and `--key value` do.
    ///
    /// ```
    /// use toprank_core::{Gain, Policy};
    /// let mut policy = Policy::default();
    /// policy.set("gain", "linear").unwrap();
    /// assert_eq!(policy.gain, Gain::Linear);
    /// let error = policy.set("ties", "random").unwrap_err();
    /// assert_eq!(error.to_string(), "ties must be averaged, trec, input or worst, but is random");
    /// ```
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), crate::ParamError> {
        let refuse = |expected: &str| Err(crate::ParamError::new(key, value, expected));
        match (key, value) {
            ("gain", "exp2") => self.gain = Gain::Exp2,
            ("gain", "linear") => self.gain = Gain::Linear,
            ("gain", table) => {
                let gains: Result<Vec<f64>, _> = table.split('/').map(str::parse).collect();
                match gains {
                    Ok(gains) if gains.len() > 1 && gains.iter().all(|g| g.is_finite() && *g >= 0.0) => {
                        self.gain = Gain::Table(gains);
                    }
                    _ => {
                        return refuse(
                            "exp2, linear or a table of gains ≥ 0 for labels 0/1/2/… such as 0/1/3",
                        );
                    }
                }
            }
            ("ties", "averaged") => self.ties = Ties::Averaged,
            ("ties", "trec") => self.ties = Ties::Trec,
            ("ties", "input") => self.ties = Ties::Input,
            ("ties", "worst") => self.ties = Ties::Worst,
            ("ties", _) => return refuse("averaged, trec, input or worst"),
            ("empty", "skip") => self.empty = Empty::Skip,
            ("empty", "zero" | "0") => self.empty = Empty::Zero,
            ("empty", "one" | "1") => self.empty = Empty::One,
            ("empty", _) => return refuse("skip, zero or one"),
            ("relevant", text) => {
                let (above, number) = match text.strip_prefix('>') {
                    Some(rest) => (true, rest),
                    None => (false, text),
                };
                match number.parse::<f32>() {
                    Ok(t) if t.is_finite() && above => self.relevant = Relevant::Above(t),
                    Ok(t) if t.is_finite() => self.relevant = Relevant::From(t),
                    _ => return refuse("a number (labels at or above it are relevant) or '>' and a number"),
                }
            }
            ("ideal", "judged") => self.ideal = Ideal::Judged,
            ("ideal", "present") => self.ideal = Ideal::Present,
            ("ideal", _) => return refuse("judged or present"),
            ("divisor", "relevant") => self.divisor = Divisor::Relevant,
            ("divisor", "cut") => self.divisor = Divisor::Cut,
            ("divisor", _) => return refuse("relevant or cut"),
            ("short", "k") => self.short = Short::K,
            ("short", "length") => self.short = Short::Length,
            ("short", _) => return refuse("k or length"),
            ("scores", "f64") => self.scores = ScoreBits::F64,
            ("scores", "f32") => self.scores = ScoreBits::F32,
            ("scores", _) => return refuse("f64 or f32"),
            _ => return refuse(&format!("one of the rules {}", Policy::KEYS.join(", "))),
        }
        Ok(())
    }

    /// The names of the rules, in the order of [`Policy::fields`].
    pub const KEYS: [&'static str; 8] =
        ["gain", "ties", "empty", "relevant", "ideal", "divisor", "short", "scores"];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_can_be_set_to_what_it_prints() {
        let mut odd = Policy::default();
        for (key, value) in [
            ("gain", "0/1/3.5"),
            ("ties", "worst"),
            ("empty", "one"),
            ("relevant", "2"),
            ("ideal", "present"),
            ("divisor", "cut"),
            ("short", "length"),
            ("scores", "f32"),
        ] {
            odd.set(key, value).unwrap();
        }
        for policy in [Policy::default(), odd] {
            let mut copy = Policy::default();
            for (key, value) in policy.fields() {
                copy.set(key, &value).unwrap();
            }
            assert_eq!(copy, policy);
        }
        assert_eq!(Policy::default().fields().map(|f| f.0), Policy::KEYS);
    }

    #[test]
    fn an_unknown_rule_lists_the_known_ones() {
        let error = Policy::default().set("tie", "worst").unwrap_err();
        assert!(error.to_string().contains("gain, ties, empty"), "{error}");
    }

    #[test]
    fn an_unjudged_item_is_not_relevant() {
        assert!(!Relevant::Above(0.0).is(f32::NAN));
        assert!(!Relevant::From(-1.0).is(f32::NAN));
        assert!(Relevant::From(2.0).is(2.0) && !Relevant::Above(2.0).is(2.0));
    }
}
