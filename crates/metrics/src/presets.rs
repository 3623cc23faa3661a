//! Presets: the policy that makes our numbers those of another tool (`--like NAME`).

use toprank_core::Policy;

/// Another tool's conventions, by name.
///
/// ```
/// use toprank_metrics::Preset;
/// let like = Preset::find("lightgbm").unwrap();
/// assert_eq!(like.policy().to_string(), "gain=exp2 ties=input empty=one relevant=>0.5 ideal=present divisor=cut short=length scores=f64");
/// ```
#[derive(Debug)]
pub struct Preset {
    /// Name after `--like`.
    pub name: &'static str,
    /// What it stands for, one line.
    pub about: &'static str,
    rules: &'static [(&'static str, &'static str)],
    overrides: &'static [(&'static str, &'static [(&'static str, &'static str)])],
}

/// Areas of binary problems: a tie counts half in all of these tools, and one class alone is undefined.
const AREA: &[(&str, &str)] = &[("ties", "averaged"), ("empty", "skip")];
const AREA_INTERPOLATED: &[(&str, &str)] = &[("ties", "averaged"), ("empty", "skip"), ("form", "area")];
const AREA_GROUPED: &[(&str, &str)] = &[("ties", "averaged"), ("empty", "skip"), ("form", "grouped")];

/// Every preset.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "trec_eval",
        about: "trec_eval 10: linear gain, ties by name, lists without a relevant item count 0",
        rules: &[("gain", "linear"), ("ties", "trec"), ("empty", "zero"), ("relevant", "1")],
        overrides: &[("rbp", &[("grades", "yes")])],
    },
    Preset {
        name: "pytrec_eval",
        about: "trec_eval 9 as pytrec_eval calls it: scores rounded to f32",
        rules: &[
            ("gain", "linear"),
            ("ties", "trec"),
            ("empty", "zero"),
            ("relevant", "1"),
            ("scores", "f32"),
        ],
        overrides: &[
            ("rbp", &[("grades", "yes")]),
            ("iprec", &[("count", "up")]),
            ("11pt", &[("count", "up")]),
        ],
    },
    Preset {
        name: "ranx",
        about: "ranx 0.3: linear gain, ties as given, lists without a relevant item count 0",
        rules: &[("gain", "linear"), ("ties", "input"), ("empty", "zero"), ("relevant", "1")],
        overrides: &[],
    },
    Preset {
        name: "lightgbm",
        about: "LightGBM 4: 2^label - 1, ties as given, empty lists count 1 (weighted rightly, unlike LightGBM's own)",
        rules: &[
            ("ties", "input"),
            ("empty", "one"),
            ("relevant", ">0.5"),
            ("ideal", "present"),
            ("divisor", "cut"),
            ("short", "length"),
        ],
        overrides: &[("auroc", AREA), ("auprc", AREA_GROUPED)],
    },
    Preset {
        name: "xgboost",
        about: "XGBoost 3: 2^label - 1, scores in f32, ties as given, empty lists count 1 for ndcg and map",
        rules: &[
            ("ties", "input"),
            ("empty", "one"),
            ("ideal", "present"),
            ("divisor", "cut"),
            ("short", "length"),
            ("scores", "f32"),
        ],
        overrides: &[("p", &[("empty", "zero")]), ("auroc", AREA), ("auprc", AREA_INTERPOLATED)],
    },
    Preset {
        name: "catboost",
        about: "CatBoost 1.2: linear gain, ties against you, empty lists count 1 for ndcg and recall, 0 for the others",
        rules: &[
            ("gain", "linear"),
            ("ties", "worst"),
            ("empty", "zero"),
            ("relevant", ">0.5"),
            ("ideal", "present"),
            ("divisor", "cut"),
            ("short", "length"),
        ],
        overrides: &[
            ("ndcg", &[("empty", "one")]),
            ("recall", &[("empty", "one")]),
            ("err", &[("stop", "label")]),
            ("auroc", AREA),
        ],
    },
    Preset {
        name: "sklearn",
        about: "scikit-learn 1.9: labels are gains, ties averaged, empty lists count 0, tied items enter the PR curve at once",
        rules: &[("gain", "linear"), ("empty", "zero"), ("ideal", "present")],
        overrides: &[("auprc", &[("form", "grouped")]), ("pauc", &[("scale", "mcclish")])],
    },
];

impl Preset {
    /// The preset of that name.
    pub fn find(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// Its policy for all metrics.
    ///
    /// # Panics
    /// Never: a test sets every preset.
    pub fn policy(&self) -> Policy {
        let mut policy = Policy::default();
        for (key, value) in self.rules {
            policy.set(key, value).expect("a preset holds rules that exist");
        }
        policy
    }

    /// Its further rules and parameters for one metric.
    pub fn overrides(&self, metric: &str) -> &'static [(&'static str, &'static str)] {
        self.overrides.iter().find(|(name, _)| *name == metric).map_or(&[], |(_, rules)| rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{METRICS, Measure};

    #[test]
    fn every_preset_can_make_every_metric() {
        for preset in PRESETS {
            preset.policy();
            assert!(preset.overrides.iter().all(|(name, _)| METRICS.iter().any(|entry| entry.name == *name)));
            for entry in METRICS {
                Measure::parse_like(entry.name, preset, &[]).unwrap();
            }
        }
    }
}
