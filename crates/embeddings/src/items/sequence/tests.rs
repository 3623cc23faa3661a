//! The network and its losses against differences, and that what comes later or beside changes nothing.

use toprank_core::{Choices, Stream};

use super::loss::{Compared, Loss, Terms, compare};
use super::network::{SequenceNetwork, Shard, Sizes};
use super::*;

fn random(count: usize, purpose: &str) -> Vec<f32> {
    let mut random = Stream::new(5, purpose).open();
    (0..count).map(|_| (2.0 * random.unit() - 1.0) as f32).collect()
}

const SIZES: Sizes = Sizes { width: 6, length: 5, blocks: 2, heads: 2, hidden: 7, dropout: 0.3 };

/// A network, vectors of nine items, and parameters large enough to tell their gradients from rounding.
fn small() -> (SequenceNetwork, Vec<f32>, Vec<f32>) {
    let network = SequenceNetwork::new(&SIZES);
    let mut parameters = vec![0.0; network.parameters()];
    network.init(Stream::new(3, "init"), &mut parameters);
    let moves = random(parameters.len(), "moves");
    parameters.iter_mut().zip(moves).for_each(|(p, m)| *p += 0.1 * m);
    (network, random(9 * 6, "items"), parameters)
}

const SEQUENCES: [&[u32]; 4] = [&[3, 1, 4, 8, 5], &[2], &[6, 3, 0], &[7, 3]];

fn shard(sequences: &[&[u32]]) -> Shard {
    let mut shard = Shard::default();
    for sequence in sequences {
        shard.push(sequence);
    }
    shard
}

fn outputs(sequences: &[&[u32]]) -> Vec<f32> {
    let (network, items, parameters) = small();
    let mut shard = shard(sequences);
    network.forward(&items, &parameters, None, false, &mut shard);
    shard.y
}

#[track_caller]
fn near(found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < tolerance), "{found:?} {expected:?}");
}

#[test]
fn the_gradient_of_the_network_by_parameters_and_items_equals_differences() {
    let (network, items, parameters) = small();
    let train = Some(Stream::new(9, "train"));
    let dy = random(11 * 6, "slopes");
    let loss = |items: &[f32], parameters: &[f32]| -> f64 {
        let mut shard = shard(&SEQUENCES);
        network.forward(items, parameters, train, false, &mut shard);
        shard.y.iter().zip(&dy).map(|(y, d)| f64::from(*y) * f64::from(*d)).sum()
    };
    let mut shard = shard(&SEQUENCES);
    network.forward(&items, &parameters, train, true, &mut shard);
    network.backward(&parameters, &mut shard, &mut dy.clone());
    let mut to_items = vec![0.0; items.len()];
    for (&item, dx) in shard.items.iter().zip(shard.dx.chunks(6)) {
        to_items[item as usize * 6..][..6].iter_mut().zip(dx).for_each(|(to, dx)| *to += dx);
    }
    let step = 2e-3;
    let differ = |values: &[f32], loss: &dyn Fn(&[f32]) -> f64, found: &[f32], what: &str| {
        let mut moved = values.to_vec();
        let mut off = 0;
        for i in 0..values.len() {
            moved[i] = values[i] + step;
            let up = loss(&moved);
            moved[i] = values[i] - step;
            let slope = (up - loss(&moved)) / f64::from(2.0 * step);
            moved[i] = values[i];
            // Sums in f32 and third derivatives; a rectifier may turn within a step, rarely.
            off += usize::from((slope - f64::from(found[i])).abs() > 5e-3 * (1.0 + slope.abs()));
        }
        assert!(off * 50 <= values.len(), "{what}: {off} of {}", values.len());
        assert!(found.iter().any(|slope| slope.abs() > 0.1), "{what}");
    };
    differ(&parameters, &|parameters| loss(&items, parameters), &shard.gradient, "parameters");
    differ(&items, &|items| loss(items, &parameters), &to_items, "items");
}

/// The loss of the rows, in f64.
fn plain(loss: Loss, rows: &[f32], candidates: &[f32], targets: &[u32], pi: &[f64], k: f64, n: f64) -> f64 {
    let score = |r: usize, c: usize| -> f64 {
        (0..4).map(|i| f64::from(rows[r * 4 + i]) * f64::from(candidates[c * 4 + i])).sum()
    };
    let softplus = |x: f64| (1.0 + x.exp()).ln();
    let each = targets.iter().enumerate().map(|(r, &target)| {
        let target = target as usize;
        let others = (0..pi.len()).filter(|&c| c != target);
        let own = score(r, target);
        match loss {
            Loss::Softmax => (own.exp() + others.map(|c| score(r, c).exp() / pi[c]).sum::<f64>()).ln() - own,
            Loss::Gbce => {
                let beta = 1.0 - 0.75 * (1.0 - k / (n - 1.0));
                let others: f64 = others.map(|c| k / ((n - 1.0) * pi[c]) * softplus(score(r, c))).sum();
                (beta * softplus(-own) + others) / (k + 1.0)
            }
        }
    });
    each.sum()
}

#[test]
fn losses_and_their_slopes_equal_the_formula_and_its_differences() {
    let (rows, candidates) = (random(7 * 4, "rows"), random(19 * 4, "candidates"));
    let targets: [u32; 7] = [3, 18, 0, 0, 7, 11, 3];
    let uneven: Vec<f64> = (0..19).map(|c| 0.1 + 0.9 * f64::from(c) / 19.0).collect();
    for loss in [Loss::Softmax, Loss::Gbce] {
        for (pi, given, k, n) in [(&uneven, &uneven[..], 5, 40), (&vec![1.0; 19], &[], 18, 19)] {
            let terms = Terms::new(loss, given, k, n);
            let compared = Compared { rows: &rows, candidates: &candidates, targets: &targets, width: 4 };
            let (mut to_rows, mut to_candidates) = (vec![9.0; 28], vec![9.0; 76]);
            let value = compare(&terms, &compared, &mut Vec::new(), &mut to_rows, &mut to_candidates);
            let of = |rows: &[f32], candidates: &[f32]| {
                plain(loss, rows, candidates, &targets, pi, k as f64, n as f64)
            };
            let exact = of(&rows, &candidates);
            assert!((value - exact).abs() < 1e-4 * exact, "{loss:?}: {value} {exact}");
            let differ = |values: &[f32], slopes: &[f32], of: &dyn Fn(&[f32]) -> f64| {
                let mut moved = values.to_vec();
                for i in 0..values.len() {
                    moved[i] = values[i] + 1e-2;
                    let up = of(&moved);
                    moved[i] = values[i] - 1e-2;
                    // Slopes are those of the mean of the rows.
                    let slope = (up - of(&moved)) / 2e-2 / 7.0;
                    moved[i] = values[i];
                    assert!((slope - f64::from(slopes[i])).abs() < 1e-5, "{loss:?}: {slope} {}", slopes[i]);
                }
            };
            differ(&rows, &to_rows, &|moved| of(moved, &candidates));
            differ(&candidates, &to_candidates, &|moved| of(&rows, moved));
        }
    }
}

#[test]
fn many_rows_and_candidates_are_the_sum_of_few() {
    // More than one block of rows and of candidates.
    let (rows, candidates) = (random(300 * 4, "rows"), random(2500 * 4, "candidates"));
    let targets: Vec<u32> = (0..300).map(|r| r * 7).collect();
    let terms = Terms::new(Loss::Softmax, &[], 0, 2500);
    let run = |rows: &[f32], targets: &[u32]| {
        let (mut to_rows, mut to_candidates) = (vec![0.0; rows.len()], vec![0.0; candidates.len()]);
        let compared = Compared { rows, candidates: &candidates, targets, width: 4 };
        let loss = compare(&terms, &compared, &mut Vec::new(), &mut to_rows, &mut to_candidates);
        (loss, to_rows, to_candidates)
    };
    let (loss, to_rows, to_candidates) = run(&rows, &targets);
    let (mut total, mut sum) = (0.0, vec![0.0; candidates.len()]);
    for r in 0..300 {
        let (loss, own, others) = run(&rows[r * 4..][..4], &targets[r..][..1]);
        total += loss;
        near(&own.iter().map(|d| d / 300.0).collect::<Vec<_>>(), &to_rows[r * 4..][..4], 1e-7);
        sum.iter_mut().zip(others).for_each(|(sum, d)| *sum += d / 300.0);
    }
    assert!((loss - total).abs() < 1e-3 * total);
    near(&sum, &to_candidates, 1e-6);
}

#[test]
fn sequences_beside_a_sequence_do_not_change_it_so_there_is_no_padding_to_see() {
    let together = outputs(&SEQUENCES);
    let mut first = 0;
    for sequence in SEQUENCES {
        let rows = sequence.len() * 6;
        near(&outputs(&[sequence]), &together[first..first + rows], 1e-5);
        first += rows;
    }
    near(&outputs(&[&[], &[3, 1], &[]]), &outputs(&[&[3, 1]]), 1e-6);
}

#[test]
fn later_items_do_not_change_what_is_scored_before_them() {
    let whole = outputs(&[&[3, 1, 4, 8, 5]]);
    let other = outputs(&[&[3, 1, 4, 0, 2]]);
    assert_eq!(whole[..18], other[..18], "by a bit");
    assert_ne!(whole[18..], other[18..]);
    near(&outputs(&[&[3, 1, 4]]), &whole[..18], 1e-5);
}

fn histories(of: &[&[(u32, f32, u32)]]) -> Choices {
    let mut choices = Choices::of_items(9);
    for pairs in of {
        choices.push(pairs.iter().map(|(item, label, _)| (*item, *label)));
        choices.later.extend(pairs.iter().map(|(.., later)| *later));
    }
    choices
}

fn scored(histories: &Choices) -> Vec<f32> {
    let model = parse("sequence:width=6:heads=2:length=3:hidden=7");
    let mut parameters = model.start(histories, Stream::new(1, "init"));
    // Initial vectors are small, and so would be what tells scores apart.
    let mut values = parameters.values.to_vec();
    values[..54].iter_mut().for_each(|value| *value *= 20.0);
    parameters.values = values.into();
    let users: Vec<u32> = (0..histories.len() as u32).collect();
    let mut scores = vec![f32::NAN; histories.len() * 9];
    model.scores(&parameters, histories, &users, &mut scores);
    scores
}

fn parse(text: &str) -> Box<dyn ItemModel> {
    crate::parse_item_model(text).unwrap()
}

#[test]
fn the_last_items_count_in_their_order_and_disliked_ones_do_not() {
    let all = histories(&[
        &[(1, 1.0, 2), (4, 1.0, 0), (7, 1.0, 1)],
        &[(1, 1.0, 0), (4, 1.0, 2), (7, 1.0, 1)],
        // An item before the last three, and one that was disliked.
        &[(0, 1.0, 4), (1, 1.0, 2), (2, 0.0, 3), (4, 1.0, 0), (7, 1.0, 1)],
        &[],
    ]);
    let scores = scored(&all);
    near(&scores[..9], &scores[18..27], 1e-5);
    assert!(scores[..9].iter().zip(&scores[9..]).any(|(a, b)| (a - b).abs() > 1e-3));
    assert_eq!(scores[27..], [0.0; 9]);
}

#[test]
fn interactions_without_an_order_are_refused_with_the_reason() {
    let model = parse("sequence:width=6");
    let choices = Choices { later: Vec::new(), ..histories(&[&[(1, 1.0, 1), (3, 1.0, 0)]]) };
    let mut parameters = model.start(&choices, Stream::new(1, "init"));
    let error = model.fit(&choices, &mut parameters, &mut FitState::default()).unwrap_err().to_string();
    assert!(error.contains("order in time is not known") && error.contains("leave-last"), "{error}");
    for text in
        ["sequence:width=6:heads=4", "sequence:negatives=0", "sequence:negatives=some", "sequence:dropout=1"]
    {
        assert!(crate::parse_item_model(text).is_err(), "{text}");
    }
}

#[test]
fn large_catalogues_are_compared_with_drawn_items_unless_something_else_is_said() {
    let drawn = |text: &str, items: usize, interactions: usize| {
        Sequence::read(&Spec::parse(text).unwrap()).unwrap().drawn(items, interactions)
    };
    assert_eq!(drawn("sequence", 12_101, 153_776), None);
    assert_eq!(drawn("sequence", 26_744, 20_000_000), Some(1024));
    assert_eq!(drawn("sequence:negatives=all", 26_744, 20_000_000), None);
    assert_eq!(drawn("sequence:loss=gbce", 12_101, 153_776), Some(256));
    assert_eq!(drawn("sequence:negatives=77", 100, 5), Some(77));
    assert_eq!(drawn("sequence:negatives=100", 100, 5), None);
}

#[test]
fn moments_of_another_model_are_refused() {
    let choices = histories(&[&[(1, 1.0, 1), (3, 1.0, 0)]]);
    let model = parse("sequence:width=6");
    let mut parameters = model.start(&choices, Stream::new(1, "init"));
    let mut state = FitState { epoch: 1, last: vec![0; 3], ..FitState::default() };
    assert!(model.fit(&choices, &mut parameters, &mut state).is_err());
}

/// Users walk round a circle of nine items.
#[test]
fn what_follows_what_is_learned_by_every_loss_and_with_drawn_candidates() {
    let mut choices = Choices::of_items(9);
    for user in 0..40u32 {
        let mut pairs: Vec<(u32, u32)> = (0..5).map(|t| ((user + t) % 9, 4 - t)).collect();
        pairs.sort_unstable();
        choices.push(pairs.iter().map(|(item, _)| (*item, 1.0)));
        choices.later.extend(pairs.iter().map(|(_, later)| *later));
    }
    for options in ["", ":negatives=3", ":loss=gbce:negatives=3", ":loss=gbce:negatives=all"] {
        let model =
            parse(&format!("sequence:width=8:hidden=16:dropout=0.1:batch=8:learning-rate=0.01{options}"));
        let mut parameters = model.start(&choices, Stream::new(1, "init"));
        let mut state = FitState { stream: Stream::new(1, "fit"), ..FitState::default() };
        let mut losses = Vec::new();
        for epoch in 0..30 {
            state.epoch = epoch;
            losses.extend(model.fit(&choices, &mut parameters, &mut state).unwrap());
        }
        assert!(losses[29] < 0.5 * losses[0], "{options}: {losses:?}");
        let users: Vec<u32> = (0..40).collect();
        let mut scores = vec![0.0; 40 * 9];
        model.scores(&parameters, &choices, &users, &mut scores);
        for (user, scores) in scores.chunks(9).enumerate() {
            let best = (0..9).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap();
            assert_eq!(best, (user + 5) % 9, "{options}");
        }
    }
}

#[test]
fn a_sum_over_drawn_candidates_is_in_expectation_that_over_all_items() {
    // 2000 batches of two users: how often an item is among the candidates is as often as is said.
    let choices = histories(&[
        &[(1, 1.0, 1), (3, 1.0, 0)],
        &[(1, 1.0, 0), (5, 1.0, 1), (6, 1.0, 2)],
        &[(1, 1.0, 0), (8, 1.0, 1)],
    ]);
    let (mut found, mut said) = ([0.0; 9], [0.0; 9]);
    let rounds = 2000;
    for round in 0..rounds {
        for (item, probability) in epoch::drawn(&choices, 2, round) {
            found[item as usize] += 1.0 / rounds as f64;
            said[item as usize] = probability;
        }
    }
    for item in [0, 2, 4, 7] {
        // Never in a batch: five standard deviations of a frequency near 0.2.
        assert!((found[item] - said[item]).abs() < 0.045, "{item}: {} {}", found[item], said[item]);
    }
    assert!(said[1] > said[3] && said[3] > said[0]);
}
