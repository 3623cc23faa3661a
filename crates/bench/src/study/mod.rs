//! Studies: methods × data sets, each method with the same number of tries, chosen on validation data, tested once.
//!
//! ```text
//! study PLAN RESULTS [--only TEXT] [--minutes 120]
//! study --table PLAN RESULTS FOLDER
//! ```
//!
//! PLAN is a TOML file (see [`plan`]) that is committed before the first run. The command trains every try with one seed and
//! writes its validation value to RESULTS, a file of JSON lines; once all tries of a method on a set are there, it trains the one
//! that is best on validation data with every seed of the plan and evaluates these models on the test data. Nothing else ever reads
//! the test data. The command is resumable: it makes the runs that RESULTS lacks.
//!
//! `--table` writes `tries.csv` (every try), `test.csv` (means over seeds, p values of a paired randomisation test over lists against
//! the method that is best on validation data, corrected by Holm's method within a set) and `table.md` (methods × sets). Where the
//! plan asks for learning curves, it writes them, too (see [`curves`]).

mod curves;
mod data;
mod plan;
mod table;
mod tasks;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use self::data::Cache;
use self::plan::{Plan, Set};
use crate::common::resumable::{self, Run as _};
use crate::common::{Outcome, WrongUse, option};

/// One training run.
struct Run<'a> {
    set: &'a Set,
    fold: usize,
    method: &'a str,
    /// What is tried, as a line of TOML; the settings that all tries of the method share are in the plan.
    tried: String,
    settings: toml::Table,
    seed: u64,
    /// Whether the test data are evaluated.
    test: bool,
}

impl resumable::Run for Run<'_> {
    fn name(&self) -> String {
        let phase = if self.test { "test" } else { "try" };
        let Run { set, fold, method, tried, seed, .. } = self;
        // All settings are part of the name, so that a changed plan makes new runs.
        format!("{phase} {} {fold} {method} [{tried}] {seed} | {}", set.name, plan::one_line(&self.settings))
    }
}

pub fn run(args: &[String]) -> Outcome {
    if option(args, "--table").is_some() {
        let [_, plan, results, folder] = args else { return Err(WrongUse.into()) };
        let (plan, lines, folder) = (Plan::read(plan)?, resumable::read(results)?, Path::new(folder));
        table::write(&plan, &lines, folder)?;
        return curves::write(&plan, &lines, folder);
    }
    let [plan, results, ..] = args else { return Err(WrongUse.into()) };
    let plan = Plan::read(plan)?;
    let end = resumable::end(args, 120.0)?;
    let cache = Cache::default();
    let only = |run: &Run| option(args, "--only").is_none_or(|only| run.name().contains(only));
    let go = |mut runs: Vec<Run>| {
        runs.retain(only);
        resumable::go(runs, results, end, |run| one(&plan, run, &cache))
    };
    go(tries(&plan))?;
    go(tests(&plan, &resumable::read(results)?))
}

/// Every try of every method on every fold of every set, with the first seed.
fn tries(plan: &Plan) -> Vec<Run<'_>> {
    let mut runs = Vec::new();
    for set in &plan.sets {
        for fold in 0..set.folds {
            for method in &plan.methods {
                runs.extend(method.tries().iter().map(|tried| Run {
                    set,
                    fold,
                    method: &method.name,
                    tried: plan::one_line(tried),
                    settings: plan.settings_of(set, method, tried),
                    seed: plan.seeds[0],
                    test: false,
                }));
            }
        }
    }
    runs
}

/// The best try of every method whose tries are all done, with every seed.
fn tests<'a>(plan: &'a Plan, lines: &[Value]) -> Vec<Run<'a>> {
    let values_of = values_to_choose_by(plan, lines);
    let mut runs = Vec::new();
    // The tries of one method on one fold of one set follow each other.
    let all = tries(plan);
    for group in all.chunk_by(|a, b| (&a.set.name, a.fold, a.method) == (&b.set.name, b.fold, b.method)) {
        let values: Option<Vec<f64>> =
            group.iter().map(|run| values_of.get(run.name().as_str()).copied()).collect();
        let Some(values) = values else { continue };
        // Of equal tries the first in the plan.
        let best = (0..group.len()).rev().max_by(|&a, &b| values[a].total_cmp(&values[b]));
        let Some(best) = best.map(|best| &group[best]) else { continue };
        runs.extend(plan.seeds.iter().map(|&seed| Run {
            tried: best.tried.clone(),
            settings: best.settings.clone(),
            seed,
            test: true,
            ..*best
        }));
    }
    runs
}

/// What chooses among tries: what each run reached on validation data, or how low the objective of its curve ended; the smallest
/// number where training diverged.
fn values_to_choose_by<'a>(plan: &Plan, lines: &'a [Value]) -> BTreeMap<&'a str, f64> {
    let by_curve = plan.curves.as_ref().is_some_and(|curves| curves.chooses);
    let value = |line: &Value| {
        let valid = line["valid"].as_f64()?;
        if by_curve { curves::end(line).map(|loss| -loss) } else { Some(valid) }
    };
    lines.iter().filter_map(|line| Some((line["run"].as_str()?, value(line).unwrap_or(f64::MIN)))).collect()
}

fn one(plan: &Plan, run: &Run, cache: &Cache) -> Outcome<(Value, String)> {
    let data = cache.get(plan, run.set, run.fold)?;
    let reached = tasks::train(plan, run, &data)?;
    let mut line = json!({
        "test": run.test, "set": run.set.name, "fold": run.fold, "method": run.method, "tried": run.tried, "seed": run.seed,
        "valid": reached.valid, "epoch": reached.epoch, "seconds": reached.seconds,
    });
    if plan.curves.is_some() {
        line["curve"] = reached.curve.iter().map(curves::Point::json).collect();
    }
    let mut says = reached.valid.map_or("diverged".into(), |valid| format!("valid {valid:.4}"));
    for (i, (metric, mean, per_list)) in reached.test.into_iter().enumerate() {
        says += &format!(", {metric} {:.4}", mean.unwrap_or(f64::NAN));
        // Only the first metric is compared list by list.
        line["metrics"][&metric] =
            if i == 0 { json!({ "mean": mean, "lists": per_list }) } else { json!({ "mean": mean }) };
    }
    Ok((line, format!("{says}, {:.1} s", reached.seconds)))
}

#[cfg(test)]
mod tests;
