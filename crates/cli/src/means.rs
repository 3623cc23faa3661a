//! Means of metrics with their intervals over lists, as `recommend evaluate` and `retrieve` print them.

use serde_json::{Map, Value, json};
use toprank::metrics::MeasureResult;
use toprank::metrics::bootstrap::{self, Interval, IntervalOptions};

use crate::rules::Measures;
use crate::table::Table;

/// Means and their intervals.
pub struct Means<'a>(Vec<(&'a MeasureResult, Interval)>);

impl<'a> Means<'a> {
    /// Bootstraps the intervals.
    pub fn new(results: &'a [MeasureResult]) -> Means<'a> {
        let interval =
            |result: &MeasureResult| bootstrap::interval(&result.per_list, None, &IntervalOptions::default());
        Means(results.iter().map(|result| (result, interval(result))).collect())
    }

    /// The means by name.
    pub fn values(&self) -> Map<String, Value> {
        self.0.iter().map(|(result, _)| (result.name.clone(), json!(result.mean))).collect()
    }

    /// The intervals by name.
    pub fn intervals(&self) -> Map<String, Value> {
        self.0.iter().map(|(result, interval)| (result.name.clone(), json!(interval))).collect()
    }

    /// How the intervals were found, and the policy of the metrics; `lists` is what the lists of these data are called.
    pub fn basis(&self, measures: &Measures, lists: &str) -> String {
        let method = self.0.first().map(|(_, interval)| interval.method().replace("lists", lists));
        let method = method.map_or(String::new(), |method| format!("intervals: {method}\n"));
        method + &measures.policy_text()
    }

    /// A row per metric; `lists` is what the lists of these data are called.
    pub fn table(&self, lists: &str) -> Table {
        let mut table = Table::new(["metric", "value", "95 % interval", lists]);
        for (result, interval) in &self.0 {
            table.row([
                result.name.clone(),
                result.mean.map_or("–".into(), |mean| format!("{mean:.4}")),
                format!("[{:.4}, {:.4}]", interval.low, interval.high),
                result.counts.used.to_string(),
            ]);
        }
        table
    }
}
