/*!
Samplers: which lists, and which items of them, a step looks at.

A draw is a function of (seed, step): a sampler opened anew at step t draws what the old one would have drawn, so a
checkpoint needs nothing but the step. What is drawn from a list depends on (seed, list, step) alone: another list more
or less in the data does not change it.

```
use toprank_core::{Lists, Policy};
use toprank_objectives::Draws;
use toprank_train::fit::sampler;
let lists = Lists::from_lengths(&[2, 3, 2], vec![1.0, 0.0, 0.0, 2.0, 1.0, 0.0, 1.0]);
let (_, kind) = sampler::parse("lists:batch=2").unwrap();
let mut sampler = kind.open(&lists, &Policy::default(), 7).unwrap();
assert_eq!(sampler.steps_per_epoch(), 2);
let (mut first, mut second) = (Draws::default(), Draws::default());
sampler.draw(0, &mut first);
sampler.draw(1, &mut second);
let mut seen = [first.lists, second.lists].concat();
seen.sort_unstable();
assert_eq!(seen, [0, 1, 2]); // every list once per epoch
```

**Unbiased.** Every list (or group of relevant pairs) is in a step with the same probability, and [`Draws::importance`]
holds what then remains: over the draws of a step, the mean that objectives take is an unbiased estimate of the mean
over all lists of the data, lists that are never drawn counting 0. What a *sample of a list* says about the list is the
objective's side: the compositional objectives weigh samples by their strata, the others see a short list.
*/

mod bits;
mod choose;
mod decks;
mod epoch;
mod lists;
mod pairs;
mod places;
mod popular;
mod rows;
mod slates;
mod strata;
#[cfg(test)]
mod tests;

use toprank_core::{Choices, Entry, Lists, Param, ParamError, Policy, Spec, catalog};
use toprank_objectives::{DrawRates, Draws};

/// Draws the batches of a training run.
pub trait Sampler: Send {
    /// Steps until everything has been drawn once; at least 1.
    fn steps_per_epoch(&self) -> u64;

    /// How often a relevant item, and a list, is drawn in a step, on average over all that can be drawn.
    fn rates(&self) -> DrawRates;

    /// What step `step` looks at. A function of (seed, step), whatever was drawn before.
    fn draw(&mut self, step: u64, out: &mut Draws);
}

/// A line of the catalog with its parameters set, before it knows its data.
pub trait SamplerKind: Send + Sync {
    /// A sampler over these lists. `policy` says which items are relevant.
    fn open(&self, lists: &Lists, policy: &Policy, seed: u64) -> Result<Box<dyn Sampler>, ParamError>;

    /// A sampler over what users chose among all items: memory for the chosen ones only.
    fn open_choices(
        &self,
        _choices: &Choices,
        _policy: &Policy,
        _seed: u64,
    ) -> Result<Box<dyn Sampler>, ParamError> {
        Err(ParamError::new(
            "sampler",
            "one over rows or slates",
            "pairs, strata or lists, where users choose items",
        ))
    }
}

/// Every sampler.
pub static SAMPLERS: &[Entry<dyn SamplerKind>] = entries! { "samplers":
    lists = "lists": "whole lists, every list once per epoch";
    slates = "slates": "lists cut to a random sample of their items";
    strata = "strata": "so many relevant and so many other items of each list: class-aware batches";
    pairs = "pairs": "every relevant item once per epoch, with other items of its list (SONG)";
    rows = "rows": "every row once per epoch, with all of its labels: ordinary mini-batches";
};

/// Reads a sampler as a user writes it, `pairs:batch=256:items=100`.
///
/// ```
/// use toprank_train::fit::sampler::parse;
/// let error = parse("lists:batch=0").err().unwrap();
/// assert_eq!(error.to_string(), "batch must be an integer from 1 on, or all, but is 0");
/// let error = parse("list").err().unwrap();
/// assert!(error.to_string().contains("did you mean \"lists\"?"), "{error}");
/// ```
pub fn parse(text: &str) -> Result<(Spec, Box<dyn SamplerKind>), ParamError> {
    catalog::make("sampler", SAMPLERS, text)
}

const BATCH: Param =
    Param { name: "batch", default: "32", range: "an integer from 1 on, or all", about: "lists per step" };

/// A count in a parameter; `all` is as many as there are.
fn count(spec: &Spec, param: &Param, least: usize) -> Result<usize, ParamError> {
    match spec.args.get(param.name).unwrap_or(param.default) {
        "all" => Ok(usize::MAX),
        text => match text.parse::<usize>() {
            Ok(value) if value >= least => Ok(value),
            _ => Err(ParamError::new(param.name, text, param.range)),
        },
    }
}

/// The rates where each list is in one of `steps` steps, and a step then draws a part of its relevant items: how many each list
/// has, and which part of them.
fn rates_of_lists(steps: u64, parts: impl Iterator<Item = (usize, f64)>) -> DrawRates {
    let lists = 1.0 / steps as f64;
    let (all, drawn) = parts.fold((0.0, 0.0), |(all, drawn), (relevant, part)| {
        (all + relevant as f64, drawn + relevant as f64 * part)
    });
    DrawRates { pairs: if drawn > 0.0 { lists * drawn / all } else { lists }, lists }
}

/// The probability that at least one of `own` of `all` things is among those of one of `steps` steps that share them out.
fn at_least_one(own: usize, all: usize, steps: u64) -> f64 {
    let (all, drawn) = (all as f64, all as f64 / steps as f64);
    let mut none = 1.0;
    for i in 0..own {
        none *= ((all - drawn - i as f64) / (all - i as f64)).max(0.0);
        if none < 1e-12 {
            break;
        }
    }
    1.0 - none
}

/// The data have nothing this sampler could draw.
fn nothing_to_draw(name: &str, lists: &Lists, expected: &str) -> ParamError {
    let found = format!("{} lists, {} items, none of them such", lists.len(), lists.entries());
    ParamError::new(&format!("what the sampler {name} draws from"), &found, expected)
}

/// Nobody chose anything this sampler could draw.
fn nobody_to_draw(name: &str, choices: &Choices) -> ParamError {
    let found = format!("{} users, {} pairs, none of them relevant", choices.len(), choices.pairs());
    ParamError::new(&format!("what the sampler {name} draws from"), &found, "users with a relevant item")
}
