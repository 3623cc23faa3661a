use toprank_core::{Lists, Policy, Stream};
use toprank_data::{Dataset, Matrix};
use toprank_metrics::Measure;

use super::*;
use crate::{Callbacks, Checkpoints, Config, Outcome, Progress, Settings, TrainerKind, TrainingLoop};

/// Rows of `classes` classes: three features say which, four are noise.
fn rows(classes: usize, each: usize, seed: u64) -> Dataset {
    let mut random = Stream::new(seed, "rows").open();
    let (mut labels, mut values) = (Vec::new(), Vec::new());
    for row in 0..classes * each {
        let class = row % classes;
        labels.push(class as f32);
        let centre = |k: usize| ((class * 7 + k * 5) % 11) as f64 / 5.0;
        values.extend((0..3).map(|k| (centre(k) + 0.4 * (random.unit() - 0.5)) as f32));
        values.extend((0..4).map(|_| (6.0 * random.unit()) as f32));
    }
    Dataset {
        lists: Lists::from_lengths(&[labels.len()], labels),
        features: Matrix::Dense { width: 7, values },
        ..Dataset::default()
    }
}

fn small() -> Settings {
    let text = |text: &str| Some(text.to_string());
    Settings {
        model: text("mlp:hidden=16:start=1"),
        dimensions: Some(8),
        learning_rate: Some(0.01),
        batch_classes: Some(4),
        class_rows: Some(4),
        epochs: Some(10),
        patience: Some(0),
        ..Settings::default()
    }
}

fn prepared(config: &Config) -> Prepared {
    let [train, valid, _] = Classes::of(rows(10, 20, 1)).unwrap().split("60/40/0", 1).unwrap();
    Prepared::new(config, train, Some(valid), &[]).unwrap()
}

#[test]
fn objectives_of_every_family_learn_what_belongs_together_and_it_holds_for_other_classes() {
    for objective in
        ["map", "song", "song-v1", "listnet", "ranknet", "soprc", "auroc-minmax", "k-song@5", "pirank@5"]
    {
        let config =
            Settings { objective: Some(objective.into()), ..small() }.resolve(TrainerKind::Embed).unwrap();
        let data = prepared(&config);
        assert_eq!(data.classes(), (6, 4));
        let mut trainer = Trainer::new(&config, &data).unwrap();
        let before = trainer.valid_metric().unwrap().unwrap();
        assert_eq!(trainer.run(&mut (), None).unwrap(), Outcome::Finished);
        let (best, _) = trainer.best().unwrap();
        assert!(best > before + 0.1, "{objective}: {before} {best}");
    }
}

#[test]
fn objectives_are_told_how_often_pairs_of_a_class_are_drawn() {
    let run = |objective: &str| {
        let settings = Settings { objective: Some(objective.into()), epochs: Some(2), ..small() };
        let config = settings.resolve(TrainerKind::Embed).unwrap();
        let data = prepared(&config);
        let mut trainer = Trainer::new(&config, &data).unwrap();
        trainer.run(&mut (), None).unwrap();
        trainer.parameters.values.clone()
    };
    // 16 of 120 rows, four of a class of 20: a pair comes in 2 of 100 steps.
    assert_ne!(run("song-v2:beta=theory"), run("song-v2:beta=theory:rate=1"));
}

#[test]
fn a_class_has_one_distribution_of_scores() {
    let config = Settings { objective: Some("soprc".into()), ..small() }.resolve(TrainerKind::Embed).unwrap();
    let data = prepared(&config);
    let mut trainer = Trainer::new(&config, &data).unwrap();
    trainer.run(&mut (), None).unwrap();
    let items = data.rows() - 1;
    let mut v = |row: usize| trainer.state.of_list(row, items).cut::<1>()[0].to_vec();
    assert_eq!(v(0).len(), 100);
    assert_eq!(v(0), v(19), "rows of the first class");
    assert_ne!(v(0), v(20), "of the second");
}

#[test]
fn the_gradient_of_a_step_is_the_derivative_of_its_loss() {
    for (objective, memory, views, similarity) in [
        ("listnet", 0, "none", "cosine"),
        ("ap:gamma=1", 30, "none", "cosine"),
        ("listwise-ce:gamma=1", 20, "two:candidates=across", "cosine"),
        ("log-nca:gamma=1", 30, "none", "euclidean"),
        ("listwise-ce:gamma=1", 20, "two:candidates=across", "euclidean"),
    ] {
        let config = Settings {
            similarity: Some(similarity.into()),
            objective: Some(objective.into()),
            memory: Some(memory),
            views: Some(views.into()),
            class_rows: (views != "none").then_some(2),
            model: Some("mlp:hidden=6:activation=tanh".into()),
            dimensions: Some(3),
            ..small()
        };
        let config = config.resolve(TrainerKind::Embed).unwrap();
        let data = prepared(&config);
        let mut trainer = Trainer::new(&config, &data).unwrap();
        for _ in 0..3 {
            trainer.step(&mut (), std::time::Instant::now()).unwrap();
        }
        let kept = (trainer.parameters.values.clone(), trainer.state.clone());
        trainer.gradient().unwrap();
        let gradient = trainer.parameters.gradient.clone();
        let largest = gradient.iter().fold(0.0f32, |top, g| top.max(g.abs()));
        let mut at = |place: usize, h: f32| {
            trainer.parameters.values.clone_from(&kept.0);
            trainer.state = kept.1.clone();
            trainer.parameters.values[place] += h;
            trainer.gradient().unwrap().0
        };
        let some: Vec<usize> = (0..gradient.len()).step_by(5).collect();
        for place in some {
            let h = 4e-3;
            let slope = (8.0 * (at(place, h) - at(place, -h)) - (at(place, 2.0 * h) - at(place, -2.0 * h)))
                / (12.0 * f64::from(h));
            let error = (f64::from(gradient[place]) - slope).abs();
            // Cosines are in f32.
            assert!(error < 0.01 * f64::from(largest), "{objective} {place}: {} {slope}", gradient[place]);
        }
    }
}

struct StopAfter(u64);

impl Callbacks for StopAfter {
    fn step(&mut self, _: &Progress) {
        self.0 = self.0.saturating_sub(1);
    }

    fn stop(&mut self) -> bool {
        self.0 == 0
    }
}

#[test]
fn a_run_resumed_again_and_again_ends_in_the_same_bytes_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, pieces) = (folder.path().join("whole.toprank"), folder.path().join("pieces.toprank"));
    for (objective, views, memory, similarity, optimiser) in [
        ("song-v2", "none", 40, "cosine", "adam"),
        ("soprc", "none", 0, "cosine", "adam"),
        ("listwise-ce", "two:noise=0.1", 25, "euclidean", "adam"),
        ("song-v1", "none", 30, "euclidean", "storm"),
    ] {
        let config = Settings {
            similarity: Some(similarity.into()),
            optimiser: Some(optimiser.into()),
            warm_up: Some(u32::from(memory > 0)),
            objective: Some(objective.into()),
            views: Some(views.into()),
            class_rows: (views != "none").then_some(2),
            memory: Some(memory),
            model: Some("mlp:hidden=8:dropout=0.1:norm=batch".into()),
            epochs: Some(3),
            ..small()
        };
        let config = config.resolve(TrainerKind::Embed).unwrap();
        let data = prepared(&config);
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool(1).install(|| {
            let mut trainer = Trainer::new(&config, &data).unwrap();
            trainer.run(&mut (), None).unwrap();
            trainer.embedder().save(&whole).unwrap();
        });
        pool(3).install(|| {
            let checkpoint = folder.path().join("checkpoint");
            let origin = serde_json::Value::Null;
            let mut outcome = Outcome::Interrupted;
            for round in 0..1000 {
                let mut trainer = Trainer::new(&config, &data).unwrap();
                if round > 0 {
                    trainer.load_checkpoint(&checkpoint).unwrap();
                }
                let keep =
                    Checkpoints { path: &checkpoint, every: std::time::Duration::ZERO, origin: &origin };
                outcome = trainer.run(&mut StopAfter(1 + round % 5), Some(keep)).unwrap();
                if outcome != Outcome::Interrupted {
                    trainer.embedder().save(&pieces).unwrap();
                    break;
                }
            }
            assert_eq!(outcome, Outcome::Finished);
        });
        assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&pieces).unwrap(), "{objective}");
    }
}

#[test]
fn what_is_saved_gives_the_same_vectors_and_every_flipped_byte_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toprank");
    let config = Settings { epochs: Some(1), ..small() }.resolve(TrainerKind::Embed).unwrap();
    let data = prepared(&config);
    let mut trainer = Trainer::new(&config, &data).unwrap();
    trainer.run(&mut (), None).unwrap();
    let embedder = trainer.embedder();
    embedder.save(&path).unwrap();
    assert!(Embedder::is_one(&path));
    let loaded = Embedder::load(&path).unwrap();
    let other = rows(3, 4, 9);
    let vectors = loaded.embed("t", other.clone(), 0.0).unwrap();
    assert_eq!(vectors, embedder.embed("t", other, 0.0).unwrap());
    for row in 0..vectors.rows() {
        let length: f32 = vectors.row(row).iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-5, "{length}");
    }
    assert_eq!(loaded.header().parts.train.len(), 6);
    let good = std::fs::read(&path).unwrap();
    for place in (0..good.len()).step_by(97) {
        let mut bad = good.clone();
        bad[place] ^= 0x10;
        std::fs::write(&path, &bad).unwrap();
        assert!(Embedder::load(&path).is_err(), "byte {place}");
    }
    let narrow = Dataset { features: Matrix::Dense { width: 6, values: vec![0.0; 12 * 6] }, ..rows(3, 4, 9) };
    let error = embedder.embed("t.csv", narrow, 0.0).unwrap_err().to_string();
    assert!(
        error.contains("expected all 7 features") || error.contains("7, as in the training data"),
        "{error}"
    );
}

#[test]
fn classes_come_from_names_or_labels_and_a_split_divides_no_class() {
    let classes = Classes::of(rows(5, 3, 1)).unwrap();
    assert_eq!((classes.len(), classes.rows(), classes.names().join(" ")), (5, 15, "0 1 2 3 4".into()));
    assert_eq!(classes.data.file_rows.as_ref().unwrap()[..4], [0, 5, 10, 1]);
    let parts = classes.split("40/20/40", 3).unwrap();
    let mut all: Vec<String> = parts.iter().flat_map(Classes::names).collect();
    all.sort();
    assert_eq!(all, ["0", "1", "2", "3", "4"]);
    assert_eq!(parts.map(|part| part.rows()), [6, 3, 6]);
    assert!(classes.split("40", 3).unwrap_err().to_string().contains("separated by /"));
    let some = classes.only(&["3".into(), "1".into()]).unwrap();
    assert_eq!((some.names(), some.of_rows()), (vec!["1".into(), "3".into()], vec![0, 0, 0, 1, 1, 1]));
    assert!(classes.only(&["9".into()]).is_err());
    let mut unjudged = rows(5, 3, 1);
    unjudged.lists.labels[7] = f32::NAN;
    assert!(Classes::of(unjudged).unwrap_err().to_string().contains("none for row 8"));
}

#[test]
fn settings_that_cannot_work_are_refused_by_name() {
    let error = |settings: Settings| settings.resolve(TrainerKind::Embed).unwrap_err().to_string();
    let text = |text: &str| Some(text.to_string());
    for (settings, words) in [
        (Settings { model: text("trees"), ..small() }, "model must be a network"),
        (Settings { dimensions: Some(0), ..small() }, "dimensions must be an integer from 1"),
        (Settings { class_rows: Some(1), ..small() }, "class-rows must be an integer from 2"),
        (Settings { batch_classes: Some(1), ..small() }, "batch-classes must be an integer from 2"),
        (Settings { views: text("two"), ..small() }, "class-rows must be omitted, or 2"),
        (Settings { views: text("too"), ..small() }, "unknown views \"too\"; did you mean \"two\"?"),
        (Settings { views: text("two:mask=1"), class_rows: None, ..small() }, "mask must be in [0, 1)"),
        (Settings { warm_up_learning_rate: Some(0.1), ..small() }, "warm-up-learning-rate must be omitted"),
        (Settings { similarity: text("dot"), ..small() }, "similarity must be one of cosine, euclidean"),
        (
            Settings { similarity: text("euclidean"), objective: text("fast-ap"), ..small() },
            "similarity must be cosine for the objective fast-ap",
        ),
        (
            Settings { similarity: text("euclidean"), objective: text("dir:low=-9"), ..small() },
            "it needs its own low and high",
        ),
        (Settings { objective: text("smoth-ap"), ..small() }, "did you mean \"smooth-ap\"?"),
        (Settings { valid_metric: text("map,mrr"), ..small() }, "one metric"),
    ] {
        let error = error(settings);
        assert!(error.contains(words), "{error}");
    }
    let config = Settings { model: text("context"), ..small() }.resolve(TrainerKind::Embed).unwrap();
    let data = prepared(&config);
    let error = Trainer::new(&config, &data).err().unwrap().to_string();
    assert!(error.contains("each row by itself"), "{error}");
    let one = Classes::of(rows(1, 5, 1)).unwrap();
    let error =
        Prepared::new(&small().resolve(TrainerKind::Embed).unwrap(), one, None, &[]).unwrap_err().to_string();
    assert!(error.contains("at least 2 classes"), "{error}");
}

#[test]
fn search_equals_its_twin_and_ties_go_by_row() {
    for similarity in [Similarity::Cosine, Similarity::Euclidean] {
        check_search(similarity);
    }
}

fn check_search(similarity: Similarity) {
    let mut random = Stream::new(4, "test").open();
    let mut some = |rows: usize| {
        let raw: Vec<f64> = (0..rows * 3).map(|_| random.unit() - 0.5).collect();
        let mut values = Vec::new();
        similarity.vectors(&raw, 3, &mut values, &mut Vec::new());
        Vectors { width: 3, values, similarity }
    };
    let (mut queries, gallery) = (some(70), some(45));
    queries.values.copy_within(0..3, 3);
    let twin = |a: &[f32], b: &[f32]| -> f64 {
        let pairs = a.iter().zip(b).map(|(a, b)| (f64::from(*a), f64::from(*b)));
        match similarity {
            Similarity::Cosine => pairs.map(|(a, b)| a * b).sum(),
            Similarity::Euclidean => -pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>(),
        }
    };
    let classes: Vec<u32> = (0..70).map(|q| q % 4).collect();
    for other in [None, Some(&gallery)] {
        let search = Search { queries: &queries, gallery: other };
        let found = search.nearest(5);
        let inside = other.unwrap_or(&queries);
        let measures = Measure::parse_all("map,success@3", &Policy::default()).unwrap();
        let judged = search.evaluate(&classes, &classes[..45], &measures).unwrap();
        for q in 0..70 {
            let mut order: Vec<(f64, usize)> = (0..inside.rows())
                .filter(|row| !(other.is_none() && *row == q))
                .map(|row| (twin(queries.row(q), inside.row(row)), row))
                .collect();
            order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            for (best, (score, _)) in found[q].iter().zip(&order) {
                assert!((f64::from(best.score) - score).abs() < 1e-6);
            }
            let hit = order[..3].iter().any(|(_, row)| classes[*row] == classes[q]);
            assert_eq!(judged.results[1].per_list[q] > 0.5, hit, "query {q}");
        }
        assert_eq!(judged.results[0].counts.used, 70);
    }
    assert_eq!(Search { queries: &queries, gallery: None }.nearest(1)[0][0].item, 1, "its copy is nearest");
}

#[test]
fn distances_rank_by_where_vectors_lie_and_cosines_by_where_they_point() {
    let values = vec![1.0, 0.0, 9.0, 0.0, 0.8, 0.7];
    let first = |similarity| {
        let all = Vectors { width: 2, values: values.clone(), similarity };
        Search { queries: &all, gallery: None }.nearest(1)[0][0]
    };
    assert_eq!(first(Similarity::Cosine), Best { item: 1, score: 9.0 });
    let near = first(Similarity::Euclidean);
    assert_eq!(near.item, 2);
    assert!((f64::from(near.score) + (0.2 * 0.2 + 0.7 * 0.7)).abs() < 1e-6);
}

#[test]
fn distances_are_learned_and_kept_with_the_embedding() {
    let folder = tempfile::tempdir().unwrap();
    for objective in ["nca", "log-nca", "sup-con", "map", "triplet"] {
        let settings =
            Settings { similarity: Some("euclidean".into()), objective: Some(objective.into()), ..small() };
        let config = settings.resolve(TrainerKind::Embed).unwrap();
        let data = prepared(&config);
        let mut trainer = Trainer::new(&config, &data).unwrap();
        let before = trainer.valid_metric().unwrap().unwrap();
        trainer.run(&mut (), None).unwrap();
        let (best, _) = trainer.best().unwrap();
        assert!(best > before + 0.1, "{objective}: {before} {best}");
        let path = folder.path().join("e.toprank");
        trainer.embedder().save(&path).unwrap();
        let loaded = Embedder::load(&path).unwrap();
        assert_eq!(loaded.similarity(), Similarity::Euclidean);
        let vectors = loaded.embed("t", rows(3, 4, 9), 0.0).unwrap();
        let lengths: Vec<f32> =
            (0..vectors.rows()).map(|row| vectors.row(row).iter().map(|x| x * x).sum()).collect();
        assert!(lengths.iter().any(|length| (length - 1.0).abs() > 0.1), "{lengths:?}");
        assert_eq!(vectors.similarity, Similarity::Euclidean);
    }
}

#[test]
fn a_warm_up_has_its_own_objective_and_rate_and_its_memory_and_last_layer_start_anew() {
    let run = |settings: Settings| {
        let config = settings.resolve(TrainerKind::Embed).unwrap();
        let data = prepared(&config);
        let mut trainer = Trainer::new(&config, &data).unwrap();
        assert_eq!(trainer.run(&mut (), None).unwrap(), Outcome::Finished);
        (trainer.parameters.values.clone(), trainer.records().to_vec())
    };
    let warm = Settings { warm_up: Some(2), epochs: Some(3), memory: Some(40), ..small() };
    let (values, records) = run(warm.clone());
    assert_eq!(records.len(), 2 + 3);
    assert_ne!(values, run(Settings { warm_up: Some(0), ..warm.clone() }).0);
    assert_ne!(values, run(Settings { warm_up_learning_rate: Some(0.03), ..warm.clone() }).0);
    // A first stage that moves nothing leaves the rest as it would be without it, but for the new last layer and the draws.
    let still = Settings { warm_up_learning_rate: Some(1e-30), ..warm };
    assert_eq!(run(still).1.len(), 5);
}

#[test]
fn storm_sees_the_same_batch_at_two_steps() {
    let settings = |objective: &str| Settings {
        optimiser: Some("storm".into()),
        objective: Some(objective.into()),
        memory: Some(20),
        ..small()
    };
    for objective in ["smooth-ap", "song-v1", "softmax"] {
        let config = settings(objective).resolve(TrainerKind::Embed).unwrap();
        let data = prepared(&config);
        let mut trainer = Trainer::new(&config, &data).unwrap();
        let before = trainer.valid_metric().unwrap().unwrap();
        for _ in 0..2 {
            trainer.step(&mut (), std::time::Instant::now()).unwrap();
        }
        // With equal parameters at both steps, both gradients are the same.
        trainer.parameters.previous.clone_from(&trainer.parameters.values);
        trainer.gradient().unwrap();
        assert_eq!(trainer.parameters.gradient, trainer.gradient_previous, "{objective}");
        let mut trainer = Trainer::new(&config, &data).unwrap();
        trainer.run(&mut (), None).unwrap();
        let (best, _) = trainer.best().unwrap();
        assert!(best > before, "{objective}: {before} {best}");
    }
    let config = settings("ap").resolve(TrainerKind::Embed).unwrap();
    let data = prepared(&config);
    let error = Trainer::new(&config, &data).err().unwrap().to_string();
    assert!(error.contains("objective must be one of the Faster forms"), "{error}");
}
