//! Trains perceptrons for `bench/libauc/run.py`, one case a line of JSON in, one line of JSON out.
//!
//! ```text
//! {"train": FILE, "others": [FILE, ...], "width": 6, "model": "mlp:hidden=64-32", "objective": "ap",
//!  "sampler": "strata:relevant=32:others=96:epoch=all", "rate": 0.003, "epochs": 20, "seed": 1, "warm-up": 0,
//!  "optimiser": "adamw:decay=3"}
//! {"cpu": 0.0041, "steps": 69, "scores": [[...], ...]}
//! ```
//!
//! A file holds rows of little-endian f32: the features, standardised already, then the label. `cpu` is the CPU time of
//! an epoch of [`TrainingLoop::run`], all threads together, in seconds: nothing is read, validated or written meanwhile.
//! `scores` are those of the rows of the other files. The number of threads is that of rayon: `RAYON_NUM_THREADS`.

use std::collections::HashMap;
use std::io::{BufRead, Write};

use serde_json::{Value, json};
use toprank::core::Lists;
use toprank::data::Matrix;
use toprank::train::fit::engine::{Examples, score};
use toprank::train::{Settings, Trainer, TrainerKind, TrainingLoop};

use crate::common::{Outcome, WrongUse, cpu_seconds, numbers_in};

pub fn run(args: &[String]) -> Outcome {
    if !args.is_empty() {
        return Err(WrongUse.into());
    }
    let mut files = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let answer = train(&serde_json::from_str(&line?)?, &mut files)?;
        let mut out = std::io::stdout();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn train(case: &Value, files: &mut HashMap<String, (Lists, Matrix)>) -> Outcome<Value> {
    let text = |value: &Value| value.as_str().map(String::from).ok_or(format!("{value} must be a string"));
    let whole = |key: &str| case[key].as_u64().ok_or(format!("{key} must be an integer"));
    let train = text(&case["train"])?;
    let others =
        case["others"].as_array().ok_or("no others")?.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    let width = whole("width")? as usize;
    for name in others.iter().chain([&train]) {
        if !files.contains_key(name) {
            files.insert(name.clone(), read(name, width)?);
        }
    }
    let examples = |name: &String| {
        let (lists, features) = &files[name];
        Examples { lists, features }
    };
    // The warm-up epochs are among the epochs.
    let (epochs, warm_up) = (whole("epochs")?, whole("warm-up")?);
    let settings = Settings {
        objective: Some(text(&case["objective"])?),
        model: Some(text(&case["model"])?),
        sampler: Some(text(&case["sampler"])?),
        learning_rate: case["rate"].as_f64(),
        optimiser: Some(text(&case["optimiser"])?),
        epochs: Some(u32::try_from(epochs - warm_up)?),
        warm_up: Some(u32::try_from(warm_up)?),
        seed: Some(whole("seed")?),
        valid_metric: Some("auroc".into()),
        ..Settings::default()
    };
    let config = settings.resolve(TrainerKind::Rank)?;
    let model = toprank::neural::parse(config.model())?.build(width, 1)?;
    let mut trainer = Trainer::new(&config, model, examples(&train), None)?;
    let before = cpu_seconds();
    trainer.run(&mut (), None)?;
    let cpu = (cpu_seconds() - before) / epochs as f64;
    let parameters = trainer.parameters();
    let scores = |name: &String| score(trainer.model(), &parameters, examples(name));
    let scores: Vec<Vec<f64>> = others.iter().map(scores).collect::<Result<_, _>>()?;
    Ok(json!({ "cpu": cpu, "steps": trainer.steps_done() / epochs, "scores": scores }))
}

/// Rows of `width` features and a label, all of them one list.
fn read(name: &str, width: usize) -> Outcome<(Lists, Matrix)> {
    let numbers = numbers_in(name)?;
    let rows = numbers.chunks_exact(width + 1);
    let labels: Vec<f32> = rows.clone().map(|row| row[width]).collect();
    let values = rows.flat_map(|row| &row[..width]).copied().collect();
    Ok((Lists::from_lengths(&[labels.len()], labels), Matrix::Dense { width, values }))
}
