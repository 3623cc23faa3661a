/*!
Weight averaging: a second, steadier set of parameters beside the ones that are trained.

| name | the average after step t (from 0) of T |
|---|---|
| `none` | the parameters themselves |
| `ema` | Σ_s d^(t−s) w_s / Σ_s d^(t−s), s = 0..t: the exponential mean without the bias of its start |
| `tail` | the plain mean of w_s, s from ⌊from·T⌋ on; before that the parameters themselves |

Kept in 64 bits, so that the thousandth small correction still counts. The average is a function of the steps and the
numbers kept, which is all that a checkpoint needs.

```
use toprank_train::fit::average;
let (_, rule) = average::parse("tail:from=0.5").unwrap();
let mut average = rule.open(1);
let mut parameters = [0.0];
for (step, w) in [9.0, 9.0, 1.0, 2.0].into_iter().enumerate() {
    average.add(step as u64, 4, &[w]);
}
assert!(average.write(4, 4, &mut parameters));
assert_eq!(parameters, [1.5]); // the last half
```
*/

use rayon::prelude::*;
use toprank_core::{Entry, Param, ParamError, Spec, catalog};

/// Which average is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Averaging(Rule);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    None,
    Ema { decay: f64 },
    Tail { from: f64 },
}

/// An average of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Average {
    rule: Rule,
    mean: Vec<f64>,
}

/// Parameters averaged by one task.
const BLOCK: usize = 16_384;

impl Averaging {
    /// An average of so many parameters.
    pub fn open(self, parameters: usize) -> Average {
        let kept = if self.0 == Rule::None { 0 } else { parameters };
        Average { rule: self.0, mean: vec![0.0; kept] }
    }
}

impl Average {
    /// First step that counts.
    fn first(&self, total: u64) -> u64 {
        match self.rule {
            Rule::None => u64::MAX,
            Rule::Ema { .. } => 0,
            Rule::Tail { from } => (from * total as f64).floor() as u64,
        }
    }

    /// Takes in the parameters after step `step` (from 0) of `total`. To be called once for every step, in order.
    ///
    /// # Panics
    /// If there are not as many as the average was opened for.
    pub fn add(&mut self, step: u64, total: u64, parameters: &[f32]) {
        let first = self.first(total);
        if step < first {
            return;
        }
        let count = (step - first) as f64 + 1.0;
        // The share of the newest in the mean of `count`.
        let share = match self.rule {
            Rule::None => return,
            Rule::Ema { decay } => (1.0 - decay) / (1.0 - libm::pow(decay, count)),
            Rule::Tail { .. } => 1.0 / count,
        };
        assert_eq!(self.mean.len(), parameters.len(), "as many parameters as the average was opened for");
        self.mean.par_chunks_mut(BLOCK).zip(parameters.par_chunks(BLOCK)).for_each(|(mean, parameters)| {
            for (a, w) in mean.iter_mut().zip(parameters) {
                *a += share * (f64::from(*w) - *a);
            }
        });
    }

    /// Writes the average over `parameters` if there is one after `steps` steps; else leaves them and says so.
    pub fn write(&self, steps: u64, total: u64, parameters: &mut [f32]) -> bool {
        if steps <= self.first(total) {
            return false;
        }
        parameters.iter_mut().zip(&self.mean).for_each(|(w, a)| *w = *a as f32);
        true
    }

    /// What a checkpoint keeps; empty without averaging.
    pub fn state(&self) -> &[f64] {
        &self.mean
    }

    /// The same, to be filled from a checkpoint.
    pub fn state_mut(&mut self) -> &mut [f64] {
        &mut self.mean
    }
}

/// Every kind of average.
pub static AVERAGES: &[Entry<Averaging>] = &[
    Entry {
        name: "none",
        family: "averages",
        about: "the parameters as they are",
        page: "No average: the parameters as they are.\n",
        params: &[],
        make: |_| Ok(Box::new(Averaging(Rule::None))),
    },
    Entry {
        name: "ema",
        family: "averages",
        about: "exponential mean of all steps",
        page: include_str!("pages/ema.md"),
        params: &[Param {
            name: "decay",
            default: "0.999",
            range: "in [0, 1)",
            about: "d, how much of the past is kept in a step",
        }],
        make: |spec| {
            let decay = spec.args.number("decay", 0.999, "in [0, 1)", |x| (0.0..1.0).contains(&x))?;
            Ok(Box::new(Averaging(Rule::Ema { decay })))
        },
    },
    Entry {
        name: "tail",
        family: "averages",
        about: "plain mean of the last part of the run",
        page: include_str!("pages/tail.md"),
        params: &[Param {
            name: "from",
            default: "0.75",
            range: "in [0, 1)",
            about: "share of the run after which the mean begins",
        }],
        make: |spec| {
            let from = spec.args.number("from", 0.75, "in [0, 1)", |x| (0.0..1.0).contains(&x))?;
            Ok(Box::new(Averaging(Rule::Tail { from })))
        },
    },
];

/// Reads an average as a user writes it, `ema:decay=0.99`.
pub fn parse(text: &str) -> Result<(Spec, Averaging), ParamError> {
    catalog::make("weight average", AVERAGES, text).map(|(spec, rule)| (spec, *rule))
}

#[cfg(test)]
mod tests {
    use super::*;
    use toprank_core::Stream;

    fn parameters(step: u64, n: usize) -> Vec<f32> {
        let mut random = Stream::new(1, "test numbers").at_step(step).open();
        (0..n).map(|_| random.unit() as f32).collect()
    }

    fn open(text: &str, n: usize) -> Average {
        parse(text).unwrap().1.open(n)
    }

    /// The average after each step, or the parameters where there is none.
    fn run(text: &str, total: u64) -> Vec<f32> {
        let mut average = open(text, 1);
        (0..total)
            .map(|step| {
                let mut now = parameters(step, 1);
                average.add(step, total, &now);
                average.write(step + 1, total, &mut now);
                now[0]
            })
            .collect()
    }

    #[test]
    fn averages_are_those_of_the_formulas() {
        let w: Vec<f64> = (0..40).map(|step| f64::from(parameters(step, 1)[0])).collect();
        let (ema, tail, none) = (run("ema:decay=0.8", 40), run("tail:from=0.25", 40), run("none", 40));
        for t in 0..40 {
            let weights: Vec<f64> = (0..=t).map(|s| 0.8f64.powi((t - s) as i32)).collect();
            let mean = weights.iter().zip(&w).map(|(c, w)| c * w).sum::<f64>() / weights.iter().sum::<f64>();
            assert!((f64::from(ema[t]) - mean).abs() < 1e-7, "ema, step {t}: {}, {mean}", ema[t]);
            let mean = match t < 10 {
                true => w[t],
                false => w[10..=t].iter().sum::<f64>() / (t - 9) as f64,
            };
            assert!((f64::from(tail[t]) - mean).abs() < 1e-7, "tail, step {t}: {}, {mean}", tail[t]);
            assert_eq!(f64::from(none[t]), w[t]);
        }
    }

    #[test]
    fn a_saved_average_goes_on_bit_for_bit_at_any_number_of_threads() {
        let n = 2 * BLOCK + 5;
        for text in ["ema:decay=0.9", "tail:from=0.2", "none"] {
            let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut whole = open(text, n);
            pool(4).install(|| (0..10).for_each(|step| whole.add(step, 10, &parameters(step, n))));
            let mut first = open(text, n);
            (0..6).for_each(|step| first.add(step, 10, &parameters(step, n)));
            let mut second = open(text, n);
            second.state_mut().copy_from_slice(first.state());
            pool(1).install(|| (6..10).for_each(|step| second.add(step, 10, &parameters(step, n))));
            assert_eq!(second, whole, "{text}");
        }
    }

    #[test]
    fn small_corrections_still_count_after_many_steps() {
        // In 32 bits a mean of 1 would not move at all: 0.001/200,000 is less than half of its last bit.
        let mut average = open("tail:from=0", 1);
        let steps = 400_000;
        for step in 0..steps {
            average.add(step, steps, &[if step < steps / 2 { 1.0 } else { 1.001 }]);
        }
        let mean = f64::midpoint(1.0, f64::from(1.001f32));
        assert!((average.state()[0] - mean).abs() < 1e-9, "{}", average.state()[0]);
    }

    #[test]
    fn defaults_are_as_listed_and_every_parameter_matters() {
        for entry in AVERAGES {
            for param in entry.params {
                let name = entry.name;
                assert_eq!(run(&format!("{name}:{}={}", param.name, param.default), 20), run(name, 20));
                assert_ne!(run(&format!("{name}:{}=0.5", param.name), 20), run(name, 20), "{name}");
                let error = parse(&format!("{name}:{}=1", param.name)).unwrap_err();
                assert_eq!(error.param, param.name);
            }
        }
    }
}
