//! What a metric is: one number for one list in order.

use toprank_core::Policy;

use crate::rank::Ranked;

/// A measure of one list in rank order.
///
/// ```
/// use toprank_core::{List, Policy};
/// use toprank_metrics::{Measure, Work};
/// let measure = &Measure::parse_all("p@2", &Policy::default()).unwrap()[0];
/// let list = List::new(&[0.9, 0.5, 0.1], &[1.0, 0.0, 1.0]);
/// assert_eq!(measure.of_list(&list, &mut Work::default()), Ok(Some(1.0 / 2.0)));
/// ```
pub trait Metric: Send + Sync {
    /// The value, or `None` where the metric is undefined (for most: no relevant item): the policy then decides.
    fn value(&self, ranked: &Ranked, policy: &Policy) -> Option<f64>;

    /// How many places from the top it looks at; `None`: it needs the whole order.
    fn depth(&self) -> Option<usize> {
        None
    }

    /// Labels on which the formula makes sense.
    fn labels(&self, _policy: &Policy) -> Labels {
        Labels::FINITE
    }

    /// Whether weights of single items enter the value.
    fn takes_item_weights(&self) -> bool {
        false
    }

    /// Which way is better.
    fn better(&self) -> Better {
        Better::Higher
    }

    /// How the values of lists become one number.
    fn average(&self) -> Average {
        Average::Arithmetic
    }

    /// What [`toprank_core::Ties::Averaged`] means for it on a list with (`weighted`) or without item weights.
    fn tie_rule(&self, _weighted: bool) -> TieRule {
        TieRule::Expected
    }

    /// The rules of the policy, besides ties, scores and empty, that change the value. A report prints these.
    fn rules(&self) -> &'static [&'static str] {
        &["relevant"]
    }
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// A greater value is better.
    Higher,
    /// A smaller value is better.
    Lower,
}

/// How the values of lists become one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Average {
    /// The weighted mean.
    Arithmetic,
    /// exp of the weighted mean of ln max(value, floor).
    Geometric {
        /// Smallest value of a list: one list of value 0 would make the mean 0.
        floor: f64,
    },
}

impl Average {
    /// The value of a list as it enters an arithmetic mean.
    pub fn enter(self, value: f64) -> f64 {
        match self {
            Average::Arithmetic => value,
            // f64::max would take a skipped list (NaN) for the floor.
            Average::Geometric { floor } => {
                if value < floor {
                    floor.ln()
                } else {
                    value.ln()
                }
            }
        }
    }

    /// The number that a mean of entered values stands for.
    pub fn leave(self, mean: f64) -> f64 {
        match self {
            Average::Arithmetic => mean,
            Average::Geometric { .. } => mean.exp(),
        }
    }
}

/// What averaged ties mean for a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieRule {
    /// The exact expected value over all orders of tied items.
    Expected,
    /// A threshold cannot part equal scores: tied items enter at once.
    AtOnce,
    /// The metric has its own correction for ties and does not read the policy's rule.
    Own,
}

/// Labels that a metric accepts; an unjudged item (NaN) is always accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Labels {
    /// The greatest label.
    pub max: f32,
    /// Only integers.
    pub whole: bool,
    /// What to say when a label is refused: what is expected and what to do.
    pub expected: &'static str,
}

impl Labels {
    /// Any finite label.
    pub const FINITE: Labels = Labels { max: f32::MAX, whole: false, expected: "a finite label" };

    /// Whether `label` is accepted.
    pub fn accept(&self, label: f32) -> bool {
        self.in_range(label) && (!self.whole || label.is_nan() || label.fract() == 0.0)
    }

    /// Whether all are accepted, in one sweep over a column.
    pub fn accept_all(&self, labels: &[f32]) -> bool {
        // No early exit: it would cost the vector instructions.
        let in_range = labels.iter().fold(true, |fine, &label| fine & self.in_range(label));
        in_range && (!self.whole || labels.iter().all(|&label| self.accept(label)))
    }

    fn in_range(&self, label: f32) -> bool {
        let mut fine = label >= -f32::MAX;
        fine &= label <= self.max;
        fine | label.is_nan()
    }
}

/// Number of relevant items among the first `places` and in the tie that reaches over that border:
/// `(certain, tied_relevant, tied_places, free_places)`. Of the tied items `free_places` are above the border,
/// any of them equally likely.
pub(crate) struct Top {
    /// Relevant items that are above the border in every order.
    pub certain: usize,
    /// Items of the tie that reaches over the border (0: none does).
    pub tied: usize,
    /// Relevant ones among them.
    pub tied_hits: usize,
    /// How many of the tied items are above the border.
    pub free: usize,
}

impl Top {
    /// Counts the items that `hit` says yes to among the first `places`.
    pub(crate) fn count(ranked: &Ranked, places: usize, hit: impl Fn(f32) -> bool) -> Top {
        let labels = ranked.labels();
        let places = places.min(labels.len());
        let hits = |range: std::ops::Range<usize>| labels[range].iter().filter(|&&y| hit(y)).count();
        if ranked.has_ties() {
            for group in ranked.groups() {
                if group.end > places {
                    if group.start >= places {
                        break;
                    }
                    return Top {
                        certain: hits(0..group.start),
                        tied: group.len(),
                        tied_hits: hits(group.clone()),
                        free: places - group.start,
                    };
                }
            }
        }
        Top { certain: hits(0..places), tied: 0, tied_hits: 0, free: 0 }
    }

    /// Expected number of hits above the border.
    pub(crate) fn expected(&self) -> f64 {
        let tied =
            if self.tied == 0 { 0.0 } else { self.tied_hits as f64 * (self.free as f64 / self.tied as f64) };
        self.certain as f64 + tied
    }

    /// Probability that no hit is above the border.
    pub(crate) fn probability_of_none(&self) -> f64 {
        if self.certain > 0 {
            return 0.0;
        }
        if self.tied == 0 {
            return 1.0;
        }
        no_hit(self.tied, self.tied_hits, self.free)
    }
}

/// Probability that none of `draws` items drawn without replacement from `n`, `hits` of which are hits, is a hit.
pub(crate) fn no_hit(n: usize, hits: usize, draws: usize) -> f64 {
    let misses = n - hits;
    if draws > misses {
        return 0.0;
    }
    // C(misses, draws)/C(n, draws) = C(n − draws, hits)/C(n, hits): the shorter product of the two.
    let (a, b, factors) = if draws <= hits { (misses, n, draws) } else { (n - draws, n, hits) };
    (0..factors).map(|i| (a - i) as f64 / (b - i) as f64).product()
}

/// Number of relevant items, retrieved or not.
pub(crate) fn relevant(ranked: &Ranked, policy: &Policy) -> usize {
    let count = |labels: &[f32]| labels.iter().filter(|&&y| policy.relevant.is(y)).count();
    count(ranked.labels()) + count(ranked.missed())
}
