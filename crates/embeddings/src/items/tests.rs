//! Item models against their plain definitions.

use toprank_core::{Choices, Stream};

use super::*;
use crate::{PairScorer, Ranker};

fn choices(users: usize, items: usize) -> Choices {
    let mut random = Stream::new(3, "test").open();
    let mut choices = Choices::of_items(items);
    for _ in 0..users {
        let mut pairs = Vec::new();
        for item in 0..items as u32 {
            if random.unit() < 0.3 {
                pairs.push((item, 1.0 + random.below(3) as f32));
            }
        }
        // Whatever order.
        let mut later: Vec<u32> = (0..pairs.len() as u32).collect();
        random.shuffle(&mut later);
        choices.later.extend(later);
        choices.push(pairs);
    }
    choices
}

fn weighed(choices: &Choices) -> Choices {
    let weights = (0..choices.pairs()).map(|k| 0.25 + (k % 5) as f32 / 4.0).collect();
    Choices { weights, ..choices.clone() }
}

/// X as a table of users × items.
fn dense(choices: &Choices) -> Vec<Vec<f64>> {
    let row = |u: usize| {
        let mut row = vec![0.0; choices.item_count];
        for (&item, x) in choices.of(u).iter().zip(valued(choices, u)) {
            row[item as usize] = f64::from(x);
        }
        row
    };
    (0..choices.len()).map(row).collect()
}

fn fitted(name: &str, choices: &Choices, rounds: usize) -> (Box<dyn ItemModel>, ItemParameters, Vec<f64>) {
    let model = parse(name).unwrap();
    let mut parameters = model.start(choices, Stream::new(1, "init"));
    let mut state = FitState { stream: Stream::new(1, "fit"), ..FitState::default() };
    let mut losses = Vec::new();
    for epoch in 0..rounds as u64 {
        state.epoch = epoch;
        losses.extend(model.fit(choices, &mut parameters, &mut state).unwrap());
    }
    model.check(choices.item_count, &parameters).unwrap();
    (model, parameters, losses)
}

fn scores(model: &dyn ItemModel, parameters: &ItemParameters, histories: &Choices) -> Vec<f32> {
    let users: Vec<u32> = (0..histories.len() as u32).collect();
    let mut scores = vec![f32::NAN; users.len() * histories.item_count];
    model.scores(parameters, histories, &users, &mut scores);
    scores
}

const ALL: [&str; 12] = [
    "ease-low-rank:rank=6:lambda=3",
    "slim:l1=0.5:l2=2:neighbours=9",
    "gf-cf:rank=5:neighbours=7",
    "gf-cf:alpha=0",
    "ease:lambda=3",
    "ease:lambda=3:dropout=0.4",
    "knn:neighbours=4",
    "knn",
    "als:width=5",
    "pop",
    "sequence:width=6:heads=2:hidden=5:length=4:batch=40:learning-rate=0.01",
    "sequence:width=6:blocks=1:hidden=5:loss=gbce:negatives=5:batch=7",
];

#[test]
fn ease_solves_the_ridge_regression_of_each_item_on_the_others_and_says_its_loss() {
    let choices = choices(40, 23);
    let x = dense(&choices);
    for (name, lambda, dropout) in [("ease:lambda=3", 3.0, 0.0), ("ease:lambda=2:dropout=0.4", 2.0, 0.4)] {
        let (_, parameters, losses) = fitted(name, &choices, 1);
        let b = |i: usize, j: usize| f64::from(parameters.values[i * 23 + j]);
        let square = |j: usize| x.iter().map(|row| row[j] * row[j]).sum::<f64>();
        let mut loss = 0.0;
        for j in 0..23 {
            assert_eq!(b(j, j), 0.0);
            let residual: Vec<f64> =
                x.iter().map(|row| row[j] - (0..23).map(|i| row[i] * b(i, j)).sum::<f64>()).collect();
            loss += residual.iter().map(|r| r * r).sum::<f64>();
            for i in (0..23).filter(|&i| i != j) {
                // The slope of the penalised loss of item j by b_ij.
                let penalty = lambda + dropout / (1.0 - dropout) * square(i);
                loss += penalty * b(i, j) * b(i, j);
                let slope =
                    penalty * b(i, j) - x.iter().zip(&residual).map(|(row, r)| row[i] * r).sum::<f64>();
                assert!(slope.abs() < 1e-3, "{name}: {slope} at {i}, {j}");
            }
        }
        assert!((losses[0] - loss / 40.0).abs() < 1e-4 * loss, "{name}: {} {}", losses[0], loss / 40.0);
    }
}

#[test]
fn neighbours_are_those_of_the_greatest_shrunken_cosines() {
    let choices = choices(30, 19);
    let x = dense(&choices);
    let (model, parameters, _) = fitted("knn:neighbours=4:shrink=2.5", &choices, 1);
    let histories = weighed(&choices);
    let found = scores(&*model, &parameters, &histories);
    let dot = |i: usize, j: usize| x.iter().map(|row| row[i] * row[j]).sum::<f64>();
    let cosine = |i: usize, j: usize| dot(i, j) / (dot(i, i).sqrt() * dot(j, j).sqrt() + 2.5);
    let expected = dense(&histories);
    for (u, row) in expected.iter().enumerate() {
        let mut plain = [0.0; 19];
        for j in (0..19).filter(|&j| row[j] != 0.0) {
            let mut others: Vec<usize> = (0..19).filter(|&i| i != j).collect();
            others.sort_by(|&a, &b| cosine(j, b).total_cmp(&cosine(j, a)));
            others[..4].iter().for_each(|&i| plain[i] += row[j] * cosine(j, i));
        }
        for i in 0..19 {
            let found = f64::from(found[u * 19 + i]);
            assert!((found - plain[i]).abs() < 1e-5, "user {u}, item {i}: {found}, {}", plain[i]);
        }
    }
}

#[test]
fn an_epoch_of_als_leaves_no_slope_of_the_items_and_its_loss_is_the_definition_and_falls() {
    let (choices, d) = (choices(25, 14), 4);
    let (_, _, losses) = fitted("als:width=4:unobserved=0.2:lambda=0.05", &choices, 12);
    assert!(losses.windows(2).all(|pair| pair[1] <= pair[0] + 1e-4), "{losses:?}");
    // One epoch from its start, with users that are solved by the plain normal equations.
    let (model, before, _) = fitted("als:width=4:unobserved=0.2:lambda=0.05", &choices, 3);
    let mut after = model.start(&choices, Stream::new(1, "init"));
    for _ in 0..4 {
        model.fit(&choices, &mut after, &mut FitState::default()).unwrap();
    }
    let x = dense(&choices);
    let (alpha, lambda) = (0.2, 0.05);
    let user = |values: &[f32], u: usize| -> Vec<f64> {
        let q = |i: usize, k: usize| f64::from(values[i * d + k]);
        let total: f64 = x[u].iter().sum();
        let mut a = vec![0.0; d * d];
        for k in 0..d {
            for l in 0..d {
                a[k * d + l] = (0..14).map(|i| (alpha + x[u][i]) * q(i, k) * q(i, l)).sum();
            }
            a[k * d + k] += lambda * (total + alpha * 14.0);
        }
        assert!(inverse::invert(&mut a, d));
        let b: Vec<f64> = (0..d).map(|k| (0..14).map(|i| x[u][i] * q(i, k)).sum()).collect();
        (0..d).map(|k| (0..d).map(|l| a[k * d + l] * b[l]).sum()).collect()
    };
    let users: Vec<Vec<f64>> = (0..25).map(|u| user(&before.values, u)).collect();
    let q = |i: usize, k: usize| f64::from(after.values[i * d + k]);
    let score = |u: usize, i: usize| (0..d).map(|k| users[u][k] * q(i, k)).sum::<f64>();
    let mut loss = 0.0;
    for i in 0..14 {
        let total: f64 = x.iter().map(|row| row[i]).sum();
        let penalty = lambda * (total + alpha * 25.0);
        #[expect(clippy::needless_range_loop, reason = "k counts coordinates of several vectors")]
        for k in 0..d {
            let slope: f64 =
                (0..25).map(|u| ((alpha + x[u][i]) * score(u, i) - x[u][i]) * users[u][k]).sum::<f64>()
                    + penalty * q(i, k);
            assert!(slope.abs() < 2e-3, "{slope}");
            loss += penalty * q(i, k) * q(i, k);
        }
        loss +=
            (0..25).map(|u| x[u][i] * (1.0 - score(u, i)).powi(2) + alpha * score(u, i).powi(2)).sum::<f64>();
    }
    for (u, row) in x.iter().enumerate() {
        let total: f64 = row.iter().sum();
        loss += lambda * (total + alpha * 14.0) * users[u].iter().map(|p| p * p).sum::<f64>();
    }
    assert!((losses[3] - loss / 25.0).abs() < 1e-3 * losses[3], "{} {}", losses[3], loss / 25.0);
    // The scores are those of users solved in the same way.
    let found = scores(&*model, &after, &choices);
    for u in 0..25 {
        let vector = user(&after.values, u);
        for i in 0..14 {
            let plain: f64 = (0..d).map(|k| vector[k] * q(i, k)).sum();
            assert!((f64::from(found[u * 14 + i]) - plain).abs() < 1e-4);
        }
    }
}

#[test]
fn popularity_counts_interactions() {
    let choices = choices(9, 6);
    let (model, parameters, _) = fitted("pop", &choices, 1);
    let expected: Vec<f32> = choices.popularity().into_iter().map(|count| count as f32).collect();
    assert_eq!(scores(&*model, &parameters, &choices)[6..12], expected);
}

#[test]
fn threads_do_not_change_an_item_model() {
    let choices = choices(50, 33);
    for name in ALL {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fitted(name, &choices, 2).1)
        };
        assert_eq!(run(1), run(3), "{name}");
    }
}

#[test]
fn every_parameter_of_an_item_model_changes_its_scores() {
    let choices = choices(40, 30);
    let of = |name: &str| {
        let (model, parameters, _) = fitted(name, &choices, 2);
        scores(&*model, &parameters, &choices)
    };
    let others = [
        "lambda=7",
        "dropout=0.3",
        "neighbours=3",
        "shrink=1",
        "width=6",
        "unobserved=0.9",
        "length=2",
        "blocks=1",
        "heads=2",
        "hidden=9",
        "loss=gbce",
        "negatives=4",
        "batch=9",
        "learning-rate=0.01",
        "l1=3",
        "l2=1",
        "sweeps=1",
        "rank=5",
        "alpha=0.9",
    ];
    for entry in ITEM_MODELS {
        for param in entry.params {
            let other = others.iter().find(|other| other.starts_with(param.name)).unwrap();
            assert_ne!(of(entry.name), of(&format!("{}:{other}", entry.name)), "{} {other}", entry.name);
            let default = format!("{}:{}={}", entry.name, param.name, param.default);
            assert_eq!(of(entry.name), of(&default), "{default}");
        }
    }
}

#[test]
fn a_ranker_and_a_pair_scorer_give_the_scores_of_the_model() {
    let histories = weighed(&choices(70, 21));
    for name in ALL {
        let (model, parameters, _) = fitted(name, &histories, 1);
        let all = scores(&*model, &parameters, &histories);
        let users: Vec<u32> = (0..70).rev().collect();
        let ranker = Ranker::of_histories(&*model, &parameters, &histories);
        let found = ranker.each(&users, |d, scores| (users[d] as usize, scores.to_vec()));
        // A product of fewer rows at once may round in another way.
        let same = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(found.iter().all(|(u, scores)| same(scores, &all[u * 21..][..21])), "{name}");
        let scorer = PairScorer::of_histories(&*model, &parameters, &histories);
        let some =
            scorer.each(&users, |_, to| to.extend([20, 4]), |d, _, scores| (users[d], scores.to_vec()));
        let pair = |u: u32| [20, 4].map(|item| all[u as usize * 21 + item]);
        assert!(some.iter().all(|(u, scores)| same(scores, &pair(*u))), "{name}");
    }
}

#[test]
fn users_and_items_without_interactions_do_no_harm() {
    let mut choices = Choices::of_items(5);
    choices.push([]);
    choices.push([(1, 1.0), (3, 1.0)]);
    choices.later = vec![1, 0];
    for name in ALL {
        let (model, parameters, _) = fitted(name, &choices, 2);
        assert!(scores(&*model, &parameters, &choices).iter().all(|score| score.is_finite()), "{name}");
    }
}

#[test]
fn parameters_of_another_size_or_with_neighbours_that_do_not_exist_are_refused() {
    let choices = choices(20, 12);
    for name in ALL {
        let (model, parameters, _) = fitted(name, &choices, 1);
        assert!(model.check(11, &parameters).is_err() && model.check(13, &parameters).is_err(), "{name}");
        assert!(model.check(usize::MAX, &parameters).is_err(), "{name}");
        assert!(model.check(12, &ItemParameters::default()).is_err(), "{name}");
    }
    let (model, parameters, _) = fitted("knn:neighbours=3", &choices, 1);
    for (at, value) in [(0, 1), (1, u32::MAX), (12, 0), (13, 12)] {
        let mut numbers = parameters.numbers.clone();
        numbers[at] = value;
        let other = ItemParameters { numbers, values: parameters.values.to_vec().into() };
        assert!(model.check(12, &other).is_err(), "{at} {value}");
    }
}

#[test]
fn the_memory_of_the_closed_form_grows_with_the_square_of_the_items_and_is_said() {
    let bytes = parse("ease").unwrap().bytes(1_000_000, 100_000);
    assert!((4e10..4.2e10).contains(&(bytes as f64)), "{bytes}");
    let text = too_large("ease", bytes, 100_000).to_string();
    assert!(
        text.contains("ease on 100000 items, which takes 40.2 GB, more than half of the memory"),
        "{text}"
    );
    assert!(text.contains("ease-low-rank, slim, als or knn"), "{text}");
}

#[test]
fn low_rank_ease_with_all_singular_values_is_ease() {
    let choices = choices(60, 21);
    let histories = weighed(&choices);
    let (ease, parameters, _) = fitted("ease:lambda=3", &choices, 1);
    let expected = scores(&*ease, &parameters, &histories);
    let (low, parameters, _) = fitted("ease-low-rank:rank=21:lambda=3", &choices, 1);
    let found = scores(&*low, &parameters, &histories);
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 2e-3 * expected.abs().max(1.0), "{found} {expected}");
    }
    let (_, parameters, _) = fitted("ease-low-rank:rank=5:lambda=3", &choices, 1);
    assert_eq!(parameters.values.len(), 2 * 21 * 5);
}

#[test]
fn slim_fulfils_the_optimality_conditions_of_its_penalised_regression() {
    let choices = choices(50, 17);
    let x = dense(&choices);
    let (l1, l2) = (4.0, 2.0);
    let (_, parameters, _) = fitted("slim:l1=4:l2=2:neighbours=100:sweeps=2000", &choices, 1);
    let (ends, others) = parameters.numbers.split_at(18);
    let mut w = vec![0.0; 17 * 17];
    for i in 0..17 {
        for at in ends[i] as usize..ends[i + 1] as usize {
            w[i * 17 + others[at] as usize] = f64::from(parameters.values[at]);
        }
    }
    let mut zeros = 0;
    for j in 0..17 {
        assert_eq!(w[j * 17 + j], 0.0);
        let residual: Vec<f64> =
            x.iter().map(|row| row[j] - (0..17).map(|i| row[i] * w[i * 17 + j]).sum::<f64>()).collect();
        for i in (0..17).filter(|&i| i != j) {
            let slope =
                l2 * w[i * 17 + j] + l1 - x.iter().zip(&residual).map(|(row, r)| row[i] * r).sum::<f64>();
            // At 0 the slope points upwards, elsewhere it is 0.
            match w[i * 17 + j] > 0.0 {
                true => assert!(slope.abs() < 0.1, "{slope}"),
                false => {
                    assert!(slope > -0.1, "{slope}");
                    zeros += 1;
                }
            }
        }
    }
    assert!((1..17 * 16).contains(&zeros), "{zeros} weights are 0");
}

#[test]
fn the_graph_filter_is_its_two_filters_by_hand() {
    let choices = choices(40, 13);
    let x = dense(&choices);
    let histories = weighed(&choices);
    let of_user: Vec<f64> = x.iter().map(|row| row.iter().sum()).collect();
    let of_item: Vec<f64> = (0..13).map(|i| x.iter().map(|row| row[i]).sum()).collect();
    let r = |u: usize, i: usize| x[u][i] / (of_user[u] * of_item[i]).sqrt();
    let linear = |i: usize, j: usize| (0..40).map(|u| r(u, i) * r(u, j)).sum::<f64>();
    // With all singular vectors V Vᵀ is the unit matrix, so the ideal filter gives the history back.
    for (name, alpha) in [("gf-cf:alpha=0", 0.0), ("gf-cf:alpha=0.7:rank=13", 0.7)] {
        let (model, parameters, _) = fitted(name, &choices, 1);
        let found = scores(&*model, &parameters, &histories);
        for (u, history) in dense(&histories).iter().enumerate() {
            for i in 0..13 {
                let expected = (0..13).map(|j| history[j] * linear(j, i)).sum::<f64>() + alpha * history[i];
                let found = f64::from(found[u * 13 + i]);
                assert!(
                    (found - expected).abs() < 2e-3 * expected.abs().max(1.0),
                    "{name}: {found} {expected}"
                );
            }
        }
    }
    // Of each item the greatest weights.
    let (_, parameters, _) = fitted("gf-cf:alpha=0:neighbours=3", &choices, 1);
    assert!((0..13).all(|i| parameters.numbers[i + 1] - parameters.numbers[i] == 3));
}
