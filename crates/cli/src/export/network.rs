//! Networks and recommenders for other runtimes, by ONNX.

use std::path::{Path, PathBuf};

use serde_json::json;
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

impl Export {
    fn must_be_onnx(&self, kind: &str) -> Result<(), Failure> {
        match self.to == "onnx" {
            true => Ok(()),
            false => Err(Failure::usage(format!(
                "--to must be onnx for {}, a model of the kind {kind}, but is {}: only a model that was trained with \
                 --model trees can be written so",
                self.model.display(),
                self.to
            ))),
        }
    }

    /// A network with its transforms.
    pub(super) fn network(&self, model: &Model, common: &Common) -> Result<(), Failure> {
        let header = model.header();
        self.must_be_onnx(header.config.model())?;
        let written = self.spinning(common, |rows| onnx::write(model, rows))?;
        self.written(header.config.model(), &header.features, &written, common)
    }

    /// An embedding with its transforms.
    pub(super) fn embedding(&self, common: &Common) -> Result<(), Failure> {
        let embedder = Embedder::load(&self.model)?;
        let header = embedder.header();
        self.must_be_onnx(header.config.model())?;
        let written = self.spinning(common, |rows| onnx::write_embedding(&embedder, rows))?;
        self.written(header.config.model(), &header.features, &written, common)
    }

    fn spinning<T>(
        &self,
        common: &Common,
        write: impl FnOnce(usize) -> Result<T, TrainError>,
    ) -> Result<T, Failure> {
        let spinner = Progress::spinner(common.quiet, &format!("verifying {}", self.output.display()));
        let written = write(self.probes.map_or(ROWS, |rows| rows as usize))?;
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

    /// The two sides of a recommender.
    pub(super) fn towers(&self, common: &Common) -> Result<(), Failure> {
        let recommender = Recommender::load_mapped(&self.model)?;
        let model = recommender.header().config.model();
        self.must_be_onnx(model)?;
        let towers = self.spinning(common, |pairs| onnx::towers(&recommender, pairs))?;
        let data = recommender.data();
        let known = [&data.user_features, &data.item_features];
        let mut head: Vec<String> = ["user", "item", "score"].map(String::from).to_vec();
        for (side, known) in ["user", "item"].iter().zip(known) {
            let columns = known.as_ref().map_or(&[][..], |known| &known.columns);
            head.extend(columns.iter().map(|name| format!("{side} {name}")));
        }
        let mut table = Table::new(head);
        for ((user, item), score) in towers.pairs.iter().zip(&towers.scores) {
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
        let files = ["user", "item"].map(|side| of_side(&self.output, side));
        for (file, bytes) in files.iter().zip(&towers.files) {
            sink::write_file(file, |out| out.write_all(bytes))?;
        }
        sink::write_file(&probes, |out| out.write_all(table.render(Style::Csv).as_bytes()))?;
        let run = self.onnxruntime.as_deref();
        let run =
            run.map(|python| checked(python, &[&files[0], &files[1]], &probes, TOLERANCE)).transpose()?;
        Done {
            files: &files,
            about: format!("the two sides of {model} for ONNX, scores are their dot products"),
            verified: counted(towers.pairs.len(), "pair"),
            parity: towers.parity,
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
