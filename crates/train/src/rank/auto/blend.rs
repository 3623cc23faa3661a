/*!
Which members a blend holds, and how often: greedy ensemble selection with replacement, for the metric that was asked for.

```text
bag = {best member};   while adding one more copy of some member to the bag improves the metric of the mean score: add the best one
weight of a member = copies / size of the bag
```

Scores must be on a common scale. Of members that improve as much, the one that stands first is taken, so the result is a function of
the scores alone. The blend is never worse than its best member on the scores that it was selected on.

Source: Caruana, Niculescu-Mizil, Crew, Ksikes, "Ensemble selection from libraries of models", ICML 2004.

```
use toprank_train::rank::auto::blend::select;
let target = [1.0, 2.0, 3.0];
let error = |scores: &[f64]| Some(-scores.iter().zip(&target).map(|(a, b)| (a - b).powi(2)).sum::<f64>());
let members = [vec![0.0, 2.0, 3.0], vec![2.0, 2.0, 3.0], vec![9.0, 0.0, 1.0]];
let members: Vec<&[f64]> = members.iter().map(Vec::as_slice).collect();
// (0 + 2)/2 = 1: the mean of the first two has no error.
assert_eq!(select(&members, &error).unwrap().copies, [1, 1, 0]);
```
*/

use rayon::prelude::*;

/// Copies in a bag, at most: more change a mean by little.
const MOST: u32 = 50;
/// What counts as an improvement: rounding of a sum must not.
const LEAST: f64 = 1e-9;

/// What was selected.
#[derive(Clone, Debug, PartialEq)]
pub struct Selected {
    /// Copies of each member; 0: it is left out.
    pub copies: Vec<u32>,
    /// What the metric says of the blend, larger is better.
    pub value: f64,
}

impl Selected {
    /// Weights of the members, which add up to 1.
    pub fn weights(&self) -> Vec<f64> {
        let all: u32 = self.copies.iter().sum();
        self.copies.iter().map(|&copies| f64::from(copies) / f64::from(all)).collect()
    }
}

/// Selects among members, each given by its scores. `metric` is better when larger, `None` where it is undefined.
/// `None`: it is undefined for every member.
pub fn select(members: &[&[f64]], metric: &(impl Fn(&[f64]) -> Option<f64> + Sync)) -> Option<Selected> {
    let mut copies = vec![0; members.len()];
    let mut sum = vec![0.0; members.first()?.len()];
    let mut value = f64::NEG_INFINITY;
    for size in 1..=MOST {
        // In the order of members, whatever thread computed them.
        let tried: Vec<Option<f64>> = members
            .par_iter()
            .map(|member| {
                let mean: Vec<f64> =
                    sum.iter().zip(*member).map(|(sum, score)| (sum + score) / f64::from(size)).collect();
                metric(&mean)
            })
            .collect();
        let better = |best: Option<(usize, f64)>, (place, found): (usize, Option<f64>)| match (best, found) {
            (Some((_, value)), Some(found)) if found <= value => best,
            (_, Some(found)) if found.is_finite() => Some((place, found)),
            _ => best,
        };
        let Some((best, found)) = tried.into_iter().enumerate().fold(None, better) else { break };
        if found <= value + LEAST {
            break;
        }
        value = found;
        copies[best] += 1;
        sum.iter_mut().zip(members[best]).for_each(|(sum, score)| *sum += score);
    }
    value.is_finite().then_some(Selected { copies, value })
}

/// The mean score of a bag.
pub fn mean(members: &[&[f64]], weights: &[f64]) -> Vec<f64> {
    let mut mean = vec![0.0; members.first().map_or(0, |member| member.len())];
    for (member, weight) in members.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
        mean.iter_mut().zip(*member).for_each(|(mean, score)| *mean += weight * score);
    }
    mean
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toprank_core::{Lists, Policy};
    use toprank_metrics::{Measure, evaluate};

    use super::*;

    fn value(name: &str, labels: &[f32], scores: &[f64]) -> Option<f64> {
        let lists = Lists::from_lengths(&[labels.len()], labels.to_vec());
        evaluate(&lists, scores, &Measure::parse_all(name, &Policy::default()).unwrap()).unwrap().results[0]
            .mean
    }

    #[test]
    fn two_members_that_err_on_different_items_are_blended_by_hand() {
        // Relevant: 0 and 1. Each of the first two puts another relevant item last among four.
        let labels = [1.0, 1.0, 0.0, 0.0];
        let members = [[3.0, 0.0, 1.0, 2.0], [0.0, 3.0, 2.0, 1.0], [0.0, 0.0, 1.0, 1.0]];
        let refs: Vec<&[f64]> = members.iter().map(<[f64; 4]>::as_slice).collect();
        let metric = |scores: &[f64]| value("auprc", &labels, scores);
        // Alone: relevant items at ranks 1 and 4, AP = (1/1 + 2/4)/2. Mean: 1.5 1.5 1.5 1.5, all tied: worse. Two copies of the first
        // and one of the second: 2, 1, 4/3, 5/3: worse again. So the first stays alone.
        let alone = select(&refs, &metric).unwrap();
        assert_eq!((alone.copies.as_slice(), alone.value), (&[1, 0, 0][..], f64::midpoint(1.0, 2.0 / 4.0)));
        // With a wider lead of what they are right about, their mean is perfect: 5, 5, 1.5, 1.5.
        let members = [[10.0, 0.0, 1.0, 2.0], [0.0, 10.0, 2.0, 1.0], [0.0, 0.0, 1.0, 1.0]];
        let refs: Vec<&[f64]> = members.iter().map(<[f64; 4]>::as_slice).collect();
        let both = select(&refs, &metric).unwrap();
        assert_eq!((both.copies.as_slice(), both.value), (&[1, 1, 0][..], 1.0));
        assert_eq!(both.weights(), [0.5, 0.5, 0.0]);
        assert_eq!(mean(&refs, &both.weights()), [5.0, 5.0, 1.5, 1.5]);
    }

    #[test]
    fn of_members_that_are_worth_the_same_the_first_is_taken_once() {
        let labels = [1.0, 0.0, 1.0, 0.0];
        let same = [0.9, 0.8, 0.7, 0.1];
        let refs = [&same[..], &same[..], &same[..]];
        let found = select(&refs, &|scores| value("auroc", &labels, scores)).unwrap();
        assert_eq!(found.copies, [1, 0, 0]);
    }

    #[test]
    fn a_metric_that_is_undefined_selects_nothing() {
        assert_eq!(select(&[&[0.5, 0.4][..]], &|_| None), None);
        assert_eq!(select(&[], &|_| Some(1.0)), None);
    }

    proptest! {
        #[test]
        fn a_blend_is_never_worse_than_its_best_member_and_the_same_at_any_number_of_threads(
            scores in prop::collection::vec(prop::collection::vec(0u8..20, 12), 1..6),
            labels in prop::collection::vec(any::<bool>(), 12),
        ) {
            prop_assume!(labels.contains(&true) && labels.contains(&false));
            let labels: Vec<f32> = labels.into_iter().map(|y| f32::from(u8::from(y))).collect();
            let scores: Vec<Vec<f64>> =
                scores.into_iter().map(|s| s.into_iter().map(f64::from).collect()).collect();
            let refs: Vec<&[f64]> = scores.iter().map(Vec::as_slice).collect();
            let metric = |scores: &[f64]| value("auprc", &labels, scores);
            let found = select(&refs, &metric).unwrap();
            let best = refs.iter().filter_map(|s| metric(s)).fold(f64::MIN, f64::max);
            prop_assert!(found.value >= best);
            let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            prop_assert_eq!(one.install(|| select(&refs, &metric)).unwrap(), found);
        }
    }
}
