//! Every user and item of a batch once, and which of them each entry reads.

/// The pairs of users and items of a batch. Its memory grows, never shrinks.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The users, strictly ascending.
    pub users: Vec<u32>,
    /// The items, strictly ascending.
    pub items: Vec<u32>,
    /// Entries of user d: `offsets[d]..offsets[d + 1]`.
    pub offsets: Vec<usize>,
    /// The item of each entry, as an index into `items`.
    pub item_of: Vec<u32>,
    /// The user of each entry, as an index into `users`.
    pub user_of: Vec<u32>,
    /// Entries of item k, ascending: `entries[starts[k]..starts[k + 1]]`.
    pub starts: Vec<usize>,
    /// See `starts`.
    pub entries: Vec<u32>,
    /// The user of each of `entries`: looked up once here instead of in every sum over them.
    met_by: Vec<u32>,
    /// Index of an item in `items`; [`ABSENT`] between two batches.
    slot: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl Plan {
    /// Lays out a batch: user `users[d]` is paired with `items[offsets[d]..offsets[d + 1]]`, which are below `all_items`.
    ///
    /// Cost: O(entries + items of the batch · log), or O(entries + `all_items`) where most items are in the batch.
    ///
    /// # Panics
    /// If offsets and items do not fit.
    pub fn lay(&mut self, all_items: usize, users: &[u32], offsets: &[u64], items: &[u32]) {
        assert!(
            offsets.len() == users.len() + 1 && offsets.last() == Some(&(items.len() as u64)),
            "offsets of the items"
        );
        if self.slot.len() < all_items {
            self.slot.resize(all_items, ABSENT);
        }
        self.users.clear();
        self.users.extend_from_slice(users);
        self.offsets.clear();
        self.offsets.extend(offsets.iter().map(|&offset| offset as usize));
        self.items.clear();
        for &item in items {
            let slot = &mut self.slot[item as usize];
            if *slot == ABSENT {
                *slot = 0;
                self.items.push(item);
            }
        }
        if self.items.len() > all_items / 16 {
            self.items.clear();
            let present = |(item, slot): (usize, &u32)| (*slot != ABSENT).then_some(item as u32);
            self.items.extend(self.slot.iter().enumerate().filter_map(present));
        } else {
            self.items.sort_unstable();
        }
        for (k, &item) in self.items.iter().enumerate() {
            self.slot[item as usize] = k as u32;
        }
        self.item_of.clear();
        self.item_of.extend(items.iter().map(|&item| self.slot[item as usize]));
        self.user_of.clear();
        for d in 0..users.len() {
            self.user_of.resize(self.offsets[d + 1], d as u32);
        }
        self.turn();
        for &item in &self.items {
            self.slot[item as usize] = ABSENT;
        }
    }

    /// Entries by item, by counting.
    fn turn(&mut self) {
        self.starts.clear();
        self.starts.resize(self.items.len() + 1, 0);
        for &k in &self.item_of {
            self.starts[k as usize + 1] += 1;
        }
        for k in 0..self.items.len() {
            self.starts[k + 1] += self.starts[k];
        }
        self.entries.clear();
        self.entries.resize(self.item_of.len(), 0);
        self.met_by.resize(self.item_of.len(), 0);
        for (entry, (&k, &user)) in self.item_of.iter().zip(&self.user_of).enumerate() {
            let at = &mut self.starts[k as usize];
            self.entries[*at] = entry as u32;
            self.met_by[*at] = user;
            *at += 1;
        }
        // Each start has advanced to the next one.
        self.starts.copy_within(..self.items.len(), 1);
        self.starts[0] = 0;
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.item_of.len()
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.item_of.is_empty()
    }

    /// The items of user d, as indices into `items`.
    pub(crate) fn met(&self, d: usize) -> &[u32] {
        &self.item_of[self.offsets[d]..self.offsets[d + 1]]
    }

    /// The users of the entries of item k, as indices into `users`.
    pub(crate) fn met_by(&self, k: usize) -> &[u32] {
        &self.met_by[self.starts[k]..self.starts[k + 1]]
    }

    /// The entries of item k.
    pub(crate) fn of_item(&self, k: usize) -> &[u32] {
        &self.entries[self.starts[k]..self.starts[k + 1]]
    }
}
