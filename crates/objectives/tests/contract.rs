//! What every objective of the catalog promises; a new one is tested here without a line of its own.
//!
//! Each promise is checked for the defaults and for every example of the catalog.

use toprank_core::{Lists, Policy, Stream};
use toprank_objectives::{Batch, Draws, Goal, Gradients, Hessian, OBJECTIVES, State};

/// Every objective with its defaults and with each of its examples.
fn variants() -> Vec<String> {
    let defaults = OBJECTIVES.iter().map(|line| line.entry.name.to_string());
    let examples = OBJECTIVES.iter().flat_map(|line| line.examples.iter().map(ToString::to_string));
    defaults.chain(examples).collect()
}

fn goal(text: &str) -> Goal {
    Goal::parse(text, &Policy::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Lists of all kinds that can contribute: binary, graded and with fractions as labels, short and long, with item and
/// list weights.
fn fixture() -> (Lists, Vec<f64>) {
    let mut random = Stream::new(7, "contract").open();
    let lengths = [2, 3, 5, 9, 17, 4, 40];
    let mut labels = Vec::new();
    for (q, &n) in lengths.iter().enumerate() {
        let grades = if q % 2 == 0 { 2 } else { 5 };
        let start = labels.len();
        let unit = if q % 4 == 3 { 0.75 } else { 1.0 };
        labels.extend((0..n).map(|_| unit * random.below(grades) as f32));
        labels[start] = 0.0; // at least one other …
        labels[start + 1] = 1.0; // … and one relevant item
    }
    let entries = labels.len();
    let lists = Lists {
        item_weights: Some((0..entries).map(|_| 0.5 + random.unit() as f32).collect()),
        list_weights: Some(lengths.iter().map(|_| 0.5 + random.unit() as f32).collect()),
        ..Lists::from_lengths(&lengths, labels)
    };
    let scores = (0..entries).map(|_| 3.0 * random.unit() - 1.5).collect();
    (lists, scores)
}

fn step(goal: &Goal, lists: &Lists, scores: &[f64]) -> Gradients {
    step_with(goal, lists, scores, None, &mut goal.state(lists).unwrap())
}

fn step_with(
    goal: &Goal,
    lists: &Lists,
    scores: &[f64],
    frozen: Option<&[f64]>,
    state: &mut State,
) -> Gradients {
    let mut out = Gradients { want_hessian: true, ..Gradients::default() };
    let batch = Batch { frozen, ..Batch::all(lists, scores) };
    goal.step(&batch, state, &mut out).unwrap();
    out
}

/// Equal up to `tolerance` of the largest number in `b` (and never below 1e-12 of it: NaN fails).
fn close(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    let scale = b.iter().fold(1e-12, |m: f64, x| m.max(x.abs()));
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= tolerance * scale)
}

/// The variants whose gradient is checked by finite differences: all but straight-through estimators, whose own files
/// test what they promise instead.
fn finite_difference_cases() -> Vec<String> {
    variants().into_iter().filter(|name| goal(name).objective().differentiates_its_loss()).collect()
}

/// List `q` of the lists alone, with the same noise: loss, gradient and Hessian at its scores, frozen quantities from
/// `frozen`.
fn step_alone(
    goal: &Goal,
    lists: &Lists,
    q: usize,
    scores: &[f64],
    frozen: &[f64],
    state: &State,
) -> Gradients {
    let n = scores.len() as u32;
    let draws = Draws {
        lists: vec![q as u32],
        offsets: vec![0, u64::from(n)],
        items: (0..n).collect(),
        ..Draws::default()
    };
    let batch = Batch { draws: Some(&draws), frozen: Some(frozen), ..Batch::all(lists, scores) };
    let mut out = Gradients { want_hessian: true, ..Gradients::default() };
    goal.step(&batch, &mut state.clone(), &mut out).unwrap();
    out
}

#[test]
fn the_gradient_is_the_derivative_of_the_loss() {
    let (lists, scores) = fixture();
    for name in finite_difference_cases() {
        let goal = goal(&name);
        let state = goal.state(&lists).unwrap();
        let mut any = false;
        for q in 0..lists.len() {
            let scores = &scores[lists.range(q)];
            let out = step_alone(&goal, &lists, q, scores, scores, &state);
            let mut moved = scores.to_vec();
            let numeric: Vec<f64> = (0..scores.len())
                .map(|i| {
                    let h = 1e-5;
                    let mut at = |x: f64| {
                        moved[i] = x;
                        step_alone(&goal, &lists, q, &moved, scores, &state).loss
                    };
                    // Five points: the error is h⁴ instead of h², so the step can be large enough for f64.
                    let (far, near) = (
                        at(scores[i] + 2.0 * h) - at(scores[i] - 2.0 * h),
                        at(scores[i] + h) - at(scores[i] - h),
                    );
                    moved[i] = scores[i];
                    (8.0 * near - far) / (12.0 * h)
                })
                .collect();
            // A list without a gradient has noise of the differences only.
            let scale = out.gradient.iter().fold(1e-4, |top: f64, g| top.max(g.abs()));
            let error =
                out.gradient.iter().zip(&numeric).fold(0.0, |top: f64, (g, d)| top.max((g - d).abs()));
            assert!(error <= 1e-5 * scale, "{name}, list {q}:\n{:?}\n{numeric:?}", out.gradient);
            any |= out.gradient.iter().any(|g| *g != 0.0);
        }
        assert!(any, "{name} has no gradient");
    }
}

#[test]
fn an_exact_hessian_is_the_second_derivative_and_none_is_negative() {
    let (lists, scores) = fixture();
    for name in variants() {
        let goal = goal(&name);
        let out = step(&goal, &lists, &scores);
        assert!(out.hessian.iter().all(|h| h.is_finite() && *h >= 0.0), "{name}: {:?}", out.hessian);
        assert!(out.hessian.iter().any(|h| *h > 0.0), "{name} has no hessian");
        let mut plain = Gradients::default();
        goal.step(&Batch::all(&lists, &scores), &mut goal.state(&lists).unwrap(), &mut plain).unwrap();
        assert_eq!(plain.gradient, out.gradient, "{name}: asking for the hessian changes the gradient");
        if goal.objective().hessian() != Hessian::Exact {
            continue;
        }
        let state = goal.state(&lists).unwrap();
        for q in 0..lists.len() {
            let scores = &scores[lists.range(q)];
            let out = step_alone(&goal, &lists, q, scores, scores, &state);
            let mut moved = scores.to_vec();
            let numeric: Vec<f64> = (0..scores.len())
                .map(|i| {
                    let h = 1e-5;
                    let mut at = |x: f64| {
                        moved[i] = x;
                        step_alone(&goal, &lists, q, &moved, scores, &state).gradient[i]
                    };
                    let slope = (at(scores[i] + h) - at(scores[i] - h)) / (2.0 * h);
                    moved[i] = scores[i];
                    slope
                })
                .collect();
            assert!(close(&out.hessian, &numeric, 1e-5), "{name}, list {q}:\n{:?}\n{numeric:?}", out.hessian);
        }
    }
}

#[test]
fn adding_a_constant_to_all_scores_changes_nothing() {
    let (lists, scores) = fixture();
    let shifted: Vec<f64> = scores.iter().map(|s| s + 8.0).collect();
    for name in variants() {
        let goal = goal(&name);
        let (out, moved) = (step(&goal, &lists, &scores), step(&goal, &lists, &shifted));
        if !goal.objective().shift_invariant() {
            assert!(!close(&moved.gradient, &out.gradient, 1e-9), "{name} is invariant and says it is not");
            continue;
        }
        assert!(close(&moved.gradient, &out.gradient, 1e-9), "{name}");
        assert!(close(&[moved.loss], &[out.loss], 1e-9), "{name}: {} {}", moved.loss, out.loss);
        if name.contains("through-tpr") {
            continue; // its v follows the scores and is a constant of the derivative
        }
        for q in 0..lists.len() {
            let part = &out.gradient[lists.range(q)];
            // A list of which hardly anything moves has noise of rounding only: σ' of a sharp sigmoid far out.
            let scale = part.iter().map(|g| g.abs()).sum::<f64>().max(1e-4);
            assert!(part.iter().sum::<f64>().abs() <= 1e-9 * scale, "{name}: list {q} sums to something");
        }
    }
}

#[test]
fn the_order_of_the_items_does_not_matter() {
    let (lists, scores) = fixture();
    let mut turned = lists.clone();
    let mut turned_scores = scores.clone();
    for q in 0..lists.len() {
        turned.labels[lists.range(q)].reverse();
        turned.item_weights.as_mut().unwrap()[lists.range(q)].reverse();
        turned_scores[lists.range(q)].reverse();
    }
    for name in variants() {
        let goal = goal(&name);
        if goal.objective().needs().random {
            continue; // noise belongs to places
        }
        let out = step(&goal, &lists, &scores);
        let mut back = step(&goal, &turned, &turned_scores);
        for q in 0..lists.len() {
            back.gradient[lists.range(q)].reverse();
            back.hessian[lists.range(q)].reverse();
        }
        assert!(close(&back.gradient, &out.gradient, 1e-9), "{name}");
        assert!(close(&back.hessian, &out.hessian, 1e-9), "{name}: hessian");
        assert!(close(&[back.loss], &[out.loss], 1e-10), "{name}: {} {}", back.loss, out.loss);
    }
}

#[test]
fn a_batch_is_the_mean_of_its_lists() {
    let (lists, scores) = fixture();
    let weights = lists.list_weights.clone().unwrap();
    let total: f64 = weights.iter().map(|w| f64::from(*w)).sum();
    for name in variants() {
        let goal = goal(&name);
        let whole = step(&goal, &lists, &scores);
        let mut loss = 0.0;
        for (q, weight) in weights.iter().enumerate() {
            // The same numbers at the same place, so that noise is the same: all other lists drawn away.
            let range = lists.range(q);
            let n = range.len() as u32;
            let draws = Draws {
                lists: vec![q as u32],
                offsets: vec![0, u64::from(n)],
                items: (0..n).collect(),
                ..Draws::default()
            };
            let mut out = Gradients::default();
            let batch = Batch { draws: Some(&draws), ..Batch::all(&lists, &scores[range.clone()]) };
            goal.step(&batch, &mut goal.state(&lists).unwrap(), &mut out).unwrap();
            let share = f64::from(*weight) / total;
            loss += share * out.loss;
            let scaled: Vec<f64> = out.gradient.iter().map(|g| g * share).collect();
            assert!(
                close(&scaled, &whole.gradient[range.clone()], 1e-12),
                "{name}: list {q}: {scaled:?} {:?}",
                &whole.gradient[range]
            );
        }
        assert!(close(&[loss], &[whole.loss], 1e-12), "{name}: {loss} {}", whole.loss);
    }
}

#[test]
fn the_weight_of_a_list_counts_like_repetition() {
    let (lists, scores) = fixture();
    let lists = Lists { list_weights: Some((0..lists.len()).map(|q| (1 + q % 3) as f32).collect()), ..lists };
    let mut labels = Vec::new();
    let mut lengths = Vec::new();
    let mut weights = Vec::new();
    let mut repeated = Vec::new();
    for q in 0..lists.len() {
        for _ in 0..=q % 3 {
            lengths.push(lists.range(q).len());
            labels.extend_from_slice(&lists.labels[lists.range(q)]);
            weights.extend_from_slice(&lists.item_weights.as_ref().unwrap()[lists.range(q)]);
            repeated.extend_from_slice(&scores[lists.range(q)]);
        }
    }
    let many = Lists { item_weights: Some(weights), ..Lists::from_lengths(&lengths, labels) };
    for name in variants() {
        let goal = goal(&name);
        if goal.objective().needs().random {
            continue; // a repeated list has its own noise
        }
        let (weighted, repeated) = (step(&goal, &lists, &scores), step(&goal, &many, &repeated));
        assert!(close(&[weighted.loss], &[repeated.loss], 1e-12), "{name}");
        let mut at = 0;
        for q in 0..lists.len() {
            let n = lists.range(q).len();
            let once: Vec<f64> =
                repeated.gradient[at..at + n].iter().map(|g| g * (1 + q % 3) as f64).collect();
            assert!(close(&weighted.gradient[lists.range(q)], &once, 1e-12), "{name}: list {q}");
            at += n * (1 + q % 3);
        }
    }
}

#[test]
fn item_weights_of_one_are_no_weights_and_every_objective_heeds_others() {
    let (lists, scores) = fixture();
    let ones = Lists { item_weights: Some(vec![1.0; lists.entries()]), ..lists.clone() };
    let none = Lists { item_weights: None, ..lists.clone() };
    for name in variants() {
        let goal = goal(&name);
        let plain = step(&goal, &none, &scores);
        assert!(close(&step(&goal, &ones, &scores).gradient, &plain.gradient, 1e-12), "{name}");
        assert!(
            !close(&step(&goal, &lists, &scores).gradient, &plain.gradient, 1e-3),
            "{name} ignores weights"
        );
    }
}

#[test]
fn a_list_that_cannot_contribute_is_counted_and_harms_no_other() {
    let (lists, scores) = fixture();
    let degenerate: [&[f32]; 7] =
        [&[], &[1.0], &[0.0], &[0.0, 0.0, 0.0], &[f32::NAN, f32::NAN], &[f32::NAN, 1.0], &[2.0, 2.0, 2.0]];
    let mut all = lists.clone();
    let mut all_scores = scores.clone();
    for labels in degenerate {
        all.labels.extend_from_slice(labels);
        all.item_weights.as_mut().unwrap().extend(labels.iter().map(|_| 1.0));
        all.list_weights.as_mut().unwrap().push(1.0);
        all.offsets.push(all.labels.len() as u64);
        all_scores.extend((0..labels.len()).map(|i| i as f64));
    }
    let total =
        |lists: &Lists| lists.list_weights.as_ref().unwrap().iter().map(|w| f64::from(*w)).sum::<f64>();
    for name in variants() {
        let goal = goal(&name);
        let (alone, out) = (step(&goal, &lists, &scores), step(&goal, &all, &all_scores));
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        assert!(out.loss.is_finite() && finite(&out.gradient) && finite(&out.hessian), "{name}");
        assert_eq!(out.counts.all, all.len(), "{name}");
        assert_eq!(out.counts.used + out.counts.idle, all.len(), "{name}");
        assert!(out.counts.idle >= 1, "{name}: an empty list contributes");
        // Another threshold leaves some lists without relevant items, a short list has no place below K and no item
        // in a partial region.
        let may_be_short = ["lambda-p", "precision-threshold", "recall-threshold", "pauc-", "tpauc-"];
        if !name.contains("relevant=") && !may_be_short.iter().any(|start| name.starts_with(start)) {
            assert_eq!(alone.counts.idle, 0, "{name}: {:?}", alone.counts);
        }
        for (q, loss) in out.losses.iter().enumerate().skip(lists.len()) {
            let gradient = &out.gradient[all.range(q)];
            if gradient.iter().all(|g| *g == 0.0) {
                assert!(*loss >= 0.0, "{name}: list {q} has loss {loss}");
            }
        }
        let scaled: Vec<f64> =
            out.gradient[..lists.entries()].iter().map(|g| g * total(&all) / total(&lists)).collect();
        assert!(close(&scaled, &alone.gradient, 1e-12), "{name}");
    }
}

#[test]
fn unjudged_items_take_no_part() {
    let (lists, scores) = fixture();
    // An unjudged item after every item, with a score of its own.
    let twice = |values: &[f32], other: f32| values.iter().flat_map(|v| [*v, other]).collect::<Vec<f32>>();
    let more = Lists {
        offsets: lists.offsets.iter().map(|o| 2 * o).collect(),
        labels: twice(&lists.labels, f32::NAN),
        item_weights: lists.item_weights.as_ref().map(|w| twice(w, 9.0)),
        ..lists.clone()
    };
    let more_scores: Vec<f64> = scores.iter().flat_map(|s| [*s, 5.0 - s]).collect();
    for name in variants() {
        let goal = goal(&name);
        let (out, with) = (step(&goal, &lists, &scores), step(&goal, &more, &more_scores));
        assert_eq!(with.loss, out.loss, "{name}");
        for (i, gradient) in out.gradient.iter().enumerate() {
            assert_eq!(
                [with.gradient[2 * i], with.gradient[2 * i + 1]],
                [*gradient, 0.0],
                "{name}: item {i}"
            );
        }
    }
}

#[test]
fn far_apart_huge_and_equal_scores_stay_finite() {
    let (lists, scores) = fixture();
    let cases: [(&str, Vec<f64>); 4] = [
        ("times 1e3", scores.iter().map(|s| s * 1e3).collect()),
        ("spread 1e6", scores.iter().map(|s| s * 1e6).collect()),
        ("offset 1e6", scores.iter().map(|s| s + 1e6).collect()),
        ("equal", vec![0.25; scores.len()]),
    ];
    for name in variants() {
        for (case, scores) in &cases {
            let out = step(&goal(&name), &lists, scores);
            assert!(out.loss.is_finite(), "{name}, {case}: {}", out.loss);
            assert!(out.gradient.iter().all(|g| g.is_finite()), "{name}, {case}: {:?}", out.gradient);
            assert!(
                out.hessian.iter().all(|h| h.is_finite() && *h >= 0.0),
                "{name}, {case}: {:?}",
                out.hessian
            );
        }
    }
}

#[test]
fn importance_multiplies_loss_and_gradient_of_its_draw_and_not_the_divisor() {
    let lists = Lists::from_lengths(&[2, 3], vec![1.0, 0.0, 0.0, 2.0, 1.0]);
    let scores = [0.3, 0.4, 0.1, -0.2, 0.5];
    let goal = Goal::parse("ranknet", &Policy::default()).unwrap();
    let draws =
        Draws { lists: vec![0, 1], offsets: vec![0, 2, 5], items: vec![0, 1, 0, 1, 2], ..Draws::default() };
    let run = |draws: &Draws| {
        let mut out = Gradients::default();
        let batch = Batch { draws: Some(draws), ..Batch::all(&lists, &scores) };
        goal.step(&batch, &mut goal.state(&lists).unwrap(), &mut out).map(|()| out)
    };
    let even = run(&draws).unwrap();
    let uneven = run(&Draws { importance: vec![3.0, 0.5], ..draws.clone() }).unwrap();
    assert!((uneven.loss - (1.5 * even.losses[0] + 0.25 * even.losses[1])).abs() < 1e-15);
    for (i, (a, b)) in uneven.gradient.iter().zip(&even.gradient).enumerate() {
        assert!((a - if i < 2 { 3.0 } else { 0.5 } * b).abs() < 1e-15, "entry {i}");
    }
    assert!(run(&Draws { importance: vec![1.0], ..draws.clone() }).is_err());
    assert!(run(&Draws { importance: vec![1.0, f64::NAN], ..draws }).is_err());
}

/// Three steps on moving scores, with samples and the scores of the step before: what parameters of trackers need
/// to show.
fn response(goal: &Goal, lists: &Lists, scores: &[f64]) -> Vec<f64> {
    let mut state = goal.state(lists).unwrap();
    let mut all = Vec::new();
    let mut out = Gradients { want_hessian: true, ..Gradients::default() };
    let mut previous: Option<Vec<f64>> = None;
    for t in 0..3u64 {
        let moved: Vec<f64> =
            scores.iter().enumerate().map(|(i, s)| s + 0.3 * ((i as f64) + t as f64).sin()).collect();
        let mut draws = Draws { offsets: vec![0], ..Draws::default() };
        for q in 0..lists.len() {
            // From long lists leave out one item in three, another one in each step, never the first two.
            let n = lists.range(q).len() as u64;
            draws.items.extend((0..n).filter(|i| *i < 2 || n < 10 || (i + t) % 3 != 0).map(|i| i as u32));
            draws.lists.push(q as u32);
            draws.offsets.push(draws.items.len() as u64);
        }
        let entry = |scores: &[f64]| -> Vec<f64> {
            (0..lists.len())
                .flat_map(|q| {
                    draws.items[draws.offsets[q] as usize..draws.offsets[q + 1] as usize]
                        .iter()
                        .map(move |i| (q, *i))
                })
                .map(|(q, i)| scores[lists.range(q).start + i as usize])
                .collect()
        };
        let (now, before) = (entry(&moved), previous.as_ref().map(|p| entry(p)));
        let stream = Stream::new(1, "objective").at_step(t);
        let batch =
            Batch { draws: Some(&draws), previous: before.as_deref(), stream, ..Batch::all(lists, &now) };
        goal.step(&batch, &mut state, &mut out).unwrap();
        all.push(out.loss);
        all.extend_from_slice(&out.gradient);
        all.extend_from_slice(&out.hessian);
        previous = Some(moved);
    }
    all
}

#[test]
fn every_example_changes_the_result_of_the_defaults() {
    let (lists, scores) = fixture();
    for line in OBJECTIVES {
        let name = line.entry.name;
        let default = response(&goal(name), &lists, &scores);
        assert!(default.iter().all(|value| value.is_finite()), "{name}");
        for example in line.examples {
            // Without its last parameter: that one must make the difference.
            let base = example.rfind([':', '@']).map_or(*example, |end| &example[..end]);
            let (with, without) =
                (response(&goal(example), &lists, &scores), response(&goal(base), &lists, &scores));
            assert!(with.iter().all(|value| value.is_finite()), "{example}");
            assert!(!close(&with, &without, 1e-6), "{example} is the same as {base}");
        }
    }
}

#[test]
fn same_bytes_at_any_number_of_threads() {
    let (lists, scores) = fixture();
    // Long enough to be cut.
    let copies = 110;
    let lengths: Vec<usize> = (0..lists.len()).map(|q| lists.range(q).len()).collect();
    let many = Lists {
        item_weights: lists.item_weights.as_ref().map(|w| w.repeat(copies)),
        list_weights: lists.list_weights.as_ref().map(|w| w.repeat(copies)),
        ..Lists::from_lengths(&lengths.repeat(copies), lists.labels.repeat(copies))
    };
    let scores: Vec<f64> =
        scores.repeat(copies).iter().enumerate().map(|(i, s)| s + 1e-3 * i as f64).collect();
    for line in OBJECTIVES {
        let goal = goal(line.entry.name);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut state = goal.state(&many).unwrap();
            let out = pool.install(|| {
                step_with(&goal, &many, &scores, None, &mut state);
                step_with(&goal, &many, &scores, None, &mut state)
            });
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
            (out.loss.to_bits(), bits(&out.gradient), bits(&out.hessian), state.save())
        };
        assert_eq!(on(1), on(3), "{}", line.entry.name);
    }
}

/// What CONTRIBUTING.md asks of a new objective, beside its file: nothing else has to be remembered.
#[test]
fn every_line_has_a_page_a_finite_difference_case_and_a_liveness_case_of_every_parameter() {
    let differences = finite_difference_cases();
    for line in OBJECTIVES {
        let (name, page) = (line.entry.name, line.entry.page);
        let own = |case: &String| case == name || line.examples.contains(&case.as_str());
        assert!(differences.iter().any(own), "{name} is nowhere checked by finite differences");
        for param in line.entry.params {
            let key = if param.name == "@" { "@".to_string() } else { format!(":{}=", param.name) };
            assert!(line.examples.iter().any(|e| e.contains(&key)), "{name}: no example sets {}", param.name);
        }
        for example in line.examples {
            assert!(example.starts_with(name), "{example} stands in the line of {name}");
        }
        for part in ["```text\n", "Source: ", "Lists without gradient: ", "Cost: ", "\n```\n", "Goal::parse"]
        {
            assert!(page.contains(part), "the page of {name} lacks {part:?}");
        }
        assert!(!line.entry.about.is_empty());
    }
}

/// On a first visit the state of one step ago is what the scores of that step give, so nothing else can come out.
#[test]
fn the_gradient_at_the_previous_scores_is_the_one_that_they_had() {
    let (lists, scores) = fixture();
    let previous: Vec<f64> = scores.iter().enumerate().map(|(i, s)| s + 0.4 * (i as f64).sin()).collect();
    // A list long enough for the kernels that sort.
    let mut random = Stream::new(8, "contract").open();
    let long = Lists::from_lengths(&[300], (0..300).map(|_| random.below(3) as f32).collect());
    let long_scores: Vec<f64> = (0..300).map(|_| 3.0 * random.unit()).collect();
    let long_previous: Vec<f64> = (0..300).map(|_| 3.0 * random.unit()).collect();
    let mut checked = 0;
    for name in variants() {
        let goal = goal(&name);
        if !goal.objective().needs().previous_scores {
            continue;
        }
        checked += 1;
        for (lists, scores, previous) in [(&lists, &scores, &previous), (&long, &long_scores, &long_previous)]
        {
            let mut state = goal.state(lists).unwrap();
            let before = step_with(&goal, lists, previous, None, &mut state);
            let now = |state: &mut State, at: u64| {
                let mut out = Gradients::default();
                let stream = Stream::new(0, "objective").at_step(at);
                let batch = Batch { previous: Some(previous), stream, ..Batch::all(lists, scores) };
                goal.step(&batch, state, &mut out).unwrap();
                out.gradient_previous
            };
            assert!(
                close(&now(&mut goal.state(lists).unwrap(), 0), &before.gradient, 1e-12),
                "{name}: first"
            );
            assert!(close(&now(&mut state, 1), &before.gradient, 1e-12), "{name}: second visit");
        }
    }
    assert!(checked > 0, "no objective asks for the previous scores");
}

#[test]
fn names_are_unique_and_aliases_lead_to_a_line() {
    let aliases = toprank_objectives::ALIASES;
    let mut names: Vec<&str> =
        OBJECTIVES.iter().map(|line| line.entry.name).chain(aliases.iter().map(|alias| alias.0)).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    for (alias, name) in aliases {
        assert_eq!(goal(alias).name(), goal(name).name());
        assert_eq!(toprank_objectives::find(alias).unwrap().entry.name, goal(name).listing().entry.name);
    }
}

#[test]
fn what_a_user_can_get_wrong_is_an_error_that_says_so() {
    let (lists, scores) = fixture();
    let message = |text: &str| Goal::parse(text, &Policy::default()).unwrap_err().to_string();
    assert!(message("ranknt").contains("did you mean \"ranknet\""), "{}", message("ranknt"));
    assert_eq!(
        message("ranknet@5"),
        "the cut-off of ranknet must be left out: this objective takes the whole list, but is 5"
    );
    assert_eq!(message("ranknet:temperature=0"), "temperature must be in (0, ∞), but is 0");
    let ranknet = goal("ranknet");
    let mut state = ranknet.state(&lists).unwrap();
    let mut run =
        |batch: &Batch| ranknet.step(batch, &mut state, &mut Gradients::default()).unwrap_err().to_string();
    let mut bad = scores.clone();
    bad[lists.range(2).start + 1] = f64::NAN;
    assert_eq!(run(&Batch::all(&lists, &bad)), "list 2, item 1: the score is NaN, expected a finite number");
    assert_eq!(run(&Batch::all(&lists, &scores[1..])), "scores: found 79, expected 80");
    let draws = Draws { lists: vec![1, 1], offsets: vec![0, 0, 0], items: vec![], ..Draws::default() };
    let error = run(&Batch { draws: Some(&draws), ..Batch::all(&lists, &[]) });
    assert_eq!(error, "drawn lists: found [1, 1] …, expected strictly ascending numbers below 7");
    let draws = Draws { lists: vec![5], offsets: vec![0, 2], items: vec![1, 3], ..Draws::default() };
    let error = run(&Batch { draws: Some(&draws), ..Batch::all(&lists, &[0.0, f64::INFINITY]) });
    assert_eq!(error, "list 5, item 3: the score is inf, expected a finite number");
    let infinite = Lists::from_lengths(&[2], vec![f32::INFINITY, 0.0]);
    let error = ranknet.state(&infinite).unwrap_err().to_string();
    assert_eq!(error, "list 0, item 0: the label is inf, expected a finite label");
}

#[test]
fn the_walk_through_in_contributing_shows_the_code_as_it_is() {
    let guide = include_str!("../../../CONTRIBUTING.md");
    let file = include_str!("../src/listwise/listnet.rs");
    let file = file.split("#[cfg(test)]").next().unwrap().trim_end();
    assert!(guide.contains(file), "CONTRIBUTING.md shows another listnet.rs; copy the present one");
    let family = include_str!("../src/listwise/mod.rs");
    for start in ["pub mod listnet;", "    listnet = "] {
        let line = family.lines().find(|line| line.starts_with(start)).unwrap();
        assert!(
            guide.contains(line),
            "CONTRIBUTING.md shows other lines of listwise/mod.rs; expected {line}"
        );
    }
}
