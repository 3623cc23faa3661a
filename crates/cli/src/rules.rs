//! The flags that say what a metric means at its edges.

use clap::Args;
use serde_json::{Map, Value, json};
use toprank::core::Policy;
use toprank::core::catalog::unknown;
use toprank::metrics::{Measure, PRESETS, Preset};

use crate::failure::Failure;

/// What a metric means at its edges; printed with every result.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Rules (also per metric: ndcg@10:gain=linear:ties=worst)")]
pub struct Rules {
    /// Match another tool's conventions: trec_eval, pytrec_eval, ir_measures, ranx, lightgbm, xgboost, catboost, sklearn, recbole,
    /// torchmetrics, quepid, mlflow
    #[arg(long, value_name = "TOOL")]
    pub like: Option<String>,
    /// Gain of a label: exp2 (2^y − 1), linear, or a table for labels 0/1/2/… such as 0/1/3
    #[arg(long, value_name = "RULE")]
    gain: Option<String>,
    /// Among equal scores: averaged (exact expected value), trec (name descending), input, worst
    #[arg(long, value_name = "RULE")]
    ties: Option<String>,
    /// A list on which the metric is undefined: skip, zero, one
    #[arg(long, value_name = "RULE")]
    empty: Option<String>,
    /// Smallest relevant label: 2, or '>0.5' for labels above [default: '>0']
    #[arg(long, value_name = "LABEL")]
    relevant: Option<String>,
    /// Items the ideal order may use: judged (all), present (those in the list)
    #[arg(long, value_name = "RULE")]
    ideal: Option<String>,
    /// What AP@k divides by: relevant (R), cut (min(R, k))
    #[arg(long, value_name = "RULE")]
    divisor: Option<String>,
    /// What P@k divides by on a list shorter than k: k, length
    #[arg(long, value_name = "RULE")]
    short: Option<String>,
    /// Precision in which scores are compared: f64, f32
    #[arg(long, value_name = "BITS")]
    score_bits: Option<String>,
}

/// Measures and the rules they share.
pub struct Measures {
    /// What was asked.
    pub all: Vec<Measure>,
    /// The rules of the preset and of the flags, before what single metrics say otherwise.
    pub policy: Policy,
    /// The preset's name.
    pub like: Option<&'static str>,
}

impl Rules {
    fn given(&self) -> Vec<(String, String)> {
        let flags = [
            ("gain", &self.gain),
            ("ties", &self.ties),
            ("empty", &self.empty),
            ("relevant", &self.relevant),
            ("ideal", &self.ideal),
            ("divisor", &self.divisor),
            ("short", &self.short),
            ("scores", &self.score_bits),
        ];
        flags.into_iter().filter_map(|(key, value)| Some((key.to_string(), value.clone()?))).collect()
    }

    /// The measures named in `text` under these rules.
    pub fn measures(&self, text: &str) -> Result<Measures, Failure> {
        let preset = match &self.like {
            None => None,
            Some(name) => Some(Preset::find(name).ok_or_else(|| {
                let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
                unknown("tool for --like", name, known)
            })?),
        };
        let given = self.given();
        let mut policy = preset.map(Preset::policy).unwrap_or_default();
        for (key, value) in &given {
            policy.set(key, value)?;
        }
        let all = match preset {
            None => Measure::parse_all(text, &policy)?,
            Some(preset) => Measure::parse_like(text, preset, &given)?,
        };
        if all.is_empty() {
            return Err(Failure::usage("--metrics names no metric; expected for example ndcg@10,map"));
        }
        Ok(Measures { all, policy, like: preset.map(|preset| preset.name) })
    }
}

impl Measures {
    /// The measures named in `text` under the default rules, for commands that take no other rules.
    pub fn named(text: &str) -> Result<Measures, Failure> {
        let policy = Policy::default();
        Ok(Measures { all: Measure::parse_all(text, &policy)?, policy, like: None })
    }

    /// The rules that single measures set otherwise: (measure, rule, value).
    fn exceptions(&self) -> impl Iterator<Item = (&str, &'static str, String)> {
        let common = self.policy.fields();
        self.all.iter().flat_map(move |measure| {
            let own = measure.policy().fields().into_iter().zip(common.clone());
            own.filter(|(own, common)| own != common).map(|(own, _)| (measure.name(), own.0, own.1))
        })
    }

    /// The policy as lines of text.
    pub fn policy_text(&self) -> String {
        let mut text = match self.like {
            Some(like) => format!("policy: like {like}: {}\n", self.policy),
            None => format!("policy: {}\n", self.policy),
        };
        for (measure, rule, value) in self.exceptions() {
            text += &format!("        {measure}: {rule}={value}\n");
        }
        text
    }

    /// The policy as JSON: every rule, the preset, and where single metrics differ.
    pub fn policy_json(&self) -> Value {
        let mut object: Map<String, Value> = self
            .policy
            .fields()
            .into_iter()
            .map(|(key, value)| (key.to_string(), Value::String(value)))
            .collect();
        if let Some(like) = self.like {
            object.insert("like".into(), json!(like));
        }
        let mut per_metric: Map<String, Value> = Map::new();
        for (measure, rule, value) in self.exceptions() {
            per_metric.entry(measure).or_insert_with(|| json!({}))[rule] = json!(value);
        }
        if !per_metric.is_empty() {
            object.insert("per_metric".into(), Value::Object(per_metric));
        }
        Value::Object(object)
    }
}
