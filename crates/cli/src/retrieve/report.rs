//! What `toprank retrieve` prints and writes.

use std::path::Path;

use serde_json::{Value, json};
use toprank::data::sink;
use toprank::metrics::Evaluation;
use toprank::train::embed::Best;

use super::Retrieve;
use crate::failure::Failure;
use crate::means::Means;
use crate::rules::Measures;
use crate::table::{Style, Table, counted, csv_cell};
use crate::{Common, print, print_json};

impl Retrieve {
    /// Prints the metrics of a ranking of `rows` rows for each query.
    pub(super) fn report(
        &self,
        evaluated: &Evaluation,
        measures: &Measures,
        [queries, rows]: [usize; 2],
        common: &Common,
    ) -> Result<(), Failure> {
        let means = Means::new(&evaluated.results);
        if common.json || self.format == Style::Json {
            let used = evaluated.results.iter().map(|result| result.counts.used).max();
            return print_json(&json!({
                "metrics": means.values(), "intervals": means.intervals(), "queries": queries, "used": used, "gallery": rows,
                "each_among_the_others": self.gallery.is_none(),
                "part": self.part.map(|part| format!("{part:?}").to_lowercase()),
                "policy": measures.policy_json(),
            }));
        }
        let table = means.table("queries");
        if self.format != Style::Table {
            return print(&table.render(self.format));
        }
        let among = if self.gallery.is_some() { "in" } else { "each among all others of" };
        print(&format!(
            "exact search: {} {among} {}; map is the mean AUPRC, success@k the Recall@k of retrieval papers\n{}{}",
            counted(queries, "query"),
            counted(rows, "row"),
            table.render(Style::Table),
            means.basis(measures, "queries"),
        ))
    }

    /// Prints the nearest rows of each query.
    pub(super) fn list(
        &self,
        queries: &[String],
        items: &[String],
        found: &[Vec<Best>],
        common: &Common,
    ) -> Result<(), Failure> {
        if common.json || self.format == Style::Json {
            let lines: Vec<Value> = queries
                .iter()
                .zip(found)
                .map(|(query, found)| {
                    let items: Vec<Value> = found
                        .iter()
                        .map(|best| json!({"item": items[best.item as usize], "score": best.score}))
                        .collect();
                    json!({"query": query, "items": items})
                })
                .collect();
            return print_json(&json!({"k": self.k, "nearest": lines}));
        }
        let mut table = Table::new(["query", "rank", "item", "score"]).words(0).words(2);
        for (query, found) in queries.iter().zip(found) {
            for (rank, best) in (1..).zip(found) {
                let item = items[best.item as usize].clone();
                table.row([query.clone(), rank.to_string(), item, format!("{:.4}", best.score)]);
            }
        }
        print(&table.render(self.format))
    }
}

/// Writes the nearest rows of each query as CSV.
pub(super) fn write_nearest(
    path: &Path,
    queries: &[String],
    items: &[String],
    found: &[Vec<Best>],
) -> Result<(), Failure> {
    let mut text = String::from("query,rank,item,score\n");
    for (query, found) in queries.iter().zip(found) {
        for (rank, best) in (1..).zip(found) {
            let item = csv_cell(&items[best.item as usize]);
            text += &format!("{},{rank},{item},{}\n", csv_cell(query), best.score);
        }
    }
    Ok(sink::write_file(path, |out| out.write_all(text.as_bytes()))?)
}

/// Writes the metrics of each query as CSV.
pub(super) fn write_per_query(path: &Path, names: &[String], evaluated: &Evaluation) -> Result<(), Failure> {
    let mut text = String::from("query");
    for result in &evaluated.results {
        text += &format!(",{}", csv_cell(&result.name));
    }
    for (query, name) in names.iter().enumerate() {
        text += &format!("\n{}", csv_cell(name));
        for result in &evaluated.results {
            text += &format!(",{}", result.per_list[query]);
        }
    }
    text += "\n";
    Ok(sink::write_file(path, |out| out.write_all(text.as_bytes()))?)
}
