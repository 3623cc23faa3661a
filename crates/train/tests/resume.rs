//! A run of trees that is stopped after any round and resumed ends in the trees of an uninterrupted one, to the bit: on a table
//! with categories, missing values and ties, where many rows have no gradient, with and without draws of rows.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toprank_core::Stream;
use toprank_data::{Dataset, ReadOptions, Source};
use toprank_train::{Callbacks, Checkpoints, Job, Learner, Progress, Settings, TrainerKind};
use toprank_trees::Ensemble;

const ROUNDS: u32 = 40;

/// A table of `count` rows whose label follows its columns, more or less.
fn table(count: usize) -> Dataset {
    let mut random = Stream::new(3, "a table to resume on").open();
    let mut text = String::from("steps,share,colour,label\n");
    for _ in 0..count {
        let (steps, share) = ((random.unit() * 40.0).floor() / 8.0, random.unit());
        let colour = ["red", "green", "blue", "mauve", "black"][random.below(5)];
        let bonus = if colour == "blue" { 1.0 } else { 0.0 };
        let label = u8::from(0.4 * steps + share + bonus + 1.5 * random.unit() > 2.5);
        let mut present = |value: String| if random.unit() < 0.15 { String::new() } else { value };
        let [steps, share] = [steps, share].map(|value| present(format!("{value:.3}")));
        writeln!(text, "{steps},{share},{},{label}", present(colour.into())).expect("memory");
    }
    let options = ReadOptions { categorical: vec!["colour".into()], ..ReadOptions::default() };
    toprank_data::formats::read(&Source::bytes("table.csv", text.as_bytes()), &options).expect("a table")
}

/// Copies the checkpoint of every round.
struct KeepAll<'a>(&'a Path);

impl Callbacks for KeepAll<'_> {
    /// The present round has no checkpoint yet: the file is that of the round before.
    fn step(&mut self, progress: &Progress) {
        std::fs::copy(self.0, of_round(self.0, progress.step as u32 - 1)).expect("a copy");
    }
}

fn of_round(path: &Path, round: u32) -> PathBuf {
    path.with_extension(round.to_string())
}

fn trees(learner: &dyn Learner) -> Ensemble {
    learner.kept().expect("trees").trees().expect("trees").ensemble().clone()
}

/// Trains, resumes from the checkpoint of every third round, and compares.
fn compare(objective: &str, model: &str, data: &Dataset) {
    let settings = Settings {
        model: Some(model.into()),
        objective: Some(objective.into()),
        trees: Some(ROUNDS),
        seed: Some(3),
        ..Settings::default()
    };
    let config = settings.resolve(TrainerKind::Rank).expect("settings");
    let job = Job::new(&config, data.clone().into(), None).expect("a job");
    let views = job.views().expect("views");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("checkpoint");
    let keep = Checkpoints { path: &path, every: Duration::ZERO, origin: &serde_json::Value::Null };
    let mut whole = job.trainer(&views).expect("a trainer");
    whole.run(&mut KeepAll(&path), Some(keep)).expect("a run");
    let expected = trees(&*whole);
    let differs = |round: &u32| {
        let mut resumed = job.trainer(&views).expect("a trainer");
        resumed.load_checkpoint(&of_round(&path, *round)).expect("a checkpoint");
        assert_eq!(resumed.steps_done(), u64::from(*round));
        resumed.run(&mut (), None).expect("the rest of the run");
        trees(&*resumed) != expected
    };
    let other: Vec<u32> = (0..ROUNDS).step_by(3).filter(differs).collect();
    assert!(other.is_empty(), "{objective} {model}: other trees if stopped after the rounds {other:?}");
}

#[test]
fn trees_resumed_after_any_round_are_those_of_an_uninterrupted_run() {
    let data = table(600);
    for objective in ["auroc", "auroc:surrogate=hinge", "ap", "pauc-kl", "yetirank", "lambdamart", "top-push"]
    {
        compare(objective, "trees", &data);
    }
    for model in [
        "trees:lists=0.7:features=0.5",
        "trees:goss=0.2-0.2",
        "trees:method=gradient",
        "trees:rows=0.7:node-features=0.5",
        "trees:extra=yes:smooth=2",
        "trees:max-delta=0.5:l2=1",
    ] {
        compare("logistic", model, &data);
        compare("auroc", model, &data);
    }
}
