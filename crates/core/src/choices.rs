//! Lists of user interactions: of all items, only those that a user interacted with are stored.

use crate::ListsError;

/// Users and the items that each of them interacted with, out of the same `item_count` items. All other items have label 0 and
/// take no memory: a user × item table never exists.
///
/// ```
/// use toprank_core::Choices;
/// let choices = Choices::from_pairs(2, 3, vec![(1, 2, 1.0), (0, 2, 5.0), (0, 0, 3.0)]);
/// assert_eq!(choices.of(0), [0, 2]);
/// assert_eq!(choices.labels_of(0), [3.0, 5.0]);
/// assert_eq!(choices.label(1, 0), 0.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    /// Number of all items.
    pub item_count: usize,
    /// User u interacted with `items[offsets[u]..offsets[u + 1]]`.
    pub offsets: Vec<u64>,
    /// The items of each user, strictly ascending.
    pub items: Vec<u32>,
    /// The label of each interaction.
    pub labels: Vec<f32>,
    /// The weight of each interaction; empty: all have the same.
    pub weights: Vec<f32>,
    /// How many of its user's interactions are later than each; empty: their order in time is not known.
    pub later: Vec<u32>,
}

impl Choices {
    /// Interactions from (user, item, label), in any order.
    ///
    /// # Panics
    /// If a user or an item is not below its count, or a pair occurs twice.
    pub fn from_pairs(users: usize, items: usize, mut pairs: Vec<(u32, u32, f32)>) -> Choices {
        pairs.sort_unstable_by_key(|(user, item, _)| (*user, *item));
        let twice = pairs.windows(2).any(|w| (w[0].0, w[0].1) == (w[1].0, w[1].1));
        assert!(!twice, "each pair once");
        let mut choices = Choices { item_count: items, offsets: vec![0; users + 1], ..Choices::default() };
        for &(user, ..) in &pairs {
            choices.offsets[user as usize + 1] += 1;
        }
        for user in 0..users {
            choices.offsets[user + 1] += choices.offsets[user];
        }
        choices.items = pairs.iter().map(|(_, item, _)| *item).collect();
        choices.labels = pairs.iter().map(|(.., label)| *label).collect();
        assert!(choices.items.iter().all(|&item| (item as usize) < items), "an item below {items}");
        choices
    }

    /// Interactions of no user yet, out of this many items; [`Choices::push`] adds users.
    pub fn of_items(items: usize) -> Choices {
        Choices { item_count: items, offsets: vec![0], ..Choices::default() }
    }

    /// Adds the next user, with (item, label) in ascending order of the items.
    ///
    /// # Panics
    /// If an item is not below their count, or not above the one before it.
    pub fn push(&mut self, pairs: impl IntoIterator<Item = (u32, f32)>) {
        let start = self.items.len();
        for (item, label) in pairs {
            assert!((item as usize) < self.item_count, "an item below {}", self.item_count);
            assert!(self.items[start..].last().is_none_or(|&last| last < item), "each pair once, ascending");
            self.items.push(item);
            self.labels.push(label);
        }
        self.offsets.push(self.items.len() as u64);
    }

    /// Number of users.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// True if there is no user.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of interactions.
    pub fn pairs(&self) -> usize {
        self.items.len()
    }

    /// The range of user `u` in the columns.
    pub fn range(&self, u: usize) -> std::ops::Range<usize> {
        self.offsets[u] as usize..self.offsets[u + 1] as usize
    }

    /// The items of user `u`, ascending.
    pub fn of(&self, u: usize) -> &[u32] {
        &self.items[self.range(u)]
    }

    /// Their labels.
    pub fn labels_of(&self, u: usize) -> &[f32] {
        &self.labels[self.range(u)]
    }

    /// Their weights; empty: all the same.
    pub fn weights_of(&self, u: usize) -> &[f32] {
        if self.weights.is_empty() { &[] } else { &self.weights[self.range(u)] }
    }

    /// The items of user `u` in the order of time, the first first; equal times in the order of the items. Without an order: ascending.
    ///
    /// ```
    /// use toprank_core::Choices;
    /// let choices = Choices::from_pairs(1, 9, vec![(0, 2, 1.0), (0, 5, 1.0), (0, 8, 1.0)]);
    /// let choices = Choices { later: vec![0, 2, 1], ..choices };
    /// assert_eq!(choices.in_order(0), [5, 8, 2]);
    /// ```
    pub fn in_order(&self, u: usize) -> Vec<u32> {
        let range = self.range(u);
        let mut order: Vec<(u32, u32)> = match self.later.is_empty() {
            true => self.of(u).iter().map(|&item| (0, item)).collect(),
            false => {
                self.later[range.clone()].iter().copied().zip(self.items[range].iter().copied()).collect()
            }
        };
        order.sort_by_key(|(later, _)| std::cmp::Reverse(*later));
        order.into_iter().map(|(_, item)| item).collect()
    }

    /// The label of an item for a user; 0 without an interaction.
    pub fn label(&self, u: usize, item: u32) -> f32 {
        self.of(u).binary_search(&item).map_or(0.0, |at| self.labels_of(u)[at])
    }

    /// Number of interactions of each item.
    pub fn popularity(&self) -> Vec<u32> {
        let mut counts = vec![0; self.item_count];
        for &item in &self.items {
            counts[item as usize] += 1;
        }
        counts
    }

    /// Checks the invariants documented at the fields.
    pub fn check(&self) -> Result<(), ListsError> {
        let wrong = |what, found: String, expected: String| Err(ListsError { what, found, expected });
        let pairs = self.pairs();
        if self.offsets.first() != Some(&0)
            || self.offsets.last() != Some(&(pairs as u64))
            || !self.offsets.is_sorted()
        {
            return wrong("offsets", format!("{:?}", self.offsets.last()), format!("0 … {pairs}, ascending"));
        }
        if self.labels.len() != pairs {
            return wrong("labels", format!("{} values", self.labels.len()), format!("{pairs} values"));
        }
        if !self.weights.is_empty() && self.weights.len() != pairs {
            return wrong("weights", format!("{} values", self.weights.len()), format!("none or {pairs}"));
        }
        if !self.later.is_empty() && self.later.len() != pairs {
            return wrong("later", format!("{} values", self.later.len()), format!("none or {pairs}"));
        }
        if let Some(bad) = self.weights.iter().find(|w| !w.is_finite() || **w < 0.0) {
            return wrong("weights", bad.to_string(), "finite weights ≥ 0".into());
        }
        for u in 0..self.len() {
            let items = self.of(u);
            let inside = items.last().is_none_or(|&item| (item as usize) < self.item_count);
            if !inside || items.windows(2).any(|w| w[0] >= w[1]) {
                let expected = format!("strictly ascending numbers below {}", self.item_count);
                return wrong("items", format!("the items of user {u}"), expected);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_that_are_pushed_are_those_of_their_pairs() {
        let mut pushed = Choices::of_items(4);
        pushed.push([(1, 1.0)]);
        pushed.push([]);
        pushed.push([(0, 2.0), (3, 1.0)]);
        assert_eq!(pushed, Choices::from_pairs(3, 4, vec![(2, 3, 1.0), (0, 1, 1.0), (2, 0, 2.0)]));
        assert_eq!(pushed.check(), Ok(()));
    }

    #[test]
    #[should_panic(expected = "each pair once")]
    fn a_pair_is_pushed_once() {
        Choices::of_items(4).push([(1, 1.0), (1, 2.0)]);
    }

    #[test]
    fn check_names_what_is_at_fault() {
        let good = Choices::from_pairs(3, 4, vec![(2, 3, 1.0), (0, 1, 1.0), (2, 0, 2.0)]);
        assert_eq!(good.check(), Ok(()));
        assert_eq!((good.of(1), good.of(2)), (&[][..], &[0, 3][..]));
        assert_eq!(good.popularity(), [1, 1, 0, 1]);
        let outside = Choices { item_count: 3, ..good.clone() };
        assert_eq!(outside.check().unwrap_err().what, "items");
        let unsorted = Choices { items: vec![1, 3, 0], ..good.clone() };
        assert_eq!(
            unsorted.check().unwrap_err().to_string(),
            "items: found the items of user 2, expected strictly ascending numbers below 4"
        );
        let short = Choices { labels: vec![1.0], ..good.clone() };
        assert_eq!(short.check().unwrap_err().what, "labels");
        let weighed = Choices { weights: vec![1.0, 0.0, 2.0], ..good.clone() };
        assert_eq!(weighed.check(), Ok(()));
        assert_eq!((weighed.weights_of(0), weighed.weights_of(2)), (&[1.0][..], &[0.0, 2.0][..]));
        assert!(good.weights_of(2).is_empty());
        let negative = Choices { weights: vec![1.0, -1.0, 2.0], ..good.clone() };
        assert_eq!(negative.check().unwrap_err().what, "weights");
        let order = Choices { later: vec![0], ..good };
        assert_eq!(order.check().unwrap_err().what, "later");
    }
}
