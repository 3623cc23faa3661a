//! `toprank export` and `toprank import`: models for other tools, and from them.

mod network;
mod runtime;

use std::path::{Path, PathBuf};

use serde_json::json;
use toprank::core::{Features, catalog};
use toprank::data::{Source, sink};
use toprank::train::embed::Embedder;
use toprank::train::rank::scoring::Trees;
use toprank::train::{Model, Recommender, TrainError};
use toprank::trees::interop::{self, Export as Written, Missing, probe_rows};

use self::runtime::checked;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::table::{Style, Table, counted};
use crate::{Common, note, print, print_json};
use toprank::train::fit::run::beside;

const AFTER_EXPORT: &str = "\
Examples:
  toprank export model.toprank --to lightgbm -o model.txt
  toprank export model.toprank --to onnx -o model.onnx
  toprank export model.toprank --to ranklib --missing zero -o model.xml
  toprank export mlp.toprank --to onnx --onnxruntime python3 -o mlp.onnx
  toprank export gin.toprank --to onnx -o gin.onnx        # graphs as tensors
  toprank export rec.toprank --to onnx -o towers.onnx     # towers.user.onnx, towers.item.onnx

Formats of trees: lightgbm (text), lightgbm-json (dump), xgboost (JSON), ranklib (XML), solr (JSON), es-ltr and opensearch-ltr
(XGBoost's JSON dump for model/xgboost+json, with a feature set beside it), vespa (the same for xgboost(\"…\")), onnx
(TreeEnsembleRegressor). Versions of Elasticsearch's and OpenSearch's plug-ins score missing values as 0 or by the model: they get
models only that score both alike; OpenSearch 3.2 to 3.5 scores them otherwise in any case. `toprank parity` checks what is served.
The written file is verified before the command succeeds: it is read back and evaluated as its tool does, on rows made to hit
every threshold, its neighbouring floats, extremes and missing values, and every row must reach the same leaf of every tree. The
rows and their scores are written beside the model, to FILE.probe.csv, so that the tool that serves the model can be checked
too. Scores are raw; where the format stores leaves in single precision they differ by at most 1e-6 of the largest.

Trees and numbered features are counted from 1, as `toprank inspect` does and as RankLib and LETOR files do; LightGBM, XGBoost,
Solr and ONNX count by their own conventions.

Networks that score rows of features are exported to ONNX with their feature transforms, so they take features as they were read. A
model that scores whole lists takes the items of one list per run. A model of graphs (gin) takes any number of graphs per run as the
tensors nodes, ends, edges, graph_of_node and sizes; the codes of the features of nodes and edges are in the metadata of the file.
A recommender of the kind mf or two-tower becomes two files, one for users and one for items, and the dot product of their vectors
is the score; neumf becomes one file that scores pairs of a user and an item; sequence one file that scores all items for a history, the
numbers of its items from the first to the last, at most as many as the model reads. An embedding gives its vectors, a
network trained with multiclass the probabilities of the classes beside their scores. The
written file is read back and evaluated by a reference implementation on probe rows; --onnxruntime PYTHON also runs it in
onnxruntime.";

/// Export a model to LightGBM, XGBoost, RankLib, Solr or ONNX, and verify its scores
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_EXPORT)]
pub struct Export {
    /// Model file
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Format to write: lightgbm, lightgbm-json, xgboost, ranklib, solr, es-ltr, opensearch-ltr, vespa or onnx
    #[arg(long, value_name = "FORMAT")]
    to: String,
    /// File to write
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Missing values in formats without a branch for them: exact refuses models that need one, zero treats missing as 0
    #[arg(long, value_name = "HOW", default_value = "exact", value_parser = ["exact", "zero"])]
    missing: String,
    /// Number of rows, pairs or graphs to verify it on [default: 10000 for trees, 200 for graphs, 2000 for others; fewer of more than 400 features]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    probes: Option<u32>,
    /// Also run an ONNX model in the onnxruntime of this Python, on the same rows
    #[arg(long, value_name = "PYTHON", num_args = 0..=1, default_missing_value = "python3")]
    onnxruntime: Option<PathBuf>,
}

/// A model that must be made of trees.
pub fn of_trees<'a>(model: &'a Model, file: &Path) -> Result<&'a Trees, Failure> {
    model.scoring().trees().ok_or_else(|| {
        let (file, found) = (file.display(), model.header().config.model());
        Failure::usage(format!(
            "{file}: a model of the kind {found}; expected one that was trained with --model trees"
        ))
    })
}

impl Export {
    /// Loads, writes, verifies.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let format = interop::by_name(&self.to).ok_or_else(|| {
            Failure::from(catalog::unknown(
                "format",
                &self.to,
                interop::FORMATS.iter().map(|format| format.name),
            ))
        })?;
        if self.onnxruntime.is_some() && self.to != "onnx" {
            return Err(Failure::usage(format!("--onnxruntime runs ONNX models, but --to is {}", self.to)));
        }
        if Recommender::is_one(&self.model) {
            return self.recommender(common);
        }
        if Embedder::is_one(&self.model) {
            return self.embedding(common);
        }
        let model = Model::load(&self.model)?;
        let Some(trees) = model.scoring().trees() else { return self.network(&model, common) };
        let ensemble = trees.ensemble();
        let header = model.header();
        if !header.transforms.steps.is_empty() {
            return Err(Failure::usage(format!(
                "{}: its features go through {} first, which {} does not know; expected a model trained with --transforms \"\"",
                self.model.display(),
                header.config.transforms(),
                format.name
            )));
        }
        let names =
            if header.features.len() == ensemble.width { header.features.clone() } else { Vec::new() };
        let missing = if self.missing == "zero" { Missing::AsZero } else { Missing::Exact };
        let export = Written { names: &names, cover: None, missing };
        let spinner = Progress::spinner(common.quiet, &format!("verifying {}", self.output.display()));
        let rows = probe_rows(ensemble, self.rows(ROWS as usize, ensemble.width)?, 0);
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
        if format.name.ends_with("-ltr") {
            write_feature_set(&beside(&self.output, ".featureset.json"), &names, ensemble.width)?;
        }
        let probes = beside(&self.output, ".probe.csv");
        write_probes(&probes, &names, &seen, &scores, ensemble.outputs)?;
        let run = self.onnxruntime.as_deref();
        let run = run
            .map(|python| checked(python, &[&self.output], &probes, interop::verify::TOLERANCE))
            .transpose()?;
        if common.json {
            return print_json(&json!({
                "model": self.output, "format": format.name, "trees": ensemble.trees.len(), "bytes": bytes.len(),
                "probes": probes, "rows": parity.rows, "difference": parity.difference, "relative": parity.relative(),
                "onnxruntime": run,
            }));
        }
        print(&format!(
            "{}: {} for {}\nverified on {} rows: the same leaf of every tree, scores differ by at most {:.1e} of the \
             largest\n{}probe rows and their scores: {}\n",
            self.output.display(),
            counted(ensemble.trees.len(), "tree"),
            format.about,
            parity.rows,
            parity.relative(),
            run.map_or(String::new(), |run| format!("{run}\n")),
            probes.display()
        ))
    }
}

/// The feature set that a search engine's plug-in wants before a model: a template for each feature, which its owner fills in.
fn write_feature_set(path: &Path, names: &[String], width: usize) -> Result<(), Failure> {
    let name = |feature: usize| names.get(feature).cloned().unwrap_or_else(|| format!("f{feature}"));
    let features = (0..width).map(|feature| {
        json!({
            "name": name(feature),
            "params": ["keywords"],
            "template_language": "mustache",
            "template": {"match_all": {}},
        })
    });
    let set = json!({"featureset": {"name": "toprank", "features": features.collect::<Vec<_>>()}});
    let text = serde_json::to_string_pretty(&set).map_err(Failure::failed)? + "\n";
    Ok(sink::write_file(path, |out| out.write_all(text.as_bytes()))?)
}

/// Values of the rows that a model is verified on: by default, and at most.
const VALUES: usize = 1 << 22;
const MOST_VALUES: usize = 1 << 25;

impl Export {
    /// How many rows of `width` features the model is verified on: those of --probes, or `default`, fewer where rows are wide.
    fn rows(&self, default: usize, width: usize) -> Result<usize, Failure> {
        let width = width.max(1);
        match self.probes.map(|probes| probes as usize) {
            None => Ok(default.min((VALUES / width).max(1))),
            Some(probes) if probes.saturating_mul(width) <= MOST_VALUES => Ok(probes),
            Some(probes) => Err(Failure::usage(format!(
                "--probes {probes}: rows of {width} features, {} values together; expected at most {MOST_VALUES}",
                probes.saturating_mul(width)
            ))),
        }
    }
}

/// Rows that trees are verified on by default.
const ROWS: u32 = 10_000;

/// Names of scores and features.
fn features_head(names: &[String], outputs: usize, width: usize) -> impl Iterator<Item = String> {
    let scores =
        (1..=outputs).map(move |output| if outputs == 1 { "score".into() } else { format!("score{output}") });
    scores.chain((0..width).map(|i| names.get(i).cloned().unwrap_or_else(|| format!("feature{}", i + 1))))
}

/// Scores and features of a row; a missing value is an empty cell.
fn cells(scores: &[f64], values: &[f32]) -> impl Iterator<Item = String> {
    let features = values.iter().map(|v| if v.is_nan() { String::new() } else { v.to_string() });
    scores.iter().map(f64::to_string).chain(features)
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
    let mut table = Table::new(features_head(names, outputs, width));
    let mut values = vec![0.0; width];
    for (row, scores) in scores.chunks_exact(outputs).enumerate() {
        rows.gather(&[row as u32], &mut values);
        table.row(cells(scores, &values));
    }
    Ok(sink::write_file(path, |out| out.write_all(table.render(Style::Csv).as_bytes()))?)
}

const AFTER_IMPORT: &str = "\
Examples:
  toprank import model.txt -o model.toprank
  toprank import model.json -o model.toprank
  toprank predict model.toprank --data test.txt -o scores.txt

Reads text models of LightGBM and JSON models of XGBoost, with their handling of missing values and categories. Scores are raw:
a link function (such as the sigmoid of a binary model) is not applied, since it does not change an order. Features are found by
name; a model without feature names takes them by position. The model can be used with predict, explain, inspect and export.";

/// Import a model of LightGBM or XGBoost
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
            format!(
                "{} over {} ({objective}), wrote {}",
                counted(trees, "tree"),
                counted(width, "feature"),
                self.output.display()
            ),
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
