//! Model files and checkpoints of every kind: damaged, re-signed with wrong content, or given to the wrong loader. The answer is an
//! error or the same result as before, never a panic and never memory that the file's length does not explain.

#![cfg(feature = "neural")]

use std::io::{Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use toprank_core::Args;
use toprank_data::graph::GraphFiles;
use toprank_data::{Dataset, QueryGraphs, ReadOptions, Source, formats, generate};
use toprank_testkit::StoredFile;
use toprank_testkit::alloc::Capped;
use toprank_train::embed::{self, Classes, Prepared};
use toprank_train::rank::folds::folds;
use toprank_train::recommend::{self, Interactions, Known, Part};
use toprank_train::store::checkpoint;
use toprank_train::walk::{self, PreparedGraphs};
use toprank_train::{
    Callbacks, Checkpoints, Config, Embedder, Job, Model, Recommender, Run, Settings, TrainError,
    TrainerKind, TrainingLoop, WalkFile,
};

#[global_allocator]
static ALLOCATOR: Capped = Capped;

/// What a loaded file computes.
type Result = std::result::Result<Vec<f64>, TrainError>;

/// One kind of file: its bytes, and what a user does with it.
struct Kind {
    name: &'static str,
    bytes: Vec<u8>,
    open: Box<dyn Fn(&Path) -> Result + Sync>,
}

fn settings(text: &str, kind: TrainerKind) -> Config {
    Settings::from_toml(text).unwrap().resolve(kind).unwrap()
}

fn read(name: &str, text: &str, options: &ReadOptions) -> Dataset {
    formats::read(&Source::bytes(name, text.to_string().into_bytes()), options).unwrap()
}

/// Six lists of four items with three features.
fn lists() -> Dataset {
    let mut text = String::new();
    for row in 0..24 {
        let (a, b) = (row * 7 % 11, row * 5 % 13);
        text += &format!("{} qid:{} 1:{a} 2:{b} 3:{}\n", i32::from(a > 5), row / 4, row % 3);
    }
    read("lists.txt", &text, &ReadOptions::default())
}

fn table() -> Dataset {
    let mut text = String::from("x,colour,label\n");
    for row in 0..24 {
        text += &format!(
            "{},{},{}\n",
            row * 7 % 11,
            ["red", "blue", "green"][row % 3],
            usize::from(row % 3 == 1)
        );
    }
    let options = ReadOptions { categorical: vec!["colour".into()], ..ReadOptions::default() };
    read("table.csv", &text, &options)
}

/// Three classes of rows with two features.
fn points() -> Dataset {
    let mut text = String::from("x,y,label\n");
    for row in 0..24 {
        text += &format!("{},{},{}\n", row * 7 % 11, row * 5 % 13, row % 3);
    }
    read("points.csv", &text, &ReadOptions::default())
}

fn molecules() -> Dataset {
    let mut text = String::from("smiles,label\n");
    for (row, smiles) in
        ["CCO", "CCN", "CC(=O)O", "c1ccccc1", "CCCl", "NCCO"].iter().cycle().take(12).enumerate()
    {
        text += &format!("{smiles},{}\n", row % 2);
    }
    read("molecules.csv", &text, &ReadOptions { smiles: Some("smiles".into()), ..ReadOptions::default() })
}

fn interactions() -> Interactions {
    let mut text = String::from("user,item,rating,time\n");
    for user in 0..6 {
        for step in 0..4 {
            text += &format!("u{user},i{},{},{step}\n", (user * 2 + step * 3) % 7, 1 + step);
        }
    }
    let options = ReadOptions { format: Some("interactions".into()), ..ReadOptions::default() };
    let mut data = Interactions::split(&read("pairs.csv", &text, &options), "leave-last", 1).unwrap();
    let values = (0..data.items.len() * 2).map(|i| (i % 5) as f32 - 2.0).collect();
    data.item_features = Some(Known { columns: vec!["a".into(), "b".into()], values });
    data
}

fn graphs() -> QueryGraphs {
    let folder = tempfile::tempdir().unwrap();
    let args = Args(vec![("queries".into(), "3".into())]);
    generate::by_name("graphs").unwrap().run(&args, folder.path(), &mut |_, _| ()).unwrap();
    QueryGraphs::read(&GraphFiles::folder(folder.path()).unwrap()).unwrap()
}

/// Stops after this many steps.
struct After(u64);

impl Callbacks for After {
    fn stop(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 == 0
    }
}

/// Runs three steps, leaves a checkpoint at `path`.
fn begin(training: &mut (impl TrainingLoop + ?Sized), path: &Path) {
    let origin = json!({"data": "a.txt"});
    let checkpoints = Checkpoints { path, every: Duration::from_secs(1000), origin: &origin };
    training.run(&mut After(3), Some(checkpoints)).unwrap();
}

/// Resumes at `path` and takes two steps more.
fn resume(training: &mut (impl TrainingLoop + ?Sized), path: &Path) -> Result {
    training.load_checkpoint(path)?;
    training.run(&mut After(2), None)?;
    let mut found: Vec<f64> = training.records().iter().map(|record| record.loss).collect();
    found.push(training.steps_done() as f64);
    for tensor in training.tensors() {
        if let toprank_train::store::container::Values::F32(values) = &tensor.values {
            found.extend(values.iter().map(|&value| f64::from(value)));
        }
    }
    Ok(found)
}

fn saved(save: impl FnOnce(&Path)) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    save(&path);
    std::fs::read(&path).unwrap()
}

fn ranker(name: &'static str, text: &'static str, data: fn() -> Dataset) -> [Kind; 2] {
    let config = settings(text, TrainerKind::Rank);
    let job = |config: &Config| Job::new(config, data().into(), Some(data().into()));
    let made = job(&config).unwrap();
    let views = made.views().unwrap();
    let mut trainer = made.trainer(&views).unwrap();
    trainer.run(&mut (), None).unwrap();
    let model = Kind {
        name,
        bytes: saved(|path| made.model(&*trainer).unwrap().save(path).unwrap()),
        open: Box::new(move |path| {
            let model = Model::load(path)?;
            let mut scores = model.score(data())?;
            model.to_probabilities(&data().lists, &mut scores);
            Ok(scores)
        }),
    };
    let mut trainer = made.trainer(&views).unwrap();
    let run = Kind {
        name: "checkpoint of a ranker",
        bytes: saved(|path| begin(&mut *trainer, path)),
        open: Box::new(move |path| {
            let (config, _) = checkpoint::resumable(path, TrainerKind::Rank)?;
            let made = Job::new(&config, data().into(), Some(data().into()))?;
            let views = made.views()?;
            resume(&mut *made.trainer(&views)?, path)
        }),
    };
    [model, run]
}

fn recommender(name: &'static str, text: &'static str) -> [Kind; 2] {
    let data = interactions();
    let config = settings(text, TrainerKind::Recommend);
    let mut trainer = recommend::Trainer::new(&config, &data).unwrap();
    trainer.run(&mut (), None).unwrap();
    let model = Kind {
        name,
        bytes: saved(|path| trainer.recommender().unwrap().save(path).unwrap()),
        open: Box::new(|path| {
            let mapped = Recommender::load_mapped(path);
            let model = Recommender::load(path)?;
            assert!(mapped.is_ok(), "what loads is mapped too");
            let mut found = model.scores(&[(0, 1), (3, 2)]);
            let tops = [model.tops(&[0], 3).remove(0), model.top_of_history(&["i1", "i2"], 3)?];
            found.extend(tops.iter().flat_map(|top| &top.items).map(|item| item.score));
            let measures = [model.header().config.measure()?];
            let part = model.evaluate(Part::Test, &measures, false, None, 3)?;
            found.extend(part.evaluation.results[0].mean);
            Ok(found)
        }),
    };
    let mut trainer = recommend::Trainer::new(&config, &data).unwrap();
    let run = Kind {
        name: "checkpoint of a recommender",
        bytes: saved(|path| begin(&mut trainer, path)),
        open: Box::new(|path| {
            let (config, _) = checkpoint::resumable(path, TrainerKind::Recommend)?;
            resume(&mut recommend::Trainer::new(&config, &interactions())?, path)
        }),
    };
    [model, run]
}

fn embedder() -> [Kind; 2] {
    let text =
        "model = \"mlp:hidden=3\"\ndimensions = 2\nepochs = 2\nbatch-classes = 2\nclass-rows = 2\nmemory = 5";
    let config = settings(text, TrainerKind::Embed);
    let prepared = |config: &Config| {
        let [train, valid, _] = Classes::of(points()).unwrap().split("100/0/0", 1).unwrap();
        Prepared::new(config, train, Some(valid), &["other".to_string()])
    };
    let data = prepared(&config).unwrap();
    let mut trainer = embed::Trainer::new(&config, &data).unwrap();
    trainer.run(&mut (), None).unwrap();
    let model = Kind {
        name: "embedder",
        bytes: saved(|path| trainer.embedder().save(path).unwrap()),
        open: Box::new(|path| {
            let vectors = Embedder::load(path)?.embed("points.csv", points(), 0.0)?;
            Ok(vectors.values.iter().map(|&value| f64::from(value)).collect())
        }),
    };
    let mut trainer = embed::Trainer::new(&config, &data).unwrap();
    let run = Kind {
        name: "checkpoint of an embedder",
        bytes: saved(|path| begin(&mut trainer, path)),
        open: Box::new(move |path| {
            let (config, _) = checkpoint::resumable(path, TrainerKind::Embed)?;
            let data = prepared(&config)?;
            resume(&mut embed::Trainer::new(&config, &data)?, path)
        }),
    };
    [model, run]
}

fn learned_walk(text: &'static str) -> [Kind; 2] {
    let config = settings(text, TrainerKind::Walk);
    let data = graphs();
    let prepared = PreparedGraphs::new(&config, &data, Some(&data)).unwrap();
    let mut trainer = walk::Trainer::new(&config, &prepared).unwrap();
    trainer.run(&mut (), None).unwrap();
    let model = Kind {
        name: "walk",
        bytes: saved(|path| trainer.learned().unwrap().file.save(path).unwrap()),
        open: Box::new(|path| {
            let file = WalkFile::load(path)?;
            let graphs = graphs();
            let mut found: Vec<f64> = file.value(&graphs, "ndcg@5")?.into_iter().collect();
            found.extend(file.start_for(&graphs)?);
            Ok(found)
        }),
    };
    let mut trainer = walk::Trainer::new(&config, &prepared).unwrap();
    let run = Kind {
        name: "checkpoint of a walk",
        bytes: saved(|path| begin(&mut trainer, path)),
        open: Box::new(|path| {
            let (config, _) = checkpoint::resumable(path, TrainerKind::Walk)?;
            let data = graphs();
            let prepared = PreparedGraphs::new(&config, &data, Some(&data))?;
            resume(&mut walk::Trainer::new(&config, &prepared)?, path)
        }),
    };
    [model, run]
}

fn fold() -> Kind {
    let config = settings("model = \"trees\"\ntrees = 1\nmin-rows = 1\nfolds = 2", TrainerKind::Rank);
    let (data, inputs) = (lists(), toprank_train::store::fingerprint::Fingerprint::default());
    let fold = folds(&config, &data).unwrap().remove(0);
    let job = fold.job(&config, &data, toprank_train::rank::folds::Watched::SetAside).unwrap();
    let views = job.views().unwrap();
    let trainer = job.trainer(&views).unwrap();
    let held = fold.held(&job, &*trainer, &views, &data).unwrap();
    Kind {
        name: "fold",
        bytes: saved(|path| held.save(path, &fold, &config, &inputs).unwrap()),
        open: Box::new(move |path| {
            let held = toprank_train::rank::folds::Held::load(path, &fold, &config, &inputs)?;
            let kept = [toprank_train::rank::folds::Scale { mean: 0.0, spread: 1.0 }];
            let scores = toprank_train::rank::folds::out_of_fold(
                &data.lists,
                std::slice::from_ref(&fold),
                &[held],
                &kept,
            );
            // Entries of the other fold have none.
            Ok(scores.into_iter().filter(|score| !score.is_nan()).collect())
        }),
    }
}

/// Two kinds of model on two folds each, blended.
fn blend() -> Kind {
    let text = "model = \"auto\"\nobjective = \"auroc\"\nmembers = \"linear:epochs=3,trees-deep:epochs=3\"\nfolds = 2";
    let data = table();
    let config = settings(text, TrainerKind::Rank).suited_to(&data.lists).unwrap();
    let run = Run {
        config: &config,
        train: data.into(),
        valid: None,
        from: None,
        fold_metrics: None,
        files: None,
        workers: toprank_train::Workers::default(),
    };
    let model = run.train(&mut ()).unwrap().model;
    Kind {
        name: "blend",
        bytes: saved(|path| model.save(path).unwrap()),
        open: Box::new(|path| {
            let model = Model::load(path)?;
            let mut scores = model.score(table())?;
            model.to_probabilities(&table().lists, &mut scores);
            Ok(scores)
        }),
    }
}

const TREES: &str =
    "model = \"trees\"\ntrees = 4\nleaves = 3\nmin-rows = 1\npatience = 0\ncalibrate = \"none\"";

fn kinds() -> Vec<Kind> {
    let pairs = [
        ranker("linear", "model = \"linear\"\nepochs = 5\nsampler = \"lists:batch=3\"\npatience = 0", lists),
        ranker(
            "mlp",
            "model = \"mlp:hidden=3-2:norm=batch\"\nepochs = 4\nsampler = \"lists:batch=3\"\n\
             weight-average = \"ema:decay=0.5\"\nobjective = \"song\"\nwarm-up = 1\npatience = 0",
            lists,
        ),
        ranker(
            "context",
            "model = \"context:width=2:heads=1:blocks=1:hidden=2\"\nepochs = 4\nsampler = \"slates:batch=3:items=4\"\npatience = 0",
            lists,
        ),
        ranker("trees", TREES, table),
        ranker("gin", "model = \"gin:layers=1:hidden=2\"\nepochs = 4\npatience = 0", molecules),
        recommender(
            "mf",
            "model = \"mf:width=2\"\nepochs = 4\nsampler = \"pairs:batch=6:group=2:items=3\"\npatience = 0",
        ),
        recommender(
            "neumf",
            "model = \"neumf:width=2:layers=3-2\"\nepochs = 4\nobjective = \"song-v1\"\n\
             sampler = \"pairs:batch=6:group=2:items=3\"\npatience = 0",
        ),
        recommender(
            "two-tower",
            "model = \"two-tower:width=2:layers=3:out=2\"\nepochs = 4\nsampler = \"pairs:batch=6:group=2:items=3\"\npatience = 0",
        ),
        recommender("ease", "model = \"ease:lambda=3\""),
        recommender("knn", "model = \"knn:neighbours=2\""),
        recommender("als", "model = \"als:width=2\"\nepochs = 4\npatience = 0"),
        embedder(),
        learned_walk("method = \"adam\"\nobjective = \"listnet\"\nsteps = 6"),
        learned_walk("method = \"gbn\"\nsteps = 6"),
    ];
    pairs.into_iter().flatten().chain([fold(), blend()]).collect()
}

/// Runs `work` on every kind, some at a time, each with a file of its own.
fn on_every_kind(work: impl Fn(&Kind, &Path) -> Vec<String> + Sync) {
    let kinds = kinds();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let faults = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("file.toprank");
                while let Some(kind) = kinds.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    std::fs::write(&path, &kind.bytes).unwrap();
                    let found = work(kind, &path);
                    faults
                        .lock()
                        .unwrap()
                        .extend(found.iter().map(|fault| format!("{}: {fault}", kind.name)));
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults[..faults.len().min(40)].join("\n"));
}

/// The result, or the message of the panic.
fn without_panic(kind: &Kind, path: &Path) -> std::result::Result<Result, String> {
    catch_unwind(AssertUnwindSafe(|| (kind.open)(path))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
    })
}

#[test]
fn the_files_of_every_kind_open_and_the_reference_implementation_signs_as_the_store_does() {
    on_every_kind(|kind, path| {
        let first = (kind.open)(path).unwrap_or_else(|error| panic!("{}: {error}", kind.name));
        assert!(!first.is_empty() && first.iter().all(|value| value.is_finite()), "{}", kind.name);
        std::fs::write(path, StoredFile::parse(&kind.bytes).signed()).unwrap();
        assert_eq!((kind.open)(path).unwrap(), first, "{}", kind.name);
        assert!(
            kind.bytes.len() < 40_000,
            "{} has {} bytes: too many for these tests",
            kind.name,
            kind.bytes.len()
        );
        Vec::new()
    });
}

#[test]
fn no_seed_of_the_fuzzer_makes_a_loader_panic() {
    let seeds = toprank_testkit::fuzz::seeds("store");
    assert!(seeds.len() >= 4);
    for (path, _) in seeds {
        let checkpoint = |kind| checkpoint::resumable(&path, kind).map(drop);
        let results = [
            Model::load(&path).map(drop),
            Recommender::load(&path).map(drop),
            Embedder::load(&path).map(drop),
            WalkFile::load(&path).map(drop),
            checkpoint(TrainerKind::Rank),
            checkpoint(TrainerKind::Recommend),
            checkpoint(TrainerKind::Embed),
            checkpoint(TrainerKind::Walk),
        ];
        // Each is a good file of one kind, so that the fuzzer starts behind the first checks.
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{}", path.display());
    }
}

#[test]
fn a_damaged_byte_anywhere_is_an_error_or_the_same_result() {
    on_every_kind(|kind, path| {
        let first = (kind.open)(path).unwrap();
        let mut file = std::fs::File::options().write(true).open(path).unwrap();
        let mut put = |at: usize, byte: u8| {
            file.seek(SeekFrom::Start(at as u64)).unwrap();
            file.write_all(&[byte]).unwrap();
        };
        let mut faults = Vec::new();
        for (at, &byte) in kind.bytes.iter().enumerate() {
            // A digit becomes its neighbour, so that the text stays a text.
            put(at, byte ^ 1);
            match without_panic(kind, path) {
                Ok(Ok(result)) if result != first => {
                    faults.push(format!("byte {at} accepted with another result"));
                }
                Ok(_) => {}
                Err(panic) => faults.push(format!("byte {at}: panic: {panic}")),
            }
            put(at, byte);
        }
        faults
    });
}

#[test]
fn a_file_with_a_right_checksum_and_wrong_content_neither_panics_nor_takes_memory() {
    on_every_kind(|kind, path| {
        let mut faults = Vec::new();
        for (attack, bytes) in StoredFile::parse(&kind.bytes).attacks() {
            std::fs::write(path, bytes).unwrap();
            let started = std::time::Instant::now();
            match without_panic(kind, path) {
                Ok(Ok(result))
                    if result.iter().any(|value| value.is_nan()) && !kind.name.contains("checkpoint") =>
                {
                    faults.push(format!("{attack}: accepted, computes NaN"));
                }
                Ok(_) => {}
                Err(panic) => faults.push(format!("{attack}: panic: {panic}")),
            }
            if started.elapsed() > Duration::from_secs(20) {
                faults.push(format!("{attack}: {:?}", started.elapsed()));
            }
        }
        faults
    });
}

#[test]
fn the_self_test_of_every_model_must_exist_and_fails_on_nan() {
    on_every_kind(|kind, path| {
        let file = StoredFile::parse(&kind.bytes);
        let mut faults = Vec::new();
        for name in ["probe.scores", "probe.vectors"] {
            let Some(at) = file.tensors.iter().position(|tensor| tensor.name == name) else { continue };
            for (what, changed) in [
                ("absent", None),
                ("empty", Some(Vec::new())),
                ("NaN", Some(vec![0xff; file.tensors[at].bytes.len()])),
            ] {
                let mut file = file.clone();
                match changed {
                    None => drop(file.tensors.remove(at)),
                    Some(bytes) => {
                        let size = if file.tensors[at].dtype == "F64" { 8 } else { 4 };
                        file.tensors[at].shape = vec![(bytes.len() / size) as u64];
                        file.tensors[at].bytes = bytes;
                    }
                }
                std::fs::write(path, file.signed()).unwrap();
                if (kind.open)(path).is_ok() {
                    faults.push(format!("{name} {what} is accepted"));
                }
            }
        }
        faults
    });
}

#[test]
fn a_file_of_another_kind_is_refused_by_every_loader() {
    let others: Vec<(&str, Vec<u8>)> = kinds().into_iter().map(|kind| (kind.name, kind.bytes)).collect();
    on_every_kind(|kind, path| {
        let own = StoredFile::parse(&kind.bytes).kind;
        let mut faults = Vec::new();
        let text: &[u8] = b"1 qid:1 1:0.5 2:1\n0 qid:1 1:1\n";
        let foreign = [("data", text.to_vec()), ("nothing", Vec::new()), ("zeros", vec![0; 4096])];
        for (name, bytes) in others.iter().chain(foreign.iter()) {
            let same = bytes.get(8) == Some(&b'{') && StoredFile::parse(bytes).kind == own;
            std::fs::write(path, bytes).unwrap();
            match without_panic(kind, path) {
                Ok(Ok(_)) if !same => faults.push(format!("a file of {name} is accepted")),
                Ok(_) => {}
                Err(panic) => faults.push(format!("a file of {name}: panic: {panic}")),
            }
        }
        faults
    });
}
