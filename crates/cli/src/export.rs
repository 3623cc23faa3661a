//! `toprank export` and `toprank import`: models of trees for other tools, and from them.

use std::path::{Path, PathBuf};

use serde_json::json;
use toprank::core::Features;
use toprank::data::{Source, sink};
use toprank::train::scoring::Trees;
use toprank::train::{Model, TrainError};
use toprank::trees::interop::{self, Export as Written, Missing, probe_rows};

use crate::failure::Failure;
use crate::progress::Progress;
use crate::table::{Style, Table};
use crate::{Common, note, print, print_json};

const AFTER_EXPORT: &str = "\
Examples:
  toprank export --model model.toprank --format lightgbm -o model.txt
  toprank export --model model.toprank --format onnx -o model.onnx
  toprank export --model model.toprank --format ranklib --missing zero -o model.xml

Formats: lightgbm (text), lightgbm-json (dump), xgboost (JSON), ranklib (XML), solr (JSON), onnx (TreeEnsembleRegressor).
Before it says done, the written bytes are walked as their tools walk them, on rows made to hit every threshold, its float
neighbours, extremes and missing values: every row must come to the same leaf of every tree. These rows stand beside the
model with their scores, FILE.probe.csv, so that the tool that serves the model can be checked too. Scores are raw; where the
format keeps leaves in single precision they differ by at most 1e-6 of the largest.";

/// Write a model of trees for LightGBM, XGBoost, RankLib, Solr or ONNX, and prove that it scores the same
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_EXPORT)]
pub struct Export {
    /// Model file
    #[arg(long, short, value_name = "MODEL")]
    model: PathBuf,
    /// lightgbm, lightgbm-json, xgboost, ranklib, solr or onnx
    #[arg(long, value_name = "NAME")]
    format: String,
    /// File to write
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Where the format has no branch for missing values: exact refuses models that need one, zero writes them for rows
    /// whose missing values are set to 0
    #[arg(long, value_name = "HOW", default_value = "exact", value_parser = ["exact", "zero"])]
    missing: String,
    /// Rows to prove it on
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    probes: u32,
}

/// A model that must be made of trees.
pub fn of_trees<'a>(model: &'a Model, file: &Path) -> Result<&'a Trees, Failure> {
    model.scoring().trees().ok_or_else(|| {
        let (file, found) = (file.display(), &model.header().config.model);
        Failure::usage(format!(
            "{file}: a model of the kind {found}, expected one that was trained with --model trees"
        ))
    })
}

impl Export {
    /// Loads, writes, proves.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let format = interop::by_name(&self.format).ok_or_else(|| {
            let known: Vec<&str> = interop::FORMATS.iter().map(|format| format.name).collect();
            Failure::usage(format!("--format must be one of {}, but is {}", known.join(", "), self.format))
        })?;
        let model = Model::load(&self.model)?;
        let ensemble = of_trees(&model, &self.model)?.ensemble();
        let header = model.header();
        if !header.transforms.steps.is_empty() {
            return Err(Failure::usage(format!(
                "{}: its features go through {} first, which {} does not know; expected a model trained with --transforms \"\"",
                self.model.display(),
                header.config.transforms,
                format.name
            )));
        }
        let names =
            if header.features.len() == ensemble.width { header.features.clone() } else { Vec::new() };
        let missing = if self.missing == "zero" { Missing::AsZero } else { Missing::Exact };
        let export = Written { names: &names, cover: None, missing };
        let spinner = Progress::spinner(common.quiet, format!("proving {}", self.output.display()));
        let rows = probe_rows(ensemble, self.probes as usize, 0);
        let (bytes, parity) = interop::verify(ensemble, format, &export, &rows).map_err(|error| {
            let hint = if missing == Missing::Exact && error.what.contains("missing values") {
                "; --missing zero writes it for rows whose missing values are set to 0"
            } else {
                ""
            };
            Failure::data(format!("{error}{hint}"))
        })?;
        let seen = interop::verify::seen(ensemble, format, &export, &rows);
        let scores = ensemble.score(&seen).map_err(TrainError::from)?;
        drop(spinner);
        sink::write_file(&self.output, |out| out.write_all(&bytes))?;
        let probes = probes_file(&self.output);
        write_probes(&probes, &names, &seen, &scores, ensemble.outputs)?;
        if common.json {
            return print_json(&json!({
                "model": self.output, "format": format.name, "trees": ensemble.trees.len(), "bytes": bytes.len(),
                "probes": probes, "rows": parity.rows, "difference": parity.difference, "relative": parity.relative(),
            }));
        }
        print(&format!(
            "{}: {} trees for {}\nproved on {} rows: the same leaf of every tree, scores differ by at most {:.1e} of the \
             largest\nprobe rows and their scores: {}\n",
            self.output.display(),
            ensemble.trees.len(),
            format.about,
            parity.rows,
            parity.relative(),
            probes.display()
        ))
    }
}

fn probes_file(model: &Path) -> PathBuf {
    let mut name = model.as_os_str().to_os_string();
    name.push(".probe.csv");
    PathBuf::from(name)
}

/// Scores first, then the features; a missing value is an empty cell.
fn write_probes(
    path: &Path,
    names: &[String],
    rows: &dyn Features,
    scores: &[f64],
    outputs: usize,
) -> Result<(), Failure> {
    let width = rows.width();
    let mut head: Vec<String> = match outputs {
        1 => vec!["score".into()],
        _ => (0..outputs).map(|output| format!("score{output}")).collect(),
    };
    head.extend((0..width).map(|i| names.get(i).cloned().unwrap_or_else(|| format!("f{i}"))));
    let mut table = Table::new(head);
    let mut values = vec![0.0; width];
    for (row, scores) in scores.chunks_exact(outputs).enumerate() {
        rows.gather(&[row as u32], &mut values);
        let features = values.iter().map(|v| if v.is_nan() { String::new() } else { v.to_string() });
        table.row(scores.iter().map(f64::to_string).chain(features));
    }
    Ok(sink::write_file(path, |out| out.write_all(table.render(Style::Csv).as_bytes()))?)
}

const AFTER_IMPORT: &str = "\
Examples:
  toprank import model.txt -o model.toprank
  toprank import model.json -o model.toprank
  toprank predict --model model.toprank --data test.txt -o scores.txt

Reads text models of LightGBM and JSON models of XGBoost, with missing values and categories as they have them. Scores are
raw: a link function (sigmoid of a binary model) is not applied; it does not change an order. Features are found by name; a
model without names of its own takes them by place.";

/// Read a model of LightGBM or XGBoost, to evaluate, serve, explain or convert it
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_IMPORT)]
pub struct Import {
    /// Model of LightGBM (text) or XGBoost (JSON)
    file: PathBuf,
    /// Model file to write
    #[arg(long, short, value_name = "MODEL")]
    output: PathBuf,
}

impl Import {
    /// Reads, writes.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let mut imported = interop::read(&Source::path(self.file.display().to_string()))?;
        if nameless(&imported.names) {
            imported.names.clear();
        }
        let objective = imported.objective.clone().unwrap_or_else(|| "unknown".into());
        let model = Model::imported(imported)?;
        model.save(&self.output)?;
        let ensemble = of_trees(&model, &self.file)?.ensemble();
        let (trees, width) = (ensemble.trees.len(), ensemble.width);
        if common.json {
            return print_json(&json!({
                "model": self.output, "trees": trees, "features": width, "outputs": ensemble.outputs,
                "objective": objective,
            }));
        }
        note(
            common,
            format!("{trees} trees over {width} features ({objective}), wrote {}", self.output.display()),
        );
        Ok(())
    }
}

/// True if names only count the features, as tools do that were not told any.
fn nameless(names: &[String]) -> bool {
    ["Column_", "f"]
        .iter()
        .any(|prefix| names.iter().enumerate().all(|(i, name)| *name == format!("{prefix}{i}")))
}
