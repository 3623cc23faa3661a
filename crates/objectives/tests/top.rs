//! Performance at the top: what objectives of areas, thresholds and duals promise beyond the contract. Identities between
//! them, limits, derivatives at exact thresholds, states that reach their closed forms, numbers that do not overflow.

use toprank_core::{List, Lists, Policy, Stream};
use toprank_objectives::bilevel::{move_threshold, thresholds};
use toprank_objectives::compositional::Surrogate;
use toprank_objectives::kernels::scalar::{log_add_exp, log_sum_exp};
use toprank_objectives::{Batch, Draws, Goal, Gradients, OBJECTIVES, State};

fn goal(text: &str) -> Goal {
    Goal::parse(text, &Policy::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Loss and gradient of a list seen for the first time.
fn of(text: &str, scores: &[f64], labels: &[f32]) -> (f64, Vec<f64>) {
    goal(text).of_list(&List::new(scores, labels)).unwrap()
}

/// One list of `n` items, one in six relevant, most of them high.
fn list(n: usize, seed: u64) -> (Vec<f64>, Vec<f32>) {
    let mut random = Stream::new(seed, "top").open();
    let labels: Vec<f32> = (0..n).map(|j| if j % 6 == 1 { 1.0 } else { 0.0 }).collect();
    let scores = labels.iter().map(|y| 0.7 * f64::from(*y) + 2.0 * random.unit() - 1.0).collect();
    (scores, labels)
}

fn step(goal: &Goal, lists: &Lists, scores: &[f64], state: &mut State, at: u64) -> Gradients {
    let mut out = Gradients::default();
    let stream = Stream::new(1, "objective").at_step(at);
    goal.step(&Batch { stream, ..Batch::all(lists, scores) }, state, &mut out).unwrap();
    out
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs().max(1e-12)
}

fn close_all(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    let scale = b.iter().fold(1e-12, |m: f64, x| m.max(x.abs()));
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= tolerance * scale)
}

/// Scores of relevant items rising, of others falling.
fn classes(scores: &[f64], labels: &[f32]) -> (Vec<f64>, Vec<f64>) {
    let of = |relevant: bool| {
        let members = scores.iter().zip(labels).filter(|(_, y)| (**y > 0.0) == relevant);
        members.map(|(s, _)| *s).collect::<Vec<f64>>()
    };
    let (mut relevant, mut others) = (of(true), of(false));
    relevant.sort_by(f64::total_cmp);
    others.sort_by(|a, b| b.total_cmp(a));
    (relevant, others)
}

const HINGE: Surrogate = Surrogate::SquaredHinge { margin: 1.0 };

/// The mean of ℓ over pairs, the relevant items weighed by `a`, the others by `b`.
fn mean_of_pairs(relevant: &[f64], a: &[f64], others: &[f64], b: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (s, a) in relevant.iter().zip(a) {
        for (t, b) in others.iter().zip(b) {
            sum += a * b * HINGE.at(t - s).0;
        }
    }
    sum
}

// ── Identities ──

#[test]
fn auroc_is_every_partial_area_over_the_whole_range() {
    let (scores, labels) = list(60, 1);
    for surrogate in ["squared-hinge", "hinge", "logistic", "sigmoid", "huber"] {
        let with = |text: &str| of(&format!("{text}:surrogate={surrogate}"), &scores, &labels);
        let (loss, gradient) = with("auroc");
        for same in [
            "pauc-bilevel:fpr=1",
            "pauc-cvar:fpr=1",
            "pauc-cvar:fpr=1:variables=exact",
            "tpauc-bilevel:fpr=1:tpr=0",
            "tpauc-minmax:fpr=1:tpr=0",
            "tpauc-minmax:fpr=1:tpr=0:variables=exact",
            "pap@1000",
            "p-norm-push:p=1",
        ] {
            let (found, slopes) = with(same);
            assert!(close(found, loss, 1e-9), "{same}, {surrogate}: {found} for {loss}");
            assert!(close_all(&slopes, &gradient, 1e-9), "{same}, {surrogate}");
        }
    }
    let (square, minmax) =
        (of("auroc:surrogate=square", &scores, &labels), of("auroc-minmax", &scores, &labels));
    assert!(close(minmax.0, square.0, 1e-12) && close_all(&minmax.1, &square.1, 1e-12));
}

#[test]
fn the_top_push_is_a_one_way_area_that_ends_at_the_first_other() {
    let (scores, labels) = list(60, 2); // 50 others
    let (loss, gradient) = of("top-push", &scores, &labels);
    let (relevant, others) = classes(&scores, &labels);
    let twin = relevant.iter().map(|s| HINGE.at(others[0] - s).0).sum::<f64>() / relevant.len() as f64;
    assert!(close(loss, twin, 1e-12));
    for same in ["pauc-cvar:fpr=0.02", "pauc-cvar:fpr=0.02:variables=exact", "pauc-cvar:fpr=0.0399"] {
        let (found, slopes) = of(same, &scores, &labels);
        assert!(close(found, loss, 1e-12) && close_all(&slopes, &gradient, 1e-12), "{same}");
    }
    let bilevel = of("pauc-bilevel:fpr=0.02", &scores, &labels);
    assert_eq!(of("top-push-bilevel", &scores, &labels), bilevel);
}

#[test]
fn cvar_is_the_mean_over_the_sorted_top_and_two_way_over_both_ends() {
    let (scores, labels) = list(90, 3); // 15 relevant, 75 others
    let (relevant, others) = classes(&scores, &labels);
    for fpr in [0.02, 0.1, 0.3, 0.77, 1.0] {
        let k2 = (75.0_f64 * fpr + 1e-9).floor() as usize;
        let b: Vec<f64> = (0..75).map(|k| if k < k2 { 1.0 / k2 as f64 } else { 0.0 }).collect();
        let twin = mean_of_pairs(&relevant, &[1.0 / 15.0; 15], &others, &b);
        for variables in ["online", "exact"] {
            let (loss, _) = of(&format!("pauc-cvar:fpr={fpr}:variables={variables}"), &scores, &labels);
            assert!(close(loss, twin, 1e-12), "fpr {fpr}, {variables}: {loss} for {twin}");
        }
        for tpr in [0.0, 0.2, 0.5, 0.93] {
            let k1 = (15.0 * (1.0 - tpr) + 1e-9_f64).floor() as usize;
            let a: Vec<f64> = (0..15).map(|k| if k < k1 { 1.0 / k1 as f64 } else { 0.0 }).collect();
            let twin = mean_of_pairs(&relevant, &a, &others, &b);
            for variables in ["online", "exact"] {
                let text = format!("tpauc-minmax:fpr={fpr}:tpr={tpr}:variables={variables}");
                let (loss, _) = of(&text, &scores, &labels);
                assert!(close(loss, twin, 1e-10), "{text}: {loss} for {twin}");
            }
        }
    }
}

/// Items above (or below) a threshold that stands at the k-th of them, from 0: 1 before it, half at it, 0 behind.
fn hard(n: usize, k: usize) -> Vec<f64> {
    let mut weights = vec![0.0; n];
    weights[..k].fill(1.0);
    weights[k] = 0.5;
    weights
}

#[test]
fn thresholds_select_the_enumerated_pairs_when_gates_are_hard() {
    // Scores far apart: λ stands on its item to 1e-9, gates are 0, ½ or 1.
    let mut random = Stream::new(4, "top").open();
    let mut places: Vec<usize> = (0..90).collect();
    random.shuffle(&mut places);
    let labels: Vec<f32> = (0..90).map(|j| if j % 6 == 1 { 1.0 } else { 0.0 }).collect();
    let scores: Vec<f64> = places.iter().map(|p| 0.05 * *p as f64).collect();
    let (mut relevant, others) = classes(&scores, &labels);
    let sharp = "sharpness=2000:tau1=1e-4:tau2=0:threshold=exact";
    let check = |text: &str, a: &[f64], b: &[f64], relevant: &[f64]| {
        let (loss, _) = of(&format!("{text}:{sharp}"), &scores, &labels);
        let twin = mean_of_pairs(relevant, a, &others, b);
        assert!(close(loss, twin, 1e-6), "{text}: {loss} for {twin}");
    };
    // One-way: k1 = ⌈75·0.1⌉ = 8 others before, k2 = ⌊75·0.3⌋ = 22 to the end; the items at both thresholds count half:
    // the 8th from the top (λ1 stands on it) and the 23rd.
    let b: Vec<f64> = (0..75)
        .map(|k| match k {
            7 | 22 => 0.5 / 14.0,
            8..=21 => 1.0 / 14.0,
            _ => 0.0,
        })
        .collect();
    check("pauc-bilevel:from=0.1:fpr=0.3", &[1.0 / 15.0; 15], &b, &relevant);
    // Two-way: the k1 = 7 lowest relevant, and the next one half; k2 = 22.
    let a: Vec<f64> = hard(15, 7).iter().map(|x| x / 7.0).collect();
    let b: Vec<f64> = hard(75, 22).iter().map(|x| x / 22.0).collect();
    check("tpauc-bilevel:fpr=0.3:tpr=0.5", &a, &b, &relevant);
    relevant.reverse();
    let (a, b): (Vec<f64>, Vec<f64>) =
        (hard(15, 4).iter().map(|x| x / 4.0).collect(), hard(75, 4).iter().map(|x| x / 4.0).collect());
    check("pap@4", &a, &b, &relevant);

    // Single items: λ on the (K+1)-th score of all, and on the ⌈ρN+⌉-th relevant.
    let mut all = scores.clone();
    all.sort_by(|a, b| b.total_cmp(a));
    let exact = "tau1=1e-4:tau2=0:threshold=exact";
    let recall = relevant.iter().map(|s| HINGE.at(all[20] - s).0).sum::<f64>() / 15.0;
    let found = of(&format!("recall-threshold@20:{exact}"), &scores, &labels).0;
    assert!(close(found, recall, 1e-6), "{found} for {recall}");
    let found = of(&format!("precision-threshold@20:{exact}"), &scores, &labels).0;
    assert!(close(found, 1.0 - (15.0 / 20.0) * (1.0 - recall), 1e-6), "{found}");
    for (rho, place) in [(0.8, 12), (0.81, 13), (1.0, 15), (0.01, 1)] {
        let twin = others.iter().map(|t| HINGE.at(t - relevant[place - 1]).0).sum::<f64>() / 75.0;
        let found = of(&format!("precision-at-recall:recall={rho}:{exact}"), &scores, &labels).0;
        assert!(close(found, twin, 1e-6), "recall {rho}: {found} for {twin}");
    }
}

#[test]
fn kl_forms_tend_to_their_limits() {
    let (scores, labels) = list(60, 5);
    let loss = |text: &str| of(text, &scores, &labels).0;
    let (push, mean) = (loss("top-push"), loss("auroc"));
    for lambda in [1.0, 0.1, 1e-3, 1e-6] {
        let found = loss(&format!("pauc-kl:lambda={lambda}"));
        assert!(
            found <= push + 1e-12 && push - found <= lambda * 50f64.ln() + 1e-12,
            "λ = {lambda}: {found}"
        );
        assert_eq!(found, loss(&format!("top-push-kl:lambda={lambda}")));
    }
    let gap = |lambda: f64| loss(&format!("pauc-kl:lambda={lambda}")) - mean;
    assert!(gap(10.0) > 0.0 && gap(1e4) < 1e-3 * mean && gap(1e7) < 1e-6 * mean);
    // Two-way: λ' → ∞ is one-way, λ' = λ the KL form over all pairs, both → 0 the worst pair.
    let one_way = of("pauc-kl:lambda=0.5", &scores, &labels);
    let wide = of("tpauc-kl:lambda=0.5:worst=1e9", &scores, &labels);
    assert!(close(wide.0, one_way.0, 1e-6) && close_all(&wide.1, &one_way.1, 1e-6));
    let (relevant, others) = classes(&scores, &labels);
    let pairs: Vec<f64> =
        relevant.iter().flat_map(|s| others.iter().map(move |t| HINGE.at(t - s).0)).collect();
    let exponents: Vec<f64> = pairs.iter().map(|l| l / 0.5).collect();
    let all = 0.5 * (log_sum_exp(&exponents) - (pairs.len() as f64).ln());
    assert!(close(loss("tpauc-kl:lambda=0.5:worst=0.5"), all, 1e-12));
    let worst = pairs.iter().copied().fold(0.0, f64::max);
    let small = loss("tpauc-kl:lambda=1e-5:worst=1e-5");
    assert!(small <= worst + 1e-9 && worst - small < 1e-5 * 10.0, "{small} for {worst}");
}

#[test]
fn k_song_with_all_places_is_song_and_top_ap_is_ap() {
    let (scores, labels) = list(48, 6);
    let lists = Lists::from_lengths(&[48], labels);
    let moved: Vec<f64> = scores.iter().map(|s| s + 0.3 * (9.0 * s).sin()).collect();
    for (gated, plain) in [
        ("k-song@48", "song"),
        ("k-song@48:form=practical", "song"),
        ("k-song@1000:gamma=0.5", "song:gamma=0.5"),
        ("k-song-v1@48", "song-v1"),
        ("k-song-v2@48", "song-v2"),
        ("k-song-rank@48", "song"),
        ("top-ap@48", "ap"),
        ("top-ap@48:gate=rank", "ap"),
    ] {
        let run = |text: &str| {
            let goal = goal(text);
            let mut state = goal.state(&lists).unwrap();
            [&scores, &moved, &scores].map(|scores| {
                let mut out = Gradients::default();
                let batch = Batch { previous: Some(&moved), ..Batch::all(&lists, scores) };
                goal.step(&batch, &mut state, &mut out).unwrap();
                (out.loss, out.gradient, out.gradient_previous)
            })
        };
        assert_eq!(run(gated), run(plain), "{gated} and {plain}");
    }
    assert_ne!(of("k-song@47", &scores, &lists.labels), of("song", &scores, &lists.labels));
}

/// Three steps over samples that move, with the scores of the step before.
fn tracked_steps(text: &str) -> Vec<f64> {
    let (base, labels) = list(48, 7);
    let lists = Lists::from_lengths(&[48], labels);
    let goal = goal(text);
    let mut state = goal.state(&lists).unwrap();
    let mut all = Vec::new();
    let at = |t: u64| -> Vec<f64> { base.iter().map(|s| s + 0.2 * (5.0 * s + t as f64).sin()).collect() };
    for t in 0..4 {
        let items: Vec<u32> = (0..48).filter(|j| j % 6 == 1 || (u64::from(*j) + t) % 3 == 0).collect();
        let pick = |scores: Vec<f64>| items.iter().map(|j| scores[*j as usize]).collect::<Vec<f64>>();
        let (now, before) = (pick(at(t + 1)), pick(at(t)));
        let draws = Draws {
            lists: vec![0],
            offsets: vec![0, items.len() as u64],
            items: items.clone(),
            ..Draws::default()
        };
        let mut out = Gradients::default();
        let batch = Batch {
            draws: Some(&draws),
            previous: Some(&before),
            stream: Stream::new(1, "objective").at_step(t),
            ..Batch::all(&lists, &now)
        };
        goal.step(&batch, &mut state, &mut out).unwrap();
        all.push(out.loss);
        all.extend(out.gradient);
    }
    all
}

#[test]
fn trackers_are_special_cases_of_each_other() {
    for (general, special) in [
        ("song-v1:gamma=1:beta=0", "song-minibatch"),
        ("song:gamma=1", "song-minibatch"),
        ("song-v1:gamma=0.3:beta=0", "song:gamma=0.3"),
        ("song-v1:gamma=0.3:beta=0.7", "song-storm:gamma=0.3"),
        ("song-v2:gamma=0.3:beta=0.7:tau=1", "song-storm:gamma=0.3"),
        ("k-song-v1@10:gamma=0.3:beta=0:threshold=exact", "k-song@10:gamma=0.3:threshold=exact"),
        ("k-song-v1@10:gamma=0.3:beta=0:threshold=quantile", "k-song@10:gamma=0.3:threshold=quantile"),
    ] {
        let (a, b) = (tracked_steps(general), tracked_steps(special));
        assert!(close_all(&a, &b, 1e-12), "{general} is not {special}");
    }
    assert!(!close_all(&tracked_steps("song-v1:gamma=0.3:beta=0.5"), &tracked_steps("song:gamma=0.3"), 1e-3));
}

// ── Derivatives at exact thresholds ──

/// The largest error of the gradient against five-point differences, by the largest slope; λ solved exactly, u exact.
fn derivative_error(text: &str, scores: &[f64], lists: &Lists) -> f64 {
    let goal = goal(text);
    let state = {
        // Not on the first visit: trackers and thresholds remember other scores.
        let mut state = goal.state(lists).unwrap();
        let other: Vec<f64> = scores.iter().map(|s| 0.8 * s + 0.1 * (3.0 * s).cos()).collect();
        step(&goal, lists, &other, &mut state, 0);
        state
    };
    // D, the unit of the lower level, is a constant of the derivative.
    let at = |moved: &[f64]| {
        let mut out = Gradients::default();
        let stream = Stream::new(1, "objective").at_step(1);
        let batch = Batch { stream, frozen: Some(scores), ..Batch::all(lists, moved) };
        goal.step(&batch, &mut state.clone(), &mut out).unwrap();
        out
    };
    let gradient = at(scores).gradient;
    let scale = gradient.iter().fold(0.0, |top: f64, g| top.max(g.abs()));
    let mut moved = scores.to_vec();
    let mut worst = 0.0_f64;
    for (i, g) in gradient.iter().enumerate() {
        let h = 2e-5;
        let mut value = |by: f64| {
            moved[i] = scores[i] + by;
            at(&moved).loss
        };
        let numeric = (8.0 * (value(h) - value(-h)) - (value(2.0 * h) - value(-2.0 * h))) / (12.0 * h);
        moved[i] = scores[i];
        worst = worst.max((g - numeric).abs() / scale);
    }
    worst
}

#[test]
fn the_hypergradient_is_the_derivative_at_exact_thresholds() {
    let (scores, labels) = list(48, 8);
    let lists = Lists::from_lengths(&[48], labels);
    let exact_ranks = [("k-song", ""), ("k-song-v1", ""), ("k-song-v2", ":beta=0:tau=1"), ("top-ap", "")];
    for (name, rates) in exact_ranks {
        for k in [1, 5, 20] {
            for sharpness in [0.5, 1.0, 2.0, 5.0] {
                let text =
                    format!("{name}@{k}:gamma=1{rates}:threshold=exact:tau1=0.05:sharpness={sharpness}");
                let error = derivative_error(&text, &scores, &lists);
                assert!(error < 1e-6, "{text}: {error}");
            }
        }
    }
    for text in [
        "precision-threshold@10",
        "recall-threshold@10:surrogate=sigmoid:temperature=0.3",
        "precision-at-recall:recall=0.8",
        "precision-at-recall:recall=0.5:surrogate=logistic",
        "pauc-bilevel:fpr=0.3",
        "pauc-bilevel:from=0.1:fpr=0.3:surrogate=sigmoid:temperature=0.5",
        "tpauc-bilevel:fpr=0.3:tpr=0.5",
        "pap@4",
        "top-push-bilevel",
    ] {
        for tau1 in [0.02, 0.2] {
            let text = format!("{text}:gamma=1:threshold=exact:tau1={tau1}");
            let error = derivative_error(&text, &scores, &lists);
            assert!(error < 1e-6, "{text}: {error}");
        }
    }
    // Without the implicit term, or without the slope of the gate, it would not be: what this test would miss.
    let error = |form: &str| {
        derivative_error(&format!("k-song@5:gamma=1:threshold=exact:tau1=0.05:form={form}"), &scores, &lists)
    };
    assert!(error("theoretical") < 1e-6);
    let whole = goal("k-song@5:gamma=1:threshold=exact:tau1=0.05")
        .of_list(&List::new(&scores, &lists.labels))
        .unwrap();
    let stopped = goal("k-song@5:gamma=1:threshold=exact:tau1=0.05:form=practical")
        .of_list(&List::new(&scores, &lists.labels));
    assert!(!close_all(&whole.1, &stopped.unwrap().1, 0.05), "the gate's own part is not small");
}

// ── Thresholds find their place ──

/// How many of the items stand above.
fn count_above(scores: &[f64], lambda: f64) -> usize {
    scores.iter().filter(|s| **s > lambda).count()
}

#[test]
fn online_thresholds_reach_the_exact_ones_from_anywhere_at_any_scale() {
    let (base, labels) = list(600, 9);
    let lists = Lists::from_lengths(&[600], labels.clone());
    for (name, k) in
        [("k-song", 50), ("k-song-v1", 50), ("k-song-v2", 50), ("k-song", 3), ("recall-threshold", 300)]
    {
        for scale in [0.01, 0.1, 1.0, 10.0, 100.0] {
            let scores: Vec<f64> = base.iter().map(|s| s * scale).collect();
            let goal = goal(&format!("{name}@{k}"));
            let exact = {
                let mut state = goal.state(&lists).unwrap();
                step(&goal, &lists, &scores, &mut state, 0);
                thresholds(&state.of_list(0, 600))[0].unwrap() // the first visit solves
            };
            assert!(count_above(&scores, exact).abs_diff(k) <= 1, "{name}@{k} × {scale}");
            for start in [-10.0, 0.0, 10.0] {
                let mut state = goal.state(&lists).unwrap();
                step(&goal, &lists, &scores, &mut state, 0);
                move_threshold(&mut state.of_list(0, 600), 0, start);
                let mut visits = 0;
                for t in 1..=600 {
                    step(&goal, &lists, &scores, &mut state, t);
                    let lambda = thresholds(&state.of_list(0, 600))[0].unwrap();
                    if count_above(&scores, lambda).abs_diff(k) > 1 {
                        visits = t;
                    }
                }
                assert!(visits < 500, "{name}@{k} × {scale} from {start}: {visits} visits");
                let lambda = thresholds(&state.of_list(0, 600))[0].unwrap();
                assert!((lambda - exact).abs() < 0.02 * scale, "{name}@{k} × {scale}: {lambda} for {exact}");
            }
        }
    }
}

/// Half of the relevant items and 60 others of 600 items: relevant ones are drawn five times too often.
fn uneven_draw(labels: &[f32], t: u64) -> Draws {
    let mut random = Stream::new(5, "uneven").at_step(t).open();
    let mut items = Vec::new();
    for (relevant, count) in [(true, 50), (false, 60)] {
        let mut class: Vec<u32> =
            (0..labels.len() as u32).filter(|j| (labels[*j as usize] > 0.0) == relevant).collect();
        random.shuffle(&mut class);
        items.extend_from_slice(&class[..count]);
    }
    items.sort_unstable();
    Draws { lists: vec![0], offsets: vec![0, items.len() as u64], items, ..Draws::default() }
}

#[test]
fn thresholds_from_samples_with_too_many_relevant_items_refer_to_the_whole_list() {
    let (scores, labels) = list(600, 10);
    let lists = Lists::from_lengths(&[600], labels.clone());
    for name in ["k-song", "k-song-v1", "recall-threshold", "top-ap"] {
        let goal = goal(&format!("{name}@60"));
        let mut state = goal.state(&lists).unwrap();
        let mut mean = 0.0;
        for t in 0..1500 {
            let draws = uneven_draw(&labels, t);
            let drawn: Vec<f64> = draws.items.iter().map(|j| scores[*j as usize]).collect();
            let stream = Stream::new(1, "objective").at_step(t);
            let batch =
                Batch { draws: Some(&draws), stream, previous: Some(&drawn), ..Batch::all(&lists, &drawn) };
            goal.step(&batch, &mut state, &mut Gradients::default()).unwrap();
            if t >= 500 {
                mean += count_above(&scores, thresholds(&state.of_list(0, 600))[0].unwrap()) as f64 / 1000.0;
            }
        }
        // The sample as it is has 83 of the 100 relevant items' share above: 40 of 600 or fewer would be found.
        assert!((mean - 60.0).abs() < 6.0, "{name}: {mean} items above");
    }
}

#[test]
fn at_fixed_scores_every_form_of_the_implicit_term_reaches_the_exact_gradient() {
    let (scores, labels) = list(120, 11);
    let lists = Lists::from_lengths(&[120], labels);
    for name in ["k-song", "k-song-v1", "k-song-v2"] {
        let exact = goal(&format!("{name}@20:gamma=1:threshold=exact:tau1=0.1"));
        let expected = step(&exact, &lists, &scores, &mut exact.state(&lists).unwrap(), 0);
        let online = goal(&format!("{name}@20:tau1=0.1"));
        let mut state = online.state(&lists).unwrap();
        let far: Vec<f64> = scores.iter().map(|s| 0.5 * s * s + 0.3 * s).collect();
        step(&online, &lists, &far, &mut state, 0);
        let mut last = Gradients::default();
        for t in 1..3000 {
            let mut out = Gradients::default();
            let stream = Stream::new(1, "objective").at_step(t);
            let batch = Batch { stream, previous: Some(&scores), ..Batch::all(&lists, &scores) };
            online.step(&batch, &mut state, &mut out).unwrap();
            last = out;
        }
        assert!(close_all(&last.gradient, &expected.gradient, 1e-3), "{name}");
        assert!(close(last.loss, expected.loss, 1e-3), "{name}: {} for {}", last.loss, expected.loss);
    }
}

// ── Duals and means reach their closed forms ──

#[test]
fn a_b_and_alpha_reach_the_means_and_the_gap() {
    let (scores, labels) = list(60, 12);
    let lists = Lists::from_lengths(&[60], labels.clone());
    let (relevant, others) = classes(&scores, &labels);
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let (a, b) = (mean(&relevant), mean(&others));
    for (name, margin, alpha) in [
        ("auroc-minmax:margin=0.1", 0.1, 0.1 + b - a),
        ("auroc-margin:margin=0.1", 0.1, 0.0),
        ("auroc-margin:margin=2", 2.0, 2.0 + b - a),
    ] {
        assert!(margin == 2.0 || 0.1 + b - a < 0.0, "the classes stand apart");
        let goal = goal(name);
        let mut state = goal.state(&lists).unwrap();
        let far: Vec<f64> = scores.iter().map(|s| 5.0 - 9.0 * s).collect();
        step(&goal, &lists, &far, &mut state, 0);
        for t in 1..400 {
            step(&goal, &lists, &scores, &mut state, t);
        }
        let mut list = state.of_list(0, 60);
        let [found] = list.cut();
        assert!(close_all(found, &[a, b, alpha], 1e-9), "{name}: {found:?} for {:?}", [a, b, alpha]);
        // The saddle's value: variances and the squared gap, a score of 0 counted like any other.
        let spread = |x: &[f64], m: f64| x.iter().map(|s| (s - m) * (s - m)).sum::<f64>() / x.len() as f64;
        let value = spread(&relevant, a) + spread(&others, b) + alpha * (margin + b - a).max(alpha);
        let loss = step(&goal, &lists, &scores, &mut state, 400).loss;
        assert!(close(loss, value, 1e-9), "{name}: {loss} for {value}");
    }
}

#[test]
fn cvar_thresholds_and_two_way_duals_reach_their_closed_forms() {
    let (scores, labels) = list(90, 13); // 15 relevant, 75 others
    let lists = Lists::from_lengths(&[90], labels.clone());
    let (_, others) = classes(&scores, &labels);
    let (k1, k2) = (7, 22);
    let own: Vec<f64> = scores.iter().zip(&labels).filter(|(_, y)| **y > 0.0).map(|(s, _)| *s).collect();
    let loss_at = |s: f64, k: usize| HINGE.at(others[k] - s).0;
    let run = |text: &str, start: f64| {
        let goal = goal(text);
        let mut state = goal.state(&lists).unwrap();
        let far: Vec<f64> = scores.iter().map(|s| start * s).collect();
        step(&goal, &lists, &far, &mut state, 0);
        for t in 1..3000 {
            step(&goal, &lists, &scores, &mut state, t);
        }
        let value = step(&goal, &lists, &scores, &mut state, 3000).loss;
        (state, value)
    };
    for start in [-10.0, 0.0, 10.0] {
        let (mut state, value) = run("pauc-cvar:fpr=0.3", start);
        let mut list = state.of_list(0, 90);
        let [t] = list.cut();
        for (t, s) in t.iter().zip(&own) {
            let (low, high) = (loss_at(*s, k2), loss_at(*s, k2 - 1));
            assert!(*t >= low - 1e-6 && *t <= high + 1e-6, "from {start}: {t} outside [{low}, {high}]");
        }
        assert!(
            close(value, of("pauc-cvar:fpr=0.3:variables=exact", &scores, &labels).0, 1e-6),
            "from {start}"
        );

        let (mut state, value) = run("tpauc-minmax:fpr=0.3:tpr=0.5", start);
        let mut list = state.of_list(0, 90);
        let [q, each] = list.cut();
        let costs: Vec<f64> =
            own.iter().map(|s| (0..k2).map(|k| loss_at(*s, k)).sum::<f64>() / k2 as f64).collect();
        let mut falling = costs.clone();
        falling.sort_by(|a, b| b.total_cmp(a));
        assert!(q[0] >= falling[k1] - 1e-6 && q[0] <= falling[k1 - 1] + 1e-6, "from {start}: q' = {}", q[0]);
        for (i, cost) in costs.iter().enumerate() {
            let wanted = f64::from(u8::from(*cost > falling[k1]));
            assert!(
                (each[2 * i + 1] - wanted).abs() < 1e-6,
                "from {start}: s = {} at {cost}",
                each[2 * i + 1]
            );
        }
        let exact = of("tpauc-minmax:fpr=0.3:tpr=0.5:variables=exact", &scores, &labels).0;
        assert!(close(value, exact, 1e-6), "from {start}: {value} for {exact}");
    }
}

#[test]
fn conjugate_duals_reach_p_g_to_the_p_minus_1_and_their_loss_is_the_primal() {
    let (scores, labels) = list(60, 14);
    let lists = Lists::from_lengths(&[60], labels.clone());
    let (_, others) = classes(&scores, &labels);
    for p in [1.5, 2.0, 4.0, 10.0] {
        let goal = goal(&format!("p-norm-push-minmax:p={p}"));
        let mut state = goal.state(&lists).unwrap();
        let far: Vec<f64> = scores.iter().map(|s| -2.0 * s).collect();
        step(&goal, &lists, &far, &mut state, 0);
        for t in 1..2000 {
            step(&goal, &lists, &scores, &mut state, t);
        }
        let out = step(&goal, &lists, &scores, &mut state, 2000);
        let mut list = state.of_list(0, 60);
        let [y] = list.cut();
        let own = scores.iter().zip(&labels).filter(|(_, y)| **y > 0.0).map(|(s, _)| *s);
        for (y, s) in y.iter().zip(own) {
            let g = others.iter().map(|t| HINGE.at(t - s).0).sum::<f64>() / others.len() as f64;
            assert!(close(*y, p * g.powf(p - 1.0), 1e-4), "p = {p}: {y} for {}", p * g.powf(p - 1.0));
        }
        let primal = of(&format!("p-norm-push:p={p}"), &scores, &labels);
        assert!(close(out.loss, primal.0, 1e-9) && close_all(&out.gradient, &primal.1, 1e-5), "p = {p}");
    }
}

// ── Exponentials ──

#[test]
fn the_three_levels_of_the_kl_form_equal_their_twin_in_logarithms_at_huge_scores() {
    let (base, labels) = list(48, 15);
    let lists = Lists::from_lengths(&[48], labels.clone());
    let relevant: Vec<usize> = (0..48).filter(|j| labels[*j] > 0.0).collect();
    let others: Vec<usize> = (0..48).filter(|j| labels[*j] == 0.0).collect();
    let gamma: f64 = 0.2;
    for (scale, lambda, worst) in [(1.0, 1.0, 0.5), (1e3, 1.0, 1.0), (1e3, 1e-3, 2e-3), (1.0, 1e-3, 10.0)] {
        let goal = goal(&format!("tpauc-kl:gamma={gamma}:lambda={lambda}:worst={worst}"));
        let mut state = goal.state(&lists).unwrap();
        let follow = |u: f64, g: f64| log_add_exp((1.0 - gamma).ln() + u, gamma.ln() + g);
        let (mut ln_u, mut ln_w): (Vec<f64>, Option<f64>) = (Vec::new(), None);
        for t in 0..3 {
            let scores: Vec<f64> =
                base.iter().map(|s| scale * (s + 0.01 * (40.0 * s + f64::from(t)).sin())).collect();
            let out = step(&goal, &lists, &scores, &mut state, u64::from(t as u32));
            let exponents = |i: usize| -> Vec<f64> {
                others.iter().map(|j| HINGE.at(scores[*j] - scores[i]).0 / lambda).collect()
            };
            let ln_g: Vec<f64> =
                relevant.iter().map(|i| log_sum_exp(&exponents(*i)) - (others.len() as f64).ln()).collect();
            ln_u = if ln_u.is_empty() {
                ln_g.clone()
            } else {
                ln_u.iter().zip(&ln_g).map(|(u, g)| follow(*u, *g)).collect()
            };
            let powers: Vec<f64> = ln_u.iter().map(|u| lambda / worst * u).collect();
            let estimate = log_sum_exp(&powers) - (relevant.len() as f64).ln();
            let w = ln_w.map_or(estimate, |w| follow(w, estimate));
            ln_w = Some(w);
            let mut gradient = vec![0.0; 48];
            for (k, &i) in relevant.iter().enumerate() {
                let outer = (powers[k] - w + ln_g[k] - ln_u[k]).exp() / relevant.len() as f64;
                for (psi, &j) in exponents(i).iter().zip(&others) {
                    let share = (psi - ln_g[k]).exp() / others.len() as f64;
                    let part = outer * share * HINGE.at(scores[j] - scores[i]).1;
                    gradient[j] += part;
                    gradient[i] -= part;
                }
            }
            // Exponents of 4e9 are themselves rounded to 5e-7.
            let largest = ln_u.iter().chain(&ln_g).fold(w.abs(), |m: f64, x| m.max(x.abs()));
            let tolerance = 1e-9 + 8.0 * f64::EPSILON * largest;
            let what = format!("× {scale}, λ {lambda}, λ' {worst}, step {t}");
            assert!(
                out.loss.is_finite() && close(out.loss, worst * w, 1e-10),
                "{what}: {} for {}",
                out.loss,
                worst * w
            );
            assert!(close_all(&out.gradient, &gradient, tolerance), "{what}");
        }
    }
}

#[test]
fn forms_at_the_top_are_finite_and_scale_with_scores_of_a_thousand() {
    let (base, labels) = list(60, 16);
    let scores: Vec<f64> = base.iter().map(|s| 1e3 * s).collect();
    let (relevant, others) = classes(&scores, &labels);
    let worst = HINGE.at(others[0] - relevant[0]).0;
    for name in [
        "pauc-kl:lambda=1e-3",
        "tpauc-kl:lambda=1e-3:worst=1e-3",
        "top-push-kl:lambda=1e-3",
        "top-push",
        "pauc-cvar",
    ] {
        let (loss, gradient) = of(name, &scores, &labels);
        assert!(loss.is_finite() && loss <= worst * (1.0 + 1e-12), "{name}: {loss} above {worst}");
        assert!(gradient.iter().all(|g| g.is_finite()), "{name}");
    }
    assert!(close(of("tpauc-kl:lambda=1e-3:worst=1e-3", &scores, &labels).0, worst, 1e-6));
}

// ── What other tools fell for ──

#[test]
fn every_label_of_multi_label_data_has_its_own_duals_and_its_own_third_level() {
    let (one, labels) = list(48, 17);
    let other: Vec<f64> = one.iter().map(|s| 7.0 - 5.0 * s).collect();
    let alone = Lists::from_lengths(&[48], labels.clone());
    let both = Lists::from_lengths(&[48, 48], labels.repeat(2));
    for name in [
        "tpauc-kl",
        "auroc-minmax",
        "auroc-margin:margin=3",
        "tpauc-minmax",
        "k-song@5",
        "soprc",
        "pauc-bilevel:fpr=0.3",
    ] {
        let goal = goal(name);
        let (mut single, mut double) = (goal.state(&alone).unwrap(), goal.state(&both).unwrap());
        for t in 0..3 {
            let now: Vec<f64> = one.iter().map(|s| s + 0.1 * (4.0 * s + t as f64).sin()).collect();
            let with: Vec<f64> = now.iter().chain(&other).copied().collect();
            let (a, b) =
                (step(&goal, &alone, &now, &mut single, t), step(&goal, &both, &with, &mut double, t));
            assert_eq!(a.losses[0], b.losses[0], "{name}, step {t}: a companion disturbs");
        }
    }
}

#[test]
fn margins_and_priors_that_are_given_are_used() {
    let (scores, labels) = list(60, 18);
    let loss = |text: &str| of(text, &scores, &labels).0;
    assert!((loss("auroc-margin:margin=5") - loss("auroc-margin:margin=1")).abs() > 1.0);
    assert!((loss("soprc:prior=0.01") - loss("soprc:prior=0.5")).abs() > 0.05);
    // A list of another share of relevant items does not overwrite the prior that was given.
    let half: Vec<f64> = scores[..12].to_vec();
    let few = of("soprc:prior=0.01:penalty=0:penalty-others=0", &half, &labels[..12]).0;
    assert!((0.0..=1.0).contains(&few));
}

#[test]
fn scores_of_zero_count_like_any_other_and_one_class_alone_is_idle() {
    let scores = [0.0, 1.0, 0.0, 2.0, 0.0, -1.0];
    let labels = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    let shifted: Vec<f64> = scores.iter().map(|s| s + 0.5).collect();
    for name in
        ["auroc-minmax", "auroc-margin", "pauc-cvar:fpr=0.5", "top-push", "tpauc-kl", "soprc", "auroc"]
    {
        let (a, b) = (of(name, &scores, &labels), of(name, &shifted, &labels));
        assert!(close(a.0, b.0, 1e-9) && close_all(&a.1, &b.1, 1e-9), "{name}");
        for labels in [[0.0; 6], [1.0; 6]] {
            assert_eq!(of(name, &scores, &labels), (0.0, vec![0.0; 6]), "{name}");
        }
    }
}

#[test]
fn the_gate_of_top_k_average_precision_weighs_relevant_items_and_not_their_competitors() {
    // Two relevant items, one at the top and one far down, between many others.
    let mut scores: Vec<f64> = (0..40).map(|j| 20.0 - j as f64).collect();
    let mut labels = vec![0.0; 40];
    labels[1] = 1.0;
    labels[35] = 1.0;
    scores[0] = 19.3;
    let (_, gradient) = of("top-ap@5:sharpness=5", &scores, &labels);
    assert!(gradient[1] < 0.0, "the relevant item within the first five rises");
    assert!(gradient[0] > 0.0 && gradient[0] > gradient[33].abs(), "the other above it is pushed down");
    assert!(gradient[35].abs() < 1e-6, "the one far below counts for nothing at K = 5: {}", gradient[35]);
}

#[test]
fn what_thresholds_and_duals_have_reached_is_saved_and_loaded() {
    let (base, labels) = list(60, 19);
    let lists = Lists::from_lengths(&[60], labels);
    let stateful = OBJECTIVES
        .iter()
        .map(|line| line.entry.name)
        .filter(|name| !goal(name).objective().columns().is_empty());
    let mut checked = 0;
    for name in stateful {
        let goal = goal(name);
        let at = |t: u64| -> Vec<f64> { base.iter().map(|s| s + 0.2 * (5.0 * s + t as f64).sin()).collect() };
        let run = |state: &mut State, t: u64| {
            let mut out = Gradients::default();
            let (now, before) = (at(t), at(t.saturating_sub(1)));
            let stream = Stream::new(1, "objective").at_step(t);
            let batch = Batch { stream, previous: Some(&before), ..Batch::all(&lists, &now) };
            goal.step(&batch, state, &mut out).unwrap();
            (out.loss, out.gradient)
        };
        let mut straight = goal.state(&lists).unwrap();
        (0..3).for_each(|t| drop(run(&mut straight, t)));
        let saved = straight.save();
        let mut loaded = goal.state(&lists).unwrap();
        loaded.load(&saved).unwrap();
        for t in 3..6 {
            assert_eq!(run(&mut straight, t), run(&mut loaded, t), "{name}, step {t}");
        }
        checked += 1;
    }
    assert!(checked >= 20, "{checked} objectives with state");
}
