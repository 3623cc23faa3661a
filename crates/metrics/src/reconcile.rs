/*!
Which conventions give a number that another tool printed?

Every combination of the rules that a metric reads is tried: gain, order of ties, value of empty lists, relevant labels, items of the
ideal order, divisors, precision of scores, and the forms of the metric that presets use. Rules that change nothing on these data are
told apart from those that were found.

```
use toprank_core::Lists;
use toprank_metrics::reconcile::{Number, reconcile};
let lists = Lists::from_lengths(&[3], vec![0.0, 2.0, 1.0]);
let scores = [0.9, 0.5, 0.1];
let printed = Number::parse("0.6697").unwrap();
let found = reconcile(&lists, &scores, "ndcg", &printed).unwrap();
assert_eq!(found.conventions.len(), 1);
assert_eq!(found.conventions[0].rules, [("gain", "linear".to_string())]);
assert!(found.presets.iter().any(|preset| preset.0 == "trec_eval"));
```
*/

use toprank_core::{Lists, ParamError, Policy, Spec};

use crate::evaluate::{EvaluateError, evaluate};
use crate::measure::Measure;
use crate::names;
use crate::presets::PRESETS;

/// A number as it was printed, and how near another one must be to be the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// The number.
    pub value: f64,
    /// Largest difference.
    pub tolerance: f64,
}

/// Rounding of tools that compute in 32 bits, relative to 1.
const SINGLE: f64 = 5e-7;

impl Number {
    /// A number in decimal digits: half a unit of its last digit, and what 32 bits round, are no difference.
    ///
    /// ```
    /// use toprank_metrics::reconcile::Number;
    /// assert!((Number::parse("0.45").unwrap().tolerance - 0.005).abs() < 1e-6);
    /// assert!(Number::parse("45 %").is_err());
    /// ```
    ///
    /// # Errors
    /// If it is no finite number.
    pub fn parse(text: &str) -> Result<Number, ParamError> {
        let text = text.trim();
        let value = text.parse().ok().filter(|value: &f64| value.is_finite());
        let value = value.ok_or_else(|| ParamError::new("the number", text, "a number such as 0.4532"))?;
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let half = 0.5 * 10f64.powi((exponent - decimals).clamp(-300, 300));
        Ok(Number { value, tolerance: half * (1.0 + 1e-6) + SINGLE * value.abs().max(1.0) })
    }

    /// True if another number is the same.
    pub fn is(&self, other: f64) -> bool {
        (self.value - other).abs() <= self.tolerance
    }
}

/// Rules under which the metric is the number.
#[derive(Clone, Debug, PartialEq)]
pub struct Convention {
    /// The rules and parameters that differ from our defaults; none: our defaults give the number.
    pub rules: Vec<(&'static str, String)>,
    /// The metric under them.
    pub mean: f64,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Reconciled {
    /// The metric, by our name.
    pub metric: String,
    /// The metric under our defaults; `None`: it is undefined on every list.
    pub own: Option<f64>,
    /// Presets that give the number, with the metric under them: `xgboost`, or `xgboost:empty=zero` with a rule that the tool lets its
    /// users choose.
    pub presets: Vec<(String, f64)>,
    /// Combinations of rules that give the number, those with the fewest changes first.
    pub conventions: Vec<Convention>,
    /// Rules that the metric reads, but which change nothing on these data.
    pub undecided: Vec<&'static str>,
    /// Combinations that were tried.
    pub tried: usize,
}

/// A rule or parameter with the values to try, its default first.
type Choice = (&'static str, Vec<String>);

/// Labels that are tried as the smallest relevant one.
const MOST_LABELS: usize = 6;
/// Combinations that are evaluated at once.
const AT_ONCE: usize = 64;

/// Searches the conventions under which `metric` is the number. A rule that the metric's name fixes (`ndcg@10:gain=linear`) is not
/// varied.
///
/// # Errors
/// If the metric is unknown or more than one, or the lists or scores cannot be evaluated.
pub fn reconcile(
    lists: &Lists,
    scores: &[f64],
    metric: &str,
    number: &Number,
) -> Result<Reconciled, ReconcileError> {
    let mut specs = names::read(metric)?;
    let (Some(spec), true) = (specs.pop(), specs.is_empty()) else {
        return Err(ParamError::new("the metric", metric, "one metric").into());
    };
    let own = Measure::new(&spec, &Policy::default(), &[], &[])?;
    let choices = choices(&own, &spec, lists);
    let mut candidates: Vec<Vec<usize>> = vec![Vec::new()];
    for (_, values) in &choices {
        let longer = |picked: Vec<usize>| (0..values.len()).map(move |v| [&picked[..], &[v]].concat());
        candidates = candidates.into_iter().flat_map(longer).collect();
    }
    let measure = |picked: &Vec<usize>| {
        let mut spec = spec.clone();
        for ((key, values), &v) in choices.iter().zip(picked) {
            if v > 0 {
                spec.args.0.push(((*key).to_string(), values[v].clone()));
            }
        }
        Measure::new(&spec, &Policy::default(), &[], &[])
    };
    let measures: Vec<Measure> = candidates.iter().map(measure).collect::<Result<_, _>>()?;
    let means = means(lists, scores, &measures)?;
    let undecided = undecided(&choices, &candidates, &means);
    let mut conventions = Vec::new();
    for (picked, mean) in candidates.iter().zip(&means) {
        let decided = picked.iter().zip(&choices).all(|(v, (key, _))| *v == 0 || !undecided.contains(key));
        if let Some(mean) = mean.filter(|mean| decided && number.is(*mean)) {
            let changed = picked.iter().zip(&choices).filter(|(v, _)| **v > 0);
            let rules = changed.map(|(v, (key, values))| (*key, values[*v].clone())).collect();
            conventions.push(Convention { rules, mean });
        }
    }
    conventions.sort_by_key(|convention| convention.rules.len());
    let mut presets = Vec::new();
    for preset in PRESETS {
        let open = preset.options(own.entry().name).filter(|(key, _)| spec.args.get(key).is_none());
        for chosen in std::iter::once(String::new()).chain(open.map(|(key, value)| format!(":{key}={value}")))
        {
            let Ok(measures) = Measure::parse_like(&format!("{}{chosen}", own.name()), preset, &[]) else {
                continue;
            };
            let mean = self::means(lists, scores, &measures)?.first().copied().flatten();
            // What the option does not change is the preset's own.
            let known = presets.last().is_some_and(|(name, _)| *name == preset.name);
            if let Some(mean) = mean.filter(|mean| number.is(*mean) && !known) {
                presets.push((format!("{}{chosen}", preset.name), mean));
            }
        }
    }
    Ok(Reconciled {
        metric: own.name().to_string(),
        own: means.first().copied().flatten(),
        presets,
        conventions,
        undecided,
        tried: candidates.len(),
    })
}

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// The metric or the number.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The lists or the scores.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
}

/// The rules that the metric reads and its name leaves open, and the parameters that presets set for it.
fn choices(own: &Measure, spec: &Spec, lists: &Lists) -> Vec<Choice> {
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<String>>();
    let mut all: Vec<Choice> = vec![
        ("gain", words(&["exp2", "linear"])),
        ("ties", words(&["averaged", "trec", "input", "worst"])),
        ("empty", words(&["skip", "zero", "one"])),
        ("relevant", relevant(lists)),
        ("ideal", words(&["judged", "present"])),
        ("divisor", words(&["relevant", "cut"])),
        ("short", words(&["k", "length"])),
        ("scores", words(&["f64", "f32"])),
    ];
    let read = own.metric().rules();
    all.retain(|(key, _)| ["ties", "empty", "scores"].contains(key) || read.contains(key));
    for preset in PRESETS {
        for (key, value) in preset.overrides(own.entry().name) {
            if Policy::KEYS.contains(key) {
                continue;
            }
            let default =
                own.entry().params.iter().find(|param| param.name == *key).map_or("", |p| p.default);
            match all.iter_mut().find(|(known, _)| known == key) {
                Some((_, values)) if !values.iter().any(|known| known == value) => {
                    values.push((*value).into());
                }
                Some(_) => {}
                None => all.push((key, words(&[default, value]))),
            }
        }
    }
    all.retain(|(key, _)| spec.args.get(key).is_none());
    all
}

/// Labels that may be the smallest relevant one: above 0, and from each higher label on.
fn relevant(lists: &Lists) -> Vec<String> {
    let missed = lists.missed.as_ref().map_or(&[][..], |missed| &missed.values);
    let mut labels: Vec<f32> =
        lists.labels.iter().chain(missed).copied().filter(|label| *label > 0.0).collect();
    labels.sort_unstable_by(f32::total_cmp);
    labels.dedup();
    // The lowest of them is what "above 0" says.
    let higher = labels.iter().skip(1).take(MOST_LABELS).map(ToString::to_string);
    std::iter::once(">0".to_string()).chain(higher).collect()
}

/// The mean of each measure; `None`: undefined, or the labels are none for it.
fn means(lists: &Lists, scores: &[f64], measures: &[Measure]) -> Result<Vec<Option<f64>>, EvaluateError> {
    let mut all = Vec::with_capacity(measures.len());
    for some in measures.chunks(AT_ONCE) {
        match evaluate(lists, scores, some) {
            Ok(found) => all.extend(found.results.iter().map(|result| result.mean)),
            Err(EvaluateError::Label { .. }) => {
                for one in some {
                    let found = evaluate(lists, scores, std::slice::from_ref(one));
                    all.push(found.ok().and_then(|found| found.results[0].mean));
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// Keys whose values give the same mean whatever the others are.
fn undecided(choices: &[Choice], candidates: &[Vec<usize>], means: &[Option<f64>]) -> Vec<&'static str> {
    let sizes: Vec<usize> = choices.iter().map(|(_, values)| values.len()).collect();
    let place = |picked: &[usize]| picked.iter().zip(&sizes).fold(0, |at, (v, size)| at * size + v);
    let same = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-12 * a.abs().max(1.0),
        (None, None) => true,
        _ => false,
    };
    let changes_nothing = |at: usize| {
        candidates.iter().zip(means).all(|(picked, mean)| {
            let mut first = picked.clone();
            first[at] = 0;
            same(*mean, means[place(&first)])
        })
    };
    (0..choices.len()).filter(|&at| changes_nothing(at)).map(|at| choices[at].0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use toprank_core::Stream;

    /// Lists with ties, grades, empty ones and short ones.
    fn drawn(seed: u64) -> (Lists, Vec<f64>) {
        let mut random = Stream::new(seed, "reconcile").open();
        let lengths: Vec<usize> = (0..30).map(|_| 3 + random.below(20)).collect();
        let count = lengths.iter().sum();
        let empty_until = lengths[..3].iter().sum::<usize>();
        let label =
            |row: usize, draw: usize| if row < empty_until { 0.0 } else { [0.0, 0.0, 1.0, 2.0, 3.0][draw] };
        let labels = (0..count).map(|row| label(row, random.below(5))).collect();
        let scores = (0..count).map(|_| f64::from(random.below(8) as u32) / 8.0).collect();
        (Lists::from_lengths(&lengths, labels), scores)
    }

    #[test]
    fn every_preset_is_found_from_its_own_number_and_what_is_named_gives_it() {
        for seed in 1..4 {
            let (lists, scores) = drawn(seed);
            for preset in PRESETS {
                for metric in ["ndcg@10", "map@5", "p@10", "recall@5", "mrr", "auprc", "err"] {
                    let measures = Measure::parse_like(metric, preset, &[]).unwrap();
                    let mean = means(&lists, &scores, &measures).unwrap()[0];
                    // CatBoost takes labels for probabilities: its ERR has no value for grades above 1.
                    let Some(mean) = mean else {
                        assert_eq!((preset.name, metric), ("catboost", "err"));
                        continue;
                    };
                    let number = Number::parse(&format!("{mean:.8}")).unwrap();
                    let found = reconcile(&lists, &scores, metric, &number).unwrap();
                    assert!(
                        found.presets.iter().any(|named| named.0 == preset.name),
                        "{} {metric}",
                        preset.name
                    );
                    assert!(!found.conventions.is_empty(), "{} {metric}: no rules", preset.name);
                    for Convention { rules, mean } in &found.conventions {
                        let text: String =
                            rules.iter().map(|(key, value)| format!(":{key}={value}")).collect();
                        let again =
                            Measure::parse_all(&format!("{metric}{text}"), &Policy::default()).unwrap();
                        assert_eq!(means(&lists, &scores, &again).unwrap()[0], Some(*mean));
                        assert!(number.is(*mean));
                    }
                }
            }
        }
    }

    #[test]
    fn an_option_of_a_tool_is_found_with_its_preset() {
        let (lists, scores) = drawn(2);
        for (metric, preset, option) in [
            ("ndcg@5", "xgboost", "empty=zero"),
            ("ndcg@5", "catboost", "gain=exp2"),
            ("ndcg@5", "lightgbm", "gain=linear"),
            ("map", "trec_eval", "relevant=2"),
        ] {
            let like = crate::Preset::find(preset).unwrap();
            let measures = Measure::parse_like(&format!("{metric}:{option}"), like, &[]).unwrap();
            let mean = means(&lists, &scores, &measures).unwrap()[0].unwrap();
            let number = Number::parse(&format!("{mean:.8}")).unwrap();
            let found = reconcile(&lists, &scores, metric, &number).unwrap();
            assert!(found.presets.contains(&(format!("{preset}:{option}"), mean)), "{:?}", found.presets);
        }
    }

    #[test]
    fn a_wrong_number_is_given_by_nothing() {
        let (lists, scores) = drawn(1);
        let found = reconcile(&lists, &scores, "ndcg@10", &Number::parse("0.01234567").unwrap()).unwrap();
        assert!(found.presets.is_empty() && found.conventions.is_empty() && found.tried > 40);
        assert!(reconcile(&lists, &scores, "ndcg,map", &Number::parse("0.5").unwrap()).is_err());
    }

    #[test]
    fn rules_that_the_data_do_not_tell_apart_are_said_and_not_varied() {
        let lists = Lists::from_lengths(&[3, 3], vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        let scores = [0.9, 0.5, 0.1, 0.9, 0.5, 0.1];
        let found = reconcile(&lists, &scores, "mrr", &Number::parse("0.75").unwrap()).unwrap();
        assert_eq!(found.conventions, [Convention { rules: vec![], mean: 0.75 }]);
        assert!(["ties", "empty", "scores"].iter().all(|key| found.undecided.contains(key)), "{found:?}");
    }
}
