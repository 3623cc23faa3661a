//! A metric as a user asks for it: `ndcg@10:gain=linear:ties=worst`, with every rule resolved.

use std::sync::Arc;

use toprank_core::catalog::unknown;
use toprank_core::{Empty, Entry, List, ParamError, Policy, Spec};

use crate::catalog::{find, known};
use crate::metric::Metric;
use crate::names;
use crate::own;
use crate::presets::Preset;
use crate::rank::{NotANumber, Work};

/// A metric with its parameters and the policy it follows.
///
/// ```
/// use toprank_core::{Policy, Ties};
/// use toprank_metrics::Measure;
/// let measures = Measure::parse_all("ndcg@10:gain=linear:ties=worst, ap", &Policy::default()).unwrap();
/// assert_eq!(measures[0].name(), "ndcg@10:gain=linear:ties=worst");
/// assert_eq!(measures[0].policy().ties, Ties::Worst);
/// assert_eq!(measures[1].name(), "map");
/// let error = Measure::parse_all("ncdg@10", &Policy::default()).unwrap_err();
/// assert_eq!(error.to_string(), "unknown metric \"ncdg\"; did you mean \"ndcg\"?");
/// ```
#[derive(Clone)]
pub struct Measure {
    name: String,
    entry: &'static Entry<dyn Metric>,
    metric: Arc<dyn Metric>,
    policy: Policy,
}

impl std::fmt::Debug for Measure {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Measure")
            .field("name", &self.name)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

impl Measure {
    /// Reads measures separated by commas; what an entry does not say, `base` decides. Names of trec_eval, ir_measures and
    /// scikit-learn are understood in any case of letters: `P_5`, `nDCG@10`, `P(rel=2)@5`, `roc_auc`, `all_trec`.
    pub fn parse_all(text: &str, base: &Policy) -> Result<Vec<Measure>, ParamError> {
        let specs = names::read(text)?;
        specs.iter().map(|spec| Measure::new(spec, base, &[], &[])).collect::<Result<_, _>>().map(once_each)
    }

    /// Reads measures under a peer's conventions. From weak to strong: the preset's policy, the preset's rules for
    /// single metrics, `rules` (the command's `--ties`, `--gain` …), the entry's own `key=value`.
    ///
    /// ```
    /// use toprank_core::Empty;
    /// use toprank_metrics::{Measure, Preset};
    /// let like = Preset::find("catboost").unwrap();
    /// let measures = Measure::parse_like("ndcg, map", like, &[]).unwrap();
    /// assert_eq!([measures[0].policy().empty, measures[1].policy().empty], [Empty::One, Empty::Zero]);
    /// ```
    pub fn parse_like(
        text: &str,
        like: &Preset,
        rules: &[(String, String)],
    ) -> Result<Vec<Measure>, ParamError> {
        let specs = names::read(text)?;
        let measures = specs.iter().map(|spec| {
            let overrides = match own::registered(&spec.name) {
                Some(_) => &[],
                None => like.overrides(lookup(spec)?.name),
            };
            Measure::new(spec, &like.policy(), overrides, rules)
        });
        measures.collect::<Result<_, _>>().map(once_each)
    }

    /// A user's own metric, which is not in the catalog; see `crates/toprank/examples/own_metric.rs`.
    pub fn own(name: &str, metric: impl Metric + 'static, policy: &Policy) -> Measure {
        Measure { name: name.to_string(), entry: &OWN, metric: Arc::new(metric), policy: policy.clone() }
    }

    pub(crate) fn new(
        spec: &Spec,
        base: &Policy,
        overrides: &[(&str, &str)],
        rules: &[(String, String)],
    ) -> Result<Measure, ParamError> {
        if let Some(metric) = own::registered(&spec.name) {
            check_parameters(spec, &OWN)?;
            let mut policy = base.clone();
            for (key, value) in rules.iter().chain(&spec.args.0) {
                policy.set(key, value)?;
            }
            return Ok(Measure { name: spec.to_string(), entry: &OWN, metric, policy });
        }
        let entry = lookup(spec)?;
        let mut spec = Spec { name: entry.name.to_string(), ..spec.clone() };
        let name = spec.to_string();
        check_parameters(&spec, entry)?;
        let mut policy = base.clone();
        for (key, value) in overrides {
            if Policy::KEYS.contains(key) {
                policy.set(key, value)?;
            } else if spec.args.get(key).is_none() {
                spec.args.0.push(((*key).to_string(), (*value).to_string()));
            }
        }
        let own = spec.args.0.iter().filter(|(key, _)| Policy::KEYS.contains(&key.as_str()));
        for (key, value) in rules.iter().chain(own) {
            policy.set(key, value)?;
        }
        let metric = (entry.make)(&spec)?.into();
        Ok(Measure { name, entry, metric, policy })
    }

    /// Its name in reports: as the user gave it, aliases resolved.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its entry of the catalog; users' own metrics share an entry that is not in it.
    pub fn entry(&self) -> &'static Entry<dyn Metric> {
        self.entry
    }

    /// The metric with its parameters.
    pub fn metric(&self) -> &dyn Metric {
        &*self.metric
    }

    /// The policy it follows.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The value of one list before the rule for empty lists; `None`: undefined.
    pub fn of_list(&self, list: &List, work: &mut Work) -> Result<Option<f64>, NotANumber> {
        let ranked = work.rank(list, self.policy.ties, self.policy.scores, self.metric.depth())?;
        Ok(self.metric.value(&ranked, &self.policy))
    }

    /// A value as it enters the mean; `None`: the list is excluded from the mean.
    pub fn settle(&self, value: Option<f64>) -> Option<f64> {
        value.or(match self.policy.empty {
            Empty::Skip => None,
            Empty::Zero => Some(0.0),
            Empty::One => Some(1.0),
        })
    }
}

/// The entry of users' own metrics.
static OWN: Entry<dyn Metric> = Entry {
    name: "own",
    family: "own",
    about: "a metric that is not in the catalog",
    page: "",
    params: &[],
    make: |_| Err(ParamError::new("metric", "own", "one of those that `toprank metrics` lists")),
};

/// Two entries that mean the same (`ap`, `map`) stay once.
fn once_each(measures: Vec<Measure>) -> Vec<Measure> {
    let mut kept: Vec<Measure> = Vec::with_capacity(measures.len());
    for measure in measures {
        if kept.iter().all(|other| other.name != measure.name) {
            kept.push(measure);
        }
    }
    kept
}

fn lookup(spec: &Spec) -> Result<&'static Entry<dyn Metric>, ParamError> {
    find(&spec.name).ok_or_else(|| match spec.name.starts_with(own::OWN_PREFIX) {
        true => {
            ParamError::new("metric", &spec.name, "one that this program has registered: it is a user's own")
        }
        false => unknown("metric", &spec.name, known()),
    })
}

fn check_parameters(spec: &Spec, entry: &Entry<dyn Metric>) -> Result<(), ParamError> {
    let own: Vec<&str> = entry.params.iter().map(|param| param.name).collect();
    if let Some(cut) = spec.cut.filter(|_| !own.contains(&"@")) {
        return Err(ParamError::new(
            &format!("the cut-off of {}", entry.name),
            &cut.to_string(),
            "omitted: this metric evaluates the whole list",
        ));
    }
    let known = |key: &str| (key != "@" && own.contains(&key)) || Policy::KEYS.contains(&key);
    if let Some((key, _)) = spec.args.0.iter().find(|(key, _)| !known(key)) {
        let mut allowed: Vec<&str> = own.into_iter().filter(|name| *name != "@").collect();
        allowed.extend(Policy::KEYS);
        return Err(ParamError::new(
            &format!("a parameter of {}", entry.name),
            key,
            &format!("one of {}", allowed.join(", ")),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        Measure::parse_all(text, &Policy::default()).unwrap_err().to_string()
    }

    #[test]
    fn errors_say_what_is_allowed() {
        assert_eq!(message("ncdg@10"), "unknown metric \"ncdg\"; did you mean \"ndcg\"?");
        assert!(
            message("ndcg:gains=linear").contains("one of gain, ties, empty"),
            "{}",
            message("ndcg:gains=linear")
        );
        assert_eq!(message("ndcg:ties=no"), "ties must be averaged, trec, input or worst, but is no");
    }

    #[test]
    fn an_alias_and_its_name_are_one_measure() {
        let measures = Measure::parse_all("ap,map,map@5", &Policy::default()).unwrap();
        assert_eq!(measures.iter().map(Measure::name).collect::<Vec<_>>(), ["map", "map@5"]);
    }

    #[test]
    fn the_entry_beats_the_command_beats_the_preset() {
        let rules = [("empty".to_string(), "skip".to_string())];
        let like = Preset::find("lightgbm").unwrap();
        let measures = Measure::parse_like("ndcg,ndcg:empty=zero", like, &rules).unwrap();
        assert_eq!([measures[0].policy().empty, measures[1].policy().empty], [Empty::Skip, Empty::Zero]);
        assert_eq!(measures[0].policy().ties, toprank_core::Ties::Input);
    }
}
