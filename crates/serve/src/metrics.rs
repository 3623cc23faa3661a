//! What the server counts, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::models::Models;

/// Upper ends of the intervals of times, in seconds.
const TIMES: [f64; 13] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

#[derive(Clone, Copy, Default)]
struct Times {
    within: [u64; TIMES.len()],
    count: u64,
    sum: f64,
}

/// Counters of a server. Endpoints come from a table and statuses from our code, so their number does not grow with requests.
#[derive(Default)]
pub struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    times: Mutex<BTreeMap<&'static str, Times>>,
    pub in_flight: AtomicU64,
    pub answered: AtomicU64,
    pub refused: AtomicU64,
}

impl Metrics {
    /// Counts a request that is answered.
    pub fn count(&self, endpoint: &'static str, status: u16, time: Duration) {
        *self
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry((endpoint, status))
            .or_default() += 1;
        let seconds = time.as_secs_f64();
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let times = times.entry(endpoint).or_default();
        times.count += 1;
        times.sum += seconds;
        for (within, end) in times.within.iter_mut().zip(TIMES) {
            *within += u64::from(seconds <= end);
        }
    }

    /// The text of `/metrics`.
    pub fn text(&self, models: &Models) -> String {
        let mut out = String::new();
        let head = |out: &mut String, name: &str, kind: &str, help: &str| {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "# HELP toprank_{name} {help}\n# TYPE toprank_{name} {kind}");
        };
        head(&mut out, "requests_total", "counter", "Requests answered, by endpoint and status.");
        for ((endpoint, status), count) in self.requests.lock().unwrap_or_else(PoisonError::into_inner).iter()
        {
            let _ = writeln!(
                out,
                "toprank_requests_total{{endpoint=\"{endpoint}\",status=\"{status}\"}} {count}"
            );
        }
        head(&mut out, "request_seconds", "histogram", "Time from the head of a request to its answer.");
        for (endpoint, times) in self.times.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let name = "toprank_request_seconds";
            for (within, end) in times.within.iter().zip(TIMES) {
                let _ = writeln!(out, "{name}_bucket{{endpoint=\"{endpoint}\",le=\"{end}\"}} {within}");
            }
            let Times { count, sum, .. } = times;
            let _ = writeln!(out, "{name}_bucket{{endpoint=\"{endpoint}\",le=\"+Inf\"}} {count}");
            let _ = writeln!(out, "{name}_sum{{endpoint=\"{endpoint}\"}} {sum}");
            let _ = writeln!(out, "{name}_count{{endpoint=\"{endpoint}\"}} {count}");
        }
        head(&mut out, "requests_in_flight", "gauge", "Requests that are being answered.");
        let _ = writeln!(out, "toprank_requests_in_flight {}", self.in_flight.load(Ordering::Relaxed));
        head(&mut out, "lists_total", "counter", "Lists of all requests, by outcome.");
        for (outcome, count) in [("answered", &self.answered), ("refused", &self.refused)] {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(out, "toprank_lists_total{{outcome=\"{outcome}\"}} {count}");
        }
        head(&mut out, "model_reloads_total", "counter", "Files of models that changed, by outcome.");
        for slot in &models.slots {
            let name = label(&slot.name);
            for (outcome, count) in [("loaded", &slot.reloads), ("refused", &slot.refused)] {
                let count = count.load(Ordering::Relaxed);
                let _ = writeln!(
                    out,
                    "toprank_model_reloads_total{{model=\"{name}\",outcome=\"{outcome}\"}} {count}"
                );
            }
        }
        out
    }
}

/// A name as the value of a label.
fn label(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
