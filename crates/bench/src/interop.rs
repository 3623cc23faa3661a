//! Writes models in every format, and reads those of other tools, for `bench/interop/agree.py`:
//!
//! ```sh
//! interop write FOLDER [ROWS]   # our models with probe rows, scores, leaves, SHAP values
//! interop read FOLDER [ROWS]    # the same of every model of FOLDER/*.txt and FOLDER/*.json
//! ```

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use toprank::core::{Features, Stream};
use toprank::data::{Matrix, Source};
use toprank::trees::explain::{Cover, Shap};
use toprank::trees::interop::verify::{compare, seen};
use toprank::trees::interop::{self, Export, FORMATS, Missing, probe_rows, write};
use toprank::trees::{BinSettings, Bins, Booster, Boosting, Ensemble, Growth, Next, Node, Test, Tree};

use crate::common::{Outcome, WrongUse, numbers_in, words};

const WIDTH: usize = 14;

/// Rows with 15 % missing values; features 10 and 11 are integers that serve as categories too.
fn data(rows: usize) -> Matrix {
    let mut random = Stream::new(11, "rows to export models from").open();
    let mut values = Vec::with_capacity(rows * WIDTH);
    for _ in 0..rows {
        for feature in 0..WIDTH {
            let missing = random.unit() < 0.15;
            let value = match feature {
                10 => random.below(30) as f32,
                11 => random.below(200) as f32,
                0 => (random.unit() * 3.0).floor() as f32,
                1 => random.unit() as f32 * 1e-4,
                _ => random.unit() as f32 * 2.0 - 1.0,
            };
            values.push(if missing { f32::NAN } else { value });
        }
    }
    Matrix::Dense { width: WIDTH, values }
}

fn grown(outputs: usize, categorical: bool) -> Outcome<Ensemble> {
    let rows = data(4000);
    let Matrix::Dense { values, .. } = &rows else { unreachable!() };
    let kinds: Vec<bool> = (0..WIDTH).map(|feature| categorical && matches!(feature, 10 | 11)).collect();
    let binned = Bins::fit(&rows, &kinds, &BinSettings::default())?.apply(&rows)?;
    let growth = Growth { leaves: 31, ..Growth::default() };
    let mut booster = Booster::new(&binned, &[], outputs, Boosting { growth, ..Boosting::default() })?;
    (0..outputs).for_each(|output| booster.add_base(output, 0.3 * (output as f64 + 1.0)));
    let label = |row: &[f32], output: usize| {
        let known: f64 = row.iter().map(|v| if v.is_nan() { 0.4 } else { f64::from(*v).sin() }).sum();
        let product = f64::from(row[2]) * f64::from(row[3]);
        known
            + if product.is_nan() { -1.0 } else { 3.0 * product }
            + output as f64 * f64::from(row[10].max(0.0))
    };
    for _ in 0..40 {
        let gradient: Vec<f64> = (booster.scores().iter().enumerate())
            .map(|(i, score)| score - label(&values[i / outputs * WIDTH..][..WIDTH], i % outputs))
            .collect();
        booster.round(&gradient, &vec![1.0; gradient.len()])?;
    }
    Ok(booster.into_ensemble())
}

/// Thresholds that are hard to carry over.
fn edges() -> Ensemble {
    let mut thresholds =
        vec![0.0, -0.0, 1.0, -2.0, 0.1, 16_777_216.0, f32::MAX, f32::MIN, 3e-5, -1e-30, 123_456.79, 1e-6];
    thresholds.extend([f32::NEG_INFINITY, f32::INFINITY]);
    let trees = thresholds.iter().enumerate().map(|(f, &threshold)| {
        let node = Node::new(f as u32, Test::AtMost(threshold), f % 2 == 0, Next::Leaf(0), Next::Leaf(1));
        Tree { nodes: vec![node], leaves: vec![-1.0, 2.0] }
    });
    let mut model = Ensemble { trees: trees.collect(), ..Ensemble::new(WIDTH, 1) };
    model.trees.push(Tree::constant(0.5));
    model
}

/// The same trees, each with an output of its own, whose leaves hold their numbers: scores say which leaf a row came to.
fn numbered(model: &Ensemble) -> Ensemble {
    let number = |tree: &Tree| Tree {
        nodes: tree.nodes.clone(),
        leaves: (0..tree.leaves.len()).map(|leaf| leaf as f64).collect(),
    };
    Ensemble {
        trees: model.trees.iter().map(number).collect(),
        ..Ensemble::new(model.width, model.trees.len())
    }
}

fn bytes<T, const N: usize>(values: &[T], to_bytes: impl Fn(&T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(to_bytes).collect()
}

fn values_of(rows: &Matrix) -> Vec<f32> {
    let mut values = vec![0.0; rows.rows() * rows.width()];
    rows.gather(&(0..rows.rows() as u32).collect::<Vec<_>>(), &mut values);
    values
}

/// Rows, scores, leaves, explained rows and their SHAP values.
fn save(stem: &Path, model: &Ensemble, rows: &Matrix, cover: Option<(&Cover, &Matrix)>) -> Outcome {
    let file = |suffix: &str| format!("{}.{suffix}", stem.display());
    let values = values_of(rows);
    let leaves: Vec<u32> = values
        .chunks_exact(model.width)
        .flat_map(|row| model.trees.iter().map(|tree| tree.leaf(row) as u32))
        .collect();
    fs::write(file("rows.f32"), bytes(&values, |v| v.to_le_bytes()))?;
    fs::write(file("scores.f64"), bytes(&model.score(rows)?, |v| v.to_le_bytes()))?;
    fs::write(file("leaves.u32"), bytes(&leaves, |v| v.to_le_bytes()))?;
    if let Some((cover, explained)) = cover {
        let found = Shap::new(model, cover)?.explain(explained)?;
        fs::write(file("explained.f32"), bytes(&values_of(explained), |v| v.to_le_bytes()))?;
        fs::write(file("shap.f64"), bytes(&found.values, |v| v.to_le_bytes()))?;
    }
    Ok(())
}

fn write_ours(folder: &Path, count: usize) -> Outcome<Vec<Value>> {
    let models = [
        ("numeric", grown(1, false)?),
        ("categories", grown(1, true)?),
        ("outputs", grown(3, false)?),
        ("edges", edges()),
    ];
    // Not only ASCII: LightGBM counts bytes.
    let names: Vec<String> = (0..WIDTH).map(|feature| format!("größe_{feature}")).collect();
    let mut index = Vec::new();
    for (model_name, model) in &models {
        let probes = probe_rows(model, count, 1);
        let explained = data(1000);
        // No leaf may be without rows: other tools divide by their number.
        let background = if *model_name == "edges" { probes.clone() } else { data(4000) };
        let cover = Cover::count(model, &background)?;
        for format in FORMATS {
            let missing = if format.name == "ranklib" { Missing::AsZero } else { Missing::Exact };
            let export = Export { cover: Some(&cover), missing, names: &names };
            let name = format!("{model_name}.{}", format.name);
            let mut entry = json!({
                "model": model_name, "format": format.name, "name": name, "width": WIDTH,
                "outputs": model.outputs, "trees": model.trees.len(),
            });
            match write(model, format, &export) {
                Ok(written) => {
                    entry["own check"] =
                        json!(compare(model, format, &export, &probes, &written)?.relative());
                    let file = format!("{name}.{}", format.extension);
                    fs::write(folder.join(&file), written)?;
                    entry["file"] = json!(file);
                    if let Ok(written) = write(&numbered(model), format, &Export { cover: None, ..export }) {
                        let file = format!("{name}.numbered.{}", format.extension);
                        fs::write(folder.join(&file), written)?;
                        entry["numbered"] = json!(file);
                    }
                    let rows = seen(model, format, &export, &probes);
                    save(&folder.join(&name), model, &rows, Some((&cover, &explained)))?;
                }
                Err(error) => entry["refused"] = json!(error.to_string()),
            }
            index.push(entry);
        }
    }
    Ok(index)
}

/// The rows that a model was trained with, if they are beside it.
fn trained_with(folder: &Path, name: &str, width: usize) -> Outcome<Option<Matrix>> {
    let path = folder.join(format!("{name}.train.f32"));
    if !path.exists() {
        return Ok(None);
    }
    Ok(Some(Matrix::Dense { width, values: numbers_in(&path.to_string_lossy())? }))
}

fn read_theirs(folder: &Path, count: usize) -> Outcome<Vec<Value>> {
    let mut files: Vec<_> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Outcome<_>>()?;
    files.retain(|path| path.extension().is_some_and(|end| end == "txt" || end == "json"));
    files.sort();
    let mut index = Vec::new();
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let format = if path.extension().is_some_and(|end| end == "txt") { "lightgbm" } else { "xgboost" };
        let mut entry = json!({"model": name, "format": format, "name": name});
        match interop::read(&Source::path(&path)) {
            Ok(found) => {
                let model = found.ensemble;
                let format = interop::by_name(format).ok_or("no such format")?;
                let rows = seen(&model, format, &Export::default(), &probe_rows(&model, count, 1));
                let train = trained_with(folder, &name, model.width)?;
                let cover = train.as_ref().map(|train| Cover::count(&model, train)).transpose()?;
                save(&folder.join(&name), &model, &rows, cover.as_ref().zip(train.as_ref()))?;
                entry["width"] = json!(model.width);
                entry["outputs"] = json!(model.outputs);
                entry["trees"] = json!(model.trees.len());
                entry["leaves"] = json!(model.trees.iter().map(|tree| tree.leaves.len()).sum::<usize>());
            }
            Err(error) => entry["refused"] = json!(error.to_string()),
        }
        index.push(entry);
    }
    Ok(index)
}

pub fn run(args: &[String]) -> Outcome {
    let words = words(args);
    let [what @ ("write" | "read"), folder, ref rest @ ..] = words[..] else { return Err(WrongUse.into()) };
    let folder = Path::new(folder);
    let count: usize = rest.first().map_or(Ok(10_000), |text| text.parse())?;
    fs::create_dir_all(folder)?;
    let index = if what == "write" { write_ours(folder, count)? } else { read_theirs(folder, count)? };
    fs::write(folder.join("index"), serde_json::to_vec_pretty(&index)?)?;
    Ok(())
}
