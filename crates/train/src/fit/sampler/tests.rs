//! The promises of the samplers.

use std::collections::BTreeMap;

use proptest::prelude::*;
use toprank_core::{Choices, Lists, Policy, Relevant, Stream};
use toprank_objectives::compositional::{Reference, Strata};
use toprank_objectives::{Batch, Draws, Goal, Gradients};

use super::*;

/// Every sampler in the forms that the contract is checked in.
const FORMS: &[&str] = &[
    "lists:batch=2",
    "lists:batch=all",
    "slates:batch=2:items=3",
    "slates:batch=all:items=all",
    "strata:batch=3:relevant=2:others=2",
    "strata:batch=all:relevant=all:others=1",
    "pairs:batch=4:group=2:items=2",
    "pairs:batch=1:group=3:items=all",
    "pairs:batch=all:group=all:items=1",
    "strata:batch=3:relevant=2:others=2:epoch=all",
    "strata:batch=all:relevant=2:others=1:epoch=relevant",
    "rows:batch=5",
    "rows:batch=all",
];

fn open(text: &str, lists: &Lists, seed: u64) -> Box<dyn Sampler> {
    parse(text).unwrap().1.open(lists, &Policy::default(), seed).unwrap()
}

fn draw(sampler: &mut dyn Sampler, step: u64) -> Draws {
    let mut out = Draws::default();
    sampler.draw(step, &mut out);
    out
}

fn items(draws: &Draws, d: usize) -> &[u32] {
    &draws.items[draws.offsets[d] as usize..draws.offsets[d + 1] as usize]
}

/// Seven lists: an empty one, one without a judged item, one without a relevant item, one with a single one.
fn some_lists() -> Lists {
    let x = f32::NAN;
    Lists::from_lengths(
        &[6, 0, 3, 5, 8, 2, 4],
        [
            vec![1.0, 0.0, 2.0, 0.0, x, 1.0],
            vec![x, x, x],
            vec![0.0, 0.0, x, 0.0, 0.0],
            vec![0.0, 1.0, 1.0, 0.0, 2.0, 0.0, 1.0, 1.0],
            vec![0.0, 3.0],
            vec![1.0, 1.0, 0.0, 0.0],
        ]
        .concat(),
    )
}

/// The step is accepted by the walk, whose check knows what draws must be.
fn is_valid(draws: &Draws, lists: &Lists) -> bool {
    let goal = Goal::parse("squared", &Policy::default()).unwrap();
    let scores = vec![0.0; draws.items.len()];
    let batch = Batch { draws: Some(draws), ..Batch::all(lists, &scores) };
    goal.step(&batch, &mut goal.state(lists).unwrap(), &mut Gradients::default()).is_ok()
}

#[test]
fn draws_are_a_function_of_seed_and_step() {
    let lists = some_lists();
    for form in FORMS {
        let mut sampler = open(form, &lists, 5);
        let forward: Vec<Draws> = (0..20).map(|step| draw(&mut *sampler, step)).collect();
        for step in [19, 3, 0, 11] {
            assert_eq!(draw(&mut *sampler, step), forward[step as usize], "{form}, going back");
            assert_eq!(draw(&mut *open(form, &lists, 5), step), forward[step as usize], "{form}, afresh");
        }
        for (step, draws) in forward.iter().enumerate() {
            assert!(is_valid(draws, &lists), "{form}, step {step}: {draws:?}");
        }
    }
}

#[test]
fn another_seed_draws_otherwise() {
    let lists = some_lists();
    for form in FORMS.iter().filter(|form| {
        !form.contains("all:items=all") && !["lists:batch=all", "rows:batch=all"].contains(form)
    }) {
        let first: Vec<Draws> = (0..20).map(|step| draw(&mut *open(form, &lists, 5), step)).collect();
        let other: Vec<Draws> = (0..20).map(|step| draw(&mut *open(form, &lists, 6), step)).collect();
        assert_ne!(first, other, "{form}");
    }
}

#[test]
fn every_parameter_matters() {
    let lists = some_lists();
    let table = [
        ("lists:batch=2", "lists:batch=3"),
        ("slates:batch=2:items=2", "slates:batch=3:items=2"),
        ("slates:batch=2:items=2", "slates:batch=2:items=3"),
        ("strata:batch=2:relevant=2:others=2", "strata:batch=3:relevant=2:others=2"),
        ("strata:batch=2:relevant=2:others=2", "strata:batch=2:relevant=3:others=2"),
        ("strata:batch=2:relevant=2:others=2", "strata:batch=2:relevant=2:others=1"),
        ("strata:batch=2:relevant=2:others=2:epoch=lists", "strata:batch=2:relevant=2:others=2:epoch=all"),
        ("rows:batch=2", "rows:batch=3"),
        ("pairs:batch=4:group=2:items=2", "pairs:batch=6:group=2:items=2"),
        ("pairs:batch=4:group=2:items=2", "pairs:batch=4:group=5:items=2"),
        ("pairs:batch=4:group=2:items=2", "pairs:batch=4:group=2:items=1"),
    ];
    let of_choices = [
        ("pairs:batch=4:group=2:items=2", "pairs:batch=4:group=2:items=2:popular=1"),
        ("pairs:batch=4:items=2:popular=1", "pairs:batch=4:items=2:popular=1:correct=false"),
        ("strata:batch=2:others=2", "strata:batch=2:others=2:popular=0.5"),
        ("strata:batch=2:others=2:popular=1", "strata:batch=2:others=2:popular=1:correct=false"),
    ];
    for (name, key) in SAMPLERS.iter().flat_map(|e| e.params.iter().map(|p| (e.name, p.name))) {
        let value = |text: &str| Spec::parse(text).unwrap().args.get(key).map(str::to_string);
        let tried = |(a, b): &(&str, &str)| a.starts_with(name) && value(a) != value(b);
        assert!(table.iter().chain(&of_choices).any(tried), "{key} of {name} is not in the table");
    }
    let pairs =
        vec![(0, 1, 1.0), (0, 7, 1.0), (0, 3, 1.0), (1, 1, 1.0), (1, 8, 1.0), (2, 1, 1.0), (2, 3, 1.0)];
    let choices = Choices::from_pairs(3, 12, pairs);
    for (one, other) in of_choices {
        let epoch = |form: &str| {
            let mut sampler = parse(form).unwrap().1.open_choices(&choices, &Policy::default(), 5).unwrap();
            (0..6).map(|t| draw(&mut *sampler, t)).collect::<Vec<_>>()
        };
        assert_ne!(epoch(one), epoch(other), "{one} and {other}");
    }
    for (one, other) in table {
        let epoch = |form: &str| (0..6).map(|t| draw(&mut *open(form, &lists, 5), t)).collect::<Vec<_>>();
        assert_ne!(epoch(one), epoch(other), "{one} and {other}");
    }
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    for (text, key) in [
        ("lists:batch=0", "batch"),
        ("lists:batch=-1", "batch"),
        ("lists:batch=1.5", "batch"),
        ("slates:items=none", "items"),
        ("strata:relevant=1", "relevant"),
        ("strata:others=0", "others"),
        ("pairs:group=1", "group"),
        ("pairs:items=0", "items"),
    ] {
        let error = parse(text).err().unwrap_or_else(|| panic!("{text} was accepted"));
        assert_eq!(error.param, key, "{text}: {error}");
    }
}

#[test]
fn data_with_nothing_to_draw_are_refused_with_what_is_missing() {
    let unjudged = Lists::from_lengths(&[2, 0], vec![f32::NAN; 2]);
    let nothing_relevant = Lists::from_lengths(&[2], vec![0.0; 2]);
    let refuse = |form: &str, lists: &Lists| {
        parse(form).unwrap().1.open(lists, &Policy::default(), 1).err().map(|error| error.to_string())
    };
    for form in ["lists", "slates", "strata", "strata:epoch=all", "pairs", "rows"] {
        assert!(refuse(form, &Lists::default()).is_some());
        assert!(refuse(form, &unjudged).is_some());
    }
    assert_eq!(
        refuse("pairs", &nothing_relevant).unwrap(),
        "what the sampler pairs draws from must be lists with a relevant item, but is 1 lists, 2 items, none of them such"
    );
    assert!(refuse("strata", &nothing_relevant).is_none());
}

#[test]
fn every_list_comes_once_per_epoch() {
    let lists = some_lists();
    let by_list = |form: &&&str| {
        !["pairs", "rows"].iter().any(|name| form.starts_with(name)) && !form.contains("epoch=")
    };
    for form in FORMS.iter().filter(by_list) {
        let mut sampler = open(form, &lists, 3);
        let steps = sampler.steps_per_epoch();
        for epoch in 0..4 {
            let mut seen: Vec<u32> =
                (0..steps).flat_map(|t| draw(&mut *sampler, epoch * steps + t).lists).collect();
            seen.sort_unstable();
            assert_eq!(seen, [0, 3, 4, 5, 6], "{form}: all lists with a judged item");
        }
    }
}

#[test]
fn every_relevant_pair_comes_once_per_pass_and_never_alone_where_there_are_more() {
    let lists = some_lists();
    let relevant = |q: u32, item: &u32| lists.labels[lists.range(q as usize)][*item as usize] > 0.0;
    let mut all: Vec<(u32, u32)> = (0..lists.len() as u32)
        .flat_map(|q| (0..lists.range(q as usize).len() as u32).map(move |item| (q, item)))
        .filter(|(q, item)| relevant(*q, item))
        .collect();
    all.sort_unstable();
    for form in FORMS.iter().filter(|form| form.starts_with("pairs")) {
        let mut sampler = open(form, &lists, 3);
        let steps = sampler.steps_per_epoch();
        for epoch in 0..20 {
            let mut seen = Vec::new();
            for t in 0..steps {
                let draws = draw(&mut *sampler, epoch * steps + t);
                for (d, &q) in draws.lists.iter().enumerate() {
                    let here: Vec<u32> =
                        items(&draws, d).iter().copied().filter(|item| relevant(q, item)).collect();
                    assert!(here.len() >= 2 || q == 5, "{form}: one relevant item alone of list {q}");
                    seen.extend(here.into_iter().map(|item| (q, item)));
                }
            }
            seen.sort_unstable();
            assert_eq!(seen, all, "{form}, epoch {epoch}");
        }
    }
}

#[test]
fn groups_are_of_almost_equal_size_and_as_many_as_asked() {
    // One list, so that every step is one group when steps are as many as groups.
    for (all, group, sizes) in [
        (7, 3, vec![2, 2, 3]),
        (7, 2, vec![2, 2, 3]),
        (3, 2, vec![3]),
        (5, 3, vec![2, 3]),
        (10, 10, vec![10]),
        (11, 10, vec![5, 6]),
        (1, 2, vec![1]),
    ] {
        let lists = Lists::from_lengths(&[all], vec![1.0; all]);
        let mut sampler = open(&format!("pairs:batch=1:group={group}:items=1"), &lists, 1);
        let mut found: Vec<usize> =
            (0..sampler.steps_per_epoch()).map(|t| draw(&mut *sampler, t).items.len()).collect();
        found.sort_unstable();
        assert_eq!(found, sizes, "{all} relevant items in groups of {group}");
    }
}

#[test]
fn lists_alike_are_cut_into_groups_of_their_own() {
    let lists = Lists::from_lengths(&[8, 8], vec![1.0; 16]);
    let mut sampler = open("pairs:batch=8:group=4:items=1", &lists, 3);
    let (mut both, mut alike) = (0, 0);
    for step in 0..400 {
        let draws = draw(&mut *sampler, step);
        both += u32::from(draws.lists.len() == 2);
        alike += u32::from(draws.lists.len() == 2 && items(&draws, 0) == items(&draws, 1));
    }
    // The same four of eight: once in 70.
    assert!(both > 200 && alike < 20, "{alike} of {both}");
}

#[test]
fn unjudged_items_are_never_drawn_into_a_sample() {
    let lists = some_lists();
    for form in FORMS.iter().filter(|form| !form.starts_with("lists")) {
        let mut sampler = open(form, &lists, 3);
        for step in 0..50 {
            let draws = draw(&mut *sampler, step);
            for (d, &q) in draws.lists.iter().enumerate() {
                let labels = &lists.labels[lists.range(q as usize)];
                assert!(items(&draws, d).iter().all(|&item| !labels[item as usize].is_nan()), "{form}");
            }
        }
    }
}

/// Three labels over the same twelve rows, some of them not judged.
fn labels_over_shared_rows() -> Lists {
    let x = f32::NAN;
    let labels = [
        vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        vec![0.0, 0.0, x, 0.0, x, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0],
        vec![0.0, x, x, x, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, x, 0.0],
    ];
    let mut lists = Lists::from_lengths(&[12; 3], labels.concat());
    lists.rows = Some((0..12).cycle().take(36).collect());
    lists.output = Some(vec![0, 1, 2]);
    lists
}

/// How often each judged item comes in an epoch.
fn times_in_an_epoch(form: &str, lists: &Lists, epoch: u64) -> BTreeMap<(u32, u32), u32> {
    let mut sampler = open(form, lists, 3);
    let steps = sampler.steps_per_epoch();
    let mut times = BTreeMap::new();
    for t in 0..steps {
        let draws = draw(&mut *sampler, epoch * steps + t);
        for (d, &q) in draws.lists.iter().enumerate() {
            for &item in items(&draws, d) {
                *times.entry((q, item)).or_insert(0) += 1;
            }
        }
    }
    times
}

#[test]
fn every_row_comes_once_per_pass_with_all_of_its_judged_labels() {
    for lists in [some_lists(), labels_over_shared_rows()] {
        let judged: Vec<(u32, u32)> = (0..lists.len() as u32)
            .flat_map(|q| (0..lists.range(q as usize).len() as u32).map(move |item| (q, item)))
            .filter(|(q, item)| !lists.labels[lists.range(*q as usize)][*item as usize].is_nan())
            .collect();
        for form in ["rows:batch=5", "rows:batch=1", "rows:batch=all"] {
            for epoch in 0..3 {
                let times = times_in_an_epoch(form, &lists, epoch);
                assert_eq!(times.keys().copied().collect::<Vec<_>>(), judged, "{form}");
                assert!(times.values().all(|&n| n == 1), "{form}");
            }
        }
    }
    // A step holds whole rows.
    let lists = labels_over_shared_rows();
    let mut sampler = open("rows:batch=5", &lists, 3);
    let draws = draw(&mut *sampler, 0);
    let rows: std::collections::BTreeSet<u32> = draws.items.iter().copied().collect();
    assert_eq!(rows.len(), 4); // 12 rows in 3 steps
    for (d, &q) in draws.lists.iter().enumerate() {
        let labels = &lists.labels[lists.range(q as usize)];
        let judged: Vec<u32> = rows.iter().copied().filter(|&row| !labels[row as usize].is_nan()).collect();
        assert_eq!(items(&draws, d), judged);
    }
}

#[test]
fn a_pass_of_strata_shows_every_item_it_promises_and_the_rest_evenly() {
    // Binary data: 5 relevant items of 23, pieces of at most 2 and at most 4.
    let labels: Vec<f32> = (0..23).map(|i| f32::from(u8::from(i % 5 == 1))).collect();
    let binary = Lists::from_lengths(&[23], labels.clone());
    let of = |times: &BTreeMap<(u32, u32), u32>, relevant: bool| -> Vec<u32> {
        let class = times.iter().filter(|((_, item), _)| (labels[*item as usize] > 0.0) == relevant);
        class.map(|(_, n)| *n).collect()
    };
    for epoch in 0..4 {
        let relevant = times_in_an_epoch("strata:relevant=2:others=4:epoch=relevant", &binary, epoch);
        assert_eq!(of(&relevant, true), [1; 5], "every relevant item once");
        let all = times_in_an_epoch("strata:relevant=2:others=4:epoch=all", &binary, epoch);
        assert_eq!(of(&all, false), [1; 18], "every other item once");
        let often = of(&all, true); // 5 rounds of 2 or 3 of 5
        assert!(often.len() == 5 && often.iter().all(|n| (2..=3).contains(n)), "{often:?}");
    }
    assert_eq!(open("strata:relevant=2:others=4:epoch=relevant", &binary, 1).steps_per_epoch(), 2);
    assert_eq!(open("strata:relevant=2:others=4:epoch=all", &binary, 1).steps_per_epoch(), 5);
    // Several labels: at least once each, in rounds over all lists.
    let lists = labels_over_shared_rows();
    for (form, steps) in [
        ("strata:batch=2:relevant=2:others=3:epoch=relevant", 2 * 2),
        ("strata:batch=2:relevant=2:others=3:epoch=all", 2 * 3),
    ] {
        assert_eq!(open(form, &lists, 1).steps_per_epoch(), steps, "{form}");
        let times = times_in_an_epoch(form, &lists, 2);
        let shown = |q: u32, item: u32| times.contains_key(&(q, item));
        for q in 0..3u32 {
            for (item, label) in (0..).zip(&lists.labels[lists.range(q as usize)]) {
                let promised = *label > 0.0 || form.ends_with("all") && !label.is_nan();
                assert!(!promised || shown(q, item), "{form}: item {item} of list {q}");
            }
        }
    }
}

#[test]
fn batches_of_strata_hold_the_counts_that_were_asked_for_in_every_epoch() {
    let labels: Vec<f32> = (0..1000).map(|i| f32::from(u8::from(i % 25 == 0))).collect();
    let lists = Lists::from_lengths(&[1000], labels);
    let mut sampler = open("strata:relevant=8:others=24:epoch=all", &lists, 3);
    for step in 0..3 * sampler.steps_per_epoch() {
        let draws = draw(&mut *sampler, step);
        let relevant = draws.items.iter().filter(|item| *item % 25 == 0).count();
        assert_eq!((relevant, draws.items.len()), (8, 32)); // 40 = 5 · 8 and 960 = 40 · 24
    }
}

#[test]
fn counts_of_each_stratum_are_as_asked() {
    let lists = some_lists();
    let mut sampler = open("strata:batch=all:relevant=2:others=3", &lists, 3);
    for step in 0..30 {
        let draws = draw(&mut *sampler, step);
        let counts: Vec<(usize, usize)> = (0..draws.lists.len())
            .map(|d| {
                let labels = &lists.labels[lists.range(draws.lists[d] as usize)];
                let relevant = items(&draws, d).iter().filter(|&&i| labels[i as usize] > 0.0).count();
                (relevant, items(&draws, d).len() - relevant)
            })
            .collect();
        assert_eq!(counts, [(2, 2), (0, 3), (2, 3), (1, 1), (2, 2)]);
    }
    assert!(draw(&mut *open("slates:batch=all:items=3", &lists, 1), 0).items.len() == 3 + 3 + 3 + 2 + 3);
}

#[test]
fn relevance_is_the_policys() {
    let lists = some_lists();
    let policy = Policy { relevant: Relevant::From(2.0), ..Policy::default() };
    let (_, kind) = parse("pairs:batch=all:items=1").unwrap();
    let mut sampler = kind.open(&lists, &policy, 1).unwrap();
    assert_eq!(draw(&mut *sampler, 0).lists, [0, 4, 5]); // the lists with a label of 2 or more
}

/// How often each item came in `steps` steps.
fn rates(form: &str, lists: &Lists, steps: u64) -> BTreeMap<(u32, u32), f64> {
    let mut sampler = open(form, lists, 11);
    let mut rates = BTreeMap::new();
    for step in 0..steps {
        let draws = draw(&mut *sampler, step);
        for (d, &q) in draws.lists.iter().enumerate() {
            for &item in items(&draws, d) {
                *rates.entry((q, item)).or_insert(0.0) += 1.0 / steps as f64;
            }
        }
    }
    rates
}

#[test]
fn items_of_a_stratum_are_drawn_equally_often() {
    let lists = some_lists();
    let steps = 20_000;
    let near = |rate: f64, p: f64, what: &str| {
        // Five standard deviations.
        assert!(
            (rate - p).abs() <= 5.0 * (p * (1.0 - p) / steps as f64).sqrt() + 1e-9,
            "{what}: {rate}, {p}"
        );
    };
    for ((q, item), rate) in rates("strata:batch=all:relevant=2:others=2", &lists, steps) {
        let labels = &lists.labels[lists.range(q as usize)];
        let (relevant, others) =
            (labels.iter().filter(|y| **y > 0.0).count(), labels.iter().filter(|y| **y <= 0.0).count());
        let of = if labels[item as usize] > 0.0 { relevant } else { others };
        near(rate, 2.0 / of.max(2) as f64, &format!("strata, list {q}, item {item}"));
    }
    // Dealt in pieces: of N items in m pieces each comes once in m rounds, so the rate is 1/m to within one round.
    for ((q, item), rate) in rates("strata:batch=all:relevant=2:others=2:epoch=all", &lists, steps) {
        let labels = &lists.labels[lists.range(q as usize)];
        let (relevant, others) =
            (labels.iter().filter(|y| **y > 0.0).count(), labels.iter().filter(|y| **y <= 0.0).count());
        let pieces = match labels[item as usize] > 0.0 {
            true => relevant.div_ceil(2).min(relevant / 2).max(1),
            false => others.div_ceil(2),
        };
        assert!(
            (rate - 1.0 / pieces as f64).abs() <= 1.0 / steps as f64 + 1e-9,
            "list {q}, item {item}: {rate}"
        );
    }
    for ((q, item), rate) in rates("slates:batch=all:items=3", &lists, steps) {
        let judged = lists.labels[lists.range(q as usize)].iter().filter(|y| !y.is_nan()).count();
        near(rate, 3.0 / judged.max(3) as f64, &format!("slates, list {q}, item {item}"));
    }
}

#[test]
fn rates_are_how_often_relevant_items_and_lists_are_drawn() {
    for lists in [some_lists(), labels_over_shared_rows()] {
        for form in FORMS {
            let mut sampler = open(form, &lists, 5);
            let said = sampler.rates();
            let steps = 400 * sampler.steps_per_epoch();
            let (mut drawn_lists, mut drawn_pairs) = (BTreeMap::new(), BTreeMap::new());
            for step in 0..steps {
                let draws = draw(&mut *sampler, step);
                for (d, &q) in draws.lists.iter().enumerate() {
                    *drawn_lists.entry(q).or_insert(0.0) += 1.0 / steps as f64;
                    let labels = &lists.labels[lists.range(q as usize)];
                    for &item in items(&draws, d).iter().filter(|item| labels[**item as usize] > 0.0) {
                        *drawn_pairs.entry((q, item)).or_insert(0.0) += 1.0 / steps as f64;
                    }
                }
            }
            // Within what chance allows.
            let near = |said: f64, found: f64| (said - found).abs() < 0.02;
            let found = drawn_lists.values().sum::<f64>() / drawn_lists.len() as f64;
            assert!(near(said.lists, found), "{form}: lists {}, drawn {found}", said.lists);
            let found = drawn_pairs.values().sum::<f64>() / drawn_pairs.len() as f64;
            assert!(near(said.pairs, found), "{form}: relevant items {}, drawn {found}", said.pairs);
            assert!(said.pairs > 0.0 && said.pairs <= 1.0 && said.lists > 0.0 && said.lists <= 1.0, "{form}");
        }
    }
}

/// Mean over `steps` steps of the gradient of each entry, and the gradient over all lists.
fn mean_and_full_gradient(
    objective: &str,
    form: &str,
    lists: &Lists,
    steps: u64,
) -> (Vec<f64>, Vec<f64>, f64, f64) {
    let goal = Goal::parse(objective, &Policy::default()).unwrap();
    let mut random = Stream::new(2, "test scores").open();
    let scores: Vec<f64> = (0..lists.entries()).map(|_| random.unit()).collect();
    let mut out = Gradients::default();
    goal.step(&Batch::all(lists, &scores), &mut goal.state(lists).unwrap(), &mut out).unwrap();
    let (full, full_loss) = (out.gradient.clone(), out.loss);
    let mut sampler = open(form, lists, 21);
    let mut mean = vec![0.0; lists.entries()];
    let mut mean_loss = 0.0;
    let mut draws = Draws::default();
    // Trackers with γ = 1 remember nothing, so one state serves all steps.
    let mut state = goal.state(lists).unwrap();
    for step in 0..steps {
        sampler.draw(step, &mut draws);
        let entries: Vec<usize> = (0..draws.lists.len())
            .flat_map(|d| {
                let start = lists.range(draws.lists[d] as usize).start;
                items(&draws, d).iter().map(move |&item| start + item as usize)
            })
            .collect();
        let drawn: Vec<f64> = entries.iter().map(|&entry| scores[entry]).collect();
        let batch = Batch {
            draws: Some(&draws),
            stream: Stream::new(0, "objective").at_step(step),
            ..Batch::all(lists, &drawn)
        };
        goal.step(&batch, &mut state, &mut out).unwrap();
        entries.iter().zip(&out.gradient).for_each(|(&entry, g)| mean[entry] += g / steps as f64);
        mean_loss += out.loss / steps as f64;
    }
    (mean, full, mean_loss, full_loss)
}

fn assert_unbiased(objective: &str, form: &str, lists: &Lists) {
    let (mean, full, mean_loss, loss) = mean_and_full_gradient(objective, form, lists, 40_000);
    let scale = full.iter().map(|g| g.abs()).fold(0.0, f64::max);
    for (entry, (found, expected)) in mean.iter().zip(&full).enumerate() {
        // Seeds are fixed, so this is a number, not a chance; a forgotten factor is off by 10 % and more.
        assert!(
            (found - expected).abs() < 0.02 * scale,
            "{objective}, {form}, entry {entry}: mean {found}, full {expected}"
        );
    }
    assert!((mean_loss - loss).abs() < 0.01 * loss.abs(), "{objective}, {form}: {mean_loss}, {loss}");
}

fn with_weights() -> Lists {
    Lists { list_weights: Some(vec![1.0, 2.0, 0.5, 3.0, 0.25, 1.5, 2.0]), ..some_lists() }
}

#[test]
fn the_mean_of_sampled_gradients_is_the_full_gradient() {
    for lists in [some_lists(), with_weights()] {
        // Whole lists: any objective.
        for objective in ["squared", "song:gamma=1", "listnet"] {
            assert_unbiased(objective, "lists:batch=2", &lists);
            assert_unbiased(objective, "lists:batch=3", &lists);
        }
        // Whole lists drawn in proportion to their relevant items.
        assert_unbiased("song:gamma=1", "pairs:batch=4:group=all:items=all", &lists);
        // Samples: an objective that is linear in the inner mean, so that nothing but the draw can bias it.
        for form in [
            "strata:batch=2:relevant=2:others=2",
            "strata:batch=2:relevant=2:others=2:epoch=all",
            "strata:batch=3:relevant=3:others=1:epoch=relevant",
            "pairs:batch=4:group=2:items=2",
            "pairs:batch=6:group=3:items=1",
            "pairs:batch=1:group=2:items=all",
        ] {
            assert_unbiased("p-norm-push:p=1:gamma=1", form, &lists);
        }
        // Rows: a list's loss is the mean over its items.
        for form in ["rows:batch=3", "rows:batch=7"] {
            assert_unbiased("squared", form, &lists);
        }
    }
    // Class-aware batches of labels over shared rows; pairs of both classes and the mean over items.
    let lists = labels_over_shared_rows();
    assert_unbiased("p-norm-push:p=1:gamma=1", "strata:batch=2:relevant=2:others=3:epoch=all", &lists);
    assert_unbiased("ranknet", "strata:batch=all:relevant=2:others=3:epoch=all", &lists);
    assert_unbiased("squared", "rows:batch=5", &lists);
}

#[test]
fn seen_from_a_drawn_relevant_item_the_weighted_sample_is_the_list() {
    // g_i = mean over the list of any function of (i, j); here j's own number and a part that depends on both.
    let value = |i: u32, j: u32| f64::from((j + 1) * (j + 1)) + f64::from(i * j % 5);
    let lists = some_lists();
    for form in [
        "strata:batch=all:relevant=3:others=2",
        "strata:batch=all:relevant=3:others=2:epoch=all",
        "pairs:batch=4:group=2:items=2",
    ] {
        let mut sampler = open(form, &lists, 8);
        let mut sums: BTreeMap<(u32, u32), (f64, f64)> = BTreeMap::new();
        for step in 0..40_000 {
            let draws = draw(&mut *sampler, step);
            for (d, &q) in draws.lists.iter().enumerate() {
                let labels = &lists.labels[lists.range(q as usize)];
                let drawn = items(&draws, d);
                let relevant = |j: u32| labels[j as usize] > 0.0;
                let drawn_relevant = drawn.iter().filter(|&&j| relevant(j)).count();
                let strata = Strata {
                    items: labels.iter().filter(|y| !y.is_nan()).count(),
                    relevant: labels.iter().filter(|y| **y > 0.0).count(),
                    drawn_relevant,
                    drawn_others: drawn.len() - drawn_relevant,
                };
                assert!(strata.is_enough());
                let w = strata.weights(Reference::All, true);
                for &i in drawn.iter().filter(|&&i| relevant(i)) {
                    let weight = |j: u32| match relevant(j) {
                        _ if i == j => w.own,
                        true => w.relevant,
                        false => w.others,
                    };
                    let estimate: f64 = drawn.iter().map(|&j| weight(j) * value(i, j)).sum();
                    let sum = sums.entry((q, i)).or_default();
                    *sum = (sum.0 + estimate, sum.1 + 1.0);
                }
            }
        }
        for ((q, i), (sum, visits)) in sums {
            let labels = &lists.labels[lists.range(q as usize)];
            let judged: Vec<u32> =
                (0..labels.len() as u32).filter(|&j| !labels[j as usize].is_nan()).collect();
            let g = judged.iter().map(|&j| value(i, j)).sum::<f64>() / judged.len() as f64;
            assert!((sum / visits - g).abs() < 0.01 * g, "{form}, list {q}, item {i}: {}, {g}", sum / visits);
        }
    }
}

#[test]
fn another_list_changes_nothing_in_the_items_of_the_others() {
    let lists = some_lists();
    let more =
        Lists::from_lengths(&[6, 0, 3, 5, 8, 2, 4, 3], [lists.labels.clone(), vec![1.0, 1.0, 0.0]].concat());
    for form in [
        "slates:batch=all:items=3",
        "strata:batch=all:relevant=2:others=2",
        "strata:batch=all:relevant=2:others=2:epoch=all",
        "pairs:batch=all:group=2:items=2",
    ] {
        let (mut fewer, mut more) = (open(form, &lists, 4), open(form, &more, 4));
        for step in 0..20 {
            let (a, b) = (draw(&mut *fewer, step), draw(&mut *more, step));
            for d in 0..a.lists.len() {
                assert_eq!((a.lists[d], items(&a, d)), (b.lists[d], items(&b, d)), "{form}, step {step}");
            }
        }
    }
}

#[test]
fn steps_of_even_draws_carry_no_importance() {
    let lists = Lists::from_lengths(&[2; 7], [0.0, 1.0].repeat(7));
    for form in ["lists:batch=3", "slates:batch=3:items=2", "strata:batch=2", "strata:batch=2:epoch=all"] {
        let mut sampler = open(form, &lists, 4);
        assert!((0..20).all(|step| draw(&mut *sampler, step).importance.is_empty()), "{form}");
    }
}

proptest! {
    #[test]
    fn any_lists_give_valid_draws(
        lengths in prop::collection::vec(0usize..12, 1..8),
        seed in 0u64..1000,
        form in prop::sample::select(FORMS),
    ) {
        let mut random = Stream::new(seed, "test labels").open();
        let entries = lengths.iter().sum();
        let labels = (0..entries).map(|_| [f32::NAN, 0.0, 0.0, 1.0, 2.0][random.below(5)]).collect();
        let lists = Lists::from_lengths(&lengths, labels);
        if let Ok(mut sampler) = parse(form).unwrap().1.open(&lists, &Policy::default(), seed) {
            prop_assert!(sampler.steps_per_epoch() >= 1);
            for step in [0, 1, 2, 1000, u64::MAX] {
                let draws = draw(&mut *sampler, step);
                prop_assert!(!draws.lists.is_empty());
                prop_assert!(is_valid(&draws, &lists), "{:?}", draws);
            }
        }
    }
}
