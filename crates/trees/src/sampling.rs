//! Which lists and rows a tree learns from.

use serde::{Deserialize, Serialize};
use toprank_core::{ModelError, Stream};

/// Which lists or rows a tree learns from. Gradients are those of whole lists, whatever is drawn.
///
/// ```
/// use toprank_trees::Sampling;
/// let sampling = Sampling::Lists { fraction: 0.5 };
/// assert!(sampling.check().is_ok() && Sampling::Lists { fraction: 0.0 }.check().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// All of them.
    #[default]
    All,
    /// A fraction of them, drawn anew for each round (bagging).
    Lists {
        /// The fraction, in (0, 1].
        fraction: f64,
    },
    /// A fraction of the rows, drawn anew for each tree. Rows that are to go up (gradient below 0: the relevant ones of binary
    /// data) and the others are drawn apart, so that no tree is without rare relevant rows.
    Rows {
        /// The fraction, in (0, 1].
        fraction: f64,
    },
    /// GOSS (gradient-based one-side sampling) by list: those with the greatest Σ|gradient|, and some of the others with a
    /// larger weight, so that sums stay unbiased. LightGBM samples rows instead of lists.
    Goss {
        /// Fraction of all lists that is always used, in (0, 1).
        top: f64,
        /// Fraction of all lists that is drawn from the others, in (0, 1 − top].
        other: f64,
    },
}

/// Chosen lists, ascending, and the weight of the rows of each.
pub(crate) type Chosen = Vec<(u32, f64)>;

impl Sampling {
    /// Checks the ranges.
    pub fn check(&self) -> Result<(), ModelError> {
        let wrong = |what: String, expected: &str| Err(ModelError::new(what, expected));
        match *self {
            Sampling::Lists { fraction } if !(fraction > 0.0 && fraction <= 1.0) => {
                wrong(format!("a fraction of lists of {fraction}"), "a number in (0, 1]")
            }
            Sampling::Rows { fraction } if !(fraction > 0.0 && fraction <= 1.0) => {
                wrong(format!("a fraction of rows of {fraction}"), "a number in (0, 1]")
            }
            Sampling::Goss { top, other } if !(top > 0.0 && other > 0.0 && top + other <= 1.0) => wrong(
                format!("goss with top {top} and other {other}"),
                "two fractions above 0 that add up to at most 1",
            ),
            _ => Ok(()),
        }
    }

    /// The lists of a round; `None`: all of them. `gradient` gives Σ|gradient| of a list.
    pub(crate) fn choose(
        &self,
        lists: usize,
        gradient: impl Fn(usize) -> f64,
        stream: Stream,
    ) -> Option<Chosen> {
        let number = |fraction: f64| ((fraction * lists as f64).round() as usize).clamp(1, lists.max(1));
        match *self {
            Sampling::All | Sampling::Rows { .. } => None,
            Sampling::Lists { fraction } => {
                let all = (0..lists as u32).collect();
                Some(draw(all, number(fraction), stream).into_iter().map(|list| (list, 1.0)).collect())
            }
            Sampling::Goss { top, other } => {
                let mut order: Vec<(f64, u32)> =
                    (0..lists).map(|list| (gradient(list), list as u32)).collect();
                order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                let (first, rest) = order.split_at(number(top).min(lists));
                let rest: Vec<u32> = rest.iter().map(|&(_, list)| list).collect();
                let drawn = number(other).min(rest.len());
                let weight = rest.len() as f64 / drawn.max(1) as f64;
                let mut chosen: Chosen = first.iter().map(|&(_, list)| (list, 1.0)).collect();
                chosen.extend(draw(rest, drawn, stream).into_iter().map(|list| (list, weight)));
                chosen.sort_unstable_by_key(|&(list, _)| list);
                Some(chosen)
            }
        }
    }
}

/// Draws this fraction of the rows that are to go `up` (gradient below 0) and of the others, at least one of each, ascending.
pub(crate) fn draw_rows(fraction: f64, up: &[bool], stream: Stream, mut take: impl FnMut(usize)) {
    let count = up.iter().filter(|up| **up).count();
    let mut left = [up.len() - count, count];
    let mut wanted = left.map(|rows| ((fraction * rows as f64).round() as usize).max(1).min(rows));
    let mut random = stream.open();
    // Selection sampling: a row is taken with probability wanted/left of its kind, which ends in exactly the number wanted.
    for (row, &up) in up.iter().enumerate() {
        let kind = usize::from(up);
        if random.unit() * (left[kind] as f64) < wanted[kind] as f64 {
            take(row);
            wanted[kind] -= 1;
        }
        left[kind] -= 1;
    }
}

/// Draws without replacement, ascending.
pub(crate) fn draw(mut from: Vec<u32>, number: usize, stream: Stream) -> Vec<u32> {
    let mut random = stream.open();
    for i in 0..number.min(from.len()) {
        let other = i + random.below(from.len() - i);
        from.swap(i, other);
    }
    from.truncate(number);
    from.sort_unstable();
    from
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_kept_and_rounds_differ() {
        let sampling = Sampling::Lists { fraction: 0.3 };
        let stream = Stream::new(1, "test");
        let first = sampling.choose(1000, |_| 0.0, stream.at_step(0)).unwrap();
        let second = sampling.choose(1000, |_| 0.0, stream.at_step(1)).unwrap();
        assert_eq!((first.len(), second.len()), (300, 300));
        assert_ne!(first, second);
        assert!(first.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(sampling.choose(1, |_| 0.0, stream).unwrap().len(), 1);
        assert_eq!(sampling.choose(0, |_| 0.0, stream).unwrap().len(), 0);
    }

    #[test]
    fn rows_are_drawn_evenly_and_rare_relevant_ones_are_always_among_them() {
        let up: Vec<bool> = (0..1000).map(|row| row % 100 == 3).collect();
        let mut drawn = vec![0; 1000];
        for step in 0..400 {
            let mut rows = Vec::new();
            draw_rows(0.3, &up, Stream::new(5, "test").at_step(step), |row| rows.push(row));
            assert_eq!(rows.len(), 300);
            assert_eq!(rows.iter().filter(|row| *row % 100 == 3).count(), 3);
            assert!(rows.is_sorted_by(|a, b| a < b));
            for &row in &rows {
                drawn[row] += 1;
            }
        }
        // 120 expected, standard deviation 9.
        assert!(drawn.iter().all(|&times| (75..165).contains(&times)), "{drawn:?}");
        let mut rows = Vec::new();
        draw_rows(0.01, &[true, false, false], Stream::new(5, "test"), |row| rows.push(row));
        assert_eq!(rows.len(), 2, "one of each at least");
    }

    #[test]
    fn goss_takes_the_largest_gradients_and_is_unbiased() {
        let sampling = Sampling::Goss { top: 0.2, other: 0.1 };
        let gradient = |list: usize| (list % 10) as f64;
        let mut total = 0.0;
        for step in 0..2000 {
            let chosen = sampling.choose(100, gradient, Stream::new(5, "test").at_step(step)).unwrap();
            assert_eq!(chosen.len(), 30);
            for list in (0..100).filter(|list| list % 10 >= 8) {
                assert!(chosen.contains(&(list, 1.0)));
            }
            total += chosen.iter().map(|&(list, counts)| counts * gradient(list as usize)).sum::<f64>();
        }
        let truth: f64 = (0..100).map(gradient).sum();
        assert!((total / 2000.0 / truth - 1.0).abs() < 0.01);
    }
}
