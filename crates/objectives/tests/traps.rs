//! Traps in which tools of this kind have been caught: samples that stand for themselves, trackers that start at 0,
//! exponentials that overflow, batches in which lists disturb each other, lists that divide by nothing.

use toprank_core::{List, Lists, Policy, Stream};
use toprank_objectives::kernels::scalar::{log_add_exp, log_sum_exp};
use toprank_objectives::{Batch, Draws, Goal, Gradients, OBJECTIVES, Reduction, State};

fn goal(text: &str) -> Goal {
    Goal::parse(text, &Policy::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn step(goal: &Goal, batch: &Batch, state: &mut State) -> Gradients {
    let mut out = Gradients { want_hessian: true, ..Gradients::default() };
    goal.step(batch, state, &mut out).unwrap();
    out
}

fn fresh(goal: &Goal, lists: &Lists, scores: &[f64]) -> Gradients {
    step(goal, &Batch::all(lists, scores), &mut goal.state(lists).unwrap())
}

fn close(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    let scale = b.iter().fold(1e-12, |m: f64, x| m.max(x.abs()));
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= tolerance * scale)
}

// ── A sample must speak for the whole list ──

/// One list of 8 relevant items, most of them high, and 40 others.
fn long_list() -> (Lists, Vec<f64>) {
    let mut random = Stream::new(5, "traps").open();
    let labels: Vec<f32> = (0..48).map(|j| if j % 6 == 1 { 1.0 } else { 0.0 }).collect();
    let scores = labels.iter().map(|y| 0.7 * f64::from(*y) + random.unit() - 0.5).collect();
    (Lists::from_lengths(&[48], labels), scores)
}

/// `relevant` and `others` items of each class, without replacement: draw number `t`.
fn draw(lists: &Lists, t: u64, relevant: usize, others: usize) -> Draws {
    let mut random = Stream::new(9, "traps").at_step(t).open();
    let mut items = Vec::new();
    for (wanted, count) in [(true, relevant), (false, others)] {
        let mut class: Vec<u32> =
            (0..lists.entries() as u32).filter(|j| (lists.labels[*j as usize] > 0.0) == wanted).collect();
        random.shuffle(&mut class);
        items.extend_from_slice(&class[..count]);
    }
    items.sort_unstable();
    Draws { lists: vec![0], offsets: vec![0, items.len() as u64], items, ..Draws::default() }
}

fn pick(scores: &[f64], draws: &Draws) -> Vec<f64> {
    draws.items.iter().map(|&j| scores[j as usize]).collect()
}

/// The tracked means of the list after one step, one per relevant item; NaN where it was not drawn.
fn means(goal: &Goal, lists: &Lists, scores: &[f64], draws: Option<&Draws>) -> Vec<f64> {
    let mut state = goal.state(lists).unwrap();
    let drawn = draws.map(|draws| pick(scores, draws));
    let batch = Batch { draws, ..Batch::all(lists, drawn.as_deref().unwrap_or(scores)) };
    step(goal, &batch, &mut state);
    let mut list = state.of_list(0, lists.entries());
    let [_, u] = list.cut();
    u.to_vec()
}

#[test]
fn the_mean_of_many_samples_is_the_mean_of_the_whole_list() {
    let (lists, scores) = long_list();
    // One relevant item in six, and as many of either class as in class-balanced batches.
    for (name, numbers, relevant, others) in [("song:gamma=1", 1, 2, 10), ("ap:gamma=1", 2, 4, 4)] {
        let goal = goal(name);
        let whole = means(&goal, &lists, &scores, None);
        let (mut sums, mut counts) = (vec![0.0; whole.len()], vec![0; whole.len()]);
        let draws_made = 10_000;
        for t in 0..draws_made {
            let draws = draw(&lists, t, relevant, others);
            for (i, u) in means(&goal, &lists, &scores, Some(&draws)).into_iter().enumerate() {
                if !u.is_nan() {
                    sums[i] += u;
                    counts[i] += 1;
                }
            }
        }
        assert_eq!(counts.iter().sum::<usize>(), numbers * relevant * draws_made as usize);
        for (i, mean) in whole.iter().enumerate() {
            // At least 2500 samples of each anchor, which vary by a quarter of their mean: 0.5 %.
            let estimate = sums[i] / counts[i] as f64;
            assert!((estimate / mean - 1.0).abs() < 0.02, "{name}, anchor {i}: {estimate} for {mean}");
        }
        let total: f64 = sums.iter().zip(&counts).map(|(sum, count)| sum / *count as f64).sum();
        assert!((total / whole.iter().sum::<f64>() - 1.0).abs() < 0.01, "{name}: {total}");
    }
}

#[test]
fn the_mean_gradient_of_many_samples_is_that_of_the_whole_list_where_the_loss_is_linear_in_means() {
    let (lists, scores) = long_list();
    for name in ["p-norm-push:p=1", "p-norm-push:p=1:swapped=true"] {
        let goal = goal(name);
        let whole = fresh(&goal, &lists, &scores);
        let draws_made = 10_000;
        let (mut gradient, mut loss) = (vec![0.0; lists.entries()], 0.0);
        for t in 0..draws_made {
            let draws = draw(&lists, t, 4, 20);
            let drawn = pick(&scores, &draws);
            let batch = Batch { draws: Some(&draws), ..Batch::all(&lists, &drawn) };
            let out = step(&goal, &batch, &mut goal.state(&lists).unwrap());
            loss += out.loss / draws_made as f64;
            for (&j, g) in draws.items.iter().zip(&out.gradient) {
                gradient[j as usize] += g / draws_made as f64;
            }
        }
        assert!((loss / whole.loss - 1.0).abs() < 0.01, "{name}: {loss} for {}", whole.loss);
        let off: f64 = gradient.iter().zip(&whole.gradient).map(|(a, b)| (a - b).abs()).sum();
        let size: f64 = whole.gradient.iter().map(|g| g.abs()).sum();
        assert!(off < 0.02 * size, "{name}: {off} of {size}");
    }
}

/// What the pages of the pointwise losses and of `strata` say.
#[test]
fn pointwise_losses_take_the_classes_of_a_sample_as_they_come() {
    let (lists, _) = long_list();
    for name in ["cross-entropy", "focal:alpha=0.5", "logistic"] {
        let goal = goal(name);
        let pull = |draws: Option<&Draws>, items: usize, log_odds: f64| {
            let scores = vec![log_odds; items];
            let batch = Batch { draws, ..Batch::all(&lists, &scores) };
            step(&goal, &batch, &mut goal.state(&lists).unwrap()).gradient.iter().sum::<f64>()
        };
        let balanced = draw(&lists, 1, 6, 6);
        assert!(pull(Some(&balanced), 12, 0.0).abs() < 1e-15, "{name}: equal classes, even odds");
        assert!(pull(None, 48, 0.0) > 0.05, "{name}: one relevant item in six");
    }
    assert!(
        fresh(&goal("cross-entropy"), &lists, &[(8.0_f64 / 40.0).ln(); 48])
            .gradient
            .iter()
            .sum::<f64>()
            .abs()
            < 1e-15
    );
}

#[test]
fn the_best_item_has_rank_one_in_the_list_and_in_every_sample_of_it() {
    let (lists, mut scores) = long_list();
    let best = lists.labels.iter().position(|y| *y > 0.0).unwrap();
    scores[best] = 50.0;
    for name in
        ["song:gamma=1", "song:gamma=1:surrogate=hinge", "ap:gamma=1", "precision:gamma=1:surrogate=square"]
    {
        let goal = goal(name);
        let n = lists.entries() as f64;
        // The square counts items far below, too: its rank has no such least value.
        let least = |u: f64| if name.contains("square") { u * n >= 1.0 } else { (u * n - 1.0).abs() < 1e-14 };
        assert!(least(means(&goal, &lists, &scores, None)[0]), "{name}");
        for t in 0..50 {
            let draws = draw(&lists, t, 3, 10);
            let u = means(&goal, &lists, &scores, Some(&draws))[0];
            assert_eq!(u.is_nan(), !draws.items.contains(&(best as u32)), "{name}");
            assert!(u.is_nan() || least(u), "{name}: N·g = {}", u * n);
        }
    }
}

// ── The first visit is the first estimate ──

/// Names of the objectives with a tracker.
fn tracked() -> Vec<&'static str> {
    let has_gamma = |line: &&toprank_objectives::Listing| line.entry.params.iter().any(|p| p.name == "gamma");
    let names: Vec<&str> = OBJECTIVES.iter().filter(has_gamma).map(|line| line.entry.name).collect();
    assert!(names.contains(&"song") && names.len() >= 8, "{names:?}");
    names
}

#[test]
fn the_first_gradient_is_the_same_for_every_gamma_whenever_it_comes() {
    let (lists, scores) = long_list();
    let previous: Vec<f64> = scores.iter().map(|s| s + 0.1 * (7.0 * s).sin()).collect();
    let draws = draw(&lists, 3, 3, 12);
    let (drawn, drawn_before) = (pick(&scores, &draws), pick(&previous, &draws));
    for name in tracked() {
        for at in [0, 7] {
            let stream = Stream::new(1, "objective").at_step(at);
            let whole = Batch { stream, previous: Some(&previous), ..Batch::all(&lists, &scores) };
            let part = Batch {
                draws: Some(&draws),
                stream,
                previous: Some(&drawn_before),
                ..Batch::all(&lists, &drawn)
            };
            for batch in [whole, part] {
                let first = |gamma: &str| {
                    let goal = goal(&format!("{name}:gamma={gamma}"));
                    let out = step(&goal, &batch, &mut goal.state(&lists).unwrap());
                    (out.loss, out.gradient, out.gradient_previous)
                };
                let expected = first("1");
                assert!(expected.1.iter().any(|g| *g != 0.0), "{name}");
                for gamma in ["0.1", "0.5", "0.9", "theory"] {
                    assert_eq!(first(gamma), expected, "{name}, gamma={gamma}, step {at}");
                }
            }
        }
    }
}

#[test]
fn an_item_drawn_late_starts_where_its_own_first_estimate_is() {
    let (lists, scores) = long_list();
    let relevant: Vec<u32> = (0..48).filter(|j| lists.labels[*j as usize] > 0.0).collect();
    let others: Vec<u32> = (0..48).filter(|j| lists.labels[*j as usize] == 0.0).collect();
    let sample = |chosen: &[u32]| {
        let mut items = [chosen, &others].concat();
        items.sort_unstable();
        Draws { lists: vec![0], offsets: vec![0, items.len() as u64], items, ..Draws::default() }
    };
    let goal = goal("song:gamma=0.1");
    let mut state = goal.state(&lists).unwrap();
    for chosen in [&relevant[..2], &relevant[2..4]] {
        let draws = sample(chosen);
        let drawn = pick(&scores, &draws);
        step(&goal, &Batch { draws: Some(&draws), ..Batch::all(&lists, &drawn) }, &mut state);
    }
    let late = means(&goal, &lists, &scores, Some(&sample(&relevant[2..4])));
    let mut list = state.of_list(0, 48);
    let [_, u] = list.cut();
    assert_eq!(u[2..4], late[2..4]);
    assert!(u[4..].iter().all(|u| u.is_nan()), "never drawn: {u:?}");
}

#[test]
fn a_list_or_an_item_twice_in_one_batch_is_refused() {
    let (lists, scores) = long_list();
    let goal = goal("song");
    let refused = |lists_drawn: Vec<u32>, offsets: Vec<u64>, items: Vec<u32>| {
        let draws = Draws { lists: lists_drawn, offsets, items, ..Draws::default() };
        let drawn = pick(&scores, &draws);
        let batch = Batch { draws: Some(&draws), ..Batch::all(&lists, &drawn) };
        let mut out = Gradients::default();
        goal.step(&batch, &mut goal.state(&lists).unwrap(), &mut out).unwrap_err().to_string()
    };
    let twice = refused(vec![0, 0], vec![0, 2, 4], vec![1, 2, 1, 2]);
    assert_eq!(twice, "drawn lists: found [0, 0] …, expected strictly ascending numbers below 1");
    let twice = refused(vec![0], vec![0, 3], vec![1, 1, 2]);
    assert_eq!(
        twice,
        "drawn items: found [1, 1, 2] … of list 0, expected strictly ascending positions below 48"
    );
}

// ── Exponentials live in logarithms ──

/// ln g of every relevant item, and the share of each item in it, by log-sum-exp.
type LogMeans = (Vec<f64>, Vec<Vec<f64>>);

/// Exponents ψ_ij and slopes ψ'_ij of the items j that item i is measured against; none: not in the mean.
fn log_means(labels: &[f32], exponent: impl Fn(usize, usize) -> Option<f64>) -> LogMeans {
    let n = labels.len();
    let (mut ln_g, mut shares) = (Vec::new(), Vec::new());
    for i in (0..n).filter(|i| labels[*i] > 0.0) {
        let psi: Vec<f64> = (0..n).map(|j| exponent(i, j).unwrap_or(f64::NEG_INFINITY)).collect();
        let members = psi.iter().filter(|psi| psi.is_finite()).count() as f64;
        let sum = log_sum_exp(&psi);
        ln_g.push(sum - members.ln());
        shares.push(psi.iter().map(|psi| (psi - sum).exp()).collect());
    }
    (ln_g, shares)
}

#[test]
fn exponentials_of_huge_scores_equal_their_reference_in_logarithms_over_tracked_steps() {
    let (lists, base) = long_list();
    let labels = &lists.labels;
    let relevant: Vec<usize> = (0..48).filter(|j| labels[*j] > 0.0).collect();
    let gamma: f64 = 0.1;
    for (scale, small) in [(1.0, 1.0), (1e3, 1.0), (1.0, 1e-3), (1e3, 1e-3)] {
        let steps: Vec<Vec<f64>> = (0..3)
            .map(|t| base.iter().map(|s| scale * (s + 0.01 * (40.0 * s + f64::from(t)).sin())).collect())
            .collect();
        for (name, kl) in [
            (format!("listwise-ce:gamma={gamma}:temperature={small}"), false),
            (format!("pauc-kl:gamma={gamma}:lambda={small}"), true),
        ] {
            let goal = goal(&name);
            let mut state = goal.state(&lists).unwrap();
            let mut ln_u: Vec<f64> = Vec::new();
            for scores in &steps {
                let out = step(&goal, &Batch::all(&lists, scores), &mut state);
                let hinge = |i: usize, j: usize| (scores[j] - scores[i] + 1.0).max(0.0);
                let (ln_g, shares) = log_means(labels, |i, j| match kl {
                    true => (labels[j] == 0.0).then(|| hinge(i, j).powi(2) / small),
                    false => Some((scores[j] - scores[i]) / small),
                });
                let follow = |u: &f64, g: &f64| log_add_exp((1.0 - gamma).ln() + u, gamma.ln() + g);
                ln_u = match ln_u.is_empty() {
                    true => ln_g.clone(),
                    false => ln_u.iter().zip(&ln_g).map(|(u, g)| follow(u, g)).collect(),
                };
                let m = relevant.len() as f64;
                let value = |u: &f64| if kl { small * u } else { 48f64.ln() + u };
                let loss = ln_u.iter().map(value).sum::<f64>() / m;
                let mut gradient = vec![0.0; 48];
                for (k, &i) in relevant.iter().enumerate() {
                    let outer = (ln_g[k] - ln_u[k]).exp() / m;
                    for j in 0..48 {
                        let slope = if kl { 2.0 * hinge(i, j) } else { 1.0 / small };
                        let part = outer * shares[k][j] * slope;
                        gradient[j] += part;
                        gradient[i] -= part;
                    }
                }
                // An exponent of 4e9 is itself rounded to 5e-7, and shares are its exponentials.
                let largest = ln_g.iter().chain(&ln_u).fold(0.0, |m: f64, x| m.max(x.abs()));
                let tolerance = 1e-10 + 4.0 * f64::EPSILON * largest;
                assert!(close(&[out.loss], &[loss], 1e-10), "{name} × {scale}: {} for {loss}", out.loss);
                assert!(close(&out.gradient, &gradient, tolerance), "{name} × {scale}");
                assert!(out.hessian.iter().all(|h| h.is_finite()), "{name} × {scale}");
            }
        }
    }
}

#[test]
fn no_companion_and_no_constant_disturbs_a_tracked_list() {
    let (one, base) = long_list();
    // Multiples of 1/1024: adding 2^20 is exact, so equal means equal.
    let base: Vec<f64> = base.iter().map(|s| (s * 1024.0).round() / 1024.0).collect();
    let two = Lists::from_lengths(&[48, 48], one.labels.repeat(2));
    let moved: Vec<f64> = base.iter().rev().copied().collect();
    for name in tracked() {
        for text in [name.to_string(), format!("{name}:gamma=0.5")] {
            let goal = goal(&text);
            let (mut alone, mut beside) = (goal.state(&one).unwrap(), goal.state(&two).unwrap());
            for (t, scores) in [&base, &moved, &base].into_iter().enumerate() {
                let stream = Stream::new(1, "objective").at_step(t as u64);
                let shift = if goal.objective().shift_invariant() { f64::from(1 << 20) } else { 0.0 };
                let shifted: Vec<f64> = scores.iter().map(|s| s + shift).collect();
                let with: Vec<f64> = shifted.iter().copied().chain(scores.iter().map(|s| s * 1e3)).collect();
                let single = Batch { stream, reduction: Reduction::Sum, ..Batch::all(&one, scores) };
                let double = Batch { stream, reduction: Reduction::Sum, ..Batch::all(&two, &with) };
                let (a, b) = (step(&goal, &single, &mut alone), step(&goal, &double, &mut beside));
                assert!(close(&[b.losses[0]], &[a.losses[0]], 1e-12), "{text}, step {t}");
                assert!(close(&b.gradient[..48], &a.gradient, 1e-12), "{text}, step {t}");
            }
        }
    }
}

// ── Reductions ──

#[test]
fn an_average_over_others_does_not_change_when_every_other_item_comes_twice() {
    let (lists, scores) = long_list();
    let copies = |j: usize| if lists.labels[j] > 0.0 { 1 } else { 2 };
    let twice: Vec<usize> = (0..48).flat_map(|j| std::iter::repeat_n(j, copies(j))).collect();
    let double = Lists::from_lengths(&[twice.len()], twice.iter().map(|j| lists.labels[*j]).collect());
    let double_scores: Vec<f64> = twice.iter().map(|j| scores[*j]).collect();
    for name in [
        "ranknet",
        "p-norm-push",
        "p-norm-push:swapped=true",
        "pauc-kl",
        "pauc-kl:lambda=0.1",
        "global-contrastive",
        "global-contrastive:epsilon=0.01:temperature=0.5",
    ] {
        let goal = goal(name);
        let (once, twice_out) = (fresh(&goal, &lists, &scores), fresh(&goal, &double, &double_scores));
        assert!(close(&[twice_out.loss], &[once.loss], 1e-12), "{name}: {} {}", twice_out.loss, once.loss);
        let expected: Vec<f64> = twice.iter().map(|j| once.gradient[*j] / copies(*j) as f64).collect();
        assert!(close(&twice_out.gradient, &expected, 1e-12), "{name}");
    }
}

// ── Lists that divide by nothing ──

#[test]
fn weights_of_zero_gains_of_zero_and_no_lists_at_all_give_numbers() {
    let (lists, scores) = long_list();
    let finite = |out: &Gradients| {
        let mut all = out.gradient.iter().chain(&out.hessian).chain(&out.losses);
        out.loss.is_finite() && all.all(|value| value.is_finite())
    };
    for line in OBJECTIVES {
        let name = line.entry.name;
        let of = |lists: &Lists, scores: &[f64]| {
            let out = fresh(&goal(name), lists, scores);
            assert!(finite(&out), "{name}: {} {:?}", out.loss, out.gradient);
            out
        };
        let silent = Lists { item_weights: Some(vec![0.0; 48]), ..lists.clone() };
        assert!(of(&silent, &scores).gradient.iter().all(|g| *g == 0.0), "{name}: items without weight pull");
        let others_only = (0..48).map(|j| if lists.labels[j] > 0.0 { 0.0 } else { 1.0 }).collect();
        of(&Lists { item_weights: Some(others_only), ..lists.clone() }, &scores);
        let unheard = of(&Lists { list_weights: Some(vec![0.0]), ..lists.clone() }, &scores);
        assert_eq!(unheard.loss, 0.0, "{name}");
        assert!(unheard.gradient.iter().all(|g| *g == 0.0), "{name}");
        let none = of(&Lists::from_lengths(&[], vec![]), &[]);
        assert_eq!((none.loss, none.counts.all), (0.0, 0), "{name}");
        let negative = Lists::from_lengths(&[3], vec![-1.0, -2.0, -1.0]);
        of(&negative, &[0.5, 0.25, -1.0]);
        if line.entry.params.iter().any(|param| param.name == "gain") {
            let worthless = goal(&format!("{name}:gain=0/0"));
            assert!(finite(&fresh(&worthless, &lists, &scores)), "{name}: an ideal DCG of 0");
        }
    }
    let worthless = goal("song:gain=0/0");
    assert_eq!(fresh(&worthless, &lists, &scores).counts.idle, 1);
    let only = goal("song").of_list(&List::new(&[0.0], &[1.0])).unwrap();
    assert_eq!(only, (0.0, vec![0.0]));
}

/// Items of a kind are all alike, so a sample of some of each kind knows everything: its loss is the whole list's.
#[test]
fn the_anchors_of_a_sample_stand_for_all_relevant_items() {
    let labels: Vec<f32> = (0..10).map(|i| f32::from(u8::from(i < 4))).collect();
    let scores: Vec<f64> = (0..10).map(|i| if i < 4 { 0.2 } else { 0.5 }).collect();
    let lists = Lists::from_lengths(&[10], labels);
    for text in ["song:gamma=1", "song-minibatch", "ap:gamma=1", "listwise-ce:gamma=1"] {
        let goal = Goal::parse(text, &Policy::default()).unwrap();
        let run = |items: Vec<u32>| {
            let scores: Vec<f64> = items.iter().map(|&i| scores[i as usize]).collect();
            let draws =
                Draws { lists: vec![0], offsets: vec![0, items.len() as u64], items, ..Draws::default() };
            let mut out = Gradients::default();
            let batch = Batch { draws: Some(&draws), ..Batch::all(&lists, &scores) };
            goal.step(&batch, &mut goal.state(&lists).unwrap(), &mut out).unwrap();
            out.loss
        };
        let (whole, some) = (run((0..10).collect()), run(vec![1, 3, 5, 6, 9]));
        assert!((whole - some).abs() < 1e-12, "{text}: {some} is not {whole}");
    }
}
