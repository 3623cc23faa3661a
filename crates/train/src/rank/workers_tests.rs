//! Any number of workers trains the model of one, to the byte.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use toprank_core::collective::{Collective, CollectiveError, Threads};
use toprank_core::{Lists, Stream};
use toprank_data::{Column, Dataset, Matrix};

use crate::fit::run::{Begin, checkpoint_of};
use crate::fit::workers::Workers;
use crate::{Callbacks, Config, Data, Run, RunFiles, RunLock, Settings, TrainError, TrainerKind};

/// How lists and rows belong together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// Lists of 1 to 12 rows.
    Lists,
    /// All rows are one list.
    One,
    /// Two labels over the same rows.
    Labels,
    /// Three classes over the same rows.
    Classes,
    /// Lists with the positions at which items were shown.
    Shown,
}

/// Features with missing values and categories, and labels that depend on them.
fn data(shape: Shape, count: usize, seed: u64) -> Dataset {
    let mut random = Stream::new(seed, "workers").open();
    let (mut values, mut grades, mut lengths, mut positions) = (vec![], vec![], vec![], vec![]);
    for _ in 0..count {
        let length = 1 + random.below(12);
        lengths.push(length);
        for place in 0..length {
            let (a, b, category) = (random.unit() as f32, random.unit() as f32, random.below(5));
            let missing = if random.unit() < 0.15 { f32::NAN } else { b };
            values.extend([a, missing, category as f32]);
            let signal = f64::from(a) * [1.0, -1.0, 0.5, 0.0, 2.0][category] + 0.4 * random.unit();
            grades.push(if signal > 0.8 { 2 } else { u8::from(signal > 0.4) });
            positions.push(place as u32 + 1);
        }
    }
    let rows = grades.len();
    let labels: Vec<f32> = grades.iter().map(|&grade| f32::from(grade)).collect();
    let is = |wanted: u8| grades.iter().map(move |&grade| f32::from(u8::from(grade == wanted)));
    let shared = |outputs: usize, labels: Vec<f32>| Lists {
        rows: Some((0..outputs).flat_map(|_| 0..rows as u32).collect()),
        output: Some((0..outputs as u16).collect()),
        ..Lists::from_lengths(&vec![rows; outputs], labels)
    };
    let lists = match shape {
        Shape::Lists | Shape::Shown => Lists::from_lengths(&lengths, labels),
        Shape::One => Lists::from_lengths(&[rows], is(2).collect()),
        Shape::Labels => shared(2, is(2).chain(is(1)).collect()),
        Shape::Classes => shared(3, (0..3).flat_map(is).collect()),
    };
    let levels = ["a", "b", "c", "d", "e"].into_iter().collect();
    let column = |name: &str, levels| Column { name: name.into(), levels };
    Dataset {
        lists,
        features: Matrix::Dense { width: 3, values },
        columns: vec![column("x", None), column("y", None), column("colour", Some(levels))],
        positions: (shape == Shape::Shown).then_some(positions),
        ..Dataset::default()
    }
}

fn config(text: &str, data: &Dataset) -> Config {
    let settings = Settings::from_toml(text).unwrap();
    settings.resolve(TrainerKind::Rank).unwrap().suited_to(&data.lists).unwrap()
}

fn run<'a>(config: &'a Config, train: &Dataset, valid: Option<&Dataset>) -> Run<'a> {
    Run {
        config,
        train: train.clone().into(),
        valid: valid.cloned().map(Into::into),
        from: None,
        fold_metrics: None,
        files: None,
        workers: Workers::default(),
    }
}

/// The bytes of the model file.
fn bytes(model: &crate::Model) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("m.toprank");
    model.save(&path).unwrap();
    std::fs::read(path).unwrap()
}

/// The model file that so many workers write.
fn model(text: &str, train: &Dataset, valid: Option<&Dataset>, workers: usize) -> Vec<u8> {
    let config = config(text, train);
    bytes(&run(&config, train, valid).train_by(workers, &mut ()).unwrap().model)
}

fn same_for_any_number(text: &str, train: &Dataset, valid: Option<&Dataset>) {
    let config = config(text, train);
    let one = bytes(&run(&config, train, valid).train(&mut ()).unwrap().model);
    for workers in 1..=4 {
        assert!(model(text, train, valid, workers) == one, "{workers} workers: {text}");
    }
}

#[test]
fn trees_are_the_same_to_the_byte_for_any_number_of_workers_whatever_the_data_and_the_sampling() {
    let objectives = [
        (Shape::Lists, "lambdamart"),
        (Shape::Lists, "song"),
        (Shape::Lists, "yetirank"),
        (Shape::Lists, "logistic"),
        (Shape::One, "auroc"),
        (Shape::One, "auprc"),
        (Shape::One, "logistic"),
        (Shape::Labels, "logistic"),
        (Shape::Classes, "multiclass"),
        (Shape::Shown, "lambdamart"),
    ];
    let samplings = ["", ":lists=0.6", ":rows=0.5", ":goss=0.3-0.2"];
    for (n, (shape, objective)) in objectives.into_iter().enumerate() {
        let (train, valid) = (data(shape, 60, 3), data(shape, 25, 4));
        // All samplings with one objective, one with each of the others.
        let some = if n == 0 { &samplings[..] } else { &samplings[n % 4..=n % 4] };
        for sampling in some {
            let text = format!(
                "objective = \"{objective}\"\ntrees = 6\nseed = 5\nmodel = \"trees:leaves=5:min-rows=3{sampling}\""
            );
            same_for_any_number(&text, &train, Some(&valid));
        }
    }
}

#[test]
#[cfg(feature = "neural")]
fn networks_are_the_same_to_the_byte_for_any_number_of_workers() {
    for (shape, text) in [
        (
            Shape::Lists,
            "objective = \"ndcg@5\"\nmodel = \"mlp:hidden=8:dropout=0.2\"\nsampler = \"lists:batch=16\"",
        ),
        (Shape::Lists, "objective = \"lambdarank\"\nmodel = \"linear\"\nparts = 3"),
        (Shape::One, "objective = \"auprc\"\nmodel = \"mlp:hidden=8:norm=batch\""),
        (Shape::Labels, "objective = \"auroc\"\nmodel = \"mlp:hidden=6\""),
        (Shape::Classes, "objective = \"multiclass\"\nmodel = \"linear\""),
        (
            Shape::Lists,
            "objective = \"song\"\nmodel = 'context:width=8:heads=2:blocks=1:hidden=8'\nsampler = \"lists:batch=9\"",
        ),
    ] {
        let (train, valid) = (data(shape, 40, 3), data(shape, 15, 4));
        let text = format!("{text}\nepochs = 2\nseed = 5\ntransforms = \"standardise,missing:to=mean\"");
        same_for_any_number(&text, &train, Some(&valid));
    }
}

#[test]
fn folds_that_choose_the_number_of_rounds_and_calibrate_are_those_of_one_worker() {
    for (text, shape) in [
        ("objective = \"ndcg@5\"\nmodel = \"trees:leaves=4\"\npatience = 3", Shape::Lists),
        ("objective = \"auroc\"\nmodel = \"trees:leaves=4\"\nfolds = 3\ntrees = 5", Shape::One),
        ("objective = \"logistic\"\nmodel = \"trees:forest=yes:rows=0.7\"\ntrees = 5", Shape::Lists),
        (
            "objective = \"lambdamart\"\nmodel = \"trees\"\ntransforms = \"standardise\"\ntrees = 5",
            Shape::Lists,
        ),
    ] {
        same_for_any_number(text, &data(shape, 40, 7), None);
    }
}

#[test]
fn workers_without_lists_and_lists_longer_than_a_share_change_nothing() {
    let one = data(Shape::One, 8, 9);
    let rows = one.lists.entries();
    for lengths in [vec![0, rows, 0], vec![1, rows - 2, 1], vec![rows - 3, 1, 1, 1]] {
        let lists = Lists::from_lengths(&lengths, one.lists.labels.clone());
        let train = Dataset { lists, ..one.clone() };
        for sampling in ["", ":lists=0.5"] {
            let text = format!("objective = \"song\"\ntrees = 4\nmodel = \"trees:min-rows=1{sampling}\"");
            same_for_any_number(&text, &train, None);
        }
    }
}

/// Stops after so many steps.
struct StopAfter(usize);

impl Callbacks for StopAfter {
    fn stop(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 == 0
    }
}

/// Trains with files, as the command does.
fn train_in(
    folder: &Path,
    begin: Begin,
    workers: usize,
    run: Run,
    stop: usize,
) -> Result<Vec<u8>, TrainError> {
    let output = folder.join("m.toprank");
    let lock = RunLock::take(&output, begin)?;
    let files = Some(RunFiles { lock: &lock, every: Duration::ZERO, origin: &Value::Null });
    let trained = Run { files, ..run }.train_by(workers, &mut StopAfter(stop))?;
    trained.finish(&lock)?;
    Ok(std::fs::read(output).unwrap())
}

#[test]
fn a_run_that_was_interrupted_is_resumed_by_another_number_of_workers() {
    for objective in ["song", "lambdamart"] {
        let (train, valid) = (data(Shape::Lists, 50, 3), data(Shape::Lists, 20, 4));
        let text = format!("objective = \"{objective}\"\ntrees = 9\nmodel = \"trees:leaves=5\"");
        let config = config(&text, &train);
        let expected = model(&text, &train, Some(&valid), 1);
        for (first, second) in [(1, 3), (2, 1), (3, 2), (2, 4)] {
            let folder = TempDir::new().unwrap();
            let begun = train_in(folder.path(), Begin::New, first, run(&config, &train, Some(&valid)), 4);
            assert!(matches!(begun, Err(TrainError::Interrupted { step: 4, .. })), "{begun:?}");
            let resumed = train_in(
                folder.path(),
                Begin::Resume,
                second,
                run(&config, &train, Some(&valid)),
                usize::MAX,
            );
            assert!(resumed.unwrap() == expected, "{objective}: {first}, then {second}");
        }
    }
}

/// A worker whose connection breaks after so many calls.
#[derive(Debug)]
struct Breaks(Threads, std::sync::atomic::AtomicUsize);

impl Breaks {
    fn call(&self) -> Result<(), CollectiveError> {
        match self.1.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) {
            0 => panic!("called after it broke"),
            1 => Err(CollectiveError { rank: self.rank(), reason: "the connection is closed".into() }),
            _ => Ok(()),
        }
    }
}

impl Collective for Breaks {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn sum(&self, words: &mut [u64]) -> Result<(), CollectiveError> {
        self.call().and_then(|()| self.0.sum(words))
    }

    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, CollectiveError> {
        self.call().and_then(|()| self.0.gather(own))
    }
}

#[test]
fn a_worker_that_is_lost_ends_the_run_of_all_and_the_checkpoint_stays() {
    let train = data(Shape::Lists, 50, 3);
    let text = "objective = \"lambdamart\"\ntrees = 9\nmodel = \"trees:leaves=5\"";
    let (config, expected) = (config(text, &train), model(text, &train, None, 1));
    for calls in [1, 5, 60, 150] {
        let folder = TempDir::new().unwrap();
        let output = folder.path().join("m.toprank");
        let lock = RunLock::take(&output, Begin::New).unwrap();
        let files = RunFiles { lock: &lock, every: Duration::ZERO, origin: &Value::Null };
        let results: Vec<TrainError> = std::thread::scope(|scope| {
            let runs: Vec<_> = Threads::new(3)
                .into_iter()
                .map(|worker| {
                    let rank = worker.rank();
                    let workers = match rank {
                        2 => Workers::new(Breaks(worker, calls.into())),
                        _ => Workers::new(worker),
                    };
                    let files = (rank == 0).then_some(files);
                    let run = Run { files, workers, ..run(&config, &train, None) };
                    scope.spawn(move || run.train(&mut ()).err().unwrap())
                })
                .collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        assert!(results.iter().all(|error| matches!(error, TrainError::Worker(_))), "{results:?}");
        assert!(results[2].to_string().contains("the connection is closed"), "{results:?}");
        assert_eq!(checkpoint_of(&output).exists(), calls > 5, "{calls}");
        drop(lock);
        let begin = if calls > 5 { Begin::Resume } else { Begin::New };
        let resumed = train_in(folder.path(), begin, 2, run(&config, &train, None), usize::MAX);
        assert!(resumed.unwrap() == expected, "{calls}");
    }
}

#[test]
fn a_worker_with_other_settings_or_data_is_named_before_anything_is_trained() {
    let train = data(Shape::Lists, 20, 3);
    let text = "objective = \"lambdamart\"\ntrees = 2\nmodel = \"trees\"\nseed = ";
    let same = config(&format!("{text}1"), &train);
    let error = |other: &Config, data: &Dataset| {
        std::thread::scope(|scope| {
            let runs: Vec<_> = Threads::new(2)
                .into_iter()
                .map(|worker| {
                    let (config, data) = if worker.rank() == 0 { (&same, &train) } else { (other, data) };
                    let run = Run { workers: Workers::new(worker), ..run(config, data, None) };
                    scope.spawn(move || run.train(&mut ()).err().unwrap().to_string())
                })
                .collect();
            let found: Vec<String> = runs.into_iter().map(|run| run.join().unwrap()).collect();
            assert_eq!(found[0], found[1], "both are told the same");
            found[0].clone()
        })
    };
    let advice = "as worker 0 has: start all workers with the same version, settings and data";
    let seed = error(&config(&format!("{text}2"), &train), &train);
    assert_eq!(seed, format!("worker 1 has seed 2, expected 1, {advice}"));
    let narrow = Dataset {
        features: Matrix::Dense { width: 1, values: vec![0.5; train.lists.entries()] },
        columns: vec![],
        ..train.clone()
    };
    assert_eq!(error(&same, &narrow), format!("worker 1 has features 1, expected 3, {advice}"));
    let mut other = train.clone();
    other.lists.labels[3] = 7.0;
    assert!(error(&same, &other).starts_with("worker 1 has labels and weights with the checksum "));
}

#[test]
fn a_model_that_workers_cannot_train_together_is_refused() {
    let train = data(Shape::Lists, 12, 3);
    let config = config("objective = \"ndcg@5\"\nmodel = \"auto\"\nbudget = \"10s\"", &train);
    let error = run(&config, &train, None).train_by(2, &mut ()).err().unwrap().to_string();
    assert!(
        error.starts_with("model must be trees or a network, which several workers train together"),
        "{error}"
    );
}

#[test]
fn memory_mapped_data_are_divided_too() {
    let train = data(Shape::Lists, 40, 3);
    let folder = TempDir::new().unwrap();
    let table = folder.path().join("t.txt");
    let text: String = (0..train.lists.len())
        .flat_map(|q| train.lists.range(q).map(move |entry| (q, entry)))
        .map(|(q, entry)| {
            let x = train.features.get(entry, 0);
            format!("{} qid:{q} 1:{x} 2:{}\n", train.lists.labels[entry], x * x)
        })
        .collect();
    std::fs::write(&table, text).unwrap();
    let mapped = folder.path().join("t.toprank-data");
    let source = toprank_data::Source::path(&table);
    toprank_data::mapped::convert(&source, &toprank_data::ReadOptions::default(), &mapped).unwrap();
    let data: Data = toprank_data::MappedDataset::open(&mapped).unwrap().into();
    let config = config("objective = \"lambdamart\"\ntrees = 5\nmodel = \"trees:leaves=5\"", &train);
    let trained = |workers: usize| {
        let run = Run { train: data.clone(), ..run(&config, &train, None) };
        bytes(&run.train_by(workers, &mut ()).unwrap().model)
    };
    let one = trained(1);
    assert!([2, 3].into_iter().all(|workers| trained(workers) == one));
}
