//! Records as CSV and as JSON lines.

use serde_json::{Map, Value, json};

use super::{COLUMNS, Record};

/// The first line of a CSV file.
pub(super) fn header(metrics: &[String]) -> String {
    let columns = COLUMNS.iter().map(|(name, _)| (*name).to_string());
    let metrics = metrics.iter().map(|metric| quoted(metric));
    let names: Vec<String> = columns.chain(metrics).collect();
    format!("step,{},seconds\n", names.join(","))
}

/// A name that could be mistaken for several cells is put in quotes.
fn quoted(name: &str) -> String {
    match name.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_string(),
    }
}

/// One line; a metric that was not measured is an empty cell.
pub(super) fn csv(record: &Record) -> String {
    let mut line = record.step.to_string();
    for (_, value) in COLUMNS {
        line += &format!(",{}", value(record));
    }
    for metric in &record.metrics {
        line += &metric.map_or(",".to_string(), |value| format!(",{value}"));
    }
    line + &format!(",{:.3}\n", record.seconds)
}

/// One line. Numbers that are not finite are `null`, as JSON has none.
pub(super) fn json(record: &Record, metrics: &[String]) -> String {
    let mut object = Map::new();
    object.insert("step".into(), json!(record.step));
    for (name, value) in COLUMNS {
        object.insert(name.into(), json!(value(record)));
    }
    let values = metrics.iter().cloned().zip(record.metrics.iter().map(|value| json!(value)));
    object.insert("metrics".into(), Value::Object(values.collect()));
    object.insert("seconds".into(), json!((record.seconds * 1000.0).round() / 1000.0));
    format!("{}\n", Value::Object(object))
}

/// How many bytes of a CSV file hold whole records of at most `steps` steps; 0 if it has not even a whole header. An error
/// is the header found, of other columns.
pub(super) fn csv_until(bytes: &[u8], metrics: &[String], steps: u64) -> Result<usize, String> {
    let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else { return Ok(0) };
    let found = &bytes[..=end];
    if found != header(metrics).as_bytes() {
        return Err(format!("the header {}", String::from_utf8_lossy(found).trim_end()));
    }
    let step = |line: &str| line.split(',').next()?.parse().ok();
    Ok(end + 1 + lines_until(&bytes[end + 1..], steps, step))
}

/// How many bytes of a file of JSON lines hold whole records of at most `steps` steps.
pub(super) fn json_until(bytes: &[u8], steps: u64) -> usize {
    let step = |line: &str| serde_json::from_str::<Value>(line).ok()?.get("step")?.as_u64();
    lines_until(bytes, steps, step)
}

/// Bytes up to the first line that is later, broken or not ended.
fn lines_until(bytes: &[u8], steps: u64, step: impl Fn(&str) -> Option<u64>) -> usize {
    let mut kept = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let text = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok());
        if text.and_then(&step).is_none_or(|found| found > steps) {
            break;
        }
        kept += line.len();
    }
    kept
}
