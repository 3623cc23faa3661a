//! Networks and recommenders for other runtimes, by ONNX.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use toprank::core::Features;
use toprank::data::sink;
use toprank::train::embed::Embedder;
use toprank::train::store::onnx::{self, TOLERANCE};
use toprank::train::{Model, Recommender, TrainError};

use super::runtime::checked;
use super::{Export, cells, features_head};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::table::{Style, Table, counted};
use crate::{Common, print, print_json};
use toprank::train::fit::run::beside;

/// Rows that a network is verified on by default: the reference implementation is slow.
const ROWS: usize = 2_000;
/// Graphs that a model of graphs is verified on by default: each has many nodes.
const GRAPHS: usize = 200;

impl Export {
    fn must_be_onnx(&self, kind: &str) -> Result<(), Failure> {
        match self.to == "onnx" {
            true => Ok(()),
            false => Err(Failure::usage(format!(
                "{}: a model of the kind {kind} cannot be written for {}; expected --to onnx, or a model that was trained with \
                 --model trees",
                self.model.display(),
                self.to
            ))),
        }
    }

    /// A network with its transforms.
    pub(super) fn network(&self, model: &Model, common: &Common) -> Result<(), Failure> {
        let header = model.header();
        self.must_be_onnx(header.config.model())?;
        if header.graphs.is_some() {
            return self.graphs(model, common);
        }
        let rows = self.rows(ROWS, header.width)?;
        let written = self.spinning(common, || onnx::write(model, rows))?;
        self.written(header.config.model(), &header.features, &written, common)
    }

    /// An embedding with its transforms.
    pub(super) fn embedding(&self, common: &Common) -> Result<(), Failure> {
        let embedder = Embedder::load(&self.model)?;
        let header = embedder.header();
        self.must_be_onnx(header.config.model())?;
        let rows = self.rows(ROWS, header.width)?;
        let written = self.spinning(common, || onnx::write_embedding(&embedder, rows))?;
        self.written(header.config.model(), &header.features, &written, common)
    }

    fn spinning<T>(
        &self,
        common: &Common,
        write: impl FnOnce() -> Result<T, TrainError>,
    ) -> Result<T, Failure> {
        let spinner = Progress::spinner(common.quiet, &format!("verifying {}", self.output.display()));
        let written = write()?;
        drop(spinner);
        Ok(written)
    }

    fn written(
        &self,
        model: &str,
        names: &[String],
        written: &onnx::Written,
        common: &Common,
    ) -> Result<(), Failure> {
        let (rows, width) = (written.rows.rows(), written.rows.features.width());
        let outputs = written.scores.len() / rows.max(1);
        sink::write_file(&self.output, |out| out.write_all(&written.bytes))?;
        let mut head = Vec::new();
        if written.list_by_list {
            head.push("list".to_string());
        }
        head.extend(features_head(names, outputs, width));
        let mut table = Table::new(head);
        let mut values = vec![0.0; width];
        for list in 0..written.rows.lists.len() {
            for row in written.rows.lists.range(list) {
                written.rows.features.gather(&[row as u32], &mut values);
                let scores = &written.scores[row * outputs..][..outputs];
                let list = written.list_by_list.then(|| list.to_string());
                table.row(list.into_iter().chain(cells(scores, &values)));
            }
        }
        let probes = beside(&self.output, ".probe.csv");
        sink::write_file(&probes, |out| out.write_all(table.render(Style::Csv).as_bytes()))?;
        let run = self.onnxruntime.as_deref();
        let run = run.map(|python| checked(python, &[&self.output], &probes, TOLERANCE)).transpose()?;
        let what = if written.list_by_list { ", one list a run" } else { "" };
        Done {
            files: std::slice::from_ref(&self.output),
            about: format!("{model} for ONNX{what}"),
            verified: counted(rows, "row"),
            parity: written.parity,
            probes: &probes,
            run,
            common,
        }
        .print()
    }

    /// A network of graphs.
    fn graphs(&self, model: &Model, common: &Common) -> Result<(), Failure> {
        let header = model.header();
        let graphs = self.probes.map_or(GRAPHS, |graphs| graphs as usize);
        let written = self.spinning(common, || onnx::write_graphs(model, graphs))?;
        sink::write_file(&self.output, |out| out.write_all(&written.bytes))?;
        let runs: Vec<Value> = written
            .runs
            .iter()
            .map(|run| {
                let inputs = run.inputs.iter().map(|(name, tensor)| {
                    (name.to_string(), json!({ "sizes": tensor.sizes, "values": tensor.values }))
                });
                let scores: Vec<&[f64]> = run.scores.chunks_exact(header.outputs).collect();
                json!({ "inputs": inputs.collect::<Map<_, _>>(), "scores": scores })
            })
            .collect();
        let probes = beside(&self.output, ".probe.json");
        sink::write_file(&probes, |out| out.write_all(json!(runs).to_string().as_bytes()))?;
        let run = self.onnxruntime.as_deref();
        let run = run.map(|python| checked(python, &[&self.output], &probes, TOLERANCE)).transpose()?;
        Done {
            files: std::slice::from_ref(&self.output),
            about: format!("{} for ONNX, graphs as tensors", header.config.model()),
            verified: counted(written.graphs, "graph"),
            parity: written.parity,
            probes: &probes,
            run,
            common,
        }
        .print()
    }

    /// The two sides of a recommender, or one file that scores pairs.
    pub(super) fn recommender(&self, common: &Common) -> Result<(), Failure> {
        let recommender = Recommender::load_mapped(&self.model)?;
        let model = recommender.header().config.model();
        self.must_be_onnx(model)?;
        let pairs = self.rows(ROWS, 1)?;
        let of_history = model.split(':').next() == Some("sequence");
        if of_history && self.onnxruntime.is_some() {
            return Err(Failure::usage(
                "--onnxruntime runs files of pairs and of two sides: expected none with a sequence model, which is verified without it",
            ));
        }
        let written = self.spinning(common, || onnx::recommender(&recommender, pairs))?;
        let data = recommender.data();
        // A file that scores pairs reads no features.
        let sides = written.files.len() == 2;
        let known = [&data.user_features, &data.item_features].map(|known| known.as_ref().filter(|_| sides));
        let mut head: Vec<String> = ["user", "item", "score"].map(String::from).to_vec();
        for (side, known) in ["user", "item"].iter().zip(known) {
            let columns = known.map_or(&[][..], |known| &known.columns);
            head.extend(columns.iter().map(|name| format!("{side} {name}")));
        }
        let mut table = Table::new(head);
        for ((user, item), score) in written.pairs.iter().zip(&written.scores) {
            let mut row = vec![user.to_string(), item.to_string(), score.to_string()];
            for (id, known) in [(*user, known[0]), (*item, known[1])] {
                if let Some(known) = known {
                    let mut values = vec![0.0; known.columns.len()];
                    known.gather(&[id], &mut values);
                    row.extend(cells(&[], &values));
                }
            }
            table.row(row);
        }
        let probes = beside(&self.output, ".probe.csv");
        let path = |side: Option<&str>| side.map_or(self.output.clone(), |side| of_side(&self.output, side));
        let files: Vec<PathBuf> = written.files.iter().map(|file| path(file.side)).collect();
        for (file, written) in files.iter().zip(&written.files) {
            sink::write_file(file, |out| out.write_all(&written.bytes))?;
        }
        sink::write_file(&probes, |out| out.write_all(table.render(Style::Csv).as_bytes()))?;
        let run = self.onnxruntime.as_deref();
        let models: Vec<&PathBuf> = files.iter().collect();
        let run = run.map(|python| checked(python, &models, &probes, TOLERANCE)).transpose()?;
        let about = match sides {
            true => format!("the two sides of {model} for ONNX, scores are their dot products"),
            false if of_history => format!("{model} for ONNX, scores of all items for a history"),
            false => format!("{model} for ONNX, scores of pairs"),
        };
        Done {
            files: &files,
            about,
            verified: counted(written.pairs.len(), "pair"),
            parity: written.parity,
            probes: &probes,
            run,
            common,
        }
        .print()
    }
}

/// What was written and how it was verified.
struct Done<'a> {
    files: &'a [PathBuf],
    about: String,
    verified: String,
    parity: onnx::Parity,
    probes: &'a Path,
    run: Option<String>,
    common: &'a Common,
}

impl Done<'_> {
    fn print(&self) -> Result<(), Failure> {
        let parity = self.parity;
        if self.common.json {
            return print_json(&json!({
                "model": self.files[0], "files": self.files, "format": "onnx", "probes": self.probes, "rows": self.verified,
                "difference": parity.difference, "relative": parity.relative(), "onnxruntime": self.run,
            }));
        }
        let names: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        let run = match &self.run {
            Some(run) => format!("{run}\n"),
            None => "not run in onnxruntime; --onnxruntime PYTHON does so where a Python has it\n".into(),
        };
        print(&format!(
            "{}: {}\nverified on {}: scores differ by at most {:.1e} of the largest\n{run}probes and their scores: {}\n",
            names.join(", "),
            self.about,
            self.verified,
            parity.relative(),
            self.probes.display()
        ))
    }
}

/// `towers.onnx` → `towers.user.onnx`.
fn of_side(path: &Path, side: &str) -> PathBuf {
    path.with_extension(match path.extension() {
        Some(extension) => format!("{side}.{}", extension.display()),
        None => side.into(),
    })
}
