//! Contrastive objectives: tracked per query, in logarithms, whatever else is in the batch.

use toprank_core::{Lists, Policy, Stream};
use toprank_objectives::kernels::scalar::{log_add_exp, log_sum_exp};
use toprank_objectives::{Batch, Draws, Goal, Gradients};

use super::{close, close_all, goal, list, of, step};

const TRACKED: [&str; 4] = ["nca", "log-nca", "sup-con", "global-contrastive"];

#[test]
fn what_is_kept_of_a_query_does_not_grow() {
    let (scores, labels) = list(48, 3);
    let lists = Lists::from_lengths(&[48], labels);
    for name in TRACKED {
        let goal = goal(name);
        let mut state = goal.state(&lists).unwrap();
        let size = state.save().len();
        assert_eq!(size, 20 + 3 * 8, "{name}: three numbers, however many relevant items there are");
        for t in 0..50 {
            step(&goal, &lists, &scores, &mut state, t);
        }
        assert_eq!(state.save().len(), size, "{name}");
    }
}

#[test]
fn a_query_seen_for_the_first_time_starts_at_its_own_estimate_whatever_else_is_in_the_batch() {
    let (one, labels) = list(24, 5);
    let other: Vec<f64> = one.iter().map(|s| 0.3 - s).collect();
    let lists = Lists::from_lengths(&[24, 24], labels.repeat(2));
    for name in TRACKED {
        let goal = goal(&format!("{name}:gamma=0.1"));
        let run = |state: &mut toprank_objectives::State, which: &[u32], scores: &[f64]| {
            let draws = Draws {
                lists: which.to_vec(),
                offsets: (0..=which.len() as u64).map(|d| 24 * d).collect(),
                items: (0..24).collect::<Vec<u32>>().repeat(which.len()),
                ..Draws::default()
            };
            let mut out = Gradients::default();
            goal.step(&Batch { draws: Some(&draws), ..Batch::all(&lists, scores) }, state, &mut out).unwrap();
            out
        };
        // The first list is seen before; the second comes with it, and comes alone.
        let mut both = goal.state(&lists).unwrap();
        run(&mut both, &[0], &one);
        let together = run(&mut both, &[0, 1], &[other.clone(), one.clone()].concat());
        let alone = run(&mut goal.state(&lists).unwrap(), &[1], &one);
        assert_eq!(together.losses[1], alone.losses[0], "{name}");
        let expected: Vec<f64> = alone.gradient.iter().map(|g| g / 2.0).collect();
        assert!(close_all(&together.gradient[24..], &expected, 1e-14), "{name}");
        assert_ne!(
            together.losses[0],
            run(&mut goal.state(&lists).unwrap(), &[0], &other).losses[0],
            "{name}"
        );
    }
}

#[test]
fn a_batch_of_more_others_does_not_make_a_longer_gradient() {
    // One relevant item and k others, all alike: the others together are pushed as hard as one.
    for k in [1, 5, 50] {
        let scores: Vec<f64> = (0..=k).map(|j| if j == 0 { 0.8 } else { 0.2 }).collect();
        let labels: Vec<f32> = (0..=k).map(|j| if j == 0 { 1.0 } else { 0.0 }).collect();
        let (loss, gradient) = of("global-contrastive:epsilon=0", &scores, &labels);
        assert!(close(loss, 0.2 - 0.8, 1e-12), "{k}: {loss}");
        assert!(close(gradient[1..].iter().sum(), 1.0, 1e-12), "{k}: {gradient:?}");
    }
}

#[test]
fn the_temperature_is_given_and_not_learned() {
    for name in TRACKED {
        let error = Goal::parse(&format!("{name}:temperature=learned"), &Policy::default()).unwrap_err();
        assert!(error.to_string().contains("temperature must be"), "{error}");
    }
}

/// The definition, in logarithms over three tracked steps: every mean by itself, no base, no sharing.
#[test]
fn the_tracked_forms_equal_their_reference_implementations_at_any_temperature() {
    let (base, labels) = list(36, 8);
    let lists = Lists::from_lengths(&[36], labels.clone());
    for (tau, scale) in [(0.1, 1.0), (0.001, 1.0), (0.5, 1e3)] {
        for name in TRACKED {
            let (gamma, epsilon) = (0.3f64, 0.01f64);
            let more = if name == "global-contrastive" { ":epsilon=0.01" } else { "" };
            let goal = goal(&format!("{name}:gamma={gamma}:temperature={tau}{more}"));
            let mut state = goal.state(&lists).unwrap();
            let mut u: [Option<f64>; 2] = [None, None];
            for t in 0..3u64 {
                let mut random = Stream::new(t, "twin").open();
                let scores: Vec<f64> = base.iter().map(|s| scale * (s + 0.2 * random.unit())).collect();
                let out = step(&goal, &lists, &scores, &mut state, t);
                let class = |wanted: bool| -> Vec<f64> {
                    let of = scores.iter().zip(&labels).filter(|(_, y)| (**y > 0.0) == wanted);
                    of.map(|(s, _)| s / tau).collect()
                };
                let (relevant, others) = (class(true), class(false));
                let newest = [&relevant, &others].map(|x| log_sum_exp(x) - (x.len() as f64).ln());
                for c in 0..2 {
                    u[c] =
                        Some(u[c].map_or(newest[c], |u| {
                            log_add_exp((1.0 - gamma).ln() + u, gamma.ln() + newest[c])
                        }));
                }
                let [near, far] = u.map(Option::unwrap);
                let (near, all_far) = (near + (relevant.len() as f64).ln(), far + (others.len() as f64).ln());
                let mean = relevant.iter().sum::<f64>() / relevant.len() as f64;
                let expected = match name {
                    "nca" => 1.0 - (near - log_add_exp(near, all_far)).exp(),
                    "log-nca" => log_add_exp(near, all_far) - near,
                    "sup-con" => log_add_exp(near, all_far) - mean,
                    _ => tau * (log_add_exp(epsilon.ln(), far) - mean),
                };
                let size = 1e-9 * (1.0 + scale / tau);
                assert!(
                    (out.loss - expected).abs() <= size,
                    "{name} {tau} {scale} {t}: {} {expected}",
                    out.loss
                );
                assert!(out.gradient.iter().all(|g| g.is_finite()), "{name} {tau} {scale}");
            }
        }
    }
}

#[test]
fn smooth_ap_is_average_precision_of_what_was_drawn() {
    let (scores, labels) = list(40, 11);
    let a = of("smooth-ap:temperature=0.3", &scores, &labels);
    let b = of("ap:surrogate=sigmoid:temperature=0.3:self=one:gamma=1", &scores, &labels);
    assert_eq!(a, b, "on a whole list they are the same");
    // Of a sample it is the precision of the sample, whatever the list holds beside.
    let lists = Lists::from_lengths(&[40], labels.clone());
    let goal = goal("smooth-ap:temperature=0.3");
    let items: Vec<u32> = (0..40).filter(|j| j % 3 == 1).collect();
    let draws = Draws { lists: vec![0], offsets: vec![0, items.len() as u64], items, ..Draws::default() };
    let drawn: Vec<f64> = draws.items.iter().map(|&j| scores[j as usize]).collect();
    let drawn_labels: Vec<f32> = draws.items.iter().map(|&j| labels[j as usize]).collect();
    let mut out = Gradients::default();
    let batch = Batch { draws: Some(&draws), ..Batch::all(&lists, &drawn) };
    goal.step(&batch, &mut goal.state(&lists).unwrap(), &mut out).unwrap();
    assert_eq!((out.loss, out.gradient), of("smooth-ap:temperature=0.3", &drawn, &drawn_labels));
}

#[test]
fn a_triplet_loss_over_everything_is_the_hinge_of_all_pairs() {
    let (scores, labels) = list(30, 2);
    let a = of("triplet:margin=0.4:over=all", &scores, &labels);
    let b = of("ranksvm:margin=0.4", &scores, &labels);
    assert!(close(a.0, b.0, 1e-12), "{} {}", a.0, b.0);
    assert!(close_all(&a.1, &b.1, 1e-12));
}

#[test]
fn the_second_visit_pushes_by_the_estimate_over_what_is_tracked() {
    // e^s of one relevant item and two others: 2; 3, 5, then 4; 2, 6. u₊ = (2 + 4)/2, u₋ = (4 + 4)/2.
    let lists = Lists::from_lengths(&[3], vec![1.0, 0.0, 0.0]);
    let goal = goal("log-nca:temperature=1:gamma=0.5");
    let mut state = goal.state(&lists).unwrap();
    step(&goal, &lists, &[2f64, 3.0, 5.0].map(f64::ln), &mut state, 0);
    let out = step(&goal, &lists, &[4f64, 2.0, 6.0].map(f64::ln), &mut state, 1);
    let r = 2.0 * 4.0 / 3.0;
    assert!(close(out.loss, (1f64 + r).ln(), 1e-14), "{}", out.loss);
    let push = r / (1.0 + r);
    let expected = [-push * 4.0 / 3.0, push * 2.0 / 8.0, push * 6.0 / 8.0];
    assert!(close_all(&out.gradient, &expected, 1e-14), "{:?}", out.gradient);
}

#[test]
fn each_pair_of_the_contrastive_loss_counts_by_its_weight() {
    let lists = Lists {
        item_weights: Some(vec![3.0, 1.0, 1.0, 1.0]),
        ..Lists::from_lengths(&[4], vec![1.0, 1.0, 0.0, 0.0])
    };
    let goal = goal("contrastive");
    let out = step(&goal, &lists, &[0.9, 0.4, 0.8, 0.6], &mut goal.state(&lists).unwrap(), 0);
    assert!(close(out.loss, 0.75 * 0.1 + 0.25 * 0.6 + 0.5 * (0.3 + 0.1), 1e-14), "{}", out.loss);
    assert!(close_all(&out.gradient, &[-0.75, -0.25, 0.5, 0.5], 1e-14), "{:?}", out.gradient);
}
