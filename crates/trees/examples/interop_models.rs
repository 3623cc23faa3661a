//! Writes models in every format with probe rows, scores, leaves and SHAP values, for `bench/interop/agree.py`:
//! `interop_models FOLDER [ROWS]`.

use std::error::Error;
use std::fs;
use std::path::Path;

use toprank_core::{Features, Stream};
use toprank_data::Matrix;
use toprank_trees::explain::{Cover, Shap};
use toprank_trees::interop::verify::{compare, seen};
use toprank_trees::interop::{Export, FORMATS, Missing, probe_rows, write};
use toprank_trees::{BinSettings, Bins, Booster, Boosting, Ensemble, Growth, Next, Node, Test, Tree};

const WIDTH: usize = 12;

/// Rows with 15 % missing values; features 10 and 11 are whole numbers that serve as categories too.
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

fn grown(outputs: usize, categorical: bool) -> Result<Ensemble, Box<dyn Error>> {
    let rows = data(4000);
    let Matrix::Dense { values, .. } = &rows else { unreachable!() };
    let kinds: Vec<bool> = (0..WIDTH).map(|feature| categorical && feature >= 10).collect();
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
    let thresholds =
        [0.0, -0.0, 1.0, -2.0, 0.1, 16_777_216.0, f32::MAX, f32::MIN, 3e-5, -1e-30, 123_456.79, 1e-6];
    let trees = thresholds.iter().enumerate().map(|(f, &threshold)| {
        let node = Node::new(f as u32, Test::AtMost(threshold), f % 2 == 0, Next::Leaf(0), Next::Leaf(1));
        Tree { nodes: vec![node], leaves: vec![-1.0, 2.0] }
    });
    let mut model = Ensemble { trees: trees.collect(), ..Ensemble::new(WIDTH, 1) };
    model.trees.push(Tree::constant(0.5));
    model
}

fn bytes<T, const N: usize>(values: &[T], to_bytes: impl Fn(&T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(to_bytes).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(arguments.first().ok_or("usage: interop_models FOLDER [ROWS]")?);
    let count: usize = arguments.get(1).map_or(Ok(10_000), |text| text.parse())?;
    fs::create_dir_all(folder)?;
    let models = [
        ("numeric", grown(1, false)?),
        ("categories", grown(1, true)?),
        ("outputs", grown(3, false)?),
        ("edges", edges()),
    ];
    let mut index = Vec::new();
    for (model_name, model) in &models {
        let probes = probe_rows(model, count, 1);
        let background = data(2000);
        let cover = Cover::count(model, &background)?;
        for format in FORMATS {
            let missing = if format.name == "ranklib" { Missing::AsZero } else { Missing::Exact };
            let export = Export { cover: Some(&cover), missing, ..Export::default() };
            let name = format!("{model_name}.{}", format.name);
            let written = match write(model, format, &export) {
                Ok(written) => written,
                Err(error) => {
                    println!("{name}: not written: {error}");
                    continue;
                }
            };
            let parity = compare(model, format, &export, &probes, &written)?;
            println!(
                "{name}: own check {:e} of the largest score on {} rows",
                parity.relative(),
                parity.rows
            );
            let rows = seen(model, format, &export, &probes);
            let Matrix::Dense { values, .. } = &rows else { unreachable!() };
            let leaves: Vec<u32> = values
                .chunks_exact(WIDTH)
                .flat_map(|row| model.trees.iter().map(|tree| tree.leaf(row) as u32))
                .collect();
            let explained = Shap::new(model, &cover)?.explain(&background)?;
            let mut background_values = vec![0.0; background.rows() * WIDTH];
            background.gather(&(0..background.rows() as u32).collect::<Vec<_>>(), &mut background_values);
            fs::write(folder.join(format!("{name}.{}", format.extension)), written)?;
            let file = |suffix: &str| folder.join(format!("{name}.{suffix}"));
            fs::write(file("rows.f32"), bytes(values, |v| v.to_le_bytes()))?;
            fs::write(file("scores.f64"), bytes(&model.score(&rows)?, |v| v.to_le_bytes()))?;
            fs::write(file("leaves.u32"), bytes(&leaves, |v| v.to_le_bytes()))?;
            fs::write(file("background.f32"), bytes(&background_values, |v| v.to_le_bytes()))?;
            fs::write(file("shap.f64"), bytes(&explained.values, |v| v.to_le_bytes()))?;
            index.push(serde_json::json!({
                "name": name, "format": format.name, "file": format!("{name}.{}", format.extension),
                "rows": count, "width": WIDTH, "outputs": model.outputs, "trees": model.trees.len(),
                "nodes": model.trees.iter().map(|tree| tree.nodes.len()).collect::<Vec<_>>(),
            }));
        }
    }
    fs::write(folder.join("index.json"), serde_json::to_vec_pretty(&index)?)?;
    Ok(())
}
