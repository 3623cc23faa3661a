//! Objectives that are special cases, limits or other forms of each other.

use toprank_core::{Lists, Stream};
use toprank_objectives::kernels::scalar::log_sum_exp;
use toprank_objectives::{Batch, Draws, Gradients};

use super::{HINGE, classes, close, close_all, goal, list, mean_of_pairs, of};

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
    let reference = relevant.iter().map(|s| HINGE.at(others[0] - s).0).sum::<f64>() / relevant.len() as f64;
    assert!(close(loss, reference, 1e-12));
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
        let reference = mean_of_pairs(&relevant, &[1.0 / 15.0; 15], &others, &b);
        for variables in ["online", "exact"] {
            let (loss, _) = of(&format!("pauc-cvar:fpr={fpr}:variables={variables}"), &scores, &labels);
            assert!(close(loss, reference, 1e-12), "fpr {fpr}, {variables}: {loss} for {reference}");
        }
        for tpr in [0.0, 0.2, 0.5, 0.93] {
            let k1 = (15.0 * (1.0 - tpr) + 1e-9_f64).floor() as usize;
            let a: Vec<f64> = (0..15).map(|k| if k < k1 { 1.0 / k1 as f64 } else { 0.0 }).collect();
            let reference = mean_of_pairs(&relevant, &a, &others, &b);
            for variables in ["online", "exact"] {
                let text = format!("tpauc-minmax:fpr={fpr}:tpr={tpr}:variables={variables}");
                let (loss, _) = of(&text, &scores, &labels);
                assert!(close(loss, reference, 1e-10), "{text}: {loss} for {reference}");
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
    let check = |text: &str, a: &[f64], b: &[f64], relevant: &[f64]| {
        let reference = mean_of_pairs(relevant, a, &others, b);
        for way in ["exact", "quantile"] {
            let sharp = format!("sharpness=2000:tau1=1e-4:tau2=0:threshold={way}");
            let (loss, _) = of(&format!("{text}:{sharp}"), &scores, &labels);
            assert!(close(loss, reference, 1e-6), "{text}:threshold={way}: {loss} for {reference}");
        }
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
    let found = of(&format!("recall-threshold@20:surrogate=squared-hinge:{exact}"), &scores, &labels).0;
    assert!(close(found, recall, 1e-6), "{found} for {recall}");
    let found = of(&format!("precision-threshold@20:surrogate=squared-hinge:{exact}"), &scores, &labels).0;
    assert!(close(found, 1.0 - (15.0 / 20.0) * (1.0 - recall), 1e-6), "{found}");
    for (rho, place) in [(0.8, 12), (0.81, 13), (1.0, 15), (0.01, 1)] {
        let reference = others.iter().map(|t| HINGE.at(t - relevant[place - 1]).0).sum::<f64>() / 75.0;
        let found = of(&format!("precision-at-recall:recall={rho}:{exact}"), &scores, &labels).0;
        assert!(close(found, reference, 1e-6), "recall {rho}: {found} for {reference}");
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
        ("k-song@48", "song:gamma=0.1"),
        ("k-song@48:form=practical", "song:gamma=0.1"),
        ("k-song@1000:gamma=0.5", "song:gamma=0.5"),
        ("k-song-v1@48", "song-v1:gamma=0.1"),
        ("k-song-v2@48", "song-v2"),
        ("k-song-rank@48", "song:gamma=0.1"),
        ("top-ap@48", "ap:surrogate=sigmoid"),
        ("top-ap@48:gate=rank", "ap:surrogate=sigmoid"),
        ("top-ap@48:gate=tracked-rank", "ap:surrogate=sigmoid"),
        ("top-ap@48:gate=tracked-rank:form=theoretical", "ap:surrogate=sigmoid"),
        ("k-song-rank@48:form=practical", "song:gamma=0.1"),
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

#[test]
fn a_gate_of_ranks_is_open_above_place_k_and_shut_below() {
    // Five items far above all others: soft ranks, sums of squared hinges, are below 6 there and above 2000 elsewhere.
    let scores: Vec<f64> = (0..60).map(|j| if j < 5 { 10.0 } else { -10.0 } - 0.01 * f64::from(j)).collect();
    for (gated, plain) in [
        ("k-song-rank@30:sharpness=50", "song"),
        ("k-song-rank@30:sharpness=50:form=practical", "song"),
        ("top-ap@30:gate=rank:sharpness=50:surrogate=squared-hinge", "ap"),
        ("top-ap@30:gate=tracked-rank:sharpness=50:surrogate=squared-hinge", "ap"),
    ] {
        let at = |text: &str, first: usize| {
            let labels: Vec<f32> =
                (0..60).map(|j| if (first..first + 5).contains(&j) { 1.0 } else { 0.0 }).collect();
            of(text, &scores, &labels)
        };
        assert!(
            close(at(gated, 0).0, at(plain, 0).0, 1e-9),
            "{gated}: {:?} for {:?}",
            at(gated, 0),
            at(plain, 0)
        );
        assert!(at(gated, 50).1.iter().all(|g| g.abs() < 1e-9), "{gated} learns from the end of the list");
        assert!(
            at(plain, 50).1.iter().any(|g| g.abs() > 1e-6),
            "else the line above proves nothing of {plain}"
        );
    }
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
