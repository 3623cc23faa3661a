/*!
Tuning, for every trainer: settings drawn from a declared space, evaluated on validation data or by folds, the best kept.

```toml
data = "train.txt"            # and any other setting that is the same for all trials
valid = "vali.txt"            # without it: folds of the training data, cut by list

[tune]
trainer = "rank"              # or "recommend", "embed", "walk"
trials = 30
method = "halving"            # or "random"
folds = 5                     # where there is no valid
seed = 1

[space]
model = ["linear", "mlp:hidden=64", "mlp:hidden=256-128"]
objective = ["listnet", "song:gamma=0.1", "lambdarank"]
learning-rate = { from = 1e-4, to = 1e-1, scale = "log" }
epochs = { from = 10, to = 100, scale = "linear" }
```

Trial t draws its settings from a random stream of its own, so the same file and seed give the same trials whatever
was done before: an interrupted run resumes where its table of results ends.

Successive halving gives all trials a fraction of the epochs, the better half twice as many, and so on until one is left.
*/

use std::time::Instant;

use serde::{Deserialize, Serialize};
use toprank_core::{ParamError, Stream};
use toprank_metrics::Better;

use super::settings::{Config, SETTINGS, Setting, Settings, TrainerKind};
use super::training_loop::{Callbacks, Outcome, Start, TrainingLoop};
use crate::error::TrainError;
use crate::store::fingerprint::Fingerprint;

/// How trials are spent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Plan {
    /// What is trained.
    pub trainer: TrainerKind,
    /// Number of trials.
    pub trials: u32,
    /// `random` or `halving`.
    pub method: Method,
    /// Folds by list, where there is no validation data.
    pub folds: u32,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan { trainer: TrainerKind::Rank, trials: 20, method: Method::Random, folds: 5, seed: 1 }
    }
}

/// How trials are spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Every trial gets all epochs.
    Random,
    /// Successive halving.
    Halving,
}

/// Where one setting comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Range {
    /// One of these, each as often.
    Choice(Vec<toml::Value>),
    /// A number between two.
    Between(Between),
}

/// A number between two, both within the range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Between {
    /// Lower end.
    pub from: f64,
    /// Upper end.
    pub to: f64,
    /// `linear`, or `log`: as many between 0.001 and 0.01 as between 0.01 and 0.1.
    #[serde(default)]
    pub scale: Scale,
}

/// How a range is spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// Evenly in the logarithm.
    Log,
}

/// What is tuned: settings that stay, a space, a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    /// The same for all trials.
    pub fixed: Settings,
    /// How trials are spent.
    pub plan: Plan,
    /// Setting → where it comes from, by name.
    pub ranges: Vec<(String, Range)>,
}

impl Space {
    /// Reads a TOML file's text.
    pub fn from_toml(text: &str) -> Result<Space, ParamError> {
        let wrong = |error: &dyn std::fmt::Display| {
            let expected = "TOML with settings, a table [space] and perhaps a table [tune]";
            ParamError::new("the space", error.to_string().trim(), expected)
        };
        let mut table: toml::Table = toml::from_str(text).map_err(|error| wrong(&error))?;
        let plan: Plan = match table.remove("tune") {
            None => Plan::default(),
            Some(plan) => plan.try_into().map_err(|error| wrong(&error))?,
        };
        let Some(toml::Value::Table(space)) = table.remove("space") else {
            return Err(ParamError::new(
                "the space",
                "a file without one",
                "a table [space] with settings to vary",
            ));
        };
        let fixed: Settings = toml::Value::Table(table).try_into().map_err(|error| wrong(&error))?;
        let varied = |setting: &&Setting| !setting.is_path && setting.default_for(plan.trainer).is_some();
        let mut ranges = Vec::new();
        for (name, value) in space {
            let known = |setting: &&Setting| setting.key == name || setting.aliases.contains(&name.as_str());
            let Some(setting) = SETTINGS.iter().filter(varied).find(known) else {
                let keys: Vec<&str> = SETTINGS.iter().filter(varied).map(|setting| setting.key).collect();
                let expected = format!("one of {}", keys.join(", "));
                return Err(ParamError::new("a setting to vary", &name, &expected));
            };
            let name = setting.key.to_string();
            let range: Range = value.try_into().map_err(|error: toml::de::Error| {
                let expected = "a list of values, or { from = …, to = …, scale = \"log\" }";
                ParamError::new(&format!("the range of {name}"), error.message(), expected)
            })?;
            check(&name, &range)?;
            ranges.push((name, range));
        }
        if plan.trials == 0 || plan.trials > 100_000 {
            return Err(ParamError::new("trials", &plan.trials.to_string(), "an integer from 1 to 100000"));
        }
        if plan.folds < 2 {
            return Err(ParamError::new("folds", &plan.folds.to_string(), "2 or more"));
        }
        let space = Space { fixed, plan, ranges };
        space.trial(0)?.resolve(space.plan.trainer)?;
        Ok(space)
    }

    /// The settings of trial `t`: a function of seed and t.
    pub fn trial(&self, t: u32) -> Result<Settings, ParamError> {
        let mut table = toml::Table::new();
        for (name, range) in &self.ranges {
            // A stream per setting: a setting more in the file leaves the others as they are.
            let mut random = Stream::new(self.plan.seed, name).of_list(t).open();
            let value = match range {
                Range::Choice(values) => values[random.below(values.len())].clone(),
                Range::Between(Between { from, to, scale }) => {
                    let unit = random.unit();
                    let number = match scale {
                        Scale::Linear => from + unit * (to - from),
                        Scale::Log => (from.ln() + unit * (to.ln() - from.ln())).exp(),
                    };
                    // A setting that does not take a float takes an integer.
                    let mut probe = Settings::default();
                    match probe.set(name, "0.5") {
                        Ok(()) => toml::Value::Float(number),
                        Err(_) => toml::Value::Integer(number.round() as i64),
                    }
                }
            };
            table.insert(name.clone(), value);
        }
        let drawn: Settings = toml::Value::Table(table).try_into().map_err(|error: toml::de::Error| {
            ParamError::new("a range", error.message(), "values of the setting's kind")
        })?;
        Ok(drawn.over(self.fixed.clone()))
    }

    /// The rounds: how many trials stay, and the fraction of their epochs that they get.
    ///
    /// ```
    /// use toprank_train::fit::tune::Space;
    /// let text = "data = \"a.txt\"\n[tune]\ntrials = 8\nmethod = \"halving\"\n[space]\nlearning-rate = [0.1, 0.2]";
    /// let rounds = Space::from_toml(text).unwrap().rounds();
    /// assert_eq!(rounds, [(8, 0.125), (4, 0.25), (2, 0.5), (1, 1.0)]);
    /// ```
    pub fn rounds(&self) -> Vec<(u32, f64)> {
        match self.plan.method {
            Method::Random => vec![(self.plan.trials, 1.0)],
            Method::Halving => {
                let mut sizes = vec![self.plan.trials];
                while let Some(&last) = sizes.last().filter(|last| **last > 1) {
                    sizes.push(last.div_ceil(2));
                }
                let rounds = sizes.len() as i32;
                (0..rounds).zip(sizes).map(|(round, size)| (size, 0.5f64.powi(rounds - 1 - round))).collect()
            }
        }
    }

    /// The settings of trial `t` with this fraction of its epochs, at least one; of its steps, where a walk is learned.
    fn shortened(&self, t: u32, fraction: f64, task: &dyn Tunable) -> Result<Settings, ParamError> {
        let settings = self.trial(t)?;
        let config = task.config(&settings)?;
        let part = |whole: f64| (fraction * whole).ceil().max(1.0);
        Ok(match self.plan.trainer {
            TrainerKind::Walk => Settings { steps: Some(part(config.steps() as f64) as u64), ..settings },
            _ => {
                let epochs = Some(part(f64::from(config.epochs())) as u32);
                Settings { epochs, trees: None, ..settings }
            }
        })
    }
}

/// What can be tuned: a trainer with its data.
pub trait Tunable {
    /// Settings with the defaults that follow from the data, checked.
    ///
    /// # Errors
    /// The setting that is at fault.
    fn config(&self, settings: &Settings) -> Result<Config, ParamError>;

    /// What it reads.
    fn fingerprint(&self) -> Fingerprint;

    /// Trains with this config on every part of the data, in order; `each` runs the training loop of a part.
    ///
    /// # Errors
    /// If a setting does not suit the data.
    fn train(
        &self,
        config: &Config,
        each: &mut dyn FnMut(&mut dyn TrainingLoop) -> Result<(), TrainError>,
    ) -> Result<(), TrainError>;
}

/// The result of one trial in one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Its number, from 0.
    pub trial: u32,
    /// The round of halving, from 0.
    pub round: u32,
    /// Mean of the best validations; `None`: training failed on some part.
    pub value: Option<f64>,
    /// The best validation on each part.
    pub parts: Vec<f64>,
    /// Time it took.
    pub seconds: f64,
    /// What it was trained on.
    pub inputs: Fingerprint,
    /// Its settings.
    pub config: Config,
}

/// Runs all trials that are not `done`; each result is handed to `record` as soon as it is there. All results, and the best.
///
/// # Errors
/// If results are of another space or of other data, a trial cannot be trained, or a callback stops it.
pub fn tune(
    space: &Space,
    task: &dyn Tunable,
    mut done: Vec<Trial>,
    callbacks: &mut dyn Callbacks,
    record: &mut dyn FnMut(&Trial) -> Result<(), TrainError>,
) -> Result<(Vec<Trial>, Trial), TrainError> {
    let inputs = task.fingerprint();
    let higher = task.config(&space.fixed)?.measure()?.metric().better() == Better::Higher;
    let rounds = space.rounds();
    let all: u64 = rounds.iter().map(|(trials, _)| u64::from(*trials)).sum();
    let mut staying: Vec<u32> = (0..space.plan.trials).collect();
    let mut step = 0;
    for (round, (trials, fraction)) in (0..).zip(rounds) {
        if round > 0 {
            staying = best(&values(&done, round - 1), trials, higher);
            staying.sort_unstable();
        }
        for &trial in &staying {
            let config = task.config(&space.shortened(trial, fraction, task)?)?;
            let part = format!("trial {trial} of round {round}");
            callbacks.start(&Start { part: &part, step, steps: all, records: &[] });
            step += 1;
            if let Some(known) = done.iter().find(|known| known.trial == trial && known.round == round) {
                check_same(known, &config, &inputs)?;
                continue;
            }
            let result = run_trial((trial, round), &config, &inputs, task, callbacks)?;
            record(&result)?;
            done.push(result);
        }
    }
    let last = done.iter().map(|trial| trial.round).max().unwrap_or(0);
    let winner = best(&values(&done, last), 1, higher);
    let winner = winner.first().and_then(|&t| done.iter().find(|d| d.trial == t && d.round == last));
    match winner.cloned().filter(|winner| winner.value.is_some()) {
        Some(winner) => Ok((done, winner)),
        None => {
            Err(ParamError::new("the results", "no trial with a value", "at least one that trains").into())
        }
    }
}

/// The values of a round, by trial; NaN where there is none.
pub fn values(trials: &[Trial], round: u32) -> Vec<(u32, f64)> {
    let of_round = trials.iter().filter(|trial| trial.round == round);
    let mut values: Vec<(u32, f64)> =
        of_round.map(|trial| (trial.trial, trial.value.unwrap_or(f64::NAN))).collect();
    values.sort_by_key(|value| value.0);
    values
}

fn check_same(known: &Trial, config: &Config, inputs: &Fingerprint) -> Result<(), TrainError> {
    let name = format!("trial {}", known.trial);
    if known.config != *config {
        let expected = "drawn from the space it was begun with; or use another folder";
        return Err(ParamError::new(&name, "drawn from another space", expected).into());
    }
    match known.inputs.difference(inputs) {
        None => Ok(()),
        Some(input) => Err(TrainError::InputChanged { file: name, input }),
    }
}

fn run_trial(
    (trial, round): (u32, u32),
    config: &Config,
    inputs: &Fingerprint,
    task: &dyn Tunable,
    callbacks: &mut dyn Callbacks,
) -> Result<Trial, TrainError> {
    let started = Instant::now();
    let (mut parts, mut count) = (Vec::new(), 0);
    task.train(config, &mut |training| {
        count += 1;
        match training.run(&mut StopOnly(callbacks), None) {
            Ok(Outcome::Interrupted) => {
                Err(TrainError::Interrupted { step: training.steps_done(), steps: training.steps() })
            }
            Ok(_) => {
                parts.extend(training.best().map(|(value, _)| value));
                Ok(())
            }
            // Settings under which nothing can be learned are a result, not the end of the search.
            Err(TrainError::NotFinite { .. } | TrainError::Goal(_)) => Ok(()),
            Err(error) => Err(error),
        }
    })?;
    let value = (parts.len() == count).then(|| parts.iter().sum::<f64>() / parts.len() as f64);
    let seconds = started.elapsed().as_secs_f64();
    Ok(Trial { trial, round, value, parts, seconds, inputs: inputs.clone(), config: config.clone() })
}

/// Passes on nothing but the wish to stop: the progress of a search is counted in trials.
struct StopOnly<'a>(&'a mut dyn Callbacks);

impl Callbacks for StopOnly<'_> {
    fn stop(&mut self) -> bool {
        self.0.stop()
    }
}

fn check(name: &str, range: &Range) -> Result<(), ParamError> {
    match range {
        Range::Choice(values) if values.is_empty() => {
            Err(ParamError::new(&format!("the range of {name}"), "an empty list", "at least one value"))
        }
        Range::Between(Between { from, to, scale }) => {
            let least = if *scale == Scale::Log { f64::MIN_POSITIVE } else { f64::MIN };
            if from.is_finite() && to.is_finite() && *from >= least && from <= to {
                return Ok(());
            }
            let expected = "from ≤ to, both finite, and above 0 where the scale is log";
            Err(ParamError::new(&format!("the range of {name}"), &format!("{from} … {to}"), expected))
        }
        Range::Choice(_) => Ok(()),
    }
}

/// The trials that stay after a round, best first; ties go to the earlier trial.
///
/// ```
/// use toprank_train::fit::tune::best;
/// assert_eq!(best(&[(0, 0.3), (1, 0.5), (2, 0.5)], 2, true), [1, 2]);
/// assert_eq!(best(&[(0, 0.3), (1, 0.5)], 1, false), [0]);
/// ```
pub fn best(results: &[(u32, f64)], count: u32, higher: bool) -> Vec<u32> {
    let mut order: Vec<(u32, f64)> = results.to_vec();
    let key = |value: f64| match (value.is_nan(), higher) {
        (true, _) => f64::INFINITY,
        (false, true) => -value,
        (false, false) => value,
    };
    order.sort_by(|a, b| key(a.1).total_cmp(&key(b.1)).then(a.0.cmp(&b.0)));
    order.into_iter().take(count as usize).map(|(trial, _)| trial).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "data = \"a.txt\"\nmodel = \"linear\"\n[tune]\ntrials = 7\nseed = 3\n[space]\n\
        learning-rate = { from = 1e-4, to = 1e-1, scale = \"log\" }\nepochs = { from = 10, to = 20 }\n\
        objective = [\"listnet\", \"ranknet\"]\n";

    #[test]
    fn trials_are_a_function_of_the_seed_and_stay_within_their_ranges() {
        let space = Space::from_toml(TEXT).unwrap();
        let draw = || (0..200).map(|t| space.trial(t).unwrap()).collect::<Vec<_>>();
        let trials = draw();
        assert_eq!(trials, draw());
        for trial in &trials {
            let (rate, epochs) = (trial.learning_rate.unwrap(), trial.epochs.unwrap());
            assert!((1e-4..=1e-1).contains(&rate) && (10..=20).contains(&epochs), "{rate} {epochs}");
            assert_eq!(trial.model.as_deref(), Some("linear"));
        }
        let low = trials.iter().filter(|trial| trial.learning_rate.unwrap() < 10f64.powf(-2.5)).count();
        assert!((70..130).contains(&low), "half of the logarithm: {low} of 200");
        let listnet = trials.iter().filter(|t| t.objective.as_deref() == Some("listnet")).count();
        assert!((70..130).contains(&listnet), "{listnet} of 200");
    }

    #[test]
    fn a_setting_more_leaves_the_others_as_they_are() {
        let more = format!("{TEXT}clip = [1.0, 2.0]\n");
        let (a, b) = (Space::from_toml(TEXT).unwrap(), Space::from_toml(&more).unwrap());
        for t in 0..20 {
            assert_eq!(a.trial(t).unwrap().learning_rate, b.trial(t).unwrap().learning_rate);
        }
    }

    #[test]
    fn what_is_wrong_in_a_space_is_named() {
        for (text, words) in [
            ("data = \"a\"", "[space]"),
            ("[space]\nraet = [1.0]", "raet"),
            ("[space]\ndata = [\"b\"]", "data"),
            ("[space]\nlr = []", "an empty list"),
            ("[space]\nlearning-rate = { from = 0.0, to = 1.0, scale = \"log\" }", "above 0"),
            ("[space]\nlearning-rate = { from = 1.0 }", "learning-rate"),
            ("[space]\nlearning-rate = [0.1]\n[tune]\ntrials = 0", "trials"),
            ("[space]\nlearning-rate = [0.1]\n[tune]\nfolds = 1", "folds"),
            ("[space]\nlearning-rate = [\"fast\"]", "setting's kind"),
            ("[space]\nobjective = [\"ndgc\"]", "ndcg"),
        ] {
            let error = Space::from_toml(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
