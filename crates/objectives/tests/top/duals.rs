//! Means, thresholds and dual variables of min-max forms reach their closed forms.

use toprank_core::Lists;

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
fn two_way_duals_of_equal_relevant_items_come_to_rest_between_their_bounds() {
    // Every cost is q' and the shares s must be α on average: without the extrapolation the two would circle.
    let (mut scores, labels) = list(90, 13);
    scores.iter_mut().zip(&labels).filter(|(_, y)| **y > 0.0).for_each(|(s, _)| *s = 0.1);
    let lists = Lists::from_lengths(&[90], labels.clone());
    let text = "tpauc-minmax:fpr=0.3:tpr=0.5";
    let goal = goal(text);
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
