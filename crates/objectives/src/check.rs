/*!
What an objective of a user's own must keep, tried on drawn lists: the contract of the catalog's objectives in short.

```
use toprank_core::Policy;
use toprank_objectives::{Goal, check};
let goal = Goal::parse("listnet", &Policy::default()).unwrap();
assert!(check::check(&goal, 1).iter().all(|kept| kept.fault.is_none()));
```
*/

use toprank_core::{Lists, Stream};

use crate::driver::{Batch, Gradients};
use crate::goal::{Goal, GoalError};
use crate::objective::Hessian;

/// One promise, and how it was broken.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise {
    /// The promise in words.
    pub name: &'static str,
    /// Where and how it was broken; `None`: it was kept.
    pub fault: Option<String>,
}

/// Lists that are tried.
const LISTS: u32 = 12;
/// Step of finite differences.
const STEP: f64 = 1e-3;
/// Difference that rounding may make of a derivative, relative to the largest one of the list.
const TOLERANCE: f64 = 1e-5;

/// A list that was drawn.
struct Drawn {
    number: u32,
    scores: Vec<f64>,
    labels: Vec<f32>,
}

impl Drawn {
    /// Scores within a few units, labels 0 to 2, one of them relevant and one not.
    fn new(number: u32, seed: u64) -> Drawn {
        let mut random = Stream::new(seed, "check of an objective").of_list(number).open();
        let length = 2 + random.below(7);
        let scores = (0..length).map(|_| 4.0 * random.unit() - 2.0).collect();
        let mut labels: Vec<f32> = (0..length).map(|_| random.below(3) as f32).collect();
        (labels[0], labels[1]) = (2.0, 0.0);
        Drawn { number, scores, labels }
    }

    fn at(&self, scores: Vec<f64>) -> Drawn {
        Drawn { number: self.number, scores, labels: self.labels.clone() }
    }
}

/// Loss, gradient and Hessian diagonal of one list, from the initial state.
fn of(goal: &Goal, list: &Drawn, weights: Option<f32>) -> Result<Gradients, GoalError> {
    let lists = Lists {
        item_weights: weights.map(|weight| vec![weight; list.labels.len()]),
        ..Lists::from_lengths(&[list.labels.len()], list.labels.clone())
    };
    let mut out = Gradients { want_hessian: true, ..Gradients::default() };
    goal.step(&Batch::all(&lists, &list.scores), &mut goal.state(&lists)?, &mut out)?;
    Ok(out)
}

/// Five-point difference of a function at 0.
fn slope(f: impl Fn(f64) -> Result<f64, GoalError>) -> Result<f64, GoalError> {
    let outer = f(-2.0 * STEP)? - f(2.0 * STEP)?;
    let inner = f(STEP)? - f(-STEP)?;
    Ok((outer + 8.0 * inner) / (12.0 * STEP))
}

fn moved(list: &Drawn, item: usize, by: f64) -> Drawn {
    let mut scores = list.scores.clone();
    scores[item] += by;
    list.at(scores)
}

/// The largest magnitude, at least 1.
fn size(values: &[f64]) -> f64 {
    values.iter().fold(1.0, |most, value| most.max(value.abs()))
}

type Tried = Result<Option<String>, GoalError>;

/// Tries an objective on lists drawn by `seed`; one line for each promise.
pub fn check(goal: &Goal, seed: u64) -> Vec<Promise> {
    let objective = goal.objective();
    let drawn: Vec<Drawn> = (0..LISTS).map(|number| Drawn::new(number, seed)).collect();
    let mut all = Vec::new();
    let mut promise = |name: &'static str, tried: &dyn Fn(&Drawn) -> Tried| {
        let fault = drawn.iter().find_map(|list| {
            let found = tried(list).unwrap_or_else(|error| Some(error.to_string()))?;
            let Drawn { scores, labels, .. } = list;
            Some(format!("{found}; scores {scores:.4?}, labels {labels:?}"))
        });
        all.push(Promise { name, fault });
    };
    if objective.differentiates_its_loss() {
        promise("the gradient is the derivative of the loss (five-point differences)", &|list| {
            gradient(goal, list)
        });
    }
    match objective.hessian() {
        Hessian::Exact => {
            promise("the Hessian diagonal is the derivative of the gradient", &|list| hessian(goal, list));
        }
        Hessian::Bound => promise("the Hessian diagonal is not below 0", &|list| {
            let found = of(goal, list, None)?.hessian;
            Ok(found.iter().find(|h| **h < 0.0).map(|h| format!("found {h}")))
        }),
    }
    if objective.shift_invariant() {
        promise("a constant added to all scores changes nothing", &|list| shift(goal, list));
    }
    promise("the order of the items does not matter", &|list| order(goal, list));
    promise("weights of 1 are no weights", &|list| {
        let (plain, weighted) = (of(goal, list, None)?, of(goal, list, Some(1.0))?);
        Ok((plain.loss != weighted.loss || plain.gradient != weighted.gradient)
            .then(|| format!("loss {} without and {} with weights", plain.loss, weighted.loss)))
    });
    promise("the same scores give the same numbers", &|list| {
        let (first, second) = (of(goal, list, None)?, of(goal, list, None)?);
        Ok((first.loss != second.loss || first.gradient != second.gradient)
            .then(|| format!("loss {}, then {}", first.loss, second.loss)))
    });
    promise("a small step against the gradient lowers the loss", &|list| descent(goal, list));
    promise("scores of a million give finite numbers", &|list| {
        let far = list.at(list.scores.iter().map(|score| score * 1e6).collect());
        of(goal, &far, None).map(|_| None)
    });
    promise("lists of one item, without a relevant one, or of equal labels give finite numbers", &|list| {
        let n = list.labels.len();
        for labels in [vec![1.0], vec![0.0], vec![0.0; n], vec![2.0; n]] {
            let scores = list.scores[..labels.len()].to_vec();
            of(goal, &Drawn { number: list.number, scores, labels }, None)?;
        }
        Ok(None)
    });
    all
}

fn gradient(goal: &Goal, list: &Drawn) -> Tried {
    let found = of(goal, list, None)?.gradient;
    for item in 0..found.len() {
        let expected = slope(|by| Ok(of(goal, &moved(list, item, by), None)?.loss))?;
        if (found[item] - expected).abs() > TOLERANCE * size(&found) {
            return Ok(Some(format!("item {item}: found {}, expected {expected}", found[item])));
        }
    }
    Ok(None)
}

fn hessian(goal: &Goal, list: &Drawn) -> Tried {
    let found = of(goal, list, None)?.hessian;
    for item in 0..found.len() {
        let expected = slope(|by| Ok(of(goal, &moved(list, item, by), None)?.gradient[item]))?;
        if (found[item] - expected).abs() > TOLERANCE * size(&found) {
            return Ok(Some(format!("item {item}: found {}, expected {expected}", found[item])));
        }
    }
    Ok(None)
}

fn shift(goal: &Goal, list: &Drawn) -> Tried {
    let shifted = list.at(list.scores.iter().map(|score| score + 3.0).collect());
    let (plain, shifted) = (of(goal, list, None)?, of(goal, &shifted, None)?);
    let sum: f64 = plain.gradient.iter().sum();
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
    Ok(match (near(plain.loss, shifted.loss), sum.abs() <= 1e-9 * size(&plain.gradient)) {
        (true, true) => None,
        (false, _) => Some(format!("loss {}, and {} with 3 added to all scores", plain.loss, shifted.loss)),
        (true, false) => Some(format!("the gradient adds up to {sum}, expected 0")),
    })
}

fn order(goal: &Goal, list: &Drawn) -> Tried {
    let mut reversed = list.at(list.scores.iter().rev().copied().collect());
    reversed.labels.reverse();
    let (plain, reversed) = (of(goal, list, None)?, of(goal, &reversed, None)?);
    let tolerance = 1e-9 * size(&plain.gradient);
    let mut pairs = plain.gradient.iter().zip(reversed.gradient.iter().rev());
    let moved = pairs.position(|(a, b)| (a - b).abs() > tolerance);
    Ok(moved.map(|item| {
        let back = reversed.gradient[reversed.gradient.len() - 1 - item];
        format!("item {item}: gradient {}, and {back} with the items reversed", plain.gradient[item])
    }))
}

fn descent(goal: &Goal, list: &Drawn) -> Tried {
    let before = of(goal, list, None)?;
    let square: f64 = before.gradient.iter().map(|g| g * g).sum();
    if square < 1e-12 || !goal.objective().differentiates_its_loss() {
        return Ok(None);
    }
    let scale = 1e-4 / square.sqrt();
    let stepped = list.scores.iter().zip(&before.gradient).map(|(score, g)| score - scale * g).collect();
    let after = of(goal, &list.at(stepped), None)?.loss;
    Ok((after > before.loss).then(|| format!("loss {}, and {after} after the step", before.loss)))
}

#[cfg(test)]
mod tests {
    use toprank_core::Policy;

    use super::*;
    use crate::objective::{Input, Objective, Out};
    use crate::state::ListState;
    use crate::work::Work;

    /// Squared errors with a gradient that is `factor` times the right one.
    struct Squares {
        factor: f64,
    }

    impl Objective for Squares {
        fn hessian(&self) -> Hessian {
            Hessian::Exact
        }

        fn shift_invariant(&self) -> bool {
            false
        }

        fn list(&self, input: &Input, _: &mut ListState, _: &mut Work, out: &mut Out) -> Option<f64> {
            let mut loss = 0.0;
            for (i, score) in input.list.scores.iter().enumerate() {
                let error = score - f64::from(input.list.labels[i]);
                loss += 0.5 * error * error;
                out.gradient[i] = self.factor * error;
                if let Some(hessian) = &mut out.hessian {
                    hessian[i] = 1.0;
                }
            }
            Some(loss)
        }
    }

    #[test]
    fn a_right_objective_keeps_every_promise_and_a_wrong_gradient_breaks_the_promise_about_it() {
        let right = check(&Goal::own("squares", Squares { factor: 1.0 }, &Policy::default()), 1);
        assert!(right.iter().all(|promise| promise.fault.is_none()), "{right:?}");
        for factor in [-1.0, 0.5] {
            let wrong = check(&Goal::own("wrong", Squares { factor }, &Policy::default()), 1);
            assert!(wrong[0].fault.is_some() && wrong[1].fault.is_some(), "{wrong:?}");
        }
    }
}
