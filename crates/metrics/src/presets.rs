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
    /// Metrics, a rule, and further values that users of the tool may choose for it.
    options: &'static [(&'static [&'static str], &'static str, &'static [&'static str])],
}

/// Smallest relevant label, where a tool takes it as an argument.
const LEVELS: &[&str] = &["2", "3"];
const BINARY_METRICS: &[&str] = &["map", "p", "recall", "mrr", "rprec", "success"];

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
        options: &[(BINARY_METRICS, "relevant", LEVELS)],
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
        options: &[(BINARY_METRICS, "relevant", LEVELS)],
    },
    Preset {
        name: "ranx",
        about: "ranx 0.3: linear gain, ties as given, lists without a relevant item count 0",
        rules: &[("gain", "linear"), ("ties", "input"), ("empty", "zero"), ("relevant", "1")],
        overrides: &[],
        options: &[(&["ndcg", "dcg"], "gain", &["exp2"]), (BINARY_METRICS, "relevant", LEVELS)],
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
        options: &[(&["ndcg"], "gain", &["linear"])],
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
        options: &[(&["ndcg", "map"], "empty", &["zero"]), (&["ndcg"], "gain", &["linear"])],
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
        options: &[(&["ndcg", "dcg"], "gain", &["exp2"])],
    },
    Preset {
        name: "sklearn",
        about: "scikit-learn 1.9: labels are gains, ties averaged, empty lists count 0, tied items enter the PR curve at once",
        rules: &[("gain", "linear"), ("empty", "zero"), ("ideal", "present")],
        overrides: &[("auprc", &[("form", "grouped")]), ("pauc", &[("scale", "mcclish")])],
        options: &[(&["ndcg", "dcg"], "ties", &["input"])],
    },
    Preset {
        name: "ir_measures",
        about: "ir_measures 0.4 with its first provider, pytrec_eval: as pytrec_eval, over the judged queries",
        rules: &[
            ("gain", "linear"),
            ("ties", "trec"),
            ("empty", "zero"),
            ("relevant", "1"),
            ("scores", "f32"),
        ],
        overrides: &[("iprec", &[("count", "up")])],
        options: &[(BINARY_METRICS, "relevant", LEVELS)],
    },
    Preset {
        name: "recbole",
        about: "RecBole 1: binary relevance, ties as given, users without a held-out item left out, MAP@k by min(R, k)",
        rules: &[("gain", "linear"), ("ties", "input"), ("divisor", "cut")],
        overrides: &[],
        options: &[],
    },
    Preset {
        name: "torchmetrics",
        about: "torchmetrics 1: linear gain over the items given, lists without a relevant item count 0, NDCG averages ties",
        rules: &[("gain", "linear"), ("ties", "input"), ("empty", "zero"), ("ideal", "present")],
        overrides: &[("ndcg", &[("ties", "averaged")])],
        options: &[],
    },
    Preset {
        name: "quepid",
        about: "Quepid's scorers, for lists of k documents: linear gain, ideal order of what is shown, P@k by what is shown",
        rules: &[
            ("gain", "linear"),
            ("ties", "input"),
            ("empty", "zero"),
            ("ideal", "present"),
            ("short", "length"),
        ],
        overrides: &[],
        options: &[],
    },
    Preset {
        name: "mlflow",
        about: "MLflow's retrieval metrics, for binary judgements: ties as given, queries without a relevant item count 0",
        rules: &[("gain", "linear"), ("ties", "input"), ("empty", "zero"), ("short", "length")],
        overrides: &[],
        options: &[],
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

    /// Rules of one metric that users of the tool may choose, with the values beside that of the preset: `type=Exp` of CatBoost, `ndcg-` of
    /// XGBoost, `-l` of trec_eval.
    pub fn options(&self, metric: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
        let all = self.options.iter().filter(move |(metrics, ..)| metrics.contains(&metric));
        all.flat_map(|(_, key, values)| values.iter().map(move |value| (*key, *value)))
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

    /// The mean of a metric under a preset.
    fn like(tool: &str, metric: &str, lists: &toprank_core::Lists, scores: &[f64]) -> f64 {
        let measures = Measure::parse_like(metric, Preset::find(tool).unwrap(), &[]).unwrap();
        crate::evaluate(lists, scores, &measures).unwrap().results[0].mean.unwrap()
    }

    #[test]
    fn presets_made_from_formulas_give_what_the_formulas_give() {
        use toprank_core::Lists;
        let two = |labels: [f32; 8]| Lists::from_lengths(&[4, 4], labels.to_vec());
        let scores = [0.9, 0.8, 0.7, 0.6, 0.9, 0.8, 0.7, 0.6];
        // RecBole: the hits are at places 2 and 3 of the first list, 3 of them are relevant; the second list has none and is left out.
        let lists = two([0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        let ap = f64::midpoint(1.0 / 2.0, 2.0 / 3.0) * 2.0 / 3.0;
        assert!((like("recbole", "map@3", &lists, &scores) - ap).abs() < 1e-12);
        let dcg = 1.0 / 3f64.log2() + 1.0 / 4f64.log2();
        let ideal = 1.0 + dcg;
        assert!((like("recbole", "ndcg@3", &lists, &scores) - dcg / ideal).abs() < 1e-12);
        // torchmetrics and MLflow: the second list counts 0.
        assert!((like("torchmetrics", "ndcg@3", &lists, &scores) - dcg / ideal / 2.0).abs() < 1e-12);
        assert!((like("mlflow", "ndcg@3", &lists, &scores) - dcg / ideal / 2.0).abs() < 1e-12);
        // Quepid: grades are gains, P@10 of four documents is divided by four.
        let graded = Lists::from_lengths(&[4], vec![1.0, 3.0, 0.0, 2.0]);
        let dcg = 1.0 + 3.0 / 3f64.log2() + 2.0 / 5f64.log2();
        let ideal = 3.0 + 2.0 / 3f64.log2() + 1.0 / 4f64.log2();
        assert!((like("quepid", "ndcg@10", &graded, &scores[..4]) - dcg / ideal).abs() < 1e-12);
        assert!((like("quepid", "p@10", &graded, &scores[..4]) - 0.75).abs() < 1e-12);
    }

    #[test]
    fn every_preset_can_make_every_metric() {
        for preset in PRESETS {
            preset.policy();
            let known = |name: &&str| METRICS.iter().any(|entry| entry.name == *name);
            assert!(preset.overrides.iter().all(|(name, _)| known(name)), "{}", preset.name);
            assert!(preset.options.iter().all(|(names, ..)| names.iter().all(known)), "{}", preset.name);
            for entry in METRICS {
                Measure::parse_like(entry.name, preset, &[]).unwrap();
                for (key, value) in preset.options(entry.name) {
                    Measure::parse_like(&format!("{}:{key}={value}", entry.name), preset, &[]).unwrap();
                }
            }
        }
    }
}
