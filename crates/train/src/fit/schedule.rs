/*!
Schedules: the learning rate of each step of a run.

| name | rate at share p of the way after the warm-up |
|---|---|
| `constant` | η |
| `step` | η · factor^⌊p / every⌋ |
| `cosine` | η · (floor + (1 − floor)(1 + cos πp)/2) |
| `theory` | η · (t + 1)^(−1/3), t the steps since the warm-up |
| `inverse` | η · (2t + 1)/(t + 1)² |

Every one takes `warmup`, a share of the whole run over which the rate first grows linearly to η, and `epochs`, the number of epochs
that it is planned for: a run that is shorter is cut, one that is longer keeps the last rate. So a model that is trained again for as
many epochs as validation found best goes through the same rates.

```
use toprank_train::fit::schedule;
let (_, cosine) = schedule::parse("cosine:warmup=0.1").unwrap();
let rates: Vec<f64> = [0, 4, 9, 10, 55, 99].map(|step| cosine.rate(step, 100, 0.1)).to_vec();
assert!((rates[0] - 0.01).abs() < 1e-15 && (rates[1] - 0.05).abs() < 1e-15); // growing
assert_eq!(rates[2..4], [0.1, 0.1]); // all of it
assert!((rates[4] - 0.05).abs() < 1e-15 && rates[5] < 1e-4); // half, almost nothing
```
*/

use toprank_core::{Entry, Param, ParamError, Spec, catalog};

/// The rate of each step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    shape: Shape,
    warmup: f64,
    epochs: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Constant,
    Step { every: f64, factor: f64 },
    Cosine { floor: f64 },
    Theory,
    Inverse,
}

impl Schedule {
    /// The steps that it is planned for, in a run of `steps` steps whose epochs have `per_epoch`.
    pub fn planned(&self, per_epoch: u64, steps: u64) -> u64 {
        self.epochs.map_or(steps, |epochs| per_epoch.saturating_mul(u64::from(epochs)))
    }

    /// The rate of step `step` (from 0) of `total` steps, whose highest rate is `base`.
    pub fn rate(&self, step: u64, total: u64, base: f64) -> f64 {
        let warm = (self.warmup * total as f64).round() as u64;
        if step < warm {
            return base * (step + 1) as f64 / warm as f64;
        }
        let since = (step - warm) as f64;
        // A run that continues beyond its end stays where it ended.
        let p = (since / total.saturating_sub(warm).max(1) as f64).min(1.0);
        base * match self.shape {
            Shape::Constant => 1.0,
            // A thousandth of a step of tolerance: 3 × 0.1 is more than 0.3.
            Shape::Step { every, factor } => {
                libm::pow(factor, ((p + 1e-3 / total.max(1) as f64) / every).floor())
            }
            Shape::Cosine { floor } => {
                floor + (1.0 - floor) * (1.0 + libm::cos(std::f64::consts::PI * p)) / 2.0
            }
            Shape::Theory => 1.0 / libm::cbrt(since + 1.0),
            Shape::Inverse => (2.0 * since + 1.0) / ((since + 1.0) * (since + 1.0)),
        }
    }
}

const WARMUP: Param = Param {
    name: "warmup",
    default: "0",
    range: "in [0, 1)",
    about: "share of the run over which the rate grows to its full height",
};

const EPOCHS: Param = Param {
    name: "epochs",
    default: "those of the run",
    range: "an integer from 1 to 4294967295",
    about: "epochs that the schedule is planned for; a run of fewer is cut, one of more keeps the last rate",
};

fn with(spec: &Spec, shape: Shape) -> Result<Box<Schedule>, ParamError> {
    let warmup = spec.args.number("warmup", 0.0, WARMUP.range, |x| (0.0..1.0).contains(&x))?;
    let epochs =
        spec.args.get(EPOCHS.name).map(|_| spec.args.count(EPOCHS.name, 1, u32::MAX as usize)).transpose()?;
    Ok(Box::new(Schedule { shape, warmup, epochs: epochs.map(|epochs| epochs as u32) }))
}

/// The schedule that `text` names, planned for so many epochs however long the run will be, unless it says how many itself.
///
/// ```
/// use toprank_train::fit::schedule::planned_for;
/// assert_eq!(planned_for("cosine", 40).unwrap(), "cosine:epochs=40");
/// assert_eq!(planned_for("cosine:epochs=30", 40).unwrap(), "cosine:epochs=30");
/// ```
///
/// # Errors
/// If there is no such schedule.
pub fn planned_for(text: &str, epochs: u32) -> Result<String, ParamError> {
    let (mut spec, schedule) = parse(text)?;
    if schedule.epochs.is_none() {
        spec.args.0.push((EPOCHS.name.into(), epochs.to_string()));
    }
    Ok(spec.to_string())
}

/// Every schedule.
pub static SCHEDULES: &[Entry<Schedule>] = &[
    Entry {
        name: "constant",
        family: "schedules",
        about: "the same learning rate in every step",
        page: include_str!("pages/constant.md"),
        params: &[WARMUP, EPOCHS],
        make: |spec| with(spec, Shape::Constant),
    },
    Entry {
        name: "step",
        family: "schedules",
        about: "the learning rate is multiplied by a factor after each given fraction of the run",
        page: include_str!("pages/step.md"),
        params: &[
            Param {
                name: "every",
                default: "0.5",
                range: "in (0, 1]",
                about: "share of the run from one fall to the next",
            },
            Param {
                name: "factor",
                default: "0.1",
                range: "in (0, 1]",
                about: "what the rate is multiplied by",
            },
            WARMUP,
            EPOCHS,
        ],
        make: |spec| {
            let share = |x: f64| x > 0.0 && x <= 1.0;
            let every = spec.args.number("every", 0.5, "in (0, 1]", share)?;
            let factor = spec.args.number("factor", 0.1, "in (0, 1]", share)?;
            with(spec, Shape::Step { every, factor })
        },
    },
    Entry {
        name: "cosine",
        family: "schedules",
        about: "half a cosine from the full learning rate down to (almost) 0",
        page: include_str!("pages/cosine.md"),
        params: &[
            Param {
                name: "floor",
                default: "0",
                range: "in [0, 1]",
                about: "the learning rate at the end, as a fraction of the full one",
            },
            WARMUP,
            EPOCHS,
        ],
        make: |spec| {
            let floor = spec.args.number("floor", 0.0, "in [0, 1]", |x| (0.0..=1.0).contains(&x))?;
            with(spec, Shape::Cosine { floor })
        },
    },
    Entry {
        name: "theory",
        family: "schedules",
        about: "t^(-1/3), the decay of the convergence proofs",
        page: include_str!("pages/theory.md"),
        params: &[WARMUP, EPOCHS],
        make: |spec| with(spec, Shape::Theory),
    },
    Entry {
        name: "inverse",
        family: "schedules",
        about: "(2t + 1)/(t + 1)², about 2/t: the decay of SOPRC's convergence proof",
        page: include_str!("pages/inverse.md"),
        params: &[WARMUP, EPOCHS],
        make: |spec| with(spec, Shape::Inverse),
    },
];

/// Reads a schedule as a user writes it, `cosine:warmup=0.05`.
pub fn parse(text: &str) -> Result<(Spec, Schedule), ParamError> {
    catalog::make("schedule", SCHEDULES, text).map(|(spec, schedule)| (spec, *schedule))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(text: &str, total: u64) -> Vec<f64> {
        let (_, schedule) = parse(text).unwrap();
        (0..total).map(|step| schedule.rate(step, total, 2.0)).collect()
    }

    #[test]
    fn rates_are_those_of_the_formulas() {
        assert_eq!(rates("constant", 3), [2.0; 3]);
        assert_eq!(rates("step:every=0.3:factor=0.5", 10), [2., 2., 2., 1., 1., 1., 0.5, 0.5, 0.5, 0.25]);
        // 0.3/0.1 is less than 3 in binary; the fourth tenth begins with step 3 all the same.
        let tenths = rates("step:every=0.1:factor=0.5", 10);
        assert_eq!(tenths, (0..10).map(|k| 2.0 * 0.5f64.powi(k)).collect::<Vec<_>>());
        let cosine = rates("cosine:floor=0.1", 4);
        let expected = [2.0, 0.2 + 1.8 * (1.0 + 0.5f64.sqrt()) / 2.0, 0.2 + 0.9];
        cosine.iter().zip(expected).for_each(|(a, b)| assert!((a - b).abs() < 1e-15, "{cosine:?}"));
        let theory = rates("theory", 27);
        assert_eq!((theory[0], theory[7], theory[26]), (2.0, 1.0, 2.0 / 3.0));
        let inverse = rates("inverse", 5);
        assert_eq!(
            inverse,
            [2.0, 2.0 * (3.0 / 4.0), 2.0 * (5.0 / 9.0), 2.0 * (7.0 / 16.0), 2.0 * (9.0 / 25.0)]
        );
    }

    #[test]
    fn a_warmup_grows_to_the_full_rate_and_then_the_rest_begins() {
        assert_eq!(rates("constant:warmup=0.5", 8), [0.5, 1.0, 1.5, 2.0, 2.0, 2.0, 2.0, 2.0]);
        assert_eq!(rates("theory:warmup=0.5", 4), [1.0, 2.0, 2.0, 2.0 / libm::cbrt(2.0)]);
        assert_eq!(rates("inverse:warmup=0.5", 4), [1.0, 2.0, 2.0, 1.5]);
        for form in ["step:warmup=0.2", "cosine:warmup=0.2"] {
            let rates = rates(form, 10);
            assert_eq!(rates[..3], [1.0, 2.0, 2.0], "{form}");
            assert!(rates[9] < 1.0);
        }
    }

    #[test]
    fn every_parameter_matters_and_defaults_are_as_listed() {
        for entry in SCHEDULES {
            for param in entry.params.iter().filter(|param| param.name != EPOCHS.name) {
                let name = entry.name;
                assert_eq!(rates(&format!("{name}:{}={}", param.name, param.default), 20), rates(name, 20));
                assert_ne!(rates(&format!("{name}:{}=0.25", param.name), 20), rates(name, 20), "{name}");
            }
        }
    }

    #[test]
    fn a_schedule_that_says_its_epochs_keeps_its_rates_in_a_run_of_fewer_and_of_more() {
        for entry in SCHEDULES {
            let (_, of_the_run) = parse(entry.name).unwrap();
            let (_, planned) = parse(&planned_for(entry.name, 8).unwrap()).unwrap();
            assert_eq!(
                (of_the_run.planned(5, 20), planned.planned(5, 20), planned.planned(5, 100)),
                (20, 40, 40)
            );
        }
        assert_eq!(parse("cosine:epochs=0").unwrap_err().param, "epochs");
    }

    #[test]
    fn beyond_the_end_and_in_runs_without_steps_rates_stay_finite() {
        for entry in SCHEDULES {
            for text in [entry.name.to_string(), format!("{}:warmup=0.9", entry.name)] {
                let (_, schedule) = parse(&text).unwrap();
                for (step, total) in [(0, 0), (5, 0), (0, 1), (3, 1), (1000, 10), (u64::MAX, 10)] {
                    let rate = schedule.rate(step, total, 1.0);
                    assert!((0.0..=1.0).contains(&rate), "{text}: step {step} of {total}: {rate}");
                }
            }
        }
    }

    #[test]
    fn a_run_that_goes_on_beyond_its_end_stays_at_its_last_rate() {
        for text in ["constant", "step:every=0.3", "cosine", "cosine:floor=0.1:warmup=0.2"] {
            let (_, schedule) = parse(text).unwrap();
            let at = |step| schedule.rate(step, 10, 1.0);
            assert_eq!((at(11), at(15), at(20)), (at(10), at(10), at(10)), "{text}");
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused_by_name() {
        for (text, key) in [
            ("constant:warmup=1", "warmup"),
            ("step:every=0", "every"),
            ("step:factor=2", "factor"),
            ("cosine:floor=-0.1", "floor"),
        ] {
            assert_eq!(parse(text).unwrap_err().param, key);
        }
    }
}
