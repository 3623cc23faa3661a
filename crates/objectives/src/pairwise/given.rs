/*!
The losses of this family over preference pairs that the data give, in place of all pairs of different labels.

```text
loss = Σ_{(i, j, w)} w w_i w_j ℓ(s_j − s_i) / W,   W = Σ w w_i w_j  (1 where the objective sums over pairs)
```

A pair that is there twice counts twice; pairs may contradict each other. Labels do not matter. O(pairs).
*/

use toprank_core::Preference;

use super::mechanism::PairLoss;
use crate::objective::{Input, Out};

/// Loss of the given pairs; `None` if they weigh nothing.
pub(super) fn over_pairs(
    loss: &impl PairLoss,
    sum: bool,
    pairs: &[Preference],
    input: &Input,
    out: &mut Out,
) -> Option<f64> {
    let weighted = || {
        pairs.iter().map(|pair| {
            let (better, worse) = (pair.better as usize, pair.worse as usize);
            (better, worse, f64::from(pair.weight) * input.weight(better) * input.weight(worse))
        })
    };
    let total: f64 = weighted().map(|(_, _, weight)| weight).sum();
    if total == 0.0 {
        return None;
    }
    let scale = if sum { 1.0 } else { 1.0 / total };
    let factors = loss.factors();
    let mut value = 0.0;
    for (better, worse, weight) in weighted() {
        let [of_pair, slope, second] = loss.of_pair(input.list.scores[worse] - input.list.scores[better]);
        let weight = scale * weight;
        value += weight * of_pair;
        let slope = weight * factors[0] * slope;
        out.gradient[better] -= slope;
        out.gradient[worse] += slope;
        if let Some(hessian) = &mut out.hessian {
            let second = weight * factors[1] * second;
            hessian[better] += second;
            hessian[worse] += second;
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use toprank_core::{Lists, Policy, Preference, Preferences, Stream};

    use crate::{Batch, Draws, Goal, GoalError, Gradients, OBJECTIVES};

    const EACH: [&str; 9] = [
        "ranknet",
        "ranknet:temperature=0.3",
        "ranknet:sum=true",
        "ranksvm:margin=0.7",
        "squared-hinge",
        "squared-hinge:margin=2:sum=true",
        "margin:b=0.4",
        "bpr",
        "bpr:temperature=2",
    ];

    /// Lists of a few lengths with weights and scores, the pairs of their labels, and scores.
    fn lists(binary: bool) -> (Lists, Vec<f64>) {
        let mut random = Stream::new(5, "given pairs").open();
        let lengths = [7, 1, 12, 2, 30];
        let labels: Vec<f32> = (0..52).map(|_| random.below(if binary { 2 } else { 4 }) as f32).collect();
        let lists = Lists {
            item_weights: Some((0..52).map(|_| 0.5 + random.unit() as f32).collect()),
            list_weights: Some(vec![1.0, 2.0, 0.5, 1.0, 3.0]),
            ..Lists::from_lengths(&lengths, labels)
        };
        (lists, (0..52).map(|_| 3.0 * random.unit() - 1.5).collect())
    }

    /// The pairs that labels imply.
    fn implied(lists: &Lists) -> Vec<(u32, Preference)> {
        let mut pairs = Vec::new();
        for q in 0..lists.len() {
            let labels = &lists.labels[lists.range(q)];
            for better in 0..labels.len() {
                for worse in (0..labels.len()).filter(|&worse| labels[better] > labels[worse]) {
                    let (better, worse) = (better as u32, worse as u32);
                    pairs.push((q as u32, Preference { better, worse, weight: 1.0 }));
                }
            }
        }
        pairs
    }

    /// The same lists with these pairs and without labels.
    fn with(lists: &Lists, pairs: Vec<(u32, Preference)>) -> Lists {
        let pairs = Some(Preferences::from_pairs(lists.len(), pairs));
        Lists { pairs, labels: vec![f32::NAN; lists.entries()], ..lists.clone() }
    }

    fn step(text: &str, batch: &Batch) -> Gradients {
        let goal = Goal::parse(text, &Policy::default()).unwrap();
        let mut out = Gradients { want_hessian: true, ..Gradients::default() };
        goal.step(batch, &mut goal.state(batch.lists).unwrap(), &mut out).unwrap();
        out
    }

    fn assert_same(text: &str, one: &Gradients, other: &Gradients) {
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
        assert!(close(one.loss, other.loss), "{text}: {} {}", one.loss, other.loss);
        assert_eq!(one.counts, other.counts, "{text}");
        assert!(one.gradient.iter().zip(&other.gradient).all(|(a, b)| close(*a, *b)), "{text}: gradient");
        assert!(one.hessian.iter().zip(&other.hessian).all(|(a, b)| close(*a, *b)), "{text}: Hessian");
    }

    #[test]
    fn the_pairs_of_the_labels_give_what_the_labels_give() {
        for text in EACH {
            let (lists, scores) = lists(text.starts_with("bpr"));
            let given = with(&lists, implied(&lists));
            let by_labels = step(text, &Batch::all(&lists, &scores));
            assert_same(text, &step(text, &Batch::all(&given, &scores)), &by_labels);
            assert!(by_labels.gradient.iter().any(|g| g.abs() > 1e-3));
            // Draws take the pairs with both items in them.
            let items = |n: u32| (0..n).filter(move |i| n < 5 || i % 3 != 1);
            let mut draws = Draws { lists: vec![0, 2, 4], offsets: vec![0], ..Draws::default() };
            for n in [7, 12, 30] {
                draws.items.extend(items(n));
                draws.offsets.push(draws.items.len() as u64);
            }
            let drawn: Vec<f64> = (0..draws.items.len()).map(|i| (i as f64).sin()).collect();
            let batch = |lists| Batch { draws: Some(&draws), ..Batch::all(lists, &drawn) };
            assert_same(text, &step(text, &batch(&given)), &step(text, &batch(&lists)));
        }
    }

    #[test]
    fn an_integer_weight_is_repetition_and_weight_0_is_absence() {
        let (lists, scores) = lists(false);
        let mut weighted = implied(&lists);
        for (k, (_, pair)) in weighted.iter_mut().enumerate() {
            pair.weight = (k % 3) as f32;
        }
        let times = |(q, pair): &(u32, Preference)| {
            vec![(*q, Preference { weight: 1.0, ..*pair }); pair.weight as usize]
        };
        let repeated: Vec<_> = weighted.iter().flat_map(times).collect();
        let (weighted, repeated) = (with(&lists, weighted), with(&lists, repeated));
        for text in EACH {
            let [one, other] = [&weighted, &repeated].map(|lists| step(text, &Batch::all(lists, &scores)));
            assert_same(text, &one, &other);
        }
    }

    #[test]
    fn the_gradient_is_that_of_the_loss() {
        let (lists, scores) = lists(false);
        let mut random = Stream::new(8, "weights of pairs").open();
        let mut pairs = implied(&lists);
        // Some turned round: preferences need not agree with any labels.
        for (_, pair) in &mut pairs {
            pair.weight = random.unit() as f32;
            if random.below(4) == 0 {
                (pair.better, pair.worse) = (pair.worse, pair.better);
            }
        }
        let lists = with(&lists, pairs);
        for text in EACH {
            let gradient = step(text, &Batch::all(&lists, &scores)).gradient;
            for entry in (0..scores.len()).step_by(3) {
                let at = |h: f64| {
                    let mut moved = scores.clone();
                    moved[entry] += h;
                    step(text, &Batch::all(&lists, &moved)).loss
                };
                let h = 1e-5;
                let difference = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
                let wrong = (gradient[entry] - difference).abs();
                assert!(wrong < 1e-7 * (1.0 + difference.abs()), "{text} {entry}: {wrong}");
            }
        }
    }

    #[test]
    fn pairwise_objectives_take_pairs_and_the_others_refuse_them() {
        let (lists, scores) = lists(false);
        let given = with(&lists, implied(&lists));
        for line in OBJECTIVES {
            let goal = Goal::parse(line.entry.name, &Policy::default()).unwrap();
            let pairwise = line.entry.family == "pairwise";
            assert_eq!(goal.objective().takes_pairs(), pairwise, "{}", line.entry.name);
            let refused = matches!(goal.state(&given), Err(GoalError::Pairs { .. }));
            assert_eq!(refused, !pairwise, "{}", line.entry.name);
        }
        let none = with(&lists, Vec::new());
        assert_eq!(step("ranknet", &Batch::all(&none, &scores)).counts.idle, 5);
        let refused = Goal::parse("lambdarank", &Policy::default()).unwrap().state(&given).unwrap_err();
        assert!(
            refused.to_string().contains("lambdarank learns from labels, expected one of ranknet, ranksvm"),
            "{refused}"
        );
    }
}
