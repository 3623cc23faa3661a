//! Nothing allocates per list once the buffers have grown: a counting allocator says so for every catalog line.

use toprank_core::{Lists, Policy, Preference, Preferences, Stream};
use toprank_objectives::{Batch, Draws, Goal, Gradients, OBJECTIVES, State};
use toprank_testkit::alloc::{self, Counting};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Lists of many lengths, some with unjudged items, one long enough for the kernels that sort by digits.
fn fixture() -> (Lists, Vec<f64>) {
    let mut random = Stream::new(11, "allocation").open();
    let lengths: Vec<usize> = (0..300).map(|q| if q == 7 { 520 } else { 1 + random.below(30) }).collect();
    let entries = lengths.iter().sum();
    let mut labels: Vec<f32> =
        (0..entries).map(|_| random.below(5) as f32 - 2.0).map(|y| y.max(0.0)).collect();
    labels.iter_mut().step_by(97).for_each(|label| *label = f32::NAN);
    let lists = Lists {
        item_weights: Some((0..entries).map(|_| 0.5 + random.unit() as f32).collect()),
        ..Lists::from_lengths(&lengths, labels)
    };
    let scores = (0..entries).map(|_| 3.0 * random.unit() - 1.5).collect();
    (lists, scores)
}

/// Every list, of the longer ones two items of three.
fn draws(lists: &Lists) -> Draws {
    let mut draws = Draws { offsets: vec![0], ..Draws::default() };
    for q in 0..lists.len() {
        let n = lists.range(q).len() as u32;
        draws.lists.push(q as u32);
        draws.items.extend((0..n).filter(|i| n < 9 || i % 3 != 0));
        draws.offsets.push(draws.items.len() as u64);
    }
    draws
}

/// Allocations of a step, on the one thread of the pool.
fn allocations(goal: &Goal, batch: &Batch, state: &mut State, out: &mut Gradients) -> u64 {
    alloc::allocations(|| {
        goal.step(batch, state, out).unwrap();
    })
}

#[test]
fn the_counter_counts() {
    assert_eq!(alloc::allocations(|| drop(std::hint::black_box(Box::new(7)))), 1);
}

#[test]
fn a_step_allocates_nothing_once_the_buffers_have_grown() {
    let (lists, scores) = fixture();
    no_allocation(&lists, &scores, |_| true);
}

#[test]
fn neither_does_a_step_over_preference_pairs() {
    let (lists, scores) = fixture();
    let of_list = |q: usize| {
        let pair = move |better: u32| (q as u32, Preference { better, worse: better - 1, weight: 0.5 });
        (1..lists.range(q).len() as u32).map(pair)
    };
    let pairs = Preferences::from_pairs(lists.len(), (0..lists.len()).flat_map(of_list).collect());
    let lists = Lists { pairs: Some(pairs), ..lists };
    no_allocation(&lists, &scores, |family| family == "pairwise");
}

/// Steps of the objectives of some families.
fn no_allocation(lists: &Lists, scores: &[f64], family: impl Fn(&str) -> bool) {
    let draws = draws(lists);
    let drawn: Vec<f64> = draws.items.iter().map(|item| f64::from(*item).sin()).collect();
    // One thread, so that the buffers that have grown are the ones that are used again.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for line in OBJECTIVES.iter().filter(|line| family(line.entry.family)) {
        for name in std::iter::once(&line.entry.name).chain(line.examples) {
            let goal = Goal::parse(name, &Policy::default()).unwrap();
            let mut state = goal.state(lists).unwrap();
            let mut out = Gradients { want_hessian: true, ..Gradients::default() };
            let whole = Batch { previous: Some(scores), ..Batch::all(lists, scores) };
            let part = Batch { draws: Some(&draws), previous: Some(&drawn), ..Batch::all(lists, &drawn) };
            pool.install(|| {
                for batch in [&whole, &part] {
                    goal.step(batch, &mut state, &mut out).unwrap();
                }
                for (what, batch) in [("whole lists", &whole), ("draws", &part)] {
                    let count = allocations(&goal, batch, &mut state, &mut out);
                    assert_eq!(count, 0, "{name}: allocations over {} {what}", lists.len());
                }
            });
        }
    }
}
