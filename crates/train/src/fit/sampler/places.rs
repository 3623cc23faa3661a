//! Where the items of a kind stand in their lists: memory for the exceptions only.

use std::hint::select_unpredictable;

use toprank_core::{Choices, Lists, Stream};

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
            places.lengths.push(choices.item_count as u32);
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

    /// Number of places in list `q`, these and others.
    pub fn length(&self, q: u32) -> usize {
        self.lengths[q as usize] as usize
    }

    /// How many other places list `q` has.
    pub fn outside(&self, q: u32) -> usize {
        self.length(q) - self.inside(q).len()
    }

    /// Place of the `nth` (from 0) item of list `q` that is **not** among the places.
    pub fn nth_outside(&self, q: u32, nth: u32) -> u32 {
        // Before the k-th place there are place − k others: ascending in k, so a search finds how many places stand
        // before the wanted item. No branch depends on what it finds: it would be guessed wrong every other time.
        let inside = self.inside(q);
        let stands_before = |k: usize| inside[k] - k as u32 <= nth;
        let (mut low, mut left) = (0, inside.len());
        while left > 1 {
            let half = left / 2;
            low = select_unpredictable(stands_before(low + half), low + half, low);
            left -= half;
        }
        let before = low as u32 + u32::from(left == 1 && stands_before(low));
        nth + before
    }
}

/// Places in a random order of their list, epoch after epoch. An order is made when its list is first asked for in an epoch.
#[derive(Debug)]
pub(super) struct Shuffled {
    stream: Stream,
    /// The places of all lists, each list in the order of its epoch.
    all: Vec<u32>,
    /// The epoch that the order of each list is of.
    epochs: Vec<Option<u64>>,
}

impl Shuffled {
    /// Orders of these places; they depend on the seed and purpose of the stream, the list and the epoch.
    pub fn new(places: &Places, stream: Stream) -> Shuffled {
        Shuffled { stream, all: places.all.clone(), epochs: vec![None; places.lists()] }
    }

    /// The places in list `q` in the order of this epoch; `places` are those it was made of.
    pub fn of(&mut self, places: &Places, q: u32, epoch: u64) -> &[u32] {
        let range = places.starts[q as usize] as usize..places.starts[q as usize + 1] as usize;
        let order = &mut self.all[range];
        let present = &mut self.epochs[q as usize];
        if *present != Some(epoch) {
            // From the beginning: what an epoch before left must not matter.
            order.copy_from_slice(places.inside(q));
            self.stream.of_list(q).at_step(epoch).open().shuffle(order);
            *present = Some(epoch);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_that_of_its_pass_whatever_was_asked_before() {
        let lists = Lists::from_lengths(&[40, 1, 30], vec![1.0; 71]);
        let places = Places::of(&lists, |_| true);
        let stream = Stream::new(3, "test");
        let mut shuffled = Shuffled::new(&places, stream);
        for (q, epoch) in [(0, 0), (2, 0), (0, 1), (0, 1), (2, 5), (0, 0), (1, 0)] {
            let mut plain = places.inside(q).to_vec();
            stream.of_list(q).at_step(epoch).open().shuffle(&mut plain);
            assert_eq!(shuffled.of(&places, q, epoch), plain, "list {q}, epoch {epoch}");
        }
    }

    #[test]
    fn places_outside_of_long_lists_are_those_left() {
        let mut random = Stream::new(4, "test").open();
        for length in [1, 2, 3, 17, 64, 500] {
            let labels: Vec<f32> = (0..length).map(|_| random.below(2) as f32).collect();
            let left: Vec<u32> = (0..length).filter(|&p| labels[p as usize] == 0.0).collect();
            let places = Places::of(&Lists::from_lengths(&[length as usize], labels), |label| label > 0.0);
            let found: Vec<u32> = (0..left.len() as u32).map(|nth| places.nth_outside(0, nth)).collect();
            assert_eq!(found, left);
        }
    }

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
