//! The fast ranking against a sort of everything.

use toprank_core::Stream;

use super::{Scene, TEXTS, plain};
use crate::panels::Panels;
use crate::rank::pick;
use crate::{Best, Ranker};

/// All unmasked scores in order, cut behind the last that equals the k-th.
fn reference(scores: &[f32], k: usize) -> Vec<Best> {
    let all = scores.iter().zip(0..).map(|(&score, item)| Best { item, score });
    let mut all: Vec<Best> = all.filter(|best| best.score > f32::NEG_INFINITY).collect();
    all.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.item.cmp(&b.item)));
    let end = match all.get(k.wrapping_sub(1)) {
        _ if k == 0 => 0,
        Some(last) => all.iter().rposition(|best| best.score == last.score).map_or(0, |at| at + 1),
        None => all.len(),
    };
    all.truncate(end);
    all
}

#[test]
fn the_best_are_those_of_a_sort_with_ties_and_masks() {
    let mut random = Stream::new(2, "test").open();
    for round in 0..400 {
        let n = random.below(700);
        // Few different values: many ties; every third round none.
        let scores: Vec<f32> = (0..n)
            .map(|_| match (random.below(10), round % 3) {
                (0, _) => f32::NEG_INFINITY,
                (_, 0) => random.unit() as f32,
                _ => random.below(40) as f32,
            })
            .collect();
        for k in [0, 1, 3, 20, n, n + 5] {
            assert_eq!(pick(&scores, k), reference(&scores, k), "{n} scores, k = {k}");
        }
    }
    let falling: Vec<f32> = (0..5000).map(|i| if i % 7 == 0 { f32::NAN } else { -(i as f32) }).collect();
    let best = pick(&falling, 100);
    assert_eq!(
        best,
        reference(&falling.iter().map(|x| x.max(-1e9)).collect::<Vec<_>>(), 100),
        "NaN never comes"
    );
    let ascending: Vec<f32> = (0..5000).map(|i| i as f32).collect();
    assert_eq!(pick(&ascending, 10), reference(&ascending, 10));
}

#[test]
fn products_by_panels_are_those_of_plain_sums() {
    let mut random = Stream::new(3, "test").open();
    let mut scores = Vec::new();
    for (users, items, width) in
        [(1, 1, 1), (6, 16, 8), (7, 17, 5), (5, 15, 65), (13, 100, 33), (0, 3, 4), (3, 0, 4)]
    {
        let mut numbers = |n: usize| -> Vec<f32> { (0..n).map(|_| random.unit() as f32 - 0.5).collect() };
        let (of_users, of_items) = (numbers(users * width), numbers(items * width));
        let panels = Panels::new(&of_items, width);
        // What an earlier, larger block left must not matter.
        scores.resize(5000, 7.0);
        panels.scores(&of_users, &mut scores);
        for (u, user) in of_users.chunks_exact(width).enumerate() {
            for (i, item) in of_items.chunks_exact(width).enumerate() {
                let plain: f64 = user.iter().zip(item).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                let found = f64::from(scores[u * panels.stride() + i]);
                assert!(
                    (found - plain).abs() < 1e-6 * width as f64,
                    "{users} {items} {width}: {found} {plain}"
                );
            }
        }
    }
}

#[test]
fn blocks_of_users_are_ranked_as_each_alone() {
    for text in TEXTS {
        let shape = crate::Shape { users: 150, items: 70, ..crate::Shape::default() };
        let scene = Scene::new(text, shape);
        let ranker = Ranker::new(&*scene.model, shape, &scene.weights, &scene.tables[0], &scene.tables[1]);
        let users: Vec<u32> = (0..150).rev().collect();
        let together = ranker.each(&users, |d, scores| (d, scores.to_vec()));
        for (d, &user) in users.iter().enumerate() {
            let alone = ranker.each(&[user], |_, scores| scores.to_vec());
            assert_eq!(together[d], (d, alone[0].clone()), "{text}, user {user}");
        }
    }
}

#[test]
fn chosen_items_have_the_scores_that_they_have_among_all() {
    for text in TEXTS {
        let shape = crate::Shape { users: 150, items: 70, ..crate::Shape::default() };
        let scene = Scene::new(text, shape);
        let [users, items] = &scene.tables;
        let ranker = Ranker::new(&*scene.model, shape, &scene.weights, users, items);
        let scorer = crate::PairScorer::new(&*scene.model, shape, &scene.weights, users, items);
        let users: Vec<u32> = (0..150).rev().collect();
        let all = ranker.each(&users, |_, scores| scores.to_vec());
        // None for the first user, one, two … 40.
        let choose = |d: usize, items: &mut Vec<u32>| {
            items.extend((0..d as u32 % 41).map(|i| (i * 37 + d as u32) % 70));
        };
        let chosen = scorer.each(&users, choose, |d, items, scores| (d, items.to_vec(), scores.to_vec()));
        for (expected, (d, items, scores)) in chosen.into_iter().enumerate() {
            assert_eq!((d, items.len()), (expected, expected % 41));
            for (item, score) in items.iter().zip(&scores) {
                let known = all[d][*item as usize];
                match scene.model.is_product() {
                    true => assert_eq!(*score, known, "{text}, place {d}, item {item}"),
                    false => assert!((score - known).abs() < 1e-5, "{text}: {score} {known}"),
                }
            }
        }
    }
}

#[test]
fn seen_items_never_come_and_unknown_users_get_other_scores() {
    let scene = Scene::new("mf:width=5", plain());
    let ranker = Ranker::new(&*scene.model, plain(), &scene.weights, &scene.tables[0], &scene.tables[1]);
    let seen: [&[u32]; 3] = [&[0, 3, 10], &[], &[1]];
    let popular: Vec<f32> = (0..11).map(|i| i as f32).collect();
    let best = ranker.best(&[4, 0, 2], 4, |d| seen[d], |d| (d == 2).then_some(popular.as_slice()));
    let all = ranker.each(&[4, 0, 2], |_, scores| scores.to_vec());
    for d in 0..2 {
        let mut masked = all[d].clone();
        seen[d].iter().for_each(|&item| masked[item as usize] = f32::NEG_INFINITY);
        assert_eq!(best.of(d), reference(&masked, 4));
    }
    assert_eq!(best.of(2).iter().map(|b| b.item).collect::<Vec<_>>(), [10, 9, 8, 7]);
}

#[test]
fn the_bytes_of_a_step_and_of_a_ranking_do_not_depend_on_threads() {
    for text in TEXTS {
        let shape = crate::Shape { users: 300, items: 500, ..crate::Shape::default() };
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut scene = Scene::new(text, shape);
                let mut random = Stream::new(8, "test").open();
                let users: Vec<u32> = (0..200).collect();
                let offsets: Vec<u64> = (0..=200).map(|d| 30 * d).collect();
                let items: Vec<u32> = (0..6000).map(|_| random.below(500) as u32).collect();
                scene.plan.lay(500, &users, &offsets, &items);
                let (rows, mut tape) = (scene.gathered(), crate::Tape::default());
                let scores = scene.scores(&rows, &scene.weights, None, &mut tape);
                let mut slopes = [rows[0].values.clone(), rows[1].values.clone(), scene.weights.clone()];
                let [users_to, items_to, weights] = &mut slopes;
                let batch = scene.batch(&rows, &scene.weights);
                let to = crate::Slopes { users: users_to, items: items_to, weights };
                scene.model.backward(&batch, &mut tape, &scores, to);
                let ranker =
                    Ranker::new(&*scene.model, shape, &scene.weights, &scene.tables[0], &scene.tables[1]);
                let best = ranker.best(&users, 20, |_| &[], |_| None);
                (scores, slopes, best)
            })
        };
        let one = run(1);
        assert!(one == run(2) && one == run(4), "{text}");
    }
}
