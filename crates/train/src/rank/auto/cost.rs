/*!
What a member costs, and which members a budget pays for: a stored table, so that the list of fits is a function of settings and data.

A plan must not depend on the machine, its load or the number of threads, or the same command would train something else tomorrow. So
seconds are those of one thread of one machine (`bench/auto/cost.py` measures them again); on a slower machine a run stops at its
budget and records the shorter list.

```text
one fit       = trees:    rounds · outputs · (rows · (features · cell + row) + leaves · features · bin)
                networks: epochs · rows · (parameters · weight + row)      + attention over the items of a list
one member    = folds fits, each on (folds − 1)/folds of the rows
the list      = the longest prefix of the portfolio that fits in the budget, on as many folds as still leave three members
```

With a larger budget there are never fewer folds, and with the same folds the shorter list is a prefix of the longer.
*/

use toprank_core::{Architecture, Lists, ParamError};

use super::portfolio::Chosen;
use crate::fit::settings::Config;
use crate::rank::models::{self, Model};

/// Seconds per row, feature and boosting round.
const CELL: f64 = 1.2e-9;
/// Seconds per row and round: gradient, partition, validation.
const ROW: f64 = 1.2e-7;
/// Seconds per leaf and feature of a tree: histogram and search.
const BIN: f64 = 4e-7;
/// Seconds per row and weight of a network in an epoch: forward and backward pass.
const WEIGHT: f64 = 1.2e-9;
/// Seconds per row of a network in an epoch: objective, optimiser, validation.
const STEP: f64 = 1.5e-6;
/// Seconds per pair of items of a list and number of an item, for networks over whole lists.
const ATTENTION: f64 = 4e-9;
/// Seconds per fit: copies, bins, transforms.
const FIT: f64 = 0.01;
/// What is left for reading, scoring and blending.
const OF_BUDGET: f64 = 0.8;
/// Folds that are tried, most first.
const FOLDS: [u32; 3] = [5, 3, 2];
/// With fewer members there is little to blend: rather fewer folds.
const WANTED: usize = 3;
/// Rounds of the one member that is trained on any budget.
const FEWEST_ROUNDS: u32 = 20;

/// How large the data are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Rows of features.
    pub rows: usize,
    /// Features.
    pub width: usize,
    /// Scores per row.
    pub outputs: usize,
    /// Items of a list, weighted by their number: what attention costs per item.
    pub list: f64,
}

impl Size {
    /// Of lists over so many rows of `width` features.
    pub fn of(lists: &Lists, rows: usize, width: usize) -> Size {
        let outputs = lists.output.iter().flatten().max().map_or(1, |&last| usize::from(last) + 1);
        let squares: f64 = (0..lists.len()).map(|q| (lists.range(q).len() as f64).powi(2)).sum();
        Size { rows, width, outputs, list: squares / lists.entries().max(1) as f64 }
    }
}

/// Estimated seconds of one fit on all rows.
///
/// # Errors
/// If the config names no model.
pub fn of_fit(config: &Config, size: &Size) -> Result<f64, ParamError> {
    let (rows, width, outputs) = (size.rows as f64, size.width as f64, size.outputs as f64);
    let epochs = f64::from(config.epochs());
    Ok(FIT
        + match models::parse(config.model())? {
            Model::Trees(forest) => {
                let width = width * forest.boosting.growth.features;
                let leaves = (forest.boosting.growth.leaves as f64).min(rows);
                epochs * outputs * (rows * (width * CELL + ROW) + leaves * width * BIN)
            }
            Model::Network(network) => {
                let weights = network.parameters(size.width, size.outputs).unwrap_or(0) as f64;
                let pairs =
                    if Architecture::couples_items(&*network) { size.list * 128.0 * ATTENTION } else { 0.0 };
                epochs * rows * (weights * WEIGHT + STEP + pairs)
            }
        })
}

/// The list of fits.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Folds; 0: members are fitted once, and selected on validation data.
    pub folds: u32,
    /// The members.
    pub members: Vec<Chosen>,
    /// What the table says they cost together, in seconds.
    pub seconds: f64,
}

/// The members that a budget pays for, on at most `folds` folds (0: validation data are given). At least one, however small the
/// budget is.
///
/// # Errors
/// If the config of a member names no model.
pub fn plan(all: &[Chosen], size: &Size, folds: Folds, budget: f64) -> Result<Plan, ParamError> {
    let paid = budget * OF_BUDGET;
    let each = all.iter().map(|member| of_fit(&member.config, size));
    let each = each.collect::<Result<Vec<f64>, ParamError>>()?;
    let prefix = |factor: f64| {
        let mut sum = 0.0;
        each.iter()
            .take_while(|seconds| {
                sum += *seconds * factor;
                sum <= paid
            })
            .count()
    };
    let tried: Vec<u32> = match folds {
        Folds::None => vec![0],
        Folds::Exactly(folds) => vec![folds],
        Folds::AtMost(most) => FOLDS.into_iter().map(|folds| folds.min(most)).collect(),
    };
    let wanted = WANTED.min(all.len());
    let fewest = tried.last().copied().unwrap_or(0);
    let folds = tried.into_iter().find(|&folds| prefix(passes(folds)) >= wanted).unwrap_or(fewest);
    let count = prefix(passes(folds));
    let members = match count {
        0 => vec![all[0].limited(affordable(&all[0], each[0] * passes(folds), paid))],
        _ => all[..count].to_vec(),
    };
    let seconds = each[..count].iter().sum::<f64>() * passes(folds);
    Ok(Plan { folds, seconds: if count == 0 { paid } else { seconds }, members })
}

/// What decides the number of folds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folds {
    /// Validation data are given: none.
    None,
    /// The user does.
    Exactly(u32),
    /// The budget, up to what the data allow.
    AtMost(u32),
}

/// How often all rows are learned from: k folds train on (k − 1)/k of them k times.
fn passes(folds: u32) -> f64 {
    if folds == 0 { 1.0 } else { f64::from(folds) - 1.0 }
}

/// As many rounds of the first member as the budget pays for.
fn affordable(member: &Chosen, seconds: f64, paid: f64) -> u32 {
    let epochs = member.config.epochs();
    let some = (f64::from(epochs) * paid / seconds) as u32;
    some.clamp(FEWEST_ROUNDS.min(epochs), epochs)
}

/// Reads a budget: `90s`, `10m`, `1h`; a number alone is in seconds.
///
/// # Errors
/// If it is no time above 0.
///
/// ```
/// use toprank_train::rank::auto::seconds;
/// assert_eq!((seconds("90s"), seconds("1.5m"), seconds("1h"), seconds("7")), (Ok(90.0), Ok(90.0), Ok(3600.0), Ok(7.0)));
/// assert!(seconds("soon").is_err() && seconds("0s").is_err());
/// ```
pub fn seconds(text: &str) -> Result<f64, ParamError> {
    let text = text.trim();
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let (number, unit) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
        .unwrap_or((text, 1.0));
    match number.trim().parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number * unit),
        _ => Err(ParamError::new("budget", text, "a time above 0, such as 90s, 10m or 1h")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::auto::portfolio::of_data;
    use crate::{Settings, TrainerKind};

    fn all() -> Vec<Chosen> {
        let lists = Lists::from_lengths(&[4], vec![1.0, 0.0, 0.0, 1.0]);
        let settings =
            Settings { model: Some("auto".into()), objective: Some("auprc".into()), ..Settings::default() };
        let config = settings.resolve(TrainerKind::Rank).unwrap().suited_to(&lists).unwrap();
        of_data(&config, &lists).unwrap()
    }

    const SMALL: Size = Size { rows: 2000, width: 10, outputs: 1, list: 2000.0 };
    const LARGE: Size = Size { rows: 600_000, width: 40, outputs: 1, list: 600_000.0 };

    fn names(plan: &Plan) -> Vec<&str> {
        plan.members.iter().map(|member| member.text.as_str()).collect()
    }

    #[test]
    fn a_budget_becomes_a_list_and_a_larger_one_never_a_smaller() {
        let all = all();
        for size in [SMALL, LARGE] {
            let mut last: Option<Plan> = None;
            for tenths in 1..4000 {
                let plan = plan(
                    &all,
                    &size,
                    Folds::AtMost(5),
                    f64::from(tenths) * 0.1 * (size.rows as f64 / 2000.0),
                )
                .unwrap();
                assert!(!plan.members.is_empty());
                if let Some(last) = last {
                    assert!(plan.folds >= last.folds, "{} then {}", last.folds, plan.folds);
                    let whole = !last.members[0].text.contains("epochs");
                    if plan.folds == last.folds && whole {
                        assert!(names(&plan).starts_with(&names(&last)), "{last:?} then {plan:?}");
                    }
                }
                last = Some(plan);
            }
            let last = last.unwrap();
            assert_eq!((last.folds, last.members.len()), (5, all.len()), "everything is paid for in the end");
        }
    }

    #[test]
    fn the_list_fits_in_the_budget_by_the_table() {
        let all = all();
        for budget in [1.0, 10.0, 60.0, 600.0] {
            for size in [SMALL, LARGE] {
                let plan = plan(&all, &size, Folds::AtMost(5), budget).unwrap();
                let whole = plan.members[0].text == all[0].text;
                assert!(!whole || plan.seconds <= budget * OF_BUDGET, "{plan:?}");
            }
        }
    }

    #[test]
    fn on_any_budget_there_is_a_fast_model_of_trees() {
        let all = all();
        let plan = plan(&all, &LARGE, Folds::AtMost(5), 0.001).unwrap();
        assert_eq!((names(&plan), plan.folds), (vec!["trees:epochs=20"], 2));
        assert_eq!(plan.members[0].config.epochs(), 20);
        let few = super::plan(&all, &LARGE, Folds::Exactly(4), 0.001).unwrap();
        assert_eq!(few.folds, 4);
        let valid = super::plan(&all, &SMALL, Folds::None, 600.0).unwrap();
        assert_eq!((valid.folds, valid.members.len()), (0, all.len()));
    }

    #[test]
    fn more_of_anything_costs_more() {
        let all = all();
        let of = |size: Size| -> Vec<f64> { all.iter().map(|m| of_fit(&m.config, &size).unwrap()).collect() };
        let base = of(SMALL);
        for larger in
            [Size { rows: 4000, ..SMALL }, Size { width: 20, ..SMALL }, Size { outputs: 2, ..SMALL }]
        {
            assert!(of(larger).iter().zip(&base).all(|(more, less)| more > less), "{larger:?}");
        }
    }
}
