//! Learning curves on disk: CSV, JSON lines, TensorBoard events and a plot, kept up while a model trains.

use std::path::{Path, PathBuf};

use toprank::data::inputs;
use toprank::train::{CurveFile, Record};

use crate::failure::Failure;

/// The files of one run's curves.
pub struct Curves {
    folder: PathBuf,
    metrics: Vec<String>,
    files: Vec<CurveFile>,
    records: Vec<Record>,
}

impl Curves {
    /// Opens the files in `folder`, which is made; what they hold of a resumed run stays.
    pub fn open(folder: &Path, metrics: &[String], records: &[Record]) -> Result<Curves, Failure> {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::failed(format!("{}: {error}", folder.display())))?;
        let steps = records.last().map_or(0, |record| record.step);
        // The folder itself is what TensorBoard is shown.
        let paths = [folder.join("curve.csv"), folder.join("curve.jsonl"), folder.to_path_buf()];
        paths.iter().try_for_each(|path| inputs::refuse(path))?;
        let files = paths.iter().map(|path| CurveFile::open(path, metrics, steps));
        Ok(Curves {
            folder: folder.to_path_buf(),
            metrics: metrics.to_vec(),
            files: files.collect::<Result<_, _>>()?,
            records: records.to_vec(),
        })
    }

    /// Adds one epoch to every file.
    pub fn add(&mut self, record: &Record) -> Result<(), Failure> {
        self.records.push(record.clone());
        self.files.iter_mut().try_for_each(|file| Ok(file.write(record)?))
    }

    /// Draws the plot: `what` was trained, `epoch` is what an epoch is called, `best` the one that is kept and its metric.
    #[cfg(feature = "plots")]
    pub fn finish(&mut self, what: &str, epoch: &str, best: Option<(u32, f64)>) -> Result<(), Failure> {
        let series = |name: &str, value: &dyn Fn(&Record) -> Option<f64>| toprank_plots::Series {
            name: name.to_string(),
            points: self.records.iter().filter_map(|r| Some((r.epoch, value(r)?))).collect(),
        };
        let loss = series("training loss", &|record| Some(record.loss));
        let metrics: Vec<toprank_plots::Series> = (0..self.metrics.len())
            .map(|m| {
                let name = format!("validation {}", self.metrics[m]);
                series(&name, &|record| record.metrics.get(m).copied()?)
            })
            .collect();
        let best = best.zip(self.metrics.first()).map(|((number, value), metric)| toprank_plots::Best {
            x: f64::from(number),
            label: format!("best: {epoch} {number}, {metric} {value:.4}"),
        });
        let title = format!("Learning curves of {what}");
        let plot = toprank_plots::learning_curves(&title, epoch, &loss, &metrics, best);
        let file = self.folder.join("curve.svg");
        toprank::data::sink::refuse_link(&file)?;
        plot.save(&file).map_err(Failure::failed)
    }

    /// Nothing is drawn: this build has no plots.
    #[cfg(not(feature = "plots"))]
    pub fn finish(&mut self, _: &str, _: &str, _: Option<(u32, f64)>) -> Result<(), Failure> {
        let _ = (&self.folder, &self.metrics, &self.records);
        Ok(())
    }
}
