//! The tables of a study.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use toprank::core::Policy;
use toprank::metrics::Measure;
use toprank_plots::{Series, curves};

use super::plan::Plan;
use crate::common::{Outcome, mean, mean_and_deviation, p_value};

/// Writes `tries.csv`, `test.csv` and `table.md`.
pub fn write(plan: &Plan, lines: &[Value], folder: &Path) -> Outcome {
    std::fs::create_dir_all(folder)?;
    let mut tries = csv::Writer::from_path(folder.join("tries.csv"))?;
    tries
        .write_record(["set", "fold", "method", "tried", "seed", "valid", "epoch", "seconds", "followed"])?;
    for line in lines.iter().filter(|line| line["test"] == false) {
        let text = |key: &str| line[key].as_str().map_or_else(|| line[key].to_string(), str::to_string);
        let valid = line["valid"].as_f64().map_or("diverged".into(), |valid| format!("{valid:.5}"));
        let record = [
            text("set"),
            text("fold"),
            text("method"),
            text("tried"),
            text("seed"),
            valid,
            text("epoch"),
            text("seconds"),
            super::curves::end(line).map_or(String::new(), |loss| format!("{loss:.5}")),
        ];
        tries.write_record(record)?;
    }
    tries.flush()?;

    let measures = Measure::parse_all(&plan.report, &Policy::default())?;
    let reported: Vec<&str> = measures.iter().map(Measure::name).collect();
    let mut tests = csv::Writer::from_path(folder.join("test.csv"))?;
    let columns = ["sd over seeds", "p", "p (Holm)", "seconds", "chosen"];
    tests.write_record(["set", "method", "seeds", "valid"].iter().chain(&reported).chain(&columns))?;
    let mut cells: BTreeMap<(&str, &str), String> = BTreeMap::new();
    for set in &plan.sets {
        let rows: Vec<Row> = plan
            .methods
            .iter()
            .filter_map(|method| {
                Row::of(lines, &set.name, &method.name, &reported, set.folds * plan.seeds.len())
            })
            .collect();
        let Some(chosen) = rows.iter().max_by(|a, b| a.valid.total_cmp(&b.valid)) else { continue };
        let mut p = Vec::new();
        for row in &rows {
            let comparable = row.name != chosen.name && row.per_list.len() == chosen.per_list.len();
            p.push(if comparable {
                p_value("randomisation", &chosen.per_list, &row.per_list)?
            } else {
                None
            });
        }
        let corrected = holm(&p);
        let best = rows.iter().map(|row| row.means[0]).fold(f64::MIN, f64::max);
        for ((row, p), corrected) in rows.iter().zip(&p).zip(&corrected) {
            let p_text = |p: Option<f64>| p.map_or(String::new(), |p| format!("{p:.4}"));
            let mut record =
                vec![set.name.clone(), row.name.into(), row.seeds.to_string(), format!("{:.5}", row.valid)];
            record.extend(row.means.iter().map(|mean| format!("{mean:.5}")));
            record.extend([format!("{:.5}", row.deviation), p_text(*p), p_text(*corrected)]);
            record.extend([format!("{:.1}", row.seconds), row.chosen.clone()]);
            tests.write_record(record)?;
            let mark = if corrected.is_some_and(|p| p <= 0.05) { "†" } else { "" };
            let value = format!("{:.4}{mark}", row.means[0]);
            let value = if row.means[0] == best { format!("**{value}**") } else { value };
            let value = if row.name == chosen.name { format!("{value} ✓") } else { value };
            cells.insert((&set.name, row.name), value);
        }
        precision_recall(folder, &set.name, &reported, &rows)?;
    }
    tests.flush()?;
    std::fs::write(folder.join("table.md"), matrix(plan, &cells)?)?;
    Ok(())
}

/// The mean precision–recall curve of every method, if the interpolated precision at several levels of recall is reported.
fn precision_recall(folder: &Path, set: &str, reported: &[&str], rows: &[Row]) -> Outcome {
    let level = |metric: &str| metric.strip_prefix("iprec:recall=")?.parse::<f64>().ok();
    let levels: Vec<(usize, f64)> =
        reported.iter().enumerate().filter_map(|(i, metric)| Some((i, level(metric)?))).collect();
    if levels.len() < 2 {
        return Ok(());
    }
    let series: Vec<Series> = rows
        .iter()
        .map(|row| Series {
            name: row.name.into(),
            points: levels.iter().map(|&(i, recall)| (recall, row.means[i])).collect(),
        })
        .collect();
    let title = format!("{set}: interpolated precision on test data, mean over queries and seeds");
    curves(&title, "recall", "precision", &series)
        .save(&folder.join(format!("{set}-precision-recall.svg")))?;
    Ok(())
}

fn matrix(plan: &Plan, cells: &BTreeMap<(&str, &str), String>) -> Outcome<String> {
    let sets: Vec<&str> = plan.sets.iter().map(|set| set.name.as_str()).collect();
    let mut text = format!("| method | {} |\n| --- |{}\n", sets.join(" | "), " --- |".repeat(sets.len()));
    for method in &plan.methods {
        let row: Vec<&str> = sets
            .iter()
            .map(|set| cells.get(&(*set, method.name.as_str())).map_or("–", String::as_str))
            .collect();
        writeln!(text, "| {} | {} |", method.name, row.join(" | "))?;
    }
    let first = plan.report.split(',').next().unwrap_or("");
    writeln!(
        text,
        "\n{first} on test data, mean of {} seeds; {} tries a method. ✓ best on validation data; **best on test data**; † differs from ✓ \
         (paired randomisation test over lists, Holm within the set, p ≤ 0.05).",
        plan.seeds.len(),
        plan.tries
    )?;
    Ok(text)
}

/// A method on a set: means over folds and seeds.
struct Row<'a> {
    name: &'a str,
    seeds: usize,
    valid: f64,
    /// In the order of the reported metrics.
    means: Vec<f64>,
    /// Of the first reported metric, between seeds, each a mean over folds.
    deviation: f64,
    seconds: f64,
    /// The first reported metric of every list, fold after fold, mean over seeds.
    per_list: Vec<f64>,
    chosen: String,
}

impl<'a> Row<'a> {
    /// `None` until all `runs` are there.
    fn of(lines: &[Value], set: &str, method: &'a str, reported: &[&str], runs: usize) -> Option<Row<'a>> {
        let mut group: Vec<&Value> = lines
            .iter()
            .filter(|line| line["test"] == true && line["set"] == set && line["method"] == method)
            .collect();
        group.sort_by_key(|line| (line["fold"].as_u64(), line["seed"].as_u64()));
        if group.len() != runs {
            return None;
        }
        let values = |key: &str| -> Vec<f64> {
            group.iter().map(|line| line[key].as_f64().unwrap_or(f64::NAN)).collect()
        };
        let value = |line: &Value, metric: &str| line["metrics"][metric]["mean"].as_f64().unwrap_or(f64::NAN);
        let of_metric =
            |metric: &&str| mean(&group.iter().map(|line| value(line, metric)).collect::<Vec<_>>());
        let mut seeds: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        let mut folds: BTreeMap<u64, Vec<&Vec<Value>>> = BTreeMap::new();
        let mut chosen: Vec<&str> = Vec::new();
        for line in &group {
            seeds.entry(line["seed"].as_u64()?).or_default().push(value(line, reported[0]));
            folds
                .entry(line["fold"].as_u64()?)
                .or_default()
                .push(line["metrics"][reported[0]]["lists"].as_array()?);
            chosen.push(line["tried"].as_str()?);
        }
        chosen.dedup();
        let mut per_list = Vec::new();
        for seeds in folds.values() {
            for list in 0..seeds[0].len() {
                let sum: f64 = seeds.iter().map(|lists| lists[list].as_f64().unwrap_or(f64::NAN)).sum();
                per_list.push(sum / seeds.len() as f64);
            }
        }
        let by_seed: Vec<f64> = seeds.values().map(|folds| mean(folds)).collect();
        Some(Row {
            name: method,
            seeds: seeds.len(),
            valid: mean(&values("valid")),
            means: reported.iter().map(of_metric).collect(),
            deviation: if by_seed.len() > 1 { mean_and_deviation(&by_seed).1 } else { 0.0 },
            seconds: mean(&values("seconds")),
            per_list,
            chosen: chosen.join(" | "),
        })
    }
}

/// Holm's correction of those p values that exist.
fn holm(p: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(usize, f64)> = p.iter().enumerate().filter_map(|(i, p)| Some((i, (*p)?))).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (mut corrected, mut largest) = (vec![None; p.len()], 0.0f64);
    for (rank, (i, p)) in order.iter().enumerate() {
        largest = largest.max((p * (order.len() - rank) as f64).min(1.0));
        corrected[*i] = Some(largest);
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::holm;

    #[test]
    fn holm_multiplies_the_smallest_by_the_number_of_tests_and_never_falls() {
        let corrected = holm(&[Some(0.01), None, Some(0.04), Some(0.03)]);
        assert_eq!(corrected[1], None);
        let close = |a: Option<f64>, b: f64| (a.unwrap() - b).abs() < 1e-12;
        assert!(
            close(corrected[0], 0.03) && close(corrected[3], 0.06) && close(corrected[2], 0.06),
            "{corrected:?}"
        );
    }
}
