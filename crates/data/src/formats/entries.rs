//! Interactions, one entry at a time: gathered, checked, and grouped into one list per user.

use std::io;

use toprank_core::Lists;

use super::sheet::unsupported;
use crate::dataset::{Dataset, Matrix};
use crate::error::{ReadError, show};
use crate::group::{Interner, gather};

/// Interactions in file order.
pub(super) struct Entries {
    pub(super) file: String,
    users: Interner,
    items: Interner,
    user: Vec<u32>,
    item: Vec<u32>,
    labels: Vec<f32>,
    /// One for each entry, or none at all.
    pub(super) times: Vec<f64>,
    lines: Vec<u64>,
}

impl Entries {
    pub(super) fn new(file: &str) -> Entries {
        let (users, items, user, item, labels, times, lines) = Default::default();
        Entries { file: file.into(), users, items, user, item, labels, times, lines }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.user.is_empty()
    }

    /// The number of a user, who has a list from now on, even if it stays empty.
    pub(super) fn user(&mut self, name: &str) -> u32 {
        self.users.number(name)
    }

    pub(super) fn add(&mut self, line: u64, user: u32, item: &str, label: f32) -> Result<(), ReadError> {
        if self.user.len() == u32::MAX as usize {
            let found = "more than 4294967295 interactions";
            return Err(ReadError::data(&self.file, found, "fewer").at_line(line));
        }
        self.user.push(user);
        self.item.push(self.items.number(item));
        self.labels.push(label);
        self.lines.push(line);
        Ok(())
    }

    /// Sorts the entries by user, file order kept, and cuts them into lists.
    pub(super) fn finish(self) -> Result<Dataset, ReadError> {
        if self.users.is_empty() {
            return Err(ReadError::data(&self.file, "no interaction", "at least one line"));
        }
        let mut offsets = vec![0u64; self.users.len() + 1];
        for &user in &self.user {
            offsets[user as usize + 1] += 1;
        }
        for user in 1..offsets.len() {
            offsets[user] += offsets[user - 1];
        }
        let mut next = offsets.clone();
        let mut order = vec![0u32; self.user.len()];
        for (entry, &user) in self.user.iter().enumerate() {
            order[next[user as usize] as usize] = entry as u32;
            next[user as usize] += 1;
        }
        self.check_pairs(&offsets, &order)?;
        Ok(Dataset {
            lists: Lists {
                offsets,
                rows: Some(gather(&self.item, 1, &order)),
                labels: gather(&self.labels, 1, &order),
                ..Lists::default()
            },
            features: Matrix::default(),
            times: (!self.times.is_empty()).then(|| gather(&self.times, 1, &order)),
            item_names: Some(self.items.into_names()),
            list_names: Some(self.users.into_names()),
            ..Dataset::default()
        })
    }

    /// Each item at most once for each user: one stamp per item.
    fn check_pairs(&self, offsets: &[u64], order: &[u32]) -> Result<(), ReadError> {
        let mut seen = vec![(u32::MAX, 0u32); self.items.len()];
        for (user, range) in offsets.windows(2).enumerate() {
            for &entry in &order[range[0] as usize..range[1] as usize] {
                let item = self.item[entry as usize] as usize;
                let (last_user, before) = seen[item];
                if last_user == user as u32 {
                    let (user, item) = (self.users.names().get(user), self.items.names().get(item));
                    let first = self.lines[before as usize];
                    let (user, item) = (show(user.as_bytes()), show(item.as_bytes()));
                    let found = format!("user {user} and item {item} again, first on line {first}");
                    return Err(ReadError::data(&self.file, found, "each item once for each user")
                        .at_line(self.lines[entry as usize])
                        .advice("Keep one of the lines, for example the last."));
                }
                seen[item] = (user as u32, entry);
            }
        }
        Ok(())
    }
}

/// The user and the item of an entry, for a writer.
pub(super) fn names_of(data: &Dataset, q: usize, entry: usize) -> io::Result<(String, &str)> {
    let items = data.item_names.as_ref().ok_or_else(|| unsupported("interactions need names of items"))?;
    let row = data.lists.rows.as_ref().map_or(entry, |rows| rows[entry] as usize);
    Ok((data.list_name(q), items.get(row)))
}
