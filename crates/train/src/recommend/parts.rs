//! A part of interactions, from data as they were read to choices: user by user, in one step.

use toprank_core::Choices;

/// A pair of the user that is being added.
struct Pair {
    item: u32,
    label: f32,
    time: f64,
    /// How many of the user's pairs are later.
    later: u32,
}

/// A part in the making.
pub(super) struct PartBuilder {
    choices: Choices,
    later: Vec<u32>,
    /// True as long as the order in time of all pairs is known.
    in_order: bool,
    /// Memory of a user, used again for the next.
    pairs: Vec<Pair>,
}

impl PartBuilder {
    /// Pairs of this many items; `in_order`: how many of a user's pairs are later than each is counted.
    pub fn new(items: usize, in_order: bool) -> PartBuilder {
        PartBuilder { choices: Choices::of_items(items), later: Vec::new(), in_order, pairs: Vec::new() }
    }

    /// Adds the next user, with (item, label, time) in the order of the file; a time may be missing (NaN).
    pub fn push(&mut self, pairs: impl Iterator<Item = (u32, f32, f64)>) {
        self.pairs.clear();
        self.pairs.extend(pairs.map(|(item, label, time)| Pair { item, label, time, later: 0 }));
        self.in_order &= self.pairs.iter().all(|pair| !pair.time.is_nan());
        if self.in_order {
            // Of equal times the one that comes first in the file is the earlier.
            self.pairs.sort_by(|a, b| a.time.total_cmp(&b.time));
            let later = (0..self.pairs.len() as u32).rev();
            self.pairs.iter_mut().zip(later).for_each(|(pair, later)| pair.later = later);
        }
        self.pairs.sort_unstable_by_key(|pair| pair.item);
        self.choices.push(self.pairs.iter().map(|pair| (pair.item, pair.label)));
        self.later.extend(self.pairs.iter().map(|pair| pair.later));
    }

    /// The choices, and how many of its user's pairs are later than each; nothing where their order in time is not known.
    pub fn finish(self) -> (Choices, Vec<u32>) {
        (self.choices, if self.in_order { self.later } else { Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(in_order: bool, users: &[&[(u32, f32, f64)]]) -> (Choices, Vec<u32>) {
        let mut part = PartBuilder::new(9, in_order);
        for user in users {
            part.push(user.iter().copied());
        }
        part.finish()
    }

    #[test]
    fn later_pairs_are_counted_by_time_and_equal_times_by_their_order() {
        // User 0: item 1 is the last, 7 before it. User 2: 3, then 4, then 2.
        let users: [&[(u32, f32, f64)]; 3] =
            [&[(7, 1.0, 9.0), (1, 2.0, 10.0)], &[], &[(4, 3.0, 2.0), (2, 4.0, 2.0), (3, 5.0, 1.0)]];
        let (choices, later) = part(true, &users);
        let pairs = vec![(0, 7, 1.0), (0, 1, 2.0), (2, 4, 3.0), (2, 2, 4.0), (2, 3, 5.0)];
        assert_eq!(choices, Choices::from_pairs(3, 9, pairs));
        assert_eq!(later, [0, 1, 0, 2, 1]);
        assert_eq!(part(false, &users), (choices, Vec::new()));
    }

    #[test]
    fn a_missing_time_anywhere_leaves_the_order_unknown() {
        let (choices, later) = part(true, &[&[(1, 1.0, 1.0), (0, 1.0, 2.0)], &[(5, 1.0, f64::NAN)]]);
        assert_eq!((choices.pairs(), later), (3, Vec::new()));
    }
}
