//! Users' choices among all items give what whole lists with the same labels give, for every objective that takes them.

use toprank_core::{Choices, Lists, Policy, Stream};
use toprank_objectives::{Batch, Draws, Goal, Gradients, OBJECTIVES};

const ITEMS: usize = 40;

fn choices() -> Choices {
    let pairs = vec![
        (0, 3, 1.0),
        (0, 7, 2.0),
        (0, 30, 1.0),
        (1, 0, 1.0),
        (3, 5, 3.0),
        (3, 6, 0.0),
        (3, 39, 1.0),
        (3, 11, 2.0),
        (4, 12, 1.0),
        (4, 13, 1.0),
    ];
    Choices::from_pairs(5, ITEMS, pairs)
}

/// The same as lists in which every item is written down.
fn whole(choices: &Choices) -> Lists {
    let labels = (0..choices.len()).flat_map(|u| (0..ITEMS as u32).map(move |item| choices.label(u, item)));
    let lists = Lists::from_lengths(&vec![ITEMS; choices.len()], labels.collect());
    let weights =
        (0..choices.len()).flat_map(|u| (0..ITEMS as u32).map(move |item| weight(choices, u, item)));
    Lists { item_weights: (!choices.weights.is_empty()).then(|| weights.collect()), ..lists }
}

/// What an item counts for; 1 if it was not chosen.
fn weight(choices: &Choices, u: usize, item: u32) -> f32 {
    let at = choices.of(u).binary_search(&item);
    at.map_or(1.0, |at| choices.weights_of(u).get(at).copied().unwrap_or(1.0))
}

/// A number for each drawn item.
fn each(draws: &Draws, of: impl Fn(usize, u32) -> f32) -> Vec<f32> {
    let mut values = Vec::new();
    for (d, &user) in draws.lists.iter().enumerate() {
        let items = &draws.items[draws.offsets[d] as usize..draws.offsets[d + 1] as usize];
        values.extend(items.iter().map(|&item| of(user as usize, item)));
    }
    values
}

/// Users 0, 3 and 4 with all they chose and some others, other ones in each step.
fn draws(step: u64) -> Draws {
    let mut draws =
        Draws { lists: vec![0, 3, 4], offsets: vec![0], importance: vec![1.0, 0.5, 2.0], ..Draws::default() };
    let all = choices();
    for &user in &draws.lists {
        let others =
            (0..ITEMS as u32).filter(|item| (u64::from(item * 7) + step + u64::from(user)).is_multiple_of(3));
        let mut items: Vec<u32> = others.chain(all.of(user as usize).iter().copied()).collect();
        items.sort_unstable();
        items.dedup();
        draws.items.extend(items);
        draws.offsets.push(draws.items.len() as u64);
    }
    draws
}

#[test]
fn choices_and_whole_lists_give_the_same_bits() {
    same_bits(&choices());
}

#[test]
fn weights_of_choices_are_item_weights() {
    let weights = vec![0.5, 2.0, 0.25, 1.0, 3.0, 1.5, 0.0, 1.0, 0.125, 4.0];
    same_bits(&Choices { weights, ..choices() });
}

fn same_bits(choices: &Choices) {
    let lists = whole(choices);
    let mut taken = 0;
    for line in OBJECTIVES {
        for text in std::iter::once(line.entry.name).chain(line.examples.iter().copied()) {
            let goal = Goal::parse(text, &Policy::default()).unwrap();
            let Ok(mut sparse) = goal.state_of_choices(choices) else { continue };
            taken += 1;
            let mut dense = goal.state(&lists).unwrap();
            let (mut a, mut b) = (Gradients::default(), Gradients::default());
            let mut before: Option<Vec<f64>> = None;
            for step in 0..3 {
                let draws = draws(step);
                let labels = each(&draws, |user, item| choices.label(user, item));
                let weights = each(&draws, |user, item| weight(choices, user, item));
                let mut random = Stream::new(step, "test").open();
                let scores: Vec<f64> = labels.iter().map(|_| random.unit() - 0.5).collect();
                let previous = before.take().map(|_| scores.iter().map(|s| 0.9 * s).collect::<Vec<_>>());
                let stream = Stream::new(3, "objective").at_step(step);
                let by_lists = Batch {
                    draws: Some(&draws),
                    previous: previous.as_deref(),
                    stream,
                    ..Batch::all(&lists, &scores)
                };
                let by_choices = Batch {
                    previous: previous.as_deref(),
                    drawn_weights: (!choices.weights.is_empty()).then_some(&weights),
                    stream,
                    ..Batch::of_choices(&draws, &labels, &scores)
                };
                goal.step(&by_lists, &mut dense, &mut a).unwrap_or_else(|e| panic!("{text}: {e}"));
                goal.step(&by_choices, &mut sparse, &mut b).unwrap_or_else(|e| panic!("{text}: {e}"));
                assert_eq!(
                    (a.loss, &a.losses, &a.gradient, a.counts),
                    (b.loss, &b.losses, &b.gradient, b.counts),
                    "{text}, step {step}"
                );
                before = Some(scores);
            }
        }
    }
    assert!(taken > 60, "only {taken} objectives take choices");
}

#[test]
fn state_is_kept_per_relevant_pair() {
    let many = Choices { item_count: 1_000_000, ..choices() };
    let song = Goal::parse("song", &Policy::default()).unwrap();
    // A tracker per pair with a label above 0, and an ideal DCG per user, eight bytes each.
    assert_eq!(song.state_of_choices(&many).unwrap().save().len(), 20 + 8 * (9 + 5));
}

#[test]
fn what_does_not_suit_choices_is_refused() {
    for text in ["p-norm-push:swapped=true", "song:gain=1/2/4/8"] {
        let goal = Goal::parse(text, &Policy::default()).unwrap();
        let error = goal.state_of_choices(&choices()).unwrap_err().to_string();
        assert!(error.contains("every user and item"), "{error}");
    }
    let bad = Choices { labels: vec![f32::INFINITY; 10], ..choices() };
    let goal = Goal::parse("song", &Policy::default()).unwrap();
    assert!(goal.state_of_choices(&bad).unwrap_err().to_string().contains("finite label"));
    let draws = Draws { lists: vec![9], offsets: vec![0, 1], items: vec![0], ..Draws::default() };
    let mut state = goal.state_of_choices(&choices()).unwrap();
    let error = goal.step(&Batch::of_choices(&draws, &[1.0], &[0.0]), &mut state, &mut Gradients::default());
    assert!(error.unwrap_err().to_string().contains("below 5"));
    let draws = Draws { lists: vec![0], offsets: vec![0, 1], items: vec![40], ..Draws::default() };
    let error = goal.step(&Batch::of_choices(&draws, &[1.0], &[0.0]), &mut state, &mut Gradients::default());
    assert!(error.unwrap_err().to_string().contains("below 40"));
}

#[test]
fn lists_whose_relevant_items_come_first_give_what_the_same_choices_give() {
    // List 0 has places 0..3 as relevant ones, list 1 none, list 2 one, list 3 four.
    let first = [3, 0, 1, 4];
    let pairs = (0..4u32).flat_map(|q| (0..first[q as usize]).map(move |place| (q, place, 1.0))).collect();
    let choices = Choices::from_pairs(4, ITEMS, pairs);
    let draws = Draws {
        lists: vec![0, 2, 3],
        offsets: vec![0, 5, 9, 14],
        items: vec![0, 2, 5, 20, 39, 0, 1, 2, 3, 1, 2, 3, 9, 30],
        ..Draws::default()
    };
    let labels = [1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0];
    let mut taken = 0;
    for line in OBJECTIVES {
        for text in std::iter::once(line.entry.name).chain(line.examples.iter().copied()) {
            let goal = Goal::parse(text, &Policy::default()).unwrap();
            let Ok(mut by_choices) = goal.state_of_choices(&choices) else { continue };
            let mut by_first = goal.state_of_first(ITEMS, &first).unwrap();
            taken += 1;
            let (mut a, mut b) = (Gradients::default(), Gradients::default());
            for step in 0..3 {
                let mut random = Stream::new(step, "test").open();
                let scores: Vec<f64> = labels.iter().map(|_| random.unit() - 0.5).collect();
                let batch = Batch {
                    stream: Stream::new(3, "objective").at_step(step),
                    ..Batch::of_choices(&draws, &labels, &scores)
                };
                goal.step(&batch, &mut by_choices, &mut a).unwrap_or_else(|e| panic!("{text}: {e}"));
                goal.step(&batch, &mut by_first, &mut b).unwrap_or_else(|e| panic!("{text}: {e}"));
                assert_eq!((a.loss, &a.gradient), (b.loss, &b.gradient), "{text}, step {step}");
            }
            let saved = by_first.save();
            let mut fresh = goal.state_of_first(ITEMS, &first).unwrap();
            fresh.load(&saved).unwrap();
            assert_eq!(fresh.save(), saved, "{text}");
            if !saved.is_empty() && !goal.objective().columns().is_empty() {
                let other = goal.state_of_first(ITEMS, &[3, 0, 4, 1]).unwrap().load(&saved);
                assert!(other.is_err(), "{text}: a state of other lists loads");
            }
        }
    }
    assert!(taken > 60, "only {taken} objectives take them");
    let song = Goal::parse("song", &Policy::default()).unwrap();
    assert!(song.state_of_first(2, &[3]).unwrap_err().to_string().contains("at most all of them"));
    let swapped = Goal::parse("p-norm-push:swapped=true", &Policy::default()).unwrap();
    assert!(swapped.state_of_first(2, &[1]).unwrap_err().to_string().contains("every pair of rows"));
}

/// An item that stands for three items of its score gives what the three give, in every mean that is taken.
#[test]
fn an_item_that_stands_for_three_counts_as_three() {
    let choices = Choices::from_pairs(4, ITEMS, vec![(3, 5, 2.0), (3, 11, 2.0), (3, 39, 2.0)]);
    // Of the others one stands for three, as items 20, 21, 22 do one by one.
    let few = Draws {
        lists: vec![3],
        offsets: vec![0, 5],
        items: vec![5, 11, 20, 30, 39],
        stands_for: vec![1.0, 1.0, 1.5, 0.5, 1.0],
        ..Draws::default()
    };
    let many = Draws {
        lists: vec![3],
        offsets: vec![0, 7],
        items: vec![5, 11, 20, 21, 22, 30, 39],
        ..Draws::default()
    };
    let mut taken = 0;
    for line in OBJECTIVES {
        for text in std::iter::once(line.entry.name).chain(line.examples.iter().copied()) {
            let goal = Goal::parse(text, &Policy::default()).unwrap();
            let Ok(mut of_few) = goal.state_of_choices(&choices) else { continue };
            let mut of_many = goal.state_of_choices(&choices).unwrap();
            let (mut a, mut b) = (Gradients::default(), Gradients::default());
            for step in 0..3 {
                let x = 0.1 * step as f64;
                let stream = Stream::new(3, "objective").at_step(step);
                let scores = [0.4, -0.2, 0.3 - x, 0.1, 0.9];
                let labels = each(&few, |user, item| choices.label(user, item));
                let uneven = Batch {
                    stream,
                    drawn_weights: Some(&few.stands_for),
                    ..Batch::of_choices(&few, &labels, &scores)
                };
                let result = goal.step(&uneven, &mut of_few, &mut a);
                if !goal.objective().takes_uneven_draws() {
                    let error = result.unwrap_err().to_string();
                    assert!(error.contains("drawn unevenly"), "{text}: {error}");
                    break;
                }
                result.unwrap_or_else(|e| panic!("{text}: {e}"));
                taken += usize::from(step == 0);
                let scores = [0.4, -0.2, 0.3 - x, 0.3 - x, 0.3 - x, 0.1, 0.9];
                let labels = each(&many, |user, item| choices.label(user, item));
                let even = Batch { stream, ..Batch::of_choices(&many, &labels, &scores) };
                goal.step(&even, &mut of_many, &mut b).unwrap_or_else(|e| panic!("{text}: {e}"));
                let [g0, g1, g2, g3, g4, g5, g6] = b.gradient[..] else { panic!("seven items") };
                let together = [g0, g1, g2 + g3 + g4, g5, g6];
                let close = |a: f64, b: f64| (a - b).abs() < 1e-9 * (1.0 + a.abs());
                let alike = a.gradient.iter().zip(together).all(|(a, b)| close(*a, b));
                assert!(
                    close(a.loss, b.loss) && alike,
                    "{text}, step {step}: {} {:?}, expected {} {together:?}",
                    a.loss,
                    a.gradient,
                    b.loss
                );
            }
        }
    }
    assert!(taken > 40, "only {taken} objectives take uneven draws");
}
