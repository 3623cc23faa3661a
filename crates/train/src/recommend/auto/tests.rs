//! Promises of `recommend train --model auto`.

use std::time::Duration;

use toprank_core::{Policy, Stream};
use toprank_data::{ReadOptions, Source, formats};
use toprank_metrics::Measure;

use super::*;
use crate::TrainerKind;
use crate::fit::training_loop::{Callbacks, Checkpoints, Progress};
use crate::recommend::{HistoryParts, Part, Recommender, Trainer};

/// Users like items of their own third, and the items that follow each other by number.
fn data() -> Interactions {
    let mut random = Stream::new(7, "test").open();
    let mut text = String::from("user,item,rating,time\n");
    for u in 0..80 {
        let mut item = random.below(45);
        for time in 0..9 {
            text += &format!("u{u},i{item},1,{time}\n");
            let step = if random.unit() < 0.8 { 3 } else { 1 + random.below(7) };
            item = (item + step) % 45;
        }
    }
    let options = ReadOptions { format: Some("interactions".into()), ..ReadOptions::default() };
    let read = formats::read(&Source::bytes("t.csv", text.into_bytes()), &options).unwrap();
    Interactions::split(&read, "leave-last", 1).unwrap()
}

const MEMBERS: &str = "knn,ease,als:epochs=3,sequence:epochs=4,pop";

fn settings(members: &str) -> Settings {
    Settings {
        model: Some("auto".into()),
        objective: Some("ndcg@10".into()),
        members: Some(members.into()),
        ..Settings::default()
    }
}

fn trained(settings: &Settings, data: &Interactions) -> Recommender {
    let mut trainer = Trainer::new(&settings.resolve(TrainerKind::Recommend).unwrap(), data).unwrap();
    trainer.run(&mut (), None).unwrap();
    trainer.recommender().unwrap()
}

fn bytes(recommender: &Recommender) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.toprank");
    recommender.save(&path).unwrap();
    std::fs::read(&path).unwrap()
}

fn value(recommender: &Recommender, part: Part) -> f64 {
    let measures = Measure::parse_all("ndcg@10", &Policy::default()).unwrap();
    recommender.evaluate(part, &measures, false, None, 10).unwrap().evaluation.results[0].mean.unwrap()
}

#[test]
fn the_blend_is_what_its_file_says_and_not_worse_than_its_best_member() {
    let data = data();
    let recommender = trained(&settings(MEMBERS), &data);
    let about = recommender.header().blend.clone().unwrap();
    let names: Vec<&str> = about.members.iter().map(|member| member.name.as_str()).collect();
    assert_eq!(names.join(","), MEMBERS);
    let weights: f64 = about.members.iter().map(|member| member.weight).sum();
    assert!((weights - 1.0).abs() < 1e-12, "{about:?}");
    let best = about.members.iter().filter_map(|member| member.value).fold(0.0, f64::max);
    assert!(about.value >= best && about.value > about.chance, "{about:?}");
    // One step for each closed form and each epoch, and one for the selection.
    assert_eq!(recommender.header().reached.steps, 3 + 3 + 4 + 1);
    // What is said is what full ranking of the validation part finds.
    assert!((value(&recommender, Part::Valid) - about.value).abs() < 1e-9, "{about:?}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.toprank");
    recommender.save(&path).unwrap();
    for loaded in [Recommender::load(&path).unwrap(), Recommender::load_mapped(&path).unwrap()] {
        assert_eq!(bytes(&loaded), std::fs::read(&path).unwrap());
        assert_eq!(loaded.top("u7", 5).unwrap(), recommender.top("u7", 5).unwrap());
        let history = ["i0", "i3"];
        assert_eq!(
            loaded.top_of_history(&history, 5).unwrap(),
            recommender.top_of_history(&history, 5).unwrap()
        );
    }
    // The config of the file is one to train with.
    let again = Settings { model: Some("auto".into()), ..recommender.header().config.settings().clone() };
    let kept = [
        "algorithm",
        "optimiser",
        "learning-rate",
        "schedule",
        "sampler",
        "epochs",
        "patience",
        "warm-up",
        "recency",
    ];
    let again = kept.iter().fold(again, |settings, key| {
        let mut text = toml::Table::try_from(&settings).unwrap();
        text.remove(*key);
        text.try_into().unwrap()
    });
    assert_eq!(bytes(&trained(&again, &data)), std::fs::read(&path).unwrap());
}

#[test]
fn a_blend_of_one_ranks_as_its_member_alone_and_two_are_added_up_on_a_common_scale() {
    let data = data();
    let alone = trained(&settings("ease"), &data);
    let ease = Settings {
        model: Some("ease".into()),
        objective: Some("ndcg@10".into()),
        recency: Some(3.0),
        ..Settings::default()
    };
    let ease = trained(&ease, &data);
    for part in [Part::Valid, Part::Test] {
        assert!((value(&alone, part) - value(&ease, part)).abs() < 1e-12);
    }
    // By hand: mean 0 and deviation 1 of each, weighted.
    let recommender = trained(&settings(MEMBERS), &data);
    let about = recommender.header().blend.clone().unwrap();
    let pairs: Vec<(u32, u32)> = (0..data.items.len() as u32).map(|item| (5, item)).collect();
    let mut expected = vec![0.0; pairs.len()];
    for member in about.members.iter().filter(|member| member.weight > 0.0) {
        let mut trainer = Trainer::new(&member.config, &data).unwrap();
        trainer.run(&mut (), None).unwrap();
        let mut scores = trainer.recommender().unwrap().scores(&pairs);
        if member.name.starts_with("sequence") {
            scores = scores.iter().map(|s| s.exp()).collect();
        }
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        let square = scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / scores.len() as f64;
        expected.iter_mut().zip(&scores).for_each(|(e, s)| *e += member.weight * (s - mean) / square.sqrt());
    }
    for (found, expected) in recommender.scores(&pairs).iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-4 * expected.abs().max(1.0), "{found}, {expected}");
    }
}

struct Until(u64);

impl Callbacks for Until {
    fn step(&mut self, _: &Progress) {
        self.0 -= 1;
    }

    fn stop(&mut self) -> bool {
        self.0 == 0
    }
}

#[test]
fn the_blend_is_the_same_at_any_number_of_threads_and_stopped_after_any_step() {
    let data = data();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint");
    let origin = serde_json::Value::Null;
    let keep = Checkpoints { path: &path, every: Duration::ZERO, origin: &origin };
    let settings = settings(MEMBERS);
    let of_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| bytes(&trained(&settings, &data)))
    };
    let whole = of_threads(1);
    assert!(whole == of_threads(2) && whole == of_threads(3));
    let config = settings.resolve(TrainerKind::Recommend).unwrap();
    // Closed forms, in the middle of a model of epochs, at its end, before the selection.
    for steps in 1..=9 {
        let mut first = Trainer::new(&config, &data).unwrap();
        first.run(&mut Until(steps), Some(keep)).unwrap();
        let mut next = Trainer::new(&config, &data).unwrap();
        next.load_checkpoint(&path).unwrap();
        assert_eq!(next.steps_done(), steps);
        next.run(&mut (), None).unwrap();
        assert!(bytes(&next.recommender().unwrap()) == whole, "after {steps}");
    }
}

#[test]
fn a_refit_learns_the_validation_part_and_says_so() {
    let data = data();
    let refit = Settings { refit: Some(true), ..settings("knn,ease") };
    let (once, both) = (trained(&settings("knn,ease"), &data), trained(&refit, &data));
    assert_eq!(once.header().blend, both.header().blend);
    assert_ne!(once.scores(&[(0, 1)]), both.scores(&[(0, 1)]));
    let measures = Measure::parse_all("ndcg@10", &Policy::default()).unwrap();
    let error = both.evaluate(Part::Valid, &measures, false, None, 3).unwrap_err().to_string();
    assert!(error.contains("learned the validation part"), "{error}");
    let mut train = once.clone();
    train.use_history(HistoryParts::Train);
    assert_eq!(train.history(Part::Test), HistoryParts::Train);
}

#[test]
fn what_auto_does_not_have_is_refused_with_the_reason() {
    let refused = |settings: Settings| settings.resolve(TrainerKind::Recommend).unwrap_err().to_string();
    for (settings, words) in [
        (Settings { epochs: Some(3), ..settings("knn") }, "omitted with --model auto"),
        (Settings { recency: Some(3.0), ..settings("knn") }, "omitted with --model auto"),
        (Settings { budget: Some("5m".into()), ..settings("knn") }, "a budget is turned into them"),
        (Settings { objective: Some("song".into()), ..settings("knn") }, "a metric to choose by"),
        (Settings { model: Some("ease".into()), ..settings("knn") }, "given with --model auto"),
        (settings("trees,knm"), "did you mean \"knn\"?"),
    ] {
        let error = refused(settings);
        assert!(error.contains(words), "{error}");
    }
    let data = data();
    let of = |members: &str, data: &Interactions| {
        let config = settings(members).resolve(TrainerKind::Recommend).unwrap();
        Trainer::new(&config, data).map(drop).unwrap_err().to_string()
    };
    assert!(
        of("trees", &data).contains("unknown member of auto for recommendation"),
        "{}",
        of("trees", &data)
    );
    assert!(of("ease:epochs=3", &data).contains("fitted at once"));
    let unordered = Interactions { later: Vec::new(), ..data.clone() };
    assert!(of("sequence", &unordered).contains("order in time"));
    let empty = toprank_core::Choices::from_pairs(data.users.len(), data.items.len(), Vec::new());
    let without = Interactions { valid: empty, ..data };
    assert!(of("knn", &without).contains("no interactions for validation"));
}

#[test]
fn the_list_is_a_function_of_budget_and_data_and_longer_budgets_give_no_fewer_fits() {
    let data = data();
    let config = Settings { members: None, ..settings("") }.resolve(TrainerKind::Recommend).unwrap();
    let mut before = 0;
    for budget in [1e-9, 1e-3, 1e-2, 0.1, 1.0, 10.0, 1000.0] {
        let list = portfolio::planned(&config, &data, budget).unwrap();
        let epochs: u32 = list.iter().map(|member| member.config.epochs()).sum();
        assert!(!list.is_empty() && epochs >= before, "{budget}: {list:?}");
        before = epochs;
    }
    let all = portfolio::planned(&config, &data, 1e6).unwrap();
    assert_eq!(all.len(), OF_INTERACTIONS.len());
    let unordered = Interactions { later: Vec::new(), ..data };
    let some = portfolio::planned(&config, &unordered, 1e6).unwrap();
    assert!(some.iter().all(|member| !member.text.starts_with("sequence")));
}

#[test]
fn a_run_over_its_budget_ends_its_list_and_the_list_gives_the_same_bytes() {
    let data = data();
    let config = settings(MEMBERS).resolve(TrainerKind::Recommend).unwrap();
    // As if a budget of no time had planned them.
    let over = config.with(Settings { budget: Some("1ms".into()), ..Settings::default() });
    let mut trainer = Trainer::new(&over, &data).unwrap();
    let Trainer::Auto(auto) = &mut trainer else { panic!("auto") };
    auto.before = 1.0;
    trainer.run(&mut (), None).unwrap();
    let short = trainer.recommender().unwrap();
    assert_eq!(short.header().config.members(), "knn");
    assert!(trainer.advice().unwrap().unwrap().contains("--members knn gives the same model"));
    assert_eq!(bytes(&short), bytes(&trained(&settings("knn"), &data)));
}

#[test]
fn a_member_that_stops_early_leaves_its_other_epochs_out() {
    let data = data();
    let config = settings("als,pop").resolve(TrainerKind::Recommend).unwrap();
    let mut trainer = Trainer::new(&config, &data).unwrap();
    assert_eq!(trainer.steps(), 20 + 1 + 1);
    assert_eq!(trainer.run(&mut (), None).unwrap(), crate::Outcome::Finished);
    let about = trainer.recommender().unwrap().header().blend.clone().unwrap();
    let best = u64::from(about.members[0].epochs);
    // Three epochs without improvement, popularity, the selection.
    assert_eq!(trainer.steps_done(), best + 3 + 2, "{about:?}");
}
