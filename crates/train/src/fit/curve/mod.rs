/*!
Learning curves: what was measured while a model was trained, written while the run continues.

A [`Curve`] holds the numbers (for plots, for a checkpoint); a [`CurveFile`] appends each [`Record`] to a file as CSV, as
JSON lines or as TensorBoard events. A run that is resumed at step t finds its file cut back to the records of the first
t steps, whatever was written after the checkpoint, so no record stands there twice.

```
use toprank_train::fit::curve::{Curve, CurveFile, Record};
let folder = tempfile::tempdir().unwrap();
let path = folder.path().join("curve.csv");
let mut curve = Curve::new(["valid/ndcg@10".to_string()]);
let mut file = CurveFile::open(&path, curve.metrics(), 0).unwrap();
for step in [10, 20] {
    let record = Record { step, loss: 1.0 / step as f64, metrics: vec![Some(0.5)], ..Record::default() };
    file.write(&record).unwrap();
    curve.push(record);
}
assert_eq!(curve.series("loss").unwrap(), [(10.0, 0.1), (20.0, 0.05)]);
let mut file = CurveFile::open(&path, curve.metrics(), 10).unwrap(); // resumed at step 10
assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2); // the header and step 10
```

Seconds are for people: they stand in the files but not in what a [`Curve`] serialises, since a checkpoint must not depend
on time.
*/

mod event;
mod text;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use toprank_data::{ReadError, sink};

use crate::error::TrainError;

/// What was measured at one moment of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Steps done.
    pub step: u64,
    /// Epochs done.
    pub epoch: f64,
    /// Loss on the training data: the mean over the steps since the record before.
    pub loss: f64,
    /// Learning rate of the last step.
    pub learning_rate: f64,
    /// Length of the last gradient, before clipping.
    pub gradient_norm: f64,
    /// Lists without gradient since the record before.
    pub lists_without_gradient: u64,
    /// One value per metric of the curve; `None` where it was not measured this time.
    pub metrics: Vec<Option<f64>>,
    /// Time since the start of the run.
    #[serde(skip)]
    pub seconds: f64,
}

/// A number that every record has.
type Column = (&'static str, fn(&Record) -> f64);

const COLUMNS: [Column; 5] = [
    ("epoch", |r| r.epoch),
    ("loss", |r| r.loss),
    ("learning_rate", |r| r.learning_rate),
    ("gradient_norm", |r| r.gradient_norm),
    ("lists_without_gradient", |r| r.lists_without_gradient as f64),
];

/// The records of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    metrics: Vec<String>,
    records: Vec<Record>,
}

impl Curve {
    /// A curve without records. Metrics are named as they will be in files; TensorBoard groups them by what stands before
    /// a slash: `valid/ndcg@10`.
    pub fn new(metrics: impl IntoIterator<Item = String>) -> Curve {
        Curve { metrics: metrics.into_iter().collect(), records: Vec::new() }
    }

    /// Names of the metrics.
    pub fn metrics(&self) -> &[String] {
        &self.metrics
    }

    /// All records, steps ascending.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Adds a record.
    ///
    /// # Panics
    /// If it has not one value (or `None`) per metric.
    pub fn push(&mut self, record: Record) {
        assert_eq!(record.metrics.len(), self.metrics.len(), "one value per metric");
        self.records.push(record);
    }

    /// Drops the records after `steps` steps: a run that is resumed there makes them anew.
    pub fn cut(&mut self, steps: u64) {
        self.records.retain(|record| record.step <= steps);
    }

    /// (step, value) of a metric or of `epoch`, `loss`, `learning_rate`, `gradient_norm`, `lists_without_gradient`, where it was measured.
    pub fn series(&self, name: &str) -> Option<Vec<(f64, f64)>> {
        if let Some((_, value)) = COLUMNS.iter().find(|(column, _)| *column == name) {
            return Some(self.records.iter().map(|r| (r.step as f64, value(r))).collect());
        }
        let place = self.metrics.iter().position(|metric| metric == name)?;
        let points = self.records.iter().filter_map(|r| Some((r.step as f64, r.metrics[place]?)));
        Some(points.collect())
    }
}

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveFormat {
    /// One line per record under a header.
    Csv,
    /// One JSON object per line.
    JsonLines,
    /// A folder for TensorBoard, with one event file in it.
    TensorBoard,
}

impl CurveFormat {
    /// By the extension: `.csv`, `.jsonl`, anything else is a folder for TensorBoard.
    pub fn of(path: &Path) -> CurveFormat {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") => CurveFormat::Csv,
            Some("jsonl") => CurveFormat::JsonLines,
            _ => CurveFormat::TensorBoard,
        }
    }
}

/// The one event file of a run, in the folder that TensorBoard is shown.
const EVENTS: &str = "events.out.tfevents.toprank";

/// A file that records are appended to.
#[derive(Debug)]
pub struct CurveFile {
    path: PathBuf,
    format: CurveFormat,
    metrics: Vec<String>,
    file: File,
}

impl CurveFile {
    /// Opens a file for the records that come after `steps` steps. 0: a new one takes the place of an old one. Else the
    /// records up to there stay, later ones and a half-written one are cut off; a file that is not there is begun.
    pub fn open(path: &Path, metrics: &[String], steps: u64) -> Result<CurveFile, TrainError> {
        let format = CurveFormat::of(path);
        let path = match format {
            CurveFormat::TensorBoard => {
                fs::create_dir_all(path)
                    .map_err(|error| ReadError::io(&path.display().to_string(), &error))?;
                path.join(EVENTS)
            }
            _ => path.to_path_buf(),
        };
        sink::refuse_link(&path)?;
        let failed = |error: io::Error| TrainError::from(ReadError::io(&path.display().to_string(), &error));
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(failed)?;
        let mut curve = CurveFile { path: path.clone(), format, metrics: metrics.to_vec(), file };
        let bytes = if steps == 0 { Vec::new() } else { fs::read(&path).map_err(failed)? };
        let kept = match format {
            CurveFormat::Csv => text::csv_until(&bytes, metrics, steps),
            CurveFormat::JsonLines => Ok(text::json_until(&bytes, steps)),
            CurveFormat::TensorBoard => Ok(event::until(&bytes, steps)),
        };
        let kept = kept.map_err(|found| TrainError::Format {
            file: path.display().to_string(),
            found,
            expected: format!(
                "{}; move the file away or resume with the same metrics",
                text::header(metrics)
            ),
        })?;
        curve.file.set_len(kept as u64).map_err(failed)?;
        curve.file.seek(SeekFrom::End(0)).map_err(failed)?;
        if kept == 0 {
            let header = match format {
                CurveFormat::Csv => text::header(metrics).into_bytes(),
                CurveFormat::JsonLines => Vec::new(),
                CurveFormat::TensorBoard => event::first(now()),
            };
            curve.append(&header)?;
        }
        Ok(curve)
    }

    /// Appends a record; it has reached the system when this returns.
    pub fn write(&mut self, record: &Record) -> Result<(), TrainError> {
        let bytes = match self.format {
            CurveFormat::Csv => text::csv(record).into_bytes(),
            CurveFormat::JsonLines => text::json(record, &self.metrics).into_bytes(),
            CurveFormat::TensorBoard => event::record(record, &self.metrics, now()),
        };
        self.append(&bytes)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), TrainError> {
        let done = self.file.write_all(bytes);
        Ok(done.map_err(|error| ReadError::io(&self.path.display().to_string(), &error))?)
    }
}

/// Seconds since 1970, which TensorBoard wants with every event.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests;
