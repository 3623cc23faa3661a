//! Cross-validation before the kept model: folds one after the other, each taken up where it was stopped.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use toprank::core::{Lists, Policy};
use toprank::data::{Dataset, sink};
use toprank::metrics::Measure;
use toprank::train::folds::{Fold, Found, Held, Scale, folds, judge, out_of_fold};
use toprank::train::{Config, Data, Keep, Outcome};

use super::screen::Screen;
use super::{Origin, beside, stopped};
use crate::Common;
use crate::failure::Failure;
use crate::predict::output::{Form, Output};
use crate::table::{Style, Table};

/// The folds of a run, and what they need.
pub struct CrossValidation {
    config: Config,
    data: Dataset,
    valid: Option<Dataset>,
    folds: Vec<Fold>,
    measures: Vec<Measure>,
    out: PathBuf,
    /// Holds what is done while the run is under way.
    folder: PathBuf,
}

/// What the folds found.
pub struct Results {
    /// Out-of-fold score of every entry, on the scale of the kept model.
    pub scores: Vec<f64>,
    pub scores_file: PathBuf,
    pub found_file: PathBuf,
    found: Vec<Found>,
    /// Held-out items of each fold, and how many of them are relevant.
    sizes: Vec<(usize, usize)>,
}

/// Data that rows can be picked from.
pub fn in_memory(data: Data) -> Result<Dataset, Failure> {
    match data {
        Data::Memory(data) => Ok(*data),
        Data::Mapped(data) => Ok(data.read()?),
    }
}

impl CrossValidation {
    pub fn new(
        config: &Config,
        data: Dataset,
        valid: Option<Dataset>,
        origin: &Origin,
    ) -> Result<CrossValidation, Failure> {
        let usual =
            if data.lists.are_labels() { "auroc,auprc,pauc:fpr=0.1,p:recall=0.8" } else { "ndcg@10,map,mrr" };
        let usual = format!("{},{usual}", config.metric);
        let measures = Measure::parse_all(origin.metrics.as_deref().unwrap_or(&usual), &Policy::default())?;
        Ok(CrossValidation {
            folds: folds(config, &data)?,
            config: config.clone(),
            data,
            valid,
            measures,
            out: origin.out.clone(),
            folder: beside(&origin.out, ".folds"),
        })
    }

    /// Labels of all data.
    pub fn lists(&self) -> &Lists {
        &self.data.lists
    }

    /// An empty folder for what is done; what an earlier run left there is gone.
    pub fn begin_afresh(&self) -> Result<(), Failure> {
        self.clean_up()?;
        std::fs::create_dir_all(&self.folder).map_err(|error| self.failed(&error))
    }

    /// The folder is gone.
    pub fn clean_up(&self) -> Result<(), Failure> {
        match std::fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(self.failed(&error)),
            _ => Ok(()),
        }
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        Failure::failed(format!("{}: {error}", self.folder.display()))
    }

    /// Trains and scores every fold that is not done.
    pub fn run(&self, common: &Common, every: Duration) -> Result<Vec<Held>, Failure> {
        std::fs::create_dir_all(&self.folder).map_err(|error| self.failed(&error))?;
        self.folds.iter().map(|fold| self.held(fold, common, every)).collect()
    }

    fn held(&self, fold: &Fold, common: &Common, every: Duration) -> Result<Held, Failure> {
        let done = self.folder.join(format!("fold{}", fold.number));
        if done.exists() {
            return Ok(Held::load(&done, fold, &self.config, &self.data)?);
        }
        let name = format!("fold {} of {}: ", fold.number, self.folds.len());
        let explain = |failure: Failure| Failure { message: format!("{name}{}", failure.message), ..failure };
        let train = || {
            let job = fold.job(&self.config, &self.data, self.valid.as_ref())?;
            let views = job.views()?;
            let mut trainer = job.trainer(&views)?;
            let checkpoint = beside(&done, ".checkpoint");
            if checkpoint.exists() {
                trainer.load_checkpoint(&checkpoint)?;
            }
            let mut screen = Screen::new(common, &self.config, &name, None);
            let keep = Keep { path: &checkpoint, every, origin: &Value::Null };
            if trainer.run(&mut screen, Some(keep))? == Outcome::Interrupted {
                let place = format!("step {} of {}", trainer.steps_done(), trainer.steps());
                return Err(stopped(&place, &self.out));
            }
            let held = fold.held(&job, &*trainer, &views, &self.data)?;
            held.save(&done, fold, &self.config, &self.data)?;
            std::fs::remove_file(&checkpoint)?;
            Ok(held)
        };
        train().map_err(explain)
    }

    /// Judges the held-out scores on the scale of the kept model, whose scores of `lists` are given.
    pub fn results(&self, held: &[Held], lists: &Lists, kept: &[f64]) -> Result<Results, Failure> {
        let scores = out_of_fold(&self.data, &self.folds, held, &Scale::of(lists, kept));
        let found = judge(&self.data, &self.folds, &scores, &self.measures).map_err(Failure::data)?;
        Ok(Results {
            sizes: self.folds.iter().map(|fold| fold.size(&self.data)).collect(),
            scores_file: beside(&self.out, ".oof.txt"),
            found_file: beside(&self.out, ".folds.json"),
            scores,
            found,
        })
    }

    /// Writes scores and results beside the model.
    pub fn save(&self, results: &Results) -> Result<(), Failure> {
        sink::write_file(&results.scores_file, |out| {
            let mut output = Output::new(Form::Scores, None, &self.data);
            output.push(&results.scores, out)?;
            output.finish(out)
        })?;
        let text = serde_json::to_string_pretty(&results.json()).map_err(Failure::failed)? + "\n";
        Ok(sink::write_file(Path::new(&results.found_file), |out| out.write_all(text.as_bytes()))?)
    }
}

impl Results {
    pub fn json(&self) -> Value {
        let sizes: Vec<Value> = self
            .sizes
            .iter()
            .map(|(items, relevant)| json!({"items": items, "relevant": relevant}))
            .collect();
        json!({"folds": self.sizes.len(), "held_out": sizes, "metrics": self.found})
    }

    pub fn table(&self) -> String {
        let show = |value: Option<f64>| value.map_or("–".into(), |value| format!("{value:.4}"));
        let mut head = vec!["fold".to_string(), "items".into(), "relevant".into()];
        head.extend(self.found.iter().map(|found| found.metric.clone()));
        let mut table = Table::new(head);
        let mut row = |name: String, sizes: [String; 2], value: &dyn Fn(&Found) -> Option<f64>| {
            let [items, relevant] = sizes;
            let mut cells = vec![name, items, relevant];
            cells.extend(self.found.iter().map(|found| show(value(found))));
            table.row(cells);
        };
        for (k, (items, relevant)) in self.sizes.iter().enumerate() {
            row((k + 1).to_string(), [items.to_string(), relevant.to_string()], &|found| found.folds[k]);
        }
        let total = |of: fn(&(usize, usize)) -> usize| self.sizes.iter().map(of).sum::<usize>().to_string();
        row("mean".into(), [String::new(), String::new()], &|found| found.mean);
        row("± deviation".into(), [String::new(), String::new()], &|found| found.deviation);
        row("pooled".into(), [total(|s| s.0), total(|s| s.1)], &|found| found.pooled);
        table.render(Style::Table)
    }
}
