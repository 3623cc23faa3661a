/*!
Which unjudged items should be judged next, and how far do judges agree?

A verdict says that one run is better than another by the mean difference `D = mean_q (m(run, q) − m(baseline, q))`. A judgement of one
item changes `D` through its own query only, so the influence of an unjudged item `d` of a query is how far the difference of that
query moves between the two ends of the scale:

```text
influence(d) = max over runs r ≥ 1 of | Δ_r(label of d = top) − Δ_r(label of d = 0) |
Δ_r(…)       = m(run r, …) − m(run 0, …)          (a single run: Δ = m(run 0, …))
```

Everything else keeps its label, unjudged items stay unjudged. The pool holds what some run has in its first `depth` places.

Agreement of several judges is Krippendorff's α, which allows that not everybody judges everything, for ordered grades:

```text
α = 1 − D_observed / D_expected
D_observed = Σ_units Σ_pairs of its values δ²(c, k) / (m_u − 1), D_expected = Σ_pairs of all values δ²(c, k) / (n − 1)
δ(c, k)    = number of values from c to k, those of c and of k counted half
```

1 is perfect agreement, 0 what judges who do not look would reach. Source: Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011.
*/

use std::collections::BTreeMap;

use toprank_core::List;

use crate::measure::Measure;
use crate::rank::{NotANumber, Work};

/// One query as several runs rank it.
#[derive(Clone, Copy, Debug)]
pub struct Contested<'a> {
    /// Of each run a score per item; NaN: the run does not have it.
    pub runs: &'a [&'a [f64]],
    /// A label per item; NaN: not judged.
    pub labels: &'a [f32],
    /// Order among equal scores, smaller first.
    pub tie_keys: &'a [u32],
    /// Labels of judged items that no run has.
    pub missed: &'a [f32],
}

impl Contested<'_> {
    /// The unjudged items that some run has in its first `depth` places, ascending.
    ///
    /// ```
    /// use toprank_metrics::judging::Contested;
    /// let (a, b) = ([3.0, 2.0, 1.0], [1.0, f64::NAN, 2.0]);
    /// let query =
    ///     Contested { runs: &[&a, &b], labels: &[f32::NAN, f32::NAN, 1.0], tie_keys: &[0, 1, 2], missed: &[] };
    /// assert_eq!(query.pool(1), [0]);
    /// assert_eq!(query.pool(2), [0, 1]);
    /// ```
    pub fn pool(&self, depth: usize) -> Vec<usize> {
        let mut pool = Vec::new();
        let mut order: Vec<usize> = Vec::new();
        for scores in self.runs {
            order.clear();
            order.extend((0..scores.len()).filter(|&item| !scores[item].is_nan()));
            order.sort_by(|&a, &b| {
                scores[b].total_cmp(&scores[a]).then(self.tie_keys[a].cmp(&self.tie_keys[b]))
            });
            pool.extend(order.iter().take(depth).copied().filter(|&item| self.labels[item].is_nan()));
        }
        pool.sort_unstable();
        pool.dedup();
        pool
    }

    /// How far a judgement of each item of `pool` can move the difference between runs, for labels from 0 to `top`.
    /// Cost: two evaluations of the query by every run for each item.
    ///
    /// ```
    /// use toprank_core::Policy;
    /// use toprank_metrics::{Measure, judging::Contested};
    /// let (a, b) = ([3.0, 2.0, 1.0], [3.0, 1.0, 2.0]);
    /// let labels = [f32::NAN, f32::NAN, 1.0];
    /// let query = Contested { runs: &[&a, &b], labels: &labels, tie_keys: &[0, 1, 2], missed: &[] };
    /// let measure = Measure::parse_all("p@2", &Policy::default()).unwrap().remove(0);
    /// // Both runs have item 0 at the top; item 1 is in the first two places of the first run alone.
    /// assert_eq!(query.influence(&measure, 1.0, &[0, 1]).unwrap(), [0.0, 0.5]);
    /// ```
    ///
    /// # Errors
    /// If a score of a run is not a number where it should be one (never: NaN is "not retrieved").
    pub fn influence(&self, measure: &Measure, top: f32, pool: &[usize]) -> Result<Vec<f64>, NotANumber> {
        let mut labels = self.labels.to_vec();
        let mut work = Work::default();
        let mut found = Vec::with_capacity(pool.len());
        for &item in pool {
            labels[item] = top;
            let high = self.values(measure, &labels, &mut work)?;
            labels[item] = 0.0;
            let low = self.values(measure, &labels, &mut work)?;
            labels[item] = self.labels[item];
            let moved = |run: usize| high[run] - low[run];
            let influence = match self.runs.len() {
                0 => 0.0,
                1 => moved(0).abs(),
                runs => (1..runs).map(|run| (moved(run) - moved(0)).abs()).fold(0.0, f64::max),
            };
            found.push(influence);
        }
        Ok(found)
    }

    /// The value of each run; 0 where the measure is undefined and the policy leaves the query out.
    fn values(&self, measure: &Measure, labels: &[f32], work: &mut Work) -> Result<Vec<f64>, NotANumber> {
        let mut values = Vec::with_capacity(self.runs.len());
        let (mut scores, mut own, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for run in self.runs {
            scores.clear();
            own.clear();
            keys.clear();
            let mut missed = self.missed.to_vec();
            for (item, &score) in run.iter().enumerate() {
                if score.is_nan() {
                    missed.extend(Some(labels[item]).filter(|label| !label.is_nan()));
                } else {
                    scores.push(score);
                    own.push(labels[item]);
                    keys.push(self.tie_keys[item]);
                }
            }
            let list = List { tie_keys: Some(&keys), missed: &missed, ..List::new(&scores, &own) };
            let value = measure.settle(measure.of_list(&list, work)?);
            values.push(value.filter(|value| value.is_finite()).unwrap_or(0.0));
        }
        Ok(values)
    }
}

/// How far judges agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Items that two judges or more have judged.
    pub items: usize,
    /// Pairs of judgements of the same item by two judges.
    pub pairs: usize,
    /// Fraction of these pairs that are equal; `None`: there is no pair.
    pub equal: Option<f64>,
    /// Krippendorff's α for ordered grades; `None`: there is no pair, or all grades are the same.
    pub alpha: Option<f64>,
}

/// Agreement from the grades of each item, one per judge who has judged it.
///
/// ```
/// use toprank_metrics::judging::agreement;
/// let found = agreement([vec![0, 0], vec![2, 2], vec![1]]);
/// assert_eq!((found.items, found.pairs, found.equal, found.alpha), (2, 2, Some(1.0), Some(1.0)));
/// assert_eq!(agreement([vec![1]]).alpha, None);
/// ```
pub fn agreement(items: impl IntoIterator<Item = Vec<u8>>) -> Agreement {
    let units: Vec<Vec<u8>> = items.into_iter().filter(|grades| grades.len() > 1).collect();
    let mut counts: BTreeMap<u8, f64> = BTreeMap::new();
    units.iter().flatten().for_each(|grade| *counts.entry(*grade).or_default() += 1.0);
    let n: f64 = counts.values().sum();
    let distance = |a: u8, b: u8| {
        let (low, high) = (a.min(b), a.max(b));
        let between: f64 = counts.range(low..=high).map(|(_, count)| count).sum();
        let ends = (counts[&low] + counts[&high]) / 2.0;
        if a == b { 0.0 } else { (between - ends).powi(2) }
    };
    let (mut observed, mut pairs, mut equal) = (0.0, 0_usize, 0_usize);
    for grades in &units {
        for (i, &a) in grades.iter().enumerate() {
            for &b in &grades[..i] {
                observed += 2.0 * distance(a, b) / (grades.len() - 1) as f64;
                pairs += 1;
                equal += usize::from(a == b);
            }
        }
    }
    let expected: f64 = counts
        .iter()
        .flat_map(|(a, x)| counts.iter().map(move |(b, y)| (a, b, x * y)))
        .map(|(a, b, xy)| xy * distance(*a, *b))
        .sum();
    Agreement {
        items: units.len(),
        pairs,
        equal: (pairs > 0).then(|| equal as f64 / pairs as f64),
        alpha: (expected > 0.0).then(|| 1.0 - observed * (n - 1.0) / expected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toprank_core::Policy;

    /// The example of Krippendorff (2011), section D: four observers, twelve units, values 1 to 5, some missing.
    #[test]
    fn alpha_is_that_of_the_published_example() {
        let observers = [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
            [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
        ];
        let units = (0..12).map(|u| observers.iter().map(|values| values[u]).filter(|v| *v > 0).collect());
        let found = agreement(units);
        assert_eq!(found.items, 11);
        assert!((found.alpha.unwrap() - 0.815).abs() < 5e-4, "{found:?}");
    }

    #[test]
    fn judges_who_disagree_about_everything_have_a_negative_alpha() {
        let found = agreement([vec![0, 2], vec![2, 0], vec![0, 2]]);
        assert_eq!(found.equal, Some(0.0));
        assert!(found.alpha.unwrap() < 0.0, "{found:?}");
        assert_eq!(agreement([vec![3, 3], vec![3, 3]]).alpha, None);
        assert_eq!(agreement([]).equal, None);
    }

    #[test]
    fn influence_is_the_change_of_the_difference_between_runs() {
        let nan = f32::NAN;
        let (a, b) = ([4.0, 3.0, 2.0, f64::NAN], [1.0, 2.0, f64::NAN, 3.0]);
        let labels = [nan, 1.0, nan, nan];
        let query = Contested { runs: &[&a, &b], labels: &labels, tie_keys: &[0, 1, 2, 3], missed: &[2.0] };
        let measure = Measure::parse_all("ndcg@3", &Policy::default()).unwrap().remove(0);
        let pool = query.pool(3);
        assert_eq!(pool, [0, 2, 3]);
        let found = query.influence(&measure, 1.0, &pool).unwrap();
        // By hand: gains 2^y − 1, the ideal order of {2, 1, x}; item 0 is first in a and third in b.
        let log = |place: f64| (place + 1.0).log2();
        let ideal = |x: f64| 3.0 / log(1.0) + 1.0 / log(2.0) + x / log(3.0);
        let difference =
            |x: f64| ((x / log(3.0) + 1.0 / log(2.0)) - (x / log(1.0) + 1.0 / log(2.0))) / ideal(x);
        assert!((found[0] - (difference(1.0) - difference(0.0)).abs()).abs() < 1e-12, "{found:?}");
        // Item 2 is only in a, at place 3; in b it is a judged item that was missed, which changes the ideal order.
        let at_three = |x: f64| {
            let a = (1.0 / log(2.0) + x / log(3.0)) / ideal(x);
            (1.0 / log(2.0)) / ideal(x) - a
        };
        assert!((found[1] - (at_three(1.0) - at_three(0.0)).abs()).abs() < 1e-12, "{found:?}");
        // With a single run it is the change of its value.
        let alone = Contested { runs: &[&a], ..query };
        let own = |x: f64| (x / log(1.0) + 1.0 / log(2.0)) / ideal(x);
        let found = alone.influence(&measure, 1.0, &[0]).unwrap();
        assert!((found[0] - (own(1.0) - own(0.0)).abs()).abs() < 1e-12, "{found:?}");
    }
}
