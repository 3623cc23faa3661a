//! Read three files of lists, train boosted trees, save and load the model, evaluate it on the test lists.
//!
//! ```text
//! toprank generate letor --lists 300 --seed 1 -o demo            # or files of your own: train.txt, vali.txt, test.txt
//! cargo run -p toprank --no-default-features --example read_train_evaluate -- demo
//! ```
//!
//! `model = "mlp"` trains a network instead; it needs the feature `neural`, which is on by default.

use std::path::Path;

use toprank::core::Policy;
use toprank::data::{Dataset, ReadOptions, Source};
use toprank::metrics::bootstrap::{IntervalOptions, interval};
use toprank::metrics::{Measure, evaluate};
use toprank::train::{Job, Model, Settings, TrainerKind};

type Failure = Box<dyn std::error::Error>;

/// NDCG@10 on the test lists with its 95 % interval: mean, lower end, upper end.
pub fn read_train_evaluate(folder: &Path) -> Result<[f64; 3], Failure> {
    // Read. The format is found by content: LETOR text, CSV, Parquet …
    let read = |name: &str| -> Result<Dataset, Failure> {
        Ok(toprank::data::read(&Source::path(folder.join(name)), &ReadOptions::default())?)
    };
    let (train, valid, test) = (read("train.txt")?, read("vali.txt")?, read("test.txt")?);

    // Train. What is not set here follows from the data or is the default; the validation lists stop the training.
    let settings = Settings {
        model: Some("trees".into()),
        objective: Some("ndcg@10".into()),
        seed: Some(1),
        ..Settings::default()
    };
    let config = settings.resolve(TrainerKind::Rank)?.suited_to(&train.lists)?;
    let job = Job::new(&config, train.into(), Some(valid.into()))?;
    let views = job.views()?;
    let mut trainer = job.trainer(&views)?;
    trainer.run(&mut (), None)?;

    // Save and load. The file holds the model, its config and its transforms, and is tested each time it is loaded.
    let file = folder.join("model.toprank");
    job.model(&*trainer)?.save(&file)?;
    let model = Model::load(&file)?;

    // Evaluate. The policy says what ties, gains and lists without a relevant item mean.
    let lists = test.lists.clone();
    let scores = model.score(test)?;
    let measures = Measure::parse_all("ndcg@10", &Policy::default())?;
    let result = evaluate(&lists, &scores, &measures)?.results.remove(0);
    let bounds = interval(&result.per_list, None, &IntervalOptions::default());
    Ok([result.mean.ok_or("no list has a relevant item")?, bounds.low, bounds.high])
}

#[allow(dead_code, reason = "a test includes this file")]
fn main() -> Result<(), Failure> {
    let folder = std::env::args().nth(1).ok_or("expected a folder with train.txt, vali.txt and test.txt")?;
    let [mean, low, high] = read_train_evaluate(Path::new(&folder))?;
    println!("NDCG@10 on the test lists: {mean:.4} [{low:.4}, {high:.4}]");
    Ok(())
}
