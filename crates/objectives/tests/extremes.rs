//! Whatever the scores, labels and weights: a step gives finite numbers, or an error that names list, item and value, and the
//! state holds no number that is not finite. Checked for the defaults and for every example of the catalog.

use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;
use toprank_core::{Lists, Policy, Stream};
use toprank_objectives::{Batch, Draws, Goal, GoalError, Gradients, OBJECTIVES, Reduction, State};

/// Every objective with its defaults and with each of its examples.
fn goals() -> Vec<Goal> {
    let names = OBJECTIVES
        .iter()
        .flat_map(|line| std::iter::once(line.entry.name).chain(line.examples.iter().copied()));
    names.map(goal).collect()
}

fn goal(text: &str) -> Goal {
    Goal::parse(text, &Policy::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The numbers of a state; NaN: not yet visited.
fn numbers(state: &State) -> Vec<f64> {
    let bytes = state.save();
    let (numbers, _) = bytes[20..].as_chunks();
    numbers.iter().map(|number| f64::from_le_bytes(*number)).collect()
}

/// One step with the Hessian diagonal. What it gives is checked: finite results, or an error that is true; and a state of numbers.
fn step(goal: &Goal, batch: &Batch, state: &mut State) -> Result<Gradients, GoalError> {
    let name = goal.name();
    let before = numbers(state);
    let mut out = Gradients { want_hessian: true, ..Gradients::default() };
    let done = catch_unwind(AssertUnwindSafe(|| goal.step(batch, state, &mut out)))
        .unwrap_or_else(|_| panic!("{name} panics at {:?}", batch.scores));
    let all = || [&out.gradient, &out.hessian, &out.gradient_previous, &out.losses].into_iter().flatten();
    for (now, before) in numbers(state).into_iter().zip(&before) {
        assert!(now.is_finite() || now.is_nan() && before.is_nan(), "{name}: {before} became {now}");
    }
    match done {
        Ok(()) => {
            assert!(out.loss.is_finite(), "{name}: loss {} at {:?}", out.loss, batch.scores);
            assert!(all().all(|value| value.is_finite()), "{name}: {out:?} at {:?}", batch.scores);
            assert!(out.hessian.iter().all(|h| *h >= 0.0), "{name}: {:?}", out.hessian);
            Ok(out)
        }
        Err(error) => {
            let entry = |list: usize, item: usize| match batch.draws {
                None => batch.lists.range(list).start + item,
                Some(draws) => {
                    let d = draws.lists.iter().position(|q| *q as usize == list).unwrap();
                    let here = draws.offsets[d] as usize..draws.offsets[d + 1] as usize;
                    here.clone().find(|&at| draws.items[at] as usize == item).unwrap()
                }
            };
            match &error {
                GoalError::Score { list, item, found } => {
                    let at = entry(*list, *item);
                    let given = [Some(batch.scores), batch.previous, batch.frozen];
                    assert!(
                        given.into_iter().flatten().any(|s| s[at].to_bits() == found.to_bits()),
                        "{error}"
                    );
                    assert!(!found.is_finite(), "{name}: {error}");
                    let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
                    assert!(numbers(state).iter().zip(&before).all(same), "{name}: {error}: another state");
                }
                GoalError::NotFinite { list, item, score, .. } => {
                    assert!(
                        score.is_finite() && batch.scores[entry(*list, *item)] == *score,
                        "{name}: {error}"
                    );
                }
                other => panic!("{name}: {other}"),
            }
            Err(error)
        }
    }
}

fn score() -> impl Strategy<Value = f64> {
    let finite = [0.0, 1.0, 1e6, 1e30, 1e150, 1e300];
    let signed: Vec<f64> = finite.into_iter().flat_map(|s| [s, -s]).chain([f64::MAX]).collect();
    prop_oneof![
        40 => prop::sample::select(signed),
        10 => -3.0..3.0f64,
        1 => prop::sample::select(vec![f64::INFINITY, f64::NEG_INFINITY, f64::NAN]),
    ]
}

fn label() -> impl Strategy<Value = f32> {
    prop_oneof![
        20 => prop::sample::select(vec![0.0f32, 1.0, 2.0, 4.0, 0.5]),
        3 => prop::sample::select(vec![31.0f32, -1.0, f32::MIN, 1e-45, f32::NAN]),
    ]
}

fn weight() -> impl Strategy<Value = f32> {
    prop_oneof![10 => Just(1.0f32), 3 => prop::sample::select(vec![0.0f32, 1e-45, f32::MIN_POSITIVE, f32::MAX])]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn scores_of_any_size_give_finite_numbers_or_an_error_and_a_finite_state(
        items in prop::collection::vec((score(), label(), weight(), score()), 1..10),
        others in prop::collection::vec((score(), label(), weight(), score()), 0..4),
        list_weights in (weight(), weight()),
    ) {
        let all: Vec<_> = items.iter().chain(&others).copied().collect();
        let lists = Lists {
            item_weights: Some(all.iter().map(|item| item.2).collect()),
            list_weights: Some(vec![list_weights.0, list_weights.1]),
            ..Lists::from_lengths(&[items.len(), others.len()], all.iter().map(|item| item.1).collect())
        };
        let scores: Vec<f64> = all.iter().map(|item| item.0).collect();
        let moved: Vec<f64> = all.iter().map(|item| item.3).collect();
        let finite = scores.iter().all(|s| s.is_finite());
        for goal in goals() {
            let mut state = goal.state(&lists).unwrap();
            let mut run = |scores: &[f64], previous: Option<&[f64]>, at: u64| {
                let stream = Stream::new(0, "objective").at_step(at);
                step(&goal, &Batch { previous, stream, ..Batch::all(&lists, scores) }, &mut state)
            };
            let first = run(&scores, None, 0);
            prop_assert_eq!(finite, !matches!(first, Err(GoalError::Score { .. })), "{}", goal.name());
            let _ = run(&moved, Some(&scores), 1);
            let calm: Vec<f64> = (0..all.len()).map(|i| (i as f64).sin()).collect();
            let _ = run(&calm, Some(&moved), 2);
        }
    }
}

#[test]
fn labels_of_any_size_give_finite_numbers_or_an_error() {
    for most in [1e3f32, 1e9, f32::MAX] {
        let lists = Lists::from_lengths(&[4, 3], vec![most, 0.0, most / 2.0, -most, 1.0, most, 0.0]);
        let scores = [0.3, -1.0, 2.0, 0.1, 1e6, -1e6, 0.0];
        for goal in goals() {
            match goal.state(&lists) {
                Ok(mut state) => drop(step(&goal, &Batch::all(&lists, &scores), &mut state)),
                Err(error) => assert!(matches!(error, GoalError::Label { .. }), "{}: {error}", goal.name()),
            }
        }
    }
}

/// True if the loss, or the mean it is computed from, grows with the square or a higher power of the differences between scores:
/// beyond 1e154 it has no 64-bit float.
fn squares(name: &str) -> bool {
    let (objective, _) = name.split_at(name.find([':', '@']).unwrap_or(name.len()));
    let others = [
        "hinge",
        "logistic",
        "logistic2",
        "sigmoid",
        "exponential",
        "barrier-hinge",
        "huber",
        "one-side-sigmoid",
    ];
    let surrogate = name.split(':').find_map(|part| part.strip_prefix("surrogate="));
    match objective {
        // Products of sensitivities over positions.
        "smoothi" | "smoothi-p" => name.contains("frozen=false"),
        "p-norm-push" | "p-norm-push-minmax" | "squared" | "squared-hinge" | "margin" | "auroc-minmax"
        | "auroc-margin" => true,
        "top-ap" | "precision-threshold" | "recall-threshold" => surrogate == Some("squared-hinge"),
        "song"
        | "song-v1"
        | "song-v2"
        | "song-minibatch"
        | "song-storm"
        | "ap"
        | "soprc"
        | "precision"
        | "recall"
        | "auroc"
        | "pauc-kl"
        | "tpauc-kl"
        | "top-push-kl"
        | "k-song"
        | "k-song-v1"
        | "k-song-v2"
        | "k-song-rank"
        | "precision-at-recall"
        | "pauc-bilevel"
        | "tpauc-bilevel"
        | "pap"
        | "top-push-bilevel"
        | "pauc-cvar"
        | "tpauc-minmax"
        | "top-push" => !surrogate.is_some_and(|own| others.contains(&own)),
        _ => false,
    }
}

/// Scores of ±size, ±size/2 and around 0 in lists that are short, and long enough for the kernels that sort.
fn far_apart(size: f64) -> (Lists, Vec<f64>) {
    let mut random = Stream::new(11, "extremes").open();
    let lengths = [2, 3, 8, 300, 5];
    let count: usize = lengths.iter().sum();
    let mut labels: Vec<f32> = (0..count).map(|_| random.below(3) as f32).collect();
    let lists = Lists::from_lengths(&lengths, labels.clone());
    for q in 0..lengths.len() {
        labels[lists.range(q).start] = 0.0;
        labels[lists.range(q).start + 1] = 1.0;
    }
    let pool = [size, -size, size / 2.0, -size * 0.75, 0.0, 1.0, -1.0];
    let scores = (0..count).map(|_| pool[random.below(pool.len())]).collect();
    (Lists { labels, ..lists }, scores)
}

#[test]
fn scores_up_to_1e300_are_computed_wherever_the_loss_does_not_overflow() {
    for size in [1e30, 1e150, 1e200, 1e300] {
        let (lists, scores) = far_apart(size);
        for goal in goals() {
            let mut state = goal.state(&lists).unwrap();
            for _ in 0..2 {
                if let Err(error) = step(&goal, &Batch::all(&lists, &scores), &mut state) {
                    assert!(squares(goal.name()) && size > 1e30, "{}: {error}", goal.name());
                }
            }
        }
    }
}

#[test]
fn a_squared_loss_that_overflows_is_an_error_that_names_list_item_and_score() {
    let lists = Lists::from_lengths(&[2, 3], vec![1.0, 0.0, 1.0, 0.0, 0.0]);
    let goal = goal("squared-hinge");
    let mut state = goal.state(&lists).unwrap();
    let batch = Batch::all(&lists, &[0.0, 1.0, -1e200, 0.0, 2e200]);
    let error = step(&goal, &batch, &mut state).unwrap_err();
    assert_eq!(error, GoalError::NotFinite { list: 1, what: "loss", item: 2, score: 2e200 });
    assert_eq!(
        error.to_string(),
        "list 1: the loss is not a finite number; the list's score farthest from 0 is 2e200 (item 2), expected scores, labels \
         and weights for which the objective stays within the range of 64-bit floats"
    );
}

#[test]
fn a_sum_of_losses_that_overflows_is_an_error() {
    let lists = Lists::from_lengths(&[2; 3], vec![1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    let goal = goal("squared:sum=true");
    let scores = [0.0, 1e154, 0.0, 1.2e154, 0.0, 1e154];
    let batch = Batch { reduction: Reduction::Sum, ..Batch::all(&lists, &scores) };
    let error = step(&goal, &batch, &mut goal.state(&lists).unwrap()).unwrap_err();
    assert!(matches!(error, GoalError::NotFinite { list: 1, item: 1, .. }), "{error}");
    assert!(error.to_string().contains("sum of the losses"), "{error}");
}

/// Two lists of many fail: they have the state from before, all others have taken the step, and the error names the first of the
/// two, on any number of threads, for whole lists and for draws.
#[test]
fn after_an_error_the_lists_that_failed_have_the_state_from_before_and_the_others_have_taken_the_step() {
    let (copies, length) = (300, 40);
    let mut random = Stream::new(3, "extremes").open();
    let labels =
        (0..copies * length).map(|i| if i % length < 2 { (i % 2) as f32 } else { random.below(3) as f32 });
    let lists = Lists::from_lengths(&vec![length; copies], labels.collect());
    let draw = |items: Vec<u32>, drawn: Vec<u32>| Draws {
        offsets: (0..=drawn.len()).map(|d| (d * items.len()) as u64).collect(),
        items: items.repeat(drawn.len()),
        lists: drawn,
        ..Draws::default()
    };
    let bad = [144, 200];
    for (threads, name) in [(1, "song"), (3, "song"), (3, "song-v2"), (3, "k-song@5"), (3, "pauc-kl")] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let goal = goal(name);
            for (all, every) in [(true, 1), (false, 2)] {
                let items: Vec<u32> = (0..length as u32).filter(|i| all || i % 3 != 2).collect();
                let drawn: Vec<u32> = (0..copies as u32).filter(|q| q % every == 0).collect();
                let others =
                    draw(items.clone(), drawn.iter().copied().filter(|q| !bad.contains(q)).collect());
                let draws = draw(items.clone(), drawn);
                let starts = bad.map(|bad| draws.lists.iter().position(|&q| q == bad).unwrap() * items.len());
                let (mut state, mut expected) = (goal.state(&lists).unwrap(), goal.state(&lists).unwrap());
                for number in 0..6 {
                    let stream = Stream::new(0, "objective").at_step(number);
                    let mut scores: Vec<f64> = draws.items.iter().map(|_| random.unit()).collect();
                    let fails = number % 2 == 1;
                    for at in starts.into_iter().filter(|_| fails) {
                        (scores[at], scores[at + 1]) = (2e200, -1e200);
                    }
                    let whole = Batch { stream, ..Batch::all(&lists, &scores) };
                    let batch = Batch { draws: (!all).then_some(&draws), ..whole };
                    let done = step(&goal, &batch, &mut state);
                    if !fails {
                        assert_eq!(step(&goal, &batch, &mut expected).unwrap().loss, done.unwrap().loss);
                        continue;
                    }
                    let error = done.unwrap_err();
                    assert!(
                        matches!(error, GoalError::NotFinite { list, item: 0, score, .. }
                            if list == bad[0] as usize && score == 2e200),
                        "{name}: {error}"
                    );
                    let mut calm = scores.clone();
                    starts.iter().rev().for_each(|&at| drop(calm.drain(at..at + items.len())));
                    let batch = Batch { draws: Some(&others), scores: &calm, ..whole };
                    step(&goal, &batch, &mut expected).unwrap();
                    assert!(state.save() == expected.save(), "{name}, step {number}, all {all}");
                }
            }
        });
    }
}
