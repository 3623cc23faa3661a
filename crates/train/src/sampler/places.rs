//! Where the items of a kind stand in their lists: memory for the exceptions only.

use toprank_core::{Choices, Lists};

/// Ascending places within each list.
#[derive(Debug)]
pub(super) struct Places {
    starts: Vec<u64>,
    all: Vec<u32>,
    /// Length of each list.
    lengths: Vec<u32>,
}

impl Places {
    /// The places whose label `wanted` says yes to.
    pub fn of(lists: &Lists, wanted: impl Fn(f32) -> bool) -> Places {
        let mut places = Places { starts: vec![0], all: Vec::new(), lengths: Vec::new() };
        for q in 0..lists.len() {
            let labels = &lists.labels[lists.range(q)];
            let here = (0u32..).zip(labels).filter(|(_, label)| wanted(**label)).map(|(place, _)| place);
            places.all.extend(here);
            places.starts.push(places.all.len() as u64);
            places.lengths.push(labels.len() as u32);
        }
        places
    }

    /// The chosen items of each user whose label `wanted` says yes to.
    pub fn of_choices(choices: &Choices, wanted: impl Fn(f32) -> bool) -> Places {
        let mut places = Places { starts: vec![0], all: Vec::new(), lengths: Vec::new() };
        for u in 0..choices.len() {
            let chosen = choices.of(u).iter().zip(choices.labels_of(u));
            places.all.extend(chosen.filter(|(_, label)| wanted(**label)).map(|(item, _)| *item));
            places.starts.push(places.all.len() as u64);
            places.lengths.push(choices.items as u32);
        }
        places
    }

    /// Number of lists.
    pub fn lists(&self) -> usize {
        self.lengths.len()
    }

    /// The places in list `q`.
    pub fn inside(&self, q: u32) -> &[u32] {
        let q = q as usize;
        &self.all[self.starts[q] as usize..self.starts[q + 1] as usize]
    }

    /// How many other places list `q` has.
    pub fn outside(&self, q: u32) -> usize {
        self.lengths[q as usize] as usize - self.inside(q).len()
    }

    /// Place of the `nth` (from 0) item of list `q` that is **not** among the places.
    pub fn nth_outside(&self, q: u32, nth: u32) -> u32 {
        // Before the k-th place there are place − k others: ascending in k, so a search finds how many places stand
        // before the wanted item.
        let inside = self.inside(q);
        let (mut low, mut high) = (0, inside.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if inside[middle] - middle as u32 <= nth {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        nth + low as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_outside_is_the_nth_of_those_left() {
        let labels = vec![1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0];
        let lists = Lists::from_lengths(&[7, 0, 3], labels.clone());
        let places = Places::of(&lists, |label| label > 0.0);
        for q in 0..3u32 {
            let range = lists.range(q as usize);
            let left: Vec<u32> =
                (0..range.len() as u32).filter(|&p| labels[range.start + p as usize] == 0.0).collect();
            assert_eq!(places.outside(q), left.len());
            let found: Vec<u32> = (0..left.len() as u32).map(|nth| places.nth_outside(q, nth)).collect();
            assert_eq!(found, left);
        }
        assert_eq!(places.inside(0), [0, 3, 4, 6]);
    }
}
