//! Learning curves of a study: how methods compare while they train.
//!
//! `curves.csv` has every point of the runs that were chosen, `ends.csv` the mean of the last points; both are means over folds and
//! seeds with their deviation. Each set has a plot of the metric on validation data and, where an objective is followed, one of its loss.

use std::path::Path;

use serde_json::{Value, json};
use toprank_plots::{Series, curves};

use super::plan::{Plan, Set};
use crate::common::{Outcome, mean, mean_and_deviation};

/// Points at the end of a run whose mean is its result.
const END: usize = 5;

/// A model at one moment of its training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub epoch: f64,
    pub step: u64,
    /// Of the objective that is trained, mean over the batches since the point before.
    pub loss: Option<f64>,
    /// Of the objective that is followed, over the whole training lists.
    pub followed: Option<f64>,
    /// The metric on validation data.
    pub valid: Option<f64>,
}

impl Point {
    /// As it stands in the file of results; seven digits are enough for a curve.
    pub fn json(&self) -> Value {
        let short = |value: Option<f64>| value.map(|v| (v * 1e7).round() / 1e7);
        json!([self.epoch, self.step, short(self.loss), short(self.followed), short(self.valid)])
    }

    fn of(value: &Value) -> Option<Point> {
        Some(Point {
            epoch: value[0].as_f64()?,
            step: value[1].as_u64()?,
            loss: value[2].as_f64(),
            followed: value[3].as_f64(),
            valid: value[4].as_f64(),
        })
    }
}

/// The curve of a run, as its line has it.
fn of_line(line: &Value) -> Vec<Point> {
    line["curve"].as_array().map_or(Vec::new(), |points| points.iter().filter_map(Point::of).collect())
}

/// Mean of the last points of the objective that a run follows.
pub fn end(line: &Value) -> Option<f64> {
    at_end(&of_line(line), |point| point.followed)
}

/// Mean of what the last points have; `None` where one of them lacks it.
fn at_end(points: &[Point], of: fn(&Point) -> Option<f64>) -> Option<f64> {
    let last = &points[points.len().saturating_sub(END)..];
    let values: Vec<f64> = last.iter().map(of).collect::<Option<_>>()?;
    (!values.is_empty()).then(|| mean(&values))
}

/// The chosen runs of a method on a set.
struct Curve<'a> {
    name: &'a str,
    runs: Vec<Vec<Point>>,
    /// Those that did not diverge.
    whole: Vec<usize>,
    tried: Vec<&'a str>,
}

impl<'a> Curve<'a> {
    /// `None` until all runs are there.
    fn of(lines: &'a [Value], plan: &Plan, set: &Set, method: &'a str) -> Option<Curve<'a>> {
        let group: Vec<&Value> = lines
            .iter()
            .filter(|line| {
                line["test"] == true && line["set"] == set.name.as_str() && line["method"] == method
            })
            .collect();
        let mut tried: Vec<&str> = group.iter().filter_map(|line| line["tried"].as_str()).collect();
        tried.dedup();
        let runs: Vec<Vec<Point>> = group.iter().map(|line| of_line(line)).collect();
        let whole = (0..group.len()).filter(|&run| !group[run]["valid"].is_null()).collect();
        (runs.len() == plan.seeds.len() * set.folds).then_some(Curve { name: method, runs, whole, tried })
    }

    /// Number of points that all runs have: the curve ends where the first run ended or diverged.
    fn points(&self) -> usize {
        self.runs.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// Mean and deviation of point `i` over the runs; `None` where one of them lacks the value.
    fn at(&self, i: usize, of: fn(&Point) -> Option<f64>) -> Option<(f64, f64)> {
        let values: Vec<f64> = self.runs.iter().map(|run| of(&run[i])).collect::<Option<_>>()?;
        Some(mean_and_deviation(&values))
    }

    /// Mean and deviation of the last points over the runs that did not diverge.
    fn end(&self, of: fn(&Point) -> Option<f64>) -> Option<(f64, f64)> {
        let ends: Vec<f64> =
            self.whole.iter().map(|&run| at_end(&self.runs[run], of)).collect::<Option<_>>()?;
        (!ends.is_empty()).then(|| mean_and_deviation(&ends))
    }

    fn series(&self, of: fn(&Point) -> Option<f64>) -> Series {
        let point = |i: usize| Some((self.runs[0][i].epoch, self.at(i, of)?.0));
        Series { name: self.name.into(), points: (0..self.points()).filter_map(point).collect() }
    }
}

/// Writes `curves.csv`, `ends.csv` and the plots, if the plan asks for curves.
pub fn write(plan: &Plan, lines: &[Value], folder: &Path) -> Outcome {
    let Some(wanted) = &plan.curves else { return Ok(()) };
    let (mut all, mut ends) = (
        csv::Writer::from_path(folder.join("curves.csv"))?,
        csv::Writer::from_path(folder.join("ends.csv"))?,
    );
    let columns = ["followed", "followed_sd", "valid", "valid_sd"];
    all.write_record(["set", "method", "epoch", "step", "loss"].iter().chain(&columns))?;
    ends.write_record(["set", "method", "runs", "diverged"].iter().chain(&columns).chain(&["chosen"]))?;
    let cells = |value: Option<(f64, f64)>| match value {
        Some((mean, deviation)) => [format!("{mean:.5}"), format!("{deviation:.5}")],
        None => [String::new(), String::new()],
    };
    for set in &plan.sets {
        let methods: Vec<Curve> =
            plan.methods.iter().filter_map(|method| Curve::of(lines, plan, set, &method.name)).collect();
        for curve in &methods {
            for i in 0..curve.points() {
                let Point { epoch, step, .. } = curve.runs[0][i];
                let [loss, _] = cells(curve.at(i, |point| point.loss));
                let place = [set.name.clone(), curve.name.into(), epoch.to_string(), step.to_string(), loss];
                let (followed, valid) =
                    (cells(curve.at(i, |point| point.followed)), cells(curve.at(i, |point| point.valid)));
                all.write_record(place.iter().chain(&followed).chain(&valid))?;
            }
            let (followed, valid) =
                (cells(curve.end(|point| point.followed)), cells(curve.end(|point| point.valid)));
            let diverged = curve.runs.len() - curve.whole.len();
            let place =
                [set.name.clone(), curve.name.into(), curve.runs.len().to_string(), diverged.to_string()];
            let chosen = [curve.tried.join(" | ")];
            ends.write_record(place.iter().chain(&followed).chain(&valid).chain(&chosen))?;
        }
        if methods.is_empty() {
            continue;
        }
        let runs = plan.seeds.len() * set.folds;
        let plot = |what: &str, axis: &str, file: &str, of: fn(&Point) -> Option<f64>| {
            let series: Vec<Series> = methods.iter().map(|curve| curve.series(of)).collect();
            let title = format!("{}: {what} (mean of {runs} runs)", set.name);
            let name = format!("{}-{file}.svg", set.name.replace(' ', "-"));
            curves(&title, "epoch", axis, &series).save(&folder.join(name))
        };
        plot("validation", &plan.metric, "valid", |point| point.valid)?;
        if let Some(objective) = &wanted.objective {
            plot(&format!("{objective} of whole training lists"), "loss", "objective", |point| {
                point.followed
            })?;
        }
    }
    all.flush()?;
    ends.flush()?;
    Ok(())
}
