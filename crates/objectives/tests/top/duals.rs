//! Means, thresholds and dual variables of min-max forms reach their closed forms.

use toprank_core::Lists;
use toprank_objectives::{Batch, Draws, Gradients};

use super::{HINGE, classes, close, close_all, goal, list, of, step};

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
        let (mut state, value) = run("pauc-cvar:fpr=0.3:variables=online", start);
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

        let (mut state, value) = run("tpauc-minmax:fpr=0.3:tpr=0.5:variables=online", start);
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
fn two_way_duals_of_equal_relevant_items_come_to_rest_between_their_bounds() {
    // Every cost is q' and the shares s must be α on average: without the extrapolation the two would circle.
    let (mut scores, labels) = list(90, 13);
    scores.iter_mut().zip(&labels).filter(|(_, y)| **y > 0.0).for_each(|(s, _)| *s = 0.1);
    let lists = Lists::from_lengths(&[90], labels.clone());
    let text = "tpauc-minmax:fpr=0.3:tpr=0.5";
    let goal = goal(&format!("{text}:variables=online"));
    let mut state = goal.state(&lists).unwrap();
    let far: Vec<f64> = scores.iter().map(|s| -10.0 * s).collect();
    step(&goal, &lists, &far, &mut state, 0);
    for t in 1..3000 {
        step(&goal, &lists, &scores, &mut state, t);
    }
    let value = step(&goal, &lists, &scores, &mut state, 3000).loss;
    let mut list = state.of_list(0, 90);
    let [q, each] = list.cut();
    let shares: f64 = each.iter().skip(1).step_by(2).sum();
    assert!((shares - 7.0).abs() < 1e-4, "{shares} relevant items in the region, expected ⌊15 · 0.5⌋");
    let exact = of(&format!("{text}:variables=exact"), &scores, &labels).0;
    assert!(close(value, exact, 1e-4) && close(q[0], exact, 1e-4), "{value}, q' = {} for {exact}", q[0]);
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

/// Relevant items and a fifth of the others in each of five draws that have every other item once.
fn fifths(labels: &[f32]) -> Vec<Draws> {
    let mut others = 0;
    let part: Vec<Option<usize>> = labels
        .iter()
        .map(|y| {
            others += usize::from(*y == 0.0);
            (*y == 0.0).then_some(others % 5)
        })
        .collect();
    let draw = |k: usize| {
        let drawn = |i: &u32| part[*i as usize].is_none_or(|own| own == k);
        let items: Vec<u32> = (0..labels.len() as u32).filter(drawn).collect();
        Draws { lists: vec![0], offsets: vec![0, items.len() as u64], items, ..Draws::default() }
    };
    (0..5).map(draw).collect()
}

#[test]
fn top_push_keeps_its_thresholds_between_draws_and_their_gradient_is_unbiased() {
    let (scores, labels) = list(60, 2); // 10 relevant, 50 others
    let lists = Lists::from_lengths(&[60], labels.clone());
    let other_scores: Vec<f64> = scores.iter().map(|s| 0.8 * s - 0.1).collect();
    for text in ["top-push", "top-push:surrogate=logistic", "pauc-cvar:fpr=0.1", "tpauc-minmax"] {
        let online = goal(&format!("{text}:variables=online"));
        let mut state = online.state(&lists).unwrap();
        step(&online, &lists, &other_scores, &mut state, 0);
        // The present thresholds, which are not the solution at these scores.
        let whole = step(&online, &lists, &scores, &mut state.clone(), 1);
        let mut mean = vec![0.0; 60];
        let mut loss = 0.0;
        for draws in fifths(&labels) {
            let drawn: Vec<f64> = draws.items.iter().map(|i| scores[*i as usize]).collect();
            let batch = Batch { draws: Some(&draws), ..Batch::all(&lists, &drawn) };
            let mut out = Gradients::default();
            goal(text).step(&batch, &mut state.clone(), &mut out).unwrap();
            loss += out.loss / 5.0;
            for (i, g) in draws.items.iter().zip(&out.gradient) {
                mean[*i as usize] += g / 5.0;
            }
        }
        assert!(close(loss, whole.loss, 1e-12), "{text}: {loss} for {}", whole.loss);
        assert!(close_all(&mean, &whole.gradient, 1e-12), "{text}");
        assert!(whole.gradient.iter().any(|g| *g > 0.0), "{text}: an other is above a threshold");
    }
    // The highest drawn other instead: the mean over draws pushes others that are not the highest.
    let exact = goal("top-push:variables=exact");
    let pushed: usize = fifths(&labels)
        .iter()
        .map(|draws| {
            let drawn: Vec<f64> = draws.items.iter().map(|i| scores[*i as usize]).collect();
            let batch = Batch { draws: Some(draws), ..Batch::all(&lists, &drawn) };
            let mut out = Gradients::default();
            exact.step(&batch, &mut exact.state(&lists).unwrap(), &mut out).unwrap();
            out.gradient.iter().filter(|g| **g > 0.0).count()
        })
        .sum();
    assert_eq!(pushed, 5);
}

#[test]
fn thresholds_of_top_push_reach_the_loss_of_the_highest_other_by_draws() {
    let (scores, labels) = list(60, 2);
    let lists = Lists::from_lengths(&[60], labels.clone());
    let (_, others) = classes(&scores, &labels);
    let top = goal("top-push:rate=0.01");
    let mut state = top.state(&lists).unwrap();
    let draws = fifths(&labels);
    for t in 0..20_000 {
        let draws = &draws[t % 5];
        let drawn: Vec<f64> = draws.items.iter().map(|i| scores[*i as usize]).collect();
        let batch = Batch { draws: Some(draws), ..Batch::all(&lists, &drawn) };
        top.step(&batch, &mut state, &mut Gradients::default()).unwrap();
    }
    let own = scores.iter().zip(&labels).filter(|(_, y)| **y > 0.0).map(|(s, _)| *s);
    let mut list = state.of_list(0, 60);
    let [t] = list.cut();
    for (t, s) in t.iter().zip(own) {
        // Any t between the two largest losses is a solution.
        let (low, high) = (HINGE.at(others[1] - s).0, HINGE.at(others[0] - s).0);
        assert!(*t > 0.9 * low - 1e-9 && *t <= high + 1e-9, "{t} outside [{low}, {high}]");
    }
}

#[test]
fn equal_scores_have_the_gradient_of_the_exact_solution() {
    let (_, labels) = list(60, 2);
    for text in ["top-push", "pauc-cvar:fpr=0.3", "pauc-cvar:fpr=0.3:surrogate=sigmoid", "tpauc-minmax"] {
        let online = of(&format!("{text}:variables=online"), &[0.3; 60], &labels);
        let exact = of(&format!("{text}:variables=exact"), &[0.3; 60], &labels);
        // The kernel of the sigmoid has fewer digits than the pairs.
        assert!(close(online.0, exact.0, 1e-7) && close_all(&online.1, &exact.1, 1e-7), "{text}");
        assert!(online.1.iter().any(|g| *g != 0.0), "{text}");
    }
}

/// Why a loss over the worst pairs may draw all scores together: by Jensen's inequality no scores are better than equal ones, if
/// the worst others have a mean of at least that of the relevant items.
#[test]
fn equal_scores_are_the_best_where_the_worst_others_are_not_below_the_relevant_items() {
    let (scores, labels) = list(90, 13);
    let scores: Vec<f64> = scores.iter().map(|s| -s).collect();
    let (relevant, others) = classes(&scores, &labels);
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    assert!(others[0] > mean(&relevant));
    for surrogate in ["squared-hinge", "hinge", "logistic", "huber"] {
        let text = format!("top-push:surrogate={surrogate}");
        let constant = of(&text, &[0.0; 90], &labels).0;
        for scale in [0.01, 0.3, 1.0, 10.0] {
            let scaled: Vec<f64> = scores.iter().map(|s| scale * s).collect();
            assert!(of(&text, &scaled, &labels).0 > constant, "{surrogate}, scale {scale}");
        }
    }
}

#[test]
fn every_conjugate_gives_variances_and_the_surrogate_of_the_gap() {
    let (scores, labels) = list(60, 12);
    let lists = Lists::from_lengths(&[60], labels.clone());
    let (relevant, others) = classes(&scores, &labels);
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let spread = |x: &[f64]| x.iter().map(|s| (s - mean(x)).powi(2)).sum::<f64>() / x.len() as f64;
    for margin in [0.1, 2.0] {
        let x: f64 = margin + mean(&others) - mean(&relevant);
        for (surrogate, value) in [
            ("square", x * x),
            ("squared-hinge", x.max(0.0) * x.max(0.0)),
            ("hinge", x.max(0.0)),
            ("logistic:temperature=0.5", (1.0 + (2.0 * x).exp()).ln()),
            (
                "huber:temperature=3",
                if x > 0.0 { 1.0 + 2.0 * x / 3.0 } else { (1.0 + x / 3.0).max(0.0).powi(2) },
            ),
        ] {
            let text = format!("auroc-minmax:surrogate={surrogate}:margin={margin}");
            let expected = spread(&relevant) + spread(&others) + value;
            assert!(close(of(&text, &scores, &labels).0, expected, 1e-12), "{text}");
            let goal = goal(&text);
            let mut state = goal.state(&lists).unwrap();
            let far: Vec<f64> = scores.iter().map(|s| 5.0 - 9.0 * s).collect();
            step(&goal, &lists, &far, &mut state, 0);
            for t in 1..2000 {
                step(&goal, &lists, &scores, &mut state, t);
            }
            let found = step(&goal, &lists, &scores, &mut state, 2000).loss;
            assert!(close(found, expected, 1e-9), "{text} online: {found} for {expected}");
        }
    }
}
